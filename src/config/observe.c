/* SPDX-License-Identifier: BSD-3-Clause */
/* observe.c: what the settings mean for a program, a rank, a file. */
#include "config/settings.h"

#include <string.h>

#include "config/text.h"
#include "table/layers.h"

#define ALL_MODULES (~(uint64_t)0)
#define BIT(module) ((uint64_t)1 << RAMA_MOD_##module)

/* their names are no paths: nothing excludes them */
#define UNFILTERED (BIT(APMPI) | BIT(HEATMAP) | BIT(MDHIM) | BIT(PROCESS))

static bool any_rule(const struct rama_settings *s, unsigned use, uint64_t module, const char *text,
		     size_t len)
{
	if ((s->rule_modules[use] & module) == 0)
		return false;
	for (unsigned i = 0; i < s->n_rules; i++)
		if (s->rule[i].use == use && (s->rule[i].modules & module) != 0 &&
		    rama_patterns_match(&s->patterns, s->rule[i].pattern, text, len))
			return true;
	return false;
}

static bool begins(const char *path, size_t len, const char *prefix, size_t n)
{
	return len >= n && memcmp(path, prefix, n) == 0;
}

/* most paths are known to be none of these by their second letter */
static bool prefix_excluded(const char *path, size_t len)
{
#define X(prefix, letter) | 1u << (letter - 'a')
#define R(prefix)
	static const uint32_t letters = 0
#include "table/excluded.def"
		;
#undef X
	unsigned letter;

	if (len < 2 || path[0] != '/')
		return false;
	letter = (unsigned char)path[1] - (unsigned)'a';
	if (letter > 'z' - 'a' || (letters >> letter & 1) == 0)
		return false;
#define X(prefix, letter)                                                         \
	if (path[1] == (letter) && begins(path, len, prefix, sizeof(prefix) - 1)) \
		return true;
#include "table/excluded.def"
#undef X
#undef R
	return false;
}

static bool prefix_readmitted(const char *path, size_t len)
{
#define X(prefix, letter)
#define R(prefix)                                          \
	if (begins(path, len, prefix, sizeof(prefix) - 1)) \
		return true;
#include "table/excluded.def"
#undef X
#undef R
	return false;
}

bool rama_settings_observes(const struct rama_settings *s, unsigned module, const char *path,
			    size_t len)
{
	uint64_t bit;

	if (!rama_settings_module(s, module))
		return false;
	bit = (uint64_t)1 << module;
	if ((bit & UNFILTERED) != 0 || any_rule(s, RAMA_RULE_PATH_INCLUDE, bit, path, len))
		return true;
	if (any_rule(s, RAMA_RULE_PATH_EXCLUDE, bit, path, len))
		return false;
	if (!prefix_excluded(path, len) && !any_rule(s, RAMA_RULE_NAME_EXCLUDE, bit, path, len))
		return true;
	return prefix_readmitted(path, len) || any_rule(s, RAMA_RULE_NAME_INCLUDE, bit, path, len);
}

bool rama_settings_app(const struct rama_settings *s, const char *app, size_t len)
{
	return !any_rule(s, RAMA_RULE_APP_EXCLUDE, ALL_MODULES, app, len) ||
	       any_rule(s, RAMA_RULE_APP_INCLUDE, ALL_MODULES, app, len);
}

bool rama_settings_rank(const struct rama_settings *s, int64_t rank)
{
	bool excluded = false, included = false;

	for (unsigned i = 0; i < s->n_ranges; i++)
		if (rank >= s->range[i].first && rank <= s->range[i].last)
			*(s->range[i].include ? &included : &excluded) = true;
	return !excluded || included;
}

uint64_t rama_settings_trace_memory(const struct rama_settings *s)
{
	uint64_t on = s->modules & RAMA_SETTINGS_TRACED, bytes = 0;

	if (on != 0 && (s->trace || s->has_trace_memory))
		return s->trace_memory;
	for (unsigned i = 0; i < RAMA_MODULES; i++)
		if (on >> i & 1)
			bytes += (uint64_t)s->records[i] << 10;
	return bytes;
}

bool rama_settings_layers(const char *text, size_t n, uint32_t *layers)
{
	struct rama_piece list = { text, n }, item;
	uint32_t all = (1u << RAMA_LAYER_ROWS) - 1;

	*layers = 0;
	while (rama_piece_next(&list, ',', &item)) {
		unsigned i = 0;

		while (i < RAMA_LAYER_ROWS && !rama_piece_is(item, rama_event_layer[i].word))
			i++;
		if (rama_piece_is(item, "1") || rama_piece_is(item, "all"))
			*layers |= all;
		else if (i < RAMA_LAYER_ROWS)
			*layers |= 1u << i;
		else if (item.n > 0 && !rama_piece_is(item, "0"))
			return false;
	}
	return true;
}
