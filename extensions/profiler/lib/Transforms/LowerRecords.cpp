#include "tritonext_profiler/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

#define DEBUG_TYPE "profiler-lower-records"

using namespace mlir;

namespace tritonext::profiler {

#define GEN_PASS_DEF_LOWERRECORDSPASS
#include "tritonext_profiler/Transforms/Passes.h.inc"

namespace {

// The layout of the memory; `docs/records.md` explains it.
constexpr uint64_t magic = 0x31464f5250545854;
constexpr int version = 1;
constexpr int64_t alignment = 128, headBytes = 96, recordBytes = 8;
constexpr int64_t slotSegments = 8, slotCount = 16, slotFirst = 20, slotEvery = 24, slotCursor = 64;
constexpr int64_t headKernel = 8, headBlock = 16, headWarp = 28, headStart = 32, headEnd = 48,
                  headAttempted = 64, headDone = 72;

constexpr llvm::StringLiteral categories[] = {
    "copy_issue",  "copy_wait",    "mma_issue",         "mma_wait", "global_load",   "global_store",
    "shared_load", "shared_store", "layout_conversion", "barrier",  "mbarrier_wait", "reduction",
    "atomic",      "elementwise",  "epilogue",          "idle",     "scope",         "other",
};

/// Builds what both targets have, each in its own way.
class Target : public OpBuilder {
public:
  Target(Operation *op, Location loc, bool isAmd) : OpBuilder(op), loc(loc), isAmd(isAmd) {}

  Location loc;
  bool isAmd;

  Type pointer() { return LLVM::LLVMPointerType::get(getContext(), 1); }
  Value number(int64_t value, unsigned bits = 32) {
    return LLVM::ConstantOp::create(*this, loc, getIntegerType(bits), value);
  }
  Value intrinsic(StringRef name, Type type, ValueRange operands = {}) {
    return LLVM::CallIntrinsicOp::create(*this, loc, type, getStringAttr(name), operands)
        .getResult(0);
  }
  Value add(Value a, Value b) { return LLVM::AddOp::create(*this, loc, a, b); }
  Value sub(Value a, Value b) { return LLVM::SubOp::create(*this, loc, a, b); }
  Value mul(Value a, Value b) { return LLVM::MulOp::create(*this, loc, a, b); }
  Value both(Value a, Value b) { return LLVM::AndOp::create(*this, loc, a, b); }
  Value either(Value a, Value b) { return LLVM::OrOp::create(*this, loc, a, b); }
  Value compare(LLVM::ICmpPredicate predicate, Value a, Value b) {
    return LLVM::ICmpOp::create(*this, loc, predicate, a, b);
  }
  Value wide(Value value) { return LLVM::ZExtOp::create(*this, loc, getI64Type(), value); }
  Value low(Value value) { return LLVM::TruncOp::create(*this, loc, getI32Type(), value); }
  Value high(Value value) { return low(LLVM::LShrOp::create(*this, loc, value, number(32, 64))); }
  /// Returns the 64 bits that two halves make.
  Value join(Value lowHalf, Value highHalf) {
    return either(wide(lowHalf), LLVM::ShlOp::create(*this, loc, wide(highHalf), number(32, 64)));
  }
  Value at(Value base, int64_t offset) {
    return LLVM::GEPOp::create(*this, loc, pointer(), getI8Type(), base,
                               ArrayRef<LLVM::GEPArg>{int32_t(offset)});
  }
  Value load(Type type, Value base, int64_t offset) {
    return LLVM::LoadOp::create(*this, loc, type, at(base, offset));
  }
  void store(Value value, Value base, int64_t offset) {
    LLVM::StoreOp::create(*this, loc, value, at(base, offset));
  }

