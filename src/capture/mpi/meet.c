/* SPDX-License-Identifier: BSD-3-Clause */
/* meet.c: in MPI_Init the ranks find each other, so that they can make one log later.
 *
 * They need a communicator of their own, and what makes one is called by all ranks or by none: if
 * only some of them are observed, those would wait for the others, and in some MPIs the application
 * would too, for ever. So they first make sure of each other by means that harm nobody: ranks of
 * one node by a socket of a name that only they know, ranks of several nodes through messages that
 * each takes before its application can see them. Where this fails, each rank makes a log of its
 * own.
 *
 * MPI_Init itself makes all ranks wait for each other. So a rank that is observed comes to the
 * socket before it, and after it who has not come is not observed: nobody waits to see. */
#include <sys/socket.h>
#include <sys/un.h>

#include "capture/mpi/mpi.h"
#include "config/text.h"
#include "core/recordid.h"
#include "shutdown/shutdown.h"

#define MEET_LIMIT 10.0	  /* seconds: all of them are in MPI_Init now */
#define CROWD 100	  /* ranks of a node that a queue of the system may not hold at once */
#define ANSWER_LIMIT 30.0 /* of the rank that asks all others */

enum { TAG_HERE = RAMA_SHUTDOWN_TAGS, TAG_ANSWER, TAG_JOB };

struct rama_cap_mpi_post rama_cap_mpi_post;

/* ---- ranks of this node ---------------------------------------------------------------------- */

/* how many ranks of the job run on this node; 0: its launcher does not say */
static int64_t ranks_here(void)
{
	return rama_cap_mpi_number("OMPI_COMM_WORLD_LOCAL_SIZE",
				   rama_cap_mpi_number("MPI_LOCALNRANKS", 0));
}

/* What tells the job's ranks on this node from all other processes: the job, and who started
 * them here; 0: not known, as its launcher is none that we know; 1: not known, as they are kept
 * apart from it. */
static uint64_t world_id(void)
{
	static const char *const server[] = { "PMIX_SERVER_URI41", "PMIX_SERVER_URI4",
					      "PMIX_SERVER_URI3", "PMIX_SERVER_URI21",
					      "PMIX_SERVER_URI2" };
	const char *space = rama_cap_variable("PMIX_NAMESPACE"), *uri = NULL;
	int64_t fd = rama_cap_mpi_number("PMI_FD", -1);
	struct ucred proxy = { 0 };
	unsigned len = sizeof(proxy);

	for (size_t i = 0; i < sizeof(server) / sizeof(server[0]) && !uri; i++)
		uri = rama_cap_variable(server[i]);
	if (space && space[0])
		return (rama_core_record_id(space, strlen(space)) ^
			(uri ? rama_core_record_id(uri, strlen(uri)) * 3 : 0)) |
		       2;
	/* MPICH: the process that started them is at the other end */
	if (fd < 0 || rama_cap_sys6(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (long)&proxy,
				    (long)&len, 0) != 0)
		return 0;
	return proxy.pid > 0 ? (uint64_t)proxy.pid << 2 | 2 : 1;
}

/* The one who came first keeps the socket (`host`), the others are connected to it. Names of
 * this kind are of the network, whatever file systems a rank sees. */
static struct {
	int fd; /* -1: none */
	bool host, tried;
} door = { .fd = -1 };

static unsigned name_door(struct sockaddr_un *to, uint64_t world)
{
	struct rama_config_text t;

	memset(to, 0, sizeof(*to));
	to->sun_family = AF_UNIX;
	rama_config_text_init(&t, to->sun_path + 1, sizeof(to->sun_path) - 1);
	rama_config_text_str(&t, "iorama-meet-");
	rama_config_text_u64(&t, (uint64_t)rama_cap_sys3(SYS_geteuid, 0, 0, 0));
	rama_config_text_str(&t, "-");
	rama_config_text_u64(&t, world);
	return (unsigned)(offsetof(struct sockaddr_un, sun_path) + 1 + t.len);
}

/* anybody may use such a name */
static bool is_mine(int fd)
{
	struct ucred other = { .uid = (uid_t)-1 };
	unsigned len = sizeof(other);

	return rama_cap_sys6(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (long)&other, (long)&len,
			     0) == 0 &&
	       other.uid == (uid_t)rama_cap_sys3(SYS_geteuid, 0, 0, 0);
}

/* out of the way of numbers that the application expects */
static int high(int fd)
{
	long up = fd < 0 ? -1 : rama_cap_sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 500);

	if (up < 0)
		return fd;
	rama_cap_sys_close(fd);
	return (int)up;
}

