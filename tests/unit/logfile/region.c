/* SPDX-License-Identifier: BSD-3-Clause */
/* region.c: streams back to back are one row of bytes. */
#include "logs.h"

/* appends n bytes as one stream */
static void stream(struct memfile *to, uint8_t kind, const void *bytes, size_t n)
{
	struct rama_log_packer p;
	struct rama_err e = { 0 };
	const unsigned char *packed;
	size_t packed_n;

	assert_int_equal(rama_log_packer_init(&p, kind, 6, &e), 0);
	assert_int_equal(rama_log_pack(&p, bytes, n, &packed, &packed_n, &e), 0);
	memfile_append(to, packed, packed_n);
	rama_log_packer_fini(&p);
}

/* text that can be squeezed, but not to nothing */
static unsigned char *content(size_t n)
{
	unsigned char *b = malloc(n + 1);
	struct rng r = { 13 };

	for (size_t i = 0; i < n; i++)
		b[i] = (unsigned char)rng_below(&r, 16);
	return b;
}

static void open_at(struct rama_log_region *r, struct rama_source *src, const struct memfile *f,
		    size_t off, size_t len, uint8_t kind)
{
	rama_source_memory(src, f->bytes, f->n);
	assert_int_equal(rama_log_region_open(r, src, off, len, kind), 0);
}

/* the region reads as the content, so many bytes at a time */
static void reads_as(const struct memfile *f, uint8_t kind, const unsigned char *want, size_t n,
		     size_t step)
{
	struct rama_log_region r;
	struct rama_source src;
	unsigned char *have = malloc(step);

	open_at(&r, &src, f, 0, f->n, kind);
	for (size_t at = 0; at < n; at += step) {
		size_t part = n - at < step ? n - at : step;

		assert_int_equal(rama_log_region_read(&r, have, step), part);
		assert_memory_equal(have, want + at, part);
	}
	assert_int_equal(rama_log_region_read(&r, have, 1), 0);
	assert_int_equal(r.err.code, 0);
	assert_int_equal(r.decoded, n);
	rama_log_region_close(&r);
	free(have);
}

static void any_number_of_streams_is_one_region(void **state)
{
	static const size_t steps[] = { 1, 7, 704, 100000, 1000000 };
	size_t n = 300000;
	unsigned char *b = content(n);

	(void)state;
	for (uint8_t kind = RAMA_LOG_ZLIB; kind <= RAMA_LOG_PLAIN_BYTES; kind++) {
		static const size_t parts[] = { 1, 2, 1000 };

		for (size_t k = 0; k < LENGTH(parts); k++) {
			struct memfile f = { 0 };

			if (kind == RAMA_LOG_BZIP2 && parts[k] == 1000)
				continue; /* slow, and no different */
			for (size_t i = 0; i < parts[k]; i++)
				stream(&f, kind, b + i * (n / parts[k]), n / parts[k]);
			for (size_t i = 0; i < LENGTH(steps); i++)
				reads_as(&f, kind, b, n, steps[i]);
			memfile_free(&f);
		}
	}
	free(b);
}

static void an_empty_region_has_no_bytes(void **state)
{
	struct memfile f = { 0 };

	(void)state;
	memfile_append(&f, "x", 1);
	f.n = 0;
	for (uint8_t kind = RAMA_LOG_ZLIB; kind <= RAMA_LOG_PLAIN_BYTES; kind++)
		reads_as(&f, kind, NULL, 0, 1);
	memfile_free(&f);
}

static void a_region_ends_where_it_ends(void **state)
{
	struct memfile f = { 0 };
	struct rama_log_region r;
	struct rama_source src;
	unsigned char have[16];
	size_t first;

	(void)state;
	memfile_append(&f, "before", 6);
	stream(&f, RAMA_LOG_ZLIB, "one", 3);
	first = f.n;
	stream(&f, RAMA_LOG_ZLIB, "two", 3);
	memfile_append(&f, "behind", 6);
	open_at(&r, &src, &f, 6, first - 6, RAMA_LOG_ZLIB);
	assert_int_equal(rama_log_region_read(&r, have, 16), 3);
	assert_memory_equal(have, "one", 3);
	assert_int_equal(r.err.code, 0);
	rama_log_region_close(&r);
	open_at(&r, &src, &f, 6, f.n - 12, RAMA_LOG_ZLIB);
	assert_int_equal(rama_log_region_read(&r, have, 16), 6);
	assert_memory_equal(have, "onetwo", 6);
	assert_int_equal(r.streams, 2);
	rama_log_region_close(&r);
	memfile_free(&f);
}

