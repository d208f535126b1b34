/* SPDX-License-Identifier: BSD-3-Clause */
/* model.h: the rules of the log format for the records of MPI-IO, HDF5 datasets and PnetCDF
 * variables once more, as plainly and slowly as they can be written. Counters are found by their
 * names; the most frequent accesses by looking back over the whole history. Times are in doubles; a
 * tick is a second. */
#ifndef RAMA_TESTS_CORE_MODEL_H
#define RAMA_TESTS_CORE_MODEL_H

#include <inttypes.h>

#include "core/op.h"
#include "core/record.h"
#include "unit.h"

#define MODEL_WORDS 200
#define MODEL_CALLS 600
#define MODEL_WIDE 11

struct model {
	const struct rama_tab_module *mod;
	int64_t i[MODEL_WORDS];
	double f[MODEL_WORDS];
	double meta_end, read_end, write_end;
	int last_kind; /* 0: none, else RAMA_TAB_OP_READ or RAMA_TAB_OP_WRITE */
	unsigned n;
	int64_t history[MODEL_CALLS][MODEL_WIDE]; /* of all accesses, in order */
};

static inline void model_init(struct model *m, unsigned module, uint64_t id)
{
	memset(m, 0, sizeof(*m));
	m->mod = rama_tab_module_get(module);
	assert_true(m->mod->record->words <= MODEL_WORDS);
	m->i[RAMA_TAB_ID] = (int64_t)id;
}

static inline unsigned model_word(const struct model *m, const char *name)
{
	const struct rama_tab_field *field = rama_tab_field_find(m->mod, name);

	if (field == NULL)
		fail_msg("%s has no %s", m->mod->name, name);
	return field->word;
}

static inline int64_t *model_count(struct model *m, const char *name)
{
	return &m->i[model_word(m, name)];
}

static inline double *model_time(struct model *m, const char *name)
{
	return &m->f[model_word(m, name)];
}

static inline void model_add_time(double *sum, double *last, const struct rama_core_op *op)
{
	double t0 = (double)op->t0, t1 = (double)op->t1;

	if (t1 <= *last) /* recorded late: counted by another call */
		return;
	*sum += t0 > *last ? t1 - t0 : t1 - *last;
	*last = t1;
}

static inline void model_stamp(double *start, double *end, const struct rama_core_op *op)
{
	if (*start == 0 || (double)op->t0 < *start)
		*start = (double)op->t0;
	*end = (double)op->t1;
}

static inline void model_meta(struct model *m, const struct rama_core_op *op)
{
	model_add_time(model_time(m, "F_META_TIME"), &m->meta_end, op);
}

static inline const char *model_range(int64_t n)
{
	return n <= 100		? "0_100"
	       : n <= 1 << 10	? "100_1K"
	       : n <= 10240	? "1K_10K"
	       : n <= 102400	? "10K_100K"
	       : n <= 1 << 20	? "100K_1M"
	       : n <= 4 << 20	? "1M_4M"
	       : n <= 10 << 20	? "4M_10M"
	       : n <= 104857600 ? "10M_100M"
	       : n <= 1 << 30	? "100M_1G"
				: "1G_PLUS";
}

/* `more`: lengths and strides, or NULL */
static inline void model_transfer(struct model *m, const struct rama_core_op *op,
				  const int64_t more[10])
{
	bool rd = op->kind == RAMA_TAB_OP_READ;
	double took = (double)op->t1 - (double)op->t0;
	double *longest = model_time(m, rd ? "F_MAX_READ_TIME" : "F_MAX_WRITE_TIME");
	char name[40];

	*model_count(m, rd ? "BYTES_READ" : "BYTES_WRITTEN") += op->bytes;
	snprintf(name, sizeof(name), "SIZE_%s_AGG_%s", rd ? "READ" : "WRITE",
		 model_range(op->bytes));
	++*model_count(m, name);
	if (m->last_kind != 0 && m->last_kind != op->kind)
		++*model_count(m, "RW_SWITCHES");
	m->last_kind = op->kind;
	if (took > *longest) {
		*longest = took;
		*model_count(m, rd ? "MAX_READ_TIME_SIZE" : "MAX_WRITE_TIME_SIZE") = op->bytes;
	}
	model_stamp(model_time(m, rd ? "F_READ_START_TIMESTAMP" : "F_WRITE_START_TIMESTAMP"),
		    model_time(m, rd ? "F_READ_END_TIMESTAMP" : "F_WRITE_END_TIMESTAMP"), op);
	model_add_time(model_time(m, rd ? "F_READ_TIME" : "F_WRITE_TIME"),
		       rd ? &m->read_end : &m->write_end, op);
	m->history[m->n][0] = op->bytes;
	if (more)
		memcpy(&m->history[m->n][1], more, 10 * sizeof(more[0]));
	m->n++;
}

