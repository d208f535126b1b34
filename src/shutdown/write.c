/* SPDX-License-Identifier: BSD-3-Clause */
/* write.c: the pieces come into the file. The ranks are cut into as many rows as there
 * are writers; the first rank of a row writes for all of it. It asks them one after the other,
 * so that never more than a few pieces are on their way, and since ranks of a row are neighbours
 * in every region, what it writes is long. */
#include <stdlib.h>
#include <string.h>

#include "shutdown/rank.h"

#define MESSAGE (1u << 20) /* bytes of pieces in one message */
#define LANE (256u << 10)  /* bytes of a region written at once */
#define WINDOW 8	   /* ranks asked ahead */
#define PATIENCE 4	   /* part of the time left that one rank may take */

/* what a writer has of one region: bytes at their place in the file */
struct lane {
	uint64_t at;
	unsigned char *bytes;
	size_t n;
	uint32_t crc; /* from the writer's first byte on, for sections of the annex */
};

struct group {
	struct rama_shutdown_shut *s;
	int64_t writer, end; /* indices: it writes for those from itself to the end */
	struct lane lane[RAMA_LOG_REGIONS];
	uint64_t mark[RAMA_LOG_REGIONS]; /* where the lanes were before the rank being read */
	uint32_t mark_crc[RAMA_LOG_REGIONS];
	int rc;
};

/* ---- lanes ----------------------------------------------------------------------------------- */

static int put_out(struct group *g, struct lane *l)
{
	const struct rama_shutdown_file *f = &g->s->opt.file;
	int rc = l->n > 0 ? f->write(f->ctx, l->at, l->bytes, l->n, g->s->e) : 0;

	l->at += l->n;
	l->n = 0;
	return rc;
}

/* Bytes that follow those before; a rank that did not come in between leaves a hole. */
static int take_in(struct group *g, unsigned region, uint64_t off, const unsigned char *bytes,
		   size_t n)
{
	struct lane *l = &g->lane[region];
	int rc = 0;

	if (off < l->at + l->n)
		return rama_err_set(g->s->e, RAMA_ECORRUPT, "pieces of two ranks overlap");
	if (off > l->at + l->n) {
		rc = put_out(g, l);
		if (rc == 0)
			rc = rama_shutdown_shut_fill(g->s, l->at, off - l->at, &l->crc);
		l->at = off;
	}
	if (l->bytes == NULL && (l->bytes = malloc(LANE)) == NULL)
		return rama_shutdown_shut_no_memory(g->s);
	if (region >= RAMA_LOG_REGION_MODULE + RAMA_TAB_OURS)
		l->crc = rama_log_crc(l->crc, bytes, n);
	while (n > 0 && rc == 0) {
		size_t part = n < LANE - l->n ? n : LANE - l->n;

		memcpy(l->bytes + l->n, bytes, part);
		l->n += part;
		bytes += part;
		n -= part;
		if (l->n == LANE)
			rc = put_out(g, l);
	}
	return rc;
}

static void set_mark(struct group *g)
{
	for (unsigned i = 0; i < RAMA_LOG_REGIONS; i++) {
		g->mark[i] = g->lane[i].at + g->lane[i].n;
		g->mark_crc[i] = g->lane[i].crc;
	}
}

/* as if the rank being read had never sent anything */
static void forget(struct group *g)
{
	for (unsigned i = 0; i < RAMA_LOG_REGIONS && g->rc == 0; i++) {
		if (g->lane[i].at + g->lane[i].n == g->mark[i])
			continue;
		g->rc = put_out(g, &g->lane[i]);
		g->lane[i].at = g->mark[i];
		g->lane[i].crc = g->mark_crc[i];
	}
}

/* ---- a row of ranks -------------------------------------------------------------------------- */

static void ask(struct group *g, int64_t index)
{
	int64_t rank = rama_shutdown_shut_rank(g->s, index);
	struct rama_shutdown_msg m = { 0 };

	if (rama_ranges_has(&g->s->missing, rank))
		return;
	rama_shutdown_msg_u64(&m, g->rc == 0);
	rama_shutdown_shut_send(g->s, rank, RAMA_SHUTDOWN_TAG_NEXT, &m);
	rama_shutdown_msg_fini(&m);
}

