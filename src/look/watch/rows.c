/* SPDX-License-Identifier: BSD-3-Clause */
/* rows.c: which lines a view has, and in which order. */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/siphash.h"
#include "gather/gather.h"
#include "look/watch/watch.h"
#include "segment/ring.h"

const char *const rama_look_watch_sort_name[RAMA_LOOK_SORTS] = { "rate",    "ops", "latency",
								 "longest", "io",  "moved",
								 "name" };

/* ---- names ----------------------------------------------------------------------------------- */

const char *rama_look_watch_user(int64_t uid)
{
	static struct {
		int64_t uid;
		char name[33];
	} known[64];
	static unsigned n;
	const struct passwd *pw;

	for (unsigned i = 0; i < n; i++)
		if (known[i].uid == uid)
			return known[i].name;
	if (n == sizeof(known) / sizeof(known[0]))
		n = 0;
	pw = getpwuid((uid_t)uid);
	known[n].uid = uid;
	if (pw != NULL)
		snprintf(known[n].name, sizeof(known[n].name), "%.32s", pw->pw_name);
	else
		snprintf(known[n].name, sizeof(known[n].name), "%lld", (long long)uid);
	return known[n++].name;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* launchers and shells are of less interest than what they started: the busiest program is the
 * job's name */
const char *rama_look_watch_program(const struct rama_look_job *j)
{
	const struct rama_look_process *best = NULL;

	for (size_t i = 0; i < j->n; i++) {
		const struct rama_look_process *p = j->process[i];

		if (best == NULL || (p->mpi && !best->mpi) ||
		    (p->mpi == best->mpi &&
		     rama_look_time(&p->total) > rama_look_time(&best->total)))
			best = p;
	}
	return best != NULL ? base_name(best->exe) : "-";
}

const struct rama_look_job *rama_look_watch_job(const struct rama_look *l, const char *key)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->job[i]->key, key) == 0)
			return l->job[i];
	return NULL;
}

static bool names_job(const struct rama_look_job *j, const char *word)
{
	char id[24];

	snprintf(id, sizeof(id), "%lld", (long long)j->jobid);
	return strcmp(j->key, word) == 0 || strcmp(j->name, word) == 0 || strcmp(id, word) == 0;
}

bool rama_look_watch_choose(struct rama_look *l, const char *word,
			    const struct rama_look_process **p)
{
	char *end;
	long long pid = strtoll(word, &end, 10);
	size_t n = 0;

	*p = NULL;
	for (size_t i = 0; *word != '\0' && *end == '\0' && i < l->n; i++) {
		struct rama_look_job *j = l->job[i];

		for (size_t k = 0; k < j->n; k++)
			if (j->process[k]->pid == pid) {
				*p = j->process[0] = j->process[k];
				j->n = 1;
				l->job[0] = j;
				l->n = 1;
				return true;
			}
	}
	for (size_t i = 0; i < l->n; i++)
		if (names_job(l->job[i], word))
			l->job[n++] = l->job[i];
	l->n = n;
	return n > 0;
}

/* ---- order ----------------------------------------------------------------------------------- */

static double moved(const struct rama_look_io *io)
{
	return (double)io->bytes_read + (double)io->bytes_written;
}

static double key_of(const struct rama_look_watch_row *r, enum rama_look_watch_sort sort)
{
	const struct rama_look_io *gain = r->f != NULL	 ? &r->f->gain
					  : r->p != NULL ? &r->p->gain
							 : &r->j->gain;
	const struct rama_look_io *total = r->f != NULL	  ? &r->f->total
					   : r->p != NULL ? &r->p->total
							  : &r->j->total;

	switch (sort) {
	case RAMA_LOOK_SORT_RATE:
		return moved(gain);
	case RAMA_LOOK_SORT_OPS:
		return (double)rama_look_ops(gain);
	case RAMA_LOOK_SORT_LATENCY:
		return rama_look_latency(gain);
	case RAMA_LOOK_SORT_LONGEST:
		return r->f != NULL ? r->f->longest : r->p != NULL ? r->p->longest : r->j->longest;
	case RAMA_LOOK_SORT_IO:
		return r->f != NULL   ? rama_look_time(gain)
		       : r->p != NULL ? r->p->share
				      : r->j->share;
	case RAMA_LOOK_SORT_MOVED:
		return moved(total);
	default:
		return 0;
	}
}

