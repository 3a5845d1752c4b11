// Lesson 14, preprocessing inside a compiled function. You learn to take what usually stands before
// a model into the function that is compiled with it: text becomes ids, and an image of bytes is
// resized, normalised and changed by chance. Each step is an operation of one's own, and each of
// another kind:
//
//   tokenise    C++ on the host's memory (a GPU cannot run it: there, do that before the call)
//   resize      a kernel
//   normalise   an elementwise function, which fuses with its neighbours
//   augment     operations on tensors, which fuse too
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build && build/preprocessing
#include <tilewright/tilewright.h>
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

namespace tw = tilewright;
using namespace tilewright::dsl;

namespace {

using Types = std::span<const tw::TensorType>;
using Buffers = std::span<const tw::BufferView>;

const tw::Tokenizer tokenizer = tw::Tokenizer::parse(R"({
  "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"},
  "model": {"type": "WordLevel", "unk_token": "?",
            "vocab": {"?": 0, "a": 1, "bright": 2, "disc": 3, "dark": 4, "ground": 5, "on": 6}}
})",
                                                     "the lesson's words");
constexpr std::int64_t most_words = 8;

// Text of any length, as bytes; ids of so many words, filled up with 0.
const tw::CustomOp tokenise = tw::custom_op(
    "tokenise",
    [](Types) {
      return std::vector{tw::TensorType{tw::i64, {most_words}}};
    },
    tw::BufferFunction([](Buffers operands, Buffers results) {
      auto bytes = operands[0].elements<const std::uint8_t>();
      auto ids = results[0].elements<std::int64_t>();
      std::vector<tw::TokenId> found = tokenizer.encode(std::string(bytes.begin(), bytes.end()));
      std::ranges::fill(ids, 0);
      std::copy_n(found.begin(), std::min(found.size(), ids.size()), ids.begin());
    }));

// Between which elements of an axis a place of another size lies, and how near to the second.
struct Between {
  Tile low, high, share;
  Between(const Tile& place, const Tile& size, std::int64_t new_size) {
    Tile scale = cast(size, tw::f32) / double(new_size);
    Tile at = maximum((cast(place, tw::f32) + 0.5) * scale - 0.5, 0.0);
    low = minimum(cast(floor(at), tw::i64), size - 1);
    high = minimum(low + 1, size - 1);
    share = at - cast(low, tw::f32);
  }
};

constexpr std::int64_t height = 8, width = 24;

// Bytes [H, W, 3] become f32 [3, height, width]; a program has one row of one channel.
const Kernel resize_rows("resize_rows", [](Pointer image, Pointer out, Scalar from_height,
                                           Scalar from_width) {
  Tile row = program_id(0), channel = program_id(1), lane = cast(arange(0, width), tw::i64);
  Between y(row, from_height, height), x(lane, from_width, width);
  auto pixel = [&](const Tile& down, const Tile& right) {
    return cast(load(image + (down * from_width + right) * 3 + channel), tw::f32);
  };
  Tile above = pixel(y.low, x.low) * (1.0 - x.share) + pixel(y.low, x.high) * x.share;
  Tile below = pixel(y.high, x.low) * (1.0 - x.share) + pixel(y.high, x.high) * x.share;
  store(out + (channel * height + row) * width + lane, above * (1.0 - y.share) + below * y.share);
});
const tw::CustomOp resize = tw::custom_op(
    "resize",
    [](Types) {
      return std::vector{tw::TensorType{tw::f32, {3, height, width}}};
    },
    tw::TileKernel{resize_rows, [](const tw::CustomCall& call) {
                     const tw::Shape& image = call.operand(0).shape;
                     return tw::TileLaunch{{height, 3}, {image[0], image[1]}};
                   }});

const tw::CustomOp normalise =
    tw::custom_op("normalise", tw::elementwise([](Tile x, Tile mean, Tile deviation) {
                    return (x / 255.0 - mean) / deviation;
                  }));

// Mirrors the image or not, and makes it brighter or darker, as two numbers from 0 to 1 say. An
// op's result depends on its operands alone, so the numbers are drawn outside.
const tw::CustomOp augment = tw::custom_op(
    "augment", [](Types operands) { return std::vector{operands[0]}; },
    tw::GraphFunction([](std::span<const tw::Tensor> operands) {
      const tw::Tensor &image = operands[0], &chances = operands[1];
      tw::Tensor turned = tw::where(chances.select(0, 0) < 0.5, tw::flip(image, {-1}), image);
      return std::vector{turned * (chances.select(0, 1) * 0.4 + 0.8)};
    }));

tw::Tensor text_of(const std::string& text) {
  return tw::Tensor::from(std::vector<std::uint8_t>(text.begin(), text.end()),
                          {static_cast<std::int64_t>(text.size())});
}

// A bright disc at the left of a dark image.
tw::Tensor image_of(std::int64_t rows, std::int64_t columns) {
  tw::Tensor y = tw::arange(0, rows).reshape({-1, 1, 1}) * 2 - rows, x = tw::arange(0, columns);
  x = x.reshape({1, -1, 1}) * 2 - rows;
  tw::Tensor is_inside = y * y + x * x < rows * rows * 2 / 3;
  return tw::where(is_inside, tw::arange(180, 240, 20), tw::arange(10, 40, 10)).to(tw::u8);
}

}  // namespace

int main() {
  tw::Generator generator(7);
  const tw::Tensor mean = tw::full({3, 1, 1}, 0.45), deviation = tw::full({3, 1, 1}, 0.25);
  const tw::Tensor table = tw::randn({7, 3}, tw::f32, generator);
  auto prepared = [&](const tw::Tensor& text, const tw::Tensor& image) {
    tw::Tensor pixels =
        augment(normalise(resize(image), mean, deviation), tw::rand({2}, tw::f32, generator));
    return std::pair(tw::embedding(tokenise(text), table), pixels);
  };
  const tw::Tensor text = text_of("A bright disc on dark ground"), image = image_of(20, 50);
  tw::Tensor resized =
      tw::interpolate(image.to(tw::f32).permute({2, 0, 1}).unsqueeze(0),
                      {.size = {height, width}, .mode = tw::InterpolateMode::bilinear});
  bool fits = tw::all(tw::abs(resize(image) - resized.select(0, 0)) < 1e-3).item<bool>();
  std::cout << "resized: " << (fits ? "right" : "wrong") << "\nids:";
  for (std::int64_t id : tokenise(text).to_vector<std::int64_t>()) std::cout << ' ' << id;

  // The same numbers are drawn at once and compiled, if the generator begins at the same place.
  auto fast = tw::compile(prepared, {.fullgraph = true});
  std::cout << '\n';
  for (std::uint64_t seed : {7, 8}) {
    generator.manual_seed(seed);
    auto [words, pixels] = prepared(text, image);
    generator.manual_seed(seed);
    auto [fast_words, fast_pixels] = fast(text, image);
    bool is_right = tw::all(fast_words == words).item<bool>() &&
                    tw::all(tw::abs(fast_pixels - pixels) < 1e-5).item<bool>();
    std::cout << "compiled: " << (is_right ? "right" : "wrong") << '\n';
    fits = fits && is_right;
    std::vector<float> shown = fast_pixels.select(0, 0).to_vector<float>();
    for (std::size_t i = 0; i < shown.size(); ++i)
      std::cout << ".-+*#"[std::clamp(static_cast<int>(shown[i] + 2.5F), 0, 4)]
                << (i % width == width - 1 ? "\n" : "");
  }
  return fits ? 0 : 1;
}
