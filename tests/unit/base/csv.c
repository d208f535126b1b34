/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "base/form/csv.h"

static void is_written(const char *s, size_t n, const char *plain, const char *quoted)
{
	struct rama_out o;

	rama_out_init(&o, NULL, NULL);
	rama_csv_bytes(&o, s, n);
	rama_out_char(&o, '|');
	rama_csv_quoted(&o, s, n);
	rama_out_char(&o, '\0');
	assert_memory_equal(o.buf, plain, strlen(plain));
	assert_int_equal(o.buf[strlen(plain)], '|');
	assert_string_equal(o.buf + strlen(plain) + 1, quoted);
	rama_out_fini(&o);
}

static void quotes_are_where_they_must(void **st)
{
	static const char *const c[][3] = {
		{ "", "", "\"\"" },
		{ "a b;c'd", "a b;c'd", "\"a b;c'd\"" },
		{ "a,b", "\"a,b\"", "\"a,b\"" },
		{ "a\nb", "\"a\nb\"", "\"a\nb\"" },
		{ "a\rb", "\"a\rb\"", "\"a\rb\"" },
		{ "\"", "\"\"\"\"", "\"\"\"\"" },
		{ "a\"\"b", "\"a\"\"\"\"b\"", "\"a\"\"\"\"b\"" },
		{ "é→,", "\"é→,\"", "\"é→,\"" },
		{ "x\xff", "x\xff", "\"x\xef\xbf\xbd\"" },
		{ "\xe2\x86,", "\"\xe2\x86,\"", "\"\xef\xbf\xbd\xef\xbf\xbd,\"" },
	};

	(void)st;
	for (size_t i = 0; i < LENGTH(c); i++)
		is_written(c[i][0], strlen(c[i][0]), c[i][1], c[i][2]);
	is_written("ab,c", 2, "ab", "\"ab\""); /* not beyond its length */
}

UNIT_GROUP(csv, test(quotes_are_where_they_must))
