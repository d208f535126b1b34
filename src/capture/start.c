/* SPDX-License-Identifier: BSD-3-Clause */
/* start.c: how the library comes to life at the first call, begins a new history in a forked
 * child, and goes. None of it may fail the application: on trouble we stay asleep. */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/auxv.h>

#include "capture/attach.h"
#include "capture/hooks/hooks.h"
#include "capture/launch.h"
#include "capture/place.h"
#include "capture/uring/uring.h"

struct rama_cap_run rama_cap_run;
uint32_t rama_cap_quiet;
static uint32_t was_phase, was_clock; /* before we went quiet */

static const volatile uint32_t asleep = 1;
const volatile uint32_t *rama_cap_live = &asleep;
static uint32_t *live_page;

extern int __cxa_atexit(void (*fn)(void *), void *arg, void *dso);

/* ---- real functions -------------------------------------------------------------------------- */

#ifndef RAMA_STATIC_WRAP
struct rama_cap_real rama_cap_real;

rama_cap_anyfn *rama_cap_resolve(rama_cap_anyfn **slot, const char *name)
{
	int saved = errno;
	rama_cap_anyfn *f;

	*(void **)&f = dlsym(RTLD_NEXT, name);
	__atomic_store_n(slot, f, __ATOMIC_RELEASE);
	errno = saved;
	return f;
}

/* NOLINTNEXTLINE(readability-function-size): a line per row */
static void resolve_all(void)
{
#define FN(name, ...) rama_cap_resolve((rama_cap_anyfn **)&rama_cap_real.name, #name);
#define FN_MODE FN
#define FN_HAND FN
#define FN_HAND0 FN
#define FN_FMT(name, vname, ...)
#define FN_SCAN(name, vname)
#define FN_SCAN0(name, vname)
#define FN_EXECL(name, vname)
#define FN_JUMP(name) FN(name, )
#define FN_ASM(name)
#include RAMA_CAP_ROWS_POSIX
#include RAMA_CAP_ROWS_STDIO
#include RAMA_CAP_ROWS_PROCESS
}
#else
static void resolve_all(void)
{
}
#endif

/* ---- waking up ------------------------------------------------------------------------------- */

/* Where the kernel cannot wipe the page, the C library tells us of forks it knows of. */
static void forked_child(void)
{
	if (live_page)
		*live_page = 0;
}

static bool make_live_page(void)
{
	long p = rama_cap_sys6(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p < 0 && p > -4096)
		return false;
	if (rama_cap_sys3(SYS_madvise, p, 4096, MADV_WIPEONFORK) != 0)
		pthread_atfork(NULL, NULL, forked_child);
	live_page = (uint32_t *)p;
	return true;
}

#ifdef RAMA_STATIC_WRAP
__attribute__((destructor(101))) static void at_exit(void) /* the last of all destructors */
{
	rama_cap_end_process();
}
#else
static void at_exit(void *arg)
{
	(void)arg;
	rama_cap_end_process();
}
#endif

static void at_quick_exit_(void)
{
	rama_cap_end_process();
}

static bool begin_first(void)
{
	if (getauxval(AT_SECURE))
		return false; /* setuid and the like are never observed */
	rama_cap_run.pid = rama_cap_sys3(SYS_getpid, 0, 0, 0);
	if (!make_live_page() || !rama_cap_create_segment()) {
		rama_cap_run.state = NULL;
		return false;
	}
	rama_cap_threads_init();
#ifndef RAMA_STATIC_WRAP
	/* Without a library's handle it runs after the destructors of all libraries. */
	__cxa_atexit(at_exit, NULL, NULL);
#endif
	at_quick_exit(at_quick_exit_);
	return true;
}

/* Descriptors stay what they are; what was recorded of them is another history's. */
static void forget_records(void)
{
	for (unsigned fd = 0; fd < rama_cap_run.fd_high; fd++) {
		struct rama_cap_fd *e = rama_cap_fd((int)fd);

		if (e && e->posix)
			e->posix = (struct rama_core_posix_file *)((uintptr_t)e->posix | 1);
	}
}

/* We are the child of a process that was observed: a new segment, the same descriptors. */
static bool begin_forked(void)
{
	struct rama_seg_state *before = rama_cap_run.state; /* stays mapped */
	uint64_t euid = rama_cap_run.euid;

	/* threads of the parent that held them are not here to let go */
	rama_cap_run.sites_lock = 0;
	rama_cap_run.names_lock = rama_cap_run.cwd_lock = rama_cap_run.mount_lock =
		rama_cap_run.events_lock = 0;
	/* as it was switched since; not what an agent chose for its parent */
	rama_cap_run.live = rama_cap_run.control->focus ? rama_cap_run.control->asked_live
							: rama_cap_run.control->live;
	rama_cap_run.live_until = rama_cap_run.control->live_until;
	rama_cap_run.pid = rama_cap_sys3(SYS_getpid, 0, 0, 0);
	rama_cap_run.forked = true;
	rama_cap_run.ended = rama_cap_run.logged = false;
	rama_cap_run.generation++;
	if (!rama_cap_create_segment()) {
		rama_cap_run.state = before;
		if ((uint64_t)rama_cap_sys3(SYS_geteuid, 0, 0, 0) != euid)
			rama_cap_launch_count(RAMA_UNSEEN_DROPPED, rama_cap_run.id->exe);
		return false;
	}
	forget_records();
	return true;
}

