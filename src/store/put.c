/* SPDX-License-Identifier: BSD-3-Clause */
/* put.c: messages of agents become rows. Each may come twice and in any order: what is there
 * already stays. */
#include <string.h>

#include "store/blocks/far.h"

/* ---- counters of processes ------------------------------------------------------------------- */

/* What the counters of processes stand at, as far as it is known here, and what they gained
 * since. An agent tells where they stand, never what it believes to be new: of agents that are
 * killed, and of messages that come twice or late, nothing is lost and nothing is counted twice.
 * The table `counted` has the sums of `activity`, by process and layer. */

enum { READS, WRITES, METAS, BYTES_READ, BYTES_WRITTEN, READ_NS, WRITE_NS, META_NS, FIGURES };
_Static_assert((int)FIGURES == (int)RAMA_STORE_FIGURES, "figures of a gain");

struct known {
	char layer[16];
	int64_t version, t;
	int64_t figure[FIGURES];
	int64_t last[RAMA_STORE_KINDS]; /* second up to which each kind is in the series */
	bool there;
};

struct all {
	struct known k[RAMA_WIRE_MSG_GAINS];
	unsigned n;
};

/* what counters of one layer of a process may stand at: a petabyte, two weeks of all threads
 * together */
#define TOTAL_MOST (1ll << 50)
#define SECOND 1000000000ll

static void to_figures(int64_t to[FIGURES], const struct rama_wire_msg_gain *g)
{
	const int64_t from[FIGURES] = { g->reads,	  g->writes,  g->metas,	   g->bytes_read,
					g->bytes_written, g->read_ns, g->write_ns, g->meta_ns };

	for (unsigned i = 0; i < FIGURES; i++)
		to[i] = rama_store_told((uint64_t)from[i], TOTAL_MOST);
}

static int take_known(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct all *a = ctx;
	struct known *k = &a->k[a->n];

	(void)e;
	if (a->n == RAMA_WIRE_MSG_GAINS || row->cell[0].len >= sizeof(k->layer))
		return 0;
	*k = (struct known){ .version = row->cell[1].i, .t = row->cell[2].i, .there = true };
	memcpy(k->layer, row->cell[0].text, row->cell[0].len);
	for (unsigned i = 0; i < FIGURES; i++)
		k->figure[i] = row->cell[3 + i].i;
	for (unsigned i = 0; i < RAMA_STORE_KINDS; i++)
		k->last[i] = row->cell[3 + FIGURES + i].i;
	a->n++;
	return 0;
}

static int read_known(struct rama_store *s, int64_t process, struct all *a, struct rama_err *e)
{
	static const char sql[] =
		"SELECT layer, version, t_ns, reads, writes, metas, bytes_read, bytes_written,"
		" read_ns, write_ns, meta_ns, read_second, write_second, meta_second"
		" FROM counted WHERE process = $1";

	a->n = 0;
	return rama_store_rows(s, sql, ARGS(I(process)), take_known, a, e);
}

/* NULL: there are more layers than any process has */
static struct known *known_of(struct all *a, const char *layer)
{
	for (unsigned i = 0; i < a->n; i++)
		if (strcmp(a->k[i].layer, layer) == 0)
			return &a->k[i];
	if (a->n == RAMA_WIRE_MSG_GAINS)
		return NULL;
	a->k[a->n] = (struct known){ .version = -1, .last = { -1, -1, -1 } };
	memcpy(a->k[a->n].layer, layer, strlen(layer) + 1);
	return &a->k[a->n++];
}

