/* SPDX-License-Identifier: BSD-3-Clause */
/* summary.h: files by kind of use (`--file`) and time and speed (`--perf`) of one module. */
#ifndef RAMA_CORE_SUM_SUMMARY_H
#define RAMA_CORE_SUM_SUMMARY_H

#include "base/map.h"
#include "core/sum/plan.h"
#include "core/record.h"

enum {
	RAMA_CORE_FILES_TOTAL,
	RAMA_CORE_FILES_READ_ONLY,
	RAMA_CORE_FILES_WRITE_ONLY,
	RAMA_CORE_FILES_READ_WRITE,
	RAMA_CORE_FILES_UNIQUE,
	RAMA_CORE_FILES_SHARED,
	RAMA_CORE_FILES_KINDS
};

struct rama_core_files {
	int64_t files, bytes, max_offset;
};

struct rama_core_perf {
	int64_t total_bytes;
	double slowest_io, slowest_meta, slowest_rw;
	int64_t slowest_rank;
	double shared_time, time, mib_per_s;
};

struct rama_core_summary {
	struct rama_core_plan plan;
	struct rama_map files, ranks; /* id or rank -> index below */
	struct rama_core_file_use *file;
	struct rama_core_rank_time *rank;
	size_t file_room, rank_room;
	int64_t total_bytes;
	double shared_time;
};

void rama_core_summary_init(struct rama_core_summary *s, const struct rama_tab_module *mod);
/* 0 or RAMA_EMEMORY */
int rama_core_summary_add(struct rama_core_summary *s, const struct rama_core_record *r);
void rama_core_summary_files(const struct rama_core_summary *s,
			     struct rama_core_files kinds[RAMA_CORE_FILES_KINDS]);
void rama_core_summary_perf(const struct rama_core_summary *s, struct rama_core_perf *perf);
void rama_core_summary_fini(struct rama_core_summary *s);

#endif
