//===- PlaceConversions.cpp - Layouts chosen over whole components --------===//
//
// Which values take which layout, and so where conversions are left, is a labelling problem: nodes
// of the graph have layouts, edges between different layouts cost a conversion. It is solved by
// expansion moves: the layout at one end of a conversion is spread over everything it can flow to,
// and a minimum cut decides which nodes take it, keep theirs, or are there in both.
//
// Y. Boykov, O. Veksler, R. Zabih: Fast Approximate Energy Minimization via Graph Cuts, PAMI 2001.
//
//===----------------------------------------------------------------------===//

#include "tritonext_layout/Analysis/ConversionCost.h"
#include "tritonext_layout/Transforms/LayoutGraph.h"
#include "tritonext_layout/Transforms/MinimumCut.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "tritonext/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tritonext::layout {
#define GEN_PASS_DECL_PLACECONVERSIONSPASS
#define GEN_PASS_DEF_PLACECONVERSIONSPASS
#include "tritonext_layout/Transforms/Passes.h.inc"
} // namespace tritonext::layout

#define DEBUG_TYPE "layout-place-conversions"

using namespace mlir;
using namespace mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::layout {
namespace {

/// What becomes of a node in a move.
enum class State { Kept, Repeated, Switched };

/// What a set of nodes costs with the conversions between them.
struct Account {
  Price price = 0;
  unsigned conversions = 0;
  unsigned conversionsInLoops = 0;
  /// Barriers over the CTA inside conversions, over the whole run.
  int64_t barriers = 0;
  unsigned scratchBytes = 0;
};

/// A change of layouts: new ones for some nodes, and which of the nodes take them.
struct Move {
  llvm::MapVector<unsigned, NodeLayouts> labels;
  llvm::DenseMap<unsigned, State> states;
  Account before, after;

  State getState(std::optional<unsigned> node) const {
    return node ? states.lookup_or(*node, State::Kept) : State::Kept;
  }
  Price getSaving() const { return before.price - after.price; }
};

NodeLayouts getLayouts(const LayoutNode &node) {
  NodeLayouts layouts;
  for (Value result : node.results)
    layouts.results.push_back(getEncoding(result));
  for (OpOperand *use : node.uses)
    layouts.uses.push_back(getEncoding(use->get()));
  return layouts;
}

bool isSame(const NodeLayouts &a, const NodeLayouts &b) {
  return a.results == b.results && a.uses == b.uses;
}

/// Searches for moves in a function and makes them.
class Placer {
public:
  Placer(FuncOp function, AccessTable &accesses, const ConversionModel &model, uint64_t &budget)
      : function(function), accesses(accesses), model(model), budget(budget),
        graph(function, accesses) {}

  /// Returns the best move that one end of `convert` suggests, or nothing if none saves anything.
  std::optional<Move> propose(ttg::ConvertLayoutOp convert);

  /// Makes `move`. The placer cannot be used afterwards.
  void apply(const Move &move);

  Price getPrice(RankedTensorType source, Attribute encoding) const;

private:
  std::optional<Move> spread(ArrayRef<std::pair<unsigned, NodeLayouts>> seeds);
  bool choose(Move &move);
  Account getAccount(const Move &move, bool isAfter);
  SetVector<Value> getTouchedRoots(const Move &move) const;
  std::optional<Attribute> getNewEncoding(const Move &move, Value root) const;

  FuncOp function;
  AccessTable &accesses;
  const ConversionModel &model;
  uint64_t &budget;
  LayoutGraph graph;
};

Price Placer::getPrice(RankedTensorType source, Attribute encoding) const {
  if (source.getEncoding() == encoding)
    return 0;
  // Even one that takes no instruction orders registers, and hides that two values are the same.
  constexpr Price least = 1;
  return least + static_cast<Price>(model.getCost(source, encoding).cycles * ticksPerCycle);
}

/// Returns the layout that `root` gets if its producer takes its new layouts.
std::optional<Attribute> Placer::getNewEncoding(const Move &move, Value root) const {
  std::optional<unsigned> producer = graph.getProducer(root);
  if (!producer)
    return std::nullopt;
  auto label = move.labels.find(*producer);
  if (label == move.labels.end())
    return std::nullopt;
  ArrayRef<Value> results = graph.nodes[*producer].results;
  return label->second.results[llvm::find(results, root) - results.begin()];
}

std::optional<Move> Placer::propose(ttg::ConvertLayoutOp convert) {
  Value root = getRoot(convert.getSrc());
  SmallVector<std::pair<unsigned, NodeLayouts>> backward, forward;
  if (std::optional<unsigned> producer = graph.getProducer(root)) {
    const LayoutNode &node = graph.nodes[*producer];
    unsigned index = llvm::find(node.results, root) - node.results.begin();
    if (auto layouts = node.infer(/*isResult=*/true, index, convert.getType().getEncoding()))
      backward.emplace_back(*producer, *layouts);
  }
  for (auto [user, index] : graph.getUses(root)) {
    const LayoutNode &node = graph.nodes[user];
    if (node.uses[index]->get() == convert.getResult())
      if (auto layouts = node.infer(/*isResult=*/false, index, getEncoding(root)))
        forward.emplace_back(user, *layouts);
  }
  std::optional<Move> best;
  for (ArrayRef<std::pair<unsigned, NodeLayouts>> seeds : {backward, forward})
    if (std::optional<Move> move = spread(seeds))
      if (!best || move->getSaving() > best->getSaving())
        best = std::move(move);
  return best;
}

std::optional<Move> Placer::spread(ArrayRef<std::pair<unsigned, NodeLayouts>> seeds) {
  Move move;
  for (const auto &[node, layouts] : seeds)
    move.labels.insert({node, layouts});
  auto label = [&](unsigned number, bool isResult, unsigned index, Attribute encoding) {
    if (move.labels.contains(number))
      return;
    if (auto layouts = graph.nodes[number].infer(isResult, index, encoding))
      move.labels.insert({number, std::move(*layouts)});
  };
  for (size_t i = 0; i != move.labels.size(); ++i) {
    auto [number, layouts] = *std::next(move.labels.begin(), i);
    const LayoutNode &node = graph.nodes[number];
    for (auto [result, encoding] : llvm::zip_equal(node.results, layouts.results))
      for (auto [user, index] : graph.getUses(result))
        label(user, /*isResult=*/false, index, encoding);
    for (auto [use, encoding] : llvm::zip_equal(node.uses, layouts.uses)) {
      Value root = getRoot(use->get());
      std::optional<unsigned> producer = graph.getProducer(root);
      if (!producer)
        continue;
      ArrayRef<Value> results = graph.nodes[*producer].results;
      label(*producer, /*isResult=*/true, llvm::find(results, root) - results.begin(), encoding);
    }
  }
  // What has the layouts already only passed them on.
  move.labels.remove_if([&](const std::pair<unsigned, NodeLayouts> &entry) {
    return isSame(entry.second, getLayouts(graph.nodes[entry.first]));
  });
  if (move.labels.empty() || !choose(move))
    return std::nullopt;
  move.before = getAccount(move, /*isAfter=*/false);
  move.after = getAccount(move, /*isAfter=*/true);
  const Account &was = move.before, &is = move.after;
  bool isMoreOfTheSame = is.barriers == was.barriers && is.conversions > was.conversions;
  if (isMoreOfTheSame || is.price >= was.price || is.barriers > was.barriers ||
      is.scratchBytes > was.scratchBytes || is.conversionsInLoops > was.conversionsInLoops)
    return std::nullopt;
  return move;
}

SetVector<Value> Placer::getTouchedRoots(const Move &move) const {
  SetVector<Value> roots;
  for (const auto &[number, layouts] : move.labels) {
    roots.insert_range(graph.nodes[number].results);
    for (OpOperand *use : graph.nodes[number].uses)
      roots.insert(getRoot(use->get()));
  }
  return roots;
}

bool Placer::choose(Move &move) {
  // Whether a node is there in its new layouts, and whether it is gone from its old ones.
  struct Questions {
    unsigned isNew, isGone;
  };
  MinimumCut cut;
  llvm::DenseMap<unsigned, Questions> questions;
  for (const auto &[number, layouts] : move.labels) {
    const LayoutNode &node = graph.nodes[number];
    Questions asked;
    asked.isNew = cut.addQuestion();
    asked.isGone = node.repeatable ? cut.addQuestion() : asked.isNew;
    cut.payIfYes(asked.isNew, graph.getPrice(number, layouts));
    cut.payIfNo(asked.isGone, graph.getPrice(number, getLayouts(node)));
    cut.payIfYesAndNo(asked.isGone, asked.isNew, MinimumCut::never);
    questions[number] = asked;
  }

  for (Value root : getTouchedRoots(move)) {
    auto type = cast<RankedTensorType>(root.getType());
    int64_t frequency = getFrequency(root.getParentBlock());
    std::optional<Attribute> newEncoding = getNewEncoding(move, root);
    std::optional<Questions> producer;
    if (newEncoding)
      producer = questions.at(*graph.getProducer(root));
    auto getPriceFrom = [&](Attribute source, Attribute target) {
      return getPrice(type.cloneWithEncoding(source), target) * frequency;
    };

    llvm::MapVector<Attribute, SmallVector<std::optional<unsigned>>> oldUses;
    llvm::MapVector<Attribute, SmallVector<unsigned>> newUses;
    for (auto [user, index] : graph.getUses(root)) {
      Attribute wanted = getEncoding(graph.nodes[user].uses[index]->get());
      auto asked = questions.find(user);
      if (asked == questions.end()) {
        oldUses[wanted].push_back(std::nullopt);
        continue;
      }
      oldUses[wanted].push_back(asked->second.isGone);
      newUses[move.labels.find(user)->second.uses[index]].push_back(asked->second.isNew);
    }

    // One conversion serves all uses that want the same layout. Its price is paid unless all are
    // gone. A cut cannot reward two answers no, so what a new layout of the producer saves for a
    // use that stays is granted whether or not the use stays.
    Price granted = 0;
    for (const auto &[wanted, users] : oldUses) {
      unsigned unwanted = cut.addQuestion();
      for (std::optional<unsigned> isGone : users)
        if (isGone)
          cut.payIfYesAndNo(unwanted, *isGone, MinimumCut::never);
        else
          cut.payIfYes(unwanted, MinimumCut::never);
      Price fromOld = getPriceFrom(type.getEncoding(), wanted);
      if (!producer) {
        cut.payIfNo(unwanted, fromOld);
        continue;
      }
      Price fromNew = getPriceFrom(*newEncoding, wanted);
      cut.payIfNo(unwanted, std::min(fromOld, fromNew));
      if (fromNew > fromOld) {
        cut.payIfYesAndNo(producer->isGone, unwanted, fromNew - fromOld);
      } else {
        cut.payIfNo(producer->isNew, fromOld - fromNew);
        granted += fromOld - fromNew;
      }
    }
    for (const auto &[wanted, users] : newUses) {
      unsigned isWanted = cut.addQuestion();
      for (unsigned isNew : users)
        cut.payIfYesAndNo(isNew, isWanted, MinimumCut::never);
      auto old = oldUses.find(wanted);
      bool isThere = old != oldUses.end() && llvm::is_contained(old->second, std::nullopt);
      Price fromOld = isThere ? 0 : getPriceFrom(type.getEncoding(), wanted);
      if (!producer) {
        cut.payIfYes(isWanted, fromOld);
        continue;
      }
      Price fromNew = getPriceFrom(*newEncoding, wanted);
      cut.payIfYes(isWanted, std::min(fromOld, fromNew));
      cut.payIfYesAndNo(isWanted, producer->isNew, fromOld - fromNew - granted);
    }
  }

  std::optional<std::vector<bool>> answers = cut.solve(budget);
  if (!answers)
    return false;
  bool changes = false;
  for (const auto &[number, asked] : questions) {
    bool isNew = (*answers)[asked.isNew], isGone = (*answers)[asked.isGone];
    move.states[number] = isGone ? State::Switched : isNew ? State::Repeated : State::Kept;
    changes |= isNew;
  }
  return changes;
}

Account Placer::getAccount(const Move &move, bool isAfter) {
  Account account;
  llvm::DenseSet<std::pair<Value, Attribute>> paid;
  auto getState = [&](std::optional<unsigned> node) {
    return isAfter ? move.getState(node) : State::Kept;
  };
  auto addUse = [&](Value operand, Attribute wanted) {
    Value root = getRoot(operand);
    auto type = cast<RankedTensorType>(root.getType());
    State state = getState(graph.getProducer(root));
    SmallVector<Attribute, 2> present;
    if (state != State::Switched)
      present.push_back(type.getEncoding());
    if (state != State::Kept)
      present.push_back(*getNewEncoding(move, root));
    if (llvm::is_contained(present, wanted) || !paid.insert({root, wanted}).second)
      return;
    Attribute source = *llvm::min_element(present, [&](Attribute a, Attribute b) {
      return getPrice(type.cloneWithEncoding(a), wanted) <
             getPrice(type.cloneWithEncoding(b), wanted);
    });
    bool isThere = operand != root && getEncoding(operand) == wanted;
    Block *block = isThere ? operand.getDefiningOp()->getBlock() : root.getParentBlock();
    int64_t frequency = getFrequency(block);
    const ConversionCost &cost = model.getCost(type.cloneWithEncoding(source), wanted);
    account.price += getPrice(type.cloneWithEncoding(source), wanted) * frequency;
    account.barriers += cost.barriers() * frequency;
    account.scratchBytes = std::max(account.scratchBytes, cost.scratchBytes);
    ++account.conversions;
    account.conversionsInLoops += block->getParentOp() != function && frequency > 1;
  };

  SetVector<unsigned> numbers;
  for (const auto &[number, layouts] : move.labels)
    numbers.insert(number);
  for (Value root : getTouchedRoots(move))
    for (auto [user, index] : graph.getUses(root))
      numbers.insert(user);
  for (unsigned number : numbers) {
    const LayoutNode &node = graph.nodes[number];
    auto addVersion = [&](const NodeLayouts &layouts) {
      account.price += graph.getPrice(number, layouts);
      for (auto [use, encoding] : llvm::zip_equal(node.uses, layouts.uses))
        addUse(use->get(), encoding);
    };
    State state = getState(number);
    if (state != State::Switched)
      addVersion(getLayouts(node));
    if (state != State::Kept)
      addVersion(move.labels.find(number)->second);
  }
  return account;
}

/// Moves `op` down to what needs it first, but into no loop.
void sink(Operation *op) {
  Block *block = op->getBlock();
  Operation *first = nullptr;
  while (true) {
    llvm::SetVector<Block *> inside;
    bool direct = false;
    first = nullptr;
    for (Operation *user : op->getUsers()) {
      Operation *ancestor = block->findAncestorOpInBlock(*user);
      if (!first || ancestor->isBeforeInBlock(first))
        first = ancestor;
      auto branch = dyn_cast<scf::IfOp>(ancestor);
      if (!branch || ancestor == user) {
        direct = true;
        continue;
      }
      bool isThen = branch.getThenRegion().isAncestor(user->getParentRegion());
      inside.insert(isThen ? branch.thenBlock() : branch.elseBlock());
    }
    if (direct || inside.size() != 1)
      break;
    block = inside.front();
  }
  if (first)
    op->moveBefore(first);
}

void Placer::apply(const Move &move) {
  struct Request {
    OpOperand *use;
    Value root;
    Attribute wanted;
  };
  // Collected before any type changes.
  SmallVector<Request> requests;
  SmallVector<Operation *> created, old;
  llvm::DenseMap<Value, Value> copies;
  for (const auto &[number, layouts] : move.labels) {
    const LayoutNode &node = graph.nodes[number];
    State state = move.getState(number);
    if (state == State::Switched)
      for (auto [use, encoding] : llvm::zip_equal(node.uses, layouts.uses))
        requests.push_back({use, getRoot(use->get()), encoding});
    for (Value root : node.results)
      for (auto [user, index] : graph.getUses(root))
        if (state != State::Kept && move.getState(user) != State::Switched) {
          OpOperand *use = graph.nodes[user].uses[index];
          requests.push_back({use, root, getEncoding(use->get())});
        }
    if (state != State::Kept)
      old.push_back(node.op);
  }
  auto setType = [&](Value value, Attribute encoding) {
    auto type = cast<RankedTensorType>(value.getType()).cloneWithEncoding(encoding);
    value.setType(type);
    if (auto constant = value.getDefiningOp<arith::ConstantOp>())
      constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue()).reshape(type));
  };
  for (const auto &[number, layouts] : move.labels) {
    const LayoutNode &node = graph.nodes[number];
    State state = move.getState(number);
    if (state == State::Kept)
      continue;
    if (state == State::Switched) {
      for (auto [result, encoding] : llvm::zip_equal(node.results, layouts.results))
        setType(result, encoding);
      continue;
    }
    OpBuilder builder(node.op->getContext());
    builder.setInsertionPointAfter(node.op);
    Operation *copy = builder.clone(*node.op);
    created.push_back(copy);
    if (accesses.lookup(node.op))
      accesses.addCopy(node.op, copy);
    for (auto [result, encoding] : llvm::zip_equal(node.results, layouts.results)) {
      Value repeated = copy->getResult(cast<OpResult>(result).getResultNumber());
      setType(repeated, encoding);
      copies[result] = repeated;
    }
    for (auto [use, encoding] : llvm::zip_equal(node.uses, layouts.uses))
      requests.push_back(
          {&copy->getOpOperand(use->getOperandNumber()), getRoot(use->get()), encoding});
  }

  llvm::DenseMap<std::pair<Value, Attribute>, Value> converted;
  for (const Request &request : requests) {
    SmallVector<Value, 2> present{request.root};
    if (Value copy = copies.lookup(request.root))
      present.push_back(copy);
    auto getPriceFrom = [&](Value value) {
      return getPrice(cast<RankedTensorType>(value.getType()), request.wanted);
    };
    Value source = *llvm::min_element(
        present, [&](Value a, Value b) { return getPriceFrom(a) < getPriceFrom(b); });
    if (getEncoding(source) == request.wanted) {
      request.use->set(source);
      continue;
    }
    Value current = request.use->get();
    if (source == request.root && current != source && getEncoding(current) == request.wanted)
      continue;
    Value &result = converted[{request.root, request.wanted}];
    if (!result) {
      OpBuilder builder(function.getContext());
      builder.setInsertionPointAfterValue(source);
      auto type = cast<RankedTensorType>(source.getType()).cloneWithEncoding(request.wanted);
      result = ttg::ConvertLayoutOp::create(builder, source.getLoc(), type, source);
      created.push_back(result.getDefiningOp());
    }
    request.use->set(result);
  }

  // A producer that switched can have reached the layout its conversions led to.
  SmallVector<Operation *> conversions;
  function.walk([&](ttg::ConvertLayoutOp convert) { conversions.push_back(convert); });
  for (Operation *op : conversions) {
    auto convert = cast<ttg::ConvertLayoutOp>(op);
    if (isPlainConversion(op) && convert.getSrc().getType() == convert.getType())
      convert.replaceAllUsesWith(convert.getSrc());
  }
  SetVector<Operation *> removable(old.begin(), old.end());
  removable.insert_range(conversions);
  removable.insert_range(created);
  llvm::DenseSet<Operation *> erased;
  for (size_t count = 0; count != removable.size();) {
    count = removable.size();
    for (Operation *op : llvm::to_vector(llvm::reverse(removable)))
      if (isOpTriviallyDead(op)) {
        removable.remove(op);
        erased.insert(op);
        accesses.erase(op);
        op->erase();
      }
  }
  // Users first, so that what feeds them can follow.
  llvm::DenseSet<Operation *> fresh;
  for (Operation *op : created)
    if (!erased.contains(op) && isMemoryEffectFree(op))
      fresh.insert(op);
  SmallVector<Operation *> order;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (fresh.contains(op))
      order.push_back(op);
  });
  for (Operation *op : llvm::reverse(order))
    sink(op);
}

