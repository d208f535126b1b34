/* SPDX-License-Identifier: BSD-3-Clause */
/* runtime.h: the state of the library inside a process, and the parts it is made of:
 *
 *   start.c    comes to life at the first call, in a forked child, and goes at the end
 *   create.c   makes the segment
 *   memory.c   maps it, piece by piece as it is used
 *   place.c    ... where it can be, and counts it where it cannot
 *   identity.c who we are, what was asked of us, what time it is
 *   files.c    path or descriptor -> the slots of a file
 *   record.c   one observed call -> slots, heat map
 *   quick.c    ... the same of nearly all calls, and short
 *   events.c   ... -> trace, live events
 *   sites.c    which place in the program a call comes from
 *   modules.c  ... and in which program or library that is
 *   thread.c   lanes of threads
 *   jump.c     handlers that interrupted us and do not come back
 *   confine.c  notices that the process confines itself: then we are quiet
 *   finish.c   bare preload: the log of this process
 *   before.c   ... and of the programs that it was before
 *   launch.c   programs that it starts: can they be observed?
 *
 * Rules: errno of the application stays; no malloc, stdio, locale or libc locks; nothing waits for
 * another thread but the short locks in here, and those only for a while. */
#ifndef RAMA_CAPTURE_RUNTIME_H
#define RAMA_CAPTURE_RUNTIME_H

#include <stdatomic.h>

#include "capture/memory.h"
#include "capture/sys.h"
#include "capture/wrap/wrap.h"
#include "config/settings.h"
#include "core/extra.h"
#include "core/h5d.h"
#include "core/h5f.h"
#include "core/foreign/lustre.h"
#include "core/mpiio.h"
#include "core/pnetcdf.h"
#include "core/posix.h"
#include "core/stdio.h"
#include "segment/layout.h"

/* All of it is our own: saying so lets the compiler reach it without a detour. */
#pragma GCC visibility push(hidden)

#define RAMA_CAP_LIKELY(x) __builtin_expect(!!(x), 1)
#define RAMA_CAP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define RAMA_CAP_TLS _Thread_local __attribute__((tls_model("initial-exec")))

/* ---- descriptors --------------------------------------------------------------------------- */

#define RAMA_CAP_FDS (1u << 20) /* descriptors beyond are not observed */
/* so many have entries from the start; others in blocks of as many, as they are met */
#define RAMA_CAP_FDS_FIRST (1u << 14)
#define RAMA_CAP_NO_FILE ((struct rama_core_posix_file *)1)
#define RAMA_CAP_NO_STREAM ((struct rama_core_stdio_file *)1)

/* What a descriptor stands for; all zero: not known (yet). In a forked child the pointers of its
 * parent are marked by an odd address until they are looked up. */
struct rama_cap_fd {
	struct rama_core_posix_file *posix; /* RAMA_CAP_NO_FILE: nothing that we observe */
	struct rama_core_stdio_file *stdio; /* of the stream on it */
	uint32_t name;			    /* of a directory that has no slot */
	uint32_t generation;		    /* segment that all this is of: changes with fork */
	uint64_t pad;			    /* a power of two of bytes: found without a product */
};

/* ---- threads --------------------------------------------------------------------------------- */

#define RAMA_CAP_QUEUE 64 /* calls of signal handlers that interrupted us */

struct rama_cap_pending {
	struct rama_core_op op;
	uintptr_t mem;
	int fd;
};

/* a call of a higher layer (MPI, HDF5, PnetCDF), so that what it calls can be told to belong to
 * it */
struct rama_cap_nest {
	uint32_t id, outer; /* ids of calls of this thread */
	bool outermost;	    /* no other call of a higher layer is around it */
};

/* Where the frame of who called this function ends: the return address stands below. It costs
 * nothing but the passing on. 0: not to be had. */
#if defined(__x86_64__) && !defined(RAMA_STATIC_WRAP)
#define RAMA_CAP_CFA ((uintptr_t)__builtin_dwarf_cfa())
#define RAMA_CAP_RETURN(cfa) (*(const uintptr_t *)((cfa)-8))
#else
#define RAMA_CAP_CFA ((uintptr_t)0)
#define RAMA_CAP_RETURN(cfa) ((cfa)&0)
#endif

