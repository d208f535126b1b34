/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_attach.c: iorama attach, iorama detach */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attach/find.h"
#include "base/file.h"
#include "base/json.h"
#include "base/now.h"
#include "base/when.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/opts.h"
#include "launch/attach.h"
#include "launch/keeper.h"

#define PATIENCE 5000 /* ms */

struct attach {
	struct rama_cli_opts o;
	struct rama_launch_attach it;
	bool quiet, as_json;
	struct rama_attach_list want;
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

static int find_library(struct attach *a, enum rama_tab_option_id option)
{
	struct rama_err e = { 0 };

	if (rama_launch_attach_find_library(&a->it, rama_cli_opts_value(&a->o, option), &e) == 0)
		return 0;
	rama_cli_complain("attach", "%s", e.text);
	return 4;
}

static void set(struct attach *a, const char *name, const char *value)
{
	if (!rama_launch_attach_set(&a->it, name, value))
		rama_cli_opts_usage(&a->o, "%s is too long", value);
}

static void make_settings(struct attach *a)
{
	const char *dir = rama_cli_opts_value(&a->o, RAMA_TAB_OPT_attach_dir);

	if (dir == NULL)
		dir = rama_cli_opts_setting(RAMA_TAB_SET_LOG_DIR);
	if (realpath(dir != NULL && *dir != '\0' ? dir : ".", a->it.log_dir) == NULL)
		rama_cli_opts_usage(&a->o, "%s: %s", dir, strerror(errno));
	set(a, "IORAMA_LOG_DIR", a->it.log_dir);
	if (rama_cli_opts_has(&a->o, RAMA_TAB_OPT_attach_trace))
		set(a, "IORAMA_TRACE", "1");
	if (rama_cli_opts_has(&a->o, RAMA_TAB_OPT_attach_live))
		set(a, "IORAMA_LIVE", "1");
	if (getenv("IORAMA_PATH_ID") != NULL)
		set(a, "IORAMA_PATH_ID", getenv("IORAMA_PATH_ID"));
	a->it.dir = getenv("IORAMA_DIR");
}

/* --probe: "auto", or functions joined by commas */
static void read_probes(struct attach *a)
{
	const char *text = rama_cli_opts_value(&a->o, RAMA_TAB_OPT_attach_probe);
	struct rama_err e = { 0 };
	char word[128];

	a->it.known_probes = text != NULL && strcmp(text, "auto") == 0;
	while (text != NULL && !a->it.known_probes && *text != '\0') {
		size_t n = strcspn(text, ",");

		snprintf(word, sizeof(word), "%.*s", (int)(n < 127 ? n : 127), text);
		if (a->it.n_probes == RAMA_PROBES)
			rama_cli_opts_usage(&a->o, "no more than %d functions", RAMA_PROBES);
		if (rama_attach_probe_parse(word, &a->it.probe[a->it.n_probes++], &e) != 0)
			rama_cli_opts_usage(&a->o, "%s", e.text);
		text += n + (text[n] == ',');
	}
}

/* ---- what was done --------------------------------------------------------------------------- */

static void tell_probes(struct attach *a, const struct rama_launch_attach_probes *p)
{
	rama_json_key(&a->json, "probes");
	rama_json_open(&a->json, '[');
	for (int i = 0; i < p->n; i++) {
		rama_json_open(&a->json, '{');
		rama_json_key_string(&a->json, "function", p->one[i].function);
		rama_json_key_i64(&a->json, "calls", (int64_t)p->one[i].calls);
		rama_json_key_f64(&a->json, "seconds", (double)p->one[i].ns * 1e-9);
		rama_json_key_i64(&a->json, "unmatched", (int64_t)p->one[i].unmatched);
		rama_json_key_i64(&a->json, "threads", p->one[i].threads);
		rama_json_key_f64(&a->json, "stood", p->one[i].stood);
		rama_json_close(&a->json, '}');
	}
	rama_json_close(&a->json, ']');
}

static void say_probes(pid_t pid, const char *name, const struct rama_launch_attach_probes *p,
		       bool begun)
{
	for (int i = 0; i < p->n; i++) {
		const struct rama_attach_probe_done *d = &p->one[i];

		if (begun)
			fprintf(stderr,
				"iorama: %d (%s): %s() is observed; %u threads stood for %.2f ms\n",
				(int)pid, name, d->function, d->threads, d->stood * 1e3);
		else
			fprintf(stderr, "iorama: %d (%s): %s() was called %llu times, %.6f s\n",
				(int)pid, name, d->function, (unsigned long long)d->calls,
				(double)d->ns * 1e-9);
	}
}

static void tell(struct attach *a, pid_t pid, const char *what, const struct rama_attach_done *d,
		 const struct rama_launch_attach_probes *p)
{
	char name[64];

	rama_attach_process_name(pid, name, sizeof(name));
	if (a->as_json) {
		rama_json_open(&a->json, '{');
		rama_json_key_i64(&a->json, "pid", pid);
		rama_json_key_string(&a->json, "name", name);
		rama_json_key_string(&a->json, "what", what);
		rama_json_key_i64(&a->json, "thread", d->thread);
		rama_json_key_f64(&a->json, "borrowed", d->borrowed);
		rama_json_key_i64(&a->json, "slots", d->slots);
		rama_json_key_string(&a->json, "log", d->log[0] != '\0' ? d->log : NULL);
		tell_probes(a, p);
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
	if (!a->as_json && !a->quiet)
		say_probes(pid, name, p, d->slots > 0);
}

static void on_told(void *arg, const struct rama_launch_attach_told *t)
{
	struct attach *a = arg;

	switch (t->what) {
	case RAMA_LAUNCH_ATTACHED:
		tell(a, t->pid, "attached", t->done, t->probes);
		break;
	case RAMA_LAUNCH_DETACHED:
		tell(a, t->pid, "detached", t->done, t->probes);
		break;
	case RAMA_LAUNCH_ATTACH_WAITS:
		fprintf(stderr,
			"iorama: %d: its thread is away for seconds (a lock, or a file system that "
			"does "
			"not answer); it is waited for: ending iorama now would end it\n",
			(int)t->pid);
		break;
	case RAMA_LAUNCH_ATTACH_STAYS:
		if (!a->quiet)
			fprintf(stderr, "iorama: other ranks are still observed; the log is made "
					"when the last is detached or has ended\n");
		break;
	case RAMA_LAUNCH_ATTACH_REFUSED:
		rama_cli_complain(a->o.command == RAMA_TAB_CMD_attach ? "attach" : "detach", "%s",
				  t->text);
		break;
	}
}

/* ---- the two commands ------------------------------------------------------------------------ */

/* those that are meant */
static int find_all(struct attach *a)
{
	const char *job = rama_cli_opts_value(&a->o, RAMA_TAB_OPT_attach_job),
		   *mount = rama_cli_opts_value(&a->o, RAMA_TAB_OPT_attach_mount);
	struct rama_err e = { 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < a->o.n_args; i++)
		rc = rama_attach_list_add(&a->want, pid_of(a, a->o.args[i]), &e);
	if (rc == 0 && job != NULL)
		rc = rama_attach_find_job(&a->want, job, &e);
	if (rc == 0 && mount != NULL)
		rc = rama_attach_find_mount(&a->want, mount, &e);
	if (rc == 0 && rama_cli_opts_has(&a->o, RAMA_TAB_OPT_attach_servers))
		rc = rama_attach_find_servers(&a->want, &e);
	if (rc != 0)
		rama_cli_complain("attach", "%s", e.text);
	return rc != 0 ? 4 : 0;
}

/* Before anything is attached: whoever ends us at any moment from then on has it detached, too. */
static void take_signals(void)
{
	struct sigaction s = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	sigaction(SIGINT, &s, NULL);
	sigaction(SIGTERM, &s, NULL);
}

static void wait_for(int64_t ms)
{
	int64_t end = rama_now_ms() + ms;

	while (!ended && rama_now_ms() < end) {
		int64_t left = end - rama_now_ms();
		struct timespec t = { left / 1000, left % 1000 * 1000000 };

		nanosleep(&t, NULL);
	}
}

static void say_nothing(void *arg, const struct rama_launch_attach_told *t)
{
	(void)arg, (void)t;
}

/* We were killed while we waited: what was to be observed for so long is not, for good. */
static void let_go(void *arg)
{
	struct rama_launch_attach *it = arg;

	it->tell = say_nothing;
	rama_launch_attach_end(it, it->pid, it->n);
	rama_launch_attach_leave(it, false);
}

static void begin_output(struct attach *a)
{
	a->it.tell = on_told;
	a->it.arg = a;
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
	rama_launch_attach_fini(&a->it);
	rama_attach_list_fini(&a->want);
	rama_cli_opts_fini(&a->o);
	return status;
}

int rama_cli_cmd_attach(int argc, char **argv)
{
	struct attach a = { 0 };
	int64_t how_long;
	int status, left;

	rama_cli_opts_parse(&a.o, RAMA_TAB_CMD_attach, argc, argv);
	if (a.o.n_args == 0 && !rama_cli_opts_has(&a.o, RAMA_TAB_OPT_attach_job) &&
	    !rama_cli_opts_has(&a.o, RAMA_TAB_OPT_attach_mount) &&
	    !rama_cli_opts_has(&a.o, RAMA_TAB_OPT_attach_servers))
		rama_cli_opts_usage(&a.o, "no process given");
	a.quiet = rama_cli_opts_has(&a.o, RAMA_TAB_OPT_attach_quiet);
	a.as_json = rama_cli_opts_has(&a.o, RAMA_TAB_OPT_attach_json);
	a.it.patience = (unsigned)span(&a, RAMA_TAB_OPT_attach_wait, PATIENCE);
	how_long = span(&a, RAMA_TAB_OPT_attach_for, -1);
	make_settings(&a);
	read_probes(&a);
	begin_output(&a);
	status = find_library(&a, RAMA_TAB_OPT_attach_library);
	if (status == 0)
		status = find_all(&a);
	if (status == 0 && how_long >= 0)
		take_signals();
	if (status == 0)
		status = rama_launch_attach_begin(&a.it, a.want.pid, a.want.n);
	if (how_long >= 0 && a.it.n > 0) {
		int rc, keeper = rama_launch_keeper_start(let_go, &a.it);

		wait_for(how_long);
		rc = rama_launch_attach_end(&a.it, a.it.pid, a.it.n);
		rama_launch_keeper_end(keeper);
		status = status != 0 ? status : rc;
	}
	left = rama_launch_attach_leave(&a.it, how_long < 0);
	status = status != 0 ? status : left;
	return end(&a, status);
}

int rama_cli_cmd_detach(int argc, char **argv)
{
	struct attach a = { 0 };
	pid_t *pid;
	int status;

	rama_cli_opts_parse(&a.o, RAMA_TAB_CMD_detach, argc, argv);
	if (a.o.n_args == 0)
		rama_cli_opts_usage(&a.o, "no process given");
	a.quiet = rama_cli_opts_has(&a.o, RAMA_TAB_OPT_detach_quiet);
	a.as_json = rama_cli_opts_has(&a.o, RAMA_TAB_OPT_detach_json);
	a.it.patience = (unsigned)span(&a, RAMA_TAB_OPT_detach_wait, PATIENCE);
	begin_output(&a);
	status = find_library(&a, RAMA_TAB_OPT_detach_library);
	pid = calloc(a.o.n_args, sizeof(*pid));
	for (size_t i = 0; pid != NULL && i < a.o.n_args; i++)
		pid[i] = pid_of(&a, a.o.args[i]);
	if (status == 0 && pid != NULL)
		status = rama_launch_attach_end(&a.it, pid, a.o.n_args);
	free(pid);
	return end(&a, status);
}
