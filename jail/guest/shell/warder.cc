// The program `warder` in a shell's jail: calls tools of other servers, and searches for tools, over the guest socket
// that the shell inherited from the shell runner.
// Exit status: 0; 1 when the call was refused or failed (the reason is on standard error); 2 for wrong arguments; 76
// when the supervisor cannot be reached.
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>

#include <vector>

#include "jail/guest/shell/channel.h"

namespace {

constexpr int kExitFailed = 1, kExitUsage = 2;
constexpr const char* kUsage =
    "warder call SERVER__TOOL [NAME=TEXT | NAME:=JSON | JSON-OBJECT | -]... [--select PATH]...\n"
    "    calls a tool and prints its answer: a text as it is, other values as JSON. - reads an object from standard "
    "input\n"
    "warder search WORD...\n"
    "    finds tools\n"
    "warder describe TOOL\n"
    "    prints the definition of one tool\n";

[[noreturn]] void refuse(const std::string& why) {
  ::fprintf(stderr, "warder: %s\n%s", why.c_str(), kUsage);
  ::_exit(kExitUsage);
}

std::string read_input() {
  std::string all;
  char part[65536];
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(std::string("cannot read standard input: ") + ::strerror(errno));
    if (got == 0) return all;
    all.append(part, static_cast<size_t>(got));
    if (all.size() > guest::kDownBytes) refuse("standard input is longer than 64 MiB");
  }
}

Json object_of(const std::string& text, const char* kind) {
  auto object = parse_json(text);
  if (!object) refuse(std::string(kind) + ": " + object.error().what);
  if (!object->is_object()) refuse(std::string(kind) + " is not a JSON object");
  return *std::move(object);
}

void add_argument(Json& arguments, const std::string& word) {
  if (word == "-") return arguments.update(object_of(read_input(), "standard input"));
  if (word.starts_with('{')) return arguments.update(object_of(word, "the argument"));
  const size_t equals = word.find('=');
  if (equals == word.npos || equals == 0) refuse("'" + word + "' is neither NAME=TEXT nor NAME:=JSON nor an object");
  if (word[equals - 1] != ':') {
    arguments[word.substr(0, equals)] = word.substr(equals + 1);
    return;
  }
  auto value = parse_json(word.substr(equals + 1));
  if (!value) refuse("'" + word + "': the text after :=: " + value.error().what);
  arguments[word.substr(0, equals - 1)] = *std::move(value);
}

Json order_of_call(const std::vector<std::string>& words) {
  if (words.empty()) refuse("the name of a tool is missing");
  Json order{{"name", words[0]}, {"arguments", Json::object()}};
  for (size_t i = 1; i < words.size(); i++) {
    if (words[i] != "--select") {
      add_argument(order["arguments"], words[i]);
    } else if (++i < words.size()) {
      order["select"].push_back(words[i]);
    } else {
      refuse("--select needs a path");
    }
  }
  return order;
}

struct Call {
  std::string name;
  Json arguments;
};

Call read_call(int count, char** words) {
  if (count < 2) refuse("a command is missing");
  const std::string verb = words[1];
  const std::vector<std::string> rest(words + 2, words + count);
  if (verb == "call") return {"call_tool", order_of_call(rest)};
  if (rest.empty() || (verb != "search" && verb != "describe")) refuse("this command is not known");
  std::string all;
  for (const std::string& word : rest) all += (all.empty() ? "" : " ") + word;
  if (verb == "search") return {"search_tools", {{"query", all}}};
  return {"get_tool_definition", {{"tool_name", all}}};
}

[[noreturn]] void report_failure(const Json& error) {
  const auto part = [&](const char* key) {
    const auto it = error.find(key);
    if (it == error.end() || it->is_null()) return std::string();
    return it->is_string() ? it->get<std::string>() : dump_json(*it);
  };
  std::string line = part("code") + ": " + part("message");
  if (!part("rule").empty()) line += " (rule: " + part("rule") + ")";
  if (!part("remedy").empty()) line += "; " + part("remedy");
  if (!part("data").empty()) line += "\n" + part("data");
  ::fprintf(stderr, "%s\n", line.c_str());
  ::_exit(kExitFailed);
}

// Calls of one jail take turns, because they share a socket. The lock is on the jail's own /tmp.
void take_turn() {
  const int tmp = ::open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (tmp >= 0 && ::flock(tmp, LOCK_EX) < 0 && errno == EINTR) {
  }
}

Json ask(const Call& call) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t id = now.tv_sec * 1'000'000'000 + now.tv_nsec;
  const Json message{{"type", "call"}, {"id", id}, {"name", call.name}, {"arguments", call.arguments}};
  if (guest::send_message(guest::kCallSocket, message) == guest::PeerState::exited)
    guest::give_up("the supervisor cannot be reached from here");
  for (;;) {
    auto reply = guest::receive_message(guest::kCallSocket);
    if (!reply) guest::give_up("the supervisor closed the connection");
    // A reply to another call, or the rest of it: that call's process was ended meanwhile.
    if (!reply->is_object() || !reply->contains("id") || (*reply)["id"] != id) continue;
    return *std::move(reply);
  }
}

void print(const Json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : dump_json(value);
  if (::fwrite(text.data(), 1, text.size(), stdout) != text.size() || ::putchar('\n') == EOF || ::fflush(stdout) != 0)
    ::_exit(kExitFailed);
}

}  // namespace

int main(int count, char** words) {
  const Call call = read_call(count, words);
  take_turn();
  Json reply = ask(call);
  if (auto error = reply.find("error"); error != reply.end()) report_failure(*error);
  const Json& result = reply["result"];
  if (call.name != "call_tool") {
    print(result);
    return 0;
  }
  if (auto failure = result.find("failure"); failure != result.end()) report_failure(*failure);
  print(result.contains("value") ? result["value"] : Json());
  return 0;
}
