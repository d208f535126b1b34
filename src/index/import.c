/* SPDX-License-Identifier: BSD-3-Clause */
/* import.c: the lines of a file, what kind of file it is, and what becomes of bad lines. */
#include "index/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/grow.h"
#include "index/import_stream.h"

#define CHUNK (256u << 10)
#define JOINED 64 /* lines of one row of CSV, at most */

/* ---- lines ----------------------------------------------------------------------------------- */

struct lines {
	struct rama_index_import *im;
	char *buf;
	size_t at, n, room; /* the unread bytes are buf[at .. n) */
	bool end;
};

static int fill(struct lines *l)
{
	int64_t got;

	if (l->at > 0) {
		memmove(l->buf, l->buf + l->at, l->n - l->at);
		l->n -= l->at;
		l->at = 0;
	}
	if (!RAMA_GROW(l->buf, l->room, l->n + CHUNK))
		return rama_err_set(l->im->e, RAMA_EMEMORY, "%s: no memory to import it",
				    l->im->src->name);
	got = l->im->src->read(l->im->src->from, l->buf + l->n, CHUNK, l->im->e);
	if (got < 0)
		return (int)got;
	l->n += (size_t)got;
	l->end = got == 0;
	return 0;
}

/* Where the line ends that goes on `from` bytes behind the first unread one: *length bytes from
 * there without the '\n', or from the first unread one to the end. Returns 1; 0: there is none;
 * 2: it is longer than any real one. */
static int find_end(struct lines *l, size_t from, size_t *length)
{
	for (;;) {
		char *nl = l->n - l->at > from
				   ? memchr(l->buf + l->at + from, '\n', l->n - l->at - from)
				   : NULL;
		int rc;

		if (nl != NULL || l->end) {
			*length = nl != NULL ? (size_t)(nl - l->buf) - l->at : l->n - l->at;
			return *length > from || nl != NULL ? 1 : 0;
		}
		if (l->n - l->at - (l->n - l->at > from ? from : 0) > RAMA_INDEX_IMPORT_LINE)
			return 2;
		if ((rc = fill(l)) < 0)
			return rc;
	}
}

/* the rest of a line that is too long */
static int skip_long(struct lines *l)
{
	for (;;) {
		char *nl = memchr(l->buf + l->at, '\n', l->n - l->at);
		int rc;

		l->at = nl != NULL ? (size_t)(nl - l->buf) + 1 : l->n;
		if (nl != NULL || l->end)
			return 0;
		if ((rc = fill(l)) < 0)
			return rc;
	}
}

static void take_line(struct lines *l, size_t length)
{
	l->at += length < l->n - l->at ? length + 1 : length;
}

/* ---- what becomes of them
 * ---------------------------------------------------------------------------------------------- */

void rama_index_import_identify(struct rama_index_import *im, const char *line, size_t n)
{
	if (im->has_identity)
		return;
	im->identity = rama_index_import_hash(line, n, 0);
	im->has_identity = true;
}

static void tell_bad(struct rama_index_import *im, const char *why)
{
	char line[640];

	im->t->bad++;
	if (im->opt->tell == NULL || im->t->bad > RAMA_INDEX_IMPORT_TOLD)
		return;
	snprintf(line, sizeof(line), "%.400s:%llu: %s", im->src->name, (unsigned long long)im->line,
		 why);
	im->opt->tell(im->opt->ctx, line);
	if (im->t->bad == RAMA_INDEX_IMPORT_TOLD)
		im->opt->tell(im->opt->ctx, "further bad lines are counted only");
}

static size_t trimmed(const char *s, size_t n)
{
	while (n > 0 && (s[n - 1] == '\r' || s[n - 1] == ' '))
		n--;
	return n;
}

/* A row of CSV, which may go on in the next lines; *used: bytes of all of them. */
static int csv_row(struct lines *l, size_t *used, struct rama_index_import_bad *bad)
{
	struct rama_index_import *im = l->im;
	size_t length = *used;
	unsigned joined = 0;
	bool more;
	int rc = rama_index_import_csv(im, l->buf + l->at, trimmed(l->buf + l->at, length), &more,
				       bad),
	    found;

	while (rc == 1 && more && ++joined < JOINED && length < 4 * RAMA_WIRE_MSG_TEXT) {
		size_t next;

		if ((found = find_end(l, length + 1, &next)) != 1)
			return found < 0 ? found : 1;
		length = next;
		if ((rc = rama_index_import_csv(im, l->buf + l->at, trimmed(l->buf + l->at, length),
						&more, bad)) == 1)
			continue;
		im->line += joined;
		im->t->lines += joined;
		*used = length;
	}
	return rc;
}