static int write_known(struct rama_store *s, const struct rama_store_process *p,
		       const struct known *k, struct rama_err *e)
{
	static const char sql[] =
		"INSERT INTO counted (job, process, layer, version, t_ns, reads, writes, metas,"
		" bytes_read, bytes_written, read_ns, write_ns, meta_ns, read_second,"
		" write_second, meta_second) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,"
		" $11, $12, $13, $14, $15, $16) ON CONFLICT (process, layer) DO UPDATE"
		" SET job = excluded.job, version = excluded.version, t_ns = excluded.t_ns,"
		" reads = excluded.reads, writes = excluded.writes, metas = excluded.metas,"
		" bytes_read = excluded.bytes_read, bytes_written = excluded.bytes_written,"
		" read_ns = excluded.read_ns, write_ns = excluded.write_ns,"
		" meta_ns = excluded.meta_ns, read_second = excluded.read_second,"
		" write_second = excluded.write_second, meta_second = excluded.meta_second";
	const int64_t *f = k->figure;

	return rama_store_do(s, sql,
			     ARGS(I(p->job), I(p->number), rama_store_cell_t(k->layer),
				  I(k->version), I(k->t), I(f[READS]), I(f[WRITES]), I(f[METAS]),
				  I(f[BYTES_READ]), I(f[BYTES_WRITTEN]), I(f[READ_NS]),
				  I(f[WRITE_NS]), I(f[META_NS]), I(k->last[0]), I(k->last[1]),
				  I(k->last[2])),
			     e);
}

/* bytes that went through several layers count once: where they left the program */
static bool is_lowest(const char *layer)
{
	return strcmp(layer, "POSIX") == 0 || strcmp(layer, "STDIO") == 0 ||
	       strcmp(layer, "EXTRA") == 0;
}

static void add_to_job(struct rama_store_change *c, const int64_t g[FIGURES])
{
	c->reads = rama_store_sum(c->reads, g[READS]);
	c->writes = rama_store_sum(c->writes, g[WRITES]);
	c->metas = rama_store_sum(c->metas, g[METAS]);
	c->bytes_read = rama_store_sum(c->bytes_read, g[BYTES_READ]);
	c->bytes_written = rama_store_sum(c->bytes_written, g[BYTES_WRITTEN]);
	c->io_ns = rama_store_sum(c->io_ns, g[READ_NS] + g[WRITE_NS] + g[META_NS]);
	c->meta_ns = rama_store_sum(c->meta_ns, g[META_NS]);
}

struct interval {
	int64_t t, width;
};

/* A row of activity. Two agents may tell of the same moment: what is there already grows, or
 * (once) stays. */
static int put_row(struct rama_store *s, const struct rama_store_process *p, const char *layer,
		   struct interval in, const int64_t g[FIGURES], int64_t *once, struct rama_err *e)
{
#define ROW                                                                                       \
	"INSERT INTO activity (job, t_ns, process, layer, rank, width_ns, reads, writes, metas,"  \
	" bytes_read, bytes_written, read_ns, write_ns, meta_ns) VALUES ($1, $2, $3, $4, $5, $6," \
	" $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT (job, t_ns, process, layer) DO "
	static const char add[] =
		ROW "UPDATE SET reads = activity.reads + excluded.reads, writes ="
		    " activity.writes + excluded.writes, metas = activity.metas + excluded.metas,"
		    " bytes_read = activity.bytes_read + excluded.bytes_read, bytes_written ="
		    " activity.bytes_written + excluded.bytes_written, read_ns = activity.read_ns +"
		    " excluded.read_ns, write_ns = activity.write_ns + excluded.write_ns, meta_ns ="
		    " activity.meta_ns + excluded.meta_ns";
	static const char first[] = ROW "NOTHING";
#undef ROW

	return rama_store_count(s, once != NULL ? first : add,
				ARGS(I(p->job), I(in.t), I(p->number), rama_store_cell_t(layer),
				     I(p->rank), I(in.width), I(g[READS]), I(g[WRITES]),
				     I(g[METAS]), I(g[BYTES_READ]), I(g[BYTES_WRITTEN]),
				     I(g[READ_NS]), I(g[WRITE_NS]), I(g[META_NS])),
				once, e);
}

