/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "diagnose/rules.h"
#include "diagnose/text.h"

static struct rama_diag_facts facts;
static struct rama_diag_sums sums;

static void expect(const char *template, const char *text)
{
	struct rama_arena arena = { 0 };
	struct rama_diag_text t = { .f = &facts, .x = &sums, .file = "out.h5", .arena = &arena };
	char *made = rama_diag_text_make(&t, template);

	assert_non_null(made);
	assert_string_equal(made, text);
	rama_arena_fini(&arena);
}

static int set_up(void **state)
{
	(void)state;
	memset(&facts, 0, sizeof(facts));
	memset(&sums, 0, sizeof(sums));
	sums.small_writes = 12345;
	sums.files = 1;
	sums.bytes_written = 3 * 1048576.0;
	facts.all.files = 2;
	facts.io_share = 0.84;
	facts.slow_rank = 12345;
	facts.limits.small_requests = 0.1;
	return 0;
}

static void figures_have_units(void **state)
{
	(void)state;
	expect("{small_writes} writes of {bytes_written}", "12,345 writes of 3.0 MiB");
	expect("{io_share} of the time", "84 % of the time");
	expect("more than {limit.small_requests}", "more than 10 %");
	expect("rank {slow_rank}", "rank 12345"); /* a name, not an amount */
}

static void words_fit_numbers(void **state)
{
	(void)state;
	expect("{files|file is|files are} bad", "1 file is bad");
	expect("{all.files|file is|files are} bad", "2 files are bad");
	expect("{all.files|bad}", "2 bad");
}

static void names_stand_for_files(void **state)
{
	(void)state;
	expect("write {file}", "write out.h5");
}

static void what_is_not_known_stays(void **state)
{
	(void)state;
	expect("", "");
	expect("{no_such_fact} {limit.no_such} {", "{no_such_fact} {limit.no_such} {");
	expect("a { b {small_writes}", "a { b 12,345");
	expect("{}{|}{||}", "{}{|}{||}");
}

static void figures_become_values_once(void **state)
{
	struct rama_arena arena = { 0 };
	struct rama_diag_text t = { .f = &facts, .x = &sums, .arena = &arena, .collect = true };

	(void)state;
	assert_non_null(rama_diag_text_make(&t, "{small_writes} {io_share} {small_writes} {file}"));
	assert_int_equal(t.n_values, 2);
	assert_string_equal(t.values[0].name, "small_writes");
	assert_string_equal(t.values[0].unit, "count");
	assert_true(t.values[0].value == 12345);
	assert_string_equal(t.values[1].name, "io_share");
	rama_arena_fini(&arena);
}

static void rules_name_known_figures_only(void **state)
{
	(void)state;
	assert_false(rama_diag_text_known("{no_such_fact}"));
	assert_false(rama_diag_text_known("{small_writes"));
	for (unsigned i = 0; i < rama_diag_n_rules; i++) {
		const struct rama_diag_rule_code *code = &rama_diag_rule_code[i];

		if (!rama_diag_text_known(code->headline) || !rama_diag_text_known(code->detail) ||
		    !rama_diag_text_known(code->how) || !rama_diag_text_known(code->verdict))
			fail_msg("%s names a figure that does not exist", rama_diag_rules[i].id);
	}
}

#define fresh(name) cmocka_unit_test_setup(name, set_up)
UNIT_GROUP(text, fresh(figures_have_units), fresh(words_fit_numbers), fresh(names_stand_for_files),
	   fresh(what_is_not_known_stays), fresh(figures_become_values_once),
	   fresh(rules_name_known_figures_only))
