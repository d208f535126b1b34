/* SPDX-License-Identifier: BSD-3-Clause */
/* files.c: which file a path, a descriptor or a stream stands for, without asking the system where
 * that can be avoided. Callers are inside (busy), so scratch memory is theirs. */
#include <linux/limits.h>
#include <sys/vfs.h>

#include "capture/hooks/hooks.h"
#include "capture/record.h"
#include "capture/runtime.h"
#include "capture/sites.h"
#include "config/mounts.h"
#include "config/path.h"
#include "core/group.h"

bool rama_cap_observes(unsigned module, const char *text, size_t len)
{
	return rama_config_settings_observes(rama_cap_run.settings, module, text, len);
}

/* ---- slots ----------------------------------------------------------------------------------- */

static bool is_standard(const char *name)
{
	return strcmp(name, "<STDIN>") == 0 || strcmp(name, "<STDOUT>") == 0 ||
	       strcmp(name, "<STDERR>") == 0;
}

/* more: what a slot needs to know beside its name: POSIX: block size; datasets and variables: id
 * of the file's record */
static void init_slot(unsigned kind, void *slot, const struct rama_seg_name *n, int64_t more)
{
	rama_core_kinds[kind]->init(slot, &(struct rama_core_new){
						  .id = n->id,
						  .standard = is_standard(n->text),
#ifdef RAMA_STATIC_WRAP
						  .sees_mmap = true,
#endif
						  .lacks = rama_cap_run.h5d_lacks,
						  .mem_align = (int64_t)rama_cap_run.mem_align,
						  .file_align = more,
						  .file_id = (uint64_t)more,
					  });
}

/* chunk, and place in it, in one number */
static void *slot_at(unsigned kind, uint32_t number)
{
	uint32_t per = (1u << rama_cap_run.pool_shift) / rama_core_kinds[kind]->size;

	return rama_cap_run.pool[number / per] +
	       (size_t)(number % per) * rama_core_kinds[kind]->size;
}

static uint32_t slot_number(unsigned kind, const struct rama_cap_pool_now *now)
{
	uint32_t per = (1u << rama_cap_run.pool_shift) / rama_core_kinds[kind]->size;

	return now->chunk * per + now->used / rama_core_kinds[kind]->size;
}

/* in the order in which they were handed out */
const void *rama_cap_slot_nth(unsigned kind, uint32_t n)
{
	uint32_t per = (1u << rama_cap_run.pool_shift) / rama_core_kinds[kind]->size;

	for (uint32_t c = 0; c < rama_cap_run.state->pool_used; c++) {
		if (rama_cap_run.head->pool[c] != RAMA_SEG_POOL_SLOTS + kind)
			continue;
		if (n < per)
			return rama_cap_run.pool[c] + (size_t)n * rama_core_kinds[kind]->size;
		n -= per;
	}
	return NULL;
}

/* The next slot of a kind, with memory behind it; *number: of slot_at(), plus 1. NULL: there is
 * none */
static void *next_slot(unsigned kind, const struct rama_seg_name *n, int64_t more, uint32_t *number)
{
	uint32_t slots = rama_cap_run.state->slots_used[kind];
	struct rama_core_slot *head = NULL;

	if (slots < rama_cap_run.slots[kind])
		head = (struct rama_core_slot *)rama_cap_pool_room(kind,
								   rama_core_kinds[kind]->size);
	if (!head)
		return NULL;
	*number = slot_number(kind, &rama_cap_run.pool_now[kind]) + 1;
	init_slot(kind, head, n, more);
	head->name = rama_cap_name_number(n);
	__atomic_store_n(&rama_cap_run.state->slots_used[kind], slots + 1, __ATOMIC_RELEASE);
	return head;
}

void *rama_cap_slot_at(unsigned kind, uint32_t number)
{
	return slot_at(kind, number);
}

/* Is there room for one more record, if the user has said how much memory all may take? First
 * come, first served. */
static bool fits(unsigned kind)
{
	uint64_t most = rama_config_settings_pool(rama_cap_run.settings), used;

	if (most == UINT64_MAX)
		return true;
	used = rama_config_settings_record(rama_core_kind_module[kind]);
	for (unsigned k = 0; k < RAMA_SEG_KINDS; k++)
		if (rama_cap_run.state->slots_used[k] > 1) /* the first one is the catch-all */
			used += (uint64_t)(rama_cap_run.state->slots_used[k] - 1) *
				rama_config_settings_record(rama_core_kind_module[k]);
	return used <= most;
}

