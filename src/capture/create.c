/* SPDX-License-Identifier: BSD-3-Clause */
/* create.c: makes the segment of this process. */
#include <sys/resource.h>

#include "capture/runtime.h"
#include "config/text.h"

/* ---- where ----------------------------------------------------------------------------------------------- */

/* a directory that is ours alone, made if need be */
static bool own_dir(const char *path)
{
	struct stat st;
	long rc = rama_sys3(SYS_mkdirat, AT_FDCWD, path, 0700);

	if (rc == 0) /* whatever the mask of the process is */
		return rama_sys3(SYS_fchmodat, AT_FDCWD, path, 0700) == 0;
	if (rama_sys6(SYS_newfstatat, AT_FDCWD, (long)path, (long)&st, AT_SYMLINK_NOFOLLOW, 0, 0) !=
	    0)
		return false;
	return S_ISDIR(st.st_mode) && st.st_uid == (uid_t)rama_sys3(SYS_geteuid, 0, 0, 0) &&
	       (st.st_mode & 022) == 0;
}

/* Where `iorama run` is not, its choice of a directory may make no sense. */
static bool is_elsewhere(void)
{
	return rama_variable("IORAMA_RUN_HOST") && !rama_by_run();
}

/* $IORAMA_DIR/<job>, or the first of the usual places that works; "" if none does */
static void find_dir(struct rama_text *t, const char *job)
{
	const char *given = rama_run.settings->dir, *tmp = rama_variable("TMPDIR");
	const char *root[] = { "/dev/shm", tmp && tmp[0] == '/' ? tmp : "/tmp", "/tmp" };
	unsigned end = given[0] && !is_elsewhere() ? 1 : 4;
	char *p = t->p;

	for (unsigned i = given[0] ? 0 : 1; i < end; i++) {
		rama_text_init(t, p, sizeof(rama_run.path) - 256);
		if (i == 0) {
			rama_text_str(t, given);
		} else {
			rama_text_str(t, root[i - 1]);
			rama_text_str(t, "/iorama-");
			rama_text_u64(t, (uint64_t)rama_sys3(SYS_geteuid, 0, 0, 0));
		}
		if (t->cut || !own_dir(p))
			continue;
		rama_text_str(t, "/");
		rama_text_str(t, job);
		if (!t->cut && own_dir(p))
			return;
	}
	rama_text_init(t, p, sizeof(rama_run.path));
}

/* root/OLD/file becomes root/NEW/file. The directory may go with somebody else's last segment right before ours comes:
 * then it is made again. */
static bool move_file(char *to, const char *job)
{
	char *slash = strrchr(rama_run.path, '/'), *root = slash;
	struct rama_text t;
	long rc = -ENOENT;

	while (root > rama_run.path && *--root != '/')
		;
	for (unsigned i = 0; i < 10 && rc == -ENOENT; i++) {
		rama_text_init(&t, to, sizeof(rama_run.path));
		rama_text_put(&t, rama_run.path, (size_t)(root - rama_run.path) + 1);
		rama_text_str(&t, job);
		if (t.cut || !own_dir(to))
			return false;
		rama_text_str(&t, slash);
		if (t.cut)
			return false;
		rc = rama_sys6(SYS_renameat2, AT_FDCWD, (long)rama_run.path, AT_FDCWD, (long)to,
			       1 /* RENAME_NOREPLACE */, 0);
	}
	return rc == 0;
}

void rama_join_job(const char *job, int64_t jobid)
{
	static char to[sizeof(rama_run.path)];
	struct rama_text t;

	if (!move_file(to, job))
		return;
	char *slash = strrchr(rama_run.path, '/');
	*slash = '\0'; /* the old one goes, if this was all it held */
	rama_sys3(SYS_unlinkat, AT_FDCWD, rama_run.path, AT_REMOVEDIR);
	memcpy(rama_run.path, to, sizeof(to));
	rama_text_init(&t, rama_run.id->job, sizeof(rama_run.id->job));
	rama_text_str(&t, job);
	memcpy(rama_run.job, rama_run.id->job, sizeof(rama_run.job));
	rama_run.id->jobid = rama_run.job_pid = jobid;
}

