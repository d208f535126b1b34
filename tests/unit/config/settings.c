/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "config/settings.h"
#include "vars.h"

#define MIB ((uint64_t)1 << 20)
#define ON(name) rama_config_settings_module(&s, RAMA_TAB_MOD_##name)

static struct rama_config_settings s;

static void load(const char *file, const char **vars)
{
	memset(&s, 0xa5, sizeof(s)); /* init has to set what is used */
	rama_config_settings_init(&s);
	if (file != NULL)
		rama_config_settings_file(&s, file, strlen(file));
	if (vars != NULL)
		rama_config_settings_env(&s, vars_lookup, vars);
}

static bool observes(unsigned module, const char *path)
{
	return rama_config_settings_observes(&s, module, path, strlen(path));
}

static bool app(const char *name)
{
	return rama_config_settings_app(&s, name, strlen(name));
}

static void built_in_values(void **state)
{
	(void)state;
	load(NULL, VARS("HOME=/home/u"));
	assert_false(s.disabled || s.nonmpi || s.dump || s.timing || s.keep_ranks || s.trace);
	assert_true(ON(POSIX) && ON(STDIO) && ON(MPIIO) && ON(HEATMAP) && ON(EXTRA) && ON(PROCESS));
	assert_false(ON(DXT_POSIX) || ON(DXT_MPIIO) || ON(DXT_STDIO));
	assert_false(rama_config_settings_module(&s, 40) || rama_config_settings_module(&s, 64));
	assert_int_equal(s.records[RAMA_TAB_MOD_POSIX], RAMA_CONFIG_SETTINGS_ANY);
	assert_int_equal(s.records[RAMA_TAB_MOD_STDIO], RAMA_CONFIG_SETTINGS_ANY);
	assert_true(s.memory == 64 * MIB && s.name_memory == 0 && s.mod_memory == 0);
	assert_true(s.mem_align == 8 && s.small_trigger < 0 && s.unaligned_trigger < 0);
	assert_true(rama_config_settings_trace_memory(&s) == 0);
	assert_false(s.has_jobid);
	assert_string_equal(s.job, "");
	assert_string_equal(s.dir, "");
	assert_string_equal(s.log_file, "");
	assert_string_equal(s.log_dir, "");
	assert_string_equal(s.log_path, "");
	assert_string_equal(s.jobid_variable, "");
	assert_int_equal(s.n_warnings, 0);
	assert_true(rama_config_settings_rank(&s, 0) && app("ior") &&
		    observes(RAMA_TAB_MOD_POSIX, "/home/u/a"));
}

static void each_line_of_a_file(void **state)
{
	(void)state;
	load("# a comment\n"
	     "   # another one\n"
	     "\n"
	     "MODMEM\t8.9\n"
	     "  NAMEMEM   2\r\n"
	     "MEM_ALIGNMENT 0.5\n"
	     "JOBID MY_ID\n"
	     "LOGHINTS a=b;c=d\n"
	     "LOGPATH /logs\n"
	     "DUMP_CONFIG\n"
	     "INTERNAL_TIMING\n"
	     "DISABLE_SHARED_REDUCTION\n"
	     "MOD_DISABLE MPI-IO,BG/Q\n"
	     "MOD_ENABLE DXT_POSIX\n"
	     "DXT_SMALL_IO_TRIGGER 0.25\n"
	     "DXT_UNALIGNED_IO_TRIGGER .5\n"
	     "MAX_RECORDS 5000 POSIX,STDIO\n"
	     "MAX_RECORDS 10 DXT_POSIX,HEATMAP", /* no newline */
	     NULL);
	assert_string_equal(s.warnings, "");
	assert_true(s.mod_memory == 8 * MIB); /* a fraction is cut off */
	assert_true(s.name_memory == 2 * MIB);
	assert_true(s.mem_align == 1);
	assert_string_equal(s.jobid_variable, "MY_ID");
	assert_string_equal(s.log_hints, "a=b;c=d");
	assert_string_equal(s.log_path, "/logs");
	assert_true(s.dump && s.timing && s.keep_ranks);
	assert_true(ON(POSIX) && ON(DXT_POSIX) && !ON(MPIIO) && !ON(BGQ) && !ON(DXT_MPIIO));
	assert_true(s.small_trigger == 0.25 && s.unaligned_trigger == 0.5);
	assert_int_equal(s.records[RAMA_TAB_MOD_POSIX], 5000);
	assert_int_equal(s.records[RAMA_TAB_MOD_STDIO], 5000);
	assert_int_equal(s.records[RAMA_TAB_MOD_MPIIO], RAMA_CONFIG_SETTINGS_ANY);
	assert_int_equal(s.records[RAMA_TAB_MOD_HEATMAP], 1); /* its number is fixed */
	assert_true(rama_config_settings_trace_memory(&s) == 10 * 1024);
}

