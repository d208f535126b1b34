/* SPDX-License-Identifier: BSD-3-Clause */
/* drain DIR [MS]: reads live events of all segments below DIR every MS milliseconds (5), as an
 * agent does, and throws them away, until its standard input ends. Then prints "events dropped":
 * how many it read, and how many found no room. */
#include <dirent.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "segment/ring.h"

enum { MOST = 256, AT_ONCE = 8192 };

static struct rama_seg_mapped *found[MOST];
static unsigned n_found;
static uint64_t events;

static void open_segment(const char *path)
{
	struct rama_err e = { 0 };
	struct stat st;

	if (n_found == MOST || lstat(path, &st) != 0)
		return;
	for (unsigned i = 0; i < n_found; i++)
		if (found[i]->ino == st.st_ino && found[i]->dev == st.st_dev)
			return;
	struct rama_seg_mapped *m = malloc(sizeof(*m));
	if (m != NULL && rama_seg_mapped_open(m, path, UINT32_MAX, true, &e) == 0)
		found[n_found++] = m;
	else
		free(m);
}

static void look(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL) {
		char path[4096];
		size_t n = strlen(e->d_name);

		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (n > 4 && strcmp(e->d_name + n - 4, ".seg") == 0)
			open_segment(path);
	}
	if (d != NULL)
		closedir(d);
}

static void drain(struct rama_seg_mapped *m)
{
	static struct rama_seg_event to[AT_ONCE];
	struct rama_err e = { 0 };
	struct rama_seg_ring_state st;
	uint32_t n, tid;

	rama_seg_refresh(&m->seg, &e);
	for (uint32_t lane = 0; lane < rama_seg_lanes(&m->seg); lane++) {
		if (rama_seg_ring_state(m, lane, &st) != 0)
			continue;
		while ((n = rama_seg_ring_read(m, lane, st.taken, to, AT_ONCE, &tid)) > 0) {
			st.taken += n;
			events += n;
			rama_seg_ring_give_back(m, lane, st.taken);
		}
	}
}

int main(int argc, char **argv)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	int wait = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 5;
	uint64_t dropped = 0;
	bool more = true;

	if (argc < 2)
		return 2;
	puts("ready");
	fflush(stdout);
	while (more) {
		more = poll(&in, 1, wait) == 0;
		look(argv[1]);
		for (unsigned i = 0; i < n_found; i++)
			drain(found[i]);
	}
	for (unsigned i = 0; i < n_found; i++) {
		struct rama_seg_ring_state st;

		for (uint32_t lane = 0; rama_seg_ring_state(found[i], lane, &st) == 0; lane++)
			dropped += st.dropped;
	}
	printf("%" PRIu64 " %" PRIu64 "\n", events, dropped);
	return 0;
}
