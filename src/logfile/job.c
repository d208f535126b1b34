/* SPDX-License-Identifier: BSD-3-Clause */
/* job.c: the job region: who ran what, when, and the file systems that were mounted. */
#include <stdlib.h>
#include <string.h>

#include "logfile/log.h"
#include "logfile/region.h"

static void read_numbers(struct rama_log *log, const unsigned char *p)
{
	struct rama_log_job *j = &log->job;
	bool old = log->minor < 41;

	j->uid = (int64_t)rama_log_u64(log, p);
	j->start_sec = (int64_t)rama_log_u64(log, p + 8);
	if (old) {
		j->end_sec = (int64_t)rama_log_u64(log, p + 16);
		p += 24;
	} else {
		j->start_nsec = (int64_t)rama_log_u64(log, p + 16);
		j->end_sec = (int64_t)rama_log_u64(log, p + 24);
		j->end_nsec = (int64_t)rama_log_u64(log, p + 32);
		p += 40;
	}
	j->nprocs = (int64_t)rama_log_u64(log, p);
	j->jobid = (int64_t)rama_log_u64(log, p + 8);
	memcpy(j->metadata, p + 16, RAMA_LOG_META_SIZE - 1);
	if (old) /* whole seconds: a job of less than one counts as one */
		j->run_time = (double)(int64_t)((uint64_t)j->end_sec - (uint64_t)j->start_sec + 1);
	else
		j->run_time = ((double)j->end_sec + (double)j->end_nsec / 1e9) -
			      ((double)j->start_sec + (double)j->start_nsec / 1e9);
}

static int by_length(const void *a, const void *b)
{
	const struct rama_log_mount *x = a, *y = b;

	if (x->path_len != y->path_len)
		return x->path_len < y->path_len ? 1 : -1;
	return x->order < y->order ? -1 : 1;
}

/* `line` is "type<tab>path", two words; NUL-terminated in place */
static bool split_mount(char *line, struct rama_log_mount *m)
{
	char *save = NULL, *type = strtok_r(line, " \t\r\v\f", &save),
	     *path = strtok_r(NULL, " \t\r\v\f", &save);

	*m = (struct rama_log_mount){ .type = type,
				      .path = path,
				      .path_len = path != NULL ? strlen(path) : 0 };
	return path != NULL;
}

static int read_text(struct rama_log *log, char *text)
{
	char *line = strchr(text, '\n');
	size_t lines = 1;

	log->job.exe = text;
	if (line == NULL)
		return 0;
	log->job.has_mount_lines = true;
	*line++ = '\0';
	for (const char *p = line; *p != '\0'; p++)
		lines += *p == '\n';
	log->mounts = rama_arena_alloc(&log->arena, lines * sizeof(*log->mounts));
	if (log->mounts == NULL)
		return rama_err_set(&log->err, RAMA_EMEMORY, "out of memory");
	while (line != NULL) {
		char *next = strchr(line, '\n');

		if (next != NULL)
			*next++ = '\0';
		if (split_mount(line, &log->mounts[log->n_mounts])) {
			log->mounts[log->n_mounts].order = (unsigned)log->n_mounts;
			log->n_mounts++;
		}
		line = next;
	}
	qsort(log->mounts, log->n_mounts, sizeof(*log->mounts), by_length);
	return 0;
}

int rama_log_read_job(struct rama_log *log)
{
	size_t fixed = log->minor >= 41 ? RAMA_LOG_JOB_NEW : RAMA_LOG_JOB_OLD, n;
	unsigned char buf[RAMA_LOG_JOB_REGION + 1];
	struct rama_log_region r;
	char *text;
	int rc = 0;

	log->job.exe = "";
	if (rama_log_region_open(&r, log->src, log->job_part.off, log->job_part.len,
				 log->compression) != 0)
		return rama_err_set(&log->err, RAMA_EMEMORY, "out of memory");
	memset(buf, 0, sizeof(buf));
	n = rama_log_region_read(&r, buf, RAMA_LOG_JOB_REGION);
	if (r.err.code != 0)
		rc = rama_log_problem(log, r.err.code, "job data: %s", r.err.text);
	else if (n < fixed)
		rc = rama_log_problem(log, RAMA_ETRUNC, "job data: ends early, %zu of %zu bytes", n,
				      fixed);
	rama_log_region_close(&r);
	if (rc != 0)
		return rc;
	read_numbers(log, buf);
	text = rama_arena_text(&log->arena, (char *)buf + fixed, strlen((char *)buf + fixed));
	if (text == NULL)
		return rama_err_set(&log->err, RAMA_EMEMORY, "out of memory");
	return read_text(log, text);
}
