/* SPDX-License-Identifier: BSD-3-Clause */
/* probe.c: functions of the program itself whose beginning is a jump to us, put there by who
 * attached the library (src/attach/probe.c, while all threads stood still). The jump leads to a few
 * instructions near the function, these to the stub: it keeps every register as it is, calls
 * before(), then the function (its moved beginning, and on from there), then after(). The
 * function returns to the stub and the stub to its caller, so that stacks and shadow stacks are in
 * order. Up to sixteen words of arguments on the stack are copied for it. */
#include "base/code/probe.h"

#include "capture/attach.h"

#ifndef RAMA_STATIC_WRAP
#include "capture/events.h"
#include "capture/record.h"
#include "capture/runtime.h"

uint64_t iorama_probe(const struct rama_probe_ask *ask);
extern struct rama_probe iorama_probes[RAMA_PROBES];
#if defined(__x86_64__)

/* where who attached us finds them */
RAMA_CAP_EXPORT struct rama_probe iorama_probes[RAMA_PROBES];
#define table iorama_probes

/* What the stub has on its stack; offsets stand in its text. */
struct frame {
	uint64_t stack[16]; /* arguments, for the function */
	uint64_t original;  /* 128 */
	uint64_t rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11;
	/* 208: from here on it is ours: what after() needs */
	struct rama_cap_span span;
	struct rama_cap_nest nest;
	uint64_t off, len, object, context;
	uint32_t fd;
	uint32_t on;
	uint64_t pad[4];
	unsigned char wide[16][16]; /* 304 */
};
_Static_assert(offsetof(struct frame, original) == 128 && offsetof(struct frame, rax) == 136 &&
		       offsetof(struct frame, wide) == 304 && sizeof(struct frame) == 560,
	       "as the stub has it");

void rama_cap_probe_stub(void) __attribute__((visibility("hidden")));
void rama_cap_probe_before(struct frame *f, uint32_t i) __attribute__((visibility("hidden"), used));
void rama_cap_probe_after(struct frame *f, uint32_t i) __attribute__((visibility("hidden"), used));

/* On entry: the number of the probe, the return address, arguments on the stack. Which registers
 * are free at a call only holds for functions that others may call; compilers know their own
 * better, so all are kept. */
/* clang-format off */
__asm__(".text\n"
	".p2align 4\n"
	".hidden rama_cap_probe_stub\n"
	".globl rama_cap_probe_stub\n"
	".type rama_cap_probe_stub, @function\n"
	".macro RAMA_PROBE_SAVE\n"
	"	movq %rax, 136(%rsp)\n	movq %rcx, 144(%rsp)\n	movq %rdx, 152(%rsp)\n"
	"	movq %rsi, 160(%rsp)\n	movq %rdi, 168(%rsp)\n	movq %r8, 176(%rsp)\n"
	"	movq %r9, 184(%rsp)\n	movq %r10, 192(%rsp)\n	movq %r11, 200(%rsp)\n"
	"	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
	"	movaps %xmm\\n, (304 + 16 * \\n)(%rsp)\n"
	"	.endr\n"
	".endm\n"
	".macro RAMA_PROBE_RESTORE\n"
	"	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
	"	movaps (304 + 16 * \\n)(%rsp), %xmm\\n\n"
	"	.endr\n"
	"	movq 136(%rsp), %rax\n	movq 144(%rsp), %rcx\n	movq 152(%rsp), %rdx\n"
	"	movq 160(%rsp), %rsi\n	movq 168(%rsp), %rdi\n	movq 176(%rsp), %r8\n"
	"	movq 184(%rsp), %r9\n	movq 192(%rsp), %r10\n	movq 200(%rsp), %r11\n"
	".endm\n"
	"rama_cap_probe_stub:\n"
	"	.cfi_startproc\n"
	"	.cfi_def_cfa_offset 16\n"
	"	pushq %rbp\n"
	"	.cfi_def_cfa_offset 24\n"
	"	.cfi_offset %rbp, -24\n"
	"	movq %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	subq $576, %rsp\n"
	"	andq $-64, %rsp\n"
	"	RAMA_PROBE_SAVE\n"
	"	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
	"	movq (24 + 8 * \\n)(%rbp), %rax\n"
	"	movq %rax, (8 * \\n)(%rsp)\n"
	"	.endr\n"
	"	movq %rsp, %rdi\n"
	"	movl 8(%rbp), %esi\n"
	"	call rama_cap_probe_before\n"
	"	RAMA_PROBE_RESTORE\n"
	"	call *128(%rsp)\n"
	"	RAMA_PROBE_SAVE\n"
	"	movq %rsp, %rdi\n"
	"	movl 8(%rbp), %esi\n"
	"	call rama_cap_probe_after\n"
	"	RAMA_PROBE_RESTORE\n"
	"	leave\n"
	"	.cfi_def_cfa %rsp, 16\n"
	"	leaq 8(%rsp), %rsp\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size rama_cap_probe_stub, .-rama_cap_probe_stub\n");
