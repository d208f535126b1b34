/* SPDX-License-Identifier: BSD-3-Clause */
/* table.c: the tables of `iorama watch`: columns, which of them fit, and their cells. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "look/watch/watch.h"

#define IN_JOBS (1u << RAMA_LOOK_WATCH_JOBS)
#define IN_RANKS (1u << RAMA_LOOK_WATCH_RANKS)
#define IN_FILES (1u << RAMA_LOOK_WATCH_FILES)
#define BAR 8

enum column {
	COL_PROGRAM,
	COL_JOB,
	COL_USER,
	COL_RANKS,
	COL_RANK,
	COL_PID,
	COL_HOST,
	COL_FILE,
	COL_READ,
	COL_WRITE,
	COL_OPS,
	COL_LATENCY,
	COL_LONGEST,
	COL_IO,
	COL_MOVED,
	COL_SHARED,
	COL_WAIT,
	COL_TRAIL,
	COL_TRAIL_RANK,
	COLUMNS
};

/* in the order of the table. first: what is taken first when not all fit; flex: takes what is
 * left, up to `most` */
static const struct {
	const char *head;
	uint8_t views, width, most, first;
	bool right, flex;
	int8_t sort; /* -1: none */
} column[COLUMNS] = {
	[COL_PROGRAM] = { "program", IN_JOBS, 12, 28, 0, false, true, RAMA_LOOK_SORT_NAME },
	[COL_JOB] = { "job", IN_JOBS, 22, 22, 8, false, false, -1 },
	[COL_USER] = { "user", IN_JOBS, 8, 8, 5, false, false, -1 },
	[COL_RANKS] = { "ranks", IN_JOBS, 7, 7, 4, true, false, -1 },
	[COL_RANK] = { "rank", IN_RANKS, 5, 5, 0, true, false, RAMA_LOOK_SORT_NAME },
	[COL_PID] = { "pid", IN_RANKS, 8, 8, 7, true, false, -1 },
	[COL_HOST] = { "host", IN_RANKS, 12, 12, 9, false, false, -1 },
	[COL_FILE] = { "file", IN_FILES, 12, 250, 0, false, true, RAMA_LOOK_SORT_NAME },
	[COL_READ] = { "read/s", IN_JOBS | IN_RANKS | IN_FILES, 10, 10, 1, true, false,
		       RAMA_LOOK_SORT_RATE },
	[COL_WRITE] = { "write/s", IN_JOBS | IN_RANKS | IN_FILES, 10, 10, 1, true, false,
			RAMA_LOOK_SORT_RATE },
	[COL_OPS] = { "ops/s", IN_JOBS | IN_RANKS | IN_FILES, 9, 9, 4, true, false,
		      RAMA_LOOK_SORT_OPS },
	[COL_LATENCY] = { "latency", IN_JOBS | IN_RANKS | IN_FILES, 8, 8, 5, true, false,
			  RAMA_LOOK_SORT_LATENCY },
	[COL_LONGEST] = { "longest", IN_RANKS | IN_FILES, 8, 8, 8, true, false,
			  RAMA_LOOK_SORT_LONGEST },
	[COL_IO] = { "in I/O", IN_JOBS | IN_RANKS, BAR + 8, BAR + 8, 2, false, false,
		     RAMA_LOOK_SORT_IO },
	[COL_MOVED] = { "moved", IN_JOBS | IN_RANKS | IN_FILES, 10, 10, 8, true, false,
			RAMA_LOOK_SORT_MOVED },
	[COL_SHARED] = { "ranks", IN_FILES, 5, 5, 9, true, false, -1 },
	[COL_WAIT] = { "waits in", IN_RANKS, 22, 250, 3, false, true, -1 },
	[COL_TRAIL] = { "last 60 s", IN_JOBS, 15, 15, 6, false, false, -1 },
	[COL_TRAIL_RANK] = { "last 60 s", IN_RANKS, 15, 15, 10, false, false, -1 },
};
#define FIRSTS 11

/* ---- bars ------------------------------------------------------------------------------------ */

double rama_look_watch_peak(const struct rama_look_trail *t)
{
	double most = 0;

	for (unsigned i = 1; i < RAMA_LOOK_TRAIL; i++)
		most = fmax(most, rama_look_trail_bytes(t, i));
	return most;
}

/* Bars stand for whole seconds by the clock, so that only the last one changes while time goes
 * on. The second that has just begun is left out. */
