/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_region.c: the first byte of the input chooses a compression, the rest is a region. It is
 * read in small steps, in large ones and without copying: each must see the same bytes and the
 * same end. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#define MOST (1u << 20) /* bytes; a few bytes of input may hold far more */
#define LARGE (300u << 10)

struct outcome {
	unsigned char *bytes;
	size_t n;
	int code;
	bool all;
};

typedef size_t (*reader)(struct rama_log_region *r, unsigned char *buf, size_t most, unsigned step);

static size_t read_small(struct rama_log_region *r, unsigned char *buf, size_t most, unsigned step)
{
	size_t n = step * 7 % 13 + 1 + (step % 64 == 0 ? 5000 : 0);

	return rama_log_region_read(r, buf, n < most ? n : most);
}

static size_t read_large(struct rama_log_region *r, unsigned char *buf, size_t most, unsigned step)
{
	(void)step;
	return rama_log_region_read(r, buf, most < LARGE ? most : LARGE);
}

static size_t read_in_place(struct rama_log_region *r, unsigned char *buf, size_t most,
			    unsigned step)
{
	size_t least = step % 3 == 0 ? RAMA_LOG_REGION_PEEK : step % 50 + 1, n;
	const unsigned char *p = rama_log_region_peek(r, least, &n);

	CHECK(n >= least || r->err.code != 0 || r->at == r->end);
	n = step % 5 == 0 && n > 100 ? n - 100 : n;
	n = n < LARGE ? n : LARGE;
	n = n < most ? n : most;
	memcpy(buf, p, n);
	rama_log_region_skip(r, n);
	return n;
}

static struct outcome run(const uint8_t *data, size_t size, uint8_t kind, reader read)
{
	struct outcome o = { .bytes = malloc(MOST) };
	struct rama_source src;
	struct rama_log_region r;
	unsigned step = 0;
	size_t n;

	rama_source_memory(&src, data, size);
	CHECK(o.bytes != NULL && rama_log_region_open(&r, &src, 0, size, kind) == 0);
	do {
		n = read(&r, o.bytes + o.n, MOST - o.n, step++);
		o.n += n;
	} while (n > 0 && o.n < MOST);
	CHECK(r.decoded == o.n);
	o.all = n == 0;
	o.code = o.all ? r.err.code : 0;
	CHECK(o.code == 0 || r.err.text[0] != '\0');
	rama_log_region_close(&r);
	return o;
}

/* libbz2 drops what it decoded in the call that meets the damage: how much that is depends on the
 * calls before. All else is the same however it is read. */
static void same(const struct outcome *a, const struct outcome *b, uint8_t kind)
{
	bool lossy = kind == RAMA_LOG_BZIP2 && (a->code != 0 || b->code != 0);

	CHECK(memcmp(a->bytes, b->bytes, a->n < b->n ? a->n : b->n) == 0);
	CHECK(a->n == b->n || lossy);
	CHECK(a->code == b->code || a->n == MOST || b->n == MOST);
	CHECK(a->all == b->all || a->n == MOST || b->n == MOST);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const reader readers[] = { read_small, read_large, read_in_place };
	struct outcome o[3];
	uint8_t kind;

	if (size == 0)
		return 0;
	kind = data[0] % 3;
	for (unsigned i = 0; i < 3; i++) {
		o[i] = run(data + 1, size - 1, kind, readers[i]);
		same(&o[0], &o[i], kind);
		CHECK(kind != RAMA_LOG_PLAIN_BYTES || o[i].n == size - 1);
	}
	for (unsigned i = 0; i < 3; i++)
		free(o[i].bytes);
	return 0;
}
