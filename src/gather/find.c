/* SPDX-License-Identifier: BSD-3-Clause */
/* find.c: what this machine knows of segments: where they are, whether their processes live, and
 * its clocks. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "gather/pack.h"
#include "gather/place.h"

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

static bool is_this_boot(const struct rama_seg *s)
{
	char boot[64];

	if (!read_small("/proc/sys/kernel/random/boot_id", boot, sizeof(boot)))
		return false;
	boot[strcspn(boot, "\n")] = '\0';
	return boot[0] != '\0' && strcmp(boot, s->id.boot) == 0;
}

static bool is_this_host(const struct rama_seg *s)
{
	char host[256] = { 0 };

	return gethostname(host, sizeof(host) - 1) == 0 &&
	       strncmp(host, s->id.host, sizeof(s->id.host) - 1) == 0;
}

/* State, threads and start of a process: fields 3, 20 and 22 of its stat line. The program's
 * name before them may hold anything, so they are counted from its last parenthesis on. */
struct stat_line {
	char state;
	long long threads;
	unsigned long long start;
};

static bool read_stat(int64_t pid, struct stat_line *s)
{
	char path[64], line[1024], *p;

	snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	if (!read_small(path, line, sizeof(line)))
		return false;
	p = strrchr(line, ')');
	if (p == NULL || p[1] != ' ' || p[2] == '\0')
		return false;
	s->state = p[2];
	for (unsigned field = 2; field < 20 && p != NULL; field++)
		p = strchr(p + 1, ' ');
	s->threads = p != NULL ? strtoll(p, NULL, 10) : 0;
	for (unsigned field = 20; field < 22 && p != NULL; field++)
		p = strchr(p + 1, ' ');
	s->start = p != NULL ? strtoull(p, NULL, 10) : 0;
	return p != NULL;
}

/* Its first thread may have ended while others go on: then it looks dead, and is not. */
static bool has_ended(const struct stat_line *s)
{
	return (s->state == 'Z' || s->state == 'X') && s->threads <= 1;
}

int rama_gather_alive(const struct rama_seg *s)
{
	struct stat_line line;

	if (!is_this_boot(s))
		return is_this_host(s) ? 0 : -1;
	if (s->id.pid <= 0 || !read_stat(s->id.pid, &line) || line.start != s->id.pid_start)
		return 0;
	return !has_ended(&line);
}

bool rama_gather_gone(const struct rama_seg *s)
{
	struct stat_line line;

	/* its number means another process here */
	if ((s->id.flags & RAMA_SEG_OTHER_PIDS) != 0 || s->id.pid <= 0 || s->id.pid_start == 0 ||
	    !is_this_boot(s))
		return false;
	if (kill((pid_t)s->id.pid, 0) != 0 && errno == ESRCH)
		return true;
	/* where /proc hides the processes of others nothing is known of one that gave up its
	 * rights */
	return read_stat(s->id.pid, &line) && (line.start != s->id.pid_start || has_ended(&line));
}

