/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/form.h"

#include <stdio.h>
#include <string.h>

#include "report/svg.h"

const struct rama_report_form *const rama_report_forms[RAMA_REPORT_FORMS] = {
#define FORM(name, ...) &rama_report_form_##name,
#define PAPER(...)
#include "table/forms.def"
#undef FORM
#undef PAPER
	&rama_report_form_text
};

int rama_report_file_of(const char *path, enum rama_report_file *file, struct rama_err *e)
{
	static const char *const ends[] = { ".svg", ".pdf", ".png" };
	const char *end = path != NULL ? strrchr(path, '.') : NULL;

	*file = RAMA_REPORT_FILE_svg;
	if (end == NULL || strchr(end, '/') != NULL)
		return 0;
	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		if (strcmp(end, ends[i]) != 0)
			continue;
		*file = (enum rama_report_file)i;
		return i == RAMA_REPORT_FILE_png ? rama_report_png_possible(e) : 0;
	}
	return rama_err_set(e, RAMA_EUSAGE, "figures are files .svg, .pdf or .png, not '%s'", path);
}

void rama_report_base_name(char *to, size_t size, const char *path)
{
	static const char end[] = ".darshan";
	size_t n = strlen(path), start;

	while (n > 1 && path[n - 1] == '/')
		n--;
	for (start = n; start > 0 && path[start - 1] != '/';)
		start--;
	if (n - start > strlen(end) && memcmp(path + n - strlen(end), end, strlen(end)) == 0)
		n -= strlen(end);
	if (strcmp(path, "-") == 0 || n == start)
		snprintf(to, size, "report");
	else
		snprintf(to, size, "%.*s", (int)(n - start), path + start);
}

void rama_report_file_name(char path[PATH_MAX], const char *dir, const char *const *names,
			   size_t done, const char *log, const char *suffix)
{
	const char *in = dir != NULL ? "/" : "";
	char base[NAME_MAX - 16], other[NAME_MAX - 16];

	dir = dir != NULL ? dir : "";
	rama_report_base_name(base, sizeof(base), log);
	snprintf(path, PATH_MAX, "%s%s%s%s", dir, in, base, suffix);
	for (size_t i = 0, n = 1; i < done; i++) {
		rama_report_base_name(other, sizeof(other), names[i]);
		if (strcmp(other, base) == 0)
			snprintf(path, PATH_MAX, "%s%s%s-%zu%s", dir, in, base, ++n, suffix);
	}
}

/* takes the paper */
static int put_paper(const struct rama_report_form *form, struct rama_out *o,
		     struct rama_report_paper *p, int rc, const struct rama_report_ask *a)
{
	if (rc == 0)
		form->paper(o, p, a);
	rama_report_paper_fini(p);
	return rc;
}

int rama_report_form_diff(const struct rama_report_form *form, struct rama_out *o,
			  const struct rama_report_diff *d, const struct rama_report_ask *a)
{
	struct rama_report_paper p;

	if (form->diff == NULL)
		return put_paper(form, o, &p, rama_report_diff_paper(d, &p, a->all), a);
	form->diff(d, o, a);
	return 0;
}

int rama_report_form_spread(const struct rama_report_form *form, struct rama_out *o,
			    const struct rama_report_spread *s, const struct rama_report_ask *a)
{
	struct rama_report_paper p;

	if (form->spread == NULL)
		return put_paper(form, o, &p, rama_report_spread_paper(s, &p), a);
	form->spread(s, o, a);
	return 0;
}

int rama_report_form_fleet(const struct rama_report_form *form, struct rama_out *o,
			   const struct rama_report_fleet *f, const struct rama_report_ask *a)
{
	struct rama_report_paper p;

	if (form->fleet == NULL)
		return put_paper(form, o, &p, rama_report_fleet_paper(f, &p, a->all), a);
	form->fleet(f, o);
	return 0;
}
