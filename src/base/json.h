/* SPDX-License-Identifier: BSD-3-Clause */
/* json.h: writes JSON as a stream; commas and nesting are kept right by it. */
#ifndef RAMA_BASE_JSON_H
#define RAMA_BASE_JSON_H

#include "base/out.h"

#define RAMA_JSON_DEPTH 32

struct rama_json {
	struct rama_out *out;
	unsigned depth;
	bool filled[RAMA_JSON_DEPTH]; /* the level has an element already */
	bool after_key;
};

void rama_json_init(struct rama_json *j, struct rama_out *out);
void rama_json_open(struct rama_json *j, char bracket);	 /* '{' or '[' */
void rama_json_close(struct rama_json *j, char bracket); /* '}' or ']' */
void rama_json_key(struct rama_json *j, const char *key);
/* bytes that are not UTF-8 become U+FFFD */
void rama_json_text(struct rama_json *j, const char *s, size_t n);
void rama_json_string(struct rama_json *j, const char *s);
void rama_json_i64(struct rama_json *j, int64_t v);
void rama_json_u64(struct rama_json *j, uint64_t v);
void rama_json_id(struct rama_json *j,
		  uint64_t v); /* as a string: readers may keep numbers as doubles */
void rama_json_f64(struct rama_json *j, double v); /* exact; null if not finite */
void rama_json_bool(struct rama_json *j, bool v);
void rama_json_null(struct rama_json *j);
/* bytes of the UTF-8 character at s, of which n bytes are there (at least one); 0: it is none */
size_t rama_utf8_length(const unsigned char *s, size_t n);
void rama_json_raw(struct rama_json *j, const char *text); /* a number that is JSON already */

/* key and value at once */
void rama_json_key_open(struct rama_json *j, const char *key, char bracket);
void rama_json_key_bool(struct rama_json *j, const char *key, bool v);
void rama_json_key_id(struct rama_json *j, const char *key, uint64_t v);
void rama_json_key_u64(struct rama_json *j, const char *key, uint64_t v);
void rama_json_key_i64(struct rama_json *j, const char *key, int64_t v);
void rama_json_key_f64(struct rama_json *j, const char *key, double v);
void rama_json_key_string(struct rama_json *j, const char *key, const char *v); /* NULL: null */

#endif
