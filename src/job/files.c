/* SPDX-License-Identifier: BSD-3-Clause */
/* files.c: the files of the job and their parts, found by id. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/group.h"
#include "core/recordid.h"
#include "job/work.h"

/* ---- mounts --------------------------------------------------------------------------------- */
/* The file systems that files are on. */

static int find(struct rama_job_view *v, const struct rama_log_mount *m, int *mount)
{
	struct rama_job_view_mount new = { 0 };

	for (size_t i = 0; i < v->n_mounts; i++) {
		if (strcmp(v->mounts[i].path, m->path) == 0 &&
		    strcmp(v->mounts[i].type, m->type) == 0) {
			*mount = (int)i;
			return 0;
		}
	}
	new.path = rama_arena_text(&v->arena, m->path, strlen(m->path));
	new.type = rama_arena_text(&v->arena, m->type, strlen(m->type));
	if (new.path == NULL || new.type == NULL ||
	    !RAMA_GROW(v->mounts, v->work->mounts_room, v->n_mounts + 1))
		return RAMA_EMEMORY;
	*mount = (int)v->n_mounts;
	v->mounts[v->n_mounts++] = new;
	return 0;
}

/* Longest first; whole parts of the path have to fit: /scratch2/x is not on /scratch. */
static const struct rama_log_mount *mount_of(const struct rama_log *log, const char *name)
{
	for (size_t i = 0; i < log->n_mounts; i++) {
		const struct rama_log_mount *m = &log->mounts[i];
		size_t n = m->path_len;

		if (n > 0 && strncmp(m->path, name, n) == 0 &&
		    (m->path[n - 1] == '/' || name[n] == '/' || name[n] == '\0'))
			return m;
	}
	return NULL;
}

/* Files of one directory come together and are on one file system. */
static int file_mount(struct rama_job_view *v, const char *name, int *mount)
{
	struct rama_job_view_work *k = v->work;
	const char *slash = strrchr(name, '/');
	size_t n = slash != NULL ? (size_t)(slash - name) : 0;
	const struct rama_log_mount *m;
	int rc = 0;

	if (k->last_dir != NULL && slash != NULL && n == k->last_dir_len &&
	    memcmp(name, k->last_dir, n) == 0) {
		*mount = k->last_mount;
		return 0;
	}
	m = mount_of(k->log, name);
	*mount = -1;
	if (m != NULL)
		rc = find(v, m, mount);
	k->last_dir = slash != NULL ? name : NULL;
	k->last_dir_len = n;
	k->last_mount = *mount;
	return rc;
}

/* ---- files ---------------------------------------------------------------------------------- */

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

/* What is no file: a standard stream, or what the kernel calls so that leads to another process;
 * time in it is time that one waits for that process. */
static bool is_stream(const char *name)
{
	static const char *const kernel[] = { "pipe:[", "socket:[", "anon_inode:" };
	const char *last = strrchr(name, '/');

	if (name[0] == '<')
		return strcmp(name, "<STDIN>") == 0 || strcmp(name, "<STDOUT>") == 0 ||
		       strcmp(name, "<STDERR>") == 0;
	last = last != NULL ? last + 1 : name;
	for (size_t i = 0; i < sizeof(kernel) / sizeof(kernel[0]); i++)
		if (strncmp(last, kernel[i], strlen(kernel[i])) == 0)
			return true;
	return false;
}

/* It stands for many files. */
static bool is_folded(const char *name)
{
	return strcmp(name, "<OTHERS>") == 0 || rama_core_group_is(name, strlen(name));
}

