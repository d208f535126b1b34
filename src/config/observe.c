/* SPDX-License-Identifier: BSD-3-Clause */
/* observe.c: what the settings mean for a program, a rank, a file. */
#include "config/settings.h"

#include <string.h>

#include "config/text.h"
#include "table/layers.h"

#define ALL_MODULES (~(uint64_t)0)
#define SHARED "/dev/shm"
#define BIT(module) ((uint64_t)1 << RAMA_TAB_MOD_##module)

/* their names are no paths: nothing excludes them */
#define UNFILTERED (BIT(APMPI) | BIT(HEATMAP) | BIT(MDHIM) | BIT(PROCESS))

static bool any_rule(const struct rama_config_settings *s, unsigned use, uint64_t module,
		     const char *text, size_t len)
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

#define X(...)
#define R(...)
#define F(...)
#define E(...)
#define T(...)
#define N(...)
#define M(...)

static bool shared_memory(const char *path, size_t len);

/* most paths are known to be none of these by their second letter */
static bool prefix_excluded(const char *path, size_t len)
{
#undef X
#define X(prefix, letter) | 1u << (letter - 'a')
	static const uint32_t letters = 0
#include "table/excluded.def"
		;
	unsigned letter;

	if (len < 2 || path[0] != '/')
		return false;
	letter = (unsigned char)path[1] - (unsigned)'a';
	if (letter > 'z' - 'a' || (letters >> letter & 1) == 0)
		return false;
	if (begins(path, len, SHARED "/", sizeof(SHARED)))
		return shared_memory(path, len);
#undef X
#define X(prefix, letter)                                                         \
	if (path[1] == (letter) && begins(path, len, prefix, sizeof(prefix) - 1)) \
		return true;
#include "table/excluded.def"
	return false;
}

static bool prefix_readmitted(const char *path, size_t len)
{
#undef X
#undef R
#define X(...)
#define R(prefix)                                          \
	if (begins(path, len, prefix, sizeof(prefix) - 1)) \
		return true;
#include "table/excluded.def"
#undef R
#define R(...)
	return false;
}

/* ---- what MPI libraries keep for themselves -------------------------------------------------- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A row T: * is any text within a name, # a number. What follows a slash at its end does not
 * matter. */
static bool row_matches(const char *row, const char *name, size_t len)
{
	const char *star = NULL, *end = name + len, *from = NULL;

	for (;;) {
		if (*row == '/' && (name == end || *name == '/'))
			return true;
		if (*row == '\0' && name == end)
			return true;
		if (*row == '*') {
			star = ++row;
			from = name;
		} else if (*row == '#' && name < end && is_digit(*name)) {
			while (name < end && is_digit(*name))
				name++;
			row++;
		} else if (*row != '\0' && *row != '#' && name < end && *row == *name) {
			row++;
			name++;
		} else if (star != NULL && from < end && *from != '/') {
			row = star;
			name = ++from;
		} else {
			return false;
		}
	}
}

/* memory that processes share: directly in the directory for it */
static bool shared_memory(const char *path, size_t len)
{
	path += sizeof(SHARED);
	len -= sizeof(SHARED);
#undef M
#undef T
#define M(row)                           \
	if (row_matches(row, path, len)) \
		return true;
#define T(row) M(row)
#include "table/excluded.def"
#undef M
#undef T
#define M(...)
#define T(...)
	return false;
}

/* directly in a directory for such files */
static bool temporary(const char *dir, const char *path, size_t len)
{
	size_t n = strlen(dir);

	if (n == 0 || len <= n + 1 || !begins(path, len, dir, n) || path[n] != '/')
		return false;
	path += n + 1;
	len -= n + 1;
#undef T
#define T(row)                           \
	if (row_matches(row, path, len)) \
		return true;
#include "table/excluded.def"
#undef T
#define T(...)
	return false;
}

