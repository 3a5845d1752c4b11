#include "tools/ptxas.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>

#include "runtime/base/env.h"
#include "runtime/base/error.h"

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

Assembled assemble_ptx(const dsl::gpu::Ptx& ptx, const std::string& target,
                       const std::string& ptxas) {
  auto folder = std::filesystem::temp_directory_path() /
                fmt::format("tilewright-ptx-{}", static_cast<long>(::getpid()));
  std::filesystem::create_directories(folder);
  auto path = folder / "kernel.ptx";
  std::ofstream(path) << ptx.text;
  std::string command =
      fmt::format("'{}' -v -arch={} -o /dev/null '{}' 2>&1", ptxas, target, path.string());
  Assembled result;
  FILE* pipe = ::popen(command.c_str(), "r");
  require(pipe != nullptr, "[ptx] cannot start ", ptxas);
  std::array<char, 4096> buffer;
  for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    result.messages.append(buffer.data(), n);
  result.ok = ::pclose(pipe) == 0;
  std::filesystem::remove_all(folder);
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
