#include "runtime/package/contents_bytes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/out_of_memory.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/regular_file.h"
#include "runtime/package/content_hash.h"
#include "runtime/package/contents_fields.h"
#include "runtime/package/field_reader.h"
#include "runtime/package/field_writer.h"
#include "runtime/package/verify.h"

namespace tilewright {
namespace {

constexpr std::array<char, 8> magic = {'\x89', 'T', 'W', 'P', '\r', '\n', '\x1a', '\n'};
constexpr std::size_t alignment = 64;
constexpr std::size_t most_bytes = std::size_t{1} << 40;
constexpr const char* copy_again =
    "; the file is damaged or was cut off: copy it again, or package the model again";

struct PackageHeader {
  std::array<char, 8> magic;
  std::uint32_t format, header_bytes;
  std::uint64_t file_bytes, plan_bytes;
  Hash plan, header;  // hashes: of the plan, and of the header before this one
};
static_assert(sizeof(PackageHeader) == 64 && std::is_trivially_copyable_v<PackageHeader>);

std::size_t padded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

Hash hash_of_header(const PackageHeader& header) {
  return hash_of_content(
      std::as_bytes(std::span(&header, 1)).first(offsetof(PackageHeader, header)));
}

struct BlobEntry {
  std::uint64_t bytes = 0;
  Hash hash;
};
template <typename Fields, typename Entries>
void blob_entries(Fields& f, Entries& entries) {
  f.list(entries, "list of blobs", [&](auto& entry) {
    f.number(entry.bytes, "size of a blob");
    f.number(entry.hash.high, "hash of a blob");
    f.number(entry.hash.low, "hash of a blob");
  });
}

// The blobs of all targets, equal ones once.
class FileBlobs {
 public:
  std::uint32_t number_of(const PackageBlob& blob) {
    const Hash hash = hash_of_content(blob.bytes);
    const auto [first, last] = numbers_.equal_range({hash.high, hash.low});
    const auto known = std::find_if(first, last, [&](const auto& entry) {
      return std::ranges::equal(blobs_[entry.second].bytes, blob.bytes);
    });
    if (known != last) return known->second;
    const auto number = static_cast<std::uint32_t>(blobs_.size());
    numbers_.insert({{hash.high, hash.low}, number});
    blobs_.push_back(blob);
    entries_.push_back({blob.bytes.size(), hash});
    return number;
  }
  const std::vector<PackageBlob>& blobs() const { return blobs_; }
  const std::vector<BlobEntry>& entries() const { return entries_; }

