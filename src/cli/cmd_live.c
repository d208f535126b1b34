/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_live.c: iorama live: the words in the segments of running processes that switch their live
 * events and traces. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/run/jobs.h"
#include "config/settings.h"
#include "segment/ring.h"
#include "table/layers.h"

enum { LIST = 64 }; /* bytes for words of layers */

struct live {
	struct rama_cli_opts o;
	struct rama_cli_jobs jobs;
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

/* one process, as it was before */
struct process {
	const struct rama_cli_job_left *job;
	const struct rama_cli_seg_info *info;
	struct rama_seg_switch was, now;
	uint32_t reader;
	uint64_t made, dropped, waiting;
};

static int to_stdout(void *ctx, const char *bytes, size_t n)
{
	(void)ctx;
	return fwrite(bytes, 1, n, stdout) == n ? 0 : RAMA_EIO;
}

static void worse(struct live *l, int status)
{
	if (status > l->status)
		l->status = status;
}

/* "POSIX,STDIO", "all" or "off" */
static const char *words_of(char to[LIST], uint32_t layers)
{
	uint32_t all = (1u << RAMA_TAB_LAYER_ROWS) - 1;
	size_t used = 0;

	if ((layers & all) == 0)
		return "off";
	if ((layers & all) == all)
		return "all";
	to[0] = '\0';
	for (unsigned i = 0; i < RAMA_TAB_LAYER_ROWS; i++)
		if (layers >> i & 1)
			used += (size_t)snprintf(to + used, LIST - used, "%s%s",
						 used > 0 ? "," : "", rama_tab_event_layer[i].word);
	return to;
}

/* ---- which processes ------------------------------------------------------------------------- */

static bool is_named(const char *asked, const struct rama_cli_job_left *j,
		     const struct rama_cli_seg_info *info)
{
	char number[24];

	if (j->name != NULL && strcmp(asked, j->name) == 0)
		return true;
	snprintf(number, sizeof(number), "%lld", (long long)info->pid);
	if (strcmp(asked, number) == 0)
		return true;
	snprintf(number, sizeof(number), "%lld", (long long)info->jobid);
	return strcmp(asked, number) == 0;
}

static bool is_asked(struct live *l, const struct rama_cli_job_left *j,
		     const struct rama_cli_seg_info *info)
{
	bool is = l->n_asked == 0;

	for (size_t i = 0; i < l->n_asked; i++) {
		bool named = is_named(l->asked[i], j, info);

		if (l->met != NULL)
			l->met[i] |= named;
		is |= named;
	}
	return is;
}

/* Programs that another took the place of are past; a process that cannot be told from here may
 * run on another host. */
static bool runs(const struct rama_cli_seg_info *info)
{
	return !info->bad && info->alive > 0 && info->phase != RAMA_SEG_REPLACED;
}

/* ---- one process ----------------------------------------------------------------------------- */

static uint32_t owner(void)
{
	return geteuid() == 0 ? UINT32_MAX : (uint32_t)geteuid();
}

static int look(struct process *p, struct rama_err *e)
{
	struct rama_seg_mapped *m = malloc(sizeof(*m));
	int rc;

	if (m == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "out of memory");
	rc = rama_seg_mapped_open(m, p->info->path, owner(), false, e);

	if (rc == 0) {
		p->was = (struct rama_seg_switch){ .live = m->seg.control.live,
						   .trace = m->seg.control.trace };
		p->now = p->was;
		p->reader = m->seg.control.reader;
		for (uint32_t i = 0; i < rama_seg_lanes(&m->seg); i++) {
			struct rama_seg_ring_state st;

			rama_seg_ring_state(m, i, &st);
			p->made += st.made;
			p->dropped += st.dropped;
			p->waiting += st.made - st.taken;
		}
		rama_seg_mapped_close(m);
	}
	free(m);
	return rc;
}

static uint32_t changed(const struct live *l, uint32_t was, uint32_t layers)
{
	return l->on ? was | layers : was & ~layers;
}

static int change(const struct live *l, struct process *p, struct rama_err *e)
{
	/* reads and writes, which files as such have none of */
	uint32_t traced = 0;

	for (unsigned i = 0; i < RAMA_TAB_LAYER_ROWS; i++)
		traced |= (uint32_t)(rama_tab_event_layer[i].trace != 0) << i;
	p->now.set_live = true;
	p->now.live = changed(l, p->was.live, l->layers);
	if (l->trace) {
		p->now.set_trace = true;
		p->now.trace = changed(l, p->was.trace, l->layers & traced);
	}
	return rama_seg_mapped_switch(p->info->path, owner(), &p->now, NULL, e);
}

static void show_json(struct live *l, const struct process *p)
{
	char text[LIST];

	rama_json_open(&l->json, '{');
	rama_json_key_string(&l->json, "job", p->job->name);
	rama_json_key_i64(&l->json, "jobid", p->info->jobid);
	rama_json_key_i64(&l->json, "pid", p->info->pid);
	rama_json_key_string(&l->json, "live", words_of(text, p->now.live));
	rama_json_key_string(&l->json, "trace", words_of(text, p->now.trace));
	if (l->change) {
		rama_json_key_string(&l->json, "live_before", words_of(text, p->was.live));
		rama_json_key_string(&l->json, "trace_before", words_of(text, p->was.trace));
	}
	rama_json_key_i64(&l->json, "reader", p->reader);
	rama_json_key_i64(&l->json, "made", (int64_t)p->made);
	rama_json_key_i64(&l->json, "dropped", (int64_t)p->dropped);
	rama_json_key_i64(&l->json, "waiting", (int64_t)p->waiting);
	rama_json_key_string(&l->json, "command", p->info->text);
	rama_json_close(&l->json, '}');
}

static void show_text(const struct live *l, const struct process *p)
{
	char live[LIST], trace[LIST], reader[16] = "-";

	if (l->shown == 0)
		printf("%8s  %-20s %-20s %8s %12s %10s  %s\n", "process", "live", "trace", "agent",
		       "events", "dropped", "job, command");
	if (p->reader != 0)
		snprintf(reader, sizeof(reader), "%u", p->reader);
	printf("%8lld  %-20s %-20s %8s %12llu %10llu  %s  %.60s\n", (long long)p->info->pid,
	       words_of(live, p->now.live), words_of(trace, p->now.trace), reader,
	       (unsigned long long)p->made, (unsigned long long)p->dropped,
	       p->job->name != NULL ? p->job->name : "-", p->info->text);
}

static void take(struct live *l, const struct rama_cli_job_left *j,
		 const struct rama_cli_seg_info *info)
{
	struct process p = { .job = j, .info = info };
	struct rama_err e = { 0 };
	int rc = look(&p, &e);

	if (rc == 0 && l->change)
		rc = change(l, &p, &e);
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
		return rama_cli_jobs_add_default(&l->jobs, e);
	while (rc == 0 && (dir = rama_cli_opts_next(&l->o, RAMA_TAB_OPT_live_dir, &at)) != NULL)
		rc = rama_cli_jobs_add_dir(&l->jobs, dir, e);
	return rc;
}

static void walk(struct live *l)
{
	for (size_t i = 0; i < l->jobs.n; i++) {
		const struct rama_cli_job_left *j = &l->jobs.job[i];

		for (size_t k = 0; k < j->infos.n; k++)
			if (runs(&j->infos.info[k]) && is_asked(l, j, &j->infos.info[k]))
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
	rama_out_init(&l.out, to_stdout, NULL);
	rama_json_init(&l.json, &l.out);
	rc = l.met == NULL ? rama_err_set(&e, RAMA_EMEMORY, "out of memory") : find(&l, &e);
	if (rc == 0) {
		print(&l);
	} else {
		rama_cli_complain("live", "%s", e.text);
		worse(&l, rama_err_status(rc));
	}
	rama_out_fini(&l.out);
	rama_cli_jobs_fini(&l.jobs);
	free(l.met);
	rama_cli_opts_fini(&l.o);
	return l.status;
}
