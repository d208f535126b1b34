/* SPDX-License-Identifier: BSD-3-Clause */
/* One setter per kind of value; which setting goes where is the table `hows`. The same setter
 * takes a line of the config file and a variable of the environment. */
#include "config/settings.h"

#include <string.h>

#include "config/text.h"

#define ALL_MODULES (~(uint64_t)0)
#define BIT(module) ((uint64_t)1 << RAMA_TAB_MOD_##module)

/* their number of records is fixed */
#define FIXED_RECORDS (BIT(APMPI) | BIT(HEATMAP))

#define DXT_KIB 2048 /* of trace per module, unless somebody asks for another */

/* one setting as somebody gave it */
struct given {
	const char *name; /* for warnings */
	struct rama_config_piece value;
};

struct how {
	void (*set)(struct rama_config_settings *s, const struct how *h, const struct given *g);
	size_t off, room; /* of the field */
	unsigned use;
};

static void warn(struct rama_config_settings *s, const char *name, const char *what,
		 struct rama_config_piece word)
{
	size_t len = strlen(s->warnings);
	struct rama_config_text t;

	s->n_warnings++;
	rama_config_text_init(&t, s->warnings + len, sizeof(s->warnings) - len);
	if (s->line > 0) {
		rama_config_text_str(&t, "line ");
		rama_config_text_u64(&t, s->line);
		rama_config_text_str(&t, ": ");
	}
	rama_config_text_str(&t, name);
	rama_config_text_str(&t, ": ");
	rama_config_text_str(&t, what);
	if (word.n > 0) {
		rama_config_text_str(&t, " '");
		rama_config_text_put(&t, word.p, word.n < 80 ? word.n : 80);
		rama_config_text_str(&t, "'");
	}
	rama_config_text_str(&t, "\n");
	if (t.cut)
		s->warnings[len] = '\0'; /* whole lines only */
}

static void *field(struct rama_config_settings *s, const struct how *h)
{
	return (char *)s + h->off;
}

/* ---- setters --------------------------------------------------------------------------------- */

/* being there is enough */
static void set_flag(struct rama_config_settings *s, const struct how *h, const struct given *g)
{
	(void)g;
	*(bool *)field(s, h) = true;
}

static bool is_on(struct rama_config_piece value)
{
	return value.n > 0 && !rama_config_piece_is(value, "0");
}

static void set_disable(struct rama_config_settings *s, const struct how *h, const struct given *g)
{
	(void)h;
	s->disabled |= is_on(g->value);
}

static void set_trace(struct rama_config_settings *s, const struct how *h, const struct given *g)
{
	(void)h;
	s->trace = is_on(g->value);
	s->no_trace = !s->trace;
}

static void set_sites(struct rama_config_settings *s, const struct how *h, const struct given *g)
{
	(void)h;
	s->sites = is_on(g->value);
}

static void set_dxt(struct rama_config_settings *s, const struct how *h, const struct given *g)
{
	(void)h;
	(void)g;
	s->mod_enable |= RAMA_CONFIG_SETTINGS_TRACED;
}

static void set_text(struct rama_config_settings *s, const struct how *h, const struct given *g)
{
	struct rama_config_text t;

	if (g->value.n >= h->room) {
		warn(s, g->name, "is too long:", g->value);
		return;
	}
	rama_config_text_init(&t, field(s, h), h->room);
	rama_config_text_put(&t, g->value.p, g->value.n);
}

/* a name that is used as that of a directory */
static void set_job(struct rama_config_settings *s, const struct how *h, const struct given *g)
{
	if (rama_config_piece_is(g->value, ".") || rama_config_piece_is(g->value, "..") ||
	    memchr(g->value.p, '/', g->value.n) != NULL)
		warn(s, g->name, "no name of a job:", g->value);
	else
		set_text(s, h, g);
}

/* A number as Darshan reads it: single precision, what follows it is ignored. */
static bool number(struct rama_config_settings *s, const char *name, struct rama_config_piece w,
		   double *v)
{
	if (rama_config_piece_number(w, v) == 0) {
		warn(s, name, "no number:", w);
		return false;
	}
	if (*v < -1e18 || *v > 1e18) {
		warn(s, name, "out of range:", w);
		return false;
	}
	*v = (double)(float)*v;
	return true;
}

