/* SPDX-License-Identifier: BSD-3-Clause */
/* shutdown.c: the phases in their order:
 *   call        who is there, when did the job begin and end     up and down the tree
 *   share       which files does every rank have                 up and down
 *   reduce      their records become one                         up
 *   pack        each rank compresses its own                     nobody speaks
 *   measure     how much is that, where does it go               up and down
 *   write       pieces to the writers, the end to everybody      rows of ranks, then down */
#include "shutdown/shutdown.h"

#include <stdlib.h>

#include "shutdown/rank.h"

int rama_shutdown_shut_no_memory(struct rama_shutdown_shut *s)
{
	return rama_err_set(s->e, RAMA_EMEMORY, "out of memory");
}

int rama_shutdown_shut_send(struct rama_shutdown_shut *s, int64_t to, int tag,
			    const struct rama_shutdown_msg *m)
{
	return s->comm->send(s->comm->ctx, to, tag, m->bytes, m->n);
}

int rama_shutdown_shut_recv(struct rama_shutdown_shut *s, int64_t from, int tag,
			    struct rama_shutdown_got *g, double until)
{
	*g = (struct rama_shutdown_got){ 0 };
	return s->comm->recv(s->comm->ctx, from, tag, &g->bytes, &g->n,
			     until - s->comm->now(s->comm->ctx));
}

/* A writer looks at the file before anybody counts on it. */
static void try_file(struct rama_shutdown_shut *s)
{
	unsigned rows = (int64_t)s->writers > s->count ? (unsigned)s->count : s->writers;
	struct rama_err mine;

	for (unsigned row = 1; row < rows; row++) {
		if (s->count * row / rows != s->index)
			continue;
		s->file_open = s->opt.file.open(s->opt.file.ctx, &s->file, &mine) == 0;
		s->alone = !s->file_open;
	}
}

static double lap(struct rama_shutdown_shut *s, double *since)
{
	double now = s->comm->now(s->comm->ctx), took = now - *since;

	*since = now;
	return took;
}

static int go_through(struct rama_shutdown_shut *s)
{
	double since = s->begin;
	int rc = rama_shutdown_shut_call(s);

	s->result->call = lap(s, &since);
	if (rc != 0)
		return rc;
	try_file(s);
	rama_shutdown_own_shift(s->own, rama_shutdown_shut_offset(s));
	rama_shutdown_shut_heat_measure(s, rama_shutdown_shut_offset(s));
	rc = rama_shutdown_shut_find(s);
	if (rc == 0)
		rc = rama_shutdown_shut_share(s);
	if (rc == 0)
		rc = rama_shutdown_shut_reduce(s);
	s->result->aggregate = lap(s, &since);
	if (rc == 0)
		rc = rama_shutdown_shut_pack(s);
	s->result->compress = lap(s, &since);
	if (rc == 0)
		rc = rama_shutdown_shut_measure(s);
	if (rc == 0)
		rc = rama_shutdown_shut_write(s);
	s->result->store = lap(s, &since);
	return rc;
}

static void clean_up(struct rama_shutdown_shut *s)
{
	for (unsigned i = 0; i < RAMA_TAB_MODULES; i++) {
		free(s->ref[i]);
		rama_shutdown_ids_fini(&s->shared[i]);
	}
	for (unsigned i = 0; i < RAMA_LOG_REGIONS; i++)
		free(s->piece[i].bytes);
	for (unsigned i = 0; i < RAMA_SHUTDOWN_SHUT_LEVELS; i++)
		rama_shutdown_ids_fini(&s->not_theirs[i]);
	rama_shutdown_ids_fini(&s->names);
	rama_shutdown_ids_fini(&s->not_mine);
	free(s->missing.r);
	free(s->out.r);
	free(s->plain);
	if (s->packing)
		rama_log_packer_fini(&s->packer);
	if (s->file_open) /* something went wrong before the end */
		s->opt.file.finish(s->opt.file.ctx, false, NULL);
	free(s);
}

int rama_shutdown(const struct rama_shutdown_comm *comm, struct rama_shutdown_own *own,
		  const struct rama_shutdown_options *opt, struct rama_shutdown_result *result,
		  struct rama_err *e)
{
	struct rama_shutdown_shut *s = calloc(1, sizeof(*s));
	struct rama_err mine;
	int rc;

	*result = (struct rama_shutdown_result){ 0 };
	if (s == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "out of memory");
	s->comm = comm;
	s->own = own;
	s->opt = *opt;
	s->result = result;
	s->e = e != NULL ? e : &mine;
	s->begin = comm->now(comm->ctx);
	if (!(s->opt.limit > 0))
		s->opt.limit = RAMA_SHUTDOWN_LIMIT;
	if (s->opt.writers == 0)
		s->opt.writers = RAMA_SHUTDOWN_WRITERS;
	if (s->opt.writers > RAMA_SHUTDOWN_SHUT_WRITERS)
		s->opt.writers = RAMA_SHUTDOWN_SHUT_WRITERS;
	if (s->opt.level == 0)
		s->opt.level = 6;
	rc = go_through(s);
	result->missing = rama_ranges_count(&s->missing);
	clean_up(s);
	return rc;
}
