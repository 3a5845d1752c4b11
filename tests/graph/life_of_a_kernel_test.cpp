// docs/life_of_a_kernel.md shows what the compiler prints.
//
// A block that begins with ```text STAGE is compared with that stage's output. Lines of it that are
// `...` leave something out; the lines between two of them must be present as they stand, in order.
// Marks of source lines are left out of the output first. For assembly of the host, the
// instructions must come in that order; registers, and the instructions between, are LLVM's to
// choose for a processor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/codegen/host/codegen.h"
#include "dsl/ir/text/text.h"
#include "dsl/passes/pipeline.h"
#include "graph/ir/text.h"
#include "graph/passes/pipeline.h"
#include "graph/regions/text/text.h"
#include "graph/run/plan_body.h"
#include "graph/run/plan_tasks.h"
#include "graph/tensor/capture.h"
#include "tests/source_folder.h"

namespace tilewright::graph::life_of_a_kernel_test {
namespace {

struct Block {
  int line;
  std::string stage;
  std::vector<std::string> chunks;  // between lines of `...`
};

std::vector<Block> blocks_of_page() {
  std::ifstream page(source_folder() / "docs/life_of_a_kernel.md");
  std::vector<Block> blocks;
  int number = 0;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    ++number;
    if (!inside && line.starts_with("```text ")) {
      blocks.push_back({number, line.substr(8), {""}});
      inside = true;
    } else if (line == "```") {
      inside = false;
    } else if (inside && line == "...") {
      blocks.back().chunks.emplace_back();
    } else if (inside) {
      blocks.back().chunks.back() += line + "\n";
    }
  }
  return blocks;
}

std::string without_source_lines(const std::string& text) {
  static const std::regex metadata(", ![a-z.]+ ![0-9]+");
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("\t.loc") && !line.starts_with("$L__tmp"))
      result += std::regex_replace(line, metadata, "") + "\n";
  return result;
}

// The lines to find for a block, in order.
std::vector<std::string> wanted(const Block& block) {
  if (block.stage != "host asm") return block.chunks;
  std::vector<std::string> instructions;
  for (const std::string& chunk : block.chunks) {
    std::istringstream words(chunk);
    for (std::string line; std::getline(words, line);)
      instructions.push_back("\t" + line.substr(1, line.find('\t', 1)));
  }
  return instructions;
}

std::map<std::string, std::string> stages() {
  std::map<std::string, std::string> text;
  Graph graph;
  {
    Capture capture;
    Tensor x = capture.placeholder(f32, {4096, 1000});
    graph = capture.finish({softmax(x, -1)}).graph;
  }
  text["graph"] = print(graph);
  Graph decomposed = run_passes(graph);
  text["decomposed"] = print(decomposed);
  Device device = Device::emulated("sm_90a");
  FusedTasks tasks = fused_tasks(decomposed, {.device = device});
  text["tasks"] = print(tasks.list, tasks.regions);
  ir::Function function = *make_plan(decomposed, {.device = device})->body().functions.at(0);
  text["tile"] = ir::print(function);
  ir::Function for_gpu = function;
  dsl::run_passes(for_gpu, {.target = device.target()});
  text["passes"] = ir::print(for_gpu);
  text["schedule"] = ir::print(dsl::gpu::scheduled(for_gpu, device.target()));
  text["llvm"] = dsl::gpu::gpu_llvm_text(for_gpu, device.target());
  text["ptx"] = dsl::gpu::generate_ptx(for_gpu, device.target()).text;
  dsl::Target host = dsl::host_target();
  if (!host.has_avx512()) return text;
  dsl::run_passes(function, {.target = host});
  text["host passes"] = ir::print(function);
  text["host asm"] = dsl::host_code_text(function, host, "asm");
  return text;
}

TEST(LifeOfAKernel, ThePageShowsWhatTheCompilerPrints) {
  std::map<std::string, std::string> text = stages();
  std::vector<Block> blocks = blocks_of_page();
  EXPECT_GE(blocks.size(), 11U);
  for (const Block& block : blocks) {
    bool is_host = block.stage.starts_with("host");
    ASSERT_TRUE(text.contains(block.stage) || (is_host && !dsl::host_target().has_avx512()))
        << "docs/life_of_a_kernel.md:" << block.line << ": no stage is \"" << block.stage << '"';
    if (!text.contains(block.stage)) continue;
    std::string output = without_source_lines(text.at(block.stage));
    std::size_t from = 0;
    for (const std::string& chunk : wanted(block)) {
      std::size_t at = output.find(chunk, from);
      EXPECT_NE(at, output.npos) << "docs/life_of_a_kernel.md:" << block.line << ": the stage \""
                                 << block.stage << "\" prints no\n"
                                 << chunk;
      if (at != output.npos) from = at + chunk.size();
    }
  }
}

}  // namespace
}  // namespace tilewright::graph::life_of_a_kernel_test
