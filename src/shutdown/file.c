/* SPDX-License-Identifier: BSD-3-Clause */
/* file.c: the log of a parallel job as a plain file: under a name of its own until
 * complete. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shutdown/shutdown.h"

#define PARTIAL "_partial"

static int failed(struct rama_err *e, const char *path, const char *what)
{
	return rama_err_set(e, RAMA_EIO, "%s %s: %s", path, what, strerror(errno));
}

static int disk_write(void *ctx, uint64_t off, const void *bytes, size_t n, struct rama_err *e)
{
	struct rama_shutdown_disk *d = ctx;

	for (size_t done = 0; done < n;) {
		ssize_t put =
			pwrite(d->fd, (const char *)bytes + done, n - done, (off_t)(off + done));

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return failed(e, d->partial, "cannot be written");
		done += (size_t)put;
	}
	return 0;
}

/* also a link to nowhere */
static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* As Darshan does: a log never takes the place of another file. */
static int there(struct rama_shutdown_disk *d, struct rama_err *e)
{
	d->in_the_way = true;
	return rama_err_set(e, RAMA_EIO, "%s exists and is left as it is", d->path);
}

/* Where the system cannot do both at once, it is looked for just before. */
static int take_name(struct rama_shutdown_disk *d, struct rama_err *e)
{
	if (renameat2(AT_FDCWD, d->partial, AT_FDCWD, d->path, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno == EEXIST || exists(d->path))
		return there(d, e);
	if ((errno != EINVAL && errno != ENOSYS) || rename(d->partial, d->path) != 0)
		return failed(e, d->path, "cannot be made");
	return 0;
}

static int disk_create(void *ctx, struct rama_shutdown_place *place, struct rama_err *e)
{
	struct rama_shutdown_disk *d = ctx;
	size_t n = strlen(d->path);

	if (n + sizeof(PARTIAL) > sizeof(d->partial))
		return rama_err_set(e, RAMA_ELIMIT, "the path of the log is too long");
	memcpy(d->partial, d->path, n);
	memcpy(d->partial + n, PARTIAL, sizeof(PARTIAL));
	memcpy(place->path, d->partial, n + sizeof(PARTIAL));
	if (exists(d->path))
		return there(d, e);
	if (getrandom(&place->mark, sizeof(place->mark), GRND_NONBLOCK) !=
	    (ssize_t)sizeof(place->mark))
		place->mark = (uint64_t)getpid() << 32 | 1;
	d->fd = open(d->partial, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (d->fd < 0)
		return failed(e, d->partial, "cannot be made");
	d->creator = true;
	return disk_write(d, 0, &place->mark, sizeof(place->mark), e);
}

static int disk_open(void *ctx, const struct rama_shutdown_place *place, struct rama_err *e)
{
	struct rama_shutdown_disk *d = ctx;
	uint64_t mark = 0;

	memcpy(d->partial, place->path, sizeof(d->partial));
	d->fd = open(d->partial, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (d->fd < 0)
		return failed(e, d->partial, "cannot be opened");
	if (pread(d->fd, &mark, sizeof(mark), 0) == (ssize_t)sizeof(mark) && mark == place->mark)
		return 0;
	close(d->fd); /* another one of that name, on a disk of this node */
	d->fd = -1;
	return rama_err_set(e, RAMA_EMISSING, "%s is not the log of rank 0", d->partial);
}

static int disk_finish(void *ctx, bool complete, struct rama_err *e)
{
	struct rama_shutdown_disk *d = ctx;
	int rc = 0;

	if (d->fd < 0)
		return 0;
	if (close(d->fd) != 0)
		rc = failed(e, d->partial, "cannot be closed");
	d->fd = -1;
	if (!d->creator)
		return rc;
	if (rc == 0 && complete)
		rc = take_name(d, e);
	if (rc != 0 || !complete)
		unlink(d->partial);
	return rc;
}

struct rama_shutdown_file rama_shutdown_disk_file(struct rama_shutdown_disk *d, const char *path)
{
	*d = (struct rama_shutdown_disk){ .path = path, .fd = -1 };
	return (struct rama_shutdown_file){ .create = disk_create,
					    .open = disk_open,
					    .write = disk_write,
					    .finish = disk_finish,
					    .ctx = d };
}
