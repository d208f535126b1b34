/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/stored.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/human.h"
#include "cli/jobs_list.h"
#include "cli/open_store.h"
#include "cli/stored_place.h"

/* what the store says of a job and its log */
struct known {
	bool found, logged, kept;
	char key[RAMA_WIRE_JOB], path[PATH_MAX], state[16];
	int64_t size, mtime_ns, events, seconds;
};

static void take_text(char *to, size_t room, const struct rama_cell *c)
{
	if (c->type == RAMA_CELL_TEXT && c->len < room)
		snprintf(to, room, "%s", c->text);
}

static int take(void *ctx, const struct rama_row *row, struct rama_err *e)
{
	struct known *k = ctx;
	const struct rama_cell *c = row->cell;

	(void)e;
	k->found = true;
	take_text(k->key, sizeof(k->key), &c[0]);
	take_text(k->state, sizeof(k->state), &c[1]);
	k->events = c[2].i;
	k->logged = c[3].type != RAMA_CELL_NULL;
	take_text(k->path, sizeof(k->path), &c[3]);
	k->size = c[4].i;
	k->mtime_ns = c[5].i;
	k->kept = c[6].i != 0;
	k->seconds = c[7].i;
	return 1;
}

static int ask(struct rama_store *s, int64_t job, struct known *k, struct rama_err *e)
{
	static const char sql[] =
		"SELECT j.key, j.state, j.events, l.path, l.size, l.mtime_ns, l.kept,"
		" (SELECT count(DISTINCT a.t_ns) FROM activity a WHERE a.job = j.number)"
		" FROM jobs j LEFT JOIN logs l ON l.job = j.number WHERE j.number = $1";
	struct rama_cell arg = { .type = RAMA_CELL_INT, .i = job };
	int rc = rama_store_select(s, sql, &arg, 1, take, k, e);

	if (rc >= 0 && !k->found)
		return rama_err_set(e, RAMA_EMISSING, "job %" PRId64 " is not in the store", job);
	return rc < 0 ? rc : 0;
}

/* Is the log where it was, as it was? */
static bool is_there(const struct known *k)
{
	struct stat st;

	return k->path[0] == '/' && stat(k->path, &st) == 0 && st.st_size == k->size &&
	       (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec == k->mtime_ns;
}

static int nothing(const struct known *k, int64_t job, struct rama_err *e)
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

int rama_stored_get(struct rama_store *s, int64_t job, struct rama_stored *to, struct rama_err *e)
{
	struct known k = { 0 };
	int rc = ask(s, job, &k, e);

	*to = (struct rama_stored){ .job = job };
	if (rc != 0)
		return rc;
	snprintf(to->path, sizeof(to->path), "%s", k.path[0] != '\0' ? k.path : k.key);
	if (k.kept)
		return rama_store_log_bytes(s, job, &to->bytes, &to->len, e);
	if (k.logged && is_there(&k))
		return 0;
	if (!k.logged && rama_stored_segments(k.key, to->path))
		return 0;
	return nothing(&k, job, e);
}

int rama_stored_find(struct rama_store *s, const char *word, struct rama_stored *to,
		     struct rama_err *e)
{
	int64_t job;
	int rc = rama_store_find_job(s, word, &job, e);

	*to = (struct rama_stored){ .job = -1 };
	return rc != 0 ? rc : rama_stored_get(s, job, to, e);
}

void rama_stored_fini(struct rama_stored *x)
{
	free(x->bytes);
	x->bytes = NULL;
}

struct rama_study_source rama_stored_source(const struct rama_stored *x)
{
	return (struct rama_study_source){ .path = x->path, .bytes = x->bytes, .len = x->len };
}

int rama_stored_open(struct rama_store **s, const struct rama_opts *o, enum rama_option_id option)
{
	return rama_store_here(s, o, option, RAMA_STORE_READ);
}

void rama_stored_close(struct rama_store *s)
{
	rama_store_close(s);
}

int rama_stored_tell(struct rama_store *s, int64_t job, const struct rama_terminal *t, bool all,
		     struct rama_out *out, struct rama_err *e)
{
	return rama_jobs_detail(s, job, RAMA_ROWS_TEXT, t, all, out, e);
}
