/* SPDX-License-Identifier: BSD-3-Clause */
/* upgrade.c: what a row of the tables cannot say about old records. */
#include <string.h>

#include "logfile/cursor.h"

/* version 1 counted streams and descriptors together; such records are neither POSIX nor STDIO */
static int upgrade_posix(struct rama_log_cursor *c)
{
	if (c->version == 1 && rama_log_cursor_stored(c, "FOPENS").i > 0) {
		c->dropped++;
		return 0;
	}
	return 1;
}

static int upgrade_pnetcdf(struct rama_log_cursor *c)
{
	if (c->version < 3)
		c->words[RAMA_TAB_PNETCDF_FILE_OPENS].i =
			rama_core_add(rama_log_cursor_stored(c, "INDEP_OPENS").i,
				      rama_log_cursor_stored(c, "COLL_OPENS").i);
	return 1;
}

/* version 1 knew one component and said nothing of its extent */
static int upgrade_lustre1(struct rama_log_cursor *c)
{
	union rama_core_word *comp;
	int rc;

	if (rama_log_cursor_stored(c, "STRIPE_SIZE").i == -1) { /* not known: no component */
		c->rec.count[0] = c->rec.count[1] = 0;
		c->words[RAMA_TAB_LUSTRE_NUM_COMPONENTS].i =
			c->words[RAMA_TAB_LUSTRE_NUM_STRIPES].i = 0;
		return 1;
	}
	rc = rama_log_cursor_array(c, 0, RAMA_TAB_LUSTRE_COMP__WORDS);
	if (rc != 0)
		return rc;
	comp = c->array[0];
	memset(comp, 0, RAMA_TAB_LUSTRE_COMP__WORDS * sizeof(*comp));
	comp[RAMA_TAB_LUSTRE_COMP_STRIPE_SIZE] = rama_log_cursor_stored(c, "STRIPE_SIZE");
	comp[RAMA_TAB_LUSTRE_COMP_STRIPE_COUNT].u = c->rec.count[1];
	comp[RAMA_TAB_LUSTRE_COMP_STRIPE_PATTERN].i = -1;
	comp[RAMA_TAB_LUSTRE_COMP_FLAGS].i = -1;
	comp[RAMA_TAB_LUSTRE_COMP_EXT_END].i = -1;
	comp[RAMA_TAB_LUSTRE_COMP_MIRROR_ID].i = -1;
	c->rec.array[0] = comp;
	c->rec.count[0] = 1;
	c->words[RAMA_TAB_LUSTRE_NUM_COMPONENTS].i = 1;
	c->words[RAMA_TAB_LUSTRE_NUM_STRIPES].u = c->rec.count[1];
	return 1;
}

/* Slots from the first unused one on do not count; OST ids of the used ones come first. */
static int upgrade_lustre(struct rama_log_cursor *c)
{
	uint64_t comps = 0, stripes = 0;

	if (c->version == 1)
		return upgrade_lustre1(c);
	for (; comps < c->rec.count[0]; comps++) {
		const union rama_core_word *comp =
			&c->rec.array[0][comps * RAMA_TAB_LUSTRE_COMP__WORDS];
		int64_t n = comp[RAMA_TAB_LUSTRE_COMP_STRIPE_COUNT].i;

		if (comp[RAMA_TAB_LUSTRE_COMP_STRIPE_SIZE].i == -1)
			break;
		if (n < 0 || (uint64_t)n > c->rec.count[1] - stripes) {
			int rc = rama_log_cursor_bad(
				c, RAMA_ECORRUPT,
				"component %llu has %lld stripes, %llu are stored; left out",
				(unsigned long long)comps + 1, (long long)n,
				(unsigned long long)(c->rec.count[1] - stripes));

			return rc < 0 ? rc : 0;
		}
		stripes += (uint64_t)n;
	}
	c->rec.count[0] = comps;
	c->rec.count[1] = stripes;
	c->words[RAMA_TAB_LUSTRE_NUM_COMPONENTS].u = comps;
	c->words[RAMA_TAB_LUSTRE_NUM_STRIPES].u = stripes;
	return 1;
}

/* Some releases let ranks disagree by one bin; all records of a log get the length of the first. */
static int upgrade_heatmap(struct rama_log_cursor *c)
{
	int64_t bins = c->words[RAMA_TAB_HEATMAP_NBINS].i;
	double width = c->words[RAMA_TAB_HEATMAP_F_BIN_WIDTH_SECONDS].f;

	if (!c->first_heatmap.known) {
		c->first_heatmap.known = true;
		c->first_heatmap.bins = bins;
		c->first_heatmap.width = width;
	}
	if (width == c->first_heatmap.width && bins == c->first_heatmap.bins + 1)
		bins--;
	else if (width == c->first_heatmap.width && bins == c->first_heatmap.bins - 1)
		bins++;
	for (unsigned k = 0; k < 2; k++) {
		int rc = rama_log_cursor_array(c, k, (uint64_t)bins);

		if (rc != 0)
			return rc;
		if ((uint64_t)bins > c->rec.count[k])
			c->array[k][bins - 1].i = 0;
		c->rec.array[k] = c->array[k];
		c->rec.count[k] = (uint64_t)bins;
	}
	c->words[RAMA_TAB_HEATMAP_NBINS].i = bins;
	return 1;
}

static int check_header(struct rama_log_cursor *c, int64_t magic)
{
	int rc;

	if (c->rec.schema != c->mod->header || c->words[RAMA_TAB_BASE_WORDS].i == magic)
		return 1;
	c->done = true;
	rc = rama_log_cursor_bad(c, RAMA_ECORRUPT,
				 "is not the header that must come first; the module is left out");
	return rc < 0 ? rc : 0;
}

int rama_log_cursor_upgrade(struct rama_log_cursor *c)
{
	switch (c->mod->id) {
	case RAMA_TAB_MOD_POSIX:
		return upgrade_posix(c);
	case RAMA_TAB_MOD_PNETCDF_FILE:
		return upgrade_pnetcdf(c);
	case RAMA_TAB_MOD_LUSTRE:
		return upgrade_lustre(c);
	case RAMA_TAB_MOD_HEATMAP:
		return upgrade_heatmap(c);
	case RAMA_TAB_MOD_APMPI:
		return check_header(c, 280520118345);
	case RAMA_TAB_MOD_APXC:
		return check_header(c, 0x4155544f50455246);
	default:
		return 1;
	}
}
