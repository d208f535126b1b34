/* SPDX-License-Identifier: BSD-3-Clause */
/* dl.h: internal to dl.c and dl_dataset.c: a data set. */
#ifndef RAMA_EMULATE_MODE_DL_H
#define RAMA_EMULATE_MODE_DL_H

#include "emulate/emulate.h"

struct rama_emu_sample {
	const char *name; /* below input_dir */
	int64_t size;
};

struct rama_emu_dataset {
	struct rama_emu_sample *samples; /* by name: the same on all ranks */
	uint32_t n;
	uint32_t *order; /* of this epoch */
	char *text;	 /* names */
};

/* Makes the files of this rank (make_files), then rank 0 looks what is there and tells all. */
int rama_emu_dataset_make(struct rama_emu_emulation *m, struct rama_err *e);
int rama_emu_dataset_find(struct rama_emu_dataset *d, struct rama_emu_emulation *m,
			  struct rama_err *e);
void rama_emu_dataset_fini(struct rama_emu_dataset *d);
/* an order that depends on seed and epoch only */
void rama_emu_dataset_shuffle(struct rama_emu_dataset *d, uint64_t seed, uint32_t epoch);
/* The sample as a unit, in memory of the arena. Without books of its own: a data set has too
 * many files. */
struct rama_emu_unit *rama_emu_dataset_unit(struct rama_emu_emulation *m, struct rama_arena *arena,
					    const struct rama_emu_sample *s, struct rama_err *e);

#endif
