// Steps that choose on the device: the same tokens as one step after the other, however many there
// are in a round, and nothing after the end.
#include "models/generate/greedy_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "models/decoder/decoder.h"
#include "tests/errors.h"

namespace tilewright::greedy_steps_test {
namespace {

using ::testing::HasSubstr;

using Ids = std::vector<std::int64_t>;

constexpr std::int64_t tokens = 60;

// The expected steps, computed one by one with the choice on the host: [steps][batch].
std::vector<Ids> chosen_on_the_host(const Decoder& model, const Ids& first, std::int64_t limit,
                                    const Ids& stops) {
  auto state = model.new_state(std::ssize(first));
  Compiled step = compile(
      [&](const Tensor& ids, const Tensor& at) { return model.decode_last(ids, at, *state); });
  std::vector<Ids> all;
  Ids ids = first;
  std::vector<bool> has_ended(ids.size(), false);
  for (std::int64_t position = 0; std::ranges::count(has_ended, false) > 0; ++position) {
    auto logits =
        step(Tensor::from(ids, {std::ssize(ids), 1}), Tensor::from<std::int64_t>({position}, {1}))
            .to_vector<float>();
    Ids chosen(ids.size(), GreedySteps::nothing);
    for (std::size_t row = 0; row < ids.size(); ++row) {
      if (has_ended[row]) continue;
      auto begin = logits.begin() + static_cast<std::ptrdiff_t>(row) * model.config().vocabulary;
      chosen[row] = std::max_element(begin, begin + tokens) - begin;
      has_ended[row] = std::ranges::count(stops, chosen[row]) > 0 || position + 2 >= limit;
      if (!has_ended[row]) ids[row] = chosen[row];
    }
    all.push_back(chosen);
  }
  return all;
}

// The rounds until all rows have ended, and one more, in which nothing may happen.
std::vector<Ids> chosen_on_the_device(GreedySteps& greedy, const Ids& first, std::int64_t limit,
                                      const Ids& stops) {
  greedy.start(first, Ids(first.size(), 0), Ids(first.size(), limit), stops);
  std::vector<Ids> all;
  auto is_nothing = [](const Ids& row) {
    return std::ranges::all_of(row, [](std::int64_t id) { return id == GreedySteps::nothing; });
  };
  for (bool is_over = false; !is_over;) {
    Ids round = greedy.run();
    for (std::size_t i = 0; i < round.size(); i += first.size()) {
      all.emplace_back(round.begin() + static_cast<std::ptrdiff_t>(i),
                       round.begin() + static_cast<std::ptrdiff_t>(i + first.size()));
      is_over = is_over || is_nothing(all.back());
    }
  }
  Ids after = greedy.run();
  EXPECT_TRUE(is_nothing(after));
  std::erase_if(all, is_nothing);
  return all;
}

class GreedyStepsOf : public ::testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Rounds, GreedyStepsOf, ::testing::Values(1, 3, 8));

TEST_P(GreedyStepsOf, ChooseWhatTheHostWouldChoose) {
  // An emulated GPU takes a second for a few steps.
  bool is_slow = default_device().is_emulated();
  if (is_slow && GetParam() != 3) GTEST_SKIP() << "a round of 3 steps is enough";
  for (std::int64_t batch : {1, 3}) {
    if (is_slow && batch == 1) continue;
    auto model = random_decoder(decoder_config("tiny"), 3);
    auto state = model->new_state(batch);
    Ids first = {5, 17, 44};
    first.resize(static_cast<std::size_t>(batch));
    for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
      if (is_slow && mode == Mode::default_) continue;
      GreedySteps greedy(*model, *state, tokens, GetParam(), {.mode = mode});
      std::int64_t some = is_slow ? 9 : 20;
      auto free = chosen_on_the_host(*model, first, some, {});
      ASSERT_EQ(std::ssize(free), some - 1);
      EXPECT_EQ(chosen_on_the_device(greedy, first, some, {}), free);
      // Rows that end one after the other.
      Ids stops = {free[2].back(), free[7].front()};
      EXPECT_EQ(chosen_on_the_device(greedy, first, some, stops),
                chosen_on_the_host(*model, first, some, stops));
      if (is_slow) continue;
      // Up to the end of the cache.
      std::int64_t limit = model->max_positions();
      EXPECT_EQ(chosen_on_the_device(greedy, first, limit, {}),
                chosen_on_the_host(*model, first, limit, {}));
      EXPECT_EQ(chosen_on_the_device(greedy, first, 2, {}).size(), 1U);
    }
  }
}