void rama_cap_mpi_arrive(void)
{
	int64_t here = ranks_here();
	uint64_t world =
		here > 1 && rama_cap_awake() && !rama_cap_off && door.fd < 0 ? world_id() : 0;
	struct sockaddr_un name;

	if (world == 0)
		return;
	door.tried = true;
	unsigned len = name_door(&name, world);
	int fd = world == 1 ? -1
			    : high((int)rama_cap_sys3(SYS_socket, AF_UNIX,
						      SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
						      0));
	/* between the first two of these the other one finds a name at which nobody listens yet */
	for (unsigned i = 0; fd >= 0 && door.fd < 0 && i < RAMA_CAP_PATIENCE; i++) {
		if (rama_cap_sys3(SYS_bind, fd, &name, len) == 0) {
			door.host =
				rama_cap_sys3(SYS_listen, fd, here < 4096 ? here : 4096, 0) == 0;
			door.fd = fd;
		} else if (rama_cap_sys3(SYS_connect, fd, &name, len) == 0) {
			door.fd = fd;
		} else {
			rama_cap_rest(i);
		}
	}
	if (fd >= 0 && door.fd < 0)
		rama_cap_sys_close(fd);
}

/* Those who have come: all of them but this one? Each is told. */
static bool count_in(int64_t here)
{
	int *guest = malloc((size_t)here * sizeof(*guest));
	int64_t n = 0;
	double until = rama_cap_mpi_now(NULL) + MEET_LIMIT;

	for (unsigned i = 0; guest && n < here - 1; i++) {
		long fd = rama_cap_sys6(SYS_accept4, door.fd, 0, 0, SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
					0);

		if (fd >= 0 && is_mine((int)fd))
			guest[n++] = high((int)fd);
		else if (fd >= 0)
			rama_cap_sys_close((int)fd);
		else if (here <= CROWD || rama_cap_mpi_now(NULL) >= until)
			break;
		else
			rama_cap_rest(i);
	}
	char all = guest && n == here - 1;
	for (int64_t i = 0; i < n; i++) {
		rama_cap_sys6(SYS_sendto, guest[i], (long)&all, 1, MSG_NOSIGNAL, 0, 0);
		rama_cap_sys_close(guest[i]);
	}
	free(guest);
	return all;
}

/* what the one who counts says; it does so as soon as MPI_Init has let it go, too */
static bool be_told(void)
{
	double until = rama_cap_mpi_now(NULL) + MEET_LIMIT;
	char all = 0;
	long n = -EAGAIN;

	if (!is_mine(door.fd))
		return false;
	for (unsigned i = 0; n == -EAGAIN && rama_cap_mpi_now(NULL) < until; i++) {
		n = rama_cap_sys6(SYS_recvfrom, door.fd, (long)&all, 1, 0, 0, 0);
		if (n == -EAGAIN)
			rama_cap_rest(i * 4);
	}
	return n == 1 && all;
}

/* Are all ranks of this node observed? */
static bool all_of_node(int64_t here)
{
	if (here <= 1 || !door.tried)
		return true;
	return door.fd >= 0 && (door.host ? count_in(here) : be_told());
}

/* Whoever waits to be told by us is told by this, too. */
void rama_cap_mpi_depart(void)
{
	if (door.fd >= 0)
		rama_cap_sys_close(door.fd);
	door.fd = -1;
	door.host = door.tried = false;
}

/* ---- ranks of all nodes: up and down a binomial tree ----------------------------------------- */

/* A rank's parent has its number without the lowest bit; a child has a lower one more. */
static int64_t parent_of(int64_t rank)
{
	return rank & (rank - 1);
}

static bool has_child(int64_t bit)
{
	int64_t rank = rama_cap_mpi.rank;

	return (rank == 0 || bit < (rank & -rank)) && rank + bit < rama_cap_mpi.size;
}

/* one message of known size from a rank */
static bool hear(struct rama_cap_mpi_post *p, int64_t from, int tag, void *to, size_t n,
		 double limit)
{
	void *buf = NULL;
	size_t got = 0;

	if (rama_cap_mpi_recv(p, from, tag, &buf, &got, limit) != 0)
		return false;
	if (got == n)
		memcpy(to, buf, n);
	free(buf);
	return got == n;
}

static void pass_down(struct rama_cap_mpi_post *p, int tag, const void *bytes, size_t n)
{
	for (int64_t bit = 1; bit < rama_cap_mpi.size; bit <<= 1)
		if (has_child(bit))
			rama_cap_mpi_send(p, rama_cap_mpi.rank + bit, tag, bytes, n);
}

