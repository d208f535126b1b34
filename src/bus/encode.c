/* SPDX-License-Identifier: BSD-3-Clause */
/* encode.c: the door of the encoder: which messages become lines, and which events came before. */
#include "bus/encode.h"

#include <stdlib.h>

#include "bus/encode_parts.h"

bool rama_bus_dialect_find(const char *name, enum rama_bus_dialect *d)
{
	static const char *const names[] = { "json", "upstream", "paper" };

	for (unsigned k = 0; k < 3; k++)
		if (strcmp(names[k], name) == 0) {
			*d = k;
			return true;
		}
	return false;
}

int rama_bus_encoder_create(struct rama_bus_encoder **en, const struct rama_bus_encoder_options *o,
			    struct rama_err *e)
{
	struct rama_bus_encoder *n = calloc(1, sizeof(*n));

	*en = NULL;
	if (n == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory to encode events");
	n->opt = *o;
	if (n->opt.segs == 0)
		n->opt.segs = RAMA_BUS_ENC_SEGS;
	n->block = malloc(sizeof(*n->block));
	n->seg = calloc(n->opt.segs, sizeof(*n->seg));
	if (n->block == NULL || n->seg == NULL) {
		rama_bus_encoder_destroy(n);
		return rama_err_set(e, RAMA_EMEMORY, "no memory to encode events");
	}
	*en = n;
	return 0;
}

void rama_bus_encoder_destroy(struct rama_bus_encoder *en)
{
	if (en == NULL)
		return;
	rama_bus_enc_forget_all(en);
	rama_wire_block_packer_fini(&en->packer);
	free(en->block);
	free(en->seg);
	free(en);
}

void rama_bus_encoder_header(const struct rama_bus_encoder *en, struct rama_out *out)
{
	if (!en->opt.csv)
		return;
	if (en->opt.dialect == RAMA_BUS_DIALECT_JSON)
		rama_bus_enc_own_header(en, out);
	else
		rama_bus_enc_connector_header(en, out);
}

static void put_own_events(struct rama_bus_encoder *en, struct rama_bus_enc_process *p,
			   uint32_t from, struct rama_out *out)
{
	const struct rama_wire_block *b = en->block;
	uint64_t lost = rama_bus_enc_lost(p);

	for (uint32_t i = from; i < b->n; i++) {
		struct rama_bus_enc_event x = {
			.p = p, .b = b, .ev = &b->event[i], .seq = b->first + i, .lost = lost
		};

		x.what = &b->what[x.ev->what];
		rama_bus_enc_own_event(en, &x, out);
	}
	en->totals.written += b->n - from;
}

static int put_block(struct rama_bus_encoder *en, const struct rama_wire_message *m,
		     struct rama_out *out, struct rama_err *e)
{
	struct rama_wire_block *b = en->block;
	struct rama_bus_enc_process *p;
	struct rama_bus_enc_lane *lane;
	uint32_t from = 0;
	int rc = rama_wire_block_unpack(&en->packer, b, m->block.bytes, m->block.len, e);

	if (rc < 0)
		return rc;
	if ((p = rama_bus_enc_process_of(en, b)) == NULL ||
	    (lane = rama_bus_enc_lane(p, b->lane)) == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory to encode events");
	if (lane->next > b->first)
		from = lane->next - b->first < b->n ? (uint32_t)(lane->next - b->first) : b->n;
	en->totals.repeated += from;
	if (from == b->n)
		return 0;
	lane->next = b->first + b->n;
	lane->lost = b->lost > lane->lost ? b->lost : lane->lost;
	if (p->msg.rank < 0)
		p->msg.rank = b->rank;
	p->seen += b->n - from;
	en->changes++;
	if (en->opt.dialect == RAMA_BUS_DIALECT_JSON)
		put_own_events(en, p, from, out);
	else
		rc = rama_bus_enc_connector_block(en, p, from, out, e);
	rama_bus_enc_end_if_done(en, p);
	return rc;
}

static int put(struct rama_bus_encoder *en, const struct rama_wire_message *m, struct rama_out *out,
	       struct rama_err *e)
{
	bool lines = en->opt.dialect == RAMA_BUS_DIALECT_JSON && !en->opt.csv;
	int rc;

	switch (m->kind) {
	case RAMA_WIRE_MSG_PROCESS:
		if ((rc = rama_bus_enc_take_process(en, &m->process, e)) >= 0 && lines)
			rama_bus_enc_own_process(en, &m->process, out);
		if (m->process.state != RAMA_WIRE_STATE_RUNNING)
			rama_bus_enc_sweep(en);
		return rc;
	case RAMA_WIRE_MSG_NAMES:
		if (en->n_jobs > 2 * RAMA_BUS_ENC_IDLE)
			rama_bus_enc_sweep(en);
		return rama_bus_enc_take_names(en, &m->names, e);
	case RAMA_WIRE_MSG_BLOCK:
		return put_block(en, m, out, e);
	case RAMA_WIRE_MSG_LOSS:
		if (lines)
			rama_bus_enc_own_loss(en, &m->loss, out);
		return 0;
	default: /* counters, samples and logs are not events */
		return 0;
	}
}

int rama_bus_encoder_put(struct rama_bus_encoder *en, const struct rama_wire_message *m,
			 struct rama_out *out, struct rama_err *e)
{
	int rc;

	en->clock++;
	rc = put(en, m, out, e);
	if (rc >= 0 && out->error < 0)
		rc = rama_err_set(e, out->error, "encoded events cannot be written");
	return rc < 0 ? rc : 0;
}

void rama_bus_encoder_totals(const struct rama_bus_encoder *en, struct rama_bus_encoder_totals *t)
{
	*t = en->totals;
}

uint64_t rama_bus_encoder_changes(const struct rama_bus_encoder *en)
{
	return en->changes;
}
