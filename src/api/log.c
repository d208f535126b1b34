/* SPDX-License-Identifier: BSD-3-Clause */
/* log.c: what include/iorama/log.h promises, with our own types inside. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "core/recordid.h"
#include "iorama/log.h"
#include "logfile/cursor.h"
#include "logfile/writer.h"

struct iorama_record {
	struct rama_core_record r;
	char host[65];
	union rama_core_word *owned[3]; /* of records made by the user: words and arrays */
};

struct iorama_log {
	struct rama_file file;
	struct rama_log log;
	struct iorama_job job;
	char **problems;
	size_t n_problems, problems_room;
};

struct iorama_records {
	struct rama_log_cursor cursor;
	struct iorama_record record;
	struct rama_log *log;
};

static int fail(struct iorama_error *to, int code, const char *text)
{
	if (to != NULL) {
		to->code = code;
		snprintf(to->text, sizeof(to->text), "%s", text);
	}
	return code;
}

/* our error in the form users see; returns the code */
static int error_of(struct iorama_error *to, const struct rama_err *from)
{
	return fail(to, from->code, from->text);
}

/* field of a record by its name, and array by its name (-1: none) */
static const struct rama_tab_field *field_of(const struct rama_core_record *r, const char *name)
{
	for (unsigned i = 0; i < *r->schema->n_fields; i++) {
		const struct rama_tab_field *f = &r->schema->fields[i];

		if (f->word != RAMA_TAB_NO_WORD && f->type <= RAMA_TAB_F64 &&
		    strcmp(f->name, name) == 0)
			return f;
	}
	return NULL;
}

static int array_of(const struct rama_core_record *r, const char *name)
{
	for (int k = 0; k < r->schema->n_arrays; k++)
		if (!(r->mod->flags & RAMA_TAB_TRACE) &&
		    strcmp(r->schema->array[k].name, name) == 0)
			return k;
	return -1;
}

static void keep_problem(void *ctx, const char *line)
{
	struct iorama_log *l = ctx;

	if (!RAMA_GROW(l->problems, l->problems_room, l->n_problems + 1))
		return;
	l->problems[l->n_problems] = strdup(line);
	if (l->problems[l->n_problems] != NULL)
		l->n_problems++;
}

struct iorama_log *iorama_log_open(const char *path, unsigned flags, struct iorama_error *e)
{
	struct iorama_log *l = calloc(1, sizeof(*l));
	struct rama_log_options opt = { .strict = flags & IORAMA_STRICT,
					.problem = keep_problem,
					.note = keep_problem,
					.ctx = l };
	struct rama_err err = { 0 };
	const struct rama_log_job *j;

	fail(e, 0, "");
	if (l == NULL) {
		fail(e, RAMA_EMEMORY, "out of memory");
		return NULL;
	}
	if (rama_file_open(&l->file, path, &err) != 0 ||
	    rama_log_open(&l->log, &l->file.src, &opt, &err) != 0) {
		rama_err_prefix(&err, "%s", path);
		error_of(e, &err);
		rama_file_close(&l->file);
		free(l->problems);
		free(l);
		return NULL;
	}
	j = &l->log.job;
	l->job = (struct iorama_job){ .uid = j->uid,
				      .jobid = j->jobid,
				      .nprocs = j->nprocs,
				      .start_sec = j->start_sec,
				      .start_nsec = j->start_nsec,
				      .end_sec = j->end_sec,
				      .end_nsec = j->end_nsec,
				      .run_time = j->run_time,
				      .exe = j->exe,
				      .metadata = j->metadata };
	return l;
}

void iorama_log_close(struct iorama_log *l)
{
	if (l == NULL)
		return;
	rama_log_close(&l->log);
	rama_file_close(&l->file);
	for (size_t i = 0; i < l->n_problems; i++)
		free(l->problems[i]);
	free(l->problems);
	free(l);
}

const struct iorama_job *iorama_log_job(const struct iorama_log *l)
{
	return &l->job;
}

