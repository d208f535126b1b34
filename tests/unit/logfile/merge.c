/* SPDX-License-Identifier: BSD-3-Clause */
/* merge.c: the logs of several processes become one. */
#include "logs.h"

#include "logfile/merge.h"

/* ---- logs to merge -------------------------------------------------------------------------- */

/* one record: what it is about, and a number or two to recognise it by */
struct entry {
	unsigned module;
	uint64_t id;
	int64_t rank;
	int64_t bytes; /* read; of heat maps: bins */
	double time;   /* of reads; of heat maps: width of a bin */
};

struct process {
	int64_t start_nsec; /* after second 1700000000 */
	int64_t nprocs;
	uint64_t partial;
	struct entry entry[3]; /* by module; an id of 0 ends the list */
};

#define START 1700000000

static void fill_sample(struct sample *s, const struct entry *e)
{
	const struct rama_tab_module *m = rama_tab_module_get(e->module);

	memset(s, 0, sizeof(*s));
	s->r = (struct rama_core_record){ .mod = m, .schema = m->record, .w = s->w };
	s->w[RAMA_TAB_ID].u = e->id;
	s->w[RAMA_TAB_RANK].i = e->rank;
	if (e->module == RAMA_TAB_MOD_POSIX) {
		s->w[RAMA_TAB_POSIX_OPENS].i = 1;
		s->w[RAMA_TAB_POSIX_BYTES_READ].i = e->bytes;
		s->w[RAMA_TAB_POSIX_F_READ_TIME].f = e->time;
		s->w[RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP].f = 1.0;
		s->w[RAMA_TAB_POSIX_F_CLOSE_START_TIMESTAMP].f = -1.0; /* not known */
		s->w[RAMA_TAB_POSIX_F_CLOSE_END_TIMESTAMP].f = 5.0;
	} else if (e->module == RAMA_TAB_MOD_LUSTRE) {
		s->w[RAMA_TAB_LUSTRE_NUM_COMPONENTS].u = s->r.count[0] = 1;
		s->w[RAMA_TAB_LUSTRE_NUM_STRIPES].u = s->r.count[1] = 1;
		s->array[0][RAMA_TAB_LUSTRE_COMP_STRIPE_SIZE].i = 65536;
		s->array[0][RAMA_TAB_LUSTRE_COMP_STRIPE_COUNT].i = 1;
		s->array[1][0].i = e->bytes;
	} else if (e->module == RAMA_TAB_MOD_HEATMAP) {
		s->w[RAMA_TAB_HEATMAP_F_BIN_WIDTH_SECONDS].f = e->time;
		s->w[RAMA_TAB_HEATMAP_NBINS].u = s->r.count[0] = s->r.count[1] = (uint64_t)e->bytes;
		for (int64_t i = 0; i < e->bytes; i++)
			s->array[0][i].i = 1 + i, s->array[1][i].i = 1000 * (1 + i);
	} else if (m->flags & RAMA_TAB_TRACE) {
		s->w[RAMA_TAB_DXT_WRITE_COUNT].u = s->r.count[0] = 1;
		s->w[RAMA_TAB_DXT_READ_COUNT].u = s->r.count[1] = 1;
		for (unsigned k = 0; k < 2; k++) {
			s->seg[k][0][RAMA_TAB_SEG_LENGTH].i = e->bytes + k;
			s->seg[k][0][RAMA_TAB_SEG_START].f = 1.0;
			s->seg[k][0][RAMA_TAB_SEG_END].f = 2.0;
			s->seg[k][0][RAMA_TAB_SEG_THREAD].u = 99;
		}
	} else if (e->module == RAMA_TAB_MOD_MDHIM) {
		s->w[RAMA_TAB_MDHIM_SERVERS].u = s->r.count[0] = 2;
		s->array[0][0].i = e->bytes;
		s->array[0][1].i = 10 * e->bytes;
	}
	s->r.array[0] = s->array[0];
	s->r.array[1] = s->array[1];
}

