/* SPDX-License-Identifier: BSD-3-Clause */
/* look.c: jobs that are made up: segments in files that the test changes as their processes
 * would, a /proc and clocks of its own. */
#include "look/look.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "seg.h"
#include "unit.h"

#define MS 1000000ull
#define NS 1e-9

static uint64_t clock_now; /* ns; the ticks of the segments are the same */

static void fake_now(void *ctx, unsigned source, uint64_t *tick, uint64_t *mono, uint64_t *real)
{
	(void)ctx;
	(void)source;
	*tick = *mono = clock_now;
	*real = SEG_REAL0 + clock_now;
}

/* ---- the machine ----------------------------------------------------------------------------- */

struct machine {
	char top[64], proc[80], dir[80];
	struct rama_look *l;
};

static void put_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	fclose(f);
}

static void make_dir(const char *fmt, const char *top, const char *more)
{
	char path[256];

	snprintf(path, sizeof(path), fmt, top, more);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* looks into these directories of one user, or of all */
static void look_into(struct machine *m, const char *const *dirs, size_t n, uint32_t uid)
{
	struct rama_look_options o = {
		.uid = uid, .linger = 5, .now = fake_now, .dir = dirs, .n_dirs = n, .proc = m->proc
	};
	struct rama_err e = { 0 };

	assert_int_equal(rama_look_create(&m->l, &o, &e), 0);
}

static void machine_make(struct machine *m)
{
	const char *dirs[1];
	char path[256];

	snprintf(m->top, sizeof(m->top), "/tmp/iorama-look-XXXXXX");
	assert_non_null(mkdtemp(m->top));
	snprintf(m->proc, sizeof(m->proc), "%s/proc", m->top);
	snprintf(m->dir, sizeof(m->dir), "%s/segs", m->top);
	make_dir("%s/%s", m->top, "proc");
	make_dir("%s/%s", m->top, "segs");
	make_dir("%s/%s", m->top, "proc/sys");
	make_dir("%s/%s", m->top, "proc/sys/kernel");
	make_dir("%s/%s", m->top, "proc/sys/kernel/random");
	snprintf(path, sizeof(path), "%s/sys/kernel/random/boot_id", m->proc);
	put_text(path, "00000000-1111-2222-3333-444444444444\n");
	dirs[0] = m->dir;
	clock_now = 100 * SEG_SECOND;
	look_into(m, dirs, 1, (uint32_t)geteuid());
}

static int drop(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void machine_end(struct machine *m)
{
	rama_look_destroy(m->l);
	assert_int_equal(nftw(m->top, drop, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void look_after(struct machine *m, uint64_t ns)
{
	struct rama_err e = { 0 };

	clock_now += ns;
	assert_int_equal(rama_look_take(m->l, &e), 0);
}

/* ---- processes ------------------------------------------------------------------------------- */

/* a segment that lies in a file and is mapped here, too: what is written is seen by who looks */
struct live {
	struct seg s;
	char path[256];
	int64_t pid;
};

static void proc_start(const struct machine *m, int64_t pid, char state)
{
	char path[256], line[256];

	snprintf(path, sizeof(path), "%s/%lld", m->proc, (long long)pid);
	if (mkdir(path, 0700) == 0) {
		snprintf(path, sizeof(path), "%s/%lld/fd", m->proc, (long long)pid);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	snprintf(path, sizeof(path), "%s/%lld/stat", m->proc, (long long)pid);
	snprintf(line, sizeof(line),
		 "%lld (a) b (c) %c 1 1 1 0 0 0 0 0 0 0 0 0 0 0 20 0 1 0 5555 0 0\n",
		 (long long)pid, state);
	put_text(path, line);
}

static void proc_end(const struct machine *m, int64_t pid)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%lld/stat", m->proc, (long long)pid);
	assert_int_equal(unlink(path), 0);
}

static void proc_file(const struct machine *m, int64_t pid, int fd, const char *target)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%lld/fd/%d", m->proc, (long long)pid, fd);
	assert_int_equal(symlink(target, path), 0);
}

static void live_make(struct live *p, const struct machine *m, const char *job, int64_t pid)
{
	struct seg s;
	char dir[200];
	int fd;

	seg_make(&s, 12, 4, 0);
	s.id->pid = pid;
	s.id->uid = (int64_t)geteuid();
	s.id->clock.tick0 = s.id->clock.mono0 = clock_now;
	s.id->clock.real0 = SEG_REAL0 + clock_now;
	s.id->clock.tick1 = s.id->clock.mono1 = s.id->clock.real1 = 0;
	s.state->phase = RAMA_SEG_RUNNING;
	s.state->threads_now = 1;
	snprintf(dir, sizeof(dir), "%s/%s", m->dir, job);
	mkdir(dir, 0700);
	*p = (struct live){ .pid = pid };
	snprintf(p->path, sizeof(p->path), "%s/node1.%lld.0.seg", dir, (long long)pid);
	fd = open(p->path, O_CREAT | O_EXCL | O_RDWR, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, s.bytes, s.size), s.size);
	p->s = s;
	p->s.bytes = mmap(NULL, s.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(p->s.bytes, MAP_FAILED);
	close(fd);
	p->s.head = (void *)p->s.bytes;
	p->s.id = seg_area(&p->s, RAMA_SEG_AREA_IDENTITY);
	p->s.state = seg_area(&p->s, RAMA_SEG_AREA_STATE);
	p->s.control = seg_area(&p->s, RAMA_SEG_AREA_CONTROL);
	free(s.bytes);
	proc_start(m, pid, 'S');
}

static void live_end(struct live *p)
{
	munmap(p->s.bytes, p->s.size);
}

static void write_some(struct rama_core_posix_file *f, int64_t calls, int64_t bytes, uint64_t ns)
{
	f->w[RAMA_TAB_POSIX_WRITES].i += calls;
	f->w[RAMA_TAB_POSIX_BYTES_WRITTEN].i += bytes;
	f->w[RAMA_TAB_POSIX_F_WRITE_TIME].u += ns;
	f->seq += 2;
}

static void read_some(struct rama_core_posix_file *f, int64_t calls, int64_t bytes, uint64_t ns)
{
	f->w[RAMA_TAB_POSIX_READS].i += calls;
	f->w[RAMA_TAB_POSIX_BYTES_READ].i += bytes;
	f->w[RAMA_TAB_POSIX_F_READ_TIME].u += ns;
	f->seq += 2;
}

static void close_to(double a, double b)
{
	if (!(a > b - 1e-6 && a < b + 1e-6))
		fail_msg("%.9f is not %.9f", a, b);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void gains_are_those_since_the_look_before(void **st)
{
	struct rama_core_posix_file *f, *g;
	const struct rama_look_job *j;
	struct machine m;
	struct live a, b;

	(void)st;
	machine_make(&m);
	live_make(&a, &m, "run-1-1", 100);
	live_make(&b, &m, "run-1-1", 101);
	f = seg_posix(&a.s, seg_name(&a.s, "/data/a"));
	g = seg_posix(&b.s, seg_name(&b.s, "/data/b"));
	write_some(f, 10, 1000, 5 * MS);
	look_after(&m, SEG_SECOND);
	assert_int_equal(m.l->n, 1);
	j = m.l->job[0];
	assert_int_equal(j->n, 2);
	assert_int_equal(j->total.bytes_written, 1000);
	assert_int_equal(j->gain.bytes_written, 0);
	close_to(m.l->interval, 0);

	write_some(f, 20, 4000, 100 * MS);
	read_some(g, 5, 500, 20 * MS);
	g->w[RAMA_TAB_POSIX_F_MAX_READ_TIME].u = 9 * MS;
	look_after(&m, 2 * SEG_SECOND);
	j = m.l->job[0];
	close_to(m.l->interval, 2);
	assert_int_equal(j->total.bytes_written, 5000);
	assert_int_equal(j->gain.bytes_written, 4000);
	assert_int_equal(j->gain.writes, 20);
	assert_int_equal(j->gain.reads, 5);
	close_to(rama_look_latency(&j->process[0]->gain), 0.005);
	close_to(j->process[0]->share, 0.05);
	close_to(j->process[1]->longest, 0.009);
	assert_int_equal(j->layer_gain[0].writes, 20);
	assert_string_equal(j->key + strlen(j->key) - 8, "/run-1-1");

	look_after(&m, SEG_SECOND);
	assert_int_equal(m.l->job[0]->gain.bytes_written, 0);
	assert_int_equal(m.l->job[0]->total.bytes_written, 5000);
	machine_end(&m);
	live_end(&a);
	live_end(&b);
}

static void a_process_that_began_in_between_gained_all_it_has(void **st)
{
	struct machine m;
	struct live a;

	(void)st;
	machine_make(&m);
	look_after(&m, SEG_SECOND);
	assert_int_equal(m.l->n, 0);
	clock_now += 100 * MS;
	live_make(&a, &m, "run-1-1", 100);
	write_some(seg_posix(&a.s, seg_name(&a.s, "/data/a")), 3, 300, MS);
	look_after(&m, SEG_SECOND);
	assert_int_equal(m.l->job[0]->gain.bytes_written, 300);
	machine_end(&m);
	live_end(&a);
}

static void standard_streams_are_no_files(void **st)
{
	struct rama_core_stdio_file *f;
	struct machine m;
	struct live a;

	(void)st;
	machine_make(&m);
	live_make(&a, &m, "run-1-1", 100);
	f = seg_stdio(&a.s, seg_name(&a.s, "<STDOUT>"), true);
	f->w[RAMA_TAB_STDIO_WRITES].i = 7;
	f->w[RAMA_TAB_STDIO_BYTES_WRITTEN].i = 700;
	f->seq = 2;
	f = seg_stdio(&a.s, seg_name(&a.s, "/data/text"), false);
	f->w[RAMA_TAB_STDIO_WRITES].i = 2;
	f->w[RAMA_TAB_STDIO_BYTES_WRITTEN].i = 20;
	f->seq = 2;
	look_after(&m, SEG_SECOND);
	assert_int_equal(m.l->job[0]->total.bytes_written, 20);
	machine_end(&m);
	live_end(&a);
}

/* MPI-IO above POSIX: bytes are those of the system, time is that of the calls which the process
 * made */
static void time_is_that_of_the_upper_layer(void **st)
{
	struct rama_core_mpiio_file *f;
	struct rama_core_posix_file *g;
	const struct rama_look_process *p;
	struct rama_look_files files;
	struct rama_err e = { 0 };
	struct machine m;
	struct live a;
	uint32_t name;

	(void)st;
	machine_make(&m);
	live_make(&a, &m, "mpi-1", 100);
	name = seg_name(&a.s, "/data/shared");
	g = seg_posix(&a.s, name);
	f = seg_slot(&a.s, RAMA_SEG_KIND_MPIIO, 0);
	f += a.s.state->slots_used[RAMA_SEG_KIND_MPIIO]++;
	rama_core_mpiio_init(f, seg_id(&a.s, name));
	f->name = name;
	look_after(&m, SEG_SECOND);
	write_some(g, 4, 4096, 100 * MS);
	f->w[RAMA_TAB_MPIIO_COLL_WRITES].i = 1;
	f->w[RAMA_TAB_MPIIO_BYTES_WRITTEN].i = 4096;
	f->w[RAMA_TAB_MPIIO_F_WRITE_TIME].u = 700 * MS;
	f->seq += 2;
	look_after(&m, SEG_SECOND);
	p = m.l->job[0]->process[0];
	assert_int_equal(p->gain.bytes_written, 4096);
	close_to(p->time_write, 0.7);
	close_to(p->share, 0.7);
	assert_int_equal(p->wait, RAMA_LOOK_WAIT_WRITE);
	assert_int_equal(rama_look_files(&files, m.l->job[0], NULL, RAMA_LOOK_BY_RATE, 10, &e), 0);
	assert_int_equal(files.n, 1);
	assert_string_equal(files.file[0].name, "/data/shared");
	assert_int_equal(files.file[0].gain.writes, 1); /* not 5 */
	rama_look_files_fini(&files);
	machine_end(&m);
	live_end(&a);
}

static void calls_at_work_count_while_they_last(void **st)
{
	const struct rama_look_process *p;
	struct rama_core_posix_file *f;
	struct rama_seg_lane *lane;
	struct machine m;
	struct live a;

	(void)st;
	machine_make(&m);
	live_make(&a, &m, "run-1-1", 100);
	proc_file(&m, 100, 5, "/data/slow");
	f = seg_posix(&a.s, seg_name(&a.s, "/data/slow"));
	lane = seg_lane(&a.s, 1);
	lane->tid = 4711;
	look_after(&m, SEG_SECOND);
	lane->doing_since = clock_now + 500 * MS;
	lane->doing = RAMA_SEG_DOING(RAMA_TAB_FN_pread64, 5);
	look_after(&m, SEG_SECOND); /* it has lasted half a second */
	p = m.l->job[0]->process[0];
	assert_int_equal(p->n_calls, 1);
	assert_int_equal(p->n_told, 1);
	assert_string_equal(p->call[0].fn, "pread64");
	assert_string_equal(p->call[0].name, "/data/slow");
	assert_int_equal(p->call[0].tid, 4711);
	close_to(p->call[0].since, 0.5);
	close_to(p->share, 0.5);
	look_after(&m, 2 * SEG_SECOND);
	close_to(p->share, 1);
	close_to(p->longest, 2.5);
	assert_int_equal(p->wait, RAMA_LOOK_WAIT_READ);

	/* it ends: its 3.0 s are counted now, but 2.5 of them were told already */
	lane->doing_since = lane->doing = 0;
	read_some(f, 1, 4096, 3000 * MS);
	look_after(&m, SEG_SECOND);
	assert_int_equal(p->n_calls, 0);
	close_to(p->share, 0.5);
	assert_int_equal(p->gain.reads, 1);
	machine_end(&m);
	live_end(&a);
}

static void waiting_for_a_pipe_is_no_io(void **st)
{
	struct rama_seg_lane *lane;
	struct machine m;
	struct live a;

	(void)st;
	machine_make(&m);
	live_make(&a, &m, "run-1-1", 100);
	proc_file(&m, 100, 5, "pipe:[77]");
	proc_file(&m, 100, 6, "/dev/pts/3");
	proc_file(&m, 100, 7, "/dev/shm/data");
	look_after(&m, SEG_SECOND);
	for (int fd = 5; fd <= 7; fd++) {
		lane = seg_lane(&a.s, (uint64_t)fd);
		lane->doing = RAMA_SEG_DOING(RAMA_TAB_FN_read, fd);
		lane->doing_since = clock_now;
	}
	lane = seg_lane(&a.s, 8);
	lane->doing = RAMA_SEG_DOING(RAMA_TAB_FN_accept, -1);
	lane->doing_since = clock_now;
	look_after(&m, SEG_SECOND);
	assert_int_equal(m.l->job[0]->process[0]->n_calls, 1);
	assert_string_equal(m.l->job[0]->process[0]->call[0].name, "/dev/shm/data");
	machine_end(&m);
	live_end(&a);
}

static void what_ended_stays_for_a_while(void **st)
{
	struct machine m;
	struct live a, b;

	(void)st;
	machine_make(&m);
	live_make(&a, &m, "run-1-1", 100);
	live_make(&b, &m, "run-1-1", 101);
	write_some(seg_posix(&a.s, seg_name(&a.s, "/data/a")), 1, 100, MS);
	look_after(&m, SEG_SECOND);
	proc_end(&m, 100); /* killed */
	look_after(&m, SEG_SECOND);
	look_after(&m, SEG_SECOND);
	assert_int_equal(m.l->job[0]->process[0]->state, RAMA_LOOK_KILLED);
	assert_int_equal(m.l->job[0]->running, 1);
	assert_int_equal(m.l->job[0]->n, 2);
	look_after(&m, 6 * SEG_SECOND);
	assert_int_equal(m.l->job[0]->n, 1);
	assert_int_equal(m.l->job[0]->process[0]->rank, 1); /* as before */
	assert_int_equal(m.l->job[0]->gone, 1);
	assert_int_equal(m.l->job[0]->total.bytes_written, 100); /* what it did is not forgotten */

	b.s.state->phase = RAMA_SEG_DONE;
	unlink(a.path);
	unlink(b.path);
	look_after(&m, SEG_SECOND);
	assert_int_equal(m.l->n, 1);
	assert_true(m.l->job[0]->ended);
	assert_int_equal(m.l->job[0]->process[0]->state, RAMA_LOOK_ENDED);
	look_after(&m, 6 * SEG_SECOND);
	look_after(&m, SEG_SECOND);
	assert_int_equal(m.l->n, 0);
	machine_end(&m);
	live_end(&a);
	live_end(&b);
}

static void what_was_dead_before_is_not_shown(void **st)
{
	struct machine m;
	struct live a, b;

	(void)st;
	machine_make(&m);
	live_make(&a, &m, "run-1-1", 100);
	live_make(&b, &m, "run-2-2", 101);
	proc_end(&m, 100);
	proc_start(&m, 101, 'Z');
	look_after(&m, SEG_SECOND);
	assert_int_equal(m.l->n, 0);
	machine_end(&m);
	live_end(&a);
	live_end(&b);
}

static void what_has_not_begun_is_not_shown(void **st)
{
	struct machine m;
	struct live a, b;

	(void)st;
	machine_make(&m);
	live_make(&a, &m, "run-1-1", 100);
	live_make(&b, &m, "run-2-2", 101);
	a.s.state->phase = RAMA_SEG_STARTING;
	b.s.id->pid = 0;
	look_after(&m, SEG_SECOND);
	assert_int_equal(m.l->n, 0);
	a.s.state->phase = RAMA_SEG_RUNNING;
	look_after(&m, SEG_SECOND);
	assert_int_equal(m.l->n, 1);
	assert_int_equal(m.l->job[0]->running, 1);
	machine_end(&m);
	live_end(&a);
	live_end(&b);
}

static void a_segment_that_moves_takes_its_process_along(void **st)
{
	char path[256], dir[256];
	struct machine m;
	struct live a;

	(void)st;
	machine_make(&m);
	live_make(&a, &m, "job-100", 100);
	look_after(&m, SEG_SECOND);
	assert_string_equal(m.l->job[0]->name, "job-100");
	snprintf(dir, sizeof(dir), "%s/mpi-9", m.dir);
	snprintf(path, sizeof(path), "%s/mpi-9/node1.100.0.seg", m.dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(rename(a.path, path), 0);
	a.s.id->rank = 3;
	a.s.id->nprocs = 4;
	look_after(&m, SEG_SECOND);
	assert_int_equal(m.l->n, 1);
	assert_string_equal(m.l->job[0]->name, "mpi-9");
	assert_int_equal(m.l->job[0]->process[0]->rank, 3);
	machine_end(&m);
	live_end(&a);
}

static void ranks_are_those_of_mpi_then_by_start(void **st)
{
	struct machine m;
	struct live p[4];
	const struct rama_look_job *j;

	(void)st;
	machine_make(&m);
	for (int i = 0; i < 4; i++) {
		live_make(&p[i], &m, "run-1-1", 100 + i);
		clock_now += MS;
	}
	for (int i = 2; i < 4; i++) { /* the last ones are the ranks, started by the first */
		p[i].s.id->rank = 3 - i;
		p[i].s.id->nprocs = 2;
	}
	look_after(&m, SEG_SECOND);
	j = m.l->job[0];
	assert_int_equal(j->process[0]->pid, 103);
	assert_int_equal(j->process[1]->pid, 102);
	assert_int_equal(j->process[2]->pid, 100);
	assert_int_equal(j->process[2]->rank, 2);
	assert_int_equal(j->process[3]->rank, 3);
	machine_end(&m);
	for (int i = 0; i < 4; i++)
		live_end(&p[i]);
}

static void events_and_their_reader(void **st)
{
	struct rama_seg_lane *lane;
	struct machine m;
	struct live a;

	(void)st;
	machine_make(&m);
	live_make(&a, &m, "run-1-1", 100);
	lane = seg_lane(&a.s, 1);
	lane->made = 1000;
	lane->dropped = 7;
	a.s.control->live = 1;
	a.s.control->taken[0] = 900;
	a.s.control->reader = 555;
	proc_start(&m, 555, 'S');
	look_after(&m, SEG_SECOND);
	assert_int_equal(m.l->job[0]->live.made, 1000);
	assert_int_equal(m.l->job[0]->live.dropped, 7);
	assert_int_equal(m.l->job[0]->live.taken, 900);
	assert_int_equal(m.l->job[0]->live.reader, 555);
	a.s.control->taken[0] = UINT64_MAX; /* nonsense */
	a.s.control->reader = 556;	    /* of one that is gone */
	look_after(&m, SEG_SECOND);
	assert_int_equal(m.l->job[0]->live.taken, 1000);
	assert_int_equal(m.l->job[0]->live.reader, 0);
	machine_end(&m);
	live_end(&a);
}

static void the_trail_is_by_seconds(void **st)
{
	struct rama_core_posix_file *f;
	struct machine m;
	struct live a;
	double sum = 0;

	(void)st;
	machine_make(&m);
	clock_now += 250 * MS;
	live_make(&a, &m, "run-1-1", 100);
	f = seg_posix(&a.s, seg_name(&a.s, "/data/a"));
	look_after(&m, SEG_SECOND); /* 101.25 */
	write_some(f, 1, 4000, MS);
	look_after(&m, 4 * SEG_SECOND); /* 105.25: a quarter of a second is 250 bytes */
	close_to(rama_look_trail_bytes(&m.l->job[0]->trail, 0), 250);
	close_to(rama_look_trail_bytes(&m.l->job[0]->trail, 1), 1000);
	close_to(rama_look_trail_bytes(&m.l->job[0]->trail, 4), 750);
	close_to(rama_look_trail_bytes(&m.l->job[0]->trail, 5), 0);
	write_some(f, 1, 100, MS);
	look_after(&m, 500 * MS);
	for (unsigned i = 0; i < RAMA_LOOK_TRAIL; i++)
		sum += rama_look_trail_bytes(&m.l->job[0]->trail, i);
	close_to(sum, 4100);
	look_after(&m, 100 * SEG_SECOND); /* all that is too long ago */
	close_to(rama_look_trail_bytes(&m.l->job[0]->trail, 30), 0);
	machine_end(&m);
	live_end(&a);
}

static void links_and_others_files_are_left_alone(void **st)
{
	char path[256];
	struct machine m;
	struct live a;

	(void)st;
	machine_make(&m);
	live_make(&a, &m, "run-1-1", 100);
	snprintf(path, sizeof(path), "%s/run-1-1/link.seg", m.dir);
	assert_int_equal(symlink(a.path, path), 0);
	snprintf(path, sizeof(path), "%s/linked", m.dir);
	assert_int_equal(symlink("run-1-1", path), 0);
	snprintf(path, sizeof(path), "%s/run-1-1/fifo.seg", m.dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(path, sizeof(path), "%s/run-1-1/short.seg", m.dir);
	put_text(path, "nothing");
	look_after(&m, SEG_SECOND);
	assert_int_equal(m.l->n, 1);
	assert_int_equal(m.l->job[0]->n, 1);
	assert_int_equal(m.l->job[0]->unreadable, 1);
	machine_end(&m);
	live_end(&a);
}

/* A job goes on under its name in another directory, but never in somebody else's. */
static void a_name_is_of_one_user(void **st)
{
	const uint32_t other = 20131;
	char own[80], path[256];
	const char *dirs[] = { own, path };
	struct machine m;
	struct live a, b;
	unsigned seen = 0;

	(void)st;
	if (geteuid() != 0) {
		print_message("SKIP: only root can be two users\n");
		skip();
	}
	machine_make(&m);
	live_make(&a, &m, "run-1-1", 100);
	memcpy(own, m.dir, sizeof(own));
	snprintf(m.dir, sizeof(m.dir), "%s/others", m.top);
	make_dir("%s/%s", m.top, "others");
	live_make(&b, &m, "run-1-1", 101);
	b.s.id->uid = other;
	assert_int_equal(chown(b.path, other, other), 0);
	snprintf(path, sizeof(path), "%s/run-1-1", m.dir);
	assert_int_equal(chown(path, other, other), 0);
	assert_int_equal(chown(m.dir, other, other), 0);
	rama_look_destroy(m.l);
	snprintf(path, sizeof(path), "%s", m.dir);
	look_into(&m, dirs, 2, UINT32_MAX);
	for (unsigned round = 0; round < 2; round++) {
		look_after(&m, SEG_SECOND);
		assert_int_equal(m.l->n, 2);
		for (size_t i = 0; i < m.l->n; i++) {
			const struct rama_look_job *j = m.l->job[i];

			assert_string_equal(j->name, "run-1-1");
			assert_int_equal(j->n, 1);
			assert_int_equal(j->process[0]->uid, j->uid);
			seen |= j->uid == other ? 2 : 1;
		}
		assert_int_equal(seen, 3);
	}
	machine_end(&m);
	live_end(&a);
	live_end(&b);
}

/* Whatever is in it: figures may be nonsense, nothing else happens (sanitizers look on). */
static void a_hostile_segment_is_harmless(void **st)
{
	struct rng r = { 6 };
	struct machine m;
	struct live a;

	(void)st;
	machine_make(&m);
	live_make(&a, &m, "run-1-1", 100);
	for (int i = 0; i < 4; i++)
		write_some(seg_posix(&a.s, seg_name(&a.s, "/data/a")), 1, 100, MS);
	seg_lane(&a.s, 1);
	look_after(&m, SEG_SECOND);
	for (int i = 0; i < 3000; i++) {
		size_t at = RAMA_SEG_PAGE + rng_below(&r, a.s.size - RAMA_SEG_PAGE - 8);
		struct rama_look_files f;
		struct rama_err e = { 0 };

		for (int k = 0; k < 64; k++) {
			uint64_t v = rng_u64(&r);

			memcpy(a.s.bytes + at, &v, sizeof(v));
			at = RAMA_SEG_PAGE + rng_below(&r, a.s.size - RAMA_SEG_PAGE - 8);
		}
		a.s.state->phase = RAMA_SEG_RUNNING;
		a.s.id->pid = 100;
		a.s.id->pid_start = 5555;
		look_after(&m, SEG_SECOND);
		if (m.l->n > 0) {
			assert_int_equal(rama_look_files(&f, m.l->job[0], NULL, RAMA_LOOK_BY_NAME,
							 100, &e),
					 0);
			rama_look_files_fini(&f);
		}
	}
	machine_end(&m);
	live_end(&a);
}

/* The first test of all: the guard is set up once, and the test library takes its place from
 * then on. */
static void a_segment_may_shrink_while_it_is_looked_at(void **st)
{
	struct machine m;
	struct live a;

	(void)st;
	machine_make(&m);
	live_make(&a, &m, "run-1-1", 100);
	write_some(seg_posix(&a.s, seg_name(&a.s, "/data/a")), 1, 100, MS);
	look_after(&m, SEG_SECOND);
	assert_int_equal(truncate(a.path, RAMA_SEG_PAGE), 0);
	look_after(&m, SEG_SECOND);
	look_after(&m, SEG_SECOND);
	assert_int_equal(m.l->job[0]->running, 0);
	machine_end(&m);
	live_end(&a);
}

static void many_slots_are_read_in_turns(void **st)
{
	struct rama_core_posix_file *f[10];
	struct machine m;
	struct live a;
	uint64_t sum = 0;

	(void)st;
	machine_make(&m);
	live_make(&a, &m, "run-1-1", 100);
	for (int i = 0; i < 10; i++) {
		char name[32];

		snprintf(name, sizeof(name), "/data/%d", i);
		f[i] = seg_posix(&a.s, seg_name(&a.s, name));
	}
	look_after(&m, SEG_SECOND);
	for (int i = 0; i < 10; i++) {
		struct rama_look_files files;
		struct rama_err e = { 0 };

		write_some(f[i], 1, i + 1, MS);
		sum += (uint64_t)i + 1;
		look_after(&m, SEG_SECOND);
		assert_int_equal(rama_look_files(&files, m.l->job[0], m.l->job[0]->process[0],
						 RAMA_LOOK_BY_RATE, 3, &e),
				 0);
		assert_int_equal(files.file[0].gain.bytes_written, i + 1);
		assert_int_equal(files.of, i + 1);
		rama_look_files_fini(&files);
	}
	assert_int_equal(m.l->job[0]->total.bytes_written, sum);
	machine_end(&m);
	live_end(&a);
}

UNIT_GROUP(look, test(a_segment_may_shrink_while_it_is_looked_at), test(a_name_is_of_one_user),
	   test(gains_are_those_since_the_look_before),
	   test(a_process_that_began_in_between_gained_all_it_has),
	   test(standard_streams_are_no_files), test(time_is_that_of_the_upper_layer),
	   test(calls_at_work_count_while_they_last), test(waiting_for_a_pipe_is_no_io),
	   test(what_ended_stays_for_a_while), test(what_was_dead_before_is_not_shown),
	   test(what_has_not_begun_is_not_shown),
	   test(a_segment_that_moves_takes_its_process_along),
	   test(ranks_are_those_of_mpi_then_by_start), test(events_and_their_reader),
	   test(the_trail_is_by_seconds), test(links_and_others_files_are_left_alone),
	   test(a_hostile_segment_is_harmless), test(many_slots_are_read_in_turns))