const char *iorama_log_format(const struct iorama_log *l)
{
	return l->log.version;
}

const char *iorama_log_problem(const struct iorama_log *l, size_t i)
{
	return i < l->n_problems ? l->problems[i] : NULL;
}

int iorama_log_next_module(const struct iorama_log *l, int after, struct iorama_module *m)
{
	for (int i = after < 0 ? 0 : after + 1; i < RAMA_TAB_MODULES_KNOWN; i++) {
		const struct rama_tab_module *mod = rama_tab_module_get((unsigned)i);
		const struct rama_log_part *p = &l->log.part[i];

		if (mod == NULL || p->len == 0)
			continue;
		*m = (struct iorama_module){ (unsigned)i,
					     mod->name,
					     p->version,
					     p->stored_len,
					     (int)(l->log.partial >> i & 1),
					     (mod->flags & RAMA_TAB_TRACE) != 0 };
		return 1;
	}
	return 0;
}

const char *iorama_log_name(const struct iorama_log *l, uint64_t id)
{
	const struct rama_log_name *n = rama_log_name_get(&l->log, id);

	return n != NULL ? n->text : NULL;
}

size_t iorama_log_names(const struct iorama_log *l)
{
	return l->log.n_names;
}

const char *iorama_log_name_at(const struct iorama_log *l, size_t i, uint64_t *id)
{
	if (i >= l->log.n_names)
		return NULL;
	if (id != NULL)
		*id = l->log.names[i].id;
	return l->log.names[i].text;
}

size_t iorama_log_mounts(const struct iorama_log *l)
{
	return l->log.n_mounts;
}

struct iorama_mount iorama_log_mount_at(const struct iorama_log *l, size_t i)
{
	return i < l->log.n_mounts
		       ? (struct iorama_mount){ l->log.mounts[i].path, l->log.mounts[i].type }
		       : (struct iorama_mount){ NULL, NULL };
}

struct iorama_mount iorama_log_mount_of(const struct iorama_log *l, const char *name)
{
	const struct rama_log_mount *m = rama_log_mount_get(&l->log, name);

	return m != NULL ? (struct iorama_mount){ m->path, m->type }
			 : (struct iorama_mount){ NULL, NULL };
}

struct iorama_records *iorama_records_open(struct iorama_log *l, const char *module,
					   struct iorama_error *e)
{
	const struct rama_tab_module *mod = rama_tab_module_find(module);
	struct iorama_records *rs = calloc(1, sizeof(*rs));
	int rc;

	fail(e, 0, "");
	if (mod == NULL || rs == NULL) {
		fail(e, mod == NULL ? RAMA_EMISSING : RAMA_EMEMORY,
		     mod == NULL ? "no module of that name" : "out of memory");
		free(rs);
		return NULL;
	}
	rs->log = &l->log;
	rc = rama_log_cursor_open(&rs->cursor, &l->log, mod->id);
	if (rc > 0)
		return rs;
	if (rc < 0)
		error_of(e, &l->log.err);
	iorama_records_close(rs);
	return NULL;
}

int iorama_records_next(struct iorama_records *rs, const struct iorama_record **r,
			struct iorama_error *e)
{
	struct rama_core_record *rec;
	int rc = rama_log_cursor_next(&rs->cursor, &rec);

	if (rc < 0)
		return error_of(e, &rs->log->err);
	if (rc == 0)
		return 0;
	rs->record.r = *rec;
	if (rec->mod->flags & RAMA_TAB_TRACE)
		memcpy(rs->record.host, rec->w[RAMA_TAB_DXT_HOSTNAME].b, 64);
	*r = &rs->record;
	return 1;
}

int iorama_records_segments(struct iorama_records *rs, struct iorama_segment *s, int max,
			    struct iorama_error *e)
{
	union rama_core_word seg[256][RAMA_TAB_SEG_WORDS];
	unsigned kind;
	int n;

