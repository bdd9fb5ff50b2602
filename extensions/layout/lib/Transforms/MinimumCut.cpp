//===- MinimumCut.cpp - Cheapest choice among yes/no questions ------------===//

#include "tritonext_layout/Transforms/MinimumCut.h"

#include <algorithm>

namespace tritonext::layout {

unsigned MinimumCut::addQuestion() {
  outgoing.emplace_back();
  return outgoing.size() - 1;
}

void MinimumCut::addEdge(unsigned from, unsigned to, int64_t capacity) {
  if (capacity <= 0 || from == to)
    return;
  outgoing[from].push_back(edges.size());
  edges.push_back({to, std::min(capacity, never)});
  outgoing[to].push_back(edges.size());
  edges.push_back({from, 0});
}

bool MinimumCut::setLevels(uint64_t &budget) {
  levels.assign(outgoing.size(), -1);
  levels[source] = 0;
  std::vector<unsigned> work{source};
  for (size_t i = 0; i != work.size(); ++i)
    for (unsigned number : outgoing[work[i]]) {
      if (budget == 0)
        return false;
      --budget;
      const Edge &edge = edges[number];
      if (edge.capacity > 0 && levels[edge.to] < 0) {
        levels[edge.to] = levels[work[i]] + 1;
        work.push_back(edge.to);
      }
    }
  return levels[sink] >= 0;
}

int64_t MinimumCut::push(unsigned node, int64_t flow, uint64_t &budget) {
  if (node == sink)
    return flow;
  for (; next[node] != outgoing[node].size() && budget != 0; ++next[node]) {
    --budget;
    unsigned number = outgoing[node][next[node]];
    Edge &edge = edges[number];
    if (edge.capacity == 0 || levels[edge.to] != levels[node] + 1)
      continue;
    if (int64_t pushed = push(edge.to, std::min(flow, edge.capacity), budget)) {
      edge.capacity -= pushed;
      edges[number ^ 1].capacity += pushed;
      return pushed;
    }
  }
  return 0;
}

std::optional<std::vector<bool>> MinimumCut::solve(uint64_t &budget) {
  while (setLevels(budget)) {
    next.assign(outgoing.size(), 0);
    while (push(source, never, budget) != 0) {
    }
  }
  if (budget == 0)
    return std::nullopt;
  std::vector<bool> answers(outgoing.size());
  for (size_t node = 0; node != answers.size(); ++node)
    answers[node] = levels[node] >= 0;
  return answers;
}

} // namespace tritonext::layout
