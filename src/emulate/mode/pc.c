/* SPDX-License-Identifier: BSD-3-Clause */
/* pc.c: producers and consumers in pairs, one file each. A consumer of the same run is told
 * by its producer when the file is complete; one of another run waits for the file itself. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulate/emulate.h"

enum role { IDLE, PRODUCER, CONSUMER, BOTH };
enum { MSG_FILE_READY = 1 };

struct pair {
	enum role role;
	uint32_t number; /* of the pair: the file is file.NUMBER */
	int partner;	 /* rank; -1: in another run */
};

/* ---- who is what ---------------------------------------------------------------------------- */

struct roles {
	struct pair *of;      /* by rank */
	uint32_t pairs, same; /* how many; of these on one node */
};

/* the node of a rank, really or as --ranks_per_node pretends */
static uint32_t node_of(const struct rama_emu_emulation *m, uint32_t rank)
{
	int64_t per_node = rama_emu_config_size(m->cfg, RAMA_EMU_P_per_node);

	return per_node > 0 ? rank / (uint32_t)per_node : m->team->node_of[rank];
}

static void join(const struct rama_emu_emulation *m, struct roles *all, uint32_t p, uint32_t c)
{
	all->of[p] = (struct pair){ PRODUCER, all->pairs, (int)c };
	all->of[c] = (struct pair){ CONSUMER, all->pairs++, (int)p };
	all->same += node_of(m, p) == node_of(m, c);
}

/* Within each node even ones produce for the odd ones that follow. A rank that is left over is
 * idle. */
static void pair_within(const struct rama_emu_emulation *m, struct roles *all, uint32_t *waiting)
{
	uint32_t size = (uint32_t)m->team->size;

	memset(waiting, 0, size * sizeof(*waiting)); /* by node: rank + 1 without a partner */
	for (uint32_t r = 0; r < size; r++) {
		uint32_t *other = &waiting[node_of(m, r)];

		if (*other != 0)
			join(m, all, *other - 1, r);
		*other = *other == 0 ? r + 1 : 0;
	}
}

/* Ranks in order of their nodes; *most is the place of the last one of the largest node. */
static void sort_by_node(const struct rama_emu_emulation *m, uint32_t *sorted, uint32_t *start,
			 uint32_t *most)
{
	uint32_t size = (uint32_t)m->team->size, largest = 0;

	memset(start, 0, (size + 1) * sizeof(*start));
	for (uint32_t r = 0; r < size; r++)
		start[node_of(m, r) + 1]++;
	for (uint32_t i = 1; i <= size; i++) {
		largest = start[i] >= largest && start[i] > 0 ? start[i] : largest;
		start[i] += start[i - 1];
		if (start[i] - start[i - 1] == largest)
			*most = start[i] - 1;
	}
	for (uint32_t r = 0; r < size; r++)
		sorted[start[node_of(m, r)]++] = r;
}

/* In order of nodes, the first half with the second: two of a pair are on one node only if that
 * has more than half of all ranks, and then as few as can be. The odd one out is of the largest
 * node. */
static void pair_between(const struct rama_emu_emulation *m, struct roles *all, uint32_t *sorted,
			 uint32_t *start)
{
	uint32_t size = (uint32_t)m->team->size, half = size / 2, most = 0;

	sort_by_node(m, sorted, start, &most);
	if (size % 2 == 1)
		memmove(sorted + most, sorted + most + 1, (size - 1 - most) * sizeof(*sorted));
	for (uint32_t i = 0; i < half; i++)
		join(m, all, sorted[i], sorted[i + half]);
}

/* for the result, on rank 0 */
static void tell_pairs(struct rama_emu_emulation *m, const struct roles *all)
{
	uint32_t size = (uint32_t)m->team->size, idle = size - 2 * all->pairs;

	if (idle > 0)
		rama_out_fmt(&m->remarks, "%u of %u ranks %s no partner and %s nothing\n", idle,
			     size, idle == 1 ? "has" : "have", idle == 1 ? "does" : "do");
	if (all->same > 0 && rama_emu_config_flag(m->cfg, RAMA_EMU_P_inter_node))
		rama_out_fmt(&m->remarks,
			     "%u of %u pairs are on one node: there are not enough others\n",
			     all->same, all->pairs);
	rama_out_fmt(&m->notes, "\"pairs\":%u,\"pairs_on_one_node\":%u,\"idle_ranks\":%u",
		     all->pairs, all->same, idle);
}

static int find_partner(struct rama_emu_emulation *m, struct pair *mine, struct rama_err *e)
{
	size_t size = (size_t)m->team->size;
	struct roles all = { .of = calloc(size, sizeof(*all.of)) };
	uint32_t *room = calloc(2 * size + 1, sizeof(*room));
	int rc = 0;

	if (all.of == NULL || room == NULL)
		rc = rama_err_set(e, RAMA_EMEMORY, "no memory for %zu ranks", size);
	else if (rama_emu_config_flag(m->cfg, RAMA_EMU_P_inter_node))
		pair_between(m, &all, room, room + size);
	else
		pair_within(m, &all, room);
	if (rc == 0 && all.pairs == 0)
		rc = rama_err_set(e, RAMA_EUSAGE,
				  "no two ranks are on one node: --inter_node pairs those of "
				  "different nodes");
	if (rc == 0 && all.of != NULL) {
		*mine = all.of[m->team->rank];
		if (m->team->rank == 0)
			tell_pairs(m, &all);
	}
	free(all.of);
	free(room);
	return rc;
}