struct model_kind {
	unsigned example, count, last; /* calls of the history: one of this kind, the last one */
	int64_t size;
};

static inline int model_by_rank(const void *a, const void *b)
{
	const struct model_kind *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	if (x->size != y->size)
		return x->size < y->size ? 1 : -1;
	return x->last < y->last ? 1 : -1;
}

/* `width` numbers of each of the four most frequent accesses; of the first 32 kinds that came */
static inline void model_top(struct model *m, unsigned width)
{
	static const char *const value[] = { "ACCESS1_ACCESS", "ACCESS2_ACCESS", "ACCESS3_ACCESS",
					     "ACCESS4_ACCESS" };
	static const char *const count[] = { "ACCESS1_COUNT", "ACCESS2_COUNT", "ACCESS3_COUNT",
					     "ACCESS4_COUNT" };
	struct model_kind kinds[32];
	unsigned n = 0, k = 0;

	for (unsigned i = 0; i < m->n; i++) {
		unsigned j = 0;

		while (j < n && memcmp(m->history[kinds[j].example], m->history[i],
				       sizeof(m->history[i])) != 0)
			j++;
		if (j == 32)
			continue;
		if (j == n)
			kinds[n++] = (struct model_kind){ .example = i, .size = m->history[i][0] };
		kinds[j].count++;
		kinds[j].last = i;
	}
	qsort(kinds, n, sizeof(kinds[0]), model_by_rank);
	for (unsigned j = 0; j < n && k < 4; j++) {
		if (kinds[j].size == 0)
			continue;
		memcpy(model_count(m, value[k]), m->history[kinds[j].example],
		       width * sizeof(int64_t));
		*model_count(m, count[k++]) = kinds[j].count;
	}
}

static inline void model_check(const struct model *m, const union rama_core_word *w, int round)
{
	const struct rama_tab_schema *s = m->mod->record;

	for (unsigned k = 0; k < *s->n_fields; k++) {
		const struct rama_tab_field *field = &s->fields[k];

		if (field->word == RAMA_TAB_NO_WORD)
			continue;
		if (field->type == RAMA_TAB_F64 && w[field->word].f != m->f[field->word])
			fail_msg("round %d, %s: %g, not %g", round, field->name, w[field->word].f,
				 m->f[field->word]);
		if (field->type != RAMA_TAB_F64 && w[field->word].i != m->i[field->word])
			fail_msg("round %d, %s: %" PRId64 ", not %" PRId64, round, field->name,
				 w[field->word].i, m->i[field->word]);
	}
	assert_int_equal(w[RAMA_TAB_ID].i, m->i[RAMA_TAB_ID]);
	assert_int_equal(w[RAMA_TAB_RANK].i, 0);
}

/* mostly transfers; else one of `n` other kinds */
static inline struct rama_core_op model_random_op(struct rng *r, uint64_t *clock,
						  const uint8_t *other, unsigned n)
{
	static const int64_t usual[] = { 0, 1, 100, 101, 512, 4096, 65536, 1048576 };
	unsigned dice = (unsigned)rng_below(r, 100);
	struct rama_core_op op = { .ok = rng_below(r, 20) != 0 };

	op.kind = dice < 40   ? RAMA_TAB_OP_READ
		  : dice < 80 ? RAMA_TAB_OP_WRITE
			      : other[rng_below(r, n)];
	op.bytes = rng_below(r, 4) ? usual[rng_below(r, LENGTH(usual))]
				   : (int64_t)rng_below(r, 1u << rng_below(r, 31));
	/* threads record their calls late and out of order */
	*clock += rng_below(r, 100);
	op.t0 = *clock - rng_below(r, 300);
	op.t1 = op.t0 + rng_below(r, 200);
	return op;
}

#endif
