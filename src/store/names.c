/* SPDX-License-Identifier: BSD-3-Clause */
/* names.c: names that have numbers in the store, and names of files. */
#include <stdlib.h>
#include <string.h>

#include "store/handle.h"

struct entry {
	struct entry *next;
	int64_t number;
	size_t len;
	char text[]; /* both parts, each with its NUL */
};

static uint64_t hash_of(const char *text, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
	return h;
}

/* asks the store, and gives it a number if it has none */
static int ask(struct rama_store *s, const char *const name[2], const char *const sql[2],
	       int64_t *number, struct rama_err *e)
{
	struct rama_store_cell args[2] = { rama_store_cell_clean(s, name[0], strlen(name[0])),
					   rama_store_cell_clean(s, name[1], strlen(name[1])) };
	unsigned n = *name[1] != '\0' ? 2 : 1;
	int rc = rama_store_ints(s, sql[0], args, n, number, 1, e);

	if (rc == 0)
		rc = rama_store_ints(s, sql[1], args, n, number, 1, e);
	if (rc == 0) /* another writer was faster */
		rc = rama_store_ints(s, sql[0], args, n, number, 1, e);
	if (rc == 0)
		return rama_err_set(e, RAMA_EIO, "a name got no number");
	return rc < 0 ? rc : 0;
}

/* the entry of a name, or NULL */
static struct entry *known_as(const uint64_t *place, const char *const name[2], size_t a, size_t n)
{
	struct entry *en = place != NULL ? (struct entry *)(uintptr_t)*place : NULL;

	while (en != NULL && (en->len != n || memcmp(en->text, name[0], a) != 0 ||
			      memcmp(en->text + a, name[1], n - a) != 0))
		en = en->next;
	return en;
}

int rama_store_number(struct rama_store *s, struct rama_store_names *names,
		      const char *const name[2], const char *const sql[2], int64_t *number,
		      struct rama_err *e)
{
	size_t a = strlen(name[0]) + 1, n = a + strlen(name[1]) + 1;
	uint64_t hash = hash_of(name[0], a) * 31 + hash_of(name[1], n - a);
	uint64_t *place = rama_map_get(&names->map, hash);
	struct entry *en = known_as(place, name, a, n);
	int rc;

	if (en != NULL) {
		*number = en->number;
		return 0;
	}
	rc = ask(s, name, sql, number, e);
	if (rc != 0)
		return rc;
	en = rama_arena_alloc(&names->arena, sizeof(*en) + n);
	place = rama_map_put(&names->map, hash, NULL);
	if (en == NULL || place == NULL)
		return rama_err_no_memory(e);
	*en = (struct entry){ .next = (struct entry *)(uintptr_t)*place,
			      .number = *number,
			      .len = n };
	memcpy(en->text, name[0], a);
	memcpy(en->text + a, name[1], n - a);
	*place = (uintptr_t)en;
	return 0;
}

void rama_store_names_fini(struct rama_store_names *names)
{
	rama_map_fini(&names->map);
	rama_arena_fini(&names->arena);
	*names = (struct rama_store_names){ 0 };
}

int rama_store_names_put(struct rama_store *s, int64_t job, const struct rama_wire_msg_name *name,
			 size_t n, struct rama_err *e)
{
	static const char sql[] = "INSERT INTO files (job, record, path) VALUES ($1, $2, $3)"
				  " ON CONFLICT (job, record) DO NOTHING";
	struct rama_store_change *c = rama_store_batch_change(s, job);
	int64_t changed;
	int rc = 0;

	if (c == NULL)
		return rama_err_no_memory(e);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = rama_store_count(s, sql,
				      ARGS(I(job), I(name[i].record),
					   rama_store_cell_clean(s, name[i].path, name[i].len)),
				      &changed, e);
		if (rc == 0)
			c->files += changed;
	}
	return rc;
}
