/* SPDX-License-Identifier: BSD-3-Clause */
/* sites.c: which place in the program a read or write comes from. The outermost call that we
 * observe (H5Dwrite, or write itself) returns to somewhere: mostly that is the place. Where it is
 * a library that passes on what others ask for (table/plumbing.def), the stack is walked up to
 * who asked, once; then two things tell that it is the same again: where the stack stands, and
 * what return address stands in that frame.
 *
 * A name stands for each place: the program or library, its build id, and where in it; behind
 * it, who called that when it was met first (base/code/site.h). */
#include "capture/sites.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include "base/code/site.h"
#include "base/code/unwind.h"
#include "capture/slot.h"
#include "core/recordid.h"

#if defined(__x86_64__) && !defined(RAMA_STATIC_WRAP)

enum {
	SETS = 256, /* of places that were met, by return address */
	WAYS = 8,
	NAMES_MOST = 1024, /* places that have names */
	PLACED = 2 * NAMES_MOST,
	WALKS_MOST = 2000, /* stacks that are walked: then it is enough */
	FRAMES_MOST = 64,  /* of a stack that are walked */
	CALLERS_MOST = 6,  /* that a name tells of */
	ROWS_MOST = 64,	   /* places of one file and direction */
	NEAR = 65536	   /* bytes of stack from a wrapper to here: there are never as many */
};

/* a place that was met */
struct met {
	uintptr_t ret; /* 0: none */
	/* of a library: where the stack stood, how far above that the user's return address
	 * stands, and what it is; 0: all calls that return there are of one place */
	uintptr_t cfa, user;
	int32_t delta;
	uint32_t name;
	uint64_t turn;
	uint64_t python; /* of a line of Python: what tells it from others; 0: it is none */
};

/* places that have names: hash of the first frame */
struct placed {
	uint64_t id;
	uint32_t name; /* 0: none is here */
};

static struct placed *placed;	/* PLACED of them */
static struct met (*met)[WAYS]; /* SETS of them */
static uint8_t next_way[SETS];
static uint32_t generation, n_names, n_walks;

/* ---- places that were met -------------------------------------------------------------------- */

static unsigned set_of(uintptr_t ret, uint64_t python)
{
	return (unsigned)(((ret ^ python) * 0x9e3779b97f4a7c15ull) >> 56);
}

/* Our own stack is there; what lies above this page of it may be another's by now. */
static bool stands(uintptr_t at, uintptr_t value)
{
	uintptr_t here = rama_cap_frame();
	uint64_t is = 0;

	if (at > here && (at | (RAMA_SEG_PAGE - 1)) == (here | (RAMA_SEG_PAGE - 1)))
		return *(const uintptr_t *)at == value;
	return rama_cap_module_read(NULL, at, &is, sizeof(is)) && is == value;
}

static const struct met *find_met(uintptr_t ret, uintptr_t cfa, uint64_t python)
{
	const struct met *m = met[set_of(ret, python)];

	for (unsigned i = 0; i < WAYS; i++)
		if (m[i].ret == ret && m[i].turn == rama_cap_run.site_turn &&
		    m[i].python == python &&
		    (m[i].cfa == 0 || (m[i].cfa == cfa &&
				       stands((uintptr_t)((intptr_t)cfa + m[i].delta), m[i].user))))
			return &m[i];
	return NULL;
}

static void keep(const struct met *m)
{
	unsigned s = set_of(m->ret, m->python), way = next_way[s]++ % WAYS;

	met[s][way] = *m;
}

/* Names are of a segment: a forked child begins anew. */
static bool begin_met(void)
{
	if (met && generation == rama_cap_run.generation)
		return true;
	if (met) { /* of a process that we were forked from */
		rama_cap_sys3(SYS_madvise, met, SETS * sizeof(*met), MADV_DONTNEED);
		rama_cap_sys3(SYS_madvise, placed, PLACED * sizeof(*placed), MADV_DONTNEED);
	}
	if (!placed)
		placed = rama_cap_memory_own(PLACED * sizeof(*placed));
	if (!met && placed)
		met = rama_cap_memory_own(SETS * sizeof(*met));
	if (!met)
		return false;
	n_names = n_walks = 0;
	rama_cap_modules_forget();
	generation = rama_cap_run.generation;
	return true;
}

