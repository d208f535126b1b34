/* SPDX-License-Identifier: BSD-3-Clause */
#include "index/trees.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "study/paths.h"

/* the arguments as absolute paths: a log has one name in the store, wherever it is named from */
static int find_roots(struct rama_index_trees *t, const char *const *args, size_t n,
		      struct rama_err *e)
{
	t->roots = calloc(n + 1, sizeof(*t->roots));
	if (t->roots == NULL)
		return rama_err_no_memory(e);
	for (size_t i = 0; i < n; i++) {
		char *path = args[i][0] == '@' ? strdup(args[i]) : realpath(args[i], NULL);
		char why[256];

		if (path == NULL) {
			snprintf(why, sizeof(why), "cannot be opened: %s", strerror(errno));
			t->problem(t->run.ctx, args[i], why);
			t->unread++;
			continue;
		}
		t->roots[t->n_roots++] = path;
	}
	return 0;
}

int rama_index_trees_open(struct rama_index_trees *t, const char *const *args, size_t n, bool watch,
			  struct rama_err *e)
{
	struct stat st;
	int rc = find_roots(t, args, n, e);

	if (rc == 0 && watch)
		rc = rama_index_watch_open(&t->watch, t->note, t->run.ctx, e);
	for (size_t i = 0; rc == 0 && watch && i < t->n_roots; i++)
		if (stat(t->roots[i], &st) == 0 && S_ISDIR(st.st_mode))
			rc = rama_index_watch_add(t->watch, t->roots[i], e);
	return rc;
}

static int put(struct rama_index_trees *t, const char *const *paths, size_t n, struct rama_err *e)
{
	int rc;

	if (t->pass != NULL)
		t->pass(t->run.ctx, n);
	rc = rama_index_run(&t->run, paths, n, e);
	if (t->passed != NULL)
		t->passed(t->run.ctx);
	t->in_store = rc != 0;
	return rc;
}

/* those of lists may be relative */
static int make_absolute(struct rama_study_paths *p, struct rama_err *e)
{
	for (size_t i = 0; i < p->n; i++) {
		char *path = p->path[i][0] != '/' ? realpath(p->path[i], NULL) : NULL;

		if (path != NULL)
			p->path[i] = rama_arena_text(&p->arena, path, strlen(path));
		free(path);
		if (p->path[i] == NULL)
			return rama_err_no_memory(e);
	}
	rama_study_paths_sort(p);
	return 0;
}

int rama_index_trees_put(struct rama_index_trees *t, struct rama_err *e)
{
	struct rama_study_paths p = { .told = { .problem = t->problem, .ctx = t->run.ctx } };
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < t->n_roots && rc == 0; i++)
		rc = rama_study_paths_add(&p, t->roots[i], e);
	if (rc == 0)
		rc = make_absolute(&p, e);
	else if (rc != RAMA_EMEMORY)
		e->code = 0; /* was told */
	t->unread += p.unread;
	for (size_t i = 0; rc == 0 && i < p.n; i++)
		if (t->watch == NULL || !rama_index_watch_defer(t->watch, p.path[i]))
			p.path[n++] = p.path[i];
	if (rc == 0)
		rc = put(t, (const char *const *)p.path, n, e);
	rama_study_paths_fini(&p);
	return rc;
}

int rama_index_trees_watch(struct rama_index_trees *t, const sigset_t *let_in, struct rama_err *e)
{
	int rc = 0;

	while (rc == 0 && !t->run.stop(t->run.ctx)) {
		const char *const *paths;
		size_t n;
		bool again;

		rc = rama_index_watch_wait(t->watch, -1, let_in, &paths, &n, &again, e);
		if (rc == 0 && n > 0)
			rc = put(t, paths, n, e);
		if (rc == 0 && again)
			rc = rama_index_trees_put(t, e);
	}
	return rc;
}

void rama_index_trees_close(struct rama_index_trees *t)
{
	rama_index_watch_close(t->watch);
	for (size_t i = 0; i < t->n_roots; i++)
		free(t->roots[i]);
	free(t->roots);
}
