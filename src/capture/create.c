/* SPDX-License-Identifier: BSD-3-Clause */
/* create.c: makes the segment of this process. */
#include <sys/resource.h>

#include "capture/before.h"
#include "capture/place.h"
#include "capture/sites.h"
#include "config/text.h"

/* ---- where ----------------------------------------------------------------------------------- */

/* root/OLD/file becomes root/NEW/file. The directory may go with somebody else's last segment
 * right before ours comes: then it is made again. */
static bool move_file(char *to, const char *job)
{
	char *slash = strrchr(rama_cap_run.path, '/'), *root = slash;
	struct rama_config_text t;
	long rc = -ENOENT;
	int dir;

	if (!slash) /* it has no file */
		return false;
	while (root > rama_cap_run.path && *--root != '/')
		;
	for (unsigned i = 0; i < 10 && rc == -ENOENT; i++) {
		rama_config_text_init(&t, to, sizeof(rama_cap_run.path));
		rama_config_text_put(&t, rama_cap_run.path, (size_t)(root - rama_cap_run.path) + 1);
		rama_config_text_str(&t, job);
		dir = t.cut ? -1 : rama_cap_place_make(to);
		if (dir < 0)
			return false;
		rama_config_text_str(&t, slash);
		if (!t.cut)
			rc = rama_cap_sys6(SYS_renameat2, AT_FDCWD, (long)rama_cap_run.path, dir,
					   (long)slash + 1, 1 /* RENAME_NOREPLACE */, 0);
		rama_cap_sys_close(dir);
		if (t.cut)
			return false;
	}
	return rc == 0;
}

bool rama_cap_move_segment(const char *job)
{
	static char to[sizeof(rama_cap_run.path)];

	if (!move_file(to, job))
		return false;
	char *slash = strrchr(rama_cap_run.path, '/');
	*slash = '\0'; /* the old one goes, if this was all it held */
	rama_cap_sys3(SYS_unlinkat, AT_FDCWD, rama_cap_run.path, AT_REMOVEDIR);
	memcpy(rama_cap_run.path, to, sizeof(to));
	return true;
}

void rama_cap_join_job(const char *job, int64_t jobid)
{
	struct rama_config_text t;

	if (!rama_cap_move_segment(job))
		return;
	rama_config_text_init(&t, rama_cap_run.id->job, sizeof(rama_cap_run.id->job));
	rama_config_text_str(&t, job);
	memcpy(rama_cap_run.job, rama_cap_run.id->job, sizeof(rama_cap_run.job));
	rama_cap_run.id->jobid = rama_cap_run.job_pid = jobid;
}

/* <host>.<pid>.<k>.seg: k counts the programs that this process became one after the other.
 * `make` is tried until the name is not taken. */
static long name_file(struct rama_config_text *t, long (*make)(int dir, int fd), int dir, int fd)
{
	size_t stem = t->len;
	long rc = -EEXIST;

	for (unsigned k = 0; k < 10000 && rc == -EEXIST; k++) {
		t->len = stem;
		rama_config_text_u64(t, k);
		rama_config_text_str(t, ".seg");
		rc = t->cut ? -ENAMETOOLONG : make(dir, fd);
	}
	return rc;
}

/* the name alone, in the directory */
static long make_file(int dir, int unused)
{
	(void)unused;
	return rama_cap_sys6(SYS_openat, dir, (long)strrchr(rama_cap_run.path, '/') + 1,
			     O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600, 0, 0);
}

static long link_file(int dir, int fd)
{
	char proc[32];
	struct rama_config_text t;

	rama_config_text_init(&t, proc, sizeof(proc));
	rama_config_text_str(&t, "/proc/self/fd/");
	rama_config_text_i64(&t, fd);
	return rama_cap_sys6(SYS_linkat, AT_FDCWD, (long)proc, dir,
			     (long)strrchr(rama_cap_run.path, '/') + 1, AT_SYMLINK_FOLLOW, 0);
}

/* The file has no name until it is complete, so that nobody ever finds half of one; where the
 * file system cannot do that, it is made under its name. *named: the second. t: the path of its
 * directory, then of the file without its end. */
