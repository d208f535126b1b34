/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "config/sandbox.h"

#include <linux/seccomp.h>
#include <stddef.h>

#define ARCH 0xc000003eu
enum { CALL = 9, OTHER = 10 };

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define JUMP(op, k, t, f) BPF_JUMP(BPF_JMP | (op) | BPF_K, k, t, f)
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_##action)
#define SPARES(...)                                                                      \
	rama_config_sandbox_spares((const struct sock_filter[]){ __VA_ARGS__ },          \
				   sizeof((const struct sock_filter[]){ __VA_ARGS__ }) / \
					   sizeof(struct sock_filter),                   \
				   ARCH, CALL)

static void what_a_filter_returns_decides(void **state)
{
	(void)state;
	assert_true(SPARES(RETURN(ALLOW)));
	assert_true(SPARES(RETURN(LOG)));
	assert_true(SPARES(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 13)));
	assert_false(SPARES(RETURN(KILL_PROCESS)));
	assert_false(SPARES(RETURN(KILL_THREAD)));
	assert_false(SPARES(RETURN(TRAP)));
	assert_false(SPARES(RETURN(TRACE)));
	assert_false(SPARES(RETURN(USER_NOTIF)));
	assert_false(SPARES(LOAD(nr))); /* no end */
	assert_false(rama_config_sandbox_spares(NULL, 0, ARCH, CALL));
}

static void the_number_and_the_processor_are_known(void **state)
{
	(void)state;
	assert_true(SPARES(LOAD(nr), JUMP(BPF_JEQ, CALL, 1, 0), RETURN(KILL), RETURN(ALLOW)));
	assert_false(SPARES(LOAD(nr), JUMP(BPF_JEQ, OTHER, 1, 0), RETURN(KILL), RETURN(ALLOW)));
	assert_true(SPARES(LOAD(nr), JUMP(BPF_JGT, CALL - 1, 1, 0), RETURN(KILL), RETURN(ALLOW)));
	assert_false(SPARES(LOAD(nr), JUMP(BPF_JGT, CALL, 1, 0), RETURN(KILL), RETURN(ALLOW)));
	assert_true(SPARES(LOAD(nr), JUMP(BPF_JGE, CALL, 1, 0), RETURN(KILL), RETURN(ALLOW)));
	assert_true(SPARES(LOAD(nr), JUMP(BPF_JSET, 1, 1, 0), RETURN(KILL), RETURN(ALLOW)));
	assert_false(SPARES(LOAD(nr), JUMP(BPF_JSET, 2, 1, 0), RETURN(KILL), RETURN(ALLOW)));
	assert_true(SPARES(LOAD(arch), JUMP(BPF_JEQ, ARCH, 1, 0), RETURN(KILL), RETURN(ALLOW)));
	assert_true(SPARES(JUMP(BPF_JA, 1, 0, 0), RETURN(KILL), RETURN(ALLOW)));
}

static void arguments_may_be_anything(void **state)
{
	(void)state;
	assert_false(SPARES(LOAD(args[2]), JUMP(BPF_JEQ, 7, 0, 1), RETURN(KILL), RETURN(ALLOW)));
	assert_false(SPARES(LOAD(args[2]), JUMP(BPF_JEQ, 7, 1, 0), RETURN(KILL), RETURN(ALLOW)));
	assert_false(SPARES(LOAD(instruction_pointer), JUMP(BPF_JEQ, 7, 1, 0), RETURN(TRAP),
			    RETURN(ALLOW)));
	assert_true(SPARES(LOAD(args[2]), JUMP(BPF_JEQ, 7, 0, 1), RETURN(ERRNO), RETURN(ALLOW)));
	/* what is returned depends on one */
	assert_false(SPARES(LOAD(args[0]), BPF_STMT(BPF_RET | BPF_A, 0)));
	/* a way by way of memory and the other register */
	assert_false(SPARES(LOAD(args[1]), BPF_STMT(BPF_ST, 3), BPF_STMT(BPF_LD | BPF_IMM, 0),
			    BPF_STMT(BPF_LDX | BPF_MEM, 3),
			    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 1, 0), RETURN(KILL),
			    RETURN(ALLOW)));
}

static void arithmetic_is_done(void **state)
{
	(void)state;
	assert_true(SPARES(LOAD(nr), BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 1),
			   JUMP(BPF_JEQ, CALL + 1, 1, 0), RETURN(KILL), RETURN(ALLOW)));
	assert_true(SPARES(LOAD(nr), BPF_STMT(BPF_MISC | BPF_TAX, 0),
			   BPF_STMT(BPF_ALU | BPF_SUB | BPF_X, 0), JUMP(BPF_JEQ, 0, 1, 0),
			   RETURN(KILL), RETURN(ALLOW)));
	assert_false(SPARES(LOAD(nr), BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0),
			    JUMP(BPF_JEQ, 0, 1, 0), RETURN(KILL), RETURN(ALLOW)));
	assert_true(SPARES(BPF_STMT(BPF_LD | BPF_IMM, SECCOMP_RET_ALLOW),
			   BPF_STMT(BPF_RET | BPF_A, 0)));
}

/* a filter may be made to have very many ways */
static void what_takes_too_long_is_not_told(void **state)
{
	static struct sock_filter f[4096];

	(void)state;
	for (unsigned i = 0; i < 4095; i++)
		f[i] = i % 2 ? (struct sock_filter)JUMP(BPF_JEQ, i, 0, 1)
			     : (struct sock_filter)LOAD(args[0]);
	f[4095] = (struct sock_filter)RETURN(ALLOW);
	assert_false(rama_config_sandbox_spares(f, 4096, ARCH, CALL));
}

UNIT_GROUP(sandbox, test(what_a_filter_returns_decides),
	   test(the_number_and_the_processor_are_known), test(arguments_may_be_anything),
	   test(arithmetic_is_done), test(what_takes_too_long_is_not_told))
