/* SPDX-License-Identifier: BSD-3-Clause */
/* cr_sets.c: which checkpoints are in a directory. Everything that decides is renamed into
 * place, so that a crash at any moment leaves either the old or the new state. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "emulate/mode/cr.h"

#define MARK                                                  \
	"iorama checkpoint 1\nset %" PRIu64 "\nseed %" PRIu64 \
	"\nwriters %u\nfiles %u\nsize %" PRId64 "\nform %s\nend\n"
#define JOB                                                                     \
	"iorama job 1\nbase %" PRIu64 "\ncrashes %" PRIu64 "\nwritten %" PRIu64 \
	"\nlost %.9g\ncost %.9g\nseconds %.9g\nend\n"

void rama_emu_set_file(const char *dir, uint64_t set, uint32_t rank, uint32_t file,
		       char to[RAMA_EMU_SET_PATH])
{
	snprintf(to, RAMA_EMU_SET_PATH, "%.4200s/ckpt.%" PRIu64 ".%u.%u", dir, set, rank, file);
}

static void mark_path(const char *dir, uint64_t set, char to[RAMA_EMU_SET_PATH])
{
	snprintf(to, RAMA_EMU_SET_PATH, "%.4200s/ckpt.%" PRIu64 ".done", dir, set);
}

static void job_path(const char *dir, char to[RAMA_EMU_SET_PATH])
{
	snprintf(to, RAMA_EMU_SET_PATH, "%.4200s/ckpt.job", dir);
}

/* ---- small files that must be whole or not there -------------------------------------------- */

static int sync_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

	if (fd < 0)
		return -1;
	rc = fsync(fd);
	close(fd);
	return rc;
}

static int write_small(struct rama_emu_own *own, const char *dir, const char *path, int rank,
		       const char *text, struct rama_err *e)
{
	char mine[RAMA_EMU_SET_PATH + 16], part[RAMA_EMU_SET_PATH + 32];
	size_t n = strlen(text);
	int fd, bad;

	snprintf(mine, sizeof(mine), "%s.%d", path, rank);
	rama_emu_own_partial(own, mine, part, sizeof(part));
	fd = rama_emu_own_open(own, part, O_WRONLY | O_CREAT | O_TRUNC);
	if (fd < 0)
		return rama_err_set(e, RAMA_EIO, "%s: %s", part, strerror(errno));
	errno = ENOSPC; /* what a write that was cut short means */
	bad = write(fd, text, n) != (ssize_t)n || fsync(fd) != 0;
	bad |= close(fd) != 0;
	if (bad)
		rama_err_set(e, RAMA_EIO, "%s: %s", path, strerror(errno));
	else if (rama_emu_own_publish(own, part, path, e) != 0)
		bad = 1;
	else if (sync_dir(dir) != 0)
		return rama_err_set(e, RAMA_EIO, "%s: %s", path, strerror(errno));
	if (bad)
		rama_emu_own_drop(own, mine);
	return bad ? RAMA_EIO : 0;
}

static ssize_t read_small(const char *path, char *to, size_t room)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, to, room - 1);
	close(fd);
	to[n > 0 ? n : 0] = '\0';
	return n;
}

/* ---- which sets are there ------------------------------------------------------------------- */

/* the number in ckpt.NUMBER.REST; *rest is what follows it */
static bool set_of(const char *name, uint64_t *set, const char **rest)
{
	char *end;

	if (strncmp(name, "ckpt.", 5) != 0 || name[5] < '0' || name[5] > '9')
		return false;
	errno = 0;
	*set = strtoull(name + 5, &end, 10);
	*rest = end;
	return errno == 0 && end[0] == '.';
}

static bool is_mark(const char *name, uint64_t *set)
{
	const char *rest;

	return set_of(name, set, &rest) && strcmp(rest, ".done") == 0;
}

/* Lines of small files are "word value". Each of these takes one and moves *at behind it; false:
 * that is not what is there. */
