/* SPDX-License-Identifier: BSD-3-Clause */
/* loop.h: the agent from the inside: what the files of its loop share. */
#ifndef RAMA_AGENT_LOOP_H
#define RAMA_AGENT_LOOP_H

#include <limits.h>
#include <uv.h>

#include "agent/agent.h"
#include "agent/drain.h"
#include "agent/focus/others.h"
#include "agent/metrics.h"
#include "base/json.h"
#include "bus/talk.h"
#include "look/find.h"
#include "agent/sample.h"
#include "agent/writer.h"

/* a user whose jobs are read, and where that goes */
struct rama_agent_user {
	uint32_t uid, gid;
	char name[64];
	struct rama_agent_post *post;
	bool own_post;	     /* of this user alone */
	uint64_t known;	     /* names of files that are remembered to have been sent */
	int64_t used;	     /* ns: when there was a job last */
	char logs[PATH_MAX]; /* "": none are made */
};

/* a directory that is watched */
struct rama_agent_dir {
	uv_fs_event_t event;
	struct rama_agent *agent;
	enum { RAMA_AGENT_DIR_BASE, RAMA_AGENT_DIR_ROOT, RAMA_AGENT_DIR_JOB } kind;
	char *path;
	struct rama_look_find_id id;
	uint32_t uid;
	int claim; /* of a root: that we read there; -1: not */
	bool watched, seen, closing;
};

/* a file that could not be opened yet, or not any more */
struct rama_agent_odd {
	struct rama_look_find_id id;
	char *path;
	uint32_t uid;
	int64_t since, next; /* ns */
	bool told, done;     /* done: it was read to its end, or never will be */
	bool bad;	     /* cannot be read */
};

/* what one user may have of an agent of all users: odd.c */
enum rama_agent_share_kind {
	RAMA_AGENT_SHARE_DIRS,
	RAMA_AGENT_SHARE_FILES,
	RAMA_AGENT_SHARE_SEGS,
	RAMA_AGENT_SHARE_LOOKS,
	RAMA_AGENT_SHARE_TIME,
	RAMA_AGENT_SHARE_WORDS,
	RAMA_AGENT_SHARES
};
struct rama_agent_share {
	uint32_t uid;
	size_t used[RAMA_AGENT_SHARES];
	bool told;
	int64_t spent; /* ns, in this turn */
};

/* spools of others that are taken over: left.c */
#define RAMA_AGENT_LEFT 4 /* at a time */
struct rama_agent_left {
	const struct rama_agent_options *o;
	bool instead; /* all go to the sink of o */
	struct {
		char path[PATH_MAX];
		struct rama_agent_post *post;
		int run; /* lock of RAMA_AGENT_RUN_FILE */
	} one[RAMA_AGENT_LEFT];
	size_t n;
	uint64_t most;	 /* bytes of one that is taken now */
	uint64_t others; /* that were somebody else's, at the last look */
	char last[256];	 /* name of the one that was looked at last */
};
/* Now and then: are there any, of so many bytes at most? */
void rama_agent_left_look(struct rama_agent_left *l, uint64_t most);
void rama_agent_left_second(struct rama_agent_left *l); /* those that are empty go */
void rama_agent_left_close(struct rama_agent_left *l);

struct rama_agent {
	struct rama_agent_options o;
	struct rama_agent_left left;
	uv_loop_t loop;
	uv_timer_t rounds, seconds;
	struct rama_agent_end *end;	    /* signals to end: end.c */
	struct rama_agent_writers *writers; /* of --system without a sink */
	struct rama_agent_drain drain;
	struct rama_agent_focus focus;
	struct rama_agent_focus_others others;
	struct rama_bus_talk *talk;  /* with them; NULL: there is no bus */
	struct rama_agent_sums sums; /* as the status says */
	struct rama_agent_metrics metrics;
	struct rama_agent_sampler *sampler;
	struct rama_agent_post *post; /* NULL: each user has one */
	struct rama_agent_user **user;
	size_t n_users, room_users;
	struct rama_agent_dir **dir;
	size_t n_dirs, room_dirs;
	struct rama_agent_drain_seg **seg;
	size_t n_segs, room_segs;
	struct rama_agent_drain_job **job;
	size_t n_jobs, room_jobs;
	struct rama_agent_odd *odd;
	size_t n_odd, room_odd;
	struct rama_map odd_by; /* hash of the id -> place in odd + 1 */
	struct rama_agent_share *share;
	size_t n_shares, room_shares;
	int64_t turn;			       /* ns that each user has in this turn */
	size_t round_at, second_at, finish_at; /* who was the first that had no time left */
	struct rama_map share_by;	       /* uid -> place in share + 1 */
	struct rama_map by_id;	/* of followed segments: hash of the id -> place in seg + 1 */
	struct rama_map by_key; /* likewise: hash of the key -> how many there are */
	struct rama_map dir_by; /* hash of the path -> place in dir + 1 */
	struct rama_map job_by; /* hash of directory and key -> place in job + 1 */
	uint64_t round;
	unsigned pause;			  /* ms to the next round */
	int64_t started;		  /* ns since 1970 */
	int64_t scanned;		  /* ns: when all directories were read last */
	int64_t looked;			  /* ns: when spools that were left were looked for last */
	int64_t moment_mono, moment_real; /* ns: when it was looked what processes are at */
	bool no_inotify, stopping, ended, job_was;
	unsigned working; /* logs that are being made */
	int spool_lock;	  /* of --system: of the directory of spools */
	/* of jobs that are gone */
	uint64_t made, dropped, lost;
	uint64_t past_lost, past_stored, past_repeated, past_refused; /* of posts that are gone */
};

