/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_mpi.c: MPI calls that need a body of their own (FN_MPIH in fn_mpi.def). */
#include "capture/events.h"
#include "capture/mpi/mpi.h"
#include "capture/record.h"
#include "config/path.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define REAL(name) __typeof__(rama_cap_mpi_real.name) real
#define CALL(fn_name, kind_)                                                    \
	{                                                                       \
		.op.fn = RAMA_TAB_FN_##fn_name, .op.kind = RAMA_TAB_OP_##kind_, \
		.cfa = RAMA_CAP_CFA                                             \
	}

/* ---- life ------------------------------------------------------------------------------------ */

/* the command line as the program gave it to MPI */
static void note_command(struct rama_seg_identity *id, int argc, char **argv)
{
	size_t used = 0, room = sizeof(id->command) - 1;

	for (int i = 0; i < argc && argv[i]; i++) {
		size_t n = strnlen(argv[i], room - used);

		if (i > 0 && used < room)
			id->command[used++] = ' ';
		n = n < room - used ? n : room - used;
		memcpy(id->command + used, argv[i], n);
		used += n;
	}
	memset(id->command + used, 0, sizeof(id->command) - used);
}

static int started(int r, int *argc, char ***argv)
{
	bool known = r == 0 && rama_cap_mpi_begin();

	if (r != 0 || !rama_cap_awake()) {
		rama_cap_mpi_depart();
		return r;
	}
	if (!known) { /* the process is observed as one of its own */
		rama_cap_mpi_depart();
		rama_cap_run.id->flags |= RAMA_SEG_UNKNOWN_MPI;
		return r;
	}
	rama_cap_run.id->nprocs = rama_cap_mpi.size;
	rama_cap_run.id->rank = rama_cap_mpi.rank;
	if (rama_cap_mpi.family->handle == 4) /* MPICH and its relatives */
		rama_cap_run.id->flags |= RAMA_SEG_KEEP_LAST;
	if (argc && argv && *argv && *argc > 0)
		note_command(rama_cap_run.id, *argc, *argv);
	rama_cap_mpi_meet();
	return r;
}

static int do_init(REAL(MPI_Init), int *argc, char ***argv)
{
	struct rama_cap_mpi_call c = CALL(MPI_Init, NOTHING);

	if (!real)
		return RAMA_CAP_MPI_MISSING;
	if (!rama_cap_mpi_enter(&c))
		return real(argc, argv);
	rama_cap_mpi_arrive();
	int r = real(argc, argv);
	rama_cap_mpi_leave(&c);
	return started(r, argc, argv);
}

static int do_init_thread(REAL(MPI_Init_thread), int *argc, char ***argv, int required,
			  int *provided)
{
	struct rama_cap_mpi_call c = CALL(MPI_Init_thread, NOTHING);

	if (!real)
		return RAMA_CAP_MPI_MISSING;
	if (!rama_cap_mpi_enter(&c))
		return real(argc, argv, required, provided);
	rama_cap_mpi_arrive();
	int r = real(argc, argv, required, provided);
	rama_cap_mpi_leave(&c);
	return started(r, argc, argv);
}

/* What the process does afterwards is still observed. */
static int do_finalize(REAL(MPI_Finalize))
{
	struct rama_cap_mpi_call c = CALL(MPI_Finalize, NOTHING);

	if (!real)
		return RAMA_CAP_MPI_MISSING;
	if (!rama_cap_mpi_enter(&c))
		return real();
	rama_cap_mpi_shutdown();
	int r = real();
	rama_cap_mpi_leave(&c);
	return r;
}

