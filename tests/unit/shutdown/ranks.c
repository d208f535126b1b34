/* SPDX-License-Identifier: BSD-3-Clause */
#include "ranks.h"

#include <math.h>
#include <unistd.h>

#include "core/sum/plan.h"
#include "core/sum/reduce.h"
#include "core/recordid.h"
#include "logfile/merge.h"

#define START 1700000000
#define SHARED 3
#define SOME 6 /* files that some ranks have */

/* ---- files ----------------------------------------------------------------------------------- */

static uint64_t file_id(const char *what, int64_t number, char name[64])
{
	int n = snprintf(name, 64, "/data/%s/%lld", what, (long long)number);

	return rama_core_record_id(name, (size_t)n);
}

uint64_t file_shared(unsigned number)
{
	char name[64];

	return file_id("all", number, name);
}

uint64_t file_of(int64_t rank)
{
	char name[64];

	return file_id("rank", rank, name);
}

struct files {
	uint64_t id[16];
	char name[16][64];
	unsigned n;
};

static void choose_files(struct files *f, struct rng *r, int64_t rank)
{
	f->n = 0;
	for (unsigned i = 0; i < SHARED; i++, f->n++)
		f->id[f->n] = file_id("all", i, f->name[f->n]);
	for (unsigned i = 0; i < SOME; i++)
		if (rng_below(r, 2) == 0) {
			f->id[f->n] = file_id("some", i, f->name[f->n]);
			f->n++;
		}
	f->id[f->n] = file_id("rank", rank, f->name[f->n]);
	f->n++;
}

/* ---- records --------------------------------------------------------------------------------- */

/* lists that stay whole when they are joined: never more than three values */
static void fill_top(const struct rama_core_top *top, union rama_core_word *w, struct rng *r)
{
	for (unsigned i = 0; i < 3 && top->width == 1; i++) {
		w[top->value[i]].i = 100 * (1 + (int64_t)i);
		w[top->count[i]].i = 1 + (int64_t)rng_below(r, 50);
	}
}

static void fill_record(const struct rama_tab_module *mod, union rama_core_word *w, uint64_t id,
			int64_t rank, struct rng *r)
{
	struct rama_core_plan plan;

	memset(w, 0, mod->record->words * sizeof(*w));
	rama_core_plan_init(&plan, mod);
	for (unsigned i = 0; i < *mod->record->n_fields; i++) {
		const struct rama_tab_field *f = &mod->record->fields[i];

		if (f->word == RAMA_TAB_NO_WORD || f->words != 1 || f->reduce == RAMA_TAB_NONE ||
		    f->reduce >= RAMA_TAB_FAST_RANK)
			continue;
		if (f->reduce == RAMA_TAB_KEEP)
			w[f->word].i = f->type == RAMA_TAB_F64 ? 0 : (int64_t)(id % 100);
		else if (f->type == RAMA_TAB_F64)
			w[f->word].f = 0.001 + 5 * rng_unit(r);
		else
			w[f->word].i = (int64_t)rng_below(r, f->reduce == RAMA_TAB_ANY ? 2 : 1000);
	}
	fill_top(&plan.access, w, r);
	fill_top(&plan.stride, w, r);
	w[RAMA_TAB_ID].u = id;
	w[RAMA_TAB_RANK].i = rank;
}

static void write_counters(struct rama_log_writer *w, unsigned module, const struct files *f,
			   int64_t rank, struct rng *r)
{
	const struct rama_tab_module *mod = rama_tab_module_get(module);
	union rama_core_word words[400];
	struct rama_core_record rec = { .mod = mod, .schema = mod->record, .w = words };

	rama_log_writer_module(w, module, mod->newest);
	for (unsigned i = 0; i < f->n; i++) {
		if (i > 0 && rng_below(r, 3) == 0)
			continue; /* not in this module */
		fill_record(mod, words, f->id[i], rank, r);
		assert_int_equal(rama_log_writer_record(w, &rec), 0);
	}
}

