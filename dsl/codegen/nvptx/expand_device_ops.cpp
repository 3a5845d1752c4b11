// Device operations as NVPTX spells them.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Intrinsics.h>

#include <charconv>

#include "dsl/codegen/gpu/device/device_ops.h"
#include "dsl/codegen/gpu/device/inline_asm.h"
#include "dsl/codegen/gpu/plan/cache_policy.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {
namespace {

using Builder = llvm::IRBuilder<>;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// The same bits as another type: an integer as a vector of halves, a shared pointer as one of the
// cluster.
llvm::Value* reinterpret(Builder& b, llvm::Value* value, llvm::Type* type) {
  if (value->getType() == type) return value;
  if (type->isPointerTy()) return b.CreateAddrSpaceCast(value, type);
  return b.CreateBitCast(value, type);
}

// `$3`, or a number in the type that is wanted.
llvm::Value* argument_of(std::string_view word, llvm::CallInst& call, llvm::Type* wanted) {
  bool is_operand = word.front() == '$';
  if (is_operand) word.remove_prefix(1);
  std::int64_t number = 0;
  auto parsed = std::from_chars(word.data(), word.data() + word.size(), number);
  check(parsed.ec == std::errc() && parsed.ptr == word.data() + word.size(),
        "an expansion has arguments that are operands or numbers");
  if (is_operand) return call.getArgOperand(static_cast<unsigned>(number));
  return llvm::ConstantInt::getSigned(wanted ? wanted : llvm::Type::getInt32Ty(call.getContext()),
                                      number);
}

std::vector<std::string_view> split_arguments(std::string_view list) {
  std::vector<std::string_view> words;
  while (!trimmed(list).empty()) {
    auto comma = list.find(',');
    words.push_back(trimmed(list.substr(0, comma)));
    list = comma == std::string_view::npos ? "" : list.substr(comma + 1);
  }
  return words;
}

// The declared type of an intrinsic; of one that is overloaded, the type of the operation itself.
llvm::FunctionType* intrinsic_type(llvm::CallInst& call, std::string_view name) {
  auto id = llvm::Intrinsic::lookupIntrinsicID(name);
  if (id == llvm::Intrinsic::not_intrinsic)
    throw InternalError(concat("[device_op] LLVM has no intrinsic ", name));
  if (llvm::Intrinsic::isOverloaded(id)) return call.getFunctionType();
  return llvm::Intrinsic::getType(call.getContext(), id);
}

llvm::Value* results_as(Builder& b, llvm::Value* value, llvm::Type* type) {
  auto* from = llvm::dyn_cast<llvm::StructType>(value->getType());
  if (value->getType() == type || type->isVoidTy()) return value;
  if (!from) return reinterpret(b, value, type);
  llvm::Value* all = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < from->getNumElements(); ++i)
    all = b.CreateInsertValue(
        all, reinterpret(b, b.CreateExtractValue(value, i), type->getStructElementType(i)), i);
  return all;
}

llvm::Value* call_intrinsic(Builder& b, llvm::CallInst& call, std::string_view expansion) {
  auto open = expansion.find('(');
  std::string_view name = expansion.substr(0, open);
  std::string_view list = expansion.substr(open + 1, expansion.rfind(')') - open - 1);
  llvm::FunctionType* type = intrinsic_type(call, name);
  llvm::SmallVector<llvm::Value*> arguments;
  for (std::string_view word : split_arguments(list)) {
    check(arguments.size() < type->getNumParams(), "an expansion has too many arguments");
    llvm::Type* wanted = type->getParamType(static_cast<unsigned>(arguments.size()));
    arguments.push_back(reinterpret(b, argument_of(word, call, wanted), wanted));
  }
  check(arguments.size() == type->getNumParams(), "an expansion has too few arguments");
  auto callee = call.getModule()->getOrInsertFunction(name, type);
  return results_as(b, b.CreateCall(callee, arguments), call.getType());
}

llvm::Value* call_assembly(Builder& b, llvm::CallInst& call, const DeviceOp& op) {
  std::string_view body = std::string_view(op.expansion).substr(std::string_view("asm:").size());
  auto bar = body.rfind('|');
  auto* assembly = llvm::InlineAsm::get(call.getFunctionType(), trimmed(body.substr(0, bar)),
                                        trimmed(body.substr(bar + 1)),
                                        /*hasSideEffects=*/op.effect != DeviceEffect::pure);
  llvm::SmallVector<llvm::Value*> arguments(call.args());
  llvm::CallInst* expanded = b.CreateCall(assembly, arguments);
  expanded->setDoesNotThrow();
  if (call.isConvergent()) expanded->setConvergent();
  return expanded;
}

