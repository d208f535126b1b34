/* SPDX-License-Identifier: BSD-3-Clause */
/* text.c: see text.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "diagnose/text.h"

#define SAID_MOST 2048 /* bytes of a template with other words in it */

struct name {
	const char *at;
	size_t len;
	const char *one, *many; /* words for one and for several, or NULL */
	size_t one_len, many_len;
};

/* what stands between braces */
static struct name parse(const char *in, size_t len)
{
	struct name n = { .at = in, .len = len };
	const char *bar = memchr(in, '|', len), *second;

	if (bar == NULL)
		return n;
	n.len = (size_t)(bar - in);
	n.one = bar + 1;
	second = memchr(n.one, '|', len - n.len - 1);
	n.one_len = second != NULL ? (size_t)(second - n.one) : len - n.len - 1;
	n.many = second != NULL ? second + 1 : n.one;
	n.many_len = second != NULL ? len - (size_t)(n.many - in) : n.one_len;
	return n;
}

static bool starts(const struct name *n, const char *with)
{
	size_t len = strlen(with);

	return n->len > len && memcmp(n->at, with, len) == 0;
}

static const struct rama_diag_limit *limit_of(const struct name *n)
{
	for (unsigned i = 0; i < rama_diag_n_limits; i++)
		if (strlen(rama_diag_limits[i].name) == n->len - 6 &&
		    memcmp(rama_diag_limits[i].name, n->at + 6, n->len - 6) == 0)
			return &rama_diag_limits[i];
	return NULL;
}

/* the figure that is meant; false: no such figure */
static bool figure(const struct rama_diag_text *t, struct name n, struct rama_diag_value *v)
{
	const struct rama_diag_sums *x = t->x;
	const struct rama_diag_fact *fact;

	if (starts(&n, "limit.")) {
		const struct rama_diag_limit *l = limit_of(&n);

		if (l == NULL)
			return false;
		memcpy(&v->value,
		       (const char *)&t->f->limits +
			       (size_t)(l - rama_diag_limits) * sizeof(double),
		       sizeof(double));
		v->name = l->name;
		v->unit = l->unit;
		v->doc = l->doc;
		return true;
	}
	if (starts(&n, "all.")) {
		n.at += 4;
		n.len -= 4;
		x = &t->f->all;
	}
	fact = rama_diag_fact_find(n.at, n.len);
	if (fact == NULL)
		return false;
	*v = (struct rama_diag_value){ fact->name, fact->doc, fact->unit,
				       rama_diag_fact_value(fact, t->f, x) };
	return true;
}

static void collect(struct rama_diag_text *t, const struct rama_diag_value *v)
{
	for (size_t i = 0; i < t->n_values; i++)
		if (t->values[i].name == v->name)
			return;
	if (t->n_values < RAMA_DIAG_TEXT_VALUES)
		t->values[t->n_values++] = *v;
}

/* ranks and storage targets are names, not amounts; of counts a fraction says nothing */
static void put_figure(struct rama_out *o, const struct rama_diag_value *v)
{
	char text[RAMA_HUMAN];

	if (strcmp(v->unit, "id") == 0)
		rama_out_fmt(o, "%.0f", v->value);
	else if (strcmp(v->unit, "count") == 0)
		rama_out_text(o,
			      rama_human_count(text, (int64_t)fmin(fmax(v->value, -9e18), 9e18)));
	else
		rama_out_text(o, rama_human_value(text, v->unit, v->value));
}

/* names that texts may have: NULL: it is none of them */
static const char *word_of(const struct rama_diag_text *t, const struct name *n)
{
	const struct {
		const char *name, *text, *without;
	} word[] = { { "file", t->file, "the file" },
		     { "slow_server", t->f->slow_server, "one server" },
		     { "full_server", t->f->full_server, "one server" },
		     { "turn_file", t->f->turn_file, "one file" } };

	for (unsigned i = 0; i < sizeof(word) / sizeof(*word); i++)
		if (strlen(word[i].name) == n->len && memcmp(word[i].name, n->at, n->len) == 0)
			return word[i].text != NULL ? word[i].text : word[i].without;
	return NULL;
}

static void put_name(struct rama_diag_text *t, struct rama_out *o, const char *in, size_t len)
{
	struct name n = parse(in, len);
	struct rama_diag_value v;

	const char *word = word_of(t, &n);

	if (word != NULL) {
		rama_out_text(o, word);
	} else if (figure(t, n, &v)) {
		if (t->collect)
			collect(t, &v);
		put_figure(o, &v);
		if (n.one != NULL) {
			rama_out_char(o, ' ');
			if (v.value == 1)
				rama_out_bytes(o, n.one, n.one_len);
			else
				rama_out_bytes(o, n.many, n.many_len);
		}
	} else {
		rama_out_bytes(o, in - 1, len + 2);
	}
}

/* the end of a name that starts after the brace, or NULL */
static const char *closing(const char *brace)
{
	const char *end = brace + 1 + strcspn(brace + 1, "{}");

	return *end == '}' ? end : NULL;
}

char *rama_diag_text_make(struct rama_diag_text *t, const char *template)
{
	char said[SAID_MOST], *text;
	struct rama_out o;

	if (t->f->view != NULL)
		template = rama_job_view_say(t->f->view, template, said, sizeof(said));
	rama_out_init(&o, NULL, NULL);
	for (const char *at = template; *at != '\0';) {
		size_t plain = strcspn(at, "{");
		const char *end;

		rama_out_bytes(&o, at, plain);
		at += plain;
		if (*at == '\0')
			break;
		end = closing(at);
		if (end == NULL) {
			rama_out_char(&o, *at++);
			continue;
		}
		put_name(t, &o, at + 1, (size_t)(end - at - 1));
		at = end + 1;
	}
	text = o.error == 0 ? rama_arena_text(t->arena, o.buf, o.used) : NULL;
	rama_out_fini(&o);
	return text;
}

const char *rama_diag_text_rank(const struct rama_job_view *v, int64_t rank,
				char to[RAMA_DIAG_TEXT_RANK])
{
	const char *program =
		v->processes && rank >= 0 && rank < v->nprocs ? v->ranks[rank].program : NULL;

	if (program != NULL && v->nprocs > 1)
		snprintf(to, RAMA_DIAG_TEXT_RANK, "process %lld (%.60s)", (long long)rank, program);
	else
		snprintf(to, RAMA_DIAG_TEXT_RANK, "%s %lld", v->processes ? "process" : "rank",
			 (long long)rank);
	return to;
}

bool rama_diag_text_known(const char *template)
{
	static const struct rama_diag_facts none;
	struct rama_diag_text t = { .f = &none, .x = &none.all };

	for (const char *at = strchr(template, '{'); at != NULL; at = strchr(at, '{')) {
		const char *end = closing(at);
		struct rama_diag_value v;
		struct name n;

		if (end == NULL)
			return false;
		n = parse(at + 1, (size_t)(end - at - 1));
		if (word_of(&t, &n) == NULL && !figure(&t, n, &v))
			return false;
		at = end;
	}
	return true;
}
