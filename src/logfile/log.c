/* SPDX-License-Identifier: BSD-3-Clause */
#include "logfile/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/without.h"
#include "logfile/region.h"

/* ---- job ------------------------------------------------------------------------------------ */
/* The job region: who ran what, when, and the file systems that were mounted. */

static void read_numbers(struct rama_log *log, const unsigned char *p)
{
	struct rama_log_job *j = &log->job;
	bool old = log->minor < 41;

	j->uid = (int64_t)rama_log_u64(log, p);
	j->start_sec = (int64_t)rama_log_u64(log, p + 8);
	if (old) {
		j->end_sec = (int64_t)rama_log_u64(log, p + 16);
		p += 24;
	} else {
		j->start_nsec = (int64_t)rama_log_u64(log, p + 16);
		j->end_sec = (int64_t)rama_log_u64(log, p + 24);
		j->end_nsec = (int64_t)rama_log_u64(log, p + 32);
		p += 40;
	}
	j->nprocs = (int64_t)rama_log_u64(log, p);
	j->jobid = (int64_t)rama_log_u64(log, p + 8);
	memcpy(j->metadata, p + 16, RAMA_LOG_META_SIZE - 1);
	if (old) /* whole seconds: a job of less than one counts as one */
		j->run_time = (double)(int64_t)((uint64_t)j->end_sec - (uint64_t)j->start_sec + 1);
	else
		j->run_time = ((double)j->end_sec + (double)j->end_nsec / 1e9) -
			      ((double)j->start_sec + (double)j->start_nsec / 1e9);
}

static int by_length(const void *a, const void *b)
{
	const struct rama_log_mount *x = a, *y = b;

	if (x->path_len != y->path_len)
		return x->path_len < y->path_len ? 1 : -1;
	return x->order < y->order ? -1 : 1;
}

/* `line` is "type<tab>path", two words; NUL-terminated in place */
static bool split_mount(char *line, struct rama_log_mount *m)
{
	char *save = NULL, *type = strtok_r(line, " \t\r\v\f", &save),
	     *path = strtok_r(NULL, " \t\r\v\f", &save);

	*m = (struct rama_log_mount){ .type = type,
				      .path = path,
				      .path_len = path != NULL ? strlen(path) : 0 };
	return path != NULL;
}

static int read_text(struct rama_log *log, char *text)
{
	char *line = strchr(text, '\n');
	size_t lines = 1;

	log->job.exe = text;
	if (line == NULL)
		return 0;
	log->job.has_mount_lines = true;
	*line++ = '\0';
	for (const char *p = line; *p != '\0'; p++)
		lines += *p == '\n';
	log->mounts = rama_arena_alloc(&log->arena, lines * sizeof(*log->mounts));
	if (log->mounts == NULL)
		return rama_err_no_memory(&log->err);
	while (line != NULL) {
		char *next = strchr(line, '\n');

		if (next != NULL)
			*next++ = '\0';
		if (split_mount(line, &log->mounts[log->n_mounts])) {
			log->mounts[log->n_mounts].order = (unsigned)log->n_mounts;
			log->n_mounts++;
		}
		line = next;
	}
	qsort(log->mounts, log->n_mounts, sizeof(*log->mounts), by_length);
	return 0;
}

static int read_job(struct rama_log *log)
{
	size_t fixed = log->minor >= 41 ? RAMA_LOG_JOB_NEW : RAMA_LOG_JOB_OLD, n;
	unsigned char buf[RAMA_LOG_JOB_REGION + 1];
	struct rama_log_region r;
	char *text;
	int rc = 0;

	log->job.exe = "";
	if (rama_log_region_open(&r, log->src, log->job_part.off, log->job_part.len,
				 log->compression) != 0)
		return rama_err_no_memory(&log->err);
	memset(buf, 0, sizeof(buf));
	n = rama_log_region_read(&r, buf, RAMA_LOG_JOB_REGION);
	if (r.err.code != 0)
		rc = rama_log_problem(log, r.err.code, "job data: %s", r.err.text);
	else if (n < fixed)
		rc = rama_log_problem(log, RAMA_ETRUNC, "job data: ends early, %zu of %zu bytes", n,
				      fixed);
	rama_log_region_close(&r);
	if (rc != 0)
		return rc;
	read_numbers(log, buf);
	text = rama_arena_text(&log->arena, (char *)buf + fixed, strlen((char *)buf + fixed));
	if (text == NULL)
		return rama_err_no_memory(&log->err);
	return read_text(log, text);
}

/* ---- names ---------------------------------------------------------------------------------- */
/* The name region: record id -> file name. */

/* What all names may take in memory: real ones shrink 10 to 50 times when compressed, a hostile
 * stream a thousand times. */
