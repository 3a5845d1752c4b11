#include "dsl/codegen/gpu/device/device_ops.h"

#include <llvm/IR/DerivedTypes.h>

#include <algorithm>

#include "dsl/target/wgmma_form.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {
namespace {

const std::vector<DeviceOp>& rows() {
  static const std::vector<DeviceOp> table = {
#define TILEWRIGHT_DEVICE_OP(name, result, operands, effect, minimum_arch, expansion, meaning) \
  {#name, result, operands, DeviceEffect::effect, minimum_arch, expansion},
#include "dsl/target/device_ops.def"
#undef TILEWRIGHT_DEVICE_OP
  };
  return table;
}

const DeviceOp* row_named(std::string_view name) {
  auto found = std::find_if(rows().begin(), rows().end(),
                            [&](const DeviceOp& row) { return row.name == name; });
  return found == rows().end() ? nullptr : &*found;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

// cp_async_wait_3 is a member of the row cp_async_wait_N.
std::optional<DeviceOp> member_of_family(std::string_view name) {
  std::size_t digits = name.find_last_not_of("0123456789") + 1;
  if (digits == name.size()) return std::nullopt;
  const DeviceOp* row = row_named(std::string(name.substr(0, digits)) + "N");
  if (!row) return std::nullopt;
  DeviceOp op = *row;
  op.name = name;
  replace_all(op.expansion, "$N", name.substr(digits));
  return op;
}

// The products of a warpgroup, whose signatures follow from their names.
std::optional<DeviceOp> product_named(std::string_view name) {
  DeviceOp op{std::string(name), "", "", DeviceEffect::memory, 90, ""};
  if (auto form = emulator::parse_wgmma(name)) {
    op.result.assign(static_cast<std::size_t>(form->accumulators()), form->accumulator_letter());
    op.operands = op.result;
    for (int step = 0; step < form->steps; ++step)
      op.operands += form->a_in_registers ? "iiiil" : "ll";
    op.operands += "i";
    op.expansion = "asm:" + ptx_of(*form);
    return op;
  }
  if (auto wait = emulator::parse_wgmma_wait(name)) {
    op.result.assign(static_cast<std::size_t>(wait->accumulators), wait->letter);
    op.operands = op.result;
    op.expansion = "asm:" + ptx_of(*wait);
    return op;
  }
  return std::nullopt;
}

llvm::Type* type_of_letter(llvm::LLVMContext& context, char letter) {
  switch (letter) {
    case 'v': return llvm::Type::getVoidTy(context);
    case 'b': return llvm::Type::getInt1Ty(context);
    case 'h': return llvm::Type::getInt16Ty(context);
    case 'i': return llvm::Type::getInt32Ty(context);
    case 'l': return llvm::Type::getInt64Ty(context);
    case 'f': return llvm::Type::getFloatTy(context);
    case 'd': return llvm::Type::getDoubleTy(context);
    case 'p': return llvm::PointerType::get(context, 0);
    case 'g': return llvm::PointerType::get(context, 1);
    case 's': return llvm::PointerType::get(context, 3);
    case 'c': return llvm::PointerType::get(context, 7);
  }
  throw InternalError(concat("[device_op] no type has the letter ", letter));
}

llvm::FunctionType* type_of(llvm::LLVMContext& context, const DeviceOp& op) {
  auto types = [&](const std::string& letters) {
    llvm::SmallVector<llvm::Type*> all;
    for (char letter : letters) all.push_back(type_of_letter(context, letter));
    return all;
  };
  auto results = types(op.result);
  llvm::Type* result = results.size() == 1 ? results[0] : llvm::StructType::get(context, results);
  return llvm::FunctionType::get(result, types(op.operands), false);
}

void set_effect(llvm::Function& function, DeviceEffect effect) {
  function.addFnAttr(llvm::Attribute::NoUnwind);
  function.addFnAttr(llvm::Attribute::NoCallback);
  switch (effect) {
    case DeviceEffect::pure:
      function.addFnAttr(llvm::Attribute::WillReturn);
      function.addFnAttr(llvm::Attribute::Speculatable);
      function.setDoesNotAccessMemory();
      return;
    case DeviceEffect::collective:
      function.addFnAttr(llvm::Attribute::WillReturn);
      function.setDoesNotAccessMemory();
      function.setConvergent();
      return;
    case DeviceEffect::memory: function.setConvergent(); return;
    case DeviceEffect::access: function.addFnAttr(llvm::Attribute::WillReturn); return;
  }
}

}  // namespace

std::optional<DeviceOp> find_device_op(std::string_view name) {
  if (const DeviceOp* row = row_named(name)) return *row;
  if (auto product = product_named(name)) return product;
  return member_of_family(name);
}

std::vector<DeviceOp> sample_device_ops() {
  std::vector<DeviceOp> ops;
  for (const DeviceOp& row : rows())
    if (!row.name.ends_with("_N")) ops.push_back(row);
  std::vector<std::string> members = {
      "cp_async_wait_0",    "cp_async_wait_7",       "bulk_wait_0",          "bulk_wait_read_1",
      "setmaxnreg_inc_232", "setmaxnreg_dec_40",     "wgmma_wait_0_f4",      "wgmma_wait_1_f128",
      "wgmma_wait_0_i16",   "wgmma_m64n32k32_s8_ss", "wgmma_m64n48k32_s8_rs"};
  for (const emulator::NumberFormat& row : emulator::number_formats) {
    auto add = [&](int columns, std::string_view form) {
      members.push_back(concat("wgmma_m64n", columns, "k", 32 / row.bytes, "_", row.name, form));
    };
    add(8, "_ss");
    add(256, "_ss");
    add(64, "_rs");
    add(128, "_rs_x8");
    if (row.bytes != 2) continue;
    add(128, "_rs_tb");
    add(64, "_ss_ta_tb");
    add(64, "_ss_tb_x4");
  }
  for (const std::string& name : members) ops.push_back(*find_device_op(name));
  return ops;
}

llvm::FunctionCallee device_op(llvm::Module& module, std::string_view name) {
  std::string symbol = "td." + std::string(name);
  if (llvm::Function* there = module.getFunction(symbol)) return there;
  std::optional<DeviceOp> op = find_device_op(name);
  if (!op) throw InternalError(concat("[device_op] there is no device operation ", name));
  auto* function = llvm::Function::Create(type_of(module.getContext(), *op),
                                          llvm::Function::ExternalLinkage, symbol, module);
  set_effect(*function, op->effect);
  return function;
}

}  // namespace tilewright::dsl
