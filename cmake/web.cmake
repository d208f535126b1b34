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

# The page of `iorama serve`: rama_serve_html, _js, _css, each with its _end.
if(TARGET iorama_serve)
  set(portal_s ${PROJECT_BINARY_DIR}/portal.S)
  set(text "\t.section .rodata\n")
  foreach(form html js css)
    set(file ${PROJECT_SOURCE_DIR}/web/dist/portal.${form})
    string(APPEND text "\t.global rama_serve_${form}\n\t.global rama_serve_${form}_end\n\t.hidden rama_serve_${form}\n"
      "\t.hidden rama_serve_${form}_end\nrama_serve_${form}:\n\t.incbin \"${file}\"\nrama_serve_${form}_end:\n\t.byte 0\n")
    set_property(SOURCE ${portal_s} APPEND PROPERTY OBJECT_DEPENDS ${file})
  endforeach()
  file(CONFIGURE OUTPUT ${portal_s} @ONLY CONTENT "${text}\t.section .note.GNU-stack,\"\",%progbits\n")
  target_sources(iorama_serve PRIVATE ${portal_s})
endif()
