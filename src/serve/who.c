/* SPDX-License-Identifier: BSD-3-Clause */
#include "serve/who.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/now.h"
#include "base/siphash.h"

#define SESSION_MS (12 * 3600 * 1000ll)
#define FAILED_MOST 5
#define FAILED_MS (15 * 60 * 1000ll)

int rama_serve_who_init(struct rama_serve_who_is *w, const struct rama_serve_options *o,
			struct rama_err *e)
{
	struct passwd p, *found = NULL;
	char room[4096];

	memset(w, 0, sizeof(*w));
	pthread_mutex_init(&w->lock, NULL);
	w->own = geteuid();
	w->proxy = (uid_t)-1;
	if (o->proxy == NULL)
		return 0;
	if (getpwnam_r(o->proxy, &p, room, sizeof(room), &found) != 0 || found == NULL)
		return rama_err_set(e, RAMA_EUSAGE, "there is no user '%.100s'", o->proxy);
	w->proxy = p.pw_uid;
	return 0;
}

void rama_serve_who_fini(struct rama_serve_who_is *w)
{
	pthread_mutex_destroy(&w->lock);
}

/* Takes as long for a wrong one as for a right one. */
static bool is_same(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	unsigned differ = n != m;

	for (size_t i = 0; i < n; i++)
		differ |= (unsigned char)a[i] ^ (unsigned char)b[m > 0 ? i % m : 0];
	return differ == 0 && n > 0;
}

/* ---- how often ------------------------------------------------------------------------------- */

static struct rama_serve_bucket *bucket_of(struct rama_serve_bucket *all, const char *who)
{
	static const struct rama_sipkey fixed = { 0x7669657765722e2e, 7 };
	uint64_t hash = rama_siphash(&fixed, who, strlen(who)) | 1;
	struct rama_serve_bucket *b = &all[hash % RAMA_SERVE_BUCKETS];

	if (b->who != hash) /* somebody else's before, who is forgiven */
		*b = (struct rama_serve_bucket){ .who = hash };
	return b;
}

bool rama_serve_who_rate(struct rama_serve_who_is *w, const char *who, unsigned rate)
{
	struct rama_serve_bucket *b;
	int64_t now = rama_now_ms();
	bool may;

	if (rate == 0)
		return true;
	pthread_mutex_lock(&w->lock);
	b = bucket_of(w->rate, who);
	b->left = b->since == 0 ? 2.0 * rate : b->left + (double)(now - b->since) * rate / 1000;
	b->left = b->left > 2.0 * rate ? 2.0 * rate : b->left;
	b->since = now;
	may = b->left >= 1;
	b->left -= may;
	pthread_mutex_unlock(&w->lock);
	return may;
}

/* ---- sessions -------------------------------------------------------------------------------- */

static bool make_secret(char to[RAMA_SERVE_SECRET])
{
	unsigned char b[(RAMA_SERVE_SECRET - 1) / 2];

	if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
		return false;
	for (size_t i = 0; i < sizeof(b); i++)
		snprintf(to + 2 * i, 3, "%02x", b[i]);
	return true;
}

/* a free one, or the one that ends first */
static struct rama_serve_session *free_session(struct rama_serve_who_is *w, int64_t now)
{
	struct rama_serve_session *best = &w->session[0];

	for (size_t i = 0; i < RAMA_SERVE_SESSIONS; i++) {
		struct rama_serve_session *x = &w->session[i];

		if (x->id[0] == '\0' || x->until < now)
			return x;
		best = x->until < best->until ? x : best;
	}
	return best;
}

static int wrong(struct rama_serve_who_is *w, const char *address)
{
	struct rama_serve_bucket *b = bucket_of(w->failed, address);
	int64_t now = rama_now_ms();

	if (now - b->since > FAILED_MS || b->since == 0) {
		b->since = now;
		b->left = 0;
	}
	b->left++;
	return b->left > FAILED_MOST ? 429 : 401;
}

