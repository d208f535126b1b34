/* SPDX-License-Identifier: BSD-3-Clause */
/* line.c: a line at the bottom of the terminal. The lines above it scroll without it, so
 * that what the command prints is never mixed with it; in the end it is gone. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/file.h"
#include "base/human.h"
#include "cli/run/line.h"
#include "cli/terminal.h"
#include "gather/place.h"
#include "look/look.h"
#include "base/form/pen.h"

#define ROWS_LEAST 5

struct rama_cli_run_line {
	struct rama_look *look;
	bool shown; /* the bottom line is ours */
	unsigned rows, cols;
	bool utf8;
	char text[512];
};

static bool can_show(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term != NULL && *term != '\0' && strcmp(term, "dumb") != 0;
}

struct rama_cli_run_line *rama_cli_run_line_create(const char *dir)
{
	struct rama_cli_run_line *l = can_show() ? calloc(1, sizeof(*l)) : NULL;
	const char *dirs[1 + RAMA_SEG_SPARES] = { dir };
	struct rama_look_options o = {
		.dir = dirs, .n_dirs = 1, .uid = (uint32_t)geteuid(), .linger = 2
	};
	struct rama_gather_spares spares;
	struct rama_err e = { 0 };

	if (l == NULL)
		return NULL;
	rama_gather_spares_read(&spares, dir);
	for (size_t i = 0; i < spares.n; i++)
		dirs[o.n_dirs++] = spares.dir[i];
	if (rama_look_create(&l->look, &o, &e) != 0) {
		free(l);
		return NULL;
	}
	l->utf8 = rama_cli_terminal_stderr().utf8;
	rama_look_take(l->look, &e);
	return l;
}

static void send(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void send(const char *fmt, ...)
{
	char text[2048];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0)
		rama_fd_write(STDERR_FILENO, text,
			      (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

/* A program that reads keys one by one has the screen for itself; one in the background has no
 * terminal. */
static bool is_ours(void)
{
	struct termios t;
	pid_t front = tcgetpgrp(STDERR_FILENO);

	return tcgetattr(STDERR_FILENO, &t) == 0 && (t.c_lflag & ICANON) != 0 &&
	       (front == getpgrp() || front < 0);
}

void rama_cli_run_line_hide(struct rama_cli_run_line *l)
{
	if (l->shown) /* all lines scroll again; the cursor stays where it is */
		send("\0337\033[r\033[%u;1H\033[K\0338", l->rows);
	l->shown = false;
}

/* The last line is kept out of scrolling. A cursor that stands there moves up together with what
 * is above. */
static bool reserve(struct rama_cli_run_line *l)
{
	struct winsize w;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_row < ROWS_LEAST || !is_ours()) {
		if (l->shown && is_ours())
			rama_cli_run_line_hide(l);
		l->shown = false;
		return false;
	}
	if (l->shown && w.ws_row == l->rows && w.ws_col == l->cols)
		return true;
	if (!l->shown)
		send("\033D\033[1A");
	l->rows = w.ws_row;
	l->cols = w.ws_col;
	send("\0337\033[1;%ur\0338", l->rows - 1);
	l->shown = true;
	return true;
}

void rama_cli_run_line_say(struct rama_cli_run_line *l, const char *text)
{
	struct rama_out o;
	struct rama_pen pen = { .o = &o, .utf8 = l->utf8 };

	if (l->shown && strcmp(text, l->text) == 0)
		return;
	if (!reserve(l))
		return;
	snprintf(l->text, sizeof(l->text), "%s", text);
	rama_out_init(&o, NULL, NULL);
	rama_pen_cut(&pen, text, l->cols - 1);
	rama_out_char(&o, '\0');
	if (o.error == 0)
		send("\0337\033[%u;1H\033[0m\033[K%s\0338", l->rows, o.buf);
	rama_out_fini(&o);
}

void rama_cli_run_line_second(struct rama_cli_run_line *l)
{
	char text[512], a[RAMA_HUMAN], b[RAMA_HUMAN], c[RAMA_HUMAN], d[RAMA_HUMAN], f[RAMA_HUMAN];
	const struct rama_look_job *j;
	struct rama_err e = { 0 };
	double per;

	if (rama_look_take(l->look, &e) != 0)
		return;
	if (l->look->n == 0) {
		rama_cli_run_line_say(l, "live: no process is observed yet");
		return;
	}
	j = l->look->job[0];
	per = l->look->interval > 0 ? 1 / l->look->interval : 0;
	snprintf(text, sizeof(text),
		 "live: read %s  write %s  %s ops/s  %u call%s at work  events %s, %s lost%s",
		 rama_human_rate(a, (double)j->gain.bytes_read * per),
		 rama_human_rate(b, (double)j->gain.bytes_written * per),
		 rama_human_count(c, llround((double)rama_look_ops(&j->gain) * per)), j->n_calls,
		 j->n_calls == 1 ? "" : "s", rama_human_count(d, (int64_t)j->live.made),
		 rama_human_count(f, (int64_t)j->live.dropped),
		 j->live.reader > 0 ? "" : ", no agent reads them");
	rama_cli_run_line_say(l, text);
}

void rama_cli_run_line_destroy(struct rama_cli_run_line *l)
{
	if (l == NULL)
		return;
	rama_cli_run_line_hide(l);
	rama_look_destroy(l->look);
	free(l);
}
