/* SPDX-License-Identifier: BSD-3-Clause */
/* view.c: a log is read module by module, those that others rest upon first. */
#include "job/view.h"

#include <stdlib.h>
#include <string.h>

#include "job/work.h"

/* ---- sizes ---------------------------------------------------------------------------------- */
/* How many accesses of which size, and about how many bytes they moved. */

/* upper ends of the classes, which belong to them */
static const double ends[RAMA_JOB_SIZE_BINS] = { 100,	     1024,	10240,	  102400,
						 1048576,    4194304,	10485760, 104857600,
						 1073741824, 8589934592 };

static const struct {
	uint8_t layer;
	uint16_t first[2]; /* words of the classes: 0 writes, 1 reads */
} where[] = {
	{ RAMA_JOB_LAYER_POSIX,
	  { RAMA_TAB_POSIX_SIZE_WRITE_0_100, RAMA_TAB_POSIX_SIZE_READ_0_100 } },
	{ RAMA_JOB_LAYER_MPIIO,
	  { RAMA_TAB_MPIIO_SIZE_WRITE_AGG_0_100, RAMA_TAB_MPIIO_SIZE_READ_AGG_0_100 } },
	{ RAMA_JOB_LAYER_H5D,
	  { RAMA_TAB_H5D_SIZE_WRITE_AGG_0_100, RAMA_TAB_H5D_SIZE_READ_AGG_0_100 } },
	{ RAMA_JOB_LAYER_PNETCDF_VAR,
	  { RAMA_TAB_PNETCDF_VAR_SIZE_WRITE_AGG_0_100, RAMA_TAB_PNETCDF_VAR_SIZE_READ_AGG_0_100 } },
	{ RAMA_JOB_LAYER_DFS, { RAMA_TAB_DFS_SIZE_WRITE_0_100, RAMA_TAB_DFS_SIZE_READ_0_100 } },
	{ RAMA_JOB_LAYER_DAOS, { RAMA_TAB_DAOS_SIZE_WRITE_0_100, RAMA_TAB_DAOS_SIZE_READ_0_100 } },
};

unsigned rama_job_size_class(int64_t length)
{
	unsigned i = 0;

	while (i < RAMA_JOB_SIZE_BINS - 1 && (double)length > ends[i])
		i++;
	return i;
}

/* mean size of the accesses of a class: from the frequent sizes in it, else the middle */
static double mean_size(const struct rama_core_top *top, const union rama_core_word *w,
			unsigned class)
{
	double low = class > 0 ? ends[class - 1] : 0, n = 0, sum = 0;

	for (unsigned i = 0; top->width > 0 && i < 4; i++) {
		double size = (double)w[top->value[i]].i, count = (double)w[top->count[i]].i;

		if (count > 0 && size > low && size <= ends[class]) {
			n += count;
			sum += count * size;
		}
	}
	return n > 0 ? sum / n : (low + ends[class]) / 2;
}

/* Guesses are made to add up to what was moved, each kept within its class as far as that is
 * possible. */
static void fit(const double count[RAMA_JOB_SIZE_BINS], double bytes[RAMA_JOB_SIZE_BINS],
		double total)
{
	for (unsigned round = 0; round < 8; round++) {
		double sum = 0, room = 0, missing;

		for (unsigned i = 0; i < RAMA_JOB_SIZE_BINS; i++)
			sum += bytes[i];
		missing = total - sum;
		for (unsigned i = 0; i < RAMA_JOB_SIZE_BINS; i++)
			room += missing > 0 ? count[i] * ends[i] - bytes[i]
					    : bytes[i] - count[i] * (i > 0 ? ends[i - 1] : 0);
		if (room <= 0 || missing == 0)
			return;
		missing = missing > room ? room : missing < -room ? -room : missing;
		for (unsigned i = 0; i < RAMA_JOB_SIZE_BINS; i++) {
			double own = missing > 0 ? count[i] * ends[i] - bytes[i]
						 : bytes[i] - count[i] * (i > 0 ? ends[i - 1] : 0);

			bytes[i] += missing * own / room;
		}
	}
}