static int find_role(struct rama_emu_emulation *m, struct pair *mine, struct rama_err *e)
{
	bool produce = rama_emu_config_flag(m->cfg, RAMA_EMU_P_producer_only);
	bool consume = rama_emu_config_flag(m->cfg, RAMA_EMU_P_consumer_only);

	if (produce && consume)
		return rama_err_set(e, RAMA_EUSAGE, "producer_only and consumer_only: one of them");
	if (m->team->size > 1 && !produce && !consume)
		return find_partner(m, mine, e);
	*mine = (struct pair){ produce ? PRODUCER : CONSUMER, (uint32_t)m->team->rank, -1 };
	if (produce || consume)
		return 0;
	mine->role = BOTH;
	rama_out_text(&m->remarks,
		      "one rank produces, then consumes itself: --ranks 2 or mpirun make a pair\n");
	rama_out_text(&m->notes, "\"pairs\":1,\"pairs_on_one_node\":1,\"idle_ranks\":0");
	return 0;
}

/* ---- what they do --------------------------------------------------------------------------- */

struct talk {
	struct rama_emu_emulation *m;
	int partner;
};

static int tell_partner(void *ctx, struct rama_emu_step *s, struct rama_err *e)
{
	struct talk *t = ctx;

	(void)s;
	return rama_emu_team_send(t->m->team, t->partner, MSG_FILE_READY, NULL, 0, e);
}

static int hear_partner(void *ctx, struct rama_emu_step *s, struct rama_err *e)
{
	struct talk *t = ctx;
	struct rama_emu_team_message msg;
	int rc = rama_emu_team_recv(t->m->team, &msg, -1, e);

	(void)s;
	if (rc > 0)
		free(msg.bytes);
	return rc < 0 ? rc : 0;
}

static void add_call(struct rama_emu_script *s, struct talk *t,
		     int (*call)(void *, struct rama_emu_step *, struct rama_err *))
{
	struct rama_emu_step *step = rama_emu_script_step(s, RAMA_EMU_DO_CALL, NULL);

	step->call = call;
	step->ctx = t;
}

static struct rama_emu_walk walk_of(const struct rama_emu_emulation *m,
				    const struct rama_emu_unit *u)
{
	const char *order = rama_emu_config_text(m->cfg, RAMA_EMU_P_order);

	return (struct rama_emu_walk){ .size = u->size,
				       .request = m->request,
				       .seed = m->opt.seed ^ u->pattern.unit,
				       .order = strcmp(order, "random") == 0 ? RAMA_EMU_RANDOM
						: strcmp(order, "strided") == 0
							? RAMA_EMU_STRIDED
							: RAMA_EMU_SEQUENTIAL };
}

static void produce(struct rama_emu_emulation *m, struct rama_emu_script *s,
		    struct rama_emu_unit *u)
{
	const char *sync = rama_emu_config_text(m->cfg, RAMA_EMU_P_fsync);
	struct rama_emu_walk w = walk_of(m, u);

	m->planned += (uint64_t)rama_emu_walk_bytes(&w);
	rama_emu_script_open(s, u,
			     RAMA_EMU_OPEN_WRITE | RAMA_EMU_OPEN_CREATE | RAMA_EMU_OPEN_TRUNCATE);
	rama_emu_script_move(s, RAMA_EMU_DO_WRITE, u, &w, strcmp(sync, "request") == 0);
	if (strcmp(sync, "file") == 0)
		rama_emu_script_step(s, RAMA_EMU_DO_SYNC, u);
	rama_emu_script_step(s, RAMA_EMU_DO_CLOSE, u);
	rama_emu_script_step(s, RAMA_EMU_DO_READY, u);
}

static void consume(struct rama_emu_emulation *m, struct rama_emu_script *s,
		    struct rama_emu_unit *u)
{
	double fraction = rama_emu_config_number(m->cfg, RAMA_EMU_P_read_fraction);
	struct rama_emu_walk w = walk_of(m, u);

	if (fraction < 1)
		w.size = (int64_t)((double)w.size * fraction);
	m->planned += (uint64_t)rama_emu_walk_bytes(&w);
	rama_emu_script_step(s, RAMA_EMU_DO_WAIT, u)->strict = true;
	rama_emu_script_open(s, u, RAMA_EMU_OPEN_READ);
	rama_emu_script_move(s, RAMA_EMU_DO_READ, u, &w, false);
	rama_emu_script_step(s, RAMA_EMU_DO_CLOSE, u);
}

