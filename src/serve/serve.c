/* SPDX-License-Identifier: BSD-3-Clause */
#include "serve/serve.h"

#include <stdlib.h>

#include "serve/inside.h"

int rama_serve_open(struct rama_serve **to, const struct rama_serve_options *o, struct rama_err *e)
{
	struct rama_serve *s = calloc(1, sizeof(*s));
	int rc;

	if (s == NULL)
		return rama_err_no_memory(e);
	s->o = *o;
	pthread_mutex_init(&s->totals_lock, NULL);
	rc = rama_serve_who_init(&s->who, o, e);
	s->here = rama_serve_here_open(o->dir);
	s->loans = rama_serve_loans_open();
	if (s->here == NULL || s->loans == NULL)
		rc = rama_err_no_memory(e);
	if (rc == 0)
		rc = rama_serve_pool_init(&s->pool, s->o.store, s->o.workers, e);
	if (rc == 0)
		rc = rama_serve_http_open(s, e);
	if (rc == 0)
		rc = rama_serve_hub_init(s, e);
	if (rc == 0)
		rc = rama_serve_notices_init(s, e);
	if (rc != 0) {
		rama_serve_close(s);
		return rc;
	}
	*to = s;
	return 0;
}

unsigned rama_serve_port(const struct rama_serve *s)
{
	return rama_serve_http_port(s);
}

/* No more is taken; what is at work is answered, streams end, and only then HTTP itself: it
 * would wait for whoever sleeps. */
void rama_serve_close(struct rama_serve *s)
{
	if (s == NULL)
		return;
	rama_serve_notices_fini(s);
	rama_serve_http_stop(s);
	if (s->pool.where != NULL)
		rama_serve_pool_fini(&s->pool);
	rama_serve_hub_fini(s);
	rama_serve_http_close(s);
	rama_serve_hub_clear(s);
	rama_serve_who_fini(&s->who);
	rama_serve_loans_close(s->loans);
	rama_serve_here_close(s->here);
	pthread_mutex_destroy(&s->totals_lock);
	free(s);
}
