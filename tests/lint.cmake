# SPDX-License-Identifier: BSD-3-Clause
# lint.cmake: include() this from tests/CMakeLists.txt. Checks of the source tree itself.
# (No ";" in the commands: CMake would split them there.)
set(tools ${PROJECT_SOURCE_DIR}/tools)

function(iorama_add_lint name)
  add_test(NAME lint/${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(lint/${name} PROPERTIES SKIP_RETURN_CODE 77)
  iorama_set_tier(lint/${name} lint)
endfunction()

iorama_add_lint(layers ${tools}/check-layers)
iorama_add_lint(layers-selftest ${tools}/check-layers --self-test)
iorama_add_lint(size ${tools}/check-size)
iorama_add_lint(size-selftest ${tools}/check-size --self-test)
iorama_add_lint(tree ${tools}/check-tree)
iorama_add_lint(tree-selftest ${tools}/check-tree --self-test)
iorama_add_lint(names ${tools}/check-names)
iorama_add_lint(names-selftest ${tools}/check-names --self-test)
iorama_add_lint(docs ${tools}/check-docs)
iorama_add_lint(docs-selftest ${tools}/check-docs --self-test)
iorama_add_lint(headers ${tools}/check-headers ${PROJECT_BINARY_DIR})
iorama_add_lint(headers-selftest ${tools}/check-headers --self-test)
iorama_add_lint(coverage ${tools}/check-coverage)
iorama_add_lint(coverage-selftest ${tools}/check-coverage --self-test)
iorama_add_lint(mutants ${tools}/mutate --check ${PROJECT_BINARY_DIR})
iorama_add_lint(mutants-selftest ${tools}/mutate --self-test)
iorama_add_lint(tries-selftest ${CMAKE_CURRENT_LIST_DIR}/lib/tries.py --self-test)
iorama_add_lint(shellcheck sh -c
  "command -v shellcheck >/dev/null || exit 77 && shellcheck $(${tools}/list-scripts)")

# docs/counters.md is printed from the tables; "cmake --build build --target docs" renews it.
if(TARGET tablegen)
  iorama_add_lint(generated-docs sh -c
    "test -f docs/counters.md || exit 77 && $<TARGET_FILE:tablegen> counters-md | diff -u docs/counters.md -")
endif()

# docs/metrics.md likewise
if(TARGET tablegen)
  iorama_add_lint(metrics-docs sh -c "$<TARGET_FILE:tablegen> metrics-md | diff -u docs/metrics.md -")
endif()

# docs/rules.md likewise, from the rows of rules, limits, figures and words
if(TARGET iorama)
  iorama_add_lint(rules-docs sh -c
    "test -f docs/rules.md || exit 77 && $<TARGET_FILE:iorama> explain --markdown | diff -u docs/rules.md -")
endif()

# every setting is explained
iorama_add_lint(settings-docs sh -c
  "grep -oE '^[SD]\\([A-Z_0-9]+, +\"[A-Z_]+' src/table/settings.def | sed 's/.*\"//' \
   | xargs -I{} sh -c 'grep -qE \"^[|].*\\`{}( |\\`)\" docs/settings.md || (echo {} is not in docs/settings.md && false)'")
