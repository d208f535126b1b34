/* SPDX-License-Identifier: BSD-3-Clause */
#include "logfile/served.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "logfile/cursor.h"
#include "logfile/meta.h"
#include "table/layers.h"

/* ---- loads of others ------------------------------------------------------------------------- */

void rama_log_loads_add(struct rama_log_loads *l, const struct rama_log_call *c)
{
	size_t i = 0;

	while (i < l->n && (l->of[i].layer != c->layer || l->of[i].name != c->file))
		i++;
	if (i == RAMA_LOG_LOADS)
		return;
	if (i == l->n) {
		memset(&l->of[i], 0, sizeof(l->of[i]));
		l->of[i].layer = c->layer;
		l->of[i].name = c->file;
		l->n++;
	}
	l->of[i].count++;
	l->of[i].bytes += c->bytes > 0 ? (uint64_t)c->bytes : 0;
	l->of[i].ns += c->length;
}

void rama_log_loads_tell(const struct rama_log_loads *l, const struct rama_log *log, char *to,
			 size_t room)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct rama_log_name *n = rama_log_name_get(log, l->of[i].name);
		char text[160];
		size_t have = strlen(to);
		int len = snprintf(text, sizeof(text), "%s%s %.60s %llu %llu %llu",
				   have > 0 ? ";" : "", rama_tab_event_layer[l->of[i].layer].name,
				   n != NULL ? n->text : "?", (unsigned long long)l->of[i].count,
				   (unsigned long long)l->of[i].bytes,
				   (unsigned long long)l->of[i].ns);

		if (len > 0 && (size_t)len < sizeof(text) && have + (size_t)len < room)
			memcpy(to + have, text, (size_t)len + 1);
	}
}

/* ---- one call after the other ---------------------------------------------------------------- */

struct served {
	struct rama_log *log;
	struct rama_log_served *user; /* of all users, or the one */
	size_t n, most;
	struct rama_map kept; /* requests of a server by lane and id, for what is part of them */
	struct rama_map used; /* ids of names */
	struct rama_log_loads others;
	struct rama_log_writer w;
	struct rama_log_calls_pen pen;
};

typedef int visitor(struct served *s, const struct rama_core_record *r,
		    const struct rama_log_call *c);

/* Damage ends a record, as everywhere. done: after each record; may be NULL. 1 of a visitor ends
 * all. */
static int each_call(struct served *s, visitor *visit,
		     int (*done)(struct served *s, const struct rama_core_record *r))
{
	struct rama_core_record *r;
	struct rama_log_calls calls;
	struct rama_log_call c;
	struct rama_log_cursor cur;
	int rc = rama_log_cursor_open(&cur, s->log, RAMA_TAB_MOD_CALLS), bad = 0;

	while (rc > 0 && bad == 0 && (rc = rama_log_cursor_next(&cur, &r)) > 0) {
		if (rama_log_calls_open(&calls, r) == 0)
			while (bad == 0 && rama_log_calls_next(&calls, &c) > 0)
				bad = visit(s, r, &c);
		if (bad == 0 && done != NULL)
			bad = done(s, r);
	}
	rama_log_cursor_close(&cur);
	return bad != 0 ? bad : rc < 0 ? rc : 0;
}

static int64_t origin_of(const struct rama_core_record *r)
{
	double origin = r->w[RAMA_TAB_CALLS_F_ORIGIN_TIMESTAMP].f * 1e9;

	return origin >= 0 && origin < 1e18 ? (int64_t)(origin + 0.5) : 0;
}

/* ---- users ----------------------------------------------------------------------------------- */

static int note_user(struct served *s, const struct rama_core_record *r,
		     const struct rama_log_call *c)
{
	int64_t from = origin_of(r) + (int64_t)c->start, to = from + (int64_t)c->length;
	size_t i = 0;

	if (r->w[RAMA_TAB_CALLS_ROLE].i <= RAMA_LOG_ROLE_APPLICATION) {
		s->n = 0;
		return 1;
	}
	if (!c->linked || c->user == 0)
		return 0;
	while (i < s->n && s->user[i].user != c->user)
		i++;
	if (i == s->most)
		return 0;
	if (i == s->n)
		s->user[s->n++] =
			(struct rama_log_served){ .user = c->user, .from = from, .to = to };
	s->user[i].requests++;
	s->user[i].from = from < s->user[i].from ? from : s->user[i].from;
	s->user[i].to = to > s->user[i].to ? to : s->user[i].to;
	return 0;
}

int rama_log_served_users(struct rama_log *log, struct rama_log_served *users, size_t most,
			  size_t *n)
{
	struct served *s = calloc(1, sizeof(*s));
	int rc;

	*n = 0;
	if (s == NULL)
		return RAMA_EMEMORY;
	s->log = log;
	s->user = users;
	s->most = most;
	rc = log->part[RAMA_TAB_MOD_CALLS].len > 0 ? each_call(s, note_user, NULL) : 0;
	*n = rc >= 0 ? s->n : 0;
	free(s);
	return rc < 0 ? rc : 0;
}

/* ---- the log of one -------------------------------------------------------------------------- */

