#include "tritonext_profiler/Transforms/Categories.h"
#include "tritonext_profiler/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "triton/Dialect/Triton/IR/Dialect.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"
#include "triton/Dialect/TritonGPU/IR/LinearLayoutConversions.h"
#include "triton/Tools/LinearLayout.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "profiler-place-records"

using namespace mlir;
namespace tt = mlir::triton;
using mlir::triton::LinearLayout;
namespace ttg = mlir::triton::gpu;

namespace tritonext::profiler {

#define GEN_PASS_DEF_PLACERECORDSPASS
#include "tritonext_profiler/Transforms/Passes.h.inc"

namespace {

/// Regions that a record can name.
constexpr size_t mostRegions = 1 << 12;
/// Records that a warp may write, 8 MB of them.
constexpr uint64_t mostRecords = 1 << 20;
/// Conditions that are followed to tell scopes apart; each may double the work. A kernel that needs
/// more is refused: both ways of a condition that is not followed are taken from each branch.
constexpr size_t mostConditions = 6;

struct Loop {
  int parent = -1;
  Block *header = nullptr;
  llvm::SetVector<Block *> blocks;
  int64_t tripCount = -1;
  int pace = -1;
  bool hasMma = false;
  Location loc;

  Loop(Location loc) : loc(loc) {}
};

struct CodeRegion {
  Category category = Category::Other;
  bool isEntry = false;
  std::string op;
  int64_t ops = 0;
  Location loc;
  int loop = -1;
  int depth = 0;
  int role = 0;
  /// Innermost scope of the user, or -1; whether the region begins one; and what a mark is named.
  int scope = -1;
  bool isEnter = false;
  std::string mark, value;
  /// Whether the first op in the region says what it is.
  bool isOpen = false;
  Work work;

