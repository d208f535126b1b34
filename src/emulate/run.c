/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/human.h"
#include "emulate/own/own.h"
#include "emulate/work.h"

#define ALIGN 4096
#define HUGE_PAGE ((size_t)2 << 20)
#define LOOK_EVERY 0.2 /* seconds between looks whether another rank has failed */
#define REST 1.0       /* longest sleep without such a look */

/* a request that is under way */
struct slot {
	char *buf;
	size_t room;
	struct rama_emu_unit *unit;
	int64_t offset, length;
	bool read, busy;
};

struct runner {
	const struct rama_emu_run_options *opt;
	struct rama_emu_team *team;
	struct rama_emu_books *books;
	struct slot **slots; /* pointers: engines hold on to them while the array grows */
	unsigned n_slots;
	struct rama_emu_unit *open; /* all that are open, by next_open */
	unsigned flying[2];	    /* requests under way: writes, reads */
	double since[2];	    /* when the first of them began */
	uint32_t task;		    /* that is running */
	uint32_t iteration;
	double began;  /* of it */
	double looked; /* last time */
	struct rama_err *e;
	double began_moving; /* for --rate: when, and how much since */
	uint64_t moved;
};

/* ---- books ---------------------------------------------------------------------------------- */

/* room for the books of one more task */
static int open_book(struct runner *r, uint32_t task)
{
	struct rama_emu_books *b = r->books;
	struct rama_emu_tally *p;
	uint32_t n = task + 1;

	if (task < b->n_tasks)
		return 0;
	p = reallocarray(b->task, n, sizeof(*p));
	if (p == NULL)
		return rama_err_set(r->e, RAMA_EMEMORY, "no memory for the books of %u tasks", n);
	for (uint32_t i = b->n_tasks; i < n; i++)
		p[i] = (struct rama_emu_tally){ .flaws.first = -1 };
	b->task = p;
	b->n_tasks = n;
	return 0;
}

static void span(struct runner *r, enum rama_emu_do what, double start, double end, uint64_t bytes)
{
	if (r->opt->record)
		rama_emu_books_span(r->books,
				    &(struct rama_emu_span){ .task = r->task,
							     .rank = (uint32_t)r->team->rank,
							     .iteration = r->iteration,
							     .what = (uint8_t)what,
							     .start = start + r->team->clock_offset,
							     .end = end + r->team->clock_offset,
							     .bytes = bytes });
}

/* Straight into the books, as this is done for every file: where the time of a step belongs. */
static void book_into(struct rama_emu_tally *t, enum rama_emu_do what, double start, double end)
{
	double seconds = end - start;

	switch (what) {
	case RAMA_EMU_DO_OPEN:
		t->opens++;
		t->open_time += seconds;
		break;
	case RAMA_EMU_DO_META:
		t->metas++;
		t->open_time += seconds;
		break;
	case RAMA_EMU_DO_CLOSE:
		t->open_time += seconds;
		break;
	case RAMA_EMU_DO_SYNC:
		t->syncs++;
		t->sync_time += seconds;
		break;
	case RAMA_EMU_DO_COMPUTE:
		t->compute_time += seconds;
		break;
	case RAMA_EMU_DO_WAIT:
	case RAMA_EMU_DO_BARRIER:
	case RAMA_EMU_DO_CALL:
		t->waits++;
		t->wait_time += seconds;
		/* a run lasts from the first to the last thing that is done, not waited for */
		return;
	default:
		break;
	}
	t->first = t->last == 0 || start < t->first ? start : t->first;
	t->last = end > t->last ? end : t->last;
}

static struct rama_emu_tally *tally_of(const struct rama_emu_unit *u)
{
	return u->unbooked ? NULL : u->tally;
}

/* Adds what one step took to the books of the rank, of the task and of the file. */
static void book(struct runner *r, const struct rama_emu_step *s, double start, double end)
{
	double from = start + r->team->clock_offset, to = end + r->team->clock_offset;

	book_into(&r->books->rank, s->what, from, to);
	book_into(&r->books->task[r->task], s->what, from, to);
	if (s->unit != NULL && tally_of(s->unit) != NULL)
		book_into(s->unit->tally, s->what, from, to);
	span(r, s->what, start, end, 0);
}

/* ---- requests ------------------------------------------------------------------------------- */

