/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "logfile/unseen.h"

static void line_and_back(void **state)
{
	struct rama_log_unseen_sum s = { 0 }, t = { 0 }, u = { 0 };
	char line[RAMA_LOG_UNSEEN_LINE], text[200], *at;
	unsigned names = 0;

	(void)state;
	rama_log_unseen_line(&s, line);
	assert_string_equal(line, "");
	rama_log_unseen_add(&s, RAMA_UNSEEN_LIBC, 1, "/x/a:b;c,d=e\n");
	rama_log_unseen_add(&s, RAMA_UNSEEN_STATIC, 2, "/bin/busybox");
	rama_log_unseen_add(&s, RAMA_UNSEEN_STATIC, 1, "tool");
	rama_log_unseen_add(&s, RAMA_UNSEEN_STATIC, 1, "busybox");
	rama_log_unseen_add(&s, RAMA_UNSEEN_NOT, 1, "x");
	rama_log_unseen_add(&s, RAMA_UNSEEN_STATIC, -5, "x");
	rama_log_unseen_line(&s, line);
	assert_string_equal(line, "iorama_unseen=static:4:busybox,tool;libc:1:a?b?c?d?e?\n");
	rama_log_unseen_read(&t, line);
	assert_memory_equal(&t.n, &s.n, sizeof(s.n));
	assert_int_equal(rama_log_unseen_total(&t), 5);
	rama_log_unseen_text(&t, text, sizeof(text));
	assert_string_equal(
		text, "4 statically linked (busybox, tool), 1 for another C library (a?b?c?d?e?)");
	rama_log_unseen_join(&t, &s);
	assert_int_equal(t.n[RAMA_UNSEEN_STATIC], 8);
	for (unsigned i = 0; i < 40; i++) { /* the first ones are named, all are counted */
		snprintf(text, sizeof(text), "p%u", i);
		rama_log_unseen_add(&u, RAMA_UNSEEN_BITS, 1, text);
	}
	rama_log_unseen_line(&u, line);
	for (at = line; (at = strchr(at, 'p')) != NULL; at++)
		names++;
	assert_int_equal(names, RAMA_LOG_UNSEEN_NAMES);
	assert_int_equal(u.n[RAMA_UNSEEN_BITS], 40);
	rama_log_unseen_text(&t, text, 20); /* cut, but whole pieces */
	assert_true(strlen(text) < 20);
}

static void what_makes_no_sense(void **state)
{
	static const char *const none[] = {
		"",
		"iorama_unseen=",
		"iorama_unseen=static",
		"iorama_unseen=static:",
		"iorama_unseen=static:x",
		"iorama_unseen=:3",
		"iorama_unseen=static:-3",
		"iorama_unseen=static:99999999999999999999",
		"xiorama_unseen=static:3",
		"iorama_unseen=;;;",
		"iorama_unseen=static:3x:a",
		"iorama_unseen=static:0:a",
	};
	struct rama_log_unseen_sum s = { 0 };

	(void)state;
	for (size_t i = 0; i < LENGTH(none); i++) {
		rama_log_unseen_read(&s, none[i]);
		assert_int_equal(rama_log_unseen_total(&s), 0);
	}
	rama_log_unseen_read(&s, "a=b\niorama_unseen=later:2:p;static:1\nc=d\n");
	assert_int_equal(s.n[RAMA_UNSEEN_OTHER], 2);
	assert_int_equal(s.n[RAMA_UNSEEN_STATIC], 1);
}

static void names_have_limits(void **state)
{
	struct rama_log_unseen_sum s = { 0 }, t = { 0 };
	char line[RAMA_LOG_UNSEEN_LINE], name[64];

	(void)state;
	for (unsigned why = 1; why < RAMA_UNSEEN_REASONS; why++)
		for (unsigned i = 0; i < 20; i++) {
			snprintf(name, sizeof(name), "%040u", why * 100 + i);
			rama_log_unseen_add(&s, (enum rama_unseen)why, INT64_MAX / 4, name);
		}
	rama_log_unseen_line(&s, line);
	assert_true(strlen(line) < sizeof(line) && line[strlen(line) - 1] == '\n');
	rama_log_unseen_read(&t, line);
	for (unsigned why = 1; why < RAMA_UNSEEN_REASONS; why++)
		assert_true(t.n[why] > 0); /* no reason is lost for the sake of names */
}

static void line_is_replaced(void **state)
{
	struct rama_log_unseen_sum s = { 0 };
	char meta[64] = "a=b\niorama_unseen=static:3:x\nc=d\n";

	(void)state;
	rama_log_unseen_add(&s, RAMA_UNSEEN_LIBC, 2, NULL);
	rama_log_unseen_replace(&s, meta, sizeof(meta));
	assert_string_equal(meta, "a=b\nc=d\niorama_unseen=libc:2\n");
	rama_log_unseen_replace(&(struct rama_log_unseen_sum){ 0 }, meta, sizeof(meta));
	assert_string_equal(meta, "a=b\nc=d\n");
	rama_log_unseen_replace(&s, meta, 10); /* no room: the rest stays whole */
	assert_string_equal(meta, "a=b\nc=d\n");
}

UNIT_GROUP(unseen, test(line_and_back), test(what_makes_no_sense), test(names_have_limits),
	   test(line_is_replaced))
