#include "graph/compile/c_library/c_text.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "graph/compile/c_library/c_function.h"
#include "runtime/base/concat.h"
#include "runtime/files/foreign_text.h"

namespace tilewright::graph {
namespace {

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

std::string origin_of(const CLibrary& library) {
  return concat("made by ", shown(library.contents.producer), " for processors with ",
                library.contents.instruction_set);
}

// The features of a processor that it needs, as GCC and Clang call them.
std::vector<std::string_view> features_of(std::string_view instruction_set) {
  if (instruction_set == "sse" || instruction_set == "neon") return {};
  if (instruction_set == "avx2") return {"avx2", "fma"};
  std::vector<std::string_view> features = {"avx512f", "avx512bw", "avx512dq", "avx512vl"};
  if (instruction_set != "avx512") features.insert(features.end(), {"avx512bf16", "avx512vnni"});
  return features;
}

std::string check_of_processor(const CLibrary& library) {
  std::string condition;
  for (std::string_view feature : features_of(library.contents.instruction_set))
    condition +=
        concat(condition.empty() ? "" : " && ", "__builtin_cpu_supports(\"", feature, "\")");
  return concat("static const char* problem_of(const void* workspace) {\n",
                condition.empty() ? ""
                                  : concat("  __builtin_cpu_init();\n  if (!(", condition,
                                           "))\n    return \"this processor lacks ",
                                           library.contents.instruction_set, "\";\n"),
                "  if ((uintptr_t)workspace % 64 != 0)\n"
                "    return \"the workspace does not begin at a multiple of 64 bytes\";\n"
                "  return NULL;\n}\n");
}

}  // namespace

std::string header_text(const CLibrary& library) {
  const std::string guard = upper(library.name) + "_H";
  std::int64_t workspace = 0;
  std::string functions;
  for (std::size_t i = 0; i < library.contents.functions.size(); ++i) {
    const CFunction function(library, i);
    workspace = std::max(workspace, function.workspace_bytes());
    functions += concat("\n", function.comment(), function.prototype(), ";\n");
  }
  return concat("// ", library.name, ": ", origin_of(library),
                ".\n"
                "//\n"
                "// Tensors are row-major. Each function returns null, or the text of what is "
                "wrong. It runs on the\n"
                "// calling thread, allocates nothing and has no state: any number of threads may "
                "call it at once,\n"
                "// each with outputs and a workspace of its own. No output and no input that is "
                "written may share\n"
                "// memory with another tensor. Outputs that begin at a multiple of 64 bytes save "
                "a copy. Link with\n"
                "// lib",
                library.name,
                ".a and -lm.\n"
                "#ifndef ",
                guard, "\n#define ", guard,
                "\n\n#include <stdint.h>\n\n"
                "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
                "// The bytes of a workspace, which begins at a multiple of 64 and need not be "
                "set.\n#define ",
                upper(library.name), "_WORKSPACE_BYTES ", workspace, "\n", functions,
                "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

std::string source_text(const CLibrary& library) {
  std::string text =
      concat("// ", library.name, ": ", origin_of(library), ".\n#include \"", library.name,
             ".h\"\n\n#include <stddef.h>\n#include <string.h>\n\n"
             "typedef union {\n  const void* pointer;\n  uint64_t bits;\n} argument;\n"
             "// Runs the programs from `begin` to before `end` of a grid.\n"
             "typedef void kernel(const argument* arguments, const int64_t* grid, "
             "int64_t begin, int64_t end,\n                    void* scratch);\n\n");
  std::set<std::uint32_t> kernels;
  for (const PackageExecutable& executable : library.contents.executables)
    for (const PackageKernelUse& use : executable.kernels) kernels.insert(use.index);
  for (std::uint32_t kernel : kernels)
    text += concat("extern kernel ", library.kernel_symbol(kernel), ";  // ",
                   shown(library.contents.kernels[kernel].name), ".\n");
  text += concat("extern const char ", library.data_symbol(), "[];  // weights\n\n",
                 check_of_processor(library));
  for (std::size_t i = 0; i < library.contents.functions.size(); ++i)
    text += concat("\n", CFunction(library, i).definition());
  return text;
}

}  // namespace tilewright::graph
