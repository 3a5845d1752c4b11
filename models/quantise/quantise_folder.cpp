#include "models/quantise/quantise_folder.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>

#include "models/decoder/decoder_families.h"
#include "models/encoder/encoder_config.h"
#include "models/files/config_fields.h"
#include "models/files/reader.h"
#include "models/quantise/quant_targets.h"
#include "models/weights/convert.h"
#include "models/weights/safetensors.h"
#include "models/weights/safetensors_writer.h"
#include "models/weights/shard_index.h"
#include "runtime/base/error.h"
#include "runtime/files/atomic_file.h"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view operation = "quantize";
constexpr const char *one_file = "model.safetensors", *index_file = "model.safetensors.index.json",
                     *config_file = "config.json";
constexpr std::int64_t bytes_of_copy = 1 << 22;

const quantising::QuantTarget& target_of(std::string_view format) {
  std::string known;
  for (const quantising::QuantTarget& target : quantising::quant_targets()) {
    if (target.name == format) return target;
    known += concat(known.empty() ? "" : ", ", target.name);
  }
  raise_error(
      concat("[", operation, "] the format is \"", json::excerpt(format), "\"; known are ", known));
}

// Routers stay as they are: a small part of a model that decides much.
std::vector<std::string> routers_of(const ExpertsForm& experts) {
  std::vector<std::string> names = {concat(experts.names.mlp, ".", experts.names.router)};
  if (experts.shared_inner != 0) names.emplace_back("shared_expert_gate");
  return names;
}

// The ends of the names of weights that stay as they are.
struct KeptNames {
  std::vector<std::string> all;      // embeddings, the head's and routers
  std::vector<std::string> routers;  // linear layers, which other readers are to leave alone, too
  bool have(std::string_view name) const {
    return std::ranges::any_of(all, [&](const std::string& kept) {
      return name == kept || name.ends_with(concat(".", kept));
    });
  }
  // As QuantTarget::config has them.
  std::string modules() const {
    std::string list = "[\"lm_head\"";
    for (const std::string& name : routers) list += "," + json::quote(name, operation);
    return list + "]";
  }
};
KeptNames kept_names(const std::string& config, const std::string& what) {
  const ConfigFields fields(config, operation, what);
  require(!fields.has("quantization_config"), "[", operation, "] ", what,
          ": has a quantization_config already; the folder that it was made from is needed");
  const std::string type = fields.text("model_type");
  const auto decoders = decoder_families();
  std::vector<std::string_view> names;
  if (std::ranges::find(decoders, type) != decoders.end()) {
    const DecoderConfig decoder = parse_decoder_config(config, what);
    const bool has_stacks = decoder.experts && (decoder.experts->limit != 0 ||
                                                !decoder.experts->names.stacked_gate_up.empty());
    require(decoder.weights == WeightOrder::out_in && !has_stacks, "[", operation, "] ", what,
            ": model_type is \"", json::excerpt(type), "\", which has ",
            has_stacks ? "stacks of experts" : "weights of [in, out]",
            "; a family with plain linear layers is needed");
    names = {decoder.names.tokens, decoder.names.positions, decoder.names.head};
    KeptNames result;
    if (decoder.experts) result.all = result.routers = routers_of(*decoder.experts);
    for (std::string_view name : names)
      if (!name.empty()) result.all.emplace_back(name);
    return result;
  }
  const EncoderNames encoder = parse_encoder_config(config, what).names;
  KeptNames result{{"lm_head"}, {}};
  for (std::string_view name :
       {encoder.tokens, encoder.positions, encoder.token_types, encoder.relative})
    if (!name.empty()) result.all.emplace_back(name);
  return result;
}

class FolderQuantiser {
 public:
  FolderQuantiser(const fs::path& folder, const quantising::QuantTarget& target,
                  const fs::path& out, const QuantiseFolderOptions& options)
      : folder_(folder), target_(target), out_(out), options_(options) {}

