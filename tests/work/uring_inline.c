/* SPDX-License-Identifier: BSD-3-Clause */
/* uring_inline.c: io_uring by hand. The ring is set up by syscall(), the kernel entered by an
 * instruction of this program, as fio does. Around it every register, the flags and what lies below
 * the stack pointer have to stay as they are. "twice": with a second way in, where registers are
 * loaded between the number and the instruction. */
#include "truth.h"

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
enum { N = 300, ENTRIES = 8, LEN = 4096 };

static struct {
	unsigned *head, *tail, *array, *cq_head, *cq_tail;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
	unsigned mask, cq_mask;
	int fd;
} ring;

/* offsets stand in the text below */
static struct regs {
	uint64_t arg[6];	/* 0: rdi rsi rdx r10 r8 r9 */
	uint64_t kept[6];	/* 48: rbx rbp r12 r13 r14 r15 */
	uint64_t vector[16][4]; /* 96 */
	uint64_t below[16];	/* 608: 128 bytes below the stack pointer */
	uint64_t result;	/* 736 */
	uint64_t carry;		/* 744 */
} before, after;

uint64_t enter_all(const struct regs *from, struct regs *to);
__asm__(".text\n"
	".globl enter_all\n"
	".type enter_all, @function\n"
	"enter_all:\n"
	"	pushq %rbx\n	pushq %rbp\n	pushq %r12\n"
	"	pushq %r13\n	pushq %r14\n	pushq %r15\n"
	"	pushq %rsi\n" /* where to */
	"	movq %rdi, %rax\n"
	"	.set i, 0\n"
	"	.rept 16\n"
	"	movq (608 + 8 * i)(%rax), %rcx\n"
	"	movq %rcx, (-128 + 8 * i)(%rsp)\n"
	"	.set i, i + 1\n"
	"	.endr\n"
	"	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
	"	vmovdqu (96 + 32 * \\n)(%rax), %ymm\\n\n"
	"	.endr\n"
	"	movq 48(%rax), %rbx\n	movq 56(%rax), %rbp\n	movq 64(%rax), %r12\n"
	"	movq 72(%rax), %r13\n	movq 80(%rax), %r14\n	movq 88(%rax), %r15\n"
	"	movq 8(%rax), %rsi\n	movq 16(%rax), %rdx\n	movq 24(%rax), %r10\n"
	"	movq 32(%rax), %r8\n	movq 40(%rax), %r9\n	movq 0(%rax), %rdi\n"
	"	stc\n"
	"	movl $426, %eax\n"
	"	syscall\n"
	"	movq (%rsp), %rcx\n"
	"	setc 744(%rcx)\n"
	"	movq %rax, 736(%rcx)\n"
	"	movq %rdi, 0(%rcx)\n	movq %rsi, 8(%rcx)\n	movq %rdx, 16(%rcx)\n"
	"	movq %r10, 24(%rcx)\n	movq %r8, 32(%rcx)\n	movq %r9, 40(%rcx)\n"
	"	movq %rbx, 48(%rcx)\n	movq %rbp, 56(%rcx)\n	movq %r12, 64(%rcx)\n"
	"	movq %r13, 72(%rcx)\n	movq %r14, 80(%rcx)\n	movq %r15, 88(%rcx)\n"
	"	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
	"	vmovdqu %ymm\\n, (96 + 32 * \\n)(%rcx)\n"
	"	.endr\n"
	"	.set i, 0\n"
	"	.rept 16\n"
	"	movq (-128 + 8 * i)(%rsp), %rdx\n"
	"	movq %rdx, (608 + 8 * i)(%rcx)\n"
	"	.set i, i + 1\n"
	"	.endr\n"
	"	vzeroupper\n"
	"	popq %rsi\n"
	"	popq %r15\n	popq %r14\n	popq %r13\n"
	"	popq %r12\n	popq %rbp\n	popq %rbx\n"
	"	ret\n"
	".size enter_all, . - enter_all\n"
	/* arguments are loaded between the two instructions, and from the stack */
	".globl enter_late\n"
	".type enter_late, @function\n"
	"enter_late:\n"
	"	movq %rdi, -8(%rsp)\n"
	"	movl $426, %eax\n"
	"	movq 24(%rdi), %r10\n"
	"	movq 8(%rdi), %rsi\n"
	"	movq 0x10(%rdi), %rdx\n"
	"	xorl %r9d, %r9d\n"
	"	xorl %r8d, %r8d\n"
	"	movq -8(%rsp), %rdi\n"
	"	movl (%rdi), %edi\n"
	"	syscall\n"
	"	ret\n"
	".size enter_late, . - enter_late\n");
