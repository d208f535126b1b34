/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/paths.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"

int rama_study_paths_put(struct rama_study_paths *p, const char *path, struct rama_err *e)
{
	if (!RAMA_GROW(p->path, p->room, p->n + 1))
		return rama_err_no_memory(e);
	p->path[p->n] = rama_arena_text(&p->arena, path, strlen(path));
	return p->path[p->n++] != NULL ? 0 : rama_err_no_memory(e);
}

/* each file once, however many ways lead to it */
static int add_file(struct rama_study_paths *p, const char *path, const struct stat *st,
		    struct rama_err *e)
{
	uint64_t key = (uint64_t)st->st_ino ^ (uint64_t)st->st_dev << 40;
	bool fresh = true;

	if (rama_map_put(&p->seen, key, &fresh) == NULL)
		return rama_err_no_memory(e);
	return fresh ? rama_study_paths_put(p, path, e) : 0;
}

static void unread(struct rama_study_paths *p, const char *path, const char *what, int error)
{
	struct rama_err e;

	rama_err_set(&e, RAMA_EIO, "cannot be %s: %s", what, strerror(error));
	rama_study_problem(&p->told, path, e.text);
	p->unread++;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

static int visit(struct rama_study_paths *p, const FTSENT *f, struct rama_err *e)
{
	switch (f->fts_info) {
	case FTS_F:
		p->unfinished += ends_with(f->fts_name, ".darshan_partial");
		return ends_with(f->fts_name, ".darshan")
			       ? add_file(p, f->fts_path, f->fts_statp, e)
			       : 0;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		unread(p, f->fts_path, "read", f->fts_errno);
		return 0;
	default:
		return 0;
	}
}

static int walk(struct rama_study_paths *p, const char *dir, struct rama_err *e)
{
	char *const roots[] = { (char *)dir, NULL };
	/* the directory itself may be a link; what is below it stays below it */
	FTS *t = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	FTSENT *f;
	int rc = 0;

	if (t == NULL)
		return rama_err_no_memory(e);
	while (rc == 0 && (f = fts_read(t)) != NULL)
		rc = visit(p, f, e);
	fts_close(t);
	return rc;
}

static int add_one(struct rama_study_paths *p, const char *path, struct rama_err *e)
{
	struct stat st;

	if (stat(path, &st) != 0) {
		unread(p, path, "opened", errno);
		return 0;
	}
	return S_ISDIR(st.st_mode) ? walk(p, path, e) : add_file(p, path, &st, e);
}

static int bad_list(struct rama_study_paths *p, const char *path, const char *what,
		    struct rama_err *e)
{
	rama_err_set(e, RAMA_EMISSING, "cannot be %s: %s", what, strerror(errno));
	rama_study_problem(&p->told, path, e->text);
	return e->code;
}

static int read_list(struct rama_study_paths *p, const char *path, struct rama_err *e)
{
	bool standard = strcmp(path, "-") == 0;
	FILE *f = standard ? stdin : fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	ssize_t n;
	int rc = 0;

	if (f == NULL)
		return bad_list(p, path, "opened", e);
	while (rc == 0 && (n = getline(&line, &size, f)) > 0) {
		while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
			line[--n] = '\0';
		if (n > 0)
			rc = add_one(p, line, e);
	}
	if (rc == 0 && ferror(f))
		rc = bad_list(p, path, "read", e);
	free(line);
	if (!standard)
		fclose(f);
	return rc;
}

int rama_study_paths_add(struct rama_study_paths *p, const char *arg, struct rama_err *e)
{
	return arg[0] == '@' ? read_list(p, arg + 1, e) : add_one(p, arg, e);
}

static int by_text(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

void rama_study_paths_sort(struct rama_study_paths *p)
{
	if (p->n > 0)
		qsort(p->path, p->n, sizeof(*p->path), by_text);
}

void rama_study_paths_fini(struct rama_study_paths *p)
{
	free(p->path);
	rama_map_fini(&p->seen);
	rama_arena_fini(&p->arena);
	*p = (struct rama_study_paths){ 0 };
}
