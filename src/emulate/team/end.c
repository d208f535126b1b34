/* SPDX-License-Identifier: BSD-3-Clause */
/* end.c: how a run ends: by itself, by an error of one rank, by a signal. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emulate/team/wire.h"

/* ---- signals -------------------------------------------------------------------------------- */

static volatile sig_atomic_t told_to_end; /* number of the signal */

int rama_emu_team_signal(void)
{
	return told_to_end;
}

static void on_signal(int number)
{
	told_to_end = number;
}

void rama_emu_team_on_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	/* once: whoever is stuck can be ended by the second one */
	struct sigaction act = { .sa_handler = on_signal,
				 .sa_flags = SA_RESTART | (int)SA_RESETHAND };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaction(numbers[i], &act, NULL);
}

/* ---- the end -------------------------------------------------------------------------------- */

void rama_emu_team_abort(struct rama_emu_team *t, const struct rama_err *why)
{
	struct rama_emu_abort a = { .code = why->code < 0 ? why->code : RAMA_EIO };
	struct rama_err e;

	memcpy(a.text, why->text, sizeof(a.text));
	if (t->state != NULL && !t->state->aborted)
		rama_emu_team_send(t, RAMA_EMU_TEAM_DIRECTOR, RAMA_EMU_KIND_ABORT, &a, sizeof(a),
				   &e);
}

int rama_emu_team_look(struct rama_emu_team *t, struct rama_err *e)
{
	struct rama_emu_letter *l;
	int rc;

	if (pthread_mutex_trylock(&t->state->in) != 0)
		return 0; /* another thread of this rank is listening: it will be told */
	while ((rc = rama_emu_team_fetch(t, &l, 0, e)) > 0)
		rama_emu_mail_put(&t->state->inbox, l);
	pthread_mutex_unlock(&t->state->in);
	return rc;
}

int rama_emu_team_aborted_by(struct rama_emu_team *t, double seconds)
{
	double until = rama_now() + seconds;
	struct rama_emu_letter *l = NULL;
	struct rama_err e;

	if (t->state == NULL)
		return RAMA_EMU_TEAM_DIRECTOR;
	/* of two that fail at once each must learn which one counts */
	while (!t->state->aborted && rama_emu_team_fetch(t, &l, until, &e) > 0)
		rama_emu_mail_put(&t->state->inbox, l);
	return t->state->aborted ? t->state->aborted_by : RAMA_EMU_TEAM_DIRECTOR;
}

#define REASON_WITHIN 5.0 /* seconds; the director answers at once */

int rama_emu_team_reason(struct rama_emu_team *t, struct rama_err *e)
{
	rama_emu_team_aborted_by(t, REASON_WITHIN);
	if (t->state != NULL && t->state->why.code != 0)
		*e = t->state->why;
	return e->code;
}

bool rama_emu_team_settle(struct rama_emu_team *t, double seconds)
{
	double until = rama_now() + seconds;
	struct rama_emu_letter *l = NULL;
	struct rama_err e;
	int rc = rama_emu_team_send(t, RAMA_EMU_TEAM_DIRECTOR, RAMA_EMU_KIND_BYE, NULL, 0, &e);

	if (rc != 0)
		return true; /* rank 0 has gone: nobody is left to wait for */
	rc = rama_emu_team_await(t, RAMA_EMU_KIND_END, until, &l, &e);
	free(rc > 0 ? l : NULL);
	return rc != 0;
}

static void state_free(struct rama_emu_team *t)
{
	struct rama_emu_team_state *s = t->state;
	struct rama_emu_director *d = s->director;

	rama_emu_wire_fini(&s->wire);
	if (d != NULL) {
		if (d->running)
			pthread_join(d->thread, NULL);
		for (int r = 0; r < t->size; r++)
			rama_emu_wire_fini(&d->wire[r]);
		if (d->listener >= 0)
			close(d->listener);
		free(d->wire);
		free(d->guest);
		free(d->host);
		free(d);
	}
	rama_emu_mail_fini(&s->inbox);
	free(s->children);
	free(s);
	for (uint32_t i = 0; i < t->n_nodes; i++)
		free((void *)t->nodes[i]);
	free(t->nodes);
	free(t->node_of);
	*t = (struct rama_emu_team){ .rank = t->rank, .size = t->size };
}

static int wait_children(struct rama_emu_team *t)
{
	int worst = 0;

	for (int r = 1; r < t->size; r++) {
		int status = 0, code;
		pid_t pid = t->state->children[r];

		if (pid <= 0)
			continue;
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		worst = code > worst ? code : worst;
	}
	return worst;
}

int rama_emu_team_end(struct rama_emu_team *t, int status, int *worst, struct rama_err *e)
{
	bool child = t->state->local && t->rank > 0;
	int rc = rama_emu_team_send(t, RAMA_EMU_TEAM_DIRECTOR, RAMA_EMU_KIND_BYE, NULL, 0, e);

	*worst = status;
	if (!child && t->state->children != NULL) {
		int other = wait_children(t);

		*worst = other > status ? other : status;
	}
	state_free(t);
	if (child) {
		fflush(NULL);
		_exit(status);
	}
	return rc;
}
