/* SPDX-License-Identifier: BSD-3-Clause */
/* own.c: the records of this rank: a log in memory, walked as often as needed. */
#include <stdlib.h>
#include <string.h>

#include "core/sum/reduce.h"
#include "shutdown/rank.h"

/* ---- taking it in ---------------------------------------------------------------------------- */

static int take(void *ctx, uint64_t off, const void *bytes, size_t n, struct rama_err *e)
{
	struct rama_shutdown_own *o = ctx;

	if (off + n + 8 > o->room) {
		size_t room = 2 * o->room > off + n + 8 ? 2 * o->room : (size_t)off + n + 65536;
		unsigned char *more = realloc(o->bytes, room);

		if (more == NULL)
			return rama_err_set(e, RAMA_EMEMORY, "out of memory");
		memset(more + o->room, 0, room - o->room);
		o->bytes = more;
		o->room = room;
	}
	memcpy(o->bytes + off, bytes, n);
	o->n = off + n > o->n ? (size_t)off + n : o->n;
	return 0;
}

struct rama_log_sink rama_shutdown_own_sink(struct rama_shutdown_own *o)
{
	*o = (struct rama_shutdown_own){ 0 };
	return (struct rama_log_sink){ .write = take, .ctx = o };
}

static uint64_t number_at(const struct rama_shutdown_own *o, size_t off)
{
	uint64_t v;

	memcpy(&v, o->bytes + off, sizeof(v));
	return v;
}

/* the way back of rama_log_header_encode() */
static int read_header(struct rama_shutdown_own *o)
{
	struct rama_log_part *names = &o->part[RAMA_LOG_REGION_NAMES],
			     *job = &o->part[RAMA_LOG_REGION_JOB];

	if (o->n < RAMA_LOG_HEADER_NEW || number_at(o, 8) != RAMA_LOG_MAGIC ||
	    o->bytes[16] != RAMA_LOG_PLAIN_BYTES)
		return RAMA_EFORMAT;
	o->partial = number_at(o, 24);
	*names = (struct rama_log_part){ .off = number_at(o, 32), .len = number_at(o, 40) };
	*job = (struct rama_log_part){ .off = RAMA_LOG_HEADER_NEW,
				       .len = names->off - RAMA_LOG_HEADER_NEW };
	for (unsigned i = 0; i < RAMA_TAB_MODULES; i++) {
		struct rama_log_part *p = &o->part[RAMA_LOG_REGION_MODULE + i];

		*p = (struct rama_log_part){ .off = number_at(o, 48 + 16 * i),
					     .len = number_at(o, 56 + 16 * i) };
		memcpy(&p->version, o->bytes + 1072 + 4 * i, sizeof(p->version));
	}
	for (unsigned i = 0; i < RAMA_LOG_REGIONS; i++)
		if (o->part[i].off > o->n || o->part[i].len > o->n - o->part[i].off)
			return RAMA_ECORRUPT;
	return job->len < RAMA_LOG_JOB_NEW ? RAMA_ETRUNC : 0;
}

/* Regions of modules follow each other and hold whole words: one move aligns them all. */
static int align(struct rama_shutdown_own *o)
{
	uint64_t first = 0;

	for (unsigned i = RAMA_LOG_REGION_MODULE; i < RAMA_LOG_REGIONS; i++) {
		const struct rama_log_part *p = &o->part[i];
		const struct rama_tab_module *mod = rama_tab_module_get(i - RAMA_LOG_REGION_MODULE);

		if (p->version == 0)
			continue;
		if (mod == NULL || mod->header != NULL || p->version != mod->newest)
			return RAMA_EVERSION;
		first = first == 0 ? p->off : first;
		if ((p->off - first) % 8 != 0 || p->len % 8 != 0)
			return RAMA_ECORRUPT;
	}
	o->moved = (8 - first % 8) % 8;
	memmove(o->bytes + o->moved, o->bytes, o->n);
	return 0;
}

