/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs_list.h: many jobs as a table, CSV or JSON; and one job in detail. For `iorama jobs`. */
#ifndef RAMA_CLI_JOBS_LIST_H
#define RAMA_CLI_JOBS_LIST_H

#include "cli/rows.h"
#include "cli/terminal.h"
#include "query/jobs.h"

struct rama_cli_jobs_list {
	struct rama_query_jobs query;
	enum rama_cli_rows_form form;
	bool paged; /* --after: it is said where the next page begins */
};

/* 0 or an error */
int rama_cli_jobs_list(struct rama_store *s, struct rama_cli_jobs_list *l,
		       const struct rama_cli_terminal *t, struct rama_out *out, struct rama_err *e);
int rama_cli_jobs_detail(struct rama_store *s, int64_t job, enum rama_cli_rows_form form,
			 const struct rama_cli_terminal *t, bool all, struct rama_out *out,
			 struct rama_err *e);

#endif
