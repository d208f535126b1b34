/* SPDX-License-Identifier: BSD-3-Clause */
/* put_log.c: a job known from its log. The same log may come twice, under two keys: by an agent
 * with the key of the job it saw running, and from a folder with a key made of the log. */
#include <math.h>
#include <string.h>

#include "base/siphash.h"
#include "logfile/meta.h"
#include "store/handle.h"

#define BATCH_WORD 128
#define NEAR_NS 500000000 /* starts of a job, as its log and as its processes tell it */

struct place {
	int64_t job;	  /* 0: a new one */
	int64_t replaced; /* another row of the same log, to be removed; 0: none */
	int64_t logged, processes;
};

/* logs say anything; moments that no calendar of ours has are none */
static int64_t moment(int64_t sec, int64_t nsec)
{
	return sec < 0 || sec > 9000000000 || nsec < 0 || nsec > 999999999
		       ? 0
		       : sec * 1000000000 + nsec;
}

static int64_t start_of(const struct rama_store_log *l)
{
	return moment(l->log->job.start_sec, l->log->job.start_nsec);
}

static int64_t end_of(const struct rama_store_log *l)
{
	return moment(l->log->job.end_sec, l->log->job.end_nsec);
}

static int processes_of(struct rama_store *s, int64_t job, int64_t *n, struct rama_err *e)
{
	static const char sql[] = "SELECT count(*) FROM processes WHERE job = $1";
	int rc = rama_store_ints(s, sql, ARGS(I(job)), n, 1, e);

	return rc < 0 ? rc : 0;
}

/* A job that was seen running and whose log this is, by all that both know. */
static int find_live(struct rama_store *s, const struct rama_store_log *l, int64_t *job,
		     struct rama_err *e)
{
	static const char sql[] =
		"SELECT number FROM jobs WHERE jobid = $1 AND uid = $2 AND source = 'live' AND"
		" logged = 0 AND state <> 'running' AND start_ns BETWEEN $3 AND $4 AND name = $5"
		" ORDER BY abs(start_ns - $6) LIMIT 1";
	int64_t start = start_of(l);
	int rc = rama_store_ints(s, sql,
				 ARGS(I(l->log->job.jobid), I(l->log->job.uid), I(start - NEAR_NS),
				      I(start + NEAR_NS),
				      rama_store_cell_clean(s, l->name, strlen(l->name)), I(start)),
				 job, 1, e);

	return rc < 0 ? rc : 0;
}

/* A log that took the place of another in its folder: a job that was seen running stays, without
 * its log's path. */
static int find_path(struct rama_store *s, const struct rama_store_log *l, int64_t *job,
		     struct rama_err *e)
{
	static const char find[] = "SELECT job FROM logs WHERE path = $1";
	static const char away[] = "UPDATE logs SET path = '' WHERE job = $1";
	int64_t n = 0, at = 0;
	int rc = rama_store_ints(s, find, ARGS(rama_store_cell_clean(s, l->path, strlen(l->path))),
				 &at, 1, e);

	if (rc <= 0)
		return rc;
	rc = processes_of(s, at, &n, e);
	if (rc == 0 && n > 0)
		return rama_store_do(s, away, ARGS(I(at)), e);
	*job = at;
	return rc;
}

/* "<uid>/<jobid>/<start>/<hash>": a key that `iorama index` made of a log, not one of a job that
 * was seen running */
static bool made_of_log(const char *key)
{
	unsigned slashes = 0;

	for (; *key != '\0'; key++)
		slashes += *key == '/';
	return slashes == 3;
}

/* The log was found in a folder first, now it comes from an agent: the job gets the key that its
 * processes have. */
static int rename_job(struct rama_store *s, const struct rama_store_log *l, int64_t job,
		      struct rama_err *e)
{
	static const char sql[] = "UPDATE jobs SET key = $2 WHERE number = $1 AND processes = 0"
				  " AND key = (SELECT g.key FROM logs g WHERE g.job = $1)";

