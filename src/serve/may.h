/* SPDX-License-Identifier: BSD-3-Clause */
/* may.h: who sees what. Every answer about jobs goes through here. */
#ifndef RAMA_SERVE_MAY_H
#define RAMA_SERVE_MAY_H

#include "query/jobs.h"
#include "query/sums.h"
#include "serve/serve.h"

enum rama_serve_role {
#define ROLE(name, ...) RAMA_SERVE_ROLE_##name,
#include "serve/roles.def"
#undef ROLE
	RAMA_SERVE_ROLES
};

struct rama_serve_role_info {
	const char *name;
	bool sums, own, project, all;
};
extern const struct rama_serve_role_info rama_serve_role_info[RAMA_SERVE_ROLES];

#define RAMA_SERVE_NAME 128 /* bytes of a name, with NUL */

struct rama_serve_viewer {
	char name[RAMA_SERVE_NAME]; /* "": nobody has said */
	enum rama_serve_role role;
	/* whose jobs it sees, itself among them; memory of its own */
	char **user;
	size_t n, room;
};

/* Who this is, by the groups of this machine and what the site has said. Name NULL: nobody.
 * master: whoever has the token of the store itself. */
int rama_serve_viewer_init(struct rama_serve_viewer *v, const struct rama_serve_options *site,
			   const char *name, bool master);
void rama_serve_viewer_fini(struct rama_serve_viewer *v);

/* the one question */
bool rama_serve_may_see(const struct rama_serve_viewer *v, const char *owner);
/* 1: it sees the job, 0: it does not, or there is none, which is the same */
int rama_serve_may_job(const struct rama_serve_viewer *v, struct rama_store *s, int64_t job,
		       struct rama_err *e);
/* the same for lists and sums */
int rama_serve_may_list(const struct rama_serve_viewer *v, struct rama_query_jobs *q,
			struct rama_err *e);
struct rama_query_seen rama_serve_may_sums(const struct rama_serve_viewer *v);

#endif
