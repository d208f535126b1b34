/* SPDX-License-Identifier: BSD-3-Clause */
/* advice.c: chooses and fills in the rows of table/advice.def. */
#include "diagnose/advice.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "table/map.h"

/* templates, embedded by cmake/snippets.cmake */
#define SNIPPET(symbol, ...) extern const char rama_diag_snippet_text_##symbol[];
#include "table/advice.def"

#define FIT_BIT(when) | RAMA_DIAG_FIT_##when
#define FIT(...) (0 RAMA_TAB_EACH(FIT_BIT, __VA_ARGS__))

const struct rama_diag_snippet_info rama_diag_snippet_info[RAMA_DIAG_SNIPPETS] = {
	[RAMA_DIAG_SNIPPET_none] = { "none", "", RAMA_DIAG_LANGUAGE_C, 0, "\n" },
#define SNIPPET(symbol, language, fits, title)                                                \
	[RAMA_DIAG_SNIPPET_##symbol] = { #symbol, title, RAMA_DIAG_LANGUAGE_##language, fits, \
					 rama_diag_snippet_text_##symbol },
#include "table/advice.def"
};

const struct rama_diag_advice_value_info rama_diag_advice_value_info[RAMA_DIAG_VALUES] = {
#define VALUE(name, kind, doc) { #name, doc, RAMA_DIAG_KIND_##kind },
#include "table/advice.def"
};

#define SNIPPET_ID(symbol) RAMA_DIAG_SNIPPET_##symbol
const struct rama_diag_advice rama_diag_advices[] = {
#define ADVICE(id, text, ...) { #id, text, { RAMA_TAB_LIST(SNIPPET_ID, __VA_ARGS__) } },
#include "table/advice.def"
};
const unsigned rama_diag_n_advices = sizeof(rama_diag_advices) / sizeof(rama_diag_advices[0]);

const struct rama_diag_advice *rama_diag_advice_find(const char *id)
{
	for (unsigned i = 0; i < rama_diag_n_advices; i++)
		if (strcmp(rama_diag_advices[i].id, id) == 0)
			return &rama_diag_advices[i];
	return NULL;
}

/* ---- filling in ---- */

static int placeholder(const char *name, size_t n)
{
	for (int i = 0; i < RAMA_DIAG_VALUES; i++)
		if (strlen(rama_diag_advice_value_info[i].name) == n &&
		    memcmp(rama_diag_advice_value_info[i].name, name, n) == 0)
			return i;
	return -1;
}

static void put_words(struct rama_out *o, enum rama_diag_advice_kind kind,
		      const union rama_diag_advice_value *value)
{
	char text[256], number[RAMA_HUMAN];

	switch (kind) {
	/* whoever prints it takes care of what terminals and pages must not get */
	case RAMA_DIAG_KIND_PATH:
	case RAMA_DIAG_KIND_TEXT:
		rama_out_text(o, rama_job_view_short_name(value->text, 48, text, sizeof(text)));
		break;
	case RAMA_DIAG_KIND_BYTES:
		rama_out_text(o, rama_human_bytes(number, (double)value->number));
		break;
	case RAMA_DIAG_KIND_COUNT:
		rama_out_text(o, rama_human_count(number, value->number));
		break;
	}
}

static void put_value(struct rama_out *o, int id, enum rama_diag_language language,
		      const struct rama_diag_advice_values *values)
{
	enum rama_diag_advice_kind kind = rama_diag_advice_value_info[id].kind;

	if (language == RAMA_DIAG_LANGUAGES)
		put_words(o, kind, &values->at[id]);
	else if (kind == RAMA_DIAG_KIND_TEXT || kind == RAMA_DIAG_KIND_PATH)
		rama_diag_literal(o, language, values->at[id].text);
	else
		rama_out_i64(o, values->at[id].number);
}

void rama_diag_advice_fill(struct rama_out *o, const char *text, enum rama_diag_language language,
			   const struct rama_diag_advice_values *values)
{
	while (*text != '\0') {
		size_t n = strcspn(text, "{"), word = 0;
		int id = -1;

		rama_out_bytes(o, text, n);
		text += n;
		if (*text == '\0')
			break;
		while (islower((unsigned char)text[1 + word]) || text[1 + word] == '_')
			word++;
		if (text[1 + word] == '}')
			id = placeholder(text + 1, word);
		if (id < 0) {
			rama_out_char(o, *text++);
			continue;
		}
		put_value(o, id, language, values);
		text += word + 2;
	}
}

static const char *filled(struct rama_arena *a, const char *text, enum rama_diag_language language,
			  const struct rama_diag_advice_values *values)
{
	struct rama_out o;
	const char *copy = NULL;

	rama_out_init(&o, NULL, NULL);
	rama_diag_advice_fill(&o, text, language, values);
	if (o.error == 0)
		copy = rama_arena_text(a, o.buf != NULL ? o.buf : "", o.used);
	rama_out_fini(&o);
	return copy;
}

/* ---- choosing ---- */

/* Python for programs in Python, the others for others; what a shell does suits all */
static bool suits(const struct rama_diag_snippet_info *s, unsigned fits)
{
	bool python = s->language == RAMA_DIAG_LANGUAGE_PYTHON;

	if ((s->fits & fits) == 0)
		return false;
	return s->language == RAMA_DIAG_LANGUAGE_SHELL ||
	       python == ((fits & RAMA_DIAG_FIT_PYTHON) != 0);
}

static int choose_snippets(struct rama_arena *a, struct rama_diag_finding *fd,
			   const struct rama_diag_advice *advice,
			   const struct rama_diag_advice_values *values, unsigned fits)
{
	struct rama_diag_snippet *list =
		rama_arena_alloc(a, RAMA_DIAG_SNIPPETS_SHOWN * sizeof(*list));
	size_t n = 0;

	if (list == NULL)
		return RAMA_EMEMORY;
	for (const enum rama_diag_snippet_id *id = advice->snippets;
	     *id != RAMA_DIAG_SNIPPET_none && n < RAMA_DIAG_SNIPPETS_SHOWN; id++) {
		const struct rama_diag_snippet_info *s = &rama_diag_snippet_info[*id];

		if (!suits(s, fits))
			continue;
		list[n].language = rama_diag_language_name[s->language];
		list[n].title = s->title;
		/* the first line of a template is its licence */
		list[n].text = filled(a, strchr(s->text, '\n') + 1, s->language, values);
		if (list[n++].text == NULL)
			return RAMA_EMEMORY;
	}
	fd->snippets = list;
	fd->n_snippets = n;
	return 0;
}

/* an earlier finding that already says so, about the same file */
static const struct rama_diag_finding *said_before(const struct rama_diag *d,
						   const struct rama_diag_finding *fd)
{
	for (const struct rama_diag_finding *p = d->findings; p < fd; p++)
		if (p->level != RAMA_DIAG_LEVEL_OK && p->advice != NULL && p->advised_by == NULL &&
		    strcmp(p->advice, fd->advice) == 0)
			return p;
	return NULL;
}

static int advise_one(struct rama_diag *d, struct rama_diag_finding *fd,
		      const struct rama_job_view *v)
{
	const struct rama_diag_advice *advice = rama_diag_advice_find(fd->rule->advice);
	const struct rama_job_view_file *file = rama_diag_advice_file(v, fd);
	struct rama_diag_advice_values values;

	if (advice == NULL)
		return 0;
	rama_diag_advice_values_of(&values, v, file, fd);
	fd->advice = filled(&d->arena, advice->text, RAMA_DIAG_LANGUAGES, &values);
	if (fd->advice == NULL)
		return RAMA_EMEMORY;
	fd->advised_by = said_before(d, fd);
	if (fd->advised_by != NULL)
		return 0;
	return choose_snippets(&d->arena, fd, advice, &values, rama_diag_advice_fits(v, file));
}

int rama_diag_advise(struct rama_diag *d, const struct rama_job_view *v)
{
	for (size_t i = 0; i < d->n_findings; i++) {
		struct rama_diag_finding *fd = &d->findings[i];

		if (fd->level != RAMA_DIAG_LEVEL_OK && fd->rule->advice != NULL &&
		    advise_one(d, fd, v) != 0)
			return RAMA_EMEMORY;
	}
	return 0;
}