bool rama_config_settings_private(const struct rama_config_settings *s, const char *path,
				  size_t len)
{
	const char *last = len > 0 ? memrchr(path, '/', len) : NULL;
	size_t rest = last != NULL ? len - (size_t)(++last - path) : 0;

	for (unsigned i = 0; i < RAMA_CONFIG_SETTINGS_SESSIONS; i++) {
		size_t n = s->session[i][0] != '\0' ? strlen(s->session[i]) : 0;

		if (n > 0 && len >= n && begins(path, len, s->session[i], n) &&
		    (len == n || path[n] == '/'))
			return true;
	}
#undef F
#define F(dir)                                                                 \
	if (len == sizeof(dir) - 1 && begins(path, len, dir, sizeof(dir) - 1)) \
		return true;
#undef N
#define N(name)                                                          \
	if (rest > 0 && begins(last, rest, name, sizeof(name) - 1) &&    \
	    (rest == sizeof(name) - 1 || last[sizeof(name) - 1] == '.')) \
		return true;
#include "table/excluded.def"
#undef F
#define F(...)
#undef N
#define N(...)
	return temporary("/tmp", path, len) || temporary(s->temp, path, len) ||
	       (len == 4 && begins(path, len, "/tmp", 4)) ||
	       (s->temp[0] != '\0' && len == strlen(s->temp) && begins(path, len, s->temp, len));
}

static size_t without_slashes(const char *path)
{
	size_t n = strlen(path);

	while (n > 0 && path[n - 1] == '/')
		n--;
	return n;
}

/* A directory that a variable names. One that the program itself works in is none of the
 * launcher's alone. */
static void find_folder(char to[RAMA_CONFIG_SETTINGS_FOLDER], const char *path, const char *here)
{
	size_t n = path != NULL ? without_slashes(path) : 0;

	to[0] = '\0';
	if (n < 2 || n >= RAMA_CONFIG_SETTINGS_FOLDER || path[0] != '/' ||
	    (here != NULL && strncmp(here, path, n) == 0 && (here[n] == '/' || here[n] == '\0')))
		return;
	memcpy(to, path, n);
	to[n] = '\0';
}

void rama_config_settings_folders(struct rama_config_settings *s, rama_config_lookup lookup,
				  void *ctx)
{
	static const char *const sessions[] = {
#undef E
#define E(variable) variable,
#include "table/excluded.def"
#undef E
#define E(...)
	};
	const char *here = lookup(ctx, "PWD");

	find_folder(s->temp, lookup(ctx, "TMPDIR"), NULL);
	for (unsigned i = 0; i < RAMA_CONFIG_SETTINGS_SESSIONS; i++) {
		find_folder(s->session[i], lookup(ctx, sessions[i]), here);
		if (strcmp(s->session[i], s->temp) == 0 || strcmp(s->session[i], "/tmp") == 0)
			s->session[i][0] = '\0'; /* all temporary files */
	}
}

bool rama_config_settings_observes(const struct rama_config_settings *s, unsigned module,
				   const char *path, size_t len)
{
	uint64_t bit;

	if (!rama_config_settings_module(s, module))
		return false;
	bit = (uint64_t)1 << module;
	if ((bit & UNFILTERED) != 0 || any_rule(s, RAMA_CONFIG_RULE_PATH_INCLUDE, bit, path, len))
		return true;
	if (any_rule(s, RAMA_CONFIG_RULE_PATH_EXCLUDE, bit, path, len))
		return false;
	if ((s->everywhere || !prefix_excluded(path, len)) &&
	    !rama_config_settings_private(s, path, len) &&
	    !any_rule(s, RAMA_CONFIG_RULE_NAME_EXCLUDE, bit, path, len))
		return true;
	return prefix_readmitted(path, len) ||
	       any_rule(s, RAMA_CONFIG_RULE_NAME_INCLUDE, bit, path, len);
}

