/* SPDX-License-Identifier: BSD-3-Clause */
/* list.c: the list of what was made in a place. All ranks add lines to its end; one process
 * of a run, who leads there, has it locked as long as the run lasts, so that another run can
 * tell what is left of dead ones. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "emulate/own/own.h"
#include "emulate/own/place.h"
#include "emulate/pattern.h"

/* ---- lines ---------------------------------------------------------------------------------- */

static bool take_number(const char **at, uint64_t most, uint64_t *to)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*to = strtoull(*at, &end, 10);
	if (errno != 0 || *to > most || *end != ' ')
		return false;
	*at = end + 1;
	return true;
}

static bool take_run(const char **at, char run[RAMA_EMU_OWN_RUN + 1])
{
	size_t n = strspn(*at, "abcdefghijklmnopqrstuvwxyz0123456789");

	if (n != RAMA_EMU_OWN_RUN || (*at)[n] != ' ')
		return false;
	memcpy(run, *at, n);
	run[n] = '\0';
	*at += n + 1;
	return true;
}

/* A name is below the place, whatever the list says. */
static bool good_name(const char *name)
{
	if (name[0] == '\0' || name[0] == '/' || strlen(name) >= RAMA_EMU_OWN_PATH)
		return false;
	for (const char *at = name; at != NULL; at = strchr(at, '/')) {
		at += *at == '/';
		if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
			return false;
	}
	return true;
}

bool rama_emu_own_line_parse(const char *line, struct rama_emu_own_line *l)
{
	uint64_t born, changed, size;

	*l = (struct rama_emu_own_line){ 0 };
	if (strncmp(line, "in ", 3) == 0) {
		line += 3;
		l->kind = 'i';
		if (!take_run(&line, l->run))
			return false;
	} else if (strncmp(line, "file ", 5) == 0) {
		line += 5;
		l->kind = 'f';
		if (!take_number(&line, UINT64_MAX, &l->inode) ||
		    !take_number(&line, INT64_MAX, &born) ||
		    !take_number(&line, INT64_MAX, &changed) ||
		    !take_number(&line, INT64_MAX, &size) ||
		    !take_number(&line, UINT64_MAX, &l->device))
			return false;
		l->born = (int64_t)born;
		l->changed = (int64_t)changed;
		l->size = (int64_t)size;
	} else {
		return false;
	}
	l->name = line;
	return good_name(line);
}

int rama_emu_own_line_put(const struct rama_emu_own_line *l, char *to, size_t room)
{
	int n = l->kind == 'i'
			? snprintf(to, room, "in %s %s\n", l->run, l->name)
			: snprintf(to, room,
				   "file %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRIu64
				   " %s\n",
				   l->inode, l->born, l->changed, l->size, l->device, l->name);

	return n > 0 && (size_t)n < room ? n : -1;
}

/* ---- data ----------------------------------------------------------------------------------- */

#define BLOCK 65536
#define ENOUGH 2 /* cells that leave no doubt */

struct look {
	uint64_t who, version; /* of whole cells; who 0: none was found */
	unsigned cells;
	bool data; /* anything but zeros */
};

/* Whole cells tell their place in the file. That of the first one is 0, which other files hold
 * there too. */
static bool find_cells(struct look *l, const char *buf, size_t n, int64_t offset)
{
	uint64_t cell[4];

	for (size_t i = 0; i < n; i++)
		l->data |= buf[i] != 0;
	for (size_t i = 0; i + RAMA_EMU_CELL <= n; i += RAMA_EMU_CELL) {
		uint64_t place = (uint64_t)(offset + (int64_t)i) / RAMA_EMU_CELL;

		memcpy(cell, buf + i, sizeof(cell));
		if (place == 0 || cell[2] != place || cell[0] == 0)
			continue;
		if (l->cells == 0) {
			l->who = cell[0];
			l->version = cell[1];
		}
		l->cells += cell[0] == l->who;
	}
	return true;
}

