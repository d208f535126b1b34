/* SPDX-License-Identifier: BSD-3-Clause */
/* find.c: what this machine knows of segments: where they are, whether their processes live, and its
 * clocks. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "gather/gather.h"

#define SECOND 1000000000ull

/* a small file of /proc; false if it is not there */
static bool read_small(const char *path, char *to, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, to, size - 1) : -1;

	if (fd >= 0)
		close(fd);
	to[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static bool is_this_boot(const struct rama_segment *s)
{
	char boot[64];

	if (!read_small("/proc/sys/kernel/random/boot_id", boot, sizeof(boot)))
		return false;
	boot[strcspn(boot, "\n")] = '\0';
	return boot[0] != '\0' && strcmp(boot, s->id.boot) == 0;
}

static bool is_this_host(const struct rama_segment *s)
{
	char host[256] = { 0 };

	return gethostname(host, sizeof(host) - 1) == 0 &&
	       strncmp(host, s->id.host, sizeof(s->id.host) - 1) == 0;
}

/* State and start of a process: fields 3 and 22 of its stat line. The program's name before them may
 * hold anything, so they are counted from its last parenthesis on. */
static bool read_stat(int64_t pid, char *state, unsigned long long *start)
{
	char path[64], line[1024], *p;

	snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	if (!read_small(path, line, sizeof(line)))
		return false;
	p = strrchr(line, ')');
	if (p == NULL || sscanf(p + 1, " %c", state) != 1)
		return false;
	for (unsigned field = 2; field < 22 && p != NULL; field++)
		p = strchr(p + 1, ' ');
	return p != NULL && sscanf(p, " %llu", start) == 1;
}

int rama_gather_alive(const struct rama_segment *s)
{
	unsigned long long start;
	char state;

	if (!is_this_boot(s))
		return is_this_host(s) ? 0 : -1;
	if (s->id.pid <= 0 || !read_stat(s->id.pid, &state, &start) || start != s->id.pid_start)
		return 0;
	return state != 'Z' && state != 'X';
}

static uint64_t now_mono(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

void rama_gather_clock(struct rama_segment *s)
{
	const struct rama_seg_clock *c = &s->id.clock;
	uint64_t mono, tick;

	if (s->end_tick > 0 || !is_this_boot(s))
		return;
	mono = now_mono();
	tick = mono;
#if defined(__x86_64__)
	if (c->source == RAMA_CLOCK_TSC)
		tick = __rdtsc();
#endif
	rama_segment_now(s, tick, mono);
	if (tick > c->tick0 && rama_gather_alive(s) == 1)
		s->end_tick = tick - c->tick0;
}

/* ---- directories ----------------------------------------------------------------------------- */

void rama_gather_list_fini(struct rama_gather_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->path[i]);
	free(list->path);
	*list = (struct rama_gather_list){ 0 };
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_segment(int dir, const char *name)
{
	size_t n = strlen(name);
	struct stat st;

	return n > 4 && strcmp(name + n - 4, ".seg") == 0 &&
	       fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

static int add_path(struct rama_gather_list *list, const char *dir, const char *name)
{
	size_t size = strlen(dir) + strlen(name) + 2;
	char **more = list->path;

	if ((list->n & (list->n - 1)) == 0) /* doubles at every power of two */
		more = realloc(list->path, (list->n == 0 ? 1 : 2 * list->n) * sizeof(*more));
	if (more == NULL)
		return RAMA_EMEMORY;
	list->path = more;
	list->path[list->n] = malloc(size);
	if (list->path[list->n] == NULL)
		return RAMA_EMEMORY;
	snprintf(list->path[list->n++], size, "%s/%s", dir, name);
	return 0;
}

int rama_gather_find(struct rama_gather_list *list, const char *dir, struct rama_err *e)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	int rc = 0;

	*list = (struct rama_gather_list){ 0 };
	if (d == NULL)
		return rama_err_set(e, RAMA_EMISSING, "cannot be opened: %s", dir);
	while (rc == 0 && (entry = readdir(d)) != NULL)
		if (is_segment(dirfd(d), entry->d_name))
			rc = add_path(list, dir, entry->d_name);
	closedir(d);
	if (rc != 0) {
		rama_gather_list_fini(list);
		return rama_err_set(e, rc, "out of memory");
	}
	if (list->n > 0)
		qsort(list->path, list->n, sizeof(*list->path), by_name);
	return 0;
}
