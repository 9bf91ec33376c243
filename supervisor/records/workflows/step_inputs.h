// StepInputs: the values that the function of a step reads, each as a short text by its name, for example
// {"customer": "'ada'"}. A recorded step whose function reads other values now is refused: its recorded value belongs
// to the other ones. The text of the function does not count, so corrected code continues.
// Source: the runners (jail/guest/python/warder/_step_inputs.py, jail/guest/javascript/step_inputs.js), which are
// hostile: the texts are compared and shown, never read. Used by: tools/workflows/workflow_store.h. Errors: invalid,
// naming the limit.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"

namespace workflows {

constexpr size_t kMaxInputs = 64;            // values of one step
constexpr size_t kMaxInputBytes = 256;       // of one name, and of one text
constexpr size_t kMaxInputsBytes = 8 << 10;  // of all, as JSON

class StepInputs {
 public:
  StepInputs() {}
  // `inputs`: an object of texts. `digest`: of the whole values, 1 to 32 hexadecimal digits, as the runner has it in
  // the step's key. Errors also: a member is no text.
  static Result<StepInputs> of(const Json& inputs, std::string digest);

  // The JSON text of the object; empty if the function reads no value.
  const std::string& text() const { return text_; }
  // The end of the step's key, "-<digest>"; empty if the function reads no value.
  std::string key_end() const;

 private:
  std::string text_, digest_;
};

// InputDifference: a value that was another one when the step was recorded.
struct InputDifference {
  std::string name, recorded, now;
};
// The first name, in the order of `now`, whose text differs. A name that only one of them has is no difference: code
// may be corrected. Both are texts of StepInputs::text().
std::optional<InputDifference> find_difference(std::string_view recorded, std::string_view now);

}  // namespace workflows
