/* SPDX-License-Identifier: BSD-3-Clause */
/* names.c: the name region: record id -> file name. */
#include <stdlib.h>
#include <string.h>

#include "logfile/log.h"
#include "logfile/region.h"

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
		if (log->n_names == *room) {
			size_t more = *room == 0 ? 16 : *room * 2;

			n = realloc(log->names, more * sizeof(*n));
			if (n == NULL)
				return RAMA_EMEMORY;
			log->names = n;
			*room = more;
		}
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

int rama_log_read_names(struct rama_log *log)
{
	struct rama_log_region r;
	int rc;

	if (log->name_part.len == 0)
		return 0;
	if (rama_log_region_open(&r, log->src, log->name_part.off, log->name_part.len,
				 log->compression) != 0)
		return rama_err_set(&log->err, RAMA_EMEMORY, "out of memory");
	rc = read_all(log, &r);
	if (rc == 0 && r.err.code != 0)
		rc = rama_log_problem(log, r.err.code, "file names: %s", r.err.text);
	rama_log_region_close(&r);
	return rc;
}
