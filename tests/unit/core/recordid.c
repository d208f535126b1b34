/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "core/recordid.h"

static void ids_are_those_of_real_logs(void **state)
{
	static const struct {
		const char *name;
		uint64_t id;
	} golden[] = {
		{ "", 10211412111675192767u },
		{ "a", 2110215103713784748u },
		{ "<STDIN>", 14734109647742566553u },
		{ "<STDOUT>", 15920181672442173319u },
		{ "<STDERR>", 7238257241479193519u },
		{ "heatmap:POSIX", 16592106915301738621u },
		{ "heatmap:STDIO", 3989511027826779520u },
		{ "heatmap:MPIIO", 3668870418325792824u },
		{ "/home/wkliao/Darshan/TEST/mpi-io-test.tmp.dat", 9347516096890457488u },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(golden); i++)
		if (rama_core_record_id(golden[i].name, strlen(golden[i].name)) != golden[i].id)
			fail_msg("'%s' has another id", golden[i].name);
}

/* a length on either side of each border of the hash, every byte of which must count */
static void every_byte_counts(void **state)
{
	char name[64];

	(void)state;
	for (size_t n = 1; n <= 60; n++) {
		uint64_t id;

		memset(name, 'x', sizeof(name));
		id = rama_core_record_id(name, n);
		assert_true(id != rama_core_record_id(name, n - 1));
		for (size_t k = 0; k < n; k++) {
			name[k] ^= (char)0x80;
			assert_true(rama_core_record_id(name, n) != id);
			name[k] ^= (char)0x80;
		}
		name[n] = 'y'; /* beyond the end */
		assert_true(rama_core_record_id(name, n) == id);
	}
}

UNIT_GROUP(recordid, test(ids_are_those_of_real_logs), test(every_byte_counts))
