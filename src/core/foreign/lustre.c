/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/foreign/lustre.h"

#include <string.h>

/* Lustre keeps layouts in little-endian order. A plain one (version 1, or 3 with a pool):
 *
 *   0 magic u32, 4 pattern u32, 8 object id 16, 24 stripe size u32, 28 stripe count u16, 30 u16
 *   32 version 3 only: name of the pool 16
 *   then for each stripe: 0 object id 16, 16 generation u32, 20 OST u32
 *
 * A composite one has a plain or foreign one for each component:
 *
 *   0 magic u32, 4 size u32, 8 generation u32, 12 flags u16, 14 components u16, 16 other 16
 *   32 for each: 0 id u32, 4 flags u32, 8 start u64, 16 end u64, 24 where u32, 28 size u32,
 *      32 other 16 */
enum { V1_SIZE = 32, V3_SIZE = 48, OST_SIZE = 24, COMPOSITE_SIZE = 32, ENTRY_SIZE = 48 };
enum { POOL_SIZE = V3_SIZE - V1_SIZE };

#define MAGIC_V1 0x0bd10bd0u
#define MAGIC_V3 0x0bd30bd0u
#define MAGIC_COMPOSITE 0x0bd60bd0u
#define MAGIC_FOREIGN 0x0bd70bd0u

#define COMP_INIT 0x10u /* flag of a component that has objects */

#define PATTERN_RAID0 0x001u
#define PATTERN_MDT 0x100u
#define PATTERN_OVERSTRIPED 0x200u
#define PATTERN_COMPRESSED 0x800u
#define PATTERN_RELEASED 0x80000000u /* data is in an archive, no object is left */

/* as the log names them */
enum { LOG_UNKNOWN = -1, LOG_RAID0 = 0, LOG_MDT = 2, LOG_OVERSTRIPED = 4, LOG_FOREIGN = 8 };

_Static_assert(RAMA_TAB_LUSTRE_NUM_STRIPES == RAMA_TAB_LUSTRE__WORDS - 1, "components follow");
_Static_assert(RAMA_TAB_LUSTRE_COMP__WORDS == RAMA_TAB_LUSTRE_COMP_POOL_NAME + POOL_SIZE / 8,
	       "pool is last");

struct bytes {
	const unsigned char *p;
	size_t len;
};

struct component {
	union rama_core_word w[RAMA_TAB_LUSTRE_COMP__WORDS];
	const unsigned char *osts;
};

static uint32_t u16(const unsigned char *p)
{
	return p[0] | (uint32_t)p[1] << 8;
}

static uint32_t u32(const unsigned char *p)
{
	return u16(p) | u16(p + 2) << 16;
}

static uint64_t u64(const unsigned char *p)
{
	return u32(p) | (uint64_t)u32(p + 4) << 32;
}

static int64_t pattern_of(uint32_t pattern)
{
	switch (pattern & 0xffff & ~PATTERN_COMPRESSED) {
	case PATTERN_RAID0:
		return LOG_RAID0;
	case PATTERN_MDT:
		return LOG_MDT;
	case PATTERN_RAID0 | PATTERN_OVERSTRIPED:
		return LOG_OVERSTRIPED;
	default:
		return LOG_UNKNOWN;
	}
}

static void read_pool(const unsigned char *p, union rama_core_word *w)
{
	char pool[POOL_SIZE] = { 0 };

	for (unsigned i = 0; i < POOL_SIZE - 1 && p[i]; i++)
		pool[i] = (char)p[i];
	memcpy(w, pool, sizeof(pool));
}