#define RAMA_CAP_NO_LANE \
	3u /* rama_cap_thread.live of a thread without a lane: what *rama_cap_live never is */

struct rama_cap_thread {
	/* what *rama_cap_live is while this thread has a lane; differs in the child of a vfork */
	uint32_t live;
	uint32_t busy; /* our own code runs: whatever comes in now is from a signal handler */
	struct rama_seg_lane *lane;
	struct rama_seg_chunk *chunk;
	/* live events: the ring of the lane, and the number of the first event that may have no
	 * room in it */
	struct rama_seg_event *ring;
	uint64_t ring_end;
	uint32_t ring_mask;
	uint32_t lane_number;
	uint32_t *held;		    /* seq of the slot that is locked, or about to be */
	uint32_t *guard;	    /* a lock of rama_cap_run, the same */
	uint32_t held_at, guard_at; /* what they are while they are ours */
	uintptr_t frame;	    /* where on the stack our code runs, while busy */
	uintptr_t doing_frame;	    /* the same of the call that is at work */
	char *scratch;		    /* room for paths, RAMA_CAP_SCRATCH bytes */
	uint32_t head, tail;
	uint32_t parent; /* id of the call of a higher layer that is at work; 0: none */
	/* the name of the first descriptor that a call below such a one was the first to use, and
	 * the id of that one: how files of MPI that were opened before an attach get theirs */
	uint32_t met, met_in;
	/* where the call that is being recorded came from (RAMA_CAP_CFA of its wrapper; 0: not
	 * known); and the outermost one of a higher layer that is at work: also where it returns
	 * to, 0: there is none */
	uintptr_t cfa, outer_cfa, outer_ret;
	/* of the call that is being recorded; NULL: it has none */
	const struct rama_cap_nest *nest;
	/* RAMA_CAP_QUEUE of them, at the end of the scratch memory */
	struct rama_cap_pending *queue;
};
extern RAMA_CAP_TLS struct rama_cap_thread rama_cap_thread;
/* raised in the child of a vfork, which runs in our memory but is another process */
extern RAMA_CAP_TLS uint32_t rama_cap_off;

#define RAMA_CAP_SCRATCH \
	(3 * 4096 +      \
	 RAMA_CAP_QUEUE * sizeof(struct rama_cap_pending)) /* three paths and the queue */

/* ---- the process ----------------------------------------------------------------------------- */

enum { RAMA_CAP_ASLEEP, RAMA_CAP_WAKING, RAMA_CAP_AWAKE, RAMA_CAP_ENDED };

#define RAMA_CAP_POOL_NAMES RAMA_SEG_KINDS /* beside the kinds of slots */

/* the chunk of records that names or slots of one kind are being taken from */
struct rama_cap_pool_now {
	unsigned char *at;    /* NULL: there was none yet */
	uint32_t chunk;	      /* its number */
	uint32_t used, ready; /* bytes; ready: with memory behind them */
	uint32_t first;	      /* slots that were handed out before it */
};

