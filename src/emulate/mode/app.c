/* SPDX-License-Identifier: BSD-3-Clause */
/* app.c: files that are read, then files that are written. A file is used by all ranks,
 * each of which has its part (or, with --whole, all of it); by one rank of its own; or by the
 * ranks that are named. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/human.h"
#include "emulate/emulate.h"
#include "emulate/format/lines.h"

/* the parameters of one side */
struct side {
	enum rama_emu_param dirs, names, block, segments, own, procs, ranks;
	enum rama_emu_do what;
};
static const struct side sides[2] = {
	{ RAMA_EMU_P_read_dirs, RAMA_EMU_P_read_names, RAMA_EMU_P_read_block,
	  RAMA_EMU_P_read_segments, RAMA_EMU_P_read_own, RAMA_EMU_P_read_procs,
	  RAMA_EMU_P_read_ranks, RAMA_EMU_DO_READ },
	{ RAMA_EMU_P_write_dirs, RAMA_EMU_P_write_names, RAMA_EMU_P_write_block,
	  RAMA_EMU_P_write_segments, RAMA_EMU_P_write_own, RAMA_EMU_P_write_procs,
	  RAMA_EMU_P_write_ranks, RAMA_EMU_DO_WRITE },
};

/* what the requests of this run have beside the usual */
struct extra {
	struct rama_emu_split split; /* n 0: all are of one size */
	double reads;		     /* part of those to written files that are reads */
	struct rama_emu_limit limit[2];
};

/* one file and what this rank has to do with it */
struct file {
	struct rama_emu_unit *unit;
	int64_t request;
	uint32_t part, parts; /* parts 0: nothing */
	bool first;	      /* of its ranks */
	bool strict;
	bool loose;	 /* some ranks do not wait for it, and may go on without it */
	uint32_t *ranks; /* that use it, for groups of MPI */
};

/* ---- who uses a file ------------------------------------------------------------------------ */

/* "0,2-1,3": ranks; R-1: does not wait for the file. Sets part, parts, first, strict. */
static int named_ranks(struct rama_emu_emulation *m, struct file *f, const char *text, size_t n,
		       struct rama_err *e)
{
	struct rama_config_piece all = { text, n }, item;

	while (rama_config_piece_next(&all, ',', &item)) {
		const char *dash = memchr(item.p, '-', item.n);
		struct rama_config_piece number = { item.p, dash != NULL ? (size_t)(dash - item.p)
									 : item.n };
		bool loose = dash != NULL && dash + 1 < item.p + item.n && dash[1] == '1';
		double r;

		if (!rama_emu_word_number(number, &r) || r > UINT32_MAX || r != (uint32_t)r)
			return rama_err_set(e, RAMA_EUSAGE, "%.*s is no rank",
					    RAMA_EMU_PIECE(item));
		if (r >= m->team->size)
			return rama_err_set(e, RAMA_EUSAGE, "rank %.0f of %d does not exist", r,
					    m->team->size);
		f->ranks[f->parts] = (uint32_t)r;
		f->loose |= loose;
		if ((int)r == m->team->rank) {
			f->part = f->parts;
			f->strict = !loose;
		}
		for (uint32_t i = 0; i < f->parts; i++)
			if (f->ranks[i] == (uint32_t)r)
				return rama_err_set(e, RAMA_EUSAGE, "rank %.0f is named twice", r);
		f->parts++;
	}
	return 0;
}

/* The n ranks that have least to do; all ranks find the same. */
static void least_busy(struct rama_emu_emulation *m, struct file *f, uint32_t n, double *load)
{
	uint32_t size = (uint32_t)m->team->size;

	for (n = n < size ? n : size; f->parts < n;) {
		uint32_t best = RAMA_EMU_NONE_YET;

		for (uint32_t r = 0; r < size; r++) {
			bool used = false;

			for (uint32_t i = 0; i < f->parts; i++)
				used |= f->ranks[i] == r;
			if (!used && (best == RAMA_EMU_NONE_YET || load[r] < load[best]))
				best = r;
		}
		f->ranks[f->parts++] = best;
	}
	for (uint32_t i = 0; i < n; i++) {
		load[f->ranks[i]] += (double)f->unit->size / n;
		if (f->ranks[i] == (uint32_t)m->team->rank)
			f->part = i;
	}
}

