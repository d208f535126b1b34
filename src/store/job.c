/* SPDX-License-Identifier: BSD-3-Clause */
/* job.c: the row of a job: found, made, and worked out from its processes, its log and what was
 * lost of it. */
#include <string.h>

#include "store/blocks/far.h"

int rama_store_job_get(struct rama_store *s, const char *key, const char *source, int64_t *job,
		       struct rama_err *e)
{
	static const char find[] = "SELECT number FROM jobs WHERE key = $1 /*hold*/";
	static const char make[] = "INSERT INTO jobs (key, source, seen_ns) VALUES ($1, $2, $3)"
				   " ON CONFLICT (key) DO NOTHING RETURNING number";
	bool live = strcmp(source, "log") != 0; /* nobody is waited for who is known from his log */
	struct rama_store_cell args[] = { rama_store_cell_t(key), rama_store_cell_t(source),
					  rama_store_cell_when(live ? rama_store_now(s) : 0) };
	int rc = rama_store_ints(s, find, args, 1, job, 1, e);

	if (rc == 0)
		rc = rama_store_ints(s, make, args, 3, job, 1, e);
	if (rc == 0) /* another writer was faster */
		rc = rama_store_ints(s, find, args, 1, job, 1, e);
	if (rc == 0)
		return rama_err_set(e, RAMA_EIO, "a job got no number");
	return rc < 0 ? rc : 0;
}

/* ---- sums that grow with the messages of live jobs ------------------------------------------- */

enum { READS, WRITES, METAS, BYTES_READ, BYTES_WRITTEN, GAINS };

/* added here and not by the database: no message, however wrong, makes a sum that it cannot hold */
static int add_sums(struct rama_store *s, const struct rama_store_change *c, struct rama_err *e)
{
	static const char span[] =
		"UPDATE jobs SET max_span = $2 WHERE number = $1 AND max_span < $2";
	static const char get[] = "SELECT reads, writes, metas, bytes_read, bytes_written FROM jobs"
				  " WHERE number = $1 AND logged = 0";
	static const char set[] =
		"UPDATE jobs SET reads = $2, writes = $3, metas = $4, bytes_read = $5,"
		" bytes_written = $6, io_time = coalesce(io_time, 0) + $7,"
		" meta_time = coalesce(meta_time, 0) + $8, files = files + $9"
		" WHERE number = $1 AND logged = 0";
	int64_t v[GAINS] = { 0 };
	int rc = 0;

	if (c->span > 0)
		rc = rama_store_do(s, span, ARGS(I(c->job), I(c->span)), e);
	if (rc != 0 || (c->reads | c->writes | c->metas | c->io_ns | c->files) == 0)
		return rc;
	rc = rama_store_ints(s, get, ARGS(I(c->job)), v, GAINS, e);
	if (rc <= 0)
		return rc; /* its log says what it did */
	return rama_store_do(s, set,
			     ARGS(I(c->job), I(rama_store_sum(v[READS], c->reads)),
				  I(rama_store_sum(v[WRITES], c->writes)),
				  I(rama_store_sum(v[METAS], c->metas)),
				  I(rama_store_sum(v[BYTES_READ], c->bytes_read)),
				  I(rama_store_sum(v[BYTES_WRITTEN], c->bytes_written)),
				  rama_store_cell_f((double)c->io_ns / 1e9),
				  rama_store_cell_f((double)c->meta_ns / 1e9), I(c->files)),
			     e);
}

static int sum_row(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_store_change *c = ctx;
	const struct rama_store_cell *v = row->cell;

	(void)e;
	c->reads = rama_store_sum(c->reads, v[0].i);
	c->writes = rama_store_sum(c->writes, v[1].i);
	c->metas = rama_store_sum(c->metas, v[2].i);
	c->bytes_read = rama_store_sum(c->bytes_read, v[3].i);
	c->bytes_written = rama_store_sum(c->bytes_written, v[4].i);
	for (unsigned i = 5; i < 8; i++)
		c->io_ns = rama_store_sum(c->io_ns, v[i].i);
	c->meta_ns = rama_store_sum(c->meta_ns, v[7].i);
	return 0;
}

