/* SPDX-License-Identifier: BSD-3-Clause */
/* place.c: names of places, and which directories may be used. */
#include "unit.h"

#include "segment/place.h"

static void names_come_back(void **st)
{
	static const uint32_t uid[] = { 0, 7, 1000, 20131, UINT32_MAX - 1 };
	struct rama_seg_place_other o = { 0x18001234abcdef01, 0xfedcba9876543210 };
	char name[RAMA_SEG_PLACE_NAME];
	uint32_t back;
	bool usual;

	(void)st;
	for (unsigned i = 0; i < sizeof(uid) / sizeof(uid[0]); i++) {
		rama_seg_place_name(name, uid[i], NULL);
		assert_true(rama_seg_place_read(name, &back, &usual));
		assert_true(usual);
		assert_int_equal(back, uid[i]);
		rama_seg_place_name(name, uid[i], &o);
		assert_true(rama_seg_place_read(name, &back, &usual));
		assert_false(usual);
		assert_int_equal(back, uid[i]);
	}
	rama_seg_place_name(name, 1000, &o);
	assert_string_equal(name, "iorama-1000-18001234abcdef01-fedcba9876543210");
}

static void others_are_none(void **st)
{
	static const char *const bad[] = {
		"",
		"iorama",
		"iorama-",
		"iorama-x",
		"iorama--1",
		"iorama-01",
		"iorama-4294967295",
		"iorama-99999999999999999999",
		"iorama-1000x",
		"iorama-1000-",
		"iorama-1000-18001234abcdef01",
		"iorama-1000-18001234abcdef01-",
		"iorama-1000-18001234abcdef01-fedcba987654321",
		"iorama-1000-18001234abcdef01-fedcba98765432100",
		"iorama-1000-18001234ABCDEF01-fedcba9876543210",
		"iorama-1000-18001234abcdef01/fedcba9876543210",
		"iorama-view-XXXXXX",
	};
	uint32_t uid;
	bool usual;

	(void)st;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (rama_seg_place_read(bad[i], &uid, &usual))
			fail_msg("%s is taken for a place", bad[i]);
}

static void bases_in_order(void **st)
{
	(void)st;
	assert_string_equal(rama_seg_place_base(0, "/scratch"), "/dev/shm");
	assert_string_equal(rama_seg_place_base(1, "/scratch"), "/scratch");
	assert_string_equal(rama_seg_place_base(2, "/scratch"), "/tmp");
	assert_null(rama_seg_place_base(3, "/scratch"));
	static const char *const same[] = { NULL,    "",	 "relative",  "/tmp",
					    "/tmp/", "/dev/shm", "/dev/shm//" };
	for (unsigned i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		assert_string_equal(rama_seg_place_base(1, same[i]), "/tmp");
		assert_null(rama_seg_place_base(2, same[i]));
	}
}

static void who_may_write(void **st)
{
	(void)st;
	assert_true(rama_seg_place_own(0040700, 5, 5));
	assert_true(rama_seg_place_own(0040755, 5, 5));
	assert_false(rama_seg_place_own(0040700, 6, 5));
	assert_false(rama_seg_place_own(0040720, 5, 5));
	assert_false(rama_seg_place_own(0040702, 5, 5));
	assert_false(rama_seg_place_own(0100700, 5, 5)); /* a file */
	assert_false(rama_seg_place_own(0120700, 5, 5)); /* a link */
	assert_true(rama_seg_place_steady(0041777));
	assert_true(rama_seg_place_steady(0040755));
	assert_false(rama_seg_place_steady(0040777));
	assert_true(rama_seg_place_firm(0x01021994));  /* tmpfs */
	assert_true(rama_seg_place_firm(0xef53));      /* ext4 */
	assert_true(rama_seg_place_firm(0x794c7630));  /* overlay */
	assert_false(rama_seg_place_firm(0x9123683e)); /* Btrfs */
}

UNIT_GROUP(place, test(names_come_back), test(others_are_none), test(bases_in_order),
	   test(who_may_write))
