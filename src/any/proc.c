/* SPDX-License-Identifier: BSD-3-Clause */
#include "any/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/code/elf.h"
#include "config/jobid.h"
#include "table/layers.h"

#define LUSTRE 0x0BD00BD0 /* its type of file system */

/* ---- what all have in common ----------------------------------------------------------------- */

static const char *look(void *ctx, const char *name)
{
	const struct rama_any_world *w = ctx;
	size_t n = strlen(name);

	for (char *const *e = w->envp; *e != NULL; e++)
		if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

/* bytes read; the text is ended */
static size_t slurp(const char *path, char *to, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n;

	to[0] = '\0';
	if (fd < 0)
		return 0;
	while (used < room - 1 && (n = read(fd, to + used, room - 1 - used)) > 0)
		used += (size_t)n;
	close(fd);
	to[used] = '\0';
	return used;
}

static void read_settings(struct rama_any_world *w)
{
	static char text[RAMA_CONFIG_SETTINGS_FILE];
	const char *config = rama_config_settings_config(look, w);

	rama_config_settings_init(&w->settings);
	if (config != NULL && config[0] != '\0')
		rama_config_settings_file(&w->settings, text, slurp(config, text, sizeof(text)));
	rama_config_settings_env(&w->settings, look, w);
}

static void find_jobid(struct rama_any_world *w)
{
	const struct rama_config_settings *s = &w->settings;
	struct rama_config_jobid job;

	if (s->has_jobid)
		w->id.jobid = s->jobid;
	else if (rama_config_jobid_find(&job, s->jobid_variable, look, w))
		w->id.jobid = job.id;
	else if (s->has_run_jobid)
		w->id.jobid = s->run_jobid;
	rama_config_jobid_words(w->id.batch, sizeof(w->id.batch), look, w);
}

int rama_any_world_init(struct rama_any_world *w, const struct rama_any_how *how)
{
	static char mounts[65536];
	struct rama_seg_identity *id = &w->id;
	struct utsname host;

	memset(w, 0, sizeof(*w));
	w->mode = how->mode;
	w->dir = how->dir;
	w->library = how->library;
	w->envp = how->envp;
	read_settings(w);
	rama_config_mounts_parse(&w->mounts, mounts,
				 slurp("/proc/self/mounts", mounts, sizeof(mounts)));
	rama_config_mounts_encode(&w->mounts, id->mounts, sizeof(id->mounts));
	id->rank = -1;
	id->flags = RAMA_SEG_FOLLOWED;
	slurp("/proc/sys/kernel/random/boot_id", id->boot, 37);
	if (uname(&host) == 0)
		snprintf(id->host, sizeof(id->host), "%.63s", host.nodename);
	for (char *p = id->host; *p != '\0'; p++)
		if (*p == '/')
			*p = '_';
	id->mem_align = w->settings.mem_align;
	id->small_trigger = w->settings.small_trigger;
	id->unaligned_trigger = w->settings.unaligned_trigger;
	for (unsigned i = 0; i < RAMA_SEG_EVENT_LAYERS; i++)
		if (rama_tab_event_layer[i].trace != 0 &&
		    rama_config_settings_module(&w->settings, rama_tab_event_layer[i].trace))
			id->trace |= 1u << i;
	snprintf(id->tag, sizeof(id->tag), "%s", w->settings.live_tag);
	snprintf(id->job, sizeof(id->job), "%s", w->settings.job);
	if (!rama_config_settings_module(&w->settings, RAMA_TAB_MOD_PROCESS))
		id->flags |= RAMA_SEG_NO_PROCESS;
	if (!rama_config_settings_module(&w->settings, RAMA_TAB_MOD_EXTRA))
		id->flags |= RAMA_SEG_NO_EXTRA;
	find_jobid(w);
	return w->settings.disabled ? RAMA_EUSAGE : 0;
}

/* ---- a process ------------------------------------------------------------------------------- */

static uint64_t ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t rama_any_now(void)
{
	return ns(CLOCK_MONOTONIC);
}

/* field k (from 3 on) of /proc/PID/stat, counted after the name, which may hold anything */
static uint64_t field(const char *stat, unsigned k)
{
	const char *p = strrchr(stat, ')');

	for (unsigned i = 2; p != NULL && i < k; i++)
		p = strchr(p + 1, ' ');
	return p != NULL ? strtoull(p + 1, NULL, 10) : 0;
}

static void read_stat(pid_t pid, char *to, size_t room)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	slurp(path, to, room);
}

pid_t rama_any_proc_parent(pid_t pid)
{
	char stat[1024];

	read_stat(pid, stat, sizeof(stat));
	return (pid_t)field(stat, 4);
}

static bool usage(pid_t pid, struct rama_seg_usage *to)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
	char stat[1024];

	read_stat(pid, stat, sizeof(stat));
	if (stat[0] == '\0' || hz == 0)
		return false;
	*to = (struct rama_seg_usage){ .major_faults = field(stat, 12),
				       .user_us = field(stat, 14) * 1000000 / hz,
				       .system_us = field(stat, 15) * 1000000 / hz };
	return true;
}