/* ... and counts for the whole site */
static int count_gain(struct rama_store *s, const struct rama_store_gain *g)
{
	static const char *const kind[] = { "read", "write", "meta" };
	const int64_t *f = g->figure;
	int rc = 0;

	for (unsigned k = 0; rc == 0 && k < 3; k++) {
		rc = rama_store_totals_add(s, "calls", g->layer, kind[k], f[k]);
		if (rc == 0 && k < 2)
			rc = rama_store_totals_add(s, "bytes", g->layer, kind[k], f[3 + k]);
		if (rc == 0)
			rc = rama_store_totals_add(s, "ns", g->layer, kind[k], f[5 + k]);
	}
	return rc;
}

/* what was gained goes into the sums of the job by time */
static int add_to_series(struct rama_store *s, const struct rama_store_process *p, struct known *k,
			 struct interval in, const int64_t gain[FIGURES], struct rama_err *e)
{
	struct rama_store_gain g = { .job = p->job, .rank = p->rank, .t = in.t, .width = in.width };

	memcpy(g.layer, k->layer, sizeof(g.layer));
	memcpy(g.figure, gain, sizeof(g.figure));
	return rama_store_series_gain(s, &g, k->last) == 0 && count_gain(s, &g) == 0
		       ? 0
		       : rama_err_no_memory(e);
}

/* ns from one moment to the next; clocks may be set back */
static int64_t width_of(int64_t from, int64_t to)
{
	int64_t width;

	return __builtin_sub_overflow(to, from, &width) || width <= 0 ? SECOND : width;
}

static int put_total(struct rama_store *s, const struct rama_store_process *p,
		     const struct rama_wire_msg_counters *m, const struct rama_wire_msg_gain *total,
		     struct known *k, struct rama_err *e)
{
	struct rama_store_change *c = rama_store_batch_change(s, p->job);
	struct interval in = { m->t, width_of(k->there ? k->t : m->since, m->t) };
	int64_t now[FIGURES], gain[FIGURES], any = 0;
	int rc = 0;

	if (c == NULL)
		return rama_err_no_memory(e);
	to_figures(now, total);
	for (unsigned i = 0; i < FIGURES; i++) {
		gain[i] = now[i] > k->figure[i] ? now[i] - k->figure[i] : 0;
		k->figure[i] += gain[i];
		any |= gain[i];
	}
	if (any != 0)
		rc = put_row(s, p, k->layer, in, gain, NULL, e);
	if (rc == 0 && any != 0)
		rc = add_to_series(s, p, k, in, gain, e);
	if (rc == 0 && is_lowest(k->layer))
		add_to_job(c, gain);
	k->there = true;
	k->version = rama_store_told(m->version, INT64_MAX);
	k->t = m->t;
	return rc == 0 ? write_known(s, p, k, e) : rc;
}

static int put_counters(struct rama_store *s, const struct rama_wire_msg_counters *m,
			struct rama_err *e)
{
	struct rama_store_process *p;
	struct all a;
	int rc = rama_store_process_get(s, &m->segment, m->job, m->rank, &p, e);

	if (rc == 0)
		rc = read_known(s, p->number, &a, e);
	for (uint32_t i = 0; rc == 0 && i < m->n; i++) {
		struct known *k = known_of(&a, m->total[i].layer);

		/* a newer one came before it, and had all that this one tells */
		if (k == NULL || rama_store_told(m->version, INT64_MAX) <= k->version)
			continue;
		rc = put_total(s, p, m, &m->total[i], k, e);
	}
	if (rc == 0)
		rama_store_process_seen(s, p, m->t);
	return rc;
}

/* ---- gains, as agents once told them, and as archives are copied ----------------------------- */

static int put_gain(struct rama_store *s, struct rama_store_process *p,
		    const struct rama_wire_msg_activity *m, const struct rama_wire_msg_gain *g,
		    struct rama_err *e)
{
	struct rama_store_change *c = rama_store_batch_change(s, p->job);
	int64_t gain[FIGURES], changed = 0;
	struct known *k;
	struct all a;
	int rc;

