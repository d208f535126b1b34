/* SPDX-License-Identifier: BSD-3-Clause */
/* save.c: what an encoder remembers, as bytes, so that one that was killed goes on where
 * it was. Parts, each with its length before it: messages as they came (processes, names),
 * lanes, running counters; a checksum in front of all. */
#include "base/grow.h"
#include "bus/encode/state.h"

#include <stdlib.h>

#include <libdeflate.h>

#include "wire/coding.h"

#define MAGIC 0x434e4549u /* "IENC" */
#define VERSION 1
#define HEAD 12	   /* magic, checksum of what follows it, version */
#define NAMES 1000 /* in one message */

enum part { PART_MESSAGE = 1, PART_LANE, PART_RECORD };

struct saver {
	const struct rama_bus_encoder *en;
	struct rama_wire_bytes *to;
	struct rama_err *e;
};

static int put_bytes(struct saver *s, const void *bytes, size_t n)
{
	struct rama_wire_bytes *to = s->to;

	if (!RAMA_GROW(to->b, to->room, to->n + n))
		return rama_err_set(s->e, RAMA_EMEMORY, "no memory to save an encoder");
	memcpy(to->b + to->n, bytes, n);
	to->n += n;
	return 0;
}

static int put_part(struct saver *s, enum part kind, const void *bytes, size_t n)
{
	unsigned char head[1 + RAMA_WIRE_VARINT_MOST] = { (unsigned char)kind },
			       *end = rama_wire_put_varint(head + 1, n);
	int rc = put_bytes(s, head, (size_t)(end - head));

	return rc < 0 ? rc : put_bytes(s, bytes, n);
}

static int put_message(struct saver *s, const struct rama_wire_message *m)
{
	struct rama_wire_bytes bytes = { 0 };
	int rc = rama_wire_message_encode(m, &bytes, s->e);

	if (rc >= 0)
		rc = put_part(s, PART_MESSAGE, bytes.b, bytes.n);
	rama_wire_bytes_fini(&bytes);
	return rc;
}

static int put_names(struct saver *s, const struct rama_bus_enc_job *j)
{
	struct rama_wire_msg_name name[NAMES];
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_NAMES, .names = { j->key, 0, name } };
	struct rama_map_slot slot;
	size_t at = 0;
	bool more;
	int rc = 0;

	do {
		more = rama_map_next(&j->names, &at, &slot);
		if (more && slot.value != 0) {
			const char *path = (const char *)(uintptr_t)slot.value;

			name[m.names.n++] = (struct rama_wire_msg_name){ slot.key, path,
									 (uint32_t)strlen(path) };
		}
		if (m.names.n == NAMES || (!more && m.names.n > 0)) {
			rc = put_message(s, &m);
			m.names.n = 0;
		}
	} while (more && rc >= 0);
	return rc;
}

static int put_lane(struct saver *s, const struct rama_bus_enc_process *p,
		    const struct rama_bus_enc_lane *l)
{
	unsigned char part[16 + 3 * RAMA_WIRE_VARINT_MOST], *at = part + 16;

	memcpy(part, p->msg.segment.b, 16);
	at = rama_wire_put_varint(at, l->lane);
	at = rama_wire_put_varint(at, l->next);
	at = rama_wire_put_varint(at, l->lost);
	return put_part(s, PART_LANE, part, (size_t)(at - part));
}

