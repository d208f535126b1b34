/* SPDX-License-Identifier: BSD-3-Clause */
/* page.c: what there is to say of each kind of topic. */
#include <ctype.h>
#include <string.h>

#include "base/human.h"
#include "report/explain/explain.h"
#include "diagnose/advice.h"
#include "diagnose/rules.h"
#include "table/settings.h"
#include "table/table.h"
#include "table/terms.h"

static void say(struct rama_report_page *p, const char *key, const char *label, const char *text)
{
	if (text == NULL || *text == '\0' || p->n == sizeof(p->field) / sizeof(p->field[0]))
		return;
	p->field[p->n].key = key;
	p->field[p->n].label = label;
	p->field[p->n++].text = text;
}

/* the text that was put together in o; NULL: no memory */
static const char *kept(struct rama_report_topics *t, struct rama_out *o)
{
	const char *copy = o->error == 0
				   ? rama_arena_text(&t->arena, o->used > 0 ? o->buf : "", o->used)
				   : NULL;

	rama_out_fini(o);
	return copy;
}

static bool of_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* is `word` named in the text? */
static bool names(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word))
		if ((at == text || !of_word(at[-1])) && !of_word(at[n]))
			return true;
	return false;
}

static void separate(struct rama_out *o, const char *by)
{
	if (o->used > 0)
		rama_out_text(o, by);
}

/* ---- rules ---- */

static const char *limits_of(struct rama_report_topics *t, const char *condition)
{
	struct rama_out o;
	char value[RAMA_HUMAN];

	rama_out_init(&o, NULL, NULL);
	for (unsigned i = 0; i < rama_diag_n_limits; i++) {
		if (!names(condition, rama_diag_limits[i].name))
			continue;
		separate(&o, "; ");
		rama_out_fmt(&o, "%s = %s (%s)", rama_diag_limits[i].name,
			     rama_human_value(value, rama_diag_limits[i].unit,
					      rama_diag_limits[i].value),
			     rama_diag_limits[i].doc);
	}
	return kept(t, &o);
}

static const char *figures_of(struct rama_report_topics *t, const char *condition)
{
	struct rama_out o;

	rama_out_init(&o, NULL, NULL);
	for (unsigned i = 0; i < rama_diag_n_facts; i++) {
		/* "reads: reads" */
		if (!names(condition, rama_diag_fact_info[i].name) ||
		    strcmp(rama_diag_fact_info[i].name, rama_diag_fact_info[i].doc) == 0)
			continue;
		separate(&o, "; ");
		rama_out_fmt(&o, "%s: %s", rama_diag_fact_info[i].name, rama_diag_fact_info[i].doc);
	}
	return kept(t, &o);
}

/* {file} -> <file>: there is no job to fill it in from */
static const char *unfilled(struct rama_report_topics *t, const char *text)
{
	struct rama_out o;

	rama_out_init(&o, NULL, NULL);
	for (const char *s = text; *s != '\0'; s++)
		rama_out_char(&o, *s == '{' ? '<' : *s == '}' ? '>' : *s);
	return kept(t, &o);
}

static const char *snippets_of(struct rama_report_topics *t, const struct rama_diag_advice *a)
{
	struct rama_out o;

	rama_out_init(&o, NULL, NULL);
	for (const enum rama_diag_snippet_id *id = a->snippets; *id != RAMA_DIAG_SNIPPET_none;
	     id++) {
		const struct rama_diag_snippet_info *s = &rama_diag_snippet_info[*id];

		separate(&o, "; ");
		rama_out_fmt(&o, "%s (%s)", s->title, rama_diag_language_name[s->language]);
	}
	return kept(t, &o);
}

/* C as people read it; f-> is the job, a-> all files, x-> those that show it, l-> limits */
static const struct {
	const char *code, *words;
} spoken[] = {
	{ "f->view->", "" }, { "f->", "" },	  { "x->", "" },
	{ "a->", "all." },   { "&&", "and" },	  { "||", "or" },
	{ "fmax(", "max(" }, { "fmin(", "min(" }, { "!", "not " },
};

/* Is there a figure, too, that is called as the limit at s? "syncs > syncs" says nothing. */
static bool is_figure(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	for (unsigned i = 0; i < rama_diag_n_facts; i++)
		if (strlen(rama_diag_fact_info[i].name) == n &&
		    strncmp(rama_diag_fact_info[i].name, s, n) == 0)
			return true;
	return false;
}

static size_t speak(struct rama_out *o, const char *s)
{
	if (strncmp(s, "l->", 3) == 0) {
		rama_out_text(o, is_figure(s + 3) ? "limit " : "");
		return 3;
	}
	for (size_t i = 0; i < sizeof(spoken) / sizeof(spoken[0]); i++) {
		size_t n = strlen(spoken[i].code);

		if (strncmp(s, spoken[i].code, n) == 0 && !(s[0] == '!' && s[1] == '=')) {
			rama_out_text(o, spoken[i].words);
			return n;
		}
	}
	rama_out_char(o, *s);
	return 1;
}

/* The part of a condition behind `mark`, up to the next one. "": there is nothing to say, NULL:
 * no memory */
