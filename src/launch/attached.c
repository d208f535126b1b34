/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/attached.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/world.h"
#include "config/jobid.h"
#include "launch/left/segs.h"

#define GLANCE 2000 /* ms between looks whether somebody else has made the log */

int rama_launch_attached_make(struct rama_launch_attached *a, pid_t pid, pid_t launcher,
			      struct rama_err *e)
{
	struct rama_attach_variables v;
	struct rama_config_jobid job;

	rama_attach_variables_read(&v, pid);
	a->jobid =
		rama_config_jobid_find(&job, "", rama_attach_variables_get, &v) ? job.id : launcher;
	rama_attach_variables_fini(&v);
	return rama_launch_place_make(&a->place, e);
}

void rama_launch_attached_ready(struct rama_launch_attached *a)
{
	struct rama_gather_list segs = { 0 };
	struct rama_err e = { 0 };

	if (rama_gather_find(&segs, a->place.dir, &e) == 0 && segs.n == 0)
		rama_gather_place_remove(a->place.dir, &segs, NULL, false);
	rama_gather_list_fini(&segs);
	rama_launch_place_unlock(&a->place);
}

/* ---- the log --------------------------------------------------------------------------------- */

/* Is a process at work that still fills its segment? */
static bool is_filled(const struct rama_launch_seg_infos *infos)
{
	for (size_t i = 0; i < infos->n; i++)
		if (!infos->info[i].bad && infos->info[i].alive > 0 &&
		    infos->info[i].phase != RAMA_SEG_DONE)
			return true;
	return false;
}

static int make_log(const struct rama_gather_list *segs, const struct rama_launch_seg_infos *infos,
		    const char *log_dir, char path[PATH_MAX], struct rama_err *e)
{
	const struct rama_launch_seg_info *first = &infos->info[0];
	struct rama_launch_log_place place = { .dir = log_dir[0] != '\0' ? log_dir : "." };
	struct rama_gather_options opt = {
		.reduce = getenv("DARSHAN_DISABLE_SHARED_REDUCTION") == NULL, .jobid = first->jobid
	};
	char program[NAME_MAX + 1];
	struct rama_launch_log_about about = {
		.program = program, .jobid = first->jobid, .pid = first->pid, .start = infos->start
	};
	struct rama_gather_result result = { 0 };

	rama_launch_log_program(program, sizeof(program), first->text);
	return rama_launch_log_make(&place, segs, &about, &opt, path, &result, e);
}

enum rama_launch_attached_state rama_launch_attached_log(const char *dir, const char *log_dir,
							 char path[PATH_MAX], struct rama_err *e)
{
	enum rama_launch_attached_state state = RAMA_LAUNCH_ATTACHED_GONE;
	struct rama_gather_list segs = { 0 };
	struct rama_launch_seg_infos infos = { 0 };
	int lock = access(dir, F_OK) == 0 ? rama_gather_place_lock(dir) : -1;

	if (lock < 0) /* who holds it makes the log */
		return state;
	if (rama_gather_find(&segs, dir, e) != 0 ||
	    rama_launch_seg_infos_read(&infos, &segs) != 0) {
		state = RAMA_LAUNCH_ATTACHED_FAILED;
	} else if (is_filled(&infos)) {
		state = RAMA_LAUNCH_ATTACHED_RUNS;
	} else if (infos.processes > 0) {
		state = make_log(&segs, &infos, log_dir, path, e) == 0
				? RAMA_LAUNCH_ATTACHED_MADE
				: RAMA_LAUNCH_ATTACHED_FAILED;
	}
	if (state == RAMA_LAUNCH_ATTACHED_MADE || state == RAMA_LAUNCH_ATTACHED_GONE)
		rama_gather_place_remove(dir, &segs, NULL, false);
	rama_launch_seg_infos_fini(&infos);
	rama_gather_list_fini(&segs);
	close(lock);
	return state;
}

/* ---- in the background ----------------------------------------------------------------------- */

static void leave_terminal(void)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	signal(SIGHUP, SIG_IGN);
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	syscall(SYS_close_range, 3u, ~0u, 0u);
}

/* Until all have ended or nobody needs us. A process that ended before we looked has no descriptor,
 * which is as good. */
static void wait_for_all(const char *dir, const pid_t *pid, size_t n)
{
	struct pollfd *end = calloc(n, sizeof(*end));
	size_t left = 0;

	for (size_t i = 0; end != NULL && i < n; i++) {
		end[i].fd = (int)syscall(SYS_pidfd_open, pid[i], 0);
		end[i].events = POLLIN;
		left += end[i].fd >= 0;
	}
	while (left > 0 && access(dir, F_OK) == 0) {
		poll(end, n, GLANCE);
		for (size_t i = 0; i < n; i++)
			if (end[i].fd >= 0 && end[i].revents != 0) {
				end[i].fd = -1;
				left--;
			}
	}
	free(end);
}

void rama_launch_attached_watch(const char *dir, const char *log_dir, const pid_t *pid, size_t n)
{
	char path[PATH_MAX];
	struct rama_err e = { 0 };

	if (fork() != 0)
		return; /* if it cannot be made `iorama recover` finds the segments */
	leave_terminal();
	wait_for_all(dir, pid, n);
	/* children of theirs may go on */
	while (rama_launch_attached_log(dir, log_dir, path, &e) == RAMA_LAUNCH_ATTACHED_RUNS)
		poll(NULL, 0, GLANCE);
	_exit(0);
}