static bool take_word(const char **at, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*at, word, n) != 0)
		return false;
	*at += n;
	return true;
}

static bool take_end(const char **at)
{
	return take_word(at, "\n");
}

static bool take_number(const char **at, const char *word, uint64_t most, uint64_t *to)
{
	char *end;

	if (!take_word(at, word) || !take_word(at, " ") || **at < '0' || **at > '9')
		return false;
	errno = 0;
	*to = strtoull(*at, &end, 10);
	*at = end;
	return errno == 0 && *to <= most && take_end(at);
}

static bool take_seconds(const char **at, const char *word, double *to)
{
	char *end;

	if (!take_word(at, word) || !take_word(at, " "))
		return false;
	*to = strtod(*at, &end);
	*at = end;
	return *to >= 0 && take_end(at); /* not a NaN either */
}

bool rama_emu_shape_parse(const char *text, uint64_t set, struct rama_emu_cr_shape *shape)
{
	const char *at = text;
	uint64_t number, writers, files, size;
	size_t n;

	if (!take_word(&at, "iorama checkpoint 1\n") ||
	    !take_number(&at, "set", UINT64_MAX, &number) || number != set ||
	    !take_number(&at, "seed", UINT64_MAX, &shape->seed) ||
	    !take_number(&at, "writers", UINT32_MAX, &writers) || writers == 0 ||
	    !take_number(&at, "files", UINT32_MAX, &files) || files == 0 ||
	    !take_number(&at, "size", INT64_MAX, &size) || !take_word(&at, "form "))
		return false;
	n = strcspn(at, "\n");
	if (n == 0 || n >= sizeof(shape->form))
		return false;
	memset(shape->form, 0, sizeof(shape->form));
	memcpy(shape->form, at, n);
	shape->writers = (uint32_t)writers;
	shape->files = (uint32_t)files;
	shape->size = (int64_t)size;
	return strcmp(at + n, "\nend\n") == 0;
}

void rama_emu_shape_put(const struct rama_emu_cr_shape *shape, uint64_t set, char *to, size_t room)
{
	snprintf(to, room, MARK, set, shape->seed, shape->writers, shape->files, shape->size,
		 shape->form);
}

static bool read_mark(const char *dir, uint64_t set, struct rama_emu_cr_shape *shape)
{
	char path[RAMA_EMU_SET_PATH], text[512];

	mark_path(dir, set, path);
	return read_small(path, text, sizeof(text)) > 0 && rama_emu_shape_parse(text, set, shape);
}

bool rama_emu_set_marked(const char *dir, uint64_t set)
{
	char path[RAMA_EMU_SET_PATH];

	mark_path(dir, set, path);
	return access(path, F_OK) == 0;
}

static DIR *open_sets(const char *dir, int *rc, struct rama_err *e)
{
	DIR *d = opendir(dir);

	*rc = d != NULL || errno == ENOENT
		      ? 0
		      : rama_err_set(e, RAMA_EMISSING, "%s: %s", dir, strerror(errno));
	return d;
}

int rama_emu_sets_next(const char *dir, uint64_t below, uint64_t *set,
		       struct rama_emu_cr_shape *shape, struct rama_err *e)
{
	int rc;
	DIR *d = open_sets(dir, &rc, e);
	struct dirent *at;
	uint64_t n;

	*set = 0;
	while (d != NULL) {
		uint64_t best = 0;

		rewinddir(d);
		while ((at = readdir(d)) != NULL)
			if (is_mark(at->d_name, &n) && n < below && n > best)
				best = n;
		if (best == 0)
			break;
		if (read_mark(dir, best, shape)) {
			*set = best;
			break;
		}
		below = best;
	}
	if (d != NULL)
		closedir(d);
	return rc;
}

