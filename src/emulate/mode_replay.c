/* SPDX-License-Identifier: BSD-3-Clause */
/* mode_replay.c: a job done again from its log: the same requests in the same order, with the time between them, in files of its own. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "emulate/replay.h"

enum { MSG_DONE_UP_TO = 1 };

#define LEAST_SLEEP 50e-6 /* shorter ones take longer than they should: they are added up */

/* one rank's way through its operations */
struct player {
	struct rama_replay *r;
	struct rama_replay_order order;
	uint32_t *mine; /* operations of this rank, by start */
	uint32_t n, at;
	uint32_t *last;	    /* by file: number of the last operation on it, + 1 */
	bool *open, *dirty; /* by file, when all steps so far are done */
	uint32_t n_open, most_open;
	enum { SYNC_NEVER, SYNC_FILE, SYNC_REQUEST } sync;
	size_t wait, tell;	/* next of the order */
	uint32_t *heard;	/* by rank: operations that it has done */
	double think;		/* what times between operations are multiplied with */
	double thought;		/* such times of all operations so far, multiplied */
	double before;		/* end of the operation before, in the log */
	double began;		/* of the run, on this rank's clock */
	struct rama_tally plan; /* requests and bytes */
};

/* ---- waiting and telling -------------------------------------------------------------------- */

static int listen_until(struct player *p, uint32_t rank, uint32_t done, struct rama_err *e)
{
	struct rama_team_message m;

	while (p->heard[rank] < done) {
		int rc = rama_team_recv(p->r->m->team, &m, -1, e);

		if (rc < 0)
			return rc;
		if (m.n == sizeof(uint32_t) && m.from >= 0) {
			uint32_t n;

			memcpy(&n, m.bytes, sizeof(n));
			if (n > p->heard[m.from])
				p->heard[m.from] = n;
		}
		free(m.bytes);
	}
	return 0;
}

static int wait_for_writer(void *ctx, struct rama_step *s, struct rama_err *e)
{
	struct player *p = ctx;
	const struct rama_replay_wait *w = &p->order.waits[s->offset];

	return listen_until(p, w->rank, w->done, e);
}

static int tell_reader(void *ctx, struct rama_step *s, struct rama_err *e)
{
	struct player *p = ctx;
	const struct rama_replay_tell *t = &p->order.tells[s->offset];
	uint32_t done = t->op + 1;

	return rama_team_send(p->r->m->team, (int)t->rank, MSG_DONE_UP_TO, &done, sizeof(done), e);
}

