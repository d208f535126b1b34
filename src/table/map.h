/* SPDX-License-Identifier: BSD-3-Clause */
/* map.h: applies a macro to each argument of a list of 1 to 10. The only preprocessor plumbing
 * there is; everything else is a table.
 *
 *   RAMA_TAB_EACH(m, a, b) -> m(a) m(b)        RAMA_TAB_LIST(m, a, b) -> m(a), m(b) */
#ifndef RAMA_TABLE_MAP_H
#define RAMA_TABLE_MAP_H

#define RAMA_TAB_COUNT(...) RAMA_TAB_COUNT_(__VA_ARGS__, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define RAMA_TAB_COUNT_(a, b, c, d, e, f, g, h, i, j, n, ...) n
#define RAMA_TAB_JOIN(a, b) RAMA_TAB_JOIN_(a, b)
#define RAMA_TAB_JOIN_(a, b) a##b

#define RAMA_TAB_EACH(m, ...) \
	RAMA_TAB_JOIN(RAMA_TAB_EACH_, RAMA_TAB_COUNT(__VA_ARGS__))(m, __VA_ARGS__)
#define RAMA_TAB_EACH_1(m, a) m(a)
#define RAMA_TAB_EACH_2(m, a, ...) m(a) RAMA_TAB_EACH_1(m, __VA_ARGS__)
#define RAMA_TAB_EACH_3(m, a, ...) m(a) RAMA_TAB_EACH_2(m, __VA_ARGS__)
#define RAMA_TAB_EACH_4(m, a, ...) m(a) RAMA_TAB_EACH_3(m, __VA_ARGS__)
#define RAMA_TAB_EACH_5(m, a, ...) m(a) RAMA_TAB_EACH_4(m, __VA_ARGS__)
#define RAMA_TAB_EACH_6(m, a, ...) m(a) RAMA_TAB_EACH_5(m, __VA_ARGS__)
#define RAMA_TAB_EACH_7(m, a, ...) m(a) RAMA_TAB_EACH_6(m, __VA_ARGS__)
#define RAMA_TAB_EACH_8(m, a, ...) m(a) RAMA_TAB_EACH_7(m, __VA_ARGS__)
#define RAMA_TAB_EACH_9(m, a, ...) m(a) RAMA_TAB_EACH_8(m, __VA_ARGS__)
#define RAMA_TAB_EACH_10(m, a, ...) m(a) RAMA_TAB_EACH_9(m, __VA_ARGS__)

#define RAMA_TAB_LIST(m, ...) \
	RAMA_TAB_JOIN(RAMA_TAB_LIST_, RAMA_TAB_COUNT(__VA_ARGS__))(m, __VA_ARGS__)
#define RAMA_TAB_LIST_1(m, a) m(a)
#define RAMA_TAB_LIST_2(m, a, ...) m(a), RAMA_TAB_LIST_1(m, __VA_ARGS__)
#define RAMA_TAB_LIST_3(m, a, ...) m(a), RAMA_TAB_LIST_2(m, __VA_ARGS__)
#define RAMA_TAB_LIST_4(m, a, ...) m(a), RAMA_TAB_LIST_3(m, __VA_ARGS__)
#define RAMA_TAB_LIST_5(m, a, ...) m(a), RAMA_TAB_LIST_4(m, __VA_ARGS__)
#define RAMA_TAB_LIST_6(m, a, ...) m(a), RAMA_TAB_LIST_5(m, __VA_ARGS__)
#define RAMA_TAB_LIST_7(m, a, ...) m(a), RAMA_TAB_LIST_6(m, __VA_ARGS__)
#define RAMA_TAB_LIST_8(m, a, ...) m(a), RAMA_TAB_LIST_7(m, __VA_ARGS__)
#define RAMA_TAB_LIST_9(m, a, ...) m(a), RAMA_TAB_LIST_8(m, __VA_ARGS__)
#define RAMA_TAB_LIST_10(m, a, ...) m(a), RAMA_TAB_LIST_9(m, __VA_ARGS__)

#endif