static void write_many(struct rama_log_writer *w, unsigned many, int64_t rank, struct rng *r)
{
	const struct rama_tab_module *mod = rama_tab_module_get(RAMA_TAB_MOD_MPIIO);
	union rama_core_word words[RAMA_TAB_MPIIO__WORDS];
	struct rama_core_record rec = { .mod = mod, .schema = mod->record, .w = words };

	rama_log_writer_module(w, mod->id, mod->newest);
	for (unsigned i = 0; i < 2 * many; i++) {
		fill_record(mod, words, 1000 + i + (i < many ? 0 : (uint64_t)rank * many), rank, r);
		for (unsigned k = RAMA_TAB_MPIIO_INDEP_OPENS; k < RAMA_TAB_MPIIO_MODE; k++)
			words[k].u = rng_u64(r) >> 8;
		for (unsigned k = 0; k < 20; k++) /* both histograms */
			words[RAMA_TAB_MPIIO_SIZE_READ_AGG_0_100 + k].u = rng_u64(r) >> 8;
		assert_int_equal(rama_log_writer_record(w, &rec), 0);
	}
}

/* files of this rank alone, more than fit into a message, in a section of the annex */
static void write_many_ours(struct rama_log_writer *w, unsigned many, int64_t rank, struct rng *r)
{
	const struct rama_tab_module *mod = rama_tab_module_get(RAMA_TAB_MOD_EXTRA);
	union rama_core_word words[RAMA_TAB_EXTRA__WORDS];
	struct rama_core_record rec = { .mod = mod, .schema = mod->record, .w = words };

	rama_log_writer_module(w, mod->id, mod->newest);
	for (unsigned i = 0; i < many; i++) {
		fill_record(mod, words, 1000 + many + i + (uint64_t)rank * many, rank, r);
		for (unsigned k = 0; k < *mod->record->n_fields; k++)
			if (mod->record->fields[k].type == RAMA_TAB_I64)
				words[mod->record->fields[k].word].u = rng_u64(r) >> 8;
		assert_int_equal(rama_log_writer_record(w, &rec), 0);
	}
}

static void write_layouts(struct rama_log_writer *w, const struct files *f, int64_t rank)
{
	const struct rama_tab_module *mod = rama_tab_module_get(RAMA_TAB_MOD_LUSTRE);
	union rama_core_word words[RAMA_TAB_LUSTRE__WORDS], comp[16] = { { .i = 65536 } },
							    ost = { .i = 7 };
	struct rama_core_record rec = { .mod = mod,
					.schema = mod->record,
					.w = words,
					.array = { comp, &ost },
					.count = { 1, 1 } };

	rama_log_writer_module(w, RAMA_TAB_MOD_LUSTRE, mod->newest);
	for (unsigned i = 0; i < f->n; i++) {
		memset(words, 0, sizeof(words));
		words[RAMA_TAB_ID].u = f->id[i];
		words[RAMA_TAB_RANK].i = rank;
		words[RAMA_TAB_LUSTRE_NUM_COMPONENTS].u = words[RAMA_TAB_LUSTRE_NUM_STRIPES].u = 1;
		assert_int_equal(rama_log_writer_record(w, &rec), 0);
	}
}

static void write_traces(struct rama_log_writer *w, const struct files *f, int64_t rank,
			 struct rng *r)
{
	const struct rama_tab_module *mod = rama_tab_module_get(RAMA_TAB_MOD_DXT_POSIX);
	union rama_core_word words[RAMA_TAB_DXT__WORDS], seg[6][RAMA_TAB_SEG_WORDS];
	struct rama_core_record rec = { .mod = mod, .schema = mod->record, .w = words };

	rama_log_writer_module(w, RAMA_TAB_MOD_DXT_POSIX, mod->newest);
	for (unsigned i = 0; i < f->n; i++) {
		memset(words, 0, sizeof(words));
		words[RAMA_TAB_ID].u = f->id[i];
		words[RAMA_TAB_RANK].i = rank;
		words[RAMA_TAB_DXT_WRITE_COUNT].u = 1 + rng_below(r, 3);
		words[RAMA_TAB_DXT_READ_COUNT].u = rng_below(r, 3);
		for (unsigned k = 0; k < 6; k++) {
			for (unsigned at = 0; at < RAMA_TAB_SEG_WORDS; at++)
				seg[k][at].u = rng_below(r, 100000);
			seg[k][RAMA_TAB_SEG_START].f = rng_unit(r);
			seg[k][RAMA_TAB_SEG_END].f = 1 + rng_unit(r);
		}
		assert_int_equal(rama_log_writer_record(w, &rec), 0);
		rama_log_writer_segments(w, seg,
					 words[RAMA_TAB_DXT_WRITE_COUNT].u +
						 words[RAMA_TAB_DXT_READ_COUNT].u);
	}
}

