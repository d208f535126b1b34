/* SPDX-License-Identifier: BSD-3-Clause */
/* fuse.c: a FUSE daemon reads requests of the kernel from a device and writes answers into it. One
 * thread may read and another answer; in between a request stands in a table, found by its number.
 * By splice() they go through a pipe, which libfuse does of itself: then the same thread takes them
 * out of it, their head first. What comes by io_uring is not seen, nor what is taken out of a pipe
 * by somebody else, which is counted. */
#include "capture/events.h"
#include "capture/hooks/hooks.h"

#include <sys/sysmacros.h>

#include "core/foreign/fuse.h"

#define DEVICE makedev(10, 229)
#define NAME "/dev/fuse"

_Atomic int rama_cap_fuse_fds[RAMA_CAP_FUSE_FDS];
_Atomic unsigned rama_cap_fuse_n;

/* ---- descriptors ----------------------------------------------------------------------------- */

void rama_cap_fuse_met(int fd, uint64_t device)
{
	if (device != DEVICE || rama_cap_fuse_is(fd))
		return;
	for (unsigned i = 0; i < RAMA_CAP_FUSE_FDS; i++) {
		int none = 0;

		if (atomic_compare_exchange_strong(&rama_cap_fuse_fds[i], &none, fd + 1)) {
			unsigned n = atomic_load(&rama_cap_fuse_n);

			while (n <= i && !atomic_compare_exchange_weak(&rama_cap_fuse_n, &n, i + 1))
				;
			return;
		}
	}
	rama_cap_hooks_unseen();
}

void rama_cap_fuse_opened(int fd, const char *path)
{
	if (path && strcmp(path, NAME) == 0)
		rama_cap_fuse_met(fd, DEVICE);
}

void rama_cap_fuse_forget(int fd)
{
	for (unsigned i = 0; i < RAMA_CAP_FUSE_FDS; i++) {
		int is = fd + 1;

		atomic_compare_exchange_strong(&rama_cap_fuse_fds[i], &is, 0);
	}
}

/* ---- requests that were not answered yet ----------------------------------------------------- */

#define PLACES 2048 /* a power of 2: kernels send some hundred at most before they wait */
#define NEAR 8	    /* places that a request may have */
#define BUSY 1 /* unique of a place that is being filled or emptied; those of requests are even */

/* What is done for each request of the kernel, and so inline. */
#define ROW inline __attribute__((always_inline))

struct place {
	_Atomic uint64_t unique;    /* 0: free */
	struct rama_cap_request is; /* event.start: ticks; event.call: the id it has for what the
				     * thread that read it does meanwhile; 0: none */
	uint32_t lane;		    /* of that thread */
} __attribute__((aligned(64)));
static struct place places[PLACES];

static struct place *place_at(uint64_t unique, unsigned i)
{
	return &places[((unique * 0x9e3779b97f4a7c15u >> 40) + i) & (PLACES - 1)];
}

/* the one that may be filled: a free one, or that of a request that was never answered */
static ROW struct place *take_place(uint64_t unique)
{
	struct place *oldest = NULL;

	for (unsigned i = 0; i < NEAR; i++) {
		struct place *p = place_at(unique, i);
		uint64_t is = 0;

		if (atomic_compare_exchange_strong(&p->unique, &is, BUSY))
			return p;
		if (is != BUSY && (!oldest || p->is.event.start < oldest->is.event.start))
			oldest = p;
	}
	if (oldest) {
		uint64_t is = atomic_load(&oldest->unique);

		if (is > BUSY && atomic_compare_exchange_strong(&oldest->unique, &is, BUSY)) {
			rama_cap_hooks_unseen();
			return oldest;
		}
	}
	return NULL;
}

/* now ours, until its number is 0 or what it was */
static ROW struct place *find_place(uint64_t unique)
{
	for (unsigned i = 0; i < NEAR; i++) {
		struct place *p = place_at(unique, i);
		uint64_t is = unique;

		if (atomic_compare_exchange_strong(&p->unique, &is, BUSY))
			return p;
	}
	return NULL;
}

/* ---- reading and answering ------------------------------------------------------------------- */

static RAMA_CAP_TLS struct {
	uint64_t unique, tid;
	size_t piped; /* bytes of a request that was spliced into a pipe; 0: there is none */
	unsigned char head[RAMA_CORE_FUSE_OUT]; /* of an answer that lies in a pipe; */
	size_t head_n;				/* so much of it */
	uint32_t part; /* the id that what this thread does is part of; 0: none */
} now;

/* What this thread does from now on is no part of a request any more. */
static ROW void part_ends(void)
{
	if (RAMA_CAP_LIKELY(!now.part))
		return;
	if (rama_cap_thread.parent == now.part)
		rama_cap_thread.parent = 0;
	now.part = 0;
}

/* A daemon that does what it is asked for in the thread that reads and answers: what that calls
 * meanwhile is part of the request. Clients of GlusterFS are none, and need not pay for it. */
