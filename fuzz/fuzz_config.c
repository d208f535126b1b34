/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_config.c: the first byte chooses what the rest is: a config file, the value of every
 * variable, a table of mounts, a path below another, the id of a job. Whatever it says, what
 * comes of it is in bounds. */
#include <stdlib.h>
#include <string.h>

#include "config/jobid.h"
#include "config/mounts.h"
#include "config/path.h"
#include "config/settings.h"
#include "fuzz.h"

static struct rama_config_settings s;

/* every variable has the same value, except that only one half of them is there */
static const char *same_value(void *ctx, const char *name)
{
	return strlen(name) % 2 == 0 ? ctx : NULL;
}

static void check_settings(const char *path)
{
	CHECK(s.n_rules <= RAMA_CONFIG_SETTINGS_RULES && s.n_ranges <= RAMA_CONFIG_SETTINGS_RANGES);
	CHECK(memchr(s.warnings, '\0', sizeof(s.warnings)) != NULL);
	CHECK((s.n_warnings == 0) == (s.warnings[0] == '\0') || s.n_warnings > 0);
	CHECK(s.mem_align >= 1 && s.name_memory < (uint64_t)1 << 63);
	CHECK(memchr(s.log_path, '\0', sizeof(s.log_path)) != NULL);
	CHECK(strchr(s.job, '/') == NULL);
	for (unsigned i = 0; i < RAMA_TAB_MODULES; i++) {
		CHECK(!rama_config_settings_observes(&s, i, path, strlen(path)) ||
		      rama_config_settings_module(&s, i));
		CHECK(rama_tab_module_get(i) != NULL || !rama_config_settings_module(&s, i));
	}
	rama_config_settings_app(&s, path, strlen(path));
	rama_config_settings_rank(&s, (int64_t)strlen(path));
	CHECK(rama_config_settings_trace_memory(&s) == 0 ||
	      (s.modules & RAMA_CONFIG_SETTINGS_TRACED) != 0);
}

static void check_mounts(const char *text, size_t n)
{
	static struct rama_config_mounts m;
	char *lines = malloc(n + 200);
	size_t len;

	CHECK(lines != NULL);
	rama_config_mounts_parse(&m, text, n);
	CHECK(m.n <= RAMA_CONFIG_MOUNTS && m.used <= RAMA_CONFIG_MOUNTS_TEXT);
	for (unsigned i = 0; i < m.n; i++) {
		int found = rama_config_mounts_find(&m, rama_config_mount_path(&m, i),
						    m.mount[i].path_len);

		CHECK(found >= 0 && m.mount[found].path_len == m.mount[i].path_len);
	}
	/* bytes that the text does not have are added by nobody */
	len = rama_config_mounts_encode(&m, lines, n + 200);
	CHECK(len < n + 200 && lines[len] == '\0' && (len == 0 || lines[len - 1] == '\n'));
	free(lines);
}

/* cleaning what is clean changes nothing */
static void check_path(const char *base, const char *path)
{
	size_t room = strlen(base) + strlen(path) + 2;
	char *once = malloc(room), *twice = malloc(room);
	long n;

	CHECK(once != NULL && twice != NULL);
	n = rama_config_path_clean(once, room, base, path);
	CHECK(n >= 0 && (size_t)n == strlen(once));
	CHECK(once[0] != '/' || (strstr(once, "//") == NULL && strstr(once, "/./") == NULL));
	if (once[0] == '/')
		CHECK(rama_config_path_clean(twice, room, "/x", once) == n &&
		      strcmp(once, twice) == 0);
	if (n > 0)
		CHECK(rama_config_path_clean(twice, (size_t)n, base, path) == -1);
	free(once);
	free(twice);
}

static void check_jobid(char *value)
{
	struct rama_config_jobid job;

	if (rama_config_jobid_find(&job, "", same_value, value))
		CHECK(job.scheduler[0] != '\0' && memchr(job.text, '\0', sizeof(job.text)) != NULL);
	rama_config_jobid_find(&job, "AB", same_value, value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	uint8_t what = fuzz_take_byte(&in);
	char *text = malloc(in.n + 1);

	CHECK(text != NULL);
	if (in.n > 0)
		memcpy(text, in.p, in.n);
	text[in.n] = '\0';
	rama_config_settings_init(&s);
	switch (what % 5) {
	case 0:
		rama_config_settings_file(&s, text, in.n);
		check_settings("/home/user/file.h5");
		break;
	case 1:
		rama_config_settings_env(&s, same_value, text);
		check_settings("/home/user/file.h5");
		break;
	case 2:
		check_mounts(text, in.n);
		break;
	case 3:
		check_path("/home//user/./x", text);
		break;
	default:
		check_jobid(text);
	}
	free(text);
	return 0;
}
