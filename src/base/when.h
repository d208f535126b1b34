/* SPDX-License-Identifier: BSD-3-Clause */
/* when.h: moments and spans as people write and read them. No clock is read: `now` is the
 * caller's. Moments without a zone are local time (TZ). Nanoseconds since 1970, or of a span. */
#ifndef RAMA_BASE_WHEN_H
#define RAMA_BASE_WHEN_H

#include <stdbool.h>
#include <stdint.h>

/* 500ms, 30s, 10m (also min), 1.5h, 30d, 2w, 1y (365 days); a plain number is seconds; units may
 * be added up: 1h30m. false: it is none */
bool rama_when_span(const char *text, int64_t *ns);

/* 2026-11-16, 2026-11-16 09:20, 2026-11-16T09:20:07.25, with Z or +01:00 at the end for another
 * zone; 1700000000.5 or @1700000000 (seconds since 1970); now, today, yesterday (their first
 * moment); -10m (before now); +5s (after `origin`). false: it is none of these */
bool rama_when(const char *text, int64_t now, int64_t origin, int64_t *ns);

#define RAMA_WHEN 40 /* bytes that these fit in */
/* "2026-11-16 09:20:07.250000" in local time; decimals 0..9. "-" of moments that no calendar
 * has. Returns `to`. */
char *rama_when_text(char to[RAMA_WHEN], int64_t ns, unsigned decimals);
/* "2026-11-16T09:20:07.250000000Z" */
char *rama_when_iso(char to[RAMA_WHEN], int64_t ns);

#endif
