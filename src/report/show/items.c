/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/show/items.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void give(struct rama_report_items *it, const char *name, uint8_t type,
		 union rama_core_word value)
{
	struct rama_report_item item = { .name = name, .type = type, .value = value };

	it->fn(it->ctx, &item);
}

static void give_text(struct rama_report_items *it, const char *name, const char *text, size_t len)
{
	struct rama_report_item item = {
		.name = name, .type = RAMA_TAB_TEXT, .text = text, .text_len = strnlen(text, len)
	};

	it->fn(it->ctx, &item);
}

static void give_field(struct rama_report_items *it, const struct rama_core_record *r,
		       const struct rama_tab_field *f)
{
	struct rama_report_item item = { .name = f->name,
					 .type = f->type,
					 .is_id = rama_tab_field_is_id(f),
					 .value = r->w[f->word] };

	it->fn(it->ctx, &item);
}

static void give_i64(struct rama_report_items *it, const char *name, int64_t v)
{
	give(it, name, RAMA_TAB_I64, (union rama_core_word){ .i = v });
}

static void give_place(struct rama_report_items *it, const struct rama_core_record *r,
		       uint8_t place)
{
	for (unsigned i = 0; i < *r->schema->n_fields; i++) {
		const struct rama_tab_field *f = &r->schema->fields[i];

		if (f->place == place && f->type <= RAMA_TAB_F64)
			give_field(it, r, f);
	}
}

static void give_numbered(struct rama_report_items *it, const char *name,
			  const union rama_core_word *w, uint64_t n)
{
	char text[64];

	for (uint64_t i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "%s_%llu", name, (unsigned long long)i);
		give_i64(it, text, w[i].i);
	}
}

static const char *pattern_text(int64_t v)
{
	return v == 0	? "raid0"
	       : v == 2 ? "mdt"
	       : v == 4 ? "raid0,overstriped"
	       : v == 8 ? "foreign"
			: "N/A";
}

static void flags_text(char *to, size_t size, int64_t v)
{
	static const char *const bit[] = { "stale",    "prefrd",  "prefwr",    "offline",
					   "init",     "nosync",  "extension", "parity",
					   "compress", "partial", "nocompr",   "neg" };
	size_t n = 0;

	snprintf(to, size, "%s", v == -1 ? "N/A" : "0");
	for (unsigned i = 0; v != -1 && i < sizeof(bit) / sizeof(bit[0]); i++)
		if (v >> i & 1)
			n += (size_t)snprintf(to + n, size - n, "%s%s", n > 0 ? "," : "", bit[i]);
}

static void give_component(struct rama_report_items *it, uint64_t n,
			   const union rama_core_word *comp)
{
	const struct rama_tab_schema *s = &rama_tab_schema_lustre_comp;
	char name[64], text[160];

	for (unsigned i = 0; i < *s->n_fields; i++) {
		const struct rama_tab_field *f = &s->fields[i];
		const char *pool = comp[f->word].b;

		snprintf(name, sizeof(name), "LUSTRE_COMP%llu%s", (unsigned long long)n,
			 f->name + strlen("LUSTRE_COMP"));
		if (f->word == RAMA_TAB_LUSTRE_COMP_STRIPE_PATTERN) {
			give_text(it, name, pattern_text(comp[f->word].i), 32);
		} else if (f->word == RAMA_TAB_LUSTRE_COMP_FLAGS) {
			flags_text(text, sizeof(text), comp[f->word].i);
			give_text(it, name, text, sizeof(text));
		} else if (f->word == RAMA_TAB_LUSTRE_COMP_POOL_NAME) {
			give_text(it, name, *pool != '\0' ? pool : "N/A", 16);
		} else {
			give_i64(it, name, comp[f->word].i);
		}
	}
}

