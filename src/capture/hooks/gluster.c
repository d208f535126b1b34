/* SPDX-License-Identifier: BSD-3-Clause */
/* gluster.c: GlusterFS is a tree of translators; each is a library with a table of functions, which
 * is data. Some of these functions are replaced by ours (table/hooks.def): one aligned word each,
 * nobody has to stand still. An operation ends in whatever thread its answer comes: then the
 * function in `ret` of its frame is called with `cookie`. Both are ours meanwhile, and as before
 * when it is called.
 *
 * Nothing of GlusterFS is included: where things stand is a row by version, and what is found is
 * checked before it is used. What does not look as it should is left alone, and said. */
#include "capture/events.h"
#include "capture/hooks/hooks.h"

#ifndef RAMA_STATIC_WRAP
#include <dlfcn.h>
#include <link.h>

#include "config/text.h"
#include "core/foreign/gluster.h"

/* ---- rows ------------------------------------------------------------------------------------ */

enum {
#define GLUSTER_PLACE(place, path) PLACE_##place,
#include "table/hooks.def"
	PLACES
};

#define OPS RAMA_CORE_GLUSTER_OPS

static const char *const place_path[PLACES] = {
#define GLUSTER_PLACE(place, path) path,
#include "table/hooks.def"
};

static const struct {
	uint16_t fn;
	uint8_t kind;
	int8_t arguments, fd, off;
} row[OPS] = {
#define GLUSTER_OP(symbol, name, kind, op, at, arguments, answer, fd, off, size) \
	{ RAMA_TAB_FN_##symbol, RAMA_TAB_OP_##kind, arguments, fd, off },
#include "table/hooks.def"
};

enum {
	FRAME_STACK = RAMA_CORE_GLUSTER_FRAME_STACK,
	FRAME_PARENT = RAMA_CORE_GLUSTER_FRAME_PARENT,
	STACK_CLIENT = RAMA_CORE_GLUSTER_STACK_CLIENT,
	STACK_UNIQUE = RAMA_CORE_GLUSTER_STACK_UNIQUE,
	STACK_USER = RAMA_CORE_GLUSTER_STACK_USER,
	STACK_THREAD = RAMA_CORE_GLUSTER_STACK_THREAD,
	NAME = RAMA_CORE_GLUSTER_NAME,
	FILE_INODE = RAMA_CORE_GLUSTER_FILE_INODE,
	INODE_ID = RAMA_CORE_GLUSTER_INODE_ID
};

static uintptr_t word(uintptr_t at, unsigned off)
{
	uintptr_t v;

	memcpy(&v, (const void *)(at + off), sizeof(v));
	return v;
}

static void put_word(uintptr_t at, unsigned off, uintptr_t v)
{
	memcpy((void *)(at + off), &v, sizeof(v));
}

/* ---- what is replaced ------------------------------------------------------------------------ */

typedef void any(void);

/* Each operation has functions of its own, in which its row is known: that is worth much. */
#define ROW inline __attribute__((always_inline))

static struct {
	const struct rama_core_gluster_layout *is; /* of this version; NULL: none is known */
	struct rama_core_gluster_layout at;	   /* a copy: one load less */
	_Atomic bool on;     /* all was as it should be, so far: else nothing is looked at */
	bool proven[PLACES]; /* a frame was read with care, and looked as it should */
	bool server;	     /* it is a brick */
	bool marks;	     /* numbers are sent along */
	char version[RAMA_CORE_GLUSTER_VERSION];
	any *real[PLACES][OPS];	      /* kept: calls may be on their way here after a detach */
	uintptr_t *slot[PLACES][OPS]; /* where ours is; NULL: it is not */
	struct {
		char path[512];
		struct rama_core_gluster_object is;
	} found[PLACES];
	bool server_found;
} us;

/* ---- operations that were not answered yet --------------------------------------------------- */

#define POOL 4096

struct held {
	uintptr_t frame, ret, cookie;
	struct rama_cap_request is; /* event.start: ticks; event.call: the id it has for what is
				     * done for it in that lane; 0: none */
	uint32_t lane;
	uint32_t next; /* of those that are free: its number + 1 */
} __attribute__((aligned(64)));
static struct held pool[POOL];
static _Atomic uint32_t pool_used;
static _Atomic uint64_t pool_free; /* number + 1 of the first; a count above, so that it differs */

static __attribute__((noinline, cold)) struct held *take_fresh(void)
{
	uint32_t n;

	if (atomic_load(&pool_used) >= POOL)
		return NULL;
	n = atomic_fetch_add(&pool_used, 1);
	return n < POOL ? &pool[n] : NULL;
}

static ROW struct held *take(void)
{
	uint64_t is = atomic_load_explicit(&pool_free, memory_order_acquire);

	while (RAMA_CAP_LIKELY((uint32_t)is != 0)) {
		struct held *o = &pool[(uint32_t)is - 1];
		uint64_t next =
			((is >> 32) + 1) << 32 | __atomic_load_n(&o->next, __ATOMIC_RELAXED);

		if (RAMA_CAP_LIKELY(atomic_compare_exchange_weak(&pool_free, &is, next)))
			return o;
	}
	return take_fresh();
}

static ROW void give_back(struct held *o)
{
	uint64_t is = atomic_load_explicit(&pool_free, memory_order_relaxed), next;

	do {
		__atomic_store_n(&o->next, (uint32_t)is, __ATOMIC_RELAXED);
		next = ((is >> 32) + 1) << 32 | (uint32_t)(o - pool + 1);
	} while (!atomic_compare_exchange_weak(&pool_free, &is, next));
}

/* ---- names: asked for with each request ------------------------------------------------------ */

/* Names of its texts, which are few, by where they lie: several threads may be here, and what is
 * torn is found to be of another one, and asked again. */
static struct rama_cap_gluster_known names[RAMA_CAP_GLUSTER_NAMES], clients[RAMA_CAP_GLUSTER_NAMES];

static ROW uint32_t name_of(struct rama_cap_thread *t, uintptr_t self)
{
	uintptr_t text = word(self, NAME);
	struct rama_cap_gluster_known *k = rama_cap_gluster_known_at(names, self);
	uint32_t name = __atomic_load_n(&k->name, __ATOMIC_ACQUIRE);

	if (RAMA_CAP_LIKELY(rama_cap_gluster_knows(k, self, text)))
		return name;
	return rama_cap_gluster_name(t, k, self, (const char *)text);
}

static ROW uint32_t client_of(struct rama_cap_thread *t, uintptr_t stack)
{
	uintptr_t client = word(stack, STACK_CLIENT), text;
	struct rama_cap_gluster_known *k = rama_cap_gluster_known_at(clients, client);
	uint32_t name = __atomic_load_n(&k->name, __ATOMIC_ACQUIRE);

	if (client == 0)
		return 0;
	text = us.at.client_is == RAMA_CORE_GLUSTER_TEXT ? client + us.at.client
							 : word(client, us.at.client);
	if (RAMA_CAP_LIKELY(rama_cap_gluster_knows(k, client, text)))
		return name;
	return rama_cap_gluster_client(t, k, client, (const char *)text);
}

/* ---- begin ----------------------------------------------------------------------------------- */

/* "GlusterFS 10.3 brick", and why it is not observed; NULL: it is */
static void say(const char *why)
{
	char text[64];
	struct rama_config_text t;

	rama_config_text_init(&t, text, sizeof(text));
	rama_config_text_str(&t, "GlusterFS ");
	rama_config_text_str(&t, us.version);
	rama_config_text_str(&t, us.server ? " brick" : " client");
	if (why)
		rama_config_text_str(&t, ": not observed: ");
	rama_cap_hooks_say(text, why ? why : "");
}

static __attribute__((noinline, cold)) void refuse(const char *why)
{
	rama_cap_hooks_armed = rama_cap_hooks_serving = false;
	if (atomic_exchange(&us.on, false))
		say(why);
}

/* 1: they are as they should be; 2: they are not */
static _Atomic unsigned ids;

/* The first is read with care: if it does not look as it should none is. */
static __attribute__((noinline, cold)) void look_at_id(uintptr_t fd)
{
	unsigned char id[16];
	uintptr_t inode;

	if (!rama_cap_hooks_read(&inode, fd + FILE_INODE, sizeof(inode)))
		ids = 2;
	else if (inode)
		ids = rama_cap_hooks_read(id, inode + INODE_ID, sizeof(id)) &&
				      rama_core_gluster_is_id(id)
			      ? 1
			      : 2;
}

/* 0: not known */
static ROW uint64_t object_of(uintptr_t fd)
{
	unsigned is = atomic_load_explicit(&ids, memory_order_relaxed);
	uintptr_t inode;
	uint64_t half[2];

	if (RAMA_CAP_UNLIKELY(is != 1)) {
		if (is == 0 && fd)
			look_at_id(fd);
		if (ids != 1)
			return 0;
	}
	inode = fd ? word(fd, FILE_INODE) : 0;
	if (RAMA_CAP_UNLIKELY(!inode))
		return 0;
	memcpy(half, (const void *)(inode + INODE_ID), sizeof(half));
	return half[0] ^ half[1] * 0x9e3779b97f4a7c15u;
}

static bool is_ours(uintptr_t ret);

/* Does the frame look as it should? Each one is asked: it costs four loads. */
static ROW bool looks_right(const uintptr_t *a)
{
	uintptr_t stack = word(a[0], FRAME_STACK), parent = word(a[0], FRAME_PARENT);

	if (word(a[0], us.at.self) != a[1] || !stack || !parent)
		return false;
	return word(parent, FRAME_STACK) == stack && word(a[0], us.at.ret) != 0;
}

/* The first frame of a place is read byte by byte with care, and those above it: a version that
 * lies about itself is found out before anything of it is believed. */
static __attribute__((noinline, cold)) bool prove(unsigned place, uintptr_t frame, uintptr_t self)
{
	bool right = rama_core_gluster_frame(&us.at, rama_cap_hooks_read, frame, self);

	if (right)
		us.proven[place] = true;
	else
		refuse("a frame does not look as it should");
	return right;
}

static ROW bool wanted(const uintptr_t *a, unsigned place, uint8_t layer)
{
	if (RAMA_CAP_UNLIKELY(!atomic_load_explicit(&us.on, memory_order_relaxed)) ||
	    RAMA_CAP_UNLIKELY(*rama_cap_live == 1))
		return false; /* else there is a control word: it was awake when this was set */
	/* at a server requests may only be counted */
	if (!rama_cap_eventful(layer) &&
	    (layer != RAMA_SEG_LAYER_SERVER || !rama_cap_requests_count()))
		return false;
	if (RAMA_CAP_UNLIKELY(!us.proven[place]) && !prove(place, a[0], a[1]))
		return false;
	if (RAMA_CAP_UNLIKELY(!looks_right(a))) {
		refuse("a frame does not look as it should");
		return false;
	}
	return true;
}

/* The frame's answer will come to us; NULL: it will not. */
static ROW struct held *begin(const uintptr_t *a, uint8_t layer, unsigned op, uintptr_t answer)
{
	uintptr_t ret = word(a[0], us.at.ret), stack = word(a[0], FRAME_STACK);
	int32_t tid;
	uint32_t user;
	struct held *o;

	if (is_ours(ret) ||
	    (RAMA_CAP_UNLIKELY(rama_cap_thread.live != *rama_cap_live) && !rama_cap_wake()))
		return NULL;
	o = take();
	if (RAMA_CAP_UNLIKELY(!o)) {
		rama_cap_hooks_unseen();
		return NULL;
	}
	memcpy(&tid, (const void *)(stack + STACK_THREAD), sizeof(tid));
	memcpy(&user, (const void *)(stack + STACK_USER), sizeof(user));
	o->frame = a[0];
	o->ret = ret;
	o->cookie = word(a[0], us.at.cookie);
	o->is.event.start = rama_cap_ticks();
	o->is.event.off = row[op].off >= 0 ? (int64_t)a[row[op].off] : -1;
	o->is.event.layer = layer;
	o->is.event.kind = row[op].kind;
	o->is.event.fn = row[op].fn;
	o->is.event.call = 0;
	o->is.link.tid = tid > 0 ? (uint32_t)tid : 0;
	o->is.link.unique = word(stack, STACK_UNIQUE);
	o->is.link.object = row[op].fd >= 0 ? object_of(a[row[op].fd]) : 0;
	o->is.link.mark = 0;
	/* its translators are root when they do something of their own for a user */
	o->is.link.user = user != 0 ? user + 1 : 0;
	put_word(a[0], us.at.cookie, (uintptr_t)o);
	put_word(a[0], us.at.ret, answer);
	return o;
}

/* ---- end ------------------------------------------------------------------------------------- */

static ROW void tell(struct held *o, unsigned n, int32_t result, uint64_t until)
{
	struct rama_cap_thread *t = &rama_cap_thread;
	struct rama_seg_event *e = &o->is.event;
	bool moves = row[n].kind == RAMA_TAB_OP_READ || row[n].kind == RAMA_TAB_OP_WRITE;

	if (RAMA_CAP_UNLIKELY(e->start < rama_cap_run.tick0))
		return; /* begun in a history that has ended */
	e->length = until - e->start;
	e->start -= rama_cap_run.tick0;
	e->bytes = moves && result > 0 ? result : 0;
	if (e->layer == RAMA_SEG_LAYER_SERVER && RAMA_CAP_UNLIKELY(rama_cap_requests_count()))
		rama_cap_hooks_count(e->length);
	if (!rama_cap_eventful(e->layer) ||
	    (RAMA_CAP_UNLIKELY(t->live != *rama_cap_live) && !rama_cap_wake()))
		return; /* not wanted, or not any more */
	if (RAMA_CAP_UNLIKELY(t->busy) && !rama_cap_was_left(t, rama_cap_frame())) {
		rama_cap_missed(t);
		return;
	}
	rama_cap_busy(t, rama_cap_frame());
	e->name = name_of(t, word(o->frame, us.at.self));
	o->is.link.peer = e->layer == RAMA_SEG_LAYER_CLIENT
				  ? e->name
				  : client_of(t, word(o->frame, FRAME_STACK));
	if (e->call && o->lane != t->lane_number)
		e->call = 0;
	rama_cap_request_put(t, &o->is, result >= 0);
	rama_cap_free(t);
}

/* what the frame had before */
struct had {
	uintptr_t ret, cookie;
};

static ROW struct had finish(unsigned op, uintptr_t cookie, uintptr_t result)
{
	struct held *o = (struct held *)cookie;
	uint64_t until = rama_cap_ticks();
	struct had had = { o->ret, o->cookie };

	put_word(o->frame, us.at.cookie, had.cookie);
	put_word(o->frame, us.at.ret, had.ret);
	if (RAMA_CAP_LIKELY(*rama_cap_live != 1) &&
	    RAMA_CAP_LIKELY(atomic_load_explicit(&us.on, memory_order_relaxed)))
		tell(o, op, (int32_t)result, until);
	give_back(o);
	return had;
}

/* ---- the functions --------------------------------------------------------------------------- */

#define P4 uintptr_t a0, uintptr_t a1, uintptr_t a2, uintptr_t a3
#define P5 P4, uintptr_t a4
#define P6 P5, uintptr_t a5
#define P7 P6, uintptr_t a6
#define P8 P7, uintptr_t a7
#define P9 P8, uintptr_t a8
#define P10 P9, uintptr_t a9
#define P11 P10, uintptr_t a10
#define V4 a0, a1, a2, a3
#define V5 V4, a4
#define V6 V5, a5
#define V7 V6, a6
#define V8 V7, a7
#define V9 V8, a8
#define FROM2_6 a2, a3, a4, a5
#define FROM2_7 FROM2_6, a6
#define FROM2_8 FROM2_7, a7
#define FROM2_10 FROM2_8, a8, a9
#define FROM2_11 FROM2_10, a10
#define REAL(n, f) ((int32_t(*)(P##n))(f))

#define GLUSTER_OP(symbol, name, kind, op, at, arguments, answer, ...)    \
	static int32_t answer_##op(P##answer)                             \
	{                                                                 \
		struct had o = finish(RAMA_CORE_GLUSTER_##op, a1, a3);    \
                                                                          \
		return REAL(answer, o.ret)(a0, o.cookie, FROM2_##answer); \
	}
#include "table/hooks.def"

static any *const answers[OPS] = {
#define GLUSTER_OP(symbol, name, kind, op, ...) (any *)answer_##op,
#include "table/hooks.def"
};

/* Most are far away: the first and the last of ours tell so. */
static struct {
	uintptr_t first, last;
} ours_are;

static void find_answers(void)
{
	uintptr_t first = (uintptr_t)answers[0], last = first;

	for (unsigned i = 1; i < OPS; i++) {
		first = (uintptr_t)answers[i] < first ? (uintptr_t)answers[i] : first;
		last = (uintptr_t)answers[i] > last ? (uintptr_t)answers[i] : last;
	}
	ours_are.first = first;
	ours_are.last = last;
}

static bool is_ours(uintptr_t ret)
{
	if (RAMA_CAP_LIKELY(ret - ours_are.first > ours_are.last - ours_are.first))
		return false;
	for (unsigned i = 0; i < OPS; i++)
		if ((uintptr_t)answers[i] == ret)
			return true;
	return false;
}

/* to one server */
static ROW struct held *at_client(const uintptr_t *a, unsigned op)
{
	return wanted(a, PLACE_CLIENT, RAMA_SEG_LAYER_CLIENT)
		       ? begin(a, RAMA_SEG_LAYER_CLIENT, op, (uintptr_t)answers[op])
		       : NULL;
}

/* the first below the one that requests come to: its frame's parent has none itself */
static ROW void at_top(const uintptr_t *a, unsigned op)
{
	uint8_t layer = us.server ? RAMA_SEG_LAYER_SERVER : RAMA_SEG_LAYER_FUSE;
	uint64_t tid, fuse;
	int32_t of;
	struct held *o;

	if (!wanted(a, PLACE_TOP, layer) || word(word(a[0], FRAME_PARENT), FRAME_PARENT) != 0)
		return;
	if (us.server) {
		void *d = (void *)a[row[op].arguments - 1];

		o = begin(a, layer, op, (uintptr_t)answers[op]);
		if (o && us.marks && d)
			o->is.link.mark = rama_cap_gluster_mark(d);
		return;
	}
	fuse = rama_cap_fuse_current(&tid);
	memcpy(&of, (const void *)(word(a[0], FRAME_STACK) + STACK_THREAD), sizeof(of));
	if (fuse && (uint32_t)of == (uint32_t)tid)
		rama_cap_fuse_became(fuse, word(word(a[0], FRAME_STACK), STACK_UNIQUE));
}

/* What is done from here on in this thread is part of the request: the frames above it are walked
 * up to the one that is ours. */
static ROW bool at_disk(const uintptr_t *a, struct rama_cap_nest *n)
{
	uintptr_t f = a[0];
	struct held *o;

	if (!us.server || !rama_cap_run.control || !rama_cap_eventful(RAMA_SEG_LAYER_SERVER) ||
	    !wanted(a, PLACE_DISK, RAMA_SEG_LAYER_SERVER))
		return false;
	for (unsigned i = 0; i < 64 && f && !is_ours(word(f, us.at.ret)); i++)
		f = word(f, FRAME_PARENT);
	if (!f || !is_ours(word(f, us.at.ret)))
		return false;
	o = (struct held *)word(f, us.at.cookie);
	if (o < pool || o >= pool + POOL || o->frame != f ||
	    (rama_cap_thread.live != *rama_cap_live && !rama_cap_wake()))
		return false;
	rama_cap_nest_begin(n, 0);
	if (!o->is.event.call) {
		o->lane = rama_cap_thread.lane_number;
		o->is.event.call = n->id;
	}
	return true;
}

#define GLUSTER_OP(symbol, name, kind, op, at, arguments, ...)                                    \
	/* what a create has in its dictionary becomes attributes of the file */                  \
	static __attribute__((noinline)) int32_t marked_##op(P##arguments)                        \
	{                                                                                         \
		uintptr_t a[] = { V##arguments };                                                 \
		struct held *o = at_client(a, RAMA_CORE_GLUSTER_##op);                            \
		void *d = o && row[RAMA_CORE_GLUSTER_##op].fd >= 0                                \
				  ? rama_cap_gluster_marked((void *)a[arguments - 1],             \
							    &o->is.link.mark)                     \
				  : NULL;                                                         \
		int32_t r;                                                                        \
                                                                                                  \
		a[arguments - 1] = d ? (uintptr_t)d : a[arguments - 1];                           \
		r = REAL(arguments, us.real[PLACE_CLIENT][RAMA_CORE_GLUSTER_##op])(A##arguments); \
		if (d)                                                                            \
			rama_cap_gluster_let_go(d);                                               \
		return r;                                                                         \
	}                                                                                         \
	static int32_t client_##op(P##arguments)                                                  \
	{                                                                                         \
		if (RAMA_CAP_UNLIKELY(us.marks))                                                  \
			return marked_##op(V##arguments);                                         \
		at_client((uintptr_t[]){ V##arguments }, RAMA_CORE_GLUSTER_##op);                 \
		return REAL(arguments,                                                            \
			    us.real[PLACE_CLIENT][RAMA_CORE_GLUSTER_##op])(V##arguments);         \
	}                                                                                         \
	static int32_t top_##op(P##arguments)                                                     \
	{                                                                                         \
		at_top((uintptr_t[]){ V##arguments }, RAMA_CORE_GLUSTER_##op);                    \
		return REAL(arguments, us.real[PLACE_TOP][RAMA_CORE_GLUSTER_##op])(V##arguments); \
	}                                                                                         \
	static int32_t disk_##op(P##arguments)                                                    \
	{                                                                                         \
		struct rama_cap_nest n;                                                           \
		bool in = at_disk((uintptr_t[]){ V##arguments }, &n);                             \
		int32_t r = REAL(arguments,                                                       \
				 us.real[PLACE_DISK][RAMA_CORE_GLUSTER_##op])(V##arguments);      \
                                                                                                  \
		if (in)                                                                           \
			rama_cap_nest_end(&n);                                                    \
		return r;                                                                         \
	}
#define A4 a[0], a[1], a[2], a[3]
#define A5 A4, a[4]
#define A6 A5, a[5]
#define A7 A6, a[6]
#define A8 A7, a[7]
#define A9 A8, a[8]
#include "table/hooks.def"

static any *const ours[PLACES][OPS] = {
	[PLACE_CLIENT] = {
#define GLUSTER_OP(symbol, name, kind, op, ...) (any *)client_##op,
#include "table/hooks.def"
	},
	[PLACE_TOP] = {
#define GLUSTER_OP(symbol, name, kind, op, ...) (any *)top_##op,
#include "table/hooks.def"
	},
	[PLACE_DISK] = {
#define GLUSTER_OP(symbol, name, kind, op, ...) (any *)disk_##op,
#include "table/hooks.def"
	},
};

/* ---- finding and replacing ------------------------------------------------------------------- */

static bool ends_in(const char *path, const char *end)
{
	size_t n = strlen(path), m = strlen(end);

	return n >= m && strcmp(path + n - m, end) == 0;
}

void rama_cap_gluster_see(const struct dl_phdr_info *info)
{
	unsigned p = 0;

	if (ends_in(info->dlpi_name, "/xlator/protocol/server.so"))
		us.server_found = true;
	while (p < PLACES && !ends_in(info->dlpi_name, place_path[p]))
		p++;
	if (p == PLACES || strlen(info->dlpi_name) >= sizeof(us.found[p].path))
		return;
	memcpy(us.found[p].path, info->dlpi_name, strlen(info->dlpi_name) + 1);
	us.found[p].is.text = us.found[p].is.data = 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + h->p_vaddr, to = from + h->p_memsz;

		if (h->p_type == PT_LOAD && h->p_flags & PF_X) {
			us.found[p].is.text = from;
			us.found[p].is.text_to = to;
		} else if (h->p_type == PT_LOAD && h->p_flags & PF_W) {
			us.found[p].is.data =
				us.found[p].is.data > from ? us.found[p].is.data : from;
			us.found[p].is.data_to = to;
		} else if (h->p_type == PT_GNU_RELRO) {
			us.found[p].is.data = to; /* what is before it may not be written */
		}
	}
}

/* Nothing is changed unless all of it looks right. */
static bool arm(unsigned p)
{
	void *h = dlopen(us.found[p].path, RTLD_LAZY | RTLD_NOLOAD);
	uintptr_t api = h ? (uintptr_t)dlsym(h, "xlator_api") : 0, own[OPS], table;

	if (h)
		dlclose(h);
	for (unsigned i = 0; i < OPS; i++)
		own[i] = (uintptr_t)ours[p][i];
	table = api ? rama_core_gluster_table(us.is, rama_cap_hooks_read, api, &us.found[p].is, own)
		    : 0;
	if (!table)
		return false;
	for (unsigned i = 0; i < OPS; i++) {
		uintptr_t *at = (uintptr_t *)(table + rama_core_gluster_at(i));

		if (*at == own[i])
			continue;
		us.real[p][i] = (any *)*at;
		us.slot[p][i] = at;
		__atomic_store_n(at, own[i], __ATOMIC_RELEASE);
	}
	return true;
}

static const char *arm_all(void)
{
	const struct rama_core_gluster_layout *is;

	for (unsigned p = 0; p < PLACES; p++) {
		if (!us.found[p].path[0])
			continue;
		is = rama_core_gluster_layout_of(us.found[p].path, us.version);
		if (!is)
			return "this version is not known";
		us.is = is; /* for good: answers may be on their way */
		us.at = *is;
		if (!arm(p))
			return "its tables do not look as they should";
	}
	return NULL;
}

static int put_back(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + h->p_vaddr, to = from + h->p_memsz;

		/* tables of libraries that are gone are nobody's */
		for (unsigned k = 0; k < PLACES * OPS && h->p_type == PT_LOAD; k++) {
			unsigned p = k / OPS, op = k % OPS;
			uintptr_t *at = us.slot[p][op];

			if ((uintptr_t)at < from || (uintptr_t)at >= to ||
			    *at != (uintptr_t)ours[p][op])
				continue;
			__atomic_store_n(at, (uintptr_t)us.real[p][op], __ATOMIC_RELEASE);
			us.slot[p][op] = NULL;
		}
	}
	return 0;
}

void rama_cap_gluster_arm(void)
{
	const char *why;

	us.server = us.server_found;
	if (us.server)
		rama_cap_hooks_serves();
	if (!us.found[PLACE_CLIENT].path[0] && !us.server)
		return;
	us.marks = rama_cap_gluster_marks();
	find_answers();
	why = arm_all();
	if (why)
		dl_iterate_phdr(put_back, NULL); /* all of it or nothing */
	atomic_store(&us.on, why == NULL);
	if (!rama_cap_hooks_armed) /* what was known of descriptors when it last was may be wrong */
		memset(rama_cap_hooks_past, 0, sizeof(rama_cap_hooks_past));
	rama_cap_hooks_armed = why == NULL;
	rama_cap_hooks_serving = why == NULL && us.server;
	say(why);
}

void rama_cap_gluster_disarm(void)
{
	rama_cap_hooks_armed = rama_cap_hooks_serving = false;
	dl_iterate_phdr(put_back, NULL);
	for (unsigned p = 0; p < PLACES; p++)
		us.found[p].path[0] = '\0';
	us.server_found = false;
}
#endif
