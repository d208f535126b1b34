/* SPDX-License-Identifier: BSD-3-Clause */
/* truth.c: see truth.h. Plain and slow on purpose. */
#include "truth.h"

#include <pthread.h>
#include <stdarg.h>
#include <sys/syscall.h>

#define COUNTERS 80
#define MODULES 3
#define HANDLES (1 << 17)
#define DISTINCT 32

static const char *const module_name[MODULES] = { "POSIX", "STDIO", "EXTRA" };
enum { POSIX, STDIO, EXTRA };

/* only those that the words of truth.h change; others may be named in t_want() */
/* clang-format off */
#define NAMES(X) \
	X(OPENS) X(FILENOS) X(DUPS) X(READS) X(WRITES) X(SEEKS) X(STATS) X(FSYNCS) \
	X(FDSYNCS) X(RENAME_SOURCES) X(RENAME_TARGETS) X(RENAMED_FROM) X(MODE) \
	X(BYTES_READ) X(BYTES_WRITTEN) X(MAX_BYTE_READ) X(MAX_BYTE_WRITTEN) \
	X(CONSEC_READS) X(CONSEC_WRITES) X(SEQ_READS) X(SEQ_WRITES) X(RW_SWITCHES) \
	X(MEM_NOT_ALIGNED) X(FDOPENS) X(FLUSHES) X(READS_FAILED) X(WRITES_FAILED) \
	X(AIO_READS) X(AIO_WRITES) X(COPY_READS) X(COPY_WRITES) X(MMAPS) X(BYTES_MAPPED) \
	X(OPENS_FAILED) X(CALLS_FAILED) X(ACCESSES) X(MSYNCS) X(RANGE_SYNCS) X(TRUNCATES) \
	X(ALLOCATES) X(ADVISES) X(LOCKS) X(MKDIRS) X(UNLINKS) X(LINKS) X(RENAMES) \
	X(CHMODS) X(UTIMES) X(XATTRS) X(READDIRS) X(STREAM)
/* clang-format on */
enum {
#define X(name) name,
	NAMES(X)
#undef X
		NAMED
};
static const char *const counter_name[NAMED] = {
#define X(name) #name,
	NAMES(X)
#undef X
};
_Static_assert(NAMED < COUNTERS, "counters fit");

static const int64_t bucket_top[9] = { 100,	1024,	  10240,     102400,	1048576,
				       4194304, 10485760, 104857600, 1073741824 };
static const char *const bucket_name[10] = { "0_100", "100_1K", "1K_10K",   "10K_100K", "100K_1M",
					     "1M_4M", "4M_10M", "10M_100M", "100M_1G",	"1G_PLUS" };

struct values {
	int n;
	int64_t value[DISTINCT], count[DISTINCT];
};

struct file {
	char *path;
	bool used[MODULES];
	int64_t c[MODULES][COUNTERS];
	int64_t hist[2][10];
	int64_t not_aligned[8]; /* offsets of accesses, by the power of two that divides them */
	struct values access, stride;
	int64_t tracked, last[2], end[2], stdio_at;
	int kind; /* of the access before: 1 read, 2 write */
};