/* what a plain layout says; false: the bytes are none */
static bool read_plain(struct bytes b, struct component *c)
{
	uint32_t magic = b.len >= V1_SIZE ? u32(b.p) : 0;
	size_t head = magic == MAGIC_V3 ? V3_SIZE : V1_SIZE;
	uint32_t pattern, stripes;

	if ((magic != MAGIC_V1 && magic != MAGIC_V3) || b.len < head)
		return false;
	pattern = u32(b.p + 4);
	stripes = u16(b.p + 28);
	if (pattern_of(pattern) == LOG_MDT || pattern & PATTERN_RELEASED)
		stripes = 0;
	if (stripes > (b.len - head) / OST_SIZE)
		return false;
	c->w[RAMA_TAB_LUSTRE_COMP_STRIPE_SIZE].i = u32(b.p + 24);
	c->w[RAMA_TAB_LUSTRE_COMP_STRIPE_COUNT].i = stripes;
	c->w[RAMA_TAB_LUSTRE_COMP_STRIPE_PATTERN].i = pattern_of(pattern);
	if (magic == MAGIC_V3)
		read_pool(b.p + V1_SIZE, &c->w[RAMA_TAB_LUSTRE_COMP_POOL_NAME]);
	c->osts = b.p + head;
	return true;
}

static bool read_part(struct bytes b, struct component *c)
{
	if (b.len < 4 || u32(b.p) != MAGIC_FOREIGN)
		return read_plain(b, c);
	/* data kept elsewhere: nothing more is known of it */
	c->w[RAMA_TAB_LUSTRE_COMP_STRIPE_PATTERN].i = LOG_FOREIGN;
	return true;
}

static bool is_composite(struct bytes b)
{
	return b.len >= COMPOSITE_SIZE && u32(b.p) == MAGIC_COMPOSITE;
}

static const unsigned char *entry_of(struct bytes b, size_t i)
{
	return b.p + COMPOSITE_SIZE + i * ENTRY_SIZE;
}

/* how many components to ask read_component() for */
static size_t components_of(struct bytes b)
{
	size_t n;

	if (!is_composite(b))
		return 1;
	n = u16(b.p + 14);
	return n <= (b.len - COMPOSITE_SIZE) / ENTRY_SIZE ? n : 0;
}

/* 1: component i; 0: it holds no data yet; -1: bad bytes */
static int read_component(struct bytes b, size_t i, struct component *c)
{
	const unsigned char *e;
	uint32_t where, size;

	memset(c, 0, sizeof(*c));
	c->w[RAMA_TAB_LUSTRE_COMP_EXT_END].i = -1; /* to the end of the file */
	if (!is_composite(b))
		return read_part(b, c) ? 1 : -1;
	e = entry_of(b, i);
	if (!(u32(e + 4) & COMP_INIT))
		return 0;
	where = u32(e + 24);
	size = u32(e + 28);
	if (where > b.len || size > b.len - where)
		return -1;
	c->w[RAMA_TAB_LUSTRE_COMP_FLAGS].i = u32(e + 4);
	c->w[RAMA_TAB_LUSTRE_COMP_EXT_START].u = u64(e + 8);
	c->w[RAMA_TAB_LUSTRE_COMP_EXT_END].u = u64(e + 16);
	c->w[RAMA_TAB_LUSTRE_COMP_MIRROR_ID].i = u32(e) >> 16 & 0x7fff;
	return read_part((struct bytes){ b.p + where, size }, c) ? 1 : -1;
}

/* numbers of components and stripes; false: bad bytes */
static bool measure(struct bytes b, size_t *comps, size_t *stripes)
{
	size_t n = components_of(b);

	*comps = *stripes = 0;
	for (size_t i = 0; i < n; i++) {
		struct component c;
		int rc = read_component(b, i, &c);

		if (rc < 0)
			return false;
		if (rc > 0) {
			++*comps;
			*stripes += c.w[RAMA_TAB_LUSTRE_COMP_STRIPE_COUNT].u;
		}
	}
	return n > 0;
}

