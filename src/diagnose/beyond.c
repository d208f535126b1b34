/* SPDX-License-Identifier: BSD-3-Clause */
/* beyond.c: seconds that no I/O call shows and that come on top of the I/O time: inside of HDF5 and
 * PnetCDF, above the calls that they make, and in page faults of mapped files. */
#include <math.h>

#include "diagnose/engine.h"

#define PAGE 4096.0

int rama_diag_beyond_file(struct rama_diag_engine *g, const struct rama_job_view_file *file,
			  const struct rama_diag_sums *x)
{
	return rama_diag_cost_add(&g->beyond, &g->facts, file, x, RAMA_DIAG_PLACE_BEYOND,
				  x->library_time);
}

/* A fault that waits for a disk is one of a mapped file as long as there are pages enough: programs
 * and swap have some as well. How long each took nobody counts: as long as the limit says, and not
 * longer in all than the process was neither on a processor nor in an I/O call. */
static int add_faults(struct rama_diag_engine *g, struct rama_diag_cost *faults)
{
	struct rama_diag_facts *f = &g->facts;
	int rc = 0;

	for (int64_t i = 0; g->view->ranks != NULL && i < g->view->nprocs && rc == 0; i++) {
		const struct rama_job_view_rank *r = &g->view->ranks[i];
		double lived = r->end > r->start ? r->end - r->start : f->run_time;
		double idle = fmax(0, lived - r->cpu_time - rama_job_io_time(&r->io));
		double n = fmin((double)r->major_faults, r->mapped / PAGE), lost;

		f->major_faults += (double)r->major_faults;
		if (n < 1)
			continue;
		f->mapped_faults += n;
		lost = fmin(n * f->limits.fault_time, idle);
		rc = rama_diag_cost_add_rank(faults, f, i, lost);
		if (rc == 0)
			rc = rama_diag_cost_add_rank(&g->beyond, f, i, lost);
	}
	return rc;
}

int rama_diag_beyond_find(struct rama_diag_engine *g)
{
	struct rama_diag_cost faults = { 0 };
	struct rama_diag_facts *f = &g->facts;
	int rc;

	f->library_cost = rama_diag_cost_beyond(&g->beyond, &g->beyond, f);
	rc = add_faults(g, &faults);
	f->fault_cost = rama_diag_cost_beyond(&faults, &g->beyond, f);
	f->beyond_time = rama_diag_cost_beyond(&g->beyond, &g->beyond, f);
	f->beyond_share = f->run_time > 0 ? f->beyond_time / f->run_time : 0;
	rama_diag_cost_fini(&faults);
	return rc;
}