static void add_call(struct rama_script *s, struct player *p,
		     int (*call)(void *, struct rama_step *, struct rama_err *), size_t which)
{
	struct rama_step *step = rama_script_step(s, RAMA_DO_CALL, NULL);

	step->call = call;
	step->ctx = p;
	step->offset = (int64_t)which;
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* Time between operations is that between the end of one and the start of the next. It is measured against all that was moved and thought
 * so far, so that what the emulation itself takes (making data, waking up late) is part of it, not added to it. */
static int think(void *ctx, struct rama_step *s, struct rama_err *e)
{
	struct player *p = ctx;
	const struct rama_run_options *opt = &p->r->m->opt;
	const struct rama_tally *t = &p->r->m->books.rank;
	double busy = t->read_time + t->write_time + t->open_time + t->sync_time + t->wait_time;
	double left = p->began + busy + s->seconds - rama_team_now();

	(void)e;
	s->seconds = left > LEAST_SLEEP && opt->speed > 0 ? left * opt->speed : 0;
	return 0;
}

static void add_think(struct player *p, struct rama_script *s, const struct rama_replay_op *op)
{
	struct rama_step *step;

	if (op->start > p->before)
		p->thought += (op->start - p->before) * p->think;
	if (op->start > p->before && p->think > 0) {
		step = rama_script_step(s, RAMA_DO_COMPUTE, NULL);
		step->seconds = p->thought;
		step->call = think;
		step->ctx = p;
	}
	p->before = fmax(p->before, op->end);
}

static void add_close(struct player *p, struct rama_script *s, uint32_t file)
{
	if (p->dirty[file] && p->sync == SYNC_FILE)
		rama_script_step(s, RAMA_DO_SYNC, p->r->files[file].unit);
	rama_script_step(s, RAMA_DO_CLOSE, p->r->files[file].unit);
	p->open[file] = p->dirty[file] = false;
	p->n_open--;
}

static void add_open(struct player *p, struct rama_script *s, uint32_t file)
{
	if (p->open[file])
		return;
	/* more files than may be open at a time: all are closed, and opened again when their turn comes */
	for (uint32_t i = 0; p->n_open >= p->most_open && i < p->r->n_files; i++)
		if (p->open[i])
			add_close(p, s, i);
	rama_script_open(s, p->r->files[file].unit,
			 RAMA_OPEN_READ | RAMA_OPEN_WRITE | RAMA_OPEN_CREATE);
	p->open[file] = true;
	p->n_open++;
}

static void add_tells(struct player *p, struct rama_script *s, uint32_t number)
{
	const struct rama_replay_tell *t = p->order.tells;

	for (; p->tell < p->order.n_tells && t[p->tell].op == number; p->tell++)
		if (p->tell == 0 || t[p->tell - 1].op != number ||
		    t[p->tell - 1].rank != t[p->tell].rank)
			add_call(s, p, tell_reader, p->tell);
}

static void add_op(struct player *p, struct rama_script *s, const struct rama_replay_op *op)
{
	struct rama_unit *unit = p->r->files[op->file].unit;
	struct rama_step *step;

	add_think(p, s, op);
	/* After the thinking: the log's time between operations holds what was waited there. Waits are in the order of operations; several of one
	 * operation stand together. */
	while (p->wait < p->order.n_waits && p->order.waits[p->wait].op == op->number)
		add_call(s, p, wait_for_writer, p->wait++);
	add_open(p, s, op->file);
	step = rama_script_step(s, op->write ? RAMA_DO_WRITE : RAMA_DO_READ, unit);
	step->offset = op->offset;
	step->length = op->length;
	p->dirty[op->file] |= op->write;
	if (op->write && p->sync == SYNC_REQUEST)
		rama_script_step(s, RAMA_DO_SYNC, unit);
	if (p->last[op->file] == op->number + 1)
		add_close(p, s, op->file);
	add_tells(p, s, op->number);
}

static int next_ops(struct rama_script *s, void *ctx, struct rama_err *e)
{
	struct player *p = ctx;

	(void)e;
	rama_script_clear(s);
	for (int i = 0; i < 64 && p->at < p->n; i++)
		add_op(p, s, &p->r->ops[p->mine[p->at++]]);
	return s->n > 0;
}

/* ---- before the run ------------------------------------------------------------------------- */

static int make_units(struct rama_replay *r, const char *scratch, struct rama_err *e)
{
	for (uint32_t i = 0; i < r->n_files; i++) {
		struct rama_replay_file *f = &r->files[i];
		const char *base = strrchr(f->name, '/');
		char name[320];
		const char *path, *kept;

		base = base != NULL && base[1] != '\0' ? base + 1 : f->name;
		snprintf(name, sizeof(name), "%016" PRIx64 "-%.200s", f->id, base);
		kept = rama_arena_text(&r->m->arena, name, strlen(name));
		path = rama_emulation_path(r->m, scratch, name, e);
		f->unit = path != NULL && kept != NULL
				  ? rama_emulation_unit(r->m, kept, path, f->size, 0, e)
				  : NULL;
		if (f->unit == NULL)
			return rama_err_set(e, RAMA_EMEMORY, "no memory");
		f->unit->in_place = true;
		f->unit->opt.depth = 1;
		f->unit->opt.collective = false; /* ranks do not come together in a replay */
	}
	return 0;
}

/* The file, empty but for what is read in it before anybody has written that. */
static int make_file(struct rama_replay *r, struct rama_replay_file *f, struct rama_err *e)
{
	struct rama_books books = r->m->books;
	struct rama_unit u = *f->unit;
	struct rama_script s;
	int rc;

	r->m->books = (struct rama_books){ 0 };
	u.engine = rama_engine_find(r->m->opt.engine->no_files ? "null" : "posix");
	rama_script_init(&s);
	rama_script_open(&s, &u, RAMA_OPEN_WRITE | RAMA_OPEN_CREATE | RAMA_OPEN_TRUNCATE);
	for (uint32_t i = 0; i < f->needed.n; i++) {
		const struct rama_range *range = &f->needed.range[i];
		struct rama_walk w = { .size = range->to - range->from,
				       .from = range->from,
				       .request = 1 << 20,
				       .parts = 1 };

		rama_script_move(&s, RAMA_DO_WRITE, &u, &w, false);
	}
	rama_script_step(&s, RAMA_DO_CLOSE, &u);
	rc = rama_emulation_stream(r->m, &s, e);
	rama_script_fini(&s);
	rama_books_fini(&r->m->books);
	r->m->books = books;
	return rc;
}

static int prepare(struct rama_replay *r, const char *scratch, struct rama_err *e)
{
	struct rama_team *t = r->m->team;
	int rc = make_units(r, scratch, e);

	if (rc == 0 && t->rank == 0 && !r->m->opt.engine->no_files)
		rc = rama_make_folders(scratch, e);
	if (rc == 0)
		rc = rama_team_barrier(t, e);
	for (uint32_t i = (uint32_t)t->rank; rc == 0 && i < r->n_files; i += (uint32_t)t->size)
		rc = make_file(r, &r->files[i], e);
	return rc;
}

/* ---- the run -------------------------------------------------------------------------------- */

/* how many files this process may have open: as many as it can get, less some for sockets and libraries */
static uint32_t most_open(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) != 0)
		return 200;
	if (l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
		getrlimit(RLIMIT_NOFILE, &l);
	}
	return l.rlim_cur > 100000 ? 99900 : l.rlim_cur > 128 ? (uint32_t)l.rlim_cur - 100 : 16;
}