static int add_file(struct rama_job_view *v, uint64_t id, const char *name, bool named)
{
	struct rama_job_view_file *f;

	if (!RAMA_GROW(v->files, v->work->files_room, v->n_files + 1))
		return RAMA_EMEMORY;
	f = &v->files[v->n_files];
	*f = (struct rama_job_view_file){ .id = id,
					  .name = name,
					  .named = named,
					  .pseudo = is_stream(name),
					  .folded = named && is_folded(name),
					  .mount = -1,
					  .rank = -1,
					  .slow_rank = -1,
					  .top = RAMA_JOB_LAYERS,
					  .most_written = -1,
					  .least_written = -1,
					  .most_read = -1,
					  .least_read = -1 };
	if (named && !f->pseudo && file_mount(v, name, &f->mount) != 0)
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
		if (p.name == NULL || !RAMA_GROW(v->parts, k->parts_room, v->n_parts + 1))
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

/* ---- what follows from all records ---------------------------------------------------------- */

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

static double opens_of(const struct rama_job_view_file *f)
{
	const union rama_core_word *w = f->rec[RAMA_JOB_LAYER_POSIX],
				   *s = f->rec[RAMA_JOB_LAYER_STDIO];
	double posix = w != NULL ? (double)w[RAMA_TAB_POSIX_OPENS].i -
					   fmax(0, (double)w[RAMA_TAB_POSIX_FILENOS].i) -
					   fmax(0, (double)w[RAMA_TAB_POSIX_DUPS].i)
				 : 0;

	return fmax(posix, s != NULL ? (double)s[RAMA_TAB_STDIO_OPENS].i : 0);
}

#define OPENED_AGAIN 5 /* opens by each rank that say nothing about other files */

/* Files beyond the room for records share one of them. How many they are is not known, but they
 * were opened, and the others tell how often files are. */
static void count_folded(struct rama_job_view *v)
{
	double opens = 0, users = 0;

	for (size_t i = 0; i < v->n_files; i++) {
		const struct rama_job_view_file *f = &v->files[i];
		double n = f->pseudo || f->folded ? 0 : opens_of(f);

		if (n > 0 && n < OPENED_AGAIN * (double)f->ranks) {
			opens += n;
			users += f->ranks;
		}
	}
	for (size_t i = 0; i < v->n_files; i++) {
		struct rama_job_view_file *f = &v->files[i];
		double n = opens_of(f) / fmax(1, users > 0 ? opens / users : 1);

		if (!f->folded)
			continue;
		f->count = (uint32_t)fmin(fmax(1, round(n)), UINT32_MAX);
		v->files_estimated |= f->count > 1;
	}
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
			if (l != RAMA_JOB_LAYER_EXTRA &&
			    (f->rec[l] != NULL || f->traced[l] != NULL))
				f->unopened = false;
		}
		rama_job_view_file_times(v, f);
		find_top(f);
		count_ranks(v, f);
		f->count = 1;
	}
	count_folded(v);
	for (size_t i = 0; i < v->n_files; i++) {
		const struct rama_job_view_file *f = &v->files[i];

		v->n_real += f->pseudo || f->unopened ? 0 : f->count;
		for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++)
			v->layer[l].files += f->rec[l] != NULL && !f->pseudo ? f->count : 0;
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

/* ---- groups --------------------------------------------------------------------------------- */
/* Files whose names differ in numbers only are one group: out.0001.h5, out.0002.h5
 * become out.####.h5. */

/* File by which a group is named, and what is known of its numbers: bit per number, of the first
 * 64 in the name. */
