/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "config/logname.h"
#include "core/recordid.h"

/* computed by another program from the description of the hash */
#define NODE01 "14961537936022819238"

static struct rama_config_logname example(void)
{
	return (struct rama_config_logname){
		.user = "alexandra",
		.uid = 1000,
		.exe = "/opt/apps/bin/ior",
		.jobid = 4242,
		.pid = 77,
		.start = { .tm_year = 125,
			   .tm_mon = 5,
			   .tm_mday = 5,
			   .tm_hour = 1,
			   .tm_min = 2,
			   .tm_sec = 3 },
		.host = "node01",
		.end_us = 1750000000123456,
	};
}

static void ids_of_other_levels(void **state)
{
	static const char host[] = "a-long-host-name.cluster.example.org";

	(void)state;
	assert_true(rama_core_record_id_level("", 0, 1) == 9298595929092168530u);
	assert_true(rama_core_record_id_level("node01", 6, 1750000000123456) ==
		    14961537936022819238u);
	assert_true(rama_core_record_id_level(host, strlen(host), 1750000000123456) ==
		    11609409070754965757u);
	assert_true(rama_core_record_id_level(host, strlen(host), 0) ==
		    rama_core_record_id(host, strlen(host)));
}

static void names_of_logs(void **state)
{
	struct rama_config_logname n = example();
	char to[RAMA_CONFIG_LOGNAME_MOST];
	size_t len;

	(void)state;
	rama_config_logname_partial(to, sizeof(to), &n);
	assert_string_equal(to, "alexandr_ior_id4242-77_6-5-3723-" NODE01 ".darshan_partial");
	len = rama_config_logname_final(to, sizeof(to), &n, 0.4);
	assert_int_equal(len, strlen(to));
	assert_string_equal(to, "alexandr_ior_id4242-77_6-5-3723-" NODE01 "_1.darshan");
	rama_config_logname_final(to, sizeof(to), &n, 2.99);
	assert_string_equal(to, "alexandr_ior_id4242-77_6-5-3723-" NODE01 "_3.darshan");
	n.user = NULL;
	n.exe = "a.out";
	n.start.tm_mon = 11;
	n.start.tm_mday = 31;
	n.start.tm_hour = 23;
	n.start.tm_min = n.start.tm_sec = 59;
	rama_config_logname_final(to, sizeof(to), &n, -1);
	assert_string_equal(to, "1000_a.out_id4242-77_12-31-86399-" NODE01 "_1.darshan");
	n.user = "../bad";
	n.jobid = -5;
	rama_config_logname_final(to, sizeof(to), &n, 0);
	assert_string_equal(to, ".._bad_a.out_id-5-77_12-31-86399-" NODE01 "_1.darshan");
	n.user = "";
	n.uid = 4294967294;
	rama_config_logname_final(to, sizeof(to), &n, 0);
	assert_memory_equal(to, "42949672_a.out", 14);
}

/* file systems allow 255 bytes */
static void long_programs_are_cut(void **state)
{
	struct rama_config_logname n = example();
	char exe[600], to[RAMA_CONFIG_LOGNAME_MOST], small[40];
	static const char end[] = "x_id4242-77_6-5-3723-" NODE01 "_1.darshan";

	(void)state;
	memset(exe, 'x', sizeof(exe) - 1);
	exe[sizeof(exe) - 1] = '\0';
	n.exe = exe;
	assert_int_equal(rama_config_logname_final(to, sizeof(to), &n, 0), 255);
	assert_string_equal(to + 255 - strlen(end), end);
	assert_int_equal(rama_config_logname_final(small, sizeof(small), &n, 0), 39);
}

static void folders_of_days(void **state)
{
	struct rama_config_logname n = example();
	char to[40];

	(void)state;
	assert_int_equal(rama_config_logname_folder(to, sizeof(to), "/logs", &n.start), 14);
	assert_string_equal(to, "/logs/2025/6/5");
	assert_int_equal(rama_config_logname_folder(to, 15, "/logs", &n.start), 14);
	assert_int_equal(rama_config_logname_folder(to, 14, "/logs", &n.start), 0);
	assert_int_equal(rama_config_logname_folder(to, 0, "/logs", &n.start), 0);
}

UNIT_GROUP(logname, test(ids_of_other_levels), test(names_of_logs), test(long_programs_are_cut),
	   test(folders_of_days))
