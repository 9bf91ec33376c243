#include "supervisor/programs/cli/admin/policies/yaml_document.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <yaml.h>

#include <charconv>
#include <cmath>

#include "supervisor/base/json/json_file.h"
#include "supervisor/base/path.h"

namespace admin {
namespace {

constexpr int kMaxYamlDepth = 32;

std::string_view bytes_of(const yaml_char_t* text, size_t size) {
  return {reinterpret_cast<const char*>(text), size};  // yaml_char_t is unsigned char
}

template <class T>
bool read_number(std::string_view text, T& number, int base = 10) {
  if constexpr (std::is_integral_v<T>) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    return error == std::errc() && end == text.data() + text.size();
  } else {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
  }
}

// A plain scalar by the core schema.
Json plain_value(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return nullptr;
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  const bool has_plus = text[0] == '+';
  const std::string_view digits = has_plus ? text.substr(1) : text;
  if (int64_t number = 0; digits.starts_with("0x") && read_number(digits.substr(2), number, 16)) return number;
  if (int64_t number = 0; digits.starts_with("0o") && read_number(digits.substr(2), number, 8)) return number;
  if (int64_t number = 0; !(has_plus && digits.starts_with('-')) && read_number(digits, number)) return number;
  // from_chars also takes "inf" and "nan", which are texts here.
  const bool is_like_number =
      digits.find_first_not_of("0123456789.eE+-") == digits.npos && !(has_plus && digits[0] == '-');
  if (double number = 0; is_like_number && read_number(digits, number) && std::isfinite(number)) return number;
  return std::string(text);
}

class YamlReader {
 public:
  explicit YamlReader(std::string_view text) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
  }
  ~YamlReader() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;

  Result<YamlDocument> read() {
    CHECKED(next());  // the begin of the stream
    CHECKED(next());
    if (event_.type == YAML_STREAM_END_EVENT) return fail(Code::invalid, "the document is empty");
    CHECKED(next());
    YamlDocument document;
    TRY(document.value, value("", 0));
    CHECKED(next());  // the end of the document
    CHECKED(next());
    if (event_.type != YAML_STREAM_END_EVENT) return wrong("a second document begins", "give one document in a file");
    document.lines = std::move(lines_);
    return document;
  }

 private:
  tl::unexpected<Error> wrong(std::string message, std::string remedy = {}) const {
    return fail(Code::invalid, fmt::format("line {}: {}", event_.start_mark.line + 1, message), std::move(remedy));
  }
  Result<> next() {
    yaml_event_delete(&event_);
    if (yaml_parser_parse(&parser_, &event_) != 0) return {};
    const char* context = parser_.context ? parser_.context : "";
    return fail(Code::invalid, fmt::format("line {}: not YAML: {}{}{}", parser_.problem_mark.line + 1, context,
                                           *context ? ", " : "", parser_.problem ? parser_.problem : "unreadable"));
  }

  // The value that the present event begins.
  Result<Json> value(const std::string& path, int depth) {
    if (++values_ > kMaxYamlValues) return wrong(fmt::format("the document has more than {} values", kMaxYamlValues));
    if (depth > kMaxYamlDepth) return wrong(fmt::format("values are nested deeper than {}", kMaxYamlDepth));
    lines_.emplace(path, event_.start_mark.line + 1);
    switch (event_.type) {
      case YAML_SCALAR_EVENT:
        return scalar();
      case YAML_SEQUENCE_START_EVENT:
        CHECKED(refuse_extras(event_.data.sequence_start.anchor, event_.data.sequence_start.tag));
        return sequence(path, depth);
      case YAML_MAPPING_START_EVENT:
        CHECKED(refuse_extras(event_.data.mapping_start.anchor, event_.data.mapping_start.tag));
        return mapping(path, depth);
      case YAML_ALIAS_EVENT:
        return wrong("an alias (*name) is not read here", "write the value again");
      default:
        return wrong("no value");
    }
  }

  Result<> refuse_extras(const yaml_char_t* anchor, const yaml_char_t* tag) const {
    if (anchor) return wrong("an anchor (&name) is not read here", "write the value again where it is needed");
    if (tag) return wrong("a tag (!name) is not read here", "leave it out");
    return {};
  }

  Result<Json> scalar() const {
    const auto& scalar = event_.data.scalar;
    CHECKED(refuse_extras(scalar.anchor, scalar.tag));
    const std::string_view text = bytes_of(scalar.value, scalar.length);
    if (scalar.style == YAML_PLAIN_SCALAR_STYLE) return plain_value(text);
    return Json(std::string(text));
  }

  Result<Json> sequence(const std::string& path, int depth) {
    Json list = Json::array();
    for (;;) {
      CHECKED(next());
      if (event_.type == YAML_SEQUENCE_END_EVENT) return list;
      TRY(Json item, value(fmt::format("{}[{}]", path, list.size()), depth + 1));
      list.push_back(std::move(item));
    }
  }

  Result<Json> mapping(const std::string& path, int depth) {
    Json object = Json::object();
    std::map<std::string, size_t> key_lines;
    for (;;) {
      CHECKED(next());
      if (event_.type == YAML_MAPPING_END_EVENT) return object;
      if (event_.type != YAML_SCALAR_EVENT) return wrong("a key that is no text");
      CHECKED(refuse_extras(event_.data.scalar.anchor, event_.data.scalar.tag));
      std::string key(bytes_of(event_.data.scalar.value, event_.data.scalar.length));
      const size_t line = event_.start_mark.line + 1;
      if (const auto [first, is_new] = key_lines.emplace(key, line); !is_new)
        return wrong(fmt::format("the key '{}' is there twice, first in line {}", key, first->second));
      const std::string inner = path.empty() ? key : path + "." + key;
      CHECKED(next());
      TRY(object[key], value(inner, depth + 1));
      lines_[inner] = line;
    }
  }

  yaml_parser_t parser_{};
  yaml_event_t event_{};
  size_t values_ = 0;
  std::map<std::string, size_t> lines_;
};

}  // namespace

Result<YamlDocument> read_yaml(std::string_view text) {
  if (text.size() > kMaxYamlBytes)
    return fail(Code::exhausted, fmt::format("the document has {} bytes, {} are read", text.size(), kMaxYamlBytes));
  YamlReader reader(text);
  return reader.read();
}

Result<std::string> read_document_text(const std::string& file) {
  const Fd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened) return fail_errno(errno, "open '" + file + "'", Code::not_found);
  auto text = read_complete(opened.get(), kMaxYamlBytes);
  if (!text) return tl::unexpected<Error>(std::move(text).error().within(file));
  return text;
}

Result<YamlDocument> read_document_file(const std::string& file) {
  TRY(const std::string text, read_document_text(file));
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != text.npos && text[begin] == '{') {
    if (auto json = parse_json_file(text)) return YamlDocument{*std::move(json), {}};
  }
  auto document = read_yaml(text);
  if (!document) return tl::unexpected<Error>(std::move(document).error().within(file));
  return document;
}

}  // namespace admin