/* how many ranks further those are whose data are read */
static uint32_t shift_of(const struct rama_emu_emulation *m, enum rama_emu_do what)
{
	return what == RAMA_EMU_DO_READ
		       ? (uint32_t)(rama_emu_config_size(m->cfg, RAMA_EMU_P_shift) % m->team->size)
		       : 0;
}

static int find_ranks(struct rama_emu_emulation *m, const struct side *s, size_t i, struct file *f,
		      double *load, struct rama_err *e)
{
	const struct rama_emu_config *c = m->cfg;
	uint32_t size = (uint32_t)m->team->size;
	const char *text;
	size_t n;
	int rc = 0;

	f->strict = true;
	f->part = RAMA_EMU_NONE_YET;
	if (rama_emu_config_flag(c, s->own)) {
		uint32_t owner = (uint32_t)((i + size - shift_of(m, s->what)) % size);

		f->ranks[f->parts++] = owner;
		f->part = owner == (uint32_t)m->team->rank ? 0 : RAMA_EMU_NONE_YET;
	} else if ((n = rama_emu_config_item(c, s->ranks, i, &text)) > 0) {
		rc = named_ranks(m, f, text, n, e);
	} else if (rama_emu_config_items(c, s->ranks) > 0) {
		return 0; /* ranks are named for other files: nobody uses this one */
	} else if (rama_emu_config_items(c, s->procs) > 0) {
		least_busy(m, f, (uint32_t)rama_emu_config_item_size(c, s->procs, i, 1), load);
	} else {
		for (uint32_t r = 0; r < size; r++)
			f->ranks[f->parts++] = r;
		f->part = (uint32_t)m->team->rank;
	}
	f->first = f->parts > 0 && f->ranks[0] == (uint32_t)m->team->rank;
	return rc;
}

/* ---- the files of one side ------------------------------------------------------------------ */

/* Names run out with a file for each rank: LAST.r for the rest. */
static const char *name_of(struct rama_emu_emulation *m, const struct side *s, size_t i,
			   struct rama_err *e)
{
	size_t n = rama_emu_config_items(m->cfg, s->names), len;
	const char *text = rama_emu_config_text(m->cfg, RAMA_EMU_P_filename);
	char name[4096];

	len = n > 0 ? rama_emu_config_item(m->cfg, s->names, i < n ? i : n - 1, &text)
		    : strlen(text);
	if (i < n || (n == 0 && i == 0 && !rama_emu_config_flag(m->cfg, s->own)))
		snprintf(name, sizeof(name), "%.*s", (int)len, text);
	else
		snprintf(name, sizeof(name), "%.*s.%zu", (int)len, text, i);
	text = rama_arena_text(&m->arena, name, strlen(name));
	if (text == NULL)
		rama_err_set(e, RAMA_EMEMORY, "no memory");
	return text;
}

static const char *dir_of(struct rama_emu_emulation *m, const struct side *s, size_t i,
			  struct rama_err *e)
{
	size_t n = rama_emu_config_items(m->cfg, s->dirs), len;
	const char *text = rama_emu_config_text(m->cfg, RAMA_EMU_P_input_dir);

	len = n > 0 ? rama_emu_config_item(m->cfg, s->dirs, i < n ? i : n - 1, &text)
		    : strlen(text);
	text = rama_arena_text(&m->arena, text, len);
	if (text == NULL)
		rama_err_set(e, RAMA_EMEMORY, "no memory");
	return text;
}

