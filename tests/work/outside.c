/* SPDX-License-Identifier: BSD-3-Clause */
/* outside.c: for programs that are followed from outside: they do a known amount of I/O by system
 * calls only, in ways that who follows could disturb. Every kind of C library can build it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void need(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "outside: %s: %s\n", what, strerror(errno));
		_exit(99);
	}
}

/* n writes of 100 bytes */
static void fill(const char *name, int n)
{
	char bytes[100] = { 0 };
	int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);

	need(fd >= 0, name);
	for (int i = 0; i < n; i++)
		need(write(fd, bytes, sizeof(bytes)) == sizeof(bytes), name);
	need(close(fd) == 0, name);
}

static void *thread(void *k)
{
	char name[32];

	snprintf(name, sizeof(name), "thread%d", (int)(long)k);
	fill(name, 50 + (int)(long)k);
	return NULL;
}

static void threads(void)
{
	pthread_t t[8];

	for (long i = 0; i < 8; i++)
		need(pthread_create(&t[i], NULL, thread, (void *)i) == 0, "thread");
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int sig)
{
	(void)sig;
	alarms++;
}

/* signals come when they should, and calls are interrupted by them as ever */
static void signals(void)
{
	struct sigaction act = { .sa_handler = on_alarm };
	struct itimerval soon = { .it_value.tv_usec = 20000 };
	sigset_t set, old;
	int ends[2];
	char c;

	need(pipe(ends) == 0, "pipe");
	need(sigaction(SIGALRM, &act, NULL) == 0, "sigaction");
	need(setitimer(ITIMER_REAL, &soon, NULL) == 0, "setitimer");
	need(read(ends[0], &c, 1) < 0 && errno == EINTR && alarms == 1, "EINTR");
	act.sa_flags = SA_RESTART;
	need(sigaction(SIGALRM, &act, NULL) == 0, "sigaction");
	if (fork() == 0) {
		usleep(100000);
		need(write(ends[1], "x", 1) == 1, "write");
		_exit(3);
	}
	setitimer(ITIMER_REAL, &soon, NULL);
	need(read(ends[0], &c, 1) == 1 && alarms == 2, "restart");
	int status;
	need(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 3, "wait");
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &old);
	raise(SIGUSR1);
	need(sigpending(&set) == 0 && sigismember(&set, SIGUSR1), "pending");
	fill("signals", 10);
}

/* a child stops, its parent is told so, and it goes on */
static void stops(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		raise(SIGSTOP);
		fill("stopped", 7);
		_exit(4);
	}
	need(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status) &&
		     WSTOPSIG(status) == SIGSTOP,
	     "stopped");
	usleep(20000);
	need(waitpid(pid, &status, WNOHANG | WUNTRACED) == 0, "stays so");
	need(kill(pid, SIGCONT) == 0, "kill");
	need(waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status), "continued");
	need(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 4,
	     "ended");
}

/* until a file `go` is there, then some I/O */
static void waits(void)
{
	printf("%d\n", (int)getpid());
	fflush(stdout);
	fill("before", 5);
	while (access("go", F_OK) != 0)
		usleep(2000);
	fill("after", 6);
}

static void starts(char **argv)
{
	int status;
	pid_t pid = vfork();

	if (pid == 0) {
		execvp(argv[0], argv);
		_exit(98);
	}
	need(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "child");
	fill("parent", 3);
	exit(WEXITSTATUS(status));
}

static void shows_user(void)
{
	printf("%d\n", (int)geteuid());
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "fill") == 0)
		fill(argv[2], atoi(argv[3]));
	else if (strcmp(what, "threads") == 0)
		threads();
	else if (strcmp(what, "signals") == 0)
		signals();
	else if (strcmp(what, "stops") == 0)
		stops();
	else if (strcmp(what, "waits") == 0)
		waits();
	else if (strcmp(what, "user") == 0)
		shows_user();
	else if (strcmp(what, "die") == 0) {
		fill("dying", 4);
		raise(atoi(argv[2]));
	} else if (strcmp(what, "become") == 0) {
		fill("former", 2);
		execvp(argv[2], argv + 2);
	} else if (strcmp(what, "start") == 0) {
		starts(argv + 2);
	}
	return argc > 4 ? atoi(argv[4]) : 0;
}