void rama_agent_say(struct rama_agent *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* watch.c: which directories and files there are */
int rama_agent_watch(struct rama_agent *a, struct rama_err *e);
void rama_agent_unwatch(struct rama_agent *a);
void rama_agent_scan(struct rama_agent *a); /* reads all directories again */

/* segs.c */
void rama_agent_found(struct rama_agent *a, const char *path, uint32_t uid);
bool rama_agent_round(struct rama_agent *a); /* true: something moved */
void rama_agent_second(struct rama_agent *a);
void rama_agent_leave(struct rama_agent *a, size_t i); /* lets go of a segment */
void rama_agent_drop_job(struct rama_agent *a, size_t i);

/* focus/apply.c: with --focus only the slowest process of each job, the slowest server and the
 * slowest daemon make events */
int rama_agent_focus_start(struct rama_agent *a, struct rama_err *e);
void rama_agent_focus_follow(struct rama_agent *a, struct rama_agent_drain_seg *s);
void rama_agent_focus_leave(struct rama_agent *a, struct rama_agent_drain_seg *s);
void rama_agent_focus_end_lent(struct rama_seg_control *c);
void rama_agent_focus_second(struct rama_agent *a);
/* the word of its group: its job's key, or that of servers or daemons */
const char *rama_agent_focus_word(const struct rama_agent_drain_seg *s);
uint64_t rama_agent_focus_id(const struct rama_agent_drain_seg *s);

/* focus/tell.c: what is said of it to other agents, and to who asks */
void rama_agent_focus_say(struct rama_agent *a);
void rama_agent_focus_tell(struct rama_agent *a, struct rama_json *j);

void rama_agent_moment_second(struct rama_agent *a); /* moment.c */

/* odd.c */
struct rama_agent_odd *rama_agent_odd(struct rama_agent *a, const struct rama_look_find_id *id);
struct rama_agent_odd *rama_agent_odd_add(struct rama_agent *a, const struct rama_look_find_id *id,
					  const char *path, uint32_t uid);
void rama_agent_odd_fini(struct rama_agent *a);
void rama_agent_again(struct rama_agent *a); /* tries files again that could not be opened */
bool rama_agent_done(struct rama_agent *a, const struct rama_look_find_id *id, bool *bad);
/* which file has this name now; with the rights of the user */
bool rama_agent_id_of(const struct rama_agent *a, const char *path, uint32_t uid,
		      struct rama_look_find_id *id);
/* May there be one more of them of this user? */
bool rama_agent_may(struct rama_agent *a, uint32_t uid, enum rama_agent_share_kind what);
void rama_agent_use(struct rama_agent *a, uint32_t uid, enum rama_agent_share_kind what, int n);
void rama_agent_shares_renew(struct rama_agent *a);
/* A turn: so many ns for all users together, each of whom gets as much as the others. What is not
 * done by then waits for the next turn. */
void rama_agent_turn(struct rama_agent *a, int64_t all);
/* 0: he had his part; else ns that are left of it (INT64_MAX: there is nobody to wait) */
int64_t rama_agent_turn_left(struct rama_agent *a, uint32_t uid);
void rama_agent_turn_spent(struct rama_agent *a, uint32_t uid, int64_t ns);
void rama_agent_tidy(struct rama_agent *a);
uint64_t rama_agent_path_hash(const char *path);
uint64_t rama_agent_key_hash(const struct rama_wire_segment_key *key);

/* end.c: SIGTERM and the like. From them on the agent has so many ms to end, then it ends all the
 * same: what it has not brought to its place is in the spool. */
int rama_agent_end_open(struct rama_agent *a, unsigned most_ms, struct rama_err *e);
void rama_agent_end_disarm(struct rama_agent *a); /* the loop is going to be closed */
void rama_agent_end_close(struct rama_agent *a);

/* users.c */
void rama_agent_users_left(struct rama_agent *a); /* those whose spools are not empty */
struct rama_agent_user *rama_agent_user(struct rama_agent *a, uint32_t uid, struct rama_err *e);
void rama_agent_users_second(struct rama_agent *a);
void rama_agent_users_close(struct rama_agent *a, unsigned wait_ms);
/* From here on files are touched with the rights of this user, then with our own again; of this
 * thread alone. */
void rama_agent_as(const struct rama_agent *a, uint32_t uid);
void rama_agent_as_self(const struct rama_agent *a);

/* finish.c: jobs that left their segments behind */
/* ns: so long a job may be without a process before it counts as ended */
#define RAMA_AGENT_QUIET 2000000000ll
void rama_agent_finish_jobs(struct rama_agent *a);
/* the directory of a job goes, if it has no segments and nobody holds its lock */
void rama_agent_finish_place(const char *dir, uint32_t uid);

#endif
