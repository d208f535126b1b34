/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_doctor.c: iorama doctor. A check is a row of `checks` and a function that looks at one
 * thing. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/doctor.h"
#include "cli/input.h"

/* ---- reading the machine -------------------------------------------------------------------- */

static void found(struct rama_cli_doctor *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void found(struct rama_cli_doctor *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(d->text, sizeof(d->text), fmt, ap);
	va_end(ap);
}

/* first line of a file under the root; false: it is not there */
static bool read_line(const struct rama_cli_doctor *d, const char *path, char *to, size_t size)
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

/* ---- the library ---------------------------------------------------------------------------- */

static enum rama_cli_health check_library(struct rama_cli_doctor *d)
{
	struct rama_err e = { 0 };

	if (rama_launch_find_library(d->chosen, d->library, &e) != 0) {
		found(d, "%s", e.text);
		d->library[0] = '\0';
		return RAMA_CLI_FAIL;
	}
	found(d, "%s", d->library);
	return RAMA_CLI_OK;
}

static enum rama_cli_health check_observe(struct rama_cli_doctor *d)
{
	if (d->library[0] == '\0') {
		found(d, "not tried: there is no library");
		return RAMA_CLI_FAIL;
	}
	return rama_cli_doctor_observe(d);
}

static enum rama_cli_health check_functions(struct rama_cli_doctor *d)
{
	size_t ours, both;
	struct rama_err e = { 0 };

	if (d->library[0] == '\0') {
		found(d, "not counted: there is no library");
		return RAMA_CLI_FAIL;
	}
	if (rama_cli_doctor_functions(d, &ours, &both, &e) != 0) {
		found(d, "%s", e.text);
		return RAMA_CLI_FAIL;
	}
	found(d, "%zu of the library's %zu functions stand before one of this C library", both,
	      ours);
	return both > 0 ? RAMA_CLI_OK : RAMA_CLI_FAIL;
}

static enum rama_cli_health check_switched_off(struct rama_cli_doctor *d)
{
	const char *off = NULL;

	if (strcmp(rama_cli_opts_setting(RAMA_TAB_SET_DISABLE), "0") != 0)
		off = "IORAMA_DISABLE";
	else if (getenv("DARSHAN_DISABLE") != NULL)
		off = "DARSHAN_DISABLE";
	if (off == NULL) {
		found(d, "no variable switches observation off");
		return RAMA_CLI_OK;
	}
	found(d, "%s is set: nothing is observed", off);
	return RAMA_CLI_WARN;
}

static enum rama_cli_health check_secure(struct rama_cli_doctor *d)
{
	if (getauxval(AT_SECURE) != 0) {
		found(d, "this program runs with other rights than yours: no preload");
		return RAMA_CLI_FAIL;
	}
	found(d, "programs started here may be preloaded");
	return RAMA_CLI_OK;
}

/* ---- where segments go ---------------------------------------------------------------------- */

#define SHM_ROOM (64 << 20) /* a few processes */

static enum rama_cli_health check_shm(struct rama_cli_doctor *d)
{
	char path[PATH_MAX];
	struct statvfs fs;
	double free_bytes;

	snprintf(path, sizeof(path), "%s/dev/shm", d->root);
	if (statvfs(path, &fs) != 0) {
		found(d, "%s: %s; segments go to $TMPDIR or /tmp, on a disk", path,
		      strerror(errno));
		return RAMA_CLI_WARN;
	}
	if (access(path, W_OK | X_OK) != 0) {
		found(d, "%s: %s", path, strerror(errno));
		return RAMA_CLI_WARN;
	}
	free_bytes = (double)fs.f_bavail * (double)fs.f_frsize;
	found(d, "%s has %.0f MiB free of %.0f", path, free_bytes / 1048576,
	      (double)fs.f_blocks * (double)fs.f_frsize / 1048576);
	return free_bytes < SHM_ROOM ? RAMA_CLI_WARN : RAMA_CLI_OK;
}

static enum rama_cli_health check_segments(struct rama_cli_doctor *d)
{
	const char *chosen = rama_cli_opts_setting(RAMA_TAB_SET_DIR);
	struct rama_launch_place place;
	struct rama_err e = { 0 };
	static const struct rama_gather_list none;

	if (*d->root != '\0') {
		found(d, "not tried on a machine kept under a directory");
		return RAMA_CLI_OK;
	}
	if (rama_launch_place_make(&place, &e) != 0) {
		found(d, "%s", e.text);
		return RAMA_CLI_FAIL;
	}
	rama_launch_place_unlock(&place);
	rama_gather_place_remove(place.dir, &none, NULL, false);
	if (place.note[0] != '\0') {
		found(d, "%s; segments go to %s", place.note, place.root);
		return RAMA_CLI_WARN;
	}
	found(d, "%s%s", place.root, *chosen != '\0' ? " (IORAMA_DIR)" : "");
	return RAMA_CLI_OK;
}

/* logs that programs could not write that were preloaded without `iorama run` */
static enum rama_cli_health check_unwritten(struct rama_cli_doctor *d)
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
		return RAMA_CLI_OK;
	}
	found(d, "%llu programs could not write their log; the last, to %.300s: %s",
	      (unsigned long long)all.count, all.where, strerror(all.error));
	return RAMA_CLI_WARN;
}

