/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/run/sum.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/map.h"
#include "core/sum/plan.h"
#include "logfile/cursor.h"

#define RANKS_MOST (1 << 24) /* a log that says more is damaged */

struct rank_use {
	double io;    /* seconds */
	double alive; /* seconds; 0: as long as the job */
	int64_t pid;
	char *command;
};

/* one walk over a log */
struct walk {
	struct rama_launch_sum *s;
	struct rama_log *log;
	struct rank_use *rank;
	struct rama_map files; /* id -> index of time */
	double *time;
	size_t room;
};

/* ---- reading -------------------------------------------------------------------------------- */

static int add_file(struct walk *w, uint64_t id, double seconds)
{
	bool fresh;
	uint64_t *at = rama_map_put(&w->files, id, &fresh);

	if (at == NULL)
		return RAMA_EMEMORY;
	if (fresh) {
		*at = w->files.used - 1;
		if (!RAMA_GROW(w->time, w->room, w->files.used))
			return RAMA_EMEMORY;
		w->time[*at] = 0;
	}
	w->time[*at] += seconds;
	return 0;
}

/* A shared record holds the time of all ranks and that of the slowest one; the rest is laid upon
 * the others alike. */
static void add_time(struct walk *w, const struct rama_core_plan *p, const union rama_core_word *r,
		     double io)
{
	int64_t n = w->s->nprocs, rank = r[RAMA_TAB_RANK].i;
	double slow, rest;

	if (rank >= 0) {
		if (rank < n)
			w->rank[rank].io += io;
		return;
	}
	rank = r[p->at[RAMA_TAB_SLOW_RANK]].i;
	slow = r[p->at[RAMA_TAB_SLOW_TIME]].f;
	rest = n > 1 && io > slow ? (io - slow) / (double)(n - 1) : 0;
	for (int64_t i = 0; i < n; i++)
		w->rank[i].io += i == rank ? slow : rest;
}

static bool is_file(const struct rama_log *log, uint64_t id)
{
	const struct rama_log_name *name = rama_log_name_get(log, id);

	return name == NULL || name->text[0] != '<'; /* <STDOUT> */
}

static int add_record(struct walk *w, const struct rama_core_plan *p,
		      const struct rama_core_record *r)
{
	struct rama_launch_sum *s = w->s;
	const union rama_core_word *v = r->w;
	double read = v[p->read_time].f, write = v[p->write_time].f, meta = v[p->meta_time].f;
	bool posix = r->mod->id == RAMA_TAB_MOD_POSIX;

	s->bytes_read = rama_core_add(s->bytes_read, v[p->bytes_read].i);
	s->bytes_written = rama_core_add(s->bytes_written, v[p->bytes_written].i);
	s->reads =
		rama_core_add(s->reads, v[posix ? RAMA_TAB_POSIX_READS : RAMA_TAB_STDIO_READS].i);
	s->writes = rama_core_add(s->writes,
				  v[posix ? RAMA_TAB_POSIX_WRITES : RAMA_TAB_STDIO_WRITES].i);
	s->read_time += read;
	s->write_time += write;
	s->meta_time += meta;
	add_time(w, p, v, read + write + meta);
	return is_file(w->log, v[RAMA_TAB_ID].u)
		       ? add_file(w, v[RAMA_TAB_ID].u, read + write + meta)
		       : 0;
}

static int walk_io(struct walk *w, unsigned module)
{
	struct rama_log_cursor c;
	struct rama_core_record *r;
	struct rama_core_plan plan;
	int rc = rama_log_cursor_open(&c, w->log, module);

	rama_core_plan_init(&plan, rama_tab_module_get(module));
	while (rc > 0 && (rc = rama_log_cursor_next(&c, &r)) > 0)
		if (add_record(w, &plan, r) != 0)
			rc = RAMA_EMEMORY;
	rama_log_cursor_close(&c);
	return rc;
}

static void add_process(struct walk *w, const struct rama_core_record *r)
{
	const union rama_core_word *v = r->w;
	struct rama_launch_sum *s = w->s;
	int64_t rank = v[RAMA_TAB_RANK].i, ended = v[RAMA_TAB_PROCESS_ENDED].i;
	struct rank_use *use;

	s->unfinished += ended == 0;
	s->lost = rama_core_add(s->lost, v[RAMA_TAB_PROCESS_EVENTS_LOST].i);
	s->missed = rama_core_add(s->missed, v[RAMA_TAB_PROCESS_CALLS_MISSED].i);
	s->uring_missed = rama_core_add(s->uring_missed, v[RAMA_TAB_PROCESS_URING_MISSED].i);
	s->folded = rama_core_add(s->folded, v[RAMA_TAB_PROCESS_FILES_FOLDED].i);
	if (rank < 0 || rank >= s->nprocs)
		return;
	use = &w->rank[rank];
	use->pid = v[RAMA_TAB_PROCESS_PID].i;
	use->alive =
		v[RAMA_TAB_PROCESS_F_END_TIMESTAMP].f - v[RAMA_TAB_PROCESS_F_START_TIMESTAMP].f;
	free(use->command);
	use->command = r->array[0] != NULL ? strndup(r->array[0]->b, 8 * r->count[0]) : NULL;
}