static int create_file(int dir, struct rama_config_text *t, bool *named)
{
	int fd = (int)rama_cap_sys6(SYS_openat, dir, (long)".", O_TMPFILE | O_RDWR | O_CLOEXEC,
				    0600, 0, 0);

	*named = fd < 0;
	t->room = sizeof(rama_cap_run.path);
	rama_config_text_str(t, "/");
	rama_config_text_str(t, rama_cap_run.id->host);
	rama_config_text_str(t, ".");
	rama_config_text_i64(t, rama_cap_run.pid);
	rama_config_text_str(t, ".");
	return *named ? (int)name_file(t, make_file, dir, -1) : fd;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* how many records of a module there may be, of those that fit, if somebody said so; and the
 * catch-all */
static uint32_t records(unsigned module)
{
	uint32_t n = rama_config_settings_records(rama_cap_run.settings, module);

	return (n > 1 << 30 ? 1 << 30 : n) + 1;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

#define SPARE_MOST (1u << 20) /* bytes of records that are kept for groups of files */

/* the largest power of two that is not more, of those from `from` on */
static uint64_t power_below(uint64_t n, uint64_t from)
{
	while (from * 2 <= n)
		from *= 2;
	return from;
}

/* Bytes of each area that grows, in no more than a file may have. Records come first: half of
 * what there is, then the threads; traces and live events share what is left. false: it is too
 * little for anything. */
static bool divide(uint64_t len[RAMA_SEG_AREAS], uint64_t room)
{
	const struct rama_config_settings *s = rama_cap_run.settings;
	uint64_t trace = rama_config_settings_trace_memory(s), memory = s->memory;
	const uint64_t block = RAMA_CAP_LANE_BLOCK * RAMA_CAP_LANE;

	memory = rama_cap_memory_share(memory < RAMA_CAP_FIRST ? RAMA_CAP_FIRST : memory);
	if (memory > room / 2) {
		if (room < 4 * (uint64_t)RAMA_CAP_FIRST)
			return false;
		memory = power_below(room / 2, RAMA_CAP_FIRST);
	}
	len[RAMA_SEG_AREA_RECORDS] = memory;
	room -= memory;
	len[RAMA_SEG_AREA_LANES] = least(RAMA_SEG_LANES * (uint64_t)RAMA_CAP_LANE,
					 room / 4 > block ? room / 4 / block * block : block);
	room -= len[RAMA_SEG_AREA_LANES];
	/* tracing can be switched on from outside: there is always room for some */
	if (trace < 2 << 20)
		trace = 2 << 20;
	len[RAMA_SEG_AREA_EVENTS] = least(trace, room / 2) / RAMA_SEG_CHUNK * RAMA_SEG_CHUNK;
	room -= len[RAMA_SEG_AREA_EVENTS];
	len[RAMA_SEG_AREA_RINGS] = least(s->live_memory, room) & ~(uint64_t)(RAMA_SEG_PAGE - 1);
	return true;
}

static void plan_records(struct rama_seg_header *h, uint64_t *memory)
{
	const struct rama_config_settings *s = rama_cap_run.settings;
	uint64_t chunk = RAMA_CAP_POOL;

	while (*memory / chunk > RAMA_SEG_POOL_CHUNKS && chunk < 1u << 30)
		chunk *= 2;
	rama_cap_run.pool_chunks = (uint32_t)least(*memory / chunk, RAMA_SEG_POOL_CHUNKS);
	*memory = rama_cap_run.pool_chunks * chunk;
	h->area[RAMA_SEG_AREA_RECORDS].item = (uint32_t)chunk;
	rama_cap_run.pool_shift = (uint32_t)__builtin_ctzll(chunk);
	rama_cap_run.pool_spare = (uint32_t)least(rama_cap_run.pool_chunks / 8, SPARE_MOST / chunk);
	for (unsigned k = 0; k < RAMA_SEG_KINDS; k++) {
		rama_cap_run.slots[k] = records(rama_core_kind_module[k]);
		h->slot[k] = rama_core_kinds[k]->size;
	}
	rama_cap_run.names_most = s->name_memory > 0 ? s->name_memory : *memory;
	rama_cap_run.names_most =
		least(rama_cap_run.names_most < 4096 ? 4096 : rama_cap_run.names_most,
		      least(*memory, 8ull * (UINT32_MAX - 1)));
	/* names of files that do not exist must leave room for those that do, and for their
	 * records */
	rama_cap_run.failed_most = s->name_memory > 0 ? rama_cap_run.names_most / 2 : *memory / 16;
}

/* false: files may not be large enough */
static bool plan(struct rama_seg_header *h, uint64_t limit)
{
	uint64_t at = RAMA_SEG_PAGE, len[RAMA_SEG_AREAS] = { 0 };
	const uint64_t fixed = 16 * RAMA_SEG_PAGE; /* more than the areas that do not grow */

	*h = (struct rama_seg_header){ .magic = RAMA_SEG_MAGIC,
				       .version = RAMA_SEG_VERSION,
				       .areas = RAMA_SEG_AREAS };
	if (limit < fixed || !divide(len, limit - fixed))
		return false;
	plan_records(h, &len[RAMA_SEG_AREA_RECORDS]);
	rama_cap_run.n_lanes = (uint32_t)(len[RAMA_SEG_AREA_LANES] / RAMA_CAP_LANE);
	len[RAMA_SEG_AREA_IDENTITY] = sizeof(struct rama_seg_identity);
	len[RAMA_SEG_AREA_STATE] = sizeof(struct rama_seg_state);
	len[RAMA_SEG_AREA_CONTROL] = sizeof(struct rama_seg_control);
	h->area[RAMA_SEG_AREA_LANES].item = RAMA_CAP_LANE;
	h->area[RAMA_SEG_AREA_EVENTS].item = RAMA_SEG_CHUNK;
	h->area[RAMA_SEG_AREA_RINGS].item = sizeof(struct rama_seg_event);
	for (unsigned i = 0; i < RAMA_SEG_AREAS; i++) {
		h->area[i].off = at;
		h->area[i].len = len[i];
		at += (len[i] + RAMA_SEG_PAGE - 1) & ~(uint64_t)(RAMA_SEG_PAGE - 1);
	}
	h->size = at;
	return at <= limit;
}

static void point(unsigned char *base, const struct rama_seg_header *h)
{
	const struct rama_seg_area_get *a = h->area;

	rama_cap_run.head = (struct rama_seg_header *)base;
	rama_cap_run.id = (struct rama_seg_identity *)(base + a[RAMA_SEG_AREA_IDENTITY].off);
	rama_cap_run.state = (struct rama_seg_state *)(base + a[RAMA_SEG_AREA_STATE].off);
	rama_cap_run.control = (struct rama_seg_control *)(base + a[RAMA_SEG_AREA_CONTROL].off);
}

static void set_limits(void)
{
	struct rama_seg_state *s = rama_cap_run.state;
	const struct rama_seg_area_get *a = rama_cap_run.head->area;

	s->chunks_limit = rama_config_settings_trace_memory(rama_cap_run.settings) / RAMA_SEG_CHUNK;
	if (s->chunks_limit == 0)
		s->chunks_limit = (2 << 20) / RAMA_SEG_CHUNK;
	s->chunks_limit = least(s->chunks_limit, a[RAMA_SEG_AREA_EVENTS].len / RAMA_SEG_CHUNK);
	s->rings_limit = a[RAMA_SEG_AREA_RINGS].len;
}

uint64_t rama_cap_file_limit(void)
{
	uint64_t limit[2] = { UINT64_MAX, 0 };

	rama_cap_sys6(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)limit, 0, 0);
	return limit[0];
}

/* A thread and some files: a place that has no room for these is of no use to the process. */
static bool few_have_room(void)
{
	static const uint8_t kind[] = { RAMA_SEG_KIND_POSIX, RAMA_SEG_KIND_STDIO,
					RAMA_SEG_KIND_EXTRA };

	for (unsigned i = 0; i < sizeof(kind); i++)
		if (!rama_cap_pool_room(kind[i], 4 * rama_cap_run.head->slot[kind[i]]))
			return false;
	void *lane = rama_cap_memory_lane(0, true);
	return lane && rama_cap_memory_fill(lane, RAMA_CAP_LANE);
}

static bool fill_first(unsigned char *base, const struct rama_seg_header *h,
		       const struct rama_seg_identity *id)
{
	if (!rama_cap_memory_fill(base, h->area[RAMA_SEG_AREA_RECORDS].off))
		return false;
	point(base, h);
	*rama_cap_run.head = *h;
	*rama_cap_run.id = *id;
	if (!rama_cap_run.fds)
		rama_cap_run.fds =
			rama_cap_memory_own(RAMA_CAP_FDS_FIRST * sizeof(struct rama_cap_fd));
	return rama_cap_run.fds && rama_cap_names_init() && few_have_room();
}

/* fd: -1: memory of its own, for want of a file */
static bool map_segment(int fd, const struct rama_seg_identity *id)
{
	struct rama_seg_header h;
	unsigned char *base = NULL;
	int memory = -1;

	/* of no file that others see: the rest is the same, and it counts where it is used */
	if (fd < 0)
		fd = memory =
			(int)rama_cap_sys3(SYS_memfd_create, "iorama", 1 /* MFD_CLOEXEC */, 0);
	if (fd < 0)
		return false;
	rama_cap_sys3(SYS_fchmod, fd, 0600, 0);
	/* to ask for more than a file may have would kill the application */
	if (plan(&h, rama_cap_file_limit()) && rama_cap_sys3(SYS_ftruncate, fd, h.size, 0) == 0)
		base = rama_cap_memory_open(fd, &h, rama_cap_run.generation);
	if (memory >= 0)
		rama_cap_sys_close(memory);
	if (base && !fill_first(base, &h, id)) {
		rama_cap_memory_close(rama_cap_run.generation);
		base = NULL;
	}
	return base != NULL;
}

static void fill_segment(struct rama_seg_ticks clock)
{
	rama_cap_run.tick0 = clock.tick0 - 1; /* no moment is 0 */
	clock.source = rama_cap_run.clock;
	clock.hz = rama_cap_run.hz > 0 ? rama_cap_run.hz : rama_cap_measure_hz(&clock);
	clock.tick0 = rama_cap_run.tick0;
	rama_cap_run.hz = clock.hz;
	rama_cap_run.id->clock = clock;
	rama_cap_run.heat_width = (uint64_t)(clock.hz / 10);
	rama_cap_run.heat =
		rama_config_settings_module(rama_cap_run.settings, RAMA_TAB_MOD_HEATMAP);
	if (!rama_config_settings_module(rama_cap_run.settings, RAMA_TAB_MOD_PROCESS))
		rama_cap_run.id->flags |= RAMA_SEG_NO_PROCESS;
	if (!rama_config_settings_module(rama_cap_run.settings, RAMA_TAB_MOD_EXTRA))
		rama_cap_run.id->flags |= RAMA_SEG_NO_EXTRA;
	if (rama_cap_run.sites)
		rama_cap_run.id->flags |= RAMA_SEG_SITES;
	rama_cap_run.state->usage_known = rama_cap_usage(&rama_cap_run.state->usage[0]);
	set_limits();
	rama_cap_run.control->trace = rama_cap_run.id->trace;
	rama_cap_run.control->live = rama_cap_run.live;
	rama_cap_run.control->live_until = rama_cap_run.live_until;
	if (rama_cap_run.mounts_known)
		rama_cap_mounts_again();
	if (rama_cap_run.bare && !rama_cap_run.forked)
		rama_cap_sys3(SYS_getcwd, rama_cap_run.start_dir, sizeof(rama_cap_run.start_dir),
			      0);
	__atomic_store_n(&rama_cap_run.state->phase, RAMA_SEG_RUNNING, __ATOMIC_RELEASE);
}

/* In this directory; -ENOENT: it was removed meanwhile, with the last segment of another
 * process. */
static long make_in(int dir, struct rama_config_text *t, struct rama_seg_identity *id,
		    const struct rama_seg_ticks *clock)
{
	bool named, ok;
	long rc = -ENOSPC;

	rama_cap_run.id = id;
	int fd = create_file(dir, t, &named);
	if (fd < 0)
		return fd;
	ok = map_segment(fd, id);
	if (ok) {
		fill_segment(*clock);
		rc = named ? 0 : name_file(t, link_file, dir, fd);
	}
	if (ok && rc != 0)
		rama_cap_memory_close(rama_cap_run.generation);
	if (rc != 0 && named)
		rama_cap_sys6(SYS_unlinkat, dir, (long)strrchr(rama_cap_run.path, '/') + 1, 0, 0, 0,
			      0);
	if (rc == 0)
		rama_cap_before_note();
	rama_cap_run.unlinked = false;
	rama_cap_sys_close(fd);
	return rc;
}

/* what was made of it goes again, if nobody else uses it */
static void leave_dir(size_t len)
{
	rama_cap_run.path[len] = '\0';
	rama_cap_sys3(SYS_unlinkat, AT_FDCWD, rama_cap_run.path, AT_REMOVEDIR);
}

/* The first place that has room. */
static bool make_file_somewhere(struct rama_seg_identity *id, const struct rama_seg_ticks *clock)
{
	struct rama_config_text t;
	bool more = true;

	for (unsigned i = 0; more; i++) {
		long rc = -ENOENT;

		for (unsigned k = 0; more && k < 3 && rc == -ENOENT; k++) {
			int dir;

			rama_config_text_init(&t, rama_cap_run.path,
					      sizeof(rama_cap_run.path) - 256);
			rama_cap_run.id = id;
			more = rama_cap_place_open(i, id->job, &t, &dir);
			if (!more || dir < 0)
				break;
			size_t len = t.len;
			rama_cap_tally_find(dir);
			rc = make_in(dir, &t, id, clock);
			rama_cap_sys_close(dir);
			if (rc != 0)
				leave_dir(len);
		}
		if (rc == 0) {
			rama_cap_tally_begin(i == 0 ? RAMA_CAP_PLACED_FIRST
						    : RAMA_CAP_PLACED_SPARE);
			return true;
		}
	}
	rama_cap_run.path[0] = '\0';
	return false;
}

static bool rights_gone; /* a forked child has others than its parent had */

/* Without any place a process that writes its own log keeps all in memory that is its own:
 * nobody can look into it or recover it. One that leaves the log to `iorama run` at least learns
 * that way how many calls are not recorded. */
static bool make_segment(struct rama_seg_identity *id, const struct rama_seg_ticks *clock)
{
	rama_cap_run.told_calls = rama_cap_run.told_end = rama_cap_run.told_replaced = 0;
	if (make_file_somewhere(id, clock))
		return true;
	rama_cap_run.id = id;
	if (rights_gone) /* it is no want of room: who comes back from here counts it */
		return false;
	rama_cap_tally_begin(RAMA_CAP_PLACED_NOWHERE);
	if ((!rama_cap_run.bare && !rama_cap_run.tally) || !map_segment(-1, id))
		return false;
	fill_segment(*clock);
	rama_cap_before_note(); /* there were none, as far as anybody can tell */
	return true;
}

bool rama_cap_create_segment(void)
{
	static struct rama_seg_identity id; /* large, and stacks are small */
	struct rama_seg_ticks clock = { 0 };
	bool first = !rama_cap_run.settings;

	if (first) {
		rama_cap_run.settings = rama_cap_memory_own(sizeof(struct rama_config_settings));
		if (!rama_cap_run.settings)
			return false;
		rama_cap_choose_clock();
	}
	uint64_t parents = rama_cap_run.euid;
	rama_cap_run.euid = (uint64_t)rama_cap_sys3(SYS_geteuid, 0, 0, 0);
	rights_gone = rama_cap_run.forked && rama_cap_run.euid != parents;
	rama_cap_clock_pair(&clock.tick0, &clock.mono0, &clock.real0);
	if (first)
		rama_cap_read_settings();
	if (rama_cap_run.settings->disabled)
		return false;
	rama_cap_identify(&id);
	if (first)
		rama_cap_run.live = rama_cap_run.settings->live;
	rama_cap_run.bare = rama_cap_run.settings->job[0] == '\0';
	rama_cap_run.mem_align = (uintptr_t)rama_cap_run.settings->mem_align;
	rama_cap_run.mem_mask = (rama_cap_run.mem_align & (rama_cap_run.mem_align - 1)) == 0
					? rama_cap_run.mem_align - 1
					: 0;
	rama_cap_choose_quick();
	rama_cap_sites_choose();
	return rama_cap_wanted(&id) && make_segment(&id, &clock);
}
