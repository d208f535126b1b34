/* SPDX-License-Identifier: BSD-3-Clause */
/* run_log.h: where the log of a job goes, and making it from the job's segments. */
#ifndef RAMA_CLI_RUN_LOG_H
#define RAMA_CLI_RUN_LOG_H

#include <limits.h>
#include <stdbool.h>

#include "cli/opts.h"
#include "cli/run/place.h"
#include "cli/run/segs.h"
#include "gather/gather.h"

struct rama_cli_log_place {
	const char *file; /* -o, or NULL */
	const char *dir;  /* --log-dir, IORAMA_LOG_DIR or "." */
	bool force;	  /* replace `file` */
};

/* the options of a command that makes such logs */
struct rama_cli_log_options_of {
	enum rama_tab_option_id output, dir, force;
};

/* Reads and checks the options: asked before any work is done. 0, or the exit status after the
 * reason was printed; wrong usage ends the program. */
int rama_cli_log_place_init(struct rama_cli_log_place *p, const struct rama_cli_opts *o,
			    const struct rama_cli_log_options_of *opt);

/* what the name of a log says of its job */
struct rama_cli_log_about {
	const char *program; /* its path or name */
	int64_t jobid, pid;
	uint64_t start; /* ns since 1970 */
};

/* Gathers the segments into a log whose path is left in `path`; an existing file is left alone, the
 * log gets another name then. Problems are printed. 0 or an error. */
int rama_cli_log_make(const struct rama_cli_log_place *p, const struct rama_gather_list *segs,
		      const struct rama_cli_log_about *about, const struct rama_gather_options *opt,
		      char path[PATH_MAX], struct rama_gather_result *result, struct rama_err *e);

/* shows how far gathering is, on a terminal, if it lasts */
void rama_cli_log_progress(void *ctx, size_t done, size_t of);

/* first word of a command line, without its directory */
void rama_cli_log_program(char *to, size_t size, const char *command);

#endif
