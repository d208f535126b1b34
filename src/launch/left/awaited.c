/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/left/awaited.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/now.h"
#include "gather/pack.h"
#include "gather/place.h"
#include "look/find.h"

#define PATIENCE 2000 /* ms that an agent which is there has for it */
#define STEP 5000     /* us between two looks */

static bool is_awaited(struct rama_seg *seg, const char *path)
{
	struct rama_gather_segment_file f;
	struct rama_err e;
	bool is;

	if (rama_gather_is_packed(path) || rama_gather_file_open(&f, path, &e) != 0)
		return false;
	is = rama_seg_open(seg, &f.src, &e) == 0 && rama_launch_awaited_is(seg);
	rama_gather_file_close(&f);
	return is;
}

/* its process is gone, so that nobody else writes there */
static void mark(const struct rama_seg *seg, const char *path)
{
	uint64_t at = seg->head.area[RAMA_SEG_AREA_IDENTITY].off +
		      offsetof(struct rama_seg_identity, flags);
	uint32_t flags = seg->id.flags | RAMA_SEG_LOGGED;
	int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	/* where that fails there may be a second log, and nothing is lost */
	(void)!pwrite(fd, &flags, sizeof(flags), (off_t)at);
	close(fd);
}

void rama_launch_awaited_leave(const char *root, const char *dir, const struct rama_gather_list *s,
			       bool *keep)
{
	int64_t until = rama_now_ms() + PATIENCE;
	struct rama_seg *seg = malloc(sizeof(*seg));

	for (size_t i = 0; seg != NULL && i < s->n; i++) {
		bool awaited;

		if (keep[i])
			continue;
		while ((awaited = is_awaited(seg, s->path[i])) && rama_now_ms() < until &&
		       (rama_look_agent_at(root, NULL, NULL, 0) ||
			rama_look_agent_at(dir, NULL, NULL, 0)))
			usleep(STEP);
		if (!awaited)
			continue;
		mark(seg, s->path[i]);
		keep[i] = true;
	}
	free(seg);
}
