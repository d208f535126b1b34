/* SPDX-License-Identifier: BSD-3-Clause */
/* a notice is claimed once, goes from state to state by who has it only, and counts */
#include "help.h"

#include "store/notice.h"

static const struct rama_store_notice note = { "ada", "metadata", "mail", 2940 };

static int claim(struct rama_store *s, const char *owner, int64_t job)
{
	struct rama_err e = { 0 };

	return rama_store_notice_claim(s, &note, owner, &job, 1, 5, &e);
}

static int move(struct rama_store *s, const char *from_owner, const char *from, const char *owner,
		const char *state)
{
	struct rama_err e = { 0 };

	return rama_store_notice_move(s, &note, from_owner, from, owner, state, 6, &e);
}

static void claimed_once(void **state)
{
	struct rama_store *s = fresh(), *other = reopen(RAMA_STORE_WRITE);

	(void)state;
	assert_int_equal(claim(s, "a", 17), 1);
	assert_int_equal(claim(s, "a", 18), 0);
	assert_int_equal(claim(other, "b", 19), 0);
	assert_int_equal(number(s, "SELECT count(*) FROM notices"), 1);
	assert_int_equal(number(s, "SELECT sum(job) FROM notice_jobs"), 17);
	rama_store_close(other);
	rama_store_close(s);
}

static void moved_by_its_owner(void **state)
{
	struct rama_store *s = fresh();

	(void)state;
	assert_int_equal(claim(s, "a", 17), 1);
	assert_int_equal(move(s, "b", "claimed", "b", "sending"), 0);
	assert_int_equal(move(s, "a", "failed", "a", "sending"), 0);
	assert_int_equal(move(s, "a", "claimed", "b", "claimed"), 1);
	assert_int_equal(move(s, "a", "claimed", "a", "sending"), 0);
	assert_int_equal(move(s, "b", "claimed", "b", "sending"), 1);
	assert_int_equal(move(s, "b", "claimed", "b", "sending"), 0);
	assert_int_equal(move(s, "b", "sending", "b", "failed"), 1);
	assert_int_equal(move(s, "b", "failed", "c", "claimed"), 1);
	assert_int_equal(move(s, "c", "claimed", "c", "sending"), 1);
	assert_int_equal(move(s, "c", "sending", "c", "sent"), 1);
	assert_int_equal(number(s, "SELECT tries FROM notices"), 2);
	assert_string_equal(text(s, "SELECT state FROM notices"), "sent");
	/* what became of it is counted, not the way there */
	assert_int_equal(number(s, "SELECT count(*) FROM totals WHERE name = 'notices'"), 2);
	assert_int_equal(number(s, "SELECT value FROM totals WHERE b = 'sent'"), 1);
	assert_int_equal(number(s, "SELECT value FROM totals WHERE b = 'failed'"), 1);
	rama_store_close(s);
}

static void wanted_or_not(void **state)
{
	struct rama_store *s = fresh();
	struct rama_err e = { 0 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rama_store_notice_off(s, "ada", "*", true, &e), 0);
		assert_int_equal(number(s, "SELECT count(*) FROM notice_off"), 1);
	}
	assert_int_equal(rama_store_notice_off(s, "bob", "*", false, &e), 0);
	assert_int_equal(number(s, "SELECT count(*) FROM notice_off"), 1);
	assert_int_equal(rama_store_notice_off(s, "ada", "*", false, &e), 0);
	assert_int_equal(number(s, "SELECT count(*) FROM notice_off"), 0);
	rama_store_close(s);
}

UNIT_GROUP(notice, test(claimed_once), test(moved_by_its_owner), test(wanted_or_not))
