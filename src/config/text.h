/* SPDX-License-Identifier: BSD-3-Clause */
/* text.h: words put one after the other into memory of the caller, without stdio. */
#ifndef RAMA_CONFIG_TEXT_H
#define RAMA_CONFIG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rama_config_text {
	char *p;	  /* a NUL always follows the text */
	size_t room, len; /* room counts the NUL */
	bool cut;	  /* something did not fit */
};

/* room must not be 0 */
void rama_config_text_init(struct rama_config_text *t, char *p, size_t room);
void rama_config_text_put(struct rama_config_text *t, const char *s, size_t n);
void rama_config_text_str(struct rama_config_text *t, const char *s);
void rama_config_text_u64(struct rama_config_text *t, uint64_t v);
void rama_config_text_i64(struct rama_config_text *t, int64_t v);

/* a piece of somebody else's text */
struct rama_config_piece {
	const char *p;
	size_t n;
};

bool rama_config_piece_is(struct rama_config_piece w, const char *s);
/* Cuts the next item off `from`: what stands before the next `sep`. false: nothing is left. */
bool rama_config_piece_next(struct rama_config_piece *from, char sep,
			    struct rama_config_piece *item);

/* Decimal number at the start, with sign, fraction and exponent; bytes it takes, 0 if there is
 * none. */
size_t rama_config_piece_number(struct rama_config_piece w, double *value);
/* Whole number at the start, with sign; blanks before it are skipped. Bytes, 0 if there is none.
 * What is larger than any int64_t becomes the largest. */
size_t rama_config_piece_integer(struct rama_config_piece w, int64_t *value);
/* bytes with a unit: 4096, 64K, 64KiB (1024 each), 64KB (1000 each), 1.5G; false: no such thing */
bool rama_config_piece_size(struct rama_config_piece w, uint64_t *bytes);

#endif