static const char *text_of(const struct rama_look_watch_row *r)
{
	return r->f != NULL   ? r->f->name
	       : r->p != NULL ? r->p->command
			      : rama_look_watch_program(r->j);
}

/* the largest first; ranks by number, others by name */
static int compare(const void *a, const void *b)
{
	const struct rama_look_watch_row *x = a, *y = b;
	int rc;

	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	if (x->p != NULL && y->p != NULL && x->p->rank != y->p->rank)
		return x->p->rank < y->p->rank ? -1 : 1;
	rc = x->p == NULL ? strcmp(text_of(x), text_of(y)) : 0;
	if (rc != 0)
		return rc;
	return x->name < y->name ? -1 : x->name > y->name;
}

enum rama_look_order rama_look_watch_order(enum rama_look_watch_sort s)
{
	static const enum rama_look_order of[RAMA_LOOK_SORTS] = {
		[RAMA_LOOK_SORT_RATE] = RAMA_LOOK_BY_RATE,
		[RAMA_LOOK_SORT_OPS] = RAMA_LOOK_BY_OPS,
		[RAMA_LOOK_SORT_LATENCY] = RAMA_LOOK_BY_TIME,
		[RAMA_LOOK_SORT_LONGEST] = RAMA_LOOK_BY_TIME,
		[RAMA_LOOK_SORT_IO] = RAMA_LOOK_BY_TIME,
		[RAMA_LOOK_SORT_MOVED] = RAMA_LOOK_BY_BYTES,
		[RAMA_LOOK_SORT_NAME] = RAMA_LOOK_BY_NAME,
	};

	return of[s];
}

/* ---- filter ---------------------------------------------------------------------------------- */

static bool holds(const char *text, const char *part)
{
	return strcasestr(text, part) != NULL;
}

