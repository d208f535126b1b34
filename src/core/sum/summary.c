/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/sum/summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

struct rama_core_file_use {
	int64_t read, written, max_offset;
	int64_t procs; /* records seen, or -1 for a shared one */
};

struct rama_core_rank_time {
	int64_t rank;
	double io, meta, rw;
};

void rama_core_summary_init(struct rama_core_summary *s, const struct rama_tab_module *mod)
{
	*s = (struct rama_core_summary){ 0 };
	rama_core_plan_init(&s->plan, mod);
}

void rama_core_summary_fini(struct rama_core_summary *s)
{
	rama_map_fini(&s->files);
	rama_map_fini(&s->ranks);
	free(s->file);
	free(s->rank);
}

/* index of the key in an array that grows with its map; NULL: no memory */
static void *entry(struct rama_map *map, uint64_t key, void **array, size_t *room, size_t size)
{
	bool fresh;
	uint64_t *at = rama_map_put(map, key, &fresh);
	char *base;

	if (at == NULL)
		return NULL;
	if (fresh) {
		*at = map->used - 1;
		if (map->used > *room) {
			size_t n = *room == 0 ? 64 : *room * 2;
			void *p = realloc(*array, n * size);

			if (p == NULL)
				return NULL;
			*array = p;
			*room = n;
		}
		memset((char *)*array + *at * size, 0, size);
	}
	base = *array;
	return base + *at * size;
}

static int add_file(struct rama_core_summary *s, const union rama_core_word *w)
{
	const struct rama_core_plan *p = &s->plan;
	void *array = s->file;
	struct rama_core_file_use *f =
		entry(&s->files, w[RAMA_TAB_ID].u, &array, &s->file_room, sizeof(*f));

	s->file = array;
	if (f == NULL)
		return RAMA_EMEMORY;
	f->read = rama_core_add(f->read, w[p->bytes_read].i);
	f->written = rama_core_add(f->written, w[p->bytes_written].i);
	if (p->mod->flags & RAMA_TAB_OFFSETS) {
		if (w[p->max_read].i > f->max_offset)
			f->max_offset = w[p->max_read].i;
		if (w[p->max_written].i > f->max_offset)
			f->max_offset = w[p->max_written].i;
	} else {
		f->max_offset = -1;
	}
	f->procs = w[RAMA_TAB_RANK].i < 0 ? -1 : f->procs + 1;
	return 0;
}

int rama_core_summary_add(struct rama_core_summary *s, const struct rama_core_record *r)
{
	const struct rama_core_plan *p = &s->plan;
	const union rama_core_word *w = r->w;

	s->total_bytes = rama_core_add(s->total_bytes,
				       rama_core_add(w[p->bytes_read].i, w[p->bytes_written].i));
	if (w[RAMA_TAB_RANK].i < 0) {
		s->shared_time += w[p->at[RAMA_TAB_SLOW_TIME]].f;
	} else {
		double meta = w[p->meta_time].f, read = w[p->read_time].f,
		       write = w[p->write_time].f;
		void *array = s->rank;
		struct rama_core_rank_time *t =
			entry(&s->ranks, w[RAMA_TAB_RANK].u, &array, &s->rank_room, sizeof(*t));

		s->rank = array;
		if (t == NULL)
			return RAMA_EMEMORY;
		t->rank = w[RAMA_TAB_RANK].i;
		t->io += meta + read + write;
		t->meta += meta;
		t->rw += read + write;
	}
	return add_file(s, w);
}

static void count_file(struct rama_core_files *k, const struct rama_core_file_use *f)
{
	k->files++;
	k->bytes = rama_core_add(k->bytes, rama_core_add(f->read, f->written));
	if (f->max_offset == -1)
		k->max_offset = -1;
	else if (f->max_offset > k->max_offset)
		k->max_offset = f->max_offset;
}

void rama_core_summary_files(const struct rama_core_summary *s,
			     struct rama_core_files kinds[RAMA_CORE_FILES_KINDS])
{
	struct rama_core_files all = { 0 }, some = { 0 };

	for (unsigned k = 0; k < RAMA_CORE_FILES_KINDS; k++)
		kinds[k] = (struct rama_core_files){ 0 };
	for (size_t i = 0; i < s->files.used; i++) {
		const struct rama_core_file_use *f = &s->file[i];

		count_file(&kinds[RAMA_CORE_FILES_TOTAL], f);
		if (f->read > 0 && f->written == 0)
			count_file(&kinds[RAMA_CORE_FILES_READ_ONLY], f);
		else if (f->written > 0 && f->read == 0)
			count_file(&kinds[RAMA_CORE_FILES_WRITE_ONLY], f);
		else if (f->read > 0 && f->written > 0)
			count_file(&kinds[RAMA_CORE_FILES_READ_WRITE], f);
		count_file(f->procs == 1    ? &kinds[RAMA_CORE_FILES_UNIQUE]
			   : f->procs == -1 ? &all
					    : &some,
			   f);
	}
	/* the line for shared files adds up those of all ranks and those of some, offsets
	 * included */
	kinds[RAMA_CORE_FILES_SHARED] =
		(struct rama_core_files){ all.files + some.files,
					  rama_core_add(all.bytes, some.bytes),
					  rama_core_add(all.max_offset, some.max_offset) };
}

void rama_core_summary_perf(const struct rama_core_summary *s, struct rama_core_perf *perf)
{
	const struct rama_core_rank_time *best = NULL;

	*perf = (struct rama_core_perf){ .total_bytes = s->total_bytes,
					 .shared_time = s->shared_time };
	for (size_t i = 0; i < s->ranks.used; i++) {
		const struct rama_core_rank_time *t = &s->rank[i];

		if (t->io > 0 && (best == NULL || t->io > best->io ||
				  (t->io == best->io && t->rank < best->rank)))
			best = t;
	}
	if (best != NULL) {
		perf->slowest_io = best->io;
		perf->slowest_meta = best->meta;
		perf->slowest_rw = best->rw;
		perf->slowest_rank = best->rank;
	}
	perf->time = perf->slowest_io + perf->shared_time;
	if (perf->time != 0)
		perf->mib_per_s = (double)s->total_bytes / 1048576.0 / perf->time;
}
