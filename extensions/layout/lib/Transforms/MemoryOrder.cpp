//===- MemoryOrder.cpp - Reads that an exchange's barrier may order -------===//

#include "tritonext_layout/Transforms/MemoryOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "triton/Dialect/Triton/IR/Utility.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"

using namespace mlir;
using namespace mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::layout {
namespace {

/// The pointers an address is computed from.
struct Bases {
  llvm::SmallSetVector<Value, 2> known;
  /// Whether there may be more than the known ones.
  bool open = false;

  bool meets(const Bases &other) const {
    return open || other.open ||
           llvm::any_of(known, [&](Value base) { return other.known.contains(base); });
  }
};

Bases getBases(Value pointer) {
  Bases bases;
  llvm::SmallSetVector<Value, 8> work;
  work.insert(pointer);
  auto addCarried = [&](scf::ForOp loop, unsigned index) {
    work.insert(loop.getInitArgs()[index]);
    work.insert(loop.getYieldedValues()[index]);
  };
  for (size_t i = 0; i != work.size(); ++i) {
    Value value = work[i];
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *parent = argument.getOwner()->getParentOp();
      if (auto function = dyn_cast<FuncOp>(parent)) {
        bases.known.insert(argument);
        // A caller may pass one pointer twice.
        bases.open |= !triton::isKernel(function);
      } else if (auto loop = dyn_cast<scf::ForOp>(parent)) {
        addCarried(loop, argument.getArgNumber() - loop.getNumInductionVars());
      } else {
        bases.open = true;
      }
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      addCarried(loop, cast<OpResult>(value).getResultNumber());
      continue;
    }
    bool derived = false;
    if (op->getNumRegions() == 0 && isMemoryEffectFree(op))
      for (Value operand : op->getOperands())
        if (isa<PointerType>(getElementTypeOrSelf(operand.getType()))) {
          work.insert(operand);
          derived = true;
        }
    bases.open |= !derived;
  }
  return bases;
}

Value withoutConversion(Value value) {
  while (auto convert = value.getDefiningOp<ttg::ConvertLayoutOp>())
    value = convert.getSrc();
  return value;
}

/// Returns true if both tensors hold the same elements, in whatever layouts.
bool isSame(Value a, Value b) {
  a = withoutConversion(a);
  b = withoutConversion(b);
  if (a == b)
    return true;
  Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
  if (!first || !second || first->getName() != second->getName() || first->getNumResults() != 1 ||
      first->getNumRegions() != 0 || !isMemoryEffectFree(first) ||
      first->getNumOperands() != second->getNumOperands())
    return false;
  // The value of a constant tensor has the layout in its type.
  if (auto constant = dyn_cast<arith::ConstantOp>(first)) {
    auto left = dyn_cast<SplatElementsAttr>(constant.getValue());
    auto right = dyn_cast<SplatElementsAttr>(cast<arith::ConstantOp>(second).getValue());
    return left && right && left.getSplatValue<Attribute>() == right.getSplatValue<Attribute>();
  }
  return first->getAttrDictionary() == second->getAttrDictionary() &&
         llvm::all_of(llvm::zip_equal(first->getOperands(), second->getOperands()),
                      [](auto pair) { return isSame(std::get<0>(pair), std::get<1>(pair)); });
}

/// Returns true if each element of `value` depends on the element of `source` at its position.
bool dependsElementwise(Value value, Value source) {
  llvm::SmallSetVector<Value, 16> work;
  work.insert(value);
  for (size_t i = 0; i != work.size(); ++i) {
    if (work[i] == source)
      return true;
    Operation *op = work[i].getDefiningOp();
    // What a loop carries depends on the start if each iteration depends on the one before.
    if (auto loop = dyn_cast_or_null<scf::ForOp>(op)) {
      unsigned index = cast<OpResult>(work[i]).getResultNumber();
      if (dependsElementwise(loop.getYieldedValues()[index], loop.getRegionIterArg(index)))
        work.insert(loop.getInitArgs()[index]);
      continue;
    }
    if (op && (isa<ttg::ConvertLayoutOp>(op) ||
               (op->hasTrait<OpTrait::Elementwise>() && isMemoryEffectFree(op))))
      work.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}

bool areInOneLoop(Operation *first, Operation *second) {
  auto loop = first->getParentOfType<LoopLikeOpInterface>();
  while (loop && !loop->isAncestor(second))
    loop = loop->getParentOfType<LoopLikeOpInterface>();
  return loop != nullptr;
}

/// Returns true if all uses of what `load` reads are in shared memory, whose writers and readers a
/// barrier orders anyway.
bool feedsSharedMemory(LoadOp load) {
  return llvm::all_of(load->getUsers(), [](Operation *user) {
    return isa<ttg::LocalAllocOp, ttg::LocalStoreOp>(user);
  });
}

/// Returns the pointers from which the addresses that `op` accesses are computed.
Bases getAccessedBases(Operation *op) {
  Bases bases;
  for (Value operand : op->getOperands())
    if (isa<PointerType>(getElementTypeOrSelf(operand.getType()))) {
      Bases more = getBases(operand);
      bases.known.insert_range(more.known);
      bases.open |= more.open;
    }
  return bases;
}

/// Returns true if the two ops, which have pointers as operands, may touch the same memory.
bool mayTouchSameMemory(Operation *first, Operation *second) {
  return getAccessedBases(first).meets(getAccessedBases(second));
}

Operation *findMeeting(Operation *access, ArrayRef<Operation *> others) {
  auto found = llvm::find_if(others, [&](Operation *other) {
    return other != access && mayTouchSameMemory(access, other);
  });
  return found == others.end() ? nullptr : *found;
}

/// Returns true if `reader` may read, into registers, an element that `store` overwrites without
/// depending on what was read there.
bool isUnordered(Operation *reader, StoreOp store) {
  if (reader->getParentOfType<FuncOp>() != store->getParentOfType<FuncOp>())
    return false;
  auto load = dyn_cast<LoadOp>(reader);
  if ((load && feedsSharedMemory(load)) || !mayTouchSameMemory(reader, store))
    return false;
  // In a loop, the next iteration reads what this one stores.
  return !load || !isSame(load.getPtr(), store.getPtr()) ||
         !dependsElementwise(store.getValue(), load.getResult()) || areInOneLoop(load, store);
}

} // namespace

MemoryAccesses::MemoryAccesses(ModuleOp module) {
  module.walk([&](Operation *op) {
    if (isa<LoadOp, AtomicRMWOp, AtomicCASOp, CallOp>(op))
      readers.push_back(op);
    if (isa<StoreOp, AtomicRMWOp, AtomicCASOp, CallOp>(op))
      writers.push_back(op);
  });
}

Operation *MemoryAccesses::findUnorderedRead(StoreOp store) const {
  auto found =
      llvm::find_if(readers, [&](Operation *reader) { return isUnordered(reader, store); });
  return found == readers.end() ? nullptr : *found;
}

Operation *MemoryAccesses::findUnorderedWrite(LoadOp load) const {
  auto found = llvm::find_if(writers, [&](Operation *writer) {
    auto store = dyn_cast<StoreOp>(writer);
    return store ? isUnordered(load, store) : mayTouchSameMemory(load, writer);
  });
  return found == writers.end() ? nullptr : *found;
}

Operation *MemoryAccesses::findOrderedWrite(FuncOp function) const {
  auto found = llvm::find_if(writers, [&](Operation *writer) {
    if (writer->getParentOfType<FuncOp>() != function)
      return false;
    if (auto store = dyn_cast<StoreOp>(writer))
      return findUnorderedRead(store) != nullptr;
    return llvm::any_of(readers, [&](Operation *reader) {
      return isa<LoadOp>(reader) && reader->getParentOfType<FuncOp>() == function &&
             mayTouchSameMemory(reader, writer);
    });
  });
  return found == writers.end() ? nullptr : *found;
}

Operation *MemoryAccesses::findRead(Operation *access) const {
  return findMeeting(access, readers);
}

Operation *MemoryAccesses::findWrite(Operation *access) const {
  return findMeeting(access, writers);
}

} // namespace tritonext::layout