static void add_record(struct rama_job_view_layer *l, const struct rama_core_plan *p,
		       unsigned first, unsigned kind, const union rama_core_word *w)
{
	double count[RAMA_JOB_SIZE_BINS], bytes[RAMA_JOB_SIZE_BINS];
	int64_t total = w[kind == 1 ? p->bytes_read : p->bytes_written].i;
	double any = 0;

	for (unsigned i = 0; i < RAMA_JOB_SIZE_BINS; i++) {
		int64_t n = w[first + i].i;

		count[i] = n > 0 ? (double)n : 0;
		any += count[i];
		if (n > 0)
			l->size_count[kind][i] += (uint64_t)n;
		bytes[i] = n > 0 ? count[i] * mean_size(&p->access, w, i) : 0;
	}
	if (any == 0 || total <= 0)
		return;
	fit(count, bytes, (double)total);
	for (unsigned i = 0; i < RAMA_JOB_SIZE_BINS; i++)
		l->size_bytes[kind][i] += bytes[i];
}

static void sizes_finish(struct rama_job_view *v)
{
	for (unsigned i = 0; i < sizeof(where) / sizeof(where[0]); i++) {
		struct rama_job_view_layer *l = &v->layer[where[i].layer];
		const struct rama_core_plan *p = &v->work->plan[where[i].layer];

		l->sizes = l->used;
		for (size_t f = 0; l->used && f < v->n_files; f++) {
			const union rama_core_word *w = v->files[f].rec[where[i].layer];

			if (w == NULL || v->files[f].pseudo)
				continue;
			add_record(l, p, where[i].first[0], 0, w);
			add_record(l, p, where[i].first[1], 1, w);
		}
	}
}

/* ---- the view ------------------------------------------------------------------------------- */

void rama_job_view_init(struct rama_job_view *v, const struct rama_job_view_options *opt)
{
	*v = (struct rama_job_view){ .active_ranks = -1, .io_rank = -1 };
	if (opt != NULL)
		v->opt = *opt;
}

static void free_work(struct rama_job_view_work *k)
{
	if (k == NULL)
		return;
	for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++) {
		rama_map_fini(&k->parts_by_id[l]);
		free(k->rank_io[l]);
	}
	rama_map_fini(&k->sites_by_name);
	rama_map_fini(&k->hosts);
	rama_map_fini(&k->programs);
	rama_job_trace_free(k->trace);
	rama_arena_fini(&k->cells);
	rama_job_heat_maps_free(k->heat);
	free(k->place);
	free(k->shared);
	free(k->traced);
	free(k->moved);
	free(k);
}

void rama_job_view_fini(struct rama_job_view *v)
{
	free_work(v->work);
	rama_job_view_named_free(v);
	rama_job_view_sites_free(v);
	rama_map_fini(&v->by_id);
	free(v->logs);
	free(v->log_programs);
	free(v->hosts);
	free(v->programs);
	free(v->files);
	free(v->parts);
	free(v->groups);
	free(v->ranks);
	free(v->modules);
	free(v->mounts);
	free(v->osts);
	free(v->every);
	rama_arena_fini(&v->arena);
	*v = (struct rama_job_view){ 0 };
}

static int start_work(struct rama_job_view *v)
{
	struct rama_job_view_work *k = v->work;

	if (k != NULL)
		return 0;
	k = v->work = calloc(1, sizeof(*k));
	if (k == NULL)
		return RAMA_EMEMORY;
	for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++) {
		const struct rama_tab_module *mod =
			rama_tab_module_get(rama_job_layer_info[l].module);

		rama_core_plan_init(&k->plan[l], mod);
		rama_job_care_init(&k->care[l], mod);
		if (mod->record->words > RAMA_JOB_RECORD_WORDS)
			return RAMA_ELIMIT;
	}
	return 0;
}

static int failed(struct rama_job_view *v, struct rama_err *e, int rc)
{
	if (v->work != NULL && v->work->log != NULL && v->work->log->err.code == rc)
		return rama_err_set(e, rc, "%s", v->work->log->err.text);
	return rama_err_set(e, rc, "%s", rama_err_text(rc));
}

/* ---- when and which ranks ------------------------------------------------------------------- */

static struct rama_job_log_place place_of(const struct rama_log *log)
{
	const struct rama_log_job *j = &log->job;
	struct rama_job_log_place p = { .jobid = j->jobid,
					.start_sec = j->start_sec,
					.end_sec = j->end_sec,
					.nprocs = j->nprocs > 0 ? j->nprocs : 1 };

	p.start = (double)j->start_sec + (double)j->start_nsec * 1e-9;
	p.run_time = j->run_time > 0 && j->run_time < 1e12 ? j->run_time : 0;
	p.end = p.start + p.run_time;
	return p;
}