static int player_alloc(struct player *p, struct rama_replay *r, struct rama_err *e)
{
	p->mine = calloc(r->n + 1, sizeof(*p->mine));
	p->last = calloc((size_t)r->n_files + 1, sizeof(*p->last));
	p->open = calloc((size_t)r->n_files + 1, sizeof(*p->open));
	p->dirty = calloc((size_t)r->n_files + 1, sizeof(*p->dirty));
	p->heard = calloc((size_t)r->m->team->size, sizeof(*p->heard));
	if (p->mine == NULL || p->last == NULL || p->open == NULL || p->dirty == NULL ||
	    p->heard == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory for %zu operations", r->n);
	return 0;
}

static void plan_op(struct rama_tally *t, const struct rama_replay_op *op)
{
	t->writes += op->write;
	t->reads += !op->write;
	*(op->write ? &t->bytes_written : &t->bytes_read) += (uint64_t)op->length;
}

/* Gives all operations their numbers and finds those of this rank. */
static int deal_out(struct player *p, struct rama_replay *r, struct rama_err *e)
{
	uint32_t size = (uint32_t)r->m->team->size, me = (uint32_t)r->m->team->rank;
	uint32_t *count = calloc(size, sizeof(*count));
	double gaps = 0, end = r->ops[0].start, untraced = 0;

	if (count == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	for (size_t i = 0; i < r->n; i++) {
		struct rama_replay_op *op = &r->ops[i];
		uint32_t who = rama_replay_rank(r, op->rank);

		op->number = count[who]++;
		if (who != me)
			continue;
		p->mine[p->n++] = (uint32_t)i;
		p->last[op->file] = op->number + 1;
		plan_op(&p->plan, op);
		gaps += op->start > end ? op->start - end : 0;
		end = fmax(end, op->end);
	}
	free(count);
	/* Opens and the like take their time in the replay too: it is not thought about twice. */
	for (int64_t i = me; i < r->nprocs; i += size)
		untraced += r->untraced[i];
	p->think = gaps > 0 ? fmax(0, 1 - untraced / gaps) : 1;
	return 0;
}

static int player_init(struct player *p, struct rama_replay *r, struct rama_err *e)
{
	const struct rama_config *c = r->m->cfg;
	const char *sync = rama_config_text(c, RAMA_P_fsync);
	double speed = rama_config_number(c, RAMA_P_speed);
	int rc;

	*p = (struct player){ .r = r, .before = r->ops[0].start, .most_open = most_open() };
	rc = player_alloc(p, r, e);
	if (rc == 0)
		rc = deal_out(p, r, e);
	if (rc != 0)
		return rc;
	if (rama_config_given(c, RAMA_P_fsync)) /* else as little as the trace shows: none */
		p->sync = strcmp(sync, "request") == 0 ? SYNC_REQUEST
			  : strcmp(sync, "file") == 0  ? SYNC_FILE
						       : SYNC_NEVER;
	if (rama_config_flag(c, RAMA_P_no_think) || r->m->opt.speed <= 0)
		p->think = 0;
	else
		p->think /= (speed > 0 ? speed : 1) * r->m->opt.speed;
	return rama_replay_find_order(&p->order, r, e);
}

static void player_fini(struct player *p)
{
	rama_replay_order_fini(&p->order);
	free(p->mine);
	free(p->last);
	free(p->open);
	free(p->dirty);
	free(p->heard);
}

static int check_plan(const struct player *p, struct rama_err *e)
{
	const struct rama_tally *t = &p->r->m->books.rank;

	if (t->reads == p->plan.reads && t->writes == p->plan.writes &&
	    t->bytes_read == p->plan.bytes_read && t->bytes_written == p->plan.bytes_written)
		return 0;
	return rama_err_set(
		e, RAMA_EIO,
		"rank %d moved %llu bytes in %llu requests, not %llu in %llu as planned",
		p->r->m->team->rank, (unsigned long long)(t->bytes_read + t->bytes_written),
		(unsigned long long)(t->reads + t->writes),
		(unsigned long long)(p->plan.bytes_read + p->plan.bytes_written),
		(unsigned long long)(p->plan.reads + p->plan.writes));
}

static int play(struct player *p, struct rama_err *e)
{
	struct rama_emulation *m = p->r->m;
	struct rama_script s;
	int rc;

	rama_script_init(&s);
	s.more = next_ops;
	s.ctx = p;
	rc = rama_team_barrier(m->team, e);
	p->began = rama_team_now();
	if (rc == 0)
		rc = rama_emulation_stream(m, &s, e);
	rama_script_fini(&s);
	if (rc == 0)
		rc = check_plan(p, e);
	return rc == 0 ? rama_team_barrier(m->team, e) : rc;
}

/* ---- what is said about it ------------------------------------------------------------------ */

static void note_plan(struct rama_out *out, const struct rama_tally *t)
{
	rama_out_fmt(out,
		     "\"planned_reads\":%llu,\"planned_writes\":%llu,\"planned_bytes_read\":%llu,"
		     "\"planned_bytes_written\":%llu",
		     (unsigned long long)t->reads, (unsigned long long)t->writes,
		     (unsigned long long)t->bytes_read, (unsigned long long)t->bytes_written);
}

static int note(struct rama_replay *r, struct rama_err *e)
{
	struct rama_emulation *m = r->m;
	struct rama_tally all = { 0 }, *rank = calloc((size_t)m->team->size, sizeof(*rank));

	if (rank == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	for (size_t i = 0; i < r->n; i++) {
		plan_op(&all, &r->ops[i]);
		plan_op(&rank[rama_replay_rank(r, r->ops[i].rank)], &r->ops[i]);
	}
	rama_out_fmt(&m->notes,
		     "\"log_processes\":%lld,\"log_span_s\":%.9g,\"files\":%u,\"from_counters\":%s,"
		     "\"lost\":%llu,",
		     (long long)r->nprocs, r->span, r->n_files, r->shape ? "true" : "false",
		     (unsigned long long)r->lost);
	note_plan(&m->notes, &all);
	rama_out_text(&m->notes, ",\"planned\":[");
	for (int i = 0; i < m->team->size; i++) {
		rama_out_text(&m->notes, i == 0 ? "{" : ",{");
		note_plan(&m->notes, &rank[i]);
		rama_out_char(&m->notes, '}');
	}
	rama_out_char(&m->notes, ']');
	free(rank);
	rama_out_fmt(&m->remarks,
		     "%zu operations of %lld processes, which took %.4g s when they were recorded; "
		     "all were done\n",
		     r->n, (long long)r->nprocs, r->span);
	if (r->shape)
		rama_out_text(&m->remarks, "files without a trace are done again in shape only: "
					   "sizes, numbers, order\n");
	if (r->lost > 0)
		rama_out_fmt(
			&m->remarks,
			"%llu operations are not in the trace, because memory for it was full\n",
			(unsigned long long)r->lost);
	return 0;
}

static void clean(struct rama_replay *r, const char *scratch)
{
	struct rama_team *t = r->m->team;

	if (rama_config_flag(r->m->cfg, RAMA_P_keep))
		return;
	for (uint32_t i = (uint32_t)t->rank; i < r->n_files; i += (uint32_t)t->size)
		if (r->files[i].unit != NULL)
			unlink(r->files[i].unit->path);
	rmdir(scratch); /* if nothing else is in it */
}

int rama_mode_replay(struct rama_emulation *m, struct rama_err *e)
{
	const struct rama_config *c = m->cfg;
	struct rama_replay r = { .m = m };
	struct player p = { 0 };
	char scratch[4096];
	int rc;

	if (c->n_args == 0)
		return rama_err_set(e, RAMA_EUSAGE, "no log: iorama emulate replay LOG");
	if (rama_config_given(c, RAMA_P_scratch))
		snprintf(scratch, sizeof(scratch), "%s", rama_config_text(c, RAMA_P_scratch));
	else
		snprintf(scratch, sizeof(scratch), "%.4000s/iorama-replay",
			 rama_config_text(c, RAMA_P_input_dir));
	rc = rama_replay_load(&r, c->args, c->n_args, e);
	if (rc == 0 && r.n == 0)
		rc = rama_err_set(e, RAMA_EMISSING, "%s: no reads or writes in it", c->args[0]);
	if (rc == 0)
		rc = rama_replay_change(&r, e);
	if (rc == 0)
		rc = player_init(&p, &r, e);
	if (rc == 0)
		rc = prepare(&r, scratch, e);
	if (rc == 0)
		rc = play(&p, e);
	if (rc == 0 && m->team->rank == 0)
		rc = note(&r, e);
	clean(&r, scratch);
	player_fini(&p);
	rama_replay_fini(&r);
	return rc;
}