	if (c == NULL)
		return rama_err_no_memory(e);
	to_figures(gain, g);
	rc = put_row(s, p, g->layer, (struct interval){ m->t, m->width }, gain, &changed, e);
	if (rc != 0 || changed == 0)
		return rc;
	if (is_lowest(g->layer))
		add_to_job(c, gain);
	rc = read_known(s, p->number, &a, e);
	k = rc == 0 ? known_of(&a, g->layer) : NULL;
	if (k == NULL)
		return rc;
	for (unsigned i = 0; i < FIGURES; i++)
		k->figure[i] = rama_store_sum(k->figure[i], gain[i]);
	k->version = k->version < 0 ? 0 : k->version;
	k->t = !k->there || m->t > k->t ? m->t : k->t;
	rc = add_to_series(s, p, k, (struct interval){ m->t, m->width }, gain, e);
	return rc == 0 ? write_known(s, p, k, e) : rc;
}

static int put_activity(struct rama_store *s, const struct rama_wire_msg_activity *m,
			struct rama_err *e)
{
	struct rama_store_process *p;
	int rc = rama_store_process_get(s, &m->segment, m->job, m->rank, &p, e);

	for (uint32_t i = 0; rc == 0 && i < m->n; i++)
		rc = put_gain(s, p, m, &m->gain[i], e);
	if (rc == 0)
		rama_store_process_seen(s, p, m->t);
	return rc;
}

/* ---- processes ------------------------------------------------------------------------------- */

/* What is known of a process. Its newest message says which job and rank all belongs to that it
 * did; older ones, and what blocks say, count only until that comes. */

/* The names of files that were told for a job are good for one that has taken over processes of
 * it, also those that are told later. */
static int name_again(struct rama_store *s, const char *key, int64_t old, int64_t job,
		      struct rama_err *e)
{
	static const char alias[] = "INSERT INTO aliases (key, job) VALUES ($1, $2)"
				    " ON CONFLICT (key, job) DO NOTHING";
	static const char inherit[] = "INSERT INTO aliases (key, job) SELECT key, CAST($2 AS "
				      "BIGINT) FROM aliases WHERE job = $1"
				      " ON CONFLICT (key, job) DO NOTHING";
	static const char files[] = "INSERT INTO files (job, record, path) SELECT CAST($2 AS "
				    "BIGINT), record, path FROM files"
				    " WHERE job = $1 ON CONFLICT (job, record) DO NOTHING";
	struct rama_store_change *c;
	int rc = rama_store_do(s, alias, ARGS(rama_store_cell_t(key), I(job)), e);

	if (rc == 0 && old > 0)
		rc = rama_store_do(s, inherit, ARGS(I(old), I(job)), e);
	if (rc == 0 && old > 0)
		rc = rama_store_do(s, files, ARGS(I(old), I(job)), e);
	for (int i = 0; rc == 0 && i < 2; i++) {
		if ((i == 0 ? job : old) <= 0)
			continue;
		c = rama_store_batch_change(s, i == 0 ? job : old);
		if (c == NULL)
			return rama_err_no_memory(e);
		c->settle = c->recount = true;
	}
	return rc;
}

struct key_of {
	char key[RAMA_WIRE_JOB];
};

static int take_key(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct key_of *k = ctx;
	size_t n = row->cell[0].len;

	(void)e;
	if (n < sizeof(k->key))
		memcpy(k->key, row->cell[0].text, n);
	return 1;
}

static int key_of_job(struct rama_store *s, int64_t job, struct key_of *k, struct rama_err *e)
{
	static const char sql[] = "SELECT key FROM jobs WHERE number = $1";

	*k = (struct key_of){ 0 };
	return rama_store_rows(s, sql, ARGS(I(job)), take_key, k, e);
}

