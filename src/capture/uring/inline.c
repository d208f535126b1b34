/* SPDX-License-Identifier: BSD-3-Clause */
/* inline.c: programs that set up a ring by syscall(), but enter the kernel by an instruction of
 * their own (fio). The code that set it up is looked through for that: `mov $426, %eax`, some
 * moves of registers, `syscall`. Over the five bytes of the first there comes a jump to a few
 * instructions of ours near by, which do the same, and call us in between. Nobody is there at that
 * time: it is done before the setup of the first ring returns.
 *
 * A system call keeps all registers but three, vectors and flags as well, and does not touch what
 * lies below the stack pointer: so does the stub. x86-64 only. */
#include "capture/record.h"
#include "capture/uring/uring.h"

#if defined(__x86_64__) && !defined(RAMA_STATIC_WRAP)
#include <cpuid.h>
#include <link.h>

#include "base/code/enter.h"
#include "capture/attach.h"

enum { ROOM = 4096, SITES = ROOM / RAMA_ENTER_STUB, MODULES = 16, WINDOW = 1 << 20 };
#define REACH (1l << 30)
#define STRIDE (1l << 20)

/* what the stub has on its stack; offsets stand in its text */
struct frame {
	uint64_t rdi, rsi, rdx, r10, r8, r9; /* arguments of the call */
	uint64_t rax;			     /* its result */
};

void rama_cap_uring_enter(struct frame *f) __attribute__((visibility("hidden"), used));
void rama_cap_uring_stub(void) __attribute__((visibility("hidden")));
/* bytes for vectors; 0: the processor has the old ones only */
extern uint32_t rama_cap_uring_vectors __attribute__((visibility("hidden")));
uint32_t rama_cap_uring_vectors;

/* Called with the return address on the stack, below what the program may use there. */
/* clang-format off */
__asm__(".text\n"
	".p2align 4\n"
	".hidden rama_cap_uring_stub\n"
	".globl rama_cap_uring_stub\n"
	".type rama_cap_uring_stub, @function\n"
	"rama_cap_uring_stub:\n"
	"	pushfq\n"
	"	pushq %rbp\n"
	"	movq %rsp, %rbp\n"
	"	cld\n"
	"	pushq %rbx\n"
	"	pushq %rax\n"			/* -16: result */
	"	pushq %r9\n"
	"	pushq %r8\n"
	"	pushq %r10\n"
	"	pushq %rdx\n"
	"	pushq %rsi\n"
	"	pushq %rdi\n"			/* -64: struct frame */
	"	movq %rsp, %rbx\n"
	"	movl rama_cap_uring_vectors(%rip), %ecx\n"
	"	testl %ecx, %ecx\n"
	"	jz 1f\n"
	"	subq %rcx, %rsp\n"
	"	andq $-64, %rsp\n"
	"	xorl %eax, %eax\n"		/* the head of the area has to be zero */
	"	movq %rax, 512(%rsp)\n	movq %rax, 520(%rsp)\n	movq %rax, 528(%rsp)\n"
	"	movq %rax, 536(%rsp)\n	movq %rax, 544(%rsp)\n	movq %rax, 552(%rsp)\n"
	"	movq %rax, 560(%rsp)\n	movq %rax, 568(%rsp)\n"
	"	movl $0xe7, %eax\n"
	"	xorl %edx, %edx\n"
	"	xsave64 (%rsp)\n"
	"	movq %rbx, %rdi\n"
	"	call rama_cap_uring_enter\n"
	"	movl $0xe7, %eax\n"
	"	xorl %edx, %edx\n"
	"	xrstor64 (%rsp)\n"
	"	jmp 2f\n"
	"1:	subq $512, %rsp\n"
	"	andq $-64, %rsp\n"
	"	fxsave64 (%rsp)\n"
	"	movq %rbx, %rdi\n"
	"	call rama_cap_uring_enter\n"
	"	fxrstor64 (%rsp)\n"
	"2:	movq %rbx, %rsp\n"
	"	popq %rdi\n"
	"	popq %rsi\n"
	"	popq %rdx\n"
	"	popq %r10\n"
	"	popq %r8\n"
	"	popq %r9\n"
	"	popq %rax\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	popfq\n"
	"	ret\n"
	".size rama_cap_uring_stub, .-rama_cap_uring_stub\n");
/* clang-format on */

void rama_cap_uring_enter(struct frame *f)
{
	const long a[6] = { (long)f->rdi, (long)f->rsi, (long)f->rdx,
			    (long)f->r10, (long)f->r8,	(long)f->r9 };
	struct rama_cap_span sp;
	int saved = errno;

	if (rama_cap_off || !rama_cap_begin(&sp, RAMA_TAB_FN_io_uring_enter, -1)) {
		f->rax = (uint64_t)rama_sys_always(SYS_io_uring_enter, a[0], a[1], a[2], a[3], a[4],
						   a[5]);
	} else {
		const struct rama_cap_uring_call c =
			rama_cap_uring_begin(&sp, SYS_io_uring_enter, a);
		f->rax = (uint64_t)rama_sys_always(SYS_io_uring_enter, a[0], a[1], a[2], a[3], a[4],
						   a[5]);
		rama_cap_idle(&sp);
		rama_cap_uring_end(&c, (long)f->rax, NULL);
	}
	errno = saved;
}

