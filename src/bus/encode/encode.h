/* SPDX-License-Identifier: BSD-3-Clause */
/* encode.h: messages of an agent become text: lines of JSON, or of CSV. Our own dialect has
 * everything; those of the connector (docs/format/connector.md) are for readers that know it.
 * Fed with messages in the order of a lane; remembers what later messages refer to (processes,
 * names, running counters) until their processes have ended. */
#ifndef RAMA_BUS_ENCODE_ENCODE_H
#define RAMA_BUS_ENCODE_ENCODE_H

#include "base/out.h"
#include "wire/message.h"

enum rama_bus_dialect {
	RAMA_BUS_DIALECT_JSON,	   /* our own */
	RAMA_BUS_DIALECT_UPSTREAM, /* what the connector sends today, and "seq" and "lost" */
	RAMA_BUS_DIALECT_PAPER	   /* what the paper shows */
};
/* "json", "upstream", "paper"; false: not known */
bool rama_bus_dialect_find(const char *name, enum rama_bus_dialect *d);

struct rama_bus_encoder_options {
	enum rama_bus_dialect dialect;
	bool csv;
	/* calls, too, that the connector does not know; our own dialect has them always */
	bool all;
	unsigned segs; /* accesses in one message of the connector, at most; 0: 100 */
};

struct rama_bus_encoder_totals {
	uint64_t written;  /* events that are in the text */
	uint64_t left_out; /* the dialect has no word for them */
	uint64_t repeated; /* events that came before */
	uint64_t lines;
};

struct rama_bus_encoder;
int rama_bus_encoder_create(struct rama_bus_encoder **en, const struct rama_bus_encoder_options *o,
			    struct rama_err *e);
void rama_bus_encoder_destroy(struct rama_bus_encoder *en);

/* What a file begins with: the line of column names of CSV; nothing else has one. */
void rama_bus_encoder_header(const struct rama_bus_encoder *en, struct rama_out *out);
/* One message, appended as lines, each complete and ended by '\n'. In JSON a line has no other
 * '\n' and is one message; in CSV a text in quotes may have some. RAMA_ECORRUPT, RAMA_EVERSION:
 * a damaged block, nothing was written, go on with the next one. */
int rama_bus_encoder_put(struct rama_bus_encoder *en, const struct rama_wire_message *m,
			 struct rama_out *out, struct rama_err *e);
void rama_bus_encoder_totals(const struct rama_bus_encoder *en, struct rama_bus_encoder_totals *t);

/* All that it remembers, as bytes appended to *to, and back into an encoder that has just been
 * made. A load that fails leaves it empty. */
int rama_bus_encoder_save(const struct rama_bus_encoder *en, struct rama_wire_bytes *to,
			  struct rama_err *e);
int rama_bus_encoder_load(struct rama_bus_encoder *en, const unsigned char *bytes, size_t n,
			  struct rama_err *e);

#endif
