/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/report_paths.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/input.h"

static int no_memory(void)
{
	rama_complain("report", "out of memory");
	return 4;
}

/* each file once, however many ways lead to it */
static int add_file(struct rama_paths *p, const char *path, const struct stat *st)
{
	uint64_t key = (uint64_t)st->st_ino ^ (uint64_t)st->st_dev << 40;
	bool fresh = true;

	if (rama_map_put(&p->seen, key, &fresh) == NULL)
		return no_memory();
	if (!fresh)
		return 0;
	if (p->n == p->room) {
		size_t room = p->room == 0 ? 1024 : p->room * 2;
		char **bigger = realloc(p->path, room * sizeof(*bigger));

		if (bigger == NULL)
			return no_memory();
		p->path = bigger;
		p->room = room;
	}
	p->path[p->n] = rama_arena_text(&p->arena, path, strlen(path));
	return p->path[p->n++] != NULL ? 0 : no_memory();
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

static int visit(struct rama_paths *p, const FTSENT *f)
{
	switch (f->fts_info) {
	case FTS_F:
		p->unfinished += ends_with(f->fts_name, ".darshan_partial");
		return ends_with(f->fts_name, ".darshan") ? add_file(p, f->fts_path, f->fts_statp)
							  : 0;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		rama_complain(f->fts_path, "cannot be read: %s", strerror(f->fts_errno));
		p->unread++;
		return 0;
	default:
		return 0;
	}
}

static int walk(struct rama_paths *p, const char *dir)
{
	char *const roots[] = { (char *)dir, NULL };
	/* the directory itself may be a link; what is below it stays below it */
	FTS *t = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	FTSENT *f;
	int status = 0;

	if (t == NULL)
		return no_memory();
	while (status == 0 && (f = fts_read(t)) != NULL)
		status = visit(p, f);
	fts_close(t);
	return status;
}

static int add_one(struct rama_paths *p, const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0) {
		rama_complain(path, "cannot be opened: %s", strerror(errno));
		p->unread++;
		return 0;
	}
	return S_ISDIR(st.st_mode) ? walk(p, path) : add_file(p, path, &st);
}

static int read_list(struct rama_paths *p, const char *path)
{
	bool standard = strcmp(path, "-") == 0;
	FILE *f = standard ? stdin : fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	ssize_t n;
	int status = 0;

	if (f == NULL) {
		rama_complain(path, "cannot be opened: %s", strerror(errno));
		return 3;
	}
	while (status == 0 && (n = getline(&line, &size, f)) > 0) {
		while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
			line[--n] = '\0';
		if (n > 0)
			status = add_one(p, line);
	}
	if (ferror(f)) {
		rama_complain(path, "cannot be read: %s", strerror(errno));
		status = 3;
	}
	free(line);
	if (!standard)
		fclose(f);
	return status;
}

int rama_paths_add(struct rama_paths *p, const char *arg)
{
	return arg[0] == '@' ? read_list(p, arg + 1) : add_one(p, arg);
}

static int by_text(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

void rama_paths_sort(struct rama_paths *p)
{
	if (p->n > 0)
		qsort(p->path, p->n, sizeof(*p->path), by_text);
}

void rama_paths_fini(struct rama_paths *p)
{
	free(p->path);
	rama_map_fini(&p->seen);
	rama_arena_fini(&p->arena);
	*p = (struct rama_paths){ 0 };
}
