/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulate/config.h"

#ifndef RAMA_WITHOUT_JANSSON
#include <jansson.h>
#endif
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/without.h"
#include "emulate/format/lines.h"

const struct rama_emu_param_info rama_emu_param_info[RAMA_EMU_PARAMS] = {
#define P(symbol, kind, otherwise, name, arg, modes, doc) \
	[RAMA_EMU_P_##symbol] = { RAMA_EMU_KIND_##kind, otherwise, name, arg, modes, doc },
#include "table/emulate.def"
#undef P
};

void rama_emu_config_init(struct rama_emu_config *c)
{
	*c = (struct rama_emu_config){ .mode = "" };
}

void rama_emu_config_fini(struct rama_emu_config *c)
{
	for (int i = 0; i < RAMA_EMU_PARAMS; i++) {
		free(c->value[i]);
		free(c->items[i]);
		free(c->place[i]);
	}
	for (size_t i = 0; i < c->n_args; i++)
		free(c->args[i]);
	for (size_t i = 0; i < c->n_warnings; i++)
		free(c->warnings[i]);
	free(c->args);
	free(c->warnings);
	rama_emu_config_init(c);
}

static int __attribute__((format(printf, 2, 3)))
warn(struct rama_emu_config *c, const char *fmt, ...)
{
	char **w = reallocarray(c->warnings, c->n_warnings + 1, sizeof(*w)), text[400];
	va_list args;

	if (w == NULL)
		return RAMA_EMEMORY;
	c->warnings = w;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	w[c->n_warnings] = strdup(text);
	return w[c->n_warnings] != NULL ? (c->n_warnings++, 0) : RAMA_EMEMORY;
}

/* ---- names ---------------------------------------------------------------------------------- */

static char plain(char c)
{
	return c == '-' ? '_' : c;
}

static bool same_name(const char *a, const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i] == '\0' || plain(a[i]) != plain(b[i]))
			return false;
	return a[n] == '\0';
}

int rama_emu_config_find(const char *name, size_t n)
{
	for (int i = 0; i < RAMA_EMU_PARAMS; i++)
		if (same_name(rama_emu_param_info[i].name, name, n))
			return i;
	return -1;
}

static int unknown(const char *name, const char *place, struct rama_err *e)
{
	struct rama_nearest near = { .word = name };
	char hint[RAMA_NEAREST_HINT];

	for (int i = 0; i < RAMA_EMU_PARAMS; i++)
		rama_nearest_offer(&near, rama_emu_param_info[i].name);
	return rama_err_set(e, RAMA_EUSAGE, "%s: no parameter is called %.60s%s", place, name,
			    rama_nearest_hint(&near, hint));
}

/* ---- values --------------------------------------------------------------------------------- */

#define PIECE(text) ((struct rama_config_piece){ text, strlen(text) })

static bool count_of(struct rama_config_piece w, int64_t *value)
{
	double n;

	if (!rama_emu_word_number(w, &n) || n != floor(n) || n > 9e15)
		return false; /* beyond 2^53 it may not be what was written */
	*value = (int64_t)n;
	return true;
}

/* A whole number, or one with some digits behind the point: n / below, exactly. */
static bool fraction_of(struct rama_config_piece w, uint64_t *n, uint64_t *below)
{
	bool point = false;

	*n = 0;
	*below = 1;
	for (size_t i = 0; i < w.n; i++) {
		if (w.p[i] == '.' && !point) {
			point = true;
			continue;
		}
		if (w.p[i] < '0' || w.p[i] > '9' || *n > 100000000000000)
			return false;
		*n = *n * 10 + (uint64_t)(w.p[i] - '0');
		*below *= point ? 10 : 1;
	}
	return w.n > 0;
}

