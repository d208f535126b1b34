/* SPDX-License-Identifier: BSD-3-Clause */
/* doctor_path.c: how far down a call can be followed on this machine, and why not further. A check
 * is a row and a function that looks at one thing, as in doctor.c. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/borrow.h"
#include "attach/find.h"
#include "attach/move.h"
#include "attach/witness.h"
#include "base/code/program.h"
#include "launch/doctor.h"

struct look {
	const char *root;
	char text[1024];
	size_t used;
};

static void say(struct look *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct look *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->text + l->used, sizeof(l->text) - l->used, fmt, ap);
	va_end(ap);
	l->used += n > 0 ? (size_t)n : 0;
	if (l->used >= sizeof(l->text))
		l->used = sizeof(l->text) - 1;
}

static FILE *open_file(const struct look *l, const char *path)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", l->root, path);
	return fopen(full, "re");
}

/* ---- checks ---------------------------------------------------------------------------------- */

static enum rama_launch_health check_borrow(struct look *l)
{
	FILE *f = open_file(l, "/proc/sys/kernel/yama/ptrace_scope");
	char line[16] = "0";

	if (f != NULL) {
		if (fgets(line, sizeof(line), f) == NULL)
			line[0] = '0';
		fclose(f);
	}
	if (!rama_attach_borrow_can()) {
		say(l, "processes that run cannot be attached to on this kind of processor");
		return RAMA_LAUNCH_WARN;
	}
	if (line[0] == '3' || (line[0] != '0' && geteuid() != 0)) {
		say(l, "ptrace_scope %c: processes that run cannot be attached to by you", line[0]);
		return RAMA_LAUNCH_WARN;
	}
	say(l, geteuid() == 0 ? "processes of all users may be attached to"
			      : "your own processes may be attached to, daemons of root may not");
	return geteuid() == 0 ? RAMA_LAUNCH_OK : RAMA_LAUNCH_WARN;
}

/* whether the daemon of a file system can be observed, and if not, why not */
static bool say_process(struct look *l, pid_t pid)
{
	struct rama_program p;
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	rama_program_look(&p, AT_FDCWD, path);
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st) == 0 && geteuid() != 0 && st.st_uid != geteuid()) {
		say(l, "process %d belongs to another user", (int)pid);
		return false;
	}
	if (p.why != RAMA_UNSEEN_NOT) {
		say(l, "process %d %s", (int)pid, rama_unseen_one(p.why));
		return false;
	}
	say(l, "process %d can be attached to", (int)pid);
	return true;
}

/* FUSE: each mount, the kind of its file system, and its daemon */
static enum rama_launch_health check_fuse(struct look *l)
{
	FILE *f = open_file(l, "/proc/mounts");
	enum rama_launch_health health = RAMA_LAUNCH_OK;
	char line[4096], dir[1024], type[128];
	unsigned n = 0;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		struct rama_attach_list list = { 0 };
		struct rama_err e = { 0 };

		if (sscanf(line, "%*s %1023s %127s", dir, type) != 2 ||
		    (strcmp(type, "fuse") != 0 && strncmp(type, "fuse.", 5) != 0 &&
		     strcmp(type, "fuseblk") != 0))
			continue;
		say(l, "%s%s (%s): ", n++ > 0 ? "; " : "", dir, type);
		if (l->root[0] != '\0') {
			say(l, "of another machine");
		} else if (rama_attach_find_mount(&list, dir, &e) != 0 || list.n == 0) {
			say(l, "its daemon is not found");
			health = RAMA_LAUNCH_WARN;
		} else if (!say_process(l, list.pid[0])) {
			health = RAMA_LAUNCH_WARN;
		}
		rama_attach_list_fini(&list);
	}
	if (f != NULL)
		fclose(f);
	if (n == 0)
		say(l, "no file system of a FUSE daemon is mounted");
	return health;
}

static const struct {
	const char *type, *name, *known;
} kernel_clients[] = {
#define KERNEL_CLIENT(type, name, known) { type, name, known },
#include "table/kernel_clients.def"
};

/* file systems whose client is in the kernel: each mount, and what can be known nonetheless */
static enum rama_launch_health check_kernel(struct look *l)
{
	FILE *f = open_file(l, "/proc/mounts");
	char line[4096], dir[1024], type[128];
	unsigned n = 0;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%*s %1023s %127s", dir, type) != 2)
			continue;
		for (size_t i = 0; i < sizeof(kernel_clients) / sizeof(kernel_clients[0]); i++)
			if (strcmp(type, kernel_clients[i].type) == 0)
				say(l, "%s%s (%s): calls are seen, requests are not; %s",
				    n++ > 0 ? "; " : "", dir, kernel_clients[i].name,
				    kernel_clients[i].known);
	}
	if (f != NULL)
		fclose(f);
	if (n == 0)
		say(l, "no file system with a client in the kernel that is known is mounted");
	return n > 0 ? RAMA_LAUNCH_WARN : RAMA_LAUNCH_OK;
}

