/* SPDX-License-Identifier: BSD-3-Clause */
/* talk.h: what agents say to each other over a bus: small messages that hold for a moment and are
 * not kept. <from> in the subject is the user whose agent it is, 0 for one of the system, as
 * everywhere (sink/bus.h): agents of a user hear those of the same user. A thread of its own
 * connects and sends, so that a server that does not answer holds nobody up. */
#ifndef RAMA_BUS_TALK_H
#define RAMA_BUS_TALK_H

#include "bus/sink/sink.h"

struct rama_bus_talk;

/* sink: as on the command line; where that is no bus *t is NULL, and that is no error. about: a
 * word; the subject is iorama-<about>.<from>. `how`: agent, tell, ctx; must live as long. */
int rama_bus_talk_open(struct rama_bus_talk **t, const char *sink, const char *about,
		       const struct rama_bus_sink_options *how, struct rama_err *e);
/* To all others; instead of what was not sent yet. While there is no connection it is forgotten. */
void rama_bus_talk_say(struct rama_bus_talk *t, const unsigned char *bytes, size_t n);
/* Calls fn() with each message that came since the last time. */
void rama_bus_talk_hear(struct rama_bus_talk *t,
			void (*fn)(void *ctx, const unsigned char *bytes, size_t n), void *ctx);
void rama_bus_talk_close(struct rama_bus_talk *t); /* NULL is fine */

#endif
