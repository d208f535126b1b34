/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/run/plan.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

enum form { FORM_PAIR, FORM_TRIPLE, FORM_JOINED, FORM_EXPORT };

static const struct {
	enum form form;
	const char *option, *name;
} families[RAMA_LAUNCH_KINDS] = {
#define FAMILY(symbol, how, word, people) [RAMA_LAUNCH_##symbol] = { FORM_##how, word, people },
#define LAUNCHER(...)
#include "table/launchers.def"
#undef FAMILY
#undef LAUNCHER
};

static const struct launcher {
	const char *name;
	enum rama_launch_kind kind;
	const char *letters, *words;
	size_t skip;
} launchers[] = {
#define FAMILY(...)
#define LAUNCHER(program, what, short_options, long_options, leave) \
	{ program, RAMA_LAUNCH_##what, short_options, long_options, leave },
#include "table/launchers.def"
#undef FAMILY
#undef LAUNCHER
};

const char *rama_launch_family_name(enum rama_launch_kind kind)
{
	return families[kind].name;
}

static const struct launcher *launcher_of(const char *word)
{
	const char *base = strrchr(word, '/');

	base = base != NULL ? base + 1 : word;
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (strcmp(launchers[i].name, base) == 0)
			return &launchers[i];
	return NULL;
}

/* is `word` (n bytes) one of the blank-separated words of `list`? */
static bool in_list(const char *list, const char *word, size_t n)
{
	for (const char *p = list; n > 0 && (p = strstr(p, word)) != NULL; p++)
		if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
			return true;
	return false;
}

/* Does this option take the next word as its value? */
static bool takes_next(const struct launcher *l, const char *word)
{
	if (word[1] == '-')
		return strchr(word, '=') == NULL && in_list(l->words, word + 2, strlen(word + 2));
	for (const char *p = word + 1; *p != '\0'; p++)
		if (strchr(l->letters, *p) != NULL)
			return p[1] == '\0';
	return false;
}

/* index of the first word after the launcher's own: options, then `skip` words */
static size_t after_options(const struct launcher *l, char *const *argv, size_t at)
{
	for (at++; argv[at] != NULL && argv[at][0] == '-'; at++) {
		if (strcmp(argv[at], "--") == 0) {
			at++;
			break;
		}
		if (argv[at][1] != '\0' && takes_next(l, argv[at]) && argv[at + 1] != NULL)
			at++;
	}
	if (l->kind == RAMA_LAUNCH_ENV)
		while (argv[at] != NULL && strchr(argv[at], '=') != NULL)
			at++;
	for (size_t i = 0; i < l->skip && argv[at] != NULL; i++)
		at++;
	return at;
}

/* ---- the words of the new command line ------------------------------------------------------ */

struct words {
	char **argv;
	size_t n;
	struct rama_arena *a;
	bool failed;
};

static void add(struct words *w, const char *word)
{
	w->argv[w->n++] = (char *)word;
}

/* a word made of texts, the last one NULL */
static void add_made(struct words *w, const char *first, ...)
{
	size_t n = 1;
	char *word, *p;
	va_list ap;

	va_start(ap, first);
	for (const char *t = first; t != NULL; t = va_arg(ap, const char *))
		n += strlen(t);
	va_end(ap);
	p = word = rama_arena_alloc(w->a, n);
	if (word == NULL) {
		w->failed = true;
		return;
	}
	va_start(ap, first);
	for (const char *t = first; t != NULL; t = va_arg(ap, const char *))
		p = stpcpy(p, t);
	va_end(ap);
	add(w, word);
}

/* Variables as options. Only LD_PRELOAD is not in the launcher's own environment, so the others
 * need no value where a name is enough. */
static void add_options(struct words *w, enum rama_launch_kind kind,
			const struct rama_launch_in *in)
{
	const char *option = families[kind].option;

	for (size_t i = 0; i < in->n_vars; i++) {
		const struct rama_launch_var *v = &in->vars[i];

		if (families[kind].form == FORM_JOINED) {
			add_made(w, option, "=", v->name, "=", v->value, NULL);
			continue;
		}
		add(w, option);
		if (families[kind].form == FORM_TRIPLE) {
			add(w, v->name);
			add(w, v->value);
		} else if (i > 0 && kind == RAMA_LAUNCH_OPENMPI) {
			add(w, v->name);
		} else {
			add_made(w, v->name, "=", v->value, NULL);
		}
	}
}

/* srun has one list for all variables: the user's, or ALL, gets ours at its end. */
static void add_export(struct words *w, const struct rama_launch_in *in, const char *before)
{
	bool all = before == NULL || strncmp(before, "ALL", 3) == 0;
	const char *list = before == NULL ? "ALL" : strcmp(before, "NONE") == 0 ? "NIL" : before;
	size_t size = strlen(list) + 64;
	char *word, *p;

	for (size_t i = 0; i < in->n_vars; i++)
		size += strlen(in->vars[i].name) + strlen(in->vars[i].value) + 2;
	word = rama_arena_alloc(w->a, size);
	if (word == NULL) {
		w->failed = true;
		return;
	}
	p = stpcpy(word, "--export=");
	if (strcmp(list, "NIL") != 0)
		p = stpcpy(stpcpy(p, list), ",");
	for (size_t i = 1; i < in->n_vars && !all; i++)
		p = stpcpy(stpcpy(p, in->vars[i].name), ",");
	stpcpy(stpcpy(stpcpy(p, in->vars[0].name), "="), in->vars[0].value);
	add(w, word);
}

/* srun's own words from *at up to `end`, without its --export, whose value is returned */
static const char *copy_srun(struct words *w, char *const *argv, size_t at, size_t end)
{
	const char *value = NULL;

	for (; at < end; at++) {
		if (strncmp(argv[at], "--export=", 9) == 0)
			value = argv[at] + 9;
		else if (strcmp(argv[at], "--export") == 0 && at + 1 < end)
			value = argv[++at];
		else
			add(w, argv[at]);
	}
	return value;
}

/* env clears what it is told to clear; what it sets then is ours to set again */
static void copy_env(struct words *w, const struct rama_launch_in *in, size_t at, size_t end)
{
	bool clears = false, preloads = false;
	const char *preload = "LD_PRELOAD=";

	for (; at < end; at++) {
		const char *word = in->argv[at];

		clears |= word[0] == '-' && strcmp(word, "--") != 0;
		if (strncmp(word, preload, strlen(preload)) == 0) {
			preloads = true;
			word += strlen(preload);
			add_made(w, preload, in->vars[0].value, *word != '\0' ? ":" : "", word,
				 NULL);
		} else {
			add(w, word);
		}
	}
	for (size_t i = preloads ? 1 : 0; clears && i < in->n_vars; i++)
		add_made(w, in->vars[i].name, "=", in->vars[i].value, NULL);
}

static void copy_parallel(struct words *w, const struct rama_launch_in *in, size_t at,
			  const struct launcher *l, enum rama_launch_kind kind)
{
	size_t end = at + 1;

	if (kind == RAMA_LAUNCH_SRUN) {
		const char *value;

		end = after_options(l, in->argv, at);
		value = copy_srun(w, in->argv, at + 1, end);
		if (w->n > 0 && strcmp(w->argv[w->n - 1], "--") == 0)
			w->n--;
		add_export(w, in, value);
	} else if (kind != RAMA_LAUNCH_MPI) {
		for (size_t i = 0; i < l->skip && in->argv[end] != NULL; i++)
			add(w, in->argv[end++]);
		add_options(w, kind, in);
	}
	for (; in->argv[end] != NULL; end++) {
		add(w, in->argv[end]);
		/* each program of `mpirun … : …` has variables of its own */
		if (kind == RAMA_LAUNCH_OPENMPI && strcmp(in->argv[end], ":") == 0)
			add_options(w, kind, in);
	}
}

/* ---- the plan ------------------------------------------------------------------------------- */

/* `env nice mpirun …`: index of the first word that does more than run what follows it */
static size_t walk(const struct rama_launch_in *in, enum rama_launch_kind *kind,
		   const struct launcher **row)
{
	size_t at = 0;

	*kind = RAMA_LAUNCH_PROGRAM;
	for (;;) {
		const struct launcher *l = in->argv[at] != NULL ? launcher_of(in->argv[at]) : NULL;
		size_t next;

		*row = l;
		if (l == NULL)
			return at;
		if (l->kind != RAMA_LAUNCH_RUNS && l->kind != RAMA_LAUNCH_ENV) {
			*kind = l->kind;
			if (l->kind == RAMA_LAUNCH_MPI && in->family != NULL)
				*kind = in->family(in->ctx, in->argv[at]);
			return at;
		}
		next = after_options(l, in->argv, at);
		if (in->argv[next] == NULL)
			return at;
		at = next;
	}
}

const char *rama_launch_refused(const struct rama_launch_in *in)
{
	enum rama_launch_kind kind;
	const struct launcher *row;
	size_t at = walk(in, &kind, &row);

	return kind == RAMA_LAUNCH_REFUSED ? in->argv[at] : NULL;
}

size_t rama_launch_parallel(const struct rama_launch_in *in)
{
	enum rama_launch_kind kind;
	const struct launcher *row;
	size_t at = walk(in, &kind, &row);

	return row != NULL && rama_launch_family_name(kind) != NULL ? at : SIZE_MAX;
}

int rama_launch_plan_make(struct rama_launch_plan *l, const struct rama_launch_in *in,
			  struct rama_arena *a)
{
	const struct launcher *row;
	struct words w = { .a = a };
	size_t n = 0, at, room;
	bool family;

	*l = (struct rama_launch_plan){ 0 };
	while (in->argv[n] != NULL)
		n++;
	room = n + (n + 1) * 3 * in->n_vars + 2;
	w.argv = rama_arena_alloc(a, room * sizeof(*w.argv));
	if (w.argv == NULL)
		return RAMA_EMEMORY;
	at = walk(in, &l->kind, &row);
	family = row != NULL && rama_launch_family_name(l->kind) != NULL;
	for (size_t i = 0; i < at;) {
		const struct launcher *outer = launcher_of(in->argv[i]);
		size_t next = outer != NULL ? after_options(outer, in->argv, i) : at;

		if (outer != NULL && outer->kind == RAMA_LAUNCH_ENV && !family)
			copy_env(&w, in, i, next);
		else
			for (size_t k = i; k < next; k++)
				add(&w, in->argv[k]);
		i = next;
	}
	l->program = w.n;
	if (family) {
		add(&w, in->argv[at]);
		copy_parallel(&w, in, at, row, l->kind);
	} else {
		for (; in->argv[at] != NULL; at++)
			add(&w, in->argv[at]);
	}
	add(&w, NULL);
	l->argv = w.argv;
	l->preload = !family;
	return w.failed ? RAMA_EMEMORY : 0;
}
