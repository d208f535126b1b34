/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_diagnose.c: input as for fuzz_view.c, but of the first log only; the job is diagnosed.
 * Whatever its counters say, nothing costs more than all I/O, levels follow from costs, and
 * everything has its words. */
#include <math.h>
#include <string.h>

#include "diagnose/diagnose.h"
#include "fuzz.h"

static void check_finding(const struct rama_job_view *v, const struct rama_diag_finding *f)
{
	CHECK(f->title[0] != '\0' && f->evidence != NULL && f->how != NULL);
	CHECK(f->level <= f->rule->most || f->level == RAMA_DIAG_LEVEL_INFO);
	CHECK(f->cost >= 0 && f->cost <= v->io_time && isfinite(f->cost_share));
	CHECK(f->bytes >= 0 && isfinite(f->bytes));
	CHECK(f->follows == NULL || (f->cost == 0 && f->level <= RAMA_DIAG_LEVEL_INFO));
	CHECK(f->n_culprits <= 10 && f->n_culprits <= f->all_culprits);
	for (size_t i = 0; i < f->n_culprits; i++) {
		CHECK(f->culprits[i].name != NULL && f->culprits[i].text != NULL);
		CHECK(i == 0 || f->culprits[i].value <= f->culprits[i - 1].value);
		CHECK(strcmp(f->culprits[i].kind, "file") != 0 ||
		      (size_t)f->culprits[i].index < v->n_files);
	}
	for (size_t i = 0; i < f->n_values; i++)
		CHECK(f->values[i].name != NULL && isfinite(f->values[i].value));
}

static void check_diagnosis(const struct rama_job_view *v, const struct rama_diag *d)
{
	CHECK(d->verdict != NULL && d->verdict[0] != '\0');
	CHECK(d->n_high + d->n_warn + d->n_info + d->n_ok == d->n_findings);
	CHECK(d->n_found + d->n_passed + d->n_na == rama_diag_n_rules);
	CHECK(fabs(d->read_share + d->write_share + d->meta_share + d->other_share - 1) < 1e-6);
	for (size_t i = 0; i < d->n_findings; i++) {
		check_finding(v, &d->findings[i]);
		CHECK(i == 0 || d->findings[i].level <= d->findings[i - 1].level);
	}
	for (size_t i = 0; i < d->n_banner; i++)
		CHECK(d->banner[i][0] != '\0');
}

static void diagnose(struct rama_log *log, bool trace)
{
	struct rama_job_view_options opt = { .trace = trace };
	struct rama_diag_profile p;
	struct rama_diag d;
	struct rama_err e = { 0 };
	struct rama_job_view v;

	CHECK(rama_diag_profile_init(&p) == 0);
	rama_job_view_init(&v, &opt);
	if (rama_job_view_add_log(&v, log, "log", &e) == 0 && rama_job_view_finish(&v, &e) == 0) {
		CHECK(rama_diag_make(&d, &v, &p, &e) == 0);
		check_diagnosis(&v, &d);
		rama_diag_fini(&d);
	}
	rama_job_view_fini(&v);
	rama_diag_profile_fini(&p);
}

static void diagnose_file(const uint8_t *data, size_t size, bool trace)
{
	struct rama_source src;
	struct rama_log log;

	rama_source_memory(&src, data, size);
	if (rama_log_open(&log, &src, NULL, NULL) != 0)
		return;
	if (log.job.nprocs < 100000) /* more are a matter of time only */
		diagnose(&log, trace);
	rama_log_close(&log);
}

static void diagnose_parts(struct fuzz_input *in, bool trace)
{
	struct fuzz_log l[2] = { { .minor = 41, .start_sec = 1600000000 }, { .minor = 41 } };
	struct fuzz_bytes built = { 0 };
	struct rama_source src;
	struct rama_log log;

	l[0].swap = fuzz_take_byte(in) & 1;
	l[0].nprocs = fuzz_take_byte(in) + 1;
	fuzz_take_u16(in); /* of the second log */
	fuzz_log_parts(in, &l[0], &l[1]);
	fuzz_log_build(&l[0], &built);
	rama_source_memory(&src, built.p, built.n);
	CHECK(rama_log_open(&log, &src, NULL, NULL) == 0);
	diagnose(&log, trace);
	rama_log_close(&log);
	fuzz_bytes_fini(&built);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	uint8_t flags = fuzz_take_byte(&in);

	if (flags & 4)
		diagnose_file(in.p, in.n, !(flags & 2));
	else
		diagnose_parts(&in, !(flags & 2));
	return 0;
}
