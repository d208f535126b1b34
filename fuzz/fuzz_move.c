/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_move.c: the input is the code of a function whose beginning is to be moved. Whatever it is,
 * nothing outside of it is read, what comes out is bounded, and what is said of it is true. */
#include "attach/move.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rama_attach_moved m;
	enum rama_attach_move why = rama_attach_move(&m, data, size, 0x400000, 0x500000);

	CHECK(why <= RAMA_ATTACH_MOVE_NOT_HERE && rama_attach_move_why(why) != NULL);
	if (why != RAMA_ATTACH_MOVE_DONE)
		return 0;
	CHECK(m.taken >= 5 && m.taken < 5 + 15 && m.taken <= size);
	CHECK(m.n >= m.taken && m.n <= sizeof(m.code));
	CHECK(m.steps >= 1 && m.steps <= 5);
	for (unsigned i = 1; i < m.steps; i++)
		CHECK(m.step[i].from > m.step[i - 1].from && m.step[i].to > m.step[i - 1].to);
	return 0;
}
