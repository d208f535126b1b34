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
          FILES_MATCHING PATTERN "*.h")

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
  install(FILES ${PROJECT_BINARY_DIR}/lib/libiorama.a ${PROJECT_BINARY_DIR}/lib/iorama-wrap.opts
          DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(PROGRAMS tools/iorama-cc DESTINATION ${CMAKE_INSTALL_BINDIR})
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
endif()

# The agent as a service, of the system and of a user; they name the program by its path.
if(TARGET iorama)
  set(units ${PROJECT_BINARY_DIR}/install/systemd)
  install(CODE "
    set(UNIT_BINDIR \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
    configure_file(\"${PROJECT_SOURCE_DIR}/packaging/iorama-agent.service.in\" \"${units}/system/iorama-agent.service\" @ONLY)
    configure_file(\"${PROJECT_SOURCE_DIR}/packaging/iorama-agent-user.service.in\" \"${units}/user/iorama-agent.service\" @ONLY)")
  install(FILES ${units}/system/iorama-agent.service DESTINATION lib/systemd/system)
  install(FILES ${units}/user/iorama-agent.service DESTINATION lib/systemd/user)
endif()

install(FILES README.md LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