  Value clock() {
    return isAmd ? intrinsic("llvm.amdgcn.s.memtime", getI64Type())
                 : intrinsic("llvm.nvvm.read.ptx.sreg.clock64", getI64Type());
  }
  Value timer() {
    return isAmd ? intrinsic("llvm.amdgcn.s.memrealtime", getI64Type())
                 : intrinsic("llvm.nvvm.read.ptx.sreg.globaltimer", getI64Type());
  }
  Value thread() {
    return isAmd ? intrinsic("llvm.amdgcn.workitem.id.x", getI32Type())
                 : intrinsic("llvm.nvvm.read.ptx.sreg.tid.x", getI32Type());
  }
  Value block(StringRef axis) {
    return intrinsic(
        ((isAmd ? "llvm.amdgcn.workgroup.id." : "llvm.nvvm.read.ptx.sreg.ctaid.") + axis).str(),
        getI32Type());
  }
  /// Returns how many blocks the grid has along an axis, 0 or 1.
  Value blocks(int axis) {
    if (!isAmd)
      return intrinsic(axis ? "llvm.nvvm.read.ptx.sreg.nctaid.y"
                            : "llvm.nvvm.read.ptx.sreg.nctaid.x",
                       getI32Type());
    // Since code object 5 the hidden arguments begin with them.
    Type constant = LLVM::LLVMPointerType::get(getContext(), 4);
    Value hidden = intrinsic("llvm.amdgcn.implicitarg.ptr", constant);
    Value place = LLVM::GEPOp::create(*this, loc, constant, getI32Type(), hidden,
                                      ArrayRef<LLVM::GEPArg>{int32_t(axis)});
    return LLVM::LoadOp::create(*this, loc, getI32Type(), place);
  }
  /// Returns the number of the multiprocessor; of AMD's, XCC, shader engine and compute unit.
  Value multiprocessor() {
    if (!isAmd)
      return intrinsic("llvm.nvvm.read.ptx.sreg.smid", getI32Type());
    auto get = [&](int registerId, int offset, int size) {
      return intrinsic("llvm.amdgcn.s.getreg", getI32Type(),
                       number(registerId | offset << 6 | (size - 1) << 11));
    };
    // HW_ID and XCC_ID of the MI300 ISA.
    Value unit = get(4, 8, 8), die = get(20, 0, 4);
    return either(unit, LLVM::ShlOp::create(*this, loc, die, number(8)));
  }

  /// Builds a record at an offset from the address that two halves make.
  void record(Value writes, Value lowHalf, Value highHalf, int64_t offset, int64_t region) {
    if (isAmd) {
      Value now = low(clock());
      Block *before = getInsertionBlock();
      Block *after = before->splitBlock(getInsertionPoint());
      Block *write = createBlock(after);
      setInsertionPointToEnd(before);
      LLVM::CondBrOp::create(*this, loc, writes, write, after);
      setInsertionPointToEnd(write);
      Value place = LLVM::IntToPtrOp::create(*this, loc, pointer(), join(lowHalf, highHalf));
      store(now, place, offset);
      store(number(region), place, offset + 4);
      LLVM::BrOp::create(*this, loc, after);
      setInsertionPointToStart(after);
      return;
    }
    // The halves stay in the registers that the address is; LLVM would compute it anew.
    std::string text = "{ .reg .u32 now; .reg .u64 place; mov.b64 place, {$1, $2}; mov.u32 now, "
                       "%clock; @$0 st.global.v2.u32 [place + " +
                       llvm::utostr(offset) + "], {now, " + llvm::utostr(region) + "}; }";
    LLVM::InlineAsmOp::create(*this, loc, TypeRange(), ValueRange{writes, lowHalf, highHalf}, text,
                              "b,r,r", /*has_side_effects=*/true,
                              /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                              LLVM::AsmDialectAttr::get(getContext(), LLVM::AsmDialect::AD_ATT),
                              ArrayAttr());
  }
};

/// What a warp keeps from its beginning on.
struct State {
  /// Low half of the address of the next record, and whether the thread writes it; in memory of
  /// the thread that LLVM turns into registers.
  Value next, writes;
  /// High half of addresses, and the last low half at which records begin, 0 where none do.
  Value high, limit;
  /// In mode `header`: low halves of clock and timer, and the number of the segment.
  Value clock, time, sequence;
};

class Lowering {
public:
  Lowering(ModuleOp module, LLVM::LLVMFuncOp kernel)
      : module(module), kernel(kernel), isHeader(modeOf() == "header"),
        isAmd(targetOf().starts_with("hip")) {}

