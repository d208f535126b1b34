/* SPDX-License-Identifier: BSD-3-Clause */
#include "attach/find.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "attach/world.h"
#include "base/form/text.h"

#define ANCESTORS 64

int rama_attach_list_add(struct rama_attach_list *l, pid_t pid, struct rama_err *e)
{
	if (l->n == l->room) {
		size_t room = l->room > 0 ? 2 * l->room : 64;
		pid_t *more = realloc(l->pid, room * sizeof(*more));

		if (more == NULL)
			return rama_err_no_memory(e);
		l->pid = more;
		l->room = room;
	}
	l->pid[l->n++] = pid;
	return 0;
}

void rama_attach_list_fini(struct rama_attach_list *l)
{
	free(l->pid);
	*l = (struct rama_attach_list){ 0 };
}

/* ---- all processes --------------------------------------------------------------------------- */

typedef bool wanted(pid_t pid, const void *what);

static int add_all(struct rama_attach_list *l, wanted *is, const void *what, struct rama_err *e)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	int rc = 0;

	while (proc != NULL && rc == 0 && (d = readdir(proc)) != NULL) {
		pid_t pid = isdigit((unsigned char)d->d_name[0])
				    ? (pid_t)strtol(d->d_name, NULL, 10)
				    : 0;

		if (pid > 0 && pid != getpid() && is(pid, what))
			rc = rama_attach_list_add(l, pid, e);
	}
	if (proc != NULL)
		closedir(proc);
	return rc;
}

/* ---- a job ----------------------------------------------------------------------------------- */

static bool is_below(pid_t pid, const void *launcher)
{
	for (unsigned i = 0; i < ANCESTORS && pid > 1; i++) {
		pid = rama_attach_parent(pid);
		if (pid == *(const pid_t *)launcher)
			return true;
	}
	return false;
}

static bool is_rank_below(pid_t pid, const void *launcher)
{
	struct rama_attach_world w;

	return is_below(pid, launcher) && rama_attach_world_find(&w, pid);
}

static bool is_of_batch(pid_t pid, const void *id)
{
	static const char *const variable[] = {
#define J(name, variable, ...) variable,
#define W(...)
#include "table/schedulers.def"
#undef J
#undef W
	};
	struct rama_attach_variables v;
	struct rama_attach_world w;
	bool is = false;

	rama_attach_variables_read(&v, pid);
	for (size_t i = 0; !is && i < sizeof(variable) / sizeof(variable[0]); i++) {
		const char *text = rama_attach_variables_get(&v, variable[i]);

		is = text != NULL && strcmp(text, id) == 0;
	}
	rama_attach_variables_fini(&v);
	return is && rama_attach_world_find(&w, pid);
}

int rama_attach_find_job(struct rama_attach_list *l, const char *job, struct rama_err *e)
{
	size_t before = l->n;
	char *end;
	pid_t pid = (pid_t)strtol(job, &end, 10);
	int rc = add_all(l, is_of_batch, job, e);

	if (rc == 0 && l->n == before && *end == '\0' && pid > 1)
		rc = add_all(l, is_rank_below, &pid, e);
	if (rc == 0 && l->n == before && *end == '\0' && pid > 1)
		rc = add_all(l, is_below, &pid, e);
	if (rc == 0 && l->n == before)
		rc = rama_err_set(e, RAMA_EUSAGE,
				  "no process of a job %s, nor below a process of that number, is "
				  "on this host",
				  job);
	return rc;
}

/* ---- a mount --------------------------------------------------------------------------------- */

/* Is the descriptor the /dev/fuse of this connection? Older kernels do not say. */
static bool has_connection(pid_t pid, const char *fd, unsigned connection)
{
	char path[320], line[256];
	unsigned long is = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", (int)pid, fd);
	f = fopen(path, "re");
	while (f != NULL && is == 0 && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "fuse_connection:", 16) == 0)
			is = strtoul(line + 16, NULL, 10);
	if (f != NULL)
		fclose(f);
	return is == connection && is != 0;
}

