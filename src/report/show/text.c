/* SPDX-License-Identifier: BSD-3-Clause */
/* text.c: the text form of darshan-parser, to the letter. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/show/show.h"
#include "base/grow.h"
#include "core/sum/summary.h"
#include "core/sum/total.h"

/* one module while it is printed */
struct section {
	struct rama_report_show *show;
	const struct rama_tab_module *mod;
	struct rama_report_items items;
	struct rama_core_total total;
	struct rama_core_summary summary;
	size_t *name_len; /* of each field */
	bool *wanted;	  /* each field passes the counter filter */
	bool any_filter;
	char prefix[96];
	size_t prefix_len;
	char *suffix; /* "\tname\tmount\ttype\n" */
	size_t suffix_len, suffix_room;
};

static void legend(struct rama_out *o, const struct rama_log *log,
		   const struct rama_tab_module *mod)
{
	rama_out_char(o, '\n');
	for (unsigned i = 0; i < rama_tab_n_legends; i++) {
		const struct rama_tab_legend *l = &rama_tab_legends[i];

		if (l->module == mod->id && l->from <= log->part[mod->id].version &&
		    log->part[mod->id].version <= l->to) {
			rama_out_text(o, l->line);
			rama_out_char(o, '\n');
		}
	}
}

/* prefix and suffix are the same for all lines of a record */
static int record_frame(struct section *s, const struct rama_core_record *r,
			const struct rama_report_place *c)
{
	size_t name = strlen(c->name), mount = strlen(c->mount), fs = strlen(c->fs),
	       need = name + mount + fs + 4;
	char *p = s->prefix;

	p = stpcpy(p, r->mod->name);
	*p++ = '\t';
	p = rama_put_i64(p, r->w[RAMA_TAB_RANK].i);
	*p++ = '\t';
	p = rama_put_u64(p, r->w[RAMA_TAB_ID].u);
	*p++ = '\t';
	s->prefix_len = (size_t)(p - s->prefix);
	if (!RAMA_GROW(s->suffix, s->suffix_room, need))
		return RAMA_EMEMORY;
	p = s->suffix;
	*p++ = '\t';
	p = mempcpy(p, c->name, name);
	*p++ = '\t';
	p = mempcpy(p, c->mount, mount);
	*p++ = '\t';
	p = mempcpy(p, c->fs, fs);
	*p++ = '\n';
	s->suffix_len = need;
	return 0;
}

static inline char *put_value(char *p, uint8_t type, union rama_core_word v)
{
	return type == RAMA_TAB_F64   ? rama_put_f64(p, v.f, 6)
	       : type == RAMA_TAB_U64 ? rama_put_u64(p, v.u)
				      : rama_put_i64(p, v.i);
}

/* a command line may hold what would end its column */
static void text_value(struct rama_out *o, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		rama_out_char(o, (unsigned char)s[i] < ' ' ? ' ' : s[i]);
}

static void item_line(void *ctx, const struct rama_report_item *item)
{
	struct section *s = ctx;
	struct rama_out *o = s->show->out;
	char *p;

	if (!rama_report_filter_counter(&s->show->filter, item->name))
		return;
	rama_out_bytes(o, s->prefix, s->prefix_len);
	rama_out_text(o, item->name);
	rama_out_char(o, '\t');
	if (item->type == RAMA_TAB_TEXT)
		text_value(o, item->text, item->text_len);
	else if ((p = rama_out_room(o, RAMA_F64_MAX)) != NULL)
		o->used += (size_t)(put_value(p, item->type, item->value) - p);
	rama_out_bytes(o, s->suffix, s->suffix_len);
}

/* the lines of a record that is only fields: most of all output comes from here */
static void field_lines(struct section *s, const struct rama_core_record *r, uint8_t place)
{
	struct rama_out *o = s->show->out;
	size_t frame = s->prefix_len + s->suffix_len + RAMA_F64_MAX + 80;

	for (unsigned i = 0; i < *r->schema->n_fields; i++) {
		const struct rama_tab_field *f = &r->schema->fields[i];
		char *p;

		if (f->place != place || !s->wanted[i])
			continue;
		p = rama_out_room(o, frame);
		if (p == NULL)
			return;
		p = mempcpy(p, s->prefix, s->prefix_len);
		p = mempcpy(p, f->name, s->name_len[i]);
		*p++ = '\t';
		p = put_value(p, f->type, r->w[f->word]);
		p = mempcpy(p, s->suffix, s->suffix_len);
		o->used = (size_t)(p - o->buf);
	}
}

