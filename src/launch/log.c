/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config/logname.h"
#include "config/value.h"

#define SUFFIX ".darshan"
#define NAMES_MOST 1000

/* can a new file be made in the directory? */
static int check_dir(const char *dir, const struct rama_launch_told *told)
{
	struct stat st;

	if (stat(dir, &st) != 0)
		rama_launch_problem(told, dir, "the log cannot go there: %s", strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		rama_launch_problem(told, dir, "the log cannot go there: it is no directory");
	else if (access(dir, W_OK | X_OK) != 0)
		rama_launch_problem(
			told, dir,
			"the log cannot go there: %s; -o or --log-dir name another place",
			strerror(errno));
	else
		return 0;
	return RAMA_EIO;
}

static int check_file(const struct rama_launch_log_place *p, const struct rama_launch_told *told)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(p->file, '/');
	struct stat st;

	if (stat(p->file, &st) == 0 && S_ISDIR(st.st_mode)) {
		rama_launch_problem(told, p->file, "is a directory; --log-dir takes one");
		return RAMA_EIO;
	}
	if (!p->force && lstat(p->file, &st) == 0) {
		rama_launch_problem(told, p->file, "exists already; -f replaces it");
		return RAMA_EIO;
	}
	if (slash == NULL)
		return check_dir(".", told);
	snprintf(dir, sizeof(dir), "%.*s", slash == p->file ? 1 : (int)(slash - p->file), p->file);
	return check_dir(dir, told);
}

int rama_launch_log_check(struct rama_launch_log_place *p, const struct rama_launch_told *told)
{
	if (p->file != NULL)
		return check_file(p, told);
	if (p->dir == NULL)
		p->dir = rama_config_value(RAMA_TAB_SET_LOG_DIR);
	if (*p->dir == '\0')
		p->dir = ".";
	return check_dir(p->dir, told);
}

void rama_launch_log_program(char *to, size_t size, const char *command)
{
	size_t n = strcspn(command, " "), start = n;

	while (start > 0 && command[start - 1] != '/')
		start--;
	snprintf(to, size, "%.*s", (int)(n - start), command + start);
}

/* The name, or if there is such a file the name with a number. */
static int free_name(char path[PATH_MAX], const char *wanted)
{
	size_t n = strlen(wanted), end = strlen(SUFFIX);
	struct stat st;

	if (n < end || strcmp(wanted + n - end, SUFFIX) != 0)
		end = 0;
	for (unsigned i = 1; i < NAMES_MOST; i++) {
		int len = i == 1 ? snprintf(path, PATH_MAX, "%s", wanted)
				 : snprintf(path, PATH_MAX, "%.*s-%u%s", (int)(n - end), wanted, i,
					    wanted + n - end);

		if (len < 0 || len >= PATH_MAX)
			return -1;
		if (lstat(path, &st) != 0)
			return 0;
	}
	return -1;
}

/* -o; else a short name where the user is, and one that many users and jobs can share a directory
 * with in any other place */
static int choose(const struct rama_launch_log_place *p, const struct rama_launch_log_about *about,
		  char path[PATH_MAX])
{
	time_t start = (time_t)(about->start / 1000000000);
	char name[RAMA_CONFIG_LOGNAME_MOST], host[65] = "", wanted[PATH_MAX];
	struct timespec now;
	struct rama_config_logname n = { .user = getenv("LOGNAME"),
					 .uid = geteuid(),
					 .exe = about->program,
					 .jobid = about->jobid,
					 .pid = about->pid,
					 .host = host };

	if (p->file != NULL) {
		if (p->force)
			return snprintf(path, PATH_MAX, "%s", p->file) < PATH_MAX ? 0 : -1;
		return free_name(path, p->file);
	}
	if (strcmp(p->dir, ".") == 0) {
		snprintf(name, sizeof(name), "%.100s-%lld-%lld" SUFFIX, about->program,
			 (long long)about->jobid, (long long)about->pid);
		return free_name(path, name);
	}
	gethostname(host, sizeof(host) - 1);
	clock_gettime(CLOCK_REALTIME, &now);
	if (start == 0)
		start = now.tv_sec;
	n.end_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
	localtime_r(&start, &n.start);
	rama_config_logname_final(name, sizeof(name), &n, 0);
	if (snprintf(wanted, sizeof(wanted), "%s/%s", p->dir, name) >= (int)sizeof(wanted))
		return -1;
	return free_name(path, wanted);
}

int rama_launch_log_make(const struct rama_launch_log_place *p, const struct rama_gather_list *segs,
			 const struct rama_launch_log_about *about,
			 const struct rama_gather_options *opt, char path[PATH_MAX],
			 struct rama_gather_result *result, struct rama_err *e)
{
	int rc;

	if (choose(p, about, path) != 0)
		return rama_err_set(e, RAMA_EIO, "no name for the log can be found in %s",
				    p->file != NULL ? p->file : p->dir);
	if (segs->n == 0 && opt->n_logs == 1) /* the ranks have done all there is to do */
		rc = rename(opt->logs[0], path) == 0
			     ? 0
			     : rama_err_set(e, RAMA_EIO, "%s", strerror(errno));
	else
		rc = rama_gather_job((const char *const *)segs->path, segs->n, path, opt, result,
				     e);
	return rc < 0 ? rama_err_prefix(e, "%s", path) : 0;
}
