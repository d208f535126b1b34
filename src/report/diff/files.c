/* SPDX-License-Identifier: BSD-3-Clause */
/* files.c: which files of two runs are the same: by id, that is by their whole name; then
 * those whose names differ in numbers only, together; then those that also lie in other folders. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/map.h"
#include "core/recordid.h"
#include "report/diff/diff.h"

struct bundle {
	struct rama_report_diff_file f;
	bool gone; /* joined with another */
};

struct pairing {
	struct rama_report_diff *d;
	struct rama_map by_pattern;
	struct bundle *bundles;
	size_t n, room;
};

/* run2/out.0017.h5 -> run#/out.#.h5; freed by the caller */
static char *pattern_of(const char *name)
{
	char *to = malloc(strlen(name) + 1), *p = to;

	if (to == NULL)
		return NULL;
	while (*name != '\0') {
		if (!isdigit((unsigned char)*name)) {
			*p++ = *name++;
			continue;
		}
		*p++ = '#';
		while (isdigit((unsigned char)*name))
			name++;
	}
	*p = '\0';
	return to;
}

/* length of the number at the start of a text, which may stand as '#' already */
static size_t number(const char *s)
{
	size_t n = *s == '#';

	while (n == 0 ? isdigit((unsigned char)*s) : isdigit((unsigned char)s[n]))
		n++;
	return n;
}

/* What two names that differ in numbers only have in common: numbers that differ become '#'.
 * NULL: no memory; `a` itself if that says it already. */
static const char *common_name(struct rama_arena *arena, const char *a, const char *b)
{
	char *to = malloc(strlen(a) + 1), *p = to;
	const char *name = a, *result = a;

	while (to != NULL && *a != '\0' && *b != '\0') {
		size_t m = number(a), n = number(b);

		if (m > 0 && n > 0 && (m != n || memcmp(a, b, n) != 0)) {
			*p++ = '#';
		} else {
			memcpy(p, a, m > 0 ? m : 1);
			p += m > 0 ? m : 1;
		}
		a += m > 0 ? m : 1;
		b += n > 0 ? n : 1;
	}
	if (to == NULL)
		return NULL;
	*p = '\0';
	if (strcmp(to, name) != 0)
		result = rama_arena_text(arena, to, (size_t)(p - to));
	free(to);
	return result;
}

static struct bundle *new_bundle(struct pairing *p, const char *name)
{
	if (!RAMA_GROW(p->bundles, p->room, p->n + 1))
		return NULL;
	p->bundles[p->n] = (struct bundle){ .f = { .name = name } };
	return &p->bundles[p->n++];
}

static void add_to(struct bundle *b, unsigned side, const struct rama_job_view_file *f)
{
	b->f.files[side]++;
	rama_job_io_add(&b->f.io[side], &f->io);
}

/* one that was used, not only looked for */
static bool counts(const struct rama_job_view_file *f)
{
	return f != NULL && !f->pseudo && !f->unopened;
}

/* those of the same name */
static int pair_by_id(struct pairing *p)
{
	const struct rama_job_view *a = p->d->side[0].view, *b = p->d->side[1].view;

	for (size_t i = 0; i < a->n_files; i++) {
		const struct rama_job_view_file *f = &a->files[i],
						*g = rama_job_view_file_of(b, f->id);
		struct bundle *to;

		if (!counts(f) || !counts(g))
			continue;
		to = new_bundle(p, f->name);
		if (to == NULL)
			return RAMA_EMEMORY;
		add_to(to, 0, f);
		add_to(to, 1, g);
		p->d->both++;
	}
	return 0;
}

static int bundle_up(struct pairing *p, unsigned side, const struct rama_job_view_file *f)
{
	char *pattern = pattern_of(f->name);
	uint64_t *at;
	bool fresh = false;

	if (pattern == NULL)
		return RAMA_EMEMORY;
	at = rama_map_put(&p->by_pattern, rama_core_record_id(pattern, strlen(pattern)), &fresh);
	if (at != NULL && fresh) {
		*at = p->n;
		if (new_bundle(p, f->name) == NULL)
			at = NULL;
	}
	if (at != NULL) {
		struct bundle *b = &p->bundles[*at];

		add_to(b, side, f);
		b->f.name = common_name(&p->d->arena, b->f.name, f->name);
		if (b->f.name == NULL)
			at = NULL;
	}
	free(pattern);
	return at != NULL ? 0 : RAMA_EMEMORY;
}

