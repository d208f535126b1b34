/* SPDX-License-Identifier: BSD-3-Clause */
/* import_stream.c: events as they come, sorted by process and lane, become blocks with sequence
 * numbers. */
#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/siphash.h"
#include "index/import_stream.h"
#include "wire/columns.h"
#include "wire/key.h"

uint64_t rama_index_import_hash(const void *bytes, size_t n, unsigned salt)
{
	const struct rama_sipkey key = { 0x696f72616d612d69u ^ salt, 0x6d706f7274206b65u };

	return rama_siphash(&key, bytes, n);
}

static int no_memory(struct rama_index_import *im)
{
	return rama_err_set(im->e, RAMA_EMEMORY, "%s: no memory to import it", im->src->name);
}

int rama_index_import_message(struct rama_index_import *im, const struct rama_wire_message *m)
{
	int rc = im->opt->message(im->opt->ctx, m, im->e);

	im->t->messages += rc >= 0;
	return rc < 0 ? rc : 0;
}

/* ---- small readers --------------------------------------------------------------------------- */

bool rama_index_import_what(struct rama_wire_what *w, const char *layer, const char *op,
			    const char *fn)
{
	memset(w, 0, sizeof(*w));
	if (strcmp(layer, "MPIIO") == 0)
		layer = "MPI-IO";
	if (layer[0] == '\0' || op[0] == '\0' || strlen(layer) >= sizeof(w->layer) ||
	    strlen(op) >= sizeof(w->op) || strlen(fn) >= sizeof(w->fn))
		return false;
	memcpy(w->layer, layer, strlen(layer));
	memcpy(w->op, op, strlen(op));
	memcpy(w->fn, fn, strlen(fn));
	return rama_wire_what_valid(w);
}

bool rama_index_import_seconds(double s, int64_t *ns)
{
	if (!(fabs(s) < 9e9)) /* also what is no number */
		return false;
	*ns = (int64_t)llround(s * 1e6) * 1000;
	return true;
}

