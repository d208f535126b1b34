/* SPDX-License-Identifier: BSD-3-Clause */
/* snippets.c: fills in templates with what the test says.
 *
 *   snippets OUT FILE DIR [NAME=NUMBER...]      every snippet into a file of its own below OUT
 *   snippets --literal LANGUAGE NAME            a name as a literal
 *   snippets --list                             every snippet: symbol, language; every advice:
 *                                               id, words */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/advice.h"

static const char *const ending[RAMA_DIAG_LANGUAGES] = { "c", "f90", "py", "sh" };

static const struct {
	enum rama_diag_advice_value_id id;
	int64_t value;
} ordinary[] = {
	{ RAMA_DIAG_VALUE_ranks, 2 },	     { RAMA_DIAG_VALUE_bytes, 1 << 30 },
	{ RAMA_DIAG_VALUE_block, 4096 },     { RAMA_DIAG_VALUE_transfer, 4 << 20 },
	{ RAMA_DIAG_VALUE_alignment, 4096 }, { RAMA_DIAG_VALUE_now_count, 1 },
	{ RAMA_DIAG_VALUE_stripe_count, 8 }, { RAMA_DIAG_VALUE_stripe_size, 1 << 20 },
	{ RAMA_DIAG_VALUE_aggregators, 1 },  { RAMA_DIAG_VALUE_chunk, 8192 },
	{ RAMA_DIAG_VALUE_ost, 14 },	     { RAMA_DIAG_VALUE_rank, 1 },
	{ RAMA_DIAG_VALUE_files, 3 },
};

static int set_number(struct rama_diag_advice_values *v, const char *given)
{
	const char *equals = strchr(given, '=');

	for (int i = 0; equals != NULL && i < RAMA_DIAG_VALUES; i++) {
		const char *name = rama_diag_advice_value_info[i].name;

		if (strlen(name) == (size_t)(equals - given) &&
		    strncmp(name, given, strlen(name)) == 0) {
			v->at[i].number = strtoll(equals + 1, NULL, 10);
			return 0;
		}
	}
	fprintf(stderr, "snippets: what is %s?\n", given);
	return 2;
}

static int write_one(const struct rama_diag_snippet_info *s,
		     const struct rama_diag_advice_values *v, const char *dir)
{
	struct rama_out o;
	char path[4096];
	FILE *f;
	int bad;

	rama_out_init(&o, NULL, NULL);
	rama_diag_advice_fill(&o, strchr(s->text, '\n') + 1, s->language, v);
	snprintf(path, sizeof(path), "%s/%s.%s", dir, s->symbol, ending[s->language]);
	f = fopen(path, "w");
	bad = f == NULL || o.error != 0 || fwrite(o.buf, 1, o.used, f) != o.used;
	if (f != NULL && fclose(f) != 0)
		bad = 1;
	rama_out_fini(&o);
	return bad;
}

static int print_literal(const char *language, const char *name)
{
	struct rama_out o;

	rama_out_init(&o, NULL, NULL);
	for (int i = 0; i < RAMA_DIAG_LANGUAGES; i++)
		if (strcmp(rama_diag_language_name[i], language) == 0)
			rama_diag_literal(&o, (enum rama_diag_language)i, name);
	fwrite(o.buf, 1, o.used, stdout);
	rama_out_fini(&o);
	return 0;
}

static int print_list(void)
{
	for (int i = 1; i < RAMA_DIAG_SNIPPETS; i++)
		printf("snippet %s %s\n", rama_diag_snippet_info[i].symbol,
		       rama_diag_language_name[rama_diag_snippet_info[i].language]);
	for (unsigned i = 0; i < rama_diag_n_advices; i++) {
		printf("advice %s", rama_diag_advices[i].id);
		for (const enum rama_diag_snippet_id *id = rama_diag_advices[i].snippets;
		     *id != RAMA_DIAG_SNIPPET_none; id++)
			printf(" %s", rama_diag_snippet_info[*id].symbol);
		printf("\n");
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct rama_diag_advice_values v;
	int bad = 0;

	if (argc == 2 && strcmp(argv[1], "--list") == 0)
		return print_list();
	if (argc == 4 && strcmp(argv[1], "--literal") == 0)
		return print_literal(argv[2], argv[3]);
	if (argc < 4)
		return 2;
	for (size_t i = 0; i < sizeof(ordinary) / sizeof(ordinary[0]); i++)
		v.at[ordinary[i].id].number = ordinary[i].value;
	v.at[RAMA_DIAG_VALUE_file].text = argv[2];
	v.at[RAMA_DIAG_VALUE_dir].text = argv[3];
	v.at[RAMA_DIAG_VALUE_program].text = argv[2];
	v.at[RAMA_DIAG_VALUE_command].text = argv[2];
	v.at[RAMA_DIAG_VALUE_log].text = argv[2];
	v.at[RAMA_DIAG_VALUE_launcher].text = "mpirun -n 2";
	for (int i = 4; i < argc && bad == 0; i++)
		bad = set_number(&v, argv[i]);
	for (int i = 1; i < RAMA_DIAG_SNIPPETS && bad == 0; i++)
		bad = write_one(&rama_diag_snippet_info[i], &v, argv[1]);
	return bad;
}
