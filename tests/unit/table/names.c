/* SPDX-License-Identifier: BSD-3-Clause */
/* names.c: modules by name and number, counters by name and place. */
#include "unit.h"

#include "table/commands.h"
#include "table/table.h"

#define OWN_FIRST 48 /* modules that no Darshan has */

static void modules_have_their_numbers(void **state)
{
	static const char *const golden[] = { "NULL",	"POSIX",	"MPI-IO",      "H5F",
					      "H5D",	"PNETCDF_FILE", "PNETCDF_VAR", "BG/Q",
					      "LUSTRE", "STDIO",	"DXT_POSIX",   "DXT_MPIIO",
					      "MDHIM",	"APXC",		"APMPI",       "HEATMAP",
					      "DFS",	"DAOS" };
	static const char *const own[] = { "DXT_STDIO", "PROCESS", "EXTRA", NULL,
					   NULL,	"CALLS",   "PHASE", "SITES" };

	(void)state;
	assert_int_equal(RAMA_TAB_MODULES_KNOWN, OWN_FIRST + LENGTH(own));
	for (unsigned id = 0; id < RAMA_TAB_MODULES; id++) {
		const char *name = id < LENGTH(golden)		 ? golden[id]
				   : id < OWN_FIRST		 ? NULL
				   : id < RAMA_TAB_MODULES_KNOWN ? own[id - OWN_FIRST]
								 : NULL;

		if (name == NULL) {
			assert_null(rama_tab_module_get(id));
			continue;
		}
		assert_string_equal(rama_tab_module_get(id)->name, name);
		assert_int_equal(rama_tab_module_get(id)->id, id);
		assert_ptr_equal(rama_tab_module_find(name), rama_tab_module_get(id));
	}
	assert_null(rama_tab_module_get(~0u));
}

static void modules_are_found_in_any_case(void **state)
{
	(void)state;
	assert_ptr_equal(rama_tab_module_find("mpi-io"), rama_tab_module_get(RAMA_TAB_MOD_MPIIO));
	assert_ptr_equal(rama_tab_module_find("Bg/q"), rama_tab_module_get(RAMA_TAB_MOD_BGQ));
	assert_null(rama_tab_module_find(""));
	assert_null(rama_tab_module_find("POSI"));
	assert_null(rama_tab_module_find("POSIX "));
}

static void versions_are_those_of_the_releases(void **state)
{
	/* what the released 3.5.0 writes; AutoPerf is version 1 wherever it is present */
	static const unsigned released[] = { 1, 4, 3, 3, 2, 3, 1, 2, 2, 2, 1, 2, 1, 1, 1, 1, 1, 1 };

	(void)state;
	for (unsigned id = 0; id < LENGTH(released); id++) {
		const struct rama_tab_module *m = rama_tab_module_get(id);

		assert_int_equal(m->released, released[id]);
		assert_true(m->released >= 1 && m->released <= m->newest);
		/* only traces have something newer: thread ids */
		assert_int_equal(m->newest - m->released, m->flags & RAMA_TAB_TRACE ? 1 : 0);
	}
}

static const struct rama_tab_field *field_named(const struct rama_tab_schema *s, const char *name)
{
	for (unsigned i = 0; i < *s->n_fields; i++)
		if (strcmp(s->fields[i].name, name) == 0 && s->fields[i].word != RAMA_TAB_NO_WORD)
			return &s->fields[i];
	fail_msg("there is no counter %s", name);
	return NULL;
}