int rama_shutdown_own_ready(struct rama_shutdown_own *o, struct rama_err *e)
{
	int rc = read_header(o);

	if (rc == 0)
		rc = align(o);
	return rc == 0 ? 0 : rama_err_set(e, rc, "no log of one rank");
}

int rama_shutdown_own_from_segment(struct rama_shutdown_own *o, struct rama_seg *seg,
				   const struct rama_gather_process *p, struct rama_err *e)
{
	struct rama_log_sink sink = rama_shutdown_own_sink(o);
	struct rama_log_writer *w = calloc(1, sizeof(*w));
	uint64_t partial = 0;
	int rc;

	if (w == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "out of memory");
	rc = rama_log_writer_init(w, &sink, RAMA_LOG_PLAIN_BYTES, 0);
	w->inner = true;
	if (rc == 0)
		rc = rama_gather_one(seg, p, w, &partial, e);
	if (rc == 0)
		rc = rama_log_writer_finish(w, partial);
	if (w->err.code != 0 && e != NULL)
		*e = w->err;
	rama_log_writer_fini(w);
	free(w);
	return rc == 0 ? rama_shutdown_own_ready(o, e) : rc;
}

void rama_shutdown_own_fini(struct rama_shutdown_own *o)
{
	free(o->bytes);
	*o = (struct rama_shutdown_own){ 0 };
}

/* ---- walking --------------------------------------------------------------------------------- */

const void *rama_shutdown_own_region(const struct rama_shutdown_own *o, unsigned region)
{
	return o->bytes + o->moved + o->part[region].off;
}

size_t rama_shutdown_own_next(const struct rama_shutdown_own *o, unsigned module, size_t *at,
			      union rama_core_word **w)
{
	const struct rama_log_part *p = &o->part[RAMA_LOG_REGION_MODULE + module];
	const struct rama_tab_schema *schema = rama_tab_module_get(module)->record;
	size_t left = ((size_t)p->len - *at) / sizeof(**w), words = schema->words;

	if (left < words)
		return 0;
	*w = (union rama_core_word *)(void *)(o->bytes + o->moved + p->off + *at);
	for (unsigned k = 0; k < schema->n_arrays; k++) {
		const struct rama_tab_array *a = &schema->array[k];
		uint64_t n = (*w)[a->count_word].u;

		n = n < a->least ? a->least : n;
		if (n > (left - words) / a->words)
			return 0;
		words += (size_t)n * a->words;
	}
	*at += words * sizeof(**w);
	return words * sizeof(**w);
}

size_t rama_shutdown_own_next_name(const struct rama_shutdown_own *o, size_t *at,
				   const unsigned char **name)
{
	const unsigned char *p = rama_shutdown_own_region(o, RAMA_LOG_REGION_NAMES), *end;
	size_t left = (size_t)o->part[RAMA_LOG_REGION_NAMES].len - *at, n;

	if (left <= sizeof(uint64_t))
		return 0;
	*name = p + *at;
	end = memchr(*name + sizeof(uint64_t), '\0', left - sizeof(uint64_t));
	if (end == NULL)
		return 0;
	n = (size_t)(end + 1 - *name);
	*at += n;
	return n;
}

bool rama_shutdown_shut_reduces(const struct rama_tab_module *mod)
{
	return rama_core_reducible(mod) && mod->record->n_arrays == 0;
}

/* the layout of a file is the same for all: one record is enough */
bool rama_shutdown_shut_shares(const struct rama_tab_module *mod)
{
	return mod->id == RAMA_TAB_MOD_LUSTRE || rama_shutdown_shut_reduces(mod);
}

static void shift_segments(const struct rama_tab_module *mod, union rama_core_word *w, size_t bytes,
			   double shift)
{
	union rama_core_word *end = w + bytes / sizeof(*w);

	for (w += mod->record->words; w < end; w += mod->record->array[0].words) {
		w[RAMA_TAB_SEG_START].f += shift;
		w[RAMA_TAB_SEG_END].f += shift;
	}
}