static int make_file(struct rama_emu_emulation *m, const struct side *s, size_t i, struct file *f,
		     double *load, struct rama_err *e)
{
	const struct rama_emu_config *c = m->cfg;
	int64_t block = rama_emu_config_item_size(c, s->block, i,
						  rama_emu_config_size(c, RAMA_EMU_P_block_size));
	int64_t segments = rama_emu_config_item_size(
		c, s->segments, i, rama_emu_config_size(c, RAMA_EMU_P_segment_count));
	int64_t transfer = rama_emu_config_size(c, RAMA_EMU_P_transfer_size);
	int64_t size;
	const char *dir = dir_of(m, s, i, e), *name = name_of(m, s, i, e), *path;

	*f = (struct file){ .request = transfer > 0 && transfer < block ? transfer : block };
	if (f->request < 1)
		f->request = 1; /* of a file of no bytes */
	if (dir == NULL || name == NULL)
		return RAMA_EMEMORY;
	if (!rama_emu_config_file_size(c, block, segments, &size))
		return rama_err_set(e, RAMA_EUSAGE,
				    "%s: %lld segments of %lld bytes are more than a file can "
				    "have",
				    name, (long long)segments, (long long)block);
	if (s->what == RAMA_EMU_DO_WRITE && rama_emu_own_where(m->opt.own, dir, e) != 0)
		return e->code;
	path = rama_emu_emulation_path(m, dir, name, e);
	f->unit = path != NULL ? rama_emu_emulation_unit(m, name, path, size, 0, e) : NULL;
	f->ranks = rama_arena_alloc(&m->arena, sizeof(*f->ranks) * ((size_t)m->team->size + 1));
	if (f->unit == NULL || f->ranks == NULL)
		return RAMA_EMEMORY;
	f->unit->in_place = rama_emu_config_flag(c, RAMA_EMU_P_in_place);
	return find_ranks(m, s, i, f, load, e);
}

/* How many files there are: the list, or one for each rank, or (with no list at all) one if
 * something was asked of this side. */
static size_t files_of(const struct rama_emu_emulation *m, const struct side *s)
{
	const struct rama_emu_config *c = m->cfg;
	size_t n = rama_emu_config_items(c, s->names);

	if (rama_emu_config_flag(c, s->own))
		return (size_t)m->team->size;
	if (n == 0 && (rama_emu_config_given(c, s->dirs) || rama_emu_config_given(c, s->block) ||
		       rama_emu_config_given(c, s->segments) ||
		       rama_emu_config_flag(c, s == &sides[0] ? RAMA_EMU_P_read_shared
							      : RAMA_EMU_P_write_shared)))
		return 1;
	return n;
}

/* ---- the script ----------------------------------------------------------------------------- */

#define CELL 16 /* largest requests that fill one; fewer where there would be too few of them */

/* stretches that are dealt out to ranks and filled with requests of drawn sizes */
static int64_t cell_of(const struct extra *x, const struct file *f)
{
	int64_t fit = f->unit->size / x->split.largest / f->parts / 4;

	return x->split.largest * (fit < 1 ? 1 : fit < CELL ? fit : CELL);
}

static void add_walk(struct rama_emu_emulation *m, struct rama_emu_script *s, const struct file *f,
		     enum rama_emu_do what, struct extra *x)
{
	struct rama_emu_limit *limit = &x->limit[what == RAMA_EMU_DO_WRITE];
	bool whole = rama_emu_config_flag(m->cfg, RAMA_EMU_P_whole);
	const char *order = rama_emu_config_text(m->cfg, RAMA_EMU_P_order);
	struct rama_emu_walk w = { .size = f->unit->size,
				   .request = x->split.n > 0 ? cell_of(x, f) : f->request,
				   .split = x->split.n > 0 ? &x->split : NULL,
				   .part = whole ? 0 : (f->part + shift_of(m, what)) % f->parts,
				   .parts = whole ? 1 : f->parts,
				   .seed = m->opt.seed ^ f->unit->pattern.unit,
				   .order = strcmp(order, "random") == 0    ? RAMA_EMU_RANDOM
					    : strcmp(order, "strided") == 0 ? RAMA_EMU_STRIDED
									    : RAMA_EMU_SEQUENTIAL };

