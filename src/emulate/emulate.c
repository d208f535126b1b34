/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulate/emulate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/human.h"
#include "base/nearest.h"
#include "base/out.h"
#include "base/without.h"
#include "emulate/output/output.h"
#include "table/settings.h"

/* ---- modes ---------------------------------------------------------------------------------- */

const struct rama_emu_mode rama_emu_modes[] = {
	{ "app", "one application: files that are read, then files that are written", false, false,
	  rama_emu_mode_app },
	{ "pc", "producers and consumers, in pairs", false, false, rama_emu_mode_pc },
	{ "dl", "training: a data set read in another order in each epoch", false, false,
	  rama_emu_mode_dl },
	{ "cr", "checkpoints, a crash, a restart", false, false, rama_emu_mode_cr },
	{ "dag", "a workflow: tasks that wait for each other's data", false, false,
	  rama_emu_mode_dag },
	{ "md", "many small files: created, looked at, read, removed, in phases", false, false,
	  rama_emu_mode_md },
	{ "replay", "what a log says a job did", true, true, rama_emu_mode_replay },
	{ "graph", "who wrote what others read, from logs: a workflow file", true, false,
	  rama_emu_mode_graph },
	{ "try",
	  "a log, a workflow or a mode, as it is and changed by --set, by turns: is it faster?",
	  true, false, rama_emu_mode_try },
};
const unsigned rama_emu_n_modes = sizeof(rama_emu_modes) / sizeof(rama_emu_modes[0]);

const struct rama_emu_mode *rama_emu_mode_find(const char *name)
{
	for (unsigned i = 0; i < rama_emu_n_modes; i++)
		if (strcmp(rama_emu_modes[i].name, name) == 0)
			return &rama_emu_modes[i];
	return NULL;
}

int rama_emu_mode_unknown(const char *name, struct rama_err *e)
{
	struct rama_nearest near = { .word = name };
	char hint[RAMA_NEAREST_HINT];

	for (unsigned i = 0; i < rama_emu_n_modes; i++)
		rama_nearest_offer(&near, rama_emu_modes[i].name);
	return rama_err_set(e, RAMA_EUSAGE, "there is no mode '%s'%s `iorama emulate` lists them",
			    name, near.name != NULL ? rama_nearest_hint(&near, hint) : ";");
}

/* ---- helpers of the modes ------------------------------------------------------------------- */

/* Names come from workflow files and logs: whatever they are, the file is in the directory. */
static char *safe_name(struct rama_arena *arena, const char *name)
{
	size_t n = strlen(name), used = 0;
	char *to = rama_arena_alloc(arena, n + 2);

	while (to != NULL && *name != '\0') {
		size_t part = strcspn(name, "/");

		/* no leading slash, no "." or "..", no empty parts */
		if (part > 0 && !(part == 1 && name[0] == '.') &&
		    !(part == 2 && name[0] == '.' && name[1] == '.')) {
			if (used > 0)
				to[used++] = '/';
			for (size_t i = 0; i < part; i++)
				to[used++] = (unsigned char)name[i] < ' ' ? '_' : name[i];
		}
		name += part + (name[part] == '/');
	}
	if (to != NULL && used == 0)
		to[used++] = '_';
	if (to != NULL)
		to[used] = '\0';
	return to;
}

char *rama_emu_emulation_path(struct rama_emu_emulation *m, const char *dir, const char *name,
			      struct rama_err *e)
{
	char *safe = safe_name(&m->arena, name), *path;
	size_t n = strlen(dir);

	if (safe == NULL)
		goto no_memory;
	path = rama_arena_alloc(&m->arena, n + strlen(safe) + 2);
	if (path == NULL)
		goto no_memory;
	memcpy(path, dir, n);
	if (n > 0 && dir[n - 1] != '/')
		path[n++] = '/';
	memcpy(path + n, safe, strlen(safe) + 1);
	return path;
no_memory:
	rama_err_set(e, RAMA_EMEMORY, "no memory");
	return NULL;
}

struct rama_emu_unit *rama_emu_emulation_unit(struct rama_emu_emulation *m, const char *name,
					      const char *path, int64_t size, uint64_t version,
					      struct rama_err *e)
{
	struct rama_emu_unit *u = rama_arena_alloc(&m->arena, sizeof(*u));
	struct rama_emu_file_book *f = rama_arena_alloc(&m->arena, sizeof(*f));

