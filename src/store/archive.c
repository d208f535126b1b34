/* SPDX-License-Identifier: BSD-3-Clause */
/* archive.c: jobs go to another store. What came as messages goes as messages once more, so that
 * it may be there already, in part or whole: an archive that was interrupted, or messages that
 * came late, do no harm. Only when all of a job is there is it removed here. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/blocks/far.h"

#define TOGETHER 32 /* jobs copied, then made safe, then removed */

struct copy {
	struct rama_store *from, *to;
	int64_t job, new_job;
	char key[RAMA_WIRE_JOB];
	bool logged;
	int64_t pruned; /* 1: its events are gone, 2: its sums by second, too */
};

static const char *text_of(const struct rama_store_cell *c)
{
	return c->type == RAMA_STORE_CELL_TEXT ? c->text : "";
}

static int pass(struct copy *c, const struct rama_wire_message *m, struct rama_err *e)
{
	uint64_t stored;

	return rama_store_put(c->to, m, &stored, e);
}

/* ---- what came as messages ------------------------------------------------------------------- */

static uint32_t state_of(const char *state)
{
	return strcmp(state, "ended") == 0	? RAMA_WIRE_STATE_ENDED
	       : strcmp(state, "replaced") == 0 ? RAMA_WIRE_STATE_REPLACED
	       : strcmp(state, "killed") == 0	? RAMA_WIRE_STATE_KILLED
						: RAMA_WIRE_STATE_RUNNING;
}

static bool take_segment(struct rama_wire_segment_key *k, const struct rama_store_cell *c)
{
	if (c->type != RAMA_STORE_CELL_BYTES || c->len != sizeof(*k))
		return false;
	memcpy(k, c->text, sizeof(*k));
	return true;
}

static int copy_process(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct copy *c = ctx;
	const struct rama_store_cell *v = row->cell;
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_PROCESS,
				       .process = { .version = (uint64_t)v[1].i,
						    .job = c->key,
						    .rank = v[2].i,
						    .host = text_of(&v[3]),
						    .pid = v[4].i,
						    .uid = v[5].i,
						    .user = text_of(&v[6]),
						    .jobid = v[7].i,
						    .nprocs = v[8].i,
						    .exe = text_of(&v[9]),
						    .command = text_of(&v[10]),
						    .tag = text_of(&v[11]),
						    .start = v[12].i,
						    .end = v[13].i,
						    .seen_at = v[14].i,
						    .state = state_of(text_of(&v[15])),
						    .made = (uint64_t)v[16].i,
						    .dropped = (uint64_t)v[17].i,
						    .missed = (uint64_t)v[18].i,
						    .lanes = (uint32_t)v[19].i } };
	/* no message says so */
	static const char lost[] = "UPDATE processes SET state = 'lost', end_ns = $2, seen_ns = $3"
				   " WHERE number = $1 AND state = 'running'";
	struct rama_store_process *p;
	int rc;

	if (!take_segment(&m.process.segment, &v[0]))
		return rama_err_set(e, RAMA_ECORRUPT, "a process without a key");
	rc = rama_store_process_get(c->to, &m.process.segment, c->key, v[2].i, &p, e);
	if (rc == 0 && v[1].i >= 0) /* else nothing is known of it but its events */
		rc = pass(c, &m, e);
	if (rc == 0 && strcmp(text_of(&v[15]), "lost") == 0)
		rc = rama_store_do(c->to, lost, ARGS(I(p->number), v[13], v[14]), e);
	return rc;
}

static int copy_name(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct copy *c = ctx;
	struct rama_wire_msg_name n = { (uint64_t)row->cell[0].i, text_of(&row->cell[1]),
					(uint32_t)row->cell[1].len };

	return rama_store_names_put(c->to, c->new_job, &n, 1, e);
}

