/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/run/summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/map.h"
#include "cli/profile.h"
#include "cli/run/live.h"
#include "cli/study.h"
#include "cli/terminal.h"
#include "core/plan.h"
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
	struct rama_cli_run_summary *s;
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
		if (w->files.used > w->room) {
			size_t n = w->room == 0 ? 256 : w->room * 2;
			double *p = realloc(w->time, n * sizeof(*p));

			if (p == NULL)
				return RAMA_EMEMORY;
			w->time = p;
			w->room = n;
		}
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
	struct rama_cli_run_summary *s = w->s;
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
	struct rama_cli_run_summary *s = w->s;
	int64_t rank = v[RAMA_TAB_RANK].i, ended = v[RAMA_TAB_PROCESS_ENDED].i;
	struct rank_use *use;

	s->unfinished += ended == 0;
	s->lost = rama_core_add(s->lost, v[RAMA_TAB_PROCESS_EVENTS_LOST].i);
	s->missed = rama_core_add(s->missed, v[RAMA_TAB_PROCESS_CALLS_MISSED].i);
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
	struct rama_cli_run_summary *s = w->s;
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
	struct rama_cli_run_summary *s = w->s;
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

static void read_metadata(struct rama_cli_run_summary *s, const char *text)
{
	const char *key = strstr(text, RAMA_LOG_META_MISSING);

	if (key != NULL) {
		key += strlen(RAMA_LOG_META_MISSING);
		s->missing = strndup(key, strcspn(key, "\n"));
	}
	key = strstr(text, RAMA_LOG_META_QUIET);
	s->quiet = key != NULL ? strtoll(key + strlen(RAMA_LOG_META_QUIET), NULL, 10) : 0;
	s->unknown_mpi = strstr(text, RAMA_LOG_META_MPI "unknown") != NULL;
	rama_log_unseen_read(&s->unseen, text);
}