	if (u == NULL || f == NULL) {
		rama_err_set(e, RAMA_EMEMORY, "no memory");
		return NULL;
	}
	*f = (struct rama_emu_file_book){ .next = m->files, .name = name, .tally.flaws.first = -1 };
	m->files = f;
	*u = (struct rama_emu_unit){ .tally = &f->tally,
				     .name = name,
				     .path = path,
				     .size = size,
				     .opt = m->opt.opt,
				     .pattern = { .seed = m->opt.seed,
						  .unit = rama_emu_pattern_unit(name),
						  .version = version } };
	return u;
}

int rama_emu_emulation_stream(struct rama_emu_emulation *m, struct rama_emu_script *s,
			      struct rama_err *e)
{
	struct rama_emu_stream stream = rama_emu_script_stream(s);

	return rama_emu_run_stream(&stream, &m->opt, m->team, &m->books, e);
}

int rama_emu_emulation_aside(struct rama_emu_emulation *m, struct rama_emu_script *s,
			     struct rama_err *e)
{
	struct rama_emu_stream stream = rama_emu_script_stream(s);
	struct rama_emu_run_options opt = m->opt;
	struct rama_emu_books books = { 0 };
	int rc;

	opt.record = false;
	opt.rate = 0;
	opt.tick = NULL;
	for (size_t i = 0; i < s->n; i++)
		if (s->lines[i].step.unit != NULL)
			s->lines[i].step.unit->unbooked = true;
	rc = rama_emu_run_stream(&stream, &opt, m->team, &books, e);
	for (size_t i = 0; i < s->n; i++)
		if (s->lines[i].step.unit != NULL)
			s->lines[i].step.unit->unbooked = false;
	rama_emu_books_fini(&books);
	return rc;
}

int rama_emu_emulation_enter(struct rama_emu_emulation *m, bool leads, struct rama_err *e)
{
	int rc = leads ? rama_emu_own_enter(m->opt.own, true, e) : 0;

	if (rc == 0)
		rc = rama_emu_team_barrier(m->team, e);
	if (rc == 0 && !leads)
		rc = rama_emu_own_enter(m->opt.own, false, e);
	return rc;
}

/* ---- parameters ----------------------------------------------------------------------------- */

/* Who calls it as the paper does, under MPI, gets what the paper has. */
static const char *engine_name(const struct rama_emu_config *c, const struct rama_emu_team *t)
{
	const char *api = rama_emu_config_text(c, RAMA_EMU_P_io_api);

	if (!rama_emu_config_given(c, RAMA_EMU_P_engine) && api[0] == '\0' && t->group != NULL &&
	    rama_emu_config_given(c, RAMA_EMU_P_subtype))
		return "mpiio";
	if (rama_emu_config_given(c, RAMA_EMU_P_engine) || api[0] == '\0')
		return rama_emu_config_text(c, RAMA_EMU_P_engine);
	return strcmp(api, "mpiio") == 0 ? "mpiio" : "posix";
}

static int no_engine(const struct rama_emu_team *t, const char *name, struct rama_err *e)
{
	static const char *const of_mpi[] = { "mpiio", "hdf5", "pnetcdf" };

	for (size_t i = 0; i < sizeof(of_mpi) / sizeof(of_mpi[0]); i++)
		if (strcmp(name, of_mpi[i]) == 0)
			return rama_err_set(
				e, RAMA_EUSAGE,
				t->group == NULL
					? "engine %s needs MPI: start with mpirun"
					: "engine %s: iorama was built without it for this MPI",
				name);
	if (strncmp(name, "uring", strlen("uring")) == 0) /* else it would have been found */
		return rama_err_without(e, "io_uring (liburing)");
	return rama_err_set(e, RAMA_EUSAGE, "no engine is called %s", name);
}

