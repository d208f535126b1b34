/* SPDX-License-Identifier: BSD-3-Clause */
/* pnetcdf.c: what the ids of PnetCDF stand for, and what the library says of them. */
#include <dlfcn.h>
#include <link.h>

#include "capture/pnetcdf.h"

struct rama_cap_nc_real rama_cap_nc_real;

/* ---- functions ------------------------------------------------------------------------------- */

static int missing(void)
{
	return -36; /* NC_EINVAL */
}

struct nth_library {
	unsigned n; /* libraries to pass by */
	bool found;
	char path[4096];
};

/* dlopen must not be called in here: the caller holds locks of the loader */
static int see_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct nth_library *l = arg;
	size_t len = info->dlpi_name ? strlen(info->dlpi_name) : 0;

	(void)size;
	if (len == 0 || len >= sizeof(l->path) || l->n-- > 0)
		return 0;
	memcpy(l->path, info->dlpi_name, len + 1);
	l->found = true;
	return 1;
}

static bool is_ours(const void *p)
{
	Dl_info it, we;

	return dladdr(p, &it) && dladdr(&rama_cap_nc_real, &we) && it.dli_fbase == we.dli_fbase;
}

/* One that came with dlopen, as the modules of Python bring it, is not in sight of the ordinary
 * search, and may be a part of some other library. */
static void *search_libraries(const char *name)
{
	struct nth_library l;

	for (unsigned i = 0;; i++) {
		l.n = i;
		l.found = false;
		dl_iterate_phdr(see_library, &l);
		if (!l.found)
			return NULL;
		void *handle = dlopen(l.path, RTLD_LAZY | RTLD_NOLOAD);
		void *p = handle ? dlsym(handle, name) : NULL;

		if (p && !is_ours(p))
			return p; /* it stays loaded: we call it */
		if (handle)
			dlclose(handle);
	}
}

rama_cap_anyfn *rama_cap_nc_resolve(rama_cap_anyfn **slot, const char *name)
{
	int saved = errno;
	void *p = dlsym(RTLD_NEXT, name);
	rama_cap_anyfn *f = (rama_cap_anyfn *)missing;

	if (!p)
		p = search_libraries(name);
	if (p) {
		*(void **)&f = p;
		__atomic_store_n(slot, f, __ATOMIC_RELEASE);
	} else {
		dlerror(); /* not the application's */
	}
	errno = saved;
	return f;
}

/* ---- open files and their variables ---------------------------------------------------------- */

/* Looked up by every call without a lock; changed under one. Only a program that closes a file
 * while another thread uses it can see an entry change. */
enum { ENTRIES = 1 << 14, NEAR = 64 }; /* an entry is at most so far from its place */
#define FREE_AGAIN 1ull
#define THE_FILE (-1) /* in the place of a variable */

static struct rama_cap_nc_entry entries[ENTRIES];
static uint32_t entries_lock;

static uint64_t key_of(int ncid, int varid)
{
	return 1ull << 63 | (uint64_t)(uint32_t)ncid << 32 | ((uint32_t)varid + 1u);
}

static unsigned place_of(uint64_t key)
{
	return (unsigned)(key * 0x9e3779b97f4a7c15u >> 50);
}
_Static_assert(ENTRIES == 1 << (64 - 50), "a place for every hash");

static struct rama_cap_nc_entry *find(uint64_t key)
{
	unsigned at = place_of(key);

	for (unsigned i = 0; i < NEAR; i++) {
		struct rama_cap_nc_entry *e = &entries[(at + i) % ENTRIES];
		uint64_t is = __atomic_load_n(&e->key, __ATOMIC_ACQUIRE);

		if (is == key)
			return e->generation == rama_cap_run.generation ? e : NULL;
		if (is == 0)
			return NULL;
	}
	return NULL;
}

struct rama_cap_nc_entry *rama_cap_nc_file_get(int ncid)
{
	return ncid >= 0 ? find(key_of(ncid, THE_FILE)) : NULL;
}

struct rama_cap_nc_entry *rama_cap_nc_var_get(int ncid, int varid)
{
	return ncid >= 0 && varid >= 0 ? find(key_of(ncid, varid)) : NULL;
}

/* where it is, or else where it may be put; NULL: there is no room */
static struct rama_cap_nc_entry *room_for(uint64_t key)
{
	unsigned at = place_of(key);
	struct rama_cap_nc_entry *to = NULL;

	for (unsigned i = 0; i < NEAR; i++) {
		struct rama_cap_nc_entry *e = &entries[(at + i) % ENTRIES];

		if (e->key == key)
			return e;
		if (!to && e->key <= FREE_AGAIN)
			to = e;
		if (e->key == 0)
			break;
	}
	return to;
}

static void give_up(struct rama_cap_nc_entry *e)
{
	/* what ends a row of entries need not be remembered as having been used */
	struct rama_cap_nc_entry *next = &entries[(unsigned)(e - entries + 1) % ENTRIES];

	__atomic_store_n(&e->key, next->key ? FREE_AGAIN : 0, __ATOMIC_RELEASE);
}

