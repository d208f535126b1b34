/* SPDX-License-Identifier: BSD-3-Clause */
/* screen.c: the full screen: ncurses shows pages and tells keys; only what changed is
 * sent. */
#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/now.h"
#include "cli/input.h"
#include "cli/watch/screen.h"

#define KEY_ESCAPE 27
#define WIDTH_LEAST 20
#define SAID_FOR 4 /* s that a message stays */

struct screen {
	struct rama_look *l;
	struct rama_look_watch_view *v;
	struct rama_look_watch_view before[3]; /* to come back to */
	unsigned depth;
	struct rama_look_watch_about a;
	const char *word; /* JOB or PID that was asked for */
	bool colour;
	attr_t attr[RAMA_LOOK_STYLES];
	short pair[RAMA_LOOK_STYLES];
	struct rama_look_watch_rows rows;
	char said[256];
	double said_until;
	enum { ASK_NOTHING, ASK_FILTER, ASK_LIVE } ask;
	char was[RAMA_LOOK_WATCH_FILTER]; /* filter before it is edited */
	bool quit, live_on;
	char live_job[128];
	double next; /* look */
	int status;
};

static volatile sig_atomic_t ended_by;

static void on_signal(int signal)
{
	ended_by = signal;
}

/* ---- looks ----------------------------------------------------------------------------------- */

static void colours(struct screen *s)
{
	bool many;

	s->attr[RAMA_LOOK_STYLE_BOLD] = A_BOLD;
	s->attr[RAMA_LOOK_STYLE_DIM] = A_DIM;
	s->attr[RAMA_LOOK_STYLE_HEAD] = A_BOLD | A_UNDERLINE;
	if (!s->colour || !has_colors() || start_color() != OK) /* sets COLORS */
		return;
	use_default_colors();
	many = COLORS >= 256;
	const short of[RAMA_LOOK_STYLES] = {
		[RAMA_LOOK_STYLE_READ] = many ? 33 : COLOR_BLUE,
		[RAMA_LOOK_STYLE_WRITE] = many ? 166 : COLOR_YELLOW,
		[RAMA_LOOK_STYLE_META] = many ? 134 : COLOR_MAGENTA,
		[RAMA_LOOK_STYLE_GOOD] = COLOR_GREEN,
		[RAMA_LOOK_STYLE_WARN] = COLOR_YELLOW,
		[RAMA_LOOK_STYLE_BAD] = COLOR_RED,
	};
	for (int i = 0; i < RAMA_LOOK_STYLES; i++)
		if (of[i] != 0) {
			s->pair[i] = (short)(i + 1);
			init_pair(s->pair[i], of[i], -1);
		}
}

static void show(struct screen *s, const struct rama_look_page *p)
{
	erase();
	for (size_t i = 0; i < p->n; i++) {
		const struct rama_look_page_span *x = &p->span[i];

		attr_set(s->attr[x->style], s->pair[x->style], NULL);
		mvaddstr((int)x->row, (int)x->col, x->text);
	}
	attr_set(A_NORMAL, 0, NULL);
	if (p->chosen >= 0 && !s->a.help)
		mvchgat(p->chosen, 0, -1, A_REVERSE, 0, NULL);
	curs_set(s->ask == ASK_FILTER);
	refresh();
}

static void draw(struct screen *s)
{
	int rows = getmaxy(stdscr), cols = getmaxx(stdscr);
	struct rama_look_page p;
	char line[RAMA_LOOK_WATCH_FILTER + 32];
	struct rama_look_watch_about a = s->a;

	if (rama_now() < s->said_until)
		a.said = s->said;
	if (s->ask == ASK_FILTER) {
		snprintf(line, sizeof(line), "/%s", s->v->filter);
		a.said = line;
	} else if (s->ask == ASK_LIVE) {
		a.said = s->said;
	}
	rama_look_page_init(&p, (unsigned)(cols > WIDTH_LEAST ? cols : WIDTH_LEAST),
			    (unsigned)(rows > 3 ? rows : 3), !a.ascii);
	rama_look_watch_draw(&p, s->l, s->v, &s->rows, &a);
	show(s, &p);
	rama_look_page_fini(&p);
}

static void say(struct screen *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct screen *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->said, sizeof(s->said), fmt, ap);
	va_end(ap);
	s->said_until = rama_now() + SAID_FOR;
}

/* lines anew, of the look as it is */
static void line_up(struct screen *s)
{
	struct rama_err e = { 0 };

	rama_look_watch_rows_fini(&s->rows);
	if (rama_look_watch_rows(&s->rows, s->l, s->v, &e) != 0)
		say(s, "%s", e.text);
}

static void take(struct screen *s)
{
	const struct rama_look_process *p;
	struct rama_err e = { 0 };

	if (rama_look_take(s->l, &e) != 0)
		say(s, "%s", e.text);
	if (s->word != NULL)
		rama_look_watch_choose(s->l, s->word, &p);
	line_up(s);
	s->next = rama_now() + s->a.interval;
}

