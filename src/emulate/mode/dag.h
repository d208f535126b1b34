/* SPDX-License-Identifier: BSD-3-Clause */
/* dag.h: internal to dag.c and dag_load.c: a workflow that is being run. */
#ifndef RAMA_EMULATE_MODE_DAG_H
#define RAMA_EMULATE_MODE_DAG_H

#include "emulate/emulate.h"

struct rama_emu_dag {
	struct rama_emu_emulation *m;
	const struct rama_emu_graph *graph;
	uint32_t iterations;
	struct rama_emu_unit **units; /* by data */
	bool *made;	      /* by data: input that this run made itself; the same on all ranks */
	uint32_t *turn;	      /* by edge: which of the writers of its unit the task is */
	const char **folders; /* that hold units, outer ones first */
	bool *new_folder;     /* which of them this run made; the same on all ranks */
	uint32_t n_folders;
	size_t room_folders;
	bool entered; /* files may have been made */
};

struct rama_emu_dag_moved {
	uint64_t read, written; /* bytes */
};

/* what one rank does of one task */
struct rama_emu_dag_part {
	uint32_t task, iteration, part, parts;
	const uint32_t *ranks;
};

/* A workflow file of any format. 1: read; 0: it is none, by its first bytes */
int rama_emu_workflow_read(const char *path, struct rama_emu_graph *g, struct rama_err *e);
/* reads the workflow (rank 0 reads the file, all get its bytes), scales it, cuts cycles */
int rama_emu_dag_load(struct rama_emu_dag *d, struct rama_emu_graph *g, struct rama_err *e);
/* with --measured_bytes a unit is moved at most so often: what was measured holds libraries and the
 * like, too */
#define RAMA_EMU_DAG_TIMES 1000
/* relations that this cuts */
uint32_t rama_emu_dag_cuts(const struct rama_emu_dag *d);
/* rank 0: what is worth saying besides the books */
int rama_emu_dag_remarks(struct rama_emu_dag *d, struct rama_err *e);
/* files and folders, input that nobody writes; all ranks together */
int rama_emu_dag_prepare(struct rama_emu_dag *d, struct rama_err *e);
/* After the run, by all ranks. Failed: each removes whatever any of them may have left, when it
 * writes no more itself. */
int rama_emu_dag_clean(struct rama_emu_dag *d, bool failed, struct rama_err *e);

#endif