static void write_heat(struct rama_log_writer *w, int64_t rank, struct rng *r)
{
	const struct rama_tab_module *mod = rama_tab_module_get(RAMA_TAB_MOD_HEATMAP);
	union rama_core_word words[RAMA_TAB_HEATMAP__WORDS] = { { .u = 0 } }, bin[2][200];
	struct rama_core_record rec = {
		.mod = mod, .schema = mod->record, .w = words, .array = { bin[0], bin[1] }
	};

	rec.count[0] = rec.count[1] = 1 + rng_below(r, 200);
	for (unsigned i = 0; i < 200; i++) {
		bin[0][i].u = rng_below(r, 1000);
		bin[1][i].u = rng_below(r, 1000);
	}
	words[RAMA_TAB_ID].u = rama_core_record_id("heatmap:POSIX", 13);
	words[RAMA_TAB_RANK].i = rank;
	words[RAMA_TAB_HEATMAP_F_BIN_WIDTH_SECONDS].f = 0.1 * (double)(1u << rng_below(r, 4));
	words[RAMA_TAB_HEATMAP_NBINS].u = rec.count[0];
	rama_log_writer_module(w, RAMA_TAB_MOD_HEATMAP, mod->newest);
	assert_int_equal(rama_log_writer_record(w, &rec), 0);
}

static void write_process(struct rama_log_writer *w, int64_t rank)
{
	const struct rama_tab_module *mod = rama_tab_module_get(RAMA_TAB_MOD_PROCESS);
	union rama_core_word words[RAMA_TAB_PROCESS__WORDS] = { { .u = 0 } },
			     command = { .b = "work" };
	struct rama_core_record rec = {
		.mod = mod, .schema = mod->record, .w = words, .array = { &command }, .count = { 1 }
	};

	words[RAMA_TAB_ID].u = rama_core_record_id("PROCESS", 7);
	words[RAMA_TAB_RANK].i = rank;
	words[RAMA_TAB_PROCESS_PID].i = 1000 + rank;
	words[RAMA_TAB_PROCESS_PARENT_RANK].i = -1;
	words[RAMA_TAB_PROCESS_F_START_TIMESTAMP].f = 1e-9;
	words[RAMA_TAB_PROCESS_F_END_TIMESTAMP].f = 20;
	words[RAMA_TAB_PROCESS_COMMAND_WORDS].u = 1;
	rama_log_writer_module(w, RAMA_TAB_MOD_PROCESS, mod->newest);
	assert_int_equal(rama_log_writer_record(w, &rec), 0);
}

/* ---- a rank ---------------------------------------------------------------------------------- */

