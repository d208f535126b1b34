/* SPDX-License-Identifier: BSD-3-Clause */
/* json.c: what the JSON writer writes, another program's parser reads. */
#include "unit.h"

#include <float.h>
#include <jansson.h>
#include <math.h>

#include "base/json.h"

/* writes with `make`, reads back */
static json_t *parsed(void (*make)(struct rama_json *j, const void *arg), const void *arg)
{
	struct rama_out o;
	struct rama_json j;
	json_error_t e;
	json_t *root;

	rama_out_init(&o, NULL, NULL);
	rama_json_init(&j, &o);
	make(&j, arg);
	root = json_loadb(o.buf, o.used, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES,
			  &e);
	if (root == NULL)
		fail_msg("%s: %.*s", e.text, (int)o.used, o.buf);
	rama_out_fini(&o);
	return root;
}

struct text {
	const char *bytes;
	size_t n;
};

static void make_text(struct rama_json *j, const void *arg)
{
	const struct text *t = arg;

	rama_json_text(j, t->bytes, t->n);
}

static void check_text(const char *bytes, size_t n, const char *want, size_t want_n)
{
	struct text t = { bytes, n };
	json_t *v = parsed(make_text, &t);

	assert_int_equal(json_string_length(v), want_n);
	assert_memory_equal(json_string_value(v), want, want_n);
	json_decref(v);
}

static void every_byte_below_128_comes_back(void **state)
{
	char all[128];

	(void)state;
	for (unsigned i = 0; i < sizeof(all); i++) {
		all[i] = (char)i;
		check_text(&all[i], 1, &all[i], 1);
	}
	check_text(all, sizeof(all), all, sizeof(all));
	check_text("", 0, "", 0);
}

static void utf8_comes_back(void **state)
{
	static const char *const good[] = { "\xc2\x80",		"\xdf\xbf",
					    "\xe0\xa0\x80",	"\xed\x9f\xbf",
					    "\xee\x80\x80",	"\xef\xbf\xbf",
					    "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
					    "a\xe2\x82\xac b" };

	(void)state;
	for (size_t i = 0; i < LENGTH(good); i++)
		check_text(good[i], strlen(good[i]), good[i], strlen(good[i]));
}

#define BAD "\xef\xbf\xbd" /* U+FFFD */

static void bytes_that_are_no_utf8_are_replaced(void **state)
{
	static const struct {
		const char *bytes, *want;
	} bad[] = {
		{ "\x80", BAD },			 /* continues nothing */
		{ "a\xff z", "a" BAD " z" },		 /* never occurs */
		{ "\xc0\x80", BAD BAD },		 /* longer than needed */
		{ "\xe0\x9f\xbf", BAD BAD BAD },	 /* longer than needed */
		{ "\xed\xa0\x80", BAD BAD BAD },	 /* half of a pair */
		{ "\xed\xbf\xbf", BAD BAD BAD },	 /* the other half */
		{ "\xf4\x90\x80\x80", BAD BAD BAD BAD }, /* above the last character */
		{ "\xe2\x82", BAD BAD },		 /* cut */
		{ "\xe2\x82"
		  "a",
		  BAD BAD "a" },
		{ "\xf0\x9f\x98", BAD BAD BAD },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(bad); i++)
		check_text(bad[i].bytes, strlen(bad[i].bytes), bad[i].want, strlen(bad[i].want));
}

static void make_double(struct rama_json *j, const void *arg)
{
	rama_json_f64(j, *(const double *)arg);
}

static void doubles_come_back_exactly(void **state)
{
	struct rng r = { 4 };

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		static const double edge[] = { 0,	1,	   -1,	    0.1,
					       1e6,	1e15,	   1e16,    1e17,
					       1e22,	1e23,	   DBL_MAX, -DBL_MAX,
					       DBL_MIN, 0x1p-1074, 1.0 / 3, 0x1p53 };
		uint64_t bits = rng_u64(&r);
		double v;
		json_t *back;

		memcpy(&v, &bits, sizeof(v));
		if (i < LENGTH(edge))
			v = edge[i];
		else if (i % 2)
			v = rng_unit(&r) * 1e4;
		if (!isfinite(v) || (v != 0 && fabs(v) < DBL_MIN && i >= LENGTH(edge)))
			continue; /* jansson refuses denormals that underflow */
		back = parsed(make_double, &v);
		if (json_number_value(back) != v)
			fail_msg("%a came back as %a", v, json_number_value(back));
		json_decref(back);
	}
}

