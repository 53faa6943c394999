# ccache, where it is installed. What it is told to overlook here makes it accept
# precompiled headers. It must look at the headers themselves (CCACHE_DEPEND): a
# header whose comments alone differ would match a precompiled header of old text,
# which g++ then does not take for the same file.
option(HEADWISE_CCACHE "Compile with ccache where it is installed" ON)
find_program(HEADWISE_CCACHE_PROGRAM ccache)
mark_as_advanced(HEADWISE_CCACHE_PROGRAM)
if(HEADWISE_CCACHE AND HEADWISE_CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1
    ${HEADWISE_CCACHE_PROGRAM})
endif()
