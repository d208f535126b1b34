/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_process.c: calls that end, replace or unwind what we watch. */
#include <alloca.h>

#include "capture/runtime.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* ---- the end ----------------------------------------------------------------------------------------------- */

static _Noreturn void leave(int status)
{
	rama_end_process();
	for (;;)
		rama_sys3(SYS_exit_group, status, 0, 0);
}

RAMA_EXPORT void RAMA_SYM(_exit)(int status)
{
	leave(status);
}

RAMA_EXPORT void RAMA_SYM(_Exit)(int status)
{
	leave(status);
}

/* ---- another program takes our place: success does not return ------------------------------------------------ */

#define EXEC_BODY(name, ...)                  \
	rama_replace_process();               \
	int r = RAMA_REAL(name)(__VA_ARGS__); \
	int saved = errno;                    \
	rama_replace_failed();                \
	errno = saved;                        \
	return r;

RAMA_EXPORT int RAMA_SYM(execve)(const char *path, char *const *argv,
				 char *const *envp){ EXEC_BODY(execve, path, argv, envp) }

RAMA_EXPORT int RAMA_SYM(execv)(const char *path, char *const *argv){ EXEC_BODY(execv, path, argv) }

RAMA_EXPORT
	int RAMA_SYM(execvp)(const char *file, char *const *argv){ EXEC_BODY(execvp, file, argv) }

RAMA_EXPORT int RAMA_SYM(execvpe)(const char *file, char *const *argv,
				  char *const *envp){ EXEC_BODY(execvpe, file, argv, envp) }

RAMA_EXPORT int RAMA_SYM(fexecve)(int fd, char *const *argv,
				  char *const *envp){ EXEC_BODY(fexecve, fd, argv, envp) }

RAMA_EXPORT int RAMA_SYM(execveat)(int fd, const char *path, char *const *argv, char *const *envp,
				   int flags){ EXEC_BODY(execveat, fd, path, argv, envp, flags) }

/* The arguments of execl and its relatives as an array. It lies on the stack: these calls are used between
 * vfork and exec, where malloc is forbidden. */
#define EXECL_BODY(vname, envp_arg)                          \
	va_list ap;                                          \
	size_t n = 1;                                        \
	va_start(ap, arg);                                   \
	while (va_arg(ap, const char *))                     \
		n++;                                         \
	va_end(ap);                                          \
	const char **argv = alloca((n + 1) * sizeof(*argv)); \
	argv[0] = arg;                                       \
	va_start(ap, arg);                                   \
	for (size_t i = 1; i <= n; i++)                      \
		argv[i] = va_arg(ap, const char *);          \
	envp_arg va_end(ap);

RAMA_EXPORT int RAMA_SYM(execl)(const char *path, const char *arg, ...)
{
	if (!arg) {
		EXEC_BODY(execv, path, (char *const[]){ NULL })
	}
	EXECL_BODY(execv, )
	EXEC_BODY(execv, path, (char *const *)argv)
}

RAMA_EXPORT int RAMA_SYM(execlp)(const char *file, const char *arg, ...)
{
	if (!arg) {
		EXEC_BODY(execvp, file, (char *const[]){ NULL })
	}
	EXECL_BODY(execvp, )
	EXEC_BODY(execvp, file, (char *const *)argv)
}

RAMA_EXPORT int RAMA_SYM(execle)(const char *path, const char *arg, ...)
{
	if (!arg)
		return RAMA_REAL(execve)(path, (char *const[]){ NULL }, environ);
	EXECL_BODY(execve, char *const *envp = va_arg(ap, char *const *);)
	EXEC_BODY(execve, path, (char *const *)argv, envp)
}

/* ---- a signal handler that interrupted us may jump out and never come back ------------------------------------- */

#define FN_HAND(name, ...)
#define FN_EXECL(name, vname)
#define FN_ASM(name)
#define FN_JUMP(name)                                                                   \
	RAMA_EXPORT __attribute__((noreturn)) void RAMA_SYM(name)(void *env, int value) \
	{                                                                               \
		rama_jump(env);                                                         \
		RAMA_REAL(name)(env, value);                                            \
		__builtin_unreachable();                                                \
	}
#include FN_TABLE_PROCESS

/* ---- vfork: the child runs in our memory on our stack, so no C function can be in between. The return
 * address is kept in a register that the system call leaves alone; rama_off is raised for the child and let
 * down again when the parent goes on. ---------------------------------------------------------------------------- */

#if defined(__x86_64__)
#ifdef RAMA_STATIC_WRAP
#define VFORK "__wrap_vfork"
#define VFORK2 "__wrap___vfork"
#else
#define VFORK "vfork"
#define VFORK2 "__vfork"
#endif
__asm__(".text\n"
	".globl " VFORK "\n.type " VFORK ", @function\n"
	".globl " VFORK2 "\n.type " VFORK2 ", @function\n" VFORK ":\n" VFORK2 ":\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	movq rama_off@gottpoff(%rip), %rsi\n"
	"	incl %fs:(%rsi)\n"
	"	movq rama_thread@gottpoff(%rip), %rdx\n" /* its first word: live */
	"	incl %fs:(%rdx)\n"
	"	popq %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_register %rip, %rdi\n"
	"	movl $58, %eax\n" /* SYS_vfork */
	"	syscall\n"
	"	pushq %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_offset %rip, -8\n"
	"	testq %rax, %rax\n"
	"	je 1f\n"
	"	decl %fs:(%rsi)\n"
	"	decl %fs:(%rdx)\n"
	"	cmpq $-4095, %rax\n"
	"	jae 2f\n"
	"1:	ret\n"
	"2:	negl %eax\n"
	"	movl %eax, %edi\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call rama_set_errno\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	movq $-1, %rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size " VFORK ", .-" VFORK "\n");

__attribute__((used, visibility("hidden"))) void rama_set_errno(int e)
{
	errno = e;
}
#endif
