/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_explain.c: iorama explain */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/explain.h"
#include "cli/input.h"
#include "cli/paper.h"
#include "cli/terminal.h"
#include "diagnose/diagnose.h"

#define NEAREST 5
#define LABEL 14 /* columns of the words before texts */

struct explaining {
	struct rama_cli_opts o;
	struct rama_cli_topics topics;
	struct rama_out out;
	struct rama_json json;
	bool as_json;
	unsigned width;
};

/* ---- text ---- */

static unsigned columns(const char *s, size_t n)
{
	unsigned c = 0;

	for (size_t i = 0; i < n; i++)
		c += ((unsigned char)s[i] & 0xc0) != 0x80;
	return c;
}

/* words of the text, from column `at` on; further lines begin at `indent` */
static void wrap(struct explaining *x, const char *text, unsigned at, unsigned indent)
{
	bool first = true;

	while (*text != '\0') {
		size_t n = strcspn(text, " \n");
		unsigned wide = columns(text, n);

		if (!first && at + 1 + wide > x->width) {
			rama_out_fmt(&x->out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (!first) {
			rama_out_char(&x->out, ' ');
			at++;
		}
		rama_out_bytes(&x->out, text, n);
		at += wide;
		first = false;
		text += n;
		text += strspn(text, " \n");
	}
	rama_out_char(&x->out, '\n');
}

static void print_page(struct explaining *x, const struct rama_cli_topic *topic,
		       const struct rama_cli_explain_page *p)
{
	rama_out_fmt(&x->out, "%s (%s)%s%s\n", topic->name,
		     rama_cli_topic_kind_info[topic->kind].one, *p->title != '\0' ? ": " : "",
		     p->title);
	rama_out_text(&x->out, "  ");
	wrap(x, p->text, 2, 2);
	for (size_t i = 0; i < p->n; i++) {
		rama_out_fmt(&x->out, "  %-*s ", LABEL, p->field[i].label);
		wrap(x, p->field[i].text, LABEL + 3, LABEL + 3);
	}
}

static void page_json(struct explaining *x, const struct rama_cli_topic *topic,
		      const struct rama_cli_explain_page *p)
{
	rama_json_open(&x->json, '{');
	rama_json_key_string(&x->json, "kind", rama_cli_topic_kind_info[topic->kind].one);
	rama_json_key_string(&x->json, "name", topic->name);
	if (*p->title != '\0')
		rama_json_key_string(&x->json, "title", p->title);
	rama_json_key_string(&x->json, "text", p->text);
	for (size_t i = 0; i < p->n; i++)
		rama_json_key_string(&x->json, p->field[i].key, p->field[i].text);
	rama_json_close(&x->json, '}');
}

static int explain_topic(struct explaining *x, const struct rama_cli_topic *topic)
{
	struct rama_cli_explain_page p;
	int error = rama_cli_page_make(&p, &x->topics, topic);

	if (error != 0)
		return error;
	if (x->as_json) {
		page_json(x, topic, &p);
	} else {
		if (x->out.used > 0)
			rama_out_char(&x->out, '\n');
		print_page(x, topic, &p);
	}
	return 0;
}

/* ---- lists ---- */

/* a line each: rules, settings; the others have short names that stand side by side */
static void list_kind(struct explaining *x, enum rama_cli_topic_kind kind, bool lines)
{
	unsigned at = 2, wide = kind == RAMA_CLI_TOPIC_RULE ? 4 : 28;

	rama_out_fmt(&x->out, "%s: %s\n", rama_cli_topic_kind_info[kind].many,
		     rama_cli_topic_kind_info[kind].doc);
	if (!lines)
		rama_out_text(&x->out, "  ");
	for (size_t i = 0; i < x->topics.n; i++) {
		const struct rama_cli_topic *t = &x->topics.at[i];
		unsigned n = columns(t->name, strlen(t->name));

		if (t->kind != kind)
			continue;
		if (lines) {
			rama_out_fmt(&x->out, "  %-*s  ", (int)wide, t->name);
			wrap(x, t->line != NULL ? t->line : "", n > wide ? n + 4 : wide + 4,
			     wide + 4);
			continue;
		}
		if (at > 2 && at + 2 + n > x->width) {
			rama_out_text(&x->out, ",\n  ");
			at = 2;
		} else if (at > 2) {
			rama_out_text(&x->out, ", ");
			at += 2;
		}
		rama_out_text(&x->out, t->name);
		at += n;
	}
	if (!lines)
		rama_out_char(&x->out, '\n');
}

static void list_kind_json(struct explaining *x, enum rama_cli_topic_kind kind)
{
	rama_json_key(&x->json, rama_cli_topic_kind_info[kind].many);
	rama_json_open(&x->json, '[');
	for (size_t i = 0; i < x->topics.n; i++) {
		const struct rama_cli_topic *t = &x->topics.at[i];

		if (t->kind != kind)
			continue;
		rama_json_open(&x->json, '{');
		rama_json_key_string(&x->json, "name", t->name);
		rama_json_key_string(&x->json, "text", t->line);
		rama_json_close(&x->json, '}');
	}
	rama_json_close(&x->json, ']');
}

static void list_all(struct explaining *x)
{
	size_t counters = 0;

	for (int kind = 0; kind < RAMA_CLI_TOPIC_KINDS; kind++) {
		if (kind == RAMA_CLI_TOPIC_COUNTER)
			continue;
		list_kind(x, (enum rama_cli_topic_kind)kind, kind == RAMA_CLI_TOPIC_RULE);
		rama_out_char(&x->out, '\n');
	}
	for (size_t i = 0; i < x->topics.n; i++)
		counters += x->topics.at[i].kind == RAMA_CLI_TOPIC_COUNTER;
	rama_out_fmt(&x->out,
		     "%zu counters: `iorama explain counters` lists all, `iorama explain MODULE` "
		     "those of a module.\n"
		     "`iorama explain rules` (or words, limits, ...) tells of each in a line.\n",
		     counters);
}

/* ---- docs/rules.md ---- */

/* what would end a cell of a table, or be taken for a tag */
static void marked(struct rama_out *o, const char *s)
{
	for (; s != NULL && *s != '\0'; s++) {
		if (*s == '|' || *s == '<')
			rama_out_char(o, '\\');
		rama_out_char(o, *s == '\n' ? ' ' : *s);
	}
}

static void markdown_table(struct explaining *x, enum rama_cli_topic_kind kind)
{
	struct rama_cli_explain_page p;

	rama_out_fmt(&x->out, "\n## %c%s\n\n%s.\n\n| %s | meaning |%s\n|---|---|%s\n",
		     rama_cli_topic_kind_info[kind].many[0] - 32,
		     rama_cli_topic_kind_info[kind].many + 1, rama_cli_topic_kind_info[kind].doc,
		     rama_cli_topic_kind_info[kind].one,
		     kind == RAMA_CLI_TOPIC_LIMIT ? " default |" : "",
		     kind == RAMA_CLI_TOPIC_LIMIT ? "---|" : "");
	for (size_t i = 0; i < x->topics.n; i++) {
		const struct rama_cli_topic *t = &x->topics.at[i];

		if (t->kind != kind || rama_cli_page_make(&p, &x->topics, t) != 0)
			continue;
		rama_out_fmt(&x->out, "| %s | ", t->name);
		marked(&x->out, t->line);
		if (kind == RAMA_CLI_TOPIC_LIMIT)
			rama_out_fmt(&x->out, " | %s", p.field[0].text);
		rama_out_text(&x->out, " |\n");
	}
}

static void markdown(struct explaining *x)
{
	rama_out_text(&x->out,
		      "# Rules, limits, figures and words of reports\n\n"
		      "Printed from the rows in `src/diagnose` and `src/table` by `iorama explain "
		      "--markdown`; "
		      "edit those, then run\n`cmake --build build --target docs`.\n\n## Rules\n");
	for (size_t i = 0; i < x->topics.n; i++) {
		const struct rama_cli_topic *t = &x->topics.at[i];
		struct rama_cli_explain_page p;

		if (t->kind != RAMA_CLI_TOPIC_RULE || rama_cli_page_make(&p, &x->topics, t) != 0)
			continue;
		rama_out_fmt(&x->out, "\n### %s %s\n\n%s\n\n", t->name, p.title, p.text);
		for (size_t k = 0; k < p.n; k++) {
			rama_out_fmt(&x->out, "* *%s*: ", p.field[k].label);
			if (strcmp(p.field[k].key, "applies") == 0 ||
			    strcmp(p.field[k].key, "file") == 0 ||
			    strcmp(p.field[k].key, "condition") == 0)
				rama_out_fmt(&x->out, "`%s`", p.field[k].text);
			else
				marked(&x->out, p.field[k].text);
			rama_out_char(&x->out, '\n');
		}
	}
	markdown_table(x, RAMA_CLI_TOPIC_LIMIT);
	markdown_table(x, RAMA_CLI_TOPIC_FACT);
	markdown_table(x, RAMA_CLI_TOPIC_TERM);
}

/* ---- the command ---- */

static int not_known(struct explaining *x, const char *name)
{
	const struct rama_cli_topic *near[NEAREST];
	size_t n = rama_cli_topics_nearest(&x->topics, name, near, NEAREST);
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
static int explain_named(struct explaining *x, const char *name,
			 bool (*named)(const struct rama_cli_topic *, const char *))
{
	int status = -1;

	for (size_t i = 0; i < x->topics.n; i++) {
		if (!named(&x->topics.at[i], name))
			continue;
		if (explain_topic(x, &x->topics.at[i]) != 0)
			return 4;
		status = 0;
	}
	return status;
}

static bool of_kind(const struct rama_cli_topic *t, const char *name)
{
	return t->kind == rama_cli_topic_kind_named(name);
}

static int explain_name(struct explaining *x, const char *name)
{
	enum rama_cli_topic_kind kind = rama_cli_topic_kind_named(name);
	int status;

	if (kind < RAMA_CLI_TOPIC_KINDS) {
		if (x->as_json)
			return explain_named(x, name, of_kind);
		list_kind(x, kind, true);
		return 0;
	}
	status = explain_named(x, name, rama_cli_topic_named);
	return status >= 0 ? status : explain_named(x, name, rama_cli_topic_counter_named);
}

static int explain_args(struct explaining *x)
{
	char whole[1024] = "";
	size_t used = 0;
	int status;

	/* words of several words need no quotes */
	for (size_t i = 0; i < x->o.n_args && used < sizeof(whole); i++)
		used += (size_t)snprintf(whole + used, sizeof(whole) - used, "%s%s",
					 i > 0 ? " " : "", x->o.args[i]);
	status = explain_name(x, whole);
	if (status >= 0)
		return status;
	if (x->o.n_args == 1)
		return not_known(x, whole);
	for (size_t i = 0; i < x->o.n_args; i++) {
		status = explain_name(x, x->o.args[i]);
		if (status != 0)
			return status > 0 ? status : not_known(x, x->o.args[i]);
	}
	return 0;
}

static int explain(struct explaining *x)
{
	int status = 0;

	if (rama_cli_opts_has(&x->o, RAMA_TAB_OPT_explain_markdown)) {
		markdown(x);
		return 0;
	}
	if (x->as_json)
		rama_json_open(&x->json, x->o.n_args > 0 ? '[' : '{');
	if (x->o.n_args > 0)
		status = explain_args(x);
	else if (!x->as_json)
		list_all(x);
	for (int kind = 0; x->as_json && x->o.n_args == 0 && kind < RAMA_CLI_TOPIC_KINDS; kind++)
		list_kind_json(x, (enum rama_cli_topic_kind)kind);
	if (x->as_json) {
		rama_json_close(&x->json, x->o.n_args > 0 ? ']' : '}');
		rama_out_char(&x->out, '\n');
	}
	return status;
}

int rama_cli_cmd_explain(int argc, char **argv)
{
	struct explaining x = { 0 };
	int status;

	rama_cli_opts_parse(&x.o, RAMA_TAB_CMD_explain, argc, argv);
	x.as_json = rama_cli_opts_has(&x.o, RAMA_TAB_OPT_explain_json);
	x.width = rama_cli_terminal_of(&x.o, RAMA_TAB_OPT_explain_width, RAMA_TAB_OPTIONS, false)
			  .width;
	rama_out_init(&x.out, NULL, NULL);
	rama_json_init(&x.json, &x.out);
	if (rama_cli_topics_make(&x.topics) == 0) {
		status = explain(&x);
	} else {
		rama_cli_complain("explain", "%s", rama_err_text(RAMA_EMEMORY));
		status = 4;
	}
	if (status == 0)
		status = rama_cli_paper_write(&x.out, NULL);
	rama_out_fini(&x.out);
	rama_cli_topics_fini(&x.topics);
	rama_cli_opts_fini(&x.o);
	return status;
}
