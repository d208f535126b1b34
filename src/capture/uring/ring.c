/* SPDX-License-Identifier: BSD-3-Clause */
/* ring.c: rings, from setup to close. A slot of the table is taken by compare-and-swap; what is
 * in it changes only under the lock of the ring, which lies in memory that is never given back:
 * who waited for it looks whether the ring is still the same. */
#include "capture/record.h"
#include "capture/uring/uring.h"

enum { RINGS = 1024, QUICK = 4096, LEAST = 256, MOST = 65536 };
enum { FREE, MAKING, LIVE };

/* of the kernel; older headers lack some */
enum {
	SETUP_NO_MMAP = 1 << 14,
	SETUP_REGISTERED_FD_ONLY = 1 << 15,
	SETUP_NO_SQARRAY = 1 << 16,
	SETUP_KNOWN = (1 << 18) - 1,
	REGISTER_RESIZE_RINGS = 33
};

uint32_t rama_cap_uring_rings, rama_cap_uring_watched;

static struct rama_cap_uring ring[RINGS];
static uint16_t quick[QUICK]; /* by descriptor: number + 1 */
static uint32_t ids;

struct rama_cap_uring *rama_cap_uring_find(int fd)
{
	if ((unsigned)fd < QUICK) {
		unsigned i = __atomic_load_n(&quick[fd], __ATOMIC_ACQUIRE);

		return i > 0 && ring[i - 1].state == LIVE && ring[i - 1].fd == fd ? &ring[i - 1]
										  : NULL;
	}
	for (uint32_t i = 0; i < rama_cap_uring_rings; i++)
		if (__atomic_load_n(&ring[i].state, __ATOMIC_ACQUIRE) == LIVE && ring[i].fd == fd)
			return &ring[i];
	return NULL;
}

void rama_cap_uring_sight_all(uint64_t t0)
{
	for (uint32_t i = 0; i < rama_cap_uring_rings; i++)
		if (__atomic_load_n(&ring[i].state, __ATOMIC_ACQUIRE) == LIVE)
			rama_cap_uring_sight(&ring[i], t0);
}

void rama_cap_uring_watch(void)
{
	uint64_t now = rama_cap_ticks();

	for (uint32_t i = 0; i < rama_cap_uring_rings; i++)
		if (__atomic_load_n(&ring[i].state, __ATOMIC_ACQUIRE) == LIVE && ring[i].watched)
			rama_cap_uring_sight(&ring[i], ring[i].sqpoll ? now : 0);
}

size_t rama_cap_uring_copy(void *to, uintptr_t from, size_t n)
{
	struct iovec mine = { to, n }, theirs = { (void *)from, n };
	long got = rama_cap_sys6(SYS_process_vm_readv, rama_cap_run.pid, (long)&mine, 1,
				 (long)&theirs, 1, 0);

	return got > 0 ? (size_t)got : 0;
}

/* ---- mapping --------------------------------------------------------------------------------- */

static const volatile unsigned char *map(int fd, size_t n, uint64_t off)
{
	long p = rama_cap_sys6(SYS_mmap, 0, (long)n, PROT_READ, MAP_SHARED | MAP_POPULATE, fd,
			       (long)off);

	return p > -4096 && p < 0 ? NULL : (const volatile unsigned char *)p;
}

static void unmap(struct rama_core_uring_map *m)
{
	if (m->cq && m->cq != m->sq)
		rama_cap_sys3(SYS_munmap, m->cq, m->cq_len, 0);
	if (m->sq)
		rama_cap_sys3(SYS_munmap, m->sq, m->sq_len, 0);
	if (m->sqes)
		rama_cap_sys3(SYS_munmap, m->sqes, m->sqes_len, 0);
	m->sq = m->cq = m->sqes = NULL;
}

static bool map_ring(struct rama_core_uring_map *m, int fd, const struct io_uring_params *p)
{
	*m = (struct rama_core_uring_map){
		.sq_head = p->sq_off.head,
		.sq_tail = p->sq_off.tail,
		.sq_array = p->flags & SETUP_NO_SQARRAY ? 0 : p->sq_off.array,
		.cq_tail = p->cq_off.tail,
		.cqes = p->cq_off.cqes,
		.sq_entries = p->sq_entries,
		.cq_entries = p->cq_entries,
		.sqe_size = p->flags & IORING_SETUP_SQE128 ? 128 : 64,
		.cqe_size = p->flags & IORING_SETUP_CQE32 ? 32 : 16,
	};
	if (p->flags & ~(uint32_t)SETUP_KNOWN || p->flags & SETUP_NO_MMAP)
		return false;
	m->sqes_len = (size_t)m->sq_entries * m->sqe_size;
	m->sq_len = m->sq_array ? m->sq_array + 4 * (size_t)m->sq_entries : 0;
	m->cq_len = m->cqes + (size_t)m->cq_entries * m->cqe_size;
	if (p->features & IORING_FEAT_SINGLE_MMAP || !m->sq_len)
		m->sq_len = m->cq_len = m->sq_len > m->cq_len ? m->sq_len : m->cq_len;
	if (!rama_core_uring_fits(m))
		return false;
	m->sq = map(fd, m->sq_len, IORING_OFF_SQ_RING);
	m->cq = p->features & IORING_FEAT_SINGLE_MMAP ? m->sq
						      : map(fd, m->cq_len, IORING_OFF_CQ_RING);
	m->sqes = map(fd, m->sqes_len, IORING_OFF_SQES);
	if (m->sq && m->cq && m->sqes)
		return true;
	unmap(m);
	return false;
}