static void give_lustre(struct rama_report_items *it, const struct rama_core_record *r)
{
	const union rama_core_word *ost = r->array[1];
	char name[64];

	give_place(it, r, RAMA_TAB_COUNTER);
	for (uint64_t n = 0; n < r->count[0]; n++) {
		const union rama_core_word *comp = &r->array[0][n * RAMA_TAB_LUSTRE_COMP__WORDS];
		uint64_t stripes = comp[RAMA_TAB_LUSTRE_COMP_STRIPE_COUNT].u;

		give_component(it, n + 1, comp);
		snprintf(name, sizeof(name), "LUSTRE_COMP%llu_OST_ID", (unsigned long long)n + 1);
		give_numbered(it, name, ost, stripes);
		ost = stripes > 0 ? ost + stripes : ost; /* none at all: there is no array */
	}
}

static void give_apmpi(struct rama_report_items *it, const struct rama_core_record *r)
{
	uint32_t sync;

	if (r->schema == r->mod->header) {
		memcpy(&sync, r->w[RAMA_TAB_APMPI_HEADER_SYNC_FLAG].b, sizeof(sync));
		it->sync = sync != 0;
		give(it, "MPI_TOTAL_COMM_TIME_VARIANCE", RAMA_TAB_F64,
		     r->w[RAMA_TAB_APMPI_HEADER_TOTAL_COMM_TIME_VARIANCE]);
		if (it->sync)
			give(it, "MPI_TOTAL_COMM_SYNC_TIME_VARIANCE", RAMA_TAB_F64,
			     r->w[RAMA_TAB_APMPI_HEADER_TOTAL_COMM_SYNC_TIME_VARIANCE]);
		return;
	}
	give_text(it, "MPI_PROCESSOR_NAME", r->w[RAMA_TAB_APMPI_PROCESSOR_NAME].b, 128);
	for (unsigned i = 0; i < *r->schema->n_fields; i++) {
		const struct rama_tab_field *f = &r->schema->fields[i];

		if (f->place == RAMA_TAB_COUNTER &&
		    (it->sync || strstr(f->name, "_SYNC_TIME") == NULL))
			give_field(it, r, f);
	}
}

static void give_mode(struct rama_report_items *it, const char *name, const char *flag, int64_t v,
		      const char *const *modes, unsigned n)
{
	uint64_t mode = (uint64_t)v & 0x7fffffff;

	give_text(it, name, modes[mode < n ? mode : 0], 32);
	give_i64(it, flag, ((uint64_t)v & 0x80000000) == 0);
}

static void give_apxc_header(struct rama_report_items *it, const struct rama_core_record *r)
{
	static const char *const memory[] = { "MM_UNKNOWN", "MM_FLAT", "MM_EQUAL", "MM_SPLIT",
					      "MM_CACHE" };
	static const char *const cluster[] = { "CM_UNKNOWN", "CM_ALL2ALL", "CM_QUAD",
					       "CM_HEMI",    "CM_SNC4",	   "CM_SNC2" };

	give_i64(it, "APXC_GROUPS", r->w[RAMA_TAB_APXC_HEADER_GROUPS].i);
	give_i64(it, "APXC_CHASSIS", r->w[RAMA_TAB_APXC_HEADER_CHASSIS].i);
	give_i64(it, "APXC_BLADES", r->w[RAMA_TAB_APXC_HEADER_BLADES].i);
	give_mode(it, "APXC_MEMORY_MODE", "APXC_MEMORY_MODE_CONSISTENT",
		  r->w[RAMA_TAB_APXC_HEADER_MEMORY_MODE].i, memory, 5);
	give_mode(it, "APXC_CLUSTER_MODE", "APXC_CLUSTER_MODE_CONSISTENT",
		  r->w[RAMA_TAB_APXC_HEADER_CLUSTER_MODE].i, cluster, 6);
	it->fn(it->ctx,
	       &(struct rama_report_item){ .name = "APXC_APPLICATION_ID",
					   .type = RAMA_TAB_U64,
					   .is_id = true,
					   .value = r->w[RAMA_TAB_APXC_HEADER_APPLICATION_ID] });
}

