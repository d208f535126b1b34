/* SPDX-License-Identifier: BSD-3-Clause */
/* kinds.c: what holds for every kind of record, and the skeleton that new ones are copied from. */
#include "ops.h"

#include "core/kind.h"

#define TICK 0.25 /* seconds */

extern const struct rama_core_kind rama_core_kind_skeleton;

static void slots_have_room_and_words_are_in_them(void **state)
{
	(void)state;
	for (unsigned k = 0; k < RAMA_TAB_KINDS; k++) {
		const struct rama_core_kind *kind = rama_core_kinds[k];
		const struct rama_tab_module *mod = rama_tab_module_get(rama_core_kind_module[k]);

		assert_non_null(mod);
		assert_true(kind->size <= RAMA_CORE_SLOT_MOST && kind->size % 8 == 0);
		assert_true(kind->words >= sizeof(struct rama_core_slot) && kind->words % 8 == 0);
		assert_true(kind->words + 8u * mod->record->words <= kind->size);
	}
}

static void a_new_slot_is_at_rest_and_becomes_an_empty_record(void **state)
{
	(void)state;
	for (unsigned k = 0; k < RAMA_TAB_KINDS; k++) {
		static union rama_core_word slot[RAMA_CORE_SLOT_MOST / 8],
			w[RAMA_CORE_SLOT_MOST / 8];
		const struct rama_core_kind *kind = rama_core_kinds[k];
		const struct rama_core_slot *head = (const void *)slot;

		memset(slot, 0xa5, sizeof(slot));
		kind->init(slot, &(struct rama_core_new){ .id = 4711, .file_id = 12 });
		assert_int_equal(head->seq, 0);
		assert_int_equal(head->name, 0);
		assert_int_equal(head->stuck, 0);
		assert_int_equal(slot[kind->words / 8 + RAMA_TAB_ID].u, 4711);
		kind->finish(slot, TICK, w);
		assert_int_equal(w[RAMA_TAB_ID].u, 4711);
		assert_int_equal(w[RAMA_TAB_RANK].u, 0);
	}
}

static void a_kind_leaves_alone_what_is_beyond_its_slot(void **state)
{
	(void)state;
	for (unsigned k = 0; k < RAMA_TAB_KINDS; k++) {
		static unsigned char slot[2 * RAMA_CORE_SLOT_MOST] __attribute__((aligned(8)));
		const struct rama_core_kind *kind = rama_core_kinds[k];

		memset(slot, 0xa5, sizeof(slot));
		kind->init(slot, &(struct rama_core_new){ .id = 1 });
		for (unsigned op = 0; kind->apply != NULL && op < RAMA_TAB_OPS; op++) {
			struct rama_core_op c = call_at((enum rama_tab_opkind)op, 10, 20);

			kind->apply(slot, &c);
		}
		for (size_t i = kind->size; i < sizeof(slot); i++)
			assert_int_equal(slot[i], 0xa5);
	}
}

static void standard_streams_are_idle_until_they_are_used(void **state)
{
	struct rama_core_new n = { .id = 1, .standard = true };
	static union rama_core_word slot[RAMA_CORE_SLOT_MOST / 8];
	const struct rama_core_kind *kind = &rama_core_kind_stdio;
	struct rama_core_op op = call_at(RAMA_TAB_OP_WRITE, 10, 20);

	(void)state;
	kind->init(slot, &n);
	assert_true(kind->is_idle(slot));
	op.bytes = 1;
	kind->apply(slot, &op);
	assert_false(kind->is_idle(slot));
	n.standard = false;
	kind->init(slot, &n);
	assert_false(kind->is_idle(slot));
}

static void the_skeleton_counts(void **state)
{
	enum { OPENS = RAMA_TAB_BASE_WORDS, WRITES, BYTES, START, END, TIME };
	static union rama_core_word slot[RAMA_CORE_SLOT_MOST / 8], w[16];
	struct rama_core_op op = call_at(RAMA_TAB_OP_OPEN, 2, 4);

	(void)state;
	rama_core_kind_skeleton.init(slot, &(struct rama_core_new){ .id = 9 });
	rama_core_kind_skeleton.apply(slot, &op);
	for (unsigned i = 0; i < 3; i++) {
		op = call_at(RAMA_TAB_OP_WRITE, 10 * (i + 1), 10 * (i + 1) + 4);
		op.bytes = 100;
		op.ok = i < 2;
		rama_core_kind_skeleton.apply(slot, &op);
	}
	rama_core_kind_skeleton.finish(slot, TICK, w);
	assert_int_equal(w[RAMA_TAB_ID].u, 9);
	assert_int_equal(w[OPENS].i, 1);
	assert_int_equal(w[WRITES].i, 2);
	assert_int_equal(w[BYTES].i, 200);
	assert_true(w[START].f == 10 * TICK && w[END].f == 24 * TICK && w[TIME].f == 8 * TICK);
}

UNIT_GROUP(kinds, cmocka_unit_test(slots_have_room_and_words_are_in_them),
	   cmocka_unit_test(a_new_slot_is_at_rest_and_becomes_an_empty_record),
	   cmocka_unit_test(a_kind_leaves_alone_what_is_beyond_its_slot),
	   cmocka_unit_test(standard_streams_are_idle_until_they_are_used),
	   cmocka_unit_test(the_skeleton_counts))
