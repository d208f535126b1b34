/* SPDX-License-Identifier: BSD-3-Clause */
#include "logfile/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "logfile/region.h"

int rama_log_problem(struct rama_log *log, int code, const char *fmt, ...)
{
	char line[sizeof(log->err.text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	log->problems++;
	if (log->opt.strict)
		return rama_err_set(&log->err, code, "%s", line);
	if (log->opt.problem != NULL)
		log->opt.problem(log->opt.ctx, line);
	return 0;
}

void rama_log_note(struct rama_log *log, const char *fmt, ...)
{
	char line[sizeof(log->err.text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (log->opt.note != NULL)
		log->opt.note(log->opt.ctx, line);
}

void rama_log_note_unknown(struct rama_log *log, unsigned module)
{
	rama_log_note(log, "module %u is not known; its %llu bytes are left out", module,
		      (unsigned long long)log->part[module].stored_len);
}

struct rama_log_hush rama_log_set_hush(struct rama_log *log)
{
	struct rama_log_hush before = { log->opt, log->problems };

	log->opt.problem = log->opt.note = NULL;
	return before;
}

void rama_log_unhush(struct rama_log *log, struct rama_log_hush before)
{
	log->opt = before.opt;
	log->problems = before.problems;
}

uint64_t rama_log_u64(const struct rama_log *log, const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return log->swap ? __builtin_bswap64(v) : v;
}

uint32_t rama_log_u32(const struct rama_log *log, const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return log->swap ? __builtin_bswap32(v) : v;
}

/* "3.41" -> 41; -1 if this is no version we know */
static int parse_version(const char *s)
{
	static const char *const known[] = { "3.00", "3.10", "3.20", "3.21", "3.41" };
	static const int minor[] = { 0, 10, 20, 21, 41 };

	for (unsigned i = 0; i < sizeof(minor) / sizeof(minor[0]); i++)
		if (strcmp(s, known[i]) == 0)
			return minor[i];
	return -1;
}

static int read_identity(struct rama_log *log, unsigned char *h, size_t have, struct rama_err *e)
{
	int minor;

	if (have < 24)
		return rama_err_set(e, RAMA_ETRUNC, "not a Darshan log: only %zu bytes", have);
	memcpy(log->version, h, 8);
	minor = parse_version(log->version);
	if (rama_log_u64(log, h + 8) != RAMA_LOG_MAGIC) {
		log->swap = true;
		if (rama_log_u64(log, h + 8) != RAMA_LOG_MAGIC)
			return rama_err_set(e, RAMA_EFORMAT,
					    "not a Darshan log: byte 8 is not its magic number");
	}
	if (minor < 0) {
		for (char *p = log->version; *p != '\0'; p++)
			if (*p < ' ' || *p > '~')
				*p = '?';
		return rama_err_set(
			e, RAMA_EVERSION,
			"log format '%s' is not known (3.00, 3.10, 3.20, 3.21 and 3.41 are)",
			log->version);
	}
	log->minor = (unsigned)minor;
	log->header_size = minor >= 41 ? RAMA_LOG_HEADER_NEW : RAMA_LOG_HEADER_OLD;
	log->compression = h[16];
	if (have < log->header_size)
		return rama_err_set(e, RAMA_ETRUNC, "header ends early: %zu of %u bytes", have,
				    log->header_size);
	if (log->compression > RAMA_LOG_PLAIN_BYTES)
		return rama_err_set(e, RAMA_ECORRUPT, "header: compression %u is not known",
				    log->compression);
	return 0;
}

/* modules were inserted in 3.20 (H5D, 4) and 3.41 (PNETCDF_VAR, 6): ids from there on moved up */
static void insert_module(struct rama_log *log, unsigned id)
{
	uint64_t below = (1ull << id) - 1;

	memmove(&log->part[id + 1], &log->part[id],
		(RAMA_TAB_MODULES - id - 1) * sizeof(log->part[0]));
	log->part[id] = (struct rama_log_part){ 0 };
	log->partial = (log->partial & below) | (log->partial & ~below) << 1;
}

static void read_maps(struct rama_log *log, const unsigned char *h)
{
	bool old = log->minor < 41;
	unsigned n = old ? 16 : RAMA_TAB_MODULES;
	const unsigned char *p = h + (old ? 24 : 32), *v = p + 16 + 16 * n;

	log->partial = old ? rama_log_u32(log, h + 20) : rama_log_u64(log, h + 24);
	log->name_part =
		(struct rama_log_part){ rama_log_u64(log, p), rama_log_u64(log, p + 8), 0, 0 };
	for (unsigned i = 0; i < n; i++) {
		p += 16;
		log->part[i] =
			(struct rama_log_part){ rama_log_u64(log, p), rama_log_u64(log, p + 8), 0,
						rama_log_u32(log, v + 4 * i) };
	}
	if (log->minor < 20)
		insert_module(log, 4);
	if (log->minor < 41)
		insert_module(log, 6);
}

/* The job region has no entry: it ends where the names or, without them, the first module begin. */
static void find_job(struct rama_log *log)
{
	uint64_t end = log->name_part.off;

	for (unsigned i = 0; i < RAMA_TAB_MODULES && end == 0; i++)
		end = log->part[i].off;
	if (end == 0)
		end = log->src->size;
	log->job_part = (struct rama_log_part){
		.off = log->header_size, .len = end > log->header_size ? end - log->header_size : 0
	};
}

/* no part of the file is read that is not there */
static int check_part(struct rama_log *log, struct rama_log_part *p, const char *what)
{
	uint64_t size = log->src->size;
	int rc = 0;

	p->stored_len = p->len;
	if (p->len == 0)
		return 0;
	if (p->off < log->header_size || p->off >= size) {
		rc = rama_log_problem(log, RAMA_ETRUNC,
				      "%s: its %llu bytes are said to be at byte %llu, but the "
				      "file has %llu bytes",
				      what, (unsigned long long)p->len, (unsigned long long)p->off,
				      (unsigned long long)size);
		p->len = 0;
	} else if (p->len > size - p->off) {
		rc = rama_log_problem(log, RAMA_ETRUNC, "%s: cut off, %llu of %llu bytes are there",
				      what, (unsigned long long)(size - p->off),
				      (unsigned long long)p->len);
		p->len = size - p->off;
	}
	return rc;
}

static int check_parts(struct rama_log *log)
{
	int rc = check_part(log, &log->job_part, "job data");

	if (rc == 0)
		rc = check_part(log, &log->name_part, "file names");
	for (unsigned i = 0; i < RAMA_TAB_MODULES && rc == 0; i++) {
		const struct rama_tab_module *m = rama_tab_module_get(i);
		char what[32];

		snprintf(what, sizeof(what), "module %u", i);
		rc = check_part(log, &log->part[i], m != NULL ? m->name : what);
	}
	return rc;
}

/* what our own logs say of processes that are not in them, or not to their end */
static void note_unfinished(struct rama_log *log)
{
	const char *key = strstr(log->job.metadata, RAMA_LOG_META_UNFINISHED);

	if (key != NULL)
		rama_log_note(log,
			      "%d of its processes did not end by themselves; the log holds what "
			      "they did until then",
			      (int)strtol(key + strlen(RAMA_LOG_META_UNFINISHED), NULL, 10));
	key = strstr(log->job.metadata, RAMA_LOG_META_UNPLACED);
	if (key != NULL)
		rama_log_note(
			log,
			"there was no room for the records of %lld processes; nothing of them is "
			"here",
			strtoll(key + strlen(RAMA_LOG_META_UNPLACED), NULL, 10));
	key = strstr(log->job.metadata, RAMA_LOG_META_MISSING);
	if (key != NULL)
		rama_log_note(log, "ranks that did not answer at the end are missing: %.*s",
			      (int)strcspn(key + strlen(RAMA_LOG_META_MISSING), "\n"),
			      key + strlen(RAMA_LOG_META_MISSING));
}

int rama_log_open(struct rama_log *log, struct rama_source *src, const struct rama_log_options *opt,
		  struct rama_err *e)
{
	unsigned char h[RAMA_LOG_HEADER_NEW];
	size_t have = src->size < sizeof(h) ? (size_t)src->size : sizeof(h);
	int rc;

	*log = (struct rama_log){ .src = src };
	if (opt != NULL)
		log->opt = *opt;
	rc = src->read(src->ctx, 0, h, have, e);
	if (rc == 0)
		rc = read_identity(log, h, have, e);
	if (rc != 0)
		return rc;
	read_maps(log, h);
	find_job(log);
	rc = check_parts(log);
	if (rc == 0)
		rc = rama_log_read_job(log);
	if (rc == 0)
		rc = rama_log_read_names(log);
	if (rc == 0) {
		note_unfinished(log);
		rama_log_annex_read(log);
	}
	if (rc != 0) {
		if (e != NULL)
			*e = log->err;
		rama_log_close(log);
	}
	return rc;
}

void rama_log_close(struct rama_log *log)
{
	rama_map_fini(&log->by_id);
	rama_arena_fini(&log->arena);
	free(log->names);
	log->names = NULL;
}

const struct rama_log_name *rama_log_name_get(const struct rama_log *log, uint64_t id)
{
	const uint64_t *at = rama_map_get(&log->by_id, id);

	return at != NULL ? &log->names[*at] : NULL;
}

const struct rama_log_mount *rama_log_mount_get(const struct rama_log *log, const char *name)
{
	for (size_t i = 0; i < log->n_mounts; i++)
		if (strncmp(log->mounts[i].path, name, log->mounts[i].path_len) == 0)
			return &log->mounts[i];
	return NULL;
}