std::string describe(const Move &move) {
  auto change = [](StringRef what, int64_t before, int64_t after) {
    return (what + " " + Twine(before) + " -> " + Twine(after)).str();
  };
  const Account &was = move.before, &is = move.after;
  return change("conversions", was.conversions, is.conversions) + ", " +
         change("in loops", was.conversionsInLoops, is.conversionsInLoops) + ", " +
         change("barriers", was.barriers, is.barriers) + ", " +
         change("cycles", was.price / ticksPerCycle, is.price / ticksPerCycle);
}

/// A conversion may take this many bits of registers of a thread across a loop.
constexpr unsigned hoistableBits = 16 * 32;

/// Moves conversions of what a loop does not change before the loop.
void hoistInvariant(FuncOp function) {
  SmallVector<ttg::ConvertLayoutOp> conversions;
  function.walk([&](ttg::ConvertLayoutOp convert) {
    RankedTensorType type = convert.getType();
    unsigned bits = ttg::getTotalElemsPerThread(type) * getExchangeBits(type.getElementType());
    if (isPlainConversion(convert) && bits <= hoistableBits)
      conversions.push_back(convert);
  });
  for (ttg::ConvertLayoutOp convert : conversions) {
    Operation *outermost = nullptr;
    for (Operation *parent = convert->getParentOp(); isa<scf::ForOp, scf::IfOp>(parent);
         parent = parent->getParentOp()) {
      if (parent->isAncestor(convert.getSrc().getParentRegion()->getParentOp()))
        break;
      if (isa<scf::ForOp>(parent))
        outermost = parent;
    }
    if (!outermost)
      continue;
    emitRemark(RemarkKind::Applied, convert, DEBUG_TYPE, "converted once, before the loop");
    convert->moveBefore(outermost);
  }
}

