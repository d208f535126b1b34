/* SPDX-License-Identifier: BSD-3-Clause */
/* tablegen.c: prints what is not C from the rows of src/table.
 *   tablegen json | counters-md | metrics-md | bash | zsh | fish      on standard output
 *   tablegen man DIR                              DIR/iorama.1.scd, DIR/iorama-COMMAND.1.scd */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "table/commands.h"
#include "table/fn.h"
#include "table/metrics.h"
#include "table/settings.h"
#include "table/table.h"

static const char *const type_name[] = { "i64", "u64", "f64", "u32", "text", "uuid" };
static const char *const place_name[] = { "counter", "last", "hidden", "dropped" };
static const char *const reduce_name[] = {
	"NONE",	      "SUM",	      "SUM_NEG",     "MAX",	     "MIN_NZ",	     "KEEP",
	"ANY",	      "LEAD_READ",    "WITH_READ",   "LEAD_WRITE",   "WITH_WRITE",   "FAST_RANK",
	"FAST_BYTES", "FAST_TIME",    "SLOW_RANK",   "SLOW_BYTES",   "SLOW_TIME",    "VAR_TIME",
	"VAR_BYTES",  "ACCESS_VALUE", "ACCESS_MORE", "ACCESS_COUNT", "STRIDE_VALUE", "STRIDE_COUNT"
};
_Static_assert(sizeof(reduce_name) / sizeof(reduce_name[0]) == RAMA_TAB_REDUCE_KINDS,
	       "a kind of reduction has no name");

static int to_stdout(void *ctx, const char *bytes, size_t n)
{
	return fwrite(bytes, 1, n, ctx) == n ? 0 : -1;
}

static void field_json(struct rama_json *j, const struct rama_tab_field *f)
{
	rama_json_open(j, '{');
	rama_json_key_string(j, "name", f->name);
	rama_json_key_string(j, "type", type_name[f->type]);
	rama_json_key_string(j, "place", place_name[f->place]);
	rama_json_key_i64(j, "words", f->words);
	rama_json_key(j, "word");
	if (f->word == RAMA_TAB_NO_WORD)
		rama_json_null(j);
	else
		rama_json_i64(j, f->word);
	rama_json_key_i64(j, "since", f->since);
	rama_json_key_i64(j, "until", f->until);
	rama_json_key_string(j, "reduce", reduce_name[f->reduce]);
	rama_json_key_string(j, "doc", f->doc);
	rama_json_close(j, '}');
}

