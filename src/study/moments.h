/* SPDX-License-Identifier: BSD-3-Clause */
/* moments.h: a look that is made of what agents of all nodes told a store. */
#ifndef RAMA_STUDY_MOMENTS_H
#define RAMA_STUDY_MOMENTS_H

#include "look/look.h"
#include "store/store.h"

/* The store stays the caller's, open until the look is destroyed; then what belongs to it is
 * given back by rama_study_moments_close. */
int rama_study_moments_open(struct rama_look **l, struct rama_store *s, struct rama_err *e);
void rama_study_moments_close(struct rama_look *l);

#endif
