/* SPDX-License-Identifier: BSD-3-Clause */
/* confined.c: rank 1 forbids itself system calls that neither it nor its MPI makes, under
 * penalty of death. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KILL(nr)                                             \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##nr, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

int main(int argc, char **argv)
{
	struct sock_filter filter[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr)),
					KILL(mkdirat),
					KILL(linkat),
					KILL(renameat2),
					KILL(fchmod),
					BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog prog = { sizeof(filter) / sizeof(filter[0]), filter };
	char name[64];
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(name, sizeof(name), "confined.%d", rank);
	int fd = open(name, O_CREAT | O_WRONLY, 0600);
	if (write(fd, name, 5) != 5)
		return 1;
	if (rank == 1 && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
			  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) != 0))
		return 1;
	if (write(fd, name, 5) != 5 || close(fd) != 0)
		return 1;
	MPI_Barrier(MPI_COMM_WORLD);
	return MPI_Finalize();
}
