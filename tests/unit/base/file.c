/* SPDX-License-Identifier: BSD-3-Clause */
/* file.c: files to read, whatever they are; new files that are there complete or not at all. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

/* ---- a folder of its own for each test ------------------------------------------------------ */

static unsigned entries(const char *folder)
{
	DIR *d = opendir(folder);
	unsigned n = 0;

	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n - 2; /* . and .. */
}

struct place {
	char folder[64], path[96];
	int cwd;
	unsigned descriptors;
};

static int enter(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	p->descriptors = entries("/proc/self/fd");
	p->cwd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(p->folder, sizeof(p->folder), "/tmp/iorama-unit-XXXXXX");
	if (p->cwd < 0 || mkdtemp(p->folder) == NULL || chdir(p->folder) != 0)
		return -1;
	*state = p;
	return 0;
}

/* also checks that the test left no descriptor open */
static int leave(void **state)
{
	struct place *p = *state;
	DIR *d = opendir(".");
	struct dirent *e;
	int rc = 0;

	while ((e = readdir(d)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			(void)remove(e->d_name);
	closedir(d);
	rc = fchdir(p->cwd);
	close(p->cwd);
	rc |= rmdir(p->folder);
	if (entries("/proc/self/fd") != p->descriptors) {
		print_error("a descriptor was left open\n");
		rc = -1;
	}
	free(p);
	return rc;
}

#define in_folder(name) cmocka_unit_test_setup_teardown(name, enter, leave)

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void holds(const char *path, const char *want)
{
	char have[256] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	have[fread(have, 1, sizeof(have) - 1, f)] = '\0';
	fclose(f);
	assert_string_equal(have, want);
}

/* ---- reading -------------------------------------------------------------------------------- */

static void reads_as(struct rama_source *s, const char *want)
{
	char have[64] = "";
	struct rama_err e = { 0 };

	assert_int_equal(s->size, strlen(want));
	assert_int_equal(s->read(s->ctx, 0, have, strlen(want), &e), 0);
	assert_string_equal(have, want);
	memset(have, 0, sizeof(have));
	assert_int_equal(s->read(s->ctx, 2, have, 3, &e), 0);
	assert_memory_equal(have, want + 2, 3);
}

static void files_are_read_at_any_place(void **state)
{
	struct rama_file f;

	(void)state;
	put("log", "0123456789");
	assert_int_equal(rama_file_open(&f, "log", NULL), 0);
	reads_as(&f.src, "0123456789");
	rama_file_close(&f);
	rama_file_close(&f); /* harmless */
}

static void memory_is_read_at_any_place(void **state)
{
	struct rama_source s;

	(void)state;
	rama_source_memory(&s, "0123456789", 10);
	reads_as(&s, "0123456789");
}

static void what_cannot_be_opened_is_named(void **state)
{
	struct rama_err e = { 0 };
	struct rama_file f;

	(void)state;
	assert_int_equal(rama_file_open(&f, "missing", &e), RAMA_EMISSING);
	assert_non_null(strstr(e.text, strerror(ENOENT)));
	assert_int_equal(rama_file_open(&f, ".", &e), RAMA_EFORMAT);
	assert_non_null(strstr(e.text, "directory"));
	assert_int_equal(rama_file_open(&f, "missing", NULL), RAMA_EMISSING);
	rama_file_close(&f);
}

static void a_file_that_shrinks_is_an_error(void **state)
{
	struct rama_err e = { 0 };
	struct rama_file f;
	char have[10];

	(void)state;
	put("log", "0123456789");
	assert_int_equal(rama_file_open(&f, "log", &e), 0);
	assert_int_equal(truncate("log", 4), 0);
	assert_int_equal(f.src.read(f.src.ctx, 0, have, 10, &e), RAMA_ETRUNC);
	rama_file_close(&f);
}

/* standard input becomes `fd` while `then` runs */
static void with_input(int fd, void (*then)(void))
{
	int saved = dup(STDIN_FILENO);

	dup2(fd, STDIN_FILENO);
	close(fd);
	then();
	if (saved >= 0) {
		dup2(saved, STDIN_FILENO);
		close(saved);
	} else {
		close(STDIN_FILENO);
	}
}

static void input_reads_as_0_to_9(void)
{
	struct rama_file f;

	assert_int_equal(rama_file_open(&f, "-", NULL), 0);
	reads_as(&f.src, "0123456789");
	rama_file_close(&f);
}

static void a_dash_is_standard_input(void **state)
{
	int ends[2], fd;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "0123456789", 10), 10);
	close(ends[1]);
	with_input(ends[0], input_reads_as_0_to_9);

	put("log", "0123456789");
	with_input(open("log", O_RDONLY), input_reads_as_0_to_9);

	put("log", "read already0123456789"); /* what is left of it is the input */
	fd = open("log", O_RDONLY);
	assert_int_equal(lseek(fd, 12, SEEK_SET), 12);
	with_input(fd, input_reads_as_0_to_9);
	assert_int_equal(entries("."), 1); /* copies have no name */
}

