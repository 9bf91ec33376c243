// Elicitation: a question to the person at the client, in the middle of the client's request
// (specification: client/elicitation; basic/patterns/mrtr since 2026-07-28).
//   legacy: the server sends the request elicitation/create on the connection
//   modern: the request is answered with `input_required` and a `requestState`; its handler waits, and the client
//           repeats the request with the person's answer and the same `requestState`
// Source of answers: the client, which is not trusted. An answer that matches no open question is ignored.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/loop.h"
#include "supervisor/protocol/mcp/protocol.h"

namespace mcp {

struct Elicited {
  // unable: the client could not ask the person, or its answer cannot be read.
  enum class Action { accept, decline, cancel, unable };
  Action action = Action::unable;
  // The form's values as the client sent them; of a question without a form, the client's whole result. The caller must
  // check it.
  Json content = Json::object();
  bool client_left = false;  // unable, because the client ended its messages before it answered
};

// The form that the client shows to the person; or a question that the client answers by itself, with its model
// (sampling) or its folders (roots). Both are deprecated since 2026-07-28.
struct ElicitationForm {
  enum class Kind { form, sampling, roots };
  std::string message;  // plain text
  // The form's fields: a JSON Schema as the specification allows it, as text. The default has no fields: accepting is
  // the answer.
  std::string schema = R"({"type":"object","properties":{}})";
  // The name of the question in its call, for modern clients, which may send an answer with the call at once. Empty: a
  // random name.
  std::string key = {};
  Kind kind = Kind::form;
  Json params = Json::object();  // of a question without a form
  std::string task = {};         // the id of the task that asks, for its _meta; legacy clients only
};

// One question. The caller of RequestContext::elicit() owns it. Destroying it before the answer takes the
// question back.
struct Elicitation {
  ElicitationForm form;
  std::function<void(Elicited)> answered;  // at most once, from the loop
  std::function<void()> withdrawn;         // set by the owner of the call; called by the destructor
  Elicitation() = default;
  Elicitation(const Elicitation&) = delete;
  ~Elicitation() {
    if (withdrawn) withdrawn();
  }
};

// Calls question->answered in a later turn of the loop, if the question still exists then.
void answer_later(Loop& loop, const std::shared_ptr<Elicitation>& question, Elicited answer);

// Whether the client declared that it can show forms.
bool can_elicit(const Json& client_capabilities, Version version);
// Whether the client declared that it answers questions of this kind.
bool can_ask(ElicitationForm::Kind kind, const Json& client_capabilities, Version version);
// Whether it declared any kind.
bool can_ask_any(const Json& client_capabilities, Version version);
// "elicitation/create", and the members of its params.
std::string_view question_method(ElicitationForm::Kind kind);
std::string elicitation_members(const ElicitationForm& form, Version version);
// A client's answer to a question of this kind; nullopt when `result` is no answer.
std::optional<Elicited> read_elicited(const Json& result, ElicitationForm::Kind kind = ElicitationForm::Kind::form);

// The open questions of one conversation, by wire id or key: at most kMax, each answered once.
class Elicitations {
 public:
  static constexpr size_t kMax = 64;
  // Returns a new key. The key is random, so it is unique also among the keys of an earlier daemon on the same
  // connection. nullopt: kMax questions are open.
  std::optional<std::string> add(const std::shared_ptr<Elicitation>& question);
  std::shared_ptr<Elicitation> find(const std::string& key) const;
  // Removes the question and returns it; nullptr when it is not open.
  std::shared_ptr<Elicitation> take(const std::string& key);
  // Removes a question without an answer. False: it was answered before.
  bool drop(const std::string& key) { return open_.erase(key) > 0; }
  // Removes all open questions and returns them.
  std::vector<std::shared_ptr<Elicitation>> take_all();

 private:
  std::map<std::string, std::weak_ptr<Elicitation>> open_;
};

}  // namespace mcp
