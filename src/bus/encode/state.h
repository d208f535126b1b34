/* SPDX-License-Identifier: BSD-3-Clause */
/* state.h: what the files of the encoder share. */
#ifndef RAMA_BUS_ENCODE_STATE_H
#define RAMA_BUS_ENCODE_STATE_H

#include "base/map.h"
#include "bus/encode/encode.h"
#include "table/fn.h"

#define RAMA_BUS_ENC_SEGS 100
#define RAMA_BUS_ENC_ENDED 1024 /* processes that ended and are still known */
#define RAMA_BUS_ENC_IDLE 256	/* jobs without running processes that are still known */
#define RAMA_BUS_ENC_IDLE_BYTES (16u << 20) /* of their names */

/* layers that keep running counters apart; the last is for names that are none of them. The
 * numbers are in what encoders save, so the order, which is not that of table/layers.def, stays. */
#define RAMA_BUS_ENC_LAYER_LIST(LAYER) \
	LAYER(POSIX) LAYER(STDIO) LAYER(MPIIO) LAYER(H5F) LAYER(H5D) LAYER(PNETCDF)
enum rama_bus_enc_layer {
#define LAYER(name) RAMA_BUS_ENC_##name,
	RAMA_BUS_ENC_LAYER_LIST(LAYER) RAMA_BUS_ENC_OTHER,
#undef LAYER
	RAMA_BUS_ENC_LAYERS
};

enum rama_bus_enc_class {
	RAMA_BUS_ENC_CLASS_META,
	RAMA_BUS_ENC_CLASS_READ,
	RAMA_BUS_ENC_CLASS_WRITE,
	RAMA_BUS_ENC_CLASS_CLASSES
};

/* running counters of a record, of one process and layer */
struct rama_bus_enc_record {
	uint64_t id;
	uint8_t layer, last; /* last: class of the last access, RAMA_BUS_ENC_CLASS_META: none yet */
	int64_t max_read, max_written;
	uint64_t switches, flushes;
	uint64_t ns[RAMA_BUS_ENC_CLASS_CLASSES];
	uint32_t count[RAMA_TAB_OPS];
};

struct rama_bus_enc_lane {
	uint32_t lane;
	uint64_t next, lost; /* sequence number of the next new event; events lost so far */
};

struct rama_bus_enc_job {
	char key[RAMA_WIRE_JOB];
	struct rama_map names; /* record -> address of its path */
	struct rama_arena text;
	unsigned running, known; /* processes of it */
	uint64_t touched;	 /* when it was last used, counted in messages */
};

struct rama_bus_enc_process {
	struct rama_wire_msg_process msg; /* texts are owned; job: key in `job` */
	struct rama_bus_enc_job *job;
	bool ended, told;  /* told: a PROCESS message came, it is not made up from blocks */
	uint64_t ended_at; /* counted in messages */
	uint64_t seen;	   /* events */
	struct rama_bus_enc_lane *lane;
	uint32_t n_lanes;
	size_t room_lanes;
	struct rama_bus_enc_record *record;
	uint32_t n_records;
	size_t room_records;
	struct rama_map at[RAMA_BUS_ENC_LAYERS]; /* id -> place in `record` + 1 */
};

struct rama_bus_encoder {
	struct rama_bus_encoder_options opt;
	struct rama_bus_encoder_totals totals;
	struct rama_wire_block_packer packer;
	struct rama_wire_block *block;
	struct rama_bus_enc_process **process;
	size_t n_processes, room_processes, n_ended;
	struct rama_map find; /* first half of a segment's key -> place in `process` + 1 */
	struct rama_bus_enc_job **job;
	size_t n_jobs, room_jobs;
	uint64_t clock;		      /* messages so far */
	struct rama_bus_enc_seg *seg; /* accesses of the message being made */
	unsigned n_segs;
};

/* ---- state.c -------------------------------------------------------------------------- */

/* NULL: no memory */
struct rama_bus_enc_job *rama_bus_enc_job(struct rama_bus_encoder *en, const char *key);
/* the process of a segment, NULL: not known */
struct rama_bus_enc_process *rama_bus_enc_process(struct rama_bus_encoder *en,
						  const struct rama_wire_segment_key *k);
/* the same, made up from a block's head if it is not known; NULL: no memory */
struct rama_bus_enc_process *rama_bus_enc_process_of(struct rama_bus_encoder *en,
						     const struct rama_wire_block *b);
int rama_bus_enc_take_process(struct rama_bus_encoder *en, const struct rama_wire_msg_process *m,
			      struct rama_err *e);
int rama_bus_enc_take_names(struct rama_bus_encoder *en, const struct rama_wire_msg_names *m,
			    struct rama_err *e);
/* NULL: not known */
const char *rama_bus_enc_path(const struct rama_bus_enc_process *p, uint64_t record);
struct rama_bus_enc_lane *rama_bus_enc_lane(struct rama_bus_enc_process *p, uint32_t lane);
struct rama_bus_enc_record *rama_bus_enc_record(struct rama_bus_enc_process *p,
						enum rama_bus_enc_layer layer, uint64_t id);
uint64_t rama_bus_enc_lost(const struct rama_bus_enc_process *p); /* by all lanes */
/* The counters of a process that has ended go as soon as its last event was seen. */
void rama_bus_enc_end_if_done(struct rama_bus_encoder *en, struct rama_bus_enc_process *p);
/* lets go of what nobody needs any more */
void rama_bus_enc_sweep(struct rama_bus_encoder *en);
void rama_bus_enc_forget_all(struct rama_bus_encoder *en);

/* ---- one event on its way -------------------------------------------------------------------- */

struct rama_bus_enc_event {
	struct rama_bus_enc_process *p;
	const struct rama_wire_block *b;
	const struct rama_wire_what *what;
	const struct rama_wire_event *ev;
	uint64_t seq, lost;
	enum rama_bus_enc_layer layer;
	enum rama_tab_opkind op; /* RAMA_TAB_OP_NOTHING: a name that is none of ours */
};

/* connector.c */
struct rama_bus_enc_seg {
	struct rama_wire_event ev;
	uint64_t total;
};
void rama_bus_enc_connector_header(const struct rama_bus_encoder *en, struct rama_out *out);
/* All new events of a block, `from` on. RAMA_EMEMORY or 0. */
int rama_bus_enc_connector_block(struct rama_bus_encoder *en, struct rama_bus_enc_process *p,
				 uint32_t from, struct rama_out *out, struct rama_err *e);

#endif