static __attribute__((noinline)) void part_begins(struct place *p)
{
	struct rama_cap_thread *t = &rama_cap_thread;

	if (t->live != *rama_cap_live || !t->lane || t->parent)
		return;
	now.part = (uint32_t)++t->lane->calls;
	p->is.event.call = t->parent = now.part;
	p->lane = t->lane_number;
}

/* the first bytes of what was read or written, at most `whole` */
static __attribute__((noinline)) size_t collect(unsigned char *to, size_t room,
						const struct iovec *iov, int cnt, size_t whole)
{
	size_t have = 0;

	room = room < whole ? room : whole;
	for (int i = 0; i < cnt && have < room; i++) {
		size_t n = iov[i].iov_len < room - have ? iov[i].iov_len : room - have;

		memcpy(to + have, iov[i].iov_base, n);
		have += n;
	}
	return have;
}

/* the first `n` bytes, or all; where they are, mostly, else in `room`, which has as much */
static inline const unsigned char *first_bytes(unsigned char *room, size_t *n,
					       const struct iovec *iov, int cnt, size_t whole)
{
	*n = *n < whole ? *n : whole;
	if (RAMA_CAP_LIKELY(cnt > 0 && iov[0].iov_len >= *n))
		return iov[0].iov_base;
	*n = collect(room, *n, iov, cnt, whole);
	return room;
}

void rama_cap_fuse_request(const struct iovec *iov, int cnt, ssize_t r)
{
	unsigned char room[RAMA_CORE_FUSE_IN];
	const unsigned char *head;
	struct rama_core_fuse_request q;
	size_t have = sizeof(room);
	struct place *p;

	now.unique = 0;
	part_ends();
	if (r <= 0 || (!rama_cap_eventful(RAMA_SEG_LAYER_FUSE) && !rama_cap_requests_count()))
		return;
	head = first_bytes(room, &have, iov, cnt, (size_t)r);
	if (RAMA_CAP_UNLIKELY(!rama_core_fuse_request(&q, head, have, (size_t)r))) {
		rama_cap_hooks_unseen();
		return;
	}
	if (q.fn == RAMA_TAB_FN_NONE || q.unique <= BUSY)
		return;
	p = take_place(q.unique);
	if (RAMA_CAP_UNLIKELY(!p)) {
		rama_cap_hooks_unseen();
		return;
	}
	p->is.event.start = rama_cap_ticks();
	p->is.event.off = q.off;
	p->is.event.layer = RAMA_SEG_LAYER_FUSE;
	p->is.event.kind = q.kind;
	p->is.event.fn = q.fn;
	p->is.event.call = 0;
	p->is.link.tid = q.tid;
	p->is.link.unique = q.unique;
	p->is.link.object = q.node;
	p->is.link.mark = 0;
	p->is.link.user = q.uid + 1;
	now.unique = q.unique;
	now.tid = q.tid;
	if (RAMA_CAP_UNLIKELY(!rama_cap_hooks_armed))
		part_begins(p);
	atomic_store_explicit(&p->unique, q.unique, memory_order_release);
}

/* ---- through pipes --------------------------------------------------------------------------- */

/* The first that begins with the length of what was spliced is it. */
static bool take_piped(const struct iovec *iov, int cnt, ssize_t r)
{
	size_t whole = now.piped;
	struct iovec read;

	if (whole == 0 || cnt == 0 || r < RAMA_CORE_FUSE_IN_HEAD)
		return false;
	read = (struct iovec){ iov[0].iov_base,
			       iov[0].iov_len < (size_t)r ? iov[0].iov_len : (size_t)r };
	if (read.iov_len < RAMA_CORE_FUSE_IN_HEAD || rama_core_fuse_u32(read.iov_base) != whole)
		return false;
	now.piped = 0;
	rama_cap_fuse_request(&read, 1, (ssize_t)whole);
	return true;
}

void rama_cap_fuse_took(int fd, const struct iovec *iov, int cnt, ssize_t r)
{
	if (rama_cap_fuse_is(fd))
		rama_cap_fuse_request(iov, cnt, r);
	else
		take_piped(iov, cnt, r);
}

void rama_cap_fuse_vmspliced(const struct iovec *iov, size_t cnt, ssize_t r)
{
	if (cnt <= INT32_MAX && r > 0 && !take_piped(iov, (int)cnt, r))
		now.head_n += collect(now.head + now.head_n, sizeof(now.head) - now.head_n, iov,
				      (int)cnt, (size_t)r);
}

/* ---- answers --------------------------------------------------------------------------------- */

static uint32_t name_number, name_generation = UINT32_MAX; /* of which segment */

