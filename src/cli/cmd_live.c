/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_live.c: iorama live */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "config/settings.h"
#include "launch/switch.h"

struct live {
	struct rama_cli_opts o;
	struct rama_launch_jobs jobs;
	struct rama_out out;
	struct rama_json json;
	bool as_json, quiet;
	bool change, on, trace;
	uint32_t layers;
	const char *const *asked; /* jobs and processes; n_asked 0: all */
	bool *met;
	size_t n_asked;
	size_t shown;
	int status;
};

static void worse(struct live *l, int status)
{
	if (status > l->status)
		l->status = status;
}

static bool is_asked(struct live *l, const struct rama_launch_job *j,
		     const struct rama_launch_seg_info *info)
{
	bool is = l->n_asked == 0;

	for (size_t i = 0; i < l->n_asked; i++) {
		bool named = rama_launch_switch_named(l->asked[i], j, info);

		if (l->met != NULL)
			l->met[i] |= named;
		is |= named;
	}
	return is;
}

static void show_json(struct live *l, const struct rama_launch_switch *p)
{
	char text[RAMA_LAUNCH_SWITCH_WORDS];

	rama_json_open(&l->json, '{');
	rama_json_key_string(&l->json, "job", p->job->name);
	rama_json_key_i64(&l->json, "jobid", p->info->jobid);
	rama_json_key_i64(&l->json, "pid", p->info->pid);
	rama_json_key_string(&l->json, "live", rama_launch_switch_words(text, p->now.live));
	rama_json_key_string(&l->json, "trace", rama_launch_switch_words(text, p->now.trace));
	if (l->change) {
		rama_json_key_string(&l->json, "live_before",
				     rama_launch_switch_words(text, p->was.live));
		rama_json_key_string(&l->json, "trace_before",
				     rama_launch_switch_words(text, p->was.trace));
	}
	rama_json_key_i64(&l->json, "reader", p->reader);
	rama_json_key_i64(&l->json, "made", (int64_t)p->made);
	rama_json_key_i64(&l->json, "dropped", (int64_t)p->dropped);
	rama_json_key_i64(&l->json, "waiting", (int64_t)p->waiting);
	rama_json_key_string(&l->json, "command", p->info->text);
	rama_json_close(&l->json, '}');
}

static void show_text(const struct live *l, const struct rama_launch_switch *p)
{
	char live[RAMA_LAUNCH_SWITCH_WORDS], trace[RAMA_LAUNCH_SWITCH_WORDS], reader[16] = "-";

	if (l->shown == 0)
		printf("%8s  %-20s %-20s %8s %12s %10s  %s\n", "process", "live", "trace", "agent",
		       "events", "dropped", "job, command");
	if (p->reader != 0)
		snprintf(reader, sizeof(reader), "%u", p->reader);
	printf("%8lld  %-20s %-20s %8s %12llu %10llu  %s  %.60s\n", (long long)p->info->pid,
	       rama_launch_switch_words(live, p->now.live),
	       rama_launch_switch_words(trace, p->now.trace), reader, (unsigned long long)p->made,
	       (unsigned long long)p->dropped, p->job->name != NULL ? p->job->name : "-",
	       p->info->text);
}