size_t rama_core_lustre_decode(const void *xattr, size_t len, uint64_t id, union rama_core_word *w,
			       size_t max)
{
	struct bytes b = { xattr, len };
	union rama_core_word *comp, *ost;
	size_t comps, stripes, need;

	if (!measure(b, &comps, &stripes))
		return 0;
	need = RAMA_TAB_LUSTRE__WORDS + comps * RAMA_TAB_LUSTRE_COMP__WORDS + stripes;
	if (need > max)
		return need;
	memset(w, 0, RAMA_TAB_LUSTRE__WORDS * sizeof(*w));
	w[RAMA_TAB_ID].u = id;
	w[RAMA_TAB_LUSTRE_NUM_COMPONENTS].u = comps;
	w[RAMA_TAB_LUSTRE_NUM_STRIPES].u = stripes;
	comp = w + RAMA_TAB_LUSTRE__WORDS;
	ost = comp + comps * RAMA_TAB_LUSTRE_COMP__WORDS;
	for (size_t i = 0; i < components_of(b); i++) {
		struct component c;

		if (read_component(b, i, &c) <= 0)
			continue;
		memcpy(comp, c.w, sizeof(c.w));
		comp += RAMA_TAB_LUSTRE_COMP__WORDS;
		for (uint64_t k = 0; k < c.w[RAMA_TAB_LUSTRE_COMP_STRIPE_COUNT].u; k++)
			ost++->u = u32(c.osts + k * OST_SIZE + OST_SIZE - 4);
	}
	return need;
}

void rama_core_lustre_init(struct rama_core_lustre_file *f, uint64_t id)
{
	memset(f, 0, sizeof(*f));
	f->w[RAMA_TAB_ID].u = id;
}

bool rama_core_lustre_apply(struct rama_core_lustre_file *f, const void *xattr, size_t len)
{
	size_t n = rama_core_lustre_decode(xattr, len, f->w[RAMA_TAB_ID].u, f->w,
					   RAMA_CORE_LUSTRE_ROOM);

	if (n == 0 || n > RAMA_CORE_LUSTRE_ROOM)
		return false;
	memset(&f->w[n], 0, (RAMA_CORE_LUSTRE_ROOM - n) * sizeof(f->w[0]));
	return true;
}

/* Readers take the number of stripes from the components: the two must agree. */
static bool is_whole(const union rama_core_word *w)
{
	uint64_t comps = w[RAMA_TAB_LUSTRE_NUM_COMPONENTS].u,
		 stripes = w[RAMA_TAB_LUSTRE_NUM_STRIPES].u;
	uint64_t room = RAMA_CORE_LUSTRE_ROOM - RAMA_TAB_LUSTRE__WORDS, sum = 0;

	if (comps > room / RAMA_TAB_LUSTRE_COMP__WORDS ||
	    stripes > room - comps * RAMA_TAB_LUSTRE_COMP__WORDS)
		return false;
	for (uint64_t i = 0; i < comps; i++) {
		const union rama_core_word *c =
			w + RAMA_TAB_LUSTRE__WORDS + i * RAMA_TAB_LUSTRE_COMP__WORDS;

		if (c[RAMA_TAB_LUSTRE_COMP_STRIPE_COUNT].u > stripes ||
		    c[RAMA_TAB_LUSTRE_COMP_STRIPE_SIZE].i < 0)
			return false;
		sum += c[RAMA_TAB_LUSTRE_COMP_STRIPE_COUNT].u;
	}
	return sum == stripes;
}

size_t rama_core_lustre_finish(const struct rama_core_lustre_file *f,
			       union rama_core_word w[RAMA_CORE_LUSTRE_ROOM])
{
	memcpy(w, f->w, sizeof(f->w));
	w[RAMA_TAB_RANK].i = 0;
	if (!is_whole(w)) /* a layout of nothing is a valid one */
		w[RAMA_TAB_LUSTRE_NUM_COMPONENTS].i = w[RAMA_TAB_LUSTRE_NUM_STRIPES].i = 0;
	return RAMA_TAB_LUSTRE__WORDS +
	       w[RAMA_TAB_LUSTRE_NUM_COMPONENTS].u * RAMA_TAB_LUSTRE_COMP__WORDS +
	       w[RAMA_TAB_LUSTRE_NUM_STRIPES].u;
}

/* ---- the kind -------------------------------------------------------------------------------- */

static void init(void *slot, const struct rama_core_new *n)
{
	rama_core_lustre_init(slot, n->id);
}

static void finish(const void *slot, double tick, union rama_core_word *w)
{
	(void)tick;
	rama_core_lustre_finish(slot, w);
}

const struct rama_core_kind rama_core_kind_lustre = {
	RAMA_CORE_KIND_OF(struct rama_core_lustre_file),
	.init = init,
	.finish = finish,
};