static void schema_json(struct rama_json *j, const struct rama_tab_schema *s)
{
	if (s == NULL) {
		rama_json_null(j);
		return;
	}
	rama_json_open(j, '{');
	rama_json_key_i64(j, "words", s->words);
	rama_json_key(j, "fields");
	rama_json_open(j, '[');
	for (unsigned i = 0; i < *s->n_fields; i++)
		field_json(j, &s->fields[i]);
	rama_json_close(j, ']');
	rama_json_key(j, "arrays");
	rama_json_open(j, '[');
	for (unsigned k = 0; k < s->n_arrays; k++) {
		rama_json_open(j, '{');
		rama_json_key_string(j, "name", s->array[k].name);
		for (unsigned i = 0; i < *s->n_fields; i++)
			if (s->fields[i].word == s->array[k].count_word)
				rama_json_key_string(j, "count", s->fields[i].name);
		rama_json_key_i64(j, "words", s->array[k].words);
		rama_json_key_i64(j, "wide_since", s->array[k].wide_since);
		rama_json_key_i64(j, "raw_from", s->array[k].raw_from);
		rama_json_key_i64(j, "least", s->array[k].least);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
	rama_json_close(j, '}');
}

static void print_json(void)
{
	static const char *const flag[] = { "totals", "clamp", "offsets", "trace", "plain" };
	struct rama_out o;
	struct rama_json j;

	rama_out_init(&o, to_stdout, stdout);
	rama_json_init(&j, &o);
	rama_json_open(&j, '{');
	rama_json_key(&j, "modules");
	rama_json_open(&j, '[');
	for (unsigned i = 0; i < RAMA_TAB_MODULES_KNOWN; i++) {
		const struct rama_tab_module *m = rama_tab_module_get(i);

		if (m == NULL)
			continue;
		rama_json_open(&j, '{');
		rama_json_key_i64(&j, "id", m->id);
		rama_json_key_string(&j, "name", m->name);
		rama_json_key_i64(&j, "newest", m->newest);
		rama_json_key_i64(&j, "released", m->released);
		rama_json_key(&j, "flags");
		rama_json_open(&j, '[');
		for (unsigned k = 0; k < sizeof(flag) / sizeof(flag[0]); k++)
			if (m->flags >> k & 1)
				rama_json_string(&j, flag[k]);
		rama_json_close(&j, ']');
		rama_json_key_string(&j, "doc", m->doc);
		rama_json_key(&j, "record");
		schema_json(&j, m->record);
		rama_json_key(&j, "header");
		schema_json(&j, m->header);
		rama_json_close(&j, '}');
		rama_out_char(&o, '\n');
	}
	rama_json_close(&j, ']');
	rama_json_close(&j, '}');
	rama_out_char(&o, '\n');
	rama_out_flush(&o);
	rama_out_fini(&o);
}

static void counters_of(const struct rama_tab_schema *s, const char *title)
{
	printf("\n%s\n\n| counter | type | since | several ranks | meaning "
	       "|\n|---|---|---|---|---|\n",
	       title);
	for (unsigned i = 0; i < *s->n_fields; i++) {
		const struct rama_tab_field *f = &s->fields[i];

		if (f->place == RAMA_TAB_DROPPED)
			printf("| %s | %s | %d to %d | | only in old logs; dropped when read |\n",
			       f->name, type_name[f->type], f->since, f->until);
		else
			printf("| %s | %s | %d | %s | %s |\n", f->name, type_name[f->type],
			       f->since, reduce_name[f->reduce], f->doc);
	}
}

static void module_of(const struct rama_tab_module *m)
{
	printf("\n## %s\n\n%c%s. Module %u, newest record version %u, written as version %u, "
	       "%u bytes%s.\n",
	       m->name, toupper((unsigned char)m->doc[0]), m->doc + 1, m->id, m->newest,
	       m->released, m->record->words * 8,
	       m->record->n_arrays > 0 ? " and what follows" : "");
	if (m->header != NULL)
		counters_of(m->header, "First record:");
	counters_of(m->record, m->header != NULL ? "Other records:" : "Record:");
	if (m->id == RAMA_TAB_MOD_LUSTRE)
		counters_of(&rama_tab_schema_lustre_comp, "Each component:");
}

static void print_counters(void)
{
	puts("# Modules and counters\n\n"
	     "Printed from the rows in `src/table` by `tablegen counters-md`; edit those, then "
	     "run\n"
	     "`cmake --build build --target docs`.\n\n"
	     "*since* is the version of the module's records that introduced the counter: logs "
	     "with "
	     "older records\n"
	     "show -1 (ids: 0). *several ranks* is how the values of several processes become one; "
	     "the words are\n"
	     "explained in `src/table/fields.h`. Times are in seconds since the start of the "
	     "process.");
	for (unsigned i = 0; i < RAMA_TAB_MODULES_KNOWN; i++)
		if (rama_tab_module_get(i) != NULL)
			module_of(rama_tab_module_get(i));
}

static void print_metrics(void)
{
	int source = -1;

	puts("# Samples of nodes\n\n"
	     "What `iorama agent` takes of its machine each second: rows of "
	     "`src/table/metrics.def`, printed by\n"
	     "`tablegen metrics-md`; edit those, then run `cmake --build build --target docs`.\n\n"
	     "A % in a name stands for the thing that the file tells of: a disk, an interface, a "
	     "mount, a file\n"
	     "system. *each second* means that a counter is read and its gain per second is "
	     "stored. Files that\n"
	     "are not there give no figures.");
	for (unsigned i = 0; i < rama_tab_n_metrics; i++) {
		const struct rama_tab_metric *m = &rama_tab_metrics[i];
		const struct rama_tab_metric_source *s = &rama_tab_metric_sources[m->source];

		if ((int)m->source != source) {
			printf("\n## %s\n\n`/%s`", s->doc, s->path);
			if (s->other != NULL)
				printf(", else `/%s`", s->other);
			puts("\n\n| metric | unit | | meaning |\n|---|---|---|---|");
		}
		source = (int)m->source;
		printf("| `%s` | %s | %s | %s |\n", m->name, m->unit,
		       m->how == RAMA_TAB_METRIC_HOW_RATE ? "each second" : "", m->doc);
	}
}

/* scdoc reads _ and * as emphasis, a dash at the start of a line as a list */
static void escaped(FILE *f, const char *s)
{
	for (const char *c = s; *c != '\0'; c++) {
		bool starts = c == s || c[-1] == '\n';

		if ((*c == '-' && starts) || strchr("_*\\`<>#[]|", *c) != NULL)
			fputc('\\', f);
		fputc(*c, f);
	}
}

static void option_name(FILE *f, const struct rama_tab_option *o, bool scd)
{
	size_t n = o->arg != NULL ? strlen(o->arg) : 0;
	bool may = n > 0 && o->arg[n - 1] == '?';
	const char *b = scd ? "*" : "", *u = scd ? "_" : "";

	if (o->letter != 0)
		fprintf(f, "%s-%c%s, ", b, o->letter, b);
	fprintf(f, "%s--%s%s", b, o->name, b);
	if (may)
		fprintf(f, "[=%s%.*s%s]", u, (int)n - 1, o->arg, u);
	else if (n > 0)
		fprintf(f, " %s%s%s", u, o->arg, u);
}

static void page_options(FILE *f, int command)
{
	fputs("\n# OPTIONS\n", f);
	for (int i = 0; i < RAMA_TAB_OPTIONS; i++) {
		if ((int)rama_tab_options[i].command != command)
			continue;
		fputc('\n', f);
		option_name(f, &rama_tab_options[i], true);
		fputs("\n\t", f);
		escaped(f, rama_tab_options[i].text);
		fputc('\n', f);
	}
	fputs("\n*-h*, *--help*\n\tthis in short\n\n*--usage*\n\tthe options in a line or two\n",
	      f);
}

static void page_examples(FILE *f, int command)
{
	fputs("\n# EXAMPLES\n", f);
	for (unsigned i = 0; i < rama_tab_n_examples; i++) {
		if (command >= 0 && (int)rama_tab_examples[i].command != command)
			continue;
		fputc('\n', f);
		escaped(f, rama_tab_examples[i].text);
		fprintf(f, ":\n\n```\n%s\n```\n", rama_tab_examples[i].line);
	}
}

static void page_end(FILE *f, int command)
{
	bool run = command >= 0 && strcmp(rama_tab_commands[command].name, "run") == 0;

	fputs("\n# EXIT STATUS\n\n", f);
	fputs(run ? "That of the command; 126 if it cannot be run, 127 if it is not found, 128 + N "
		    "if "
		    "signal N ended it. Before it was started: 2 wrong usage, 4 trouble with the "
		    "machine."
		  : "0 ok, 2 wrong usage, 3 bad input, 4 trouble with the machine.",
	      f);
	fputs("\n\n# SEE ALSO\n\n", f);
	if (command >= 0)
		fputs("*iorama*(1)", f);
	for (int i = 0, n = command >= 0; i < RAMA_TAB_COMMANDS; i++)
		if (i != command && strcmp(rama_tab_commands[i].name, "help") != 0)
			fprintf(f, "%s*iorama-%s*(1)", n++ > 0 ? ", " : "",
				rama_tab_commands[i].name);
	fputc('\n', f);
}

static void command_page(FILE *f, int c)
{
	fprintf(f, "iorama-%s(1)\n\n# NAME\n\niorama-%s - ", rama_tab_commands[c].name,
		rama_tab_commands[c].name);
	escaped(f, rama_tab_commands[c].line);
	fprintf(f, "\n\n# SYNOPSIS\n\n*iorama %s* [_OPTION_…] ", rama_tab_commands[c].name);
	escaped(f, rama_tab_commands[c].args);
	fputs("\n\n# DESCRIPTION\n\n", f);
	escaped(f, rama_tab_commands[c].text);
	fputc('\n', f);
	page_options(f, c);
	page_examples(f, c);
	page_end(f, c);
}

static void page_environment(FILE *f)
{
	fputs("\n# ENVIRONMENT\n", f);
	for (int i = 0; i < RAMA_TAB_SETTINGS; i++) {
		fprintf(f, "\n*%s*\n\t", rama_tab_settings[i].variable);
		escaped(f, rama_tab_settings[i].text);
		if (*rama_tab_settings[i].preset != '\0')
			fprintf(f, " (default %s)", rama_tab_settings[i].preset);
		fputc('\n', f);
	}
}

static void main_page(FILE *f)
{
	fputs("iorama(1)\n\n# NAME\n\niorama - see what applications do with their files\n\n"
	      "# SYNOPSIS\n\n*iorama* _COMMAND_ [_OPTION_…] …\n\n*iorama* *--help* | "
	      "*--version*\n\n# COMMANDS\n",
	      f);
	for (int i = 0; i < RAMA_TAB_COMMANDS; i++) {
		fprintf(f, "\n*%s* ", rama_tab_commands[i].name);
		escaped(f, rama_tab_commands[i].args);
		fputs("\n\t", f);
		escaped(f, rama_tab_commands[i].line);
		fputc('\n', f);
	}
	page_environment(f);
	page_examples(f, -1);
	page_end(f, -1);
}

static int print_man(const char *dir)
{
	for (int i = -1; i < RAMA_TAB_COMMANDS; i++) {
		char path[4096];
		FILE *f;

		if (i >= 0 && strcmp(rama_tab_commands[i].name, "help") == 0)
			continue;
		snprintf(path, sizeof(path), "%s/iorama%s%s.1.scd", dir, i >= 0 ? "-" : "",
			 i >= 0 ? rama_tab_commands[i].name : "");
		f = fopen(path, "w");
		if (f == NULL) {
			perror(path);
			return 4;
		}
		if (i < 0)
			main_page(f);
		else
			command_page(f, i);
		fclose(f);
	}
	return 0;
}

/* ---- completions: values ---- */

struct values {
	enum rama_tab_command_id id;
	const char *command, *option, *words;
};
static const struct values values[] = {
#define VALUES(command, option, words) { RAMA_TAB_CMD_##command, #command, option, words },
#include "table/values.def"
#undef VALUES
};
#define N_VALUES (sizeof(values) / sizeof(*values))

/* words that the program is asked for; a shell function of that name asks */
static const struct {
	const char *word, *function, *script;
} asked[] = {
	{ "@rules", "_iorama_rules",
	  "iorama explain rules 2> /dev/null | sed -n \"s/^  \\([A-Z][0-9][0-9]\\) .*/\\1/p\"" },
	{ "@jobs", "_iorama_jobs",
	  "iorama jobs --csv --columns job --limit 50 2> /dev/null | sed 1d" },
	{ "@columns", "_iorama_columns",
	  "iorama jobs --columns help 2> /dev/null | sed -n \"s/^  *\\([a-z_]*\\) .*/\\1/p\"" },
};
#define N_ASKED (sizeof(asked) / sizeof(*asked))

/* rows are of commands and options that are there */
static bool values_sound(void)
{
	for (size_t i = 0; i < N_VALUES; i++) {
		bool found = values[i].option[0] == '\0';

		for (int k = 0; k < RAMA_TAB_OPTIONS && !found; k++)
			found = rama_tab_options[k].command == values[i].id &&
				strcmp(rama_tab_options[k].name, values[i].option) == 0;
		if (!found) {
			fprintf(stderr, "values.def: %s has no option --%s\n", values[i].command,
				values[i].option);
			return false;
		}
	}
	return true;
}

static const char *values_of(const char *command, const char *option)
{
	for (size_t i = 0; i < N_VALUES; i++)
		if (strcmp(values[i].command, command) == 0 &&
		    strcmp(values[i].option, option) == 0)
			return values[i].words;
	return NULL;
}

/* The words, with `before` and `after` around the function of each that is asked for; "@files" is
 * left out. */
static void put_values(const char *words, const char *before, const char *after)
{
	for (size_t n; *words != '\0'; words += n + (words[n] == ' ')) {
		const char *function = NULL;

		n = strcspn(words, " ");
		for (size_t i = 0; i < N_ASKED; i++)
			if (strlen(asked[i].word) == n && memcmp(asked[i].word, words, n) == 0)
				function = asked[i].function;
		if (function != NULL)
			printf("%s%s%s ", before, function, after);
		else if (*words != '@')
			printf("%.*s ", (int)n, words);
	}
}

static void put_functions(void)
{
	for (size_t i = 0; i < N_ASKED; i++)
		printf("%s() { %s; }\n", asked[i].function, asked[i].script);
}

static void bash_values(void)
{
	puts("\tcase \"$cmd $prev\" in");
	for (size_t i = 0; i < N_VALUES; i++) {
		if (values[i].option[0] == '\0')
			continue;
		printf("\t\"%s --%s\") words=\"", values[i].command, values[i].option);
		put_values(values[i].words, "$(", ")");
		puts("\" ;;");
	}
	puts("\tesac\n"
	     "\tif [ -n \"$words\" ]; then\n"
	     "\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
	     "\t\treturn\n\tfi\n"
	     "\tcase $cmd in");
	for (size_t i = 0; i < N_VALUES; i++) {
		if (values[i].option[0] != '\0')
			continue;
		printf("\t%s) %swords=\"", values[i].command,
		       strstr(values[i].words, "@files") == NULL ? "files=; " : "");
		put_values(values[i].words, "$(", ")");
		puts("\" ;;");
	}
	puts("\tesac");
}

static void print_bash(void)
{
	puts("# bash completion for iorama, printed from the rows in src/table");
	put_functions();
	puts("_iorama()\n{\n"
	     "\tlocal cur=${COMP_WORDS[COMP_CWORD]} cmd=${COMP_WORDS[1]} opts= words= files=yes\n"
	     "\tlocal prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
	     "\t# --option=word are three words here\n"
	     "\tif [ \"$cur\" = = ]; then cur=; "
	     "elif [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
	     "\tif [ \"$COMP_CWORD\" -eq 1 ]; then");
	fputs("\t\tmapfile -t COMPREPLY < <(compgen -W \"", stdout);
	for (int i = 0; i < RAMA_TAB_COMMANDS; i++)
		printf("%s ", rama_tab_commands[i].name);
	puts("--help --version\" -- \"$cur\")\n\t\treturn\n\tfi\n\tcase $cmd in");
	for (int c = 0; c < RAMA_TAB_COMMANDS; c++) {
		printf("\t%s) opts=\"", rama_tab_commands[c].name);
		for (int i = 0; i < RAMA_TAB_OPTIONS; i++)
			if ((int)rama_tab_options[i].command == c)
				printf("--%s ", rama_tab_options[i].name);
		if (strcmp(rama_tab_commands[c].name, "help") == 0)
			for (int i = 0; i < RAMA_TAB_COMMANDS; i++)
				printf("%s ", rama_tab_commands[i].name);
		puts("--help\" ;;");
	}
	puts("\tesac\n"
	     "\tif [ \"$cmd\" = help ] || [[ $cur == -* ]]; then\n"
	     "\t\tmapfile -t COMPREPLY < <(compgen -W \"$opts\" -- \"$cur\")\n"
	     "\t\treturn\n\tfi");
	bash_values();
	puts("\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\"; "
	     "[ -z \"$files\" ] || compgen -f -- \"$cur\")\n}\n"
	     "complete -o filenames -F _iorama iorama");
}

static void zsh_text(const char *s)
{
	for (; *s != '\0'; s++) {
		if (*s == '\'')
			fputs("'\\''", stdout);
		else if (strchr("[]:", *s) != NULL)
			printf("\\%c", *s);
		else
			putchar(*s);
	}
}

/* :value:{compadd -- ...} */
static void zsh_values(const char *words)
{
	fputs("{compadd -- ", stdout);
	put_values(words, "$(", ")");
	putchar('}');
}

static void zsh_arguments(const char *command)
{
	const char *words = values_of(command, "");

	if (strcmp(command, "help") == 0) {
		puts(" '1:command:->cmd' && _describe command commands ;;");
		return;
	}
	fputs(" \\\n\t\t'*:log:", stdout);
	if (words != NULL && strstr(words, "@files") == NULL) {
		zsh_values(words);
	} else if (words != NULL) {
		fputs("{_files; compadd -- ", stdout);
		put_values(words, "$(", ")");
		putchar('}');
	} else {
		fputs("_files", stdout);
	}
	puts("' ;;");
}

static void print_zsh(void)
{
	puts("#compdef iorama\n# zsh completion for iorama, printed from the rows in src/table");
	put_functions();
	puts("_iorama() {\n\tlocal -a commands\n\tcommands=(");
	for (int i = 0; i < RAMA_TAB_COMMANDS; i++) {
		printf("\t\t'%s:", rama_tab_commands[i].name);
		zsh_text(rama_tab_commands[i].line);
		puts("'");
	}
	puts("\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe command "
	     "commands\n\t\treturn\n\tfi\n"
	     "\tlocal cmd=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n\tcase $cmd in");
	for (int c = 0; c < RAMA_TAB_COMMANDS; c++) {
		printf("\t%s) _arguments", rama_tab_commands[c].name);
		for (int i = 0; i < RAMA_TAB_OPTIONS; i++) {
			const struct rama_tab_option *o = &rama_tab_options[i];

			if ((int)o->command != c)
				continue;
			printf(" \\\n\t\t'*--%s%s[", o->name, o->arg != NULL ? "=" : "");
			zsh_text(o->text);
			printf("]%s", o->arg == NULL ? ""
				      : strcmp(o->arg, "FILE") == 0 || strcmp(o->arg, "NEW") == 0
					      ? ":file:_files"
					      : ":value:");
			if (values_of(rama_tab_commands[c].name, o->name) != NULL)
				zsh_values(values_of(rama_tab_commands[c].name, o->name));
			putchar('\'');
		}
		zsh_arguments(rama_tab_commands[c].name);
	}
	puts("\tesac\n}\n_iorama \"$@\"");
}

static void fish_text(const char *s)
{
	putchar('\'');
	for (; *s != '\0'; s++)
		printf(*s == '\'' || *s == '\\' ? "\\%c" : "%c", *s);
	putchar('\'');
}

static void fish_option(const struct rama_tab_option *o)
{
	size_t n = o->arg != NULL ? strlen(o->arg) : 0;
	const char *words = values_of(rama_tab_commands[o->command].name, o->name);

	printf("complete -c iorama -n '__fish_seen_subcommand_from %s' -l %s",
	       rama_tab_commands[o->command].name, o->name);
	if (o->letter != 0)
		printf(" -s %c", o->letter);
	if (n > 0 && o->arg[n - 1] != '?') {
		fputs(words != NULL ? " -x -a '" : " -r", stdout);
		if (words != NULL) {
			put_values(words, "(", ")");
			putchar('\'');
		}
	}
	fputs(" -d ", stdout);
	fish_text(o->text);
	putchar('\n');
}

static void print_fish(void)
{
	puts("# fish completion for iorama, printed from the rows in src/table");
	for (size_t i = 0; i < N_ASKED; i++)
		printf("function %s\n\t%s\nend\n", asked[i].function, asked[i].script);
	puts("complete -c iorama -n __fish_use_subcommand -f");
	for (int i = 0; i < RAMA_TAB_COMMANDS; i++) {
		printf("complete -c iorama -n __fish_use_subcommand -a %s -d ",
		       rama_tab_commands[i].name);
		fish_text(rama_tab_commands[i].line);
		printf("\ncomplete -c iorama -n '__fish_seen_subcommand_from help' -f -a %s\n",
		       rama_tab_commands[i].name);
	}
	for (size_t i = 0; i < N_VALUES; i++) {
		if (values[i].option[0] != '\0')
			continue;
		printf("complete -c iorama -n '__fish_seen_subcommand_from %s'%s -a '",
		       values[i].command, strstr(values[i].words, "@files") == NULL ? " -f" : "");
		put_values(values[i].words, "(", ")");
		puts("'");
	}
	for (int i = 0; i < RAMA_TAB_OPTIONS; i++)
		fish_option(&rama_tab_options[i]);
}

/* the functions that capture replaces: "table name" */
static void print_functions(void)
{
	for (unsigned i = RAMA_TAB_FN_NONE + 1; i < RAMA_TAB_FNS; i++)
		if (strcmp(rama_tab_fn_info[i].table, "hooks") != 0)
			printf("%s %s\n", rama_tab_fn_info[i].table, rama_tab_fn_info[i].name);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!values_sound())
		return 4;
	if (strcmp(what, "json") == 0)
		print_json();
	else if (strcmp(what, "counters-md") == 0)
		print_counters();
	else if (strcmp(what, "metrics-md") == 0)
		print_metrics();
	else if (strcmp(what, "bash") == 0)
		print_bash();
	else if (strcmp(what, "zsh") == 0)
		print_zsh();
	else if (strcmp(what, "fish") == 0)
		print_fish();
	else if (strcmp(what, "functions") == 0)
		print_functions();
	else if (strcmp(what, "man") == 0 && argc == 3)
		return print_man(argv[2]);
	else {
		fputs("usage: tablegen json | counters-md | metrics-md | bash | zsh | fish | "
		      "functions "
		      "| man DIR\n",
		      stderr);
		return 2;
	}
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 4;
}
