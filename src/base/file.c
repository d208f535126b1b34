/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_fd(int fd, uint64_t off, void *buf, size_t n, struct rama_err *e)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = pread(fd, (char *)buf + done, n - done, (off_t)(off + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return rama_err_set(e, RAMA_EIO, "cannot read at byte %llu: %s",
					    (unsigned long long)(off + done), strerror(errno));
		if (got == 0)
			return rama_err_set(e, RAMA_ETRUNC, "became shorter while it was read");
		done += (size_t)got;
	}
	return 0;
}

static int read_file(void *ctx, uint64_t off, void *buf, size_t n, struct rama_err *e)
{
	const struct rama_file *f = ctx;
	int fd = f->path == NULL ? f->fd : open(f->path, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return rama_err_set(e, RAMA_EIO, "cannot be opened again: %s", strerror(errno));
	rc = read_fd(fd, off, buf, n, e);
	if (f->path != NULL)
		close(fd);
	return rc;
}

int rama_fd_write(int fd, const void *buf, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t put = write(fd, (const char *)buf + done, n - done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return errno == EPIPE ? RAMA_ESTOPPED : RAMA_EIO;
		done += (size_t)put;
	}
	return 0;
}

static int nameless_file(void)
{
	const char *dir = getenv("TMPDIR");
	FILE *f;
	int fd = open(dir != NULL && *dir != '\0' ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC,
		      0600);

	if (fd >= 0)
		return fd;
	f = tmpfile();
	if (f == NULL)
		return -1;
	fd = fcntl(fileno(f), F_DUPFD_CLOEXEC, 3);
	fclose(f);
	return fd;
}

static int copy_all(int from, int to)
{
	char buf[64 << 10];
	ssize_t got;

	while ((got = read(from, buf, sizeof(buf))) != 0) {
		int rc = got > 0	  ? rama_fd_write(to, buf, (size_t)got)
			 : errno == EINTR ? 0
					  : RAMA_EIO;

		if (rc != 0)
			return rc;
	}
	return 0;
}

/* what cannot be read at offsets is copied first */
static int make_seekable(int fd, struct rama_err *e)
{
	int temp;

	if (lseek(fd, 0, SEEK_CUR) == 0)
		return fd;
	temp = nameless_file();
	if (temp < 0 || copy_all(fd, temp) != 0) {
		rama_err_set(e, RAMA_EIO, "cannot be copied to a temporary file: %s",
			     strerror(errno));
		if (temp >= 0)
			close(temp);
		temp = -1;
	}
	close(fd);
	return temp;
}

int rama_file_open(struct rama_file *f, const char *path, struct rama_err *e)
{
	struct stat st;

	*f = (struct rama_file){ .fd = -1 };
	f->fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
				       : open(path, O_RDONLY | O_CLOEXEC);
	if (f->fd < 0)
		return rama_err_set(e, errno == ENOENT ? RAMA_EMISSING : RAMA_EIO,
				    "cannot be opened: %s", strerror(errno));
	if (fstat(f->fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(f->fd);
		f->fd = -1;
		return rama_err_set(e, RAMA_EFORMAT, "is a directory");
	}
	f->fd = make_seekable(f->fd, e);
	if (f->fd < 0)
		return e != NULL ? e->code : RAMA_EIO;
	if (fstat(f->fd, &st) != 0) {
		rama_err_set(e, RAMA_EIO, "cannot be examined: %s", strerror(errno));
		rama_file_close(f);
		return RAMA_EIO;
	}
	f->src = (struct rama_source){ .size = (uint64_t)st.st_size, .read = read_file, .ctx = f };
	return 0;
}

void rama_file_close(struct rama_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

void rama_file_park(struct rama_file *f, const char *path)
{
	rama_file_close(f);
	f->path = path;
}

/* A new file beside its later place. Not mkstemp(): that makes files nobody else may read, and the
 * mode that others get cannot be asked for without changing it for the whole process. */
static int open_beside(char *temp, size_t n, const char *path)
{
	unsigned number = 0;

	for (unsigned tries = 0; tries < 100; tries++) {
		int fd;

		if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != (ssize_t)sizeof(number))
			number = (unsigned)getpid() * 100 + tries;
		snprintf(temp, n, "%s.%08x", path, number);
		fd = open(temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

int rama_newfile_open(struct rama_newfile *f, const char *path, struct rama_err *e)
{
	size_t n = strlen(path) + sizeof(".12345678");
	struct stat st;

	*f = (struct rama_newfile){ .fd = -1 };
	f->copy = strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode));
	if (f->copy) {
		f->path = strcmp(path, "-") == 0 ? NULL : strdup(path);
		f->fd = nameless_file();
		return f->fd >= 0 ? 0
				  : rama_err_set(e, RAMA_EIO, "no temporary file: %s",
						 strerror(errno));
	}
	f->path = strdup(path);
	f->temp = malloc(n);
	if (f->path == NULL || f->temp == NULL)
		return rama_err_no_memory(e);
	f->fd = open_beside(f->temp, n, path);
	if (f->fd < 0) {
		rama_err_set(e, RAMA_EIO, "cannot be written: %s", strerror(errno));
		free(f->temp);
		f->temp = NULL;
		rama_newfile_abort(f);
		return RAMA_EIO;
	}
	return 0;
}

int rama_newfile_write(struct rama_newfile *f, uint64_t off, const void *buf, size_t n,
		       struct rama_err *e)
{
	for (size_t done = 0; done < n;) {
		ssize_t put =
			pwrite(f->fd, (const char *)buf + done, n - done, (off_t)(off + done));

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return rama_err_set(e, RAMA_EIO, "cannot be written: %s", strerror(errno));
		done += (size_t)put;
	}
	return 0;
}

static void sync_directory(const char *path)
{
	char *copy = strdup(path);
	int fd = copy != NULL ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		(void)fsync(fd); /* some file systems refuse; the file itself is safe */
		close(fd);
	}
	free(copy);
}

/* what cannot be renamed into place: standard output, pipes, devices */
static int copy_out(struct rama_newfile *f, struct rama_err *e)
{
	int to = f->path == NULL ? STDOUT_FILENO : open(f->path, O_WRONLY | O_CLOEXEC);
	int rc = to < 0 || lseek(f->fd, 0, SEEK_SET) != 0 ? RAMA_EIO : copy_all(f->fd, to);

	if (rc != 0)
		rama_err_set(e, rc, "cannot be written: %s", strerror(errno));
	if (f->path != NULL && to >= 0)
		close(to);
	if (rc == 0)
		rama_newfile_abort(f);
	return rc;
}

int rama_newfile_commit(struct rama_newfile *f, struct rama_err *e)
{
	if (f->copy)
		return copy_out(f, e);
	if (fsync(f->fd) != 0 || rename(f->temp, f->path) != 0)
		return rama_err_set(e, RAMA_EIO, "cannot be written: %s", strerror(errno));
	free(f->temp);
	f->temp = NULL;
	sync_directory(f->path);
	rama_newfile_abort(f);
	return 0;
}

void rama_newfile_abort(struct rama_newfile *f)
{
	if (f->fd >= 0)
		close(f->fd);
	if (f->temp != NULL)
		unlink(f->temp);
	free(f->path);
	free(f->temp);
	*f = (struct rama_newfile){ .fd = -1 };
}

int rama_file_to_stdout(void *ctx, const char *bytes, size_t n)
{
	(void)ctx;
	return rama_fd_write(STDOUT_FILENO, bytes, n);
}
