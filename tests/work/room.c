/* SPDX-License-Identifier: BSD-3-Clause */
/* room.c: many processes, or one that needs more and more, for places that have little room. Each
 * write is of 100 bytes. It prints what it did: processes, opens, writes. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *folder;

static void work(int i, int writes)
{
	static const char bytes[100];
	char path[4096];

	snprintf(path, sizeof(path), "%s/f.%d", folder, i);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		_exit(9);
	for (int k = 0; k < writes; k++)
		if (write(fd, bytes, sizeof(bytes)) != sizeof(bytes))
			_exit(9);
	close(fd);
}

/* all at one time: nobody ends before everybody has done his work */
static void hold(int n)
{
	int done[2], go[2], status;
	char c = 0;

	if (pipe(done) != 0 || pipe(go) != 0)
		exit(8);
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			exit(8);
		if (pid > 0)
			continue;
		close(go[1]);
		work(i, 1 + i % 3);
		if (write(done[1], &c, 1) != 1 || read(go[0], &c, 1) != 0)
			_exit(9);
		exit(0);
	}
	for (int i = 0; i < n; i++)
		if (read(done[0], &c, 1) != 1)
			exit(8);
	close(go[1]);
	while (wait(&status) > 0)
		if (status != 0)
			exit(7);
}

/* Waits until whoever takes in segments keeps up: on a slow machine that may last. */
static void pace(void)
{
	const char *dir = getenv("IORAMA_DIR"), *job = getenv("IORAMA_JOB");
	char path[4096];
	int n, patience = 6000;

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : "", job ? job : "");
	do {
		struct dirent *e;
		DIR *d = opendir(path);

		if (!d)
			exit(6);
		for (n = 0; (e = readdir(d));)
			n += strstr(e->d_name, ".seg") != NULL;
		closedir(d);
		if (n > 150)
			usleep(10000);
		if (--patience == 0)
			exit(6);
	} while (n > 150);
}

/* one after the other, or some at a time */
static void many(int n, int at_once, int paced)
{
	int status, running = 0;

	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			exit(8);
		if (pid == 0) {
			work(i, 1 + i % 3);
			exit(0);
		}
		if (++running == at_once) {
			if (wait(&status) < 0 || status != 0)
				exit(7);
			running--;
		}
		if (paced && i % 50 == 0)
			pace();
	}
	while (wait(&status) > 0)
		if (status != 0)
			exit(7);
}

/* says that it is there, and goes on when standard input ends */
static void wait_for_input(void)
{
	char c;

	fputs("ready\n", stdout);
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		continue;
}

static void *last_thread(void *ctx)
{
	pthread_join(*(pthread_t *)ctx, NULL); /* the first thread has ended */
	wait_for_input();
	work(1, 1000);
	printf("truth 1 2 1001\n");
	exit(0);
}

int main(int argc, char **argv)
{
	int n = argc > 3 ? atoi(argv[3]) : 1;
	long writes = 0;

	if (argc < 4)
		return 2;
	folder = argv[2];
	for (int i = 0; i < n; i++)
		writes += 1 + i % 3;
	if (strcmp(argv[1], "hold") == 0) {
		hold(n);
	} else if (strcmp(argv[1], "many") == 0) {
		many(n, argc > 4 ? atoi(argv[4]) : 1, 0);
	} else if (strcmp(argv[1], "paced") == 0) {
		many(n, argc > 4 ? atoi(argv[4]) : 1, 1);
	} else if (strcmp(argv[1], "kill") == 0) { /* the same, and all of the group dies */
		many(n, 4, 0);
		printf("truth %d %d %ld\n", n, n, writes);
		fflush(stdout);
		kill(0, SIGKILL);
	} else if (strcmp(argv[1], "files") == 0) {
		wait_for_input();
		for (int i = 0; i < n; i++)
			work(i, 1 + i % 3);
	} else if (strcmp(argv[1], "thread") == 0) {
		static pthread_t first, other;

		work(0, 1);
		first = pthread_self();
		if (pthread_create(&other, NULL, last_thread, &first) != 0)
			return 8;
		pthread_exit(NULL);
	}
	printf("truth %d %d %ld\n", n, n, writes);
	return 0;
}
