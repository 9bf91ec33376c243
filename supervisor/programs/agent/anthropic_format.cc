// Anthropic's Messages API.
#include <algorithm>
#include <map>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/programs/agent/model_format.h"

namespace agent {
namespace {

constexpr unsigned kMaxReplyTokens = 16'000;  // max_tokens of one reply; the API wants a number

class AnthropicReader : public ReplyReader {
 public:
  using ReplyReader::ReplyReader;

  Result<> read_event(std::string_view data) override {
    auto event = parse_json(data);
    if (!event) return fail(Code::unavailable, "an event of the reply is not JSON");
    const std::string type = text_member(*event, "type");
    if (type == "error") return fail(Code::unavailable, "the model's server reports: " + error_text(*event));
    if (type == "message_start") read_usage(member(member(*event, "message"), "usage"));
    if (type == "content_block_start") return begin_block(position_of(*event), member(*event, "content_block"));
    if (type == "content_block_delta") read_delta(position_of(*event), member(*event, "delta"));
    if (type == "message_delta") {
      note_stop(text_member(member(*event, "delta"), "stop_reason"));
      read_usage(member(*event, "usage"));
    }
    if (type == "message_stop") complete_ = true;
    return {};
  }

  Result<> read_body(std::string_view body) override {
    auto reply = parse_json(body);
    if (!reply) return fail(Code::unavailable, "the reply is not JSON");
    if (text_member(*reply, "type") == "error")
      return fail(Code::unavailable, "the model's server reports: " + error_text(*reply));
    const Json& content = member(*reply, "content");
    if (!content.is_array()) return fail(Code::unavailable, "the reply has no content");
    for (size_t index = 0; index < content.size(); index++) CHECKED(begin_block(index, content[index]));
    note_stop(text_member(*reply, "stop_reason"));
    read_usage(member(*reply, "usage"));
    complete_ = true;
    return {};
  }

 private:
  static uint64_t position_of(const Json& event) { return number_member(event, "index"); }

  Result<> begin_block(uint64_t index, const Json& block) {
    const std::string type = text_member(block, "type");
    if (type == "text") reply_.text += text_member(block, "text");
    if (type != "tool_use") return {};
    TRY(ToolRequest * request, begin_request(text_member(block, "id"), text_member(block, "name")));
    // In a stream, the input of the beginning is {} and the arguments follow.
    if (const Json& input = member(block, "input"); input.is_object() && !input.empty())
      request->arguments = dump_json(input);
    indexes_[index] = reply_.requests.size() - 1;
    return {};
  }

  void read_delta(uint64_t index, const Json& delta) {
    const std::string type = text_member(delta, "type");
    if (type == "text_delta") reply_.text += text_member(delta, "text");
    const auto it = indexes_.find(index);
    if (type == "input_json_delta" && it != indexes_.end())
      reply_.requests[it->second].arguments += text_member(delta, "partial_json");
  }

  void read_usage(const Json& usage) {
    if (!usage.is_object()) return;
    const uint64_t in = number_member(usage, "input_tokens") + number_member(usage, "cache_creation_input_tokens") +
                        number_member(usage, "cache_read_input_tokens");
    if (in > 0) reply_.usage.in = in;
    reply_.usage.out = std::max(reply_.usage.out, number_member(usage, "output_tokens"));
    reply_.usage.is_known = true;
  }

  void note_stop(const std::string& reason) { reply_.is_cut = reason == "max_tokens"; }

  std::map<uint64_t, size_t> indexes_;  // in reply_.requests, by the place of the content block
};

class AnthropicFormat : public ModelFormat {
 public:
  std::string path() const override { return "/v1/messages"; }
  http::Headers headers(const std::string& key) const override {
    http::Headers headers = {{"anthropic-version", "2023-06-01"}};
    if (!key.empty()) headers.emplace_back("x-api-key", key);
    return headers;
  }

  Json request(const std::string& model, const std::string& instructions, const std::vector<ShownTool>& tools,
               const std::vector<ChatMessage>& messages) const override {
    Json all = Json::array();
    for (const ChatMessage& message : messages) append(all, message);
    Json output = Json::array();
    for (const ShownTool& tool : tools)
      output.push_back({{"name", tool.name}, {"description", tool.description}, {"input_schema", tool.schema}});
    return {{"model", model},
            {"max_tokens", kMaxReplyTokens},
            {"system", instructions},
            {"messages", std::move(all)},
            {"tools", std::move(output)},
            {"stream", true}};
  }

  std::unique_ptr<ReplyReader> reader(ReplyReader::OnRequest on_request) const override {
    return std::make_unique<AnthropicReader>(std::move(on_request));
  }

 private:
  static void append(Json& all, const ChatMessage& message) {
    Json blocks = Json::array();
    if (!message.text.empty()) blocks.push_back({{"type", "text"}, {"text", message.text}});  // none may be empty
    for (const ToolRequest& request : message.requests)
      blocks.push_back(
          {{"type", "tool_use"}, {"id", request.id}, {"name", request.name}, {"input", arguments_object(request)}});
    for (const ToolAnswer& answer : message.answers)
      blocks.push_back({{"type", "tool_result"},
                        {"tool_use_id", answer.id},
                        {"content", answer.text},
                        {"is_error", answer.is_error}});
    if (blocks.empty()) return;
    const char* role = message.kind == ChatMessage::Kind::model ? "assistant" : "user";
    all.push_back({{"role", role}, {"content", std::move(blocks)}});
  }
};

}  // namespace

std::unique_ptr<ModelFormat> anthropic_format() { return std::make_unique<AnthropicFormat>(); }

}  // namespace agent
