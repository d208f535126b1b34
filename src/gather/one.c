/* SPDX-License-Identifier: BSD-3-Clause */
/* one.c: one segment becomes a log of one process. Runs inside that process too, at its end: no
 * stdio, no threads, and little stack. */
#include <stdlib.h>
#include <string.h>

#include "core/recordid.h"
#include "gather/one.h"
#include "logfile/meta.h"

int rama_gather_failed(struct rama_gather *g, int rc)
{
	if (g->w->err.code != 0)
		*g->e = g->w->err;
	return rc;
}

int rama_gather_no_memory(struct rama_gather *g)
{
	return rama_err_set(g->e, RAMA_EMEMORY, "out of memory");
}

int rama_gather_record(struct rama_gather *g, unsigned module, union rama_core_word *w)
{
	const struct rama_tab_module *mod = rama_tab_module_get(module);
	struct rama_core_record r = { .mod = mod, .schema = mod->record, .w = w };
	union rama_core_word *next = w + mod->record->words;

	w[RAMA_TAB_RANK].i = g->p->rank;
	for (unsigned i = 0; i < mod->record->n_arrays && !(mod->flags & RAMA_TAB_TRACE); i++) {
		r.array[i] = next; /* what follows the fixed part of the record */
		r.count[i] = w[mod->record->array[i].count_word].u;
		next += r.count[i] * mod->record->array[i].words;
	}
	return rama_gather_failed(g, rama_log_writer_record(g->w, &r));
}

uint64_t rama_gather_id(const char *name)
{
	return rama_core_record_id(name, strlen(name));
}

/* ---- names --------------------------------------------------------------------------------- */

static struct rama_gather_name *add_name(struct rama_gather *g)
{
	if (g->n_names == g->names_room) {
		size_t room = g->names_room == 0 ? 256 : 2 * g->names_room;
		struct rama_gather_name *more = realloc(g->names, room * sizeof(*more));

		if (more == NULL)
			return NULL;
		g->names = more;
		g->names_room = room;
	}
	g->names[g->n_names] = (struct rama_gather_name){ 0 };
	return &g->names[g->n_names++];
}

/* The names in the order of their numbers; number 0, the first, is the catch-all that has no
 * entry. */
static int find_names(struct rama_gather *g)
{
	struct rama_gather_name *n = add_name(g);
	uint64_t at = 0, start = 0;
	int rc;

	if (n == NULL)
		return rama_gather_no_memory(g);
	n->at = RAMA_GATHER_NO_NAME;
	n->id = rama_gather_id(RAMA_SEG_CATCHALL);
	while ((rc = rama_seg_name_next(g->s, &at, &g->u.name, g->e)) > 0) {
		n = add_name(g);
		if (n == NULL)
			return rama_gather_no_memory(g);
		n->at = start;
		n->id = g->u.name.id;
		n->number = g->u.name.number;
		start = at;
	}
	if (rc < 0 && rc != RAMA_EIO && rc != RAMA_ETRUNC) {
		g->damaged = true; /* the names before are good */
		*g->e = (struct rama_err){ 0 };
		rc = 0;
	}
	return rc;
}

