/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/attach.h"
#include "attach/find.h"
#include "base/file.h"
#include "launch/keeper.h"
#include "logfile/log.h"

#define PATIENCE 5000 /* ms that a thread which can be borrowed is waited for */

/* ---- which ----------------------------------------------------------------------------------- */

/* File systems that are no place for data: programs of desktops and containers. */
static bool is_for_data(const char *type)
{
	static const char *const not [] = { "fuse.portal", "fuse.gvfsd-fuse", "fuse.lxcfs",
					    "fuse.snapfuse", "fuse.squashfuse" };

	for (size_t i = 0; i < sizeof(not ) / sizeof(not [0]); i++)
		if (strcspn(type, " ") == strlen(not [i]) &&
		    strncmp(type, not [i], strlen(not [i])) == 0)
			return false;
	return strncmp(type, "fuse.", 5) == 0 || strncmp(type, "fuse ", 5) == 0 ||
	       strncmp(type, "fuseblk ", 8) == 0;
}

/* \040 and the like, as the kernel writes blanks */
static void unescape(char *s)
{
	char *to = s;

	for (; *s != '\0'; s++) {
		unsigned c;

		if (*s == '\\' && sscanf(s + 1, "%3o", &c) == 1) {
			*to++ = (char)c;
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* the daemons of all mounts that this process sees */
static void find_daemons(struct rama_attach_list *l, const struct rama_launch_told *told)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, dir[4096];
	size_t room = 0;

	while (f != NULL && getline(&line, &room, f) > 0) {
		const char *type = strstr(line, " - ");
		struct rama_err e = { 0 };

		if (type == NULL || !is_for_data(type + 3) ||
		    sscanf(line, "%*s %*s %*s %*s %4095s", dir) != 1)
			continue;
		unescape(dir);
		if (rama_attach_find_mount(l, dir, &e) != 0)
			rama_launch_note(told, "path", "%s", e.text);
	}
	free(line);
	if (f != NULL)
		fclose(f);
}

static bool is_known(const struct rama_launch_path *p, pid_t pid)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->process[i].pid == pid)
			return true;
	return false;
}

/* ---- if we are killed ------------------------------------------------------------------------ */

/* Detached, and without the logs that nobody wants: else they would go on making events. */
static void let_go(void *arg)
{
	const struct rama_launch_path *p = arg;
	struct rama_attach_options how = { .library = p->library,
					   .settings = "",
					   .patience = PATIENCE };

	for (size_t i = 0; i < p->n; i++) {
		struct rama_attach_done done = { 0 };
		struct rama_err e = { 0 };

		if (rama_attach_end(p->process[i].pid, &how, &done, &e) == 0 && done.log[0] != '\0')
			unlink(done.log);
	}
	rmdir(p->dir);
}

/* ---- begin ----------------------------------------------------------------------------------- */

/* Daemons of other users, which only root reaches, write their logs there, too. */
static bool make_dir(struct rama_launch_path *p)
{
	const char *base = getenv("TMPDIR");

	if (base == NULL || base[0] != '/' || strlen(base) > sizeof(p->dir) - 24)
		base = "/tmp";
	snprintf(p->dir, sizeof(p->dir), "%s/iorama-path-XXXXXX", base);
	if (mkdtemp(p->dir) == NULL) {
		p->dir[0] = '\0';
		return false;
	}
	return geteuid() != 0 || chmod(p->dir, 01733) == 0;
}

static size_t settings_of(const struct rama_launch_path *p, char *to, size_t room)
{
	const char *id = getenv("IORAMA_PATH_ID");
	size_t n = (size_t)snprintf(to, room, "IORAMA_LOG_DIR=%s", p->dir) + 1;

	n += (size_t)snprintf(to + n, room - n, "IORAMA_TRACE=1") + 1;
	if (id != NULL && strlen(id) < 16)
		n += (size_t)snprintf(to + n, room - n, "IORAMA_PATH_ID=%s", id) + 1;
	to[n] = '\0';
	return n;
}

static void tell_slow(void *told, pid_t pid)
{
	rama_launch_note(told, "path",
			 "process %d: its thread is away for seconds, and is waited for", (int)pid);
}

static void attach_to(struct rama_launch_path *p, pid_t pid, bool server,
		      const struct rama_launch_told *told)
{
	struct rama_launch_path_process *to = &p->process[p->n];
	char settings[256];
	struct rama_attach_options how = { .library = p->library,
					   .settings = settings,
					   .patience = PATIENCE,
					   .slow = tell_slow,
					   .arg = (void *)(uintptr_t)told };
	struct rama_attach_done done;
	struct rama_err e = { 0 };

	if (is_known(p, pid) || p->n == RAMA_LAUNCH_PATH_MOST)
		return;
	settings_of(p, settings, sizeof(settings));
	*to = (struct rama_launch_path_process){ .pid = pid, .server = server };
	rama_attach_process_name(pid, to->name, sizeof(to->name));
	if (rama_attach(pid, &how, &done, &e) == 0)
		p->n++;
	else
		rama_launch_note(told, "path", "%s %d is not observed: %s", to->name, (int)pid,
				 e.text);
}