static int recount(struct rama_store *s, int64_t job, struct rama_err *e)
{
	struct rama_store_change *c = rama_store_batch_change(s, job);

	if (c == NULL)
		return rama_err_no_memory(e);
	c->recount = true;
	return 0;
}

int rama_store_process_move(struct rama_store *s, struct rama_store_process *p, int64_t job,
			    int64_t rank, struct rama_err *e)
{
	static const char blocks[] = "UPDATE blocks SET job = $2, rank = $3 WHERE process = $1";
	static const char rollups[] =
		"UPDATE rollups SET job = $2, rank = $3 WHERE process = $1 AND job = $4";
	static const char activity[] =
		"UPDATE activity SET job = $2, rank = $3 WHERE process = $1 AND job = $4";
	static const char counted[] = "UPDATE counted SET job = $2 WHERE process = $1";
	const struct rama_store_cell args[] = { I(p->number), I(job), I(rank), I(p->job) };
	int64_t old = p->job, old_rank = p->rank;
	struct key_of k;
	int rc;

	if (p->job == job && p->rank == rank)
		return 0;
	rc = rama_store_do(s, blocks, args, 3, e);
	if (rc == 0)
		rc = rama_store_do(s, rollups, args, 4, e);
	if (rc == 0)
		rc = rama_store_do(s, activity, args, 4, e);
	if (rc == 0)
		rc = rama_store_do(s, counted, args, 2, e);
	p->job = job;
	p->rank = rank;
	if (rc == 0 && s->far.place.ops != NULL)
		rc = rama_store_far_moved(s, p, args[3].i, old_rank, e);
	if (rc == 0 && old == job)
		return recount(s, job, e); /* who was slowest has another name */
	if (rc != 0)
		return rc;
	rc = key_of_job(s, old, &k, e);
	return rc == 0 ? name_again(s, k.key, old, job, e) : rc;
}

/* a message that is older than what is known tells one thing still: the job had another key */
static int older(struct rama_store *s, const struct rama_store_process *p, const char *key,
		 struct rama_err *e)
{
	static const char find[] = "SELECT number FROM jobs WHERE key = $1";
	int64_t old = 0;
	struct key_of k;
	int rc = key_of_job(s, p->job, &k, e);

	if (rc != 0 || strcmp(k.key, key) == 0)
		return rc;
	rc = rama_store_ints(s, find, ARGS(rama_store_cell_t(key)), &old, 1, e);
	return rc < 0 ? rc : name_again(s, key, old, p->job, e);
}

static const char *state_of(uint32_t state)
{
	return state == RAMA_WIRE_STATE_ENDED	   ? "ended"
	       : state == RAMA_WIRE_STATE_REPLACED ? "replaced"
	       : state == RAMA_WIRE_STATE_KILLED   ? "killed"
						   : "running";
}

/* a time that is not before the start, whatever the clocks were; 0: none */
static int64_t after(int64_t start, int64_t t)
{
	return t != 0 && t < start ? start : t;
}

static int update(struct rama_store *s, const struct rama_store_process *p,
		  const struct rama_wire_msg_process *m, struct rama_err *e)
{
	static const char sql[] =
		"UPDATE processes SET job = $2, rank = $3, host = $4, pid = $5, uid = $6,"
		" username = $7, jobid = $8, nprocs = $9, exe = $10, command = $11, tag = $12,"
		" start_ns = $13, end_ns = $14, seen_ns = $15, state = $16, version = $17, made ="
		" $18, dropped = $19, missed = $20, lanes = $21 WHERE number = $1";
#define TEXT(t) rama_store_cell_clean(s, t, strlen(t))
	return rama_store_do(s, sql,
			     ARGS(I(p->number), I(p->job), I(p->rank), TEXT(m->host), I(m->pid),
				  I(m->uid), TEXT(m->user), I(m->jobid), I(m->nprocs), TEXT(m->exe),
				  TEXT(m->command), TEXT(m->tag), rama_store_cell_when(m->start),
				  rama_store_cell_when(after(m->start, m->end)),
				  rama_store_cell_when(p->seen),
				  rama_store_cell_t(state_of(m->state)), I(p->version),
				  I(rama_store_told(m->made, RAMA_STORE_TOLD_MOST)),
				  I(rama_store_told(m->dropped, RAMA_STORE_TOLD_MOST)),
				  I(rama_store_told(m->missed, RAMA_STORE_TOLD_MOST)), I(m->lanes)),
			     e);
#undef TEXT
}

