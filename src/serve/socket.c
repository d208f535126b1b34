/* SPDX-License-Identifier: BSD-3-Clause */
/* socket.c: the sockets below HTTP: the one of the file system, and who is at the other end. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "serve/inside.h"

int rama_serve_socket_bind(const char *path, int *to, struct rama_err *e)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct stat st;
	int fd;

	if (strlen(path) >= sizeof(a.sun_path))
		return rama_err_set(e, RAMA_EUSAGE, "%.200s: too long for a socket", path);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return rama_err_set(e, RAMA_EIO, "%s", strerror(errno));
	*to = fd;
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode)) {
		if (connect(fd, (struct sockaddr *)(void *)&a, sizeof(a)) == 0)
			return rama_err_set(e, RAMA_EBUSY, "%s: another one serves there", path);
		unlink(path);
	}
	if (bind(fd, (struct sockaddr *)(void *)&a, sizeof(a)) != 0 || listen(fd, 128) != 0)
		return rama_err_set(e, RAMA_EIO, "%s: %s", path, strerror(errno));
	return 0;
}

void rama_serve_socket_peer(int fd, const struct sockaddr *a, struct rama_serve_peer *p)
{
	struct ucred who;
	socklen_t n = sizeof(who);

	p->uid = (uid_t)-1;
	if (a != NULL && a->sa_family == AF_INET) {
		inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)a)->sin_addr,
			  p->address, sizeof(p->address));
	} else if (a != NULL && a->sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
			  p->address, sizeof(p->address));
	} else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0) {
		p->local = true;
		p->uid = who.uid;
		snprintf(p->address, sizeof(p->address), "uid %lld", (long long)who.uid);
	}
}
