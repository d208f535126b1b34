/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5.c: finds the HDF5 that a call is for, and keeps what its identifiers stand for. */
#include "capture/hdf5.h"

#include <dlfcn.h>
#include <link.h>
#include <linux/limits.h>

/* ---- libraries ------------------------------------------------------------------------------- */

#define ANCHOR "H5get_libversion"
enum { LIBRARIES = 32, CALLERS = 8 };

static struct rama_cap_h5 libraries[LIBRARIES];
static uint32_t n_libraries;

/* which one the code at an address means, as long as no library comes or goes */
static RAMA_CAP_TLS struct {
	const void *caller;
	uint64_t loads;
	struct rama_cap_h5 *h;
} known[CALLERS];

static int count_loads(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(uint64_t *)arg = (uint64_t)info->dlpi_adds + info->dlpi_subs;
	return 1;
}

static const char *dynamic_address(const struct link_map *m, const ElfW(Dyn) * d)
{
	/* the loader adds the base to some of them only */
	ElfW(Addr) at = d->d_un.d_ptr >= m->l_addr ? d->d_un.d_ptr : d->d_un.d_ptr + m->l_addr;

	return (const char *)at;
}

/* The HDF5 that a program was linked with, where its symbols have versions: then this one is
 * meant and no other. NULL: they have none. */
static const char *needed(const struct link_map *m)
{
	const char *strings = NULL, *at = NULL;
	unsigned long n = 0;

	for (const ElfW(Dyn) *d = m->l_ld; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_STRTAB)
			strings = dynamic_address(m, d);
		else if (d->d_tag == DT_VERNEED)
			at = dynamic_address(m, d);
		else if (d->d_tag == DT_VERNEEDNUM)
			n = d->d_un.d_val;
	}
	for (; strings && at && n > 0; n--) {
		const ElfW(Verneed) *v = (const ElfW(Verneed) *)at;

		if (strncmp(strings + v->vn_file, "libhdf5", 7) == 0)
			return strings + v->vn_file;
		at += v->vn_next;
	}
	return NULL;
}

