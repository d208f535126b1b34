/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_symbols.c: the input is a library in which a function is looked for. Whatever it is, nothing
 * outside of it is read, and the answer is one of three. */
#include "attach/symbols.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t offset = 0;
	int rc = rama_attach_symbol_find(data, size, "dlopen", &offset);

	CHECK(rc == 0 || rc == -1 || rc == -2);
	CHECK(rc == 0 || offset == 0);
	return 0;
}
