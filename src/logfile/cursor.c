/* SPDX-License-Identifier: BSD-3-Clause */
#include "logfile/cursor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* ---- thread ids ----------------------------------------------------------------------------- */
/* Thread ids of a trace, which stand in a section of the annex, join the segments
 * that a cursor hands out. For each record of the module there are its id, its rank and the
 * number of its segments, so that it shows if both do not belong together; then thread and
 * number of segments, again and again, until there is a thread for each of them. */

bool rama_log_has_threads(const struct rama_log *log, unsigned module)
{
	const struct rama_tab_module *mod = rama_tab_module_get(module);
	const struct rama_tab_section *s = rama_tab_section_threads(module);
	const struct rama_log_section *there = s != NULL && !(log->unfit >> module & 1)
						       ? rama_log_annex_find(&log->annex, s->id)
						       : NULL;

	return (mod != NULL && rama_tab_module_has_threads(mod, log->part[module].version)) ||
	       (there != NULL && there->len > 0 && there->version == s->newest);
}

/* once for each module, by a walk that may speak */
static void tell_unfit(struct rama_log *log, const struct rama_tab_module *mod)
{
	if (log->opt.note == NULL || log->unfit_told >> mod->id & 1)
		return;
	log->unfit_told |= 1ull << mod->id;
	rama_log_note(log, "%s: thread ids in the annex do not fit its records; left out",
		      mod->name);
}

static void threads_close(struct rama_log_cursor *c)
{
	if (c->threads.open)
		rama_log_region_close(&c->threads.region);
	c->threads.open = false;
}

static void give_up(struct rama_log_cursor *c)
{
	c->log->unfit |= 1ull << c->mod->id;
	tell_unfit(c->log, c->mod);
	threads_close(c);
}

static bool take_words(struct rama_log_cursor *c, uint64_t *to, size_t n)
{
	if (rama_log_region_read(&c->threads.region, to, n * sizeof(*to)) < n * sizeof(*to))
		return false;
	for (size_t i = 0; c->log->swap && i < n; i++)
		to[i] = __builtin_bswap64(to[i]);
	return true;
}

static int threads_open(struct rama_log_cursor *c)
{
	const struct rama_tab_section *s = rama_tab_section_threads(c->mod->id);
	const struct rama_log_section *there;

	if (s == NULL || rama_tab_module_has_threads(c->mod, c->version))
		return 0;
	if (c->log->unfit >> c->mod->id & 1)
		tell_unfit(c->log, c->mod);
	if (!rama_log_has_threads(c->log, c->mod->id))
		return 0;
	there = rama_log_annex_find(&c->log->annex, s->id);
	c->threads.open = true;
	return rama_log_region_open(&c->threads.region, c->log->src, there->off, there->len,
				    c->log->compression);
}

static void threads_record(struct rama_log_cursor *c)
{
	uint64_t head[3], n = c->segments_left[0] + c->segments_left[1];

	if (!c->threads.open)
		return;
	c->threads.left = n;
	c->threads.run = 0;
	if (!take_words(c, head, 3) || head[0] != c->words[RAMA_TAB_ID].u ||
	    head[1] != c->words[RAMA_TAB_RANK].u || head[2] != n)
		give_up(c);
}

static void threads_fill(struct rama_log_cursor *c, union rama_core_word (*seg)[RAMA_TAB_SEG_WORDS],
			 uint64_t n)
{
	for (uint64_t i = 0; i < n && c->threads.open; i++) {
		if (c->threads.run == 0) {
			uint64_t run[2];

			if (!take_words(c, run, 2) || run[1] == 0 || run[1] > c->threads.left) {
				give_up(c);
				return;
			}
			c->threads.thread = run[0];
			c->threads.run = run[1];
			c->threads.left -= run[1];
		}
		seg[i][RAMA_TAB_SEG_THREAD].u = c->threads.thread;
		c->threads.run--;
	}
}

/* ---- records -------------------------------------------------------------------------------- */