/* the same from the beginning, after processes moved from job to job */
static int sum_again(struct rama_store *s, int64_t job, struct rama_err *e)
{
	static const char get[] =
		"SELECT reads, writes, metas, bytes_read, bytes_written, read_ns, write_ns, meta_ns"
		" FROM activity WHERE job = $1 AND layer IN ('POSIX', 'STDIO', 'EXTRA')";
	static const char span[] = "SELECT max(t1 - t0) FROM blocks WHERE job = $1";
	static const char longest[] = "SELECT CASE WHEN max_span > $2 THEN max_span ELSE CAST($2 AS"
				      " BIGINT) END FROM jobs WHERE number = $1";
	static const char files[] = "SELECT count(*) FROM files WHERE job = $1";
	static const char zero[] =
		"UPDATE jobs SET reads = 0, writes = 0, metas = 0, bytes_read = 0,"
		" bytes_written = 0, io_time = 0, meta_time = 0, files = 0"
		" WHERE number = $1 AND logged = 0";
	static const char no_span[] = "UPDATE jobs SET max_span = 0 WHERE number = $1";
	struct rama_store_change c = { .job = job };
	int rc = rama_store_rows(s, get, ARGS(I(job)), sum_row, &c, e);

	if (rc >= 0)
		rc = rama_store_ints(s, span, ARGS(I(job)), &c.span, 1, e);
	if (rc >= 0 && s->far.place.ops != NULL) /* whose blocks are not looked at again */
		rc = rama_store_ints(s, longest, ARGS(I(job), I(c.span)), &c.span, 1, e);
	if (rc >= 0)
		rc = rama_store_ints(s, files, ARGS(I(job)), &c.files, 1, e);
	if (rc >= 0)
		rc = rama_store_do(s, zero, ARGS(I(job)), e);
	if (rc >= 0)
		rc = rama_store_do(s, no_span, ARGS(I(job)), e);
	return rc < 0 ? rc : add_sums(s, &c, e);
}

/* ---- what follows from processes and log ----------------------------------------------------- */

enum {
	COUNT,
	START,
	END,
	NPROCS,
	RANKS,
	HOSTS,
	RUNNING,
	KILLED,
	MADE,
	STORED,
	DROPPED,
	MISSED,
	LOST,
	SEEN,
	SUMS
};
struct seen {
	int64_t p[SUMS]; /* of its processes */
	int64_t logged, log_start, log_end, log_nprocs, complete;
	int64_t lost;
	int64_t seen; /* of a job without processes: when its row was made */
};

static int look(struct rama_store *s, int64_t job, struct seen *w, struct rama_err *e)
{
	static const char processes[] =
		"SELECT count(*), min(start_ns), max(end_ns), max(nprocs), count(DISTINCT CASE"
		" WHEN rank >= 0 THEN rank END), count(DISTINCT CASE WHEN host <> '' THEN host"
		" END), CAST(sum(CASE WHEN state = 'running' THEN 1 ELSE 0 END) AS BIGINT),"
		" CAST(sum(CASE WHEN state = 'killed' THEN 1 ELSE 0 END) AS BIGINT),"
		" CAST(sum(made) AS BIGINT), CAST(sum(stored) AS BIGINT), CAST(sum(dropped) AS"
		" BIGINT), CAST(sum(missed) AS BIGINT), CAST(sum(CASE WHEN state = 'lost' THEN 1 "
		"ELSE 0"
		" END) AS BIGINT), max(seen_ns) FROM processes WHERE job = $1";
	static const char log[] =
		"SELECT 1, start_ns, end_ns, nprocs, complete FROM logs WHERE job = $1";
	static const char losses[] =
		"SELECT CAST(sum(events) AS BIGINT) FROM losses WHERE job = $1";
	static const char made[] = "SELECT seen_ns FROM jobs WHERE number = $1";
	int rc = rama_store_ints(s, processes, ARGS(I(job)), w->p, SUMS, e);

	if (rc >= 0 && w->p[COUNT] == 0)
		rc = rama_store_ints(s, made, ARGS(I(job)), &w->seen, 1, e);

	if (rc >= 0)
		rc = rama_store_ints(s, log, ARGS(I(job)), &w->logged, 5, e);
	if (rc >= 0)
		rc = rama_store_ints(s, losses, ARGS(I(job)), &w->lost, 1, e);
	return rc < 0 ? rc : 0;
}

