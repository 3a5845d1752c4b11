// Texts to vectors, by a folder of sentence-transformers or of an encoder alone:
//
//   EmbeddingModel model("all-MiniLM-L6-v2");
//   Tensor vectors = model.embed({"A first text.", "Another one."});   // f32 [2, 384]
//
// The encoder (encoder.h) reads many texts in one call, each of its own length (text_lanes.h); a
// text's vector does not depend on the others but for the order of additions. Each size of a call
// has a plan of its own, which is made at its first call; on the host these share programs.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/compile/compile.h"
#include "models/encoder/encoder.h"
#include "models/encoder/sentence_modules.h"
#include "models/encoder/text_lanes.h"
#include "models/tokenizer/tokenizer.h"
#include "runtime/files/file_path.h"
#include "runtime/owned.h"

namespace tilewright {

struct EmbeddingOptions {
  DType dtype = f32;             // of parameters, whatever the file's
  bool links_may_leave = false;  // of a folder: follow symbolic links out of it, to anywhere
  // Tokens of a text, of which more are cut off; absent, or more than the folder says: as the
  // folder says it.
  std::optional<std::int64_t> max_tokens = {};
  // Parameters are not written after loading, so that products may keep copies of them. `dynamic`
  // and `max_sizes` are set for calls of many sizes.
  Options compile = {.freezing = true};
};

struct EmbedOptions {
  // The name of a prompt of the folder, which is put before each text; absent: its default one.
  std::optional<std::string> prompt = {};
};

// Safe to use from several threads, which then take turns.
class EmbeddingModel {
 public:
  // Raises `Error` for whatever is wrong with the files, and for settings that are not used.
  explicit EmbeddingModel(const FilePath& folder, EmbeddingOptions options = {});
  ~EmbeddingModel();
  EmbeddingModel(const EmbeddingModel&) = delete;
  EmbeddingModel& operator=(const EmbeddingModel&) = delete;

  // The vectors of texts, f32 [texts, width()], on the host. Raises `Error` for a prompt that the
  // folder has not, and a text without tokens.
  Tensor embed(std::span<const std::string> texts, const EmbedOptions& options = {});
  Tensor embed(std::initializer_list<std::string> texts, const EmbedOptions& options = {});
  // The ids that the model reads of a text.
  std::vector<TokenId> encode(const std::string& text, const EmbedOptions& options = {}) const;

  std::int64_t width() const { return width_; }
  std::int64_t max_tokens() const { return max_tokens_; }  // of a text
  const Encoder& encoder() const { return *encoder_; }
  const SentenceModules& modules() const { return modules_; }

 private:
  // The arguments of a call of the encoder: a number for each place.
  struct Arguments;
  struct Turn;  // which one thread has
  Arguments arguments(const LaneCall& call, const std::vector<std::vector<TokenId>>& ids) const;
  void run(const LaneCall& call, const std::vector<std::vector<TokenId>>& ids,
           std::span<float> pooled);
  Tensor finished(Tensor vectors);

  SentenceModules modules_;
  Tokenizer tokenizer_;
  std::int64_t max_tokens_ = 0, width_ = 0;
  Owned<Encoder> encoder_;
  std::optional<Compiled> states_;
  std::vector<std::optional<Compiled>> layers_;  // as modules_.steps
  Owned<Turn> turn_;
};

}  // namespace tilewright