static void variables_win_over_the_file(void **state)
{
	(void)state;
	load("MODMEM 8\nNAMEMEM 2\nLOGPATH /file\nJOBID A\nMEM_ALIGNMENT 16\n",
	     VARS("DARSHAN_MODMEM=3", "DARSHAN_LOGPATH=/env", "DARSHAN_JOBID=B",
		  "DARSHAN_MEMALIGN=64", "DARSHAN_LOGFILE=/x.darshan",
		  "DARSHAN_ENABLE_NONMPI=", "DARSHAN_DUMP_CONFIG=0",
		  "DARSHAN_DXT_SMALL_IO_TRIGGER=0.1", "DARSHAN_LOGHINTS=h=1"));
	assert_true(s.mod_memory == 3 * MIB && s.name_memory == 2 * MIB && s.mem_align == 64);
	assert_string_equal(s.log_path, "/env");
	assert_string_equal(s.jobid_variable, "B");
	assert_string_equal(s.log_file, "/x.darshan");
	assert_string_equal(s.log_hints, "h=1");
	assert_true(s.nonmpi && s.dump);	      /* being set is enough, whatever the value */
	assert_true(s.small_trigger == (double)0.1f); /* single precision */
}

static void our_variables(void **state)
{
	(void)state;
	load("NAMEMEM 2\nMAX_RECORDS 7 *\n",
	     VARS("IORAMA_DIR=/seg", "IORAMA_JOB=run-1", "IORAMA_JOBID=123456789012",
		  "IORAMA_LOG=/l.darshan", "DARSHAN_LOGFILE=/x", "IORAMA_LOG_DIR=/logs",
		  "IORAMA_RECORDS=99", "IORAMA_NAME_MEMORY=3MiB", "DARSHAN_NAMEMEM=4",
		  "IORAMA_MEMORY=5M"));
	assert_string_equal(s.warnings, "");
	assert_string_equal(s.dir, "/seg");
	assert_string_equal(s.job, "run-1");
	assert_true(s.has_jobid && s.jobid == 123456789012);
	assert_string_equal(s.log_file, "/l.darshan");
	assert_string_equal(s.log_dir, "/logs");
	assert_int_equal(s.records[RAMA_TAB_MOD_POSIX], 99);
	assert_int_equal(s.records[RAMA_TAB_MOD_EXTRA], 99);
	assert_int_equal(s.records[RAMA_TAB_MOD_DXT_POSIX], 7);
	assert_true(s.name_memory == 3 * MIB && s.memory == 5 * MIB);
}