bool rama_emu_set_has(const char *dir, uint64_t set, const struct rama_emu_cr_shape *shape,
		      uint32_t writer)
{
	bool plain = strcmp(shape->form, "plain") == 0;
	char path[RAMA_EMU_SET_PATH];
	struct stat st;

	for (uint32_t f = 0; f < shape->files; f++) {
		rama_emu_set_file(dir, set, writer, f, path);
		if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
		    (plain ? st.st_size != shape->size : st.st_size < shape->size))
			return false;
	}
	return true;
}

/* ---- changing them -------------------------------------------------------------------------- */

int rama_emu_set_commit(struct rama_emu_own *own, const char *dir, uint64_t set,
			const struct rama_emu_cr_shape *shape, int rank, struct rama_err *e)
{
	char path[RAMA_EMU_SET_PATH], text[512];

	/* names of the files first: else a power failure could leave the manifest alone */
	if (sync_dir(dir) != 0)
		return rama_err_set(e, RAMA_EIO, "%s: %s", dir, strerror(errno));
	rama_emu_shape_put(shape, set, text, sizeof(text));
	mark_path(dir, set, path);
	return write_small(own, dir, path, rank, text, e);
}

void rama_emu_set_drop(struct rama_emu_own *own, const char *dir, uint64_t set, uint32_t writer,
		       uint32_t files)
{
	char path[RAMA_EMU_SET_PATH];

	for (uint32_t f = 0; f < files; f++) {
		rama_emu_set_file(dir, set, writer, f, path);
		rama_emu_own_remove(own, path);
		rama_emu_own_drop(own, path);
	}
}

/* Calls fn for every file of a set; a name for which it is true is removed, if the file is ours,
 * or (`look`) must be ours. */
static int sweep(struct rama_emu_own *own, const char *dir,
		 bool (*fn)(void *ctx, const char *name, uint64_t set), void *ctx, bool look,
		 struct rama_err *e)
{
	int rc;
	DIR *d = open_sets(dir, &rc, e);
	struct dirent *at;
	const char *rest;
	char path[RAMA_EMU_SET_PATH + 256];
	uint64_t set;

	while (d != NULL && rc == 0 && (at = readdir(d)) != NULL) {
		if (!set_of(at->d_name, &set, &rest) || !fn(ctx, at->d_name, set))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, at->d_name);
		if (look)
			rc = rama_emu_own_check(own, path, e);
		else if (rama_emu_own_remove(own, path) != 0 && errno != EPERM)
			rc = rama_err_set(e, RAMA_EIO, "%s: %s", path, strerror(errno));
	}
	if (d != NULL)
		closedir(d);
	return rc;
}

struct limits {
	const char *dir;
	uint64_t below, spare, newest;
};

static bool old_mark(void *ctx, const char *name, uint64_t set)
{
	const struct limits *l = ctx;
	uint64_t n;

	return set < l->below && set != l->spare && is_mark(name, &n);
}

static bool old_file(void *ctx, const char *name, uint64_t set)
{
	const struct limits *l = ctx;

	(void)name;
	return set < l->below && set != l->spare;
}

int rama_emu_sets_prune(struct rama_emu_own *own, const char *dir, uint64_t keep, uint64_t spare,
			struct rama_err *e)
{
	struct limits l = { .below = UINT64_MAX, .spare = spare };
	struct rama_emu_cr_shape shape;
	int rc = 0;

	for (uint64_t i = 0; rc == 0 && i < keep; i++) {
		uint64_t set;

		rc = rama_emu_sets_next(dir, l.below, &set, &shape, e);
		if (rc != 0 || set == 0)
			return rc; /* there are not so many */
		l.below = set;
	}
	if (rc == 0)
		rc = sweep(own, dir, old_mark, &l, false, e);
	return rc == 0 ? sweep(own, dir, old_file, &l, false, e) : rc;
}

static bool left_over(void *ctx, const char *name, uint64_t set)
{
	const struct limits *l = ctx;
	size_t n = strlen(name);

	return set > l->newest || (n > 5 && strcmp(name + n - 5, ".part") == 0) ||
	       !rama_emu_set_marked(l->dir, set);
}