#define NAMES_MAX(stored) ((64ull << 20) + 256 * (stored))
#define NAME_COST 64 /* of a name beside its text */

/* The first name of an id is kept, unless it is empty and a later one is not. */
static int keep(struct rama_log *log, uint64_t id, const char *text, size_t len, size_t *room)
{
	bool fresh;
	uint64_t *at = rama_map_put(&log->by_id, id, &fresh);
	struct rama_log_name *n;

	if (at == NULL)
		return RAMA_EMEMORY;
	if (fresh) {
		if (!RAMA_GROW(log->names, *room, log->n_names + 1))
			return RAMA_EMEMORY;
		*at = log->n_names++;
		log->names[*at] = (struct rama_log_name){ .id = id, .text = "" };
	}
	n = &log->names[*at];
	if (n->len == 0 && len > 0) {
		n->text = rama_arena_text(&log->arena, text, len);
		n->len = len;
		if (n->text == NULL)
			return RAMA_EMEMORY;
	}
	return 0;
}

/* Length of the text of the record at p and of the whole record; false if it is not complete. */
static bool measure(const struct rama_log *log, const unsigned char *p, size_t have,
		    size_t *text_at, size_t *text, size_t *whole)
{
	const unsigned char *nul;

	if (log->minor < 10) { /* 3.00: id, length, bytes */
		if (have < 12)
			return false;
		*text_at = 12;
		*text = rama_log_u32(log, p + 8);
		*whole = 12 + *text;
		return *whole <= have;
	}
	if (have < 9)
		return false;
	nul = memchr(p + 8, 0, have - 8);
	*text_at = 8;
	*text = nul != NULL ? (size_t)(nul - p) - 8 : have - 8;
	*whole = 8 + *text + 1;
	return nul != NULL;
}

struct found {
	const unsigned char *record;
	size_t text_at, text, whole;
};

/* 1: the next record is complete in memory; 0: no more, which was told if it is damage; negative */
static int find(struct rama_log *log, struct rama_log_region *r, struct found *f)
{
	size_t have, least = 1;

	while (least <= RAMA_LOG_REGION_PEEK) {
		f->record = rama_log_region_peek(r, least, &have);
		if (have == 0 || r->err.code != 0)
			break;
		if (measure(log, f->record, have, &f->text_at, &f->text, &f->whole))
			return 1;
		if (have < least)
			return rama_log_problem(log, RAMA_ETRUNC, "file names: name %zu ends early",
						log->n_names + 1);
		least = have < RAMA_LOG_REGION_PEEK ? RAMA_LOG_REGION_PEEK : have + 1;
	}
	if (least > RAMA_LOG_REGION_PEEK)
		return rama_log_problem(log, RAMA_ELIMIT, "file names: name %zu is too long",
					log->n_names + 1);
	/* what was decoded before the damage is still good */
	return have > 0 && measure(log, f->record, have, &f->text_at, &f->text, &f->whole);
}

static int read_all(struct rama_log *log, struct rama_log_region *r)
{
	struct found f = { 0 };
	size_t room = 0;
	uint64_t cost = 0;
	int rc;

	while ((rc = find(log, r, &f)) > 0) {
		const char *text = (const char *)f.record + f.text_at;

		rc = keep(log, rama_log_u64(log, f.record), text, strnlen(text, f.text), &room);
		if (rc != 0)
			return rama_err_set(&log->err, rc, "out of memory");
		rama_log_region_skip(r, f.whole);
		cost += f.whole + NAME_COST;
		if (cost > NAMES_MAX(log->name_part.len))
			return rama_log_problem(
				log, RAMA_ELIMIT,
				"file names: more than any real log has; %zu are kept",
				log->n_names);
	}
	return rc;
}

static int read_names(struct rama_log *log)
{
	struct rama_log_region r;
	int rc;

	if (log->name_part.len == 0)
		return 0;
	if (rama_log_region_open(&r, log->src, log->name_part.off, log->name_part.len,
				 log->compression) != 0)
		return rama_err_no_memory(&log->err);
	rc = read_all(log, &r);
	if (rc == 0 && r.err.code != 0)
		rc = rama_log_problem(log, r.err.code, "file names: %s", r.err.text);
	rama_log_region_close(&r);
	return rc;
}

/* ---- the log -------------------------------------------------------------------------------- */

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
#ifdef RAMA_WITHOUT_BZIP2
	if (log->compression == RAMA_LOG_BZIP2)
		return rama_err_without(e, "bzip2, which this log is compressed with");
#endif
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
		rc = read_job(log);
	if (rc == 0)
		rc = read_names(log);
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