static int put_process(struct rama_store *s, const struct rama_wire_msg_process *m,
		       struct rama_err *e)
{
	struct rama_store_process *p;
	struct rama_store_change *c;
	int64_t job;
	int rc = rama_store_process_get(s, &m->segment, m->job, m->rank, &p, e);

	if (rc != 0)
		return rc;
	if (rama_store_told(m->version, INT64_MAX) <= p->version)
		return older(s, p, m->job, e);
	rc = rama_store_job_get(s, m->job, "live", &job, e);
	if (rc == 0)
		rc = rama_store_process_move(s, p, job, m->rank, e);
	p->version = rama_store_told(m->version, INT64_MAX);
	p->lost = false;
	p->seen = 0; /* as this message says it, and no message before */
	rama_store_process_seen(s, p, after(m->start, m->seen_at));
	p->was_seen = p->seen;
	if (rc == 0)
		rc = update(s, p, m, e);
	c = rc == 0 ? rama_store_batch_change(s, job) : NULL;
	if (rc == 0 && c == NULL)
		rc = rama_err_no_memory(e);
	if (c != NULL)
		c->settle = true;
	return rc;
}

/* ---- names ----------------------------------------------------------------------------------- */

#define MOST_ALIASES 64
struct jobs {
	int64_t job[MOST_ALIASES];
	unsigned n;
};

static int take_job(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct jobs *j = ctx;

	(void)e;
	if (j->n < MOST_ALIASES)
		j->job[j->n++] = row->cell[0].i;
	return 0;
}

/* a message about a job's key is for the job of that name, or for those that took its processes
 * over */
static int jobs_of(struct rama_store *s, const char *key, struct jobs *j, struct rama_err *e)
{
	static const char find[] = "SELECT number FROM jobs WHERE key = $1 /*hold*/";
	static const char alias[] = "SELECT job FROM aliases WHERE key = $1 ORDER BY job";
	int rc = rama_store_rows(s, find, ARGS(rama_store_cell_t(key)), take_job, j, e);

	if (rc == 0)
		rc = rama_store_rows(s, alias, ARGS(rama_store_cell_t(key)), take_job, j, e);
	if (rc == 0 && j->n == 0)
		rc = rama_store_job_get(s, key, "live", &j->job[j->n++], e);
	return rc;
}

static int put_names(struct rama_store *s, const struct rama_wire_msg_names *m, struct rama_err *e)
{
	struct jobs j = { .n = 0 };
	int rc = jobs_of(s, m->job, &j, e);

	for (unsigned i = 0; rc == 0 && i < j.n; i++)
		rc = rama_store_names_put(s, j.job[i], m->name, m->n, e);
	return rc;
}

/* part of keys, which have limits in databases */
#define LONGEST_NAME 255

static int check_name(const char *what, const char *name, struct rama_err *e)
{
	return strlen(name) <= LONGEST_NAME
		       ? 0
		       : rama_err_set(e, RAMA_ECORRUPT, "the name of %s is too long", what);
}

/* ---- samples, losses ------------------------------------------------------------------------- */

