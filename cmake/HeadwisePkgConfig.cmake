# headwise_pkg_config(NAME DESCRIPTION LIBS REQUIRES...): writes NAME.pc and
# installs it. REQUIRES are other packages of pkg-config.
function(headwise_pkg_config pc_name pc_description pc_libs)
  list(JOIN ARGN ", " pc_requires)
  # The paths start at the file itself, so that the installed tree can be moved.
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
    string(REGEX REPLACE "[^/]+" ".." to_prefix ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    set(pc_prefix "\${pcfiledir}/${to_prefix}")
  endif()
  foreach(dir libdir includedir)
    string(TOUPPER ${dir} option)
    set(pc_${dir} ${CMAKE_INSTALL_${option}})
    if(NOT IS_ABSOLUTE ${pc_${dir}})
      set(pc_${dir} "\${prefix}/${pc_${dir}}")
    endif()
  endforeach()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/headwise.pc.in
    ${PROJECT_BINARY_DIR}/${pc_name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${pc_name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