static enum rama_cli_health check_leftover(struct rama_cli_doctor *d)
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
		return RAMA_CLI_OK;
	}
	found(d, "%zu dead job%s left %.1f MiB of segments", n, n == 1 ? "" : "s",
	      (double)bytes / 1048576);
	return RAMA_CLI_WARN;
}

/* ---- limits and the kernel ------------------------------------------------------------------ */

static enum rama_cli_health check_limits(struct rama_cli_doctor *d)
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
			return RAMA_CLI_WARN;
		}
	}
	found(d, "open files, size of files and address space suffice");
	return RAMA_CLI_OK;
}

static enum rama_cli_health check_kernel(struct rama_cli_doctor *d)
{
	char line[256] = "", *end = line;
	long major = 0, minor = 0;

	if (read_line(d, "/proc/sys/kernel/osrelease", line, sizeof(line)))
		major = strtol(line, &end, 10);
	if (*end == '.')
		minor = strtol(end + 1, NULL, 10);
	if (major <= 0) {
		found(d, "its version cannot be read");
		return RAMA_CLI_WARN;
	}
	found(d, "Linux %.100s", line);
	return major > 4 || (major == 4 && minor >= 14) ? RAMA_CLI_OK : RAMA_CLI_WARN;
}

static enum rama_cli_health check_clock(struct rama_cli_doctor *d)
{
	char line[64];

	if (!read_line(d, "/sys/devices/system/clocksource/clocksource0/current_clocksource", line,
		       sizeof(line))) {
		found(d, "the clock source cannot be read");
		return RAMA_CLI_WARN;
	}
	if (strcmp(line, "tsc") == 0 || strcmp(line, "arch_sys_counter") == 0) {
		found(d, "clock source %s: the processor's own counter", line);
		return RAMA_CLI_OK;
	}
	if (strcmp(line, "kvm-clock") == 0 || strcmp(line, "hyperv_clocksource_tsc_page") == 0) {
		found(d, "clock source %s: read without a system call", line);
		return RAMA_CLI_OK;
	}
	found(d, "clock source %s: each time stamp may cost a system call, some 100 ns", line);
	return RAMA_CLI_WARN;
}

static enum rama_cli_health check_ptrace(struct rama_cli_doctor *d)
{
	char line[64];
	long scope;

	if (!read_line(d, "/proc/sys/kernel/yama/ptrace_scope", line, sizeof(line))) {
		found(d, "processes may be attached to");
		return RAMA_CLI_OK;
	}
	scope = strtol(line, NULL, 10);
	found(d, "ptrace_scope %ld: %s", scope,
	      scope == 0   ? "processes may be attached to"
	      : scope == 1 ? "only own children may be attached to"
			   : "only root may attach to processes");
	return scope == 0 || geteuid() == 0 ? RAMA_CLI_OK : RAMA_CLI_WARN;
}

