/* SPDX-License-Identifier: BSD-3-Clause */
/* table.c: kinds of records and modules, and how to find them. */
#include "table/table.h"

#include <string.h>
#include <strings.h>

/* ---- records: their rows as arrays, one per kind -------------------------------------------- */

#include "table/fields.h"
#define PAST(n, since, until)                                                      \
	{                                                                          \
		#n,    "",    RAMA_TAB_NO_WORD, 1, RAMA_TAB_I64, RAMA_TAB_DROPPED, \
		since, until, RAMA_TAB_NONE                                        \
	},
#define ROW(name, word, words, type, place, since, red, doc) \
	{ name,                                              \
	  doc,                                               \
	  word,                                              \
	  words,                                             \
	  RAMA_TAB_##type,                                   \
	  RAMA_TAB_##place,                                  \
	  since,                                             \
	  RAMA_TAB_VERSION_ANY,                              \
	  RAMA_TAB_##red },
#define FIELD(n, ...) ROW(REC_PREFIX #n, REC(_##n), __VA_ARGS__)
#define JOIN(a, b) JOIN_(a, b)
#define JOIN_(a, b) a##b
#define RAMA_TAB_EACH_RECORD "table/record_one.def"
#include "table/modules.def"
#undef FIELD
#undef PAST
#include "table/fields_end.h"

const struct rama_tab_schema rama_tab_schema_lustre_comp = {
	fields_lustre_comp, &n_fields_lustre_comp, RAMA_TAB_LUSTRE_COMP__WORDS, 0, { { 0 } }
};

/* traces have the same fields, and became wider at different versions */
#define TRACED(name, wide)                                                                         \
	static const struct rama_tab_schema schema_##name = {                                      \
		fields_dxt,                                                                        \
		&n_fields_dxt,                                                                     \
		RAMA_TAB_DXT__WORDS,                                                               \
		2,                                                                                 \
		{ { "write", RAMA_TAB_DXT_WRITE_COUNT, RAMA_TAB_SEG_WORDS, wide,                   \
		    RAMA_TAB_SEG_WORDS, 0 },                                                       \
		  { "read", RAMA_TAB_DXT_READ_COUNT, RAMA_TAB_SEG_WORDS, wide, RAMA_TAB_SEG_WORDS, \
		    0 } }                                                                          \
	};
TRACED(dxt_posix, 2)
TRACED(dxt_mpiio, 3)

/* ---- modules --------------------------------------------------------------------------------- */

#define TOTALS RAMA_TAB_TOTALS
#define CLAMP RAMA_TAB_CLAMP
#define OFFSETS RAMA_TAB_OFFSETS
#define TRACE RAMA_TAB_TRACE
#define PLAIN RAMA_TAB_PLAIN
#define LISTS RAMA_TAB_LISTS
#define HEADER_none NULL
#define HEADER_apxc_header &schema_apxc_header
#define HEADER_apmpi_header &schema_apmpi_header
#define M(id, symbol, name, newest, released, record, header, flags, doc) \
	[id] = { id, newest, released, flags, name, &schema_##record, HEADER_##header, doc },
static const struct rama_tab_module modules[] = {
#include "table/modules.def"
};
#undef M

const struct rama_tab_module *rama_tab_module_get(unsigned id)
{
	return id < RAMA_TAB_MODULES_KNOWN && modules[id].name != NULL ? &modules[id] : NULL;
}

const struct rama_tab_module *rama_tab_module_find(const char *name)
{
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN; id++)
		if (modules[id].name != NULL && strcasecmp(modules[id].name, name) == 0)
			return &modules[id];
	return NULL;
}

bool rama_tab_module_has_threads(const struct rama_tab_module *mod, unsigned version)
{
	return (mod->flags & RAMA_TAB_TRACE) && version >= mod->record->array[0].wide_since;
}

static const struct rama_tab_section sections[] = {
#define S(id, symbol, name, newest, module, doc) { id, newest, RAMA_TAB_MOD_##module, name, doc },
#include "table/sections.def"
#undef S
};

const struct rama_tab_section *rama_tab_section_get(unsigned id)
{
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		if (sections[i].id == id)
			return &sections[i];
	return NULL;
}

const struct rama_tab_section *rama_tab_section_threads(unsigned module)
{
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		if (sections[i].module == module)
			return &sections[i];
	return NULL;
}

bool rama_tab_field_is_timestamp(const struct rama_tab_field *f)
{
	return f->type == RAMA_TAB_F64 && f->place == RAMA_TAB_COUNTER &&
	       strstr(f->name, "TIMESTAMP") != NULL;
}

const struct rama_tab_field *rama_tab_field_find(const struct rama_tab_module *mod,
						 const char *suffix)
{
	size_t want = strlen(suffix);

	for (unsigned i = 0; i < *mod->record->n_fields; i++) {
		const struct rama_tab_field *f = &mod->record->fields[i];
		size_t len = strlen(f->name);

		if (f->word != RAMA_TAB_NO_WORD && len > want && f->name[len - want - 1] == '_' &&
		    strcmp(f->name + len - want, suffix) == 0)
			return f;
	}
	return NULL;
}

const struct rama_tab_legend rama_tab_legends[] = {
#define L(symbol, from, to, line) { RAMA_TAB_MOD_##symbol, from, to, line },
#include "table/legend.def"
#undef L
};
const unsigned rama_tab_n_legends = sizeof(rama_tab_legends) / sizeof(rama_tab_legends[0]);
