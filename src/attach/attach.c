/* SPDX-License-Identifier: BSD-3-Clause */
#include "attach/attach.h"

#include <ctype.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/borrow.h"
#include "attach/loaded.h"
#include "attach/mapped.h"
#include "attach/symbols.h"
#include "base/code/program.h"

/* ---- what kind of process -------------------------------------------------------------------- */

struct target {
	pid_t pid;
	uint32_t uid[3]; /* real, effective, saved */
	bool confined, ignores_faults;
	uint64_t libc; /* where it begins; 0: there is none */
	char libc_path[RAMA_ATTACH_MAPPED_PATH];
	uint64_t ours; /* where our library begins; 0: it is not there */
	char our_path[RAMA_ATTACH_MAPPED_PATH];
};

static FILE *open_proc(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return fopen(path, "re");
}

static int read_status(struct target *t, struct rama_err *e)
{
	FILE *f = open_proc(t->pid, "status");
	char line[512];
	bool zombie = false, kernel = true;

	if (f == NULL)
		return rama_err_set(e, RAMA_EUSAGE, "there is no process %d", (int)t->pid);
	while (fgets(line, sizeof(line), f) != NULL) {
		unsigned long long bits;
		unsigned n;

		sscanf(line, "Uid: %u %u %u", &t->uid[0], &t->uid[1], &t->uid[2]);
		if (sscanf(line, "Seccomp: %u", &n) == 1)
			t->confined = n != 0;
		if (sscanf(line, "SigIgn: %llx", &bits) == 1)
			t->ignores_faults = (bits >> (SIGSEGV - 1) & 1) != 0;
		zombie = zombie || strncmp(line, "State:\tZ", 8) == 0;
		kernel = kernel && strncmp(line, "VmSize:", 7) != 0;
	}
	fclose(f);
	if (zombie)
		return rama_err_set(e, RAMA_EUSAGE, "process %d has ended", (int)t->pid);
	if (kernel)
		return rama_err_set(e, RAMA_EUSAGE, "process %d is one of the kernel", (int)t->pid);
	return 0;
}

static bool is_named(const char *path, const char *begin)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash != NULL ? slash + 1 : path, begin, strlen(begin)) == 0;
}

static int read_maps(struct target *t, struct rama_err *e)
{
	FILE *f = open_proc(t->pid, "maps");
	char *line = NULL;
	size_t room = 0;

	if (f == NULL)
		return rama_err_set(e, RAMA_EUSAGE,
				    "process %d: the system does not let it be looked at (%s); as "
				    "root, or with CAP_SYS_PTRACE, it does where the process was "
				    "started",
				    (int)t->pid, strerror(errno));
	while (getline(&line, &room, f) > 0) {
		struct rama_attach_mapped m;

		if (!rama_attach_mapped_read(&m, line))
			continue;
		if (t->libc == 0 && is_named(m.path, "libc.so.6")) {
			t->libc = m.from;
			rama_attach_mapped_path(&m, t->pid, t->libc_path);
		}
		if (t->ours == 0 && is_named(m.path, "libiorama.so")) {
			t->ours = m.from;
			rama_attach_mapped_path(&m, t->pid, t->our_path);
		}
	}
	free(line);
	fclose(f);
	return 0;
}

static bool has_other_rights(pid_t pid)
{
	FILE *f = open_proc(pid, "auxv");
	Elf64_auxv_t a = { 0 };
	bool secure = false;

	while (f != NULL && fread(&a, sizeof(a), 1, f) == 1)
		secure = secure || (a.a_type == AT_SECURE && a.a_un.a_val != 0);
	if (f != NULL)
		fclose(f);
	return secure;
}

