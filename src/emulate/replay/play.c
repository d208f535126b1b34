/* SPDX-License-Identifier: BSD-3-Clause */
/* play.c: the operations of one rank done again, each hand of it in a thread of its own,
 * with the time between them and in the order that the data ask for. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "emulate/replay/replay.h"

enum { MSG_DONE_UP_TO = 1 };

#define LEAST_SLEEP 50e-6 /* shorter ones take longer than they should: they are added up */
#define SLICE 0.02	  /* seconds: with several hands, one listens so long for all */

struct news {
	uint32_t hand, done;
};

/* what the hands of a rank share */
struct stage {
	struct rama_emu_replay *r;
	const struct rama_emu_replay_order *order;
	double think;	    /* what times between operations are multiplied with */
	double began;	    /* of the run, on this rank's clock */
	uint32_t most_open; /* files, of each hand */
	bool own_sync;	    /* the user says when to sync */
	enum { SYNC_NEVER, SYNC_FILE, SYNC_REQUEST } sync;
	struct rama_emu_tally plan; /* requests and bytes */
	pthread_mutex_t lock;	    /* of all below */
	pthread_cond_t told;
	uint32_t *heard;	/* by hand of any rank: operations that it has done */
	bool listening;		/* a hand waits for messages */
	struct rama_err failed; /* code 0: no hand has */
};

/* one hand's way through its operations */
struct player {
	struct stage *st;
	uint32_t hand;
	pthread_t thread;
	bool started;
	int rc;
	struct rama_err e;
	struct rama_emu_books books;
	struct rama_emu_unit *units;	/* by file */
	struct rama_emu_unit *shared;	/* by 2 * file + write: as its group has it open */
	bool *joined;			/* the same: it does */
	struct rama_emu_tally *tallies; /* by file */
	uint32_t *mine;			/* operations, by start */
	uint32_t n, at;
	uint32_t *calls; /* of this rank, by start; the first hand does them */
	uint32_t n_calls, at_call;
	uint32_t *uses;	    /* by file: operations and calls to come that need it open */
	bool *open, *dirty; /* by file, when all steps so far are done */
	uint32_t n_open;
	size_t wait, tell; /* next of the order */
	double thought;	   /* times between operations so far, multiplied */
	double before;	   /* end of the operation before, in the log */
};

/* ---- waiting and telling -------------------------------------------------------------------- */

/* with the lock held */
static void hear(struct stage *st, const struct rama_emu_team_message *m)
{
	struct news n;

	if (m->n != sizeof(n))
		return;
	memcpy(&n, m->bytes, sizeof(n));
	if (n.hand < (uint32_t)st->r->m->team->size * st->r->hands && n.done > st->heard[n.hand])
		st->heard[n.hand] = n.done;
	pthread_cond_broadcast(&st->told);
}

/* One hand listens for all; the others sleep until it has heard something. */
static int listen_once(struct stage *st, struct rama_err *e)
{
	struct rama_emu_team_message m;
	int rc;

	if (st->listening) {
		pthread_cond_wait(&st->told, &st->lock);
		return 0;
	}
	st->listening = true;
	pthread_mutex_unlock(&st->lock);
	rc = rama_emu_team_recv(st->r->m->team, &m, st->r->hands > 1 ? SLICE : -1, e);
	pthread_mutex_lock(&st->lock);
	st->listening = false;
	if (rc > 0) {
		hear(st, &m);
		free(m.bytes);
	}
	pthread_cond_broadcast(&st->told); /* somebody else may have to listen now */
	return rc < 0 ? rc : 0;
}

static int wait_for_writer(void *ctx, struct rama_emu_step *s, struct rama_err *e)
{
	struct player *p = ctx;
	struct stage *st = p->st;
	const struct rama_emu_replay_wait *w = &st->order->waits[s->offset];
	int rc = 0;

	pthread_mutex_lock(&st->lock);
	while (rc == 0 && st->heard[w->other] < w->done) {
		if (st->failed.code != 0)
			rc = rama_err_set(e, st->failed.code, "%s", st->failed.text);
		else
			rc = listen_once(st, e);
	}
	pthread_mutex_unlock(&st->lock);
	return rc;
}