/* ---- going about ----------------------------------------------------------------------------- */

static void choose(struct screen *s, long at)
{
	struct rama_look_watch_view *v = s->v;

	if (s->rows.n == 0)
		return;
	v->at = at < 0 ? 0 : (size_t)at >= s->rows.n ? s->rows.n - 1 : (size_t)at;
	v->chosen = s->rows.row[v->at].name;
}

static void go_into(struct screen *s, enum rama_look_watch_kind kind,
		    const struct rama_look_watch_row *r, bool whole)
{
	struct rama_look_watch_view *v = s->v;

	if (r == NULL && s->rows.job == NULL)
		return;
	if (s->depth < sizeof(s->before) / sizeof(s->before[0]))
		s->before[s->depth++] = *v;
	if (r != NULL)
		snprintf(v->job, sizeof(v->job), "%s", r->j->key);
	v->process = !whole && r != NULL && r->p != NULL ? r->p->number : 0;
	v->kind = kind;
	v->filter[0] = '\0';
	v->reverse = false;
	v->chosen = 0;
	v->at = v->top = 0;
	line_up(s);
}

static void enter(struct screen *s)
{
	const struct rama_look_watch_row *r = s->v->at < s->rows.n ? &s->rows.row[s->v->at] : NULL;

	if (r != NULL && s->v->kind != RAMA_LOOK_WATCH_FILES)
		go_into(s,
			s->v->kind == RAMA_LOOK_WATCH_JOBS ? RAMA_LOOK_WATCH_RANKS
							   : RAMA_LOOK_WATCH_FILES,
			r, false);
}

static void all_files(struct screen *s)
{
	const struct rama_look_watch_row *r = s->v->at < s->rows.n ? &s->rows.row[s->v->at] : NULL;

	if (s->v->kind != RAMA_LOOK_WATCH_FILES)
		go_into(s, RAMA_LOOK_WATCH_FILES, r, true);
}

/* what was on the way is where it was; orders stay as they are now */
static void back(struct screen *s)
{
	enum rama_look_watch_sort sort[3];

	if (s->a.help) {
		s->a.help = false;
	} else if (s->v->filter[0] != '\0') {
		s->v->filter[0] = '\0';
	} else if (s->depth > 0) {
		memcpy(sort, s->v->sort, sizeof(sort));
		*s->v = s->before[--s->depth];
		memcpy(s->v->sort, sort, sizeof(sort));
	} else if (s->v->kind != RAMA_LOOK_WATCH_JOBS && s->word == NULL) {
		s->v->kind = RAMA_LOOK_WATCH_JOBS;
	}
	line_up(s);
}

/* ---- live events ----------------------------------------------------------------------------- */

static void ask_live(struct screen *s)
{
	const struct rama_look_job *j = s->rows.job;

	if (j == NULL && s->v->at < s->rows.n)
		j = s->rows.row[s->v->at].j;
	if (j == NULL || j->ended) {
		say(s, "there is no running job to switch");
		return;
	}
	s->live_on = j->live.on == 0;
	snprintf(s->live_job, sizeof(s->live_job), "%s", j->key);
	say(s, "live events of %s (%zu process%s): switch %s? y n", rama_look_watch_program(j),
	    j->running, j->running == 1 ? "" : "es", s->live_on ? "on" : "off");
	s->ask = ASK_LIVE;
}

