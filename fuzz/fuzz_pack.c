/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_pack.c: packed segments. The first byte says what the rest is: 0 a pack, else what comes out
 * of one that is not compressed any more, of a segment of so many times 512 bytes. */
#include "fuzz.h"

#include "gather/pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	if (data[0] == 0)
		CHECK(rama_gather_pack_check(data + 1, size - 1) >= 0);
	else
		rama_gather_pack_check_plain(data + 1, size - 1, 512u * data[0]);
	return 0;
}