/* where the format has them */
static const struct {
	unsigned id, byte;
	const char *name;
} places[] = {
	{ RAMA_TAB_MOD_NULL, 16, "NULL_FOOS" },
	{ RAMA_TAB_MOD_NULL, 40, "NULL_F_FOO_MAX_DURATION" },
	{ RAMA_TAB_MOD_POSIX, 16, "POSIX_OPENS" },
	{ RAMA_TAB_MOD_POSIX, 112, "POSIX_RENAMED_FROM" },
	{ RAMA_TAB_MOD_POSIX, 128, "POSIX_BYTES_READ" },
	{ RAMA_TAB_MOD_POSIX, 248, "POSIX_SIZE_READ_0_100" },
	{ RAMA_TAB_MOD_POSIX, 400, "POSIX_SIZE_WRITE_1G_PLUS" },
	{ RAMA_TAB_MOD_POSIX, 440, "POSIX_STRIDE1_COUNT" },
	{ RAMA_TAB_MOD_POSIX, 496, "POSIX_ACCESS4_ACCESS" },
	{ RAMA_TAB_MOD_POSIX, 560, "POSIX_SLOWEST_RANK_BYTES" },
	{ RAMA_TAB_MOD_POSIX, 568, "POSIX_F_OPEN_START_TIMESTAMP" },
	{ RAMA_TAB_MOD_POSIX, 648, "POSIX_F_META_TIME" },
	{ RAMA_TAB_MOD_POSIX, 696, "POSIX_F_VARIANCE_RANK_BYTES" },
	{ RAMA_TAB_MOD_MPIIO, 120, "MPIIO_MODE" },
	{ RAMA_TAB_MOD_MPIIO, 168, "MPIIO_SIZE_READ_AGG_0_100" },
	{ RAMA_TAB_MOD_MPIIO, 360, "MPIIO_ACCESS1_COUNT" },
	{ RAMA_TAB_MOD_MPIIO, 448, "MPIIO_F_CLOSE_START_TIMESTAMP" },
	{ RAMA_TAB_MOD_MPIIO, 552, "MPIIO_F_VARIANCE_RANK_BYTES" },
	{ RAMA_TAB_MOD_H5F, 32, "H5F_USE_MPIIO" },
	{ RAMA_TAB_MOD_H5F, 72, "H5F_F_META_TIME" },
	{ RAMA_TAB_MOD_H5D, 16, "H5D_FILE_REC_ID" },
	{ RAMA_TAB_MOD_H5D, 24, "H5D_OPENS" },
	{ RAMA_TAB_MOD_H5D, 360, "H5D_ACCESS1_STRIDE_D5" },
	{ RAMA_TAB_MOD_H5D, 632, "H5D_ACCESS1_COUNT" },
	{ RAMA_TAB_MOD_H5D, 736, "H5D_USE_DEPRECATED" },
	{ RAMA_TAB_MOD_H5D, 776, "H5D_F_OPEN_START_TIMESTAMP" },
	{ RAMA_TAB_MOD_PNETCDF_FILE, 80, "PNETCDF_FILE_WAIT_FAILURES" },
	{ RAMA_TAB_MOD_PNETCDF_FILE, 144, "PNETCDF_FILE_F_WAIT_TIME" },
	{ RAMA_TAB_MOD_PNETCDF_VAR, 16, "PNETCDF_VAR_FILE_REC_ID" },
	{ RAMA_TAB_MOD_PNETCDF_VAR, 104, "PNETCDF_VAR_PUT_VAR" },
	{ RAMA_TAB_MOD_PNETCDF_VAR, 352, "PNETCDF_VAR_BPUT_VARN" },
	{ RAMA_TAB_MOD_PNETCDF_VAR, 944, "PNETCDF_VAR_IS_RECORD_VAR" },
	{ RAMA_TAB_MOD_PNETCDF_VAR, 984, "PNETCDF_VAR_F_OPEN_START_TIMESTAMP" },
	{ RAMA_TAB_MOD_BGQ, 16, "BGQ_CSJOBID" },
	{ RAMA_TAB_MOD_BGQ, 104, "BGQ_F_TIMESTAMP" },
	{ RAMA_TAB_MOD_LUSTRE, 16, "LUSTRE_NUM_COMPONENTS" },
	{ RAMA_TAB_MOD_LUSTRE, 24, "LUSTRE_NUM_STRIPES" },
	{ RAMA_TAB_MOD_STDIO, 64, "STDIO_BYTES_WRITTEN" },
	{ RAMA_TAB_MOD_STDIO, 72, "STDIO_BYTES_READ" },
	{ RAMA_TAB_MOD_STDIO, 128, "STDIO_F_META_TIME" },
	{ RAMA_TAB_MOD_STDIO, 160, "STDIO_F_CLOSE_START_TIMESTAMP" },
	{ RAMA_TAB_MOD_DXT_POSIX, 24, "DXT_HOSTNAME" },
	{ RAMA_TAB_MOD_DXT_POSIX, 88, "DXT_WRITE_COUNT" },
	{ RAMA_TAB_MOD_DXT_MPIIO, 96, "DXT_READ_COUNT" },
	{ RAMA_TAB_MOD_MDHIM, 48, "MDHIM_SERVERS" },
	{ RAMA_TAB_MOD_MDHIM, 80, "MDHIM_F_GET_MAX_DURATION" },
	{ RAMA_TAB_MOD_APXC, 16, "APXC_GROUP" },
	{ RAMA_TAB_MOD_APXC, 40, "APXC_NODE" },
	{ RAMA_TAB_MOD_APXC, 48, "APXC_AR_RTR_0_0_INQ_PRF_INCOMING_FLIT_VC0" },
	{ RAMA_TAB_MOD_APXC, 48 + 8 * 8, "APXC_AR_RTR_0_0_INQ_PRF_ROWBUS_STALL_CNT" },
	{ RAMA_TAB_MOD_APXC, 48 + 359 * 8, "APXC_AR_RTR_4_7_INQ_PRF_ROWBUS_STALL_CNT" },
	{ RAMA_TAB_MOD_APXC, 48 + 391 * 8, "APXC_AR_RTR_PT_5_7_INQ_PRF_RSP_ROWBUS_STALL_CNT" },
	{ RAMA_TAB_MOD_APMPI, 16, "MPI_SEND_CALL_COUNT" },
	{ RAMA_TAB_MOD_APMPI, 72, "MPI_SEND_MSG_SIZE_AGG_1M_PLUS" },
	{ RAMA_TAB_MOD_APMPI, 16 + 12 * 64, "MPI_PROBE_CALL_COUNT" },
	{ RAMA_TAB_MOD_APMPI, 3184 - 8, "MPI_WIN_SYNC_CALL_COUNT" },
	{ RAMA_TAB_MOD_APMPI, 3184, "MPI_SEND_TOTAL_TIME" },
	{ RAMA_TAB_MOD_APMPI, 4960, "MPI_BARRIER_TOTAL_SYNC_TIME" },
	{ RAMA_TAB_MOD_APMPI, 5080, "MPI_ALLTOALLW_TOTAL_SYNC_TIME" },
	{ RAMA_TAB_MOD_APMPI, 5088, "MPI_TOTAL_COMM_TIME" },
	{ RAMA_TAB_MOD_APMPI, 5104, "MPI_PROCESSOR_NAME" },
	{ RAMA_TAB_MOD_HEATMAP, 16, "HEATMAP_F_BIN_WIDTH_SECONDS" },
	{ RAMA_TAB_MOD_HEATMAP, 24, "HEATMAP_NBINS" },
	{ RAMA_TAB_MOD_DFS, 128, "DFS_BYTES_READ" },
	{ RAMA_TAB_MOD_DFS, 392, "DFS_CHUNK_SIZE" },
	{ RAMA_TAB_MOD_DFS, 432, "DFS_F_OPEN_START_TIMESTAMP" },
	{ RAMA_TAB_MOD_DFS, 552, "DFS_POOL_UUID" },
	{ RAMA_TAB_MOD_DFS, 568, "DFS_CONT_UUID" },
	{ RAMA_TAB_MOD_DAOS, 200, "DAOS_NB_OPS" },
	{ RAMA_TAB_MOD_DAOS, 472, "DAOS_OBJ_OTYPE" },
	{ RAMA_TAB_MOD_DAOS, 528, "DAOS_F_OPEN_START_TIMESTAMP" },
	{ RAMA_TAB_MOD_DAOS, 664, "DAOS_CONT_UUID" },
	{ RAMA_TAB_MOD_DAOS, 680, "DAOS_OID_HI" },
};

