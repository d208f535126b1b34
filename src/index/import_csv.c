/* SPDX-License-Identifier: BSD-3-Clause */
/* import_csv.c: rows of CSV: the connector's, whose columns come in any order, and ours. Quotes
 * inside texts are doubled, or left as they are by writers that know no better. */
#include <errno.h>
#include <stdlib.h>

#include "index/import_stream.h"

enum column {
	C_NONE, /* not needed */
	C_PRODUCER,
	C_EXE,
	C_FILE,
	C_JOB_ID,
	C_LOST,
	C_MODULE,
	C_OP,
	C_RANK,
	C_RECORD,
	C_UID,
	C_SEG_DUR,
	C_SEG_LEN,
	C_SEG_OFF,
	C_SEG_TIMESTAMP,
	C_SEG_FAILED,
	C_JOB, /* from here on: ours alone */
	C_SEGMENT,
	C_LANE,
	C_TID,
	C_SEQ,
	C_FN,
	C_END,
	C_DUR,
	C_OFF,
	C_LEN,
	C_CALL,
	C_PARENT,
	C_FAILED,
	C_FILE_BYTES,
	COLUMNS
};

static const struct {
	const char *name;
	enum column column;
} names[] = {
	{ "ProducerName", C_PRODUCER },
	{ "exe", C_EXE },
	{ "file", C_FILE },
	{ "job_id", C_JOB_ID },
	{ "lost", C_LOST },
	{ "module", C_MODULE },
	{ "op", C_OP },
	{ "rank", C_RANK },
	{ "record_id", C_RECORD },
	{ "uid", C_UID },
	{ "seg:dur", C_SEG_DUR },
	{ "seg:len", C_SEG_LEN },
	{ "seg:off", C_SEG_OFF },
	{ "seg:timestamp", C_SEG_TIMESTAMP },
	{ "seg:failed", C_SEG_FAILED },
	{ "job", C_JOB },
	{ "segment", C_SEGMENT },
	{ "host", C_PRODUCER },
	{ "lane", C_LANE },
	{ "tid", C_TID },
	{ "seq", C_SEQ },
	{ "layer", C_MODULE },
	{ "fn", C_FN },
	{ "record", C_RECORD },
	{ "end_ns", C_END },
	{ "dur_ns", C_DUR },
	{ "off", C_OFF },
	{ "len", C_LEN },
	{ "call", C_CALL },
	{ "parent", C_PARENT },
	{ "failed", C_FAILED },
	{ "file_bytes", C_FILE_BYTES },
};

static const enum column connector_needs[] = { C_MODULE, C_OP, C_RECORD, C_SEG_DUR,
					       C_SEG_TIMESTAMP };
static const enum column own_needs[] = { C_JOB,	 C_SEGMENT, C_RANK, C_LANE, C_TID,    C_SEQ,
					 C_LOST, C_MODULE,  C_OP,   C_FN,   C_RECORD, C_END,
					 C_DUR,	 C_OFF,	    C_LEN,  C_CALL, C_PARENT, C_FAILED };

/* ---- cells ----------------------------------------------------------------------------------- */

enum split { SPLIT_DONE, SPLIT_OPEN /* ends inside quotes */, SPLIT_WRONG };

struct row {
	char *cell[RAMA_INDEX_IMPORT_COLUMNS];
	unsigned n;
};

/* A cell in quotes that begins behind *at; its text goes to `to`. Strict: a quote inside is
 * doubled; else every quote that no comma and no end follows is one. */
static enum split quoted_cell(const char *s, size_t n, size_t *at, char **to, bool strict)
{
	size_t i = *at;

	for (; i < n; i++) {
		bool last = i + 1 == n || s[i + 1] == ',';

		if (s[i] != '"') {
			*(*to)++ = s[i];
		} else if (strict && i + 1 < n && s[i + 1] == '"') {
			*(*to)++ = '"';
			i++;
		} else if (last) {
			*at = i + 1;
			return SPLIT_DONE;
		} else if (strict) {
			return SPLIT_WRONG;
		} else {
			*(*to)++ = '"';
		}
	}
	return SPLIT_OPEN;
}