static void a_named_pipe_is_read_to_its_end(void **state)
{
	struct rama_file f;
	pid_t writer;

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	writer = fork();
	if (writer == 0) {
		int fd = open("pipe", O_WRONLY);

		_exit(write(fd, "01234", 5) == 5 && write(fd, "56789", 5) == 5 ? 0 : 1);
	}
	assert_int_equal(rama_file_open(&f, "pipe", NULL), 0);
	reads_as(&f.src, "0123456789");
	rama_file_close(&f);
	assert_int_equal(waitpid(writer, NULL, 0), writer);
}

/* ---- writing -------------------------------------------------------------------------------- */

static void start(struct rama_newfile *f, const char *path, const char *text)
{
	struct rama_err e = { 0 };

	assert_int_equal(rama_newfile_open(f, path, &e), 0);
	/* out of order, as headers are written last */
	assert_int_equal(rama_newfile_write(f, 4, text + 4, strlen(text) - 4, &e), 0);
	assert_int_equal(rama_newfile_write(f, 0, text, 4, &e), 0);
}

static void old_content_stays_until_the_commit(void **state)
{
	struct rama_newfile f;

	(void)state;
	put("log", "old");
	start(&f, "log", "new content");
	holds("log", "old");
	assert_int_equal(rama_newfile_commit(&f, NULL), 0);
	holds("log", "new content");
	assert_int_equal(entries("."), 1);
	rama_newfile_abort(&f); /* harmless after the commit */
	holds("log", "new content");
}

static void a_new_file_appears_at_the_commit(void **state)
{
	struct rama_newfile f;

	(void)state;
	start(&f, "log", "content");
	assert_int_equal(access("log", F_OK), -1);
	assert_int_equal(rama_newfile_commit(&f, NULL), 0);
	holds("log", "content");
	assert_int_equal(entries("."), 1);
}

static void an_abort_leaves_nothing(void **state)
{
	struct rama_newfile f;

	(void)state;
	start(&f, "log", "content");
	rama_newfile_abort(&f);
	assert_int_equal(entries("."), 0);
	put("log", "old");
	start(&f, "log", "content");
	rama_newfile_abort(&f);
	rama_newfile_abort(&f);
	holds("log", "old");
	assert_int_equal(entries("."), 1);
}

static void the_mode_follows_the_umask(void **state)
{
	static const mode_t masks[] = { 022, 077, 027, 0 };

	(void)state;
	for (size_t i = 0; i < LENGTH(masks); i++) {
		mode_t before = umask(masks[i]);
		struct rama_newfile f;
		struct stat st;

		start(&f, "log", "content");
		assert_int_equal(rama_newfile_commit(&f, NULL), 0);
		assert_int_equal(umask(before), masks[i]); /* which it leaves alone */
		assert_int_equal(stat("log", &st), 0);
		assert_int_equal(st.st_mode & 07777, 0666 & ~masks[i]);
	}
}