static void memory_of_all_modules(void **state)
{
	(void)state;
	load("MAX_RECORDS 5000 POSIX,STDIO\n", VARS("DARSHAN_MODMEM=1"));
	assert_true(rama_config_settings_pool(&s) == MIB - 8 * 3248); /* heat maps take theirs */
	assert_int_equal(rama_config_settings_record(RAMA_TAB_MOD_POSIX), 704);
	assert_int_equal(rama_config_settings_record(RAMA_TAB_MOD_STDIO), 248);
	assert_int_equal(rama_config_settings_record(RAMA_TAB_MOD_MPIIO), 560);
	assert_int_equal(rama_config_settings_record(RAMA_TAB_MOD_DXT_POSIX), 0);
	assert_int_equal(rama_config_settings_record(RAMA_TAB_MOD_EXTRA), 0);
	assert_int_equal(rama_config_settings_records(&s, RAMA_TAB_MOD_POSIX),
			 (MIB - 8 * 3248) / 704);
	assert_int_equal(rama_config_settings_records(&s, RAMA_TAB_MOD_STDIO),
			 (MIB - 8 * 3248) / 248);
	assert_int_equal(rama_config_settings_records(&s, RAMA_TAB_MOD_MPIIO),
			 (MIB - 8 * 3248) / 560);
	assert_true(rama_config_settings_records(&s, RAMA_TAB_MOD_EXTRA) ==
		    RAMA_CONFIG_SETTINGS_ANY);
	load("MAX_RECORDS 0 POSIX\n", VARS("DARSHAN_MODMEM=4", "DARSHAN_MOD_DISABLE=HEATMAP"));
	assert_true(rama_config_settings_pool(&s) == 4 * MIB);
	assert_int_equal(rama_config_settings_records(&s, RAMA_TAB_MOD_POSIX), 0);
	load("", NULL);
	assert_true(rama_config_settings_pool(&s) == UINT64_MAX);
	assert_true(rama_config_settings_records(&s, RAMA_TAB_MOD_POSIX) ==
		    RAMA_CONFIG_SETTINGS_ANY);
}

static bool hidden(const char *path)
{
	return !rama_config_settings_observes(&s, RAMA_TAB_MOD_POSIX, path, strlen(path));
}

static void files_of_mpi(void **state)
{
	static const char *const theirs[] = {
		"/",
		"/sys",
		"/dev",
		"/tmp",
		"/scratch/me",
		"/tmp/ompi.node-1.x.1000",
		"/tmp/ompi.vm.0/pid.77/pmix_dstor_ds12_77/dstore_sm.lock",
		"/tmp/ompi.vm.0/pid.7/hwloc.sm",
		"/scratch/me/ompi.vm.0/x",
		"/tmp/mpich_shar_tmpHNsQwt",
		"/scratch/me/ucx_shm_posix_5ef3187",
		"/tmp/vader_segment.vm.0.368e0001.0",
		"/scratch/me/open_mpi.0000",
		"/spool/pmix.7.0/a/b",
		"/spool/pmix.7.0",
		"/data/.iorama-emulate",
		"/data/.iorama-emulate.abcdefgh",
	};
	static const char *const users[] = {
		"/home/me/ompi.dat",
		"/home/me/ompi.vm.0/pid.7/x",
		"/data/mpich_shar_tmpHNsQwt",
		"/tmp/ompi.dat",
		"/tmp/ompi.1000",
		"/tmp/ompi.vm.x/pid.7/y",
		"/tmp/me/ompi.vm.0/x",
		"/tmpfile",
		"/scratch/me2/ompi.vm.0/x",
		"/scratch/me/ompi.vm.0x/y",
		"/tmp/vader_segment.csv",
		"/spool/pmix.7.01/a",
		"/data/.iorama-emulated",
		"/system",
		"/devices/x",
		"/tmp/open_mpi.",
		"/tmp/open_mpi.00a",
		"/home/me/run/out",
		"/tmp/pmix_dstor",
		"/data/x.iorama-emulate",
	};

	(void)state;
	load("", VARS("TMPDIR=/scratch/me/", "PMIX_SERVER_TMPDIR=/spool/pmix.7.0",
		      "PWD=/home/me/run", "OMPI_FILE_LOCATION=/work"));
	for (size_t i = 0; i < sizeof(theirs) / sizeof(*theirs); i++)
		if (!hidden(theirs[i]))
			fail_msg("%s is recorded", theirs[i]);
	for (size_t i = 0; i < sizeof(users) / sizeof(*users); i++)
		if (hidden(users[i]))
			fail_msg("%s is not recorded", users[i]);
	/* one that names all temporary files says nothing */
	load("",
	     VARS("TMPDIR=/scratch", "PMIX_SERVER_TMPDIR=/tmp/", "OMPI_FILE_LOCATION=/scratch"));
	assert_true(!hidden("/tmp/mine") && !hidden("/scratch/mine") && hidden("/scratch"));
	/* asking for them brings them back */
	load("", VARS("IORAMA_INCLUDE=*/mpich_shar*\n/"));
	assert_true(!hidden("/tmp/mpich_shar_tmpHNsQwt") && !hidden("/") && hidden("/sys"));
	load("NAME_INCLUDE ^/tmp/ompi POSIX\n", NULL);
	assert_true(!hidden("/tmp/ompi.vm.0/pid.7/x"));
}

