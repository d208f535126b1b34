/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_alerts.c: a file of a site that says who is told of which jobs. Whatever it says: what goes
 * into headers of a mail has no control character, hours are hours, alerts are as many as there may
 * be, and an error is one line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alert/alert.h"
#include "fuzz.h"

static void check_plain(const char *s)
{
	CHECK(strlen(s) <= 256);
	for (; *s != '\0'; s++)
		CHECK((unsigned char)*s >= 0x20 && (unsigned char)*s < 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rama_alert_site site;
	struct rama_err e = { 0 };
	FILE *f;

	/* files that it names are not the matter here */
	if (size == 0 || memmem(data, size, "secret", 6) != NULL)
		return 0;
	f = fmemopen((void *)(uintptr_t)data, size, "r");
	CHECK(f != NULL && rama_alert_site_init(&site, &e) == 0);
	if (rama_alert_site_read(&site, f, "alerts.ini", &e) != 0)
		CHECK(e.text[0] != '\0' && strchr(e.text, '\n') == NULL);
	fclose(f);
	CHECK(site.n <= RAMA_ALERT_RULES);
	CHECK(site.day_first <= site.day_last && site.day_last < 7);
	CHECK(site.hour_first < site.hour_last && site.hour_last <= 24);
	check_plain(site.from);
	check_plain(site.to);
	check_plain(site.staff);
	check_plain(site.portal);
	check_plain(site.hook);
	for (unsigned i = 0; i < site.n; i++) {
		check_plain(site.rule[i].name);
		check_plain(site.rule[i].title);
		check_plain(site.rule[i].advice);
	}
	rama_alert_site_fini(&site);
	return 0;
}
