/* SPDX-License-Identifier: BSD-3-Clause */
/* job.c: the segments of a job become one log. */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define BIT(module) (1ull << RAMA_TAB_MOD_##module)

/* files in a directory of their own, and what came out of them */
struct job {
	char dir[64], out[128], path[16][128];
	const char *paths[16];
	size_t n;
	struct rama_gather_options opt;
	struct rama_gather_result result;
	struct rama_err err;
	unsigned problems;
	char last[512];
	size_t done, of;
};

static void on_problem(void *ctx, const char *line)
{
	struct job *j = ctx;

	j->problems++;
	snprintf(j->last, sizeof(j->last), "%s", line);
}

static void on_progress(void *ctx, size_t done, size_t of)
{
	struct job *j = ctx;

	assert_true(done == j->done + 1 && done <= of);
	j->done = done;
	j->of = of;
}

static void begin(struct job *j)
{
	memset(j, 0, sizeof(*j));
	snprintf(j->dir, sizeof(j->dir), "/tmp/iorama-test-XXXXXX");
	assert_non_null(mkdtemp(j->dir));
	snprintf(j->out, sizeof(j->out), "%s/out.darshan", j->dir);
	j->opt = (struct rama_gather_options){
		.jobid = -1, .problem = on_problem, .progress = on_progress, .ctx = j
	};
}

static void add_bytes(struct job *j, const void *bytes, size_t n)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%02zu.seg", j->dir, j->n);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
	memcpy(j->path[j->n], path, sizeof(path));
	j->paths[j->n] = j->path[j->n];
	j->n++;
}

/* a process of its own: pid, started `start` ns after the first */
static void make(struct seg *s, int64_t pid, int64_t ppid, uint64_t start)
{
	seg_make(s, 6, 2, 2);
	s->id->pid = pid;
	s->id->ppid = ppid;
	s->id->pid_start = (uint64_t)pid * 7;
	s->id->clock.real0 += start;
}

static void add(struct job *j, struct seg *s)
{
	add_bytes(j, s->bytes, s->size);
	seg_free(s);
}

static struct check *gather(struct job *j)
{
	if (rama_gather_job(j->paths, j->n, j->out, &j->opt, &j->result, &j->err) != 0)
		fail_msg("%s", j->err.text);
	assert_int_equal(j->done, j->of);
	return check_file(j->out);
}

static void end(struct job *j, struct check *c)
{
	if (c != NULL)
		check_end(c);
	for (size_t i = 0; i < j->n; i++)
		unlink(j->path[i]);
	unlink(j->out);
	assert_int_equal(rmdir(j->dir), 0); /* nothing else was left there */
}

static void opened(struct seg *s, const char *path, int64_t opens)
{
	struct rama_core_posix_file *f = seg_posix(s, seg_name(s, path));

	f->w[RAMA_TAB_POSIX_OPENS].i = opens;
	f->w[RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP].u = SEG_SECOND;
	f->w[RAMA_TAB_POSIX_F_OPEN_END_TIMESTAMP].u = 2 * SEG_SECOND;
	f->w[RAMA_TAB_POSIX_F_META_TIME].u = SEG_SECOND;
}

/* ---- ranks --------------------------------------------------------------------------------- */

