/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/input.h"

static int write_file(void *ctx, uint64_t off, const void *bytes, size_t n, struct rama_err *e)
{
	return rama_newfile_write(ctx, off, bytes, n, e);
}

static uint8_t compression_of(const struct rama_cli_opts *o, const char *name)
{
	if (name == NULL || strcmp(name, "zlib") == 0)
		return RAMA_LOG_ZLIB;
	if (strcmp(name, "bzip2") == 0)
		return RAMA_LOG_BZIP2;
	if (strcmp(name, "none") != 0)
		rama_cli_opts_usage(o, "no compression is called '%s'; zlib, bzip2 and none are",
				    name);
	return RAMA_LOG_PLAIN_BYTES;
}

static int level_of(const struct rama_cli_opts *o, const char *text)
{
	char *end;
	long level = text != NULL ? strtol(text, &end, 10) : 6;

	if (text != NULL && (*text == '\0' || *end != '\0' || level < 1 || level > 12))
		rama_cli_opts_usage(o, "the level is a number from 1 to 12, not '%s'", text);
	return (int)level;
}

int rama_cli_output_open(struct rama_cli_output *out, const struct rama_cli_opts *o,
			 const struct rama_cli_output_options *opt)
{
	struct rama_log_sink sink = { .write = write_file, .ctx = &out->file };
	struct rama_err e = { 0 };
	struct stat st;
	uint8_t kind = compression_of(o, rama_cli_opts_value(o, opt->compression));
	int level = level_of(o, opt->level != RAMA_TAB_OPTIONS ? rama_cli_opts_value(o, opt->level)
							       : NULL);

	*out = (struct rama_cli_output){ .path = rama_cli_opts_value(o, opt->output),
					 .file = { .fd = -1 } };
	if (out->path == NULL)
		rama_cli_opts_usage(o, "where to? -o NEW is missing");
	if (strcmp(out->path, "-") == 0 && isatty(STDOUT_FILENO))
		rama_cli_opts_usage(o, "a log is not for a terminal; redirect standard output");
	if (strcmp(out->path, "-") != 0 && stat(out->path, &st) == 0 && S_ISREG(st.st_mode) &&
	    !rama_cli_opts_has(o, opt->force)) {
		rama_cli_complain(out->path, "exists already; -f replaces it");
		return 4;
	}
	if (rama_newfile_open(&out->file, out->path, &e) != 0) {
		rama_cli_complain(out->path, "%s", e.text);
		return 4;
	}
	out->opened = true;
	if (rama_log_writer_init(&out->writer, &sink, kind, level) != 0) {
		rama_cli_complain(out->path, "%s", out->writer.err.text);
		return 4;
	}
	return 0;
}

int rama_cli_output_finish(struct rama_cli_output *out, uint64_t partial)
{
	struct rama_err *e = &out->writer.err;

	if (e->code == 0)
		rama_log_writer_finish(&out->writer, partial);
	if (e->code == 0)
		rama_newfile_commit(&out->file, e);
	if (e->code == RAMA_ESTOPPED) /* nobody reads it any more */
		return rama_err_status(e->code);
	if (e->code != 0) {
		rama_cli_complain(strcmp(out->path, "-") == 0 ? "standard output" : out->path, "%s",
				  e->text);
		return rama_err_status(e->code);
	}
	return 0;
}

void rama_cli_output_close(struct rama_cli_output *out)
{
	if (!out->opened)
		return;
	rama_log_writer_fini(&out->writer);
	rama_newfile_abort(&out->file);
	out->opened = false;
}

int rama_cli_output_notes(struct rama_log_job *job, const struct rama_cli_opts *o,
			  enum rama_tab_option_id note)
{
	const char *text;

	for (size_t at = 0; (text = rama_cli_opts_next(o, note, &at)) != NULL;) {
		size_t used = strlen(job->metadata), n = strlen(text);

		if (strchr(text, '\n') != NULL)
			rama_cli_opts_usage(o, "a note is one line");
		if (used > 0 && used < RAMA_LOG_META_SIZE - 1 && job->metadata[used - 1] != '\n')
			job->metadata[used++] = '\n';
		if (used + strlen("note=\n") + n >= RAMA_LOG_META_SIZE) {
			rama_cli_complain(
				text, "this note does not fit: a log holds %d bytes of metadata",
				RAMA_LOG_META_SIZE - 1);
			return 2;
		}
		memcpy(stpcpy(job->metadata + used, "note="), text, n);
		memcpy(job->metadata + used + strlen("note=") + n, "\n", 2);
	}
	return 0;
}