	return made_of_log(l->key)
		       ? 0
		       : rama_store_do(s, sql, ARGS(I(job), rama_store_cell_t(l->key)), e);
}

static int find_place(struct rama_store *s, const struct rama_store_log *l, struct place *p,
		      struct rama_err *e)
{
	static const char by_key[] = "SELECT number FROM jobs WHERE key = $1";
	static const char by_hash[] = "SELECT job FROM logs WHERE hash = $1";
	static const char by_log[] = "SELECT job FROM logs WHERE key = $1";
	int64_t same = 0, n = 0;
	int rc = rama_store_ints(s, by_key, ARGS(rama_store_cell_t(l->key)), &p->job, 1, e);

	if (rc >= 0 && l->hash != 0)
		rc = rama_store_ints(s, by_hash, ARGS(I(l->hash)), &same, 1, e);
	if (rc >= 0 && p->job != 0 && same != 0 && same != p->job) {
		rc = processes_of(s, same, &n, e);
		p->replaced = n == 0 ? same : 0;
	} else if (rc >= 0 && p->job == 0 && same != 0) {
		p->job = same;
		rc = rename_job(s, l, same, e);
	}
	if (rc >= 0 && p->job == 0)
		rc = rama_store_ints(s, by_log, ARGS(rama_store_cell_t(l->key)), &p->job, 1, e);
	if (rc >= 0 && p->job == 0 && l->path[0] != '\0')
		rc = find_path(s, l, &p->job, e);
	if (rc >= 0 && p->job == 0)
		rc = find_live(s, l, &p->job, e);
	return rc < 0 ? rc : 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int make_job(struct rama_store *s, const struct rama_store_log *l, struct place *p,
		    struct rama_err *e)
{
	static const char get[] = "SELECT logged, processes FROM jobs WHERE number = $1";
	int64_t v[2] = { 0 };
	int rc = 0;

	if (p->replaced != 0)
		rc = rama_store_job_remove(s, p->replaced, false, e);
	if (rc == 0 && p->job == 0)
		return rama_store_job_get(s, l->key, "log", &p->job, e);
	if (rc == 0)
		rc = rama_store_ints(s, get, ARGS(I(p->job)), v, 2, e);
	p->logged = v[0];
	p->processes = v[1];
	if (rc >= 0 && p->logged)
		rc = rama_store_job_remove_log(s, p->job, e);
	if (rc >= 0 && p->logged && p->processes == 0) {
		static const char files[] = "DELETE FROM files WHERE job = $1";

		rc = rama_store_do(s, files, ARGS(I(p->job)), e);
	}
	return rc < 0 ? rc : 0;
}

/* seconds of the findings that count; NULL: there are none */
static struct rama_store_cell cost_of(const struct rama_store_log *l)
{
	struct rama_store_cell sum = { .type = RAMA_STORE_CELL_NULL };

