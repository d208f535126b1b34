/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_gluster.c: memory of a GlusterFS of any version, or of something that is none: nothing is
 * read that is not there, and what is taken for a table, a frame or an identity is one. Input: the
 * length of a path and the path; a layout for paths that have none (1 byte), addresses of an
 * xlator_api, a frame and a translator, begin and end of code and data (2 bytes each); the rest is
 * all memory there is: address 16 and so on. */
#include <stdlib.h>
#include <string.h>

#include "core/foreign/gluster.h"
#include "fuzz.h"

enum { FIRST = 16 };

static const unsigned char *memory;
static size_t memory_n;

static bool is_there(uintptr_t from, size_t n)
{
	return from >= FIRST && from - FIRST <= memory_n && n <= memory_n - (from - FIRST);
}

static bool read_there(void *to, uintptr_t from, size_t n)
{
	if (!is_there(from, n))
		return false;
	memcpy(to, memory + (from - FIRST), n);
	return true;
}

static uintptr_t word(uintptr_t at)
{
	uintptr_t v = 0;

	CHECK(read_there(&v, at, sizeof(v)));
	return v;
}

static const struct rama_core_gluster_layout *layout_of(struct fuzz_input *in)
{
	static const char *const known[] = { "/glusterfs/7.9/xlator/a.so",
					     "/glusterfs/10.3/xlator/a.so",
					     "/glusterfs/11.1/xlator/a.so" };
	char path[256] = "", version[RAMA_CORE_GLUSTER_VERSION];
	struct fuzz_input text = fuzz_take(in, fuzz_take_byte(in));
	uint8_t without = fuzz_take_byte(in);
	const struct rama_core_gluster_layout *is;

	if (text.n > 0)
		memcpy(path, text.p, text.n);
	is = rama_core_gluster_layout_of(path, version);
	CHECK(strlen(version) < sizeof(version));
	CHECK(is == NULL || (strstr(path, "/xlator/") != NULL && version[0] >= '0' &&
			     version[0] <= '9' && strchr(version, '.') != NULL));
	return is != NULL ? is : rama_core_gluster_layout_of(known[without % 3], version);
}

static void check_table(const struct rama_core_gluster_layout *is, uintptr_t api,
			const struct rama_core_gluster_object *o)
{
	uintptr_t own[RAMA_CORE_GLUSTER_OPS], table;

	for (unsigned i = 0; i < RAMA_CORE_GLUSTER_OPS; i++)
		own[i] = UINTPTR_MAX - i;
	table = rama_core_gluster_table(is, read_there, api, o, own);
	if (table == 0)
		return;
	CHECK(table == word(api + is->table) && table % sizeof(table) == 0);
	for (unsigned i = 0; i < RAMA_CORE_GLUSTER_OPS; i++) {
		uintptr_t at = table + rama_core_gluster_at(i), f = word(at);

		CHECK(at >= o->data && at + sizeof(f) <= o->data_to);
		CHECK(f == own[i] || (f >= o->text && f < o->text_to));
	}
}

/* what is used of a frame without asking again */
static void check_frame(const struct rama_core_gluster_layout *is, uintptr_t frame, uintptr_t self)
{
	uintptr_t stack, f = frame;

	if (!rama_core_gluster_frame(is, read_there, frame, self))
		return;
	stack = word(frame);
	CHECK(word(frame + is->self) == self && word(frame + is->ret) != 0);
	CHECK(is_there(stack, RAMA_CORE_GLUSTER_STACK_END));
	for (unsigned n = 0; f != 0; n++) {
		CHECK(n <= 64 && word(f) == stack);
		word(f + is->cookie);
		word(f + is->ret);
		f = word(f + RAMA_CORE_GLUSTER_FRAME_PARENT);
	}
	f = word(self);
	CHECK(is_there(f, 2) && memory[f - FIRST] > ' ' && memory[f - FIRST] < 127);
}

static void check_text(uintptr_t at)
{
	char text[RAMA_CORE_GLUSTER_IDENTITY], id[RAMA_CORE_GLUSTER_IDENTITY];
	size_t n = rama_core_gluster_text_at(read_there, at, text), m;

	if (n == 0)
		return;
	CHECK(n < sizeof(text) && strlen(text) == n && is_there(at, n + 1));
	m = rama_core_gluster_identity(id, sizeof(id), text);
	CHECK(m < sizeof(id) && (m == 0 || strlen(id) == m));
	CHECK(m == 0 || memcmp(text, "CTX_ID:", 7) == 0);
	for (size_t room = 0; room < 24; room++) {
		char *little = malloc(room > 0 ? room : 1);

		CHECK(little != NULL);
		m = rama_core_gluster_identity(little, room, text);
		CHECK(m == 0 || (m < room && strlen(little) == m));
		free(little);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	const struct rama_core_gluster_layout *is = layout_of(&in);
	uintptr_t api = fuzz_take_u16(&in), frame = fuzz_take_u16(&in), self = fuzz_take_u16(&in);
	struct rama_core_gluster_object o = { .text = fuzz_take_u16(&in),
					      .text_to = fuzz_take_u16(&in),
					      .data = fuzz_take_u16(&in),
					      .data_to = fuzz_take_u16(&in) };
	unsigned char *exact = malloc(in.n + 1); /* so that a byte too many is seen */

	CHECK(exact != NULL && is != NULL);
	if (in.n > 0)
		memcpy(exact, in.p, in.n);
	exact = realloc(exact, in.n > 0 ? in.n : 1);
	memory = exact;
	memory_n = in.n;
	check_table(is, api, &o);
	check_frame(is, frame, self);
	check_text(frame);
	check_text(self);
	if (is_there(api, 16))
		rama_core_gluster_is_id(memory + (api - FIRST));
	free(exact);
	return 0;
}
