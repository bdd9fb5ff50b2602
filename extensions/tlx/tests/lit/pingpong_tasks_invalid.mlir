// RUN: %opt %s --pass "tlx-pingpong-tasks{limit=0}" --verify-diagnostics

// expected-error @below {{expected a limit from 1 to 2147483647 cycles, got 0}}
module {
}
