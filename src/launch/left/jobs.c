/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/left/jobs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "config/value.h"

static struct rama_launch_job *add(struct rama_launch_jobs *jobs, const char *dir)
{
	struct rama_launch_job *j;

	if (!RAMA_GROW(jobs->job, jobs->room, jobs->n + 1))
		return NULL;
	j = &jobs->job[jobs->n];
	*j = (struct rama_launch_job){ .dir = dir != NULL ? strdup(dir) : NULL };
	if (dir != NULL && j->dir == NULL)
		return NULL;
	if (j->dir != NULL) {
		j->name = strrchr(j->dir, '/') != NULL ? strrchr(j->dir, '/') + 1 : j->dir;
		j->locked = rama_gather_place_locked(j->dir);
	}
	jobs->n++;
	return j;
}

/* the segments become the job's even if this fails */
static int add_job(struct rama_launch_jobs *jobs, const char *dir, struct rama_gather_list *segs,
		   struct rama_err *e)
{
	struct rama_launch_job *j = add(jobs, dir);

	if (j == NULL) {
		rama_gather_list_fini(segs);
		return rama_err_no_memory(e);
	}
	j->segs = *segs;
	if (rama_launch_seg_infos_read(&j->infos, &j->segs) != 0)
		return rama_err_no_memory(e);
	return 0;
}

static bool is_own_dir(int at, const char *name)
{
	struct stat st;

	return name[0] != '.' && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

static int add_children(struct rama_launch_jobs *jobs, const char *root, struct rama_err *e)
{
	struct dirent **names;
	int n = scandir(root, &names, NULL, alphasort), rc = 0;
	int at = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; i < n; i++) {
		struct rama_gather_list segs = { 0 };
		char dir[PATH_MAX];

		/* a spare directory comes with the one that it is of */
		if (rc == 0 && at >= 0 && is_own_dir(at, names[i]->d_name) &&
		    snprintf(dir, sizeof(dir), "%s/%s", root, names[i]->d_name) < PATH_MAX &&
		    !rama_gather_spare_is(dir)) {
			rc = rama_gather_find(&segs, dir, e);
			if (rc == 0)
				rc = add_job(jobs, dir, &segs, e);
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	if (at >= 0)
		close(at);
	return n < 0 ? rama_err_set(e, RAMA_EIO, "%s: %s", root, strerror(errno)) : rc;
}

int rama_launch_jobs_add_dir(struct rama_launch_jobs *jobs, const char *dir, struct rama_err *e)
{
	struct rama_gather_list segs = { 0 };
	char clean[PATH_MAX];
	size_t n = strlen(dir);
	int rc;

	while (n > 1 && dir[n - 1] == '/')
		n--;
	snprintf(clean, sizeof(clean), "%.*s", (int)n, dir);
	rc = rama_gather_find(&segs, clean, e);
	if (rc != 0)
		return rc;
	if (segs.n > 0)
		return add_job(jobs, clean, &segs, e);
	rama_gather_list_fini(&segs);
	return add_children(jobs, clean, e);
}

int rama_launch_jobs_add_files(struct rama_launch_jobs *jobs, const char *const *paths, size_t n,
			       struct rama_err *e)
{
	struct rama_gather_list segs = { .path = calloc(n, sizeof(*segs.path)) };

	for (size_t i = 0; segs.path != NULL && i < n; i++) {
		segs.path[i] = strdup(paths[i]);
		segs.n += segs.path[i] != NULL;
	}
	if (segs.n < n) {
		rama_gather_list_fini(&segs);
		return rama_err_no_memory(e);
	}
	return add_job(jobs, NULL, &segs, e);
}

int rama_launch_jobs_add_default(struct rama_launch_jobs *jobs, struct rama_err *e)
{
	const char *chosen = rama_config_value(RAMA_TAB_SET_DIR);
	struct rama_gather_roots roots;
	int rc = 0;

	if (*chosen != '\0')
		return access(chosen, F_OK) == 0 ? rama_launch_jobs_add_dir(jobs, chosen, e) : 0;
	rama_gather_roots_find(&roots, (uint32_t)geteuid());
	for (size_t i = 0; rc == 0 && i < roots.n; i++)
		rc = rama_launch_jobs_add_dir(jobs, roots.path[i], e);
	rama_gather_roots_fini(&roots);
	return rc;
}

const char *rama_launch_job_state(const struct rama_launch_job *j)
{
	if (j->locked || j->infos.alive > 0)
		return "running";
	if (j->segs.n == 0)
		return "empty";
	if (j->infos.unknown > 0)
		return "elsewhere"; /* on another machine, which alone knows */
	return j->infos.processes == 0 && j->infos.bad > 0 ? "bad" : "dead";
}

const char *rama_launch_job_name(const struct rama_launch_job *j)
{
	return j->dir != NULL ? j->dir : j->segs.path[0];
}

const struct rama_launch_seg_info *rama_launch_job_first(const struct rama_launch_job *j)
{
	const struct rama_launch_seg_info *first = NULL;

	for (size_t i = 0; i < j->infos.n; i++) {
		const struct rama_launch_seg_info *info = &j->infos.info[i];

		if (!info->bad && (first == NULL || info->start < first->start))
			first = info;
	}
	return first;
}

static void job_fini(struct rama_launch_job *j)
{
	rama_launch_seg_infos_fini(&j->infos);
	rama_gather_list_fini(&j->segs);
	free(j->dir);
}

void rama_launch_jobs_remove(struct rama_launch_jobs *jobs, size_t i)
{
	job_fini(&jobs->job[i]);
	jobs->n--;
	memmove(&jobs->job[i], &jobs->job[i + 1], (jobs->n - i) * sizeof(*jobs->job));
}

void rama_launch_jobs_fini(struct rama_launch_jobs *jobs)
{
	for (size_t i = 0; i < jobs->n; i++)
		job_fini(&jobs->job[i]);
	free(jobs->job);
	*jobs = (struct rama_launch_jobs){ 0 };
}