static int put_sample(struct rama_store *s, const struct rama_wire_msg_sample *m,
		      struct rama_err *e)
{
	static const char find[] =
		"SELECT number FROM sample_series WHERE host = $1 AND metric = $2";
	static const char make[] = "INSERT INTO sample_series (host, metric) VALUES ($1, $2)"
				   " ON CONFLICT (host, metric) DO NOTHING RETURNING number";
	static const char value[] = "INSERT INTO sample_values (series, t_ns, value)"
				    " VALUES ($1, $2, $3) ON CONFLICT (series, t_ns) DO NOTHING";
	static const char *const sql[2] = { find, make };
	int rc = check_name("a host", m->host, e);

	for (uint32_t i = 0; rc == 0 && i < m->n; i++) {
		const char *const name[2] = { m->host, m->figure[i].metric };
		int64_t series;

		rc = rama_store_number(s, &s->series, name, sql, &series, e);
		if (rc == 0)
			rc = rama_store_do(
				s, value,
				ARGS(I(series), I(m->t), rama_store_cell_f(m->figure[i].value)), e);
	}
	return rc;
}

static int put_loss(struct rama_store *s, const struct rama_wire_msg_loss *m, struct rama_err *e)
{
	static const char sql[] =
		"INSERT INTO losses (agent, number, job, why, events, messages)"
		" VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (agent, number) DO NOTHING";
	struct rama_store_change *c;
	struct jobs j = { .n = 1 }; /* 0: of no job in particular */
	int64_t changed = 0;
	int rc = check_name("an agent", m->agent, e);

	if (rc == 0 && m->job[0] != '\0') {
		j.n = 0;
		rc = jobs_of(s, m->job, &j, e);
	}
	if (rc == 0)
		rc = rama_store_count(s, sql,
				      ARGS(rama_store_cell_clean(s, m->agent, strlen(m->agent)),
					   I(m->number), I(j.job[0]),
					   rama_store_cell_clean(s, m->why, strlen(m->why)),
					   I(rama_store_told(m->events, RAMA_STORE_TOLD_MOST)),
					   I(rama_store_told(m->messages, RAMA_STORE_TOLD_MOST))),
				      &changed, e);
	if (rc != 0 || changed == 0 || j.job[0] == 0)
		return rc;
	c = rama_store_batch_change(s, j.job[0]);
	if (c == NULL)
		return rama_err_no_memory(e);
	c->settle = true;
	return 0;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static int put_block(struct rama_store *s, const unsigned char *bytes, size_t n, uint64_t *stored,
		     struct rama_err *e)
{
	int rc = rama_wire_block_unpack(&s->packer, s->block, bytes, n, e);

	return rc == 0 ? rama_store_events_put(s, s->block, bytes, n, stored, e) : rc;
}

int rama_store_put(struct rama_store *s, const struct rama_wire_message *m, uint64_t *stored,
		   struct rama_err *e)
{
	uint64_t none;

	if (stored == NULL)
		stored = &none;
	*stored = 0;
	if (!s->open)
		return rama_err_set(e, RAMA_EUSAGE, "no batch is open");
	if (s->text.total > 0) {
		rama_arena_fini(&s->text);
		s->text = (struct rama_arena){ 0 };
	}
	switch (m->kind) {
	case RAMA_WIRE_MSG_PROCESS:
		return put_process(s, &m->process, e);
	case RAMA_WIRE_MSG_NAMES:
		return put_names(s, &m->names, e);
	case RAMA_WIRE_MSG_BLOCK:
		return put_block(s, m->block.bytes, m->block.len, stored, e);
	case RAMA_WIRE_MSG_ACTIVITY:
		return put_activity(s, &m->activity, e);
	case RAMA_WIRE_MSG_COUNTERS:
		return put_counters(s, &m->counters, e);
	case RAMA_WIRE_MSG_SAMPLE:
		return put_sample(s, &m->sample, e);
	case RAMA_WIRE_MSG_LOSS:
		return put_loss(s, &m->loss, e);
	case RAMA_WIRE_MSG_MOMENT:
		return rama_store_moment_put(s, m, e);
	default:
		return rama_err_set(e, RAMA_EUSAGE, "not a message that a store takes by itself");
	}
}