static void processes_become_ranks_by_start(void **st)
{
	struct check_record *r;
	struct check *c;
	struct job j;
	struct seg s;

	(void)st;
	begin(&j);
	make(&s, 20, 10, 3 * SEG_SECOND); /* child of 10, given first */
	s.id->flags = RAMA_SEG_FORKED;
	opened(&s, "/own", 2);
	add(&j, &s);
	make(&s, 10, 1, 0);
	opened(&s, "/shell", 1);
	add(&j, &s);
	make(&s, 30, 20, 4 * SEG_SECOND); /* child of 20 */
	opened(&s, "/own", 3);
	add(&j, &s);
	c = gather(&j);
	assert_int_equal(j.problems, 0);
	assert_int_equal(j.result.nprocs, 3);
	assert_int_equal(j.result.partial, 0);
	assert_int_equal(c->log.job.nprocs, 3);
	assert_int_equal(c->log.job.start_sec, 1700000000);
	assert_int_equal(c->log.job.end_sec, 1700000014);
	assert_string_equal(c->log.job.metadata, "lib_ver=iorama-" IORAMA_BUILD_VERSION "\n");
	for (unsigned i = 0; i < 3; i++) {
		r = check_get(c, RAMA_TAB_MOD_PROCESS, i);
		assert_int_equal(r->w[RAMA_TAB_RANK].i, i);
		assert_int_equal(r->w[RAMA_TAB_PROCESS_PID].i, 10 * (i + 1));
		assert_int_equal(r->w[RAMA_TAB_PROCESS_PARENT_RANK].i, (int)i - 1);
		assert_int_equal(r->w[RAMA_TAB_PROCESS_FORKED].i, i == 1);
		assert_float_equal(r->w[RAMA_TAB_PROCESS_F_START_TIMESTAMP].f, i == 0 ? 0 : 2 + i,
				   1e-6);
		r = check_get(c, RAMA_TAB_MOD_POSIX, i);
		assert_int_equal(r->w[RAMA_TAB_RANK].i, i);
		assert_int_equal(r->w[RAMA_TAB_POSIX_OPENS].i, i + 1);
		assert_float_equal(r->w[RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP].f,
				   i == 0 ? 1 : 3 + i, 1e-6);
	}
	assert_string_equal(check_name(c, r->w[RAMA_TAB_ID].u), "/own");
	end(&j, c);
}

static void files_of_all_are_reduced_when_asked(void **st)
{
	struct check_record *r;
	struct check *c;
	struct job j;
	struct seg s;

	(void)st;
	begin(&j);
	j.opt.reduce = true;
	for (int i = 0; i < 3; i++) {
		make(&s, 10 + i, 1, (uint64_t)i);
		opened(&s, "/all", 1 + i);
		add(&j, &s);
	}
	c = gather(&j);
	assert_int_equal(check_count(c, RAMA_TAB_MOD_POSIX), 1);
	r = check_get(c, RAMA_TAB_MOD_POSIX, 0);
	assert_int_equal(r->w[RAMA_TAB_RANK].i, -1);
	assert_int_equal(r->w[RAMA_TAB_POSIX_OPENS].i, 6);
	assert_int_equal(check_count(c, RAMA_TAB_MOD_PROCESS), 3);
	end(&j, c);
}

static void notes_job_and_command(void **st)
{
	struct check *c;
	struct job j;
	struct seg s;

	(void)st;
	begin(&j);
	j.opt.jobid = 77;
	j.opt.note = "site=here\n";
	j.opt.command = "make all";
	j.opt.incomplete = true;
	make(&s, 10, 1, 0);
	opened(&s, "/a", 1);
	add(&j, &s);
	c = gather(&j);
	assert_int_equal(c->log.job.jobid, 77);
	assert_string_equal(c->log.job.exe, "make all");
	assert_non_null(strstr(c->log.job.metadata, "site=here\n"));
	assert_int_equal(c->partial, RAMA_LOG_PARTIAL_END);
	assert_int_equal(j.result.partial, c->partial);
	assert_int_equal(c->log.n_mounts, 2);
	end(&j, c);
}

/* ---- exec ---------------------------------------------------------------------------------- */

/* Program number k of process 10: two seconds after the one before. */
static void make_image(struct seg *s, unsigned k, uint32_t phase, const char *command)
{
	make(s, 10, 1, 2 * k * SEG_SECOND);
	s->state->phase = phase;
	if (phase != RAMA_SEG_DONE)
		s->id->clock.tick1 = s->id->clock.mono1 = 0;
	seg_text(s->id->command, sizeof(s->id->command), command);
	opened(s, "/both", 1 + k);
	rama_core_heat_add(&seg_lane(s, 1)->heat[0], 0, 10 + k, SEG_SECOND, SEG_SECOND + 1);
	seg_event(seg_chunk(s, 1),
		  (struct rama_seg_event){
			  .name = 1, .kind = RAMA_TAB_OP_READ, .start = SEG_SECOND, .length = 5 });
	s->state->missed = 1;
	s->state->threads_most = 5 - k;
	s->state->usage[0] = (struct rama_seg_usage){ 7, 1000, 2000 };
	s->state->usage[1] = (struct rama_seg_usage){ 17 + k, 501000, 252000 };
	s->state->usage_known = 2;
}

