/* SPDX-License-Identifier: BSD-3-Clause */
/* unwind.c: frames of made tables, byte by byte; and of this very program, as others see them. */
#include "base/code/unwind.h"

#include <execinfo.h>
#include <link.h>

#include "unit.h"

/* ---- made tables ----------------------------------------------------------------------------- */

enum {
	TABLES = 0x10000,
	CIE = 0x10100,
	FDE = 0x10200,
	CODE = 0x20000,
	STACK = 0x30000,
	SIZE = 0x1000
};

static unsigned char tables[0x400];
static uint64_t stack[SIZE / 8];
static struct rama_unwind u;
static unsigned n_reads;

static bool peek(void *ctx, uint64_t at, void *to, size_t n)
{
	(void)ctx;
	n_reads++;
	if (at >= TABLES && n <= sizeof(tables) && at - TABLES <= sizeof(tables) - n)
		memcpy(to, tables + (at - TABLES), n);
	else if (at >= STACK && n <= SIZE && at - STACK <= SIZE - n)
		memcpy(to, (unsigned char *)stack + (at - STACK), n);
	else
		return false;
	return true;
}

static void put(uint64_t at, const void *bytes, size_t n)
{
	memcpy(tables + (at - TABLES), bytes, n);
}

static void put_4(uint64_t at, int64_t v)
{
	int32_t narrow = (int32_t)v;

	put(at, &narrow, 4);
}

/* one function of 0x100 bytes at CODE, of which this is known; common: of the CIE */
static void make(const void *common, size_t n_common, const void *own, size_t n_own,
		 const char *letters)
{
	static const unsigned char head[] = { 1, 0x1b, 3, 0x3b };
	unsigned char cie[] = { 1 };
	uint64_t at = CIE + 8;

	memset(tables, 0, sizeof(tables));
	put(TABLES, head, sizeof(head));
	put_4(TABLES + 8, 1);
	put_4(TABLES + 12, CODE - TABLES);
	put_4(TABLES + 16, FDE - TABLES);
	put(at, cie, 1);
	put(at + 1, letters, strlen(letters) + 1);
	at += 2 + strlen(letters);
	/* units of 1 and -8; return addresses are register 16; one byte follows: 0x1b */
	put(at, "\x01\x78\x10\x01\x1b", 5);
	at += 5;
	put(at, common, n_common);
	put_4(CIE, (int64_t)(at + n_common - CIE - 4));
	put_4(FDE, (int64_t)(4 + 8 + 1 + n_own));
	put_4(FDE + 4, FDE + 4 - CIE);
	put_4(FDE + 8, CODE - (FDE + 8));
	put_4(FDE + 12, 0x100);
	put(FDE + 16, "\0", 1);
	put(FDE + 17, own, n_own);
}
#define MAKE(common, own) make(common, sizeof(common) - 1, own, sizeof(own) - 1, "zR")

/* the frame begins 8 above the stack pointer, the return address stands there */
#define COMMON "\x0c\x07\x08\x90\x01"

static int fresh(void **state)
{
	(void)state;
	memset(stack, 0, sizeof(stack));
	for (unsigned i = 0; i < LENGTH(stack); i++)
		stack[i] = 0x1000 + i;
	u = (struct rama_unwind){ .read = peek };
	u.reg[RAMA_UNWIND_PC] = CODE + 0x20;
	u.reg[RAMA_UNWIND_RSP] = STACK + 0x100;
	u.reg[RAMA_UNWIND_RBP] = STACK + 0x200;
	u.reg[3] = 33;
	u.known = 1u << RAMA_UNWIND_PC | 1u << RAMA_UNWIND_RSP | 1u << RAMA_UNWIND_RBP | 1u << 3;
	return 0;
}

static void up(uint64_t pc, uint64_t sp)
{
	assert_true(rama_unwind_up(&u, TABLES));
	assert_int_equal(u.reg[RAMA_UNWIND_PC], pc);
	assert_int_equal(u.reg[RAMA_UNWIND_RSP], sp);
}

static uint64_t word_at(uint64_t at)
{
	return stack[(at - STACK) / 8];
}

static void no_more_than_a_call(void **state)
{
	(void)state;
	MAKE(COMMON, "");
	up(word_at(STACK + 0x100), STACK + 0x108);
	assert_int_equal(u.reg[3], 33);
	assert_int_equal(u.reg[RAMA_UNWIND_RBP], STACK + 0x200);
}