  QuantisedFolder run() {
    auto config = open_model_file(folder_, config_file, operation, files());
    const std::string text = config->text(max_config_bytes, operation);
    kept_ = kept_names(text, config->name());
    dtype_ = dtype_of(text, config->name());
    make_folder();
    if (fs::exists(fs::symlink_status(folder_ / index_file)))
      write_shards();
    else
      write_file(one_file, {});
    copy_others();
    write_config(text);
    return result_;
  }

 private:
  ModelFileOptions files() const { return {.links_may_leave = options_.links_may_leave}; }

  static std::string dtype_of(const std::string& text, const std::string& what) {
    const ConfigFields fields(text, operation, what);
    return fields.text(fields.has("dtype") ? "dtype" : "torch_dtype", "float32");
  }

  void make_folder() const {
    std::error_code error;
    fs::create_directories(out_, error);
    require(!error, "[", operation, "] ", out_.string(), ": cannot be made: ", error.message());
    require(fs::is_empty(out_), "[", operation, "] ", out_.string(),
            ": has files; a new or an empty folder is needed");
  }

  bool is_linear(const SafetensorsEntry& entry) const {
    std::string_view name = entry.name;
    if (!name.ends_with(".weight") || entry.shape.rank() != 2 || !is_floating(entry.dtype) ||
        element_count(entry.shape) == 0)
      return false;
    name.remove_suffix(std::string_view(".weight").size());
    return !kept_.have(name);
  }

  void write_shards() {
    auto file = open_model_file(folder_, index_file, operation, files());
    const weights::ShardIndex index =
        weights::parse_shard_index(file->text(weights::max_index_bytes, operation), file->name());
    for (const auto& [name, count] : index.files) write_file(name, index.file_of);
    std::string text =
        concat("{\"metadata\":{\"total_size\":", result_.bytes_after, "},\"weight_map\":{");
    for (const auto& [tensor, name] : file_of_)
      text += concat(json::quote(tensor, operation), ":", json::quote(name, operation), ",");
    text.back() = '}';
    write_text(index_file, text + "}\n");
  }

  // The file of that name, without tensors that the index places elsewhere.
  void write_file(const std::string& name,
                  const std::map<std::string, std::string, std::less<>>& places) {
    const auto bytes = open_model_file(folder_, name, operation, files());
    const Safetensors file = Safetensors::of(bytes);
    std::vector<const SafetensorsEntry*> entries;
    std::vector<NewTensor> tensors;
    for (const SafetensorsEntry& entry : file.entries()) {
      const auto place = places.find(entry.name);
      if (!places.empty() && (place == places.end() || place->second != name)) continue;
      entries.push_back(&entry);
    }
    // Wide elements first, so that all are aligned.
    std::ranges::stable_sort(entries, std::ranges::greater(), [&](const SafetensorsEntry* entry) {
      return is_linear(*entry) ? 0 : size_bytes(entry->dtype);
    });
    for (const SafetensorsEntry* entry : entries)
      for (NewTensor& tensor : stored(*entry)) {
        file_of_[tensor.name] = name;
        result_.bytes_after += tensor.size_bytes();
        tensors.push_back(std::move(tensor));
      }
    SafetensorsWriter writer(out_ / name, tensors, {{"format", "pt"}});
    for (const SafetensorsEntry* entry : entries) {
      if (options_.progress) options_.progress(entry->name);
      result_.bytes_before += entry->size_bytes;
      const bool linear = is_linear(*entry);
      linear ? quantise(*bytes, *entry, writer) : copy(*bytes, *entry, writer);
      ++(linear ? result_.quantised : result_.kept);
    }
    writer.commit();
  }

  std::vector<NewTensor> stored(const SafetensorsEntry& entry) const {
    if (!is_linear(entry)) return {{entry.name, entry.dtype, entry.shape}};
    return target_.tensors(entry.name, entry.shape, entry.dtype);
  }

