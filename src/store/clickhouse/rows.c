/* SPDX-License-Identifier: BSD-3-Clause */
/* rows.c: rows as ClickHouse's format RowBinary has them: column after column,
 * integers with the lowest byte first, texts behind their length, seven bits of it in a byte. */
#include <endian.h>
#include <string.h>
#include <time.h>

#include "store/clickhouse/clickhouse.h"

#define HEAD_NAMES "job, rank, t0, segment, lane, first, n, t1, tid, lost"
const char rama_store_ch_head_names[] = HEAD_NAMES;
const char rama_store_ch_block_names[] = HEAD_NAMES ", body";
const char rama_store_ch_second_names[] =
	"job, rank, segment, lane, first, n, second, layer, kind, ops, failed, bytes, ns, longest";

#define BODY_MOST (16 << 20) /* bytes of a block; what it unpacks to is less */

/* ---- to the server --------------------------------------------------------------------------- */

static void put_64(struct rama_out *o, uint64_t v)
{
	v = htole64(v);
	rama_out_bytes(o, (const char *)&v, sizeof(v));
}

static void put_32(struct rama_out *o, uint32_t v)
{
	v = htole32(v);
	rama_out_bytes(o, (const char *)&v, sizeof(v));
}

static void put_text(struct rama_out *o, const void *text, size_t n)
{
	size_t v = n;

	for (; v >= 0x80; v >>= 7)
		rama_out_char(o, (char)(v | 0x80));
	rama_out_char(o, (char)v);
	rama_out_bytes(o, text, n);
}

void rama_store_ch_put_block(struct rama_out *o, const struct rama_store_kept *k, uint32_t month,
			     int64_t put)
{
	put_text(o, k->key, strlen(k->key));
	put_64(o, (uint64_t)k->rank);
	put_64(o, (uint64_t)k->t0);
	rama_out_bytes(o, (const char *)k->segment.b, sizeof(k->segment.b));
	put_32(o, k->lane);
	put_64(o, k->first);
	put_32(o, k->n);
	put_64(o, (uint64_t)k->t1);
	put_32(o, k->tid);
	put_64(o, k->lost);
	put_text(o, k->body, k->len);
	put_32(o, month);
	put_64(o, (uint64_t)put);
}

void rama_store_ch_put_seconds(struct rama_out *o, const struct rama_store_kept *k, uint32_t month,
			       int64_t put)
{
	for (unsigned i = 0; i < k->n_seconds; i++) {
		const struct rama_store_second *s = &k->second[i];

		put_text(o, k->key, strlen(k->key));
		put_64(o, (uint64_t)k->rank);
		rama_out_bytes(o, (const char *)k->segment.b, sizeof(k->segment.b));
		put_32(o, k->lane);
		put_64(o, k->first);
		put_32(o, k->n);
		put_64(o, (uint64_t)s->second);
		put_text(o, s->layer, strlen(s->layer));
		put_text(o, s->kind, strlen(s->kind));
		put_64(o, (uint64_t)s->ops);
		put_64(o, (uint64_t)s->failed);
		put_64(o, (uint64_t)s->bytes);
		put_64(o, (uint64_t)s->ns);
		put_64(o, (uint64_t)s->longest);
		put_32(o, month);
		put_64(o, (uint64_t)put);
	}
}

/* ---- from the server ------------------------------------------------------------------------- */

struct reader {
	const unsigned char *at, *end;
	bool bad;
};

static const unsigned char *take(struct reader *r, size_t n)
{
	static const unsigned char none[16];
	const unsigned char *at = r->at;

	if (r->bad || (size_t)(r->end - r->at) < n) {
		r->bad = true;
		return none; /* for numbers and keys, which are no longer */
	}
	r->at += n;
	return at;
}

static uint64_t take_64(struct reader *r)
{
	uint64_t v;

	memcpy(&v, take(r, sizeof(v)), sizeof(v));
	return le64toh(v);
}

static uint32_t take_32(struct reader *r)
{
	uint32_t v;

	memcpy(&v, take(r, sizeof(v)), sizeof(v));
	return le32toh(v);
}

