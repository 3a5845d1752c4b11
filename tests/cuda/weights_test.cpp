// Weights from a file to a GPU, on the fake driver.
#include <filesystem>

#include "models/weights/weights.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "graph/compile/bindings/weight_copies.h"
#include "runtime/base/error.h"
#include "runtime/base/half.h"
#include "tests/cuda/fake_driver.h"

namespace tilewright::weights_test {
namespace {

// More elements than go in one piece, in a file that begins anywhere, as they are and converted.
TEST(CudaWeights, GoPieceByPieceFromTheFileToTheGpu) {
  constexpr std::int64_t count = 5'000'003;
  std::vector<BFloat16> elements(count);
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = BFloat16(static_cast<float>(i % 241));
  auto path = std::filesystem::temp_directory_path() / concat("weights_", ::getpid());
  save_safetensors(
      path, {{"odd", Tensor::from<float>({1}, {1})}, {"w", Tensor::from(elements, {count})}});
  cuda::FakeDriver fake;
  Weights weights = Weights::of(Safetensors::open(path));
  for (DType dtype : {bf16, f32}) {
    Tensor into = Tensor::empty({count}, dtype, Device::cuda());
    std::vector<std::int64_t> pieces;
    std::int64_t waits = fake.calls("cuStreamSynchronize");
    weights.read("w", into, [&](std::int64_t bytes) { pieces.push_back(bytes); });
    EXPECT_EQ(pieces, (std::vector<std::int64_t>{8 << 20, 2 * count - (8 << 20)}));
    EXPECT_EQ(fake.calls("cuStreamSynchronize"), waits) << "nobody waits for a piece";
    Tensor back = into.to(Device::cpu());
    bool is_equal = true;
    for (std::int64_t i = 0; i < count; ++i) {
      float element = dtype == bf16
                          ? static_cast<float>(static_cast<const BFloat16*>(back.data())[i])
                          : static_cast<const float*>(back.data())[i];
      is_equal = is_equal && element == static_cast<float>(i % 241);
    }
    EXPECT_TRUE(is_equal) << dtype;
  }
  std::filesystem::remove(path);
}

// Packing weights reads them, and accepts only those of the host.
TEST(CudaWeights, AreNotPackedByTheHost) {
  cuda::FakeDriver fake;
  Tensor weight = ones({96, 96}), elsewhere = weight.to(Device::cuda());
  const graph::PackedWeight panels{0, f32, {{96, 96}, {1, 96}, 0}, {48, false}};
  EXPECT_NE(graph::packed_copy(weight, panels), nullptr);
  EXPECT_THROW(graph::packed_copy(elsewhere, panels), InternalError);
}

}  // namespace
}  // namespace tilewright::weights_test
