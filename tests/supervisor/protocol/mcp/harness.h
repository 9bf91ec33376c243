// A server with a few tools on a loop, and clients on the same loop that read what it sends.
// Every wait has a bound: what does not come in ten seconds fails the test.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/loop.h"
#include "supervisor/protocol/mcp/connection.h"
#include "supervisor/protocol/mcp/listener.h"
#include "supervisor/protocol/mcp/server.h"
#include "tests/catch.h"

namespace mcp_test {

// Runs the loop until `done`, or fails the test.
void wait_until(Loop& loop, const std::function<bool()>& done,
                std::chrono::milliseconds bound = std::chrono::seconds(10));
// Runs the loop for some turns, so that whatever was about to happen has happened.
void settle(Loop& loop);

// The client's end of a socket.
class Client {
 public:
  Client(Loop& loop, Fd socket);
  // A client that connects to a listener.
  static std::unique_ptr<Client> connect(Loop& loop, const std::string& path);

  void write(std::string_view bytes);  // as they are
  void send(const Json& message) { write(message.dump() + "\n"); }
  std::string line();  // the next one
  Json message() { return Json::parse(line()); }
  Json ask(const Json& request) {
    send(request);
    return message();
  }
  // Nothing has come, also after the server had its turns.
  bool silent();
  bool at_end();  // waits for it
  void stop_reading() { reader_.reset(); }
  void start_reading();
  void half_close();
  void close();
  bool is_closed() const { return ended_; }
  size_t lines_waiting() const { return lines_.size(); }

 private:
  Task<> read();
  Loop& loop_;
  AsyncFd socket_;
  std::string partial_;
  std::deque<std::string> lines_;
  bool ended_ = false;
  std::optional<Task<>> reader_;
};

// NamedUser: the data of a test's connection.
struct NamedUser : mcp::ConnectionUser {
  explicit NamedUser(std::string its_name) : name(std::move(its_name)) {}
  const std::string name;
};
inline const std::string& name_of(const std::shared_ptr<mcp::ConnectionUser>& user) {
  return dynamic_cast<const NamedUser&>(*user).name;
}

// Tools: echo {text}, hold {} (until released; counts who lives), steps {} (progress), log {}, boom {} (throws),
// big {bytes}, data {}, needs_sampling {}, wait {} (never ends, and queues)
struct Fixture {
  Loop loop;
  mcp::Server server;
  mcp::ConnectionLimits limits;
  size_t reserved = 0;                                  // `hold` handlers alive
  size_t cancelled = 0;                                 // ... that were destroyed before their end
  std::map<std::string, std::shared_ptr<Event>> holds;  // by their argument
  std::vector<std::unique_ptr<mcp::Connection>> connections;
  mcp::RequestContext* last_context = nullptr;  // of `hold`

  Fixture();
  void release(const std::string& name) { holds.at(name)->fire(); }
  // A client on a socketpair.
  std::unique_ptr<Client> connect(mcp::Connection::Accepted accepted = {});
  // ... that has done the handshake in `version`.
  std::unique_ptr<Client> legacy(const std::string& version = "2025-11-25");
};

Json request(const Json& id, const std::string& method, Json params = Json::object());
Json modern(const Json& id, const std::string& method, Json params = Json::object());
Json call(const Json& id, const std::string& tool, Json arguments = Json::object());
Json cancel(const Json& id);
size_t open_descriptors();

}  // namespace mcp_test