class PlaceConversionsPass : public impl::PlaceConversionsPassBase<PlaceConversionsPass> {
public:
  using PlaceConversionsPassBase::PlaceConversionsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module->hasAttr(ttg::AttrNumWarpsName))
      return;
    bool converts = false;
    module.walk([&](ttg::ConvertLayoutOp) { converts = true; });
    if (!converts)
      return;
    auto &model = getAnalysis<ConversionModel>();
    markAnalysesPreserved<ConversionModel>();
    MemoryAccesses memory(module);
    AccessTable accesses(module, memory);
    module.walk([&](FuncOp function) {
      if (Operation *write = memory.findOrderedWrite(function)) {
        emitRemark(RemarkKind::Missed, write, DEBUG_TYPE,
                   "the barrier of a conversion may keep this write behind a read of what it "
                   "overwrites");
        return;
      }
      hoistInvariant(function);
      uint64_t budget = workLimit;
      while (improve(function, accesses, model, budget)) {
      }
      if (budget == 0)
        emitRemark(RemarkKind::Missed, function, DEBUG_TYPE,
                   "the search stopped at work-limit = " + Twine(workLimit));
    });
  }

private:
  /// Makes one move that saves time; returns false if there is none.
  static bool improve(FuncOp function, AccessTable &accesses, const ConversionModel &model,
                      uint64_t &budget) {
    Placer placer(function, accesses, model, budget);
    SmallVector<std::pair<Price, ttg::ConvertLayoutOp>> conversions;
    function.walk([&](ttg::ConvertLayoutOp convert) {
      if (isPlainConversion(convert))
        conversions.emplace_back(
            placer.getPrice(convert.getSrc().getType(), convert.getType().getEncoding()) *
                getFrequency(convert->getBlock()),
            convert);
    });
    llvm::stable_sort(conversions, [](const auto &a, const auto &b) { return a.first > b.first; });
    for (auto [price, convert] : conversions)
      if (std::optional<Move> move = placer.propose(convert)) {
        emitRemark(RemarkKind::Applied, convert, DEBUG_TYPE, describe(*move));
        placer.apply(*move);
        return true;
      }
    return false;
  }
};

} // namespace
} // namespace tritonext::layout