static __attribute__((noinline)) uint32_t name_again(struct rama_cap_thread *t)
{
	int saved = errno;
	struct rama_seg_name *n = rama_cap_name(t, NAME, sizeof(NAME) - 1, true);

	name_number = n ? rama_cap_name_number(n) : 0;
	if (!(rama_cap_run.id->flags & RAMA_SEG_FUSE_DAEMON))
		__atomic_fetch_or(&rama_cap_run.id->flags, RAMA_SEG_FUSE_DAEMON, __ATOMIC_RELAXED);
	name_generation = rama_cap_run.generation;
	errno = saved;
	return name_number;
}

static void tell(struct place *p, const struct rama_core_fuse_answer *a, uint64_t until)
{
	struct rama_cap_thread *t = &rama_cap_thread;
	struct rama_seg_event *e = &p->is.event;

	if (RAMA_CAP_UNLIKELY(e->start < rama_cap_run.tick0) ||
	    (RAMA_CAP_UNLIKELY(t->live != *rama_cap_live) && !rama_cap_wake()))
		return; /* of a history that has ended */
	if (RAMA_CAP_UNLIKELY(t->busy) && !rama_cap_was_left(t, rama_cap_frame())) {
		rama_cap_missed(t);
		return;
	}
	rama_cap_busy(t, rama_cap_frame());
	e->length = until > e->start ? until - e->start : 0;
	e->start -= rama_cap_run.tick0;
	e->bytes = a->bytes;
	if (e->call && p->lane != t->lane_number)
		e->call = 0; /* what another thread did meanwhile is not known to be part of it */
	if (RAMA_CAP_UNLIKELY(rama_cap_requests_count()))
		rama_cap_hooks_count(e->length);
	if (rama_cap_eventful(RAMA_SEG_LAYER_FUSE)) {
		e->name = name_number;
		if (RAMA_CAP_UNLIKELY(name_generation != rama_cap_run.generation))
			e->name = name_again(t);
		rama_cap_request_put(t, &p->is, a->ok);
	}
	rama_cap_free(t);
}

void rama_cap_fuse_answer(const struct iovec *iov, int cnt, uint64_t until)
{
	unsigned char room[RAMA_CORE_FUSE_OUT];
	const unsigned char *head;
	struct rama_core_fuse_answer a;
	size_t whole = 0, have = sizeof(room);
	struct place *p;
	uint64_t unique;

	for (int i = 0; i < cnt; i++)
		whole += iov[i].iov_len;
	/* as libfuse and GlusterFS write it: the head alone, then what it is about */
	if (RAMA_CAP_LIKELY(cnt > 1 && iov[0].iov_len == RAMA_CORE_FUSE_OUT_LEAST &&
			    iov[1].iov_len >= RAMA_CORE_FUSE_OUT - RAMA_CORE_FUSE_OUT_LEAST)) {
		memcpy(room, iov[0].iov_base, RAMA_CORE_FUSE_OUT_LEAST);
		memcpy(room + RAMA_CORE_FUSE_OUT_LEAST, iov[1].iov_base,
		       RAMA_CORE_FUSE_OUT - RAMA_CORE_FUSE_OUT_LEAST);
		head = room;
	} else {
		head = first_bytes(room, &have, iov, cnt, whole);
	}
	unique = rama_core_fuse_answered(head, have);
	p = unique > BUSY ? find_place(unique) : NULL;
	if (!p)
		return; /* it came before we did, or is of no kind that is told */
	if (now.unique == unique) {
		now.unique = 0;
		part_ends();
	}
	if (rama_core_fuse_answer(&a, p->is.event.kind, head, have, whole))
		tell(p, &a, until);
	atomic_store_explicit(&p->unique, 0, memory_order_release);
}

void rama_cap_fuse_spliced(int in, int out, ssize_t r, uint64_t until)
{
	if (rama_cap_fuse_is(in)) {
		if (now.piped) /* nobody of us has seen who took it */
			rama_cap_hooks_unseen();
		now.piped = r > 0 ? (size_t)r : 0;
		now.unique = 0;
		part_ends();
	}
	if (!rama_cap_fuse_is(out) || (r < 0 && errno != ENOENT))
		return;
	if (now.head_n < RAMA_CORE_FUSE_OUT_LEAST ||
	    (r >= 0 && rama_core_fuse_u32(now.head) != (uint64_t)r)) {
		rama_cap_hooks_unseen();
	} else {
		/* no more than the head is read of it */
		struct iovec all = { now.head, rama_core_fuse_u32(now.head) };

		memset(now.head + now.head_n, 0, sizeof(now.head) - now.head_n);
		rama_cap_fuse_answer(&all, 1, until);
	}
	now.head_n = 0;
}

uint64_t rama_cap_fuse_current(uint64_t *tid)
{
	*tid = now.tid;
	return now.unique;
}

void rama_cap_fuse_became(uint64_t fuse_unique, uint64_t unique)
{
	struct place *p = find_place(fuse_unique);

	if (!p)
		return;
	if (p->is.link.mark == 0)
		p->is.link.mark = unique;
	atomic_store_explicit(&p->unique, fuse_unique, memory_order_release);
}
