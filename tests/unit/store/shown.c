/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "store/shown.h"

static void passwords_are_not_shown(void **state)
{
	char to[PATH_MAX];

	(void)state;
	assert_string_equal(rama_store_shown("/a/b@c:d", to), "/a/b@c:d");
	assert_string_equal(rama_store_shown("postgresql://u:secret@h:1/db", to),
			    "postgresql://u@h:1/db");
	assert_string_equal(rama_store_shown("postgresql://u@h/db?x=a:b@c", to),
			    "postgresql://u@h/db?x=a:b@c");
	assert_string_equal(rama_store_shown("postgresql://h/db?password=secret", to),
			    "postgresql://h/db");
	assert_string_equal(rama_store_shown("postgresql://h/db?a=b&password=secret&c=d", to),
			    "postgresql://h/db?a=b&c=d");
	assert_string_equal(
		rama_store_shown("postgresql://h/db?password=1&sslpassword=2&password=3", to),
		"postgresql://h/db");
	assert_string_equal(rama_store_shown("postgresql://h/db?my_password=x", to),
			    "postgresql://h/db?my_password=x");
}

UNIT_GROUP(shown, test(passwords_are_not_shown))