	if (!(rs->cursor.mod->flags & RAMA_TAB_TRACE))
		return fail(e, RAMA_EUSAGE, "only traces have segments");
	n = rama_log_cursor_segments(&rs->cursor, seg, max < 256 ? max : 256, &kind);
	if (n < 0)
		return error_of(e, &rs->log->err);
	for (int i = 0; i < n; i++)
		s[i] = (struct iorama_segment){ (int)kind,
						seg[i][RAMA_TAB_SEG_OFFSET].i,
						seg[i][RAMA_TAB_SEG_LENGTH].i,
						seg[i][RAMA_TAB_SEG_START].f,
						seg[i][RAMA_TAB_SEG_END].f,
						seg[i][RAMA_TAB_SEG_THREAD].u };
	return n;
}

void iorama_records_close(struct iorama_records *rs)
{
	if (rs == NULL)
		return;
	rama_log_cursor_close(&rs->cursor);
	free(rs);
}

uint64_t iorama_record_id(const struct iorama_record *r)
{
	return r->r.w[RAMA_TAB_ID].u;
}

int64_t iorama_record_rank(const struct iorama_record *r)
{
	return r->r.w[RAMA_TAB_RANK].i;
}

const char *iorama_record_host(const struct iorama_record *r)
{
	return r->r.mod->flags & RAMA_TAB_TRACE ? r->host : NULL;
}

static int give(const struct rama_core_record *r, const struct rama_tab_field *f,
		struct iorama_counter *c)
{
	c->name = f->name;
	c->type = f->type == RAMA_TAB_F64   ? IORAMA_F64
		  : f->type == RAMA_TAB_U64 ? IORAMA_U64
					    : IORAMA_I64;
	memcpy(&c->value, &r->w[f->word], sizeof(c->value));
	return 1;
}

int iorama_record_at(const struct iorama_record *r, size_t i, struct iorama_counter *c)
{
	for (unsigned k = 0; k < *r->r.schema->n_fields; k++) {
		const struct rama_tab_field *f = &r->r.schema->fields[k];

		if (f->place <= RAMA_TAB_LAST && i-- == 0)
			return give(&r->r, f, c);
	}
	return 0;
}

int iorama_record_get(const struct iorama_record *r, const char *name, struct iorama_counter *c)
{
	const struct rama_tab_field *f = field_of(&r->r, name);

	return f != NULL ? give(&r->r, f, c) : 0;
}

const int64_t *iorama_record_array(const struct iorama_record *r, const char *name, size_t *count,
				   size_t *words)
{
	int k = array_of(&r->r, name);

	if (k < 0)
		return NULL;
	*count = (size_t)r->r.count[k];
	*words = r->r.schema->array[k].words;
	return r->r.count[k] > 0 ? &r->r.array[k]->i : NULL;
}

/* ---- writing -------------------------------------------------------------------------------- */

#define LEVEL 6
#define MOUNTS_MAX 256

struct iorama_writer {
	char *path;
	struct rama_newfile file;
	struct rama_log_writer writer;
	uint64_t partial;
	uint64_t segments_due; /* of the trace record just written */
};

static int write_file(void *ctx, uint64_t off, const void *bytes, size_t n, struct rama_err *e)
{
	return rama_newfile_write(ctx, off, bytes, n, e);
}

/* the writer's own error, with the file's name */
static int write_failed(struct iorama_writer *w, struct iorama_error *e)
{
	struct rama_err err = w->writer.err;

	if (err.code == 0)
		return 0;
	rama_err_prefix(&err, "%s", w->path);
	return error_of(e, &err);
}

struct iorama_writer *iorama_writer_open(const char *path, struct iorama_error *e)
{
	struct iorama_writer *w = calloc(1, sizeof(*w));
	struct rama_err err = { .code = RAMA_EMEMORY, .text = "out of memory" };
	struct rama_log_sink sink;

