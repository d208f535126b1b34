/* SPDX-License-Identifier: BSD-3-Clause */
/* draw.c: a screen of `iorama watch`: what all together does, a table, the keys. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/human.h"
#include "look/watch/watch.h"

/* what a screen is about, added up */
struct scope {
	struct rama_look_io gain, total;
	struct rama_look_live live;
	uint32_t calls;
	size_t running;
	const struct rama_look_trail *trail; /* NULL: of several jobs */
	const struct rama_look_call *call;   /* the longest at work */
	int64_t rank;			     /* whose */
};

static void add_call(struct scope *s, const struct rama_look_process *p)
{
	if (p->n_told > 0 && (s->call == NULL || p->call[0].since > s->call->since)) {
		s->call = &p->call[0];
		s->rank = p->rank;
	}
}

static void add_job(struct scope *s, const struct rama_look_job *j)
{
	rama_look_io_add(&s->gain, &j->gain);
	rama_look_io_add(&s->total, &j->total);
	s->live.on |= j->live.on;
	s->live.made += j->live.made;
	s->live.dropped += j->live.dropped;
	s->live.reader = j->live.reader > 0 ? j->live.reader : s->live.reader;
	s->calls += j->n_calls;
	s->running += j->running;
	s->trail = &j->trail;
	for (size_t i = 0; i < j->n; i++)
		add_call(s, j->process[i]);
}

static struct scope scope_of(const struct rama_look *l, const struct rama_look_watch_view *v,
			     const struct rama_look_watch_rows *r)
{
	struct scope s = { 0 };

	if (v->kind == RAMA_LOOK_WATCH_FILES && r->process != NULL) {
		s.gain = r->process->gain;
		s.total = r->process->total;
		s.live = r->process->live;
		s.calls = r->process->n_calls;
		s.running = 1;
		s.trail = &r->process->trail;
		add_call(&s, r->process);
	} else if (r->job != NULL) {
		add_job(&s, r->job);
	} else {
		for (size_t i = 0; v->kind == RAMA_LOOK_WATCH_JOBS && i < l->n; i++)
			add_job(&s, l->job[i]);
		if (l->n != 1)
			s.trail = NULL;
	}
	return s;
}

/* ---- above the table ------------------------------------------------------------------------- */

static void gap(struct rama_look_page *p)
{
	rama_look_page_to(p, p->col + (p->width < 70 ? 1 : 3));
}

