/* SPDX-License-Identifier: BSD-3-Clause */
/* summary.h: files by kind of use (`--file`) and time and speed (`--perf`) of one module. */
#ifndef RAMA_CORE_SUMMARY_H
#define RAMA_CORE_SUMMARY_H

#include "base/map.h"
#include "core/plan.h"
#include "core/record.h"

enum {
	RAMA_FILES_TOTAL,
	RAMA_FILES_READ_ONLY,
	RAMA_FILES_WRITE_ONLY,
	RAMA_FILES_READ_WRITE,
	RAMA_FILES_UNIQUE,
	RAMA_FILES_SHARED,
	RAMA_FILES_KINDS
};

struct rama_files {
	int64_t files, bytes, max_offset;
};

struct rama_perf {
	int64_t total_bytes;
	double slowest_io, slowest_meta, slowest_rw;
	int64_t slowest_rank;
	double shared_time, time, mib_per_s;
};

struct rama_summary {
	struct rama_plan plan;
	struct rama_map files, ranks; /* id or rank -> index below */
	struct rama_file_use *file;
	struct rama_rank_time *rank;
	size_t file_room, rank_room;
	int64_t total_bytes;
	double shared_time;
};

void rama_summary_init(struct rama_summary *s, const struct rama_module *mod);
int rama_summary_add(struct rama_summary *s, const struct rama_record *r); /* 0 or RAMA_EMEMORY */
void rama_summary_files(const struct rama_summary *s, struct rama_files kinds[RAMA_FILES_KINDS]);
void rama_summary_perf(const struct rama_summary *s, struct rama_perf *perf);
void rama_summary_fini(struct rama_summary *s);

#endif