	for (size_t i = 0; i < l->n_findings; i++) {
		const struct rama_store_finding *f = &l->findings[i];

		if (strcmp(f->level, "HIGH") != 0 && strcmp(f->level, "WARN") != 0)
			continue;
		sum.type = RAMA_STORE_CELL_REAL;
		sum.f += isnan(f->cost) ? 0 : f->cost;
	}
	return sum;
}

static int put_row(struct rama_store *s, const struct rama_store_log *l, int64_t job,
		   struct rama_err *e)
{
	static const char sql[] =
		"UPDATE jobs SET name = $2, username = $3, uid = $4, jobid = $5, command = $6,"
		" start_ns = $7, end_ns = $8, run_time = $9, nprocs = $10, nodes = $11, state ="
		" $12, logged = 1, bytes_read = $13, bytes_written = $14, reads = $15, writes ="
		" $16, metas = $17, files = $18, io_time = $19, meta_time = $20, verdict = $21,"
		" complete = $22, cost = $23 WHERE number = $1";
	const struct rama_log_job *j = &l->log->job;
	const char *command = j->exe != NULL ? j->exe : "";

#define TEXT(t) rama_store_cell_clean(s, t, strlen(t))
	return rama_store_do(
		s, sql,
		ARGS(I(job), TEXT(l->name), TEXT(l->user), I(j->uid), I(j->jobid), TEXT(command),
		     rama_store_cell_when(start_of(l)), rama_store_cell_when(end_of(l)),
		     rama_store_cell_f(l->run_time), I(j->nprocs), I(l->nodes),
		     rama_store_cell_t(l->complete ? "done" : "incomplete"), I(l->bytes_read),
		     I(l->bytes_written), I(l->reads), I(l->writes), I(l->metas), I(l->files),
		     rama_store_cell_f(l->io_time), rama_store_cell_f(l->meta_time),
		     TEXT(l->verdict != NULL ? l->verdict : ""), I(l->complete), cost_of(l)),
		e);
}

static int put_log_row(struct rama_store *s, const struct rama_store_log *l, int64_t job,
		       struct rama_err *e)
{
	static const char sql[] =
		"INSERT INTO logs (job, key, path, size, mtime_ns, hash, start_ns, end_ns, nprocs,"
		" complete, kept, body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";

	return rama_store_do(
		s, sql,
		ARGS(I(job), rama_store_cell_t(l->key), TEXT(l->path), I(l->size), I(l->mtime_ns),
		     I(l->hash), rama_store_cell_when(start_of(l)), rama_store_cell_when(end_of(l)),
		     I(l->log->job.nprocs), I(l->complete), I(l->bytes != NULL),
		     l->bytes != NULL ? rama_store_cell_b(l->bytes, l->len)
				      : (struct rama_store_cell){ .type = RAMA_STORE_CELL_NULL }),
		e);
}

/* what the batch system said, if it is a log of ours that has it */
static int put_batch(struct rama_store *s, const struct rama_store_log *l, int64_t job,
		     struct rama_err *e)
{
	static const char sql[] = "UPDATE jobs SET batch_step = $2, batch_array = $3, "
				  "batch_restart = $4, batch_name ="
				  " $5, batch_account = $6, batch_partition = $7, batch_cluster = "
				  "$8, batch_nodes = $9"
				  " WHERE number = $1";
	struct rama_store_cell args[1 + RAMA_LOG_BATCH_WORDS] = { I(job) };
	char text[RAMA_LOG_BATCH_WORDS][BATCH_WORD];

	_Static_assert(RAMA_LOG_BATCH_WORDS == 8, "each word has its column");
	for (unsigned i = 0; i < RAMA_LOG_BATCH_WORDS; i++) {
		size_t n = 0;
		const char *word =
			rama_log_meta_get(l->log->job.metadata, rama_log_batch_keys[i], &n);

		n = n < BATCH_WORD - 1 ? n : BATCH_WORD - 1;
		memcpy(text[i], word != NULL ? word : "", n);
		text[i][n] = '\0';
		args[1 + i] = TEXT(text[i]);
	}
	return rama_store_do(s, sql, args, 1 + RAMA_LOG_BATCH_WORDS, e);
}

/* One log may lie in several places: each is remembered, so that nobody reads it again. */
static uint64_t place_hash(const char *path)
{
	static const struct rama_sipkey fixed = { 0x70617468206f6620u, 0x61206c6f67000000u };

	return rama_siphash(&fixed, path, strlen(path));
}

static int put_place(struct rama_store *s, const struct rama_store_log *l, struct rama_err *e)
{
	static const char sql[] =
		"INSERT INTO log_places (place, size, mtime_ns) VALUES ($1, $2, $3)"
		" ON CONFLICT (place) DO UPDATE SET size = excluded.size, mtime_ns = "
		"excluded.mtime_ns";

	if (l->path[0] == '\0')
		return 0;
	return rama_store_do(s, sql, ARGS(I(place_hash(l->path)), I(l->size), I(l->mtime_ns)), e);
}

static int put_findings(struct rama_store *s, const struct rama_store_log *l, int64_t job,
			struct rama_err *e)
{
	static const char sql[] = "INSERT INTO findings (job, number, rule, level, title, "
				  "evidence, advice, cost, bytes)"
				  " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < l->n_findings; i++) {
		const struct rama_store_finding *f = &l->findings[i];

