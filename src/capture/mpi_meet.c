/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_meet.c: in MPI_Init the ranks find each other, so that they can make one log later.
 *
 * They need a communicator of their own, and what makes one is called by all ranks or by none: if only some of them are
 * observed, those would wait for the others, and in some MPIs the application would too, for ever. So they first make
 * sure of each other by means that harm nobody: ranks of one node through a word of shared memory, ranks of several
 * nodes through messages that each takes before its application can see them. Where this fails, each rank makes a log
 * of its own. */
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "capture/mpi.h"
#include "config/text.h"
#include "gather/shutdown.h"

#define MEET_LIMIT 10.0	  /* seconds: all of them are in MPI_Init now */
#define ANSWER_LIMIT 30.0 /* of the rank that asks all others */
#define VETO (1u << 31)	  /* somebody has given up: then all do */

enum { TAG_HERE = RAMA_SHUTDOWN_TAGS, TAG_ANSWER, TAG_JOB };

struct rama_mpi_post rama_mpi_post;

/* ---- ranks of this node ---------------------------------------------------------------------------------- */

/* how many ranks of the job run on this node; 0: its launcher does not say */
static int64_t ranks_here(void)
{
	return rama_mpi_number("OMPI_COMM_WORLD_LOCAL_SIZE", rama_mpi_number("MPI_LOCALNRANKS", 0));
}

/* what tells the job's ranks from other processes of this node; false: not known */
static bool name_world(struct rama_text *t)
{
	const char *space = rama_variable("PMIX_NAMESPACE");
	int64_t fd = rama_mpi_number("PMI_FD", -1);
	struct ucred proxy = { 0 };
	unsigned len = sizeof(proxy);

	if (space && space[0] && !strchr(space, '/')) {
		rama_text_str(t, space);
		return !t->cut;
	}
	/* MPICH: the process that started them is at the other end */
	if (fd < 0 || rama_sys6(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (long)&proxy,
				(long)&len, 0) != 0)
		return false;
	rama_text_i64(t, proxy.pid);
	return !t->cut;
}

/* beside the directories of the jobs: .meet-HOST-WORLD */
static bool name_file(char *path, size_t size)
{
	const char *end = strrchr(rama_run.path, '/');
	struct rama_text t;

	while (end && end > rama_run.path && *--end != '/')
		;
	if (!end)
		return false;
	rama_text_init(&t, path, size);
	rama_text_put(&t, rama_run.path, (size_t)(end - rama_run.path));
	rama_text_str(&t, "/.meet-");
	rama_text_str(&t, rama_run.id->host);
	rama_text_str(&t, "-");
	return name_world(&t);
}

static uint32_t *map_word(const char *path)
{
	int fd = rama_sys_open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
	long p = -1;

	if (fd < 0)
		return NULL;
	/* with memory behind it: to touch it where there is no room would kill the application */
	if (rama_sys3(SYS_ftruncate, fd, RAMA_SEG_PAGE, 0) == 0 &&
	    rama_sys6(SYS_fallocate, fd, 0, 0, RAMA_SEG_PAGE, 0, 0) != -ENOSPC)
		p = rama_sys6(SYS_mmap, 0, RAMA_SEG_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			      0);
	rama_sys_close(fd);
	return p < 0 && p > -4096 ? NULL : (uint32_t *)p;
}

/* Counts this rank; true: all have come. Once they have nobody gives up any more, and once somebody has given up
 * nobody goes on. *last: this rank has decided it. */
