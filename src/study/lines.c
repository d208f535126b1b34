/* SPDX-License-Identifier: BSD-3-Clause */
/* lines.c: paths come from a log, which anybody may have made: only ordinary files are opened. */
#include "study/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef RAMA_HAVE_LIBDW
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPEN_MOST = 256, PATH_MOST = 4096 };

struct program {
	char *path;
	unsigned char build[RAMA_SITE_BUILD];
	size_t n_build;
	Dwfl *dwfl; /* NULL: it is not there, or not the one that ran */
	Dwfl_Module *mod;
};

struct rama_study_lines {
	char folder[PATH_MOST];	     /* of the user; "": none */
	char search[PATH_MOST + 64]; /* where libdw looks */
	char *search_at;	     /* ... as it wants to be told */
	Dwfl_Callbacks callbacks;
	struct program program[OPEN_MOST];
	size_t n;
};

/* What belongs to a program is found by its build id, or by the name and checksum that it gives.
 * Nobody is asked over a network. */
static int find_debuginfo(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **found)
{
	if (getenv("DEBUGINFOD_URLS") != NULL)
		return dwfl_build_id_find_debuginfo(mod, userdata, name, base, file, link, crc,
						    found);
	return dwfl_standard_find_debuginfo(mod, userdata, name, base, file, link, crc, found);
}

static int open_plain(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool is_the_one(Dwfl_Module *mod, const struct program *p)
{
	const unsigned char *bits;
	GElf_Addr at;
	int n = dwfl_module_build_id(mod, &bits, &at);

	return p->n_build > 0 && n == (int)p->n_build && memcmp(bits, p->build, p->n_build) == 0;
}

/* false: it is not there, or not the one that ran */
static bool open_one(struct rama_study_lines *l, struct program *p, const char *path)
{
	int fd = open_plain(path);
	GElf_Addr bias;

	p->dwfl = fd >= 0 ? dwfl_begin(&l->callbacks) : NULL;
	if (p->dwfl != NULL) /* takes the descriptor if it succeeds */
		p->mod = dwfl_report_offline(p->dwfl, path, path, fd);
	if (fd >= 0 && p->mod == NULL)
		close(fd);
	if (p->dwfl != NULL)
		dwfl_report_end(p->dwfl, NULL, NULL);
	if (p->mod != NULL && dwfl_module_getelf(p->mod, &bias) != NULL && is_the_one(p->mod, p))
		return true;
	if (p->dwfl != NULL)
		dwfl_end(p->dwfl);
	p->dwfl = NULL;
	p->mod = NULL;
	return false;
}

/* What the user has of it elsewhere (the program, or debugging information alone), as its log may
 * have been brought here, and it may have been stripped; or else the program itself. */
static void open_program(struct rama_study_lines *l, struct program *p)
{
	static const char *const ways[] = { "%s/.build-id/%s.debug", "%s/%s.debug", "%s/%s" };
	const char *base = strrchr(p->path, '/') + 1;
	char path[2 * PATH_MOST], id[2 * RAMA_SITE_BUILD + 2];
	size_t n = 0;

	for (size_t i = 0; i < p->n_build; i++)
		n += (size_t)snprintf(id + n, sizeof(id) - n, "%02x%s", p->build[i],
				      i == 0 ? "/" : "");
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]) && n > 0 && l->folder[0]; i++) {
		snprintf(path, sizeof(path), ways[i], l->folder, i == 0 ? id : base);
		if (open_one(l, p, path))
			return;
	}
	open_one(l, p, p->path);
}

static struct program *program_of(struct rama_study_lines *l, const struct rama_site_frame *f)
{
	struct program *p;

	for (size_t i = 0; i < l->n; i++) {
		p = &l->program[i];
		if (strlen(p->path) == f->file_len && p->n_build == f->n_build &&
		    memcmp(p->path, f->file, f->file_len) == 0 &&
		    memcmp(p->build, f->build, f->n_build) == 0)
			return p;
	}
	if (l->n == OPEN_MOST || f->file_len == 0 || f->file_len >= PATH_MOST || *f->file != '/')
		return NULL;
	p = &l->program[l->n];
	*p = (struct program){ .path = strndup(f->file, f->file_len), .n_build = f->n_build };
	if (p->path == NULL)
		return NULL;
	memcpy(p->build, f->build, f->n_build);
	l->n++;
	open_program(l, p);
	return p;
}

/* the function that holds the line, also if it is part of another one by now */
static const char *function_at(Dwfl_Module *mod, Dwarf_Addr at)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = dwfl_module_addrdie(mod, at, &bias), *scopes = NULL;
	int n = unit != NULL ? dwarf_getscopes(unit, at - bias, &scopes) : 0;
	const char *name = NULL;

	for (int i = 0; i < n && name == NULL; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
			name = dwarf_diename(&scopes[i]);
	}
	free(scopes);
	return name != NULL ? name : dwfl_module_addrname(mod, at);
}

bool rama_study_lines_find(void *lines, const struct rama_site_frame *f,
			   struct rama_job_view_line *to)
{
	struct program *p = program_of(lines, f);
	const char *source, *function;
	GElf_Addr bias;
	Dwfl_Line *line;
	Dwarf_Addr at;
	int number = 0;

	if (p == NULL || p->mod == NULL || dwfl_module_getelf(p->mod, &bias) == NULL)
		return false;
	at = f->at - 1 + bias; /* of the call, not of what follows it */
	line = dwfl_module_getsrc(p->mod, at);
	source = line != NULL ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
	function = function_at(p->mod, at);
	*to = (struct rama_job_view_line){
		.source = source != NULL && number > 0 ? source : "",
		.function = function != NULL ? function : "",
		.line = (unsigned)number,
	};
	return to->source[0] != '\0' || to->function[0] != '\0';
}

struct rama_study_lines *rama_study_lines_create(const char *folder)
{
	static const char usual[] = "::.debug:/usr/lib/debug";
	struct rama_study_lines *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->callbacks = (Dwfl_Callbacks){
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	if (folder != NULL && realpath(folder, l->folder) != NULL) {
		snprintf(l->search, sizeof(l->search), "%s%s", l->folder, usual);
		l->search_at = l->search;
		l->callbacks.debuginfo_path = &l->search_at;
	}
	return l;
}

void rama_study_lines_destroy(struct rama_study_lines *l)
{
	for (size_t i = 0; l != NULL && i < l->n; i++) {
		if (l->program[i].dwfl != NULL)
			dwfl_end(l->program[i].dwfl);
		free(l->program[i].path);
	}
	free(l);
}

#else

struct rama_study_lines *rama_study_lines_create(const char *folder)
{
	(void)folder;
	return NULL;
}

void rama_study_lines_destroy(struct rama_study_lines *l)
{
	free(l);
}

bool rama_study_lines_find(void *lines, const struct rama_site_frame *f,
			   struct rama_job_view_line *to)
{
	(void)lines, (void)f, (void)to;
	return false;
}
#endif