#define ARRAY_MAX (1u << 22) /* words of an array in one record; real ones have some thousand */

enum { SWAP_64, SWAP_32, SWAP_NOT };

int rama_log_cursor_bad(struct rama_log_cursor *c, int code, const char *fmt, ...)
{
	char what[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return rama_log_problem(c->log, code, "%s: record %llu: %s", c->mod->name,
				(unsigned long long)c->index + 1, what);
}

static union rama_core_word missing_value(uint8_t type)
{
	union rama_core_word w = { .u = 0 };

	if (type == RAMA_TAB_I64)
		w.i = -1;
	else if (type == RAMA_TAB_F64)
		w.f = -1.0;
	return w;
}

static void add_word(struct rama_log_layout *l, unsigned to, uint8_t type)
{
	l->to[l->words] = (uint16_t)to;
	l->order[l->words] = type == RAMA_TAB_U32			      ? SWAP_32
			     : type == RAMA_TAB_TEXT || type == RAMA_TAB_UUID ? SWAP_NOT
									      : SWAP_64;
	l->words++;
}

static int layout_init(struct rama_log_layout *l, const struct rama_tab_schema *s, unsigned version,
		       bool swap)
{
	unsigned most = s->words;

	*l = (struct rama_log_layout){ .schema = s };
	for (unsigned i = 0; i < *s->n_fields; i++)
		if (s->fields[i].word == RAMA_TAB_NO_WORD)
			most++;
	l->to = calloc(most, sizeof(*l->to));
	l->order = calloc(most, sizeof(*l->order));
	l->blank = calloc(s->words, sizeof(*l->blank));
	if (l->to == NULL || l->order == NULL || l->blank == NULL)
		return RAMA_EMEMORY;
	add_word(l, RAMA_TAB_ID, RAMA_TAB_U64);
	add_word(l, RAMA_TAB_RANK, RAMA_TAB_I64);
	for (unsigned i = 0; i < *s->n_fields; i++) {
		const struct rama_tab_field *f = &s->fields[i];
		bool here = f->since <= version && version <= f->until;

		for (unsigned k = 0; here && k < f->words; k++)
			add_word(l, f->word == RAMA_TAB_NO_WORD ? RAMA_TAB_NO_WORD : f->word + k,
				 f->type);
		if (!here && f->word != RAMA_TAB_NO_WORD)
			l->blank[f->word] = missing_value(f->type);
	}
	l->same = !swap && l->words == s->words;
	for (unsigned k = 0; k < l->words && l->same; k++)
		l->same = l->to[k] == k;
	return 0;
}

static void layout_fini(struct rama_log_layout *l)
{
	free(l->to);
	free(l->order);
	free(l->blank);
	*l = (struct rama_log_layout){ 0 };
}

static union rama_core_word swapped(union rama_core_word w, uint8_t order)
{
	uint32_t half;

	if (order == SWAP_64) {
		w.u = __builtin_bswap64(w.u);
	} else if (order == SWAP_32) {
		memcpy(&half, w.b, sizeof(half));
		half = __builtin_bswap32(half);
		memcpy(w.b, &half, sizeof(half));
	}
	return w;
}

static void convert(struct rama_log_cursor *c, const struct rama_log_layout *l)
{
	if (l->same) {
		memcpy(c->words, c->stored, l->words * sizeof(*c->words));
		return;
	}
	memcpy(c->words, l->blank, l->schema->words * sizeof(*c->words));
	for (unsigned i = 0; i < l->words; i++) {
		if (c->log->swap)
			c->stored[i] = swapped(c->stored[i], l->order[i]);
		if (l->to[i] != RAMA_TAB_NO_WORD)
			c->words[l->to[i]] = c->stored[i];
	}
}

union rama_core_word rama_log_cursor_stored(const struct rama_log_cursor *c, const char *name)
{
	const struct rama_tab_schema *s = c->layout.schema;
	unsigned at = RAMA_TAB_BASE_WORDS;

	for (unsigned i = 0; i < *s->n_fields; i++) {
		const struct rama_tab_field *f = &s->fields[i];

		if (f->since > c->version || c->version > f->until)
			continue;
		if (strcmp(f->name, name) == 0)
			return c->stored[at];
		at += f->words;
	}
	return (union rama_core_word){ .i = -1 };
}

static int known_version(struct rama_log_cursor *c)
{
	if (c->version > c->mod->newest)
		rama_log_problem(
			c->log, RAMA_EVERSION,
			"%s: its records have version %u, the newest known is %u; left out",
			c->mod->name, c->version, c->mod->newest);
	else if (c->version == 0)
		rama_log_problem(c->log, RAMA_EVERSION,
				 "%s: has data but no record version; left out", c->mod->name);
	else
		return 1;
	return c->log->opt.strict ? c->log->err.code : 0;
}

int rama_log_cursor_open(struct rama_log_cursor *c, struct rama_log *log, unsigned module)
{
	const struct rama_log_part *part = &log->part[module];
	int rc;

	*c = (struct rama_log_cursor){ .log = log,
				       .mod = rama_tab_module_get(module),
				       .version = part->version };
	if (part->len == 0)
		return 0;
	if (c->mod == NULL) {
		rama_log_note_unknown(log, module);
		return 0;
	}
	rc = known_version(c);
	if (rc <= 0)
		return rc;
	rc = layout_init(&c->layout, c->mod->record, c->version, log->swap);
	if (rc == 0 && c->mod->header != NULL)
		rc = layout_init(&c->header, c->mod->header, c->version, log->swap);
	c->stored = calloc(c->layout.words + 1 + c->header.words, sizeof(*c->stored));
	c->words = calloc(c->mod->record->words + 1u +
				  (c->mod->header != NULL ? c->mod->header->words : 0u),
			  sizeof(*c->words));
	if (rc != 0 || c->stored == NULL || c->words == NULL ||
	    rama_log_region_open(&c->region, log->src, part->off, part->len, log->compression) !=
		    0 ||
	    threads_open(c) != 0)
		return rama_err_no_memory(&log->err);
	c->segment_words = rama_tab_module_has_threads(c->mod, c->version) ? RAMA_TAB_SEG_WORDS
									   : RAMA_TAB_SEG_WORDS - 1;
	c->open = true;
	return 1;
}

void rama_log_cursor_close(struct rama_log_cursor *c)
{
	if (c->region.in != NULL || c->region.out != NULL)
		rama_log_region_close(&c->region);
	threads_close(c);
	layout_fini(&c->layout);
	layout_fini(&c->header);
	free(c->stored);
	free(c->words);
	free(c->array[0]);
	free(c->array[1]);
	*c = (struct rama_log_cursor){ .done = true };
}

bool rama_log_cursor_has_threads(const struct rama_log_cursor *c)
{
	return c->threads.open || rama_tab_module_has_threads(c->mod, c->version);
}

/* The module ends here, or its data does: says so once. Always ends the walk. */
static int finish(struct rama_log_cursor *c, size_t rest, size_t wanted)
{
	struct rama_log_region *r = &c->region;
	int rc = 0;

	c->done = true;
	if (r->err.code != 0)
		rc = rama_log_problem(c->log, r->err.code, "%s: after %llu records: %s",
				      c->mod->name, (unsigned long long)c->index, r->err.text);
	else if (rest > 0)
		rc = rama_log_cursor_bad(c, RAMA_ETRUNC, "ends early, %zu of %zu bytes", rest,
					 wanted);
	if (c->dropped > 0)
		rama_log_note(c->log,
			      "%s: %llu of %llu records left out: version 1 mixes fopen and open "
			      "in them",
			      c->mod->name, (unsigned long long)c->dropped,
			      (unsigned long long)c->index);
	return rc;
}

int rama_log_cursor_array(struct rama_log_cursor *c, unsigned k, uint64_t words)
{
	return RAMA_GROW(c->array[k], c->array_room[k], words) ? 0
							       : rama_err_no_memory(&c->log->err);
}

/* 1: read; 0: the data ends, which was told; negative */
static int read_array(struct rama_log_cursor *c, unsigned k, int64_t count)
{
	const struct rama_tab_array *a = &c->mod->record->array[k];
	uint64_t stored = count < a->least ? a->least : (uint64_t)count, total, done = 0;

	if (count < 0 || stored > ARRAY_MAX / a->words) {
		int rc = rama_log_cursor_bad(
			c, RAMA_ECORRUPT,
			"it claims %lld elements '%s'; the rest of the module is left out",
			(long long)count, a->name);

		c->done = true;
		return rc;
	}
	total = stored * a->words;
	while (done < total) {
		size_t part = total - done < 4096 ? (size_t)(total - done) : 4096, got;
		int rc = rama_log_cursor_array(c, k, done + part);

		if (rc != 0)
			return rc;
		got = rama_log_region_read(&c->region, c->array[k] + done, part * 8);
		if (got < part * 8)
			return finish(c, (size_t)(done * 8 + got), (size_t)(total * 8));
		done += part;
	}
	for (uint64_t i = 0; c->log->swap && i < total; i++)
		if (i % a->words < a->raw_from)
			c->array[k][i] = swapped(c->array[k][i], SWAP_64);
	c->rec.array[k] = c->array[k];
	c->rec.count[k] = (uint64_t)count;
	return 1;
}

static int read_arrays(struct rama_log_cursor *c)
{
	const struct rama_tab_schema *s = c->mod->record;

	if (c->mod->id == RAMA_TAB_MOD_LUSTRE && c->version == 1) /* only OST ids follow */
		return read_array(c, 1, rama_log_cursor_stored(c, "STRIPE_WIDTH").i);
	for (unsigned k = 0; k < s->n_arrays; k++) {
		int rc = read_array(c, k, c->words[s->array[k].count_word].i);

		if (rc <= 0)
			return rc;
	}
	return 1;
}

static int start_segments(struct rama_log_cursor *c)
{
	for (unsigned k = 0; k < 2; k++) {
		int64_t n = c->words[c->mod->record->array[k].count_word].i;

		if (n < 0) {
			c->done = true;
			return rama_log_cursor_bad(
				c, RAMA_ECORRUPT,
				"it claims %lld segments; the rest of the module is left out",
				(long long)n);
		}
		c->segments_left[k] = (uint64_t)n;
		c->rec.count[k] = (uint64_t)n;
	}
	threads_record(c);
	return 1;
}

static int skip_segments(struct rama_log_cursor *c)
{
	union rama_core_word seg[256][RAMA_TAB_SEG_WORDS];
	unsigned kind;
	int rc = 0;

	while ((c->segments_left[0] > 0 || c->segments_left[1] > 0) && !c->done)
		if ((rc = rama_log_cursor_segments(c, seg, 256, &kind)) < 0)
			break;
	return rc < 0 ? rc : 0;
}

static const struct rama_log_layout *layout_of(const struct rama_log_cursor *c)
{
	return c->mod->header != NULL && c->index == 0 ? &c->header : &c->layout;
}

static int read_one(struct rama_log_cursor *c)
{
	const struct rama_log_layout *l = layout_of(c);
	size_t want = (size_t)l->words * 8,
	       have = rama_log_region_read(&c->region, c->stored, want);
	int rc = 1;

	if (have < want)
		return finish(c, have, want);
	convert(c, l);
	c->rec = (struct rama_core_record){ .mod = c->mod, .schema = l->schema, .w = c->words };
	if (c->mod->flags & RAMA_TAB_TRACE)
		rc = start_segments(c);
	else if (l == &c->layout)
		rc = read_arrays(c);
	return rc;
}

int rama_log_cursor_next(struct rama_log_cursor *c, struct rama_core_record **r)
{
	int rc = skip_segments(c);

	while (rc == 0 && c->open && !c->done) {
		rc = read_one(c);
		if (rc <= 0)
			return rc;
		rc = rama_log_cursor_upgrade(c);
		if (rc >= 0)
			c->index++;
		*r = &c->rec;
	}
	return rc;
}

/* the module ends within the segments of the record handed out last */
static int lost_segments(struct rama_log_cursor *c)
{
	const struct rama_err *e = &c->region.err;

	c->done = true;
	return rama_log_problem(c->log, e->code != 0 ? e->code : RAMA_ETRUNC,
				"%s: record %llu: ends early, %llu segments are missing%s%s",
				c->mod->name, (unsigned long long)c->index,
				(unsigned long long)c->segments_left[0] +
					(unsigned long long)c->segments_left[1],
				e->code != 0 ? ": " : "", e->text);
}

int rama_log_cursor_segments(struct rama_log_cursor *c,
			     union rama_core_word (*seg)[RAMA_TAB_SEG_WORDS], int max,
			     unsigned *kind)
{
	size_t size = c->segment_words * 8, have;
	uint64_t n;
	const unsigned char *p;

	*kind = c->segments_left[0] > 0 ? 0 : 1;
	n = c->segments_left[*kind];
	if (n == 0 || max <= 0 || c->done)
		return 0;
	p = rama_log_region_peek(&c->region, size, &have);
	n = have / size < n ? have / size : n;
	n = n < (uint64_t)max ? n : (uint64_t)max;
	if (n == 0)
		return lost_segments(c);
	for (uint64_t i = 0; i < n; i++) {
		seg[i][RAMA_TAB_SEG_THREAD].u = 0;
		memcpy(seg[i], p + i * size, size);
		for (unsigned k = 0; c->log->swap && k < c->segment_words; k++)
			seg[i][k] = swapped(seg[i][k], SWAP_64);
		if (c->mod->id == RAMA_TAB_MOD_DXT_MPIIO && c->version == 1)
			seg[i][RAMA_TAB_SEG_OFFSET].i = -1; /* was not recorded */
	}
	threads_fill(c, seg, n);
	rama_log_region_skip(&c->region, n * size);
	c->segments_left[*kind] -= n;
	return (int)n;
}

/* ---- a trace that was cut ------------------------------------------------------------------- */
/* See rama_log_short_trace in cursor.h. */

static int find_short(struct rama_log_short_trace *s, struct rama_log *log, unsigned module)
{
	union rama_core_word seg[256][RAMA_TAB_SEG_WORDS];
	struct rama_log_cursor c;
	struct rama_core_record *r;
	int rc = rama_log_cursor_open(&c, log, module);

	while (rc > 0 && (rc = rama_log_cursor_next(&c, &r)) > 0) {
		uint64_t got[2] = { 0, 0 };
		unsigned kind;
		int n;

		while ((n = rama_log_cursor_segments(&c, seg, 256, &kind)) > 0)
			got[kind] += (uint64_t)n;
		if (n < 0)
			rc = n;
		else if (got[0] != r->count[0] || got[1] != r->count[1])
			*s = (struct rama_log_short_trace){ c.index, { got[0], got[1] } };
	}
	rama_log_cursor_close(&c);
	return rc;
}

int rama_log_short_trace_find(struct rama_log_short_trace *s, struct rama_log *log, unsigned module)
{
	struct rama_log_hush before = rama_log_set_hush(log);
	int rc;

	*s = (struct rama_log_short_trace){ 0 };
	rc = find_short(s, log, module);
	rama_log_unhush(log, before);
	return rc;
}

void rama_log_short_trace_apply(const struct rama_log_short_trace *s,
				const struct rama_log_cursor *c, struct rama_core_record *r)
{
	if (s->record == 0 || s->record != c->index)
		return;
	r->w[RAMA_TAB_DXT_WRITE_COUNT].u = s->count[0];
	r->w[RAMA_TAB_DXT_READ_COUNT].u = s->count[1];
}
