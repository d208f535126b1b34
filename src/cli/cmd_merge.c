/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_merge.c: iorama merge */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/output.h"
#include "logfile/merge.h"

#define SPARE_FILES 64 /* descriptors for all else */

/* can this many logs be open at once? */
static bool allowed(size_t n)
{
	struct rlimit r;

	return getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur >= n + SPARE_FILES;
}

static void show_progress(const struct rama_log_merge_input *in, const struct rama_log_cursor *c)
{
	rama_cli_progress(in->user, c);
}

static int open_all(struct rama_cli_input *in, struct rama_log_merge *m,
		    const struct rama_cli_opts *o)
{
	bool strict = rama_cli_opts_has(o, RAMA_TAB_OPT_merge_strict),
	     quiet = rama_cli_opts_has(o, RAMA_TAB_OPT_merge_quiet), park = !allowed(o->n_args);

	for (size_t i = 0; i < o->n_args; i++) {
		int status = rama_cli_input_open(&in[i], o->args[i], strict, quiet);

		if (status != 0)
			return status;
		if (park && strcmp(o->args[i], "-") != 0)
			rama_file_park(&in[i].file, o->args[i]);
		m->in[m->n_in++] = (struct rama_log_merge_input){ .log = &in[i].log,
								  .path = in[i].path,
								  .user = &in[i] };
		if (in[i].log.job.jobid != in[0].log.job.jobid &&
		    !rama_cli_opts_has(o, RAMA_TAB_OPT_merge_anyjob)) {
			rama_cli_complain(
				in[i].path,
				"is of job %lld, %s of job %lld; --any-job joins them all the same",
				(long long)in[i].log.job.jobid, in[0].path,
				(long long)in[0].log.job.jobid);
			return 3;
		}
	}
	return 0;
}

static int merge(struct rama_log_merge *m, struct rama_cli_output *out,
		 const struct rama_cli_opts *o)
{
	static const struct rama_cli_output_options opt = { RAMA_TAB_OPT_merge_output,
							    RAMA_TAB_OPT_merge_compression,
							    RAMA_TAB_OPTIONS,
							    RAMA_TAB_OPT_merge_force };
	struct rama_err e = { 0 };
	uint64_t partial;
	int status = rama_cli_output_open(out, o, &opt);

	if (status != 0)
		return status;
	if (rama_log_merge_plan(m, &e) != 0) {
		rama_cli_complain("merge", "%s", e.text);
		return rama_err_status(e.code);
	}
	status = rama_cli_output_notes(&m->job, o, RAMA_TAB_OPT_merge_note);
	if (status != 0)
		return status;
	if (rama_log_merge_write(m, &out->writer, &partial, &e) != 0) {
		rama_cli_complain(out->writer.err.code != 0 ? out->path : "merge", "%s", e.text);
		return rama_err_status(e.code);
	}
	return rama_cli_output_finish(out, partial);
}

int rama_cli_cmd_merge(int argc, char **argv)
{
	struct rama_log_merge m = { 0 };
	struct rama_cli_output out = { .file = { .fd = -1 } };
	struct rama_cli_input *in;
	struct rama_cli_opts o;
	int status;

	rama_cli_opts_parse(&o, RAMA_TAB_CMD_merge, argc, argv);
	if (o.n_args == 0)
		rama_cli_opts_usage(&o, "no logs given");
	in = calloc(o.n_args, sizeof(*in));
	m.in = calloc(o.n_args, sizeof(*m.in));
	if (in == NULL || m.in == NULL) {
		rama_cli_complain("merge", "out of memory");
		return 4;
	}
	m.renumber = rama_cli_opts_has(&o, RAMA_TAB_OPT_merge_renumber);
	m.progress = show_progress;
	rama_cli_progress_start(!rama_cli_opts_has(&o, RAMA_TAB_OPT_merge_quiet));
	m.reduce = !rama_cli_opts_has(&o, RAMA_TAB_OPT_merge_reduce);
	status = open_all(in, &m, &o);
	if (status == 0)
		status = merge(&m, &out, &o);
	for (size_t i = 0; i < m.n_in; i++) {
		if (status == 0)
			status = rama_cli_input_status(&in[i]);
		rama_cli_input_close(&in[i]);
	}
	rama_cli_output_close(&out);
	free(in);
	free(m.in);
	rama_cli_opts_fini(&o);
	return status;
}