struct rama_cap_run {
	/* read by every call */
	uint64_t tick0;
	/* bits of an address that is not aligned; 0: the alignment is no power of two, or 1 */
	uintptr_t mem_mask;
	uintptr_t mem_align;
	struct rama_cap_fd *fds;
	struct rama_seg_control *control;
	uint32_t generation;
	uint32_t heat;	/* bit per layer that has a heat map */
	uint32_t clock; /* enum rama_seg_clock_source */
	/* Descriptors below go the quick way, and streams if there are any: the clock is the TSC,
	 * and mem_mask says all of the alignment. 0: none (quick.c) */
	uint32_t quick_fds;
	/* Is it asked for which places calls come from? And what changes when libraries go, in
	 * bits that no address of a program has; if it is not asked for, all bits, so that all
	 * places are one. */
	bool sites;
	uint64_t site_turn;
	bool filtered; /* there was a filter of system calls (seccomp) before us */
	/* the rest */
	atomic_uint phase;
	int64_t pid,
		/* job_pid: of the first process of a family of forks, where no job id is known */
		job_pid;
	double hz;
	/* of the agent that chooses who makes events: its beat, and since when it is the same */
	uint32_t focus_beat;
	uint64_t focus_since;
	struct rama_seg_header *head;
	struct rama_seg_identity *id;
	struct rama_seg_state *state;
	uint32_t live, live_until;		 /* what the control words begin with */
	uint32_t slots[RAMA_SEG_KINDS], n_lanes; /* how many there may be */
	/* chunks of records: how many there may be, and how large they are (a power of 2) */
	uint32_t pool_chunks, pool_shift;
	uint32_t pool_spare; /* chunks of those that only groups of files get */
	struct rama_cap_pool_now pool_now[RAMA_SEG_KINDS + 1];
	void *others[RAMA_SEG_KINDS];	  /* the catch-all slots */
	uint64_t names_bytes, names_most; /* that names take, and may take */
	uint64_t failed_most; /* ... while names of files that do not exist are still added */
	uint32_t fd_high;     /* highest descriptor in use + 1 */
	uint64_t heat_width;  /* ticks */
	uint32_t names_lock, cwd_lock, mount_lock, events_lock, sites_lock;
	uint32_t mounts_known;
	uint32_t no_lustre; /* the mounts are known, and none is */
	/* RAMA_CORE_H5D_NO_...: what the HDF5 library of the program cannot say */
	uint32_t h5d_lacks;
	uint32_t cwd_len; /* 0: not known */
	int64_t zone;	  /* seconds east of Greenwich */
	uint64_t euid;	  /* with which the segment was made */
	bool forked, bare, ended;
	bool server; /* serves files to others: of its own calls reads, writes and syncs are told */
	bool unlinked; /* the segment has no name any more */
	bool logged;   /* what was recorded up to MPI_Finalize is in a log already */
	struct rama_config_settings *settings;
	unsigned char *pool[RAMA_SEG_POOL_CHUNKS]; /* chunks of records that were handed out */
	char cwd[4096];
	char path[4096];	      /* of the segment; "": it has no file */
	struct rama_seg_tally *tally; /* of the job; NULL: there is none */
	/* what of this program the tally has, if the segment has no file */
	int64_t told_calls, told_end, told_replaced;
	char job[64]; /* of ranks that belong together; "": none */
	char start_dir[4096];
};
extern struct rama_cap_run rama_cap_run;

/* Points to RAMA_CAP_LIVE + generation when calls are to be recorded, to 1 when we sleep. The
 * page it points to becomes zero in a forked child, whatever way it was forked. */
#define RAMA_CAP_LIVE 0x6c697600u
extern const volatile uint32_t *rama_cap_live;

/* The slow side of rama_cap_begin: starts us, or a new history in a forked child, or gives the
 * thread its lane. false: not now. */
bool rama_cap_wake(void) __attribute__((cold));
/* same, but a forked child that only tidies up its descriptors stays asleep */
bool rama_cap_awake(void);
static inline bool rama_cap_alive(void)
{
	return *rama_cap_live == RAMA_CAP_LIVE + rama_cap_run.generation;
}
/* a forked child gets its segment now, while its rights allow it */
void rama_cap_settle(void);
void rama_cap_end_process(void);
/* start.c: from now on nothing is recorded, no system call made and no clock read; what there is
 * becomes a log where nobody else makes one. Back: the call that it was for has failed. */
void rama_cap_go_quiet(const char *why);
void rama_cap_go_on(void);
/* confine.c: around a system call that may confine the process; NULL: it does not. a: its
 * arguments */
const char *rama_cap_confines(long call, const long *a);
void rama_cap_confined(const char *why, long result);
/* goes_on: the next program of this process will be observed, too, and sees to the log of both;
 * fails: there is none */
void rama_cap_replace_process(bool goes_on, bool fails);
void rama_cap_replace_failed(void);
/* finish.c: false: it could not be written, which is counted. The segment goes. unwrite: the
 * process goes on after all. */
bool rama_cap_write_log(void);
/* Has it done so little that the site wants no log of it? Its history has to have an end. */
bool rama_cap_is_small(void);
const char *rama_cap_log_written(void); /* of the log that was written; NULL: none was */
void rama_cap_unwrite_log(void);
bool rama_cap_log_path(char *to, size_t size); /* where a log of this process would go */
void rama_cap_remove_segment(void);
void rama_cap_note_zone(void);
bool rama_cap_create_segment(void);
/* the segment, and those of children to come, are part of this job from now on; if its file can
 * be moved there */
