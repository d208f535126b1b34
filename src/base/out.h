/* SPDX-License-Identifier: BSD-3-Clause */
/* out.h: a text buffer that hands its bytes on when full. Made for output of hundreds of megabytes:
 * numbers are formatted by hand, exactly as printf would. */
#ifndef RAMA_BASE_OUT_H
#define RAMA_BASE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct rama_out {
	char *buf;
	size_t used, size;
	/* takes all n bytes or returns a negative error; NULL: the buffer grows instead */
	int (*flush)(void *ctx, const char *bytes, size_t n);
	void *ctx;
	int error; /* first error of flush or memory; later text is dropped */
};

void rama_out_init(struct rama_out *o, int (*flush)(void *, const char *, size_t), void *ctx);
int rama_out_flush(struct rama_out *o); /* 0 or the first error */
void rama_out_fini(struct rama_out *o); /* does not flush */

/* room for n more bytes, or NULL after an error; n <= 64 KiB */
char *rama_out_room(struct rama_out *o, size_t n);

void rama_out_bytes(struct rama_out *o, const char *s, size_t n);
void rama_out_text(struct rama_out *o, const char *s);
void rama_out_char(struct rama_out *o, char c);
void rama_out_i64(struct rama_out *o, int64_t v);
void rama_out_u64(struct rama_out *o, uint64_t v);
void rama_out_f64(struct rama_out *o, double v, unsigned decimals); /* as %.<decimals>f, 1..9 */
void rama_out_fmt(struct rama_out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same into memory: write at p, return the end. p has room for 24 (integers) bytes. */
char *rama_put_u64(char *p, uint64_t v);
char *rama_put_i64(char *p, int64_t v);
/* room for RAMA_F64_MAX bytes */
#define RAMA_F64_MAX 340
char *rama_put_f64(char *p, double v, unsigned decimals);

/* right-aligned in `width`, as %*d */
char *rama_put_pad(char *p, const char *text, size_t len, unsigned width);

#endif