/* the slot of the group of files that this name belongs to; the catch-all if there is none */
static void *group_slot(struct rama_seg_name *n, unsigned kind, int64_t more)
{
	bool is_group = rama_core_group_is(n->text, n->len);

	for (unsigned coarse = 0; coarse < 2 && fits(kind); coarse++) {
		struct rama_seg_name *g =
			is_group && !coarse ? n : rama_cap_name_group(n->text, n->len, coarse);
		void *slot = NULL;
		uint32_t number;

		if (g && g->slot[kind])
			return slot_at(kind, g->slot[kind] - 1);
		rama_cap_pool_for_groups(true);
		slot = g ? next_slot(kind, g, more, &number) : NULL;
		rama_cap_pool_for_groups(false);
		if (slot) {
			__atomic_store_n(&g->slot[kind], number, __ATOMIC_RELEASE);
			return slot;
		}
	}
	return rama_cap_run.others[kind];
}

/* Slot of a name, taken if it has none yet; the caller holds the names lock. Slot 0 of each kind
 * is the catch-all, made before the first other one. */
static void *take_slot(struct rama_seg_name *n, unsigned kind, int64_t more)
{
	struct rama_seg_state *s = rama_cap_run.state;
	struct rama_seg_name *others = rama_cap_name_at(1);
	uint32_t number;

	if (n->slot[kind])
		return slot_at(kind, n->slot[kind] - 1);
	s->registered |= 1ull << rama_core_kind_module[kind];
	if (s->slots_used[kind] == 0) {
		rama_cap_pool_for_groups(true);
		rama_cap_run.others[kind] =
			next_slot(kind, others, kind == RAMA_SEG_KIND_POSIX ? -1 : 0, &number);
		rama_cap_pool_for_groups(false);
	}
	void *slot = rama_cap_run.others[kind] && n != others && fits(kind)
			     ? next_slot(kind, n, more, &number)
			     : NULL;
	if (!slot) {
		s->folded[kind]++;
		s->partial |= 1ull << rama_core_kind_module[kind];
		return group_slot(n, kind, more);
	}
	__atomic_store_n(&n->slot[kind], number, __ATOMIC_RELEASE);
	return slot;
}

void *rama_cap_slot_more(struct rama_cap_thread *t, unsigned kind, uint32_t name, uint32_t *number)
{
	struct rama_seg_state *s = rama_cap_run.state;
	void *slot = NULL;

	if (!rama_cap_lock(t, &rama_cap_run.names_lock))
		return NULL;
	s->registered |= 1ull << rama_core_kind_module[kind];
	slot = fits(kind) ? next_slot(kind, rama_cap_name_at(name), 0, number) : NULL;
	if (!slot)
		s->partial |= 1ull << rama_core_kind_module[kind];
	rama_cap_unlock(t, &rama_cap_run.names_lock);
	return slot;
}

static __attribute__((noinline)) void *make_slot(struct rama_cap_thread *t, struct rama_seg_name *n,
						 enum rama_seg_kind kind, int64_t more)
{
	void *slot = NULL;

	if (!rama_cap_observes(rama_core_kind_module[kind], n->text, n->len))
		return NULL;
	if (kind == RAMA_SEG_KIND_POSIX)
		more = rama_cap_file_alignment(n->text, n->len);
	else if (!rama_cap_run.mounts_known) /* the log names the mounts whatever the module */
		rama_cap_file_alignment(n->text, n->len);
	if (rama_cap_lock(t, &rama_cap_run.names_lock)) {
		slot = take_slot(n, kind, more);
		rama_cap_unlock(t, &rama_cap_run.names_lock);
	}
	return slot;
}

void *rama_cap_slot_with(struct rama_cap_thread *t, struct rama_seg_name *n,
			 enum rama_seg_kind kind, int64_t more)
{
	uint32_t is = __atomic_load_n(&n->slot[kind], __ATOMIC_ACQUIRE);

	return RAMA_CAP_LIKELY(is) ? slot_at(kind, is - 1) : make_slot(t, n, kind, more);
}

void *rama_cap_slot_of(struct rama_cap_thread *t, struct rama_seg_name *n, enum rama_seg_kind kind)
{
	return rama_cap_slot_with(t, n, kind, 0);
}

/* ---- paths ----------------------------------------------------------------------------------- */

