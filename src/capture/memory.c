/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "capture/runtime.h"

#define PAGE ((uint64_t)RAMA_SEG_PAGE)

/* ---- pieces of the segment ------------------------------------------------------------------- */

enum {
	EXTENTS = 160,
	GENERATIONS = 4,
	BLOCKS = RAMA_SEG_LANES / RAMA_CAP_LANE_BLOCK,
	SINGLE = 128, /* pieces of memory beside the segment, and one for each lane */
	OWN = SINGLE + RAMA_SEG_LANES
};
#define STEP_MOST (4ull << 20) /* or the 64th part of an area: then the pieces are few */
#define BLOCK ((size_t)RAMA_CAP_LANE_BLOCK * RAMA_CAP_LANE)

struct piece {
	uint64_t from, len;
	unsigned char *at;
};

/* an area of which the first `mapped` bytes are mapped */
struct window {
	uint64_t off, len, mapped;
	uint64_t least; /* of a piece; pieces are multiples of the fourth part */
	/* page that the next piece grows from: the last of the piece before, or the first of all */
	unsigned char *last;
	struct piece *piece;
	unsigned n; /* stored with release: pieces below it are complete */
};

/* beside each other is what every process needs: few pages of memory */
static struct piece pieces[GENERATIONS][RAMA_CAP_PARTS][EXTENTS];
static struct memory {
	unsigned char
		*head; /* all before the records, and the first piece of those; NULL: not in use */
	uint64_t head_len, size;
	uint64_t lanes_off, lanes_len;
	struct window window[RAMA_CAP_PARTS];
	unsigned char *lanes[BLOCKS];
} memory[GENERATIONS];
static struct memory *now;

static uint64_t address_limit(void)
{
	uint64_t limit[2] = { UINT64_MAX, 0 };

	rama_cap_sys6(SYS_prlimit64, 0, RLIMIT_AS, 0, (long)limit, 0, 0);
	return limit[0];
}

uint64_t rama_cap_memory_share(uint64_t want)
{
	uint64_t limit = address_limit(), share = 4u << 20;

	if (limit == UINT64_MAX)
		return want;
	while (share * 2 <= limit / 32)
		share *= 2;
	return want < share ? want : share;
}

/* The limit may have come since we began: it is the application's, but for a sixteenth. */
static bool may_map(const struct memory *m, uint64_t n)
{
	uint64_t limit = address_limit(), share = limit / 16, have = n;

	if (limit == UINT64_MAX)
		return true;
	for (unsigned i = 0; i < RAMA_CAP_PARTS; i++)
		have += m->window[i].mapped;
	for (unsigned i = 0; i < BLOCKS; i++)
		have += m->lanes[i] ? BLOCK : 0;
	return have <= (share < 8u << 20 ? 8u << 20 : share);
}

static bool is_address(long p)
{
	return !(p < 0 && p > -4096);
}

static long map(int fd, uint64_t off, uint64_t n)
{
	return rama_cap_sys6(SYS_mmap, 0, (long)n, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_NORESERVE, fd, (long)off);
}

/* One more mapping of the file, from its byte `off` on, which is mapped at `page` already. What
 * comes is as locked as that page is, whatever mlockall() asks for what is mapped from now on.
 * Where that is unknown, as in valgrind, the file is asked for by its name. */
static long again(unsigned char *page, uint64_t off, uint64_t n)
{
	long p = rama_cap_sys6(SYS_mremap, (long)page, 0, (long)n, MREMAP_MAYMOVE, 0, 0);

	if (is_address(p) || p == -ENOMEM)
		return p;
	int fd = rama_cap_sys_open(rama_cap_run.path, O_RDWR | O_NOFOLLOW, 0);
	if (fd < 0)
		return p;
	p = map(fd, off, n);
	rama_cap_sys_close(fd);
	return p;
}

static bool add_piece(struct window *w, uint64_t step)
{
	uint64_t before = w->mapped > 0 ? PAGE : 0;
	long p = again(w->last, w->off + w->mapped - before, before + step);

	if (!is_address(p))
		return false;
	if (before > 0) /* the page it grew from came along: it is mapped already */
		rama_cap_sys3(SYS_munmap, p, before, 0);
	unsigned char *at = (unsigned char *)p + before;
	unsigned n = w->n;
	w->piece[n] = (struct piece){ w->mapped, step, at };
	w->last = at + step - PAGE;
	w->mapped += step;
	__atomic_store_n(&w->n, n + 1, __ATOMIC_RELEASE);
	return true;
}

