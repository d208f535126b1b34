/* SPDX-License-Identifier: BSD-3-Clause */
/* print.h: what is known of calls, as text, CSV or JSON. */
#ifndef RAMA_PATH_PRINT_H
#define RAMA_PATH_PRINT_H

#include "base/form/rows.h"
#include "path/path.h"

/* which calls; those that are not asked for are not shown, but still explain others */
struct rama_path_ask {
	int64_t rank;	  /* < 0: all */
	size_t call;	  /* RAMA_PATH_NONE: all */
	const char *file; /* part of a name; NULL: all */
	int64_t from, to; /* ns; at work at some time in between */
	size_t most;	  /* of the slowest calls */
	enum rama_rows_form form;
};

/* is it one of them? */
bool rama_path_wanted(const struct rama_path *p, size_t call, const struct rama_path_ask *ask);

/* Each returns 0 or RAMA_EMEMORY, RAMA_EMISSING if there is no such call; `out` is not flushed. */
/* the slowest calls that are part of no other, with all below them; text only */
int rama_path_print_tree(const struct rama_path *p, const struct rama_path_ask *ask,
			 struct rama_out *out);
/* one row for each call */
int rama_path_print_calls(const struct rama_path *p, const struct rama_path_ask *ask,
			  struct rama_out *out);
/* one row for each server: of the call that is asked for, or of the job */
int rama_path_print_servers(const struct rama_path *p, const struct rama_path_ask *ask,
			    struct rama_out *out);
/* one row for each piece of the critical path: of the call that is asked for, or of the job */
int rama_path_print_critical(const struct rama_path *p, const struct rama_path_ask *ask,
			     struct rama_out *out);

/* pictures of the slowest calls and of the servers */
int rama_path_print_svg(const struct rama_path *p, const struct rama_path_ask *ask,
			struct rama_out *out);
/* all of it as a page that needs nothing else */
int rama_path_print_html(const struct rama_path *p, const struct rama_path_ask *ask,
			 struct rama_out *out);
/* events for Perfetto: a process for each rank, daemon and server, with arrows between them */
int rama_path_print_perfetto(const struct rama_path *p, const struct rama_path_ask *ask,
			     struct rama_out *out);

#endif
