/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_own.c: lists of files that emulate made. What a line says stays below the directory of
 * the list and comes out as it went in. */
#include <stdlib.h>
#include <string.h>

#include "emulate/own/own.h"
#include "fuzz.h"

static void check_line(const char *line)
{
	static char put[RAMA_EMU_OWN_PATH + 200];
	struct rama_emu_own_line l, again;
	int n;

	if (!rama_emu_own_line_parse(line, &l))
		return;
	CHECK(l.name[0] != '\0' && l.name[0] != '/' && strlen(l.name) < RAMA_EMU_OWN_PATH);
	CHECK(strncmp(l.name, "../", 3) != 0 && strcmp(l.name, "..") != 0);
	CHECK(strstr(l.name, "/../") == NULL);
	CHECK(l.kind == 'i' ? strlen(l.run) == RAMA_EMU_OWN_RUN : l.born >= 0 && l.size >= 0);
	n = rama_emu_own_line_put(&l, put, sizeof(put));
	CHECK(n > 0 && put[n - 1] == '\n');
	put[n - 1] = '\0';
	CHECK(rama_emu_own_line_parse(put, &again));
	CHECK(again.kind == l.kind && again.inode == l.inode && again.device == l.device &&
	      again.born == l.born && again.changed == l.changed && again.size == l.size &&
	      strcmp(again.run, l.run) == 0 && strcmp(again.name, l.name) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *rest, *line;

	CHECK(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	rest = text;
	while ((line = strsep(&rest, "\n")) != NULL)
		check_line(line);
	free(text);
	return 0;
}