static void write_rank(struct rama_log_writer *w, int64_t rank, const struct job *j, struct rng *r)
{
	struct rama_log_mount mount = { .path = "/data", .type = "ext4", .path_len = 5 };
	struct rama_log_job job = { .uid = 1000,
				    .start_sec = START,
				    .end_sec = START + 60,
				    .nprocs = j->size,
				    .jobid = 77,
				    .exe = "work --hard" };
	int64_t order = rank * 5 % 7;
	struct files f;

	/* A merge takes them in the order of their start, which is not that of ranks: the result
	 * must not depend on it. */
	job.start_sec += order / 3;
	job.start_nsec = order % 3 * 300000000 + (int64_t)rng_below(r, 200000000);
	job.end_sec += (int64_t)rng_below(r, 3);
	job.end_nsec = (int64_t)rng_below(r, 1000000000);
	memcpy(job.metadata, "lib_ver=1\n", 11);
	choose_files(&f, r, rank);
	rama_log_writer_job(w, &job, &mount, 1);
	for (unsigned i = 0; i < f.n; i++)
		rama_log_writer_name(w, f.id[i], f.name[i], strlen(f.name[i]));
	rama_log_writer_name(w, rama_core_record_id("heatmap:POSIX", 13), "heatmap:POSIX", 13);
	rama_log_writer_name(w, rama_core_record_id("PROCESS", 7), "PROCESS", 7);
	write_counters(w, RAMA_TAB_MOD_POSIX, &f, rank, r);
	if (j->many > 0)
		write_many(w, j->many, rank, r);
	else if (rng_below(r, 4) > 0)
		write_counters(w, RAMA_TAB_MOD_MPIIO, &f, rank, r);
	write_counters(w, RAMA_TAB_MOD_H5F, &f, rank, r);
	write_layouts(w, &f, rank);
	write_counters(w, RAMA_TAB_MOD_STDIO, &f, rank, r);
	write_traces(w, &f, rank, r);
	if (rng_below(r, 5) > 0)
		write_heat(w, rank, r);
	write_process(w, rank);
	if (j->many_ours > 0)
		write_many_ours(w, j->many_ours, rank, r);
	else
		write_counters(w, RAMA_TAB_MOD_EXTRA, &f, rank, r);
	assert_int_equal(rama_log_writer_finish(w, rng_below(r, 3) == 0 ? 1ull << RAMA_TAB_MOD_STDIO
									: 0),
			 0);
}

void job_make(struct job *j, int64_t size, uint64_t seed)
{
	job_make_large(j, size, seed, 0, 0);
}

void job_make_large(struct job *j, int64_t size, uint64_t seed, unsigned many, unsigned many_ours)
{
	*j = (struct job){ .size = size,
			   .many = many,
			   .many_ours = many_ours,
			   .path = "/tmp/iorama-shutdown-XXXXXX" };
	assert_true(size <= RANKS_MOST);
	close(mkstemp(j->path));
	unlink(j->path);
	world_init(&j->world, size);
	for (int64_t i = 0; i < size; i++) {
		struct rank *k = &j->rank[i];
		struct rama_log_sink sink = rama_shutdown_own_sink(&k->own);
		struct rng r = { seed * 1000 + (uint64_t)i };
		struct rama_log_writer w;

		k->job = j;
		assert_int_equal(rama_log_writer_init(&w, &sink, RAMA_LOG_PLAIN_BYTES, 0), 0);
		w.inner = true;
		write_rank(&w, i, j, &r);
		rama_log_writer_fini(&w);
		k->n = k->own.n;
		k->bytes = malloc(k->n);
		memcpy(k->bytes, k->own.bytes, k->n);
		assert_int_equal(rama_shutdown_own_ready(&k->own, &k->err), 0);
	}
}

static int run_rank(const struct rama_shutdown_comm *comm, void *arg)
{
	struct rank *k = arg;
	struct rama_shutdown_options opt = k->opt;

	if (opt.file.write == NULL)
		opt.file = rama_shutdown_disk_file(&k->disk, k->job->path);
	return rama_shutdown(comm, k->empty ? NULL : &k->own, &opt, &k->result, &k->err);
}

void job_run(struct job *j, const struct rama_shutdown_options *opt)
{
	for (int64_t i = 0; i < j->size; i++)
		j->rank[i].opt = *opt;
	world_run(&j->world, run_rank, j->rank, sizeof(j->rank[0]));
}

void job_free(struct job *j)
{
	char partial[80];

	snprintf(partial, sizeof(partial), "%s_partial", j->path);
	assert_int_not_equal(access(partial, F_OK), 0); /* nothing is left behind */
	unlink(j->path);
	for (int64_t i = 0; i < j->size; i++) {
		rama_shutdown_own_fini(&j->rank[i].own);
		free(j->rank[i].bytes);
	}
	world_fini(&j->world);
}

/* ---- what merge makes of it ------------------------------------------------------------------ */

static int take(void *ctx, uint64_t off, const void *bytes, size_t n, struct rama_err *e)
{
	struct check *c = ctx;

	(void)e;
	assert_true(off + n <= CHECK_LOG);
	memcpy(c->bytes + off, bytes, n);
	c->n = off + n > c->n ? (size_t)off + n : c->n;
	return 0;
}

