/* SPDX-License-Identifier: BSD-3-Clause */
#include "made.h"

#include <math.h>

#include "core/recordid.h"
#include "logfile/writer.h"

/* ---- making ---------------------------------------------------------------------------------- */

struct made *made_new(int64_t nprocs, double start, double run_time)
{
	struct made *m = calloc(1, sizeof(*m));
	double end = start + run_time;

	assert_non_null(m);
	m->job = (struct rama_log_job){ .uid = 1000,
					.jobid = 42,
					.nprocs = nprocs,
					.start_sec = MADE_START + (int64_t)start,
					.end_sec = MADE_START + (int64_t)end,
					.run_time = run_time,
					.exe = "/opt/app/bin/solver -n 4" };
	m->job.start_nsec = (int64_t)llround((start - floor(start)) * 1e9);
	m->job.end_nsec = (int64_t)llround((end - floor(end)) * 1e9);
	return m;
}

void made_free(struct made *m)
{
	for (size_t i = 0; i < m->n_rows; i++) {
		free(m->row[i]->array[0]);
		free(m->row[i]->array[1]);
		free(m->row[i]->seg);
		free(m->row[i]);
	}
	if (m->closed)
		rama_log_close(&m->log);
	free(m->bytes);
	free(m);
}

uint64_t made_name(struct made *m, const char *name)
{
	assert_true(m->n_names < LENGTH(m->names) && strlen(name) < sizeof(m->names[0]));
	memcpy(m->names[m->n_names++], name, strlen(name) + 1);
	return rama_core_record_id(name, strlen(name));
}

static struct made_row *last(struct made *m)
{
	assert_true(m->n_rows > 0);
	return m->row[m->n_rows - 1];
}

union rama_core_word *made_row(struct made *m, unsigned module, uint64_t id, int64_t rank)
{
	struct made_row *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	assert_true(m->n_rows < LENGTH(m->row));
	assert_true(rama_tab_module_get(module)->record->words <= LENGTH(r->w));
	r->module = module;
	r->w[RAMA_TAB_ID].u = id;
	r->w[RAMA_TAB_RANK].i = rank;
	m->row[m->n_rows++] = r;
	return r->w;
}

void made_array(struct made *m, unsigned k, const int64_t *value, size_t words, size_t n)
{
	struct made_row *r = last(m);

	r->array[k] = calloc(words * n + 1, sizeof(union rama_core_word));
	assert_non_null(r->array[k]);
	for (size_t i = 0; i < words * n; i++)
		r->array[k][i].i = value[i];
	r->count[k] = n;
	r->w[rama_tab_module_get(r->module)->record->array[k].count_word].i = (int64_t)n;
}

void made_access(struct made *m, unsigned kind, int64_t offset, int64_t length, double start,
		 double end)
{
	struct made_row *r = last(m);
	union rama_core_word *s;

	if (r->seg == NULL)
		r->seg = calloc(MADE_SEGMENTS, sizeof(*r->seg));
	assert_non_null(r->seg);
	assert_true(r->n_segs < MADE_SEGMENTS);
	assert_true(kind == 1 || r->w[RAMA_TAB_DXT_READ_COUNT].i == 0);
	s = r->seg[r->n_segs++];
	s[RAMA_TAB_SEG_OFFSET].i = offset;
	s[RAMA_TAB_SEG_LENGTH].i = length;
	s[RAMA_TAB_SEG_START].f = start;
	s[RAMA_TAB_SEG_END].f = end;
	r->w[kind == 0 ? RAMA_TAB_DXT_WRITE_COUNT : RAMA_TAB_DXT_READ_COUNT].i++;
	r->count[kind]++;
}

union rama_core_word *made_posix(struct made *m, uint64_t id, int64_t rank, const int64_t calls[2],
				 const int64_t bytes[2], const double seconds[3])
{
	union rama_core_word *w = made_row(m, RAMA_TAB_MOD_POSIX, id, rank);

	w[RAMA_TAB_POSIX_OPENS].i = 1;
	w[RAMA_TAB_POSIX_WRITES].i = calls[0];
	w[RAMA_TAB_POSIX_READS].i = calls[1];
	w[RAMA_TAB_POSIX_BYTES_WRITTEN].i = bytes[0];
	w[RAMA_TAB_POSIX_BYTES_READ].i = bytes[1];
	w[RAMA_TAB_POSIX_F_WRITE_TIME].f = seconds[0];
	w[RAMA_TAB_POSIX_F_READ_TIME].f = seconds[1];
	w[RAMA_TAB_POSIX_F_META_TIME].f = seconds[2];
	return w;
}

/* ---- writing and reading --------------------------------------------------------------------- */

static int put(void *ctx, uint64_t off, const void *bytes, size_t n, struct rama_err *e)
{
	struct made *m = ctx;

	(void)e;
	if (off + n > m->room) {
		m->room = 2 * (off + n);
		m->bytes = realloc(m->bytes, m->room);
		assert_non_null(m->bytes);
	}
	if (off > m->n)
		memset(m->bytes + m->n, 0, off - m->n);
	memcpy(m->bytes + off, bytes, n);
	m->n = off + n > m->n ? off + n : m->n;
	return 0;
}