static int copy_activity(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	const struct rama_store_cell *v = row->cell;
	struct rama_wire_msg_gain g = { .reads = v[5].i,
					.writes = v[6].i,
					.metas = v[7].i,
					.bytes_read = v[8].i,
					.bytes_written = v[9].i,
					.read_ns = v[10].i,
					.write_ns = v[11].i,
					.meta_ns = v[12].i };
	struct copy *c = ctx;
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_ACTIVITY,
				       .activity = { .job = c->key,
						     .rank = v[1].i,
						     .t = v[2].i,
						     .width = v[3].i,
						     .n = 1,
						     .gain = &g } };

	snprintf(g.layer, sizeof(g.layer), "%s", text_of(&v[4]));
	if (!take_segment(&m.activity.segment, &v[0]))
		return rama_err_set(e, RAMA_ECORRUPT, "a process without a key");
	return pass(c, &m, e);
}

static int copy_loss(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	const struct rama_store_cell *v = row->cell;
	struct copy *c = ctx;
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_LOSS,
				       .loss = { text_of(&v[0]), (uint64_t)v[1].i, c->key,
						 text_of(&v[2]), (uint64_t)v[3].i,
						 (uint64_t)v[4].i } };

	return pass(c, &m, e);
}

static int copy_events(struct copy *c, int64_t process, const struct rama_wire_segment_key *k,
		       struct rama_err *e)
{
	struct rama_store_blocks *b = rama_store_blocks_new(c->from, process);
	const struct rama_store_block_row *r;
	int rc = b != NULL ? 0 : rama_err_no_memory(e);

	while (rc == 0 && (rc = rama_store_blocks_next(b, &r, e)) == 1) {
		struct rama_wire_block *block = c->from->block;
		uint64_t stored = 0;

		snprintf(block->job, sizeof(block->job), "%s", c->key);
		block->segment = *k;
		rc = rama_store_events_put(c->to, block, NULL, 0, &stored, e);
	}
	rama_store_blocks_free(b);
	return rc;
}

static int take_key(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	if (!take_segment(ctx, &row->cell[0]))
		return rama_err_set(e, RAMA_ECORRUPT, "a process without a key");
	return 1;
}

/* Events that were pruned are still counted. */
static int copy_counts(struct copy *c, int64_t process, const struct rama_wire_segment_key *k,
		       struct rama_err *e)
{
	static const char get[] = "SELECT stored FROM processes WHERE number = $1";
	static const char set[] = "UPDATE processes SET stored = $2 WHERE segment = $1";
	int64_t stored = 0;
	int rc = rama_store_ints(c->from, get, ARGS(I(process)), &stored, 1, e);

	return rc < 0 ? rc
		      : rama_store_do(c->to, set, ARGS(rama_store_cell_b(k, sizeof(*k)), I(stored)),
				      e);
}

static int copy_processes(struct copy *c, struct rama_err *e)
{
	static const char list[] = "SELECT number FROM processes WHERE job = $1 ORDER BY number";
	static const char key[] = "SELECT segment FROM processes WHERE number = $1";
	struct rama_store_list l;
	int rc = rama_store_list(c->from, list, ARGS(I(c->job)), &l, e);

	for (size_t i = 0; rc == 0 && i < l.n; i++) {
		struct rama_wire_segment_key k = { { 0 } };

		rc = rama_store_rows(c->from, key, ARGS(I(l.number[i])), take_key, &k, e);
		if (rc == 0)
			rc = copy_events(c, l.number[i], &k, e);
		if (rc == 0 && c->pruned != 0)
			rc = copy_counts(c, l.number[i], &k, e);
	}
	free(l.number);
	return rc;
}

static int copy_messages(struct copy *c, struct rama_err *e)
{
	static const struct {
		rama_store_row_fn fn;
		const char *sql;
	} steps[] = {
		{ copy_process,
		  "SELECT segment, version, rank, host, pid, uid, username, jobid, nprocs, exe,"
		  " command, tag, start_ns, end_ns, seen_ns, state, made, dropped, missed, lanes"
		  " FROM processes WHERE job = $1 ORDER BY number" },
		{ copy_name, "SELECT record, path FROM files WHERE job = $1" },
		{ copy_activity,
		  "SELECT p.segment, a.rank, a.t_ns, a.width_ns, a.layer, a.reads, a.writes,"
		  " a.metas, a.bytes_read, a.bytes_written, a.read_ns, a.write_ns, a.meta_ns FROM"
		  " activity a JOIN processes p ON p.number = a.process WHERE a.job = $1"
		  " ORDER BY a.t_ns" },
		{ copy_loss,
		  "SELECT agent, number, why, events, messages FROM losses WHERE job = $1" },
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(steps) / sizeof(steps[0]); i++)
		rc = rama_store_rows(c->from, steps[i].sql, ARGS(I(c->job)), steps[i].fn, c, e);
	return rc == 0 ? copy_processes(c, e) : rc;
}