/* this thread does it: what it calls is its own, or a signal handler's */
static RAMA_CAP_TLS bool waking;
static RAMA_CAP_TLS uintptr_t waking_frame;

/* other threads wait for the one that wakes us, so that their calls count */
static bool wait_awake(void)
{
	for (unsigned i = 0;
	     i < RAMA_CAP_PATIENCE && atomic_load(&rama_cap_run.phase) == RAMA_CAP_WAKING; i++)
		rama_cap_rest(i);
	return rama_cap_alive();
}

static bool wake(bool fork_too)
{
	unsigned phase = atomic_load(&rama_cap_run.phase);
	int saved = errno;
	bool ok;

	if (waking)
		return false;
	if (phase == RAMA_CAP_WAKING)
		return wait_awake();
	bool forked = phase == RAMA_CAP_AWAKE && !rama_cap_alive() && fork_too;
	if (phase != RAMA_CAP_ASLEEP && !forked)
		return rama_cap_alive(); /* another thread may have done it since we looked */
	waking_frame = rama_cap_frame();
	waking = true;
	if (!atomic_compare_exchange_strong(&rama_cap_run.phase, &phase, RAMA_CAP_WAKING)) {
		waking = false;
		return wait_awake();
	}
	if (forked && rama_cap_alive()) { /* the same, a moment later */
		atomic_store(&rama_cap_run.phase, RAMA_CAP_AWAKE);
		waking = false;
		return true;
	}
	ok = forked ? begin_forked() : begin_first();
	if (ok) { /* last of all: who finds the word goes on to the segment without a lock */
		*live_page = RAMA_CAP_LIVE + rama_cap_run.generation;
		rama_cap_live = live_page;
	} else {
		rama_cap_live = &asleep;
	}
	atomic_store(&rama_cap_run.phase, ok ? RAMA_CAP_AWAKE : RAMA_CAP_ENDED);
	if (ok)
		rama_cap_hooks_begin();
	waking = false;
	errno = saved;
	return ok;
}

/* A handler has left: nobody may wait for this thread to finish it. The process is not observed. */
void rama_cap_wake_jumped(uintptr_t here, uintptr_t to)
{
	if (!waking || !rama_cap_jump_leaves(waking_frame, here, to))
		return;
	rama_cap_live = &asleep;
	atomic_store(&rama_cap_run.phase, RAMA_CAP_ENDED);
	waking = false;
}

bool rama_cap_wake(void)
{
	if (rama_cap_off || !(rama_cap_alive() || wake(true)))
		return false;
	return rama_cap_thread.live == *rama_cap_live || rama_cap_thread_join();
}

bool rama_cap_awake(void)
{
	return !rama_cap_off && (rama_cap_alive() || wake(false));
}

void rama_cap_settle(void)
{
	if (!rama_cap_off && !rama_cap_alive())
		wake(true);
}

#ifndef RAMA_STATIC_WRAP
/* After a detach all begins anew, with the settings of this time. */
static bool begin_again(void)
{
	rama_cap_run.sites_lock = 0;
	rama_cap_run.names_lock = rama_cap_run.cwd_lock = rama_cap_run.mount_lock =
		rama_cap_run.events_lock = 0;
	rama_cap_run.ended = rama_cap_run.logged = false;
	rama_cap_run.tally = NULL; /* stays mapped: a thread may be at work in it */
	rama_cap_run.generation++;
	rama_cap_read_settings();
	rama_cap_run.live = rama_cap_run.settings->live;
	rama_cap_run.live_until = 0;
	if (!rama_cap_create_segment())
		return false;
	forget_records();
	*live_page = RAMA_CAP_LIVE + rama_cap_run.generation;
	rama_cap_live = live_page;
	atomic_store(&rama_cap_run.phase, RAMA_CAP_AWAKE);
	return true;
}

bool rama_cap_begin_attached(void)
{
	if (atomic_load(&rama_cap_run.phase) == RAMA_CAP_ASLEEP)
		return wake(false);
	return atomic_load(&rama_cap_run.phase) == RAMA_CAP_ENDED && live_page && begin_again();
}
#endif

