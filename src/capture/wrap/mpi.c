/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi.c: reads and writes of MPI files, and calls that are only passed on. There is no code
 * per function: see table/fn_mpi.def. */
#include "capture/attach.h"
#include "capture/events.h"
#include "capture/mpi/mpi.h"
#include "capture/record.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* ---- the door -------------------------------------------------------------------------------- */

/* Where on the stack the first of our wrappers stands that is at work in this thread: what comes
 * from further down is called by it. One from further up says that the first was left by a jump. */
static RAMA_CAP_TLS const char *outermost;

/* Where in the file the access begins; -1: not known. The others may move a shared position
 * before our call does, so that one is a guess. An error in here would be the application's:
 * only what cannot fail is asked. */
static int64_t position(const struct rama_cap_mpi_call *c, const struct rama_cap_mpi_file *f)
{
	int64_t at = c->op.off, byte = -1;
	int rc = 0;

	if (!rama_cap_mpi.call.File_get_byte_offset || f->sequential ||
	    (c->where == RAMA_CAP_MPI_ORDERED && !f->alone))
		return -1;
	if (c->where == RAMA_CAP_MPI_OWN)
		rc = rama_cap_mpi.call.File_get_position
			     ? rama_cap_mpi.call.File_get_position(c->fh, &at)
			     : -1;
	else if (c->where != RAMA_CAP_MPI_GIVEN)
		rc = rama_cap_mpi.call.File_get_position_shared
			     ? rama_cap_mpi.call.File_get_position_shared(c->fh, &at)
			     : -1;
	if (rc != 0 || at < 0 || rama_cap_mpi.call.File_get_byte_offset(c->fh, at, &byte) != 0)
		return -1;
	return byte;
}

bool rama_cap_mpi_enter(struct rama_cap_mpi_call *c)
{
	const char *here = __builtin_frame_address(0);

	if (outermost && here < outermost)
		return false;
	outermost = here;
	c->on = rama_cap_begin(&c->span, c->op.fn, -1);
	if (c->on) {
		if (RAMA_CAP_UNLIKELY(rama_cap_attached))
			rama_cap_mpi_ask();
		rama_cap_nest_begin(&c->nest, c->cfa);
	}
	return true;
}

void rama_cap_mpi_leave(struct rama_cap_mpi_call *c)
{
	if (c->on) {
		rama_cap_idle(&c->span);
		rama_cap_nest_end(&c->nest);
	}
	outermost = NULL;
}

void rama_cap_mpi_record(struct rama_cap_mpi_call *c)
{
	struct rama_cap_visit v;

	if (!c->record)
		return;
	if (RAMA_CAP_LIKELY(c->op.ok) &&
	    (c->op.kind == RAMA_TAB_OP_READ || c->op.kind == RAMA_TAB_OP_WRITE) &&
	    RAMA_CAP_LIKELY(rama_cap_quick_mpiio(&c->op, c->record)))
		return;
	if (!rama_cap_enter(&v))
		return;
	v.t->nest = &c->nest;
	rama_cap_do_mpiio(v.t, c->record, &c->op);
	v.t->nest = NULL;
	rama_cap_leave(&v);
}

static bool before(struct rama_cap_mpi_call *c)
{
	struct rama_cap_mpi_file *f, old;

	if (!rama_cap_mpi_enter(c))
		return false;
	f = c->on ? rama_cap_mpi_file_get(c->fh) : NULL;
	if (!f && c->on && rama_cap_mpi_unknown(c, &old))
		f = &old;
	if (!f)
		return true;
	c->record = f->record;
	if (rama_cap_eventful(RAMA_SEG_LAYER_MPIIO)) {
		int saved = errno;

		c->op.off = position(c, f);
		errno = saved;
		rama_cap_begin_again(&c->span);
	} else {
		c->op.off = -1;
	}
	c->op.has_off = c->op.off >= 0;
	return true;
}

/* of the type; 0: there is none, or it is beyond all bounds */
static int64_t type_size(rama_cap_handle type)
{
	int size = 0;
	int64_t large = 0;

	type = rama_cap_mpi_handle(type);
	if (RAMA_CAP_LIKELY(type == RAMA_CAP_MPI(BYTE)))
		return 1;
	if (type == RAMA_CAP_MPI(DATATYPE_NULL))
		return 0;
	if (rama_cap_mpi.call.Type_size(type, &size) == 0 && size >= 0)
		return size;
	if (rama_cap_mpi.call.Type_size_x && rama_cap_mpi.call.Type_size_x(type, &large) == 0 &&
	    large > 0)
		return large;
	return 0;
}

static void after(struct rama_cap_mpi_call *c, int r)
{
	int saved = errno;

	if (c->unknown && r == 0)
		rama_cap_mpi_find_name(c);
	if (c->record && (r == 0 || rama_cap_live_on(RAMA_SEG_LAYER_MPIIO))) {
		rama_cap_times(&c->span, &c->op);
		c->op.ok = r == 0;
		c->op.bytes = r == 0 && c->count > 0
				      ? rama_core_mpiio_size(type_size(c->type), c->count)
				      : 0;
		rama_cap_mpi_record(c);
		if (r == 0 && c->op.how >= RAMA_CORE_MPI_SPLIT)
			rama_cap_mpi_request_add(c);
	}
	rama_cap_mpi_leave(c);
	errno = saved;
}

/* ---- the wrappers ---------------------------------------------------------------------------- */

