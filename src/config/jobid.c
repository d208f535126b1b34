/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/jobid.h"

#include <string.h>

#include "config/text.h"
#include "core/recordid.h"

enum form { FORM_NUMBER, FORM_F58, FORM_HASH };

static const struct scheduler {
	const char *name, *variable;
	enum form form;
	const char *needs, *task, *none;
} schedulers[] = {
#define J(name, variable, form, needs, task, none) \
	{ name, variable, FORM_##form, needs, task, none },
#define W(...)
#include "table/schedulers.def"
#undef J
#undef W
};

enum word {
#define B(symbol, ...) WORD_##symbol,
#include "table/batch.def"
#undef B
	WORDS
};

static const char *const keys[WORDS] = {
#define B(symbol, word, ...) "iorama_" #word "=",
#include "table/batch.def"
#undef B
};

static const struct {
	const char *name;
	enum word word;
	const char *variable, *as;
} told[] = {
#define J(...)
#define W(name, word, variable, as) { name, WORD_##word, variable, as },
#include "table/schedulers.def"
#undef J
#undef W
};

#define WORD_MOST 96 /* bytes of one; longer ones are cut, lists of nodes left out */

static void copy(char *to, size_t room, const char *s)
{
	struct rama_config_text t;

	rama_config_text_init(&t, to, room);
	if (s != NULL)
		rama_config_text_str(&t, s);
}

/* Base 58 as Flux writes it, behind the letter f or its curly sister. false: it is something
 * else */
static bool f58(const char *s, uint64_t *v)
{
	static const char digits[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

	if (strncmp(s, "\xc6\x92", 2) == 0)
		s += 2;
	else if (*s == 'f')
		s++;
	else
		return false;
	if (*s == '\0')
		return false;
	for (*v = 0; *s != '\0'; s++) {
		const char *d = strchr(digits, *s);
		uint64_t digit = d != NULL ? (uint64_t)(d - digits) : 0;

		if (d == NULL || *v > (UINT64_MAX - digit) / 58)
			return false;
		*v = *v * 58 + digit;
	}
	return true;
}

static int64_t hashed(const char *s)
{
	return (int64_t)(rama_core_record_id(s, strlen(s)) & INT64_MAX);
}

static bool parse(const char *s, enum form form, int64_t *id)
{
	struct rama_config_piece w = { s, strlen(s) };
	uint64_t v;
	size_t n;

	if (w.n == 0)
		return false;
	n = rama_config_piece_integer(w, id);
	if (form == FORM_NUMBER)
		return n > 0;
	if (form == FORM_F58 && n == w.n)
		return true;
	if (form == FORM_F58 && f58(s, &v) && v <= INT64_MAX)
		*id = (int64_t)v;
	else
		*id = hashed(s);
	return true;
}

/* the variable that the user named: read as Darshan reads it, into 32 bits */
static bool from_named(struct rama_config_jobid *job, const char *value)
{
	struct rama_config_piece w = { value, value != NULL ? strlen(value) : 0 };
	int64_t v;

	if (rama_config_piece_integer(w, &v) == 0)
		return false;
	*job = (struct rama_config_jobid){ .id = (int32_t)v, .scheduler = "" };
	copy(job->text, sizeof(job->text), value);
	return true;
}

/* NULL: it is not set, or says nothing */
static const char *value_of(const struct scheduler *sch, const char *name,
			    rama_config_lookup lookup, void *ctx)
{
	const char *value = name[0] != '\0' ? lookup(ctx, name) : NULL;

	return value != NULL && value[0] != '\0' && strcmp(value, sch->none) != 0 ? value : NULL;
}

static const char *word_of(const struct scheduler *sch, enum word word, rama_config_lookup lookup,
			   void *ctx)
{
	const char *value = NULL;

	for (unsigned i = 0; value == NULL && i < sizeof(told) / sizeof(told[0]); i++)
		if (told[i].word == word && strcmp(told[i].name, sch->name) == 0) {
			value = value_of(sch, told[i].variable, lookup, ctx);
			if (value != NULL && told[i].as[0] != '\0')
				value = told[i].as;
		}
	return value;
}

/* the batch system that the process is in; NULL: none */
static const struct scheduler *find(rama_config_lookup lookup, void *ctx, const char **value,
				    int64_t *id)
{
	for (unsigned i = 0; i < sizeof(schedulers) / sizeof(schedulers[0]); i++) {
		const struct scheduler *sch = &schedulers[i];

		*value = lookup(ctx, sch->variable);
		if (*value != NULL && (sch->needs[0] == '\0' || lookup(ctx, sch->needs) != NULL) &&
		    parse(*value, sch->form, id))
			return sch;
	}
	return NULL;
}

bool rama_config_jobid_find(struct rama_config_jobid *job, const char *named,
			    rama_config_lookup lookup, void *ctx)
{
	const struct scheduler *sch;
	const char *value;
	int64_t id;

	if (named[0] != '\0' && from_named(job, lookup(ctx, named)))
		return true;
	sch = find(lookup, ctx, &value, &id);
	if (sch == NULL)
		return false;
	*job = (struct rama_config_jobid){ .id = id, .scheduler = sch->name };
	copy(job->text, sizeof(job->text), value);
	copy(job->task, sizeof(job->task), value_of(sch, sch->task, lookup, ctx));
	copy(job->step, sizeof(job->step), word_of(sch, WORD_STEP, lookup, ctx));
	return true;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* A word of a line: nothing that ends lines or harms terminals, and no half of a letter. */
static void put_word(struct rama_config_text *t, const char *s)
{
	size_t n = strnlen(s, WORD_MOST);

	while (n == WORD_MOST && n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	for (size_t i = 0; i < n; i++) {
		char c = (unsigned char)s[i] < ' ' || s[i] == 0x7f ? '_' : s[i];

		rama_config_text_put(t, &c, 1);
	}
}

/* what identifies the array: its own id, or that of the job up to what is no digit */
static void put_array(struct rama_config_text *t, const char *array, const char *id,
		      const char *task)
{
	size_t digits = strspn(id, "0123456789");

	if (array != NULL || digits == 0)
		put_word(t, array != NULL ? array : id);
	else
		rama_config_text_put(t, id, digits);
	rama_config_text_str(t, "_");
	put_word(t, task);
}

void rama_config_jobid_words(char *to, size_t room, rama_config_lookup lookup, void *ctx)
{
	const char *id = NULL;
	int64_t number;
	const struct scheduler *sch = find(lookup, ctx, &id, &number);
	struct rama_config_text t;

	rama_config_text_init(&t, to, room);
	for (unsigned i = 0; sch != NULL && i < WORDS; i++) {
		const char *value = word_of(sch, (enum word)i, lookup, ctx);
		const char *task = value_of(sch, sch->task, lookup, ctx);
		size_t before = t.len;

		if (i == WORD_ARRAY ? task == NULL : value == NULL)
			continue;
		if (i == WORD_NODES && strlen(value) > WORD_MOST)
			continue;
		rama_config_text_str(&t, keys[i]);
		if (i == WORD_ARRAY)
			put_array(&t, value, id, task);
		else
			put_word(&t, value);
		rama_config_text_str(&t, "\n");
		if (t.cut) /* all of a line, or nothing */
			to[t.len = before] = '\0';
		t.cut = false;
	}
}