/* Chunks and what packs them are of HDF5, which packs in parallel only what all write together. */
static int check_chunks(const struct rama_emu_emulation *m, struct rama_err *e)
{
	int64_t chunk = rama_emu_config_size(m->cfg, RAMA_EMU_P_chunk);
	int64_t level = rama_emu_config_size(m->cfg, RAMA_EMU_P_compress);

	if (chunk == 0 && level == 0)
		return 0;
	if (strcmp(m->opt.engine->name, "hdf5") != 0)
		return rama_err_set(e, RAMA_EUSAGE, "chunk, compress: only engine hdf5 knows them");
	if (chunk > UINT32_MAX)
		return rama_err_set(e, RAMA_EUSAGE, "chunk: less than 4 GiB");
	if (level > 9 || (level > 0 && chunk == 0))
		return rama_err_set(e, RAMA_EUSAGE, "compress: from 1 to 9, with --chunk SIZE");
	if (level > 0 && m->team->size > 1 && !m->opt.opt.collective)
		return rama_err_set(e, RAMA_EUSAGE,
				    "compress: HDF5 packs only what ranks write together: "
				    "mpiio_type=collective");
	return 0;
}

static int set_options(struct rama_emu_emulation *m, struct rama_err *e)
{
	const struct rama_emu_config *c = m->cfg;
	const char *name = engine_name(c, m->team),
		   *type = rama_emu_config_text(c, RAMA_EMU_P_mpiio_type);
	const char *compute = rama_emu_config_text(c, RAMA_EMU_P_compute);
	double time = rama_emu_config_number(c, RAMA_EMU_P_time);
	int64_t depth = rama_emu_config_size(c, RAMA_EMU_P_depth), transfer;

	m->opt.engine = rama_emu_engine_find(name);
	if (m->opt.engine == NULL)
		return no_engine(m->team, name, e);
	if (depth < 1 || depth > 4096)
		return rama_err_set(e, RAMA_EUSAGE, "depth: from 1 to 4096");
	m->opt.opt = (struct rama_emu_engine_options){
		.depth = (unsigned)depth,
		.vector = (unsigned)rama_emu_config_size(c, RAMA_EMU_P_vector),
		.collective = strcmp(type, "collective") == 0,
		.nonblocking = strcmp(type, "nonblocking") == 0,
		.hints = rama_emu_config_text(c, RAMA_EMU_P_hints),
		.chunk = rama_emu_config_size(c, RAMA_EMU_P_chunk),
		.compress = (unsigned)rama_emu_config_size(c, RAMA_EMU_P_compress),
		.size = -1,
	};
	m->opt.verify = rama_emu_config_flag(c, RAMA_EMU_P_verify);
	m->opt.no_fill = rama_emu_config_flag(c, RAMA_EMU_P_no_fill) ||
			 strcmp(rama_emu_config_text(c, RAMA_EMU_P_fill), "never") == 0;
	m->opt.fill_once =
		!m->opt.no_fill && strcmp(rama_emu_config_text(c, RAMA_EMU_P_fill), "once") == 0;
	m->opt.rate = (double)rama_emu_config_size(c, RAMA_EMU_P_rate);
	m->opt.cold = rama_emu_config_flag(c, RAMA_EMU_P_cold);
	m->opt.seed = (uint64_t)rama_emu_config_size(c, RAMA_EMU_P_seed);
	m->opt.timeout = rama_emu_config_number(c, RAMA_EMU_P_timeout);
	m->opt.spin = strcmp(compute, "spin") == 0;
	m->opt.speed = strcmp(compute, "none") == 0 || time <= 0 ? 0 : 1 / time;
	m->opt.record = rama_emu_config_text(c, RAMA_EMU_P_svg)[0] != '\0' ||
			rama_emu_config_flag(c, RAMA_EMU_P_profiler) ||
			rama_emu_config_given(c, RAMA_EMU_P_profile_out);
	transfer = rama_emu_config_size(c, RAMA_EMU_P_transfer_size);
	m->request = transfer > 0 ? transfer : rama_emu_config_size(c, RAMA_EMU_P_block_size);
	if (m->request < 1)
		m->request = 1; /* files of no bytes: any size will do */
	if (m->opt.verify && (m->opt.no_fill || m->opt.fill_once))
		return rama_err_set(e, RAMA_EUSAGE,
				    "--verify needs data that --no-fill and --fill "
				    "once do not make");
	if (strcmp(rama_emu_config_text(c, RAMA_EMU_P_type), "data") != 0)
		return rama_err_set(e, RAMA_EUSAGE, "type: only data");
	return check_chunks(m, e);
}

/* ---- the result ----------------------------------------------------------------------------- */

