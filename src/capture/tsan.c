/* SPDX-License-Identifier: BSD-3-Clause */
/* tsan.c: what ThreadSanitizer is told of us. It sees what our memcpy() and its like touch, and
 * not the locks and published words that keep our threads apart, which are not its own
 * instrumented code; so it would tell of races that are none, and end the program with a status
 * of its own. It asks for this function, unless the program has one. */
#ifndef RAMA_STATIC_WRAP
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);

__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void)
{
	return "race:libiorama\n";
}
#else
typedef int rama_tsan_unused; /* a file is never empty */
#endif
