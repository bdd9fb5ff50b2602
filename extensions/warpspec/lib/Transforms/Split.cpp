//===- Split.cpp - Consumers as two tasks of a warp group each ------------===//
//
// The task that multiplies is built anew, once for each warp group. A tensor has a form: the
// dimension along which the groups have a half each, or none, when both have all of it. Sums of
// products are halved along their rows, and what is computed from them follows; whatever else is
// needed is made in the form in which it is needed, so a value may be there in several.
//
//===----------------------------------------------------------------------===//

#include "tritonext_warpspec/Transforms/Split.h"

#include "tritonext_warpspec/Transforms/Tasks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::warpspec {
namespace {

constexpr int64_t groups = 2, warpsPerGroup = 4, rowsOfProduct = 64;

/// The dimension along which a value is halved, or `whole`.
using Form = int;
constexpr Form whole = -1;

bool isTensor(Value value) { return isa<RankedTensorType>(value.getType()); }
bool isBuffer(Value value) { return isa<ttg::MemDescType>(value.getType()); }
bool isDescriptor(Value value) { return isa<tt::TensorDescType>(value.getType()); }
bool hasForms(Value value) { return isTensor(value) || isBuffer(value) || isDescriptor(value); }

bool takesTensors(Operation *op) {
  return llvm::any_of(op->getOperands(), isTensor) || llvm::any_of(op->getResults(), isTensor);
}

ArrayRef<int64_t> shapeOf(Value value) {
  return llvm::TypeSwitch<Type, ArrayRef<int64_t>>(value.getType())
      .Case<RankedTensorType, ttg::MemDescType, tt::TensorDescType>(
          [](auto type) { return type.getShape(); })
      .Default([](Type) { return ArrayRef<int64_t>(); });
}

SmallVector<int64_t> halved(ArrayRef<int64_t> shape, Form form) {
  SmallVector<int64_t> result(shape);
  if (form != whole)
    result[form] /= groups;
  return result;
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// Takes half of the warps from a layout that stands for a tensor of some shape and form.
///
/// Layouts of one warp group stay as they are. The result depends on the form only where a layout
/// spells out its shape, so that what belongs together still fits together.
Attribute withOneGroup(Attribute layout, Form form, ArrayRef<int64_t> shape);

Attribute withOneGroup(ttg::LinearEncodingAttr layout, Form form, ArrayRef<int64_t> shape) {
  MLIRContext *context = layout.getContext();
  auto bases = layout.getLinearLayout().getBases();
  auto &registers = bases[StringAttr::get(context, "register")];
  auto &warps = bases[StringAttr::get(context, "warp")];
  if (warps.empty())
    return nullptr;
  std::vector<int32_t> freed = std::move(warps.back());
  warps.pop_back();
  if (form == whole) {
    if (llvm::any_of(freed, [](int32_t step) { return step != 0; }))
      registers.push_back(freed);
  } else if (freed[form] != shape[form] / groups) {
    // The upper half is in registers, or lanes, which take the place of the warps.
    auto upper = llvm::find_if(registers, [&](const std::vector<int32_t> &basis) {
      return basis[form] == shape[form] / groups;
    });
    if (upper == registers.end())
      return nullptr;
    *upper = freed;
  }
  SmallVector<std::pair<StringAttr, int32_t>> sizes;
  for (auto [name, size] :
       llvm::zip_equal(layout.getLinearLayout().getOutDimNames(), halved(shape, form)))
    sizes.emplace_back(name, size);
  return ttg::LinearEncodingAttr::get(
      context, tt::LinearLayout(std::move(bases), sizes, /*requireSurjective=*/false));
}

Attribute withOneGroup(Attribute layout, Form form, ArrayRef<int64_t> shape) {
  MLIRContext *context = layout.getContext();
  auto halve = [](ArrayRef<unsigned> warps) {
    SmallVector<unsigned> fewer(warps);
    auto most = llvm::max_element(fewer);
    *most /= groups;
    return fewer;
  };
  if (auto blocked = dyn_cast<ttg::BlockedEncodingAttr>(layout))
    return ttg::BlockedEncodingAttr::get(
        context, blocked.getSizePerThread(), blocked.getThreadsPerWarp(),
        halve(blocked.getWarpsPerCTA()), blocked.getOrder(), blocked.getCGALayout());
  if (auto mma = dyn_cast<ttg::NvidiaMmaEncodingAttr>(layout))
    return ttg::NvidiaMmaEncodingAttr::get(context, mma.getVersionMajor(), mma.getVersionMinor(),
                                           {unsigned(warpsPerGroup), 1u}, mma.getCGALayout(),
                                           mma.getInstrShape());
  if (auto operand = dyn_cast<ttg::DotOperandEncodingAttr>(layout)) {
    Attribute parent = withOneGroup(operand.getParent(), form, shape);
    return parent ? ttg::DotOperandEncodingAttr::get(context, operand.getOpIdx(), parent,
                                                     operand.getKWidth())
                  : nullptr;
  }
  if (auto slice = dyn_cast<ttg::SliceEncodingAttr>(layout)) {
    // The size of the missing dimension is not known, which a linear layout would need.
    if (isa<ttg::LinearEncodingAttr>(slice.getParent()))
      return nullptr;
    auto parent = dyn_cast_or_null<ttg::DistributedEncodingTrait>(
        withOneGroup(slice.getParent(), form, shape));
    return parent ? ttg::SliceEncodingAttr::get(context, slice.getDim(), parent) : nullptr;
  }
  if (auto linear = dyn_cast<ttg::LinearEncodingAttr>(layout))
    return withOneGroup(linear, form, shape);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

/// Returns the dimension of the operand of a reshape whose upper half is that of a dimension of the
/// result, if there is one: both start at the same place of the row-major order.
std::optional<Form> throughReshape(ArrayRef<int64_t> from, ArrayRef<int64_t> to, Form form) {
  int64_t before = 1, seen = 1;
  for (int64_t size : to.take_front(form))
    before *= size;
  for (auto [dim, size] : llvm::enumerate(from)) {
    if (seen == before && size > 1)
      return Form(dim);
    seen *= size;
  }
  return std::nullopt;
}

/// Returns in which form an op needs operand number `index` for results of a form, if it is known.
std::optional<Form> operandForm(Operation *op, unsigned index, Form form) {
  Value operand = op->getOperand(index);
  if (!hasForms(operand))
    return whole;
  // A descriptor has the shape of its block.
  if (isa<tt::DescriptorLoadOp>(op))
    return form;
  if (auto dot = dyn_cast<ttng::WarpGroupDotOp>(op)) {
    if (form != whole && form != 0)
      return std::nullopt;
    return operand == dot.getB() && index == 1 ? whole : form;
  }
  if (form == whole)
    return isMemoryEffectFree(op) || isa<tt::LoadOp, ttg::LocalAllocOp, ttg::LocalLoadOp>(op)
               ? std::optional(whole)
               : std::nullopt;
  ArrayRef<int64_t> shape = shapeOf(operand);
  using Result = std::optional<Form>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](tt::ExpandDimsOp expand) -> Result {
        Form axis = expand.getAxis();
        return form == axis ? std::nullopt : Result(form < axis ? form : form - 1);
      })
      .Case([&](tt::BroadcastOp) -> Result { return shape[form] == 1 ? whole : form; })
      .Case([&](tt::TransOp trans) -> Result { return trans.getOrder()[form]; })
      .Case([&](ttg::MemDescTransOp trans) -> Result { return trans.getOrder()[form]; })
      .Case([&](tt::ReshapeOp reshape) -> Result {
        if (reshape.getAllowReorder())
          return std::nullopt;
        return throughReshape(shape, reshape.getType().getShape(), form);
      })
      .Case([&](tt::ReduceOp reduce) -> Result {
        return form < Form(reduce.getAxis()) ? form : form + 1;
      })
      .Case([&](tt::ScanOp scan) -> Result {
        return form == Form(scan.getAxis()) ? std::nullopt : Result(form);
      })
      .Case([&](tt::JoinOp) -> Result {
        return form < Form(shape.size()) ? Result(form) : std::nullopt;
      })
      .Case<tt::SplitOp, ttg::ConvertLayoutOp, tt::LoadOp, tt::AtomicRMWOp, tt::AtomicCASOp,
            ttg::LocalAllocOp, ttg::LocalLoadOp>([&](Operation *) -> Result { return form; })
      .Default([&](Operation *other) -> Result {
        bool isElementwise = other->hasTrait<OpTrait::Elementwise>() && isMemoryEffectFree(other) &&
                             other->getNumRegions() == 0;
        return isElementwise ? Result(form) : std::nullopt;
      });
}

//===----------------------------------------------------------------------===//
// The splitter
//===----------------------------------------------------------------------===//

class Splitter {
public:
  Splitter(const Plan &plan, ttg::WarpSpecializeOp tasks)
      : plan(plan), tasks(tasks), kernel(tasks->getParentOfType<tt::FuncOp>()),
        isByRows(plan.schedule == Schedule::Cooperative),
        isWide(ttg::lookupNumWarps(tasks) == groups * warpsPerGroup),
        old(&tasks.getDefaultRegion().front()) {}

