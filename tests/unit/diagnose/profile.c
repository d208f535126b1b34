/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "diagnose/diagnose.h"

static int read_text(struct rama_diag_profile *p, const char *text, struct rama_err *e)
{
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int rc;

	assert_non_null(f);
	rc = rama_diag_profile_read(p, f, "site.ini", e);
	fclose(f);
	return rc;
}

static double value_of(const struct rama_diag_profile *p, const char *name)
{
	for (unsigned i = 0; i < rama_diag_n_limits; i++)
		if (strcmp(rama_diag_limits[i].name, name) == 0)
			return p->value[i];
	fail_msg("no limit %s", name);
	return 0;
}

static void limits_are_within_their_bounds(void **state)
{
	(void)state;
	for (unsigned i = 0; i < rama_diag_n_limits; i++) {
		const struct rama_diag_limit *l = &rama_diag_limits[i];

		assert_true(l->least <= l->value && l->value <= l->most);
		assert_true(l->doc[0] != '\0' && l->unit[0] != '\0');
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(l->name, rama_diag_limits[k].name);
	}
}

static void defaults_come_first(void **state)
{
	struct rama_diag_profile p;

	(void)state;
	assert_int_equal(rama_diag_profile_init(&p), 0);
	for (unsigned i = 0; i < rama_diag_n_limits; i++) {
		assert_true(p.value[i] == rama_diag_limits[i].value);
		assert_string_equal(p.source[i], "default");
	}
	rama_diag_profile_fini(&p);
}

static void later_values_win(void **state)
{
	struct rama_diag_profile p;
	struct rama_err e = { 0 };

	(void)state;
	assert_int_equal(rama_diag_profile_init(&p), 0);
	assert_int_equal(
		read_text(&p, "; site\n[limits]\nsmall_requests = 0.3\nstats = 20 # many\n", &e),
		0);
	assert_int_equal(read_text(&p, "[limits]\nsmall_requests = 0.4\n", &e), 0);
	assert_true(value_of(&p, "small_requests") == 0.4);
	assert_true(value_of(&p, "stats") == 20);
	rama_diag_profile_fini(&p);
}

static void numbers_may_have_units(void **state)
{
	static const struct {
		const char *text, *name;
		double value;
	} cases[] = {
		{ "[limits]\nsmall_requests = 20%\n", "small_requests", 0.2 },
		{ "[limits]\nstripe_file = 2 GiB\n", "stripe_file", 2147483648.0 },
		{ "[limits]\ngood_rate = 100MiB/s\n", "good_rate", 104857600 },
		{ "[limits]\ncost_floor = 250 ms\n", "cost_floor", 0.25 },
		{ "[limits]\nmetadata_time_rank = 2min\n", "metadata_time_rank", 120 },
		{ "[limits]\namplification = 1.5x\n", "amplification", 1.5 },
	};
	struct rama_diag_profile p;
	struct rama_err e = { 0 };

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		assert_int_equal(rama_diag_profile_init(&p), 0);
		assert_int_equal(read_text(&p, cases[i].text, &e), 0);
		assert_true(value_of(&p, cases[i].name) > cases[i].value * (1 - 1e-12));
		assert_true(value_of(&p, cases[i].name) < cases[i].value * (1 + 1e-12));
		rama_diag_profile_fini(&p);
	}
}

static void mistakes_name_the_line(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "[limits]\n\nsmal_requests = 0.2\n",
		  "site.ini: line 3: no limit is called 'smal_requests'; iorama report --limits "
		  "lists them" },
		{ "[limits]\nsmall_requests = 64 MiB\n",
		  "site.ini: line 2: small_requests: '64 MiB' is not a number of unit share" },
		{ "[limits]\nsmall_requests = lots\n",
		  "site.ini: line 2: small_requests: 'lots' is not a number of unit share" },
		{ "[limits]\nsmall_requests =\n",
		  "site.ini: line 2: small_requests: '' is not a number of unit share" },
		{ "[limits]\nsmall_requests = nan\n",
		  "site.ini: line 2: small_requests: 'nan' is not a number of unit share" },
		{ "[limits]\nsmall_requests = 1.5\n",
		  "site.ini: line 2: small_requests: 1.5 is not between 0 and 1" },
		{ "[rules]\nW01 = off\n",
		  "site.ini: line 2: 'W01' stands in section [rules]; only [limits] is known" },
		{ "small_requests = 0.2\n", "site.ini: line 1: 'small_requests' stands in section "
					    "[]; only [limits] is known" },
		{ "[limits]\nsmall_requests\n",
		  "site.ini: line 2: expected 'name = value' or '[limits]'" },
	};
	struct rama_diag_profile p;

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct rama_err e = { 0 };

		assert_int_equal(rama_diag_profile_init(&p), 0);
		assert_int_equal(read_text(&p, cases[i].text, &e), RAMA_EFORMAT);
		assert_string_equal(e.text, cases[i].message);
		assert_int_equal(rama_err_status(e.code), 3);
		assert_true(value_of(&p, "small_requests") == 0.1);
		rama_diag_profile_fini(&p);
	}
}

UNIT_GROUP(profile, test(limits_are_within_their_bounds), test(defaults_come_first),
	   test(later_values_win), test(numbers_may_have_units), test(mistakes_name_the_line))
