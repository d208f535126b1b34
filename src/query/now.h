/* SPDX-License-Identifier: BSD-3-Clause */
/* now.h: jobs that run, as the store knows them at this moment; what their processes are at is
 * told by rama_store_moments. */
#ifndef RAMA_QUERY_NOW_H
#define RAMA_QUERY_NOW_H

#include "store/store.h"

/* Moments that are older than this are of agents that are silent, or of nodes whose clocks are
 * wrong. */
#define RAMA_QUERY_NOW_FRESH 10000000000ll

/* The newest `limit` of them: number, key, uid, jobid, start_ns, files, processes. */
int rama_query_now_jobs(struct rama_store *s, unsigned limit, rama_store_row_fn fn, void *ctx,
			struct rama_err *e);
/* Those of its processes that run, by rank: number, segment, rank, host, pid, exe, command,
 * start_ns, made, dropped, stored, nprocs. */
int rama_query_now_processes(struct rama_store *s, int64_t job, rama_store_row_fn fn, void *ctx,
			     struct rama_err *e);
/* What counters of all its processes stand at: process, layer, reads, writes, metas, bytes_read,
 * bytes_written, read_ns, write_ns, meta_ns. */
int rama_query_now_counted(struct rama_store *s, int64_t job, rama_store_row_fn fn, void *ctx,
			   struct rama_err *e);
/* Its seconds from `since` (s) on, next to the system: second, bytes read, bytes written, calls. */
int rama_query_now_trail(struct rama_store *s, int64_t job, int64_t since, rama_store_row_fn fn,
			 void *ctx, struct rama_err *e);

#endif
