/* SPDX-License-Identifier: BSD-3-Clause */
/* verdict.c: the sentence that comes first, what is incomplete, and where the time goes. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "diagnose/engine.h"

static char *take(struct rama_diag_engine *g, struct rama_out *o)
{
	char *text = o->error == 0 ? rama_arena_text(&g->d->arena, o->buf, o->used) : NULL;

	rama_out_fini(o);
	return text;
}

/* the last part of a path, with those before it as long as it is only a number */
static const char *telling_part(const char *path)
{
	const char *at = path + strlen(path);
	bool telling = false;

	while (at > path && !(telling && at[-1] == '/')) {
		at--;
		telling |= (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
			   (unsigned char)*at >= 0x80;
	}
	return at;
}

/* the worst finding in the words of its rule */
static int put_first(struct rama_diag_engine *g, struct rama_out *o,
		     const struct rama_diag_finding *first)
{
	size_t i = (size_t)(first->rule - rama_diag_rules);
	const char *template = rama_diag_rule_code[i].verdict[0] != '\0'
				       ? rama_diag_rule_code[i].verdict
				       : rama_diag_rule_code[i].headline;
	struct rama_diag_text text = { .f = &g->facts,
				       .x = &g->trial[i].sums,
				       .arena = &g->d->arena };
	char file[300], shown[340], seconds[RAMA_HUMAN];
	const char *words;

	if (first->n_culprits > 0 && strcmp(first->culprits[0].kind, "file") == 0) {
		rama_job_view_short_name(telling_part(first->culprits[0].name), 60, file,
					 sizeof(file));
		/* in brackets: what is said of it is said of one */
		snprintf(shown, sizeof(shown),
			 first->all_culprits < 2    ? "%s"
			 : first->all_culprits == 2 ? "%s (and 1 more file)"
						    : "%s (and %zu more files)",
			 file, first->all_culprits - 1);
		text.file = shown;
	}
	words = rama_diag_text_make(&text, template);
	if (words == NULL)
		return RAMA_EMEMORY;
	/* in a short run little is much; that it is little is told as well */
	rama_out_fmt(o, " %s: about %s lost%s.", words, rama_human_seconds(seconds, first->cost),
		     first->level == RAMA_DIAG_LEVEL_HIGH &&
				     first->cost < g->facts.limits.high_floor
			     ? ", much of a short run"
			     : "");
	return 0;
}

static void put_others(struct rama_diag_engine *g, struct rama_out *o,
		       const struct rama_diag_finding *first)
{
	const struct rama_diag *d = g->d;
	double together = rama_diag_together(g, RAMA_DIAG_LEVEL_WARN) +
			  rama_diag_together_beyond(g, RAMA_DIAG_LEVEL_WARN);
	size_t n = 0;
	char seconds[RAMA_HUMAN];

	for (size_t i = 0; i < d->n_findings; i++)
		n += d->findings[i].level >= RAMA_DIAG_LEVEL_WARN && d->findings[i].cost > 0;
	if (n > 1 && together > first->cost)
		rama_out_fmt(o, " With %zu more %s, up to %s.", n - 1,
			     n == 2 ? "finding" : "findings",
			     rama_human_seconds(seconds, together));
}

static const struct rama_diag_finding *first_of(const struct rama_diag *d)
{
	for (size_t i = 0; i < d->n_findings; i++)
		if (d->findings[i].level >= RAMA_DIAG_LEVEL_WARN && d->findings[i].cost > 0)
			return &d->findings[i];
	return NULL;
}

/* a finding about what data is worth: it costs nothing, and has to be known */
static const struct rama_diag_finding *doubtful(const struct rama_diag *d)
{
	for (size_t i = 0; i < d->n_findings; i++)
		if (strcmp(d->findings[i].rule->topic, "consistency") == 0)
			return &d->findings[i];
	return NULL;
}

/* seconds of the slowest rank in opens that wait for another process */
static double waits(const struct rama_diag_engine *g)
{
	const struct rama_diag_trial *t = &g->trial[rama_diag_rule_find("F11") - rama_diag_rules];

	return t->found ? rama_diag_cost_path(&t->cost, &g->facts) : 0;
}

static void put_waits(const struct rama_diag_engine *g, struct rama_out *o)
{
	char seconds[RAMA_HUMAN];

	if (!g->calm && waits(g) > g->facts.io_time / 10)
		rama_out_fmt(o,
			     " %s of it wait for another process (pipes, devices or "
			     "locks), not for a file system.",
			     rama_human_seconds(seconds, waits(g)));
}

/* I/O that goes on while the program computes is waited for by nobody */
static void put_hidden(const struct rama_diag_engine *g, struct rama_out *o)
{
	char seconds[RAMA_HUMAN];

	if (!g->calm && g->facts.hidden_time > 0)
		rama_out_fmt(o,
			     " At least %s of it go on while another thread computes: nobody "
			     "waits for them.",
			     rama_human_seconds(seconds, g->facts.hidden_time));
}

/* processes that follow each other are longer in I/O together than the slowest of them */
static bool in_turn(const struct rama_diag_engine *g)
{
	return g->trial[rama_diag_rule_find("T10") - rama_diag_rules].found;
}

static int sentence(struct rama_diag_engine *g)
{
	const struct rama_diag_finding *first = first_of(g->d);
	const struct rama_diag_facts *f = &g->facts;
	char io[RAMA_HUMAN], run[RAMA_HUMAN], share[RAMA_HUMAN];
	struct rama_out o;
	int rc = 0;

	rama_out_init(&o, NULL, NULL);
	rama_human_seconds(io, f->io_time);
	rama_human_seconds(run, f->run_time);
	rama_human_share(share, f->io_share);
	if (f->io_time <= 0 && f->all.disk_bytes <= 0 && f->bytes <= 0)
		rama_out_fmt(&o, "No I/O%s was recorded in %s.",
			     f->std_bytes > 0 ? " but that of standard streams" : "", run);
	else if (f->untimed > 0)
		rama_out_fmt(&o, "%s were moved in %s; the log does not tell how long I/O took.",
			     rama_human_bytes(io, f->untimed), run);
	else if (f->run_time <= 0)
		rama_out_fmt(&o, "I/O took %s; the run time is not known.", io);
	else if (g->calm && first == NULL)
		rama_out_fmt(&o, "I/O took %s of %s (%s). Nothing to gain here.", io, run, share);
	else
		rama_out_fmt(&o, "I/O took %s of %s (%s)%s.", io, run, share,
			     in_turn(g) ? " in the slowest process" : "");
	put_waits(g, &o);
	put_hidden(g, &o);
	if (first != NULL) {
		rc = put_first(g, &o, first);
		put_others(g, &o, first);
	} else if (doubtful(g->d) == NULL && !g->calm && f->io_time > 0 && f->run_time > 0 &&
		   f->io_time > 2 * waits(g) && !rama_diag_unexplained(g, waits(g))) {
		rama_out_text(&o, " Nothing worth changing was found.");
	}
	if (doubtful(g->d) != NULL)
		rama_out_fmt(&o, " %s.", doubtful(g->d)->title);
	if (!g->calm && f->run_time > 0)
		rama_diag_unexplained_put(g, &o, waits(g));
	g->d->verdict = take(g, &o);
	return g->d->verdict == NULL ? RAMA_EMEMORY : rc;
}

struct lines {
	struct rama_diag_engine *g;
	const char **line;
	size_t n;
	bool failed;
};
#define BANNER_LINES 10

static void say(struct lines *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct lines *l, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	l->line[l->n] = rama_arena_text(&l->g->d->arena, text, strlen(text));
	if (l->line[l->n++] == NULL)
		l->failed = true;
}

static void partial_modules(struct lines *l, const struct rama_job_view *v)
{
	char names[300] = "";
	size_t used = 0;

	for (size_t i = 0; i < v->n_modules; i++) {
		int n;

		if (!v->modules[i].partial)
			continue;
		n = snprintf(names + used, sizeof(names) - used, "%s%s", used > 0 ? ", " : "",
			     v->modules[i].name);
		if (n < 0 || (size_t)n >= sizeof(names) - used)
			break;
		used += (size_t)n;
	}
	if (used > 0)
		say(l, "Not all records of %s are there: memory for them was full.", names);
}

static int banner(struct rama_diag_engine *g)
{
	const struct rama_job_view *v = g->view;
	struct lines l = { .g = g,
			   .line = rama_arena_alloc(&g->d->arena, BANNER_LINES * sizeof(*l.line)) };
	char n[RAMA_HUMAN], programs[350];

	if (l.line == NULL)
		return RAMA_EMEMORY;
	partial_modules(&l, v);
	if (v->problems > 0)
		say(&l, "%s of the log could not be read.", v->problems == 1 ? "A part" : "Parts");
	if (v->unfinished > 0)
		say(&l, "%s %s did not end properly; what they did until then is here.",
		    rama_human_count(n, v->unfinished),
		    v->unfinished == 1 ? "process" : "processes");
	if (v->missing_ranks != NULL && v->missing_ranks[0] != '\0')
		say(&l, "Nothing is known of ranks %.200s.", v->missing_ranks);
	if (v->unplaced > 0)
		say(&l,
		    "Nothing is here of %s %s: there was no room for what they would have left.",
		    rama_human_count(n, v->unplaced), v->unplaced == 1 ? "process" : "processes");
	if (v->unplaced_calls > 0)
		say(&l, "%s calls were not recorded for want of room.",
		    rama_human_count(n, v->unplaced_calls));
	if (v->missed_calls > 0)
		say(&l, "%s calls were missed.", rama_human_count(n, v->missed_calls));
	if (v->uring.missed > 0)
		say(&l,
		    v->uring.missed == 1 ? "%s operation of io_uring was not seen."
					 : "%s operations of io_uring were not seen.",
		    rama_human_count(n, v->uring.missed));
	if (v->folded_files > 0)
		say(&l,
		    "%s opens are of files that are counted in groups, by directory and name, for "
		    "want of room: iorama run --memory (IORAMA_MEMORY) gives more.",
		    rama_human_count(n, v->folded_files));
	if (v->lost_events > 0)
		say(&l, "%s traced accesses were lost; counters have them.",
		    rama_human_count(n, v->lost_events));
	if (rama_log_unseen_total(&v->unseen) > 0) { /* the last: rama_report_look.no_unseen */
		rama_log_unseen_text(&v->unseen, programs, sizeof(programs));
		say(&l, "Programs that could not be observed: %s.", programs);
	}
	g->d->banner = l.line;
	g->d->n_banner = l.n;
	return l.failed ? RAMA_EMEMORY : 0;
}

/* of the slowest rank; calls of several threads may add up to more than the run time */
static void shares(struct rama_diag_engine *g)
{
	struct rama_diag *d = g->d;
	const struct rama_job_view *v = g->view;
	int64_t rank = v->io_rank >= 0 && v->io_rank < v->nprocs ? v->io_rank : -1;
	double all, scale;

	d->other_share = 1;
	if (rank < 0 || g->facts.run_time <= 0 || v->ranks == NULL)
		return;
	all = rama_job_io_time(&v->ranks[rank].io);
	if (!(all > 0))
		return;
	scale = g->facts.io_share / all;
	d->read_share = v->ranks[rank].io.read_time * scale;
	d->write_share = v->ranks[rank].io.write_time * scale;
	d->meta_share = v->ranks[rank].io.meta_time * scale;
	d->other_share = fmax(0, 1 - d->read_share - d->write_share - d->meta_share);
}

int rama_diag_verdict(struct rama_diag_engine *g)
{
	int rc = sentence(g);

	g->d->waiting = waits(g);
	shares(g);
	return rc == 0 ? banner(g) : rc;
}
