/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "emulate/team/team.h"

/* Runs body in n local processes; each returns 0 if it saw what it should. In the parent: the
 * worst of all. */
static int run(int n, int (*body)(struct rama_emu_team *t))
{
	struct rama_emu_team t;
	struct rama_err e = { 0 };
	int worst = -1;

	if (rama_emu_team_local(&t, n, &e) != 0) {
		fprintf(stderr, "%s\n", e.text);
		abort();
	}
	rama_emu_team_end(&t, body(&t), &worst, &e); /* children do not come back */
	return worst;
}

#define NEED(x)                                                                           \
	do {                                                                              \
		if (!(x)) {                                                               \
			fprintf(stderr, "rank %d: line %d: %s\n", t->rank, __LINE__, #x); \
			return 1;                                                         \
		}                                                                         \
	} while (0)

static int talk(struct rama_emu_team *t)
{
	struct rama_err e = { 0 };
	struct rama_emu_team_message m;
	char text[32] = "", *all;
	size_t *lens;

	for (int i = 0; i < 100; i++)
		NEED(rama_emu_team_barrier(t, &e) == 0);
	if (t->rank == 0)
		strcpy(text, "hello");
	NEED(rama_emu_team_bcast(t, text, sizeof(text), &e) == 0);
	NEED(strcmp(text, "hello") == 0);
	/* a ring: what comes is from the one before */
	NEED(rama_emu_team_send(t, (t->rank + 1) % t->size, 7, &t->rank, sizeof(t->rank), &e) == 0);
	NEED(rama_emu_team_recv(t, &m, -1, &e) == 1);
	NEED(m.kind == 7 && m.from == (t->rank + t->size - 1) % t->size && m.n == sizeof(int));
	free(m.bytes);
	NEED(rama_emu_team_recv(t, &m, 0, &e) == 0);
	snprintf(text, sizeof(text), "%.*s", t->rank, "aaaaaaaaaaaaaaaa");
	NEED(rama_emu_team_gather(t, text, strlen(text), &all, &lens, &e) == 0);
	if (t->rank == 0)
		for (int r = 0; r < t->size; r++)
			NEED(lens[r] == (size_t)r);
	NEED((all != NULL) == (t->rank == 0));
	free(all);
	free(lens);
	NEED(t->n_nodes == 1 && t->node_of[t->size - 1] == 0 && t->node[0] != '\0');
	NEED(t->clock_offset < 0.1 && t->clock_offset > -0.1);
	return 0;
}

static void ranks_talk(void **state)
{
	(void)state;
	assert_int_equal(run(1, talk), 0);
	assert_int_equal(run(2, talk), 0);
	assert_int_equal(run(7, talk), 0);
}

/* Large messages both ways at once must not wait for each other for ever. */
static int push(struct rama_emu_team *t)
{
	size_t n = 8 << 20;
	char *bytes = calloc(1, n);
	struct rama_err e = { 0 };
	struct rama_emu_team_message m;

	memset(bytes, t->rank, n);
	for (int r = 0; r < t->size; r++)
		NEED(rama_emu_team_send(t, r, 1, bytes, n, &e) == 0);
	for (int r = 0; r < t->size; r++) {
		NEED(rama_emu_team_recv(t, &m, -1, &e) == 1);
		NEED(m.n == n && m.bytes[0] == m.from && m.bytes[n - 1] == m.from);
		free(m.bytes);
	}
	free(bytes);
	return 0;
}

static void large_messages_pass(void **state)
{
	(void)state;
	assert_int_equal(run(3, push), 0);
}

struct sum {
	int count, total;
};

static int add(void *ctx, struct rama_emu_team *t, const struct rama_emu_team_message *m,
	       struct rama_err *e)
{
	struct sum *s = ctx;
	int x;

	(void)e;
	memcpy(&x, m->bytes, sizeof(x));
	s->total += x;
	if (++s->count == t->size)
		for (int r = 0; r < t->size; r++)
			rama_emu_team_post(t, r, 5, &s->total, sizeof(s->total));
	return 0;
}

static int ask(struct rama_emu_team *t)
{
	static struct sum sum;
	struct rama_err e = { 0 };
	struct rama_emu_team_message m;
	int mine = t->rank + 1, total;

	if (t->rank == 0)
		rama_emu_team_serve(t, add, &sum);
	NEED(rama_emu_team_barrier(t, &e) == 0);
	NEED(rama_emu_team_send(t, RAMA_EMU_TEAM_DIRECTOR, 4, &mine, sizeof(mine), &e) == 0);
	NEED(rama_emu_team_recv(t, &m, -1, &e) == 1 && m.kind == 5 &&
	     m.from == RAMA_EMU_TEAM_DIRECTOR);
	memcpy(&total, m.bytes, sizeof(total));
	free(m.bytes);
	NEED(total == t->size * (t->size + 1) / 2);
	return 0;
}

static void the_director_answers(void **state)
{
	(void)state;
	assert_int_equal(run(5, ask), 0);
}

static int die(struct rama_emu_team *t)
{
	struct rama_err e = { 0 };

	NEED(rama_emu_team_barrier(t, &e) == 0); /* all have come */
	if (t->rank == 2)
		raise(SIGKILL);
	NEED(rama_emu_team_barrier(t, &e) < 0);
	NEED(strstr(e.text, "rank 2") != NULL);
	return 0;
}

static void a_dead_rank_is_named(void **state)
{
	(void)state;
	assert_int_equal(run(4, die), 128 + SIGKILL);
}

static int give_up(struct rama_emu_team *t)
{
	struct rama_err e = { 0 }, why = { 0 };

	NEED(rama_emu_team_barrier(t, &e) == 0);
	rama_err_set(&why, RAMA_EIO, "no space left");
	if (t->rank == 1)
		rama_emu_team_abort(t, &why);
	NEED(rama_emu_team_barrier(t, &e) < 0);
	NEED(strcmp(e.text, "no space left") == 0);
	return 0;
}

static void an_error_reaches_all(void **state)
{
	(void)state;
	assert_int_equal(run(4, give_up), 0);
}

/* Others give their parts of all gathers before rank 0 comes to the first. */
static int hurry(struct rama_emu_team *t)
{
	struct rama_err e = { 0 };
	struct rama_emu_team_message m;
	size_t *lens = NULL;
	char *all = NULL;

	for (int r = 1; t->rank == 0 && r < t->size; r++) {
		NEED(rama_emu_team_recv(t, &m, -1, &e) == 1 && m.kind == 9);
		free(m.bytes);
	}
	for (char i = 0; i < 20; i++) {
		NEED(rama_emu_team_gather(t, &i, 1, &all, &lens, &e) == 0);
		for (int r = 0; t->rank == 0 && r < t->size; r++)
			NEED(lens[r] == 1 && all[r] == i);
		free(all);
		free(lens);
	}
	if (t->rank != 0)
		NEED(rama_emu_team_send(t, 0, 9, NULL, 0, &e) == 0);
	NEED(rama_emu_team_barrier(t, &e) == 0);
	return 0;
}

static void some_are_ahead(void **state)
{
	(void)state;
	assert_int_equal(run(4, hurry), 0);
}

UNIT_GROUP(team, test(ranks_talk), test(large_messages_pass), test(the_director_answers),
	   test(a_dead_rank_is_named), test(an_error_reaches_all), test(some_are_ahead))
