/* SPDX-License-Identifier: BSD-3-Clause */
/* sites.c: which places in the program moved what, over all ranks. Places of several programs that
 * are one line of source become one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/recordid.h"
#include "job/work.h"

enum { ROW_WORDS = 8 };
#define TIME_MOST 1000000000000000000 /* ns: decades; more is damage */

/* ---- places ---------------------------------------------------------------------------------- */

/* "prog+0x11a9", "train.py:18", as long as nothing better is known */
static const char *plain_name(struct rama_job_view *v, const struct rama_site_frame *f)
{
	size_t from = f->file_len, n;
	char text[400];

	while (from > 0 && f->file[from - 1] != '/')
		from--;
	n = f->file_len - from;
	if (f->function != NULL)
		snprintf(text, sizeof(text), "%.*s:%u", n < 300 ? (int)n : 300, f->file + from,
			 f->line);
	else
		snprintf(text, sizeof(text), "%.*s+0x%llx", n < 300 ? (int)n : 300, f->file + from,
			 (unsigned long long)f->at);
	return rama_arena_text(&v->arena, text, strlen(text));
}

/* the place that a record is named after: its first frame; nobody's if there is none */
static struct rama_job_view_site *site_get(struct rama_job_view *v, uint64_t id, uint32_t *index)
{
	const struct rama_log_name *name = rama_log_name_get(v->work->log, id);
	const char *text = name != NULL ? name->text : "";
	struct rama_job_view_site s = { .frame.file = NULL };
	size_t end = 0;
	uint64_t *at;
	bool fresh;

	if (!rama_site_next(text, strlen(text), &end, &s.frame))
		end = 0;
	at = rama_map_put(&v->work->sites_by_name, end > 0 ? rama_core_record_id(text, end) : 0,
			  &fresh);
	if (at == NULL || !RAMA_GROW(v->sites, v->work->sites_room, v->n_sites + 1))
		return NULL;
	if (fresh) {
		text = rama_arena_text(&v->arena, text, end);
		if (text == NULL)
			return NULL;
		end = 0;
		s.frame.file = NULL;
		rama_site_next(text, strlen(text), &end, &s.frame);
		s.name = end > 0 ? plain_name(v, &s.frame) : "(not known)";
		if (end > 0 && s.frame.function == NULL) {
			s.program = rama_arena_text(&v->arena, s.frame.file, s.frame.file_len);
			if (s.program == NULL)
				return NULL;
		}
		if (s.name == NULL)
			return NULL;
		*at = v->n_sites;
		v->sites[v->n_sites++] = s;
	}
	*index = (uint32_t)*at;
	return &v->sites[*at];
}

static void add_moved(struct rama_job_view_moved *to, const struct rama_job_view_moved *m)
{
	for (unsigned k = 0; k < 2; k++) {
		to->count[k] = rama_core_add(to->count[k], m->count[k]);
		to->bytes[k] = rama_core_add(to->bytes[k], m->bytes[k]);
		to->time[k] += m->time[k];
	}
}

/* nothing in a record is trusted */
static bool read_row(const union rama_core_word *w, struct rama_job_view_share *to)
{
	for (unsigned i = 2; i < ROW_WORDS; i++)
		if (w[i].i < 0 || (i >= 6 && w[i].i > TIME_MOST))
			return false;
	*to = (struct rama_job_view_share){
		.file = w[0].u,
		.stream = w[1].u == 1,
		.moved = { .count = { w[3].i, w[2].i },
			   .bytes = { w[5].i, w[4].i },
			   .time = { (double)w[7].i * 1e-9, (double)w[6].i * 1e-9 } },
	};
	return w[1].u <= 1;
}

static bool take(struct rama_job_view *v, const struct rama_core_record *r)
{
	struct rama_job_view_work *k = v->work;
	uint32_t index = 0;

	if (site_get(v, r->w[RAMA_TAB_ID].u, &index) == NULL)
		return false;
	for (uint64_t i = 0; i < r->count[0]; i++) {
		struct rama_job_view_share s;

		if (!read_row(&r->array[0][ROW_WORDS * i], &s))
			continue;
		if (!RAMA_GROW(v->shares, k->shares_room, v->n_shares + 1))
			return false;
		s.site = index;
		v->shares[v->n_shares++] = s;
	}
	return true;
}