static void set_fraction(struct rama_config_settings *s, const struct how *h, const struct given *g)
{
	double v;

	if (number(s, g->name, g->value, &v))
		*(double *)field(s, h) = v;
}

static void set_mib(struct rama_config_settings *s, const struct how *h, const struct given *g)
{
	double v;

	if (!number(s, g->name, g->value, &v))
		return;
	if (v < 1 || v > 1 << 20) {
		warn(s, g->name, "no number of MiB:", g->value);
		return;
	}
	*(uint64_t *)field(s, h) = (uint64_t)v << 20;
}

static void set_align(struct rama_config_settings *s, const struct how *h, const struct given *g)
{
	double v;

	(void)h;
	if (number(s, g->name, g->value, &v))
		s->mem_align = v < 1 ? 1 : (int64_t)v;
}

static void set_size(struct rama_config_settings *s, const struct how *h, const struct given *g)
{
	uint64_t v;

	if (rama_config_piece_size(g->value, &v))
		*(uint64_t *)field(s, h) = v;
	else
		warn(s, g->name, "no size:", g->value);
}

static void set_seconds(struct rama_config_settings *s, const struct how *h, const struct given *g)
{
	double v;

	if (!number(s, g->name, g->value, &v))
		return;
	if (v >= 0 && v < 1e9)
		*(double *)field(s, h) = v;
	else
		warn(s, g->name, "no time:", g->value);
}

static void set_trace_memory(struct rama_config_settings *s, const struct how *h,
			     const struct given *g)
{
	set_size(s, h, g);
	s->has_trace_memory = true;
}

static void set_live(struct rama_config_settings *s, const struct how *h, const struct given *g)
{
	uint32_t layers;

	(void)h;
	if (rama_config_settings_layers(g->value.p, g->value.n, &layers))
		s->live = layers;
	else
		warn(s, g->name, "no layers:", g->value);
}