/* ---- putting it there ------------------------------------------------------------------------ */

static struct {
	uint32_t lock;
	uintptr_t module[MODULES]; /* where they begin: they were looked through */
	unsigned modules;
} all;

struct search {
	uintptr_t caller;
	uintptr_t base, from, to; /* of the module; of the part that is executed */
};

static int find_module(struct dl_phdr_info *info, size_t size, void *to)
{
	struct search *s = to;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && p->p_flags & PF_X && s->caller >= at &&
		    s->caller - at < p->p_memsz) {
			s->base = info->dlpi_addr;
			s->from = at;
			s->to = at + p->p_memsz;
			return 1;
		}
	}
	return 0;
}

static unsigned char *map_near(uintptr_t at)
{
	for (long d = STRIDE; d < REACH; d += STRIDE)
		for (int up = 0; up < 2; up++) {
			long hint = (long)(at & ~4095ul) + (up ? d : -d);
			long got = hint <= STRIDE ? -1
						  : rama_cap_sys6(SYS_mmap, hint, ROOM,
								  PROT_READ | PROT_WRITE,
								  MAP_PRIVATE | MAP_ANONYMOUS |
									  MAP_FIXED_NOREPLACE,
								  -1, 0);

			if (got == hint)
				return (unsigned char *)got;
			if (got > 0) /* a kernel that does not know the flag */
				rama_cap_sys3(SYS_munmap, got, ROOM, 0);
		}
	return NULL;
}

/* How the vectors are kept: as much as the processor has of what our code, or the C library for
 * it, may use. */
static void measure_vectors(void)
{
	unsigned a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) ||
	    !__get_cpuid_count(13, 0, &a, &b, &c, &d))
		return;
	/* b: bytes of all that the system has switched on; what we keep ends at 2688 */
	rama_cap_uring_vectors = b < 2688 ? (b + 63) & ~63u : 2688;
}

/* The first byte last: nobody is there, but who came all the same finds an instruction. */
static void put_jump(const struct rama_enter_site *site, const unsigned char *stub)
{
	unsigned char *at = (unsigned char *)(uintptr_t)site->at;
	uintptr_t page = (uintptr_t)at & ~4095ul;
	size_t n = (((uintptr_t)at + RAMA_ENTER_JUMP + 4095) & ~4095ul) - page;
	int32_t away = (int32_t)(stub - (at + RAMA_ENTER_JUMP));

	if (rama_cap_sys3(SYS_mprotect, page, n, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		return;
	memcpy(at + 1, &away, sizeof(away));
	__atomic_store_n(at, 0xe9, __ATOMIC_SEQ_CST);
	rama_cap_sys3(SYS_mprotect, page, n, PROT_READ | PROT_EXEC);
}

static void change(const struct rama_enter_site *site, unsigned n)
{
	unsigned char *room = map_near((uintptr_t)site[0].at);

	if (!room)
		return;
	for (unsigned i = 0; i < n; i++) {
		unsigned char *stub = room + (size_t)i * RAMA_ENTER_STUB;

		if (!rama_enter_stub(&site[i], (uint64_t)(uintptr_t)stub,
				     (uint64_t)(uintptr_t)rama_cap_uring_stub, stub))
			return;
	}
	if (rama_cap_sys3(SYS_mprotect, room, ROOM, PROT_READ | PROT_EXEC) != 0)
		return;
	for (unsigned i = 0; i < n; i++)
		put_jump(&site[i], room + (size_t)i * RAMA_ENTER_STUB);
}

static bool is_wanted(void)
{
	const char *no = rama_cap_variable("IORAMA_PROBE");

	return !rama_cap_attached && !(no && no[0] == '0');
}

/* What belongs together lies together: of large programs a part is looked through. */
static void look_through(const struct search *s)
{
	static struct rama_enter_site site[SITES];
	uintptr_t from = s->caller - s->from > WINDOW ? s->caller - WINDOW : s->from;
	uintptr_t to = s->to - s->caller > WINDOW ? s->caller + WINDOW : s->to;
	unsigned n = rama_enter_find((const unsigned char *)from, to - from, from,
				     SYS_io_uring_enter, site, SITES);

	if (n > 0)
		change(site, n);
}

void rama_cap_uring_inline(const void *caller)
{
	struct search s = { .caller = (uintptr_t)caller };
	struct rama_cap_visit v;

	if (!is_wanted() || !dl_iterate_phdr(find_module, &s) || !rama_cap_enter(&v))
		return;
	if (rama_cap_lock(v.t, &all.lock)) {
		unsigned i = 0;

		while (i < all.modules && all.module[i] != s.base)
			i++;
		if (i == all.modules && i < MODULES) {
			all.module[all.modules++] = s.base;
			if (!rama_cap_uring_vectors)
				measure_vectors();
			look_through(&s);
		}
		rama_cap_unlock(v.t, &all.lock);
	}
	rama_cap_leave(&v);
}
#elif !defined(RAMA_STATIC_WRAP)
void rama_cap_uring_inline(const void *caller)
{
	(void)caller;
}
#endif
