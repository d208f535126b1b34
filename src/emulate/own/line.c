/* SPDX-License-Identifier: BSD-3-Clause */
/* own_line.c: the lines of a list, and what data of emulate look like. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulate/own/own.h"
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

#define BLOCK 4096
#define FIRST (1 << 20) /* bytes that are looked at one and all */
#define SAMPLES 256	/* blocks behind them */
#define ENOUGH 2	/* cells that leave no doubt */

struct look {
	uint64_t who; /* of whole cells; 0: none was found */
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
		if (l->cells == 0)
			l->who = cell[0];
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
	for (size_t i = 0; i < n; i++) {
		uint64_t place = (uint64_t)(offset + (int64_t)i) / RAMA_EMU_CELL;
		size_t at = i % RAMA_EMU_CELL;

		memcpy(want + 16, &place, sizeof(place));
		if (buf[i] != 0 && (at < 8 || (at >= 16 && at < 24)) &&
		    (unsigned char)buf[i] != want[at])
			return false;
	}
	return true;
}

static bool over_blocks(struct look *l, int fd, int64_t size,
			bool (*fn)(struct look *l, const char *buf, size_t n, int64_t offset))
{
	int64_t step = (size - FIRST) / SAMPLES / BLOCK * BLOCK;
	char buf[BLOCK];

	step = step > BLOCK ? step : BLOCK;
	for (int64_t at = 0; at < size; at += at < FIRST ? BLOCK : step) {
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
