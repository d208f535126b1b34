/* SPDX-License-Identifier: BSD-3-Clause */
/* write.c: the writing half of include/iorama/log.h */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/file.h"
#include "core/recordid.h"
#include "logfile/writer.h"

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
static int failed(struct iorama_writer *w, struct iorama_error *e)
{
	struct rama_err err = w->writer.err;

	if (err.code == 0)
		return 0;
	rama_err_prefix(&err, "%s", w->path);
	return rama_api_error(e, &err);
}

struct iorama_writer *iorama_writer_open(const char *path, struct iorama_error *e)
{
	struct iorama_writer *w = calloc(1, sizeof(*w));
	struct rama_err err = { .code = RAMA_EMEMORY, .text = "out of memory" };
	struct rama_log_sink sink;

	rama_api_fail(e, 0, "");
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
	rama_api_error(e, &err);
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
		return rama_api_fail(e, RAMA_ELIMIT, "metadata longer than 1023 bytes");
	if (job->metadata != NULL)
		strncpy(j.metadata, job->metadata, sizeof(j.metadata) - 1);
	n_mounts = n_mounts < MOUNTS_MAX ? n_mounts : MOUNTS_MAX;
	for (size_t i = 0; i < n_mounts; i++)
		m[i] = (struct rama_log_mount){ .path = mounts[i].path,
						.type = mounts[i].type,
						.path_len = strlen(mounts[i].path) };
	rama_log_writer_job(&w->writer, &j, m, n_mounts);
	return failed(w, e);
}

int iorama_writer_name(struct iorama_writer *w, uint64_t id, const char *name,
		       struct iorama_error *e)
{
	rama_log_writer_name(&w->writer, id, name, strlen(name));
	return failed(w, e);
}

int iorama_writer_module(struct iorama_writer *w, const char *module, int incomplete,
			 struct iorama_error *e)
{
	const struct rama_tab_module *m = rama_tab_module_find(module);

	if (m == NULL)
		return rama_api_fail(e, RAMA_EMISSING, "no module of that name");
	if (w->segments_due > 0)
		return rama_api_fail(e, RAMA_EUSAGE,
				     "segments of the last trace record are missing");
	rama_log_writer_module(&w->writer, m->id, m->newest);
	if (incomplete)
		w->partial |= 1ull << m->id;
	return failed(w, e);
}

int iorama_writer_record(struct iorama_writer *w, const struct iorama_record *r,
			 struct iorama_error *e)
{
	if (w->segments_due > 0)
		return rama_api_fail(e, RAMA_EUSAGE,
				     "segments of the last trace record are missing");
	rama_log_writer_record(&w->writer, &r->r);
	if (r->r.mod->flags & RAMA_TAB_TRACE)
		w->segments_due =
			r->r.w[RAMA_TAB_DXT_WRITE_COUNT].u + r->r.w[RAMA_TAB_DXT_READ_COUNT].u;
	return failed(w, e);
}

int iorama_writer_segments(struct iorama_writer *w, const struct iorama_segment *s, size_t n,
			   struct iorama_error *e)
{
	if (n > w->segments_due)
		return rama_api_fail(e, RAMA_EUSAGE, "more segments than the trace record counts");
	for (size_t i = 0; i < n; i++) {
		union rama_core_word seg[1][RAMA_TAB_SEG_WORDS] = { { { .i = s[i].offset },
								      { .i = s[i].length },
								      { .f = s[i].start },
								      { .f = s[i].end },
								      { .u = s[i].thread } } };

		rama_log_writer_segments(&w->writer, seg, 1);
	}
	w->segments_due -= n;
	return failed(w, e);
}

int iorama_writer_commit(struct iorama_writer *w, struct iorama_error *e)
{
	if (w->segments_due > 0)
		return rama_api_fail(e, RAMA_EUSAGE,
				     "segments of the last trace record are missing");
	if (w->writer.err.code == 0)
		rama_log_writer_finish(&w->writer, w->partial);
	if (w->writer.err.code == 0)
		rama_newfile_commit(&w->file, &w->writer.err);
	if (failed(w, e) != 0)
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
	const struct rama_tab_field *f = rama_api_field(&r->r, name);

	if (f == NULL || f->type == RAMA_TAB_F64)
		return RAMA_EMISSING;
	r->r.w[f->word].i = v;
	return 0;
}

int iorama_record_set_f64(struct iorama_record *r, const char *name, double v)
{
	const struct rama_tab_field *f = rama_api_field(&r->r, name);

	if (f == NULL || f->type != RAMA_TAB_F64)
		return RAMA_EMISSING;
	r->r.w[f->word].f = v;
	return 0;
}

int iorama_record_set_array(struct iorama_record *r, const char *name, const int64_t *values,
			    size_t count)
{
	int k = rama_api_array(&r->r, name);
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
