/* SPDX-License-Identifier: BSD-3-Clause */
/* look DIR PROCESSES FILES ROUNDS: how long a look at running jobs takes (look/look.h): made-up
 * segments of processes that live (all are this one), between two looks every file of each
 * changes, or none does. Prints "moving\tms\nidle\tms", the least of all rounds. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "look/look.h"
#include "seg.h"

static char boot[40];
static unsigned long long began;

static void read_self(void)
{
	char line[1024], *p;
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");

	if (f == NULL || fscanf(f, "%39s", boot) != 1)
		exit(4);
	fclose(f);
	f = fopen("/proc/self/stat", "r");
	if (f == NULL || fgets(line, sizeof(line), f) == NULL)
		exit(4);
	fclose(f);
	p = strrchr(line, ')');
	for (unsigned field = 2; field < 22 && p != NULL; field++)
		p = strchr(p + 1, ' ');
	if (p == NULL || sscanf(p, "%llu", &began) != 1)
		exit(4);
}

/* returns the slots of its files, mapped */
static struct rama_core_posix_file *make(const char *dir, unsigned n, unsigned files)
{
	char path[512], name[64];
	struct seg s;
	void *map;
	int fd;

	seg_make(&s, files + 1, 1, 0);
	s.state->phase = RAMA_SEG_RUNNING;
	s.id->clock.tick1 = s.id->clock.mono1 = 0;
	s.id->pid = getpid();
	s.id->uid = (int64_t)geteuid();
	s.id->pid_start = began;
	seg_text(s.id->boot, sizeof(s.id->boot), boot);
	for (unsigned i = 0; i < files; i++) {
		snprintf(name, sizeof(name), "/data/rank%u/file%u", n, i);
		seg_posix(&s, seg_name(&s, name));
	}
	seg_lane(&s, 1);
	snprintf(path, sizeof(path), "%s/node1.%u.0.seg", dir, n);
	fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
	if (fd < 0 || write(fd, s.bytes, s.size) != (ssize_t)s.size)
		exit(4);
	map = mmap(NULL, s.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		exit(4);
	close(fd);
	/* behind the catch-all */
	map = (unsigned char *)map +
	      ((unsigned char *)seg_slot(&s, RAMA_SEG_KIND_POSIX, 1) - s.bytes);
	seg_free(&s);
	return map;
}

static double look(struct rama_look *l)
{
	struct rama_err e = { 0 };
	double start = bench_clock(CLOCK_MONOTONIC);

	if (rama_look_take(l, &e) != 0)
		exit(4);
	return 1e3 * (bench_clock(CLOCK_MONOTONIC) - start);
}

static void move(struct rama_core_posix_file **slot, unsigned n, unsigned files)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < files; k++) {
			slot[i][k].w[RAMA_TAB_POSIX_WRITES].i++;
			slot[i][k].w[RAMA_TAB_POSIX_BYTES_WRITTEN].i += 4096;
			slot[i][k].w[RAMA_TAB_POSIX_F_WRITE_TIME].u += 1000;
			slot[i][k].seq += 2;
		}
}

int main(int argc, char **argv)
{
	unsigned n = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1000;
	unsigned files = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 10;
	unsigned rounds = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 9;
	struct rama_look_options o = { .uid = (uint32_t)geteuid(), .linger = 5, .n_dirs = 1 };
	struct rama_core_posix_file **slot = calloc(n, sizeof(*slot));
	struct rama_look *l;
	struct rama_err e = { 0 };
	const char *dir = argc > 1 ? argv[1] : NULL;
	double moving = 1e9, idle = 1e9;

	if (dir == NULL || slot == NULL)
		return 2;
	read_self();
	o.dir = &dir;
	for (unsigned i = 0; i < n; i++)
		slot[i] = make(dir, i, files);
	if (rama_look_create(&l, &o, &e) != 0)
		return 4;
	look(l);
	for (unsigned r = 0; r < rounds; r++) {
		double t;

		move(slot, n, files);
		t = look(l);
		moving = t < moving ? t : moving;
		if (l->n != 1 || l->job[0]->n != n || l->job[0]->gain.writes != (int64_t)n * files)
			return 3; /* it did not see all of it */
		t = look(l);
		idle = t < idle ? t : idle;
	}
	printf("moving\t%.2f\nidle\t%.2f\n", moving, idle);
	rama_look_destroy(l);
	free(slot);
	return 0;
}
