/* SPDX-License-Identifier: BSD-3-Clause */
/* posix_model.c: the rules of the log format once more, as plainly and slowly as they can be
 * written, and random histories that both must agree on. Times are in doubles here; a tick is a
 * second. */
#include "unit.h"

#include <inttypes.h>

#include "core/posix.h"

struct table {
	int used;
	struct entry {
		int64_t value, count;
	} e[32];
};

struct model {
	int64_t w[RAMA_TAB_POSIX__WORDS];
	double t[RAMA_TAB_POSIX__WORDS];
	double meta_end, read_end, write_end;
	int64_t offset, last_byte[2]; /* of reads, of writes */
	int last_kind;
	struct table access, stride;
};

static void count_value(struct table *t, int64_t value)
{
	for (int i = 0; i < t->used; i++) {
		if (t->e[i].value == value) {
			t->e[i].count++;
			return;
		}
	}
	if (t->used < 32)
		t->e[t->used++] = (struct entry){ value, 1 };
}

static int by_count_then_value(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return x->value < y->value ? 1 : -1;
}

static void show_top(struct table t, int64_t *value, int64_t *count)
{
	int k = 0;

	qsort(t.e, (size_t)t.used, sizeof(t.e[0]), by_count_then_value);
	for (int i = 0; i < t.used && k < 4; i++) {
		if (t.e[i].value != 0) {
			value[k] = t.e[i].value;
			count[k++] = t.e[i].count;
		}
	}
}

static void add_time(double *sum, double *last, double t0, double t1)
{
	if (t1 <= *last)
		return;
	if (t0 > *last)
		*sum += t1 - t0;
	else
		*sum += t1 - *last;
	if (t1 > *last)
		*last = t1;
}

static void stamp(double *start, double *end, double t0, double t1)
{
	if (*start == 0 || t0 < *start)
		*start = t0;
	*end = t1;
}

static unsigned range_of(int64_t n)
{
	static const int64_t limits[] = { 100,	   1024,     10240,	102400,	   1048576,
					  4194304, 10485760, 104857600, 1073741824 };
	unsigned i = 0;

	while (i < LENGTH(limits) && n > limits[i])
		i++;
	return i;
}

static int64_t place(struct model *m, int kind, int64_t o, int64_t n)
{
	static const unsigned seq[] = { RAMA_TAB_POSIX_SEQ_READS, RAMA_TAB_POSIX_SEQ_WRITES };
	static const unsigned consec[] = { RAMA_TAB_POSIX_CONSEC_READS,
					   RAMA_TAB_POSIX_CONSEC_WRITES };
	static const unsigned max[] = { RAMA_TAB_POSIX_MAX_BYTE_READ,
					RAMA_TAB_POSIX_MAX_BYTE_WRITTEN };
	int64_t last = m->last_byte[kind], stride = 0;

	if (o > last)
		m->w[seq[kind]]++;
	if (o == last + 1)
		m->w[consec[kind]]++;
	if (o > 0 && o > last && last != 0)
		stride = o - last - 1;
	m->last_byte[kind] = o + n - 1;
	m->offset = o + n;
	if (o + n - 1 > m->w[max[kind]])
		m->w[max[kind]] = o + n - 1;
	if (m->w[RAMA_TAB_POSIX_FILE_ALIGNMENT] > 0 && o % m->w[RAMA_TAB_POSIX_FILE_ALIGNMENT] != 0)
		m->w[RAMA_TAB_POSIX_FILE_NOT_ALIGNED]++;
	return stride;
}