static void answer_live(struct screen *s, int key)
{
	const struct rama_look_job *j = rama_look_watch_job(s->l, s->live_job);
	struct rama_err e = { 0 };
	int n;

	s->ask = ASK_NOTHING;
	if (key != 'y' && key != 'Y') {
		say(s, "left as it is");
		return;
	}
	n = j != NULL ? rama_look_watch_switch(j, s->live_on, &e) : 0;
	if (n < 0)
		say(s, "%s", e.text);
	else
		say(s, "live events are %s for %d process%s%s", s->live_on ? "on" : "off", n,
		    n == 1 ? "" : "es",
		    s->live_on && n > 0 && j->live.reader == 0 ? "; `iorama agent` reads them"
							       : "");
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void edit_filter(struct screen *s, int key)
{
	char *f = s->v->filter;
	size_t n = strlen(f);

	if (key == KEY_ESCAPE) {
		memcpy(f, s->was, sizeof(s->was));
		s->ask = ASK_NOTHING;
	} else if (key == '\n' || key == '\r' || key == KEY_ENTER) {
		s->ask = ASK_NOTHING;
	} else if (key == KEY_BACKSPACE || key == 127 || key == 8) {
		while (n > 0 && ((unsigned char)f[n - 1] & 0xc0) == 0x80)
			n--;
		f[n > 0 ? n - 1 : 0] = '\0';
	} else if (key == 21) { /* Ctrl-U */
		f[0] = '\0';
	} else if (key >= ' ' && key < 256 && n + 1 < RAMA_LOOK_WATCH_FILTER) {
		f[n] = (char)key;
		f[n + 1] = '\0';
	}
	line_up(s);
}

static void faster(struct screen *s, double by)
{
	double i = s->a.interval * by;

	s->a.interval = i < 0.1 ? 0.1 : i > 60 ? 60 : i;
	s->next = rama_now() + s->a.interval;
}

static bool move_key(struct screen *s, int key)
{
	long at = (long)s->v->at, page = getmaxy(stdscr) > 12 ? getmaxy(stdscr) - 8 : 4;

	switch (key) {
	case KEY_UP:
	case 'k':
		choose(s, at - 1);
		return true;
	case KEY_DOWN:
	case 'j':
		choose(s, at + 1);
		return true;
	case KEY_PPAGE:
		choose(s, at - page);
		return true;
	case KEY_NPAGE:
		choose(s, at + page);
		return true;
	case KEY_HOME:
	case 'g':
		choose(s, 0);
		return true;
	case KEY_END:
	case 'G':
		choose(s, (long)s->rows.n - 1);
		return true;
	default:
		return false;
	}
}

static void other_key(struct screen *s, int key)
{
	enum rama_look_watch_sort *sort = &s->v->sort[s->v->kind];

	switch (key) {
	case 'q':
	case 'Q':
		s->quit = true;
		break;
	case '?':
	case 'h':
		s->a.help = !s->a.help;
		break;
	case ' ':
		s->a.paused = !s->a.paused;
		s->next = rama_now();
		break;
	case 's':
		*sort = (enum rama_look_watch_sort)((*sort + 1) % RAMA_LOOK_SORTS);
		line_up(s);
		break;
	case 'S':
		s->v->reverse = !s->v->reverse;
		line_up(s);
		break;
	case '/':
		memcpy(s->was, s->v->filter, sizeof(s->was));
		s->ask = ASK_FILTER;
		break;
	case '+':
		faster(s, 0.5);
		break;
	case '-':
		faster(s, 2);
		break;
	case 'l':
		ask_live(s);
		break;
	case 'f':
		all_files(s);
		break;
	case KEY_RESIZE: /* ncurses has the new size; what is on the screen is not known */
		clearok(stdscr, TRUE);
		break;
	case 12: /* Ctrl-L */
		clearok(stdscr, TRUE);
		break;
	default:
		break;
	}
}

static void on_key(struct screen *s, int key)
{
	if (key != KEY_RESIZE && s->ask == ASK_FILTER) {
		edit_filter(s, key);
	} else if (key != KEY_RESIZE && s->ask == ASK_LIVE) {
		answer_live(s, key);
	} else if (key == KEY_ESCAPE || key == KEY_BACKSPACE || key == 127 || key == 8 ||
		   key == KEY_LEFT) {
		back(s);
	} else if (key == '\n' || key == '\r' || key == KEY_ENTER || key == KEY_RIGHT) {
		enter(s);
	} else if (!move_key(s, key)) {
		other_key(s, key);
	}
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Signals that would end us leave the terminal as it was; so does a terminal that goes away. */
static void catch_signals(void)
{
	static const int ends[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT };
	struct sigaction act = { .sa_handler = on_signal };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaction(ends[i], &act, NULL);
}

/* waits for a key until the next look; ERR: none came */
static int next_key(struct screen *s)
{
	double left = s->next - rama_now();

	if (s->a.paused)
		left = s->said_until > rama_now() ? s->said_until - rama_now() : 3600;
	timeout(left > 0 ? (int)(left * 1000) + 1 : 0);
	return getch();
}

static void loop(struct screen *s)
{
	int key;

	take(s);
	s->next = rama_now() + (s->a.interval < 0.3 ? s->a.interval : 0.3); /* figures soon */
	draw(s);
	while (!s->quit && ended_by == 0) {
		key = next_key(s);
		if (key != ERR)
			on_key(s, key);
		else if (errno == EIO || (poll(&(struct pollfd){ .fd = STDIN_FILENO }, 1, 0) > 0))
			break; /* the terminal is gone */
		if (!s->a.paused && rama_now() >= s->next)
			take(s);
		draw(s);
	}
}

int rama_cli_watch_screen(struct rama_look *l, struct rama_look_watch_view *v,
			  const struct rama_look_watch_about *a, const char *word, bool colour)
{
	struct screen s = { .l = l, .v = v, .a = *a, .colour = colour, .word = word };
	SCREEN *term;

	set_escdelay(25);
	term = newterm(NULL, stdout, stdin);
	if (term == NULL) {
		rama_cli_complain("watch",
				  "this terminal (TERM=%s) cannot show a full screen; use --once",
				  getenv("TERM") != NULL ? getenv("TERM") : "");
		return 4;
	}
	catch_signals();
	set_term(term);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	leaveok(stdscr, TRUE);
	colours(&s);
	loop(&s);
	curs_set(1);
	endwin();
	delscreen(term);
	rama_look_watch_rows_fini(&s.rows);
	return ended_by != 0 ? 128 + ended_by : 0;
}
