/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/form/trace.h"

#include <stdio.h>

void rama_trace_moment(struct rama_json *j, const char *key, uint64_t ns)
{
	char text[40];

	snprintf(text, sizeof(text), "%llu.%03u", (unsigned long long)(ns / 1000),
		 (unsigned)(ns % 1000));
	rama_json_key(j, key);
	rama_json_raw(j, text);
}

void rama_trace_open(struct rama_json *j, const char *phase, int64_t pid, uint64_t tid)
{
	rama_json_open(j, '{');
	rama_json_key_string(j, "ph", phase);
	rama_json_key_i64(j, "pid", pid);
	rama_json_key_u64(j, "tid", tid);
}

void rama_trace_name(struct rama_json *j, const char *what, int64_t pid, uint64_t tid,
		     const char *name, int64_t order)
{
	rama_trace_open(j, "M", pid, tid);
	rama_json_key_string(j, "name", what);
	rama_json_key_open(j, "args", '{');
	if (name != NULL)
		rama_json_key_string(j, "name", name);
	else
		rama_json_key_i64(j, "sort_index", order);
	rama_json_close(j, '}');
	rama_json_close(j, '}');
	rama_out_char(j->out, '\n');
}