int rama_job_view_expect(struct rama_job_view *v, const struct rama_log *log, struct rama_err *e)
{
	struct rama_job_log_place p = place_of(log);
	struct rama_job_view_work *k;
	int rc = start_work(v);

	if (rc != 0)
		return failed(v, e, rc);
	k = v->work;
	if (p.nprocs > RAMA_JOB_VIEW_RANKS)
		return rama_err_set(e, RAMA_ELIMIT, "%lld processes", (long long)p.nprocs);
	if (k->planned)
		return rama_err_set(e, RAMA_EUSAGE, "a log came late");
	if (!RAMA_GROW(k->place, k->place_room, k->n_places + 1))
		return failed(v, e, RAMA_EMEMORY);
	k->place[k->n_places++] = p;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct rama_job_log_place *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

/* Programs that ran at the same time are different ranks; one that began when all others had
 * ended is a later step of the job, whose ranks go on. */
static int plan(struct rama_job_view *v, struct rama_err *e)
{
	struct rama_job_view_work *k = v->work;
	double start, end;
	int64_t used = 0;

	qsort(k->place, k->n_places, sizeof(*k->place), by_start);
	start = end = k->place[0].start;
	v->start_sec = k->place[0].start_sec;
	for (size_t i = 0; i < k->n_places; i++) {
		struct rama_job_log_place *p = &k->place[i];

		if (p->start >= end)
			used = 0;
		p->first = used;
		used += p->nprocs;
		if (used > RAMA_JOB_VIEW_RANKS)
			return rama_err_set(e, RAMA_ELIMIT, "%lld processes", (long long)used);
		v->nprocs = used > v->nprocs ? used : v->nprocs;
		end = p->end > end ? p->end : end;
		v->end_sec = i == 0 || p->end_sec > v->end_sec ? p->end_sec : v->end_sec;
	}
	k->start = start;
	v->run_time = end - start < 1e12 ? end - start : 0;
	if (k->n_places == 1) /* not through large numbers */
		v->run_time = k->place[0].run_time;
	k->planned = true;
	return rama_job_view_ranks_init(v) == 0 ? 0 : failed(v, e, RAMA_EMEMORY);
}

static int begin(struct rama_job_view *v, struct rama_log *log, struct rama_err *e)
{
	struct rama_job_view_work *k = v->work;
	struct rama_job_log_place p = place_of(log), *own = NULL;
	int rc;

	if (k == NULL || k->n_places == 0) {
		rc = rama_job_view_expect(v, log, e);
		if (rc != 0)
			return rc;
		k = v->work;
	}
	rc = k->planned ? 0 : plan(v, e);
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < k->n_places && own == NULL; i++) {
		struct rama_job_log_place *x = &k->place[i];

		if (!x->used && x->jobid == p.jobid && x->start == p.start && x->end == p.end &&
		    x->nprocs == p.nprocs)
			own = x;
	}
	if (own == NULL)
		return rama_err_set(e, RAMA_EUSAGE, "a log was not expected");
	own->used = true;
	k->log = log;
	k->first = own->first;
	k->n = own->nprocs;
	k->shift = k->n_places > 1 ? own->start - k->start : 0;
	k->dfs = false;
	k->last_dir = NULL;
	return 0;
}

/* ---- about the job -------------------------------------------------------------------------- */

static const char *program(struct rama_job_view *v, const char *exe)
{
	size_t from = strspn(exe, " "), n = strcspn(exe + from, " "), slash = n;

	while (slash > 0 && exe[from + slash - 1] != '/')
		slash--;
	return n > slash ? rama_arena_text(&v->arena, exe + from + slash, n - slash) : "job";
}

static const char *copied(struct rama_job_view *v, const char *text)
{
	return rama_arena_text(&v->arena, text, strlen(text));
}

static int about(struct rama_job_view *v, const char *name)
{
	const struct rama_log *log = v->work->log;
	const char *exe = log->job.exe != NULL ? log->job.exe : "";

	if (!RAMA_GROW(v->logs, v->work->logs_room, v->n_logs + 1) ||
	    !RAMA_GROW(v->log_programs, v->work->programs_of_room, v->n_logs + 1))
		return RAMA_EMEMORY;
	v->logs[v->n_logs] = copied(v, name);
	v->log_programs[v->n_logs] = program(v, exe);
	if (v->logs[v->n_logs] == NULL || v->log_programs[v->n_logs] == NULL)
		return RAMA_EMEMORY;
	v->partial |= log->partial;
	rama_log_batch_join(v->batch, log->job.metadata);
	if (v->n_logs++ > 0)
		return 0;
	v->jobid = log->job.jobid;
	v->uid = log->job.uid;
	v->exe = copied(v, exe);
	v->name = program(v, exe);
	v->log_version = copied(v, log->version);
	v->metadata = copied(v, log->job.metadata);
	return v->exe != NULL && v->name != NULL && v->log_version != NULL && v->metadata != NULL
		       ? 0
		       : RAMA_EMEMORY;
}