struct check *job_merge(struct job *j, const bool *with)
{
	struct check *c = calloc(1, sizeof(*c));
	struct rama_log_merge_input in[RANKS_MOST] = { { 0 } };
	struct rama_log_merge m = { .in = in, .reduce = true };
	struct rama_source src[RANKS_MOST];
	struct rama_log log[RANKS_MOST];
	struct rama_log_sink sink = { .write = take, .ctx = c };
	struct rama_err e = { 0 };
	struct rama_log_writer w;

	c->bytes = calloc(1, CHECK_LOG);
	for (int64_t i = 0; i < j->size; i++) {
		if (with != NULL && !with[i])
			continue;
		rama_source_memory(&src[i], j->rank[i].bytes, j->rank[i].n);
		assert_int_equal(rama_log_open(&log[i], &src[i], NULL, &e), 0);
		in[m.n_in++] = (struct rama_log_merge_input){ .log = &log[i], .path = "rank" };
	}
	if (rama_log_merge_plan(&m, &e) != 0)
		fail_msg("%s", e.text);
	if (with != NULL) /* shared means all that are there */
		m.nprocs = (int64_t)m.n_in;
	assert_int_equal(rama_log_writer_init(&w, &sink, RAMA_LOG_ZLIB, 1), 0);
	assert_int_equal(rama_log_merge_write(&m, &w, &c->partial, &e), 0);
	assert_int_equal(rama_log_writer_finish(&w, c->partial), 0);
	rama_log_writer_fini(&w);
	for (int64_t i = 0; i < j->size; i++)
		if (with == NULL || with[i])
			rama_log_close(&log[i]);
	rama_source_memory(&c->src, c->bytes, c->n);
	assert_int_equal(rama_log_open(&c->log, &c->src, NULL, &e), 0);
	return c;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* a record with all that follows it */
struct flat {
	size_t n;
	union rama_core_word *w;
};

struct bag {
	struct flat *all;
	size_t n, room;
};

static struct flat *bag_add(struct bag *b)
{
	if (b->n == b->room) {
		b->room = b->room == 0 ? 64 : 2 * b->room;
		b->all = realloc(b->all, b->room * sizeof(*b->all));
		assert_non_null(b->all);
	}
	b->all[b->n] = (struct flat){ 0 };
	return &b->all[b->n++];
}

static void flat_add(struct flat *f, const union rama_core_word *w, size_t n)
{
	f->w = realloc(f->w, (f->n + n + 1) * sizeof(*w));
	assert_non_null(f->w);
	if (n > 0)
		memcpy(f->w + f->n, w, n * sizeof(*w));
	f->n += n;
}

static int by_file(const void *a, const void *b)
{
	const struct flat *x = a, *y = b;

	if (x->w[RAMA_TAB_ID].u != y->w[RAMA_TAB_ID].u)
		return x->w[RAMA_TAB_ID].u < y->w[RAMA_TAB_ID].u ? -1 : 1;
	return x->w[RAMA_TAB_RANK].i < y->w[RAMA_TAB_RANK].i
		       ? -1
		       : x->w[RAMA_TAB_RANK].i > y->w[RAMA_TAB_RANK].i;
}

static void bag_fill(struct bag *b, struct check *c, unsigned module)
{
	union rama_core_word seg[64][RAMA_TAB_SEG_WORDS];
	struct rama_log_cursor cur;
	struct rama_core_record *r;
	unsigned kind;
	int rc = rama_log_cursor_open(&cur, &c->log, module), n;

	*b = (struct bag){ 0 };
	while (rc > 0 && rama_log_cursor_next(&cur, &r) > 0) {
		struct flat *f = bag_add(b);

		flat_add(f, r->w, r->schema->words);
		for (unsigned k = 0; k < r->schema->n_arrays && !(r->mod->flags & RAMA_TAB_TRACE);
		     k++)
			flat_add(f, r->array[k], r->count[k] * r->schema->array[k].words);
		while (r->mod->flags & RAMA_TAB_TRACE &&
		       (n = rama_log_cursor_segments(&cur, seg, 64, &kind)) > 0)
			flat_add(f, seg[0], (size_t)n * RAMA_TAB_SEG_WORDS);
	}
	rama_log_cursor_close(&cur);
	if (b->n > 1)
		qsort(b->all, b->n, sizeof(*b->all), by_file);
}

static void bag_free(struct bag *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->all[i].w);
	free(b->all);
}

