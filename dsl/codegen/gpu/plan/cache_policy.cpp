#include "dsl/codegen/gpu/plan/cache_policy.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <map>

#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {
namespace {

using ir::CachePolicy;
using Builder = llvm::IRBuilder<>;

CachePolicy policy_of(const llvm::Instruction& access) {
  const llvm::MDNode* note = access.getMetadata(cache_policy_note);
  if (note == nullptr) return CachePolicy::normal;
  return static_cast<CachePolicy>(
      llvm::mdconst::extract<llvm::ConstantInt>(note->getOperand(0))->getZExtValue());
}

// The hint to the second level of cache; empty where there is none.
std::string_view hint_of(CachePolicy policy) {
  switch (policy) {
    case CachePolicy::evict_first:
    case CachePolicy::no_allocate: return "evict_first";
    case CachePolicy::evict_last: return "evict_last";
    default: return "";
  }
}

// An access as registers of 16, 32 or 64 bits.
struct Words {
  unsigned count;
  unsigned bits;  // in memory; a byte stands in a register of 16

  llvm::Type* type(Builder& b) const { return b.getIntNTy(std::max(bits, 16U)); }
  char constraint() const { return bits == 64 ? 'l' : bits == 32 ? 'r' : 'h'; }
  std::string suffix() const {
    return concat(count > 1 ? concat(".v", count) : "", ".b", bits, " ");
  }
};

Words words_of(llvm::Type* type) {
  auto bits = static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedValue());
  bool is_wide = type->getScalarSizeInBits() == 64;
  unsigned word = is_wide ? 64 : std::min(bits, 32U);
  return {bits / word, word};
}

// {$2, $3}, or $2.
std::string registers(unsigned first, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i) text += concat(i > 0 ? ", $" : "$", first + i);
  return count > 1 ? "{" + text + "}" : text;
}

class Writer {
 public:
  Writer(llvm::Function& kernel, const GpuFacts& gpu) : kernel_(kernel), gpu_(gpu) {}