/* one message of a rank; 1: it was the last */
static int take_message(struct group *g, struct rama_shutdown_got *m)
{
	uint64_t last = rama_shutdown_got_u64(m);

	while (m->at < m->n && !m->bad && g->rc == 0) {
		uint64_t region = rama_shutdown_got_u64(m), off = rama_shutdown_got_u64(m);
		size_t n = rama_shutdown_got_count(m, 1);
		const void *bytes = rama_shutdown_got_take(m, n);

		if (bytes == NULL || region >= RAMA_LOG_REGIONS)
			m->bad = true;
		else
			g->rc = take_in(g, (unsigned)region, off, bytes, n);
	}
	return m->bad ? RAMA_ECORRUPT : last != 0;
}

static void take_rank(struct group *g, int64_t index)
{
	struct rama_shutdown_shut *s = g->s;
	int64_t rank = rama_shutdown_shut_rank(s, index);
	int rc = 0;

	if (rama_ranges_has(&s->missing, rank))
		return;
	set_mark(g);
	while (rc == 0 && g->rc == 0) {
		double now = s->comm->now(s->comm->ctx);
		struct rama_shutdown_got m = { 0 };

		rc = rama_shutdown_shut_recv(
			s, rank, RAMA_SHUTDOWN_TAG_PIECES, &m,
			now + (rama_shutdown_shut_over(s, RAMA_SHUTDOWN_SHUT_PIECES) - now) /
					PATIENCE);
		if (rc == 0)
			rc = take_message(g, &m);
		rama_shutdown_got_fini(&m);
	}
	if (rc >= 0 || g->rc != 0)
		return;
	forget(g);
	if (rama_ranges_add(&s->missing, rank, rank) != 0)
		g->rc = rama_shutdown_shut_no_memory(s);
}

static void write_own(struct group *g)
{
	struct rama_shutdown_shut *s = g->s;

	for (unsigned i = 0; i < RAMA_LOG_REGIONS; i++) {
		g->lane[i].at = s->place[i];
		/* the job comes last: it says who is missing */
		if (g->rc != 0 || s->piece[i].n == 0)
			continue;
		if (i == RAMA_LOG_REGION_JOB)
			g->lane[i].at = s->stop[i];
		else
			g->rc = take_in(g, i, s->place[i], s->piece[i].bytes, s->piece[i].n);
	}
}

static void write_group(struct group *g)
{
	int64_t asked = g->writer + 1;

	write_own(g);
	for (int64_t i = g->writer + 1; i < g->end; i++) {
		for (; asked < g->end && asked < i + WINDOW; asked++)
			ask(g, asked);
		if (g->rc == 0)
			take_rank(g, i);
	}
	for (unsigned i = 0; i < RAMA_LOG_REGIONS; i++) {
		if (g->rc == 0)
			g->rc = put_out(g, &g->lane[i]);
		free(g->lane[i].bytes);
	}
}

/* ---- the others ------------------------------------------------------------------------------ */

static void send_message(struct rama_shutdown_shut *s, int64_t to, struct rama_shutdown_msg *m,
			 uint64_t last)
{
	if (m->failed)
		return;
	memcpy(m->bytes, &last, sizeof(last));
	rama_shutdown_shut_send(s, to, RAMA_SHUTDOWN_TAG_PIECES, m);
	m->n = sizeof(last);
}

static void send_pieces(struct rama_shutdown_shut *s, int64_t to)
{
	struct rama_shutdown_msg m = { 0 };

	rama_shutdown_msg_u64(&m, 0);
	for (unsigned i = 0; i < RAMA_LOG_REGIONS; i++) {
		for (size_t at = 0; at < s->piece[i].n;) {
			size_t n = s->piece[i].n - at;

			if (m.n + 64 > MESSAGE)
				send_message(s, to, &m, 0);
			n = n < MESSAGE - m.n - 24 ? n : MESSAGE - m.n - 24;
			rama_shutdown_msg_u64(&m, i);
			rama_shutdown_msg_u64(&m, s->place[i] + at);
			rama_shutdown_msg_u64(&m, n);
			rama_shutdown_msg_put(&m, s->piece[i].bytes + at, n);
			at += n;
		}
	}
	send_message(s, to, &m, 1);
	rama_shutdown_msg_fini(&m);
}