/* clang-format on */

static uint64_t argument(const struct frame *f, int n)
{
	const uint64_t registers[] = { f->rdi, f->rsi, f->rdx, f->rcx, f->r8, f->r9 };

	if (n < 0)
		return 0;
	return n < 6 ? registers[n] : n < RAMA_PROBE_ARGS ? f->stack[n - 6] : 0;
}

/* ---- what one function begins and another ends ----------------------------------------------- */

enum { FLYING = 4096, TRIES = 16 };
static struct {
	uint64_t context; /* 0: free */
	uint64_t t0, off, len, object;
	uint32_t fd;
} flying[FLYING];

static unsigned place_of(uint64_t context)
{
	return (unsigned)(context * 0x9e3779b97f4a7c15ull >> 52) % FLYING;
}

static void begin_flight(const struct frame *f)
{
	for (unsigned i = 0; i < TRIES && f->context; i++) {
		unsigned at = (place_of(f->context) + i) % FLYING;
		uint64_t is = 0;

		if (__atomic_compare_exchange_n(&flying[at].context, &is, 1, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			flying[at].t0 = f->span.t0;
			flying[at].off = f->off;
			flying[at].len = f->len;
			flying[at].object = f->object;
			flying[at].fd = f->fd;
			__atomic_store_n(&flying[at].context, f->context, __ATOMIC_RELEASE);
			return;
		}
	}
}

static bool end_flight(struct frame *f)
{
	for (unsigned i = 0; i < TRIES && f->context; i++) {
		unsigned at = (place_of(f->context) + i) % FLYING;
		uint64_t is = f->context;

		if (__atomic_load_n(&flying[at].context, __ATOMIC_ACQUIRE) != is)
			continue;
		f->span.t0 = flying[at].t0;
		f->off = flying[at].off;
		f->len = flying[at].len;
		f->object = flying[at].object;
		f->fd = flying[at].fd;
		/* somebody else may have ended it */
		return __atomic_compare_exchange_n(&flying[at].context, &is, 0, false,
						   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	}
	return false;
}

/* ---- before and after ------------------------------------------------------------------------ */

static uint32_t name_of(struct rama_cap_thread *t, const struct rama_probe *p,
			const struct frame *f)
{
	char text[RAMA_PROBE_NAME + 2];
	size_t n = strnlen(p->ask.name, sizeof(p->ask.name));
	struct rama_seg_name *name = NULL;

	if (p->ask.fd >= 0)
		name = rama_cap_fd_name(t, (int)f->fd);
	if (!name) {
		text[0] = '<';
		memcpy(text + 1, p->ask.name, n);
		text[n + 1] = '>';
		name = rama_cap_name(t, text, n + 2, true);
	}
	return name ? rama_cap_name_number(name) : 0;
}

static void record(struct rama_probe *p, const struct frame *f, uint32_t call, bool ok)
{
	struct rama_core_op op = { .fn = (uint16_t)p->ask.fn,
				   .kind = p->ask.kind,
				   .ok = ok,
				   .off = p->ask.off >= 0 ? (int64_t)f->off : -1,
				   .has_off = p->ask.off >= 0,
				   .bytes = p->ask.len >= 0 ? (int64_t)f->len : 0 };
	struct rama_seg_link link = { .unique = f->context, .object = f->object };
	struct rama_cap_visit v;

	rama_cap_times(&f->span, &op);
	__atomic_fetch_add(&p->ns,
			   (uint64_t)((double)(op.t1 - op.t0) * 1e9 /
				      (rama_cap_run.hz > 0 ? rama_cap_run.hz : 1e9)),
			   __ATOMIC_RELAXED);
	if (!rama_cap_eventful(RAMA_SEG_LAYER_SERVER) || !rama_cap_enter(&v))
		return;
	rama_cap_request(v.t, RAMA_SEG_LAYER_SERVER, name_of(v.t, p, f), &op, &link, call);
	rama_cap_leave(&v);
}

void rama_cap_probe_before(struct frame *f, uint32_t i)
{
	struct rama_probe *p = &table[i % RAMA_PROBES];
	int saved = errno;

	f->original = p->original;
	f->on = 0;
	__atomic_fetch_add(&p->calls, 1, __ATOMIC_RELAXED);
	if (rama_cap_attached && rama_cap_begin(&f->span, p->ask.fn, -1)) {
		f->on = 1;
		f->fd = (uint32_t)argument(f, p->ask.fd);
		f->object = argument(f, p->ask.handle);
		f->off = argument(f, p->ask.off);
		f->len = argument(f, p->ask.len);
		f->context = argument(f, p->ask.context);
		if (p->ask.when == RAMA_PROBE_BEGIN)
			begin_flight(f);
		rama_cap_nest_begin(&f->nest, 0);
	}
	errno = saved;
}

void rama_cap_probe_after(struct frame *f, uint32_t i)
{
	struct rama_probe *p = &table[i % RAMA_PROBES];
	int saved = errno;

	if (!f->on)
		return;
	rama_cap_idle(&f->span);
	rama_cap_nest_end(&f->nest);
	if (p->ask.when == RAMA_PROBE_CALL)
		record(p, f, f->nest.id, (int64_t)f->rax >= 0);
	else if (p->ask.when == RAMA_PROBE_END && end_flight(f))
		record(p, f, 0, true);
	else if (p->ask.when == RAMA_PROBE_END)
		__atomic_fetch_add(&p->unmatched, 1, __ATOMIC_RELAXED);
	errno = saved;
}

/* ---- made ------------------------------------------------------------------------------------ */

#define REACH (1l << 30) /* of a jump it is twice that */
#define STRIDE (1l << 20)

static bool is_near(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) < REACH + STRIDE;
}

/* Executable, and not to be written: it is written from outside. */
static uint64_t map_near(uint64_t at)
{
	for (long d = STRIDE; d < REACH; d += STRIDE)
		for (int up = 0; up < 2; up++) {
			long hint = (long)(at & ~4095ull) + (up ? d : -d);
			long got = hint <= STRIDE ? -1
						  : rama_cap_sys6(SYS_mmap, hint, RAMA_PROBE_ROOM,
								  PROT_READ | PROT_EXEC,
								  MAP_PRIVATE | MAP_ANONYMOUS |
									  MAP_FIXED_NOREPLACE,
								  -1, 0);

			if (got > 0 && is_near((uint64_t)got, at))
				return (uint64_t)got;
			if (got > 0) /* a kernel that does not know the flag */
				rama_cap_sys3(SYS_munmap, got, RAMA_PROBE_ROOM, 0);
		}
	return 0;
}

/* Where the probe of this function is, made if there is none yet; RAMA_PROBE_...: why not. Called
 * by who attached us, in a thread that it has borrowed. */
RAMA_CAP_EXPORT uint64_t iorama_probe(const struct rama_probe_ask *ask)
{
	unsigned i = 0;

	if (!rama_cap_attached)
		return RAMA_PROBE_NOT_HERE;
	while (i < RAMA_PROBES && table[i].room && table[i].ask.at != ask->at)
		i++;
	if (i == RAMA_PROBES)
		return RAMA_PROBE_MANY;
	if (!table[i].room) {
		uint64_t room = map_near(ask->at);

		if (!room)
			return RAMA_PROBE_NO_ROOM;
		table[i].stub = (uint64_t)(uintptr_t)rama_cap_probe_stub;
		table[i].index = i;
		table[i].room = room;
	}
	table[i].ask = *ask;
	table[i].ask.name[RAMA_PROBE_NAME - 1] = '\0';
	rama_cap_run.id->flags |= RAMA_SEG_FILE_SERVER;
	return (uint64_t)(uintptr_t)&table[i];
}
#else
RAMA_CAP_EXPORT struct rama_probe iorama_probes[RAMA_PROBES];
RAMA_CAP_EXPORT uint64_t iorama_probe(const struct rama_probe_ask *ask)
{
	(void)ask;
	return RAMA_PROBE_NOT_HERE;
}
#endif
#endif
