/* SPDX-License-Identifier: BSD-3-Clause */
/* plan.c: a number for all that a replay will do and how: two that are the same do the same. */
#include <string.h>

#include "emulate/replay/replay.h"

#define FNV_START UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

static void add(uint64_t *h, uint64_t x)
{
	for (int i = 0; i < 8; i++, x >>= 8)
		*h = (*h ^ (x & 0xff)) * FNV_PRIME;
}

static void add_text(uint64_t *h, const char *text)
{
	for (; *text != '\0'; text++)
		add(h, (unsigned char)*text);
	add(h, 0);
}

static void add_number(uint64_t *h, double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	add(h, bits);
}

static bool syncs(const struct rama_emu_replay_call *c)
{
	return c->deed == RAMA_EMU_DEED_SYNC || c->deed == RAMA_EMU_DEED_DATASYNC;
}

/* What the user says of syncs, unless it comes to the same: never, where there are none. */
static void add_syncs(uint64_t *h, const struct rama_emu_replay *r)
{
	const struct rama_emu_config *c = r->m->cfg;
	bool any = false;

	for (size_t i = 0; i < r->n_calls; i++)
		any |= syncs(&r->calls[i]);
	for (uint32_t i = 0; i < r->n_files; i++)
		any |= r->files[i].group_syncs > 0;
	if (rama_emu_config_given(c, RAMA_EMU_P_fsync))
		add_text(h, rama_emu_config_text(c, RAMA_EMU_P_fsync));
	else
		add_text(h, any ? "job" : "never");
}

static void add_engine(uint64_t *h, const struct rama_emu_replay *r)
{
	const struct rama_emu_config *c = r->m->cfg;
	bool mpi = r->m->opt.engine->needs_mpi, vector;

	for (uint32_t i = 0; i < r->n_files; i++) {
		mpi |= r->files[i].upper != 0;
		add(h, rama_emu_replay_streams(r, &r->files[i]));
	}
	vector = strcmp(r->m->opt.engine->name, "vector") == 0;
	add_text(h, r->m->opt.engine->name);
	add(h, r->m->opt.opt.nonblocking && mpi);
	add(h, vector ? r->m->opt.opt.vector : 0);
	add_text(h, mpi ? r->m->opt.opt.hints : "");
	add(h, (uint64_t)(r->m->opt.verify + 2 * r->m->opt.no_fill + 4 * r->m->opt.cold +
			  8 * r->m->opt.spin));
	add_text(h, rama_emu_config_text(c, RAMA_EMU_P_scratch));
	add_text(h, rama_emu_config_text(c, RAMA_EMU_P_input_dir));
	add(h, r->m->opt.seed);
}

uint64_t rama_emu_replay_print(const struct rama_emu_replay *r)
{
	const struct rama_emu_config *c = r->m->cfg;
	uint64_t h = FNV_START;

	for (size_t i = 0; i < r->n; i++) {
		const struct rama_emu_replay_op *op = &r->ops[i];

		add(&h, (uint64_t)op->file << 32 | (uint32_t)op->rank);
		add(&h, (uint64_t)op->offset);
		add(&h, (uint64_t)op->length << 4 | (uint64_t)op->write << 3 |
				(uint64_t)op->together << 2 | (uint64_t)op->joins << 1 |
				op->leaves);
	}
	for (size_t i = 0; i < r->n_calls; i++)
		if (!syncs(&r->calls[i]) || !rama_emu_config_given(c, RAMA_EMU_P_fsync)) {
			add(&h, (uint64_t)r->calls[i].file << 32 | (uint32_t)r->calls[i].rank);
			add(&h, r->calls[i].deed);
		}
	add_syncs(&h, r);
	add_engine(&h, r);
	add_number(&h, rama_emu_config_flag(c, RAMA_EMU_P_no_think)
			       ? 0
			       : r->m->opt.speed * rama_emu_config_number(c, RAMA_EMU_P_speed));
	return h | 1;
}