/* Reasons that lie in the program and its rights. */
static int check(struct target *t, struct rama_err *e)
{
	struct rama_program p;
	char path[64];
	uint32_t me = (uint32_t)geteuid();
	int rc = read_status(t, e);

	if (rc != 0)
		return rc;
	if (t->pid == getpid())
		return rama_err_set(e, RAMA_EUSAGE, "process %d is this one", (int)t->pid);
	if (me != 0 && (t->uid[0] != me || t->uid[1] != me || t->uid[2] != me))
		return rama_err_set(e, RAMA_EUSAGE, "process %d belongs to another user (%u)",
				    (int)t->pid, (unsigned)t->uid[1]);
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)t->pid);
	rama_program_look(&p, AT_FDCWD, path);
	if (p.why != RAMA_UNSEEN_NOT)
		return rama_err_set(e, RAMA_EUSAGE, "process %d %s", (int)t->pid,
				    rama_unseen_one(p.why));
	if (has_other_rights(t->pid))
		return rama_err_set(e, RAMA_EUSAGE, "process %d %s", (int)t->pid,
				    rama_unseen_one(RAMA_UNSEEN_RIGHTS));
	if (t->confined)
		return rama_err_set(e, RAMA_EUSAGE,
				    "process %d is confined by seccomp: what loads a library could "
				    "end it",
				    (int)t->pid);
	if (t->ignores_faults)
		return rama_err_set(e, RAMA_EUSAGE, "process %d ignores SIGSEGV", (int)t->pid);
	rc = read_maps(t, e);
	if (rc == 0 && t->libc == 0)
		rc = rama_err_set(e, RAMA_EUSAGE, "process %d %s", (int)t->pid,
				  rama_unseen_one(RAMA_UNSEEN_LIBC));
	return rc;
}

/* ---- names of it that we can open ------------------------------------------------------------ */

static int same_file(const struct target *t, const char *library, struct rama_err *e)
{
	char path[PATH_MAX + 64];
	struct stat a, b;

	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)t->pid, library);
	if (stat(library, &a) != 0)
		return rama_err_set(e, RAMA_EIO, "%s: %s", library, strerror(errno));
	if (stat(path, &b) != 0 || a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		return rama_err_set(e, RAMA_EUSAGE,
				    "process %d does not see %s: it has another root", (int)t->pid,
				    library);
	return 0;
}

static int find_base(struct target *t, struct rama_err *e)
{
	int rc = read_maps(t, e);

	if (rc == 0 && t->ours == 0)
		rc = rama_err_set(e, RAMA_EIO, "process %d: the library is not there after all",
				  (int)t->pid);
	return rc;
}

/* In its file, or where it was loaded if that file is another by now and may not be opened. */
static int find_symbol(pid_t pid, uint64_t base, const char *path, const char *name,
		       uint64_t *offset, struct rama_err *e)
{
	int rc = rama_attach_symbol(path, name, offset, e);

	return rc == RAMA_EIO ? rama_attach_loaded_symbol(pid, base, name, offset, e) : rc;
}

/* ---- attach, detach -------------------------------------------------------------------------- */

static int load(struct target *t, struct rama_attach_borrow *b, const char *library,
		struct rama_err *e)
{
	uint64_t offset, name, handle;
	int rc = find_symbol(t->pid, t->libc, t->libc_path, "dlopen", &offset, e);

	if (rc == RAMA_EIO)
		return rc;
	if (rc != 0)
		return rama_err_set(e, RAMA_EUSAGE,
				    "process %d has a C library without dlopen (glibc before 2.34)",
				    (int)t->pid);
	name = rama_attach_borrow_put(b, library, strlen(library) + 1);
	if (name == 0)
		return rama_err_set(e, RAMA_EIO, "process %d: no room on its stack", (int)t->pid);
	rc = rama_attach_borrow_call(b, t->libc + offset, name, RTLD_NOW | RTLD_LOCAL, &handle, e);
	if (rc == 0 && handle == 0)
		rc = rama_err_set(e, RAMA_EIO, "process %d: its loader refuses %s", (int)t->pid,
				  library);
	return rc == 0 ? find_base(t, e) : rc;
}

static int call_ours(struct target *t, struct rama_attach_borrow *b, const char *function,
		     uint64_t argument, uint64_t *result, struct rama_err *e)
{
	uint64_t offset;
	int rc = find_symbol(t->pid, t->ours, t->our_path, function, &offset, e);

	return rc != 0 ? rc : rama_attach_borrow_call(b, t->ours + offset, argument, 0, result, e);
}

static size_t length_of(const char *settings)
{
	size_t n = 0;

	while (settings[n] != '\0')
		n += strlen(settings + n) + 1;
	return n + 1;
}

static int begin(struct target *t, struct rama_attach_borrow *b,
		 const struct rama_attach_options *o, struct rama_attach_done *done,
		 struct rama_err *e)
{
	uint64_t text = rama_attach_borrow_put(b, o->settings, length_of(o->settings)), got = 0;
	int rc = text != 0 ? 0
			   : rama_err_set(e, RAMA_EIO, "process %d: no room on its stack",
					  (int)t->pid);