static void describe(struct rama_seg_identity *id, pid_t pid)
{
	char path[40], text[1024];
	struct stat st;
	ssize_t len;
	size_t n;

	id->pid = pid;
	read_stat(pid, text, sizeof(text));
	id->ppid = (int64_t)field(text, 4);
	id->pid_start = field(text, 22);
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	id->uid = stat(path, &st) == 0 ? st.st_uid : getuid();
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	n = slurp(path, id->command, sizeof(id->command));
	for (size_t i = 0; i < n; i++)
		if (id->command[i] == '\0')
			id->command[i] = ' ';
	id->command[strcspn(id->command, "\n")] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	len = readlink(path, id->exe, sizeof(id->exe) - 1);
	id->exe[len > 0 ? len : 0] = '\0';
}

bool rama_any_proc_begin(struct rama_any_proc *p, pid_t pid)
{
	struct rama_any_world *w = p->world;
	struct rama_seg_identity *id = &w->id;
	uint64_t t = rama_any_now();

	p->pid = pid;
	id->flags = (id->flags & ~(uint32_t)RAMA_SEG_FORKED) | (p->forked ? RAMA_SEG_FORKED : 0);
	describe(id, pid);
	id->clock = (struct rama_seg_ticks){ .source = RAMA_SEG_CLOCK_MONOTONIC,
					     .hz = 1e9,
					     .tick0 = t - 1, /* no moment is 0 */
					     .mono0 = t,
					     .real0 = ns(CLOCK_REALTIME) };
	if (!rama_config_settings_app(&w->settings, id->command, strcspn(id->command, " ")) ||
	    rama_any_seg_make(&p->seg, w->dir, &w->settings, id) != 0)
		return false;
	p->seen = true;
	p->seg.state->usage_known = usage(pid, &p->seg.state->usage[0]);
	p->seg.state->threads_now = p->seg.state->threads_most = p->threads;
	__atomic_store_n(&p->seg.state->phase, RAMA_SEG_RUNNING, __ATOMIC_RELEASE);
	return true;
}

void rama_any_proc_end(struct rama_any_proc *p, enum rama_any_end how)
{
	struct rama_seg_state *s = p->seg.state;
	struct rama_seg_ticks *clock;

	if (!p->seen)
		return;
	p->seen = false;
	if (how != RAMA_ANY_KILLED) { /* such a one could not have said so itself, either */
		clock = &p->seg.id->clock;
		clock->tick1 = clock->mono1 = rama_any_now();
		clock->real1 = ns(CLOCK_REALTIME);
		if (s->usage_known > 0 && usage(p->pid, &s->usage[1]))
			s->usage_known = 2;
		__atomic_store_n(&s->phase,
				 how == RAMA_ANY_ENDED ? RAMA_SEG_DONE : RAMA_SEG_REPLACED,
				 __ATOMIC_RELEASE);
	}
	rama_any_seg_close(&p->seg);
	free(p->fd);
	p->fd = NULL;
	p->n_fd = 0;
	memset(p->mapping, 0, sizeof(p->mapping));
}

void rama_any_proc_fini(struct rama_any_proc *p)
{
	rama_any_proc_end(p, RAMA_ANY_KILLED);
	free(p);
}

void rama_any_proc_unseen(struct rama_any_proc *p, enum rama_unseen why, const char *path,
			  bool self)
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	struct rama_seg_state *s = p->seg.state;

	if (!p->seen)
		return;
	s->unseen[why]++;
	if (self)
		s->unseen_self = why;
	if (s->unseen_names >= RAMA_SEG_UNSEEN_NAMES)
		return;
	snprintf(s->unseen_name[s->unseen_names].name, sizeof(s->unseen_name[0].name), "%.27s",
		 name);
	__atomic_store_n(&s->unseen_name[s->unseen_names].reason, (uint32_t)why, __ATOMIC_RELEASE);
	s->unseen_names++;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int64_t block_of(struct rama_any_world *w, const char *path, size_t len)
{
	int i = rama_config_mounts_find(&w->mounts, path, len);
	struct statfs fs;
	int64_t *block;

	if (i < 0)
		return -1;
	block = &w->mounts.mount[i].block;
	if (*block == 0)
		*block = statfs(rama_config_mount_path(&w->mounts, (unsigned)i), &fs) != 0 ? 4096
			 : fs.f_type == LUSTRE /* tells 4096, means 1 MiB */		   ? 1 << 20
									     : (int64_t)fs.f_bsize;
	return *block;
}

struct rama_core_posix_file *rama_any_file(struct rama_any_proc *p, struct rama_seg_name *n)
{
	int64_t block = 0;

