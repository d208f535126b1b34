/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "config/state.h"
#include "config/value.h"

static void the_state_has_a_place(void **state)
{
	char to[64], small[8];

	(void)state;
	setenv("XDG_STATE_HOME", "/x", 1);
	assert_true(rama_config_state_place(to, sizeof(to), "spool"));
	assert_string_equal(to, "/x/iorama/spool");
	assert_false(rama_config_state_place(small, sizeof(small), "spool"));
	unsetenv("XDG_STATE_HOME");
	setenv("HOME", "/h", 1);
	assert_true(rama_config_state_place(to, sizeof(to), "logs"));
	assert_string_equal(to, "/h/.local/state/iorama/logs");
	unsetenv("HOME"); /* the system may know it; it is never "/" */
	rama_config_state_place(to, sizeof(to), "logs");
	assert_int_not_equal(strncmp(to, "/.local", 7), 0);
}

static void the_place_is_made(void **state)
{
	const char *tmp = getenv("TMPDIR");
	char dir[256], below[300];
	struct stat st;

	(void)state;
	snprintf(dir, sizeof(dir), "%s/iorama-unit-state-XXXXXX", tmp != NULL ? tmp : "/tmp");
	assert_non_null(mkdtemp(dir));
	snprintf(below, sizeof(below), "%s/a/b", dir);
	umask(0);
	assert_true(rama_config_state_make(below));
	assert_int_equal(stat(below, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_true(rama_config_state_make(below)); /* it is there */
	assert_int_equal(rmdir(below), 0);
	snprintf(below, sizeof(below), "%s/a", dir);
	assert_int_equal(rmdir(below), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_false(rama_config_state_make((char[]){ "/proc/none/x" }));
}

static void variables_have_values(void **state)
{
	(void)state;
	unsetenv("IORAMA_DIR");
	assert_string_equal(rama_config_value(RAMA_TAB_SET_DIR),
			    rama_tab_settings[RAMA_TAB_SET_DIR].preset);
	setenv("IORAMA_DIR", "/d", 1);
	assert_string_equal(rama_config_value(RAMA_TAB_SET_DIR), "/d");
	unsetenv("IORAMA_DIR");
}

UNIT_GROUP(state, test(the_state_has_a_place), test(the_place_is_made), test(variables_have_values))
