/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_process.c: calls that end, replace or unwind what we watch. */
#include <alloca.h>

#include "capture/launch.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* ---- the end --------------------------------------------------------------------------------- */

static _Noreturn void leave(int status)
{
	rama_cap_end_process();
	for (;;)
		rama_sys_always(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

RAMA_CAP_EXPORT void RAMA_CAP_SYM(_exit)(int status)
{
	leave(status);
}

RAMA_CAP_EXPORT void RAMA_CAP_SYM(_Exit)(int status)
{
	leave(status);
}

/* ---- another program takes our place: success does not return -------------------------------- */

/* What confines a process outlives exec, and the next program would be observed anew: if we are
 * quiet it is told not to be. The longer environment lies on the stack, as these calls are used
 * between vfork and exec, and as there is no other memory to be had. */
#define QUIET_ENV                                                          \
	size_t env_n = 0;                                                  \
	while (rama_cap_quiet && l.envp && l.envp[env_n])                  \
		env_n++;                                                   \
	char **quiet_env = alloca((env_n + 2) * sizeof(*quiet_env));       \
	if (rama_cap_quiet && l.envp) {                                    \
		memcpy(quiet_env, l.envp, env_n * sizeof(*quiet_env));     \
		quiet_env[env_n] = (char *)(uintptr_t) "IORAMA_DISABLE=1"; \
		quiet_env[env_n + 1] = NULL;                               \
		l.envp = quiet_env;                                        \
		l.changed = true;                                          \
	}

/* `call` uses l.envp; `plain` is what was asked for, where nothing about the environment changes */
#define EXEC_BODY(fd, file, along, argv, env, plain, call)         \
	struct rama_cap_launch_what w = { fd, file, along, argv }; \
	struct rama_cap_launched l;                                \
	rama_cap_launch_plan(&l, &w, env, true);                   \
	QUIET_ENV                                                  \
	rama_cap_replace_process(l.goes_on, l.fails);              \
	int r = l.changed ? call : plain;                          \
	int saved = errno;                                         \
	rama_cap_replace_failed();                                 \
	rama_cap_launch_failed(&l);                                \
	errno = saved;                                             \
	return r;

#define EXECVE_BODY(path, argv, env)                                                        \
	EXEC_BODY(AT_FDCWD, path, false, argv, env, RAMA_CAP_REAL(execve)(path, argv, env), \
		  RAMA_CAP_REAL(execve)(path, argv, l.envp))
#define EXECV_BODY(path, argv)                                                            \
	EXEC_BODY(AT_FDCWD, path, false, argv, environ, RAMA_CAP_REAL(execv)(path, argv), \
		  RAMA_CAP_REAL(execve)(path, argv, l.envp))
#define EXECVP_BODY(file, argv)                                                           \
	EXEC_BODY(AT_FDCWD, file, true, argv, environ, RAMA_CAP_REAL(execvp)(file, argv), \
		  RAMA_CAP_REAL(execvpe)(file, argv, l.envp))

RAMA_CAP_EXPORT int RAMA_CAP_SYM(execve)(const char *path, char *const *argv,
					 char *const *envp){ EXECVE_BODY(path, argv, envp) }

RAMA_CAP_EXPORT
	int RAMA_CAP_SYM(execv)(const char *path, char *const *argv){ EXECV_BODY(path, argv) }

RAMA_CAP_EXPORT
	int RAMA_CAP_SYM(execvp)(const char *file, char *const *argv){ EXECVP_BODY(file, argv) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(execvpe)(const char *file, char *const *argv, char *const *envp){
	EXEC_BODY(AT_FDCWD, file, true, argv, envp, RAMA_CAP_REAL(execvpe)(file, argv, envp),
		  RAMA_CAP_REAL(execvpe)(file, argv, l.envp))
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(fexecve)(int fd, char *const *argv, char *const *envp){
	EXEC_BODY(fd, "", false, argv, envp, RAMA_CAP_REAL(fexecve)(fd, argv, envp),
		  RAMA_CAP_REAL(fexecve)(fd, argv, l.envp))
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(execveat)(int fd, const char *path, char *const *argv,
					   char *const *envp, int flags){
	EXEC_BODY(fd, path, false, argv, envp, RAMA_CAP_REAL(execveat)(fd, path, argv, envp, flags),
		  RAMA_CAP_REAL(execveat)(fd, path, argv, l.envp, flags))
}

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

RAMA_CAP_EXPORT int RAMA_CAP_SYM(execl)(const char *path, const char *arg,
					...){ EXECL_BODY() EXECV_BODY(path, (char *const *)argv) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(execlp)(const char *file, const char *arg,
					 ...){ EXECL_BODY() EXECVP_BODY(file, (char *const *)argv) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(execle)(const char *path, const char *arg, ...)
{
	EXECL_BODY(char *const *envp = arg ? va_arg(ap, char *const *) : environ;)
	EXECVE_BODY(path, (char *const *)argv, envp)
}

/* ---- another program starts beside us -------------------------------------------------------- */

#define SPAWN_BODY(name, along)                                              \
	struct rama_cap_launch_what w = { AT_FDCWD, path, along, NULL };     \
	struct rama_cap_launched l;                                          \
	rama_cap_launch_plan(&l, &w, envp, false);                           \
	QUIET_ENV                                                            \
	int r = RAMA_CAP_REAL(name)(pid, path, actions, attr, argv, l.envp); \
	int saved = errno;                                                   \
	if (r != 0)                                                          \
		rama_cap_launch_failed(&l);                                  \
	else                                                                 \
		rama_cap_launch_done(&l);                                    \
	errno = saved;                                                       \
	return r;

RAMA_CAP_EXPORT int RAMA_CAP_SYM(posix_spawn)(pid_t *pid, const char *path,
					      const posix_spawn_file_actions_t *actions,
					      const posix_spawnattr_t *attr, char *const *argv,
					      char *const *envp){ SPAWN_BODY(posix_spawn, false) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(posix_spawnp)(pid_t *pid, const char *path,
					       const posix_spawn_file_actions_t *actions,
					       const posix_spawnattr_t *attr, char *const *argv,
					       char *const *envp)
{
	SPAWN_BODY(posix_spawnp, true)
}

/* ---- a signal handler that interrupted us may jump out and never come back ------------------- */

#define FN_HAND(name, ...)
#define FN_EXECL(name, vname)
#define FN_ASM(name)
#define FN_JUMP(name)                                                                           \
	RAMA_CAP_EXPORT __attribute__((noreturn)) void RAMA_CAP_SYM(name)(void *env, int value) \
	{                                                                                       \
		rama_cap_jump(env);                                                             \
		RAMA_CAP_REAL(name)(env, value);                                                \
		__builtin_unreachable();                                                        \
	}
#include RAMA_CAP_ROWS_PROCESS

/* ---- vfork: the child runs in our memory on our stack, so no C function can be in between. The
 * return address is kept in a register that the system call leaves alone; rama_cap_off is raised
 * for the child and let down again when the parent goes on.
 * ---------------------------------------------------------------------------- */

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
	"	movq rama_cap_off@gottpoff(%rip), %rsi\n"
	"	incl %fs:(%rsi)\n"
	"	movq rama_cap_thread@gottpoff(%rip), %rdx\n" /* its first word: live */
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
	"	call rama_cap_set_errno\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	movq $-1, %rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size " VFORK ", .-" VFORK "\n");

__attribute__((used, visibility("hidden"))) void rama_cap_set_errno(int e)
{
	errno = e;
}
#endif
