/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/stored.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/human.h"
#include "gather/place.h"
#include "query/job.h"

/* ---- one job --------------------------------------------------------------------------------- */

/* Is the log where it was, as it was? */
static bool is_there(const struct rama_query_job_log *k)
{
	struct stat st;

	return k->path[0] == '/' && stat(k->path, &st) == 0 && st.st_size == k->size &&
	       (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec == k->mtime_ns;
}

static bool is_own_directory(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

bool rama_study_stored_segments(const char *key, const char *dir, char path[PATH_MAX])
{
	const char *slash = strchr(key, '/');
	struct rama_gather_roots roots;
	bool found = false;
	char uid[24];
	int n = slash != NULL ? (int)strcspn(slash + 1, "@") : 0;

	snprintf(uid, sizeof(uid), "%u/", (unsigned)geteuid());
	if (n == 0 || strncmp(key, uid, strlen(uid)) != 0 ||
	    memchr(slash + 1, '/', (size_t)n) != NULL || slash[1] == '.')
		return false;
	if (*dir == '/') {
		snprintf(path, PATH_MAX, "%s/%.*s", dir, n, slash + 1);
		return is_own_directory(path);
	}
	rama_gather_roots_find(&roots, (uint32_t)geteuid());
	for (size_t i = 0; i < roots.n && !found; i++) {
		snprintf(path, PATH_MAX, "%s/%.*s", roots.path[i], n, slash + 1);
		found = is_own_directory(path);
	}
	rama_gather_roots_fini(&roots);
	return found;
}

static int nothing(const struct rama_query_job_log *k, int64_t job, struct rama_err *e)
{
	char n[2][RAMA_HUMAN];

	if (k->logged && k->path[0] != '\0')
		return rama_err_set(
			e, RAMA_EMISSING,
			"job %" PRId64
			": the store does not keep its log, and it is no longer at %s as it was",
			job, k->path);
	return rama_err_set(e, RAMA_EMISSING,
			    "job %" PRId64 ": the store has no log of it%s, but %s events and %s "
			    "seconds of activity: `iorama jobs"
			    " %" PRId64 "`, `iorama query --job %" PRId64 "`",
			    job, strcmp(k->state, "running") == 0 ? " yet, it runs" : "",
			    rama_human_count(n[0], k->events), rama_human_count(n[1], k->seconds),
			    job, job);
}

int rama_study_stored_get(struct rama_store *s, int64_t job, const char *dir,
			  struct rama_study_stored *to, struct rama_err *e)
{
	struct rama_query_job_log k;
	int rc = rama_query_job_log_get(s, job, &k, e);

	*to = (struct rama_study_stored){ .job = job };
	if (rc != 0)
		return rc;
	snprintf(to->path, sizeof(to->path), "%s", k.path[0] != '\0' ? k.path : k.key);
	if (k.kept)
		return rama_store_log_bytes(s, job, &to->bytes, &to->len, e);
	if (k.logged && is_there(&k))
		return 0;
	if (!k.logged && rama_study_stored_segments(k.key, dir, to->path))
		return 0;
	return nothing(&k, job, e);
}

int rama_study_stored_set_find(struct rama_store *s, const char *word, const char *dir,
			       struct rama_study_stored_set *to, struct rama_err *e)
{
	struct rama_err one = { 0 };
	int64_t *jobs;
	size_t n;
	int rc = rama_query_job_find(s, word, false, &jobs, &n, e);

	*to = (struct rama_study_stored_set){ .job = -1 };
	if (rc != 0)
		return rc;
	to->job = jobs[0];
	to->it = calloc(n, sizeof(*to->it));
	to->from = calloc(n, sizeof(*to->from));
	if (to->it == NULL || to->from == NULL)
		rc = rama_err_no_memory(e);
	for (size_t i = 0; i < n && rc == 0; i++) {
		rc = rama_study_stored_get(s, jobs[i], dir, &to->it[to->n], &one);
		if (rc == 0) {
			to->from[to->n] = rama_study_stored_source(&to->it[to->n]);
			to->n++;
		} else if (rc == RAMA_EMISSING && (to->n > 0 || i + 1 < n)) {
			rc = 0;
		} else {
			*e = one;
		}
	}
	free(jobs);
	return rc;
}

void rama_study_stored_set_fini(struct rama_study_stored_set *x)
{
	for (size_t i = 0; i < x->n; i++)
		rama_study_stored_fini(&x->it[i]);
	free(x->it);
	free(x->from);
	*x = (struct rama_study_stored_set){ .job = -1 };
}

void rama_study_stored_fini(struct rama_study_stored *x)
{
	free(x->bytes);
	x->bytes = NULL;
}

struct rama_study_source rama_study_stored_source(const struct rama_study_stored *x)
{
	return (struct rama_study_source){ .path = x->path, .bytes = x->bytes, .len = x->len };
}

struct beside {
	int64_t *jobs;
	size_t n, room;
};

static int add_beside(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct beside *b = ctx;

	if (!RAMA_GROW(b->jobs, b->room, b->n + 1))
		return rama_err_no_memory(e);
	b->jobs[b->n++] = row->cell[0].i;
	return 0;
}

int rama_study_stored_beside(struct rama_store *s, int64_t job, int64_t **jobs, size_t *n,
			     struct rama_err *e)
{
	struct beside b = { 0 };
	int rc = rama_query_logs_beside(s, job, add_beside, &b, e);

	*jobs = b.jobs;
	*n = b.n;
	return rc;
}

struct served {
	struct rama_study_stored *it;
	size_t n, room;
};

static int add_served(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct served *v = ctx;
	const struct rama_store_cell *body = &row->cell[1];
	struct rama_study_stored *to;

	if (body->type != RAMA_STORE_CELL_BYTES)
		return 0;
	if (!RAMA_GROW(v->it, v->room, v->n + 1))
		return rama_err_no_memory(e);
	to = &v->it[v->n];
	*to = (struct rama_study_stored){ .job = row->cell[0].i, .len = body->len };
	snprintf(to->path, sizeof(to->path), "job %" PRId64 ", of a server", to->job);
	to->bytes = malloc(body->len + 1);
	if (to->bytes == NULL)
		return rama_err_no_memory(e);
	memcpy(to->bytes, body->text, body->len);
	v->n++;
	return 0;
}

int rama_study_stored_served(struct rama_store *s, int64_t job, struct rama_study_stored **it,
			     size_t *n, struct rama_err *e)
{
	struct served v = { 0 };
	int rc = rama_query_served(s, job, add_served, &v, e);

	*it = v.it;
	*n = v.n;
	return rc;
}

/* ---- all jobs -------------------------------------------------------------------------------- */

struct logs {
	struct rama_study_paths *paths;
	int64_t *jobs;
	size_t room;
};

static int add_log(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct logs *k = ctx;
	const struct rama_store_cell *path = &row->cell[1], *key = &row->cell[2];
	bool has_path = path->type == RAMA_STORE_CELL_TEXT && path->len > 0;

	if (!RAMA_GROW(k->jobs, k->room, k->paths->n + 1))
		return rama_err_no_memory(e);
	k->jobs[k->paths->n] = row->cell[0].i;
	return rama_study_paths_put(k->paths, has_path ? path->text : key->text, e);
}

int rama_study_stored_logs(struct rama_store *s, struct rama_study_paths *paths, int64_t **jobs,
			   struct rama_err *e)
{
	struct logs k = { .paths = paths };
	int rc = rama_query_logs_list(s, add_log, &k, e);

	*jobs = k.jobs;
	return rc;
}