  void run() {
    kernel.walk([&](RecordOp op) { batches[op->getBlock()].push_back(op); });
    int64_t largest = 0;
    for (auto &[block, records] : batches)
      largest = std::max<int64_t>(largest, records.size());
    int64_t wanted = module->getAttrOfType<IntegerAttr>(capacityName).getInt() + largest;
    segmentBytes = llvm::alignTo(headBytes + wanted * recordBytes, alignment);
    capacity = (segmentBytes - headBytes) / recordBytes;
    batchLimit = capacity - largest;
    describe();

    SmallVector<LLVM::ReturnOp> exits;
    kernel.walk([&](LLVM::ReturnOp op) { exits.push_back(op); });
    begin();
    for (auto &[block, records] : batches)
      lower(records);
    for (LLVM::ReturnOp exit : exits)
      end(exit);
    Builder builder(module);
    module->setAttr("ttg.profile_scratch_memory_size",
                    builder.getI32IntegerAttr(std::max(alignment, warps() * segmentBytes)));
    module->setAttr("ttg.profile_scratch_memory_alignment", builder.getI32IntegerAttr(alignment));
  }

private:
  StringRef modeOf() { return module->getAttrOfType<StringAttr>(modeName).getValue(); }
  StringRef targetOf() { return module->getAttrOfType<StringAttr>("ttg.target").getValue(); }
  int64_t numberOf(StringRef name, int64_t otherwise) {
    auto attribute = module->getAttrOfType<IntegerAttr>(name);
    return attribute ? attribute.getInt() : otherwise;
  }
  int64_t warps() { return numberOf("ttg.total-num-warps", numberOf("ttg.num-warps", 4)); }
  int64_t threads() { return numberOf("ttg.threads-per-warp", 32); }

  static llvm::json::Value jsonOf(Attribute attribute) {
    if (auto number = dyn_cast<IntegerAttr>(attribute))
      return number.getInt();
    if (auto list = dyn_cast<ArrayAttr>(attribute)) {
      llvm::json::Array values;
      for (Attribute value : list)
        values.push_back(jsonOf(value));
      return values;
    }
    if (auto dictionary = dyn_cast<DictionaryAttr>(attribute)) {
      llvm::json::Object values;
      for (NamedAttribute value : dictionary)
        values[value.getName().str()] = jsonOf(value.getValue());
      return values;
    }
    return llvm::json::fixUTF8(cast<StringAttr>(attribute).getValue());
  }

  void describe() {
    llvm::json::Value regions = jsonOf(module->getAttr(regionsName));
    for (llvm::json::Value &region : *regions.getAsArray())
      (*region.getAsObject())["batch"] = llvm::json::Array{0, 0};
    for (auto &[block, records] : batches)
      for (auto [index, record] : llvm::enumerate(records))
        (*(*regions.getAsArray())[record.getRegion()].getAsObject())["batch"] =
            llvm::json::Array{int64_t(index), int64_t(records.size())};
    llvm::json::Array known;
    for (StringRef category : categories)
      known.push_back(category);
    llvm::json::Object table{
        {"version", version},
        {"kernel", kernel.getName()},
        {"mode", modeOf()},
        {"target", targetOf()},
        {"num_warps", warps()},
        {"num_ctas", numberOf("ttg.num-ctas", 1)},
        {"segment_bytes", segmentBytes},
        {"capacity", capacity},
        {"batch_limit", batchLimit},
        {"timer_hz", isAmd ? 100000000 : 1000000000},
        {"roles", jsonOf(module->getAttr(rolesName))},
        {"categories", std::move(known)},
        {"regions", std::move(regions)},
        {"loops", jsonOf(module->getAttr(loopsName))},
    };
    std::string text;
    llvm::raw_string_ostream(text) << llvm::json::Value(llvm::json::Object(table));
    // FNV-1a: the same in each process.
    kernelId = 0xcbf29ce484222325;
    for (unsigned char byte : text)
      kernelId = (kernelId ^ byte) * 0x100000001b3;
    std::string identifier;
    llvm::raw_string_ostream(identifier) << llvm::format_hex_no_prefix(kernelId, 16);
    table["kernel_id"] = identifier;
    text.clear();
    llvm::raw_string_ostream(text) << llvm::json::Value(std::move(table));
    module->setAttr(tableName, StringAttr::get(module.getContext(), text));
  }

