// What the tests of the command line drive: a started `warder` with its three streams, and a daemon played by the test.
// Every wait has a bound; a wait that runs out throws, which Catch2 reports as the failure it is.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/json/json_value.h"
#include "tests/temp_directory.h"

namespace cli_test {

using namespace std::chrono_literals;
using Wait = std::chrono::milliseconds;

constexpr Wait kSoon = 30s;  // far more than anything here needs, sanitizers on a busy machine included

// The program under test: $WARDER_UNDER_TEST, else the one built beside the tests.
std::string warder_program();

// Lines from a descriptor, with bounds.
class LineInput {
 public:
  explicit LineInput(Fd fd = {}) : fd_(std::move(fd)) {}
  // The next line without its newline; nothing at the end of the stream. Throws when neither comes in time.
  std::optional<std::string> line(Wait wait = kSoon);
  Json message(Wait wait = kSoon);  // throws at the end of the stream
  std::string rest(Wait wait = kSoon);
  bool quiet_for(Wait wait);  // nothing arrives
  int fd() const { return fd_.get(); }
  void close() { fd_.reset(); }

 private:
  bool fill(std::chrono::steady_clock::time_point until);  // false: end of the stream
  Fd fd_;
  std::string buffer_;
};

bool writable_within(int fd, Wait wait);
void write_all(int fd, std::string_view text, Wait wait = kSoon);

struct Ended {
  int status = -1;  // exit status, or -signal
  std::chrono::milliseconds after{0};
};

class Process {
 public:
  explicit Process(std::vector<std::string> arguments, std::vector<std::string> environment = {});
  ~Process();  // kills what is left
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void send_line(std::string_view line) { write_all(in.get(), std::string(line) + "\n"); }
  void send(const Json& message) { send_line(message.dump()); }
  Ended wait(Wait wait = kSoon);
  void signal(int number);
  pid_t pid() const { return pid_; }

  Fd in;
  LineInput out, err;

 private:
  pid_t pid_ = -1;
};

// Whether a child of ours ends in time; it is collected, and killed first if it must be.
bool ends_within(pid_t pid, Wait wait);

// One connection that the fake daemon accepted.
class Peer {
 public:
  explicit Peer(Fd fd);
  void send_line(std::string_view line) { write_all(lines.fd(), std::string(line) + "\n"); }
  void send(const Json& message) { send_line(message.dump()); }
  Json request(Wait wait = kSoon) { return lines.message(wait); }
  void close() { lines.close(); }

  LineInput lines;
};

class FakeDaemon {
 public:
  FakeDaemon();
  void start();  // listens
  void stop();   // the socket is gone, as after systemctl stop; connections stay
  Peer accept(Wait wait = kSoon);
  Peer accept_proxy();  // and reads its hello
  const std::string& path() const { return path_; }

 private:
  TempDirectory directory_;
  std::string path_;
  Fd listener_;
};

Json request(const Json& id, const std::string& method, Json params = Json::object());
Json modern_request(const Json& id, const std::string& method, Json params = Json::object());
Json result(const Json& id, Json value = Json::object());

}  // namespace cli_test
