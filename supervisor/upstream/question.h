// Question: what a server asks the person behind a call, in the middle of it: a text, and a form to fill in
// (specification: client/elicitation, 2025-06-18 to 2026-07-28).
// Source: the server, which is not trusted: everything is bounded, texts lose what would deceive the eye, and of the
// schema only what the specification's flat one may hold is taken. Asking for an URL to be opened is not.
// Errors: invalid, naming the place: "requestedSchema.properties.size: type: not string, number, ...".
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "policies/schema/json_schema.h"
#include "supervisor/base/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"

namespace upstream {

struct Question {
  static constexpr size_t kMaxMessage = 4000;  // bytes
  static constexpr size_t kMaxFields = 32, kMaxChoices = 200;
  static constexpr size_t kMaxName = 128,
                          kMaxText = 1000;         // bytes of a field's name; of a title, a choice and the like
  static constexpr size_t kMaxContent = 64 << 10;  // bytes of an answer

  std::string message;
  Json schema;                                        // {type, properties, required}
  std::shared_ptr<const policies::JsonSchema> check;  // the same, and nothing else
  bool wants_2025_11_25 = false;                      // some field is of a kind that older clients cannot show

  // Whether what the person filled in is an answer. Errors: invalid, naming place and reason.
  Result<> fits(const Json& content) const;
};

// `params` of elicitation/create.
Result<Question> read_question(const Json& params);

// Untrusted text as a person may see it: UTF-8, at most so many bytes, without control characters and those that are
// not seen or change the direction of writing; U+FFFD stands in their places. A newline stays where `newlines` says so.
enum class Newlines { keep, replace };
std::string shown_text(std::string_view untrusted, size_t most, Newlines newlines);

// What becomes of a question.
struct Reply {
  enum class Action { accept, decline, cancel };
  Action action = Action::cancel;
  Json content = Json::object();  // accepted: it fits
  // The result of elicitation/create.
  Json result() const;
};

// Who can be asked on behalf of a call.
struct Asking {
  // Whose call it is: calls of the same person have the same text.
  std::string whose = {};
  // The client says that it can show forms, and nobody forbids it.
  bool able = false;
  // Empty: nobody can be asked. The task is destroyed with the call, and when the server takes its question back.
  std::function<Task<Reply>(Question)> ask = {};
};

}  // namespace upstream
