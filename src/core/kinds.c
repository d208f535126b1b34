/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/kind.h"

const struct rama_core_kind *const rama_core_kinds[RAMA_TAB_KINDS] = {
#define M(...)
#define K(id, symbol, name, newest, released, record, kind, ...) [kind] = &rama_core_kind_##record,
#include "table/modules.def"
};

const uint8_t rama_core_kind_module[RAMA_TAB_KINDS] = {
#define M(...)
#define K(id, symbol, name, newest, released, record, kind, ...) [kind] = (id),
#include "table/modules.def"
};

/* each number from 0 on once */
#define M(...)
#define K(id, symbol, name, newest, released, record, kind, ...) +(1u << (kind))
_Static_assert(0
#include "table/modules.def"
		       == (1u << RAMA_TAB_KINDS) - 1,
	       "kinds are numbered one after the other");
