/* SPDX-License-Identifier: BSD-3-Clause */
#include "logfile/convert.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "logfile/annex.h"

static void note(const struct rama_log_convert *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void note(const struct rama_log_convert *c, const char *fmt, ...)
{
	char line[256];
	va_list ap;

	if (c->note == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	c->note(c->ctx, line);
}

static void tell_progress(const struct rama_log_convert *c, const struct rama_log_cursor *cur)
{
	if (c->progress != NULL)
		c->progress(c->ctx, cur);
}

static bool wants(const struct rama_log_convert *c, unsigned module)
{
	return c->modules == 0 || (c->modules >> module & 1);
}

static bool keeps(const struct rama_log_convert *c, const struct rama_core_record *r)
{
	const struct rama_log_name *n = rama_log_name_get(c->log, r->w[RAMA_TAB_ID].u);

	if (c->keep == NULL || r->schema == r->mod->header)
		return true;
	return c->keep(c->ctx, r, n != NULL ? n->text : NULL);
}

static int copy_segments(struct rama_log_convert *c, struct rama_log_cursor *cur)
{
	union rama_core_word seg[512][RAMA_TAB_SEG_WORDS];
	unsigned kind;
	int n;

	while ((n = rama_log_cursor_segments(cur, seg, 512, &kind)) > 0) {
		if (rama_log_writer_segments(c->to, seg, (size_t)n) != 0)
			return c->to->err.code;
		tell_progress(c, cur);
	}
	return n;
}

static int copy_module(struct rama_log_convert *c, const struct rama_tab_module *mod)
{
	bool threads = rama_log_has_threads(c->log, mod->id), released = c->released || !threads;
	struct rama_log_short_trace cut = { 0 };
	struct rama_log_cursor cur;
	struct rama_core_record *r;
	int rc = mod->flags & RAMA_TAB_TRACE ? rama_log_short_trace_find(&cut, c->log, mod->id) : 0;

	if (rc < 0)
		return rc;
	rc = rama_log_cursor_open(&cur, c->log, mod->id);
	if (rc >= 0 &&
	    rama_log_writer_module(c->to, mod->id, released ? mod->released : mod->newest) != 0)
		rc = c->to->err.code;
	while (rc > 0 && (rc = rama_log_cursor_next(&cur, &r)) > 0) {
		if (!keeps(c, r))
			continue;
		rama_log_short_trace_apply(&cut, &cur, r);
		if (c->anon != NULL)
			rama_log_anon_record(c->anon, r);
		if (rama_log_writer_record(c->to, r) != 0)
			rc = c->to->err.code;
		else if ((mod->flags & RAMA_TAB_TRACE) && copy_segments(c, &cur) < 0)
			rc = c->log->err.code != 0 ? c->log->err.code : c->to->err.code;
		tell_progress(c, &cur);
	}
	rama_log_cursor_close(&cur);
	if (rc == 0 && threads && released)
		note(c, "%s: thread ids are dropped", mod->name);
	return rc;
}

/* A module that only the annex has room for. */
static int copy_ours(struct rama_log_convert *c, const struct rama_tab_module *mod)
{
	if (!c->released)
		return copy_module(c, mod);
	note(c, "%s is dropped: the released Darshan does not know it", mod->name);
	return 0;
}

static int copy_section(struct rama_log_convert *c, const struct rama_log_section *s)
{
	struct rama_log *log = c->log;
	unsigned char buf[8192];
	struct rama_log_region r;
	size_t n;
	int rc = rama_log_region_open(&r, log->src, s->off, s->len, log->compression);

	if (rc == 0)
		rc = rama_log_writer_section(c->to, s);
	while (rc == 0 && (n = rama_log_region_read(&r, buf, sizeof(buf))) > 0)
		rc = rama_log_writer_bytes(c->to, buf, n);
	if (rc == 0 && r.err.code != 0)
		rc = rama_log_problem(log, r.err.code, "section %u of the annex: %s", s->id,
				      r.err.text);
	rama_log_region_close(&r);
	return rc;
}

/* Sections that nobody here knows: as they are, if nothing else changes and nothing is to be
 * hidden. Numbers in them cannot be found, so that those of the other byte order stay behind. */
static int copy_unknown(struct rama_log_convert *c)
{
	struct rama_log *log = c->log;
	bool stay = c->anon != NULL || c->keep != NULL || c->released || log->swap;
	int rc = 0;

	for (unsigned i = 0; i < log->annex.n && rc == 0; i++) {
		const struct rama_log_section *s = &log->annex.section[i];

		if (rama_log_section_known(log, s) || rama_log_writer_has(c->to, s->id))
			continue;
		if (stay)
			rama_log_note_section(log, s, "left out");
		else
			rc = copy_section(c, s);
	}
	return rc;
}

static int note_used(struct rama_log_convert *c, uint64_t id)
{
	return rama_map_put(&c->used, id, NULL) != NULL ? 0 : RAMA_EMEMORY;
}

/* files that calls of a record name, which need not be those of any other */
static int note_files(struct rama_log_convert *c, const struct rama_core_record *r)
{
	int rc = note_used(c, r->w[RAMA_TAB_CALLS_HOST].u);

	for (uint64_t i = 0; rc == 0 && i < r->count[0]; i++)
		rc = note_used(c, r->array[0][i].u);
	return rc;
}

/* Names come before records in the file, so those that are needed have to be found first. */
static int find_used(struct rama_log_convert *c)
{
	struct rama_log_hush before = rama_log_set_hush(c->log);
	int rc = 0;

	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN && rc == 0; id++) {
		struct rama_log_cursor cur;
		struct rama_core_record *r;

		if (!wants(c, id))
			continue;
		rc = rama_log_cursor_open(&cur, c->log, id);
		while (rc > 0 && (rc = rama_log_cursor_next(&cur, &r)) > 0) {
			if (!keeps(c, r))
				continue;
			rc = note_used(c, r->w[RAMA_TAB_ID].u);
			for (unsigned i = 0; rc == 0 && i < *r->schema->n_fields; i++)
				if (r->schema->fields[i].place == RAMA_TAB_LAST)
					rc = note_used(c, r->w[r->schema->fields[i].word].u);
			if (rc == 0 && id == RAMA_TAB_MOD_POSIX)
				rc = note_used(c, r->w[RAMA_TAB_POSIX_RENAMED_FROM].u);
			if (rc == 0 && id == RAMA_TAB_MOD_EXTRA)
				rc = note_used(c, r->w[RAMA_TAB_EXTRA_RENAMED_FROM].u);
			if (rc == 0 && id == RAMA_TAB_MOD_EXTRA)
				rc = note_used(c, r->w[RAMA_TAB_EXTRA_STREAM].u);
			if (rc == 0 && id == RAMA_TAB_MOD_CALLS)
				rc = note_files(c, r);
			for (uint64_t i = 0; rc == 0 && id == RAMA_TAB_MOD_SITES && i < r->count[0];
			     i++)
				rc = note_used(c, r->array[0][8 * i].u);
			if (rc == 0)
				rc = 1;
		}
		rama_log_cursor_close(&cur);
	}
	rama_log_unhush(c->log, before);
	return rc;
}

static int copy_names(struct rama_log_convert *c)
{
	char to[RAMA_LOG_ANON_NAME];

	for (size_t i = 0; i < c->log->n_names; i++) {
		const struct rama_log_name *n = &c->log->names[i];

		if (c->keep != NULL && rama_map_get(&c->used, n->id) == NULL)
			continue;
		if (c->anon != NULL)
			rama_log_writer_name(c->to, rama_log_anon_id(c->anon, n->id), to,
					     rama_log_anon_name(c->anon, n->text, to));
		else
			rama_log_writer_name(c->to, n->id, n->text, n->len);
	}
	return c->to->err.code;
}

static int copy_job(struct rama_log_convert *c)
{
	struct rama_log_job job = c->log->job;
	char exe[64];

	/* Old formats count a started second as a whole one; the new one has nanoseconds. This
	 * keeps both the end in seconds and, to a nanosecond, the run time. */
	if (c->log->minor < 41)
		job.end_nsec = 999999999;
	if (c->anon != NULL)
		rama_log_anon_job(c->anon, &job, exe);
	if (c->edit != NULL && c->edit(c->ctx, &job) != 0)
		return RAMA_EUSAGE;
	return rama_log_writer_job(c->to, &job, c->log->mounts, c->log->n_mounts);
}

int rama_log_convert(struct rama_log_convert *c, uint64_t *partial)
{
	int rc = c->keep != NULL ? find_used(c) : 0;

	*partial = 0;
	if (rc == 0)
		rc = copy_job(c);
	if (rc == 0)
		rc = copy_names(c);
	for (unsigned id = 0; id < RAMA_TAB_MODULES && rc == 0; id++) {
		const struct rama_tab_module *mod = rama_tab_module_get(id);
		const struct rama_log_part *part = &c->log->part[id];

		if (!wants(c, id))
			continue;
		if (mod == NULL && part->len > 0)
			rama_log_note_unknown(c->log, id);
		else if (mod != NULL && part->version > 0)
			rc = id < RAMA_TAB_OURS ? copy_module(c, mod) : copy_ours(c, mod);
		*partial |= mod != NULL ? c->log->partial & 1ull << id : 0;
	}
	if (rc == 0)
		rc = copy_unknown(c);
	rama_map_fini(&c->used);
	return rc;
}