static uint64_t lane_key(const struct rama_core_record *r, uint32_t id)
{
	return (r->w[RAMA_TAB_CALLS_LANE].u << 32 | id) ^
	       r->w[RAMA_TAB_CALLS_PROGRAM].u * 0x9e3779b97f4a7c15u;
}

static bool is_his(const struct served *s, const struct rama_log_call *c)
{
	return c->linked && c->user == s->user->user;
}

static bool is_wanted(const struct served *s, const struct rama_core_record *r,
		      const struct rama_log_call *c)
{
	return is_his(s, c) || (!c->linked && c->parent != 0 &&
				rama_map_get(&s->kept, lane_key(r, c->parent)) != NULL);
}

static int note_request(struct served *s, const struct rama_core_record *r,
			const struct rama_log_call *c)
{
	return !is_his(s, c) || rama_map_put(&s->kept, lane_key(r, c->id), NULL) != NULL
		       ? 0
		       : RAMA_EMEMORY;
}

static int note_names(struct served *s, const struct rama_core_record *r,
		      const struct rama_log_call *c)
{
	const uint64_t id[] = { c->file, c->peer, r->w[RAMA_TAB_ID].u,
				r->w[RAMA_TAB_CALLS_HOST].u };
	int64_t from = origin_of(r) + (int64_t)c->start;

	for (size_t i = 0; i < sizeof(id) / sizeof(id[0]) && is_wanted(s, r, c); i++)
		if (id[i] != 0 && rama_map_put(&s->used, id[i], NULL) == NULL)
			return RAMA_EMEMORY;
	if (c->linked && !is_his(s, c) && from <= s->user->to &&
	    from + (int64_t)c->length >= s->user->from)
		rama_log_loads_add(&s->others, c);
	return 0;
}

static int flush(struct served *s, const struct rama_core_record *of)
{
	union rama_core_word w[RAMA_TAB_CALLS__WORDS];
	struct rama_core_record r = { .mod = of->mod, .schema = of->schema, .w = w };
	int rc;

	if (s->pen.n == 0)
		return 0;
	memcpy(w, of->w, sizeof(w));
	rama_log_calls_pen_give(&s->pen, &r);
	rc = rama_log_writer_record(&s->w, &r);
	rama_log_calls_pen_clear(&s->pen);
	return rc;
}

static int write_call(struct served *s, const struct rama_core_record *r,
		      const struct rama_log_call *c)
{
	int rc = 0;

	if (!is_wanted(s, r, c) || rama_log_calls_pen_add(&s->pen, c))
		return 0;
	rc = flush(s, r);
	if (rc == 0)
		rama_log_calls_pen_add(&s->pen, c);
	return rc;
}

static int write_names(struct served *s)
{
	int rc = 0;

	for (size_t i = 0; i < s->log->n_names && rc == 0; i++) {
		const struct rama_log_name *n = &s->log->names[i];

		if (rama_map_get(&s->used, n->id) != NULL)
			rc = rama_log_writer_name(&s->w, n->id, n->text, n->len);
	}
	return rc;
}

static int write_log(struct served *s)
{
	const struct rama_tab_module *mod = rama_tab_module_get(RAMA_TAB_MOD_CALLS);
	struct rama_log_job job = s->log->job;
	char others[400] = "";
	int rc;

	/* what else it says is about the server and whoever observed it */
	job.metadata[0] = '\0';
	rama_log_loads_tell(&s->others, s->log, others, sizeof(others));
	if (others[0] != '\0')
		rama_log_meta_set(job.metadata, sizeof(job.metadata), RAMA_LOG_META_OTHER, others);
	job.exe = "";
	rama_log_calls_pen_clear(&s->pen);
	rc = rama_log_writer_job(&s->w, &job, NULL, 0);
	if (rc == 0)
		rc = write_names(s);
	if (rc == 0)
		rc = rama_log_writer_module(&s->w, mod->id, mod->newest);
	if (rc == 0)
		rc = each_call(s, write_call, flush);
	return rc == 0 ? rama_log_writer_finish(&s->w, s->log->partial & 1ull << RAMA_TAB_MOD_CALLS)
		       : rc;
}

int rama_log_served_write(struct rama_log *log, const struct rama_log_served *of,
			  const struct rama_log_sink *sink, struct rama_err *e)
{
	struct rama_log_served one = *of;
	struct served *s = calloc(1, sizeof(*s));
	int rc;

	if (s == NULL)
		return rama_err_no_memory(e);
	s->log = log;
	s->user = &one;
	rc = rama_log_writer_init(&s->w, sink, RAMA_LOG_ZLIB, 6);
	if (rc == 0)
		rc = each_call(s, note_request, NULL);
	if (rc == 0)
		rc = each_call(s, note_names, NULL);
	if (rc == 0)
		rc = write_log(s);
	if (rc != 0)
		*e = s->w.err.code != 0 ? s->w.err : *e;
	if (rc != 0 && e->code == 0)
		rama_err_set(e, rc, "%s", rama_err_text(rc));
	rama_log_writer_fini(&s->w);
	rama_map_fini(&s->kept);
	rama_map_fini(&s->used);
	free(s);
	return rc;
}