bool rama_config_settings_launcher(const struct rama_config_settings *s, const char *app,
				   size_t len)
{
	enum kind {
		RUNS,
		ENV,
		MPI,
		REFUSED,
		ELSEWHERE,
		DAEMON,
		OPENMPI,
		HYDRA,
		SRUN,
		APRUN,
		JSRUN,
		FLUX
	};
	static const struct {
		const char *name;
		enum kind kind;
	} launchers[] = {
#define FAMILY(...)
#define LAUNCHER(program, what, ...) { program, what },
#include "table/launchers.def"
#undef FAMILY
#undef LAUNCHER
	};
	size_t base = len;

	while (base > 0 && app[base - 1] != '/')
		base--;
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (launchers[i].kind > ENV && strlen(launchers[i].name) == len - base &&
		    memcmp(launchers[i].name, app + base, len - base) == 0)
			return !any_rule(s, RAMA_CONFIG_RULE_APP_INCLUDE, ALL_MODULES, app, len);
	return false;
}

bool rama_config_settings_app(const struct rama_config_settings *s, const char *app, size_t len)
{
	return !any_rule(s, RAMA_CONFIG_RULE_APP_EXCLUDE, ALL_MODULES, app, len) ||
	       any_rule(s, RAMA_CONFIG_RULE_APP_INCLUDE, ALL_MODULES, app, len);
}

bool rama_config_settings_rank(const struct rama_config_settings *s, int64_t rank)
{
	bool excluded = false, included = false;

	for (unsigned i = 0; i < s->n_ranges; i++)
		if (rank >= s->range[i].first && rank <= s->range[i].last)
			*(s->range[i].include ? &included : &excluded) = true;
	return !excluded || included;
}

/* ---- memory for records, as Darshan counts it ------------------------------------------------ */

#define HEATMAPS (8 * 3248) /* bytes that its heat maps take, however many there are */

uint32_t rama_config_settings_record(unsigned module)
{
	const struct rama_tab_module *m = rama_tab_module_get(module);

	if (m == NULL || (m->flags & RAMA_TAB_TRACE) != 0 || module >= RAMA_TAB_MOD_DXT_STDIO)
		return 0; /* traces have their own; ours are not in Darshan's */
	return 8u * m->record->words;
}

uint64_t rama_config_settings_pool(const struct rama_config_settings *s)
{
	if (s->mod_memory == 0)
		return UINT64_MAX;
	return s->mod_memory -
	       (rama_config_settings_module(s, RAMA_TAB_MOD_HEATMAP) ? HEATMAPS : 0);
}

uint32_t rama_config_settings_records(const struct rama_config_settings *s, unsigned module)
{
	uint32_t record = rama_config_settings_record(module), n = s->records[module];

	if (record > 0 && rama_config_settings_pool(s) / record < n)
		n = (uint32_t)(rama_config_settings_pool(s) / record);
	return n;
}

uint64_t rama_config_settings_trace_memory(const struct rama_config_settings *s)
{
	uint64_t on = s->modules & RAMA_CONFIG_SETTINGS_TRACED, bytes = 0;

	if (on != 0 && (s->trace || s->has_trace_memory))
		return s->trace_memory;
	for (unsigned i = 0; i < RAMA_TAB_MODULES; i++)
		if (on >> i & 1)
			bytes += (uint64_t)s->records[i] << 10;
	return bytes;
}

bool rama_config_settings_layers(const char *text, size_t n, uint32_t *layers)
{
	struct rama_config_piece list = { text, n }, item;
	uint32_t all = (1u << RAMA_TAB_LAYER_ROWS) - 1;

	*layers = 0;
	while (rama_config_piece_next(&list, ',', &item)) {
		unsigned i = 0;

		while (i < RAMA_TAB_LAYER_ROWS &&
		       !rama_config_piece_is(item, rama_tab_event_layer[i].word))
			i++;
		if (rama_config_piece_is(item, "1") || rama_config_piece_is(item, "all"))
			*layers |= all;
		else if (i < RAMA_TAB_LAYER_ROWS)
			*layers |= 1u << i;
		else if (item.n > 0 && !rama_config_piece_is(item, "0"))
			return false;
	}
	return true;
}