static int put_record(struct saver *s, const struct rama_bus_enc_process *p,
		      const struct rama_bus_enc_record *r)
{
	unsigned char
		part[18 + (5 + RAMA_BUS_ENC_CLASS_CLASSES + RAMA_TAB_OPS) * RAMA_WIRE_VARINT_MOST],
		*at = part + 18;

	memcpy(part, p->msg.segment.b, 16);
	part[16] = r->layer;
	part[17] = r->last;
	at = rama_wire_put_varint(at, r->id);
	at = rama_wire_put_varint(at, (uint64_t)r->max_read);
	at = rama_wire_put_varint(at, (uint64_t)r->max_written);
	at = rama_wire_put_varint(at, r->switches);
	at = rama_wire_put_varint(at, r->flushes);
	for (unsigned k = 0; k < RAMA_BUS_ENC_CLASS_CLASSES; k++)
		at = rama_wire_put_varint(at, r->ns[k]);
	for (unsigned k = 0; k < RAMA_TAB_OPS; k++)
		at = rama_wire_put_varint(at, r->count[k]);
	return put_part(s, PART_RECORD, part, (size_t)(at - part));
}

static int put_process(struct saver *s, const struct rama_bus_enc_process *p)
{
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_PROCESS, .process = p->msg };
	unsigned char seen[RAMA_WIRE_VARINT_MOST];
	int rc;

	m.process.job = p->job->key;
	if ((rc = put_message(s, &m)) < 0 ||
	    (rc = put_bytes(s, seen,
			    (size_t)(rama_wire_put_varint(seen, p->seen << 1 | p->told) - seen))) <
		    0)
		return rc;
	for (uint32_t i = 0; i < p->n_lanes && rc >= 0; i++)
		rc = put_lane(s, p, &p->lane[i]);
	for (uint32_t i = 0; i < p->n_records && rc >= 0; i++)
		rc = put_record(s, p, &p->record[i]);
	return rc;
}

int rama_bus_encoder_save(const struct rama_bus_encoder *en, struct rama_wire_bytes *to,
			  struct rama_err *e)
{
	struct saver s = { en, to, e };
	unsigned char head[HEAD] = { 0 };
	size_t begin = to->n;
	int rc = put_bytes(&s, head, HEAD);

	for (size_t i = 0; i < en->n_processes && rc >= 0; i++)
		rc = put_process(&s, en->process[i]);
	for (size_t i = 0; i < en->n_jobs && rc >= 0; i++)
		rc = put_names(&s, en->job[i]);
	if (rc < 0) {
		to->n = begin;
		return rc;
	}
	rama_wire_store_le(to->b + begin, MAGIC, 4);
	rama_wire_store_le(to->b + begin + 8, VERSION, 4);
	rama_wire_store_le(to->b + begin + 4,
			   libdeflate_crc32(0, to->b + begin + 8, to->n - begin - 8), 4);
	return 0;
}

/* ---- back ------------------------------------------------------------------------------------ */

static int damaged(struct rama_err *e)
{
	return rama_err_set(e, RAMA_ECORRUPT, "the saved state of an encoder is damaged");
}

static int get_message(struct rama_bus_encoder *en, struct rama_wire_reader *r,
		       const unsigned char *bytes, size_t n, struct rama_err *e)
{
	struct rama_bus_enc_process *p;
	struct rama_arena a = { 0 };
	struct rama_wire_message m;
	uint64_t seen;
	int rc = rama_wire_message_decode(&m, bytes, n, &a, e);

	if (rc >= 0 && m.kind == RAMA_WIRE_MSG_NAMES) {
		rc = rama_bus_enc_take_names(en, &m.names, e);
	} else if (rc >= 0 && m.kind == RAMA_WIRE_MSG_PROCESS) {
		seen = rama_wire_get_varint(r);
		if ((rc = rama_bus_enc_take_process(en, &m.process, e)) >= 0 &&
		    (p = rama_bus_enc_process(en, &m.process.segment)) != NULL) {
			p->seen = seen >> 1;
			p->told = (seen & 1) != 0;
		}
	} else if (rc >= 0) {
		rc = damaged(e);
	}
	rama_arena_fini(&a);
	return rc;
}

/* the process that a part begins with */
static struct rama_bus_enc_process *get_owner(struct rama_bus_encoder *en,
					      struct rama_wire_reader *r)
{
	const unsigned char *bytes = rama_wire_get_bytes(r, 16);
	struct rama_wire_segment_key k;

