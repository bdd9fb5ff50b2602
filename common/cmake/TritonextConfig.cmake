# CMake package of the tritonext SDK.
#
#   cmake_minimum_required(VERSION 3.26)
#   find_package(Tritonext REQUIRED)    # chooses the compiler, hence before project()
#   project(tritonext_layout LANGUAGES CXX)
#   tritonext_add_extension()           # everything else comes from pyproject.toml and the directory layout
#
# Input variables, all optional:
#   Python_EXECUTABLE     interpreter whose environment holds triton and tritonext
#   CMAKE_CXX_COMPILER    a clang++ to use instead of the toolchain's

# Every extension of a superbuild calls find_package; the first call has already set everything up for all of them.
if(COMMAND tritonext_add_extension)
  return()
endif()

foreach(module IN ITEMS Toolchain Compiler Flags TableGen Extension)
  include("${CMAKE_CURRENT_LIST_DIR}/Tritonext${module}.cmake")
endforeach()

tritonext_find_toolchain()
set(Tritonext_FOUND TRUE)
