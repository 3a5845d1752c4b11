#include "models/programs/program_module.h"

#include "runtime/base/error.h"

namespace tilewright {

void ProgramModule::train(bool is_training) {
  const std::string trains = training_operator();
  require(is_training || trains.empty(), "[eval] ", file(),
          ": the program computes as in training (", trains,
          "), a mode that was fixed when it was exported; export the model after eval()");
  require(!is_training || !trains.empty(), "[train] ", file(),
          ": the program computes as in evaluation, a mode that was fixed when it was exported; "
          "export the model after train(), or leave out this call: gradients do not need it");
}

}  // namespace tilewright
