#ifndef TRITONEXT_PROFILER_TRANSFORMS_PASSES_TD
#define TRITONEXT_PROFILER_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlaceRecordsPass : Pass<"profiler-place-records", "::mlir::ModuleOp"> {
  let summary = "Place a record at each change of what a warp does";
  let description = [{
    Sorts the ops of a kernel into categories, and puts a `profiler.record` in front of each one that begins another
    category than the op before it in its block. Constants, views, scalar code and arithmetic of addresses belong to
    whatever surrounds them. The module gets attributes that describe the regions, with source line, loop, role, FLOPs
    and bytes, the loops and the roles, and how many records a warp may write: with loops of known length as many as it
    will come to, else `capacity`.

    In mode `header` there are no records; in mode `all` each op is a region of its own; in mode `scopes` only scopes and
    marks of the user have records. These have them in the other two as well, and begin regions there.
  }];
  let options = [
    Option<"mode", "mode", "std::string", "\"auto\"", "header, auto, all or scopes">,
    Option<"capacity", "capacity", "unsigned", "1024",
           "records of a warp where the lengths of loops are not known">
  ];
  let dependentDialects = ["::tritonext::profiler::ProfilerDialect"];
}

def LowerRecordsPass : Pass<"profiler-lower-records", "::mlir::ModuleOp"> {
  let summary = "Lower records to clock reads and stores";
  let description = [{
    Each warp begins a segment of the launch slot that the kernel's profile scratch is, and writes where and when it ran.
    A record is the clock and the number of its region, stored by one thread. The records of a block without branches
    share the check for room and the step of the pointer. The module gets the table of the kernel, and the size of its
    profile scratch.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // TRITONEXT_PROFILER_TRANSFORMS_PASSES_TD
