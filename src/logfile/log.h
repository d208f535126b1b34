/* SPDX-License-Identifier: BSD-3-Clause */
/* log.h: an open log: header, job, names and where each module's records are. Records are read with
 * a cursor (cursor.h). Whatever can be read is read; each thing that cannot be is told to `problem`
 * once, unless the log is opened strictly: then the first one is an error. */
#ifndef RAMA_LOGFILE_LOG_H
#define RAMA_LOGFILE_LOG_H

#include "base/arena.h"
#include "base/map.h"
#include "base/source.h"
#include "logfile/annex.h"
#include "table/table.h"

#define RAMA_LOG_HEADER_OLD 360
#define RAMA_LOG_HEADER_NEW 1328
#define RAMA_LOG_JOB_OLD 1064
#define RAMA_LOG_JOB_NEW 1080
#define RAMA_LOG_JOB_REGION 4096 /* job struct and text never take more */
#define RAMA_LOG_META_SIZE 1024
#define RAMA_LOG_MAGIC 6567223
/* Flag of module 0, which has no data: the log is of processes that did not end by themselves.
 * Flags of other modules say that something was dropped, and readers refuse those modules unless
 * told otherwise. */
#define RAMA_LOG_PARTIAL_END 1ull
#define RAMA_LOG_META_MISSING "iorama_missing=" /* metadata: ranks that are not in the log: 3,7-9 */
#define RAMA_LOG_META_MPI \
	"iorama_mpi=" /* metadata: "unknown": processes had an MPI that nobody knows */
/* metadata: how many processes confined themselves, and were not recorded after that */
#define RAMA_LOG_META_QUIET "iorama_quiet="
#define RAMA_LOG_META_PLACE \
	"iorama_place=" /* metadata: an unusual place of the segments; "memory": there was none */
/* metadata: programs of which nothing is in the log since there was no room for their segments,
 * and their calls as far as known */
#define RAMA_LOG_META_UNPLACED "iorama_unplaced="
#define RAMA_LOG_META_UNPLACED_CALLS "iorama_unplaced_calls="
#define RAMA_LOG_META_HOOKS "iorama_hooks=" /* metadata: what of a daemon or server was observed */
/* metadata: requests at it of which nothing is known */
#define RAMA_LOG_META_REQUESTS_UNSEEN "iorama_requests_unseen="
/* metadata: requests that were not of this job: layer, server, how many, bytes, ns; joined by ; */
#define RAMA_LOG_META_OTHER "iorama_other_load="
/* metadata: how many programs were followed from outside: their calls took longer */
#define RAMA_LOG_META_FOLLOWED "iorama_followed="
/* metadata: calls that made no event, since an agent chose others to make them */
#define RAMA_LOG_META_LEFT_OUT "iorama_left_out="
/* metadata: how a parallel job was started: its launcher and all words after it */
#define RAMA_LOG_META_COMMAND "iorama_command="
#define RAMA_LOG_META_COMMAND_MOST 400		      /* bytes; longer ones are not told */
#define RAMA_LOG_META_UNFINISHED "iorama_unfinished=" /* metadata: how many they were */

struct rama_log_job {
	int64_t uid, start_sec, start_nsec, end_sec, end_nsec, nprocs, jobid;
	double run_time;		   /* seconds */
	char metadata[RAMA_LOG_META_SIZE]; /* key=value lines */
	const char *exe;		   /* command line */
	bool has_mount_lines; /* without them the stock tools find no command line either */
};

struct rama_log_mount {
	const char *path, *type;
	size_t path_len;
	unsigned order; /* in the file */
};

struct rama_log_name {
	uint64_t id;
	const char *text;
	size_t len;
};

struct rama_log_part {
	uint64_t off, len; /* as stored in the file; len may be cut to what is there */
	uint64_t stored_len;
	uint32_t version;
};

struct rama_log_options {
	bool strict;
	void (*problem)(void *ctx, const char *line); /* what cannot be read */
	void (*note)(void *ctx, const char *line);    /* what is worth knowing */
	void *ctx;
};

struct rama_log {
	struct rama_source *src;
	struct rama_log_options opt;
	char version[9];
	unsigned minor; /* 0, 10, 20, 21, 41 */
	bool swap;	/* written in the other byte order */
	uint8_t compression;
	uint64_t partial; /* bit per module */
	unsigned header_size;
	/* of modules from RAMA_TAB_OURS on: from the annex, or from the header of an older log
	 * of ours */
	struct rama_log_part name_part, job_part, part[RAMA_TAB_MODULES];
	struct rama_log_annex annex; /* sections that are whole, known or not */
	/* Something of the annex was there and cannot be read; only a note, but whoever needs
	 * all of a log must know it. */
	struct rama_err annex_lost;
	uint64_t unfit, unfit_told; /* bit per module: its thread ids do not fit its segments */
	struct rama_log_job job;
	struct rama_log_mount *mounts; /* longest path first */
	size_t n_mounts;
	struct rama_log_name *names; /* in the order of the file */
	size_t n_names;
	struct rama_map by_id; /* id -> index in names */
	struct rama_arena arena;
	unsigned problems;   /* told so far */
	struct rama_err err; /* strict: the first of them */
};

/* The source must outlive the log. On error `log` needs no close. */
int rama_log_open(struct rama_log *log, struct rama_source *src, const struct rama_log_options *opt,
		  struct rama_err *e);
void rama_log_close(struct rama_log *log);

/* NULL: the log has no name for the id */
const struct rama_log_name *rama_log_name_get(const struct rama_log *log, uint64_t id);
/* the mount a name is on, or NULL */
const struct rama_log_mount *rama_log_mount_get(const struct rama_log *log, const char *name);

/* is this section of its annex one that is read here: a module, thread ids? */
bool rama_log_section_known(const struct rama_log *log, const struct rama_log_section *s);
/* ... that one has a number that nobody knows, and what becomes of it */
void rama_log_note_section(struct rama_log *log, const struct rama_log_section *s,
			   const char *then);

/* 0, or an error that says what of its annex is missing, as far as it was looked at */
int rama_log_annex_check(const struct rama_log *log, struct rama_err *e);

/* do segments of this module say which thread it was? */
bool rama_log_has_threads(const struct rama_log *log, unsigned module);

/* Tells a problem; returns 0 to go on, or its code when the log is strict. */
int rama_log_problem(struct rama_log *log, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Tells something worth knowing that is no damage; never an error. */
void rama_log_note(struct rama_log *log, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* ... that a module nobody knows is left out */
void rama_log_note_unknown(struct rama_log *log, unsigned module);

/* For a walk that comes before the one whose problems count: nothing is told or counted between
 * these two. */
struct rama_log_hush {
	struct rama_log_options opt;
	unsigned problems;
};
struct rama_log_hush rama_log_set_hush(struct rama_log *log);
void rama_log_unhush(struct rama_log *log, struct rama_log_hush before);

/* internal to logfile */
uint64_t rama_log_u64(const struct rama_log *log, const unsigned char *p);
uint32_t rama_log_u32(const struct rama_log *log, const unsigned char *p);

#endif
