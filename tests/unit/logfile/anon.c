/* SPDX-License-Identifier: BSD-3-Clause */
/* anon.c: what a log that is given away still tells. */
#include "logs.h"

#include "core/recordid.h"
#include "logfile/anon.h"

static const char *const names[] = {
	"/home/ann/secret.dat",
	"/scratch/run/out.h5",
	"/scratch/run/out.h5:/g1/d",
	"/scratch/run/out.h5:/g2/d",
	"/scratch/other",
	"/elsewhere/file.nc",
	"relative.txt",
	"<STDOUT>",
	"heatmap:POSIX",
	"/home/ann/.hidden",
	"/home/ann/a.veryverylongsuffix",
	"/homework/plan.txt",
};

struct hidden {
	struct memfile file;
	struct reading in;
	struct rama_log_anon a;
};

/* a log of all the names, and a key for it */
static void hide_with(struct hidden *h, const char *key)
{
	struct rama_log_writer w;

	*h = (struct hidden){ 0 };
	writer_start(&w, &h->file, RAMA_LOG_ZLIB);
	for (size_t i = 0; i < LENGTH(names); i++)
		rama_log_writer_name(&w, rama_core_record_id(names[i], strlen(names[i])), names[i],
				     strlen(names[i]));
	rama_log_writer_name(&w, 12345, "/scratch/id is no hash of this", 30);
	writer_end(&w, 0);
	reading_open(&h->in, &h->file);
	h->a = (struct rama_log_anon){ .key = rama_sipkey_from(key, strlen(key)),
				       .log = &h->in.log };
}

static void hidden_free(struct hidden *h)
{
	reading_close(&h->in);
	memfile_free(&h->file);
}

static char *new_name(const struct hidden *h, const char *name)
{
	char to[RAMA_LOG_ANON_NAME];
	size_t n = rama_log_anon_name(&h->a, name, to);

	assert_int_equal(n, strlen(to));
	return strdup(to);
}

