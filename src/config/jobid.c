/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/jobid.h"

#include <string.h>

#include "config/text.h"
#include "core/recordid.h"

enum form { FORM_NUMBER, FORM_F58, FORM_HASH };

static const struct scheduler {
	const char *name, *variable;
	enum form form;
	const char *needs, *task, *step;
} schedulers[] = {
#define J(name, variable, form, needs, task, step) \
	{ name, variable, FORM_##form, needs, task, step },
#include "table/schedulers.def"
#undef J
};

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

static const char *value_of(const char *name, rama_config_lookup lookup, void *ctx)
{
	const char *value = name[0] != '\0' ? lookup(ctx, name) : NULL;

	/* what Grid Engine says where others say nothing */
	return value != NULL && strcmp(value, "undefined") == 0 ? NULL : value;
}

bool rama_config_jobid_find(struct rama_config_jobid *job, const char *named,
			    rama_config_lookup lookup, void *ctx)
{
	if (named[0] != '\0' && from_named(job, lookup(ctx, named)))
		return true;
	for (unsigned i = 0; i < sizeof(schedulers) / sizeof(schedulers[0]); i++) {
		const struct scheduler *sch = &schedulers[i];
		const char *value = lookup(ctx, sch->variable);
		int64_t id;

		if (value == NULL || (sch->needs[0] != '\0' && lookup(ctx, sch->needs) == NULL) ||
		    !parse(value, sch->form, &id))
			continue;
		*job = (struct rama_config_jobid){ .id = id, .scheduler = sch->name };
		copy(job->text, sizeof(job->text), value);
		copy(job->task, sizeof(job->task), value_of(sch->task, lookup, ctx));
		copy(job->step, sizeof(job->step), value_of(sch->step, lookup, ctx));
		return true;
	}
	return false;
}
