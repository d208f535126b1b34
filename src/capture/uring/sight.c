/* SPDX-License-Identifier: BSD-3-Clause */
/* sight.c: whenever we are called, new requests and completions of a ring are read. Under the
 * ring's lock only that; what ended is counted after it was let go, since that may need others. */
#include "capture/record.h"
#include "capture/uring/uring.h"

void rama_cap_uring_missed(uint64_t n)
{
	if (rama_cap_run.state && n > 0)
		__atomic_fetch_add(&rama_cap_run.state->uring_missed, n, __ATOMIC_RELAXED);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* The file of a descriptor as far as it is known without looking it up. */
static uint64_t file_now(const struct rama_cap_uring *r, int fd, bool fixed)
{
	if (fixed) {
		const struct rama_cap_uring_file *f =
			r->files && (uint32_t)fd < r->n_files ? &r->files[fd] : NULL;

		return f && f->owner == (int32_t)rama_cap_run.pid ? f->file : 0;
	}
	struct rama_cap_fd *e = fd >= 0 ? rama_cap_fd(fd) : NULL;
	if (!e)
		return RAMA_CAP_URING_NO_FILE;
	if (e->posix == RAMA_CAP_NO_FILE)
		return RAMA_CAP_URING_NO_FILE;
	return (uintptr_t)e->posix & 1 ? 0 : (uint64_t)(uintptr_t)e->posix;
}

/* of another process than the one that registered it: by the descriptor, if both have it */
static int fixed_fd(const struct rama_cap_uring *r, int fd)
{
	return r->files && (uint32_t)fd < r->n_files ? r->files[fd].fd : -1;
}

/* The path must be kept now: it need not live longer than the call. */
static uint16_t keep_path(struct rama_cap_uring *r, uint32_t number, uint64_t path)
{
	struct rama_cap_uring_shared *s = r->shared;
	uint32_t at = s->paths % RAMA_CAP_URING_PATHS;
	size_t n =
		path ? rama_cap_uring_copy(s->path[at].text, (uintptr_t)path, RAMA_CAP_URING_PATH)
		     : 0;

	if (n == 0 || !memchr(s->path[at].text, '\0', n))
		return 0;
	s->paths++;
	s->path[at].number = number;
	return (uint16_t)(at + 1);
}

/* an address that stands for all buffers of a list; *bytes: of all of them */
static uint64_t vector_mem(uint64_t list, uint32_t n, int64_t *bytes)
{
	struct iovec v[8];
	uint64_t mem = 0;

	*bytes = 0;
	for (uint32_t from = 0; from < n && from < 1024; from += 8) {
		uint32_t some = n - from < 8 ? n - from : 8;

		if (rama_cap_uring_copy(v, (uintptr_t)list + from * sizeof(*v),
					some * sizeof(*v)) != some * sizeof(*v))
			break;
		for (uint32_t i = 0; i < some; i++) {
			mem |= (uint64_t)(uintptr_t)v[i].iov_base;
			*bytes += (int64_t)v[i].iov_len;
		}
	}
	return mem;
}

static void files_by_request(struct rama_cap_uring *r, const struct rama_core_uring_sqe *q)
{
	int fd[16];

	for (uint32_t from = 0; from < q->len && q->has_off; from += 16) {
		uint32_t some = q->len - from < 16 ? q->len - from : 16;

		if (rama_cap_uring_copy(fd, (uintptr_t)q->mem + 4ul * from, 4ul * some) !=
		    4ul * some)
			return;
		for (uint32_t i = 0; i < some; i++) {
			uint64_t at = (uint64_t)q->off + from + i;

			if (r->files && at < r->n_files && fd[i] != -2)
				r->files[at] = (struct rama_cap_uring_file){
					file_now(r, fd[i], false), fd[i], (int32_t)rama_cap_run.pid
				};
		}
	}
}

/* What of a request has to be asked at once, since it may be gone when it has ended. */
static void keep_more(struct rama_cap_uring *r, struct rama_core_uring_flight *f,
		      const struct rama_core_uring_sqe *q)
{
	struct {
		uint64_t flags, mode;
	} how;
	int64_t bytes;

	switch (q->shape) {
	case RAMA_CORE_URING_VECTOR:
		f->mem = vector_mem(q->mem, q->len, &bytes);
		f->len = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
		break;
	case RAMA_CORE_URING_HOW:
		f->len = 0;
		if (rama_cap_uring_copy(&how, (uintptr_t)q->off, sizeof(how)) == sizeof(how))
			f->len = (uint32_t)how.mode;
		break;
	case RAMA_CORE_URING_OPEN: /* mode counts only where a file may be made */
		if (!(q->more & O_CREAT || (q->more & O_TMPFILE) == O_TMPFILE))
			f->len = 0;
		break;
	case RAMA_CORE_URING_STAT:
		f->answer = (uint64_t)q->off;
		break;
	case RAMA_CORE_URING_RENAME:
		f->path_to = keep_path(r, f->number, (uint64_t)q->off);
		f->fd_in = (int32_t)q->len;
		break;
	case RAMA_CORE_URING_COPY:
		f->fd_in = q->fixed_in ? fixed_fd(r, q->fd_in) : q->fd_in;
		f->file_in = file_now(r, q->fd_in, q->fixed_in);
		f->off_in = q->off_in;
		break;
	case RAMA_CORE_URING_CLOSE:
		if (q->file_index) {
			f->fd = -1;
			f->file = file_now(r, (int)(q->file_index - 1), true);
			if (r->files && q->file_index - 1 < r->n_files)
				r->files[q->file_index - 1] = (struct rama_cap_uring_file){ 0 };
		} else { /* its number may be given to another before it has ended */
			rama_cap_fd_forget(q->fd);
		}
		break;
	}
	if (q->path)
		f->path = keep_path(r, f->number, q->path);
}

static bool is_data(unsigned shape)
{
	return shape == RAMA_CORE_URING_DATA || shape == RAMA_CORE_URING_VECTOR;
}

static void fill(struct rama_cap_uring *r, struct rama_core_uring_flight *f,
		 const struct rama_core_uring_sqe *q, uint64_t t0)
{
	bool by_path = q->shape == RAMA_CORE_URING_OPEN || q->shape == RAMA_CORE_URING_HOW ||
		       q->shape >= RAMA_CORE_URING_STAT;

	f->t0 = t0;
	f->owner = (int32_t)rama_cap_run.pid;
	f->fn = q->fn;
	f->kind = q->kind;
	f->shape = q->shape;
	if (q->shape == RAMA_CORE_URING_NONE)
		return;
	f->fd = q->fixed && !by_path ? fixed_fd(r, q->fd) : q->fd;
	f->fixed = q->fixed;
	if (!by_path || q->shape == RAMA_CORE_URING_COPY)
		f->file = file_now(r, q->fd, q->fixed);
	f->off = q->off;
	f->has_off = q->has_off;
	f->mem = q->mem;
	f->len = q->len;
	f->file_index = q->fixed && !by_path ? (uint32_t)q->fd : q->file_index;
	if (q->shape != RAMA_CORE_URING_DATA)
		keep_more(r, f, q);
}

/* ---- what ended ------------------------------------------------------------------------------ */

static void take_path(struct rama_cap_uring *r, char *to, uint16_t at, uint32_t number)
{
	to[0] = '\0';
	if (at > 0 && r->shared->path[at - 1].number == number)
		memcpy(to, r->shared->path[at - 1].text, RAMA_CAP_URING_PATH);
}

/* false: the batch is full, or its paths are */
static bool put(struct rama_cap_uring *r, struct rama_cap_uring_batch *b,
		const struct rama_core_uring_flight *f)
{
	struct rama_core_uring_flight *to;
	unsigned i = b->n++;

	while (i > 0 && (int32_t)(b->item[i - 1].number - f->number) > 0) {
		b->item[i] = b->item[i - 1];
		i--;
	}
	to = &b->item[i];
	*to = *f;
	if (!f->path && !f->path_to)
		return b->n < RAMA_CAP_URING_BATCH;
	take_path(r, b->path[0], f->path, f->number);
	take_path(r, b->path[1], f->path_to, f->number);
	return false;
}

static bool is_counted(const struct rama_core_uring_flight *f)
{
	return f->shape != RAMA_CORE_URING_NONE && f->shape != RAMA_CORE_URING_FILES &&
	       f->shape != RAMA_CORE_URING_POST;
}

/* Of another process: left for it. */
static void leave_to_owner(struct rama_core_uring_table *t, struct rama_core_uring_flight *f)
{
	f->done = true;
	t->done++;
}

static bool scan_requests(struct rama_cap_uring *r, struct rama_cap_uring_batch *b, uint64_t t0)
{
	struct rama_core_uring_table *t = &r->shared->t;
	struct rama_seg_state *s = rama_cap_run.state;
	uint32_t until =
		rama_core_uring_word(r->map.sq, r->sqpoll ? r->map.sq_tail : r->map.sq_head);
	struct rama_core_uring_sqe q;
	uint32_t data = 0;
	bool room = true;

	if (until == t->sq_seen)
		return true;
	while (room && rama_core_uring_next_sqe(t, &r->map, until, &q)) {
		struct rama_core_uring_flight silent, *f = &silent;

		if (q.shape == RAMA_CORE_URING_POST)
			t->posts = true;
		else if (q.shape == RAMA_CORE_URING_FILES)
			files_by_request(r, &q);
		if (q.silent)
			silent = (struct rama_core_uring_flight){ .used = true };
		else if (!(f = rama_core_uring_begin(t, q.user_data)))
			continue;
		fill(r, f, &q, t0);
		if (q.silent) {
			f->number = t->numbers++;
			f->res = is_data(f->shape) && f->len <= INT32_MAX ? (int32_t)f->len : 0;
			f->t1 = t0;
			if (is_counted(f))
				room = put(r, b, f);
		} else if (is_data(f->shape)) {
			t->deep++;
			data++;
		}
	}
	if (data > 0) {
		__atomic_fetch_add(&s->uring_submits, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&s->uring_depth_sum, t->deep, __ATOMIC_RELAXED);
		if (t->deep > s->uring_depth_max)
			s->uring_depth_max = t->deep;
	}
	return room;
}

static bool scan_completions(struct rama_cap_uring *r, struct rama_cap_uring_batch *b, uint64_t now)
{
	struct rama_core_uring_table *t = &r->shared->t;
	struct rama_core_uring_cqe c;
	bool room = true;

	while (room && rama_core_uring_next_cqe(t, &r->map, &c)) {
		struct rama_core_uring_flight *f = rama_core_uring_end(t, &c);

		if (!f)
			continue;
		f->res = c.res;
		f->t1 = now;
		if (f->shape == RAMA_CORE_URING_UNKNOWN)
			t->dropped++;
		else if (f->owner != (int32_t)rama_cap_run.pid && !c.more) {
			leave_to_owner(t, f);
			continue;
		} else if (is_counted(f))
			room = put(r, b, f);
		if (!c.more) {
			if (is_data(f->shape))
				t->deep -= t->deep > 0;
			rama_core_uring_free(t, f);
		}
	}
	return room;
}

/* What other processes have seen the end of. */
static bool scan_done(struct rama_cap_uring *r, struct rama_cap_uring_batch *b)
{
	struct rama_core_uring_table *t = &r->shared->t;
	struct rama_core_uring_flight *f;
	bool room = true;

	for (uint32_t i = 0; room && i < t->fresh && (f = rama_core_uring_at(t, i)) != NULL; i++) {
		if (!f->used || !f->done || f->owner != (int32_t)rama_cap_run.pid)
			continue;
		t->done -= t->done > 0;
		if (is_data(f->shape))
			t->deep -= t->deep > 0;
		if (is_counted(f))
			room = put(r, b, f);
		rama_core_uring_free(t, f);
	}
	return room;
}

/* ---- a sight --------------------------------------------------------------------------------- */

static bool anything_new(const struct rama_cap_uring *r)
{
	const struct rama_core_uring_table *t = &r->shared->t;

	return rama_core_uring_word(r->map.cq, r->map.cq_tail) != t->cq_seen || t->done > 0 ||
	       rama_core_uring_word(r->map.sq, r->sqpoll ? r->map.sq_tail : r->map.sq_head) !=
		       t->sq_seen;
}

/* true: there is more */
static bool scan(struct rama_cap_uring *r, uint64_t id, struct rama_cap_thread *t,
		 struct rama_cap_uring_batch *b, uint64_t t0)
{
	struct rama_core_uring_table *table = &r->shared->t;
	bool more = false;

	if (!rama_cap_lock(t, &table->lock))
		return false;
	if (r->id == id && table->id == id && !r->blind) {
		more = !scan_requests(r, b, t0) || !scan_completions(r, b, rama_cap_ticks()) ||
		       (table->done > 0 && !scan_done(r, b));
		uint64_t missed = rama_core_uring_missed(table);
		if (RAMA_CAP_UNLIKELY(missed > table->told)) {
			rama_cap_uring_missed(missed - table->told);
			table->told = missed;
		}
	}
	rama_cap_unlock(t, &table->lock);
	return more;
}

void rama_cap_uring_sight(struct rama_cap_uring *r, uint64_t t0)
{
	struct rama_cap_uring_batch b;
	struct rama_cap_visit v;
	uint64_t id = r->id;
	bool more = !r->blind && id && anything_new(r);

	if (!more)
		return;
	if (!t0)
		t0 = __atomic_load_n(&r->entering, __ATOMIC_RELAXED);
	if (!t0)
		t0 = rama_cap_ticks();
	while (more && rama_cap_enter(&v)) {
		b.n = 0;
		more = scan(r, id, v.t, &b, t0);
		rama_cap_uring_count(v.t, r, &b);
		rama_cap_leave(&v);
		rama_cap_uring_count_paths(r, &b);
	}
}

void rama_cap_uring_before(struct rama_cap_uring *r, const struct rama_cap_span *sp, bool submits)
{
	if (!r) {
		rama_cap_uring_sight_all(0);
		return;
	}
	rama_cap_uring_sight(r, 0);
	if (submits)
		__atomic_store_n(&r->entering, sp->t0, __ATOMIC_RELAXED);
}

void rama_cap_uring_after(struct rama_cap_uring *r, const struct rama_cap_span *sp, bool submits,
			  long result)
{
	if (!r) {
		rama_cap_uring_sight_all(submits ? sp->t0 : 0);
		return;
	}
	if (r->blind && submits && result > 0)
		rama_cap_uring_missed((uint64_t)result);
	rama_cap_uring_sight(r, submits ? sp->t0 : 0);
	if (submits)
		__atomic_store_n(&r->entering, 0, __ATOMIC_RELAXED);
}

struct rama_cap_uring_call rama_cap_uring_begin(const struct rama_cap_span *sp, long number,
						const long *arg)
{
	struct rama_cap_uring_call c = { .sp = sp, .arg = arg, .number = number };

	if (number != SYS_io_uring_enter)
		return c;
	/* the descriptor may be one of numbers that the thread has registered */
	if (!((unsigned)arg[3] & IORING_ENTER_REGISTERED_RING))
		c.ring = rama_cap_uring_find((int)arg[0]);
	rama_cap_uring_before(c.ring, sp, (unsigned)arg[1] > 0);
	return c;
}

void rama_cap_uring_end(const struct rama_cap_uring_call *c, long result, const void *caller)
{
	int saved = errno;

	if (c->number == SYS_io_uring_enter)
		rama_cap_uring_after(c->ring, c->sp, (unsigned)c->arg[1] > 0, result);
	else if (c->number == SYS_io_uring_setup && result >= 0)
		rama_cap_uring_made((int)result, (const struct io_uring_params *)c->arg[1], true);
	else if (c->number == SYS_io_uring_register && result >= 0)
		rama_cap_uring_registered((int)c->arg[0], (unsigned)c->arg[1], (uintptr_t)c->arg[2],
					  (unsigned)c->arg[3]);
	if (c->number == SYS_io_uring_setup && result >= 0 && caller)
		rama_cap_uring_inline(caller);
	errno = saved;
}

void rama_cap_uring_last_sight(void)
{
	if (RAMA_CAP_UNLIKELY(rama_cap_uring_rings))
		rama_cap_uring_sight_all(0);
}