/* In steps that become larger, so that few files cost little and many few calls. `need`: bytes */
static bool more(struct memory *m, struct window *w, uint64_t need)
{
	uint64_t unit = w->least / 4, most = w->len / 64 > STEP_MOST ? w->len / 64 : STEP_MOST;
	uint64_t step = w->mapped > w->least ? w->mapped : w->least, left = w->len - w->mapped;

	need = (need + unit - 1) / unit * unit;
	step = (step > most ? most : step) / unit * unit;
	step = step < need ? need : step;
	if (w->n == EXTENTS || need > left)
		return false;
	step = step > left ? left : step;
	if (may_map(m, step) && add_piece(w, step))
		return true;
	return need < step && may_map(m, need) && add_piece(w, need);
}

/* where a byte of an area is, and how many there are from it on without a gap */
static unsigned char *piece_at(const struct window *w, uint64_t from, uint64_t *left)
{
	for (unsigned i = __atomic_load_n(&w->n, __ATOMIC_ACQUIRE); i-- > 0;)
		if (from >= w->piece[i].from && from - w->piece[i].from < w->piece[i].len) {
			*left = w->piece[i].len - (from - w->piece[i].from);
			return w->piece[i].at + (from - w->piece[i].from);
		}
	return NULL;
}

static unsigned char *find(const struct window *w, uint64_t from, uint64_t n)
{
	uint64_t left = 0;
	unsigned char *at = piece_at(w, from, &left);

	return n <= left ? at : NULL;
}

unsigned char *rama_cap_memory_at(enum rama_cap_part part, uint64_t from, uint64_t n)
{
	struct window *w = &now->window[part];

	if (from > w->len || n > w->len - from)
		return NULL;
	if (from + n > w->mapped && !more(now, w, from + n - w->mapped))
		return NULL;
	return find(w, from, n);
}

uint64_t rama_cap_memory_end(enum rama_cap_part part)
{
	return now->window[part].mapped;
}

struct rama_seg_lane *rama_cap_memory_lane(uint32_t i, bool make)
{
	unsigned b = i / RAMA_CAP_LANE_BLOCK;
	unsigned char *at = NULL, *p = __atomic_load_n(&now->lanes[b], __ATOMIC_ACQUIRE);

	if (!p && make && (b + 1) * BLOCK <= now->lanes_len && may_map(now, BLOCK)) {
		long all = again(now->lanes[0], now->lanes_off, (b + 1) * BLOCK);
		if (!is_address(all))
			return NULL;
		rama_cap_sys3(SYS_munmap, all, b * BLOCK, 0);
		p = (unsigned char *)all + b * BLOCK;
		if (!__atomic_compare_exchange_n(&now->lanes[b], &at, p, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE)) {
			rama_cap_sys3(SYS_munmap, p, BLOCK, 0);
			p = at;
		}
	}
	return p ? (struct rama_seg_lane *)(p + (size_t)(i % RAMA_CAP_LANE_BLOCK) * RAMA_CAP_LANE)
		 : NULL;
}

const unsigned char *rama_cap_memory_old(unsigned generation, uint64_t from, uint64_t n)
{
	const struct memory *m = &memory[generation % GENERATIONS];

	return m->head ? find(&m->window[RAMA_CAP_RECORDS], from, n) : NULL;
}

/* ---- the first pieces ------------------------------------------------------------------------ */

static bool open_window(struct window *w, int fd, const struct rama_seg_area_get *a, uint64_t unit,
			struct piece *piece)
{
	long p;

	*w = (struct window){ .off = a->off, .len = a->len, .least = 4 * unit, .piece = piece };
	if (a->len == 0)
		return true;
	p = map(fd, a->off, PAGE);
	w->last = (unsigned char *)p;
	return is_address(p);
}

unsigned char *rama_cap_memory_open(int fd, const struct rama_seg_header *h, unsigned generation)
{
	const struct rama_seg_area_get *r = &h->area[RAMA_SEG_AREA_RECORDS],
				       *l = &h->area[RAMA_SEG_AREA_LANES];
	struct memory *m = &memory[generation % GENERATIONS];
	struct window *w = &m->window[RAMA_CAP_RECORDS];
	struct piece(*mine)[EXTENTS] = pieces[generation % GENERATIONS];
	uint64_t first = 4 * (uint64_t)r->item < r->len ? 4 * (uint64_t)r->item : r->len;
	long p, q;

	rama_cap_memory_close(generation);
	p = map(fd, 0, r->off + first);
	q = map(fd, l->off, BLOCK);
	bool ok = open_window(&m->window[RAMA_CAP_EVENTS], fd, &h->area[RAMA_SEG_AREA_EVENTS],
			      RAMA_SEG_CHUNK, mine[RAMA_CAP_EVENTS]) &&
		  open_window(&m->window[RAMA_CAP_RINGS], fd, &h->area[RAMA_SEG_AREA_RINGS], PAGE,
			      mine[RAMA_CAP_RINGS]);
	if (!is_address(p) || !is_address(q) || !ok) {
		if (is_address(p))
			rama_cap_sys3(SYS_munmap, p, r->off + first, 0);
		if (is_address(q))
			rama_cap_sys3(SYS_munmap, q, BLOCK, 0);
		return NULL; /* a page may stay behind */
	}
	m->head = (unsigned char *)p;
	m->head_len = r->off;
	m->size = h->size;
	m->lanes_off = l->off;
	m->lanes_len = l->len;
	m->lanes[0] = (unsigned char *)q;
	*w = (struct window){ .off = r->off, .len = r->len, .mapped = first };
	w->least = 4 * (uint64_t)r->item;
	w->piece = mine[RAMA_CAP_RECORDS];
	w->piece[0] = (struct piece){ .len = first, .at = m->head + r->off };
	w->last = m->head + r->off + first - PAGE;
	w->n = 1;
	now = m;
	return m->head;
}

