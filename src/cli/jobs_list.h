/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs_list.h: many jobs as a table, CSV or JSON; and one job in detail. For `iorama jobs`. */
#ifndef RAMA_CLI_JOBS_LIST_H
#define RAMA_CLI_JOBS_LIST_H

#include "cli/jobs_metric.h"
#include "cli/rows.h"
#include "cli/terminal.h"

#define RAMA_JOBS_COLUMNS 48 /* at most */

struct rama_jobs_list {
	struct rama_metric column[RAMA_JOBS_COLUMNS];
	unsigned n_columns;
	const char *where; /* conditions, " AND …" */
	struct rama_cell arg[RAMA_COMPARE_MOST];
	unsigned n_args;
	const char *order;	  /* "j.start_ns DESC, …" */
	uint64_t limit;		  /* 0: none */
	const char *name;	  /* glob for the program, NULL: all */
	const char *const *words; /* each is part of name, user, command, key or job id */
	size_t n_words;
	enum rama_rows_form form;
};

/* 0 or an error */
int rama_jobs_list(struct rama_store *s, const struct rama_jobs_list *l,
		   const struct rama_terminal *t, struct rama_out *out, struct rama_err *e);
int rama_jobs_detail(struct rama_store *s, int64_t job, enum rama_rows_form form,
		     const struct rama_terminal *t, bool all, struct rama_out *out,
		     struct rama_err *e);

#endif
