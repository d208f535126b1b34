/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_checkpoint.c: manifests of checkpoints and the notes of a job. What is accepted has a
 * shape that means something and comes out as it went in. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emulate/mode/cr.h"
#include "fuzz.h"

static void check_shape(const char *text, uint64_t set)
{
	struct rama_emu_cr_shape shape = { 0 }, again = { 0 };
	char put[512];

	if (!rama_emu_shape_parse(text, set, &shape))
		return;
	CHECK(shape.writers > 0 && shape.files > 0 && shape.size >= 0);
	CHECK(shape.form[0] != '\0' && memchr(shape.form, '\0', sizeof(shape.form)) != NULL);
	CHECK(!rama_emu_shape_parse(text, set + 1, &again));
	rama_emu_shape_put(&shape, set, put, sizeof(put));
	CHECK(rama_emu_shape_parse(put, set, &again));
	CHECK(again.writers == shape.writers && again.files == shape.files &&
	      again.size == shape.size);
	CHECK(again.seed == shape.seed && strcmp(again.form, shape.form) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct rama_emu_cr_job job = { 0 };
	const char *set;

	CHECK(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	set = strstr(text, "set ");
	check_shape(text, set != NULL ? strtoull(set + 4, NULL, 10) : 1);
	if (rama_emu_cr_job_parse(text, &job))
		CHECK(job.lost >= 0 && job.cost >= 0 && job.seconds >= 0 && !isnan(job.seconds));
	free(text);
	return 0;
}