static int walk_log(struct walk *w, struct rama_err *e)
{
	struct rama_cli_run_summary *s = w->s;
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

int rama_cli_run_summary_read(struct rama_cli_run_summary *s, struct rama_err *e)
{
	struct rama_log_options opt = { 0 };
	struct rama_log log;
	struct walk w = { .s = s, .log = &log };
	struct rama_file file;
	int rc = rama_file_open(&file, s->log, e);

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

void rama_cli_run_summary_fini(struct rama_cli_run_summary *s)
{
	free(s->command);
	free(s->busiest.command);
	free(s->slowest);
	free(s->missing);
	s->command = s->busiest.command = s->slowest = s->missing = NULL;
}

/* ---- for people ----------------------------------------------------------------------------- */

struct paper {
	FILE *f;
	bool colour;
};

static void label(const struct paper *p, const char *text, const char *code)
{
	if (p->colour)
		fprintf(p->f, "  \033[%sm%-10s\033[0m ", code, text);
	else
		fprintf(p->f, "  %-10s ", text);
}

static void print_unseen(const struct rama_cli_run_summary *s, const struct paper *p)
{
	struct rama_log_unseen_sum others = s->unseen;
	char text[RAMA_LOG_UNSEEN_LINE];

	if (s->unobserved != NULL) {
		label(p, "unseen", "33");
		fprintf(p->f, "%s\n", s->unobserved);
	}
	if (s->why != RAMA_UNSEEN_NOT && others.n[s->why] > 0)
		others.n[s->why]--; /* the line before tells of it */
	if (rama_log_unseen_total(&others) > 0) {
		rama_log_unseen_text(&others, text, sizeof(text));
		label(p, "unseen", "33");
		fprintf(p->f, "programs that could not be observed: %s\n", text);
	}
}

static void print_warnings(const struct rama_cli_run_summary *s, const struct paper *p)
{
	if (s->unfinished > 0) {
		label(p, "killed", "33");
		fprintf(p->f,
			"%zu process%s did not end normally; the log holds what %s did until "
			"then\n",
			s->unfinished, s->unfinished == 1 ? "" : "es",
			s->unfinished == 1 ? "it" : "they");
	}
	if (s->missing != NULL) {
		label(p, "missing", "33");
		fprintf(p->f,
			"nothing of rank %s is here; if it ran on another host, iorama recover "
			"finds "
			"it there\n",
			s->missing);
	}
	if (s->quiet > 0) {
		label(p, "quiet", "33");
		fprintf(p->f,
			"%lld process%s confined %s (seccomp or the like); what came after that is "
			"not in the log\n",
			(long long)s->quiet, s->quiet == 1 ? "" : "es",
			s->quiet == 1 ? "itself" : "themselves");
	}
	if (s->unknown_mpi) {
		label(p, "MPI", "33");
		fputs("not one that iorama knows: processes are observed one by one, without "
		      "MPI-IO\n",
		      p->f);
	}
	if (s->running > 0) {
		label(p, "running", "33");
		fprintf(p->f, "%zu process%s still running; later: iorama recover %s\n", s->running,
			s->running == 1 ? " is" : "es are", s->place);
	}
	if (s->unplaced > 0 || s->unplaced_calls > 0) {
		label(p, "no room", "33");
		fprintf(p->f,
			"%lld process%s left nothing: there was no room for segments; %s%lld calls "
			"are not recorded\n",
			(long long)s->unplaced, s->unplaced == 1 ? "" : "es",
			s->told < s->unplaced ? "at least " : "", (long long)s->unplaced_calls);
	}
	if (s->odd != NULL) {
		label(p, "place", "33");
		fprintf(p->f, "%s; segments were in %s\n", s->odd, s->place);
	}
	if (s->lost + s->missed + s->folded > 0) {
		label(p, "lost", "33");
		fprintf(p->f,
			"%lld traced events, %lld calls not counted; %lld opens share one record\n",
			(long long)s->lost, (long long)s->missed, (long long)s->folded);
	}
	if (s->lost + s->folded > 0) {
		label(p, "", "33");
		fprintf(p->f, "%s%s%s: a larger one gives more room\n",
			s->folded > 0 ? "IORAMA_MEMORY" : "",
			s->folded > 0 && s->lost > 0 ? ", " : "",
			s->lost > 0 ? "IORAMA_TRACE_MEMORY" : "");
	}
	print_unseen(s, p);
}

static int to_file(void *ctx, const char *bytes, size_t n)
{
	return fwrite(bytes, 1, n, ctx) == n ? 0 : RAMA_EIO;
}

/* The report of the log in its short form. Trouble with it is told, and does not matter to the
 * rest. */
static void print_report(const struct rama_cli_run_summary *s, const struct rama_cli_opts *o,
			 const struct rama_cli_terminal *t)
{
	struct rama_report_look look = { .width = t->width,
					 .colour = t->colour,
					 .utf8 = t->utf8,
					 .brief = true,
					 .lead = "iorama: " };
	struct rama_diag_profile profile;
	struct rama_study_options opt = { .profile = &profile };
	struct rama_study study;
	struct rama_out out;

	/* what the lines below say is not said twice */
	look.no_unseen = true;
	look.no_banner = s->unfinished > 0 || s->quiet > 0 || s->missing != NULL ||
			 s->unplaced + s->unplaced_calls > 0 || s->lost + s->missed + s->folded > 0;
	if (rama_cli_profile_load(&profile, o, RAMA_TAB_OPTIONS) != 0 &&
	    rama_diag_profile_init(&profile) != 0)
		return;
	rama_cli_study_open(&study, &(struct rama_study_source){ .path = s->log }, 1, opt, true);
	if (study.reported) {
		look.utc_offset = rama_study_utc_offset(&study);
		rama_out_init(&out, to_file, stderr);
		rama_report_text(&out, &study.report, &look);
		rama_out_flush(&out);
		rama_out_fini(&out);
	}
	rama_study_close(&study);
	rama_diag_profile_fini(&profile);
}

void rama_cli_run_summary_text(const struct rama_cli_run_summary *s, const struct rama_cli_opts *o)
{
	struct rama_cli_terminal t = rama_cli_terminal_stderr();
	struct paper p = { stderr, t.colour };

	print_report(s, o, &t);
	print_warnings(s, &p);
	label(&p, "log", "1");
	fprintf(stderr, "%s\n", s->log);
	label(&p, "more", "1");
	fprintf(stderr, "iorama report %s\n", s->log);
}

/* ---- for scripts ---------------------------------------------------------------------------- */

static void json_time(struct rama_json *j, const struct rama_cli_run_summary *s)
{
	rama_json_key_f64(j, "run_time", s->run_time);
	rama_json_key_f64(j, "io_share", s->share);
	rama_json_key_f64(j, "read_time", s->read_time);
	rama_json_key_f64(j, "write_time", s->write_time);
	rama_json_key_f64(j, "meta_time", s->meta_time);
	rama_json_key(j, "busiest");
	if (s->busiest.rank < 0) {
		rama_json_null(j);
		return;
	}
	rama_json_open(j, '{');
	rama_json_key_i64(j, "rank", s->busiest.rank);
	rama_json_key_i64(j, "pid", s->busiest.pid);
	rama_json_key_string(j, "command", s->busiest.command);
	rama_json_key_f64(j, "io_share", s->busiest.share);
	rama_json_close(j, '}');
}

static void json_data(struct rama_json *j, const struct rama_cli_run_summary *s)
{
	rama_json_key_i64(j, "bytes_read", s->bytes_read);
	rama_json_key_i64(j, "bytes_written", s->bytes_written);
	rama_json_key_i64(j, "reads", s->reads);
	rama_json_key_i64(j, "writes", s->writes);
	rama_json_key_i64(j, "files", (int64_t)s->files);
	rama_json_key(j, "slowest_file");
	if (s->slowest == NULL) {
		rama_json_null(j);
		return;
	}
	rama_json_open(j, '{');
	rama_json_key_string(j, "name", s->slowest);
	rama_json_key_f64(j, "time", s->slowest_time);
	rama_json_close(j, '}');
}

static void json_unseen(struct rama_json *j, const struct rama_log_unseen_sum *s)
{
	rama_json_key(j, "unseen_why");
	rama_json_open(j, '{');
	for (unsigned i = 1; i < RAMA_UNSEEN_REASONS; i++)
		if (s->n[i] > 0)
			rama_json_key_i64(j, rama_unseen_key((enum rama_unseen)i), s->n[i]);
	rama_json_close(j, '}');
	rama_json_key(j, "unseen_programs");
	rama_json_open(j, '[');
	for (size_t i = 0; i < RAMA_LOG_UNSEEN_NAMES && s->program[i].why != 0; i++)
		rama_json_string(j, s->program[i].name);
	rama_json_close(j, ']');
}

void rama_cli_run_summary_json(const struct rama_cli_run_summary *s, FILE *f)
{
	struct rama_out o;
	struct rama_json j;

	rama_out_init(&o, to_file, f);
	rama_json_init(&j, &o);
	rama_json_open(&j, '{');
	rama_json_key_string(&j, "command", s->command);
	rama_json_key_string(&j, "log", s->log);
	rama_json_key_i64(&j, "exit", s->exit);
	rama_json_key_i64(&j, "signal", s->signal);
	rama_json_key_i64(&j, "processes", s->nprocs);
	json_time(&j, s);
	json_data(&j, s);
	rama_json_key_i64(&j, "unfinished", (int64_t)s->unfinished);
	rama_json_key_i64(&j, "running", (int64_t)s->running);
	rama_json_key_string(&j, "unobserved", s->unobserved);
	rama_json_key_i64(&j, "unseen", rama_log_unseen_total(&s->unseen));
	json_unseen(&j, &s->unseen);
	rama_json_key_i64(&j, "unplaced", s->unplaced);
	rama_json_key_i64(&j, "unplaced_calls", s->unplaced_calls);
	rama_json_key_i64(&j, "moved", (int64_t)s->moved);
	rama_json_key_string(&j, "place", s->odd);
	rama_json_key_string(&j, "missing", s->missing);
	rama_json_key_i64(&j, "quiet", s->quiet);
	rama_json_key_string(&j, "mpi", s->unknown_mpi ? "unknown" : NULL);
	rama_json_key_i64(&j, "events_lost", s->lost);
	rama_json_key_i64(&j, "calls_missed", s->missed);
	rama_json_key_i64(&j, "files_folded", s->folded);
	rama_json_key(&j, "incomplete");
	rama_json_bool(&j, s->partial || s->unplaced > 0 || s->unplaced_calls > 0);
	if (s->live != NULL)
		rama_cli_run_live_json(s->live, &j);
	rama_json_close(&j, '}');
	rama_out_char(&o, '\n');
	rama_out_flush(&o);
	rama_out_fini(&o);
}
