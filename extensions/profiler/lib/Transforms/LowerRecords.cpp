#include "tritonext_profiler/Transforms/Categories.h"
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
constexpr int64_t slotSegments = 8, slotCount = 16, slotFirst = 20, slotMask = 24, slotBlocks = 28,
                  slotBase = 32, slotShift = 36, slotStep = 40, slotEnded = 128;
constexpr int64_t headKernel = 8, headBlock = 16, headWarp = 28, headStart = 32, headEnd = 48,
                  headAttempted = 64, headDone = 72;

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
    return LLVM::LoadOp::create(*this, loc, type, at(base, offset),
                                type.getIntOrFloatBitWidth() / 8);
  }
  void store(Value value, Value base, int64_t offset) {
    LLVM::StoreOp::create(*this, loc, value, at(base, offset),
                          value.getType().getIntOrFloatBitWidth() / 8);
  }

  void assembly(StringRef text, StringRef constraints, ValueRange operands) {
    LLVM::InlineAsmOp::create(
        *this, loc, TypeRange(), operands, text, constraints,
        /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
        LLVM::AsmDialectAttr::get(getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
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

  /// Returns the low half of the clock, read in place.
  Value now() {
    if (isAmd)
      return low(clock());
    auto read = LLVM::InlineAsmOp::create(
        *this, loc, getI32Type(), ValueRange(), "mov.u32 $0, %clock;", "=r",
        /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
        LLVM::AsmDialectAttr::get(getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
    return read.getResult(0);
  }

  /// Builds the store of a record.
  void record(Value writes, Value address, int64_t offset, Value now, int64_t region) {
    if (isAmd) {
      Block *before = getInsertionBlock();
      Block *after = before->splitBlock(getInsertionPoint());
      Block *write = createBlock(after);
      setInsertionPointToEnd(before);
      LLVM::CondBrOp::create(*this, loc, writes, write, after);
      setInsertionPointToEnd(write);
      Value place = LLVM::IntToPtrOp::create(*this, loc, pointer(), address);
      store(now, place, offset);
      store(number(region), place, offset + 4);
      LLVM::BrOp::create(*this, loc, after);
      setInsertionPointToStart(after);
      return;
    }
    std::string text = "@$0 st.global.v2.u32 [$1 + " + llvm::utostr(offset) + "], {$2, " +
                       llvm::utostr(region) + "};";
    assembly(text, "b,l,r", {writes, address, now});
  }
};

/// What a warp keeps from its beginning on.
struct State {
  /// Address of the next record, and whether the thread writes it; in memory of the thread that
  /// LLVM turns into registers.
  Value next, writes;
  /// The last low half of an address at which records begin, 0 where none do.
  Value limit;
  /// In mode `header`: low halves of clock and timer.
  Value clock, time;
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
                    builder.getI32IntegerAttr(segments() * segmentBytes));
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
  /// Segments of a block; where only begin and end count, those of one warp tell them.
  int64_t segments() { return isHeader ? 1 : warps(); }
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
    for (StringRef category : categoryNames())
      known.push_back(category);
    llvm::json::Object table{
        {"version", version},
        {"kernel", kernel.getName()},
        {"mode", modeOf()},
        {"target", targetOf()},
        {"num_warps", warps()},
        {"num_ctas", numberOf("ttg.num-ctas", 1)},
        {"segments", segments()},
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
    llvm::raw_string_ostream(text)
        << numberOf(digestName, 0) << llvm::json::Value(llvm::json::Object(table));
    kernelId = digestOf(text);
    std::string identifier;
    llvm::raw_string_ostream(identifier) << llvm::format_hex_no_prefix(kernelId, 16);
    table["kernel_id"] = identifier;
    text.clear();
    llvm::raw_string_ostream(text) << llvm::json::Value(std::move(table));
    module->setAttr(tableName, StringAttr::get(module.getContext(), text));
  }

  /// Whether the thread is the one that writes the segment of its warp, if that has one.
  Value isWriter(Target &target, Value thread) {
    if (!isHeader)
      thread = target.both(thread, target.number(threads() - 1));
    return target.compare(LLVM::ICmpPredicate::eq, thread, target.number(0));
  }

  /// Returns a place in the memory of the thread.
  Value place(Target &target, Type type) {
    auto pointer = LLVM::LLVMPointerType::get(target.getContext(), isAmd ? 5 : 0);
    return LLVM::AllocaOp::create(target, target.loc, pointer, type, target.number(1));
  }

  Value slot() { return kernel.getArguments().back(); }

  Value warpOf(Target &target, Value thread) {
    return LLVM::LShrOp::create(target, target.loc, thread,
                                target.number(llvm::Log2_64(threads())));
  }

  /// Returns the address of the counter of blocks whose warp of this number has ended.
  Value endedOf(Target &target, Value thread) {
    Value offset = target.wide(target.mul(warpOf(target, thread), target.number(alignment)));
    return LLVM::GEPOp::create(target, target.loc, target.pointer(), target.getI8Type(),
                               target.at(slot(), slotEnded), ArrayRef<LLVM::GEPArg>{offset});
  }

  Value blockNumber(Target &target, ArrayRef<Value> block) {
    Value row = target.add(block[1], target.mul(target.blocks(1), block[2]));
    return target.add(block[0], target.mul(target.blocks(0), row));
  }

  /// Returns whether the thread is the one of a warp that records.
  Value records(Target &target, Value thread, Value number) {
    Type i32 = target.getI32Type();
    Value ready =
        target.compare(LLVM::ICmpPredicate::eq, target.load(target.getI64Type(), slot(), 0),
                       target.number(magic, 64));
    Value early =
        target.compare(LLVM::ICmpPredicate::ult, number, target.load(i32, slot(), slotFirst));
    Value rest = target.both(number, target.load(i32, slot(), slotMask));
    Value multiple = target.compare(LLVM::ICmpPredicate::eq, rest, target.number(0));
    return target.both(isWriter(target, thread),
                       target.both(ready, target.either(early, multiple)));
  }

  /// Returns the number of the block among those that record.
  Value rankOf(Target &target, Value number) {
    Type i32 = target.getI32Type();
    Value early =
        target.compare(LLVM::ICmpPredicate::ult, number, target.load(i32, slot(), slotFirst));
    Value step =
        LLVM::LShrOp::create(target, target.loc, number, target.load(i32, slot(), slotStep));
    Value later = target.add(step, target.load(i32, slot(), slotBase));
    return LLVM::SelectOp::create(target, target.loc, early, number, later);
  }

  /// Returns the number of the warp's segment; nothing waits for other warps.
  Value sequenceOf(Target &target, Value thread, Value number) {
    Type i32 = target.getI32Type();
    // Blocks that ended count, and this one has not: so all of one launch see the same quotient.
    Value ended = target.load(target.getI64Type(), endedOf(target, thread), 0);
    Value shift = target.wide(target.load(i32, slot(), slotShift));
    Value launch = LLVM::LShrOp::create(target, target.loc, ended, shift);
    Value inLaunch = target.mul(rankOf(target, number), target.number(segments()));
    if (!isHeader)
      inLaunch = target.add(inLaunch, warpOf(target, thread));
    Value perLaunch = target.mul(target.load(i32, slot(), slotBlocks), target.number(segments()));
    return target.add(target.mul(launch, target.wide(perLaunch)), target.wide(inLaunch));
  }

  Value segmentAt(Target &target, Value sequence) {
    // A power of two.
    Value count = target.load(target.getI32Type(), slot(), slotCount);
    Value index = target.both(target.low(sequence), target.sub(count, target.number(1)));
    Value base = target.load(target.getI64Type(), slot(), slotSegments);
    return target.add(base, target.mul(target.wide(index), target.number(segmentBytes, 64)));
  }

  /// Counts the block as ended. The first of a launch counts for those that are missing to a power
  /// of two.
  void leave(Target &target, Value thread, Value number) {
    Type i32 = target.getI32Type();
    Value one = target.number(1, 64);
    Value shift = target.wide(target.load(i32, slot(), slotShift));
    Value all = LLVM::ShlOp::create(target, target.loc, target.getI64Type(), one, shift);
    Value blocks = target.wide(target.load(i32, slot(), slotBlocks));
    Value missing = target.add(target.sub(all, blocks), one);
    Value isFirst =
        target.compare(LLVM::ICmpPredicate::eq, rankOf(target, number), target.number(0));
    Value count = LLVM::SelectOp::create(target, target.loc, isFirst, missing, one);
    LLVM::AtomicRMWOp::create(target, target.loc, LLVM::AtomicBinOp::add, endedOf(target, thread),
                              count, LLVM::AtomicOrdering::monotonic, isAmd ? "agent" : "device");
  }

  void writeHead(Target &target, Value segment, Value sequence, ArrayRef<Value> block, Value thread,
                 Value clock, Value time) {
    Value place = LLVM::IntToPtrOp::create(target, target.loc, target.pointer(), segment);
    target.store(target.add(sequence, target.number(1, 64)), place, 0);
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
    Value zero = target.number(0);
    if (isHeader) {
      // All else can be done at the end, when it delays nobody.
      state.clock = target.low(clock);
      state.time = target.low(time);
      return;
    }
    state.next = place(target, target.getI64Type());
    state.writes = place(target, target.getI1Type());
    SmallVector<Value> block = blockOf(target);
    Value number = blockNumber(target, block);
    Value nowhere = target.number(0, 64);
    auto [inside, rest] = branch(target, records(target, thread, number), {nowhere, zero});
    Value sequence = sequenceOf(target, thread, number), segment = segmentAt(target, sequence);
    writeHead(target, segment, sequence, block, thread, clock, time);
    Value last = target.add(segment, target.number(segmentBytes - 1, 64));
    // Only low halves of addresses are compared.
    Value fits = target.compare(LLVM::ICmpPredicate::eq, target.high(segment), target.high(last));
    Value first = target.add(segment, target.number(headBytes, 64));
    Value limit = target.add(target.low(first), target.number(batchLimit * recordBytes));
    limit = LLVM::SelectOp::create(target, target.loc, fits, limit, zero);
    LLVM::BrOp::create(target, target.loc, ValueRange{first, limit}, rest);
    target.setInsertionPointToStart(rest);
    state.limit = rest->getArgument(1);
    LLVM::StoreOp::create(target, target.loc, rest->getArgument(0), state.next);
    Value writes = target.compare(LLVM::ICmpPredicate::ne, state.limit, zero);
    LLVM::StoreOp::create(target, target.loc, writes, state.writes);
  }

  /// Lowers the records of a block, which are written all or none.
  void lower(MutableArrayRef<RecordOp> records) {
    Target target(records.front(), records.front().getLoc(), isAmd);
    Value address = LLVM::LoadOp::create(target, target.loc, target.getI64Type(), state.next);
    // Once there is no room there never is, however far the address goes on.
    Value writes = LLVM::LoadOp::create(target, target.loc, target.getI1Type(), state.writes);
    writes = target.both(
        writes, target.compare(LLVM::ICmpPredicate::ule, target.low(address), state.limit));
    LLVM::StoreOp::create(target, target.loc, writes, state.writes);
    Operation *last = records.front()->getBlock()->getTerminator();
    for (auto [index, record] : llvm::enumerate(records)) {
      Value now = Target(record, record.getLoc(), isAmd).now();
      // A store would wait for the clock, and the warp with it; by the next record it has come.
      Operation *at = index + 1 < records.size() ? records[index + 1].getOperation() : last;
      Target(at, record.getLoc(), isAmd)
          .record(writes, address, index * recordBytes, now, record.getRegion());
    }
    Target after(last, last->getLoc(), isAmd);
    LLVM::StoreOp::create(after, after.loc,
                          after.add(address, after.number(records.size() * recordBytes, 64)),
                          state.next);
    for (RecordOp record : records)
      record->erase();
  }

  void end(LLVM::ReturnOp exit) {
    Target target(exit, exit.getLoc(), isAmd);
    if (isHeader) {
      Value thread = target.thread();
      // Of most warps that is all.
      Block *done = branch(target, isWriter(target, thread), {}).second;
      SmallVector<Value> block = blockOf(target);
      Value number = blockNumber(target, block);
      Block *rest = branch(target, records(target, thread, number), {}).second;
      Value clock = target.clock(), time = target.timer();
      Value sequence = sequenceOf(target, thread, number), segment = segmentAt(target, sequence);
      auto start = [&](Value end, Value begin) {
        return target.sub(end, target.wide(target.sub(target.low(end), begin)));
      };
      writeHead(target, segment, sequence, block, thread, start(clock, state.clock),
                start(time, state.time));
      writeEnd(target, segment, clock, time, target.number(0),
               target.add(sequence, target.number(1, 64)));
      leave(target, thread, number);
      LLVM::BrOp::create(target, target.loc, rest);
      target.setInsertionPointToStart(rest);
      LLVM::BrOp::create(target, target.loc, done);
      return;
    }
    Value records = target.compare(LLVM::ICmpPredicate::ne, state.limit, target.number(0));
    auto [inside, rest] = branch(target, records, {});
    Value clock = target.clock(), time = target.timer();
    // Found anew: where records were left out the address has gone on, even past the ring.
    Value thread = target.thread(), number = blockNumber(target, blockOf(target));
    Value sequence = sequenceOf(target, thread, number), segment = segmentAt(target, sequence);
    Value next = LLVM::LoadOp::create(target, target.loc, target.getI64Type(), state.next);
    Value first = target.add(target.low(segment), target.number(headBytes));
    Value attempted = LLVM::LShrOp::create(target, target.loc, target.sub(target.low(next), first),
                                           target.number(llvm::Log2_64(recordBytes)));
    writeEnd(target, segment, clock, time, attempted, target.add(sequence, target.number(1, 64)));
    leave(target, thread, number);
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
