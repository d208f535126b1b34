# SPDX-License-Identifier: BSD-3-Clause
# generated.cmake: everything tablegen prints that is not C.
add_executable(tablegen tools/tablegen.c)
target_link_libraries(tablegen PRIVATE iorama_table iorama_base)

set(generated "")

# scripts that run it are told by what, where it is a program for another processor
string(REPLACE ";" "@@" iorama_tablegen_by "${CMAKE_CROSSCOMPILING_EMULATOR}")

# tablegen WORD > build/FILE, complete or not at all
function(iorama_tablegen word file)
  set(out ${PROJECT_BINARY_DIR}/${file})
  get_filename_component(dir ${out} DIRECTORY)
  file(MAKE_DIRECTORY ${dir})
  add_custom_command(OUTPUT ${out}
    COMMAND tablegen ${word} > ${out}.tmp
    COMMAND ${CMAKE_COMMAND} -E rename ${out}.tmp ${out}
    DEPENDS tablegen
    COMMENT "Generating ${file}")
  set(generated ${generated} ${out} PARENT_SCOPE)
endfunction()

iorama_tablegen(json tables.json)
iorama_tablegen(bash completions/iorama.bash)
iorama_tablegen(zsh completions/_iorama)
iorama_tablegen(fish completions/iorama.fish)

# Which pages there are only tablegen knows, so a stamp stands for all of them.
find_program(SCDOC scdoc)
if(SCDOC)
  set(man_dir ${PROJECT_BINARY_DIR}/man)
  add_custom_command(OUTPUT ${man_dir}/stamp
    COMMAND ${CMAKE_COMMAND} -DTABLEGEN=$<TARGET_FILE:tablegen> -DBY=${iorama_tablegen_by} -DSCDOC=${SCDOC} -DMAN_DIR=${man_dir}
            -P ${PROJECT_SOURCE_DIR}/cmake/manpages.cmake
    DEPENDS tablegen ${PROJECT_SOURCE_DIR}/cmake/manpages.cmake
    COMMENT "Generating manual pages" VERBATIM)
  list(APPEND generated ${man_dir}/stamp)
else()
  message(STATUS "scdoc not found: no manual pages")
endif()

add_custom_target(generated ALL DEPENDS ${generated})

# The references kept in git; "lint/generated-docs" fails when they are stale.
add_custom_target(docs
  COMMAND tablegen counters-md > ${PROJECT_BINARY_DIR}/counters.md
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${PROJECT_BINARY_DIR}/counters.md
          ${PROJECT_SOURCE_DIR}/docs/counters.md
  COMMAND tablegen metrics-md > ${PROJECT_BINARY_DIR}/metrics.md
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${PROJECT_BINARY_DIR}/metrics.md ${PROJECT_SOURCE_DIR}/docs/metrics.md
  COMMAND iorama explain --markdown > ${PROJECT_BINARY_DIR}/rules.md
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${PROJECT_BINARY_DIR}/rules.md ${PROJECT_SOURCE_DIR}/docs/rules.md
  COMMENT "Updating docs/counters.md, docs/metrics.md and docs/rules.md")
