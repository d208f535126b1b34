# SPDX-License-Identifier: BSD-3-Clause
# web.cmake: the page of reports, web/dist/report.html, becomes part of the library as it is: rama_report_page .. rama_report_page_end.
# It is committed, so that building needs no JavaScript tools.
enable_language(ASM)
set(page ${PROJECT_SOURCE_DIR}/web/dist/report.html)
set(page_s ${PROJECT_BINARY_DIR}/page.S)
file(CONFIGURE OUTPUT ${page_s} @ONLY CONTENT [[
	.section .rodata
	.global rama_report_page
	.global rama_report_page_end
	.hidden rama_report_page
	.hidden rama_report_page_end
rama_report_page:
	.incbin "@page@"
rama_report_page_end:
	.byte 0
	.section .note.GNU-stack,"",%progbits
]])
set_source_files_properties(${page_s} PROPERTIES OBJECT_DEPENDS ${page})
target_sources(iorama_report PRIVATE ${page_s})
