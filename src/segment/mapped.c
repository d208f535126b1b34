/* SPDX-License-Identifier: BSD-3-Clause */
/* mapped.c: segments in memory, shared with the processes that write them. Such a file may
 * shrink, or its file system be full, while somebody looks at it; the kernel then sends SIGBUS,
 * and the handler here puts zeros in the place of what is gone. */
#include "segment/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the guard ------------------------------------------------------------------------------- */

enum { PLACES = 32768, NOWHERE = -1 };

/* what is mapped, for the handler: it may come at any moment and takes no lock */
static struct place {
	uintptr_t from; /* 0: free */
	size_t size;
	int prot;
	int gone;
} places[PLACES];
static int places_used;
static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before;

static void replace(struct place *p, uintptr_t at)
{
	size_t left = p->size - (at - p->from);

	__atomic_store_n(&p->gone, 1, __ATOMIC_RELAXED);
	if (mmap((void *)at, left, p->prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	    MAP_FAILED)
		_exit(4); /* there is no way on */
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr & ~(uintptr_t)(RAMA_SEG_PAGE - 1);
	int saved = errno, used = __atomic_load_n(&places_used, __ATOMIC_ACQUIRE);

	for (int i = 0; i < used; i++) {
		uintptr_t from = __atomic_load_n(&places[i].from, __ATOMIC_ACQUIRE);

		if (from != 0 && at >= from && at - from < places[i].size) {
			replace(&places[i], at);
			errno = saved;
			return;
		}
	}
	if (before.sa_flags & SA_SIGINFO)
		before.sa_sigaction(number, info, context);
	else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
		before.sa_handler(number);
	/* it comes again, and ends us */
	else
		signal(SIGBUS, SIG_DFL);
	errno = saved;
}

int rama_seg_mapped_guard(void)
{
	static int installed;
	struct sigaction action = { .sa_sigaction = on_bus_error,
				    .sa_flags = SA_SIGINFO | SA_NODEFER };
	int rc = 0;

	pthread_mutex_lock(&places_lock);
	if (!installed) {
		sigemptyset(&action.sa_mask);
		rc = sigaction(SIGBUS, &action, &before) == 0 ? 0 : RAMA_EIO;
		installed = rc == 0;
	}
	pthread_mutex_unlock(&places_lock);
	return rc;
}

static int add_place(const void *from, size_t size, int prot)
{
	int i = 0;

	pthread_mutex_lock(&places_lock);
	while (i < places_used && places[i].from != 0)
		i++;
	if (i < PLACES) {
		places[i].size = size;
		places[i].prot = prot;
		__atomic_store_n(&places[i].gone, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&places[i].from, (uintptr_t)from, __ATOMIC_RELEASE);
		if (i == places_used)
			__atomic_store_n(&places_used, i + 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&places_lock);
	return i < PLACES ? i : NOWHERE;
}

static void drop_place(int i)
{
	if (i == NOWHERE)
		return;
	pthread_mutex_lock(&places_lock);
	__atomic_store_n(&places[i].from, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&places_lock);
}

bool rama_seg_mapped_gone(const struct rama_seg_mapped *m)
{
	for (unsigned i = 0; i < 2; i++)
		if (m->place[i] != NOWHERE &&
		    __atomic_load_n(&places[m->place[i]].gone, __ATOMIC_RELAXED))
			return true;
	return false;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int open_file(const char *path, uint32_t uid, int flags, struct stat *st, struct rama_err *e)
{
	/* nothing waits, whatever it is: a fifo would */
	int fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return rama_err_set(e, errno == ENOENT ? RAMA_EMISSING : RAMA_EIO, "%s: %s", path,
				    errno == ELOOP ? "is a link" : strerror(errno));
	if (fstat(fd, st) != 0 || !S_ISREG(st->st_mode))
		rama_err_set(e, RAMA_EFORMAT, "%s: is no file", path);
	else if (uid != UINT32_MAX && st->st_uid != uid)
		rama_err_set(e, RAMA_EFORMAT, "%s: belongs to user %u, not %u", path,
			     (unsigned)st->st_uid, (unsigned)uid);
	else if (st->st_size < (off_t)sizeof(struct rama_seg_header))
		rama_err_set(e, RAMA_ETRUNC, "%s: ends within the header of a segment", path);
	else
		return fd;
	close(fd);
	return e->code;
}

/* of a mapping that the guard knows; NULL: it cannot be had */
static void *map_file(int fd, uint64_t off, size_t size, int prot, int *place)
{
	void *p = mmap(NULL, size, prot, MAP_SHARED, fd, (off_t)off);

	*place = NOWHERE;
	if (p == MAP_FAILED)
		return NULL;
	*place = add_place(p, size, prot);
	if (*place != NOWHERE)
		return p;
	munmap(p, size);
	return NULL;
}

static void unmap(void *p, size_t size, int *place)
{
	drop_place(*place);
	*place = NOWHERE;
	if (p != NULL)
		munmap(p, size);
}

static int read_mapped(void *ctx, uint64_t off, void *buf, size_t n, struct rama_err *e)
{
	const struct rama_seg_mapped *m = ctx;

	if (off > m->size || n > m->size - off)
		return rama_err_set(e, RAMA_ETRUNC, "ends early");
	memcpy(buf, m->base + off, n);
	if (rama_seg_mapped_gone(m))
		return rama_err_set(e, RAMA_ETRUNC, "became shorter while it was read");
	return 0;
}

static int map_control(struct rama_seg_mapped *m, const char *path, struct rama_err *e)
{
	const struct rama_seg_area_get *a = &m->seg.head.area[RAMA_SEG_AREA_CONTROL];

	m->control_size = sizeof(struct rama_seg_control);
	m->control_map =
		map_file(m->fd, a->off, m->control_size, PROT_READ | PROT_WRITE, &m->place[1]);
	m->control = (void *)m->control_map;
	return m->control != NULL ? 0
				  : rama_err_set(e, RAMA_EIO, "%s: cannot be mapped: %s", path,
						 strerror(errno));
}

static int lock_file(const struct rama_seg_mapped *m, const char *path, struct rama_err *e)
{
	uint32_t reader;

	if (flock(m->fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	reader = m->seg.control.reader;
	if (errno == EWOULDBLOCK && reader != 0)
		return rama_err_set(e, RAMA_EIO, "%s: process %u reads it already", path, reader);
	return rama_err_set(e, RAMA_EIO, "%s: another agent reads it", path);
}

static int open_mapped(struct rama_seg_mapped *m, const char *path, bool to_read,
		       struct rama_err *e)
{
	int rc;

	m->base = map_file(m->fd, 0, m->size, PROT_READ, &m->place[0]);
	if (m->base == NULL)
		return rama_err_set(e, RAMA_EIO, "%s: cannot be mapped", path);
	m->src = (struct rama_source){ m->size, read_mapped, m };
	rc = rama_seg_open(&m->seg, &m->src, e);
	if (rc != 0)
		return rama_err_prefix(e, "%s", path);
	if (!to_read)
		return 0;
	rc = lock_file(m, path, e);
	return rc == 0 ? map_control(m, path, e) : rc;
}

int rama_seg_mapped_open(struct rama_seg_mapped *m, const char *path, uint32_t uid, bool to_read,
			 struct rama_err *e)
{
	struct rama_err own = { 0 };
	struct stat st = { 0 };
	int rc;

	e = e != NULL ? e : &own;
	memset(m, 0, sizeof(*m));
	m->place[0] = m->place[1] = NOWHERE;
	m->fd = open_file(path, uid, to_read ? O_RDWR : O_RDONLY, &st, e);
	if (m->fd < 0) {
		rc = m->fd;
		m->fd = -1;
		return rc;
	}
	m->size = (uint64_t)st.st_size;
	m->dev = st.st_dev;
	m->ino = st.st_ino;
	rc = open_mapped(m, path, to_read, e);
	if (rc != 0) {
		rama_seg_mapped_close(m);
	} else if (!to_read) {
		close(m->fd);
		m->fd = -1;
	}
	return rc;
}

void rama_seg_mapped_close(struct rama_seg_mapped *m)
{
	unmap(m->control_map, m->control_size, &m->place[1]);
	unmap((void *)m->base, m->size, &m->place[0]);
	if (m->fd >= 0)
		close(m->fd);
	m->base = NULL;
	m->control = NULL;
	m->control_map = NULL;
	m->fd = -1;
}

/* ---- switches -------------------------------------------------------------------------------- */

int rama_seg_mapped_switch(const char *path, uint32_t uid, const struct rama_seg_switch *to,
			   struct rama_seg_switch *was, struct rama_err *e)
{
	bool change = to->set_live || to->set_trace;
	struct rama_err own = { 0 };
	struct rama_seg_mapped m;
	struct stat st = { 0 };
	int rc;

	e = e != NULL ? e : &own;
	rc = rama_seg_mapped_open(&m, path, uid, false, e);
	if (rc != 0)
		return rc;
	if (change) {
		rc = m.fd = open_file(path, uid, O_RDWR, &st, e);
		if (rc >= 0 && (st.st_dev != m.dev || st.st_ino != m.ino))
			rc = rama_err_set(e, RAMA_EIO, "%s: was replaced", path);
		if (rc >= 0)
			rc = map_control(&m, path, e);
	}
	if (was != NULL)
		*was = (struct rama_seg_switch){ .live = m.seg.control.live,
						 .trace = m.seg.control.trace,
						 .live_until = m.seg.control.live_until,
						 .chosen = m.seg.control.focus != 0 };
	if (rc == 0 && to->set_live) {
		/* first: whoever is killed between both has lent nothing for ever */
		__atomic_store_n(&m.control->live_until, to->live_until, __ATOMIC_RELEASE);
		__atomic_store_n(&m.control->live, to->live, __ATOMIC_RELEASE);
	}
	if (rc == 0 && to->set_trace)
		__atomic_store_n(&m.control->trace, to->trace, __ATOMIC_RELAXED);
	rama_seg_mapped_close(&m);
	return rc;
}