	if (what == RAMA_EMU_DO_READ) {
		double part = rama_emu_config_number(m->cfg, RAMA_EMU_P_read_fraction);

		w.size = part < 1 ? (int64_t)((double)w.size * part) : w.size;
	}
	m->planned += (uint64_t)rama_emu_walk_bytes(&w);
	rama_emu_script_move(s, what, f->unit, &w,
			     what == RAMA_EMU_DO_WRITE &&
				     strcmp(rama_emu_config_text(m->cfg, RAMA_EMU_P_fsync),
					    "request") == 0);
	rama_emu_script_mix(s, what == RAMA_EMU_DO_WRITE ? x->reads : 0,
			    limit->seconds > 0 ? limit : NULL);
}

/* A file that a time limit has cut is read as far as it goes. */
static void shorten(struct rama_emu_emulation *m, struct file *f)
{
	struct stat st;

	if (m->opt.engine->container || stat(f->unit->path, &st) != 0 || !S_ISREG(st.st_mode) ||
	    st.st_size >= f->unit->size)
		return;
	if (f->first)
		rama_out_fmt(&m->remarks, "%.200s: %lld of %lld bytes are there, and are read\n",
			     f->unit->name, (long long)st.st_size, (long long)f->unit->size);
	f->unit->size = st.st_size;
}

static void add_read(struct rama_emu_emulation *m, struct rama_emu_script *s, struct file *f,
		     struct extra *x)
{
	struct rama_emu_step *wait = rama_emu_script_step(s, RAMA_EMU_DO_WAIT, f->unit);

	wait->strict = f->strict;
	if (x->limit[0].seconds > 0)
		shorten(m, f);
	if (!f->strict && access(f->unit->path, F_OK) != 0)
		return; /* not there and not needed */
	rama_emu_script_open(s, f->unit, RAMA_EMU_OPEN_READ);
	add_walk(m, s, f, RAMA_EMU_DO_READ, x);
	rama_emu_script_step(s, RAMA_EMU_DO_CLOSE, f->unit);
}

static void add_write(struct rama_emu_emulation *m, struct rama_emu_script *s, struct file *f,
		      struct extra *x)
{
	rama_emu_script_open(s, f->unit,
			     x->reads > 0 ? RAMA_EMU_OPEN_WRITE | RAMA_EMU_OPEN_READ
					  : RAMA_EMU_OPEN_WRITE | RAMA_EMU_OPEN_CREATE);
	add_walk(m, s, f, RAMA_EMU_DO_WRITE, x);
	if (strcmp(rama_emu_config_text(m->cfg, RAMA_EMU_P_fsync), "file") == 0)
		rama_emu_script_step(s, RAMA_EMU_DO_SYNC, f->unit);
	rama_emu_script_step(s, RAMA_EMU_DO_CLOSE, f->unit);
}

static int make_folder(struct rama_emu_emulation *m, const struct file *f, struct rama_err *e)
{
	char folder[RAMA_EMU_OWN_PATH], *slash;

	if (f->unit == NULL) /* never: all were made */
		return 0;
	if (strlen(f->unit->path) >= sizeof(folder) - RAMA_EMU_OWN_PART)
		return rama_err_set(e, RAMA_EUSAGE, "%.100s...: name too long", f->unit->path);
	memcpy(folder, f->unit->path, strlen(f->unit->path) + 1);
	slash = strrchr(folder, '/');
	if (slash == NULL || slash == folder)
		return 0;
	*slash = '\0';
	return rama_emu_own_folders(m->opt.own, folder, e);
}

/* What an earlier run left under the name that is written to must not become part of this one. */
static int clear_file(struct rama_emu_emulation *m, const struct file *f, struct rama_err *e)
{
	if (!f->unit->in_place)
		return 0;
	if (!m->opt.engine->container)
		return rama_emu_own_create(m->opt.own, f->unit->path, e);
	if (rama_emu_own_clear(m->opt.own, f->unit->path) == 0)
		return 0;
	return rama_err_set(e, RAMA_EIO, "%s: cannot be removed: %s", f->unit->path,
			    strerror(errno));
}

