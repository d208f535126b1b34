/* SPDX-License-Identifier: BSD-3-Clause */
/* create.c: makes the segment of this process. */
#include <sys/resource.h>

#include "capture/runtime.h"
#include "config/text.h"
#include "core/recordid.h"

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

/* a slot area as large as asked, by the number of records or by memory; and the catch-all */
static uint32_t records(unsigned module)
{
	uint32_t n = rama_settings_records(rama_run.settings, module);

	return (n > 1 << 20 ? 1 << 20 : n) + 1;
}

static void plan(struct rama_seg_header *h)
{
	const struct rama_settings *s = rama_run.settings;
	uint64_t at = RAMA_SEG_PAGE, trace = rama_settings_trace_memory(s);
	uint64_t len[RAMA_AREAS] = { 0 };
	uint32_t item[RAMA_AREAS] = { 0 };

#define KIND(kind, slot, module)                            \
	rama_run.slots[RAMA_KIND_##kind] = records(module); \
	item[RAMA_AREA_##kind] = sizeof(struct slot);       \
	len[RAMA_AREA_##kind] = (uint64_t)rama_run.slots[RAMA_KIND_##kind] * sizeof(struct slot);
#include "segment/kinds.def"
#undef KIND
	rama_run.n_lanes = RAMA_SEG_LANES;
	rama_run.names_size = (s->name_memory < 4096 ? 4096 : s->name_memory) & ~(uint64_t)7;
	item[RAMA_AREA_LANES] = sizeof(struct rama_seg_lane);
	item[RAMA_AREA_EVENTS] = RAMA_SEG_CHUNK;
	len[RAMA_AREA_IDENTITY] = sizeof(struct rama_seg_identity);
	len[RAMA_AREA_STATE] = sizeof(struct rama_seg_state);
	len[RAMA_AREA_CONTROL] = sizeof(struct rama_seg_control);
	len[RAMA_AREA_NAMES] = rama_run.names_size;
	len[RAMA_AREA_LANES] = (uint64_t)rama_run.n_lanes * sizeof(struct rama_seg_lane);
	/* tracing can be switched on from outside: there is always room for some */
	if (trace < 2 << 20)
		trace = 2 << 20;
	len[RAMA_AREA_EVENTS] = trace / RAMA_SEG_CHUNK * RAMA_SEG_CHUNK;
	item[RAMA_AREA_RINGS] = sizeof(struct rama_event);
	len[RAMA_AREA_RINGS] = s->live_memory & ~(uint64_t)(RAMA_SEG_PAGE - 1);
	*h = (struct rama_seg_header){ .magic = RAMA_SEG_MAGIC,
				       .version = RAMA_SEG_VERSION,
				       .areas = RAMA_AREAS };
	for (unsigned i = 0; i < RAMA_AREAS; i++) {
		h->area[i] = (struct rama_seg_area){ .off = at, .len = len[i], .item = item[i] };
		at += (len[i] + RAMA_SEG_PAGE - 1) & ~(uint64_t)(RAMA_SEG_PAGE - 1);
	}
	h->size = at;
}

/* Where files may not be that large there are fewer rings: they are the last area. */
static void plan_within(struct rama_seg_header *h, uint64_t limit)
{
	struct rama_seg_area *rings = &h->area[RAMA_AREA_RINGS];

	if (h->size <= limit || rings->off > limit)
		return;
	rings->len = (limit - rings->off) & ~(uint64_t)(RAMA_SEG_PAGE - 1);
	h->size = rings->off + rings->len;
}

static void point(unsigned char *base, const struct rama_seg_header *h)
{
	const struct rama_seg_area *a = h->area;

	rama_run.base = base;
	rama_run.size = h->size;
	rama_run.id = (struct rama_seg_identity *)(base + a[RAMA_AREA_IDENTITY].off);
	rama_run.state = (struct rama_seg_state *)(base + a[RAMA_AREA_STATE].off);
	rama_run.control = (struct rama_seg_control *)(base + a[RAMA_AREA_CONTROL].off);
	rama_run.names = base + a[RAMA_AREA_NAMES].off;
	for (unsigned i = 0; i < RAMA_KINDS; i++)
		rama_run.slot_area[i] = base + a[RAMA_AREA_SLOTS + i].off;
	rama_run.stdio = (struct rama_stdio_file *)rama_run.slot_area[RAMA_KIND_STDIO];
	rama_run.lanes = (struct rama_seg_lane *)(base + a[RAMA_AREA_LANES].off);
	rama_run.chunks = base + a[RAMA_AREA_EVENTS].off;
	rama_run.rings = base + a[RAMA_AREA_RINGS].off;
}

/* ---- memory that is really there --------------------------------------------------------------------------------- */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
static bool allocated; /* an old kernel: all but the events has its memory from the start */

/* such a kernel gives memory to files only, by their descriptor; ours is closed */
static bool allocate(uintptr_t from, uintptr_t to)
{
	int fd = rama_sys_open(rama_run.path, O_RDWR | O_NOFOLLOW, 0);

	if (fd < 0)
		return false;
	long rc = rama_sys6(SYS_fallocate, fd, 0, (long)(from - (uintptr_t)rama_run.base),
			    (long)(to - from), 0, 0);
	rama_sys_close(fd);
	return rc == 0;
}

bool rama_populate(void *p, size_t n)
{
	uintptr_t from = (uintptr_t)p & ~(uintptr_t)(RAMA_SEG_PAGE - 1);
	uintptr_t to = ((uintptr_t)p + n + RAMA_SEG_PAGE - 1) & ~(uintptr_t)(RAMA_SEG_PAGE - 1);
	long rc;

	if (allocated)
		return (unsigned char *)p < rama_run.chunks || allocate(from, to);
	do
		rc = rama_sys3(SYS_madvise, from, to - from, MADV_POPULATE_WRITE);
	while (rc == -EINTR || rc == -EAGAIN);
	return rc == 0;
}

/* in steps that become larger, so that few files cost little and many few calls */
bool rama_grow(unsigned area, void *start, uint64_t need, uint64_t size)
{
	uint64_t has = rama_run.ready[area], step = has < 16384	   ? 16384
						    : has > 524288 ? 524288
								   : has;

	if (need <= has)
		return true;
	if (step < need - has)
		step = need - has;
	if (step > size - has)
		step = size - has;
	if (!rama_populate((unsigned char *)start + has, step))
		return false;
	rama_run.ready[area] = has + step;
	return true;
}

/* the parts that every process needs */
static bool populate_first(int fd, const struct rama_seg_header *h)
{
	const struct rama_seg_area *a = h->area;

	memset(rama_run.ready, 0, sizeof(rama_run.ready));
	allocated = rama_sys3(SYS_madvise, rama_run.base, RAMA_SEG_PAGE, MADV_POPULATE_WRITE) ==
		    -EINVAL;
	if (allocated &&
	    rama_sys6(SYS_fallocate, fd, 0, 0, (long)a[RAMA_AREA_EVENTS].off, 0, 0) != 0)
		return false;
	return rama_populate(rama_run.base, a[RAMA_AREA_NAMES].off) &&
	       rama_grow(RAMA_KINDS, rama_run.names, RAMA_SEG_PAGE, a[RAMA_AREA_NAMES].len);
}

static void *anonymous(size_t size)
{
	long p = rama_sys6(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p < 0 && p > -4096 ? NULL : (void *)p;
}

/* Memory of our own, beside the segment. A forked child has copies of it: descriptors stay, the index
 * begins anew. */
static bool own_memory(void)
{
	uint32_t want = 1;

	if (!rama_run.fds)
		rama_run.fds = anonymous(RAMA_FDS * sizeof(struct rama_fd));
	if (!rama_run.scratch)
		rama_run.scratch = anonymous((size_t)RAMA_SEG_LANES * RAMA_SCRATCH);
	while (want < rama_run.names_size / 24)
		want *= 2;
	if (!rama_run.index) {
		rama_run.index = anonymous((size_t)want * sizeof(uint32_t));
		rama_run.index_mask = want - 1;
	} else {
		rama_sys3(SYS_madvise, rama_run.index,
			  (size_t)(rama_run.index_mask + 1) * sizeof(uint32_t), MADV_DONTNEED);
	}
	return rama_run.fds && rama_run.scratch && rama_run.index;
}

static void first_name(void)
{
	static const char text[] = RAMA_SEG_CATCHALL;
	struct rama_seg_state *s = rama_run.state;
	struct rama_seg_name *n = (struct rama_seg_name *)rama_run.names;
	size_t len = sizeof(text) - 1;

	n->id = rama_record_id(text, len);
	n->len = (uint32_t)len;
	memcpy(n->text, text, len + 1);
	rama_run.index[n->id & rama_run.index_mask] = 1;
	s->names_used = (sizeof(struct rama_seg_name) + len + 1 + 7) & ~(uint64_t)7;
	s->beat = 1;
	s->chunks_limit = rama_settings_trace_memory(rama_run.settings) / RAMA_SEG_CHUNK;
	if (s->chunks_limit == 0)
		s->chunks_limit = (2 << 20) / RAMA_SEG_CHUNK;
	s->rings_limit = rama_run.head->area[RAMA_AREA_RINGS].len;
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
	long p = -1;

	plan(&h);
	plan_within(&h, rama_file_limit());
	rama_sys3(SYS_fchmod, fd, 0600, 0);
	if (h.size > rama_file_limit()) /* to ask for more would kill the application */
		return false;
	if (rama_sys3(SYS_ftruncate, fd, h.size, 0) == 0)
		p = rama_sys6(SYS_mmap, 0, (long)h.size, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (p < 0 && p > -4096)
		return false;
	point((unsigned char *)p, &h);
	if (!populate_first(fd, &h)) {
		rama_sys3(SYS_munmap, p, h.size, 0);
		return false;
	}
	*(struct rama_seg_header *)p = h;
	rama_run.head = (struct rama_seg_header *)p;
	*rama_run.id = *id;
	return true;
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
	if (!rama_settings_module(rama_run.settings, RAMA_MOD_PROCESS))
		rama_run.id->flags |= RAMA_SEG_NO_PROCESS;
	if (!rama_settings_module(rama_run.settings, RAMA_MOD_EXTRA))
		rama_run.id->flags |= RAMA_SEG_NO_EXTRA;
	first_name();
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
	ok = map_segment(fd, id) && own_memory();
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
		rama_run.settings = anonymous(sizeof(struct rama_settings));
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
