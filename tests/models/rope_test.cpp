#include "models/decoder/rope/rope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/decoder/attention.h"
#include "models/layers/random.h"
#include "tests/errors.h"
#include "tests/models/token_ids.h"

namespace tilewright::rope_test {
namespace {

using ::testing::HasSubstr;
using Values = std::vector<double>;
using testing::at;

constexpr std::int64_t head_size = 16, positions = 256;

std::vector<RopeConfig> ropes_of(std::string_view members) {
  std::string text = concat("{\"other\":1", members.empty() ? "" : ",", members, "}");
  ConfigFields fields(text, "test", "c");
  return read_ropes(fields, positions, {});
}
RopeConfig rope_of(std::string_view parameters) {
  return ropes_of(concat("\"rope_parameters\":{\"rope_theta\":10000.0,", parameters, "}")).at(0);
}
std::string error_of_rope(std::string_view parameters) {
  return error_of([&] { check_rope(rope_of(parameters), head_size, "test", "c"); });
}

Values eight(double first) {
  Values values;
  for (int i = 0; i < 8; ++i) values.push_back(first + 0.37 * i);
  return values;
}
constexpr std::string_view longrope =
    R"("rope_type":"longrope","original_max_position_embeddings":128,
       "short_factor":[1,1.37,1.74,2.11,2.48,2.85,3.22,3.59],
       "long_factor":[2,2.37,2.74,3.11,3.48,3.85,4.22,4.59])";

struct Known {
  const char* name;
  std::string_view parameters;
  std::int64_t rows;
  Values values;
  double length;
};

// The results of ROPE_INIT_FUNCTIONS in transformers 5.23.0 for heads of 16 elements and 256
// positions.
const Known known[] = {
    {"default",
     R"("rope_type":"default")",
     1,
     {1, 0.316228, 0.1, 0.0316228, 0.01, 0.00316228, 0.001, 0.000316228},
     1},
    {"linear",
     R"("rope_type":"linear","factor":4.0)",
     1,
     {0.25, 0.0790569, 0.025, 0.00790569, 0.0025, 0.000790569, 0.00025, 7.90569e-05},
     1},
    {"linear of a half",
     R"("rope_type":"linear","factor":4,"partial_rotary_factor":0.5)",
     1,
     {0.25, 0.025, 0.0025, 0.00025},
     1},
    {"dynamic",
     R"("rope_type":"dynamic","factor":4.0)",
     256,
     {1, 0.316228, 0.1, 0.0316228, 0.01, 0.00316228, 0.001, 0.000316228},
     1},
    {"yarn",
     R"("rope_type":"yarn","factor":4.0,"original_max_position_embeddings":64)",
     1,
     {1, 0.237171, 0.05, 0.00790569, 0.0025, 0.000790569, 0.00025, 7.90569e-05},
     1.13863},
    {"yarn with all its numbers",
     R"("rope_type":"yarn","factor":8.0,"original_max_position_embeddings":32,"beta_fast":16.0,
        "beta_slow":2.0,"mscale":0.7,"mscale_all_dim":0.9,"truncate":false)",
     1,
     {1, 0.0395285, 0.0125, 0.00395285, 0.00125, 0.000395285, 0.000125, 3.95285e-05},
     0.964967},
    {"yarn with a length",
     R"("rope_type":"yarn","factor":4,"original_max_position_embeddings":64,
        "attention_factor":1.3)",
     1,
     {1, 0.237171, 0.05, 0.00790569, 0.0025, 0.000790569, 0.00025, 7.90569e-05},
     1.3},
    {"longrope of a short text",
     longrope,
     128,
     {1, 0.230823, 0.0574713, 0.0149871, 0.00403226, 0.00110957, 0.000310559, 8.80857e-05},
     1.06904},
    {"longrope of a long text",
     longrope,
     129,
     {0.5, 0.133429, 0.0364964, 0.0101681, 0.00287356, 0.000821371, 0.000236967, 6.88949e-05},
     1.06904},
    {"llama3",
     R"("rope_type":"llama3","factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0,
        "original_max_position_embeddings":64)",
     1,
     {1, 0.244385, 0.0130423, 0.00395285, 0.00125, 0.000395285, 0.000125, 3.95285e-05},
     1},
};

TEST(Rope, FrequenciesAreThoseOfTransformers) {
  for (const Known& k : known) {
    RopeConfig config = rope_of(k.parameters);
    check_rope(config, head_size, "test", k.name);
    RopeFrequencies found = rope_frequencies(config, head_size, k.rows);
    ASSERT_EQ(found.values.size(), k.values.size()) << k.name;
    for (std::size_t i = 0; i < k.values.size(); ++i)
      EXPECT_NEAR(found.values[i], k.values[i], 1e-5 * k.values[i]) << k.name << ", pair " << i;
    EXPECT_NEAR(found.length, k.length, 1e-5) << k.name;
  }
}

