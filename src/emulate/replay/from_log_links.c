/* SPDX-License-Identifier: BSD-3-Clause */
/* from_log_links.c: names that mean the same data: a file before and after it was renamed, and a
 * standard stream that is a file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "core/sum/plan.h"
#include "emulate/replay/from_log.h"
#include "emulate/replay/replay.h"
#include "logfile/cursor.h"

#define STEPS_MOST 100 /* names of one file, one after the other */

/* ---- found in a log ------------------------------------------------------------------------- */

static uint64_t stream_key(int64_t rank, uint64_t stream)
{
	return stream ^ ((uint64_t)rank + 1) * 0x9e3779b97f4a7c15u;
}

static int add_rename(struct rama_emu_story *s, const struct rama_log *log, uint64_t from,
		      uint64_t to, struct rama_err *e)
{
	const struct rama_log_name *name = rama_log_name_get(log, to);
	bool fresh = false;
	uint64_t *at;

	if (from == to || name == NULL || !rama_emu_replay_is_file(name->text))
		return 0;
	at = rama_map_put(&s->renamed, from, &fresh);
	if (at == NULL || !RAMA_GROW(s->renames, s->room_renames, s->n_renames + 1))
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	if (!fresh) /* the first one counts */
		return 0;
	*at = s->n_renames;
	s->renames[s->n_renames] = (struct rama_emu_story_rename){
		.to = to, .name = rama_arena_text(&s->arena, name->text, name->len)
	};
	return s->renames[s->n_renames++].name != NULL ? 0
						       : rama_err_set(e, RAMA_EMEMORY, "no memory");
}

static int read_links(struct rama_emu_story *s, struct rama_log *log, unsigned module,
		      struct rama_map *streams, struct rama_err *e)
{
	bool extra = module == RAMA_TAB_MOD_EXTRA;
	struct rama_log_cursor c;
	struct rama_core_record *rec;
	int rc = rama_log_cursor_open(&c, log, module);

	while (rc > 0 && (rc = rama_log_cursor_next(&c, &rec)) > 0) {
		const union rama_core_word *w = rec->w;
		uint64_t from =
			w[extra ? RAMA_TAB_EXTRA_RENAMED_FROM : RAMA_TAB_POSIX_RENAMED_FROM].u;
		uint64_t stream = extra ? w[RAMA_TAB_EXTRA_STREAM].u : 0, *at;
		int done = from != 0 ? add_rename(s, log, from, w[RAMA_TAB_ID].u, e) : 0;

		if (done == 0 && stream != 0 && w[RAMA_TAB_RANK].i >= 0) {
			at = rama_map_put(streams, stream_key(w[RAMA_TAB_RANK].i, stream), NULL);
			if (at != NULL)
				*at = w[RAMA_TAB_ID].u;
			else
				done = rama_err_set(e, RAMA_EMEMORY, "no memory");
		}
		rc = done == 0 ? 1 : done;
	}
	rama_log_cursor_close(&c);
	return rc < 0 ? rc : 0;
}

int rama_emu_story_links(struct rama_emu_story *s, struct rama_log *log, struct rama_map *streams,
			 struct rama_err *e)
{
	int rc = read_links(s, log, RAMA_TAB_MOD_EXTRA, streams, e);

	return rc == 0 ? read_links(s, log, RAMA_TAB_MOD_POSIX, streams, e) : rc;
}

const struct rama_log_name *rama_emu_story_stream(const struct rama_log *log,
						  const struct rama_map *streams, int64_t rank,
						  uint64_t stream)
{
	const uint64_t *file = rama_map_get(streams, stream_key(rank, stream));

	return file != NULL ? rama_log_name_get(log, *file) : NULL;
}

/* ---- of all logs ---------------------------------------------------------------------------- */

/* when a file was last written, and first read; by file */
struct span {
	double written, read;
};

static struct span *spans_of(const struct rama_emu_story *s)
{
	struct span *x = calloc(s->n_files + 1, sizeof(*x));

	for (size_t i = 0; x != NULL && i < s->n_uses; i++) {
		const struct rama_emu_story_use *u = &s->uses[i];
		struct span *f = &x[u->file];

		if (u->written > 0)
			f->written = fmax(f->written, u->write_to);
		if (u->read > 0)
			f->read = f->read > 0 ? fmin(f->read, u->read_from) : u->read_from;
	}
	return x;
}

/* The file that another becomes: the last of its names under which it was used. A name that was
 * written to again after that is another file. *name: its last name of all. */
static uint32_t becomes(const struct rama_emu_story *s, const struct span *spans, uint32_t file,
			const char **name)
{
	uint64_t id = s->files[file].id;
	uint32_t last = file;

	for (int i = 0; i < STEPS_MOST; i++) {
		const uint64_t *at = rama_map_get(&s->renamed, id), *to;

		if (at == NULL)
			return last;
		id = s->renames[*at].to;
		if (id == s->files[file].id) { /* names were swapped */
			*name = s->files[file].name;
			return file;
		}
		to = rama_map_get(&s->file_by_id, id);
		if (to != NULL && spans[*to].read > 0 &&
		    spans[file].written > spans[*to].read + s->slack)
			return last;
		*name = s->renames[*at].name;
		last = to != NULL ? (uint32_t)*to : last;
	}
	*name = s->files[file].name;
	return file;
}

int rama_emu_story_join(struct rama_emu_story *s, struct rama_err *e)
{
	struct span *spans = spans_of(s);
	uint32_t *is = calloc(s->n_files + 1, sizeof(*is));
	const char **names = calloc(s->n_files + 1, sizeof(*names));

	if (spans == NULL || is == NULL || names == NULL) {
		free(spans);
		free(is);
		free((void *)names);
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	}
	for (uint32_t i = 0; i < s->n_files; i++) {
		names[i] = s->files[i].name;
		is[i] = becomes(s, spans, i, &names[i]);
	}
	for (uint32_t i = 0; i < s->n_files; i++) {
		struct rama_emu_story_file *to = &s->files[is[i]];

		to->size = s->files[i].size > to->size ? s->files[i].size : to->size;
		if (is[i] == i)
			to->name = names[i];
	}
	for (size_t i = 0; i < s->n_uses; i++)
		s->uses[i].file = is[s->uses[i].file];
	free(spans);
	free(is);
	free((void *)names);
	return 0;
}