/* Requests may begin and end within cells: what they did not write are zeros, all else is of the
 * unit and the place. */
static bool only_cells(struct look *l, const char *buf, size_t n, int64_t offset)
{
	unsigned char want[RAMA_EMU_CELL] = { 0 };

	memcpy(want, &l->who, sizeof(l->who));
	memcpy(want + 8, &l->version, sizeof(l->version));
	for (size_t i = 0; i < n; i++) {
		uint64_t place = (uint64_t)(offset + (int64_t)i) / RAMA_EMU_CELL;
		size_t at = i % RAMA_EMU_CELL;

		memcpy(want + 16, &place, sizeof(place));
		if (buf[i] != 0 && at < 24 && (unsigned char)buf[i] != want[at])
			return false;
	}
	return true;
}

/* All of it: what somebody has written into a large file may be a few bytes anywhere. */
static bool over_blocks(struct look *l, int fd, int64_t size,
			bool (*fn)(struct look *l, const char *buf, size_t n, int64_t offset))
{
	char buf[BLOCK];

	for (int64_t at = 0; at < size; at += BLOCK) {
		ssize_t n = pread(fd, buf, sizeof(buf), at);

		if (n <= 0 || !fn(l, buf, (size_t)n, at))
			return false;
	}
	return true;
}

bool rama_emu_own_data(int fd, int64_t size, bool *empty)
{
	struct look l = { 0 };

	if (!over_blocks(&l, fd, size, find_cells))
		return false;
	*empty = !l.data;
	return !l.data || (l.cells >= ENOUGH && over_blocks(&l, fd, size, only_cells));
}

/* ---- the list ------------------------------------------------------------------------------- */

#define TITLE "# files in this folder that iorama emulate made: it replaces and removes no others\n"
#define LINE_MOST (RAMA_EMU_OWN_PATH + 160)
#define TRIES 100

/* ---- opening -------------------------------------------------------------------------------- */

static int not_ours(const struct rama_emu_own_place *p, const char *why, struct rama_err *e)
{
	return rama_err_set(e, RAMA_EIO, "%.400s/" RAMA_EMU_OWN_LIST ": %s", p->dir, why);
}

int rama_emu_own_list_open(struct rama_emu_own_place *p, bool create, struct rama_err *e)
{
	int how = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (create ? O_CREAT : 0);
	struct rama_emu_own_id id;
	struct stat st;

	p->list = openat(p->fd, RAMA_EMU_OWN_LIST, how, 0644);
	if (p->list < 0 && (errno == EACCES || errno == EROFS) && !create)
		p->list = openat(p->fd, RAMA_EMU_OWN_LIST, (how & ~O_RDWR) | O_RDONLY);
	if (p->list < 0 && errno == ENOENT && !create)
		return 0;
	if (p->list < 0)
		return not_ours(p, strerror(errno), e);
	if (fstat(p->list, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 022) != 0 || st.st_nlink > 1) {
		close(p->list);
		p->list = -1;
		return not_ours(
			p, "others can change what it says, or it is no plain file of yours", e);
	}
	if (rama_emu_own_identify(p->list, "", &id) == 0)
		p->device = id.device;
	return 0;
}

void rama_emu_own_list_close(struct rama_emu_own_place *p)
{
	for (size_t i = 0; i < p->n; i++)
		free((void *)p->lines[i].name);
	for (size_t i = 0; i < p->n_left; i++)
		free(p->left[i].folder);
	free(p->lines);
	free(p->left);
	rama_map_fini(&p->by_name);
	p->lines = NULL;
	p->left = NULL;
	p->n = p->room = p->n_left = 0;
	p->read = 0;
	if (p->list >= 0)
		close(p->list);
	p->list = -1;
}

/* ---- reading -------------------------------------------------------------------------------- */