static void what_is_no_number_is_null(void **state)
{
	static const double none[] = { INFINITY, -INFINITY, NAN };

	(void)state;
	for (size_t i = 0; i < LENGTH(none); i++) {
		json_t *v = parsed(make_double, &none[i]);

		assert_true(json_is_null(v));
		json_decref(v);
	}
}

static void make_numbers(struct rama_json *j, const void *arg)
{
	(void)arg;
	rama_json_open(j, '[');
	rama_json_id(j, UINT64_MAX);
	rama_json_id(j, (1ull << 53) + 1);
	rama_json_id(j, 0);
	rama_json_i64(j, INT64_MIN);
	rama_json_i64(j, INT64_MAX);
	rama_json_close(j, ']');
}

static void ids_are_strings_and_integers_are_whole(void **state)
{
	json_t *v = parsed(make_numbers, NULL);

	(void)state;
	assert_string_equal(json_string_value(json_array_get(v, 0)), "18446744073709551615");
	assert_string_equal(json_string_value(json_array_get(v, 1)), "9007199254740993");
	assert_string_equal(json_string_value(json_array_get(v, 2)), "0");
	assert_true(json_integer_value(json_array_get(v, 3)) == INT64_MIN);
	assert_true(json_integer_value(json_array_get(v, 4)) == INT64_MAX);
	json_decref(v);
}

static void make_nested(struct rama_json *j, const void *arg)
{
	(void)arg;
	rama_json_open(j, '{');
	rama_json_key(j, "empty list");
	rama_json_open(j, '[');
	rama_json_close(j, ']');
	rama_json_key(j, "empty object");
	rama_json_open(j, '{');
	rama_json_close(j, '}');
	rama_json_key(j, "a \"key\"\n");
	rama_json_open(j, '[');
	rama_json_bool(j, true);
	rama_json_bool(j, false);
	rama_json_null(j);
	rama_json_string(j, NULL);
	rama_json_open(j, '[');
	rama_json_i64(j, 1);
	rama_json_close(j, ']');
	rama_json_i64(j, 2);
	rama_json_close(j, ']');
	rama_json_key(j, "last");
	rama_json_string(j, "x");
	rama_json_close(j, '}');
}

static void commas_stand_where_they_belong(void **state)
{
	json_t *v = parsed(make_nested, NULL);
	char *text = json_dumps(v, JSON_COMPACT | JSON_PRESERVE_ORDER);

	(void)state;
	assert_string_equal(text, "{\"empty list\":[],\"empty object\":{},\"a \\\"key\\\"\\n\":"
				  "[true,false,null,null,[1],2],\"last\":\"x\"}");
	free(text);
	json_decref(v);
}

static void make_deep(struct rama_json *j, const void *arg)
{
	(void)arg;
	for (unsigned i = 1; i < RAMA_JSON_DEPTH; i++)
		rama_json_open(j, '[');
	for (unsigned i = 1; i < RAMA_JSON_DEPTH; i++) {
		rama_json_i64(j, 1);
		rama_json_i64(j, 2);
		rama_json_close(j, ']');
	}
}

static void nesting_may_be_deep(void **state)
{
	json_t *root = parsed(make_deep, NULL), *v = root;

	(void)state;
	for (unsigned i = 2; i < RAMA_JSON_DEPTH; i++) {
		assert_int_equal(json_array_size(v), 3);
		v = json_array_get(v, 0);
	}
	assert_int_equal(json_array_size(v), 2);
	json_decref(root);
}

UNIT_GROUP(json, test(every_byte_below_128_comes_back), test(utf8_comes_back),
	   test(bytes_that_are_no_utf8_are_replaced), test(doubles_come_back_exactly),
	   test(what_is_no_number_is_null), test(ids_are_strings_and_integers_are_whole),
	   test(commas_stand_where_they_belong), test(nesting_may_be_deep))
