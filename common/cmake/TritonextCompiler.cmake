# tritonext_check_compiler(): refuse a compiler whose trait identities differ from libtriton's. MLIR derives them from
# the compiler's spelling of type names, so a library built with GCC loads and then answers every trait query wrongly.
function(tritonext_check_compiler)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL TRITONEXT_CLANG_MINIMUM)
    return()
  endif()
  message(FATAL_ERROR "the C++ compiler cannot build Triton extensions\n"
    "  where: ${CMAKE_CXX_COMPILER}\n"
    "  expected: clang >= ${TRITONEXT_CLANG_MINIMUM}\n"
    "  found: ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}\n"
    "  hint: leave CMAKE_CXX_COMPILER unset to use ${TRITONEXT_CXX}, or set TRITONEXT_CXX to another clang++; "
    "`tritonext toolchain` provides one")
endfunction()