/* ---- what came with a log -------------------------------------------------------------------- */

struct rows {
	struct copy *c;
	const char *insert;
	struct rama_store_cell *cells; /* for the widest */
};

/* the same row with the number that the job has there */
static int copy_row(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rows *r = ctx;

	memcpy(r->cells, row->cell, row->n * sizeof(*r->cells));
	r->cells[0] = I(r->c->new_job);
	return rama_store_do(r->c->to, r->insert, r->cells, row->n, e);
}

#define WIDEST 32
static int copy_tables(struct copy *c, struct rama_err *e)
{
	static const struct {
		const char *select, *insert;
	} tables[] = {
		{ "SELECT job, key, path, size, mtime_ns, hash, start_ns, end_ns, nprocs, "
		  "complete, kept, body"
		  " FROM logs WHERE job = $1",
		  "INSERT INTO logs (job, key, path, size, mtime_ns, hash, start_ns, end_ns, "
		  "nprocs, complete,"
		  " kept, body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)" },
		{ "SELECT job, number, rule, level, title, evidence, advice, cost, bytes FROM "
		  "findings WHERE job = $1",
		  "INSERT INTO findings (job, number, rule, level, title, evidence, advice, cost,"
		  " bytes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)" },
		{ "SELECT number, name, username, uid, jobid, command, run_time, nodes, logged, "
		  "bytes_read, bytes_written, reads, writes, metas, files, io_time, meta_time,"
		  " verdict, complete, cost, batch_step, batch_array, batch_restart, batch_name,"
		  " batch_account, batch_partition, batch_cluster, batch_nodes FROM jobs WHERE "
		  "number = $1",
		  "UPDATE jobs SET name = $2, username = $3, uid = $4, jobid = $5, command = $6,"
		  " run_time = $7, nodes = $8, logged = $9, bytes_read = $10, bytes_written ="
		  " $11, reads = $12, writes = $13, metas = $14, files = $15, io_time = $16,"
		  " meta_time = $17, verdict = $18, complete = $19, cost = $20, batch_step = $21,"
		  " batch_array = $22, batch_restart = $23, batch_name = $24, batch_account = $25,"
		  " batch_partition = $26, batch_cluster = $27, batch_nodes = $28 WHERE number = "
		  "$1" },
		{ "SELECT job, t_ns, host, change, rule, cost, ranks, rounds, before_s, after_s,"
		  " low, high, confidence, verdict, gain FROM trials WHERE job = $1 ORDER BY "
		  "number",
		  RAMA_STORE_TRIAL_PUT },
	};
	struct rama_store_cell cells[WIDEST];
	struct rows r = { .c = c, .cells = cells };
	int rc = rama_store_job_remove_log(c->to, c->new_job, e);

	for (size_t i = 0; rc == 0 && i < sizeof(tables) / sizeof(tables[0]); i++) {
		r.insert = tables[i].insert;
		rc = rama_store_rows(c->from, tables[i].select, ARGS(I(c->job)), copy_row, &r, e);
	}
	r.cells = c->to->cells;
	for (unsigned id = 0; rc == 0 && id < RAMA_TAB_MODULES_KNOWN; id++) {
		r.insert = c->to->table[id].insert;
		if (r.insert != NULL)
			rc = rama_store_rows(c->from, c->from->table[id].select, ARGS(I(c->job)),
					     copy_row, &r, e);
	}
	return rc;
}

/* The sums by time of a job whose events and activity were pruned, which they cannot be made of
 * any more. */
