/* SPDX-License-Identifier: BSD-3-Clause */
/* file.h: files as sources, and output files that are there complete or not at all. */
#ifndef RAMA_BASE_FILE_H
#define RAMA_BASE_FILE_H

#include <stdbool.h>

#include "base/source.h"

struct rama_file {
	int fd;
	const char *path;	/* of a parked file */
	struct rama_source src; /* its ctx is this struct, which must not move */
};

/* "-" is standard input; a pipe is read to its end into a file without a name. */
int rama_file_open(struct rama_file *f, const char *path, struct rama_err *e);
void rama_file_close(struct rama_file *f);
/* Gives the descriptor back; each read opens the file again. For more files than there are
 * descriptors. `path` must stay; standard input cannot be parked. */
void rama_file_park(struct rama_file *f, const char *path);

/* An output file is written under another name beside its place and renamed when complete. */
struct rama_newfile {
	int fd;
	char *path, *temp;
	bool copy; /* the place is a pipe or device: it gets the whole at commit */
};

/* "-": standard output gets the whole file at commit */
int rama_newfile_open(struct rama_newfile *f, const char *path, struct rama_err *e);
int rama_newfile_write(struct rama_newfile *f, uint64_t off, const void *buf, size_t n,
		       struct rama_err *e);
int rama_newfile_commit(struct rama_newfile *f,
			struct rama_err *e);	 /* fsync, rename; closes on success */
void rama_newfile_abort(struct rama_newfile *f); /* no trace is left; harmless after commit */

/* all n bytes to a descriptor; RAMA_ESTOPPED if nobody reads them any more */
int rama_fd_write(int fd, const void *buf, size_t n);
/* the same to standard output, for rama_out_init(); who prints with stdio too flushes that first */
int rama_file_to_stdout(void *ctx, const char *bytes, size_t n);

#endif
