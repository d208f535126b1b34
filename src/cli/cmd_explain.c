/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_explain.c: iorama explain */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/paper.h"
#include "cli/terminal.h"
#include "report/explain/explain.h"

#define NEAREST 5

struct command {
	struct rama_cli_opts o;
	struct rama_out out;
	struct rama_report_explain x;
};

static int not_known(struct command *c, const char *name)
{
	const struct rama_report_topic *near[NEAREST];
	size_t n = rama_report_topics_nearest(&c->x.topics, name, near, NEAREST);
	char list[512] = "";
	size_t used = 0;

	for (size_t i = 0; i < n && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
					 i > 0 ? ", " : "", near[i]->name);
	if (n > 0)
		rama_cli_complain("explain", "nothing is known of '%s'; did you mean %s?", name,
				  list);
	else
		rama_cli_complain("explain",
				  "nothing is known of '%s'; `iorama explain` lists what is", name);
	return 2;
}

/* all topics that are named so, by whatever way of naming; 0, an exit status, or -1: there is
 * none */
static int explain_named(struct command *c, const char *name,
			 bool (*named)(const struct rama_report_topic *, const char *))
{
	int status = -1;

	for (size_t i = 0; i < c->x.topics.n; i++) {
		if (!named(&c->x.topics.at[i], name))
			continue;
		if (rama_report_explain_topic(&c->x, &c->x.topics.at[i]) != 0)
			return 4;
		status = 0;
	}
	return status;
}

static bool of_kind(const struct rama_report_topic *t, const char *name)
{
	return t->kind == rama_report_topic_kind_named(name);
}

static int explain_name(struct command *c, const char *name)
{
	enum rama_report_topic_kind kind = rama_report_topic_kind_named(name);
	int status;

	if (kind < RAMA_REPORT_TOPIC_KINDS) {
		if (c->x.as_json)
			return explain_named(c, name, of_kind);
		rama_report_explain_kind(&c->x, kind, true);
		return 0;
	}
	status = explain_named(c, name, rama_report_topic_named);
	return status >= 0 ? status : explain_named(c, name, rama_report_topic_counter_named);
}

static int explain_args(struct command *c)
{
	char whole[1024] = "";
	size_t used = 0;
	int status;

	/* words of several words need no quotes */
	for (size_t i = 0; i < c->o.n_args && used < sizeof(whole); i++)
		used += (size_t)snprintf(whole + used, sizeof(whole) - used, "%s%s",
					 i > 0 ? " " : "", c->o.args[i]);
	status = explain_name(c, whole);
	if (status >= 0)
		return status;
	if (c->o.n_args == 1)
		return not_known(c, whole);
	for (size_t i = 0; i < c->o.n_args; i++) {
		status = explain_name(c, c->o.args[i]);
		if (status != 0)
			return status > 0 ? status : not_known(c, c->o.args[i]);
	}
	return 0;
}

static int explain(struct command *c)
{
	int status = 0;

	if (rama_cli_opts_has(&c->o, RAMA_TAB_OPT_explain_markdown)) {
		rama_report_explain_markdown(&c->x);
		return 0;
	}
	if (c->x.as_json && c->o.n_args > 0)
		rama_json_open(&c->x.json, '[');
	if (c->o.n_args > 0)
		status = explain_args(c);
	else
		rama_report_explain_list(&c->x);
	if (c->x.as_json && c->o.n_args > 0)
		rama_json_close(&c->x.json, ']');
	if (c->x.as_json)
		rama_out_char(&c->out, '\n');
	return status;
}

int rama_cli_cmd_explain(int argc, char **argv)
{
	struct command c = { .x = { .out = &c.out } };
	struct rama_cli_terminal t;
	int status;

	rama_cli_opts_parse(&c.o, RAMA_TAB_CMD_explain, argc, argv);
	c.x.as_json = rama_cli_opts_has(&c.o, RAMA_TAB_OPT_explain_json);
	t = rama_cli_terminal_of(&c.o, RAMA_TAB_OPT_explain_width, RAMA_TAB_OPTIONS, false);
	c.x.width = t.width;
	c.x.utf8 = t.utf8;
	rama_out_init(&c.out, NULL, NULL);
	rama_json_init(&c.x.json, &c.out);
	if (rama_report_topics_make(&c.x.topics) == 0) {
		status = explain(&c);
	} else {
		rama_cli_complain("explain", "%s", rama_err_text(RAMA_EMEMORY));
		status = 4;
	}
	if (status == 0)
		status = rama_cli_paper_write(&c.out, NULL);
	rama_out_fini(&c.out);
	rama_report_topics_fini(&c.x.topics);
	rama_cli_opts_fini(&c.o);
	return status;
}