void rama_shutdown_own_shift(struct rama_shutdown_own *o, double shift)
{
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN && shift != 0; id++) {
		const struct rama_tab_module *mod = rama_tab_module_get(id);
		union rama_core_word *w;
		size_t n;

		if (o->part[RAMA_LOG_REGION_MODULE + id].version == 0)
			continue;
		for (size_t at = 0; (n = rama_shutdown_own_next(o, id, &at, &w)) > 0;) {
			for (unsigned i = 0; i < *mod->record->n_fields; i++) {
				const struct rama_tab_field *f = &mod->record->fields[i];

				if (rama_tab_field_is_timestamp(f) && w[f->word].f > 0)
					w[f->word].f += shift;
			}
			if (mod->flags & RAMA_TAB_TRACE)
				shift_segments(mod, w, n, shift);
		}
	}
}

/* ---- which files ----------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
	const struct rama_shutdown_shut_ref *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* An id that the rank has twice is not one file: its records stay as they are. */
static int list_shared(struct rama_shutdown_shut *s, unsigned id)
{
	const struct rama_shutdown_shut_ref *r = s->ref[id];
	struct rama_shutdown_ids *ids = &s->shared[id];
	size_t n = s->n_ref[id];

	ids->id = malloc((n + 1) * sizeof(*ids->id));
	if (ids->id == NULL)
		return rama_shutdown_shut_no_memory(s);
	for (size_t i = 0; i < n && !s->opt.unreduced; i++)
		if ((i == 0 || r[i - 1].id != r[i].id) && (i + 1 == n || r[i + 1].id != r[i].id))
			ids->id[ids->n++] = r[i].id;
	return 0;
}

static int find_records(struct rama_shutdown_shut *s, unsigned id)
{
	union rama_core_word *w;
	size_t n = 0;

	for (size_t at = 0; rama_shutdown_own_next(s->own, id, &at, &w) > 0;)
		n++;
	s->ref[id] = calloc(n + 1, sizeof(*s->ref[id]));
	if (s->ref[id] == NULL)
		return rama_shutdown_shut_no_memory(s);
	for (size_t at = 0; rama_shutdown_own_next(s->own, id, &at, &w) > 0;)
		s->ref[id][s->n_ref[id]++] = (struct rama_shutdown_shut_ref){ w[RAMA_TAB_ID].u, w };
	if (n > 1)
		qsort(s->ref[id], n, sizeof(*s->ref[id]), by_id);
	return list_shared(s, id);
}

static int find_names(struct rama_shutdown_shut *s)
{
	const unsigned char *name;
	size_t n = 0;

	for (size_t at = 0; rama_shutdown_own_next_name(s->own, &at, &name) > 0;)
		n++;
	s->names.id = malloc((n + 1) * sizeof(*s->names.id));
	if (s->names.id == NULL)
		return rama_shutdown_shut_no_memory(s);
	for (size_t at = 0; rama_shutdown_own_next_name(s->own, &at, &name) > 0;)
		memcpy(&s->names.id[s->names.n++], name, sizeof(*s->names.id));
	rama_shutdown_ids_sort(&s->names);
	return 0;
}

int rama_shutdown_shut_find(struct rama_shutdown_shut *s)
{
	int rc = find_names(s);

	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN && rc == 0; id++) {
		const struct rama_tab_module *mod = rama_tab_module_get(id);

		if (mod != NULL && s->own->part[RAMA_LOG_REGION_MODULE + id].version > 0 &&
		    rama_shutdown_shut_shares(mod))
			rc = find_records(s, id);
	}
	return rc;
}

