// Parts and parameters that a Module refuses to register.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/tensor/tensor_body.h"
#include "models/layers/containers.h"
#include "models/layers/layers.h"
#include "models/layers/module.h"
#include "tests/errors.h"

namespace tilewright::module_registration_test {
namespace {

using ::testing::HasSubstr;

struct Misnamed : Module {
  Linear a{1, 1};
  Misnamed(const std::string& first, const std::string& second) {
    register_module(first, a);
    register_module(second, a);
  }
};
struct Undefined : Module {
  Tensor weight;
  Undefined() { register_parameter("weight", weight); }
};
struct Endless : Module {
  Endless() { register_module("self", *this); }
};

TEST(Module, RefusesBadRegistrations) {
  EXPECT_THAT(error_of([] { Misnamed("a", "a"); }),
              HasSubstr("[module] the name \"a\" is registered twice"));
  EXPECT_THAT(error_of([] { Misnamed("a", ""); }), HasSubstr("needs a name"));
  EXPECT_THAT(error_of([] { Undefined(); }), HasSubstr("\"weight\" is an undefined tensor"));
  EXPECT_THAT(error_of([] { Endless(); }), HasSubstr("\"self\" is the module itself"));
}

}  // namespace
}  // namespace tilewright::module_registration_test
