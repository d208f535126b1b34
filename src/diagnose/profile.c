/* SPDX-License-Identifier: BSD-3-Clause */
/* profile.c: limits and what a site or a user makes of them. Files are INI, read by libinih. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/ini.h"
#include "base/without.h"
#include "diagnose/diagnose.h"

#define LIMIT(name, value, least, most, unit, drishti, doc) \
	{ #name, #unit, doc, value, least, most, (drishti)[0] ? (drishti) : NULL },
const struct rama_diag_limit rama_diag_limits[] = {
#include "table/limits.def"
};
#undef LIMIT
const unsigned rama_diag_n_limits = sizeof(rama_diag_limits) / sizeof(rama_diag_limits[0]);

int rama_diag_profile_init(struct rama_diag_profile *p)
{
	p->value = calloc(rama_diag_n_limits, sizeof(*p->value));
	p->source = calloc(rama_diag_n_limits, sizeof(*p->source));
	if (p->value == NULL || p->source == NULL) {
		rama_diag_profile_fini(p);
		return RAMA_EMEMORY;
	}
	for (unsigned i = 0; i < rama_diag_n_limits; i++) {
		p->value[i] = rama_diag_limits[i].value;
		p->source[i] = strdup("default");
		if (p->source[i] == NULL) {
			rama_diag_profile_fini(p);
			return RAMA_EMEMORY;
		}
	}
	return 0;
}

void rama_diag_profile_fini(struct rama_diag_profile *p)
{
	for (unsigned i = 0; p->source != NULL && i < rama_diag_n_limits; i++)
		free(p->source[i]);
	free(p->source);
	free(p->value);
	memset(p, 0, sizeof(*p));
}

/* what may stand behind a number, for limits of a unit */
static const struct suffix {
	const char *unit, *text;
	double factor;
} suffixes[] = {
	{ "share", "%", 0.01 },
	{ "ratio", "x", 1 },
	{ "ratio", "×", 1 },
	{ "s", "s", 1 },
	{ "s", "ms", 1e-3 },
	{ "s", "us", 1e-6 },
	{ "s", "µs", 1e-6 },
	{ "s", "min", 60 },
	{ "bytes", "B", 1 },
	{ "bytes", "KiB", 1024 },
	{ "bytes", "MiB", 1048576 },
	{ "bytes", "GiB", 1073741824 },
	{ "bytes", "TiB", 1099511627776 },
	{ "bytes/s", "B/s", 1 },
	{ "bytes/s", "KiB/s", 1024 },
	{ "bytes/s", "MiB/s", 1048576 },
	{ "bytes/s", "GiB/s", 1073741824 },
	{ "bytes/s", "TiB/s", 1099511627776 },
};

/* "64 MiB" -> bytes; false: no number, or no unit of this limit */
static bool number(const char *text, const char *unit, double *to)
{
	char *end;
	double v = strtod(text, &end);
	size_t len;

	if (end == text || !isfinite(v))
		return false;
	while (isspace((unsigned char)*end))
		end++;
	*to = v;
	if (*end == '\0' || *end == '#') /* libinih knows ';' for comments behind values */
		return true;
	len = strcspn(end, " \t#");
	if (end[len + strspn(end + len, " \t")] != '\0' &&
	    end[len + strspn(end + len, " \t")] != '#')
		return false;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (strcmp(suffixes[i].unit, unit) == 0 && strlen(suffixes[i].text) == len &&
		    memcmp(suffixes[i].text, end, len) == 0) {
			*to = v * suffixes[i].factor;
			return true;
		}
	}
	return false;
}

#ifdef RAMA_WITHOUT_INIH
int rama_diag_profile_read(struct rama_diag_profile *p, FILE *f, const char *name,
			   struct rama_err *e)
{
	(void)p, (void)f, (void)name, (void)number;
	return rama_err_without(e, "a reader of profiles (inih)");
}
#else
struct reading {
	struct rama_ini ini;
	struct rama_diag_profile *p;
};

static int find_limit(const char *name)
{
	for (unsigned i = 0; i < rama_diag_n_limits; i++)
		if (strcmp(rama_diag_limits[i].name, name) == 0)
			return (int)i;
	return -1;
}

static int set_limit(struct reading *r, const char *name, const char *text)
{
	int i = find_limit(name);
	const struct rama_diag_limit *l = &rama_diag_limits[i < 0 ? 0 : i];
	char *source;
	double v;

	if (i < 0)
		return rama_err_set(r->ini.e, RAMA_EFORMAT,
				    "%s: line %d: no limit is called '%.60s'; iorama report "
				    "--limits lists them",
				    r->ini.name, r->ini.line, name);
	if (!number(text, l->unit, &v))
		return rama_err_set(r->ini.e, RAMA_EFORMAT,
				    "%s: line %d: %s: '%.60s' is not a number of unit %s",
				    r->ini.name, r->ini.line, name, text, l->unit);
	if (v < l->least || v > l->most)
		return rama_err_set(r->ini.e, RAMA_EFORMAT,
				    "%s: line %d: %s: %.60s is not between %g and %g", r->ini.name,
				    r->ini.line, name, text, l->least, l->most);
	source = strdup(r->ini.name);
	if (source == NULL)
		return rama_err_set(r->ini.e, RAMA_EMEMORY, "%s: %s", r->ini.name,
				    rama_err_text(RAMA_EMEMORY));
	free(r->p->source[i]);
	r->p->source[i] = source;
	r->p->value[i] = v;
	return 0;
}

/* libinih: 0 is an error */
static int on_value(void *ctx, const char *section, const char *name, const char *value)
{
	struct reading *r = ctx;

	if (r->ini.rc != 0)
		return 1;
	if (strcmp(section, "limits") != 0)
		r->ini.rc = rama_err_set(
			r->ini.e, RAMA_EFORMAT,
			"%s: line %d: '%.60s' stands in section [%.40s]; only [limits] is known",
			r->ini.name, r->ini.line, name, section);
	else
		r->ini.rc = set_limit(r, name, value);
	return 1;
}

int rama_diag_profile_read(struct rama_diag_profile *p, FILE *f, const char *name,
			   struct rama_err *e)
{
	struct reading r = { .ini = { .name = name, .e = e, .file = f }, .p = p };

	return rama_ini_read(&r.ini, on_value, "[limits]");
}
#endif
