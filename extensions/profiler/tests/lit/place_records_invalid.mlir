// RUN: %opt %s --pass "profiler-place-records{mode=some}" --verify-diagnostics
// RUN: %python -c "print('module {', 'tt.func public @f(%%a: !tt.ptr<f32>) {', *(f'%%x{i} = tt.load %%a : !tt.ptr<f32>' for i in range(4096)), 'tt.return } }', sep='\n')" > %t
// RUN: not %opt %t --pass profiler-place-records 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: sed 's/^module/module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"}/' %t > %t.known
// RUN: not %opt %t.known --pass "profiler-place-records{mode=all}" 2>&1 | FileCheck %s
// RUN: %python -c "print('module attributes {\"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:90\", \"ttg.total-num-warps\" = 8 : i32} {', 'tt.func public @f() {', 'profiler.enter \"outer\"', 'ttg.warp_specialize() attributes {warpGroupStartIds = array<i32: 4>} default {', 'profiler.exit \"outer\"', 'ttg.warp_yield }', 'partition0() num_warps(4) { ttg.warp_return } : () -> ()', 'profiler.exit \"outer\"', 'tt.return } }', sep='\n')" > %t.task
// RUN: not %opt %t.task --pass profiler-place-records 2>&1 | FileCheck %s --check-prefix=TASK
// RUN: sed '0,/profiler.exit "outer"/s//profiler.exit "inner"/' %t.task > %t.other
// RUN: not %opt %t.other --pass profiler-place-records 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: sed 's/profiler.exit "outer"//' %t.task > %t.open
// RUN: not %opt %t.open --pass profiler-place-records 2>&1 | FileCheck %s --check-prefix=OPEN
// RUN: %python %S/../conditions.py 7 > %t.seven
// RUN: not %opt %t.seven --pass "profiler-place-records{mode=scopes}" 2>&1 | FileCheck %s --check-prefix=SEVEN

// SEVEN: error: expected the innermost scope to be left, got "s6"
// SEVEN: note: of 7 conditions that several branches ask, 6 are followed
// TASK: error: expected a task to leave the scopes around it alone
// OTHER: error: expected the innermost scope to be left, got "inner"
// OTHER: note: the innermost one is "outer"
// OPEN: error: expected scope "outer" to be left on every way from here
// CHECK: error: expected at most 4096 regions, got 4097; profile the kernel in mode auto or header
// UNKNOWN: error: expected the target and the warps of the kernel, ttg.target and ttg.num-warps

// expected-error @below {{expected mode header, auto, all or scopes, got some}}
module {
}
