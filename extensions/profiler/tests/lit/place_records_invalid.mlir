// RUN: %opt %s --pass "profiler-place-records{mode=some}" --verify-diagnostics
// RUN: %python -c "print('module {', 'tt.func public @f(%%a: !tt.ptr<f32>) {', *(f'%%x{i} = tt.load %%a : !tt.ptr<f32>' for i in range(4096)), 'tt.return } }', sep='\n')" > %t
// RUN: not %opt %t --pass profiler-place-records 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: sed 's/^module/module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"}/' %t > %t.known
// RUN: not %opt %t.known --pass "profiler-place-records{mode=all}" 2>&1 | FileCheck %s

// CHECK: error: expected at most 4096 regions, got 4097; profile the kernel in mode auto or header
// UNKNOWN: error: expected the target and the warps of the kernel, ttg.target and ttg.num-warps

// expected-error @below {{expected mode header, auto or all, got some}}
module {
}
