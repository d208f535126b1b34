/* SPDX-License-Identifier: BSD-3-Clause */
/* fleet.h: many jobs, summed up: how often each finding occurs, what it costs, which jobs stand
 * out.
 *
 * Of each log a few hundred bytes are kept, whatever its size. Logs may be added in any order;
 * the caller keeps threads apart. Logs of one program with the same job id and user count as one
 * job: its steps, if they follow each other, its processes, if they ran at the same time. Two
 * programs of a batch job are two. */
#ifndef RAMA_REPORT_FLEET_FLEET_H
#define RAMA_REPORT_FLEET_FLEET_H

#include "base/err.h"
#include "base/map.h"
#include "base/out.h"
#include "diagnose/diagnose.h"
#include "job/view.h"
#include "report/paper.h"

#define RAMA_REPORT_FLEET_RULES 256 /* at most */

struct rama_report_fleet_hit {
	uint16_t rule; /* index in rama_diag_rules */
	uint8_t level;
	float cost;
};

struct rama_report_fleet_log {
	const char *path;
	const char *problem; /* what could not be read of it, or NULL */
	bool read;	     /* false: nothing of it could */
	const char *user;    /* from its name, or NULL */
	uint32_t exe;	     /* index of the program */
	int64_t jobid, uid, nprocs, start_sec;
	double run_time, io_time, meta_time, cost;
	double bytes_read, bytes_written;
	uint64_t files;
	bool complete;
	struct rama_report_fleet_hit *hits; /* INFO and worse */
	uint16_t n_hits;
	uint64_t applies[RAMA_REPORT_FLEET_RULES / 64]; /* rules that had something to check */
};

struct rama_report_fleet_job {
	size_t first, steps; /* in `order` */
	const char *user;
	uint32_t exe;
	int64_t jobid, uid, nprocs, start_sec;
	double run_time, io_time, meta_time, cost;
	double bytes_read, bytes_written, rate;
	double cost_sum; /* of its logs, also of those that ran at the same time */
	uint64_t files;
	enum rama_diag_level level;
	uint16_t worst; /* rule that costs most, UINT16_MAX: none */
};

struct rama_report_fleet_rule {
	uint64_t applies;		 /* jobs that it could be checked for */
	uint64_t jobs[RAMA_DIAG_LEVELS]; /* that have it, by level */
	uint64_t found;			 /* WARN and HIGH */
	uint64_t users, exes;		 /* of these */
	double cost;			 /* of these, seconds */
	uint32_t worst;			 /* program that loses most by it, UINT32_MAX: none */
	double worst_cost;
};

struct rama_report_fleet_exe {
	const char *name;
	uint64_t jobs, bad; /* bad: with a finding WARN or HIGH */
	double run_time, io_time, cost, bytes;
};

/* rows of tops.def */
enum rama_report_fleet_top {
#define TOP(symbol, ...) RAMA_REPORT_FLEET_TOP_##symbol,
#include "report/fleet/tops.def"
#undef TOP
	RAMA_REPORT_FLEET_TOPS
};

struct rama_report_fleet {
	struct rama_arena arena;
	struct rama_map by_name;	    /* of programs: hash -> index */
	struct rama_report_fleet_log *logs; /* one for each path, in the caller's order */
	size_t n_logs;
	struct rama_report_fleet_exe *exes;
	size_t n_exes, room_exes;
	/* after finish */
	size_t *order; /* logs that were read, by user, job and start */
	size_t n_order;
	struct rama_report_fleet_job *jobs;
	size_t n_jobs, n_users, n_high, n_warn, n_calm; /* jobs by their level */
	struct rama_report_fleet_rule rules[RAMA_REPORT_FLEET_RULES];
	unsigned rule_order[RAMA_REPORT_FLEET_RULES],
		n_rules;     /* those that were found, most seconds lost first */
	uint32_t *exe_order; /* most seconds lost first */
	size_t n_damaged, n_unread;
	double run_time, io_time, cost, bytes_read, bytes_written, rank_time;
	uint64_t files;
	int64_t first_start, last_start;
	uint32_t *top[RAMA_REPORT_FLEET_TOPS]; /* jobs */
	size_t n_top[RAMA_REPORT_FLEET_TOPS];
};

int rama_report_fleet_init(struct rama_report_fleet *f, size_t n_logs);
void rama_report_fleet_fini(struct rama_report_fleet *f);
/* log number i; path must live as long as the fleet. Both return 0 or RAMA_EMEMORY. */
int rama_report_fleet_add(struct rama_report_fleet *f, size_t i, const char *path,
			  const struct rama_job_view *v, const struct rama_diag *d);
int rama_report_fleet_problem(struct rama_report_fleet *f, size_t i, const char *path,
			      const char *problem);
/* top: how many jobs in each list */
int rama_report_fleet_finish(struct rama_report_fleet *f, size_t top, struct rama_err *e);

/* the user in the name of a log, user_program_id123…: its length, or 0 */
size_t rama_report_fleet_user(const char *path, const char **user);

/* all: with findings that are INFO only, and the long tables that only CSV prints */
int rama_report_fleet_paper(const struct rama_report_fleet *f, struct rama_report_paper *p,
			    bool all);
void rama_report_fleet_json(const struct rama_report_fleet *f, struct rama_out *o);

struct rama_report_fleet_top_info {
	const char *name, *title;
	const char *columns; /* that show its value */
	double (*value)(const struct rama_report_fleet_job *j);
	bool (*listed)(const struct rama_report_fleet_job *j);
	bool least;
};
extern const struct rama_report_fleet_top_info rama_report_fleet_top_info[RAMA_REPORT_FLEET_TOPS];

#endif