/* Nothing is made before all files that will be written are known to be free or ours. */
static int clear_places(struct rama_emu_emulation *m, struct file *files, size_t n,
			struct rama_err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++)
		if (files[i].first) {
			rama_emu_own_need(m->opt.own, files[i].unit->path, files[i].unit->size);
			rc = rama_emu_own_check(m->opt.own, files[i].unit->path, e);
		}
	if (rc == 0)
		rc = rama_emu_own_room(m->opt.own, m->team, e);
	for (size_t i = 0; rc == 0 && i < n; i++)
		if (files[i].first)
			rc = make_folder(m, &files[i], e);
	/* places of which no rank uses a file */
	for (size_t i = 0; rc == 0 && m->team->rank == 0 && i < n; i++)
		if (files[i].parts == 0)
			rc = make_folder(m, &files[i], e);
	if (rc == 0)
		rc = rama_emu_team_barrier(m->team, e);
	if (rc == 0)
		rc = rama_emu_emulation_enter(m, m->team->rank == 0, e);
	for (size_t i = 0; rc == 0 && i < n; i++)
		if (files[i].first)
			rc = clear_file(m, &files[i], e);
	return rc;
}

/* After an error, when this rank writes no more: every rank does it, so nothing of those that
 * were killed stays either. */
static void clear_side(struct rama_emu_emulation *m, const struct side *side)
{
	size_t n = files_of(m, side);

	for (size_t i = 0; i < n; i++) {
		const char *dir = dir_of(m, side, i, NULL), *name = name_of(m, side, i, NULL);
		const char *path = dir != NULL && name != NULL
					   ? rama_emu_emulation_path(m, dir, name, NULL)
					   : NULL;

		if (path != NULL)
			rama_emu_own_drop(m->opt.own, path);
	}
}

/* All files with their ranks; what is written has its place cleared by the first of these. */
static int make_files(struct rama_emu_emulation *m, const struct side *side, struct file *files,
		      size_t n, struct rama_err *e)
{
	double *load = calloc((size_t)m->team->size, sizeof(*load));
	int rc = load != NULL ? 0 : rama_err_set(e, RAMA_EMEMORY, "no memory");

	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct file *f = &files[i];

		rc = make_file(m, side, i, f, load, e);
		if (rc == 0 && f->parts > 1 && m->team->group != NULL && !f->loose &&
		    f->part != RAMA_EMU_NONE_YET)
			f->unit->opt.group = m->team->group(m->team, f->ranks, f->parts);
	}
	free(load);
	if (rc == 0 && n > 0 && side->what == RAMA_EMU_DO_WRITE && !m->opt.engine->no_files)
		rc = clear_places(m, files, n, e);
	return rc;
}

/* Files that are read while they are written are whole before: made by all ranks, outside of all
 * measurements. */
static int lay_out(struct rama_emu_emulation *m, struct file *files, size_t n, struct rama_err *e)
{
	const struct rama_emu_engine *plain =
		m->opt.engine->container ? NULL : rama_emu_engine_find("posix");
	struct rama_emu_script s;
	char part[RAMA_EMU_OWN_PATH];
	int rc;

	rama_emu_script_init(&s);
	for (size_t i = 0; i < n; i++) {
		struct rama_emu_walk w = { .size = files[i].unit->size,
					   .request = 1 << 20,
					   .part = files[i].part,
					   .parts = files[i].parts };

		if (files[i].part == RAMA_EMU_NONE_YET || files[i].parts == 0)
			continue;
		files[i].unit->engine = plain;
		rama_emu_script_open(&s, files[i].unit, RAMA_EMU_OPEN_WRITE | RAMA_EMU_OPEN_CREATE);
		rama_emu_script_move(&s, RAMA_EMU_DO_WRITE, files[i].unit, &w, false);
		rama_emu_script_step(&s, RAMA_EMU_DO_CLOSE, files[i].unit);
	}
	rc = rama_emu_team_barrier(m->team, e); /* places are cleared */
	if (rc == 0)
		rc = rama_emu_emulation_aside(m, &s, e);
	rama_emu_script_fini(&s);
	if (rc == 0)
		rc = rama_emu_team_barrier(m->team, e);
	for (size_t i = 0; i < n; i++) {
		files[i].unit->engine = NULL;
		if (rc == 0 && m->opt.cold && files[i].first &&
		    rama_emu_unit_partial(m->opt.own, files[i].unit, part, sizeof(part)) != NULL)
			rama_emu_drop_cache(part);
	}
	return rc;
}