/* Some end the process by a signal, others by exit; we do not wait for what it will be. */
static int do_abort(REAL(MPI_Abort), rama_cap_handle comm, int code)
{
	rama_cap_end_process();
	return real ? real(comm, code) : RAMA_CAP_MPI_MISSING;
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool is_given(rama_cap_handle info)
{
	return rama_cap_mpi_handle(info) != RAMA_CAP_MPI(INFO_NULL);
}

/* the operation, and one more if hints came with it */
static void record_with(struct rama_cap_mpi_call *c, rama_cap_handle info)
{
	rama_cap_mpi_record(c);
	c->op.kind = RAMA_TAB_OP_HINT;
	if (is_given(info))
		rama_cap_mpi_record(c);
}

static void opened(struct rama_cap_mpi_call *c, rama_cap_handle comm, const char *path,
		   rama_cap_handle fh)
{
	struct rama_cap_visit v;
	int size = 1;
	size_t len;

	if (rama_cap_mpi.call.Comm_size(comm, &size) == 0 && size > 1)
		c->op.how = RAMA_CORE_MPI_COLL;
	if (!rama_cap_enter(&v))
		return;
	const char *text =
		rama_cap_clean(v.t, AT_FDCWD, rama_config_path_without_prefix(path), &len);
	struct rama_seg_name *n = text ? rama_cap_name(v.t, text, len, true) : NULL;
	c->record = n ? rama_cap_mpiio_of(v.t, n) : NULL;
	if (c->record) {
		struct rama_cap_mpi_file f = {
			.fh = fh,
			.record = c->record,
			.generation = rama_cap_run.generation,
			.alone = size == 1,
			.sequential = (c->op.mode & (int)RAMA_CAP_MPI(MODE_SEQUENTIAL)) != 0
		};
		if (!rama_cap_mpi_file_add(v.t, &f))
			v.t->lane->missed++;
	}
	rama_cap_leave(&v);
}

/* an event only */
static void open_failed(struct rama_cap_mpi_call *c, const char *path)
{
	struct rama_cap_visit v;
	size_t len;

	if (!path || !rama_cap_live_on(RAMA_SEG_LAYER_MPIIO) || !rama_cap_enter(&v))
		return;
	const char *text =
		rama_cap_clean(v.t, AT_FDCWD, rama_config_path_without_prefix(path), &len);
	v.t->nest = &c->nest;
	if (text)
		rama_cap_live_path(v.t, RAMA_SEG_LAYER_MPIIO, text, len, &c->op);
	v.t->nest = NULL;
	rama_cap_leave(&v);
}

static int do_open(REAL(MPI_File_open), rama_cap_handle comm, const char *path, int amode,
		   rama_cap_handle info, void *fh)
{
	struct rama_cap_mpi_call c = CALL(MPI_File_open, OPEN);
	rama_cap_handle made;

	if (!real)
		return RAMA_CAP_MPI_MISSING;
	if (!rama_cap_mpi_enter(&c))
		return real(comm, path, amode, info, fh);
	int r = real(comm, path, amode, info, fh);
	int saved = errno;
	if (c.on && rama_cap_mpi_begin()) {
		rama_cap_times(&c.span, &c.op);
		c.op.ok = r == 0;
		c.op.mode = amode;
		if (r == 0) {
			memcpy(&made, fh, sizeof(made));
			opened(&c, comm, path, made);
			record_with(&c, info);
		} else {
			open_failed(&c, path);
		}
	}
	rama_cap_mpi_leave(&c);
	errno = saved;
	return r;
}

/* The handle is given up before the call: after it another thread may be given the same. */
static int do_close(REAL(MPI_File_close), void *fh)
{
	struct rama_cap_mpi_call c = CALL(MPI_File_close, CLOSE);
	struct rama_cap_visit v;

	if (!real)
		return RAMA_CAP_MPI_MISSING;
	if (!rama_cap_mpi_enter(&c))
		return real(fh);
	if (fh)
		memcpy(&c.fh, fh, sizeof(c.fh));
	struct rama_cap_mpi_file *f = c.on ? rama_cap_mpi_file_get(c.fh) : NULL;
	if (f && rama_cap_enter(&v)) {
		c.record = f->record;
		rama_cap_mpi_file_forget(v.t, c.fh);
		rama_cap_leave(&v);
	}
	int r = real(fh);
	if (c.record) {
		rama_cap_times(&c.span, &c.op);
		c.op.ok = true; /* whatever it returned */
		rama_cap_mpi_record(&c);
	}
	rama_cap_mpi_leave(&c);
	return r;
}

/* the record, if we know the file and the call is to be recorded */
static bool happened(struct rama_cap_mpi_call *c, rama_cap_handle fh, int r)
{
	bool wanted = r == 0 || (c->on && rama_cap_live_on(RAMA_SEG_LAYER_MPIIO));
	struct rama_cap_mpi_file *f = c->on && wanted ? rama_cap_mpi_file_get(fh) : NULL;

	struct rama_cap_mpi_file old;

	c->record = f ? f->record : NULL;
	c->fh = fh;
	if (!f && c->on && r == 0 && rama_cap_mpi_unknown(c, &old))
		rama_cap_mpi_find_name(c);
	if (!c->record)
		return false;
	rama_cap_times(&c->span, &c->op);
	c->op.ok = r == 0;
	return true;
}

static int do_sync(REAL(MPI_File_sync), rama_cap_handle fh)
{
	struct rama_cap_mpi_call c = CALL(MPI_File_sync, SYNC);

	if (!real)
		return RAMA_CAP_MPI_MISSING;
	if (!rama_cap_mpi_enter(&c))
		return real(fh);
	int r = real(fh);
	if (happened(&c, fh, r))
		rama_cap_mpi_record(&c);
	rama_cap_mpi_leave(&c);
	return r;
}

static int do_view(REAL(MPI_File_set_view), rama_cap_handle fh, int64_t disp, rama_cap_handle etype,
		   rama_cap_handle filetype, const char *datarep, rama_cap_handle info)
{
	struct rama_cap_mpi_call c = CALL(MPI_File_set_view, VIEW);

	if (!real)
		return RAMA_CAP_MPI_MISSING;
	if (!rama_cap_mpi_enter(&c))
		return real(fh, disp, etype, filetype, datarep, info);
	int r = real(fh, disp, etype, filetype, datarep, info);
	if (happened(&c, fh, r))
		record_with(&c, info);
	rama_cap_mpi_leave(&c);
	return r;
}

/* ---- their two names ------------------------------------------------------------------------- */

#define BODY_MPI_Init do_init
#define BODY_MPI_Init_thread do_init_thread
#define BODY_MPI_Finalize do_finalize
#define BODY_MPI_Abort do_abort
#define BODY_MPI_File_open do_open
#define BODY_MPI_File_close do_close
#define BODY_MPI_File_sync do_sync
#define BODY_MPI_File_set_view do_view

#define ONE(sym, name, ...)                                                   \
	RAMA_CAP_EXPORT int sym(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__))   \
	{                                                                     \
		return BODY_##name(RAMA_CAP_MPI_REAL(sym),                    \
				   RAMA_TAB_LIST(RAMA_CAP_ARG, __VA_ARGS__)); \
	}
#define ONE0(sym, name)                                     \
	RAMA_CAP_EXPORT int sym(void)                       \
	{                                                   \
		return BODY_##name(RAMA_CAP_MPI_REAL(sym)); \
	}
#define FN_MPI(...)
#define FN_MPI4(...)
#define FN_MPIP(...)
#define FN_MPIE(...)
#define FN_MPIW(...)
#define FN_MPIH(name, ...)           \
	ONE(name, name, __VA_ARGS__) \
	ONE(P##name, name, __VA_ARGS__)
#define FN_MPI0(name)    \
	ONE0(name, name) \
	ONE0(P##name, name)
#define NEED(...)
#include RAMA_CAP_ROWS_MPI
