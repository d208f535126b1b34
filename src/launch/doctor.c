/* SPDX-License-Identifier: BSD-3-Clause */
/* doctor.c: a check is a row of `checks` and a function that looks at one thing. */
#include "launch/doctor.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/map.h"
#include "config/value.h"
#include "launch/find.h"
#include "launch/left/jobs.h"

extern char **environ;

struct doctor {
	const char *root;   /* before every path of the machine; "": this machine */
	const char *chosen; /* library the user named, or NULL */
	char library[PATH_MAX];
	char text[512]; /* what the last check found */
};

/* ---- reading the machine -------------------------------------------------------------------- */

static void found(struct doctor *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void found(struct doctor *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(d->text, sizeof(d->text), fmt, ap);
	va_end(ap);
}

/* first line of a file under the root; false: it is not there */
static bool read_line(const struct doctor *d, const char *path, char *to, size_t size)
{
	char full[PATH_MAX];
	FILE *f;
	bool ok;

	snprintf(full, sizeof(full), "%s%s", d->root, path);
	f = fopen(full, "re");
	if (f == NULL)
		return false;
	ok = fgets(to, (int)size, f) != NULL;
	fclose(f);
	if (ok)
		to[strcspn(to, "\n")] = '\0';
	return ok;
}

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

static int count_functions(const struct doctor *d, size_t *ours, size_t *both, struct rama_err *e)
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

static enum rama_launch_health judge(struct doctor *d, const struct rama_launch_place *place,
				     const char *said)
{
	struct rama_gather_list segs = { 0 };
	struct rama_launch_seg_infos infos = { 0 };
	struct rama_err e = { 0 };
	enum rama_launch_health health = RAMA_LAUNCH_FAIL;

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
		health = RAMA_LAUNCH_OK;
	if (health == RAMA_LAUNCH_OK)
		snprintf(d->text, sizeof(d->text), "a preloaded program left its segment");
	rama_gather_place_remove(place->dir, &segs, NULL, false);
	rama_launch_seg_infos_fini(&infos);
	rama_gather_list_fini(&segs);
	return health;
}

static enum rama_launch_health try_library(struct doctor *d)
{
	char preload[PATH_MAX + 16], dir[PATH_MAX], job[PATH_MAX], said[512];
	char jobid[] = "IORAMA_JOBID=0";
	char *const vars[TRY_VARS] = { preload, dir, job, jobid };
	struct rama_launch_place place;
	struct rama_err e = { 0 };
	enum rama_launch_health health = RAMA_LAUNCH_FAIL;
	int rc;

	if (rama_launch_place_make(&place, &e) != 0) {
		snprintf(d->text, sizeof(d->text), "no place for segments: %s", e.text);
		return RAMA_LAUNCH_FAIL;
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

/* ---- the library ---------------------------------------------------------------------------- */

static enum rama_launch_health check_library(struct doctor *d)
{
	struct rama_err e = { 0 };

	if (rama_launch_find_library(d->chosen, d->library, &e) != 0) {
		found(d, "%s", e.text);
		d->library[0] = '\0';
		return RAMA_LAUNCH_FAIL;
	}
	found(d, "%s", d->library);
	return RAMA_LAUNCH_OK;
}

static enum rama_launch_health check_observe(struct doctor *d)
{
	if (d->library[0] == '\0') {
		found(d, "not tried: there is no library");
		return RAMA_LAUNCH_FAIL;
	}
	return try_library(d);
}

static enum rama_launch_health check_functions(struct doctor *d)
{
	size_t ours = 0, both = 0;
	struct rama_err e = { 0 };

	if (d->library[0] == '\0') {
		found(d, "not counted: there is no library");
		return RAMA_LAUNCH_FAIL;
	}
	if (count_functions(d, &ours, &both, &e) != 0) {
		found(d, "%s", e.text);
		return RAMA_LAUNCH_FAIL;
	}
	found(d, "%zu of the library's %zu functions stand before one of this C library", both,
	      ours);
	return both > 0 ? RAMA_LAUNCH_OK : RAMA_LAUNCH_FAIL;
}

static enum rama_launch_health check_switched_off(struct doctor *d)
{
	const char *off = NULL;

	if (strcmp(rama_config_value(RAMA_TAB_SET_DISABLE), "0") != 0)
		off = "IORAMA_DISABLE";
	else if (getenv("DARSHAN_DISABLE") != NULL)
		off = "DARSHAN_DISABLE";
	if (off == NULL) {
		found(d, "no variable switches observation off");
		return RAMA_LAUNCH_OK;
	}
	found(d, "%s is set: nothing is observed", off);
	return RAMA_LAUNCH_WARN;
}

static enum rama_launch_health check_secure(struct doctor *d)
{
	if (getauxval(AT_SECURE) != 0) {
		found(d, "this program runs with other rights than yours: no preload");
		return RAMA_LAUNCH_FAIL;
	}
	found(d, "programs started here may be preloaded");
	return RAMA_LAUNCH_OK;
}

/* ---- where segments go ---------------------------------------------------------------------- */

#define SHM_ROOM (64 << 20) /* a few processes */

static enum rama_launch_health check_shm(struct doctor *d)
{
	char path[PATH_MAX];
	struct statvfs fs;
	double free_bytes;

	snprintf(path, sizeof(path), "%s/dev/shm", d->root);
	if (statvfs(path, &fs) != 0) {
		found(d, "%s: %s; segments go to $TMPDIR or /tmp, on a disk", path,
		      strerror(errno));
		return RAMA_LAUNCH_WARN;
	}
	if (access(path, W_OK | X_OK) != 0) {
		found(d, "%s: %s", path, strerror(errno));
		return RAMA_LAUNCH_WARN;
	}
	free_bytes = (double)fs.f_bavail * (double)fs.f_frsize;
	found(d, "%s has %.0f MiB free of %.0f", path, free_bytes / 1048576,
	      (double)fs.f_blocks * (double)fs.f_frsize / 1048576);
	return free_bytes < SHM_ROOM ? RAMA_LAUNCH_WARN : RAMA_LAUNCH_OK;
}

static enum rama_launch_health check_segments(struct doctor *d)
{
	const char *chosen = rama_config_value(RAMA_TAB_SET_DIR);
	struct rama_launch_place place;
	struct rama_err e = { 0 };
	static const struct rama_gather_list none;

	if (*d->root != '\0') {
		found(d, "not tried on a machine kept under a directory");
		return RAMA_LAUNCH_OK;
	}
	if (rama_launch_place_make(&place, &e) != 0) {
		found(d, "%s", e.text);
		return RAMA_LAUNCH_FAIL;
	}
	rama_launch_place_unlock(&place);
	rama_gather_place_remove(place.dir, &none, NULL, false);
	if (place.note[0] != '\0') {
		found(d, "%s; segments go to %s", place.note, place.root);
		return RAMA_LAUNCH_WARN;
	}
	found(d, "%s%s", place.root, *chosen != '\0' ? " (IORAMA_DIR)" : "");
	return RAMA_LAUNCH_OK;
}

/* logs that programs could not write that were preloaded without `iorama run` */
static enum rama_launch_health check_unwritten(struct doctor *d)
{
	struct rama_seg_unwritten all = { 0 };
	struct rama_gather_roots roots = { 0 };

	if (*d->root == '\0')
		rama_gather_roots_find(&roots, (uint32_t)geteuid());
	for (size_t i = 0; i < roots.n; i++) {
		struct rama_seg_unwritten u;

		rama_gather_unwritten_read(&u, roots.path[i]);
		if (u.count > 0 && u.when >= all.when)
			all = (struct rama_seg_unwritten){ .when = u.when,
							   .error = u.error,
							   .count = all.count };
		if (u.count > 0 && u.when == all.when)
			memcpy(all.where, u.where, sizeof(all.where));
		all.count += u.count;
	}
	rama_gather_roots_fini(&roots);
	if (all.count == 0) {
		found(d, "none");
		return RAMA_LAUNCH_OK;
	}
	found(d, "%llu programs could not write their log; the last, to %.300s: %s",
	      (unsigned long long)all.count, all.where, strerror(all.error));
	return RAMA_LAUNCH_WARN;
}

static enum rama_launch_health check_leftover(struct doctor *d)
{
	struct rama_launch_jobs jobs = { 0 };
	struct rama_err e = { 0 };
	uint64_t bytes = 0;
	size_t n = 0;

	if (*d->root == '\0')
		rama_launch_jobs_add_default(&jobs, &e);
	for (size_t i = 0; i < jobs.n; i++) {
		if (rama_launch_job_runs(&jobs.job[i]) || jobs.job[i].segs.n == 0)
			continue;
		n++;
		bytes += jobs.job[i].infos.size;
	}
	rama_launch_jobs_fini(&jobs);
	if (n == 0) {
		found(d, "no dead job left segments");
		return RAMA_LAUNCH_OK;
	}
	found(d, "%zu dead job%s left %.1f MiB of segments", n, n == 1 ? "" : "s",
	      (double)bytes / 1048576);
	return RAMA_LAUNCH_WARN;
}

/* ---- limits and the kernel ------------------------------------------------------------------ */

static enum rama_launch_health check_limits(struct doctor *d)
{
	static const struct {
		int what;
		const char *name, *option;
		rlim_t least;
	} limits[] = {
		{ RLIMIT_NOFILE, "open files", "n", 256 },
		{ RLIMIT_FSIZE, "size of files", "f", 64 << 20 },
		{ RLIMIT_AS, "address space", "v", 256 << 20 },
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit r;

		if (getrlimit(limits[i].what, &r) == 0 && r.rlim_cur != RLIM_INFINITY &&
		    r.rlim_cur < limits[i].least) {
			found(d, "%s (ulimit -%s): %llu, less than %llu", limits[i].name,
			      limits[i].option, (unsigned long long)r.rlim_cur,
			      (unsigned long long)limits[i].least);
			return RAMA_LAUNCH_WARN;
		}
	}
	found(d, "open files, size of files and address space suffice");
	return RAMA_LAUNCH_OK;
}

static enum rama_launch_health check_kernel(struct doctor *d)
{
	char line[256] = "", *end = line;
	long major = 0, minor = 0;

	if (read_line(d, "/proc/sys/kernel/osrelease", line, sizeof(line)))
		major = strtol(line, &end, 10);
	if (*end == '.')
		minor = strtol(end + 1, NULL, 10);
	if (major <= 0) {
		found(d, "its version cannot be read");
		return RAMA_LAUNCH_WARN;
	}
	found(d, "Linux %.100s", line);
	return major > 4 || (major == 4 && minor >= 14) ? RAMA_LAUNCH_OK : RAMA_LAUNCH_WARN;
}

static enum rama_launch_health check_clock(struct doctor *d)
{
	char line[64];

	if (!read_line(d, "/sys/devices/system/clocksource/clocksource0/current_clocksource", line,
		       sizeof(line))) {
		found(d, "the clock source cannot be read");
		return RAMA_LAUNCH_WARN;
	}
	if (strcmp(line, "tsc") == 0 || strcmp(line, "arch_sys_counter") == 0) {
		found(d, "clock source %s: the processor's own counter", line);
		return RAMA_LAUNCH_OK;
	}
	if (strcmp(line, "kvm-clock") == 0 || strcmp(line, "hyperv_clocksource_tsc_page") == 0) {
		found(d, "clock source %s: read without a system call", line);
		return RAMA_LAUNCH_OK;
	}
	found(d, "clock source %s: each time stamp may cost a system call, some 100 ns", line);
	return RAMA_LAUNCH_WARN;
}

static enum rama_launch_health check_ptrace(struct doctor *d)
{
	char line[64];
	long scope;

	if (!read_line(d, "/proc/sys/kernel/yama/ptrace_scope", line, sizeof(line))) {
		found(d, "processes may be attached to");
		return RAMA_LAUNCH_OK;
	}
	scope = strtol(line, NULL, 10);
	found(d, "ptrace_scope %ld: %s", scope,
	      scope == 0   ? "processes may be attached to"
	      : scope == 1 ? "only own children may be attached to"
			   : "only root may attach to processes");
	return scope == 0 || geteuid() == 0 ? RAMA_LAUNCH_OK : RAMA_LAUNCH_WARN;
}

static enum rama_launch_health check_perf(struct doctor *d)
{
	char line[64];
	long level;

	if (!read_line(d, "/proc/sys/kernel/perf_event_paranoid", line, sizeof(line))) {
		found(d, "the kernel has no perf events");
		return RAMA_LAUNCH_WARN;
	}
	level = strtol(line, NULL, 10);
	found(d, "perf_event_paranoid %ld", level);
	return level <= 2 || geteuid() == 0 ? RAMA_LAUNCH_OK : RAMA_LAUNCH_WARN;
}

static enum rama_launch_health check_mpi(struct doctor *d)
{
	static const char *const names[] = { "mpirun", "mpirun.openmpi", "mpirun.mpich",
					     "mpiexec.hydra", "mpiexec" };
	bool seen[RAMA_LAUNCH_KINDS] = { false };
	char path[PATH_MAX];
	size_t used = 0;

	d->text[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (rama_launch_find_program(names[i], path))
			seen[rama_launch_find_family(NULL, names[i])] = true;
	seen[RAMA_LAUNCH_SRUN] = rama_launch_find_program("srun", path);
	seen[RAMA_LAUNCH_FLUX] = rama_launch_find_program("flux", path);
	for (int k = 0; k < RAMA_LAUNCH_KINDS; k++)
		if (seen[k] && rama_launch_family_name(k) != NULL && used < sizeof(d->text))
			used += (size_t)snprintf(d->text + used, sizeof(d->text) - used, "%s%s",
						 used > 0 ? ", " : "", rama_launch_family_name(k));
	if (seen[RAMA_LAUNCH_MPI]) {
		found(d, "an mpirun that is neither Open MPI nor MPICH: it is observed itself too; "
			 "unless its MPI is one of them, its processes are observed one by one, "
			 "without "
			 "MPI-IO");
		return RAMA_LAUNCH_WARN;
	}
	if (used == 0)
		found(d, "no launcher of parallel jobs is here");
	return RAMA_LAUNCH_OK;
}

/* ---- the list ------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum rama_launch_health (*look)(struct doctor *d);
	const char *fix;
} checks[] = {
	{ "library", check_library, "build or install it, or name it by IORAMA_LIB" },
	{ "observe", check_observe, "see the checks below; LD_PRELOAD must reach programs" },
	{ "functions", check_functions, "use the library that belongs to this C library" },
	{ "variables", check_switched_off, "unset it" },
	{ "rights", check_secure, "run it without setuid, setgid or capabilities" },
	{ "segments", check_segments, "name a directory of your own by IORAMA_DIR" },
	{ "memory", check_shm, "mount a larger tmpfs on /dev/shm, or name another by IORAMA_DIR" },
	{ "leftover", check_leftover, "`iorama recover` makes logs of them" },
	{ "unwritten", check_unwritten,
	  "name a directory that can be written by IORAMA_LOG_DIR; remove the file `unwritten` "
	  "beside the segments to begin anew" },
	{ "limits", check_limits, "raise it with ulimit" },
	{ "kernel", check_kernel,
	  "4.14 or newer keeps forked processes apart by itself (MADV_WIPEONFORK)" },
	{ "clock", check_clock, "boot with clocksource=tsc if the processor's counter is stable" },
	{ "attach", check_ptrace,
	  "sysctl kernel.yama.ptrace_scope=0, if programs are to be attached to" },
	{ "perf", check_perf,
	  "sysctl kernel.perf_event_paranoid=2, if hardware counters are wanted" },
	{ "parallel", check_mpi, "tell the family by its name: mpirun.openmpi, mpiexec.hydra" },
};

bool rama_launch_doctor(const char *root, const char *library,
			void (*tell)(void *ctx, const struct rama_launch_check *c), void *ctx)
{
	struct doctor d = { .root = root, .chosen = library };
	bool whole = true;

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		enum rama_launch_health health = checks[i].look(&d);

		whole &= health != RAMA_LAUNCH_FAIL;
		tell(ctx,
		     &(struct rama_launch_check){ checks[i].name, health, d.text, checks[i].fix });
	}
	return whole;
}
