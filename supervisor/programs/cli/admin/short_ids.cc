#include "supervisor/programs/cli/admin/short_ids.h"

#include <algorithm>

namespace admin {
namespace {

constexpr size_t kWholeId = 17;        // "e" and 16 hexadecimal digits
constexpr size_t kMin = 6;             // as printed; typed ids may be shorter
constexpr size_t kMaxCandidates = 10;  // in an error

bool is_whole(std::string_view id) { return id.size() >= kWholeId; }

std::string shortened(std::string_view typed) {
  return std::string(typed.substr(0, 64)) + (typed.size() > 64 ? "..." : "");
}

}  // namespace

Result<std::string> match_id(std::string_view typed, const std::vector<std::string>& ids, std::string_view kind,
                             std::string_view list) {
  std::vector<std::string> fitting;
  for (const auto& id : ids) {
    if (id == typed) return id;
    if (id.starts_with(typed)) fitting.push_back(id);
  }
  const std::string names(kind), lists = "list the ids with: " + std::string(list);
  if (typed.empty()) return fail(Code::invalid, "the id of the " + names + " is empty", lists);
  if (fitting.size() == 1) return fitting.front();
  if (fitting.empty())
    return fail(Code::not_found, "no " + names + " that you may see has an id that begins so", lists);
  std::string text;
  for (size_t i = 0; i < fitting.size() && i < kMaxCandidates; i++) text += (i > 0 ? ", " : "") + fitting[i];
  if (fitting.size() > kMaxCandidates) text += ", ...";
  return fail(Code::invalid, std::to_string(fitting.size()) + " ids begin so: " + text,
              "give more characters of the id");
}

size_t short_length(const std::vector<std::string>& ids) {
  auto sorted = ids;
  std::sort(sorted.begin(), sorted.end());
  size_t length = kMin;
  for (size_t i = 1; i < sorted.size(); i++) {
    const auto& [one, other] = std::pair(sorted[i - 1], sorted[i]);
    const auto differs = std::mismatch(one.begin(), one.end(), other.begin(), other.end()).first - one.begin();
    if (one != other) length = std::max(length, static_cast<size_t>(differs) + 1);
  }
  return length;
}

Result<std::string> find_execution(const BusClient& warderd, const std::string& typed) {
  TRY(const auto ids, warderd.execution_ids());
  auto match = match_id(typed, ids, "execution", "warder ps --all");
  if (!match && match.error().code == Code::not_found && is_whole(typed)) return shortened(typed);
  return match;
}

Result<std::string> find_approval(const BusClient& warderd, const std::string& typed) {
  if (is_whole(typed)) return shortened(typed);
  TRY(const Json listed, warderd.read(kPath, kManager, "ListApprovals"));
  std::vector<std::string> ids;
  for (const Json& item : listed) ids.push_back(text(item, "Id"));
  return match_id(typed, ids, "waiting call", "warder approvals");
}

}  // namespace admin