/* 1/49 as 1 and 49, which no double is */
static bool exact_ratio(struct rama_config_piece w, uint64_t *n, uint64_t *below)
{
	const char *slash = memchr(w.p, '/', w.n);
	uint64_t a, b = 1, c = 1, d = 1;

	if (slash != NULL &&
	    !fraction_of((struct rama_config_piece){ slash + 1, w.n - (size_t)(slash - w.p) - 1 },
			 &c, &d))
		return false;
	w.n = slash != NULL ? (size_t)(slash - w.p) : w.n;
	if (slash == NULL && w.n > 1 && w.p[w.n - 1] == '%') {
		w.n--;
		c = 100;
	}
	if (!fraction_of(w, &a, &b))
		return false;
	return c > 0 && !__builtin_mul_overflow(a, d, n) && !__builtin_mul_overflow(b, c, below);
}

/* 0.01, 1/100, 50% */
static bool ratio_of(struct rama_config_piece w, double *value)
{
	const char *slash = memchr(w.p, '/', w.n);
	double below;

	if (slash != NULL)
		return rama_emu_word_number(
			       (struct rama_config_piece){ w.p, (size_t)(slash - w.p) }, value) &&
		       rama_emu_word_number(
			       (struct rama_config_piece){ slash + 1,
							   w.n - (size_t)(slash - w.p) - 1 },
			       &below) &&
		       below > 0 && (*value /= below, true);
	if (w.n > 1 && w.p[w.n - 1] == '%')
		return rama_emu_word_number((struct rama_config_piece){ w.p, w.n - 1 }, value) &&
		       (*value /= 100, true);
	return rama_emu_word_number(w, value);
}

static bool flag_of(const char *value, bool *on)
{
	static const char *const yes[] = { "", "true", "yes", "1", "on" };
	static const char *const no[] = { "false", "no", "0", "off" };

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		if (strcasecmp(value, yes[i]) == 0)
			return *on = true;
	*on = false;
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (strcasecmp(value, no[i]) == 0)
			return true;
	return false;
}

/* The words of a choice stand in brackets at the start of its doc. */
static bool is_choice(const char *doc, const char *value)
{
	const char *end = strchr(doc, ']');
	struct rama_config_piece all = { doc + 1, (size_t)(end - doc) - 1 }, word;

	while (rama_emu_word_next(&all, &word))
		if (rama_config_piece_is(word, value))
			return true;
	return false;
}

static bool each_is(const char *list, bool (*is)(struct rama_config_piece, int64_t *))
{
	struct rama_config_piece all = PIECE(list), item;
	int64_t value;

	while (rama_config_piece_next(&all, ':', &item))
		if (!is(item, &value))
			return false;
	return true;
}

static bool acceptable(const struct rama_emu_param_info *p, const char *value)
{
	struct rama_config_piece w = PIECE(value);
	int64_t n;
	double x;
	bool on;

	switch (p->kind) {
	case RAMA_EMU_KIND_FLAG:
		return flag_of(value, &on);
	case RAMA_EMU_KIND_SIZE:
		return rama_emu_word_size(w, &n);
	case RAMA_EMU_KIND_SIZES:
		return each_is(value, rama_emu_word_size);
	case RAMA_EMU_KIND_COUNT:
		return count_of(w, &n);
	case RAMA_EMU_KIND_COUNTS:
		return each_is(value, count_of);
	case RAMA_EMU_KIND_SECONDS:
		return rama_emu_word_seconds(w, &x);
	case RAMA_EMU_KIND_RATIO:
		return ratio_of(w, &x);
	case RAMA_EMU_KIND_CHOICE:
		return is_choice(p->doc, value);
	default:
		return true;
	}
}

static const char *const kind_words[] = {
	[RAMA_EMU_KIND_FLAG] = "true or false",
	[RAMA_EMU_KIND_SIZE] = "a size such as 4096, 64KiB or 1.5GiB",
	[RAMA_EMU_KIND_SIZES] = "a list of sizes with colons",
	[RAMA_EMU_KIND_COUNT] = "a whole number",
	[RAMA_EMU_KIND_COUNTS] = "a list of whole numbers with colons",
	[RAMA_EMU_KIND_SECONDS] = "a time such as 0.5, 200ms or 2min",
	[RAMA_EMU_KIND_RATIO] = "a ratio such as 0.01, 1/100 or 50%",
	[RAMA_EMU_KIND_CHOICE] = "one of the words known",
};