  std::optional<Obstacle> run() {
    takeWhatFollows();
    if (checkSurroundings() && checkTurns() && findRows() && findDemands() && checkDescriptors() &&
        checkMemory() && build())
      return std::nullopt;
    return obstacle;
  }

private:
  bool decline(Operation *op, const Twine &text) {
    if (!obstacle)
      obstacle = Obstacle{op->getLoc(), text.str()};
    return false;
  }

  /// Whether a value comes from the task that multiplies.
  bool isInside(Value value) const {
    return old->findAncestorOpInBlock(*ownerOf(value)) != nullptr;
  }

  static Operation *ownerOf(Value value) {
    Operation *op = value.getDefiningOp();
    return op ? op : value.getParentBlock()->getParentOp();
  }

  /// Moves what comes behind the tasks to the end of the one that multiplies.
  void takeWhatFollows() {
    auto yield = cast<ttg::WarpYieldOp>(old->getTerminator());
    for (auto [result, value] : llvm::zip_equal(tasks.getResults(), yield.getOperands()))
      result.replaceAllUsesWith(value);
    yield->setOperands({});
    for (Operation *op = tasks->getNextNode(); !op->hasTrait<OpTrait::IsTerminator>();) {
      Operation *next = op->getNextNode();
      op->moveBefore(yield);
      op = next;
    }
  }