static void progress(struct rama_job_view *v, double more)
{
	struct rama_job_view_work *k = v->work;

	k->done += more;
	if (v->opt.progress != NULL && k->steps > 0)
		v->opt.progress(v->opt.ctx, k->done < k->steps ? k->done / k->steps : 1);
}

void rama_job_view_progress(struct rama_job_view *v, unsigned module, uint64_t at)
{
	struct rama_job_view_work *k = v->work;
	uint64_t from = k->log->part[module].off;
	double done = k->done + (at > from ? (double)(at - from) : 0);

	if (v->opt.progress != NULL && k->steps > 0)
		v->opt.progress(v->opt.ctx, done < k->steps ? done / k->steps : 1);
}

/* ---- modules -------------------------------------------------------------------------------- */

/* records of modules that tell nothing else here */
static int count_records(struct rama_job_view *v, unsigned module)
{
	struct rama_log_cursor c;
	struct rama_core_record *r;
	int rc = rama_log_cursor_open(&c, v->work->log, module);

	while (rc > 0 && (rc = rama_log_cursor_next(&c, &r)) > 0)
		v->work->records[module]++;
	rama_log_cursor_close(&c);
	return rc;
}

static bool is_layer(unsigned module)
{
	for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++)
		if (rama_job_layer_info[l].module == module)
			return true;
	return false;
}

static int read_layer(struct rama_job_view *v, enum rama_job_layer layer)
{
	struct rama_job_view_work *k = v->work;
	unsigned module = rama_job_layer_info[layer].module;
	uint64_t before = v->layer[layer].records;
	int rc;

	if (k->log->part[module].len == 0)
		return 0;
	rc = rama_job_view_rows(v, layer);
	k->records[module] += v->layer[layer].records - before;
	progress(v, (double)k->log->part[module].len);
	return rc;
}

/* files before their parts, and what is above before what is beneath it */
static int read_layers(struct rama_job_view *v)
{
	int rc = 0;

	for (unsigned turn = 0; turn < RAMA_JOB_TURNS; turn++)
		for (unsigned l = 0; l < RAMA_JOB_LAYERS && rc == 0; l++)
			if (rama_job_layer_info[l].turn == turn)
				rc = read_layer(v, (enum rama_job_layer)l);
	return rc;
}

static int read_others(struct rama_job_view *v)
{
	int rc = rama_job_view_processes(v);

	if (rc == 0)
		rc = rama_job_view_stripes(v);
	if (rc == 0)
		rc = rama_job_view_heat_maps(v);
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN; id++)
		if (v->work->log->part[id].len > 0 && rama_tab_module_get(id) != NULL &&
		    (rama_tab_module_get(id)->flags & RAMA_TAB_TRACE))
			v->traced = true;
	if (rc == 0 && v->opt.trace)
		rc = rama_job_view_trace(v);
	if (rc == 0 && v->opt.trace)
		rc = rama_job_view_calls(v);
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN && rc == 0; id++) {
		const struct rama_tab_module *mod = rama_tab_module_get(id);

		if (mod != NULL && v->work->log->part[id].len > 0 && !is_layer(id) &&
		    !(mod->flags & RAMA_TAB_TRACE) && id != RAMA_TAB_MOD_PROCESS &&
		    id != RAMA_TAB_MOD_LUSTRE && id != RAMA_TAB_MOD_HEATMAP)
			rc = id == RAMA_TAB_MOD_CALLS	? rama_job_view_path(v)
			     : id == RAMA_TAB_MOD_PHASE ? rama_job_view_named_read(v)
			     : id == RAMA_TAB_MOD_SITES ? rama_job_view_sites_read(v)
							: count_records(v, id);
	}
	return rc;
}