	if (n->slot[RAMA_SEG_KIND_POSIX] == 0)
		block = block_of(p->world, n->text, n->len);
	return rama_any_seg_slot(&p->seg, n, RAMA_SEG_KIND_POSIX, block);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

enum { FDS_FIRST = 64, FDS_MOST = 1 << 20 };

uint32_t *rama_any_fd(struct rama_any_proc *p, uint32_t fd)
{
	uint32_t n = p->n_fd == 0 ? FDS_FIRST : p->n_fd;
	uint32_t *more;

	if (fd < p->n_fd)
		return &p->fd[fd];
	if (fd >= FDS_MOST)
		return NULL;
	while (n <= fd)
		n *= 2;
	more = realloc(p->fd, n * sizeof(*more));
	if (more == NULL)
		return NULL;
	memset(more + p->n_fd, 0, (n - p->n_fd) * sizeof(*more));
	p->fd = more;
	p->n_fd = n;
	return &p->fd[fd];
}

/* A file that was removed is still called by its name, with a word added. */
static size_t cut_deleted(char *text, size_t len, const struct stat *st)
{
	static const char word[] = " (deleted)";
	size_t n = sizeof(word) - 1;

	if (st->st_nlink == 0 && len > n && strcmp(text + len - n, word) == 0)
		text[len -= n] = '\0';
	return len;
}

size_t rama_any_fd_path(pid_t pid, uint32_t fd, char *to, mode_t *mode)
{
	char link[48];
	struct stat st;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/fd/%u", (int)pid, fd);
	if (stat(link, &st) != 0)
		return 0;
	*mode = st.st_mode;
	n = readlink(link, to, PATH_MAX - 1);
	if (n <= 0 || to[0] != '/' || strncmp(to, "/memfd:", 7) == 0)
		return 0;
	to[n] = '\0';
	return cut_deleted(to, (size_t)n, &st);
}

/* Where it stood before a call that moved it: the tracked offset of a file that others may have
 * used. */
static void ask_position(struct rama_core_posix_file *f, pid_t pid, uint32_t fd, int64_t moved)
{
	char path[48], text[256];
	const char *pos;
	int64_t at;

	if (f->w[RAMA_TAB_POSIX_OPENS].i + f->w[RAMA_TAB_POSIX_READS].i +
		    f->w[RAMA_TAB_POSIX_WRITES].i !=
	    0)
		return;
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%u", (int)pid, fd);
	slurp(path, text, sizeof(text));
	pos = strstr(text, "pos:");
	at = pos != NULL ? (int64_t)strtoll(pos + 4, NULL, 10) - moved : 0;
	f->offset = at > 0 ? at : 0;
}

/* one that was not seen being opened: inherited, or received from another process */
static void learn(struct rama_any_proc *p, uint32_t fd, uint32_t *to, int64_t moved)
{
	static char path[PATH_MAX];
	struct rama_core_posix_file *f = NULL;
	struct rama_seg_name *n;
	mode_t mode = 0;
	size_t len = rama_any_fd_path(p->pid, fd, path, &mode);

	*to = RAMA_ANY_FD_NO_FILE;
	if (len == 0 || !S_ISREG(mode) ||
	    !rama_config_settings_observes(&p->world->settings, RAMA_TAB_MOD_POSIX, path, len))
		return;
	n = rama_any_seg_name(&p->seg, path, len, true);
	f = rama_any_file(p, n);
	if (f == NULL)
		return;
	ask_position(f, p->pid, fd, moved);
	*to = f->name; /* that of the catch-all where there was no room */
}

struct rama_core_posix_file *rama_any_fd_file(struct rama_any_proc *p, uint32_t fd, int64_t moved)
{
	uint32_t *is = rama_any_fd(p, fd);

	if (is == NULL)
		return NULL;
	if (*is == 0)
		learn(p, fd, is, moved);
	return *is != RAMA_ANY_FD_NO_FILE ? rama_any_file(p, rama_any_seg_name_at(&p->seg, *is))
					  : NULL;
}

/* ---- memory of the process ------------------------------------------------------------------- */

size_t rama_any_peek(pid_t tid, uint64_t at, void *to, size_t n)
{
	struct iovec mine = { to, n }, theirs = { (void *)(uintptr_t)at, n };
	ssize_t got = process_vm_readv(tid, &mine, 1, &theirs, 1, 0);

	return got > 0 ? (size_t)got : 0;
}

/* a page at a time: the text may end just before one that is not there */
bool rama_any_peek_text(pid_t tid, uint64_t at, char to[PATH_MAX])
{
	size_t used = 0;

	while (used < PATH_MAX) {
		size_t n = 256 - (at + used) % 256;

		n = n > PATH_MAX - used ? PATH_MAX - used : n;
		if (rama_any_peek(tid, at + used, to + used, n) != n)
			return false;
		if (memchr(to + used, '\0', n) != NULL)
			return true;
		used += n;
	}
	return false;
}