union rama_core_word *rama_shutdown_shut_ref_get(const struct rama_shutdown_shut *s,
						 unsigned module, uint64_t id)
{
	struct rama_shutdown_shut_ref key = { .id = id }, *r = NULL;

	if (s->n_ref[module] > 0)
		r = bsearch(&key, s->ref[module], s->n_ref[module], sizeof(*r), by_id);
	return r != NULL ? r->w : NULL;
}

/* ---- heat maps: bins of the whole job, as rama_log_merge() makes them ------------------------ */

#define BINS_MAX 200

static bool is_finite(double v)
{
	return v - v == 0;
}

static double width_of(const union rama_core_word *w)
{
	return w[RAMA_TAB_HEATMAP_F_BIN_WIDTH_SECONDS].f;
}

void rama_shutdown_shut_heat_measure(struct rama_shutdown_shut *s, double shift)
{
	union rama_core_word *w;

	for (size_t at = 0; rama_shutdown_own_next(s->own, RAMA_TAB_MOD_HEATMAP, &at, &w) > 0;) {
		double end = shift + width_of(w) * (double)w[RAMA_TAB_HEATMAP_NBINS].u;

		if (width_of(w) > s->heat_width && is_finite(width_of(w)))
			s->heat_width = width_of(w);
		if (end > s->heat_end && is_finite(end))
			s->heat_end = end;
	}
}

/* bins that reach the end, without the mathematics library */
static uint64_t bins_needed(double end, double width)
{
	double n = end / width - 1e-6;
	uint64_t whole;

	if (!(n < 4 * BINS_MAX))
		return 4 * BINS_MAX;
	whole = n > 0 ? (uint64_t)n : 0;
	return (double)whole < n ? whole + 1 : whole;
}

static int pack_map(struct rama_shutdown_shut *s, const union rama_core_word *w, double width,
		    uint64_t bins)
{
	union rama_core_word to[RAMA_TAB_HEATMAP__WORDS + 2 * BINS_MAX] = { { .u = 0 } };
	double shift = rama_shutdown_shut_offset(s);
	uint64_t have = w[RAMA_TAB_HEATMAP_NBINS].u;

	memcpy(to, w, RAMA_TAB_HEATMAP__WORDS * sizeof(*to));
	to[RAMA_TAB_HEATMAP_F_BIN_WIDTH_SECONDS].f = width;
	to[RAMA_TAB_HEATMAP_NBINS].u = bins;
	for (unsigned kind = 0; kind < 2; kind++) {
		const union rama_core_word *from = w + RAMA_TAB_HEATMAP__WORDS + kind * have;
		union rama_core_word *bin = to + RAMA_TAB_HEATMAP__WORDS + kind * bins;

		for (uint64_t i = 0; i < have; i++) { /* to the bin that holds its middle */
			double at = (shift + width_of(w) * ((double)i + 0.5)) / width;
			uint64_t k = at >= 0 && at < (double)bins ? (uint64_t)at : bins - 1;

			bin[k].i = rama_core_add(bin[k].i, from[i].i);
		}
	}
	return rama_shutdown_shut_add(s, RAMA_LOG_REGION_MODULE + RAMA_TAB_MOD_HEATMAP, to,
				      (RAMA_TAB_HEATMAP__WORDS + 2 * bins) * sizeof(*to));
}

int rama_shutdown_shut_heat_pack(struct rama_shutdown_shut *s)
{
	double width = s->heat_width;
	union rama_core_word *w;
	uint64_t bins;
	int rc = 0;

	if (!(width > 0))
		return 0;
	while (bins_needed(s->heat_end, width) > BINS_MAX)
		width *= 2;
	bins = bins_needed(s->heat_end, width);
	bins = bins == 0 ? 1 : bins;
	for (size_t at = 0;
	     rc == 0 && rama_shutdown_own_next(s->own, RAMA_TAB_MOD_HEATMAP, &at, &w) > 0;)
		rc = pack_map(s, w, width, bins);
	return rc;
}