/* one rank's books as bytes: how many of each, tallies, spans, tallies and names of files */
struct packed {
	uint64_t tasks, spans, files;
};

static int pack(const struct rama_emu_emulation *m, struct rama_out *out)
{
	const struct rama_emu_books *b = &m->books;
	struct packed head = { .tasks = b->n_tasks, .spans = b->n_spans };

	for (const struct rama_emu_file_book *f = m->files; f != NULL; f = f->next)
		head.files += f->tally.last != 0;
	rama_out_init(out, NULL, NULL);
	rama_out_bytes(out, (const char *)&head, sizeof(head));
	rama_out_bytes(out, (const char *)&b->rank, sizeof(b->rank));
	rama_out_bytes(out, (const char *)&b->read, sizeof(b->read));
	rama_out_bytes(out, (const char *)&b->write, sizeof(b->write));
	rama_out_bytes(out, (const char *)b->task, b->n_tasks * sizeof(*b->task));
	rama_out_bytes(out, (const char *)b->spans, b->n_spans * sizeof(*b->spans));
	for (const struct rama_emu_file_book *f = m->files; f != NULL; f = f->next) {
		if (f->tally.last == 0)
			continue; /* was never used here */
		rama_out_bytes(out, (const char *)&f->tally, sizeof(f->tally));
		rama_out_bytes(out, f->name, strlen(f->name) + 1);
	}
	return out->error;
}

static int grow_result(struct rama_emu_result *r, uint64_t tasks, uint64_t spans)
{
	if (tasks > r->n_tasks) {
		struct rama_emu_tally *p = reallocarray(r->task, tasks, sizeof(*p));

		if (p == NULL)
			return RAMA_EMEMORY;
		for (uint64_t i = r->n_tasks; i < tasks; i++)
			p[i] = (struct rama_emu_tally){ .flaws.first = -1 };
		r->task = p;
		r->n_tasks = (uint32_t)tasks;
	}
	if (spans > 0) {
		struct rama_emu_span *p = reallocarray(r->spans, r->n_spans + spans, sizeof(*p));

		if (p == NULL)
			return RAMA_EMEMORY;
		r->spans = p;
	}
	return 0;
}

/* the file of that name, also of other ranks */
static struct rama_emu_tally *file_of(struct rama_emu_result *r, const char *name)
{
	bool fresh = false;
	uint64_t *at = rama_map_put(&r->by_name, rama_emu_pattern_unit(name), &fresh);

	if (at != NULL && fresh) {
		if (!RAMA_GROW(r->file, r->room_files, r->n_files + 1))
			return NULL;
		*at = r->n_files;
		r->file[r->n_files] = (struct rama_emu_file_book){ .tally.flaws.first = -1 };
		r->file[r->n_files].name = rama_arena_text(&r->arena, name, strlen(name));
		if (r->file[r->n_files++].name == NULL)
			return NULL;
	}
	return at != NULL ? &r->file[*at].tally : NULL;
}

static int unpack_files(struct rama_emu_result *r, uint64_t files, const char *bytes, size_t n)
{
	struct rama_emu_tally t, *to;

	for (; files > 0; files--) {
		const char *end =
			n > sizeof(t) ? memchr(bytes + sizeof(t), '\0', n - sizeof(t)) : NULL;

		if (end == NULL)
			return RAMA_ECORRUPT;
		memcpy(&t, bytes, sizeof(t));
		to = file_of(r, bytes + sizeof(t));
		if (to == NULL)
			return RAMA_EMEMORY;
		rama_emu_tally_add(to, &t);
		n -= (size_t)(end + 1 - bytes);
		bytes = end + 1;
	}
	return n == 0 ? 0 : RAMA_ECORRUPT;
}