static uint64_t now_mono(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

void rama_gather_clock(struct rama_seg *s)
{
	const struct rama_seg_ticks *c = &s->id.clock;
	uint64_t mono, tick;

	if (s->end_tick > 0 || !is_this_boot(s))
		return;
	mono = now_mono();
	tick = mono;
#if defined(__x86_64__)
	if (c->source == RAMA_SEG_CLOCK_TSC)
		tick = __rdtsc();
#endif
	rama_seg_now(s, tick, mono);
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

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* by the name of the file, wherever it is */
static int by_name(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	int rc = strcmp(base_name(x), base_name(y));

	return rc != 0 ? rc : strcmp(x, y);
}

static bool is_segment(int dir, const char *name)
{
	size_t n = strlen(name);
	struct stat st;

	return n > 4 && strcmp(name + n - 4, ".seg") == 0 &&
	       fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

int rama_gather_list_add(struct rama_gather_list *list, const char *dir, const char *name)
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

/* the segments in one directory, and those packed there */
static int find_in(struct rama_gather_list *list, const char *dir, struct rama_err *e)
{
	char pack[PATH_MAX];
	DIR *d = opendir(dir);
	struct dirent *entry;
	int rc = 0;

	if (d == NULL)
		return rama_err_set(e, RAMA_EMISSING, "cannot be opened: %s", dir);
	while (rc == 0 && (entry = readdir(d)) != NULL)
		if (is_segment(dirfd(d), entry->d_name))
			rc = rama_gather_list_add(list, dir, entry->d_name);
	closedir(d);
	if (rc != 0)
		return rama_err_set(e, rc, "out of memory");
	if (snprintf(pack, sizeof(pack), "%s/" RAMA_GATHER_PACK, dir) < (int)sizeof(pack))
		rc = rama_gather_pack_list(list, pack, e);
	return rc;
}

static bool read_identity(struct rama_seg *s, const char *path)
{
	struct rama_gather_segment_file f;
	struct rama_err e;
	bool ok = false;

	if (rama_gather_file_open(&f, path, &e) == 0) {
		ok = rama_seg_open(s, &f.src, &e) == 0;
		rama_gather_file_close(&f);
	}
	return ok;
}

/* Is this packed segment the file of the same name? Whoever packed it was killed before he could
 * remove it. */
static bool is_twice(const char *packed, const char *file)
{
	struct rama_seg *s = calloc(2, sizeof(*s));
	bool same = s != NULL && rama_gather_is_packed(packed) && !rama_gather_is_packed(file) &&
		    read_identity(&s[0], packed) && read_identity(&s[1], file) &&
		    s[0].id.pid == s[1].id.pid && s[0].id.pid_start == s[1].id.pid_start &&
		    s[0].id.clock.real0 == s[1].id.clock.real0 &&
		    s[0].id.clock.tick0 == s[1].id.clock.tick0 &&
		    strcmp(s[0].id.boot, s[1].id.boot) == 0;

	free(s);
	return same;
}

static void drop_repeated(struct rama_gather_list *list)
{
	size_t n = 0;

	for (size_t i = 0, end; i < list->n; i = end) {
		for (end = i + 1; end < list->n; end++)
			if (strcmp(base_name(list->path[i]), base_name(list->path[end])) != 0)
				break;
		for (size_t k = i; k < end; k++) {
			bool twice = false;

			for (size_t other = i; other < end && !twice && end - i > 1; other++)
				twice = list->path[other] != NULL && other != k &&
					is_twice(list->path[k], list->path[other]);
			if (twice) {
				free(list->path[k]);
				list->path[k] = NULL;
			}
		}
	}
	for (size_t i = 0; i < list->n; i++)
		if (list->path[i] != NULL)
			list->path[n++] = list->path[i];
	list->n = n;
}

bool rama_gather_find_packed(char to[PATH_MAX], const char *path)
{
	struct rama_gather_list list;
	struct rama_err e = { 0 };
	char dir[PATH_MAX];
	bool found = false;

	if (snprintf(dir, sizeof(dir), "%s", path) >= (int)sizeof(dir) || strrchr(dir, '/') == NULL)
		return false;
	*strrchr(dir, '/') = '\0';
	rama_gather_spare_main(dir);
	if (rama_gather_find(&list, dir, &e) != 0)
		return false;
	for (size_t i = list.n; i-- > 0 && !found;)
		found = rama_gather_is_packed(list.path[i]) &&
			strcmp(base_name(list.path[i]), base_name(path)) == 0 &&
			snprintf(to, PATH_MAX, "%s", list.path[i]) < PATH_MAX;
	rama_gather_list_fini(&list);
	return found;
}

int rama_gather_find(struct rama_gather_list *list, const char *dir, struct rama_err *e)
{
	struct rama_gather_spares spares;
	int rc;

	*list = (struct rama_gather_list){ 0 };
	rc = find_in(list, dir, e);
	if (rc == 0)
		rama_gather_spares_read(&spares, dir);
	for (size_t i = 0; rc == 0 && i < spares.n; i++) {
		struct rama_err gone = { 0 };

		rc = find_in(list, spares.dir[i], &gone);
		if (rc == RAMA_EMISSING)
			rc = 0;
		else if (rc != 0)
			*e = gone;
	}
	if (rc != 0) {
		rama_gather_list_fini(list);
		return rc;
	}
	if (list->n > 0) {
		qsort(list->path, list->n, sizeof(*list->path), by_name);
		drop_repeated(list);
	}
	return 0;
}