int rama_job_view_sites_read(struct rama_job_view *v)
{
	struct rama_log_cursor c;
	struct rama_core_record *r;
	bool ok = true;
	int rc = rama_log_cursor_open(&c, v->work->log, RAMA_TAB_MOD_SITES);

	while (rc > 0 && ok && (rc = rama_log_cursor_next(&c, &r)) > 0) {
		v->work->records[RAMA_TAB_MOD_SITES]++;
		ok = take(v, r);
	}
	rama_log_cursor_close(&c);
	return ok ? rc : RAMA_EMEMORY;
}

/* ---- lines of source ------------------------------------------------------------------------- */

/* "checkpoint.c:88 (write_particles)" */
static bool name_line(struct rama_job_view *v, struct rama_job_view_site *s,
		      const struct rama_job_view_line *l)
{
	const char *slash = strrchr(l->source, '/');
	char text[600];

	if (l->source[0] != '\0')
		snprintf(text, sizeof(text), "%.250s:%u%s%.300s%s",
			 slash != NULL ? slash + 1 : l->source, l->line,
			 l->function[0] != '\0' ? " (" : "", l->function,
			 l->function[0] != '\0' ? ")" : "");
	else
		snprintf(text, sizeof(text), "%.250s (%.300s)", s->name, l->function);
	s->name = rama_arena_text(&v->arena, text, strlen(text));
	s->source = rama_arena_text(&v->arena, l->source, strlen(l->source));
	s->function = rama_arena_text(&v->arena, l->function, strlen(l->function));
	s->line = l->line;
	return s->name != NULL && s->source != NULL && s->function != NULL;
}

/* a place that is a line already */
static bool copy_line(struct rama_job_view *v, struct rama_job_view_site *s)
{
	const struct rama_site_frame *f = &s->frame;
	struct rama_job_view_line l = {
		.source = rama_arena_text(&v->arena, f->file, f->file_len),
		.function = rama_arena_text(&v->arena, f->function, f->function_len),
		.line = f->line,
	};

	return l.source != NULL && l.function != NULL && name_line(v, s, &l);
}

static bool find_lines(struct rama_job_view *v)
{
	bool ok = true;

	for (size_t i = 0; i < v->n_sites && ok; i++) {
		struct rama_job_view_site *s = &v->sites[i];
		struct rama_job_view_line l = { "", "", 0 };

		if (s->frame.file == NULL)
			continue;
		if (s->frame.function != NULL)
			ok = copy_line(v, s);
		else if (v->opt.line != NULL && v->opt.line(v->opt.line_ctx, &s->frame, &l))
			ok = name_line(v, s, &l);
	}
	return ok;
}

/* of a line, or else of a place: equal ones are one */
static uint64_t identity(const struct rama_job_view_site *s)
{
	const char *source = s->source != NULL ? s->source : "";
	uint64_t id = rama_core_record_id(s->name, strlen(s->name));

	if (s->source == NULL && s->frame.file != NULL) /* a name is no more than that */
		source = s->frame.file;
	return id ^ (rama_core_record_id(source, strlen(source)) << 1);
}

/* shares point to the first place of their line */
static bool join_lines(struct rama_job_view *v, uint32_t *first)
{
	struct rama_map lines = { .slots = NULL };
	uint64_t *at = NULL;

	for (size_t i = 0; i < v->n_sites; i++) {
		bool fresh;

		at = rama_map_put(&lines, identity(&v->sites[i]), &fresh);
		if (at == NULL)
			break;
		if (fresh)
			*at = i;
		first[i] = (uint32_t)*at;
	}
	rama_map_fini(&lines);
	for (size_t i = 0; i < v->n_shares; i++) {
		struct rama_job_view_share *s = &v->shares[i];

		s->site = first[s->site];
		add_moved(&v->sites[s->site].moved, &s->moved);
	}
	return at != NULL;
}