static int add_side(struct rama_emu_emulation *m, struct rama_emu_script *s,
		    const struct side *side, struct extra *x, struct rama_err *e)
{
	size_t n = files_of(m, side);
	struct file *files = calloc(n + 1, sizeof(*files));
	bool write = side->what == RAMA_EMU_DO_WRITE;
	int rc;

	if (files == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	rc = make_files(m, side, files, n, e);
	if (rc == 0 && write && x->reads > 0 && !m->opt.engine->no_files)
		rc = lay_out(m, files, n, e);
	if (n > 0 && write) /* places are cleared */
		rama_emu_script_step(s, RAMA_EMU_DO_BARRIER, NULL);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		if (files[i].part == RAMA_EMU_NONE_YET || files[i].parts == 0)
			continue;
		if (write)
			add_write(m, s, &files[i], x);
		else
			add_read(m, s, &files[i], x);
	}
	if (n > 0 && x->limit[write].wear_out) { /* whoever has nothing left says so */
		struct rama_emu_step *end = rama_emu_script_step(s, RAMA_EMU_DO_CALL, NULL);

		end->call = rama_emu_limit_agree;
		end->ctx = &x->limit[write];
	}
	if (n > 0 && write) /* all parts are there */
		rama_emu_script_step(s, RAMA_EMU_DO_BARRIER, NULL);
	for (size_t i = 0; rc == 0 && write && i < n; i++)
		if (files[i].first)
			rama_emu_script_step(s, RAMA_EMU_DO_READY, files[i].unit);
	free(files);
	return rc;
}

/* ---- sizes, mixes and limits ---------------------------------------------------------------- */

/* "4KiB/70:64KiB/30": how often each, of any sum; alone it counts 1 */
static int read_split(const struct rama_emu_config *c, struct rama_emu_split *to,
		      struct rama_err *e)
{
	size_t n = rama_emu_config_items(c, RAMA_EMU_P_size_split);
	double sum = 0;

	if (n > RAMA_EMU_SPLIT_MOST)
		return rama_err_set(e, RAMA_EUSAGE, "size_split: more than %d sizes",
				    RAMA_EMU_SPLIT_MOST);
	for (size_t i = 0; i < n; i++) {
		const char *text = "", *slash;
		size_t len = rama_emu_config_item(c, RAMA_EMU_P_size_split, i, &text), first;
		double often = 1;

		slash = memchr(text, '/', len);
		first = slash != NULL ? (size_t)(slash - text) : len;
		if (!rama_emu_word_size((struct rama_config_piece){ text, first }, &to->size[i]) ||
		    to->size[i] < 1 ||
		    (slash != NULL &&
		     (!rama_emu_word_number(
			      (struct rama_config_piece){ slash + 1, len - first - 1 }, &often) ||
		      !(often > 0))))
			return rama_err_set(e, RAMA_EUSAGE,
					    "size_split: \"%.*s\" is not SIZE/PART such as 4KiB/70",
					    (int)len, text);
		to->below[i] = sum += often;
		to->largest = to->size[i] > to->largest ? to->size[i] : to->largest;
	}
	to->n = (unsigned)n;
	for (size_t i = 0; i < n; i++)
		to->below[i] /= sum;
	return 0;
}

