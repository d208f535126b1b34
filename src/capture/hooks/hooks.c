/* SPDX-License-Identifier: BSD-3-Clause */
/* hooks.c: is this process a daemon or server of a file system, and what of its own code can be
 * observed? Asked when it is attached to; of one that was started with us, when it opens files or
 * sockets, as its translators are loaded later than we are. */
#include "capture/hooks/hooks.h"

#include "capture/attach.h"

bool rama_cap_hooks_wanted, rama_cap_hooks_armed, rama_cap_hooks_serving;

unsigned char rama_cap_hooks_past[RAMA_CAP_FDS_FIRST];

bool rama_cap_hooks_device(int fd)
{
	if (*rama_cap_live != rama_cap_thread.live || (unsigned)fd >= RAMA_CAP_FDS_FIRST)
		return false;
	if (rama_cap_hooks_past[fd] == RAMA_CAP_HOOKS_DEVICE)
		return true;
	if (rama_cap_run.fds[fd].posix != RAMA_CAP_NO_FILE ||
	    rama_cap_run.fds[fd].generation != rama_cap_run.generation)
		return false;
	rama_cap_hooks_past[fd] =
		rama_cap_fuse_is(fd) ? RAMA_CAP_HOOKS_DEVICE : RAMA_CAP_HOOKS_PAST;
	return rama_cap_hooks_past[fd] == RAMA_CAP_HOOKS_DEVICE;
}

void rama_cap_hooks_unseen(void)
{
	if (rama_cap_run.state)
		__atomic_fetch_add(&rama_cap_run.state->requests_unseen, 1, __ATOMIC_RELAXED);
}

void rama_cap_hooks_count(uint64_t ticks)
{
	__atomic_fetch_add(&rama_cap_run.state->requests, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&rama_cap_run.state->requests_ticks, ticks, __ATOMIC_RELAXED);
}

bool rama_cap_hooks_read(void *to, uintptr_t from, size_t n)
{
	struct iovec mine = { to, n }, theirs = { (void *)from, n };

	return rama_cap_sys6(SYS_process_vm_readv, rama_cap_run.pid, (long)&mine, 1, (long)&theirs,
			     1, 0) == (long)n;
}

void rama_cap_hooks_serves(void)
{
	rama_cap_run.server = rama_cap_run.settings->everywhere = true;
	__atomic_fetch_or(&rama_cap_run.id->flags, RAMA_SEG_FILE_SERVER, __ATOMIC_RELAXED);
}

#ifndef RAMA_STATIC_WRAP
#include <link.h>

#include "config/text.h"

#define SCAN 1024 /* descriptors of a daemon that was attached to: its device is one of the first */

static struct {
	unsigned long long seen; /* objects that were ever loaded, when we looked */
	bool busy;
} us;

void rama_cap_hooks_say(const char *what, const char *more)
{
	char text[sizeof(rama_cap_run.state->hooks)];
	struct rama_config_text t;

	if (!rama_cap_run.state)
		return;
	rama_config_text_init(&t, text, sizeof(text));
	rama_config_text_str(&t, what);
	rama_config_text_str(&t, more);
	memcpy(rama_cap_run.state->hooks, text, sizeof(text));
}

/* the first word of the command line, without its folder */
static bool is_called(const char *name, bool whole)
{
	const char *command = rama_cap_run.id->command;
	size_t n = strcspn(command, " "), m = strlen(name);

	while (n > 0 && memchr(command, '/', n)) {
		const char *next = (const char *)memchr(command, '/', n) + 1;

		n -= (size_t)(next - command);
		command = next;
	}
	return n >= m && memcmp(command, name, m) == 0 && (!whole || n == m);
}

/* bricks of GlusterFS are known by what they have loaded: its clients may have the same name */
static bool is_server(void)
{
	bool is = false;

#define SERVER(name, system) is = is || (is_called(name, true) && strcmp(system, "GlusterFS") != 0);
#include "table/servers.def"
#undef SERVER
	return is;
}

static int each(struct dl_phdr_info *info, size_t size, void *adds)
{
	(void)size;
	*(unsigned long long *)adds = info->dlpi_adds;
	rama_cap_gluster_see(info);
	return 0;
}

static int first_only(struct dl_phdr_info *info, size_t size, void *adds)
{
	(void)size;
	*(unsigned long long *)adds = info->dlpi_adds;
	return 1;
}

void rama_cap_hooks_again(void)
{
	unsigned long long adds = 0;
	int saved = errno;

	if (!rama_cap_alive() || rama_cap_off ||
	    rama_cap_sys3(SYS_getpid, 0, 0, 0) != rama_cap_run.pid)
		return;
	dl_iterate_phdr(first_only, &adds);
	if (adds != us.seen && !__atomic_exchange_n(&us.busy, true, __ATOMIC_ACQUIRE)) {
		dl_iterate_phdr(each, &us.seen);
		rama_cap_gluster_arm();
		__atomic_store_n(&us.busy, false, __ATOMIC_RELEASE);
	}
	errno = saved;
}

void rama_cap_hooks_begin(void)
{
	us.seen = 0;
	rama_cap_hooks_wanted = rama_cap_attached || is_called("glusterfs", false);
	rama_cap_run.server = rama_cap_run.settings->everywhere = false;
	if (is_server())
		rama_cap_hooks_serves();
	for (int fd = 0; rama_cap_attached && fd < SCAN; fd++) {
		struct stat st;

		if (rama_cap_sys3(SYS_fstat, fd, &st, 0) == 0 && S_ISCHR(st.st_mode))
			rama_cap_fuse_met(fd, st.st_rdev);
	}
	if (rama_cap_hooks_wanted)
		rama_cap_hooks_again();
}

void rama_cap_hooks_end(void)
{
	rama_cap_hooks_wanted = false;
	rama_cap_gluster_disarm();
}
#endif