void rama_cap_join_job(const char *job, int64_t jobid);
/* its file goes into the directory of that job; false: it stays where it is */
bool rama_cap_move_segment(const char *job);
uint64_t rama_cap_file_limit(void); /* RLIMIT_FSIZE */
/* identity.c */
void rama_cap_identify(struct rama_seg_identity *id);
bool rama_cap_by_run(void); /* Is `iorama run` at work, and on this host? */
bool rama_cap_wanted(const struct rama_seg_identity *id); /* is this program to be observed? */
void rama_cap_read_settings(void);
void rama_cap_choose_clock(void);
static inline void rama_cap_choose_quick(void) /* when it has changed, and the settings are read */
{
	bool quick = rama_cap_run.clock == RAMA_SEG_CLOCK_TSC &&
		     rama_cap_run.mem_align == rama_cap_run.mem_mask + 1;

	rama_cap_run.quick_fds = quick ? RAMA_CAP_FDS_FIRST : 0;
}
double rama_cap_measure_hz(const struct rama_seg_ticks *c);
/* Puts the segment where the next program of this process looks for it; false: that cannot be. */
bool rama_cap_hand_on(void);
const char *rama_cap_variable(const char *name); /* of the environment; NULL: not set */
void rama_cap_clock_pair(uint64_t *tick, uint64_t *mono, uint64_t *real);
/* what the system has counted of the process so far; false: it does not say */
bool rama_cap_usage(struct rama_seg_usage *to);
void rama_cap_usage_end(void);	  /* into the segment */
void rama_cap_mounts_again(void); /* into the segment of a forked child */

uint64_t rama_cap_ticks_slow(void) __attribute__((cold));
/* where rama_cap_run.clock says that it is the one */
static inline __attribute__((always_inline)) uint64_t rama_cap_ticks_tsc(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t t;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#else
	return rama_cap_ticks_slow();
#endif
}
static inline uint64_t rama_cap_ticks(void)
{
	if (RAMA_CAP_LIKELY(rama_cap_run.clock == RAMA_SEG_CLOCK_TSC))
		return rama_cap_ticks_tsc();
	return rama_cap_ticks_slow();
}

/* where on the stack we are */
static inline __attribute__((always_inline)) uintptr_t rama_cap_frame(void)
{
#if defined(__x86_64__)
	uintptr_t sp;

	__asm__ volatile("movq %%rsp, %0" : "=r"(sp)); /* without the cost of a frame pointer */
	return sp;
#else
	return (uintptr_t)__builtin_frame_address(0);
#endif
}

static inline __attribute__((always_inline)) void rama_cap_note_frame(uintptr_t *to)
{
#if defined(__x86_64__)
	__asm__ volatile("movq %%rsp, %0" : "=m"(*to));
#else
	*to = rama_cap_frame();
#endif
}

/* Before the real call, which is this function on this descriptor (-1: on none). The lane says
 * what its thread is at; a call that comes while another is at work, as those of MPI-IO do, is
 * part of it. false: do not observe it. */
static inline __attribute__((always_inline)) void rama_cap_doing(const struct rama_cap_span *sp,
								 unsigned fn, int fd)
{
	struct rama_seg_lane *l = rama_cap_thread.lane;

	if (RAMA_CAP_LIKELY(l->doing_since == 0)) {
		l->doing_fn = fn;
		l->doing_fd = (uint32_t)fd + 1;
		rama_cap_note_frame(&rama_cap_thread.doing_frame);
		l->doing_since = sp->t0;
	}
}
bool rama_cap_begin_slow(struct rama_cap_span *sp, unsigned fn, int fd);
/* so that the caller's own span need not lie in memory */
static inline __attribute__((always_inline)) bool rama_cap_begin_aside(struct rama_cap_span *sp,
								       unsigned fn, int fd)
{
	struct rama_cap_span aside = { 0 };
	bool on = rama_cap_begin_slow(&aside, fn, fd);

	*sp = aside;
	return on;
}
static inline __attribute__((always_inline)) bool rama_cap_begin(struct rama_cap_span *sp,
								 unsigned fn, int fd)
{
	if (RAMA_CAP_UNLIKELY(*rama_cap_live != rama_cap_thread.live) ||
	    RAMA_CAP_UNLIKELY(rama_cap_run.clock != RAMA_SEG_CLOCK_TSC))
		return rama_cap_begin_aside(sp, fn, fd);
	sp->t0 = rama_cap_ticks_tsc();
	rama_cap_doing(sp, fn, fd);
	return true;
}