static int walk_processes(struct walk *w)
{
	struct rama_log_cursor c;
	struct rama_core_record *r;
	int rc = rama_log_cursor_open(&c, w->log, RAMA_TAB_MOD_PROCESS);

	while (rc > 0 && (rc = rama_log_cursor_next(&c, &r)) > 0)
		add_process(w, r);
	rama_log_cursor_close(&c);
	return rc;
}

/* ---- what follows from it ------------------------------------------------------------------- */

static double capped(double part, double whole)
{
	return whole <= 0 || part <= 0 ? 0 : part >= whole ? 1 : part / whole;
}

static void find_busiest(struct walk *w)
{
	struct rama_launch_sum *s = w->s;
	double io = 0, alive = 0;
	struct rank_use *best = NULL;

	s->busiest.rank = -1;
	for (int64_t i = 0; i < s->nprocs; i++) {
		struct rank_use *use = &w->rank[i];
		double time = use->alive > 0 ? use->alive : s->run_time;

		io += use->io;
		alive += time;
		if (use->io > 0 && (best == NULL || use->io > best->io)) {
			best = use;
			s->busiest.rank = i;
			s->busiest.share = capped(use->io, time);
		}
	}
	s->share = capped(io, alive);
	if (best != NULL) {
		s->busiest.pid = best->pid;
		s->busiest.command = best->command;
		best->command = NULL;
	}
}

static void find_slowest(struct walk *w)
{
	struct rama_launch_sum *s = w->s;
	const struct rama_log_name *name;
	struct rama_map_slot slot;
	uint64_t id = 0;

	s->files = w->files.used;
	for (size_t at = 0; w->time != NULL && rama_map_next(&w->files, &at, &slot);) {
		if (w->time[slot.value] > s->slowest_time) {
			s->slowest_time = w->time[slot.value];
			id = slot.key;
		}
	}
	name = s->slowest_time > 0 ? rama_log_name_get(w->log, id) : NULL;
	s->slowest = name != NULL ? strdup(name->text) : NULL;
}

static void read_metadata(struct rama_launch_sum *s, const char *text)
{
	const char *key = strstr(text, RAMA_LOG_META_MISSING);

	if (key != NULL) {
		key += strlen(RAMA_LOG_META_MISSING);
		s->missing = strndup(key, strcspn(key, "\n"));
	}
	key = strstr(text, RAMA_LOG_META_QUIET);
	s->quiet = key != NULL ? strtoll(key + strlen(RAMA_LOG_META_QUIET), NULL, 10) : 0;
	key = strstr(text, RAMA_LOG_META_FOLLOWED);
	s->followed = key != NULL ? strtoll(key + strlen(RAMA_LOG_META_FOLLOWED), NULL, 10) : 0;
	s->unknown_mpi = strstr(text, RAMA_LOG_META_MPI "unknown") != NULL;
	rama_log_unseen_read(&s->unseen, text);
}

static int walk_log(struct walk *w, struct rama_err *e)
{
	struct rama_launch_sum *s = w->s;
	int rc;

	read_metadata(s, w->log->job.metadata);

	s->nprocs = w->log->job.nprocs;
	s->run_time = w->log->job.run_time;
	s->partial = w->log->partial != 0;
	s->command = strdup(w->log->job.exe != NULL ? w->log->job.exe : "");
	if (s->nprocs < 0 || s->nprocs > RANKS_MOST)
		return rama_err_set(e, RAMA_ELIMIT, "%lld processes", (long long)s->nprocs);
	w->rank = calloc((size_t)s->nprocs + 1, sizeof(*w->rank));
	rc = w->rank != NULL ? walk_processes(w) : RAMA_EMEMORY;
	if (rc == 0)
		rc = walk_io(w, RAMA_TAB_MOD_POSIX);
	if (rc == 0)
		rc = walk_io(w, RAMA_TAB_MOD_STDIO);
	if (rc < 0)
		return rama_err_set(e, rc, "%s", rama_err_text(rc));
	find_busiest(w);
	find_slowest(w);
	return 0;
}

int rama_launch_sum_read(struct rama_launch_sum *s, const char *path, struct rama_err *e)
{
	struct rama_log_options opt = { 0 };
	struct rama_log log;
	struct walk w = { .s = s, .log = &log };
	struct rama_file file;
	int rc = rama_file_open(&file, path, e);

	*s = (struct rama_launch_sum){ .busiest = { .rank = -1 } };
	if (rc != 0)
		return rc;
	rc = rama_log_open(&log, &file.src, &opt, e);
	if (rc == 0) {
		rc = walk_log(&w, e);
		for (int64_t i = 0; w.rank != NULL && i < s->nprocs; i++)
			free(w.rank[i].command);
		rama_log_close(&log);
	}
	rama_file_close(&file);
	rama_map_fini(&w.files);
	free(w.time);
	free(w.rank);
	return rc;
}

void rama_launch_sum_fini(struct rama_launch_sum *s)
{
	free(s->command);
	free(s->busiest.command);
	free(s->slowest);
	free(s->missing);
	s->command = s->busiest.command = s->slowest = s->missing = NULL;
}
