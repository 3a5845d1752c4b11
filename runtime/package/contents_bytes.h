// A package as the bytes of a file.
//
// A header of 64 bytes (magic number, version of the format, sizes, hashes), the plan (all fields
// of the contents of each target), and the blobs, of which equal ones are there once, each from a
// multiple of 64 bytes on, so that they are used where they lie, in the pages of the file. The hash
// of the plan stands in the header, those of the blobs in the plan. They find accidents; against an
// attacker a package is trusted like any program, since its code is run. The hashes of header, plan
// and code are compared at each load, those of weights on request, since that reads all of them.
//
// The reader believes nothing: sizes and places are compared with the bytes that are there, and
// what it returns has passed verify.h. The version of the format is the first thing that is
// compared: it changes with every change of the fields, of the meaning of steps, or of the
// functions that code may call.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "runtime/buffer.h"
#include "runtime/package/contents.h"
#include "runtime/package/load_options.h"

namespace tilewright {

constexpr std::uint32_t package_format = 3;

// Raises `Error` "[save_package] ..." where the file cannot be written. It appears whole or not at
// all.
void write_package(const PackageTargets& targets, const std::filesystem::path& file);
// Raises `Error` "[load_package] FILE: ..." that says what was found, what is wanted, and what
// would help.
PackageTargets read_package(const std::filesystem::path& file,
                            const PackageLoadOptions& options = {});

// The parts of both that know no files. `name` is the file's in messages. The contents refer to the
// memory, which begins at a multiple of 64 bytes, and own it.
std::string package_bytes(const PackageTargets& targets);
enum class WeightHashes : std::uint8_t { ignored, compared };
PackageTargets parse_package(const PackageBlob& file, const std::string& name,
                             WeightHashes weights = WeightHashes::compared);
// The bytes of a file that were read to this buffer.
PackageBlob blob_of(const std::shared_ptr<Buffer>& memory);
// Makes the size and the hashes in the header fit the bytes and the plan. For tests of the checks
// behind the hashes.
void seal_package(std::string& bytes);

}  // namespace tilewright