struct event {
	int file, module;
	char kind;
	int64_t off, len;
	uint64_t thread;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct file *files;
static int nfiles, room;
static struct event *events;
static int nevents, event_room;
static bool untraced;
static int fd_file[HANDLES]; /* number + 1 */
static struct {
	FILE *f;
	int file; /* number + 1 */
} streams[4096];
static char said[1 << 16];
static size_t said_len;

/* ---- printing, without the C library ------------------------------------------------------- */

static long raw(long nr, long a, long b, long c, long d)
{
#ifdef __x86_64__
	long r;
	register long r10 __asm__("r10") = d;
	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return r;
#else
	return syscall(nr, a, b, c, d);
#endif
}

static char out[1 << 20];
static size_t out_len;
static long out_fd = 1;

static void out_flush(void)
{
	for (size_t at = 0; at < out_len;) {
		long n = raw(SYS_write, out_fd, (long)(out + at), (long)(out_len - at), 0);
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	out_len = 0;
}

__attribute__((format(printf, 1, 2))) static void line(const char *format, ...)
{
	va_list ap;
	if (out_len > sizeof out / 2)
		out_flush();
	va_start(ap, format);
	int n = vsnprintf(out + out_len, sizeof out - out_len, format, ap);
	va_end(ap);
	if (n > 0)
		out_len += (size_t)n;
}

/* the path as one word */
static const char *word(const char *path)
{
	static char to[3 * 4200];
	size_t n = 0;
	for (; *path && n + 4 < sizeof to; path++) {
		unsigned char c = (unsigned char)*path;
		if (c > ' ' && c < 127 && c != '%')
			to[n++] = (char)c;
		else
			n += (size_t)snprintf(to + n, 4, "%%%02X", c);
	}
	to[n] = 0;
	return to;
}

void t_must(bool ok, const char *what, int where)
{
	if (ok)
		return;
	char text[256];
	int n = snprintf(text, sizeof text, "line %d: not so: %s (errno %d)\n", where, what, errno);
	raw(SYS_write, 2, (long)text, n, 0);
	raw(SYS_exit_group, 99, 0, 0, 0);
}

/* ---- files --------------------------------------------------------------------------------- */

/* beginning "<": as it is. Else absolute, "//" and "/./" reduced */
static const char *cleaned(const char *path)
{
	static char to[3 * 4096];
	char *p;
	if (path[0] == '<')
		return path;
	to[0] = 0;
	if (path[0] != '/') {
		long n = raw(SYS_getcwd, (long)to, 4096, 0, 0);
		t_must(n > 0, "getcwd", __LINE__);
		size_t len = strlen(to);
		to[len] = '/';
		to[len + 1] = 0;
	}
	size_t len = strlen(to);
	t_must(len + strlen(path) < sizeof to, "path fits", __LINE__);
	memcpy(to + len, path, strlen(path) + 1);
	while ((p = strstr(to, "//")) != NULL)
		memmove(p, p + 1, strlen(p));
	while ((p = strstr(to, "/./")) != NULL)
		memmove(p, p + 2, strlen(p + 1));
	return to;
}

static bool excluded(const char *path)
{
	static const char *const prefix[] = { "/etc/",	"/dev/",  "/usr/", "/bin/",
					      "/boot/", "/lib/",  "/opt/", "/sbin/",
					      "/sys/",	"/proc/", "/var/" };
	for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++)
		if (!strncmp(path, prefix[i], strlen(prefix[i])))
			return true;
	return false;
}

static int file_find(const char *path)
{
	for (int i = nfiles - 1; i >= 0; i--)
		if (!strcmp(files[i].path, path))
			return i;
	return -1;
}

/* number of the file, made if need be; -1: not observed */
static int file_of(const char *path)
{
	path = cleaned(path);
	if (excluded(path))
		return -1;
	int i = file_find(path);
	if (i >= 0)
		return i;
	if (nfiles == room) {
		room = room ? room * 2 : 64;
		files = realloc(files, (size_t)room * sizeof *files);
		t_must(files != NULL, "memory", __LINE__);
	}
	memset(&files[nfiles], 0, sizeof *files);
	files[nfiles].path = strdup(path);
	files[nfiles].end[0] = files[nfiles].end[1] = -1;
	return nfiles++;
}

/* a name as seen from an open directory */
static int file_at(int dirfd, const char *path)
{
	static char joined[2 * 4096 + 2];
	if (path[0] == '/' || dirfd == AT_FDCWD || dirfd < 0 || !fd_file[dirfd])
		return file_of(path);
	snprintf(joined, sizeof joined, "%s/%s", files[fd_file[dirfd] - 1].path, path);
	return file_of(joined);
}

/* a call that failed: names that nothing is known of share one record */
static int failed_at(int dirfd, const char *path)
{
	int before = nfiles, k = file_at(dirfd, path);
	if (nfiles > before) {
		free(files[--nfiles].path);
		k = file_of("<FAILED>");
	} else if (k >= 0 && !files[k].used[POSIX] && !files[k].used[STDIO] &&
		   !files[k].used[EXTRA]) {
		k = file_of("<FAILED>");
	}
	return k;
}

static int file_fd(int fd)
{
	return fd >= 0 && fd < HANDLES ? fd_file[fd] - 1 : -1;
}

static int stream_slot(FILE *f)
{
	for (int i = 0; i < (int)(sizeof streams / sizeof *streams); i++)
		if (streams[i].f == f && streams[i].file)
			return i;
	return -1;
}

static int file_stream(FILE *f)
{
	int i = stream_slot(f);
	if (i >= 0)
		return streams[i].file - 1;
	const char *name = f == stdin	 ? "<STDIN>"
			   : f == stdout ? "<STDOUT>"
			   : f == stderr ? "<STDERR>"
					 : NULL;
	if (!name)
		return -1;
	int k = file_of(name);
	if (!files[k].c[STDIO][OPENS])
		files[k].c[STDIO][OPENS] = 1;
	return k;
}

static void stream_map(FILE *f, int file)
{
	int i = stream_slot(f);
	for (int k = 0; i < 0 && k < (int)(sizeof streams / sizeof *streams); k++)
		if (!streams[k].file)
			i = k;
	t_must(i >= 0, "room for streams", __LINE__);
	streams[i].f = f;
	streams[i].file = file + 1;
}

static int64_t *counter(int file, int module, int which)
{
	files[file].used[module] = true;
	return &files[file].c[module][which];
}

static int named(const char *name)
{
	for (int i = 0; i < NAMED; i++)
		if (!strcmp(counter_name[i], name))
			return i;
	return -1;
}

static int begin(void)
{
	int kept = errno;
	pthread_mutex_lock(&lock);
	return kept;
}

static void end(int kept)
{
	pthread_mutex_unlock(&lock);
	errno = kept;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

int m_open(int dirfd, const char *path, int mode, int ret)
{
	int kept = begin(), k = ret < 0 ? failed_at(dirfd, path) : file_at(dirfd, path);
	if (k >= 0 && ret < 0) {
		++*counter(k, EXTRA, OPENS_FAILED);
	} else if (k >= 0) {
		struct file *f = &files[k];
		++*counter(k, POSIX, OPENS);
		if (mode)
			f->c[POSIX][MODE] = mode;
		f->tracked = f->last[0] = f->last[1] = 0;
	}
	if (ret >= 0 && ret < HANDLES)
		fd_file[ret] = k + 1;
	end(kept);
	return ret;
}

void m_forget(int fd)
{
	int kept = begin(), k = file_fd(fd);
	if (k >= 0) {
		files[k].last[0] = files[k].last[1] = 0;
		fd_file[fd] = 0;
	}
	end(kept);
}

void m_at(int fd, off_t at)
{
	int kept = begin(), k = file_fd(fd);
	if (k >= 0)
		files[k].tracked = at;
	end(kept);
}

int m_dup(int old, int ret)
{
	int kept = begin(), k = file_fd(old);
	if (ret >= 0 && ret != old)
		fd_file[ret] = k + 1;
	if (k >= 0 && ret >= 0) {
		++*counter(k, POSIX, OPENS);
		++*counter(k, POSIX, DUPS);
	} else if (k >= 0) {
		++*counter(k, EXTRA, CALLS_FAILED);
	}
	end(kept);
	return ret;
}

static void note_value(struct values *v, int64_t value)
{
	for (int i = 0; i < v->n; i++) {
		if (v->value[i] == value) {
			v->count[i]++;
			return;
		}
	}
	if (v->n < DISTINCT) {
		v->value[v->n] = value;
		v->count[v->n++] = 1;
	}
}

static void note_event(int file, int module, char kind, int64_t off, int64_t len)
{
	if (untraced)
		return;
	if (nevents == event_room) {
		event_room = event_room ? event_room * 2 : 256;
		events = realloc(events, (size_t)event_room * sizeof *events);
		t_must(events != NULL, "memory", __LINE__);
	}
	events[nevents++] =
		(struct event){ file, module, kind, off, len, (uint64_t)pthread_self() };
}

/* what our own rules add: sequences as they are, asynchronous calls, copies */
static void note_own(int k, int w, int64_t off, ssize_t n, enum t_how how)
{
	struct file *f = &files[k];
	if (f->end[w] >= 0 && off >= f->end[w])
		++*counter(k, EXTRA, w ? SEQ_WRITES : SEQ_READS);
	if (f->end[w] >= 0 && off == f->end[w])
		++*counter(k, EXTRA, w ? CONSEC_WRITES : CONSEC_READS);
	f->end[w] = off + n;
	if (how == T_AIO)
		++*counter(k, EXTRA, w ? AIO_WRITES : AIO_READS);
	if (how == T_COPY)
		++*counter(k, EXTRA, w ? COPY_WRITES : COPY_READS);
}

static void note_access(int k, char kind, off_t at, ssize_t n, bool unaligned, enum t_how how)
{
	struct file *f = &files[k];
	int w = kind == 'w', b = 0;
	int64_t off = at >= 0 ? at : f->tracked, *last = &f->last[w];
	note_event(k, POSIX, kind, off, n);
	if (off > *last)
		++*counter(k, POSIX, w ? SEQ_WRITES : SEQ_READS);
	if (off == *last + 1)
		++*counter(k, POSIX, w ? CONSEC_WRITES : CONSEC_READS);
	note_value(&f->stride, off > 0 && off > *last && *last != 0 ? off - *last - 1 : 0);
	note_value(&f->access, n);
	*last = off + n - 1;
	f->tracked = off + n;
	int64_t *max = counter(k, POSIX, w ? MAX_BYTE_WRITTEN : MAX_BYTE_READ);
	if (off + n - 1 > *max)
		*max = off + n - 1;
	*counter(k, POSIX, w ? BYTES_WRITTEN : BYTES_READ) += n;
	++*counter(k, POSIX, w ? WRITES : READS);
	while (b < 9 && n > bucket_top[b])
		b++;
	f->hist[w][b]++;
	*counter(k, POSIX, MEM_NOT_ALIGNED) += unaligned;
	for (int i = 0; i < 8; i++)
		f->not_aligned[i] += off % (512 << i) != 0;
	*counter(k, POSIX, RW_SWITCHES) += f->kind && f->kind != w + 1;
	f->kind = w + 1;
	note_own(k, w, off, n, how);
}

static ssize_t rw(int fd, char kind, off_t off, ssize_t ret, bool unaligned, enum t_how how)
{
	int kept = begin(), k = file_fd(fd);
	if (k >= 0 && ret < 0)
		++*counter(k, EXTRA, kind == 'w' ? WRITES_FAILED : READS_FAILED);
	else if (k >= 0)
		note_access(k, kind, off, ret, unaligned, how);
	end(kept);
	return ret;
}

ssize_t m_rw(int fd, char kind, off_t off, ssize_t ret, const void *mem, enum t_how how)
{
	return rw(fd, kind, off, ret, (uintptr_t)mem % 8 != 0, how);
}

ssize_t m_rwv(int fd, char kind, off_t off, ssize_t ret, const struct iovec *v, int n)
{
	bool unaligned = false;
	for (int i = 0; i < n; i++)
		unaligned |= (uintptr_t)v[i].iov_base % 8 != 0;
	return rw(fd, kind, off, ret, unaligned, T_PLAIN);
}

off_t m_seek(int fd, off_t ret)
{
	int kept = begin(), k = file_fd(fd);
	if (k >= 0 && ret >= 0) {
		++*counter(k, POSIX, SEEKS);
		files[k].tracked = ret;
	} else if (k >= 0) {
		++*counter(k, EXTRA, CALLS_FAILED);
	}
	end(kept);
	return ret;
}

int m_sync(int fd, const char *name, int ret)
{
	int kept = begin(), k = file_fd(fd);
	if (k >= 0)
		++*counter(k, ret < 0 ? EXTRA : POSIX, ret < 0 ? CALLS_FAILED : named(name));
	end(kept);
	return ret;
}

static void note_stat(int k, mode_t mode, int ret)
{
	if (k >= 0 && ret < 0)
		++*counter(k, EXTRA, CALLS_FAILED);
	else if (k >= 0)
		++*counter(k, S_ISREG(mode) ? POSIX : EXTRA, STATS);
}

int m_stat(int dirfd, const char *path, mode_t mode, int ret)
{
	int kept = begin();
	note_stat(ret < 0 ? failed_at(dirfd, path) : file_at(dirfd, path), mode, ret);
	end(kept);
	return ret;
}

int m_fstat(int fd, mode_t mode, int ret)
{
	int kept = begin();
	note_stat(file_fd(fd), mode, ret);
	end(kept);
	return ret;
}

/* the hash of a name that is the id of its record, in a plain form */
static uint64_t name_id(const char *name)
{
	static const struct {
		int x, y, z, shift; /* shift > 0: left */
	} step[12] = { { 0, 1, 2, -43 }, { 1, 2, 0, 9 },   { 2, 0, 1, -8 },  { 0, 1, 2, -38 },
		       { 1, 2, 0, 23 },	 { 2, 0, 1, -5 },  { 0, 1, 2, -35 }, { 1, 2, 0, 49 },
		       { 2, 0, 1, -11 }, { 0, 1, 2, -12 }, { 1, 2, 0, 18 },  { 2, 0, 1, -22 } };
	size_t len = strlen(name), at = 0;
	uint64_t v[3] = { 0, 0, 0x9e3779b97f4a7c13ull };
	for (bool more = true; more;) {
		size_t left = len - at;
		more = left >= 24;
		if (!more)
			v[2] += len;
		for (size_t i = 0; i < (more ? 24 : left); i++) {
			size_t place = i + (!more && i >= 16 ? 1 : 0);
			v[place / 8] += (uint64_t)(unsigned char)name[at + i] << place % 8 * 8;
		}
		at += 24;
		for (int s = 0; s < 12; s++) {
			uint64_t z = v[step[s].z];
			v[step[s].x] -= v[step[s].y] + z;
			v[step[s].x] ^=
				step[s].shift > 0 ? z << step[s].shift : z >> -step[s].shift;
		}
	}
	return v[2];
}

int m_rename(int olddir, const char *from, int newdir, const char *to, int ret)
{
	int kept = begin(), b = ret < 0 ? -1 : file_at(newdir, to);
	int a = ret < 0 ? failed_at(olddir, from) : file_at(olddir, from);
	if (a >= 0)
		++*counter(a, EXTRA, ret < 0 ? CALLS_FAILED : RENAMES);
	if (a >= 0 && b >= 0 && *counter(b, EXTRA, RENAMED_FROM) == 0)
		*counter(b, EXTRA, RENAMED_FROM) = (int64_t)name_id(files[a].path);
	if (ret >= 0 && a >= 0 && files[a].used[POSIX]) {
		++*counter(a, POSIX, RENAME_SOURCES);
		if (b >= 0) {
			++*counter(b, POSIX, RENAME_TARGETS);
			if (!files[b].c[POSIX][RENAMED_FROM])
				files[b].c[POSIX][RENAMED_FROM] = (int64_t)name_id(files[a].path);
		}
	}
	end(kept);
	return ret;
}

static void note_extra(int k, const char *name, int ret)
{
	if (k >= 0)
		++*counter(k, EXTRA, ret < 0 ? CALLS_FAILED : named(name));
}

int m_extra(int dirfd, const char *path, const char *name, int ret)
{
	int kept = begin();
	note_extra(ret < 0 ? failed_at(dirfd, path) : file_at(dirfd, path), name, ret);
	end(kept);
	return ret;
}

int m_fextra(int fd, const char *name, int ret)
{
	int kept = begin();
	note_extra(file_fd(fd), name, ret);
	end(kept);
	return ret;
}

void m_mmap(int fd, size_t len)
{
	int kept = begin(), k = file_fd(fd);
	if (k >= 0) {
		++*counter(k, EXTRA, MMAPS);
		*counter(k, EXTRA, BYTES_MAPPED) += (int64_t)len;
	}
	end(kept);
}

/* ---- streams ------------------------------------------------------------------------------- */

FILE *m_fopen(const char *path, FILE *f)
{
	int kept = begin(), k = f ? file_of(path) : failed_at(AT_FDCWD, path);
	if (k >= 0 && !f) {
		++*counter(k, EXTRA, OPENS_FAILED);
	} else if (k >= 0) {
		++*counter(k, STDIO, OPENS);
		files[k].stdio_at = 0;
		stream_map(f, k);
	}
	end(kept);
	return f;
}

FILE *m_fdopen(int fd, FILE *f)
{
	int kept = begin(), k = file_fd(fd);
	if (k >= 0 && f) {
		++*counter(k, STDIO, OPENS);
		++*counter(k, STDIO, FDOPENS);
		stream_map(f, k);
	}
	end(kept);
	return f;
}

void m_fclose(FILE *f)
{
	int kept = begin(), i = stream_slot(f);
	if (i >= 0)
		streams[i].file = 0;
	end(kept);
}

int m_fileno(FILE *f, int fd)
{
	int kept = begin(), k = file_stream(f);
	if (k >= 0 && fd >= 0) {
		++*counter(k, POSIX, OPENS);
		++*counter(k, POSIX, FILENOS);
		fd_file[fd] = k + 1;
	}
	end(kept);
	return fd;
}

static void stream_access(FILE *f, char kind, long bytes)
{
	int kept = begin(), k = file_stream(f), w = kind == 'w';
	if (k >= 0) {
		struct file *p = &files[k];
		note_event(k, STDIO, kind, p->stdio_at, bytes);
		p->stdio_at += bytes;
		int64_t *max = counter(k, STDIO, w ? MAX_BYTE_WRITTEN : MAX_BYTE_READ);
		if (p->stdio_at - 1 > *max)
			*max = p->stdio_at - 1;
		*counter(k, STDIO, w ? BYTES_WRITTEN : BYTES_READ) += bytes;
		++*counter(k, STDIO, w ? WRITES : READS);
	}
	end(kept);
}

void m_sio(FILE *f, char kind, long bytes)
{
	if (bytes > 0)
		stream_access(f, kind, bytes);
}

void m_empty(FILE *f)
{
	stream_access(f, 'w', 0);
}

int m_sseek(FILE *f, long at, int ret)
{
	int kept = begin(), k = file_stream(f);
	if (k >= 0 && ret >= 0) {
		++*counter(k, STDIO, SEEKS);
		files[k].stdio_at = at;
	} else if (k >= 0) {
		++*counter(k, EXTRA, CALLS_FAILED);
	}
	end(kept);
	return ret;
}

int m_flush(FILE *f, int ret)
{
	int kept = begin(), k = f ? file_stream(f) : -1;
	if (k >= 0)
		++*counter(k, ret < 0 ? EXTRA : STDIO, ret < 0 ? CALLS_FAILED : FLUSHES);
	end(kept);
	return ret;
}

/* ---- said directly --------------------------------------------------------------------------- */

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	int n = vsnprintf(said + said_len, sizeof said - said_len, format, ap);
	va_end(ap);
	t_must(n > 0 && said_len + (size_t)n < sizeof said, "room for what is said", __LINE__);
	said_len += (size_t)n;
}

static int64_t *place(const char *module, const char *path, const char *name)
{
	int k = file_of(path), m = 0;
	while (m < MODULES && strcmp(module_name[m], module) != 0)
		m++;
	t_must(k >= 0 && m < MODULES, "known module and path", __LINE__);
	t_must(named(name) >= 0, name, __LINE__);
	return counter(k, m, named(name));
}

void t_want(const char *module, const char *path, const char *name, int64_t value)
{
	int kept = begin();
	*place(module, path, name) = value;
	end(kept);
}

void t_add(const char *module, const char *path, const char *name, int64_t value)
{
	int kept = begin();
	*place(module, path, name) += value;
	end(kept);
}

void t_any(const char *module, const char *path, const char *name)
{
	int kept = begin();
	say("ANY %d %s %s %s_%s\n", (int)raw(SYS_getpid, 0, 0, 0, 0), module, word(cleaned(path)),
	    module, name);
	end(kept);
}

void t_any_order(const char *path)
{
	static const char *const posix[] = { "SEQ_READS",      "SEQ_WRITES",	  "CONSEC_READS",
					     "CONSEC_WRITES",  "RW_SWITCHES",	  "STRIDE1_STRIDE",
					     "STRIDE2_STRIDE", "STRIDE3_STRIDE",  "STRIDE4_STRIDE",
					     "STRIDE1_COUNT",  "STRIDE2_COUNT",	  "STRIDE3_COUNT",
					     "STRIDE4_COUNT",  "FILE_NOT_ALIGNED" };
	for (size_t i = 0; i < sizeof posix / sizeof *posix; i++)
		t_any("POSIX", path, posix[i]);
	for (int i = 0; i < 4; i++)
		t_any("EXTRA", path, posix[i]);
}

void t_total(const char *module, const char *name, int64_t value)
{
	say("TOTAL %d %s %s_%s %lld\n", (int)raw(SYS_getpid, 0, 0, 0, 0), module, module, name,
	    (long long)value);
}

void t_note(const char *key, const char *value)
{
	say("NOTE %d %s %s\n", (int)raw(SYS_getpid, 0, 0, 0, 0), key, word(value));
}

void t_untraced(void)
{
	untraced = true;
	t_note("untraced", "yes");
}

void t_child(bool knows_descriptors)
{
	int kept[HANDLES / 64] = { 0 };
	char *path[HANDLES / 64] = { 0 };
	for (int fd = 0; fd < HANDLES / 64 && knows_descriptors; fd++) {
		kept[fd] = fd_file[fd];
		if (kept[fd])
			path[fd] = files[kept[fd] - 1].path;
	}
	nfiles = nevents = 0;
	untraced = false;
	said_len = out_len = 0;
	memset(fd_file, 0, sizeof fd_file);
	memset(streams, 0, sizeof streams);
	for (int fd = 0; fd < HANDLES / 64 && knows_descriptors; fd++)
		if (kept[fd])
			fd_file[fd] = file_of(path[fd]) + 1;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void print_top(int pid, const struct file *f, const struct values *v, const char *name)
{
	bool taken[DISTINCT] = { 0 };
	for (int rank = 1; rank <= 4; rank++) {
		int best = -1;
		for (int i = 0; i < v->n; i++)
			if (!taken[i] && v->value[i] != 0 &&
			    (best < 0 || v->count[i] > v->count[best] ||
			     (v->count[i] == v->count[best] && v->value[i] > v->value[best])))
				best = i;
		if (best < 0)
			return;
		taken[best] = true;
		line("TRUTH %d POSIX %s POSIX_%s%d_%s %lld\n", pid, word(f->path), name, rank, name,
		     (long long)v->value[best]);
		line("TRUTH %d POSIX %s POSIX_%s%d_COUNT %lld\n", pid, word(f->path), name, rank,
		     (long long)v->count[best]);
	}
}

static void print_posix(int pid, const struct file *f)
{
	for (int w = 0; w < 2; w++)
		for (int b = 0; b < 10; b++)
			if (f->hist[w][b])
				line("TRUTH %d POSIX %s POSIX_SIZE_%s_%s %lld\n", pid,
				     word(f->path), w ? "WRITE" : "READ", bucket_name[b],
				     (long long)f->hist[w][b]);
	/* which of these counts depends on the block size, which the log says */
	for (int i = 0; i < 8; i++)
		line("TRUTH %d POSIX %s FILE_NOT_ALIGNED@%d %lld\n", pid, word(f->path), 512 << i,
		     (long long)f->not_aligned[i]);
	print_top(pid, f, &f->access, "ACCESS");
	print_top(pid, f, &f->stride, "STRIDE");
}

static void print_file(int pid, const struct file *f)
{
	for (int m = 0; m < MODULES; m++) {
		bool standard = m == STDIO && f->path[0] == '<';
		if (!f->used[m] || (standard && !f->c[STDIO][READS] && !f->c[STDIO][WRITES]))
			continue;
		line("RECORD %d %s %s\n", pid, module_name[m], word(f->path));
		for (int c = 0; c < NAMED; c++)
			if (f->c[m][c])
				line("TRUTH %d %s %s %s_%s %lld\n", pid, module_name[m],
				     word(f->path), module_name[m], counter_name[c],
				     (long long)f->c[m][c]);
		if (m == POSIX)
			print_posix(pid, f);
	}
}

void t_done(void)
{
	const char *to = getenv("TRUTH_FILE");
	int kept = begin(), pid = (int)raw(SYS_getpid, 0, 0, 0, 0);
	if (to)
		out_fd = raw(SYS_openat, AT_FDCWD, (long)to,
			     O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	line("DONE %d\n", pid);
	for (int i = 0; i < nfiles; i++)
		print_file(pid, &files[i]);
	for (int i = 0; i < nevents; i++)
		line("DXT %d %s %s %c %lld %lld %llu\n", pid, module_name[events[i].module],
		     word(files[events[i].file].path), events[i].kind, (long long)events[i].off,
		     (long long)events[i].len, (unsigned long long)events[i].thread);
	if (said_len)
		line("%.*s", (int)said_len, said);
	out_flush();
	if (to)
		raw(SYS_close, out_fd, 0, 0, 0);
	end(kept);
}
