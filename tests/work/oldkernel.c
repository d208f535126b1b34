/* SPDX-License-Identifier: BSD-3-Clause */
/* oldkernel.c COMMAND...: runs it as on a kernel that does not know MADV_POPULATE_WRITE. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define SAME(value, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, otherwise)
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)

int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		LOAD(nr),
		SAME(SYS_madvise, 3),
		LOAD(args[2]),
		SAME(23, 1),
		RETURN(SECCOMP_RET_ERRNO | EINVAL),
		RETURN(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof code / sizeof code[0], code };

	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
		perror("oldkernel");
		return 77;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
