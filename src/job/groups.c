/* SPDX-License-Identifier: BSD-3-Clause */
/* groups.c: files whose names differ in numbers only are one group: out.0001.h5, out.0002.h5
 * become out.####.h5. */
#include <stdlib.h>
#include <string.h>

#include "core/recordid.h"
#include "job/parts.h"

/* File by which a group is named, and what is known of its numbers: bit per number, of the first
 * 64 in the name. */
struct first {
	uint32_t file;
	uint64_t differs; /* is another in other files */
	uint64_t uneven;  /* ... and with more or fewer digits */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* each run of digits as one '#'; its length, which is at most that of the name */
static size_t folded(const char *name, char *to)
{
	size_t n = 0;

	for (size_t i = 0; name[i] != '\0'; i++)
		if (!is_digit(name[i]))
			to[n++] = name[i];
		else if (i == 0 || !is_digit(name[i - 1]))
			to[n++] = '#';
	return n;
}

static size_t longest(const struct rama_job_view *v)
{
	size_t most = 0;

	for (size_t i = 0; i < v->n_files; i++) {
		size_t n = strlen(v->files[i].name);

		most = n > most ? n : most;
	}
	return most;
}

/* the digits at the start of a text */
static size_t digits(const char *text)
{
	size_t n = 0;

	while (is_digit(text[n]))
		n++;
	return n;
}

/* both names are the same but for their numbers */
static void compare(struct first *first, const char *a, const char *b)
{
	for (unsigned number = 0; *a != '\0' && *b != '\0';) {
		size_t m = digits(a), n = digits(b);

		if (m > 0 && n > 0) {
			uint64_t bit = number < 64 ? 1ull << number : 0;

			if (m != n || memcmp(a, b, n) != 0)
				first->differs |= bit;
			if (m != n)
				first->uneven |= bit;
			number++;
		}
		a += m > 0 ? m : 1;
		b += n > 0 ? n : 1;
	}
}

static void join(struct rama_job_view *v, uint32_t file, struct first *first, uint32_t group)
{
	struct rama_job_view_group *g = &v->groups[group];
	struct rama_job_view_file *f = &v->files[file];

	f->group = group;
	g->files++;
	rama_job_io_add(&g->io, &f->io);
	if (g->files > 1)
		compare(&first[group], v->files[first[group].file].name, f->name);
}

/* numbers that differ become '#', one for each digit or, if their lengths differ, a single one */
static size_t pattern(const struct first *first, const char *name, char *to)
{
	unsigned number = 0;
	size_t n = 0;

	while (*name != '\0') {
		size_t m = digits(name);
		uint64_t bit = m > 0 && number < 64 ? 1ull << number : 0;

		number += m > 0;
		if (first->uneven & bit) {
			to[n++] = '#';
		} else if (first->differs & bit) {
			memset(to + n, '#', m);
			n += m;
		} else {
			memcpy(to + n, name, m > 0 ? m : 1);
			n += m > 0 ? m : 1;
		}
		name += m > 0 ? m : 1;
	}
	return n;
}

static int name_group(struct rama_job_view *v, struct rama_job_view_group *g,
		      const struct first *first, char *buf)
{
	const char *name = v->files[first->file].name;

	g->pattern =
		g->files == 1 ? name : rama_arena_text(&v->arena, buf, pattern(first, name, buf));
	return g->pattern != NULL ? 0 : RAMA_EMEMORY;
}

static int make(struct rama_job_view *v, struct rama_map *by_name, struct first *first, char *buf)
{
	for (uint32_t i = 0; i < v->n_files; i++) {
		/* a name that is only an id stands for itself */
		size_t n = v->files[i].named ? folded(v->files[i].name, buf) : 0;
		uint64_t key = n > 0 ? rama_core_record_id(buf, n) : v->files[i].id;
		bool fresh;
		uint64_t *at;

		if (v->files[i].pseudo || v->files[i].unopened)
			continue;
		at = rama_map_put(by_name, key, &fresh);
		if (at == NULL)
			return RAMA_EMEMORY;
		if (fresh) {
			*at = v->n_groups;
			first[v->n_groups++] = (struct first){ .file = i };
		}
		join(v, i, first, (uint32_t)*at);
	}
	for (size_t i = 0; i < v->n_groups; i++)
		if (name_group(v, &v->groups[i], &first[i], buf) != 0)
			return RAMA_EMEMORY;
	return 0;
}

int rama_job_view_groups_finish(struct rama_job_view *v)
{
	struct rama_map by_name = { 0 };
	struct first *first = calloc(v->n_files + 1, sizeof(*first));
	char *buf = malloc(longest(v) + 1);
	int rc;

	v->groups = calloc(v->n_files + 1, sizeof(*v->groups));
	rc = first != NULL && buf != NULL && v->groups != NULL ? make(v, &by_name, first, buf)
							       : RAMA_EMEMORY;
	rama_map_fini(&by_name);
	free(first);
	free(buf);
	return rc;
}
