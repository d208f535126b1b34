/* SPDX-License-Identifier: BSD-3-Clause */
/* launch.c: what a program that is about to be started gets to see of LD_PRELOAD. */
#include "capture/launch.h"

#include "base/code/follow.h"
#include "base/code/preload.h"
#include "base/code/program.h"
#include "capture/attach.h"
#include "config/text.h"

extern char **environ;

#define PRELOAD "LD_PRELOAD"
#define RUNTIME "IORAMA_RUNTIME" /* the entry of LD_PRELOAD that we have put first */
#define LIST_MOST 16384		 /* bytes of a list that we change; longer ones stay as they are */

static char own_path[4096];
/* where to ask to be followed, "": nowhere; the environment may be gone when it is needed */
static char follower[RAMA_FOLLOW_NAME];
static bool preloaded; /* we came by LD_PRELOAD: programs without it are meant to have it, too */

/* The new environment of a program. Between vfork and exec this is memory of the parent, which
 * cannot know of it: the thread keeps it, and uses it up the next time. */
static RAMA_CAP_TLS struct {
	void *p;
	size_t size;
} kept;

/* ---- what the application gave us ------------------------------------------------------------ */

/* A copy of our own memory that the system makes fails where one of ours would end the process. */
static bool copy_safely(void *to, const void *from, size_t n)
{
	struct iovec a = { to, n }, b = { (void *)(uintptr_t)from, n };

	return rama_cap_sys6(SYS_process_vm_readv, rama_cap_sys3(SYS_getpid, 0, 0, 0), (long)&a, 1,
			     (long)&b, 1, 0) == (long)n;
}

/* Are the strings there, at least their first bytes? */
static bool strings_are_there(char *const *list, size_t n)
{
	struct iovec from[32];
	char first[32];
	struct iovec to = { first, n };

	for (size_t i = 0; i < n; i++)
		from[i] = (struct iovec){ list[i], 1 };
	return n == 0 || rama_cap_sys6(SYS_process_vm_readv, rama_cap_sys3(SYS_getpid, 0, 0, 0),
				       (long)&to, 1, (long)from, (long)n, 0) == (long)n;
}

/* Can the list be read up to its end? It is looked at in pieces that lie in one page each. */
static bool list_is_there(char *const *list)
{
	char *part[32];

	if ((uintptr_t)list % sizeof(*list) != 0)
		return false;
	for (;;) {
		size_t n = 32 - (uintptr_t)list / sizeof(*list) % 32, k = 0;

		if (!copy_safely(part, list, n * sizeof(*part)))
			return false;
		while (k < n && part[k])
			k++;
		if (!strings_are_there(part, k))
			return false;
		if (k < n)
			return true;
		list += n;
	}
}

static bool is_there(const struct rama_cap_launch_what *w, char *const *envp)
{
	return w->path && envp && rama_cap_path_was_read(w->path, 0) && list_is_there(envp) &&
	       (!w->argv || list_is_there(w->argv));
}

static const char *value_of(char *const *envp, const char *name)
{
	size_t n = strlen(name);

	for (; envp && *envp; envp++)
		if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=')
			return *envp + n + 1;
	return NULL;
}

/* ---- counting -------------------------------------------------------------------------------- */

static void note_name(struct rama_seg_state *s, enum rama_unseen why, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n = strnlen(name, sizeof(s->unseen_name[0].name) - 1);

	for (unsigned i = 0; i < RAMA_SEG_UNSEEN_NAMES; i++)
		if (s->unseen_name[i].reason == why &&
		    strncmp(s->unseen_name[i].name, name, n) == 0 &&
		    s->unseen_name[i].name[n] == '\0')
			return;
	if (s->unseen_names >= RAMA_SEG_UNSEEN_NAMES)
		return;
	uint32_t at = __atomic_fetch_add(&s->unseen_names, 1, __ATOMIC_RELAXED);
	if (at >= RAMA_SEG_UNSEEN_NAMES)
		return;
	memcpy(s->unseen_name[at].name, name, n);
	__atomic_store_n(&s->unseen_name[at].reason, (uint32_t)why, __ATOMIC_RELEASE);
}

void rama_cap_launch_count(enum rama_unseen why, const char *path)
{
	struct rama_seg_state *s = rama_cap_run.state;

	if (!s)
		return;
	__atomic_fetch_add(&s->unseen[why], 1, __ATOMIC_RELAXED);
	note_name(s, why, path);
}

