/* SPDX-License-Identifier: BSD-3-Clause */
/* odd.c: files that are not, or no more, followed; and how much of an agent of all users
 * one of them may take: directories, files and looks at them. Whoever makes more of them than
 * anybody needs waits, and nobody else does. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "base/siphash.h"
#include "agent/loop.h"

/* of one user, in an agent of the system */
static const size_t most[RAMA_AGENT_SHARES] = {
	/* a watch of the kernel each, of which there are some 100,000 */
	[RAMA_AGENT_SHARE_DIRS] = 8192,
	[RAMA_AGENT_SHARE_FILES] = 16384,  /* that are no segments, or not any more */
	[RAMA_AGENT_SHARE_SEGS] = 2048,	   /* two mappings each, and up to 70 KiB of memory */
	[RAMA_AGENT_SHARE_LOOKS] = 65536,  /* from one reading of all directories to the next */
	[RAMA_AGENT_SHARE_TIME] = 1000000, /* µs for those, likewise */
	[RAMA_AGENT_SHARE_WORDS] = 100,	   /* lines of the journal, likewise */
};

/* ---- shares ---------------------------------------------------------------------------------- */

static struct rama_agent_share *share_of(struct rama_agent *a, uint32_t uid)
{
	uint64_t *at = rama_map_put(&a->share_by, uid, NULL);

	if (at == NULL)
		return NULL;
	if (*at != 0)
		return &a->share[*at - 1];
	if (!RAMA_GROW(a->share, a->room_shares, a->n_shares + 1))
		return NULL;
	a->share[a->n_shares] = (struct rama_agent_share){ .uid = uid };
	*at = ++a->n_shares;
	return &a->share[*at - 1];
}

bool rama_agent_may(struct rama_agent *a, uint32_t uid, enum rama_agent_share_kind what)
{
	struct rama_agent_share *s = a->o.system ? share_of(a, uid) : NULL;

	if (!a->o.system)
		return true; /* all is his own */
	if (s == NULL)
		return false;
	if (s->used[what] < most[what])
		return true;
	if (what == RAMA_AGENT_SHARE_WORDS || s->told)
		return false; /* that there are too many words is not said in one more */
	rama_agent_say(a,
		       "user %u has more directories and files of segments than are looked at; "
		       "the others wait until some are gone",
		       (unsigned)uid);
	s->told = true;
	return false;
}

void rama_agent_use(struct rama_agent *a, uint32_t uid, enum rama_agent_share_kind what, int n)
{
	struct rama_agent_share *s = a->o.system ? share_of(a, uid) : NULL;

	if (s != NULL && (n > 0 || s->used[what] > 0))
		s->used[what] += (size_t)n;
}

void rama_agent_turn(struct rama_agent *a, int64_t all)
{
	a->turn = a->n_users > 1 ? all / (int64_t)a->n_users : all;
	for (size_t i = 0; i < a->n_shares; i++)
		a->share[i].spent = 0;
}

int64_t rama_agent_turn_left(struct rama_agent *a, uint32_t uid)
{
	struct rama_agent_share *s = a->o.system ? share_of(a, uid) : NULL;

	if (s == NULL)
		return INT64_MAX;
	return s->spent < a->turn ? a->turn - s->spent : 0;
}

void rama_agent_turn_spent(struct rama_agent *a, uint32_t uid, int64_t ns)
{
	struct rama_agent_share *s = a->o.system ? share_of(a, uid) : NULL;

	if (s != NULL)
		s->spent += ns;
}

void rama_agent_shares_renew(struct rama_agent *a)
{
	for (size_t i = 0; i < a->n_shares; i++)
		a->share[i].used[RAMA_AGENT_SHARE_LOOKS] = a->share[i].used[RAMA_AGENT_SHARE_TIME] =
			a->share[i].used[RAMA_AGENT_SHARE_WORDS] = 0;
}

/* Keys of what is gone stay in a table; from time to time it is made anew. */
static void tidy(struct rama_map *m, size_t n,
		 void (*fill)(struct rama_agent *a, struct rama_map *m), struct rama_agent *a)
{
	if (m->used < 4 * n + 4096)
		return;
	rama_map_fini(m);
	*m = (struct rama_map){ 0 };
	fill(a, m);
}

static void put(struct rama_map *m, uint64_t key, size_t i)
{
	uint64_t *at = rama_map_put(m, key, NULL);

	if (at != NULL)
		*at = i + 1;
}

static void fill_segs(struct rama_agent *a, struct rama_map *m)
{
	for (size_t i = 0; i < a->n_segs; i++) {
		struct rama_look_find_id id = { a->seg[i]->map.dev, a->seg[i]->map.ino };

		put(m, rama_look_find_id_hash(&id), i);
	}
}

static void fill_keys(struct rama_agent *a, struct rama_map *m)
{
	for (size_t i = 0; i < a->n_segs; i++) {
		uint64_t *n = rama_map_put(m, rama_agent_key_hash(&a->seg[i]->key), NULL);

		if (n != NULL)
			++*n;
	}
}

static void fill_jobs(struct rama_agent *a, struct rama_map *m)
{
	for (size_t i = 0; i < a->n_jobs; i++)
		put(m, rama_agent_path_hash(a->job[i]->dir), i);
}