/* words that do not fit are left out whole: half a number misleads */
static void say(struct rama_look_page *p, enum rama_look_style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void say(struct rama_look_page *p, enum rama_look_style style, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (p->col + rama_look_page_columns(p, text) <= p->width)
		rama_look_page_put(p, style, text, p->width);
	else
		p->col = p->width;
}

static void trail(struct rama_look_page *p, const struct rama_look_trail *t)
{
	double most = t != NULL ? rama_look_watch_peak(t) : 0;
	char peak[RAMA_HUMAN + 8], text[RAMA_HUMAN];

	snprintf(peak, sizeof(peak), "peak %s", rama_human_rate(text, most));
	if (most <= 0 || p->col + 34 + strlen(peak) >= p->width)
		return;
	rama_look_page_to(p, p->width - (unsigned)strlen(peak) - 32);
	rama_look_watch_trail(p, t, 30);
	rama_look_page_right(p, RAMA_LOOK_STYLE_DIM, peak, p->width - 1);
}

static void rates(struct rama_look_page *p, const struct rama_look *l, const struct scope *s)
{
	double per = l->interval > 0 ? 1 / l->interval : 0;
	char text[RAMA_HUMAN];

	rama_look_page_to(p, 1);
	say(p, RAMA_LOOK_STYLE_READ, "read %s",
	    rama_human_rate(text, (double)s->gain.bytes_read * per));
	gap(p);
	say(p, RAMA_LOOK_STYLE_WRITE, "write %s",
	    rama_human_rate(text, (double)s->gain.bytes_written * per));
	gap(p);
	say(p, RAMA_LOOK_STYLE_BOLD, "%s ops/s",
	    rama_human_count(text, llround((double)rama_look_ops(&s->gain) * per)));
	if (rama_look_ops(&s->gain) > 0) {
		gap(p);
		say(p, RAMA_LOOK_STYLE_PLAIN, "%s each",
		    rama_human_seconds(text, rama_look_latency(&s->gain)));
	}
	trail(p, s->trail);
	rama_look_page_line(p);
}

static void events(struct rama_look_page *p, const struct rama_look_live *v)
{
	char made[RAMA_HUMAN], dropped[RAMA_HUMAN];

	if (v->on == 0 && v->made + v->dropped == 0)
		return;
	gap(p);
	say(p, RAMA_LOOK_STYLE_PLAIN, "events %s", rama_human_count(made, (int64_t)v->made));
	if (v->dropped > 0)
		say(p, RAMA_LOOK_STYLE_BAD, ", %s dropped",
		    rama_human_count(dropped, (int64_t)v->dropped));
	if (v->reader > 0)
		say(p, RAMA_LOOK_STYLE_GOOD, ", agent %lld reads", (long long)v->reader);
	else if (v->on != 0)
		say(p, RAMA_LOOK_STYLE_WARN, ", no agent reads them");
}

static void so_far(struct rama_look_page *p, const struct rama_look *l, const struct scope *s,
		   const struct rama_look_watch_rows *r)
{
	char a[RAMA_HUMAN], b[RAMA_HUMAN];

	rama_look_page_to(p, 1);
	if (r->job != NULL)
		say(p, RAMA_LOOK_STYLE_PLAIN, "%s",
		    rama_human_duration(a, (double)(l->time - r->job->start) * 1e-9));
	else
		say(p, RAMA_LOOK_STYLE_PLAIN, "%zu job%s, %zu process%s", l->n,
		    l->n == 1 ? "" : "s", s->running, s->running == 1 ? "" : "es");
	gap(p);
	say(p, RAMA_LOOK_STYLE_PLAIN,
	    p->width < 60 ? "read %s, written %s" : "so far read %s, written %s",
	    rama_human_bytes(a, (double)s->total.bytes_read),
	    rama_human_bytes(b, (double)s->total.bytes_written));
	events(p, &s->live);
	rama_look_page_line(p);
}

static void at_work(struct rama_look_page *p, const struct scope *s)
{
	static const enum rama_look_style style[] = { RAMA_LOOK_STYLE_PLAIN, RAMA_LOOK_STYLE_READ,
						      RAMA_LOOK_STYLE_WRITE, RAMA_LOOK_STYLE_META };
	char since[RAMA_HUMAN];

	rama_look_page_to(p, 1);
	rama_look_page_fmt(p, RAMA_LOOK_STYLE_PLAIN, "%u call%s at work", s->calls,
			   s->calls == 1 ? "" : "s");
	if (s->call != NULL && s->call->since >= 1e-3) {
		rama_look_page_put(p, RAMA_LOOK_STYLE_PLAIN, ", the longest: ", p->width);
		rama_look_page_fmt(p, style[s->call->class], "rank %lld %s %s", (long long)s->rank,
				   s->call->fn, rama_human_seconds(since, s->call->since));
		if (s->call->name[0] != '\0') {
			rama_look_page_to(p, p->col + 1);
			rama_look_page_put(p, RAMA_LOOK_STYLE_PLAIN, s->call->name, p->width);
		}
	}
	rama_look_page_line(p);
}

void rama_look_watch_head(struct rama_look_page *p, const struct rama_look *l,
			  const struct rama_look_watch_view *v,
			  const struct rama_look_watch_rows *r)
{
	struct scope s = scope_of(l, v, r);

	rates(p, l, &s);
	so_far(p, l, &s, r);
	if (p->height == 0 || p->height >= 14)
		at_work(p, &s);
}

/* ---- title and keys -------------------------------------------------------------------------- */

static void title(struct rama_look_page *p, const struct rama_look *l,
		  const struct rama_look_watch_view *v, const struct rama_look_watch_rows *r,
		  const struct rama_look_watch_about *a)
{
	const char *sep = rama_look_page_word(p, " › ", " > ");
	char when[64], clock[16] = "";
	time_t t = (time_t)(l->time / 1000000000);
	struct tm tm;

	if (localtime_r(&t, &tm) != NULL)
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	if (p->width < 60)
		snprintf(when, sizeof(when), "%s%s", a->paused ? "paused " : "", clock);
	else
		snprintf(when, sizeof(when), "%severy %g s  %s", a->paused ? "paused  " : "",
			 a->interval, clock);
	rama_look_page_put(p, RAMA_LOOK_STYLE_BOLD, "iorama watch", p->width);
	if (v->kind != RAMA_LOOK_WATCH_JOBS && r->job != NULL) {
		rama_look_page_put(p, RAMA_LOOK_STYLE_PLAIN, sep, p->width);
		rama_look_page_put(p, RAMA_LOOK_STYLE_BOLD, rama_look_watch_program(r->job), 24);
		rama_look_page_fmt(p, RAMA_LOOK_STYLE_DIM, " %.40s",
				   p->width >= 80 ? r->job->name : "");
	}
	if (v->kind == RAMA_LOOK_WATCH_FILES && r->process != NULL) {
		rama_look_page_put(p, RAMA_LOOK_STYLE_PLAIN, sep, p->width);
		rama_look_page_fmt(p, RAMA_LOOK_STYLE_BOLD, "rank %lld",
				   (long long)r->process->rank);
	}
	if (v->kind == RAMA_LOOK_WATCH_FILES)
		rama_look_page_fmt(p, RAMA_LOOK_STYLE_PLAIN, "%sfiles", sep);
	if (p->col + strlen(when) + 1 < p->width)
		rama_look_page_right(p, a->paused ? RAMA_LOOK_STYLE_WARN : RAMA_LOOK_STYLE_DIM,
				     when, p->width - 1);
	rama_look_page_line(p);
}

static void key(struct rama_look_page *p, const char *name, const char *what)
{
	unsigned n = rama_look_page_columns(p, name) + rama_look_page_columns(p, what) + 3;

	if (p->col + n > p->width)
		return;
	rama_look_page_put(p, RAMA_LOOK_STYLE_BOLD, name, p->width);
	rama_look_page_to(p, p->col + 1);
	rama_look_page_put(p, RAMA_LOOK_STYLE_DIM, what, p->width);
	rama_look_page_to(p, p->col + 2);
}

static void keys(struct rama_look_page *p, const struct rama_look_watch_view *v,
		 const struct rama_look_watch_rows *r, const struct rama_look_watch_about *a,
		 unsigned shown)
{
	char sort[32], filter[RAMA_LOOK_WATCH_FILTER + 16], place[64];

	p->row = p->height - 1;
	p->col = 1;
	if (a->said != NULL) {
		rama_look_page_put(p, RAMA_LOOK_STYLE_WARN, a->said, p->width - 1);
		return;
	}
	snprintf(sort, sizeof(sort), "sort: %s", rama_look_watch_sort_name[v->sort[v->kind]]);
	snprintf(filter, sizeof(filter), v->filter[0] != '\0' ? "filter: %s" : "filter", v->filter);
	key(p, "q", "quit");
	key(p, "?", "help");
	if (v->kind != RAMA_LOOK_WATCH_FILES)
		key(p, "Enter", v->kind == RAMA_LOOK_WATCH_JOBS ? "ranks" : "files");
	if (v->kind != RAMA_LOOK_WATCH_JOBS)
		key(p, "Esc", "back");
	key(p, "s", sort);
	if (v->kind != RAMA_LOOK_WATCH_FILES)
		key(p, "f", "all files");
	key(p, "/", filter);
	key(p, "space", a->paused ? "go on" : "pause");
	key(p, "l", "live events");
	if (r->n > shown) {
		snprintf(place, sizeof(place), "%zu%s%zu of %zu", v->top + 1,
			 rama_look_page_word(p, "–", "-"), v->top + shown, r->n);
		if (p->col + strlen(place) < p->width)
			rama_look_page_right(p, RAMA_LOOK_STYLE_DIM, place, p->width - 1);
	}
}

/* ---- instead of the table -------------------------------------------------------------------- */

void rama_look_watch_nothing(struct rama_look_page *p, const char *place)
{
	static const char *const line[][2] = {
		{ "iorama run -- ./app", "observes a program and all it starts" },
		{ "mpirun -n 4 iorama exec ./app", "the same below a launcher" },
		{ "iorama jobs", "jobs that have ended and are in the store" },
	};

	rama_look_page_line(p);
	rama_look_page_to(p, 1);
	rama_look_page_put(p, RAMA_LOOK_STYLE_BOLD, "Nothing is being observed right now.",
			   p->width);
	rama_look_page_line(p);
	rama_look_page_line(p);
	for (unsigned i = 0; i < sizeof(line) / sizeof(line[0]); i++) {
		rama_look_page_to(p, 3);
		rama_look_page_put(p, RAMA_LOOK_STYLE_GOOD, line[i][0], p->width);
		if (p->width >= 76) {
			rama_look_page_to(p, 36);
			rama_look_page_put(p, RAMA_LOOK_STYLE_PLAIN, line[i][1], p->width);
		}
		rama_look_page_line(p);
	}
	rama_look_page_line(p);
	rama_look_page_to(p, 1);
	rama_look_page_fmt(p, RAMA_LOOK_STYLE_DIM, "Looked for in %s", place);
	rama_look_page_line(p);
}

static void help(struct rama_look_page *p)
{
	static const char *const line[][2] = {
		{ "up down PgUp PgDn Home End", "choose a line (j k g G too)" },
		{ "Enter right", "into it: job, ranks, files" },
		{ "Esc Backspace left", "back" },
		{ "f", "files of the whole job" },
		{ "s S", "next order of lines; the other way round" },
		{ "/", "only lines that hold a text; Esc ends it" },
		{ "space", "pause, go on" },
		{ "+ -", "look more or less often" },
		{ "l", "live events of the job on or off (asks)" },
		{ "q", "quit" },
	};

	rama_look_page_line(p);
	for (unsigned i = 0; i < sizeof(line) / sizeof(line[0]); i++) {
		rama_look_page_to(p, 1);
		rama_look_page_put(p, RAMA_LOOK_STYLE_BOLD, line[i][0], p->width >= 60 ? 28 : 14);
		rama_look_page_to(p, p->width >= 60 ? 30 : 16);
		rama_look_page_put(p, RAMA_LOOK_STYLE_PLAIN, line[i][1], p->width);
		rama_look_page_line(p);
	}
	if (p->height < 18)
		return;
	rama_look_page_line(p);
	rama_look_page_to(p, 1);
	rama_look_page_fmt(p, RAMA_LOOK_STYLE_READ, "%s reading", rama_look_page_word(p, "█", "R"));
	gap(p);
	rama_look_page_fmt(p, RAMA_LOOK_STYLE_WRITE, "%s writing",
			   rama_look_page_word(p, "▓", "W"));
	gap(p);
	rama_look_page_fmt(p, RAMA_LOOK_STYLE_META, "%s metadata",
			   rama_look_page_word(p, "▒", "M"));
	gap(p);
	rama_look_page_fmt(p, RAMA_LOOK_STYLE_DIM, "%s computing",
			   rama_look_page_word(p, "░", "."));
	rama_look_page_line(p);
	rama_look_page_to(p, 1);
	rama_look_page_put(p, RAMA_LOOK_STYLE_DIM,
			   "latency: mean of the calls since the last look; longest: of all so far",
			   p->width);
	rama_look_page_line(p);
}

static void no_lines(struct rama_look_page *p, const struct rama_look_watch_view *v,
		     const struct rama_look_watch_rows *r)
{
	rama_look_page_line(p);
	rama_look_page_to(p, 1);
	if (v->filter[0] != '\0' && r->of > 0)
		rama_look_page_fmt(p, RAMA_LOOK_STYLE_DIM, "None of %zu holds \"%s\".", r->of,
				   v->filter);
	else if (v->kind != RAMA_LOOK_WATCH_JOBS && r->job == NULL)
		rama_look_page_put(p, RAMA_LOOK_STYLE_DIM, "This job has ended. Esc leads back.",
				   p->width);
	else if (v->kind == RAMA_LOOK_WATCH_FILES && v->process != 0 && r->process == NULL)
		rama_look_page_put(p, RAMA_LOOK_STYLE_DIM,
				   "This process has ended. Esc leads back.", p->width);
	else
		rama_look_page_put(p, RAMA_LOOK_STYLE_DIM, "No file was used yet.", p->width);
}

void rama_look_watch_draw(struct rama_look_page *p, const struct rama_look *l,
			  struct rama_look_watch_view *v, const struct rama_look_watch_rows *r,
			  const struct rama_look_watch_about *a)
{
	unsigned first, lines;

	title(p, l, v, r, a);
	if (a->help) {
		help(p);
		keys(p, v, r, a, (unsigned)r->n);
		return;
	}
	rama_look_watch_head(p, l, v, r);
	if (p->height >= 14)
		rama_look_page_line(p);
	first = p->row + 1;
	lines = p->height > first + 1 ? p->height - first - 1 : 1;
	if (v->at < v->top)
		v->top = v->at;
	if (v->at >= v->top + lines)
		v->top = v->at - lines + 1;
	if (v->top + lines > r->n)
		v->top = r->n > lines ? r->n - lines : 0;
	if (r->n > 0) {
		rama_look_watch_table(p, l, v, r, v->top, lines);
		p->chosen = (int)(first + v->at - v->top);
	} else if (v->kind == RAMA_LOOK_WATCH_JOBS && l->n == 0) {
		p->row--;
		rama_look_watch_nothing(p, a->place);
	} else {
		no_lines(p, v, r);
	}
	keys(p, v, r, a, lines);
}