/* Memory for flights. What a slot had before is used again if it is large enough, and of this
 * process: a child that was forked may still use it. */
static bool make_table(struct rama_cap_uring *r, uint32_t cq_entries)
{
	uint32_t size = LEAST;

	while (size < 2 * cq_entries && size < MOST)
		size *= 2;
	size_t bytes =
		offsetof(struct rama_cap_uring_shared, t) + rama_core_uring_table_bytes(size);
	if (!r->shared || r->shared_bytes < bytes || r->maker != (int32_t)rama_cap_run.pid) {
		long p = rama_cap_sys6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (p > -4096 && p < 0)
			return false;
		r->shared = (struct rama_cap_uring_shared *)p;
		r->shared_bytes = bytes;
		r->maker = (int32_t)rama_cap_run.pid;
	}
	r->id = (uint64_t)rama_cap_run.pid << 32 | ++ids;
	r->shared->paths = 0;
	rama_core_uring_table_init(&r->shared->t, size, r->id);
	r->shared->t.sq_seen = rama_core_uring_word(r->map.sq, r->map.sq_head);
	r->shared->t.cq_seen = rama_core_uring_word(r->map.cq, r->map.cq_tail);
	return true;
}

static struct rama_cap_uring *take_slot(void)
{
	for (uint32_t i = 0; i < RINGS; i++) {
		uint32_t is = FREE;

		if (ring[i].state != FREE ||
		    !__atomic_compare_exchange_n(&ring[i].state, &is, MAKING, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		uint32_t n = __atomic_load_n(&rama_cap_uring_rings, __ATOMIC_RELAXED);
		while (n < i + 1 &&
		       !__atomic_compare_exchange_n(&rama_cap_uring_rings, &n, i + 1, false,
						    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			;
		return &ring[i];
	}
	return NULL;
}

void rama_cap_uring_made(int fd, const struct io_uring_params *p, bool plain)
{
	struct rama_cap_uring *r;

	if (rama_cap_uring_find(fd)) /* it was closed in a way that we have not seen */
		rama_cap_uring_close(fd);
	if (p->flags & SETUP_REGISTERED_FD_ONLY || !(r = take_slot())) {
		rama_cap_uring_missed(1); /* of whatever goes through it nothing is known */
		return;
	}
	r->fd = fd;
	r->sqpoll = (p->flags & IORING_SETUP_SQPOLL) != 0;
	r->blind = !map_ring(&r->map, fd, p);
	if (!r->blind && !make_table(r, p->cq_entries)) {
		unmap(&r->map);
		r->blind = true;
	}
	r->watched = !r->blind && (r->sqpoll || plain);
	r->entering = 0;
	r->n_files = 0;
	r->files = NULL;
	rama_cap_fd_set(fd, RAMA_CAP_NO_FILE, RAMA_CAP_NO_STREAM, 0);
	__atomic_store_n(&r->state, LIVE, __ATOMIC_RELEASE);
	if ((unsigned)fd < QUICK)
		__atomic_store_n(&quick[fd], (uint16_t)(r - ring + 1), __ATOMIC_RELEASE);
	if (r->watched)
		__atomic_fetch_add(&rama_cap_uring_watched, 1, __ATOMIC_RELAXED);
}

static void drop_files(struct rama_cap_uring *r)
{
	if (r->files)
		rama_cap_sys3(SYS_munmap, r->files, (size_t)r->n_files * sizeof(*r->files), 0);
	r->files = NULL;
	r->n_files = 0;
}

/* A mapping keeps a ring alive, and with it all that the program has given to it. */
void rama_cap_uring_close(int fd)
{
	struct rama_cap_uring *r = rama_cap_uring_find(fd);
	struct rama_cap_thread *t = &rama_cap_thread;

	if (!r || rama_cap_off)
		return;
	if (rama_cap_alive())
		rama_cap_uring_sight(r, 0);
	if (!r->blind && !rama_cap_lock(t, &r->shared->t.lock))
		return;
	if (r->state == LIVE && r->fd == fd) {
		if ((unsigned)fd < QUICK)
			__atomic_store_n(&quick[fd], 0, __ATOMIC_RELEASE);
		unmap(&r->map);
		drop_files(r);
		if (r->watched)
			__atomic_fetch_sub(&rama_cap_uring_watched, 1, __ATOMIC_RELAXED);
		r->id = 0;
		__atomic_store_n(&r->state, FREE, __ATOMIC_RELEASE);
	}
	if (!r->blind)
		rama_cap_unlock(t, &r->shared->t.lock);
}

void rama_cap_uring_close_range(unsigned first, unsigned last)
{
	for (uint32_t i = 0; i < rama_cap_uring_rings; i++)
		if (__atomic_load_n(&ring[i].state, __ATOMIC_ACQUIRE) == LIVE &&
		    (unsigned)ring[i].fd >= first && (unsigned)ring[i].fd <= last)
			rama_cap_uring_close(ring[i].fd);
}

/* ---- registered files ------------------------------------------------------------------------ */

enum { AT_ONCE = 64, FILES_MOST = 1 << 20 };

static struct rama_cap_uring_file file_of(struct rama_cap_thread *t, int fd)
{
	struct rama_core_posix_file *f = fd >= 0 ? rama_cap_fd_posix(t, fd) : NULL;

	return (struct rama_cap_uring_file){ f ? (uint64_t)(uintptr_t)f : RAMA_CAP_URING_NO_FILE,
					     fd, (int32_t)rama_cap_run.pid };
}

/* Looking a descriptor up may need locks of its own: first that, then the ring's. */
static void put_files(struct rama_cap_uring *r, uint32_t at, uintptr_t fds, uint32_t n)
{
	struct rama_cap_uring_file file[AT_ONCE];
	struct rama_cap_visit v;
	int fd[AT_ONCE];

	if (!rama_cap_enter(&v))
		return;
	for (uint32_t from = 0; from < n; from += AT_ONCE) {
		uint32_t some = n - from < AT_ONCE ? n - from : AT_ONCE;

		if (rama_cap_uring_copy(fd, fds + 4ul * from, 4ul * some) != 4ul * some)
			break;
		for (uint32_t i = 0; i < some; i++)
			file[i] = file_of(v.t, fd[i]);
		if (!rama_cap_lock(v.t, &r->shared->t.lock))
			break;
		for (uint32_t i = 0; i < some; i++) /* -2: stays as it is */
			if (r->files && at + from + i < r->n_files && fd[i] != -2)
				r->files[at + from + i] = file[i];
		rama_cap_unlock(v.t, &r->shared->t.lock);
	}
	rama_cap_leave(&v);
}

void rama_cap_uring_files_update(int fd, uint32_t at, uintptr_t fds, uint32_t n)
{
	struct rama_cap_uring *r = rama_cap_uring_find(fd);

	if (r && !r->blind && at < FILES_MOST && n < FILES_MOST)
		put_files(r, at, fds, n);
}

void rama_cap_uring_files_set(int fd, uintptr_t fds, uint32_t n)
{
	struct rama_cap_uring *r = rama_cap_uring_find(fd);
	struct rama_cap_visit v;

	if (!r || r->blind || n > FILES_MOST || !rama_cap_enter(&v))
		return;
	if (!rama_cap_lock(v.t, &r->shared->t.lock)) {
		rama_cap_leave(&v);
		return;
	}
	drop_files(r);
	if (n > 0) {
		long p = rama_cap_sys6(SYS_mmap, 0, (long)(n * sizeof(*r->files)),
				       PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (!(p > -4096 && p < 0)) {
			r->files = (struct rama_cap_uring_file *)p;
			r->n_files = n;
		}
	}
	rama_cap_unlock(v.t, &r->shared->t.lock);
	rama_cap_leave(&v);
	if (fds)
		put_files(r, 0, fds, n);
}

/* its memory is another now */
static void go_blind(int fd)
{
	struct rama_cap_uring *r = rama_cap_uring_find(fd);
	struct rama_cap_thread *t = &rama_cap_thread;

	if (!r || r->blind || !rama_cap_lock(t, &r->shared->t.lock))
		return;
	unmap(&r->map);
	r->blind = true;
	rama_cap_unlock(t, &r->shared->t.lock);
}

void rama_cap_uring_registered(int fd, unsigned opcode, uintptr_t arg, unsigned n)
{
	struct {
		uint32_t at, more; /* FILES2: how many, flags */
		uint64_t reserved, fds, tags;
	} files2;
	struct {
		uint32_t at, reserved;
		uint64_t fds, tags;
		uint32_t n, reserved2;
	} update;

	switch (opcode) {
	case IORING_REGISTER_FILES:
		rama_cap_uring_files_set(fd, arg, n);
		break;
	case IORING_REGISTER_FILES2:
		if (rama_cap_uring_copy(&files2, arg, sizeof(files2)) == sizeof(files2))
			rama_cap_uring_files_set(fd, (uintptr_t)files2.fds, files2.at);
		break;
	case IORING_UNREGISTER_FILES:
		rama_cap_uring_files_set(fd, 0, 0);
		break;
	case IORING_REGISTER_FILES_UPDATE:
		if (rama_cap_uring_copy(&update, arg, 16) == 16)
			rama_cap_uring_files_update(fd, update.at, (uintptr_t)update.fds, n);
		break;
	case IORING_REGISTER_FILES_UPDATE2:
		if (rama_cap_uring_copy(&update, arg, sizeof(update)) == sizeof(update))
			rama_cap_uring_files_update(fd, update.at, (uintptr_t)update.fds, update.n);
		break;
	case REGISTER_RESIZE_RINGS:
		go_blind(fd);
		break;
	}
}
