/* SPDX-License-Identifier: BSD-3-Clause */
/* files.c: the files of the job and their parts, found by id. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/recordid.h"
#include "job/parts.h"

#define LEAST 256 /* elements that an array begins with */

int rama_job_room(void *array, size_t n, size_t *room, size_t element)
{
	size_t more = *room == 0 ? LEAST : 2 * *room;
	void *p;

	if (n < *room)
		return 0;
	memcpy(&p, array, sizeof(p)); /* whatever kind of pointer it is */
	p = more > SIZE_MAX / element ? NULL : realloc(p, more * element);
	if (p == NULL)
		return RAMA_EMEMORY;
	memcpy(array, &p, sizeof(p));
	*room = more;
	return 0;
}

/* the log's name for an id, copied; or one made of the id */
static const char *name_of(struct rama_job_view *v, uint64_t id, bool *named)
{
	const struct rama_log_name *name = rama_log_name_get(v->work->log, id);
	char text[32];

	*named = name != NULL && name->text[0] != '\0';
	if (*named)
		return rama_arena_text(&v->arena, name->text, strlen(name->text));
	snprintf(text, sizeof(text), "#%" PRIu64, id);
	return rama_arena_text(&v->arena, text, strlen(text));
}

static bool is_stream(const char *name)
{
	return name[0] == '<' && (strcmp(name, "<STDIN>") == 0 || strcmp(name, "<STDOUT>") == 0 ||
				  strcmp(name, "<STDERR>") == 0);
}

static int add_file(struct rama_job_view *v, uint64_t id, const char *name, bool named)
{
	struct rama_job_view_file *f;

	if (rama_job_room(&v->files, v->n_files, &v->work->files_room, sizeof(*f)) != 0)
		return RAMA_EMEMORY;
	f = &v->files[v->n_files];
	*f = (struct rama_job_view_file){ .id = id,
					  .name = name,
					  .named = named,
					  .pseudo = is_stream(name),
					  .folded = named && strcmp(name, "<OTHERS>") == 0,
					  .mount = -1,
					  .rank = -1,
					  .slow_rank = -1,
					  .top = RAMA_JOB_LAYERS,
					  .most_written = -1,
					  .least_written = -1,
					  .most_read = -1,
					  .least_read = -1 };
	if (named && !f->pseudo && rama_job_view_mount_of(v, name, &f->mount) != 0)
		return RAMA_EMEMORY;
	v->n_files++;
	return 0;
}

int rama_job_view_file_get(struct rama_job_view *v, uint64_t id, uint32_t *index)
{
	uint64_t *at = rama_map_get(&v->by_id, id);
	const char *name;
	bool named;

	if (at == NULL) {
		if (v->n_files >= UINT32_MAX)
			return RAMA_ELIMIT;
		name = name_of(v, id, &named);
		at = rama_map_put(&v->by_id, id, NULL);
		if (name == NULL || at == NULL)
			return RAMA_EMEMORY;
		*at = v->n_files;
		if (add_file(v, id, name, named) != 0)
			return RAMA_EMEMORY;
	}
	*index = (uint32_t)*at;
	return 0;
}

/* Old records do not say which file a dataset is in; its name does: "file:dataset", where both
 * may have colons. */
static uint64_t file_by_name(const struct rama_job_view *v, const char *name)
{
	for (const char *colon = strrchr(name, ':'); colon != NULL && colon > name;) {
		uint64_t id = rama_core_record_id(name, (size_t)(colon - name));

		if (rama_map_get(&v->by_id, id) != NULL ||
		    rama_log_name_get(v->work->log, id) != NULL)
			return id;
		for (colon--; colon > name && *colon != ':';)
			colon--;
		if (*colon != ':')
			break;
	}
	return 0;
}