// Texts at positions of their own, with limits of their own: each as alone.
TEST(GreedySteps, OfTextsOfDifferentLengthsAreThoseOfEachAlone) {
  auto model = random_decoder(decoder_config("tiny"), 3);
  const Ids first = {5, 17, 44}, begins = {0, 3, 6}, limits = {9, 8, 12};
  auto read = [&](DecodingState& state, std::int64_t place, std::size_t text) {
    auto own = model->new_state();
    for (std::int64_t at = 0; at < begins[text]; ++at)
      model->decode_last(Tensor::from<std::int64_t>({at + 2}, {1, 1}),
                         Tensor::from<std::int64_t>({at}, {1}), *own);
    state.copy_text(place, *own, 0, begins[text]);
  };
  constexpr std::int64_t steps = 9;
  auto state = model->new_state(3);
  for (std::size_t text = 0; text < 3; ++text) read(*state, std::ssize(first) - 1 - text, text);
  GreedySteps together(*model, *state, tokens, steps, {});
  together.start({first[2], first[1], first[0]}, {begins[2], begins[1], begins[0]},
                 {limits[2], limits[1], limits[0]}, {});
  const Ids all = together.run();
  for (std::size_t text = 0; text < 3; ++text) {
    auto own = model->new_state();
    read(*own, 0, text);
    GreedySteps alone(*model, *own, tokens, steps, {});
    alone.start({first[text]}, {begins[text]}, {limits[text]}, {});
    Ids found;
    for (std::size_t step = 0; step < steps; ++step) found.push_back(all[3 * step + 2 - text]);
    EXPECT_EQ(found, alone.run()) << "text " << text;
    EXPECT_EQ(std::ranges::count(found, GreedySteps::nothing),
              steps - (limits[text] - begins[text] - 1));
  }
}

// In a step, weights are multiplied by the program of a step whose logits go to the host, so that
// its sums are the same to the last bit; and a round of many steps has no more programs than one.
TEST(GreedySteps, HaveTheProgramsOfASingleStep) {
  auto model = random_decoder(decoder_config("tiny"), 3);
  auto state = model->new_state();
  Compiled single = compile(
      [&](const Tensor& ids, const Tensor& at) { return model->decode_last(ids, at, *state); });
  single(Tensor::from<std::int64_t>({1}, {1, 1}), Tensor::from<std::int64_t>({0}, {1}));
  GreedySteps one(*model, *state, tokens, 1, {}), many(*model, *state, tokens, 16, {});
  one.warm_up();
  many.warm_up();
  auto keys = [](const CompiledFunction& function) {
    PlanReport report = function.report().at(0);
    std::vector<std::string> found;
    for (const RegionReport& region : report.regions) found.push_back(region.key);
    return found;
  };
  EXPECT_THAT(keys(one.compiled()), ::testing::IsSupersetOf(keys(single)));
  EXPECT_EQ(keys(one.compiled()).size(), keys(single).size() + 1);
  EXPECT_EQ(keys(one.compiled()).size(), keys(many.compiled()).size());
}

TEST(GreedySteps, TellOfLogitsThatAreNoNumbers) {
  auto model = random_decoder(decoder_config("tiny"), 3);
  auto state = model->new_state();
  GreedySteps greedy(*model, *state, tokens, 4, {});
  auto& weights = *static_cast<float*>(model->state().at("model.norm.weight").data());
  weights = std::numeric_limits<float>::quiet_NaN();
  greedy.start({1}, {0}, {10}, {});
  EXPECT_EQ(greedy.run(), (Ids{GreedySteps::not_a_number, GreedySteps::nothing,
                               GreedySteps::nothing, GreedySteps::nothing}));
}

TEST(GreedySteps, RefuseWhatDoesNotFit) {
  auto model = random_decoder(decoder_config("tiny"), 3);
  auto state = model->new_state();
  EXPECT_THAT(error_of([&] { GreedySteps(*model, *state, 100'000, 4, {}); }),
              HasSubstr("[greedy_steps] 100000 tokens to choose from; the model knows"));
  EXPECT_THAT(error_of([&] { GreedySteps(*model, *state, tokens, 0, {}); }),
              HasSubstr("a round of 0"));
  GreedySteps greedy(*model, *state, tokens, 4, {});
  EXPECT_THAT(
      error_of([&] {
        greedy.start({1, 2}, {0, 0}, {9, 9}, {});
      }),
      HasSubstr("[greedy_steps] 2 ids, 2 positions and 2 limits; the state is for a batch of 1"));
  EXPECT_THAT(error_of([&] { greedy.start({1}, {3}, {65}, {}); }),
              HasSubstr("tokens from position 4 up to 65; the model has 64 positions"));
  EXPECT_THAT(error_of([&] { greedy.start({1}, {3}, {4}, {}); }),
              HasSubstr("from position 4 up to 4"));
}

}  // namespace
}  // namespace tilewright::greedy_steps_test
