//===- MinimumCut.h - Cheapest choice among yes/no questions ----*- C++ -*-===//

#ifndef TRITONEXT_LAYOUT_TRANSFORMS_MINIMUMCUT_H
#define TRITONEXT_LAYOUT_TRANSFORMS_MINIMUMCUT_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace tritonext::layout {

/// Chooses among yes/no questions so that the sum of prices is least. A price is paid if a question
/// is answered yes, if it is answered no, or if one is answered yes and another no: problems that a
/// cut of a flow network solves exactly (Dinic's algorithm).
class MinimumCut {
public:
  /// A price that no answer pays.
  static constexpr int64_t never = std::numeric_limits<int64_t>::max() / 4;

  /// Adds a question and returns its number.
  unsigned addQuestion();
  void payIfYes(unsigned question, int64_t price) { addEdge(question, sink, price); }
  void payIfNo(unsigned question, int64_t price) { addEdge(source, question, price); }
  void payIfYesAndNo(unsigned yes, unsigned no, int64_t price) { addEdge(yes, no, price); }

  /// Returns the answers, with as few yes as a least price allows. Looking at an edge takes one
  /// unit of `budget`; returns nothing once that is used up.
  std::optional<std::vector<bool>> solve(uint64_t &budget);

private:
  struct Edge {
    unsigned to;
    int64_t capacity;
  };

  static constexpr unsigned source = 0, sink = 1;

  void addEdge(unsigned from, unsigned to, int64_t capacity);
  bool setLevels(uint64_t &budget);
  int64_t push(unsigned node, int64_t flow, uint64_t &budget);

  std::vector<llvm::SmallVector<unsigned, 4>> outgoing{2};
  /// Edge 2k + 1 is the reverse of edge 2k.
  std::vector<Edge> edges;
  std::vector<int> levels;
  std::vector<unsigned> next;
};

} // namespace tritonext::layout

#endif // TRITONEXT_LAYOUT_TRANSFORMS_MINIMUMCUT_H