/* Versions whose structs are known: rows of table/hooks.def; the last one ends the list. */
static const struct {
	unsigned from, to;
} layouts[] = {
#define GLUSTER_LAYOUT(from, to, ...) { from, to },
#include "table/hooks.def"
#undef GLUSTER_LAYOUT
	{ 0, 0 }
};

static bool is_known(unsigned version)
{
	for (size_t i = 0; layouts[i].to != 0; i++)
		if (version >= layouts[i].from && version <= layouts[i].to)
			return true;
	return false;
}

static enum rama_launch_health check_gluster(struct look *l)
{
	static const char *const places[] = { "/usr/lib/*/glusterfs/*/xlator",
					      "/usr/lib64/glusterfs/*/xlator",
					      "/usr/lib/glusterfs/*/xlator" };
	enum rama_launch_health health = RAMA_LAUNCH_OK;
	unsigned n = 0;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char pattern[PATH_MAX];
		glob_t g = { 0 };

		snprintf(pattern, sizeof(pattern), "%s%s", l->root, places[i]);
		if (glob(pattern, 0, NULL, &g) != 0)
			continue;
		for (size_t k = 0; k < g.gl_pathc; k++) {
			const char *at = strstr(g.gl_pathv[k], "/glusterfs/") + 11;
			unsigned version = (unsigned)strtoul(at, NULL, 10);

			say(l, "%sversion %.*s: %s", n++ > 0 ? "; " : "", (int)strcspn(at, "/"), at,
			    is_known(version) ? "client and bricks can be observed"
					      : "what its structs look like is not known");
			if (!is_known(version))
				health = RAMA_LAUNCH_WARN;
		}
		globfree(&g);
	}
	if (n == 0)
		say(l, "GlusterFS is not installed");
	return health;
}

static enum rama_launch_health check_servers(struct look *l)
{
	enum rama_launch_health health = RAMA_LAUNCH_OK;
	struct rama_attach_list list = { 0 };
	struct rama_err e = { 0 };

	if (l->root[0] != '\0' || rama_attach_find_servers(&list, &e) != 0 || list.n == 0)
		say(l, "no file server that is known by name runs here");
	for (size_t i = 0; i < list.n; i++) {
		say(l, "%s", i > 0 ? "; " : "");
		if (!say_process(l, list.pid[i]))
			health = RAMA_LAUNCH_WARN;
	}
	rama_attach_list_fini(&list);
	return health;
}

static enum rama_launch_health check_tracepoint(struct look *l, const char *event)
{
	struct rama_err e = { 0 };

	if (rama_attach_witness_can(event, &e) == 0) {
		say(l, "%s can be counted", event);
		return RAMA_LAUNCH_OK;
	}
	say(l, "%s: %s", event, e.text);
	return RAMA_LAUNCH_WARN;
}

static enum rama_launch_health check_requests(struct look *l)
{
	return check_tracepoint(l, "fuse:fuse_request_send");
}

static enum rama_launch_health check_disks(struct look *l)
{
	return check_tracepoint(l, "block:block_rq_issue");
}

static enum rama_launch_health check_probes(struct look *l)
{
	struct rama_attach_moved m;

	if (rama_attach_move(&m, NULL, 0, 0, 0) != RAMA_ATTACH_MOVE_NOT_HERE) {
		say(l, "functions inside of servers can be observed");
		return RAMA_LAUNCH_OK;
	}
	say(l, "%s", rama_attach_move_why(RAMA_ATTACH_MOVE_NOT_HERE));
	return RAMA_LAUNCH_WARN;
}

/* ---- the list -------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum rama_launch_health (*look)(struct look *l);
	const char *fix;
} checks[] = {
	{ "attach", check_borrow,
	  "root or CAP_SYS_PTRACE for daemons and servers; sysctl kernel.yama.ptrace_scope=0 for "
	  "your own processes" },
	{ "fuse", check_fuse,
	  "attach as the user of the daemon, or as root; daemons that are static or written in Go "
	  "are seen by the kernel's tracepoints only" },
	{ "kernel", check_kernel,
	  "observe their servers where they run; docs/path.md has a table of what can be known" },
	{ "glusterfs", check_gluster,
	  "calls at the disk of bricks are observed in any version; a row of src/table/hooks.def "
	  "adds the rest" },
	{ "servers", check_servers, "attach as the user of the server, or as root" },
	{ "requests", check_requests, "only tests and doubts need this second witness" },
	{ "disks", check_disks, "only tests and doubts need this second witness" },
	{ "probes", check_probes, "build iorama with libzydis-dev, on x86-64" },
};

void rama_launch_doctor_path(const char *root,
			     void (*tell)(void *ctx, const struct rama_launch_check *c), void *ctx)
{
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		struct look l = { .root = root };
		enum rama_launch_health health = checks[i].look(&l);

		tell(ctx,
		     &(struct rama_launch_check){ checks[i].name, health, l.text, checks[i].fix });
	}
}
