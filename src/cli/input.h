/* SPDX-License-Identifier: BSD-3-Clause */
/* input.h: a log given on the command line: opened, its problems printed, its progress shown. */
#ifndef RAMA_CLI_INPUT_H
#define RAMA_CLI_INPUT_H

#include "base/file.h"
#include "cli/filter.h"
#include "logfile/cursor.h"
#include "logfile/log.h"

struct rama_cli_input {
	const char *path; /* as given; "standard input" for - */
	struct rama_file file;
	struct rama_log log;
	bool opened, quiet;
};

/* 0, or the exit status after the reason was printed */
/* The log that an argument names: itself, or, for "last" where no file is called so, the newest
 * log of the directory in which they are written (IORAMA_LOG_DIR, else here); the program ends
 * where there is none. */
const char *rama_cli_input_named(const char *arg);

int rama_cli_input_open(struct rama_cli_input *in, const char *path, bool strict, bool quiet);
/* the same for a log in memory, which must outlive it; path: what messages call it */
int rama_cli_input_memory(struct rama_cli_input *in, const char *path, const void *bytes, size_t n,
			  bool quiet);
void rama_cli_input_close(struct rama_cli_input *in);
/* exit status for what was read so far: 3 if anything could not be */
int rama_cli_input_status(const struct rama_cli_input *in);

/* "iorama: PATH: text" on standard error */
void rama_cli_complain(const char *path, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* for rama_out_init(): ctx is a FILE. What cannot be written to standard output is seen in the end
 * (main.c). */
int rama_cli_to_file(void *ctx, const char *bytes, size_t n);

/* Shows how far a long walk is, if standard error is a terminal, after the first second (or what
 * IORAMA_PROGRESS says). `wanted`: asked once, before the walk. */
void rama_cli_progress_start(bool wanted);
void rama_cli_progress(const struct rama_cli_input *in, const struct rama_log_cursor *c);
void rama_cli_progress_share(const char *path, double done); /* 0..1 */
void rama_cli_progress_end(void);

#endif