/* Where the items of a list begin: ten thousand names are looked for one by one. */
static size_t *items_of(const char *value, size_t *n)
{
	struct rama_config_piece all = PIECE(value), item;
	size_t *at, i = 0;

	for (*n = 0; rama_config_piece_next(&all, ':', &item);)
		++*n;
	at = calloc(*n + 1, sizeof(*at));
	all = PIECE(value);
	while (at != NULL && rama_config_piece_next(&all, ':', &item))
		at[i++] = (size_t)(item.p - value);
	return at;
}

static int store(struct rama_emu_config *c, int p, const char *value, const char *place,
		 struct rama_err *e)
{
	char *text = strdup(value), *where = strdup(place);
	size_t n = 0, *items = items_of(value, &n);

	if (text == NULL || where == NULL || items == NULL) {
		free(text);
		free(where);
		free(items);
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	}
	free(c->value[p]);
	free(c->place[p]);
	free(c->items[p]);
	c->value[p] = text;
	c->place[p] = where;
	c->items[p] = items;
	c->n_items[p] = n;
	return 0;
}

int rama_emu_config_set(struct rama_emu_config *c, const char *name, const char *value,
			const char *place, struct rama_err *e)
{
	int p = rama_emu_config_find(name, strlen(name));
	const struct rama_emu_param_info *info;

	if (p < 0)
		return unknown(name, place, e);
	info = &rama_emu_param_info[p];
	if (value == NULL)
		value = "";
	if (info->kind == RAMA_EMU_KIND_DEAD)
		return warn(c, "%s does nothing here: %s", info->name, info->doc);
	if (!acceptable(info, value))
		return rama_err_set(e, RAMA_EUSAGE, "%s: %s: \"%.60s\" is not %s%s%.*s", place,
				    info->name, value, kind_words[info->kind],
				    info->kind == RAMA_EMU_KIND_CHOICE ? ": " : "",
				    info->kind == RAMA_EMU_KIND_CHOICE
					    ? (int)(strchr(info->doc, ']') - info->doc + 1)
					    : 0,
				    info->doc);
	if (p == RAMA_EMU_P_set && c->value[p] != NULL) { /* may be given several times */
		char both[2048];

		snprintf(both, sizeof(both), "%s:%s", c->value[p], value);
		return store(c, p, both, place, e);
	}
	return store(c, p, value, place, e);
}

/* ---- files ---------------------------------------------------------------------------------- */

static int set_from_file(struct rama_emu_config *c, const char *key, const char *value,
			 const char *place, struct rama_err *e)
{
	int p = rama_emu_config_find(key, strlen(key)), rc;

	if (p >= 0 && c->value[p] != NULL)
		return 0; /* the command line wins */
	rc = rama_emu_config_set(c, key, value, place, e);
	if (rc == RAMA_EUSAGE)
		e->code = rc = RAMA_EFORMAT;
	return rc;
}

#ifdef RAMA_WITHOUT_JANSSON
static int read_json(struct rama_emu_config *c, const char *bytes, size_t n, const char *name,
		     struct rama_err *e)
{
	(void)c, (void)bytes, (void)n, (void)name;
	return rama_err_without(e, "a reader of JSON (jansson)");
}
#else
/* a value as the text that the command line would have; NULL: it has none */
static const char *json_text(const json_t *value, char *to, size_t room)
{
	size_t used = 0, i;
	const json_t *item;

	if (json_is_string(value))
		return json_string_value(value);
	if (json_is_boolean(value))
		return json_is_true(value) ? "true" : "false";
	if (json_is_integer(value)) {
		snprintf(to, room, "%lld", (long long)json_integer_value(value));
		return to;
	}
	if (json_is_number(value)) {
		snprintf(to, room, "%.17g", json_number_value(value));
		return to;
	}
	if (!json_is_array(value) || json_array_size(value) == 0)
		return NULL;
	json_array_foreach(value, i, item)
	{ /* a list: with colons */
		char number[64];
		const char *text =
			json_is_array(item) ? NULL : json_text(item, number, sizeof(number));
		int n = text != NULL
				? snprintf(to + used, room - used, "%s%s", i > 0 ? ":" : "", text)
				: -1;

		if (n < 0 || (size_t)n >= room - used)
			return NULL;
		used += (size_t)n;
	}
	return to;
}