/* Straight into both books: this is done for every request. Empty ones only keep collective
 * calls in step. */
static void book_move(struct rama_emu_tally *t, const struct slot *s, double start, double end)
{
	double seconds = end - start;
	bool counts = s->length > 0;

	if (s->read) {
		t->reads += counts;
		t->bytes_read += (uint64_t)s->length;
		t->read_time += seconds;
		t->max_read = seconds > t->max_read ? seconds : t->max_read;
	} else {
		t->writes += counts;
		t->bytes_written += (uint64_t)s->length;
		t->write_time += seconds;
		t->max_write = seconds > t->max_write ? seconds : t->max_write;
	}
	if (t->last == 0)
		t->first = start;
	t->last = end;
}

static void check_move(struct runner *r, const struct slot *s)
{
	struct rama_emu_tally t = { .flaws.first = -1 };

	rama_emu_pattern_check(&s->unit->pattern, s->buf, (size_t)s->length, s->offset, &t.flaws);
	if (t.flaws.first < 0)
		return;
	rama_emu_tally_add(&r->books->rank, &t);
	rama_emu_tally_add(&r->books->task[r->task], &t);
	if (tally_of(s->unit) != NULL)
		rama_emu_tally_add(s->unit->tally, &t);
}

static void finish_at(struct runner *r, struct slot *s, double start, double end)
{
	double offset = r->team->clock_offset;

	book_move(&r->books->rank, s, start + offset, end + offset);
	/* requests that overlap take the time of one */
	if (--r->flying[s->read] == 0)
		*(s->read ? &r->books->rank.read_busy : &r->books->rank.write_busy) +=
			end - r->since[s->read];
	if (s->length > 0)
		rama_emu_latency_add(s->read ? &r->books->read : &r->books->write, end - start);
	book_move(&r->books->task[r->task], s, start + offset, end + offset);
	if (tally_of(s->unit) != NULL)
		book_move(s->unit->tally, s, start + offset, end + offset);
	if (r->opt->record)
		span(r, s->read ? RAMA_EMU_DO_READ : RAMA_EMU_DO_WRITE, start, end,
		     (uint64_t)s->length);
	if (s->read && r->opt->verify)
		check_move(r, s);
	s->busy = false;
}

static void finish(void *ctx, void *tag, double seconds)
{
	double end = rama_now();

	finish_at(ctx, tag, end - seconds, end);
}

static const struct rama_emu_engine *engine_of(const struct runner *r,
					       const struct rama_emu_unit *u)
{
	return u->engine != NULL ? u->engine : r->opt->engine;
}

static int reap(struct runner *r, struct rama_emu_unit *u, unsigned left)
{
	const struct rama_emu_engine *g = u->handle->engine;

	return g->reap != NULL ? g->reap(u->handle, left, finish, r, r->e) : 0;
}

/* Large ones in huge pages, where the system gives them: copying is what moves the data of
 * cached files. */
static char *new_buffer(size_t room)
{
	size_t align = room >= HUGE_PAGE / 4 ? HUGE_PAGE : ALIGN;
	char *buf = aligned_alloc(align, (room + align - 1) / align * align);

	if (buf == NULL)
		return NULL;
	if (align == HUGE_PAGE)
		madvise(buf, (room + align - 1) / align * align, MADV_HUGEPAGE);
	memset(buf, 0, room);
	return buf;
}

static struct slot *new_slot(struct runner *r)
{
	struct slot **p = reallocarray(r->slots, r->n_slots + 1, sizeof(struct slot *));

	if (p == NULL)
		return NULL;
	r->slots = p;
	p[r->n_slots] = calloc(1, sizeof(**p));
	return p[r->n_slots] != NULL ? p[r->n_slots++] : NULL;
}

/* a buffer that is free, as large as is asked for */
static struct slot *free_slot(struct runner *r, size_t n)
{
	size_t room = (n + ALIGN) / ALIGN * ALIGN; /* also for 0 bytes there is some */
	struct slot *s = NULL;