static void places_that_cannot_be_written_are_errors(void **state)
{
	struct rama_err e = { 0 };
	struct rama_newfile f;

	(void)state;
	assert_int_equal(rama_newfile_open(&f, "missing/log", &e), RAMA_EIO);
	assert_non_null(strstr(e.text, strerror(ENOENT)));
	rama_newfile_abort(&f);
	assert_int_equal(mkdir("folder", 0700), 0);
	if (rama_newfile_open(&f, "folder", &e) == 0) {
		assert_int_equal(rama_newfile_write(&f, 0, "text", 4, &e), 0);
		assert_int_equal(rama_newfile_commit(&f, &e), RAMA_EIO);
		rama_newfile_abort(&f);
	}
	assert_int_equal(entries("."), 1);
	assert_int_equal(entries("folder"), 0);
}

/* what is no plain file, /dev/null for example, must be written to and not be replaced */
static void a_pipe_is_written_to_and_not_replaced(void **state)
{
	struct rama_err e = { 0 };
	struct rama_newfile f;
	struct stat st;
	char have[8] = "";
	int fd;

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	fd = open("pipe", O_RDWR | O_NONBLOCK);
	if (rama_newfile_open(&f, "pipe", &e) == 0) {
		assert_int_equal(rama_newfile_write(&f, 0, "content", 7, &e), 0);
		(void)rama_newfile_commit(&f, &e);
		rama_newfile_abort(&f);
	}
	(void)!read(fd, have, 7);
	close(fd);
	assert_int_equal(stat("pipe", &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(entries("."), 1);
	assert_string_equal(have, "content");
}

/* standard output becomes the file "out" while `f` is committed */
static int commit_to(const char *path, struct rama_newfile *f, struct rama_err *e)
{
	int saved, fd, rc;

	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	dup2(fd, STDOUT_FILENO);
	close(fd);
	rc = rama_newfile_commit(f, e);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	return rc;
}

static void a_dash_is_standard_output_at_the_commit(void **state)
{
	struct rama_newfile f;
	struct rama_err e = { 0 };

	(void)state;
	put("out", "");
	start(&f, "-", "content");
	holds("out", "");
	assert_int_equal(commit_to("out", &f, &e), 0);
	holds("out", "content");
	start(&f, "-", "more");
	rama_newfile_abort(&f);
	holds("out", "content");
	start(&f, "-", "more");
	assert_int_equal(commit_to("/dev/full", &f, &e), RAMA_EIO);
	rama_newfile_abort(&f);
	assert_int_equal(entries("."), 1);
}

static void all_bytes_go_to_a_descriptor_or_it_says_why(void **state)
{
	int ends[2], full = open("/dev/full", O_WRONLY);
	char have[5];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(rama_fd_write(ends[1], "12345", 5), 0);
	assert_int_equal(read(ends[0], have, 5), 5);
	assert_memory_equal(have, "12345", 5);
	close(ends[0]);
	assert_int_equal(rama_fd_write(ends[1], "12345", 5), RAMA_ESTOPPED);
	close(ends[1]);
	assert_int_equal(rama_fd_write(full, "12345", 5), RAMA_EIO);
	assert_int_equal(rama_fd_write(full, "", 0), 0);
	close(full);
}

UNIT_GROUP(file, in_folder(files_are_read_at_any_place), in_folder(memory_is_read_at_any_place),
	   in_folder(what_cannot_be_opened_is_named), in_folder(a_file_that_shrinks_is_an_error),
	   in_folder(a_dash_is_standard_input), in_folder(a_named_pipe_is_read_to_its_end),
	   in_folder(old_content_stays_until_the_commit),
	   in_folder(a_new_file_appears_at_the_commit), in_folder(an_abort_leaves_nothing),
	   in_folder(the_mode_follows_the_umask),
	   in_folder(places_that_cannot_be_written_are_errors),
	   in_folder(a_pipe_is_written_to_and_not_replaced),
	   in_folder(a_dash_is_standard_output_at_the_commit),
	   in_folder(all_bytes_go_to_a_descriptor_or_it_says_why))