	fail(e, 0, "");
	if (w != NULL)
		w->file.fd = -1;
	if (w != NULL && (w->path = strdup(path)) != NULL &&
	    rama_newfile_open(&w->file, path, &err) == 0) {
		sink = (struct rama_log_sink){ .write = write_file, .ctx = &w->file };
		if (rama_log_writer_init(&w->writer, &sink, RAMA_LOG_ZLIB, LEVEL) == 0)
			return w;
		err = w->writer.err;
	}
	rama_err_prefix(&err, "%s", path);
	error_of(e, &err);
	iorama_writer_abort(w);
	return NULL;
}

int iorama_writer_job(struct iorama_writer *w, const struct iorama_job *job,
		      const struct iorama_mount *mounts, size_t n_mounts, struct iorama_error *e)
{
	struct rama_log_job j = { .uid = job->uid,
				  .jobid = job->jobid,
				  .nprocs = job->nprocs,
				  .start_sec = job->start_sec,
				  .start_nsec = job->start_nsec,
				  .end_sec = job->end_sec,
				  .end_nsec = job->end_nsec,
				  .exe = job->exe != NULL ? job->exe : "" };
	struct rama_log_mount m[MOUNTS_MAX];

	if (job->metadata != NULL && strlen(job->metadata) >= sizeof(j.metadata))
		return fail(e, RAMA_ELIMIT, "metadata longer than 1023 bytes");
	if (job->metadata != NULL)
		strncpy(j.metadata, job->metadata, sizeof(j.metadata) - 1);
	n_mounts = n_mounts < MOUNTS_MAX ? n_mounts : MOUNTS_MAX;
	for (size_t i = 0; i < n_mounts; i++)
		m[i] = (struct rama_log_mount){ .path = mounts[i].path,
						.type = mounts[i].type,
						.path_len = strlen(mounts[i].path) };
	rama_log_writer_job(&w->writer, &j, m, n_mounts);
	return write_failed(w, e);
}

int iorama_writer_name(struct iorama_writer *w, uint64_t id, const char *name,
		       struct iorama_error *e)
{
	rama_log_writer_name(&w->writer, id, name, strlen(name));
	return write_failed(w, e);
}

int iorama_writer_module(struct iorama_writer *w, const char *module, int incomplete,
			 struct iorama_error *e)
{
	const struct rama_tab_module *m = rama_tab_module_find(module);

	if (m == NULL)
		return fail(e, RAMA_EMISSING, "no module of that name");
	if (w->segments_due > 0)
		return fail(e, RAMA_EUSAGE, "segments of the last trace record are missing");
	rama_log_writer_module(&w->writer, m->id, m->newest);
	if (incomplete)
		w->partial |= 1ull << m->id;
	return write_failed(w, e);
}

int iorama_writer_record(struct iorama_writer *w, const struct iorama_record *r,
			 struct iorama_error *e)
{
	if (w->segments_due > 0)
		return fail(e, RAMA_EUSAGE, "segments of the last trace record are missing");
	rama_log_writer_record(&w->writer, &r->r);
	if (r->r.mod->flags & RAMA_TAB_TRACE)
		w->segments_due =
			r->r.w[RAMA_TAB_DXT_WRITE_COUNT].u + r->r.w[RAMA_TAB_DXT_READ_COUNT].u;
	return write_failed(w, e);
}

int iorama_writer_segments(struct iorama_writer *w, const struct iorama_segment *s, size_t n,
			   struct iorama_error *e)
{
	if (n > w->segments_due)
		return fail(e, RAMA_EUSAGE, "more segments than the trace record counts");
	for (size_t i = 0; i < n; i++) {
		union rama_core_word seg[1][RAMA_TAB_SEG_WORDS] = { { { .i = s[i].offset },
								      { .i = s[i].length },
								      { .f = s[i].start },
								      { .f = s[i].end },
								      { .u = s[i].thread } } };

		rama_log_writer_segments(&w->writer, seg, 1);
	}
	w->segments_due -= n;
	return write_failed(w, e);
}

