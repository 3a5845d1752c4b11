#include "dsl/codegen/gpu/program_dump.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "dsl/ir/text.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {

void dump_program(const ir::Function& function, const std::string& entry) {
  std::filesystem::path folder = env::dump_programs();
  if (folder.empty()) return;
  std::filesystem::path path = folder / (entry + ".tile");
  std::error_code problem;
  if (std::filesystem::exists(path, problem)) return;
  std::filesystem::create_directories(folder, problem);
  // Written beside its place and moved there whole: another process may read the folder.
  std::ostringstream unique;
  unique << entry << "." << ::getpid() << "." << std::this_thread::get_id();
  std::filesystem::path part = folder / unique.str();
  std::ofstream file(part);
  file << ir::print(function);
  file.close();
  require(file.good(), "[TILEWRIGHT_DUMP_PROGRAMS] cannot write ", part.string(),
          "; name a folder that can be written");
  std::filesystem::rename(part, path);
}

}  // namespace tilewright::dsl::gpu
