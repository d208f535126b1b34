/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/posix.h"

#include <string.h>

#include "core/posix_transfer.h"

void rama_core_posix_new_values(struct rama_core_posix_file *f, int64_t n, int64_t stride)
{
	f->access.count[f->access.last % RAMA_CORE_VALUES] += f->run;
	f->stride.count[f->stride.last % RAMA_CORE_VALUES] += f->run;
	rama_core_values_add(&f->access, n);
	rama_core_values_add(&f->stride, stride);
	f->run = 0;
	f->run_size = f->access.value[f->access.last];
	f->run_stride = f->stride.value[f->stride.last];
}

static void meta(struct rama_core_posix_file *f, const struct rama_core_op *op)
{
	rama_core_times_add(&f->w[RAMA_TAB_POSIX_F_META_TIME], &f->meta_end, op);
}

static void opened(struct rama_core_posix_file *f, const struct rama_core_op *op)
{
	f->w[RAMA_TAB_POSIX_OPENS].i++;
	rama_core_times_stamp(&f->w[RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP],
			      &f->w[RAMA_TAB_POSIX_F_OPEN_END_TIMESTAMP], op);
	meta(f, op);
}

/* For the log format, which then takes byte 0 as the last one. */
static void begin_afresh(struct rama_core_posix_way *way, union rama_core_word *most)
{
	if (way->next == RAMA_CORE_POSIX_AFRESH)
		return;
	if (rama_core_add(way->next, -1) > most->i)
		most->i = rama_core_add(way->next, -1);
	way->end = way->next;
	way->next = RAMA_CORE_POSIX_AFRESH;
}

static void both_afresh(struct rama_core_posix_file *f)
{
	begin_afresh(&f->read, &f->w[RAMA_TAB_POSIX_MAX_BYTE_READ]);
	begin_afresh(&f->written, &f->w[RAMA_TAB_POSIX_MAX_BYTE_WRITTEN]);
}

static void closed(struct rama_core_posix_file *f, const struct rama_core_op *op)
{
	both_afresh(f);
	rama_core_times_stamp(&f->w[RAMA_TAB_POSIX_F_CLOSE_START_TIMESTAMP],
			      &f->w[RAMA_TAB_POSIX_F_CLOSE_END_TIMESTAMP], op);
	meta(f, op);
}

/* the time of a sync is time of writing, without being a write */
static void synced(struct rama_core_posix_file *f, const struct rama_core_op *op)
{
	union rama_core_word *time = &f->w[RAMA_TAB_POSIX_F_WRITE_TIME];
	uint64_t before = time->u;

	rama_core_times_add(time, &f->written.until, op);
	f->syncs += op->t1 - op->t0;
	f->more[RAMA_CORE_MORE(F_WRITE_SUM)].u += op->t1 - op->t0 - (time->u - before);
}

static void mapped(struct rama_core_posix_file *f, const struct rama_core_op *op)
{
	union rama_core_word *bytes = &f->more[RAMA_CORE_MORE(BYTES_MAPPED)];

	/* -1: the log format counts them in static builds only */
	if (f->w[RAMA_TAB_POSIX_MMAPS].i >= 0)
		f->w[RAMA_TAB_POSIX_MMAPS].i++;
	f->more[RAMA_CORE_MORE(MMAPS)].i++;
	bytes->i = rama_core_add(bytes->i, op->bytes);
}

