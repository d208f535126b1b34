/* SPDX-License-Identifier: BSD-3-Clause */
/* map.h: applies a macro to each argument of a list of 1 to 10. The only preprocessor plumbing there
 * is; everything else is a table.
 *
 *   RAMA_EACH(m, a, b) -> m(a) m(b)        RAMA_LIST(m, a, b) -> m(a), m(b) */
#ifndef RAMA_TABLE_MAP_H
#define RAMA_TABLE_MAP_H

#define RAMA_COUNT(...) RAMA_COUNT_(__VA_ARGS__, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define RAMA_COUNT_(a, b, c, d, e, f, g, h, i, j, n, ...) n
#define RAMA_JOIN(a, b) RAMA_JOIN_(a, b)
#define RAMA_JOIN_(a, b) a##b

#define RAMA_EACH(m, ...) RAMA_JOIN(RAMA_EACH_, RAMA_COUNT(__VA_ARGS__))(m, __VA_ARGS__)
#define RAMA_EACH_1(m, a) m(a)
#define RAMA_EACH_2(m, a, ...) m(a) RAMA_EACH_1(m, __VA_ARGS__)
#define RAMA_EACH_3(m, a, ...) m(a) RAMA_EACH_2(m, __VA_ARGS__)
#define RAMA_EACH_4(m, a, ...) m(a) RAMA_EACH_3(m, __VA_ARGS__)
#define RAMA_EACH_5(m, a, ...) m(a) RAMA_EACH_4(m, __VA_ARGS__)
#define RAMA_EACH_6(m, a, ...) m(a) RAMA_EACH_5(m, __VA_ARGS__)
#define RAMA_EACH_7(m, a, ...) m(a) RAMA_EACH_6(m, __VA_ARGS__)
#define RAMA_EACH_8(m, a, ...) m(a) RAMA_EACH_7(m, __VA_ARGS__)
#define RAMA_EACH_9(m, a, ...) m(a) RAMA_EACH_8(m, __VA_ARGS__)
#define RAMA_EACH_10(m, a, ...) m(a) RAMA_EACH_9(m, __VA_ARGS__)

#define RAMA_LIST(m, ...) RAMA_JOIN(RAMA_LIST_, RAMA_COUNT(__VA_ARGS__))(m, __VA_ARGS__)
#define RAMA_LIST_1(m, a) m(a)
#define RAMA_LIST_2(m, a, ...) m(a), RAMA_LIST_1(m, __VA_ARGS__)
#define RAMA_LIST_3(m, a, ...) m(a), RAMA_LIST_2(m, __VA_ARGS__)
#define RAMA_LIST_4(m, a, ...) m(a), RAMA_LIST_3(m, __VA_ARGS__)
#define RAMA_LIST_5(m, a, ...) m(a), RAMA_LIST_4(m, __VA_ARGS__)
#define RAMA_LIST_6(m, a, ...) m(a), RAMA_LIST_5(m, __VA_ARGS__)
#define RAMA_LIST_7(m, a, ...) m(a), RAMA_LIST_6(m, __VA_ARGS__)
#define RAMA_LIST_8(m, a, ...) m(a), RAMA_LIST_7(m, __VA_ARGS__)
#define RAMA_LIST_9(m, a, ...) m(a), RAMA_LIST_8(m, __VA_ARGS__)
#define RAMA_LIST_10(m, a, ...) m(a), RAMA_LIST_9(m, __VA_ARGS__)

#endif
