#include "supervisor/tenants/sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "supervisor/base/folder.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/text_lines.h"
#include "supervisor/tenants/retention_stamp.h"

namespace tenants {
namespace {

constexpr char kSessionDescription[] = "session_description";
constexpr std::string_view kEnding = ".log", kOpen = ".open", kFull = "~";

Result<RelativePath> file_of(std::string_view id, std::string_view ending = kEnding) {
  CHECKED(check_session_id(id.ends_with(kFull) ? id.substr(0, id.size() - kFull.size()) : id));
  return RelativePath::parse(std::string(id) + std::string(ending));
}

std::string cut(const std::string& text) {
  if (text.size() <= kMaxSessionTextBytes) return text;
  const std::string_view head = std::string_view(text).substr(0, kMaxSessionTextBytes);
  return std::string(head.substr(0, whole_utf8_prefix(head))) + fmt::format("... ({} bytes in all)", text.size());
}

// Adds one event to the document. Members that the daemon does not write are left out.
void fold(const Json& event, Json& document, std::set<std::string>& state_files) {
  if (!event.is_object()) return;
  const std::string kind = text_member(event, "event");
  if (std::string text = text_member(event, kSessionDescription); !text.empty())
    document["description"] = std::move(text);
  if (kind == "begin" && document["started_at"].is_null()) document["started_at"] = text_member(event, "timestamp");
  if (kind == "begin") document["ended_at"] = nullptr;  // the session continues
  if (kind == "end") document["ended_at"] = text_member(event, "timestamp");
  if (kind == "task") {
    Json task;
    for (const char* key : {"task_id", "description", "code", "result", "output", "timestamp"})
      task[key] = text_member(event, key);
    document["tasks"].push_back(std::move(task));
    if (const auto files = event.find("state_files"); files != event.end() && files->is_array()) {
      for (const Json& file : *files) {
        if (file.is_string()) state_files.insert(file.get<std::string>());
      }
    }
  }
  if (kind == "checkpoint") {
    const auto step = event.find("step");
    const bool counted = step != event.end() && step->is_number_integer();
    document["checkpoint"] = {{"step", counted ? step->get<int64_t>() : 0},
                              {"last_task", text_member(event, "last_task")},
                              {"context", text_member(event, "context")},
                              {"timestamp", text_member(event, "timestamp")}};
  }
}

}  // namespace

Result<> check_session_id(std::string_view id) {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  if (!id.empty() && id.size() <= 64 && id[0] != '.' && id.find_first_not_of(kAllowed) == id.npos) return {};
  return fail(Code::invalid, fmt::format("session: '{}' is not a session name", valid_utf8(id.substr(0, 64))),
              "use 1 to 64 characters of A-Z, a-z, 0-9, '.', '_' and '-', not beginning with '.'", "session");
}

Result<> SessionLogs::append(std::string_view id, std::string line) {
  TRY(RelativePath path, file_of(id));
  TRY(Fd file, open_beneath(directory_.get(), path, O_RDWR | O_APPEND | O_CREAT, 0600));
  struct stat status {};
  if (::fstat(file.get(), &status) < 0) return fail_errno(errno, "stat a session's log");
  const auto size = static_cast<size_t>(status.st_size);
  if (size > 0 && size + line.size() > kMaxSessionBytes) {
    TRY(RelativePath full, file_of(std::string(id) + std::string(kFull)));
    CHECKED(rename_beneath(directory_.get(), path, full, Existing::replace));
    return append(id, std::move(line));
  }
  char last = '\n';
  if (size > 0 && ::pread(file.get(), &last, 1, status.st_size - 1) < 0)
    return fail_errno(errno, "read a session's log");
  if (last != '\n') line.insert(0, 1, '\n');  // end a line that a crash cut
  CHECKED(write_all(file.get(), line));
  return stamp_with_retention_time(file.get());
}

Result<> SessionLogs::begin(std::string_view id, std::string_view timestamp) {
  TRY(RelativePath open, file_of(id, kOpen));
  make_room(kMaxSessions - 1, kMaxSessionsBytes - kMaxSessionBytes);
  CHECKED(open_beneath(directory_.get(), open, O_WRONLY | O_CREAT, 0600));
  return append(id, dump_json(Json{{"event", "begin"}, {"timestamp", timestamp}}) + "\n");
}

bool SessionLogs::is_open(std::string_view id) const {
  const auto open = file_of(id, kOpen);
  if (!open) return false;
  const auto status = stat_beneath(directory_.get(), *open);
  return status || status.error().code != Code::not_found;
}

// Removes the logs with the oldest last write, except those of open sessions.
void SessionLogs::make_room(size_t max, uint64_t max_bytes) const {
  auto ids = list();
  if (!ids) return;
  struct Log {
    int64_t written;
    uint64_t bytes;
    RelativePath path;
  };
  std::vector<Log> closed;
  uint64_t bytes = 0;
  for (const std::string& id : *ids) {
    auto path = file_of(id);
    if (!path) continue;
    auto status = stat_beneath(directory_.get(), *path);
    if (!status) continue;
    const auto size = static_cast<uint64_t>(status->st_size);
    bytes += size;
    if (!is_open(id)) closed.push_back({status->st_mtime, size, *std::move(path)});
  }
  std::sort(closed.begin(), closed.end(), [](const Log& a, const Log& b) { return a.written < b.written; });
  size_t logs = ids->size();
  for (const Log& log : closed) {
    if (logs <= max && bytes <= max_bytes) break;
    if (!unlink_beneath(directory_.get(), log.path, Removing::file)) continue;
    logs--;
    bytes -= log.bytes;
  }
}

Result<> SessionLogs::add(std::string_view id, const SessionTask& task) {
  Json event = {{"event", "task"},
                {"task_id", task.task_id},
                {"description", cut(task.description)},
                {"code", cut(task.code)},
                {"result", cut(task.result)},
                {"output", cut(task.output)},
                {"timestamp", task.timestamp}};
  if (!task.session_description.empty()) event[kSessionDescription] = cut(task.session_description);
  if (!task.state_files.empty()) event["state_files"] = task.state_files;
  return append(id, dump_json(event) + "\n");
}

Result<> SessionLogs::checkpoint(std::string_view id, const SessionCheckpoint& checkpoint) {
  Json event = {{"event", "checkpoint"},
                {"step", checkpoint.step},
                {"last_task", checkpoint.last_task},
                {"context", cut(checkpoint.context)},
                {"timestamp", checkpoint.timestamp}};
  if (!checkpoint.session_description.empty()) event[kSessionDescription] = cut(checkpoint.session_description);
  return append(id, dump_json(event) + "\n");
}

Result<> SessionLogs::end(std::string_view id, std::string_view timestamp) {
  TRY(RelativePath open, file_of(id, kOpen));
  static_cast<void>(unlink_beneath(directory_.get(), open, Removing::file));
  return append(id, dump_json(Json{{"event", "end"}, {"timestamp", timestamp}}) + "\n");
}

Result<std::string> SessionLogs::read(std::string_view id) const {
  TRY(RelativePath path, file_of(id));
  TRY(Fd file, open_regular_beneath(directory_.get(), path, O_RDONLY));
  TRY(std::string text, read_complete(file.get(), kMaxSessionBytes + (1 << 20)));
  Json document = {{"session_id", id},
                   {"customer_uid", customer_},
                   {"description", ""},
                   {"started_at", nullptr},
                   {"ended_at", nullptr},
                   {"tasks", Json::array()},
                   {"state_files", Json::array()},
                   {"checkpoint", nullptr}};
  std::set<std::string> state_files;
  std::string_view rest = text;
  while (const auto line = take_line(rest))
    if (auto event = parse_json(*line)) fold(*event, document, state_files);
  document["state_files"] = state_files;
  return dump_json(document);
}

Result<std::vector<std::string>> SessionLogs::list() const {
  TRY(const auto names, read_names(FolderReader::at(directory_.get(), "sessions")));
  std::vector<std::string> ids;
  for (std::string_view name : names) {
    if (!name.ends_with(kEnding) || ids.size() >= 2 * kMaxSessions) continue;
    name.remove_suffix(kEnding.size());
    if (file_of(name)) ids.emplace_back(name);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace tenants
