/* SPDX-License-Identifier: BSD-3-Clause */
#include "bus/sink/ldms_lib.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define MEMORY (16u << 20) /* that LDMS sets aside for itself */

/* its soname never changes, whatever the version */
static const char *const names[] = { "libldms.so.0", "libldms.so", "libldms.so.4" };
static const char *const stream_names[] = { "libldmsd_stream.so.0", "libldmsd_stream.so" };

/* dlsym gives a pointer to data; functions go through memory */
static bool look_up(void *lib, const char *name, void *function)
{
	void *found = lib != NULL ? dlsym(lib, name) : NULL;

	if (found != NULL)
		memcpy(function, &found, sizeof found);
	return found != NULL;
}

static void *open_one(const char *const *list, size_t n)
{
	void *lib = NULL;

	for (size_t i = 0; i < n && lib == NULL; i++)
		lib = dlopen(list[i], RTLD_NOW | RTLD_GLOBAL);
	return lib;
}

static bool find_stream(struct rama_bus_ldms *l)
{
	if (!look_up(l->handle, "ldmsd_stream_publish", &l->stream)) {
		l->streams = open_one(stream_names, sizeof stream_names / sizeof *stream_names);
		if (!look_up(l->streams, "ldmsd_stream_publish", &l->stream))
			return false;
	}
	l->how = "ldmsd_stream_publish";
	return true;
}

static bool find_message(struct rama_bus_ldms *l)
{
	if (look_up(l->handle, "ldms_msg_publish", &l->message))
		l->how = "ldms_msg_publish";
	else if (look_up(l->handle, "ldms_stream_publish", &l->message))
		l->how = "ldms_stream_publish";
	return l->how != NULL;
}

/* The way to publish that was asked for. If none was: the one that stores of LDMS read, where the
 * library has it, whatever else it has. */
static bool find_publish(struct rama_bus_ldms *l, const char *service)
{
	if (strcmp(service, "msg") == 0)
		return find_message(l);
	return find_stream(l) || (strcmp(service, "auto") == 0 && find_message(l));
}

int rama_bus_ldms_load(struct rama_bus_ldms *l, const char *path, const char *service,
		       unsigned arguments, struct rama_err *e)
{
	void *any;

	memset(l, 0, sizeof *l);
	l->handle = path != NULL ? dlopen(path, RTLD_NOW | RTLD_GLOBAL)
				 : open_one(names, sizeof names / sizeof *names);
	if (l->handle == NULL)
		return rama_err_set(e, RAMA_EIO, "the library of LDMS cannot be loaded: %s",
				    dlerror());
	if (!find_publish(l, service))
		return rama_err_set(
			e, RAMA_EIO,
			"the library of LDMS has no function that publishes (service %s)", service);
	look_up(l->handle, "ldms_init", &l->init);
	look_up(l->handle, "ldms_msg_enable", &l->enable);
	look_up(l->handle, "ldms_xprt_close", &l->close);
	look_up(l->handle, "ldms_xprt_connect_by_name", &l->connect);
	look_up(l->handle, "ldms_xprt_new_with_auth", &l->new3);
	look_up(l->handle, "ldms_xprt_new_with_auth", &l->new4);
	if (l->init == NULL || l->connect == NULL || l->new3 == NULL)
		return rama_err_set(
			e, RAMA_EIO,
			"the library of LDMS lacks ldms_init, ldms_xprt_new_with_auth or "
			"ldms_xprt_connect_by_name");
	l->four = arguments == 4 ||
		  (arguments == 0 && !look_up(l->handle, "ldms_msg_publish", &any) &&
		   !look_up(l->handle, "ldms_stream_publish", &any));
	if (l->init(MEMORY) != 0)
		return rama_err_set(e, RAMA_EIO, "LDMS cannot be started");
	if (l->enable != NULL)
		l->enable();
	return 0;
}

static void no_log(const char *format, ...)
{
	(void)format;
}

void *rama_bus_ldms_connect(const struct rama_bus_ldms *l, const char *xprt, const char *auth,
			    const char *host, const char *port)
{
	void *x = l->four ? l->new4(xprt, no_log, auth, NULL) : l->new3(xprt, auth, NULL);

	if (x != NULL && l->connect(x, host, port, NULL, NULL) != 0) { /* no callback: it waits */
		rama_bus_ldms_close(l, x);
		x = NULL;
	}
	return x;
}

int rama_bus_ldms_publish(const struct rama_bus_ldms *l, void *x, const char *tag, unsigned perm,
			  const char *data, size_t n)
{
	int rc = l->message != NULL
			 ? l->message(x, tag, RAMA_BUS_LDMS_JSON, NULL, perm, data, n + 1)
			 : l->stream(x, tag, RAMA_BUS_LDMS_JSON, data, n + 1);

	return rc < 0 ? -rc : rc;
}

void rama_bus_ldms_close(const struct rama_bus_ldms *l, void *x)
{
	if (x != NULL && l->close != NULL)
		l->close(x);
}
