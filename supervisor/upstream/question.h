// Question: what an upstream server asks the person behind a call, in the middle of the call: a text, and a form to
// fill in (specification: client/elicitation, 2025-06-18 to 2026-07-28).
// Source: the server, which is not trusted: sizes are bounded, deceiving characters are replaced, and a schema may hold
// only the flat fields of the specification. A request to open a URL is refused.
// Used by: server_questions.h and input_requests.cc.
// Errors: invalid, naming the place: "requestedSchema.properties.size: type: not string, number, ...".
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "policies/schema/json_schema.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"
#include "supervisor/base/work.h"

namespace upstream {

struct Question {
  static constexpr size_t kMaxMessage = 4000;  // bytes
  static constexpr size_t kMaxFields = 32, kMaxChoices = 200;
  static constexpr size_t kMaxName = 128,
                          kMaxText = 1000;         // bytes of a field's name; of a title or choice
  static constexpr size_t kMaxContent = 64 << 10;  // bytes of an answer

  std::string message;
  Json schema;                                        // {type, properties, required}
  std::shared_ptr<const policies::JsonSchema> check;  // `schema` compiled; further members are refused
  bool wants_2025_11_25 = false;                      // has a field that clients before 2025-11-25 cannot show

  // Whether `content` answers the question. Errors: invalid, naming place and reason; those of the meter.
  Result<> fits(const Json& content, WorkMeter& meter) const;
};

// Reads `params` of elicitation/create. Errors: invalid; those of the meter.
Result<Question> read_question(const Json& params, WorkMeter& meter);

// Both as jobs of Work. fitting_content() returns `content`.
Task<Result<Question>> read_question_in_turn(Work& work, Work::Owner owner, Json params);
Task<Result<Json>> fitting_content(Work& work, Work::Owner owner, const Question& question, Json content);

// Untrusted text as a person may see it: valid UTF-8, the first `max` bytes, and "..." if there were more. U+FFFD
// replaces control characters, invisible characters and those that change the direction of writing. `newlines` says
// whether a newline stays or is replaced, too.
enum class Newlines { keep, replace };
std::string shown_text(std::string_view untrusted, size_t max, Newlines newlines);

// The answer to a question.
struct Reply {
  enum class Action { accept, decline, cancel };
  Action action = Action::cancel;
  Json content = Json::object();  // if accepted: it fits the schema
  // The result of elicitation/create.
  Json result() const;
};

// How the person behind a call can be asked.
struct Asking {
  // The person, as a text: all calls of one person have the same text.
  std::string owner_name = {};
  // The client can show forms, and the policy allows questions.
  bool able = false;
  // Empty: there is no way to ask. The task is destroyed when the call ends or the server withdraws its question.
  std::function<Task<Reply>(Question)> ask = {};
};

}  // namespace upstream
