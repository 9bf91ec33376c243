// The shell runner: waits for one order on the guest socket, then execs the shell that runs the order's code.
// No process of the runner stays beside the agent's code. Only the socket stays, for `warder call` (warder.cc): exit
// status and signal are the shell's own, and a result message is sent only for an order that cannot be run. The program
// is static, because it then starts without the dynamic loader's work.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "jail/guest/shell/channel.h"

namespace {

using std::operator""sv;

constexpr int kSocket = 3;
// Longest string of argv or of the environment, with its NUL (execve(2): MAX_ARG_STRLEN, 32 pages).
constexpr size_t kStringBytes = 128 * 1024;
constexpr int kExitRefused = 1;

void send(const Json& message) {
  if (guest::send_message(kSocket, message) == guest::PeerState::exited) ::_exit(0);  // the supervisor is gone
}

[[noreturn]] void refuse(const std::string& error, int number = 0) {
  Json message = {{"type", "result"}, {"error", error}};
  if (number != 0) message["errno"] = number;
  send(message);
  ::_exit(kExitRefused);
}

Json receive_order() {
  auto message = guest::receive_message(kSocket);
  if (!message) ::_exit(0);
  if (message->is_discarded()) guest::give_up("a message is not JSON");
  if (!message->is_object()) guest::give_up("a message is not one JSON object with a type");
  return *std::move(message);
}

const std::string* find_string(const Json& object, const char* key) {
  auto it = object.find(key);
  return it == object.end() ? nullptr : it->get_ptr<const std::string*>();
}

bool is_name(std::string_view name) {
  auto letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; };
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || digit(c); });
}

// Names that change the behaviour of the loader, the C library or a shell, or that a shell does not let users set.
bool is_reserved(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "PATH"sv,           "IFS"sv,        "ENV"sv,    "SHELLOPTS"sv,       "CDPATH"sv,
      "GLOBIGNORE"sv,     "PS4"sv,        "OPTIND"sv, "PROMPT_COMMAND"sv,  "UID"sv,
      "EUID"sv,           "PPID"sv,       "GROUPS"sv, "HOSTALIASES"sv,     "LOCPATH"sv,
      "NLSPATH"sv,        "GCONV_PATH"sv, "TZDIR"sv,  "POSIXLY_CORRECT"sv, "_"sv,
      "GLIBC_TUNABLES"sv, "SHLVL"sv,      "PWD"sv,    "OLDPWD"sv};
  constexpr std::string_view kPrefixes[] = {"LD_"sv, "BASH"sv, "MALLOC_"sv, "WARDER_"sv};
  if (std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames)) return true;
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view p) { return name.substr(0, p.size()) == p; });
}

bool is_in_environment(std::string_view name) {
  for (char** entry = environ; *entry != nullptr; entry++) {
    std::string_view line(*entry);
    if (line.size() > name.size() && line[name.size()] == '=' && line.substr(0, name.size()) == name) return true;
  }
  return false;
}

std::vector<std::string> variables_of(const Json& order) {
  std::vector<std::string> variables;
  if (auto trace = order.find("traceparent"); trace != order.end() && trace->is_string())
    variables.push_back("TRACEPARENT=" + trace->get<std::string>());
  auto context = order.find("context_vars");
  if (context == order.end() || context->is_null()) return variables;
  if (!context->is_object()) refuse("context_vars is not an object of names and values");
  for (const auto& [name, value] : context->items()) {
    if (!is_name(name)) refuse("context_vars: '" + name + "' is not a variable name; use letters, digits and _");
    if (is_reserved(name) || is_in_environment(name))
      refuse("context_vars: the name '" + name + "' has a meaning for the shell; use another name");
    const auto* text = value.get_ptr<const std::string*>();
    std::string line = name + "=" + (text ? *text : dump_json(value));
    if (line.find('\0') != std::string::npos)
      refuse("context_vars: '" + name + "' contains a NUL, which an environment cannot contain");
    if (line.size() >= kStringBytes)
      refuse("context_vars: '" + name +
             "' is longer than the 128 KiB of an environment variable; write it to a file in the workspace");
    variables.push_back(std::move(line));
  }
  return variables;
}

