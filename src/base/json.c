/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void rama_json_init(struct rama_json *j, struct rama_out *out)
{
	*j = (struct rama_json){ .out = out };
}

static void separate(struct rama_json *j)
{
	if (j->after_key)
		j->after_key = false;
	else if (j->filled[j->depth])
		rama_out_char(j->out, ',');
	j->filled[j->depth] = true;
}

void rama_json_open(struct rama_json *j, char bracket)
{
	separate(j);
	rama_out_char(j->out, bracket);
	if (j->depth + 1 < RAMA_JSON_DEPTH)
		j->depth++;
	j->filled[j->depth] = false;
}

void rama_json_close(struct rama_json *j, char bracket)
{
	if (j->depth > 0)
		j->depth--;
	rama_out_char(j->out, bracket);
}

size_t rama_utf8_length(const unsigned char *s, size_t n)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = s[0] < 0x80		   ? 1
		     : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
		     : (s[0] & 0xf0) == 0xe0	   ? 3
		     : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
						   : 0;
	uint32_t v = len > 1 ? s[0] & (0x7fu >> len) : s[0];

	if (len == 0 || len > n)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (s[i] & 0x3f);
	}
	return v < least[len] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000) ? 0 : len;
}

/* letters from here on that stand for themselves: nearly all of most texts */
static size_t plain_length(const unsigned char *s, size_t n)
{
	size_t len = 0;

	while (len < n && s[len] >= 0x20 && s[len] < 0x7f && s[len] != '"' && s[len] != '\\')
		len++;
	return len;
}

static void escaped(struct rama_out *o, const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;

	for (size_t i = 0, len; i < n; i += len) {
		len = plain_length(p + i, n - i);
		if (len > 0) {
			rama_out_bytes(o, s + i, len);
			continue;
		}
		len = rama_utf8_length(p + i, n - i);
		if (len == 0) {
			rama_out_text(o, "\\ufffd");
			len = 1;
		} else if (p[i] == '"' || p[i] == '\\') {
			rama_out_char(o, '\\');
			rama_out_char(o, s[i]);
		} else if (p[i] < 0x20 || p[i] == 0x7f) {
			rama_out_fmt(o, "\\u%04x", p[i]);
		} else {
			rama_out_bytes(o, s + i, len);
		}
	}
}

void rama_json_text(struct rama_json *j, const char *s, size_t n)
{
	separate(j);
	rama_out_char(j->out, '"');
	escaped(j->out, s, n);
	rama_out_char(j->out, '"');
}

void rama_json_string(struct rama_json *j, const char *s)
{
	if (s == NULL)
		rama_json_null(j);
	else
		rama_json_text(j, s, strlen(s));
}

void rama_json_key(struct rama_json *j, const char *key)
{
	rama_json_string(j, key);
	rama_out_char(j->out, ':');
	j->after_key = true;
}

void rama_json_i64(struct rama_json *j, int64_t v)
{
	separate(j);
	rama_out_i64(j->out, v);
}

void rama_json_u64(struct rama_json *j, uint64_t v)
{
	separate(j);
	rama_out_u64(j->out, v);
}

void rama_json_id(struct rama_json *j, uint64_t v)
{
	separate(j);
	rama_out_char(j->out, '"');
	rama_out_u64(j->out, v);
	rama_out_char(j->out, '"');
}

void rama_json_f64(struct rama_json *j, double v)
{
	char text[40];

	if (!isfinite(v)) {
		rama_json_null(j);
		return;
	}
	separate(j);
	if (v == 0 && !signbit(v)) { /* most values of most logs */
		rama_out_char(j->out, '0');
		return;
	}
	snprintf(text, sizeof(text), "%.15g", v);
	if (strtod(text, NULL) != v)
		snprintf(text, sizeof(text), "%.17g", v);
	rama_out_text(j->out, text);
}

void rama_json_bool(struct rama_json *j, bool v)
{
	separate(j);
	rama_out_text(j->out, v ? "true" : "false");
}

void rama_json_null(struct rama_json *j)
{
	separate(j);
	rama_out_text(j->out, "null");
}

void rama_json_raw(struct rama_json *j, const char *text)
{
	separate(j);
	rama_out_text(j->out, text);
}

void rama_json_key_i64(struct rama_json *j, const char *key, int64_t v)
{
	rama_json_key(j, key);
	rama_json_i64(j, v);
}

void rama_json_key_f64(struct rama_json *j, const char *key, double v)
{
	rama_json_key(j, key);
	rama_json_f64(j, v);
}

void rama_json_key_string(struct rama_json *j, const char *key, const char *v)
{
	rama_json_key(j, key);
	rama_json_string(j, v);
}

void rama_json_key_open(struct rama_json *j, const char *key, char bracket)
{
	rama_json_key(j, key);
	rama_json_open(j, bracket);
}

void rama_json_key_bool(struct rama_json *j, const char *key, bool v)
{
	rama_json_key(j, key);
	rama_json_bool(j, v);
}

void rama_json_key_id(struct rama_json *j, const char *key, uint64_t v)
{
	rama_json_key(j, key);
	rama_json_id(j, v);
}

void rama_json_key_u64(struct rama_json *j, const char *key, uint64_t v)
{
	rama_json_key(j, key);
	rama_json_u64(j, v);
}