static void *in_library(const char *name, void **handle)
{
	*handle = name && name[0] ? dlopen(name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	return *handle ? dlsym(*handle, ANCHOR) : NULL;
}

/* What the loader would have chosen for this caller. *scope is ours to close unless it is
 * RTLD_NEXT. */
static void *choose(const void *caller, void **scope)
{
	struct link_map *m = NULL;
	Dl_info info;
	void *common = dlsym(RTLD_NEXT, ANCHOR), *own;

	if (!dladdr1(caller, &info, (void **)&m, RTLD_DL_LINKMAP))
		m = NULL;
	own = in_library(m ? needed(m) : NULL, scope);
	if (own && own != common)
		return own;
	if (*scope)
		dlclose(*scope);
	*scope = RTLD_NEXT;
	if (common)
		return common;
	own = in_library(m ? m->l_name : NULL, scope);
	if (!own && *scope)
		dlclose(*scope);
	return own;
}

static void learn(struct rama_cap_h5 *h)
{
	unsigned major = 1, minor = 10, release = 0;

	h->lacks =
		(rama_cap_h5_symbol(h, "H5Dflush") ? 0 : RAMA_CORE_H5D_NO_FLUSH) |
		(rama_cap_h5_symbol(h, "H5Sget_regular_hyperslab") ? 0 : RAMA_CORE_H5D_NO_SELECT);
	if (RAMA_CAP_H5(h, H5get_libversion)(&major, &minor, &release) >= 0)
		h->narrow = major == 1 && minor < 10;
	__atomic_store_n(&h->ready, true, __ATOMIC_RELEASE);
}

/* No lock: the call must go on whatever happens. Threads that meet a library at the same time
 * may enter it twice, and then all use the first. */
static struct rama_cap_h5 *library_of(void *anchor, void *scope)
{
	for (uint32_t i = 0; i < LIBRARIES; i++)
		if (__atomic_load_n(&libraries[i].ready, __ATOMIC_ACQUIRE) &&
		    libraries[i].anchor == anchor) {
			if (scope != RTLD_NEXT)
				dlclose(scope);
			return &libraries[i];
		}
	uint32_t n = __atomic_fetch_add(&n_libraries, 1, __ATOMIC_RELAXED);
	if (n >= LIBRARIES)
		return NULL;
	struct rama_cap_h5 *h = &libraries[n];
	h->anchor = anchor;
	h->scope = scope; /* stays open: its functions are called */
	h->number = n;
	learn(h);
	return h;
}

static struct rama_cap_h5 *look(const void *caller)
{
	void *scope = NULL, *anchor = choose(caller, &scope);

	if (anchor)
		return library_of(anchor, scope);
	/* called through a pointer by code that knows of no HDF5: the first that was used */
	return __atomic_load_n(&libraries[0].ready, __ATOMIC_ACQUIRE) ? &libraries[0] : NULL;
}

struct rama_cap_h5 *rama_cap_h5_of(const void *caller)
{
	unsigned at = (unsigned)((uintptr_t)caller / 4 % CALLERS);
	int saved = errno;
	uint64_t loads = 0;

	dl_iterate_phdr(count_loads, &loads);
	if (known[at].caller == caller && known[at].loads == loads)
		return known[at].h;
	known[at].h = look(caller);
	known[at].caller = caller;
	known[at].loads = loads;
	dlerror(); /* ours, not the application's */
	errno = saved;
	return known[at].h;
}

void *rama_cap_h5_symbol(const struct rama_cap_h5 *h, const char *name)
{
	int saved = errno;
	void *p = dlsym(h->scope, name);

	if (!p)
		dlerror();
	errno = saved;
	return p;
}

rama_cap_anyfn *rama_cap_h5_resolve(struct rama_cap_h5 *h, rama_cap_anyfn **slot, const char *name)
{
	rama_cap_anyfn *f = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

	if (f == RAMA_CAP_H5_MISSING)
		return NULL;
	*(void **)&f = rama_cap_h5_symbol(h, name);
	__atomic_store_n(slot, f ? f : RAMA_CAP_H5_MISSING, __ATOMIC_RELEASE);
	return f;
}

/* ---- open files and datasets ----------------------------------------------------------------- */

/* All under one lock: HDF5 itself lets one thread in at a time. */
enum { OPENS = 16384, NEAR = 64 }; /* an entry is at most so far from its place */
#define FREE_AGAIN ((rama_cap_hid)-1)

static struct rama_cap_h5_open opens[OPENS];
static uint32_t opens_lock;

/* A fork may have left the lock taken in the child, where nobody would give it back. */
static bool lock_opens(struct rama_cap_thread *t)
{
	static uint32_t generation;
	uint32_t was = __atomic_load_n(&generation, __ATOMIC_RELAXED);

	if (was != rama_cap_run.generation &&
	    __atomic_compare_exchange_n(&generation, &was, rama_cap_run.generation, false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
	    rama_cap_run.forked)
		__atomic_store_n(&opens_lock, 0, __ATOMIC_RELAXED);
	return rama_cap_lock(t, &opens_lock);
}

static unsigned place_of(uint32_t library, rama_cap_hid id)
{
	return (unsigned)(((uint64_t)id + library) * 0x9e3779b97f4a7c15u >> 50);
}
_Static_assert(OPENS == 1 << (64 - 50), "a place for every hash");

static struct rama_cap_h5_open *find(uint32_t library, rama_cap_hid id)
{
	unsigned at = place_of(library, id);

	for (unsigned i = 0; id > 0 && i < NEAR; i++) {
		struct rama_cap_h5_open *o = &opens[(at + i) % OPENS];

		if (o->id == id && o->library == library)
			return o;
		if (o->id == 0)
			return NULL;
	}
	return NULL;
}

/* Of a forked child: the name is in the segment of its parent, which is still mapped. */
static bool inherit(struct rama_cap_thread *t, struct rama_cap_h5_open *o)
{
	char *text = t->scratch + 2 * PATH_MAX;
	size_t len = rama_cap_name_old(o->generation, o->name, text, PATH_MAX);

	if (len == 0)
		return false;
	struct rama_seg_name *n = rama_cap_name(t, text, len, true);
	if (!n)
		return false;
	o->record = o->is_dataset ? rama_cap_slot_with(t, n, RAMA_SEG_KIND_H5D, (int64_t)o->file_id)
				  : rama_cap_slot_of(t, n, RAMA_SEG_KIND_H5F);
	o->name = rama_cap_name_number(n);
	o->generation = rama_cap_run.generation;
	return o->record != NULL;
}

bool rama_cap_h5_get(struct rama_cap_thread *t, const struct rama_cap_h5 *h, rama_cap_hid id,
		     struct rama_cap_h5_open *to)
{
	bool there = false;

	if (!lock_opens(t))
		return false;
	const struct rama_cap_h5_open *o = find(h->number, rama_cap_h5_hid(h, id));
	if (o) {
		*to = *o;
		there = true;
	}
	rama_cap_unlock(t, &opens_lock);
	if (!there || to->generation == rama_cap_run.generation)
		return there;
	rama_cap_run.h5d_lacks = h->lacks;
	if (!inherit(t, to))
		return false;
	rama_cap_h5_add(t, to);
	return true;
}

static struct rama_cap_h5_open *room_for(const struct rama_cap_h5_open *o)
{
	unsigned at = place_of(o->library, o->id);
	struct rama_cap_h5_open *to = NULL, *oldest = &opens[at];

	for (unsigned i = 0; i < NEAR; i++) {
		struct rama_cap_h5_open *e = &opens[(at + i) % OPENS];

		if (e->id == o->id && e->library == o->library) /* its close was not seen */
			return e;
		if (!to && (e->id == 0 || e->id == FREE_AGAIN))
			to = e;
		if (e->id == 0)
			break;
		if (e->id < oldest->id)
			oldest = e;
	}
	return to ? to : oldest; /* numbers are given in rising order */
}

void rama_cap_h5_add(struct rama_cap_thread *t, const struct rama_cap_h5_open *o)
{
	if (o->id <= 0 || !lock_opens(t))
		return;
	*room_for(o) = *o;
	rama_cap_unlock(t, &opens_lock);
}

void rama_cap_h5_forget(struct rama_cap_thread *t, const struct rama_cap_h5 *h, rama_cap_hid id)
{
	if (!lock_opens(t))
		return;
	struct rama_cap_h5_open *o = find(h->number, rama_cap_h5_hid(h, id));
	if (o) /* what ends a row of entries need not be remembered as having been used */
		o->id = opens[(unsigned)(o - opens + 1) % OPENS].id ? FREE_AGAIN : 0;
	rama_cap_unlock(t, &opens_lock);
}
