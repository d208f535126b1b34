# SPDX-License-Identifier: BSD-3-Clause
# manpages.cmake: cmake -DTABLEGEN= -DBY= -DSCDOC= -DMAN_DIR= -P manpages.cmake
# tablegen writes NAME.1.scd files, scdoc turns each into MAN_DIR/NAME.1.
set(source_dir ${MAN_DIR}/source)
file(REMOVE_RECURSE ${MAN_DIR})
file(MAKE_DIRECTORY ${source_dir})
string(REPLACE "@@" ";" BY "${BY}")
execute_process(COMMAND ${BY} ${TABLEGEN} man ${source_dir} COMMAND_ERROR_IS_FATAL ANY)
file(GLOB sources ${source_dir}/*.scd)
foreach(source IN LISTS sources)
  get_filename_component(page ${source} NAME)
  string(REGEX REPLACE "\\.scd$" "" page ${page})
  execute_process(COMMAND ${SCDOC} INPUT_FILE ${source} OUTPUT_FILE ${MAN_DIR}/${page}
                  RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "scdoc cannot read ${source}")
  endif()
endforeach()
file(WRITE ${MAN_DIR}/stamp "${sources}\n")