int rama_serve_who_login(struct rama_serve_who_is *w, const struct rama_serve_options *o,
			 const char *token, const char *address, char id[RAMA_SERVE_SECRET])
{
	int status = 0;

	pthread_mutex_lock(&w->lock);
	if (o->token == NULL || !is_same(token, o->token)) {
		status = wrong(w, address);
	} else if (!make_secret(id)) {
		status = 503;
	} else {
		int64_t now = rama_now_ms();
		struct rama_serve_session *x = free_session(w, now);

		snprintf(x->id, sizeof(x->id), "%s", id);
		x->until = now + SESSION_MS;
	}
	pthread_mutex_unlock(&w->lock);
	return status;
}

static struct rama_serve_session *session_of(struct rama_serve_who_is *w, const char *id)
{
	struct rama_serve_session *found = NULL;

	for (size_t i = 0; i < RAMA_SERVE_SESSIONS; i++) /* all of them, whichever it is */
		if (is_same(w->session[i].id, id))
			found = &w->session[i];
	return found;
}

void rama_serve_who_logout(struct rama_serve_who_is *w, const char *id)
{
	struct rama_serve_session *x;

	pthread_mutex_lock(&w->lock);
	x = session_of(w, id);
	if (x != NULL)
		*x = (struct rama_serve_session){ .until = 0 };
	pthread_mutex_unlock(&w->lock);
}

int64_t rama_serve_who_session(struct rama_serve_who_is *w, const struct rama_serve_options *o,
			       const struct rama_serve_request *r, char id[RAMA_SERVE_SECRET])
{
	const struct rama_serve_session *x;
	int64_t until = 0;

	if (!rama_serve_request_cookie(r, rama_serve_cookie_name(o), id, RAMA_SERVE_SECRET)) {
		id[0] = '\0';
		return 0;
	}
	pthread_mutex_lock(&w->lock);
	x = session_of(w, id);
	if (x != NULL && x->until > rama_now_ms())
		until = x->until;
	pthread_mutex_unlock(&w->lock);
	if (until == 0)
		id[0] = '\0';
	return until;
}

/* ---- who it is ------------------------------------------------------------------------------- */

static bool has_token(const struct rama_serve_options *o, const struct rama_serve_request *r)
{
	const char *said = r->header[RAMA_SERVE_AUTHORIZATION];

	return o->token != NULL && said != NULL && strncasecmp(said, "Bearer ", 7) == 0 &&
	       is_same(said + 7, o->token);
}

static void name_of(uid_t uid, char *name, size_t room)
{
	struct passwd p, *found = NULL;
	char text[4096];

	if (getpwuid_r(uid, &p, text, sizeof(text), &found) == 0 && found != NULL &&
	    strlen(p.pw_name) < room)
		snprintf(name, room, "%s", p.pw_name);
	else
		snprintf(name, room, "%lld", (long long)uid); /* who has no name has his number */
}

static bool is_trusted(const struct rama_serve_who_is *w, const struct rama_serve_peer *peer)
{
	return peer->local && (peer->uid == 0 || peer->uid == w->own || peer->uid == w->proxy);
}

int rama_serve_who_find(struct rama_serve_who_is *w, const struct rama_serve_options *o,
			const struct rama_serve_request *r, const struct rama_serve_peer *peer,
			char *name, size_t room, bool *master)
{
	char id[RAMA_SERVE_SECRET];

	*master = false;
	name[0] = '\0';
	if (r->remote_user != NULL) {
		if (!is_trusted(w, peer) || *r->remote_user == '\0' ||
		    strlen(r->remote_user) >= room)
			return 400;
		snprintf(name, room, "%s", r->remote_user);
		return 0;
	}
	if (has_token(o, r) || rama_serve_who_session(w, o, r, id) != 0) {
		snprintf(name, room, "%s", o->user != NULL ? o->user : "");
		*master = true;
		return 0;
	}
	/* a proxy that does not say of whom a request is has nobody */
	if (!peer->local || (o->trust_header != NULL && is_trusted(w, peer)))
		return 0;
	name_of(peer->uid, name, room);
	*master = peer->uid == w->own;
	return 0;
}
