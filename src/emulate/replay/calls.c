/* SPDX-License-Identifier: BSD-3-Clause */
/* calls.c: what a job did besides moving data: syncs, opens, stats and the like. Traces do not have
 * them; counters say how many there were of each file and rank. Those that can be done again
 * become calls between the requests; the others are counted, so that the result can say what it
 * lacks. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "emulate/replay/replay.h"
#include "logfile/cursor.h"

#define EACH_MOST 10000000 /* of one counter: a log that says more is not believed */

/* one kind of call in one module of a log */
struct row {
	unsigned module, word;
	enum rama_emu_replay_deed deed; /* RAMA_EMU_DEED_NONE: it cannot be done again */
	const char *name;		/* several of them */
};

#define POSIX(word, deed, name)                                                       \
	{                                                                             \
		RAMA_TAB_MOD_POSIX, RAMA_TAB_POSIX_##word, RAMA_EMU_DEED_##deed, name \
	}
#define EXTRA(word, deed, name)                                                       \
	{                                                                             \
		RAMA_TAB_MOD_EXTRA, RAMA_TAB_EXTRA_##word, RAMA_EMU_DEED_##deed, name \
	}
#define MPIIO(word, deed, name)                                                       \
	{                                                                             \
		RAMA_TAB_MOD_MPIIO, RAMA_TAB_MPIIO_##word, RAMA_EMU_DEED_##deed, name \
	}

/* in the order in which calls of one moment are done: a file is closed before it goes */
static const struct row rows[] = {
	POSIX(FSYNCS, SYNC, "fsyncs"),
	POSIX(FDSYNCS, DATASYNC, "fdatasyncs"),
	POSIX(READS, READ, "reads of no bytes"),
	POSIX(WRITES, WRITE, "writes of no bytes"),
	POSIX(OPENS, OPEN, "opens"),
	POSIX(STATS, STAT, "stats"),
	POSIX(SEEKS, NONE, "seeks"),
	EXTRA(STATS, STAT, "stats"),
	EXTRA(ACCESSES, ACCESS, "accesses"),
	EXTRA(MKDIRS, MKDIR, "mkdirs"),
	EXTRA(RENAMES, RENAME, "renames"),
	EXTRA(UNLINKS, UNLINK, "unlinks"),
	EXTRA(MMAPS, NONE, "maps"),
	EXTRA(MSYNCS, NONE, "msyncs"),
	EXTRA(RANGE_SYNCS, NONE, "syncs of ranges"),
	EXTRA(TRUNCATES, NONE, "truncates"),
	EXTRA(ALLOCATES, NONE, "allocates"),
	EXTRA(ADVISES, NONE, "advises"),
	EXTRA(LOCKS, NONE, "locks"),
	EXTRA(LINKS, NONE, "links"),
	EXTRA(CHMODS, NONE, "chmods"),
	EXTRA(UTIMES, NONE, "changes of times"),
	EXTRA(XATTRS, NONE, "extended attributes"),
	EXTRA(READDIRS, NONE, "readdirs"),
	EXTRA(READS_FAILED, NONE, "reads that failed"),
	EXTRA(WRITES_FAILED, NONE, "writes that failed"),
	EXTRA(OPENS_FAILED, NONE, "opens that failed"),
	EXTRA(CALLS_FAILED, NONE, "other calls that failed"),
	{ RAMA_TAB_MOD_STDIO, RAMA_TAB_STDIO_OPENS, RAMA_EMU_DEED_OPEN, "opens" },
	{ RAMA_TAB_MOD_STDIO, RAMA_TAB_STDIO_READS, RAMA_EMU_DEED_NONE, "reads of no bytes" },
	{ RAMA_TAB_MOD_STDIO, RAMA_TAB_STDIO_WRITES, RAMA_EMU_DEED_NONE, "writes of no bytes" },
	{ RAMA_TAB_MOD_STDIO, RAMA_TAB_STDIO_SEEKS, RAMA_EMU_DEED_NONE, "seeks" },
	{ RAMA_TAB_MOD_STDIO, RAMA_TAB_STDIO_FLUSHES, RAMA_EMU_DEED_FLUSH, "flushes" },
	MPIIO(COLL_READS, NONE, "collective calls"),
	MPIIO(COLL_WRITES, NONE, "collective calls"),
	MPIIO(SPLIT_READS, NONE, "collective calls"),
	MPIIO(SPLIT_WRITES, NONE, "collective calls"),
	MPIIO(NB_READS, NONE, "nonblocking calls"),
	MPIIO(NB_WRITES, NONE, "nonblocking calls"),
	MPIIO(COLL_OPENS, NONE, "collective opens"),
	MPIIO(INDEP_OPENS, OPEN, "opens"),
	MPIIO(SYNCS, SYNC, "syncs of MPI-IO"),
	MPIIO(VIEWS, NONE, "file views"),
	MPIIO(HINTS, NONE, "hints"),
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))
_Static_assert(N_ROWS <= RAMA_EMU_REPLAY_ROWS, "each row has a count of what was left out");