static int unpack(struct rama_emu_result *r, uint32_t rank, const char *bytes, size_t n)
{
	struct packed head;
	struct rama_emu_tally t;
	struct rama_emu_latency l;
	size_t fixed;

	if (n < sizeof(head) + sizeof(t) + 2 * sizeof(l))
		return RAMA_ECORRUPT;
	memcpy(&head, bytes, sizeof(head));
	fixed = sizeof(head) + sizeof(t) * (head.tasks + 1) + 2 * sizeof(l) +
		head.spans * sizeof(*r->spans);
	if (n < fixed)
		return RAMA_ECORRUPT;
	if (grow_result(r, head.tasks, head.spans) != 0)
		return RAMA_EMEMORY;
	bytes += sizeof(head);
	memcpy(&r->rank[rank], bytes, sizeof(t));
	rama_emu_tally_add(&r->total, &r->rank[rank]);
	bytes += sizeof(t);
	memcpy(&l, bytes, sizeof(l));
	rama_emu_latency_join(&r->read, &l);
	memcpy(&l, bytes + sizeof(l), sizeof(l));
	rama_emu_latency_join(&r->write, &l);
	bytes += 2 * sizeof(l);
	for (uint64_t i = 0; i < head.tasks; i++, bytes += sizeof(t)) {
		memcpy(&t, bytes, sizeof(t));
		rama_emu_tally_add(&r->task[i], &t);
	}
	if (head.spans > 0)
		memcpy(r->spans + r->n_spans, bytes, head.spans * sizeof(*r->spans));
	r->n_spans += head.spans;
	return unpack_files(r, head.files, bytes + head.spans * sizeof(*r->spans), n - fixed);
}

