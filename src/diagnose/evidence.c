/* SPDX-License-Identifier: BSD-3-Clause */
/* evidence.c: who shows a finding, and its words. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "diagnose/engine.h"
#include "path/facts.h"

static struct rama_diag_culprit *culprits_alloc(struct rama_diag_engine *g,
						struct rama_diag_finding *to)
{
	struct rama_diag_culprit *c =
		rama_arena_alloc(&g->d->arena, RAMA_DIAG_CULPRITS * sizeof(*c));

	to->culprits = c;
	to->n_culprits = 0;
	return c;
}

static char *format(struct rama_diag_engine *g, const char *fmt, const char *a, const char *b)
{
	char text[400];

	snprintf(text, sizeof(text), fmt, a, b);
	return rama_arena_text(&g->d->arena, text, strlen(text));
}

static int add(struct rama_diag_finding *to, struct rama_diag_culprit *list,
	       struct rama_diag_culprit c)
{
	if (c.name == NULL || c.text == NULL)
		return RAMA_EMEMORY;
	list[to->n_culprits++] = c;
	return 0;
}

/* the one of several ranks that all these files are of, -1: they have several */
static int64_t only_rank(const struct rama_diag_engine *g, const struct rama_diag_trial *t)
{
	int64_t rank = t->n > 0 ? g->view->files[t->first[0].file].rank : -1;

	for (size_t i = 0; i < t->n; i++) {
		const struct rama_job_view_file *file = &g->view->files[t->first[i].file];

		if (file->ranks > 1 || file->rank != rank || g->view->nprocs < 2)
			return -1;
	}
	return rank;
}

/* the detail of the rule in the figures of one file, and who did it where it is one of several */
static char *file_text(struct rama_diag_engine *g, struct rama_diag_text *text, const char *detail,
		       int64_t rank)
{
	char *words = rama_diag_text_make(text, detail), who[RAMA_DIAG_TEXT_RANK];

	if (words == NULL || rank < 0)
		return words;
	return format(g, "%s; %s", words, rama_diag_text_rank(g->view, rank, who));
}

/* files: each with the detail of the rule, in its own figures */
static int file_culprits(struct rama_diag_engine *g, struct rama_diag_finding *to,
			 const struct rama_diag_trial *t)
{
	const struct rama_diag_rule_code *code = &rama_diag_rule_code[to->rule - rama_diag_rules];
	struct rama_diag_culprit *list = culprits_alloc(g, to);
	bool by_path = t->n > 0 && t->first[0].here > 0, by_time = t->n > 0 && t->first[0].lost > 0;

	to->all_culprits = t->all;
	if (list == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; i < t->n; i++) {
		const struct rama_job_view_file *file = &g->view->files[t->first[i].file];
		struct rama_diag_sums x;
		struct rama_diag_text text = { .f = &g->facts, .x = &x, .arena = &g->d->arena };
		int rc;

		rama_diag_facts_file(&g->facts, file, &x);
		rc = add(to, list,
			 (struct rama_diag_culprit){
				 "file", t->first[i].file, file->name,
				 file_text(g, &text, code->detail, only_rank(g, t)),
				 by_path   ? t->first[i].here
				 : by_time ? t->first[i].lost
					   : t->first[i].bytes });
		if (rc != 0)
			return rc;
	}
	return 0;
}

struct ranked {
	int64_t index;
	double value;
};

static void keep_most(struct ranked *most, size_t *n, struct ranked r)
{
	size_t at = *n;

	while (at > 0 && r.value > most[at - 1].value)
		at--;
	if (at >= RAMA_DIAG_CULPRITS)
		return;
	if (*n < RAMA_DIAG_CULPRITS)
		(*n)++;
	memmove(&most[at + 1], &most[at], (*n - 1 - at) * sizeof(*most));
	most[at] = r;
}

/* what ranks are compared by: the rule says */
enum rank_measure { BY_TIME, BY_BYTES, BY_DISK };

static enum rank_measure measure_of(const struct rama_diag_rule *rule)
{
	if (strcmp(rule->id, "A13") == 0)
		return BY_DISK;
	return strcmp(rule->id, "B02") == 0 || strcmp(rule->id, "A07") == 0 ? BY_BYTES : BY_TIME;
}

static double measure(const struct rama_job_view_rank *r, enum rank_measure by)
{
	const struct rama_job_io *io = by == BY_DISK ? &r->disk : &r->io;

	return by == BY_TIME ? rama_job_io_time(io)
			     : (double)io->bytes_read + (double)io->bytes_written;
}

