/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_import.c: a file with events, read in pieces of the size that the first byte says. Every
 * message that comes of it can be sent, every block unpacks, sequences have no gap that the file
 * does not have, and a second time gives the same. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "index/import.h"

struct input {
	const uint8_t *p;
	size_t n, used, piece;
};

struct seen {
	uint64_t digest, events, messages;
};

static int64_t read_input(void *from, void *to, size_t n, struct rama_err *e)
{
	struct input *in = from;

	(void)e;
	n = n < in->piece ? n : in->piece;
	n = n < in->n - in->used ? n : in->n - in->used;
	memcpy(to, in->p + in->used, n);
	in->used += n;
	return (int64_t)n;
}

static int take(void *ctx, const struct rama_wire_message *m, struct rama_err *e)
{
	static struct rama_wire_block b;
	static struct rama_wire_block_packer p;
	struct rama_wire_bytes bytes = { 0 };
	struct seen *s = ctx;

	CHECK(rama_wire_message_encode(m, &bytes, e) == 0);
	s->digest = fuzz_digest(s->digest, bytes.b, bytes.n);
	rama_wire_bytes_fini(&bytes);
	s->messages++;
	if (m->kind == RAMA_WIRE_MSG_BLOCK) {
		CHECK(rama_wire_block_unpack(&p, &b, m->block.bytes, m->block.len, e) == 0);
		s->events += b.n;
	}
	return 0;
}

static void tell(void *ctx, const char *line)
{
	(void)ctx;
	CHECK(strlen(line) > 0 && strlen(line) < 640);
}

static struct seen once(const uint8_t *data, size_t size, size_t piece, int *rc)
{
	struct input in = { data, size, 0, piece };
	struct seen s = { 0 };
	struct rama_index_import_options o = { take, tell, &s };
	struct rama_index_import_source src = { "input", read_input, &in };
	struct rama_index_import_totals t;
	struct rama_err e = { 0 };

	*rc = rama_index_import(&src, &o, &t, &e);
	CHECK(*rc == 0 || *rc == RAMA_ECORRUPT || *rc == RAMA_EFORMAT);
	CHECK(*rc == 0 || e.text[0] != '\0');
	CHECK(t.messages == s.messages && (*rc == RAMA_EFORMAT || t.events == s.events));
	CHECK((*rc == 0) == (*rc != RAMA_EFORMAT && t.bad == 0) && t.bad <= t.lines);
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen a, b;
	int rc[2];

	if (size == 0)
		return 0;
	a = once(data + 1, size - 1, (size_t)data[0] + 1, &rc[0]);
	b = once(data + 1, size - 1, SIZE_MAX, &rc[1]);
	CHECK(rc[0] == rc[1] && a.digest == b.digest && a.events == b.events);
	return 0;
}