  bool checkSurroundings() {
    auto module = kernel->getParentOfType<ModuleOp>();
    if (isWide && !llvm::hasSingleElement(module.getOps<tt::FuncOp>()))
      return decline(kernel, "the module has other functions");
    for (Operation &op : *tasks->getBlock())
      if (&op != tasks && takesTensors(&op) && !isMemoryEffectFree(&op) && !isa<tt::LoadOp>(op))
        return decline(&op, "there are effects in front of the tasks");
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Turns
  //===--------------------------------------------------------------------===//

  /// Finds the loop of products and the one around it. Groups that take turns need to know how many
  /// slots the other one uses.
  bool checkTurns() {
    SmallVector<scf::ForOp> loops = findProductLoops(tasks);
    if (loops.size() == 1) {
      inner = loops.front();
      outer = dyn_cast<scf::ForOp>(inner->getParentOp());
      if (outer && outer->getParentOp() != tasks)
        outer = nullptr;
    }
    if (isByRows)
      return true;
    if (!outer)
      return decline(tasks, "there is no loop over tiles right around one loop of products");
    for (Value bound : {inner.getLowerBound(), inner.getUpperBound(), inner.getStep()})
      if (isInside(bound))
        return decline(inner, "the number of products differs between tiles");
    if (!isStepKnown())
      return decline(inner, "the step of the loop is not a constant");
    unsigned carried = outer.getNumRegionIterArgs() - positions;
    for (unsigned i = 0; i != carried; ++i)
      if (!isAdvanced(i))
        return decline(outer, "a tile needs what the one before has computed");
    for (OpResult result : outer.getResults())
      if (!result.use_empty())
        return decline(outer, "the result of the loop over tiles is used");
    for (Operation &op : *old)
      if (&op != outer && takesTensors(&op) && !isMemoryEffectFree(&op) && !isa<tt::LoadOp>(op))
        return decline(&op, "there are effects outside of the loop over tiles");
    return true;
  }

  bool isStepKnown() {
    APInt step;
    return inner && !inner.getUnsignedCmp() &&
           matchPattern(inner.getStep(), m_ConstantInt(&step)) && step.isStrictlyPositive() &&
           inner.getStep().getType().isInteger(32);
  }

  /// Returns what each iteration adds to a carried value, or null.
  Value advanceOf(unsigned index) {
    auto add = outer.getYieldedValues()[index].getDefiningOp<arith::AddIOp>();
    if (!add)
      return nullptr;
    for (auto [one, other] : {std::pair(add.getLhs(), add.getRhs()), {add.getRhs(), add.getLhs()}})
      if (one == outer.getRegionIterArg(index) && !isInside(other))
        return other;
    return nullptr;
  }

  bool isAdvanced(unsigned index) {
    return outer.getYieldedValues()[index] == outer.getRegionIterArg(index) || advanceOf(index);
  }

  //===--------------------------------------------------------------------===//
  // What follows from rows of products
  //===--------------------------------------------------------------------===//

  /// Finds the values that each group can only have a half of.
  bool findRows() {
    if (!isByRows)
      return true;
    do {
      isChanged = false;
      if (!spread(*old))
        return false;
    } while (isChanged);
    return true;
  }

  bool setRows(Value value, Form form, Operation *op) {
    auto [known, isNew] = rows.try_emplace(value, form);
    isChanged |= isNew;
    return known->second == form || decline(op, "rows of products come together with columns");
  }

  bool spread(Block &block) {
    for (Operation &op : block)
      if (!spread(op))
        return false;
    return true;
  }

  bool spreadTo(Value from, Value to, Operation *op) {
    auto known = rows.find(from);
    return known == rows.end() || setRows(to, known->second, op);
  }

  bool spread(Operation &op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [init, argument, yielded, result] :
           llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getYieldedValues(),
                           loop.getResults()))
        if (!spreadTo(init, argument, loop) || !spreadTo(yielded, argument, loop) ||
            !spreadTo(argument, result, loop))
          return false;
      return spread(*loop.getBody());
    }
    if (auto conditional = dyn_cast<scf::IfOp>(op)) {
      for (Region &region : conditional->getRegions())
        for (Block &block : region) {
          if (!spread(block))
            return false;
          for (auto [yielded, result] :
               llvm::zip_equal(block.getTerminator()->getOperands(), conditional.getResults()))
            if (!spreadTo(yielded, result, conditional))
              return false;
        }
      return true;
    }
    if (auto dot = dyn_cast<ttng::WarpGroupDotOp>(op)) {
      if (dot.getD().getType().getShape().front() % (groups * rowsOfProduct) != 0)
        return decline(dot, "a product has too few rows for two warp groups");
      if (rows.contains(dot.getB()))
        return decline(dot, "a product needs the rows of both warp groups");
      return setRows(dot.getD(), 0, dot);
    }
    if (isa<ttng::WarpGroupDotWaitOp>(op)) {
      for (auto [input, output] : llvm::zip_equal(op.getOperands(), op.getResults()))
        if (!spreadTo(input, output, &op))
          return false;
      return true;
    }
    for (OpOperand &operand : op.getOpOperands()) {
      auto known = rows.find(operand.get());
      if (known == rows.end())
        continue;
      Form form = known->second;
      for (OpResult result : op.getResults()) {
        std::optional<Form> found;
        for (Form dim = 0, rank = shapeOf(result).size(); dim != rank && !found; ++dim)
          if (operandForm(&op, operand.getOperandNumber(), dim) == form)
            found = dim;
        if (!found)
          return decline(&op, "'" + op.getName().getStringRef() +
                                  "' needs the rows of both warp groups");
        if (!setRows(result, *found, &op))
          return false;
      }
    }
    return true;
  }

  //===--------------------------------------------------------------------===//
  // What is needed in which form
  //===--------------------------------------------------------------------===//

  Form rowsOf(Operation *op) const {
    for (Value operand : op->getOperands())
      if (auto known = rows.find(operand); known != rows.end())
        return known->second;
    return whole;
  }

  bool demand(Operation *user, Value value, Form form) {
    if (!hasForms(value))
      return true;
    auto known = rows.find(value);
    if (known != rows.end() && known->second != form)
      return decline(user,
                     "'" + user->getName().getStringRef() + "' needs the rows of both warp groups");
    if (form != whole && (shapeOf(value)[form] % groups != 0))
      return decline(user, "a dimension has no halves");
    if (demands[value].insert(form))
      work.emplace_back(value, form);
    return true;
  }

  bool demandOperands(Operation *op, Form form) {
    for (OpOperand &operand : op->getOpOperands()) {
      if (!hasForms(operand.get()))
        continue;
      std::optional<Form> needed = operandForm(op, operand.getOperandNumber(), form);
      if (!needed)
        return decline(op, "it is not known how to halve '" + op->getName().getStringRef() + "'");
      if (!demand(op, operand.get(), *needed))
        return false;
    }
    return true;
  }

  bool findDemands() {
    WalkResult walked = old->walk(
        [&](Operation *op) { return start(op) ? WalkResult::advance() : WalkResult::interrupt(); });
    if (walked.wasInterrupted())
      return false;
    while (!work.empty()) {
      auto [value, form] = work.pop_back_val();
      if (!follow(value, form))
        return false;
    }
    return true;
  }

  /// Demands the operands of an op that both groups, or one, do for its effect.
  bool start(Operation *op) {
    // What passes through a wait for products may be there for that alone.
    if (isa<ttng::WarpGroupDotWaitOp>(op))
      return llvm::all_of(op->getResults(), [&](Value result) {
        auto known = rows.find(result);
        return demand(op, result, known == rows.end() ? whole : known->second);
      });
    if (isa<scf::ForOp, scf::IfOp, ttng::WarpGroupDotOp, tt::DescriptorLoadOp, ttng::WaitBarrierOp,
            ttng::ArriveBarrierOp>(op) ||
        op->hasTrait<OpTrait::IsTerminator>() || isAssumption(op))
      return true;
    if (isa<tt::ReduceOp, tt::ScanOp>(op->getParentOp()))
      return true;
    if (op->getParentOp() != tasks && !isa<scf::ForOp, scf::IfOp>(op->getParentOp()))
      return takesTensors(op) ? decline(op, "there is a tensor inside of '" +
                                                op->getParentOp()->getName().getStringRef() + "'")
                              : true;
    if (auto load = dyn_cast<tt::LoadOp>(op))
      return !load.getIsVolatile() || decline(op, "a load is volatile");
    if (isa<tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp>(op))
      return startStore(op);
    if (isa<tt::DescriptorStoreOp, tt::DescriptorReduceOp>(op)) {
      auto store = cast<tt::DescriptorStoreLikeOpInterface>(op);
      Form form = rowsOf(op);
      if (shapeOf(store.getSrc()) != shapeOf(store.getDesc()))
        return decline(op, "a descriptor has another shape than what it stores");
      return demand(op, store.getSrc(), form) && demand(op, store.getDesc(), form);
    }
    if (isa<ttg::LocalAllocOp, ttg::LocalLoadOp>(op) || isMemoryEffectFree(op)) {
      if (isa<tt::MakeTensorDescOp>(op))
        return decline(op, "a descriptor is made in the loop");
      // A scalar is the same in both groups.
      for (Value result : op->getResults())
        if (!hasForms(result))
          return demandOperands(op, whole);
      return true;
    }
    return decline(op, "it is not known how to halve '" + op->getName().getStringRef() + "'");
  }

  bool startStore(Operation *op) {
    if (!takesTensors(op))
      return decline(op, "a scalar is written, which others may wait for");
    Form form = rowsOf(op);
    if (form == whole && op->getNumResults() != 0 && !op->use_empty())
      return decline(op, "both warp groups need the result of an atomic");
    for (Value operand : op->getOperands())
      if (!demand(op, operand, form))
        return false;
    return true;
  }

  /// Demands what a value in a form is made of.
  bool follow(Value value, Form form) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *owner = argument.getOwner()->getParentOp();
      if (owner == kernel)
        return true;
      auto loop = cast<scf::ForOp>(owner);
      return demand(loop, loop.getTiedLoopInit(argument)->get(), form) &&
             demand(loop, loop.getTiedLoopYieldedValue(argument)->get(), form);
    }
    Operation *op = value.getDefiningOp();
    unsigned number = cast<OpResult>(value).getResultNumber();
    bool isPlaced = isInside(value);
    if (isDescriptor(value))
      return (isa<tt::MakeTensorDescOp>(op) && !isPlaced) || (form == whole && !isPlaced) ||
             decline(op, "it is not known how to halve a descriptor");
    if (!isPlaced && isBuffer(value) && !takesTensors(op))
      return form == whole || decline(op, "a buffer is halved that is no tile");
    if (!isPlaced && op->getBlock() != tasks->getBlock())
      return decline(op, "a tensor comes from around the tasks");
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return isPlaced ? demand(op, loop.getRegionIterArg(number), form)
                      : decline(op, "a tensor is computed in front of the tasks");
    if (auto conditional = dyn_cast<scf::IfOp>(op))
      return isPlaced ? demand(op, conditional.thenYield().getOperand(number), form) &&
                            demand(op, conditional.elseYield().getOperand(number), form)
                      : decline(op, "a tensor is computed in front of the tasks");
    if (isa<ttng::WarpGroupDotWaitOp>(op))
      return demand(op, op->getOperand(number), form);
    // A half of a view is a view of all and then of a half.
    if (isBuffer(value) && op->hasTrait<OpTrait::MemDescViewTrait>() &&
        !isa<ttg::MemDescTransOp>(op))
      return demand(op, form == whole ? op->getOperand(0) : value, whole);
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return isa<SplatElementsAttr>(constant.getValue()) ||
             decline(op, "a constant has different elements");
    if (isa<tt::MakeRangeOp, tt::SplatOp>(op))
      return true;
    if (auto load = dyn_cast<tt::DescriptorLoadOp>(op);
        load && shapeOf(load.getDesc()) != shapeOf(load))
      return decline(op, "a descriptor has another shape than what it loads");
    return demandOperands(op, form);
  }

  //===--------------------------------------------------------------------===//
  // Descriptors and memory
  //===--------------------------------------------------------------------===//

  /// A block of a descriptor is halved for all of its uses, or there is a second descriptor.
  bool checkDescriptors() {
    for (auto &[value, forms] : demands) {
      if (!isDescriptor(value) || (forms.size() == 1 && forms.front() == whole))
        continue;
      auto type = cast<tt::TensorDescType>(value.getType());
      auto shared = dyn_cast_or_null<ttg::NVMMASharedEncodingAttr>(type.getSharedLayout());
      Operation *user = *value.user_begin();
      for (Form form : forms) {
        bool isInnermost = form == Form(type.getShape().size()) - 1;
        if (form != whole && (!shared || isInnermost))
          return decline(user, "a descriptor would be halved along its rows");
      }
      if (!isa<BlockArgument>(value))
        continue;
      // The host makes one descriptor.
      bool isElsewhere = llvm::any_of(
          value.getUsers(), [&](Operation *op) { return !old->findAncestorOpInBlock(*op); });
      if (isElsewhere || forms.size() != 1)
        return decline(user, "a descriptor of the host is used in two shapes");
    }
    return true;
  }

  /// What one group reads the other may not have written yet, or already.
  bool checkMemory() {
    SmallVector<OpOperand *> read;
    auto add = [&](Operation *op) {
      if (isa<tt::LoadOp, tt::DescriptorLoadOp>(op))
        read.push_back(&op->getOpOperand(0));
    };
    old->walk(add);
    for (auto &[value, forms] : demands)
      if (Operation *op = value.getDefiningOp(); op && !isInside(value))
        add(op);
    if (read.empty())
      return true;
    Operation *writer = findWriter(kernel, read);
    return !writer || decline(writer, "'" + writer->getName().getStringRef() +
                                          "' may write what the other warp group reads");
  }

  //===--------------------------------------------------------------------===//
  // Building
  //===--------------------------------------------------------------------===//

  bool build() {
    Location loc = tasks.getLoc();
    MLIRContext *context = tasks.getContext();
    halveDescriptors();
    OpBuilder builder(tasks);
    if (!isByRows) {
      ttng::InitBarrierOp first = *kernel.getBody().front().getOps<ttng::InitBarrierOp>().begin();
      OpBuilder early(first);
      turns = createBarriers(early, loc, groups, /*arrivals=*/1);
    }
    ttg::WarpSpecializePartitionsOp before = tasks.getPartitionOp();
    auto after = ttg::WarpSpecializeOp::create(builder, loc, TypeRange(),
                                               ArrayRef<int32_t>{int32_t(warpsPerGroup), 1});
    after->setDiscardableAttrs(tasks->getDiscardableAttrDictionary());
    after.setRequestedRegisters(
        ArrayRef<int32_t>{plan.consumerRegisters(), plan.producerRegisters});
    builder.createBlock(&after.getPartitionOpHolder());
    partitions =
        ttg::WarpSpecializePartitionsOp::create(builder, loc, before.getExplicitCaptures(), groups);
    partitions.getPartitionRegions()[1].takeBody(before.getPartitionRegions().front());
    Block *second = builder.createBlock(&partitions.getPartitionRegions()[0]);
    for (Value capture : partitions.getExplicitCaptures())
      built[{capture, whole}] = second->addArgument(capture.getType(), capture.getLoc());
    // The partition needs the values of its captures, and the default region takes them as they
    // are.
    auto captured = std::move(built);
    built.clear();
    Block *first = builder.createBlock(&after.getDefaultRegion());
    if (!buildGroup(0, first))
      return false;
    OpBuilder atEnd = OpBuilder::atBlockEnd(first);
    ttg::WarpYieldOp::create(atEnd, loc, ValueRange());
    built = std::move(captured);
    if (!buildGroup(1, second))
      return false;
    atEnd.setInsertionPointToEnd(second);
    ttg::WarpReturnOp::create(atEnd, loc);

    if (isByRows)
      countArrivals(first);
    tasks.erase();
    tasks = after;
    return finish(context);
  }

  /// Makes descriptors with half of a block, and lets the host make those of arguments so.
  void halveDescriptors() {
    bool isTyped = false;
    for (auto &[value, forms] : demands) {
      if (!isDescriptor(value))
        continue;
      for (Form form : forms) {
        if (form == whole)
          continue;
        auto type = cast<tt::TensorDescType>(value.getType());
        auto half = tt::TensorDescType::get(halved(type.getShape(), form), type.getElementType(),
                                            type.getSharedLayout());
        Value made = value;
        if (auto make = value.getDefiningOp()) {
          OpBuilder builder(make->getContext());
          builder.setInsertionPointAfter(make);
          made = builder.clone(*make)->getResult(0);
        }
        made.setType(half);
        isTyped |= made == value;
        halves[{value, form}] = made;
      }
    }
    if (isTyped) {
      auto inputs = llvm::to_vector(kernel.getBody().front().getArgumentTypes());
      kernel.setFunctionType(
          FunctionType::get(kernel.getContext(), inputs, kernel.getFunctionType().getResults()));
    }
  }

  /// Both groups arrive where one has.
  void countArrivals(Block *first) {
    llvm::SmallDenseSet<Value> arrays;
    first->walk(
        [&](ttng::ArriveBarrierOp arrive) { arrays.insert(throughViews(arrive.getAlloc())); });
    kernel.walk([&](ttng::InitBarrierOp init) {
      if (arrays.contains(throughViews(init.getAlloc())))
        init.setCount(groups * init.getCount());
    });
  }

  /// Removes what only the old task needed, and gives the kernel its number of warps.
  bool finish(MLIRContext *context) {
    Block &block = kernel.getBody().front();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
    if (!isWide)
      return true;
    for (Operation &op : block)
      if (&op != tasks && takesTensors(&op))
        return decline(&op, "a tensor is used in front of the tasks");
    kernel->getParentOfType<ModuleOp>()->setAttr(
        ttg::AttrNumWarpsName, IntegerAttr::get(IntegerType::get(context, 32), warpsPerGroup));
    return true;
  }

  bool buildGroup(int number, Block *block) {
    group = number;
    body = block;
    builder = OpBuilder::atBlockEnd(block);
    for (Operation &op : *tasks->getBlock()) {
      if (&op == tasks)
        break;
      bool isDemanded = llvm::any_of(op.getResults(), [&](Value result) {
        return !isDescriptor(result) && demands.contains(result);
      });
      if (isDemanded && takesTensors(&op) && !buildTensors(&op))
        return false;
    }
    return buildBlock(*old);
  }

  bool buildBlock(Block &block) {
    for (Operation &op : block.without_terminator())
      if (!buildOp(&op) || obstacle)
        return false;
    return true;
  }

  /// Returns a value of the kernel as the group has it.
  Value lookup(Value value, Form form = whole) {
    if (auto known = built.find({value, form}); known != built.end())
      return known->second;
    if (auto half = halves.find({value, form}); half != halves.end())
      return built[{value, form}] = capture(half->second);
    if (isInside(value) || form != whole)
      decline(ownerOf(value), "a value is not there in the form in which it is needed");
    return built[{value, form}] = capture(value);
  }

  Value capture(Value value) {
    Operation *op = value.getDefiningOp();
    if (op && op->hasTrait<OpTrait::ConstantLike>())
      return OpBuilder::atBlockBegin(body).clone(*op)->getResult(0);
    if (group == 0)
      return value;
    partitions->insertOperands(partitions->getNumOperands(), value);
    for (Region &region : partitions.getPartitionRegions())
      region.front().addArgument(value.getType(), value.getLoc());
    return body->getArguments().back();
  }

  Attribute layoutOf(RankedTensorType type, Form form) const {
    return isWide ? withOneGroup(type.getEncoding(), form, type.getShape()) : type.getEncoding();
  }

  /// Returns the type of a tensor in a form, or null when its layout has no such.
  RankedTensorType typeOf(Value value, Form form) {
    auto type = cast<RankedTensorType>(value.getType());
    Attribute layout = layoutOf(type, form);
    if (!layout)
      return nullptr;
    return RankedTensorType::get(halved(type.getShape(), form), type.getElementType(), layout);
  }

  Value inLayout(Location loc, Value value, Attribute layout) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getEncoding() == layout)
      return value;
    auto other = RankedTensorType::get(type.getShape(), type.getElementType(), layout);
    return ttg::ConvertLayoutOp::create(builder, loc, other, value);
  }

  SmallVector<Form> formsOf(Value value) const {
    if (!hasForms(value) || isDescriptor(value))
      return {whole};
    auto known = demands.find(value);
    if (known == demands.end())
      return isTensor(value) ? SmallVector<Form>() : SmallVector<Form>{whole};
    SmallVector<Form> forms(known->second.begin(), known->second.end());
    llvm::sort(forms);
    return forms;
  }

  bool buildOp(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return buildLoop(loop);
    if (auto conditional = dyn_cast<scf::IfOp>(op))
      return buildConditional(conditional);
    if (auto wait = dyn_cast<ttng::WarpGroupDotWaitOp>(op))
      return buildWait(wait);
    if (isa<tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp>(op))
      return buildStore(op);
    if (isa<tt::DescriptorStoreOp, tt::DescriptorReduceOp>(op))
      return buildDescriptorStore(cast<tt::DescriptorStoreLikeOpInterface>(op));
    bool isPlain = llvm::none_of(op->getResults(), hasForms);
    if (isPlain)
      return clonePlain(op);
    return buildTensors(op);
  }

  /// Repeats an op whose results are no tensors. Those that it takes are whole.
  bool clonePlain(Operation *op) {
    IRMapping mapping;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!op->isProperAncestor(ownerOf(operand)))
          mapping.map(operand, lookup(operand));
    });
    Operation *copy = builder.clone(*op, mapping);
    map(op, copy, whole);
    if (!isByRows && isa<ttng::WaitBarrierOp>(op) && op->getParentOp() == inner)
      handOver(op->getLoc());
    return true;
  }

  /// Builds an op in each form in which one of its results is needed.
  bool buildTensors(Operation *op) {
    llvm::SmallSetVector<Form, 2> forms;
    for (Value result : op->getResults())
      forms.insert_range(formsOf(result));
    for (Form form : forms)
      if (!buildInForm(op, form))
        return decline(op, "a layout has no half");
    return true;
  }

  void map(Operation *op, Operation *copy, Form form) {
    for (auto [result, value] : llvm::zip_equal(op->getResults(), copy->getResults()))
      built[{result, form}] = value;
  }

  bool buildInForm(Operation *op, Form form) {
    Location loc = op->getLoc();
    bool isView = op->hasTrait<OpTrait::MemDescViewTrait>() && !isa<ttg::MemDescTransOp>(op);
    if (isView && form != whole)
      return buildHalfView(op->getResult(0), form);
    SmallVector<Value> operands;
    for (OpOperand &operand : op->getOpOperands()) {
      Form needed =
          isView ? whole : operandForm(op, operand.getOperandNumber(), form).value_or(whole);
      operands.push_back(lookup(operand.get(), needed));
    }
    // Layouts of these follow from those of their operands.
    Operation *copy =
        llvm::TypeSwitch<Operation *, Operation *>(op)
            .Case([&](tt::ExpandDimsOp expand) {
              return tt::ExpandDimsOp::create(builder, loc, operands[0], expand.getAxisAttr());
            })
            .Case([&](tt::TransOp trans) {
              return tt::TransOp::create(builder, loc, operands[0], trans.getOrderAttr());
            })
            .Case([&](ttg::MemDescTransOp trans) {
              return ttg::MemDescTransOp::create(builder, loc, operands[0], trans.getOrderAttr());
            })
            .Case([&](tt::ReshapeOp reshape) {
              return tt::ReshapeOp::create(builder, loc, halved(shapeOf(reshape), form),
                                           operands[0], reshape.getAllowReorder());
            })
            .Case([&](tt::SplitOp) { return tt::SplitOp::create(builder, loc, operands[0]); })
            .Case([&](tt::JoinOp) {
              Attribute layout = cast<RankedTensorType>(operands[0].getType()).getEncoding();
              return tt::JoinOp::create(builder, loc, operands[0],
                                        inLayout(loc, operands[1], layout));
            })
            .Default([](Operation *) { return nullptr; });
    if (copy) {
      copy->setDiscardableAttrs(op->getDiscardableAttrDictionary());
      map(op, copy, form);
      return true;
    }
    return buildCopy(op, form, operands);
  }

  bool buildHalfView(Value view, Form form) {
    Value all = lookup(view, whole);
    auto type = cast<ttg::MemDescType>(all.getType());
    SmallVector<int32_t> offsets(type.getRank(), 0);
    offsets[form] = int32_t(group * type.getShape()[form] / groups);
    auto half = ttg::MemDescType::get(halved(type.getShape(), form), type.getElementType(),
                                      type.getEncoding(), type.getMemorySpace(),
                                      type.getMutableMemory(), type.getAllocShape());
    built[{view, form}] =
        ttg::MemDescSubsliceOp::create(builder, view.getLoc(), half, all, offsets);
    return true;
  }

  /// Repeats an op that has the shape and layout of its operands, or that chooses them.
  bool buildCopy(Operation *op, Form form, SmallVectorImpl<Value> &operands) {
    Location loc = op->getLoc();
    bool isFollowing = op->hasTrait<OpTrait::Elementwise>() ||
                       isa<tt::LoadOp, tt::BroadcastOp, tt::ReduceOp, tt::ScanOp>(op);
    Attribute layout;
    if (isFollowing)
      for (Value &operand : operands)
        if (isTensor(operand)) {
          if (!layout)
            layout = cast<RankedTensorType>(operand.getType()).getEncoding();
          operand = inLayout(loc, operand, layout);
        }
    if (auto reduce = dyn_cast<tt::ReduceOp>(op)) {
      auto copy = tt::ReduceOp::create(builder, loc, operands, reduce.getAxisAttr());
      IRMapping mapping;
      reduce.getCombineOp().cloneInto(&copy.getCombineOp(), mapping);
      copy->setDiscardableAttrs(op->getDiscardableAttrDictionary());
      map(op, copy, form);
      return true;
    }
    SmallVector<Type> types;
    for (Value result : op->getResults()) {
      Type type = result.getType();
      if (auto buffer = dyn_cast<ttg::MemDescType>(type)) {
        if (form != whole)
          type = ttg::MemDescType::get(halved(buffer.getShape(), form), buffer.getElementType(),
                                       buffer.getEncoding(), buffer.getMemorySpace(),
                                       buffer.getMutableMemory());
      } else if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && layout) {
        type =
            RankedTensorType::get(halved(tensor.getShape(), form), tensor.getElementType(), layout);
      } else if (tensor) {
        type = typeOf(result, form);
      }
      if (!type)
        return false;
      types.push_back(type);
    }
    Operation *copy = op->clone();
    copy->setOperands(operands);
    for (auto [result, type] : llvm::zip_equal(copy->getResults(), types))
      result.setType(type);
    builder.insert(copy);
    place(copy, form, op);
    map(op, copy, form);
    return true;
  }

  /// Lets an op that names elements name those of the group.
  void place(Operation *copy, Form form, Operation *op) {
    if (auto constant = dyn_cast<arith::ConstantOp>(copy)) {
      auto splat = cast<SplatElementsAttr>(constant.getValue());
      constant.setValueAttr(splat.resizeSplat(cast<ShapedType>(constant.getType())));
    }
    if (form == whole)
      return;
    if (auto range = dyn_cast<tt::MakeRangeOp>(copy)) {
      int32_t size = shapeOf(range).front();
      int32_t start = range.getStart() + group * size;
      range.setStart(start);
      range.setEnd(start + size);
    }
    if (auto load = dyn_cast<tt::DescriptorLoadOp>(copy))
      moveIndex(load.getIndicesMutable(), form, shapeOf(load)[form]);
  }

  void moveIndex(const MutableOperandRange &indices, Form form, int64_t size) {
    if (group == 0)
      return;
    OpBuilder::InsertionGuard guard(builder);
    Operation *op = indices.getOwner();
    builder.setInsertionPoint(op);
    OpOperand &index = indices[form];
    Value offset = arith::ConstantOp::create(builder, op->getLoc(),
                                             builder.getI32IntegerAttr(int32_t(group * size)));
    index.set(arith::AddIOp::create(builder, op->getLoc(), index.get(), offset));
  }

  bool buildStore(Operation *op) {
    Form form = rowsOf(op);
    // What both groups have all of, one stores.
    if (isByRows && form == whole && group != 0)
      return true;
    SmallVector<Value> operands;
    Attribute layout;
    for (Value operand : op->getOperands()) {
      Value value = lookup(operand, isTensor(operand) ? form : whole);
      if (isTensor(value)) {
        if (!layout)
          layout = cast<RankedTensorType>(value.getType()).getEncoding();
        value = inLayout(op->getLoc(), value, layout);
      }
      operands.push_back(value);
    }
    Operation *copy = op->clone();
    copy->setOperands(operands);
    for (Value result : copy->getResults())
      if (auto type = cast<RankedTensorType>(result.getType()))
        result.setType(
            RankedTensorType::get(halved(type.getShape(), form), type.getElementType(), layout));
    builder.insert(copy);
    map(op, copy, form);
    return true;
  }

  bool buildDescriptorStore(tt::DescriptorStoreLikeOpInterface op) {
    Form form = rowsOf(op);
    if (isByRows && form == whole && group != 0)
      return true;
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(lookup(operand, hasForms(operand) ? form : whole));
    Operation *copy = op->clone();
    copy->setOperands(operands);
    builder.insert(copy);
    if (form == whole)
      return true;
    int64_t size = shapeOf(cast<tt::DescriptorStoreLikeOpInterface>(copy).getSrc())[form];
    if (auto store = dyn_cast<tt::DescriptorStoreOp>(copy))
      moveIndex(store.getIndicesMutable(), form, size);
    else
      moveIndex(cast<tt::DescriptorReduceOp>(copy).getIndicesMutable(), form, size);
    return true;
  }

  bool buildWait(ttng::WarpGroupDotWaitOp wait) {
    SmallVector<std::pair<Value, Form>> outputs;
    SmallVector<Value> inputs;
    for (auto [input, output] : llvm::zip_equal(wait.getInputs(), wait.getOutputs()))
      for (Form form : formsOf(output)) {
        outputs.emplace_back(output, form);
        inputs.push_back(lookup(input, form));
      }
    if (inputs.empty())
      return decline(wait, "nothing uses the sums of products");
    auto copy = ttng::WarpGroupDotWaitOp::create(builder, wait.getLoc(), inputs, wait.getPendings(),
                                                 wait.getWarpGroupLocal());
    for (auto [output, result] : llvm::zip_equal(outputs, copy.getResults()))
      built[output] = result;
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Control flow
  //===--------------------------------------------------------------------===//

  Value constant(Location loc, int32_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value));
  }

  /// Returns how many iterations the loop of products has.
  Value lengthOf(scf::ForOp loop) {
    Location loc = loop.getLoc();
    APInt step;
    matchPattern(loop.getStep(), m_ConstantInt(&step));
    int32_t size = step.getSExtValue();
    Value span = arith::SubIOp::create(builder, loc, lookup(loop.getUpperBound()),
                                       lookup(loop.getLowerBound()));
    Value rounded = arith::AddIOp::create(builder, loc, span, constant(loc, size - 1));
    Value length = arith::DivSIOp::create(builder, loc, rounded, constant(loc, size));
    return arith::MaxSIOp::create(builder, loc, length, constant(loc, 0));
  }

  /// A position behind the slots that the other group uses for a tile.
  RingState skip(Location loc, RingState state) {
    Value sum = arith::AddIOp::create(builder, loc, state.slot, skippedSlots);
    Value size = constant(loc, int32_t(plan.slots));
    Value isOver = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, sum, size);
    Value wrapped = arith::SubIOp::create(builder, loc, sum, size);
    Value slot = arith::SelectOp::create(builder, loc, isOver, wrapped, sum);
    Value turned = arith::XOrIOp::create(builder, loc, state.phase, skippedPhase);
    Value flipped = arith::XOrIOp::create(builder, loc, turned, constant(loc, 1));
    Value phase = arith::SelectOp::create(builder, loc, isOver, flipped, turned);
    return {slot, phase};
  }

  Value turnOf(Location loc, int number) {
    return viewOf(builder, loc, lookup(turns), constant(loc, number), /*isMutable=*/true);
  }

  bool buildLoop(scf::ForOp loop) {
    Location loc = loop.getLoc();
    bool isOuter = !isByRows && loop == outer, isInner = !isByRows && loop == inner;
    Value lower = lookup(loop.getLowerBound()), step = lookup(loop.getStep());
    SmallVector<std::pair<unsigned, Form>> carried;
    SmallVector<Value> inits;
    for (BlockArgument argument : loop.getRegionIterArgs())
      for (Form form : formsOf(argument)) {
        unsigned index = argument.getArgNumber() - loop.getNumInductionVars();
        carried.emplace_back(index, form);
        inits.push_back(lookup(loop.getInitArgs()[index], form));
      }
    if (isOuter)
      startTurns(loc, carried, inits, lower, step);
    if (isInner)
      inits.push_back(constant(loc, 0));
    if (isInner)
      ttng::WaitBarrierOp::create(builder, loc, turnOf(loc, group), turn);
    if (isByRows && loop == inner && group != 0)
      startLater(loop);
    auto made = scf::ForOp::create(builder, loc, lower, lookup(loop.getUpperBound()), step, inits,
                                   /*bodyBuilder=*/nullptr, loop.getUnsignedCmp());
    made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    built[{loop.getInductionVar(), whole}] = made.getInductionVar();
    for (auto [source, argument] : llvm::zip(carried, made.getRegionIterArgs()))
      built[{loop.getRegionIterArg(source.first), source.second}] = argument;
    Operation *behind = made->getNextNode();
    builder.setInsertionPointToStart(made.getBody());
    if (isOuter)
      turn = made.getRegionIterArgs().back();
    if (isInner)
      count = made.getRegionIterArgs().back();
    if (!buildBlock(*loop.getBody()))
      return false;
    SmallVector<Value> yields;
    for (auto [source, argument] : llvm::zip(carried, made.getRegionIterArgs()))
      yields.push_back(
          yielded(loc, loop.getYieldedValues()[source.first], source.second, argument.getType()));
    if (isOuter)
      endTurns(loc, carried, yields);
    if (isInner)
      yields.push_back(arith::AddIOp::create(builder, loc, count, constant(loc, 1)));
    if (!yields.empty())
      scf::YieldOp::create(builder, loop.getBody()->getTerminator()->getLoc(), yields);
    if (behind)
      builder.setInsertionPoint(behind);
    else
      builder.setInsertionPointToEnd(made->getBlock());
    for (auto [source, result] : llvm::zip(carried, made.getResults()))
      built[{loop.getResult(source.first), source.second}] = result;
    if (isInner) {
      // A tile without products hands over too.
      Value isNone =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, steps, constant(loc, 0));
      ttng::ArriveBarrierOp::create(builder, loc, turnOf(loc, 1 - group), 1, isNone);
    }
    return true;
  }

  Value yielded(Location loc, Value value, Form form, Type type) {
    Value inside = lookup(value, form);
    auto tensor = dyn_cast_or_null<RankedTensorType>(type);
    return tensor ? inLayout(loc, inside, tensor.getEncoding()) : inside;
  }

  bool buildConditional(scf::IfOp conditional) {
    SmallVector<std::pair<unsigned, Form>> wanted;
    for (OpResult result : conditional.getResults())
      for (Form form : formsOf(result))
        wanted.emplace_back(result.getResultNumber(), form);
    Location loc = conditional.getLoc();
    Value condition = lookup(conditional.getCondition());
    SmallVector<Type> types;
    SmallVector<std::unique_ptr<Block>> blocks;
    Block *here = builder.getInsertionBlock();
    Block::iterator place = builder.getInsertionPoint();
    for (Region &region : conditional->getRegions()) {
      blocks.push_back(std::make_unique<Block>());
      if (region.empty())
        continue;
      builder.setInsertionPointToStart(blocks.back().get());
      if (!buildBlock(region.front()))
        return false;
      SmallVector<Value> yields;
      for (auto [number, wantedForm] : llvm::enumerate(wanted)) {
        Value value = region.front().getTerminator()->getOperand(wantedForm.first);
        Type type = number < types.size() ? types[number] : Type();
        Value inside = yielded(loc, value, wantedForm.second, type);
        if (!type)
          types.push_back(inside.getType());
        yields.push_back(inside);
      }
      scf::YieldOp::create(builder, loc, yields);
    }
    builder.setInsertionPoint(here, place);
    auto made = scf::IfOp::create(builder, loc, types, condition, /*addThenBlock=*/false,
                                  /*addElseBlock=*/false);
    made->setDiscardableAttrs(conditional->getDiscardableAttrDictionary());
    made.getThenRegion().push_back(blocks[0].release());
    if (!conditional.getElseRegion().empty())
      made.getElseRegion().push_back(blocks[1].release());
    for (auto [source, result] : llvm::zip_equal(wanted, made.getResults()))
      built[{conditional.getResult(source.first), source.second}] = result;
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Order of the groups
  //===--------------------------------------------------------------------===//

  /// Lets a group begin with its own iteration of the loop over tiles, and take every other one.
  void startTurns(Location loc, ArrayRef<std::pair<unsigned, Form>> carried,
                  SmallVectorImpl<Value> &inits, Value &lower, Value &step) {
    steps = lengthOf(inner);
    lastStep = arith::SubIOp::create(builder, loc, steps, constant(loc, 1));
    Value size = constant(loc, int32_t(plan.slots));
    skippedSlots = arith::RemSIOp::create(builder, loc, steps, size);
    Value rounds = arith::DivSIOp::create(builder, loc, steps, size);
    skippedPhase = arith::AndIOp::create(builder, loc, rounds, constant(loc, 1));
    if (group != 0) {
      lower = arith::AddIOp::create(builder, loc, lower, step);
      advance(loc, carried, inits);
    }
    step = arith::AddIOp::create(builder, loc, step, step);
    // The phase before the first one is complete.
    inits.push_back(constant(loc, group == 0 ? 1 : 0));
  }

  /// Passes over the tile of the other group.
  void advance(Location loc, ArrayRef<std::pair<unsigned, Form>> carried,
               SmallVectorImpl<Value> &values) {
    unsigned number = outer.getNumRegionIterArgs() - positions;
    for (auto [source, value] : llvm::zip(carried, values))
      if (source.first < number)
        if (Value added = advanceOf(source.first))
          value = arith::AddIOp::create(builder, loc, value, lookup(added));
    Value &slot = values[carried.size() - 2], &phase = values[carried.size() - 1];
    RingState behind = skip(loc, {slot, phase});
    slot = behind.slot;
    phase = behind.phase;
  }

  void endTurns(Location loc, ArrayRef<std::pair<unsigned, Form>> carried,
                SmallVectorImpl<Value> &yields) {
    advance(loc, carried, yields);
    yields.push_back(arith::XOrIOp::create(builder, loc, turn, constant(loc, 1)));
  }

  /// Hands over to the other group when the last slot is there, and not behind its product: the
  /// other one's first product then follows without a gap.
  void handOver(Location loc) {
    Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, count, lastStep);
    // A branch, because stock lets warps meet in front of an arrival, whether it happens or not.
    auto last = scf::IfOp::create(builder, loc, isLast, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(last.thenBlock());
    ttng::ArriveBarrierOp::create(builder, loc, turnOf(loc, 1 - group), 1);
  }

  /// Lets the second group of a tile start some slots behind the first, so that one multiplies
  /// while the other one stores. The first slots of a kernel are in their first phase.
  void startLater(scf::ForOp loop) {
    bool isAtTop = outer || loop->getParentOp() == tasks;
    int32_t lead = std::min<int32_t>(mostLead, int32_t(plan.slots) - 2);
    auto wait = llvm::find_if(*loop.getBody(), llvm::IsaPred<ttng::WaitBarrierOp>);
    if (!isAtTop || !isStepKnown() || lead < 1 || wait == loop.getBody()->end())
      return;
    Location loc = loop.getLoc();
    Value isWanted = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, lengthOf(loop),
                                           constant(loc, lead));
    if (outer) {
      Value isFirst =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                lookup(outer.getInductionVar()), lookup(outer.getLowerBound()));
      isWanted = arith::AndIOp::create(builder, loc, isFirst, isWanted);
    }
    Value full = lookup(throughViews(cast<ttng::WaitBarrierOp>(*wait).getAlloc()));
    Value later = viewOf(builder, loc, full, constant(loc, lead), /*isMutable=*/true);
    ttng::WaitBarrierOp::create(builder, loc, later, constant(loc, 0), isWanted);
  }

  /// What a loop carries of the ring, as its last values.
  static constexpr unsigned positions = 2;
  static constexpr int32_t mostLead = 2;

  const Plan &plan;
  ttg::WarpSpecializeOp tasks;
  tt::FuncOp kernel;
  bool isByRows, isWide;
  /// The body of the task that multiplies, before.
  Block *old;
  scf::ForOp inner, outer;
  std::optional<Obstacle> obstacle;

  llvm::MapVector<Value, Form> rows;
  bool isChanged = false;
  llvm::MapVector<Value, llvm::SmallSetVector<Form, 2>> demands;
  SmallVector<std::pair<Value, Form>> work;

  OpBuilder builder{tasks.getContext()};
  ttg::WarpSpecializePartitionsOp partitions;
  int group = 0;
  Block *body = nullptr;
  DenseMap<std::pair<Value, Form>, Value> built, halves;
  Value turns, turn, count, steps, lastStep, skippedSlots, skippedPhase;
};

} // namespace

std::optional<Obstacle> splitConsumers(const Plan &plan, ttg::WarpSpecializeOp tasks) {
  return Splitter(plan, tasks).run();
}

} // namespace tritonext::warpspec