const char *rama_emu_replay_left_name(unsigned row)
{
	return row < N_ROWS ? rows[row].name : NULL;
}

/* ---- what is moved --------------------------------------------------------------------------- */

/* requests of a rank in a file: calls are spread evenly over them */
struct track {
	uint64_t reads, writes, seen_reads, seen_writes;
	uint64_t due[RAMA_EMU_DEEDS];	 /* calls in all */
	uint8_t row[RAMA_EMU_DEEDS];	 /* that says so */
	uint64_t placed[RAMA_EMU_DEEDS]; /* ... that have their place */
	double last;			 /* end of the last request */
	double busy;			 /* seconds of writes */
};

struct tracks {
	struct rama_map by_key; /* file and rank -> number */
	struct track *t;
	uint64_t *key;
	size_t n, room, room_key;
};

static struct track *track_of(struct tracks *all, uint32_t file, int64_t rank)
{
	uint64_t key = (uint64_t)file << 32 | (uint32_t)rank;
	bool fresh = false;
	uint64_t *at = rama_map_put(&all->by_key, key + 1, &fresh);

	if (at == NULL || (fresh && (!RAMA_GROW(all->t, all->room, all->n + 1) ||
				     !RAMA_GROW(all->key, all->room_key, all->n + 1))))
		return NULL;
	if (fresh) {
		*at = all->n;
		all->key[all->n] = key;
		all->t[all->n++] = (struct track){ 0 };
	}
	return &all->t[*at];
}

static int no_memory(struct rama_err *e)
{
	return rama_err_set(e, RAMA_EMEMORY, "no memory for the calls of a job");
}

/* from `first` on: operations of this log */
static int count_moves(struct tracks *all, const struct rama_emu_replay *r, size_t first,
		       struct rama_err *e)
{
	for (size_t i = first; i < r->n; i++) {
		struct track *t = track_of(all, r->ops[i].file, r->ops[i].rank);

		if (t == NULL)
			return no_memory(e);
		*(r->ops[i].write ? &t->writes : &t->reads) += 1;
		t->busy += r->ops[i].write ? r->ops[i].end - r->ops[i].start : 0;
	}
	return 0;
}

/* ---- how many calls -------------------------------------------------------------------------- */

struct reader {
	struct rama_emu_replay *r;
	const struct rama_log *log;
	struct tracks all;
	int64_t rank_base;
	double shift;
	struct rama_err *e;
};

/* Requests are done already, all but those without bytes; an fd that is made from another one is
 * no open of a file. */
