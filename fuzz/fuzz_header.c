/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_header.c: the input is a log; it is opened: header, job and names, no records. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_both_ways(data, size, false);
	return 0;
}
