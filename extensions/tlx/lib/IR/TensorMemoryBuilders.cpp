#include "tritonext_tlx/IR/TensorMemoryBuilders.h"
#include "tritonext_tlx/IR/Dialect.h"

#include "mlir/IR/Matchers.h"
#include "python/src/ir.h"
#include "triton/Dialect/TritonNvidiaGPU/IR/Dialect.h"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

/// Returns the format of a scaled operand that a constant stands for.
static tt::ScaleDotElemType formatOf(Value index) {
  constexpr tt::ScaleDotElemType formats[] = {
      tt::ScaleDotElemType::E4M3, tt::ScaleDotElemType::E5M2, tt::ScaleDotElemType::E2M1};
  IntegerAttr attr;
  return formats[matchPattern(index, m_Constant(&attr)) ? attr.getInt() : 0];
}

void tritonext::tlx::buildTmemLoad(TritonOpBuilder &builder, std::vector<Value> &values) {
  auto memory = cast<ttg::MemDescType>(values[1].getType());
  auto type = RankedTensorType::get(memory.getShape(), memory.getElementType());
  values[0] = builder.create<TmemLoadOp>(type, values[1]);
}

void tritonext::tlx::buildTmemStore(TritonOpBuilder &builder, std::vector<Value> &values) {
  builder.create<TmemStoreOp>(values[1], values[2]);
}

void tritonext::tlx::buildUntrackMma(TritonOpBuilder &builder, std::vector<Value> &values) {
  OpBuilder &plain = builder.getBuilder();
  // Python makes the constant that is `values[1]` between the two.
  for (Operation &op : llvm::reverse(
           llvm::make_range(plain.getInsertionBlock()->begin(), plain.getInsertionPoint())))
    if (auto mma = dyn_cast<ttng::MMAv5OpInterface>(op)) {
      mma.setIsAsync(true);
      break;
    }
  values[0] = values[1];
}

void tritonext::tlx::buildPairDot(TritonOpBuilder &builder, std::vector<Value> &values) {
  ArrayRef<Value> operands = ArrayRef(values).drop_front();
  builder.create<PairDotOp>(operands[0], operands[1], operands[2], operands[3], operands[4],
                            operands.drop_front(5));
}

void tritonext::tlx::buildPairDotScaled(TritonOpBuilder &builder, std::vector<Value> &values) {
  ArrayRef<Value> operands = ArrayRef(values).drop_front();
  builder.create<PairDotScaledOp>(operands[0], operands[1], operands[2], operands[3], operands[4],
                                  formatOf(operands[5]), formatOf(operands[6]), operands[7],
                                  operands[8], operands.drop_front(9));
}

void tritonext::tlx::buildPairCopy(TritonOpBuilder &builder, std::vector<Value> &values) {
  builder.create<PairCopyOp>(values[1], values[2]);
}

void tritonext::tlx::buildPairCommit(TritonOpBuilder &builder, std::vector<Value> &values) {
  builder.create<PairCommitOp>(values[1], values[2]);
}