static int64_t count_of(const struct row *row, const union rama_core_word *w,
			const struct track *moves)
{
	int64_t n = w[row->word].i;

	bool stdio = row->module == RAMA_TAB_MOD_STDIO;

	if (row->deed == RAMA_EMU_DEED_READ || (stdio && row->word == RAMA_TAB_STDIO_READS))
		n -= (int64_t)moves->reads;
	if (row->deed == RAMA_EMU_DEED_WRITE || (stdio && row->word == RAMA_TAB_STDIO_WRITES))
		n -= (int64_t)moves->writes;
	if (row->deed == RAMA_EMU_DEED_OPEN && row->module == RAMA_TAB_MOD_POSIX) {
		n -= w[RAMA_TAB_POSIX_FILENOS].i > 0 ? w[RAMA_TAB_POSIX_FILENOS].i : 0;
		n -= w[RAMA_TAB_POSIX_DUPS].i > 0 ? w[RAMA_TAB_POSIX_DUPS].i : 0;
	}
	if (row->deed == RAMA_EMU_DEED_OPEN && stdio)
		n -= w[RAMA_TAB_STDIO_FDOPENS].i > 0 ? w[RAMA_TAB_STDIO_FDOPENS].i : 0;
	return n > 0 ? n : 0;
}

static bool can_do(const struct reader *l, const struct row *row, uint32_t file, uint64_t n)
{
	const struct rama_emu_engine *g = l->r->m->opt.engine;

	switch (row->deed) {
	case RAMA_EMU_DEED_NONE:
		return false;
	case RAMA_EMU_DEED_FLUSH:
		return !g->no_files && rama_emu_replay_streams(l->r, &l->r->files[file]);
	case RAMA_EMU_DEED_READ: /* a trace that was cut off lacks others, too */
	case RAMA_EMU_DEED_WRITE:
		return g->fd != NULL && l->r->lost == 0;
	case RAMA_EMU_DEED_MKDIR: /* names are made, given up and changed once */
	case RAMA_EMU_DEED_RENAME:
	case RAMA_EMU_DEED_UNLINK:
		return !g->no_files && n == 1;
	default:
		return !g->no_files;
	}
}

/* a shared record: as if each rank had its share */
static int deal(struct reader *l, const struct row *row, uint32_t file,
		const union rama_core_word *w)
{
	int64_t rank = w[RAMA_TAB_RANK].i, nprocs = l->log->job.nprocs;
	int64_t from = rank < 0 ? 0 : rank, to = rank < 0 ? nprocs : rank + 1;
	struct track sum = { 0 };
	uint64_t n;

	for (int64_t i = from; i < to; i++) {
		const struct track *t = track_of(&l->all, file, l->rank_base + i);

		if (t == NULL)
			return no_memory(l->e);
		sum.reads += t->reads;
		sum.writes += t->writes;
	}
	n = (uint64_t)count_of(row, w, &sum);
	if (n == 0)
		return 0;
	if (n > EACH_MOST || !can_do(l, row, file, n)) {
		l->r->left[row - rows] += n;
		return 0;
	}
	for (int64_t i = from; i < to; i++) {
		struct track *t = track_of(&l->all, file, l->rank_base + i);

		if (t != NULL) {
			t->row[row->deed] = (uint8_t)(row - rows);
			t->due[row->deed] += n / (uint64_t)(to - from) +
					     (n % (uint64_t)(to - from) > (uint64_t)(i - from));
		}
	}
	return 0;
}

/* What syncs took is part of the time of writing, but not of any write: as they are done again, it
 * is not slept too. */
static void take_time(struct reader *l, uint32_t file, const union rama_core_word *w)
{
	int64_t rank = w[RAMA_TAB_RANK].i, nprocs = l->log->job.nprocs;
	int64_t from = rank < 0 ? 0 : rank, to = rank < 0 ? nprocs : rank + 1;
	double busy = 0, left;

	if (w[RAMA_TAB_POSIX_FSYNCS].i <= 0 && w[RAMA_TAB_POSIX_FDSYNCS].i <= 0)
		return;
	for (int64_t i = from; i < to; i++) {
		const struct track *t = track_of(&l->all, file, l->rank_base + i);

		busy += t != NULL ? t->busy : 0;
	}
	left = w[RAMA_TAB_POSIX_F_WRITE_TIME].f - busy;
	for (int64_t i = from; left > 0 && i < to; i++)
		l->r->untraced[l->rank_base + i] += left / (double)(to - from);
}

void rama_emu_replay_leave(struct rama_emu_replay *r, unsigned module, unsigned word, uint64_t n)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (rows[i].module == module && rows[i].word == word)
			r->left[i] += n;
}

