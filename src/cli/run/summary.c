/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/run/summary.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/human.h"
#include "base/json.h"
#include "cli/input.h"
#include "cli/profile.h"
#include "cli/study.h"
#include "cli/terminal.h"
#include "launch/run/sum.h"
#include "store/shown.h"

struct paper {
	const struct rama_launch_outcome *o;
	const struct rama_launch_sum *s;
	bool colour;
};

/* ---- live events ---------------------------------------------------------------------------- */

void rama_cli_run_live_text(const struct rama_launch_live *v, bool quiet)
{
	char a[RAMA_HUMAN], b[RAMA_HUMAN], c[RAMA_HUMAN], d[RAMA_HUMAN], shown[PATH_MAX];
	const char *where = rama_store_shown(v->elsewhere ? v->sink : v->store, shown);

	if (v->trouble[0] != '\0')
		rama_cli_complain("live", "%s%s", v->trouble,
				  v->again > 0 && v->counted && v->waiting == 0
					  ? "; it was started again"
					  : "");
	if (quiet && v->lost + v->waiting == 0)
		return;
	fprintf(stderr, "events: %s seen, %s stored, %s lost",
		rama_human_count(a, (int64_t)v->seen), rama_human_count(b, (int64_t)v->stored),
		rama_human_count(c, (int64_t)v->lost));
	if (v->waiting > 0)
		fprintf(stderr, ", %s wait", rama_human_count(d, (int64_t)v->waiting));
	fputc('\n', stderr);
	if (v->waiting > 0 && rama_launch_live_goes_on(v))
		fprintf(stderr, "  the agent %ld goes on with them\n", (long)v->agent);
	else if (v->waiting > 0)
		fprintf(stderr,
			"  they wait in %s; when %s can be reached, your next iorama agent brings "
			"them there, or now: iorama agent --drain\n",
			v->spool, where);
	if (!quiet && v->elsewhere)
		fprintf(stderr, "  went to %s, by the agent %ld\n", where, (long)v->agent);
	else if (!quiet && v->counted)
		fprintf(stderr, "  in %s: iorama jobs %s, iorama query --job %s\n", where, v->key,
			v->key);
}

/* ---- for people ----------------------------------------------------------------------------- */

static void label(const struct paper *p, const char *text, const char *code)
{
	if (p->colour)
		fprintf(stderr, "  \033[%sm%-10s\033[0m ", code, text);
	else
		fprintf(stderr, "  %-10s ", text);
}

