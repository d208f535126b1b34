/* SPDX-License-Identifier: BSD-3-Clause */
#include "query/now.h"

#include "query/sql.h"

int rama_query_now_jobs(struct rama_store *s, unsigned limit, rama_store_row_fn fn, void *ctx,
			struct rama_err *e)
{
	static const char sql[] =
		"SELECT number, key, uid, jobid, start_ns, files, processes FROM jobs"
		" WHERE state = 'running' ORDER BY start_ns DESC, number DESC LIMIT $1";
	struct rama_store_cell most = rama_query_cell_int((int64_t)limit);
	int rc = rama_store_select(s, sql, &most, 1, fn, ctx, e);

	return rc < 0 ? rc : 0;
}

static int of_job(struct rama_store *s, const char *sql, int64_t job, rama_store_row_fn fn,
		  void *ctx, struct rama_err *e)
{
	struct rama_store_cell arg = rama_query_cell_int(job);
	int rc = rama_store_select(s, sql, &arg, 1, fn, ctx, e);

	return rc < 0 ? rc : 0;
}

int rama_query_now_processes(struct rama_store *s, int64_t job, rama_store_row_fn fn, void *ctx,
			     struct rama_err *e)
{
	return of_job(s,
		      "SELECT number, segment, rank, host, pid, exe, command, start_ns, made,"
		      " dropped, stored, nprocs FROM processes WHERE job = $1 AND state = 'running'"
		      " ORDER BY rank, number",
		      job, fn, ctx, e);
}

int rama_query_now_counted(struct rama_store *s, int64_t job, rama_store_row_fn fn, void *ctx,
			   struct rama_err *e)
{
	return of_job(s,
		      "SELECT process, layer, reads, writes, metas, bytes_read, bytes_written,"
		      " read_ns, write_ns, meta_ns FROM counted WHERE job = $1 ORDER BY process",
		      job, fn, ctx, e);
}

int rama_query_now_trail(struct rama_store *s, int64_t job, int64_t since, rama_store_row_fn fn,
			 void *ctx, struct rama_err *e)
{
	static const char sql[] =
		"SELECT second, CAST(sum(CASE WHEN kind = 'read' THEN bytes ELSE 0 END) AS BIGINT),"
		" CAST(sum(CASE WHEN kind = 'write' THEN bytes ELSE 0 END) AS BIGINT),"
		" CAST(sum(ops) AS BIGINT) FROM series WHERE job = $1 AND second >= $2"
		" AND layer IN ('POSIX', 'STDIO', 'EXTRA') GROUP BY second ORDER BY second";
	struct rama_store_cell args[] = { rama_query_cell_int(job), rama_query_cell_int(since) };
	int rc = rama_store_select(s, sql, args, 2, fn, ctx, e);

	return rc < 0 ? rc : 0;
}
