/* SPDX-License-Identifier: BSD-3-Clause */
/* tls.c: the certificate and the key of the server, out of files. A key that others can read is
 * none. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/inside.h"

#define MOST (1 << 20) /* bytes of either file */

static int read_all(int fd, size_t n, char **to, const char *path, struct rama_err *e)
{
	char *text = malloc(n + 1);
	size_t have = 0;
	ssize_t got = 1;

	if (text == NULL)
		return rama_err_no_memory(e);
	while (have < n && got > 0) {
		got = read(fd, text + have, n - have);
		have += got > 0 ? (size_t)got : 0;
	}
	text[have] = '\0';
	if (got < 0 || have == 0 || strlen(text) != have) {
		explicit_bzero(text, n);
		free(text);
		return rama_err_set(e, got < 0 ? RAMA_EIO : RAMA_EFORMAT, "%.300s: %s", path,
				    got < 0 ? strerror(errno) : "not a file in PEM form");
	}
	*to = text;
	return 0;
}

/* ours or root's; a key of root's may be for a group, as sites keep them */
static bool is_private(const struct stat *st)
{
	unsigned others = st->st_uid == 0 ? 037 : 077;

	return (st->st_uid == geteuid() || st->st_uid == 0) && (st->st_mode & others) == 0;
}

static int read_file(const char *path, bool key, char **to, struct rama_err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		rc = rama_err_set(e, RAMA_EIO, "%.300s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode) || st.st_size > MOST)
		rc = rama_err_set(e, RAMA_EFORMAT, "%.300s: not a file in PEM form", path);
	else if (key && !is_private(&st))
		rc = rama_err_set(e, RAMA_EUSAGE,
				  "%.300s: others can read or write this key: chmod 600", path);
	else
		rc = read_all(fd, (size_t)st.st_size, to, path, e);
	if (fd >= 0)
		close(fd);
	return rc;
}

int rama_serve_tls_read(struct rama_serve_tls *t, const struct rama_serve_options *o,
			struct rama_err *e)
{
	int rc;

	*t = (struct rama_serve_tls){ .cert = NULL };
	if (o->tls_cert == NULL)
		return 0;
	rc = read_file(o->tls_cert, false, &t->cert, e);
	if (rc == 0)
		rc = read_file(o->tls_key, true, &t->key, e);
	return rc;
}

void rama_serve_tls_fini(struct rama_serve_tls *t)
{
	if (t->key != NULL)
		explicit_bzero(t->key, strlen(t->key));
	free(t->key);
	free(t->cert);
	*t = (struct rama_serve_tls){ .cert = NULL };
}
