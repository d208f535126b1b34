/* SPDX-License-Identifier: BSD-3-Clause */
/* text.c: a look on paper: all jobs, then of each the ranks and files that do most. */
#include <stdio.h>
#include <string.h>

#include "look/watch/watch.h"

#define RANKS_TOLD 10
#define FILES_TOLD 5

static int table(struct rama_look_page *p, const struct rama_look *l,
		 struct rama_look_watch_view *v, size_t most, const char *more, struct rama_err *e)
{
	struct rama_look_watch_rows r;
	int rc = rama_look_watch_rows(&r, l, v, e);

	if (rc == 0 && r.n > 0) {
		rama_look_page_line(p);
		rama_look_watch_table(p, l, v, &r, 0, most);
		if (r.n > most) {
			rama_look_page_to(p, 1);
			rama_look_page_fmt(p, RAMA_LOOK_STYLE_DIM, "and %zu more %s", r.n - most,
					   more);
			rama_look_page_line(p);
		}
	}
	rama_look_watch_rows_fini(&r);
	return rc;
}

static int one_job(struct rama_look_page *p, const struct rama_look *l,
		   const struct rama_look_job *j, struct rama_look_watch_view *v,
		   struct rama_err *e)
{
	struct rama_look_watch_rows r = { .job = j };
	int rc;

	snprintf(v->job, sizeof(v->job), "%s", j->key);
	v->process = 0;
	v->kind = RAMA_LOOK_WATCH_RANKS;
	rama_look_page_line(p);
	rama_look_page_put(p, RAMA_LOOK_STYLE_BOLD, rama_look_watch_program(j), p->width);
	rama_look_page_fmt(p, RAMA_LOOK_STYLE_DIM, "  %s%s", j->name, j->ended ? "  ended" : "");
	rama_look_page_line(p);
	rama_look_watch_head(p, l, v, &r);
	rc = table(p, l, v, RANKS_TOLD, "ranks", e);
	v->kind = RAMA_LOOK_WATCH_FILES;
	return rc == 0 ? table(p, l, v, FILES_TOLD, "files", e) : rc;
}

int rama_look_watch_text(struct rama_look_page *p, const struct rama_look *l, const char *place,
			 enum rama_look_watch_sort sort, struct rama_err *e)
{
	struct rama_look_watch_view v = {
		.sort = { sort, sort == RAMA_LOOK_SORT_RATE ? RAMA_LOOK_SORT_NAME : sort, sort }
	};
	int rc = 0;

	if (l->n == 0) {
		rama_look_watch_nothing(p, place);
		return 0;
	}
	if (l->n > 1)
		rc = table(p, l, &v, l->n, "jobs", e);
	for (size_t i = 0; i < l->n && rc == 0; i++)
		rc = one_job(p, l, l->job[i], &v, e);
	return rc;
}
