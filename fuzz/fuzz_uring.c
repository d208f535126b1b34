/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_uring.c: a ring of io_uring whose memory is anything, and changes while it is read, is read
 * as in an observed process; and code that is anything is searched for the place where it enters
 * the kernel. Nothing outside is touched, every flight ends once, what went by is counted. Input:
 * shape (1 byte: sizes of requests and completions, array or none), sizes of the queues (2 bytes),
 * places of the six words (6 bytes), then steps: what (1 byte) and a place and bytes to be written,
 * or how far to read. The whole input is code as well. */
#include <stdlib.h>
#include <string.h>

#include "base/code/enter.h"
#include "core/foreign/uring.h"
#include "fuzz.h"

enum { AREA = 8192, SQES = 8192, FLIGHTS = 64, NUMBER = 426 };

struct all {
	unsigned char *ring, *sqes;
	struct rama_core_uring_map map;
	struct rama_core_uring_table *t;
};

static void read_requests(struct all *a, uint32_t until)
{
	struct rama_core_uring_sqe q;
	uint32_t before = a->t->sq_seen, n = 0;

	while (rama_core_uring_next_sqe(a->t, &a->map, until, &q)) {
		CHECK(q.shape <= RAMA_CORE_URING_UNKNOWN && q.fn > 0 && q.fn < RAMA_TAB_FNS);
		CHECK(++n <= a->map.sq_entries);
		if (!q.silent) {
			struct rama_core_uring_flight *f = rama_core_uring_begin(a->t, q.user_data);

			CHECK(f != NULL && f->user_data == q.user_data && f->used);
			f->shape = q.shape;
			f->owner = (int32_t)(q.user_data & 1);
		}
	}
	CHECK(a->t->sq_seen == until || a->t->sq_seen == before);
}

static void read_completions(struct all *a)
{
	struct rama_core_uring_cqe c;

	for (unsigned i = 0;
	     i < 4 * a->map.cq_entries && rama_core_uring_next_cqe(a->t, &a->map, &c); i++) {
		struct rama_core_uring_flight *f = rama_core_uring_end(a->t, &c);

		if (f == NULL)
			continue;
		CHECK(f->user_data == c.user_data && f->used);
		if (c.more)
			continue;
		if (f->owner) { /* of another process */
			f->done = true;
			a->t->done++;
		} else {
			rama_core_uring_free(a->t, f);
		}
	}
}

static void count(struct all *a)
{
	uint32_t used = 0, done = 0;

	for (uint32_t i = 0; i < a->t->fresh; i++) {
		struct rama_core_uring_flight *f = rama_core_uring_at(a->t, i);

		CHECK(f != NULL);
		used += f->used && !f->done;
		done += f->used && f->done;
	}
	CHECK(rama_core_uring_at(a->t, FLIGHTS) == NULL);
	CHECK(used == a->t->flying && done == a->t->done && used + done <= FLIGHTS);
	CHECK(rama_core_uring_missed(a->t) >= a->t->dropped);
}

static void steps(struct all *a, struct fuzz_input *in)
{
	while (in->n > 0) {
		uint8_t what = fuzz_take_byte(in);
		unsigned at = fuzz_take_u16(in);
		struct fuzz_input with = fuzz_take(in, what & 63);
		unsigned char *to = what & 128 ? a->sqes : a->ring;

		at %= AREA;
		if (with.n > 0)
			memcpy(to + at, with.p, with.n < AREA - at ? with.n : AREA - at);
		if (what & 64) {
			read_requests(a, rama_core_uring_word(a->map.sq, a->map.sq_tail));
			read_completions(a);
			count(a);
		}
	}
}

static void code(const uint8_t *data, size_t size)
{
	struct rama_enter_site site[4];
	unsigned char stub[RAMA_ENTER_STUB];
	const uint64_t from = 0x400000;
	unsigned n = rama_enter_find(data, size, from, NUMBER, site, 4);

	CHECK(n <= 4);
	for (unsigned i = 0; i < n; i++) {
		CHECK(site[i].at >= from && site[i].n <= RAMA_ENTER_BETWEEN);
		CHECK(site[i].back == site[i].at + 7 + site[i].n && site[i].back <= from + size);
		CHECK(rama_enter_stub(&site[i], from + (1 << 20), 1ull << 46, stub) ==
		      RAMA_ENTER_STUB);
		CHECK(rama_enter_stub(&site[i], 1ull << 40, 0, stub) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct all a = { .ring = calloc(1, AREA), .sqes = calloc(1, SQES) };
	uint8_t shape = fuzz_take_byte(&in);

	code(data, size);
	a.map = (struct rama_core_uring_map){ .sq = a.ring,
					      .cq = a.ring,
					      .sqes = a.sqes,
					      .sq_len = AREA,
					      .cq_len = AREA,
					      .sqes_len = SQES,
					      .sqe_size = shape & 1 ? 128 : 64,
					      .cqe_size = shape & 2 ? 32 : 16 };
	a.map.sq_entries = shape & 4 ? fuzz_take_byte(&in) : 1u << (fuzz_take_byte(&in) & 7);
	a.map.cq_entries = shape & 4 ? fuzz_take_byte(&in) : 1u << (fuzz_take_byte(&in) & 7);
	a.map.sq_head = 4u * fuzz_take_byte(&in);
	a.map.sq_tail = 4u * fuzz_take_byte(&in);
	a.map.sq_array = 4u * fuzz_take_byte(&in);
	a.map.cq_tail = 4u * fuzz_take_byte(&in);
	a.map.cqes = 8u * fuzz_take_u16(&in);
	a.t = calloc(1, rama_core_uring_table_bytes(FLIGHTS));
	CHECK(a.ring != NULL && a.sqes != NULL && a.t != NULL);
	rama_core_uring_table_init(a.t, FLIGHTS, 1);
	if (rama_core_uring_fits(&a.map)) {
		steps(&a, &in);
		read_requests(&a, rama_core_uring_word(a.map.sq, a.map.sq_tail));
		read_completions(&a);
		count(&a);
	}
	free(a.t);
	free(a.sqes);
	free(a.ring);
	return 0;
}
