/* SPDX-License-Identifier: BSD-3-Clause */
/* target.c [segv|ignore|confined|unseen|small|smallest|chroot DIR]: does what lines on its standard
 * input say, and tells in a line what it has done; in between it waits in poll(). small: in a
 * thread with a small stack, while the first waits for its end; smallest: while that never waits.
 *
 *   open FILE             opens it for writing; the writes that follow go there
 *   write N               N times 100 bytes
 *   stream N              fopen, N times fwrite of 5000 bytes, fclose
 *   plugin LIBRARY N      loads it and lets it write N times to its own file
 *   fork N                a child writes N times
 *   load SECONDS THREADS  threads write and read back what they wrote, until "stop"
 *   stop                  ends them: how many calls they made, how many bytes were wrong
 *   spin                  never waits again
 *   quit */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, BYTES = 4096 };

static int file = -1;
static atomic_int going;
static atomic_long calls, wrong, faults, alarms;
static pthread_t thread[THREADS];
static int n_threads;

static void on_fault(int signal)
{
	(void)signal;
	atomic_fetch_add(&faults, 1);
	_exit(99);
}

static void on_alarm(int signal)
{
	(void)signal;
	atomic_fetch_add(&alarms, 1);
}

static void writes(int fd, long n)
{
	static const char text[100] = "target";

	for (long i = 0; i < n; i++)
		if (write(fd, text, sizeof(text)) != (ssize_t)sizeof(text))
			exit(3);
}

static void *work(void *arg)
{
	unsigned char out[BYTES], in[BYTES];
	unsigned who = (unsigned)(uintptr_t)arg, turn = 0;
	char name[32];

	snprintf(name, sizeof(name), "load.%u", who);
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
	while (going) {
		off_t at = (off_t)(turn % 256) * BYTES;

		memset(out, (int)(turn * 7 + who), BYTES);
		if (pwrite(fd, out, BYTES, at) != BYTES || pread(fd, in, BYTES, at) != BYTES)
			exit(4);
		for (int i = 0; i < BYTES; i++)
			wrong += in[i] != out[i];
		calls += 2;
		turn++;
		poll(NULL, 0, 1);
	}
	close(fd);
	return NULL;
}

static void stream(long n)
{
	static char bytes[5000];
	FILE *f = fopen("stream", "w");

	for (long i = 0; f && i < n; i++)
		if (fwrite(bytes, 1, sizeof(bytes), f) != sizeof(bytes))
			exit(5);
	if (!f || fclose(f) != 0)
		exit(5);
}

static void plugin(const char *path, long n)
{
	void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*f)(long) = h ? (int (*)(long))dlsym(h, "plugin_writes") : NULL;

	if (!f || f(n) != 0)
		exit(6);
}

static void child(long n)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		writes(file, n);
		exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		exit(7);
}

static void load(long n)
{
	going = 1;
	for (n_threads = 0; n_threads < n && n_threads < THREADS; n_threads++)
		pthread_create(&thread[n_threads], NULL, work, (void *)(uintptr_t)n_threads);
}

static void stop(void)
{
	going = 0;
	for (int i = 0; i < n_threads; i++)
		pthread_join(thread[i], NULL);
	n_threads = 0;
}

static void become(const char *how, const char *where)
{
	struct itimerval t = { { 0, 1000 }, { 0, 1000 } };

	if (strcmp(how, "segv") == 0) {
		signal(SIGSEGV, on_fault);
		signal(SIGALRM, on_alarm);
		setitimer(ITIMER_REAL, &t, NULL);
	} else if (strcmp(how, "ignore") == 0) {
		signal(SIGSEGV, SIG_IGN);
	} else if (strcmp(how, "confined") == 0) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		syscall(SYS_seccomp, 0 /* SECCOMP_SET_MODE_STRICT */, 0, NULL);
		for (;;)
			;
	} else if (strcmp(how, "unseen") == 0) {
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	} else if (strcmp(how, "chroot") == 0 && (chroot(where) != 0 || chdir("/") != 0)) {
		exit(8);
	}
}

static bool obey(char *line)
{
	char word[16] = "", path[2048] = "";
	long n = 0;

	if (sscanf(line, "%15s", word) != 1)
		return true;
	if (sscanf(line, "%*s %ld", &n) != 1 && sscanf(line, "%*s %2047s %ld", path, &n) < 1)
		n = 0;
	if (strcmp(word, "open") == 0)
		file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	else if (strcmp(word, "write") == 0)
		writes(file, n);
	else if (strcmp(word, "stream") == 0)
		stream(n);
	else if (strcmp(word, "plugin") == 0)
		plugin(path, n);
	else if (strcmp(word, "fork") == 0)
		child(n);
	else if (strcmp(word, "load") == 0)
		load(n);
	else if (strcmp(word, "stop") == 0)
		stop();
	else if (strcmp(word, "quit") == 0)
		return false;
	for (; strcmp(word, "spin") == 0;)
		;
	return true;
}

static void *obey_all(void *unused)
{
	static char line[4096];
	size_t n = 0;

	dprintf(1, "ready\n");
	for (;;) {
		struct pollfd p = { 0, POLLIN, 0 };

		if (poll(&p, 1, -1) < 0 && errno == EINTR)
			continue;
		if (read(0, line + n, 1) != 1)
			return unused;
		if (line[n] != '\n') {
			n++;
			continue;
		}
		line[n] = '\0';
		n = 0;
		bool on = obey(line);
		dprintf(1, "%ld %ld %ld %ld\n", (long)calls, (long)wrong, (long)faults,
			(long)alarms);
		if (!on)
			return unused;
	}
}

static void obey_in_thread(bool spins)
{
	pthread_attr_t small;
	pthread_t it;

	if (pthread_attr_init(&small) != 0 || pthread_attr_setstacksize(&small, 16384) != 0 ||
	    pthread_create(&it, &small, obey_all, NULL) != 0)
		exit(9);
	while (spins)
		;
	pthread_join(it, NULL);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	become(how, argc > 2 ? argv[2] : NULL);
	if (strncmp(how, "small", 5) == 0)
		obey_in_thread(strcmp(how, "smallest") == 0);
	else
		obey_all(NULL);
	return 0;
}