void rama_cap_cwd_changed(void)
{
	__atomic_store_n(&rama_cap_run.cwd_len, 0, __ATOMIC_RELEASE);
}

/* the current directory into `to` (PATH_MAX); NULL: it cannot be told */
static const char *cwd(struct rama_cap_thread *t, char *to)
{
	const char *result = NULL;

	if (!rama_cap_lock(t, &rama_cap_run.cwd_lock))
		return NULL;
	if (rama_cap_run.cwd_len == 0) {
		long n = rama_cap_sys3(SYS_getcwd, rama_cap_run.cwd, sizeof(rama_cap_run.cwd), 0);
		rama_cap_run.cwd_len = n > 1 && rama_cap_run.cwd[0] == '/' ? (uint32_t)n : 0;
	}
	if (rama_cap_run.cwd_len > 0) {
		memcpy(to, rama_cap_run.cwd, rama_cap_run.cwd_len);
		result = to;
	}
	rama_cap_unlock(t, &rama_cap_run.cwd_lock);
	return result;
}

/* what the system calls the file behind a descriptor; NULL: no file with a name */
static const char *link_of(int fd, char *to)
{
	char proc[32] = "/proc/self/fd/";
	char digits[12];
	unsigned n = 0, at = 14;

	for (unsigned v = (unsigned)fd; v || n == 0; v /= 10)
		digits[n++] = (char)('0' + v % 10);
	while (n)
		proc[at++] = digits[--n];
	proc[at] = '\0';
	long len =
		rama_cap_sys6(SYS_readlinkat, AT_FDCWD, (long)proc, (long)to, PATH_MAX - 1, 0, 0);
	if (len <= 0 || to[0] != '/')
		return NULL;
	to[len] = '\0';
	return strncmp(to, "/memfd:", 7) == 0 ? NULL : to;
}

/* A file that was removed is still called by its name, with a word added. */
static size_t cut_deleted(char *text, const struct stat *st)
{
	static const char word[] = " (deleted)";
	size_t len = strlen(text), n = sizeof(word) - 1;

	if (st->st_nlink == 0 && len > n && strcmp(text + len - n, word) == 0)
		text[len -= n] = '\0';
	return len;
}

/* Where the descriptor stood before a call that moved it: the tracked offset of a file that
 * others may have used. */
static void ask_position(struct rama_core_posix_file *f, int fd, int64_t moved)
{
	if (f->w[RAMA_TAB_POSIX_OPENS].i + f->w[RAMA_TAB_POSIX_READS].i +
		    f->w[RAMA_TAB_POSIX_WRITES].i !=
	    0)
		return;
	int64_t at = rama_cap_sys3(SYS_lseek, fd, 0, SEEK_CUR) - moved;
	f->offset = at > 0 ? at : 0;
}

/* Is there a module that would make a record of it? Where no rule is for some modules only,
 * POSIX speaks for all. */
static bool anybody_observes(const char *text, size_t len)
{
	if (rama_cap_observes(RAMA_TAB_MOD_POSIX, text, len))
		return true;
	if (rama_config_settings_module(rama_cap_run.settings, RAMA_TAB_MOD_POSIX) &&
	    rama_cap_run.settings->n_rules == 0)
		return false;
	for (unsigned k = 0; k < RAMA_SEG_KINDS; k++)
		if (rama_cap_observes(rama_core_kind_module[k], text, len))
			return true;
	return false;
}

/* What lies below a directory that is not observed is not either, unless the user has rules of
 * his own for that. */
static long clean_below(struct rama_cap_thread *t, int dirfd, const char *path, char *to)
{
	struct rama_cap_fd *e = rama_cap_fd(dirfd);
	struct rama_seg_name *dir;
	const char *text;

	if (e && e->posix == RAMA_CAP_NO_FILE && e->name == 0) {
		text = rama_cap_run.settings->n_rules > 0 ? link_of(dirfd, t->scratch) : NULL;
		return text ? rama_config_path_clean(to, PATH_MAX, text, path) : 0;
	}
	dir = rama_cap_fd_name(t, dirfd);
	if (!dir || dir == rama_cap_name_at(1))
		return 0;
	return rama_config_path_clean_at(to, PATH_MAX, dir->text, path);
}