static int list_modules(struct rama_job_view *v)
{
	struct rama_job_view_work *k = v->work;

	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN; id++) {
		const struct rama_tab_module *mod = rama_tab_module_get(id);
		bool partial = v->partial >> id & 1;
		size_t i = 0;

		if (mod == NULL || (k->log->part[id].len == 0 && !(id > 0 && partial)))
			continue;
		while (i < v->n_modules && v->modules[i].id != id)
			i++;
		if (i == v->n_modules) {
			if (!RAMA_GROW(v->modules, k->modules_room, i + 1))
				return RAMA_EMEMORY;
			v->n_modules++;
		}
		v->modules[i] = (struct rama_job_view_module){ .id = (uint8_t)id,
							       .name = mod->name,
							       .version = k->log->part[id].version,
							       .records = k->records[id],
							       .partial = partial };
	}
	return 0;
}

static void count_steps(struct rama_job_view *v)
{
	struct rama_job_view_work *k = v->work;

	k->steps = k->done = 0;
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN; id++)
		k->steps += (double)k->log->part[id].len;
}

int rama_job_view_add_log(struct rama_job_view *v, struct rama_log *log, const char *name,
			  struct rama_err *e)
{
	int rc = begin(v, log, e);

	if (rc != 0)
		return rc;
	count_steps(v);
	rc = about(v, name);
	if (rc == 0)
		rc = read_layers(v);
	if (rc == 0)
		rc = read_others(v);
	if (rc == 0)
		rc = rama_job_view_ranks_settle(v);
	if (rc == 0)
		rc = rama_job_view_missing(v);
	if (rc == 0)
		rc = list_modules(v);
	v->problems += log->problems + (rama_log_annex_check(log, NULL) != 0);
	if (rc != 0)
		return failed(v, e, rc);
	progress(v, v->work->steps);
	v->work->log = NULL;
	return 0;
}

/* ---- the end -------------------------------------------------------------------------------- */

static void mounts_finish(struct rama_job_view *v)
{
	for (size_t i = 0; i < v->n_files; i++) {
		const struct rama_job_view_file *f = &v->files[i];

		if (f->mount < 0 || f->pseudo || f->unopened)
			continue;
		v->mounts[f->mount].files += f->count;
		rama_job_io_add(&v->mounts[f->mount].io, &f->disk);
	}
}

/* Several programs of a batch job are called by its name, not by that of the first of them. */
static int name_job(struct rama_job_view *v)
{
	size_t n, other = 1;
	const char *name =
		rama_log_meta_get(v->batch, rama_log_batch_keys[RAMA_LOG_BATCH_NAME], &n);

	while (other < v->n_logs && strcmp(v->log_programs[other], v->log_programs[0]) == 0)
		other++;
	if (other >= v->n_logs || name == NULL || n == 0)
		return 0;
	v->name = rama_arena_text(&v->arena, name, n);
	return v->name != NULL ? 0 : RAMA_EMEMORY;
}

int rama_job_view_finish(struct rama_job_view *v, struct rama_err *e)
{
	int rc = start_work(v);

	if (rc == 0 && !v->work->planned)
		return rama_err_set(e, RAMA_EUSAGE, "no log was added");
	rama_log_batch_done(v->batch);
	if (name_job(v) != 0)
		return rama_err_no_memory(e);
	if (rc == 0)
		rc = rama_job_view_files_finish(v);
	if (rc == 0)
		rc = rama_job_view_ranks_finish(v);
	if (rc == 0)
		rc = rama_job_view_groups_finish(v);
	if (rc == 0)
		rc = rama_job_view_osts_finish(v);
	if (rc == 0)
		rc = rama_job_view_times_finish(v);
	if (rc == 0)
		rc = rama_job_view_named_finish(v);
	if (rc == 0)
		rc = rama_job_view_sites_finish(v);
	if (rc == 0)
		rc = rama_job_conflicts_finish(v);
	if (rc != 0)
		return failed(v, e, rc);
	mounts_finish(v);
	rama_job_view_nodes_finish(v);
	rama_job_view_programs_finish(v);
	sizes_finish(v);
	rama_job_view_trace_sizes(v);
	v->complete = v->partial == 0 && v->problems == 0 && v->unfinished == 0 &&
		      v->running == 0 && v->lost_events == 0 && v->missed_calls == 0 &&
		      v->uring.missed == 0 && v->folded_files == 0 && v->missing_ranks == NULL &&
		      v->unplaced == 0 && v->unplaced_calls == 0;
	free_work(v->work);
	v->work = NULL;
	return 0;
}