  Value isFirstThread(Target &target, Value thread) {
    return target.compare(LLVM::ICmpPredicate::eq,
                          target.both(thread, target.number(threads() - 1)), target.number(0));
  }

  /// Returns a place in the memory of the thread.
  Value place(Target &target, Type type) {
    auto pointer = LLVM::LLVMPointerType::get(target.getContext(), isAmd ? 5 : 0);
    return LLVM::AllocaOp::create(target, target.loc, pointer, type, target.number(1));
  }

  Value slot() { return kernel.getArguments().back(); }

  /// Returns whether the block is one of those that record.
  Value isChosen(Target &target, ArrayRef<Value> block) {
    Type i32 = target.getI32Type();
    Value row = target.add(block[1], target.mul(target.blocks(1), block[2]));
    Value linear = target.add(block[0], target.mul(target.blocks(0), row));
    Value first =
        target.compare(LLVM::ICmpPredicate::ult, linear, target.load(i32, slot(), slotFirst));
    Value every = target.load(i32, slot(), slotEvery);
    Value none = target.compare(LLVM::ICmpPredicate::eq, every, target.number(0));
    // No division by zero, and with it no number that is a multiple.
    Value divisor = LLVM::SelectOp::create(target, target.loc, none, target.number(-1), every);
    Value rest = LLVM::URemOp::create(target, target.loc, linear, divisor);
    Value multiple = target.compare(LLVM::ICmpPredicate::eq, rest, target.number(0));
    Value some = target.compare(LLVM::ICmpPredicate::ne, every, target.number(0));
    return target.either(first, target.both(multiple, some));
  }

  Value next(Target &target) {
    return LLVM::AtomicRMWOp::create(target, target.loc, LLVM::AtomicBinOp::add,
                                     target.at(slot(), slotCursor), target.number(1),
                                     LLVM::AtomicOrdering::monotonic, isAmd ? "agent" : "device");
  }

  Value segmentAt(Target &target, Value sequence) {
    Value count = target.load(target.getI32Type(), slot(), slotCount);
    Value index = LLVM::URemOp::create(target, target.loc, sequence, count);
    Value base = target.load(target.getI64Type(), slot(), slotSegments);
    return target.add(base, target.mul(target.wide(index), target.number(segmentBytes, 64)));
  }

  void writeHead(Target &target, Value segment, Value sequence, ArrayRef<Value> block, Value thread,
                 Value clock, Value time) {
    Value place = LLVM::IntToPtrOp::create(target, target.loc, target.pointer(), segment);
    target.store(target.add(target.wide(sequence), target.number(1, 64)), place, 0);
    target.store(target.number(kernelId, 64), place, headKernel);
    for (auto [axis, value] : llvm::enumerate(block))
      target.store(value, place, headBlock + 4 * axis);
    Value warp =
        LLVM::LShrOp::create(target, target.loc, thread, target.number(llvm::Log2_64(threads())));
    Value unit =
        LLVM::ShlOp::create(target, target.loc, target.multiprocessor(), target.number(16));
    target.store(target.either(warp, unit), place, headWarp);
    target.store(clock, place, headStart);
    target.store(time, place, headStart + 8);
  }

