# SPDX-License-Identifier: BSD-3-Clause
# layers.cmake: folders of src/ to targets, with the edges of src/layers.txt.

# Sets IORAMA_FOLDERS (lowest first) and IORAMA_LAYER_<folder> (what it may use) for the caller.
function(iorama_read_layers file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} rows REGEX "^[a-z][a-z0-9_]*:")
  set(folders "")
  foreach(row IN LISTS rows)
    string(REGEX MATCH "^([a-z][a-z0-9_]*):(.*)$" _ "${row}")
    set(folder ${CMAKE_MATCH_1})
    string(STRIP "${CMAKE_MATCH_2}" allowed)
    if(allowed STREQUAL "*")
      set(allowed ${folders})
      list(REVERSE allowed)
    else()
      separate_arguments(allowed)
    endif()
    list(APPEND folders ${folder})
    set(IORAMA_LAYER_${folder} ${allowed} PARENT_SCOPE)
  endforeach()
  set(IORAMA_FOLDERS ${folders} PARENT_SCOPE)
endfunction()

function(iorama_add_folder folder)
  add_library(iorama_${folder} STATIC ${ARGN})
  set_target_properties(iorama_${folder} PROPERTIES
    ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/parts)
  if(folder IN_LIST iorama_gnu17)
    set_target_properties(iorama_${folder} PROPERTIES C_EXTENSIONS ON)
  endif()
endfunction()

# The program is the one folder that is not a library.
function(iorama_add_program name folder)
  add_executable(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  set_property(GLOBAL PROPERTY IORAMA_TARGET_${folder} ${name})
endfunction()

function(iorama_link_folder folder)
  get_property(target GLOBAL PROPERTY IORAMA_TARGET_${folder})
  set(scope PRIVATE)
  if(NOT target)
    set(target iorama_${folder})
    set(scope PUBLIC)
  endif()
  foreach(below IN LISTS IORAMA_LAYER_${folder})
    # capture defines open(), read(), ...: a program linking it would call the wrappers.
    if(TARGET iorama_${below} AND NOT (scope STREQUAL "PRIVATE" AND below STREQUAL "capture"))
      target_link_libraries(${target} ${scope} iorama_${below})
    endif()
  endforeach()
  target_link_libraries(${target} PRIVATE ${iorama_external_${folder}} Threads::Threads)
endfunction()