static void write_process(struct memfile *f, const struct process *p)
{
	struct rama_log_job job = plain_job;
	struct rama_log_sink sink = memfile_sink(f);
	struct rama_log_writer w;
	unsigned module = RAMA_TAB_MODULES;
	struct sample s;

	job.start_sec = START + p->start_nsec / 1000000000;
	job.start_nsec = p->start_nsec % 1000000000;
	job.end_sec = job.end_nsec = 0; /* killed */
	job.nprocs = p->nprocs;
	assert_int_equal(rama_log_writer_init(&w, &sink, RAMA_LOG_ZLIB, 6), 0);
	rama_log_writer_job(&w, &job, plain_mounts, 2);
	for (size_t i = 0; i < LENGTH(p->entry) && p->entry[i].id != 0; i++) {
		char name[32];
		int n = snprintf(name, sizeof(name), "/home/%llu",
				 (unsigned long long)p->entry[i].id);

		rama_log_writer_name(&w, p->entry[i].id, name, (size_t)n);
	}
	for (size_t i = 0; i < LENGTH(p->entry) && p->entry[i].id != 0; i++) {
		if (p->entry[i].module != module)
			rama_log_writer_module(&w, p->entry[i].module,
					       rama_tab_module_get(p->entry[i].module)->newest);
		module = p->entry[i].module;
		fill_sample(&s, &p->entry[i]);
		sample_write(&w, &s);
	}
	writer_end(&w, p->partial);
}

/* ---- merging -------------------------------------------------------------------------------- */

#define INPUTS 4

struct merging {
	struct memfile file[INPUTS], to;
	struct reading in[INPUTS], out;
	struct rama_log_merge_input input[INPUTS];
	struct rama_log_merge m;
	struct rama_err e;
	uint64_t partial;
};

static const char *const *told; /* metadata of each log, or NULL */

static int merge_some(struct merging *m, const struct process *p, size_t n, bool renumber,
		      bool reduce)
{
	static const char *const path[] = { "first", "second", "third", "fourth" };
	struct rama_log_sink sink = memfile_sink(&m->to);
	struct rama_log_writer w;
	int rc;

	*m = (struct merging){ 0 };
	sink.ctx = &m->to;
	for (size_t i = 0; i < n; i++) {
		write_process(&m->file[i], &p[i]);
		reading_open(&m->in[i], &m->file[i]);
		if (told != NULL) /* now: opening tells what is missing, as a fault */
			snprintf(m->in[i].log.job.metadata, RAMA_LOG_META_SIZE, "%s", told[i]);
		m->input[i] =
			(struct rama_log_merge_input){ .log = &m->in[i].log, .path = path[i] };
	}
	m->m = (struct rama_log_merge){
		.in = m->input, .n_in = n, .renumber = renumber, .reduce = reduce
	};
	assert_int_equal(rama_log_writer_init(&w, &sink, RAMA_LOG_ZLIB, 6), 0);
	rc = rama_log_merge_plan(&m->m, &m->e);
	if (rc == 0)
		rc = rama_log_merge_write(&m->m, &w, &m->partial, &m->e);
	if (rc == 0)
		rc = rama_log_writer_finish(&w, m->partial);
	rama_log_writer_fini(&w);
	return rc;
}

/* merges and reads the result */
static void merged(struct merging *m, const struct process *p, size_t n, bool renumber)
{
	if (merge_some(m, p, n, renumber, true) != 0)
		fail_msg("%s", m->e.text);
	reading_open(&m->out, &m->to);
}

static void merging_free(struct merging *m)
{
	for (size_t i = 0; i < m->m.n_in; i++) {
		reading_close(&m->in[i]);
		memfile_free(&m->file[i]);
	}
	if (m->out.src.size > 0)
		reading_close(&m->out);
	memfile_free(&m->to);
}

static void close_to(double a, double b)
{
	assert_float_equal(a, b, 1e-9);
}

/* ---- files of all ranks and of some --------------------------------------------------------- */