  void writeEnd(Target &target, Value segment, Value clock, Value time, Value attempted,
                Value sequence) {
    Value place = LLVM::IntToPtrOp::create(target, target.loc, target.pointer(), segment);
    target.store(clock, place, headEnd);
    target.store(time, place, headEnd + 8);
    target.store(target.wide(attempted), place, headAttempted);
    target.store(sequence, place, headDone);
  }

  Value isReady(Target &target) {
    Value found = target.load(target.getI64Type(), slot(), 0);
    return target.compare(LLVM::ICmpPredicate::eq, found, target.number(magic, 64));
  }

  static SmallVector<Value> blockOf(Target &target) {
    return {target.block("x"), target.block("y"), target.block("z")};
  }

  /// Splits the block and returns the part that runs where `condition` is true; `types` are those
  /// of what it passes on to the rest, whose value is `otherwise` elsewhere.
  std::pair<Block *, Block *> branch(Target &target, Value condition, ValueRange otherwise) {
    Block *before = target.getInsertionBlock();
    Block *rest = before->splitBlock(target.getInsertionPoint());
    for (Value value : otherwise)
      rest->addArgument(value.getType(), target.loc);
    Block *inside = target.createBlock(rest);
    target.setInsertionPointToEnd(before);
    LLVM::CondBrOp::create(target, target.loc, condition, inside, ValueRange(), rest, otherwise);
    target.setInsertionPointToStart(inside);
    return {inside, rest};
  }

  void begin() {
    Block &entry = kernel.getBody().front();
    Target target(&entry.front(), kernel.getLoc(), isAmd);
    Value clock = target.clock(), time = target.timer(), thread = target.thread();
    Value first = isFirstThread(target, thread), zero = target.number(0);
    if (isHeader) {
      state.clock = target.low(clock);
      state.time = target.low(time);
      // Without a look at the slot, whose answer would be waited for; the counter's is not before
      // the end.
      auto [inside, rest] = branch(target, first, {zero});
      LLVM::BrOp::create(target, target.loc, ValueRange{next(target)}, rest);
      state.sequence = rest->getArgument(0);
      return;
    }
    state.next = place(target, target.getI32Type());
    state.writes = place(target, target.getI1Type());
    SmallVector<Value> block = blockOf(target);
    Value records = target.both(first, target.both(isReady(target), isChosen(target, block)));
    auto [inside, rest] = branch(target, records, {zero, zero, zero});
    Value sequence = next(target);
    Value segment = segmentAt(target, sequence);
    writeHead(target, segment, sequence, block, thread, clock, time);
    Value last = target.add(segment, target.number(segmentBytes - 1, 64));
    Value high = target.high(segment);
    // Only low halves of addresses are counted.
    Value fits = target.compare(LLVM::ICmpPredicate::eq, high, target.high(last));
    Value low = target.add(target.low(segment), target.number(headBytes));
    Value limit = target.add(low, target.number(batchLimit * recordBytes));
    limit = LLVM::SelectOp::create(target, target.loc, fits, limit, zero);
    LLVM::BrOp::create(target, target.loc, ValueRange{low, high, limit}, rest);
    target.setInsertionPointToStart(rest);
    state.high = rest->getArgument(1);
    state.limit = rest->getArgument(2);
    LLVM::StoreOp::create(target, target.loc, rest->getArgument(0), state.next);
    Value writes = target.compare(LLVM::ICmpPredicate::ne, state.limit, zero);
    LLVM::StoreOp::create(target, target.loc, writes, state.writes);
  }