/* Done by MPI-IO again: what it does below is its own affair, collective calls are operations
 * (together.c), and what the group of a file does is done by it. Done by requests: so are calls of
 * MPI-IO; only that they were not collective is told. */
static int deal_upper(struct reader *l, const struct row *row, uint32_t file,
		      const union rama_core_word *w)
{
	struct rama_emu_replay_file *f = &l->r->files[file];
	bool group =
		row->word == RAMA_TAB_MPIIO_COLL_READS || row->word == RAMA_TAB_MPIIO_COLL_WRITES ||
		row->word == RAMA_TAB_MPIIO_SPLIT_READS || row->word == RAMA_TAB_MPIIO_SPLIT_WRITES;
	uint64_t n = w[row->word].i > 0 ? w[row->word].u : 0;

	if (f->upper == 0)
		return group ? deal(l, row, file, w) : 0;
	if (group)
		return 0;
	if (f->together && row->word == RAMA_TAB_MPIIO_COLL_OPENS)
		f->group_opens += n;
	else if (f->together && row->word == RAMA_TAB_MPIIO_SYNCS)
		f->group_syncs += n;
	else
		return deal(l, row, file, w);
	return 0;
}

/* What was to be opened, and was not there, has no record of its own. Where MPI-IO is done again
 * its library looks for files that are not there again, too: which of these calls are its own is
 * not known. */
static void leave_failed(struct rama_emu_replay *r, unsigned module, const union rama_core_word *w)
{
	for (uint32_t i = 0; i < r->n_files; i++)
		if (r->files[i].upper != 0)
			return;
	for (size_t i = 0; i < N_ROWS; i++)
		if (rows[i].module == module && w[rows[i].word].i > 0)
			r->left[i] += w[rows[i].word].u;
}

static int read_module(struct reader *l, unsigned module)
{
	struct rama_log_cursor c;
	struct rama_core_record *rec;
	int rc = rama_log_cursor_open(&c, (struct rama_log *)l->log, module);

	while (rc > 0 && (rc = rama_log_cursor_next(&c, &rec)) > 0) {
		const union rama_core_word *w = rec->w;
		const struct rama_log_name *name = rama_log_name_get(l->log, w[RAMA_TAB_ID].u);
		const char *text = name != NULL ? name->text : "unnamed";
		int64_t file;
		int done = 0;

		if (strcmp(text, "<FAILED>") == 0)
			leave_failed(l->r, module, w);
		if (!rama_emu_replay_is_file(text) || w[RAMA_TAB_RANK].i >= l->log->job.nprocs)
			continue;
		file = rama_emu_replay_file(l->r, w[RAMA_TAB_ID].u, text, l->e);
		if (file < 0)
			done = (int)file;
		if (done == 0 && module != RAMA_TAB_MOD_MPIIO && l->r->files[file].upper != 0)
			continue; /* MPI-IO's own, which it does again */
		if (done == 0 && module == RAMA_TAB_MOD_POSIX)
			take_time(l, (uint32_t)file, w);
		for (size_t i = 0; done == 0 && i < N_ROWS; i++)
			if (rows[i].module == module)
				done = (module == RAMA_TAB_MOD_MPIIO ? deal_upper : deal)(
					l, &rows[i], (uint32_t)file, w);
		rc = done == 0 ? 1 : done;
	}
	rama_log_cursor_close(&c);
	return rc < 0 ? rc : 0;
}

/* ---- when ------------------------------------------------------------------------------------ */

static int place(struct reader *l, struct track *t, uint64_t key, enum rama_emu_replay_deed deed,
		 double when)
{
	struct rama_emu_replay *r = l->r;

	if (!RAMA_GROW(r->calls, r->room_calls, r->n_calls + 1))
		return no_memory(l->e);
	r->calls[r->n_calls++] = (struct rama_emu_replay_call){ .file = (uint32_t)(key >> 32),
								.rank = (int32_t)(uint32_t)key,
								.deed = deed,
								.row = t->row[deed],
								.start = when };
	t->placed[deed]++;
	return 0;
}

