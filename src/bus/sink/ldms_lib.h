/* SPDX-License-Identifier: BSD-3-Clause */
/* ldms_lib.h: the client library of LDMS, found when it is needed. Nothing of it is linked
 * and none of its headers is used: its functions are looked up by name, and which there are
 * tells its version. Handles are passed on untouched. */
#ifndef RAMA_BUS_SINK_LDMS_LIB_H
#define RAMA_BUS_SINK_LDMS_LIB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define RAMA_BUS_LDMS_JSON 1 /* kind of content */

struct rama_bus_ldms {
	void *handle, *streams; /* libraries; streams: the one that has ldmsd_stream_publish */
	const char *how;	/* name of the function that publishes */
	bool four;		/* ldms_xprt_new_with_auth wants a log function too */
	int (*init)(size_t);
	void (*enable)(void);
	void *(*new3)(const char *xprt, const char *auth, void *options);
	void *(*new4)(const char *xprt, void (*log)(const char *, ...), const char *auth,
		      void *options);
	int (*connect)(void *x, const char *host, const char *port, void *callback, void *arg);
	void (*close)(void *x);
	/* ldms_msg_publish, ldms_stream_publish */
	int (*message)(void *x, const char *tag, int type, void *cred, unsigned perm,
		       const char *data, size_t n);
	/* ldmsd_stream_publish */
	int (*stream)(void *x, const char *tag, int type, const char *data, size_t n);
};

/* path: of the library, NULL: it is looked for. service: "msg", "stream" (the old one, which
 * stores of LDMS 4 read), or "auto". arguments: of ldms_xprt_new_with_auth, 3 or 4; 0: as the
 * version has it. */
int rama_bus_ldms_load(struct rama_bus_ldms *l, const char *path, const char *service,
		       unsigned arguments, struct rama_err *e);
/* Connects, and waits for it; NULL: it did not work. */
void *rama_bus_ldms_connect(const struct rama_bus_ldms *l, const char *xprt, const char *auth,
			    const char *host, const char *port);
/* 0, or an errno; data ends with a NUL that is not counted in n */
int rama_bus_ldms_publish(const struct rama_bus_ldms *l, void *x, const char *tag, unsigned perm,
			  const char *data, size_t n);
void rama_bus_ldms_close(const struct rama_bus_ldms *l, void *x);

#endif