static void write_module(struct made *m, struct rama_log_writer *w,
			 const struct rama_tab_module *mod)
{
	bool begun = false;

	for (size_t i = 0; i < m->n_rows; i++) {
		struct made_row *row = m->row[i];
		struct rama_core_record r = { .mod = mod, .schema = mod->record, .w = row->w };

		if (row->module != mod->id)
			continue;
		if (!begun)
			assert_int_equal(rama_log_writer_module(w, mod->id, mod->newest), 0);
		begun = true;
		for (unsigned k = 0; k < 2; k++) {
			r.array[k] = row->array[k];
			r.count[k] = row->count[k];
		}
		assert_int_equal(rama_log_writer_record(w, &r), 0);
		if (row->n_segs > 0)
			assert_int_equal(rama_log_writer_segments(w, row->seg, row->n_segs), 0);
	}
}

static void on_problem(void *ctx, const char *line)
{
	struct made *m = ctx;

	(void)line;
	m->problems++;
}

struct rama_log *made_log(struct made *m)
{
	static const struct rama_log_mount mounts[] = { { "/", "ext4", 1, 0 },
							{ "/scratch", "lustre", 8, 1 } };
	struct rama_log_options opt = { .problem = on_problem, .ctx = m };
	struct rama_log_sink sink = { .write = put, .ctx = m };
	struct rama_err e = { 0 };
	struct rama_log_writer w;

	assert_int_equal(rama_log_writer_init(&w, &sink, RAMA_LOG_PLAIN_BYTES, 0), 0);
	assert_int_equal(rama_log_writer_job(&w, &m->job, mounts, 2), 0);
	for (size_t i = 0; i < m->n_names; i++)
		assert_int_equal(rama_log_writer_name(
					 &w, rama_core_record_id(m->names[i], strlen(m->names[i])),
					 m->names[i], strlen(m->names[i])),
				 0);
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN; id++)
		if (rama_tab_module_get(id) != NULL)
			write_module(m, &w, rama_tab_module_get(id));
	assert_int_equal(rama_log_writer_finish(&w, m->partial), 0);
	rama_log_writer_fini(&w);
	rama_source_memory(&m->src, m->bytes, m->n);
	assert_int_equal(rama_log_open(&m->log, &m->src, &opt, &e), 0);
	m->closed = true;
	return &m->log;
}

void made_damaged(struct made *m, struct rama_job_view *v)
{
	struct rama_job_view_options opt = { .trace = true, .detail = true };
	struct rama_err e = { 0 };

	rama_job_view_init(v, &opt);
	assert_int_equal(rama_job_view_add_log(v, made_log(m), "made", &e), 0);
	assert_int_equal(rama_job_view_finish(v, &e), 0);
}

void made_view(struct made *m, struct rama_job_view *v)
{
	made_damaged(m, v);
	assert_int_equal(m->problems, 0);
	made_check(v);
}

const struct rama_job_view_file *made_file(const struct rama_job_view *v, const char *name)
{
	for (size_t i = 0; i < v->n_files; i++)
		if (strcmp(v->files[i].name, name) == 0)
			return &v->files[i];
	fail_msg("no file %s", name);
	return NULL;
}

/* ---- what holds of all ----------------------------------------------------------------------- */

static void same_io(const struct rama_job_io *a, const struct rama_job_io *b)
{
	assert_int_equal(a->reads, b->reads);
	assert_int_equal(a->writes, b->writes);
	assert_int_equal(a->metas, b->metas);
	assert_int_equal(a->bytes_read, b->bytes_read);
	assert_int_equal(a->bytes_written, b->bytes_written);
	assert_near(a->read_time, b->read_time);
	assert_near(a->write_time, b->write_time);
	assert_near(a->meta_time, b->meta_time);
}

/* ranks, files and groups each add up to the job */
void made_check(const struct rama_job_view *v)
{
	struct rama_job_io io = { 0 }, disk = { 0 }, files = { 0 }, low = { 0 };

	for (int64_t r = 0; r < v->nprocs; r++) {
		rama_job_io_add(&io, &v->ranks[r].io);
		rama_job_io_add(&disk, &v->ranks[r].disk);
	}
	for (size_t i = 0; i < v->n_files; i++) {
		assert_non_null(v->files[i].name);
		rama_job_io_add(&files, &v->files[i].io);
		rama_job_io_add(&low, &v->files[i].disk);
		assert_true(v->files[i].ranks <= v->nprocs);
		assert_true(v->files[i].pseudo || v->files[i].unopened ||
			    v->files[i].group < v->n_groups);
	}
	same_io(&io, &v->total);
	same_io(&files, &v->total);
	same_io(&disk, &v->disk);
	same_io(&low, &v->disk);
	assert_true(v->io_time <= v->run_time || v->run_time <= 0);
	for (size_t i = 1; i < v->n_phases; i++)
		assert_true(v->phases[i].start > v->phases[i - 1].end);
	for (size_t i = 1; i < v->n_ops; i++)
		assert_true(v->ops[i].start >= v->ops[i - 1].start);
	assert_null(v->work);
}