static void pushes_up_to_where_it_is(void **state)
{
	(void)state;
	/* at +1: rbp pushed; at +0x10: 0x40 more; at +0x20: it has all gone */
	MAKE(COMMON, "\x41\x0e\x10\x86\x02\x4f\x0e\x50\x50\x0e\x08\xc6");
	u.reg[RAMA_UNWIND_PC] = CODE + 0x20; /* a return address: the call was before */
	up(word_at(STACK + 0x148), STACK + 0x150);
	assert_int_equal(u.reg[RAMA_UNWIND_RBP], word_at(STACK + 0x140));
	fresh(state);
	u.reg[RAMA_UNWIND_PC] = CODE + 0x21;
	up(word_at(STACK + 0x100), STACK + 0x108);
	assert_int_equal(u.reg[RAMA_UNWIND_RBP], STACK + 0x200);
	fresh(state);
	u.reg[RAMA_UNWIND_PC] = CODE + 1;
	up(word_at(STACK + 0x100), STACK + 0x108);
	fresh(state);
	u.exact = true;
	u.reg[RAMA_UNWIND_PC] = CODE + 1;
	up(word_at(STACK + 0x108), STACK + 0x110);
	fresh(state);
	/* the return address is said to be elsewhere, then where it always is */
	MAKE(COMMON, "\x90\x05\x50\xd0");
	up(word_at(STACK + 0x100), STACK + 0x108);
	fresh(state);
	u.reg[RAMA_UNWIND_PC] = CODE + 2;
	up(word_at(STACK + 0xe0), STACK + 0x108);
}

static void by_the_frame_pointer(void **state)
{
	(void)state;
	/* rbp + 16; rbp saved below; rbx below that; set aside, changed, and back */
	MAKE(COMMON, "\x0c\x06\x10\x86\x02\x83\x03\x0a\x0e\x70\x08\x03\x0b");
	up(word_at(STACK + 0x208), STACK + 0x210);
	assert_int_equal(u.reg[RAMA_UNWIND_RBP], word_at(STACK + 0x200));
	assert_int_equal(u.reg[3], word_at(STACK + 0x1f8));
	fresh(state);
	u.known &= ~(1u << RAMA_UNWIND_RBP);
	assert_false(rama_unwind_up(&u, TABLES));
}

static void expressions_of_two_forms(void **state)
{
	(void)state;
	/* the frame begins where the word at rbp - 8 says; rbp stands at rbp + 0 */
	MAKE(COMMON, "\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00");
	stack[(0x200 - 8) / 8] = STACK + 0x300;
	up(word_at(STACK + 0x2f8), STACK + 0x300);
	assert_int_equal(u.reg[RAMA_UNWIND_RBP], word_at(STACK + 0x200));
	fresh(state);
	/* that of stubs that bind functions */
	MAKE(COMMON, "\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22");
	assert_false(rama_unwind_up(&u, TABLES));
}

static void the_first_frame_ends_it(void **state)
{
	(void)state;
	MAKE(COMMON, "\x07\x10"); /* nobody called it */
	assert_false(rama_unwind_up(&u, TABLES));
	fresh(state);
	MAKE(COMMON, "");
	stack[0x100 / 8] = 0;
	assert_false(rama_unwind_up(&u, TABLES));
}

static void stacks_only_grow(void **state)
{
	(void)state;
	MAKE(COMMON, "\x0c\x06\x10"); /* rbp + 16 */
	u.reg[RAMA_UNWIND_RBP] = STACK + 0x80;
	assert_false(rama_unwind_up(&u, TABLES));
	fresh(state);
	u.reg[RAMA_UNWIND_RBP] = STACK + 0x104;
	assert_false(rama_unwind_up(&u, TABLES)); /* frames do not begin there */
	fresh(state);
	u.reg[RAMA_UNWIND_RBP] = STACK + 0x2000000;
	assert_false(rama_unwind_up(&u, TABLES));
}

static void signals_interrupt_anywhere(void **state)
{
	(void)state;
	make(COMMON, sizeof(COMMON) - 1, "\x0e\x10", 2, "zRS");
	put_4(FDE + 8, CODE - 1 - (FDE + 8)); /* as C libraries do it */
	put_4(TABLES + 12, CODE - 1 - TABLES);
	u.reg[RAMA_UNWIND_PC] = CODE;
	up(word_at(STACK + 0x108), STACK + 0x110);
	assert_true(u.exact);
}

