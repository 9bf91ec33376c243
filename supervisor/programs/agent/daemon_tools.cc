#include "supervisor/programs/agent/daemon_tools.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/log.h"
#include "supervisor/base/version.h"

namespace agent {
namespace {

constexpr std::array<std::string_view, 3> kShownTools = {"execute_code", "search_tools", "get_tool_definition"};
constexpr char kExecute[] = "execute_code";
// The session is this program's. The result of a background execution is a resource, which no shown tool reads.
constexpr const char* kOwnArguments[] = {"session", "background"};
constexpr size_t kMaxReportedBytes = 32 << 10;  // of one answer, for the model
constexpr size_t kMaxPrintedBytes = 64 << 10;   // of one program
constexpr size_t kMaxDescriptionBytes = 200;
constexpr auto kPatience = std::chrono::seconds(5);  // for the daemon to end the sessions

std::string cut_text(std::string_view text, size_t max) {
  const std::string_view begin = text.substr(0, max);
  return std::string(begin.substr(0, whole_utf8_prefix(begin)));
}

// The beginning and the end of a text that is too long for the model.
std::string report_text(const std::string& text) {
  if (text.size() <= kMaxReportedBytes) return text;
  const std::string begin = cut_text(text, kMaxReportedBytes * 3 / 4);
  const std::string end = valid_utf8(std::string_view(text).substr(text.size() - kMaxReportedBytes / 4));
  const size_t left_out = text.size() - begin.size() - kMaxReportedBytes / 4;
  return fmt::format("{}\n[... {} bytes are left out here: print less, or write a file and read parts of it ...]\n{}",
                     begin, left_out, end);
}

std::string joined_content(const Json& result) {
  std::string text;
  const Json& content = member(result, "content");
  if (!content.is_array()) return dump_json(result);
  for (const Json& block : content) {
    const std::string type = text_member(block, "type");
    if (type == "resource_link") continue;  // the answer's text names the files, too
    if (!text.empty()) text += '\n';
    text += type == "text" ? text_member(block, "text") : fmt::format("[{} is not shown here]", printable(type, 32));
  }
  return text;
}

// The answer of execute_code: the JSON of its first block.
Json program_answer(const Json& result) {
  const Json& content = member(result, "content");
  if (!content.is_array() || content.empty()) return {};
  auto answer = parse_json(text_member(content[0], "text"));
  return answer ? *std::move(answer) : Json();
}

std::string printed_lines(const Json& answer) {
  std::string printed;
  if (const Json& output = member(answer, "output"); output.is_array())
    for (const Json& line : output)
      if (line.is_string() && printed.size() < kMaxPrintedBytes) printed += line.get<std::string>() + '\n';
  return cut_text(printed, kMaxPrintedBytes);
}

Error error_of_answer(const Json& error) {
  const std::string message = text_member(error, "message");
  const std::string code = text_member(member(error, "data"), "code");
  const Code kind = code == "denied" ? Code::denied : code == "unavailable" ? Code::unavailable : Code::invalid;
  return {kind, 0, message, text_member(member(error, "data"), "remedy"), {}};
}

}  // namespace

bool is_shown_tool(std::string_view name) {
  return std::find(kShownTools.begin(), kShownTools.end(), name) != kShownTools.end();
}

DaemonTools::DaemonTools(Loop& loop, cli::SocketPath socket, AgentTarget position)
    : loop_(loop), socket_(std::move(socket)), target_(std::move(position)) {}

DaemonTools::~DaemonTools() { cancel_running(); }

// The program of the call ends.
void DaemonTools::cancel_running() {
  if (!running_ || !daemon_) return;
  const Json params = {{"requestId", *running_}, {"reason", "the agent's run has ended"}};
  const Json message = {{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", params}};
  out_.add(dump_json(message));
  (void)out_.flush(daemon_.get());
  running_.reset();
}

Task<std::vector<std::string>> DaemonTools::close() {
  std::vector<std::string> proposals;
  if (!daemon_) co_return proposals;  // the sessions are idle, and end later
  cancel_running();
  const Deadline limit(loop_, kPatience, [fd = daemon_.get()] { ::shutdown(fd, SHUT_RDWR); });
  for (const auto& [session, language] : sessions_) {
    const Json arguments = {{"code", ""}, {"language", language}, {"session", session}, {"reset_session", true}};
    Json params = {{"name", kExecute}, {"arguments", arguments}, {"_meta", meta({})}};
    const auto ended = co_await request("tools/call", std::move(params));
    if (!ended) break;
    const std::string proposal = text_member(member(program_answer(*ended), "proposal"), "id");
    if (!proposal.empty()) proposals.push_back(proposal);
  }
  co_return proposals;
}

Result<> DaemonTools::connect() {
  if (daemon_) return {};
  TRY(Fd socket, cli::connect_daemon(socket_));
  TRY(daemon_, AsyncFd::adopt(loop_, std::move(socket)));
  return {};
}

void DaemonTools::disconnect() {
  daemon_.close();
  in_.clear();
  (void)out_.take_unsent();
  running_.reset();
}

Json DaemonTools::meta(const std::string& description) const {
  Json meta = {{"io.modelcontextprotocol/protocolVersion", "2026-07-28"},
               {"io.modelcontextprotocol/clientCapabilities", Json::object()},
               {"io.modelcontextprotocol/clientInfo", {{"name", "warder agent"}, {"version", kWarderVersion}}}};
  if (!target_.workspace.empty()) meta["org.warder/workspace"] = target_.workspace;
  if (description.empty()) return meta;
  meta["org.warder/task"] = description;
  meta["org.warder/session-description"] = cut_text(target_.task, kMaxDescriptionBytes);
  return meta;
}

Task<Result<Json>> DaemonTools::request(const char* method, Json params) {
  CO_CHECKED(connect());
  const int64_t id = ++last_id_;
  const Json message = {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}};
  std::string line = dump_json(message);
  if (line.size() > cli::kMaxLineBytes) co_return fail(Code::invalid, "the arguments are longer than 16 MiB");
  out_.add(line);
  running_ = id;
  auto answer = co_await answer_to(id);
  running_.reset();
  if (!answer) {
    disconnect();
    co_return tl::unexpected(std::move(answer).error());
  }
  if (const Json& error = member(*answer, "error"); error.is_object()) co_return tl::unexpected(error_of_answer(error));
  Json result = member(*answer, "result");
  co_return result;
}

// The message with this id. There is no time limit: the run has one, and the daemon limits each execution.
Task<Result<Json>> DaemonTools::answer_to(int64_t id) {
  constexpr char kConnectionClosed[] = "warderd closed the connection before it answered; the call may have run";
  for (;;) {
    const auto state = out_.flush(daemon_.get());
    if (state == cli::LineOutbox::State::broken) co_return fail(Code::unavailable, kConnectionClosed);
    if (state == cli::LineOutbox::State::drained) break;
    co_await daemon_.writable();
  }
  for (;;) {
    const ssize_t got = in_.fill(daemon_.get());
    if (got == -EAGAIN || got == -EINTR) {
      co_await daemon_.readable();
      continue;
    }
    if (got <= 0) co_return fail(Code::unavailable, kConnectionClosed);
    while (const auto line = in_.next()) {
      if (line->oversized) co_return fail(Code::internal, "the answer of warderd is longer than 16 MiB");
      auto message = parse_json(line->text);
      if (!message) co_return tl::unexpected(std::move(message).error().within("answer of warderd"));
      const Json& answered = member(*message, "id");
      const bool is_refusal = answered.is_null() && member(*message, "error").is_object();
      if (answered == Json(id) || is_refusal) co_return *std::move(message);
    }
  }
}

Task<Result<std::vector<ShownTool>>> DaemonTools::open() {
  std::vector<ShownTool> shown_tools;
  Json params = {{"_meta", meta({})}};
  CO_TRY(const Json list, co_await request("tools/list", params));
  // A workspace that the policy does not allow is refused here, not in each call of the model.
  if (!target_.workspace.empty()) CO_CHECKED(co_await request("resources/list", std::move(params)));
  if (const Json& tools = member(list, "tools"); tools.is_array()) {
    for (const Json& tool : tools) {
      const std::string name = text_member(tool, "name");
      if (!is_shown_tool(name)) continue;
      ShownTool shown_tool{name, text_member(tool, "description"), member(tool, "inputSchema")};
      if (name == kExecute && shown_tool.schema.contains("properties"))
        for (const char* own : kOwnArguments) shown_tool.schema["properties"].erase(own);
      names_.push_back(name);
      shown_tools.push_back(std::move(shown_tool));
    }
  }
  if (std::find(names_.begin(), names_.end(), kExecute) == names_.end())
    co_return fail(Code::denied, "warderd does not list the tool execute_code",
                   "the policy of your user must allow it: warder policy explain --tool execute_code");
  co_return shown_tools;
}

// All programs of a run are in its session, which keeps their variables and has their log. A session runs one language,
// and shell has none.
void DaemonTools::place_in_session(const std::string& tool, Json& arguments) {
  if (tool != kExecute) return;
  for (const char* own : kOwnArguments) arguments.erase(own);
  const Json& params = member(arguments, "language");
  const std::string language = params.is_string() ? params.get<std::string>() : "python";
  if (language == "python") {
    arguments["session"] = target_.session;
  } else if (!arguments.contains("fork") && (language == "javascript" || language == "typescript")) {
    arguments["session"] = target_.session + (language == "javascript" ? "-js" : "-ts");
  } else {
    arguments.erase("reset_session");
  }
  if (arguments.contains("session")) sessions_[arguments["session"].get<std::string>()] = language;
}

Task<DaemonTools::Answer> DaemonTools::call(const ToolRequest& tool_request, unsigned turn) {
  Answer answer{{tool_request.id, tool_request.name, {}, true}, {}};
  if (std::find(names_.begin(), names_.end(), tool_request.name) == names_.end()) {
    answer.reported.text = fmt::format("there is no tool '{}'; the tools are {}", printable(tool_request.name, 64),
                                       fmt::join(names_, ", "));
    co_return answer;
  }
  auto arguments =
      parse_json(tool_request.arguments.empty() ? std::string_view("{}") : std::string_view(tool_request.arguments));
  if (!arguments || !arguments->is_object()) {
    answer.reported.text =
        arguments ? "the arguments are not a JSON object" : "the arguments are " + arguments.error().what;
    co_return answer;
  }
  place_in_session(tool_request.name, *arguments);
  Json params = {{"name", tool_request.name},
                 {"arguments", *std::move(arguments)},
                 {"_meta", meta(fmt::format("turn {} of the agent", turn))}};
  auto result = co_await request("tools/call", std::move(params));
  if (!result) {
    answer.reported.text = result.error().what;
    if (!result.error().hint.empty()) answer.reported.text += "; " + result.error().hint;
    co_return answer;
  }
  const std::string text = joined_content(*result);
  if (tool_request.name == kExecute) answer.printed = printed_lines(program_answer(*result));
  answer.reported.text = report_text(text);
  answer.reported.is_error = member(*result, "isError") == Json(true);
  co_return answer;
}

}  // namespace agent