void rama_launch_path_begin(struct rama_launch_path *p, const char *library,
			    const struct rama_launch_told *told)
{
	struct rama_attach_list daemons = { 0 }, servers = { 0 };
	const char *slash = strrchr(library, '/');
	struct rama_err e = { 0 };

	snprintf(p->library, sizeof(p->library), "%.*s/libiorama-attach.so",
		 slash != NULL ? (int)(slash - library) : 1, slash != NULL ? library : ".");
	find_daemons(&daemons, told);
	if (daemons.n == 0)
		rama_launch_note(told, "path",
				 "no FUSE daemon of a mount on this host can be seen");
	if (rama_attach_find_servers(&servers, &e) != 0)
		rama_launch_note(told, "path", "%s", e.text);
	if (daemons.n + servers.n > 0 && !make_dir(p)) {
		rama_launch_note(told, "path", "no directory for their logs: %s", strerror(errno));
	} else {
		for (size_t i = 0; i < daemons.n; i++)
			attach_to(p, daemons.pid[i], false, told);
		for (size_t i = 0; i < servers.n; i++)
			attach_to(p, servers.pid[i], true, told);
		if (p->n > 0)
			p->keeper = rama_launch_keeper_start(let_go, p);
	}
	rama_attach_list_fini(&daemons);
	rama_attach_list_fini(&servers);
}

/* ---- end ------------------------------------------------------------------------------------- */

void rama_launch_path_end(struct rama_launch_path *p, const struct rama_launch_told *told)
{
	struct rama_attach_options how = { .library = p->library,
					   .settings = "",
					   .patience = PATIENCE,
					   .slow = tell_slow,
					   .arg = (void *)(uintptr_t)told };

	for (size_t i = 0; i < p->n; i++) {
		struct rama_launch_path_process *q = &p->process[i];
		struct rama_attach_done done = { 0 };
		struct rama_err e = { 0 };

		if (rama_attach_end(q->pid, &how, &done, &e) != 0)
			rama_launch_note(told, "path", "%s %d: %s", q->name, (int)q->pid, e.text);
		else if (done.log[0] == '\0')
			rama_launch_note(told, "path", "%s %d has left no log", q->name,
					 (int)q->pid);
		else
			q->log = strdup(done.log);
		if (q->log != NULL)
			p->served[p->n_served++] = (struct rama_gather_served){ .log = q->log };
	}
	rama_launch_keeper_end(p->keeper);
	p->keeper = 0;
}

/* ---- what was not seen ----------------------------------------------------------------------- */

static void copy_line(char *to, size_t room, const char *metadata, const char *key)
{
	const char *s = strstr(metadata, key);

	s = s != NULL ? s + strlen(key) : "";
	snprintf(to, room, "%.*s", (int)strcspn(s, "\n"), s);
}

static void tell_one(const struct rama_launch_path_process *q, uint64_t calls,
		     const struct rama_launch_told *told)
{
	char hooks[160] = "", unseen[32] = "";
	struct rama_file file = { 0 };
	struct rama_err e = { 0 };
	struct rama_log log;

	if (rama_file_open(&file, q->log, &e) != 0)
		return;
	if (rama_log_open(&log, &file.src, NULL, &e) == 0) {
		copy_line(hooks, sizeof(hooks), log.job.metadata, RAMA_LOG_META_HOOKS);
		copy_line(unseen, sizeof(unseen), log.job.metadata, RAMA_LOG_META_REQUESTS_UNSEEN);
		rama_log_close(&log);
	}
	rama_file_close(&file);
	if (strstr(hooks, "not observed") != NULL)
		rama_launch_note(told, "path", "%s %d: %s", q->name, (int)q->pid, hooks);
	if (unseen[0] != '\0')
		rama_launch_note(told, "path",
				 "%s %d: of %s requests nothing is known: another thread took "
				 "them out of a pipe, or there was no room",
				 q->name, (int)q->pid, unseen);
	if (calls == 0)
		rama_launch_note(told, "path", "%s %d: no request of the job was seen there (%s)",
				 q->name, (int)q->pid,
				 q->server ? "it has none, or what it does names no thread of a "
					     "client: docs/path.md"
					   : "it has none, or they came by io_uring");
}

void rama_launch_path_tell(const struct rama_launch_path *p, const struct rama_launch_told *told)
{
	for (size_t i = 0; i < p->n_served; i++)
		for (size_t k = 0; k < p->n; k++)
			if (p->process[k].log == p->served[i].log)
				tell_one(&p->process[k], p->served[i].calls, told);
}

void rama_launch_path_fini(struct rama_launch_path *p)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->process[i].log != NULL)
			unlink(p->process[i].log);
		free(p->process[i].log);
	}
	if (p->dir[0] != '\0')
		rmdir(p->dir);
	*p = (struct rama_launch_path){ 0 };
}