struct first {
	struct rama_store *s;
	int64_t job;
	const struct seen *w;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* A job without a log is named after its first process. */
static int name_it(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	static const char tag[] = "UPDATE jobs SET tag = $2 WHERE number = $1";
	static const char all[] =
		"UPDATE jobs SET username = $2, uid = $3, jobid = $4, name = $5, command = $6"
		" WHERE number = $1 AND logged = 0";
	const struct first *f = ctx;
	const struct rama_store_cell *c = row->cell;
	int rc = rama_store_do(f->s, tag, ARGS(I(f->job), c[5]), e);

	if (rc == 0 && !f->w->logged)
		rc = rama_store_do(f->s, all,
				   ARGS(I(f->job), c[0], c[1], c[2],
					rama_store_cell_t(base_name(c[3].text)),
					c[4].len > 0 ? c[4] : c[3]),
				   e);
	return rc < 0 ? rc : 1;
}

static int64_t least(int64_t a, int64_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Nobody is in it, and no log came: is somebody still to come? */
static bool is_deserted(const struct rama_store *s, const struct seen *w)
{
	return s->reaping != 0 && w->p[COUNT] == 0 && !w->logged &&
	       w->seen < s->reaping - RAMA_STORE_LOST_AFTER;
}

static const char *state_of(const struct seen *w, bool runs, bool deserted)
{
	if (runs)
		return "running";
	if (w->logged) /* which knows better */
		return w->complete ? "done" : "incomplete";
	if (deserted || w->p[LOST] > 0)
		return "lost";
	return w->p[KILLED] > 0 ? "incomplete" : "done";
}

static int write_row(struct rama_store *s, int64_t job, const struct seen *w, struct rama_err *e)
{
	static const char sql[] =
		"UPDATE jobs SET start_ns = $2, end_ns = $3, nprocs = $4, nodes = CASE WHEN $5 >"
		" 0 THEN $5 ELSE nodes END, state = $6, source = CASE WHEN key LIKE 'import/%'"
		" THEN 'import' WHEN $7 > 0 THEN 'live' ELSE source END, processes = $7, made ="
		" $8, events = $9, dropped = $10, lost = $11, missed = $12, seen_ns = $13"
		" WHERE number = $1";
	static const char time[] = "UPDATE jobs SET run_time = $2 WHERE number = $1 AND logged = 0";
	static const char none[] = "UPDATE jobs SET run_time = NULL WHERE number = $1 AND"
				   " logged = 0 AND run_time IS NOT NULL";
	bool deserted = is_deserted(s, w);
	bool runs = w->p[RUNNING] > 0 || (w->p[COUNT] == 0 && !w->logged && !deserted);
	int64_t start = least(w->p[START], w->log_start);
	int64_t seen = w->p[COUNT] > 0 ? w->p[SEEN] : w->seen;
	int64_t end = runs ? 0 : most(most(w->p[END], w->log_end), deserted ? seen : start);
	int64_t nprocs = most(most(w->p[NPROCS], w->log_nprocs), w->p[RANKS]);
	int rc = rama_store_do(s, sql,
			       ARGS(I(job), rama_store_cell_when(start), rama_store_cell_when(end),
				    I(nprocs > 0 ? nprocs : w->p[COUNT]), I(w->p[HOSTS]),
				    rama_store_cell_t(state_of(w, runs, deserted)), I(w->p[COUNT]),
				    I(w->p[MADE]), I(w->p[STORED]), I(w->p[DROPPED]),
				    I(w->p[DROPPED] + w->lost), I(w->p[MISSED]),
				    rama_store_cell_when(seen)),
			       e);

	if (rc == 0 && !runs)
		rc = rama_store_moment_remove(s, job, e);
	if (rc == 0 && runs)
		rc = rama_store_do(s, none, ARGS(I(job)), e);
	else if (rc == 0 && start != 0)
		rc = rama_store_do(
			s, time,
			ARGS(I(job), rama_store_cell_f(((double)end - (double)start) / 1e9)), e);
	return rc;
}

/* A job whose processes have all moved to another one, or that was only ever named by what is
 * older: what is left goes there too. 1: it is gone. */
static int dissolve(struct rama_store *s, int64_t job, struct rama_err *e)
{
	static const char find[] = "SELECT min(a.job) FROM jobs j JOIN aliases a ON a.key = j.key"
				   " WHERE j.number = $1 AND a.job <> $1";
	static const char losses[] = "UPDATE losses SET job = $2 WHERE job = $1";
	struct rama_store_change *c;
	int64_t to = 0;
	int rc = rama_store_ints(s, find, ARGS(I(job)), &to, 1, e);

	if (rc < 0 || to == 0)
		return rc < 0 ? rc : 0;
	rc = rama_store_do(s, losses, ARGS(I(job), I(to)), e);
	if (rc == 0)
		rc = rama_store_job_remove(s, job, false, e);
	c = rc == 0 ? rama_store_batch_change(s, to) : NULL;
	if (rc == 0 && c == NULL)
		rc = rama_err_no_memory(e);
	if (c != NULL)
		c->settle = true;
	return rc == 0 ? 1 : rc;
}

/* of all jobs together */
static int count_events(struct rama_store *s, int64_t stored, int64_t lost)
{
	int rc = rama_store_totals_add(s, "events", "stored", "", stored);

	return rc == 0 ? rama_store_totals_add(s, "events", "lost", "", lost) : rc;
}

static int settle(struct rama_store *s, const struct rama_store_change *c, struct rama_err *e)
{
	static const char first[] =
		"SELECT username, uid, jobid, exe, command, tag FROM processes"
		" WHERE job = $1 AND version >= 0 ORDER BY start_ns, pid LIMIT 1";
	/* others who write to it wait from here on: what is summed up now is all there is */
	static const char lock[] =
		"SELECT number, events, lost FROM jobs WHERE number = $1 /*lock*/";
	struct seen w = { 0 };
	struct first f = { s, c->job, &w };
	int64_t old[3] = { 0 };
	int rc = rama_store_ints(s, lock, ARGS(I(c->job)), old, 3, e);

	if (rc <= 0)
		return rc;
	rc = c->recount ? sum_again(s, c->job, e) : add_sums(s, c, e);
	if (rc == 0 && c->recount)
		rc = rama_store_series_again(s, c->job, e);
	if (rc != 0 || !(c->settle || c->recount))
		return rc;
	rc = look(s, c->job, &w, e);
	if (rc == 0 && w.p[COUNT] == 0 && !w.logged) {
		rc = dissolve(s, c->job, e);
		if (rc > 0 && count_events(s, -old[1], -old[2]) != 0)
			return rama_err_no_memory(e);
		if (rc != 0)
			return rc < 0 ? rc : 0;
	}
	if (rc == 0)
		rc = write_row(s, c->job, &w, e);
	if (rc == 0 && count_events(s, w.p[STORED] - old[1], w.p[DROPPED] + w.lost - old[2]) != 0)
		rc = rama_err_no_memory(e);
	return rc == 0 ? rama_store_rows(s, first, ARGS(I(c->job)), name_it, &f, e) : rc;
}

int rama_store_job_settle(struct rama_store *s, const struct rama_store_change *c,
			  struct rama_err *e)
{
	int rc = settle(s, c, e);

	return rc == 0 ? rama_store_days_settle(s, c->job, false, e) : rc;
}

/* ---- removing -------------------------------------------------------------------------------- */

static int remove_counters(struct rama_store *s, int64_t job, struct rama_err *e)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < RAMA_TAB_MODULES_KNOWN; i++)
		if (s->table[i].remove != NULL)
			rc = rama_store_do(s, s->table[i].remove, ARGS(I(job)), e);
	return rc;
}

