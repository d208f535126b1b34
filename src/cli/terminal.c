/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/terminal.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/form/text.h"

#define WIDTH_ELSE 100 /* of files and pipes */

/* a whole number in the range of widths, or 0 */
static unsigned width_of(const char *text)
{
	char *end;
	unsigned long n;

	if (text == NULL || *text < '0' || *text > '9')
		return 0;
	errno = 0;
	n = strtoul(text, &end, 10);
	return *end == '\0' && errno == 0 && n >= RAMA_CLI_TERMINAL_LEAST &&
			       n <= RAMA_CLI_TERMINAL_MOST
		       ? (unsigned)n
		       : 0;
}

/* fd -1: the text goes to a file */
static unsigned width_here(int fd)
{
	struct winsize w;
	unsigned n = width_of(getenv("COLUMNS"));

	if (n > 0)
		return n;
	if (fd >= 0 && ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0)
		return w.ws_col < RAMA_CLI_TERMINAL_LEAST ? RAMA_CLI_TERMINAL_LEAST : w.ws_col;
	return WIDTH_ELSE;
}

static bool colour_here(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return fd >= 0 && isatty(fd) && (no == NULL || *no == '\0') &&
	       (term == NULL || strcmp(term, "dumb") != 0);
}

static bool is_utf8(void)
{
	setlocale(LC_CTYPE, "");
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

struct rama_cli_terminal rama_cli_terminal_stderr(void)
{
	return (struct rama_cli_terminal){ .width = width_here(STDERR_FILENO),
					   .colour = colour_here(STDERR_FILENO),
					   .utf8 = is_utf8() };
}

struct rama_cli_terminal rama_cli_terminal_of(const struct rama_cli_opts *o,
					      enum rama_tab_option_id width,
					      enum rama_tab_option_id colour, bool to_file)
{
	const char *columns = rama_cli_opts_value(o, width), *when = rama_cli_opts_value(o, colour);
	int fd = to_file ? -1 : STDOUT_FILENO;
	struct rama_cli_terminal t = { .colour = colour_here(fd), .utf8 = is_utf8() };

	if (columns != NULL && width_of(columns) == 0)
		rama_cli_opts_usage(o, "the width is a number from %d to %d, not '%s'",
				    RAMA_CLI_TERMINAL_LEAST, RAMA_CLI_TERMINAL_MOST, columns);
	t.width = columns != NULL ? width_of(columns) : width_here(fd);
	if (when != NULL && strcmp(when, "always") == 0)
		t.colour = true;
	else if (when != NULL && strcmp(when, "never") == 0)
		t.colour = false;
	else if (when != NULL && strcmp(when, "auto") != 0)
		rama_cli_opts_usage(o, "--color is auto, always or never, not '%s'", when);
	return t;
}

char *rama_cli_terminal_words(const char *text)
{
	bool utf8 = is_utf8();
	char *words = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&words, &size);

	for (const char *s = text; f != NULL && *s != '\0';) {
		unsigned n = rama_text_sound(s);

		if (utf8 || n <= 1)
			fwrite(s, 1, n > 0 ? n : 1, f);
		else
			fputs(strncmp(s, "…", n) == 0 ? "..." : rama_text_ascii(s, n), f);
		s += n > 0 ? n : 1;
	}
	if (f == NULL || fclose(f) != 0) {
		fputs("iorama: out of memory\n", stderr);
		exit(4);
	}
	return words;
}

void rama_cli_terminal_print(FILE *f, void (*put)(FILE *f, const char *about), const char *about)
{
	char *text = NULL, *words;
	size_t size = 0;
	FILE *made = open_memstream(&text, &size);

	if (made == NULL) {
		put(f, about);
		return;
	}
	put(made, about);
	fclose(made);
	words = rama_cli_terminal_words(text);
	fputs(words, f);
	free(words);
	free(text);
}
