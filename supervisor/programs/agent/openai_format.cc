// Chat Completions, as OpenAI and most other servers of models have it (vLLM, llama.cpp, Ollama, gateways).
#include <map>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/programs/agent/model_format.h"

namespace agent {

std::string error_text(const Json& body) {
  const Json& error = member(body, "error");
  return error.is_string() ? error.get<std::string>() : text_member(error, "message");
}

Json arguments_object(const ToolRequest& request) {
  auto parsed = parse_json(request.arguments);
  return parsed && parsed->is_object() ? *std::move(parsed) : Json::object();
}

Result<ToolRequest*> ReplyReader::begin_request(std::string id, std::string name) {
  if (reply_.requests.size() >= kMaxRequests)
    return fail(Code::exhausted, "the model asks for more than " + std::to_string(kMaxRequests) + " calls at once");
  if (id.empty()) id = "call_" + std::to_string(reply_.requests.size());
  if (on_request_) on_request_(name);
  reply_.requests.push_back({std::move(id), std::move(name), {}});
  return &reply_.requests.back();
}

namespace {

class OpenAiReader : public ReplyReader {
 public:
  using ReplyReader::ReplyReader;

  Result<> read_event(std::string_view data) override {
    if (data == "[DONE]") {
      complete_ = true;
      return {};
    }
    auto event = parse_json(data);
    if (!event) return fail(Code::unavailable, "an event of the reply is not JSON");
    if (const std::string wrong = error_text(*event); !wrong.empty())
      return fail(Code::unavailable, "the model's server reports: " + wrong);
    read_usage(*event);
    const Json& choices = member(*event, "choices");
    if (!choices.is_array() || choices.empty()) return {};
    const Json& delta = member(choices[0], "delta");
    reply_.text += text_member(delta, "content");
    if (const Json& calls = member(delta, "tool_calls"); calls.is_array())
      for (const Json& call : calls) CHECKED(read_part(call));
    note_finish(text_member(choices[0], "finish_reason"));
    return {};
  }

  Result<> read_body(std::string_view body) override {
    auto reply = parse_json(body);
    if (!reply) return fail(Code::unavailable, "the reply is not JSON");
    if (const std::string wrong = error_text(*reply); !wrong.empty())
      return fail(Code::unavailable, "the model's server reports: " + wrong);
    const Json& choices = member(*reply, "choices");
    if (!choices.is_array() || choices.empty()) return fail(Code::unavailable, "the reply has no choices");
    read_usage(*reply);
    const Json& message = member(choices[0], "message");
    reply_.text = text_member(message, "content");
    if (const Json& calls = member(message, "tool_calls"); calls.is_array())
      for (const Json& call : calls) CHECKED(read_part(call));
    note_finish(text_member(choices[0], "finish_reason"));
    complete_ = true;
    return {};
  }

 private:
  void read_usage(const Json& of) {
    const Json& usage = member(of, "usage");
    if (!usage.is_object()) return;
    reply_.usage = {number_member(usage, "prompt_tokens"), number_member(usage, "completion_tokens"), true};
  }

  // A server may end its stream without [DONE].
  void note_finish(const std::string& reason) {
    if (reason.empty()) return;
    complete_ = true;
    reply_.is_cut = reason == "length";
  }

  // A call comes in parts: `index` says of which call. Some servers leave it out and send each call whole.
  Result<> read_part(const Json& part) {
    const Json& function = member(part, "function");
    const std::string id = text_member(part, "id"), name = text_member(function, "name");
    const Json& params = member(part, "index");
    const bool is_indexed = params.is_number_unsigned();
    const uint64_t index = is_indexed ? params.get<uint64_t>() : reply_.requests.size();
    auto it = indexes_.find(index);
    if (it == indexes_.end()) {
      CHECKED(begin_request(id, name));
      it = indexes_.emplace(index, reply_.requests.size() - 1).first;
    }
    reply_.requests[it->second].arguments += text_member(function, "arguments");
    return {};
  }

  std::map<uint64_t, size_t> indexes_;  // in reply_.requests, by the index of the stream
};

class OpenAiFormat : public ModelFormat {
 public:
  std::string path() const override { return "/chat/completions"; }
  http::Headers headers(const std::string& key) const override {
    return key.empty() ? http::Headers() : http::Headers{{"Authorization", "Bearer " + key}};
  }

  Json request(const std::string& model, const std::string& instructions, const std::vector<ShownTool>& tools,
               const std::vector<ChatMessage>& messages) const override {
    Json all = Json::array({{{"role", "system"}, {"content", instructions}}});
    for (const ChatMessage& message : messages) append(all, message);
    Json output = Json::array();
    for (const ShownTool& tool : tools)
      output.push_back(
          {{"type", "function"},
           {"function", {{"name", tool.name}, {"description", tool.description}, {"parameters", tool.schema}}}});
    return {{"model", model},
            {"messages", std::move(all)},
            {"tools", std::move(output)},
            {"stream", true},
            {"stream_options", {{"include_usage", true}}}};
  }

  std::unique_ptr<ReplyReader> reader(ReplyReader::OnRequest on_request) const override {
    return std::make_unique<OpenAiReader>(std::move(on_request));
  }

 private:
  static void append(Json& all, const ChatMessage& message) {
    switch (message.kind) {
      case ChatMessage::Kind::user:
        all.push_back({{"role", "user"}, {"content", message.text}});
        return;
      case ChatMessage::Kind::model: {
        Json reply = {{"role", "assistant"}, {"content", message.text}};
        for (const ToolRequest& request : message.requests)
          reply["tool_calls"].push_back(
              {{"id", request.id},
               {"type", "function"},
               {"function", {{"name", request.name}, {"arguments", dump_json(arguments_object(request))}}}});
        all.push_back(std::move(reply));
        return;
      }
      case ChatMessage::Kind::tools:
        for (const ToolAnswer& answer : message.answers)
          all.push_back({{"role", "tool"},
                         {"tool_call_id", answer.id},
                         {"content", answer.is_error ? "Error: " + answer.text : answer.text}});
        return;
    }
  }
};

}  // namespace

std::unique_ptr<ModelFormat> openai_format() { return std::make_unique<OpenAiFormat>(); }

}  // namespace agent
