#include "dsl/codegen/gpu/emulate/program_observers.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include "dsl/ir/text/text.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {
namespace {

struct Observers {
  std::mutex mutex;
  std::vector<std::weak_ptr<ProgramObserver>> all;
};

Observers& observers() {
  static Observers& observers = *new Observers;
  return observers;
}

// The file says what the program was chosen for.
void dump_program(const ir::Function& function, const Target& target, const std::string& entry) {
  std::filesystem::path folder = env::dump_programs();
  if (folder.empty()) return;
  std::filesystem::path path = folder / (entry + "." + target.cpu + ".tile");
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

}  // namespace

std::shared_ptr<void> observe_programs(ProgramObserver observer) {
  auto added = std::make_shared<ProgramObserver>(std::move(observer));
  Observers& told = observers();
  std::lock_guard lock(told.mutex);
  std::erase_if(told.all, [](const auto& other) { return other.expired(); });
  told.all.push_back(added);
  return added;
}

void tell_of_program(const ir::Function& function, const Target& target, const std::string& entry) {
  dump_program(function, target, entry);
  std::vector<std::weak_ptr<ProgramObserver>> all;
  {
    std::lock_guard lock(observers().mutex);
    all = observers().all;
  }
  for (const auto& weak : all)
    if (auto observer = weak.lock()) (*observer)(function, target, entry);
}

}  // namespace tilewright::dsl::gpu