struct rama_gather_name *rama_gather_name_get(struct rama_gather *g, uint32_t number)
{
	size_t low = 0, high = g->n_names;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (g->names[mid].number == number)
			return &g->names[mid];
		if (g->names[mid].number < number)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

static int write_name(struct rama_gather *g, uint64_t id, const char *text, size_t len)
{
	return rama_gather_failed(g, rama_log_writer_name(g->w, id, text, len));
}

static int write_names(struct rama_gather *g)
{
	int rc = 0;

	for (size_t i = 0; i < g->n_names && rc == 0; i++) {
		const struct rama_gather_name *n = &g->names[i];
		uint64_t at = n->at;

		if (!n->used)
			continue;
		if (at == RAMA_GATHER_NO_NAME)
			rc = write_name(g, n->id, RAMA_SEG_CATCHALL, strlen(RAMA_SEG_CATCHALL));
		else if ((rc = rama_seg_name_next(g->s, &at, &g->u.name, g->e)) > 0)
			rc = write_name(g, n->id, g->u.name.text, g->u.name.len);
	}
	for (unsigned l = 0; l < RAMA_SEG_LAYERS && rc == 0; l++) {
		const char *name = rama_gather_heat_names[l];

		if (g->heat[l].width > 0)
			rc = write_name(g, rama_gather_id(name), name, strlen(name));
	}
	if (rc == 0 && g->n_sites > 0 && g->sites[0].site == 0)
		rc = write_name(g, rama_gather_id(RAMA_GATHER_NO_SITE), RAMA_GATHER_NO_SITE,
				strlen(RAMA_GATHER_NO_SITE));
	if (rc == 0 && g->has >> RAMA_TAB_MOD_CALLS & 1)
		rc = write_name(g, rama_gather_id(RAMA_GATHER_CALLS), RAMA_GATHER_CALLS,
				strlen(RAMA_GATHER_CALLS));
	if (rc == 0 && g->has >> RAMA_TAB_MOD_CALLS & 1)
		rc = write_name(g, rama_gather_id(g->s->id.host), g->s->id.host,
				strlen(g->s->id.host));
	if (rc == 0)
		rc = write_name(g, rama_gather_id(RAMA_GATHER_PROCESS), RAMA_GATHER_PROCESS,
				strlen(RAMA_GATHER_PROCESS));
	return rc;
}

/* ---- job ----------------------------------------------------------------------------------- */

#define SECOND 1000000000ull

static void set_times(struct rama_gather *g)
{
	uint64_t start = g->s->id.clock.real0;
	double run = (double)g->s->end_tick * g->s->tick;
	uint64_t end = start + (run < 1e9 ? (uint64_t)(run * 1e9) : 0);

	g->job.start_sec = (int64_t)(start / SECOND);
	g->job.start_nsec = (int64_t)(start % SECOND);
	g->job.end_sec = (int64_t)(end / SECOND);
	g->job.end_nsec = (int64_t)(end % SECOND);
}

void rama_gather_flat(char *to, size_t size, const char *command)
{
	size_t n = 0;

	for (; n + 1 < size && command[n] != '\0'; n++)
		to[n] = (unsigned char)command[n] < ' ' ? ' ' : command[n];
	to[n] = '\0';
}

static void add_text(struct rama_log_job *job, const char *text)
{
	rama_log_meta_add(job->metadata, sizeof(job->metadata), text);
}

static void add_number(struct rama_log_job *job, const char *key, int64_t value)
{
	char line[64], digits[24];
	size_t n = strlen(key), k = sizeof(digits);
	uint64_t v = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

	do {
		digits[--k] = (char)('0' + v % 10);
		v /= 10;
	} while (v > 0);
	if (value < 0)
		digits[--k] = '-';
	memcpy(line, key, n);
	memcpy(line + n, digits + k, sizeof(digits) - k);
	n += sizeof(digits) - k;
	memcpy(line + n, "\n", 2);
	add_text(job, line);
}

/* "path<tab>type" lines */
static size_t split_mounts(char *text, struct rama_log_mount *to, size_t room)
{
	size_t n = 0;

	while (*text != '\0' && n < room) {
		char *end = text + strcspn(text, "\n"),
		     *tab = memchr(text, '\t', (size_t)(end - text));
		char *next = *end != '\0' ? end + 1 : end;

		*end = '\0';
		if (tab != NULL && tab > text && tab + 1 < end) {
			*tab = '\0';
			to[n++] = (struct rama_log_mount){ .path = text,
							   .type = tab + 1,
							   .path_len = strlen(text) };
		}
		text = next;
	}
	return n;
}

void rama_gather_unseen(struct rama_log_unseen_sum *to, const struct rama_seg_state *s)
{
	for (unsigned i = 1; i < RAMA_UNSEEN_REASONS; i++)
		rama_log_unseen_add(to, (enum rama_unseen)i, s->unseen[i], NULL);
	for (unsigned i = 0; i < RAMA_SEG_UNSEEN_NAMES; i++) {
		uint32_t why = s->unseen_name[i].reason;

		if (why < RAMA_UNSEEN_REASONS && s->unseen[why] > 0)
			rama_log_unseen_name(to, (enum rama_unseen)why, s->unseen_name[i].name);
	}
}

static int write_job(struct rama_gather *g)
{
	enum { MOUNTS = 64 };
	const struct rama_seg_identity *id = &g->s->id;
	struct rama_log_mount mounts[MOUNTS];
	struct rama_log_job *job = &g->job;
	struct rama_log_unseen_sum unseen = { 0 };
	char line[RAMA_LOG_UNSEEN_LINE], batch[RAMA_LOG_BATCH_ROOM] = "";

	job->uid = id->uid;
	job->jobid = id->jobid;
	job->nprocs = g->p->nprocs;
	rama_gather_flat(g->exe, sizeof(g->exe), id->command[0] != '\0' ? id->command : id->exe);
	job->exe = g->exe;
	set_times(g);
	add_text(job, "lib_ver=iorama-" IORAMA_BUILD_VERSION "\n");
	if (id->flags & RAMA_SEG_FORKED)
		add_number(job, "fork_parent=", id->ppid);
	if (id->flags & RAMA_SEG_UNKNOWN_MPI)
		add_text(job, RAMA_LOG_META_MPI "unknown\n");
	if (id->flags & RAMA_SEG_QUIET)
		add_text(job, RAMA_LOG_META_QUIET "1\n");
	if (id->flags & RAMA_SEG_FOLLOWED)
		add_text(job, RAMA_LOG_META_FOLLOWED "1\n");
	if (rama_gather_left_out(g->s) > 0)
		add_number(job, RAMA_LOG_META_LEFT_OUT, (int64_t)rama_gather_left_out(g->s));
	if (g->s->state.requests_unseen > 0)
		add_number(job, RAMA_LOG_META_REQUESTS_UNSEEN,
			   (int64_t)g->s->state.requests_unseen);
	if (g->s->state.hooks[0] != '\0')
		rama_log_meta_set(job->metadata, sizeof(job->metadata), RAMA_LOG_META_HOOKS,
				  g->s->state.hooks);
	rama_gather_unseen(&unseen, &g->s->state);
	rama_log_unseen_line(&unseen, line);
	add_text(job, line);
	if (g->p->note != NULL)
		add_text(job, g->p->note);
	rama_log_batch_join(batch, id->batch); /* lines of ours, and no others */
	add_text(job, batch);
	memcpy(g->u.mounts, id->mounts, sizeof(g->u.mounts));
	return rama_gather_failed(g,
				  rama_log_writer_job(g->w, job, mounts,
						      split_mounts(g->u.mounts, mounts, MOUNTS)));
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* A module appears if it has records, or if it saw a call that left none. */
static int write_module(struct rama_gather *g, unsigned id,
			int (*write)(struct rama_gather *g, int what), int what)
{
	const struct rama_tab_module *mod = rama_tab_module_get(id);
	bool any = g->has >> id & 1;
	int rc;

	if (!any && !(g->s->state.registered >> id & 1))
		return 0;
	rc = rama_gather_failed(g, rama_log_writer_module(g->w, id, mod->newest));
	if (g->damaged)
		g->partial |= 1ull << id;
	return rc == 0 && any ? write(g, what) : rc;
}

/* the two ways to write a module: slots of a kind, events of a layer */
static int write_slots(struct rama_gather *g, int kind)
{
	return rama_gather_slots_write(g, (enum rama_seg_kind)kind);
}

static int write_trace(struct rama_gather *g, int layer)
{
	return rama_gather_trace_write(g, (enum rama_seg_layer)layer);
}

static int write_heat(struct rama_gather *g, int unused)
{
	(void)unused;
	return rama_gather_heat_write(g);
}

static int write_process(struct rama_gather *g, int unused)
{
	(void)unused;
	return rama_gather_process_write(g);
}

static int write_calls(struct rama_gather *g, int unused)
{
	(void)unused;
	return rama_gather_calls_write(g);
}

static int write_modules(struct rama_gather *g)
{
	static const struct {
		int (*write)(struct rama_gather *g, int what);
		int what;
	} all[RAMA_TAB_MODULES_KNOWN] = {
#define M(...)
#define K(id, symbol, name, newest, released, record, kind, ...) [id] = { write_slots, kind },
#include "table/modules.def"
#define TRACED(layer, word, name, module) \
	[RAMA_TAB_MOD_##module] = { write_trace, RAMA_SEG_LAYER_##layer },
#include "table/layers.def"
		[RAMA_TAB_MOD_HEATMAP] = { write_heat, 0 },
		[RAMA_TAB_MOD_PROCESS] = { write_process, 0 },
		[RAMA_TAB_MOD_CALLS] = { write_calls, 0 },
	};
	uint64_t known = 0;
	int rc = 0;

	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN && rc == 0; id++) {
		if (all[id].write == NULL)
			continue;
		known |= 1ull << id;
		rc = write_module(g, id, all[id].write, all[id].what);
	}
	g->partial &= known | RAMA_LOG_PARTIAL_END;
	if (g->p->incomplete)
		g->partial |= RAMA_LOG_PARTIAL_END;
	return rc;
}

static int gather(struct rama_gather *g)
{
	int rc = rama_seg_find_end(g->s, g->e);

	g->partial = g->s->state.partial;
	g->damaged = g->s->cut;
	if (rc == 0)
		rc = find_names(g);
	if (rc == 0)
		rc = rama_gather_slots_find(g);
	if (rc == 0)
		rc = rama_gather_sites_find(g);
	if (rc == 0)
		rc = rama_gather_trace_find(g);
	if (rc == 0)
		rc = rama_gather_lanes_find(g);
	if (rc == 0)
		rc = write_job(g);
	if (rc == 0)
		rc = write_names(g);
	return rc == 0 ? write_modules(g) : rc;
}

int rama_gather_segment(struct rama_seg *s, const struct rama_gather_process *p,
			struct rama_log_writer *w, uint64_t *partial,
			struct rama_gather_losses *losses, struct rama_err *e)
{
	struct rama_gather *g = calloc(1, sizeof(*g));
	int rc;

	if (g == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "out of memory");
	g->s = s;
	g->p = p;
	g->w = w;
	g->e = e;
	rc = gather(g);
	*partial = g->partial;
	*losses = (struct rama_gather_losses){ g->lost, g->missed, g->folded };
	free(g->names);
	free(g->sites);
	free(g->traces);
	free(g);
	return rc;
}

int rama_gather_one(struct rama_seg *s, const struct rama_gather_process *p,
		    struct rama_log_writer *w, uint64_t *partial, struct rama_err *e)
{
	struct rama_gather_losses losses;
	struct rama_err mine;

	return rama_gather_segment(s, p, w, partial, &losses, e != NULL ? e : &mine);
}