static bool ends_with(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

static void the_key_decides_the_names(void **state)
{
	struct hidden one, same, other;

	(void)state;
	hide_with(&one, "key");
	hide_with(&same, "key");
	hide_with(&other, "another key");
	for (size_t i = 0; i < LENGTH(names); i++) {
		bool public = names[i][0] == '<' || strncmp(names[i], "heatmap:", 8) == 0;
		char *a = new_name(&one, names[i]), *b = new_name(&same, names[i]),
		     *c = new_name(&other, names[i]);

		assert_string_equal(a, b);
		assert_int_equal(strcmp(a, c) == 0, public);
		assert_int_equal(strcmp(a, names[i]) == 0, public);
		free(a);
		free(b);
		free(c);
	}
	hidden_free(&one);
	hidden_free(&same);
	hidden_free(&other);
}

static void nothing_of_a_name_is_left_but_mount_and_suffix(void **state)
{
	static const struct {
		const char *name, *mount, *suffix;
	} golden[] = {
		{ "/home/ann/secret.dat", "/home/", ".dat" },
		{ "/scratch/run/out.h5", "/scratch/", ".h5" },
		{ "/scratch/other", "/scratch/", "" },
		{ "/elsewhere/file.nc", "/", ".nc" },
		{ "relative.txt", "", ".txt" },
		{ "/home/ann/.hidden", "/home/", "" }, /* a name, no suffix */
		{ "/home/ann/a.veryverylongsuffix", "/home/", "" },
	};
	struct hidden h;

	(void)state;
	hide_with(&h, "key");
	for (size_t i = 0; i < LENGTH(golden); i++) {
		char *n = new_name(&h, golden[i].name);
		size_t mount = strlen(golden[i].mount), suffix = strlen(golden[i].suffix);

		assert_memory_equal(n, golden[i].mount, mount);
		assert_true(ends_with(n, golden[i].suffix));
		assert_int_equal(strlen(n), mount + 16 + suffix);
		assert_int_equal(strspn(n + mount, "0123456789abcdef"), 16);
		free(n);
	}
	hidden_free(&h);
}

static void a_dataset_stays_in_its_file(void **state)
{
	struct hidden h;
	char *file, *one, *two;

	(void)state;
	hide_with(&h, "key");
	file = new_name(&h, "/scratch/run/out.h5");
	one = new_name(&h, "/scratch/run/out.h5:/g1/d");
	two = new_name(&h, "/scratch/run/out.h5:/g2/d");
	assert_memory_equal(one, file, strlen(file));
	assert_memory_equal(two, file, strlen(file));
	assert_int_equal(one[strlen(file)], ':');
	assert_string_not_equal(one, two);
	assert_null(strstr(one, "g1"));
	free(file);
	free(one);
	free(two);
	hidden_free(&h);
}

static void ids_are_hashes_of_the_new_names(void **state)
{
	struct hidden h;

	(void)state;
	hide_with(&h, "key");
	for (size_t i = 0; i < LENGTH(names); i++) {
		char *n = new_name(&h, names[i]);
		uint64_t id = rama_core_record_id(names[i], strlen(names[i]));

		assert_true(rama_log_anon_id(&h.a, id) == rama_core_record_id(n, strlen(n)));
		free(n);
	}
	assert_int_equal(rama_log_anon_id(&h.a, 0), 0); /* no id */
	/* ids that are no hashes, and ids without a name: still hidden, still the same each time */
	assert_true(rama_log_anon_id(&h.a, 12345) != 12345);
	assert_true(rama_log_anon_id(&h.a, 777) != 777);
	assert_true(rama_log_anon_id(&h.a, 777) == rama_log_anon_id(&h.a, 777));
	assert_true(rama_log_anon_id(&h.a, 777) != rama_log_anon_id(&h.a, 778));
	hidden_free(&h);
}

static void the_longest_names_fit(void **state)
{
	char name[5000], mount[3000];
	struct hidden h;
	struct rama_log_mount m = { mount, "x", sizeof(mount) - 1, 0 };
	char *n;

	(void)state;
	memset(mount, 'm', sizeof(mount));
	mount[0] = '/';
	mount[sizeof(mount) - 1] = '\0';
	memset(name, 'm', sizeof(name));
	name[0] = '/';
	memcpy(name + sizeof(name) - 5, ".dat", 5);
	hide_with(&h, "key");
	h.in.log.mounts = &m; /* longer than a log could hold */
	h.in.log.n_mounts = 1;
	n = new_name(&h, name);
	assert_memory_equal(n, mount, sizeof(mount) - 1);
	assert_true(ends_with(n, ".dat"));
	free(n);
	hidden_free(&h);
}

static void make_record(struct sample *s, unsigned module, uint64_t id)
{
	struct rng r = { 18 };

	sample_make(s, module, &r, 1);
	s->w[RAMA_TAB_ID].u = id;
}

static void references_follow_the_new_ids(void **state)
{
	uint64_t file = rama_core_record_id(names[1], strlen(names[1])),
		 dataset = rama_core_record_id(names[2], strlen(names[2]));
	struct hidden h;
	struct sample s;

	(void)state;
	hide_with(&h, "key");
	make_record(&s, RAMA_TAB_MOD_H5D, dataset);
	s.w[RAMA_TAB_H5D_FILE_REC_ID].u = file;
	rama_log_anon_record(&h.a, &s.r);
	assert_true(s.w[RAMA_TAB_ID].u == rama_log_anon_id(&h.a, dataset));
	assert_true(s.w[RAMA_TAB_H5D_FILE_REC_ID].u == rama_log_anon_id(&h.a, file));
	make_record(&s, RAMA_TAB_MOD_PNETCDF_VAR, dataset);
	s.w[RAMA_TAB_PNETCDF_VAR_FILE_REC_ID].u = file;
	rama_log_anon_record(&h.a, &s.r);
	assert_true(s.w[RAMA_TAB_PNETCDF_VAR_FILE_REC_ID].u == rama_log_anon_id(&h.a, file));
	make_record(&s, RAMA_TAB_MOD_POSIX, file);
	s.w[RAMA_TAB_POSIX_RENAMED_FROM].u = dataset;
	rama_log_anon_record(&h.a, &s.r);
	assert_true(s.w[RAMA_TAB_POSIX_RENAMED_FROM].u == rama_log_anon_id(&h.a, dataset));
	make_record(&s, RAMA_TAB_MOD_POSIX, file);
	s.w[RAMA_TAB_POSIX_RENAMED_FROM].u = 0;
	rama_log_anon_record(&h.a, &s.r);
	assert_int_equal(s.w[RAMA_TAB_POSIX_RENAMED_FROM].u, 0);
	make_record(&s, RAMA_TAB_MOD_EXTRA, file);
	s.w[RAMA_TAB_EXTRA_RENAMED_FROM].u = dataset;
	s.w[RAMA_TAB_EXTRA_STREAM].u = dataset;
	rama_log_anon_record(&h.a, &s.r);
	assert_true(s.w[RAMA_TAB_EXTRA_RENAMED_FROM].u == rama_log_anon_id(&h.a, dataset));
	assert_true(s.w[RAMA_TAB_EXTRA_STREAM].u == rama_log_anon_id(&h.a, dataset));
	hidden_free(&h);
}

static void counters_stay(void **state)
{
	struct hidden h;
	struct sample s, before;

	(void)state;
	hide_with(&h, "key");
	make_record(&s, RAMA_TAB_MOD_STDIO, 5);
	before = s;
	rama_log_anon_record(&h.a, &s.r);
	assert_true(s.w[RAMA_TAB_ID].u != 5);
	assert_memory_equal(&s.w[RAMA_TAB_RANK], &before.w[RAMA_TAB_RANK], 248 - 8);
	hidden_free(&h);
}

/* what is left of a command line of n bytes */
static size_t hidden_command(struct hidden *h, const char *command, char to[100])
{
	struct sample s;

	make_record(&s, RAMA_TAB_MOD_PROCESS, 5);
	s.r.array[0] = s.array[0];
	s.r.count[0] = s.w[RAMA_TAB_PROCESS_COMMAND_WORDS].u = (strlen(command) + 7) / 8;
	memset(s.array[0], 0, sizeof(s.array[0]));
	memcpy(s.array[0], command, strlen(command));
	memset(&s.w[RAMA_TAB_PROCESS_HOSTNAME], 0, 64);
	memcpy(&s.w[RAMA_TAB_PROCESS_HOSTNAME], "node17", 6);
	rama_log_anon_record(&h->a, &s.r);
	assert_memory_equal(&s.w[RAMA_TAB_PROCESS_HOSTNAME], "host-", 5);
	assert_int_equal(s.r.count[0], s.w[RAMA_TAB_PROCESS_COMMAND_WORDS].u);
	assert_true(s.r.count[0] <= 6);
	memset(to, 0, 100);
	memcpy(to, s.array[0], 8 * s.r.count[0]);
	for (size_t i = 8 * s.r.count[0]; i < sizeof(s.array[0]); i++)
		assert_int_equal(((char *)s.array[0])[i], 0); /* nothing is left behind */
	return strlen(to);
}

static void command_lines_of_processes_are_hidden(void **state)
{
	char one[100], other[100], text[1000], exe[64];
	struct rama_log_job job = { .exe = "secret --password 1234567890 --and more of it" };
	struct hidden h;

	(void)state;
	hide_with(&h, "key");
	assert_int_equal(hidden_command(&h, job.exe, one), 42);
	rama_log_anon_job(&h.a, &job, exe);
	assert_string_equal(one, exe); /* the same program is the same everywhere */
	assert_int_equal(hidden_command(&h, "secret with other arguments that are long", other),
			 42);
	assert_memory_equal(one, other, 20);
	assert_string_not_equal(one, other);
	memset(text, 's', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(hidden_command(&h, text, other), 42);
	assert_int_equal(hidden_command(&h, "ls", other), 8);
	assert_memory_equal(other, "exe-", 4);
	assert_int_equal(hidden_command(&h, "", other), 0);
	hidden_free(&h);
}

static void hosts_are_hidden_and_told_apart(void **state)
{
	struct hidden h;
	struct sample a, b;

	(void)state;
	hide_with(&h, "key");
	make_record(&a, RAMA_TAB_MOD_DXT_POSIX, 5);
	make_record(&b, RAMA_TAB_MOD_DXT_POSIX, 5);
	memset(a.w[RAMA_TAB_DXT_HOSTNAME].b, 'h', 64); /* fills all of its room */
	memset(b.w[RAMA_TAB_DXT_HOSTNAME].b, 0, 64);
	memcpy(b.w[RAMA_TAB_DXT_HOSTNAME].b, "node17", 6);
	rama_log_anon_record(&h.a, &a.r);
	rama_log_anon_record(&h.a, &b.r);
	assert_null(strstr(b.w[RAMA_TAB_DXT_HOSTNAME].b, "node17"));
	assert_true(strnlen(a.w[RAMA_TAB_DXT_HOSTNAME].b, 64) < 64);
	assert_string_not_equal(a.w[RAMA_TAB_DXT_HOSTNAME].b, b.w[RAMA_TAB_DXT_HOSTNAME].b);
	make_record(&a, RAMA_TAB_MOD_APMPI, 5);
	memset(a.w[RAMA_TAB_APMPI_PROCESSOR_NAME].b, 'h', 128);
	rama_log_anon_record(&h.a, &a.r);
	/* behind host-... */
	assert_null(memchr(a.w[RAMA_TAB_APMPI_PROCESSOR_NAME].b + 4, 'h', 124));
	hidden_free(&h);
}

static void job_numbers_of_launchers_are_hidden_too(void **state)
{
	struct rng r = { 19 };
	struct hidden h;
	struct sample s;

	(void)state;
	hide_with(&h, "key");
	sample_make(&s, RAMA_TAB_MOD_APXC, &r, 0);
	s.w[RAMA_TAB_APXC_HEADER_APPLICATION_ID].u = 4242;
	rama_log_anon_record(&h.a, &s.r);
	assert_true(s.w[RAMA_TAB_APXC_HEADER_APPLICATION_ID].u != 4242);
	make_record(&s, RAMA_TAB_MOD_BGQ, 5);
	s.w[RAMA_TAB_BGQ_CSJOBID].i = 4242;
	rama_log_anon_record(&h.a, &s.r);
	assert_true(s.w[RAMA_TAB_BGQ_CSJOBID].i != 4242);
	hidden_free(&h);
}

static void user_job_and_command_line_are_hidden(void **state)
{
	struct rama_log_job a = plain_job, b = plain_job;
	char exe[2][64];
	struct hidden h;

	(void)state;
	hide_with(&h, "key");
	b.exe = "/opt/bin/app --steps 11";
	rama_log_anon_job(&h.a, &a, exe[0]);
	rama_log_anon_job(&h.a, &b, exe[1]);
	assert_true(a.uid >= 0 && a.uid != plain_job.uid);
	assert_true(a.jobid >= 0 && a.jobid != plain_job.jobid);
	assert_null(strstr(a.exe, "app"));
	assert_null(strstr(a.exe, "steps"));
	assert_string_not_equal(a.exe, b.exe);
	assert_memory_equal(a.exe, b.exe, strcspn(a.exe, " ")); /* the same program */
	assert_int_equal(a.nprocs, plain_job.nprocs);
	assert_int_equal(a.start_sec, plain_job.start_sec);
	hidden_free(&h);
}

UNIT_GROUP(anon, test(the_key_decides_the_names),
	   test(nothing_of_a_name_is_left_but_mount_and_suffix), test(a_dataset_stays_in_its_file),
	   test(ids_are_hashes_of_the_new_names), test(the_longest_names_fit),
	   test(references_follow_the_new_ids), test(counters_stay),
	   test(command_lines_of_processes_are_hidden), test(hosts_are_hidden_and_told_apart),
	   test(job_numbers_of_launchers_are_hidden_too),
	   test(user_job_and_command_line_are_hidden))
