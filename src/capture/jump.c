/* SPDX-License-Identifier: BSD-3-Clause */
/* jump.c: a signal handler that interrupted us may leave by a jump and never come back: then locks
 * are let go for it. It may as well jump inside itself, and our code goes on afterwards: then
 * nothing may be touched. What tells the two apart is the stack: a jump leaves us if its target
 * lies above our frame.
 *
 * Handlers may run on a stack of their own (sigaltstack), and programs may make more stacks
 * (makecontext): addresses of different stacks cannot be compared. Where that leaves a doubt the
 * jump counts as leaving us. Being wrong then mixes up two records at worst: who comes back after
 * all finds that it no longer holds the lock, and leaves it alone (rama_cap_unlock). */
#include <setjmp.h>
#include <signal.h>

#include "capture/runtime.h"

/* The stack pointer in a jmp_buf, which the C library disguises with a number; 0: not known. */
static uintptr_t target_of(const void *env)
{
#if defined(__GLIBC__) && defined(__x86_64__)
	uintptr_t sp = ((const uintptr_t *)env)[6];

	__asm__("rorq $17, %0\n\txorq %%fs:0x30, %0" : "+r"(sp));
	return sp;
#elif defined(__GLIBC__) && defined(__aarch64__)
	/* the number shows in a buffer of our own, whose stack pointer is known */
	jmp_buf own;
	uintptr_t sp;

	_setjmp(own);
	__asm__("mov %0, sp" : "=r"(sp));
	return ((const uintptr_t *)env)[13] ^ ((const uintptr_t *)own)[13] ^ sp;
#else
	(void)env;
	return 0;
#endif
}

/* how far below a frame a handler on another stack looks for frames of one on the same stack */
#define NEAR 65536u

static bool is_within(const stack_t *s, uintptr_t at)
{
	return at - (uintptr_t)s->ss_sp < s->ss_size;
}

/* Does a jump from `here` to `to` leave `frame`? */
static bool leaves(uintptr_t frame, uintptr_t here, uintptr_t to)
{
	stack_t s = { 0 };

	if (here <= to && to <= frame)
		return false; /* of one stack, or of an alternate one that lies below */
	if (rama_cap_sys3(SYS_sigaltstack, 0, &s, 0) != 0 || s.ss_flags & SS_DISABLE)
		return true;
	if (!is_within(&s, here) || is_within(&s, frame))
		return true; /* all of it on one stack, and not in between */
	/* The handler is on its own stack: it may stay there, or go on in a handler that it has
	 * interrupted itself. */
	return !is_within(&s, to) && (to > frame || frame - to > NEAR);
}

/* Whatever this thread was about to do with the segment will not be finished. */
static void let_go(struct rama_cap_thread *t)
{
	if (t->held && *t->held == t->held_at)
		__atomic_store_n(t->held, t->held_at + 1, __ATOMIC_RELEASE);
	if (t->guard && *t->guard == t->guard_at)
		__atomic_store_n(t->guard, t->guard_at + 1, __ATOMIC_RELEASE);
	t->held = t->guard = NULL;
	t->nest = NULL;
	t->cfa = 0;
	t->busy = 0;
}

void rama_cap_jump(const void *env)
{
	struct rama_cap_thread *t = &rama_cap_thread;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), to;

	if (rama_cap_off)
		return;
	rama_cap_wake_jumped(here, to = target_of(env));
	if (t->lane && t->live == *rama_cap_live && t->lane->doing_since &&
	    leaves(t->doing_frame, here, to)) {
		t->lane->doing_since = 0; /* the call that was at work does not return */
		t->parent = 0;
		t->outer_ret = 0;
	}
	if (t->busy && leaves(t->frame, here, to))
		let_go(t);
}

bool rama_cap_jump_leaves(uintptr_t frame, uintptr_t here, uintptr_t to)
{
	return leaves(frame, here, to);
}

/* What the system puts on a stack before it calls a handler is larger, on every processor. */
#define SIGNAL_FRAME 1024u

/* A call comes while our code seems to be at work. If that is a handler it is well below us;
 * else we were left in a way that nobody saw (setcontext, an exception). */
bool rama_cap_was_left(struct rama_cap_thread *t, uintptr_t here)
{
	stack_t s = { 0 };

	if (here + SIGNAL_FRAME <= t->frame || rama_cap_sys3(SYS_sigaltstack, 0, &s, 0) != 0)
		return false;
	if (!(s.ss_flags & SS_DISABLE) && is_within(&s, here) != is_within(&s, t->frame))
		return false;
	let_go(t);
	return true;
}