/* what the system counts is not known of a process that was killed, nor of all of one whose last
 * program was */
static void usage_that_is_not_known(void **st)
{
	struct check *c;
	struct job j;
	struct seg s;

	(void)st;
	begin(&j);
	make_image(&s, 0, RAMA_SEG_REPLACED, "first");
	add(&j, &s);
	make_image(&s, 1, RAMA_SEG_RUNNING, "second");
	s.state->usage_known = 1;
	add(&j, &s);
	c = gather(&j);
	assert_int_equal(check_get(c, RAMA_TAB_MOD_PROCESS, 0)->w[RAMA_TAB_PROCESS_MAJOR_FAULTS].i,
			 -1);
	end(&j, c);
}

static void programs_of_a_process_share_a_rank(void **st)
{
	struct check_record *r;
	struct check *c;
	struct job j;
	struct seg s;

	(void)st;
	begin(&j);
	make_image(&s, 1, RAMA_SEG_DONE, "second -x");
	opened(&s, "/second", 9);
	add(&j, &s);
	/* it was replaced without a chance to say so */
	make_image(&s, 0, RAMA_SEG_RUNNING, "first");
	add(&j, &s);
	make(&s, 11, 10, SEG_SECOND);
	opened(&s, "/both", 100);
	add(&j, &s);
	c = gather(&j);
	assert_int_equal(j.result.nprocs, 2);
	assert_int_equal(j.result.unfinished, 0);
	assert_int_equal(j.result.missed, 2);
	assert_int_equal(c->partial, 0);
	assert_int_equal(check_count(c, RAMA_TAB_MOD_PROCESS), 2);
	r = check_get(c, RAMA_TAB_MOD_PROCESS, 0);
	assert_int_equal(r->w[RAMA_TAB_PROCESS_IMAGES].i, 2);
	assert_int_equal(r->w[RAMA_TAB_PROCESS_ENDED].i, 1);
	assert_int_equal(r->w[RAMA_TAB_PROCESS_CALLS_MISSED].i, 2);
	assert_int_equal(r->w[RAMA_TAB_PROCESS_THREADS].i, 5);
	assert_int_equal(r->w[RAMA_TAB_PROCESS_MAJOR_FAULTS].i, 10 + 11);
	assert_float_equal(r->w[RAMA_TAB_PROCESS_F_USER_TIME].f, 2 * 0.5, 1e-9);
	assert_float_equal(r->w[RAMA_TAB_PROCESS_F_SYSTEM_TIME].f, 2 * 0.25, 1e-9);
	assert_float_equal(r->w[RAMA_TAB_PROCESS_F_END_TIMESTAMP].f, 12, 1e-6);
	assert_int_equal(r->r.count[0], 2);
	assert_memory_equal(r->array[0], "second -x", 10);
	assert_int_equal(check_count(c, RAMA_TAB_MOD_POSIX), 3);
	r = check_get(c, RAMA_TAB_MOD_POSIX, 0);
	assert_string_equal(check_name(c, r->w[RAMA_TAB_ID].u), "/both");
	assert_int_equal(r->w[RAMA_TAB_RANK].i, 0);
	assert_int_equal(r->w[RAMA_TAB_POSIX_OPENS].i, 3);
	assert_float_equal(r->w[RAMA_TAB_POSIX_F_META_TIME].f, 2, 1e-9);
	assert_float_equal(r->w[RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP].f, 1, 1e-9);
	assert_float_equal(r->w[RAMA_TAB_POSIX_F_OPEN_END_TIMESTAMP].f, 4, 1e-9);
	assert_int_equal(r->w[RAMA_TAB_POSIX_FASTEST_RANK_BYTES].i, 0);
	assert_float_equal(r->w[RAMA_TAB_POSIX_F_SLOWEST_RANK_TIME].f, 0, 0);
	r = check_get(c, RAMA_TAB_MOD_POSIX, 1);
	assert_string_equal(check_name(c, r->w[RAMA_TAB_ID].u), "/second");
	r = check_get(c, RAMA_TAB_MOD_POSIX, 2);
	assert_int_equal(r->w[RAMA_TAB_RANK].i, 1);
	assert_int_equal(r->w[RAMA_TAB_POSIX_OPENS].i, 100);
	assert_int_equal(check_count(c, RAMA_TAB_MOD_HEATMAP), 1);
	r = check_get(c, RAMA_TAB_MOD_HEATMAP, 0);
	assert_int_equal(r->array[0][10].i, 10);
	assert_int_equal(r->array[0][30].i, 11);
	assert_int_equal(check_count(c, RAMA_TAB_MOD_DXT_POSIX), 2); /* one of each program */
	r = check_get(c, RAMA_TAB_MOD_DXT_POSIX, 1);
	assert_int_equal(r->w[RAMA_TAB_RANK].i, 0);
	assert_float_equal(r->seg[1][0][RAMA_TAB_SEG_START].f, 3, 1e-6);
	end(&j, c);
}

