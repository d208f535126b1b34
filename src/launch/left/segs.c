/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/left/segs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gather/pack.h"
#include "logfile/meta.h"

/* what a segment says goes to terminals */
static void make_plain(char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

static void read_step(struct rama_launch_seg_info *info, const char *batch)
{
	size_t n = 0;
	const char *step = rama_log_meta_get(batch, rama_log_batch_keys[RAMA_LOG_BATCH_STEP], &n);

	snprintf(info->step, sizeof(info->step), "%.*s", (int)n, step != NULL ? step : "");
}

static void read_one(struct rama_launch_seg_info *info, const char *path, struct rama_seg *seg)
{
	struct rama_gather_segment_file file;
	struct rama_err e = { 0 };
	struct stat st;

	*info = (struct rama_launch_seg_info){ .path = path };
	if (stat(path, &st) == 0)
		info->size = (uint64_t)st.st_blocks * 512;
	if (rama_gather_file_open(&file, path, &e) != 0) {
		info->bad = true;
	} else {
		info->bad = rama_seg_open(seg, &file.src, &e) != 0;
		if (!info->bad) {
			info->alive = rama_gather_alive(seg);
			info->phase = seg->state.phase;
			info->logged = (seg->id.flags & RAMA_SEG_LOGGED) != 0;
			info->pid = seg->id.pid;
			info->pid_start = seg->id.pid_start;
			info->jobid = seg->id.jobid;
			info->start = seg->id.clock.real0;
			read_step(info, seg->id.batch);
			snprintf(info->host, sizeof(info->host), "%s", seg->id.host);
		}
		rama_gather_file_close(&file);
	}
	snprintf(info->text, sizeof(info->text), "%.255s", info->bad ? e.text : seg->id.command);
	make_plain(info->text);
	make_plain(info->host);
}

bool rama_launch_seg_infos_has(const struct rama_launch_seg_infos *s, int64_t pid)
{
	for (size_t i = 0; i < s->n; i++)
		if (!s->info[i].bad && s->info[i].pid == pid)
			return true;
	return false;
}

static bool same_process(const struct rama_launch_seg_info *a, const struct rama_launch_seg_info *b)
{
	return !a->bad && !b->bad && a->pid == b->pid && a->pid_start == b->pid_start &&
	       strcmp(a->host, b->host) == 0;
}

/* one of a list that is in another order than they are */
struct place {
	const struct rama_launch_seg_info *info;
};

/* images of one process together, in the order in which it ran them; a process id may be used
 * again */
static int by_process(const void *a, const void *b)
{
	const struct rama_launch_seg_info *x = ((const struct place *)a)->info,
					  *y = ((const struct place *)b)->info;
	int rc = x->bad - y->bad;

	if (rc == 0)
		rc = strcmp(x->host, y->host);
	if (rc == 0)
		rc = (x->pid > y->pid) - (x->pid < y->pid);
	if (rc == 0)
		rc = (x->pid_start > y->pid_start) - (x->pid_start < y->pid_start);
	return rc != 0 ? rc : (x->start > y->start) - (x->start < y->start);
}

/* the last image of a process says how it ended */
static void count_process(struct rama_launch_seg_infos *s, const struct rama_launch_seg_info *last)
{
	s->processes++;
	s->alive += last->alive > 0;
	s->unknown += last->alive < 0;
}

static int count(struct rama_launch_seg_infos *s)
{
	struct place *order = calloc(s->n + 1, sizeof(*order));

	if (order == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; i < s->n; i++)
		order[i].info = &s->info[i];
	qsort(order, s->n, sizeof(*order), by_process);
	for (size_t i = 0; i < s->n; i++) {
		const struct rama_launch_seg_info *info = order[i].info;

		if (info->bad)
			s->bad++;
		else if (i + 1 == s->n || !same_process(info, order[i + 1].info))
			count_process(s, info);
		s->size += info->size;
		if (!info->bad && (s->start == 0 || info->start < s->start))
			s->start = info->start;
	}
	free(order);
	return 0;
}

int rama_launch_seg_infos_read(struct rama_launch_seg_infos *s, const struct rama_gather_list *segs)
{
	struct rama_seg *seg = malloc(sizeof(*seg));

	*s = (struct rama_launch_seg_infos){ .info = calloc(segs->n + 1, sizeof(*s->info)) };
	if (s->info == NULL || seg == NULL) {
		free(seg);
		return RAMA_EMEMORY;
	}
	for (s->n = 0; s->n < segs->n; s->n++)
		read_one(&s->info[s->n], segs->path[s->n], seg);
	free(seg);
	return count(s);
}

void rama_launch_seg_infos_fini(struct rama_launch_seg_infos *s)
{
	free(s->info);
	*s = (struct rama_launch_seg_infos){ 0 };
}
