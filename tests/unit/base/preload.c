/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "base/code/preload.h"

#define OWN "/x/copy.so"

static char to[128];

static const char *without(const char *list)
{
	assert_true(rama_preload_without(to, sizeof(to), list, OWN));
	return to;
}

static const char *with(const char *list)
{
	assert_true(rama_preload_with(to, sizeof(to), list, OWN));
	return to;
}

static void ours_is_known(void **state)
{
	(void)state;
	assert_true(rama_preload_has("a.so:/y/libiorama.so b.so", NULL));
	assert_true(rama_preload_has("libiorama.so.0", NULL));
	assert_true(rama_preload_has("a.so /x/copy.so", OWN));
	assert_false(rama_preload_has("a.so:/libiorama.so/b", OWN));
	assert_false(rama_preload_has("", OWN));
	assert_false(rama_preload_has(" :: ", OWN));
}

static void ours_is_taken_out(void **state)
{
	(void)state;
	assert_string_equal(without("/y/libiorama.so"), "");
	assert_string_equal(without("a.so:/x/copy.so b.so"), "a.so:b.so");
	assert_string_equal(without(":a.so:"), "a.so");
}

static void ours_is_put_in(void **state)
{
	(void)state;
	assert_string_equal(with(""), OWN);
	assert_string_equal(with("a.so"), OWN ":a.so");
	assert_string_equal(with("a.so:/usr/lib/libasan.so.8:b.so"),
			    "/usr/lib/libasan.so.8:" OWN ":a.so:b.so");
	assert_string_equal(with("/y/libiorama.so:a.so"), OWN ":a.so");
	assert_string_equal(with(OWN ":a.so"), OWN ":a.so");
}

static void first_and_back(void **state)
{
	(void)state;
	assert_true(rama_preload_first(to, sizeof(to), OWN ":a.so", "libasan.so.8"));
	assert_string_equal(to, "libasan.so.8:" OWN ":a.so");
	assert_true(rama_preload_first(to, sizeof(to), OWN ":libasan.so.8", "libasan.so.8"));
	assert_string_equal(to, "libasan.so.8:" OWN);
	assert_true(rama_preload_undo(to, sizeof(to), "libasan.so.8:" OWN ":a.so", "libasan.so.8"));
	assert_string_equal(to, OWN ":a.so");
	/* where the user has it elsewhere, it stays */
	assert_true(rama_preload_undo(to, sizeof(to), OWN ":libasan.so.8", "libasan.so.8"));
	assert_string_equal(to, OWN ":libasan.so.8");
}

static void what_does_not_fit(void **state)
{
	static const char list[] = "aa:bb:cc";
	char room[16];

	(void)state;
	for (size_t n = 0; n <= sizeof(room); n++) {
		memset(room, 'X', sizeof(room));
		assert_int_equal(rama_preload_without(room, n, list, OWN), n >= sizeof(list));
		for (size_t i = n; i < sizeof(room); i++)
			assert_int_equal(room[i], 'X');
	}
}

UNIT_GROUP(preload, test(ours_is_known), test(ours_is_taken_out), test(ours_is_put_in),
	   test(first_and_back), test(what_does_not_fit))
