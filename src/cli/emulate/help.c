/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/emulate/help.h"

#include <stdbool.h>
#include <string.h>

#include "emulate/emulate.h"
#include "table/commands.h"

#define WIDTH 100
#define INDENT 32

/* an example is of the mode that follows "emulate" in it */
static bool is_of(const char *line, const char *mode)
{
	const char *at = strstr(line, "emulate ");

	return at != NULL && strncmp(at + 8, mode, strlen(mode)) == 0 &&
	       (at[8 + strlen(mode)] == ' ' || at[8 + strlen(mode)] == '\0');
}

void rama_cli_emulate_modes(FILE *f)
{
	fputs("Modes:\n", f);
	for (unsigned i = 0; i < rama_emu_n_modes; i++)
		fprintf(f, "  %-8s %s\n", rama_emu_modes[i].name, rama_emu_modes[i].doc);
}

static bool has_word(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = words; (at = strstr(at, word)) != NULL; at += n)
		if ((at == words || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
			return true;
	return false;
}

/* lines of WIDTH columns, all but the first indented */
static void wrapped(FILE *f, const char *text)
{
	size_t room = WIDTH - INDENT;

	while (strlen(text) > room) {
		size_t n = room;

		while (n > 0 && text[n] != ' ')
			n--;
		if (n == 0)
			break;
		fprintf(f, "%.*s\n%*s", (int)n, text, INDENT, "");
		text += n + 1;
	}
	fprintf(f, "%s\n", text);
}

static void parameter(FILE *f, const struct rama_emu_param_info *p)
{
	int n = fprintf(f, "  --%s%s%s", p->name, p->arg != NULL ? " " : "",
			p->arg != NULL ? p->arg : "");
	char text[512];

	if (strstr(p->name, "…") != NULL || (p->arg != NULL && strstr(p->arg, "…") != NULL))
		n -= 2; /* one column, three bytes */
	fprintf(f, "%*s", n < INDENT ? INDENT - n : 1, "");
	snprintf(text, sizeof(text), "%s%s%s%s", p->doc,
		 p->otherwise[0] != '\0' && p->kind != RAMA_EMU_KIND_FLAG ? " (" : "",
		 p->kind != RAMA_EMU_KIND_FLAG ? p->otherwise : "",
		 p->otherwise[0] != '\0' && p->kind != RAMA_EMU_KIND_FLAG ? ")" : "");
	wrapped(f, text);
}

/* mode "": those of all modes */
static void parameters(FILE *f, const char *title, const char *mode)
{
	bool any = false;

	for (int i = 0; i < RAMA_EMU_PARAMS; i++) {
		const struct rama_emu_param_info *p = &rama_emu_param_info[i];

		if (p->kind == RAMA_EMU_KIND_DEAD ||
		    (mode[0] == '\0' ? p->modes[0] != '\0' : !has_word(p->modes, mode)))
			continue;
		if (!any)
			fprintf(f, "\n%s\n", title);
		any = true;
		parameter(f, p);
	}
}

static void examples(FILE *f, const char *mode)
{
	bool any = false;

	for (unsigned i = 0; i < rama_tab_n_examples; i++) {
		if (rama_tab_examples[i].command != RAMA_TAB_CMD_emulate ||
		    (mode != NULL && !is_of(rama_tab_examples[i].line, mode)))
			continue;
		fprintf(f, "%s  %s\n        %s\n", any ? "" : "\nExamples:\n",
			rama_tab_examples[i].line, rama_tab_examples[i].text);
		any = true;
	}
}

void rama_cli_emulate_help(FILE *f, const char *mode)
{
	const struct rama_emu_mode *m = mode != NULL ? rama_emu_mode_find(mode) : NULL;
	char title[64];

	if (m != NULL) {
		fprintf(f, "Usage: iorama emulate %s [PARAMETER…]%s\n%s\n", m->name,
			m->needs_args ? " FILE…" : "", m->doc);
		snprintf(title, sizeof(title), "Parameters of %s:", m->name);
		parameters(f, title, m->name);
	} else {
		fprintf(f, "Usage: iorama emulate %s\n%s\n\n",
			rama_tab_commands[RAMA_TAB_CMD_emulate].args,
			rama_tab_commands[RAMA_TAB_CMD_emulate].line);
		rama_cli_emulate_modes(f);
		fprintf(f, "\n%s\n", rama_tab_commands[RAMA_TAB_CMD_emulate].text);
		for (unsigned i = 0; i < rama_emu_n_modes; i++) {
			snprintf(title, sizeof(title), "Parameters of %s:", rama_emu_modes[i].name);
			parameters(f, title, rama_emu_modes[i].name);
		}
	}
	parameters(f, "Parameters of every mode:", "");
	fputs("  -o FILE, -q                   the same as --output FILE, --quiet\n", f);
	examples(f, m != NULL ? mode : NULL);
	fputs("\nExit status: 0 every byte was moved (and right), 2 wrong usage, 3 bad input, 4 "
	      "trouble "
	      "with the machine.\n",
	      f);
}
