/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_fuse.c: what a FUSE daemon reads from its device or writes into it, whatever it is: what it
 * is taken for (1 byte: 0 a request, else an answer to an operation of that kind), how many bytes
 * more than those that are looked at it has (2 bytes), then the bytes. */
#include <stdlib.h>
#include <string.h>

#include "core/foreign/fuse.h"
#include "fuzz.h"
#include "table/fn.h"

static void check_request(const unsigned char *p, size_t n, size_t more)
{
	struct rama_core_fuse_request r;

	if (!rama_core_fuse_request(&r, p, n, n + more))
		return;
	CHECK(r.unique != 0 && r.fn < RAMA_TAB_FNS && r.kind < RAMA_TAB_OPS);
	CHECK(r.off >= -1 && r.bytes >= 0 && r.bytes <= UINT32_MAX);
	CHECK(r.fn != RAMA_TAB_FN_NONE || r.off == -1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	uint8_t what = fuzz_take_byte(&in);
	size_t more = fuzz_take_u16(&in);
	struct rama_core_fuse_answer a;
	unsigned char *exact = malloc(in.n + 1); /* so that a byte too many is seen */

	if (exact == NULL)
		return 0;
	memcpy(exact, in.p, in.n);
	if (what == 0)
		check_request(exact, in.n, more);
	else if (rama_core_fuse_answer(&a, what, exact, in.n, in.n + more))
		CHECK(a.bytes >= 0 && (a.ok || a.bytes == 0));
	free(exact);
	return 0;
}