void rama_cap_memory_close(unsigned generation)
{
	struct memory *m = &memory[generation % GENERATIONS];

	if (!m->head)
		return;
	for (unsigned i = 0; i < RAMA_CAP_PARTS; i++) {
		struct window *w = &m->window[i];

		if (w->last && w->n == 0)
			rama_cap_sys3(SYS_munmap, w->last, PAGE, 0);
		for (unsigned k = 0; k < w->n; k++)
			rama_cap_sys3(SYS_munmap, w->piece[k].at, w->piece[k].len, 0);
	}
	for (unsigned i = 0; i < BLOCKS; i++)
		if (m->lanes[i])
			rama_cap_sys3(SYS_munmap, m->lanes[i], BLOCK, 0);
	rama_cap_sys3(SYS_munmap, m->head, m->head_len, 0);
	memset(m, 0, sizeof(*m));
}

/* ---- reading all of it ----------------------------------------------------------------------- */

/* where a byte of the file is, and how many follow it there; NULL: it is not mapped, so nobody
 * has used it */
static const unsigned char *byte_at(uint64_t off, uint64_t *n)
{
	if (off < now->head_len) {
		*n = now->head_len - off;
		return now->head + off;
	}
	if (off >= now->lanes_off && off - now->lanes_off < now->lanes_len) {
		uint64_t b = (off - now->lanes_off) / BLOCK, in = (off - now->lanes_off) % BLOCK;

		*n = now->lanes[b] ? BLOCK - in : *n;
		return now->lanes[b] ? now->lanes[b] + in : NULL;
	}
	for (unsigned i = 0; i < RAMA_CAP_PARTS; i++) {
		const struct window *w = &now->window[i];
		unsigned char *at = off >= w->off ? piece_at(w, off - w->off, n) : NULL;

		if (at)
			return at;
	}
	return NULL;
}

static int read_all(void *ctx, uint64_t off, void *buf, size_t n, struct rama_err *e)
{
	unsigned char *to = buf;

	(void)ctx;
	if (off > now->size || n > now->size - off)
		return rama_err_set(e, RAMA_ETRUNC, "ends early");
	while (n > 0) {
		uint64_t here = PAGE - off % PAGE;
		const unsigned char *at = byte_at(off, &here);
		size_t part = here < n ? (size_t)here : n;

		if (at)
			memcpy(to, at, part);
		else
			memset(to, 0, part);
		to += part;
		off += part;
		n -= part;
	}
	return 0;
}

void rama_cap_memory_source(struct rama_source *src)
{
	*src = (struct rama_source){ now->size, read_all, NULL };
}

/* ---- memory that is really there ------------------------------------------------------------- */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* An old kernel gives memory when it is touched, and a full file system is a signal then. But
 * where the kernel itself touches it, that is an error only: it is asked to add nothing to a
 * word in each page. */
static bool touch(uintptr_t from, uintptr_t to)
{
	static uint32_t word;

	for (; from < to; from += PAGE)
		if (rama_cap_sys6(SYS_futex, (long)&word, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0,
				  (long)from, FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0)) < 0)
			return false;
	return true;
}

