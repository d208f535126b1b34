/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_show.c: iorama show */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/filter.h"
#include "cli/input.h"
#include "report/show/show.h"

static void print_problem(void *ctx, const char *line)
{
	const struct rama_cli_input *in = ctx;

	rama_cli_complain(in->path, "%s", line);
}

static void print_lines(void *ctx, const char *lines)
{
	(void)ctx;
	fputs(lines, stderr);
}

static void print_progress(void *ctx, const struct rama_log_cursor *c)
{
	rama_cli_progress(ctx, c);
}

struct place {
	int fd;
	int reason; /* errno of what failed first */
};

static int write_to(void *ctx, const char *bytes, size_t n)
{
	struct place *to = ctx;
	int rc = rama_fd_write(to->fd, bytes, n);

	if (rc != 0 && to->reason == 0)
		to->reason = errno;
	return rc;
}

/* is this the name of a Darshan log? decides what `--file NAME` means */
static bool is_log(const char *path)
{
	unsigned char h[16];
	int64_t magic;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool ok = fd >= 0 && pread(fd, h, sizeof(h), 0) == (ssize_t)sizeof(h);

	if (fd >= 0)
		close(fd);
	memcpy(&magic, h + 8, ok ? sizeof(magic) : 0);
	return ok && (magic == RAMA_LOG_MAGIC ||
		      (int64_t)__builtin_bswap64((uint64_t)magic) == RAMA_LOG_MAGIC);
}

/* darshan-parser's --file takes no value, our filter of the same name does: `--file GLOB LOG` has a
 * word after it that is no log, and another one after that. */
static void join_file_globs(int *argc, char **argv, char **made)
{
	for (int i = 1; i + 2 < *argc; i++) {
		char *joined;

		if (strcmp(argv[i], "--file") != 0 || argv[i + 1][0] == '-' || is_log(argv[i + 1]))
			continue;
		if (asprintf(&joined, "--file=%s", argv[i + 1]) < 0)
			return;
		*made++ = joined;
		argv[i] = joined;
		memmove(&argv[i + 1], &argv[i + 2], (size_t)(*argc - i - 1) * sizeof(argv[0]));
		--*argc;
	}
}

static void read_options(struct rama_report_show *s, const struct rama_cli_opts *o)
{
	bool all = rama_cli_opts_has(o, RAMA_TAB_OPT_show_all);

	rama_cli_filter_modules(&s->filter, o, RAMA_TAB_OPT_show_module);
	rama_cli_filter_ranks(&s->filter, o, RAMA_TAB_OPT_show_rank);
	rama_cli_filter_files(&s->filter, o, RAMA_TAB_OPT_show_file);
	rama_cli_filter_counters(&s->filter, o, RAMA_TAB_OPT_show_counter);
	s->base = all || rama_cli_opts_has(o, RAMA_TAB_OPT_show_base);
	s->total = all || rama_cli_opts_has(o, RAMA_TAB_OPT_show_total);
	s->perf = all || rama_cli_opts_has(o, RAMA_TAB_OPT_show_perf);
	s->file = all;
	for (size_t i = 0; i < o->n_given; i++)
		if (o->given[i].option == RAMA_TAB_OPT_show_file && o->given[i].value == NULL)
			s->file = true;
	if (!s->base && !s->total && !s->perf && !s->file)
		s->base = true;
	s->incomplete = all || rama_cli_opts_has(o, RAMA_TAB_OPT_show_incomplete);
	s->dxt = rama_cli_opts_has(o, RAMA_TAB_OPT_show_dxt);
	s->threads = rama_cli_opts_has(o, RAMA_TAB_OPT_show_threads);
	if (o->n_args == 0)
		rama_cli_opts_usage(o, "no log given");
	if (rama_cli_opts_has(o, RAMA_TAB_OPT_show_json) &&
	    rama_cli_opts_has(o, RAMA_TAB_OPT_show_csv))
		rama_cli_opts_usage(o, "--json and --csv exclude each other");
}

/* --strict promises that nothing of a damaged log is printed: read it once before */
static int check_whole(struct rama_cli_input *in)
{
	for (unsigned i = 0; i < RAMA_TAB_MODULES; i++) {
		struct rama_log_cursor c;
		struct rama_core_record *r;
		int rc = rama_log_cursor_open(&c, &in->log, i);

		while (rc > 0)
			rc = rama_log_cursor_next(&c, &r);
		rama_log_cursor_close(&c);
		if (rc < 0) {
			rama_cli_complain(in->path, "%s", in->log.err.text);
			return rama_err_status(rc);
		}
	}
	return 0;
}

static void name_unknown(struct rama_log *log)
{
	for (unsigned i = 0; i < log->annex.n; i++)
		if (!rama_log_section_known(log, &log->annex.section[i]))
			rama_log_note_section(log, &log->annex.section[i], "not shown");
}

