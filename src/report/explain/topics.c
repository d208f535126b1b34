/* SPDX-License-Identifier: BSD-3-Clause */
/* topics.c: one list of all rows that can be explained, and how they are found by name. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/grow.h"
#include "report/explain/explain.h"
#include "diagnose/diagnose.h"
#include "table/settings.h"
#include "table/table.h"
#include "table/terms.h"

const struct rama_report_topic_kind_info rama_report_topic_kind_info[RAMA_REPORT_TOPIC_KINDS] = {
	[RAMA_REPORT_TOPIC_RULE] = { "rule", "rules", "what is looked for in a job" },
	[RAMA_REPORT_TOPIC_TERM] = { "word", "words", "what reports speak of" },
	[RAMA_REPORT_TOPIC_LIMIT] = { "limit", "limits",
				      "numbers that rules compare with; a profile changes them" },
	[RAMA_REPORT_TOPIC_FACT] = { "figure", "figures", "what rules know of a job" },
	[RAMA_REPORT_TOPIC_LAYER] = { "layer", "layers",
				      "of I/O, the one nearest to the application first" },
	[RAMA_REPORT_TOPIC_MODULE] = { "module", "modules", "parts of a log" },
	[RAMA_REPORT_TOPIC_COUNTER] = { "counter", "counters", "what a log counts, by module" },
	[RAMA_REPORT_TOPIC_SETTING] = { "setting", "settings", "environment variables" },
};

/* ---- the list ---- */

static int add(struct rama_report_topics *t, struct rama_report_topic topic)
{
	if (!RAMA_GROW(t->at, t->room, t->n + 1))
		return RAMA_EMEMORY;
	t->at[t->n++] = topic;
	return 0;
}

static int add_fields(struct rama_report_topics *t, const struct rama_tab_schema *s,
		      unsigned module)
{
	int error = 0;

	for (unsigned i = 0; s != NULL && i < *s->n_fields && error == 0; i++)
		error = add(t, (struct rama_report_topic){ .kind = RAMA_REPORT_TOPIC_COUNTER,
							   .name = s->fields[i].name,
							   .also = "",
							   .line = s->fields[i].doc,
							   .row = &s->fields[i],
							   .module = module });
	return error;
}

static int add_modules(struct rama_report_topics *t)
{
	int error = 0;

	for (unsigned i = 0; i < RAMA_TAB_MODULES_KNOWN && error == 0; i++) {
		const struct rama_tab_module *m = rama_tab_module_get(i);

		if (m != NULL)
			error = add(t, (struct rama_report_topic){ RAMA_REPORT_TOPIC_MODULE,
								   m->name, "", m->doc, m, i });
	}
	for (unsigned i = 0; i < RAMA_TAB_MODULES_KNOWN && error == 0; i++) {
		const struct rama_tab_module *m = rama_tab_module_get(i);

		if (m == NULL)
			continue;
		error = add_fields(t, m->header, i);
		if (error == 0)
			error = add_fields(t, m->record, i);
		if (error == 0 && i == RAMA_TAB_MOD_LUSTRE)
			error = add_fields(t, &rama_tab_schema_lustre_comp, i);
	}
	return error;
}

static int add_layers(struct rama_report_topics *t)
{
	int error = 0;

	for (int i = 0; i < RAMA_JOB_LAYERS && error == 0; i++) {
		const struct rama_job_layer_info *l = &rama_job_layer_info[i];

		error = add(t, (struct rama_report_topic){ .kind = RAMA_REPORT_TOPIC_LAYER,
							   .name = l->name,
							   .also = l->label,
							   .line = l->label,
							   .row = l,
							   .module = l->module });
	}
	return error;
}