static bool count_in(uint32_t *word, uint32_t all, bool *last)
{
	double until = rama_mpi_now(NULL) + MEET_LIMIT;
	uint32_t n = __atomic_add_fetch(word, 1, __ATOMIC_ACQ_REL);

	*last = n == all;
	for (unsigned i = 0; !(n & VETO) && n < all; i++) {
		if (rama_mpi_now(NULL) >= until &&
		    __atomic_compare_exchange_n(word, &n, n | VETO, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
			*last = true;
			return false;
		}
		rama_rest(i * 4);
		n = __atomic_load_n(word, __ATOMIC_ACQUIRE);
	}
	return !(n & VETO);
}

/* Are all ranks of this node observed? */
static bool all_of_node(int64_t here)
{
	static char path[4096];
	bool last = false;

	if (here <= 1 || !name_file(path, sizeof(path)))
		return true;
	uint32_t *word = map_word(path);
	if (!word)
		return false; /* the others will miss this one */
	bool ok = count_in(word, (uint32_t)here, &last);
	if (last)
		rama_sys3(SYS_unlinkat, AT_FDCWD, path, 0);
	rama_sys3(SYS_munmap, word, RAMA_SEG_PAGE, 0);
	return ok;
}

/* ---- ranks of all nodes: up and down a binomial tree ----------------------------------------------------------- */

/* A rank's parent has its number without the lowest bit; a child has a lower one more. */
static int64_t parent_of(int64_t rank)
{
	return rank & (rank - 1);
}

static bool has_child(int64_t bit)
{
	int64_t rank = rama_mpi.rank;

	return (rank == 0 || bit < (rank & -rank)) && rank + bit < rama_mpi.size;
}

/* one message of known size from a rank */
static bool hear(struct rama_mpi_post *p, int64_t from, int tag, void *to, size_t n, double limit)
{
	void *buf = NULL;
	size_t got = 0;

	if (rama_mpi_recv(p, from, tag, &buf, &got, limit) != 0)
		return false;
	if (got == n)
		memcpy(to, buf, n);
	free(buf);
	return got == n;
}

static void pass_down(struct rama_mpi_post *p, int tag, const void *bytes, size_t n)
{
	for (int64_t bit = 1; bit < rama_mpi.size; bit <<= 1)
		if (has_child(bit))
			rama_mpi_send(p, rama_mpi.rank + bit, tag, bytes, n);
}

/* *all becomes what is so on all ranks; a rank that says nothing counts as false. */
static void agree(struct rama_mpi_post *p, bool *all)
{
	double until = rama_mpi_now(NULL) + MEET_LIMIT;
	unsigned char mine = *all, theirs;

	for (int64_t bit = 1; bit < rama_mpi.size; bit <<= 1)
		if (has_child(bit) && (!hear(p, rama_mpi.rank + bit, TAG_HERE, &theirs, 1,
					     until - rama_mpi_now(NULL)) ||
				       !theirs))
			mine = 0;
	if (rama_mpi.rank > 0) {
		rama_mpi_send(p, parent_of(rama_mpi.rank), TAG_HERE, &mine, 1);
		if (!hear(p, parent_of(rama_mpi.rank), TAG_ANSWER, &mine, 1, ANSWER_LIMIT))
			mine = 0;
	}
	pass_down(p, TAG_ANSWER, &mine, 1);
	*all = mine;
}

bool rama_mpi_all(bool mine)
{
	agree(&rama_mpi_post, &mine);
	return mine;
}

/* before there is one: messages in the application's world, which has not begun to use it */
static bool all_of_world(bool mine)
{
	struct rama_mpi_post world = { .comm = RAMA_MPI(COMM_WORLD) };
	double until = rama_mpi_now(NULL) + MEET_LIMIT;

	agree(&world, &mine);
	while (!rama_mpi_collect(&world) && rama_mpi_now(NULL) < until)
		rama_rest(2000);
	return mine;
}

/* ---- one job ------------------------------------------------------------------------------------------------- */

/* Of rank 0; the others take its job for theirs, so that what a killed job leaves can be told to belong together. */
struct job {
	int64_t id;
	uint64_t pid, start;
};

static void join_job(void)
{
	struct job job = { rama_run.id->jobid, (uint64_t)rama_run.pid,
			   rama_run.id->clock.real0 / 1000000000u };
	char name[sizeof(rama_run.id->job)];
	struct rama_text t;

	if (rama_mpi.rank > 0 && !hear(&rama_mpi_post, parent_of(rama_mpi.rank), TAG_JOB, &job,
				       sizeof(job), ANSWER_LIMIT))
		return;
	pass_down(&rama_mpi_post, TAG_JOB, &job, sizeof(job));
	rama_text_init(&t, name, sizeof(name));
	rama_text_str(&t, "mpi-");
	rama_text_u64(&t, job.pid);
	rama_text_str(&t, "-");
	rama_text_u64(&t, job.start);
	rama_join_job(name, job.id);
}

/* `iorama run` makes the log from segments where all ranks are with it: then there is nothing to prepare. Each rank of
 * a job comes to the same answer. */
static bool run_finds_all(int64_t here)
{
	return !rama_variable("IORAMA_RUN_HOST") || (here == rama_mpi.size && rama_by_run());
}

static void meet(void)
{
	int64_t here = ranks_here();
	struct rama_mpi_post *p = &rama_mpi_post;
	uintptr_t request = 0;

	if (!rama_run.bare && run_finds_all(here))
		return;
	bool all = all_of_node(here);
	if (here != rama_mpi.size && rama_mpi.size > 1)
		all = all_of_world(all);
	if (!all || rama_mpi.call.Comm_idup(RAMA_MPI(COMM_WORLD), &p->comm, &request) != 0 ||
	    !rama_mpi_wait(&request, ANSWER_LIMIT))
		return;
	rama_mpi.call.Comm_set_errhandler(rama_mpi_load(&p->comm), RAMA_MPI(ERRORS_RETURN));
	p->met = true;
	if (rama_run.bare)
		join_job();
}

void rama_mpi_meet(void)
{
	struct rama_mpi_quiet q;

	if (rama_mpi_post.met || !rama_mpi.call.Comm_idup || rama_mpi.size < 1)
		return;
	rama_mpi_hush(&q);
	meet();
	rama_mpi_unhush(&q);
}