/* the file that a descriptor stands for */
static __attribute__((noinline)) void count_descriptor(enum rama_unseen why, int fd)
{
	char proc[40], path[1024];
	struct rama_config_text t;

	rama_config_text_init(&t, proc, sizeof(proc));
	rama_config_text_str(&t, "/proc/self/fd/");
	rama_config_text_i64(&t, fd);
	long n = rama_cap_sys6(SYS_readlinkat, AT_FDCWD, (long)proc, (long)path, sizeof(path) - 1,
			       0, 0);
	path[n > 0 ? n : 0] = '\0';
	rama_cap_launch_count(why, path);
}

static void count(struct rama_cap_launched *l, const struct rama_cap_launch_what *w, bool replaces)
{
	l->counted = rama_cap_run.state != NULL;
	if (w->path[0])
		rama_cap_launch_count(l->why, w->path);
	else
		count_descriptor(l->why, w->dirfd);
	l->self = l->counted && replaces && !rama_cap_off && rama_cap_alive();
	if (l->self)
		rama_cap_run.state->unseen_self = l->why;
}

/* ---- the environment ------------------------------------------------------------------------- */

static void release(void)
{
	if (kept.p)
		rama_cap_sys3(SYS_munmap, kept.p, kept.size, 0);
	kept.p = NULL;
}

static void *reserve(size_t size)
{
	release();
	long p = rama_cap_sys6(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p < 0 && p > -4096)
		return NULL;
	kept.p = (void *)p;
	kept.size = size;
	return kept.p;
}

