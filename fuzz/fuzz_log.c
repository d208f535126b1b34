/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_log.c: the input is a log; all of it is read. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_both_ways(data, size, true);
	return 0;
}