struct mount {
	unsigned connection;
	bool any; /* whoever has /dev/fuse open */
};

static bool serves(pid_t pid, const void *what)
{
	const struct mount *m = what;
	char path[320], to[64];
	struct dirent *d;
	bool is = false;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	fds = opendir(path);
	while (fds != NULL && !is && (d = readdir(fds)) != NULL) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)pid, d->d_name);
		n = readlink(path, to, sizeof(to));
		is = n == 9 && memcmp(to, "/dev/fuse", 9) == 0 &&
		     (m->any || has_connection(pid, d->d_name, m->connection));
	}
	if (fds != NULL)
		closedir(fds);
	return is;
}

/* the type of the file system of that number in mountinfo */
static bool is_fuse(unsigned major_, unsigned minor_)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, number[32];
	size_t room = 0;
	bool is = false;

	snprintf(number, sizeof(number), " %u:%u ", major_, minor_);
	while (f != NULL && !is && getline(&line, &room, f) > 0) {
		const char *type = strstr(line, " - "), *at = strstr(line, number);

		/* the number stands before all paths */
		is = type != NULL && strncmp(type + 3, "fuse", 4) == 0 && at != NULL &&
		     strchr(line, '/') > at;
	}
	free(line);
	if (f != NULL)
		fclose(f);
	return is;
}

int rama_attach_find_mount(struct rama_attach_list *l, const char *dir, struct rama_err *e)
{
	size_t before = l->n;
	struct mount m = { 0 };
	struct stat st;
	int rc;

	if (stat(dir, &st) != 0)
		return rama_err_set(e, RAMA_EUSAGE, "%s: %s", dir, strerror(errno));
	if (!is_fuse(major(st.st_dev), minor(st.st_dev)))
		return rama_err_set(e, RAMA_EUSAGE,
				    "%s is in no file system that a FUSE daemon serves", dir);
	m.connection = minor(st.st_dev);
	rc = add_all(l, serves, &m, e);
	m.any = l->n == before;
	if (rc == 0 && m.any)
		rc = add_all(l, serves, &m, e);
	if (rc == 0 && l->n > before + 1 && m.any) {
		l->n = before;
		rc = rama_err_set(e, RAMA_EUSAGE,
				  "%s: several processes have /dev/fuse open, and the kernel does "
				  "not say which serves it: name one",
				  dir);
	}
	if (rc == 0 && l->n == before)
		rc = rama_err_set(e, RAMA_EUSAGE,
				  "%s: the daemon that serves it is not in sight (of another user, "
				  "or in a container)",
				  dir);
	return rc;
}

/* ---- servers --------------------------------------------------------------------------------- */

void rama_attach_process_name(pid_t pid, char *to, size_t room)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (f == NULL || fgets(to, (int)room, f) == NULL)
		snprintf(to, room, "?");
	to[strcspn(to, "\n")] = '\0';
	if (f != NULL)
		fclose(f);
	rama_text_tame(to); /* a process of another user may call itself anything */
}

static bool is_server(pid_t pid, const void *unused)
{
	static const char *const name[] = {
#define SERVER(name, system) name,
#include "table/servers.def"
#undef SERVER
	};
	char comm[64];
	bool is = false;

	(void)unused;
	rama_attach_process_name(pid, comm, sizeof(comm));
	for (size_t i = 0; !is && i < sizeof(name) / sizeof(name[0]); i++)
		is = strcmp(comm, name[i]) == 0;
	return is;
}

int rama_attach_find_servers(struct rama_attach_list *l, struct rama_err *e)
{
	size_t before = l->n;
	int rc = add_all(l, is_server, NULL, e);

	if (rc == 0 && l->n == before)
		rc = rama_err_set(e, RAMA_EUSAGE,
				  "no file server that is known (docs/attach.md) runs on this "
				  "host");
	return rc;
}
