#include "tritonext_profiler/Transforms/Categories.h"
#include "tritonext_profiler/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
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
constexpr int version = 2;
constexpr int64_t alignment = 128, headBytes = 80, unitBytes = 16;
constexpr size_t unitRecords = 3;
// The low bits of the slot's address say which blocks record, so that others read nothing.
constexpr int64_t slotAlignment = 4096;
constexpr int64_t tagFirst = 1, tagStep = 6, tagMask = 31;
constexpr int64_t slotRing = 16, slotEnded = 128, counterBytes = 64;
constexpr int64_t headBlock = 16, headStart = 32, headEnd = 48, headAttempted = 64;

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
  Value at(Value base, int64_t offset) {
    return LLVM::GEPOp::create(*this, loc, pointer(), getI8Type(), base,
                               ArrayRef<LLVM::GEPArg>{int32_t(offset)});
  }
  Value load(Type type, Value base, int64_t offset) {
    int64_t size = 0;
    if (auto vector = dyn_cast<VectorType>(type))
      size = vector.getNumElements() * vector.getElementTypeBitWidth() / 8;
    else
      size = type.getIntOrFloatBitWidth() / 8;
    return LLVM::LoadOp::create(*this, loc, type, at(base, offset), size);
  }
  Value element(Value vector, int64_t index) {
    return LLVM::ExtractElementOp::create(*this, loc, vector, number(index));
  }
  Value vector(ValueRange values) {
    auto type = VectorType::get(values.size(), values.front().getType());
    Value all = LLVM::PoisonOp::create(*this, loc, type);
    for (auto [index, value] : llvm::enumerate(values))
      all = LLVM::InsertElementOp::create(*this, loc, all, value, number(index));
    return all;
  }
  /// Stores 16 bytes at once, values of one type.
  void store(ValueRange values, Value base, int64_t offset) {
    LLVM::StoreOp::create(*this, loc, vector(values), at(base, offset), unitBytes);
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
  /// Read in place, as the block is: registers for what the kernel itself has asked for, kept from
  /// its beginning to its end, change how it is compiled.
  Value thread() {
    return isAmd ? intrinsic("llvm.amdgcn.workitem.id.x", getI32Type()) : read("tid.x");
  }
  Value block(StringRef axis) {
    return isAmd ? intrinsic(("llvm.amdgcn.workgroup.id." + axis).str(), getI32Type())
                 : read(("ctaid." + axis).str());
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

  /// Returns a special register of NVIDIA, read in place.
  Value read(StringRef name) {
    auto read = LLVM::InlineAsmOp::create(
        *this, loc, getI32Type(), ValueRange(), ("mov.u32 $0, %" + name + ";").str(), "=r",
        /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
        LLVM::AsmDialectAttr::get(getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
    return read.getResult(0);
  }

  /// Returns the low half of the clock, read in place.
  Value now() { return isAmd ? low(clock()) : read("clock"); }

  /// Builds the store of a unit: a region, and the clocks of records or what belongs to one.
  void unit(Value writes, Value address, int64_t offset, int64_t region, ArrayRef<Value> values) {
    if (isAmd) {
      Block *before = getInsertionBlock();
      Block *after = before->splitBlock(getInsertionPoint());
      Block *write = createBlock(after);
      setInsertionPointToEnd(before);
      LLVM::CondBrOp::create(*this, loc, writes, write, after);
      setInsertionPointToEnd(write);
      SmallVector<Value> all{number(region)};
      all.append(values.begin(), values.end());
      all.resize(unitBytes / 4, all.back());
      store(all, LLVM::IntToPtrOp::create(*this, loc, pointer(), address), offset);
      LLVM::BrOp::create(*this, loc, after);
      setInsertionPointToStart(after);
      return;
    }
    // What is not written is not read either, and to keep it would take registers.
    std::string text =
        (values.size() == 1 ? "@$0 st.global.v2.u32 [$1 + " : "@$0 st.global.v4.u32 [$1 + ") +
        llvm::utostr(offset) + "], {" + llvm::utostr(region);
    std::string constraints = "b,l";
    SmallVector<Value> operands{writes, address};
    for (Value value : values) {
      text += ", $" + llvm::utostr(operands.size());
      constraints += ",r";
      operands.push_back(value);
    }
    assembly(text + (values.size() == 2 ? ", $3};" : "};"), constraints, operands);
  }
};

/// What a warp keeps from its beginning on.
struct State {
  /// Address of the next unit, and whether the thread writes it; in memory of the thread that LLVM
  /// turns into registers.
  Value next, writes;
  /// The last low half of an address at which units begin, 0 where none do.
  Value limit;
  /// In mode `header`: where clock and timer of the begin are, in memory of the thread.
  Value start;
};

/// Records that are stored together: of one piece of code, of regions that follow each other.
using Unit = SmallVector<RecordOp, unitRecords>;

class Lowering {
public:
  Lowering(ModuleOp module, LLVM::LLVMFuncOp kernel)
      : module(module), kernel(kernel), isHeader(modeOf() == "header"),
        isAmd(targetOf().starts_with("hip")) {}

  void run() {
    kernel.walk([&](RecordOp op) { join(batches[op->getBlock()], op); });
    size_t largest = 0;
    for (auto &[block, units] : batches)
      largest = std::max(largest, units.size());
    int64_t wanted = capacityOf() + largest;
    segmentBytes = llvm::alignTo(headBytes + wanted * unitBytes, alignment);
    capacity = (segmentBytes - headBytes) / unitBytes;
    batchLimit = capacity - largest;
    describe();

    SmallVector<LLVM::ReturnOp> exits;
    kernel.walk([&](LLVM::ReturnOp op) { exits.push_back(op); });
    if (isHeader) {
      stamp();
      for (LLVM::ReturnOp exit : exits)
        summarize(exit);
    } else {
      begin(duplicate());
      for (auto &[block, units] : batches)
        lower(units);
      for (LLVM::ReturnOp exit : exits)
        end(exit);
    }
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

  static void join(SmallVector<Unit> &units, RecordOp record) {
    bool follows = !units.empty() && units.back().size() < unitRecords && !record.getValue() &&
                   !units.back().back().getValue() &&
                   units.back().back().getRegion() + 1 == record.getRegion();
    if (!follows)
      units.emplace_back();
    units.back().push_back(record);
  }

  /// Returns how many units have room for the records that a warp may write.
  int64_t capacityOf() {
    int64_t most = numberOf(capacityName, 0);
    auto times = [&](RecordOp record) {
      auto region =
          cast<DictionaryAttr>(module->getAttrOfType<ArrayAttr>(regionsName)[record.getRegion()]);
      auto attribute = region.getAs<IntegerAttr>("times");
      return attribute ? attribute.getInt() : -1;
    };
    // Of each role, and of what has no known number, records and units each time around.
    llvm::SmallDenseMap<int64_t, int64_t> known;
    int64_t records = 0, units = 0;
    for (auto &[block, found] : batches)
      for (Unit &unit : found) {
        int64_t count = times(unit.front());
        if (count < 0) {
          records += unit.size();
          ++units;
        }
        auto region = cast<DictionaryAttr>(
            module->getAttrOfType<ArrayAttr>(regionsName)[unit.front().getRegion()]);
        auto role = region.getAs<IntegerAttr>("role");
        known[role ? role.getInt() : 0] += std::max<int64_t>(count, 0);
      }
    int64_t result = 0;
    for (auto [role, count] : known)
      result = std::max(result, count);
    if (records)
      result = std::max<int64_t>(llvm::divideCeil(most * units, records), result);
    return std::min(result, most);
  }

  static llvm::json::Value jsonOf(Attribute attribute) {
    if (auto truth = dyn_cast<BoolAttr>(attribute))
      return truth.getValue();
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
    for (llvm::json::Value &region : *regions.getAsArray()) {
      llvm::json::Object &entry = *region.getAsObject();
      entry.erase("times");
      entry["batch"] = llvm::json::Array{0, 0};
      entry["unit"] = llvm::json::Array{0, 0};
    }
    for (auto &[block, units] : batches)
      for (auto [index, unit] : llvm::enumerate(units))
        for (auto [place, record] : llvm::enumerate(unit)) {
          llvm::json::Object &entry = *(*regions.getAsArray())[record.getRegion()].getAsObject();
          entry["batch"] = llvm::json::Array{int64_t(index), int64_t(units.size())};
          entry["unit"] = llvm::json::Array{int64_t(place), int64_t(unit.size())};
        }
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
        {"records", numberOf(capacityName, 0)},
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

  /// What the launch slot's address says by itself.
  struct Tag {
    Value low, first, step;
  };

  Tag tagOf(Target &target) {
    Value whole = LLVM::PtrToIntOp::create(target, target.loc, target.getI64Type(),
                                           kernel.getArguments().back());
    Value low = target.low(whole);
    auto field = [&](int64_t shift) {
      Value rest = LLVM::LShrOp::create(target, target.loc, low, target.number(shift));
      return target.both(rest, target.number(tagMask));
    };
    return {low, field(tagFirst), field(tagStep)};
  }

  Value slotOf(Target &target) {
    Value whole = LLVM::PtrToIntOp::create(target, target.loc, target.getI64Type(),
                                           kernel.getArguments().back());
    return LLVM::IntToPtrOp::create(target, target.loc, target.pointer(),
                                    target.both(whole, target.number(-slotAlignment, 64)));
  }

  /// Whether a block's number is below two to the power of `first`.
  Value isEarly(Target &target, const Tag &tag, Value number) {
    Value rest = LLVM::LShrOp::create(target, target.loc, number, tag.first);
    return target.compare(LLVM::ICmpPredicate::eq, rest, target.number(0));
  }

  /// Whether the block records, which no memory is read for.
  Value isChosen(Target &target, const Tag &tag, Value number) {
    Value above =
        LLVM::ShlOp::create(target, target.loc, target.getI32Type(), target.number(-1), tag.step);
    Value rest =
        target.both(number, LLVM::XOrOp::create(target, target.loc, above, target.number(-1)));
    Value multiple = target.compare(LLVM::ICmpPredicate::eq, rest, target.number(0));
    Value valid = target.compare(LLVM::ICmpPredicate::ne, target.both(tag.low, target.number(1)),
                                 target.number(0));
    return target.both(valid, target.either(isEarly(target, tag, number), multiple));
  }

  Value warpOf(Target &target, Value thread) {
    if (isHeader)
      return target.number(0);
    return LLVM::LShrOp::create(target, target.loc, thread,
                                target.number(llvm::Log2_64(threads())));
  }

  SmallVector<Value> blockOf(Target &target) {
    return {target.block("x"), target.block("y"), target.block("z")};
  }

  Value numberOf(Target &target, ArrayRef<Value> block) {
    Value row = target.add(block[1], target.mul(target.blocks(1), block[2]));
    return target.add(block[0], target.mul(target.blocks(0), row));
  }

  /// Where a warp writes, and what it needs to end.
  struct Segment {
    Value ready, sequence, address, ended, count;
  };

  /// Builds the loads of the slot, which do not wait for each other, and what follows from them.
  Segment segmentOf(Target &target, const Tag &tag, Value number, Value thread) {
    Type i64 = target.getI64Type(), i32 = target.getI32Type();
    Value slot = slotOf(target);
    Value warp = warpOf(target, thread);
    Value head = target.load(VectorType::get(2, i64), slot, 0);
    Value ring = target.load(VectorType::get(4, i32), slot, slotRing);
    Value ended = LLVM::GEPOp::create(
        target, target.loc, target.pointer(), target.getI8Type(), target.at(slot, slotEnded),
        ArrayRef<LLVM::GEPArg>{target.wide(target.mul(warp, target.number(counterBytes)))});
    Value before = target.load(i64, ended, 0);
    Segment result;
    Value mask = target.element(ring, 0), base = target.element(ring, 1);
    Value blocks = target.element(ring, 2), shift = target.wide(target.element(ring, 3));
    // The other bits are always clear. Without them in the sum, the loads would come behind a
    // branch that waits for the magic.
    Value differs =
        LLVM::XOrOp::create(target, target.loc, target.element(head, 0), target.number(magic, 64));
    Value rest = target.either(target.both(before, target.number(INT64_MIN, 64)),
                               target.both(shift, target.number(~INT64_C(63), 64)));
    result.ready =
        target.compare(LLVM::ICmpPredicate::eq, target.either(differs, rest), target.number(0, 64));
    Value step = LLVM::LShrOp::create(target, target.loc, number, tag.step);
    Value rank = LLVM::SelectOp::create(target, target.loc, isEarly(target, tag, number), number,
                                        target.add(step, base));
    // Blocks that ended count, and this one has not: so all of one launch see the same quotient.
    Value launch = LLVM::LShrOp::create(target, target.loc, before, shift);
    Value perLaunch = target.mul(blocks, target.number(segments()));
    Value inLaunch = target.add(target.mul(rank, target.number(segments())), warp);
    result.sequence = target.add(target.mul(launch, target.wide(perLaunch)), target.wide(inLaunch));
    Value index = target.both(target.low(result.sequence), mask);
    result.address = target.add(target.element(head, 1),
                                target.mul(target.wide(index), target.number(segmentBytes, 64)));
    result.ended = ended;
    // The first of a launch counts for those that are missing to a power of two.
    Value one = target.number(1, 64);
    Value all = LLVM::ShlOp::create(target, target.loc, i64, one, shift);
    Value isFirst = target.compare(LLVM::ICmpPredicate::eq, rank, target.number(0));
    result.count = LLVM::SelectOp::create(
        target, target.loc, isFirst, target.add(target.sub(all, target.wide(blocks)), one), one);
    return result;
  }

  Value pointerTo(Target &target, const Segment &segment) {
    return LLVM::IntToPtrOp::create(target, target.loc, target.pointer(), segment.address);
  }

  void writeHead(Target &target, const Segment &segment, ArrayRef<Value> block, Value thread,
                 Value clock, Value time) {
    Value place = pointerTo(target, segment);
    target.store({target.add(segment.sequence, target.number(1, 64)), target.number(kernelId, 64)},
                 place, 0);
    Value unit =
        LLVM::ShlOp::create(target, target.loc, target.multiprocessor(), target.number(16));
    target.store({block[0], block[1], block[2], target.either(warpOf(target, thread), unit)}, place,
                 headBlock);
    target.store({clock, time}, place, headStart);
  }

  /// Builds the end of a segment, and counts the block as ended.
  void leave(Target &target, const Segment &segment, Value clock, Value time, Value attempted,
             Value first, Value second) {
    Value place = pointerTo(target, segment);
    target.store({clock, time}, place, headEnd);
    Value done = target.add(target.low(segment.sequence), target.number(1));
    target.store({attempted, first, second, done}, place, headAttempted);
    LLVM::AtomicRMWOp::create(target, target.loc, LLVM::AtomicBinOp::add, segment.ended,
                              segment.count, LLVM::AtomicOrdering::monotonic,
                              isAmd ? "agent" : "device");
  }

  /// Splits the block and returns the part that runs where `condition` is true, and the rest, which
  /// gets `otherwise` from elsewhere as arguments.
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

  /// In mode `header`, keeps when the first warp begins. All else is done at the end, when it
  /// delays nobody.
  void stamp() {
    Block &entry = kernel.getBody().front();
    Target target(&entry.front(), kernel.getLoc(), isAmd);
    // Registers that live as long as the kernel change how the rest of it is compiled.
    state.start = place(target, stampType(target));
    Value writer = isWriter(target, target.thread());
    if (!isAmd) {
      auto local = LLVM::LLVMPointerType::get(target.getContext(), 5);
      Value there = LLVM::AddrSpaceCastOp::create(target, target.loc, local, state.start);
      target.assembly("{ .reg .b64 %c, %t; @!$0 bra done; mov.u64 %c, %clock64; "
                      "mov.u64 %t, %globaltimer; st.local.v2.b64 [$1], {%c, %t}; done: }",
                      "b,l,~{memory}", {writer, there});
      return;
    }
    Block *rest = branch(target, writer, {}).second;
    Value stamps = target.vector({target.clock(), target.timer()});
    LLVM::StoreOp::create(target, target.loc, stamps, state.start, unitBytes, /*isVolatile=*/true);
    LLVM::BrOp::create(target, target.loc, rest);
  }

  static VectorType stampType(Target &target) { return VectorType::get(2, target.getI64Type()); }

  /// Ends the thread where a condition does not hold.
  void endUnless(Target &target, Value condition, SmallVectorImpl<Block *> &ends) {
    // A block that ends in `ret` is one into which LLVM moves what it needs alone; so there is no
    // branch for the sake of records.
    if (isAmd)
      ends.push_back(branch(target, condition, {}).second);
    else
      target.assembly("@!$0 exit;", "b,~{memory}", {condition});
  }

  void summarize(LLVM::ReturnOp exit) {
    Target target(exit, exit.getLoc(), isAmd);
    SmallVector<Block *> ends;
    Value thread = target.thread();
    endUnless(target, isWriter(target, thread), ends);
    Tag tag = tagOf(target);
    SmallVector<Value> block = blockOf(target);
    Value number = numberOf(target, block);
    endUnless(target, isChosen(target, tag, number), ends);
    Value clock = target.clock(), time = target.timer();
    Value start = LLVM::LoadOp::create(target, target.loc, stampType(target), state.start,
                                       unitBytes, /*isVolatile=*/true);
    Segment segment = segmentOf(target, tag, number, thread);
    endUnless(target, segment.ready, ends);
    writeHead(target, segment, block, thread, target.element(start, 0), target.element(start, 1));
    Value none = target.number(0);
    leave(target, segment, clock, time, none, none, none);
    for (Block *end : llvm::reverse(ends)) {
      LLVM::BrOp::create(target, target.loc, end);
      target.setInsertionPointToStart(end);
    }
  }

  /// Makes a second version of the kernel, without records, and the choice between them; returns
  /// the first block of the one with records.
  Block *duplicate() {
    Region &body = kernel.getBody();
    Block &entry = body.front();
    Block *recorded = entry.splitBlock(entry.begin());
    // Memory of a thread is only of a fixed size where it stands in the first block.
    for (Operation &op : llvm::make_early_inc_range(*recorded))
      if (auto memory = dyn_cast<LLVM::AllocaOp>(op)) {
        Operation *size = memory.getArraySize().getDefiningOp();
        if (!size || !size->hasTrait<OpTrait::ConstantLike>())
          continue;
        Operation *copy = size->clone();
        entry.push_back(copy);
        memory->setOperand(0, copy->getResult(0));
        memory->moveBefore(&entry, entry.end());
      }
    IRMapping mapping;
    for (BlockArgument argument : entry.getArguments())
      mapping.map(argument, argument);
    Region copies;
    body.cloneInto(&copies, mapping);
    for (auto [original, copy] : llvm::zip(entry, copies.front()))
      copy.replaceAllUsesWith(original.getResults());
    copies.front().erase();
    body.getBlocks().splice(std::next(body.begin()), copies.getBlocks());
    Block *plain = mapping.lookup(recorded);
    SmallVector<RecordOp> left;
    for (Block *block = plain; block != recorded; block = block->getNextNode())
      block->walk([&](RecordOp record) { left.push_back(record); });
    for (RecordOp record : left)
      record->erase();

    Target target(&recorded->front(), kernel.getLoc(), isAmd);
    target.setInsertionPointToEnd(&entry);
    state.next = place(target, target.getI64Type());
    state.writes = place(target, target.getI1Type());
    Value chosen = isChosen(target, tagOf(target), numberOf(target, blockOf(target)));
    LLVM::CondBrOp::create(target, target.loc, chosen, recorded, plain);
    return recorded;
  }

  void begin(Block *first) {
    Target target(&first->front(), kernel.getLoc(), isAmd);
    Value thread = target.thread();
    Value zero = target.number(0), nowhere = target.number(0, 64);
    auto [inside, rest] = branch(target, isWriter(target, thread), {nowhere, zero});
    SmallVector<Value> block = blockOf(target);
    Segment segment = segmentOf(target, tagOf(target), numberOf(target, block), thread);
    Value last = target.add(segment.address, target.number(segmentBytes - 1, 64));
    // Only low halves of addresses are compared.
    Value fits =
        target.compare(LLVM::ICmpPredicate::eq, target.high(segment.address), target.high(last));
    Block *write = target.createBlock(rest);
    target.setInsertionPointToEnd(inside);
    LLVM::CondBrOp::create(target, target.loc, target.both(segment.ready, fits), write,
                           ValueRange(), rest, ValueRange{nowhere, zero});
    target.setInsertionPointToStart(write);
    // Behind the loads, which are no part of what the warp does.
    Value clock = target.clock(), time = target.timer();
    writeHead(target, segment, block, thread, clock, time);
    Value records = target.add(segment.address, target.number(headBytes, 64));
    Value limit = target.add(target.low(records), target.number(batchLimit * unitBytes));
    LLVM::BrOp::create(target, target.loc, ValueRange{records, limit}, rest);
    target.setInsertionPointToStart(rest);
    state.limit = rest->getArgument(1);
    LLVM::StoreOp::create(target, target.loc, rest->getArgument(0), state.next);
    Value writes = target.compare(LLVM::ICmpPredicate::ne, state.limit, zero);
    LLVM::StoreOp::create(target, target.loc, writes, state.writes);
  }

  /// Lowers the records of a block, which are written all or none.
  void lower(MutableArrayRef<Unit> units) {
    RecordOp first = units.front().front();
    Target target(first, first.getLoc(), isAmd);
    Value address = LLVM::LoadOp::create(target, target.loc, target.getI64Type(), state.next);
    // Once there is no room there never is, however far the address goes on.
    Value writes = LLVM::LoadOp::create(target, target.loc, target.getI1Type(), state.writes);
    writes = target.both(
        writes, target.compare(LLVM::ICmpPredicate::ule, target.low(address), state.limit));
    LLVM::StoreOp::create(target, target.loc, writes, state.writes);
    Operation *last = first->getBlock()->getTerminator();
    for (auto [index, unit] : llvm::enumerate(units)) {
      SmallVector<Value> values;
      for (RecordOp record : unit) {
        Target here(record, record.getLoc(), isAmd);
        values.push_back(here.now());
        if (Value value = record.getValue())
          values.append({here.low(value), here.high(value)});
      }
      // A store would wait for the clock, and the warp with it; by the next record it has come.
      Operation *at = index + 1 < units.size() ? units[index + 1].front().getOperation() : last;
      Target(at, unit.back().getLoc(), isAmd)
          .unit(writes, address, index * unitBytes, unit.front().getRegion(), values);
    }
    Target after(last, last->getLoc(), isAmd);
    LLVM::StoreOp::create(after, after.loc,
                          after.add(address, after.number(units.size() * unitBytes, 64)),
                          state.next);
    for (Unit &unit : units)
      for (RecordOp record : unit)
        record->erase();
  }

  void end(LLVM::ReturnOp exit) {
    Target target(exit, exit.getLoc(), isAmd);
    Value records = target.compare(LLVM::ICmpPredicate::ne, state.limit, target.number(0));
    Block *rest = branch(target, records, {}).second;
    Value clock = target.clock(), time = target.timer();
    // What a record costs where nothing hides it.
    Value one = target.now(), other = target.now();
    // Found anew: where records were left out the address has gone on, even past the ring.
    Value thread = target.thread();
    Segment segment = segmentOf(target, tagOf(target), numberOf(target, blockOf(target)), thread);
    Value next = LLVM::LoadOp::create(target, target.loc, target.getI64Type(), state.next);
    Value first = target.add(target.low(segment.address), target.number(headBytes));
    Value attempted = LLVM::LShrOp::create(target, target.loc, target.sub(target.low(next), first),
                                           target.number(llvm::Log2_64(unitBytes)));
    leave(target, segment, clock, time, attempted, one, other);
    LLVM::BrOp::create(target, target.loc, rest);
    if (isAmd)
      return;
    // With one `ret`, that of the other version, LLVM compiles this one as it does the plain
    // kernel.
    Target last(exit, exit.getLoc(), isAmd);
    last.assembly("exit;", "~{memory}", {});
    LLVM::UnreachableOp::create(last, last.loc);
    exit->erase();
  }

  ModuleOp module;
  LLVM::LLVMFuncOp kernel;
  bool isHeader;
  bool isAmd;
  llvm::MapVector<Block *, SmallVector<Unit>> batches;
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
