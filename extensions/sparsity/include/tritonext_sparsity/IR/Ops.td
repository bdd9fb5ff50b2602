#ifndef TRITONEXT_SPARSITY_IR_OPS_TD
#define TRITONEXT_SPARSITY_IR_OPS_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "triton/Dialect/Triton/IR/TritonOpInterfaces.td"
include "triton/Dialect/Triton/IR/TritonTypes.td"
include "triton/Dialect/TritonGPU/IR/TritonGPUTypes.td"
include "tritonext_sparsity/IR/Dialect.td"

// Stock passes take the third operand of a dot for its accumulator, and pipeline loads of all others.
class Sparsity_Product<string mnemonic, list<Trait> traits> : Op<Sparsity_Dialect, mnemonic, traits # [
  AllTypesMatch<["acc", "d"]>,
  DeclareOpInterfaceMethods<DotOpInterface, ["getA", "verifyDims", "verifyOutputDims"]>,
  DeclareOpInterfaceMethods<EfficientLayoutOpInterface>
]> {
  let hasVerifier = 1;
}

def Sparsity_DotOp : Sparsity_Product<"dot", [Pure]> {
  let summary = "product of a 2:4 sparse matrix and a dense one";
  let description = [{
    `d = expand(values, meta) * b + acc`, of `values` [M, K/2], `b` [K, N] and `acc` [M, N]. After `maxNumImpreciseAcc`
    elements along K sums of 8-bit floats are added to `acc` in full precision, as those of `tt.dot` are. 8-bit integers
    are signed, or not where `unsignedValues` or `unsignedB` says so.

    Before `sparsity-accelerate-dots` the tensors have any layouts. Behind it they have those that the instruction of the
    target reads: `acc` of the MMA, `values` and `b` of its operands, and `meta` the one that `metadataLayout` in
    `tritonext_sparsity/IR/Layouts.h` returns.
  }];
  let arguments = (ins
    TT_FpIntTensor:$values,
    TT_FpIntTensor:$b,
    TT_FpIntTensor:$acc,
    TT_IntTensor:$meta,
    DefaultValuedAttr<ConfinedAttr<I32Attr, [IntNonNegative]>, "0">:$maxNumImpreciseAcc,
    UnitAttr:$unsignedValues,
    UnitAttr:$unsignedB
  );
  let results = (outs TT_FpIntTensor:$d);
  let assemblyFormat = [{
    $values `,` $meta `,` $b `,` $acc attr-dict `:` type($values) `,` type($meta) `*` type($b) `->` type($d)
  }];
}

def Sparsity_WarpGroupDotOp : Sparsity_Product<"warp_group_dot", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "product of a 2:4 sparse matrix and a dense one by warp groups";
  let description = [{
    `d = expand(values, meta) * b + acc`, where `acc` counts as zero when `useC` is given and false. `values` are in
    shared memory or in registers, `b` is in shared memory.

    With `isAsync` nobody may read `d`, or write the memory of `values` and `b`, before a `ttng.warp_group_dot_wait` has
    covered the op.

    Source: PTX ISA, wgmma.mma_async.sp.
  }];
  let arguments = (ins
    AnyTypeOf<[TT_FpIntTensor, TTG_MemDescType]>:$values,
    TTG_MemDescType:$b,
    TT_FpIntTensor:$acc,
    TT_IntTensor:$meta,
    Optional<I1>:$useC,
    DefaultValuedAttr<ConfinedAttr<I32Attr, [IntNonNegative]>, "0">:$maxNumImpreciseAcc,
    UnitAttr:$isAsync,
    UnitAttr:$unsignedValues,
    UnitAttr:$unsignedB
  );
  let results = (outs TT_FpIntTensor:$d);
  let assemblyFormat = [{
    $values `,` $meta `,` $b `,` $acc (`if` $useC^)? attr-dict
    `:` qualified(type($values)) `,` type($meta) `*` qualified(type($b)) `->` type($d)
  }];
}

def Sparsity_AsyncDotOp : Op<Sparsity_Dialect, "async_dot", [AllTypesMatch<["acc", "d"]>]> {
  let summary = "start a product of warp groups, of tensors that have no layouts of instructions yet";
  let description = [{
    An asynchronous `sparsity.warp_group_dot` where that cannot be: before tensors have layouts. One other product of the
    same block may add to `d`; all else reads it behind a `ttng.warp_group_dot_wait` of the block that covers the op.
  }];
  let arguments = (ins
    AnyTypeOf<[TT_FpIntTensor, TTG_MemDescType]>:$values,
    TTG_MemDescType:$b,
    TT_FpIntTensor:$acc,
    TT_IntTensor:$meta,
    Optional<I1>:$useC,
    DefaultValuedAttr<ConfinedAttr<I32Attr, [IntNonNegative]>, "0">:$maxNumImpreciseAcc,
    UnitAttr:$unsignedValues,
    UnitAttr:$unsignedB
  );
  let results = (outs TT_FpIntTensor:$d);
  let assemblyFormat = [{
    $values `,` $meta `,` $b `,` $acc (`if` $useC^)? attr-dict
    `:` qualified(type($values)) `,` type($meta) `*` qualified(type($b)) `->` type($d)
  }];
  let hasVerifier = 1;
}

def Sparsity_ExpandOp : Op<Sparsity_Dialect, "expand", [Pure, AllTypesMatch<["dense", "result"]>]> {
  let summary = "sparse matrix with its zeros";
  let description = [{
    The result is `dense`, which stock ops compute from `values` and `meta`. The op says where it comes from, so that
    `sparsity-fuse-expansions` can multiply `values` and `meta` instead.
  }];
  let arguments = (ins TT_FpIntTensor:$dense, TT_FpIntTensor:$values, TT_IntTensor:$meta);
  let results = (outs TT_FpIntTensor:$result);
  let assemblyFormat = [{
    $dense `of` $values `,` $meta attr-dict `:` type($dense) `of` type($values) `,` type($meta)
  }];
  let hasVerifier = 1;
}

def Sparsity_HoldMetadataOp : Op<Sparsity_Dialect, "hold_metadata", [Pure]> {
  let summary = "metadata of a product that stock passes see as a dense one";
  let description = [{
    The flag of a `ttng.warp_group_dot` that stands for a `sparsity.warp_group_dot` while stock passes pipeline loops. It
    holds what a dense product has no operands for. `sparsity-show-dots` makes the sparse product of both.
  }];
  let arguments = (ins
    TT_IntTensor:$meta,
    Optional<I1>:$useC,
    DefaultValuedAttr<ConfinedAttr<I32Attr, [IntNonNegative]>, "0">:$maxNumImpreciseAcc,
    UnitAttr:$unsignedValues,
    UnitAttr:$unsignedB
  );
  let results = (outs I1:$flag);
  let assemblyFormat = "$meta (`if` $useC^)? attr-dict `:` type($meta)";
}

#endif // TRITONEXT_SPARSITY_IR_OPS_TD