  /// Lowers the records of a block, which are written all or none.
  void lower(MutableArrayRef<RecordOp> records) {
    Target target(records.front(), records.front().getLoc(), isAmd);
    Value low = LLVM::LoadOp::create(target, target.loc, target.getI32Type(), state.next);
    // Once there is no room there never is, however far the address goes on.
    Value writes = LLVM::LoadOp::create(target, target.loc, target.getI1Type(), state.writes);
    writes = target.both(writes, target.compare(LLVM::ICmpPredicate::ule, low, state.limit));
    LLVM::StoreOp::create(target, target.loc, writes, state.writes);
    for (auto [index, record] : llvm::enumerate(records)) {
      Target here(record, record.getLoc(), isAmd);
      here.record(writes, low, state.high, index * recordBytes, record.getRegion());
      if (index + 1 == records.size()) {
        // Behind the last use of the address, whose register can be stepped then.
        Value after = here.add(low, here.number(records.size() * recordBytes));
        LLVM::StoreOp::create(here, here.loc, after, state.next);
      }
      record->erase();
    }
  }

  void end(LLVM::ReturnOp exit) {
    Target target(exit, exit.getLoc(), isAmd);
    if (isHeader) {
      Value thread = target.thread();
      Value records = target.both(isFirstThread(target, thread), isReady(target));
      auto [inside, rest] = branch(target, records, {});
      Value segment = segmentAt(target, state.sequence);
      Value clock = target.clock(), time = target.timer();
      auto start = [&](Value end, Value begin) {
        return target.sub(end, target.wide(target.sub(target.low(end), begin)));
      };
      SmallVector<Value> block = blockOf(target);
      writeHead(target, segment, state.sequence, block, thread, start(clock, state.clock),
                start(time, state.time));
      Value done = target.add(target.wide(state.sequence), target.number(1, 64));
      writeEnd(target, segment, clock, time, target.number(0), done);
      LLVM::BrOp::create(target, target.loc, rest);
      return;
    }
    Value records = target.compare(LLVM::ICmpPredicate::ne, state.limit, target.number(0));
    auto [inside, rest] = branch(target, records, {});
    Value clock = target.clock(), time = target.timer();
    Value first = target.sub(state.limit, target.number(batchLimit * recordBytes));
    Value segment = target.join(target.sub(first, target.number(headBytes)), state.high);
    Value low = LLVM::LoadOp::create(target, target.loc, target.getI32Type(), state.next);
    Value attempted = LLVM::LShrOp::create(target, target.loc, target.sub(low, first),
                                           target.number(llvm::Log2_64(recordBytes)));
    Value place = LLVM::IntToPtrOp::create(target, target.loc, target.pointer(), segment);
    Value sequence = target.load(target.getI64Type(), place, 0);
    writeEnd(target, segment, clock, time, attempted, sequence);
    LLVM::BrOp::create(target, target.loc, rest);
  }

  ModuleOp module;
  LLVM::LLVMFuncOp kernel;
  bool isHeader;
  bool isAmd;
  llvm::MapVector<Block *, SmallVector<RecordOp>> batches;
  int64_t segmentBytes = 0, capacity = 0, batchLimit = 0;
  uint64_t kernelId = 0;
  State state;
};

class LowerRecordsPass : public impl::LowerRecordsPassBase<LowerRecordsPass> {
public:
  using impl::LowerRecordsPassBase<LowerRecordsPass>::LowerRecordsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module->hasAttr(regionsName) || module->hasAttr(tableName))
      return;
    LLVM::LLVMFuncOp kernel;
    for (auto function : module.getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal() && function.isPublic())
        kernel = function;
    auto slot = kernel && kernel.getNumArguments()
                    ? dyn_cast<LLVM::LLVMPointerType>(kernel.getArguments().back().getType())
                    : LLVM::LLVMPointerType();
    if (!slot || slot.getAddressSpace() != 1) {
      module.emitError("expected a kernel whose last argument is its profile scratch");
      return signalPassFailure();
    }
    Lowering(module, kernel).run();
  }
};

} // namespace
} // namespace tritonext::profiler
