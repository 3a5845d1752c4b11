#include "dsl/codegen/gpu/emulate/rewrite_for_host.h"

#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Verifier.h>

#include "dsl/codegen/gpu/device/device_ops.h"
#include "dsl/codegen/gpu/device/inline_asm.h"
#include "dsl/codegen/gpu/device/shared_access.h"
#include "dsl/emulator/meanings.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {
namespace {

using emulator::CallSite;
using emulator::EmulatedKernel;
using emulator::Slot;
using Builder = llvm::IRBuilder<>;

// Generated code calls this, at its address in this process.
void run_call(const CallSite* site, const Slot* operands, Slot* results) {
  emulator::Cluster::current().run_call(*site, operands, results);
}

std::string location_of(const llvm::Instruction& instruction) {
  const llvm::DebugLoc& place = instruction.getDebugLoc();
  if (!place) return "";
  std::string file = place->getFilename().str();
  return concat(file.substr(file.rfind('/') + 1), ":", place.getLine());
}

unsigned result_count(llvm::Type* type) {
  if (type->isVoidTy()) return 0;
  auto* parts = llvm::dyn_cast<llvm::StructType>(type);
  return parts ? parts->getNumElements() : 1;
}

constexpr unsigned slots_for_checks = 1;

class Rewriter {
 public:
  Rewriter(llvm::Module& module, EmulatedKernel& kernel)
      : module_(module), kernel_(kernel), context_(module.getContext()) {}

  void rewrite(llvm::Function& function) {
    std::vector<llvm::Instruction*> calls, accesses;
    unsigned operands = slots_for_checks, results = 1;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (auto* call = device_call(instruction)) {
        calls.push_back(call);
        operands = std::max(operands, call->arg_size());
        results = std::max(results, result_count(call->getType()));
      } else if (check_for(instruction)) {
        accesses.push_back(&instruction);
      }
    }
    if (calls.empty() && accesses.empty()) return;
    // One array serves all calls of a function: a thread is in one call at a time.
    Builder entry(&*function.getEntryBlock().getFirstInsertionPt());
    operands_ = entry.CreateAlloca(llvm::ArrayType::get(entry.getInt64Ty(), operands));
    results_ = entry.CreateAlloca(llvm::ArrayType::get(entry.getInt64Ty(), results));
    for (llvm::Instruction* access : accesses) add_check(*access);
    for (llvm::Instruction* call : calls) replace(llvm::cast<llvm::CallInst>(*call));
  }

 private:
  static llvm::CallInst* device_call(llvm::Instruction& instruction) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (!call || !call->getCalledFunction()) return nullptr;
    return call->getCalledFunction()->getName().starts_with("td.") ? call : nullptr;
  }

  CallSite& new_site(const llvm::Instruction& instruction, const std::string& operation) {
    CallSite& site = kernel_.sites.emplace_back();
    site.operation = operation;
    site.location = location_of(instruction);
    site.index = static_cast<int>(kernel_.sites.size()) - 1;
    if (const llvm::MDNode* note = instruction.getMetadata(gpu::access_metadata)) {
      gpu::SharedAccess touch = gpu::read_metadata(*note);
      site.noted = {touch.begin, touch.end, touch.stages, touch.stage_bytes};
    }
    require(site.index <= 0xFFFF, "[link_emulated] kernel ", kernel_.name,
            " has more than 65536 places to check");
    return site;
  }

  llvm::Value* slot(Builder& b, llvm::Value* array, unsigned index) {
    return b.CreateConstGEP1_32(b.getInt64Ty(), array, index);
  }
  void store_slot(Builder& b, unsigned index, llvm::Value* value) {
    if (value->getType()->isIntegerTy(1)) value = b.CreateZExt(value, b.getInt8Ty());
    if (value->getType()->isPointerTy()) value = b.CreateAddrSpaceCast(value, b.getPtrTy());
    b.CreateStore(value, slot(b, operands_, index));
  }
  llvm::Value* load_slot(Builder& b, unsigned index, llvm::Type* type) {
    llvm::Value* place = slot(b, results_, index);
    if (type->isIntegerTy(1)) return b.CreateTrunc(b.CreateLoad(b.getInt8Ty(), place), type);
    if (type->isPointerTy()) return b.CreateAddrSpaceCast(b.CreateLoad(b.getPtrTy(), place), type);
    return b.CreateLoad(type, place);
  }
  llvm::Value* host_pointer(Builder& b, const void* pointer) {
    return b.CreateIntToPtr(b.getInt64(reinterpret_cast<std::uintptr_t>(pointer)), b.getPtrTy());
  }
  void call_emulator(Builder& b, const CallSite& site) {
    auto* type =
        llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy(), b.getPtrTy()}, false);
    auto* function = host_pointer(b, reinterpret_cast<const void*>(&run_call));
    b.CreateCall(type, function, {host_pointer(b, &site), operands_, results_});
  }

  void replace(llvm::CallInst& call) {
    std::string name = call.getCalledFunction()->getName().drop_front(3).str();
    CallSite& site = new_site(call, name);
    set_meaning(site);
    Builder b(&call);
    for (unsigned i = 0; i < call.arg_size(); ++i) store_slot(b, i, call.getArgOperand(i));
    call_emulator(b, site);
    llvm::Type* type = call.getType();
    if (type->isStructTy()) {
      llvm::Value* all = llvm::PoisonValue::get(type);
      for (unsigned i = 0; i < type->getStructNumElements(); ++i)
        all = b.CreateInsertValue(all, load_slot(b, i, type->getStructElementType(i)), i);
      call.replaceAllUsesWith(all);
    } else if (!type->isVoidTy()) {
      call.replaceAllUsesWith(load_slot(b, 0, type));
    }
    call.eraseFromParent();
  }

  static void set_meaning(CallSite& site) {
    const std::string& name = site.operation;
    site.meaning = emulator::meaning_named(name);
    site.product = emulator::parse_wgmma(name);
    site.product_wait = emulator::parse_wgmma_wait(name);
    if (site.product) site.meaning = &emulator::wgmma;
    if (site.product_wait) site.meaning = &emulator::wgmma_wait;
    std::size_t digits = name.find_last_not_of("0123456789") + 1;
    if (!site.meaning && digits < name.size()) {
      site.meaning = emulator::meaning_named(name.substr(0, digits) + "N");
      site.number = std::stoi(name.substr(digits));
    }
    if (!site.meaning)
      throw InternalError(concat("[link_emulated] there is no device operation ", name));
  }

  struct Check {
    const char* operation;
    emulator::Meaning meaning;
    llvm::Value* pointer;
    llvm::Type* type;
    llvm::Align alignment;
  };
  // The check before an instruction, if it touches memory that is checked.
  std::optional<Check> check_for(llvm::Instruction& instruction) const {
    std::optional<Check> check;
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
      check = {"load", &emulator::check_load, load->getPointerOperand(), load->getType(),
               load->getAlign()};
    else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
      check = {"store", &emulator::check_store, store->getPointerOperand(),
               store->getValueOperand()->getType(), store->getAlign()};
    else if (auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
      check = {"atomic", &emulator::check_atomic, atomic->getPointerOperand(), atomic->getType(),
               atomic->getAlign()};
    else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
      check = {"atomic", &emulator::check_atomic, exchange->getPointerOperand(),
               exchange->getNewValOperand()->getType(), exchange->getAlign()};
    if (!check) return check;
    unsigned space = check->pointer->getType()->getPointerAddressSpace();
    const emulator::EmulatorOptions& options = kernel_.options;
    if (space == 3 && (options.check_shared || options.report)) return check;
    if (space == 7 && check->meaning != &emulator::check_atomic && options.check_shared) {
      bool loads = check->meaning == &emulator::check_load;
      check->meaning = loads ? &emulator::check_cluster_load : &emulator::check_cluster_store;
      return check;
    }
    if (space != 1 || !(options.ranges || options.report || options.check_global))
      return std::nullopt;
    check->meaning = &emulator::check_global_access;
    return check;
  }

  void add_check(llvm::Instruction& access) {
    Check check = *check_for(access);
    CallSite& site = new_site(access, check.operation);
    site.meaning = check.meaning;
    site.bytes = static_cast<int>(module_.getDataLayout().getTypeStoreSize(check.type));
    site.alignment = static_cast<int>(check.alignment.value());
    Builder b(&access);
    store_slot(b, 0, check.pointer);
    call_emulator(b, site);
  }

  llvm::Module& module_;
  EmulatedKernel& kernel_;
  llvm::LLVMContext& context_;
  llvm::Value* operands_ = nullptr;
  llvm::Value* results_ = nullptr;
};