static enum rama_cli_health check_perf(struct rama_cli_doctor *d)
{
	char line[64];
	long level;

	if (!read_line(d, "/proc/sys/kernel/perf_event_paranoid", line, sizeof(line))) {
		found(d, "the kernel has no perf events");
		return RAMA_CLI_WARN;
	}
	level = strtol(line, NULL, 10);
	found(d, "perf_event_paranoid %ld", level);
	return level <= 2 || geteuid() == 0 ? RAMA_CLI_OK : RAMA_CLI_WARN;
}

static enum rama_cli_health check_mpi(struct rama_cli_doctor *d)
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
		return RAMA_CLI_WARN;
	}
	if (used == 0)
		found(d, "no launcher of parallel jobs is here");
	return RAMA_CLI_OK;
}

/* ---- the list ------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum rama_cli_health (*look)(struct rama_cli_doctor *d);
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

static const char *const health_name[] = { "ok", "warn", "fail" };

static int to_stdout(void *ctx, const char *bytes, size_t n)
{
	(void)ctx;
	return fwrite(bytes, 1, n, stdout) == n ? 0 : RAMA_EIO;
}

static void print_json(struct rama_json *j, size_t i, const struct rama_cli_doctor *d,
		       enum rama_cli_health health)
{
	rama_json_open(j, '{');
	rama_json_key_string(j, "check", checks[i].name);
	rama_json_key_string(j, "state", health_name[health]);
	rama_json_key_string(j, "found", d->text);
	rama_json_key_string(j, "fix", health == RAMA_CLI_OK ? NULL : checks[i].fix);
	rama_json_close(j, '}');
}

static void print_text(size_t i, const struct rama_cli_doctor *d, enum rama_cli_health health,
		       bool colour)
{
	static const char *const code[] = { "32", "33", "31" };

	if (colour)
		printf("\033[%sm%-4s\033[0m  %-9s  %s\n", code[health], health_name[health],
		       checks[i].name, d->text);
	else
		printf("%-4s  %-9s  %s\n", health_name[health], checks[i].name, d->text);
	if (health != RAMA_CLI_OK)
		printf("%-4s  %-9s  fix: %s\n", "", "", checks[i].fix);
}

int rama_cli_cmd_doctor(int argc, char **argv)
{
	bool colour = isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL, json, quiet,
	     failed = false;
	struct rama_cli_doctor d = { 0 };
	struct rama_cli_opts o;
	struct rama_out out;
	struct rama_json j;

	rama_cli_opts_parse(&o, RAMA_TAB_CMD_doctor, argc, argv);
	if (o.n_args > 0)
		rama_cli_opts_usage(&o, "'%s' is not expected here", o.args[0]);
	json = rama_cli_opts_has(&o, RAMA_TAB_OPT_doctor_json);
	quiet = rama_cli_opts_has(&o, RAMA_TAB_OPT_doctor_quiet);
	d.chosen = rama_cli_opts_value(&o, RAMA_TAB_OPT_doctor_library);
	d.root = rama_cli_opts_value(&o, RAMA_TAB_OPT_doctor_root);
	if (d.root == NULL || strcmp(d.root, "/") == 0)
		d.root = "";
	rama_out_init(&out, to_stdout, NULL);
	rama_json_init(&j, &out);
	if (json)
		rama_json_open(&j, '[');
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		enum rama_cli_health health = checks[i].look(&d);

		failed |= health == RAMA_CLI_FAIL;
		if (json)
			print_json(&j, i, &d, health);
		else if (!quiet || health != RAMA_CLI_OK)
			print_text(i, &d, health, colour);
	}
	if (json) {
		rama_json_close(&j, ']');
		rama_out_char(&out, '\n');
		rama_out_flush(&out);
	}
	rama_out_fini(&out);
	rama_cli_opts_fini(&o);
	return failed ? 4 : 0;
}
