/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_convert.c: iorama convert */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/output.h"
#include "logfile/anon.h"

struct conversion {
	const struct rama_cli_opts *o;
	struct rama_report_filter filter;
	struct rama_cli_input in;
	struct rama_cli_output out;
	struct rama_log_anon anon;
	bool hide, filtered, released;
	struct rama_map used; /* ids that kept records name; only when some are left out */
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
	c->released = rama_cli_opts_has(c->o, RAMA_TAB_OPT_convert_released);
	c->filtered = c->filter.modules != 0 || c->filter.n_ranks > 0 || c->filter.n_files > 0;
	if (c->o->n_args != 1)
		rama_cli_opts_usage(c->o,
				    c->o->n_args == 0
					    ? "no log given"
					    : "one log at a time; `iorama merge` joins several");
}

/* ---- doing it -------------------------------------------------------------------------------- */

static bool keep(const struct conversion *c, const struct rama_core_record *r)
{
	const struct rama_log_name *n = rama_log_name_get(&c->in.log, r->w[RAMA_TAB_ID].u);

	if (r->schema == r->mod->header)
		return true;
	return rama_report_filter_record(&c->filter, r, n != NULL ? n->text : NULL);
}

static int copy_segments(struct conversion *c, struct rama_log_cursor *cur)
{
	union rama_core_word seg[512][RAMA_TAB_SEG_WORDS];
	unsigned kind;
	int n;

	while ((n = rama_log_cursor_segments(cur, seg, 512, &kind)) > 0) {
		if (rama_log_writer_segments(&c->out.writer, seg, (size_t)n) != 0)
			return c->out.writer.err.code;
		rama_cli_progress(&c->in, cur);
	}
	return n;
}

static int copy_module(struct conversion *c, const struct rama_tab_module *mod)
{
	bool threads = rama_log_has_threads(&c->in.log, mod->id),
	     released = c->released || !threads;
	struct rama_log_short_trace cut = { 0 };
	struct rama_log_cursor cur;
	struct rama_core_record *r;
	int rc = mod->flags & RAMA_TAB_TRACE ? rama_log_short_trace_find(&cut, &c->in.log, mod->id)
					     : 0;

	if (rc < 0)
		return rc;
	rc = rama_log_cursor_open(&cur, &c->in.log, mod->id);
	if (rc >= 0 && rama_log_writer_module(&c->out.writer, mod->id,
					      released ? mod->released : mod->newest) != 0)
		rc = c->out.writer.err.code;
	while (rc > 0 && (rc = rama_log_cursor_next(&cur, &r)) > 0) {
		if (!keep(c, r))
			continue;
		rama_log_short_trace_apply(&cut, &cur, r);
		if (c->hide)
			rama_log_anon_record(&c->anon, r);
		if (rama_log_writer_record(&c->out.writer, r) != 0)
			rc = c->out.writer.err.code;
		else if ((mod->flags & RAMA_TAB_TRACE) && copy_segments(c, &cur) < 0)
			rc = c->in.log.err.code != 0 ? c->in.log.err.code : c->out.writer.err.code;
		rama_cli_progress(&c->in, &cur);
	}
	rama_log_cursor_close(&cur);
	if (rc == 0 && threads && released && !c->in.quiet)
		rama_cli_complain(c->in.path, "%s: thread ids are dropped", mod->name);
	return rc;
}

/* A module that only the annex has room for. */
static int copy_ours(struct conversion *c, const struct rama_tab_module *mod)
{
	if (!c->released)
		return copy_module(c, mod);
	if (!c->in.quiet)
		rama_cli_complain(c->in.path,
				  "%s is dropped: the released Darshan does not know it",
				  mod->name);
	return 0;
}

static int copy_section(struct conversion *c, const struct rama_log_section *s)
{
	struct rama_log *log = &c->in.log;
	unsigned char buf[8192];
	struct rama_log_region r;
	size_t n;
	int rc = rama_log_region_open(&r, log->src, s->off, s->len, log->compression);

	if (rc == 0)
		rc = rama_log_writer_section(&c->out.writer, s);
	while (rc == 0 && (n = rama_log_region_read(&r, buf, sizeof(buf))) > 0)
		rc = rama_log_writer_bytes(&c->out.writer, buf, n);
	if (rc == 0 && r.err.code != 0)
		rc = rama_log_problem(log, r.err.code, "section %u of the annex: %s", s->id,
				      r.err.text);
	rama_log_region_close(&r);
	return rc;
}