static void files_of_all_ranks_become_one_record(void **state)
{
	static const struct process p[] = {
		{ 0,
		  2,
		  0,
		  { { RAMA_TAB_MOD_POSIX, 1, 0, 100, 1.0 }, { RAMA_TAB_MOD_POSIX, 2, 0, 5, 0 } } },
		{ 0,
		  2,
		  0,
		  { { RAMA_TAB_MOD_POSIX, 1, 1, 300, 3.0 }, { RAMA_TAB_MOD_POSIX, 3, 1, 6, 0 } } },
	};
	struct merging m;
	struct found *f;

	(void)state;
	merged(&m, p, 2, false);
	assert_int_equal(m.out.log.job.nprocs, 2);
	assert_int_equal(reading_count(&m.out, RAMA_TAB_MOD_POSIX), 3);
	f = reading_find(&m.out, RAMA_TAB_MOD_POSIX, 1, -1);
	assert_int_equal(f->w[RAMA_TAB_POSIX_OPENS].i, 2);
	assert_int_equal(f->w[RAMA_TAB_POSIX_BYTES_READ].i, 400);
	assert_true(f->w[RAMA_TAB_POSIX_F_READ_TIME].f == 4.0);
	assert_int_equal(f->w[RAMA_TAB_POSIX_FASTEST_RANK].i, 0);
	assert_int_equal(f->w[RAMA_TAB_POSIX_FASTEST_RANK_BYTES].i, 100);
	assert_int_equal(f->w[RAMA_TAB_POSIX_SLOWEST_RANK].i, 1);
	assert_true(f->w[RAMA_TAB_POSIX_F_SLOWEST_RANK_TIME].f == 3.0);
	close_to(f->w[RAMA_TAB_POSIX_F_VARIANCE_RANK_TIME].f, 1.0);
	close_to(f->w[RAMA_TAB_POSIX_F_VARIANCE_RANK_BYTES].f, 10000.0);
	found_free(f);
	f = reading_find(&m.out, RAMA_TAB_MOD_POSIX, 2, 0); /* as it was */
	assert_int_equal(f->w[RAMA_TAB_POSIX_BYTES_READ].i, 5);
	assert_int_equal(f->w[RAMA_TAB_POSIX_SLOWEST_RANK_BYTES].i, 0);
	found_free(f);
	found_free(reading_find(&m.out, RAMA_TAB_MOD_POSIX, 3, 1));
	merging_free(&m);
}

static void three_logs_are_one_job(void **state)
{
	static const struct process p[] = {
		{ 0,
		  3,
		  0,
		  { { RAMA_TAB_MOD_POSIX, 1, 2, 10, 1 }, { RAMA_TAB_MOD_POSIX, 2, 2, 1, 0 } } },
		{ 0,
		  3,
		  0,
		  { { RAMA_TAB_MOD_POSIX, 1, 0, 20, 2 }, { RAMA_TAB_MOD_POSIX, 2, 0, 2, 0 } } },
		{ 0,
		  3,
		  0,
		  { { RAMA_TAB_MOD_POSIX, 1, 1, 30, 3 }, { RAMA_TAB_MOD_MDHIM, 1, 1, 4, 0 } } },
	};
	struct merging m;
	struct found *f;

	(void)state;
	merged(&m, p, 3, false);
	f = reading_find(&m.out, RAMA_TAB_MOD_POSIX, 1, -1);
	assert_int_equal(f->w[RAMA_TAB_POSIX_BYTES_READ].i, 60);
	close_to(f->w[RAMA_TAB_POSIX_F_VARIANCE_RANK_TIME].f, 2.0 / 3);
	assert_int_equal(f->w[RAMA_TAB_POSIX_FASTEST_RANK].i, 2);
	found_free(f);
	found_free(reading_find(&m.out, RAMA_TAB_MOD_POSIX, 2, 2)); /* of two of three ranks */
	found_free(reading_find(&m.out, RAMA_TAB_MOD_POSIX, 2, 0));
	found_free(reading_find(&m.out, RAMA_TAB_MOD_MDHIM, 1, 1));
	assert_int_equal(reading_count(&m.out, RAMA_TAB_MOD_POSIX), 3);
	merging_free(&m);
}

