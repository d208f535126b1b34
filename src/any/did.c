/* SPDX-License-Identifier: BSD-3-Clause */
/* did.c: what a call did, as counters, heat and events: by the same rules as src/capture. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "any/proc.h"
#include "config/path.h"
#include "core/extra.h"
#include "core/heat.h"
#include "core/posix_transfer.h"

#define FAILED "<FAILED>" /* names that do not exist are many: they share one record */
#define VECTORS 16	  /* whose addresses are looked at */

/* ---- arguments ------------------------------------------------------------------------------- */

/* argument k, counted from 1 */
static uint64_t arg(const struct rama_any_thread *t, unsigned k)
{
	return k > 0 ? t->arg[k - 1] : 0;
}

static int fd_arg(const struct rama_any_thread *t, unsigned k)
{
	return (int)(uint32_t)arg(t, k);
}

/* a position in a file: with 32 bits two words */
static int64_t off_arg(const struct rama_any_thread *t, unsigned k)
{
	if (t->bits32 && k < 6)
		return (int64_t)((arg(t, k) & UINT32_MAX) | arg(t, k + 1) << 32);
	return (int64_t)arg(t, k);
}

/* a number of 8 bytes in memory */
static int64_t peek_number(const struct rama_any_thread *t, uint64_t at)
{
	int64_t v = -1;

	return at != 0 && rama_any_peek(t->tid, at, &v, sizeof(v)) == sizeof(v) ? v : -1;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The name under which the path is recorded; 0: it has none, or nobody observes it */
static size_t clean(const struct rama_any_thread *t, int dirfd, const char *path, char to[PATH_MAX])
{
	static char base[PATH_MAX];
	char link[40];
	mode_t mode;
	ssize_t n;
	long len;

	base[0] = '\0';
	if (path[0] != '/' && dirfd == AT_FDCWD) {
		snprintf(link, sizeof(link), "/proc/%d/cwd", (int)t->tid);
		n = readlink(link, base, sizeof(base) - 1);
		base[n > 0 ? n : 0] = '\0';
	} else if (path[0] != '/') {
		rama_any_fd_path(t->tid, (uint32_t)dirfd, base, &mode);
	}
	if (path[0] != '/' && base[0] == '\0')
		return 0;
	len = rama_config_path_clean_at(to, PATH_MAX, base, path);
	if (len < 0) { /* longer than any path should be: it counts, without its name */
		memcpy(to, RAMA_SEG_CATCHALL, sizeof(RAMA_SEG_CATCHALL));
		return sizeof(RAMA_SEG_CATCHALL) - 1;
	}
	return len > 0 && rama_config_settings_observes(&t->proc->world->settings,
							RAMA_TAB_MOD_POSIX, to, (size_t)len)
		       ? (size_t)len
		       : 0;
}

/* path k (0, 1) of the call */
static size_t clean_path(const struct rama_any_thread *t, unsigned k, char to[PATH_MAX])
{
	unsigned at = k == 0 ? t->call->dirfd : t->call->dirfd2;

	return clean(t, at > 0 ? fd_arg(t, at) : AT_FDCWD, t->path[k], to);
}

/* ---- counting -------------------------------------------------------------------------------- */

static void tell(struct rama_any_thread *t, uint32_t name, const struct rama_core_op *op)
{
	struct rama_any_seg *s = &t->proc->seg;

	rama_core_heat_add(&s->lane->heat[RAMA_SEG_LAYER_POSIX], op->kind == RAMA_TAB_OP_READ,
			   op->bytes, op->t0, op->t1);
	s->lane->calls++;
	if (!(__atomic_load_n(&s->control->trace, __ATOMIC_RELAXED) >> RAMA_SEG_LAYER_POSIX & 1))
		return;
	rama_any_seg_event(s, &t->chunk, (uint32_t)t->tid,
			   &(struct rama_seg_event){ .start = op->t0,
						     .length = op->t1 - op->t0,
						     .off = op->off,
						     .bytes = op->bytes,
						     .name = name,
						     .layer = RAMA_SEG_LAYER_POSIX,
						     .kind = op->kind,
						     .fn = op->fn,
						     .call = (uint32_t)s->lane->calls });
}

static void do_extra(struct rama_any_thread *t, struct rama_seg_name *n,
		     const struct rama_core_op *op)
{
	struct rama_core_extra_file *f =
		rama_any_seg_slot(&t->proc->seg, n, RAMA_SEG_KIND_EXTRA, 0);

	if (f == NULL)
		return;
	rama_any_seg_begin(&f->seq);
	rama_core_extra_apply(f, op);
	rama_any_seg_end(&f->seq);
}

static void do_posix(struct rama_any_thread *t, struct rama_core_posix_file *f,
		     struct rama_core_op *op)
{
	bool access = op->kind == RAMA_TAB_OP_READ || op->kind == RAMA_TAB_OP_WRITE;

	if (!op->has_off)
		op->off = f->offset; /* what the trace says */
	rama_any_seg_begin(&f->seq);
	rama_core_posix_apply(f, op);
	rama_any_seg_end(&f->seq);
	if (access && op->ok)
		tell(t, f->name, op);
	else if (!access && !op->ok && op->kind != RAMA_TAB_OP_CLOSE)
		do_extra(t, rama_any_seg_name_at(&t->proc->seg, f->name), op);
}

/* A failed call by a path: of the file, if that is known. */
static void do_failed(struct rama_any_thread *t, const char *text, size_t len,
		      const struct rama_core_op *op)
{
	struct rama_seg_name *n = rama_any_seg_name(&t->proc->seg, text, len, false);
	bool known = false;

	for (unsigned k = 0; n != NULL && k < RAMA_SEG_KINDS; k++)
		known = known || n->slot[k] != 0;
	if (!known)
		n = rama_any_seg_name(&t->proc->seg, FAILED, sizeof(FAILED) - 1, true);
	do_extra(t, n, op);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static void did_open(struct rama_any_thread *t, int64_t result, struct rama_core_op *op)
{
	static char text[PATH_MAX];
	const struct rama_any_call *c = t->call;
	size_t len = clean_path(t, 0, text);
	uint64_t flags = arg(t, c->flags);
	struct rama_core_posix_file *f;
	uint32_t *fd;
	struct open_how how = { 0 };

	if (c->shape == RAMA_ANY_OPEN_HOW) {
		rama_any_peek(t->tid, arg(t, c->mem), &how, sizeof(how));
		flags = how.flags;
		op->mode = (int32_t)how.mode;
	} else if (c->shape == RAMA_ANY_CREAT) {
		op->mode = (int32_t)flags;
		flags = O_CREAT;
	} else if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {
		op->mode = (int32_t)arg(t, c->flags + 1u);
	}
	if (!op->ok) {
		if (len > 0)
			do_failed(t, text, len, op);
		return;
	}
	fd = rama_any_fd(t->proc, (uint32_t)result);
	if (fd != NULL)
		*fd = RAMA_ANY_FD_NO_FILE;
	if (len == 0)
		return;
	struct rama_seg_name *n = rama_any_seg_name(&t->proc->seg, text, len, true);
	if ((flags & O_DIRECTORY) && (flags & O_NONBLOCK)) { /* what opendir() does */
		op->kind = RAMA_TAB_OP_READDIR;
		op->fn = RAMA_TAB_FN_opendir;
		do_extra(t, n, op);
		return;
	}
	f = rama_any_file(t->proc, n);
	if (f == NULL)
		return;
	if (fd != NULL)
		*fd = f->name;
	do_posix(t, f, op);
}

static struct rama_core_posix_file *file_named(struct rama_any_thread *t, uint32_t name)
{
	return name != 0 && name != RAMA_ANY_FD_NO_FILE
		       ? rama_any_file(t->proc, rama_any_seg_name_at(&t->proc->seg, name))
		       : NULL;
}

/* its descriptor was forgotten before, as another thread may have been given it since */
static void did_close(struct rama_any_thread *t, struct rama_core_op *op)
{
	struct rama_core_posix_file *f = file_named(t, t->file);

	op->ok = true; /* it is gone, whatever the call returned */
	if (f != NULL)
		do_posix(t, f, op);
}

static void did_close_range(struct rama_any_thread *t, struct rama_core_op *op)
{
	struct rama_any_proc *p = t->proc;

	for (uint64_t fd = arg(t, 1) & UINT32_MAX;
	     op->ok && fd < p->n_fd && fd <= (arg(t, 2) & UINT32_MAX); fd++) {
		struct rama_core_posix_file *f = file_named(t, p->fd[fd]);

		if (f != NULL)
			do_posix(t, f, op);
		p->fd[fd] = 0;
	}
}

static void did_dup(struct rama_any_thread *t, int64_t result, struct rama_core_op *op)
{
	struct rama_core_posix_file *f;
	uint32_t *to;

	if (!op->ok)
		return;
	op->kind = RAMA_TAB_OP_DUP;
	f = rama_any_fd_file(t->proc, arg(t, 1) & UINT32_MAX, 0);
	to = rama_any_fd(t->proc, (uint32_t)result);
	if (to != NULL && result != fd_arg(t, 1))
		*to = f != NULL ? f->name : RAMA_ANY_FD_NO_FILE;
	if (f != NULL)
		do_posix(t, f, op);
}

/* the name of what is behind a descriptor, be it a file or a directory */
static struct rama_seg_name *name_of_fd(struct rama_any_thread *t, uint32_t fd)
{
	static char text[PATH_MAX];
	struct rama_core_posix_file *f = rama_any_fd_file(t->proc, fd, 0);
	mode_t mode = 0;
	size_t len;

	if (f != NULL)
		return rama_any_seg_name_at(&t->proc->seg, f->name);
	len = rama_any_fd_path(t->tid, fd, text, &mode);
	return len > 0 && S_ISDIR(mode) &&
			       rama_config_settings_observes(&t->proc->world->settings,
							     RAMA_TAB_MOD_POSIX, text, len)
		       ? rama_any_seg_name(&t->proc->seg, text, len, true)
		       : NULL;
}

static void meta_fd(struct rama_any_thread *t, uint32_t fd, const struct rama_core_op *op)
{
	struct rama_seg_name *n = name_of_fd(t, fd);

	if (n != NULL)
		do_extra(t, n, op);
}

static void did_meta(struct rama_any_thread *t, const struct rama_core_op *op)
{
	static char text[PATH_MAX];
	const struct rama_any_call *c = t->call;
	size_t len;

	if (c->path == 0 || (t->path[0][0] == '\0' && c->dirfd > 0)) {
		meta_fd(t, (uint32_t)fd_arg(t, c->path == 0 ? c->fd : c->dirfd), op);
		return;
	}
	len = clean_path(t, 0, text);
	if (len == 0)
		return;
	if (op->ok)
		do_extra(t, rama_any_seg_name(&t->proc->seg, text, len, true), op);
	else
		do_failed(t, text, len, op);
}

static void did_fcntl(struct rama_any_thread *t, int64_t result, struct rama_core_op *op)
{
	switch (arg(t, 2) & UINT32_MAX) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		did_dup(t, result, op);
		break;
	case 6: /* F_SETLK, F_SETLKW: as all processors but some have them */
	case 7:
	case 13: /* F_SETLK64, F_SETLKW64 of 32 bits */
	case 14:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		did_meta(t, op);
	}
}

static bool is_unaligned(const struct rama_any_thread *t)
{
	uint64_t mem = arg(t, t->call->mem), v[2 * VECTORS];
	uint64_t n = arg(t, t->call->iov > 0 ? t->call->iov + 1u : 0);
	size_t word = t->bits32 ? 4 : 8;
	uint32_t half;

	n = n > VECTORS ? VECTORS : n;
	if (t->call->iov > 0 && n > 0 &&
	    rama_any_peek(t->tid, arg(t, t->call->iov), v, n * 2 * word) == n * 2 * word)
		for (uint64_t i = 0; i < n; i++) {
			memcpy(&half, (char *)v + i * 8, sizeof(half));
			mem |= t->bits32 ? half : v[2 * i];
		}
	return mem % (uint64_t)t->proc->world->settings.mem_align != 0;
}

static void did_move(struct rama_any_thread *t, int64_t result, struct rama_core_op *op)
{
	struct rama_core_posix_file *f;

	op->bytes = result;
	if (t->call->off > 0) {
		op->off = off_arg(t, t->call->off);
		op->has_off = op->off != -1; /* what preadv2() takes for: where it is */
	}
	f = rama_any_fd_file(t->proc, (uint32_t)fd_arg(t, t->call->fd),
			     op->ok && !op->has_off ? result : 0);
	if (f == NULL)
		return;
	op->unaligned = is_unaligned(t);
	do_posix(t, f, op);
}

static void did_seek(struct rama_any_thread *t, int64_t result, struct rama_core_op *op)
{
	struct rama_core_posix_file *f =
		rama_any_fd_file(t->proc, (uint32_t)fd_arg(t, t->call->fd), 0);

	if (f == NULL)
		return;
	op->off = t->call->shape == RAMA_ANY_SEEK_FAR && op->ok
			  ? peek_number(t, arg(t, t->call->mem))
			  : result;
	op->has_off = true;
	do_posix(t, f, op);
}

/* one side of a copy; a position in memory has moved on by what was copied */
static void copied(struct rama_any_thread *t, unsigned fd, unsigned off, struct rama_core_op op)
{
	struct rama_core_posix_file *f;
	int64_t at = -1;

	if (op.ok && arg(t, off) != 0)
		at = peek_number(t, arg(t, off));
	if (t->bits32 && op.fn == RAMA_TAB_FN_sendfile && at != -1)
		at &= UINT32_MAX; /* all that is there */
	op.has_off = at >= 0;
	op.off = at >= 0 ? at - op.bytes : -1;
	f = rama_any_fd_file(t->proc, (uint32_t)fd_arg(t, fd), op.ok ? op.bytes : 0);
	if (f != NULL)
		do_posix(t, f, &op);
}

static void did_copy(struct rama_any_thread *t, int64_t result, struct rama_core_op *op)
{
	op->bytes = op->ok ? result : 0;
	op->how = RAMA_CORE_HOW_COPY;
	copied(t, t->call->fd, t->call->off, *op);
	op->kind = RAMA_TAB_OP_WRITE;
	copied(t, t->call->to, t->call->to_off, *op);
}

static void did_map(struct rama_any_thread *t, int64_t result, struct rama_core_op *op)
{
	struct rama_any_proc *p = t->proc;
	struct rama_core_posix_file *f;
	uint32_t old[6] = { 0 };

	if (t->call->shape == RAMA_ANY_MAP_OLD) {
		if (rama_any_peek(t->tid, arg(t, t->call->mem), old, sizeof(old)) != sizeof(old))
			return;
		for (unsigned i = 0; i < 6; i++)
			t->arg[i] = old[i];
	}
	if (!op->ok || t->arg[3] & MAP_ANONYMOUS || (int32_t)t->arg[4] < 0)
		return;
	op->bytes = (int64_t)t->arg[1];
	op->off = (int64_t)t->arg[5];
	if (op->fn == RAMA_TAB_FN_mmap64) /* it counts in pages */
		op->off <<= 12;
	op->has_off = true;
	f = rama_any_fd_file(p, (uint32_t)t->arg[4], 0);
	if (f == NULL)
		return;
	do_posix(t, f, op);
	p->mapping[p->next_mapping++ % RAMA_ANY_MAPPINGS] = (struct rama_any_mapping){
		.from = (uint64_t)result, .until = (uint64_t)result + t->arg[1], .name = f->name
	};
}

static void did_msync(struct rama_any_thread *t, const struct rama_core_op *op)
{
	struct rama_any_proc *p = t->proc;
	uint64_t at = arg(t, 1);

	for (uint32_t k = 1; k <= RAMA_ANY_MAPPINGS; k++) { /* newest first */
		const struct rama_any_mapping *m =
			&p->mapping[(p->next_mapping - k) % RAMA_ANY_MAPPINGS];

		if (at < m->from || at >= m->until)
			continue;
		do_extra(t, rama_any_seg_name_at(&p->seg, m->name), op);
		return;
	}
}

static void did_stat(struct rama_any_thread *t, struct rama_core_op *op)
{
	static char text[PATH_MAX];
	const struct rama_any_call *c = t->call;
	bool by_path = c->path > 0 && t->path[0][0] != '\0';
	struct rama_core_posix_file *f = NULL;
	uint16_t mode = 0;
	size_t len;

	if (op->ok)
		rama_any_peek(t->tid, arg(t, c->mem) + c->st, &mode, sizeof(mode));
	if (!op->ok || !S_ISREG(mode)) {
		if (op->ok)
			op->kind = RAMA_TAB_OP_STATOTHER;
		did_meta(t, op);
		return;
	}
	if (!by_path) {
		f = rama_any_fd_file(t->proc, (uint32_t)fd_arg(t, c->path > 0 ? c->dirfd : c->fd),
				     0);
	} else {
		len = clean_path(t, 0, text);
		if (len > 0)
			f = rama_any_file(t->proc,
					  rama_any_seg_name(&t->proc->seg, text, len, true));
	}
	if (f != NULL)
		do_posix(t, f, op);
}

static void origin(struct rama_any_thread *t, struct rama_seg_name *n, uint64_t id)
{
	struct rama_core_extra_file *f =
		n != rama_any_seg_name_at(&t->proc->seg, 1)
			? rama_any_seg_slot(&t->proc->seg, n, RAMA_SEG_KIND_EXTRA, 0)
			: NULL;

	if (f == NULL || f->w[RAMA_TAB_EXTRA_RENAMED_FROM].u != 0)
		return;
	rama_any_seg_begin(&f->seq);
	f->w[RAMA_TAB_EXTRA_RENAMED_FROM].u = id;
	rama_any_seg_end(&f->seq);
}

static void did_rename(struct rama_any_thread *t, struct rama_core_op *op)
{
	static char from[PATH_MAX], to[PATH_MAX];
	struct rama_any_seg *s = &t->proc->seg;
	size_t n_from = clean_path(t, 0, from), n_to = clean_path(t, 1, to);
	struct rama_core_posix_file *f;
	struct rama_seg_name *old, *n;

	if (n_from == 0)
		return;
	if (!op->ok) {
		do_failed(t, from, n_from, op);
		return;
	}
	old = rama_any_seg_name(s, from, n_from, true);
	n = n_to > 0 ? rama_any_seg_name(s, to, n_to, true) : NULL;
	do_extra(t, old, op);
	if (n != NULL)
		origin(t, n, old->id);
	/* the log format counts renames only of files it has a record of */
	if (old->slot[RAMA_SEG_KIND_POSIX] == 0)
		return;
	op->kind = RAMA_TAB_OP_RENAMEFROM;
	do_posix(t, rama_any_file(t->proc, old), op);
	f = n != NULL ? rama_any_file(t->proc, n) : NULL;
	op->kind = RAMA_TAB_OP_RENAMETO;
	op->off = (int64_t)old->id;
	op->has_off = true;
	if (f != NULL)
		do_posix(t, f, op);
}

/* ---- in and out ------------------------------------------------------------------------------ */

void rama_any_call_begin(struct rama_any_thread *t)
{
	const struct rama_any_call *c = t->call;
	struct rama_seg_lane *lane;
	uint32_t *fd;

	t->path[0][0] = '\0';
	t->has_path = c->path == 0 || (c->dirfd > 0 && arg(t, c->path) == 0) || /* of that alone */
		      rama_any_peek_text(t->tid, arg(t, c->path), t->path[0]);
	if (c->path2 > 0)
		t->has_path =
			t->has_path && rama_any_peek_text(t->tid, arg(t, c->path2), t->path[1]);
	if (c->shape == RAMA_ANY_CLOSE && t->proc->seen) {
		fd = rama_any_fd(t->proc, (uint32_t)fd_arg(t, c->fd));
		t->file = fd != NULL ? *fd : 0;
		if (fd != NULL)
			*fd = 0;
	}
	t->t0 = rama_any_now();
	if (!t->proc->seen)
		return;
	lane = t->proc->seg.lane;
	__atomic_store_n(&lane->doing, RAMA_SEG_DOING(c->fn, c->fd > 0 ? fd_arg(t, c->fd) : -1),
			 __ATOMIC_RELAXED);
	__atomic_store_n(&lane->doing_since, t->t0, __ATOMIC_RELEASE);
}

/* those whose result is more than done or failed; true: it was one */
static bool did_with_result(struct rama_any_thread *t, int64_t result, struct rama_core_op *op)
{
	switch (t->call->shape) {
	case RAMA_ANY_OPEN:
	case RAMA_ANY_CREAT:
	case RAMA_ANY_OPEN_HOW:
		did_open(t, result, op);
		return true;
	case RAMA_ANY_DUP:
		did_dup(t, result, op);
		return true;
	case RAMA_ANY_FCNTL:
		did_fcntl(t, result, op);
		return true;
	case RAMA_ANY_MOVE:
		did_move(t, result, op);
		return true;
	case RAMA_ANY_SEEK:
	case RAMA_ANY_SEEK_FAR:
		did_seek(t, result, op);
		return true;
	case RAMA_ANY_COPY:
		did_copy(t, result, op);
		return true;
	case RAMA_ANY_MAP:
	case RAMA_ANY_MAP_OLD:
		did_map(t, result, op);
		return true;
	case RAMA_ANY_REQUESTS:
		t->proc->seg.lane->missed += result > 0 ? (uint64_t)result : 0;
		return true;
	case RAMA_ANY_URING:
		t->proc->seg.state->uring_missed += result > 0 ? (uint64_t)result : 0;
		return true;
	}
	return false;
}

void rama_any_call_end(struct rama_any_thread *t, int64_t result, bool failed, uint64_t t1)
{
	const struct rama_any_call *c = t->call;
	struct rama_any_seg *s = &t->proc->seg;
	struct rama_core_posix_file *f;
	struct rama_core_op op = { .fn = c->fn,
				   .kind = c->op,
				   .ok = !failed,
				   .t0 = t->t0 - s->id->clock.tick0,
				   .t1 = t1 - s->id->clock.tick0 };

	if (s->lane->doing_since == t->t0)
		s->lane->doing_since = 0;
	if (failed)
		result = -1;
	if (!t->has_path || did_with_result(t, result, &op))
		return;
	switch (c->shape) {
	case RAMA_ANY_CLOSE:
		did_close(t, &op);
		break;
	case RAMA_ANY_CLOSE_RANGE:
		if (!(arg(t, 3) & 4 /* CLOSE_RANGE_CLOEXEC */))
			did_close_range(t, &op);
		break;
	case RAMA_ANY_FILE:
		f = rama_any_fd_file(t->proc, (uint32_t)fd_arg(t, c->fd), 0);
		if (f != NULL)
			do_posix(t, f, &op);
		break;
	case RAMA_ANY_META:
		did_meta(t, &op);
		break;
	case RAMA_ANY_MSYNC:
		did_msync(t, &op);
		break;
	case RAMA_ANY_STAT_OF:
		did_stat(t, &op);
		break;
	case RAMA_ANY_RENAME:
		did_rename(t, &op);
		break;
	}
}
