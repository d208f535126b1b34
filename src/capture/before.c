/* SPDX-License-Identifier: BSD-3-Clause */
/* before.c: bare preload: programs that this process was before, by exec (`nice prog`, `sh -c
 * 'exec prog'`). Each has left its segment to the next one; the last one makes one log of all of
 * them. */
#include "capture/before.h"

#include "config/text.h"
#include "logfile/merge.h"

#define STACK (512u << 10) /* joining logs takes more than the stack of a thread may have */

/* <dir>/<host>.<pid>. of our segment when it was made, and its number, that of programs before
 * us */
static char stem[sizeof(rama_cap_run.path)];
static unsigned before;
static bool joined;

/* a program that this process was, or is */
struct image {
	int fd;			/* of its segment; -1: it is ours */
	struct rama_source seg; /* that segment */
	uint64_t off, len;	/* its log in the temporary file */
	int temp;
	struct rama_source src; /* of that log */
	struct rama_log log;
	bool open;
};

struct work {
	const struct rama_cap_before_how *how;
	struct rama_seg *seg;
	struct image *image;
	size_t n;
	int temp;
	struct rama_err e;
	int rc;
};

/* ---- which ----------------------------------------------------------------------------------- */

void rama_cap_before_note(void)
{
	char *end = strrchr(rama_cap_run.path, '.'), *dot = end;
	int64_t k = 0;

	before = 0;
	joined = false;
	while (dot && dot > rama_cap_run.path && *--dot != '.')
		;
	if (!dot || *dot != '.' ||
	    rama_config_piece_integer(
		    (struct rama_config_piece){ dot + 1, (size_t)(end - dot - 1) }, &k) == 0)
		return;
	memcpy(stem, rama_cap_run.path, sizeof(stem));
	stem[dot + 1 - rama_cap_run.path] = '\0';
	before = k > 0 && k < RAMA_CAP_BEFORE_MOST ? (unsigned)k : 0;
}

unsigned rama_cap_before_count(void)
{
	return rama_cap_run.bare ? before : 0;
}

static int open_segment(unsigned k)
{
	static char path[sizeof(stem)];
	struct rama_config_text t;

	rama_config_text_init(&t, path, sizeof(path));
	rama_config_text_str(&t, stem);
	rama_config_text_u64(&t, k);
	rama_config_text_str(&t, ".seg");
	return t.cut ? -1 : rama_cap_sys_open(path, O_RDWR | O_NOFOLLOW, 0);
}

static int read_fd(void *ctx, uint64_t off, void *buf, size_t n, struct rama_err *e)
{
	for (size_t done = 0; done < n;) {
		long got = rama_cap_sys6(SYS_pread64, *(int *)ctx, (long)((char *)buf + done),
					 (long)(n - done), (long)(off + done), 0, 0);

		if (got == -EINTR)
			continue;
		if (got <= 0)
			return rama_err_set(e, RAMA_EIO, "cannot be read");
		done += (size_t)got;
	}
	return 0;
}

/* A segment of this very process that ended by exec; others may be of one that had the same id. */
static bool is_before(const struct rama_seg *s)
{
	const struct rama_seg_identity *us = rama_cap_run.id;

	return s->state.phase == RAMA_SEG_REPLACED && (s->id.flags & RAMA_SEG_BARE) &&
	       !(s->id.flags & RAMA_SEG_LOGGED) && s->id.pid == us->pid &&
	       s->id.pid_start == us->pid_start && strcmp(s->id.boot, us->boot) == 0;
}

static bool open_image(struct rama_seg *s, struct image *im, unsigned k, struct rama_err *e)
{
	struct stat st;

	im->fd = open_segment(k);
	if (im->fd < 0)
		return false;
	if (rama_cap_sys3(SYS_fstat, im->fd, &st, 0) == 0 && st.st_size > 0) {
		im->seg = (struct rama_source){ (uint64_t)st.st_size, read_fd, &im->fd };
		if (rama_seg_open(s, &im->seg, e) == 0 && is_before(s))
			return true;
	}
	rama_cap_sys_close(im->fd);
	return false;
}

/* ---- a log of each --------------------------------------------------------------------------- */

static int write_temp(void *ctx, uint64_t off, const void *bytes, size_t n, struct rama_err *e)
{
	struct image *im = ctx;

	if (off + n > im->len)
		im->len = off + n;
	for (size_t done = 0; done < n;) {
		long put = rama_cap_sys6(SYS_pwrite64, im->temp, (long)((const char *)bytes + done),
					 (long)(n - done), (long)(im->off + off + done), 0, 0);

		if (put == -EINTR)
			continue;
		if (put <= 0)
			return rama_err_set(e, RAMA_EIO, "temporary file cannot be written");
		done += (size_t)put;
	}
	return 0;
}

