#ifndef TRITONEXT_TLX_IR_OPS_TD
#define TRITONEXT_TLX_IR_OPS_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "triton/Dialect/Triton/IR/TritonAttrDefs.td"
include "triton/Dialect/Triton/IR/TritonTypes.td"
include "triton/Dialect/TritonGPU/IR/TritonGPUTypes.td"
include "tritonext_tlx/IR/Dialect.td"

// No op states its effects, so that stock passes move nothing across one.
class Tlx_Op<string mnemonic, list<Trait> traits = []> : Op<Tlx_Dialect, mnemonic, traits>;

def Tlx_AsyncLoadWaitOp : Tlx_Op<"async_load_wait"> {
  let summary = "wait until at most `pendings` groups of asynchronous copies are outstanding";
  let description = [{
    `ttg.async_wait`, hidden from the stock pipeliner, which counts groups by tokens and would wait for all of them.
  }];
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative]>:$pendings);
  let results = (outs TTG_AsyncToken:$token);
  let assemblyFormat = "attr-dict";
}

def Tlx_LocalLoadOp : Tlx_Op<"local_load"> {
  let summary = "load from a buffer that the kernel writes again";
  let description = [{
    `ttg.local_load`, hidden from stock passes that move loads of buffers as if nothing wrote those.
  }];
  let arguments = (ins TTG_MemDescType:$src);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$src attr-dict `:` qualified(type($src)) `->` type($result)";
}

def Tlx_AsyncDotOp : Tlx_Op<"async_dot", [AllTypesMatch<["c", "d"]>]> {
  let summary = "start a warp-group matrix product of operands in shared memory";
  let description = [{
    `d = a * b + c`, where `c` counts as zero when `useC` is given and false. Nobody may read `d` before a
    `ttng.warp_group_dot_wait` has covered it. This is `ttng.warp_group_dot` where that cannot be: before tensors have
    layouts, and in front of the stock pipeliner, which puts a wait behind each.
  }];
  let arguments = (ins
    AnyTypeOf<[TT_FpIntTensor, TTG_MemDescType]>:$a,
    TTG_MemDescType:$b,
    TT_FpIntTensor:$c,
    Optional<I1>:$useC,
    DefaultValuedAttr<StrAttr, "\"ieee\"">:$inputPrecision,
    DefaultValuedAttr<ConfinedAttr<I32Attr, [IntNonNegative]>, "0">:$maxNumImpreciseAcc
  );
  let results = (outs TT_FpIntTensor:$d);
  let assemblyFormat = [{
    $a `,` $b `,` $c (`if` $useC^)? attr-dict `:` qualified(type($a)) `*` qualified(type($b)) `->` type($d)
  }];
}

// Stock copies want a descriptor that already has the layout of the buffer, and descriptors get layouts late.

def Tlx_AsyncDescriptorLoadOp : Tlx_Op<"async_descriptor_load", [AttrSizedOperandSegments]> {
  let summary = "copy a tile into a buffer and signal a barrier, by a descriptor without a layout";
  let description = [{
    With `targets`, a mask of one bit for each block of the cluster, the tile and the signal go to the same places of
    each of those blocks, and not to the own block unless its bit is set. With `inPair` the signal goes to the barrier of
    the block with the even rank of each pair.
  }];
  let arguments = (ins
    TT_TensorDescType:$desc,
    Variadic<I32>:$coord,
    TTG_MemDescType:$buffer,
    TTG_MemDescType:$barrier,
    I1:$pred,
    Optional<I32>:$targets,
    OptionalAttr<AnyAttr>:$cachePolicy,
    UnitAttr:$inPair
  );
  let assemblyFormat = [{
    $desc `[` $coord `]` $buffer `,` $barrier `,` $pred (`to` $targets^)? attr-dict
    `:` qualified(type($desc)) `,` qualified(type($buffer)) `,` qualified(type($barrier))
  }];
}

def Tlx_AsyncDescriptorStoreOp : Tlx_Op<"async_descriptor_store"> {
  let summary = "copy a buffer to a tile, or reduce it into one, by a descriptor without a layout";
  let arguments = (ins
    TT_TensorDescType:$desc,
    Variadic<I32>:$coord,
    TTG_MemDescType:$buffer,
    OptionalAttr<TT_DescriptorReduceKindAttr>:$kind,
    OptionalAttr<AnyAttr>:$cachePolicy
  );
  let assemblyFormat = [{
    $desc `[` $coord `]` $buffer attr-dict `:` qualified(type($desc)) `,` qualified(type($buffer))
  }];
}

def Tlx_AsyncDescriptorPrefetchOp : Tlx_Op<"async_descriptor_prefetch"> {
  let summary = "load a tile into the L2 cache, by a descriptor without a layout";
  let arguments = (ins
    TT_TensorDescType:$desc,
    Variadic<I32>:$coord,
    I1:$pred,
    DefaultValuedAttr<StrAttr, "\"\"">:$policy
  );
  let assemblyFormat = "$desc `[` $coord `]` `,` $pred attr-dict `:` qualified(type($desc))";
}