/* to: n + RAMA_INDEX_IMPORT_COLUMNS + 1 bytes */
static enum split split(const char *s, size_t n, char *to, struct row *r, bool strict)
{
	size_t i = 0;

	for (r->n = 0;; i++) {
		enum split what = SPLIT_DONE;

		if (r->n == RAMA_INDEX_IMPORT_COLUMNS)
			return SPLIT_WRONG;
		r->cell[r->n++] = to;
		if (i < n && s[i] == '"') {
			i++;
			what = quoted_cell(s, n, &i, &to, strict);
		} else {
			while (i < n && s[i] != ',')
				*to++ = s[i++];
		}
		if (what != SPLIT_DONE)
			return what;
		*to++ = '\0';
		if (i >= n)
			return SPLIT_DONE;
	}
}

/* ---- header ---------------------------------------------------------------------------------- */

static enum column find_column(const char *name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].column;
	return C_NONE;
}

static bool has_all(const bool *seen, const enum column *needs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!seen[needs[i]])
			return false;
	return true;
}

bool rama_index_import_csv_header(struct rama_index_import *im, const char *line, size_t n)
{
	char text[4096];
	bool seen[COLUMNS] = { false };
	short column[RAMA_INDEX_IMPORT_COLUMNS];
	struct row r;

	if (n > 0 && line[0] == '#') {
		line++;
		n--;
	}
	if (n + RAMA_INDEX_IMPORT_COLUMNS + 1 > sizeof(text) ||
	    split(line, n, text, &r, true) != SPLIT_DONE)
		return false;
	for (unsigned i = 0; i < r.n; i++) {
		column[i] = (short)find_column(r.cell[i]);
		if (column[i] != C_NONE && seen[column[i]])
			return false;
		seen[column[i]] = true;
	}
	im->own = has_all(seen, own_needs, sizeof(own_needs) / sizeof(own_needs[0]));
	if (!im->own &&
	    !has_all(seen, connector_needs, sizeof(connector_needs) / sizeof(connector_needs[0])))
		return false;
	memcpy(im->column, column, r.n * sizeof(column[0]));
	im->n_columns = r.n;
	return true;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* the cells of a row by what they are; `wrong`: name of the first that is not as it must be */
struct cells {
	const char *at[COLUMNS];
	const char *wrong;
};

static void complain(struct cells *c, enum column k)
{
	for (size_t i = 0; c->wrong == NULL && i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].column == k)
			c->wrong = names[i].name;
}

/* whole numbers; those of unsigned columns may have become negative on their way */
static int64_t get_i64(struct cells *c, enum column k, int64_t otherwise)
{
	const char *s = c->at[k];
	int64_t v;
	char *end;

	if (s == NULL)
		return otherwise;
	errno = 0;
	v = s[0] == '-' ? strtoll(s, &end, 10) : (int64_t)strtoull(s, &end, 10);
	if (errno != 0 || end == s || *end != '\0' || strchr("-0123456789", s[0]) == NULL)
		complain(c, k);
	return v;
}

static uint32_t get_u32(struct cells *c, enum column k)
{
	int64_t v = get_i64(c, k, 0);

	if (v < 0 || v > UINT32_MAX)
		complain(c, k);
	return (uint32_t)v;
}

static int64_t get_seconds(struct cells *c, enum column k)
{
	const char *s = c->at[k] != NULL ? c->at[k] : "";
	int64_t ns = 0;
	char *end;
	double v = strtod(s, &end);

	if (end == s || *end != '\0' || strchr("-.0123456789", s[0]) == NULL ||
	    !rama_index_import_seconds(v, &ns))
		complain(c, k);
	return ns;
}

static const char *told(const char *text)
{
	return text == NULL || strcmp(text, "N/A") == 0 ? NULL : text;
}

/* of a column that the header was asked for */
static const char *get_text(const struct cells *c, enum column k)
{
	return c->at[k] != NULL ? c->at[k] : "";
}