static int print_record(void *ctx, struct rama_log_cursor *c, const struct rama_core_record *r)
{
	struct section *s = ctx;
	struct rama_report_place columns;
	int rc = 0;

	(void)c;
	if (s->show->base) {
		rama_report_place_of(&columns, s->show->log, r);
		rc = record_frame(s, r, &columns);
		if (rc != 0)
			return rc;
		if (s->mod->record->n_arrays > 0 || (s->mod->flags & RAMA_TAB_PLAIN)) {
			rama_report_items_each(&s->items, r);
		} else {
			field_lines(s, r, RAMA_TAB_COUNTER);
			field_lines(s, r, RAMA_TAB_LAST);
		}
	}
	if (s->show->total && (s->mod->flags & RAMA_TAB_TOTALS))
		rama_core_total_add(&s->total, r);
	if ((s->show->file || s->show->perf) && (s->mod->flags & RAMA_TAB_TOTALS))
		rc = rama_core_summary_add(&s->summary, r);
	return rc;
}

static void print_total(struct section *s)
{
	struct rama_out *o = s->show->out;

	legend(o, s->show->log, s->mod);
	rama_out_char(o, '\n');
	for (unsigned i = 0; i < *s->mod->record->n_fields; i++) {
		const struct rama_tab_field *f = &s->mod->record->fields[i];
		char *p;

		if (f->place != RAMA_TAB_COUNTER || !s->wanted[i])
			continue;
		rama_out_fmt(o, "total_%s: ", f->name);
		p = rama_out_room(o, RAMA_F64_MAX);
		if (p != NULL)
			o->used +=
				(size_t)(put_value(p,
						   f->type == RAMA_TAB_U64 ? RAMA_TAB_I64 : f->type,
						   s->total.w[f->word]) -
					 p);
		rama_out_char(o, '\n');
	}
}

static void print_files(struct section *s)
{
	static const char *const kind[] = { "total",	  "read_only", "write_only",
					    "read_write", "unique",    "shared" };
	struct rama_core_files k[RAMA_CORE_FILES_KINDS];
	struct rama_out *o = s->show->out;

	rama_core_summary_files(&s->summary, k);
	rama_out_text(
		o, "\n# Total file counts\n"
		   "# -----\n"
		   "# <file_type>: type of file access:\n"
		   "#    *read_only: file was only read\n"
		   "#    *write_only: file was only written\n"
		   "#    *read_write: file was read and written\n"
		   "#    *unique: file was opened by a single process only\n"
		   "#    *shared: file was accessed by a group of processes (maybe all processes)\n"
		   "# <file_count> total number of files of this type\n"
		   "# <total_bytes> total number of bytes moved to/from files of this type\n"
		   "# <max_byte_offset> maximum byte offset accessed for a file of this type\n"
		   "\n# <file_type> <file_count> <total_bytes> <max_byte_offset>\n");
	for (unsigned i = 0; i < RAMA_CORE_FILES_KINDS; i++)
		rama_out_fmt(o, "# %s: %lld %lld %lld\n", kind[i], (long long)k[i].files,
			     (long long)k[i].bytes, (long long)k[i].max_offset);
}

static void print_perf(struct section *s)
{
	struct rama_out *o = s->show->out;
	struct rama_core_perf p;

	rama_core_summary_perf(&s->summary, &p);
	rama_out_text(o, "\n# performance\n# -----------\n");
	rama_out_fmt(o, "# total_bytes: %lld\n", (long long)p.total_bytes);
	rama_out_text(
		o, "#\n# I/O timing for unique files (seconds):\n# ...........................\n");
	rama_out_fmt(o, "# unique files: slowest_rank_io_time: %f\n", p.slowest_io);
	rama_out_fmt(o, "# unique files: slowest_rank_meta_only_time: %f\n", p.slowest_meta);
	rama_out_fmt(o, "# unique files: slowest_rank_rw_only_time: %f\n", p.slowest_rw);
	rama_out_fmt(o, "# unique files: slowest_rank: %lld\n", (long long)p.slowest_rank);
	rama_out_text(
		o, "#\n# I/O timing for shared files (seconds):\n# ...........................\n");
	rama_out_fmt(o, "# shared files: time_by_slowest: %f\n", p.shared_time);
	rama_out_text(o, "#\n# Aggregate performance, including both shared and unique files:\n# "
			 "...........................\n");
	rama_out_fmt(o, "# agg_time_by_slowest: %f # seconds\n", p.time);
	rama_out_fmt(o, "# agg_perf_by_slowest: %f # MiB/s\n", p.mib_per_s);
}