static bool is_variable(const char *entry, const char *name)
{
	size_t n = strlen(name);

	return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

/* A copy of envp with another LD_PRELOAD: without us, or with `first` at its front, in which
 * case the program is told to forget it again. Nothing changes if there is no memory. */
static void change(struct rama_cap_launched *l, const char *list, const char *first)
{
	size_t n = 0, k = 0, room = strlen(list) + RAMA_ELF_NAME + sizeof(PRELOAD) + 2;

	while (l->envp[n])
		n++;
	if (room > LIST_MOST)
		return;
	char **to = reserve((n + 3) * sizeof(*to) + room + sizeof(RUNTIME) + RAMA_ELF_NAME + 1);
	if (!to)
		return;
	char *text = (char *)(to + n + 3), *value = text + sizeof(PRELOAD);
	memcpy(text, PRELOAD "=", sizeof(PRELOAD) + 1);
	bool ok = first ? rama_preload_first(value, room - sizeof(PRELOAD), list, first)
			: rama_preload_without(value, room - sizeof(PRELOAD), list, own_path);
	if (!ok)
		return;
	for (size_t i = 0; i < n; i++)
		if (!is_variable(l->envp[i], PRELOAD) && !is_variable(l->envp[i], RUNTIME))
			to[k++] = l->envp[i];
	if (*value)
		to[k++] = text;
	if (first) {
		struct rama_config_text t;

		rama_config_text_init(&t, text + room, sizeof(RUNTIME) + RAMA_ELF_NAME + 1);
		rama_config_text_str(&t, RUNTIME "=");
		rama_config_text_str(&t, first);
		to[k++] = text + room;
	}
	to[k] = NULL;
	l->envp = to;
	l->changed = true;
}

/* ---- the plan -------------------------------------------------------------------------------- */

/* Under `iorama run` the segments of all processes are in one directory; who gave up his rights
 * may have none there. */
static bool is_shut_out(void)
{
	char dir[4096];
	struct rama_config_text t;

	if (rama_cap_run.bare || !rama_cap_run.settings ||
	    (uint64_t)rama_cap_sys3(SYS_geteuid, 0, 0, 0) == rama_cap_run.euid)
		return false;
	rama_config_text_init(&t, dir, sizeof(dir));
	rama_config_text_str(&t, rama_cap_run.settings->dir);
	rama_config_text_str(&t, "/");
	rama_config_text_str(&t, rama_cap_run.settings->job);
	return !t.cut && rama_cap_sys3(SYS_faccessat, AT_FDCWD, dir, W_OK | X_OK) == -EACCES;
}

/* false: there is no such program */
static __attribute__((noinline)) bool look_along_path(struct rama_program *p, const char *word)
{
	char buf[RAMA_PROGRAM_PATH];
	const char *path;

	if (!rama_program_find(word, rama_cap_variable("PATH"), buf, &path))
		return false;
	rama_program_look(p, AT_FDCWD, path);
	return true;
}

/* shells try one directory after the other */
static bool look_at(struct rama_program *p, const struct rama_cap_launch_what *w)
{
	if (w->search && !strchr(w->path, '/'))
		return look_along_path(p, w->path);
	if (w->path[0] && rama_cap_sys3(SYS_faccessat, w->dirfd, w->path, X_OK) < 0)
		return false;
	rama_program_look(p, w->dirfd, w->path);
	return true;
}

/* valgrind is a static program that loads another one, with LD_PRELOAD and all */
static bool loads_another(char *const *envp)
{
	return value_of(envp, "VALGRIND_LAUNCHER") != NULL;
}

static enum rama_unseen judge(const struct rama_program *p, char *const *envp, bool has)
{
	if (!p->there)
		return RAMA_UNSEEN_NOT;
	if (p->why == RAMA_UNSEEN_STATIC && loads_another(envp))
		return RAMA_UNSEEN_NOT;
	if (p->why != RAMA_UNSEEN_NOT)
		return p->why;
	if (!has)
		return RAMA_UNSEEN_CLEARED;
	return is_shut_out() ? RAMA_UNSEEN_DROPPED : RAMA_UNSEEN_NOT;
}

static bool is_same(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Will the program find our segment, and take it along? Only if it is observed, as we are, and
 * in the same place. */
static bool takes_along(const struct rama_cap_launched *l, const struct rama_cap_launch_what *w,
			char *const *envp)
{
	const char *off = value_of(envp, "IORAMA_DISABLE"), *name = w->argv ? w->argv[0] : NULL;

	return l->why == RAMA_UNSEEN_NOT && rama_cap_run.settings && name &&
	       (!off || is_same(off, "0") || is_same(off, "")) &&
	       !value_of(envp, "DARSHAN_DISABLE") && !value_of(envp, "IORAMA_JOB") &&
	       is_same(value_of(envp, "IORAMA_DIR"), rama_cap_variable("IORAMA_DIR")) &&
	       is_same(value_of(envp, "TMPDIR"), rama_cap_variable("TMPDIR")) &&
	       rama_config_settings_app(rama_cap_run.settings, name, strcspn(name, " "));
}

/* Asks to be followed from outside, if somebody is there (`iorama run --any`), or no longer. */
static bool follow(unsigned what)
{
	return follower[0] && rama_follow_ask(follower, what) == 0;
}

void rama_cap_launch_plan(struct rama_cap_launched *l, const struct rama_cap_launch_what *w,
			  char *const *envp, bool replaces)
{
	struct rama_program p = { 0 };

	*l = (struct rama_cap_launched){ .envp = envp };
	if (rama_cap_quiet || !is_there(w, envp))
		return;
	const char *list = value_of(envp, PRELOAD);
	bool has = list && rama_preload_has(list, own_path);
	if (!has && !preloaded)
		return;
	l->fails = !look_at(&p, w);
	l->why = judge(&p, envp, has);
	/* as another program, or until the one that it starts has begun */
	if (rama_program_follows(&p, l->why))
		l->followed = follow(RAMA_FOLLOW_ME);
	if (l->why != RAMA_UNSEEN_NOT && !l->followed)
		count(l, w, replaces);
	l->goes_on = replaces && p.there && takes_along(l, w, envp);
	if (has && rama_program_stops(l->why))
		change(l, list, NULL);
	else if (has && l->why == RAMA_UNSEEN_NOT && p.first[0])
		change(l, list, p.first);
}

void rama_cap_launch_failed(struct rama_cap_launched *l)
{
	struct rama_seg_state *s = rama_cap_run.state;

	if (l->counted && s)
		__atomic_fetch_sub(&s->unseen[l->why], 1, __ATOMIC_RELAXED);
	if (l->self && s)
		s->unseen_self = 0;
	rama_cap_launch_done(l);
}

void rama_cap_launch_done(struct rama_cap_launched *l)
{
	if (l->followed)
		follow(RAMA_FOLLOW_NOT);
	l->followed = false;
	if (l->changed)
		release();
	l->changed = false;
}

/* ---- this program ---------------------------------------------------------------------------- */

static void forget_runtime(void)
{
	static char list[LIST_MOST];
	const char *first = value_of(environ, RUNTIME);
	char *before = (char *)value_of(environ, PRELOAD);
	char **to = environ;

	if (!first)
		return;
	/* what is left is shorter, so it has room where it was */
	if (before && strlen(before) < sizeof(list) &&
	    rama_preload_undo(list, sizeof(list), before, first))
		memcpy(before, list, strlen(list) + 1);
	for (char **e = environ; *e; e++)
		if (!is_variable(*e, RUNTIME))
			*to++ = *e;
	*to = NULL;
}

void rama_cap_launch_init(void)
{
	const char *list;

#ifndef RAMA_STATIC_WRAP
	struct rama_config_text t;

	rama_config_text_init(&t, own_path, sizeof(own_path));
	rama_config_text_str(&t, rama_cap_own_path());
#endif
	if (!environ)
		return;
	forget_runtime();
	list = value_of(environ, "IORAMA_ANY");
	if (list && strlen(list) < sizeof(follower))
		memcpy(follower, list, strlen(list) + 1);
	list = value_of(environ, PRELOAD);
	preloaded = list && rama_preload_has(list, own_path);
}