int rama_job_view_part_get(struct rama_job_view *v, enum rama_job_layer layer,
			   const union rama_core_word *w, uint32_t *index)
{
	unsigned ref = layer == RAMA_JOB_LAYER_H5D ? RAMA_TAB_H5D_FILE_REC_ID
						   : RAMA_TAB_PNETCDF_VAR_FILE_REC_ID;
	struct rama_job_view_work *k = v->work;
	struct rama_job_view_part p = { .id = w[RAMA_TAB_ID].u, .layer = layer };
	uint64_t file = w[ref].u;
	bool fresh, named;
	uint64_t *at = rama_map_put(&k->parts_by_id[layer], p.id, &fresh);

	if (at == NULL || v->n_parts >= UINT32_MAX)
		return RAMA_EMEMORY;
	if (fresh) {
		p.name = name_of(v, p.id, &named);
		if (p.name == NULL ||
		    rama_job_room(&v->parts, v->n_parts, &k->parts_room, sizeof(p)) != 0)
			return RAMA_EMEMORY;
		if (file == 0 && named)
			file = file_by_name(v, p.name);
		*at = v->n_parts;
		if (rama_job_view_file_get(v, file != 0 ? file : p.id, &p.file) != 0)
			return RAMA_EMEMORY;
		v->files[p.file].parts++;
		v->parts[v->n_parts++] = p;
	}
	*index = (uint32_t)*at;
	return 0;
}

const struct rama_job_view_file *rama_job_view_file_of(const struct rama_job_view *v, uint64_t id)
{
	const uint64_t *at = rama_map_get(&v->by_id, id);

	return at != NULL ? &v->files[*at] : NULL;
}

/* ---- what follows from all records ----------------------------------------------------------- */

static const char *const begins[RAMA_JOB_BEGINS] = { "F_OPEN_START_TIMESTAMP",
						     "F_READ_START_TIMESTAMP",
						     "F_WRITE_START_TIMESTAMP",
						     "F_META_START_TIMESTAMP" };
static const char *const ends[RAMA_JOB_ENDS] = { "F_CLOSE_END_TIMESTAMP", "F_READ_END_TIMESTAMP",
						 "F_WRITE_END_TIMESTAMP", "F_OPEN_END_TIMESTAMP",
						 "F_META_END_TIMESTAMP" };

/* words of these names, or RAMA_TAB_NO_WORD */
static void find_words(const struct rama_tab_module *mod, const char *const *name, unsigned n,
		       uint16_t *to)
{
	for (unsigned i = 0; i < n; i++) {
		const struct rama_tab_field *f = rama_tab_field_find(mod, name[i]);

		to[i] = f != NULL ? f->word : RAMA_TAB_NO_WORD;
	}
}

static void find_moments(struct rama_job_view *v)
{
	for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++) {
		find_words(v->work->plan[l].mod, begins, RAMA_JOB_BEGINS, v->work->begin[l]);
		find_words(v->work->plan[l].mod, ends, RAMA_JOB_ENDS, v->work->end[l]);
	}
}

void rama_job_view_file_times(struct rama_job_view *v, struct rama_job_view_file *f)
{
	if (v->work->end[0][0] == 0) /* word 0 is no moment */
		find_moments(v);
	for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++) {
		const union rama_core_word *w = f->rec[l];

		for (unsigned i = 0; w != NULL && i < RAMA_JOB_BEGINS; i++) {
			unsigned at = v->work->begin[l][i];

			if (at != RAMA_TAB_NO_WORD && w[at].f > 0 &&
			    (f->start == 0 || w[at].f < f->start))
				f->start = w[at].f;
		}
		for (unsigned i = 0; w != NULL && i < RAMA_JOB_ENDS; i++) {
			unsigned at = v->work->end[l][i];

			if (at != RAMA_TAB_NO_WORD && w[at].f > f->end)
				f->end = w[at].f;
		}
		if (f->traced[l] != NULL && f->traced[l]->last > f->end)
			f->end = f->traced[l]->last;
		if (f->traced[l] != NULL && (f->start == 0 || f->traced[l]->first < f->start))
			f->start = f->traced[l]->first;
	}
}

static void find_top(struct rama_job_view_file *f)
{
	static const uint8_t order[] = { RAMA_JOB_LAYER_MPIIO, RAMA_JOB_LAYER_DFS,
					 RAMA_JOB_LAYER_DAOS, RAMA_JOB_LAYER_POSIX,
					 RAMA_JOB_LAYER_STDIO };
	double best = -1;

	f->top = RAMA_JOB_LAYER_EXTRA;
	for (unsigned i = 0; i < sizeof(order); i++) {
		struct rama_job_io io;
		double much;

		if (f->rec[order[i]] == NULL)
			continue;
		io = rama_job_io_of(order[i], f->rec[order[i]]);
		much = (double)io.bytes_read + (double)io.bytes_written;
		if (order[i] == RAMA_JOB_LAYER_MPIIO && much > 0) {
			f->top = RAMA_JOB_LAYER_MPIIO;
			return;
		}
		if (much > best) { /* the higher one if none moved data */
			best = much;
			f->top = order[i];
		}
	}
	for (unsigned l = 0; best < 0 && l < RAMA_JOB_LAYERS; l++) {
		if (f->rec[l] != NULL || f->traced[l] != NULL) {
			f->top = (enum rama_job_layer)l;
			return;
		}
	}
}

