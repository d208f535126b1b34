/* SPDX-License-Identifier: BSD-3-Clause */
/* links.c LOG…: every call that logs have, as it was recorded, one JSON object per line: for tests
 * that compare links with the truth before anybody has joined them. */
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "logfile/calls.h"
#include "logfile/cursor.h"
#include "logfile/log.h"
#include "table/fn.h"
#include "table/layers.h"

static const char *kind_name(uint8_t kind)
{
	static const char *const name[] = {
#define OP(kind, counter) #kind,
#include "table/ops.def"
#undef OP
	};

	return kind < RAMA_TAB_OPS ? name[kind] : "?";
}

static const char *name_of(const struct rama_log *log, uint64_t id)
{
	const struct rama_log_name *n = rama_log_name_get(log, id);

	return n != NULL ? n->text : "";
}

static void print_call(const struct rama_log *log, const struct rama_core_record *r,
		       const struct rama_log_call *c)
{
	double origin = r->w[RAMA_TAB_CALLS_F_ORIGIN_TIMESTAMP].f;

	printf("{\"rank\":%lld,\"pid\":%lld,\"lane\":%llu,\"thread\":%llu,\"role\":%lld,"
	       "\"host\":\"%s\",\"id\":%u,\"parent\":%u,",
	       (long long)r->w[RAMA_TAB_RANK].i, (long long)r->w[RAMA_TAB_CALLS_PID].i,
	       (unsigned long long)r->w[RAMA_TAB_CALLS_LANE].u,
	       (unsigned long long)r->w[RAMA_TAB_CALLS_TID].u,
	       (long long)r->w[RAMA_TAB_CALLS_ROLE].i, name_of(log, r->w[RAMA_TAB_CALLS_HOST].u),
	       c->id, c->parent);
	printf("\"layer\":\"%s\",\"op\":\"%.*s\",\"kind\":\"%s\",\"file\":\"%s\",\"off\":%lld,"
	       "\"bytes\":%lld,\"start\":%.9f,\"length\":%.9f,",
	       c->layer < RAMA_TAB_LAYER_ROWS ? rama_tab_event_layer[c->layer].name : "?",
	       (int)c->op_len, c->op, kind_name(c->kind), name_of(log, c->file), (long long)c->off,
	       (long long)c->bytes, origin + (double)c->start * 1e-9, (double)c->length * 1e-9);
	printf("\"linked\":%s,\"tid\":%llu,\"unique\":%llu,\"object\":%llu,\"mark\":%llu,"
	       "\"user\":%lld,\"peer\":\"%s\"}\n",
	       c->linked ? "true" : "false", (unsigned long long)c->tid,
	       (unsigned long long)c->unique, (unsigned long long)c->object,
	       (unsigned long long)c->mark, (long long)c->user - 1, name_of(log, c->peer));
}

static int print_log(struct rama_log *log)
{
	struct rama_core_record *r;
	struct rama_log_calls calls;
	struct rama_log_call c;
	struct rama_log_cursor cur;
	int rc = rama_log_cursor_open(&cur, log, RAMA_TAB_MOD_CALLS), got = 0;

	while (rc > 0 && (rc = rama_log_cursor_next(&cur, &r)) > 0) {
		got = rama_log_calls_open(&calls, r);
		while (got >= 0 && (got = rama_log_calls_next(&calls, &c)) > 0)
			print_call(log, r, &c);
		rc = got < 0 ? got : rc;
	}
	rama_log_cursor_close(&cur);
	return rc;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct rama_file file = { 0 };
		struct rama_err e = { 0 };
		struct rama_log log;
		int rc = rama_file_open(&file, argv[i], &e);

		if (rc == 0)
			rc = rama_log_open(&log, &file.src, NULL, &e);
		if (rc == 0)
			rc = print_log(&log);
		if (rc != 0) {
			fprintf(stderr, "%s: %d %s\n", argv[i], rc, e.text);
			return 1;
		}
		rama_log_close(&log);
		rama_file_close(&file);
	}
	return 0;
}
