/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_profile.c: the input is a profile. What it sets is within bounds, what it does not set
 * stays; what is wrong is told with the line. */
#include <string.h>

#include "diagnose/diagnose.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rama_diag_profile p;
	struct rama_err e = { 0 };
	FILE *f = size > 0 ? fmemopen((void *)data, size, "r") : NULL;
	int rc;

	if (f == NULL)
		return 0;
	CHECK(rama_diag_profile_init(&p) == 0);
	rc = rama_diag_profile_read(&p, f, "site.ini", &e);
	CHECK(rc == 0 || (rc == e.code && strncmp(e.text, "site.ini: ", 10) == 0));
	for (unsigned i = 0; i < rama_diag_n_limits; i++) {
		CHECK(p.value[i] >= rama_diag_limits[i].least &&
		      p.value[i] <= rama_diag_limits[i].most);
		CHECK(strcmp(p.source[i], "site.ini") == 0 ||
		      p.value[i] == rama_diag_limits[i].value);
	}
	rama_diag_profile_fini(&p);
	fclose(f);
	return 0;
}
