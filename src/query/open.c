/* SPDX-License-Identifier: BSD-3-Clause */
#include "query/open.h"

/* Whoever looks finds those lost of whom nothing is heard any more, also where nobody writes any
 * more who would see to it. A store that may only be read stays as it is. */
static void see_lost(struct rama_store *s, const char *where)
{
	int64_t now = rama_store_now(s);
	struct rama_store *to_write;
	struct rama_err e = { 0 };

	if (rama_store_stale(s, now, &e) != 1 ||
	    rama_store_open(&to_write, where, RAMA_STORE_WRITE, &e) != 0)
		return;
	rama_store_wait(to_write, 500);
	rama_store_reap(to_write, now, &e);
	rama_store_close(to_write);
}

int rama_query_open(struct rama_store **s, const char *where, unsigned flags, struct rama_err *e)
{
	int rc = rama_store_open(s, where, flags, e);

	if (rc == 0)
		see_lost(*s, where);
	return rc;
}