static int section_init(struct section *s, struct rama_report_show *show,
			const struct rama_tab_module *mod)
{
	unsigned n = *mod->record->n_fields;
	union rama_core_word *w = calloc(mod->record->words, sizeof(*w));

	*s = (struct section){ .show = show, .mod = mod, .items = { .fn = item_line, .ctx = s } };
	s->name_len = calloc(n, sizeof(*s->name_len));
	s->wanted = calloc(n, sizeof(*s->wanted));
	if (w == NULL || s->name_len == NULL || s->wanted == NULL) {
		free(w);
		return RAMA_EMEMORY;
	}
	rama_core_total_init(&s->total, mod, w);
	rama_core_summary_init(&s->summary, mod);
	for (unsigned i = 0; i < n; i++) {
		s->name_len[i] = strlen(mod->record->fields[i].name);
		s->wanted[i] =
			rama_report_filter_counter(&show->filter, mod->record->fields[i].name);
	}
	return 0;
}

static void section_fini(struct section *s)
{
	rama_core_summary_fini(&s->summary);
	free(s->total.w);
	free(s->name_len);
	free(s->wanted);
	free(s->suffix);
}

static void print_banner(struct rama_report_show *show, const struct rama_tab_module *mod)
{
	static const char stars[] = "# *******************************************************\n";

	rama_out_fmt(show->out, "\n%s# %s module data\n%s", stars, mod->name, stars);
}

static int print_module(struct rama_report_show *show, const struct rama_tab_module *mod)
{
	struct section s;
	int rc;

	print_banner(show, mod);
	if (!rama_report_show_may_lack(show, mod))
		return RAMA_EMISSING;
	if (show->base) {
		legend(show->out, show->log, mod);
		rama_out_text(show->out,
			      "\n#<module>\t<rank>\t<record id>\t<counter>\t<value>\t<file "
			      "name>\t<mount pt>\t<fs type>\n");
	}
	rc = section_init(&s, show, mod);
	if (rc == 0)
		rc = rama_report_show_records(show, mod->id, print_record, &s);
	if (rc == 0 && (mod->flags & RAMA_TAB_TOTALS)) {
		if (show->total)
			print_total(&s);
		if (show->file)
			print_files(&s);
		if (show->perf)
			print_perf(&s);
	}
	section_fini(&s);
	return rc;
}

static void column_help(struct rama_out *o)
{
	rama_out_text(o, "\n# description of columns:\n"
			 "#   <module>: module responsible for this I/O record.\n"
			 "#   <rank>: MPI rank.  -1 indicates that the file is shared\n"
			 "#      across all processes and statistics are aggregated.\n"
			 "#   <record id>: hash of the record's file path\n"
			 "#   <counter name> and <counter value>: statistical counters.\n"
			 "#      A value of -1 indicates that Darshan could not monitor\n"
			 "#      that counter, and its value should be ignored.\n"
			 "#   <file name>: full file path for the record.\n"
			 "#   <mount pt>: mount point that the file resides on.\n"
			 "#   <fs type>: type of file system that the file resides on.\n");
}

int rama_report_show_text(struct rama_report_show *s)
{
	bool any = false;
	int rc = 0;

	rama_report_show_preamble(s);
	if (s->base)
		column_help(s->out);
	for (unsigned i = 0; i < RAMA_TAB_MODULES && rc == 0; i++) {
		const struct rama_tab_module *mod = rama_tab_module_get(i);

		if (s->log->part[i].stored_len == 0)
			continue;
		any = true;
		if (!rama_report_filter_module(&s->filter, i))
			continue;
		if (mod == NULL)
			rama_log_note_unknown(s->log, i);
		else if (!(mod->flags & RAMA_TAB_TRACE) &&
			 (s->base || (mod->flags & RAMA_TAB_TOTALS)))
			rc = print_module(s, mod);
	}
	if (!any)
		rama_out_text(s->out, "\n# no module data available.\n");
	return rc;
}