/* After the real call; the doors below do it. The thread may have lost its lane in it. */
static inline __attribute__((always_inline)) void rama_cap_idle(const struct rama_cap_span *sp)
{
	struct rama_seg_lane *l = rama_cap_thread.lane;

	if (RAMA_CAP_LIKELY(l && l->doing_since == sp->t0))
		l->doing_since = 0;
}

/* It begins only now: something had to be asked first. */
static inline void rama_cap_begin_again(struct rama_cap_span *sp)
{
	struct rama_seg_lane *l = rama_cap_thread.lane;
	bool ours = l && l->doing_since == sp->t0;

	sp->t0 = rama_cap_ticks();
	if (ours)
		l->doing_since = sp->t0;
}

/* what servers do all the time, and nobody can use: GlusterFS asks six times for each write */
#define RAMA_CAP_OF_SERVERS                                                                      \
	(1ull << RAMA_TAB_OP_STAT | 1ull << RAMA_TAB_OP_STATOTHER | 1ull << RAMA_TAB_OP_ACCESS | \
	 1ull << RAMA_TAB_OP_XATTR | 1ull << RAMA_TAB_OP_SEEK | 1ull << RAMA_TAB_OP_READDIR)

/* ---- record.c: our own code is at work ------------------------------------------------------- */

/* what handlers queued meanwhile */
void rama_cap_drain(struct rama_cap_thread *t) __attribute__((cold));

/* rama_cap_enter() and rama_cap_leave() (record.h) for those who know that the thread is awake and
 * that nothing in between touches errno. frame: an address in the frame of the one who works, or
 * below it */
static inline void rama_cap_busy(struct rama_cap_thread *t, uintptr_t frame)
{
	t->frame = frame;
	atomic_signal_fence(memory_order_seq_cst);
	t->busy = 1;
	atomic_signal_fence(memory_order_seq_cst);
}
static inline void rama_cap_free(struct rama_cap_thread *t)
{
	atomic_signal_fence(memory_order_seq_cst);
	t->busy = 0;
	atomic_signal_fence(memory_order_seq_cst);
	if (RAMA_CAP_UNLIKELY(t->head != t->tail)) /* handlers from now on do their own work */
		rama_cap_drain(t);
}
void rama_cap_missed(struct rama_cap_thread *t)
	__attribute__((cold)); /* a call that cannot be recorded */

/* ---- files.c --------------------------------------------------------------------------------- */

/* the cleaned path in the thread's scratch; NULL: cannot be known or is not observed. *len: its
 * length. */
const char *rama_cap_clean(struct rama_cap_thread *t, int dirfd, const char *path, size_t *len);
/* the same, and the entry of that name, if there is one already */
const char *rama_cap_clean_known(struct rama_cap_thread *t, int dirfd, const char *path,
				 size_t *len, struct rama_seg_name **n);
/* bytes of a chunk of records, for slots of a kind or RAMA_CAP_POOL_NAMES, with memory behind them;
 * the caller holds the names lock and adds them to `used` when they are. NULL: there is no room */
unsigned char *rama_cap_pool_room(unsigned what, uint32_t n);
/* the n-th slot of a kind, from 0 on; NULL: there are not so many */
const void *rama_cap_slot_nth(unsigned kind, uint32_t n);
/* begins anew, for a new segment */
bool rama_cap_names_init(void);
/* of a segment that we were forked from: the text of a name; its length, 0: it cannot be found */
size_t rama_cap_name_old(unsigned generation, uint32_t number, char *to, size_t room);
/* May the path of a call that failed be looked at? Some errors come before anybody did, and then
 * it may be anything. */
