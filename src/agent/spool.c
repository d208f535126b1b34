/* SPDX-License-Identifier: BSD-3-Clause */
/* spool.c: files of some MiB, each named by the number of its first message. Appending is one
 * write at the known end of the last file; what is behind that end after a crash is cut off.
 * Files whose messages are all committed are removed whole. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/file.h"
#include "agent/spool.h"
#include "base/grow.h"

#define SUFFIX ".spool"
#define HEAD sizeof(struct rama_agent_spool_head)
#define RECORD sizeof(struct rama_agent_spool_record)

struct spool_file {
	uint64_t first, next; /* numbers */
	uint64_t size;	      /* bytes that are complete */
};

/* where the reader is */
struct cursor {
	int fd;
	uint64_t file;	 /* `first` of the file that fd is */
	uint64_t number; /* of the message at `at` */
	uint64_t at;
};

struct rama_agent_spool {
	int dir, lock;
	char path[1024];
	uint64_t limit, file_size;
	void (*tell)(void *ctx, const char *line);
	void *ctx;
	pthread_mutex_t mutex; /* for all up to the cursor */
	struct spool_file *file;
	size_t n, room;
	int active; /* descriptor of the last file, -1: the next message begins a new one */
	uint64_t next, committed, bytes;
	bool full, disk_full;
	uint64_t unchecked; /* bytes written since the disk was last asked how full it is */
	/* the reader's own */
	struct cursor cursor;
	unsigned char *buf;
	size_t buf_room;
	int mark; /* descriptor of the file that says what is committed */
	unsigned mark_turn;
};

/* ---- reading: a cursor that mostly goes on from where it was --------------------------------- */

#define READ_ABOUT (4u << 20)

static void file_name(char to[40], uint64_t first)
{
	snprintf(to, 40, "%020llu" SUFFIX, (unsigned long long)first);
}

/* The file that has this number, or the first after it; a copy, since the list changes. */
static bool file_of(struct rama_agent_spool *s, uint64_t number, struct spool_file *f)
{
	bool found = false;

	pthread_mutex_lock(&s->mutex);
	for (size_t i = 0; i < s->n && !found; i++)
		if (s->file[i].next > number && s->file[i].next > s->file[i].first) {
			*f = s->file[i];
			found = true;
		}
	pthread_mutex_unlock(&s->mutex);
	return found;
}

static int read_record(struct rama_agent_spool *s, const struct spool_file *f,
		       struct rama_agent_spool_record *r, struct rama_err *e)
{
	struct cursor *c = &s->cursor;

	if (c->at + RECORD > f->size || pread(c->fd, r, RECORD, (off_t)c->at) != (ssize_t)RECORD ||
	    !rama_agent_spool_record_good(r, f->size - c->at - RECORD) || r->number != c->number)
		return rama_err_set(e, RAMA_ECORRUPT, "%s: message %llu is damaged", s->path,
				    (unsigned long long)c->number);
	return 0;
}

/* moves the cursor to that message of the file */
static int seek(struct rama_agent_spool *s, const struct spool_file *f, uint64_t number,
		struct rama_err *e)
{
	struct cursor *c = &s->cursor;
	char name[40];

	if (number < f->first)
		number = f->first;
	if (c->fd < 0 || c->file != f->first) {
		if (c->fd >= 0)
			close(c->fd);
		file_name(name, f->first);
		c->fd = openat(s->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (c->fd < 0)
			return rama_err_set(e, RAMA_EIO, "%s/%s: %s", s->path, name,
					    strerror(errno));
		c->file = f->first;
		c->number = f->first;
		c->at = HEAD;
	}
	if (number < c->number) {
		c->number = f->first;
		c->at = HEAD;
	}
	while (c->number < number) {
		struct rama_agent_spool_record r = { 0 };

		if (read_record(s, f, &r, e) != 0)
			return RAMA_ECORRUPT;
		c->at += RECORD + rama_agent_spool_padded(r.len);
		c->number++;
	}
	return 0;
}

/* messages of one file from the cursor on, one behind the other into the buffer */
static int read_some(struct rama_agent_spool *s, const struct spool_file *f,
		     struct rama_bus_parcel *p, unsigned most, struct rama_err *e)
{
	struct cursor *c = &s->cursor;
	size_t used = 0;
	unsigned n = 0;

