#include "supervisor/protocol/mcp/elicitation.h"

#include "supervisor/base/json/json.h"
#include "supervisor/base/random.h"
#include "supervisor/protocol/mcp/jsonrpc.h"

namespace mcp {

void answer_later(Loop& loop, const std::shared_ptr<Elicitation>& question, Elicited answer) {
  loop.defer([weak = std::weak_ptr(question), answer = std::move(answer)] {
    if (auto waiting = weak.lock()) waiting->answered(answer);
  });
}

bool can_elicit(const Json& client_capabilities, Version version) {
  if (!has_elicitation(version) || !client_capabilities.is_object()) return false;
  const auto declared = client_capabilities.find("elicitation");
  if (declared == client_capabilities.end() || !declared->is_object()) return false;
  return declared->empty() || declared->contains("form");  // a client with only "url" shows no forms
}

bool can_ask(ElicitationForm::Kind kind, const Json& client_capabilities, Version version) {
  if (kind == ElicitationForm::Kind::form) return can_elicit(client_capabilities, version);
  if (!client_capabilities.is_object()) return false;
  const auto declared = client_capabilities.find(kind == ElicitationForm::Kind::sampling ? "sampling" : "roots");
  return declared != client_capabilities.end() && declared->is_object();
}

bool can_ask_any(const Json& client_capabilities, Version version) {
  using Kind = ElicitationForm::Kind;
  return can_ask(Kind::form, client_capabilities, version) || can_ask(Kind::sampling, client_capabilities, version) ||
         can_ask(Kind::roots, client_capabilities, version);
}

std::string_view question_method(ElicitationForm::Kind kind) {
  switch (kind) {
    case ElicitationForm::Kind::form:
      return "elicitation/create";
    case ElicitationForm::Kind::sampling:
      return "sampling/createMessage";
    case ElicitationForm::Kind::roots:
      return "roots/list";
  }
  return {};
}

std::string elicitation_members(const ElicitationForm& form, Version version) {
  std::string members;
  Json meta = form.params.is_object() ? form.params.value("_meta", Json::object()) : Json::object();
  if (!form.task.empty()) {
    if (!meta.is_object()) meta = Json::object();
    meta[std::string(meta_key::kRelatedTask)] = {{"taskId", form.task}};
  }
  if (!meta.empty()) {
    append_key(members, "_meta");
    members += dump_json(meta);
  }
  if (form.kind != ElicitationForm::Kind::form) {
    for (const auto& [key, value] : form.params.items()) {
      if (key == "_meta") continue;
      append_key(members, key);
      members += dump_json(value);
    }
    return members;
  }
  if (has_elicitation_modes(version)) append_member(members, "mode", "form");
  append_key(members, "message");
  append_json_string(members, form.message);
  append_key(members, "requestedSchema");
  members += form.schema;
  return members;
}

std::optional<Elicited> read_elicited(const Json& result, ElicitationForm::Kind kind) {
  if (!result.is_object()) return {};
  if (kind != ElicitationForm::Kind::form) {
    if (!result.contains(kind == ElicitationForm::Kind::sampling ? "content" : "roots")) return {};
    return Elicited{Elicited::Action::accept, result};
  }
  const auto action = result.find("action");
  if (action == result.end()) return {};
  if (*action == "accept") return Elicited{Elicited::Action::accept, result.value("content", Json::object())};
  if (*action == "decline") return Elicited{Elicited::Action::decline};
  if (*action == "cancel") return Elicited{Elicited::Action::cancel};
  return {};
}

std::optional<std::string> Elicitations::add(const std::shared_ptr<Elicitation>& question) {
  std::erase_if(open_, [](const auto& item) { return item.second.expired(); });
  if (open_.size() >= kMax) return {};
  const std::string key = "warder-asks-" + random_hex(16);
  open_.emplace(key, question);
  return key;
}

std::shared_ptr<Elicitation> Elicitations::find(const std::string& key) const {
  const auto it = open_.find(key);
  return it == open_.end() ? nullptr : it->second.lock();
}

std::shared_ptr<Elicitation> Elicitations::take(const std::string& key) {
  auto node = open_.extract(key);
  return node ? node.mapped().lock() : nullptr;
}

std::vector<std::shared_ptr<Elicitation>> Elicitations::take_all() {
  std::vector<std::shared_ptr<Elicitation>> all;
  for (const auto& [key, weak] : std::exchange(open_, {}))
    if (auto question = weak.lock()) all.push_back(std::move(question));
  return all;
}

}  // namespace mcp
