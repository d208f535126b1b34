# SPDX-License-Identifier: BSD-3-Clause
# snippets.cmake: the templates of src/diagnose/snippets become arrays of the library, one per file:
# rama_diag_snippet_text_<name> holds its bytes.
#
# Included by CMakeLists.txt it adds the rule; run by that rule (cmake -DOUT=... -DDIR=... -P) it writes the C file.
if(CMAKE_SCRIPT_MODE_FILE)
  file(GLOB files ${DIR}/*.in)
  set(text "/* made by cmake/snippets.cmake */\n")
  foreach(file IN LISTS files)
    get_filename_component(symbol ${file} NAME_WE)
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND text "extern const char rama_diag_snippet_text_${symbol}[];\n"
                       "const char rama_diag_snippet_text_${symbol}[] = {${bytes}0};\n")
  endforeach()
  file(WRITE ${OUT} "${text}")
  return()
endif()

set(snippets_c ${PROJECT_BINARY_DIR}/snippets.c)
file(GLOB snippets CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/diagnose/snippets/*.in)
add_custom_command(OUTPUT ${snippets_c}
  COMMAND ${CMAKE_COMMAND} -DOUT=${snippets_c} -DDIR=${PROJECT_SOURCE_DIR}/src/diagnose/snippets
          -P ${PROJECT_SOURCE_DIR}/cmake/snippets.cmake
  DEPENDS ${snippets} ${PROJECT_SOURCE_DIR}/cmake/snippets.cmake
  COMMENT "Embedding snippets" VERBATIM)
target_sources(iorama_diagnose PRIVATE ${snippets_c})
