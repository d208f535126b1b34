/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/input.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/form/text.h"
#include "base/now.h"
#include "study/newest.h"

static struct {
	bool on, shown;
	double start;
	double delay;
	int percent;
} progress;

void rama_cli_progress_start(bool wanted)
{
	progress.on = wanted && isatty(STDERR_FILENO);
	progress.delay = strtod(rama_cli_opts_setting(RAMA_TAB_SET_PROGRESS), NULL);
	progress.percent = -1;
	progress.start = rama_now();
}

void rama_cli_progress_end(void)
{
	if (progress.shown)
		fputs("\r\033[K", stderr);
	progress.shown = false;
	progress.percent = -1;
}

/* is there something new to be shown? */
static bool is_due(int percent)
{
	if (!progress.on || percent == progress.percent ||
	    rama_now() - progress.start < progress.delay)
		return false;
	progress.percent = percent;
	progress.shown = true;
	return true;
}

void rama_cli_progress(const struct rama_cli_input *in, const struct rama_log_cursor *c)
{
	uint64_t size = in->file.src.size;
	int percent = size > 0 ? (int)((double)c->region.at * 100 / (double)size) : 0;

	if (size > 0 && is_due(percent))
		fprintf(stderr, "\r%s: %s %3d %%\033[K", in->path, c->mod->name, percent);
}

void rama_cli_progress_share(const char *path, double done)
{
	int percent = done > 0 ? done < 1 ? (int)(done * 100) : 100 : 0;

	if (is_due(percent))
		fprintf(stderr, "\r%s: %3d %%\033[K",
			strcmp(path, "-") == 0 ? "standard input" : path, percent);
}

void rama_cli_complain(const char *path, const char *fmt, ...)
{
	char *about = strdup(path), *text = NULL;
	va_list ap;

	rama_cli_progress_end();
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (about != NULL && text != NULL) {
		rama_text_tame(about);
		rama_text_tame(text);
	}
	fprintf(stderr, "iorama: %s: %s\n", about != NULL ? about : "", text != NULL ? text : "");
	free(about);
	free(text);
}

int rama_cli_to_file(void *ctx, const char *bytes, size_t n)
{
	return fwrite(bytes, 1, n, ctx) == n ? 0 : RAMA_EIO;
}

static void print_problem(void *ctx, const char *line)
{
	const struct rama_cli_input *in = ctx;

	rama_cli_complain(in->path, "%s", line);
}

const char *rama_cli_input_named(const char *arg)
{
	static char newest[4096]; /* there is but one */
	const char *dir = rama_cli_opts_setting(RAMA_TAB_SET_LOG_DIR);
	struct rama_err e = { 0 };

	if (strcmp(arg, "last") != 0 || access(arg, F_OK) == 0)
		return arg;
	dir = dir != NULL && dir[0] != '\0' ? dir : ".";
	if (rama_study_newest(dir, newest, sizeof(newest), &e) == 0)
		return newest;
	rama_cli_complain("last",
			  "there is no log (*.darshan) in %s, of which it would be the newest",
			  strcmp(dir, ".") == 0 ? "this directory" : dir);
	exit(rama_err_status(RAMA_EMISSING));
}

int rama_cli_input_open(struct rama_cli_input *in, const char *path, bool strict, bool quiet)
{
	struct rama_log_options opt = { .strict = strict,
					.problem = print_problem,
					.note = quiet ? NULL : print_problem,
					.ctx = in };
	struct rama_err e = { 0 };
	int rc;

	*in = (struct rama_cli_input){ .path = strcmp(path, "-") == 0 ? "standard input" : path,
				       .quiet = quiet };
	rc = rama_file_open(&in->file, path, &e);
	if (rc == 0)
		rc = rama_log_open(&in->log, &in->file.src, &opt, &e);
	if (rc != 0) {
		rama_cli_complain(in->path, "%s", e.text);
		rama_file_close(&in->file);
		return rama_err_status(rc);
	}
	in->opened = true;
	return 0;
}

int rama_cli_input_memory(struct rama_cli_input *in, const char *path, const void *bytes, size_t n,
			  bool quiet)
{
	struct rama_log_options opt = { .problem = print_problem,
					.note = quiet ? NULL : print_problem,
					.ctx = in };
	struct rama_err e = { 0 };
	int rc;

	*in = (struct rama_cli_input){ .path = path, .file.fd = -1, .quiet = quiet };
	rama_source_memory(&in->file.src, bytes, n);
	rc = rama_log_open(&in->log, &in->file.src, &opt, &e);
	if (rc != 0) {
		rama_cli_complain(in->path, "%s", e.text);
		return rama_err_status(rc);
	}
	in->opened = true;
	return 0;
}

void rama_cli_input_close(struct rama_cli_input *in)
{
	rama_cli_progress_end();
	if (in->opened) {
		rama_log_close(&in->log);
		rama_file_close(&in->file);
	}
	in->opened = false;
}

int rama_cli_input_status(const struct rama_cli_input *in)
{
	return in->log.problems > 0 ? 3 : 0;
}