struct first {
	uint32_t file;
	uint64_t differs; /* is another in other files */
	uint64_t uneven;  /* ... and with more or fewer digits */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* each run of digits as one '#'; its length, which is at most that of the name */
static size_t folded(const char *name, char *to)
{
	size_t n = 0, len = strlen(name);
	bool group = rama_core_group_is(name, len);

	for (size_t i = 0; name[i] != '\0'; i++) {
		if (group && (i + 1 == len || (name[i] == '<' && name[i - 1] == '/')))
			continue; /* those of a group are like those that have records */
		if (!is_digit(name[i]))
			to[n++] = name[i];
		else if (i == 0 || !is_digit(name[i - 1]))
			to[n++] = '#';
	}
	return n;
}

static size_t longest(const struct rama_job_view *v)
{
	size_t most = 0;

	for (size_t i = 0; i < v->n_files; i++) {
		size_t n = strlen(v->files[i].name);

		most = n > most ? n : most;
	}
	return most;
}

/* the digits at the start of a text */
static size_t digits(const char *text)
{
	size_t n = 0;

	while (is_digit(text[n]))
		n++;
	return n;
}

/* both names are the same but for their numbers */
static void compare(struct first *first, const char *a, const char *b)
{
	for (unsigned number = 0; *a != '\0' && *b != '\0';) {
		size_t m = digits(a), n = digits(b);

		if (m > 0 && n > 0) {
			uint64_t bit = number < 64 ? 1ull << number : 0;

			if (m != n || memcmp(a, b, n) != 0)
				first->differs |= bit;
			if (m != n)
				first->uneven |= bit;
			number++;
		}
		a += m > 0 ? m : 1;
		b += n > 0 ? n : 1;
	}
}

static void join(struct rama_job_view *v, uint32_t file, struct first *first, uint32_t group)
{
	struct rama_job_view_group *g = &v->groups[group];
	struct rama_job_view_file *f = &v->files[file];

	f->group = group;
	g->files++;
	rama_job_io_add(&g->io, &f->io);
	if (g->files > 1)
		compare(&first[group], v->files[first[group].file].name, f->name);
}

/* numbers that differ become '#', one for each digit or, if their lengths differ, a single one */
static size_t pattern(const struct first *first, const char *name, char *to)
{
	unsigned number = 0;
	size_t n = 0;

	while (*name != '\0') {
		size_t m = digits(name);
		uint64_t bit = m > 0 && number < 64 ? 1ull << number : 0;

		number += m > 0;
		if (first->uneven & bit) {
			to[n++] = '#';
		} else if (first->differs & bit) {
			memset(to + n, '#', m);
			n += m;
		} else {
			memcpy(to + n, name, m > 0 ? m : 1);
			n += m > 0 ? m : 1;
		}
		name += m > 0 ? m : 1;
	}
	return n;
}

static int name_group(struct rama_job_view *v, struct rama_job_view_group *g,
		      const struct first *first, char *buf)
{
	const char *name = v->files[first->file].name;

	g->pattern =
		g->files == 1 ? name : rama_arena_text(&v->arena, buf, pattern(first, name, buf));
	return g->pattern != NULL ? 0 : RAMA_EMEMORY;
}

static int make(struct rama_job_view *v, struct rama_map *by_name, struct first *first, char *buf)
{
	for (uint32_t i = 0; i < v->n_files; i++) {
		/* a name that is only an id stands for itself */
		size_t n = v->files[i].named ? folded(v->files[i].name, buf) : 0;
		uint64_t key = n > 0 ? rama_core_record_id(buf, n) : v->files[i].id;
		bool fresh;
		uint64_t *at;

		if (v->files[i].pseudo || v->files[i].unopened)
			continue;
		at = rama_map_put(by_name, key, &fresh);
		if (at == NULL)
			return RAMA_EMEMORY;
		if (fresh) {
			*at = v->n_groups;
			first[v->n_groups++] = (struct first){ .file = i };
		}
		join(v, i, first, (uint32_t)*at);
	}
	for (size_t i = 0; i < v->n_groups; i++)
		if (name_group(v, &v->groups[i], &first[i], buf) != 0)
			return RAMA_EMEMORY;
	for (size_t i = 0; i < v->n_files; i++)
		if (v->files[i].folded && !v->files[i].pseudo && !v->files[i].unopened)
			v->groups[v->files[i].group].files += v->files[i].count - 1;
	return 0;
}

int rama_job_view_groups_finish(struct rama_job_view *v)
{
	struct rama_map by_name = { 0 };
	struct first *first = calloc(v->n_files + 1, sizeof(*first));
	char *buf = malloc(longest(v) + 1);
	int rc;

	v->groups = calloc(v->n_files + 1, sizeof(*v->groups));
	rc = first != NULL && buf != NULL && v->groups != NULL ? make(v, &by_name, first, buf)
							       : RAMA_EMEMORY;
	rama_map_fini(&by_name);
	free(first);
	free(buf);
	return rc;
}
