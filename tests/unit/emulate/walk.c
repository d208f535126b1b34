/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "emulate/script.h"

/* Each byte of the file belongs to one part exactly, in requests that start where requests
 * start. */
static void walk_all(int64_t size, int64_t request, uint32_t parts, enum rama_emu_order order)
{
	unsigned char seen[5000] = { 0 };

	assert_true((size_t)size <= sizeof(seen));
	for (uint32_t part = 0; part < parts; part++) {
		struct rama_emu_walk w = { .size = size,
					   .request = request,
					   .order = order,
					   .part = part,
					   .parts = parts,
					   .seed = 77 };
		int64_t offset, length, bytes = 0;

		rama_emu_walk_start(&w);
		while (rama_emu_walk_next(&w, &offset, &length)) {
			assert_true(length > 0 && offset % request == 0 && offset + length <= size);
			for (int64_t i = offset; i < offset + length; i++)
				seen[i]++;
			bytes += length;
		}
		assert_int_equal(bytes, rama_emu_walk_bytes(&w));
	}
	for (int64_t i = 0; i < size; i++)
		assert_int_equal(seen[i], 1);
}

static void parts_make_the_whole(void **state)
{
	static const int64_t sizes[] = { 0, 1, 31, 32, 33, 1000, 4096, 4999 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (int64_t request = 1; request < 6000; request = request * 3 + 1)
			for (uint32_t parts = 1; parts < 9; parts++)
				for (int order = RAMA_EMU_SEQUENTIAL; order <= RAMA_EMU_RANDOM;
				     order++)
					walk_all(sizes[i], request, parts,
						 (enum rama_emu_order)order);
}

static uint64_t calls_of(struct rama_emu_walk w, uint64_t *empty)
{
	int64_t offset, length;
	uint64_t n = 0;

	rama_emu_walk_start(&w);
	for (*empty = 0; rama_emu_walk_next(&w, &offset, &length); n++)
		*empty += length == 0;
	return n;
}

static void even_walks_have_as_many_calls(void **state)
{
	(void)state;
	for (int order = RAMA_EMU_SEQUENTIAL; order <= RAMA_EMU_RANDOM; order++)
		for (int64_t size = 0; size < 40; size++)
			for (uint32_t parts = 1; parts < 9; parts++)
				for (uint64_t limit = 0; limit < 4; limit++) {
					struct rama_emu_walk w = {
						.size = size,
						.request = 3,
						.order = (enum rama_emu_order)order,
						.parts = parts,
						.limit = limit,
						.even = true
					};
					uint64_t empty, first = calls_of(w, &empty);

					for (w.part = 1; w.part < parts; w.part++) {
						assert_int_equal(calls_of(w, &empty), first);
						assert_true(empty <= 1 ||
							    size < 3 * (int64_t)parts);
					}
				}
}

/* Requests of drawn sizes: each byte is of one part exactly, sizes are those that were asked for,
 * as often as they were, and every part has as many calls where that is asked for. */
static void sizes_are_drawn(void **state)
{
	static const struct rama_emu_split split = {
		.n = 3, .size = { 1, 4, 16 }, .largest = 16, .below = { 0.6, 0.9, 1 }
	};
	enum { SIZE = 20011, PARTS = 3 };

	(void)state;
	for (int order = RAMA_EMU_SEQUENTIAL; order <= RAMA_EMU_RANDOM; order++)
		for (int even = 0; even < 2; even++) {
			unsigned char seen[SIZE] = { 0 };
			uint64_t n[3] = { 0 }, other = 0, all = 0, calls[PARTS] = { 0 };

			for (uint32_t part = 0; part < PARTS; part++) {
				struct rama_emu_walk w = { .size = SIZE,
							   .request = 256,
							   .order = (enum rama_emu_order)order,
							   .part = part,
							   .parts = PARTS,
							   .split = &split,
							   .even = even != 0,
							   .seed = 5 };
				int64_t offset, length;

				rama_emu_walk_start(&w);
				while (rama_emu_walk_next(&w, &offset, &length)) {
					assert_true(length > 0 || even);
					assert_true(offset >= 0 && offset + length <= SIZE);
					for (int64_t i = offset; i < offset + length; i++)
						seen[i]++;
					calls[part]++;
					all += length > 0;
					n[0] += length == 1;
					n[1] += length == 4;
					n[2] += length == 16;
					other += length > 0 && length != 1 && length != 4 &&
						 length != 16;
				}
			}
			for (int64_t i = 0; i < SIZE; i++)
				assert_int_equal(seen[i], 1);
			if (even)
				assert_true(calls[0] == calls[1] && calls[1] == calls[2]);
			assert_true(other <= 1); /* the end of the file */
			assert_true((double)n[0] > 0.55 * (double)all &&
				    (double)n[0] < 0.66 * (double)all);
			assert_true((double)n[1] > 0.26 * (double)all &&
				    (double)n[1] < 0.34 * (double)all);
			assert_true((double)n[2] > 0.06 * (double)all &&
				    (double)n[2] < 0.13 * (double)all);
		}
}

UNIT_GROUP(walk, test(parts_make_the_whole), test(even_walks_have_as_many_calls),
	   test(sizes_are_drawn))