static bool is_wanted(const struct rama_look_watch_row *r, const char *filter)
{
	if (*filter == '\0')
		return true;
	if (r->f != NULL)
		return holds(r->f->name, filter);
	if (r->p != NULL)
		return holds(r->p->command, filter) || holds(r->p->exe, filter) ||
		       holds(r->p->host, filter) ||
		       holds(rama_look_wait_name(r->p->wait), filter) ||
		       (r->p->n_told > 0 &&
			(holds(r->p->call[0].name, filter) || holds(r->p->call[0].fn, filter)));
	return holds(r->j->key, filter) || holds(rama_look_watch_user(r->j->uid), filter) ||
	       holds(rama_look_watch_program(r->j), filter);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int make_room(struct rama_look_watch_rows *r, size_t n, struct rama_err *e)
{
	r->row = calloc(n + 1, sizeof(*r->row));
	return r->row != NULL ? 0 : rama_err_no_memory(e);
}

static uint64_t name_of(const char *text)
{
	static const struct rama_sipkey key = { 0x696f72616d61, 0x7761746368 };
	uint64_t h = rama_siphash(&key, text, strlen(text));

	return h != 0 ? h : 1;
}

static void add(struct rama_look_watch_rows *r, const struct rama_look_watch_view *v,
		struct rama_look_watch_row row)
{
	r->of++;
	row.key = key_of(&row, v->sort[v->kind]);
	if (is_wanted(&row, v->filter))
		r->row[r->n++] = row;
}

static int job_rows(struct rama_look_watch_rows *r, const struct rama_look *l,
		    const struct rama_look_watch_view *v, struct rama_err *e)
{
	int rc = make_room(r, l->n, e);

	for (size_t i = 0; rc == 0 && i < l->n; i++)
		add(r, v,
		    (struct rama_look_watch_row){ .j = l->job[i],
						  .name = name_of(l->job[i]->key) });
	return rc;
}

static int rank_rows(struct rama_look_watch_rows *r, const struct rama_look_watch_view *v,
		     struct rama_err *e)
{
	int rc = make_room(r, r->job != NULL ? r->job->n : 0, e);

	for (size_t i = 0; rc == 0 && r->job != NULL && i < r->job->n; i++)
		add(r, v,
		    (struct rama_look_watch_row){ .j = r->job,
						  .p = r->job->process[i],
						  .name = r->job->process[i]->number });
	return rc;
}

static int file_rows(struct rama_look_watch_rows *r, const struct rama_look_watch_view *v,
		     struct rama_err *e)
{
	int rc = 0;

	if (r->job != NULL && (v->process == 0 || r->process != NULL))
		rc = rama_look_files(&r->files, r->job, r->process,
				     rama_look_watch_order(v->sort[RAMA_LOOK_WATCH_FILES]),
				     RAMA_LOOK_WATCH_FILES_MOST, e);
	if (rc == 0)
		rc = make_room(r, r->files.n, e);
	for (size_t i = 0; rc == 0 && i < r->files.n; i++)
		add(r, v,
		    (struct rama_look_watch_row){
			    .j = r->job,
			    .f = &r->files.file[i],
			    .name = r->files.file[i].id != 0 ? r->files.file[i].id : 1 });
	r->of = r->files.of;
	return rc;
}

static void place_chosen(const struct rama_look_watch_rows *r, struct rama_look_watch_view *v)
{
	size_t i = 0;

	while (i < r->n && r->row[i].name != v->chosen)
		i++;
	if (i < r->n)
		v->at = i;
	else if (v->at >= r->n)
		v->at = r->n > 0 ? r->n - 1 : 0;
	if (v->chosen != 0 && r->n > 0)
		v->chosen = r->row[v->at].name;
}

int rama_look_watch_rows(struct rama_look_watch_rows *r, const struct rama_look *l,
			 struct rama_look_watch_view *v, struct rama_err *e)
{
	int rc;

	*r = (struct rama_look_watch_rows){ 0 };
	if (v->kind != RAMA_LOOK_WATCH_JOBS)
		r->job = rama_look_watch_job(l, v->job);
	for (size_t i = 0; r->job != NULL && i < r->job->n; i++)
		if (r->job->process[i]->number == v->process)
			r->process = r->job->process[i];
	if (v->kind == RAMA_LOOK_WATCH_JOBS)
		rc = job_rows(r, l, v, e);
	else
		rc = v->kind == RAMA_LOOK_WATCH_RANKS ? rank_rows(r, v, e) : file_rows(r, v, e);
	if (rc == 0 && r->n > 1)
		qsort(r->row, r->n, sizeof(*r->row), compare);
	for (size_t i = 0; rc == 0 && v->reverse && i < r->n / 2; i++) {
		struct rama_look_watch_row x = r->row[i];

		r->row[i] = r->row[r->n - 1 - i];
		r->row[r->n - 1 - i] = x;
	}
	if (rc == 0)
		place_chosen(r, v);
	return rc;
}

void rama_look_watch_rows_fini(struct rama_look_watch_rows *r)
{
	free(r->row);
	rama_look_files_fini(&r->files);
	*r = (struct rama_look_watch_rows){ 0 };
}

/* ---- live events ----------------------------------------------------------------------------- */

int rama_look_watch_switch(const struct rama_look_job *j, bool on, struct rama_err *e)
{
	struct rama_seg_switch word = { .set_live = true,
					.live = on ? (1u << RAMA_SEG_EVENT_LAYERS) - 1 : 0 };
	struct rama_gather_list segs;
	int rc, n = 0;

	if (j->dir[0] == '\0')
		return rama_err_set(e, RAMA_EUSAGE, "`iorama live` does that on its nodes");
	rc = rama_gather_find(&segs, j->dir, e);
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < segs.n; i++) {
		struct rama_err why = { 0 };

		if (rama_seg_mapped_switch(segs.path[i], (uint32_t)j->uid, &word, NULL, &why) == 0)
			n++;
		else
			rc = rama_err_set(e, why.code, "%.100s: %.300s", segs.path[i], why.text);
	}
	rama_gather_list_fini(&segs);
	return n > 0 ? n : rc;
}