static void deliver(struct rama_shutdown_shut *s, int64_t to)
{
	struct rama_shutdown_got g = { 0 };

	if (rama_shutdown_shut_recv(s, to, RAMA_SHUTDOWN_TAG_NEXT, &g,
				    rama_shutdown_shut_over(s, RAMA_SHUTDOWN_SHUT_PIECES)) == 0 &&
	    rama_shutdown_got_u64(&g) != 0)
		send_pieces(s, to);
	rama_shutdown_got_fini(&g);
}

static void report(struct group *g)
{
	struct rama_shutdown_msg m = { 0 };

	rama_shutdown_msg_u64(&m, (uint64_t)(int64_t)g->rc);
	rama_shutdown_msg_put(&m, g->s->place, sizeof(g->s->place));
	for (unsigned i = 0; i < RAMA_LOG_REGIONS; i++)
		rama_shutdown_msg_u64(&m, g->lane[i].at);
	for (unsigned i = 0; i < RAMA_LOG_REGIONS; i++)
		rama_shutdown_msg_u64(&m, g->lane[i].crc);
	rama_shutdown_ranges_put(&m, &g->s->missing);
	if (!m.failed)
		rama_shutdown_shut_send(g->s, 0, RAMA_SHUTDOWN_TAG_WRITTEN, &m);
	rama_shutdown_msg_fini(&m);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* To the children; for one that is missing, to those below it that have nobody else. */
static void pass_end(struct rama_shutdown_shut *s, const struct rama_shutdown_msg *m)
{
	for (unsigned k = RAMA_SHUTDOWN_SHUT_LEVELS; k-- > 0;) {
		int64_t child = rama_shutdown_shut_child(s, k), end = child + ((int64_t)1 << k);

		end = end < s->count ? end : s->count;
		for (int64_t i = child; child >= 0 && i < end; i++) {
			int64_t above = i & (i - 1);

			while (above != s->index &&
			       rama_ranges_has(&s->missing, rama_shutdown_shut_rank(s, above)))
				above &= above - 1;
			if (above == s->index)
				rama_shutdown_shut_send(s, rama_shutdown_shut_rank(s, i),
							RAMA_SHUTDOWN_TAG_END, m);
			if (i == child &&
			    !rama_ranges_has(&s->missing, rama_shutdown_shut_rank(s, i)))
				break;
		}
	}
}

/* from the parent, or from above it if the parent is not there any more */
static int hear_end(struct rama_shutdown_shut *s, struct rama_shutdown_got *g)
{
	double until = rama_shutdown_shut_over(s, RAMA_SHUTDOWN_SHUT_END), now;
	int rc = RAMA_EMISSING;

	while (rc != 0 && (now = s->comm->now(s->comm->ctx)) < until) {
		double soon = now + s->opt.limit * RAMA_SHUTDOWN_SHUT_LOOK;
		int64_t from = s->index & (s->index - 1);

		soon = soon < until ? soon : until;
		rc = rama_shutdown_shut_recv(s, rama_shutdown_shut_rank(s, from),
					     RAMA_SHUTDOWN_TAG_END, g, soon);
		while (rc != 0 && from > 0) {
			from &= from - 1;
			rc = rama_shutdown_shut_recv(s, rama_shutdown_shut_rank(s, from),
						     RAMA_SHUTDOWN_TAG_END, g, 0);
		}
	}
	return rc;
}

static int wait_for_end(struct rama_shutdown_shut *s)
{
	struct rama_shutdown_got g = { 0 };
	struct rama_shutdown_msg m;
	int rc;

	if (hear_end(s, &g) != 0)
		return rama_err_set(s->e, RAMA_EMISSING, "it is not known what became of the log");
	m = (struct rama_shutdown_msg){ .bytes = g.bytes, .n = g.n };
	rc = (int)(int64_t)rama_shutdown_got_u64(&g);
	if (rama_shutdown_ranges_take(&g, &s->missing, s->comm->size) != 0)
		rc = rama_shutdown_shut_no_memory(s);
	else if (g.bad)
		rc = rama_err_set(s->e, RAMA_ECORRUPT, "a message is damaged");
	else if (rc != 0)
		rc = rama_err_set(s->e, rc < 0 ? rc : RAMA_ECORRUPT, "no log could be written");
	else if (rama_ranges_has(&s->missing, s->comm->rank))
		rc = rama_err_set(s->e, RAMA_EMISSING, "this rank was too slow");
	pass_end(s, &m);
	rama_shutdown_got_fini(&g);
	return rc;
}

static void tell_end(struct rama_shutdown_shut *s, int rc)
{
	struct rama_shutdown_msg m = { 0 };

	rama_shutdown_msg_u64(&m, (uint64_t)(int64_t)rc);
	rama_shutdown_ranges_put(&m, &s->missing);
	if (!m.failed)
		pass_end(s, &m);
	rama_shutdown_msg_fini(&m);
}

/* rank 0: what a writer says; *at: how far the file is written, region by region, and the
 * checksum so far */
static int take_written(struct rama_shutdown_shut *s, int64_t writer, uint64_t *at, uint32_t *crc)
{
	struct rama_shutdown_got g = { 0 };
	const unsigned char *from, *to, *sums;
	int rc = rama_shutdown_shut_recv(s, rama_shutdown_shut_rank(s, writer),
					 RAMA_SHUTDOWN_TAG_WRITTEN, &g,
					 rama_shutdown_shut_until(s, RAMA_SHUTDOWN_SHUT_END, 0));

	if (rc != 0)
		return rama_err_set(s->e, RAMA_EMISSING, "a writer fell silent");
	rc = (int)(int64_t)rama_shutdown_got_u64(&g);
	from = rama_shutdown_got_take(&g, sizeof(s->place));
	to = rama_shutdown_got_take(&g, sizeof(s->place));
	sums = rama_shutdown_got_take(&g, sizeof(s->place));
	if (rc != 0)
		rc = rama_err_set(s->e, rc < 0 ? rc : RAMA_ECORRUPT, "a writer could not write");
	else if (sums == NULL || rama_shutdown_ranges_take(&g, &s->missing, s->comm->size) != 0 ||
		 g.bad)
		rc = rama_err_set(s->e, RAMA_ECORRUPT, "a message is damaged");
	for (unsigned i = 0; i < RAMA_LOG_REGIONS && rc == 0 && sums != NULL; i++) {
		uint64_t first, end, sum;

		memcpy(&first, from + i * sizeof(first), sizeof(first));
		memcpy(&end, to + i * sizeof(end), sizeof(end));
		memcpy(&sum, sums + i * sizeof(sum), sizeof(sum));
		if (first < at[i] || end < first || end > s->stop[i])
			rc = rama_err_set(s->e, RAMA_ECORRUPT, "pieces are not where they belong");
		else
			rc = rama_shutdown_shut_fill(s, at[i], first - at[i], &crc[i]);
		crc[i] = rama_log_crc_join(crc[i], (uint32_t)sum, end - first);
		at[i] = end;
	}
	rama_shutdown_got_fini(&g);
	return rc;
}

/* directory and footer of the annex, behind all regions */
static int write_annex(struct rama_shutdown_shut *s, const struct rama_log_header *h,
		       const uint32_t *crc)
{
	const struct rama_shutdown_file *f = &s->opt.file;
	unsigned char bytes[RAMA_LOG_ANNEX_BYTES];
	struct rama_log_annex annex;
	size_t n;

	rama_log_annex_of(h, crc + RAMA_LOG_REGION_MODULE, &annex);
	n = rama_log_annex_encode(&annex, s->stop[RAMA_LOG_REGIONS - 1], bytes);
	s->result->bytes = s->stop[RAMA_LOG_REGIONS - 1] + n;
	if (n == 0)
		return 0;
	if (f->write(f->ctx, annex.begin, RAMA_LOG_ANNEX_MAGIC, RAMA_LOG_ANNEX_HEAD, s->e) != 0)
		return s->e->code;
	return f->write(f->ctx, s->stop[RAMA_LOG_REGIONS - 1], bytes, n, s->e);
}

static int write_head(struct rama_shutdown_shut *s, const uint32_t *crc)
{
	const struct rama_shutdown_file *f = &s->opt.file;
	struct rama_log_header h = { .compression = RAMA_LOG_ZLIB, .partial = s->partial };
	unsigned char bytes[RAMA_LOG_HEADER_NEW];
	int rc = rama_shutdown_shut_job(s);

	if (s->missing.n > 0)
		h.partial |= RAMA_LOG_PARTIAL_END;
	for (unsigned i = 0; i < RAMA_LOG_REGIONS; i++) {
		const struct rama_tab_module *mod =
			i >= RAMA_LOG_REGION_MODULE
				? rama_tab_module_get(i - RAMA_LOG_REGION_MODULE)
				: NULL;

		h.part[i].off = s->place[i];
		h.part[i].len = s->stop[i] - s->place[i];
		if (mod != NULL && s->version[mod->id] > 0) /* that of the records in memory */
			h.part[i].version = mod->released;
	}
	s->result->partial = h.partial;
	rama_log_header_encode(&h, bytes);
	if (rc == 0)
		rc = write_annex(s, &h, crc);
	if (rc == 0)
		rc = f->write(f->ctx, s->place[RAMA_LOG_REGION_JOB],
			      s->piece[RAMA_LOG_REGION_JOB].bytes, s->piece[RAMA_LOG_REGION_JOB].n,
			      s->e);
	return rc == 0 ? f->write(f->ctx, 0, bytes, sizeof(bytes), s->e) : rc;
}

/* the first of a row that is still there */
static int64_t writer_of(const struct rama_shutdown_shut *s, unsigned row, unsigned rows,
			 int64_t *end)
{
	int64_t first = s->count * row / rows;

	*end = s->count * (row + 1) / rows;
	while (first < *end && rama_ranges_has(&s->missing, rama_shutdown_shut_rank(s, first)))
		first++;
	return first;
}

static int complete(struct rama_shutdown_shut *s, struct group *g, unsigned rows)
{
	uint64_t at[RAMA_LOG_REGIONS];
	uint32_t crc[RAMA_LOG_REGIONS];
	int64_t writer[RAMA_SHUTDOWN_SHUT_WRITERS], end;
	int rc = g->rc;

	for (unsigned i = 0; i < RAMA_LOG_REGIONS; i++) {
		at[i] = g->lane[i].at;
		crc[i] = g->lane[i].crc;
	}
	for (unsigned row = 1; row < rows; row++) {
		writer[row] = writer_of(s, row, rows, &end);
		if (writer[row] == end)
			writer[row] = -1;
	}
	for (unsigned row = 1; row < rows && rc == 0; row++)
		if (writer[row] >= 0)
			rc = take_written(s, writer[row], at, crc);
	for (unsigned i = 0; i < RAMA_LOG_REGIONS && rc == 0; i++)
		rc = rama_shutdown_shut_fill(s, at[i], s->stop[i] - at[i], &crc[i]);
	return rc == 0 ? write_head(s, crc) : rc;
}

static int finish(struct rama_shutdown_shut *s, int rc)
{
	const struct rama_shutdown_file *f = &s->opt.file;
	int closed = 0;

	if (s->file_open)
		closed = f->finish(f->ctx, rc == 0, rc == 0 ? s->e : NULL);
	s->file_open = false;
	return rc == 0 ? closed : rc;
}

int rama_shutdown_shut_write(struct rama_shutdown_shut *s)
{
	const struct rama_shutdown_file *f = &s->opt.file;
	unsigned rows = s->alone ? 1 : s->writers, row = 0;
	struct group *g = calloc(1, sizeof(*g));
	int rc = 0;

	if (g == NULL)
		return rama_shutdown_shut_no_memory(s);
	rows = (int64_t)rows > s->count ? (unsigned)s->count : rows;
	while (s->count * (row + 1) / rows <= s->index)
		row++;
	g->s = s;
	g->writer = writer_of(s, row, rows, &g->end);
	s->result->writers = rows;
	if (g->writer != s->index) {
		deliver(s, rama_shutdown_shut_rank(s, g->writer));
	} else {
		if (!s->file_open) {
			g->rc = f->open(f->ctx, &s->file, s->e);
			s->file_open = g->rc == 0;
		}
		write_group(g);
		if (s->index > 0)
			report(g);
	}
	if (s->index == 0) {
		rc = finish(s, complete(s, g, rows));
		tell_end(s, rc);
	} else {
		rc = wait_for_end(s);
		finish(s, rc);
	}
	free(g);
	return rc;
}
