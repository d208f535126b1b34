/* SPDX-License-Identifier: BSD-3-Clause */
/* state.c: what an encoder remembers: processes, names of files, running counters. It
 * goes when processes have ended: at once what is large, the rest when there are many of them. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "bus/encode/state.h"
#include "wire/coding.h"

static int no_memory(struct rama_err *e)
{
	return rama_err_set(e, RAMA_EMEMORY, "no memory to encode events");
}

/* ---- jobs and names -------------------------------------------------------------------------- */

static void free_job(struct rama_bus_enc_job *j)
{
	rama_map_fini(&j->names);
	rama_arena_fini(&j->text);
	free(j);
}

struct rama_bus_enc_job *rama_bus_enc_job(struct rama_bus_encoder *en, const char *key)
{
	struct rama_bus_enc_job *j;

	for (size_t i = en->n_jobs; i > 0; i--)
		if (strcmp(en->job[i - 1]->key, key) == 0) {
			en->job[i - 1]->touched = en->clock;
			return en->job[i - 1];
		}
	if (strlen(key) >= sizeof(j->key) || !RAMA_GROW(en->job, en->room_jobs, en->n_jobs + 1) ||
	    (j = calloc(1, sizeof(*j))) == NULL)
		return NULL;
	memcpy(j->key, key, strlen(key));
	j->touched = en->clock;
	en->job[en->n_jobs++] = j;
	return j;
}

static int add_name(struct rama_bus_enc_job *j, uint64_t record, const char *path, size_t len,
		    struct rama_err *e)
{
	bool fresh;
	uint64_t *at = rama_map_put(&j->names, record, &fresh);
	char *text;

	if (at == NULL)
		return no_memory(e);
	if (!fresh && *at != 0)
		return 0;
	if ((text = rama_arena_text(&j->text, path, len)) == NULL)
		return no_memory(e);
	*at = (uint64_t)(uintptr_t)text;
	return 0;
}

int rama_bus_enc_take_names(struct rama_bus_encoder *en, const struct rama_wire_msg_names *m,
			    struct rama_err *e)
{
	struct rama_bus_enc_job *j = rama_bus_enc_job(en, m->job);
	int rc = j == NULL ? no_memory(e) : 0;

	for (uint32_t i = 0; i < m->n && rc >= 0; i++)
		rc = add_name(j, m->name[i].record, m->name[i].path, m->name[i].len, e);
	return rc;
}

const char *rama_bus_enc_path(const struct rama_bus_enc_process *p, uint64_t record)
{
	uint64_t *at = rama_map_get(&p->job->names, record);

	return at != NULL && *at != 0 ? (const char *)(uintptr_t)*at : NULL;
}

/* A process that learned late which job it belongs to takes its names along. */
static int take_along(struct rama_bus_enc_job *to, const struct rama_bus_enc_job *from,
		      struct rama_err *e)
{
	struct rama_map_slot slot;
	size_t at = 0;
	int rc = 0;

	while (rc >= 0 && rama_map_next(&from->names, &at, &slot)) {
		const char *path = (const char *)(uintptr_t)slot.value;

		if (path != NULL)
			rc = add_name(to, slot.key, path, strlen(path), e);
	}
	return rc;
}

/* ---- processes ------------------------------------------------------------------------------- */

static const char **texts_of(struct rama_wire_msg_process *m, unsigned k)
{
	const char **const all[] = { &m->user, &m->host, &m->exe, &m->command, &m->tag };

	return all[k];
}
#define TEXTS 5

static void free_records(struct rama_bus_enc_process *p)
{
	free(p->record);
	p->record = NULL;
	p->n_records = p->room_records = 0;
	for (unsigned k = 0; k < RAMA_BUS_ENC_LAYERS; k++)
		rama_map_fini(&p->at[k]);
}

static void free_process(struct rama_bus_enc_process *p)
{
	free_records(p);
	free(p->lane);
	for (unsigned k = 0; k < TEXTS; k++)
		free((void *)(uintptr_t)*texts_of(&p->msg, k));
	free(p);
}

static uint64_t half(const struct rama_wire_segment_key *k)
{
	return rama_wire_load_le(k->b, 8);
}

