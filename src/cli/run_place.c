/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/run_place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/opts.h"

#define TRIES 100

static int make_in(struct rama_job_place *p, struct rama_err *e)
{
	if (mkdir(p->root, 0700) != 0 && errno != EEXIST)
		return rama_err_set(e, RAMA_EIO, "%s: cannot be made: %s", p->root,
				    strerror(errno));
	if (rama_place_check(p->root, e) != 0)
		return rama_err_prefix(e, "%s", p->root);
	for (unsigned i = 0; i < TRIES; i++) {
		int n = snprintf(p->dir, sizeof(p->dir), "%s/run-%ld-%llx", p->root, (long)getpid(),
				 (unsigned long long)time(NULL) + i);

		if (n < 0 || (size_t)n >= sizeof(p->dir))
			return rama_err_set(e, RAMA_EIO, "%s: the path is too long", p->root);
		if (mkdir(p->dir, 0700) == 0) {
			p->job = strrchr(p->dir, '/') + 1;
			p->lock = rama_place_lock(p->dir);
			if (p->lock >= 0)
				return 0;
			break;
		}
		if (errno != EEXIST)
			break;
	}
	return rama_err_set(e, RAMA_EIO, "%s: cannot be made: %s", p->dir, strerror(errno));
}

int rama_place_make(struct rama_job_place *p, struct rama_err *e)
{
	const char *chosen = rama_opts_setting(RAMA_SET_DIR);
	int rc = RAMA_EIO;

	*p = (struct rama_job_place){ .lock = -1 };
	if (*chosen != '\0') {
		char *real = NULL;

		if (mkdir(chosen, 0700) != 0 && errno != EEXIST)
			return rama_err_set(e, RAMA_EIO, "IORAMA_DIR=%s: cannot be made: %s",
					    chosen, strerror(errno));
		if (rama_place_check(chosen, e) != 0)
			return rama_err_prefix(e, "IORAMA_DIR=%s", chosen);
		real = realpath(chosen, NULL); /* the command may change its directory */
		if (real == NULL || strlen(real) >= sizeof(p->root)) {
			free(real);
			return rama_err_set(e, RAMA_EIO, "IORAMA_DIR=%s: the path is too long",
					    chosen);
		}
		memcpy(p->root, real, strlen(real) + 1);
		free(real);
		return make_in(p, e);
	}
	for (unsigned i = 0; rc != 0 && rama_place_candidate(i, p->root, sizeof(p->root)); i++)
		rc = make_in(p, e);
	return rc;
}
