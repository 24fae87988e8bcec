# find_package(counterpoint): the targets counterpoint::counterpoint, the shared library, and counterpoint::static.
#
# Every path is found from where this file lies, so an installation can be moved.
get_filename_component(_counterpoint_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." REALPATH)

foreach(_counterpoint_file include/counterpoint.h lib/libcounterpoint.so.1 lib/libcounterpoint.a)
  if(NOT EXISTS "${_counterpoint_prefix}/${_counterpoint_file}")
    set(${CMAKE_FIND_PACKAGE_NAME}_FOUND FALSE)
    set(${CMAKE_FIND_PACKAGE_NAME}_NOT_FOUND_MESSAGE "${_counterpoint_prefix}/${_counterpoint_file} is missing")
    return()
  endif()
endforeach()

if(NOT TARGET counterpoint::counterpoint)
  add_library(counterpoint::counterpoint SHARED IMPORTED)
  set_target_properties(counterpoint::counterpoint PROPERTIES
    IMPORTED_LOCATION "${_counterpoint_prefix}/lib/libcounterpoint.so.1"
    IMPORTED_SONAME libcounterpoint.so.1
    INTERFACE_INCLUDE_DIRECTORIES "${_counterpoint_prefix}/include")
endif()

if(NOT TARGET counterpoint::static)
  add_library(counterpoint::static STATIC IMPORTED)
  set_target_properties(counterpoint::static PROPERTIES
    IMPORTED_LOCATION "${_counterpoint_prefix}/lib/libcounterpoint.a"
    IMPORTED_LINK_INTERFACE_LANGUAGES C
    INTERFACE_INCLUDE_DIRECTORIES "${_counterpoint_prefix}/include"
    INTERFACE_LINK_LIBRARIES "pthread;dl;m")
endif()

unset(_counterpoint_file)
unset(_counterpoint_prefix)
