#include "supervisor/tools/workspace_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "supervisor/base/json.h"

namespace tools {

std::string_view image_type(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (bytes.starts_with("\x89PNG\r\n\x1A\n"sv)) return "image/png";
  if (bytes.starts_with("\xFF\xD8\xFF"sv)) return "image/jpeg";
  if (bytes.starts_with("GIF87a"sv) || bytes.starts_with("GIF89a"sv)) return "image/gif";
  if (bytes.size() >= 12 && bytes.starts_with("RIFF"sv) && bytes.substr(8, 4) == "WEBP"sv) return "image/webp";
  return {};
}

std::string_view mime_type(std::string_view name, std::string_view bytes) {
  if (auto image = image_type(bytes); !image.empty()) return image;
  if (!is_text(bytes)) return name.ends_with(".pdf") ? "application/pdf" : "application/octet-stream";
  static constexpr std::pair<std::string_view, std::string_view> kEndings[] = {
      {".md", "text/markdown"}, {".csv", "text/csv"},       {".json", "application/json"},
      {".html", "text/html"},   {".svg", "image/svg+xml"},  {".xml", "application/xml"},
      {".py", "text/x-python"}, {".js", "text/javascript"}, {".sh", "application/x-sh"},
  };
  for (auto [ending, type] : kEndings)
    if (name.ends_with(ending)) return type;
  return "text/plain";
}

bool is_text(std::string_view bytes) { return bytes.find('\0') == bytes.npos && valid_utf8(bytes) == bytes; }

Result<std::optional<KeptOutput>> parse_kept_output(std::string_view name) {
  if (!name.starts_with(kExecutionScheme)) return std::nullopt;
  name.remove_prefix(kExecutionScheme.size());
  size_t slash = name.find('/');
  if (slash == name.npos)
    return fail(Code::invalid, "the output of an execution has the URI exec:///<execution_id>/stdout or .../stderr",
                "use the execution_id from the answer of execute_code");
  KeptOutput kept;
  kept.execution = name.substr(0, slash);
  CHECKED(tenants::check_execution_id(kept.execution));
  TRY(kept.stream, tenants::parse_stream(name.substr(slash + 1)));
  return kept;
}

Result<std::string> decode_percent(std::string_view text) {
  auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  std::string plain;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    bool whole = i + 2 < text.size();
    int high = whole ? digit(text[i + 1]) : -1;
    int low = whole ? digit(text[i + 2]) : -1;
    if (high < 0 || low < 0)
      return fail(Code::invalid, "the URI has a '%' without two hexadecimal digits", "write '%' as %25");
    plain += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return plain;
}

std::string encode_percent(std::string_view path) {
  std::string text;
  for (char c : path) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 std::string_view("-._~/").find(c) != std::string_view::npos;
    if (plain) {
      text += c;
    } else {
      text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return text;
}

std::vector<mcp::ResourceContents> json_contents(std::string uri, std::string text) {
  mcp::ResourceContents contents;
  contents.mime_type = "application/json";
  contents.data = std::move(text);
  contents.uri = std::move(uri);
  std::vector<mcp::ResourceContents> one;
  one.push_back(std::move(contents));
  return one;
}

}  // namespace tools
