# tritonext_define_flags(): define the interface target tritonext::extension, which holds every flag an extension is
# compiled and linked with.
function(tritonext_define_flags)
  if(TARGET tritonext::extension)
    return()
  endif()

  add_library(tritonext::libtriton SHARED IMPORTED GLOBAL)
  set_target_properties(tritonext::libtriton PROPERTIES IMPORTED_LOCATION "${TRITONEXT_LIBTRITON}")

  add_library(tritonext_extension INTERFACE)
  add_library(tritonext::extension ALIAS tritonext_extension)
  target_link_libraries(tritonext_extension INTERFACE tritonext::libtriton)
  target_include_directories(tritonext_extension INTERFACE "${TRITONEXT_ROOT}/include")
  # SYSTEM keeps warnings to our own code. The order counts: the first directory overlays a header of a later one.
  target_include_directories(tritonext_extension SYSTEM INTERFACE ${TRITONEXT_INCLUDE_DIRS} "${TRITONEXT_TRITON_INCLUDE}")
  target_compile_features(tritonext_extension INTERFACE cxx_std_20)
  target_compile_options(tritonext_extension INTERFACE
    -fno-rtti
    # libtriton is an asserts build, and NDEBUG changes the layout of some classes. CMake's release flags define it.
    -UNDEBUG
    # The layout check reads the debug info of every class that is used, and the wheel then drops it.
    -g -fstandalone-debug
    -ffunction-sections -fdata-sections
    # A time stamp in the precompiled header would make every compilation look new to ccache.
    "SHELL:-Xclang -fno-pch-timestamp"
    -Wall -Wextra -Wno-unused-parameter
    # No path of the machine that builds may reach the library.
    "-ffile-prefix-map=${CMAKE_BINARY_DIR}=build"
    "-ffile-prefix-map=${CMAKE_SOURCE_DIR}=."
    "-ffile-prefix-map=${TRITONEXT_ROOT}=tritonext"
    "-ffile-prefix-map=${TRITONEXT_TRITON_INCLUDE}=triton/include")
  foreach(directory IN LISTS TRITONEXT_INCLUDE_DIRS)
    target_compile_options(tritonext_extension INTERFACE "-ffile-prefix-map=${directory}=llvm")
  endforeach()
  target_link_options(tritonext_extension INTERFACE
    -Wl,--build-id=sha1 -Wl,--no-undefined -Wl,--as-needed -Wl,--gc-sections -Wl,-z,now -Wl,-z,relro
    "-Wl,--version-script=${TRITONEXT_ROOT}/cmake/Exports.map")
  set_property(TARGET tritonext_extension PROPERTY INTERFACE_LINK_DEPENDS "${TRITONEXT_ROOT}/cmake/Exports.map")

  find_program(TRITONEXT_CCACHE ccache)
  mark_as_advanced(TRITONEXT_CCACHE)
  if(TRITONEXT_CCACHE)
    # What ccache asks for before it caches sources that use a precompiled header.
    set_property(TARGET tritonext_extension PROPERTY TRITONEXT_LAUNCHER
      "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${TRITONEXT_CCACHE}")
  endif()
endfunction()
