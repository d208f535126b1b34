/* SPDX-License-Identifier: BSD-3-Clause */
/* read.c: the reading half of include/iorama/log.h */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/file.h"
#include "base/grow.h"
#include "logfile/cursor.h"

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

int rama_api_fail(struct iorama_error *to, int code, const char *text)
{
	if (to != NULL) {
		to->code = code;
		to->text[0] = '\0';
		strncat(to->text, text, sizeof(to->text) - 1);
	}
	return code;
}

int rama_api_error(struct iorama_error *to, const struct rama_err *from)
{
	return rama_api_fail(to, from->code, from->text);
}

const struct rama_tab_field *rama_api_field(const struct rama_core_record *r, const char *name)
{
	for (unsigned i = 0; i < *r->schema->n_fields; i++) {
		const struct rama_tab_field *f = &r->schema->fields[i];

		if (f->word != RAMA_TAB_NO_WORD && f->type <= RAMA_TAB_F64 &&
		    strcmp(f->name, name) == 0)
			return f;
	}
	return NULL;
}

int rama_api_array(const struct rama_core_record *r, const char *name)
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

	rama_api_fail(e, 0, "");
	if (l == NULL) {
		rama_api_fail(e, RAMA_EMEMORY, "out of memory");
		return NULL;
	}
	if (rama_file_open(&l->file, path, &err) != 0 ||
	    rama_log_open(&l->log, &l->file.src, &opt, &err) != 0) {
		rama_err_prefix(&err, "%s", path);
		rama_api_error(e, &err);
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

	rama_api_fail(e, 0, "");
	if (mod == NULL || rs == NULL) {
		rama_api_fail(e, mod == NULL ? RAMA_EMISSING : RAMA_EMEMORY,
			      mod == NULL ? "no module of that name" : "out of memory");
		free(rs);
		return NULL;
	}
	rs->log = &l->log;
	rc = rama_log_cursor_open(&rs->cursor, &l->log, mod->id);
	if (rc > 0)
		return rs;
	if (rc < 0)
		rama_api_error(e, &l->log.err);
	iorama_records_close(rs);
	return NULL;
}

int iorama_records_next(struct iorama_records *rs, const struct iorama_record **r,
			struct iorama_error *e)
{
	struct rama_core_record *rec;
	int rc = rama_log_cursor_next(&rs->cursor, &rec);

	if (rc < 0)
		return rama_api_error(e, &rs->log->err);
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
		return rama_api_fail(e, RAMA_EUSAGE, "only traces have segments");
	n = rama_log_cursor_segments(&rs->cursor, seg, max < 256 ? max : 256, &kind);
	if (n < 0)
		return rama_api_error(e, &rs->log->err);
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
	const struct rama_tab_field *f = rama_api_field(&r->r, name);

	return f != NULL ? give(&r->r, f, c) : 0;
}

const int64_t *iorama_record_array(const struct iorama_record *r, const char *name, size_t *count,
				   size_t *words)
{
	int k = rama_api_array(&r->r, name);

	if (k < 0)
		return NULL;
	*count = (size_t)r->r.count[k];
	*words = r->r.schema->array[k].words;
	return r->r.count[k] > 0 ? &r->r.array[k]->i : NULL;
}