static int read_json(struct rama_emu_config *c, const char *bytes, size_t n, const char *name,
		     struct rama_err *e)
{
	json_error_t bad;
	json_t *root = json_loadb(bytes, n, JSON_REJECT_DUPLICATES, &bad), *value;
	const char *key;
	char text[4096];
	int rc = 0;

	if (root == NULL)
		return rama_err_set(e, RAMA_EFORMAT, "%s: line %d: %s", name, bad.line, bad.text);
	if (!json_is_object(root))
		rc = rama_err_set(e, RAMA_EFORMAT, "%s: not an object of parameters", name);
	json_object_foreach(root, key, value)
	{
		const char *v = json_text(value, text, sizeof(text));

		if (rc == 0)
			rc = v != NULL ? set_from_file(c, key, v, name, e)
				       : rama_err_set(e, RAMA_EFORMAT,
						      "%s: %.60s is neither text, number, true or "
						      "false, nor a list of these",
						      name, key);
	}
	json_decref(root);
	return rc;
}
#endif

/* name = value; [sections] are for people and mean nothing */
static int read_ini(struct rama_emu_config *c, const char *bytes, size_t n, const char *name,
		    struct rama_err *e)
{
	struct rama_emu_lines l;
	struct rama_config_piece line;
	char key[128], value[4096], place[512];

	rama_emu_lines_init(&l, bytes, n);
	while (rama_emu_lines_next(&l, &line)) {
		const char *equal = memchr(line.p, '=', line.n);
		struct rama_config_piece k, v;
		int rc;

		if (line.n == 0 || line.p[0] == '[' || line.p[0] == ';')
			continue;
		snprintf(place, sizeof(place), "%.400s line %lu", name, l.number);
		if (equal == NULL)
			return rama_err_set(e, RAMA_EFORMAT, "%s: no = in \"%.*s\"", place,
					    RAMA_EMU_PIECE(line));
		k = rama_emu_piece_trim(
			(struct rama_config_piece){ line.p, (size_t)(equal - line.p) });
		v = rama_emu_piece_trim((struct rama_config_piece){
			equal + 1, line.n - (size_t)(equal - line.p) - 1 });
		if (k.n >= sizeof(key) || v.n >= sizeof(value))
			return rama_err_set(e, RAMA_EFORMAT, "%s: too long", place);
		snprintf(key, sizeof(key), "%.*s", (int)k.n, k.p);
		snprintf(value, sizeof(value), "%.*s", (int)v.n, v.p);
		rc = set_from_file(c, key, value, place, e);
		if (rc != 0)
			return rc;
	}
	return 0;
}

int rama_emu_config_read(struct rama_emu_config *c, const char *bytes, size_t n, const char *name,
			 struct rama_err *e)
{
	struct rama_config_piece p;

	rama_emu_skip_mark(&bytes, &n);
	p = (struct rama_config_piece){ bytes, n };
	while (p.n > 0 && strchr(" \t\r\n", p.p[0]) != NULL)
		p = (struct rama_config_piece){ p.p + 1, p.n - 1 };
	return p.n > 0 && p.p[0] == '{' ? read_json(c, bytes, n, name, e)
					: read_ini(c, bytes, n, name, e);
}