/* ---- walking --------------------------------------------------------------------------------- */

struct walk {
	uintptr_t ret, cfa;
	const struct rama_cap_module *in; /* where `ret` is; NULL: nowhere that is known */
	bool walked;
	bool nested; /* the call is not the one that is being recorded, but around it */
	bool python; /* it came to Python, whose lines follow what is in `frame` */
	struct met met;
	unsigned n; /* frames: the place, and who called it */
	struct {
		const struct rama_cap_module *in;
		uintptr_t at;
	} frame[1 + CALLERS_MOST];
};

static void add_frame(struct walk *k, const struct rama_cap_module *m, uintptr_t pc)
{
	k->frame[k->n].in = m;
	k->frame[k->n++].at = pc;
}

/* a frame above the call; true: go on */
static bool see_frame(struct walk *k, uintptr_t pc, uintptr_t slot)
{
	const struct rama_cap_module *m = rama_cap_module_of(pc);

	if (!m)
		return false;
	if (m->python) {
		k->python = true;
		return false;
	}
	if (k->n == 0 && m->plumbing)
		return true;
	if (k->n == 0 && k->met.cfa) {
		k->met.user = pc;
		k->met.delta = (int32_t)(slot - k->cfa);
	}
	if (!m->plumbing)
		add_frame(k, m, pc);
	return k->n < 1 + CALLERS_MOST;
}

static __attribute__((noinline)) void walk(struct walk *k)
{
	struct rama_unwind u = { .read = rama_cap_module_read, .exact = true };
	bool there = false, more = true;

	/* where this function is, and what it has to give back */
	__asm__ volatile("leaq 1f(%%rip), %%rax\n1:\tmovq %%rax, 128(%0)\n\t"
			 "movq %%rbx, 24(%0)\n\tmovq %%rbp, 48(%0)\n\tmovq %%rsp, 56(%0)\n\t"
			 "movq %%r12, 96(%0)\n\tmovq %%r13, 104(%0)\n\t"
			 "movq %%r14, 112(%0)\n\tmovq %%r15, 120(%0)"
			 :
			 : "r"(u.reg)
			 : "rax", "memory");
	u.known = 1u << 3 | 1u << RAMA_UNWIND_RBP | 1u << RAMA_UNWIND_RSP | 0xfu << 12 |
		  1u << RAMA_UNWIND_PC;
	for (unsigned i = 0; i < FRAMES_MOST && more; i++) {
		const struct rama_cap_module *m = rama_cap_module_of(u.reg[RAMA_UNWIND_PC]);

		if (!m || m->tables == 0 || !rama_unwind_up(&u, m->tables))
			return;
		there = there || u.reg[RAMA_UNWIND_RSP] == k->cfa;
		if (there)
			more = see_frame(k, u.reg[RAMA_UNWIND_PC], u.reg[RAMA_UNWIND_RSP] - 8);
		else
			more = u.reg[RAMA_UNWIND_RSP] < k->cfa;
	}
}

/* ---- their names ----------------------------------------------------------------------------- */

/* what a walk has found, as a text in the scratch memory; its length */
static size_t make_text(struct rama_cap_thread *t, struct walk *k)
{
	struct rama_site_pen p;
	const struct rama_cap_module *in = k->in;

	rama_site_begin(&p, t->scratch, RAMA_SITE_TEXT);
	for (unsigned i = 0; i < k->n; i++) {
		const struct rama_cap_module *m = k->frame[i].in;
		bool again = i > 0 && m == k->frame[i - 1].in;

		if (!rama_site_add(&p, again ? NULL : m->path, m->build, m->n_build,
				   k->frame[i].at - m->bias))
			break;
	}
	if (k->python) {
		rama_cap_python_put(&p, 1 + CALLERS_MOST - k->n);
		k->met.python = k->n == 0 ? rama_cap_python_key() : 0;
	}
	if (p.len == 0 && in && (k->walked || !in->plumbing))
		rama_site_add(&p, in->path, in->build, in->n_build, k->ret - in->bias);
	return p.len;
}

