/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulate/help.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/form/help.h"
#include "base/form/text.h"
#include "emulate/emulate.h"
#include "table/commands.h"

#define INDENT 32
#define MODE 11 /* where the text on a mode begins */

/* an example is of the mode that follows "emulate" in it */
static bool is_of(const char *line, const char *mode)
{
	const char *at = strstr(line, "emulate ");

	return at != NULL && strncmp(at + 8, mode, strlen(mode)) == 0 &&
	       (at[8 + strlen(mode)] == ' ' || at[8 + strlen(mode)] == '\0');
}

/* paragraphs */
static void put_text(FILE *f, const char *text)
{
	while (*text != '\0') {
		size_t n = strcspn(text, "\n");
		char *line = strndup(text, n);

		if (line != NULL)
			rama_help_wrapped(f, line, 0, 0);
		free(line);
		text += n + (text[n] == '\n');
	}
}

void rama_emu_help_modes(FILE *f)
{
	fputs("Modes:\n", f);
	for (unsigned i = 0; i < rama_emu_n_modes; i++) {
		fprintf(f, "  %-8s ", rama_emu_modes[i].name);
		rama_help_wrapped(f, rama_emu_modes[i].doc, MODE, MODE);
	}
}

static bool has_word(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = words; (at = strstr(at, word)) != NULL; at += n)
		if ((at == words || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
			return true;
	return false;
}

static void parameter(FILE *f, const struct rama_emu_param_info *p)
{
	char text[512], name[128];
	unsigned n;

	snprintf(name, sizeof(name), "  --%s%s%s", p->name, p->arg != NULL ? " " : "",
		 p->arg != NULL ? p->arg : "");
	n = rama_text_width(name);
	if (n < INDENT - 1)
		fprintf(f, "%s%*s", name, (int)(INDENT - n), "");
	else
		fprintf(f, "%s\n%*s", name, INDENT, "");
	snprintf(text, sizeof(text), "%s%s%s%s", p->doc,
		 p->otherwise[0] != '\0' && p->kind != RAMA_EMU_KIND_FLAG ? " (" : "",
		 p->kind != RAMA_EMU_KIND_FLAG ? p->otherwise : "",
		 p->otherwise[0] != '\0' && p->kind != RAMA_EMU_KIND_FLAG ? ")" : "");
	rama_help_wrapped(f, text, INDENT, INDENT);
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
		fputs(any ? "" : "\nExamples:\n", f);
		rama_help_example(f, rama_tab_examples[i].line, rama_tab_examples[i].text);
		any = true;
	}
}

void rama_emu_help(FILE *f, const char *mode)
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
		rama_emu_help_modes(f);
		fputc('\n', f);
		put_text(f, rama_tab_commands[RAMA_TAB_CMD_emulate].text);
		for (unsigned i = 0; i < rama_emu_n_modes; i++) {
			snprintf(title, sizeof(title), "Parameters of %s:", rama_emu_modes[i].name);
			parameters(f, title, rama_emu_modes[i].name);
		}
	}
	parameters(f, "Parameters of every mode:", "");
	fputs("  -o FILE, -q                   the same as --output FILE, --quiet\n", f);
	examples(f, m != NULL ? mode : NULL);
	fputs("\nExit status: 0 every byte was moved (and right), 2 wrong usage, 3 bad input,\n"
	      "4 trouble with the machine.\n",
	      f);
}
