/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5.h: HDF5 without its header. The rows are in table/fn_hdf5.def.
 *
 *   hdf5.c       which HDF5 a call is for, and its functions; which record an identifier stands for
 *   ask_hdf5.c   what HDF5 knows of files, datasets and selections
 *   hand_hdf5.c  the wrappers
 *
 * A process may have several HDF5s, each with identifiers of its own: modules of Python bring
 * their own ones. */
#ifndef RAMA_CAPTURE_HDF5_H
#define RAMA_CAPTURE_HDF5_H

#include "capture/runtime.h"
#include "core/h5d.h"
#include "core/h5f.h"

#pragma GCC visibility push(hidden)

/* An identifier as it comes and goes in a register. Before HDF5 1.10 it is an int, and anything
 * may be in the upper half: it is passed on as it came, and rama_cap_h5_hid() makes it
 * comparable. */
typedef int64_t rama_cap_hid;
struct rama_cap_h5_token {
	uint8_t byte[16];
};
typedef int rama_cap_h5_auto(rama_cap_hid stack, void *data);

#define RAMA_CAP_ROWS_HDF5 "table/fn_hdf5.def"

enum { RAMA_CAP_H5_DIMS = 32 };	  /* the most an array can have */
enum { RAMA_CAP_H5_DATASET = 5 }; /* of H5Iget_type */

/* one HDF5 library */
struct rama_cap_h5 {
	void *scope;  /* where its functions are searched */
	void *anchor; /* a function of it that nobody replaces */
	uint32_t number;
	uint32_t lacks; /* RAMA_CORE_H5D_NO_... */
	bool narrow;	/* identifiers have 32 bits */
	bool ready;
	/* NULL: not searched yet; RAMA_CAP_H5_MISSING: it has no such function */
	struct {
#define FN_HAND(name, ret, rrole, opk, ...) ret (*name)(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__));
#define FN FN_HAND
#define NEED(name, ret, rrole, ...) ret (*name)(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__));
#include RAMA_CAP_ROWS_HDF5
#undef FN_HAND
#undef FN
#undef NEED
	} fn;
};

/* The HDF5 that the code at `caller` means; NULL: there is none. */
struct rama_cap_h5 *rama_cap_h5_of(const void *caller);
rama_cap_anyfn *rama_cap_h5_resolve(struct rama_cap_h5 *h, rama_cap_anyfn **slot, const char *name);
/* any symbol of the library */
void *rama_cap_h5_symbol(const struct rama_cap_h5 *h, const char *name);

/* a function of the library; NULL: it has none of that name */
#define RAMA_CAP_H5_MISSING ((rama_cap_anyfn *)1)
#define RAMA_CAP_H5(h, name)                                                                    \
	__extension__({                                                                         \
		__typeof__((h)->fn.name) f_ = __atomic_load_n(&(h)->fn.name, __ATOMIC_ACQUIRE); \
		(uintptr_t) f_ > 1 ? f_                                                         \
				   : (__typeof__(f_))rama_cap_h5_resolve(                       \
					     (h), (rama_cap_anyfn **)&(h)->fn.name, #name);     \
	})

static inline rama_cap_hid rama_cap_h5_hid(const struct rama_cap_h5 *h, rama_cap_hid id)
{
	return h->narrow ? (int32_t)id : id;
}

/* ---- open files and datasets ----------------------------------------------------------------- */

struct rama_cap_h5_open {
	rama_cap_hid id;     /* 0: never used; -1: free again */
	uint32_t library;    /* rama_cap_h5.number */
	uint32_t generation; /* segment that the record is in */
	uint32_t name;	     /* of the record, in that segment */
	uint8_t is_dataset;
	uint8_t fixed;	  /* the dataset cannot grow */
	void *record;	  /* struct rama_core_h5f_file or rama_core_h5d_file */
	uint64_t file_id; /* dataset: of the record of its file */
	int64_t npoints, type_size;
};

/* A copy of the entry; false: not observed. In a forked child the record is made anew. */
bool rama_cap_h5_get(struct rama_cap_thread *t, const struct rama_cap_h5 *h, rama_cap_hid id,
		     struct rama_cap_h5_open *to);
void rama_cap_h5_add(struct rama_cap_thread *t, const struct rama_cap_h5_open *o);
void rama_cap_h5_forget(struct rama_cap_thread *t, const struct rama_cap_h5 *h, rama_cap_hid id);

/* ---- ask_hdf5.c: calls into HDF5, never while our own code is busy --------------------------- */

bool rama_cap_h5_uses_mpiio(struct rama_cap_h5 *h, rama_cap_hid fapl);
/* shape of a dataset; `fixed`: it cannot grow. false: it cannot be told */
bool rama_cap_h5_shape(struct rama_cap_h5 *h, rama_cap_hid dset, struct rama_core_h5d_shape *s,
		       bool *fixed);
/* which part of a dataset an access is about. Returns the number of elements. */
int64_t rama_cap_h5_access(struct rama_cap_h5 *h, const struct rama_cap_h5_open *o,
			   const rama_cap_hid space[2], struct rama_core_h5d_access *a);
bool rama_cap_h5_collective(struct rama_cap_h5 *h, rama_cap_hid dxpl);

/* what HDF5 says of an object by its name; both are "" if it does not tell */
struct rama_cap_h5_place {
	char file[4096]; /* as it was opened */
	char object[2048];
};
void rama_cap_h5_ask_place(struct rama_cap_h5 *h, rama_cap_hid object, struct rama_cap_h5_place *p);

#pragma GCC visibility pop
#endif
