/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/human.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define GROUPS_FROM 10000 /* seconds and ratios from here on have separators too */

char *rama_human_count(char to[RAMA_HUMAN], int64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%lld", (long long)n);
	int left = digits[0] == '-' ? len - 1 : len;
	char *p = to;

	for (int i = 0; i < len; i++) {
		*p++ = digits[i];
		if (digits[i] != '-' && --left > 0 && left % 3 == 0)
			*p++ = ',';
	}
	*p = '\0';
	return to;
}

/* to the nearest; the library is used where there is no libm */
static int64_t nearest(double v)
{
	return (int64_t)(v < 0 ? v - 0.5 : v + 0.5);
}

/* a whole number, whatever its size; what no counter can hold is told as a power */
static void put_whole(char to[RAMA_HUMAN], double v)
{
	if (fabs(v) < 9e18)
		rama_human_count(to, nearest(v));
	else
		snprintf(to, RAMA_HUMAN, "%.3g", v);
}

char *rama_human_bytes(char to[RAMA_HUMAN], double bytes)
{
	static const char *const unit[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	const unsigned last = sizeof(unit) / sizeof(unit[0]) - 1;
	double v = isfinite(bytes) ? bytes : 0;
	unsigned u = 0;

	if (fabs(v) < 1023.5) {
		snprintf(to, RAMA_HUMAN, "%.0f B", v);
		return to;
	}
	for (v /= 1024; fabs(v) >= 1023.95 && u < last; u++)
		v /= 1024;
	snprintf(to, RAMA_HUMAN, fabs(v) < 1e6 ? "%.1f %s" : "%.3g %s", v, unit[u]);
	return to;
}

char *rama_human_rate(char to[RAMA_HUMAN], double bytes_per_second)
{
	rama_human_bytes(to, bytes_per_second);
	memcpy(to + strlen(to), "/s", 3);
	return to;
}

char *rama_human_seconds(char to[RAMA_HUMAN], double s)
{
	double a = fabs(s);

	if (!isfinite(s) || a < 0.5e-6) {
		snprintf(to, RAMA_HUMAN, "0 s");
	} else if (a < 0.9995e-3) {
		snprintf(to, RAMA_HUMAN, "%.0f µs", s * 1e6);
	} else if (a < 0.09995) {
		snprintf(to, RAMA_HUMAN, a < 9.995e-3 ? "%.2f ms" : "%.1f ms", s * 1e3);
	} else if (a < 99.95) {
		snprintf(to, RAMA_HUMAN, a < 9.995 ? "%.2f s" : "%.1f s", s);
	} else if (a < GROUPS_FROM - 0.5) {
		snprintf(to, RAMA_HUMAN, "%.0f s", s);
	} else {
		put_whole(to, s);
		memcpy(to + strlen(to), " s", 3);
	}
	return to;
}

char *rama_human_duration(char to[RAMA_HUMAN], double s)
{
	int64_t t;

	if (!isfinite(s) || s < 59.95 || s > 1e12)
		return rama_human_seconds(to, s);
	t = nearest(s);
	if (t < 3600)
		snprintf(to, RAMA_HUMAN, "%lld min %lld s", (long long)t / 60, (long long)t % 60);
	else if (t < 86400)
		snprintf(to, RAMA_HUMAN, "%lld h %lld min", (long long)t / 3600,
			 (long long)t / 60 % 60);
	else
		snprintf(to, RAMA_HUMAN, "%lld d %lld h", (long long)t / 86400,
			 (long long)t / 3600 % 24);
	return to;
}

char *rama_human_share(char to[RAMA_HUMAN], double share)
{
	double p = 100 * share;

	if (!isfinite(p) || p == 0)
		snprintf(to, RAMA_HUMAN, "0 %%");
	else if (fabs(p) < 0.05)
		snprintf(to, RAMA_HUMAN, "< 0.1 %%");
	else if (fabs(p) < 9.95 || (p > 99 && p < 99.95)) /* 100 % means all of it */
		snprintf(to, RAMA_HUMAN,
			 fabs(p - (double)nearest(p)) < 0.05 ? "%.0f %%" : "%.1f %%", p);
	else if (p >= 99.95 && p < 100)
		snprintf(to, RAMA_HUMAN, "> 99.9 %%");
	else
		snprintf(to, RAMA_HUMAN, fabs(p) < 1e9 ? "%.0f %%" : "%.3g %%", p);
	return to;
}

char *rama_human_ratio(char to[RAMA_HUMAN], double ratio)
{
	if (!isfinite(ratio))
		ratio = 0;
	if (fabs(ratio) < 9.95)
		snprintf(to, RAMA_HUMAN, "%.1f", ratio);
	else
		put_whole(to, ratio);
	memcpy(to + strlen(to), "×", sizeof("×"));
	return to;
}

char *rama_human_value(char to[RAMA_HUMAN], const char *unit, double v)
{
	static const struct {
		const char *unit;
		char *(*put)(char *, double);
	} known[] = {
		{ "bytes", rama_human_bytes },	{ "s", rama_human_seconds },
		{ "share", rama_human_share },	{ "ratio", rama_human_ratio },
		{ "bytes/s", rama_human_rate },
	};

	for (unsigned i = 0; unit != NULL && i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(unit, known[i].unit) == 0)
			return known[i].put(to, v);
	if (!isfinite(v))
		snprintf(to, RAMA_HUMAN, "0");
	else if (fabs(v) >= 1000 || v == (double)(int64_t)v)
		put_whole(to, v);
	else
		snprintf(to, RAMA_HUMAN, "%.2f", v);
	return to;
}
