// RUN: %opt %s --pass probe-mark-module | FileCheck %s --check-prefix=DEFAULT
// RUN: %opt %s --pass "probe-mark-module{mark=here}" | FileCheck %s --check-prefix=GIVEN

// DEFAULT: module attributes {probe.mark = "seen"}
// GIVEN: module attributes {probe.mark = "here"}
module {
}