static void transfer(struct model *m, const struct rama_core_op *op, int kind)
{
	static const struct {
		unsigned calls, bytes, size, start, end, time, longest, longest_size;
	} word[] = {
		{ RAMA_TAB_POSIX_READS, RAMA_TAB_POSIX_BYTES_READ, RAMA_TAB_POSIX_SIZE_READ_0_100,
		  RAMA_TAB_POSIX_F_READ_START_TIMESTAMP, RAMA_TAB_POSIX_F_READ_END_TIMESTAMP,
		  RAMA_TAB_POSIX_F_READ_TIME, RAMA_TAB_POSIX_F_MAX_READ_TIME,
		  RAMA_TAB_POSIX_MAX_READ_TIME_SIZE },
		{ RAMA_TAB_POSIX_WRITES, RAMA_TAB_POSIX_BYTES_WRITTEN,
		  RAMA_TAB_POSIX_SIZE_WRITE_0_100, RAMA_TAB_POSIX_F_WRITE_START_TIMESTAMP,
		  RAMA_TAB_POSIX_F_WRITE_END_TIMESTAMP, RAMA_TAB_POSIX_F_WRITE_TIME,
		  RAMA_TAB_POSIX_F_MAX_WRITE_TIME, RAMA_TAB_POSIX_MAX_WRITE_TIME_SIZE },
	};
	double t0 = (double)op->t0, t1 = (double)op->t1;
	int64_t stride = place(m, kind, op->has_off ? op->off : m->offset, op->bytes);

	m->w[word[kind].calls]++;
	m->w[word[kind].bytes] += op->bytes;
	m->w[word[kind].size + range_of(op->bytes)]++;
	count_value(&m->access, op->bytes);
	count_value(&m->stride, stride);
	if (op->unaligned)
		m->w[RAMA_TAB_POSIX_MEM_NOT_ALIGNED]++;
	if (m->last_kind >= 0 && m->last_kind != kind)
		m->w[RAMA_TAB_POSIX_RW_SWITCHES]++;
	m->last_kind = kind;
	stamp(&m->t[word[kind].start], &m->t[word[kind].end], t0, t1);
	if (t1 - t0 > m->t[word[kind].longest]) {
		m->t[word[kind].longest] = t1 - t0;
		m->w[word[kind].longest_size] = op->bytes;
	}
	add_time(&m->t[word[kind].time], kind ? &m->write_end : &m->read_end, t0, t1);
}

static void open_or_close(struct model *m, const struct rama_core_op *op)
{
	double t0 = (double)op->t0, t1 = (double)op->t1;

	if (op->kind == RAMA_TAB_OP_CLOSE) {
		stamp(&m->t[RAMA_TAB_POSIX_F_CLOSE_START_TIMESTAMP],
		      &m->t[RAMA_TAB_POSIX_F_CLOSE_END_TIMESTAMP], t0, t1);
	} else {
		m->w[RAMA_TAB_POSIX_OPENS]++;
		stamp(&m->t[RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP],
		      &m->t[RAMA_TAB_POSIX_F_OPEN_END_TIMESTAMP], t0, t1);
	}
	if (op->kind == RAMA_TAB_OP_OPEN) {
		m->offset = 0;
		if (op->mode != 0)
			m->w[RAMA_TAB_POSIX_MODE] = op->mode;
	}
	if (op->kind == RAMA_TAB_OP_OPEN || op->kind == RAMA_TAB_OP_CLOSE)
		m->last_byte[0] = m->last_byte[1] = 0;
	add_time(&m->t[RAMA_TAB_POSIX_F_META_TIME], &m->meta_end, t0, t1);
}

