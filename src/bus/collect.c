/* SPDX-License-Identifier: BSD-3-Clause */
/* collect.c: a batch of messages, put and committed, or not at all; receipts; and
 * whether a message is its sender's. */
#include "bus/collect.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/now.h"
#include "logfile/log.h"

int rama_bus_collect_store_open(struct rama_bus_collect_store *s, struct rama_err *e)
{
	return s->store != NULL ? 0 : rama_bus_put_open(&s->store, s->where, e);
}

void rama_bus_collect_store_close(struct rama_bus_collect_store *s)
{
	if (s->store != NULL)
		rama_store_close(s->store);
	s->store = NULL;
	rama_bus_put_fini(&s->put);
}

struct checked {
	struct rama_bus_collect_store *s;
	struct rama_bus_collected *c;
};

static int check(void *ctx, struct rama_wire_message *m, struct rama_err *e)
{
	struct checked *k = ctx;

	return k->s->check != NULL ? k->s->check(k->s->ctx, k->c, m, e) : 0;
}

static int put_one(struct rama_bus_collect_store *s, struct rama_bus_collected *c,
		   struct rama_err *e)
{
	bool fetched = c->bytes == NULL && s->fetch != NULL;
	int rc = fetched ? s->fetch(s->ctx, c, e) : 0;

	c->fate = RAMA_BUS_FATE_STORED;
	if (rc == RAMA_EMISSING) {
		c->fate = RAMA_BUS_FATE_ABSENT;
		return 0;
	}
	if (rc == 0)
		rc = rama_bus_put_message(s->store, c->bytes, c->len, check,
					  &(struct checked){ s, c }, &c->events, &c->stored, e);
	if (fetched)
		s->release(s->ctx, c);
	if (rc == 0 || !rama_bus_put_damaged(rc))
		return rc;
	c->fate = RAMA_BUS_FATE_REFUSED;
	s->refused(s->ctx, c, e->text);
	return 0;
}

static void count(struct rama_bus_collect_totals *t, const struct rama_bus_collected *c)
{
	if (c->fate == RAMA_BUS_FATE_STORED) {
		t->messages++;
		t->bytes += c->len;
		t->events += c->stored;
		t->repeated += c->events - c->stored;
	} else if (c->fate == RAMA_BUS_FATE_REFUSED) {
		t->refused++;
		t->refused_events += c->events;
	}
}

static const unsigned char *bytes_of(const void *batch, size_t i, size_t *len)
{
	const struct rama_bus_collected *c = batch;

	*len = c[i].len;
	return c[i].bytes;
}

int rama_bus_collect_put(struct rama_bus_collect_store *s, struct rama_bus_collected *c, size_t n,
			 struct rama_bus_collect_totals *t, struct rama_err *e)
{
	bool begun = false;
	int rc = rama_bus_collect_store_open(s, e);

	if (rc == 0)
		rc = rama_bus_put_order(&s->put, n, bytes_of, c, e);
	if (rc == 0)
		rc = rama_store_begin(s->store, e);
	begun = rc == 0;
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = put_one(s, &c[s->put.key[i].place], e);
	if (rc == 0)
		rc = rama_store_commit(s->store, e);
	if (rc != 0) {
		for (size_t i = 0; i < n; i++)
			c[i].fate = RAMA_BUS_FATE_OPEN;
		if (begun)
			rama_store_rollback(s->store);
		rama_bus_collect_store_close(s);
		t->retries++;
		return e->code = RAMA_EIO;
	}
	for (size_t i = 0; i < n; i++)
		count(t, &c[i]);
	t->batches++;
	return 0;
}

/* ---- receipts -------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct rama_bus_receipt *x = a, *y = b;
	int c = strcmp(x->agent, y->agent);

	c = c != 0 ? c : strcmp(x->epoch, y->epoch);
	c = c != 0 ? c : (x->mark > y->mark) - (x->mark < y->mark);
	return c != 0 ? c : (x->number > y->number) - (x->number < y->number);
}

static bool same_text(const struct rama_bus_receipt *a, const struct rama_bus_receipt *b)
{
	return strcmp(a->agent, b->agent) == 0 && strcmp(a->epoch, b->epoch) == 0;
}

/* how many, from the first on, are one word */
static size_t word_of(const struct rama_bus_receipt *r, size_t n, char *to, size_t room)
{
	size_t k = 1;

	while (k < n && r->mark == 0 && r[k].mark == 0 && same_text(r, &r[k]) &&
	       r[k].number <= r[k - 1].number + 1)
		k++;
	if (r[k - 1].number > r->number)
		snprintf(to, room, " %llu-%llu", (unsigned long long)r->number,
			 (unsigned long long)r[k - 1].number);
	else
		snprintf(to, room, " %.1s%llu", r->mark != 0 ? &r->mark : "",
			 (unsigned long long)r->number);
	return k;
}