void rama_report_items_each(struct rama_report_items *it, const struct rama_core_record *r)
{
	if (r->mod->id == RAMA_TAB_MOD_LUSTRE) {
		give_lustre(it, r);
	} else if (r->mod->id == RAMA_TAB_MOD_APMPI) {
		give_apmpi(it, r);
	} else if (r->schema == r->mod->header) {
		give_apxc_header(it, r);
	} else {
		give_place(it, r, RAMA_TAB_COUNTER);
		give_place(it, r, RAMA_TAB_LAST);
	}
	if (r->mod->id == RAMA_TAB_MOD_HEATMAP) {
		give_numbered(it, "HEATMAP_READ_BIN", r->array[1], r->count[1]);
		give_numbered(it, "HEATMAP_WRITE_BIN", r->array[0], r->count[0]);
	} else if (r->mod->id == RAMA_TAB_MOD_MDHIM) {
		give_numbered(it, "MDHIM_SERVER", r->array[0], r->count[0]);
	} else if (r->mod->id == RAMA_TAB_MOD_PROCESS) {
		give_text(it, "PROCESS_HOSTNAME",
			  rama_core_record_raw(r, RAMA_TAB_PROCESS_HOSTNAME), 64);
		give_text(it, "PROCESS_COMMAND", r->count[0] > 0 ? r->array[0]->b : "",
			  8 * r->count[0]);
	}
}

/* ---- where it belongs ------------------------------------------------------------------------ */

static const char hex[] = "0123456789abcdef";

/* 36 characters and a NUL */
static void put_uuid(char *to, const union rama_core_word *w)
{
	const unsigned char *b = (const unsigned char *)w->b;

	for (unsigned i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*to++ = '-';
		*to++ = hex[b[i] >> 4];
		*to++ = hex[b[i] & 15];
	}
	*to = '\0';
}

static bool null_uuid(const union rama_core_word *w)
{
	return w[0].u == 0 && w[1].u == 0;
}

/* DAOS has pools and containers where others have mounts */
static void daos_columns(struct rama_report_place *c, const union rama_core_word *pool,
			 const union rama_core_word *cont, bool dfs)
{
	char *mount = c->buf + 64;

	put_uuid(mount, pool);
	mount[36] = ':'; /* over the NUL */
	put_uuid(mount + 37, cont);
	c->mount = dfs && (null_uuid(pool) || null_uuid(cont)) ? "UNKNOWN" : mount;
	c->fs = "N/A";
}

void rama_report_place_of(struct rama_report_place *c, const struct rama_log *log,
			  const struct rama_core_record *r)
{
	const struct rama_log_name *n = rama_log_name_get(log, r->w[RAMA_TAB_ID].u);
	const struct rama_log_mount *m = n != NULL ? rama_log_mount_get(log, n->text) : NULL;

	c->named = n != NULL;
	c->name = n != NULL			   ? n->text
		  : r->mod->id == RAMA_TAB_MOD_BGQ ? "darshan-bgq-record"
						   : "(null)";
	c->mount = m != NULL ? m->path : "UNKNOWN";
	c->fs = m != NULL ? m->type : "UNKNOWN";
	if (r->mod->flags & RAMA_TAB_PLAIN) {
		c->name = c->mount = c->fs = "";
	} else if (r->mod->id == RAMA_TAB_MOD_DFS) {
		daos_columns(c, &r->w[RAMA_TAB_DFS_POOL_UUID], &r->w[RAMA_TAB_DFS_CONT_UUID], true);
	} else if (r->mod->id == RAMA_TAB_MOD_DAOS) {
		daos_columns(c, &r->w[RAMA_TAB_DAOS_POOL_UUID], &r->w[RAMA_TAB_DAOS_CONT_UUID],
			     false);
		snprintf(c->buf, 64, "%llu.%llu", (unsigned long long)r->w[RAMA_TAB_DAOS_OID_HI].u,
			 (unsigned long long)r->w[RAMA_TAB_DAOS_OID_LO].u);
		c->name = c->buf;
		c->named = true;
	}
}