__attribute__((constructor)) static void start(void)
{
	int saved = errno;

	resolve_all();
	if (rama_cap_attach_is()) {
		errno = saved;
		return;
	}
	rama_cap_launch_init();
	if (rama_cap_awake() && rama_cap_run.bare)
		rama_cap_note_zone(); /* not earlier: it allocates memory */
	errno = saved;
}

/* ---- going ----------------------------------------------------------------------------------- */

static void stamp(void)
{
	struct rama_seg_ticks *c = &rama_cap_run.id->clock;

	rama_cap_clock_pair(&c->tick1, &c->mono1, &c->real1);
	rama_cap_usage_end();
}

/* Under `iorama run` the segment is all there is to leave, and it goes on being filled:
 * destructors and other threads may still do I/O. */
/* A process that was made by clone(CLONE_VM) is at work in memory that is ours: its end is not. */
static bool is_another(void)
{
	return rama_cap_sys3(SYS_getpid, 0, 0, 0) != rama_cap_run.pid;
}

void rama_cap_end_process(void)
{
	int saved = errno;

	if (rama_cap_off || !rama_cap_alive() || is_another())
		return;
	if (__atomic_exchange_n(&rama_cap_run.ended, true, __ATOMIC_ACQ_REL) && rama_cap_run.bare)
		return;
	rama_cap_uring_last_sight();
	stamp(); /* before the phase: who reads DONE relies on the second pair of clocks */
	__atomic_store_n(&rama_cap_run.state->phase, RAMA_SEG_DONE, __ATOMIC_RELEASE);
	rama_cap_tally_end(false);
	bool small = rama_cap_is_small();
	if (rama_cap_run.bare || small) {
		atomic_store(&rama_cap_run.phase, RAMA_CAP_ENDED);
		rama_cap_live = &asleep;
		if (small)
			rama_cap_remove_segment();
		else if (!rama_cap_run.logged)
			rama_cap_write_log();
	}
	errno = saved;
}

#ifndef RAMA_STATIC_WRAP
void rama_cap_end_attached(void)
{
	bool alive = rama_cap_alive();

	rama_cap_end_process();
	if (alive && !rama_cap_off) {
		atomic_store(&rama_cap_run.phase, RAMA_CAP_ENDED);
		rama_cap_live = &asleep;
	}
}
#endif

/* A process that was forked and has done nothing yet begins a history all the same: what says
 * that nothing was recorded of it. */
void rama_cap_go_quiet(const char *why)
{
	if (rama_cap_wake()) {
		rama_cap_uring_last_sight();
		stamp();
		rama_cap_run.id->flags |= RAMA_SEG_QUIET;
		strncpy(rama_cap_run.state->why, why, sizeof(rama_cap_run.state->why) - 1);
		__atomic_store_n(&rama_cap_run.state->phase, RAMA_SEG_OFF, __ATOMIC_RELEASE);
		if (rama_cap_run.bare && !rama_cap_run.logged)
			rama_cap_write_log();
	}
	was_phase = atomic_exchange(&rama_cap_run.phase, RAMA_CAP_ENDED);
	was_clock = rama_cap_run.clock;
	rama_cap_live = &asleep;
	rama_cap_run.clock = 0; /* neither of those that there are */
	rama_cap_choose_quick();
	__atomic_store_n(&rama_cap_quiet, 1, __ATOMIC_SEQ_CST);
}

void rama_cap_go_on(void)
{
	__atomic_store_n(&rama_cap_quiet, 0, __ATOMIC_SEQ_CST);
	rama_cap_run.clock = was_clock;
	rama_cap_choose_quick();
	atomic_store(&rama_cap_run.phase, was_phase);
	if (was_phase != RAMA_CAP_AWAKE || *live_page != RAMA_CAP_LIVE + rama_cap_run.generation)
		return;
	rama_cap_live = live_page;
	rama_cap_run.id->flags &= ~(uint32_t)RAMA_SEG_QUIET;
	rama_cap_replace_failed();
}

void rama_cap_replace_process(bool goes_on, bool fails)
{
	if (rama_cap_off || !rama_cap_alive())
		return;
	rama_cap_uring_last_sight();
	stamp();
	__atomic_store_n(&rama_cap_run.state->phase, RAMA_SEG_REPLACED, __ATOMIC_RELEASE);
	rama_cap_tally_end(true);
	if (rama_cap_run.bare && !rama_cap_run.logged && !fails && !(goes_on && rama_cap_hand_on()))
		rama_cap_write_log();
}

void rama_cap_replace_failed(void)
{
	if (rama_cap_off || !rama_cap_alive())
		return;
	if (rama_cap_run.bare)
		rama_cap_unwrite_log();
	rama_cap_tally_again();
	rama_cap_run.id->clock.tick1 = 0;
	__atomic_store_n(&rama_cap_run.state->phase, RAMA_SEG_RUNNING, __ATOMIC_RELEASE);
}