TEST(Rope, IsReadFromTheMembersOfEitherVersion) {
  EXPECT_EQ(ropes_of("").at(0).theta, 10000);
  EXPECT_EQ(ropes_of("\"rope_theta\":500000.0").at(0).theta, 500000);
  RopeConfig old = ropes_of(R"("rope_theta":2e4,"partial_rotary_factor":0.5,
      "rope_scaling":{"type":"linear","factor":2.0})")
                       .at(0);
  EXPECT_EQ(old.type, RopeType::linear);
  EXPECT_EQ(old.theta, 2e4);
  EXPECT_EQ(old.rotary_share, 0.5);
  EXPECT_EQ(old.factor, 2);
  auto both = ropes_of(R"("rope_parameters":{"full_attention":{"rope_type":"linear","factor":8.0,
      "rope_theta":1e6},"sliding_attention":{"rope_type":"default","rope_theta":1e4}})");
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].factor, 8);
  EXPECT_EQ(both[0].theta, 1e6);
  EXPECT_EQ(both[1].type, RopeType::plain);
  EXPECT_EQ(both[1].theta, 1e4);
  // Beside the object, it is what the model was trained on, and so is max_position_embeddings.
  EXPECT_EQ(rope_of(R"("rope_type":"yarn","factor":4.0)").original_positions, positions);
  EXPECT_EQ(ropes_of(R"("original_max_position_embeddings":32,
      "rope_parameters":{"rope_type":"yarn","factor":4.0})")
                .at(0)
                .original_positions,
            32);
}

TEST(Rope, RefusesTwoValuesOfOneMember) {
  EXPECT_EQ(
      error_of([] {
        ropes_of(R"("rope_theta":500000.0,
                  "rope_parameters":{"rope_type":"default","rope_theta":10000.0})");
      }),
      "[test] c: rope_theta is 500000 and rope_parameters.rope_theta is 10000; one of them, or "
      "the same in both, is needed");
  EXPECT_THAT(error_of([] {
                ropes_of(R"("partial_rotary_factor":0.25,
                    "rope_scaling":{"rope_type":"default","partial_rotary_factor":0.5})");
              }),
              HasSubstr("partial_rotary_factor is 0.25 and rope_scaling.partial_rotary_factor is"));
  EXPECT_EQ(ropes_of(R"("rope_theta":2e4,"rope_parameters":{"rope_type":"default",
                "rope_theta":20000})")
                .at(0)
                .theta,
            2e4);
}

TEST(Rope, RefusesWhatItDoesNotKnowByName) {
  EXPECT_THAT(error_of_rope(R"("rope_type":"mrope")"),
              HasSubstr("[test] c: rope_parameters.rope_type is \"mrope\"; known are \"default\""));
  EXPECT_THAT(error_of_rope(R"("rope_type":"linear","factor":2,"mrope_section":[1,2])"),
              HasSubstr("rope_parameters.mrope_section is an array, which this library does not"));
  EXPECT_THAT(error_of_rope(R"("rope_type":"default","factor":2)"),
              HasSubstr("rope_parameters.factor is 2, which this library does not use"));
  EXPECT_THAT(error_of_rope(R"("rope_type":"linear")"), HasSubstr("has no rope_parameters.factor"));
  EXPECT_THAT(error_of([] {
                ropes_of(R"("rope_scaling":{"type":"linear","factor":2},"rope_parameters":{})");
              }),
              HasSubstr("rope_scaling and rope_parameters are both set; one of them is needed"));
  EXPECT_THAT(
      error_of([] { ropes_of(R"("rope_parameters":{"full_attention":{"rope_type":"default"}})"); }),
      HasSubstr("full_attention or sliding_attention is missing"));
  EXPECT_THAT(error_of([] { ropes_of("\"rope_scaling\":[1]"); }),
              HasSubstr("rope_scaling is an array; an object is needed"));
}

