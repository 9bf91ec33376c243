#include "supervisor/base/media_type.h"

#include <utility>

#include "supervisor/base/json/json.h"

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
