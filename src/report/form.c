/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/form.h"

const struct rama_report_form *const rama_report_forms[RAMA_REPORT_FORMS] = {
#define FORM(name, ...) &rama_report_form_##name,
#define PAPER(...)
#include "table/forms.def"
#undef FORM
#undef PAPER
	&rama_report_form_text
};

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
	form->diff(d, o);
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
