#include "dsl/codegen/gpu/device/inline_asm.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>

#include <functional>

#include "runtime/base/error.h"

namespace tilewright::dsl {
namespace {

using Builder = llvm::IRBuilder<>;

constexpr const char *stem = "td.inline_asm.", *text_note = "tw-assembly", *place_note = "tw-place",
                     *kernel_note = "tw-kernel";

std::vector<llvm::Type*> register_types(llvm::LLVMContext& context, std::string_view letters) {
  std::vector<llvm::Type*> types;
  for (char letter : letters) types.push_back(register_type(context, letter));
  return types;
}

llvm::Type* type_of_all(llvm::LLVMContext& context, const std::vector<llvm::Type*>& types) {
  return types.size() == 1 ? types[0] : llvm::StructType::get(context, types);
}

std::string note(const llvm::Function& function, const char* name) {
  return function.getFnAttribute(name).getValueAsString().str();
}

// `count` of the values that `part` gives, as one value of the type.
llvm::Value* joined(Builder& b, llvm::Type* type,
                    const std::function<llvm::Value*(unsigned)>& part) {
  if (!type->isStructTy()) return part(0);
  llvm::Value* all = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < type->getStructNumElements(); ++i)
    all = b.CreateInsertValue(all, part(i), i);
  return all;
}

unsigned result_registers(const llvm::CallInst& call) {
  return call.getType()->isStructTy() ? call.getType()->getStructNumElements() : 1;
}

llvm::Value* call_of_ptx(llvm::CallInst& call, const ir::Assembly& assembly) {
  Builder b(&call);
  llvm::LLVMContext& context = call.getContext();
  auto results = register_types(context, ir::letters_of(assembly).results);
  std::vector<llvm::Value*> operands(call.arg_begin() + result_registers(call), call.arg_end());
  std::vector<llvm::Type*> types;
  for (llvm::Value* operand : operands) types.push_back(operand->getType());
  auto* type = llvm::FunctionType::get(type_of_all(context, results), types, false);
  auto* ptx = llvm::InlineAsm::get(type, assembly.code, assembly.constraints,
                                   /*hasSideEffects=*/!assembly.is_pure);
  llvm::CallInst* made = b.CreateCall(ptx, operands);
  made->setDoesNotThrow();
  if (assembly.is_pure) {
    made->setDoesNotAccessMemory();
    made->addFnAttr(llvm::Attribute::WillReturn);
  }
  if (results.size() == 1) return made;
  return joined(b, call.getType(), [&](unsigned i) {
    return b.CreateExtractValue(made, i + static_cast<unsigned>(assembly.from));
  });
}

void replace_all(llvm::Module& module,
                 const std::function<llvm::Value*(llvm::CallInst&, const llvm::Function&)>& by) {
  std::vector<llvm::Function*> declared;
  for (llvm::Function& function : module)
    if (function.getName().starts_with(stem)) declared.push_back(&function);
  for (llvm::Function* function : declared) {
    std::vector<llvm::CallInst*> calls;
    for (llvm::User* user : function->users()) calls.push_back(llvm::cast<llvm::CallInst>(user));
    for (llvm::CallInst* call : calls) {
      call->replaceAllUsesWith(by(*call, *function));
      call->eraseFromParent();
    }
    function->eraseFromParent();
  }
}

}  // namespace

llvm::Type* register_type(llvm::LLVMContext& context, char letter) {
  if (letter == 'f') return llvm::Type::getFloatTy(context);
  if (letter == 'd') return llvm::Type::getDoubleTy(context);
  return llvm::Type::getIntNTy(context, static_cast<unsigned>(ir::register_bits(letter)));
}

llvm::FunctionCallee inline_asm_op(llvm::Module& module, const ir::Assembly& assembly,
                                   const std::string& result, const std::string& operands,
                                   const std::string& place, const std::string& kernel) {
  llvm::LLVMContext& context = module.getContext();
  auto* gives = type_of_all(context, register_types(context, result));
  auto* type = llvm::FunctionType::get(gives, register_types(context, result + operands), false);
  // LLVM numbers functions of one name.
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                          concat(stem, module.size()), module);
  function->addFnAttr(text_note, ir::text_of(assembly));
  function->addFnAttr(place_note, place);
  function->addFnAttr(kernel_note, kernel);
  function->setDoesNotThrow();
  if (assembly.is_pure) {
    function->setDoesNotAccessMemory();
    function->addFnAttr(llvm::Attribute::WillReturn);
  }
  return function;
}

void expand_inline_asm(llvm::Module& module) {
  replace_all(module, [](llvm::CallInst& call, const llvm::Function& function) {
    return call_of_ptx(call, ir::assembly_of(note(function, text_note)));
  });
}

void take_meanings_of_inline_asm(llvm::Module& module) {
  replace_all(module, [](llvm::CallInst& call, const llvm::Function& function) {
    ir::require_meaning(ir::assembly_of(note(function, text_note)), note(function, place_note),
                        note(function, kernel_note));
    Builder b(&call);
    return joined(b, call.getType(), [&](unsigned i) { return call.getArgOperand(i); });
  });
}

}  // namespace tilewright::dsl
