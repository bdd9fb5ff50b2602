# tritonext_run_python(<result-variable> <argument>...): run `python -m tritonext.build <argument>...` and return its
# standard output. Failure ends the configuration with the message that Python printed.
function(tritonext_run_python result)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env ${TRITONEXT_PYTHON_ENVIRONMENT} "${TRITONEXT_PYTHON}" -m tritonext.build ${ARGN}
    OUTPUT_VARIABLE output ERROR_VARIABLE error RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    # CMake re-wraps lines that start in the first column, which would tear the message apart.
    string(REGEX REPLACE "(^|\n)" "\\1  " error "${error}")
    message(FATAL_ERROR "${error}")
  endif()
  set(${result} "${output}" PARENT_SCOPE)
endfunction()

# tritonext_find_toolchain(): ask the SDK where the compiler, the headers, mlir-tblgen and Triton are, and make the
# compiler CMake's. The answers are the TRITONEXT_* variables that `python -m tritonext.build configure` writes.
macro(tritonext_find_toolchain)
  if(PROJECT_NAME)
    message(FATAL_ERROR "find_package(Tritonext) must come before project(), because it chooses the compiler")
  endif()
  if(NOT Python_EXECUTABLE)
    find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)
  endif()
  set(TRITONEXT_PYTHON "${Python_EXECUTABLE}")
  # In the repository the package lies beside this directory and need not be installed.
  if(EXISTS "${CMAKE_CURRENT_LIST_DIR}/../python/tritonext")
    cmake_path(ABSOLUTE_PATH CMAKE_CURRENT_LIST_DIR NORMALIZE OUTPUT_VARIABLE TRITONEXT_PYTHON_ENVIRONMENT)
    cmake_path(GET TRITONEXT_PYTHON_ENVIRONMENT PARENT_PATH TRITONEXT_PYTHON_ENVIRONMENT)
    set(TRITONEXT_PYTHON_ENVIRONMENT "PYTHONPATH=${TRITONEXT_PYTHON_ENVIRONMENT}/python:$ENV{PYTHONPATH}")
  endif()
  tritonext_run_python(tritonext_output configure --out "${CMAKE_BINARY_DIR}/tritonext/Toolchain.cmake")
  include("${CMAKE_BINARY_DIR}/tritonext/Toolchain.cmake")

  if(NOT CMAKE_CXX_COMPILER)
    set(CMAKE_CXX_COMPILER "${TRITONEXT_CXX}")
    string(JOIN " " CMAKE_CXX_FLAGS_INIT ${TRITONEXT_CXX_FLAGS})
    string(JOIN " " CMAKE_SHARED_LINKER_FLAGS_INIT ${TRITONEXT_LINK_FLAGS})
  endif()
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  message(STATUS "Triton ${TRITONEXT_TRITON_VERSION}, LLVM ${TRITONEXT_LLVM_COMMIT}, headers ${TRITONEXT_HEADERS_VERSION}")
endmacro()
