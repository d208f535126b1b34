/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/opts.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/form/help.h"
#include "base/nearest.h"
#include "base/when.h"
#include "cli/terminal.h"

#define KEY_BASE 1000 /* argp keys of options: KEY_BASE + row */
#define KEY_USAGE (KEY_BASE - 1)

struct texts {
	char name[64];
	char *doc;
	char arg[RAMA_TAB_OPTIONS][16]; /* of options whose argument may be left out */
	struct argp_option options[RAMA_TAB_OPTIONS + 3];
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
	if (key == 'h')
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
	if (key == KEY_USAGE)
		argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
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
	for (unsigned i = 0, n = 0; i < rama_tab_n_examples; i++) {
		if (rama_tab_examples[i].command != command)
			continue;
		fputs(n++ == 0 ? "\nExamples:\n" : "", f);
		rama_help_example(f, rama_tab_examples[i].line, rama_tab_examples[i].text);
	}
	if (!in_order(command)) /* else the status is that of another program, as the text says */
		fputs("\nExit status: 0 ok, 2 wrong usage, 3 bad input, 4 trouble with the "
		      "machine.",
		      f);
	fclose(f);
	return text;
}

static char *in_words(int key, const char *text, void *input)
{
	(void)key;
	(void)input;
	return text != NULL ? rama_cli_terminal_words(text) : NULL; /* argp frees it */
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
	/* in place of argp's own, which say -? where people type -h */
	t->options[n++] = (struct argp_option){ "help", 'h', NULL, 0, "this list", -1 };
	t->options[n] =
		(struct argp_option){ "usage", KEY_USAGE, NULL, 0, "it in a line or two", -1 };
	t->doc = help_text(command);
	t->argp = (struct argp){ .options = t->options,
				 .parser = parse_one,
				 .args_doc = rama_tab_commands[command].args,
				 .doc = t->doc,
				 .help_filter = in_words };
}

/* ---- words as people type them --------------------------------------------------------------- */

static const char *const of_all[] = { "help", "usage" }; /* options of every command */

/* the option that --WORD is, or is the beginning of; -1: none, -2: one of all */
static int option_long(enum rama_tab_command_id command, const char *word, size_t n)
{
	for (unsigned i = 0; i < sizeof(of_all) / sizeof(*of_all); i++)
		if (strncmp(of_all[i], word, n) == 0)
			return -2;
	for (int i = 0; i < RAMA_TAB_OPTIONS; i++)
		if (rama_tab_options[i].command == command &&
		    strncmp(rama_tab_options[i].name, word, n) == 0)
			return i;
	return -1;
}

/* A long option that is not there ends the program here if there is one that was meant; argp says
 * the rest. */
static void guess_option(const struct rama_cli_opts *o, const char *word, size_t n)
{
	char name[64];
	struct rama_nearest near = { .word = name };

	if (n >= sizeof(name))
		return;
	memcpy(name, word, n);
	name[n] = '\0';
	for (int i = 0; i < RAMA_TAB_OPTIONS; i++)
		if (rama_tab_options[i].command == o->command)
			rama_nearest_offer(&near, rama_tab_options[i].name);
	if (near.name != NULL)
		rama_cli_opts_usage(o, "there is no option --%s; did you mean --%s?", name,
				    near.name);
}

/* Does the option's value stand in the next word? ("X?": never) */
static bool wants_word(int option)
{
	const char *arg = option >= 0 ? rama_tab_options[option].arg : NULL;

	return arg != NULL && arg[strlen(arg) - 1] != '?';
}

/* -? asks for help, as -h does; long options are guessed. Values of options and what follows "--",
 * or a command to be run, are left alone. */
static void read_words(const struct rama_cli_opts *o, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		char *word = argv[i];
		size_t n;
		int option;

		if (strcmp(word, "--") == 0 || (word[0] != '-' && in_order(o->command)))
			return;
		if (word[0] != '-' || word[1] == '\0')
			continue;
		if (word[1] == '-') {
			n = strcspn(word + 2, "=");
			option = option_long(o->command, word + 2, n);
			if (option == -1)
				guess_option(o, word + 2, n);
			i += wants_word(option) && word[2 + n] == '\0';
			continue;
		}
		option = option_of(o->command, word[1]);
		if (strcmp(word, "-?") == 0)
			argv[i] = "--help";
		i += wants_word(option) && word[2] == '\0';
	}
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
	read_words(o, argc, argv);
	argv[0] = t.name;
	argp_err_exit_status = 2;
	setenv("ARGP_HELP_FMT", "no-dup-args-note", 0); /* else a paragraph on optional arguments */
	argp_parse(&t.argp, argc, argv, ARGP_NO_HELP | (in_order(command) ? ARGP_IN_ORDER : 0),
		   NULL, o);
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

int64_t rama_cli_opts_number(const struct rama_cli_opts *o, enum rama_tab_option_id option,
			     int64_t least, int64_t most, int64_t otherwise)
{
	const char *text = rama_cli_opts_value(o, option), *name = rama_tab_options[option].name;
	char *end;
	intmax_t v;

	if (text == NULL)
		return otherwise;
	errno = 0;
	v = strtoimax(text, &end, 10);
	if (isdigit((unsigned char)*text) && *end == '\0' && errno == 0 && v >= least && v <= most)
		return v;
	if (most == INT64_MAX)
		rama_cli_opts_usage(o, "--%s is a number from %" PRId64 " on, not '%s'", name,
				    least, text);
	rama_cli_opts_usage(o, "--%s is a number from %" PRId64 " to %" PRId64 ", not '%s'", name,
			    least, most, text);
}

bool rama_cli_opts_moment(const struct rama_cli_opts *o, enum rama_tab_option_id option,
			  int64_t *ns)
{
	const char *text = rama_cli_opts_value(o, option);
	int64_t now = (int64_t)time(NULL) * 1000000000;

	if (text == NULL)
		return false;
	if (rama_when_span(text, ns) && !isdigit((unsigned char)text[strlen(text) - 1]))
		*ns = now - *ns; /* 7d: since then; a bare number is seconds since 1970 */
	else if (!rama_when(text, now, 0, ns))
		rama_cli_opts_usage(
			o,
			"--%s is a time such as 2026-11-16, '2026-11-16 09:20', 7d, -2h or "
			"yesterday, not '%s'",
			rama_tab_options[option].name, text);
	return true;
}
