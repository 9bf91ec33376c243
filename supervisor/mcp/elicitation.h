// Elicitation: a question to the person at the client, in the middle of a request of theirs
// (specification: client/elicitation; basic/patterns/mrtr since 2026-07-28).
//   legacy: a request of ours, elicitation/create, on the connection
//   modern: the request is answered with `input_required`; what works on it goes on waiting, and
//           the client asks again, with the answer and the state it was given
// Source of answers: the client, which is not trusted: what fits no question that is open is ignored.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/json_value.h"
#include "supervisor/mcp/protocol.h"

namespace mcp {

struct Elicited {
  // unable: the client cannot ask anybody, after all.
  enum class Action { accept, decline, cancel, unable };
  Action action = Action::unable;
  Json content = Json::object();  // of the form, as the client says it: whoever asked checks it
};

// What is put to the person.
struct ElicitationForm {
  std::string message;  // plain text
  // The form's fields: a JSON Schema as the specification allows it, as text. By default there is nothing to fill in:
  // accepting is the answer.
  std::string schema = R"({"type":"object","properties":{}})";
};

// One question. Whoever asked keeps it; when it goes unanswered, it is taken back.
struct Elicitation {
  ElicitationForm form;
  std::function<void(Elicited)> answered;  // at most once, from the loop
  std::function<void()> taken_back;        // for the connection
  Elicitation() = default;
  Elicitation(const Elicitation&) = delete;
  ~Elicitation() {
    if (taken_back) taken_back();
  }
};

// Whether the client declared that it can show forms.
bool can_elicit(const Json& client_capabilities, Version version);
// The inside of params.
std::string elicitation_members(const ElicitationForm& form, Version version);
// A client's answer. Nothing for what is none.
std::optional<Elicited> read_elicited(const Json& result);

// The questions of one connection, by their wire id or key: bounded, and answered once.
class Elicitations {
 public:
  static constexpr size_t kMost = 64;
  // Its key, which nobody had before, nor had with an earlier daemon on the same connection; nothing when too many are
  // open.
  std::optional<std::string> add(const std::shared_ptr<Elicitation>& question);
  std::shared_ptr<Elicitation> find(const std::string& key) const;
  // Takes it out; nullptr when it is not open.
  std::shared_ptr<Elicitation> take(const std::string& key);
  // Nobody waits for it any more. False: it was answered.
  bool drop(const std::string& key) { return open_.erase(key) > 0; }
  // All that are open, taken out.
  std::vector<std::shared_ptr<Elicitation>> take_all();

 private:
  std::map<std::string, std::weak_ptr<Elicitation>> open_;
};

}  // namespace mcp
