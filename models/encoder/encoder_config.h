// The structure of an encoder (models/encoder/encoder.h), as data: sizes, which parts it has and
// under which names, and the numbers in its formulas.
//
// A family (BERT, MPNet, ModernBERT, T5, ...) is a value of this struct, as those of decoders are
// (decoder_config.h), and a row of a table in encoder_config.cpp. The file is foreign: every number
// has a limit before anything is allocated from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/decoder/decoder_config.h"
#include "models/files/model_file.h"
#include "runtime/files/file_path.h"

namespace tilewright {

// The beginning of errors in an encoder's configuration.
inline constexpr std::string_view encoder_operation = "encoder_config";

// The names that files of weights have for the parts. A part whose name is empty is not there.
struct EncoderNames {
  std::string_view tokens, positions, token_types, embedding_norm, layers, final_norm, relative;
  // Within a layer. Projections are q, k and v, or `qkv`; an MLP has `up`, and maybe a gate, or
  // `gate_up`.
  std::string_view q, k, v, qkv, output, attention_norm;
  std::string_view gate, up, gate_up, down, mlp_norm;
};

struct EncoderConfig {
  std::string family;  // begins the errors of the model
  std::int64_t layers = 0, hidden = 0, intermediate = 0, heads = 0, head_size = 0;
  std::int64_t vocabulary = 0;
  std::int64_t token_types = 0;      // rows of that table, of which all texts have the first
  std::int64_t position_rows = 0;    // of the table of positions
  std::int64_t position_offset = 0;  // the row of a text's first token
  // A token in a text that counts as no position, and has this number's row (RoBERTa's padding).
  std::optional<std::int64_t> uncounted_id;
  std::int64_t max_tokens = 0;  // of a text; 0: any number

  EncoderNames names;
  std::string_view prefix;        // that some files have before all names
  bool norms_before = false;      // x + part(norm(x)); else norm(x + part(x))
  bool norms_first_input = true;  // of norms_before: the attention of the first layer has a norm
  NormKind norm = NormKind::layer;
  double norm_eps = 1e-12;
  Activation activation = Activation::gelu;
  bool attention_bias = true, mlp_bias = true;
  std::optional<double> attention_scale;  // 1 / sqrt(head_size) if absent
  // Biases of scores by distance (Raffel et al. 2020): rows of the table, and the distance from
  // which all share the last one; 0: none.
  std::int64_t relative_buckets = 0, relative_distance = 128;
  std::vector<RopeConfig> ropes;
  std::vector<LayerAttention> layer_attention;  // by layer; a window is the farthest distance + 1

  std::int64_t parameter_count() const;
  LayerAttention attention_of(std::int64_t layer) const;
};

std::vector<std::string_view> encoder_families();  // known as model_type
// Reads the text of a config.json, which is called `what`. Raises `Error` beginning with
// "[encoder_config] what:" for unknown kinds of models, and members that are not used.
EncoderConfig parse_encoder_config(std::string_view text, std::string_view what);
EncoderConfig read_encoder_config(const FilePath& folder, ModelFileOptions options = {});

}  // namespace tilewright