def Tlx_StoreDescriptorOp : Tlx_Op<"store_descriptor"> {
  let summary = "make a descriptor in memory that the kernel chose";
  let arguments = (ins TT_TensorDescType:$desc, TT_Ptr:$slot);
  let assemblyFormat = "$desc `in` $slot attr-dict `:` qualified(type($desc)) `,` qualified(type($slot))";
}

def Tlx_LoadDescriptorOp : Tlx_Op<"load_descriptor"> {
  let summary = "use the descriptor that was made in memory";
  let description = [{
    It has the layout that all descriptors made in the same allocation have.
  }];
  let arguments = (ins TT_Ptr:$slot);
  let results = (outs TT_TensorDescType:$desc);
  let assemblyFormat = "$slot attr-dict `:` qualified(type($slot)) `->` qualified(type($desc))";
}

def Tlx_RequireLayoutOp : Tlx_Op<"require_layout", [Pure, AllTypesMatch<["src", "result"]>]> {
  let summary = "have a tensor in a layout of registers";
  let description = [{
    The result is the tensor in the layout of ops around; in between it is in `layout`. `tlx-lower-required-layouts` says
    so with conversions, which this op, of a tensor in the layout already, keeps apart.
  }];
  let arguments = (ins TT_Tensor:$src, AnyAttr:$layout);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$src attr-dict `:` type($src)";
}

def Tlx_InspectLayoutOp : Tlx_Op<"inspect_layout"> {
  let summary = "print a layout, or compare it with another one, when it is final";
  let description = [{
    Compares the layout of `value` with that of `other`, or with `expected`, and prints it when there is neither.
  }];
  let arguments = (ins
    AnyTypeOf<[TT_Tensor, TTG_MemDescType]>:$value,
    Optional<AnyTypeOf<[TT_Tensor, TTG_MemDescType]>>:$other,
    OptionalAttr<AnyAttr>:$expected
  );
  let assemblyFormat = "$value (`,` $other^)? attr-dict `:` type($value) (`,` type($other)^)?";
}

// A storage is an integer in the IR, which carries the identity of its op through functions and their inlining.

def Tlx_AliasSpecOp : Tlx_Op<"alias_spec"> {
  let summary = "name memory that several allocations use";
  let description = [{
    Allocates nothing by itself. The `ttg.local_alloc` or `ttng.tmem_alloc` ops that `tlx.alias_storage` connects with it
    get one piece of memory, of `size` bytes when that is given, by `tlx-place-aliases`.
  }];
  let arguments = (ins OptionalAttr<ConfinedAttr<I32Attr, [IntPositive]>>:$size);
  let results = (outs I32:$spec);
  let assemblyFormat = "attr-dict";
}

def Tlx_AliasStorageOp : Tlx_Op<"alias_storage"> {
  let summary = "put an allocation into memory that others use too";
  let description = [{
    Slot `i` of the buffer starts at `offset + i / group * stride + i % group * slot`, in bytes or columns of tensor
    memory, where `slot` is the size of one. Without `stride` they follow each other; an op with it takes precedence.
  }];
  let arguments = (ins
    I32:$spec,
    TTG_MemDescType:$buffer,
    DefaultValuedAttr<ConfinedAttr<I32Attr, [IntNonNegative]>, "0">:$offset,
    OptionalAttr<ConfinedAttr<I32Attr, [IntPositive]>>:$stride,
    DefaultValuedAttr<ConfinedAttr<I32Attr, [IntPositive]>, "1">:$group
  );
  let assemblyFormat = "$buffer `in` $spec attr-dict `:` qualified(type($buffer))";
}

// Tensor memory is read and written in few layouts of registers, and tensors get layouts late.

def Tlx_TmemLoadOp : Tlx_Op<"tmem_load"> {
  let summary = "load a buffer in tensor memory into a tensor of any layout";
  let arguments = (ins TTG_MemDescType:$src);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$src attr-dict `:` qualified(type($src)) `->` type($result)";
}

def Tlx_TmemStoreOp : Tlx_Op<"tmem_store"> {
  let summary = "store a tensor of any layout to a buffer in tensor memory";
  let arguments = (ins TTG_MemDescType:$dst, TT_Tensor:$src);
  let assemblyFormat = "$src `,` $dst attr-dict `:` type($src) `->` qualified(type($dst))";
}

// Stock reaches other blocks of a cluster only where one tensor is spread over all of them. Here each block owns its
// tensors, so other blocks are named by their rank.

def Tlx_ClusterBarrierOp : Tlx_Op<"cluster_barrier"> {
  let summary = "wait for all threads of the cluster";
  let description = [{
    `ttng.cluster_barrier` for kernels whose tensors belong to one block, which stock does not let have one. With
    `relaxed` it orders no accesses to memory.
  }];
  let arguments = (ins UnitAttr:$relaxed);
  let assemblyFormat = "attr-dict";
}

