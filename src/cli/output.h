/* SPDX-License-Identifier: BSD-3-Clause */
/* output.h: the new log of `convert` and `merge`. */
#ifndef RAMA_CLI_OUTPUT_H
#define RAMA_CLI_OUTPUT_H

#include "base/file.h"
#include "cli/opts.h"
#include "logfile/writer.h"

struct rama_cli_output {
	const char *path;
	struct rama_newfile file;
	struct rama_log_writer writer;
	bool opened;
};

/* the options of a command that writes a log; RAMA_TAB_OPTIONS: it has no such option */
struct rama_cli_output_options {
	enum rama_tab_option_id output, compression, level, force;
};

/* Wrong usage ends the program; 0, or the exit status after the reason was printed. */
int rama_cli_output_open(struct rama_cli_output *out, const struct rama_cli_opts *o,
			 const struct rama_cli_output_options *opt);
/* header, fsync, rename; 0 or the exit status */
int rama_cli_output_finish(struct rama_cli_output *out, uint64_t partial);
/* nothing stays behind unless it was finished */
void rama_cli_output_close(struct rama_cli_output *out);

/* adds note=TEXT lines to a job's metadata; 0 or 2 when they do not fit */
int rama_cli_output_notes(struct rama_log_job *job, const struct rama_cli_opts *o,
			  enum rama_tab_option_id note);

#endif