/* rules, words, limits, figures */
static int add_knowledge(struct rama_report_topics *t)
{
	int error = 0;

	for (unsigned i = 0; i < rama_diag_n_rules && error == 0; i++)
		error = add(t, (struct rama_report_topic){ .kind = RAMA_REPORT_TOPIC_RULE,
							   .name = rama_diag_rules[i].id,
							   .also = rama_diag_rules[i].drishti,
							   .line = rama_diag_rules[i].title,
							   .row = &rama_diag_rules[i] });
	for (unsigned i = 0; i < rama_tab_n_terms && error == 0; i++)
		error = add(t, (struct rama_report_topic){ .kind = RAMA_REPORT_TOPIC_TERM,
							   .name = rama_tab_terms[i].name,
							   .also = rama_tab_terms[i].also,
							   .line = rama_tab_terms[i].text,
							   .row = &rama_tab_terms[i] });
	for (unsigned i = 0; i < rama_diag_n_limits && error == 0; i++)
		error = add(t, (struct rama_report_topic){ .kind = RAMA_REPORT_TOPIC_LIMIT,
							   .name = rama_diag_limits[i].name,
							   .also = rama_diag_limits[i].drishti,
							   .line = rama_diag_limits[i].doc,
							   .row = &rama_diag_limits[i] });
	for (unsigned i = 0; i < rama_diag_n_facts && error == 0; i++)
		error = add(t, (struct rama_report_topic){ .kind = RAMA_REPORT_TOPIC_FACT,
							   .name = rama_diag_fact_info[i].name,
							   .also = "",
							   .line = rama_diag_fact_info[i].doc,
							   .row = &rama_diag_fact_info[i] });
	return error;
}

static int add_settings(struct rama_report_topics *t)
{
	int error = 0;

	for (int i = 0; i < RAMA_TAB_SETTINGS && error == 0; i++)
		error = add(t, (struct rama_report_topic){ .kind = RAMA_REPORT_TOPIC_SETTING,
							   .name = rama_tab_settings[i].variable,
							   .also = rama_tab_settings[i].directive,
							   .line = rama_tab_settings[i].text,
							   .row = &rama_tab_settings[i] });
	return error;
}

int rama_report_topics_make(struct rama_report_topics *t)
{
	int error;

	*t = (struct rama_report_topics){ 0 };
	error = add_knowledge(t);
	if (error == 0)
		error = add_layers(t);
	if (error == 0)
		error = add_modules(t);
	if (error == 0)
		error = add_settings(t);
	return error;
}

void rama_report_topics_fini(struct rama_report_topics *t)
{
	free(t->at);
	rama_arena_fini(&t->arena);
}

/* ---- names ---- */

static int plain(unsigned char c)
{
	return c == ' ' || c == '-' ? '_' : tolower(c);
}