static void nothing_is_reduced_if_not_wanted(void **state)
{
	static const struct process p[] = {
		{ 0,
		  2,
		  0,
		  { { RAMA_TAB_MOD_POSIX, 1, 0, 100, 1.0 }, { RAMA_TAB_MOD_LUSTRE, 1, 0, 3, 0 } } },
		{ 0,
		  2,
		  0,
		  { { RAMA_TAB_MOD_POSIX, 1, 1, 300, 3.0 }, { RAMA_TAB_MOD_LUSTRE, 1, 1, 3, 0 } } },
	};
	struct merging m;

	(void)state;
	assert_int_equal(merge_some(&m, p, 2, false, false), 0);
	reading_open(&m.out, &m.to);
	found_free(reading_find(&m.out, RAMA_TAB_MOD_POSIX, 1, 0));
	found_free(reading_find(&m.out, RAMA_TAB_MOD_POSIX, 1, 1));
	assert_int_equal(reading_count(&m.out, RAMA_TAB_MOD_POSIX), 2);
	assert_int_equal(reading_count(&m.out, RAMA_TAB_MOD_LUSTRE), 2);
	merging_free(&m);
}

static void arrays_of_servers_are_added_up(void **state)
{
	static const struct process p[] = {
		{ 0, 2, 0, { { RAMA_TAB_MOD_MDHIM, 1, 0, 4, 0 } } },
		{ 0, 2, 0, { { RAMA_TAB_MOD_MDHIM, 1, 1, 5, 0 } } },
	};
	struct merging m;
	struct found *f;

	(void)state;
	merged(&m, p, 2, false);
	f = reading_find(&m.out, RAMA_TAB_MOD_MDHIM, 1, -1);
	assert_int_equal(f->count[0], 2);
	assert_int_equal(f->array[0][0].i, 9);
	assert_int_equal(f->array[0][1].i, 90);
	found_free(f);
	merging_free(&m);
}

static void a_layout_is_kept_once(void **state)
{
	static const struct process p[] = {
		{ 0,
		  2,
		  0,
		  { { RAMA_TAB_MOD_LUSTRE, 1, 0, 17, 0 }, { RAMA_TAB_MOD_LUSTRE, 2, 0, 18, 0 } } },
		{ 0, 2, 0, { { RAMA_TAB_MOD_LUSTRE, 1, 1, 17, 0 } } },
	};
	struct merging m;
	struct found *f;

	(void)state;
	merged(&m, p, 2, false);
	assert_int_equal(reading_count(&m.out, RAMA_TAB_MOD_LUSTRE), 2);
	f = reading_find(&m.out, RAMA_TAB_MOD_LUSTRE, 1, -1);
	assert_int_equal(f->array[1][0].i, 17); /* one of them, not the sum */
	found_free(f);
	found_free(reading_find(&m.out, RAMA_TAB_MOD_LUSTRE, 2, 0));
	merging_free(&m);
}

/* ---- ranks ---------------------------------------------------------------------------------- */

static void ranks_that_collide_are_refused(void **state)
{
	static const struct process p[] = {
		{ 0, 1, 0, { { RAMA_TAB_MOD_POSIX, 1, 0, 1, 1 } } },
		{ 5, 1, 0, { { RAMA_TAB_MOD_POSIX, 2, 0, 2, 1 } } },
	};
	struct merging m;

	(void)state;
	assert_int_equal(merge_some(&m, p, 2, false, true), RAMA_ECORRUPT);
	assert_non_null(strstr(m.e.text, "first"));
	assert_non_null(strstr(m.e.text, "second"));
	assert_non_null(strstr(m.e.text, "--renumber"));
	merging_free(&m);
}

static void new_ranks_follow_the_order_of_the_starts(void **state)
{
	static const struct process p[] = {
		{ 900,
		  1,
		  0,
		  { { RAMA_TAB_MOD_POSIX, 1, 0, 10, 1 }, { RAMA_TAB_MOD_POSIX, 2, 0, 1, 0 } } },
		{ 100,
		  2,
		  0,
		  { { RAMA_TAB_MOD_POSIX, 1, 0, 20, 2 }, { RAMA_TAB_MOD_POSIX, 1, 1, 30, 3 } } },
		{ 500,
		  1,
		  0,
		  { { RAMA_TAB_MOD_POSIX, 1, 0, 40, 4 }, { RAMA_TAB_MOD_POSIX, 3, 0, 1, 0 } } },
	};
	struct merging m;
	struct found *f;

	(void)state;
	merged(&m, p, 3, true);
	assert_int_equal(m.out.log.job.nprocs, 4);
	assert_int_equal(m.out.log.job.start_nsec, 100);
	found_free(reading_find(&m.out, RAMA_TAB_MOD_POSIX, 3, 2));
	found_free(reading_find(&m.out, RAMA_TAB_MOD_POSIX, 2, 3));
	f = reading_find(&m.out, RAMA_TAB_MOD_POSIX, 1, -1);
	assert_int_equal(f->w[RAMA_TAB_POSIX_BYTES_READ].i, 100);
	assert_int_equal(f->w[RAMA_TAB_POSIX_FASTEST_RANK].i, 3);
	assert_int_equal(f->w[RAMA_TAB_POSIX_SLOWEST_RANK].i, 2);
	found_free(f);
	merging_free(&m);
}

