/* SPDX-License-Identifier: BSD-3-Clause */
/* tree.c: what goes up and down the tree of the ranks that answered: which files are
 * shared, their records, and how much each rank has to write. A child stands for a row of ranks
 * that follow those of the children before it, so that records come together in the order of
 * ranks. */
#include <stdlib.h>
#include <string.h>

#include "core/sum/reduce.h"
#include "shutdown/rank.h"

#define NAMES_MOST \
	(1u << 20) /* names compared; beyond that one may be written twice, which readers allow */
#define BATCH (1u << 20) /* bytes of records in one message */

/* ---- the tree -------------------------------------------------------------------------------- */

int64_t rama_shutdown_shut_rank(const struct rama_shutdown_shut *s, int64_t index)
{
	for (size_t i = 0; i < s->out.n && s->out.r[i][0] <= index; i++)
		index += s->out.r[i][1] - s->out.r[i][0] + 1;
	return index;
}

int64_t rama_shutdown_shut_parent(const struct rama_shutdown_shut *s)
{
	return s->index > 0 ? rama_shutdown_shut_rank(s, s->index & (s->index - 1)) : -1;
}

static int64_t child_at(const struct rama_shutdown_shut *s, unsigned level)
{
	int64_t step = (int64_t)1 << level;

	if ((s->index & (2 * step - 1)) != 0 || step >= s->count - s->index)
		return -1;
	return s->index + step;
}

int64_t rama_shutdown_shut_child(const struct rama_shutdown_shut *s, unsigned level)
{
	return s->gone >> level & 1 ? -1 : child_at(s, level);
}

/* all ranks below that child are lost with it */
void rama_shutdown_shut_lose(struct rama_shutdown_shut *s, unsigned level)
{
	int64_t first = child_at(s, level), end = first + ((int64_t)1 << level);

	s->gone |= 1ull << level;
	end = end < s->count ? end : s->count;
	for (int64_t i = first; i < end; i++) {
		int64_t rank = rama_shutdown_shut_rank(s, i);

		if (rama_ranges_add(&s->missing, rank, rank) != 0)
			rama_shutdown_shut_no_memory(s);
	}
}

/* ends of the phases, as shares of the budget */
static const double ends[] = { 0.15, 0.35, 0.60, 0.95, 1.0 };

double rama_shutdown_shut_over(const struct rama_shutdown_shut *s,
			       enum rama_shutdown_shut_phase phase)
{
	return s->from + s->budget * ends[phase];
}

double rama_shutdown_shut_until(const struct rama_shutdown_shut *s,
				enum rama_shutdown_shut_phase phase, unsigned level)
{
	double begin = phase > 0 ? ends[phase - 1] : 0;
	unsigned height = 1;

	while ((int64_t)1 << height < s->count)
		height++;
	return s->from + s->budget * (begin + (ends[phase] - begin) * (level + 1) / (height + 2));
}

/* what a child sent; false: it is lost */
static bool hear(struct rama_shutdown_shut *s, unsigned level, int tag, struct rama_shutdown_got *g,
		 enum rama_shutdown_shut_phase phase)
{
	int64_t child = rama_shutdown_shut_child(s, level);

	if (child >= 0 && rama_shutdown_shut_recv(s, rama_shutdown_shut_rank(s, child), tag, g,
						  rama_shutdown_shut_until(s, phase, level)) == 0)
		return true;
	if (child >= 0)
		rama_shutdown_shut_lose(s, level);
	return false;
}

static int hear_parent(struct rama_shutdown_shut *s, int tag, struct rama_shutdown_got *g,
		       enum rama_shutdown_shut_phase phase)
{
	int rc = rama_shutdown_shut_recv(s, rama_shutdown_shut_parent(s), tag, g,
					 rama_shutdown_shut_over(s, phase));

	return rc == 0 ? 0
		       : rama_err_set(s->e, RAMA_EMISSING,
				      "a rank fell silent as the log was made");
}