static int read_extra(struct rama_emu_emulation *m, struct extra *x, struct rama_err *e)
{
	const struct rama_emu_config *c = m->cfg;
	double seconds = rama_emu_config_number(c, RAMA_EMU_P_time_limit);

	*x = (struct extra){ .reads = rama_emu_config_number(c, RAMA_EMU_P_read_share) };
	if (x->reads > 1)
		return rama_err_set(e, RAMA_EUSAGE, "read_share: at most 1 (100%%)");
	if (x->reads > 0 && files_of(m, &sides[1]) == 0)
		return rama_err_set(e, RAMA_EUSAGE,
				    "read_share: name the files with write_filenames");
	if (rama_emu_config_items(c, RAMA_EMU_P_size_split) > 0 &&
	    rama_emu_config_given(c, RAMA_EMU_P_transfer_size))
		return rama_err_set(e, RAMA_EUSAGE, "size_split or transfer_size: not both");
	if (seconds > 0 && m->opt.engine->needs_mpi && m->opt.opt.collective && m->team->size > 1)
		return rama_err_set(
			e, RAMA_EUSAGE,
			"time_limit: ranks that call together cannot end by themselves; "
			"with mpiio_type=noncollective they can");
	for (int i = 0; i < 2; i++)
		x->limit[i] = (struct rama_emu_limit){
			.seconds = seconds,
			.wear_out = seconds > 0 && rama_emu_config_flag(c, RAMA_EMU_P_wear_out),
			.team = m->team
		};
	return read_split(c, &x->split, e);
}

/* what a limit did, of all ranks; on rank 0 */
static int tell_limit(struct rama_emu_emulation *m, const struct rama_emu_limit *l,
		      const char *what, struct rama_err *e)
{
	struct rama_emu_limit least = *l, most = *l, *one;
	char *all = NULL, a[RAMA_HUMAN], b[RAMA_HUMAN], c[RAMA_HUMAN];
	bool cut = l->over;
	size_t *lens = NULL;
	int rc = rama_emu_team_gather(m->team, l, sizeof(*l), &all, &lens, e);

	for (int r = 0; all != NULL && r < m->team->size; r++) {
		one = (struct rama_emu_limit *)(void *)(all + (size_t)r * sizeof(*one));
		least = one->done < least.done ? *one : least;
		most = one->done > most.done ? *one : most;
		cut |= one->over;
	}
	free(all);
	free(lens);
	if (rc != 0 || m->team->rank != 0)
		return rc;
	rama_out_fmt(&m->notes,
		     "%s\"limit_%s\":{\"limit_s\":%.9g,\"cut\":%s,\"requests_least\":%llu,"
		     "\"requests_most\":%llu}",
		     m->notes.used > 0 ? "," : "", what, l->seconds, cut ? "true" : "false",
		     (unsigned long long)least.done, (unsigned long long)most.done);
	rama_out_fmt(
		&m->remarks, "%s: %s %s; a rank made from %s to %s requests%s\n", what,
		cut ? "ended after the time limit of" : "all was done before the time limit of",
		rama_human_seconds(a, l->seconds), rama_human_count(b, (int64_t)least.done),
		rama_human_count(c, (int64_t)most.done), cut && l->wear_out ? ", worn out" : "");
	return 0;
}

static int tell_limits(struct rama_emu_emulation *m, const struct extra *x, struct rama_err *e)
{
	static const char *const name[2] = { "reading", "writing" };
	int rc = 0;

	for (int i = 0; rc == 0 && i < 2; i++)
		if (x->limit[i].seconds > 0 && files_of(m, &sides[i]) > 0)
			rc = tell_limit(m, &x->limit[i], name[i], e);
	return rc;
}

int rama_emu_mode_app(struct rama_emu_emulation *m, struct rama_err *e)
{
	struct rama_emu_script s;
	struct extra x;
	int rc;

	if (files_of(m, &sides[0]) + files_of(m, &sides[1]) == 0)
		return rama_err_set(
			e, RAMA_EUSAGE,
			"nothing to do: name files with read_filenames or write_filenames");
	rama_emu_script_init(&s);
	rc = read_extra(m, &x, e);
	if (rc == 0)
		rc = add_side(m, &s, &sides[0], &x, e);
	rama_emu_script_step(&s, RAMA_EMU_DO_BARRIER, NULL);
	if (rc == 0)
		rc = add_side(m, &s, &sides[1], &x, e);
	if (rc == 0)
		rc = rama_emu_emulation_stream(m, &s, e);
	if (rc == 0)
		rc = tell_limits(m, &x, e);
	if (rc != 0)
		clear_side(m, &sides[1]);
	rama_emu_script_fini(&s);
	return rc;
}
