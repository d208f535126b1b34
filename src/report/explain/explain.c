/* SPDX-License-Identifier: BSD-3-Clause */
/* explain.c: what is known of topics, in words, as JSON and as docs/rules.md. */
#include "report/explain/explain.h"

#include <string.h>

#include "base/form/text.h"

#define LABEL 14 /* columns of the words before texts */

/* ---- text ---- */

static unsigned columns(const char *s, size_t n)
{
	unsigned c = 0;

	for (size_t i = 0; i < n; i++)
		c += ((unsigned char)s[i] & 0xc0) != 0x80;
	return c;
}

/* where there is no UTF-8, what stands for its characters */
static void put_word(struct rama_report_explain *x, const char *s, size_t n)
{
	while (n > 0) {
		unsigned len = rama_text_sound(s);

		len = len > 0 && len <= n ? len : 1;
		if (x->utf8 || len == 1)
			rama_out_bytes(x->out, s, len);
		else
			rama_out_text(x->out, rama_text_ascii(s, len));
		s += len;
		n -= len;
	}
}

/* words of the text, from column `at` on; further lines begin at `indent` */
static void wrap(struct rama_report_explain *x, const char *text, unsigned at, unsigned indent)
{
	bool first = true;

	while (*text != '\0') {
		size_t n = strcspn(text, " \n");
		unsigned wide = columns(text, n);

		if (!first && at + 1 + wide > x->width) {
			rama_out_fmt(x->out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (!first) {
			rama_out_char(x->out, ' ');
			at++;
		}
		put_word(x, text, n);
		at += wide;
		first = false;
		text += n;
		text += strspn(text, " \n");
	}
	rama_out_char(x->out, '\n');
}

static void print_page(struct rama_report_explain *x, const struct rama_report_topic *topic,
		       const struct rama_report_page *p)
{
	rama_out_fmt(x->out, "%s (%s)%s%s\n", topic->name,
		     rama_report_topic_kind_info[topic->kind].one, *p->title != '\0' ? ": " : "",
		     p->title);
	rama_out_text(x->out, "  ");
	wrap(x, p->text, 2, 2);
	for (size_t i = 0; i < p->n; i++) {
		rama_out_fmt(x->out, "  %-*s ", LABEL, p->field[i].label);
		wrap(x, p->field[i].text, LABEL + 3, LABEL + 3);
	}
}

static void page_json(struct rama_report_explain *x, const struct rama_report_topic *topic,
		      const struct rama_report_page *p)
{
	rama_json_open(&x->json, '{');
	rama_json_key_string(&x->json, "kind", rama_report_topic_kind_info[topic->kind].one);
	rama_json_key_string(&x->json, "name", topic->name);
	if (*p->title != '\0')
		rama_json_key_string(&x->json, "title", p->title);
	rama_json_key_string(&x->json, "text", p->text);
	for (size_t i = 0; i < p->n; i++)
		rama_json_key_string(&x->json, p->field[i].key, p->field[i].text);
	rama_json_close(&x->json, '}');
}

int rama_report_explain_topic(struct rama_report_explain *x, const struct rama_report_topic *topic)
{
	struct rama_report_page p;
	int error = rama_report_page_make(&p, &x->topics, topic);

	if (error != 0)
		return error;
	if (x->as_json) {
		page_json(x, topic, &p);
	} else {
		if (x->out->used > 0)
			rama_out_char(x->out, '\n');
		print_page(x, topic, &p);
	}
	return 0;
}

/* ---- lists ---- */

/* a line each: rules, settings; the others have short names that stand side by side */
void rama_report_explain_kind(struct rama_report_explain *x, enum rama_report_topic_kind kind,
			      bool lines)
{
	unsigned at = 2, wide = kind == RAMA_REPORT_TOPIC_RULE ? 4 : 28;

	rama_out_fmt(x->out, "%s: %s\n", rama_report_topic_kind_info[kind].many,
		     rama_report_topic_kind_info[kind].doc);
	if (!lines)
		rama_out_text(x->out, "  ");
	for (size_t i = 0; i < x->topics.n; i++) {
		const struct rama_report_topic *t = &x->topics.at[i];
		unsigned n = columns(t->name, strlen(t->name));

		if (t->kind != kind)
			continue;
		if (lines) {
			rama_out_fmt(x->out, "  %-*s  ", (int)wide, t->name);
			wrap(x, t->line != NULL ? t->line : "", n > wide ? n + 4 : wide + 4,
			     wide + 4);
			continue;
		}
		if (at > 2 && at + 2 + n > x->width) {
			rama_out_text(x->out, ",\n  ");
			at = 2;
		} else if (at > 2) {
			rama_out_text(x->out, ", ");
			at += 2;
		}
		rama_out_text(x->out, t->name);
		at += n;
	}
	if (!lines)
		rama_out_char(x->out, '\n');
}

static void kind_json(struct rama_report_explain *x, enum rama_report_topic_kind kind)
{
	rama_json_key(&x->json, rama_report_topic_kind_info[kind].many);
	rama_json_open(&x->json, '[');
	for (size_t i = 0; i < x->topics.n; i++) {
		const struct rama_report_topic *t = &x->topics.at[i];

		if (t->kind != kind)
			continue;
		rama_json_open(&x->json, '{');
		rama_json_key_string(&x->json, "name", t->name);
		rama_json_key_string(&x->json, "text", t->line);
		rama_json_close(&x->json, '}');
	}
	rama_json_close(&x->json, ']');
}

void rama_report_explain_list(struct rama_report_explain *x)
{
	size_t counters = 0;

	if (x->as_json) {
		rama_json_open(&x->json, '{');
		for (int kind = 0; kind < RAMA_REPORT_TOPIC_KINDS; kind++)
			kind_json(x, (enum rama_report_topic_kind)kind);
		rama_json_close(&x->json, '}');
		return;
	}
	for (int kind = 0; kind < RAMA_REPORT_TOPIC_KINDS; kind++) {
		if (kind == RAMA_REPORT_TOPIC_COUNTER)
			continue;
		rama_report_explain_kind(x, (enum rama_report_topic_kind)kind,
					 kind == RAMA_REPORT_TOPIC_RULE);
		rama_out_char(x->out, '\n');
	}
	for (size_t i = 0; i < x->topics.n; i++)
		counters += x->topics.at[i].kind == RAMA_REPORT_TOPIC_COUNTER;
	rama_out_fmt(x->out,
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

static void markdown_table(struct rama_report_explain *x, enum rama_report_topic_kind kind)
{
	struct rama_report_page p;

	rama_out_fmt(x->out, "\n## %c%s\n\n%s.\n\n| %s | meaning |%s\n|---|---|%s\n",
		     rama_report_topic_kind_info[kind].many[0] - 32,
		     rama_report_topic_kind_info[kind].many + 1,
		     rama_report_topic_kind_info[kind].doc, rama_report_topic_kind_info[kind].one,
		     kind == RAMA_REPORT_TOPIC_LIMIT ? " default |" : "",
		     kind == RAMA_REPORT_TOPIC_LIMIT ? "---|" : "");
	for (size_t i = 0; i < x->topics.n; i++) {
		const struct rama_report_topic *t = &x->topics.at[i];

		if (t->kind != kind || rama_report_page_make(&p, &x->topics, t) != 0)
			continue;
		rama_out_fmt(x->out, "| %s | ", t->name);
		marked(x->out, t->line);
		if (kind == RAMA_REPORT_TOPIC_LIMIT)
			rama_out_fmt(x->out, " | %s", p.field[0].text);
		rama_out_text(x->out, " |\n");
	}
}

void rama_report_explain_markdown(struct rama_report_explain *x)
{
	rama_out_text(x->out,
		      "# Rules, limits, figures and words of reports\n\n"
		      "Printed from the rows in `src/diagnose` and `src/table` by `iorama explain "
		      "--markdown`; "
		      "edit those, then run\n`cmake --build build --target docs`.\n\n## Rules\n");
	for (size_t i = 0; i < x->topics.n; i++) {
		const struct rama_report_topic *t = &x->topics.at[i];
		struct rama_report_page p;

		if (t->kind != RAMA_REPORT_TOPIC_RULE ||
		    rama_report_page_make(&p, &x->topics, t) != 0)
			continue;
		rama_out_fmt(x->out, "\n### %s %s\n\n%s\n\n", t->name, p.title, p.text);
		for (size_t k = 0; k < p.n; k++) {
			rama_out_fmt(x->out, "* *%s*: ", p.field[k].label);
			if (strcmp(p.field[k].key, "applies") == 0 ||
			    strcmp(p.field[k].key, "file") == 0 ||
			    strcmp(p.field[k].key, "condition") == 0)
				rama_out_fmt(x->out, "`%s`", p.field[k].text);
			else
				marked(x->out, p.field[k].text);
			rama_out_char(x->out, '\n');
		}
	}
	markdown_table(x, RAMA_REPORT_TOPIC_LIMIT);
	markdown_table(x, RAMA_REPORT_TOPIC_FACT);
	markdown_table(x, RAMA_REPORT_TOPIC_TERM);
}
