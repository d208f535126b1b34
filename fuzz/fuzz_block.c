/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_block.c: a packed block of events. Its lengths and checksums are made to fit, so that
 * what lies behind them is reached. What is accepted keeps its promises and, packed again, says
 * the same. */
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>

#include "fuzz.h"
#include "wire/columns.h"

static struct rama_wire_block b, again;

static void make_fit(unsigned char *p, size_t n)
{
	size_t head;

	if (n < RAMA_WIRE_BLOCK_FIXED)
		return;
	head = RAMA_WIRE_BLOCK_FIXED + rama_wire_load_le(p + 10, 2);
	if (head > n)
		return;
	rama_wire_store_le(p + 16, n - head, 4);
	if ((p[9] & RAMA_WIRE_BLOCK_DEFLATED) == 0)
		rama_wire_store_le(p + 20, n - head, 4);
	rama_wire_store_le(p + 12, libdeflate_crc32(0, p + head, n - head), 4);
	rama_wire_store_le(p + 4, libdeflate_crc32(0, p + 8, head - 8), 4);
}

static void check_events(void)
{
	int64_t t0 = INT64_MAX, t1 = INT64_MIN;

	CHECK(b.n > 0 && b.n <= RAMA_WIRE_BLOCK_EVENTS && b.n_whats > 0 &&
	      b.n_whats <= RAMA_WIRE_BLOCK_WHATS);
	CHECK(memchr(b.job, '\0', sizeof(b.job)) != NULL);
	for (uint32_t i = 0; i < b.n_whats; i++)
		CHECK(rama_wire_what_valid(&b.what[i]));
	for (uint32_t i = 0; i < b.n; i++) {
		CHECK(b.event[i].what < b.n_whats);
		t0 = b.event[i].end < t0 ? b.event[i].end : t0;
		t1 = b.event[i].end > t1 ? b.event[i].end : t1;
	}
	CHECK(t0 == b.t0 && t1 == b.t1);
}

static void check_same(void)
{
	CHECK(strcmp(b.job, again.job) == 0 &&
	      memcmp(&b.segment, &again.segment, sizeof(b.segment)) == 0);
	CHECK(b.rank == again.rank && b.lane == again.lane && b.tid == again.tid &&
	      b.first == again.first);
	CHECK(b.lost == again.lost && b.t0 == again.t0 && b.t1 == again.t1 && b.n == again.n);
	CHECK(b.n_whats == again.n_whats &&
	      memcmp(b.what, again.what, b.n_whats * sizeof(b.what[0])) == 0);
	for (uint32_t i = 0; i < b.n; i++) {
		const struct rama_wire_event *x = &b.event[i], *y = &again.event[i];

		CHECK(x->end == y->end && x->dur == y->dur && x->off == y->off &&
		      x->bytes == y->bytes);
		CHECK(x->record == y->record && x->call == y->call && x->parent == y->parent);
		CHECK(x->what == y->what && x->failed == y->failed);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rama_wire_block_packer p;
	unsigned char *copy = malloc(size + (size == 0)), *packed;
	struct rama_err e = { 0 };
	int64_t n;

	CHECK(copy != NULL);
	if (size > 0)
		memcpy(copy, data, size);
	make_fit(copy, size);
	if (rama_wire_block_unpack(&p, &b, copy, size, &e) == 0) {
		check_events();
		packed = malloc(rama_wire_block_room(&b));
		CHECK(packed != NULL);
		n = rama_wire_block_pack(&p, &b, packed, rama_wire_block_room(&b), &e);
		CHECK(n > 0 && rama_wire_block_unpack(&p, &again, packed, (size_t)n, &e) == 0);
		check_same();
		free(packed);
	} else {
		CHECK(e.text[0] != '\0');
	}
	free(copy);
	return 0;
}
