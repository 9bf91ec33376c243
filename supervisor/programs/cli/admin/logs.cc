// `warder logs`: prints the output of one execution, or the events of all executions.
#include <poll.h>
#include <unistd.h>

#include <cstdio>

#include "supervisor/base/json/json.h"
#include "supervisor/programs/cli/admin/bus_client.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/executions.h"
#include "supervisor/programs/cli/admin/short_ids.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

constexpr uint32_t kAtOnce = 256 << 10;
constexpr int kLookEveryMs = 200;

// One output stream and the place up to which it was read.
struct Stream {
  const char* name;
  FILE* to;
  uint64_t offset = 0;
  std::string rest = {};  // the first bytes of a character whose other bytes were not read yet
  bool ended = false;
};

void print_piece(Stream& stream, const std::string& bytes, const ParsedCommand& command, const std::string& id) {
  if (!command.json && ::isatty(::fileno(stream.to)) != 1) {  // byte for byte
    std::fwrite(bytes.data(), 1, bytes.size(), stream.to);
    return;
  }
  std::string piece = std::move(stream.rest) + bytes;
  const size_t full = stream.ended ? piece.size() : whole_utf8_prefix(piece);
  stream.rest = piece.substr(full);
  piece.resize(full);
  if (piece.empty()) return;
  if (command.json) {
    print_json({{"id", id}, {"stream", stream.name}, {"text", valid_utf8(piece)}});
  } else {
    cli::print_text(stream.to, piece);
  }
}

// Prints all output that the execution has written since the last call.
Result<> print_more(const BusClient& warderd, const ParsedCommand& command, const std::string& id, Stream& stream) {
  for (;;) {
    TRY(Json answer, warderd.call(kPath, kManager, "ReadOutput", {"sstu", {id, stream.name, stream.offset, kAtOnce}}));
    const std::string bytes = text(element(answer, 0));
    stream.offset += bytes.size();
    const bool all = bytes.empty() || stream.offset >= number(element(answer, 1));
    stream.ended = all && element(answer, 2) == true;
    print_piece(stream, bytes, command, id);
    std::fflush(stream.to);
    if (all) return {};
  }
}

Result<int> print_output(const BusClient& warderd, const ParsedCommand& command, const std::string& id) {
  std::vector<Stream> streams;
  if (!command.has("stderr")) streams.push_back({"stdout", stdout});
  if (!command.has("stdout")) streams.push_back({"stderr", command.json || command.has("stderr") ? stdout : stderr});
  for (;;) {
    bool ended = true;
    for (Stream& stream : streams) {
      CHECKED(print_more(warderd, command, id, stream));
      ended = ended && stream.ended;
    }
    if (std::ferror(stdout)) return 1;
    if (!ended && command.has("follow")) {
      ::poll(nullptr, 0, kLookEveryMs);
      continue;
    }
    if (command.json) print_json({{"id", id}, {"ended", ended}});
    return 0;
  }
}

// The signal as JSON, with the argument names of units/dbus/org.warder.Warder1.Manager.xml.
Json event(const std::string& name, const Json& arguments) {
  static const Json kNames = {
      {"ExecutionStarted", {"id", "execution", "tenant", "language"}},
      {"ExecutionFinished", {"id", "execution", "tenant", "outcome", "wall_usec", "cpu_usec", "memory_peak_bytes"}},
      {"LimitReached", {"id", "tenant", "limit"}},
      {"PolicyReloaded", Json::array({"policies"})}};
  Json all = {{"event", name}};
  const Json& names = member(kNames, name.c_str());
  for (size_t i = 0; i < names.size(); i++) all[text(names[i])] = element(arguments, i);
  return all;
}

std::string reported(const std::string& name, const Json& a) {
  auto of = [&a](size_t i) { return text(element(a, i)); };
  auto amount = [&a](size_t i) { return number(element(a, i)); };
  auto existing = [&amount](size_t i) { return amount(i) == UINT64_MAX ? std::nullopt : std::optional(amount(i)); };
  if (name == "ExecutionStarted") return of(0) + " started: tenant " + of(2) + ", " + of(3);
  if (name == "ExecutionFinished")
    return of(0) + " ended: tenant " + of(2) + ", " + of(3) + ", wall " + usec_text(amount(4)) + ", CPU " +
           known_usec_text(existing(5)) + ", memory " + known_bytes_text(existing(6));
  if (name == "LimitReached") return of(0) + " reached a limit: tenant " + of(1) + ", " + of(2);
  if (name == "PolicyReloaded") return "policies reloaded: " + dump_json(element(a, 0));
  return {};
}

}  // namespace

Result<int> run_logs(const ParsedCommand& command) {
  if (command.words.empty() && !command.has("follow"))
    return fail(Code::invalid, "no execution is named",
                "name an execution (warder ps --all lists them), or follow all executions with -f");
  if (command.has("stdout") && command.has("stderr"))
    return fail(Code::invalid, "--stdout and --stderr exclude each other", "leave both out to print both streams");
  TRY(BusClient warderd, BusClient::connect(command.bus));
  if (!command.words.empty()) {
    TRY(const std::string id, find_execution(warderd, command.words.front()));
    return print_output(warderd, command, id);
  }
  auto print = [&command](const std::string& name, const Json& arguments) {
    if (command.json) {
      print_json(event(name, arguments));
    } else if (const auto line = reported(name, arguments); !line.empty()) {
      std::printf("%s\n", harmless(line).c_str());
      std::fflush(stdout);
    }
    return !std::ferror(stdout);
  };
  CHECKED(warderd.follow(print));
  return 0;
}
const ProgramOfCommand kRunLogs{"logs", run_logs};

}  // namespace admin
