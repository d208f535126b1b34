/* SPDX-License-Identifier: BSD-3-Clause */
/* names.c: the records area, handed out in chunks of names and of slots; names, and how they are
 * found again. */
#include <sys/mman.h>

#include "capture/runtime.h"
#include "core/group.h"
#include "core/recordid.h"

/* ---- chunks ---------------------------------------------------------------------------------- */

enum { FILL_LEAST = 16384, FILL_MOST = 524288 };

/* What is asked for is for a group: some chunks are kept for these. A jump may leave it set: then
 * one file more gets a record of its own. */
static bool for_groups;

static bool is_spare(uint32_t chunk)
{
	return chunk >= rama_cap_run.pool_chunks - rama_cap_run.pool_spare;
}

/* bytes [from, to) of a chunk get their memory, and some more: few for the first files, then
 * more at a time */
static bool fill(unsigned char *at, uint32_t *ready, uint32_t need, bool first)
{
	uint32_t size = 1u << rama_cap_run.pool_shift, step = first ? *ready : size;

	step = step < FILL_LEAST ? FILL_LEAST : step > FILL_MOST ? FILL_MOST : step;
	if (step < need - *ready)
		step = (need - *ready + RAMA_SEG_PAGE - 1) & ~(uint32_t)(RAMA_SEG_PAGE - 1);
	if (step > size - *ready)
		step = size - *ready;
	if (!rama_cap_memory_fill(at + *ready, step))
		return false;
	*ready += step;
	return true;
}

static uint8_t code_of(unsigned what)
{
	return (uint8_t)(what == RAMA_CAP_POOL_NAMES ? RAMA_SEG_POOL_NAMES
						     : RAMA_SEG_POOL_SLOTS + what);
}

/* Is it ours? Taking it may have been left by a jump before it was told. */
static bool has_chunk(const struct rama_cap_pool_now *now, unsigned what)
{
	return now->at && now->chunk < rama_cap_run.state->pool_used &&
	       rama_cap_run.head->pool[now->chunk] == code_of(what);
}

/* The next chunk becomes what somebody needs; it is told when it is there. */
static bool take_chunk(unsigned what, uint32_t n)
{
	struct rama_cap_pool_now *now = &rama_cap_run.pool_now[what];
	uint32_t c = rama_cap_run.state->pool_used, ready = 0;
	uint64_t size = 1ull << rama_cap_run.pool_shift;

	if (c >= rama_cap_run.pool_chunks || (is_spare(c) && !for_groups))
		return false;
	unsigned char *at = rama_cap_memory_at(RAMA_CAP_RECORDS, c * size, size);
	if (!at || !fill(at, &ready, n, !now->at))
		return false;
	/* A jump out of here may come between any two of these: a chunk is somebody's from the
	 * moment that it is told, and `at` says that the rest of `now` holds. */
	rama_cap_run.pool[c] = at;
	__atomic_store_n(&now->at, NULL, __ATOMIC_RELEASE);
	now->chunk = c;
	now->ready = ready;
	now->used = 0;
	now->first = what == RAMA_CAP_POOL_NAMES ? 0 : rama_cap_run.state->slots_used[what];
	__atomic_store_n(&now->at, at, __ATOMIC_RELEASE);
	__atomic_store_n(&rama_cap_run.head->pool[c], code_of(what), __ATOMIC_RELAXED);
	__atomic_store_n(&rama_cap_run.state->pool_used, c + 1, __ATOMIC_RELEASE);
	return true;
}