bool rama_cap_path_was_read(const char *path, int error);
/* entry of the names, made if `make`; that of a group or the catch-all if there is no room; NULL:
 * not there */
struct rama_seg_name *rama_cap_name(struct rama_cap_thread *t, const char *text, size_t len,
				    bool make);
struct rama_seg_name *rama_cap_name_at(uint32_t number);
/* Beyond the room for names and slots files are counted in groups (core/group.h), for which some
 * chunks are kept: the group of a path, NULL: there is none; is what is asked for from now on for
 * a group? The caller holds the names lock. */
struct rama_seg_name *rama_cap_name_group(const char *path, size_t len, bool coarse);
void rama_cap_pool_for_groups(bool on);
/* the entry of a path that something is recorded of, or NULL */
struct rama_seg_name *rama_cap_name_known(struct rama_cap_thread *t, const char *text, size_t len);
uint32_t rama_cap_name_number(const struct rama_seg_name *n);
bool rama_cap_observes(unsigned module, const char *text, size_t len);
/* the slot of a name, made if it has none; NULL: that module does not observe it */
void *rama_cap_slot_of(struct rama_cap_thread *t, struct rama_seg_name *n, enum rama_seg_kind kind);
/* more: of a dataset or variable: id of the record of its file */
void *rama_cap_slot_with(struct rama_cap_thread *t, struct rama_seg_name *n,
			 enum rama_seg_kind kind, int64_t more);
static inline struct rama_core_posix_file *rama_cap_posix_of(struct rama_cap_thread *t,
							     struct rama_seg_name *n)
{
	return rama_cap_slot_of(t, n, RAMA_SEG_KIND_POSIX);
}
static inline struct rama_core_stdio_file *rama_cap_stdio_of(struct rama_cap_thread *t,
							     struct rama_seg_name *n)
{
	return rama_cap_slot_of(t, n, RAMA_SEG_KIND_STDIO);
}
static inline struct rama_core_extra_file *rama_cap_extra_of(struct rama_cap_thread *t,
							     struct rama_seg_name *n)
{
	return rama_cap_slot_of(t, n, RAMA_SEG_KIND_EXTRA);
}
static inline struct rama_core_mpiio_file *rama_cap_mpiio_of(struct rama_cap_thread *t,
							     struct rama_seg_name *n)
{
	return rama_cap_slot_of(t, n, RAMA_SEG_KIND_MPIIO);
}
/* entry of a descriptor, or NULL if it is out of range or finds no memory */
struct rama_cap_fd *rama_cap_fd_high(int fd);
static inline struct rama_cap_fd *rama_cap_fd(int fd)
{
	return RAMA_CAP_LIKELY((unsigned)fd < RAMA_CAP_FDS_FIRST) ? &rama_cap_run.fds[fd]
								  : rama_cap_fd_high(fd);
}
/* Slot of a descriptor; NULL: not observed. Descriptors not seen before are looked up; `moved`:
 * bytes by which the call that is being recorded has moved its position. */
struct rama_core_posix_file *rama_cap_fd_posix_slow(struct rama_cap_thread *t, int fd,
						    int64_t moved);
static inline struct rama_core_posix_file *rama_cap_fd_posix(struct rama_cap_thread *t, int fd)
{
	struct rama_cap_fd *e = rama_cap_fd(fd);
	if (RAMA_CAP_LIKELY(e && e->posix && !((uintptr_t)e->posix & 1)))
		return e->posix;
	return e ? rama_cap_fd_posix_slow(t, fd, 0) : NULL;
}
/* the name that is known of a descriptor, NULL if there is none */
struct rama_seg_name *rama_cap_fd_name(struct rama_cap_thread *t, int fd);
void rama_cap_fd_set(int fd, struct rama_core_posix_file *posix, struct rama_core_stdio_file *stdio,
		     uint32_t name);
void rama_cap_fd_forget(int fd);
void rama_cap_fd_forget_range(unsigned first, unsigned last);
struct rama_core_stdio_file *rama_cap_stream_file(struct rama_cap_thread *t, FILE *stream);
void rama_cap_cwd_changed(void);
int64_t rama_cap_file_alignment(const char *path, size_t len);
bool rama_cap_file_is_on(const char *path, size_t len, const char *type); /* of the file system */

