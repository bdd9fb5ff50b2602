# tritonext_tablegen(<target> <td-file> <output> <generator>...): run mlir-tblgen on a file below include/ and add the
# output, named like the input but for its suffix, to the sources of <target>.
function(tritonext_tablegen target source output)
  cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/include" OUTPUT_VARIABLE relative)
  cmake_path(GET relative PARENT_PATH directory)
  set(name "${directory}/${output}")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/include/${name}")
  set(includes "${CMAKE_CURRENT_SOURCE_DIR}/include" "${TRITONEXT_TRITON_INCLUDE}" ${TRITONEXT_INCLUDE_DIRS})
  list(TRANSFORM includes PREPEND "-I")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${TRITONEXT_MLIR_TBLGEN}" ${ARGN} "${source}" ${includes} --write-if-changed -o "${output}" -d "${output}.d"
    DEPENDS "${source}" "${TRITONEXT_MLIR_TBLGEN}"
    DEPFILE "${output}.d"
    COMMENT "Generating ${name}" VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()

# tritonext_tablegen_extension(<target> <package> <id> [<dialect>]): generate everything the layout of the include
# directory asks for. The name of a file says what it defines; Base.td holds what the others share and generates nothing.
function(tritonext_tablegen_extension target package id)
  set(root "${CMAKE_CURRENT_SOURCE_DIR}/include/${package}")
  set(Dialect_generator dialect)
  set(Ops_generator op)
  set(Types_generator typedef)
  set(Attrs_generator attrdef)
  set(Enums_generator enum)
  set(OpInterfaces_generator op-interface)
  set(TypeInterfaces_generator type-interface)
  set(AttrInterfaces_generator attr-interface)
  if(ARGN)
    # Files that include Triton's definitions must not generate those again.
    set(Dialect_options "--dialect=${ARGN}")
    set(Types_options "--typedefs-dialect=${ARGN}")
    set(Attrs_options "--attrdefs-dialect=${ARGN}")
  endif()

  file(GLOB files CONFIGURE_DEPENDS "${root}/IR/*.td")
  foreach(file IN LISTS files)
    cmake_path(GET file STEM kind)
    if(DEFINED ${kind}_generator)
      set(generator -gen-${${kind}_generator})
      tritonext_tablegen(${target} "${file}" ${kind}.h.inc ${generator}-decls ${${kind}_options})
      tritonext_tablegen(${target} "${file}" ${kind}.cpp.inc ${generator}-defs ${${kind}_options})
    elseif(NOT kind STREQUAL "Base")
      message(FATAL_ERROR "the name of a TableGen file does not say what to generate\n"
        "  where: ${file}\n"
        "  expected: Dialect.td, Ops.td, Types.td, Attrs.td, Enums.td, OpInterfaces.td, TypeInterfaces.td, "
        "AttrInterfaces.td, or Base.td for what they share")
    endif()
  endforeach()
  if(EXISTS "${root}/Transforms/Passes.td")
    tritonext_tablegen(${target} "${root}/Transforms/Passes.td" Passes.h.inc -gen-pass-decls --name=${id})
  endif()
endfunction()