static void model_apply(struct model *m, const struct rama_core_op *op)
{
	static const unsigned counter[RAMA_TAB_OPS] = {
		[RAMA_TAB_OP_SEEK] = RAMA_TAB_POSIX_SEEKS,
		[RAMA_TAB_OP_STAT] = RAMA_TAB_POSIX_STATS,
		[RAMA_TAB_OP_SYNC] = RAMA_TAB_POSIX_FSYNCS,
		[RAMA_TAB_OP_DATASYNC] = RAMA_TAB_POSIX_FDSYNCS,
		[RAMA_TAB_OP_DUP] = RAMA_TAB_POSIX_DUPS,
		[RAMA_TAB_OP_FILENO] = RAMA_TAB_POSIX_FILENOS,
		[RAMA_TAB_OP_RENAMEFROM] = RAMA_TAB_POSIX_RENAME_SOURCES,
		[RAMA_TAB_OP_RENAMETO] = RAMA_TAB_POSIX_RENAME_TARGETS,
	};
	double t0 = (double)op->t0, t1 = (double)op->t1;

	if (!op->ok && op->kind != RAMA_TAB_OP_CLOSE)
		return;
	if (counter[op->kind])
		m->w[counter[op->kind]]++;
	if (op->kind == RAMA_TAB_OP_READ || op->kind == RAMA_TAB_OP_WRITE)
		transfer(m, op, op->kind == RAMA_TAB_OP_WRITE);
	if (op->kind == RAMA_TAB_OP_OPEN || op->kind == RAMA_TAB_OP_DUP ||
	    op->kind == RAMA_TAB_OP_FILENO || op->kind == RAMA_TAB_OP_CLOSE)
		open_or_close(m, op);
	if (op->kind == RAMA_TAB_OP_SEEK)
		m->offset = op->off;
	if (op->kind == RAMA_TAB_OP_SEEK || op->kind == RAMA_TAB_OP_STAT ||
	    op->kind == RAMA_TAB_OP_RENAMEFROM)
		add_time(&m->t[RAMA_TAB_POSIX_F_META_TIME], &m->meta_end, t0, t1);
	if (op->kind == RAMA_TAB_OP_SYNC || op->kind == RAMA_TAB_OP_DATASYNC)
		add_time(&m->t[RAMA_TAB_POSIX_F_WRITE_TIME], &m->write_end, t0, t1);
	if (op->kind == RAMA_TAB_OP_RENAMETO && m->w[RAMA_TAB_POSIX_RENAMED_FROM] == 0)
		m->w[RAMA_TAB_POSIX_RENAMED_FROM] = op->off;
}

static struct rama_core_op random_op(struct rng *r, uint64_t *now)
{
	static const int64_t usual[] = { 0, 1, 100, 101, 512, 4096, 65536, 1048576 };
	unsigned dice = (unsigned)rng_below(r, 100);
	struct rama_core_op op = { .ok = rng_below(r, 20) != 0, .has_off = rng_below(r, 3) == 0 };

	/* mostly transfers, many of them where the last one ended */
	op.kind = (uint8_t)(dice < 40	? RAMA_TAB_OP_READ
			    : dice < 80 ? RAMA_TAB_OP_WRITE
					: rng_below(r, RAMA_TAB_OPS));
	op.off = (int64_t)rng_below(r, 50) * (rng_below(r, 2) ? 100 : 512);
	op.bytes = rng_below(r, 4) ? usual[rng_below(r, LENGTH(usual))]
				   : (int64_t)rng_below(r, 1u << rng_below(r, 31));
	op.unaligned = rng_below(r, 2);
	op.mode = (int32_t)rng_below(r, 3);
	/* threads record their calls late and out of order */
	*now += rng_below(r, 100);
	op.t0 = *now - rng_below(r, 300);
	op.t1 = op.t0 + rng_below(r, 200);
	return op;
}

static void random_histories_agree_with_the_model(void **state)
{
	static const int64_t aligns[] = { 4096, 512, 100, 0, -1, 1 };
	struct rng r = { 77 };

	(void)state;
	for (int round = 0; round < 60; round++) {
		int64_t align = aligns[rng_below(&r, LENGTH(aligns))];
		union rama_core_word w[RAMA_TAB_POSIX__WORDS], more[RAMA_CORE_POSIX_MORE];
		struct model m = { .last_kind = -1 };
		struct rama_core_posix_file f;
		uint64_t now = 1000;

		rama_core_posix_init(&f, 9, 8, align);
		m.w[RAMA_TAB_ID] = 9;
		m.w[RAMA_TAB_POSIX_MEM_ALIGNMENT] = 8;
		m.w[RAMA_TAB_POSIX_FILE_ALIGNMENT] = align;
		m.w[RAMA_TAB_POSIX_MMAPS] = -1;
		for (uint64_t i = rng_below(&r, 1000); i > 0; i--) {
			struct rama_core_op op = random_op(&r, &now);

			rama_core_posix_apply(&f, &op);
			model_apply(&m, &op);
		}
		show_top(m.access, &m.w[RAMA_TAB_POSIX_ACCESS1_ACCESS],
			 &m.w[RAMA_TAB_POSIX_ACCESS1_COUNT]);
		show_top(m.stride, &m.w[RAMA_TAB_POSIX_STRIDE1_STRIDE],
			 &m.w[RAMA_TAB_POSIX_STRIDE1_COUNT]);
		rama_core_posix_finish(&f, 1, w, more);
		for (unsigned k = 0; k < RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP; k++)
			if (w[k].i != m.w[k])
				fail_msg("round %d, word %u: %" PRId64 ", not %" PRId64, round, k,
					 w[k].i, m.w[k]);
		for (unsigned k = RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP; k < RAMA_TAB_POSIX__WORDS;
		     k++)
			if (w[k].f != m.t[k])
				fail_msg("round %d, word %u: %g, not %g", round, k, w[k].f, m.t[k]);
	}
}