static int tell_parent(struct rama_shutdown_shut *s, int tag, struct rama_shutdown_msg *m)
{
	int rc = m->failed ? rama_shutdown_shut_no_memory(s) : 0;

	if (rc == 0)
		rama_shutdown_shut_send(s, rama_shutdown_shut_parent(s), tag, m);
	rama_shutdown_msg_fini(m);
	return rc;
}

/* ---- which files are shared ------------------------------------------------------------------ */

static void put_lists(struct rama_shutdown_msg *m, const struct rama_shutdown_shut *s)
{
	uint64_t n = 0;

	for (unsigned id = 0; id < RAMA_TAB_MODULES; id++)
		n += s->shared[id].n > 0;
	rama_shutdown_msg_u64(m, s->alone);
	rama_shutdown_msg_f64(m, s->heat_width);
	rama_shutdown_msg_f64(m, s->heat_end);
	rama_shutdown_msg_u64(m, n);
	for (unsigned id = 0; id < RAMA_TAB_MODULES; id++) {
		if (s->shared[id].n == 0)
			continue;
		rama_shutdown_msg_u64(m, id);
		rama_shutdown_ids_put(m, &s->shared[id]);
	}
}

/* Lists of a child narrow those of this rank; lists from above are a part of them already. */
static int take_lists(struct rama_shutdown_shut *s, struct rama_shutdown_got *g)
{
	bool listed[RAMA_TAB_MODULES] = { false };
	uint64_t alone = rama_shutdown_got_u64(g), n;
	double width = rama_shutdown_got_f64(g), end = rama_shutdown_got_f64(g);

	s->alone = s->alone || alone != 0;
	s->heat_width = width > s->heat_width ? width : s->heat_width;
	s->heat_end = end > s->heat_end ? end : s->heat_end;
	n = rama_shutdown_got_u64(g);
	for (uint64_t i = 0; i < n && !g->bad; i++) {
		uint64_t id = rama_shutdown_got_u64(g);
		struct rama_shutdown_ids ids = { 0 };

		if (rama_shutdown_ids_take(g, &ids) != 0)
			return rama_shutdown_shut_no_memory(s);
		if (id >= RAMA_TAB_MODULES || g->bad) {
			g->bad = true;
		} else {
			rama_shutdown_ids_intersect(&s->shared[id], &ids);
			listed[id] = true;
		}
		rama_shutdown_ids_fini(&ids);
	}
	for (unsigned id = 0; id < RAMA_TAB_MODULES; id++)
		if (!listed[id])
			s->shared[id].n = 0;
	return 0;
}

/* A name goes to the lowest rank that has it: the child hears which ones are written by ranks
 * before it. */
static int take_names(struct rama_shutdown_shut *s, unsigned level, struct rama_shutdown_got *g)
{
	struct rama_shutdown_ids names = { 0 };
	int rc = rama_shutdown_ids_take(g, &names);

	if (rc == 0)
		rc = rama_shutdown_ids_join(&s->names, &names, &s->not_theirs[level], NAMES_MOST);
	rama_shutdown_ids_fini(&names);
	return rc == 0 ? 0 : rama_shutdown_shut_no_memory(s);
}

static int share_down(struct rama_shutdown_shut *s)
{
	for (unsigned k = RAMA_SHUTDOWN_SHUT_LEVELS; k-- > 0;) {
		int64_t child = rama_shutdown_shut_child(s, k);
		struct rama_shutdown_ids both = { 0 }, *theirs = &s->not_theirs[k];
		struct rama_shutdown_msg m = { 0 };
		int rc = 0;

		if (child < 0)
			continue;
		put_lists(&m, s);
		if (s->not_mine.n > 0)
			rc = rama_shutdown_ids_join(theirs, &s->not_mine, &both, SIZE_MAX);
		rama_shutdown_ids_put(&m, theirs);
		if (rc == 0 && !m.failed)
			rama_shutdown_shut_send(s, rama_shutdown_shut_rank(s, child),
						RAMA_SHUTDOWN_TAG_SHARED, &m);
		rc = m.failed ? RAMA_EMEMORY : rc;
		rama_shutdown_ids_fini(&both);
		rama_shutdown_ids_fini(theirs);
		rama_shutdown_msg_fini(&m);
		if (rc != 0)
			return rama_shutdown_shut_no_memory(s);
	}
	return 0;
}