static void write_down(struct rama_emu_emulation *m, const struct pair *p,
		       struct rama_emu_script *s, struct rama_emu_unit *u, struct talk *t)
{
	rama_emu_script_begin(s, 0, 0);
	if (p->role == CONSUMER && p->partner >= 0)
		add_call(s, t, hear_partner);
	if (p->role != CONSUMER)
		produce(m, s, u);
	if (p->role != PRODUCER)
		consume(m, s, u);
	if (p->role == PRODUCER && p->partner >= 0)
		add_call(s, t, tell_partner);
}

static struct rama_emu_unit *unit_of(struct rama_emu_emulation *m, const struct pair *p,
				     struct rama_err *e)
{
	int64_t size;
	char name[32], who[32] = "a run with producer_only";
	const char *path, *kept, *producer;
	struct rama_emu_unit *u;

	if (!rama_emu_config_file_size(m->cfg, rama_emu_config_size(m->cfg, RAMA_EMU_P_block_size),
				       rama_emu_config_size(m->cfg, RAMA_EMU_P_segment_count),
				       &size)) {
		rama_err_set(e, RAMA_EUSAGE, "block_size x segment_count is too large");
		return NULL;
	}
	snprintf(name, sizeof(name), "file.%u", p->number);
	if (p->partner >= 0)
		snprintf(who, sizeof(who), "rank %d", p->partner);
	kept = rama_arena_text(&m->arena, name, strlen(name));
	producer = rama_arena_text(&m->arena, who, strlen(who));
	path = rama_emu_emulation_path(m, rama_emu_config_text(m->cfg, RAMA_EMU_P_input_dir), name,
				       e);
	if (kept == NULL || path == NULL || producer == NULL) {
		rama_err_set(e, RAMA_EMEMORY, "no memory");
		return NULL;
	}
	u = rama_emu_emulation_unit(m, kept, path, size, 0, e);
	if (u != NULL)
		u->producer = producer;
	return u;
}

/* What is there must be ours; what an earlier run left must not be taken for this one's. All
 * ranks call it. */
static int clear(struct rama_emu_emulation *m, const struct pair *p, const struct rama_emu_unit *u,
		 struct rama_err *e)
{
	const char *dir = rama_emu_config_text(m->cfg, RAMA_EMU_P_input_dir);
	bool makes = u != NULL && p->role != CONSUMER && !m->opt.engine->no_files;
	int rc = rama_emu_own_where(m->opt.own, dir, e);

	if (rc == 0 && makes) {
		rama_emu_own_need(m->opt.own, u->path, u->size);
		rc = rama_emu_own_check(m->opt.own, u->path, e);
	}
	if (rc == 0)
		rc = rama_emu_own_room(m->opt.own, m->team, e);
	/* for consumers of another run too: only a directory that is there can be watched */
	if (rc == 0 && m->team->rank == 0)
		rc = rama_emu_own_folders(m->opt.own, dir, e);
	if (rc == 0)
		rc = rama_emu_team_barrier(m->team, e);
	if (rc == 0 && !rama_emu_config_flag(m->cfg, RAMA_EMU_P_consumer_only) &&
	    !m->opt.engine->no_files)
		rc = rama_emu_emulation_enter(m, m->team->rank == 0, e);
	if (rc == 0 && makes && rama_emu_own_clear(m->opt.own, u->path) != 0)
		rc = rama_err_set(e, RAMA_EIO, "%s: a file of an earlier run cannot be removed: %s",
				  u->path, strerror(errno));
	return rc == 0 ? rama_emu_team_barrier(m->team, e) : rc;
}

static void clear_up(struct rama_emu_emulation *m, const struct pair *p,
		     const struct rama_emu_unit *u, bool failed)
{
	if (u == NULL)
		return;
	if (failed && p->role != CONSUMER)
		rama_emu_own_drop(m->opt.own, u->path);
	/* Files for another run stay: it may not have read them, or others may want to. */
	if (!failed && (p->role == BOTH || (p->role == CONSUMER && p->partner >= 0)) &&
	    !rama_emu_config_flag(m->cfg, RAMA_EMU_P_keep))
		rama_emu_own_remove(m->opt.own, u->path);
}

int rama_emu_mode_pc(struct rama_emu_emulation *m, struct rama_err *e)
{
	struct pair p = { 0 };
	struct talk t = { .m = m };
	struct rama_emu_unit *u = NULL;
	struct rama_emu_script s;
	int rc = find_role(m, &p, e);

	if (rc != 0)
		return rc;
	rama_emu_script_init(&s);
	t.partner = p.partner;
	if (p.role != IDLE) {
		u = unit_of(m, &p, e);
		rc = u != NULL ? 0 : e->code;
	}
	if (rc == 0)
		rc = clear(m, &p, u, e);
	if (rc == 0 && u != NULL)
		write_down(m, &p, &s, u, &t);
	if (rc == 0)
		rc = rama_emu_emulation_stream(m, &s, e);
	rama_emu_script_fini(&s);
	clear_up(m, &p, u, rc != 0);
	return rc;
}
