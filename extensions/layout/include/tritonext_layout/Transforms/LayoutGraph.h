//===- LayoutGraph.h - What has to share a layout, and its price -*- C++ -*-===//

#ifndef TRITONEXT_LAYOUT_TRANSFORMS_LAYOUTGRAPH_H
#define TRITONEXT_LAYOUT_TRANSFORMS_LAYOUTGRAPH_H

#include "tritonext_layout/Transforms/AccessTable.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <vector>

namespace tritonext::layout {

/// A unit of time in which prices are compared: a quarter of a cycle of a multiprocessor.
using Price = int64_t;
constexpr Price ticksPerCycle = 4;

/// The layouts of the tensors of a node, in the order of its results and uses.
struct NodeLayouts {
  llvm::SmallVector<mlir::Attribute, 1> results;
  llvm::SmallVector<mlir::Attribute, 4> uses;
};

/// Tensors whose layouts follow from each other: the operands and results of an op, or everything
/// that a loop or an `scf.if` carries in one place.
struct LayoutNode {
  enum class Kind {
    /// No layout of the node may change.
    Fixed,
    /// All tensors have one layout.
    Uniform,
    /// The layout of the results follows from that of the operands by Triton's rules.
    Inferred,
  };

  mlir::Operation *op;
  Kind kind = Kind::Fixed;
  /// Whether the op may also be there twice, in two layouts.
  bool repeatable = false;
  /// Whether an element may have several holders.
  bool replicable = true;
  llvm::SmallVector<mlir::Value, 1> results;
  llvm::SmallVector<mlir::OpOperand *, 4> uses;

  /// Returns all layouts of the node if result or use number `index` has `encoding`, or nothing if
  /// the node cannot have it.
  std::optional<NodeLayouts> infer(bool isResult, unsigned index, mlir::Attribute encoding) const;
};

/// The tensors of a function and how layouts flow between them. Conversions are no nodes: a use
/// sees through them to the value that is converted, its root.
class LayoutGraph {
public:
  LayoutGraph(mlir::triton::FuncOp function, const AccessTable &accesses);

  std::vector<LayoutNode> nodes;

  /// Returns the node that makes `root`, or nothing for what comes from outside.
  std::optional<unsigned> getProducer(mlir::Value root) const;
  /// Returns the uses of `root`, as pairs of node and number of the use.
  llvm::ArrayRef<std::pair<unsigned, unsigned>> getUses(mlir::Value root) const;

  /// Returns what the work of a node costs in other layouts, over the whole run of the kernel.
  /// Prices are kept, since a search asks for the same many times.
  Price getPrice(unsigned node, const NodeLayouts &layouts);

private:
  void add(LayoutNode node);
  Price computePrice(const LayoutNode &node, const NodeLayouts &layouts) const;

  const AccessTable &accesses;
  /// By node and the layout of one tensor, from which the others follow.
  llvm::DenseMap<std::pair<unsigned, mlir::Attribute>, Price> prices;
  llvm::DenseMap<mlir::Value, unsigned> producers;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<std::pair<unsigned, unsigned>, 2>> usesOf;
};

/// Returns whether `op` is a conversion that may be moved and replaced.
bool isPlainConversion(mlir::Operation *op);

/// Returns what is left of `value` without the conversions that it comes through.
mlir::Value getRoot(mlir::Value value);

/// Returns how often a block runs each time the kernel runs, a guess where that is not known.
int64_t getFrequency(mlir::Block *block);

mlir::Attribute getEncoding(mlir::Value value);

} // namespace tritonext::layout

#endif // TRITONEXT_LAYOUT_TRANSFORMS_LAYOUTGRAPH_H