/* a job of one process calls all of its files shared, which they are not in a job of two */
static void what_was_shared_among_one_is_of_one_rank(void **state)
{
	static const struct process p[] = {
		{ 0,
		  1,
		  0,
		  { { RAMA_TAB_MOD_POSIX, 1, -1, 10, 1 }, { RAMA_TAB_MOD_POSIX, 2, -1, 20, 2 } } },
		{ 5,
		  1,
		  0,
		  { { RAMA_TAB_MOD_POSIX, 1, -1, 30, 3 }, { RAMA_TAB_MOD_POSIX, 3, -1, 40, 4 } } },
	};
	struct merging m;
	struct found *f;

	(void)state;
	merged(&m, p, 2, true);
	f = reading_find(&m.out, RAMA_TAB_MOD_POSIX, 1, -1);
	assert_int_equal(f->w[RAMA_TAB_POSIX_BYTES_READ].i, 40);
	found_free(f);
	f = reading_find(&m.out, RAMA_TAB_MOD_POSIX, 2, 0);
	assert_int_equal(f->w[RAMA_TAB_POSIX_BYTES_READ].i, 20);
	found_free(f);
	f = reading_find(&m.out, RAMA_TAB_MOD_POSIX, 3, 1);
	assert_int_equal(f->w[RAMA_TAB_POSIX_BYTES_READ].i, 40);
	assert_int_equal(f->w[RAMA_TAB_POSIX_SLOWEST_RANK].i, 0); /* unreduced again */
	found_free(f);
	assert_int_equal(reading_count(&m.out, RAMA_TAB_MOD_POSIX), 3);
	merging_free(&m);
}

static void the_same_holds_for_layouts(void **state)
{
	static const struct process p[] = {
		{ 0,
		  1,
		  0,
		  { { RAMA_TAB_MOD_LUSTRE, 1, -1, 10, 0 },
		    { RAMA_TAB_MOD_LUSTRE, 2, -1, 20, 0 } } },
		{ 5,
		  1,
		  0,
		  { { RAMA_TAB_MOD_LUSTRE, 1, -1, 10, 0 },
		    { RAMA_TAB_MOD_LUSTRE, 3, -1, 40, 0 } } },
	};
	struct merging m;

	(void)state;
	merged(&m, p, 2, true);
	found_free(reading_find(&m.out, RAMA_TAB_MOD_LUSTRE, 1, -1));
	found_free(reading_find(&m.out, RAMA_TAB_MOD_LUSTRE, 2, 0));
	found_free(reading_find(&m.out, RAMA_TAB_MOD_LUSTRE, 3, 1));
	assert_int_equal(reading_count(&m.out, RAMA_TAB_MOD_LUSTRE), 3);
	merging_free(&m);
}

static void whole_jobs_need_new_ranks(void **state)
{
	static const struct process p[] = {
		{ 0, 4, 0, { { RAMA_TAB_MOD_POSIX, 1, -1, 10, 1 } } },
		{ 5, 4, 0, { { RAMA_TAB_MOD_POSIX, 2, 3, 10, 1 } } },
	};
	struct merging m;

	(void)state;
	assert_int_equal(merge_some(&m, p, 2, false, true), RAMA_ECORRUPT);
	assert_non_null(strstr(m.e.text, "--renumber"));
	merging_free(&m);
	merged(&m, p, 2, true);
	assert_int_equal(m.out.log.job.nprocs, 8);
	found_free(reading_find(&m.out, RAMA_TAB_MOD_POSIX, 1, -1));
	found_free(reading_find(&m.out, RAMA_TAB_MOD_POSIX, 2, 7));
	merging_free(&m);
}