/* Process 10 ran two programs, 11 one; all three opened the file: two ranks did. */
static void shared_files_count_processes(void **st)
{
	struct check_record *r;
	struct check *c;
	struct job j;
	struct seg s;

	(void)st;
	begin(&j);
	j.opt.reduce = true;
	for (unsigned k = 0; k < 2; k++) {
		make_image(&s, k, k == 0 ? RAMA_SEG_REPLACED : RAMA_SEG_DONE, "x");
		add(&j, &s);
	}
	make(&s, 11, 10, SEG_SECOND);
	opened(&s, "/both", 100);
	add(&j, &s);
	c = gather(&j);
	assert_int_equal(check_count(c, RAMA_TAB_MOD_POSIX), 1);
	r = check_get(c, RAMA_TAB_MOD_POSIX, 0);
	assert_int_equal(r->w[RAMA_TAB_RANK].i, -1);
	assert_int_equal(r->w[RAMA_TAB_POSIX_OPENS].i, 103);
	assert_int_equal(r->w[RAMA_TAB_POSIX_SLOWEST_RANK].i, 0);
	assert_float_equal(r->w[RAMA_TAB_POSIX_F_SLOWEST_RANK_TIME].f, 2, 1e-9);
	assert_int_equal(r->w[RAMA_TAB_POSIX_FASTEST_RANK].i, 1);
	assert_float_equal(r->w[RAMA_TAB_POSIX_F_VARIANCE_RANK_TIME].f, 0.25, 1e-9);
	end(&j, c);
}

/* ---- what went wrong ------------------------------------------------------------------------- */

static void killed_processes_are_marked(void **st)
{
	struct check *c;
	struct job j;
	struct seg s;

	(void)st;
	begin(&j);
	make(&s, 10, 1, 0);
	opened(&s, "/a", 1);
	add(&j, &s);
	make(&s, 11, 1, 1); /* not a child of the other */
	s.state->phase = RAMA_SEG_RUNNING;
	s.id->clock.tick1 = s.id->clock.mono1 = 0;
	s.id->clock.real0 += 20 * SEG_SECOND;
	opened(&s, "/b", 1);
	((struct rama_core_posix_file *)seg_slot(&s, RAMA_SEG_KIND_POSIX, 0))[1]
		.w[RAMA_TAB_POSIX_F_CLOSE_END_TIMESTAMP]
		.u = 5 * SEG_SECOND;
	add(&j, &s);
	c = gather(&j);
	assert_int_equal(j.result.unfinished, 1);
	assert_int_equal(c->partial, RAMA_LOG_PARTIAL_END);
	assert_non_null(strstr(c->log.job.metadata, "iorama_unfinished=1\n"));
	assert_int_equal(check_get(c, RAMA_TAB_MOD_PROCESS, 1)->w[RAMA_TAB_PROCESS_ENDED].i, 0);
	assert_int_equal(c->log.job.end_sec, 1700000025); /* the last thing that is known */
	end(&j, c);
}