/* Syncs follow writes, empty reads reads, all else any request; what a file ends with comes last.
 * The first open is that before the first request. */
static uint64_t due_by_now(const struct track *t, enum rama_emu_replay_deed deed)
{
	uint64_t seen = t->seen_reads + t->seen_writes, all = t->reads + t->writes;
	uint64_t n = t->due[deed];

	switch (deed) {
	case RAMA_EMU_DEED_SYNC:
	case RAMA_EMU_DEED_DATASYNC:
	case RAMA_EMU_DEED_FLUSH:
	case RAMA_EMU_DEED_WRITE:
		return t->writes > 0 ? n * t->seen_writes / t->writes : n * seen / all;
	case RAMA_EMU_DEED_READ:
		return t->reads > 0 ? n * t->seen_reads / t->reads : n * seen / all;
	case RAMA_EMU_DEED_OPEN:
		return n > 0 ? (n - 1) * seen / all : 0;
	case RAMA_EMU_DEED_STAT:
	case RAMA_EMU_DEED_ACCESS:
		return n * seen / all;
	default:
		return 0;
	}
}

static int place_among(struct reader *l, size_t first)
{
	int rc = 0;

	for (size_t i = first; rc == 0 && i < l->r->n; i++) {
		const struct rama_emu_replay_op *op = &l->r->ops[i];
		struct track *t = track_of(&l->all, op->file, op->rank);
		uint64_t key = (uint64_t)op->file << 32 | (uint32_t)op->rank;

		if (t == NULL)
			return no_memory(l->e);
		*(op->write ? &t->seen_writes : &t->seen_reads) += 1;
		t->last = op->end > t->last ? op->end : t->last;
		for (int d = 1; rc == 0 && d < RAMA_EMU_DEEDS; d++)
			while (rc == 0 &&
			       t->placed[d] < due_by_now(t, (enum rama_emu_replay_deed)d))
				rc = place(l, t, key, (enum rama_emu_replay_deed)d, op->end);
	}
	return rc;
}

/* of files that were never read or written: at the beginning, or when their directory is made */
static int place_rest(struct reader *l)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < l->all.n; i++) {
		struct track *t = &l->all.t[i];
		bool moved = t->reads + t->writes > 0;

		t->placed[RAMA_EMU_DEED_OPEN] += moved && t->due[RAMA_EMU_DEED_OPEN] > 0;
		for (int d = 1; rc == 0 && d < RAMA_EMU_DEEDS; d++)
			while (rc == 0 && t->placed[d] < t->due[d])
				rc = place(l, t, l->all.key[i], (enum rama_emu_replay_deed)d,
					   moved ? t->last : l->shift);
	}
	return rc;
}

int rama_emu_replay_calls_load(struct rama_emu_replay *r, const struct rama_log *log, size_t first,
			       uint32_t rank_base, double shift, struct rama_err *e)
{
	static const unsigned modules[] = { RAMA_TAB_MOD_POSIX, RAMA_TAB_MOD_EXTRA,
					    RAMA_TAB_MOD_STDIO, RAMA_TAB_MOD_MPIIO };
	struct reader l = { .r = r, .log = log, .rank_base = rank_base, .shift = shift, .e = e };
	int rc = count_moves(&l.all, r, first, e);

	for (size_t i = 0; rc == 0 && i < sizeof(modules) / sizeof(modules[0]); i++)
		rc = read_module(&l, modules[i]);
	if (rc == 0)
		rc = place_among(&l, first);
	if (rc == 0)
		rc = place_rest(&l);
	rama_map_fini(&l.all.by_key);
	free(l.all.t);
	free(l.all.key);
	return rc;
}

static int by_time(const void *a, const void *b)
{
	const struct rama_emu_replay_call *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->deed < y->deed ? -1 : x->deed > y->deed;
}

void rama_emu_replay_calls_sort(struct rama_emu_replay *r)
{
	if (r->n_calls > 0)
		qsort(r->calls, r->n_calls, sizeof(*r->calls), by_time);
}