static int copy_series(struct copy *c, struct rama_err *e)
{
#define NAMES "job, second, layer, kind, ops, bytes, ns, longest, ranks, slowest, slowest_ns"
#define PAIR(t)                                                                                \
	{                                                                                      \
		"SELECT " NAMES " FROM " t " WHERE job = $1",                                  \
			"INSERT INTO " t " (" NAMES ") VALUES ($1, $2, $3, $4, $5, $6, $7,"    \
			" $8, $9, $10, $11) ON CONFLICT (job, second, layer, kind) DO NOTHING" \
	}
	static const struct {
		const char *select, *insert;
	} tables[] = { PAIR("series"), PAIR("series_ten"), PAIR("series_minute"),
		       PAIR("series_hour") };
#undef PAIR
#undef NAMES
	struct rama_store_cell cells[WIDEST];
	struct rows r = { .c = c, .cells = cells };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(tables) / sizeof(tables[0]); i++) {
		r.insert = tables[i].insert;
		rc = rama_store_rows(c->from, tables[i].select, ARGS(I(c->job)), copy_row, &r, e);
	}
	return rc;
}

static int copy_figure(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	bool known = row->cell[1].type == RAMA_STORE_CELL_REAL;
	struct rama_store_figure f = { text_of(&row->cell[0]), known ? row->cell[1].f : NAN };
	struct copy *c = ctx;

	return rama_store_figures_put(c->to, c->new_job, &f, 1, e);
}

static int copy_log(struct copy *c, struct rama_err *e)
{
	static const char figures[] = "SELECT name, value FROM figures WHERE job = $1";
	int rc = copy_tables(c, e);

	return rc == 0 ? rama_store_rows(c->from, figures, ARGS(I(c->job)), copy_figure, c, e) : rc;
}

/* ---- one job --------------------------------------------------------------------------------- */

static int take_job(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct copy *c = ctx;

	(void)e;
	snprintf(c->key, sizeof(c->key), "%s", text_of(&row->cell[0]));
	c->logged = row->cell[1].i != 0;
	c->pruned = row->cell[2].i;
	return 1;
}

static int copy_job(struct copy *c, struct rama_err *e)
{
	static const char get[] = "SELECT key, logged, pruned, source FROM jobs WHERE number = $1";
	static const char pruned[] = "UPDATE jobs SET pruned = $2 WHERE number = $1";
	struct rama_store_change *change;
	int rc = rama_store_rows(c->from, get, ARGS(I(c->job)), take_job, c, e);

	if (rc == 0)
		rc = rama_store_job_get(c->to, c->key, c->logged ? "log" : "live", &c->new_job, e);
	if (rc == 0)
		rc = copy_messages(c, e);
	if (rc == 0 && c->logged)
		rc = copy_log(c, e);
	if (rc == 0 && c->pruned != 0)
		rc = rama_store_do(c->to, pruned, ARGS(I(c->new_job), I(c->pruned)), e);
	if (rc == 0 && c->pruned != 0)
		rc = copy_series(c, e);
	change = rc == 0 ? rama_store_batch_change(c->to, c->new_job) : NULL;
	if (rc == 0 && change == NULL)
		rc = rama_err_no_memory(e);
	if (change != NULL) {
		change->settle = true;
		change->files = c->logged ? 0 : change->files;
	}
	return rc;
}

/* as many rows there as here */
static int check_job(struct copy *c, struct rama_err *e)
{
	static const char *const counts[] = {
		"SELECT count(*) FROM processes WHERE job = $1",
		"SELECT count(*) FROM files WHERE job = $1",
		"SELECT count(*) FROM activity WHERE job = $1",
		"SELECT count(*) FROM losses WHERE job = $1",
		"SELECT count(*) FROM findings WHERE job = $1",
		"SELECT count(*) FROM trials WHERE job = $1",
		"SELECT count(*) FROM figures WHERE job = $1",
		"SELECT count(*) FROM logs WHERE job = $1",
		"SELECT CAST(sum(ops) AS BIGINT) FROM rollups WHERE job = $1",
		"SELECT CAST(sum(stored) AS BIGINT) FROM processes WHERE job = $1",
		"SELECT CAST(sum(ops) AS BIGINT) FROM series WHERE job = $1",
		"SELECT CAST(sum(n) AS BIGINT) FROM blocks WHERE job = $1",
	};
	size_t n = sizeof(counts) / sizeof(counts[0]);
	int rc = 1;

	if (c->to->far.place.ops != NULL)
		n--; /* they do not lie in its tables */
	for (size_t i = 0; rc >= 0 && i < n; i++) {
		int64_t here = 0, there = 0;

		rc = rama_store_ints(c->from, counts[i], ARGS(I(c->job)), &here, 1, e);
		if (rc >= 0)
			rc = rama_store_ints(c->to, counts[i], ARGS(I(c->new_job)), &there, 1, e);
		if (rc >= 0 && there < here)
			rc = rama_err_set(e, RAMA_EIO, "job %s did not arrive whole (%s); it stays",
					  c->key, counts[i]);
	}
	return rc < 0 ? rc : 0;
}

