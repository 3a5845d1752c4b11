#include "tests/emulator/emulated.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/Support/SourceMgr.h>

#include <regex>

#include "dsl/codegen/gpu/device/device_ops.h"

namespace tilewright::dsl {
namespace {

std::string declarations_for(const std::string& text) {
  static const std::regex name(R"(@td\.(\w+)\()");
  llvm::LLVMContext context;
  llvm::Module module("declarations", context);
  module.setTargetTriple(llvm::Triple("nvptx64-nvidia-cuda"));
  for (std::sregex_iterator i(text.begin(), text.end(), name), end; i != end; ++i)
    device_op(module, (*i)[1].str());
  std::string declared;
  llvm::raw_string_ostream stream(declared);
  module.print(stream, nullptr);
  return declared;
}

}  // namespace

ParsedModule parse_kernel(const std::string& text) {
  ParsedModule parsed{std::make_unique<llvm::LLVMContext>(), nullptr};
  llvm::SMDiagnostic problem;
  parsed.module =
      llvm::parseAssemblyString(declarations_for(text) + text, problem, *parsed.context);
  if (!parsed.module)
    throw InternalError(concat("line ", problem.getLineNo(), ": ", problem.getMessage().str(), ": ",
                               problem.getLineContents().str()));
  return parsed;
}

std::string kernel_text(const std::string& body) {
  return R"(
define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c, i32 %n) {
  %tid = call i32 @td.thread_id()
  %lane = and i32 %tid, 31
  %warp = lshr i32 %tid, 5
  %shared = call ptr addrspace(3) @td.shared_base()
  br label %begin
begin:
)" + body +
         "}\n";
}

Argument pointer_argument(const void* pointer) {
  Argument argument{};
  argument.pointer = pointer;
  return argument;
}

Argument integer_argument(std::int64_t value) {
  Argument argument{};
  argument.integer = value;
  return argument;
}

void run_emulated(const std::string& text, const KernelShape& shape,
                  const std::vector<Argument>& arguments, std::int64_t blocks,
                  const EmulatorOptions& options) {
  ParsedModule parsed = parse_kernel(text);
  EmulatedLaunch launch =
      link_emulated(std::move(parsed.module), std::move(parsed.context), "k", shape, options);
  std::int64_t grid[3] = {blocks, 1, 1};
  launch(arguments.data(), grid, 0, blocks);
}

std::string fault_of(const std::string& body, int threads, const EmulatorOptions& options,
                     std::int64_t shared_bytes) {
  alignas(64) static std::byte memory[3][64 << 10];
  std::string text = kernel_text(body);
  try {
    run_emulated(text, {threads, shared_bytes},
                 {pointer_argument(memory[0]), pointer_argument(memory[1]),
                  pointer_argument(memory[2]), integer_argument(0)},
                 1, options);
  } catch (const EmulationFault& fault) {
    return fault.what();
  }
  return "no fault";
}

}  // namespace tilewright::dsl