	for (unsigned i = 0; i < r->n_slots && s == NULL; i++)
		if (!r->slots[i]->busy)
			s = r->slots[i];
	if (s == NULL)
		s = new_slot(r);
	if (s != NULL && s->room <= n) {
		free(s->buf);
		s->buf = new_buffer(room);
		s->room = s->buf != NULL ? room : 0;
		if (s->buf != NULL && r->opt->fill_once)
			rama_emu_pattern_fill(&(struct rama_emu_pattern){ r->opt->seed, 0, 0 },
					      s->buf, room, 0);
	}
	if (s == NULL || s->buf == NULL) {
		rama_err_set(r->e, RAMA_EMEMORY, "no memory for a request of %zu bytes", n);
		return NULL;
	}
	return s;
}

static int compute(const struct runner *r, double seconds, int64_t cores);

/* Not before all that was moved so far would have been moved at the rate that is asked for. */
static int hold_back(struct runner *r, int64_t length)
{
	double due;

	if (r->opt->rate <= 0)
		return 0;
	if (r->began_moving == 0)
		r->began_moving = rama_now();
	due = r->began_moving + (double)r->moved / r->opt->rate;
	r->moved += (uint64_t)length;
	return due > rama_now() ? compute(r, due - rama_now(), 1) : 0;
}

static int move(struct runner *r, const struct rama_emu_step *step)
{
	struct rama_emu_unit *u = step->unit;
	const struct rama_emu_engine *g = u->handle->engine;
	unsigned depth = u->handle->opt.depth > 0 ? u->handle->opt.depth : 1;
	struct slot *s;
	double start;
	int rc = reap(r, u, depth - 1);

	if (rc == 0)
		rc = hold_back(r, step->length);
	if (rc != 0)
		return rc;
	s = free_slot(r, (size_t)step->length);
	if (s == NULL)
		return RAMA_EMEMORY;
	s->unit = u;
	s->offset = step->offset;
	s->length = step->length;
	s->read = step->what == RAMA_EMU_DO_READ;
	if (!s->read && !r->opt->no_fill && !r->opt->fill_once)
		rama_emu_pattern_fill(&u->pattern, s->buf, (size_t)s->length, s->offset);
	start = rama_now();
	if (start - r->looked > LOOK_EVERY) {
		r->looked = start;
		rc = rama_emu_team_look(r->team, r->e);
		if (rc != 0)
			return rc;
		if (r->opt->tick != NULL)
			r->opt->tick(r->opt->tick_ctx);
	}
	s->busy = g->reap != NULL;
	if (r->flying[s->read]++ == 0)
		r->since[s->read] = start;
	rc = g->move(u->handle,
		     (struct rama_emu_request){ .buf = s->buf,
						.n = (size_t)s->length,
						.off = s->offset,
						.write = !s->read,
						.tag = s,
						.alone = step->alone },
		     r->e);
	if (rc == 0 && g->reap == NULL)
		finish_at(r, s, start, rama_now());
	/* one at a time: what comes between this one and the next is not its own */
	return rc == 0 && depth == 1 ? reap(r, u, 0) : rc;
}

/* ---- files ---------------------------------------------------------------------------------- */

const char *rama_emu_unit_partial(const struct rama_emu_own *own, const struct rama_emu_unit *u,
				  char *to, size_t room)
{
	size_t n = strlen(u->path) + 1;

	if (!u->in_place)
		return rama_emu_own_partial(own, u->path, to, room);
	return n <= room ? memcpy(to, u->path, n) : NULL;
}