static void fill_odd(struct rama_agent *a, struct rama_map *m)
{
	for (size_t i = 0; i < a->n_odd; i++)
		put(m, rama_look_find_id_hash(&a->odd[i].id), i);
}

static void fill_dirs(struct rama_agent *a, struct rama_map *m)
{
	for (size_t i = 0; i < a->n_dirs; i++)
		put(m, rama_agent_path_hash(a->dir[i]->path), i);
}

void rama_agent_tidy(struct rama_agent *a)
{
	tidy(&a->by_id, a->n_segs, fill_segs, a);
	tidy(&a->by_key, a->n_segs, fill_keys, a);
	tidy(&a->job_by, a->n_jobs, fill_jobs, a);
	tidy(&a->odd_by, a->n_odd, fill_odd, a);
	tidy(&a->dir_by, a->n_dirs, fill_dirs, a);
}

uint64_t rama_agent_key_hash(const struct rama_wire_segment_key *key)
{
	uint64_t h;

	memcpy(&h, key->b, sizeof(h)); /* it is made of hashes */
	return h;
}

uint64_t rama_agent_path_hash(const char *path)
{
	static const struct rama_sipkey key = { 0x646972u, 1 };

	return rama_siphash(&key, path, strlen(path));
}

/* ---- files ----------------------------------------------------------------------------------- */

struct rama_agent_odd *rama_agent_odd(struct rama_agent *a, const struct rama_look_find_id *id)
{
	const uint64_t *at = rama_map_get(&a->odd_by, rama_look_find_id_hash(id));

	if (at == NULL || *at == 0 || !rama_look_find_id_same(&a->odd[*at - 1].id, id))
		return NULL;
	return &a->odd[*at - 1];
}

struct rama_agent_odd *rama_agent_odd_add(struct rama_agent *a, const struct rama_look_find_id *id,
					  const char *path, uint32_t uid)
{
	struct rama_agent_odd *o = rama_agent_odd(a, id);
	uint64_t *at;

	if (o != NULL || !rama_agent_may(a, uid, RAMA_AGENT_SHARE_FILES))
		return o;
	if (!RAMA_GROW(a->odd, a->room_odd, a->n_odd + 1))
		return NULL;
	at = rama_map_put(&a->odd_by, rama_look_find_id_hash(id), NULL);
	if (at == NULL || *at != 0)
		return NULL;
	o = &a->odd[a->n_odd];
	*o = (struct rama_agent_odd){
		.id = *id, .path = strdup(path), .uid = uid, .since = a->drain.mono
	};
	if (o->path == NULL)
		return NULL;
	*at = ++a->n_odd;
	rama_agent_use(a, uid, RAMA_AGENT_SHARE_FILES, 1);
	return o;
}

static void drop_odd(struct rama_agent *a, size_t i)
{
	uint64_t *at = rama_map_get(&a->odd_by, rama_look_find_id_hash(&a->odd[i].id));

	if (at != NULL)
		*at = 0;
	rama_agent_use(a, a->odd[i].uid, RAMA_AGENT_SHARE_FILES, -1);
	free(a->odd[i].path);
	a->odd[i] = a->odd[--a->n_odd];
	at = i < a->n_odd ? rama_map_get(&a->odd_by, rama_look_find_id_hash(&a->odd[i].id)) : NULL;
	if (at != NULL)
		*at = i + 1;
}

bool rama_agent_done(struct rama_agent *a, const struct rama_look_find_id *id, bool *bad)
{
	const struct rama_agent_odd *o = rama_agent_odd(a, id);

	*bad = o != NULL && o->bad;
	return o != NULL && o->done;
}

bool rama_agent_id_of(const struct rama_agent *a, const char *path, uint32_t uid,
		      struct rama_look_find_id *id)
{
	struct stat st;
	int rc;

	rama_agent_as(a, uid);
	rc = lstat(path, &st);
	rama_agent_as_self(a);
	*id = (struct rama_look_find_id){ st.st_dev, st.st_ino };
	return rc == 0;
}

void rama_agent_again(struct rama_agent *a)
{
	/* those that are done with are looked after now and then */
	bool all = a->scanned == a->drain.mono;

	for (size_t i = a->n_odd; i-- > 0;) {
		struct rama_agent_odd *o = &a->odd[i];
		struct rama_look_find_id id;
		char path[PATH_MAX];

		if (!all && (o->done || a->drain.mono < o->next))
			continue;
		if (!rama_agent_id_of(a, o->path, o->uid, &id) ||
		    !rama_look_find_id_same(&id, &o->id)) {
			drop_odd(a, i);
		} else if (!o->done && a->drain.mono >= o->next) {
			snprintf(path, sizeof(path), "%s", o->path);
			rama_agent_found(a, path, o->uid);
		}
	}
}

void rama_agent_odd_fini(struct rama_agent *a)
{
	for (size_t i = 0; i < a->n_odd; i++)
		free(a->odd[i].path);
	free(a->odd);
	free(a->share);
	rama_map_fini(&a->odd_by);
	rama_map_fini(&a->share_by);
}
