/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_attach.c: iorama attach, iorama detach */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach/attach.h"
#include "base/file.h"
#include "base/json.h"
#include "base/now.h"
#include "base/when.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/opts.h"
#include "launch/find.h"

#define PATIENCE 5000 /* ms */

struct attach {
	struct rama_cli_opts o;
	struct rama_attach_options how;
	char library[PATH_MAX + 64], settings[3 * PATH_MAX];
	bool quiet, as_json;
	pid_t *pid; /* those that it was done to */
	size_t n;
	struct rama_out out;
	struct rama_json json;
};

static volatile sig_atomic_t ended;

static void on_signal(int signal)
{
	ended = signal;
}

/* ---- the command line ------------------------------------------------------------------------ */

static pid_t pid_of(const struct attach *a, const char *word)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(word, &end, 10);
	if (errno != 0 || end == word || *end != '\0' || n <= 0 || n > INT_MAX)
		rama_cli_opts_usage(&a->o, "%s is no process number", word);
	return (pid_t)n;
}

static int64_t span(const struct attach *a, enum rama_tab_option_id option, int64_t without)
{
	const char *text = rama_cli_opts_value(&a->o, option);
	int64_t ns;

	if (text == NULL)
		return without;
	if (!rama_when_span(text, &ns) || ns < 0)
		rama_cli_opts_usage(&a->o, "%s is no span of time (10s, 5m)", text);
	return ns / 1000000;
}

/* The same file under the name that lets it begin nothing by itself. */
static int find_library(struct attach *a, enum rama_tab_option_id option)
{
	const char *chosen = rama_cli_opts_value(&a->o, option);
	struct rama_err e = { 0 };
	char path[PATH_MAX], *slash;

	if (rama_launch_find_library(chosen, path, &e) != 0) {
		rama_cli_complain("attach", "%s", e.text);
		return 4;
	}
	slash = strrchr(path, '/');
	*slash = '\0';
	snprintf(a->library, sizeof(a->library), "%s/libiorama-attach.so", path);
	if (access(a->library, R_OK) != 0) {
		rama_cli_complain(a->library, "%s", strerror(errno));
		return 4;
	}
	a->how.library = a->library;
	return 0;
}

static void set(struct attach *a, size_t *n, const char *name, const char *value)
{
	int k = snprintf(a->settings + *n, sizeof(a->settings) - *n - 1, "%s=%s", name, value);

	if (k < 0 || (size_t)k >= sizeof(a->settings) - *n - 1)
		rama_cli_opts_usage(&a->o, "%s is too long", value);
	*n += (size_t)k + 1;
	a->settings[*n] = '\0';
}

static void make_settings(struct attach *a)
{
	const char *dir = rama_cli_opts_value(&a->o, RAMA_TAB_OPT_attach_dir);
	char here[PATH_MAX];
	size_t n = 0;

	if (dir == NULL)
		dir = rama_cli_opts_setting(RAMA_TAB_SET_LOG_DIR);
	if (realpath(dir != NULL && *dir != '\0' ? dir : ".", here) == NULL)
		rama_cli_opts_usage(&a->o, "%s: %s", dir, strerror(errno));
	set(a, &n, "IORAMA_LOG_DIR", here);
	if (rama_cli_opts_has(&a->o, RAMA_TAB_OPT_attach_trace))
		set(a, &n, "IORAMA_TRACE", "1");
	if (rama_cli_opts_has(&a->o, RAMA_TAB_OPT_attach_live))
		set(a, &n, "IORAMA_LIVE", "1");
	if (getenv("IORAMA_DIR") != NULL)
		set(a, &n, "IORAMA_DIR", getenv("IORAMA_DIR"));
	a->how.settings = a->settings;
}

/* ---- what was done --------------------------------------------------------------------------- */

static void name_of(pid_t pid, char *to, size_t room)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (f == NULL || fgets(to, (int)room, f) == NULL)
		snprintf(to, room, "?");
	to[strcspn(to, "\n")] = '\0';
	if (f != NULL)
		fclose(f);
}

static void tell(struct attach *a, pid_t pid, const char *what, const struct rama_attach_done *d)
{
	char name[64];

	name_of(pid, name, sizeof(name));
	if (a->as_json) {
		rama_json_open(&a->json, '{');
		rama_json_key_i64(&a->json, "pid", pid);
		rama_json_key_string(&a->json, "name", name);
		rama_json_key_string(&a->json, "what", what);
		rama_json_key_i64(&a->json, "thread", d->thread);
		rama_json_key_f64(&a->json, "borrowed", d->borrowed);
		rama_json_key_i64(&a->json, "slots", d->slots);
		rama_json_key_string(&a->json, "log", d->log[0] != '\0' ? d->log : NULL);
		rama_json_close(&a->json, '}');
	} else if (!a->quiet && d->slots > 0) {
		fprintf(stderr,
			"iorama: %d (%s): observed from now on; its thread %d was away for %.1f "
			"ms\n",
			(int)pid, name, (int)d->thread, d->borrowed * 1e3);
	} else if (!a->quiet) {
		fprintf(stderr, "iorama: %d (%s): %s\n", (int)pid, name,
			d->log[0] != '\0' ? d->log : "no longer observed; it has left no log");
	}
}

