/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/text.h"

#include <string.h>

void rama_config_text_init(struct rama_config_text *t, char *p, size_t room)
{
	*t = (struct rama_config_text){ .p = p, .room = room };
	p[0] = '\0';
}

void rama_config_text_put(struct rama_config_text *t, const char *s, size_t n)
{
	size_t left = t->room - 1 - t->len;

	if (n > left) {
		n = left;
		t->cut = true;
	}
	memcpy(t->p + t->len, s, n);
	t->len += n;
	t->p[t->len] = '\0';
}

void rama_config_text_str(struct rama_config_text *t, const char *s)
{
	rama_config_text_put(t, s, strlen(s));
}

void rama_config_text_u64(struct rama_config_text *t, uint64_t v)
{
	char digits[20];
	size_t n = sizeof(digits);

	do
		digits[--n] = (char)('0' + v % 10);
	while ((v /= 10) > 0);
	rama_config_text_put(t, digits + n, sizeof(digits) - n);
}

void rama_config_text_i64(struct rama_config_text *t, int64_t v)
{
	if (v < 0)
		rama_config_text_put(t, "-", 1);
	rama_config_text_u64(t, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

bool rama_config_piece_is(struct rama_config_piece w, const char *s)
{
	return strlen(s) == w.n && memcmp(w.p, s, w.n) == 0;
}

bool rama_config_piece_next(struct rama_config_piece *from, char sep,
			    struct rama_config_piece *item)
{
	const char *at;

	if (from->n == 0)
		return false;
	at = memchr(from->p, sep, from->n);
	item->p = from->p;
	item->n = at != NULL ? (size_t)(at - from->p) : from->n;
	from->p += item->n + (at != NULL);
	from->n -= item->n + (at != NULL);
	return true;
}

static bool digit_at(struct rama_config_piece w, size_t at)
{
	return at < w.n && w.p[at] >= '0' && w.p[at] <= '9';
}

static bool char_at(struct rama_config_piece w, size_t at, const char *any)
{
	return at < w.n && w.p[at] != '\0' && strchr(any, w.p[at]) != NULL;
}

/* the e+12 that may follow a number; 0 if there is none */
static size_t exponent(struct rama_config_piece w, size_t at, int *value)
{
	size_t from = at;
	int v = 0;
	bool minus;

	if (!char_at(w, at, "eE"))
		return 0;
	at++;
	minus = char_at(w, at, "-");
	at += char_at(w, at, "+-");
	if (!digit_at(w, at))
		return 0;
	for (; digit_at(w, at); at++)
		v = v < 1000 ? v * 10 + (w.p[at] - '0') : v;
	*value += minus ? -v : v;
	return at - from;
}

size_t rama_config_piece_number(struct rama_config_piece w, double *value)
{
	size_t at = char_at(w, 0, "+-"), digits = 0;
	int scale = 0;
	double v = 0, power = 1;

	for (; digit_at(w, at); at++, digits++)
		v = v * 10 + (w.p[at] - '0');
	if (char_at(w, at, ".") && (digits > 0 || digit_at(w, at + 1)))
		for (at++; digit_at(w, at); at++, digits++, scale--)
			v = v * 10 + (w.p[at] - '0');
	if (digits == 0)
		return 0;
	at += exponent(w, at, &scale);
	/* beyond this all are 0 or infinite */
	scale = scale > 400 ? 400 : scale < -400 ? -400 : scale;
	for (int i = scale < 0 ? -scale : scale; i > 0; i--)
		power *= 10;
	*value = scale < 0 ? v / power : v == 0 ? 0 : v * power;
	if (w.p[0] == '-')
		*value = -*value;
	return at;
}

size_t rama_config_piece_integer(struct rama_config_piece w, int64_t *value)
{
	size_t at = 0, first;
	uint64_t v = 0, most = INT64_MAX;
	bool minus;

	while (char_at(w, at, " \t\n\v\f\r"))
		at++;
	minus = char_at(w, at, "-");
	most += minus;
	at += char_at(w, at, "+-");
	for (first = at; digit_at(w, at); at++) {
		unsigned d = (unsigned)(w.p[at] - '0');

		v = v > (most - d) / 10 ? most : v * 10 + d;
	}
	*value = (int64_t)(minus ? 0 - v : v);
	return at > first ? at : 0;
}

bool rama_config_piece_size(struct rama_config_piece w, uint64_t *bytes)
{
	static const char units[] = "kmgtKMGT";
	double v, unit = 1;
	size_t at = rama_config_piece_number(w, &v), whole;
	const char *letter;
	int64_t exact;

	if (at == 0 || !(v >= 0))
		return false;
	whole = rama_config_piece_integer(w, &exact); /* a double has 53 bits */
	letter = at < w.n && w.p[at] != '\0' ? strchr(units, w.p[at]) : NULL;
	if (letter != NULL) {
		struct rama_config_piece rest = { w.p + at + 1, w.n - at - 1 };
		double step = rama_config_piece_is(rest, "B") ? 1000 : 1024;

		if (rest.n != 0 && !rama_config_piece_is(rest, "B") &&
		    !rama_config_piece_is(rest, "iB"))
			return false;
		for (long i = (letter - units) % 4; i >= 0; i--)
			unit *= step;
	} else if (at < w.n &&
		   !rama_config_piece_is((struct rama_config_piece){ w.p + at, w.n - at }, "B")) {
		return false;
	}
	v *= unit;
	if (!(v < 0x1p63))
		return false;
	*bytes = whole == at ? (uint64_t)exact * (uint64_t)unit : (uint64_t)v;
	return true;
}
