/* SPDX-License-Identifier: BSD-3-Clause */
/* grow.h: lists that grow. */
#ifndef RAMA_BASE_GROW_H
#define RAMA_BASE_GROW_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for `need` items of `item` bytes each. `list` is the address of the pointer to them,
 * *room how many fit now. It at least doubles, so that adding one by one stays cheap. false: there
 * is no memory, and all is as before. */
bool rama_grow(void *list, size_t *room, size_t need, size_t item);
/* RAMA_GROW(s->rows, s->room, s->n + 1): room is a size_t */
#define RAMA_GROW(list, room, need) rama_grow(&(list), &(room), need, sizeof(*(list)))

#endif