long enter_late(const struct regs *from);

static long enter(unsigned n, bool late)
{
	for (size_t i = 0; i < sizeof before / 8; i++)
		((uint64_t *)&before)[i] = 0x9e3779b97f4a7c15ull * (i + n + 3);
	memset(&after, 0, sizeof after);
	before.arg[0] = (uint64_t)ring.fd;
	before.arg[1] = before.arg[2] = n;
	before.arg[3] = IORING_ENTER_GETEVENTS;
	before.arg[4] = before.arg[5] = 0;
	before.carry = 1;
	if (late)
		return enter_late(&before);
	enter_all(&before, &after);
	before.result = after.result;
	MUST(memcmp(&before, &after, sizeof before) == 0);
	return (long)after.result;
}

static void *at(void *p, unsigned off)
{
	return (char *)p + off;
}

static bool setup(void)
{
	struct io_uring_params p = { 0 };

	ring.fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &p);
	if (ring.fd < 0)
		return false;
	void *sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_POPULATE, ring.fd, IORING_OFF_SQ_RING);
	void *cq =
		mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof *ring.cqes, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_POPULATE, ring.fd, IORING_OFF_CQ_RING);
	ring.sqes = mmap(NULL, p.sq_entries * sizeof *ring.sqes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_POPULATE, ring.fd, IORING_OFF_SQES);
	MUST(sq != MAP_FAILED && cq != MAP_FAILED && ring.sqes != MAP_FAILED);
	ring.head = at(sq, p.sq_off.head);
	ring.tail = at(sq, p.sq_off.tail);
	ring.array = at(sq, p.sq_off.array);
	ring.cq_head = at(cq, p.cq_off.head);
	ring.cq_tail = at(cq, p.cq_off.tail);
	ring.cqes = at(cq, p.cq_off.cqes);
	ring.mask = p.sq_entries - 1;
	ring.cq_mask = p.cq_entries - 1;
	return true;
}

int main(int argc, char **argv)
{
	static char buf[ENTRIES][LEN] __attribute__((aligned(64)));
	bool late = argc > 1 && !strcmp(argv[1], "twice");
	int fd = t_open("inline", O_RDWR | O_CREAT | O_TRUNC, 0644);

	if (!__builtin_cpu_supports("avx") || !setup())
		return 77;
	for (unsigned i = 0; i < N; i++)
		MUST(t_pwrite(fd, buf[0], LEN, (off_t)i * LEN) == LEN);
	for (unsigned i = 0; i < N;) {
		unsigned n = 1 + i % ENTRIES, first = i;

		for (unsigned k = 0; k < n; k++, i++) {
			unsigned slot = (ENTRIES - 1 - k), tail = *ring.tail;

			ring.sqes[slot] = (struct io_uring_sqe){ .opcode = IORING_OP_READ,
								 .fd = fd,
								 .addr = (uintptr_t)buf[k],
								 .len = LEN,
								 .off = (uint64_t)(i % N) * LEN,
								 .user_data = i % N };
			ring.array[tail & ring.mask] = slot;
			__atomic_store_n(ring.tail, tail + 1, __ATOMIC_RELEASE);
		}
		MUST(enter(n, late && first % 2) == (long)n);
		for (unsigned k = 0; k < n; k++) {
			unsigned head = *ring.cq_head;

			MUST(head != __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE));
			struct io_uring_cqe *c = &ring.cqes[head & ring.cq_mask];
			m_rw(fd, 'r', (off_t)c->user_data * LEN, c->res, buf[0], T_AIO);
			__atomic_store_n(ring.cq_head, head + 1, __ATOMIC_RELEASE);
		}
	}
	close(ring.fd);
	t_any_order("inline");
	t_close(fd);
	t_done();
	return 0;
}
#else
int main(void)
{
	return 77;
}
#endif
