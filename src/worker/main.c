/* SPDX-License-Identifier: BSD-3-Clause */
/* main.c: iorama-worker-FAMILY MODE name=value… -- words of the mode: what `iorama emulate`
 * becomes under a launcher. Its command line was checked before. Ranks talk through sockets; MPI
 * is for the engines that need it. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulate/emulate.h"
#include "emulate/try.h"
#include "worker/worker.h"
#ifdef RAMA_HAVE_HDF5
#include <hdf5.h>
#endif

#define GRACE 5.0  /* seconds for other ranks to stop by themselves after an error */
#define PASSED_ON 500 /* ms */
#define TAGS 32767 /* that every MPI has */

/* ---- communicators for sets of ranks, made once --------------------------------------------- */

struct group {
	struct group *next;
	MPI_Comm comm;
	uint32_t n, ranks[];
};
static struct group *groups;

static struct group *known(const uint32_t *ranks, uint32_t n)
{
	for (struct group *g = groups; g != NULL; g = g->next)
		if (g->n == n && memcmp(g->ranks, ranks, n * sizeof(*ranks)) == 0)
			return g;
	return NULL;
}

static int make_comm(const uint32_t *ranks, uint32_t n, MPI_Comm *comm)
{
	MPI_Group all, some;
	int *list = calloc(n, sizeof(*list)), tag = 0, rc;

	if (list == NULL)
		return MPI_ERR_NO_MEM;
	for (uint32_t i = 0; i < n; i++) {
		list[i] = (int)ranks[i];
		tag = (tag * 31 + list[i]) % TAGS;
	}
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	rc = MPI_Group_incl(all, (int)n, list, &some);
	if (rc == MPI_SUCCESS) {
		rc = MPI_Comm_create_group(MPI_COMM_WORLD, some, tag,
					   comm); /* called by its members only */
		MPI_Group_free(&some);
	}
	MPI_Group_free(&all);
	free(list);
	return rc;
}

static void *group_of(struct rama_emu_team *t, const uint32_t *ranks, uint32_t n)
{
	struct group *g = known(ranks, n);

	(void)t;
	if (g != NULL)
		return &g->comm;
	g = calloc(1, sizeof(*g) + n * sizeof(*ranks));
	if (g == NULL || make_comm(ranks, n, &g->comm) != MPI_SUCCESS) {
		fputs("iorama emulate: no communicator for the ranks of a file\n", stderr);
		MPI_Abort(MPI_COMM_WORLD, 4);
		exit(4);
	}
	g->n = n;
	memcpy(g->ranks, ranks, n * sizeof(*ranks));
	g->next = groups;
	return &(groups = g)->comm;
}

static void free_groups(void)
{
	while (groups != NULL) {
		struct group *g = groups;

		groups = g->next;
		MPI_Comm_free(&g->comm);
		free(g);
	}
}

/* ---- the command line ----------------------------------------------------------------------- */

static void tell_tried(void *ctx, const struct rama_emu_tried *t)
{
	(void)!write(*(int *)ctx, t, sizeof(*t)); /* less than a pipe takes at once */
}

/* tried:FD: somebody wants to know what was tried; refused:CODE:TEXT: nothing is to be done, and
 * all ranks are to end. 1: it is one of these. */
static int read_first(struct rama_emu_config *c, const char *word, struct rama_err *e)
{
	static int fd;
	char *end = NULL;
	long code;

	if (strncmp(word, "refused:", 8) == 0) {
		code = strtol(word + 8, &end, 10);
		return rama_err_set(e, (int)code, "%s", *end == ':' ? end + 1 : end);
	}
	if (strncmp(word, "tried:", 6) != 0)
		return 0;
	fd = (int)strtol(word + 6, NULL, 10);
	c->tried = tell_tried;
	c->tried_ctx = &fd;
	return 1;
}