static int attach_all(struct attach *a)
{
	int status = 0;

	a->pid = calloc(a->o.n_args, sizeof(*a->pid));
	if (a->pid == NULL) {
		rama_cli_complain("attach", "out of memory");
		return 4;
	}
	for (size_t i = 0; i < a->o.n_args; i++) {
		pid_t pid = pid_of(a, a->o.args[i]);
		struct rama_attach_done done;
		struct rama_err e = { 0 };

		if (rama_attach(pid, &a->how, &done, &e) == 0) {
			tell(a, pid, "attached", &done);
			a->pid[a->n++] = pid;
			continue;
		}
		rama_cli_complain("attach", "%s", e.text);
		status = 4;
	}
	return status;
}

static int detach_one(struct attach *a, pid_t pid)
{
	struct rama_attach_done done;
	struct rama_err e = { 0 };

	if (rama_attach_end(pid, &a->how, &done, &e) == 0) {
		tell(a, pid, "detached", &done);
		return 0;
	}
	rama_cli_complain("detach", "%s", e.text);
	return 4;
}

static void wait_for(int64_t ms)
{
	struct sigaction s = { .sa_handler = on_signal };
	int64_t end = rama_now_ms() + ms;

	sigaction(SIGINT, &s, NULL);
	sigaction(SIGTERM, &s, NULL);
	while (!ended && rama_now_ms() < end) {
		int64_t left = end - rama_now_ms();
		struct timespec t = { left / 1000, left % 1000 * 1000000 };

		nanosleep(&t, NULL);
	}
}

static void begin_output(struct attach *a)
{
	rama_out_init(&a->out, rama_file_to_stdout, NULL);
	rama_json_init(&a->json, &a->out);
	if (a->as_json)
		rama_json_open(&a->json, '[');
}

static int end(struct attach *a, int status)
{
	if (a->as_json) {
		rama_json_close(&a->json, ']');
		rama_out_char(&a->out, '\n');
		if (rama_out_flush(&a->out) != 0 && status == 0)
			status = 4;
	}
	rama_out_fini(&a->out);
	free(a->pid);
	rama_cli_opts_fini(&a->o);
	return status;
}

int rama_cli_cmd_attach(int argc, char **argv)
{
	struct attach a = { 0 };
	int64_t how_long;
	int status;

	rama_cli_opts_parse(&a.o, RAMA_TAB_CMD_attach, argc, argv);
	if (a.o.n_args == 0)
		rama_cli_opts_usage(&a.o, "no process given");
	a.quiet = rama_cli_opts_has(&a.o, RAMA_TAB_OPT_attach_quiet);
	a.as_json = rama_cli_opts_has(&a.o, RAMA_TAB_OPT_attach_json);
	a.how.patience = (unsigned)span(&a, RAMA_TAB_OPT_attach_wait, PATIENCE);
	how_long = span(&a, RAMA_TAB_OPT_attach_for, -1);
	make_settings(&a);
	begin_output(&a);
	status = find_library(&a, RAMA_TAB_OPT_attach_library);
	if (status == 0)
		status = attach_all(&a);
	if (how_long >= 0 && a.n > 0) {
		wait_for(how_long);
		for (size_t i = 0; i < a.n; i++) {
			int rc = detach_one(&a, a.pid[i]);

			status = status != 0 ? status : rc;
		}
	}
	return end(&a, status);
}

int rama_cli_cmd_detach(int argc, char **argv)
{
	struct attach a = { 0 };
	int status;

	rama_cli_opts_parse(&a.o, RAMA_TAB_CMD_detach, argc, argv);
	if (a.o.n_args == 0)
		rama_cli_opts_usage(&a.o, "no process given");
	a.quiet = rama_cli_opts_has(&a.o, RAMA_TAB_OPT_detach_quiet);
	a.as_json = rama_cli_opts_has(&a.o, RAMA_TAB_OPT_detach_json);
	a.how.patience = (unsigned)span(&a, RAMA_TAB_OPT_detach_wait, PATIENCE);
	begin_output(&a);
	status = find_library(&a, RAMA_TAB_OPT_detach_library);
	for (size_t i = 0; status == 0 && i < a.o.n_args; i++)
		status = detach_one(&a, pid_of(&a, a.o.args[i]));
	return end(&a, status);
}
