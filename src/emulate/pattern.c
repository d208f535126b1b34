/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulate/pattern.h"

#include <string.h>

const char *const rama_emu_flaw_name[RAMA_EMU_FLAWS] = {
	[RAMA_EMU_FLAW_NONE] = "right",		 [RAMA_EMU_FLAW_STALE] = "stale",
	[RAMA_EMU_FLAW_MISPLACED] = "misplaced", [RAMA_EMU_FLAW_FOREIGN] = "foreign",
	[RAMA_EMU_FLAW_LOST] = "lost",		 [RAMA_EMU_FLAW_TORN] = "torn",
	[RAMA_EMU_FLAW_GARBAGE] = "garbage",
};

/* words of a cell */
enum { WHO, VERSION, PLACE, PROOF, CELL_WORDS };

struct cell {
	uint64_t w[CELL_WORDS];
};
_Static_assert(sizeof(struct cell) == RAMA_EMU_CELL, "a cell has no holes");

static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	return x ^ x >> 32;
}

/* A word that only the three before it and the seed give: garbage does not pass for a cell. */
static uint64_t proof(uint64_t who, uint64_t version, uint64_t place, uint64_t seed)
{
	return (who ^ seed) * 0x9e3779b97f4a7c15u + (version + 1) * 0xc2b2ae3d27d4eb4fu +
	       mix(place + seed);
}

static struct cell cell_at(const struct rama_emu_pattern *p, uint64_t who, uint64_t number)
{
	return (struct cell){ { who, p->version, number,
				proof(who, p->version, number, p->seed) } };
}

static uint64_t who_of(const struct rama_emu_pattern *p)
{
	return mix(p->unit ^ mix(p->seed));
}

uint64_t rama_emu_pattern_unit(const char *name)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *name != '\0'; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3u;
	return mix(h);
}

void rama_emu_pattern_fill(const struct rama_emu_pattern *p, void *buf, size_t n, int64_t offset)
{
	uint64_t number = (uint64_t)offset / RAMA_EMU_CELL, who = who_of(p);
	size_t skip = (uint64_t)offset % RAMA_EMU_CELL;
	char *to = buf;

	if (skip != 0 && n > 0) { /* the first cell is not ours from its start */
		struct cell c = cell_at(p, who, number++);
		size_t part = RAMA_EMU_CELL - skip < n ? RAMA_EMU_CELL - skip : n;

		memcpy(to, (char *)&c + skip, part);
		to += part;
		n -= part;
	}
	for (; n >= RAMA_EMU_CELL; n -= RAMA_EMU_CELL, to += RAMA_EMU_CELL) {
		struct cell c = cell_at(p, who, number++);

		memcpy(to, &c, RAMA_EMU_CELL);
	}
	if (n > 0) {
		struct cell c = cell_at(p, who, number);

		memcpy(to, &c, n);
	}
}

/* ---- checking ------------------------------------------------------------------------------- */

static int all_zero(const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (b[i] != 0)
			return 0;
	return 1;
}

static size_t same_bytes(const char *a, const char *b, size_t n)
{
	size_t same = 0;

	for (size_t i = 0; i < n; i++)
		same += a[i] == b[i];
	return same;
}

/* Whole bytes that equal what should be there by chance are few; half a cell is no chance. */
static enum rama_emu_flaw torn_or_garbage(const char *found, const char *want, size_t n)
{
	size_t half = n / 2;

	if (half >= 8 && (same_bytes(found, want, half) == half ||
			  same_bytes(found + n - half, want + n - half, half) == half))
		return RAMA_EMU_FLAW_TORN;
	return RAMA_EMU_FLAW_GARBAGE;
}

static enum rama_emu_flaw judge_whole(const struct rama_emu_pattern *p, const struct cell *found,
				      const struct cell *want, struct rama_emu_check_result *r)
{
	const uint64_t *f = found->w;

	if (f[PROOF] != proof(f[WHO], f[VERSION], f[PLACE], p->seed))
		return torn_or_garbage((const char *)found, (const char *)want, RAMA_EMU_CELL);
	if (f[WHO] != want->w[WHO])
		return RAMA_EMU_FLAW_FOREIGN;
	if (f[PLACE] != want->w[PLACE]) {
		if (r->bad[RAMA_EMU_FLAW_MISPLACED] == 0)
			r->found_offset = (int64_t)(f[PLACE] * RAMA_EMU_CELL);
		return RAMA_EMU_FLAW_MISPLACED;
	}
	if (r->bad[RAMA_EMU_FLAW_STALE] == 0)
		r->found_version = f[VERSION];
	return RAMA_EMU_FLAW_STALE;
}

static void note(struct rama_emu_check_result *r, enum rama_emu_flaw flaw, size_t n, int64_t offset)
{
	r->bad[flaw] += n;
	if (r->first < 0) {
		r->first = offset;
		r->first_kind = flaw;
	}
}

/* n bytes of the cell from byte `skip` on */
static int check_cell(const struct rama_emu_pattern *p, const struct cell *want, const char *b,
		      size_t skip, size_t n, int64_t offset, struct rama_emu_check_result *r)
{
	struct cell found;
	enum rama_emu_flaw flaw;

	if (memcmp(b, (const char *)want + skip, n) == 0)
		return 0;
	if (all_zero(b, n)) {
		flaw = RAMA_EMU_FLAW_LOST;
	} else if (n == RAMA_EMU_CELL) {
		memcpy(&found, b, RAMA_EMU_CELL);
		flaw = judge_whole(p, &found, want, r);
	} else {
		flaw = torn_or_garbage(b, (const char *)want + skip, n);
	}
	note(r, flaw, n, offset);
	return 1;
}

int rama_emu_pattern_check(const struct rama_emu_pattern *p, const void *buf, size_t n,
			   int64_t offset, struct rama_emu_check_result *r)
{
	uint64_t number = (uint64_t)offset / RAMA_EMU_CELL, who = who_of(p);
	size_t skip = (uint64_t)offset % RAMA_EMU_CELL;
	const char *at = buf;
	int bad = 0;

	while (n > 0) {
		struct cell want = cell_at(p, who, number++);
		size_t part = RAMA_EMU_CELL - skip < n ? RAMA_EMU_CELL - skip : n;

		bad |= check_cell(p, &want, at, skip, part, offset, r);
		at += part;
		offset += (int64_t)part;
		n -= part;
		skip = 0;
	}
	return bad;
}
