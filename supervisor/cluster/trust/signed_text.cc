#include "supervisor/cluster/trust/signed_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/ascii.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace cluster {
namespace {

constexpr int kMaxHeaderDepth = 4;
constexpr size_t kSignatureChars = 88;

}  // namespace

Result<SignedText> split_signed(std::string_view text, size_t max_header, size_t max_body) {
  const size_t end = text.substr(0, max_header + 1).find('\n');
  if (end == text.npos && text.size() > max_header)
    return fail(Code::exhausted, fmt::format("its first line has more than {} bytes", max_header));
  if (end == text.npos) return fail(Code::invalid, "it ends within its first line");
  SignedText parts;
  parts.header = text.substr(0, end);
  text.remove_prefix(end + 1);
  if (text.size() <= kSignatureChars) return fail(Code::invalid, "it ends within its signature");
  if (text[kSignatureChars] != '\n') return fail(Code::invalid, "its second line is not 88 characters of base64");
  TRY(parts.signature, parse_signature(text.substr(0, kSignatureChars)));
  parts.body = text.substr(kSignatureChars + 1);
  if (parts.body.size() > max_body)
    return fail(Code::exhausted, fmt::format("its body has {} bytes, more than {}", parts.body.size(), max_body));
  return parts;
}

std::string join_signed(std::string_view header, const Signature& signature, std::string_view body) {
  std::string text;
  text.reserve(header.size() + kSignatureChars + 2 + body.size());
  text.append(header).append(1, '\n').append(text_of(signature)).append(1, '\n').append(body);
  return text;
}

Result<Json> parse_canonical(std::string_view line) {
  TRY(Json value, parse_json(line, kMaxHeaderDepth));
  if (!value.is_object()) return fail(Code::invalid, "it is not a JSON object");
  return value;
}

bool is_cluster_word(std::string_view name) {
  return !name.empty() && name.size() <= 32 && name[0] != '-' &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

bool is_kind_word(std::string_view kind) {
  return !kind.empty() && kind.size() <= 32 && is_lower(kind[0]) &&
         std::all_of(kind.begin(), kind.end(), [](char c) { return is_lower_or_digit(c) || c == '_'; });
}

bool is_hex(std::string_view text, size_t digits) {
  return text.size() == digits && std::all_of(text.begin(), text.end(), is_lower_hex);
}

}  // namespace cluster
