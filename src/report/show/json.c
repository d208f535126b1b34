/* SPDX-License-Identifier: BSD-3-Clause */
/* json.c: a log as JSON; docs/format/json.md describes it. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "report/show/show.h"
#include "core/sum/summary.h"
#include "core/sum/total.h"

struct writer {
	struct rama_report_show *show;
	struct rama_json j;
	struct rama_report_items items;
	struct rama_core_total total;
	struct rama_core_summary summary;
};

static void value(struct rama_json *j, uint8_t type, bool is_id, union rama_core_word v)
{
	if (type == RAMA_TAB_F64)
		rama_json_f64(j, v.f);
	else if (is_id)
		rama_json_id(j, v.u);
	else if (type == RAMA_TAB_U64)
		rama_json_u64(j, v.u);
	else
		rama_json_i64(j, v.i);
}

static void metadata(struct rama_json *j, const struct rama_log *log)
{
	char meta[RAMA_LOG_META_SIZE], *save = NULL;

	rama_json_key_open(j, "metadata", '[');
	memcpy(meta, log->job.metadata, sizeof(meta));
	for (char *line = strtok_r(meta, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		char *equals = strchr(line, '=');

		if (equals == NULL)
			continue;
		*equals = '\0';
		rama_json_open(j, '{');
		rama_json_key_string(j, "key", line);
		rama_json_key_string(j, "value", equals + 1);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

static void job(struct rama_json *j, const struct rama_log *log)
{
	const struct rama_log_job *b = &log->job;

	rama_json_key_open(j, "job", '{');
	rama_json_key_i64(j, "jobid", b->jobid);
	rama_json_key_i64(j, "uid", b->uid);
	rama_json_key_string(j, "exe", b->exe);
	rama_json_key_i64(j, "nprocs", b->nprocs);
	rama_json_key_i64(j, "start_sec", b->start_sec);
	rama_json_key_i64(j, "start_nsec", b->start_nsec);
	rama_json_key_i64(j, "end_sec", b->end_sec);
	rama_json_key_i64(j, "end_nsec", b->end_nsec);
	rama_json_key_f64(j, "run_time", b->run_time);
	metadata(j, log);
	rama_json_close(j, '}');
}

static void head(struct rama_json *j, const struct rama_log *log, const char *path)
{
	static const char *const method[] = { "zlib", "bzip2", "none" };

	rama_json_key_string(j, "file", path);
	rama_json_key_string(j, "format", log->version);
	rama_json_key_string(j, "compression", method[log->compression]);
	rama_json_key_bool(j, "other_byte_order", log->swap);
	job(j, log);
	rama_json_key_open(j, "mounts", '[');
	for (size_t i = 0; i < log->n_mounts; i++) {
		rama_json_open(j, '{');
		rama_json_key_string(j, "path", log->mounts[i].path);
		rama_json_key_string(j, "type", log->mounts[i].type);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

static void item(void *ctx, const struct rama_report_item *it)
{
	struct writer *w = ctx;

	if (!rama_report_filter_counter(&w->show->filter, it->name))
		return;
	rama_json_key(&w->j, it->name);
	if (it->type == RAMA_TAB_TEXT)
		rama_json_text(&w->j, it->text, it->text_len);
	else
		value(&w->j, it->type, it->is_id, it->value);
}

static void segments(struct writer *w, struct rama_log_cursor *c)
{
	union rama_core_word seg[512][RAMA_TAB_SEG_WORDS];
	const char *open_list = NULL;
	unsigned kind;
	int n;

	while ((n = rama_log_cursor_segments(c, seg, 512, &kind)) > 0) {
		const char *name = kind == 0 ? "writes" : "reads";

		if (open_list != name) {
			if (open_list != NULL)
				rama_json_close(&w->j, ']');
			rama_json_key_open(&w->j, name, '[');
			open_list = name;
		}
		for (int i = 0; i < n; i++) {
			rama_json_open(&w->j, '[');
			rama_json_i64(&w->j, seg[i][RAMA_TAB_SEG_OFFSET].i);
			rama_json_i64(&w->j, seg[i][RAMA_TAB_SEG_LENGTH].i);
			rama_json_f64(&w->j, seg[i][RAMA_TAB_SEG_START].f);
			rama_json_f64(&w->j, seg[i][RAMA_TAB_SEG_END].f);
			if (rama_log_cursor_has_threads(c))
				rama_json_id(&w->j, seg[i][RAMA_TAB_SEG_THREAD].u);
			rama_json_close(&w->j, ']');
		}
		rama_report_show_progress(w->show, c);
	}
	if (open_list != NULL)
		rama_json_close(&w->j, ']');
}

static int record(void *ctx, struct rama_log_cursor *c, const struct rama_core_record *r)
{
	struct writer *w = ctx;
	struct rama_report_place col;

	if (r->mod->flags & RAMA_TAB_TOTALS) {
		if (w->show->total)
			rama_core_total_add(&w->total, r);
		if ((w->show->file || w->show->perf) && rama_core_summary_add(&w->summary, r) != 0)
			return RAMA_EMEMORY;
	}
	if (!w->show->base && !w->show->dxt)
		return 0;
	rama_report_place_of(&col, w->show->log, r);
	rama_json_open(&w->j, '{');
	rama_json_key_id(&w->j, "id", r->w[RAMA_TAB_ID].u);
	rama_json_key_i64(&w->j, "rank", r->w[RAMA_TAB_RANK].i);
	rama_json_key_string(&w->j, "name", col.named ? col.name : NULL);
	rama_json_key_string(&w->j, "mount", strcmp(col.mount, "UNKNOWN") == 0 ? NULL : col.mount);
	rama_json_key_string(&w->j, "fs", strcmp(col.fs, "UNKNOWN") == 0 ? NULL : col.fs);
	if (r->mod->flags & RAMA_TAB_TRACE) {
		rama_json_key(&w->j, "host");
		rama_json_text(&w->j, r->w[RAMA_TAB_DXT_HOSTNAME].b,
			       strnlen(r->w[RAMA_TAB_DXT_HOSTNAME].b, 64));
		segments(w, c);
	} else {
		rama_json_key_open(&w->j, "counters", '{');
		rama_report_items_each(&w->items, r);
		rama_json_close(&w->j, '}');
	}
	rama_json_close(&w->j, '}');
	rama_out_char(w->show->out, '\n');
	return 0;
}

static void totals(struct writer *w, const struct rama_tab_module *mod)
{
	rama_json_key_open(&w->j, "totals", '{');
	for (unsigned i = 0; i < *mod->record->n_fields; i++) {
		const struct rama_tab_field *f = &mod->record->fields[i];

		if (f->place != RAMA_TAB_COUNTER ||
		    !rama_report_filter_counter(&w->show->filter, f->name))
			continue;
		rama_json_key(&w->j, f->name);
		value(&w->j, f->type, rama_tab_field_is_id(f), w->total.w[f->word]);
	}
	rama_json_close(&w->j, '}');
}

static void files(struct writer *w)
{
	static const char *const kind[] = { "total",	  "read_only", "write_only",
					    "read_write", "unique",    "shared" };
	struct rama_core_files k[RAMA_CORE_FILES_KINDS];

	rama_core_summary_files(&w->summary, k);
	rama_json_key_open(&w->j, "files", '{');
	for (unsigned i = 0; i < RAMA_CORE_FILES_KINDS; i++) {
		rama_json_key_open(&w->j, kind[i], '{');
		rama_json_key_i64(&w->j, "files", k[i].files);
		rama_json_key_i64(&w->j, "bytes", k[i].bytes);
		rama_json_key_i64(&w->j, "max_offset", k[i].max_offset);
		rama_json_close(&w->j, '}');
	}
	rama_json_close(&w->j, '}');
}

static void perf(struct writer *w)
{
	struct rama_core_perf p;

	rama_core_summary_perf(&w->summary, &p);
	rama_json_key_open(&w->j, "perf", '{');
	rama_json_key_i64(&w->j, "total_bytes", p.total_bytes);
	rama_json_key_f64(&w->j, "unique_slowest_rank_io_time", p.slowest_io);
	rama_json_key_f64(&w->j, "unique_slowest_rank_meta_time", p.slowest_meta);
	rama_json_key_f64(&w->j, "unique_slowest_rank_rw_time", p.slowest_rw);
	rama_json_key_i64(&w->j, "unique_slowest_rank", p.slowest_rank);
	rama_json_key_f64(&w->j, "shared_time_by_slowest", p.shared_time);
	rama_json_key_f64(&w->j, "agg_time_by_slowest", p.time);
	rama_json_key_f64(&w->j, "agg_mib_per_s_by_slowest", p.mib_per_s);
	rama_json_close(&w->j, '}');
}

static int module(struct writer *w, unsigned id)
{
	const struct rama_log_part *part = &w->show->log->part[id];
	const struct rama_tab_module *mod = rama_tab_module_get(id);
	bool sums = mod != NULL && (mod->flags & RAMA_TAB_TOTALS) && !w->show->dxt;
	union rama_core_word *words =
		mod != NULL ? calloc(mod->record->words, sizeof(*words)) : NULL;
	int rc = 0;

	if (mod != NULL && words == NULL)
		return RAMA_EMEMORY;
	rama_json_open(&w->j, '{');
	rama_json_key_string(&w->j, "module", mod != NULL ? mod->name : NULL);
	rama_json_key_i64(&w->j, "module_id", id);
	rama_json_key_i64(&w->j, "version", part->version);
	rama_json_key_i64(&w->j, "stored_bytes", (int64_t)part->stored_len);
	rama_json_key_bool(&w->j, "incomplete", w->show->log->partial >> id & 1);
	if (mod != NULL) {
		rama_core_total_init(&w->total, mod, words);
		rama_core_summary_init(&w->summary, mod);
		rama_json_key_open(&w->j, "records", '[');
		rc = rama_report_show_records(w->show, id, record, w);
		rama_json_close(&w->j, ']');
		if (rc == 0 && sums && w->show->total)
			totals(w, mod);
		if (rc == 0 && sums && w->show->file)
			files(w);
		if (rc == 0 && sums && w->show->perf)
			perf(w);
		rama_core_summary_fini(&w->summary);
	}
	rama_json_close(&w->j, '}');
	free(words);
	return rc;
}

int rama_report_show_json(struct rama_report_show *s)
{
	struct writer w = { .show = s, .items = { .fn = item, .ctx = &w } };
	int rc = 0;

	rama_json_init(&w.j, s->out);
	rama_json_open(&w.j, '{');
	head(&w.j, s->log, s->path);
	rama_json_key_open(&w.j, "modules", '[');
	for (unsigned i = 0; i < RAMA_TAB_MODULES && rc == 0; i++) {
		const struct rama_tab_module *mod = rama_tab_module_get(i);
		bool trace = mod != NULL && (mod->flags & RAMA_TAB_TRACE);

		if (s->log->part[i].stored_len == 0 && !(s->log->partial >> i & 1))
			continue;
		if (rama_report_filter_module(&s->filter, i) && trace == s->dxt)
			rc = module(&w, i);
	}
	rama_json_close(&w.j, ']');
	rama_json_key_i64(&w.j, "problems", s->log->problems);
	rama_json_close(&w.j, '}');
	return rc;
}