static int read_words(struct rama_emu_config *c, int argc, char **argv, struct rama_err *e)
{
	int i = 2, rc = 0;

	if (argc < 2)
		return rama_err_set(e, RAMA_EUSAGE, "this program is started by iorama emulate");
	c->mode = argv[1];
	if (i < argc && (rc = read_first(c, argv[i], e)) != 0)
		i++;
	rc = rc > 0 ? 0 : rc;
	for (; rc == 0 && i < argc && strcmp(argv[i], "--") != 0; i++) {
		char *equal = strchr(argv[i], '=');

		if (equal == NULL)
			return rama_err_set(e, RAMA_EUSAGE, "%s: not name=value", argv[i]);
		*equal = '\0';
		rc = rama_emu_config_set(c, argv[i], equal + 1, "command line", e);
	}
	c->args = calloc((size_t)argc, sizeof(*c->args));
	for (i++; rc == 0 && c->args != NULL && i < argc; i++) {
		c->args[c->n_args] = strdup(argv[i]);
		if (c->args[c->n_args] != NULL)
			c->n_args++;
	}
	return rc;
}

/* ---- the run -------------------------------------------------------------------------------- */

static int join(struct rama_emu_team *t, struct rama_err *e)
{
	char address[RAMA_EMU_TEAM_ADDRESS] = "";
	int rank, size, rc = 0;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (rank == 0)
		rc = rama_emu_team_listen(t, size, address, e);
	MPI_Bcast(address, sizeof(address), MPI_CHAR, 0, MPI_COMM_WORLD);
	if (rc == 0)
		rc = rama_emu_team_join(t, rank, size, address, e);
	t->kind = strcmp(RAMA_FAMILY, "openmpi") == 0 ? "Open MPI" : "MPICH";
	t->group = group_of;
	return rc;
}

/* Ranks may hang in a call of MPI that others will never make: after some time the job is ended
 * for them. One rank says why and does it; it must not be killed by another before that. */
static void give_up(struct rama_emu_team *t, int status, const struct rama_err *e)
{
	int by = rama_emu_team_aborted_by(t, GRACE);
	bool mine = by == t->rank || (by == RAMA_EMU_TEAM_DIRECTOR && t->rank == 0);

	if (mine)
		fprintf(stderr, "iorama emulate: %s\n", e->text);
	fflush(NULL);
	if (t->state != NULL)
		rama_emu_team_settle(t, GRACE);
	/* Those who only end wait for the one who says why. His words are on their way through a
	 * launcher, and that of MPICH throws away what it has not read when somebody aborts. */
	poll(NULL, 0, mine ? PASSED_ON : (int)(GRACE * 1000));
	MPI_Abort(MPI_COMM_WORLD, status);
}

int main(int argc, char **argv)
{
	struct rama_emu_team team = { 0 };
	struct rama_err e = { 0 };
	struct rama_emu_config c;
	int level, rc, worst;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	rama_emu_team_on_signals();
	rama_emu_engine_add(&rama_worker_engine_mpiio);
#ifdef RAMA_HAVE_HDF5
	H5dont_atexit(); /* after a failure it would wait for other ranks */
	rama_emu_engine_add(&rama_worker_engine_hdf5);
#endif
#ifdef RAMA_HAVE_PNETCDF
	rama_emu_engine_add(&rama_worker_engine_pnetcdf);
#endif
	rama_emu_config_init(&c);
	rc = read_words(&c, argc, argv, &e);
	if (rc == 0)
		rc = join(&team, &e);
	if (rc == 0)
		rc = rama_emu_session_run(&c, &team, &e);
	if (rc != 0)
		give_up(&team, rama_err_status(rc), &e);
	if (team.state != NULL)
		rama_emu_team_end(&team, 0, &worst, &e);
	rama_emu_config_fini(&c);
	free_groups();
#ifdef RAMA_HAVE_HDF5
	H5close();
#endif
	MPI_Finalize();
	return rc == 0 ? 0 : rama_err_status(rc);
}
