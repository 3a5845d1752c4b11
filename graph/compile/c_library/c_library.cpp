#include "graph/compile/c_library/c_library.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "graph/compile/c_library/c_names.h"
#include "graph/compile/c_library/c_text.h"
#include "graph/compile/c_library/code_archive.h"
#include "runtime/base/error.h"
#include "runtime/code/elf_object.h"
#include "runtime/files/atomic_file.h"
#include "runtime/package/contents_bytes.h"
#include "runtime/package/loaded_package.h"

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using graph::CLibrary;
using graph::CodeArchive;

constexpr std::size_t most_data_bytes = std::size_t{1} << 30, alignment = 64;

// The name of the library, of a source that is called NAME.c.
std::string name_of(const fs::path& source) {
  require(source.extension() == ".c", "[write_c_library] ", source.string(),
          " does not end with .c; name the source file that is to be written");
  const std::string name = source.stem();
  require(std::ranges::all_of(name, graph::is_name_letter) && !graph::is_digit(name.front()),
          "[write_c_library] \"", name,
          "\" is no identifier of C, with which the library's names could begin; take letters, "
          "digits and _");
  return name;
}

// The code of the instruction set that is asked for, of the only one, or of the best one that this
// processor has.
PackageContents contents_of(const FilePath& package, const PackageLoadOptions& options) {
  PackageLoadOptions reading = options;
  reading.verified = true;  // the library has no hashes
  PackageTargets targets = read_package(package, reading);
  const std::string wish = options.instruction_set.empty() && targets.size() == 1
                               ? targets.front().instruction_set
                               : options.instruction_set;
  if (wish.empty()) return LoadedPackage(std::move(targets), package.string()).contents();
  const auto found = std::ranges::find(targets, wish, &PackageContents::instruction_set);
  std::string known;
  for (const PackageContents& contents : targets)
    known += concat(known.empty() ? "" : ", ", contents.instruction_set);
  require(found != targets.end(), "[write_c_library] ", package.string(),
          " has no code for processors with ", wish, "; it has code for ", known);
  return std::move(*found);
}

void require_calls(const PackageKernel& kernel, const PackageBlob& object) {
  const ElfObject elf{{reinterpret_cast<const char*>(object.bytes.data()), object.bytes.size()}};
  for (const Elf64_Sym& symbol : elf.symbols())
    require(elf.name(symbol) != "write_message", "[write_c_library] kernel ", kernel.name,
            " prints, which C libraries do not; take the printing out, or run the package");
}

void require_writable(const PackageContents& contents, const std::string& package) {
  require(contents.instruction_set != "amx", "[write_c_library] ", package,
          " has code for AMX, whose registers a process must ask for; package the model for "
          "avx512_bf16");
  for (const PackageExecutable& executable : contents.executables)
    for (const PackageKernelUse& use : executable.kernels)
      require(use.kind == PackageKernelUse::Kind::code, "[write_c_library] ", package,
              " has loops or branches of the graph, which C libraries do not; run the package");
  for (const PackageKernel& kernel : contents.kernels)
    require_calls(kernel, contents.blobs[kernel.object]);
}

// The blobs that functions read, one behind the other, and the place of each.
std::string data_of(const PackageContents& contents, std::vector<std::size_t>& offsets) {
  std::set<std::uint32_t> read;
  for (const PackageExecutable& executable : contents.executables)
    read.insert(executable.constants.begin(), executable.constants.end());
  for (const PackageFunction& function : contents.functions)
    for (const PackageBinding& binding : function.bindings)
      if (binding.kind == PackageBinding::Kind::blob) read.insert(binding.index);
  std::size_t bytes = 0;
  offsets.assign(contents.blobs.size(), 0);
  for (std::uint32_t blob : read) {
    offsets[blob] = bytes;
    bytes += (contents.blobs[blob].bytes.size() + alignment - 1) / alignment * alignment;
  }
  require(bytes <= most_data_bytes, "[write_c_library] the weights have ", bytes,
          " bytes, and C libraries hold at most ", most_data_bytes, "; run the package");
  std::string data(std::max<std::size_t>(bytes, 1), '\0');
  for (std::uint32_t blob : read) {
    const std::span content = contents.blobs[blob].bytes;
    std::ranges::copy(content, reinterpret_cast<std::byte*>(data.data()) + offsets[blob]);
  }
  return data;
}

void write_file(const fs::path& path, const std::string& text) {
  AtomicFile file(path, "write_c_library");
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace

void write_c_library(const FilePath& package, const FilePath& source,
                     const PackageLoadOptions& options) {
  const fs::path path = source;
  const std::string name = name_of(path);
  const PackageContents contents = contents_of(package, options);
  require_writable(contents, package.string());
  std::vector<std::size_t> offsets;
  const std::string data = data_of(contents, offsets);
  const CLibrary library{name, contents, std::move(offsets)};
  CodeArchive archive(contents.instruction_set == "neon" ? EM_AARCH64 : EM_X86_64);
  for (std::size_t i = 0; i < contents.kernels.size(); ++i)
    archive.add_kernel(library.kernel_symbol(i), contents.blobs[contents.kernels[i].object].bytes);
  archive.add_data(library.data_symbol(), data);
  write_file(path.parent_path() / concat("lib", name, ".a"), archive.bytes());
  write_file(path.parent_path() / (name + ".h"), header_text(library));
  write_file(path, source_text(library));
}

}  // namespace tilewright
