/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "logfile/meta.h"

static void values_are_found_in_their_own_line(void **state)
{
	static const char text[] = "lib_ver=1\nnote=iorama_step=7\niorama_step=\niorama_name=a b";
	size_t n = 9;

	(void)state;
	assert_null(rama_log_meta_get(text, "ver=", &n));
	assert_null(rama_log_meta_get("", "ver=", &n));
	assert_null(rama_log_meta_get("note2=3\nnot=4", "note=", &n));
	assert_non_null(rama_log_meta_get(text, "iorama_step=", &n));
	assert_int_equal(n, 0);
	assert_memory_equal(rama_log_meta_get(text, "iorama_name=", &n), "a b", 3);
	assert_int_equal(n, 3);
}

static void lines_are_whole_or_not_there(void **state)
{
	char text[16] = "a=1\n";

	(void)state;
	rama_log_meta_add(text, sizeof(text), "bb=too long for it\nc=3\n");
	assert_string_equal(text, "a=1\nc=3\n");
	rama_log_meta_set(text, sizeof(text), "a=", "2345");
	assert_string_equal(text, "c=3\na=2345\n");
	rama_log_meta_set(text, sizeof(text), "d=", "123");
	assert_string_equal(text, "c=3\na=2345\n");
	rama_log_meta_set(text, sizeof(text), "c=", "");
	assert_string_equal(text, "a=2345\n");
	rama_log_meta_add(text, sizeof(text), "e=1234\n"); /* the NUL has no room */
	rama_log_meta_add(text, sizeof(text), "f=12345\n");
	assert_string_equal(text, "a=2345\ne=1234\n");
	strcpy(text, "a=1\n"); /* NOLINT: it fits */
	rama_log_meta_set(text, 8, "b=", "1");
	assert_string_equal(text, "a=1\n");
	rama_log_meta_set(text, 9, "b=", "1"); /* with its line and the NUL, to the byte */
	assert_string_equal(text, "a=1\nb=1\n");
}

/* a step that differs is nobody's, also if a third log says the first again */
static void what_logs_agree_upon(void **state)
{
	char all[RAMA_LOG_BATCH_ROOM] = "";

	(void)state;
	rama_log_batch_join(all, "lib_ver=1\niorama_step=0\niorama_name=x\n");
	rama_log_batch_join(all, "iorama_name=x\n");
	assert_string_equal(all, "iorama_step=0\niorama_name=x\n");
	rama_log_batch_join(all, "iorama_step=1\niorama_account=a\n");
	rama_log_batch_join(all, "iorama_step=0\niorama_account=a\n");
	rama_log_batch_done(all);
	assert_string_equal(all, "iorama_name=x\niorama_account=a\n");
}

UNIT_GROUP(meta, test(values_are_found_in_their_own_line), test(lines_are_whole_or_not_there),
	   test(what_logs_agree_upon))
