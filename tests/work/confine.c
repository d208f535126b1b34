/* SPDX-License-Identifier: BSD-3-Clause */
/* confine.c HOW: writes 10 times, confines itself, and writes 5 times more to the same file and
 * once to a descriptor that was not used before. Whatever is forbidden ends the process. */
#include "truth.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define IS(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##nr, 0, 1)
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_##action)
#define PASS(nr) IS(nr), RETURN(ALLOW)

/* what the rest of this program needs, and no more */
static struct sock_filter few[] = { LOAD(nr),
				    PASS(read),
				    PASS(write),
				    PASS(close),
				    PASS(exit),
				    PASS(exit_group),
				    PASS(futex),
				    PASS(clone),
				    PASS(clone3),
				    PASS(wait4),
				    PASS(rt_sigprocmask),
				    PASS(madvise),
				    PASS(munmap),
				    PASS(set_robust_list),
				    PASS(rseq),
				    PASS(rt_sigreturn),
				    PASS(gettid),
				    PASS(tgkill),
				    RETURN(KILL_PROCESS) };
/* the same for another program: what its loader needs, and nothing that one looks at it with */
static struct sock_filter starting[] = { LOAD(nr),
					 IS(mkdirat),
					 RETURN(KILL_PROCESS),
					 IS(linkat),
					 RETURN(KILL_PROCESS),
					 IS(ftruncate),
					 RETURN(KILL_PROCESS),
					 IS(process_vm_readv),
					 RETURN(KILL_PROCESS),
					 RETURN(ALLOW) };
/* harmless: one call fails, one kills that nobody makes */
static struct sock_filter harmless[] = {
	LOAD(arch),	      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
	RETURN(KILL_PROCESS), LOAD(nr),
	IS(socket),	      RETURN(ERRNO),
	IS(ptrace),	      RETURN(KILL_PROCESS),
	RETURN(ALLOW)
};
/* by an argument: a page that is writable may not be mapped */
static struct sock_filter arguments[] = { LOAD(nr),
					  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
					  LOAD(args[2]),
					  BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 2, 0, 1),
					  RETURN(KILL_PROCESS),
					  RETURN(ALLOW) };

static int file, fresh;
static int gate[2];

static void writes(int n)
{
	for (int i = 0; i < n; i++)
		if (write(file, "0123456789", 10) != 10)
			syscall(SYS_exit_group, 3);
}

static int install(struct sock_filter *filter, unsigned short n, unsigned flags)
{
	struct sock_fprog prog = { n, filter };

	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	if (flags)
		return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0);
}
#define INSTALL(filter, flags) MUST(install(filter, sizeof(filter) / sizeof(filter[0]), flags) == 0)

/* in a call when the filter comes */
static void *waiting(void *unused)
{
	char c;

	if (read(gate[0], &c, 1) != 1 || write(fresh, "x", 1) != 1)
		syscall(SYS_exit_group, 4);
	return unused;
}

/* calls that confine nobody, because they fail; then all is as before */
static void fail(void)
{
	MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) == -1 && errno == EFAULT);
	MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (void *)16) == -1);
	MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 99, NULL) == -1 && errno == EINVAL);
	MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (void *)16) == -1);
	MUST(prctl(PR_SET_SECCOMP, 77, 0) == -1 && prctl(PR_SET_TSC, 77) == -1);
}

static void confine(const char *how)
{
	if (strcmp(how, "strict") == 0)
		MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
	else if (strcmp(how, "strict2") == 0)
		MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL) == 0);
	else if (strcmp(how, "few") == 0 || strcmp(how, "fork") == 0)
		INSTALL(few, 0);
	else if (strcmp(how, "threads") == 0)
		INSTALL(few, SECCOMP_FILTER_FLAG_TSYNC);
	else if (strcmp(how, "exec") == 0)
		INSTALL(starting, 0);
	else if (strcmp(how, "arguments") == 0)
		INSTALL(arguments, 0);
	else if (strcmp(how, "harmless") == 0)
		INSTALL(harmless, 0);
	else if (strcmp(how, "fail") == 0)
		fail();
	else if (strcmp(how, "tsc") == 0)
		MUST(prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	char *again[] = { argv[0], "again", NULL };
	pthread_t id;
	pid_t pid = 0;

	file = open(strcmp(how, "again") == 0 ? "second" : "file", O_RDWR | O_CREAT | O_TRUNC,
		    0644);
	fresh = (int)syscall(SYS_dup3, file, 77, 0);
	MUST(fresh == 77 && pipe(gate) == 0);
	writes(10);
	if (strcmp(how, "threads") == 0)
		MUST(pthread_create(&id, NULL, waiting, NULL) == 0);
	if (strcmp(how, "child") == 0 && (pid = fork()) == 0) {
		confine("few"); /* it has done nothing yet */
		writes(5);
		syscall(SYS_exit_group, 0);
	}
	confine(how);
	writes(5);
	if (strcmp(how, "threads") == 0)
		MUST(write(gate[1], "x", 1) == 1 && pthread_join(id, NULL) == 0);
	else if (write(fresh, "x", 1) != 1)
		syscall(SYS_exit, 5);
	if (strcmp(how, "exec") == 0)
		execv(argv[0], again);
	if (strcmp(how, "fork") == 0 && (pid = fork()) == 0) {
		writes(5);
		syscall(SYS_exit_group, 0);
	}
	int status = 0;
	if (pid > 0 && (syscall(SYS_wait4, pid, &status, 0, NULL) != pid || status != 0))
		syscall(SYS_exit_group, 6);
	if (strncmp(how, "strict", 6) == 0)
		syscall(SYS_exit, 0);
	if (strcmp(how, "few") == 0 || strcmp(how, "threads") == 0 || strcmp(how, "fork") == 0)
		_exit(0);
	return 0;
}
