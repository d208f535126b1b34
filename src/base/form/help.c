/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/form/help.h"

#include <stdbool.h>
#include <string.h>

#include "base/form/text.h"

#define WIDTH 80
#define NOTE 8 /* where the text on an example begins */

void rama_help_wrapped(FILE *f, const char *text, unsigned at, unsigned indent)
{
	while (*text != '\0') {
		unsigned gap = (unsigned)strspn(text, " "), n = (unsigned)strcspn(text + gap, " ");
		char word[256];

		snprintf(word, sizeof(word), "%.*s", (int)n, text + gap);
		text += gap + strlen(word);
		if (at > indent && at + gap + rama_text_width(word) >= WIDTH) {
			fprintf(f, "\n%*s", (int)indent, "");
			at = indent;
			gap = 0;
		}
		fprintf(f, "%*s%s", (int)gap, "", word);
		at += gap + rama_text_width(word);
	}
	fputc('\n', f);
}

static void put_command(FILE *f, const char *line)
{
	unsigned at = 0;

	while (*line != '\0') {
		unsigned gap = (unsigned)strspn(line, " "), n = (unsigned)strcspn(line + gap, " ");
		bool next = at > 0 && at + gap + n + 2 >= WIDTH;

		fputs(next ? " \\\n      " : at == 0 ? "  " : " ", f);
		fprintf(f, "%.*s", (int)n, line + gap);
		at = next ? 6 + n : at + (at == 0 ? 2 : gap) + n;
		line += gap + n;
	}
	fputc('\n', f);
}

void rama_help_example(FILE *f, const char *line, const char *text)
{
	put_command(f, line);
	fprintf(f, "%*s", NOTE, "");
	rama_help_wrapped(f, text, NOTE, NOTE);
}