static void live_events(void **state)
{
	(void)state;
	load("", NULL);
	assert_int_equal(s.live, 0);
	assert_true(s.live_memory == 64 * MIB);
	assert_string_equal(s.live_tag, "");
	load("", VARS("IORAMA_LIVE=1", "IORAMA_LIVE_MEMORY=64K", "IORAMA_LIVE_TAG=my.site-2_x"));
	assert_int_equal(s.live, 511);
	assert_true(s.live_memory == 65536);
	assert_string_equal(s.live_tag, "my.site-2_x");
	load("", VARS("IORAMA_LIVE=POSIX,,H5F"));
	assert_int_equal(s.live, 1 | 32);
	load("", VARS("IORAMA_LIVE=0"));
	assert_int_equal(s.live, 0);
	assert_string_equal(s.warnings, "");
	load("", VARS("IORAMA_LIVE=POSIX,DISK", "IORAMA_LIVE_TAG=a b", "IORAMA_LIVE_MEMORY=x"));
	assert_int_equal(s.live, 0);
	assert_string_equal(s.live_tag, "");
	assert_int_equal(s.n_warnings, 3);
}

static void switched_off(void **state)
{
	static const struct {
		const char *var;
		bool off;
	} rows[] = { { "IORAMA_DISABLE=1", true }, { "IORAMA_DISABLE=0", false },
		     { "IORAMA_DISABLE=", false }, { "DARSHAN_DISABLE=1", true },
		     { "DARSHAN_DISABLE=", true }, { "DARSHAN_DISABLE=0", true } };

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		load(NULL, VARS(rows[i].var));
		assert_int_equal(s.disabled, rows[i].off);
	}
	load(NULL, VARS("DARSHAN_DISABLE=1", "IORAMA_DISABLE=0"));
	assert_true(s.disabled);
}

static void modules_on_and_off(void **state)
{
	static const struct {
		const char *file;
		const char *vars[4];
		bool posix, stdio, dxt;
	} rows[] = {
		{ "", { NULL }, true, true, false },
		{ "", { "DARSHAN_MOD_DISABLE=POSIX" }, false, true, false },
		{ "", { "DARSHAN_MOD_DISABLE=*" }, false, false, false },
		{ "", { "DARSHAN_MOD_DISABLE=,POSIX,,STDIO," }, false, false, false },
		{ "", { "DARSHAN_MOD_DISABLE=*", "DARSHAN_MOD_ENABLE=STDIO" }, false, true, false },
		{ "",
		  { "DARSHAN_MOD_DISABLE=POSIX,STDIO", "DARSHAN_MOD_ENABLE=POSIX" },
		  true,
		  false,
		  false },
		{ "", { "DARSHAN_MOD_ENABLE=*" }, true, true, true },
		{ "", { "DARSHAN_MOD_ENABLE=DXT_POSIX" }, true, true, true },
		{ "", { "DXT_ENABLE_IO_TRACE=1" }, true, true, true },
		{ "", { "DXT_ENABLE_IO_TRACE=" }, true, true, true },
		{ "", { "IORAMA_TRACE=1" }, true, true, true },
		{ "", { "IORAMA_TRACE=0" }, true, true, false },
		{ "", { "IORAMA_TRACE=0", "DXT_ENABLE_IO_TRACE=1" }, true, true, false },
		{ "", { "DXT_ENABLE_IO_TRACE=1", "DARSHAN_MOD_DISABLE=POSIX" }, false, true, true },
		{ "MOD_ENABLE DXT_POSIX\n", { "IORAMA_TRACE=" }, true, true, true },
		/* what the file says counts, until a variable of the pair is there */
		{ "MOD_DISABLE POSIX\nMOD_ENABLE DXT_POSIX\n", { NULL }, false, true, true },
		{ "MOD_DISABLE POSIX\nMOD_ENABLE DXT_POSIX\n",
		  { "DARSHAN_MOD_DISABLE=STDIO" },
		  true,
		  false,
		  false },
		{ "MOD_DISABLE POSIX\nMOD_ENABLE DXT_POSIX\n",
		  { "DARSHAN_MOD_ENABLE=STDIO" },
		  true,
		  true,
		  false },
		{ "MOD_DISABLE POSIX\nMOD_DISABLE STDIO\n", { NULL }, false, false, false },
		{ "MOD_DISABLE *\n", { "IORAMA_TRACE=1" }, false, false, true },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		load(rows[i].file, (const char **)(uintptr_t)rows[i].vars);
		if (ON(POSIX) != rows[i].posix || ON(STDIO) != rows[i].stdio ||
		    ON(DXT_POSIX) != rows[i].dxt)
			fail_msg("row %zu is wrong", i);
		assert_int_equal(s.n_warnings, 0);
	}
}

