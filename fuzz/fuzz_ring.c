/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_ring.c: a segment whose lanes hold live events, with the input's changes in it, is read
 * as an agent does; nothing outside is touched, and what is given is what was asked for. Input:
 * how many events the first lane made (2 bytes, modulo 5000), how many of them were given back
 * (2 bytes), flags (1: the file is cut, its length in units of 4096 bytes follows, 2 bytes);
 * then changes, any number: area (255: the header), place in it (2 bytes), length, bytes. A
 * change of area 254 reads in between: what comes after it happens while somebody reads. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "segment/ringwriter.h"

enum { ROOM = RAMA_SEG_RING_FIRST * 7, MOST = 3000, MOST_MADE = 5000 };

static void read_lanes(struct rama_seg_mapped *m)
{
	static struct rama_seg_event to[MOST];
	static const uint64_t odd[] = { 0, 1, 1023, 1024, 1ull << 40, UINT64_MAX };
	struct rama_seg_ring_state st;
	uint32_t tid;

	for (uint32_t lane = 0; lane < 4; lane++) {
		int rc = rama_seg_ring_state(m, lane, &st);

		CHECK(rc == 0 || rc == RAMA_EUSAGE || rc == RAMA_ECORRUPT);
		CHECK(st.taken <= st.made);
		for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
			CHECK(rama_seg_ring_read(m, lane, odd[i], to, 1 + (uint32_t)i * 500,
						 &tid) <= 1 + (uint32_t)i * 500);
		for (unsigned i = 0; rc == 0 && i < 20 && st.taken < st.made; i++) {
			uint32_t n = rama_seg_ring_read(m, lane, st.taken, to, MOST, &tid);

			CHECK(n <= MOST && n <= st.made - st.taken);
			st.taken += n;
			rama_seg_ring_give_back(m, lane, st.taken);
		}
	}
}

static void change(const struct seg *s, size_t size, struct rama_seg_mapped *m,
		   struct fuzz_input *in)
{
	while (in->n > 0) {
		uint8_t a = fuzz_take_byte(in);

		if (a == 254 && m != NULL) {
			read_lanes(m);
			continue;
		}
		size_t at =
			fuzz_take_u16(in) + (a < RAMA_SEG_AREAS ? (size_t)s->head->area[a].off : 0);
		struct fuzz_input with = fuzz_take(in, fuzz_take_byte(in));

		/* a header changes only before it is read */
		if (with.n > 0 && at < size && (m == NULL || at >= RAMA_SEG_PAGE))
			memcpy(s->bytes + at, with.p, with.n < size - at ? with.n : size - at);
		if (m == NULL && at >= RAMA_SEG_PAGE)
			return;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rama_seg_mapped m;
	struct fuzz_input in = { data, size };
	unsigned made = fuzz_take_u16(&in) % MOST_MADE, taken = fuzz_take_u16(&in);
	size_t cut = fuzz_take_byte(&in) & 1 ? 4096 * (size_t)fuzz_take_u16(&in) : SIZE_MAX;
	struct rama_err e = { 0 };
	struct seg s;

	seg_make_sized(&s, &(struct seg_sizes){ 1, 3, 1, ROOM, 0 });
	seg_lane(&s, 1);
	seg_lane(&s, 2);
	for (unsigned i = 0; i < made; i++) {
		if (i % 1000 == 0)
			ring_owner(&s, 0, 1 + i);
		ring_put(&s, 0);
		if (i == taken)
			s.control->taken[0] = i;
	}
	ring_put(&s, 1);
	if (cut < s.size) {
		s.size = cut;
		/* what is cut is not to be touched */
		s.bytes = realloc(s.bytes, cut > 0 ? cut : 1);
		CHECK(s.bytes != NULL);
		s.head = (void *)s.bytes;
	}
	if (s.size >= RAMA_SEG_PAGE) {
		change(&s, s.size, NULL, &in);
		if (ring_open(&m, &s, &e) == 0) {
			m.control = seg_area(&s, RAMA_SEG_AREA_CONTROL);
			read_lanes(&m);
			change(&s, s.size, &m, &in);
			read_lanes(&m);
		}
	}
	seg_free(&s);
	return 0;
}