static int keep_left(struct rama_emu_own_place *p, const struct rama_emu_own_line *l)
{
	struct rama_emu_own_left *more = reallocarray(p->left, p->n_left + 1, sizeof(*more));
	char *folder = strdup(l->name);

	if (more != NULL)
		p->left = more;
	if (more == NULL || folder == NULL) {
		free(folder);
		return RAMA_EMEMORY;
	}
	memcpy(more[p->n_left].run, l->run, sizeof(l->run));
	more[p->n_left++].folder = folder;
	return 0;
}

static int keep_file(struct rama_emu_own_place *p, const struct rama_emu_own_line *l)
{
	bool fresh = false;
	uint64_t *at = rama_map_put(&p->by_name, rama_emu_pattern_unit(l->name), &fresh);
	char *name;

	if (at != NULL && *at != 0 && strcmp(p->lines[*at - 1].name, l->name) == 0) {
		name = (char *)p->lines[*at - 1].name;
		p->lines[*at - 1] = *l;
		p->lines[*at - 1].name = name;
		p->lines[*at - 1].fresh = p->since != INT64_MAX;
		return 0;
	}
	name = strdup(l->name);
	if (at == NULL || name == NULL || !RAMA_GROW(p->lines, p->room, p->n + 1)) {
		free(name);
		return RAMA_EMEMORY;
	}
	p->lines[p->n] = *l;
	p->lines[p->n].fresh = p->since != INT64_MAX;
	p->lines[p->n++].name = name;
	*at = p->n;
	return 0;
}

/* whole lines only: what another rank is about to write is read next time */
static int take_lines(struct rama_emu_own_place *p, char *text, size_t n)
{
	char *at = text, *end;
	int rc = 0;

	while (rc == 0 && (end = memchr(at, '\n', n - (size_t)(at - text))) != NULL) {
		struct rama_emu_own_line l;

		*end = '\0';
		if (rama_emu_own_line_parse(at, &l))
			rc = l.kind == 'f' ? keep_file(p, &l) : keep_left(p, &l);
		at = end + 1;
	}
	p->read += at - text;
	return rc;
}

int rama_emu_own_list_read(struct rama_emu_own_place *p)
{
	char *text = p->list >= 0 ? malloc(16 * LINE_MOST) : NULL;
	off_t before = -1;
	int rc = p->list < 0 || text != NULL ? 0 : RAMA_EMEMORY;

	while (rc == 0 && text != NULL && p->read != before) {
		ssize_t n = pread(p->list, text, (size_t)16 * LINE_MOST, p->read);

		before = p->read;
		if (n > 0)
			rc = take_lines(p, text, (size_t)n);
		if (n == 16 * LINE_MOST && p->read == before)
			p->read += n; /* no line of ours is so long */
	}
	free(text);
	return rc;
}

const struct rama_emu_own_line *rama_emu_own_list_find(struct rama_emu_own_place *p,
						       const char *name)
{
	const uint64_t *at = rama_map_get(&p->by_name, rama_emu_pattern_unit(name));

	if (at == NULL || strcmp(p->lines[*at - 1].name, name) != 0)
		return NULL;
	return &p->lines[*at - 1];
}

int rama_emu_own_list_add(struct rama_emu_own_place *p, const struct rama_emu_own_line *l)
{
	char text[LINE_MOST];
	int n = rama_emu_own_line_put(l, text, sizeof(text));

	if (n < 0 || p->list < 0)
		return RAMA_EIO;
	return write(p->list, text, (size_t)n) == n ? 0 : RAMA_EIO;
}

/* ---- who leads ------------------------------------------------------------------------------ */

static bool ends_as(const struct rama_emu_own_place *p, const char *folder, size_t n,
		    const char *last, const char *end)
{
	size_t len = strlen(last);

	if (len <= RAMA_EMU_OWN_PART || last[len - RAMA_EMU_OWN_PART] != '.' ||
	    strcmp(last + len - 5, end) != 0)
		return false;
	for (size_t i = 0; i < p->n_left; i++)
		if (strncmp(p->left[i].folder, folder, n) == 0 && p->left[i].folder[n] == '\0' &&
		    strncmp(last + len - RAMA_EMU_OWN_PART + 1, p->left[i].run, RAMA_EMU_OWN_RUN) ==
			    0)
			return true;
	return false;
}