/* *printed: the log could be opened, and is in the output */
static int show_one(struct rama_report_show *s, const struct rama_cli_opts *o, const char *path,
		    bool *printed)
{
	bool strict = rama_cli_opts_has(o, RAMA_TAB_OPT_show_strict);
	struct rama_cli_input in;
	int status = rama_cli_input_open(&in, rama_cli_input_named(path), strict,
					 rama_cli_opts_has(o, RAMA_TAB_OPT_show_quiet)),
	    damage;

	if (status != 0)
		return status;
	if (rama_cli_opts_has(o, RAMA_TAB_OPT_show_verbose))
		name_unknown(&in.log);
	if (strict)
		status = check_whole(&in);
	*printed = status == 0;
	if (status == 0) {
		s->log = &in.log;
		s->path = in.path;
		s->ctx = &in;
		if (rama_cli_opts_has(o, RAMA_TAB_OPT_show_json))
			status = rama_report_show_json(s);
		else if (rama_cli_opts_has(o, RAMA_TAB_OPT_show_csv))
			status = rama_report_show_csv(s);
		else if (s->dxt)
			status = rama_report_show_dxt(s);
		else
			status = rama_report_show_text(s);
		status = status < 0 ? rama_err_status(status) : 0;
	}
	damage = rama_cli_input_status(&in);
	rama_cli_input_close(&in);
	return status != 0 ? status : damage;
}

static int show_all(struct rama_report_show *s, const struct rama_cli_opts *o)
{
	bool json = rama_cli_opts_has(o, RAMA_TAB_OPT_show_json),
	     csv = rama_cli_opts_has(o, RAMA_TAB_OPT_show_csv);
	int status = 0;

	if (json)
		rama_out_text(s->out, "{\"schema\":\"iorama.log/1\",\"logs\":[");
	if (csv)
		rama_out_text(s->out, s->dxt ? "log,module,rank,id,host,operation,segment,offset,"
					       "length,start,end,thread,name\n"
					     : "log,module,rank,id,counter,value,name,mount,fs\n");
	for (size_t i = 0; i < o->n_args && s->out->error == 0; i++) {
		bool printed = false;
		int one;

		if (json && i > 0)
			rama_out_char(s->out, ',');
		else if (o->n_args > 1 && !json && !csv)
			rama_out_fmt(s->out, "%s# log file: %s\n", i > 0 ? "\n" : "", o->args[i]);
		one = show_one(s, o, o->args[i], &printed);
		if (json && !printed) /* keeps its place in the list */
			rama_out_text(s->out, "null");
		status = one > status ? one : status;
	}
	if (json)
		rama_out_text(s->out, "]}\n");
	return status;
}

/* the rest of the output; 0 or the exit status after the reason was printed */
static int finish_output(struct rama_out *out, struct place *to, struct rama_newfile *file,
			 const char *path)
{
	const char *name = path != NULL && strcmp(path, "-") != 0 ? path : "standard output";
	struct rama_err e = { 0 };

	if (rama_out_flush(out) == RAMA_ESTOPPED)
		return 0; /* `| head` has seen enough */
	if (out->error == RAMA_EIO)
		rama_cli_complain(name, "cannot be written: %s", strerror(to->reason));
	else if (out->error != 0)
		rama_cli_complain(name, "%s", rama_err_text(out->error));
	else if (file->fd >= 0 && rama_newfile_commit(file, &e) != 0 && e.code != RAMA_ESTOPPED)
		rama_cli_complain(name, "%s", e.text);
	return out->error != 0 || e.code != 0 ? 4 : 0;
}

int rama_cli_cmd_show(int argc, char **argv)
{
	struct rama_report_show s = { .problem = print_problem,
				      .say = print_lines,
				      .progress = print_progress };
	struct rama_newfile file = { .fd = -1 };
	struct place to = { .fd = STDOUT_FILENO };
	struct rama_err e = { 0 };
	struct rama_cli_opts o;
	struct rama_out out;
	char **made = calloc((size_t)argc + 1, sizeof(*made));
	const char *path;
	int status = 0, trouble;

	if (made != NULL)
		join_file_globs(&argc, argv, made);
	rama_cli_opts_parse(&o, RAMA_TAB_CMD_show, argc, argv);
	read_options(&s, &o);
	path = rama_cli_opts_value(&o, RAMA_TAB_OPT_show_output);
	if (path != NULL && strcmp(path, "-") != 0 && rama_newfile_open(&file, path, &e) != 0) {
		rama_cli_complain(path, "%s", e.text);
		status = 4;
	}
	to.fd = file.fd >= 0 ? file.fd : to.fd;
	rama_cli_progress_start(!rama_cli_opts_has(&o, RAMA_TAB_OPT_show_quiet) && !isatty(to.fd));
	rama_out_init(&out, write_to, &to);
	s.out = &out;
	if (status == 0)
		status = show_all(&s, &o);
	rama_cli_progress_end();
	trouble = finish_output(&out, &to, &file, path);
	rama_newfile_abort(&file);
	rama_out_fini(&out);
	rama_cli_opts_fini(&o);
	for (char **p = made; p != NULL && *p != NULL; p++)
		free(*p);
	free(made);
	return trouble != 0 ? trouble : status;
}
