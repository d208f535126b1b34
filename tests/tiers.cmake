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
  live/sinks-store live/sinks-file live/store-page live/watch-once live/counters-negative-postgres
  mpi/fake-abi mpi/hdf5-serial-datasets mpi/mpich-rows mpi/mpich-late mpi/openmpi-rows mpi/openmpi-nopie mpi/nested-hdf5-cc
  report/svg report/diff
  web/words)

# Tests that keep a processor busy for long. They count as two: CTest is told that there is room for twice as many as there
# are processors, since most tests wait for something most of the time.
set(iorama_busy capture/kill capture/real-make capture/files-32768-open capture/space-files-5000 capture/space-files-20000
  capture/space-small-limits "compat/.*" diagnose/snippets-openmpi diagnose/snippets-mpich diagnose/explain diagnose/rules
  diagnose/mistakes "report/.*" web/page web/program "unit/agent/spool" mpi/openmpi-example mpi/mpich-example)

# Seconds of those that are begun first, so that nobody waits for the last one; tools/slowest prints them.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/slowest.txt)
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/slowest.txt iorama_slowest REGEX "^[0-9]")
foreach(line IN LISTS iorama_slowest)
  string(REGEX MATCH "^([0-9]+) +([^ ]+)" _ "${line}")
  set(iorama_cost_${CMAKE_MATCH_2} ${CMAKE_MATCH_1})
endforeach()

# iorama_set_tier(name label): labels, weight and order of a test
function(iorama_set_tier name label)
  set(labels ${label})
  if(name IN_LIST iorama_quick OR name MATCHES "^(lint|unit|fuzz|api|cli|stock|place)/")
    list(APPEND labels quick)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}")
  foreach(pattern IN LISTS iorama_busy)
    if(name MATCHES "^${pattern}$")
      set_tests_properties(${name} PROPERTIES PROCESSORS 2)
    endif()
  endforeach()
  if(DEFINED iorama_cost_${name})
    set_tests_properties(${name} PROPERTIES COST ${iorama_cost_${name}})
  endif()
endfunction()
