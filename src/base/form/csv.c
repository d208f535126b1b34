/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/form/csv.h"

#include "base/json.h"
#include "base/form/text.h"

/* letters from here on that stand for themselves; all of UTF-8 where it need not be checked */
static size_t plain_length(const char *s, size_t n, bool check)
{
	size_t len = 0;

	while (len < n && s[len] != '"' && !(check && (s[len] & 0x80)))
		len++;
	return len;
}

static void quote(struct rama_out *o, const char *s, size_t n, bool check)
{
	rama_out_char(o, '"');
	for (size_t i = 0, len; i < n; i += len) {
		len = plain_length(s + i, n - i, check);
		if (len == 0 && s[i] != '"')
			len = rama_utf8_length((const unsigned char *)s + i, n - i);
		if (len > 0) {
			rama_out_bytes(o, s + i, len);
			continue;
		}
		rama_out_text(o, s[i] == '"' ? "\"\"" : RAMA_TEXT_MARK);
		len = 1;
	}
	rama_out_char(o, '"');
}

void rama_csv_bytes(struct rama_out *o, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (s[i] == ',' || s[i] == '"' || s[i] == '\n' || s[i] == '\r') {
			quote(o, s, n, false);
			return;
		}
	}
	rama_out_bytes(o, s, n);
}

void rama_csv_text(struct rama_out *o, const char *s)
{
	rama_csv_bytes(o, s, strlen(s));
}

void rama_csv_quoted(struct rama_out *o, const char *s, size_t n)
{
	quote(o, s, n, true);
}