int iorama_writer_commit(struct iorama_writer *w, struct iorama_error *e)
{
	if (w->segments_due > 0)
		return fail(e, RAMA_EUSAGE, "segments of the last trace record are missing");
	if (w->writer.err.code == 0)
		rama_log_writer_finish(&w->writer, w->partial);
	if (w->writer.err.code == 0)
		rama_newfile_commit(&w->file, &w->writer.err);
	if (write_failed(w, e) != 0)
		return w->writer.err.code;
	iorama_writer_abort(w);
	return 0;
}

void iorama_writer_abort(struct iorama_writer *w)
{
	if (w == NULL)
		return;
	if (w->writer.pending != NULL)
		rama_log_writer_fini(&w->writer);
	rama_newfile_abort(&w->file);
	free(w->path);
	free(w);
}

uint64_t iorama_record_id_of(const char *name)
{
	return rama_core_record_id(name, strlen(name));
}

struct iorama_record *iorama_record_create(const char *module, uint64_t id, int64_t rank)
{
	const struct rama_tab_module *m = rama_tab_module_find(module);
	struct iorama_record *r = m != NULL ? calloc(1, sizeof(*r)) : NULL;

	if (r == NULL)
		return NULL;
	r->owned[0] = calloc(m->record->words, sizeof(*r->owned[0]));
	if (r->owned[0] == NULL) {
		free(r);
		return NULL;
	}
	r->r = (struct rama_core_record){ .mod = m, .schema = m->record, .w = r->owned[0] };
	r->r.w[RAMA_TAB_ID].u = id;
	r->r.w[RAMA_TAB_RANK].i = rank;
	return r;
}

void iorama_record_destroy(struct iorama_record *r)
{
	if (r == NULL)
		return;
	for (unsigned i = 0; i < 3; i++)
		free(r->owned[i]);
	free(r);
}

int iorama_record_set_i64(struct iorama_record *r, const char *name, int64_t v)
{
	const struct rama_tab_field *f = field_of(&r->r, name);

	if (f == NULL || f->type == RAMA_TAB_F64)
		return RAMA_EMISSING;
	r->r.w[f->word].i = v;
	return 0;
}

int iorama_record_set_f64(struct iorama_record *r, const char *name, double v)
{
	const struct rama_tab_field *f = field_of(&r->r, name);

	if (f == NULL || f->type != RAMA_TAB_F64)
		return RAMA_EMISSING;
	r->r.w[f->word].f = v;
	return 0;
}

int iorama_record_set_array(struct iorama_record *r, const char *name, const int64_t *values,
			    size_t count)
{
	int k = array_of(&r->r, name);
	const struct rama_tab_array *a;
	union rama_core_word *w;

	if (k < 0)
		return RAMA_EMISSING;
	a = &r->r.schema->array[k];
	w = calloc(count * a->words + 1, sizeof(*w));
	if (w == NULL)
		return RAMA_EMEMORY;
	memcpy(w, values, count * a->words * sizeof(*w));
	free(r->owned[1 + k]);
	r->owned[1 + k] = r->r.array[k] = w;
	r->r.count[k] = count;
	r->r.w[a->count_word].u = count;
	return 0;
}

int iorama_record_set_trace(struct iorama_record *r, const char *host, uint64_t writes,
			    uint64_t reads)
{
	if (!(r->r.mod->flags & RAMA_TAB_TRACE))
		return RAMA_EMISSING;
	strncpy(r->host, host, sizeof(r->host) - 1);
	memset(r->r.w[RAMA_TAB_DXT_HOSTNAME].b, 0, 64);
	memcpy(&r->r.w[RAMA_TAB_DXT_HOSTNAME], r->host, strnlen(r->host, 63));
	r->r.w[RAMA_TAB_DXT_WRITE_COUNT].u = writes;
	r->r.w[RAMA_TAB_DXT_READ_COUNT].u = reads;
	return 0;
}
