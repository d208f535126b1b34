/* SPDX-License-Identifier: BSD-3-Clause */
#include "any/call.h"

#include <stddef.h>
#include <sys/syscall.h>

enum { NUMBERS = 512 };

/* calls that not every processor has */
#define MISSING(name) enum { SYS_##name = -1 };
#ifndef SYS_open
MISSING(open)
MISSING(creat)
MISSING(dup2)
MISSING(stat)
MISSING(lstat)
MISSING(access)
MISSING(chmod)
MISSING(chown)
MISSING(lchown)
MISSING(utime)
MISSING(utimes)
MISSING(futimesat)
MISSING(rename)
MISSING(unlink)
MISSING(rmdir)
MISSING(mkdir)
MISSING(mknod)
MISSING(link)
MISSING(symlink)
MISSING(readlink)
MISSING(getdents)
#endif

static const struct rama_any_call rows[] = {
#define ROW(fn_, op_, shape_, ...)    \
	{ .fn = RAMA_TAB_FN_##fn_,    \
	  .op = RAMA_TAB_OP_##op_,    \
	  .shape = RAMA_ANY_##shape_, \
	  __VA_ARGS__ },
#define CALL(name, number, fn_, ...) ROW(fn_, __VA_ARGS__)
#define CALL32(number, fn_, ...) ROW(fn_, __VA_ARGS__)
#include "any/calls.def"
#undef CALL
#undef CALL32
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static const int16_t numbers[ROWS][2] = {
#define CALL(name, number, ...) { SYS_##name, number },
#define CALL32(number, ...) { -1, number },
#include "any/calls.def"
#undef CALL
#undef CALL32
};

const struct rama_any_call *rama_any_call(uint64_t number, bool bits32)
{
	static uint8_t place[2][NUMBERS]; /* of a row, plus 1 */
	static bool made;

	_Static_assert(ROWS < UINT8_MAX, "rows fit the table");
	for (unsigned i = 0; !made && i < ROWS; i++)
		for (unsigned k = 0; k < 2; k++)
			if (numbers[i][k] >= 0 && numbers[i][k] < NUMBERS)
				place[k][numbers[i][k]] = (uint8_t)(i + 1);
	made = true;
	if (number >= NUMBERS || place[bits32][number] == 0)
		return NULL;
	return &rows[place[bits32][number] - 1];
}