/* a worker that was ended by a signal while its parent came to its own end */
static void stopped_workers_are_whole(void **st)
{
	struct check *c;
	struct job j;
	struct seg s;

	(void)st;
	for (int killed = 0; killed < 2; killed++) {
		begin(&j);
		make(&s, 10, 1, 0);
		if (killed)
			s.state->phase = RAMA_SEG_RUNNING;
		opened(&s, "/a", 1);
		add(&j, &s);
		make(&s, 11, 10, 1);
		s.state->phase = RAMA_SEG_RUNNING;
		opened(&s, "/b", 1);
		add(&j, &s);
		c = gather(&j);
		assert_int_equal(j.result.unfinished, killed ? 2 : 0);
		assert_int_equal(c->partial, killed ? RAMA_LOG_PARTIAL_END : 0);
		assert_int_equal(check_get(c, RAMA_TAB_MOD_PROCESS, 1)->w[RAMA_TAB_PROCESS_ENDED].i,
				 killed ? 0 : RAMA_GATHER_ENDED_STOPPED);
		end(&j, c);
	}
}

/* its last program was not observed: a static one, or one that was switched off */
static void replaced_by_a_stranger(void **st)
{
	struct check *c;
	struct job j;
	struct seg s;

	(void)st;
	begin(&j);
	make_image(&s, 0, RAMA_SEG_REPLACED, "first");
	add(&j, &s);
	c = gather(&j);
	assert_int_equal(j.result.unfinished, 0);
	assert_int_equal(c->partial, 0);
	assert_int_equal(check_get(c, RAMA_TAB_MOD_PROCESS, 0)->w[RAMA_TAB_PROCESS_ENDED].i, 2);
	end(&j, c);
}

static void unreadable_segments_are_told(void **st)
{
	struct check *c;
	struct job j;
	struct seg s;

	(void)st;
	begin(&j);
	add_bytes(&j, "rubbish", 7);
	make(&s, 10, 1, 0);
	opened(&s, "/a", 1);
	add(&j, &s);
	make(&s, 11, 1, 0); /* it had not begun */
	s.state->phase = RAMA_SEG_STARTING;
	add(&j, &s);
	c = gather(&j);
	assert_int_equal(j.problems, 2);
	assert_int_equal(j.result.unreadable, 2);
	assert_int_equal(j.result.nprocs, 1);
	assert_non_null(strstr(j.last, "02.seg: "));
	assert_non_null(strstr(c->log.job.metadata, "iorama_unreadable=2\n"));
	assert_int_equal(c->partial, BIT(POSIX) | BIT(PROCESS));
	end(&j, c);
}

static void nothing_to_read_leaves_nothing(void **st)
{
	struct job j;

	(void)st;
	begin(&j);
	add_bytes(&j, "rubbish", 7);
	assert_int_equal(rama_gather_job(j.paths, j.n, j.out, &j.opt, &j.result, &j.err),
			 RAMA_EMISSING);
	assert_int_equal(access(j.out, F_OK), -1);
	end(&j, NULL);
}

/* ---- this machine ---------------------------------------------------------------------------- */

static uint64_t start_of(pid_t pid)
{
	char path[64], line[1024] = { 0 }, *p;
	unsigned long long v = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY);
	assert_true(read(fd, line, sizeof(line) - 1) > 0);
	close(fd);
	p = strrchr(line, ')') + 1;
	for (unsigned i = 3; i < 22; i++)
		p = strchr(p + 1, ' ');
	assert_int_equal(sscanf(p, " %llu", &v), 1);
	return v;
}

