/* SPDX-License-Identifier: BSD-3-Clause */
/* repeat.c: one run several times: mean and standard error, as the Wemul paper reports them. */
#include <math.h>

#include "base/human.h"
#include "base/json.h"
#include "emulate/output/output.h"

void rama_emu_result_repeat(const struct rama_emu_result *r, struct rama_emu_repeat *s)
{
	*s = (struct rama_emu_repeat){ .value[RAMA_EMU_REPEAT_SECONDS] = r->seconds };
	for (int k = 0; k < 2; k++) {
		struct rama_emu_side side = rama_emu_result_side(r, k);

		s->value[RAMA_EMU_REPEAT_READ + k] =
			side.absolute > 0 ? (double)side.bytes / side.absolute : 0;
	}
}

/* standard error: of the mean, from the spread of the sample */
static void mean_of(const struct rama_emu_repeats *all, int which, double *mean, double *error)
{
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < all->n; i++)
		sum += all->sample[i].value[which];
	*mean = sum / all->n;
	for (uint32_t i = 0; i < all->n; i++) {
		double d = all->sample[i].value[which] - *mean;

		squares += d * d;
	}
	*error = all->n > 1 ? sqrt(squares / (all->n - 1) / all->n) : 0;
}

void rama_emu_repeats_text(const struct rama_emu_repeats *all, struct rama_out *out)
{
	char a[RAMA_HUMAN], b[RAMA_HUMAN];
	double mean, error;

	mean_of(all, RAMA_EMU_REPEAT_SECONDS, &mean, &error);
	rama_out_fmt(out, "  %-9s %u runs, mean and standard error: %s ± %s", "repeated", all->n,
		     rama_human_seconds(a, mean), rama_human_seconds(b, error));
	for (int k = 0; k < 2; k++) {
		mean_of(all, RAMA_EMU_REPEAT_READ + k, &mean, &error);
		if (mean > 0)
			rama_out_fmt(out, ", %s %s ± %s", k == 0 ? "read" : "written",
				     rama_human_rate(a, mean), rama_human_rate(b, error));
	}
	rama_out_text(out, "; all else is of the last run\n");
}

void rama_emu_repeats_json(const struct rama_emu_repeats *all, struct rama_json *j)
{
	static const char *const name[RAMA_EMU_REPEAT_VALUES] = { "seconds", "read_bandwidth",
								  "write_bandwidth" };

	rama_json_key_open(j, "repeated", '{');
	rama_json_key_i64(j, "runs", all->n);
	for (int k = 0; k < RAMA_EMU_REPEAT_VALUES; k++) {
		double mean, error;

		mean_of(all, k, &mean, &error);
		rama_json_key_open(j, name[k], '{');
		rama_json_key_f64(j, "mean", mean);
		rama_json_key_f64(j, "standard_error", error);
		rama_json_key_open(j, "values", '[');
		for (uint32_t i = 0; i < all->n; i++)
			rama_json_f64(j, all->sample[i].value[k]);
		rama_json_close(j, ']');
		rama_json_close(j, '}');
	}
	rama_json_close(j, '}');
}