	if (!RAMA_GROW(s->buf, s->buf_room, READ_ABOUT))
		return rama_err_no_memory(e);
	for (; n < most && c->number < f->next; n++) {
		struct rama_agent_spool_record r = { 0 };

		if (read_record(s, f, &r, e) != 0)
			return RAMA_ECORRUPT;
		if (n > 0 && used + r.len > s->buf_room)
			break; /* the rest comes with the next call */
		if (!RAMA_GROW(s->buf, s->buf_room, r.len))
			return rama_err_no_memory(e);
		if (pread(c->fd, s->buf + used, r.len, (off_t)(c->at + RECORD)) != (ssize_t)r.len)
			return rama_err_set(e, RAMA_EIO, "%s: %s", s->path, strerror(errno));
		p[n] = (struct rama_bus_parcel){ .number = r.number,
						 .bytes = s->buf + used,
						 .len = r.len };
		used += r.len;
		c->at += RECORD + rama_agent_spool_padded(r.len);
		c->number++;
	}
	return (int)n;
}

int rama_agent_spool_read(struct rama_agent_spool *s, uint64_t from, struct rama_bus_parcel *p,
			  unsigned most, struct rama_err *e)
{
	struct spool_file f;
	int rc;

	if (most == 0 || !file_of(s, from, &f))
		return 0;
	rc = seek(s, &f, from, e);
	if (rc == 0)
		rc = read_some(s, &f, p, most, e);
	if (rc < 0 && s->cursor.fd >= 0) {
		close(s->cursor.fd);
		s->cursor.fd = -1;
	}
	return rc;
}

/* ---- appending ------------------------------------------------------------------------------- */

#define FILE_MOST (4u << 20)
#define FILE_LEAST (64u << 10)
#define CHECK_EVERY (256u << 10) /* bytes written, after which the disk is asked how full it is */
#define RESERVE \
	(256ull \
	 << 20) /* bytes of the disk that are left to others, or a twentieth of it if that is
	 less */

static void say(struct rama_agent_spool *s, const char *name, const char *what)
{
	char line[1400];

	snprintf(line, sizeof(line), "%s%s%s: %s", s->path, name[0] != '\0' ? "/" : "", name, what);
	if (s->tell != NULL)
		s->tell(s->ctx, line);
}

/* ---- what is committed: two places that are written in turn, so that one is always whole ----- */

struct mark {
	uint64_t committed, check; /* check: its complement */
};

static int open_mark(struct rama_agent_spool *s, struct rama_err *e)
{
	struct mark m[2] = { { 0 } };

	s->mark = openat(s->dir, "committed", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->mark < 0 || pread(s->mark, m, sizeof(m), 0) < 0)
		return rama_err_set(e, RAMA_EIO, "%s/committed: %s", s->path, strerror(errno));
	for (unsigned i = 0; i < 2; i++)
		if (m[i].check == ~m[i].committed && m[i].committed > s->committed) {
			s->committed = m[i].committed;
			s->mark_turn = 1 - i;
		}
	return 0;
}

static int write_mark(struct rama_agent_spool *s, struct rama_err *e)
{
	struct mark m = { .committed = s->committed, .check = ~s->committed };

	if (pwrite(s->mark, &m, sizeof(m), s->mark_turn * (off_t)sizeof(m)) != (ssize_t)sizeof(m))
		return rama_err_set(e, RAMA_EIO, "%s/committed: %s", s->path, strerror(errno));
	s->mark_turn = 1 - s->mark_turn;
	return 0;
}

/* ---- what is there --------------------------------------------------------------------------- */

static struct spool_file *add_file(struct rama_agent_spool *s, const struct spool_file *f)
{
	if (!RAMA_GROW(s->file, s->room, s->n + 1))
		return NULL;
	s->file[s->n] = *f;
	return &s->file[s->n++];
}

static int by_first(const void *a, const void *b)
{
	const struct spool_file *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

/* a file that says nothing we could use is set aside, never removed */
static void set_aside(struct rama_agent_spool *s, const char *name, const char *why)
{
	char other[300], line[900];

	snprintf(other, sizeof(other), "%.250s.damaged", name);
	snprintf(line, sizeof(line), "%s; it is now called %s", why, other);
	if (renameat(s->dir, name, s->dir, other) == 0)
		say(s, name, line);
}

static int take_file(struct rama_agent_spool *s, const char *name, struct rama_err *e)
{
	char path[1400], expected[40], line[128];
	struct rama_agent_spool_scan scan;
	struct spool_file f;
	struct rama_file file;
	struct rama_err mine = { 0 };
	int rc;

	snprintf(path, sizeof(path), "%s/%s", s->path, name);
	if (rama_file_open(&file, path, &mine) != 0) {
		say(s, name, mine.text);
		return 0;
	}
	rc = rama_agent_spool_scan(&file.src, &scan, &mine);
	file_name(expected, scan.first);
	if (rc == 0 && strcmp(expected, name) != 0)
		rc = rama_err_set(&mine, RAMA_ECORRUPT, "its name and its head do not fit");
	if (rc == 0 && scan.damaged) {
		snprintf(line, sizeof(line), "a damaged end of %llu bytes is cut off",
			 (unsigned long long)(file.src.size - scan.end));
		say(s, name, line);
		if (truncate(path, (off_t)scan.end) != 0)
			rc = rama_err_set(&mine, RAMA_EIO, "%s", strerror(errno));
	}
	rama_file_close(&file);
	if (rc == RAMA_ECORRUPT) {
		set_aside(s, name, mine.text);
		return 0;
	}
	f = (struct spool_file){ .first = scan.first, .next = scan.next, .size = scan.end };
	if (rc == 0 && add_file(s, &f) == NULL)
		rc = rama_err_no_memory(&mine);
	return rc == 0 ? 0 : rama_err_set(e, rc, "%s: %s", path, mine.text);
}

static bool is_ours(int dir, const char *name)
{
	size_t n = strlen(name);
	struct stat st;

	return n == 20 + strlen(SUFFIX) && strspn(name, "0123456789") == 20 &&
	       strcmp(name + 20, SUFFIX) == 0 &&
	       fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

static void remove_file(struct rama_agent_spool *s, size_t i)
{
	char name[40];

	file_name(name, s->file[i].first);
	unlinkat(s->dir, name, 0);
	s->bytes -= s->file[i].size;
	memmove(&s->file[i], &s->file[i + 1], (s->n - i - 1) * sizeof(s->file[0]));
	s->n--;
}

static int read_dir(struct rama_agent_spool *s, struct rama_err *e)
{
	int fd = openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	if (d == NULL)
		return rama_err_set(e, RAMA_EIO, "%s: %s", s->path, strerror(errno));
	while (rc == 0 && (entry = readdir(d)) != NULL)
		if (is_ours(s->dir, entry->d_name))
			rc = take_file(s, entry->d_name, e);
	closedir(d);
	if (s->n > 0)
		qsort(s->file, s->n, sizeof(s->file[0]), by_first);
	for (size_t i = s->n; i-- > 0;) {
		s->bytes += s->file[i].size;
		s->next = s->file[i].next > s->next ? s->file[i].next : s->next;
	}
	s->next = s->committed + 1 > s->next ? s->committed + 1 : s->next;
	for (size_t i = s->n; i-- > 0;)
		if (s->file[i].next - 1 <= s->committed || s->file[i].next == s->file[i].first)
			remove_file(s, i);
	return rc;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int make_dirs(const char *path, struct rama_err *e)
{
	char part[1024];
	size_t n = strlen(path);

	if (n == 0 || n >= sizeof(part))
		return rama_err_set(e, RAMA_EIO, "%s: no path for a spool", path);
	memcpy(part, path, n + 1);
	for (size_t i = 1; i <= n; i++)
		if (part[i] == '/' || part[i] == '\0') {
			part[i] = '\0';
			if (mkdir(part, 0700) != 0 && errno != EEXIST)
				return rama_err_set(e, RAMA_EIO, "%s: cannot be made: %s", part,
						    strerror(errno));
			part[i] = path[i];
		}
	return 0;
}

static int open_dir(struct rama_agent_spool *s, struct rama_err *e)
{
	struct stat st;

	s->dir = open(s->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s->dir < 0 || fstat(s->dir, &st) != 0)
		return rama_err_set(e, RAMA_EIO, "%s: %s", s->path,
				    errno == ELOOP || errno == ENOTDIR ? "is no real directory"
								       : strerror(errno));
	if (st.st_uid != geteuid())
		return rama_err_set(e, RAMA_EIO, "%s: belongs to user %u, not to you", s->path,
				    (unsigned)st.st_uid);
	if (st.st_mode & 022)
		return rama_err_set(e, RAMA_EIO, "%s: others may write into it; chmod 700 it",
				    s->path);
	return 0;
}

static int take_lock(struct rama_agent_spool *s, struct rama_err *e)
{
	char text[32] = "";
	struct stat st;

	s->lock = openat(s->dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock < 0)
		return rama_err_set(e, RAMA_EIO, "%s/lock: %s", s->path, strerror(errno));
	if (flock(s->lock, LOCK_EX | LOCK_NB) != 0) {
		ssize_t n = pread(s->lock, text, sizeof(text) - 1, 0);

		text[n > 0 ? n : 0] = '\0';
		return rama_err_set(e, RAMA_EBUSY, "%s: process %ld uses this spool", s->path,
				    strtol(text, NULL, 10));
	}
	if (fstat(s->lock, &st) != 0 || st.st_nlink == 0)
		return rama_err_set(e, RAMA_EMISSING, "%s: it was removed", s->path);
	snprintf(text, sizeof(text), "%-11ld\n", (long)getpid());
	return pwrite(s->lock, text, strlen(text), 0) > 0
		       ? 0
		       : rama_err_set(e, RAMA_EIO, "%s/lock: %s", s->path, strerror(errno));
}

int rama_agent_spool_open(struct rama_agent_spool **to, const char *dir, uint64_t limit,
			  void (*tell)(void *ctx, const char *line), void *ctx, struct rama_err *e)
{
	struct rama_agent_spool *s = calloc(1, sizeof(*s));
	int rc;

	*to = NULL;
	if (s == NULL)
		return rama_err_no_memory(e);
	*s = (struct rama_agent_spool){ .dir = -1,
					.lock = -1,
					.active = -1,
					.mark = -1,
					.next = 1,
					.limit = limit,
					.tell = tell,
					.ctx = ctx };
	s->cursor.fd = -1;
	s->file_size = limit / 16 < FILE_LEAST	? FILE_LEAST
		       : limit / 16 > FILE_MOST ? FILE_MOST
						: limit / 16;
	pthread_mutex_init(&s->mutex, NULL);
	rc = make_dirs(dir, e);
	if (rc == 0)
		snprintf(s->path, sizeof(s->path), "%s", dir);
	if (rc == 0)
		rc = open_dir(s, e);
	if (rc == 0)
		rc = take_lock(s, e);
	if (rc == 0)
		rc = open_mark(s, e);
	if (rc == 0)
		rc = read_dir(s, e);
	if (rc != 0) {
		rama_agent_spool_close(s);
		return rc;
	}
	*to = s;
	return 0;
}

void rama_agent_spool_close(struct rama_agent_spool *s)
{
	const int fd[] = { s->active, s->cursor.fd, s->mark, s->dir, s->lock };

	for (unsigned i = 0; i < sizeof(fd) / sizeof(fd[0]); i++)
		if (fd[i] >= 0)
			close(fd[i]);
	pthread_mutex_destroy(&s->mutex);
	free(s->file);
	free(s->buf);
	free(s);
}

int rama_agent_spool_dir(const struct rama_agent_spool *s)
{
	return s->dir;
}

/* ---- appending ------------------------------------------------------------------------------- */

static bool disk_has(struct rama_agent_spool *s, uint64_t n, uint64_t written)
{
	struct statvfs v;
	uint64_t keep, unit;

	s->unchecked += written;
	if (!s->disk_full && s->unchecked < CHECK_EVERY)
		return true;
	s->unchecked = 0;
	if (fstatvfs(s->dir, &v) != 0)
		return true;
	unit = v.f_frsize;
	keep = v.f_blocks * unit / 20 < RESERVE ? v.f_blocks * unit / 20 : RESERVE;
	s->disk_full = v.f_bavail * unit < keep + n + CHECK_EVERY / 2;
	return !s->disk_full;
}

static bool fits(struct rama_agent_spool *s, uint64_t n, uint64_t spare)
{
	return s->bytes + n + spare <= s->limit && disk_has(s, n, spare > 0 ? 0 : n);
}

bool rama_agent_spool_has_room(struct rama_agent_spool *s, size_t n)
{
	bool yes;

	pthread_mutex_lock(&s->mutex);
	yes = fits(s, n + RECORD + HEAD + 8, s->limit / 16);
	s->full = !yes;
	pthread_mutex_unlock(&s->mutex);
	return yes;
}

static int write_all(int fd, struct iovec *v, unsigned n, uint64_t at)
{
	while (n > 0) {
		ssize_t done = pwritev(fd, v, (int)n, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? errno : ENOSPC;
		at += (uint64_t)done;
		for (; n > 0 && (size_t)done >= v->iov_len; n--, v++)
			done -= (ssize_t)v->iov_len;
		if (n > 0) {
			v->iov_base = (char *)v->iov_base + done;
			v->iov_len -= (size_t)done;
		}
	}
	return 0;
}

static int new_file(struct rama_agent_spool *s, struct rama_err *e)
{
	struct spool_file f = { .first = s->next, .next = s->next, .size = HEAD };
	struct rama_agent_spool_head head = { .magic = RAMA_AGENT_SPOOL_MAGIC, .first = s->next };
	struct iovec v = { &head, HEAD };
	char name[40];
	int wrong;

	file_name(name, s->next);
	if (s->active >= 0)
		close(s->active);
	s->active = openat(s->dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->active < 0)
		return rama_err_set(e, RAMA_EIO, "%s/%s: %s", s->path, name, strerror(errno));
	wrong = write_all(s->active, &v, 1, 0);
	if (wrong != 0 || add_file(s, &f) == NULL) {
		unlinkat(s->dir, name, 0);
		close(s->active);
		s->active = -1;
		return rama_err_set(e, RAMA_EIO, "%s/%s: %s", s->path, name,
				    strerror(wrong != 0 ? wrong : ENOMEM));
	}
	s->bytes += HEAD;
	return 0;
}

static int append(struct rama_agent_spool *s, const unsigned char *bytes, size_t n,
		  uint64_t *number, struct rama_err *e)
{
	static const unsigned char zero[8];
	struct rama_agent_spool_record r;
	struct iovec v[] = { { &r, RECORD },
			     { (void *)(uintptr_t)bytes, n },
			     { (void *)(uintptr_t)zero, rama_agent_spool_padded(n) - n } };
	uint64_t all = RECORD + rama_agent_spool_padded(n);
	struct spool_file *f;
	int wrong;

	if (!fits(s, all + HEAD, 0)) {
		s->full = true;
		return rama_err_set(e, s->disk_full ? RAMA_EIO : RAMA_ELIMIT,
				    s->disk_full ? "%s: the disk is full" : "%s: the spool is full",
				    s->path);
	}
	if (s->active < 0 || s->n == 0 || s->file[s->n - 1].size + all > s->file_size) {
		if (new_file(s, e) != 0)
			return RAMA_EIO;
	}
	f = &s->file[s->n - 1];
	rama_agent_spool_record_make(&r, bytes, n, s->next);
	wrong = write_all(s->active, v, 3, f->size);
	if (wrong != 0) {
		/* if this fails: what lies behind the end is written over, or cut off at the
		 * next start */
		(void)!ftruncate(s->active, (off_t)f->size);
		s->full = s->disk_full = true;
		return rama_err_set(e, RAMA_EIO, "%s: %s", s->path, strerror(wrong));
	}
	f->size += all;
	s->bytes += all;
	*number = s->next++;
	f->next = s->next;
	return 0;
}

int rama_agent_spool_append(struct rama_agent_spool *s, const unsigned char *bytes, size_t n,
			    uint64_t *number, struct rama_err *e)
{
	int rc;

	if (n > RAMA_WIRE_MESSAGE_MOST)
		return rama_err_set(e, RAMA_ELIMIT, "a message of %zu bytes", n);
	pthread_mutex_lock(&s->mutex);
	rc = append(s, bytes, n, number, e);
	pthread_mutex_unlock(&s->mutex);
	return rc;
}

/* ---- committing ------------------------------------------------------------------------------ */

int rama_agent_spool_commit(struct rama_agent_spool *s, uint64_t number, struct rama_err *e)
{
	int rc = 0;

	pthread_mutex_lock(&s->mutex);
	if (number >= s->next)
		number = s->next - 1;
	if (number > s->committed) {
		s->committed = number;
		rc = write_mark(s, e);
		while (s->n > 0 && s->file[0].next - 1 <= number && rc == 0) {
			if (s->n == 1 && s->active >= 0) {
				if (s->file[0].size < FILE_LEAST / 4)
					break; /* it goes on */
				close(s->active);
				s->active = -1;
			}
			remove_file(s, 0);
		}
	}
	pthread_mutex_unlock(&s->mutex);
	return rc;
}

void rama_agent_spool_state(struct rama_agent_spool *s, struct rama_agent_spool_state *st)
{
	pthread_mutex_lock(&s->mutex);
	*st = (struct rama_agent_spool_state){ .next = s->next,
					       .committed = s->committed,
					       .bytes = s->bytes,
					       .limit = s->limit,
					       .messages = s->next - 1 - s->committed,
					       .full = s->full };
	pthread_mutex_unlock(&s->mutex);
}
