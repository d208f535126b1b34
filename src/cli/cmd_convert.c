/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_convert.c: iorama convert */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/output.h"
#include "logfile/convert.h"

struct conversion {
	const struct rama_cli_opts *o;
	struct rama_report_filter filter;
	struct rama_cli_input in;
	struct rama_cli_output out;
	struct rama_log_anon anon;
	bool hide, filtered;
};

/* ---- what to do ----------------------------------------------------------------------------- */

static int read_key_file(struct conversion *c, const char *path)
{
	char buf[4096];
	FILE *f = fopen(path, "r");
	size_t n = f != NULL ? fread(buf, 1, sizeof(buf), f) : 0;

	if (f != NULL)
		fclose(f);
	while (n > 0 && (buf[n - 1] == '\n' || buf[n - 1] == '\r'))
		n--;
	if (n == 0) {
		rama_cli_complain(path, f == NULL ? "cannot be opened" : "holds no key");
		return 3;
	}
	c->anon.key = rama_sipkey_from(buf, n);
	return 0;
}

static int read_key(struct conversion *c)
{
	const char *file = rama_cli_opts_value(c->o, RAMA_TAB_OPT_convert_keyfile),
		   *text = rama_cli_opts_value(c->o, RAMA_TAB_OPT_convert_key);

	c->hide = rama_cli_opts_has(c->o, RAMA_TAB_OPT_convert_anonymize);
	if (!c->hide) {
		if (file != NULL || text != NULL)
			rama_cli_opts_usage(c->o, "a key is for --anonymize");
		return 0;
	}
	if (file != NULL)
		return read_key_file(c, file);
	if (text == NULL)
		text = rama_cli_opts_setting(RAMA_TAB_SET_KEY);
	if (*text == '\0')
		rama_cli_opts_usage(
			c->o, "--anonymize needs a key: --key-file FILE, --key TEXT or IORAMA_KEY");
	c->anon.key = rama_sipkey_from(text, strlen(text));
	return 0;
}

static void read_options(struct conversion *c)
{
	rama_cli_filter_modules(&c->filter, c->o, RAMA_TAB_OPT_convert_module);
	rama_cli_filter_ranks(&c->filter, c->o, RAMA_TAB_OPT_convert_rank);
	rama_cli_filter_files(&c->filter, c->o, RAMA_TAB_OPT_convert_file);
	c->filtered = c->filter.modules != 0 || c->filter.n_ranks > 0 || c->filter.n_files > 0;
	if (c->o->n_args != 1)
		rama_cli_opts_usage(c->o,
				    c->o->n_args == 0
					    ? "no log given"
					    : "one log at a time; `iorama merge` joins several");
}

/* ---- doing it -------------------------------------------------------------------------------- */

static bool keep(void *ctx, const struct rama_core_record *r, const char *name)
{
	const struct conversion *c = ctx;

	return rama_report_filter_record(&c->filter, r, name);
}

static int add_notes(void *ctx, struct rama_log_job *job)
{
	const struct conversion *c = ctx;

	return rama_cli_output_notes(job, c->o, RAMA_TAB_OPT_convert_note);
}

static void print_note(void *ctx, const char *line)
{
	const struct conversion *c = ctx;

	rama_cli_complain(c->in.path, "%s", line);
}

static void show_progress(void *ctx, const struct rama_log_cursor *cur)
{
	const struct conversion *c = ctx;

	rama_cli_progress(&c->in, cur);
}

/* says what went wrong, and where; the exit status for it */
static int failed(const struct conversion *c, int rc)
{
	if (c->out.writer.err.code != 0)
		rama_cli_complain(c->out.path, "%s", c->out.writer.err.text);
	else if (c->in.log.err.code != 0)
		rama_cli_complain(c->in.path, "%s", c->in.log.err.text);
	else if (rc != RAMA_EUSAGE) /* a note that does not fit was told */
		rama_cli_complain(c->in.path, "%s", rama_err_text(rc));
	return rama_err_status(rc);
}

static int convert(struct conversion *c)
{
	struct rama_log_convert it = {
		.log = &c->in.log,
		.to = &c->out.writer,
		.modules = c->filter.modules,
		.anon = c->hide ? &c->anon : NULL,
		.released = rama_cli_opts_has(c->o, RAMA_TAB_OPT_convert_released),
		.keep = c->filtered ? keep : NULL,
		.edit = add_notes,
		.note = c->in.quiet ? NULL : print_note,
		.progress = show_progress,
		.ctx = c,
	};
	uint64_t partial;
	int rc = rama_log_convert(&it, &partial);

	return rc == 0 ? rama_cli_output_finish(&c->out, partial) : failed(c, rc);
}

int rama_cli_cmd_convert(int argc, char **argv)
{
	static const struct rama_cli_output_options opt = { RAMA_TAB_OPT_convert_output,
							    RAMA_TAB_OPT_convert_compression,
							    RAMA_TAB_OPT_convert_level,
							    RAMA_TAB_OPT_convert_force };
	struct rama_cli_opts o;
	struct conversion c = { .o = &o };
	int status;

	rama_cli_opts_parse(&o, RAMA_TAB_CMD_convert, argc, argv);
	read_options(&c);
	rama_cli_progress_start(!rama_cli_opts_has(&o, RAMA_TAB_OPT_convert_quiet));
	status = read_key(&c);
	if (status == 0)
		status = rama_cli_input_open(&c.in, o.args[0],
					     rama_cli_opts_has(&o, RAMA_TAB_OPT_convert_strict),
					     rama_cli_opts_has(&o, RAMA_TAB_OPT_convert_quiet));
	if (status == 0) {
		c.anon.log = &c.in.log;
		status = rama_cli_output_open(&c.out, &o, &opt);
		if (status == 0)
			status = convert(&c);
		if (status == 0)
			status = rama_cli_input_status(&c.in);
		rama_cli_output_close(&c.out);
	}
	rama_cli_input_close(&c.in);
	rama_cli_opts_fini(&o);
	return status;
}