int rama_shutdown_shut_share(struct rama_shutdown_shut *s)
{
	struct rama_shutdown_msg m = { 0 };
	struct rama_shutdown_got g = { 0 };
	int rc = 0;

	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN && s->count == 1 && !s->opt.single; id++)
		/* among one, counters are its own; a layout is the file's */
		if (id != RAMA_TAB_MOD_LUSTRE)
			s->shared[id].n = 0;
	for (unsigned k = 0; k < RAMA_SHUTDOWN_SHUT_LEVELS && rc == 0; k++) {
		if (!hear(s, k, RAMA_SHUTDOWN_TAG_IDS, &g, RAMA_SHUTDOWN_SHUT_IDS))
			continue;
		rc = take_lists(s, &g);
		if (rc == 0)
			rc = take_names(s, k, &g);
		if (g.bad)
			rama_shutdown_shut_lose(s, k);
		rama_shutdown_got_fini(&g);
	}
	if (rc == 0 && s->index > 0) {
		put_lists(&m, s);
		rama_shutdown_ids_put(&m, &s->names);
		rc = tell_parent(s, RAMA_SHUTDOWN_TAG_IDS, &m);
		if (rc == 0)
			rc = hear_parent(s, RAMA_SHUTDOWN_TAG_SHARED, &g, RAMA_SHUTDOWN_SHUT_IDS);
		if (rc == 0)
			rc = take_lists(s, &g);
		if (rc == 0 && rama_shutdown_ids_take(&g, &s->not_mine) != 0)
			rc = rama_shutdown_shut_no_memory(s);
		if (rc == 0 && g.bad)
			rc = rama_err_set(s->e, RAMA_ECORRUPT, "a message is damaged");
		rama_shutdown_got_fini(&g);
	}
	rama_shutdown_ids_fini(&s->names);
	return rc == 0 ? share_down(s) : rc;
}

/* ---- records of shared files ----------------------------------------------------------------- */

struct batch {
	struct rama_core_plan plan;
	const uint64_t *id;
	size_t n;    /* records */
	size_t size; /* bytes of one: words, then the spread */
	unsigned char *bytes;
};

static union rama_core_word *words_of(const struct batch *b, unsigned char *bytes, size_t i)
{
	return (union rama_core_word *)(void *)(bytes + i * b->size);
}

static struct rama_core_spread *spread_of(const struct batch *b, unsigned char *bytes, size_t i)
{
	return (struct rama_core_spread *)(void *)(bytes + (i + 1) * b->size -
						   sizeof(struct rama_core_spread));
}

static int fill_batch(struct rama_shutdown_shut *s, struct batch *b)
{
	size_t words = b->plan.mod->record->words;

	for (size_t i = 0; i < b->n; i++) {
		const union rama_core_word *from =
			rama_shutdown_shut_ref_get(s, b->plan.mod->id, b->id[i]);
		union rama_core_word *w = words_of(b, b->bytes, i);

		if (from == NULL)
			return rama_err_set(s->e, RAMA_ECORRUPT,
					    "a file is said to be shared and is not");
		memcpy(w, from, words * sizeof(*w));
		*spread_of(b, b->bytes, i) = rama_core_spread_of(&b->plan, w, 1);
		rama_core_reduce_prepare(&b->plan, w);
	}
	return 0;
}

/* y takes x in; what cannot be combined is x's */
static void add_batch(struct batch *b, unsigned char *y, unsigned char *x)
{
	for (size_t i = 0; i < b->n; i++) {
		struct rama_core_spread *sum = spread_of(b, y, i);

		*sum = rama_core_spread_merge(*sum, *spread_of(b, x, i));
		rama_core_reduce(&b->plan, words_of(b, y, i), words_of(b, x, i));
	}
}

