/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h: ways to move data. One struct each; a run names one ("posix", "uring") and, where it
 * matters, how. */
#ifndef RAMA_EMULATE_ENGINE_ENGINE_H
#define RAMA_EMULATE_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
	RAMA_EMU_OPEN_READ = 1,
	RAMA_EMU_OPEN_WRITE = 2,
	RAMA_EMU_OPEN_CREATE = 4,
	RAMA_EMU_OPEN_TRUNCATE = 8
};

struct rama_emu_engine_options {
	unsigned depth;	   /* requests in flight, 1 */
	unsigned vector;   /* pieces of one vectored request, 1 */
	bool collective;   /* all ranks of the file's group call together */
	bool nonblocking;  /* MPI-IO: iread_at, iwrite_at and wait */
	size_t alignment;  /* of buffers and offsets; 0: the engine's own */
	int64_t chunk;	   /* HDF5: bytes of a chunk; 0: none */
	unsigned compress; /* HDF5: level of gzip; 0: none */
	const char *hints; /* "cb_nodes=4;romio_ds_write=disable", or NULL */
	/* MPI communicator of the ranks that share the file (address of it), NULL: this rank
	 * alone */
	void *group;
	/* that the file will have, for engines that must know before (mmap, HDF5, PnetCDF); -1 */
	int64_t size;
};

struct rama_emu_engine;
struct rama_emu_own;
struct rama_emu_handle {
	const struct rama_emu_engine *engine;
	const char *path;
	struct rama_emu_engine_options opt;
	struct rama_emu_own *own; /* whoever opens to write does it through this */
	void *state;
};

/* bytes that are written, or read, at an offset */
struct rama_emu_request {
	char *buf;
	size_t n;
	int64_t off;
	bool write;
	void *tag;  /* comes back with reap */
	bool alone; /* not collective, in a file that is */
};

/* what one open handle moves: requests come in order; an engine with depth > 1 may finish them
 * later, in any order */
struct rama_emu_engine {
	const char *name, *doc;
	bool needs_mpi;
	bool no_files;	/* makes and needs none */
	bool container; /* files have a format of their own: larger than the data in them */
	/* needs aligned buffers, offsets and lengths (a last piece may be cut by truncate) */
	bool direct;
	int (*open)(struct rama_emu_handle *h, int flags, struct rama_err *e);
	/* All n bytes or an error that names path, offset and reason; short transfers are
	 * continued. End of file while reading is an error. With depth > 1 the buffer belongs to
	 * the engine until it is given back by reap. */
	int (*move)(struct rama_emu_handle *h, struct rama_emu_request q, struct rama_err *e);
	/* waits until at most `left` requests are in flight; calls done(ctx, tag, seconds) for
	 * each that ended; NULL: requests are finished when move returns */
	int (*reap)(struct rama_emu_handle *h, unsigned left,
		    void (*done)(void *ctx, void *tag, double seconds), void *ctx,
		    struct rama_err *e);
	int (*sync)(struct rama_emu_handle *h, struct rama_err *e);
	/* the descriptor of an open file, or NULL: the engine has none that others may use */
	int (*fd)(const struct rama_emu_handle *h);
	/* Also after an error: frees all. e NULL: the run has failed, and other ranks may never
	 * come to close it with us. */
	int (*close)(struct rama_emu_handle *h, struct rama_err *e);
};

/* Opens a handle; what is written belongs to the run, or it is an error. in_place: under the
 * name that the file keeps. */
int rama_emu_engine_open(struct rama_emu_handle *h, bool in_place, int flags, struct rama_err *e);

/* engines of this program, by name; NULL: there is none. The worker of an MPI adds its own to
 * those of every program. */
const struct rama_emu_engine *rama_emu_engine_find(const char *name);
const struct rama_emu_engine *rama_emu_engine_at(unsigned i); /* NULL at the end: for lists */
void rama_emu_engine_add(const struct rama_emu_engine *engine);

/* ---- for engines ----------------------------------------------------------------------------- */

extern const struct rama_emu_engine rama_emu_engine_mmap, rama_emu_engine_stdio,
	rama_emu_engine_uring, rama_emu_engine_uring_direct;

/* Opens the file of a handle: to write through what the run owns. -1: errno says why. */
int rama_emu_engine_fd(const struct rama_emu_handle *h, int flags, int more);
/* "PATH: at OFFSET: reason" */
int rama_emu_engine_error(const struct rama_emu_handle *h, const char *what, int64_t off,
			  int number, struct rama_err *e);

#endif