static int archive_one(struct copy *c, struct rama_err *e)
{
	int rc = rama_store_begin(c->to, e);

	if (rc != 0)
		return rc;
	rc = copy_job(c, e);
	if (rc == 0)
		rc = rama_store_commit(c->to, e);
	if (rc != 0) {
		rama_store_rollback(c->to);
		return rama_err_prefix(e, "job %s", c->key);
	}
	return check_job(c, e);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* A store archived into itself would be empty afterwards: a word written there must not be seen
 * here. */
static int not_the_same(struct rama_store *from, struct rama_store *to, struct rama_err *e)
{
	static const char set[] = "INSERT INTO meta (key, value) VALUES ($1, '1')"
				  " ON CONFLICT (key) DO UPDATE SET value = excluded.value";
	static const char get[] = "SELECT 1 FROM meta WHERE key = $1";
	static const char forget[] = "DELETE FROM meta WHERE key = $1";
	char word[80];
	struct timespec now;
	int64_t seen = 0;
	int rc;

	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(word, sizeof(word), "archive %lld.%09ld %p", (long long)now.tv_sec, now.tv_nsec,
		 (void *)&now);
	rc = rama_store_do(to, set, ARGS(rama_store_cell_t(word)), e);
	if (rc == 0)
		rc = rama_store_ints(from, get, ARGS(rama_store_cell_t(word)), &seen, 1, e);
	if (rc >= 0)
		rc = rama_store_do(to, forget, ARGS(rama_store_cell_t(word)), e);
	if (rc == 0 && seen != 0)
		rc = rama_err_set(e, RAMA_EUSAGE, "the archive is the store itself");
	return rc;
}

static int archive_list(struct rama_store *from, struct rama_store *to,
			const struct rama_store_list *l, int64_t *jobs, struct rama_err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < l->n;) {
		size_t n = 0;

		for (; rc == 0 && n < TOGETHER && i + n < l->n; n++) {
			struct copy c = { .from = from, .to = to, .job = l->number[i + n] };

			rc = archive_one(&c, e);
			if (rc != 0)
				break;
		}
		/* on the disk there before it is removed here; also what was copied before an
		 * error */
		if (n > 0) {
			struct rama_err other = { 0 };
			int safe = to->ops->shrink(to->db, &other);

			if (safe == 0)
				safe = rama_store_jobs_remove(from, l->number + i, n, false,
							      &other);
			*jobs += safe == 0 ? (int64_t)n : 0;
			if (rc == 0 && safe != 0)
				rc = rama_err_set(e, safe, "%s", other.text);
		}
		i += n;
	}
	return rc;
}

int rama_store_archive(struct rama_store *s, const char *where, int64_t before, int64_t *jobs,
		       struct rama_err *e)
{
	struct rama_store_list l = { 0 };
	struct rama_store *to = NULL;
	int rc = rama_store_open(&to, where, RAMA_STORE_WRITE | RAMA_STORE_CREATE, e);

	*jobs = 0;
	if (rc != 0)
		return rama_err_prefix(e, "the archive");
	if (rc == 0)
		rc = not_the_same(s, to, e);
	if (rc == 0)
		rc = rama_store_reap(s, rama_store_now(s), e);
	if (rc == 0)
		rc = rama_store_jobs_ended(s, before, false, &l, e);
	if (rc == 0)
		rc = archive_list(s, to, &l, jobs, e);
	if (rc == 0)
		rc = rama_store_samples_archive(s, to, before, e);
	if (rc == 0 && l.n > 0)
		rc = rama_store_far_sweep(s, e);
	if (rc == 0 && l.n > 0)
		rc = s->ops->shrink(s->db, e);
	free(l.number);
	rama_store_close(to);
	return rc;
}