/* rank 0: they are complete */
static int keep_batch(struct rama_shutdown_shut *s, struct batch *b)
{
	const struct rama_tab_module *mod = b->plan.mod;
	int rc = 0;

	for (size_t i = 0; i < b->n && rc == 0; i++) {
		union rama_core_word *w = words_of(b, b->bytes, i);

		rama_core_reduce_finish(&b->plan, w, *spread_of(b, b->bytes, i));
		rc = rama_shutdown_shut_add(s, RAMA_LOG_REGION_MODULE + mod->id, w,
					    mod->record->words * sizeof(*w));
	}
	return rc;
}

/* From the highest rank down, so that the lowest has the last word; or the other way. */
static int reduce_batch(struct rama_shutdown_shut *s, struct batch *b)
{
	struct rama_shutdown_msg m = { 0 };
	struct rama_shutdown_got sum = { 0 };
	int rc = fill_batch(s, b);

	for (unsigned i = 0; i < RAMA_SHUTDOWN_SHUT_LEVELS && rc == 0; i++) {
		unsigned k = s->opt.keep_last ? i : RAMA_SHUTDOWN_SHUT_LEVELS - 1 - i;
		struct rama_shutdown_got g = { 0 };

		if (!hear(s, k, RAMA_SHUTDOWN_TAG_RECORDS, &g, RAMA_SHUTDOWN_SHUT_RECORDS))
			continue;
		if (g.n != b->n * b->size) {
			rama_shutdown_shut_lose(s, k);
		} else if (s->opt.keep_last) {
			add_batch(b, b->bytes, g.bytes);
		} else if (sum.bytes == NULL) {
			sum = g;
			continue; /* it is kept */
		} else {
			add_batch(b, sum.bytes, g.bytes);
		}
		rama_shutdown_got_fini(&g);
	}
	if (sum.bytes != NULL) {
		add_batch(b, sum.bytes, b->bytes);
		memcpy(b->bytes, sum.bytes, b->n * b->size);
		rama_shutdown_got_fini(&sum);
	}
	if (rc != 0 || s->index == 0)
		return rc == 0 ? keep_batch(s, b) : rc;
	m = (struct rama_shutdown_msg){ .bytes = b->bytes, .n = b->n * b->size };
	rama_shutdown_shut_send(s, rama_shutdown_shut_parent(s), RAMA_SHUTDOWN_TAG_RECORDS, &m);
	return 0;
}

static int reduce_module(struct rama_shutdown_shut *s, const struct rama_tab_module *mod)
{
	const struct rama_shutdown_ids *ids = &s->shared[mod->id];
	struct batch b = { .size = mod->record->words * sizeof(union rama_core_word) +
				   sizeof(struct rama_core_spread) };
	size_t most = BATCH / b.size > 0 ? BATCH / b.size : 1;
	int rc = 0;

	if (ids->n == 0)
		return 0;
	rama_core_plan_init(&b.plan, mod);
	b.bytes = malloc((ids->n < most ? ids->n : most) * b.size);
	if (b.bytes == NULL)
		return rama_shutdown_shut_no_memory(s);
	for (size_t at = 0; at < ids->n && rc == 0; at += most) {
		b.id = ids->id + at;
		b.n = ids->n - at < most ? ids->n - at : most;
		rc = reduce_batch(s, &b);
	}
	free(b.bytes);
	return rc;
}

int rama_shutdown_shut_reduce(struct rama_shutdown_shut *s)
{
	int rc = 0;

	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN && rc == 0; id++) {
		const struct rama_tab_module *mod = rama_tab_module_get(id);

		if (mod != NULL && s->shared[id].n > 0 && rama_shutdown_shut_reduces(mod))
			rc = reduce_module(s, mod);
	}
	return rc;
}

/* ---- sizes up, places down ------------------------------------------------------------------- */

