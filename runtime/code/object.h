// The loader of a host's code: a relocatable ELF object for x86-64 becomes code in this process.
//
// The compiler writes such objects, and the cache folder keeps them; loading one needs neither LLVM
// nor the system's linker. An object holds one kernel and may call the functions that its loader
// names, and no others. Code is mapped readable and executable, constants readable, and neither is
// ever writable at the same time as executable.
//
// Objects may come from files: each offset, size and index in them is checked, and what is not
// understood is an `Error`, never a wrong address.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace tilewright {

// A function that loaded code may call, by its name in the object.
struct CallableFunction {
  std::string_view name;
  const void* address;
};

// The function that every object of a kernel has.
inline constexpr std::string_view kernel_entry = "kernel";

// Loads an object and gives the address of its function `entry`; the last owner unmaps the code.
// `functions` are sorted by name. Thread safe; holds no lock. Raises `Error` beginning with
// "[loading code]" for an object that is damaged, or that names a function or uses a relocation
// that is not known, and `OutOfMemory` where there is no memory for the code.
std::shared_ptr<void> load_object(std::span<const char> object, std::string_view entry,
                                  std::span<const CallableFunction> functions);
// The bytes that loaded code takes, in whole pages; 0 for anything else.
std::int64_t loaded_bytes(const std::shared_ptr<void>& code);

}  // namespace tilewright
