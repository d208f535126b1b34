/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_pattern.c: the first byte chooses glob or regular expression, the second is the length of
 * the pattern that follows; the rest is the text. A pattern in parentheses, or with itself as
 * alternative, must find the same; libc must, too, where it is not known to be slow or to mean
 * something else. */
#include <fnmatch.h>
#include <regex.h>
#include <string.h>

#include "base/pattern.h"
#include "fuzz.h"

#define MOST 256 /* bytes of a text */

static struct rama_patterns ps;

static int add(enum rama_pattern_kind kind, const char *pattern, size_t len)
{
	const unsigned n = ps.n, nodes = ps.n_nodes, sets = ps.n_sets;
	const char *why = NULL;
	int added = rama_patterns_add(&ps, kind, pattern, len, &why);

	CHECK((added < 0) == (why != NULL));
	CHECK(added >= 0 ? (unsigned)added == n && ps.n == n + 1 && ps.n_nodes > nodes
			 : ps.n == n && ps.n_nodes == nodes && ps.n_sets == sets);
	CHECK(ps.n_nodes <= RAMA_PATTERN_NODES && ps.n_sets <= RAMA_PATTERN_SETS);
	return added;
}

/* (p) and (p)|(p); ")" alone outside of parentheses would pair with ours */
static void check_wrapped(const char *pattern, size_t len, const char *text, size_t n, bool found)
{
	static const char *const forms[] = { "(", ")|(" };
	char wrapped[2 * MOST + 8];

	if (memchr(pattern, ')', len) != NULL)
		return;
	for (unsigned times = 1; times <= 2; times++) {
		size_t at = 0;
		int i;

		for (unsigned k = 0; k < times; k++) {
			memcpy(wrapped + at, forms[k], strlen(forms[k]));
			at += strlen(forms[k]);
			memcpy(wrapped + at, pattern, len);
			at += len;
		}
		wrapped[at++] = ')';
		i = add(RAMA_PATTERN_REGEX, wrapped, at);
		CHECK(i >= 0 || i == RAMA_ELIMIT);
		if (i >= 0)
			CHECK(rama_patterns_match(&ps, (unsigned)i, text, n) == found);
	}
}

static unsigned count(const char *s, char c)
{
	unsigned n = 0;

	for (; *s != '\0'; s++)
		n += *s == c;
	return n;
}

/* `pattern` and `text` hold no NUL; ours: number of the pattern or error */
static void check_regex(const char *pattern, const char *text, int ours)
{
	regex_t libc;
	int code;

	if (ours == RAMA_ELIMIT || strlen(pattern) > 24 || count(pattern, '{') > 1 ||
	    count(pattern, '\\') > 0)
		return;
	code = regcomp(&libc, pattern, REG_EXTENDED | REG_NOSUB);
	if (code == REG_ESPACE || code == REG_ESIZE)
		return;
	CHECK((code == 0) == (ours >= 0));
	if (code != 0)
		return;
	CHECK((regexec(&libc, text, 0, NULL, 0) == 0) ==
	      rama_patterns_match(&ps, (unsigned)ours, text, strlen(text)));
	regfree(&libc);
}

static void check_glob(const char *pattern, const char *text, int ours)
{
	if (ours >= 0 && count(pattern, '*') <= 4 && count(pattern, '[') == 0 &&
	    count(pattern, '\\') == 0)
		CHECK((fnmatch(pattern, text, 0) == 0) ==
		      rama_patterns_match(&ps, (unsigned)ours, text, strlen(text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size }, pattern;
	bool glob = (fuzz_take_byte(&in) & 1) != 0;
	char p[MOST] = "", text[MOST] = "";
	size_t n;
	int i;

	pattern = fuzz_take(&in, fuzz_take_byte(&in));
	rama_patterns_init(&ps);
	CHECK(add(RAMA_PATTERN_REGEX, "^[x-z]+$", 8) == 0);
	i = add(glob ? RAMA_PATTERN_GLOB : RAMA_PATTERN_REGEX, (const char *)pattern.p, pattern.n);
	n = in.n < MOST - 1 ? in.n : MOST - 1;
	if (n > 0)
		memcpy(text, in.p, n);
	if (pattern.n > 0)
		memcpy(p, pattern.p, pattern.n);
	if (i >= 0 && !glob)
		check_wrapped(p, pattern.n, text, n,
			      rama_patterns_match(&ps, (unsigned)i, text, n));
	if (strlen(p) == pattern.n && strlen(text) == n)
		(glob ? check_glob : check_regex)(p, text, i);
	CHECK(rama_patterns_match(&ps, 0, "xyz", 3) && !rama_patterns_match(&ps, 0, "xya", 3));
	return 0;
}
