#include "autotune/database/row/key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/autotune/database/rows.h"

namespace tilewright::autotune::key_test {
namespace {

using testing::ElementsAre;

TEST(TuningKey, HashesAreOfContentsAndNotOfTheName) {
  TuningKey a = test_key(), b = test_key();
  b.kernel = "another name";
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_EQ(a, b);
  // Kept in files: may not change from build to build.
  EXPECT_EQ(a.question().hex(), test_key().question().hex());
}

TEST(TuningKey, TheCompilerIsNoPartOfTheQuestion) {
  TuningKey a = test_key(), b = test_key();
  b.compiler.set("llvm", "23.0.0");
  EXPECT_EQ(a.question(), b.question());
  EXPECT_NE(a.hash(), b.hash());
}

TEST(TuningKey, DifferencesNameTheFieldAndBothValues) {
  TuningKey wanted = test_key(), stored = test_key();
  stored.kernel_hash = Hash{1, 2};
  stored.problem.set("rows", 512).set("strides", "contiguous");
  stored.device.set("threads", 4);
  stored.compiler = Record().set("version", "0.1.0").set("llvm", "22.1.0");
  EXPECT_THAT(
      differences(wanted, stored),
      ElementsAre(Difference{"kernel_hash", wanted.kernel_hash.hex(), stored.kernel_hash.hex()},
                  Difference{"problem.rows", "1024", "512"},
                  Difference{"problem.strides", "(absent)", "contiguous"},
                  Difference{"device.threads", "2", "4"},
                  Difference{"compiler.sources", "abc", "(absent)"}));
  EXPECT_THAT(differences(wanted, wanted), ElementsAre());
}

TEST(TuningKey, ProblemsAreAsFarApartAsTheirSizes) {
  Record a = Record().set("rows", 1024).set("dtype", "f32");
  EXPECT_EQ(problem_distance(a, Record(a).set("rows", 256)), 2);
  EXPECT_EQ(problem_distance(a, Record(a).set("rows", 2048)), 1);
  EXPECT_EQ(problem_distance(a, Record(a).set("dtype", "f16")), 8);
  EXPECT_EQ(problem_distance(a, a), 0);
}

}  // namespace
}  // namespace tilewright::autotune::key_test