static double weight(const struct rama_job_view_moved *m)
{
	return (double)m->bytes[0] + (double)m->bytes[1];
}

/* what moved most, first; of equals, what took longest */
static int by_weight(const void *a, const void *b)
{
	const struct rama_job_view_site *x = a, *y = b;
	double p = weight(&x->moved), q = weight(&y->moved);

	if (p == q) {
		p = x->moved.time[0] + x->moved.time[1];
		q = y->moved.time[0] + y->moved.time[1];
	}
	return p != q ? (p < q) - (p > q) : (x->number > y->number) - (x->number < y->number);
}

/* of one file together, and of each place once */
static int by_file(const void *a, const void *b)
{
	const struct rama_job_view_share *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return x->stream - y->stream;
}

static void join_shares(struct rama_job_view *v)
{
	size_t n = 0;

	if (v->n_shares > 1)
		qsort(v->shares, v->n_shares, sizeof(*v->shares), by_file);
	for (size_t i = 0; i < v->n_shares; i++) {
		if (n > 0 && by_file(&v->shares[n - 1], &v->shares[i]) == 0) {
			add_moved(&v->shares[n - 1].moved, &v->shares[i].moved);
			continue;
		}
		v->shares[n++] = v->shares[i];
	}
	v->n_shares = n;
	for (size_t i = 0; i < n; i++)
		v->sites[v->shares[i].site].files += i == 0 ||
						     v->shares[i].file != v->shares[i - 1].file ||
						     v->shares[i].site != v->shares[i - 1].site;
}

/* places that were joined to others go, the rest is put in order */
static void sort_sites(struct rama_job_view *v, uint32_t *place)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n_sites; i++)
		v->sites[i].number = (uint32_t)i;
	for (size_t i = 0; i < v->n_sites; i++)
		if (place[i] == i)
			v->sites[n++] = v->sites[i];
	v->n_sites = n;
	if (n > 1)
		qsort(v->sites, n, sizeof(*v->sites), by_weight);
	for (size_t i = 0; i < n; i++)
		place[v->sites[i].number] = (uint32_t)i;
	for (size_t i = 0; i < v->n_shares; i++)
		v->shares[i].site = place[v->shares[i].site];
}

int rama_job_view_sites_finish(struct rama_job_view *v)
{
	uint32_t *place;

	if (v->n_sites == 0)
		return 0;
	place = calloc(v->n_sites, sizeof(*place));
	if (place == NULL || !find_lines(v) || !join_lines(v, place)) {
		free(place);
		return RAMA_EMEMORY;
	}
	sort_sites(v, place);
	join_shares(v);
	free(place);
	return 0;
}

void rama_job_view_sites_free(struct rama_job_view *v)
{
	free(v->sites);
	free(v->shares);
	v->sites = NULL;
	v->shares = NULL;
	v->n_sites = v->n_shares = 0;
}

/* the first share of a file, or where it would be */
static size_t first_share(const struct rama_job_view *v, uint64_t file)
{
	size_t low = 0, high = v->n_shares;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (v->shares[mid].file < file)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct rama_job_view_site *rama_job_view_site_of(const struct rama_job_view *v, uint64_t file,
						       double *share)
{
	double all = 0, most = 0, one = 0;
	uint32_t best = 0, now = UINT32_MAX;

	for (size_t i = first_share(v, file); i < v->n_shares && v->shares[i].file == file; i++) {
		const struct rama_job_view_share *s = &v->shares[i];

		one = (s->site == now ? one : 0) + weight(&s->moved);
		now = s->site;
		all += weight(&s->moved);
		if (one > most) {
			most = one;
			best = now;
		}
	}
	if (most <= 0 || v->sites[best].frame.file == NULL)
		return NULL;
	*share = most / all;
	return &v->sites[best];
}
