/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_config.c: iorama config */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/input.h"
#include "config/settings.h"
#include "launch/find.h"

/* what libiorama.a needs besides itself */
#define STATIC_NEEDS "-lpthread -ldl"

static int missing(const struct rama_err *e)
{
	rama_cli_complain("config", "%s", e->text);
	return 4;
}

/* "includedir=" of our pkg-config file: the build tree keeps its headers elsewhere */
static bool pc_includedir(char buf[PATH_MAX])
{
	char path[PATH_MAX], line[PATH_MAX];
	struct rama_err e = { 0 };
	bool found = false;
	FILE *f;

	if (rama_launch_find_file("pkgconfig/iorama.pc", path, &e) != 0 ||
	    (f = fopen(path, "re")) == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		found = strncmp(line, "includedir=/", 12) == 0;
	}
	fclose(f);
	if (found)
		snprintf(buf, PATH_MAX, "%s", line + strlen("includedir="));
	return found;
}

static int print_cflags(void)
{
	char path[PATH_MAX];
	struct rama_err e = { 0 };

	if (rama_launch_find_file("../include/iorama/log.h", path, &e) == 0)
		*strrchr(path, '/') = '\0', *strrchr(path, '/') = '\0';
	else if (!pc_includedir(path))
		return missing(&e);
	printf("-I%s\n", path);
	return 0;
}

static int print_shared(bool rpath)
{
	char path[PATH_MAX];
	struct rama_err e = { 0 };

	if (rama_launch_find_library(NULL, path, &e) != 0)
		return missing(&e);
	*strrchr(path, '/') = '\0';
	/* nothing in the program asks for it, so the linker has to be told to keep it */
	printf("-L%s ", path);
	if (rpath)
		printf("-Wl,-rpath,%s ", path);
	puts("-Wl,--push-state,--no-as-needed,-liorama,--pop-state");
	return 0;
}

static int print_static(void)
{
	char options[PATH_MAX], archive[PATH_MAX];
	struct rama_err e = { 0 };

	if (rama_launch_find_file("iorama-wrap.opts", options, &e) != 0 ||
	    rama_launch_find_file("libiorama.a", archive, &e) != 0)
		return missing(&e);
	printf("@%s %s " STATIC_NEEDS "\n", options, archive);
	return 0;
}

static int print_preload(void)
{
	char path[PATH_MAX];
	struct rama_err e = { 0 };

	if (rama_launch_find_library(NULL, path, &e) != 0)
		return missing(&e);
	puts(path);
	return 0;
}

/* as observed processes read it, which leave out what they do not understand */
static int check(const char *path)
{
	static struct rama_config_settings s;
	static char text[1 << 20];
	FILE *f = fopen(path, "re");
	const char *line = s.warnings;
	size_t n;

	if (f == NULL) {
		rama_cli_complain(path, "%s", strerror(errno));
		return errno == ENOENT ? 3 : 4;
	}
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	rama_config_settings_init(&s);
	rama_config_settings_file(&s, text, n < RAMA_CONFIG_SETTINGS_FILE ? n : 0);
	if (n >= RAMA_CONFIG_SETTINGS_FILE) {
		rama_cli_complain(path, "it has more than %d bytes, which are not read",
				  RAMA_CONFIG_SETTINGS_FILE - 1);
		return 3;
	}
	for (; *line != '\0'; line += strcspn(line, "\n") + 1)
		rama_cli_complain(path, "%.*s", (int)strcspn(line, "\n"), line);
	return s.n_warnings > 0 ? 3 : 0;
}

static int print_one(int option, const char *value)
{
	switch (option) {
	case RAMA_TAB_OPT_config_check:
		return check(value);
	case RAMA_TAB_OPT_config_cflags:
		return print_cflags();
	case RAMA_TAB_OPT_config_ldflags:
		return print_shared(true);
	case RAMA_TAB_OPT_config_libs:
		return print_shared(false);
	case RAMA_TAB_OPT_config_fixed:
		return print_static();
	case RAMA_TAB_OPT_config_preload:
		return print_preload();
	default:
		puts(IORAMA_BUILD_VERSION);
		return 0;
	}
}

int rama_cli_cmd_config(int argc, char **argv)
{
	struct rama_cli_opts o;
	int status = 0;

	rama_cli_opts_parse(&o, RAMA_TAB_CMD_config, argc, argv);
	if (o.n_args > 0)
		rama_cli_opts_usage(&o, "'%s' is not expected here", o.args[0]);
	if (o.n_given == 0)
		rama_cli_opts_usage(
			&o, "what should be printed? --cflags, --ldflags, --static-ldflags, "
			    "--libs, --preload, --check or --version");
	for (size_t i = 0; i < o.n_given && status == 0; i++)
		status = print_one(o.given[i].option, o.given[i].value);
	rama_cli_opts_fini(&o);
	return status;
}