/* The first line says what the file is. */
static int begin(struct rama_index_import *im, const char *s, size_t n)
{
	if (n > 0 && s[0] == '{')
		im->csv = 0;
	else if (rama_index_import_csv_header(im, s, n))
		im->csv = 1;
	else
		return rama_err_set(
			im->e, RAMA_EFORMAT,
			"%s:%llu: neither JSON nor a line of column names that is known",
			im->src->name, (unsigned long long)im->line);
	im->begun = true;
	return 0;
}

/* One line; 1: it is bad. *used may grow. */
static int one_line(struct lines *l, size_t *used, struct rama_index_import_bad *bad)
{
	struct rama_index_import *im = l->im;
	const char *s = l->buf + l->at;
	size_t n = trimmed(s, *used);
	int rc;

	if (!im->begun && n >= 3 &&
	    memcmp(s, "\xef\xbb\xbf", 3) == 0) { /* a mark that some editors leave */
		s += 3;
		n -= 3;
	}
	if (n == 0)
		return 0;
	if (memchr(s, '\0', n) != NULL) {
		snprintf(bad->why, sizeof(bad->why), "a byte of value 0");
		return 1;
	}
	if (!im->begun) {
		if ((rc = begin(im, s, n)) < 0 || im->csv)
			return rc;
	}
	if (!im->csv)
		return rama_index_import_json(im, s, n, bad);
	if (s[0] == '#') { /* another file was appended */
		snprintf(bad->why, sizeof(bad->why), "not a line of column names that is known");
		return rama_index_import_csv_header(im, s, n) ? 0 : 1;
	}
	return csv_row(l, used, bad);
}

static int all_lines(struct lines *l)
{
	struct rama_index_import *im = l->im;
	int rc = 0;

	for (;;) {
		struct rama_index_import_bad bad = { "" };
		size_t used = 0;
		int found = find_end(l, 0, &used);

		if (found <= 0)
			return found;
		im->line++;
		im->t->lines++;
		if (found == 2) {
			tell_bad(im, "longer than any real line");
			if ((rc = skip_long(l)) < 0)
				return rc;
			continue;
		}
		if ((rc = one_line(l, &used, &bad)) < 0)
			return rc;
		if (rc > 0)
			tell_bad(im, bad.why);
		take_line(l, used);
	}
}

int rama_index_import(const struct rama_index_import_source *s,
		      const struct rama_index_import_options *o, struct rama_index_import_totals *t,
		      struct rama_err *e)
{
	struct rama_err own = { 0 };
	struct rama_index_import im = { .src = s, .opt = o, .t = t, .e = e != NULL ? e : &own };
	struct lines l = { .im = &im };
	int rc;

	memset(t, 0, sizeof(*t));
	im.block = malloc(sizeof(*im.block));
	if (im.block != NULL) {
		im.block->n = RAMA_WIRE_BLOCK_EVENTS;
		im.block->n_whats = RAMA_WIRE_BLOCK_WHATS;
		im.packed_room = rama_wire_block_room(im.block);
		im.packed = malloc(im.packed_room);
	}
	rc = im.packed == NULL
		     ? rama_err_set(im.e, RAMA_EMEMORY, "%s: no memory to import it", s->name)
		     : all_lines(&l);
	if (rc >= 0)
		rc = rama_index_import_finish(&im);
	if (rc >= 0 && t->bad > 0)
		rc = rama_err_set(im.e, RAMA_ECORRUPT,
				  "%s: %llu of %llu lines are bad and were left out", s->name,
				  (unsigned long long)t->bad, (unsigned long long)t->lines);
	free(l.buf);
	rama_index_import_fini(&im);
	return rc;
}

/* ---- files ----------------------------------------------------------------------------------- */

struct file {
	const char *path;
	int fd;
};

static int64_t read_file(void *from, void *to, size_t n, struct rama_err *e)
{
	struct file *f = from;
	ssize_t got;

	do {
		got = read(f->fd, to, n);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? rama_err_set(e, RAMA_EIO, "%s: %s", f->path, strerror(errno)) : got;
}

int rama_index_import_file(const char *path, const struct rama_index_import_options *o,
			   struct rama_index_import_totals *t, struct rama_err *e)
{
	bool in = strcmp(path, "-") == 0;
	struct file f = { in ? "standard input" : path,
			  in ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC) };
	struct rama_index_import_source s = { f.path, read_file, &f };
	int rc;

	memset(t, 0, sizeof(*t));
	if (f.fd < 0)
		return rama_err_set(e, errno == ENOENT ? RAMA_EMISSING : RAMA_EIO, "%s: %s", path,
				    strerror(errno));
	rc = rama_index_import(&s, o, t, e);
	if (!in)
		close(f.fd);
	return rc;
}
