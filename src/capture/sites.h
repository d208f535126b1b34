/* SPDX-License-Identifier: BSD-3-Clause */
/* sites.h: which place in the program a call comes from: sites.c, modules.c. */
#ifndef RAMA_CAPTURE_SITES_H
#define RAMA_CAPTURE_SITES_H

#include "capture/runtime.h"

#pragma GCC visibility push(hidden)

/* what a call of a slot's turn has in common with the next one */
struct rama_cap_site {
	uint64_t key;  /* RAMA_CAP_SITE_VARIES: it has to be looked at each time */
	uint32_t name; /* number of its name; 0: not known */
};
#define RAMA_CAP_SITE_VARIES 1
#define RAMA_CAP_SITE_ANY UINT64_MAX /* nobody asks for places */

/* of the call that is being recorded, whose wrapper has left rama_cap_thread.cfa; callers are
 * inside (busy), hold no lock, and lose what is in the scratch memory */
struct rama_cap_site rama_cap_site_now(struct rama_cap_thread *t);
/* Before a read (rd) or write is counted in this slot, which is locked: whose turn it is. layer: 0
 * POSIX, 1 STDIO; name: of the slot */
void rama_cap_site_turn(struct rama_cap_thread *t, struct rama_core_turn *turn,
			const union rama_core_word *w, unsigned layer, bool rd, uint32_t name,
			const struct rama_cap_site *s);
/* once the settings are read */
void rama_cap_sites_choose(void);
/* a slot that belongs to no name alone; NULL: there is no room. number: what finds it, plus 1 */
void *rama_cap_slot_more(struct rama_cap_thread *t, unsigned kind, uint32_t name, uint32_t *number);
void *rama_cap_slot_at(unsigned kind, uint32_t number);

/* ---- modules.c: programs and libraries in memory --------------------------------------------- */

#define RAMA_CAP_MODULE_PATH 512
#define RAMA_CAP_MODULE_BUILD 20

struct rama_cap_module {
	uintptr_t from, to; /* its memory; 0 0: it is gone */
	uintptr_t bias;	    /* from its own addresses to those in memory */
	uint64_t tables;    /* .eh_frame_hdr; 0: none */
	uint64_t build_at;  /* where its build id stands */
	uint64_t turn;	    /* when it was seen last */
	unsigned char build[RAMA_CAP_MODULE_BUILD];
	uint8_t n_build;  /* 0: it has none */
	uint64_t dynamic; /* where the loader's table of it is; 0: none */
	bool plumbing;
	bool python; /* an interpreter, of a version that is known or not */
	char path[RAMA_CAP_MODULE_PATH];
};

/* n bytes of our own memory, if they are there: never a fault */
bool rama_cap_module_read(void *ctx, uint64_t at, void *to, size_t n);
/* All that were met. Of a child that was forked: another thread may have been at it. */
void rama_cap_modules_forget(void);
/* the one that an address lies in; NULL: none that is known. Callers exclude each other. */
const struct rama_cap_module *rama_cap_module_of(uintptr_t at);

/* where a function or object that it shows to others is; 0: it has none of that name */
uint64_t rama_cap_module_symbol(const struct rama_cap_module *m, const char *name);

/* ---- python.c: lines of Python --------------------------------------------------------------- */

struct rama_site_pen;

/* Is this an interpreter? Of several the last one counts. */
bool rama_cap_python_met(const struct rama_cap_module *m);
void rama_cap_python_forget(void);
/* what tells the place in Python where this thread is from others; 0: there is no Python */
uint64_t rama_cap_python_key(void);
/* Adds that place, and who called it, at most so many lines; how many. Callers exclude each
 * other. */
unsigned rama_cap_python_put(struct rama_site_pen *p, unsigned most);

#pragma GCC visibility pop
#endif
