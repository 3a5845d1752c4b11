#include "models/exported/archive_layout.h"

#include "models/exported/program/program.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

constexpr std::string_view saved_program = "serialized_exported_program.json";

// Says what an archive without a program is, by its other contents, and what to do.
std::string_view what_it_is(const Archive& archive) {
  if (archive.find("data.pkl") == nullptr)
    return "it is not a program that torch.export.save wrote, or has several or another name than "
           "\"model\"";
  if (archive.find("constants.pkl") != nullptr)
    return "it looks like TorchScript, as torch.jit.save writes it; export the model "
           "(torch.export.export) and write that with torch.export.save";
  return "it looks like weights or a pickled module, as torch.save writes them; export the model "
         "(torch.export.export) and write that with torch.export.save";
}

}  // namespace

ArchiveLayout layout_of(const Archive& archive) {
  return archive.find(saved_program) != nullptr ? ArchiveLayout::torch_saved
                                                : ArchiveLayout::tables;
}

std::string program_text(const Archive& archive) {
  const bool is_saved = layout_of(archive) == ArchiveLayout::torch_saved;
  const ArchiveEntry* program = archive.find(is_saved ? saved_program : "models/model.json");
  require(program != nullptr, "[load_exported] ", archive.file()->name(),
          ": has no entry \"models/model.json\"; ", what_it_is(archive));
  return archive.text(*program, program_limits().text_bytes);
}

void require_little_endian(const Archive& archive) {
  const ArchiveEntry* byte_order = archive.find("byteorder");
  require(byte_order == nullptr || archive.text(*byte_order, 100) == "little", "[load_exported] ",
          archive.file()->name(), ": its bytes are in another order than little endian");
}

}  // namespace tilewright::exported
