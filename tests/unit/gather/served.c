/* SPDX-License-Identifier: BSD-3-Clause */
/* served.c: of the log of a daemon or server only what was done for the job becomes part of its
 * log; the rest is a sum. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "logfile/calls.h"

#define JOB_TID 4000001	 /* of the job's thread: no process has such a number */
#define GONE_TID 4000002 /* a thread that has ended and made no observed call */
#define USER 1000

struct world {
	char dir[64], job[96], served[2][96], out[96];
	struct seg seg; /* the job */
	struct rama_gather_served list[2];
	struct rama_gather_options opt;
	struct rama_gather_result result;
};

static void write_file(const char *path, const void *bytes, size_t n)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

static void ignore(void *ctx, const char *line)
{
	(void)ctx;
	(void)line;
}

static void begin(struct world *w, int64_t uid)
{
	struct rama_seg_chunk *c;

	memset(w, 0, sizeof(*w));
	snprintf(w->dir, sizeof(w->dir), "/tmp/iorama-test-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->job, sizeof(w->job), "%s/00.seg", w->dir);
	snprintf(w->out, sizeof(w->out), "%s/out.darshan", w->dir);
	for (unsigned i = 0; i < 2; i++) {
		snprintf(w->served[i], sizeof(w->served[i]), "%s/served%u.darshan", w->dir, i);
		w->list[i].log = w->served[i];
	}
	w->opt = (struct rama_gather_options){
		.jobid = -1, .problem = ignore, .served = w->list, .n_served = 1
	};
	seg_make(&w->seg, 4, 2, 3);
	w->seg.id->uid = uid;
	c = seg_chunk(&w->seg, 1);
	c->tid = JOB_TID;
	seg_event(c, (struct rama_seg_event){ .name = seg_name(&w->seg, "/mnt/f"),
					      .layer = RAMA_SEG_LAYER_POSIX,
					      .kind = RAMA_TAB_OP_WRITE,
					      .fn = RAMA_TAB_FN_pwrite,
					      .call = 1,
					      .start = 1000,
					      .length = 5000,
					      .bytes = 4096 });
}

static void end(struct world *w, struct check *c)
{
	if (c != NULL)
		check_end(c);
	seg_free(&w->seg);
	unlink(w->job);
	unlink(w->out);
	unlink(w->served[0]);
	unlink(w->served[1]);
	assert_int_equal(rmdir(w->dir), 0);
}

struct request {
	uint64_t tid;
	uint32_t user; /* plus 1 */
	uint32_t call, part_of;
	enum rama_seg_layer layer;
	const char *name, *peer; /* peer NULL: it has no link */
	uint64_t start;
};

/* the log of a daemon or server that did these */
static void serve(struct world *w, unsigned at, uint32_t role, const struct request *r, size_t n)
{
	struct rama_seg_chunk *chunk;
	struct check *c;
	struct seg s;

	seg_make(&s, 4, 2, 3);
	s.id->flags |= role;
	s.id->pid = 77 + at;
	chunk = seg_chunk(&s, 9);
	chunk->tid = 78;
	for (size_t i = 0; i < n; i++) {
		struct rama_seg_link l = { .tid = r[i].tid,
					   .unique = 2 * (i + 1),
					   .object = 7,
					   .layer = RAMA_SEG_EVENT_LINK,
					   .call = r[i].call,
					   .user = r[i].user };
		struct rama_seg_event ev = { .name = seg_name(&s, r[i].name),
					     .layer = (uint8_t)r[i].layer,
					     .kind = RAMA_TAB_OP_WRITE,
					     .fn = RAMA_TAB_FN_pwrite,
					     .call = r[i].call,
					     .parent = r[i].part_of,
					     .start = r[i].start,
					     .length = 100,
					     .bytes = 4096 };

		seg_event(chunk, ev);
		if (r[i].peer == NULL)
			continue;
		l.peer = r[i].peer[0] != '\0' ? seg_name(&s, r[i].peer) : 0;
		memcpy(&ev, &l, sizeof(ev));
		seg_event(chunk, ev);
	}
	c = check_one(&s, &check_alone);
	write_file(w->served[at], c->bytes, c->n);
	check_end(c);
	seg_free(&s);
}

static struct check *gather(struct world *w)
{
	const char *paths[] = { w->job };
	struct rama_err e = { 0 };

	write_file(w->job, w->seg.bytes, w->seg.size);
	if (rama_gather_job(paths, 1, w->out, &w->opt, &w->result, &e) != 0)
		fail_msg("%s", e.text);
	return check_file(w->out);
}

/* ids of the calls of a layer that are not of the job's own processes, as bits */
static uint64_t kept(struct check *c, uint8_t layer)
{
	uint64_t found = 0;

	for (unsigned n = check_count(c, RAMA_TAB_MOD_CALLS); n-- > 0;) {
		struct check_record *r = check_get(c, RAMA_TAB_MOD_CALLS, n);
		struct rama_log_calls k;
		struct rama_log_call got;

		assert_int_equal(rama_log_calls_open(&k, &r->r), 0);
		while (rama_log_calls_next(&k, &got) > 0)
			if (r->w[RAMA_TAB_RANK].i == -1 && got.layer == layer)
				found |= 1ull << got.id;
	}
	return found;
}

static void only_what_was_for_the_job(void **st)
{
	const struct request all[] = {
		{ JOB_TID, USER + 1, 1, 0, RAMA_SEG_LAYER_FUSE, "/dev/fuse", "", 1100 },
		/* this test's own process: it lives, and is not of the job */
		{ (uint64_t)getpid(), USER + 1, 2, 0, RAMA_SEG_LAYER_FUSE, "/dev/fuse", "", 1200 },
		/* helper threads of the job are named by nobody, and have ended with it */
		{ GONE_TID, USER + 1, 3, 0, RAMA_SEG_LAYER_FUSE, "/dev/fuse", "", 1300 },
		/* nobody's: what the kernel writes back */
		{ 0, USER + 1, 4, 0, RAMA_SEG_LAYER_FUSE, "/dev/fuse", "", 1400 },
	};
	struct world w;
	struct check *c;

	(void)st;
	begin(&w, USER);
	serve(&w, 0, RAMA_SEG_FUSE_DAEMON, all, LENGTH(all));
	c = gather(&w);
	assert_int_equal(kept(c, RAMA_SEG_LAYER_FUSE), 1 << 1 | 1 << 3);
	assert_int_equal(w.list[0].calls, 2);
	assert_non_null(
		strstr(c->log.job.metadata, RAMA_LOG_META_OTHER "FUSE /dev/fuse 2 8192 200\n"));
	end(&w, c);
}

/* A thread of another user is never the job's, also if it has ended, or has the number of one. */
static void users_are_told_apart(void **st)
{
	const struct request all[] = {
		{ GONE_TID, USER + 2, 1, 0, RAMA_SEG_LAYER_FUSE, "/dev/fuse", "", 1100 },
		{ JOB_TID, USER + 2, 2, 0, RAMA_SEG_LAYER_FUSE, "/dev/fuse", "", 1200 },
		{ JOB_TID, USER + 1, 3, 0, RAMA_SEG_LAYER_FUSE, "/dev/fuse", "", 1300 },
		{ GONE_TID + 1, 1, 4, 0, RAMA_SEG_LAYER_FUSE, "/dev/fuse", "", 1400 },
		/* an older daemon says nothing of users */
		{ GONE_TID + 2, 0, 5, 0, RAMA_SEG_LAYER_FUSE, "/dev/fuse", "", 1500 },
	};
	struct world w;
	struct check *c;

	(void)st;
	begin(&w, USER);
	serve(&w, 0, RAMA_SEG_FUSE_DAEMON, all, LENGTH(all));
	c = gather(&w);
	assert_int_equal(kept(c, RAMA_SEG_LAYER_FUSE), 1 << 3 | 1 << 5);
	assert_non_null(
		strstr(c->log.job.metadata, RAMA_LOG_META_OTHER "FUSE /dev/fuse 3 12288 300\n"));
	end(&w, c);
	/* a job of root may act as others, but only with threads that are known to be its own */
	begin(&w, 0);
	serve(&w, 0, RAMA_SEG_FUSE_DAEMON, all, LENGTH(all));
	c = gather(&w);
	assert_int_equal(kept(c, RAMA_SEG_LAYER_FUSE), 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5);
	end(&w, c);
}

/* What a server did for a request comes along; a request of a client on another host does not,
 * whatever the number of its thread; what is only near in time does not. */
static void servers_and_what_is_below(void **st)
{
	struct world w;
	struct check *c;
	char near[96], far[] = "elsewhere:77:c0";

	(void)st;
	begin(&w, USER);
	snprintf(near, sizeof(near), "%s:77:c0", w.seg.id->host);
	const struct request all[] = {
		/* parts come before the request that they are part of, as they end before it */
		{ 0, 0, 2, 1, RAMA_SEG_LAYER_POSIX, "/brick/f", NULL, 1110 },
		{ JOB_TID, 0, 1, 0, RAMA_SEG_LAYER_SERVER, "brick0", near, 1100 },
		{ 0, 0, 4, 3, RAMA_SEG_LAYER_POSIX, "/brick/g", NULL, 1310 },
		{ JOB_TID, 0, 3, 0, RAMA_SEG_LAYER_SERVER, "brick0", far, 1300 },
		{ 0, 0, 5, 0, RAMA_SEG_LAYER_POSIX, "/brick/log", NULL, 1120 },
	};
	serve(&w, 0, RAMA_SEG_FILE_SERVER, all, LENGTH(all));
	c = gather(&w);
	assert_int_equal(kept(c, RAMA_SEG_LAYER_SERVER), 1 << 1);
	assert_int_equal(kept(c, RAMA_SEG_LAYER_POSIX), 1 << 2);
	assert_non_null(
		strstr(c->log.job.metadata, RAMA_LOG_META_OTHER "SERVER brick0 1 4096 100\n"));
	/* names of what is not the job's are not in its log */
	for (size_t i = 0; i < c->log.n_names; i++) {
		assert_string_not_equal(c->log.names[i].text, "/brick/g");
		assert_string_not_equal(c->log.names[i].text, "/brick/log");
		assert_string_not_equal(c->log.names[i].text, far);
	}
	end(&w, c);
}

static void several_and_none(void **st)
{
	const struct request one[] = {
		{ JOB_TID, USER + 1, 1, 0, RAMA_SEG_LAYER_FUSE, "/dev/fuse", "", 1100 },
	}, other[] = {
		{ JOB_TID, USER + 2, 2, 0, RAMA_SEG_LAYER_FUSE, "/dev/fuse", "", 1200 },
	};
	struct rama_err e = { 0 };
	struct world w;
	struct check *c;

	(void)st;
	begin(&w, USER);
	w.opt.n_served = 2;
	serve(&w, 0, RAMA_SEG_FUSE_DAEMON, one, 1);
	serve(&w, 1, RAMA_SEG_FUSE_DAEMON, other, 1);
	c = gather(&w);
	assert_true(w.list[0].calls == 1 && w.list[1].calls == 0);
	assert_int_equal(kept(c, RAMA_SEG_LAYER_FUSE), 1 << 1);
	check_end(c);
	/* one that is no log ends it, with its name */
	write_file(w.served[1], "no log", 6);
	assert_int_not_equal(
		rama_gather_job((const char *[]){ w.job }, 1, w.out, &w.opt, &w.result, &e), 0);
	assert_true(e.text[0] != '\0');
	end(&w, NULL);
}

UNIT_GROUP(served, test(only_what_was_for_the_job), test(users_are_told_apart),
	   test(servers_and_what_is_below), test(several_and_none))