static void a_single_log_passes_through(void **state)
{
	static const struct process p[] = {
		{ 0,
		  4,
		  0,
		  { { RAMA_TAB_MOD_POSIX, 1, -1, 10, 1 }, { RAMA_TAB_MOD_POSIX, 2, 3, 20, 1 } } },
	};
	struct merging m;
	struct found *f;

	(void)state;
	merged(&m, p, 1, false);
	assert_int_equal(m.out.log.job.nprocs, 4);
	f = reading_find(&m.out, RAMA_TAB_MOD_POSIX, 1, -1);
	assert_int_equal(f->w[RAMA_TAB_POSIX_BYTES_READ].i, 10);
	found_free(f);
	found_free(reading_find(&m.out, RAMA_TAB_MOD_POSIX, 2, 3));
	merging_free(&m);
}

static void numbers_of_processes_must_make_sense(void **state)
{
	static const int64_t absurd[] = { 0, -1, INT64_MIN, INT64_MAX, 1ll << 40 };

	(void)state;
	for (size_t i = 0; i < LENGTH(absurd); i++) {
		const struct process p[] = {
			{ 0, 1, 0, { { RAMA_TAB_MOD_POSIX, 1, 0, 10, 1 } } },
			{ 5, absurd[i], 0, { { RAMA_TAB_MOD_POSIX, 2, 0, 10, 1 } } },
		};
		struct merging m;

		assert_int_equal(merge_some(&m, p, 2, true, true), RAMA_ECORRUPT);
		merging_free(&m);
	}
}

static void absurd_ranks_do_no_harm(void **state)
{
	static const int64_t absurd[] = { INT64_MAX, INT64_MAX - 1, INT64_MIN, 1ll << 40 };

	(void)state;
	for (size_t i = 0; i < 2 * LENGTH(absurd); i++) {
		const struct process p[] = {
			{ 0, 1, 0, { { RAMA_TAB_MOD_POSIX, 1, 0, 10, 1 } } },
			{ 5, 1, 0, { { RAMA_TAB_MOD_POSIX, 2, absurd[i / 2], 10, 1 } } },
		};
		struct merging m;
		int rc = merge_some(&m, p, 2, i % 2, true);

		assert_true(rc == 0 || rc == RAMA_ECORRUPT);
		if (rc == 0) {
			reading_open(&m.out, &m.to);
			assert_true(m.out.log.job.nprocs > 0);
		}
		merging_free(&m);
	}
}

/* ---- times ---------------------------------------------------------------------------------- */

static void times_count_from_the_earliest_start(void **state)
{
	static const struct process p[] = {
		{ 2500000000,
		  2,
		  0,
		  { { RAMA_TAB_MOD_POSIX, 1, 1, 10, 1 }, { RAMA_TAB_MOD_DXT_POSIX, 1, 1, 3, 0 } } },
		{ 0,
		  2,
		  0,
		  { { RAMA_TAB_MOD_POSIX, 2, 0, 10, 1 }, { RAMA_TAB_MOD_DXT_POSIX, 2, 0, 3, 0 } } },
	};
	struct merging m;
	struct found *f;

	(void)state;
	merged(&m, p, 2, false);
	assert_int_equal(m.out.log.job.start_sec, START);
	f = reading_find(&m.out, RAMA_TAB_MOD_POSIX, 2, 0);
	close_to(f->w[RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP].f, 1.0);
	found_free(f);
	f = reading_find(&m.out, RAMA_TAB_MOD_POSIX, 1, 1);
	close_to(f->w[RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP].f, 3.5);
	close_to(f->w[RAMA_TAB_POSIX_F_CLOSE_END_TIMESTAMP].f, 7.5);
	assert_true(f->w[RAMA_TAB_POSIX_F_READ_START_TIMESTAMP].f == 0);   /* never happened */
	assert_true(f->w[RAMA_TAB_POSIX_F_CLOSE_START_TIMESTAMP].f == -1); /* not known */
	assert_true(f->w[RAMA_TAB_POSIX_F_READ_TIME].f == 1);		   /* a length */
	found_free(f);
	f = reading_find(&m.out, RAMA_TAB_MOD_DXT_POSIX, 1, 1);
	for (unsigned k = 0; k < 2; k++) {
		close_to(f->seg[k][0][RAMA_TAB_SEG_START].f, 3.5);
		close_to(f->seg[k][0][RAMA_TAB_SEG_END].f, 4.5);
		assert_int_equal(f->seg[k][0][RAMA_TAB_SEG_LENGTH].i, 3 + k);
		assert_int_equal(f->seg[k][0][RAMA_TAB_SEG_THREAD].u, 99);
	}
	found_free(f);
	/* nobody wrote down an end: it is the last thing that happened */
	assert_int_equal(m.out.log.job.end_sec, START + 7);
	close_to((double)m.out.log.job.end_nsec, 5e8);
	merging_free(&m);
}