static void memory_for_traces(void **state)
{
	(void)state;
	load(NULL, VARS("DXT_ENABLE_IO_TRACE=1"));
	assert_true(rama_config_settings_trace_memory(&s) == 3 * 2 * MIB);
	load(NULL, VARS("DARSHAN_MOD_ENABLE=DXT_POSIX"));
	assert_true(rama_config_settings_trace_memory(&s) == 2 * MIB);
	load(NULL, VARS("IORAMA_TRACE=1"));
	assert_true(rama_config_settings_trace_memory(&s) == 256 * MIB);
	load(NULL, VARS("IORAMA_TRACE=1", "IORAMA_TRACE_MEMORY=1G"));
	assert_true(rama_config_settings_trace_memory(&s) == 1024 * MIB);
	load(NULL, VARS("DXT_ENABLE_IO_TRACE=1", "IORAMA_TRACE_MEMORY=5M"));
	assert_true(rama_config_settings_trace_memory(&s) == 5 * MIB);
	load(NULL, VARS("IORAMA_TRACE_MEMORY=5M"));
	assert_true(rama_config_settings_trace_memory(&s) == 0);
}

static void system_files_are_not_recorded(void **state)
{
	static const char *const excluded[] = { "/etc/passwd",
						"/dev/null",
						"/usr/lib/a",
						"/bin/sh",
						"/boot/x",
						"/lib/a",
						"/opt/a",
						"/sbin/a",
						"/sys/a",
						"/proc/1",
						"/var/log",
						"/dev/shm",
						"/dev/shm/sem.a",
						"/dev/shm/psm_1",
						"/dev/shm/iorama-0/a/b",
						"/dev/shm/vader_segment.h.0.1.2" };
	static const char *const recorded[] = { "/etc",
						"/etcetera",
						"/home/u/a",
						"/data",
						"/liberty/a",
						"/lib64/a",
						"",
						"<STDIN>",
						"/Var/a",
						"/var/opt/cray/dws/mounts/a",
						"/e",
						"etc/a",
						"/{a",
						"/v",
						"/dev/shm/data.h5",
						"/dev/shm/run/sem.a",
						"/dev/shm/x/iorama-0" };

	(void)state;
	load(NULL, NULL);
	for (size_t i = 0; i < LENGTH(excluded); i++) {
		if (observes(RAMA_TAB_MOD_POSIX, excluded[i]) ||
		    observes(RAMA_TAB_MOD_STDIO, excluded[i]))
			fail_msg("'%s' is recorded", excluded[i]);
		assert_true(observes(RAMA_TAB_MOD_HEATMAP, excluded[i]));
		assert_true(observes(RAMA_TAB_MOD_MDHIM, excluded[i]));
	}
	for (size_t i = 0; i < LENGTH(recorded); i++)
		if (!observes(RAMA_TAB_MOD_POSIX, recorded[i]))
			fail_msg("'%s' is not recorded", recorded[i]);
	assert_false(observes(RAMA_TAB_MOD_DXT_POSIX, "/home/a")); /* not on */
}

