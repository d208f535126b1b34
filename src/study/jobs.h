/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs.h: many jobs of a store as a table, CSV or JSON; and one job in detail. */
#ifndef RAMA_STUDY_JOBS_H
#define RAMA_STUDY_JOBS_H

#include "base/form/rows.h"
#include "query/jobs.h"

struct rama_study_jobs {
	struct rama_query_jobs query;
	enum rama_rows_form form;
	bool paged; /* --after: it is said where the next page begins */
};

/* 0 or an error; query.next says where the next page begins, which JSON holds too */
int rama_study_jobs_list(struct rama_store *s, struct rama_study_jobs *l,
			 const struct rama_grid_style *style, struct rama_out *out,
			 struct rama_err *e);
int rama_study_job_tell(struct rama_store *s, int64_t job, enum rama_rows_form form,
			const struct rama_grid_style *style, bool all, struct rama_out *out,
			struct rama_err *e);

#endif
