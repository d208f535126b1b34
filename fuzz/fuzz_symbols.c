/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_symbols.c: the input is a library in which a function is looked for, as a file and as it
 * lies in memory. Whatever it is, nothing outside of it is read, and the answer is one of three. */
#include <string.h>

#include "attach/loaded.h"
#include "attach/symbols.h"
#include "fuzz.h"

enum { BASE = 0x10000 };

static bool read_there(void *ctx, uint64_t at, void *to, size_t n)
{
	const struct fuzz_input *in = ctx;

	if (at < BASE || at - BASE > in->n || n > in->n - (at - BASE))
		return false;
	memcpy(to, in->p + (at - BASE), n);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	const struct rama_attach_loaded l = { .read = read_there, .ctx = &in, .base = BASE };
	struct rama_attach_function f;
	uint64_t offset = 0;
	int rc = rama_attach_symbol_find(data, size, "dlopen", &offset);

	CHECK(rc == 0 || rc == -1 || rc == -2);
	CHECK(rc == 0 || offset == 0);
	rc = rama_attach_symbol_own(data, size, "dlopen", &f);
	CHECK((rc == 0) == (f.found > 0) && rc <= 0 && rc >= -2);
	offset = 0;
	rc = rama_attach_loaded_find(&l, "dlopen", &offset);
	CHECK(rc == 0 || ((rc == -1 || rc == -2) && offset == 0));
	return 0;
}