  void run() {
    std::vector<llvm::Instruction*> accesses;
    for (llvm::Instruction& instruction : llvm::instructions(kernel_))
      if (policy_of(instruction) != CachePolicy::normal) accesses.push_back(&instruction);
    for (llvm::Instruction* access : accesses) {
      // `write` puts another instruction in its place.
      if (auto* load = llvm::dyn_cast<llvm::LoadInst>(access))
        write(*load);
      else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(access))
        write(*store);
      else if (auto* copy = llvm::dyn_cast<llvm::IntrinsicInst>(access))
        write(*copy);
    }
  }

 private:
  llvm::Value* hint(CachePolicy policy) {
    std::string name(hint_of(policy));
    auto [found, is_new] = hints_.try_emplace(name, nullptr);
    if (is_new) {
      llvm::BasicBlock& entry = kernel_.getEntryBlock();
      Builder b(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
      auto* type = llvm::FunctionType::get(b.getInt64Ty(), false);
      found->second = b.CreateCall(llvm::InlineAsm::get(
          type, concat("createpolicy.fractional.L2::", name, ".b64 $0, 1.0;"), "=l",
          /*hasSideEffects=*/true));
    }
    return found->second;
  }

  static std::string qualifiers(CachePolicy policy, bool is_constant) {
    std::string nc = is_constant ? ".nc" : "";
    if (!hint_of(policy).empty()) return concat(nc, ".L1::", name_of(policy), ".L2::cache_hint");
    return concat(".", name_of(policy), policy == CachePolicy::cv ? "" : nc);
  }

  // Memory that nobody writes from when the kernel begins, which is before the one before it has
  // ended where launches overlap (emit/grid_wait.h).
  bool is_constant(const llvm::Value* pointer) const {
    if (gpu_.overlaps_launches) return false;
    auto* argument = llvm::dyn_cast<llvm::Argument>(llvm::getUnderlyingObject(pointer, 0));
    return argument != nullptr && argument->hasNoAliasAttr() && argument->onlyReadsMemory();
  }

  // Assembly keeps its place among waits and barriers, whether it reads constant memory or not.
  static llvm::CallInst* assembly(Builder& b, llvm::Type* result, const std::string& text,
                                  const std::string& constraints,
                                  llvm::ArrayRef<llvm::Value*> operands) {
    llvm::SmallVector<llvm::Type*> types;
    for (llvm::Value* operand : operands) types.push_back(operand->getType());
    auto* type = llvm::FunctionType::get(result, types, false);
    auto* call = b.CreateCall(
        llvm::InlineAsm::get(type, text, constraints, /*hasSideEffects=*/true), operands);
    call->setDoesNotThrow();
    return call;
  }

  void write(llvm::LoadInst& load) {
    Builder b(&load);
    CachePolicy policy = policy_of(load);
    Words words = words_of(load.getType());
    bool constant = is_constant(load.getPointerOperand());
    std::string text = concat("ld.global", qualifiers(policy, constant), words.suffix(),
                              registers(0, words.count), ", [$", words.count, "]");
    std::string constraints;
    for (unsigned i = 0; i < words.count; ++i) constraints += concat("=", words.constraint(), ",");
    constraints += "l";
    llvm::SmallVector<llvm::Value*> operands{load.getPointerOperand()};
    if (!hint_of(policy).empty()) {
      text += concat(", $", words.count + 1);
      constraints += ",l";
      operands.push_back(hint(policy));
    }
    if (!constant) constraints += ",~{memory}";
    llvm::SmallVector<llvm::Type*> types(words.count, words.type(b));
    llvm::Type* result = words.count == 1 ? types[0] : llvm::StructType::get(b.getContext(), types);
    llvm::Value* loaded = assembly(b, result, text + ";", constraints, operands);
    if (words.count > 1) {
      llvm::Value* all = llvm::PoisonValue::get(llvm::FixedVectorType::get(types[0], words.count));
      for (unsigned i = 0; i < words.count; ++i)
        all = b.CreateInsertElement(all, b.CreateExtractValue(loaded, i), i);
      loaded = all;
    }
    if (words.bits == 8) loaded = b.CreateTrunc(loaded, b.getInt8Ty());
    load.replaceAllUsesWith(b.CreateBitCast(loaded, load.getType()));
    load.eraseFromParent();
  }

  void write(llvm::StoreInst& store) {
    Builder b(&store);
    CachePolicy policy = policy_of(store);
    llvm::Value* value = store.getValueOperand();
    Words words = words_of(value->getType());
    llvm::Type* word = b.getIntNTy(words.bits);
    if (words.count > 1) word = llvm::FixedVectorType::get(word, words.count);
    value = b.CreateBitCast(value, word);
    if (words.bits == 8) value = b.CreateZExt(value, words.type(b));
    std::string text = concat("st.global", qualifiers(policy, false), words.suffix(), "[$0], ",
                              registers(1, words.count));
    std::string constraints = "l";
    llvm::SmallVector<llvm::Value*> operands{store.getPointerOperand()};
    for (unsigned i = 0; i < words.count; ++i) {
      constraints += concat(",", words.constraint());
      operands.push_back(words.count == 1 ? value : b.CreateExtractElement(value, i));
    }
    if (!hint_of(policy).empty()) {
      text += concat(", $", words.count + 1);
      constraints += ",l";
      operands.push_back(hint(policy));
    }
    assembly(b, b.getVoidTy(), text + ";", constraints + ",~{memory}", operands);
    store.eraseFromParent();
  }

  void write(llvm::IntrinsicInst& copy) {
    CachePolicy policy = policy_of(copy);
    if (hint_of(policy).empty()) return;
    llvm::StringRef name = copy.getCalledFunction()->getName();
    unsigned count = copy.arg_size();
    Builder b(&copy);
    auto give = [&](unsigned number, unsigned flag) {
      copy.setArgOperand(number, hint(policy));
      copy.setArgOperand(flag, b.getTrue());
    };
    if (name.starts_with("llvm.nvvm.cp.async.bulk.tensor.g2s")) return give(count - 4, count - 2);
    if (name.starts_with("llvm.nvvm.cp.async.bulk.tensor.s2g")) return give(count - 2, count - 1);
    check(name == "llvm.nvvm.cp.async.cg.shared.global.16.s",
          "a cache policy is on an instruction that is not an access");
    if (!gpu_.orders_evictions_of_copies) return;
    assembly(b, b.getVoidTy(), "cp.async.cg.shared.global.L2::cache_hint [$0], [$1], 16, $2, $3;",
             "l,l,r,l,~{memory}",
             {copy.getArgOperand(0), copy.getArgOperand(1), copy.getArgOperand(2), hint(policy)});
    copy.eraseFromParent();
  }

  llvm::Function& kernel_;
  const GpuFacts& gpu_;
  std::map<std::string, llvm::Value*> hints_;
};

}  // namespace

void note_policy(llvm::Value* access, CachePolicy policy) {
  if (policy == CachePolicy::normal) return;
  auto* instruction = llvm::cast<llvm::Instruction>(access);
  llvm::LLVMContext& context = instruction->getContext();
  auto* number =
      llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), static_cast<std::uint64_t>(policy));
  instruction->setMetadata(cache_policy_note,
                           llvm::MDNode::get(context, llvm::ConstantAsMetadata::get(number)));
}

bool orders_evictions(const llvm::Module& module) {
  for (const llvm::Function& function : module)
    for (const llvm::Instruction& instruction : llvm::instructions(function))
      if (!hint_of(policy_of(instruction)).empty()) return true;
  return false;
}

void apply_cache_policies(llvm::Module& module, const GpuFacts& gpu) {
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) Writer(function, gpu).run();
}

}  // namespace tilewright::dsl::gpu