static void life_is_seen(void **st)
{
	struct rama_seg *s = calloc(1, sizeof(*s));
	pid_t pid = fork();
	siginfo_t info;
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY);

	(void)st;
	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_true(read(fd, s->id.boot, 36) == 36);
	close(fd);
	s->id.pid = pid;
	s->id.pid_start = start_of(pid);
	assert_int_equal(rama_gather_alive(s), 1);
	s->id.pid_start++; /* another process of the same number */
	assert_int_equal(rama_gather_alive(s), 0);
	s->id.pid_start--;
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(rama_gather_alive(s), 0); /* dead, though nobody has asked for it yet */
	waitpid(pid, NULL, 0);
	assert_int_equal(rama_gather_alive(s), 0);
	s->id.boot[0] = '_';
	memcpy(s->id.host, "no-such-host", 13);
	assert_int_equal(rama_gather_alive(s), -1);
	gethostname(s->id.host, sizeof(s->id.host) - 1); /* here, before the last boot */
	assert_int_equal(rama_gather_alive(s), 0);
	free(s);
}

static void segments_are_found(void **st)
{
	struct rama_gather_list list;
	struct rama_err e;
	char link[160], other[160];
	struct job j;

	(void)st;
	begin(&j);
	for (unsigned i = 0; i < 5; i++)
		add_bytes(&j, "x", 1);
	snprintf(link, sizeof(link), "%s/link.seg", j.dir);
	snprintf(other, sizeof(other), "%s/other.txt", j.dir);
	assert_int_equal(symlink(j.path[0], link), 0);
	assert_int_equal(mkdir(other, 0700), 0);
	assert_int_equal(rama_gather_find(&list, j.dir, &e), 0);
	assert_int_equal(list.n, 5);
	for (unsigned i = 0; i < 5; i++)
		assert_string_equal(list.path[i], j.path[i]);
	rama_gather_list_fini(&list);
	unlink(link);
	rmdir(other);
	assert_int_equal(rama_gather_find(&list, "/no/such/place", &e), RAMA_EMISSING);
	end(&j, NULL);
}

/* a worker may begin to work late; its rank tells when it was started */
static void ranks_follow_the_fork_not_the_first_call(void **st)
{
	static const struct {
		int64_t pid;
		uint64_t pid_start, first_call;
	} given[] = { { 10, 100, 0 }, { 12, 103, 5 }, { 11, 103, 9 }, { 9, 104, 4 } };
	struct check *c;
	struct job j;
	struct seg s;

	(void)st;
	begin(&j);
	for (unsigned i = 0; i < 4; i++) {
		make(&s, given[i].pid, i == 0 ? 1 : 10, given[i].first_call * SEG_SECOND);
		s.id->pid_start = given[i].pid_start;
		opened(&s, "/own", 2);
		add(&j, &s);
	}
	c = gather(&j);
	for (unsigned i = 0; i < 4; i++) {
		static const int64_t pid[] = { 10, 11, 12, 9 };

		assert_int_equal(check_get(c, RAMA_TAB_MOD_PROCESS, i)->w[RAMA_TAB_PROCESS_PID].i,
				 pid[i]);
	}
	end(&j, c);
}

/* ---- ranks of an MPI job, and logs that they made -------------------------------------------- */

/* rank `rank` of `of`, which has opened a file; `late` ns after the first */
static void add_rank(struct job *j, int64_t rank, int64_t of, uint64_t late)
{
	struct seg s;

	make(&s, 100 + rank, 1, late);
	s.id->rank = rank;
	s.id->nprocs = of;
	opened(&s, "/common", 10 + rank);
	add(j, &s);
}

static void ranks_without_segments_are_named(void **st)
{
	struct check *c;
	struct job j;

	(void)st;
	begin(&j);
	add_rank(&j, 1, 6, 0);
	add_rank(&j, 4, 6, 0);
	c = gather(&j);
	assert_int_equal(c->log.job.nprocs, 6);
	assert_non_null(strstr(c->log.job.metadata, "\niorama_missing=0,2-3,5\n"));
	assert_true(c->partial & RAMA_LOG_PARTIAL_END);
	end(&j, c);
}

