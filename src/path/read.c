/* SPDX-License-Identifier: BSD-3-Clause */
#include "path/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "logfile/calls.h"

#define SECOND 1000000000

/* times of a job beyond it (about 36 years) are not believed: nothing overflows below */
#define TIME_MOST (1ll << 60)

/* F_ORIGIN_TIMESTAMP is a nanosecond later than what calls count from */
static int64_t origin_of(const struct rama_core_record *r)
{
	double ns = r->w[RAMA_TAB_CALLS_F_ORIGIN_TIMESTAMP].f * 1e9;

	return ns >= 1 && ns < (double)RAMA_LOG_CALLS_TIME ? (int64_t)(ns + 0.5) - 1 : 0;
}

static const char *name_of(const struct rama_log *log, uint64_t id)
{
	const struct rama_log_name *n = rama_log_name_get(log, id);

	return n != NULL ? n->text : "";
}

/* The FUSE mount that a file is on, NULL: none. Asked once for each file. */
static const char *mount_of(struct rama_path *p, const struct rama_log *log, uint64_t id,
			    const char *name)
{
	const struct rama_log_mount *m;
	bool fresh;
	uint64_t *at = rama_map_put(&p->mounts, id, &fresh);

	if (at == NULL)
		return NULL;
	if (fresh) {
		m = rama_log_mount_get(log, name);
		if (m != NULL && strncmp(m->type, "fuse", 4) == 0)
			*at = (uint64_t)(uintptr_t)m->path;
	}
	return (const char *)(uintptr_t)*at;
}

static int64_t believed(int64_t ns)
{
	return ns < -TIME_MOST ? -TIME_MOST : ns < TIME_MOST ? ns : TIME_MOST;
}
_Static_assert(3 * RAMA_LOG_CALLS_TIME + TIME_MOST < INT64_MAX, "sums of times fit");

static int take_record(struct rama_path *p, struct rama_log *log, int64_t later,
		       const struct rama_core_record *r)
{
	int64_t origin = origin_of(r) + later, role = r->w[RAMA_TAB_CALLS_ROLE].i;
	const char *host = name_of(log, r->w[RAMA_TAB_CALLS_HOST].u);
	struct rama_log_calls calls;
	struct rama_log_call c;
	int rc = rama_log_calls_open(&calls, r), got = 0;

	while (rc == 0 && (got = rama_log_calls_next(&calls, &c)) > 0) {
		struct rama_path_call to = { .rank = r->w[RAMA_TAB_RANK].i,
					     .pid = r->w[RAMA_TAB_CALLS_PID].i,
					     .program = r->w[RAMA_TAB_CALLS_PROGRAM].u,
					     .lane = r->w[RAMA_TAB_CALLS_LANE].u,
					     .thread = r->w[RAMA_TAB_CALLS_THREAD].u,
					     .kernel_tid = r->w[RAMA_TAB_CALLS_TID].u,
					     .id = c.id,
					     .parent_id = c.parent,
					     .layer = c.layer,
					     .write = c.write,
					     .kind = c.kind,
					     .role = role > 0 && role <= RAMA_LOG_ROLE_SERVER
							     ? (uint8_t)role
							     : RAMA_PATH_ROLE_APPLICATION,
					     .host = host,
					     .op = c.op,
					     .file_id = c.file,
					     .file = name_of(log, c.file),
					     .off = c.off,
					     .bytes = c.bytes,
					     .start = believed(origin + (int64_t)c.start),
					     .end = believed(origin +
							     (int64_t)(c.start + c.length)),
					     .tid = c.tid,
					     .unique = c.unique,
					     .object = c.object,
					     .mark = c.mark,
					     .user = c.user,
					     .peer = name_of(log, c.peer) };

		if (to.role == RAMA_PATH_ROLE_APPLICATION)
			to.mount = mount_of(p, log, c.file, to.file);
		rc = rama_path_add(p, &to, c.op_len);
	}
	if (rc == RAMA_ECORRUPT || got < 0)
		rc = rama_log_problem(log, RAMA_ECORRUPT,
				      "CALLS: a record is damaged; %llu calls lost",
				      (unsigned long long)calls.left);
	return rc;
}

/* ns since 1970; 0: not known */
static int64_t moment(int64_t sec, int64_t nsec)
{
	return sec > 0 && sec < INT64_MAX / SECOND - 1 && nsec >= 0 && nsec < SECOND
		       ? sec * SECOND + nsec
		       : 0;
}

