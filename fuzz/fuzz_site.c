/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_site.c: the name of a place in a program, and the tables by which a stack is walked, are
 * anything. A name that is read is written the same way; a walk ends, only ever goes up, and asks
 * for few bytes. Input: what (1 byte: even: a name, odd: a stack), then that: registers (2 bytes
 * each, 17 of them), then memory from address 0 on. */
#include <string.h>

#include "base/code/site.h"
#include "base/code/unwind.h"
#include "fuzz.h"

enum { FRAMES = 32 };

/* a line of source is written again, too */
static void write_line(const struct rama_site_frame *f, const char *file)
{
	char function[RAMA_SITE_TEXT], again[RAMA_SITE_TEXT];
	struct rama_site_frame g;
	struct rama_site_pen p;
	size_t end = 0;

	CHECK(f->line > 0);
	if (f->function_len >= sizeof(function) ||
	    memchr(f->function, '\0', f->function_len) != NULL)
		return;
	memcpy(function, f->function, f->function_len);
	function[f->function_len] = '\0';
	rama_site_begin(&p, again, sizeof(again));
	if (!rama_site_add_line(&p, file, function, f->line))
		return;
	CHECK(p.len < sizeof(again) && again[p.len] == '\0');
	CHECK(rama_site_next(again, p.len, &end, &g) && end == p.len);
	CHECK(g.line == f->line && g.function_len == f->function_len && g.file_len == f->file_len);
}

static void read_name(const struct fuzz_input *in)
{
	const char *text = (const char *)in->p;
	char file[RAMA_SITE_TEXT], again[RAMA_SITE_TEXT];
	struct rama_site_frame f;
	size_t at = 0, before = 0;

	while (rama_site_next(text, in->n, &at, &f)) {
		struct rama_site_pen p;
		size_t end = 0;
		struct rama_site_frame g;

		CHECK(at > before && at <= in->n && f.n_build <= RAMA_SITE_BUILD);
		CHECK(f.file >= text && f.file + f.file_len <= text + in->n && f.file_len > 0);
		before = at;
		if (f.file_len >= sizeof(file) || memchr(f.file, '\0', f.file_len) != NULL)
			continue;
		memcpy(file, f.file, f.file_len);
		file[f.file_len] = '\0';
		if (f.function != NULL) {
			write_line(&f, file);
			continue;
		}
		rama_site_begin(&p, again, sizeof(again));
		if (!rama_site_add(&p, file, f.build, f.n_build, f.at))
			continue;
		CHECK(p.len < sizeof(again) && again[p.len] == '\0');
		CHECK(rama_site_next(again, p.len, &end, &g) && end == p.len);
		CHECK(g.at == f.at && g.n_build == f.n_build && g.file_len == f.file_len);
		CHECK(memcmp(g.build, f.build, f.n_build) == 0);
	}
}

struct memory {
	const struct fuzz_input *in;
	unsigned reads;
};

static bool peek(void *ctx, uint64_t at, void *to, size_t n)
{
	struct memory *m = ctx;

	CHECK(++m->reads < 200000);
	if (at > m->in->n || n > m->in->n - at)
		return false;
	memcpy(to, m->in->p + at, n);
	return true;
}

static void walk(struct fuzz_input *in)
{
	struct memory m = { .in = in };
	struct rama_unwind u = { .read = peek, .ctx = &m };

	for (unsigned i = 0; i < RAMA_UNWIND_REGISTERS; i++) {
		u.reg[i] = fuzz_take_byte(in);
		u.reg[i] |= (uint64_t)fuzz_take_byte(in) << 8;
	}
	u.known = (1u << RAMA_UNWIND_REGISTERS) - 1;
	for (unsigned i = 0; i < FRAMES; i++) {
		uint64_t before = u.reg[RAMA_UNWIND_RSP];

		if (!rama_unwind_up(&u, 0))
			break;
		CHECK(u.reg[RAMA_UNWIND_RSP] > before && u.reg[RAMA_UNWIND_PC] != 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	if (fuzz_take_byte(&in) % 2 == 0)
		read_name(&in);
	else
		walk(&in);
	return 0;
}
