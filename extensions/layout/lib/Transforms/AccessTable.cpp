//===- AccessTable.cpp - Which accesses may change their layout -----------===//

#include "tritonext_layout/Transforms/AccessTable.h"

#include "tritonext_layout/Transforms/MemoryOrder.h"

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

AccessTable::AccessTable(ModuleOp module) {
  SmallVector<Operation *> readers, writers;
  module.walk([&](Operation *op) {
    if (isa<LoadOp, AtomicRMWOp, AtomicCASOp, CallOp>(op))
      readers.push_back(op);
    if (isa<StoreOp, AtomicRMWOp, AtomicCASOp, CallOp>(op))
      writers.push_back(op);
  });
  auto meetsAnother = [](Operation *access, ArrayRef<Operation *> others) {
    return llvm::any_of(others, [&](Operation *other) {
      return other != access && mayTouchSameMemory(access, other);
    });
  };
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
    if (meetsAnother(access, isa<LoadOp>(access) ? writers : readers))
      shared.insert(access);
  };
  for (Operation *reader : readers) {
    auto load = dyn_cast<LoadOp>(reader);
    if (!load || load.getIsVolatile())
      continue;
    bool isOrdered = llvm::any_of(writers, [&](Operation *writer) {
      auto store = dyn_cast<StoreOp>(writer);
      return store ? findUnorderedRead(store, reader) != nullptr
                   : mayTouchSameMemory(reader, writer);
    });
    if (!isOrdered)
      consider(load);
  }
  for (Operation *writer : writers) {
    // Two writes of one element by different threads have no order either.
    auto store = dyn_cast<StoreOp>(writer);
    auto atomic = dyn_cast<AtomicRMWOp>(writer);
    auto function = writer->getParentOfType<FuncOp>();
    auto mayBeReadBefore = [&](Operation *reader) {
      return isa<LoadOp>(reader) && reader->getParentOfType<FuncOp>() == function &&
             mayTouchSameMemory(reader, writer);
    };
    if (store ? findUnorderedRead(store, readers) != nullptr
              : llvm::any_of(readers, mayBeReadBefore))
      ordered.try_emplace(function, writer);
    else if (store && !meetsAnother(store, writers))
      consider(store);
    if (atomic && atomic->use_empty() && !meetsAnother(atomic, writers) &&
        !meetsAnother(atomic, readers))
      consider(atomic);
  }
}

const MemoryShape *AccessTable::lookup(Operation *access) const {
  auto found = shapes.find(access);
  return found == shapes.end() ? nullptr : &found->second;
}

Operation *AccessTable::getOrderedWrite(FuncOp function) const { return ordered.lookup(function); }

void AccessTable::addCopy(Operation *load, Operation *copy) {
  MemoryShape shape = shapes.at(load);
  shapes.try_emplace(copy, shape);
}

} // namespace tritonext::layout
