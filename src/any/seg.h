/* SPDX-License-Identifier: BSD-3-Clause */
/* seg.h: the segment of a process that another one writes: the same layout as it would write
 * itself (segment/layout.h), by one thread, so that nothing is ever waited for. */
#ifndef RAMA_ANY_SEG_H
#define RAMA_ANY_SEG_H

#include <limits.h>

#include "config/settings.h"
#include "core/posix.h"
#include "segment/layout.h"

struct rama_any_seg {
	unsigned char *base;
	size_t size;
	int fd;
	struct rama_seg_header *head;
	struct rama_seg_identity *id;
	struct rama_seg_state *state;
	struct rama_seg_control *control;
	struct rama_seg_lane *lane; /* one for all threads: only we write */
	/* the chunk of the records area that names and slots of a kind are put into now */
	struct rama_any_seg_pool {
		unsigned char *at; /* NULL: none yet */
		uint32_t chunk, used, ready;
	} pool[RAMA_SEG_KINDS + 1];
	void *others[RAMA_SEG_KINDS];
	uint32_t *index; /* hash table of names, by number */
	uint32_t index_mask, n_names;
	uint64_t names_bytes, names_most;
	const struct rama_config_settings *settings;
};

/* A segment in this directory, not yet RUNNING; `id` becomes its identity. 0 or a negative
 * RAMA_E...; nothing is left of one that could not be made. */
int rama_any_seg_make(struct rama_any_seg *s, const char *dir,
		      const struct rama_config_settings *settings,
		      const struct rama_seg_identity *id);
void rama_any_seg_close(struct rama_any_seg *s);

/* The name of a path; name 1, the catch-all, where there is no room. `make`: else NULL if it is
 * not there yet. */
struct rama_seg_name *rama_any_seg_name(struct rama_any_seg *s, const char *text, size_t len,
					bool make);
struct rama_seg_name *rama_any_seg_name_at(const struct rama_any_seg *s, uint32_t number);
/* its slot; `more`: the block size of its file system. NULL: that module does not observe it */
void *rama_any_seg_slot(struct rama_any_seg *s, struct rama_seg_name *n, enum rama_seg_kind kind,
			int64_t more);
/* Between these a slot changes. */
void rama_any_seg_begin(uint32_t *seq);
void rama_any_seg_end(uint32_t *seq);
/* one access of a thread; *chunk: the one it fills, plus 1 */
void rama_any_seg_event(struct rama_any_seg *s, uint32_t *chunk, uint32_t tid,
			const struct rama_seg_event *e);

#endif
