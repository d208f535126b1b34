/* SPDX-License-Identifier: BSD-3-Clause */
/* io.c: which words of a slot are reads, writes and metadata calls, and what kind of call a
 * function is. */
#include "look/known.h"

/* ---- kinds of slots -------------------------------------------------------------------------- */

/* layers of job/io.def: what segments have by their kind, what they do not have beyond it */
enum layer {
#define M(id, symbol, ...) LAYER_##symbol = RAMA_SEG_KINDS + (id),
#define K(id, symbol, name, newest, released, record, kind, ...) LAYER_##symbol = kind,
#include "table/modules.def"
};

const char *const rama_look_layer_name[RAMA_LOOK_LAYERS] = {
#define M(...)
#define K(id, symbol, name, newest, released, record, kind, ...) [kind] = name,
#include "table/modules.def"
};

/* ---- figures --------------------------------------------------------------------------------- */

struct row {
	uint8_t layer;
	bool time;
	uint16_t word;
	uint16_t to; /* figure of struct rama_look_io */
};

#define IO(layer, figure, counter)                            \
	{ LAYER_##layer, false, RAMA_TAB_##layer##_##counter, \
	  offsetof(struct rama_look_io, figure) },
#define IO_TIME(layer, figure, counter)                      \
	{ LAYER_##layer, true, RAMA_TAB_##layer##_##counter, \
	  offsetof(struct rama_look_io, figure) },
static const struct row rows[] = {
#include "job/io.def"
};
#undef IO
#undef IO_TIME

/* ---- of kinds -------------------------------------------------------------------------------- */

bool rama_look_has_figures(unsigned kind)
{
	size_t i = 0;

	while (i < sizeof(rows) / sizeof(rows[0]) && rows[i].layer != kind)
		i++;
	return i < sizeof(rows) / sizeof(rows[0]);
}

bool rama_look_is_disk(unsigned kind)
{
	return kind == RAMA_SEG_KIND_POSIX || kind == RAMA_SEG_KIND_STDIO ||
	       kind == RAMA_SEG_KIND_EXTRA;
}

bool rama_look_is_file(unsigned kind)
{
	return rama_look_is_disk(kind) || kind == RAMA_SEG_KIND_MPIIO;
}

/* words that hold the longest read and the longest write; 0: it has none (word 0 is the id) */
static const uint16_t longest_of[RAMA_LOOK_LAYERS][2] = {
	[LAYER_POSIX] = { RAMA_TAB_POSIX_F_MAX_READ_TIME, RAMA_TAB_POSIX_F_MAX_WRITE_TIME },
	[LAYER_MPIIO] = { RAMA_TAB_MPIIO_F_MAX_READ_TIME, RAMA_TAB_MPIIO_F_MAX_WRITE_TIME },
	[LAYER_H5D] = { RAMA_TAB_H5D_F_MAX_READ_TIME, RAMA_TAB_H5D_F_MAX_WRITE_TIME },
	[LAYER_PNETCDF_VAR] = { RAMA_TAB_PNETCDF_VAR_F_MAX_READ_TIME,
				RAMA_TAB_PNETCDF_VAR_F_MAX_WRITE_TIME },
};

#define MOST (INT64_MAX / 65536) /* so that sums over many processes stay numbers */
#define MOST_TIME 1e12		 /* seconds */

static int64_t load(const unsigned char *w, unsigned word)
{
	return __atomic_load_n((const int64_t *)(const void *)(w + 8u * word), __ATOMIC_RELAXED);
}

static double seconds(int64_t ticks, double tick)
{
	double s = ticks > 0 ? (double)ticks * tick : 0;

	return s < MOST_TIME ? s : 0;
}

void rama_look_io_read(unsigned kind, const unsigned char *w, double tick, struct rama_look_io *io,
		       double *longest)
{
	size_t i = 0, n = sizeof(rows) / sizeof(rows[0]);

	*io = (struct rama_look_io){ 0 };
	*longest = 0;
	while (i < n && rows[i].layer != kind)
		i++;
	for (; i < n && rows[i].layer == kind; i++) {
		void *to = (char *)io + rows[i].to;
		int64_t v = load(w, rows[i].word);

		if (rows[i].time)
			*(double *)to += seconds(v, tick);
		else if (v > 0 && v < MOST) /* below 0: not monitored */
			*(int64_t *)to += v;
	}
	for (unsigned k = 0; k < 2; k++)
		if (longest_of[kind][k] > 0) {
			double s = seconds(load(w, longest_of[kind][k]), tick);

			*longest = s > *longest ? s : *longest;
		}
}

