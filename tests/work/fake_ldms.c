// SPDX-License-Identifier: BSD-3-Clause
/* fake_ldms.c: a stand-in for the client library of LDMS: writes what it is given to a file, and
 * can be told to misbehave. One source, several libraries:
 *   -DMSG      4.5: ldms_msg_publish, ldms_xprt_new_with_auth with three arguments
 *   -DSTREAM   4.4: ldms_stream_publish, the same
 *   -DALSO     beside -DMSG: ldmsd_stream_publish, too, as 4.5 has it
 *   -DOLD      4.3 and before: ldmsd_stream_publish, ldms_xprt_new_with_auth with four arguments
 *
 * FAKE_LDMS_OUT    the file: one line "TAG LENGTH PERM TEXT" per message FAKE_LDMS_DO     a file
 * that is looked at in each call; its word says what to do:
 *                  refuse (EAGAIN), full (ENOBUFS), hang, fail (ENOTCONN), large (E2BIG for
 texts over 1,000 bytes), down (no
 *                  connection), often (every third call is refused) */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct transport {
	char name[16], auth[16];
	int connected;
};

static int started, enabled;
static unsigned calls;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int told(const char *word)
{
	const char *path = getenv("FAKE_LDMS_DO");
	FILE *f = path != NULL ? fopen(path, "r") : NULL;
	char text[32] = "";

	if (f != NULL) {
		if (fscanf(f, "%31s", text) != 1)
			text[0] = '\0';
		fclose(f);
	}
	return strcmp(text, word) == 0;
}

static int hang(void)
{
	while (told("hang"))
		usleep(10000);
	return 0;
}

static int write_down(void *x, const char *tag, int type, unsigned perm, const char *data, size_t n)
{
	struct transport *t = x;
	FILE *f;

	if (!started || t == NULL || !t->connected)
		return ENOTCONN;
	if (type != 1 || n == 0 || data[n - 1] != '\0' || strlen(data) != n - 1)
		return EINVAL; /* JSON, with its NUL */
	hang();
	if (told("refuse") || (told("often") && ++calls % 3 == 0))
		return EAGAIN;
	if (told("full"))
		return ENOBUFS;
	if (told("large") && n > 1000)
		return E2BIG;
	if (told("fail") || told("down")) {
		t->connected = 0;
		return ENOTCONN;
	}
	pthread_mutex_lock(&lock);
	f = fopen(getenv("FAKE_LDMS_OUT"), "a");
	if (f != NULL) {
		fprintf(f, "%s %zu %o %s\n", tag, n, perm, data);
		fclose(f);
	}
	pthread_mutex_unlock(&lock);
	return f != NULL ? 0 : EIO;
}

EXPORT int ldms_init(size_t bytes);
EXPORT int ldms_init(size_t bytes)
{
	started = bytes > 0;
	return 0;
}

#ifdef OLD
EXPORT void *ldms_xprt_new_with_auth(const char *name, void (*log)(const char *, ...),
				     const char *auth, void *options);
EXPORT void *ldms_xprt_new_with_auth(const char *name, void (*log)(const char *, ...),
				     const char *auth, void *options)
{
	log("made %s", name);
#else
EXPORT void *ldms_xprt_new_with_auth(const char *name, const char *auth, void *options);
EXPORT void *ldms_xprt_new_with_auth(const char *name, const char *auth, void *options)
{
#endif
	struct transport *t = options == NULL ? calloc(1, sizeof *t) : NULL;

	if (t != NULL) {
		snprintf(t->name, sizeof t->name, "%s", name);
		snprintf(t->auth, sizeof t->auth, "%s", auth);
	}
	return t;
}

EXPORT int ldms_xprt_connect_by_name(void *x, const char *host, const char *port, void *callback,
				     void *arg);
EXPORT int ldms_xprt_connect_by_name(void *x, const char *host, const char *port, void *callback,
				     void *arg)
{
	struct transport *t = x;

	hang();
	if (callback != NULL || arg != NULL || strcmp(host, "daemon") != 0 ||
	    strcmp(port, "411") != 0 || strcmp(t->name, "sock") != 0 ||
	    strcmp(t->auth, "none") != 0 || told("down"))
		return ECONNREFUSED;
	t->connected = 1;
	return 0;
}

EXPORT void ldms_xprt_close(void *x);
EXPORT void ldms_xprt_close(void *x)
{
	free(x);
}

#ifdef MSG
EXPORT void ldms_msg_enable(void);
EXPORT void ldms_msg_enable(void)
{
	enabled = 1;
}

EXPORT int ldms_msg_publish(void *x, const char *tag, int type, void *cred, unsigned perm,
			    const char *data, size_t n);
EXPORT int ldms_msg_publish(void *x, const char *tag, int type, void *cred, unsigned perm,
			    const char *data, size_t n)
{
	return enabled && cred == NULL ? write_down(x, tag, type, perm, data, n) : EPERM;
}
#endif

#ifdef STREAM
EXPORT int ldms_stream_publish(void *x, const char *tag, int type, void *cred, unsigned perm,
			       const char *data, size_t n);
EXPORT int ldms_stream_publish(void *x, const char *tag, int type, void *cred, unsigned perm,
			       const char *data, size_t n)
{
	return cred == NULL && !enabled ? write_down(x, tag, type, perm, data, n) : EPERM;
}
#endif

#if defined OLD || defined ALSO
EXPORT int ldmsd_stream_publish(void *x, const char *tag, int type, const char *data, size_t n);
EXPORT int ldmsd_stream_publish(void *x, const char *tag, int type, const char *data, size_t n)
{
#ifdef OLD
	if (enabled)
		return EPERM;
#endif
	return write_down(x, tag, type, 0, data, n);
}
#endif
