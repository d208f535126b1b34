/* SPDX-License-Identifier: BSD-3-Clause */
/* spool_parts.h: a spool from the inside; internal to the spool's files. */
#ifndef RAMA_AGENT_SPOOL_PARTS_H
#define RAMA_AGENT_SPOOL_PARTS_H

#include <pthread.h>

#include "agent/spool.h"

#define RAMA_AGENT_SPOOL_SUFFIX ".spool"
#define RAMA_AGENT_SPOOL_HEAD_SIZE sizeof(struct rama_agent_spool_head)
#define RAMA_AGENT_SPOOL_RECORD_SIZE sizeof(struct rama_agent_spool_record)

struct rama_agent_spool_file {
	uint64_t first, next; /* numbers */
	uint64_t size;	      /* bytes that are complete */
};

/* where the reader is */
struct rama_agent_spool_cursor {
	int fd;
	uint64_t file;	 /* `first` of the file that fd is */
	uint64_t number; /* of the message at `at` */
	uint64_t at;
};

struct rama_agent_spool {
	int dir, lock;
	char path[1024];
	uint64_t limit, file_size;
	void (*tell)(void *ctx, const char *line);
	void *ctx;
	pthread_mutex_t mutex; /* for all up to the cursor */
	struct rama_agent_spool_file *file;
	size_t n, room;
	int active; /* descriptor of the last file, -1: the next message begins a new one */
	uint64_t next, committed, bytes;
	bool full, disk_full;
	uint64_t unchecked; /* bytes written since the disk was last asked how full it is */
	/* the reader's own */
	struct rama_agent_spool_cursor cursor;
	unsigned char *buf;
	size_t buf_room;
	int mark; /* descriptor of the file that says what is committed */
	unsigned mark_turn;
};

void rama_agent_spool_file_name(char to[40], uint64_t first);

#endif
