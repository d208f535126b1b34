/* SPDX-License-Identifier: BSD-3-Clause */
/* pattern.h: data that can be told apart. A file is a row of cells of 32 bytes, each of which
 * says whose it is: seed of the run, unit, version and offset, and a word made from these. Any
 * range of bytes, aligned or not, can be made and checked by itself; what is found instead of
 * what should be there is named.
 *
 * A cell is four words of 64 bits, in the byte order of the machine; sums and products are
 * modulo 2^64:
 *   who     = mix(unit ^ mix(seed))
 *   version
 *   place   = offset in the file / 32
 *   proof   = (who ^ seed) * 0x9e3779b97f4a7c15 + (version + 1) * 0xc2b2ae3d27d4eb4f + mix(place
 *           + seed)
 * where unit = mix(FNV-1a of the name with 64 bits), mix(x) = y ^ y >> 32 with y = (x ^ x >> 32)
 * * 0xd6e8feb86659fd93. */
#ifndef RAMA_EMULATE_PATTERN_H
#define RAMA_EMULATE_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#define RAMA_EMU_CELL 32

struct rama_emu_pattern {
	uint64_t seed;
	uint64_t unit;	  /* of data: hash of its name */
	uint64_t version; /* of the unit: iteration, checkpoint number */
};

enum rama_emu_flaw {
	RAMA_EMU_FLAW_NONE,
	RAMA_EMU_FLAW_STALE,	 /* an older version of the same place */
	RAMA_EMU_FLAW_MISPLACED, /* of another place of the same unit and version */
	RAMA_EMU_FLAW_FOREIGN,	 /* of another unit or another run */
	RAMA_EMU_FLAW_LOST,	 /* zeros */
	RAMA_EMU_FLAW_TORN,	 /* part of a cell is right, part is not */
	RAMA_EMU_FLAW_GARBAGE,	 /* none of ours */
	RAMA_EMU_FLAWS
};
extern const char *const rama_emu_flaw_name[RAMA_EMU_FLAWS];

struct rama_emu_check_result {
	uint64_t bad[RAMA_EMU_FLAWS]; /* bytes of each kind */
	int64_t first;		      /* offset of the first bad byte, -1: none */
	enum rama_emu_flaw first_kind;
	uint64_t found_version; /* of the first stale one */
	int64_t found_offset;	/* of the first misplaced one */
};

void rama_emu_pattern_fill(const struct rama_emu_pattern *p, void *buf, size_t n, int64_t offset);
/* adds to r (start with all 0 and first = -1); returns 0 if all n bytes are right, else 1 */
int rama_emu_pattern_check(const struct rama_emu_pattern *p, const void *buf, size_t n,
			   int64_t offset, struct rama_emu_check_result *r);
uint64_t rama_emu_pattern_unit(const char *name); /* number of a name */

#endif
