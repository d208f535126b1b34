/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz.h: what the targets share. Each target is one file fuzz_NAME.c; its first lines say what
 * its input means, its seeds are in corpus/NAME/. A target checks what must hold for any input
 * and stops the program where it does not. */
#ifndef RAMA_FUZZ_H
#define RAMA_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "logfile/cursor.h"
#include "logfile/log.h"
#include "logfile/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void fuzz_fail(const char *what, const char *file, int line) __attribute__((noreturn));
#define CHECK(x) ((x) ? (void)0 : fuzz_fail(#x, __FILE__, __LINE__))

/* memory that grows; also where a log is written to */
struct fuzz_bytes {
	unsigned char *p;
	size_t n, room;
};

void fuzz_bytes_put(struct fuzz_bytes *b, uint64_t off, const void *bytes, size_t n);
void fuzz_bytes_fini(struct fuzz_bytes *b);
struct rama_log_sink fuzz_bytes_sink(struct fuzz_bytes *b);

/* input that is used up from the front; what is not there reads as 0 */
struct fuzz_input {
	const uint8_t *p;
	size_t n;
};

uint8_t fuzz_take_byte(struct fuzz_input *in);
unsigned fuzz_take_u16(struct fuzz_input *in);		      /* little endian */
struct fuzz_input fuzz_take(struct fuzz_input *in, size_t n); /* n bytes, or fewer at the end */

/* An uncompressed log around the parts of one: the decoders are reached without guessing a
 * header. */
struct fuzz_log {
	unsigned minor; /* 0, 10, 20, 21, 41: the format; modules only with 41 */
	bool swap;	/* in the other byte order */
	uint64_t partial;
	int64_t start_sec, nprocs;
	struct fuzz_input job; /* empty: one is made of the numbers above */
	struct fuzz_input names;
	struct fuzz_input part[RAMA_TAB_MODULES];
	uint8_t version[RAMA_TAB_MODULES];
};

void fuzz_log_build(const struct fuzz_log *l, struct fuzz_bytes *to);
/* module, version, length (2 bytes), bytes: any number of times; modules from 128 on go to
 * `second` */
void fuzz_log_parts(struct fuzz_input *in, struct fuzz_log *first, struct fuzz_log *second);

/* the format and byte order that a byte chooses */
void fuzz_log_format(struct fuzz_log *l, uint8_t choice);

/* Reads every record and segment of every module, and every byte of them. 0, or a strict error. */
int fuzz_walk(struct rama_log *log, uint64_t *digest);
/* Opens and walks the log in both ways; a strict reader fails exactly where the other has
 * problems. */
void fuzz_both_ways(const uint8_t *data, size_t size, bool walk);

/* Reads a log that we wrote ourselves: nothing may be wrong with it. Close it, then `src` may
 * go. */
void fuzz_open_own(struct rama_log *log, struct rama_source *src, const struct fuzz_bytes *b);

/* Job and names of a log, written and read back. Close `own`, then the rest may go. */
void fuzz_rewrite(const struct rama_log *log, struct fuzz_bytes *written, struct rama_source *src,
		  struct rama_log *own);

uint64_t fuzz_digest(uint64_t so_far, const void *bytes, size_t n);

#endif
