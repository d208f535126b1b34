/* SPDX-License-Identifier: BSD-3-Clause */
/* forge.c: forge SEGMENT FOLDER FROM TO WHAT: copies of a segment, each as if it were another
 * process, all of them this one, which lives until its input ends. WHAT: `plain`, or `flood`: each
 * of its lanes claims a ring full of events, all in the same memory; `names`: its records area is
 * full of names. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "segment/layout.h"

static void *map(const char *path, size_t size, int flags)
{
	int fd = open(path, O_RDWR | flags, 0600);
	struct stat st;
	void *at;

	if (fd < 0 || fstat(fd, &st) != 0 || (size > 0 && ftruncate(fd, (off_t)size) != 0)) {
		perror(path);
		exit(1);
	}
	at = mmap(NULL, size > 0 ? size : (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		  fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		exit(1);
	return at;
}

/* field 22 of /proc/self/stat */
static unsigned long long begun(void)
{
	char line[2048] = "", *at;
	unsigned long long v = 0;
	FILE *f = fopen("/proc/self/stat", "r");

	if (f == NULL || fgets(line, sizeof(line), f) == NULL)
		exit(1);
	fclose(f);
	at = strrchr(line, ')') + 2;
	for (int i = 3; i < 22; i++)
		at = strchr(at, ' ') + 1;
	v = strtoull(at, NULL, 10);
	return v;
}

static void *area(unsigned char *base, unsigned which)
{
	return base + ((struct rama_seg_header *)(void *)base)->area[which].off;
}

static void flood(unsigned char *base)
{
	struct rama_seg_header *h = (void *)base;
	struct rama_seg_area_get *lanes = &h->area[RAMA_SEG_AREA_LANES];
	struct rama_seg_area_get *rings = &h->area[RAMA_SEG_AREA_RINGS];
	struct rama_seg_state *st = area(base, RAMA_SEG_AREA_STATE);
	uint32_t n = (uint32_t)(lanes->len / lanes->item), level = 0;

	n = n < RAMA_SEG_LANES ? n : RAMA_SEG_LANES;
	while (level + 1 < RAMA_SEG_RING_LEVELS &&
	       ((uint64_t)RAMA_SEG_RING_FIRST << (level + 1)) * sizeof(struct rama_seg_event) <=
		       rings->len)
		level++;
	for (uint32_t i = 0; i < n; i++) {
		struct rama_seg_lane *l = (void *)(base + lanes->off + (uint64_t)i * lanes->item);

		memset(l->ring, 0, sizeof(l->ring));
		l->tid = 1;
		l->level = level + 1;
		l->made = (uint64_t)RAMA_SEG_RING_FIRST << level;
	}
	st->lanes_used = n;
}

static void fill_names(unsigned char *base)
{
	struct rama_seg_header *h = (void *)base;
	struct rama_seg_area_get *pool = &h->area[RAMA_SEG_AREA_RECORDS];
	struct rama_seg_state *st = area(base, RAMA_SEG_AREA_STATE);
	uint64_t step = (sizeof(struct rama_seg_name) + 8 + 7) & ~7ull, most = 32u << 20;

	memset(h->pool, RAMA_SEG_POOL_NAMES, sizeof(h->pool));
	for (uint64_t at = 0; at + step <= pool->len && at + step <= most; at += step) {
		struct rama_seg_name *n = (void *)(base + pool->off + at);

		n->id = at / 8 * 2654435761u + (uint64_t)getpid();
		n->len = 2;
		n->number = (uint32_t)(at / 8 + 1);
		memcpy(n->text, "/x", 3);
		st->names_used = at + step;
	}
}

#define PAGES 65536 /* that are not empty */
static const unsigned char none[4096];
static uint64_t page[PAGES];
static size_t n_pages;

static size_t least(uint64_t n)
{
	return n < 4096 ? (size_t)n : 4096;
}

int main(int argc, char **argv)
{
	unsigned char *from = argc == 6 ? map(argv[1], 0, 0) : NULL;
	struct rama_seg_header *h = (void *)from;
	char path[4400], part[4400], c;

	if (from == NULL)
		return 2;
	for (uint64_t at = 0; at < h->size && n_pages < PAGES; at += 4096)
		if (memcmp(from + at, none, least(h->size - at)) != 0)
			page[n_pages++] = at;
	for (int i = atoi(argv[3]); i < atoi(argv[4]); i++) {
		struct rama_seg_identity *id = area(from, RAMA_SEG_AREA_IDENTITY);
		unsigned char *to;

		snprintf(path, sizeof(path), "%s/run-%d", argv[2], i);
		mkdir(path, 0700);
		snprintf(path, sizeof(path), "%s/run-%d/%s.%d.%d.seg", argv[2], i, id->host,
			 (int)getpid(), i);
		snprintf(part, sizeof(part), "%s/run-%d/part", argv[2], i);
		to = map(part, h->size, O_CREAT);
		for (size_t k = 0; k < n_pages; k++)
			memcpy(to + page[k], from + page[k], least(h->size - page[k]));
		id = area(to, RAMA_SEG_AREA_IDENTITY);
		id->pid = getpid();
		id->pid_start = begun();
		id->clock.tick0 += (uint64_t)i + 1;
		if (strcmp(argv[5], "flood") == 0)
			flood(to);
		else if (strcmp(argv[5], "names") == 0)
			fill_names(to);
		munmap(to, h->size);
		if (rename(part, path) != 0)
			return 1;
	}
	puts("done");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
