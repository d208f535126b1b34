/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/code/preload.h"

#include <string.h>

#include "base/code/elf.h"

#define BETWEEN ": " /* as the dynamic loader has it */
#define OURS "libiorama.so"

struct entry {
	const char *p;
	size_t n;
};

/* the next one of the list at *at, which goes on behind it; false: no more */
static bool next(const char **at, struct entry *e)
{
	e->p = *at + strspn(*at, BETWEEN);
	e->n = strcspn(e->p, BETWEEN);
	*at = e->p + e->n;
	return e->n > 0;
}

static bool is(const struct entry *e, const char *text)
{
	return text != NULL && strlen(text) == e->n && memcmp(e->p, text, e->n) == 0;
}

static bool is_ours(const struct entry *e, const char *own)
{
	size_t at = e->n;

	while (at > 0 && e->p[at - 1] != '/')
		at--;
	return is(e, own) ||
	       (e->n - at >= strlen(OURS) && memcmp(e->p + at, OURS, strlen(OURS)) == 0);
}

/* a list that is being written */
struct list {
	char *to;
	size_t size, n;
	bool full;
};

static void put(struct list *l, const char *p, size_t n)
{
	size_t colon = l->n > 0;

	if (l->full || l->size - l->n <= n + colon) {
		l->full = true;
		return;
	}
	if (colon)
		l->to[l->n++] = ':';
	memcpy(l->to + l->n, p, n);
	l->n += n;
	l->to[l->n] = '\0';
}

static struct list begin(char *to, size_t size)
{
	if (size > 0)
		to[0] = '\0';
	return (struct list){ .to = to, .size = size, .full = size == 0 };
}

/* the entries of a list but for those that are `own` */
static void put_others(struct list *l, const char *list,
		       bool (*is_own)(const struct entry *e, const char *own), const char *own)
{
	struct entry e;

	while (next(&list, &e))
		if (!is_own(&e, own))
			put(l, e.p, e.n);
}

bool rama_preload_has(const char *list, const char *own)
{
	struct entry e;

	while (next(&list, &e))
		if (is_ours(&e, own))
			return true;
	return false;
}

bool rama_preload_without(char *to, size_t size, const char *list, const char *own)
{
	struct list l = begin(to, size);

	put_others(&l, list, is_ours, own);
	return !l.full;
}

bool rama_preload_first(char *to, size_t size, const char *list, const char *first)
{
	struct list l = begin(to, size);

	put(&l, first, strlen(first));
	put_others(&l, list, is, first);
	return !l.full;
}

bool rama_preload_undo(char *to, size_t size, const char *list, const char *first)
{
	struct list l = begin(to, size);
	struct entry e;

	for (bool begun = false; next(&list, &e); begun = true)
		if (begun || !is(&e, first))
			put(&l, e.p, e.n);
	return !l.full;
}

bool rama_preload_with(char *to, size_t size, const char *list, const char *own)
{
	struct list l = begin(to, size);
	const char *at = list;
	struct entry e;

	while (next(&at, &e))
		if (rama_elf_first(e.p, e.n))
			put(&l, e.p, e.n);
	put(&l, own, strlen(own));
	while (next(&list, &e))
		if (!rama_elf_first(e.p, e.n) && !is_ours(&e, own))
			put(&l, e.p, e.n);
	return !l.full;
}
