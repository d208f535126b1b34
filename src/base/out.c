/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/out.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"

#define CHUNK (256u << 10)

void rama_out_init(struct rama_out *o, int (*flush)(void *, const char *, size_t), void *ctx)
{
	*o = (struct rama_out){ .flush = flush, .ctx = ctx };
}

void rama_out_fini(struct rama_out *o)
{
	free(o->buf);
	o->buf = NULL;
	o->used = o->size = 0;
}

int rama_out_flush(struct rama_out *o)
{
	if (o->error == 0 && o->used > 0 && o->flush != NULL) {
		o->error = o->flush(o->ctx, o->buf, o->used);
		o->used = 0;
	}
	return o->error;
}

static int grow(struct rama_out *o, size_t n)
{
	size_t size = o->size < CHUNK ? CHUNK : o->size;
	char *p;

	if (o->flush != NULL && o->buf != NULL && rama_out_flush(o) != 0)
		return o->error;
	while (size - o->used < n)
		size *= 2;
	if (size == o->size)
		return 0;
	p = realloc(o->buf, size);
	if (p == NULL)
		return o->error = RAMA_EMEMORY;
	o->buf = p;
	o->size = size;
	return 0;
}

char *rama_out_room(struct rama_out *o, size_t n)
{
	if (o->error != 0)
		return NULL;
	if (o->size - o->used < n && grow(o, n) != 0)
		return NULL;
	return o->buf + o->used;
}

void rama_out_bytes(struct rama_out *o, const char *s, size_t n)
{
	while (n > 0) {
		size_t part = n < CHUNK / 4 ? n : CHUNK / 4;
		char *p = rama_out_room(o, part);

		if (p == NULL)
			return;
		memcpy(p, s, part);
		o->used += part;
		s += part;
		n -= part;
	}
}

void rama_out_text(struct rama_out *o, const char *s)
{
	rama_out_bytes(o, s, strlen(s));
}

void rama_out_char(struct rama_out *o, char c)
{
	rama_out_bytes(o, &c, 1);
}

static const char digits[201] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536373839"
	"40414243444546474849505152535455565758596061626364656667686970717273747576777879"
	"8081828384858687888990919293949596979899";

char *rama_put_u64(char *p, uint64_t v)
{
	char tmp[24];
	unsigned n = sizeof(tmp);

	while (v >= 100) {
		n -= 2;
		memcpy(tmp + n, digits + 2 * (v % 100), 2);
		v /= 100;
	}
	if (v >= 10) {
		n -= 2;
		memcpy(tmp + n, digits + 2 * v, 2);
	} else {
		tmp[--n] = (char)('0' + v);
	}
	memcpy(p, tmp + n, sizeof(tmp) - n);
	return p + (sizeof(tmp) - n);
}

char *rama_put_i64(char *p, int64_t v)
{
	if (v >= 0)
		return rama_put_u64(p, (uint64_t)v);
	*p++ = '-';
	return rama_put_u64(p, 0 - (uint64_t)v);
}

__extension__ typedef unsigned __int128 u128;

/* A double below 2^53 is an integer part and m / 2^e, m < 2^53. m * 10^d / 2^e in 128 bits is
 * exact, so rounding half to even here gives the digits of printf. */
char *rama_put_f64(char *p, double v, unsigned decimals)
{
	static const uint32_t ten[] = { 1,	10,	 100,	   1000,      10000,
					100000, 1000000, 10000000, 100000000, 1000000000 };
	uint64_t whole, frac = 0, m;
	double a = fabs(v);
	int e;

	if (!(a < 9007199254740992.0) || decimals < 1 || decimals > 9)
		return p + snprintf(p, RAMA_F64_MAX, "%.*f", (int)decimals, v);
	whole = (uint64_t)a;
	a -= (double)whole;
	memcpy(&m, &a, sizeof(m));
	e = 1075 - (int)(m >> 52);
	/* wrong for 0 and denormals, which the next test leaves out */
	m = (m & ((1ull << 52) - 1)) | 1ull << 52;
	if (e < 127) {
		u128 scaled = (u128)m * ten[decimals];
		u128 rest = scaled & (((u128)1 << e) - 1), half = (u128)1 << (e - 1);

		frac = (uint64_t)(scaled >> e);
		if (rest > half || (rest == half && (frac & 1)))
			frac++;
		if (frac == ten[decimals]) {
			frac = 0;
			whole++;
		}
	}
	if (signbit(v))
		*p++ = '-';
	p = rama_put_u64(p, whole);
	*p++ = '.';
	for (unsigned i = decimals; i > 0; i--) {
		p[i - 1] = (char)('0' + frac % 10);
		frac /= 10;
	}
	return p + decimals;
}

char *rama_put_pad(char *p, const char *text, size_t len, unsigned width)
{
	if (len < width) {
		memset(p, ' ', width - len);
		p += width - len;
	}
	memcpy(p, text, len);
	return p + len;
}

void rama_out_i64(struct rama_out *o, int64_t v)
{
	char *p = rama_out_room(o, 24);

	if (p != NULL)
		o->used += (size_t)(rama_put_i64(p, v) - p);
}

void rama_out_u64(struct rama_out *o, uint64_t v)
{
	char *p = rama_out_room(o, 24);

	if (p != NULL)
		o->used += (size_t)(rama_put_u64(p, v) - p);
}

void rama_out_f64(struct rama_out *o, double v, unsigned decimals)
{
	char *p = rama_out_room(o, RAMA_F64_MAX);

	if (p != NULL)
		o->used += (size_t)(rama_put_f64(p, v, decimals) - p);
}

void rama_out_fmt(struct rama_out *o, const char *fmt, ...)
{
	char text[4096];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0)
		rama_out_bytes(o, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}