void rama_bus_receipts(struct rama_bus_receipt *r, size_t n, size_t room,
		       void (*say)(void *ctx, const char *agent, const char *text, size_t len),
		       void *ctx)
{
	char *text = malloc(room);
	size_t used = 0;

	if (text == NULL || n == 0) { /* they come again: agents ask when they hear nothing */
		free(text);
		return;
	}
	qsort(r, n, sizeof *r, compare);
	for (size_t i = 0, k; i < n; i += k) {
		char word[64];
		size_t len;

		k = word_of(&r[i], n - i, word, sizeof word);
		len = strlen(word);
		if (used == 0)
			used = (size_t)snprintf(text, room, "%s", r[i].epoch);
		memcpy(text + used, word, len);
		used += len;
		if (i + k == n || !same_text(&r[i], &r[i + k]) || used + 2 * sizeof word > room) {
			say(ctx, r[i].agent, text, used);
			used = 0;
		}
	}
	free(text);
}

/* ---- whom messages are from ------------------------------------------------------------------ */

/* Is a message what its subject says? The server knows who may publish to which subject, and
 * nothing of what is in it; so the user in the subject is the one that counts, and all that a
 * message says of users must agree with it. */

#define REMEMBERED 60000 /* ms that an answer of the user database is good for */

static int refuse(struct rama_err *e, const char *what, const char *told, const char *subject)
{
	return rama_err_set(e, RAMA_ECORRUPT, "%s %.100s in a message on %.200s", what, told,
			    subject);
}

/* ---- subjects -------------------------------------------------------------------------------- */

bool rama_bus_collect_subject(struct rama_bus_collect_subject *to, const char *subject)
{
	const char *at = subject;
	char *end;

	*to = (struct rama_bus_collect_subject){ 0 };
	while (to->n < 4 && at != NULL) {
		size_t len = strcspn(at, ".");

		if (len == 0 || len >= sizeof to->word[0])
			return false;
		memcpy(to->word[to->n], at, len);
		to->word[to->n++][len] = '\0';
		at = at[len] == '.' ? at + len + 1 : NULL;
	}
	if (at != NULL || to->n < 3 || strcmp(to->word[0], "iorama") != 0)
		return false;
	if (to->n == 3) /* of a node, or a probe as it once was */
		return true;
	errno = 0;
	to->uid = strtoull(to->word[2], &end, 10);
	return strspn(to->word[2], "0123456789") == strlen(to->word[2]) && errno == 0 &&
	       to->uid <= UINT32_MAX && (to->word[2][0] != '0' || to->word[2][1] == '\0');
}

/* ---- names of users -------------------------------------------------------------------------- */

static void ask(struct rama_bus_collect_user *u)
{
	struct passwd pw, *found = NULL;
	char *buf = malloc(65536);

	u->name[0] = '\0';
	if (buf != NULL && getpwuid_r((uid_t)u->uid, &pw, buf, 65536, &found) == 0 && found != NULL)
		snprintf(u->name, sizeof u->name, "%s", pw.pw_name);
	free(buf);
	u->asked = rama_now_ms();
}

/* what this machine calls the user; "": it does not know him */
static const char *name_of(struct rama_bus_collect_users *users, uint64_t uid)
{
	struct rama_bus_collect_user *u = &users->user[uid % RAMA_BUS_COLLECT_USERS];

	if (u->asked == 0 || u->uid != uid || rama_now_ms() - u->asked > REMEMBERED) {
		u->uid = uid;
		ask(u);
	}
	return u->name;
}

static bool is_somebody(const char *name)
{
	struct passwd pw, *found = NULL;
	char *buf = malloc(65536);
	bool known = buf == NULL || getpwnam_r(name, &pw, buf, 65536, &found) != 0 || found != NULL;

	free(buf);
	return known;
}