#define DATA(sym, fn_name, kind_, how_, where_, ...)                                      \
	RAMA_CAP_EXPORT int sym(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__))               \
	{                                                                                 \
		__typeof__(rama_cap_mpi_real.sym) real = RAMA_CAP_MPI_REAL(sym);          \
		struct rama_cap_mpi_call c = { .op.fn = RAMA_TAB_FN_##fn_name,            \
					       .cfa = RAMA_CAP_CFA,                       \
					       .op.kind = RAMA_TAB_OP_##kind_,            \
					       .op.how = RAMA_CORE_MPI_##how_,            \
					       .where = RAMA_CAP_MPI_##where_,            \
					       RAMA_TAB_EACH(RAMA_CAP_IN, __VA_ARGS__) }; \
		if (!real)                                                                \
			return RAMA_CAP_MPI_MISSING;                                      \
		if (!before(&c))                                                          \
			return real(RAMA_TAB_LIST(RAMA_CAP_ARG, __VA_ARGS__));            \
		int r = real(RAMA_TAB_LIST(RAMA_CAP_ARG, __VA_ARGS__));                   \
		after(&c, r);                                                             \
		return r;                                                                 \
	}

#define PASS(sym, fn_name, ...)                                                  \
	RAMA_CAP_EXPORT int sym(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__))      \
	{                                                                        \
		__typeof__(rama_cap_mpi_real.sym) real = RAMA_CAP_MPI_REAL(sym); \
		struct rama_cap_mpi_call c = { .op.fn = RAMA_TAB_FN_##fn_name,   \
					       .cfa = RAMA_CAP_CFA };            \
		if (!real)                                                       \
			return RAMA_CAP_MPI_MISSING;                             \
		if (!rama_cap_mpi_enter(&c))                                     \
			return real(RAMA_TAB_LIST(RAMA_CAP_ARG, __VA_ARGS__));   \
		int r = real(RAMA_TAB_LIST(RAMA_CAP_ARG, __VA_ARGS__));          \
		rama_cap_mpi_leave(&c);                                          \
		return r;                                                        \
	}

#define ENDS(sym, fn_name, ...)                                                           \
	RAMA_CAP_EXPORT int sym(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__))               \
	{                                                                                 \
		__typeof__(rama_cap_mpi_real.sym) real = RAMA_CAP_MPI_REAL(sym);          \
		struct rama_cap_mpi_call c = { .op.fn = RAMA_TAB_FN_##fn_name,            \
					       .cfa = RAMA_CAP_CFA,                       \
					       RAMA_TAB_EACH(RAMA_CAP_IN, __VA_ARGS__) }; \
		if (!real)                                                                \
			return RAMA_CAP_MPI_MISSING;                                      \
		if (!rama_cap_mpi_enter(&c))                                              \
			return real(RAMA_TAB_LIST(RAMA_CAP_ARG, __VA_ARGS__));            \
		rama_cap_mpi_split_resume(&c);                                            \
		int r = real(RAMA_TAB_LIST(RAMA_CAP_ARG, __VA_ARGS__));                   \
		rama_cap_mpi_split_end(&c);                                               \
		rama_cap_mpi_leave(&c);                                                   \
		return r;                                                                 \
	}

/* Programs wait far more often for messages than for files: where no request of a file is under
 * way this costs one load. */
#define WAITS(sym, fn_name, ...)                                                 \
	RAMA_CAP_EXPORT int sym(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__))      \
	{                                                                        \
		__typeof__(rama_cap_mpi_real.sym) real = RAMA_CAP_MPI_REAL(sym); \
		struct rama_cap_mpi_wait w;                                      \
		if (!real)                                                       \
			return RAMA_CAP_MPI_MISSING;                             \
		if (RAMA_CAP_LIKELY(!rama_cap_requests))                         \
			return real(RAMA_TAB_LIST(RAMA_CAP_ARG, __VA_ARGS__));   \
		rama_cap_mpi_wait_begin(&w, REQUESTS_##fn_name);                 \
		int r = real(RAMA_TAB_LIST(RAMA_CAP_ARG, __VA_ARGS__));          \
		rama_cap_mpi_wait_end(&w);                                       \
		return r;                                                        \
	}
/* where they lie, and how many */
#define REQUESTS_MPI_Wait request, 1
#define REQUESTS_MPI_Test request, 1
#define REQUESTS_MPI_Request_free request, 1
#define REQUESTS_MPI_Waitall requests, n
#define REQUESTS_MPI_Waitany requests, n
#define REQUESTS_MPI_Waitsome requests, n
#define REQUESTS_MPI_Testall requests, n
#define REQUESTS_MPI_Testany requests, n
#define REQUESTS_MPI_Testsome requests, n

#define FN_MPI(name, kind, how, where, ...)             \
	DATA(name, name, kind, how, where, __VA_ARGS__) \
	DATA(P##name, name, kind, how, where, __VA_ARGS__)
#define FN_MPI4 FN_MPI
#define FN_MPIP(name, ...)            \
	PASS(name, name, __VA_ARGS__) \
	PASS(P##name, name, __VA_ARGS__)
#define FN_MPIE(name, ...)            \
	ENDS(name, name, __VA_ARGS__) \
	ENDS(P##name, name, __VA_ARGS__)
#define FN_MPIW(name, ...)             \
	WAITS(name, name, __VA_ARGS__) \
	WAITS(P##name, name, __VA_ARGS__)
#define FN_MPIH(...)
#define FN_MPI0(name)
#define NEED(...)
#include RAMA_CAP_ROWS_MPI
