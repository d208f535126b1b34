/* SPDX-License-Identifier: BSD-3-Clause */
/* counted.c: what the counters of processes stand at, as far as it is known here, and what they
 * gained since. An agent tells where they stand, never what it believes to be new: of agents
 * that are killed, and of messages that come twice or late, nothing is lost and nothing is
 * counted twice. The table `counted` has the sums of `activity`, by process and layer. */
#include <string.h>

#include "store/parts.h"

enum { READS, WRITES, METAS, BYTES_READ, BYTES_WRITTEN, READ_NS, WRITE_NS, META_NS, FIGURES };

struct known {
	char layer[16];
	int64_t version, t;
	int64_t figure[FIGURES];
	bool there;
};

struct all {
	struct known k[RAMA_WIRE_MSG_GAINS];
	unsigned n;
};

/* what counters of one layer of a process may stand at: a petabyte, two weeks of all threads
 * together */
#define TOTAL_MOST (1ll << 50)
#define SECOND 1000000000ll

static void to_figures(int64_t to[FIGURES], const struct rama_wire_msg_gain *g)
{
	const int64_t from[FIGURES] = { g->reads,	  g->writes,  g->metas,	   g->bytes_read,
					g->bytes_written, g->read_ns, g->write_ns, g->meta_ns };

	for (unsigned i = 0; i < FIGURES; i++)
		to[i] = rama_store_told((uint64_t)from[i], TOTAL_MOST);
}

/* ---- what is known --------------------------------------------------------------------------- */

static int take_known(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct all *a = ctx;
	struct known *k = &a->k[a->n];

	(void)e;
	if (a->n == RAMA_WIRE_MSG_GAINS || row->cell[0].len >= sizeof(k->layer))
		return 0;
	*k = (struct known){ .version = row->cell[1].i, .t = row->cell[2].i, .there = true };
	memcpy(k->layer, row->cell[0].text, row->cell[0].len);
	for (unsigned i = 0; i < FIGURES; i++)
		k->figure[i] = row->cell[3 + i].i;
	a->n++;
	return 0;
}

static int read_known(struct rama_store *s, int64_t process, struct all *a, struct rama_err *e)
{
	static const char sql[] =
		"SELECT layer, version, t_ns, reads, writes, metas, bytes_read, bytes_written,"
		" read_ns, write_ns, meta_ns FROM counted WHERE process = $1";

	a->n = 0;
	return rama_store_rows(s, sql, ARGS(I(process)), take_known, a, e);
}

/* NULL: there are more layers than any process has */
static struct known *known_of(struct all *a, const char *layer)
{
	for (unsigned i = 0; i < a->n; i++)
		if (strcmp(a->k[i].layer, layer) == 0)
			return &a->k[i];
	if (a->n == RAMA_WIRE_MSG_GAINS)
		return NULL;
	a->k[a->n] = (struct known){ .version = -1 };
	memcpy(a->k[a->n].layer, layer, strlen(layer) + 1);
	return &a->k[a->n++];
}

static int write_known(struct rama_store *s, const struct rama_store_process *p,
		       const struct known *k, struct rama_err *e)
{
	static const char sql[] =
		"INSERT INTO counted (job, process, layer, version, t_ns, reads, writes, metas,"
		" bytes_read, bytes_written, read_ns, write_ns, meta_ns) VALUES ($1, $2, $3, $4,"
		" $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (process, layer) DO UPDATE"
		" SET job = excluded.job, version = excluded.version, t_ns = excluded.t_ns,"
		" reads = excluded.reads, writes = excluded.writes, metas = excluded.metas,"
		" bytes_read = excluded.bytes_read, bytes_written = excluded.bytes_written,"
		" read_ns = excluded.read_ns, write_ns = excluded.write_ns,"
		" meta_ns = excluded.meta_ns";
	const int64_t *f = k->figure;

	return rama_store_do(s, sql,
			     ARGS(I(p->job), I(p->number), rama_store_cell_t(k->layer),
				  I(k->version), I(k->t), I(f[READS]), I(f[WRITES]), I(f[METAS]),
				  I(f[BYTES_READ]), I(f[BYTES_WRITTEN]), I(f[READ_NS]),
				  I(f[WRITE_NS]), I(f[META_NS])),
			     e);
}

/* ---- what was gained ------------------------------------------------------------------------- */

/* bytes that went through several layers count once: where they left the program */
static bool is_lowest(const char *layer)
{
	return strcmp(layer, "POSIX") == 0 || strcmp(layer, "STDIO") == 0 ||
	       strcmp(layer, "EXTRA") == 0;
}

static void add_to_job(struct rama_store_change *c, const int64_t g[FIGURES])
{
	c->reads = rama_store_sum(c->reads, g[READS]);
	c->writes = rama_store_sum(c->writes, g[WRITES]);
	c->metas = rama_store_sum(c->metas, g[METAS]);
	c->bytes_read = rama_store_sum(c->bytes_read, g[BYTES_READ]);
	c->bytes_written = rama_store_sum(c->bytes_written, g[BYTES_WRITTEN]);
	c->io_ns = rama_store_sum(c->io_ns, g[READ_NS] + g[WRITE_NS] + g[META_NS]);
	c->meta_ns = rama_store_sum(c->meta_ns, g[META_NS]);
}

struct interval {
	int64_t t, width;
};

/* A row of activity. Two agents may tell of the same moment: what is there already grows, or
 * (once) stays. */