/* our own counters, by looking back over the whole history */
static void own_counters_are_what_the_history_says(void **state)
{
	enum { CALLS = 500 };
	struct rng r = { 78 };

	(void)state;
	for (int round = 0; round < 20; round++) {
		union rama_core_word w[RAMA_TAB_POSIX__WORDS], more[RAMA_CORE_POSIX_MORE];
		int64_t seq[2] = { 0 }, consec[2] = { 0 }, failed[2] = { 0 };
		int64_t off = 0, end[2] = { -1, -1 };
		uint64_t now = 1000, time[2] = { 0 };
		struct rama_core_posix_file f;

		rama_core_posix_init(&f, 9, 8, 4096);
		for (int i = 0; i < CALLS; i++) {
			struct rama_core_op op = random_op(&r, &now);
			int kind = i % 3 == 0;

			if (rng_below(&r, 9) == 0) { /* does not make it forget */
				op.kind = rng_below(&r, 2) ? RAMA_TAB_OP_OPEN : RAMA_TAB_OP_CLOSE;
				op.ok = true;
				rama_core_posix_apply(&f, &op);
				off = op.kind == RAMA_TAB_OP_OPEN ? 0 : off;
				continue;
			}
			if (rng_below(&r, 9) == 0) { /* time of writing, too */
				op.kind = RAMA_TAB_OP_SYNC;
				rama_core_posix_apply(&f, &op);
				time[1] += op.ok ? op.t1 - op.t0 : 0;
				continue;
			}
			op.kind = kind ? RAMA_TAB_OP_WRITE : RAMA_TAB_OP_READ;
			rama_core_posix_apply(&f, &op);
			if (!op.ok) {
				failed[kind]++;
				continue;
			}
			if (op.has_off)
				off = op.off;
			seq[kind] += end[kind] != -1 && off >= end[kind];
			consec[kind] += end[kind] != -1 && off == end[kind];
			time[kind] += op.t1 - op.t0;
			end[kind] = off = off + op.bytes;
		}
		rama_core_posix_finish(&f, 1, w, more);
#define MORE(word) more[RAMA_TAB_EXTRA_##word - RAMA_TAB_EXTRA_SEQ_READS]
		assert_int_equal(MORE(SEQ_READS).i, seq[0]);
		assert_int_equal(MORE(SEQ_WRITES).i, seq[1]);
		assert_int_equal(MORE(CONSEC_READS).i, consec[0]);
		assert_int_equal(MORE(CONSEC_WRITES).i, consec[1]);
		assert_int_equal(MORE(READS_FAILED).i, failed[0]);
		assert_int_equal(MORE(WRITES_FAILED).i, failed[1]);
		assert_true(MORE(F_READ_SUM).f == (double)time[0]);
		assert_true(MORE(F_WRITE_SUM).f == (double)time[1]);
#undef MORE
	}
}

UNIT_GROUP(posix_model, test(random_histories_agree_with_the_model),
	   test(own_counters_are_what_the_history_says))