struct rama_bus_enc_process *rama_bus_enc_process(struct rama_bus_encoder *en,
						  const struct rama_wire_segment_key *k)
{
	uint64_t *at = rama_map_get(&en->find, half(k));

	if (at == NULL)
		return NULL;
	if (memcmp(&en->process[*at - 1]->msg.segment, k, sizeof(*k)) == 0)
		return en->process[*at - 1];
	for (size_t i = 0; i < en->n_processes;
	     i++) /* two that share one half: does not happen by chance */
		if (memcmp(&en->process[i]->msg.segment, k, sizeof(*k)) == 0)
			return en->process[i];
	return NULL;
}

static struct rama_bus_enc_process *add_process(struct rama_bus_encoder *en,
						const struct rama_wire_segment_key *k,
						struct rama_bus_enc_job *job)
{
	struct rama_bus_enc_process *p;
	uint64_t *at;
	bool fresh;

	if (job == NULL || !RAMA_GROW(en->process, en->room_processes, en->n_processes + 1) ||
	    (p = calloc(1, sizeof(*p))) == NULL)
		return NULL;
	p->msg.segment = *k;
	p->msg.rank = -1;
	p->msg.state = RAMA_WIRE_STATE_RUNNING;
	p->job = job;
	for (unsigned i = 0; i < TEXTS; i++)
		if ((*texts_of(&p->msg, i) = strdup("")) == NULL) {
			free_process(p);
			return NULL;
		}
	if ((at = rama_map_put(&en->find, half(k), &fresh)) == NULL) {
		free_process(p);
		return NULL;
	}
	en->process[en->n_processes++] = p;
	if (fresh)
		*at = en->n_processes;
	job->running++;
	job->known++;
	return p;
}

struct rama_bus_enc_process *rama_bus_enc_process_of(struct rama_bus_encoder *en,
						     const struct rama_wire_block *b)
{
	struct rama_bus_enc_process *p = rama_bus_enc_process(en, &b->segment);
	char *end;

	if (p == NULL && (p = add_process(en, &b->segment, rama_bus_enc_job(en, b->job))) != NULL) {
		p->msg.rank = b->rank;
		p->msg.uid = strtoll(b->job, &end, 10); /* what the key of a job begins with */
		if (*end != '/')
			p->msg.uid = 0;
	}
	return p;
}

static int set_text(const char **at, const char *text, struct rama_err *e)
{
	char *copy;

	if (strcmp(*at, text) == 0)
		return 0;
	if ((copy = strdup(text)) == NULL)
		return no_memory(e);
	free((void *)(uintptr_t)*at);
	*at = copy;
	return 0;
}

static int set_process(struct rama_bus_enc_process *p, const struct rama_wire_msg_process *m,
		       struct rama_err *e)
{
	struct rama_wire_msg_process *to = &p->msg, new = *m;
	int rc = 0;

	for (unsigned k = 0; k < TEXTS && rc >= 0; k++)
		rc = set_text(texts_of(to, k), *texts_of(&new, k), e);
	for (unsigned k = 0; k < TEXTS; k++)
		*texts_of(&new, k) = *texts_of(to, k);
	if (rc < 0)
		return rc;
	new.job = p->job->key;
	*to = new;
	return 0;
}

void rama_bus_enc_end_if_done(struct rama_bus_encoder *en, struct rama_bus_enc_process *p)
{
	if (p->msg.state == RAMA_WIRE_STATE_RUNNING)
		return;
	if (!p->ended) {
		p->ended = true;
		p->ended_at = en->clock;
		p->job->running--;
		en->n_ended++;
	}
	if (p->seen >= p->msg.made)
		free_records(p);
}

int rama_bus_enc_take_process(struct rama_bus_encoder *en, const struct rama_wire_msg_process *m,
			      struct rama_err *e)
{
	struct rama_bus_enc_process *p = rama_bus_enc_process(en, &m->segment);
	struct rama_bus_enc_job *job = rama_bus_enc_job(en, m->job);
	int rc = 0;

	if (job == NULL || (p == NULL && (p = add_process(en, &m->segment, job)) == NULL))
		return no_memory(e);
	if (p->told && m->version < p->msg.version)
		return 0;
	if (p->job != job) {
		rc = take_along(job, p->job, e);
		p->job->running -= !p->ended;
		job->running += !p->ended;
		p->job->known--;
		job->known++;
		p->job = job;
	}
	if (rc < 0 || (rc = set_process(p, m, e)) < 0)
		return rc;
	p->told = true;
	rama_bus_enc_end_if_done(en, p);
	return 0;
}

/* ---- of one process -------------------------------------------------------------------------- */

