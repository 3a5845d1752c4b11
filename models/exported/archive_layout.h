// The two layouts that torch.export.save has had: in which entries a program and its tensors are.
//
//   PyTorch 2.6, 2.7: serialized_exported_program.json, and tensors in files of torch.save, which
//                     are archives within the archive (serialized_state_dict.pt, ..._constants.pt)
//   2.8 and later:    models/model.json, and tensors as bytes, with tables (data/weights, ...)
//
// The program itself has the same schema in both.
#pragma once

#include <cstdint>
#include <string>

#include "models/exported/archive.h"

namespace tilewright::exported {

enum class ArchiveLayout : std::uint8_t { torch_saved, tables };

ArchiveLayout layout_of(const Archive& archive);
// The JSON of the program. Raises `Error` where the archive has none of either layout.
std::string program_text(const Archive& archive);
// Raises `Error` where an archive, or one within it, says that its bytes have another order.
void require_little_endian(const Archive& archive);

}  // namespace tilewright::exported
