/* SPDX-License-Identifier: BSD-3-Clause */
/* lines.h: a text file of a user, line by line, word by word. */
#ifndef RAMA_EMULATE_FORMAT_LINES_H
#define RAMA_EMULATE_FORMAT_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "config/text.h"

struct rama_emu_lines {
	struct rama_config_piece rest;
	unsigned long number; /* of the line handed out last, from 1 */
};

void rama_emu_lines_init(struct rama_emu_lines *l, const char *bytes, size_t n);
/* The next line without its end, blanks around it and comment (# at its start or after a blank);
 * may be empty. */
bool rama_emu_lines_next(struct rama_emu_lines *l, struct rama_config_piece *line);
/* cuts the next word off; false: no more */
bool rama_emu_word_next(struct rama_config_piece *line, struct rama_config_piece *word);
struct rama_config_piece rama_emu_piece_trim(struct rama_config_piece p);
/* "line 7: ..." */
int rama_emu_lines_error(const struct rama_emu_lines *l, struct rama_err *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Whole words only: "12", "1.5"; "12 s", "3 min", "1h"; false: no such thing. Not negative,
 * finite. */
bool rama_emu_word_number(struct rama_config_piece w, double *value);
bool rama_emu_word_seconds(struct rama_config_piece w, double *seconds);
bool rama_emu_word_size(struct rama_config_piece w, int64_t *bytes); /* 4096, 64KiB, 1.5 GB */

/* for %.*s: length that fits in a message */
#define RAMA_EMU_PIECE(w) (int)((w).n < 80 ? (w).n : 80), (w).p

/* Some editors begin a file with a mark of its encoding (EF BB BF): it says nothing here. */
void rama_emu_skip_mark(const char **bytes, size_t *n);

#endif
