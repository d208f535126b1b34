/* SPDX-License-Identifier: BSD-3-Clause */
/* limit.c: a phase that ends when its time is over, not when all is done; or, worn out, when
 * every rank has made as many requests as the one that had made most of them by then. */
#include <stdlib.h>
#include <string.h>

#include "emulate/script.h"

bool rama_emu_limit_over(struct rama_emu_limit *l)
{
	double now = rama_now();

	if (l->began == 0)
		l->began = now;
	l->over = l->seconds > 0 && now - l->began >= l->seconds;
	if (l->over)
		l->then = l->done;
	return l->over;
}

bool rama_emu_limit_goes_on(const struct rama_emu_limit *l)
{
	return l->wear_out && l->done < l->most;
}

int rama_emu_limit_agree(void *ctx, struct rama_emu_step *s, struct rama_err *e)
{
	struct rama_emu_limit *l = ctx;
	char *all = NULL;
	size_t *lens = NULL;
	int rc;

	(void)s;
	if (l->agreed)
		return 0;
	l->agreed = true;
	if (!l->over)
		l->then = l->done;
	l->most = l->then;
	rc = rama_emu_team_gather(l->team, &l->then, sizeof(l->then), &all, &lens, e);
	for (int r = 0; rc == 0 && all != NULL && r < l->team->size; r++) {
		uint64_t n;

		memcpy(&n, all + (size_t)r * sizeof(n), sizeof(n));
		l->most = n > l->most ? n : l->most;
	}
	free(all);
	free(lens);
	return rc != 0 ? rc : rama_emu_team_bcast(l->team, &l->most, sizeof(l->most), e);
}
