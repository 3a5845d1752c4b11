#include "runtime/package/merge.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/cpu/instruction_sets.h"
#include "runtime/package/contents_bytes.h"
#include "runtime/package/verify.h"

namespace tilewright {
namespace {

struct Source {
  std::string file;
  PackageContents contents;
};

// "x f32 4x8 (written in place)".
std::string text_of(const PackageTensor& tensor) {
  return concat(tensor.name, " ", tensor.dtype, " ", tensor.shape,
                tensor.is_written ? " (written in place)" : "");
}
std::string text_of(const std::vector<PackageTensor>& tensors) {
  std::string text;
  for (const PackageTensor& tensor : tensors)
    text += concat(text.empty() ? "" : ", ", text_of(tensor));
  return concat("(", text, ")");
}
std::string text_of(const PackageFunction& function) {
  return concat(text_of(function.inputs), " -> ", text_of(function.outputs));
}

void require_same_signatures(const Source& a, const Source& b) {
  if (have_same_signatures(a.contents, b.contents)) return;
  const auto &one = a.contents.functions, &other = b.contents.functions;
  require(one.size() == other.size(), "[merge_packages] ", a.file, " has ", one.size(),
          " functions, and ", b.file, " has ", other.size(),
          "; package the model for the same sizes");
  for (std::size_t i = 0; i < one.size(); ++i)
    require(one[i].inputs == other[i].inputs && one[i].outputs == other[i].outputs,
            "[merge_packages] function ", i, " of ", a.file, " is ", text_of(one[i]),
            ", and that of ", b.file, " is ", text_of(other[i]),
            "; package one model, for the same sizes in the same order");
}

// Some weights may differ: those that were computed while the model was loaded, by code for
// different processors.
void require_same_weights(const Source& a, const Source& b) {
  for (std::size_t i = 0; i < a.contents.functions.size(); ++i) {
    const auto &one = a.contents.functions[i].weights, &other = b.contents.functions[i].weights;
    require(one.size() == other.size() &&
                (one.empty() || std::ranges::find_first_of(one, other) != one.end()),
            "[merge_packages] ", a.file, " and ", b.file,
            " are of different models: they have no weight in common; package one model");
  }
}

}  // namespace

void merge_packages(const std::vector<FilePath>& files, const FilePath& output) {
  require(!files.empty(), "[merge_packages] no package is named");
  std::vector<Source> sources;
  for (const FilePath& file : files)
    for (PackageContents& contents : read_package(file, {.verified = true}))
      sources.push_back({file.string(), std::move(contents)});
  std::ranges::stable_sort(sources, {}, [](const Source& source) {
    return std::ranges::find(instruction_sets, source.contents.instruction_set);
  });
  for (std::size_t i = 1; i < sources.size(); ++i) {
    const Source &a = sources[i - 1], &b = sources[i];
    require(a.contents.instruction_set != b.contents.instruction_set, "[merge_packages] ", a.file,
            " and ", b.file, " both have code for processors with ", a.contents.instruction_set,
            "; name packages that were made with different settings of TILEWRIGHT_CPU");
    require_same_signatures(sources.front(), b);
    require_same_weights(sources.front(), b);
  }
  PackageTargets targets;
  for (Source& source : sources) targets.push_back(std::move(source.contents));
  write_package(targets, output);
}

}  // namespace tilewright
