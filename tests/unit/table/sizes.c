/* SPDX-License-Identifier: BSD-3-Clause */
/* sizes.c: bytes of every version of every kind of record, as they are on disk. */
#include "unit.h"

#include "table/table.h"

/* bytes of a record's fixed part in a version, base included */
static unsigned stored_bytes(const struct rama_tab_schema *s, unsigned version)
{
	unsigned words = RAMA_TAB_BASE_WORDS;

	for (unsigned i = 0; i < *s->n_fields; i++)
		if (s->fields[i].since <= version && version <= s->fields[i].until)
			words += s->fields[i].words;
	return words * 8;
}

static void every_version_has_its_size(void **state)
{
	static const struct {
		unsigned id, version, bytes;
	} golden[] = {
		{ RAMA_TAB_MOD_NULL, 1, 48 },	       { RAMA_TAB_MOD_POSIX, 1, 680 },
		{ RAMA_TAB_MOD_POSIX, 2, 648 },	       { RAMA_TAB_MOD_POSIX, 3, 664 },
		{ RAMA_TAB_MOD_POSIX, 4, 704 },	       { RAMA_TAB_MOD_MPIIO, 1, 544 },
		{ RAMA_TAB_MOD_MPIIO, 2, 544 },	       { RAMA_TAB_MOD_MPIIO, 3, 560 },
		{ RAMA_TAB_MOD_H5F, 1, 40 },	       { RAMA_TAB_MOD_H5F, 2, 56 },
		{ RAMA_TAB_MOD_H5F, 3, 80 },	       { RAMA_TAB_MOD_H5D, 1, 904 },
		{ RAMA_TAB_MOD_H5D, 2, 912 },	       { RAMA_TAB_MOD_PNETCDF_FILE, 1, 48 },
		{ RAMA_TAB_MOD_PNETCDF_FILE, 2, 64 },  { RAMA_TAB_MOD_PNETCDF_FILE, 3, 152 },
		{ RAMA_TAB_MOD_PNETCDF_VAR, 1, 1120 }, { RAMA_TAB_MOD_BGQ, 1, 120 },
		{ RAMA_TAB_MOD_BGQ, 2, 112 },	       { RAMA_TAB_MOD_LUSTRE, 1, 56 },
		{ RAMA_TAB_MOD_LUSTRE, 2, 32 },	       { RAMA_TAB_MOD_STDIO, 1, 240 },
		{ RAMA_TAB_MOD_STDIO, 2, 248 },	       { RAMA_TAB_MOD_DXT_POSIX, 1, 104 },
		{ RAMA_TAB_MOD_DXT_POSIX, 2, 104 },    { RAMA_TAB_MOD_DXT_MPIIO, 1, 104 },
		{ RAMA_TAB_MOD_DXT_MPIIO, 2, 104 },    { RAMA_TAB_MOD_DXT_MPIIO, 3, 104 },
		{ RAMA_TAB_MOD_MDHIM, 1, 88 },	       { RAMA_TAB_MOD_APXC, 1, 3184 },
		{ RAMA_TAB_MOD_APMPI, 1, 5232 },       { RAMA_TAB_MOD_HEATMAP, 1, 48 },
		{ RAMA_TAB_MOD_DFS, 1, 584 },	       { RAMA_TAB_MOD_DAOS, 1, 696 },
		{ RAMA_TAB_MOD_DXT_STDIO, 1, 104 },    { RAMA_TAB_MOD_DXT_STDIO, 2, 104 },
		{ RAMA_TAB_MOD_PROCESS, 1, 184 },      { RAMA_TAB_MOD_PROCESS, 2, 264 },
		{ RAMA_TAB_MOD_EXTRA, 1, 296 },	       { RAMA_TAB_MOD_EXTRA, 2, 312 },
		{ RAMA_TAB_MOD_EXTRA, 3, 320 },	       { RAMA_TAB_MOD_CALLS, 1, 80 },
		{ RAMA_TAB_MOD_CALLS, 2, 104 },	       { RAMA_TAB_MOD_PHASE, 1, 96 },
		{ RAMA_TAB_MOD_SITES, 1, 72 },
	};
	unsigned versions = 0;

	(void)state;
	for (size_t i = 0; i < LENGTH(golden); i++) {
		const struct rama_tab_module *m = rama_tab_module_get(golden[i].id);

		if (stored_bytes(m->record, golden[i].version) != golden[i].bytes)
			fail_msg("%s version %u has %u bytes, not %u", m->name, golden[i].version,
				 stored_bytes(m->record, golden[i].version), golden[i].bytes);
	}
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN; id++)
		versions += rama_tab_module_get(id) != NULL ? rama_tab_module_get(id)->newest : 0;
	assert_int_equal(versions, LENGTH(golden)); /* none is left out above */
}

static void memory_holds_the_newest_version(void **state)
{
	(void)state;
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN; id++) {
		const struct rama_tab_module *m = rama_tab_module_get(id);

		if (m == NULL)
			continue;
		assert_int_equal(m->record->words * 8, stored_bytes(m->record, m->newest));
		if (m->header != NULL)
			assert_int_equal(m->header->words * 8, stored_bytes(m->header, m->newest));
	}
}

static void autoperf_headers_have_their_sizes(void **state)
{
	(void)state;
	assert_int_equal(stored_bytes(rama_tab_module_get(RAMA_TAB_MOD_APMPI)->header, 1), 48);
	assert_int_equal(stored_bytes(rama_tab_module_get(RAMA_TAB_MOD_APXC)->header, 1), 72);
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN; id++)
		assert_true((rama_tab_module_get(id) != NULL &&
			     rama_tab_module_get(id)->header != NULL) ==
			    (id == RAMA_TAB_MOD_APMPI || id == RAMA_TAB_MOD_APXC));
}

static void elements_have_their_sizes(void **state)
{
	const struct rama_tab_schema *lustre = rama_tab_module_get(RAMA_TAB_MOD_LUSTRE)->record,
				     *posix = rama_tab_module_get(RAMA_TAB_MOD_DXT_POSIX)->record,
				     *mpiio = rama_tab_module_get(RAMA_TAB_MOD_DXT_MPIIO)->record,
				     *mdhim = rama_tab_module_get(RAMA_TAB_MOD_MDHIM)->record,
				     *process = rama_tab_module_get(RAMA_TAB_MOD_PROCESS)->record;

	(void)state;
	assert_int_equal(lustre->array[0].words * 8, 72);
	assert_int_equal(lustre->array[0].raw_from * 8, 56); /* the pool's name */
	assert_int_equal(lustre->array[1].words * 8, 8);
	for (unsigned k = 0; k < 2; k++) {
		assert_int_equal(posix->array[k].words * 8, 40); /* 32 without thread id */
		assert_int_equal(posix->array[k].wide_since, 2);
		assert_int_equal(mpiio->array[k].words * 8, 40);
		assert_int_equal(mpiio->array[k].wide_since, 3);
	}
	assert_int_equal(process->array[0].words, 1);
	assert_int_equal(process->array[0].raw_from, 0);		   /* all of it is text */
	assert_int_equal(posix->array[0].raw_from, posix->array[0].words); /* none of it is */
	assert_int_equal(mdhim->array[0].least, 1); /* one slot even without servers */
}

UNIT_GROUP(sizes, test(every_version_has_its_size), test(memory_holds_the_newest_version),
	   test(autoperf_headers_have_their_sizes), test(elements_have_their_sizes))
