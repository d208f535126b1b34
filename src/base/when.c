/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/when.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND 1000000000
#define FAR 9.2e18 /* what int64_t holds, about */
#define PLAIN_LEAST \
	100000000.0 /* numbers below are no seconds since 1970 that anyone means: 1973 */

struct unit {
	const char *name;
	double ns;
};
static const struct unit units[] = {
	{ "ns", 1 },	 { "us", 1e3 }, { "ms", 1e6 },	 { "sec", 1e9 },   { "s", 1e9 },
	{ "min", 60e9 }, { "m", 60e9 }, { "h", 3600e9 }, { "d", 86400e9 }, { "w", 604800e9 },
	{ "y", 31536000e9 }, /* 365 days */
};

/* a number without sign, exponent or words; NULL: none */
static const char *number(const char *p, double *v)
{
	char *end;

	if (!isdigit((unsigned char)*p) || (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')))
		return NULL;
	*v = strtod(p, &end);
	return isfinite(*v) ? end : NULL;
}

static const struct unit *unit_of(const char **p)
{
	size_t n = 0;

	while (isalpha((unsigned char)(*p)[n]))
		n++;
	for (unsigned i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strlen(units[i].name) == n && strncmp(units[i].name, *p, n) == 0) {
			*p += n;
			return &units[i];
		}
	return NULL;
}

bool rama_when_span(const char *text, int64_t *ns)
{
	const char *p = text;
	double all = 0, v;

	do {
		const struct unit *u;

		p = number(p, &v);
		if (p == NULL)
			return false;
		u = *p == '\0' ? &units[4] : unit_of(&p);
		if (u == NULL)
			return false;
		all += v * u->ns;
	} while (*p != '\0');
	if (!(all < FAR))
		return false;
	*ns = (int64_t)llround(all);
	return true;
}

/* n digits exactly */
static const char *digits(const char *p, unsigned n, int *v)
{
	*v = 0;
	for (unsigned i = 0; i < n; i++) {
		if (!isdigit((unsigned char)p[i]))
			return NULL;
		*v = *v * 10 + (p[i] - '0');
	}
	return p + n;
}

/* .25 */
static const char *fraction(const char *p, int64_t *ns)
{
	int64_t place = SECOND / 10;

	if (*p != '.')
		return p;
	if (!isdigit((unsigned char)*++p))
		return NULL;
	for (; isdigit((unsigned char)*p); p++, place /= 10)
		*ns += place * (*p - '0');
	return p;
}

/* 09:20[:07[.25]] */
static const char *clock_time(const char *p, struct tm *tm, int64_t *ns)
{
	p = digits(p, 2, &tm->tm_hour);
	p = p != NULL && *p == ':' ? digits(p + 1, 2, &tm->tm_min) : NULL;
	if (p != NULL && *p == ':') {
		p = digits(p + 1, 2, &tm->tm_sec);
		p = p != NULL ? fraction(p, ns) : NULL;
	}
	return tm->tm_hour > 24 || tm->tm_min > 59 || tm->tm_sec > 60 ? NULL : p;
}

/* Z, +01:00, -0130; what is behind it, or NULL */
static const char *zone(const char *p, int *minutes)
{
	int sign = *p == '-' ? -1 : 1, h = 0, m = 0;

	if (*p == 'Z')
		return p + 1;
	p = digits(p + 1, 2, &h);
	if (p != NULL && *p == ':')
		p++;
	if (p != NULL && *p != '\0')
		p = digits(p, 2, &m);
	*minutes = sign * (h * 60 + m);
	return h > 15 || m > 59 ? NULL : p;
}

static bool calendar(const char *p, int64_t *at)
{
	struct tm tm = { .tm_isdst = -1 }, day;
	int64_t ns = 0;
	int minutes = 0;
	bool zoned = false;
	time_t t;

	p = digits(p, 4, &tm.tm_year);
	p = p != NULL && *p == '-' ? digits(p + 1, 2, &tm.tm_mon) : NULL;
	p = p != NULL && *p == '-' ? digits(p + 1, 2, &tm.tm_mday) : NULL;
	if (p == NULL || tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	day = tm;
	if (*p == 'T' || *p == ' ')
		p = clock_time(p + 1, &tm, &ns);
	if (p != NULL && (*p == 'Z' || *p == '+' || *p == '-')) {
		zoned = true;
		p = zone(p, &minutes);
	}
	if (p == NULL || *p != '\0')
		return false;
	timegm(&day); /* a 31st of February is none: it would move on */
	if (day.tm_mon != tm.tm_mon)
		return false;
	t = zoned ? timegm(&tm) - (time_t)minutes * 60 : mktime(&tm);
	if ((double)t * SECOND >= FAR || (double)t * SECOND <= -FAR)
		return false;
	*at = (int64_t)t * SECOND + ns;
	return true;
}

/* seconds since 1970: whole and fraction apart, so that nothing is rounded */
static bool epoch(const char *p, int64_t *at)
{
	int64_t ns = 0, s = 0;

	if (!isdigit((unsigned char)*p))
		return false;
	for (; isdigit((unsigned char)*p); p++) {
		if (s > INT64_MAX / SECOND / 10 - 10)
			return false;
		s = s * 10 + (*p - '0');
	}
	p = fraction(p, &ns);
	if (p == NULL || *p != '\0')
		return false;
	*at = s * SECOND + ns;
	return true;
}

static bool day_of(int64_t now, int back, int64_t *at)
{
	time_t t = (time_t)(now / SECOND);
	struct tm tm;

	if (localtime_r(&t, &tm) == NULL)
		return false;
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_mday -= back;
	tm.tm_isdst = -1;
	*at = (int64_t)mktime(&tm) * SECOND;
	return true;
}

bool rama_when(const char *text, int64_t now, int64_t origin, int64_t *ns)
{
	int64_t span;

	if (strcmp(text, "now") == 0) {
		*ns = now;
		return true;
	}
	if (strcmp(text, "today") == 0)
		return day_of(now, 0, ns);
	if (strcmp(text, "yesterday") == 0)
		return day_of(now, 1, ns);
	if (*text == '-' || *text == '+') {
		if (!rama_when_span(text + 1, &span))
			return false;
		return !(*text == '-' ? __builtin_sub_overflow(now, span, ns)
				      : __builtin_add_overflow(origin, span, ns));
	}
	if (*text == '@')
		return epoch(text + 1, ns);
	if (strspn(text, "0123456789.") == strlen(text))
		return strtod(text, NULL) >= PLAIN_LEAST && epoch(text, ns);
	return calendar(text, ns);
}

/* whole seconds and what is left, also before 1970 */
static time_t split(int64_t ns, int64_t *rest)
{
	int64_t s = ns / SECOND;

	*rest = ns % SECOND;
	if (*rest < 0) {
		*rest += SECOND;
		s--;
	}
	return (time_t)s;
}

char *rama_when_text(char to[RAMA_WHEN], int64_t ns, unsigned decimals)
{
	static const int64_t scale[] = { 1000000000, 100000000, 10000000, 1000000, 100000,
					 10000,	     1000,	100,	  10,	   1 };
	int64_t rest;
	time_t t = split(ns, &rest);
	struct tm tm;
	size_t n;

	if (localtime_r(&t, &tm) == NULL ||
	    (n = strftime(to, RAMA_WHEN, "%Y-%m-%d %H:%M:%S", &tm)) == 0) {
		snprintf(to, RAMA_WHEN, "-");
		return to;
	}
	if (decimals > 0 && decimals < 10)
		snprintf(to + n, RAMA_WHEN - n, ".%0*" PRId64, (int)decimals,
			 rest / scale[decimals]);
	return to;
}

char *rama_when_iso(char to[RAMA_WHEN], int64_t ns)
{
	int64_t rest;
	time_t t = split(ns, &rest);
	struct tm tm;
	size_t n;

	if (gmtime_r(&t, &tm) == NULL ||
	    (n = strftime(to, RAMA_WHEN, "%Y-%m-%dT%H:%M:%S", &tm)) == 0) {
		snprintf(to, RAMA_WHEN, "-");
		return to;
	}
	snprintf(to + n, RAMA_WHEN - n, ".%09" PRId64 "Z", rest);
	return to;
}