static const unsigned char *take_text(struct reader *r, size_t most, size_t *n)
{
	uint64_t len = 0;
	unsigned char c = 0x80;

	for (unsigned shift = 0; (c & 0x80) != 0; shift += 7) {
		c = *take(r, 1);
		if (shift > 28 || r->bad)
			r->bad = true, c = 0;
		len |= (uint64_t)(c & 0x7f) << (shift & 31);
	}
	if (len > most)
		r->bad = true;
	*n = r->bad ? 0 : (size_t)len;
	return take(r, *n);
}

static void take_row(struct reader *r, bool whole, struct rama_store_kept *k)
{
	const unsigned char *key;
	size_t n;

	*k = (struct rama_store_kept){ .number = 0 };
	key = take_text(r, sizeof(k->key) - 1, &n);
	memcpy(k->key, key, n);
	k->rank = k->put_rank = (int64_t)take_64(r);
	k->t0 = (int64_t)take_64(r);
	memcpy(k->segment.b, take(r, sizeof(k->segment.b)), sizeof(k->segment.b));
	k->lane = take_32(r);
	k->first = take_64(r);
	k->n = take_32(r);
	k->t1 = (int64_t)take_64(r);
	k->tid = take_32(r);
	k->lost = take_64(r);
	if (whole)
		k->body = take_text(r, BODY_MOST, &k->len);
	if (k->n == 0 || k->n > RAMA_WIRE_BLOCK_EVENTS || k->t1 < k->t0 ||
	    k->first > INT64_MAX - RAMA_WIRE_BLOCK_EVENTS)
		r->bad = true;
}

static int damaged(size_t at, struct rama_err *e)
{
	return rama_err_set(e, RAMA_ECORRUPT, "an answer that is damaged at byte %zu", at);
}

int rama_store_ch_rows(const unsigned char *bytes, size_t n, bool whole, rama_store_kept_fn fn,
		       void *ctx, struct rama_err *e)
{
	struct reader r = { bytes, bytes + n, false };
	struct rama_store_kept k;
	int rc = 0;

	while (rc == 0 && r.at < r.end) {
		size_t at = (size_t)(r.at - bytes);

		take_row(&r, whole, &k);
		rc = r.bad ? damaged(at, e) : fn(ctx, &k, e);
	}
	return rc;
}

int rama_store_ch_ints(const unsigned char *bytes, size_t n, unsigned n_v,
		       int (*fn)(void *ctx, const int64_t *v), void *ctx, struct rama_err *e)
{
	struct reader r = { bytes, bytes + n, false };
	int64_t v[8];
	int rc = 0;

	while (rc == 0 && r.at < r.end) {
		size_t at = (size_t)(r.at - bytes);

		for (unsigned i = 0; i < n_v && i < sizeof(v) / sizeof(v[0]); i++)
			v[i] = (int64_t)take_64(&r);
		rc = r.bad ? damaged(at, e) : fn(ctx, v);
	}
	return rc;
}

/* ---- months ---------------------------------------------------------------------------------- */

#define NS 1000000000ll
#define YEARS 3 /* either way: more months than that in one INSERT a server refuses */

uint32_t rama_store_ch_month(int64_t ns, int64_t now)
{
	const int64_t most = YEARS * 366ll * 86400 * NS;
	time_t t = (time_t)(ns / NS);
	struct tm tm;

	if (ns < 0 || now < 0 || (ns < now ? now - ns : ns - now) > most ||
	    gmtime_r(&t, &tm) == NULL)
		return 0;
	return (uint32_t)(tm.tm_year + 1900) * 100 + (uint32_t)tm.tm_mon + 1;
}

int64_t rama_store_ch_month_begin(uint32_t month)
{
	struct tm tm = { .tm_year = (int)(month / 100) - 1900,
			 .tm_mon = (int)(month % 100) - 1,
			 .tm_mday = 1 };

	return (int64_t)timegm(&tm) * NS;
}

int64_t rama_store_ch_month_end(uint32_t month)
{
	return rama_store_ch_month_begin(month % 100 == 12 ? month + 89 : month + 1);
}

/* ---- statements ------------------------------------------------------------------------------ */

void rama_store_ch_quote(struct rama_out *o, const char *text)
{
	rama_out_char(o, '\'');
	for (; *text != '\0'; text++) {
		if (*text == '\'' || *text == '\\')
			rama_out_char(o, '\\');
		rama_out_char(o, *text);
	}
	rama_out_char(o, '\'');
}