static int tell_reader(void *ctx, struct rama_emu_step *s, struct rama_err *e)
{
	struct player *p = ctx;
	struct rama_emu_team *team = p->st->r->m->team;
	const struct rama_emu_replay_tell *t = &p->st->order->tells[s->offset];
	struct news n = { (uint32_t)team->rank * p->st->r->hands + p->hand, t->op + 1 };
	struct rama_emu_team_message m = { .bytes = (char *)&n, .n = sizeof(n) };

	if ((int)t->rank != team->rank)
		return rama_emu_team_send(team, (int)t->rank, MSG_DONE_UP_TO, &n, sizeof(n), e);
	pthread_mutex_lock(&p->st->lock);
	hear(p->st, &m);
	pthread_mutex_unlock(&p->st->lock);
	return 0;
}

static void add_call(struct rama_emu_script *s, struct player *p,
		     int (*call)(void *, struct rama_emu_step *, struct rama_err *), size_t which)
{
	struct rama_emu_step *step = rama_emu_script_step(s, RAMA_EMU_DO_CALL, NULL);

	step->call = call;
	step->ctx = p;
	step->offset = (int64_t)which;
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* Time between operations is that between the end of one and the start of the next. It is
 * measured against all that was moved and thought so far, so that what the emulation itself
 * takes (making data, waking up late) is part of it, not added to it. */
static int think(void *ctx, struct rama_emu_step *s, struct rama_err *e)
{
	struct player *p = ctx;
	const struct rama_emu_run_options *opt = &p->st->r->m->opt;
	const struct rama_emu_tally *t = &p->books.rank;
	double busy = t->read_time + t->write_time + t->open_time + t->sync_time + t->wait_time;
	double left = p->st->began + busy + s->seconds - rama_now();

	(void)e;
	s->seconds = left > LEAST_SLEEP && opt->speed > 0 ? left * opt->speed : 0;
	return 0;
}

static void add_think(struct player *p, struct rama_emu_script *s,
		      const struct rama_emu_replay_op *op)
{
	struct rama_emu_step *step;

	if (op->start > p->before)
		p->thought += (op->start - p->before) * p->st->think;
	if (op->start > p->before && p->st->think > 0) {
		step = rama_emu_script_step(s, RAMA_EMU_DO_COMPUTE, NULL);
		step->seconds = p->thought;
		step->call = think;
		step->ctx = p;
	}
	p->before = fmax(p->before, op->end);
}

static void add_close(struct player *p, struct rama_emu_script *s, uint32_t file)
{
	if (p->dirty[file] && p->st->sync == SYNC_FILE)
		rama_emu_script_step(s, RAMA_EMU_DO_SYNC, &p->units[file]);
	rama_emu_script_step(s, RAMA_EMU_DO_CLOSE, &p->units[file]);
	p->open[file] = p->dirty[file] = false;
	p->n_open--;
}

static void add_open(struct player *p, struct rama_emu_script *s, uint32_t file)
{
	if (p->open[file])
		return;
	/* more files than may be open at a time: all are closed, and opened again when their
	 * turn comes */
	for (uint32_t i = 0; p->n_open >= p->st->most_open && i < p->st->r->n_files; i++)
		if (p->open[i])
			add_close(p, s, i);
	rama_emu_script_open(s, &p->units[file],
			     RAMA_EMU_OPEN_READ | RAMA_EMU_OPEN_WRITE | RAMA_EMU_OPEN_CREATE);
	p->open[file] = true;
	p->n_open++;
}

/* Those of a hand stand together, in the order of its operations. */
static void add_tells(struct player *p, struct rama_emu_script *s, uint32_t number)
{
	const struct rama_emu_replay_order *o = p->st->order;
	const struct rama_emu_replay_tell *t = o->tells;
	size_t i = p->tell;

	for (; i < o->n_tells && t[i].hand == p->hand && t[i].op == number; i++)
		if (i == p->tell || t[i - 1].rank != t[i].rank)
			add_call(s, p, tell_reader, i);
	p->tell = i;
}

/* Waits are in the order of operations, those of all hands mixed; several of one operation stand
 * together. */
static void add_waits(struct player *p, struct rama_emu_script *s, uint32_t number)
{
	const struct rama_emu_replay_order *o = p->st->order;

	for (; p->wait < o->n_waits; p->wait++) {
		const struct rama_emu_replay_wait *w = &o->waits[p->wait];

		if (w->hand == p->hand && w->op > number)
			break;
		if (w->hand == p->hand)
			add_call(s, p, wait_for_writer, p->wait);
	}
}

/* place among the files that groups have open; one for reads and writes of the same group */
static size_t shared_at(const struct player *p, const struct rama_emu_replay_op *op)
{
	const struct rama_emu_replay_file *f = &p->st->r->files[op->file];

	return 2 * (size_t)op->file + (f->group[0] != f->group[1] && op->write);
}

/* All members of the group do these steps, in this order. */
static void add_together(struct player *p, struct rama_emu_script *s,
			 const struct rama_emu_replay_op *op)
{
	struct rama_emu_unit *unit = &p->shared[shared_at(p, op)];
	bool last = op->leaves && p->st->sync == SYNC_FILE;
	uint32_t syncs =
		p->st->own_sync ? op->write && (p->st->sync == SYNC_REQUEST || last) : op->syncs;
	struct rama_emu_step *step;

	if (op->joins)
		rama_emu_script_open(s, unit, RAMA_EMU_OPEN_READ | RAMA_EMU_OPEN_WRITE);
	step = rama_emu_script_step(s, op->write ? RAMA_EMU_DO_WRITE : RAMA_EMU_DO_READ, unit);
	step->offset = op->offset;
	step->length = op->length;
	for (; syncs > 0; syncs--)
		rama_emu_script_step(s, RAMA_EMU_DO_SYNC, unit);
	if (op->leaves)
		rama_emu_script_step(s, RAMA_EMU_DO_CLOSE, unit);
	p->joined[shared_at(p, op)] = !op->leaves;
	add_tells(p, s, op->number);
}

/* Who is told finds what was written: it must not stay in the buffer of a stream. */
static void add_flush(struct player *p, struct rama_emu_script *s,
		      const struct rama_emu_replay_op *op, struct rama_emu_unit *unit)
{
	const struct rama_emu_replay_order *o = p->st->order;
	const struct rama_emu_replay_tell *t = &o->tells[p->tell];
	struct rama_emu_step *step;

	if (!op->write || p->tell >= o->n_tells || t->hand != p->hand || t->op != op->number ||
	    !rama_emu_replay_streams(p->st->r, &p->st->r->files[op->file]))
		return;
	step = rama_emu_script_step(s, RAMA_EMU_DO_META, unit);
	step->call = rama_emu_replay_deed_do;
	step->ctx = p->st->r->m->opt.own;
	step->flags = RAMA_EMU_DEED_FLUSH;
}

static void add_op(struct player *p, struct rama_emu_script *s, const struct rama_emu_replay_op *op)
{
	struct rama_emu_unit *unit = &p->units[op->file];
	struct rama_emu_step *step;

	add_think(p, s, op);
	/* after the thinking: the log's time between operations holds what was waited there */
	add_waits(p, s, op->number);
	if (op->together) {
		add_together(p, s, op);
		return;
	}
	if (op->upper && p->joined[shared_at(p, op)]) { /* alone, in the file that all have open */
		step = rama_emu_script_step(s, op->write ? RAMA_EMU_DO_WRITE : RAMA_EMU_DO_READ,
					    &p->shared[shared_at(p, op)]);
		step->offset = op->offset;
		step->length = op->length;
		step->alone = true;
		if (p->open[op->file] && p->uses[op->file] == 1)
			add_close(p, s, op->file);
		p->uses[op->file]--;
		add_tells(p, s, op->number);
		return;
	}
	add_open(p, s, op->file);
	step = rama_emu_script_step(s, op->write ? RAMA_EMU_DO_WRITE : RAMA_EMU_DO_READ, unit);
	step->offset = op->offset;
	step->length = op->length;
	p->dirty[op->file] |= op->write;
	if (op->write && p->st->sync == SYNC_REQUEST)
		rama_emu_script_step(s, RAMA_EMU_DO_SYNC, unit);
	add_flush(p, s, op, unit);
	if (--p->uses[op->file] == 0)
		add_close(p, s, op->file);
	add_tells(p, s, op->number);
}

/* Only the engine itself knows how else to sync what it has written. */
static void add_deed(struct player *p, struct rama_emu_script *s,
		     const struct rama_emu_replay_call *c, struct rama_emu_unit *unit)
{
	struct rama_emu_step *step;

	if (c->deed == RAMA_EMU_DEED_SYNC ||
	    (c->deed == RAMA_EMU_DEED_DATASYNC && p->st->r->m->opt.engine->fd == NULL)) {
		rama_emu_script_step(s, RAMA_EMU_DO_SYNC, unit);
		return;
	}
	step = rama_emu_script_step(s, RAMA_EMU_DO_META, unit);
	step->call = rama_emu_replay_deed_do;
	step->ctx = p->st->r->m->opt.own;
	step->flags = (int)c->deed;
	step->strict = p->st->r->files[c->file].folder;
}

static void add_call_of(struct player *p, struct rama_emu_script *s,
			const struct rama_emu_replay_call *c)
{
	bool sync = c->deed == RAMA_EMU_DEED_SYNC || c->deed == RAMA_EMU_DEED_DATASYNC;

	if (!rama_emu_replay_deed_opens(c->deed)) {
		add_deed(p, s, c, &p->units[c->file]);
		return;
	}
	if (c->deed == RAMA_EMU_DEED_OPEN && p->open[c->file])
		add_close(p, s, c->file);
	add_open(p, s, c->file);
	/* the user's word on when to sync goes before what the job did */
	if (c->deed != RAMA_EMU_DEED_OPEN && !(sync && p->st->own_sync))
		add_deed(p, s, c, &p->units[c->file]);
	if (--p->uses[c->file] == 0)
		add_close(p, s, c->file);
}

/* Calls that come before an operation; one that follows a request of no duration follows it. */
static void add_calls(struct player *p, struct rama_emu_script *s,
		      const struct rama_emu_replay_op *op)
{
	const struct rama_emu_replay *r = p->st->r;

	for (; p->at_call < p->n_calls; p->at_call++) {
		const struct rama_emu_replay_call *c = &r->calls[p->calls[p->at_call]];

		if (op != NULL &&
		    (c->start > op->start || (c->start == op->start && op->end <= op->start)))
			break;
		add_call_of(p, s, c);
	}
}

static int next_ops(struct rama_emu_script *s, void *ctx, struct rama_err *e)
{
	struct player *p = ctx;
	int rc = 0;

	rama_emu_script_clear(s);
	pthread_mutex_lock(&p->st->lock);
	if (p->st->failed.code != 0) /* another hand has */
		rc = rama_err_set(e, p->st->failed.code, "%s", p->st->failed.text);
	pthread_mutex_unlock(&p->st->lock);
	for (int i = 0; rc == 0 && i < 64 && p->at < p->n; i++) {
		const struct rama_emu_replay_op *op = &p->st->r->ops[p->mine[p->at++]];

		add_calls(p, s, op);
		add_op(p, s, op);
	}
	if (rc == 0 && p->at == p->n)
		add_calls(p, s, NULL);
	return rc != 0 ? rc : s->n > 0;
}

/* ---- before the run ------------------------------------------------------------------------- */

void rama_emu_replay_plan(struct rama_emu_tally *t, const struct rama_emu_replay_op *op)
{
	t->writes += op->write && op->length > 0;
	t->reads += !op->write && op->length > 0;
	*(op->write ? &t->bytes_written : &t->bytes_read) += (uint64_t)op->length;
}

/* how many files this process may have open: as many as it can get, less some for sockets and
 * libraries */
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

/* Opens and the like take their time in the replay too: it is not thought about twice. */
static double think_share(const struct rama_emu_replay *r)
{
	uint32_t size = (uint32_t)r->m->team->size, me = (uint32_t)r->m->team->rank;
	double gaps = 0, end = r->n > 0 ? r->ops[0].start : 0, untraced = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct rama_emu_replay_op *op = &r->ops[i];

		if (rama_emu_replay_rank(r, op->rank) != me)
			continue;
		gaps += op->start > end ? op->start - end : 0;
		end = fmax(end, op->end);
	}
	for (int64_t i = me; i < r->nprocs; i += size)
		untraced += r->untraced[i];
	return gaps > 0 ? fmax(0, 1 - untraced / gaps) : 1;
}