static void connector_cells(struct cells *c, struct rama_index_import_event *x)
{
	x->exe = told(c->at[C_EXE]);
	x->path = told(c->at[C_FILE]);
	x->uid = get_i64(c, C_UID, 0);
	x->jobid = get_i64(c, C_JOB_ID, 0);
	x->ev.end = get_seconds(c, C_SEG_TIMESTAMP);
	x->ev.dur = get_seconds(c, C_SEG_DUR);
	x->ev.off = get_i64(c, C_SEG_OFF, -1);
	x->ev.bytes = get_i64(c, C_SEG_LEN, -1);
	x->ev.failed = get_i64(c, C_SEG_FAILED, 0) != 0;
	if (!rama_index_import_what(&x->what, get_text(c, C_MODULE), get_text(c, C_OP), ""))
		complain(c, C_MODULE);
	rama_index_import_places(x);
}

static void own_cells(struct cells *c, struct rama_index_import_event *x,
		      struct rama_wire_segment_key *k, char **bytes)
{
	size_t n;

	x->segment = k;
	x->has_seq = true;
	x->job = get_text(c, C_JOB);
	x->uid = strtoll(x->job, NULL, 10);
	x->path = get_text(c, C_FILE)[0] != '\0' ? c->at[C_FILE] : NULL;
	x->lane = get_u32(c, C_LANE);
	x->tid = get_u32(c, C_TID);
	x->seq = (uint64_t)get_i64(c, C_SEQ, 0);
	x->ev.end = get_i64(c, C_END, 0);
	x->ev.dur = get_i64(c, C_DUR, 0);
	x->ev.off = get_i64(c, C_OFF, 0);
	x->ev.bytes = get_i64(c, C_LEN, 0);
	x->ev.call = get_u32(c, C_CALL);
	x->ev.parent = get_u32(c, C_PARENT);
	x->ev.failed = get_u32(c, C_FAILED) != 0;
	if (!rama_index_import_segment(get_text(c, C_SEGMENT), k))
		complain(c, C_SEGMENT);
	if (!rama_index_import_what(&x->what, get_text(c, C_MODULE), get_text(c, C_OP),
				    get_text(c, C_FN)))
		complain(c, C_MODULE);
	if (get_text(c, C_FILE_BYTES)[0] != '\0') {
		if ((*bytes = rama_index_import_unhex(get_text(c, C_FILE_BYTES), &n)) == NULL)
			complain(c, C_FILE_BYTES);
		else
			x->path = *bytes;
	}
}

static int take_row(struct rama_index_import *im, const struct row *r,
		    struct rama_index_import_bad *bad)
{
	struct rama_index_import_event x = { 0 };
	struct cells c = { .wrong = NULL };
	struct rama_wire_segment_key k;
	char *bytes = NULL;
	int rc = 1;

	for (unsigned i = 0; i < r->n; i++)
		c.at[im->column[i]] = r->cell[i];
	c.at[C_NONE] = NULL;
	x.host = c.at[C_PRODUCER];
	x.rank = get_i64(&c, C_RANK, 0);
	x.lost = (uint64_t)get_i64(&c, C_LOST, 0);
	x.ev.record = (uint64_t)get_i64(&c, C_RECORD, 0);
	if (im->own)
		own_cells(&c, &x, &k, &bytes);
	else
		connector_cells(&c, &x);
	x.path_len = x.path != NULL ? strlen(x.path) : 0;
	if (c.wrong != NULL)
		snprintf(bad->why, sizeof(bad->why), "'%s' is wrong", c.wrong);
	else
		rc = rama_index_import_event(im, &x, bad);
	free(bytes);
	return rc;
}

int rama_index_import_csv(struct rama_index_import *im, const char *line, size_t n, bool *more,
			  struct rama_index_import_bad *bad)
{
	char *text = malloc(n + RAMA_INDEX_IMPORT_COLUMNS + 1);
	enum split what;
	struct row r;
	int rc = 1;

	*more = false;
	if (text == NULL)
		return rama_err_set(im->e, RAMA_EMEMORY, "%s: no memory to import it",
				    im->src->name);
	what = split(line, n, text, &r, true);
	if ((what != SPLIT_DONE || r.n != im->n_columns) &&
	    (split(line, n, text, &r, false) != SPLIT_DONE || r.n != im->n_columns)) {
		*more = what == SPLIT_OPEN;
		snprintf(bad->why, sizeof(bad->why), "not %u columns", im->n_columns);
	} else {
		rama_index_import_identify(im, line, n);
		rc = take_row(im, &r, bad);
	}
	free(text);
	return rc;
}