int rama_store_job_remove_log(struct rama_store *s, int64_t job, struct rama_err *e)
{
	static const char *const of_log[] = {
		"DELETE FROM findings WHERE job = $1",
		"DELETE FROM figure_values WHERE job = $1",
		"DELETE FROM logs WHERE job = $1",
		"DELETE FROM served WHERE of_job = $1",
	};
	int rc = remove_counters(s, job, e);

	for (size_t i = 0; rc == 0 && i < sizeof(of_log) / sizeof(of_log[0]); i++)
		rc = rama_store_do(s, of_log[i], ARGS(I(job)), e);
	return rc;
}

int rama_store_job_remove(struct rama_store *s, int64_t job, bool events, struct rama_err *e)
{
	static const char *const of_events[] = {
		"DELETE FROM rollups WHERE job = $1",
		"DELETE FROM activity WHERE job = $1",
	};
	static const char *const of_rest[] = {
		"DELETE FROM counted WHERE job = $1",	  "DELETE FROM processes WHERE job = $1",
		"DELETE FROM files WHERE job = $1",	  "DELETE FROM losses WHERE job = $1",
		"DELETE FROM aliases WHERE job = $1",	  "DELETE FROM trials WHERE job = $1",
		"DELETE FROM notice_jobs WHERE job = $1", "DELETE FROM jobs WHERE number = $1",
	};
	static const char pruned[] = "UPDATE jobs SET pruned = 1, max_span = 0 WHERE number = $1";
	struct rama_store_gone gone = { .job = job };
	int rc = rama_store_blocks_sql.remove(&s->near, &gone, 1, 0, e);

	if (rc == 0)
		rc = rama_store_far_removed(s, job, e);
	for (size_t i = 0; rc == 0 && i < sizeof(of_events) / sizeof(of_events[0]); i++)
		rc = rama_store_do(s, of_events[i], ARGS(I(job)), e);
	if (rc == 0 && events)
		return rama_store_do(s, pruned, ARGS(I(job)), e);
	if (rc == 0)
		rc = rama_store_job_remove_log(s, job, e);
	if (rc == 0)
		rc = rama_store_series_remove(s, job, e);
	if (rc == 0)
		rc = rama_store_moment_remove(s, job, e);
	if (rc == 0)
		rc = rama_store_days_settle(s, job, true, e);
	for (size_t i = 0; rc == 0 && i < sizeof(of_rest) / sizeof(of_rest[0]); i++)
		rc = rama_store_do(s, of_rest[i], ARGS(I(job)), e);
	return rc;
}