void rama_look_watch_trail(struct rama_look_page *p, const struct rama_look_trail *t,
			   unsigned columns)
{
	static const char *const utf8[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const ascii[] = { "_", ".", ":", "-", "=", "+", "*", "#" };
	unsigned each = RAMA_LOOK_TRAIL / columns, col = p->col;
	int64_t last = (t->second - 1) / each; /* the newest group */
	double most = rama_look_watch_peak(t);
	char text[RAMA_LOOK_TRAIL * 4] = "";
	size_t n = 0;

	for (unsigned i = 0; t->second > 0 && i < columns; i++) {
		int64_t group = last - (int64_t)(columns - 1 - i);
		double sum = 0, seconds = 0;

		for (int64_t s = group * each; s < (group + 1) * each; s++) {
			int64_t ago = t->second - s;

			if (ago >= 1 && ago < RAMA_LOOK_TRAIL) {
				sum += rama_look_trail_bytes(t, (unsigned)ago);
				seconds++;
			}
		}
		sum = seconds > 0 && most > 0 ? sum / seconds / most : 0;
		if (sum <= 0)
			n += (size_t)snprintf(text + n, sizeof(text) - n, " ");
		else
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s",
					      (p->utf8 ? utf8 : ascii)[(unsigned)fmin(7, sum * 8)]);
	}
	if (most > 0)
		rama_look_page_put(p, RAMA_LOOK_STYLE_DIM, text, columns);
	p->col = col + columns;
}

/* glyphs differ, too: not all terminals have colours, nor all eyes */
void rama_look_watch_bar(struct rama_look_page *p, const double share[3], unsigned columns)
{
	static const char *const utf8[] = { "█", "▓", "▒" }, *const ascii[] = { "R", "W", "M" };
	static const enum rama_look_style style[] = { RAMA_LOOK_STYLE_READ, RAMA_LOOK_STYLE_WRITE,
						      RAMA_LOOK_STYLE_META };
	double all = share[0] + share[1] + share[2], sum = 0;
	unsigned done = 0, full = (unsigned)lround(fmin(all, 1) * columns);
	char text[256];

	if (full == 0 && all > 0.0005)
		full = 1; /* anything above nothing can be seen */
	for (unsigned k = 0; k < 3; k++) {
		unsigned to;
		size_t n = 0;

		sum += share[k];
		to = all > 0 ? (unsigned)lround(sum / all * full) : 0;
		for (text[0] = '\0'; done < to; done++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s",
					      (p->utf8 ? utf8 : ascii)[k]);
		rama_look_page_put(p, style[k], text, columns);
	}
	for (text[0] = '\0'; done < columns; done++)
		strncat(text, p->utf8 ? "░" : ".", sizeof(text) - strlen(text) - 1);
	rama_look_page_put(p, RAMA_LOOK_STYLE_DIM, text, columns);
}

/* ---- cells ----------------------------------------------------------------------------------- */

struct cell {
	struct rama_look_page *p;
	const struct rama_look *l;
	const struct rama_look_watch_row *r;
	unsigned col, width;
};

static const struct rama_look_io *gain_of(const struct rama_look_watch_row *r)
{
	return r->f != NULL ? &r->f->gain : r->p != NULL ? &r->p->gain : &r->j->gain;
}

static const struct rama_look_io *total_of(const struct rama_look_watch_row *r)
{
	return r->f != NULL ? &r->f->total : r->p != NULL ? &r->p->total : &r->j->total;
}

static void right(const struct cell *c, enum rama_look_style style, const char *text)
{
	rama_look_page_right(c->p, style, text, c->col + c->width);
}

static void rate(const struct cell *c, int64_t bytes, enum rama_look_style style)
{
	char text[RAMA_HUMAN];

	rama_human_bytes(text, c->l->interval > 0 ? (double)bytes / c->l->interval : 0);
	right(c, bytes > 0 ? style : RAMA_LOOK_STYLE_DIM,
	      bytes > 0 ? text : rama_look_page_word(c->p, "·", "-"));
}

static void time_cell(const struct cell *c, double s)
{
	char text[RAMA_HUMAN];

	right(c, s > 0 ? RAMA_LOOK_STYLE_PLAIN : RAMA_LOOK_STYLE_DIM,
	      s > 0 ? rama_human_seconds(text, s) : rama_look_page_word(c->p, "·", "-"));
}

static void shares_of(const struct rama_look *l, const struct rama_look_watch_row *r,
		      double share[3])
{
	double all = 0;

	share[0] = share[1] = share[2] = 0;
	for (size_t i = 0; i < (r->p != NULL ? 1 : r->j->n); i++) {
		const struct rama_look_process *p = r->p != NULL ? r->p : r->j->process[i];

		share[0] += p->time_read;
		share[1] += p->time_write;
		share[2] += p->time_meta;
	}
	all = share[0] + share[1] + share[2];
	for (unsigned k = 0; k < 3;
	     k++) /* what the bar is long is the share, what it is made of these */
		share[k] = all > 0 && l->interval > 0
				   ? share[k] / all * (r->p != NULL ? r->p->share : r->j->share)
				   : 0;
}

