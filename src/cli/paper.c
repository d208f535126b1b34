/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/paper.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/input.h"

static int to_stdout(const struct rama_out *o)
{
	int rc = rama_fd_write(STDOUT_FILENO, o->buf, o->used);

	if (rc == 0 || rc == RAMA_ESTOPPED) /* `| head` has seen enough */
		return 0;
	rama_cli_complain("standard output", "cannot be written: %s", strerror(errno));
	return rama_err_status(rc);
}

int rama_cli_paper_write(struct rama_out *o, const char *path)
{
	struct rama_newfile file;
	struct rama_err e = { 0 };

	if (o->error != 0) {
		rama_cli_complain(path != NULL ? path : "standard output", "%s",
				  rama_err_text(o->error));
		return rama_err_status(o->error);
	}
	if (path == NULL || strcmp(path, "-") == 0)
		return to_stdout(o);
	if (rama_newfile_open(&file, path, &e) == 0) {
		if (rama_newfile_write(&file, 0, o->buf, o->used, &e) == 0)
			rama_newfile_commit(&file, &e);
		rama_newfile_abort(&file);
	}
	if (e.code == 0)
		return 0;
	rama_cli_complain(path, "%s", e.text);
	return rama_err_status(e.code);
}

void rama_cli_figure_file(const struct rama_cli_opts *o, enum rama_tab_option_id output,
			  enum rama_report_file *file)
{
	struct rama_err e = { 0 };
	int rc = rama_report_file_of(rama_cli_opts_value(o, output), file, &e);

	if (rc == RAMA_EUSAGE)
		rama_cli_opts_usage(o, "%s", e.text);
	if (rc == 0)
		return;
	rama_cli_complain("figure", "%s", e.text);
	exit(rama_err_status(rc));
}

/* ---- as it comes ----------------------------------------------------------------------------- */

void rama_cli_stdout_begin(struct rama_out *out)
{
	rama_out_init(out, rama_file_to_stdout, NULL);
}

int rama_cli_stdout_end(struct rama_out *out)
{
	int rc = rama_out_flush(out);

	rama_out_fini(out);
	if (rc == 0 || rc == RAMA_ESTOPPED) /* `| head` has seen enough */
		return 0;
	rama_cli_complain("standard output", "cannot be written: %s",
			  rc == RAMA_EIO ? strerror(errno) : rama_err_text(rc));
	return 4;
}