/* <host>.<pid>.<k>.seg: k counts the programs that this process became one after the other. `make` is tried until the
 * name is not taken. */
static long name_file(struct rama_text *t, long (*make)(int fd), int fd)
{
	size_t stem = t->len;
	long rc = -EEXIST;

	for (unsigned k = 0; k < 10000 && rc == -EEXIST; k++) {
		t->len = stem;
		rama_text_u64(t, k);
		rama_text_str(t, ".seg");
		rc = t->cut ? -ENAMETOOLONG : make(fd);
	}
	return rc;
}

static long make_file(int unused)
{
	(void)unused;
	return rama_sys_open(rama_run.path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
}

static long link_file(int fd)
{
	char proc[32];
	struct rama_text t;

	rama_text_init(&t, proc, sizeof(proc));
	rama_text_str(&t, "/proc/self/fd/");
	rama_text_i64(&t, fd);
	return rama_sys6(SYS_linkat, AT_FDCWD, (long)proc, AT_FDCWD, (long)rama_run.path,
			 AT_SYMLINK_FOLLOW, 0);
}

/* The file has no name until it is complete, so that nobody ever finds half of one; where the file system cannot do
 * that, it is made under its name. *named: the second. */
static int create_file(const char *job, struct rama_text *t, bool *named)
{
	rama_text_init(t, rama_run.path, sizeof(rama_run.path));
	find_dir(t, job);
	if (rama_run.path[0] == '\0')
		return -1;
	int fd = rama_sys_open(rama_run.path, O_TMPFILE | O_RDWR, 0600);
	*named = fd < 0;
	t->room = sizeof(rama_run.path);
	rama_text_str(t, "/");
	rama_text_str(t, rama_run.id->host);
	rama_text_str(t, ".");
	rama_text_i64(t, rama_run.pid);
	rama_text_str(t, ".");
	return *named ? (int)name_file(t, make_file, -1) : fd;
}

/* ---- the file ---------------------------------------------------------------------------------------------- */

/* how many records of a module there may be, of those that fit: by their number or by memory, if
 * somebody said so */
static uint32_t records(unsigned module, uint64_t item)
{
	const struct rama_settings *s = rama_run.settings;
	uint64_t n = s->records[module];

	if (s->mod_memory && n * item > s->mod_memory)
		n = s->mod_memory / item;
	return (uint32_t)(n < 1 ? 1 : n > 1 << 30 ? 1 << 30 : n) + 1;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

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
static bool divide(uint64_t len[RAMA_AREAS], uint64_t room)
{
	const struct rama_settings *s = rama_run.settings;
	uint64_t trace = rama_settings_trace_memory(s), memory = s->memory;
	const uint64_t block = RAMA_CAPTURE_LANE_BLOCK * RAMA_CAPTURE_LANE;

	memory = rama_capture_memory_share(memory < RAMA_CAPTURE_FIRST ? RAMA_CAPTURE_FIRST
								       : memory);
	if (memory > room / 2) {
		if (room < 4 * (uint64_t)RAMA_CAPTURE_FIRST)
			return false;
		memory = power_below(room / 2, RAMA_CAPTURE_FIRST);
	}
	len[RAMA_AREA_RECORDS] = memory;
	room -= memory;
	len[RAMA_AREA_LANES] = least(RAMA_SEG_LANES * (uint64_t)RAMA_CAPTURE_LANE,
				     room / 4 > block ? room / 4 / block * block : block);
	room -= len[RAMA_AREA_LANES];
	/* tracing can be switched on from outside: there is always room for some */
	if (trace < 2 << 20)
		trace = 2 << 20;
	len[RAMA_AREA_EVENTS] = least(trace, room / 2) / RAMA_SEG_CHUNK * RAMA_SEG_CHUNK;
	room -= len[RAMA_AREA_EVENTS];
	len[RAMA_AREA_RINGS] = least(s->live_memory, room) & ~(uint64_t)(RAMA_SEG_PAGE - 1);
	return true;
}

static void plan_records(struct rama_seg_header *h, uint64_t *memory)
{
	const struct rama_settings *s = rama_run.settings;
	uint64_t chunk = RAMA_CAPTURE_POOL;

	while (*memory / chunk > RAMA_SEG_POOL_CHUNKS && chunk < 1u << 30)
		chunk *= 2;
	rama_run.pool_chunks = (uint32_t)least(*memory / chunk, RAMA_SEG_POOL_CHUNKS);
	*memory = rama_run.pool_chunks * chunk;
	h->area[RAMA_AREA_RECORDS].item = (uint32_t)chunk;
	rama_run.pool_shift = (uint32_t)__builtin_ctzll(chunk);
#define KIND(kind, type, module)                                                 \
	rama_run.slots[RAMA_KIND_##kind] = records(module, sizeof(struct type)); \
	h->slot[RAMA_KIND_##kind] = sizeof(struct type);
#include "segment/kinds.def"
#undef KIND
	rama_run.names_most = s->name_memory > 0 ? s->name_memory : *memory;
	rama_run.names_most = least(rama_run.names_most < 4096 ? 4096 : rama_run.names_most,
				    least(*memory, 8ull * (UINT32_MAX - 1)));
	/* names of files that do not exist must leave room for those that do, and for their
	 * records */
	rama_run.failed_most = s->name_memory > 0 ? rama_run.names_most / 2 : *memory / 16;
}

/* false: files may not be large enough */
static bool plan(struct rama_seg_header *h, uint64_t limit)
{
	uint64_t at = RAMA_SEG_PAGE, len[RAMA_AREAS] = { 0 };
	const uint64_t fixed = 16 * RAMA_SEG_PAGE; /* more than the areas that do not grow */

	*h = (struct rama_seg_header){ .magic = RAMA_SEG_MAGIC,
				       .version = RAMA_SEG_VERSION,
				       .areas = RAMA_AREAS };
	if (limit < fixed || !divide(len, limit - fixed))
		return false;
	plan_records(h, &len[RAMA_AREA_RECORDS]);
	rama_run.n_lanes = (uint32_t)(len[RAMA_AREA_LANES] / RAMA_CAPTURE_LANE);
	len[RAMA_AREA_IDENTITY] = sizeof(struct rama_seg_identity);
	len[RAMA_AREA_STATE] = sizeof(struct rama_seg_state);
	len[RAMA_AREA_CONTROL] = sizeof(struct rama_seg_control);
	h->area[RAMA_AREA_LANES].item = RAMA_CAPTURE_LANE;
	h->area[RAMA_AREA_EVENTS].item = RAMA_SEG_CHUNK;
	h->area[RAMA_AREA_RINGS].item = sizeof(struct rama_event);
	for (unsigned i = 0; i < RAMA_AREAS; i++) {
		h->area[i].off = at;
		h->area[i].len = len[i];
		at += (len[i] + RAMA_SEG_PAGE - 1) & ~(uint64_t)(RAMA_SEG_PAGE - 1);
	}
	h->size = at;
	return at <= limit;
}

static void point(unsigned char *base, const struct rama_seg_header *h)
{
	const struct rama_seg_area *a = h->area;

	rama_run.head = (struct rama_seg_header *)base;
	rama_run.id = (struct rama_seg_identity *)(base + a[RAMA_AREA_IDENTITY].off);
	rama_run.state = (struct rama_seg_state *)(base + a[RAMA_AREA_STATE].off);
	rama_run.control = (struct rama_seg_control *)(base + a[RAMA_AREA_CONTROL].off);
}

static void set_limits(void)
{
	struct rama_seg_state *s = rama_run.state;
	const struct rama_seg_area *a = rama_run.head->area;

	s->chunks_limit = rama_settings_trace_memory(rama_run.settings) / RAMA_SEG_CHUNK;
	if (s->chunks_limit == 0)
		s->chunks_limit = (2 << 20) / RAMA_SEG_CHUNK;
	s->chunks_limit = least(s->chunks_limit, a[RAMA_AREA_EVENTS].len / RAMA_SEG_CHUNK);
	s->rings_limit = a[RAMA_AREA_RINGS].len;
}

uint64_t rama_file_limit(void)
{
	uint64_t limit[2] = { UINT64_MAX, 0 };

	rama_sys6(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)limit, 0, 0);
	return limit[0];
}

static bool map_segment(int fd, struct rama_seg_identity *id)
{
	struct rama_seg_header h;
	unsigned char *base = NULL;

	rama_sys3(SYS_fchmod, fd, 0600, 0);
	if (!plan(&h, rama_file_limit())) /* to ask for more would kill the application */
		return false;
	if (rama_sys3(SYS_ftruncate, fd, h.size, 0) == 0)
		base = rama_capture_memory_open(fd, &h, rama_run.generation);
	if (!base)
		return false;
	if (!rama_capture_memory_fill(base, h.area[RAMA_AREA_RECORDS].off)) {
		rama_capture_memory_close(rama_run.generation);
		return false;
	}
	point(base, &h);
	*rama_run.head = h;
	*rama_run.id = *id;
	if (!rama_run.fds)
		rama_run.fds = rama_capture_memory_own(RAMA_FDS_FIRST * sizeof(struct rama_fd));
	return rama_run.fds && rama_capture_names_init();
}

static void fill_segment(struct rama_seg_clock clock)
{
	rama_run.tick0 = clock.tick0 - 1; /* no moment is 0 */
	clock.source = rama_run.clock;
	clock.hz = rama_run.hz > 0 ? rama_run.hz : rama_measure_hz(&clock);
	clock.tick0 = rama_run.tick0;
	rama_run.hz = clock.hz;
	rama_run.id->clock = clock;
	rama_run.heat_width = (uint64_t)(clock.hz / 10);
	rama_run.heat = rama_settings_module(rama_run.settings, RAMA_MOD_HEATMAP);
	set_limits();
	rama_run.control->trace = rama_run.id->trace;
	rama_run.control->live = rama_run.live;
	if (rama_run.mounts_known)
		rama_mounts_again();
	if (rama_run.bare && !rama_run.forked)
		rama_sys3(SYS_getcwd, rama_run.start_dir, sizeof(rama_run.start_dir), 0);
	__atomic_store_n(&rama_run.state->phase, RAMA_SEG_RUNNING, __ATOMIC_RELEASE);
}

static bool make_segment(struct rama_seg_identity *id, const struct rama_seg_clock *clock)
{
	struct rama_text t;
	bool named, ok;

	rama_run.id = id;
	int fd = create_file(id->job, &t, &named);
	if (fd < 0)
		return false;
	ok = map_segment(fd, id);
	if (ok)
		fill_segment(*clock);
	if (ok && !named)
		ok = name_file(&t, link_file, fd) == 0;
	if (!ok && named)
		rama_sys3(SYS_unlinkat, AT_FDCWD, rama_run.path, 0);
	rama_sys_close(fd);
	return ok;
}

bool rama_create_segment(void)
{
	static struct rama_seg_identity id; /* large, and stacks are small */
	struct rama_seg_clock clock = { 0 };
	bool first = !rama_run.settings;

	if (first) {
		rama_run.settings = rama_capture_memory_own(sizeof(struct rama_settings));
		if (!rama_run.settings)
			return false;
		rama_choose_clock();
	}
	rama_clock_pair(&clock.tick0, &clock.mono0, &clock.real0);
	if (first)
		rama_read_settings();
	if (rama_run.settings->disabled)
		return false;
	rama_identify(&id);
	if (first)
		rama_run.live = rama_run.settings->live;
	rama_run.bare = rama_run.settings->job[0] == '\0';
	rama_run.mem_align = (uintptr_t)rama_run.settings->mem_align;
	rama_run.mem_mask =
		(rama_run.mem_align & (rama_run.mem_align - 1)) == 0 ? rama_run.mem_align - 1 : 0;
	return rama_wanted(&id) && make_segment(&id, &clock);
}