  CodeRegion(Location loc) : loc(loc) {}
};

/// A scope of the user within another, wherever it is entered.
struct Scope {
  int parent;
  StringRef name;
  Operation *enter;
};

struct Role {
  std::string name;
  int first = 0;
  int warps = 0;
};

/// Returns the place in the kernel's source; of code that was inlined, that of the callee.
FileLineColLoc fileOf(Location loc) {
  if (auto file = dyn_cast<FileLineColLoc>(loc))
    return file;
  if (auto name = dyn_cast<NameLoc>(loc))
    return fileOf(name.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return fileOf(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (FileLineColLoc file = fileOf(part))
        return file;
  return nullptr;
}

/// Returns how often a loop runs if its bounds are constants, in the form that `scf.for` is lowered
/// to: a header that compares its counter with the bound.
int64_t tripCountOf(const Loop &loop) {
  auto branch = dyn_cast<cf::CondBranchOp>(loop.header->getTerminator());
  auto compare = branch ? branch.getCondition().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
  if (!compare)
    return -1;
  auto counter = dyn_cast<BlockArgument>(compare.getLhs());
  APInt bound, step;
  if (!counter || counter.getOwner() != loop.header ||
      !matchPattern(compare.getRhs(), m_ConstantInt(&bound)) ||
      (compare.getPredicate() != arith::CmpIPredicate::slt &&
       compare.getPredicate() != arith::CmpIPredicate::ult))
    return -1;
  std::optional<APInt> first;
  bool steps = false;
  for (auto it = loop.header->pred_begin(); it != loop.header->pred_end(); ++it) {
    auto from = cast<BranchOpInterface>((*it)->getTerminator());
    Value value = from.getSuccessorOperands(it.getSuccessorIndex())[counter.getArgNumber()];
    if (loop.blocks.contains(*it)) {
      auto add = value.getDefiningOp<arith::AddIOp>();
      steps = add && add.getLhs() == counter && matchPattern(add.getRhs(), m_ConstantInt(&step));
      if (!steps)
        return -1;
    } else {
      APInt constant;
      if (first || !matchPattern(value, m_ConstantInt(&constant)))
        return -1;
      first = constant;
    }
  }
  if (!first || !steps || !step.isStrictlyPositive())
    return -1;
  int64_t distance = bound.getSExtValue() - first->getSExtValue();
  return distance <= 0 ? 0 : llvm::divideCeil(uint64_t(distance), step.getZExtValue());
}

/// Whether an op reduces what each warp has by itself.
bool isWithinWarps(Operation *op) {
  auto reduce = dyn_cast<tt::ReduceOp>(op);
  if (!reduce)
    return false;
  LinearLayout layout =
      ttg::toLinearLayout(cast<RankedTensorType>(reduce.getOperands()[0].getType()));
  MLIRContext *context = op->getContext();
  auto axis = StringAttr::get(context, "dim" + llvm::utostr(reduce.getAxis()));
  return layout.sublayoutIsZero({StringAttr::get(context, "warp")}, {axis}) &&
         layout.sublayoutIsZero({StringAttr::get(context, "block")}, {axis});
}

/// Finds regions in a kernel and places records.
class Placement {
public:
  Placement(tt::FuncOp function, StringRef mode) : function(function), mode(mode) {
    roles.push_back({"default", 0, ttg::lookupNumWarps(function)});
    regions.emplace_back(function.getLoc());
    regions.back().isEntry = true;
  }

  LogicalResult run() {
    if (mode != "header") {
      if (failed(place(function.getBody(), -1, 0, -1)))
        return failure();
      nameEpilogues();
      for (Loop &loop : loops)
        loop.tripCount = tripCountOf(loop);
    } else {
      // Roles and what each does are in the heads of segments.
      function.walk([&](ttg::WarpSpecializeOp op) { addRoles(op); });
    }
    SmallVector<Operation *> notes;
    function.walk([&](Operation *op) {
      if (isNote(*op))
        notes.push_back(op);
    });
    for (Operation *note : notes)
      note->erase();
    return success();
  }

  /// Returns the names of a scope and of those around it.
  std::string pathOf(int scope) const {
    if (scope == -1)
      return "";
    std::string outer = pathOf(scopes[scope].parent);
    return outer.empty() ? scopes[scope].name.str() : outer + "/" + scopes[scope].name.str();
  }

  static bool isNote(Operation &op) { return isa<EnterOp, ExitOp, MarkOp>(op); }

  /// Returns the records that one warp comes to at most, or none if some loop has no known length.
  std::optional<uint64_t> most() const {
    SmallVector<uint64_t> ofRole(roles.size());
    for (const auto &[block, found] : records) {
      std::optional<uint64_t> times = timesOf(block, found.loop);
      if (!times)
        return std::nullopt;
      ofRole[found.role] =
          llvm::SaturatingMultiplyAdd<uint64_t>(*times, found.count, ofRole[found.role]);
    }
    return *llvm::max_element(ofRole);
  }

  /// Returns how often a warp comes to a region at most, or -1 if some loop has no known length.
  int64_t timesOf(size_t region) const {
    if (!region)
      return 0;
    Block *block = blockOf[region - 1];
    std::optional<uint64_t> times = timesOf(block, regions[region].loop);
    return times ? std::min<uint64_t>(*times, mostRecords) : -1;
  }

  SmallVector<CodeRegion> regions;
  SmallVector<Loop> loops;
  SmallVector<Role> roles;
  SmallVector<Scope> scopes;

private:
  std::optional<uint64_t> timesOf(Block *block, int loop) const {
    uint64_t times = 1;
    for (; loop != -1; loop = loops[loop].parent) {
      if (loops[loop].tripCount < 0)
        return std::nullopt;
      times = llvm::SaturatingMultiply<uint64_t>(times, loops[loop].tripCount +
                                                            (loops[loop].header == block));
    }
    return times;
  }

  struct Records {
    int loop;
    int role;
    int64_t count;
  };

  void addRoles(ttg::WarpSpecializeOp op) {
    std::optional<ArrayRef<int32_t>> starts = op.getWarpGroupStartIds();
    for (auto [index, warps] : llvm::enumerate(op.getPartitionNumWarps())) {
      Role role{"partition" + llvm::utostr(index), starts ? (*starts)[index] : -1, warps};
      roles.push_back(role);
    }
  }

  /// Returns for each block of a region of blocks which loop it is in.
  DenseMap<Block *, int> findLoops(Region &region, int parent) {
    DenseMap<Block *, int> result;
    for (Block &block : region)
      result[&block] = parent;
    if (region.hasOneBlock())
      return result;
    size_t first = loops.size();
    for (Block &header : region) {
      llvm::SetVector<Block *> blocks;
      for (Block *from : header.getPredecessors())
        if (dominance.dominates(&header, from))
          blocks.insert(from);
      if (blocks.empty())
        continue;
      blocks.insert(&header);
      for (size_t at = 0; at < blocks.size(); ++at)
        if (blocks[at] != &header)
          for (Block *from : blocks[at]->getPredecessors())
            blocks.insert(from);
      Loop loop(header.getTerminator()->getLoc());
      loop.header = &header;
      loop.blocks = blocks;
      loops.push_back(loop);
    }
    for (size_t index = first; index < loops.size(); ++index) {
      Loop &loop = loops[index];
      loop.parent = parent;
      size_t least = SIZE_MAX;
      for (size_t other = first; other < loops.size(); ++other)
        if (other != index && loops[other].blocks.contains(loop.header) &&
            loops[other].header != loop.header && loops[other].blocks.size() < least) {
          least = loops[other].blocks.size();
          loop.parent = other;
        }
    }
    for (auto &[block, inside] : result) {
      size_t least = SIZE_MAX;
      for (size_t index = first; index < loops.size(); ++index)
        if (loops[index].blocks.contains(block) && loops[index].blocks.size() < least) {
          least = loops[index].blocks.size();
          inside = index;
        }
    }
    return result;
  }

  int depthOf(int loop) const {
    int depth = 0;
    for (; loop != -1; loop = loops[loop].parent)
      ++depth;
    return depth;
  }

  /// Says where a way may be one that is never gone.
  void noteConditions(InFlightDiagnostic &error) const {
    if (numConditions > mostConditions)
      error.attachNote() << "of " << numConditions << " conditions that several branches ask, "
                         << mostConditions << " are followed";
  }

  /// Returns the scope behind an op, or none where the op leaves one that it is not in.
  std::optional<int> scopeBehind(Operation &op, int scope) {
    if (auto enter = dyn_cast<EnterOp>(op)) {
      for (auto [index, known] : llvm::enumerate(scopes))
        if (known.parent == scope && known.name == enter.getName())
          return index;
      scopes.push_back({scope, enter.getName(), enter});
      return scopes.size() - 1;
    }
    auto exit = dyn_cast<ExitOp>(op);
    if (!exit)
      return scope;
    if (scope != -1 && scopes[scope].name == exit.getName())
      return scopes[scope].parent;
    InFlightDiagnostic error = exit.emitError("expected the innermost scope to be left, got ")
                               << exit.getNameAttr();
    if (scope == -1)
      error.attachNote() << "no scope is entered there";
    else
      error.attachNote(scopes[scope].enter->getLoc())
          << "the innermost one is " << scopes[scope].enter->getAttr("name");
    noteConditions(error);
    return std::nullopt;
  }

  /// A scope, and which conditions held on the way to it.
  struct Way {
    SmallVector<std::optional<bool>> held;
    int scope;
  };

  /// Finds the scope in which each block of a region of blocks begins. It has to be the same on all
  /// ways to it, but for what depends on conditions that several branches ask: the pipeliner puts
  /// parts of an iteration under one condition each. There it is the deepest.
  FailureOr<DenseMap<Block *, int>> findScopes(Region &region, int outer) {
    auto hasScope = [](Block *block) {
      return llvm::any_of(*block, [](Operation &op) { return isa<EnterOp, ExitOp>(op); });
    };
    llvm::MapVector<Value, std::pair<int, bool>> asked;
    for (Block &block : region)
      if (auto branch = dyn_cast<cf::CondBranchOp>(block.getTerminator())) {
        auto &[count, guards] = asked[branch.getCondition()];
        ++count;
        guards |= llvm::any_of(branch->getSuccessors(), hasScope);
      }
    SmallVector<Value> conditions;
    // What scopes depend on comes first.
    for (bool wanted : {true, false})
      for (auto &[condition, found] : asked)
        if (found.first > 1 && found.second == wanted)
          conditions.push_back(condition);
    numConditions = conditions.size();
    conditions.truncate(std::min(numConditions, mostConditions));

    DenseMap<Block *, SmallVector<Way>> ways;
    SmallVector<std::pair<Block *, Way>> waiting;
    auto unbalanced = [&](int scope) -> LogicalResult {
      InFlightDiagnostic error = scopes[scope].enter->emitError("expected scope ")
                                 << scopes[scope].enter->getAttr("name")
                                 << " to be left on every way from here";
      noteConditions(error);
      return failure();
    };
    auto reach = [&](Block *block, Way way) -> LogicalResult {
      for (auto [condition, held] : llvm::zip(conditions, way.held))
        if (condition.getParentBlock() == block)
          held = std::nullopt;
      for (const Way &known : ways[block])
        if (known.held == way.held) {
          if (known.scope == way.scope)
            return success();
          return unbalanced(depthOfScope(known.scope) > depthOfScope(way.scope) ? known.scope
                                                                                : way.scope);
        }
      ways[block].push_back(way);
      waiting.push_back({block, way});
      return success();
    };
    (void)reach(&region.front(), {SmallVector<std::optional<bool>>(conditions.size()), outer});
    while (!waiting.empty()) {
      auto [block, way] = waiting.pop_back_val();
      for (Operation &op : *block) {
        std::optional<int> behind = scopeBehind(op, way.scope);
        if (!behind)
          return failure();
        way.scope = *behind;
      }
      if (!block->getNumSuccessors() && way.scope != outer) {
        if (depthOfScope(way.scope) > depthOfScope(outer))
          return unbalanced(way.scope);
        return block->back().emitError("expected a task to leave the scopes around it alone");
      }
      auto branch = dyn_cast<cf::CondBranchOp>(block->getTerminator());
      auto *place = branch ? llvm::find(conditions, branch.getCondition()) : conditions.end();
      for (auto [index, next] : llvm::enumerate(block->getSuccessors())) {
        Way on = way;
        if (place != conditions.end()) {
          std::optional<bool> &held = on.held[place - conditions.begin()];
          if (held && *held != (index == 0))
            continue;
          held = index == 0;
        }
        if (failed(reach(next, on)))
          return failure();
      }
    }
    DenseMap<Block *, int> result;
    for (auto &[block, found] : ways) {
      int &deepest = result.try_emplace(block, found.front().scope).first->second;
      for (const Way &way : found)
        if (depthOfScope(way.scope) > depthOfScope(deepest))
          deepest = way.scope;
    }
    return result;
  }

  int depthOfScope(int scope) const {
    int depth = 0;
    for (; scope != -1; scope = scopes[scope].parent)
      ++depth;
    return depth;
  }

  LogicalResult place(Region &code, int outer, int role, int scopeOutside) {
    DenseMap<Block *, int> loopOf = findLoops(code, outer);
    FailureOr<DenseMap<Block *, int>> scopeOf = findScopes(code, scopeOutside);
    if (failed(scopeOf))
      return failure();
    DenseMap<Block *, int> last;
    for (Block &block : code) {
      int loop = loopOf[&block];
      // A block behind branches that contradict each other is never run, and is in no scope.
      auto begins = scopeOf->find(&block);
      bool isReached = begins != scopeOf->end();
      int scope = isReached ? begins->second : scopeOutside;
      // Only what one block alone can lead to is known to be in its last region.
      int current = -1;
      if (Block *only = block.getSinglePredecessor(); only && loopOf[only] == loop)
        if (auto found = last.find(only); found != last.end())
          current = found->second;
      bool isPace = loop != outer && loops[loop].pace == -1 && isPaced(&block, loop);
      // Iterations of which no record is sure would be told apart by nothing else.
      if (isPace && llvm::none_of(block, [&](Operation &op) { return hasRecord(op); }) &&
          needsPace(loop, loopOf)) {
        current = begin(block.front(), otherIn(scope), loop, role, scope);
        regions[current].op = "loop";
      }
      for (Operation &op : llvm::make_early_inc_range(block)) {
        if (auto tasks = dyn_cast<ttg::WarpSpecializeOp>(op)) {
          int first = roles.size();
          addRoles(tasks);
          if (failed(place(tasks.getDefaultRegion(), loop, role, scope)))
            return failure();
          for (auto [index, partition] : llvm::enumerate(tasks.getPartitionRegions()))
            if (failed(place(*partition, loop, first + index, scope)))
              return failure();
          current = -1;
          continue;
        }
        if (isNote(op)) {
          if (!isReached)
            continue;
          scope = *scopeBehind(op, scope);
          current = note(op, current, loop, role, scope);
          continue;
        }
        std::optional<Category> category = categoryOf(&op);
        if (!category)
          continue;
        // Of its own values a warp makes a sum as it makes any other.
        if (mode != "all" && isWithinWarps(&op))
          category = Category::Elementwise;
        // Behind their own wait, warps wait for those of the others.
        if (mode != "all" && category == Category::Barrier && current != -1 &&
            regions[current].category == Category::CopyWait)
          category = Category::CopyWait;
        Work work = workOf(&op, *category);
        if (mode == "scopes") {
          if (current == -1)
            continue;
        } else if (current != -1 && regions[current].isOpen) {
          regions[current].category = *category;
          regions[current].op = op.getName().getStringRef().str();
          regions[current].loc = op.getLoc();
          regions[current].isOpen = false;
        } else if (mode == "all" || current == -1 || regions[current].category != *category) {
          current = begin(op, *category, loop, role, scope);
        }
        CodeRegion &region = regions[current];
        ++region.ops;
        region.work.flops += work.flops;
        region.work.bytes += work.bytes;
        if (*category == Category::MmaIssue)
          for (int in = loop; in != -1; in = loops[in].parent)
            if (in == loop)
              loops[in].hasMma = true;
      }
      last[&block] = current;
      blocks.push_back({&block, loop});
    }
    return success();
  }

  /// Returns what time is in that belongs to no category.
  Category otherIn(int scope) const {
    return mode == "scopes" && scope != -1 ? Category::Scope : Category::Other;
  }

  /// Begins a region at a note of the user, within the scope behind it.
  int note(Operation &op, int before, int loop, int role, int scope) {
    bool goesOn = isa<MarkOp>(op) && before != -1 && mode != "scopes";
    Category category = goesOn ? regions[before].category : otherIn(scope);
    bool isOpen = mode != "scopes" && (!goesOn || regions[before].isOpen);
    Value value;
    if (auto mark = dyn_cast<MarkOp>(op))
      value = mark.getValue();
    int index = begin(op, category, loop, role, scope, value);
    CodeRegion &region = regions[index];
    region.isOpen = isOpen;
    region.isEnter = isa<EnterOp>(op);
    if (auto mark = dyn_cast<MarkOp>(op)) {
      region.mark = mark.getName().str();
      region.value = !value ? "" : mark.getIsFloat() ? "float" : "int";
    }
    return index;
  }

  int begin(Operation &op, Category category, int loop, int role, int scope, Value value = {}) {
    int index = regions.size();
    CodeRegion region(op.getLoc());
    region.category = category;
    region.op = op.getName().getStringRef().str();
    region.loop = loop;
    region.depth = depthOf(loop);
    region.role = role;
    region.scope = scope;
    regions.push_back(region);
    OpBuilder builder(&op);
    RecordOp::create(builder, op.getLoc(), index, value);
    blockOf.push_back(op.getBlock());
    ++records.try_emplace(op.getBlock(), Records{loop, role, 0}).first->second.count;
    if (loop != -1 && loops[loop].pace == -1 && loops[loop].blocks.contains(op.getBlock()) &&
        isPaced(op.getBlock(), loop))
      loops[loop].pace = index;
    return index;
  }

  /// Elementwise arithmetic behind a loop with MMA, and not in one, is of an epilogue.
  void nameEpilogues() {
    llvm::SmallDenseSet<int> behind;
    SmallVector<int> seen;
    DenseMap<Block *, bool> isEpilogue;
    for (auto [block, loop] : blocks) {
      bool mma = loop != -1 && loops[loop].hasMma;
      if (mma && !llvm::is_contained(seen, loop))
        seen.push_back(loop);
      isEpilogue[block] = !mma && llvm::any_of(seen, [&](int of) {
        return loops[of].header->getParent() == block->getParent();
      });
    }
    for (size_t index = 1; index < regions.size(); ++index)
      if (regions[index].category == Category::Elementwise && isEpilogue[blockOf[index - 1]])
        regions[index].category = Category::Epilogue;
  }

  /// Whether each iteration of a loop runs the block, once.
  bool isPaced(Block *block, int loop) {
    const Loop &of = loops[loop];
    // A header that may leave runs once more than the loop.
    if (block == of.header &&
        llvm::any_of(block->getSuccessors(), [&](Block *to) { return !of.blocks.contains(to); }))
      return false;
    return llvm::all_of(of.header->getPredecessors(), [&](Block *from) {
      return !of.blocks.contains(from) || dominance.dominates(block, from);
    });
  }

  bool hasRecord(Operation &op) const {
    return isNote(op) || (mode != "scopes" && categoryOf(&op).has_value());
  }

  /// Whether a loop has records, and none that each iteration makes.
  bool needsPace(int loop, const DenseMap<Block *, int> &loopOf) {
    bool some = false;
    for (Block *block : loops[loop].blocks) {
      bool has = llvm::any_of(*block, [&](Operation &op) { return hasRecord(op); });
      some |= has || (mode != "scopes" && loopOf.lookup(block) != loop);
      if (has && loopOf.lookup(block) == loop && isPaced(block, loop))
        return false;
    }
    return some;
  }

  tt::FuncOp function;
  StringRef mode;
  DominanceInfo dominance;
  /// Of the blocks whose scopes are looked for, the conditions that several branches ask.
  size_t numConditions = 0;
  /// Of each region but the first, where its record is.
  SmallVector<Block *> blockOf;
  SmallVector<std::pair<Block *, int>> blocks;
  llvm::MapVector<Block *, Records> records;
};

class PlaceRecordsPass : public impl::PlaceRecordsPassBase<PlaceRecordsPass> {
public:
  using impl::PlaceRecordsPassBase<PlaceRecordsPass>::PlaceRecordsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!llvm::is_contained({"header", "auto", "all", "scopes"}, mode.getValue())) {
      module.emitError("expected mode header, auto, all or scopes, got ") << mode.getValue();
      return signalPassFailure();
    }
    if (module->hasAttr(regionsName))
      return;
    tt::FuncOp kernel;
    for (auto function : module.getOps<tt::FuncOp>())
      if (function.isPublic() && !function.isExternal())
        kernel = function;
    if (!kernel)
      return;
    if (!module->hasAttr("ttg.target") || !module->hasAttr("ttg.num-warps")) {
      module.emitError("expected the target and the warps of the kernel, ttg.target and "
                       "ttg.num-warps");
      return signalPassFailure();
    }
    // Kernels that differ in code alone are to be told apart too.
    std::string text;
    llvm::raw_string_ostream stream(text);
    kernel->print(stream);
    module->setAttr(digestName,
                    IntegerAttr::get(IntegerType::get(&getContext(), 64), digestOf(text)));
    Placement placement(kernel, mode);
    if (failed(placement.run()))
      return signalPassFailure();
    SmallVector<Operation *> elsewhere;
    module.walk([&](Operation *op) {
      if (Placement::isNote(*op))
        elsewhere.push_back(op);
    });
    for (Operation *note : elsewhere) {
      // What was inlined may still be there by itself.
      if (!SymbolTable::symbolKnownUseEmpty(note->getParentOfType<tt::FuncOp>(), module)) {
        note->emitError("expected scopes and marks in the kernel itself, or in functions that are "
                        "inlined");
        return signalPassFailure();
      }
      note->erase();
    }
    if (placement.regions.size() > mostRegions) {
      kernel.emitError("expected at most ")
          << mostRegions << " regions, got " << placement.regions.size()
          << "; profile the kernel in mode auto or header";
      return signalPassFailure();
    }
    describe(module, placement);
  }

private:
  void describe(ModuleOp module, const Placement &placement) {
    Builder builder(module);
    auto number = [&](int64_t value) -> Attribute { return builder.getI64IntegerAttr(value); };
    auto text = [&](StringRef value) -> Attribute { return builder.getStringAttr(value); };
    auto entry = [&](StringRef name, Attribute value) { return builder.getNamedAttr(name, value); };
    auto placed = [&](SmallVector<NamedAttribute> fields, Location loc) -> Attribute {
      FileLineColLoc file = fileOf(loc);
      fields.push_back(entry("file", text(file ? file.getFilename().getValue() : "")));
      fields.push_back(entry("line", number(file ? file.getLine() : 0)));
      fields.push_back(entry("column", number(file ? file.getColumn() : 0)));
      return builder.getDictionaryAttr(fields);
    };
    SmallVector<Attribute> regions, loops, roles;
    for (auto [index, region] : llvm::enumerate(placement.regions))
      regions.push_back(placed(
          {entry("category", text(region.isEntry ? "entry" : nameOf(region.category))),
           entry("op", text(region.op)), entry("ops", number(region.ops)),
           entry("loop", number(region.loop)), entry("depth", number(region.depth)),
           entry("role", number(region.role)), entry("flops", number(region.work.flops)),
           entry("bytes", number(region.work.bytes)),
           entry("name", text(placement.pathOf(region.scope))),
           entry("enters", builder.getBoolAttr(region.isEnter)), entry("mark", text(region.mark)),
           entry("value", text(region.value)), entry("times", number(placement.timesOf(index)))},
          region.loc));
    for (const Loop &loop : placement.loops)
      loops.push_back(
          placed({entry("parent", number(loop.parent)), entry("trip_count", number(loop.tripCount)),
                  entry("pace", number(loop.pace))},
                 loop.loc));
    for (const Role &role : placement.roles)
      roles.push_back(builder.getDictionaryAttr({entry("name", text(role.name)),
                                                 entry("first_warp", number(role.first)),
                                                 entry("num_warps", number(role.warps))}));
    module->setAttr(regionsName, builder.getArrayAttr(regions));
    module->setAttr(loopsName, builder.getArrayAttr(loops));
    module->setAttr(rolesName, builder.getArrayAttr(roles));
    module->setAttr(modeName, builder.getStringAttr(mode.getValue()));
    int64_t records =
        mode == "header" ? 0 : std::min<uint64_t>(placement.most().value_or(capacity), mostRecords);
    module->setAttr(capacityName, builder.getI64IntegerAttr(records));
  }
};

} // namespace
} // namespace tritonext::profiler
