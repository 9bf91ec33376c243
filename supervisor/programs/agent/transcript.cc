#include "supervisor/programs/agent/transcript.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "supervisor/base/ascii.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/path.h"
#include "supervisor/base/random.h"

namespace agent {
namespace {

constexpr size_t kMaxTranscriptBytes = 64 << 20;
constexpr size_t kMaxSessionName = 64;
constexpr char kInterrupted[] = "the run was interrupted while this call ran; it may have had effects";

constexpr char kResumed[] =
    "\n(Some time has passed. Files in /workspace are still there, variables of earlier programs may be gone.)";

bool is_session_name(const std::string& name) {
  const bool is_plain =
      std::all_of(name.begin(), name.end(), [](char c) { return is_word(c) || c == '-' || c == '.'; });
  return is_plain && !name.empty() && name.size() <= kMaxSessionName && name[0] != '.';
}

// Makes the folder of transcripts, for its user alone.
Result<std::string> transcript_folder() {
  const char* state = ::getenv("XDG_STATE_HOME");
  const char* home = ::getenv("HOME");
  std::string folder = state && state[0] == '/' ? state : "";
  if (folder.empty() && home && home[0] == '/') folder = std::string(home) + "/.local/state";
  if (folder.empty())
    return fail(Code::invalid, "there is no folder for transcripts", "set XDG_STATE_HOME or HOME to a path");
  folder += "/warder/agent";
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), failed);
  if (::mkdir(folder.c_str(), 0700) < 0 && errno != EEXIST)
    return fail_errno(errno, "make the folder '" + folder + "'", Code::unavailable);
  return folder;
}

Result<Fd> open_transcript(const std::string& session, int flags) {
  if (!is_session_name(session))
    return fail(Code::invalid, "'" + session.substr(0, kMaxSessionName) + "' is not the name of a run's session",
                "each run prints its session when it begins");
  TRY(const std::string folder, transcript_folder());
  const std::string path = folder + "/" + session + ".jsonl";
  Fd file(::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | flags, 0600));
  if (!file && errno == ENOENT)
    return fail(Code::not_found, "there is no transcript '" + path + "'",
                "ls " + folder + " shows the runs of this user");
  if (!file) return fail_errno(errno, "open '" + path + "'", Code::unavailable);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) < 0)
    return fail(Code::unavailable, "another run uses the session " + session, "wait for its end");
  return file;
}

Json json_of(const ChatMessage& message) {
  switch (message.kind) {
    case ChatMessage::Kind::user:
      return {{"kind", "user"}, {"text", message.text}};
    case ChatMessage::Kind::model: {
      Json line = {{"kind", "model"}, {"text", message.text}, {"requests", Json::array()}};
      for (const ToolRequest& request : message.requests)
        line["requests"].push_back({{"id", request.id}, {"name", request.name}, {"arguments", request.arguments}});
      return line;
    }
    case ChatMessage::Kind::tools:
      break;
  }
  Json line = {{"kind", "tools"}, {"answers", Json::array()}};
  for (const ToolAnswer& answer : message.answers)
    line["answers"].push_back(
        {{"id", answer.id}, {"name", answer.name}, {"text", answer.text}, {"is_error", answer.is_error}});
  return line;
}

}  // namespace

std::string new_session_name() {
  std::string day = iso_time_now().substr(0, 10);
  std::erase(day, '-');
  return "agent-" + day + "-" + random_hex(6);
}

Result<AgentTranscript> AgentTranscript::begin(const std::string& session, const std::string& workspace,
                                               const std::string& model, const std::string& task) {
  AgentTranscript transcript;
  TRY(transcript.file_, open_transcript(session, O_CREAT | O_EXCL));
  transcript.session_ = session;
  transcript.workspace_ = workspace;
  transcript.task_ = task;
  CHECKED(transcript.write(
      {{"kind", "begin"}, {"session", session}, {"workspace", workspace}, {"model", model}, {"task", task}}));
  CHECKED(transcript.add({ChatMessage::Kind::user, task, {}, {}}));
  return transcript;
}

Result<AgentTranscript> AgentTranscript::resume(const std::string& session) {
  AgentTranscript transcript;
  TRY(transcript.file_, open_transcript(session, 0));
  transcript.session_ = session;
  TRY(const std::string text, read_complete(transcript.file_.get(), kMaxTranscriptBytes));
  size_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    number++;
    at = end + 1;
    auto parsed = parse_json(line);
    if (!parsed && at > text.size()) break;  // the run was killed while it wrote its last line
    auto read = parsed ? transcript.read_line(*parsed) : Result<>(tl::unexpected(std::move(parsed).error()));
    if (!read)
      return tl::unexpected(
          std::move(read).error().within("transcript of " + session + ", line " + std::to_string(number)));
  }
  if (!text.ends_with('\n')) CHECKED(write_all(transcript.file_.get(), "\n"));
  if (transcript.messages_.empty()) return fail(Code::invalid, "the transcript of " + session + " is empty");
  return transcript;
}

Result<> AgentTranscript::continue_with(const std::string& further) {
  const ChatMessage last = messages_.back();
  if (last.kind == ChatMessage::Kind::model && last.requests.empty() && further.empty())
    return fail(Code::invalid, "the run " + session_ + " has ended with an answer",
                "give a further TASK, to continue the conversation");
  if (last.kind == ChatMessage::Kind::model && !last.requests.empty()) {
    ChatMessage answers{ChatMessage::Kind::tools, {}, {}, {}};
    for (const ToolRequest& tool_request : last.requests)
      answers.answers.push_back({tool_request.id, tool_request.name, kInterrupted, true});
    CHECKED(add(std::move(answers)));
  }
  const std::string request = further.empty() ? "Continue with the task." : further;
  return add({ChatMessage::Kind::user, request + kResumed, {}, {}});
}

Result<> AgentTranscript::read_line(const Json& line) {
  const std::string kind = text_member(line, "kind");
  if (kind == "begin") {
    workspace_ = text_member(line, "workspace");
    task_ = text_member(line, "task");
  } else if (kind == "user") {
    messages_.push_back({ChatMessage::Kind::user, text_member(line, "text"), {}, {}});
  } else if (kind == "model") {
    ChatMessage message{ChatMessage::Kind::model, text_member(line, "text"), {}, {}};
    for (const Json& item : member(line, "requests"))
      message.requests.push_back({text_member(item, "id"), text_member(item, "name"), text_member(item, "arguments")});
    messages_.push_back(std::move(message));
  } else if (kind == "tools") {
    ChatMessage message{ChatMessage::Kind::tools, {}, {}, {}};
    for (const Json& item : member(line, "answers"))
      message.answers.push_back({text_member(item, "id"), text_member(item, "name"), text_member(item, "text"),
                                 member(item, "is_error") == Json(true)});
    messages_.push_back(std::move(message));
  } else if (kind != "end") {
    return fail(Code::invalid, "no kind of line is called '" + kind.substr(0, 32) + "'");
  }
  return {};
}

Result<> AgentTranscript::add(ChatMessage message) {
  CHECKED(write(json_of(message)));
  messages_.push_back(std::move(message));
  return {};
}

Result<> AgentTranscript::end(const std::string& how, const std::string& error) {
  return write({{"kind", "end"}, {"how", how}, {"error", error}});
}

Result<> AgentTranscript::write(Json line) {
  line["at"] = iso_time_now();
  auto done = write_all(file_.get(), dump_json(line) + "\n");
  if (!done) return tl::unexpected(std::move(done).error().within("transcript of " + session_));
  return {};
}

}  // namespace agent
