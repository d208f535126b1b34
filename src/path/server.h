/* SPDX-License-Identifier: BSD-3-Clause */
/* server.h: what calls became below the file system: requests, and servers one by one. */
#ifndef RAMA_PATH_SERVER_H
#define RAMA_PATH_SERVER_H

#include "path/path.h"

/* what is below one call, or (RAMA_PATH_NONE) below all */
struct rama_path_below {
	/* FUSE calls that move bytes, CLIENT calls, DISK calls */
	uint64_t requests, rpcs, disks;
	uint64_t later, ahead; /* requests and RPCs that were not waited for */
	int64_t bytes;	       /* of requests */
};
void rama_path_below(const struct rama_path *p, size_t call, struct rama_path_below *to);

/* One server, as clients name it. Times are ns, added over its requests but for `busy`. */
struct rama_path_server {
	const char *name;  /* "NAME host:port" */
	const char *host;  /* of its process; "": nothing of it is recorded */
	uint64_t requests; /* RPCs */
	uint64_t seen;	   /* of them such with the server's own record */
	uint64_t disks;	   /* accesses to its disk */
	uint64_t shared;   /* requests of the kernel that other servers had a part in, too ... */
	uint64_t last;	   /* ... and that waited for this one last */
	int64_t bytes;
	int64_t busy;	 /* at least one request was under way */
	int64_t time;	 /* from request to answer */
	int64_t longest; /* of one */
	int64_t known;	 /* `time` of those with the server's own record */
	int64_t inside;	 /* of these: in the server; the rest is the way there and back */
	int64_t disk;	 /* of this: in reads and writes; the rest is its queue */
	int64_t behind;	 /* how much longer requests took than those at the other servers */
	uint64_t load;	 /* requests of others, whoever they are ... */
	int64_t load_bytes, load_time;
};

struct rama_path_servers {
	struct rama_path_server *server; /* by name */
	size_t n, room;
};
/* of one call and all below it, or (RAMA_PATH_NONE) of the job; RAMA_EMEMORY; fini in any case */
int rama_path_servers(const struct rama_path *p, size_t call, struct rama_path_servers *to);
void rama_path_servers_fini(struct rama_path_servers *s);

/* The call of the application that a call was made for: itself, or what is above; the server that
 * it went to ("": none). */
size_t rama_path_made_for(const struct rama_path *p, size_t call);
const char *rama_path_server_of(const struct rama_path *p, size_t call);
/* the first word of a server's name */
size_t rama_path_server_len(const char *name);

/* How a request of the kernel waited for servers: the last answer, the last of another server
 * (before it; the request's start if there is none). */
struct rama_path_race {
	size_t last; /* the CLIENT call; RAMA_PATH_NONE: it went to none */
	int64_t end, other;
	unsigned servers;
};
void rama_path_race(const struct rama_path *p, size_t request, struct rama_path_race *to);

#endif