/* Sections that nobody here knows: as they are, if nothing else changes and nothing is to be
 * hidden. Numbers in them cannot be found, so that those of the other byte order stay behind. */
static int copy_unknown(struct conversion *c)
{
	struct rama_log *log = &c->in.log;
	bool stay = c->hide || c->filtered || c->released || log->swap;
	int rc = 0;

	for (unsigned i = 0; i < log->annex.n && rc == 0; i++) {
		const struct rama_log_section *s = &log->annex.section[i];

		if (rama_log_section_known(log, s) || rama_log_writer_has(&c->out.writer, s->id))
			continue;
		if (stay)
			rama_log_note_section(log, s, "left out");
		else
			rc = copy_section(c, s);
	}
	return rc;
}

static int note_used(struct conversion *c, uint64_t id)
{
	return rama_map_put(&c->used, id, NULL) != NULL ? 0 : RAMA_EMEMORY;
}

/* Names come before records in the file, so those that are needed have to be found first. */
static int find_used(struct conversion *c)
{
	struct rama_log_hush before = rama_log_set_hush(&c->in.log);
	int rc = 0;

	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN && rc == 0; id++) {
		struct rama_log_cursor cur;
		struct rama_core_record *r;

		if (!rama_report_filter_module(&c->filter, id))
			continue;
		rc = rama_log_cursor_open(&cur, &c->in.log, id);
		while (rc > 0 && (rc = rama_log_cursor_next(&cur, &r)) > 0) {
			if (!keep(c, r))
				continue;
			rc = note_used(c, r->w[RAMA_TAB_ID].u);
			for (unsigned i = 0; rc == 0 && i < *r->schema->n_fields; i++)
				if (r->schema->fields[i].place == RAMA_TAB_LAST)
					rc = note_used(c, r->w[r->schema->fields[i].word].u);
			if (rc == 0 && id == RAMA_TAB_MOD_POSIX)
				rc = note_used(c, r->w[RAMA_TAB_POSIX_RENAMED_FROM].u);
			if (rc == 0)
				rc = 1;
		}
		rama_log_cursor_close(&cur);
	}
	rama_log_unhush(&c->in.log, before);
	return rc;
}

static int copy_names(struct conversion *c)
{
	char to[RAMA_LOG_ANON_NAME];

	for (size_t i = 0; i < c->in.log.n_names; i++) {
		const struct rama_log_name *n = &c->in.log.names[i];

		if (c->filtered && rama_map_get(&c->used, n->id) == NULL)
			continue;
		if (c->hide)
			rama_log_writer_name(&c->out.writer, rama_log_anon_id(&c->anon, n->id), to,
					     rama_log_anon_name(&c->anon, n->text, to));
		else
			rama_log_writer_name(&c->out.writer, n->id, n->text, n->len);
	}
	return c->out.writer.err.code;
}

static int copy_job(struct conversion *c)
{
	struct rama_log_job job = c->in.log.job;
	char exe[64];

	/* Old formats count a started second as a whole one; the new one has nanoseconds. This
	 * keeps both the end in seconds and, to a nanosecond, the run time. */
	if (c->in.log.minor < 41)
		job.end_nsec = 999999999;
	if (c->hide)
		rama_log_anon_job(&c->anon, &job, exe);
	if (rama_cli_output_notes(&job, c->o, RAMA_TAB_OPT_convert_note) != 0)
		return RAMA_EUSAGE;
	return rama_log_writer_job(&c->out.writer, &job, c->in.log.mounts, c->in.log.n_mounts);
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
	uint64_t partial = 0;
	int rc = c->filtered ? find_used(c) : 0;

	if (rc == 0)
		rc = copy_job(c);
	if (rc == 0)
		rc = copy_names(c);
	for (unsigned id = 0; id < RAMA_TAB_MODULES && rc == 0; id++) {
		const struct rama_tab_module *mod = rama_tab_module_get(id);
		const struct rama_log_part *part = &c->in.log.part[id];

		if (!rama_report_filter_module(&c->filter, id))
			continue;
		if (mod == NULL && part->len > 0)
			rama_log_note_unknown(&c->in.log, id);
		else if (mod != NULL && part->version > 0)
			rc = id < RAMA_TAB_OURS ? copy_module(c, mod) : copy_ours(c, mod);
		partial |= mod != NULL ? c->in.log.partial & 1ull << id : 0;
	}
	if (rc == 0)
		rc = copy_unknown(c);
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
	rama_map_fini(&c.used);
	rama_cli_opts_fini(&o);
	return status;
}