/* it becomes part of addresses */
static void set_tag(struct rama_config_settings *s, const struct how *h, const struct given *g)
{
	for (size_t i = 0; i < g->value.n; i++) {
		char c = g->value.p[i];
		bool letter =
			(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

		if (!letter && (c == '\0' || strchr("._-", c) == NULL)) {
			warn(s, g->name, "no name of a stream:", g->value);
			return;
		}
	}
	set_text(s, h, g);
}

static void set_jobid(struct rama_config_settings *s, const struct how *h, const struct given *g)
{
	int64_t v;

	if (g->value.n == 0)
		return;
	if (rama_config_piece_integer(g->value, &v) != g->value.n) {
		warn(s, g->name, "no number:", g->value);
		return;
	}
	if (h->use == 0) {
		s->jobid = v;
		s->has_jobid = true;
	} else {
		s->run_jobid = v;
		s->has_run_jobid = true;
	}
}

static void records(struct rama_config_settings *s, const char *name, struct rama_config_piece n,
		    uint64_t modules)
{
	double v;

	if (!number(s, name, n, &v))
		return;
	if (v < 0 || v > INT32_MAX) {
		warn(s, name, "no number of records:", n);
		return;
	}
	for (unsigned i = 0; i < RAMA_TAB_MODULES; i++)
		if ((modules & ~FIXED_RECORDS) >> i & 1)
			s->records[i] = (uint32_t)v;
}

static void set_records(struct rama_config_settings *s, const struct how *h, const struct given *g)
{
	(void)h;
	records(s, g->name, g->value, ~RAMA_CONFIG_SETTINGS_TRACED);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static uint64_t module_list(struct rama_config_settings *s, const char *name,
			    struct rama_config_piece list)
{
	struct rama_config_piece item;
	uint64_t modules = 0;

	while (rama_config_piece_next(&list, ',', &item)) {
		const struct rama_tab_module *m = NULL;
		unsigned i = 0;

		if (item.n == 0)
			continue;
		if (rama_config_piece_is(item, "*")) {
			modules = ALL_MODULES;
			continue;
		}
		while (i < RAMA_TAB_MODULES && ((m = rama_tab_module_get(i)) == NULL ||
						!rama_config_piece_is(item, m->name)))
			i++;
		if (i < RAMA_TAB_MODULES)
			modules |= (uint64_t)1 << i;
		else
			warn(s, name, "no such module:", item);
	}
	return modules;
}

static void set_modules(struct rama_config_settings *s, const struct how *h, const struct given *g)
{
	*(uint64_t *)field(s, h) |= module_list(s, g->name, g->value);
}

/* a and b of a:b, which may be left out */
static bool range(struct rama_config_piece item, struct rama_config_rank_range *r)
{
	struct rama_config_piece rest = item, first, last;

	*r = (struct rama_config_rank_range){ 0, INT64_MAX, false };
	if (rama_config_piece_is(item, "*"))
		return true;
	if (!rama_config_piece_next(&rest, ':', &first))
		return false;
	last = first.n < item.n ? rest : first;
	if (first.n > 0 && rama_config_piece_integer(first, &r->first) != first.n)
		return false;
	if (last.n > 0 && rama_config_piece_integer(last, &r->last) != last.n)
		return false;
	return item.n > 1 || first.n > 0;
}

static void set_ranks(struct rama_config_settings *s, const struct how *h, const struct given *g)
{
	struct rama_config_piece list = g->value, item;

	while (rama_config_piece_next(&list, ',', &item)) {
		struct rama_config_rank_range r;

		if (item.n == 0)
			continue;
		if (!range(item, &r)) {
			warn(s, g->name, "no ranks:", item);
		} else if (s->n_ranges == RAMA_CONFIG_SETTINGS_RANGES) {
			warn(s, g->name, "too many ranges of ranks",
			     (struct rama_config_piece){ "", 0 });
		} else {
			r.include = h->use != 0;
			s->range[s->n_ranges++] = r;
		}
	}
}

static void add_rule(struct rama_config_settings *s, const char *name,
		     struct rama_config_piece pattern, unsigned use, uint64_t modules)
{
	bool glob = use == RAMA_CONFIG_RULE_PATH_EXCLUDE || use == RAMA_CONFIG_RULE_PATH_INCLUDE;
	const char *why = "too many patterns:";
	int n = RAMA_ELIMIT;

	if (pattern.n == 0)
		return;
	if (s->n_rules < RAMA_CONFIG_SETTINGS_RULES)
		n = rama_patterns_add(&s->patterns, glob ? RAMA_PATTERN_GLOB : RAMA_PATTERN_REGEX,
				      pattern.p, pattern.n, &why);
	if (n < 0) {
		warn(s, name, why, pattern);
		return;
	}
	s->rule[s->n_rules++] = (struct rama_config_rule){ modules, (uint8_t)use, (uint8_t)n };
	s->rule_modules[use] |= modules;
}

/* Length of the regular expression at the start of a list. A comma in {1,2}, in [,] or after a
 * backslash does not end it. */
static size_t regex_length(struct rama_config_piece list)
{
	char open = '\0';

	for (size_t i = 0; i < list.n; i++) {
		char c = list.p[i];

		if (c == '\\' && open == '\0')
			i++;
		else if (open == '\0' && c == ',')
			return i;
		else if (open == '\0' && (c == '{' || c == '['))
			open = c;
		else if ((open == '{' && c == '}') || (open == '[' && c == ']'))
			open = '\0';
	}
	return list.n;
}

static void add_regexes(struct rama_config_settings *s, const char *name,
			struct rama_config_piece list, unsigned use, uint64_t modules)
{
	while (list.n > 0) {
		size_t n = regex_length(list);
		size_t step = n < list.n ? n + 1 : n;

		add_rule(s, name, (struct rama_config_piece){ list.p, n }, use, modules);
		list.p += step;
		list.n -= step;
	}
}

static void set_regexes(struct rama_config_settings *s, const struct how *h, const struct given *g)
{
	add_regexes(s, g->name, g->value, h->use, ALL_MODULES);
}

static void set_globs(struct rama_config_settings *s, const struct how *h, const struct given *g)
{
	struct rama_config_piece list = g->value, item;

	while (rama_config_piece_next(&list, '\n', &item))
		add_rule(s, g->name, item, h->use, ALL_MODULES);
}

static void drop_rules(struct rama_config_settings *s, unsigned use)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < s->n_rules; i++)
		if (s->rule[i].use != use)
			s->rule[kept++] = s->rule[i];
	s->n_rules = kept;
	s->rule_modules[use] = 0;
}