static void counters_stand_at_their_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(places); i++) {
		const struct rama_tab_schema *s = rama_tab_module_get(places[i].id)->record;

		if (field_named(s, places[i].name)->word * 8u != places[i].byte)
			fail_msg("%s is at byte %u, not %u", places[i].name,
				 field_named(s, places[i].name)->word * 8u, places[i].byte);
	}
	assert_int_equal(RAMA_TAB_POSIX_F_META_TIME * 8, 648);
}

static void modules_have_so_many_counters(void **state)
{
	static const struct {
		unsigned id, integers, doubles;
	} golden[] = {
		{ RAMA_TAB_MOD_NULL, 2, 2 },	       { RAMA_TAB_MOD_POSIX, 69, 17 },
		{ RAMA_TAB_MOD_MPIIO, 51, 17 },	       { RAMA_TAB_MOD_H5F, 3, 5 },
		{ RAMA_TAB_MOD_H5D, 94, 17 },	       { RAMA_TAB_MOD_PNETCDF_FILE, 9, 8 },
		{ RAMA_TAB_MOD_PNETCDF_VAR, 120, 17 }, { RAMA_TAB_MOD_BGQ, 11, 1 },
		{ RAMA_TAB_MOD_LUSTRE, 2, 0 },	       { RAMA_TAB_MOD_STDIO, 14, 15 },
		{ RAMA_TAB_MOD_DXT_POSIX, 0, 0 },      { RAMA_TAB_MOD_DXT_MPIIO, 0, 0 },
		{ RAMA_TAB_MOD_MDHIM, 5, 4 },	       { RAMA_TAB_MOD_APXC, 396, 0 },
		{ RAMA_TAB_MOD_APMPI, 396, 240 },      { RAMA_TAB_MOD_HEATMAP, 0, 1 },
		{ RAMA_TAB_MOD_DFS, 52, 15 },	       { RAMA_TAB_MOD_DAOS, 64, 15 },
		{ RAMA_TAB_MOD_DXT_STDIO, 0, 0 },      { RAMA_TAB_MOD_PROCESS, 18, 4 },
		{ RAMA_TAB_MOD_EXTRA, 32, 6 },	       { RAMA_TAB_MOD_CALLS, 8, 1 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(golden); i++) {
		const struct rama_tab_schema *s = rama_tab_module_get(golden[i].id)->record;
		unsigned integers = 0, doubles = 0;

		for (unsigned k = 0; k < *s->n_fields; k++)
			if (s->fields[k].place == RAMA_TAB_COUNTER)
				++*(s->fields[k].type == RAMA_TAB_F64 ? &doubles : &integers);
		assert_int_equal(integers, golden[i].integers);
		assert_int_equal(doubles, golden[i].doubles);
	}
}

static void check_fields(const struct rama_tab_schema *s)
{
	for (unsigned i = 0; i < *s->n_fields; i++) {
		const struct rama_tab_field *f = &s->fields[i];

		assert_true(f->name[0] != '\0' && f->words >= 1 && f->since >= 1);
		assert_true((f->word == RAMA_TAB_NO_WORD) == (f->place == RAMA_TAB_DROPPED));
		if (f->place == RAMA_TAB_COUNTER && f->doc[0] == '\0')
			fail_msg("%s is not described", f->name);
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(f->name, s->fields[k].name);
	}
}

static void every_counter_is_described_and_named_once(void **state)
{
	(void)state;
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN; id++) {
		const struct rama_tab_module *m = rama_tab_module_get(id);

		if (m == NULL)
			continue;
		assert_true(m->doc[0] != '\0');
		check_fields(m->record);
		if (m->header != NULL)
			check_fields(m->header);
	}
	check_fields(&rama_tab_schema_lustre_comp);
}