static int read_temp(void *ctx, uint64_t off, void *buf, size_t n, struct rama_err *e)
{
	struct image *im = ctx;

	return read_fd(&im->temp, im->off + off, buf, n, e);
}

/* in the directory of the segments, which is there; small but for traces */
static int make_temp(void)
{
	static char dir[sizeof(rama_cap_run.path)];
	struct rama_config_text t;
	const char *slash = strrchr(rama_cap_run.path, '/');

	rama_config_text_init(&t, dir, sizeof(dir));
	rama_config_text_put(&t, rama_cap_run.path, (size_t)(slash - rama_cap_run.path));
	int fd = rama_cap_sys_open(dir, O_TMPFILE | O_RDWR, 0600);
	return fd >= 0 ? fd : (int)rama_cap_sys3(SYS_memfd_create, "iorama", MFD_CLOEXEC, 0);
}

static int make_log(struct work *k, size_t i)
{
	struct image *im = &k->image[i];
	struct rama_log_sink sink = { write_temp, im };
	struct rama_gather_process p = *k->how->process;
	struct rama_log_writer *w = calloc(1, sizeof(*w));
	uint64_t partial = 0;

	if (!w)
		return RAMA_EMEMORY;
	im->temp = k->temp;
	im->off = i > 0 ? k->image[i - 1].off + k->image[i - 1].len : 0;
	p.images = (int64_t)k->n;
	p.ended = i + 1 < k->n ? 2 : p.ended;
	int rc = rama_seg_open(k->seg, &im->seg, &k->e);
	if (rc == 0)
		rc = rama_log_writer_init(w, &sink, RAMA_LOG_PLAIN_BYTES, 0);
	if (rc == 0) {
		rc = rama_gather_one(k->seg, &p, w, &partial, &k->e);
		if (rc == 0)
			rc = rama_log_writer_finish(w, partial);
		rama_log_writer_fini(w);
	}
	free(w);
	if (rc == 0) {
		im->src = (struct rama_source){ im->len, read_temp, im };
		rc = rama_log_open(&im->log, &im->src, NULL, &k->e);
		im->open = rc == 0;
	}
	return rc;
}

/* ---- one of all ------------------------------------------------------------------------------ */

static int write_joined(struct work *k, struct rama_log_merge *m)
{
	struct rama_log_writer *w = calloc(1, sizeof(*w));
	uint64_t partial = 0;

	if (!w)
		return RAMA_EMEMORY;
	int rc = rama_log_merge_plan(m, &k->e);
	m->job.exe = k->image[k->n - 1].log.job.exe; /* the last is what was wanted */
	m->job.nprocs = k->how->process->nprocs;
	if (rc == 0)
		rc = rama_log_writer_init(w, k->how->sink, k->how->compression, k->how->level);
	w->inner = k->how->inner;
	if (rc == 0) {
		rc = rama_log_merge_write(m, w, &partial, &k->e);
		if (rc == 0)
			rc = rama_log_writer_finish(w, partial);
		rama_log_writer_fini(w);
	}
	free(w);
	return rc;
}

static int join(struct work *k)
{
	struct rama_log_merge *m = calloc(1, sizeof(*m));
	int rc = 0;

	if (!m)
		return RAMA_EMEMORY;
	m->images = true;
	m->in = calloc(k->n, sizeof(*m->in));
	for (size_t i = 0; i < k->n && rc == 0; i++)
		rc = make_log(k, i);
	for (size_t i = 0; m->in && i < k->n && rc == 0; i++)
		m->in[m->n_in++] = (struct rama_log_merge_input){
			.log = &k->image[i].log, .path = "", .process = k->how->process->rank
		};
	if (rc == 0)
		rc = m->in ? write_joined(k, m) : RAMA_EMEMORY;
	free(m->in);
	free(m);
	return rc;
}