static int pair_by_pattern(struct pairing *p)
{
	for (unsigned side = 0; side < 2; side++) {
		const struct rama_job_view *v = p->d->side[side].view,
					   *other = p->d->side[1 - side].view;

		for (size_t i = 0; i < v->n_files; i++) {
			const struct rama_job_view_file *f = &v->files[i];

			if (counts(f) && !counts(rama_job_view_file_of(other, f->id)) &&
			    bundle_up(p, side, f) != 0)
				return RAMA_EMEMORY;
		}
	}
	return 0;
}

static const char *base_of(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash != NULL ? slash + 1 : name;
}

static int join(struct pairing *p, struct bundle *to, struct bundle *from)
{
	for (unsigned s = 0; s < 2; s++) {
		to->f.files[s] += from->f.files[s];
		rama_job_io_add(&to->f.io[s], &from->f.io[s]);
	}
	from->gone = true;
	to->f.name = common_name(&p->d->arena, base_of(to->f.name), base_of(from->f.name));
	return to->f.name != NULL ? 0 : RAMA_EMEMORY;
}

/* What only A has may lie in another folder of B. The first bundle of a name takes one of the
 * other side. */
static int pair_by_base(struct pairing *p)
{
	struct rama_map by_base = { 0 };
	int rc = 0;

	for (size_t i = 0; i < p->n && rc == 0; i++) {
		struct bundle *b = &p->bundles[i];
		unsigned side = b->f.files[0] == 0;
		char *pattern;
		uint64_t *at;
		bool fresh = false;

		if (b->f.files[1 - side] != 0)
			continue;
		pattern = pattern_of(base_of(b->f.name));
		at = pattern != NULL
			     ? rama_map_put(&by_base, rama_core_record_id(pattern, strlen(pattern)),
					    &fresh)
			     : NULL;
		free(pattern);
		if (at == NULL)
			rc = RAMA_EMEMORY;
		else if (fresh)
			*at = i;
		else if (p->bundles[*at].f.files[side] == 0)
			rc = join(p, &p->bundles[*at], b);
	}
	rama_map_fini(&by_base);
	return rc;
}

static int by_gap(const void *x, const void *y)
{
	const struct rama_report_diff_file *a = x, *b = y;
	double gap = fabs(rama_job_io_time(&b->io[1]) - rama_job_io_time(&b->io[0])) -
		     fabs(rama_job_io_time(&a->io[1]) - rama_job_io_time(&a->io[0]));

	return gap != 0 ? (gap > 0 ? 1 : -1) : strcmp(a->name, b->name);
}

static int collect(struct pairing *p)
{
	struct rama_report_diff *d = p->d;

	d->files = malloc((p->n + 1) * sizeof(*d->files));
	if (d->files == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; i < p->n; i++) {
		const struct rama_report_diff_file *f = &p->bundles[i].f;

		if (p->bundles[i].gone)
			continue;
		for (unsigned s = 0; s < 2; s++)
			d->only[s] += f->files[1 - s] == 0 ? f->files[s] : 0;
		d->files[d->n_files++] = *f;
	}
	qsort(d->files, d->n_files, sizeof(*d->files), by_gap);
	return 0;
}

int rama_report_diff_files(struct rama_report_diff *d)
{
	struct pairing p = { .d = d };
	int rc = pair_by_id(&p);

	if (rc == 0)
		rc = pair_by_pattern(&p);
	if (rc == 0)
		rc = pair_by_base(&p);
	if (rc == 0)
		rc = collect(&p);
	free(p.bundles);
	rama_map_fini(&p.by_pattern);
	return rc;
}