bool rama_emu_own_list_left(const struct rama_emu_own_place *p, const char *folder, size_t n,
			    const char *last)
{
	return ends_as(p, folder, n, last, ".part");
}

/* A file that a killed run had taken out of the way to see what it is: it goes if it is ours, else
 * it has its name back; where that is not free it stays as it is. */
static void settle(struct rama_emu_own_place *p, int fd, const char *folder, const char *kept)
{
	size_t len = strlen(kept) - RAMA_EMU_OWN_PART;
	char last[NAME_MAX + 1], name[RAMA_EMU_OWN_PATH];
	struct rama_emu_own_way w = { .place = p, .last = kept, .fd = fd };
	struct rama_emu_own_id id;
	bool empty = true;
	int file;

	snprintf(last, sizeof(last), "%.*s", (int)len, kept);
	snprintf(name, sizeof(name), "%.4000s%s%s", strcmp(folder, ".") == 0 ? "" : folder,
		 strcmp(folder, ".") == 0 ? "" : "/", last);
	if (rama_emu_own_state(&w, &id, rama_emu_own_list_find(p, name)) == RAMA_EMU_OWN_OURS) {
		unlinkat(fd, kept, 0);
		return;
	}
	/* the list tells of the one that came after it */
	file = openat(fd, kept, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (file >= 0 && S_ISREG(id.mode) && id.uid == geteuid() && id.links == 1 &&
	    rama_emu_own_data(file, id.size, &empty) && !empty)
		unlinkat(fd, kept, 0);
	else if (len < RAMA_EMU_OWN_KEPT) /* else the name is not known */
		rama_emu_own_move(fd, kept, last);
	if (file >= 0)
		close(file);
}

/* how many files there are, or were, that are half-written or were taken out of the way */
static unsigned sweep(struct rama_emu_own *own, struct rama_emu_own_place *p, const char *folder,
		      bool away)
{
	unsigned found = 0;
	char path[2 * RAMA_EMU_OWN_PATH];
	struct rama_emu_own_way w;
	struct rama_emu_own_id id;
	struct dirent *at;
	int fd;
	DIR *d;

	snprintf(path, sizeof(path), "%s/%s/x", p->dir, strcmp(folder, ".") == 0 ? "" : folder);
	if (rama_emu_own_go(own, path, &w) != 0)
		return 0;
	fd = openat(w.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd >= 0 ? fdopendir(fd) : NULL;
	while (d != NULL && (at = readdir(d)) != NULL) {
		if (ends_as(p, folder, strlen(folder), at->d_name, ".kept")) {
			found++;
			if (away)
				settle(p, dirfd(d), folder, at->d_name);
		}
		if (rama_emu_own_list_left(p, folder, strlen(folder), at->d_name) &&
		    rama_emu_own_identify(dirfd(d), at->d_name, &id) == 0 && S_ISREG(id.mode) &&
		    id.uid == geteuid() && id.links == 1) {
			found++;
			if (away)
				unlinkat(dirfd(d), at->d_name, 0);
		}
	}
	if (d != NULL)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	rama_emu_own_back(&w);
	return found;
}

static void sweep_all(struct rama_emu_own *own, struct rama_emu_own_place *p)
{
	for (size_t i = 0; i < p->n_left; i++) {
		bool before = false;

		for (size_t k = 0; k < i && !before; k++)
			before = strcmp(p->left[k].folder, p->left[i].folder) == 0;
		if (!before)
			sweep(own, p, p->left[i].folder, true);
	}
}

/* The list may have been removed by its last user between open and lock. */
static bool is_named(const struct rama_emu_own_place *p)
{
	struct stat a, b;

	return fstat(p->list, &a) == 0 &&
	       fstatat(p->fd, RAMA_EMU_OWN_LIST, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int rama_emu_own_list_lead(struct rama_emu_own *own, struct rama_emu_own_place *p,
			   struct rama_err *e)
{
	int rc = 0;

	for (int i = 0; i < TRIES; i++) {
		rama_emu_own_list_close(p);
		rc = rama_emu_own_list_open(p, true, e);
		if (rc != 0)
			return rc;
		/* where files cannot be locked nobody knows who is alive: what is left stays */
		p->alone = flock(p->list, LOCK_EX | LOCK_NB) == 0;
		if (!p->alone)
			flock(p->list, LOCK_SH);
		if (is_named(p))
			break;
	}
	p->leads = true;
	if (rama_emu_own_list_read(p) != 0)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	if (p->read == 0 && write(p->list, TITLE, strlen(TITLE)) != (ssize_t)strlen(TITLE))
		return not_ours(p, strerror(errno), e);
	if (p->alone) {
		sweep_all(own, p);
		flock(p->list, LOCK_SH);
	}
	return 0;
}

/* ---- the end -------------------------------------------------------------------------------- */

/* All lines that are still true, in a new list; -1: there are none. */
static int write_anew(struct rama_emu_own *own, struct rama_emu_own_place *p, const char *temp)
{
	int fd = openat(p->fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
	char path[2 * RAMA_EMU_OWN_PATH], text[LINE_MOST];
	size_t kept = 0;
	bool bad;

	if (f == NULL) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	fputs(TITLE, f);
	for (size_t i = 0; i < p->n; i++) {
		const struct rama_emu_own_line *l = &p->lines[i];
		struct rama_emu_own_way w;
		struct rama_emu_own_id id;

		snprintf(path, sizeof(path), "%s/%s", p->dir, l->name);
		if (rama_emu_own_list_find(p, l->name) != l || rama_emu_own_go(own, path, &w) != 0)
			continue;
		if (w.place == p && rama_emu_own_state(&w, &id, l) == RAMA_EMU_OWN_OURS &&
		    rama_emu_own_line_put(l, text, sizeof(text)) > 0) {
			fputs(text, f);
			kept++;
		}
		rama_emu_own_back(&w);
	}
	bad = fflush(f) != 0;
	fclose(f);
	return bad ? 0 : kept > 0 ? 1 : -1;
}

/* Is anything left there, of whatever run, that a later one has to settle? */
static bool has_partial(struct rama_emu_own *own, struct rama_emu_own_place *p)
{
	for (size_t i = 0; i < p->n_left; i++)
		if (sweep(own, p, p->left[i].folder, false) > 0)
			return true;
	return false;
}

/* Have others than this run been here, which may have been killed? */
static bool has_others(const struct rama_emu_own *own, const struct rama_emu_own_place *p)
{
	for (size_t i = 0; i < p->n_left; i++)
		if (strncmp(p->left[i].run, own->run, RAMA_EMU_OWN_RUN) != 0)
			return true;
	return false;
}

void rama_emu_own_list_tidy(struct rama_emu_own *own, struct rama_emu_own_place *p, bool done)
{
	char temp[64];
	int rc;

	if ((done && !p->leads) || p->since == INT64_MAX || p->list < 0 ||
	    flock(p->list, LOCK_EX | LOCK_NB) != 0 || !is_named(p) ||
	    rama_emu_own_list_read(p) != 0 || (!done && has_partial(own, p)))
		return;
	/* Nobody else is at work, and the new list says nothing of runs that were killed. */
	if (done && has_others(own, p))
		sweep_all(own, p);
	snprintf(temp, sizeof(temp), RAMA_EMU_OWN_LIST ".%s", own->run);
	rc = write_anew(own, p, temp);
	if (rc < 0)
		unlinkat(p->fd, RAMA_EMU_OWN_LIST, 0);
	if (rc <= 0 || renameat(p->fd, temp, p->fd, RAMA_EMU_OWN_LIST) != 0)
		unlinkat(p->fd, temp, 0);
}