static int by_start(const void *a, const void *b)
{
	const struct rama_emu_span *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* collects the books of all ranks; on rank 0 the result, elsewhere an empty one */
static int result_gather(struct rama_emu_result *r, struct rama_emu_emulation *m,
			 struct rama_err *e)
{
	struct rama_out mine;
	char *all = NULL;
	size_t *lens = NULL, at = 0;
	int rc = pack(m, &mine);

	*r = (struct rama_emu_result){ .total.flaws.first = -1 };
	if (rc == 0)
		rc = rama_emu_team_gather(m->team, mine.buf, mine.used, &all, &lens, e);
	rama_out_fini(&mine);
	if (rc != 0 || m->team->rank != 0)
		return rc;
	r->n_ranks = (uint32_t)m->team->size;
	r->rank = calloc(r->n_ranks, sizeof(*r->rank));
	if (r->rank == NULL)
		rc = RAMA_EMEMORY;
	for (uint32_t i = 0; rc == 0 && i < r->n_ranks; at += lens[i++])
		rc = unpack(r, i, all + at, lens[i]);
	if (rc == 0 && r->n_spans > 0)
		qsort(r->spans, r->n_spans, sizeof(*r->spans), by_start);
	r->seconds = r->total.last - r->total.first;
	free(all);
	free(lens);
	return rc == 0 ? 0 : rama_err_set(e, rc, "the books of the ranks: %s", rama_err_text(rc));
}

static void result_fini(struct rama_emu_result *r)
{
	free(r->rank);
	free(r->task);
	free(r->spans);
	free(r->file);
	rama_map_fini(&r->by_name);
	rama_arena_fini(&r->arena);
	*r = (struct rama_emu_result){ 0 };
}

/* ---- the run -------------------------------------------------------------------------------- */

static int check_flaws(const struct rama_emu_result *r, struct rama_err *e)
{
	uint64_t bad = 0;

	for (int i = 1; i < RAMA_EMU_FLAWS; i++)
		bad += r->total.flaws.bad[i];
	if (bad == 0)
		return 0;
	return rama_err_set(e, RAMA_ECORRUPT,
			    "%llu of %llu bytes that were read are wrong, the first at %lld: %s",
			    (unsigned long long)bad, (unsigned long long)r->total.bytes_read,
			    (long long)r->total.flaws.first,
			    rama_emu_flaw_name[r->total.flaws.first_kind]);
}

/* sample: all that is asked for */
static int report(struct rama_emu_emulation *m, struct rama_out *out,
		  struct rama_emu_repeat *sample, struct rama_err *e)
{
	struct rama_emu_result r;
	int rc = result_gather(&r, m, e);

	m->together = rc == 0;
	if (rc == 0 && m->team->rank == 0) {
		if (m->samples != NULL)
			rama_emu_result_repeat(&r, &m->samples->sample[m->samples->n++]);
		if (sample != NULL)
			rama_emu_result_repeat(&r, sample);
		else if (rama_emu_config_flag(m->cfg, RAMA_EMU_P_json))
			rama_emu_result_json(&r, m, out);
		else
			rama_emu_result_text(&r, m, out);
		if (sample == NULL)
			rc = rama_emu_result_save(&r, m, e);
		if (rc == 0)
			rc = check_flaws(&r, e);
	}
	result_fini(&r);
	return rc;
}

/* how far rank 0 is with what it has to move, which stands for all: for modes that do not tell
 * it themselves */
static void tick(void *ctx)
{
	const struct rama_emu_emulation *m = ctx;
	const struct rama_emu_tally *t = &m->books.rank;
	double moved = (double)(t->bytes_read + t->bytes_written), planned = (double)m->planned;
	double took = rama_now() - t->first;
	char line[200], a[RAMA_HUMAN], b[RAMA_HUMAN], c[RAMA_HUMAN], d[RAMA_HUMAN];

	if (planned <= 0 || moved <= 0 || took <= 0)
		return;
	snprintf(line, sizeof(line), "%s of rank 0's %s; read %s, written %s; about %s left",
		 rama_human_share((char[RAMA_HUMAN]){ 0 }, fmin(moved / planned, 1)),
		 rama_human_bytes(a, planned), rama_human_rate(b, (double)t->bytes_read / took),
		 rama_human_rate(c, (double)t->bytes_written / took),
		 rama_human_duration(d, fmax(took * (planned - moved) / moved, 0)));
	m->progress(m->progress_ctx, line);
}

static int run(const struct rama_emu_config *cfg, struct rama_emu_team *team, struct rama_out *out,
	       struct rama_emu_repeat *sample, struct rama_emu_repeats *samples, struct rama_err *e)
{
	struct rama_emu_emulation m = { .cfg = cfg, .team = team, .out = out, .samples = samples };
	const struct rama_emu_mode *mode = rama_emu_mode_find(cfg->mode);
	int rc;

	m.books.rank.flaws.first = -1;
	rama_out_init(&m.notes, NULL, NULL);
	rama_out_init(&m.remarks, NULL, NULL);
	if (sample == NULL && team->rank == 0 && cfg->progress != NULL) {
		m.progress = cfg->progress;
		m.progress_ctx = cfg->progress_ctx;
		m.opt.tick = tick;
		m.opt.tick_ctx = &m;
	}
	rc = mode != NULL ? set_options(&m, e)
			  : rama_err_set(e, RAMA_EUSAGE, "no mode is called %s", cfg->mode);
	if (rc == 0 && sample == NULL && team->rank == 0)
		rc = rama_emu_result_check(&m, e);
	if (rc == 0)
		rc = rama_emu_own_new(&m.opt.own, team, e);
	if (rc == 0 && rama_emu_config_flag(cfg, RAMA_EMU_P_overwrite))
		rama_emu_own_overwrite(m.opt.own);
	if (rc == 0 && mode != NULL)
		rc = mode->run(&m, e);
	if (rc == 0 && !m.told) {
		rc = report(&m, out, sample, e);
	} else if (rc != 0 && sample == NULL) {
		rama_emu_team_abort(team, e);
		rc = rama_emu_team_reason(team, e);
	}
	rama_emu_own_free(m.opt.own, m.together);
	if (m.graph != NULL)
		rama_emu_graph_fini(m.graph);
	free(m.graph);
	rama_emu_books_fini(&m.books);
	rama_out_fini(&m.notes);
	rama_out_fini(&m.remarks);
	rama_arena_fini(&m.arena);
	return rc;
}

int rama_emu_part_plan(const struct rama_emu_config *cfg, struct rama_emu_team *team,
		       uint64_t *plan, struct rama_err *e)
{
	struct rama_emu_emulation m = { .cfg = cfg, .team = team, .only_plan = true };
	const struct rama_emu_mode *mode = rama_emu_mode_find(cfg->mode);
	int rc = 0;

	*plan = 0;
	rama_out_init(&m.notes, NULL, NULL);
	rama_out_init(&m.remarks, NULL, NULL);
	if (mode != NULL && mode->tells_plan) {
		rc = set_options(&m, e);
		if (rc == 0)
			rc = mode->run(&m, e);
		*plan = m.plan;
	}
	rama_out_fini(&m.notes);
	rama_out_fini(&m.remarks);
	rama_arena_fini(&m.arena);
	return rc;
}

int rama_emu_part(const struct rama_emu_config *cfg, struct rama_emu_team *team,
		  struct rama_emu_repeat *sample, struct rama_err *e)
{
	return run(cfg, team, NULL, sample, NULL, e);
}

#define REPEATS_MOST 10000

/* All but the last run leave nothing but their sample. */
static int run_again(const struct rama_emu_config *cfg, struct rama_emu_team *team,
		     struct rama_out *out, struct rama_err *e)
{
	int64_t runs = rama_emu_config_size(cfg, RAMA_EMU_P_repeat);
	struct rama_emu_repeats all = { 0 };
	int rc = 0;

	if (runs < 1 || runs > REPEATS_MOST)
		rc = rama_err_set(e, RAMA_EUSAGE, "repeat: from 1 to %d", REPEATS_MOST);
	else
		all.sample = calloc((size_t)runs, sizeof(*all.sample));
	if (rc == 0 && all.sample == NULL)
		rc = rama_err_set(e, RAMA_EMEMORY, "no memory");
	for (; rc == 0 && all.n + 1 < runs; all.n++) {
		rc = rama_emu_part(cfg, team, &all.sample[all.n], e);
		if (rc == 0)
			rc = rama_emu_team_barrier(team, e);
	}
	if (rc != 0 && all.sample != NULL) {
		rama_emu_team_abort(team, e);
		rc = rama_emu_team_reason(team, e);
	}
	if (rc == 0)
		rc = run(cfg, team, out, NULL, runs > 1 ? &all : NULL, e);
	free(all.sample);
	return rc;
}

/* ---- from a program ------------------------------------------------------------------------- */

static int to_file(const char *path, const struct rama_out *text, struct rama_err *e)
{
	struct rama_newfile f = { .fd = -1 };
	int rc = rama_newfile_open(&f, path, e);

	if (rc == 0)
		rc = rama_newfile_write(&f, 0, text->buf, text->used, e);
	if (rc == 0)
		rc = rama_newfile_commit(&f, e);
	rama_newfile_abort(&f);
	return rc != 0 ? rama_err_prefix(e, "%s", path) : 0;
}

/* ---- how far it is, on a terminal ----------------------------------------------------------- */

struct line {
	double began, delay;
	bool drawn;
};

static void draw(void *ctx, const char *text)
{
	struct line *l = ctx;

	if (rama_now() - l->began < l->delay)
		return;
	l->drawn = true;
	dprintf(STDERR_FILENO, "\r\033[K%s", text);
}

static void watch(struct rama_emu_config *cfg, const struct rama_emu_team *team, struct line *l)
{
	const char *delay = getenv(rama_tab_settings[RAMA_TAB_SET_PROGRESS].variable);

	*l = (struct line){ .began = rama_now() };
	l->delay = strtod(delay != NULL ? delay : rama_tab_settings[RAMA_TAB_SET_PROGRESS].preset,
			  NULL);
	if (team->rank != 0 || rama_emu_config_flag(cfg, RAMA_EMU_P_quiet) ||
	    !isatty(STDERR_FILENO))
		return;
	cfg->progress = draw;
	cfg->progress_ctx = l;
}

int rama_emu_session_run(struct rama_emu_config *cfg, struct rama_emu_team *team,
			 struct rama_err *e)
{
	const char *path = rama_emu_config_text(cfg, RAMA_EMU_P_output);
	struct line line;
	struct rama_err lost = { 0 };
	struct rama_out out;
	int rc, shown = 0;

	rama_out_init(&out, NULL, NULL);
	watch(cfg, team, &line);
	rc = run_again(cfg, team, &out, e);
	if (line.drawn)
		dprintf(STDERR_FILENO, "\r\033[K");
	/* also after an error: what there is of a result says more than none */
	if (team->rank == 0 && out.used > 0 && out.error == 0)
		shown = path[0] != '\0' && path[0] != '-'
				? to_file(path, &out, &lost)
				: rama_file_to_stdout(NULL, out.buf, out.used);
	if (rc == 0 && out.error != 0)
		rc = rama_err_set(e, out.error, "the result: %s", rama_err_text(out.error));
	if (rc == 0 && shown != 0)
		rc = rama_err_set(e, shown, "%s",
				  lost.code != 0 ? lost.text : "standard output cannot be written");
	rama_out_fini(&out);
	return rc;
}