int rama_emu_sets_tidy(struct rama_emu_own *own, const char *dir, uint64_t newest,
		       struct rama_err *e)
{
	struct limits l = { .dir = dir, .newest = newest };

	return sweep(own, dir, left_over, &l, false, e);
}

static bool is_newer(void *ctx, const char *name, uint64_t set)
{
	const struct limits *l = ctx;

	(void)name;
	return set > l->newest;
}

int rama_emu_sets_check(struct rama_emu_own *own, const char *dir, uint64_t newest,
			struct rama_err *e)
{
	struct limits l = { .dir = dir, .newest = newest };
	char path[RAMA_EMU_SET_PATH];
	int rc = sweep(own, dir, is_newer, &l, true, e);

	job_path(dir, path);
	return rc == 0 ? rama_emu_own_check(own, path, e) : rc;
}

/* ---- the job -------------------------------------------------------------------------------- */

bool rama_emu_cr_job_parse(const char *text, struct rama_emu_cr_job *job)
{
	const char *at = text;

	return take_word(&at, "iorama job 1\n") &&
	       take_number(&at, "base", UINT64_MAX, &job->base) &&
	       take_number(&at, "crashes", UINT64_MAX, &job->crashes) &&
	       take_number(&at, "written", UINT64_MAX, &job->written) &&
	       take_seconds(&at, "lost", &job->lost) && take_seconds(&at, "cost", &job->cost) &&
	       take_seconds(&at, "seconds", &job->seconds) && strcmp(at, "end\n") == 0;
}

bool rama_emu_cr_job_read(const char *dir, struct rama_emu_cr_job *job)
{
	char path[RAMA_EMU_SET_PATH], text[512];

	job_path(dir, path);
	return read_small(path, text, sizeof(text)) > 0 && rama_emu_cr_job_parse(text, job);
}

int rama_emu_cr_job_write(struct rama_emu_own *own, const char *dir,
			  const struct rama_emu_cr_job *job, struct rama_err *e)
{
	char path[RAMA_EMU_SET_PATH], text[512];

	job_path(dir, path);
	snprintf(text, sizeof(text), JOB, job->base, job->crashes, job->written, job->lost,
		 job->cost, job->seconds);
	return write_small(own, dir, path, 0, text, e);
}

void rama_emu_cr_job_end(struct rama_emu_own *own, const char *dir)
{
	char path[RAMA_EMU_SET_PATH];

	job_path(dir, path);
	rama_emu_own_remove(own, path);
}

int rama_emu_cr_lock(const char *dir, double seconds, int *fd, struct rama_err *e)
{
	double until = rama_now() + seconds;
	long pause = 1000000; /* nanoseconds */

	*fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd < 0)
		return rama_err_set(e, RAMA_EMISSING, "%s: %s", dir, strerror(errno));
	while (flock(*fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
		if (rama_now() > until)
			return rama_err_set(
				e, RAMA_EIO,
				"%s: another run writes checkpoints there, after %.3g s still", dir,
				seconds);
		nanosleep(&(struct timespec){ .tv_nsec = pause }, NULL);
		pause = pause < 100000000 ? 2 * pause : pause;
	}
	flock(*fd, LOCK_SH);
	return 0;
}

void rama_emu_cr_join(const char *dir, int *fd)
{
	*fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd >= 0)
		flock(*fd, LOCK_SH);
}

/* ---- copies --------------------------------------------------------------------------------- */
/* Checkpoints go from the fast place to the safe one while the ranks compute. */

#define PIECE (1 << 20)

struct rama_emu_copy {
	pthread_t thread;
	struct rama_emu_copy_order order;
	atomic_bool stop, done;
	double seconds;
	int rc;
	struct rama_err e;
};

