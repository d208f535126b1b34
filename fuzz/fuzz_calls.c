/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_calls.c: packed calls of a record, whatever they are: number of calls (2 bytes; the highest
 * bit: of version 1), files (1 byte), then the bytes. Calls that can be read are written again and
 * read back. */
#include <string.h>

#include "fuzz.h"
#include "logfile/calls.h"
#include "table/table.h"

enum { WORDS = 2048 };

static void check_same(const struct rama_log_call *a, const struct rama_log_call *b)
{
	CHECK(a->id == b->id && a->parent == b->parent && a->layer == b->layer);
	CHECK(a->write == b->write && a->kind == b->kind && a->file == b->file);
	CHECK(a->linked == b->linked && a->tid == b->tid && a->unique == b->unique);
	CHECK(a->object == b->object && a->mark == b->mark && a->peer == b->peer &&
	      a->user == b->user);
	CHECK(a->off == b->off && a->bytes == b->bytes);
	CHECK(a->start == b->start && a->length == b->length);
	CHECK(a->op_len == b->op_len && memcmp(a->op, b->op, a->op_len) == 0);
}

/* what the pen took must come out again, call by call */
static void read_again(struct rama_log_calls_pen *pen, const struct rama_core_record *from)
{
	union rama_core_word w[RAMA_TAB_CALLS__WORDS] = { { .u = 0 } };
	struct rama_core_record r = { .w = w };
	struct rama_log_calls one, two;
	struct rama_log_call a, b;

	rama_log_calls_pen_give(pen, &r);
	CHECK(rama_log_calls_open(&one, from) == 0 && rama_log_calls_open(&two, &r) == 0);
	for (uint64_t i = 0; i < pen->n; i++) {
		CHECK(rama_log_calls_next(&one, &a) == 1 && rama_log_calls_next(&two, &b) == 1);
		check_same(&a, &b);
	}
	CHECK(rama_log_calls_next(&two, &b) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static union rama_core_word file[256], packed[WORDS];
	static struct rama_log_calls_pen pen;
	union rama_core_word w[RAMA_TAB_CALLS__WORDS] = { { .u = 0 } };
	struct rama_core_record r = { .w = w, .array = { file, packed } };
	struct fuzz_input in = { data, size };
	struct rama_log_calls calls;
	struct rama_log_call c;

	w[RAMA_TAB_CALLS_COUNT].u = fuzz_take_u16(&in);
	w[RAMA_TAB_CALLS_ROLE].i = w[RAMA_TAB_CALLS_COUNT].u >> 15 != 0 ? -1 : 1;
	w[RAMA_TAB_CALLS_COUNT].u &= 0x7fff;
	r.count[0] = fuzz_take_byte(&in);
	for (unsigned i = 0; i < 256; i++)
		file[i].u = i * 0x0123456789abcdefu;
	r.count[1] = (in.n + 7) / 8 < WORDS ? (in.n + 7) / 8 : WORDS;
	memset(packed, 0, sizeof(packed));
	memcpy(packed, in.p, in.n < sizeof(packed) ? in.n : sizeof(packed));
	if (rama_log_calls_open(&calls, &r) != 0)
		return 0;
	rama_log_calls_pen_clear(&pen);
	while (rama_log_calls_next(&calls, &c) > 0 && rama_log_calls_pen_add(&pen, &c))
		;
	read_again(&pen, &r);
	return 0;
}
