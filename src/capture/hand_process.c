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
		rama_sys_always(SYS_exit_group, status, 0, 0, 0, 0, 0);
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

/* What confines a process outlives exec, and the next program would be observed anew: if we are
 * quiet it is told not to be. The longer environment lies on the stack, as these calls are used
 * between vfork and exec. */
#define QUIET_ENV(envp)                                      \
	size_t env_n = 0;                                    \
	while (rama_quiet && (envp) && (envp)[env_n])        \
		env_n++;                                     \
	char **env = alloca((env_n + 2) * sizeof(*env));     \
	if (env_n > 0)                                       \
		memcpy(env, (envp), env_n * sizeof(*env));   \
	env[env_n] = (char *)(uintptr_t) "IORAMA_DISABLE=1"; \
	env[env_n + 1] = NULL;                               \
	char *const *use = rama_quiet && (envp) ? (char *const *)env : (envp);

#define EXEC_BODY(name, ...)                  \
	rama_replace_process();               \
	int r = RAMA_REAL(name)(__VA_ARGS__); \
	int saved = errno;                    \
	rama_replace_failed();                \
	errno = saved;                        \
	return r;

RAMA_EXPORT int RAMA_SYM(execve)(const char *path, char *const *argv,
				 char *const *envp){ QUIET_ENV(envp)
							     EXEC_BODY(execve, path, argv, use) }

RAMA_EXPORT int RAMA_SYM(execv)(const char *path,
				char *const *argv){ QUIET_ENV(environ)
							    EXEC_BODY(execve, path, argv, use) }

RAMA_EXPORT int RAMA_SYM(execvp)(const char *file,
				 char *const *argv){ QUIET_ENV(environ)
							     EXEC_BODY(execvpe, file, argv, use) }

RAMA_EXPORT int RAMA_SYM(execvpe)(const char *file, char *const *argv,
				  char *const *envp){ QUIET_ENV(envp)
							      EXEC_BODY(execvpe, file, argv, use) }

RAMA_EXPORT int RAMA_SYM(fexecve)(int fd, char *const *argv,
				  char *const *envp){ QUIET_ENV(envp)
							      EXEC_BODY(fexecve, fd, argv, use) }

RAMA_EXPORT int RAMA_SYM(execveat)(int fd, const char *path, char *const *argv, char *const *envp,
				   int flags){ QUIET_ENV(envp) EXEC_BODY(execveat, fd, path, argv,
									 use, flags) }

/* The arguments of execl and its relatives as an array, on the stack, too. */
#define EXECL_BODY(envp_arg)                                 \
	va_list ap;                                          \
	size_t n = arg ? 1 : 0;                              \
	va_start(ap, arg);                                   \
	while (arg && va_arg(ap, const char *))              \
		n++;                                         \
	va_end(ap);                                          \
	const char **argv = alloca((n + 1) * sizeof(*argv)); \
	argv[0] = arg;                                       \
	va_start(ap, arg);                                   \
	for (size_t i = 1; i <= n; i++)                      \
		argv[i] = va_arg(ap, const char *);          \
	envp_arg va_end(ap);

RAMA_EXPORT int RAMA_SYM(execl)(const char *path, const char *arg,
				...){ EXECL_BODY() QUIET_ENV(environ)
					      EXEC_BODY(execve, path, (char *const *)argv, use) }

RAMA_EXPORT int RAMA_SYM(execlp)(const char *file, const char *arg,
				 ...){ EXECL_BODY() QUIET_ENV(environ)
					       EXEC_BODY(execvpe, file, (char *const *)argv, use) }

RAMA_EXPORT int RAMA_SYM(execle)(const char *path, const char *arg, ...)
{
	EXECL_BODY(char *const *envp = arg ? va_arg(ap, char *const *) : environ;)
	QUIET_ENV(envp)
	EXEC_BODY(execve, path, (char *const *)argv, use)
}

/* ---- a signal handler that interrupted us may jump out and never come back ------------------- */

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