/* The caller has the lock. false: nothing is known of it. */
static bool look(struct walk *k)
{
	const struct rama_cap_module *m = rama_cap_module_of(k->ret);
	bool may_walk = n_walks < WALKS_MOST;

	k->met = (struct met){ .ret = k->ret, .turn = rama_cap_run.site_turn };
	k->in = m;
	if (!m)
		return false;
	k->python = m->python;
	if (m->plumbing && !m->python) {
		k->met.cfa = k->cfa;
		k->met.user = k->ret;
		k->met.delta = -8;
	}
	k->walked = may_walk;
	if (may_walk && !m->python && (m->plumbing || !k->nested)) {
		n_walks++;
		walk(k);
	}
	return true;
}

static struct rama_cap_site site_of(const struct met *m)
{
	return (struct rama_cap_site){
		.key = m->cfa || m->python ? RAMA_CAP_SITE_VARIES : m->ret | m->turn,
		.name = m->name,
	};
}

/* where the name of a place is remembered, whoever called it; the table is never full */
static struct placed *place_of(const char *text, size_t len)
{
	const char *end = memchr(text, ';', len);
	uint64_t id = rama_core_record_id(text, end ? (size_t)(end - text) : len);
	unsigned i = (unsigned)id % PLACED;

	while (placed[i].name != 0 && placed[i].id != id)
		i = (i + 1) % PLACED;
	placed[i].id = id;
	return &placed[i];
}

/* A place has one name, that of who called it first. The caller has the lock, which is let go
 * meanwhile. */
static bool give_name(struct rama_cap_thread *t, struct met *m, size_t len)
{
	struct rama_seg_name *n = NULL;
	struct placed *p = place_of(t->scratch, len);

	m->name = p->name;
	if (m->name != 0 || n_names >= NAMES_MOST)
		return true;
	rama_cap_unlock(t, &rama_cap_run.sites_lock);
	n = rama_cap_name(t, t->scratch, len, true);
	if (n != rama_cap_name_at(1)) /* the catch-all is for files */
		m->name = rama_cap_name_number(n);
	if (!rama_cap_lock(t, &rama_cap_run.sites_lock))
		return false;
	p = place_of(t->scratch, len);
	if (p->name == 0 && m->name != 0 && n_names < NAMES_MOST) {
		p->name = m->name;
		n_names++;
	}
	return true;
}

static struct rama_cap_site meet(struct rama_cap_thread *t, struct walk *k)
{
	size_t len = look(k) ? make_text(t, k) : 0;

	if (len > 0 && !give_name(t, &k->met, len))
		return site_of(&k->met);
	keep(&k->met);
	rama_cap_unlock(t, &rama_cap_run.sites_lock);
	return site_of(&k->met);
}

struct rama_cap_site rama_cap_site_now(struct rama_cap_thread *t)
{
	struct rama_cap_site s = { .key = RAMA_CAP_SITE_VARIES };
	struct walk k = { .nested = t->outer_ret && t->cfa < t->outer_cfa };
	const struct met *m = NULL;

	if (!k.nested) /* there is none, or it was left by a jump */
		t->outer_ret = 0;