static int put_row(struct rama_store *s, const struct rama_store_process *p, const char *layer,
		   struct interval in, const int64_t g[FIGURES], int64_t *once, struct rama_err *e)
{
#define ROW                                                                                       \
	"INSERT INTO activity (job, t_ns, process, layer, rank, width_ns, reads, writes, metas,"  \
	" bytes_read, bytes_written, read_ns, write_ns, meta_ns) VALUES ($1, $2, $3, $4, $5, $6," \
	" $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT (job, t_ns, process, layer) DO "
	static const char add[] =
		ROW "UPDATE SET reads = activity.reads + excluded.reads, writes ="
		    " activity.writes + excluded.writes, metas = activity.metas + excluded.metas,"
		    " bytes_read = activity.bytes_read + excluded.bytes_read, bytes_written ="
		    " activity.bytes_written + excluded.bytes_written, read_ns = activity.read_ns +"
		    " excluded.read_ns, write_ns = activity.write_ns + excluded.write_ns, meta_ns ="
		    " activity.meta_ns + excluded.meta_ns";
	static const char first[] = ROW "NOTHING";
#undef ROW

	return rama_store_count(s, once != NULL ? first : add,
				ARGS(I(p->job), I(in.t), I(p->number), rama_store_cell_t(layer),
				     I(p->rank), I(in.width), I(g[READS]), I(g[WRITES]),
				     I(g[METAS]), I(g[BYTES_READ]), I(g[BYTES_WRITTEN]),
				     I(g[READ_NS]), I(g[WRITE_NS]), I(g[META_NS])),
				once, e);
}

/* ns from one moment to the next; clocks may be set back */
static int64_t width_of(int64_t from, int64_t to)
{
	int64_t width;

	return __builtin_sub_overflow(to, from, &width) || width <= 0 ? SECOND : width;
}

static int put_total(struct rama_store *s, const struct rama_store_process *p,
		     const struct rama_wire_msg_counters *m, const struct rama_wire_msg_gain *total,
		     struct known *k, struct rama_err *e)
{
	struct rama_store_change *c = rama_store_batch_change(s, p->job);
	struct interval in = { m->t, width_of(k->there ? k->t : m->since, m->t) };
	int64_t now[FIGURES], gain[FIGURES], any = 0;
	int rc = 0;

	if (c == NULL)
		return rama_err_no_memory(e);
	to_figures(now, total);
	for (unsigned i = 0; i < FIGURES; i++) {
		gain[i] = now[i] > k->figure[i] ? now[i] - k->figure[i] : 0;
		k->figure[i] += gain[i];
		any |= gain[i];
	}
	if (any != 0)
		rc = put_row(s, p, k->layer, in, gain, NULL, e);
	if (rc == 0 && is_lowest(k->layer))
		add_to_job(c, gain);
	k->there = true;
	k->version = rama_store_told(m->version, INT64_MAX);
	k->t = m->t;
	return rc == 0 ? write_known(s, p, k, e) : rc;
}

int rama_store_counters_take(struct rama_store *s, const struct rama_wire_msg_counters *m,
			     struct rama_err *e)
{
	struct rama_store_process *p;
	struct all a;
	int rc = rama_store_process_get(s, &m->segment, m->job, m->rank, &p, e);

	if (rc == 0)
		rc = read_known(s, p->number, &a, e);
	for (uint32_t i = 0; rc == 0 && i < m->n; i++) {
		struct known *k = known_of(&a, m->total[i].layer);

		/* a newer one came before it, and had all that this one tells */
		if (k == NULL || rama_store_told(m->version, INT64_MAX) <= k->version)
			continue;
		rc = put_total(s, p, m, &m->total[i], k, e);
	}
	if (rc == 0)
		rama_store_process_seen(s, p, m->t);
	return rc;
}

/* ---- gains, as agents once told them, and as archives are copied ----------------------------- */

static int put_gain(struct rama_store *s, struct rama_store_process *p,
		    const struct rama_wire_msg_activity *m, const struct rama_wire_msg_gain *g,
		    struct rama_err *e)
{
	struct rama_store_change *c = rama_store_batch_change(s, p->job);
	int64_t gain[FIGURES], changed = 0;
	struct known *k;
	struct all a;
	int rc;

	if (c == NULL)
		return rama_err_no_memory(e);
	to_figures(gain, g);
	rc = put_row(s, p, g->layer, (struct interval){ m->t, m->width }, gain, &changed, e);
	if (rc != 0 || changed == 0)
		return rc;
	if (is_lowest(g->layer))
		add_to_job(c, gain);
	rc = read_known(s, p->number, &a, e);
	k = rc == 0 ? known_of(&a, g->layer) : NULL;
	if (k == NULL)
		return rc;
	for (unsigned i = 0; i < FIGURES; i++)
		k->figure[i] = rama_store_sum(k->figure[i], gain[i]);
	k->version = k->version < 0 ? 0 : k->version;
	k->t = !k->there || m->t > k->t ? m->t : k->t;
	return write_known(s, p, k, e);
}

int rama_store_activity_put(struct rama_store *s, const struct rama_wire_msg_activity *m,
			    struct rama_err *e)
{
	struct rama_store_process *p;
	int rc = rama_store_process_get(s, &m->segment, m->job, m->rank, &p, e);

	for (uint32_t i = 0; rc == 0 && i < m->n; i++)
		rc = put_gain(s, p, m, &m->gain[i], e);
	if (rc == 0)
		rama_store_process_seen(s, p, m->t);
	return rc;
}