static void the_job_begins_with_its_first_rank(void **st)
{
	struct check_record *r;
	struct check *c;
	struct job j;

	(void)st;
	begin(&j);
	add_rank(&j, 0, 2, 3 * SEG_SECOND);
	add_rank(&j, 1, 2, 0);
	c = gather(&j);
	r = check_get(c, RAMA_TAB_MOD_POSIX, 0); /* opened one second after the start of each */
	assert_int_equal(r->r.w[RAMA_TAB_RANK].i, 0);
	assert_true(fabs(r->r.w[RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP].f - 4) < 1e-6);
	r = check_get(c, RAMA_TAB_MOD_POSIX, 1);
	assert_true(fabs(r->r.w[RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP].f - 1) < 1e-6);
	end(&j, c);
}

/* A log of ranks 0 and 2 of 4, and what rank 1, a process without MPI and a rank of another job
 * have left here. */
static void logs_of_ranks_are_joined(void **st)
{
	static const int64_t truth[6] = { 10, 11, 12, -1, 1000, 10 };
	int64_t opens[6] = { -1, -1, -1, -1, -1, -1 };
	struct job first, j;
	const char *logs[] = { first.out };
	struct check *c;
	struct seg s;

	(void)st;
	begin(&first);
	add_rank(&first, 0, 4, 0);
	add_rank(&first, 2, 4, 0);
	check_end(gather(&first));
	begin(&j);
	j.opt.logs = logs;
	j.opt.n_logs = 1;
	add_rank(&j, 1, 4, 1);
	make(&s, 7, 1, 2);
	opened(&s, "/common", 1000);
	add(&j, &s);
	add_rank(&j, 0, 4, 3); /* the log has a rank 0: this one is another's */
	c = gather(&j);
	assert_int_equal(c->log.job.nprocs, 6);
	assert_non_null(strstr(c->log.job.metadata, "\niorama_missing=3\n"));
	for (unsigned i = 0; i < check_count(c, RAMA_TAB_MOD_POSIX); i++) {
		struct check_record *r = check_get(c, RAMA_TAB_MOD_POSIX, i);

		assert_in_range(r->r.w[RAMA_TAB_RANK].i, 0, 5);
		opens[r->r.w[RAMA_TAB_RANK].i] = r->r.w[RAMA_TAB_POSIX_OPENS].i;
	}
	assert_memory_equal(opens, truth, sizeof(truth));
	end(&j, c);
	end(&first, NULL);
}

static void a_log_of_ranks_that_is_damaged_is_named(void **st)
{
	struct job j;
	const char *logs[] = { j.path[0] };

	(void)st;
	begin(&j);
	add_bytes(&j, "no log", 6);
	j.opt.logs = logs;
	j.opt.n_logs = 1;
	assert_true(rama_gather_job(NULL, 0, j.out, &j.opt, &j.result, &j.err) < 0);
	assert_non_null(strstr(j.err.text, j.path[0]));
	end(&j, NULL);
}

UNIT_GROUP(job, test(processes_become_ranks_by_start), test(ranks_without_segments_are_named),
	   test(the_job_begins_with_its_first_rank), test(logs_of_ranks_are_joined),
	   test(a_log_of_ranks_that_is_damaged_is_named),
	   test(ranks_follow_the_fork_not_the_first_call),
	   test(files_of_all_are_reduced_when_asked), test(notes_job_and_command),
	   test(programs_of_a_process_share_a_rank), test(usage_that_is_not_known),
	   test(shared_files_count_processes), test(killed_processes_are_marked),
	   test(stopped_workers_are_whole), test(replaced_by_a_stranger),
	   test(unreadable_segments_are_told), test(nothing_to_read_leaves_nothing),
	   test(life_is_seen), test(segments_are_found))