static int stage_init(struct stage *st, struct rama_emu_replay *r,
		      const struct rama_emu_replay_order *o, struct rama_err *e)
{
	const struct rama_emu_config *c = r->m->cfg;
	const char *sync = rama_emu_config_text(c, RAMA_EMU_P_fsync);
	double speed = rama_emu_config_number(c, RAMA_EMU_P_speed);

	*st = (struct stage){ .r = r, .order = o, .think = think_share(r) };
	pthread_mutex_init(&st->lock, NULL);
	pthread_cond_init(&st->told, NULL);
	st->most_open = most_open() / r->hands;
	st->most_open = st->most_open > 0 ? st->most_open : 1;
	st->heard = calloc((size_t)r->m->team->size * r->hands, sizeof(*st->heard));
	if (st->heard == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	/* else when the job did */
	st->own_sync = rama_emu_config_given(c, RAMA_EMU_P_fsync);
	if (st->own_sync)
		st->sync = strcmp(sync, "request") == 0 ? SYNC_REQUEST
			   : strcmp(sync, "file") == 0	? SYNC_FILE
							: SYNC_NEVER;
	if (rama_emu_config_flag(c, RAMA_EMU_P_no_think) || r->m->opt.speed <= 0)
		st->think = 0;
	else
		st->think /= (speed > 0 ? speed : 1) * r->m->opt.speed;
	return 0;
}

/* first entry of this hand among the tells */
static size_t first_tell(const struct rama_emu_replay_order *o, uint32_t hand)
{
	size_t i = 0;

	while (i < o->n_tells && o->tells[i].hand < hand)
		i++;
	return i;
}

/* Files are opened by each hand for itself: handles and books are its own. */
static void take_files(struct player *p)
{
	for (uint32_t i = 0; i < p->st->r->n_files; i++) {
		p->units[i] = *p->st->r->files[i].unit;
		p->tallies[i] = (struct rama_emu_tally){ .flaws.first = -1 };
		if (p->units[i].tally != NULL)
			p->units[i].tally = &p->tallies[i];
		for (int k = 0; k < 2; k++) {
			const struct rama_emu_replay_group *g = p->st->r->files[i].group[k];

			if (g == NULL || g->comm == NULL)
				continue;
			p->shared[2 * i + (uint32_t)k] = p->units[i];
			p->shared[2 * i + (uint32_t)k].opt.collective = true;
			p->shared[2 * i + (uint32_t)k].opt.group = g->comm;
		}
	}
}

static int player_init(struct player *p, struct stage *st, uint32_t hand, struct rama_err *e)
{
	struct rama_emu_replay *r = st->r;
	uint32_t me = (uint32_t)r->m->team->rank * r->hands + hand;
	size_t files = (size_t)r->n_files + 1;

	*p = (struct player){ .st = st, .hand = hand, .before = r->n > 0 ? r->ops[0].start : 0 };
	for (size_t i = 0; i < r->n; i++)
		p->n += rama_emu_replay_hand(r, &r->ops[i]) == me;
	p->mine = calloc((size_t)p->n + 1, sizeof(*p->mine));
	p->uses = calloc(files, sizeof(*p->uses));
	p->calls = calloc(r->n_calls + 1, sizeof(*p->calls));
	p->open = calloc(files, sizeof(*p->open));
	p->dirty = calloc(files, sizeof(*p->dirty));
	p->units = calloc(files, sizeof(*p->units));
	p->tallies = calloc(files, sizeof(*p->tallies));
	p->shared = calloc(2 * files, sizeof(*p->shared));
	p->joined = calloc(2 * files, sizeof(*p->joined));
	if (p->mine == NULL || p->uses == NULL || p->calls == NULL || p->open == NULL ||
	    p->dirty == NULL || p->units == NULL || p->tallies == NULL || p->shared == NULL ||
	    p->joined == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory for %u operations", p->n);
	take_files(p);
	p->tell = first_tell(st->order, hand);
	p->n = 0;
	for (size_t i = 0; i < r->n; i++) {
		const struct rama_emu_replay_op *op = &r->ops[i];

		if (rama_emu_replay_hand(r, op) != me)
			continue;
		p->mine[p->n++] = (uint32_t)i;
		p->uses[op->file] += !op->together;
		rama_emu_replay_plan(&st->plan, op);
	}
	for (size_t i = 0; hand == 0 && i < r->n_calls; i++) {
		const struct rama_emu_replay_call *c = &r->calls[i];

		if (rama_emu_replay_rank(r, c->rank) != (uint32_t)r->m->team->rank)
			continue;
		p->calls[p->n_calls++] = (uint32_t)i;
		p->uses[c->file] += rama_emu_replay_deed_opens(c->deed);
	}
	return 0;
}

static void player_fini(struct player *p)
{
	rama_emu_books_fini(&p->books);
	free(p->mine);
	free(p->uses);
	free(p->calls);
	free(p->open);
	free(p->dirty);
	free(p->units);
	free(p->tallies);
	free(p->shared);
	free(p->joined);
}

/* ---- the run -------------------------------------------------------------------------------- */

static void *play(void *player)
{
	struct player *p = player;
	struct rama_emu_emulation *m = p->st->r->m;
	struct rama_emu_run_options opt = m->opt;
	struct rama_emu_script s;
	struct rama_emu_stream stream;

	if (p->hand > 0)
		opt.tick = NULL; /* one tells how far it is */
	rama_emu_script_init(&s);
	s.more = next_ops;
	s.ctx = p;
	stream = rama_emu_script_stream(&s);
	p->rc = rama_emu_run_stream(&stream, &opt, m->team, &p->books, &p->e);
	rama_emu_script_fini(&s);
	if (p->rc < 0) {
		pthread_mutex_lock(&p->st->lock);
		if (p->st->failed.code == 0)
			rama_err_set(&p->st->failed, p->rc, "%s", p->e.text);
		pthread_cond_broadcast(&p->st->told);
		pthread_mutex_unlock(&p->st->lock);
	}
	return NULL;
}

/* what a hand did is what its rank did */
static void add_books(struct player *p)
{
	struct rama_emu_books *to = &p->st->r->m->books;

	if (to->n_tasks == 0 && p->books.n_tasks > 0) {
		to->task = calloc(1, sizeof(*to->task));
		to->n_tasks = to->task != NULL;
		to->rank.flaws.first = -1;
		if (to->task != NULL)
			to->task->flaws.first = -1;
	}
	rama_emu_tally_add(&to->rank, &p->books.rank);
	rama_emu_latency_join(&to->read, &p->books.read);
	rama_emu_latency_join(&to->write, &p->books.write);
	if (p->books.n_tasks > 0 && to->n_tasks > 0)
		rama_emu_tally_add(&to->task[0], &p->books.task[0]);
	for (size_t i = 0; i < p->books.n_spans; i++)
		rama_emu_books_span(to, &p->books.spans[i]);
	for (uint32_t i = 0; i < p->st->r->n_files; i++)
		if (p->st->r->files[i].unit->tally != NULL)
			rama_emu_tally_add(p->st->r->files[i].unit->tally, &p->tallies[i]);
}

static int check_plan(const struct stage *st, struct rama_err *e)
{
	const struct rama_emu_tally *t = &st->r->m->books.rank;

	if (t->reads == st->plan.reads && t->writes == st->plan.writes &&
	    t->bytes_read == st->plan.bytes_read && t->bytes_written == st->plan.bytes_written)
		return 0;
	return rama_err_set(
		e, RAMA_EIO,
		"rank %d moved %llu bytes in %llu requests, not %llu in %llu as planned",
		st->r->m->team->rank, (unsigned long long)(t->bytes_read + t->bytes_written),
		(unsigned long long)(t->reads + t->writes),
		(unsigned long long)(st->plan.bytes_read + st->plan.bytes_written),
		(unsigned long long)(st->plan.reads + st->plan.writes));
}

static int play_all(struct stage *st, struct player *players, struct rama_err *e)
{
	uint32_t hands = st->r->hands;
	int rc = rama_emu_team_barrier(st->r->m->team, e);

	if (rc != 0)
		return rc;
	st->began = rama_now();
	for (uint32_t i = 1; i < hands; i++) {
		players[i].started =
			pthread_create(&players[i].thread, NULL, play, &players[i]) == 0;
		if (!players[i].started && st->failed.code == 0)
			rama_err_set(&st->failed, RAMA_EMEMORY, "no more than %u threads", i);
	}
	play(&players[0]);
	for (uint32_t i = 1; i < hands; i++)
		if (players[i].started)
			pthread_join(players[i].thread, NULL);
	for (uint32_t i = 0; i < hands; i++)
		add_books(&players[i]);
	if (st->failed.code != 0)
		return rama_err_set(e, st->failed.code, "%s", st->failed.text);
	rc = check_plan(st, e);
	return rc == 0 ? rama_emu_team_barrier(st->r->m->team, e) : rc;
}

int rama_emu_replay_play(struct rama_emu_replay *r, const struct rama_emu_replay_order *o,
			 struct rama_err *e)
{
	struct player *players = calloc(r->hands, sizeof(*players));
	struct stage st;
	int rc = stage_init(&st, r, o, e);

	if (players == NULL)
		rc = rama_err_set(e, RAMA_EMEMORY, "no memory");
	for (uint32_t i = 0; players != NULL && rc == 0 && i < r->hands; i++)
		rc = player_init(&players[i], &st, i, e);
	if (players != NULL && rc == 0)
		rc = play_all(&st, players, e);
	for (uint32_t i = 0; players != NULL && i < r->hands; i++)
		player_fini(&players[i]);
	free(players);
	free(st.heard);
	pthread_mutex_destroy(&st.lock);
	pthread_cond_destroy(&st.told);
	return rc;
}