static void bytes_can_be_looked_at_before_they_are_taken(void **state)
{
	size_t n = 500000, at = 0, have;
	unsigned char *b = content(n);
	struct memfile f = { 0 };
	struct rama_log_region r;
	struct rama_source src;
	struct rng rng = { 14 };

	(void)state;
	for (size_t i = 0; i < 50; i++)
		stream(&f, RAMA_LOG_ZLIB, b + i * (n / 50), n / 50);
	open_at(&r, &src, &f, 0, f.n, RAMA_LOG_ZLIB);
	while (at < n) {
		size_t least = 1 + rng_below(&rng, RAMA_LOG_REGION_PEEK);
		const unsigned char *p = rama_log_region_peek(&r, least, &have);
		size_t taken = rng_below(&rng, have + 1);

		assert_true(have >= least || have == n - at);
		assert_memory_equal(p, b + at, have);
		rama_log_region_skip(&r, taken);
		at += taken;
	}
	rama_log_region_peek(&r, 1, &have);
	assert_int_equal(have, 0);
	rama_log_region_close(&r);
	memfile_free(&f);
	free(b);
}

/* a region of `n` stored bytes gives the first bytes of the content, then an error */
static void damaged(const struct memfile *f, size_t n, uint8_t kind, const unsigned char *want,
		    size_t want_n)
{
	struct rama_log_region r;
	struct rama_source src;
	unsigned char *have = malloc(want_n);
	size_t got;

	open_at(&r, &src, f, 0, n, kind);
	got = rama_log_region_read(&r, have, want_n);
	assert_true(got <= want_n);
	assert_memory_equal(have, want, got);
	if (got == want_n) /* only its end, the checksum, is missing */
		rama_log_region_read(&r, have, 1);
	assert_int_equal(r.err.code, RAMA_ECORRUPT);
	assert_true(r.err.text[0] != '\0');
	assert_int_equal(rama_log_region_read(&r, have, 1), 0); /* and it stays so */
	rama_log_region_close(&r);
	free(have);
}

static void a_stream_that_ends_early_is_damaged(void **state)
{
	unsigned char *b = content(2000);

	(void)state;
	for (uint8_t kind = RAMA_LOG_ZLIB; kind <= RAMA_LOG_BZIP2; kind++) {
		struct memfile f = { 0 };
		size_t first;

		stream(&f, kind, b, 1000);
		first = f.n;
		stream(&f, kind, b + 1000, 1000);
		for (size_t n = 1; n < f.n; n++)
			if (n != first)
				damaged(&f, n, kind, b, 2000);
		memfile_free(&f);
	}
	free(b);
}

static void what_is_no_stream_is_damaged(void **state)
{
	unsigned char *b = content(1000);

	(void)state;
	for (uint8_t kind = RAMA_LOG_ZLIB; kind <= RAMA_LOG_BZIP2; kind++) {
		struct memfile f = { 0 };

		stream(&f, kind, b, 1000);
		memfile_append(&f, "no stream at all", 16);
		damaged(&f, f.n, kind, b, 1001);
		f.bytes[f.n - 20] ^= 0x40; /* its checksum */
		damaged(&f, f.n - 16, kind, b, 1000);
		memset(f.bytes, 'x', f.n);
		damaged(&f, f.n, kind, b, 1);
		memfile_free(&f);
	}
	free(b);
}

UNIT_GROUP(region, test(any_number_of_streams_is_one_region), test(an_empty_region_has_no_bytes),
	   test(a_region_ends_where_it_ends), test(bytes_can_be_looked_at_before_they_are_taken),
	   test(a_stream_that_ends_early_is_damaged), test(what_is_no_stream_is_damaged))