/* the same name, of which the first has n characters? */
static bool same(const char *a, size_t n, const char *b)
{
	if (strlen(b) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (plain((unsigned char)a[i]) != plain((unsigned char)b[i]))
			return false;
	return true;
}

/* codes of Drishti stand with blanks between them, words of a term with commas */
static const char *between(enum rama_report_topic_kind kind)
{
	return kind == RAMA_REPORT_TOPIC_RULE ? " ," : ",";
}

bool rama_report_topic_named(const struct rama_report_topic *topic, const char *name)
{
	const char *also = topic->also != NULL ? topic->also : "";

	if (same(topic->name, strlen(topic->name), name))
		return true;
	while (*also != '\0') {
		size_t n;

		also += strspn(also, " ,");
		n = strcspn(also, between(topic->kind));
		if (n > 0 && same(also, n, name))
			return true;
		also += n;
	}
	return false;
}

/* a name that begins as those of all counters of the module do; what old logs alone have does
 * not */
static const char *sample_name(const struct rama_tab_schema *s)
{
	unsigned i = 0;

	while (i + 1 < *s->n_fields && s->fields[i].place == RAMA_TAB_DROPPED)
		i++;
	return s->fields[i].name;
}

/* FSYNCS of POSIX_FSYNCS: what is left without the word that all counters of the module begin
 * with */
bool rama_report_topic_counter_named(const struct rama_report_topic *topic, const char *name)
{
	size_t n = strlen(topic->name), k = strlen(name);

	if (topic->kind != RAMA_REPORT_TOPIC_COUNTER || k == 0 || n < k + 2 ||
	    topic->name[n - k - 1] != '_')
		return false;
	return same(topic->name + n - k, k, name) &&
	       strncmp(sample_name(rama_tab_module_get(topic->module)->record), topic->name,
		       n - k) == 0;
}

enum rama_report_topic_kind rama_report_topic_kind_named(const char *name)
{
	int i = 0;

	while (i < RAMA_REPORT_TOPIC_KINDS &&
	       strcasecmp(rama_report_topic_kind_info[i].many, name) != 0)
		i++;
	return (enum rama_report_topic_kind)i;
}

/* ---- names that are almost right ---- */

#define LONGEST 64

/* How many letters have to be put in, taken out, changed or swapped: the table of the textbook,
 * three rows of it. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[3][LONGEST + 1], n = (unsigned)strnlen(a, LONGEST),
				      m = (unsigned)strnlen(b, LONGEST);

	for (unsigned j = 0; j <= m; j++)
		row[0][j] = j;
	for (unsigned i = 1; i <= n; i++) {
		unsigned *now = row[i % 3], *before = row[(i + 2) % 3], *earlier = row[(i + 1) % 3];

		now[0] = i;
		for (unsigned j = 1; j <= m; j++) {
			int x = plain((unsigned char)a[i - 1]), y = plain((unsigned char)b[j - 1]);
			unsigned best = before[j - 1] + (x != y);

			best = before[j] + 1 < best ? before[j] + 1 : best;
			best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
			if (i > 1 && j > 1 && x == plain((unsigned char)b[j - 2]) &&
			    plain((unsigned char)a[i - 2]) == y && earlier[j - 2] + 1 < best)
				best = earlier[j - 2] + 1;
			now[j] = best;
		}
	}
	return row[n % 3][m];
}

/* of the word of a term that is nearest: "seiving" is in "data sieving" */
static unsigned nearest_word(const char *name, const char *asked)
{
	unsigned best = ~0U;

	while (*name != '\0') {
		size_t len = strcspn(name, " -");
		char word[LONGEST + 1];
		unsigned far;

		snprintf(word, sizeof(word), "%.*s", (int)(len < LONGEST ? len : LONGEST), name);
		far = distance(word, asked);
		best = far < best ? far : best;
		name += len + strspn(name + len, " -");
	}
	return best;
}

/* the smaller the nearer; names that hold the one asked for, or nearly, come after small
 * mistakes */
static unsigned remoteness(const char *name, const char *asked)
{
	unsigned far = distance(name, asked), n = (unsigned)strnlen(asked, LONGEST);

	if (far <= n / 3 || (far == 1 && n > 1))
		return far;
	if (n >= 3 && strcasestr(name, asked) != NULL)
		return LONGEST + (unsigned)strnlen(name, LONGEST);
	if (n >= 5 && strpbrk(name, " -") != NULL && nearest_word(name, asked) <= n / 3)
		return 2 * LONGEST + (unsigned)strnlen(name, LONGEST);
	return ~0U;
}

size_t rama_report_topics_nearest(const struct rama_report_topics *t, const char *name,
				  const struct rama_report_topic **to, size_t most)
{
	unsigned far[16];
	size_t n = 0;

	most = most > 16 ? 16 : most;
	for (size_t i = 0; i < t->n; i++) {
		unsigned d = remoteness(t->at[i].name, name);
		size_t k = 0;

		while (k < n && strcmp(to[k]->name, t->at[i].name) !=
					0) /* a layer and its module: said once */
			k++;
		if (d == ~0U || k < n || (n == most && d >= far[n - 1]))
			continue;
		n += n < most;
		for (k = n - 1; k > 0 && far[k - 1] > d; k--) {
			far[k] = far[k - 1];
			to[k] = to[k - 1];
		}
		far[k] = d;
		to[k] = &t->at[i];
	}
	return n;
}
