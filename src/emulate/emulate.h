/* SPDX-License-Identifier: BSD-3-Clause */
/* emulate.h: one run: parameters and a team in, a result out. Called by all ranks, whatever
 * started them. */
#ifndef RAMA_EMULATE_EMULATE_H
#define RAMA_EMULATE_EMULATE_H

#include "base/arena.h"
#include "base/out.h"
#include "emulate/config.h"
#include "emulate/graph/graph.h"
#include "emulate/own/own.h"
#include "emulate/script.h"
#include "emulate/team/team.h"
#include "emulate/work.h"

/* what was done with one file, of one rank */
struct rama_emu_file_book {
	struct rama_emu_file_book *next;
	const char *name;
	struct rama_emu_tally tally;
};

/* one run of a task of a workflow, on rank 0's clock; end 0: it did not run */
struct rama_emu_task_run {
	double start, end;
	uint32_t first_rank, ranks;
};

/* one of several runs of the same, on rank 0 */
enum {
	RAMA_EMU_REPEAT_SECONDS,
	RAMA_EMU_REPEAT_READ,
	RAMA_EMU_REPEAT_WRITE,
	RAMA_EMU_REPEAT_VALUES
};
struct rama_emu_repeat {
	double value[RAMA_EMU_REPEAT_VALUES]; /* how long it took, and bytes per second of I/O */
};
struct rama_emu_repeats {
	struct rama_emu_repeat *sample;
	uint32_t n; /* the last one is that of the run that is told */
};

struct rama_emu_emulation {
	const struct rama_emu_config *cfg;
	struct rama_emu_team *team;
	struct rama_arena arena; /* of this run */
	struct rama_emu_run_options opt;
	/* bytes that this rank will move: for how far it is; 0: the mode tells itself */
	uint64_t planned;
	int64_t request; /* bytes of one request where nothing else is said */
	/* shown while it runs, if somebody looks: told by rank 0 */
	void (*progress)(void *ctx, const char *line);
	void *progress_ctx;
	/* what the mode has to say about itself, for the result: set on rank 0 */
	const char **task_names; /* by task index; NULL: there are none */
	uint32_t n_tasks;
	struct rama_emu_graph
		*graph; /* dag: on the heap, freed at the end of the run; NULL elsewhere */
	/* JSON members of the mode, `"key":value` with commas between: own figures */
	struct rama_out notes;
	struct rama_out remarks; /* the same for people, one line each */
	struct rama_emu_task_run
		*runs; /* dag, rank 0: n_runs = iterations x tasks; NULL: too many to be kept */
	uint64_t n_runs;
	struct rama_emu_books books;	  /* of this rank */
	struct rama_emu_file_book *files; /* of this rank */
	struct rama_out *out;		  /* where the result goes */
	bool together; /* books of all have come together: no rank makes or removes anything */
	bool told;     /* the mode has written it itself, on rank 0 */
	struct rama_emu_repeats
		*samples; /* of all runs of the same; NULL: there is only this one */
	/* Only what would be done is asked for: modes that know it give it a number, the same for
	 * what is the same, and do nothing. */
	bool only_plan;
	uint64_t plan;
};

/* a mode: a row of emulate.c */
struct rama_emu_mode {
	const char *name, *doc;
	bool needs_args; /* words after the mode */
	bool tells_plan;
	int (*run)(struct rama_emu_emulation *m, struct rama_err *e);
};
extern const struct rama_emu_mode rama_emu_modes[];
extern const unsigned rama_emu_n_modes;
const struct rama_emu_mode *rama_emu_mode_find(const char *name);
/* RAMA_EUSAGE, with the mode that may have been meant */
int rama_emu_mode_unknown(const char *name, struct rama_err *e);

/* helpers of the modes */
/* a path in the run's directory (or a tier's); names from files are made safe: no way out of the
 * directory */