static int send_places(struct rama_shutdown_shut *s)
{
	uint64_t at[RAMA_LOG_REGIONS];

	for (unsigned i = 0; i < RAMA_LOG_REGIONS; i++)
		at[i] = s->place[i] + s->piece[i].n;
	for (unsigned k = 0; k < RAMA_SHUTDOWN_SHUT_LEVELS; k++) {
		struct rama_shutdown_msg m = { 0 };

		if (rama_shutdown_shut_child(s, k) < 0)
			continue;
		rama_shutdown_msg_put(&m, at, sizeof(at));
		rama_shutdown_msg_u64(&m, s->alone);
		rama_shutdown_ranges_put(&m, &s->missing);
		if (m.failed)
			return rama_shutdown_shut_no_memory(s);
		rama_shutdown_shut_send(s,
					rama_shutdown_shut_rank(s, rama_shutdown_shut_child(s, k)),
					RAMA_SHUTDOWN_TAG_PLACES, &m);
		rama_shutdown_msg_fini(&m);
		for (unsigned i = 0; i < RAMA_LOG_REGIONS; i++)
			at[i] += s->below[k][i];
	}
	return 0;
}

static void hear_sizes(struct rama_shutdown_shut *s)
{
	for (unsigned k = 0; k < RAMA_SHUTDOWN_SHUT_LEVELS; k++) {
		struct rama_shutdown_got g = { 0 };
		const void *sizes;

		if (!hear(s, k, RAMA_SHUTDOWN_TAG_SIZES, &g, RAMA_SHUTDOWN_SHUT_SIZES))
			continue;
		sizes = rama_shutdown_got_take(&g, sizeof(s->below[k]));
		if (sizes != NULL)
			memcpy(s->below[k], sizes, sizeof(s->below[k]));
		if (rama_shutdown_ranges_take(&g, &s->missing, s->comm->size) != 0 || g.bad) {
			rama_shutdown_shut_lose(s, k);
			memset(s->below[k], 0, sizeof(s->below[k]));
		}
		rama_shutdown_got_fini(&g);
	}
}

static int learn_places(struct rama_shutdown_shut *s, const uint64_t *all)
{
	struct rama_shutdown_msg m = { 0 };
	struct rama_shutdown_got g = { 0 };
	const void *places;
	int rc;

	rama_shutdown_msg_put(&m, all, sizeof(*all) * RAMA_LOG_REGIONS);
	rama_shutdown_ranges_put(&m, &s->missing);
	rc = tell_parent(s, RAMA_SHUTDOWN_TAG_SIZES, &m);
	if (rc == 0)
		rc = hear_parent(s, RAMA_SHUTDOWN_TAG_PLACES, &g, RAMA_SHUTDOWN_SHUT_SIZES);
	if (rc != 0)
		return rc;
	places = rama_shutdown_got_take(&g, sizeof(s->place));
	if (places != NULL)
		memcpy(s->place, places, sizeof(s->place));
	s->alone = rama_shutdown_got_u64(&g) != 0;
	if (rama_shutdown_ranges_take(&g, &s->missing, s->comm->size) != 0)
		rc = rama_shutdown_shut_no_memory(s);
	else if (g.bad)
		rc = rama_err_set(s->e, RAMA_ECORRUPT, "a message is damaged");
	rama_shutdown_got_fini(&g);
	return rc;
}

int rama_shutdown_shut_measure(struct rama_shutdown_shut *s)
{
	uint64_t all[RAMA_LOG_REGIONS], at = RAMA_LOG_HEADER_NEW;
	int rc = 0;

	hear_sizes(s);
	for (unsigned i = 0; i < RAMA_LOG_REGIONS; i++) {
		if (i == RAMA_LOG_REGION_MODULE + RAMA_TAB_OURS)
			at += RAMA_LOG_ANNEX_HEAD;
		all[i] = s->piece[i].n;
		for (unsigned k = 0; k < RAMA_SHUTDOWN_SHUT_LEVELS; k++)
			all[i] += s->below[k][i];
		if (s->index == 0) {
			s->place[i] = at;
			at += all[i];
			s->stop[i] = at;
		}
	}
	if (s->index > 0)
		rc = learn_places(s, all);
	return rc == 0 ? send_places(s) : rc;
}