void rama_emu_drop_cache(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return; /* whoever opens it to read it will say why */
	fdatasync(fd);	/* what is not on disk yet stays in memory */
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

static int open_unit(struct runner *r, const struct rama_emu_step *step)
{
	struct rama_emu_unit *u = step->unit;
	char part[RAMA_EMU_OWN_PATH];
	const char *path = u->path;
	struct rama_emu_handle *h = calloc(1, sizeof(*h));
	int rc;

	if (step->flags & RAMA_EMU_OPEN_WRITE)
		path = rama_emu_unit_partial(r->opt->own, u, part, sizeof(part));
	if (h == NULL || path == NULL) {
		free(h);
		return rama_err_set(r->e, RAMA_EMEMORY, "%s: name too long or no memory", u->path);
	}
	h->engine = engine_of(r, u);
	h->own = r->opt->own;
	h->opt = u->opt;
	if (h->opt.depth == 0)
		h->opt = r->opt->opt;
	h->opt.group = u->opt.group;
	h->opt.size = u->size;
	h->path = strdup(path);
	if (h->path == NULL) {
		free(h);
		return rama_err_set(r->e, RAMA_EMEMORY, "no memory");
	}
	rc = rama_emu_engine_open(h, u->in_place, step->flags, r->e);
	if (rc != 0) {
		free((void *)h->path);
		free(h);
		return rc;
	}
	u->handle = h;
	u->next_open = r->open;
	r->open = u;
	return 0;
}

static int drop_handle(struct runner *r, struct rama_emu_unit *u, struct rama_err *e)
{
	struct rama_emu_unit **at = &r->open;
	struct rama_emu_handle *h = u->handle;
	int rc = h->engine->close(h, e);

	while (*at != NULL && *at != u)
		at = &(*at)->next_open;
	if (*at == u)
		*at = u->next_open;
	free((void *)h->path);
	free(h);
	u->handle = NULL;
	return rc;
}

static int close_unit(struct runner *r, struct rama_emu_unit *u)
{
	int rc = reap(r, u, 0), closed = drop_handle(r, u, rc == 0 ? r->e : NULL);

	return rc != 0 ? rc : closed;
}

/* After an error: nothing stays open, and nothing half-written lies around. */
static void drop_all(struct runner *r)
{
	while (r->open != NULL) {
		struct rama_emu_unit *u = r->open;
		bool partial = strcmp(u->handle->path, u->path) != 0;

		drop_handle(r, u, NULL);
		if (partial)
			rama_emu_own_drop(r->opt->own, u->path);
	}
}

static int publish(struct runner *r, struct rama_emu_unit *u)
{
	char part[RAMA_EMU_OWN_PATH];

	if (engine_of(r, u)->no_files)
		return 0;
	if (u->in_place) { /* it has its name */
		rama_emu_own_complete(r->opt->own, u->path);
		return 0;
	}
	if (rama_emu_unit_partial(r->opt->own, u, part, sizeof(part)) == NULL)
		return rama_err_set(r->e, RAMA_EIO, "%s: name too long", u->path);
	return rama_emu_own_publish(r->opt->own, part, u->path, r->e);
}

/* "it has 8.0 KiB of 9.5 MiB" */
static const char *how_much(const char *path, int64_t size, char to[80])
{
	char have[RAMA_HUMAN], want[RAMA_HUMAN];
	struct stat st;

	if (stat(path, &st) != 0)
		return "it is not there";
	snprintf(to, 80, "it has %s of %s", rama_human_bytes(have, (double)st.st_size),
		 rama_human_bytes(want, (double)size));
	return to;
}

static int wait_for(struct runner *r, const struct rama_emu_step *step)
{
	struct rama_emu_unit *u = step->unit;
	double limit = step->seconds > 0 ? step->seconds : r->opt->timeout;
	int64_t size = engine_of(r, u)->container ? -1 : u->size;
	double until = rama_now() + (step->strict ? limit : 0), left = 0;
	int rc;

	if (engine_of(r, u)->no_files)
		return 0;
	do {
		left = until - rama_now();
		rc = rama_emu_wait_file(u->path, size, fmax(0, fmin(left, REST)), r->e);
		if (rc == 0)
			rc = rama_emu_team_look(r->team, r->e);
	} while (rc == 0 && left > 0);
	if (rc == 0 && step->strict)
		return rama_err_set(r->e, RAMA_EMISSING,
				    "%s: not complete after %.3g s; %s should have written it (%s)",
				    u->path, limit,
				    u->producer != NULL ? u->producer : "another program",
				    how_much(u->path, u->size, (char[80]){ 0 }));
	return rc < 0 ? rc : 0;
}

/* ---- the rest ------------------------------------------------------------------------------- */

#define CORES_MOST 1024

static void *spin(void *until)
{
	while (rama_now() < *(const double *)until)
		;
	return NULL;
}

/* One processor is kept busy by this thread, the others by more of them. Where there can be
 * none, fewer are. */
static void spin_on(double until, int64_t cores)
{
	pthread_t more[CORES_MOST];
	int64_t n = 0;

	while (n < cores - 1 && n < CORES_MOST && pthread_create(&more[n], NULL, spin, &until) == 0)
		n++;
	spin(&until);
	while (n > 0)
		pthread_join(more[--n], NULL);
}

static int compute(const struct runner *r, double seconds, int64_t cores)
{
	double until = rama_now() + seconds, part;
	struct timespec t;
	int rc = 0;

	while (rc == 0 && (seconds = until - rama_now()) > 0) {
		part = fmin(seconds, REST);
		t.tv_sec = (time_t)part;
		t.tv_nsec = (long)(1e9 * (part - (double)t.tv_sec));
		if (r->opt->spin)
			spin_on(rama_now() + part, cores);
		else
			nanosleep(&t, NULL);
		if (seconds > REST)
			rc = rama_emu_team_look(r->team, r->e);
	}
	return rc;
}

static int sync_unit(struct runner *r, struct rama_emu_unit *u)
{
	int rc = reap(r, u, 0);

	return rc != 0 ? rc : u->handle->engine->sync(u->handle, r->e);
}

static int act(struct runner *r, struct rama_emu_step *s)
{
	switch (s->what) {
	case RAMA_EMU_DO_OPEN:
		return open_unit(r, s);
	case RAMA_EMU_DO_SYNC:
		return sync_unit(r, s->unit);
	case RAMA_EMU_DO_CLOSE:
		return close_unit(r, s->unit);
	case RAMA_EMU_DO_COMPUTE:
		if (s->call != NULL &&
		    s->call(s->ctx, s, r->e) != 0) /* how long is known only now */
			return r->e->code;
		return r->opt->speed > 0 ? compute(r, s->seconds / r->opt->speed, s->length) : 0;
	case RAMA_EMU_DO_WAIT:
		return wait_for(r, s);
	case RAMA_EMU_DO_READY:
		return publish(r, s->unit);
	case RAMA_EMU_DO_BARRIER:
		return rama_emu_team_barrier(r->team, r->e);
	case RAMA_EMU_DO_REMOVE:
		if (rama_emu_own_remove(r->opt->own, s->unit->path) != 0)
			return rama_err_set(r->e, RAMA_EIO, "%s: %s", s->unit->path,
					    strerror(errno));
		return 0;
	case RAMA_EMU_DO_KILL:
		return raise(SIGKILL);
	case RAMA_EMU_DO_CALL:
	case RAMA_EMU_DO_META:
		return s->call(s->ctx, s, r->e);
	default:
		return 0;
	}
}

/* Does an empty request mean something, because others of the group make theirs? */
static bool in_step(const struct rama_emu_handle *h)
{
	return h->engine->needs_mpi && h->opt.group != NULL;
}

static int do_step(struct runner *r, struct rama_emu_step *s)
{
	double start;
	int rc;

	if (s->what == RAMA_EMU_DO_BEGIN) {
		r->task = s->task;
		r->iteration = (uint32_t)s->offset;
		r->began = rama_now();
		return open_book(r, s->task);
	}
	if (s->what == RAMA_EMU_DO_END) {
		span(r, RAMA_EMU_DO_END, r->began, rama_now(), 0);
		return 0;
	}
	if (s->what == RAMA_EMU_DO_WRITE || s->what == RAMA_EMU_DO_READ)
		return s->length > 0 || in_step(s->unit->handle) ? move(r, s) : 0;
	if (s->what == RAMA_EMU_DO_OPEN && r->opt->cold && (s->flags & RAMA_EMU_OPEN_WRITE) == 0)
		rama_emu_drop_cache(s->unit->path);
	start = rama_now();
	rc = act(r, s);
	book(r, s, start, rama_now());
	return rc;
}

int rama_emu_run_stream(struct rama_emu_stream *stream, const struct rama_emu_run_options *opt,
			struct rama_emu_team *team, struct rama_emu_books *books,
			struct rama_err *e)
{
	struct runner r = { .opt = opt, .team = team, .books = books, .e = e };
	struct rama_emu_step s = { 0 };
	int rc;

	if (books->n_tasks == 0) /* else it goes on with the books of an earlier stream */
		books->rank.flaws.first = -1;
	rc = open_book(&r, 0);
	while (rc == 0) {
		s = (struct rama_emu_step){ 0 };
		rc = stream->next(stream, &s, e);
		if (rc <= 0)
			break;
		rc = do_step(&r, &s);
	}
	drop_all(&r);
	for (unsigned i = 0; i < r.n_slots; i++) {
		free(r.slots[i]->buf);
		free(r.slots[i]);
	}
	free(r.slots);
	return rc < 0 ? rc : 0;
}