static void take(struct live *l, const struct rama_launch_job *j,
		 const struct rama_launch_seg_info *info)
{
	struct rama_launch_switch p = { .job = j, .info = info };
	struct rama_err e = { 0 };
	int rc = rama_launch_switch_look(&p, &e);

	if (rc == 0 && l->change)
		rc = rama_launch_switch_set(&p, l->layers, l->on, l->trace, &e);
	if (rc == RAMA_EMISSING) /* it has just ended */
		return;
	if (rc != 0) {
		rama_cli_complain("live", "%s", e.text);
		worse(l, rama_err_status(rc));
		return;
	}
	if (l->as_json)
		show_json(l, &p);
	else if (!l->quiet)
		show_text(l, &p);
	l->shown++;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void parse(struct live *l, int argc, char **argv)
{
	const char *layers;

	rama_cli_opts_parse(&l->o, RAMA_TAB_CMD_live, argc, argv);
	l->as_json = rama_cli_opts_has(&l->o, RAMA_TAB_OPT_live_json);
	l->quiet = rama_cli_opts_has(&l->o, RAMA_TAB_OPT_live_quiet);
	l->trace = rama_cli_opts_has(&l->o, RAMA_TAB_OPT_live_trace);
	l->asked = l->o.args;
	l->n_asked = l->o.n_args;
	if (l->n_asked > 0 && (strcmp(l->asked[0], "on") == 0 || strcmp(l->asked[0], "off") == 0)) {
		l->change = true;
		l->on = strcmp(l->asked[0], "on") == 0;
		l->asked++;
		l->n_asked--;
	}
	layers = rama_cli_opts_value(&l->o, RAMA_TAB_OPT_live_layers);
	if (!l->change && (layers != NULL || l->trace))
		rama_cli_opts_usage(&l->o, "say on or off first");
	if (!rama_config_settings_layers(layers != NULL ? layers : "all",
					 layers != NULL ? strlen(layers) : 3, &l->layers) ||
	    l->layers == 0)
		rama_cli_opts_usage(
			&l->o, "--layers %s: POSIX, STDIO, MPIIO, H5F, H5D and PNETCDF are layers",
			layers);
	l->met = calloc(l->n_asked + 1, sizeof(*l->met));
}

static int find(struct live *l, struct rama_err *e)
{
	const char *dir;
	size_t at = 0;
	int rc = 0;

	if (!rama_cli_opts_has(&l->o, RAMA_TAB_OPT_live_dir))
		return rama_launch_jobs_add_default(&l->jobs, e);
	while (rc == 0 && (dir = rama_cli_opts_next(&l->o, RAMA_TAB_OPT_live_dir, &at)) != NULL)
		rc = rama_launch_jobs_add_dir(&l->jobs, dir, e);
	return rc;
}

static void walk(struct live *l)
{
	for (size_t i = 0; i < l->jobs.n; i++) {
		const struct rama_launch_job *j = &l->jobs.job[i];

		for (size_t k = 0; k < j->infos.n; k++)
			if (rama_launch_switch_runs(&j->infos.info[k]) &&
			    is_asked(l, j, &j->infos.info[k]))
				take(l, j, &j->infos.info[k]);
	}
	for (size_t i = 0; i < l->n_asked; i++) {
		if (l->met == NULL || l->met[i])
			continue;
		rama_cli_complain("live",
				  "%s: no observed process or job of this name or number runs here",
				  l->asked[i]);
		worse(l, 3);
	}
}

static void print(struct live *l)
{
	if (l->as_json)
		rama_json_open(&l->json, '[');
	walk(l);
	if (l->as_json) {
		rama_json_close(&l->json, ']');
		rama_out_char(&l->out, '\n');
	} else if (l->shown == 0 && l->n_asked == 0 && !l->quiet) {
		rama_out_text(&l->out, "nothing is observed now\n");
	}
	if (rama_out_flush(&l->out) != 0 || fflush(stdout) != 0)
		worse(l, 4);
}

int rama_cli_cmd_live(int argc, char **argv)
{
	struct live l = { 0 };
	struct rama_err e = { 0 };
	int rc;

	parse(&l, argc, argv);
	rama_out_init(&l.out, rama_cli_to_file, stdout);
	rama_json_init(&l.json, &l.out);
	rc = l.met == NULL ? rama_err_no_memory(&e) : find(&l, &e);
	if (rc == 0) {
		print(&l);
	} else {
		rama_cli_complain("live", "%s", e.text);
		worse(&l, rama_err_status(rc));
	}
	rama_out_fini(&l.out);
	rama_launch_jobs_fini(&l.jobs);
	free(l.met);
	rama_cli_opts_fini(&l.o);
	return l.status;
}