static void io_cell(const struct cell *c)
{
	double share[3], all;
	char text[RAMA_HUMAN];

	shares_of(c->l, c->r, share);
	rama_look_watch_bar(c->p, share, BAR);
	all = c->r->p != NULL ? c->r->p->share : c->r->j->share;
	rama_human_share(text, all < 0.999 ? all : 1);
	right(c, RAMA_LOOK_STYLE_PLAIN, text);
}

static const enum rama_look_style wait_style[] = { [RAMA_LOOK_WAIT_GONE] = RAMA_LOOK_STYLE_DIM,
						   [RAMA_LOOK_WAIT_COMPUTE] = RAMA_LOOK_STYLE_DIM,
						   [RAMA_LOOK_WAIT_READ] = RAMA_LOOK_STYLE_READ,
						   [RAMA_LOOK_WAIT_WRITE] = RAMA_LOOK_STYLE_WRITE,
						   [RAMA_LOOK_WAIT_META] = RAMA_LOOK_STYLE_META };

static void wait_cell(const struct cell *c)
{
	static const char *const gone[] = {
		[RAMA_LOOK_ENDED] = "ended", [RAMA_LOOK_KILLED] = "killed"
	};
	const struct rama_look_process *p = c->r->p;
	char text[512], since[RAMA_HUMAN];

	if (p->state == RAMA_LOOK_OFF) {
		snprintf(text, sizeof(text), "not observed: %s", p->why);
		rama_look_page_put(c->p, RAMA_LOOK_STYLE_WARN, text, c->width);
	} else if (p->wait == RAMA_LOOK_WAIT_GONE) {
		rama_look_page_put(c->p, RAMA_LOOK_STYLE_DIM,
				   gone[p->state == RAMA_LOOK_KILLED ? p->state : RAMA_LOOK_ENDED],
				   c->width);
	} else if (p->n_told > 0 && p->call[0].since > 0.05) {
		const char *name = p->call[0].name, *base = strrchr(name, '/');
		unsigned left;

		snprintf(text, sizeof(text), "%s %s ", p->call[0].fn,
			 rama_human_seconds(since, p->call[0].since));
		rama_look_page_put(c->p, wait_style[p->wait], text, c->width);
		left = c->col + c->width > c->p->col ? c->col + c->width - c->p->col : 0;
		if (base != NULL && rama_look_page_columns(c->p, name) > left)
			name = base + 1;
		rama_look_page_put(c->p, wait_style[p->wait], name, left);
	} else {
		rama_look_page_put(c->p, wait_style[p->wait], rama_look_wait_name(p->wait),
				   c->width);
	}
}

static void number_cell(const struct cell *c, int64_t n)
{
	char text[RAMA_HUMAN];

	snprintf(text, sizeof(text), "%lld", (long long)n);
	right(c, RAMA_LOOK_STYLE_PLAIN, text);
}

static void ops_cell(const struct cell *c)
{
	char text[RAMA_HUMAN];
	int64_t n = rama_look_ops(gain_of(c->r));

	rama_human_count(text,
			 c->l->interval > 0 ? (int64_t)llround((double)n / c->l->interval) : 0);
	right(c, n > 0 ? RAMA_LOOK_STYLE_PLAIN : RAMA_LOOK_STYLE_DIM,
	      n > 0 ? text : rama_look_page_word(c->p, "·", "-"));
}

static void who_cell(const struct cell *c, enum column k)
{
	const struct rama_look_job *j = c->r->j;
	char text[RAMA_HUMAN];

	switch (k) {
	case COL_PROGRAM:
		rama_look_page_put(c->p, RAMA_LOOK_STYLE_BOLD, rama_look_watch_program(j),
				   c->width);
		break;
	case COL_JOB:
		rama_look_page_put(c->p, RAMA_LOOK_STYLE_PLAIN, j->name, c->width);
		break;
	case COL_USER:
		rama_look_page_put(c->p, RAMA_LOOK_STYLE_PLAIN, rama_look_watch_user(j->uid),
				   c->width);
		break;
	case COL_RANKS:
		snprintf(text, sizeof(text), "%zu", j->running);
		right(c, RAMA_LOOK_STYLE_PLAIN, text);
		break;
	case COL_RANK:
		number_cell(c, c->r->p->rank);
		break;
	case COL_PID:
		number_cell(c, c->r->p->pid);
		break;
	case COL_HOST:
		rama_look_page_put(c->p, RAMA_LOOK_STYLE_PLAIN, c->r->p->host, c->width);
		break;
	default:
		rama_look_page_put(c->p, RAMA_LOOK_STYLE_PLAIN, c->r->f->name, c->width);
		break;
	}
}