		rc = rama_store_do(s, sql,
				   ARGS(I(job), I(i), TEXT(f->rule), TEXT(f->level), TEXT(f->title),
					TEXT(f->evidence != NULL ? f->evidence : ""),
					TEXT(f->advice != NULL ? f->advice : ""),
					rama_store_cell_f(f->cost), rama_store_cell_f(f->bytes)),
				   e);
	}
	return rc;
#undef TEXT
}

/* A log that is taken in again, or that was in the store under another name, counted before. */
static int count_findings(struct rama_store *s, const struct rama_store_log *l,
			  const struct place *p)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < l->n_findings && !p->logged && p->replaced == 0; i++)
		if (strcmp(l->findings[i].level, "OK") != 0)
			rc = rama_store_totals_add(s, "findings", l->findings[i].rule,
						   l->findings[i].level, 1);
	return rc;
}

#define AT_ONCE 12 /* figures in one statement: half of what a row costs is the statement */

/* n of them: AT_ONCE, or one */
static int put_some_figures(struct rama_store *s, const struct rama_store_cell *args, unsigned n,
			    struct rama_err *e)
{
#define INTO "INSERT INTO figure_values (figure, job, value) VALUES "
#define ONCE " ON CONFLICT (job, figure) DO NOTHING"
	static const char one[] = INTO "($1, $2, $3)" ONCE;
	static const char some[] = INTO "($1, $2, $3), ($4, $5, $6), ($7, $8, $9), ($10, $11, "
					"$12), ($13, $14, $15), ($16, $17, $18),"
					" ($19, $20, $21), ($22, $23, $24), ($25, $26, $27), ($28, "
					"$29, $30), ($31, $32, $33), ($34, $35, $36)" ONCE;
	int rc = 0;

	if (n == AT_ONCE)
		return rama_store_do(s, some, args, 3 * AT_ONCE, e);
	for (unsigned i = 0; rc == 0 && i < n; i++)
		rc = rama_store_do(s, one, &args[3 * (size_t)i], 3, e);
	return rc;
}

bool rama_store_figure_ranked(const char *name)
{
	static const char *const names[] = {
#define RANKED(name) #name,
#include "store/ranked.def"
#undef RANKED
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static int figure_number(struct rama_store *s, const char *figure, int64_t *number,
			 struct rama_err *e)
{
	static const char find[] = "SELECT number FROM figure_names WHERE name = $1";
	static const char make[] = "INSERT INTO figure_names (name) VALUES ($1)"
				   " ON CONFLICT (name) DO NOTHING RETURNING number";
	static const char *const sql[2] = { find, make };
	const char *const name[2] = { figure, "" };

	return rama_store_number(s, &s->figures, name, sql, number, e);
}

int rama_store_figures_put(struct rama_store *s, int64_t job,
			   const struct rama_store_figure *figures, size_t n_figures,
			   struct rama_err *e)
{
	static const char ranked[] = "INSERT INTO figure_values (figure, job, value, ranked)"
				     " VALUES ($1, $2, $3, 1) ON CONFLICT (job, figure) DO NOTHING";
	struct rama_store_cell args[3 * AT_ONCE];
	unsigned n = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n_figures; i++) {
		int64_t figure = 0;

		rc = figure_number(s, figures[i].name, &figure, e);
		args[3 * n] = rama_store_cell_i(figure);
		args[3 * n + 1] = rama_store_cell_i(job);
		args[3 * n + 2] = rama_store_cell_f(figures[i].value);
		if (rc == 0 && rama_store_figure_ranked(figures[i].name))
			rc = rama_store_do(s, ranked, &args[3 * (size_t)n], 3, e);
		else
			n++;
		if (rc == 0 && (n == AT_ONCE || i + 1 == n_figures)) {
			rc = put_some_figures(s, args, n, e);
			n = 0;
		}
	}
	return rc;
}

static int put_names(struct rama_store *s, const struct rama_store_log *l, int64_t job,
		     struct rama_err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < l->log->n_names; i++) {
		const struct rama_log_name *n = &l->log->names[i];
		struct rama_wire_msg_name name = { n->id, n->text, (uint32_t)n->len };

		rc = rama_store_names_put(s, job, &name, 1, e);
	}
	return rc;
}