static void work(struct work *k)
{
	k->image = calloc(before + 1, sizeof(*k->image));
	k->seg = malloc(sizeof(*k->seg));
	k->temp = make_temp();
	k->rc = k->image && k->seg && k->temp >= 0 ? 0 : RAMA_EMEMORY;
	for (unsigned i = 0; k->rc == 0 && i < before; i++)
		k->n += open_image(k->seg, &k->image[k->n], i, &k->e);
	if (k->rc == 0 && k->n > 0) {
		struct image *im = &k->image[k->n++];

		im->fd = -1;
		rama_cap_memory_source(&im->seg);
		k->rc = join(k);
	} else if (k->rc == 0) {
		k->rc = RAMA_EMISSING; /* they were of others */
	}
	for (size_t i = 0; k->image && i < k->n; i++) {
		if (k->image[i].open)
			rama_log_close(&k->image[i].log);
		if (k->image[i].fd >= 0)
			rama_cap_sys_close(k->image[i].fd);
	}
	if (k->temp >= 0)
		rama_cap_sys_close(k->temp);
	free(k->seg);
	free(k->image);
}

/* Calls it on another stack. The functions of the C library for that are watched by sanitizers,
 * which complain. */
static __attribute__((noinline)) void call_on(char *top, void (*fn)(struct work *), struct work *k)
{
#if defined(__x86_64__)
	__asm__ volatile("movq %%rsp, %%rbx\n\t"
			 "movq %[top], %%rsp\n\t"
			 "call *%[fn]\n\t"
			 "movq %%rbx, %%rsp"
			 : "+D"(k)
			 : [top] "r"(top), [fn] "r"(fn)
			 : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0",
			   "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
			   "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
#elif defined(__aarch64__)
	register struct work *x0 __asm__("x0") = k;

	__asm__ volatile("mov x19, sp\n\t"
			 "mov sp, %[top]\n\t"
			 "blr %[fn]\n\t"
			 "mov sp, x19"
			 : "+r"(x0)
			 : [top] "r"(top), [fn] "r"(fn)
			 : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
			   "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x30", "v0",
			   "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11",
			   "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21",
			   "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31",
			   "memory", "cc");
#else
	(void)top;
	fn(k);
#endif
}

int rama_cap_before_write(const struct rama_cap_before_how *how)
{
	struct work k = { .how = how, .rc = RAMA_EMEMORY };
	long stack = rama_cap_sys6(SYS_mmap, 0, STACK, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (stack < 0 && stack > -4096)
		return k.rc;
	call_on((char *)stack + STACK, work, &k);
	rama_cap_sys3(SYS_munmap, stack, STACK, 0);
	joined = k.rc == 0;
	return k.rc;
}

/* ---- gone ------------------------------------------------------------------------------------ */

/* Live events that an agent has not taken yet: then it is his to remove the segment. */
static bool is_awaited(struct rama_seg *s, struct rama_seg_lane *lane)
{
	struct rama_err e;

	for (uint32_t i = 0; s->control.reader != 0 && i < rama_seg_lanes(s); i++)
		if (rama_seg_lane_get(s, i, lane, &e) >= 0 && lane->made > s->control.taken[i])
			return true;
	return false;
}

static void remove_one(struct rama_seg *s, struct rama_seg_lane *lane, unsigned k)
{
	static char path[sizeof(stem)];
	struct image im = { 0 };
	struct rama_config_text t;
	struct rama_err e;

	if (!open_image(s, &im, k, &e))
		return;
	if (is_awaited(s, lane)) {
		uint32_t flags = s->id.flags | RAMA_SEG_LOGGED;

		rama_cap_sys6(SYS_pwrite64, im.fd, (long)&flags, sizeof(flags),
			      (long)(s->head.area[RAMA_SEG_AREA_IDENTITY].off +
				     offsetof(struct rama_seg_identity, flags)),
			      0, 0);
	} else {
		rama_config_text_init(&t, path, sizeof(path));
		rama_config_text_str(&t, stem);
		rama_config_text_u64(&t, k);
		rama_config_text_str(&t, ".seg");
		rama_cap_sys3(SYS_unlinkat, AT_FDCWD, path, 0);
	}
	rama_cap_sys_close(im.fd);
}

void rama_cap_before_remove(void)
{
	struct rama_seg *s = joined ? malloc(sizeof(*s)) : NULL;
	struct rama_seg_lane *lane = s ? malloc(sizeof(*lane)) : NULL;

	for (unsigned k = 0; lane && k < before; k++)
		remove_one(s, lane, k);
	free(lane);
	free(s);
	if (!joined)
		return;
	before = 0;
	joined = false;
	/* their directory, if it was another one */
	char *slash = strrchr(stem, '/');
	if (slash && slash != stem) {
		*slash = '\0';
		rama_cap_sys3(SYS_unlinkat, AT_FDCWD, stem, AT_REMOVEDIR);
	}
}
