#ifndef TRITONEXT_TLX_IR_OPS_TD
#define TRITONEXT_TLX_IR_OPS_TD

include "mlir/IR/OpBase.td"
include "triton/Dialect/Triton/IR/TritonAttrDefs.td"
include "triton/Dialect/Triton/IR/TritonTypes.td"
include "triton/Dialect/TritonGPU/IR/TritonGPUTypes.td"
include "tritonext_tlx/IR/Dialect.td"

// No op states its effects, so that stock passes move nothing across one.
class Tlx_Op<string mnemonic, list<Trait> traits = []> : Op<Tlx_Dialect, mnemonic, traits>;

// Stock copies want a descriptor that already has the layout of the buffer, and descriptors get layouts late.

def Tlx_AsyncDescriptorLoadOp : Tlx_Op<"async_descriptor_load"> {
  let summary = "copy a tile into a buffer and signal a barrier, by a descriptor without a layout";
  let arguments = (ins
    TT_TensorDescType:$desc,
    Variadic<I32>:$coord,
    TTG_MemDescType:$buffer,
    TTG_MemDescType:$barrier,
    I1:$pred,
    OptionalAttr<AnyAttr>:$cachePolicy
  );
  let assemblyFormat = [{
    $desc `[` $coord `]` $buffer `,` $barrier `,` $pred attr-dict
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

#endif // TRITONEXT_TLX_IR_OPS_TD