/* ---- which setting goes where ---------------------------------------------------------------- */

#define HOW(setter, member)                                                   \
	{                                                                     \
		setter, offsetof(struct rama_config_settings, member),        \
			sizeof(((struct rama_config_settings *)0)->member), 0 \
	}
#define HOW_USE(setter, use)      \
	{                         \
		setter, 0, 0, use \
	}

static const struct how hows[RAMA_TAB_SETTINGS] = {
	[RAMA_TAB_SET_D_DISABLE] = HOW(set_flag, disabled),
	[RAMA_TAB_SET_D_ENABLE_NONMPI] = HOW(set_flag, nonmpi),
	[RAMA_TAB_SET_D_DUMP_CONFIG] = HOW(set_flag, dump),
	[RAMA_TAB_SET_D_INTERNAL_TIMING] = HOW(set_flag, timing),
	[RAMA_TAB_SET_D_NO_REDUCTION] = HOW(set_flag, keep_ranks),
	[RAMA_TAB_SET_D_MODMEM] = HOW(set_mib, mod_memory),
	[RAMA_TAB_SET_D_NAMEMEM] = HOW(set_mib, name_memory),
	[RAMA_TAB_SET_D_MEMALIGN] = HOW(set_align, mem_align),
	[RAMA_TAB_SET_D_JOBID] = HOW(set_text, jobid_variable),
	[RAMA_TAB_SET_D_LOGHINTS] = HOW(set_text, log_hints),
	[RAMA_TAB_SET_D_LOGPATH] = HOW(set_text, log_path),
	[RAMA_TAB_SET_D_LOGFILE] = HOW(set_text, log_file),
	[RAMA_TAB_SET_D_MOD_DISABLE] = HOW(set_modules, mod_disable),
	[RAMA_TAB_SET_D_MOD_ENABLE] = HOW(set_modules, mod_enable),
	[RAMA_TAB_SET_D_APP_EXCLUDE] = HOW_USE(set_regexes, RAMA_CONFIG_RULE_APP_EXCLUDE),
	[RAMA_TAB_SET_D_APP_INCLUDE] = HOW_USE(set_regexes, RAMA_CONFIG_RULE_APP_INCLUDE),
	[RAMA_TAB_SET_D_RANK_EXCLUDE] = HOW_USE(set_ranks, 0),
	[RAMA_TAB_SET_D_RANK_INCLUDE] = HOW_USE(set_ranks, 1),
	[RAMA_TAB_SET_D_SMALL_IO_TRIGGER] = HOW(set_fraction, small_trigger),
	[RAMA_TAB_SET_D_UNALIGNED_TRIGGER] = HOW(set_fraction, unaligned_trigger),
	[RAMA_TAB_SET_DXT_ENABLE_IO_TRACE] = HOW_USE(set_dxt, 0),
	[RAMA_TAB_SET_DISABLE] = HOW_USE(set_disable, 0),
	[RAMA_TAB_SET_DIR] = HOW(set_text, dir),
	[RAMA_TAB_SET_JOB] = HOW(set_job, job),
	[RAMA_TAB_SET_JOBID] = HOW_USE(set_jobid, 0),
	[RAMA_TAB_SET_RUN_JOBID] = HOW_USE(set_jobid, 1),
	[RAMA_TAB_SET_LOG_DIR] = HOW(set_text, log_dir),
	[RAMA_TAB_SET_LOG] = HOW(set_text, log_file),
	[RAMA_TAB_SET_TRACE] = HOW_USE(set_trace, 0),
	[RAMA_TAB_SET_TRACE_MEMORY] = HOW(set_trace_memory, trace_memory),
	[RAMA_TAB_SET_SITES] = HOW_USE(set_sites, 0),
	[RAMA_TAB_SET_LIVE] = HOW_USE(set_live, 0),
	[RAMA_TAB_SET_LIVE_MEMORY] = HOW(set_size, live_memory),
	[RAMA_TAB_SET_LIVE_TAG] = HOW(set_tag, live_tag),
	[RAMA_TAB_SET_LEAST_BYTES] = HOW(set_size, least_bytes),
	[RAMA_TAB_SET_LEAST_SECONDS] = HOW(set_seconds, least_seconds),
	[RAMA_TAB_SET_EXCLUDE] = HOW_USE(set_globs, RAMA_CONFIG_RULE_PATH_EXCLUDE),
	[RAMA_TAB_SET_INCLUDE] = HOW_USE(set_globs, RAMA_CONFIG_RULE_PATH_INCLUDE),
	[RAMA_TAB_SET_RECORDS] = HOW_USE(set_records, 0),
	[RAMA_TAB_SET_MEMORY] = HOW(set_size, memory),
	[RAMA_TAB_SET_MOD_DISABLE] = HOW(set_modules, mod_disable),
	[RAMA_TAB_SET_MOD_ENABLE] = HOW(set_modules, mod_enable),
	[RAMA_TAB_SET_NAME_MEMORY] = HOW(set_size, name_memory),
};