static void flat_equal(const struct rama_tab_module *mod, const struct flat *a,
		       const struct flat *b)
{
	bool is_float[400] = { false };

	for (unsigned i = 0; i < *mod->record->n_fields; i++)
		if (mod->record->fields[i].word != RAMA_TAB_NO_WORD)
			is_float[mod->record->fields[i].word] =
				mod->record->fields[i].type == RAMA_TAB_F64;
	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++) {
		if (a->w[i].u == b->w[i].u)
			continue;
		if (i < mod->record->words && is_float[i] &&
		    fabs(a->w[i].f - b->w[i].f) <= 1e-9 * (fabs(a->w[i].f) + 1e-9))
			continue;
		fail_msg("%s of rank %lld: word %zu is %lld (%g), not %lld (%g)", mod->name,
			 (long long)a->w[RAMA_TAB_RANK].i, i, (long long)a->w[i].i, a->w[i].f,
			 (long long)b->w[i].i, b->w[i].f);
	}
}

static void jobs_equal(const struct rama_log_job *a, const struct rama_log_job *b)
{
	assert_int_equal(a->start_sec, b->start_sec);
	assert_int_equal(a->start_nsec, b->start_nsec);
	assert_int_equal(a->end_sec, b->end_sec);
	assert_int_equal(a->end_nsec, b->end_nsec);
	assert_int_equal(a->nprocs, b->nprocs);
	assert_int_equal(a->uid, b->uid);
	assert_int_equal(a->jobid, b->jobid);
	assert_string_equal(a->exe, b->exe);
}

void logs_equal(struct check *a, struct check *b)
{
	jobs_equal(&a->log.job, &b->log.job);
	assert_int_equal(a->log.partial & ~RAMA_LOG_PARTIAL_END,
			 b->log.partial & ~RAMA_LOG_PARTIAL_END);
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN; id++) {
		struct bag x, y;

		assert_int_equal(a->log.part[id].version, b->log.part[id].version);
		if (rama_tab_module_get(id) == NULL)
			continue;
		bag_fill(&x, a, id);
		bag_fill(&y, b, id);
		if (x.n != y.n)
			fail_msg("%s: %zu records, not %zu", rama_tab_module_get(id)->name, x.n,
				 y.n);
		for (size_t i = 0; i < x.n; i++)
			flat_equal(rama_tab_module_get(id), &x.all[i], &y.all[i]);
		bag_free(&x);
		bag_free(&y);
	}
	assert_int_equal(a->log.by_id.used, b->log.by_id.used);
	for (size_t i = 0; i < b->log.n_names; i++)
		assert_string_equal(check_name(a, b->log.names[i].id), b->log.names[i].text);
}

unsigned log_has(struct check *c, unsigned module, uint64_t id, int64_t rank)
{
	struct bag b;
	unsigned n = 0;

	bag_fill(&b, c, module);
	for (size_t i = 0; i < b.n; i++)
		n += b.all[i].w[RAMA_TAB_ID].u == id && b.all[i].w[RAMA_TAB_RANK].i == rank;
	bag_free(&b);
	return n;
}

void names_once(struct check *c)
{
	const struct rama_log_part *p = &c->log.name_part;
	struct rama_map seen = { 0 };
	struct rama_log_region r;
	char name[64], b;
	uint64_t id;

	assert_int_equal(rama_log_region_open(&r, &c->src, p->off, p->len, c->log.compression), 0);
	while (rama_log_region_read(&r, &id, sizeof(id)) == sizeof(id)) {
		size_t n = 0;
		bool fresh;

		while (rama_log_region_read(&r, &b, 1) == 1 && b != '\0' && n + 1 < sizeof(name))
			name[n++] = b;
		name[n] = '\0';
		assert_non_null(rama_map_put(&seen, id, &fresh));
		if (!fresh)
			fail_msg("%s is there twice", name);
	}
	assert_int_equal(seen.used, c->log.n_names);
	rama_log_region_close(&r);
	rama_map_fini(&seen);
}
