/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/run_segs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "gather/gather.h"

/* what a segment says goes to terminals */
static void make_plain(char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

static void read_one(struct rama_seg_info *info, const char *path, struct rama_segment *seg)
{
	struct rama_file file;
	struct rama_err e = { 0 };
	struct stat st;

	*info = (struct rama_seg_info){ .path = path };
	if (stat(path, &st) == 0)
		info->size = (uint64_t)st.st_blocks * 512;
	if (rama_file_open(&file, path, &e) != 0) {
		info->bad = true;
	} else {
		info->bad = rama_segment_open(seg, &file.src, &e) != 0;
		if (!info->bad) {
			info->alive = rama_gather_alive(seg);
			info->phase = seg->state.phase;
			info->logged = (seg->id.flags & RAMA_SEG_LOGGED) != 0;
			info->pid = seg->id.pid;
			info->jobid = seg->id.jobid;
			info->start = seg->id.clock.real0;
			snprintf(info->host, sizeof(info->host), "%s", seg->id.host);
		}
		rama_file_close(&file);
	}
	snprintf(info->text, sizeof(info->text), "%.255s", info->bad ? e.text : seg->id.command);
	make_plain(info->text);
	make_plain(info->host);
}

bool rama_seg_infos_has(const struct rama_seg_infos *s, int64_t pid)
{
	for (size_t i = 0; i < s->n; i++)
		if (!s->info[i].bad && s->info[i].pid == pid)
			return true;
	return false;
}

/* Segments are sorted by name, HOST.PID.IMAGE.seg, so images of one process stand together. */
static bool same_process(const struct rama_seg_info *a, const struct rama_seg_info *b)
{
	return !a->bad && !b->bad && a->pid == b->pid && strcmp(a->host, b->host) == 0;
}

/* the images of one process, from `first` up to `end` */
static void count_process(struct rama_seg_infos *s, size_t first, size_t end)
{
	const struct rama_seg_info *last = &s->info[first];

	for (size_t i = first + 1; i < end; i++)
		if (s->info[i].start >= last->start)
			last = &s->info[i];
	s->processes++;
	s->alive += last->alive > 0;
	s->unknown += last->alive < 0;
}

static void count(struct rama_seg_infos *s)
{
	for (size_t i = 0, end; i < s->n; i = end) {
		end = i + 1;
		while (end < s->n && same_process(&s->info[i], &s->info[end]))
			end++;
		if (s->info[i].bad)
			s->bad++;
		else
			count_process(s, i, end);
	}
	for (size_t i = 0; i < s->n; i++) {
		const struct rama_seg_info *info = &s->info[i];

		s->size += info->size;
		if (!info->bad && (s->start == 0 || info->start < s->start))
			s->start = info->start;
	}
}

int rama_seg_infos_read(struct rama_seg_infos *s, const struct rama_gather_list *segs)
{
	struct rama_segment *seg = malloc(sizeof(*seg));

	*s = (struct rama_seg_infos){ .info = calloc(segs->n + 1, sizeof(*s->info)) };
	if (s->info == NULL || seg == NULL) {
		free(seg);
		return RAMA_EMEMORY;
	}
	for (s->n = 0; s->n < segs->n; s->n++)
		read_one(&s->info[s->n], segs->path[s->n], seg);
	free(seg);
	count(s);
	return 0;
}

void rama_seg_infos_fini(struct rama_seg_infos *s)
{
	free(s->info);
	*s = (struct rama_seg_infos){ 0 };
}
