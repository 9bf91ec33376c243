#include "supervisor/records/journal/audit_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/records/journal/audit_chain.h"

namespace journal {
namespace {

constexpr std::string_view kBegin = "audit chain: ", kMiddle = " entries, head ";
constexpr size_t kHashDigits = 2 * chain::kHashBytes;
constexpr int kJsonDepth = 8;

std::optional<AuditHead> head_of(std::string_view count, std::string_view hash) {
  AuditHead head;
  const auto read = std::from_chars(count.data(), count.data() + count.size(), head.count);
  const bool is_count = read.ec == std::errc() && read.ptr == count.data() + count.size() && head.count >= 0;
  const bool is_hash = hash.size() == kHashDigits && hash.find_first_not_of("0123456789abcdef") == hash.npos;
  if (!is_count || !is_hash) return {};
  head.hash = hash;
  return head;
}

std::optional<AuditHead> parse_json_head(std::string_view line) {
  const auto object = parse_json(line, kJsonDepth);
  if (!object || !object->is_object()) return {};
  const auto text = [&object](const char* key) -> std::string {
    const auto it = object->find(key);
    if (it == object->end()) return {};
    if (it->is_number_integer()) return dump_json(*it);
    return it->is_string() ? it->get<std::string>() : std::string();
  };
  if (auto logged = head_of(text(kAuditCountField), text(kAuditHeadField))) return logged;
  return head_of(text("count"), text("head"));
}

}  // namespace

std::string head_text(const AuditHead& head) { return fmt::format("{}{}{}{}", kBegin, head.count, kMiddle, head.hash); }

std::optional<AuditHead> parse_head(std::string_view line) {
  if (line.starts_with('{')) return parse_json_head(line);
  const size_t begin = line.find(kBegin);
  if (begin == line.npos) return {};
  const std::string_view rest = line.substr(begin + kBegin.size());
  const size_t middle = rest.find(kMiddle);
  if (middle == rest.npos) return {};
  return head_of(rest.substr(0, middle), rest.substr(middle + kMiddle.size(), kHashDigits));
}

Result<HeadStanding> find_head(Database& database, const AuditHead& head) {
  if (head.count == 0) return HeadStanding::in_chain;
  TRY(const AuditHead last, read_head(database));
  if (head.count > last.count) return HeadStanding::missing;
  const auto compare = [&head](const std::string& hash) {
    return chain::hexadecimal(hash) == head.hash ? HeadStanding::in_chain : HeadStanding::changed;
  };
  TRY(Statement entry, database.prepare("SELECT hash FROM audit WHERE number=?"));
  TRY(const bool is_stored, entry.bind(head.count).step());
  if (is_stored) return compare(entry.blob(0));
  TRY(Statement gap, database.prepare("SELECT last, hash FROM audit_gaps WHERE first<=?1 AND last>=?1"));
  TRY(const bool is_forgotten, gap.bind(head.count).step());
  if (!is_forgotten) return HeadStanding::missing;
  return gap.integer(0) == head.count ? compare(gap.blob(1)) : HeadStanding::forgotten;
}

}  // namespace journal
