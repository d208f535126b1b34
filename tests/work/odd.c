/* SPDX-License-Identifier: BSD-3-Clause */
/* odd.c HOW: things that programs do to themselves: no environment, no rights, another root. */
#include "truth.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

static char buf[100];

static void put(const char *name, size_t n)
{
	int fd = t_open(name, O_WRONLY | O_CREAT, 0644);
	MUST(fd >= 0 && t_write(fd, buf, n) == (ssize_t)n);
	t_close(fd);
}

static void child(const char *name)
{
	int status;
	pid_t pid = fork();
	MUST(pid >= 0);
	if (!pid) {
		t_child(true);
		put(name, 5);
		t_done();
		exit(0);
	}
	MUST(waitpid(pid, &status, 0) == pid && status == 0);
}

/* descriptors that are no files, used before anybody has seen them; none may show up */
static void no_files(void)
{
	uint64_t one = 1;
	int pair[2], fd = memfd_create("memory", 0);
	MUST(fd >= 0 && write(fd, buf, 10) == 10 && pread(fd, buf, 5, 0) == 5);
	MUST(ftruncate(fd, 100) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	struct stat st;
	MUST(fstat(fd, &st) == 0 && fsync(fd) == 0);
	void *p = mmap(NULL, 100, PROT_READ, MAP_SHARED, fd, 0);
	MUST(p != MAP_FAILED && munmap(p, 100) == 0 && close(fd) == 0);
	fd = eventfd(0, 0);
	MUST(write(fd, &one, 8) == 8 && read(fd, &one, 8) == 8 && close(fd) == 0);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	MUST(write(pair[0], buf, 5) == 5 && read(pair[1], buf, 5) == 5);
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	MUST(read(fd, &one, 8) < 0 && errno == EAGAIN && close(fd) == 0);
	fd = open("/dev/zero", O_RDONLY);
	MUST(read(fd, buf, 100) == 100 && close(fd) == 0);
	fd = open("/proc/self/stat", O_RDONLY);
	MUST(read(fd, buf, 100) == 100 && close(fd) == 0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "none";
	if (!strcmp(how, "nofiles")) {
		no_files();
	} else if (!strcmp(how, "clearenv")) {
		char *truth = strdup(getenv("TRUTH_FILE"));
		clearenv();
		setenv("TRUTH_FILE", truth, 1);
		put("first", 10);
		child("child");
	} else if (!strcmp(how, "umask")) {
		umask(0777);
		child("child");
		put("second", 20);
	} else if (!strcmp(how, "chdir")) {
		put("first", 10);
		MUST(chdir("/") == 0);
		child("/tmp/iorama-odd-child");
		MUST(unlink("/tmp/iorama-odd-child") == 0);
		t_add("EXTRA", "/tmp/iorama-odd-child", "UNLINKS", 1);
	} else if (!strcmp(how, "rights")) { /* of these only that all goes well is looked at */
		put("first", 10);
		MUST(setgid(65534) == 0 && setuid(65534) == 0);
		child("/tmp/iorama-odd-rights");
		MUST(unlink("/tmp/iorama-odd-rights") == 0);
	} else if (!strcmp(how, "root")) {
		put("first", 10);
		MUST(chroot(".") == 0 && chdir("/") == 0);
		child("child");
	}
	t_done();
	return 0;
}