/* the variables of a file, and it itself; those of a parent process have been given up by nobody */
static void give_up_file(struct rama_cap_nc_entry *file)
{
	uint32_t at = file->next;

	file->next = 0;
	while (at != 0) {
		struct rama_cap_nc_entry *e = &entries[at - 1];

		at = e->next;
		give_up(e);
	}
	give_up(file);
}

struct rama_cap_nc_entry *rama_cap_nc_file_add(struct rama_cap_thread *t, int ncid, void *record)
{
	uint64_t key = key_of(ncid, THE_FILE);

	if (ncid < 0 || !rama_cap_lock(t, &entries_lock))
		return NULL;
	struct rama_cap_nc_entry *e = room_for(key);
	if (e && e->key == key) { /* its close was not seen */
		give_up_file(e);
		e = room_for(key);
	}
	if (e) {
		e->record = record;
		e->generation = rama_cap_run.generation;
		e->next = 0;
		__atomic_store_n(&e->key, key, __ATOMIC_RELEASE);
	}
	rama_cap_unlock(t, &entries_lock);
	return e;
}

struct rama_cap_nc_entry *rama_cap_nc_var_add(struct rama_cap_thread *t, int ncid, int varid,
					      const struct rama_cap_nc_entry *var)
{
	uint64_t key = key_of(ncid, varid);
	struct rama_cap_nc_entry *e = NULL;

	if (ncid < 0 || varid < 0 || !rama_cap_lock(t, &entries_lock))
		return NULL;
	struct rama_cap_nc_entry *file = rama_cap_nc_file_get(ncid);
	if (file)
		e = room_for(key);
	if (e) {
		bool is_new = e->key != key;

		e->record = var->record;
		e->shape = var->shape;
		e->unlimited = var->unlimited;
		e->generation = rama_cap_run.generation;
		if (is_new) {
			e->next = file->next;
			file->next = (uint32_t)(e - entries) + 1;
		}
		__atomic_store_n(&e->key, key, __ATOMIC_RELEASE);
	}
	rama_cap_unlock(t, &entries_lock);
	return e;
}

void rama_cap_nc_file_forget(struct rama_cap_thread *t, int ncid)
{
	if (!rama_cap_lock(t, &entries_lock))
		return;
	struct rama_cap_nc_entry *file = rama_cap_nc_file_get(ncid);
	if (file)
		give_up_file(file);
	rama_cap_unlock(t, &entries_lock);
}

/* ---- what the library says ------------------------------------------------------------------- */

enum { DIMENSIONS = 1024 }; /* of variables that are observed */

#define ASK(name, ...) (RAMA_CAP_NC_REAL(name)(__VA_ARGS__) == 0)

/* bytes of a value in the file, by the number of its type */
static int64_t size_of_type(int type)
{
	static const uint8_t size[] = { 0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8 };

	return type > 0 && (unsigned)type < sizeof(size) ? size[type] : 0;
}

static int64_t times(int64_t a, int64_t b)
{
	int64_t r;

	return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}

bool rama_cap_nc_ask_shape(int ncid, int varid, struct rama_cap_nc_entry *var)
{
	int dims[DIMENSIONS], ndims = 0, type = 0;

	var->unlimited = -1;
	if (!ASK(ncmpi_inq_vartype, ncid, varid, &type) ||
	    !ASK(ncmpi_inq_varndims, ncid, varid, &ndims) || ndims < 0 || ndims > DIMENSIONS ||
	    (ndims > 0 && !ASK(ncmpi_inq_vardimid, ncid, varid, dims)) ||
	    !ASK(ncmpi_inq_unlimdim, ncid, &var->unlimited))
		return false;
	var->shape = (struct rama_core_pnetcdf_shape){ .ndims = ndims,
						       .npoints = 1,
						       .type_size = size_of_type(type) };
	for (int i = 0; i < ndims; i++) {
		int64_t len = 0;

		if (dims[i] == var->unlimited) {
			var->shape.is_record |= i == 0;
			continue;
		}
		if (!ASK(ncmpi_inq_dimlen, ncid, dims[i], &len))
			return false;
		var->shape.npoints = times(var->shape.npoints, len);
	}
	return true;
}

int64_t rama_cap_nc_ask_records(int ncid, int dim)
{
	int64_t n = 0;

	return dim >= 0 && ASK(ncmpi_inq_dimlen, ncid, dim, &n) ? n : 0;
}

bool rama_cap_nc_ask_name(int ncid, int varid, char name[RAMA_CAP_NC_NAME])
{
	name[0] = '\0';
	return ASK(ncmpi_inq_varname, ncid, varid, name);
}

void rama_cap_nc_ask_bytes(int ncid, int64_t *got, int64_t *put)
{
	if (!ASK(ncmpi_inq_get_size, ncid, got))
		*got = -1;
	if (!ASK(ncmpi_inq_put_size, ncid, put))
		*put = -1;
}
