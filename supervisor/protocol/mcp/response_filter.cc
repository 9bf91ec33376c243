#include "supervisor/protocol/mcp/response_filter.h"

#include <algorithm>
#include <cmath>

#include "supervisor/base/ascii.h"
#include "supervisor/base/base64.h"
#include "supervisor/base/json/exact_number.h"
#include "supervisor/base/json/json.h"
#include "supervisor/protocol/mcp/registry.h"

namespace mcp {

namespace {

constexpr size_t kMinBase64 = 16;             // characters; a shorter text is a word, not base64
constexpr int64_t kLongNumber = 100'000'000;  // a smaller number is no card, account or telephone number

Result<> redact_json(TextFilter& texts, Json& value);

Result<> redact_string(TextFilter& texts, std::string& text) {
  if (text.empty()) return {};
  TRY(text, texts.redact(text));
  return {};
}

// Redacts text in base64, a form in which files can be read. Bytes that are not UTF-8, for example a picture, stay.
Result<> redact_base64(TextFilter& texts, std::string& encoded) {
  if (encoded.size() < kMinBase64 || encoded.size() % 4 != 0) return {};
  const auto bytes = from_base64(encoded);
  if (!bytes || valid_utf8(*bytes) != *bytes) return {};
  TRY(const std::string cleaned, texts.redact(*bytes));
  if (cleaned != *bytes) encoded = to_base64(cleaned);
  return {};
}

std::string without_percents(std::string_view uri) {
  std::string text;
  for (size_t i = 0; i < uri.size(); i++) {
    const bool escape = uri[i] == '%' && i + 2 < uri.size() && hex_digit(uri[i + 1]) >= 0 && hex_digit(uri[i + 2]) >= 0;
    text += escape ? static_cast<char>(hex_digit(uri[i + 1]) << 4 | hex_digit(uri[i + 2])) : uri[i];
    if (escape) i += 2;
  }
  return text;
}

// A URI changes only if it has personal data in it. A client cannot read the changed URI any more.
Result<> redact_uri(TextFilter& texts, std::string& uri) {
  const std::string text = without_percents(uri);
  TRY(std::string cleaned, texts.redact(text));
  if (cleaned == text) return redact_string(texts, uri);
  uri = std::move(cleaned);
  return {};
}

bool is_uri(std::string_view text) {
  return text.find("://") != text.npos && text.find_first_of(" \t\r\n") == text.npos;
}

// Redacts a list of output lines as one text, because a secret may span lines, as a key in PEM form does.
Result<bool> redact_lines(TextFilter& texts, Json& list) {
  const auto is_line = [](const Json& item) {
    return item.is_string() && item.get_ref<const std::string&>().find('\n') == std::string::npos;
  };
  if (list.empty() || !std::all_of(list.begin(), list.end(), is_line)) return false;
  std::string all;
  for (const Json& line : list) all.append(line.get_ref<const std::string&>()) += '\n';
  all.pop_back();
  TRY(const std::string cleaned, texts.redact(all));
  if (cleaned == all) return true;
  list = Json::array();
  for (size_t at = 0; at <= cleaned.size();) {
    const size_t end = std::min(cleaned.find('\n', at), cleaned.size());
    list.push_back(cleaned.substr(at, end - at));
    at = end + 1;
  }
  return true;
}

Result<> redact_object(TextFilter& texts, Json& object) {
  std::vector<std::string> names;
  bool same = true;
  for (auto it = object.begin(); it != object.end(); ++it) {
    TRY(std::string name, texts.redact(it.key()));
    CHECKED(redact_json(texts, it.value()));
    same = same && name == it.key();
    names.push_back(std::move(name));
  }
  if (same) return {};
  Json renamed = Json::object();
  auto name = names.begin();
  for (auto it = object.begin(); it != object.end(); ++it) renamed[*name++] = std::move(it.value());
  object = std::move(renamed);
  return {};
}

Result<> redact_number(TextFilter& texts, Json& number) {
  const bool is_short = is_exact_number(number) ? false
                        : number.is_number_unsigned()
                            ? number.get<uint64_t>() < static_cast<uint64_t>(kLongNumber)
                            : std::abs(number.get<double>()) < static_cast<double>(kLongNumber);
  if (is_short) return {};
  const std::string digits = dump_json(number);
  TRY(std::string cleaned, texts.redact(digits));
  if (cleaned != digits) number = std::move(cleaned);
  return {};
}

Result<> redact_json(TextFilter& texts, Json& value) {
  if (value.is_string()) {
    std::string& text = value.get_ref<std::string&>();
    if (is_uri(text)) return redact_uri(texts, text);
    CHECKED(redact_string(texts, text));
    return redact_base64(texts, text);
  }
  if (value.is_number_integer() || is_exact_number(value)) return redact_number(texts, value);
  if (value.is_object()) return redact_object(texts, value);
  if (!value.is_array()) return {};
  TRY(const bool done, redact_lines(texts, value));
  if (done) return {};
  for (Json& item : value) CHECKED(redact_json(texts, item));
  return {};
}

// JSON is redacted value by value: a token in the middle of an escape would make the text invalid JSON.
Result<> redact_text(TextFilter& texts, std::string& text) {
  if (text.starts_with('{') || text.starts_with('[')) {
    if (auto value = parse_json(text)) {
      CHECKED(redact_json(texts, *value));
      text = dump_json(*value);
      return {};
    }
  }
  return redact_string(texts, text);
}

Result<> redact_each(TextFilter& texts, std::initializer_list<std::string*> strings) {
  for (std::string* text : strings) CHECKED(redact_string(texts, *text));
  return {};
}

struct BlockCleaner {
  TextFilter& texts;
  Result<> operator()(Text& block) const { return redact_text(texts, block.text); }
  Result<> operator()(Image&) const { return {}; }
  Result<> operator()(Audio&) const { return {}; }
  Result<> operator()(ResourceLink& block) const {
    CHECKED(redact_uri(texts, block.uri));
    return redact_each(texts, {&block.name, &block.title, &block.description});
  }
  Result<> operator()(ResourceContents& block) const {
    CHECKED(redact_uri(texts, block.uri));
    if (block.kind == ResourceContents::Kind::blob) return redact_base64(texts, block.data);
    return redact_text(texts, block.data);
  }
};

}  // namespace

// The message of `why` is left out, because it may quote the texts that must not be sent.
Error withheld(Error why) {
  return {why.code, 0, "the answer is withheld: its texts could not be filtered", why.hint, why.rule};
}

Result<> redact(TextFilter& texts, ToolResult& result) {
  const bool twice = result.structured && result.content.size() == 1 &&
                     std::holds_alternative<Text>(result.content.front()) &&
                     std::get<Text>(result.content.front()).text == dump_json(*result.structured);
  if (result.structured) CHECKED(redact_json(texts, *result.structured));
  if (twice) {
    std::get<Text>(result.content.front()).text = dump_json(*result.structured);
  } else {
    for (Block& block : result.content) CHECKED(std::visit(BlockCleaner{texts}, block));
  }
  return {};
}

Result<> redact(TextFilter& texts, std::vector<ResourceContents>& contents) {
  for (ResourceContents& content : contents) {
    const bool is_text = content.kind == ResourceContents::Kind::text;
    CHECKED(is_text ? redact_text(texts, content.data) : redact_base64(texts, content.data));
  }
  return {};
}

Result<> redact(TextFilter& texts, ResourcePage& page) {
  for (Resource& resource : page.resources) {
    CHECKED(redact_uri(texts, resource.uri));
    CHECKED(redact_each(texts, {&resource.name, &resource.title, &resource.description}));
  }
  CHECKED(redact_string(texts, page.next_cursor));  // it may name a resource; a changed cursor does not work
  return {};
}

Result<> redact(TextFilter& texts, std::vector<Prompt>& prompts) {
  for (Prompt& prompt : prompts) {
    CHECKED(redact_each(texts, {&prompt.name, &prompt.title, &prompt.description}));
    for (PromptArgument& argument : prompt.arguments)
      CHECKED(redact_each(texts, {&argument.name, &argument.description}));
  }
  return {};
}

Result<> redact(TextFilter& texts, PromptResult& result) {
  CHECKED(redact_string(texts, result.description));
  for (PromptMessage& message : result.messages) CHECKED(std::visit(BlockCleaner{texts}, message.content));
  return {};
}

Result<> redact(TextFilter& texts, Completion& completion) {
  for (std::string& value : completion.values) CHECKED(redact_string(texts, value));
  return {};
}

Result<> redact(TextFilter& texts, RpcError& error) {
  CHECKED(redact_string(texts, error.message));
  CHECKED(redact_json(texts, error.data));
  return {};
}

Result<> redact_value(TextFilter& texts, Json& value) {
  CHECKED(redact_json(texts, value));
  return {};
}

}  // namespace mcp
