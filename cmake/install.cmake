# SPDX-License-Identifier: BSD-3-Clause
# install.cmake: what "make install" copies, and where.
if(TARGET iorama)
  install(TARGETS iorama RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

if(TARGET iorama_log_shared)
  install(TARGETS iorama_log_shared iorama_log_static
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY include/iorama DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          FILES_MATCHING PATTERN "*.h" PATTERN "*.f90")

  # The prefix may be given only now (cmake --install --prefix), so the file is made now.
  set(pc_installed ${PROJECT_BINARY_DIR}/install/iorama-log.pc)
  install(CODE "
    set(PC_PREFIX \"\${CMAKE_INSTALL_PREFIX}\")
    set(PC_LIBDIR \"\\\${prefix}/${CMAKE_INSTALL_LIBDIR}\")
    set(PC_INCLUDEDIR \"\\\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}\")
    set(PROJECT_VERSION \"${PROJECT_VERSION}\")
    configure_file(\"${PROJECT_SOURCE_DIR}/packaging/iorama-log.pc.in\" \"${pc_installed}\" @ONLY)")
  install(FILES ${pc_installed} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# The library inside applications, the compiler that links it, and the file for pkg-config. The program
# looks for its library beside itself: ../lib, or what the prefix calls it.
foreach(target iorama iorama_launch)
  if(TARGET ${target})
    target_compile_definitions(${target} PRIVATE IORAMA_LIBDIR="${CMAKE_INSTALL_LIBDIR}")
  endif()
endforeach()
if(TARGET iorama_preload)
  install(TARGETS iorama_preload LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES ${PROJECT_BINARY_DIR}/lib/libiorama-attach.so DESTINATION ${CMAKE_INSTALL_LIBDIR})
  if(TARGET iorama_static)
    install(FILES ${PROJECT_BINARY_DIR}/lib/libiorama.a ${PROJECT_BINARY_DIR}/lib/iorama-wrap.opts
            DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
  install(PROGRAMS tools/iorama-cc DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES packaging/iorama-cc.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  configure_file(tools/iorama-cc ${PROJECT_BINARY_DIR}/bin/iorama-cc COPYONLY)

  set(PC_PREFIX ${PROJECT_BINARY_DIR})
  set(PC_LIBDIR ${PROJECT_BINARY_DIR}/lib)
  set(PC_INCLUDEDIR ${PROJECT_SOURCE_DIR}/include)
  configure_file(packaging/iorama.pc.in lib/pkgconfig/iorama.pc @ONLY)
  set(pc_capture ${PROJECT_BINARY_DIR}/install/iorama.pc)
  install(CODE "
    set(PC_PREFIX \"\${CMAKE_INSTALL_PREFIX}\")
    set(PC_LIBDIR \"\\\${prefix}/${CMAKE_INSTALL_LIBDIR}\")
    set(PC_INCLUDEDIR \"\\\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}\")
    set(PROJECT_VERSION \"${PROJECT_VERSION}\")
    configure_file(\"${PROJECT_SOURCE_DIR}/packaging/iorama.pc.in\" \"${pc_capture}\" @ONLY)")
  install(FILES ${pc_capture} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

if(TARGET tablegen)
  if(SCDOC)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
            FILES_MATCHING PATTERN "*.1" PATTERN source EXCLUDE)
  endif()
  install(FILES ${PROJECT_BINARY_DIR}/completions/iorama.bash RENAME iorama
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${PROJECT_BINARY_DIR}/completions/_iorama
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${PROJECT_BINARY_DIR}/completions/iorama.fish
          DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

# The agent as a service, of the system and of a user; they name the program by its path.
if(TARGET iorama)
  set(units ${PROJECT_BINARY_DIR}/install/systemd)
  install(CODE "
    set(UNIT_BINDIR \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
    configure_file(\"${PROJECT_SOURCE_DIR}/packaging/iorama-agent.service.in\" \"${units}/system/iorama-agent.service\" @ONLY)
    configure_file(\"${PROJECT_SOURCE_DIR}/packaging/iorama-agent-user.service.in\" \"${units}/user/iorama-agent.service\" @ONLY)
    foreach(unit collect index prune serve)
      configure_file(\"${PROJECT_SOURCE_DIR}/packaging/iorama-\${unit}.service.in\" \"${units}/system/iorama-\${unit}.service\" @ONLY)
    endforeach()
    set(PC_PREFIX \"\${CMAKE_INSTALL_PREFIX}\")
    set(PROJECT_VERSION \"${PROJECT_VERSION}\")
    set(MODULE_LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
    foreach(kind lua tcl)
      configure_file(\"${PROJECT_SOURCE_DIR}/packaging/modules/iorama.\${kind}.in\" \"${units}/../modules/iorama.\${kind}\" @ONLY)
    endforeach()")
  foreach(unit agent collect index prune serve)
    install(FILES ${units}/system/iorama-${unit}.service DESTINATION lib/systemd/system)
  endforeach()
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/iorama-prune.timer DESTINATION lib/systemd/system)
  # what a site puts into its places: modules, Slurm's parts, /etc/iorama.conf
  foreach(kind lua tcl)
    install(FILES ${units}/../modules/iorama.${kind} DESTINATION ${CMAKE_INSTALL_DATADIR}/iorama/modules)
  endforeach()
  install(PROGRAMS ${PROJECT_SOURCE_DIR}/packaging/slurm/epilog RENAME slurm-epilog DESTINATION lib/iorama)
  install(PROGRAMS ${PROJECT_SOURCE_DIR}/packaging/slurm/taskprolog RENAME slurm-taskprolog DESTINATION lib/iorama)
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/slurm/spank_iorama.c ${PROJECT_SOURCE_DIR}/packaging/slurm/README.md
          DESTINATION ${CMAKE_INSTALL_DATADIR}/iorama/slurm)
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/iorama.conf DESTINATION ${CMAKE_INSTALL_DATADIR}/iorama)
  install(FILES ${units}/user/iorama-agent.service DESTINATION lib/systemd/user)
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/prometheus/iorama.rules.yml
                ${PROJECT_SOURCE_DIR}/packaging/prometheus/alertmanager.yml
          DESTINATION ${CMAKE_INSTALL_DATADIR}/iorama/prometheus)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/packaging/grafana DESTINATION ${CMAKE_INSTALL_DATADIR}/iorama
          FILES_MATCHING PATTERN "*.json")
endif()

# The Python package: where the Python of this system looks below the prefix, or IORAMA_PYTHON_DIR below it.
set(IORAMA_PYTHON_DIR "" CACHE STRING "folder of Python packages below the prefix, such as lib/python3/dist-packages")
install(CODE "
  set(dir \"${IORAMA_PYTHON_DIR}\")
  if(dir STREQUAL \"\")
    execute_process(COMMAND python3 \"${PROJECT_SOURCE_DIR}/cmake/python_dir.py\" \"\${CMAKE_INSTALL_PREFIX}\"
      OUTPUT_VARIABLE dir OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  if(dir STREQUAL \"\")
    set(dir lib/python3/dist-packages)
  endif()
  file(GLOB files \"${PROJECT_SOURCE_DIR}/python/iorama/*.py\")
  file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/\${dir}/iorama\" TYPE FILE FILES \${files})")

install(FILES README.md LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Last of all: what was installed, for tools/uninstall.
install(CODE "
  set(list \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/iorama/installed\")
  list(JOIN CMAKE_INSTALL_MANIFEST_FILES \"\\n\" files)
  file(WRITE \"\${list}\" \"\${files}\\n\")")

# One archive: tools/package tar
set(CPACK_PACKAGE_NAME iorama)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR "the iorama authors")
set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_FILE_NAME iorama-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES OFF)
include(CPack)