/* ---- built-in values, file, environment ------------------------------------------------------ */

/* what is on after all that was said; asking to enable wins */
static void settle(struct rama_config_settings *s)
{
	uint64_t known = 0;

	for (unsigned i = 0; i < RAMA_TAB_MODULES; i++)
		if (rama_tab_module_get(i) != NULL)
			known |= (uint64_t)1 << i;
	s->modules =
		((known & ~RAMA_CONFIG_SETTINGS_TRACED & ~s->mod_disable) | s->mod_enable) & known;
	if (s->trace)
		s->modules |= RAMA_CONFIG_SETTINGS_TRACED;
	if (s->no_trace)
		s->modules &= ~RAMA_CONFIG_SETTINGS_TRACED;
}

void rama_config_settings_init(struct rama_config_settings *s)
{
	memset(s, 0, offsetof(struct rama_config_settings, range));
	memset(s->rule_modules, 0, sizeof(s->rule_modules));
	rama_patterns_init(&s->patterns);
	s->warnings[0] = '\0';
	s->line = 0;
	s->n_warnings = 0;
	s->small_trigger = s->unaligned_trigger = -1;
	for (unsigned i = 0; i < RAMA_TAB_MODULES; i++)
		s->records[i] = RAMA_CONFIG_SETTINGS_TRACED >> i & 1 ? DXT_KIB
				: FIXED_RECORDS >> i & 1	     ? 1
								     : RAMA_CONFIG_SETTINGS_ANY;
	for (unsigned i = RAMA_TAB_SETTINGS; i-- > 0;) { /* higher rows win */
		const char *preset = rama_tab_settings[i].preset;
		struct given g = { rama_tab_settings[i].variable, { preset, strlen(preset) } };

		if (hows[i].set != NULL && *preset != '\0')
			hows[i].set(s, &hows[i], &g);
	}
	/* nobody has said this yet */
	s->no_trace = s->has_trace_memory = false;
	settle(s);
}

static struct rama_config_piece next_word(struct rama_config_piece *line)
{
	struct rama_config_piece w;

	while (line->n > 0 && (*line->p == ' ' || *line->p == '\t' || *line->p == '\r'))
		line->p++, line->n--;
	w = (struct rama_config_piece){ line->p, 0 };
	while (w.n < line->n && line->p[w.n] != ' ' && line->p[w.n] != '\t' && line->p[w.n] != '\r')
		w.n++;
	line->p += w.n;
	line->n -= w.n;
	return w;
}

/* what has no variable: two words follow */
static bool file_only(struct rama_config_settings *s, struct rama_config_piece word,
		      struct rama_config_piece *line)
{
	struct rama_config_piece what, list;
	uint64_t modules;
	unsigned i = 0;

