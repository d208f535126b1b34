/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_doctor.c: iorama doctor */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/opts.h"
#include "launch/doctor.h"

struct command {
	bool colour, as_json, quiet;
	struct rama_json json;
};

static void print(void *ctx, const struct rama_launch_check *c)
{
	static const char *const name[] = { "ok", "warn", "fail" }, *code[] = { "32", "33", "31" };
	struct command *cmd = ctx;
	struct rama_json *j = &cmd->json;

	if (cmd->as_json) {
		rama_json_open(j, '{');
		rama_json_key_string(j, "check", c->name);
		rama_json_key_string(j, "state", name[c->health]);
		rama_json_key_string(j, "found", c->found);
		rama_json_key_string(j, "fix", c->health == RAMA_LAUNCH_OK ? NULL : c->fix);
		rama_json_close(j, '}');
		return;
	}
	if (cmd->quiet && c->health == RAMA_LAUNCH_OK)
		return;
	if (cmd->colour)
		printf("\033[%sm%-4s\033[0m  %-9s  %s\n", code[c->health], name[c->health], c->name,
		       c->found);
	else
		printf("%-4s  %-9s  %s\n", name[c->health], c->name, c->found);
	if (c->health != RAMA_LAUNCH_OK)
		printf("%-4s  %-9s  fix: %s\n", "", "", c->fix);
}

int rama_cli_cmd_doctor(int argc, char **argv)
{
	struct command c = { .colour = isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL };
	struct rama_cli_opts o;
	struct rama_out out;
	const char *root;
	bool whole = true, path;

	rama_cli_opts_parse(&o, RAMA_TAB_CMD_doctor, argc, argv);
	path = o.n_args == 1 && strcmp(o.args[0], "path") == 0;
	if (o.n_args > 0 && !path)
		rama_cli_opts_usage(&o, "'%s' is not expected here", o.args[0]);
	c.as_json = rama_cli_opts_has(&o, RAMA_TAB_OPT_doctor_json);
	c.quiet = rama_cli_opts_has(&o, RAMA_TAB_OPT_doctor_quiet);
	root = rama_cli_opts_value(&o, RAMA_TAB_OPT_doctor_root);
	if (root == NULL || strcmp(root, "/") == 0)
		root = "";
	rama_out_init(&out, rama_cli_to_file, stdout);
	rama_json_init(&c.json, &out);
	if (c.as_json)
		rama_json_open(&c.json, '[');
	if (path)
		rama_launch_doctor_path(root, print, &c);
	else
		whole = rama_launch_doctor(
			root, rama_cli_opts_value(&o, RAMA_TAB_OPT_doctor_library), print, &c);
	if (c.as_json) {
		rama_json_close(&c.json, ']');
		rama_out_char(&out, '\n');
		rama_out_flush(&out);
	}
	rama_out_fini(&out);
	rama_cli_opts_fini(&o);
	return whole ? 0 : 4;
}