static void other(struct rama_core_posix_file *f, const struct rama_core_op *op)
{
	union rama_core_word *w = f->w;

	switch (op->kind) {
	case RAMA_TAB_OP_OPEN:
		if (op->mode)
			w[RAMA_TAB_POSIX_MODE].i = op->mode;
		f->offset = 0;
		both_afresh(f);
		opened(f, op);
		break;
	case RAMA_TAB_OP_DUP:
		w[RAMA_TAB_POSIX_DUPS].i++;
		opened(f, op);
		break;
	case RAMA_TAB_OP_FILENO:
		w[RAMA_TAB_POSIX_FILENOS].i++;
		opened(f, op);
		break;
	case RAMA_TAB_OP_CLOSE:
		closed(f, op);
		break;
	case RAMA_TAB_OP_SEEK:
		rama_core_posix_seek(f, op->off, op);
		break;
	case RAMA_TAB_OP_STAT:
		w[RAMA_TAB_POSIX_STATS].i++;
		meta(f, op);
		break;
	case RAMA_TAB_OP_SYNC:
		w[RAMA_TAB_POSIX_FSYNCS].i++;
		synced(f, op);
		break;
	case RAMA_TAB_OP_DATASYNC:
		w[RAMA_TAB_POSIX_FDSYNCS].i++;
		synced(f, op);
		break;
	case RAMA_TAB_OP_MMAP:
		mapped(f, op);
		break;
	case RAMA_TAB_OP_RENAMEFROM:
		w[RAMA_TAB_POSIX_RENAME_SOURCES].i++;
		meta(f, op);
		break;
	case RAMA_TAB_OP_RENAMETO: /* `off` holds the id of the old name */
		w[RAMA_TAB_POSIX_RENAME_TARGETS].i++;
		if (w[RAMA_TAB_POSIX_RENAMED_FROM].u == 0)
			w[RAMA_TAB_POSIX_RENAMED_FROM].u = (uint64_t)op->off;
		break;
	}
}

static void failed(struct rama_core_posix_file *f, const struct rama_core_op *op)
{
	if (op->kind == RAMA_TAB_OP_READ)
		f->more[RAMA_CORE_MORE(READS_FAILED)].i++;
	else if (op->kind == RAMA_TAB_OP_WRITE)
		f->more[RAMA_CORE_MORE(WRITES_FAILED)].i++;
	/* the descriptor is gone, whatever the call returned */
	else if (op->kind == RAMA_TAB_OP_CLOSE)
		closed(f, op);
}

void rama_core_posix_init(struct rama_core_posix_file *f, uint64_t id, int64_t mem_align,
			  int64_t file_align)
{
	memset(f, 0, sizeof(*f));
	f->w[RAMA_TAB_ID].u = id;
	f->w[RAMA_TAB_POSIX_MEM_ALIGNMENT].i = mem_align;
	f->w[RAMA_TAB_POSIX_FILE_ALIGNMENT].i = file_align;
	f->w[RAMA_TAB_POSIX_MMAPS].i = -1;
	if (file_align > 0 && file_align & (file_align - 1))
		f->last = RAMA_CORE_LAST_ODD;
	else if (file_align > 0)
		f->file_mask = (uint64_t)file_align - 1;
	f->read.next = f->written.next = RAMA_CORE_POSIX_AFRESH;
	f->read.end = f->written.end = -1;
	rama_core_values_init(&f->access);
	rama_core_values_init(&f->stride);
	f->run_size = f->run_stride = -1; /* as these have it */
}

void rama_core_posix_apply(struct rama_core_posix_file *restrict f,
			   const struct rama_core_op *restrict op)
{
	if (RAMA_CORE_SELDOM(!op->ok))
		failed(f, op);
	else if (op->kind == RAMA_TAB_OP_READ)
		rama_core_posix_transfer(f, op, true);
	else if (op->kind == RAMA_TAB_OP_WRITE)
		rama_core_posix_transfer(f, op, false);
	else
		other(f, op);
}

void rama_core_posix_more(const struct rama_core_posix_file *f,
			  union rama_core_word more[RAMA_CORE_POSIX_MORE])
{
	static const struct {
		uint8_t more, also;
	} row[] = {
		{ RAMA_CORE_MORE(SEQ_READS), RAMA_TAB_POSIX_SEQ_READS },
		{ RAMA_CORE_MORE(SEQ_WRITES), RAMA_TAB_POSIX_SEQ_WRITES },
		{ RAMA_CORE_MORE(CONSEC_READS), RAMA_TAB_POSIX_CONSEC_READS },
		{ RAMA_CORE_MORE(CONSEC_WRITES), RAMA_TAB_POSIX_CONSEC_WRITES },
		{ RAMA_CORE_MORE(F_READ_SUM), RAMA_TAB_POSIX_F_READ_TIME },
		{ RAMA_CORE_MORE(F_WRITE_SUM), RAMA_TAB_POSIX_F_WRITE_TIME },
	};