static void put_cell(const struct cell *c, enum column k)
{
	const struct rama_look_io *gain = gain_of(c->r), *total = total_of(c->r);
	char text[RAMA_HUMAN];

	rama_look_page_to(c->p, c->col);
	switch (k) {
	case COL_READ:
		rate(c, gain->bytes_read, RAMA_LOOK_STYLE_READ);
		break;
	case COL_WRITE:
		rate(c, gain->bytes_written, RAMA_LOOK_STYLE_WRITE);
		break;
	case COL_OPS:
		ops_cell(c);
		break;
	case COL_LATENCY:
		time_cell(c, rama_look_latency(gain));
		break;
	case COL_LONGEST:
		time_cell(c, c->r->f != NULL ? c->r->f->longest : c->r->p->longest);
		break;
	case COL_IO:
		io_cell(c);
		break;
	case COL_MOVED:
		right(c, RAMA_LOOK_STYLE_PLAIN,
		      rama_human_bytes(text,
				       (double)total->bytes_read + (double)total->bytes_written));
		break;
	case COL_SHARED:
		number_cell(c, c->r->f->processes);
		break;
	case COL_WAIT:
		wait_cell(c);
		break;
	case COL_TRAIL:
	case COL_TRAIL_RANK:
		rama_look_watch_trail(c->p, c->r->p != NULL ? &c->r->p->trail : &c->r->j->trail,
				      c->width);
		break;
	default:
		who_cell(c, k);
		break;
	}
}

/* ---- which fit ------------------------------------------------------------------------------- */

struct fit {
	unsigned width[COLUMNS]; /* 0: not shown */
};

static bool is_of_use(enum column k, const struct rama_look_watch_rows *r)
{
	bool other = false;

	for (size_t i = 0; k == COL_USER && i < r->n; i++)
		other = other || r->row[i].j->uid != r->row[0].j->uid;
	if (k == COL_USER)
		return other;
	if (k == COL_HOST)
		return r->job != NULL && r->job->hosts > 1;
	return k != COL_SHARED || r->process == NULL;
}

static struct fit find_fit(const struct rama_look_page *p, enum rama_look_watch_kind kind,
			   const struct rama_look_watch_rows *r)
{
	struct fit f = { { 0 } };
	unsigned left = p->width - 1; /* the mark of the chosen line */

	for (unsigned first = 0; first < FIRSTS; first++)
		for (unsigned k = 0; k < COLUMNS; k++)
			if (column[k].first == first && (column[k].views & 1u << kind) &&
			    left > column[k].width && is_of_use((enum column)k, r)) {
				f.width[k] = column[k].width;
				left -= column[k].width + 1;
			}
	for (unsigned k = 0; k < COLUMNS; k++)
		if (f.width[k] > 0 && column[k].flex) {
			unsigned more = column[k].most - column[k].width;

			more = more < left ? more : left;
			f.width[k] += more;
			left -= more;
		}
	return f;
}

static void table_head(struct rama_look_page *p, const struct fit *f,
		       const struct rama_look_watch_view *v)
{
	unsigned col = 1;
	char text[32];

	for (unsigned k = 0; k < COLUMNS; k++) {
		bool sorted = column[k].sort == (int)v->sort[v->kind];

		if (f->width[k] == 0)
			continue;
		snprintf(text, sizeof(text), "%s%s", column[k].head,
			 sorted ? (v->reverse ? rama_look_page_word(p, "▲", "^")
					      : rama_look_page_word(p, "▼", "v"))
				: "");
		rama_look_page_to(p, col);
		if (column[k].right)
			rama_look_page_right(p, RAMA_LOOK_STYLE_HEAD, text, col + f->width[k]);
		else
			rama_look_page_put(p, RAMA_LOOK_STYLE_HEAD, text, f->width[k]);
		col += f->width[k] + 1;
	}
	rama_look_page_line(p);
}

static bool is_over(const struct rama_look_watch_row *r)
{
	return r->p != NULL ? r->p->wait == RAMA_LOOK_WAIT_GONE : r->f == NULL && r->j->ended;
}

void rama_look_watch_table(struct rama_look_page *p, const struct rama_look *l,
			   const struct rama_look_watch_view *v,
			   const struct rama_look_watch_rows *r, size_t from, size_t n)
{
	struct fit f = find_fit(p, v->kind, r);

	table_head(p, &f, v);
	for (size_t i = from; i < r->n && i < from + n; i++) {
		struct cell c = { .p = p, .l = l, .r = &r->row[i], .col = 1 };

		p->dim = is_over(c.r);
		for (unsigned k = 0; k < COLUMNS; k++)
			if (f.width[k] > 0) {
				c.width = f.width[k];
				put_cell(&c, (enum column)k);
				c.col += f.width[k] + 1;
			}
		p->dim = false;
		rama_look_page_line(p);
	}
}
