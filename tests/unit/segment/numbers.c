/* SPDX-License-Identifier: BSD-3-Clause */
/* numbers.c: numbers that segments, settings and events have for kinds and layers: they never
 * change, whatever the order of the rows that they come from. */
#include "unit.h"

#include "segment/layout.h"
#include "table/layers.h"

static void kinds_keep_their_numbers(void **state)
{
	static const uint8_t module[] = { RAMA_TAB_MOD_POSIX,	     RAMA_TAB_MOD_STDIO,
					  RAMA_TAB_MOD_EXTRA,	     RAMA_TAB_MOD_MPIIO,
					  RAMA_TAB_MOD_H5F,	     RAMA_TAB_MOD_H5D,
					  RAMA_TAB_MOD_PNETCDF_FILE, RAMA_TAB_MOD_PNETCDF_VAR,
					  RAMA_TAB_MOD_LUSTRE };

	(void)state;
	assert_true(RAMA_SEG_KINDS >= sizeof(module));
	assert_memory_equal(rama_core_kind_module, module, sizeof(module));
	assert_int_equal(RAMA_SEG_KIND_POSIX, 0);
	assert_int_equal(RAMA_SEG_KIND_EXTRA, 2);
	assert_int_equal(RAMA_SEG_KIND_LUSTRE, 8);
	assert_ptr_equal(rama_core_kinds[RAMA_SEG_KIND_H5D], &rama_core_kind_h5d);
}

static void layers_keep_their_numbers(void **state)
{
	static const struct {
		const char *name;
		uint8_t number, trace;
	} layer[] = { { "POSIX", RAMA_SEG_LAYER_POSIX, RAMA_TAB_MOD_DXT_POSIX },
		      { "STDIO", RAMA_SEG_LAYER_STDIO, RAMA_TAB_MOD_DXT_STDIO },
		      { "MPI-IO", RAMA_SEG_LAYER_MPIIO, RAMA_TAB_MOD_DXT_MPIIO },
		      { "H5D", RAMA_SEG_LAYER_H5D, RAMA_TAB_MOD_DXT_MPIIO },
		      { "PNETCDF", RAMA_SEG_LAYER_PNETCDF, RAMA_TAB_MOD_DXT_MPIIO },
		      { "H5F", RAMA_SEG_LAYER_H5F, 0 },
		      { "FUSE", RAMA_SEG_LAYER_FUSE, RAMA_TAB_MOD_DXT_POSIX },
		      { "CLIENT", RAMA_SEG_LAYER_CLIENT, RAMA_TAB_MOD_DXT_POSIX },
		      { "SERVER", RAMA_SEG_LAYER_SERVER, RAMA_TAB_MOD_DXT_POSIX } };

	(void)state;
	assert_int_equal(RAMA_SEG_LAYERS, 3);
	assert_int_equal(RAMA_SEG_EVENT_LAYERS, 9);
	assert_int_equal(RAMA_TAB_LAYER_ROWS, 9);
	for (unsigned i = 0; i < 9; i++) {
		assert_int_equal(layer[i].number, i);
		assert_string_equal(rama_tab_event_layer[i].name, layer[i].name);
		assert_int_equal(rama_tab_event_layer[i].trace, layer[i].trace);
	}
}

UNIT_GROUP(numbers, cmocka_unit_test(kinds_keep_their_numbers),
	   cmocka_unit_test(layers_keep_their_numbers))