static const char *condition_of(struct rama_report_topics *t, const char *condition,
				const char *mark, const char *next)
{
	const char *from = strstr(condition, mark),
		   *end = *next != '\0' ? strstr(condition, next) : NULL;
	struct rama_out o;

	rama_out_init(&o, NULL, NULL);
	if (from != NULL) {
		from += strlen(mark);
		end = end != NULL ? end : from + strlen(from);
		if (strncmp(from, "NONE", 4) != 0 && strncmp(from, "true", 4) != 0)
			while (from < end)
				from += speak(&o, from);
	}
	return kept(t, &o);
}

/* "A07 O01 *" in words */
static const char *causes_of(struct rama_report_topics *t, const char *list)
{
	struct rama_out o;

	rama_out_init(&o, NULL, NULL);
	for (; *list != '\0'; list++) {
		if (*list == '*')
			rama_out_text(&o, "or whatever the rank alone loses most by");
		else
			rama_out_char(&o, *list);
	}
	return kept(t, &o);
}

static int rule_page(struct rama_report_page *p, struct rama_report_topics *t,
		     const struct rama_diag_rule *r)
{
	const struct rama_diag_advice *a =
		rama_diag_advice_find(r->advice != NULL ? r->advice : "");
	const char *limits = limits_of(t, r->condition), *figures = figures_of(t, r->condition);

	const char *applies = condition_of(t, r->condition, "applies: ", "; file: ");
	const char *file = condition_of(t, r->condition, "; file: ", "; job: ");
	const char *job = condition_of(t, r->condition, "; job: ", "");
	const char *how = unfilled(t, rama_diag_rule_code[r - rama_diag_rules].how);
	const char *causes = causes_of(t, r->causes);

	if (limits == NULL || figures == NULL || applies == NULL || file == NULL || job == NULL ||
	    how == NULL || causes == NULL)
		return RAMA_EMEMORY;
	p->title = r->title;
	p->text = r->doc;
	say(p, "applies", "asked if", applies);
	say(p, "file", "of files with", file);
	say(p, "condition", "holds if", *job != '\0' ? job : r->condition);
	say(p, "figures", "figures", figures);
	say(p, "limits", "limits", limits);
	say(p, "cost", "cost", how);
	say(p, "level", "at most", rama_diag_level_name[r->most]);
	if (a != NULL) {
		const char *advice = unfilled(t, a->text), *snippets = snippets_of(t, a);

		if (advice == NULL || snippets == NULL)
			return RAMA_EMEMORY;
		say(p, "advice", "what to do", advice);
		say(p, "snippets", "snippets", snippets);
	}
	say(p, "causes", r->most == RAMA_DIAG_LEVEL_OK ? "not beside" : "follows from", causes);
	say(p, "topic", "topic", r->topic);
	say(p, "drishti", "Drishti", r->drishti);
	return 0;
}

/* ---- the others ---- */

static int limit_page(struct rama_report_page *p, struct rama_report_topics *t,
		      const struct rama_diag_limit *l)
{
	char value[RAMA_HUMAN], least[RAMA_HUMAN], most[RAMA_HUMAN];
	struct rama_out o, rules, range;

	rama_out_init(&o, NULL, NULL);
	rama_out_fmt(&o, "%s (%s)", rama_human_value(value, l->unit, l->value), l->unit);
	rama_out_init(&range, NULL, NULL);
	rama_out_fmt(&range, "%s to %s", rama_human_value(least, l->unit, l->least),
		     rama_human_value(most, l->unit, l->most));
	rama_out_init(&rules, NULL, NULL);
	for (unsigned i = 0; i < rama_diag_n_rules; i++) {
		if (!names(rama_diag_rules[i].condition, l->name))
			continue;
		separate(&rules, ", ");
		rama_out_text(&rules, rama_diag_rules[i].id);
	}
	p->text = l->doc;
	say(p, "default", "default", kept(t, &o));
	say(p, "range", "may be", kept(t, &range));
	say(p, "rules", "rules", kept(t, &rules));
	say(p, "change", "to change",
	    "a profile with the line `name = value` under [limits]: iorama report --profile FILE");
	say(p, "drishti", "Drishti", l->drishti);
	return 0;
}

static int fact_page(struct rama_report_page *p, struct rama_report_topics *t,
		     const struct rama_diag_fact *f)
{
	struct rama_out rules;

	rama_out_init(&rules, NULL, NULL);
	for (unsigned i = 0; i < rama_diag_n_rules; i++) {
		if (!names(rama_diag_rules[i].condition, f->name))
			continue;
		separate(&rules, ", ");
		rama_out_text(&rules, rama_diag_rules[i].id);
	}
	p->text = f->doc;
	say(p, "unit", "unit", f->unit);
	say(p, "rules", "rules", kept(t, &rules));
	return 0;
}