/* without asking whether anybody observes it */
static const char *clean(struct rama_cap_thread *t, int dirfd, const char *path, size_t *len)
{
	char *base = t->scratch, *to = t->scratch + PATH_MAX;
	long n;

	if (!path)
		return NULL;
	if (path[0] == '/' || path[0] == '\0') {
		n = rama_config_path_clean(to, PATH_MAX, "", path);
	} else if (dirfd == AT_FDCWD) {
		const char *here = cwd(t, base);
		n = here ? rama_config_path_clean(to, PATH_MAX, here, path) : 0;
	} else {
		n = clean_below(t, dirfd, path, to);
	}
	if (n == 0)
		return NULL;
	if (n < 0) { /* longer than any path should be: it counts, without its name */
		*len = sizeof(RAMA_SEG_CATCHALL) - 1;
		return RAMA_SEG_CATCHALL;
	}
	*len = (size_t)n;
	return to;
}

static const char *if_observed(const struct rama_cap_thread *t, const char *text, size_t len)
{
	bool is_path = text == t->scratch + PATH_MAX; /* else the catch-all, or nothing */

	return is_path && !anybody_observes(text, len) ? NULL : text;
}

const char *rama_cap_clean(struct rama_cap_thread *t, int dirfd, const char *path, size_t *len)
{
	const char *text = clean(t, dirfd, path, len);

	return text ? if_observed(t, text, *len) : NULL;
}

/* A name that has a slot was asked about when it got that: the rules do not change. */
const char *rama_cap_clean_known(struct rama_cap_thread *t, int dirfd, const char *path,
				 size_t *len, struct rama_seg_name **n)
{
	const char *text = clean(t, dirfd, path, len);

	*n = text ? rama_cap_name(t, text, *len, false) : NULL;
	if (*n && ((*n)->slot[RAMA_SEG_KIND_POSIX] || (*n)->slot[RAMA_SEG_KIND_STDIO]))
		return text;
	return text ? if_observed(t, text, *len) : NULL;
}

/* ---- mounts: matched by path; the block size is asked once per mount ------------------------- */

static struct rama_config_mounts mounts;

static void read_mounts(void)
{
	static char text[65536];
	size_t n = rama_cap_sys_slurp("/proc/self/mounts", text, sizeof(text));

	rama_config_mounts_parse(&mounts, text, n);
	rama_config_mounts_encode(&mounts, rama_cap_run.id->mounts,
				  sizeof(rama_cap_run.id->mounts));
}

void rama_cap_mounts_again(void)
{
	rama_config_mounts_encode(&mounts, rama_cap_run.id->mounts,
				  sizeof(rama_cap_run.id->mounts));
}

/* the caller holds the lock */
static void know_mounts(void)
{
	if (rama_cap_run.mounts_known)
		return;
	read_mounts();
	rama_cap_run.mounts_known = 1;
}

bool rama_cap_file_is_on(const char *path, size_t len, const char *type)
{
	struct rama_cap_thread *t = &rama_cap_thread;

	if (!rama_cap_lock(t, &rama_cap_run.mount_lock))
		return false;
	know_mounts();
	bool is = rama_config_mounts_is_on(&mounts, path, len, type);
	rama_cap_unlock(t, &rama_cap_run.mount_lock);
	return is;
}

static int64_t block_size(const char *mount)
{
	struct statfs fs;

	if (rama_cap_sys3(SYS_statfs, mount, &fs, 0) != 0)
		return 4096;
	/* Lustre tells 4096, means 1 MiB */
	return fs.f_type == 0x0BD00BD0 ? 1 << 20 : (int64_t)fs.f_bsize;
}