static int write_piece(int fd, const char *buf, ssize_t n, const char *name, struct rama_err *e)
{
	while (n > 0) {
		ssize_t w = write(fd, buf, (size_t)n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return rama_err_set(e, RAMA_EIO, "%s: write: %s", name,
					    strerror(w < 0 ? errno : ENOSPC));
		buf += w;
		n -= w;
	}
	return 0;
}

static int copy_bytes(struct rama_emu_copy *c, int in, int out, const char *name, char *buf)
{
	ssize_t n = 1;
	int rc = 0;

	while (rc == 0 && n != 0 && !atomic_load(&c->stop)) {
		n = read(in, buf, PIECE);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return rama_err_set(&c->e, RAMA_EIO, "%s: copying to it: %s", name,
					    strerror(errno));
		rc = write_piece(out, buf, n, name, &c->e);
	}
	if (rc == 0 && fsync(out) != 0)
		rc = rama_err_set(&c->e, RAMA_EIO, "%s: fsync: %s", name, strerror(errno));
	return rc;
}

static int copy_file(struct rama_emu_copy *c, uint32_t writer, uint32_t file, char *buf)
{
	struct rama_emu_own *own = c->order.own;
	char from[RAMA_EMU_SET_PATH], to[RAMA_EMU_SET_PATH], part[RAMA_EMU_SET_PATH + 16];
	int in, out, rc;

	rama_emu_set_file(c->order.from, c->order.set, writer, file, from);
	rama_emu_set_file(c->order.to, c->order.set, writer, file, to);
	rama_emu_own_partial(own, to, part, sizeof(part));
	in = open(from, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	out = in < 0 ? -1 : rama_emu_own_open(own, part, O_WRONLY | O_CREAT | O_TRUNC);
	if (in < 0 || out < 0)
		rc = rama_err_set(&c->e, RAMA_EIO, "%s: open: %s", in < 0 ? from : part,
				  strerror(errno));
	else
		rc = copy_bytes(c, in, out, part, buf);
	if (in >= 0)
		close(in);
	if (out >= 0 && close(out) != 0 && rc == 0)
		rc = rama_err_set(&c->e, RAMA_EIO, "%s: close: %s", part, strerror(errno));
	if (rc == 0 && !atomic_load(&c->stop))
		rc = rama_emu_own_publish(own, part, to, &c->e);
	if (rc != 0)
		rama_emu_own_drop(own, to);
	return rc;
}

static void *work(void *ctx)
{
	struct rama_emu_copy *c = ctx;
	const struct rama_emu_copy_order *o = &c->order;
	double start = rama_now();
	char *buf = malloc(PIECE);

	if (buf == NULL)
		c->rc = rama_err_set(&c->e, RAMA_EMEMORY, "no memory to copy checkpoints");
	for (uint64_t w = o->first; c->rc == 0 && w < o->shape.writers; w += o->step)
		for (uint32_t f = 0; c->rc == 0 && f < o->shape.files && !atomic_load(&c->stop);
		     f++)
			c->rc = copy_file(c, (uint32_t)w, f, buf);
	free(buf);
	c->seconds = rama_now() - start;
	atomic_store(&c->done, true);
	return NULL;
}

struct rama_emu_copy *rama_emu_copy_start(const struct rama_emu_copy_order *order,
					  struct rama_err *e)
{
	struct rama_emu_copy *c = calloc(1, sizeof(*c));

	if (c != NULL)
		c->order = *order;
	if (c == NULL || pthread_create(&c->thread, NULL, work, c) != 0) {
		free(c);
		rama_err_set(e, RAMA_EIO, "no thread to copy checkpoints");
		return NULL;
	}
	return c;
}

bool rama_emu_copy_done(struct rama_emu_copy *c)
{
	return atomic_load(&c->done);
}

int rama_emu_copy_end(struct rama_emu_copy *c, bool give_up, double *seconds, struct rama_err *e)
{
	int rc;

	if (give_up)
		atomic_store(&c->stop, true);
	pthread_join(c->thread, NULL);
	rc = c->rc;
	if (rc != 0 && e != NULL)
		*e = c->e;
	*seconds += c->seconds;
	free(c);
	return rc;
}