static void heat_maps_get_one_width(void **state)
{
	static const struct process p[] = {
		{ 0, 2, 0, { { RAMA_TAB_MOD_HEATMAP, 1, 0, 8, 0.1 } } },
		{ 0, 2, 0, { { RAMA_TAB_MOD_HEATMAP, 1, 1, 3, 0.2 } } },
	};
	static const int64_t first[] = { 1 + 2, 3 + 4, 5 + 6, 7 + 8 }, second[] = { 1, 2, 3, 0 };
	struct merging m;

	(void)state;
	merged(&m, p, 2, false);
	assert_int_equal(reading_count(&m.out, RAMA_TAB_MOD_HEATMAP), 2); /* never reduced */
	for (int64_t rank = 0; rank < 2; rank++) {
		struct found *f = reading_find(&m.out, RAMA_TAB_MOD_HEATMAP, 1, rank);
		const int64_t *want = rank == 0 ? first : second;

		assert_true(f->w[RAMA_TAB_HEATMAP_F_BIN_WIDTH_SECONDS].f == 0.2);
		assert_int_equal(f->count[0], 4);
		for (unsigned i = 0; i < 4; i++) {
			assert_int_equal(f->array[0][i].i, want[i]);
			assert_int_equal(f->array[1][i].i, 1000 * want[i]);
		}
		found_free(f);
	}
	merging_free(&m);
}

static void heat_maps_keep_200_bins_at_most(void **state)
{
	static const struct process p[] = {
		{ 0, 2, 0, { { RAMA_TAB_MOD_HEATMAP, 1, 0, 200, 0.1 } } },
		/* 30 s later */
		{ 30000000000, 2, 0, { { RAMA_TAB_MOD_HEATMAP, 1, 1, 200, 0.1 } } },
	};
	struct merging m;

	(void)state;
	merged(&m, p, 2, false);
	for (int64_t rank = 0; rank < 2; rank++) {
		struct found *f = reading_find(&m.out, RAMA_TAB_MOD_HEATMAP, 1, rank);
		int64_t sum[2] = { 0, 0 }, before = 0;

		/* 50 s in 125 bins */
		assert_true(f->w[RAMA_TAB_HEATMAP_F_BIN_WIDTH_SECONDS].f == 0.4);
		assert_int_equal(f->count[0], 125);
		for (unsigned i = 0; i < 125; i++) {
			sum[0] += f->array[0][i].i;
			sum[1] += f->array[1][i].i;
			before += i < 75 ? f->array[0][i].i : 0;
		}
		assert_int_equal(sum[0], 200 * 201 / 2); /* no byte is lost */
		assert_int_equal(sum[1], 1000 * 200 * 201 / 2);
		assert_int_equal(before, rank == 0 ? sum[0] : 0);
		found_free(f);
	}
	merging_free(&m);
}

/* ---- the rest ------------------------------------------------------------------------------- */

static void flags_of_incomplete_modules_are_joined(void **state)
{
	static const struct process p[] = {
		{ 0, 2, 1 << RAMA_TAB_MOD_POSIX, { { RAMA_TAB_MOD_POSIX, 1, 0, 1, 1 } } },
		{ 0, 2, 1 << RAMA_TAB_MOD_STDIO, { { RAMA_TAB_MOD_POSIX, 2, 1, 1, 1 } } },
	};
	struct merging m;

	(void)state;
	merged(&m, p, 2, false);
	assert_true(m.out.log.partial == (1 << RAMA_TAB_MOD_POSIX | 1 << RAMA_TAB_MOD_STDIO));
	merging_free(&m);
}