static void warn(const struct paper *p, const char *word, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void warn(const struct paper *p, const char *word, const char *fmt, ...)
{
	va_list ap;

	label(p, word, "33");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void print_unseen(const struct paper *p)
{
	struct rama_log_unseen_sum others = p->s->unseen;
	char text[RAMA_LOG_UNSEEN_LINE];

	if (p->o->unobserved != NULL)
		warn(p, "unseen", "%s", p->o->unobserved);
	if (p->o->why != RAMA_UNSEEN_NOT && others.n[p->o->why] > 0)
		others.n[p->o->why]--; /* the line before tells of it */
	if (rama_log_unseen_total(&others) > 0) {
		rama_log_unseen_text(&others, text, sizeof(text));
		warn(p, "unseen", "programs that could not be observed: %s", text);
	}
}

/* what the log says that it lacks */
static void print_lacks(const struct paper *p)
{
	const struct rama_launch_sum *s = p->s;

	if (s->unfinished > 0)
		warn(p, "killed",
		     "%zu process%s did not end normally; the log holds what %s did until then",
		     s->unfinished, s->unfinished == 1 ? "" : "es",
		     s->unfinished == 1 ? "it" : "they");
	if (s->missing != NULL)
		warn(p, "missing",
		     "nothing of rank %s is here; if it ran on another host, iorama recover finds "
		     "it there",
		     s->missing);
	if (s->quiet > 0)
		warn(p, "quiet",
		     "%lld process%s confined %s (seccomp or the like); what came after that is "
		     "not in the log",
		     (long long)s->quiet, s->quiet == 1 ? "" : "es",
		     s->quiet == 1 ? "itself" : "themselves");
	if (s->followed > 0)
		warn(p, "followed",
		     "%lld program%s from outside, by system calls: each took some 15 µs longer",
		     (long long)s->followed, s->followed == 1 ? "" : "s");
	if (s->unknown_mpi)
		warn(p, "MPI",
		     "not one that iorama knows: processes are observed one by one, without "
		     "MPI-IO");
}

/* what only run knows */
static void print_outcome(const struct paper *p)
{
	const struct rama_launch_outcome *o = p->o;

	if (o->running > 0)
		warn(p, "running", "%zu process%s still running; later: iorama recover %s",
		     o->running, o->running == 1 ? " is" : "es are", o->place);
	if (o->unplaced > 0 || o->unplaced_calls > 0)
		warn(p, "no room",
		     "%lld process%s left nothing: there was no room for segments; %s%lld calls "
		     "are not recorded",
		     (long long)o->unplaced, o->unplaced == 1 ? "" : "es",
		     o->told < o->unplaced ? "at least " : "", (long long)o->unplaced_calls);
	if (o->odd != NULL)
		warn(p, "place", "%s; segments were in %s", o->odd, o->place);
}

static void print_lost(const struct paper *p)
{
	const struct rama_launch_sum *s = p->s;

	if (s->lost + s->missed + s->folded > 0)
		warn(p, "lost",
		     "%lld traced events, %lld calls not counted; %lld opens counted in groups",
		     (long long)s->lost, (long long)s->missed, (long long)s->folded);
	if (s->uring_missed > 0)
		warn(p, "not seen", "%lld operation%s of io_uring: figures are lower bounds",
		     (long long)s->uring_missed, s->uring_missed == 1 ? "" : "s");
	if (s->lost + s->folded > 0)
		warn(p, "", "%s%s%s: a larger one gives more room",
		     s->folded > 0 ? "IORAMA_MEMORY" : "", s->folded > 0 && s->lost > 0 ? ", " : "",
		     s->lost > 0 ? "IORAMA_TRACE_MEMORY" : "");
}

/* The report of the log in its short form. Trouble with it is told, and does not matter to the
 * rest. */
static void print_report(const struct paper *p, const struct rama_cli_opts *o,
			 const struct rama_cli_terminal *t)
{
	const struct rama_launch_sum *s = p->s;
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
			 p->o->unplaced + p->o->unplaced_calls > 0 ||
			 s->lost + s->missed + s->folded + s->uring_missed > 0;
	if (rama_cli_profile_load(&profile, o, RAMA_TAB_OPTIONS) != 0 &&
	    rama_diag_profile_init(&profile) != 0)
		return;
	rama_cli_study_open(&study, &(struct rama_study_source){ .path = p->o->log }, 1, opt, true);
	if (study.reported) {
		look.utc_offset = rama_study_utc_offset(&study);
		rama_out_init(&out, rama_cli_to_file, stderr);
		rama_report_text(&out, &study.report, &look);
		rama_out_flush(&out);
		rama_out_fini(&out);
	}
	rama_study_close(&study);
	rama_diag_profile_fini(&profile);
}

static void print_text(const struct paper *p, const struct rama_cli_opts *opts,
		       const struct rama_cli_terminal *t)
{
	print_report(p, opts, t);
	print_lacks(p);
	print_outcome(p);
	print_lost(p);
	print_unseen(p);
	label(p, "log", "1");
	fprintf(stderr, "%s\n", p->o->log);
	label(p, "more", "1");
	fprintf(stderr, "iorama report %s\n", p->o->log);
}

/* ---- for scripts ---------------------------------------------------------------------------- */

static void json_time(struct rama_json *j, const struct rama_launch_sum *s)
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

static void json_data(struct rama_json *j, const struct rama_launch_sum *s)
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

static void json_live(const struct rama_launch_live *v, struct rama_json *j)
{
	char shown[PATH_MAX];

	rama_json_key(j, "events");
	rama_json_open(j, '{');
	rama_json_key_i64(j, "seen", (int64_t)v->seen);
	rama_json_key_i64(j, "stored", (int64_t)v->stored);
	rama_json_key_i64(j, "lost", (int64_t)v->lost);
	rama_json_key_i64(j, "waiting", (int64_t)v->waiting);
	rama_json_key_string(j, "store",
			     rama_store_shown(v->elsewhere ? v->sink : v->store, shown));
	rama_json_key_string(j, "job", v->key);
	rama_json_key_i64(j, "agent_restarts", v->again);
	rama_json_key_string(j, "trouble", v->trouble[0] != '\0' ? v->trouble : NULL);
	rama_json_close(j, '}');
}

static void print_json(const struct paper *p)
{
	const struct rama_launch_outcome *end = p->o;
	const struct rama_launch_sum *s = p->s;
	struct rama_out o;
	struct rama_json j;

	rama_out_init(&o, rama_cli_to_file, stderr);
	rama_json_init(&j, &o);
	rama_json_open(&j, '{');
	rama_json_key_string(&j, "command", end->log != NULL ? s->command : end->command);
	rama_json_key_string(&j, "log", end->log);
	rama_json_key_i64(&j, "exit", end->exit);
	rama_json_key_i64(&j, "signal", end->signal);
	rama_json_key_i64(&j, "processes", s->nprocs);
	json_time(&j, s);
	json_data(&j, s);
	rama_json_key_i64(&j, "unfinished", (int64_t)s->unfinished);
	rama_json_key_i64(&j, "running", (int64_t)end->running);
	rama_json_key_string(&j, "unobserved", end->unobserved);
	rama_json_key_i64(&j, "unseen", rama_log_unseen_total(&s->unseen));
	json_unseen(&j, &s->unseen);
	rama_json_key_i64(&j, "unplaced", end->unplaced);
	rama_json_key_i64(&j, "unplaced_calls", end->unplaced_calls);
	rama_json_key_i64(&j, "moved", (int64_t)end->moved);
	rama_json_key_string(&j, "place", end->odd);
	rama_json_key_string(&j, "missing", s->missing);
	rama_json_key_i64(&j, "quiet", s->quiet);
	rama_json_key_i64(&j, "followed", s->followed);
	rama_json_key_string(&j, "mpi", s->unknown_mpi ? "unknown" : NULL);
	rama_json_key_i64(&j, "events_lost", s->lost);
	rama_json_key_i64(&j, "calls_missed", s->missed);
	rama_json_key_i64(&j, "uring_missed", s->uring_missed);
	rama_json_key_i64(&j, "files_folded", s->folded);
	rama_json_key(&j, "incomplete");
	rama_json_bool(&j, s->partial || end->unplaced > 0 || end->unplaced_calls > 0);
	if (end->live != NULL)
		json_live(end->live, &j);
	rama_json_close(&j, '}');
	rama_out_char(&o, '\n');
	rama_out_flush(&o);
	rama_out_fini(&o);
}

void rama_cli_run_summary(const struct rama_launch_outcome *o, const struct rama_cli_opts *opts,
			  bool json)
{
	struct rama_cli_terminal t = { 0 };
	struct rama_launch_sum s = { .busiest = { .rank = -1 }, .unseen = o->unseen };
	struct paper p = { .o = o, .s = &s };
	struct rama_err e = { 0 };

	if (o->log != NULL && rama_launch_sum_read(&s, o->log, &e) != 0)
		rama_cli_complain(o->log, "%s", e.text);
	else if (json)
		print_json(&p);
	else if (o->log != NULL) {
		t = rama_cli_terminal_stderr();
		p.colour = t.colour;
		print_text(&p, opts, &t);
	} else
		rama_cli_complain("run", "%s; there is no log",
				  o->unobserved != NULL ? o->unobserved
				  : o->unplaced > 0	? "there was no room for segments"
							: "nothing was observed");
	rama_launch_sum_fini(&s);
}
