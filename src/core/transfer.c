/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/transfer.h"

void rama_core_transfer_finish(union rama_core_word *times, double tick)
{
	unsigned i = 0;

	for (; i < 8; i++) /* first starts, last ends */
		times[i].f = rama_core_times_moment(times[i], tick);
	for (; i < 13; i++) /* read, write, meta; the longest read and write */
		times[i].f = rama_core_times_sum(times[i], tick);
	for (; i < 17; i++) /* of several ranks only */
		times[i].f = 0;
}