/* ---- lustre.c: before a descriptor of a file that is recorded is closed ---------------------- */

void rama_cap_layout_slow(uint32_t name, int fd);
static inline void rama_cap_layout(uint32_t name, int fd)
{
	if (RAMA_CAP_UNLIKELY(!rama_cap_run.no_lustre))
		rama_cap_layout_slow(name, fd);
}

/* Around the real call of a higher layer, and around recording it. cfa: RAMA_CAP_CFA of its
 * wrapper; 0: not known */
static inline void rama_cap_nest_begin(struct rama_cap_nest *n, uintptr_t cfa)
{
	struct rama_cap_thread *t = &rama_cap_thread;

	n->outer = t->parent;
	n->id = t->lane ? (uint32_t)++t->lane->calls : 0;
	t->parent = n->id;
	/* one that stands further down was left by a jump */
	n->outermost = cfa && (!t->outer_ret || cfa > t->outer_cfa);
	if (n->outermost) {
		t->outer_cfa = cfa;
		t->outer_ret = RAMA_CAP_RETURN(cfa);
	}
}
static inline void rama_cap_nest_end(const struct rama_cap_nest *n)
{
	rama_cap_thread.parent = n->outer;
	if (n->outermost)
		rama_cap_thread.outer_ret = 0;
}

/* ---- hand_aio.c: when asynchronous operations were submitted --------------------------------- */

struct rama_cap_aio {
	uint64_t t0;	 /* 0: not known */
	uint32_t parent; /* the call that it was submitted in, if this thread made that; else 0 */
};
/* of `bytes` at `off` of a descriptor */
void rama_cap_aio_submitted(const void *cb, uint64_t t0, int fd, int64_t off, int64_t bytes);
struct rama_cap_aio rama_cap_aio_taken(const void *cb);

/* ---- mpi/requests.c: nonblocking calls of MPI that are under way ----------------------------- */

#ifdef RAMA_STATIC_WRAP /* MPI is not in there */
enum { rama_cap_requests = 0 };
#define rama_cap_request_of(name, off, bytes) ((void)(name), (void)(off), (void)(bytes), 0u)
#else
extern uint32_t rama_cap_requests; /* how many there are */
/* the one of this thread that bytes of a file belong to: its id; 0: none */
uint32_t rama_cap_request_of(uint32_t name, int64_t off, int64_t bytes);
#endif
/* what a call of this thread on that file is part of */
static inline uint32_t rama_cap_parent(const struct rama_cap_thread *t, uint32_t name, int64_t off,
				       int64_t bytes)
{
	if (RAMA_CAP_LIKELY(t->parent || !rama_cap_requests))
		return t->parent;
	return rama_cap_request_of(name, off, bytes);
}

/* ---- thread.c -------------------------------------------------------------------------------- */

bool rama_cap_thread_join(void); /* gives the thread a lane; false: there is none */
void rama_cap_threads_init(void);

#define RAMA_CAP_PATIENCE 50000 /* rests until somebody waits no longer: some seconds */
void rama_cap_rest(unsigned i); /* longer the larger i is */
/* Short locks. false after long waiting, or at once if that was in vain before: then the thing
 * is left undone. A lock that was taken from its thread (jump.c) is not unlocked again. */
bool rama_cap_lock(struct rama_cap_thread *t, uint32_t *lock);
void rama_cap_unlock(struct rama_cap_thread *t, uint32_t *lock);

/* ---- jump.c ---------------------------------------------------------------------------------- */

void rama_cap_jump(const void *env); /* before longjmp(env) */
bool rama_cap_jump_leaves(uintptr_t frame, uintptr_t here, uintptr_t to);
/* busy, but the code that is at work was left and will not come back? Then it no longer is.
 * here: of the one who asks */
bool rama_cap_was_left(struct rama_cap_thread *t, uintptr_t here) __attribute__((cold));
/* start.c: of a thread that was waking us, perhaps */
void rama_cap_wake_jumped(uintptr_t here, uintptr_t to);

#pragma GCC visibility pop
#endif
