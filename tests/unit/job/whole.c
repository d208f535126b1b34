/* SPDX-License-Identifier: BSD-3-Clause */
/* whole.c: the job as a whole: several logs, what is missing, groups, file systems and storage
 * targets. */
#include <math.h>

#include "core/sum/total.h"
#include "made.h"

/* ---- several logs ---------------------------------------------------------------------------- */

static void view_all(struct rama_job_view *v, struct made **m, size_t n)
{
	struct rama_job_view_options opt = { .trace = true };
	struct rama_err e = { 0 };

	rama_job_view_init(v, &opt);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(rama_job_view_expect(v, made_log(m[i]), &e), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(rama_job_view_add_log(v, &m[i]->log, i == 0 ? "one" : "two", &e),
				 0);
	assert_int_equal(rama_job_view_finish(v, &e), 0);
	made_check(v);
}

static struct made *step(int64_t nprocs, double start, double run_time)
{
	struct made *m = made_new(nprocs, start, run_time);
	uint64_t a = made_name(m, "/a");
	union rama_core_word *w;

	for (int64_t r = 0; r < nprocs; r++) {
		w = made_posix(m, a, r, (int64_t[]){ 1, 0 }, (int64_t[]){ 100, 0 },
			       (double[]){ 2 + (double)r, 0, 0 });
		w[RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP].f = 1;
		w[RAMA_TAB_POSIX_F_CLOSE_END_TIMESTAMP].f = 5;
	}
	made_row(m, RAMA_TAB_MOD_DXT_POSIX, a, 0);
	made_access(m, 0, 0, 100, 1, 3);
	return m;
}

static void programs_at_the_same_time_are_other_ranks(void **st)
{
	/* the second is told first */
	struct made *m[] = { step(1, 4.5, 20), step(2, 0, 10) };
	struct rama_job_view v;

	(void)st;
	view_all(&v, m, 2);
	assert_int_equal(v.nprocs, 3);
	assert_near(v.run_time, 24.5);
	assert_int_equal(v.n_logs, 2);
	assert_int_equal(v.start_sec, MADE_START);
	assert_int_equal(v.n_files, 1);
	assert_int_equal(v.files[0].rows[RAMA_JOB_LAYER_POSIX], 3);
	assert_near(v.files[0].start, 1);
	assert_near(v.files[0].end, 9.5);
	assert_near(v.ranks[1].io.write_time, 3);
	assert_near(v.ranks[2].io.write_time, 2);
	assert_int_equal(v.n_phases, 2);
	assert_near(v.phases[1].start, 5.5);
	assert_int_equal(v.phases[1].slow_rank, 2);
	rama_job_view_fini(&v);
	made_free(m[0]);
	made_free(m[1]);
}

static void steps_of_a_job_are_the_same_ranks(void **st)
{
	struct made *m[] = { step(2, 0, 10), step(3, 10, 10) };
	struct rama_job_view v;

	(void)st;
	view_all(&v, m, 2);
	assert_int_equal(v.nprocs, 3);
	assert_near(v.run_time, 20);
	assert_near(v.ranks[1].io.write_time, 6);
	assert_near(v.ranks[2].io.write_time, 4);
	assert_near(v.files[0].end, 15);
	assert_int_equal(v.n_phases, 2);
	assert_near(v.phases[1].start, 11);
	rama_job_view_fini(&v);
	made_free(m[0]);
	made_free(m[1]);
}

static void numbers_beyond_all_jobs_are_refused(void **st)
{
	struct made *m = made_new(1ll << 40, 0, 10);
	struct rama_err e = { 0 };
	struct rama_job_view v;

	(void)st;
	rama_job_view_init(&v, NULL);
	assert_int_equal(rama_job_view_add_log(&v, made_log(m), "x", &e), RAMA_ELIMIT);
	assert_string_equal(e.text, "1099511627776 processes");
	rama_job_view_fini(&v);
	made_free(m);
}

static void nothing_is_fine(void **st)
{
	struct made *m = made_new(0, 0, 0);
	struct rama_err e = { 0 };
	struct rama_job_view v;

	(void)st;
	made_view(m, &v);
	assert_int_equal(v.nprocs, 1);
	assert_int_equal(v.active_ranks, 0);
	assert_int_equal(v.io_rank, -1);
	assert_int_equal(v.n_phases, 0);
	rama_job_view_fini(&v);
	made_free(m);
	rama_job_view_init(&v, NULL);
	assert_int_equal(rama_job_view_finish(&v, &e), RAMA_EUSAGE);
	rama_job_view_fini(&v);
}

/* ---- what is missing ------------------------------------------------------------------------- */

static void what_is_missing_is_told(void **st)
{
	struct made *m = made_new(3, 0, 10);
	union rama_core_word *w;
	struct rama_job_view v;

	(void)st;
	for (int64_t r = 0; r < 2; r++) {
		w = made_row(m, RAMA_TAB_MOD_PROCESS, 1, r);
		w[RAMA_TAB_PROCESS_PID].i = 100 + r;
		w[RAMA_TAB_PROCESS_ENDED].i = r;
		w[RAMA_TAB_PROCESS_EVENTS_LOST].i = 5;
		w[RAMA_TAB_PROCESS_CALLS_MISSED].i = -1; /* damage */
		w[RAMA_TAB_PROCESS_F_START_TIMESTAMP].f = 1;
		w[RAMA_TAB_PROCESS_F_END_TIMESTAMP].f = 2 + (double)r;
		memcpy(w[RAMA_TAB_PROCESS_HOSTNAME].b, "nid1", 4);
	}
	snprintf(m->job.metadata, sizeof(m->job.metadata),
		 "lib_ver=x\n" RAMA_LOG_META_MISSING "2\n" RAMA_LOG_META_UNFINISHED "1\n");
	m->partial = 1ull << RAMA_TAB_MOD_POSIX;
	made_view(m, &v);
	assert_false(v.complete);
	assert_int_equal(v.unfinished, 1);
	assert_int_equal(v.lost_events, 10);
	assert_int_equal(v.missed_calls, 0);
	assert_string_equal(v.missing_ranks, "2");
	assert_int_equal(v.partial, 1ull << RAMA_TAB_MOD_POSIX);
	assert_int_equal(v.ranks[1].pid, 101);
	assert_near(v.ranks[1].end, 3);
	assert_int_equal(v.n_hosts, 1);
	assert_int_equal(v.nodes, 0);
	assert_int_equal(v.n_modules, 2); /* POSIX lost all it had */
	assert_string_equal(v.modules[1].name, "PROCESS");
	assert_int_equal(v.modules[1].records, 2);
	assert_true(v.modules[0].partial);
	rama_job_view_fini(&v);
	made_free(m);
}

/* ---- files together -------------------------------------------------------------------------- */

static void plain(struct made *m, const char *name, int64_t bytes)
{
	made_posix(m, made_name(m, name), 0, (int64_t[]){ 1, 0 }, (int64_t[]){ bytes, 0 },
		   (double[]){ 1, 0, 0 });
}

static void names_that_differ_in_numbers(void **st)
{
	static const char *const names[] = { "/d1/out.0001.h5", "/d1/out.0002.h5", "/d1/p7",
					     "/d1/p12",		"/d1/alone9",	   "/d1/x1y2z",
					     "/d1/x1y3z" };
	static const char *const want[] = { "/d1/out.####.h5", "/d1/p#", "/d1/alone9",
					    "/d1/x1y#z" };
	struct made *m = made_new(1, 0, 10);
	struct rama_job_view v;

	(void)st;
	for (size_t i = 0; i < LENGTH(names); i++)
		plain(m, names[i], 10);
	made_view(m, &v);
	assert_int_equal(v.n_groups, LENGTH(want));
	for (size_t i = 0; i < LENGTH(want); i++)
		assert_string_equal(v.groups[i].pattern, want[i]);
	assert_int_equal(v.groups[0].files, 2);
	assert_int_equal(v.groups[0].io.bytes_written, 20);
	assert_int_equal(made_file(&v, "/d1/p12")->group, 1);
	rama_job_view_fini(&v);
	made_free(m);
}

static void file_systems(void **st)
{
	struct made *m = made_new(1, 0, 10);
	struct rama_job_view v;

	(void)st;
	plain(m, "/scratch/a", 10);
	plain(m, "/scratch/b", 20);
	plain(m, "/scratchy", 30);
	plain(m, "relative", 40);
	made_view(m, &v);
	assert_int_equal(v.n_mounts, 2);
	assert_string_equal(v.mounts[0].path, "/scratch");
	assert_string_equal(v.mounts[0].type, "lustre");
	assert_int_equal(v.mounts[0].files, 2);
	assert_int_equal(v.mounts[0].io.bytes_written, 30);
	assert_int_equal(v.mounts[1].files, 1);
	assert_int_equal(made_file(&v, "relative")->mount, -1);
	rama_job_view_fini(&v);
	made_free(m);
}

static void layout(struct made *m, const char *name,
		   const int64_t (*comp)[RAMA_TAB_LUSTRE_COMP__WORDS], size_t n, const int64_t *ost,
		   size_t osts)
{
	made_row(m, RAMA_TAB_MOD_LUSTRE, made_name(m, name), 0);
	made_array(m, 0, comp[0], RAMA_TAB_LUSTRE_COMP__WORDS, n);
	made_array(m, 1, ost, 1, osts);
}

static void storage_targets(void **st)
{
	static const int64_t one[1][RAMA_TAB_LUSTRE_COMP__WORDS] = { { 1 << 20, 1, 0, 0, 0, -1 } };
	static const int64_t two[2][RAMA_TAB_LUSTRE_COMP__WORDS] = { { 4096, 1, 0, 0, 0, 100 },
								     { 65536, 3, 0, 0, 100, -1 } };
	struct made *m = made_new(1, 0, 10);
	struct rama_job_view v;

	(void)st;
	for (unsigned i = 0; i < 3; i++) {
		static const char *const name[] = { "/scratch/a", "/scratch/b", "/scratch/c" };
		union rama_core_word *w =
			made_posix(m, made_name(m, name[i]), 0, (int64_t[]){ 1, 0 },
				   (int64_t[]){ 300, 0 }, (double[]){ 3 * i + 3, 0, 0 });

		w[RAMA_TAB_POSIX_MAX_BYTE_WRITTEN].i = 299;
	}
	layout(m, "/scratch/a", one, 1, (int64_t[]){ 7 }, 1);
	layout(m, "/scratch/b", one, 1, (int64_t[]){ 7 }, 1);
	layout(m, "/scratch/c", two, 2, (int64_t[]){ 1, 7, 8, 9 }, 4);
	layout(m, "/scratch/nobody", two, 2, (int64_t[]){ 1, 7, 8, 9 }, 4);
	made_view(m, &v);
	assert_int_equal(made_file(&v, "/scratch/c")->stripes->stripe_count,
			 3); /* holds 200 of 300 bytes */
	assert_int_equal(made_file(&v, "/scratch/c")->stripes->stripe_size, 65536);
	assert_int_equal(made_file(&v, "/scratch/c")->stripes->components, 2);
	assert_int_equal(made_file(&v, "/scratch/c")->stripes->osts[0], 7);
	assert_int_equal(v.n_osts, 3);
	assert_int_equal(v.osts[0].ost, 7);
	assert_int_equal(v.osts[0].files, 3);
	assert_int_equal(v.osts[0].alone, 2);
	assert_near(v.osts[0].bytes, 300 + 300 + 100);
	assert_near(v.osts[0].time, 3 + 6 + 3);
	assert_near(v.osts[0].slowest, 6);
	assert_near(v.osts[0].mean, 4.5);
	assert_int_equal(v.osts[2].ost, 9);
	assert_near(v.osts[2].time, 3);
	rama_job_view_fini(&v);
	made_free(m);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static void bytes_of_sizes_add_up(void **st)
{
	struct made *m = made_new(1, 0, 10);
	union rama_core_word *w =
		made_posix(m, made_name(m, "/a"), 0, (int64_t[]){ 100, 0 },
			   (int64_t[]){ 90 * 64 + 10 * (3 << 20), 0 }, (double[]){ 1, 0, 0 });
	const struct rama_job_view_layer *l;
	struct rama_job_view v;
	double sum = 0;

	(void)st;
	w[RAMA_TAB_POSIX_SIZE_WRITE_0_100].i = 90;
	w[RAMA_TAB_POSIX_SIZE_WRITE_1M_4M].i = 10;
	w[RAMA_TAB_POSIX_ACCESS1_ACCESS].i = 64;
	w[RAMA_TAB_POSIX_ACCESS1_COUNT].i = 90;
	w[RAMA_TAB_POSIX_ACCESS2_ACCESS].i = 3 << 20;
	w[RAMA_TAB_POSIX_ACCESS2_COUNT].i = 10;
	made_view(m, &v);
	l = &v.layer[RAMA_JOB_LAYER_POSIX];
	assert_true(l->sizes);
	assert_false(l->sizes_exact);
	assert_int_equal(l->size_count[0][0], 90);
	assert_int_equal(l->size_count[0][5], 10);
	assert_near(l->size_bytes[0][0], 90 * 64);
	assert_near(l->size_bytes[0][5], 10 * (3 << 20));
	rama_job_view_fini(&v);
	made_free(m);

	/* without frequent sizes it is a guess, but one that adds up */
	m = made_new(1, 0, 10);
	w = made_posix(m, made_name(m, "/a"), 0, (int64_t[]){ 0, 13 }, (int64_t[]){ 0, 30000 },
		       (double[]){ 0, 1, 0 });
	w[RAMA_TAB_POSIX_SIZE_READ_100_1K].i = 10;
	w[RAMA_TAB_POSIX_SIZE_READ_1K_10K].i = 3;
	made_view(m, &v);
	l = &v.layer[RAMA_JOB_LAYER_POSIX];
	for (unsigned i = 0; i < RAMA_JOB_SIZE_BINS; i++)
		sum += l->size_bytes[1][i];
	assert_true(fabs(sum - 30000) < 1);
	assert_true(l->size_bytes[1][1] >= 10 * 100 && l->size_bytes[1][1] <= 10 * 1024);
	assert_true(l->size_bytes[1][2] >= 3 * 1024 && l->size_bytes[1][2] <= 3 * 10240);
	rama_job_view_fini(&v);
	made_free(m);
}

/* ---- any log --------------------------------------------------------------------------------- */

static void random_record(struct rng *r, union rama_core_word *w, const struct rama_tab_module *mod,
			  int64_t nprocs)
{
	for (unsigned i = 0; i < *mod->record->n_fields; i++) {
		const struct rama_tab_field *f = &mod->record->fields[i];

		if (f->place != RAMA_TAB_COUNTER || f->word == RAMA_TAB_NO_WORD)
			continue;
		if (f->type == RAMA_TAB_F64)
			w[f->word].f = rng_unit(r);
		else if (f->reduce == RAMA_TAB_SLOW_RANK || f->reduce == RAMA_TAB_FAST_RANK)
			w[f->word].i = (int64_t)rng_below(r, (uint64_t)nprocs);
		else
			w[f->word].i = (int64_t)rng_below(r, 1000);
	}
}

/* sums, largest and smallest values of all records, against those that `show --total` prints */
static void same_total(const struct made *m, const struct rama_job_view *v,
		       enum rama_job_layer layer)
{
	const struct rama_tab_module *mod = rama_tab_module_get(rama_job_layer_info[layer].module);
	union rama_core_word w[256];
	struct rama_core_total t;

	rama_core_total_init(&t, mod, w);
	for (size_t i = 0; i < m->n_rows; i++) {
		struct rama_core_record r = { .mod = mod,
					      .schema = mod->record,
					      .w = m->row[i]->w };

		if (m->row[i]->module == mod->id)
			rama_core_total_add(&t, &r);
	}
	for (unsigned i = 0; i < *mod->record->n_fields; i++) {
		const struct rama_tab_field *f = &mod->record->fields[i];
		const union rama_core_word *x = &v->layer[layer].total[f->word];

		if (f->word == RAMA_TAB_NO_WORD)
			continue;
		if (f->reduce == RAMA_TAB_SUM || f->reduce == RAMA_TAB_SUM_NEG ||
		    f->reduce == RAMA_TAB_MAX || f->reduce == RAMA_TAB_MIN_NZ) {
			if (f->type == RAMA_TAB_F64)
				assert_near(x->f, w[f->word].f);
			else
				assert_int_equal(x->i, w[f->word].i);
		}
	}
}

static void any_log_adds_up(void **st)
{
	struct rng r = { 5 };

	(void)st;
	for (unsigned round = 0; round < 60; round++) {
		int64_t nprocs = 1 + (int64_t)rng_below(&r, 9);
		struct made *m = made_new(nprocs, 0, 10);
		uint64_t id[6];
		struct rama_job_view v;

		for (unsigned i = 0; i < LENGTH(id); i++) {
			char name[32];

			snprintf(name, sizeof(name), "/scratch/file%u", i);
			id[i] = made_name(m, name);
		}
		for (unsigned i = 0; i < 120; i++) {
			enum rama_job_layer l = (enum rama_job_layer)rng_below(&r, RAMA_JOB_LAYERS);
			int64_t rank = (int64_t)rng_below(&r, (uint64_t)nprocs + 1) - 1;
			unsigned module = rama_job_layer_info[l].module;
			union rama_core_word *w =
				made_row(m, module, id[rng_below(&r, LENGTH(id))], rank);

			random_record(&r, w, rama_tab_module_get(module), nprocs);
		}
		made_view(m, &v);
		for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++)
			if (v.layer[l].used)
				same_total(m, &v, (enum rama_job_layer)l);
		rama_job_view_fini(&v);
		made_free(m);
	}
}

/* ---- words ----------------------------------------------------------------------------------- */

static void names_are_cut_in_the_middle(void **st)
{
	char to[64], small[6];

	(void)st;
	assert_string_equal(rama_job_view_short_name("short", 10, to, sizeof(to)), "short");
	assert_string_equal(rama_job_view_short_name("/very/long/path/file.h5", 13, to, sizeof(to)),
			    "/ver…/file.h5");
	assert_string_equal(rama_job_view_short_name("äöüäöüäöü", 4, to, sizeof(to)), "ä…öü");
	assert_string_equal(rama_job_view_short_name("abc", 1, to, sizeof(to)), "…");
	rama_job_view_short_name("abcdefghijkl", 10, small, sizeof(small));
	assert_true(strlen(small) < sizeof(small));
}

static void layers_are_modules(void **st)
{
	(void)st;
	for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++)
		assert_string_equal(rama_job_layer_info[l].name,
				    rama_tab_module_get(rama_job_layer_info[l].module)->name);
}

UNIT_GROUP(whole, test(programs_at_the_same_time_are_other_ranks),
	   test(steps_of_a_job_are_the_same_ranks), test(numbers_beyond_all_jobs_are_refused),
	   test(nothing_is_fine), test(what_is_missing_is_told), test(names_that_differ_in_numbers),
	   test(file_systems), test(storage_targets), test(bytes_of_sizes_add_up),
	   test(any_log_adds_up), test(names_are_cut_in_the_middle), test(layers_are_modules))
