/* SPDX-License-Identifier: BSD-3-Clause */
/* without.c: what is said instead of the agent where there is no loop for it. */
#include "agent/agent.h"
#include "base/without.h"

#ifdef RAMA_WITHOUT_LIBUV
static int no_loop(struct rama_err *e)
{
	return rama_err_without(e, "the loop of iorama agent (libuv)");
}

int rama_agent_run_lock(const char *spool)
{
	(void)spool;
	return -1;
}

int rama_agent_left_drain(const struct rama_agent_options *o, bool instead, struct rama_err *e)
{
	(void)o;
	(void)instead;
	return no_loop(e);
}

int rama_agent_run(const struct rama_agent_options *o, struct rama_err *e)
{
	(void)o;
	return no_loop(e);
}
#endif
