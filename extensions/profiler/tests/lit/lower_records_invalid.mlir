// RUN: %opt %s --pass profiler-lower-records --verify-diagnostics

// expected-error @below {{expected a kernel whose last argument is its profile scratch}}
module attributes {profiler.regions = []} {
llvm.func @kernel(%arg0: i32) {
  llvm.return
}
}
