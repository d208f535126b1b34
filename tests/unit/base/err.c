/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "base/err.h"

static void places_are_put_in_front(void **state)
{
	struct rama_err e = { 0 };

	(void)state;
	assert_int_equal(rama_err_set(&e, RAMA_ETRUNC, "ends after %d", 17), RAMA_ETRUNC);
	assert_int_equal(rama_err_prefix(&e, "record %u", 3u), RAMA_ETRUNC);
	assert_int_equal(rama_err_prefix(&e, "POSIX"), RAMA_ETRUNC);
	assert_string_equal(e.text, "POSIX: record 3: ends after 17");
	assert_int_equal(e.code, RAMA_ETRUNC);
}

static void long_texts_are_cut(void **state)
{
	struct rama_err e = { 0 };
	char want[2 * sizeof(e.text)];

	(void)state;
	rama_err_set(&e, RAMA_EIO, "%01000d", 7);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	rama_err_prefix(&e, "place");
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	snprintf(want, sizeof(e.text), "place: %0400d", 0);
	assert_memory_equal(e.text, want, 300);
	rama_err_prefix(&e, "%0900d", 0); /* a prefix longer than all the room */
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	assert_int_equal(e.code, RAMA_EIO);
}

static void names_in_it_do_nothing_to_a_terminal(void **state)
{
	struct rama_err e = { 0 };

	(void)state;
	rama_err_set(&e, RAMA_EFORMAT, "%s: no µ in it", "a\033[31mb\x7f\xc2\x9b\xff");
	assert_string_equal(e.text, "a?[31mb????: no µ in it");
	rama_err_prefix(&e, "\033]0;x\a");
	assert_string_equal(e.text, "?]0;x?: a?[31mb????: no µ in it");
}

static void nobody_has_to_want_the_words(void **state)
{
	(void)state;
	assert_int_equal(rama_err_set(NULL, RAMA_EMEMORY, "x"), RAMA_EMEMORY);
	assert_true(rama_err_prefix(NULL, "x") < 0);
}

static void every_error_has_words_and_a_status(void **state)
{
	(void)state;
	for (int code = RAMA_E_FIRST + 1; code < RAMA_E_LAST; code++) {
		assert_true(code < 0 && rama_err_text(code)[0] != '\0');
		assert_in_range(rama_err_status(code), 2, 4);
	}
	assert_int_equal(rama_err_status(RAMA_EUSAGE), 2);
	assert_int_equal(rama_err_status(RAMA_ETRUNC), 3);
	assert_int_equal(rama_err_status(RAMA_EFORMAT), 3);
	assert_int_equal(rama_err_status(RAMA_EMISSING), 3);
	assert_int_equal(rama_err_status(RAMA_EIO), 4);
	assert_int_equal(rama_err_status(RAMA_EMEMORY), 4);
	assert_int_equal(rama_err_status(0), 0);
	assert_non_null(rama_err_text(0));
}

UNIT_GROUP(err, test(places_are_put_in_front), test(long_texts_are_cut),
	   test(names_in_it_do_nothing_to_a_terminal), test(nobody_has_to_want_the_words),
	   test(every_error_has_words_and_a_status))