static void names_by_expressions(void **state)
{
	(void)state;
	load("NAME_EXCLUDE \\.tmp$,^/scratch/[a-c]{1,2}/ POSIX\n"
	     "NAME_EXCLUDE secret *\n"
	     "NAME_INCLUDE ^/usr/data/ POSIX,STDIO\n"
	     "NAME_INCLUDE keep POSIX\n",
	     NULL);
	assert_string_equal(s.warnings, "");
	assert_false(observes(RAMA_TAB_MOD_POSIX, "/home/a.tmp"));
	assert_true(observes(RAMA_TAB_MOD_STDIO, "/home/a.tmp"));
	assert_true(observes(RAMA_TAB_MOD_POSIX, "/home/a.tmp2"));
	assert_false(observes(RAMA_TAB_MOD_POSIX, "/scratch/ab/x")); /* a comma in braces */
	assert_true(observes(RAMA_TAB_MOD_POSIX, "/scratch/abc/x"));
	assert_false(observes(RAMA_TAB_MOD_STDIO, "/home/secret"));
	assert_false(observes(RAMA_TAB_MOD_EXTRA, "/home/secret"));
	assert_true(observes(RAMA_TAB_MOD_POSIX, "/home/secret/keep"));
	assert_false(observes(RAMA_TAB_MOD_STDIO, "/home/secret/keep"));
	assert_true(observes(RAMA_TAB_MOD_POSIX, "/usr/data/a"));
	assert_true(observes(RAMA_TAB_MOD_STDIO, "/usr/data/a"));
	assert_false(observes(RAMA_TAB_MOD_EXTRA, "/usr/data/a"));
	assert_false(observes(RAMA_TAB_MOD_POSIX, "/usr/share/data/a"));
}

static void paths_by_globs(void **state)
{
	(void)state;
	load("NAME_INCLUDE keep *\n",
	     VARS("IORAMA_EXCLUDE=*.tmp\n/data/old/*\n", "IORAMA_INCLUDE=/etc/my*\n*/best.tmp"));
	assert_string_equal(s.warnings, "");
	assert_false(observes(RAMA_TAB_MOD_POSIX, "/home/a/b.tmp"));
	assert_false(observes(RAMA_TAB_MOD_STDIO, "/data/old/a/b"));
	assert_true(observes(RAMA_TAB_MOD_STDIO, "/data/older/a"));
	assert_true(observes(RAMA_TAB_MOD_POSIX, "/home/best.tmp"));
	assert_true(observes(RAMA_TAB_MOD_POSIX, "/etc/my.conf"));
	assert_false(observes(RAMA_TAB_MOD_POSIX, "/etc/passwd"));
	assert_true(observes(RAMA_TAB_MOD_POSIX, "/etc/keep"));
	assert_false(observes(RAMA_TAB_MOD_POSIX, "/home/keep.tmp")); /* the nearer wish wins */
}

static void programs(void **state)
{
	(void)state;
	load("APP_EXCLUDE ^/usr/bin/,git\nAPP_INCLUDE python\n", NULL);
	assert_false(app("/usr/bin/ls"));
	assert_false(app("/opt/git"));
	assert_true(app("/usr/bin/python3"));
	assert_true(app("/home/u/usr/bin/x"));
	/* a variable of the pair makes both lines void */
	load("APP_EXCLUDE ^/usr/bin/,git\nAPP_INCLUDE python\n", VARS("DARSHAN_APP_INCLUDE=x"));
	assert_true(app("/usr/bin/ls") && app("/opt/git"));
	load("NAME_EXCLUDE a *\nAPP_EXCLUDE .\nAPP_INCLUDE python\n",
	     VARS("DARSHAN_APP_EXCLUDE=py"));
	assert_true(app("/usr/bin/ls"));
	assert_false(app("python"));
	assert_false(observes(RAMA_TAB_MOD_POSIX, "/home/a")); /* other lines stay */
}