int64_t rama_cap_file_alignment(const char *path, size_t len)
{
	struct rama_cap_thread *t = &rama_cap_thread;
	int64_t block = -1;

	if (!rama_cap_lock(t, &rama_cap_run.mount_lock))
		return -1;
	know_mounts();
	int i = rama_config_mounts_find(&mounts, path, len);
	if (i >= 0) {
		if (mounts.mount[i].block == 0)
			mounts.mount[i].block =
				block_size(rama_config_mount_path(&mounts, (unsigned)i));
		block = mounts.mount[i].block;
	}
	rama_cap_unlock(t, &rama_cap_run.mount_lock);
	return block;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

/* those beyond the first: blocks that are made when one of their descriptors is met */
struct rama_cap_fd *rama_cap_fd_high(int fd)
{
	static struct rama_cap_fd *blocks[RAMA_CAP_FDS / RAMA_CAP_FDS_FIRST];

	if ((unsigned)fd >= RAMA_CAP_FDS)
		return NULL;
	struct rama_cap_fd **block = &blocks[(unsigned)fd / RAMA_CAP_FDS_FIRST], *none = NULL;
	struct rama_cap_fd *is = __atomic_load_n(block, __ATOMIC_ACQUIRE);
	if (!is) {
		struct rama_cap_fd *made =
			rama_cap_memory_own(RAMA_CAP_FDS_FIRST * sizeof(struct rama_cap_fd));
		if (!made)
			return NULL;
		is = made;
		if (!__atomic_compare_exchange_n(block, &none, made, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE))
			is = none; /* another thread was faster; what is lost is address space */
	}
	return &is[(unsigned)fd % RAMA_CAP_FDS_FIRST];
}

void rama_cap_fd_set(int fd, struct rama_core_posix_file *posix, struct rama_core_stdio_file *stdio,
		     uint32_t name)
{
	struct rama_cap_fd *e = rama_cap_fd(fd);

	if (!e)
		return;
	*e = (struct rama_cap_fd){
		.posix = posix, .stdio = stdio, .name = name, .generation = rama_cap_run.generation
	};
	if ((uint32_t)fd >= rama_cap_run.fd_high)
		rama_cap_run.fd_high = (uint32_t)fd + 1;
	rama_cap_hooks_forget(fd);
}

void rama_cap_fd_forget(int fd)
{
	struct rama_cap_fd *e = rama_cap_run.fds ? rama_cap_fd(fd) : NULL;

	if (e)
		*e = (struct rama_cap_fd){ 0 };
	rama_cap_hooks_forget(fd);
	if (rama_cap_fuse_is(fd))
		rama_cap_fuse_forget(fd);
}

void rama_cap_fd_forget_range(unsigned first, unsigned last)
{
	if (!rama_cap_run.fds)
		return;
	for (unsigned fd = first; fd < rama_cap_run.fd_high && fd <= last; fd++)
		rama_cap_fd_forget((int)fd);
}

/* An entry that a forked child has from its parent: the name is in the parent's segment, which is
 * still mapped. */
static void inherit(struct rama_cap_thread *t, int fd, struct rama_cap_fd *e, int64_t moved)
{
	struct rama_cap_fd was = *e;
	char *text = t->scratch + 2 * PATH_MAX;

	*e = (struct rama_cap_fd){ .generation = rama_cap_run.generation };
	if (was.posix != RAMA_CAP_NO_FILE)
		was.posix = (struct rama_core_posix_file *)((uintptr_t)was.posix & ~(uintptr_t)1);
	if (was.posix == RAMA_CAP_NO_FILE)
		e->posix = RAMA_CAP_NO_FILE;
	if (was.stdio == RAMA_CAP_NO_STREAM)
		e->stdio = RAMA_CAP_NO_STREAM;
	if (was.generation + 4 <= rama_cap_run.generation || (uintptr_t)was.posix <= 1)
		return;
	size_t len = rama_cap_name_old(was.generation, was.posix->name, text, PATH_MAX);
	if (len == 0)
		return;
	struct rama_seg_name *mine = rama_cap_name(t, text, len, true);
	struct rama_core_posix_file *f = mine ? rama_cap_posix_of(t, mine) : NULL;
	if (f)
		ask_position(f, fd, moved);
	rama_cap_fd_set(fd, f ? f : RAMA_CAP_NO_FILE, NULL, 0);
}

/* A descriptor we did not see being opened: inherited over exec, received from another process,
 * made by the C library itself. */
static void learn(struct rama_cap_thread *t, int fd, struct rama_cap_fd *e, int64_t moved)
{
	char *to = t->scratch + 2 * PATH_MAX;
	struct stat st;
	struct rama_core_posix_file *f = NULL;

	if (rama_cap_sys3(SYS_fstat, fd, &st, 0) != 0)
		return; /* not open at all */
	if (S_ISREG(st.st_mode) && link_of(fd, to)) {
		size_t len = cut_deleted(to, &st);
		struct rama_seg_name *n = rama_cap_observes(RAMA_TAB_MOD_POSIX, to, len)
						  ? rama_cap_name(t, to, len, true)
						  : NULL;
		f = n ? rama_cap_posix_of(t, n) : NULL;
		if (f)
			ask_position(f, fd, moved);
	} else if (S_ISDIR(st.st_mode) && link_of(fd, to)) {
		size_t len = strlen(to);
		struct rama_seg_name *n = rama_cap_observes(RAMA_TAB_MOD_POSIX, to, len)
						  ? rama_cap_name(t, to, len, true)
						  : NULL;
		rama_cap_fd_set(fd, RAMA_CAP_NO_FILE, e->stdio, n ? rama_cap_name_number(n) : 0);
		return;
	}
	if (S_ISCHR(st.st_mode))
		rama_cap_fuse_met(fd, st.st_rdev);
	rama_cap_fd_set(fd, f ? f : RAMA_CAP_NO_FILE, e->stdio, 0);
}

struct rama_core_posix_file *rama_cap_fd_posix_slow(struct rama_cap_thread *t, int fd,
						    int64_t moved)
{
	struct rama_cap_fd *e = rama_cap_fd(fd);

	if (!e)
		return NULL;
	if (e->generation != rama_cap_run.generation && (e->posix || e->stdio || e->name))
		inherit(t, fd, e, moved);
	if (e->posix == NULL)
		learn(t, fd, e, moved);
	if ((uintptr_t)e->posix <= 1)
		return NULL;
	if (t->parent && t->met_in != t->parent) {
		t->met_in = t->parent;
		t->met = e->posix->name;
	}
	return e->posix;
}

struct rama_seg_name *rama_cap_fd_name(struct rama_cap_thread *t, int fd)
{
	struct rama_cap_fd *e = rama_cap_fd(fd);

	if (!e)
		return NULL;
	struct rama_core_posix_file *f = rama_cap_fd_posix(t, fd);
	if (f)
		return rama_cap_name_at(f->name);
	return e->name ? rama_cap_name_at(e->name) : NULL;
}

/* ---- streams --------------------------------------------------------------------------------- */

/* The observed file that a descriptor is, or NULL. */
static struct rama_seg_name *file_of(struct rama_cap_thread *t, int fd)
{
	char *to = t->scratch + 2 * PATH_MAX;
	struct stat st;

	if (rama_cap_sys3(SYS_fstat, fd, &st, 0) != 0 || !S_ISREG(st.st_mode) || !link_of(fd, to))
		return NULL;
	size_t len = cut_deleted(to, &st);
	return rama_cap_observes(RAMA_TAB_MOD_STDIO, to, len) ? rama_cap_name(t, to, len, true)
							      : NULL;
}

static struct rama_core_stdio_file *standard(struct rama_cap_thread *t, FILE *stream, int fd)
{
	const char *text = stream == stdin ? "<STDIN>" : stream == stdout ? "<STDOUT>" : "<STDERR>";
	struct rama_seg_name *n = rama_cap_name(t, text, strlen(text), true),
			     *file = n && stream != stderr ? file_of(t, fd) : NULL;

	if (file)
		rama_cap_do_origin(t, file, RAMA_TAB_EXTRA_STREAM, n->id);
	return n ? rama_cap_stdio_of(t, n) : NULL;
}

static struct rama_core_stdio_file *stream_slow(struct rama_cap_thread *t, FILE *stream, int fd)
{
	struct rama_cap_fd *e = rama_cap_fd(fd);
	struct rama_core_stdio_file *f = NULL;

	if (!e)
		return NULL;
	if (e->generation != rama_cap_run.generation && (e->posix || e->stdio || e->name))
		inherit(t, fd, e, 0);
	if (stream == stdin || stream == stdout || stream == stderr) {
		f = standard(t, stream, fd);
	} else if (!e->stdio) {
		struct rama_seg_name *n = file_of(t, fd);
		f = n ? rama_cap_stdio_of(t, n) : NULL;
	}
	e->stdio = f ? f : RAMA_CAP_NO_STREAM;
	e->generation = rama_cap_run.generation;
	if ((uint32_t)fd >= rama_cap_run.fd_high)
		rama_cap_run.fd_high = (uint32_t)fd + 1;
	return f;
}

struct rama_core_stdio_file *rama_cap_stream_file(struct rama_cap_thread *t, FILE *stream)
{
	int fd = RAMA_CAP_REAL(fileno)(stream);
	struct rama_cap_fd *e = fd >= 0 ? rama_cap_fd(fd) : NULL;

	if (!e)
		return NULL;
	if (RAMA_CAP_LIKELY(e->stdio && e->generation == rama_cap_run.generation))
		return e->stdio != RAMA_CAP_NO_STREAM ? e->stdio : NULL;
	return stream_slow(t, stream, fd);
}