void rama_look_io_add(struct rama_look_io *to, const struct rama_look_io *x)
{
	to->reads += x->reads;
	to->writes += x->writes;
	to->metas += x->metas;
	to->bytes_read += x->bytes_read;
	to->bytes_written += x->bytes_written;
	to->read_time += x->read_time;
	to->write_time += x->write_time;
	to->meta_time += x->meta_time;
}

static int64_t more(int64_t now, int64_t before)
{
	return now > before ? now - before : 0;
}

static double later(double now, double before)
{
	return now > before ? now - before : 0;
}

void rama_look_io_gain(struct rama_look_io *gain, const struct rama_look_io *now,
		       const struct rama_look_io *before)
{
	gain->reads = more(now->reads, before->reads);
	gain->writes = more(now->writes, before->writes);
	gain->metas = more(now->metas, before->metas);
	gain->bytes_read = more(now->bytes_read, before->bytes_read);
	gain->bytes_written = more(now->bytes_written, before->bytes_written);
	gain->read_time = later(now->read_time, before->read_time);
	gain->write_time = later(now->write_time, before->write_time);
	gain->meta_time = later(now->meta_time, before->meta_time);
}

/* ---- functions ------------------------------------------------------------------------------- */

/* one table made of the rows of all functions; the words are those of table/fn_words.h */
#define CLASS(name, op)                                                                        \
	[RAMA_TAB_FN_##name] = RAMA_TAB_OP_##op == RAMA_TAB_OP_NOTHING ? RAMA_LOOK_CLASS_NONE  \
			       : RAMA_TAB_OP_##op == RAMA_TAB_OP_READ  ? RAMA_LOOK_CLASS_READ  \
			       : RAMA_TAB_OP_##op == RAMA_TAB_OP_WRITE ? RAMA_LOOK_CLASS_WRITE \
								       : RAMA_LOOK_CLASS_META,
#define FN(name, returns, role, op, ...) CLASS(name, op)
#define FN_MODE FN
#define FN_HAND FN
#define FN_HAND0(name, returns, role, op) CLASS(name, op)
#define FN_FMT(name, ...) CLASS(name, WRITE)
#define FN_SCAN(name, ...) CLASS(name, READ)
#define FN_SCAN0(name, ...) CLASS(name, READ)
#define FN_EXECL(name, ...) CLASS(name, NOTHING)
#define FN_JUMP(name) CLASS(name, NOTHING)
#define FN_ASM(name) CLASS(name, NOTHING)
#define FN_MPI(name, op, ...) CLASS(name, op)
#define FN_MPI4(name, op, ...) CLASS(name, op)
#define FN_MPIP(name, ...) CLASS(name, WAIT)
#define FN_MPIE(name, ...) CLASS(name, WAIT)
#define FN_MPIW(name, ...) CLASS(name, NOTHING)
#define FN_MPIH(name, ...) CLASS(name, OPEN)
#define FN_MPI0(name) CLASS(name, NOTHING)
#define FN_NC(name, op, ...) CLASS(name, op)
#define FN_NCF(name, op, ...) CLASS(name, op)
#define FN_NCH(name, ...) CLASS(name, OPEN)
#define FN_KIND(kind, name, returns, role, op, ...) CLASS(name, op)
#define NEED(...)
#define HOOK(symbol, name, op, ...) CLASS(symbol, op)
static const uint8_t class_of[RAMA_TAB_FNS] = {
#include "table/fn.def"
};
#include "table/fn_words_end.h"
#undef HOOK

enum rama_look_class rama_look_class(unsigned fn)
{
	switch (fn) {
	case RAMA_TAB_FN_MPI_Init: /* rows by hand that open nothing */
	case RAMA_TAB_FN_MPI_Init_thread:
	case RAMA_TAB_FN_MPI_Abort:
		return RAMA_LOOK_CLASS_NONE;
	case RAMA_TAB_FN_io_getevents: /* waits for what others have begun */
	case RAMA_TAB_FN_io_pgetevents:
		return RAMA_LOOK_CLASS_META;
	default:
		return fn < RAMA_TAB_FNS ? (enum rama_look_class)class_of[fn]
					 : RAMA_LOOK_CLASS_NONE;
	}
}
