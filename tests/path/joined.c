/* SPDX-License-Identifier: BSD-3-Clause */
/* joined.c [--blind] LOG…: joins the calls of logs and prints each, one JSON object per line, with
 * the call it was found to be part of. --blind: without the numbers that were sent along in
 * requests, which are printed beside: so links can be compared with them. Fails if the gaps or the
 * pieces of the critical path of any call, or of the whole, do not add up exactly. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "logfile/log.h"
#include "path/path.h"
#include "path/read.h"
#include "table/fn.h"

enum { LOGS = 16 };

static bool carries(const struct rama_path_call *c)
{
	return c->layer == RAMA_PATH_LAYER_CLIENT || c->layer == RAMA_PATH_LAYER_SERVER;
}

/* The number goes where joining does not look. */
static void hide_numbers(struct rama_path *p, bool blind)
{
	for (size_t i = 0; i < p->n; i++)
		if (carries(&p->call[i])) {
			p->call[i].thread = p->call[i].mark;
			p->call[i].mark = blind ? 0 : p->call[i].mark;
		}
}

/* pieces follow each other from begin to end; nothing that nobody waited for is among them */
static bool adds_up(const struct rama_path *p, size_t call)
{
	int64_t at = call == RAMA_PATH_NONE ? 0 : p->call[call].start,
		end = call == RAMA_PATH_NONE ? p->end : p->call[call].end;
	struct rama_path_pieces k;
	struct rama_path_gaps g;
	bool good = rama_path_critical(p, call, &k) == 0;

	for (size_t i = 0; i < k.n && good; i++) {
		size_t of = k.piece[i].call;

		good = k.piece[i].from == at && k.piece[i].to > at &&
		       (of == RAMA_PATH_NONE || of == call ||
			p->call[of].parent == RAMA_PATH_NONE ||
			rama_path_awaited(p->call[of].link));
		at = k.piece[i].to;
	}
	rama_path_pieces_fini(&k);
	if (call != RAMA_PATH_NONE) {
		rama_path_gaps(p, call, &g);
		good = good && g.before >= 0 && g.inside >= 0 && g.between >= 0 && g.after >= 0 &&
		       g.before + g.inside + g.between + g.after == end - p->call[call].start;
	}
	return good && at == end;
}

static void print_call(const struct rama_path *p, size_t i)
{
	const struct rama_path_call *c = &p->call[i];

	printf("{\"call\":%zu,\"parent\":%lld,\"link\":\"%s\",\"layer\":\"%s\",\"role\":%u,"
	       "\"rank\":%lld,\"pid\":%lld,\"op\":\"%s\",\"kind\":\"%s\",\"file\":\"%s\",",
	       i, c->parent == RAMA_PATH_NONE ? -1 : (long long)c->parent,
	       rama_path_link_name(c->link), rama_path_layer_name(c->layer), c->role,
	       (long long)c->rank, (long long)c->pid, c->op,
	       c->write							       ? "WRITE"
	       : c->kind == RAMA_TAB_OP_READ || c->kind == RAMA_TAB_OP_NOTHING ? "READ"
									       : "OTHER",
	       c->file);
	printf("\"off\":%lld,\"bytes\":%lld,\"start\":%lld,\"end\":%lld,\"thread\":%llu,"
	       "\"tid\":%llu,\"object\":%llu,\"server\":\"%s\",\"number\":%llu}\n",
	       (long long)c->off, (long long)c->bytes, (long long)c->start, (long long)c->end,
	       (unsigned long long)c->kernel_tid, (unsigned long long)c->tid,
	       (unsigned long long)c->object, c->peer,
	       (unsigned long long)(carries(c) ? c->thread : 0));
}

static int print_all(struct rama_path *p)
{
	if (!adds_up(p, RAMA_PATH_NONE)) {
		fprintf(stderr, "the pieces of the whole do not add up\n");
		return 1;
	}
	for (size_t i = 0; i < p->n; i++) {
		if (!adds_up(p, i)) {
			fprintf(stderr, "the pieces of call %zu do not add up\n", i);
			return 1;
		}
		print_call(p, i);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct rama_file file[LOGS];
	static struct rama_log log[LOGS];
	bool blind = argc > 1 && strcmp(argv[1], "--blind") == 0;
	struct rama_path p = { 0 };
	struct rama_err e = { 0 };
	int rc = 0, n = 0;

	for (int i = 1 + blind; i < argc && n < LOGS && rc == 0; i++, n++) {
		rc = rama_file_open(&file[n], argv[i], &e);
		if (rc == 0)
			rc = rama_log_open(&log[n], &file[n].src, NULL, &e);
		if (rc == 0)
			rc = rama_path_read(&p, &log[n], NULL, NULL, &e);
		if (rc != 0)
			fprintf(stderr, "%s: %d %s\n", argv[i], rc, e.text);
	}
	hide_numbers(&p, blind);
	if (rc == 0)
		rc = rama_path_join(&p, p.end);
	if (rc == 0)
		rc = print_all(&p);
	rama_path_fini(&p);
	return rc != 0;
}