void rama_index_import_places(struct rama_index_import_event *x)
{
	if (strcmp(x->what.op, "open") == 0 || strcmp(x->what.op, "close") == 0)
		x->ev.off = x->ev.bytes = -1;
	if (x->ev.off < 0)
		x->ev.off = -1;
	if (x->ev.bytes < 0)
		x->ev.bytes = -1;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool rama_index_import_segment(const char *hex, struct rama_wire_segment_key *k)
{
	if (strlen(hex) != 2 * sizeof(k->b))
		return false;
	for (unsigned i = 0; i < sizeof(k->b); i++) {
		int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		k->b[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

char *rama_index_import_unhex(const char *hex, size_t *n)
{
	char *to;

	*n = strlen(hex) / 2;
	if (strlen(hex) % 2 != 0 || *n > RAMA_WIRE_MSG_TEXT || (to = malloc(*n + 1)) == NULL)
		return NULL;
	for (size_t i = 0; i < *n; i++) {
		int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);

		if (high < 0 || low < 0 || (high | low) == 0) {
			free(to);
			return NULL;
		}
		to[i] = (char)(high << 4 | low);
	}
	to[*n] = '\0';
	return to;
}

/* ---- streams --------------------------------------------------------------------------------- */

/* A name of our own for a process of the connector: who it is, and which file told so. */
static void make_key(struct rama_index_import *im, const struct rama_index_import_event *x,
		     struct rama_wire_segment_key *k)
{
	char text[512];
	uint64_t half[2];
	int n = snprintf(text, sizeof(text), "%lld\n%lld\n%lld\n%llx\n%.255s", (long long)x->uid,
			 (long long)x->jobid, (long long)x->rank, (unsigned long long)im->identity,
			 x->host != NULL ? x->host : "");

	for (unsigned i = 0; i < 2; i++)
		half[i] = rama_index_import_hash(text, (size_t)n, 1 + i);
	memcpy(k->b, half, sizeof(half));
}

/* Jobs without a number are told apart by their files. */
static void make_job(const struct rama_index_import *im, const struct rama_index_import_event *x,
		     char job[RAMA_WIRE_JOB])
{
	if (x->jobid != 0)
		snprintf(job, RAMA_WIRE_JOB, "%lld/job-%lld", (long long)x->uid,
			 (long long)x->jobid);
	else
		snprintf(job, RAMA_WIRE_JOB, "%lld/job-0-%016llx", (long long)x->uid,
			 (unsigned long long)im->identity);
}

static void free_stream(struct rama_index_import_stream *s)
{
	free(s->event);
	free(s->what);
	free(s->host);
	free(s->exe);
	free(s);
}

static bool is_stream(const struct rama_index_import_stream *s,
		      const struct rama_wire_segment_key *k, uint32_t lane)
{
	return s->lane == lane && memcmp(&s->segment, k, sizeof(*k)) == 0;
}

static int set_text(struct rama_index_import *im, char **at, const char *text)
{
	char *copy;

	if (text == NULL || *at != NULL)
		return 0;
	if ((copy = strndup(text, RAMA_WIRE_MSG_TEXT)) == NULL)
		return no_memory(im);
	*at = copy;
	return 0;
}

static int put_process(struct rama_index_import *im, const struct rama_index_import_stream *s,
		       bool last)
{
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_PROCESS };

	m.process = (struct rama_wire_msg_process){ .segment = s->segment,
						    .job = s->job,
						    .user = "",
						    .command = "",
						    .tag = "",
						    .uid = s->uid,
						    .jobid = s->jobid,
						    .rank = s->rank,
						    .start = s->start,
						    .state = RAMA_WIRE_STATE_RUNNING,
						    .lanes = 1 };
	m.process.host = s->host != NULL ? s->host : "";
	m.process.exe = s->exe != NULL ? s->exe : "";
	m.process.seen_at = s->end;
	m.process.version = 1;
	if (last) {
		/* a file that grew says more than it did */
		m.process.version = s->made_up ? 2 + s->count : 0;
		m.process.end = s->end;
		m.process.state = RAMA_WIRE_STATE_ENDED;
		m.process.made = s->count;
		m.process.dropped = s->lost;
	}
	return rama_index_import_message(im, &m);
}

static int add_stream(struct rama_index_import *im, const struct rama_index_import_event *x,
		      const struct rama_wire_segment_key *k, uint64_t hash,
		      struct rama_index_import_bad *bad)
{
	struct rama_index_import_stream *s;
	uint64_t *at;
	bool fresh;

	if (im->n_streams == RAMA_INDEX_IMPORT_STREAMS) {
		snprintf(bad->why, sizeof(bad->why),
			 "there are more processes in this file than can be followed");
		return 1;
	}
	if (!RAMA_GROW(im->stream, im->room_streams, im->n_streams + 1))
		return no_memory(im);
	if ((at = rama_map_put(&im->find, hash, &fresh)) == NULL ||
	    (s = calloc(1, sizeof(*s))) == NULL)
		return no_memory(im);
	s->segment = *k;
	s->lane = x->lane;
	s->tid = x->tid;
	s->rank = x->rank;
	s->uid = x->uid;
	s->jobid = x->jobid;
	s->made_up = x->segment == NULL;
	s->start = s->end = (int64_t)((uint64_t)x->ev.end - (uint64_t)x->ev.dur);
	s->next = (struct rama_index_import_stream *)(uintptr_t)*at;
	*at = (uint64_t)(uintptr_t)s;
	im->stream[im->n_streams++] = im->last = s;
	if (x->job != NULL)
		memcpy(s->job, x->job, strlen(x->job));
	else
		make_job(im, x, s->job);
	return set_text(im, &s->host, x->host) < 0 ? RAMA_EMEMORY : 0;
}

/* *to: the stream of an event, also in im->last */
static int find_stream(struct rama_index_import *im, const struct rama_index_import_event *x,
		       struct rama_index_import_stream **to, struct rama_index_import_bad *bad)
{
	struct rama_wire_segment_key k;
	uint64_t hash, *at;
	int rc;

	if (x->segment != NULL)
		k = *x->segment;
	else
		make_key(im, x, &k);
	*to = im->last;
	if (*to != NULL && is_stream(*to, &k, x->lane))
		return 0;
	hash = rama_index_import_hash(k.b, sizeof(k.b), 3) + x->lane;
	at = rama_map_get(&im->find, hash);
	for (struct rama_index_import_stream *s =
		     at != NULL ? (struct rama_index_import_stream *)(uintptr_t)*at : NULL;
	     s != NULL; s = s->next)
		if (is_stream(s, &k, x->lane)) {
			*to = im->last = s;
			return 0;
		}
	if ((rc = add_stream(im, x, &k, hash, bad)) != 0)
		return rc;
	*to = im->last;
	return x->segment != NULL ? 0 : put_process(im, *to, false);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static int flush_stream(struct rama_index_import *im, struct rama_index_import_stream *s)
{
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_BLOCK };
	struct rama_wire_block *b = im->block;
	int64_t n;

	if (s->n == 0)
		return 0;
	memcpy(b->job, s->job, sizeof(b->job));
	b->segment = s->segment;
	b->rank = s->rank;
	b->lane = s->lane;
	b->tid = s->tid;
	b->first = s->first;
	b->lost = s->lost;
	b->n = s->n;
	b->n_whats = s->n_whats;
	memcpy(b->what, s->what, s->n_whats * sizeof(b->what[0]));
	memcpy(b->event, s->event, s->n * sizeof(b->event[0]));
	n = rama_wire_block_pack(&im->packer, b, im->packed, im->packed_room, im->e);
	if (n < 0)
		return (int)n;
	im->waiting -= s->n;
	s->first += s->n;
	s->n = s->n_whats = 0;
	m.block.bytes = im->packed;
	m.block.len = (size_t)n;
	return rama_index_import_message(im, &m);
}

/* and their memory: what waits is limited, what was once needed would not be */
static int flush_all(struct rama_index_import *im)
{
	int rc = 0;

	for (size_t i = 0; i < im->n_streams && rc >= 0; i++) {
		struct rama_index_import_stream *s = im->stream[i];

		rc = flush_stream(im, s);
		free(s->event);
		s->event = NULL;
		s->room = s->n = 0;
	}
	return rc;
}

/* row of the stream's table of calls; -1: no memory, -2: it is full */
static int find_what(struct rama_index_import_stream *s, const struct rama_wire_what *w)
{
	for (uint32_t i = 0; i < s->n_whats; i++)
		if (memcmp(&s->what[i], w, sizeof(*w)) == 0)
			return (int)i;
	if (s->n_whats == RAMA_WIRE_BLOCK_WHATS)
		return -2;
	if (!RAMA_GROW(s->what, s->room_whats, s->n_whats + 1))
		return -1;
	s->what[s->n_whats] = *w;
	return (int)s->n_whats++;
}

static int add_event(struct rama_index_import *im, struct rama_index_import_stream *s,
		     const struct rama_index_import_event *x)
{
	int what, rc;

	if ((x->has_seq && x->seq != s->first + s->n) || s->n == RAMA_WIRE_BLOCK_EVENTS ||
	    (s->n > 0 && s->tid != x->tid)) {
		if ((rc = flush_stream(im, s)) < 0)
			return rc;
		s->first = x->has_seq ? x->seq : s->first;
	}
	if ((what = find_what(s, &x->what)) == -2) {
		if ((rc = flush_stream(im, s)) < 0)
			return rc;
		what = find_what(s, &x->what);
	}
	if (!RAMA_GROW(s->event, s->room, s->n + 1))
		return no_memory(im);
	if (what < 0)
		return no_memory(im);
	s->tid = x->tid;
	s->rank = x->rank;
	s->lost = x->lost > s->lost ? x->lost : s->lost;
	s->event[s->n] = x->ev;
	s->event[s->n++].what = (uint16_t)what;
	im->waiting++;
	return im->waiting > RAMA_INDEX_IMPORT_WAITING ? flush_all(im) : 0;
}

/* the name of a record, once per job */
static int add_name(struct rama_index_import *im, const struct rama_index_import_stream *s,
		    const struct rama_index_import_event *x)
{
	struct rama_wire_msg_name name = { x->ev.record, x->path, (uint32_t)x->path_len };
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_NAMES, .names = { s->job, 1, &name } };
	unsigned char text[RAMA_WIRE_JOB + 8] = { 0 };
	uint64_t *at;
	bool fresh;

	if (x->path == NULL || x->ev.record == 0)
		return 0;
	memcpy(text, s->job, strlen(s->job));
	memcpy(text + RAMA_WIRE_JOB, &x->ev.record, 8);
	if (im->named.used >= RAMA_INDEX_IMPORT_NAMES)
		rama_map_fini(&im->named); /* told again: harmless */
	at = rama_map_put(&im->named, rama_index_import_hash(text, sizeof(text), 4), &fresh);
	if (at == NULL)
		return no_memory(im);
	return fresh ? rama_index_import_message(im, &m) : 0;
}

int rama_index_import_event(struct rama_index_import *im, const struct rama_index_import_event *x,
			    struct rama_index_import_bad *bad)
{
	struct rama_index_import_stream *s;
	int64_t start = (int64_t)((uint64_t)x->ev.end - (uint64_t)x->ev.dur);
	int rc;

	if (x->rank < -1 || (x->job != NULL && !rama_wire_key_valid(x->job, RAMA_WIRE_JOB)) ||
	    x->path_len > RAMA_WIRE_MSG_TEXT ||
	    (x->host != NULL && strlen(x->host) > RAMA_WIRE_MSG_WORD) ||
	    (x->has_seq && x->seq > UINT64_MAX / 2)) {
		snprintf(bad->why, sizeof(bad->why),
			 "its rank, job, host, path or sequence number is not possible");
		return 1;
	}
	if ((rc = find_stream(im, x, &s, bad)) != 0 || s == NULL)
		return rc;
	if ((rc = set_text(im, &s->exe, x->exe)) < 0 || (rc = add_name(im, s, x)) < 0 ||
	    (rc = add_event(im, s, x)) < 0)
		return rc;
	s->start = start < s->start ? start : s->start;
	s->end = x->ev.end > s->end ? x->ev.end : s->end;
	s->count++;
	im->t->events++;
	return 0;
}

int rama_index_import_told(struct rama_index_import *im, const struct rama_wire_segment_key *k)
{
	bool fresh;

	return rama_map_put(&im->told, rama_index_import_hash(k->b, sizeof(k->b), 5), &fresh) !=
			       NULL
		       ? 0
		       : no_memory(im);
}

/* All lanes of a process of our own dialect become one: the first of them, in its place. */
static int add_up(struct rama_index_import *im, struct rama_index_import_stream *s, size_t at,
		  struct rama_map *first)
{
	bool fresh;
	uint64_t *to = rama_map_put(
		first, rama_index_import_hash(s->segment.b, sizeof(s->segment.b), 5), &fresh);
	struct rama_index_import_stream *sum;

	if (to == NULL)
		return no_memory(im);
	if (fresh) {
		*to = at;
		return 1;
	}
	sum = im->stream[*to];
	sum->count += s->count;
	sum->lost = s->lost > sum->lost ? s->lost : sum->lost;
	sum->start = s->start < sum->start ? s->start : sum->start;
	sum->end = s->end > sum->end ? s->end : sum->end;
	return 0;
}

/* Of events in our own dialect whose process was not told by a line of its own, what the events
 * say. Version 0: whatever else is known of it counts more. */
static int put_untold(struct rama_index_import *im)
{
	struct rama_map first = { 0 };
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < im->n_streams && rc >= 0; i++)
		if (!im->stream[i]->made_up && (rc = add_up(im, im->stream[i], n, &first)) > 0) {
			struct rama_index_import_stream *s = im->stream[i];

			im->stream[i] = im->stream[n]; /* the firsts come to the front */
			im->stream[n++] = s;
		}
	rama_map_fini(&first);
	for (size_t i = 0; i < n && rc >= 0; i++) {
		const struct rama_index_import_stream *s = im->stream[i];

		if (rama_map_get(&im->told, rama_index_import_hash(
						    s->segment.b, sizeof(s->segment.b), 5)) == NULL)
			rc = put_process(im, s, true);
	}
	return rc < 0 ? rc : 0;
}

int rama_index_import_finish(struct rama_index_import *im)
{
	int rc = flush_all(im);

	for (size_t i = 0; i < im->n_streams && rc >= 0; i++)
		if (im->stream[i]->made_up)
			rc = put_process(im, im->stream[i], true);
	return rc < 0 ? rc : put_untold(im);
}

void rama_index_import_fini(struct rama_index_import *im)
{
	for (size_t i = 0; i < im->n_streams; i++)
		free_stream(im->stream[i]);
	free(im->stream);
	free(im->block);
	free(im->packed);
	free(im->clean);
	rama_map_fini(&im->find);
	rama_map_fini(&im->named);
	rama_map_fini(&im->told);
	rama_wire_block_packer_fini(&im->packer);
}
