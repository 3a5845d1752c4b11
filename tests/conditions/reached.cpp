#include "tests/conditions/reached.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace tilewright_conditions {
namespace {
constexpr std::size_t most = 1 << 16;
std::atomic<unsigned char> unnoted[most];
}  // namespace

std::atomic<int> wrong{not_asked_yet};
std::atomic<unsigned char>* reached = unnoted;

int begin() {
  if (const char* name = std::getenv("CONDITIONS_REACHED")) {
    int file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0 || ftruncate(file, most) != 0) std::abort();
    void* shared = mmap(nullptr, most, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared == MAP_FAILED) std::abort();
    close(file);
    reached = static_cast<std::atomic<unsigned char>*>(shared);
  }
  const char* number = std::getenv("WRONG_CONDITION");
  int chosen = number ? std::atoi(number) : -1;
  wrong.store(chosen, std::memory_order_release);
  return chosen;
}
}  // namespace tilewright_conditions
