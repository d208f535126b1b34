/* SPDX-License-Identifier: BSD-3-Clause */
/* home.c: the user's own directory, whatever the environment lacks. */
#include "unit.h"

#include <limits.h>
#include <pwd.h>
#include <unistd.h>

#include "base/home.h"

/* what the system says of us; "" where that is nobody's own */
static const char *of_system(void)
{
	const struct passwd *pw = getpwuid(geteuid());

	return pw != NULL && pw->pw_dir[0] == '/' && pw->pw_dir[1] != '\0' ? pw->pw_dir : "";
}

static void the_environment_speaks_first(void **state)
{
	char home[PATH_MAX];

	(void)state;
	setenv("HOME", "/home/u", 1);
	assert_true(rama_home(home, sizeof(home)));
	assert_string_equal(home, "/home/u");
}

static void without_it_the_system_does(void **state)
{
	static const char *const none[] = { NULL, "", "/", "here" };
	char home[PATH_MAX];

	(void)state;
	for (size_t i = 0; i < LENGTH(none); i++) {
		if (none[i] == NULL)
			unsetenv("HOME");
		else
			setenv("HOME", none[i], 1);
		assert_int_equal(rama_home(home, sizeof(home)), of_system()[0] != '\0');
		assert_string_equal(home, of_system());
	}
}

static void what_does_not_fit_is_no_place(void **state)
{
	char home[2] = "x";

	(void)state;
	setenv("HOME", "/home/u", 1);
	assert_false(rama_home(home, sizeof(home)));
	assert_string_equal(home, "");
	setenv("HOME", "/h", 1); /* the NUL has no room */
	assert_false(rama_home(home, sizeof(home)));
	assert_string_equal(home, "");
}

UNIT_GROUP(home, test(the_environment_speaks_first), test(without_it_the_system_does),
	   test(what_does_not_fit_is_no_place))