bool rama_cap_memory_fill(void *p, size_t n)
{
	static bool old_kernel;
	uintptr_t from = ((uintptr_t)p + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	uintptr_t to = ((uintptr_t)p + n + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	long rc = -EINVAL;

	if (from >= to)
		return true;
	if (!old_kernel)
		do
			rc = rama_cap_sys3(SYS_madvise, from, to - from, MADV_POPULATE_WRITE);
		while (rc == -EINTR || rc == -EAGAIN);
	if (rc != -EINVAL)
		return rc == 0;
	old_kernel = true;
	return touch(from, to);
}

/* ---- beside the segment ---------------------------------------------------------------------- */

static struct {
	uintptr_t at;
	size_t n;
} own[OWN];
static unsigned n_single;
static bool future;	     /* the application wants to lock what is mapped from now on */
static unsigned char *spare; /* a page that is not locked: what it grows by is not either */
static uint32_t spare_lock;

static long anonymous(size_t n)
{
	return rama_cap_sys6(SYS_mmap, 0, (long)n, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* Never waits: a signal handler may come while the page is used. */
static long from_spare(size_t n)
{
	long p = -ENOMEM;

	if (__atomic_exchange_n(&spare_lock, 1, __ATOMIC_ACQUIRE))
		return p;
	if (spare)
		p = rama_cap_sys6(SYS_mremap, (long)spare, (long)PAGE, (long)(n + PAGE),
				  MREMAP_MAYMOVE, 0, 0);
	if (is_address(p))
		spare = (unsigned char *)p + n;
	__atomic_store_n(&spare_lock, 0, __ATOMIC_RELEASE);
	return p;
}

void *rama_cap_memory_borrow(size_t n)
{
	long p = -ENOMEM;

	n = (n + PAGE - 1) & ~(size_t)(PAGE - 1);
	if (future)
		p = from_spare(n);
	if (!is_address(p))
		p = anonymous(n);
	return is_address(p) ? (void *)p : NULL;
}

static void *remember(void *p, size_t n, unsigned i)
{
	own[i].n = (n + PAGE - 1) & ~(size_t)(PAGE - 1);
	__atomic_store_n(&own[i].at, (uintptr_t)p, __ATOMIC_RELEASE);
	return p;
}

void *rama_cap_memory_own(size_t n)
{
	void *p = rama_cap_memory_borrow(n);
	unsigned i = p ? __atomic_fetch_add(&n_single, 1, __ATOMIC_RELAXED) : SINGLE;

	return i < SINGLE ? remember(p, n, i) : p;
}

void *rama_cap_memory_scratch(uint32_t lane, size_t n)
{
	uintptr_t is = __atomic_load_n(&own[SINGLE + lane].at, __ATOMIC_ACQUIRE);
	void *p = is ? (void *)is : rama_cap_memory_borrow(n);

	return p && !is ? remember(p, n, SINGLE + lane) : p;
}

void rama_cap_memory_locks(bool on)
{
	if (on && !spare) {
		long p = anonymous(PAGE);
		if (is_address(p))
			rama_cap_sys3(SYS_munlock, p, PAGE, 0);
		spare = is_address(p) ? (unsigned char *)p : NULL;
	}
	future = on;
}

/* ---- what is ours ---------------------------------------------------------------------------- */

struct range {
	uintptr_t after, from, to;
};

static void offer(struct range *r, const void *at, uint64_t n)
{
	uintptr_t from = (uintptr_t)at;

	if (from && n > 0 && from + n > r->after && from < r->from) {
		r->from = from;
		r->to = from + n;
	}
}

static void offer_segment(struct range *r, const struct memory *m)
{
	if (!m->head)
		return;
	offer(r, m->head, m->head_len);
	for (unsigned i = 0; i < RAMA_CAP_PARTS; i++) {
		const struct window *w = &m->window[i];

		offer(r, w->last, w->n == 0 ? PAGE : 0);
		for (unsigned k = 0; k < w->n; k++)
			offer(r, w->piece[k].at, w->piece[k].len);
	}
	for (unsigned i = 0; i < BLOCKS; i++)
		offer(r, m->lanes[i], BLOCK);
}

bool rama_cap_memory_next(uintptr_t after, uintptr_t *from, uintptr_t *to)
{
	struct range r = { after, UINTPTR_MAX, 0 };

	for (unsigned i = 0; i < GENERATIONS; i++)
		offer_segment(&r, &memory[i]);
	for (unsigned i = 0; i < OWN; i++)
		offer(&r, (const void *)own[i].at, own[i].n);
	offer(&r, spare, PAGE);
#ifndef RAMA_STATIC_WRAP
	/* The library itself; linked in, it is part of the program. Hidden: a program that shows
	 * its names to libraries (-rdynamic) shows its own _end too. */
	extern const char __ehdr_start[] __attribute__((visibility("hidden")));
	extern const char _end[] __attribute__((visibility("hidden")));
	offer(&r, (const void *)((uintptr_t)__ehdr_start & ~(uintptr_t)(PAGE - 1)),
	      (((uintptr_t)_end + PAGE - 1) & ~(uintptr_t)(PAGE - 1)) -
		      ((uintptr_t)__ehdr_start & ~(uintptr_t)(PAGE - 1)));
#endif
	*from = r.from;
	*to = r.to;
	return r.to > 0;
}