/* *all becomes what is so on all ranks; a rank that says nothing counts as false. */
static void agree(struct rama_cap_mpi_post *p, bool *all)
{
	double until = rama_cap_mpi_now(NULL) + MEET_LIMIT;
	unsigned char mine = *all, theirs;

	for (int64_t bit = 1; bit < rama_cap_mpi.size; bit <<= 1)
		if (has_child(bit) && (!hear(p, rama_cap_mpi.rank + bit, TAG_HERE, &theirs, 1,
					     until - rama_cap_mpi_now(NULL)) ||
				       !theirs))
			mine = 0;
	if (rama_cap_mpi.rank > 0) {
		rama_cap_mpi_send(p, parent_of(rama_cap_mpi.rank), TAG_HERE, &mine, 1);
		if (!hear(p, parent_of(rama_cap_mpi.rank), TAG_ANSWER, &mine, 1, ANSWER_LIMIT))
			mine = 0;
	}
	pass_down(p, TAG_ANSWER, &mine, 1);
	*all = mine;
}

bool rama_cap_mpi_all(bool mine)
{
	agree(&rama_cap_mpi_post, &mine);
	return mine;
}

/* before there is one: messages in the application's world, which has not begun to use it */
static bool all_of_world(bool mine)
{
	struct rama_cap_mpi_post world = { .comm = RAMA_CAP_MPI(COMM_WORLD) };
	double until = rama_cap_mpi_now(NULL) + MEET_LIMIT;

	agree(&world, &mine);
	while (!rama_cap_mpi_collect(&world) && rama_cap_mpi_now(NULL) < until)
		rama_cap_rest(2000);
	return mine;
}

/* ---- one job --------------------------------------------------------------------------------- */

/* Of rank 0; the others take its job for theirs, so that what a killed job leaves can be told to
 * belong together. */
struct job {
	int64_t id;
	uint64_t pid, start;
};

static void join_job(void)
{
	struct job job = { rama_cap_run.id->jobid, (uint64_t)rama_cap_run.pid,
			   rama_cap_run.id->clock.real0 / 1000000000u };
	char name[sizeof(rama_cap_run.id->job)];
	struct rama_config_text t;

	if (rama_cap_mpi.rank > 0 && !hear(&rama_cap_mpi_post, parent_of(rama_cap_mpi.rank),
					   TAG_JOB, &job, sizeof(job), ANSWER_LIMIT))
		return;
	pass_down(&rama_cap_mpi_post, TAG_JOB, &job, sizeof(job));
	rama_config_text_init(&t, name, sizeof(name));
	rama_config_text_str(&t, "mpi-");
	rama_config_text_u64(&t, job.pid);
	rama_config_text_str(&t, "-");
	rama_config_text_u64(&t, job.start);
	rama_cap_join_job(name, job.id);
}

/* `iorama run` makes the log from segments where all ranks are with it: then there is nothing to
 * prepare. Each rank of a job comes to the same answer. */
static bool run_finds_all(int64_t here)
{
	return !rama_cap_variable("IORAMA_RUN_HOST") ||
	       (here == rama_cap_mpi.size && rama_cap_by_run());
}

static void meet(void)
{
	int64_t here = ranks_here();
	struct rama_cap_mpi_post *p = &rama_cap_mpi_post;
	uintptr_t request = 0;

	if (!rama_cap_run.bare && run_finds_all(here))
		return;
	bool all = all_of_node(here);
	if (here != rama_cap_mpi.size && rama_cap_mpi.size > 1)
		all = all_of_world(all);
	if (!all ||
	    rama_cap_mpi.call.Comm_idup(RAMA_CAP_MPI(COMM_WORLD), &p->comm, &request) != 0 ||
	    !rama_cap_mpi_wait(&request, ANSWER_LIMIT))
		return;
	rama_cap_mpi.call.Comm_set_errhandler(rama_cap_mpi_load(&p->comm),
					      RAMA_CAP_MPI(ERRORS_RETURN));
	p->met = true;
	if (rama_cap_run.bare)
		join_job();
}

void rama_cap_mpi_meet(void)
{
	struct rama_cap_mpi_quiet q;

	if (rama_cap_mpi_post.met || !rama_cap_mpi.call.Comm_idup || rama_cap_mpi.size < 1) {
		rama_cap_mpi_depart();
		return;
	}
	rama_cap_mpi_hush(&q);
	meet();
	rama_cap_mpi_depart();
	rama_cap_mpi_unhush(&q);
}
