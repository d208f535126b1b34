/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/doctor.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/map.h"

extern char **environ;

/* ---- functions ------------------------------------------------------------------------------ */

struct names {
	struct rama_map map;
	size_t n, both;
};

/* A name as a number. Two names that share one would only make a count wrong by one. */
static uint64_t number_of(const char *name)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *name != '\0'; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3u;
	return h;
}

static void put_name(void *ctx, const char *name)
{
	struct names *n = ctx;
	bool fresh;

	if (rama_map_put(&n->map, number_of(name), &fresh) != NULL)
		n->n += fresh;
}

static void look_name(void *ctx, const char *name)
{
	struct names *n = ctx;
	uint64_t *seen = rama_map_get(&n->map, number_of(name));

	if (seen != NULL && *seen == 0) { /* a name may have several versions */
		*seen = 1;
		n->both++;
	}
}

int rama_cli_doctor_functions(const struct rama_cli_doctor *d, size_t *ours, size_t *both,
			      struct rama_err *e)
{
	struct names names = { 0 };
	Dl_info libc;
	int rc;

	if (dladdr((void *)(uintptr_t)gnu_get_libc_version, &libc) == 0 || libc.dli_fname == NULL)
		return rama_err_set(e, RAMA_EIO, "the C library cannot be found");
	rc = rama_launch_elf_symbols(d->library, put_name, &names, e);
	if (rc != 0)
		rama_err_prefix(e, "%s", d->library);
	else if ((rc = rama_launch_elf_symbols(libc.dli_fname, look_name, &names, e)) != 0)
		rama_err_prefix(e, "%s", libc.dli_fname);
	rama_map_fini(&names.map);
	*ours = names.n;
	*both = names.both;
	return rc;
}

/* ---- a try ---------------------------------------------------------------------------------- */

#define TRY_VARS 4

/* our variables, then those of this process that are not ours */
static char **environment(char *const *vars)
{
	static const char *const not_these[] = { "LD_PRELOAD=", "IORAMA_", "DARSHAN_" };
	size_t n = 0, k = 0;
	char **envp;

	while (environ[n] != NULL)
		n++;
	envp = calloc(n + TRY_VARS + 1, sizeof(*envp));
	for (; envp != NULL && k < TRY_VARS; k++)
		envp[k] = vars[k];
	for (size_t i = 0; envp != NULL && i < n; i++) {
		bool skip = false;

		for (size_t m = 0; m < sizeof(not_these) / sizeof(not_these[0]); m++)
			skip |= strncmp(environ[i], not_these[m], strlen(not_these[m])) == 0;
		if (!skip)
			envp[k++] = environ[i];
	}
	return envp;
}

/* Runs `cat /dev/null`; what it says on standard error comes back in `said`. 0 or errno. */
static int run_cat(char *const *vars, char *said, size_t size)
{
	char *const argv[] = { "cat", "/dev/null", NULL };
	posix_spawn_file_actions_t actions;
	char **envp = environment(vars);
	int tell[2], rc, status = 0;
	ssize_t n;
	pid_t pid;

	said[0] = '\0';
	if (envp == NULL || pipe2(tell, O_CLOEXEC) != 0) {
		free(envp);
		return errno;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, tell[1], 2);
	rc = posix_spawnp(&pid, argv[0], &actions, NULL, argv, envp);
	posix_spawn_file_actions_destroy(&actions);
	close(tell[1]);
	if (rc == 0) {
		n = read(tell[0], said, size - 1);
		said[n > 0 ? n : 0] = '\0';
		said[strcspn(said, "\n")] = '\0';
		waitpid(pid, &status, 0);
		if (WIFSIGNALED(status))
			snprintf(said, size, "the program died of signal %d", WTERMSIG(status));
	}
	close(tell[0]);
	free(envp);
	return rc;
}

static enum rama_cli_health judge(struct rama_cli_doctor *d, const struct rama_launch_place *place,
				  const char *said)
{
	struct rama_gather_list segs = { 0 };
	struct rama_launch_seg_infos infos = { 0 };
	struct rama_err e = { 0 };
	enum rama_cli_health health = RAMA_CLI_FAIL;

	if (rama_gather_find(&segs, place->dir, &e) != 0 ||
	    rama_launch_seg_infos_read(&infos, &segs) != 0)
		snprintf(d->text, sizeof(d->text), "%s", e.text);
	else if (segs.n == 0)
		snprintf(d->text, sizeof(d->text), "a preloaded program left no segment%s%.300s",
			 said[0] != '\0' ? ": " : "", said);
	else if (infos.bad > 0)
		snprintf(d->text, sizeof(d->text), "a preloaded program left a bad segment: %s",
			 infos.info[0].text);
	else if (infos.info[0].phase != RAMA_SEG_DONE)
		snprintf(d->text, sizeof(d->text),
			 "a preloaded program did not finish its segment");
	else
		health = RAMA_CLI_OK;
	if (health == RAMA_CLI_OK)
		snprintf(d->text, sizeof(d->text), "a preloaded program left its segment");
	rama_gather_place_remove(place->dir, &segs, NULL, false);
	rama_launch_seg_infos_fini(&infos);
	rama_gather_list_fini(&segs);
	return health;
}

enum rama_cli_health rama_cli_doctor_observe(struct rama_cli_doctor *d)
{
	char preload[PATH_MAX + 16], dir[PATH_MAX], job[PATH_MAX], said[512];
	char jobid[] = "IORAMA_JOBID=0";
	char *const vars[TRY_VARS] = { preload, dir, job, jobid };
	struct rama_launch_place place;
	struct rama_err e = { 0 };
	enum rama_cli_health health = RAMA_CLI_FAIL;
	int rc;

	if (rama_launch_place_make(&place, &e) != 0) {
		snprintf(d->text, sizeof(d->text), "no place for segments: %s", e.text);
		return RAMA_CLI_FAIL;
	}
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", d->library);
	snprintf(dir, sizeof(dir), "IORAMA_DIR=%s", place.root);
	snprintf(job, sizeof(job), "IORAMA_JOB=%s", place.job);
	rc = run_cat(vars, said, sizeof(said));
	if (rc != 0) {
		static const struct rama_gather_list none;

		snprintf(d->text, sizeof(d->text), "no program can be started: %s", strerror(rc));
		rama_gather_place_remove(place.dir, &none, NULL, false);
	} else {
		health = judge(d, &place, said);
	}
	rama_launch_place_unlock(&place);
	return health;
}