struct rama_bus_enc_lane *rama_bus_enc_lane(struct rama_bus_enc_process *p, uint32_t lane)
{
	for (uint32_t i = 0; i < p->n_lanes; i++)
		if (p->lane[i].lane == lane)
			return &p->lane[i];
	if (!RAMA_GROW(p->lane, p->room_lanes, p->n_lanes + 1))
		return NULL;
	p->lane[p->n_lanes] = (struct rama_bus_enc_lane){ .lane = lane };
	return &p->lane[p->n_lanes++];
}

uint64_t rama_bus_enc_lost(const struct rama_bus_enc_process *p)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < p->n_lanes; i++)
		lost += p->lane[i].lost;
	return lost;
}

struct rama_bus_enc_record *rama_bus_enc_record(struct rama_bus_enc_process *p,
						enum rama_bus_enc_layer layer, uint64_t id)
{
	bool fresh;
	uint64_t *at = rama_map_put(&p->at[layer], id, &fresh);

	if (at == NULL)
		return NULL;
	if (*at != 0)
		return &p->record[*at - 1];
	if (!RAMA_GROW(p->record, p->room_records, p->n_records + 1))
		return NULL;
	p->record[p->n_records] = (struct rama_bus_enc_record){ .id = id, .layer = (uint8_t)layer };
	*at = ++p->n_records;
	return &p->record[p->n_records - 1];
}

/* ---- letting go ------------------------------------------------------------------------------ */

static int later(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* the moment from which on half of the ended processes ended */
static uint64_t half_way(const struct rama_bus_encoder *en)
{
	uint64_t *when = malloc((en->n_ended + 1) * sizeof(*when)), at;
	size_t n = 0;

	if (when == NULL)
		return 0;
	for (size_t i = 0; i < en->n_processes; i++)
		if (en->process[i]->ended)
			when[n++] = en->process[i]->ended_at;
	qsort(when, n, sizeof(*when), later);
	at = when[n / 2];
	free(when);
	return at;
}

static void sweep_processes(struct rama_bus_encoder *en)
{
	uint64_t from = half_way(en);
	size_t n = 0;

	rama_map_fini(&en->find);
	for (size_t i = 0; i < en->n_processes; i++) {
		struct rama_bus_enc_process *p = en->process[i];
		bool fresh, goes = p->ended && p->ended_at <= from;
		uint64_t *at = goes ? NULL : rama_map_put(&en->find, half(&p->msg.segment), &fresh);

		if (at == NULL) { /* also when there is no memory: it is not found again */
			en->n_ended -= p->ended;
			p->job->running -= !p->ended;
			p->job->known--;
			free_process(p);
			continue;
		}
		en->process[n++] = p;
		if (fresh)
			*at = n;
	}
	en->n_processes = n;
}

/* Names of jobs that nobody runs any more go, the longest unused ones first; the jobs themselves
 * when no process of theirs is known. */
static void sweep_jobs(struct rama_bus_encoder *en)
{
	for (;;) {
		struct rama_bus_enc_job *oldest = NULL;
		size_t idle = 0, bytes = 0, at = 0;

		for (size_t i = 0; i < en->n_jobs; i++) {
			struct rama_bus_enc_job *j = en->job[i];

			if (j->running > 0 || (j->text.total == 0 && j->known > 0))
				continue;
			idle++;
			bytes += j->text.total;
			if (oldest == NULL || j->touched < oldest->touched) {
				oldest = j;
				at = i;
			}
		}
		if (oldest == NULL ||
		    (idle <= RAMA_BUS_ENC_IDLE && bytes <= RAMA_BUS_ENC_IDLE_BYTES))
			return;
		if (oldest->known > 0) {
			rama_map_fini(&oldest->names);
			rama_arena_fini(&oldest->text);
			continue;
		}
		free_job(oldest);
		en->job[at] = en->job[--en->n_jobs];
	}
}

void rama_bus_enc_sweep(struct rama_bus_encoder *en)
{
	if (en->n_ended > RAMA_BUS_ENC_ENDED)
		sweep_processes(en);
	sweep_jobs(en);
}

void rama_bus_enc_forget_all(struct rama_bus_encoder *en)
{
	for (size_t i = 0; i < en->n_processes; i++)
		free_process(en->process[i]);
	for (size_t i = 0; i < en->n_jobs; i++)
		free_job(en->job[i]);
	free(en->process);
	free(en->job);
	rama_map_fini(&en->find);
	en->process = NULL;
	en->job = NULL;
	en->n_processes = en->room_processes = en->n_ended = en->n_jobs = en->room_jobs = 0;
}
