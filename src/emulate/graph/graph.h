/* SPDX-License-Identifier: BSD-3-Clause */
/* graph.h: a workflow: tasks, data units, who writes and reads what. Pure: bytes in, a graph or
 * an error that names line and place out; nothing here touches files. */
#ifndef RAMA_EMULATE_GRAPH_GRAPH_H
#define RAMA_EMULATE_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/out.h"

#define RAMA_EMU_GRAPH_TASKS 1000000 /* at most; so many data units and ten times so many edges */
#define RAMA_EMU_NONE_YET UINT32_MAX

enum rama_emu_order { RAMA_EMU_SEQUENTIAL, RAMA_EMU_STRIDED, RAMA_EMU_RANDOM };

struct rama_emu_datum {
	const char *id; /* unique */
	/* what its file is called; made safe by who runs it (never absolute, no ..) */
	const char *name;
	int64_t size;	  /* bytes; -1: not said, the run's block x segments hold */
	const char *tier; /* name of a directory of the run ("fast"), or NULL */
	/* words that have no meaning here (TEMP, LAZY_PERSIST), kept for export; or NULL */
	const char *note;
	uint32_t writers, readers; /* edges */
	/* a write of it was cut: whoever reads it gets what the iteration before left */
	bool fed_back;
};

struct rama_emu_task {
	const char *id, *name, *app; /* app: NULL if it belongs to none */
	uint32_t ranks;		     /* processes it uses, at least 1 */
	double seconds; /* compute time (or run time that was measured, see measured) */
	bool measured;	/* seconds hold the I/O too: wfformat's run times */
	double cores;	/* busy while it computes; 1 unless said */
	int64_t read_bytes, written_bytes; /* measured by the workflow system, -1: not */
	uint32_t first_edge, n_edges;	   /* in edges, after rama_emu_graph_finish() */
	uint32_t stage; /* plan files say it; else found: the longest way from a start */
};

/* a task reads or writes a data unit */
struct rama_emu_edge {
	uint32_t task, data;
	bool write, strict;
	bool feedback; /* cut because it closes a cycle: in force from the second iteration on */
	bool whole; /* each rank of the task moves all of it; else it is partitioned among them */
	double fraction; /* of the unit that is read, 0..1 */
	int64_t request; /* bytes of one access; -1: the run's */
	enum rama_emu_order order;
};

/* a task that waits for another without any data between them */
struct rama_emu_after {
	uint32_t before, after;
	bool strict, feedback;
};

struct rama_emu_graph {
	struct rama_arena arena;
	const char *name;
	const char *format; /* it was read from */
	struct rama_emu_datum *data;
	struct rama_emu_task *tasks;
	struct rama_emu_edge *edges;
	struct rama_emu_after *afters;
	uint32_t n_data, n_tasks, n_edges, n_afters;
	uint32_t room_data, room_tasks, room_edges, room_afters;
	struct rama_map data_by_id,
		task_by_id;  /* hash of the id -> index + 1; names compared by who looks up */
	uint32_t iterations; /* what the file says, 1 */
	double makespan;     /* that was measured, 0: not */
	char **warnings;     /* "line 7: TEMP means nothing here" */
	size_t n_warnings;
};

void rama_emu_graph_init(struct rama_emu_graph *g);
void rama_emu_graph_fini(struct rama_emu_graph *g);

/* building; ids are copied. Index, or a negative error */
int64_t rama_emu_graph_task(struct rama_emu_graph *g, const char *id, size_t len,
			    struct rama_err *e);
int64_t rama_emu_graph_datum(struct rama_emu_graph *g, const char *id, size_t len,
			     struct rama_err *e);
int rama_emu_graph_edge(struct rama_emu_graph *g, uint32_t task, uint32_t data, bool write,
			bool strict, struct rama_err *e);
int rama_emu_graph_after(struct rama_emu_graph *g, uint32_t before, uint32_t after, bool strict,
			 struct rama_err *e);
/* -1: none */
int64_t rama_emu_graph_find_task(const struct rama_emu_graph *g, const char *id, size_t len);
int64_t rama_emu_graph_find_datum(const struct rama_emu_graph *g, const char *id,
				  size_t len); /* -1: none */
/* sorts edges by task, counts writers and readers, finds stages; says what is wrong (two tasks
 * of one id, ...) */
int rama_emu_graph_finish(struct rama_emu_graph *g, struct rama_err *e);

/* formats: one row each in format/formats.c {name, looks_like, read, write} */
struct rama_emu_graph_format {
	const char *name, *doc; /* "paper", "plan", "wfformat", "iorama", "dot" */
	bool (*looks_like)(const char *bytes, size_t n); /* NULL: cannot be read */
	int (*read)(struct rama_emu_graph *g, const char *bytes, size_t n, struct rama_err *e);
	int (*write)(const struct rama_emu_graph *g, struct rama_out *out,
		     struct rama_err *e); /* NULL: cannot be written */
};
extern const struct rama_emu_graph_format rama_emu_graph_formats[];
extern const unsigned rama_emu_n_graph_formats;
/* format NULL: found by looking; finishes the graph */
int rama_emu_graph_read(struct rama_emu_graph *g, const char *format, const char *bytes, size_t n,
			struct rama_err *e);

/* cycles: marks non-strict edges as feedback until none is left; a cycle of strict edges is an
 * error whose text names it: "T1 -> D1 -> T2 -> D2 -> T1". No recursion. */
int rama_emu_graph_cut(struct rama_emu_graph *g, struct rama_err *e);
/* After cut. 0 or RAMA_EMEMORY: an order in which tasks can run; order has n_tasks places. */
int rama_emu_graph_order(const struct rama_emu_graph *g, uint32_t *order);
/* sets the stage of tasks that have none: how many tasks must have run before */
int rama_emu_graph_stages(struct rama_emu_graph *g);
/* longest way from the start of each task to an end of the graph, by its seconds */
int rama_emu_graph_ways(const struct rama_emu_graph *g, double *way);
/* the longest way through the graph along what tasks wait for, by the seconds given for each
 * task: number of tasks on it, which are put into `tasks`, first to last; or a negative error */
int64_t rama_emu_graph_critical(const struct rama_emu_graph *g, const double *seconds,
				uint32_t *tasks);

/* who runs next and where. Pure; fed with what happens, fake clock in tests. */
struct rama_emu_schedule; /* schedule.c */
struct rama_emu_placement {
	uint32_t task, iteration;
	uint32_t n_ranks;
	const uint32_t *ranks; /* valid until the next call */
};
/* node[r]: index of the node of rank r */
struct rama_emu_schedule *rama_emu_schedule_new(const struct rama_emu_graph *g, uint32_t n_ranks,
						const uint32_t *node, uint32_t iterations,
						struct rama_err *e);
/* No two tasks that write to the same unit run at a time: files of some formats are opened by
 * all that write to them together, and tasks are not together. */
void rama_emu_schedule_alone(struct rama_emu_schedule *s);
/* the next task that can start now: most bytes of its input written on the node of free ranks,
 * then longest way to the end. false: none can start now */
bool rama_emu_schedule_next(struct rama_emu_schedule *s, struct rama_emu_placement *p);
void rama_emu_schedule_done(struct rama_emu_schedule *s, uint32_t task, uint32_t iteration);
bool rama_emu_schedule_finished(const struct rama_emu_schedule *s);
void rama_emu_schedule_counts(const struct rama_emu_schedule *s, uint64_t *done, uint64_t *running,
			      uint64_t *waiting);
void rama_emu_schedule_free(struct rama_emu_schedule *s);

#endif