	k.cfa = k.nested ? t->outer_cfa : t->cfa;
	k.ret = k.nested			  ? t->outer_ret
		: k.cfa - rama_cap_frame() < NEAR ? RAMA_CAP_RETURN(k.cfa)
						  : 0;
	t->cfa = 0;
	if (k.ret == 0 || !rama_cap_lock(t, &rama_cap_run.sites_lock))
		return s;
	if (begin_met()) {
		uint64_t python = rama_cap_python_key();

		m = python ? find_met(k.ret, k.cfa, python) : NULL;
		if (!m)
			m = find_met(k.ret, k.cfa, 0);
	}
	if (!m && met)
		return meet(t, &k);
	if (m)
		s = site_of(m);
	rama_cap_unlock(t, &rama_cap_run.sites_lock);
	return s;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* the row of a place, made if there is room; the record's slot is locked */
static struct rama_core_site_row *row_of(struct rama_cap_thread *t, struct rama_core_turn *turn,
					 uint32_t site, uint32_t name)
{
	uint32_t at = turn->rows;

	for (unsigned i = 0; at && i < ROWS_MOST; i++) {
		struct rama_core_site_row *r = rama_cap_slot_at(RAMA_SEG_KIND_SITES, at - 1);

		if (r->site == site)
			return r;
		at = r->next;
	}
	if (at) /* there are more than may be */
		return NULL;
	struct rama_core_site_row *r = rama_cap_slot_more(t, RAMA_SEG_KIND_SITES, name, &at);

	if (r) {
		r->site = site;
		r->next = turn->rows;
		turn->rows = at;
	}
	return r;
}

void rama_cap_site_turn(struct rama_cap_thread *t, struct rama_core_turn *turn,
			const union rama_core_word *w, unsigned layer, bool rd, uint32_t name,
			const struct rama_cap_site *s)
{
	struct rama_core_site_row *r;

	if (turn->site != s->name) {
		uint32_t before = turn->site;
		/* If we are killed before it is in a row it is nobody's, and counts once. */
		struct rama_core_moved m =
			rama_core_turn_end(turn, w, &rama_core_turn_words[layer][rd]);

		turn->site = s->name;
		if (m.ops > 0 && before && (r = row_of(t, turn, before, name))) {
			r->layer = (uint8_t)layer;
			r->turn = rd;
			rama_core_site_add(r, &m);
		}
	}
	turn->key = s->key;
}

/* Was there a filter of system calls before us? What cannot be known is taken for yes. */
static bool is_filtered(void)
{
	static const char key[] = "\nSeccomp:\t";
	char status[4096];
	const char *at = NULL;

	if (rama_cap_sys_slurp("/proc/self/status", status, sizeof(status)) > 0)
		at = strstr(status, key);
	return !at || at[sizeof(key) - 1] != '0';
}

void rama_cap_sites_choose(void)
{
	rama_cap_run.sites = rama_cap_run.settings->sites;
	if (!rama_cap_run.sites)
		rama_cap_run.site_turn = RAMA_CAP_SITE_ANY;
	rama_cap_run.filtered = rama_cap_run.sites && is_filtered();
}

/* ---- libraries go ---------------------------------------------------------------------------- */

/* What comes next may lie where the one lay that goes: all that was met has to be met again. */
RAMA_CAP_EXPORT int RAMA_CAP_SYM(dlclose)(void *handle)
{
	static int (*real)(void *);
	int r;

	if (!__atomic_load_n(&real, __ATOMIC_RELAXED) &&
	    !rama_cap_resolve((rama_cap_anyfn **)&real, "dlclose"))
		return -1;
	r = real(handle);
	if (rama_cap_run.sites)
		__atomic_fetch_add(&rama_cap_run.site_turn, 1ull << 48, __ATOMIC_RELAXED);
	return r;
}

#else /* nobody knows where a call came from */

struct rama_cap_site rama_cap_site_now(struct rama_cap_thread *t)
{
	t->cfa = 0;
	return (struct rama_cap_site){ .key = RAMA_CAP_SITE_VARIES };
}

void rama_cap_site_turn(struct rama_cap_thread *t, struct rama_core_turn *turn,
			const union rama_core_word *w, unsigned layer, bool rd, uint32_t name,
			const struct rama_cap_site *s)
{
	(void)t, (void)w, (void)layer, (void)rd, (void)name;
	turn->key = s->key;
}

void rama_cap_sites_choose(void)
{
	rama_cap_run.site_turn = RAMA_CAP_SITE_ANY;
}
#endif