def Tlx_RemoteArriveOp : Tlx_Op<"remote_arrive"> {
  let summary = "arrive at the barrier of another block of the cluster";
  let description = [{
    Counts `count` arrivals, or one of each thread with `perThread`. With `bytes` it is one arrival that announces so
    many bytes.
  }];
  let arguments = (ins
    TTG_MemDescType:$barrier,
    I32:$rank,
    I1:$pred,
    DefaultValuedAttr<ConfinedAttr<I32Attr, [IntPositive]>, "1">:$count,
    OptionalAttr<ConfinedAttr<I32Attr, [IntPositive]>>:$bytes,
    UnitAttr:$perThread
  );
  let assemblyFormat = "$barrier `of` $rank `,` $pred attr-dict `:` qualified(type($barrier))";
}

def Tlx_RemoteStoreOp : Tlx_Op<"remote_store"> {
  let summary = "store a tensor into the buffer of another block of the cluster";
  let description = [{
    `dst` and `barrier` are those of the own block, and stand for the same places of the other one. With a barrier the
    store is asynchronous, and its bytes are signalled there.
  }];
  let arguments = (ins
    TT_Tensor:$src,
    TTG_MemDescType:$dst,
    I32:$rank,
    Optional<TTG_MemDescType>:$barrier
  );
  let assemblyFormat = [{
    $src `,` $dst `of` $rank (`signals` $barrier^)? attr-dict
    `:` type($src) `,` qualified(type($dst)) (`,` qualified(type($barrier))^)?
  }];
}

def Tlx_RemoteLoadOp : Tlx_Op<"remote_load"> {
  let summary = "load a tensor from the buffer of another block of the cluster";
  let arguments = (ins TTG_MemDescType:$src, I32:$rank);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$src `of` $rank attr-dict `:` qualified(type($src)) `->` type($result)";
}

// Stock knows pairs of blocks by tensors that are spread over both.

def Tlx_PairDotOp : Tlx_Op<"pair_dot"> {
  let summary = "start a matrix product of two blocks, each with its rows of the accumulator";
  let description = [{
    Both blocks of a pair run the op, and the one with the even rank starts the product: of the rows of `a` of both and
    the columns of `b` of both, added to the rows of `d` that each block has in its tensor memory when `useD` is true.
    When it is over, the barriers of both blocks are arrived at.
  }];
  let arguments = (ins
    TTG_MemDescType:$a,
    TTG_MemDescType:$b,
    TTG_MemDescType:$d,
    I1:$useD,
    I1:$pred,
    Variadic<TTG_MemDescType>:$barriers
  );
  let assemblyFormat = [{
    $a `,` $b `,` $d `if` $useD `,` $pred (`signals` $barriers^)? attr-dict
    `:` qualified(type($a)) `*` qualified(type($b)) `->` qualified(type($d)) (`,` qualified(type($barriers))^)?
  }];
}

def Tlx_PairDotScaledOp : Tlx_Op<"pair_dot_scaled"> {
  let summary = "start a matrix product of two blocks whose operands have scales";
  let description = [{
    As `tlx.pair_dot`, with one scale in tensor memory for each 32 elements along K: those of the own rows of `a`, and in
    both blocks those of all columns of `b`.
  }];
  let arguments = (ins
    TTG_MemDescType:$a,
    TTG_MemDescType:$b,
    TTG_MemDescType:$d,
    TTG_MemDescType:$aScale,
    TTG_MemDescType:$bScale,
    TT_ScaleDotElemTypeAttr:$aType,
    TT_ScaleDotElemTypeAttr:$bType,
    I1:$useD,
    I1:$pred,
    Variadic<TTG_MemDescType>:$barriers
  );
  let assemblyFormat = [{
    $a `scale` $aScale `,` $b `scale` $bScale `,` $d `lhs` `=` $aType `rhs` `=` $bType `if` $useD `,` $pred
    (`signals` $barriers^)? attr-dict
    `:` qualified(type($a)) `,` qualified(type($aScale)) `*` qualified(type($b)) `,` qualified(type($bScale))
    `->` qualified(type($d)) (`,` qualified(type($barriers))^)?
  }];
}

def Tlx_PairCopyOp : Tlx_Op<"pair_copy"> {
  let summary = "start a copy from shared to tensor memory in each of two blocks";
  let description = [{
    Both blocks of a pair run the op, and the one with the even rank starts both copies, each within its block. It is
    `ttng.tmem_copy` before the module is marked as one of pairs.
  }];
  let arguments = (ins TTG_MemDescType:$src, TTG_MemDescType:$dst);
  let assemblyFormat = "$src `,` $dst attr-dict `:` qualified(type($src)) `->` qualified(type($dst))";
}

def Tlx_PairCommitOp : Tlx_Op<"pair_commit"> {
  let summary = "arrive at a barrier of both blocks of a pair when the products that were started before are over";
  let arguments = (ins TTG_MemDescType:$barrier, I1:$pred);
  let assemblyFormat = "$barrier `,` $pred attr-dict `:` qualified(type($barrier))";
}

#endif // TRITONEXT_TLX_IR_OPS_TD
