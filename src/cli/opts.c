/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/opts.h"

#include <argp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BASE 1000 /* argp keys of options: KEY_BASE + row */

struct texts {
	char name[64];
	char *doc;
	char arg[RAMA_TAB_OPTIONS][16]; /* of options whose argument may be left out */
	struct argp_option options[RAMA_TAB_OPTIONS + 1];
	struct argp argp;
};

static int option_of(enum rama_tab_command_id command, int key)
{
	if (key >= KEY_BASE && key < KEY_BASE + RAMA_TAB_OPTIONS)
		return key - KEY_BASE;
	for (int i = 0; i < RAMA_TAB_OPTIONS; i++)
		if (rama_tab_options[i].command == command && rama_tab_options[i].letter != 0 &&
		    rama_tab_options[i].letter == key)
			return i;
	return -1;
}

/* Do options end at the first word that is none, because the words from there on are a command? */
static bool in_order(enum rama_tab_command_id command)
{
	return strncmp(rama_tab_commands[command].args, "[--]", 4) == 0;
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	struct rama_cli_opts *o = state->input;
	int option = option_of(o->command, key);

	if (option >= 0) {
		o->given[o->n_given].option = option;
		o->given[o->n_given++].value = arg;
		return 0;
	}
	if (key == ARGP_KEY_ARG) {
		o->args[o->n_args++] = arg;
		while (in_order(o->command) && state->next < state->argc)
			o->args[o->n_args++] = state->argv[state->next++];
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* what argp prints under the options: paragraphs and examples */
static char *help_text(enum rama_tab_command_id command)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (f == NULL)
		return NULL;
	fprintf(f, "%s\v%s\n", rama_tab_commands[command].line, rama_tab_commands[command].text);
	for (unsigned i = 0, n = 0; i < rama_tab_n_examples; i++)
		if (rama_tab_examples[i].command == command)
			fprintf(f, "%s  %s\n        %s\n", n++ == 0 ? "\nExamples:\n" : "",
				rama_tab_examples[i].line, rama_tab_examples[i].text);
	if (!in_order(command)) /* else the status is that of another program, as the text says */
		fputs("\nExit status: 0 ok, 2 wrong usage, 3 bad input, 4 trouble with the "
		      "machine.",
		      f);
	fclose(f);
	return text;
}

static void make_texts(struct texts *t, enum rama_tab_command_id command)
{
	unsigned n = 0;

	*t = (struct texts){ 0 };
	snprintf(t->name, sizeof(t->name), "iorama %s", rama_tab_commands[command].name);
	for (int i = 0; i < RAMA_TAB_OPTIONS; i++) {
		const struct rama_tab_option *r = &rama_tab_options[i];
		size_t len = r->arg != NULL ? strlen(r->arg) : 0;
		bool may = len > 0 && r->arg[len - 1] == '?';

		if (r->command != command)
			continue;
		if (may)
			snprintf(t->arg[i], sizeof(t->arg[i]), "%.*s", (int)len - 1, r->arg);
		t->options[n] = (struct argp_option){
			.name = r->name,
			.key = r->letter != 0 ? r->letter : KEY_BASE + i,
			.arg = may ? t->arg[i] : r->arg,
			.flags = may ? OPTION_ARG_OPTIONAL : 0,
			.doc = r->text,
			.group = (int)n + 1, /* keeps the order of the rows */
		};
		n++;
	}
	t->doc = help_text(command);
	t->argp = (struct argp){ .options = t->options,
				 .parser = parse_one,
				 .args_doc = rama_tab_commands[command].args,
				 .doc = t->doc };
}

void rama_cli_opts_parse(struct rama_cli_opts *o, enum rama_tab_command_id command, int argc,
			 char **argv)
{
	bool chosen = getenv("ARGP_HELP_FMT") != NULL;
	struct texts t;

	*o = (struct rama_cli_opts){ .command = command };
	o->given = calloc((size_t)argc + 1, sizeof(*o->given));
	o->args = calloc((size_t)argc + 1, sizeof(*o->args));
	make_texts(&t, command);
	if (o->given == NULL || o->args == NULL || t.doc == NULL) {
		fputs("iorama: out of memory\n", stderr);
		exit(4);
	}
	argv[0] = t.name;
	argp_err_exit_status = 2;
	setenv("ARGP_HELP_FMT", "no-dup-args-note", 0); /* else a paragraph on optional arguments */
	argp_parse(&t.argp, argc, argv, in_order(command) ? ARGP_IN_ORDER : 0, NULL, o);
	if (!chosen)
		unsetenv("ARGP_HELP_FMT");
	argv[0] = "iorama";
	free(t.doc);
}

void rama_cli_opts_fini(struct rama_cli_opts *o)
{
	free(o->given);
	free(o->args);
}

const char *rama_cli_opts_next(const struct rama_cli_opts *o, enum rama_tab_option_id option,
			       size_t *at)
{
	while (*at < o->n_given) {
		size_t i = (*at)++;

		if (o->given[i].option == (int)option && o->given[i].value != NULL)
			return o->given[i].value;
	}
	return NULL;
}

bool rama_cli_opts_has(const struct rama_cli_opts *o, enum rama_tab_option_id option)
{
	for (size_t i = 0; i < o->n_given; i++)
		if (o->given[i].option == (int)option)
			return true;
	return false;
}

const char *rama_cli_opts_value(const struct rama_cli_opts *o, enum rama_tab_option_id option)
{
	const char *value = NULL, *v;

	for (size_t at = 0; (v = rama_cli_opts_next(o, option, &at)) != NULL;)
		value = v;
	return value;
}

const char *rama_cli_opts_setting(enum rama_tab_setting_id setting)
{
	const char *value = getenv(rama_tab_settings[setting].variable);

	return value != NULL ? value : rama_tab_settings[setting].preset;
}

void rama_cli_opts_usage(const struct rama_cli_opts *o, const char *fmt, ...)
{
	const char *name = rama_tab_commands[o->command].name;
	va_list ap;

	fprintf(stderr, "iorama %s: ", name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\nTry `iorama help %s`.\n", name);
	exit(2);
}
