//===- AccessTable.cpp - Which accesses may change their layout -----------===//

#include "tritonext_layout/Transforms/AccessTable.h"

using namespace mlir;
using namespace mlir::triton;

namespace tritonext::layout {
namespace {

Value getMask(Operation *access) {
  if (auto load = dyn_cast<LoadOp>(access))
    return load.getMask();
  if (auto store = dyn_cast<StoreOp>(access))
    return store.getMask();
  return cast<AtomicRMWOp>(access).getMask();
}

} // namespace

AccessTable::AccessTable(ModuleOp module, const MemoryAccesses &memory) {
  ModuleAxisInfoAnalysis axisInfo(module);
  auto consider = [&](Operation *access) {
    Value pointer = access->getOperand(0);
    auto type = dyn_cast<RankedTensorType>(pointer.getType());
    if (!type)
      return;
    auto elements = type.clone(cast<PointerType>(type.getElementType()).getPointeeType());
    MemoryShape shape = getMemoryShape(pointer, getMask(access), elements, axisInfo);
    if (auto atomic = dyn_cast<AtomicRMWOp>(access))
      shape.maxVector = std::min(shape.maxVector, getAtomicVector(atomic));
    shapes.try_emplace(access, shape);
    if (isa<LoadOp>(access) ? memory.findWrite(access) : memory.findRead(access))
      shared.insert(access);
  };
  for (Operation *reader : memory.readers) {
    auto load = dyn_cast<LoadOp>(reader);
    if (load && !load.getIsVolatile() && !memory.findUnorderedWrite(load))
      consider(load);
  }
  for (Operation *writer : memory.writers) {
    // Two writes of one element by different threads have no order either.
    if (memory.findWrite(writer))
      continue;
    if (auto store = dyn_cast<StoreOp>(writer)) {
      if (!memory.findUnorderedRead(store))
        consider(store);
    } else if (isa<AtomicRMWOp>(writer) && writer->use_empty() && !memory.findRead(writer)) {
      consider(writer);
    }
  }
}

const MemoryShape *AccessTable::lookup(Operation *access) const {
  auto found = shapes.find(access);
  return found == shapes.end() ? nullptr : &found->second;
}

void AccessTable::addCopy(Operation *load, Operation *copy) {
  MemoryShape shape = shapes.at(load);
  shapes.try_emplace(copy, shape);
}

} // namespace tritonext::layout