int rama_emu_config_check(struct rama_emu_config *c, struct rama_err *e)
{
	(void)e;
	for (int i = 0; i < RAMA_EMU_PARAMS; i++) {
		struct rama_config_piece modes = PIECE(rama_emu_param_info[i].modes), word;
		bool found = modes.n == 0;

		if (c->value[i] == NULL)
			continue;
		while (!found && rama_emu_word_next(&modes, &word))
			found = rama_config_piece_is(word, c->mode);
		if (!found && strcmp(c->mode, "try") != 0 &&
		    warn(c, "%s: %s has no meaning in mode %s", c->place[i],
			 rama_emu_param_info[i].name, c->mode) != 0)
			return RAMA_EMEMORY;
	}
	return 0;
}

/* ---- asking --------------------------------------------------------------------------------- */

bool rama_emu_config_given(const struct rama_emu_config *c, enum rama_emu_param p)
{
	return c->value[p] != NULL;
}

const char *rama_emu_config_text(const struct rama_emu_config *c, enum rama_emu_param p)
{
	return c->value[p] != NULL ? c->value[p] : rama_emu_param_info[p].otherwise;
}

bool rama_emu_config_flag(const struct rama_emu_config *c, enum rama_emu_param p)
{
	bool on;

	return c->value[p] != NULL && flag_of(c->value[p], &on) && on;
}

int64_t rama_emu_config_size(const struct rama_emu_config *c, enum rama_emu_param p)
{
	struct rama_config_piece w = PIECE(rama_emu_config_text(c, p));
	int64_t n = 0;

	if (rama_emu_param_info[p].kind == RAMA_EMU_KIND_COUNT)
		count_of(w, &n);
	else
		rama_emu_word_size(w, &n);
	return n;
}

double rama_emu_config_number(const struct rama_emu_config *c, enum rama_emu_param p)
{
	struct rama_config_piece w = PIECE(rama_emu_config_text(c, p));
	double x = 0;

	if (rama_emu_param_info[p].kind == RAMA_EMU_KIND_SECONDS)
		rama_emu_word_seconds(w, &x);
	else
		ratio_of(w, &x);
	return x;
}

__extension__ typedef unsigned __int128 wide;

bool rama_emu_config_scale(const struct rama_emu_config *c, int64_t *size)
{
	struct rama_config_piece w = PIECE(rama_emu_config_text(c, RAMA_EMU_P_bytes));
	wide all;
	uint64_t n, below;

	if (*size < 0)
		return false;
	if (exact_ratio(w, &n, &below)) {
		all = (wide)*size * n / below;
	} else {
		double x = (double)*size * rama_emu_config_number(c, RAMA_EMU_P_bytes);

		if (!(x < 9e18))
			return false;
		all = (uint64_t)x;
	}
	if (all > INT64_MAX)
		return false;
	*size = (int64_t)all;
	return true;
}

bool rama_emu_config_file_size(const struct rama_emu_config *c, int64_t block, int64_t segments,
			       int64_t *size)
{
	return !__builtin_mul_overflow(block, segments, size) && rama_emu_config_scale(c, size);
}

size_t rama_emu_config_item(const struct rama_emu_config *c, enum rama_emu_param p, size_t i,
			    const char **text)
{
	size_t at;

	if (c->value[p] == NULL || i >= c->n_items[p])
		return 0;
	at = c->items[p][i];
	*text = c->value[p] + at;
	return strcspn(*text, ":");
}

size_t rama_emu_config_items(const struct rama_emu_config *c, enum rama_emu_param p)
{
	return c->value[p] != NULL ? c->n_items[p] : 0;
}

int64_t rama_emu_config_item_size(const struct rama_emu_config *c, enum rama_emu_param p, size_t i,
				  int64_t otherwise)
{
	size_t n = rama_emu_config_items(c, p), len;
	const char *text = "";
	int64_t value = otherwise;

	if (n == 0)
		return otherwise;
	len = rama_emu_config_item(c, p, i < n ? i : n - 1, &text);
	if (rama_emu_param_info[p].kind == RAMA_EMU_KIND_COUNTS)
		count_of((struct rama_config_piece){ text, len }, &value);
	else
		rama_emu_word_size((struct rama_config_piece){ text, len }, &value);
	return value;
}