static int module_page(struct rama_report_page *p, struct rama_report_topics *t,
		       const struct rama_tab_module *m)
{
	struct rama_out o;
	const struct rama_tab_schema *part[2] = { m->header, m->record };

	rama_out_init(&o, NULL, NULL);
	for (int k = 0; k < 2; k++) {
		for (unsigned i = 0; part[k] != NULL && i < *part[k]->n_fields; i++) {
			if (part[k]->fields[i].place == RAMA_TAB_DROPPED ||
			    part[k]->fields[i].place == RAMA_TAB_HIDDEN)
				continue;
			separate(&o, " ");
			rama_out_text(&o, part[k]->fields[i].name);
		}
	}
	p->text = m->doc;
	say(p, "counters", "counters", kept(t, &o));
	return 0;
}

static const char *const reduce_text[RAMA_TAB_REDUCE_KINDS] = {
	[RAMA_TAB_NONE] = "",
	[RAMA_TAB_SUM] = "the sum",
	[RAMA_TAB_SUM_NEG] = "the sum; -1 means not counted",
	[RAMA_TAB_MAX] = "the largest",
	[RAMA_TAB_MIN_NZ] = "the smallest that is not 0",
	[RAMA_TAB_KEEP] = "that of the first rank",
	[RAMA_TAB_ANY] = "1 if it is 1 on any rank",
	[RAMA_TAB_LEAD_READ] = "the largest",
	[RAMA_TAB_WITH_READ] = "that of the rank with the longest read",
	[RAMA_TAB_LEAD_WRITE] = "the largest",
	[RAMA_TAB_WITH_WRITE] = "that of the rank with the longest write",
	[RAMA_TAB_FAST_RANK] = "the rank with the least time",
	[RAMA_TAB_FAST_BYTES] = "that of the rank with the least time",
	[RAMA_TAB_FAST_TIME] = "the least time",
	[RAMA_TAB_SLOW_RANK] = "the rank with the most time",
	[RAMA_TAB_SLOW_BYTES] = "that of the rank with the most time",
	[RAMA_TAB_SLOW_TIME] = "the most time",
	[RAMA_TAB_VAR_TIME] = "the variance over ranks",
	[RAMA_TAB_VAR_BYTES] = "the variance over ranks",
	[RAMA_TAB_ACCESS_VALUE] = "the four most frequent of all ranks",
	[RAMA_TAB_ACCESS_MORE] = "the four most frequent of all ranks",
	[RAMA_TAB_ACCESS_COUNT] = "the four most frequent of all ranks",
	[RAMA_TAB_STRIDE_VALUE] = "the four most frequent of all ranks",
	[RAMA_TAB_STRIDE_COUNT] = "the four most frequent of all ranks",
};

static int counter_page(struct rama_report_page *p, struct rama_report_topics *t,
			const struct rama_report_topic *topic)
{
	const struct rama_tab_field *f = topic->row;
	const struct rama_tab_module *m = rama_tab_module_get(topic->module);
	struct rama_out o, since;

	rama_out_init(&o, NULL, NULL);
	rama_out_fmt(&o, "%s: %s", m->name, m->doc);
	rama_out_init(&since, NULL, NULL);
	rama_out_fmt(&since, "version %d of its records", f->since);
	if (f->place == RAMA_TAB_DROPPED)
		rama_out_fmt(&since, " to %d", f->until);
	p->text =
		f->doc != NULL && *f->doc != '\0' ? f->doc : "Only in old logs; dropped when read.";
	say(p, "module", "module", kept(t, &o));
	say(p, "since", "in", kept(t, &since));
	say(p, "ranks", "several ranks", reduce_text[f->reduce]);
	return 0;
}

static int setting_page(struct rama_report_page *p, const struct rama_tab_setting *s)
{
	p->text = s->text;
	say(p, "default", "default", s->preset);
	say(p, "directive", "config file", s->directive);
	return 0;
}

static int layer_page(struct rama_report_page *p, struct rama_report_topics *t,
		      const struct rama_report_topic *topic)
{
	const struct rama_tab_module *m = rama_tab_module_get(topic->module);
	struct rama_out o;

	rama_out_init(&o, NULL, NULL);
	rama_out_fmt(&o, "%s: %s", m->name, m->doc);
	p->text = topic->line;
	say(p, "module", "module", kept(t, &o));
	return 0;
}

int rama_report_page_make(struct rama_report_page *p, struct rama_report_topics *t,
			  const struct rama_report_topic *topic)
{
	*p = (struct rama_report_page){ .title = "" };
	switch (topic->kind) {
	case RAMA_REPORT_TOPIC_RULE:
		return rule_page(p, t, topic->row);
	case RAMA_REPORT_TOPIC_LIMIT:
		return limit_page(p, t, topic->row);
	case RAMA_REPORT_TOPIC_FACT:
		return fact_page(p, t, topic->row);
	case RAMA_REPORT_TOPIC_LAYER:
		return layer_page(p, t, topic);
	case RAMA_REPORT_TOPIC_MODULE:
		return module_page(p, t, topic->row);
	case RAMA_REPORT_TOPIC_COUNTER:
		return counter_page(p, t, topic);
	case RAMA_REPORT_TOPIC_SETTING:
		return setting_page(p, topic->row);
	default:
		p->text = topic->line;
		say(p, "also", "also", topic->also);
		return 0;
	}
}
