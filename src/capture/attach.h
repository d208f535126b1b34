/* SPDX-License-Identifier: BSD-3-Clause */
/* attach.h: the library in a process that ran before it came. */
#ifndef RAMA_CAPTURE_ATTACH_H
#define RAMA_CAPTURE_ATTACH_H

#include <stdbool.h>
#include <stddef.h>

#ifndef RAMA_STATIC_WRAP
/* where our library lies, as the loader has it */
const char *rama_cap_own_path(void);
/* Were we loaded to be attached? Then nothing begins before iorama_attach(). */
bool rama_cap_attach_is(void);
/* the value of a setting that was handed over; NULL: it was not */
const char *rama_cap_attach_variable(const char *name, size_t n);
extern bool rama_cap_attached; /* by iorama_attach(), and not yet detached */
/* looks for libraries that came since */
void rama_cap_attach_again(void);
/* A new history begins in this process (start.c). */
bool rama_cap_begin_attached(void);
/* It is complete, whatever the process does from now on. */
void rama_cap_end_attached(void);

/* what src/attach calls */
int iorama_attach(const char *settings);
const char *iorama_detach(void);
#else
#define rama_cap_attached false
static inline bool rama_cap_attach_is(void)
{
	return false;
}

static inline const char *rama_cap_attach_variable(const char *name, size_t n)
{
	(void)name;
	(void)n;
	return NULL;
}

static inline void rama_cap_attach_again(void)
{
}
#endif

#endif