static void counters_are_found_by_their_last_words(void **state)
{
	const struct rama_tab_module *posix = rama_tab_module_get(RAMA_TAB_MOD_POSIX);

	(void)state;
	assert_int_equal(rama_tab_field_find(posix, "F_READ_TIME")->word,
			 RAMA_TAB_POSIX_F_READ_TIME);
	assert_int_equal(rama_tab_field_find(posix, "BYTES_READ")->word, RAMA_TAB_POSIX_BYTES_READ);
	assert_null(rama_tab_field_find(posix, "FOPENS")); /* version 1 only */
	assert_null(rama_tab_field_find(posix, "NOTHING"));
	assert_null(rama_tab_field_find(posix, "PENS"));
}

static void commands_and_options_are_described(void **state)
{
	(void)state;
	for (int i = 0; i < RAMA_TAB_COMMANDS; i++)
		assert_true(rama_tab_commands[i].line[0] != '\0' &&
			    rama_tab_commands[i].text[0] != '\0');
	for (int i = 0; i < RAMA_TAB_OPTIONS; i++) {
		assert_true(rama_tab_options[i].text[0] != '\0');
		for (int k = 0; k < i; k++) {
			const struct rama_tab_option *a = &rama_tab_options[i],
						     *b = &rama_tab_options[k];

			if (a->command != b->command)
				continue;
			assert_string_not_equal(a->name, b->name);
			assert_true(a->letter == 0 || a->letter != b->letter);
		}
	}
}

UNIT_GROUP(names, test(modules_have_their_numbers), test(modules_are_found_in_any_case),
	   test(versions_are_those_of_the_releases), test(counters_stand_at_their_bytes),
	   test(modules_have_so_many_counters), test(every_counter_is_described_and_named_once),
	   test(counters_are_found_by_their_last_words), test(commands_and_options_are_described))