unsigned char *rama_cap_pool_room(unsigned what, uint32_t n)
{
	struct rama_cap_pool_now *now = &rama_cap_run.pool_now[what];
	uint32_t size = 1u << rama_cap_run.pool_shift;

	/* slots that were told are what counts: a jump may have left one half made */
	if (what != RAMA_CAP_POOL_NAMES && has_chunk(now, what))
		now->used = (rama_cap_run.state->slots_used[what] - now->first) *
			    rama_cap_run.head->slot[what];
	if ((!has_chunk(now, what) || n > size - now->used) && !take_chunk(what, n))
		return NULL;
	if (is_spare(now->chunk) && !for_groups)
		return NULL;
	if (now->used + n > now->ready &&
	    !fill(now->at, &now->ready, now->used + n, now->ready < size / 2))
		return NULL;
	return now->at + now->used;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Hash tables, each twice as large as the one before, which stays for those who are looking into
 * it. */
enum { TABLES = 20, INDEX_FIRST = 4096 };
static struct table {
	uint32_t *number; /* of a name; 0: empty */
	uint32_t mask;
} tables[TABLES];
static const struct table *table;
static uint32_t n_names, n_groups;
enum { GROUPS_FINE = 192, GROUPS_MOST = 256 };

struct rama_seg_name *rama_cap_name_at(uint32_t number)
{
	uint64_t at = (uint64_t)(number - 1) * 8;

	return (struct rama_seg_name *)(rama_cap_run.pool[at >> rama_cap_run.pool_shift] +
					(at & ((1ull << rama_cap_run.pool_shift) - 1)));
}

uint32_t rama_cap_name_number(const struct rama_seg_name *n)
{
	return n->number;
}

/* Entries are only ever added, each published after it is complete: looking needs no lock. */
static struct rama_seg_name *find(const struct table *in, uint64_t id, uint32_t *place)
{
	uint32_t i = (uint32_t)id & in->mask;

	for (;; i = (i + 1) & in->mask) {
		uint32_t number = __atomic_load_n(&in->number[i], __ATOMIC_ACQUIRE);
		*place = i;
		if (number == 0)
			return NULL;
		struct rama_seg_name *n = rama_cap_name_at(number);
		if (n->id == id)
			return n;
	}
}

static const struct table *table_now(void)
{
	return __atomic_load_n(&table, __ATOMIC_ACQUIRE);
}

static struct rama_seg_name *others(void)
{
	return rama_cap_name_at(1); /* made together with the segment */
}

static bool make_table(unsigned i, uint32_t entries)
{
	if (i == TABLES)
		return false;
	tables[i].number = rama_cap_memory_own((size_t)entries * sizeof(uint32_t));
	tables[i].mask = entries - 1;
	return tables[i].number != NULL;
}

/* A quarter stays empty so that searches end soon; if there is no memory for a larger one, they
 * take longer for a while. */
static bool room_in_table(void)
{
	unsigned next = (unsigned)(table - tables) + 1;
	uint32_t place;

	if (n_names < table->mask / 4 * 3)
		return true;
	if (!make_table(next, (table->mask + 1) * 2))
		return n_names < table->mask / 16 * 15;
	for (uint32_t i = 0; i <= table->mask; i++)
		if (table->number[i] != 0) {
			find(&tables[next], rama_cap_name_at(table->number[i])->id, &place);
			tables[next].number[place] = table->number[i];
		}
	__atomic_store_n(&table, &tables[next], __ATOMIC_RELEASE);
	return true;
}

static struct rama_seg_name *add(uint64_t id, const char *text, size_t len)
{
	struct rama_seg_state *s = rama_cap_run.state;
	struct rama_cap_pool_now *now = &rama_cap_run.pool_now[RAMA_CAP_POOL_NAMES];
	uint32_t need = (uint32_t)(sizeof(struct rama_seg_name) + len + 1 + 7) & ~7u, place;
	struct rama_seg_name *n = find(table, id, &place);

	if (n)
		return n;
	if (rama_cap_run.names_bytes + need > rama_cap_run.names_most || !room_in_table())
		return NULL;
	n = (struct rama_seg_name *)rama_cap_pool_room(RAMA_CAP_POOL_NAMES, need);
	if (!n)
		return NULL;
	uint64_t at = ((uint64_t)now->chunk << rama_cap_run.pool_shift) + now->used;
	n->id = id;
	n->len = (uint32_t)len;
	n->number = (uint32_t)(at / 8 + 1);
	memcpy(n->text, text, len);
	n->text[len] = '\0';
	now->used += need;
	n_names++;
	rama_cap_run.names_bytes += need;
	__atomic_store_n(&s->names_used, at + need, __ATOMIC_RELEASE);
	__atomic_store_n(&s->beat, s->beat + 1, __ATOMIC_RELAXED);
	find(table, id, &place); /* it may have become larger */
	__atomic_store_n(&table->number[place], n->number, __ATOMIC_RELEASE);
	return n;
}

/* The group of a path, made if need be; NULL: it has none. The caller holds the lock. */
struct rama_seg_name *rama_cap_name_group(const char *path, size_t path_len, bool coarse)
{
	char text[RAMA_CORE_GROUP_TEXT];
	size_t len = rama_core_group_name(text, path, path_len, coarse);
	uint64_t id = rama_core_record_id(text, len);
	struct rama_seg_name *n;
	uint32_t place;

	if (len == 0)
		return NULL;
	n = find(table, id, &place);
	if (n || n_groups >= (coarse ? GROUPS_MOST : GROUPS_FINE))
		return n;
	for_groups = true;
	n = add(id, text, len);
	for_groups = false;
	n_groups += n != NULL;
	return n;
}

void rama_cap_pool_for_groups(bool on)
{
	for_groups = on;
}

struct rama_seg_name *rama_cap_name(struct rama_cap_thread *t, const char *text, size_t len,
				    bool make)
{
	uint64_t id = rama_core_record_id(text, len);
	uint32_t place;
	struct rama_seg_name *n = find(table_now(), id, &place);

	if (n || !make)
		return n;
	if (!rama_cap_lock(t, &rama_cap_run.names_lock))
		return others();
	n = add(id, text, len);
	if (!n && ((n = rama_cap_name_group(text, len, false)) ||
		   (n = rama_cap_name_group(text, len, true)))) {
		rama_cap_run.state->folded[RAMA_SEG_KIND_POSIX]++;
		rama_cap_run.state->partial |= 1ull << RAMA_TAB_MOD_POSIX;
	}
	rama_cap_unlock(t, &rama_cap_run.names_lock);
	return n ? n : others();
}

struct rama_seg_name *rama_cap_name_known(struct rama_cap_thread *t, const char *text, size_t len)
{
	struct rama_seg_name *n = rama_cap_name(t, text, len, false);

	for (unsigned k = 0; n && k < RAMA_SEG_KINDS; k++)
		if (n->slot[k])
			return n;
	return NULL; /* it is there for the events of failed calls only */
}

bool rama_cap_names_init(void)
{
	static const char text[] = RAMA_SEG_CATCHALL;

	memset(rama_cap_run.pool_now, 0, sizeof(rama_cap_run.pool_now));
	memset(rama_cap_run.others, 0, sizeof(rama_cap_run.others));
	n_names = n_groups = 0;
	rama_cap_run.names_bytes = 0;
	if (!table) {
		if (!make_table(0, INDEX_FIRST))
			return false;
		table = &tables[0];
	} else { /* of a process that we were forked from */
		rama_cap_sys3(SYS_madvise, table->number,
			      ((size_t)table->mask + 1) * sizeof(uint32_t), MADV_DONTNEED);
	}
	return add(rama_core_record_id(text, sizeof(text) - 1), text, sizeof(text) - 1) != NULL;
}

size_t rama_cap_name_old(unsigned generation, uint32_t number, char *to, size_t room)
{
	enum { HEAD = offsetof(struct rama_seg_name, text) };
	uint64_t at = (uint64_t)(number - 1) * 8;
	const struct rama_seg_name *n =
		number > 0 && generation + 4 > rama_cap_run.generation
			? (const void *)rama_cap_memory_old(generation, at, HEAD)
			: NULL;

	if (!n || room == 0)
		return 0;
	size_t len = n->len < room ? n->len : room - 1;
	if (!rama_cap_memory_old(generation, at, HEAD + len))
		return 0;
	memcpy(to, n->text, len);
	to[len] = '\0';
	return len;
}