// All of a block's shared memory is one array whose size the launch says.
llvm::Value* shared_memory(llvm::Module& module) {
  if (llvm::GlobalVariable* there = module.getNamedGlobal("shared")) return there;
  auto* bytes = llvm::ArrayType::get(llvm::Type::getInt8Ty(module.getContext()), 0);
  auto* array =
      new llvm::GlobalVariable(module, bytes, false, llvm::GlobalValue::ExternalLinkage, nullptr,
                               "shared", nullptr, llvm::GlobalValue::NotThreadLocal, 3);
  array->setAlignment(llvm::Align(1024));
  return array;
}

void call_function(Builder& b, llvm::CallInst& call, std::string_view name) {
  auto* type =
      llvm::FunctionType::get(b.getInt32Ty(), call.getFunctionType()->params(), /*isVarArg=*/false);
  llvm::SmallVector<llvm::Value*> arguments(call.args());
  b.CreateCall(call.getModule()->getOrInsertFunction(name, type), arguments);
}

void expand(llvm::CallInst& call, const DeviceOp& op) {
  Builder b(&call);
  b.CollectMetadataToCopy(&call, {call.getContext().getMDKindID(gpu::cache_policy_note)});
  llvm::Value* result = nullptr;
  if (op.expansion == "shared")
    result = shared_memory(*call.getModule());
  else if (op.expansion.starts_with("asm:"))
    result = call_assembly(b, call, op);
  else if (op.expansion.starts_with("call:"))
    call_function(b, call, trimmed(std::string_view(op.expansion).substr(5)));
  else if (!op.expansion.empty())
    result = call_intrinsic(b, call, op.expansion);
  if (!call.getType()->isVoidTy()) call.replaceAllUsesWith(result);
  call.eraseFromParent();
}

// The operation and the kind of its operand as PTX names them; nothing for an exchange, which has
// no reduction.
std::optional<std::pair<std::string, char>> reduction_form(llvm::AtomicRMWInst::BinOp op) {
  using Rmw = llvm::AtomicRMWInst;
  switch (op) {
    case Rmw::Add: return {{"add", 'u'}};
    case Rmw::FAdd: return {{"add", 'f'}};
    case Rmw::Max: return {{"max", 's'}};
    case Rmw::Min: return {{"min", 's'}};
    case Rmw::UMax: return {{"max", 'u'}};
    case Rmw::UMin: return {{"min", 'u'}};
    case Rmw::And: return {{"and", 'b'}};
    case Rmw::Or: return {{"or", 'b'}};
    case Rmw::Xor: return {{"xor", 'b'}};
    default: return std::nullopt;
  }
}

// An atomic operation whose old value nobody reads becomes a `red`, which no thread waits for. LLVM
// writes `atom` for every one.
void reduce_in_memory(llvm::AtomicRMWInst& atomic) {
  auto form = reduction_form(atomic.getOperation());
  if (!form || !atomic.use_empty()) return;
  llvm::Type* type = atomic.getType();
  unsigned bits = type->getPrimitiveSizeInBits().getFixedValue();
  std::string text =
      concat("red.relaxed.gpu.", atomic.getPointerAddressSpace() == 1 ? "global." : "", form->first,
             ".", form->second, bits, " [$0], $1;");
  bool is_float = type->isFloatingPointTy();
  const char* constraint = bits == 64 ? (is_float ? "d" : "l") : (is_float ? "f" : "r");
  Builder b(&atomic);
  auto* signature =
      llvm::FunctionType::get(b.getVoidTy(), {atomic.getPointerOperand()->getType(), type}, false);
  auto* assembly = llvm::InlineAsm::get(signature, text, concat("l,", constraint, ",~{memory}"),
                                        /*hasSideEffects=*/true);
  b.CreateCall(assembly, {atomic.getPointerOperand(), atomic.getValOperand()})->setDoesNotThrow();
  atomic.eraseFromParent();
}

}  // namespace

void expand_device_ops(llvm::Module& module) {
  expand_inline_asm(module);
  std::vector<llvm::Function*> declared;
  for (llvm::Function& function : module)
    if (function.getName().starts_with("td.")) declared.push_back(&function);
  for (llvm::Function* function : declared) {
    std::optional<DeviceOp> op = find_device_op(function->getName().drop_front(3));
    if (!op)
      throw InternalError(
          concat("[device_op] there is no device operation ", function->getName().str()));
    std::vector<llvm::CallInst*> calls;
    for (llvm::User* user : function->users()) calls.push_back(llvm::cast<llvm::CallInst>(user));
    for (llvm::CallInst* call : calls) expand(*call, *op);
    function->eraseFromParent();
  }
  std::vector<llvm::AtomicRMWInst*> atomics;
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function))
      if (auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
        atomics.push_back(atomic);
  for (llvm::AtomicRMWInst* atomic : atomics) reduce_in_memory(*atomic);
}

}  // namespace tilewright::dsl