static void other_functions_are_not_known(void **state)
{
	(void)state;
	MAKE(COMMON, "");
	u.reg[RAMA_UNWIND_PC] = CODE; /* the call was before it */
	assert_false(rama_unwind_up(&u, TABLES));
	fresh(state);
	u.reg[RAMA_UNWIND_PC] = CODE + 0x101;
	assert_false(rama_unwind_up(&u, TABLES));
	fresh(state);
	u.reg[RAMA_UNWIND_PC] = CODE + 0x100;
	assert_true(rama_unwind_up(&u, TABLES));
	fresh(state);
	assert_false(rama_unwind_up(&u, TABLES + SIZE)); /* there are no tables */
}

/* whatever one byte is, and wherever they end: an answer, after few reads */
static void damage_is_no_harm(void **state)
{
	static const unsigned char odd[] = { 0, 1, 0x7f, 0x80, 0xff };
	unsigned char whole[sizeof(tables)];

	MAKE(COMMON, "\x41\x0e\x10\x86\x02\x4f\x0e\x50\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00");
	memcpy(whole, tables, sizeof(whole));
	for (size_t i = 0; i < sizeof(whole); i++) {
		for (size_t k = 0; k < LENGTH(odd); k++) {
			memcpy(tables, whole, sizeof(whole));
			tables[i] = odd[k];
			fresh(state);
			n_reads = 0;
			if (rama_unwind_up(&u, TABLES))
				assert_true(u.reg[RAMA_UNWIND_RSP] > STACK + 0x100);
			assert_true(n_reads < 3000);
		}
	}
}

/* ---- this program ---------------------------------------------------------------------------- */

#if defined(__x86_64__)
static bool own(void *ctx, uint64_t at, void *to, size_t n)
{
	(void)ctx;
	memcpy(to, (const void *)(uintptr_t)at, n);
	return true;
}

struct find {
	uint64_t pc, tables;
};

static int see(struct dl_phdr_info *i, size_t size, void *ctx)
{
	struct find *f = ctx;
	uint64_t at = 0;
	bool here = false;

	(void)size;
	for (unsigned k = 0; k < i->dlpi_phnum; k++) {
		const ElfW(Phdr) *p = &i->dlpi_phdr[k];

		here = here ||
		       (p->p_type == PT_LOAD && f->pc - (i->dlpi_addr + p->p_vaddr) < p->p_memsz);
		if (p->p_type == PT_GNU_EH_FRAME)
			at = i->dlpi_addr + p->p_vaddr;
	}
	f->tables = here ? at : f->tables;
	return 0;
}

static __attribute__((noinline)) int compare(void)
{
	struct rama_unwind r = { .read = own, .exact = true };
	void *others[32];
	int n = backtrace(others, LENGTH(others)), k = 1;

	__asm__ volatile("leaq 1f(%%rip), %%rax\n1:\tmovq %%rax, 128(%0)\n\t"
			 "movq %%rbx, 24(%0)\n\tmovq %%rbp, 48(%0)\n\tmovq %%rsp, 56(%0)\n\t"
			 "movq %%r12, 96(%0)\n\tmovq %%r13, 104(%0)\n\t"
			 "movq %%r14, 112(%0)\n\tmovq %%r15, 120(%0)"
			 :
			 : "r"(r.reg)
			 : "rax", "memory");
	r.known = 1u << 3 | 1u << 6 | 1u << 7 | 0xfu << 12 | 1u << 16;
	for (; k < n; k++) {
		struct find f = { .pc = r.reg[RAMA_UNWIND_PC] };

		dl_iterate_phdr(see, &f);
		if (f.tables == 0 || !rama_unwind_up(&r, f.tables))
			break;
		assert_true(r.reg[RAMA_UNWIND_PC] == (uintptr_t)others[k]);
	}
	assert_true(n >= 4 && k >= n - 1); /* the first of all may be told or not */
	return k;
}

static __attribute__((noinline)) int deep(int n)
{
	volatile char room[100];

	room[0] = (char)n;
	return n > 0 ? deep(n - 1) + room[0] : compare();
}

static void as_others_see_this_program(void **state)
{
	(void)state;
	assert_true(deep(0) > 2);
	assert_true(deep(7) > 9);
}
#else
static void as_others_see_this_program(void **state)
{
	(void)state;
	skip();
}
#endif

#define t(name) cmocka_unit_test_setup(name, fresh)

UNIT_GROUP(unwind, t(no_more_than_a_call), t(pushes_up_to_where_it_is), t(by_the_frame_pointer),
	   t(expressions_of_two_forms), t(the_first_frame_ends_it), t(stacks_only_grow),
	   t(signals_interrupt_anywhere), t(other_functions_are_not_known), t(damage_is_no_harm),
	   t(as_others_see_this_program))