/* "LAYER SERVER COUNT BYTES NS;...": the server may have blanks, the numbers are the last three */
static int take_load(struct rama_path *p, char *at)
{
	int rc = 0;

	for (char *next; *at != '\0' && *at != '\n' && rc == 0; at = next) {
		struct rama_path_load l = { .layer = RAMA_PATH_LAYERS };
		char *word[3], *end = at + strcspn(at, ";\n"), *server;
		unsigned n = 0;

		next = end + (*end == ';');
		*end = '\0';
		while (n < 3 && end > at && (end = memrchr(at, ' ', (size_t)(end - at))) != NULL) {
			*end = '\0';
			word[n++] = end + 1;
		}
		server = strchr(at, ' ');
		if (n < 3 || server == NULL)
			continue;
		*server++ = '\0';
		for (uint8_t k = 0; k < RAMA_PATH_LAYERS; k++)
			l.layer = strcmp(at, rama_path_layer_name(k)) == 0 ? k : l.layer;
		l.server = strcmp(server, "-") == 0 ? "" : server;
		l.count = strtoull(word[2], NULL, 10);
		l.bytes = strtoll(word[1], NULL, 10);
		l.time = strtoll(word[0], NULL, 10);
		if (l.layer < RAMA_PATH_LAYERS && l.bytes >= 0 && l.time >= 0)
			rc = rama_path_add_load(p, &l);
	}
	return rc;
}

/* what the log says of requests that were not of the job */
static int take_loads(struct rama_path *p, const struct rama_log *log)
{
	const char *at = strstr(log->job.metadata, RAMA_LOG_META_OTHER);
	char text[RAMA_LOG_META_SIZE];

	if (at == NULL || (at != log->job.metadata && at[-1] != '\n'))
		return 0;
	at += strlen(RAMA_LOG_META_OTHER);
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(at, "\n"), at);
	return take_load(p, text);
}

bool rama_path_serves(struct rama_log *log)
{
	struct rama_core_record *r;
	struct rama_log_cursor cur;
	bool serves = false;
	int rc;

	if (log->part[RAMA_TAB_MOD_CALLS].len == 0)
		return false;
	rc = rama_log_cursor_open(&cur, log, RAMA_TAB_MOD_CALLS);
	if (rc > 0 && rama_log_cursor_next(&cur, &r) > 0)
		serves = r->w[RAMA_TAB_CALLS_ROLE].i > RAMA_LOG_ROLE_APPLICATION;
	rama_log_cursor_close(&cur);
	return serves;
}

static uint64_t left_out_of(const struct rama_log *log)
{
	const char *at = strstr(log->job.metadata, RAMA_LOG_META_LEFT_OUT);

	return at != NULL ? strtoull(at + strlen(RAMA_LOG_META_LEFT_OUT), NULL, 10) : 0;
}

int rama_path_read(struct rama_path *p, struct rama_log *log,
		   void (*progress)(void *ctx, const struct rama_log_cursor *c), void *ctx,
		   struct rama_err *e)
{
	int64_t start = moment(log->job.start_sec, log->job.start_nsec),
		end = moment(log->job.end_sec, log->job.end_nsec), later = 0;
	struct rama_core_record *r;
	struct rama_log_cursor cur;
	int rc;

	if (log->part[RAMA_TAB_MOD_CALLS].len == 0)
		return rama_err_set(e, RAMA_EMISSING, "it has no calls: record it with --trace");
	if (p->n_logs++ == 0) {
		p->origin = start;
		p->uid = log->job.uid;
		p->end = end > start ? believed(end - start) : 0;
	} else if (p->origin > 0 && start > 0) {
		later = believed(start - p->origin);
	}
	p->partial = p->partial || (log->partial >> RAMA_TAB_MOD_CALLS & 1) != 0;
	p->left_out += left_out_of(log);
	rc = rama_log_cursor_open(&cur, log, RAMA_TAB_MOD_CALLS);
	while (rc > 0 && (rc = rama_log_cursor_next(&cur, &r)) > 0) {
		int bad = take_record(p, log, later, r);

		rc = bad < 0 ? bad : 1;
		if (progress != NULL)
			progress(ctx, &cur);
	}
	rama_log_cursor_close(&cur);
	if (rc == 0)
		rc = take_loads(p, log);
	if (rc == RAMA_EMEMORY)
		rama_err_no_memory(e);
	else if (rc < 0)
		*e = log->err;
	return rc;
}