char *rama_emu_emulation_path(struct rama_emu_emulation *m, const char *dir, const char *name,
			      struct rama_err *e);
/* a unit with pattern, size and engine options of the run */
struct rama_emu_unit *rama_emu_emulation_unit(struct rama_emu_emulation *m, const char *name,
					      const char *path, int64_t size, uint64_t version,
					      struct rama_err *e);
int rama_emu_emulation_stream(struct rama_emu_emulation *m, struct rama_emu_script *s,
			      struct rama_err *e);
/* the same outside of all measurements: what is there before the clock starts */
int rama_emu_emulation_aside(struct rama_emu_emulation *m, struct rama_emu_script *s,
			     struct rama_err *e);
/* All ranks, when each has looked whether what it will make is free to be made (own.h): from
 * here on files are made. `leads`: one process for each directory. */
int rama_emu_emulation_enter(struct rama_emu_emulation *m, bool leads, struct rama_err *e);

/* what all ranks did, on rank 0 */
struct rama_emu_result {
	double seconds; /* from the first operation to the last, all ranks */
	struct rama_emu_tally total;
	struct rama_emu_latency read, write; /* requests of all ranks */
	struct rama_emu_tally *rank;
	struct rama_emu_tally *task;
	struct rama_emu_file_book *file; /* next is not used */
	uint32_t n_ranks, n_tasks, n_files;
	size_t room_files;
	struct rama_map by_name;     /* hash of a file's name -> its index */
	struct rama_arena arena;     /* names of files */
	struct rama_emu_span *spans; /* by start */
	size_t n_spans;
};

/* Carries out the run; on rank 0 the result goes to standard output, or to --output, complete or
 * not at all; how far it is is shown if standard error is a terminal. */
int rama_emu_session_run(struct rama_emu_config *cfg, struct rama_emu_team *team,
			 struct rama_err *e);
/* The same without abort and result: for modes that run others. *sample is set on rank 0. */
int rama_emu_part(const struct rama_emu_config *cfg, struct rama_emu_team *team,
		  struct rama_emu_repeat *sample, struct rama_err *e);
/* What it would do, as a number; 0: the mode does not tell. All ranks get the same. */
int rama_emu_part_plan(const struct rama_emu_config *cfg, struct rama_emu_team *team,
		       uint64_t *plan, struct rama_err *e);

/* output.c */
void rama_emu_result_text(const struct rama_emu_result *r, const struct rama_emu_emulation *m,
			  struct rama_out *out);
void rama_emu_result_json(const struct rama_emu_result *r, const struct rama_emu_emulation *m,
			  struct rama_out *out);
void rama_emu_result_svg(const struct rama_emu_result *r, const struct rama_emu_emulation *m,
			 struct rama_out *out);
/* files beside the result: --svg, --graph_svg, profiles */
int rama_emu_result_check(const struct rama_emu_emulation *m,
			  struct rama_err *e); /* before the run: may they be written? */
int rama_emu_result_save(const struct rama_emu_result *r, const struct rama_emu_emulation *m,
			 struct rama_err *e);

/* modes */
int rama_emu_mode_app(struct rama_emu_emulation *m, struct rama_err *e);
int rama_emu_mode_dag(struct rama_emu_emulation *m, struct rama_err *e);
int rama_emu_mode_pc(struct rama_emu_emulation *m, struct rama_err *e);
int rama_emu_mode_cr(struct rama_emu_emulation *m, struct rama_err *e);
int rama_emu_mode_dl(struct rama_emu_emulation *m, struct rama_err *e);
int rama_emu_mode_md(struct rama_emu_emulation *m, struct rama_err *e);
int rama_emu_mode_replay(struct rama_emu_emulation *m, struct rama_err *e);
int rama_emu_mode_graph(struct rama_emu_emulation *m, struct rama_err *e);
int rama_emu_mode_try(struct rama_emu_emulation *m, struct rama_err *e);

#endif
