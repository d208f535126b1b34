/* SPDX-License-Identifier: BSD-3-Clause */
/* messages.h: messages for tests of the encoder and the importer. */
#ifndef RAMA_TESTS_LIVE_MESSAGES_H
#define RAMA_TESTS_LIVE_MESSAGES_H

#include "base/out.h"
#include "bus/encode/encode.h"

/* one event of a test; what: "POSIX write pwrite" */
struct step {
	const char *what;
	uint64_t record;
	int64_t off, bytes, start, dur; /* start: ns after START */
	bool failed;
};

#define START 1700000000000000000 /* ns: when processes of tests begin */

/* A process of job 1000/run-17, number `k`: rank k, host node0k, segment full of k. */
struct rama_wire_message a_process(unsigned k, uint32_t state, uint64_t version, uint64_t made);
struct rama_wire_message a_name(uint64_t record, const char *path);
/* Steps as a packed block from sequence number `first` on; valid until the next call. */
struct rama_wire_message a_block(unsigned k, uint32_t lane, uint64_t first, const struct step *s,
				 uint32_t n);
/* the same of any block */
struct rama_wire_message packed(struct rama_wire_block *b);

/* the text that an encoder makes of messages; put() appends, text() ends it with NUL */
struct bench {
	struct rama_bus_encoder *en;
	struct rama_out out;
};
void bench_begin(struct bench *b, enum rama_bus_dialect d, bool csv, bool all);
void bench_put(struct bench *b, struct rama_wire_message m);
const char *bench_text(struct bench *b);
void bench_end(struct bench *b);

#endif
