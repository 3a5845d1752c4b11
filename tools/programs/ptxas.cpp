#include "tools/programs/ptxas.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/gpu_code.h"
#include "tools/console/temporary_folder.h"
#include "tools/measure/program_output.h"

namespace tilewright::tools {
namespace {

int count_of(const std::string& text, const char* pattern) {
  std::regex expression(pattern);
  return static_cast<int>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), expression), {}));
}

}  // namespace

std::string default_ptxas() {
  std::string path = env::ptxas();
  return path.empty() ? "ptxas" : path;
}

static Assembled assemble_text(const std::string& ptx, const std::string& target,
                               const Assembler& assembler) {
  const TemporaryFolder folder("ptx", std::filesystem::temp_directory_path() / "tilewright-ptx-");
  std::string path = folder.path() / "kernel.ptx", code = folder.path() / "kernel.cubin";
  std::ofstream(path) << ptx;
  Assembled result;
  ProgramOutput assembled =
      output_of({assembler.ptxas, "-v", "-arch=" + target, "-o", code, path}, "ptx");
  result.messages = std::move(assembled.text);
  result.ok = assembled.ok;
  if (result.ok && !assembler.nvdisasm.empty()) {
    ProgramOutput disassembled = output_of({assembler.nvdisasm, "-c", code}, "ptx");
    result.sass = std::move(disassembled.text);
    result.is_disassembled = disassembled.ok;
    require(result.is_disassembled, "[ptx] ", assembler.nvdisasm, " failed: ", result.sass);
    result.loops = key_loops(result.sass);
    result.local_accesses = count_of(result.sass, R"(\b(LDL|STL)\b)");
  }
  std::smatch match;
  if (std::regex_search(result.messages, match, std::regex("Used ([0-9]+) registers")))
    result.registers = std::stoi(match[1]);
  if (std::regex_search(result.messages, match, std::regex("([0-9]+) bytes spill stores")))
    result.spill_bytes = std::stoi(match[1]);
  std::regex warning(R"([^\n]*\(C75\d\d\)[^\n]*)");
  const std::string& text = result.messages;
  for (std::sregex_iterator i(text.begin(), text.end(), warning), end; i != end; ++i)
    result.warnings.push_back(i->str());
  return result;
}

Assembled assemble_ptx(const dsl::gpu::Ptx& ptx, const std::string& target,
                       const Assembler& assembler) {
  Assembled first = assemble_text(ptx.text, target, assembler);
  auto text = first.spill_bytes > 0 ? with_all_registers(ptx.text, ptx.threads) : std::nullopt;
  if (!text) return first;
  Assembled other = assemble_text(*text, target, assembler);
  return other.ok && other.spill_bytes == 0 ? other : first;
}

std::vector<LoopInstructions> key_loops(const std::string& sass) {
  std::vector<std::string> instructions;      // the first word of each
  std::map<std::string, std::size_t> labels;  // the instruction that follows
  std::vector<std::pair<std::size_t, std::size_t>> loops;
  std::regex label(R"(^\s*(\.L_x_\d+):)"), branch(R"(\bBRA\b.*`\((\.L_x_\d+)\))");
  std::regex instruction(R"(^\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\d\s+)?([A-Z][A-Z0-9]*)[^;]*;)");
  std::stringstream lines(sass);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, match, label)) labels[match[1]] = instructions.size();
    if (!std::regex_search(line, match, instruction)) continue;
    instructions.push_back(match[1]);
    if (std::regex_search(line, match, branch) && labels.contains(match[1]))
      loops.emplace_back(labels[match[1]], instructions.size());
  }
  std::vector<LoopInstructions> result;
  for (auto [begin, end] : loops) {
    bool innermost = std::ranges::none_of(loops, [&](const auto& other) {
      return other.first >= begin && other.second < end && other.second - other.first > 8;
    });
    LoopInstructions loop;
    for (std::size_t i = begin; i < end; ++i)
      for (const char* key :
           {"HGMMA", "IGMMA", "HMMA", "IMMA", "UTMALDG", "UTMASTG", "LDGSTS", "LDSM", "LDL", "STL"})
        if (instructions[i] == key) ++loop.counts[key];
    if (!innermost || loop.counts.empty()) continue;
    loop.counts["instructions"] = static_cast<int>(end - begin);
    result.push_back(std::move(loop));
  }
  return result;
}

std::vector<std::pair<std::string, int>> instruction_mix(const std::string& text) {
  std::map<std::string, int> counts;
  std::regex line(R"((?:^|\n)\s*(?:@!?%p\d+\s+)?([a-z][a-z0-9_]*)((?:\.[a-z0-9_:]+)?)[^;]*;)");
  for (std::sregex_iterator i(text.begin(), text.end(), line), end; i != end; ++i)
    ++counts[(*i)[1].str() + (*i)[2].str()];
  std::vector<std::pair<std::string, int>> mix(counts.begin(), counts.end());
  std::ranges::stable_sort(mix, std::greater{}, &std::pair<std::string, int>::second);
  return mix;
}

KeyInstructions key_instructions(const std::string& text) {
  KeyInstructions result;
  result.mma = count_of(text, R"(\bmma\.sync)");
  result.wgmma = count_of(text, R"(\bwgmma\.mma_async)");
  result.tma = count_of(text, R"(\bcp\.async\.bulk)");
  result.wide_accesses =
      count_of(text, R"(\b(ld|st)\.global[a-z_.:A-Z0-9]*\.v(4\.[a-z]32|2\.[a-z]64))") +
      count_of(text, R"(\bcp\.async\.cg\.shared\.global)");
  result.accesses = count_of(text, R"(\b(ld|st)\.global)") +
                    count_of(text, R"(\bcp\.async\.c[ag]\.shared\.global)");
  return result;
}

}  // namespace tilewright::tools