static void ranks(void **state)
{
	static const struct {
		const char *exclude, *include;
		const char *observed; /* ranks 0 to 9 */
	} rows[] = {
		{ "DARSHAN_RANK_EXCLUDE=3", "X=", "1110111111" },
		{ "DARSHAN_RANK_EXCLUDE=3,5:7", "X=", "1110100011" },
		{ "DARSHAN_RANK_EXCLUDE=:2,8:", "X=", "0001111100" },
		{ "DARSHAN_RANK_EXCLUDE=*", "X=", "0000000000" },
		{ "DARSHAN_RANK_EXCLUDE=*", "DARSHAN_RANK_INCLUDE=0,4:5", "1000110000" },
		{ "X=", "DARSHAN_RANK_INCLUDE=4", "1111111111" },
		{ "DARSHAN_RANK_EXCLUDE=:", "X=", "1111111111" }, /* no ranks */
		{ "DARSHAN_RANK_EXCLUDE=,3,,4,", "X=", "1110011111" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		load("", VARS(rows[i].exclude, rows[i].include));
		for (unsigned r = 0; r < 10; r++)
			if (rama_config_settings_rank(&s, r) != (rows[i].observed[r] == '1'))
				fail_msg("row %zu, rank %u", i, r);
	}
	load("RANK_EXCLUDE 0:4\n", NULL);
	assert_false(rama_config_settings_rank(&s, 4));
	load("RANK_EXCLUDE 0:4\n", VARS("DARSHAN_RANK_INCLUDE=9"));
	assert_true(rama_config_settings_rank(&s, 4));
}

static void what_is_wrong_is_said(void **state)
{
	static const struct {
		const char *file, *var, *warning;
	} rows[] = {
		{ "FOO 1\n", "X=", "line 1: config file: unknown directive 'FOO'\n" },
		{ "posix\n", "X=", "line 1: config file: unknown directive 'posix'\n" },
		{ "MEMALIGN 8\n", "X=", "line 1: config file: unknown directive 'MEMALIGN'\n" },
		{ "MODMEM\n", "X=", "line 1: MODMEM: its value is missing\n" },
		{ "MODMEM x\n", "X=", "line 1: MODMEM: no number: 'x'\n" },
		{ "# of the site\n\nLOG_DIR /logs\n  LEAST_BYTES 64Q\nTRACE 1\n",
		  "X=", "line 4: LEAST_BYTES: no size: '64Q'\n" },
		{ "", "DARSHAN_NAMEMEM=0.5", "DARSHAN_NAMEMEM: no number of MiB: '0.5'\n" },
		{ "", "DARSHAN_MOD_DISABLE=POSIX,Posix",
		  "DARSHAN_MOD_DISABLE: no such module: 'Posix'\n" },
		{ "MAX_RECORDS 5\n", "X=", "line 1: MAX_RECORDS: modules are missing\n" },
		{ "MAX_RECORDS -5 POSIX\n",
		  "X=", "line 1: MAX_RECORDS: no number of records: '-5'\n" },
		{ "NAME_EXCLUDE a( POSIX\n", "X=", "line 1: NAME_EXCLUDE: ( without ) 'a('\n" },
		{ "", "IORAMA_RECORDS=x", "IORAMA_RECORDS: no number: 'x'\n" },
		{ "", "IORAMA_TRACE_MEMORY=1X", "IORAMA_TRACE_MEMORY: no size: '1X'\n" },
		{ "", "IORAMA_JOB=../a", "IORAMA_JOB: no name of a job: '../a'\n" },
		{ "", "IORAMA_JOBID=12a", "IORAMA_JOBID: no number: '12a'\n" },
		{ "", "DARSHAN_RANK_EXCLUDE=1,x", "DARSHAN_RANK_EXCLUDE: no ranks: 'x'\n" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		load(rows[i].file, VARS(rows[i].var));
		assert_string_equal(s.warnings, rows[i].warning);
		assert_int_equal(s.n_warnings, 1);
	}
	assert_true(s.name_memory == 0 &&
		    s.records[RAMA_TAB_MOD_POSIX] == RAMA_CONFIG_SETTINGS_ANY);
	load("", VARS("DARSHAN_NAMEMEM=0.5"));
	assert_true(s.name_memory == 0);
}

static void warnings_are_bounded(void **state)
{
	(void)state;
	load(NULL, NULL);
	for (unsigned i = 0; i < 100; i++)
		rama_config_settings_file(&s, "NO_SUCH_THING_AS_THIS 1\n", 24);
	assert_int_equal(s.n_warnings, 100);
	assert_true(strlen(s.warnings) < sizeof(s.warnings) && strlen(s.warnings) > 900);
	assert_true(s.warnings[strlen(s.warnings) - 1] == '\n');
}

static void long_lists_are_cut(void **state)
{
	static char list[20000];
	size_t n = 0;

	(void)state;
	for (unsigned i = 0; i < 300; i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "file%u,", i);
	load(NULL, NULL);
	snprintf(list + n, sizeof(list) - n, " *\n");
	memmove(list + 13, list, n + 4);
	memcpy(list, "NAME_EXCLUDE ", 13);
	rama_config_settings_file(&s, list, strlen(list));
	assert_false(observes(RAMA_TAB_MOD_POSIX, "/home/file7"));
	assert_true(s.n_warnings > 0);
	memset(list, 'x', 5000);
	list[5000] = '\0';
	memcpy(list, "IORAMA_DIR=", 11);
	load(NULL, VARS(list));
	assert_string_equal(s.dir, "");
	assert_int_equal(s.n_warnings, 1);
}

static void config_file(void **state)
{
	(void)state;
	assert_string_equal(
		rama_config_settings_config(vars_lookup, VARS("DARSHAN_CONFIG_PATH=/a")), "/a");
	assert_null(rama_config_settings_config(vars_lookup, VARS("X=")));
}

/* whatever the file holds, the settings can be used */
static void any_bytes(void **state)
{
	static const char *const words[] = { "MODMEM",	    "MOD_DISABLE", "NAME_EXCLUDE",
					     "MAX_RECORDS", "APP_EXCLUDE", "RANK_EXCLUDE",
					     " ",	    "\n",	   "*",
					     "POSIX",	    ",",	   "1",
					     ":",	    "[a",	   "(",
					     "{2,",	    "\\",	   "1e9",
					     "-",	    "#",	   "DXT_POSIX",
					     "\t",	    "LOGPATH",	   "x" };
	struct rng r = { 3 };

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		char *text = malloc(600);
		size_t n = 0;

		assert_non_null(text);
		for (unsigned k = 0; k < 40; k++) {
			const char *w = words[rng_below(&r, LENGTH(words))];

			memcpy(text + n, w, strlen(w));
			n += strlen(w);
		}
		text = realloc(text, n);
		load(NULL, NULL);
		rama_config_settings_file(&s, text, n);
		free(text);
		observes(RAMA_TAB_MOD_POSIX, "/home/a");
		assert_true(s.n_rules <= RAMA_CONFIG_SETTINGS_RULES &&
			    s.n_ranges <= RAMA_CONFIG_SETTINGS_RANGES);
		assert_true(s.mem_align >= 1 && (s.name_memory == 0 || s.name_memory >= MIB));
	}
}

/* launchers are not observed themselves, unless somebody wants it; what only runs another is */
static void launchers(void **state)
{
	(void)state;
	rama_config_settings_init(&s);
	assert_true(rama_config_settings_launcher(&s, "/usr/bin/srun", 13));
	assert_true(rama_config_settings_launcher(&s, "orted", 5));
	assert_true(rama_config_settings_launcher(&s, "mpiexec.hydra -n 2", 13));
	assert_false(rama_config_settings_launcher(&s, "timeout", 7));
	assert_false(rama_config_settings_launcher(&s, "/srun/prog", 10));
	assert_false(rama_config_settings_launcher(&s, "srunner", 7));
	rama_config_settings_env(&s, vars_lookup, VARS("DARSHAN_APP_INCLUDE=srun"));
	assert_false(rama_config_settings_launcher(&s, "/usr/bin/srun", 13));
}

UNIT_GROUP(settings, test(launchers), test(built_in_values), test(each_line_of_a_file),
	   test(variables_win_over_the_file), test(our_variables), test(live_events),
	   test(memory_of_all_modules), test(files_of_mpi), test(switched_off),
	   test(modules_on_and_off), test(memory_for_traces), test(system_files_are_not_recorded),
	   test(names_by_expressions), test(paths_by_globs), test(programs), test(ranks),
	   test(what_is_wrong_is_said), test(warnings_are_bounded), test(long_lists_are_cut),
	   test(config_file), test(any_bytes))