TEST(Rope, RefusesNumbersThatMakeNoSense) {
  EXPECT_THAT(error_of_rope(R"("rope_type":"linear","factor":0)"),
              HasSubstr("factor is 0; above 0 is allowed"));
  EXPECT_THAT(error_of_rope(R"("rope_type":"default","partial_rotary_factor":1.5)"),
              HasSubstr("partial_rotary_factor is 1.5; above 0 and up to 1 is allowed"));
  EXPECT_THAT(error_of_rope(R"("rope_type":"default","partial_rotary_factor":0.2)"),
              HasSubstr("head_dim is 16, of which 3 elements are turned; rotary embedding needs"));
  EXPECT_THAT(error_of_rope(R"("rope_type":"yarn","factor":2,"beta_slow":-1)"),
              HasSubstr("beta_slow is -1"));
  EXPECT_THAT(error_of_rope(R"("rope_type":"yarn","factor":2,"attention_factor":-2)"),
              HasSubstr("attention_factor is -2"));
  EXPECT_THAT(
      error_of_rope(R"("rope_type":"yarn","factor":2,"original_max_position_embeddings":1)"),
      HasSubstr("original_max_position_embeddings is 1; 2 or more is allowed"));
  EXPECT_THAT(error_of_rope(R"("rope_type":"llama3","factor":2,"low_freq_factor":4,
                               "high_freq_factor":4)"),
              HasSubstr("low_freq_factor is 4, high_freq_factor 4; both must be above 0"));
  EXPECT_THAT(error_of_rope(R"("rope_type":"longrope","short_factor":[1],"long_factor":[1])"),
              HasSubstr("short_factor has 1 numbers; 8 are needed, one for a pair of 16 elements"));
  EXPECT_THAT(error_of([] {
                check_rope(RopeConfig{.type = RopeType::yarn, .theta = 1, .original_positions = 9},
                           head_size, "test", "c");
              }),
              HasSubstr("rope_theta is 1; yarn needs more than 1"));
}

Tensor random_heads(std::int64_t rows) {
  Tensor x = Tensor::empty({1, 2, rows, head_size});
  fill_uniform(x, -1, 1, RandomStream(7));
  return x;
}

// Pair by pair in double precision, from the definition.
TEST(Rope, TurnsEitherPairsAndLeavesTheRestOfAHead) {
  for (RopePairs pairs : {RopePairs::halves, RopePairs::neighbours})
    for (double share : {1.0, 0.5}) {
      RopeConfig config{.pairs = pairs, .theta = 100, .rotary_share = share};
      RotaryTable table(32, head_size, config);
      std::int64_t first = 5, rows = 3, size = config.rotary_size(head_size);
      Tensor x = random_heads(rows);
      auto in = x.to_vector<float>();
      auto out = rotate(x, RowPositions(at(first), rows, table)).to_vector<float>();
      Values frequencies = rope_frequencies(config, head_size, 1).values;
      for (std::int64_t i = 0; i < std::ssize(in); ++i) {
        std::int64_t element = i % head_size, row = i / head_size % rows, half = size / 2;
        double expected = in[std::size_t(i)];
        if (element < size) {
          bool halves = pairs == RopePairs::halves;
          std::int64_t pair = halves ? element % half : element / 2;
          bool is_first = halves ? element < half : element % 2 == 0;
          std::int64_t step = halves ? half : 1, other = is_first ? i + step : i - step;
          double angle = static_cast<double>(first + row) * frequencies[std::size_t(pair)];
          expected = expected * std::cos(angle) +
                     (is_first ? -1 : 1) * in[std::size_t(other)] * std::sin(angle);
        }
        ASSERT_NEAR(out[std::size_t(i)], expected, 1e-5) << "share " << share << ", at " << i;
      }
    }
}

TEST(Rope, ChoosesTheFactorsOfLongTextsByTheLastRowOrByWhatIsAnnounced) {
  RopeConfig config{.type = RopeType::longrope,
                    .original_positions = 8,
                    .short_factors = eight(1),
                    .long_factors = eight(3)};
  RotaryTable table(32, head_size, config);
  ASSERT_TRUE(table.has_long());
  auto cosines = [&](std::int64_t first, std::int64_t rows, const Tensor& text_rows = {}) {
    return RowPositions(at(first), rows, table, text_rows).cos.to_vector<float>();
  };
  auto of_table = [&](const Tensor& cos, std::int64_t first, std::int64_t rows) {
    return cos.slice(0, first, first + rows).contiguous().to_vector<float>();
  };
  EXPECT_EQ(cosines(0, 8), of_table(table.cos, 0, 8));
  EXPECT_EQ(cosines(0, 9), of_table(table.long_cos, 0, 9));
  EXPECT_EQ(cosines(7, 1), of_table(table.cos, 7, 1));
  EXPECT_EQ(cosines(8, 1), of_table(table.long_cos, 8, 1));
  EXPECT_EQ(cosines(0, 4, at(9)), of_table(table.long_cos, 0, 4));
  EXPECT_EQ(cosines(0, 4, at(8)), of_table(table.cos, 0, 4));
  EXPECT_FALSE(RotaryTable(8, head_size, config).has_long());  // no text can be so long
}

}  // namespace
}  // namespace tilewright::rope_test
