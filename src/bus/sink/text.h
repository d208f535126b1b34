/* SPDX-License-Identifier: BSD-3-Clause */
/* text.h: what sinks that write text remember over the end of an agent: which messages are
 * done, how long the text was then, and what the encoder knows. One small file, replaced as a
 * whole. */
#ifndef RAMA_BUS_SINK_TEXT_H
#define RAMA_BUS_SINK_TEXT_H

#include "bus/encode/encode.h"
#include "bus/sink/sink.h"

struct rama_bus_text_state {
	char agent[64];	 /* whose numbers these are */
	uint64_t number; /* messages up to this one are done */
	uint64_t length; /* bytes of the text, then */
	uint64_t piece;	 /* name that it gets when it is put aside: PATH.<piece> */
};

/* RAMA_EMISSING: there is none; RAMA_ECORRUPT: it is damaged. Then the encoder is empty. */
int rama_bus_text_load(const char *path, struct rama_bus_text_state *st,
		       struct rama_bus_encoder *en, struct rama_err *e);
int rama_bus_text_save(const char *path, const struct rama_bus_text_state *st,
		       const struct rama_bus_encoder *en, struct rama_err *e);
/* Dialect and format as a sink's options say. json: the dialect when none is named. */
int rama_bus_text_options(struct rama_bus_encoder_options *to,
			  const struct rama_bus_sink_options *o,
			  const struct rama_bus_sink_spec *sp, const char *otherwise,
			  struct rama_err *e);

#endif
