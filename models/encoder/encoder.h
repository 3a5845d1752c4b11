// A model that reads whole texts, each token seeing all others of its text: BERT, RoBERTa, MPNet,
// ModernBERT, the encoder of T5, by data (encoder_config.h).
//
// Texts lie in lanes (text_lanes.h), several in a row of a batch one behind the other, so that
// texts of different lengths leave little room unused: products have a row for each place,
// whichever text it belongs to, and attention sees keys of the same text alone.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "models/decoder/attention.h"
#include "models/encoder/encoder_config.h"
#include "models/layers/containers.h"
#include "runtime/files/file_path.h"

namespace tilewright {

struct EncoderOptions {
  DType dtype = f32;  // of parameters, whatever the file's
  Init init = Init::none;
  Device device = Device::cpu();
  bool links_may_leave = false;  // of a folder: follow symbolic links out of it, to anywhere
  std::function<void(const LoadProgress&)> progress = {};  // of loading from a folder
};

// The values that the layers of one call share.
struct LanePlaces {
  Tensor texts;  // integers [lanes, places]: which text a place belongs to
  Tensor bias;   // of scores by distance, [1, heads, places, places]; or undefined
  std::vector<RowPositions> turns;  // as EncoderConfig::ropes
};

class EncoderLayer : public Module {
 public:
  EncoderLayer(const EncoderConfig& config, std::int64_t index, LayerOptions options);
  Tensor forward(const Tensor& x, const LanePlaces& places) const;

 private:
  Tensor attend(const Tensor& x, const LanePlaces& places) const;
  Tensor inner(const Tensor& x) const;
  const EncoderConfig& config_;
  LayerAttention own_;
  std::optional<Linear> q_, k_, v_, qkv_, gate_, up_, gate_up_;
  Linear output_, down_;
  std::optional<Norm> attention_norm_;
  Norm mlp_norm_;
};

class Encoder : public Module {
 public:
  // Lanes have up to `max_places` places. Raises `Error` for numbers that do not fit each other.
  explicit Encoder(const EncoderConfig& config, std::int64_t max_places,
                   EncoderOptions options = {});

  // The states of all places after the last layer, f32 [lanes, places, hidden]. Integers
  // [lanes, places]: ids, the row of the table of positions of each, and the number of its text,
  // which differs between the texts of a lane and those places that have none.
  Tensor forward(const Tensor& ids, const Tensor& positions, const Tensor& texts) const;

  const EncoderConfig& config() const { return config_; }
  std::int64_t max_places() const { return max_places_; }
  Device device() const { return tokens_.weight.device(); }

 private:
  const EncoderConfig config_;
  std::int64_t max_places_;
  Embedding tokens_;
  std::optional<Embedding> positions_, token_types_, relative_;
  std::optional<Norm> embedding_norm_, final_norm_;
  ModuleList<EncoderLayer> layers_;
  Tensor bucket_of_distance_;  // i64 [2 max_places - 1], of keys before the row, then behind it
  std::vector<std::unique_ptr<RotaryTable>> rotary_;
};

// From a Hugging Face folder; names with and without the family's prefix ("bert.") are known, heads
// for tasks are passed over. Raises `Error` for whatever is wrong with its files.
std::unique_ptr<Encoder> load_encoder(const FilePath& folder, std::int64_t max_places,
                                      EncoderOptions options = {});

}  // namespace tilewright
