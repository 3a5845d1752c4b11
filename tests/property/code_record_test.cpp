// The code that is made of some 80 programs is on record, for hosts and GPUs, as hashes: a change
// that is not meant to alter what is generated shows here where it does, also where results stay
// right and only the time would have told. After an intended change, TILEWRIGHT_UPDATE_GOLDEN=1
// writes the record again; the commit says what differs and why.
//
// TILEWRIGHT_CODE_FOLDER=DIR writes the texts themselves, a file a program and target, so that two
// builds are compared by `diff -r`. A line of the record is: target, program, hash of the launch
// and of the tile IR after all passes, hash of LLVM IR. The latter is LLVM's as well as ours, and
// compared only where the record was written with the LLVM that is linked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/Config/llvm-config.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/codegen/host/codegen.h"
#include "dsl/ir/text/text.h"
#include "dsl/passes/pipeline.h"
#include "runtime/base/env.h"
#include "runtime/cpu/parallel.h"
#include "tests/property/code_programs.h"
#include "tests/source_folder.h"

namespace tilewright::code_record_test {
namespace {

namespace fs = std::filesystem;

struct Hashes {
  std::string tile, code;
};
using Record = std::map<std::string, Hashes>;  // by target and program

fs::path record_file() { return source_folder() / "tests/property/code_record.txt"; }

struct WrittenRecord {
  std::string llvm;
  Record lines;
};

WrittenRecord read_record() {
  std::ifstream in(record_file());
  WrittenRecord record;
  std::string target, program, word;
  in >> word >> record.llvm;
  Hashes hashes;
  while (in >> target >> program >> hashes.tile >> hashes.code)
    record.lines[target + " " + program] = hashes;
  return record;
}

void write_record(const std::string& target, const Record& made) {
  WrittenRecord record = read_record();
  std::erase_if(record.lines,
                [&](const auto& line) { return line.first.starts_with(target + " "); });
  record.lines.insert(made.begin(), made.end());
  std::ofstream out(record_file());
  out << "llvm " << LLVM_VERSION_STRING << "\n";
  for (const auto& [name, hashes] : record.lines)
    out << name << " " << hashes.tile << " " << hashes.code << "\n";
}

// Without the lines of sources, which move with every edit: metadata and what refers to it.
std::string without_metadata(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("!") || line.starts_with("source_filename") || line.starts_with(";"))
      continue;
    for (std::size_t at = 0; (at = line.find(" !", at)) != line.npos;) {
      std::size_t end = at + 2;
      auto word = [&](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '.'; };
      while (end < line.size() && word(line[end])) ++end;
      if (line.compare(end, 2, " !") == 0)
        for (end += 2; end < line.size() && std::isdigit(static_cast<unsigned char>(line[end]));)
          ++end;
      std::size_t begin = at > 0 && line[at - 1] == ',' ? at - 1 : at;
      line.erase(begin, end - begin);
      at = begin;
    }
    result += line + "\n";
  }
  return result;
}

std::string short_hash(const std::string& text) {
  return Hasher().add(text).finish().hex().substr(0, 12);
}

dsl::Target target_by(const std::string& name) {
  dsl::Target target = dsl::target_named(name);
  if (target.is_gpu()) return target;
  target.has_fast_pairs = target.has_dots;  // these two are of the processor at hand
  target.reads_ahead = true;
  return target;
}

void add(const CodeProgram& program, const std::string& name, const dsl::Target& target,
         Record& record) {
  SCOPED_TRACE(program.name);
  ir::Function function = program.function;
  dsl::run_passes(function, {.target = target});
  std::string tile = program.launch + "\n" + ir::print(function), code;
  code = without_metadata(target.is_gpu() ? dsl::gpu::gpu_llvm_text(function, target)
                                          : dsl::host_code_text(function, target, "llvm"));
  record[name + " " + program.name] = {short_hash(tile), short_hash(code)};
  if (env::code_folder().empty()) return;
  const fs::path folder = fs::path(env::code_folder()) / name;
  fs::create_directories(folder);
  std::ofstream(folder / (program.name + ".tile")) << tile;
  std::ofstream(folder / (program.name + ".ll")) << code;
}

class CodeRecord : public testing::TestWithParam<const char*> {};

TEST_P(CodeRecord, IsWhatIsGenerated) {
  const std::string name = GetParam();
  const dsl::Target target = target_by(name);
  int threads = thread_count();
  set_thread_count(2);
  Record made;
  for (auto programs : {programs_of_models, programs_of_random_graphs})
    if (target.is_gpu())
      for (const CodeProgram& program : programs(target)) add(program, name, target, made);
  for (const CodeProgram& program : random_tile_programs_for(target))
    add(program, name, target, made);
  set_thread_count(threads);
  EXPECT_GT(made.size(), target.is_gpu() ? 100U : 10U);
  if (env::update_golden()) write_record(name, made);
  WrittenRecord record = read_record();
  bool same_llvm = record.llvm == LLVM_VERSION_STRING;
  std::vector<std::string> differs;
  for (const auto& [program, hashes] : made) {
    auto found = record.lines.find(program);
    if (found == record.lines.end())
      differs.push_back(program + ": not on record");
    else if (found->second.tile != hashes.tile)
      differs.push_back(program + ": tile IR or launch");
    else if (same_llvm && found->second.code != hashes.code)
      differs.push_back(program + ": LLVM IR");
  }
  EXPECT_THAT(differs, testing::IsEmpty()) << "see the top of this file";
}

// Whatever a host, and the oldest and the newest GPU of each family.
INSTANTIATE_TEST_SUITE_P(Of, CodeRecord,
                         testing::Values("sse", "avx2", "avx512", "avx512_bf16", "amx", "sm_80",
                                         "sm_89", "sm_90a", "sm_120"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tilewright::code_record_test