/* What a server did for others than its owner, for them to see; one file has one reader. */
static int put_served(struct rama_store *s, const struct rama_store_log *l, int64_t job,
		      struct rama_err *e)
{
	static const char sql[] =
		"INSERT INTO served (of_job, number, username, uid, start_ns, end_ns, requests,"
		" body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < l->n_served && s->ops->many_readers; i++) {
		const struct rama_store_served *v = &l->served[i];

		rc = rama_store_do(s, sql,
				   ARGS(I(job), I((int64_t)i), rama_store_cell_t(v->user),
					I(v->uid), I(v->start_ns), I(v->end_ns),
					I((int64_t)v->requests),
					rama_store_cell_b(v->bytes, v->len)),
				   e);
	}
	return rc;
}

int rama_store_put_log(struct rama_store *s, const struct rama_store_log *l, struct rama_err *e)
{
	struct rama_store_change *c;
	struct place p = { 0 };
	int rc;

	if (!s->open)
		return rama_err_set(e, RAMA_EUSAGE, "no batch is open");
	if (s->text.total > 0) {
		rama_arena_fini(&s->text);
		s->text = (struct rama_arena){ 0 };
	}
	rc = find_place(s, l, &p, e);
	if (rc == 0)
		rc = make_job(s, l, &p, e);
	if (rc == 0)
		rc = put_row(s, l, p.job, e);
	if (rc == 0)
		rc = put_batch(s, l, p.job, e);
	if (rc == 0)
		rc = put_log_row(s, l, p.job, e);
	if (rc == 0)
		rc = put_place(s, l, e);
	if (rc == 0)
		rc = put_served(s, l, p.job, e);
	if (rc == 0)
		rc = put_names(s, l, p.job, e);
	if (rc == 0)
		rc = rama_store_counters_put(s, p.job, l->log, e);
	if (rc == 0)
		rc = put_findings(s, l, p.job, e);
	if (rc == 0 && count_findings(s, l, &p) != 0)
		rc = rama_err_no_memory(e);
	if (rc == 0)
		rc = rama_store_figures_put(s, p.job, l->figures, l->n_figures, e);
	c = rc == 0 ? rama_store_batch_change(s, p.job) : NULL;
	if (rc == 0 && c == NULL)
		rc = rama_err_no_memory(e);
	if (c != NULL) {
		c->files = 0; /* the log says how many */
		/* processes that this batch has brought are not in the row yet */
		c->settle = c->settle || p.processes > 0;
		c->row = true;
	}
	return rc;
}

int rama_store_has_log(struct rama_store *s, const char *path, int64_t size, int64_t mtime_ns,
		       struct rama_err *e)
{
	static const char sql[] =
		"SELECT 1 FROM log_places WHERE place = $1 AND size = $2 AND mtime_ns = $3";
	int64_t one;

	return rama_store_ints(s, sql, ARGS(I(place_hash(path)), I(size), I(mtime_ns)), &one, 1, e);
}
