// RequestContext: what a handler knows about the request it serves, and its line back to the client.
// Made by the connection; lives as long as the handler's task, and so may be used by reference in all of it.
#pragma once
#include <sys/types.h>

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/base/json_value.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/task.h"
#include "supervisor/mcp/elicitation.h"
#include "supervisor/mcp/protocol.h"

namespace mcp {

// Who is at the other end, as the kernel says (SO_PEERCRED and SO_PEERGROUPS, unix(7)): the process that called
// connect(), as it was then.
struct PeerProcess {
  pid_t pid = 0;
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
  std::vector<gid_t> groups;  // supplementary
};

// What the client said about itself: with each modern request, at `initialize` before.
struct ClientInfo {
  Json capabilities = Json::object();
  Json info;  // {name, version, ...}; may be null; a claim, not an identity
};

class ResponseFilter;

class RequestContext {
 public:
  using Send = std::function<void(std::string line)>;  // empty: no notification leaves
  RequestContext(Loop& on_loop, RequestId request_id, Version spoken, Send send)
      : loop(on_loop), id(std::move(request_id)), version(spoken), send_(std::move(send)) {}

  Loop& loop;
  RequestId id;
  Version version;
  std::string method;
  PeerProcess peer;
  std::shared_ptr<const ClientInfo> client = std::make_shared<ClientInfo>();
  Json meta;                                        // params._meta as received: traceparent and other extensions' keys
  std::shared_ptr<ResponseFilter> response_filter;  // looks at what leaves; nullptr: nothing does
  std::shared_ptr<void> user;                       // what the listener's `admit` returned for this connection

  Era era() const { return era_of(version); }
  template <class T>
  T& user_as() const {
    return *static_cast<T*>(user.get());
  }

  bool wants_progress() const { return progress_token_ && send_; }
  // Tells the client how far we are. Nothing is sent without a token of the client's, for a value that is not
  // greater than the last, or once the answer is on its way. No message where texts are looked at before they leave:
  // it may be the beginning of what, whole, would be recognised.
  void progress(double value, std::optional<double> total = {}, std::string_view message = {});
  // A notifications/message, if the client asked for this severity. Done when it has left, or does not.
  Task<> log(Severity severity, Json data, std::string logger = {});

  // Asks the person at the client; `answered` is called once, from the loop, while what is returned lives. nullptr:
  // the client cannot be asked.
  std::shared_ptr<Elicitation> elicit(ElicitationForm form, std::function<void(Elicited)> answered) {
    return ask_ ? ask_(std::move(form), std::move(answered)) : nullptr;
  }
  // Whether the client says that it can be asked.
  bool can_elicit() const { return ask_ && mcp::can_elicit(client->capabilities, version); }

  // Counts memory that the request takes beside its own text; false: its user has no more.
  bool hold(size_t bytes) { return bytes == 0 || !hold_ || hold_(bytes); }

  // Counts the memory of the answer that was made, until it leaves.
  void made(size_t bytes) {
    if (made_) made_(bytes);
  }

  // For the connection.
  void set_made(std::function<void(size_t bytes)> made) { made_ = std::move(made); }
  void set_hold(std::function<bool(size_t bytes)> hold) { hold_ = std::move(hold); }
  using Ask = std::function<std::shared_ptr<Elicitation>(ElicitationForm, std::function<void(Elicited)>)>;
  void set_ask(Ask ask) { ask_ = std::move(ask); }
  void set_notifications(std::optional<RequestId> progress_token, std::optional<Severity> log_level) {
    progress_token_ = std::move(progress_token);
    log_level_ = log_level;
  }
  void notify(std::string line) const {
    if (send_) send_(std::move(line));
  }
  void close() { send_ = nullptr, ask_ = nullptr; }  // the answer is on its way

 private:
  Send send_;
  Ask ask_;
  std::function<bool(size_t bytes)> hold_;
  std::function<void(size_t bytes)> made_;
  std::optional<RequestId> progress_token_;
  std::optional<Severity> log_level_;
  double last_progress_ = -INFINITY;
};

}  // namespace mcp