/* A name that this machine knows belongs to whom it says. Of users whom it does not know it
 * cannot tell; those are called by their number, whatever they call themselves. */
static int check_name(struct rama_bus_collect_users *users, uint64_t uid, const char **user,
		      const char *subject, struct rama_err *e)
{
	const char *known = name_of(users, uid);
	bool is_number = strspn(*user, "0123456789") == strlen(*user);

	snprintf(users->number, sizeof users->number, "%" PRIu64, uid);
	if (strcmp(*user, known) == 0 && *known != '\0')
		return 0;
	if (**user == '\0' || (is_number && strcmp(*user, users->number) == 0)) {
		*user = *known != '\0' ? known : users->number;
		return 0;
	}
	if (*known != '\0' || is_number || is_somebody(*user))
		return refuse(e, "user", *user, subject);
	*user = users->number;
	return 0;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void hush(void *ctx, const char *line)
{
	(void)ctx, (void)line; /* told when it is put */
}

/* One that cannot be read at all is judged when it is put. */
static int check_log(const struct rama_wire_msg_log *m, uint64_t uid, const char *subject,
		     struct rama_err *e)
{
	struct rama_log_options how = { .problem = hush };
	struct rama_source src;
	struct rama_err own = { 0 };
	struct rama_log log;
	char told[24];
	int64_t its;

	if (strchr(m->name, '/') != NULL) /* where it lies is no business of who sends it */
		return refuse(e, "a log with the path", m->name, subject);
	rama_source_memory(&src, m->bytes, m->len);
	if (rama_log_open(&log, &src, &how, &own) != 0)
		return 0;
	its = log.job.uid;
	rama_log_close(&log);
	snprintf(told, sizeof told, "%" PRId64, its);
	return its == (int64_t)uid ? 0 : refuse(e, "a log of user", told, subject);
}

static int check_job(const struct rama_wire_message *m, const struct rama_bus_collect_subject *s,
		     const char *subject, struct rama_err *e)
{
	char job[RAMA_WIRE_JOB] = "", name[RAMA_WIRE_JOB];
	const char *slash;
	size_t n;

	if (rama_wire_message_job(m, job) != 0)
		return rama_err_set(e, RAMA_ECORRUPT, "message '%s': damaged",
				    rama_wire_message_name(m->kind));
	if (*job == '\0') /* losses of no job, logs that say themselves whose they are */
		return 0;
	slash = strchr(job, '/');
	n = slash != NULL ? (size_t)(slash - job) : 0;
	if (n == 0 || n != strlen(s->word[2]) || memcmp(job, s->word[2], n) != 0)
		return refuse(e, "job", job, subject);
	rama_bus_word(name, sizeof name, slash + 1, strlen(slash + 1));
	return strcmp(name, s->word[3]) == 0 ? 0 : refuse(e, "job", job, subject);
}

int rama_bus_collect_check(struct rama_bus_collect_users *users, const char *subject,
			   struct rama_wire_message *m, struct rama_err *e)
{
	struct rama_bus_collect_subject s;
	char word[128];
	int rc;

	if (!rama_bus_collect_subject(&s, subject))
		return refuse(e, "a message of kind", rama_wire_message_name(m->kind), subject);
	if (m->kind == RAMA_WIRE_MSG_SAMPLE) {
		rama_bus_word(word, sizeof word, m->sample.host, strlen(m->sample.host));
		return s.n == 3 && strcmp(s.word[1], "node") == 0 && strcmp(s.word[2], word) == 0
			       ? 0
			       : refuse(e, "samples of", m->sample.host, subject);
	}
	if (s.n != 4 || m->kind == RAMA_WIRE_MSG_FOCUS)
		return refuse(e, "a message of kind", rama_wire_message_name(m->kind), subject);
	rc = check_job(m, &s, subject, e);
	if (rc == 0 && m->kind == RAMA_WIRE_MSG_LOG)
		rc = check_log(&m->log, s.uid, subject, e);
	if (rc != 0 || m->kind != RAMA_WIRE_MSG_PROCESS)
		return rc;
	snprintf(word, sizeof word, "%" PRId64, m->process.uid);
	if (m->process.uid < 0 || (uint64_t)m->process.uid != s.uid)
		return refuse(e, "user", word, subject);
	return check_name(users, s.uid, &m->process.user, subject, e);
}
