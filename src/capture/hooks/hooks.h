/* SPDX-License-Identifier: BSD-3-Clause */
/* hooks.h: a daemon or server of a file system that is observed: not only its own calls of the C
 * library, but the requests that it does for others. Each has a begin and an end, mostly in
 * different threads; in between it is kept in a table of fixed size. Rows: table/hooks.def. */
#ifndef RAMA_CAPTURE_HOOKS_HOOKS_H
#define RAMA_CAPTURE_HOOKS_HOOKS_H

#include "capture/runtime.h"

#pragma GCC visibility push(hidden)

/* ---- hooks.c: what of this process is observed beside calls of the C library ----------------- */

/* It is a daemon or server whose own code we know something of. */
extern bool rama_cap_hooks_wanted;
#ifndef RAMA_STATIC_WRAP
/* at the begin, in a forked child, and when it is attached to */
void rama_cap_hooks_begin(void);
/* something may have been loaded since */
void rama_cap_hooks_again(void);
/* everything as it was */
void rama_cap_hooks_end(void);
/* for people, into the state */
void rama_cap_hooks_say(const char *what, const char *more);
#else
static inline void rama_cap_hooks_begin(void)
{
}

static inline void rama_cap_hooks_again(void)
{
}
#endif
/* Its requests are seen: what it does at sockets, and what a server asks of its files beside
 * reading and writing, tells nothing more, and is passed on at once. */
extern bool rama_cap_hooks_armed, rama_cap_hooks_serving;
/* from now on it counts as a file server */
void rama_cap_hooks_serves(void);
/* Bytes that may not be there: a system call. false: they are not. */
bool rama_cap_hooks_read(void *to, uintptr_t from, size_t n);
/* a request of which nothing is known */
void rama_cap_hooks_unseen(void) __attribute__((cold));
/* one that took so long: rama_cap_requests_count() */
void rama_cap_hooks_count(uint64_t ticks) __attribute__((cold));

/* ---- gluster.c: translators of GlusterFS ----------------------------------------------------- */

struct dl_phdr_info;
/* one object of the process */
void rama_cap_gluster_see(const struct dl_phdr_info *info);
/* after all of them */
void rama_cap_gluster_arm(void);
void rama_cap_gluster_disarm(void);
/* gluster_names.c: names of translators, and of clients by their identity, are asked for with each
 * request, and there are few: they are remembered by where they lie in memory. */
#define RAMA_CAP_GLUSTER_NAMES 64 /* a power of 2 */
struct rama_cap_gluster_known {
	uintptr_t of, check; /* of what, and where its text is */
	uint32_t generation, name;
};
static inline struct rama_cap_gluster_known *rama_cap_gluster_known_at(
	struct rama_cap_gluster_known *all, uintptr_t of)
{
	return &all[of * 0x9e3779b97f4a7c15u >> 32 & (RAMA_CAP_GLUSTER_NAMES - 1)];
}
/* after its name was read */
static inline bool rama_cap_gluster_knows(const struct rama_cap_gluster_known *k, uintptr_t of,
					  uintptr_t check)
{
	return __atomic_load_n(&k->of, __ATOMIC_ACQUIRE) == of && k->check == check &&
	       k->generation == rama_cap_run.generation;
}
/* anew: its number; 0: it has none that can be printed */
uint32_t rama_cap_gluster_name(struct rama_cap_thread *t, struct rama_cap_gluster_known *k,
			       uintptr_t self, const char *text) __attribute__((cold));
uint32_t rama_cap_gluster_client(struct rama_cap_thread *t, struct rama_cap_gluster_known *k,
				 uintptr_t client, const char *id) __attribute__((cold));

/* Are numbers to be sent along (IORAMA_PATH_ID=1), and can they be? */
bool rama_cap_gluster_marks(void);
/* a dictionary with a new number, instead of one that may be NULL; the caller lets it go */
void *rama_cap_gluster_marked(void *had, uint64_t *mark);
void rama_cap_gluster_let_go(void *d);
/* 0: it has none */
uint64_t rama_cap_gluster_mark(void *d);

/* ---- fuse.c: requests of the kernel at /dev/fuse --------------------------------------------- */

#define RAMA_CAP_FUSE_FDS 8 /* descriptors of one daemon; more has none */

/* descriptors + 1; 0: none */
extern _Atomic int rama_cap_fuse_fds[RAMA_CAP_FUSE_FDS];
extern _Atomic unsigned rama_cap_fuse_n; /* so many may be in use: 0 in all but FUSE daemons */

/* Is it the kernel's FUSE device? Asked for descriptors that are no files. */
void rama_cap_fuse_met(int fd, uint64_t device);
void rama_cap_fuse_opened(int fd, const char *path);
void rama_cap_fuse_forget(int fd);
static inline bool rama_cap_fuse_is(int fd)
{
	unsigned n = atomic_load_explicit(&rama_cap_fuse_n, memory_order_relaxed);

	for (unsigned i = 0; RAMA_CAP_UNLIKELY(i < n); i++)
		if (atomic_load_explicit(&rama_cap_fuse_fds[i], memory_order_relaxed) == fd + 1)
			return fd >= 0;
	return false;
}
/* Is this process such a daemon? Then its pipes are looked at, too. */
static inline bool rama_cap_fuse_any(void)
{
	return RAMA_CAP_UNLIKELY(atomic_load_explicit(&rama_cap_fuse_n, memory_order_relaxed) != 0);
}
/* Descriptors of such a process that are sockets, or something else that is no file and no device
 * of FUSE: PAST; its device: DEVICE. Whoever sets what a descriptor is makes it 0. */
enum { RAMA_CAP_HOOKS_PAST = 1, RAMA_CAP_HOOKS_DEVICE };
extern unsigned char rama_cap_hooks_past[RAMA_CAP_FDS_FIRST];
static inline __attribute__((always_inline)) bool rama_cap_hooks_pass(int fd)
{
	return RAMA_CAP_UNLIKELY(rama_cap_hooks_armed) && (unsigned)fd < RAMA_CAP_FDS_FIRST &&
	       rama_cap_hooks_past[fd] == RAMA_CAP_HOOKS_PAST;
}
static inline void rama_cap_hooks_forget(int fd)
{
	if (RAMA_CAP_UNLIKELY(rama_cap_hooks_armed) && (unsigned)fd < RAMA_CAP_FDS_FIRST)
		rama_cap_hooks_past[fd] = 0;
}
/* the device of a daemon that is awake; something else that is no file: from now on past */
bool rama_cap_hooks_device(int fd);
/* after it was read: r bytes; errno stays */
void rama_cap_fuse_request(const struct iovec *iov, int cnt, ssize_t r);
/* the same of any descriptor of such a process: it may be a pipe */
void rama_cap_fuse_took(int fd, const struct iovec *iov, int cnt, ssize_t r);
/* after vmsplice(), of r bytes; and after splice(): errno is that of its failure, and stays */
void rama_cap_fuse_vmspliced(const struct iovec *iov, size_t cnt, ssize_t r);
void rama_cap_fuse_spliced(int in, int out, ssize_t r, uint64_t until);
/* after it was written; until: ticks before that, for the application may go on as soon as it is */
void rama_cap_fuse_answer(const struct iovec *iov, int cnt, uint64_t until);

/* The request that this thread has read last, and was not answered yet: what a file system's client
 * does for it begins in the same thread. 0: none. */
uint64_t rama_cap_fuse_current(uint64_t *tid);
/* ... is this one there */
void rama_cap_fuse_became(uint64_t fuse_unique, uint64_t unique);

#pragma GCC visibility pop
#endif
