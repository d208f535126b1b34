/* SPDX-License-Identifier: BSD-3-Clause */
/* move.c: beginnings of functions run somewhere else and do the same; others are refused. */
#include "unit.h"

#include <sys/mman.h>

#include "attach/move.h"

#if defined(__x86_64__)
/* name, instructions: each takes a long and returns one */
#define FUNCTION(name, text)                                      \
	__asm__(".text\n" #name ":\n" text "\n" #name "_end:\n"); \
	extern unsigned char name[], name##_end[];

__asm__(".data\nmove_seven: .quad 7\n.text\n");
FUNCTION(plain, "push %rbp; mov %rsp,%rbp; push %rbx; mov %rdi,%rax; pop %rbx; pop %rbp; ret")
FUNCTION(landing, "endbr64; lea 3(%rdi),%rax; ret")
FUNCTION(data, "mov move_seven(%rip),%rax; add %rdi,%rax; ret")
FUNCTION(data_and_number, "cmpl $7,move_seven(%rip); mov $1,%eax; je 1f; mov $2,%eax; 1: ret")
FUNCTION(address, "lea move_seven(%rip),%rax; mov (%rax),%rax; ret")
FUNCTION(short_if, "test %rdi,%rdi; je 1f; mov %rdi,%rax; nop; ret; 1: mov $99,%eax; ret")
FUNCTION(long_if, "test %rdi,%rdi; {disp32} je 1f; mov %rdi,%rax; ret; 1: mov $99,%eax; ret")
FUNCTION(short_jump, "nop; nop; nop; jmp 1f; ud2; 1: lea 5(%rdi),%rax; ret")
FUNCTION(long_jump, "{disp32} jmp 1f; ud2; 1: lea 6(%rdi),%rax; ret")
FUNCTION(tail, "{disp32} jmp plain")
FUNCTION(call_last, "sub $8,%rsp; call plain; add $8,%rsp; ret")
FUNCTION(call_first, "call plain; inc %rax; ret")
FUNCTION(recursive, "push %rbx; mov %rdi,%rbx; xor %eax,%eax; test %rdi,%rdi; je 1f; dec %rdi; "
		    "call recursive; add %rbx,%rax; 1: pop %rbx; ret")
FUNCTION(too_short, "mov %edi,%eax; ret")
FUNCTION(just_a_jump, "jmp *%rdi")
FUNCTION(to_itself, "dec %rdi; nop; nop; jg to_itself; mov $7,%eax; ret")
FUNCTION(into_itself, "dec %rdi; 1: nop; nop; jg 1b; mov $7,%eax; ret")
FUNCTION(count_down, "mov %rdi,%rcx; jrcxz 1f; nop; 1: ret")
FUNCTION(loops, "nop; loop 1f; nop; nop; nop; 1: ret")
FUNCTION(prefixed, ".byte 0x66; je 1f; nop; nop; 1: ret")
FUNCTION(call_inside, "nop; nop; call *%rdi; ret; nop; nop")
FUNCTION(breakpoint, "int3; nop; nop; nop; nop; ret")
FUNCTION(no_code, ".byte 0x06,0x06,0x06,0x06,0x06,0x06")

#define SIZE(f) ((size_t)(f##_end - (f)))

static unsigned char *room_near(const void *at, long far)
{
	for (long d = 1 << 20; d < 1l << 30; d += 1 << 20) {
		void *p = mmap((void *)((uintptr_t)at / 4096 * 4096 + (uintptr_t)(d + far)), 4096,
			       PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (p != MAP_FAILED)
			return p;
	}
	fail_msg("no memory");
	return NULL;
}

static void need_decoder(void)
{
	struct rama_attach_moved m;

	if (rama_attach_move(&m, plain, SIZE(plain), 0, 0) == RAMA_ATTACH_MOVE_NOT_HERE)
		skip();
}

/* the moved beginning, and from there on the function itself, which has another beginning now */
static long run_moved(const unsigned char *f, size_t n, long value)
{
	unsigned char *room = room_near(f, 0);
	struct rama_attach_moved m;
	enum rama_attach_move why = rama_attach_move(&m, f, n, (uintptr_t)f, (uintptr_t)room);
	long (*call)(long), got;

	if (why != RAMA_ATTACH_MOVE_DONE)
		fail_msg("%s (%zu bytes)", rama_attach_move_why(why), n);
	assert_true(m.taken >= 5 && m.taken <= n && m.n <= sizeof(m.code));
	assert_int_equal(m.step[0].from, 0);
	assert_int_equal(m.step[0].to, 0);
	memcpy(room, m.code, m.n);
	memcpy(&call, &room, sizeof(call));
	got = call(value);
	munmap(room, 4096);
	return got;
}

static void moved_functions_do_the_same(void **state)
{
	(void)state;
	need_decoder();
	assert_int_equal(run_moved(plain, SIZE(plain), 41), 41);
	assert_int_equal(run_moved(landing, SIZE(landing), 41), 44);
	assert_int_equal(run_moved(data, SIZE(data), 5), 12);
	assert_int_equal(run_moved(data_and_number, SIZE(data_and_number), 5), 1);
	assert_int_equal(run_moved(address, SIZE(address), 5), 7);
	assert_int_equal(run_moved(short_if, SIZE(short_if), 5), 5);
	assert_int_equal(run_moved(short_if, SIZE(short_if), 0), 99);
	assert_int_equal(run_moved(long_if, SIZE(long_if), 5), 5);
	assert_int_equal(run_moved(long_if, SIZE(long_if), 0), 99);
	assert_int_equal(run_moved(short_jump, SIZE(short_jump), 5), 10);
	assert_int_equal(run_moved(long_jump, SIZE(long_jump), 5), 11);
	assert_int_equal(run_moved(tail, SIZE(tail), 5), 5); /* as another's probe leaves it */
	assert_int_equal(run_moved(call_last, SIZE(call_last), 5), 5);
	assert_int_equal(run_moved(call_first, SIZE(call_first), 5), 6);
	assert_int_equal(run_moved(recursive, SIZE(recursive), 4), 10);
}

static void what_would_come_out_differently_is_refused(void **state)
{
	static const struct {
		const unsigned char *f, *end;
		enum rama_attach_move why;
	} list[] = { { too_short, too_short_end, RAMA_ATTACH_MOVE_SHORT },
		     { just_a_jump, just_a_jump_end, RAMA_ATTACH_MOVE_SHORT },
		     { to_itself, to_itself_end, RAMA_ATTACH_MOVE_INSIDE },
		     { into_itself, into_itself_end, RAMA_ATTACH_MOVE_INSIDE },
		     { count_down, count_down_end, RAMA_ATTACH_MOVE_LOOP },
		     { loops, loops_end, RAMA_ATTACH_MOVE_LOOP },
		     { prefixed, prefixed_end, RAMA_ATTACH_MOVE_LOOP },
		     { call_inside, call_inside_end, RAMA_ATTACH_MOVE_CALL },
		     { breakpoint, breakpoint_end, RAMA_ATTACH_MOVE_TRAP },
		     { no_code, no_code_end, RAMA_ATTACH_MOVE_UNKNOWN } };
	struct rama_attach_moved m;

	(void)state;
	need_decoder();
	for (size_t i = 0; i < LENGTH(list); i++) {
		uint64_t at = (uintptr_t)list[i].f;
		enum rama_attach_move why = rama_attach_move(
			&m, list[i].f, (size_t)(list[i].end - list[i].f), at, at + (1 << 20));

		if (why != list[i].why)
			fail_msg("%zu: %s, not: %s", i, rama_attach_move_why(why),
				 rama_attach_move_why(list[i].why));
	}
	assert_int_equal(rama_attach_move(&m, plain, 0, 0, 0), RAMA_ATTACH_MOVE_SHORT);
	assert_int_equal(rama_attach_move(&m, plain, 4, 0, 0), RAMA_ATTACH_MOVE_SHORT);
}

static void what_cannot_be_reached_is_refused(void **state)
{
	struct rama_attach_moved m;
	uint64_t far = 1ull << 40;

	(void)state;
	need_decoder();
	assert_int_equal(rama_attach_move(&m, data, SIZE(data), far, 4096), RAMA_ATTACH_MOVE_FAR);
	assert_int_equal(rama_attach_move(&m, short_if, SIZE(short_if), far, 4096),
			 RAMA_ATTACH_MOVE_FAR);
	assert_int_equal(rama_attach_move(&m, plain, SIZE(plain), far, 4096), RAMA_ATTACH_MOVE_FAR);
}

UNIT_GROUP(move, test(moved_functions_do_the_same),
	   test(what_would_come_out_differently_is_refused),
	   test(what_cannot_be_reached_is_refused))
#else
static void nothing(void **state)
{
	(void)state;
	skip();
}

UNIT_GROUP(move, test(nothing))
#endif
