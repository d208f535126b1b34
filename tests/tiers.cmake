# SPDX-License-Identifier: BSD-3-Clause
# What `make check` runs of the areas whose tests take long: a case of each way that a part of the program can fail as a whole.
# All of lint, unit, fuzz, api, cli, stock and place are quick.
set(iorama_quick
  capture/access capture/fork capture/threads-shared capture/stream capture/exec-chain capture/end-kill capture/same-view
  capture/confine-calls capture/live-mix attach/counts
  compat/corpus compat/view-corpus
  diagnose/snippets-literals diagnose/snippets-shell diagnose/golden
  emulate/app-engine-posix emulate/cr-contents-local emulate/dag-shapes-local-4 emulate/dl-contents-local emulate/pc-contents-local
  emulate/replay-exact emulate/formats-one-to-one emulate/try-words emulate/precious-app emulate/graph-three
  live/agent-one-program live/agent-names live/index-findings live/jobs-other_rows live/nats-plain live/run_live-short
  live/sinks-store live/sinks-file live/store-page live/clickhouse-one live/watch-once live/counters-negative-postgres
  mpi/fake-abi mpi/hdf5-serial-datasets mpi/mpich-rows mpi/mpich-late mpi/openmpi-rows mpi/openmpi-nopie mpi/nested-hdf5-cc
  report/svg report/diff report/export howto/selftest
  docs/faq web/words)

# Tests that keep a processor busy for long. They count as two: CTest is told that there is room for three times as many as there
# are processors, since most tests wait for something most of the time.
set(iorama_busy build/without capture/kill capture/real-make capture/files-32768-open capture/space-files-5000 capture/space-files-20000
  capture/space-small-limits "compat/.*" diagnose/snippets-openmpi diagnose/snippets-mpich diagnose/explain diagnose/rules
  diagnose/mistakes "diagnose/pairs.*" "emulate/try-.*" emulate/dl-overlap howto/follow "path/.*" "report/.*" web/page web/program
  mpi/openmpi-example mpi/mpich-example)

# Seconds of those that are begun first, so that nobody waits for the last one; tools/slowest prints them.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/slowest.txt)
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/slowest.txt iorama_slowest REGEX "^[0-9]")
foreach(line IN LISTS iorama_slowest)
  string(REGEX MATCH "^([0-9]+) +([^ ]+)" _ "${line}")
  set(iorama_cost_${CMAKE_MATCH_2} ${CMAKE_MATCH_1})
endforeach()

# Tests that a build without a library cannot pass, as regular expressions; they are disabled, and CTest says so.
set(iorama_needs_sqlite3 "^(live|serve|slurm|web|docs|howto|report)/|^unit/(agent|launch|serve|bus)/|^path/hosts|^cli/help")
set(iorama_needs_libuv "^(live|serve|slurm|web|docs|howto)/|^cli/(run|agent)")
set(iorama_needs_jansson "^(live|serve|slurm|web|docs|howto|emulate)/|^unit/(emulate|index|serve)/|^cli/emulate")
set(iorama_needs_inih "^(diagnose|howto)/|^unit/diagnose/profile|^cli/(explain|report|settings)")
set(iorama_needs_bzip2 "^(compat|howto)/|^unit/logfile/|^fuzz/|^cli/(formats|convert|merge)")
set(iorama_needs_ncursesw "^live/watch|^howto/")
set(iorama_needs_libpq "postgres|clickhouse|^howto/")
set(iorama_needs_libcurl "^live/clickhouse|^howto/")
set(iorama_needs_libnats "nats|^live/|^howto/")
set(iorama_needs_liburing "^emulate/|^howto/")
set(iorama_needs_otf2 "^report/export|^howto/")
set(iorama_needs_zydis "^attach/probe|^howto/|^unit/attach/move|^fuzz/move")
set(iorama_needs_libdw "^capture/sites-")
set(iorama_needs_microhttpd "^(serve|web|docs|howto)/")

# iorama_set_tier(name label): labels, weight and order of a test
function(iorama_set_tier name label)
  set(labels ${label})
  if(name IN_LIST iorama_quick OR name MATCHES "^(lint|unit|fuzz|api|cli|stock|place)/")
    list(APPEND labels quick)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}")
  foreach(library sqlite3 libuv jansson inih bzip2 ncursesw libcurl libpq libnats liburing otf2 zydis libdw microhttpd)
    if(NOT ${library}_FOUND AND name MATCHES "${iorama_needs_${library}}")
      set_tests_properties(${name} PROPERTIES DISABLED TRUE)
    endif()
  endforeach()
  foreach(pattern IN LISTS iorama_busy)
    if(name MATCHES "^${pattern}$")
      set_tests_properties(${name} PROPERTIES PROCESSORS 2)
    endif()
  endforeach()
  # what is installed has its prefix written into files of the build folder first
  if(name MATCHES "^package/|/install$")
    set_tests_properties(${name} PROPERTIES RESOURCE_LOCK install)
  endif()
  if(DEFINED iorama_cost_${name})
    set_tests_properties(${name} PROPERTIES COST ${iorama_cost_${name}})
  endif()
endfunction()
