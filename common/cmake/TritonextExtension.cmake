# tritonext_add_extension(): build the extension whose pyproject.toml lies in the calling directory.
#
# Adds the shared library target tritonext_<id> from lib/**.cpp, the TableGen files below include/tritonext_<id>, the
# plugin table generated from the manifest, and the SDK's own sources. It is installed to the root of the prefix, which
# the build backend maps to the Python package.
function(tritonext_add_extension)
  tritonext_check_compiler()
  tritonext_define_flags()

  set(manifest "${CMAKE_CURRENT_SOURCE_DIR}/pyproject.toml")
  set(generated "${CMAKE_CURRENT_BINARY_DIR}/generated")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${manifest}")
  # Prints the id and, when the manifest has one, the dialect.
  tritonext_run_python(dialect generate --pyproject "${manifest}" --out "${generated}")
  list(POP_FRONT dialect id)
  set(package tritonext_${id})

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/lib/*.cpp")
  file(GLOB sdk_sources CONFIGURE_DEPENDS "${TRITONEXT_ROOT}/lib/*.cpp")
  add_library(${package} SHARED ${sources} ${sdk_sources} "${generated}/PluginTable.inc")
  target_link_libraries(${package} PRIVATE tritonext::extension)
  target_include_directories(${package} PRIVATE
    "${CMAKE_CURRENT_SOURCE_DIR}/include" "${CMAKE_CURRENT_BINARY_DIR}/include" "${generated}")
  tritonext_tablegen_extension(${package} ${package} ${id} ${dialect})
  target_precompile_headers(${package} PRIVATE "${TRITONEXT_ROOT}/include/tritonext/Precompiled.h")

  set_target_properties(${package} PROPERTIES
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON
    # CMake would define <target>_EXPORTS, which nothing reads and which keeps compilations from being shared.
    DEFINE_SYMBOL ""
    SKIP_BUILD_RPATH ON)
  get_property(launcher TARGET tritonext_extension PROPERTY TRITONEXT_LAUNCHER)
  set_property(TARGET ${package} PROPERTY CXX_COMPILER_LAUNCHER ${launcher})
  install(TARGETS ${package} LIBRARY DESTINATION .)
endfunction()
