/* SPDX-License-Identifier: BSD-3-Clause */
/* human.h: numbers as people read them. Every report, table and message takes its units from
 * here, so that the same figure looks the same everywhere. Each writes into the caller's memory
 * and returns it. A number and its unit are joined by one space. */
#ifndef RAMA_BASE_HUMAN_H
#define RAMA_BASE_HUMAN_H

#include <stdint.h>

#define RAMA_HUMAN 40 /* bytes that every one of them fits in */

/* 12,345 */
char *rama_human_count(char to[RAMA_HUMAN], int64_t n);
/* 0 B, 512 B, 1.0 KiB, 24.5 MiB, 283.7 GiB */
char *rama_human_bytes(char to[RAMA_HUMAN], double bytes);
/* 475.0 MiB/s */
char *rama_human_rate(char to[RAMA_HUMAN], double bytes_per_second);
/* 0 s, 13 µs, 2.31 ms, 0.42 s, 9.81 s, 45.3 s, 612 s, 12,345 s */
char *rama_human_seconds(char to[RAMA_HUMAN], double s);
/* for run times: as seconds below a minute, then 12 min 7 s, 3 h 20 min, 2 d 5 h */
char *rama_human_duration(char to[RAMA_HUMAN], double s);
/* of a share 0..1: 0 %, < 0.1 %, 2 %, 4.2 %, 84 %, 99.6 %, 100 % */
char *rama_human_share(char to[RAMA_HUMAN], double share);
/* 3.9×, 64×, 1,200× */
char *rama_human_ratio(char to[RAMA_HUMAN], double ratio);
/* by the name of its unit: bytes, s, share, ratio, bytes/s, else (count) a plain number with at
 * most two decimals */
char *rama_human_value(char to[RAMA_HUMAN], const char *unit, double v);

#endif
