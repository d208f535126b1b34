/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_spool.c: the input is a file of a spool. What is found good in it stays good when it is
 * cut there, and nothing more is. */
#include "fuzz.h"

#include "agent/spool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rama_agent_spool_scan scan, again;
	struct rama_source src;
	struct rama_err e = { 0 };

	rama_source_memory(&src, data, size);
	if (rama_agent_spool_scan(&src, &scan, &e) != 0) {
		CHECK(e.code == RAMA_ECORRUPT);
		return 0;
	}
	CHECK(scan.end <= size && scan.end >= sizeof(struct rama_agent_spool_head));
	CHECK(scan.next >= scan.first && scan.damaged == (scan.end < size));
	rama_source_memory(&src, data, (size_t)scan.end);
	CHECK(rama_agent_spool_scan(&src, &again, &e) == 0);
	CHECK(!again.damaged && again.end == scan.end && again.next == scan.next &&
	      again.first == scan.first);
	return 0;
}