static void count_ranks(const struct rama_job_view *v, struct rama_job_view_file *f)
{
	for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++) {
		if (f->cover[l] > f->ranks && !rama_job_layer_info[l].part)
			f->ranks = f->cover[l];
		if (f->rec[l] == NULL && f->traced[l] != NULL && f->traced[l]->records > f->ranks)
			f->ranks = f->traced[l]->records;
	}
	if ((int64_t)f->ranks > v->nprocs)
		f->ranks = (uint32_t)v->nprocs;
	f->shared = v->nprocs > 1 && (int64_t)f->ranks == v->nprocs;
	if (f->ranks != 1)
		f->rank = -1;
}

/* parts become one record of their file */
static int roll_up(struct rama_job_view *v)
{
	union rama_core_word copy[RAMA_JOB_RECORD_WORDS];

	for (size_t i = 0; i < v->n_parts; i++) {
		struct rama_job_view_part *p = &v->parts[i];
		struct rama_job_view_file *f = &v->files[p->file];
		size_t size = v->work->plan[p->layer].mod->record->words * sizeof(copy[0]);
		union rama_core_word *sum = (union rama_core_word *)f->rec[p->layer];

		memcpy(copy, p->rec, size);
		if (sum == NULL) {
			sum = rama_arena_alloc(&v->arena, size);
			if (sum == NULL)
				return RAMA_EMEMORY;
			memcpy(sum, copy, size);
			sum[RAMA_TAB_ID].u = f->id;
			f->rec[p->layer] = sum;
		} else {
			rama_job_record_merge(v->work, p->layer, sum, copy, 0, 0);
			sum[RAMA_TAB_ID].u = f->id;
		}
		f->rows[p->layer] += p->rows;
	}
	return 0;
}

int rama_job_view_files_finish(struct rama_job_view *v)
{
	int rc = roll_up(v);

	if (rc != 0)
		return rc;
	for (size_t i = 0; i < v->n_files; i++) {
		struct rama_job_view_file *f = &v->files[i];

		f->unopened = true;
		for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++) {
			if (f->rec[l] != NULL)
				v->layer[l].files += !f->pseudo;
			if (l != RAMA_JOB_LAYER_EXTRA &&
			    (f->rec[l] != NULL || f->traced[l] != NULL))
				f->unopened = false;
		}
		rama_job_view_file_times(v, f);
		find_top(f);
		count_ranks(v, f);
		v->n_real += !f->pseudo && !f->unopened;
	}
	return 0;
}

const char *rama_job_view_short_name(const char *name, unsigned most, char *to, size_t room)
{
	size_t n = strlen(name), chars = 0, head, tail, from = 0, back = n;

	for (size_t i = 0; i < n; i++)
		chars += ((unsigned char)name[i] & 0xc0) != 0x80;
	if (room == 0)
		return "";
	if (chars <= most) {
		snprintf(to, room, "%s", name);
		return to;
	}
	/* the end of a path says more than its beginning */
	head = most > 1 ? (most - 1) / 3 : 0;
	tail = most > 1 ? most - 1 - head : 0;
	for (; head > 0 && from < n; head--)
		for (from++; from < n && ((unsigned char)name[from] & 0xc0) == 0x80;)
			from++;
	for (; tail > 0 && back > 0; tail--)
		for (back--; back > 0 && ((unsigned char)name[back] & 0xc0) == 0x80;)
			back--;
	snprintf(to, room, "%.*s…%s", (int)from, name, name + back);
	return to;
}

size_t rama_job_view_log_user(const char *path, const char **user)
{
	const char *name = strrchr(path, '/'), *id;
	size_t n;

	name = name != NULL ? name + 1 : path;
	n = strcspn(name, "_");
	id = strstr(name, "_id");
	/* user_program_id123: the program may hold underscores, users do not */
	while (id != NULL && !isdigit((unsigned char)id[3]))
		id = strstr(id + 1, "_id");
	*user = name;
	return id != NULL && n > 0 && id > name + n ? n : 0;
}