// Calling convention and attributes speak of NVPTX's parameters and threads.
void drop_device_properties(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.isIntrinsic()) continue;
    function.setCallingConv(llvm::CallingConv::C);
    function.setAttributes({});
    if (!function.isDeclaration()) function.setLinkage(llvm::Function::InternalLinkage);
    for (llvm::User* user : function.users())
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(user)) {
        call->setCallingConv(llvm::CallingConv::C);
        call->setAttributes({});
      }
  }
}

// void body(ptr arguments): eight bytes an argument, as `Argument` holds them.
void add_body(llvm::Module& module, llvm::Function& entry, const std::string& name) {
  llvm::LLVMContext& context = module.getContext();
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                       {llvm::PointerType::get(context, 0)}, false);
  auto* body = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
  Builder b(llvm::BasicBlock::Create(context, "", body));
  llvm::SmallVector<llvm::Value*> arguments;
  for (llvm::Argument& parameter : entry.args()) {
    llvm::Value* place =
        b.CreateConstGEP1_32(b.getInt64Ty(), body->getArg(0), parameter.getArgNo());
    bool is_flag = parameter.getType()->isIntegerTy(1);
    llvm::Value* value = b.CreateLoad(is_flag ? b.getInt8Ty() : parameter.getType(), place);
    arguments.push_back(is_flag ? b.CreateTrunc(value, parameter.getType()) : value);
  }
  b.CreateCall(&entry, arguments);
  b.CreateRetVoid();
}

void require_only_device_operations(const llvm::Module& module, const std::string& kernel) {
  for (const llvm::Function& function : module)
    require(!function.getName().starts_with("llvm.nvvm."), "[link_emulated] kernel ", kernel,
            " calls ", function.getName().str(),
            ", which only a GPU has; device work goes through device operations");
}

}  // namespace

void rewrite_for_host(llvm::Module& module, const std::string& entry, const std::string& body,
                      EmulatedKernel& kernel) {
  require_only_device_operations(module, kernel.name);
  take_meanings_of_inline_asm(module);
  llvm::Function* function = module.getFunction(entry);
  require(function && !function->isDeclaration(), "[link_emulated] the module has no kernel ",
          entry);
  Rewriter rewriter(module, kernel);
  std::vector<llvm::Function*> operations;
  for (llvm::Function& f : module)
    if (f.getName().starts_with("td."))
      operations.push_back(&f);
    else
      rewriter.rewrite(f);
  for (llvm::Function* operation : operations) operation->eraseFromParent();
  llvm::StripDebugInfo(module);  // the lines are with the places of the calls by now
  drop_device_properties(module);
  add_body(module, *function, body);
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream))
    throw InternalError(concat("[link_emulated] ", kernel.name, ": ", problem));
}

}  // namespace tilewright::dsl