	memcpy(more, f->more, sizeof(f->more));
	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		more[row[i].more].i = rama_core_add(more[row[i].more].i, f->w[row[i].also].i);
}

/* with what was counted since the last change of value */
static void values_top4(const struct rama_core_values *v, uint32_t run, union rama_core_word *value,
			union rama_core_word *count)
{
	struct rama_core_values all = *v;

	all.count[all.last % RAMA_CORE_VALUES] += run;
	rama_core_values_top4(&all, value, count);
}

static void last_byte(const struct rama_core_posix_way *way, union rama_core_word *most)
{
	struct rama_core_posix_way copy = *way;

	begin_afresh(&copy, most);
}

void rama_core_posix_finish(const struct rama_core_posix_file *f, double tick,
			    union rama_core_word w[RAMA_TAB_POSIX__WORDS],
			    union rama_core_word more[RAMA_CORE_POSIX_MORE])
{
	memcpy(w, f->w, sizeof(f->w));
	rama_core_posix_more(f, more);
	last_byte(&f->read, &w[RAMA_TAB_POSIX_MAX_BYTE_READ]);
	last_byte(&f->written, &w[RAMA_TAB_POSIX_MAX_BYTE_WRITTEN]);
	values_top4(&f->access, f->run, &w[RAMA_TAB_POSIX_ACCESS1_ACCESS],
		    &w[RAMA_TAB_POSIX_ACCESS1_COUNT]);
	values_top4(&f->stride, f->run, &w[RAMA_TAB_POSIX_STRIDE1_STRIDE],
		    &w[RAMA_TAB_POSIX_STRIDE1_COUNT]);
	for (unsigned i = RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP;
	     i <= RAMA_TAB_POSIX_F_CLOSE_END_TIMESTAMP; i++)
		w[i].f = rama_core_times_moment(f->w[i], tick);
	for (unsigned i = RAMA_TAB_POSIX_F_READ_TIME; i <= RAMA_TAB_POSIX_F_MAX_WRITE_TIME; i++)
		w[i].f = rama_core_times_sum(f->w[i], tick);
	for (unsigned i = RAMA_TAB_POSIX_F_FASTEST_RANK_TIME; i < RAMA_TAB_POSIX__WORDS; i++)
		w[i].f = 0; /* of several ranks only */
	more[RAMA_CORE_MORE(F_READ_SUM)].f =
		rama_core_times_sum(more[RAMA_CORE_MORE(F_READ_SUM)], tick);
	more[RAMA_CORE_MORE(F_WRITE_SUM)].f =
		rama_core_times_sum(more[RAMA_CORE_MORE(F_WRITE_SUM)], tick);
}

double rama_core_posix_sync_time(const struct rama_core_posix_file *f, double tick)
{
	return rama_core_times_sum((union rama_core_word){ .u = f->syncs }, tick);
}

/* ---- the kind -------------------------------------------------------------------------------- */

static void init(void *slot, const struct rama_core_new *n)
{
	rama_core_posix_init(slot, n->id, n->mem_align, n->file_align);
	if (n->sees_mmap)
		((struct rama_core_posix_file *)slot)->w[RAMA_TAB_POSIX_MMAPS].i = 0;
}

static void apply(void *slot, const struct rama_core_op *op)
{
	rama_core_posix_apply(slot, op);
}

static void finish(const void *slot, double tick, union rama_core_word *w)
{
	union rama_core_word more[RAMA_CORE_POSIX_MORE]; /* goes into another record */

	rama_core_posix_finish(slot, tick, w, more);
}

const struct rama_core_kind rama_core_kind_posix = {
	RAMA_CORE_KIND_OF(struct rama_core_posix_file),
	.init = init,
	.apply = apply,
	.finish = finish,
};