	if (bytes == NULL)
		return NULL;
	memcpy(k.b, bytes, 16);
	return rama_bus_enc_process(en, &k);
}

static int get_lane(struct rama_bus_encoder *en, struct rama_wire_reader *r, struct rama_err *e)
{
	struct rama_bus_enc_process *p = get_owner(en, r);
	uint64_t lane = rama_wire_get_varint(r);
	struct rama_bus_enc_lane *l;

	if (p == NULL || r->bad || lane > UINT32_MAX)
		return damaged(e);
	if ((l = rama_bus_enc_lane(p, (uint32_t)lane)) == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory to load an encoder");
	l->next = rama_wire_get_varint(r);
	l->lost = rama_wire_get_varint(r);
	return 0;
}

static int get_record(struct rama_bus_encoder *en, struct rama_wire_reader *r, struct rama_err *e)
{
	struct rama_bus_enc_process *p = get_owner(en, r);
	uint64_t layer = rama_wire_get_le(r, 1), last = rama_wire_get_le(r, 1),
		 id = rama_wire_get_varint(r);
	struct rama_bus_enc_record *to;

	if (p == NULL || r->bad || layer >= RAMA_BUS_ENC_LAYERS ||
	    last >= RAMA_BUS_ENC_CLASS_CLASSES)
		return damaged(e);
	if ((to = rama_bus_enc_record(p, (enum rama_bus_enc_layer)layer, id)) == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory to load an encoder");
	to->last = (uint8_t)last;
	to->max_read = (int64_t)rama_wire_get_varint(r);
	to->max_written = (int64_t)rama_wire_get_varint(r);
	to->switches = rama_wire_get_varint(r);
	to->flushes = rama_wire_get_varint(r);
	for (unsigned k = 0; k < RAMA_BUS_ENC_CLASS_CLASSES; k++)
		to->ns[k] = rama_wire_get_varint(r);
	for (unsigned k = 0; k < RAMA_TAB_OPS; k++)
		to->count[k] = (uint32_t)rama_wire_get_varint(r);
	return 0;
}

static int get_part(struct rama_bus_encoder *en, struct rama_wire_reader *r, struct rama_err *e)
{
	uint64_t kind = rama_wire_get_le(r, 1), n = rama_wire_get_varint(r);
	const unsigned char *bytes = rama_wire_get_bytes(r, n);
	struct rama_wire_reader part = { bytes, bytes != NULL ? bytes + n : NULL, bytes == NULL };
	int rc;

	if (bytes == NULL)
		return damaged(e);
	if (kind == PART_MESSAGE)
		return get_message(en, r, bytes, n, e);
	if (kind != PART_LANE && kind != PART_RECORD)
		return damaged(e);
	rc = kind == PART_LANE ? get_lane(en, &part, e) : get_record(en, &part, e);
	return rc >= 0 && (part.bad || part.p != part.end) ? damaged(e) : rc;
}

int rama_bus_encoder_load(struct rama_bus_encoder *en, const unsigned char *bytes, size_t n,
			  struct rama_err *e)
{
	struct rama_wire_reader r = { bytes + HEAD, bytes + n, false };
	int rc = 0;

	if (n < HEAD || rama_wire_load_le(bytes, 4) != MAGIC)
		return damaged(e);
	if (rama_wire_load_le(bytes + 8, 4) != VERSION)
		return rama_err_set(
			e, RAMA_EVERSION,
			"the saved state of an encoder has a version that is not known");
	if (rama_wire_load_le(bytes + 4, 4) != libdeflate_crc32(0, bytes + 8, n - 8))
		return damaged(e);
	rama_bus_enc_forget_all(en);
	while (rc >= 0 && !r.bad && r.p < r.end)
		rc = get_part(en, &r, e);
	if (rc >= 0 && r.bad)
		rc = damaged(e);
	if (rc < 0)
		rama_bus_enc_forget_all(en);
	return rc;
}