static int rank_culprits(struct rama_diag_engine *g, struct rama_diag_finding *to,
			 enum rank_measure by)
{
	const struct rama_job_view *v = g->view;
	struct ranked most[RAMA_DIAG_CULPRITS];
	struct rama_diag_culprit *list = culprits_alloc(g, to);
	double mean = by != BY_TIME ? g->facts.mean_bytes : g->facts.mean_io;
	double top = by == BY_DISK    ? g->facts.disk_heavy_bytes
		     : by == BY_BYTES ? g->facts.most_bytes
				      : g->facts.io_time;
	size_t n = 0;

	if (list == NULL)
		return RAMA_EMEMORY;
	for (int64_t r = 0; r < v->nprocs && v->ranks != NULL; r++) {
		double value = measure(&v->ranks[r], by);
		/* nearer to the worst than to the mean */
		bool outlier = value > 0 && value >= (mean + top) / 2;

		to->all_culprits += outlier;
		if (outlier)
			keep_most(most, &n, (struct ranked){ r, value });
	}
	for (size_t i = 0; i < n; i++) {
		const struct rama_job_view_rank *rank = &v->ranks[most[i].index];
		const struct rama_job_io *io = by == BY_DISK ? &rank->disk : &rank->io;
		char name[RAMA_DIAG_TEXT_RANK], seconds[RAMA_HUMAN], bytes[RAMA_HUMAN];
		int rc;

		rama_diag_text_rank(v, most[i].index, name);
		rama_human_seconds(seconds, fmin(rama_job_io_time(io),
						 v->run_time > 0 ? v->run_time : INFINITY));
		rama_human_bytes(bytes, (double)io->bytes_read + (double)io->bytes_written);
		rc = add(to, list,
			 (struct rama_diag_culprit){
				 "rank", most[i].index,
				 rama_arena_text(&g->d->arena, name, strlen(name)),
				 format(g, "%s in I/O, %s", seconds, bytes), most[i].value });
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int target_culprits(struct rama_diag_engine *g, struct rama_diag_finding *to)
{
	const struct rama_job_view *v = g->view;
	struct ranked most[RAMA_DIAG_CULPRITS];
	struct rama_diag_culprit *list = culprits_alloc(g, to);
	bool by_time = g->facts.slow_targets > 0 && strcmp(to->rule->id, "O01") == 0;
	size_t n = 0;

	if (list == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; i < v->n_osts; i++)
		keep_most(most, &n,
			  (struct ranked){ (int64_t)i,
					   by_time ? v->osts[i].mean : v->osts[i].bytes });
	to->all_culprits = v->n_osts;
	for (size_t i = 0; i < n; i++) {
		const struct rama_job_view_ost *o = &v->osts[most[i].index];
		char name[32], files[RAMA_HUMAN], value[RAMA_HUMAN];
		int rc;

		snprintf(name, sizeof(name), "OST %lld", (long long)o->ost);
		rama_human_count(files, by_time ? o->alone : o->files);
		if (by_time)
			rama_human_seconds(value, o->mean);
		else
			rama_human_bytes(value, o->bytes);
		rc = add(to, list,
			 (struct rama_diag_culprit){
				 "ost", o->ost, rama_arena_text(&g->d->arena, name, strlen(name)),
				 format(g,
					by_time ? "%s files, %s each on average" : "%s files, %s",
					files, value),
				 most[i].value });
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* the slowest rank of the worst phase, with the call that took longest */
static int phase_culprits(struct rama_diag_engine *g, struct rama_diag_finding *to)
{
	const struct rama_job_view_phase *p = g->facts.worst_phase;
	struct rama_diag_culprit *list = culprits_alloc(g, to);
	char name[RAMA_DIAG_TEXT_RANK], text[300], busy[RAMA_HUMAN], length[RAMA_HUMAN], shown[100];

	if (list == NULL)
		return RAMA_EMEMORY;
	if (p == NULL)
		return 0;
	to->from = p->start;
	to->to = p->end;
	to->all_culprits = 1;
	rama_diag_text_rank(g->view, p->slow_rank, name);
	rama_human_seconds(busy, p->slow_busy);
	if (p->file != NULL)
		snprintf(text, sizeof(text),
			 "busy %s; longest: %s of %s at offset %lld of %s, t = %.3f to %.3f s",
			 busy, p->op_kind ? "read" : "write",
			 rama_human_bytes(length, (double)p->length), (long long)p->offset,
			 rama_job_view_short_name(p->file->name, 60, shown, sizeof(shown)),
			 p->op_start, p->op_end);
	else
		snprintf(text, sizeof(text), "busy %s", busy);
	return add(to, list,
		   (struct rama_diag_culprit){
			   "rank", p->slow_rank, rama_arena_text(&g->d->arena, name, strlen(name)),
			   rama_arena_text(&g->d->arena, text, strlen(text)), p->slow_busy });
}

static int operation_culprit(struct rama_diag_engine *g, struct rama_diag_finding *to)
{
	const struct rama_job_view_file *file = g->facts.slow_op_file;
	struct rama_diag_culprit *list = culprits_alloc(g, to);
	char seconds[RAMA_HUMAN], bytes[RAMA_HUMAN];

	if (list == NULL)
		return RAMA_EMEMORY;
	if (file == NULL)
		return 0;
	to->all_culprits = 1;
	rama_human_seconds(seconds, g->facts.slow_op);
	rama_human_bytes(bytes, g->facts.slow_op_bytes);
	return add(to, list,
		   (struct rama_diag_culprit){ "file", file - g->view->files, file->name,
					       format(g, "%s for %s", seconds, bytes),
					       g->facts.slow_op });
}

/* servers by the bytes they have, or by how long they take */
static int server_culprits(struct rama_diag_engine *g, struct rama_diag_finding *to)
{
	const struct rama_path_facts *p = g->view->path;
	struct ranked most[RAMA_DIAG_CULPRITS];
	struct rama_diag_culprit *list = culprits_alloc(g, to);
	bool by_bytes = strcmp(to->rule->id, "C02") == 0;
	size_t n = 0;

	if (list == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; p != NULL && i < p->n_servers; i++) {
		const struct rama_path_server *s = &p->server[i];

		if (s->requests > 0)
			keep_most(most, &n,
				  (struct ranked){ (int64_t)i,
						   by_bytes ? (double)s->bytes
							    : (double)s->time * 1e-9 /
								      (double)s->requests });
		to->all_culprits += s->requests > 0;
	}
	for (size_t i = 0; i < n; i++) {
		const struct rama_path_server *s = &p->server[most[i].index];
		char requests[RAMA_HUMAN], value[RAMA_HUMAN];
		int rc;

		rama_human_count(requests, (int64_t)s->requests);
		if (by_bytes)
			rama_human_bytes(value, most[i].value);
		else
			rama_human_seconds(value, most[i].value);
		rc = add(to, list,
			 (struct rama_diag_culprit){
				 "server", most[i].index, s->name,
				 format(g,
					by_bytes ? "%s requests, %s"
						 : "%s requests, %s each on average",
					requests, value),
				 most[i].value });
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int culprits(struct rama_diag_engine *g, struct rama_diag_finding *to,
		    const struct rama_diag_trial *t)
{
	switch (rama_diag_rule_code[to->rule - rama_diag_rules].who) {
	case RAMA_DIAG_WHO_RANKS:
		return rank_culprits(g, to, measure_of(to->rule));
	case RAMA_DIAG_WHO_TARGETS:
		return target_culprits(g, to);
	case RAMA_DIAG_WHO_SERVERS:
		return server_culprits(g, to);
	case RAMA_DIAG_WHO_PHASES:
		return phase_culprits(g, to);
	case RAMA_DIAG_WHO_OPERATION:
		return operation_culprit(g, to);
	default:
		return t->n > 0 ? file_culprits(g, to, t) : 0;
	}
}

/* a time since the start of the job, without unit */
static char *moment(char at[RAMA_HUMAN], double t)
{
	snprintf(at, RAMA_HUMAN, "%.*f", t >= 1000 ? 0 : t >= 10 ? 1 : 3, fmin(t, 1e15));
	return at;
}

/* when, and in which phase that the program has named */
static void put_when(struct rama_diag_engine *g, struct rama_out *o,
		     const struct rama_diag_finding *to)
{
	const char *named = rama_job_view_named_at(g->view, to->from, to->to);
	char from[RAMA_HUMAN], until[RAMA_HUMAN];

	rama_out_fmt(o, "; t = %s to %s s", moment(from, to->from), moment(until, to->to));
	if (named != NULL)
		rama_out_fmt(o, ", in phase %s", named);
}

/* which place in the program moved most of that file */
static void put_where(struct rama_diag_engine *g, struct rama_out *o,
		      const struct rama_diag_finding *to)
{
	const struct rama_job_view_file *f = &g->view->files[to->culprits[0].index];
	double share;
	const struct rama_job_view_site *s = rama_job_view_site_of(g->view, f->id, &share);

	if (s != NULL)
		rama_out_fmt(o, "; %.0f %% of its bytes from %s", 100 * share, s->name);
}

/* one line: the file that shows it most, what it did, how many more, when */
static char *evidence_line(struct rama_diag_engine *g, const struct rama_diag_finding *to,
			   const char *file, const char *detail)
{
	struct rama_out o;
	char *text, n[RAMA_HUMAN];

	rama_out_init(&o, NULL, NULL);
	if (file != NULL)
		rama_out_fmt(&o, "%s: ", file);
	rama_out_text(&o, detail);
	if (file != NULL)
		put_where(g, &o, to);
	if (file != NULL && to->all_culprits > 1)
		rama_out_fmt(&o, "; and %s more %s",
			     rama_human_count(n, (int64_t)to->all_culprits - 1),
			     to->all_culprits == 2 ? "file" : "files");
	if (isfinite(to->from) && isfinite(to->to) && to->to > to->from)
		put_when(g, &o, to);
	if (to->follows != NULL)
		rama_out_fmt(&o, "; follows from %s", to->follows->id);
	text = o.error == 0 ? rama_arena_text(&g->d->arena, o.buf, o.used) : NULL;
	rama_out_fini(&o);
	return text;
}

static int keep_values(struct rama_diag_engine *g, struct rama_diag_finding *to,
		       const struct rama_diag_text *t)
{
	struct rama_diag_value *v = rama_arena_alloc(&g->d->arena, (t->n_values + 1) * sizeof(*v));

	if (v == NULL)
		return RAMA_EMEMORY;
	memcpy(v, t->values, t->n_values * sizeof(*v));
	to->values = v;
	to->n_values = t->n_values;
	return 0;
}

/* how the cost was estimated */
static char *how_line(struct rama_diag_engine *g, const struct rama_diag_finding *to,
		      const struct rama_diag_trial *t, struct rama_diag_text *text)
{
	char *how = rama_diag_text_make(text, rama_diag_rule_code[to->rule - rama_diag_rules].how);
	char more[RAMA_HUMAN], words[100];

	if (to->follows != NULL)
		return format(g, "These seconds are those of %s%s.", to->follows->id, "");
	if (t->also < 0 || how == NULL)
		return how;
	snprintf(words, sizeof(words), "And %s in other files, with the same remedy (%s).",
		 rama_human_seconds(more, t->more), rama_diag_rules[t->also].id);
	return format(g, "%s %s", how, words);
}

int rama_diag_evidence(struct rama_diag_engine *g, struct rama_diag_finding *to,
		       const struct rama_diag_trial *t)
{
	const struct rama_diag_rule_code *code = &rama_diag_rule_code[to->rule - rama_diag_rules];
	struct rama_diag_text text = {
		.f = &g->facts, .x = &t->sums, .arena = &g->d->arena, .collect = true
	};
	const char *file = NULL, *detail;
	char shown[300];
	int rc = culprits(g, to, t);

	if (rc != 0)
		return rc;
	if (to->n_culprits > 0 && strcmp(to->culprits[0].kind, "file") == 0) {
		const struct rama_job_view_file *first = &g->view->files[to->culprits[0].index];

		file = rama_job_view_short_name(first->name, 60, shown, sizeof(shown));
		if (first->end > first->start) {
			to->from = first->start;
			to->to = first->end;
		}
	}
	text.file = file;
	to->title = rama_diag_text_make(&text, code->headline);
	/* details of files have figures of one file */
	text.collect = to->n_culprits == 0 || code->who != RAMA_DIAG_WHO_FILES;
	detail = rama_diag_text_make(&text, code->detail);
	text.collect = true;
	to->how = how_line(g, to, t, &text);
	if (to->title == NULL || detail == NULL || to->how == NULL)
		return RAMA_EMEMORY;
	/* of files, the line speaks of the first one */
	if (code->who == RAMA_DIAG_WHO_FILES && to->n_culprits > 0)
		detail = to->culprits[0].text;
	to->evidence = evidence_line(g, to, file, detail);
	return to->evidence != NULL ? keep_values(g, to, &text) : RAMA_EMEMORY;
}