 private:
  std::multimap<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> numbers_;  // by hash
  std::vector<PackageBlob> blobs_;
  std::vector<BlobEntry> entries_;
};

// A target in the file: its blobs are numbers of the file's.
template <typename Contents>
struct TargetEntry {
  std::vector<std::uint32_t> blobs;
  Contents contents;
};
template <typename Fields, typename Entries>
void target_entries(Fields& f, Entries& entries) {
  f.list(entries, "list of targets", [&](auto& entry) {
    f.list(entry.blobs, "blobs of a target", [&](auto& blob) { f.number(blob, "blob"); });
    package_fields::contents(f, entry.contents);
  });
}

std::string plan_of(const PackageTargets& targets, FileBlobs& blobs) {
  std::vector<TargetEntry<const PackageContents&>> entries;
  for (const PackageContents& contents : targets) {
    std::vector<std::uint32_t> numbers;
    for (const PackageBlob& blob : contents.blobs) numbers.push_back(blobs.number_of(blob));
    entries.push_back({std::move(numbers), contents});
  }
  FieldWriter fields;
  blob_entries(fields, blobs.entries());
  target_entries(fields, std::as_const(entries));
  return fields.bytes();
}

PackageHeader header_of(std::string_view plan, std::size_t file_bytes) {
  PackageHeader header{magic, package_format, sizeof(PackageHeader), file_bytes, plan.size(), {},
                       {}};
  header.plan = hash_of_content(std::as_bytes(std::span(plan)));
  header.header = hash_of_header(header);
  return header;
}

// Hands out the bytes of the file from its begin to its end.
template <typename Write>
void write_parts(const PackageTargets& targets, const Write& write) {
  FileBlobs blobs;
  const std::string plan = plan_of(targets, blobs);
  std::size_t file_bytes = sizeof(PackageHeader) + plan.size();
  for (const PackageBlob& blob : blobs.blobs()) file_bytes = padded(file_bytes) + blob.bytes.size();
  const PackageHeader header = header_of(plan, file_bytes);
  write(&header, sizeof header);
  write(plan.data(), plan.size());
  std::size_t at = sizeof header + plan.size();
  static constexpr std::array<char, alignment> zeros{};
  for (const PackageBlob& blob : blobs.blobs()) {
    write(zeros.data(), padded(at) - at);
    write(blob.bytes.data(), blob.bytes.size());
    at = padded(at) + blob.bytes.size();
  }
}

void require_header(const PackageHeader& header, std::size_t file_bytes) {
  require(header.magic == magic,
          "it is no package; packages are made by save_package() and by "
          "`tilewright package`");
  require(header.format == package_format, "its format is number ", header.format,
          ", and this version of the library reads number ", package_format,
          "; package the model again with this version, or run it with the one that made it");
  require(header.header == hash_of_header(header) && header.header_bytes == sizeof header,
          "the hash of its header is ", hash_of_header(header).hex(), ", and should be ",
          header.header.hex(), copy_again);
  require(header.file_bytes == file_bytes, "it has ", file_bytes, " bytes, and should have ",
          header.file_bytes, copy_again);
  require(header.plan_bytes <= file_bytes - sizeof header, "its plan has ", header.plan_bytes,
          " bytes, in a file of ", file_bytes, copy_again);
}

std::vector<PackageBlob> blobs_of(const std::vector<BlobEntry>& entries, std::size_t at,
                                  const PackageBlob& file) {
  const std::span all = file.bytes;
  std::vector<PackageBlob> blobs;
  for (const BlobEntry& entry : entries) {
    at = padded(at);
    require(at <= all.size() && entry.bytes <= all.size() - at, "blob ", blobs.size(), " has ",
            entry.bytes, " bytes, of which ", all.size() - std::min(at, all.size()), " are there",
            copy_again);
    blobs.push_back({all.subspan(at, entry.bytes), file.owner});
    at += entry.bytes;
  }
  require(at == all.size(), "it has ", all.size(), " bytes, of which ", at, " are used",
          copy_again);
  return blobs;
}

void require_hash(const std::vector<BlobEntry>& entries, const std::vector<PackageBlob>& blobs,
                  std::size_t number) {
  const Hash hash = hash_of_content(blobs[number].bytes), wanted = entries[number].hash;
  require(hash == wanted, "the hash of blob ", number, " is ", hash.hex(), ", and should be ",
          wanted.hex(), copy_again);
}

// The contents of each target, with its blobs of the file.
PackageTargets targets_of(std::vector<TargetEntry<PackageContents>>& entries,
                          const std::vector<PackageBlob>& blobs) {
  std::vector<bool> is_used(blobs.size());
  PackageTargets targets;
  for (auto& [numbers, contents] : entries) {
    for (std::uint32_t number : numbers) {
      require(number < blobs.size(), "blob ", number, " is named, of ", blobs.size());
      is_used[number] = true;
      contents.blobs.push_back(blobs[number]);
    }
    targets.push_back(std::move(contents));
  }
  require(std::ranges::find(is_used, false) == is_used.end(), "a blob is used by nothing");
  return targets;
}

PackageTargets parse(const PackageBlob& file, WeightHashes weights) {
  PackageHeader header;
  require(file.bytes.size() >= sizeof header, "it has ", file.bytes.size(),
          " bytes, and the header of a package has ", sizeof header, copy_again);
  std::memcpy(&header, file.bytes.data(), sizeof header);
  require_header(header, file.bytes.size());
  const std::span plan = file.bytes.subspan(sizeof header, header.plan_bytes);
  const Hash hash = hash_of_content(plan);
  require(hash == header.plan, "the hash of its plan is ", hash.hex(), ", and should be ",
          header.plan.hex(), copy_again);
  FieldReader fields(plan);
  std::vector<BlobEntry> entries;
  blob_entries(fields, entries);
  std::vector<TargetEntry<PackageContents>> parts;
  target_entries(fields, parts);
  require(fields.is_at_end(), "its plan goes on behind the last field", copy_again);
  const std::vector<PackageBlob> blobs = blobs_of(entries, sizeof header + plan.size(), file);
  PackageTargets targets = targets_of(parts, blobs);
  verify(targets);
  std::vector<bool> is_compared(blobs.size(), weights == WeightHashes::compared);
  for (std::size_t i = 0; i < targets.size(); ++i)
    for (const PackageKernel& kernel : targets[i].kernels)
      is_compared[parts[i].blobs[kernel.object]] = true;
  for (std::size_t i = 0; i < blobs.size(); ++i)
    if (is_compared[i]) require_hash(entries, blobs, i);
  return targets;
}

}  // namespace

void write_package(const PackageTargets& targets, const std::filesystem::path& file) {
  try {
    verify(targets);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    throw InternalError(concat("[save_package] ", error.what()));
  }
  AtomicFile out(file, "save_package");
  write_parts(targets, [&](const void* data, std::size_t bytes) {
    if (bytes > 0) out.write(data, bytes);
  });
  out.commit();
}

std::string package_bytes(const PackageTargets& targets) {
  std::string bytes;
  write_parts(targets, [&](const void* data, std::size_t count) {
    bytes.append(static_cast<const char*>(data), count);
  });
  return bytes;
}

PackageBlob blob_of(const std::shared_ptr<Buffer>& memory) {
  return {{static_cast<const std::byte*>(memory->data()),
           static_cast<std::size_t>(memory->size_bytes())},
          memory};
}

void seal_package(std::string& bytes) {
  PackageHeader header;
  if (bytes.size() < sizeof header) return;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.plan_bytes <= bytes.size() - sizeof header)
    header.plan =
        hash_of_content(std::as_bytes(std::span(bytes).subspan(sizeof header, header.plan_bytes)));
  header.file_bytes = bytes.size();
  header.header = hash_of_header(header);
  std::memcpy(bytes.data(), &header, sizeof header);
}

PackageTargets parse_package(const PackageBlob& file, const std::string& name,
                             WeightHashes weights) {
  try {
    return parse(file, weights);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    raise_error(concat("[load_package] ", name, ": ", error.what()));
  }
}

PackageTargets read_package(const std::filesystem::path& file, const PackageLoadOptions& options) {
  const auto weights = options.verified ? WeightHashes::compared : WeightHashes::ignored;
  if (!options.copied)
    if (const auto mapped = map_regular_file(file, "load_package", most_bytes))
      return parse_package({mapped->bytes, mapped->owner}, file.string(), weights);
  std::shared_ptr<Buffer> memory;
  read_regular_file(file, "load_package", most_bytes, [&](std::size_t bytes) {
    memory = Buffer::allocate(static_cast<std::int64_t>(bytes));
    return static_cast<char*>(memory->data());
  });
  return parse_package(blob_of(memory), file.string(), weights);
}

}  // namespace tilewright