	if (rc == 0 && t->ours == 0)
		rc = load(t, b, o->library, e);
	if (rc == 0)
		rc = call_ours(t, b, "iorama_attach", text, &got, e);
	if (rc != 0)
		return rc;
	if ((int)got == -2)
		return rama_err_set(e, RAMA_EUSAGE, "process %d is attached already", (int)t->pid);
	if ((int)got == -3)
		return rama_err_set(e, RAMA_EUSAGE, "process %d is observed since it began",
				    (int)t->pid);
	if ((int)got < 0)
		return rama_err_set(e, RAMA_EIO,
				    "process %d: the library cannot begin there (no place for its "
				    "segment, or the settings leave this program out)",
				    (int)t->pid);
	done->slots = (unsigned)got;
	return 0;
}

int rama_attach(pid_t pid, const struct rama_attach_options *o, struct rama_attach_done *done,
		struct rama_err *e)
{
	struct target t = { .pid = pid };
	struct rama_attach_borrow b;
	int rc = rama_attach_borrow_can()
			 ? check(&t, e)
			 : rama_err_set(e, RAMA_EUSAGE, "attaching is not known on this processor");

	memset(done, 0, sizeof(*done));
	if (rc == 0)
		rc = same_file(&t, o->library, e);
	if (rc == 0)
		rc = rama_attach_borrow_begin(&b, pid, o->patience, e);
	if (rc != 0)
		return rc;
	done->thread = b.tid;
	b.slow = o->slow;
	b.arg = o->arg;
	rc = begin(&t, &b, o, done, e);
	done->borrowed = rama_attach_borrow_end(&b);
	return rc;
}

int rama_attach_end(pid_t pid, const struct rama_attach_options *o, struct rama_attach_done *done,
		    struct rama_err *e)
{
	struct target t = { .pid = pid };
	struct rama_attach_borrow b;
	uint64_t log = 0;
	int rc = check(&t, e);

	memset(done, 0, sizeof(*done));
	if (rc == 0 && t.ours == 0)
		rc = rama_err_set(e, RAMA_EUSAGE, "process %d is not attached", (int)pid);
	if (rc == 0)
		rc = rama_attach_borrow_begin(&b, pid, o->patience, e);
	if (rc != 0)
		return rc;
	done->thread = b.tid;
	b.slow = o->slow;
	b.arg = o->arg;
	rc = call_ours(&t, &b, "iorama_detach", 0, &log, e);
	if (rc == 0 && log == 1)
		rc = rama_err_set(e, RAMA_EUSAGE, "process %d is not attached", (int)pid);
	else if (rc == 0 && log != 0)
		rama_attach_borrow_text(&b, log, done->log, sizeof(done->log));
	done->borrowed = rama_attach_borrow_end(&b);
	return rc;
}

int rama_attach_call(pid_t pid, unsigned patience, const char *function, const void *bytes,
		     size_t n, uint64_t *result, struct rama_err *e)
{
	struct target t = { .pid = pid };
	struct rama_attach_borrow b;
	uint64_t at = 0;
	int rc = check(&t, e);

	if (rc == 0 && t.ours == 0)
		rc = rama_err_set(e, RAMA_EUSAGE, "process %d is not attached", (int)pid);
	if (rc == 0)
		rc = rama_attach_borrow_begin(&b, pid, patience, e);
	if (rc != 0)
		return rc;
	if (bytes != NULL) {
		at = rama_attach_borrow_put(&b, bytes, n);
		rc = at != 0 ? 0
			     : rama_err_set(e, RAMA_EIO, "process %d: no room on its stack",
					    (int)pid);
	}
	if (rc == 0)
		rc = call_ours(&t, &b, function, at, result, e);
	rama_attach_borrow_end(&b);
	return rc;
}

int rama_attach_data(pid_t pid, const char *name, uint64_t *at, struct rama_err *e)
{
	struct target t = { .pid = pid };
	uint64_t offset = 0;
	int rc = check(&t, e);

	if (rc == 0 && t.ours == 0)
		rc = rama_err_set(e, RAMA_EUSAGE, "process %d is not attached", (int)pid);
	if (rc != 0)
		return rc;
	rc = rama_attach_symbol_data(t.our_path, name, &offset, e);
	if (rc == RAMA_EIO)
		rc = rama_attach_loaded_symbol(pid, t.ours, name, &offset, e);
	*at = t.ours + offset;
	return rc;
}