	while (i < RAMA_TAB_DIRECTIVES && !rama_config_piece_is(word, rama_tab_directives[i].name))
		i++;
	if (i == RAMA_TAB_DIRECTIVES)
		return false;
	what = next_word(line);
	list = next_word(line);
	if (list.n == 0) {
		warn(s, rama_tab_directives[i].name, "modules are missing", list);
		return true;
	}
	modules = module_list(s, rama_tab_directives[i].name, list);
	if (i == RAMA_CONFIG_DIRECTIVE_MAX_RECORDS)
		records(s, rama_tab_directives[i].name, what, modules);
	else
		add_regexes(s, rama_tab_directives[i].name, what,
			    i == RAMA_CONFIG_DIRECTIVE_NAME_EXCLUDE ? RAMA_CONFIG_RULE_NAME_EXCLUDE
								    : RAMA_CONFIG_RULE_NAME_INCLUDE,
			    modules);
	return true;
}

static void file_line(struct rama_config_settings *s, struct rama_config_piece line)
{
	struct rama_config_piece word = next_word(&line);
	struct given g;
	unsigned i = 0;

	if (word.n == 0 || word.p[0] == '#' || file_only(s, word, &line))
		return;
	while (i < RAMA_TAB_SETTINGS &&
	       (rama_tab_settings[i].directive == NULL ||
		!rama_config_piece_is(word, rama_tab_settings[i].directive)))
		i++;
	if (i == RAMA_TAB_SETTINGS) {
		warn(s, "config file", "unknown directive", word);
		return;
	}
	g.name = rama_tab_settings[i].directive;
	g.value = next_word(&line);
	if (g.value.n == 0 && hows[i].set != set_flag)
		warn(s, g.name, "its value is missing", g.value);
	else
		hows[i].set(s, &hows[i], &g);
}

void rama_config_settings_file(struct rama_config_settings *s, const char *text, size_t len)
{
	struct rama_config_piece rest = { text, len }, line;

	while (rama_config_piece_next(&rest, '\n', &line)) {
		s->line++;
		file_line(s, line);
	}
	s->line = 0;
	settle(s);
}

/* A variable of such a pair makes all that the file said about both void. */
static void drop_pairs(struct rama_config_settings *s, rama_config_lookup lookup, void *ctx)
{
#define SET(id) (lookup(ctx, rama_tab_settings[RAMA_TAB_SET_##id].variable) != NULL)
	if (SET(D_MOD_DISABLE) || SET(D_MOD_ENABLE) || SET(MOD_DISABLE) || SET(MOD_ENABLE))
		s->mod_disable = s->mod_enable = 0;
	if (SET(D_APP_EXCLUDE) || SET(D_APP_INCLUDE)) {
		drop_rules(s, RAMA_CONFIG_RULE_APP_EXCLUDE);
		drop_rules(s, RAMA_CONFIG_RULE_APP_INCLUDE);
	}
	if (SET(D_RANK_EXCLUDE) || SET(D_RANK_INCLUDE))
		s->n_ranges = 0;
#undef SET
}

void rama_config_settings_env(struct rama_config_settings *s, rama_config_lookup lookup, void *ctx)
{
	drop_pairs(s, lookup, ctx);
	for (unsigned i = RAMA_TAB_SETTINGS; i-- > 0;) { /* higher rows win */
		const char *value =
			hows[i].set != NULL ? lookup(ctx, rama_tab_settings[i].variable) : NULL;
		struct given g = { rama_tab_settings[i].variable, { value, 0 } };

		if (value == NULL)
			continue;
		g.value.n = strlen(value);
		if (g.value.n > 0 || hows[i].set == set_flag || hows[i].set == set_dxt)
			hows[i].set(s, &hows[i], &g);
	}
	rama_config_settings_folders(s, lookup, ctx);
	settle(s);
}

const char *rama_config_settings_config(rama_config_lookup lookup, void *ctx)
{
	return lookup(ctx, rama_tab_settings[RAMA_TAB_SET_D_CONFIG_PATH].variable);
}