static void names_and_mounts_are_joined(void **state)
{
	static const struct process p[] = {
		{ 0,
		  2,
		  0,
		  { { RAMA_TAB_MOD_POSIX, 1, 0, 1, 1 }, { RAMA_TAB_MOD_POSIX, 2, 0, 1, 1 } } },
		{ 0,
		  2,
		  0,
		  { { RAMA_TAB_MOD_POSIX, 1, 1, 1, 1 }, { RAMA_TAB_MOD_POSIX, 3, 1, 1, 1 } } },
	};
	struct merging m;

	(void)state;
	merged(&m, p, 2, false);
	assert_int_equal(m.out.log.n_names, 3);
	assert_string_equal(rama_log_name_get(&m.out.log, 1)->text, "/home/1");
	assert_string_equal(rama_log_name_get(&m.out.log, 3)->text, "/home/3");
	assert_int_equal(m.out.log.n_mounts, 2);
	assert_string_equal(m.out.log.mounts[0].path, "/scratch");
	assert_string_equal(m.out.log.job.exe, plain_job.exe);
	merging_free(&m);
}

/* what the log of both would say */
static void joined(const struct process *p, const char *const say[2], bool renumber,
		   const char *want)
{
	struct merging m;

	told = say;
	assert_int_equal(merge_some(&m, p, 2, renumber, true), 0);
	told = NULL;
	assert_string_equal(m.m.job.metadata, want);
	merging_free(&m);
}

/* halves of a job of which some ranks were killed: what one lacks the other may have */
static void ranks_are_missing_that_no_log_has(void **state)
{
	static const struct process p[] = {
		{ 0, 8, 0, { { RAMA_TAB_MOD_POSIX, 1, 0, 1, 1 } } },
		{ 1,
		  8,
		  0,
		  { { RAMA_TAB_MOD_POSIX, 2, 3, 1, 1 }, { RAMA_TAB_MOD_POSIX, 2, 6, 1, 1 } } },
	};
	static const char *const say[] = { "a=1\niorama_missing=2-4,6\niorama_unfinished=2\nz=9\n",
					   "iorama_unfinished=3\n" };
	static const char *const each[] = { "iorama_missing=3\n", "iorama_missing=0-2\n" };

	(void)state;
	joined(p, say, false, "a=1\nz=9\niorama_missing=2,4\niorama_unfinished=5\n");
	joined(p, each, false, "iorama_missing=1-2\n");
	joined(p, each, true, "iorama_missing=3,8-10\n"); /* two jobs: the second begins at 8 */
}

static void nothing_is_missing_when_all_are_found(void **state)
{
	static const struct process p[] = {
		{ 0, 2, 0, { { RAMA_TAB_MOD_POSIX, 1, 0, 1, 1 } } },
		{ 1, 2, 0, { { RAMA_TAB_MOD_POSIX, 2, 1, 1, 1 } } },
	};
	static const char *const say[] = { "iorama_missing=1\n", "iorama_missing=0\n" };

	(void)state;
	joined(p, say, false, "");
}

UNIT_GROUP(merge, test(files_of_all_ranks_become_one_record), test(three_logs_are_one_job),
	   test(nothing_is_reduced_if_not_wanted), test(arrays_of_servers_are_added_up),
	   test(a_layout_is_kept_once), test(ranks_that_collide_are_refused),
	   test(new_ranks_follow_the_order_of_the_starts),
	   test(what_was_shared_among_one_is_of_one_rank), test(the_same_holds_for_layouts),
	   test(whole_jobs_need_new_ranks), test(a_single_log_passes_through),
	   test(numbers_of_processes_must_make_sense), test(absurd_ranks_do_no_harm),
	   test(times_count_from_the_earliest_start), test(heat_maps_get_one_width),
	   test(heat_maps_keep_200_bins_at_most), test(flags_of_incomplete_modules_are_joined),
	   test(names_and_mounts_are_joined), test(ranks_are_missing_that_no_log_has),
	   test(nothing_is_missing_when_all_are_found))
