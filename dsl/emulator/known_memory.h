// The memory that one launch knows: which arrays its arguments are, by name and size.
//
// A kernel that is launched by the arguments of a program (dsl/language/kernel.h) may touch these
// and nothing else, so that an access outside is a fault which can name the array and the index.
// Apart from GlobalRanges (options.h), which holds for all launches of a kernel and knows no names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::dsl::emulator {

struct KnownArray {
  std::string name;  // of the parameter
  const void* begin;
  std::int64_t bytes, element_bytes;
};

// Not changed once it is made; then safe to read from several threads.
class KnownMemory {
 public:
  explicit KnownMemory(std::vector<KnownArray> arrays) : arrays_(std::move(arrays)) {}
  bool contains(const void* address, std::int64_t bytes) const;
  // Describes an access outside: "out of bounds: index 100 of x, which has 100 elements". The array
  // named is the nearest one.
  std::string fault(const void* address) const;

 private:
  std::vector<KnownArray> arrays_;
};

// For the life of the object, blocks that the calling thread emulates may touch this memory alone,
// where their code looks (EmulatorOptions::check_global). Null: any.
class KnownMemoryScope {
 public:
  explicit KnownMemoryScope(const KnownMemory* memory);
  ~KnownMemoryScope();
  KnownMemoryScope(const KnownMemoryScope&) = delete;
  KnownMemoryScope& operator=(const KnownMemoryScope&) = delete;

 private:
  const KnownMemory* outer_;
};
const KnownMemory* known_memory();  // of the calling thread

}  // namespace tilewright::dsl::emulator
