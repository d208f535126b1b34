/* SPDX-License-Identifier: BSD-3-Clause */
/* without.c: what is said instead of the bus where there is no client of NATS. */
#include "base/without.h"
#include "bus/collect.h"
#include "bus/talk.h"

#ifdef RAMA_WITHOUT_LIBNATS
static int no_nats(struct rama_err *e)
{
	return rama_err_without(e, "NATS (libnats)");
}

static int no_open(struct rama_bus_sink **s, const struct rama_bus_sink_options *o,
		   struct rama_err *e)
{
	(void)s;
	(void)o;
	return no_nats(e);
}

const struct rama_bus_sink_ops rama_bus_sink_nats = { .name = "nats", .open = no_open };

int rama_bus_collect_bus(const struct rama_bus_collect_options *o,
			 struct rama_bus_collect_totals *t, struct rama_err *e)
{
	(void)o;
	(void)t;
	return no_nats(e);
}

/* agents without a bus choose each for its own node */
int rama_bus_talk_open(struct rama_bus_talk **t, const char *sink, const char *about,
		       const struct rama_bus_sink_options *how, struct rama_err *e)
{
	(void)sink;
	(void)about;
	(void)how;
	(void)e;
	*t = NULL;
	return 0;
}

void rama_bus_talk_say(struct rama_bus_talk *t, const unsigned char *bytes, size_t n)
{
	(void)t;
	(void)bytes;
	(void)n;
}

void rama_bus_talk_hear(struct rama_bus_talk *t,
			void (*fn)(void *ctx, const unsigned char *bytes, size_t n), void *ctx)
{
	(void)t;
	(void)fn;
	(void)ctx;
}

void rama_bus_talk_close(struct rama_bus_talk *t)
{
	(void)t;
}
#endif