  // Calls `take` with the bytes of so many elements, one piece after the other.
  template <typename Take>
  static void for_each_piece(const ForeignFile& file, const SafetensorsEntry& entry,
                             std::int64_t elements, const Take& take) {
    const std::int64_t count = element_count(entry.shape), size = size_bytes(entry.dtype);
    std::vector<std::byte> piece;
    for (std::int64_t begin = 0; begin < count; begin += elements) {
      piece.resize(static_cast<std::size_t>(std::min(elements, count - begin) * size));
      file.read(static_cast<std::size_t>(entry.offset + begin * size), piece, operation);
      take(piece);
    }
  }

  static void copy(const ForeignFile& file, const SafetensorsEntry& entry,
                   SafetensorsWriter& writer) {
    for_each_piece(file, entry, bytes_of_copy / size_bytes(entry.dtype),
                   [&](std::span<const std::byte> piece) { writer.write(piece); });
  }

  void quantise(const ForeignFile& file, const SafetensorsEntry& entry,
                SafetensorsWriter& writer) const {
    quantising::EncodedWeight weight{.shape = entry.shape, .dtype = entry.dtype};
    std::vector<float> values;
    for_each_piece(file, entry, target_.piece(entry.shape), [&](std::span<const std::byte> piece) {
      values.resize(piece.size() / static_cast<std::size_t>(size_bytes(entry.dtype)));
      weights::convert(piece.data(), entry.dtype, values.data(), DType::f32, std::ssize(values));
      require(std::ranges::all_of(values, [](float value) { return std::isfinite(value); }), "[",
              operation, "] tensor \"", json::excerpt(entry.name),
              "\" has numbers that are not finite; they cannot be rounded");
      target_.encode(values, weight);
      writer.write(weight.codes);
    });
    for (const std::vector<std::byte>& bytes : target_.rest(weight)) writer.write(bytes);
  }

  // Tokenizer, settings of generation, and what else lies beside the weights.
  void copy_others() const {
    for (const auto& file : fs::directory_iterator(folder_)) {
      const std::string name = file.path().filename().string();
      const std::string ending = file.path().extension().string();
      const bool is_weights = name == index_file || name == config_file ||
                              ending == ".safetensors" || ending == ".bin" || ending == ".gguf";
      if (!file.is_regular_file() || is_weights) continue;
      auto from = open_model_file(folder_, name, operation, files());
      AtomicFile to(out_ / name, operation);
      std::vector<std::byte> piece;
      for (std::size_t at = 0; at < from->size(); at += piece.size()) {
        piece.resize(std::min<std::size_t>(bytes_of_copy, from->size() - at));
        from->read(at, piece, operation);
        to.write(piece.data(), piece.size());
      }
      to.commit();
    }
  }

  void write_text(const char* name, const std::string& text) const {
    AtomicFile file(out_ / name, operation);
    file.write(text.data(), text.size());
    file.commit();
  }

  void write_config(std::string text) const {
    text.erase(text.find_last_of('}'));
    text.erase(text.find_last_not_of(" \n\r\t") + 1);
    write_text(config_file, concat(text, ",\n  \"quantization_config\": ",
                                   target_.config(dtype_, kept_.modules()), "\n}\n"));
  }

  fs::path folder_;
  const quantising::QuantTarget& target_;
  fs::path out_;
  const QuantiseFolderOptions& options_;
  KeptNames kept_;
  std::string dtype_;
  std::map<std::string, std::string> file_of_;
  QuantisedFolder result_;
};

}  // namespace

std::vector<std::string_view> quantise_formats() {
  std::vector<std::string_view> names;
  for (const quantising::QuantTarget& target : quantising::quant_targets())
    names.push_back(target.name);
  return names;
}

QuantisedFolder quantise_folder(const FilePath& folder, std::string_view format,
                                const FilePath& out, const QuantiseFolderOptions& options) {
  return FolderQuantiser(folder, target_of(format), out, options).run();
}

}  // namespace tilewright