// Code that is too long for one argument goes into a file without a name, which the shell inherits read-only. It is a
// sealed memfd. If memfds are refused (because no cgroup counts them), it is a file of /tmp, opened again for reading.
std::string script_of(const std::string& code) {
  int fd = ::memfd_create("execution", MFD_ALLOW_SEALING);
  const bool is_sealed = fd >= 0;
  if (fd < 0 && errno == ENOSYS) {
    char name[] = "/tmp/.warder-code-XXXXXX";
    fd = ::mkstemp(name);
    if (fd >= 0) ::unlink(name), ::fchmod(fd, 0400);
  }
  if (fd < 0) refuse(std::string("cannot hold the code: ") + ::strerror(errno), errno);
  for (size_t at = 0; at < code.size();) {
    ssize_t n = ::write(fd, code.data() + at, code.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse(std::string("cannot hold the code: ") + ::strerror(errno), errno);
    at += static_cast<size_t>(n);
  }
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  if (is_sealed) {
    ::lseek(fd, 0, SEEK_SET);
    ::fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    return path;
  }
  int read_only = ::open(path.c_str(), O_RDONLY);
  if (read_only < 0) refuse(std::string("cannot hold the code: ") + ::strerror(errno), errno);
  ::close(fd);
  return "/proc/self/fd/" + std::to_string(read_only);
}

// Leaves the socket for the program `warder`, and puts its folder last in PATH. If the limit of open files is below
// that number, dup2() fails and `warder` finds no socket.
std::string leave_socket() {
  (void)::dup2(kSocket, guest::kCallSocket);
  const char* path = ::getenv("PATH");
  return std::string("PATH=") + (path ? path : "/usr/bin:/bin") + ":/warder/shell";
}

[[noreturn]] void become_shell(const char* shell, const Json& order) {
  const std::string* code = find_string(order, "code");
  if (code == nullptr) guest::give_up("'run' without a proper 'code'");
  const std::string* workspace = find_string(order, "workspace");
  if (code->find('\0') != std::string::npos) refuse("the code contains a NUL, which no shell can read");
  std::vector<std::string> variables = variables_of(order);
  std::string directory = workspace ? *workspace : "/workspace";
  if (::chdir(directory.c_str()) < 0)
    refuse("cannot enter the workspace '" + directory + "': " + ::strerror(errno), errno);

  bool fits = code->size() < kStringBytes;
  std::string script = fits ? *code : script_of(*code);
  std::vector<char*> argv{const_cast<char*>(shell)};
  if (std::string_view(shell) == "/bin/bash") {
    argv.push_back(const_cast<char*>("--noprofile"));
    argv.push_back(const_cast<char*>("--norc"));
  }
  // `-c` gives the best messages: errors begin with "execution: line 3:", and $0 is the name after the code.
  if (fits) argv.push_back(const_cast<char*>("-c"));
  argv.push_back(script.data());
  if (fits) argv.push_back(const_cast<char*>("execution"));
  argv.push_back(nullptr);

  std::string path = leave_socket();
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; entry++)
    environment.push_back(std::string_view(*entry).starts_with("PATH=") ? path.data() : *entry);
  for (std::string& line : variables) environment.push_back(line.data());
  environment.push_back(nullptr);

  ::signal(SIGPIPE, SIG_DFL);
  ::execve(shell, argv.data(), environment.data());
  int number = errno;
  if (number == E2BIG)
    refuse("context_vars are larger than an environment can be; write them to a file in the workspace", number);
  refuse(std::string("cannot start ") + shell + ": " + ::strerror(number), number);
}

double now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

uint64_t cpu_us() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<uint64_t>(used.tv_sec) * 1'000'000 + static_cast<uint64_t>(used.tv_nsec) / 1000;
}

}  // namespace

int main() {
  double start = now_ms();
  if (::fcntl(kSocket, F_SETFD, FD_CLOEXEC) < 0) guest::give_up("descriptor 3 is not open");
  const char* shell = ::access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
  send({{"type", "ready"}, {"interpreter", shell}, {"warm_ms", now_ms() - start}, {"cpu_us", cpu_us()}});
  Json order = receive_order();
  const std::string* type = find_string(order, "type");
  if (type == nullptr) guest::give_up("a message is not one JSON object with a type");
  if (*type == "cancel") ::_exit(0);  // the daemon does not need this jail any more
  if (*type != "run") guest::give_up("expected 'run', got '" + *type + "'");
  become_shell(shell, order);
}
