/* SPDX-License-Identifier: BSD-3-Clause; cc -O2 particles.c -o particles -lm
 *
 * particles [FOLDER]: a small simulation to be observed. Four processes read their share of the
 * particles from one file, let them fly, and every few steps write them into one shared checkpoint,
 * one particle at a time, as many programs do. A log of the run is kept with stdio. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 4
#define PARTICLES 5000 /* of each worker */
#define STEPS 30
#define EVERY 10 /* steps from one checkpoint to the next */

struct particle {
	double place[3], speed[3];
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void make_input(const char *path)
{
	FILE *out = fopen(path, "w");

	if (out == NULL)
		fail(path);
	for (int i = 0; i < WORKERS * PARTICLES; i++) {
		struct particle p = { { sin(i), cos(i), i * 1e-3 }, { cos(i), -sin(i), 0.1 } };

		if (fwrite(&p, sizeof(p), 1, out) != 1)
			fail(path);
	}
	if (fclose(out) != 0)
		fail(path);
}

static void read_input(struct particle *all, int worker)
{
	size_t size = PARTICLES * sizeof(*all), done = 0;
	int fd = open("input.bin", O_RDONLY);

	if (fd < 0)
		fail("input.bin");
	while (done < size) {
		ssize_t n =
			pread(fd, (char *)all + done, size - done, (off_t)(worker * size + done));

		if (n <= 0)
			fail("input.bin");
		done += (size_t)n;
	}
	close(fd);
}

/* many small writes: this is what a report should complain about */
static void write_checkpoint(const struct particle *all, int worker, int step)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "checkpoint-%02d.bin", step);
	fd = open(name, O_WRONLY | O_CREAT, 0644);
	if (fd < 0)
		fail(name);
	for (int i = 0; i < PARTICLES; i++) {
		off_t at = ((off_t)worker * PARTICLES + i) * (off_t)sizeof(*all);

		if (pwrite(fd, &all[i], sizeof(*all), at) != sizeof(*all))
			fail(name);
	}
	fsync(fd);
	close(fd);
}

static void move(struct particle *p, double dt)
{
	double far = 0;

	for (int k = 0; k < 3; k++)
		far += p->place[k] * p->place[k];
	far = far * sqrt(far) + 1e-3;
	for (int k = 0; k < 3; k++) {
		p->speed[k] -= p->place[k] / far * dt;
		p->place[k] += p->speed[k] * dt;
	}
}

static void simulate(int worker, FILE *log)
{
	static struct particle all[PARTICLES];

	read_input(all, worker);
	for (int step = 1; step <= STEPS; step++) {
		for (int i = 0; i < PARTICLES; i++)
			for (int part = 0; part < 50; part++)
				move(&all[i], 1e-4);
		fprintf(log, "worker %d step %d: first particle at %g\n", worker, step,
			all[0].place[0]);
		if (step % EVERY == 0)
			write_checkpoint(all, worker, step);
	}
}

int main(int argc, char **argv)
{
	int failed = 0, status;

	if (argc > 1 && (mkdir(argv[1], 0755), chdir(argv[1])) != 0)
		fail(argv[1]);
	make_input("input.bin");
	for (int worker = 0; worker < WORKERS; worker++) {
		pid_t pid = fork();

		if (pid < 0)
			fail("fork");
		if (pid == 0) {
			char name[64];
			FILE *log;

			snprintf(name, sizeof(name), "worker-%d.log", worker);
			log = fopen(name, "w");
			if (log == NULL)
				fail(name);
			simulate(worker, log);
			exit(fclose(log) != 0);
		}
	}
	while (wait(&status) > 0)
		failed |= status != 0;
	printf("%d particles, %d steps, %d checkpoints%s\n", WORKERS * PARTICLES, STEPS,
	       STEPS / EVERY, failed ? ": some worker failed" : "");
	return failed;
}
