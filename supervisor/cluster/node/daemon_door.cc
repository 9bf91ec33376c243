#include "supervisor/cluster/node/daemon_door.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <utility>

#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/log.h"
#include "supervisor/cluster/link/first_line.h"
#include "supervisor/cluster/link/line_reader.h"
#include "supervisor/cluster/link/user_socket.h"
#include "supervisor/cluster/node/node_orders.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirstLineLimit = 5s;
constexpr size_t kMaxClients = 4096;
constexpr size_t kMaxQuestions = 2000;  // of one control connection

constexpr char kNotUsed[] = "cluster: a message of warderd is not used: {}";

struct OpenRequest {
  std::string node;
  NodeClient for_client;
};

Result<OpenRequest> read_open(const Json& message) {
  Fields in(message, "open");
  OpenRequest request;
  TRY(request.node, in.string("node", kMaxNodeName));
  if (!is_node_name(request.node)) return fail(Code::invalid, "open.node: not the name of a node");
  const Json* for_client = in.find("for");
  CHECKED(in.done());
  if (!for_client) return fail(Code::invalid, "open.for: missing");
  TRY(request.for_client, read_node_client(*for_client, "open.for"));
  return request;
}

Result<std::string> read_query_request(const Json& message) {
  Fields in(message, "look");
  TRY(std::string node, in.string("node", kMaxNodeName));
  CHECKED(in.done());
  if (!is_node_name(node)) return fail(Code::invalid, "look.node: not the name of a node");
  return node;
}

struct PushRequest {
  std::string node;
  Push push;
};

Result<PushRequest> read_push_request(const Json& message) {
  Fields in(message, "push");
  PushRequest request;
  TRY(request.node, in.string("to", kMaxNodeName));
  if (!is_node_name(request.node)) return fail(Code::invalid, "push.to: not the name of a node");
  const Json* home = in.find("home");
  CHECKED(in.done());
  if (!home) return fail(Code::invalid, "push.home: missing");
  TRY(request.push, read_push(*home, "push.home"));
  return request;
}

struct Question {
  uint64_t id = 0;
  tenants::TenantId workspace;
};

Result<Question> read_question(const Json& find) {
  Fields in(find, "find");
  Question question;
  TRY(const int64_t id, in.integer("id", 0, int64_t{1} << 53));
  question.id = static_cast<uint64_t>(id);
  TRY(question.workspace.account, in.string("account", 64));
  TRY(question.workspace.workspace, in.string("workspace", 64));
  CHECKED(in.done());
  return question;
}

struct PlacementQuery {
  uint64_t id = 0;
  std::string account;
  bool is_here_free = false;
};

Result<PlacementQuery> read_placement(const Json& location) {
  Fields in(location, "place");
  PlacementQuery question;
  TRY(const int64_t id, in.integer("id", 0, int64_t{1} << 53));
  question.id = static_cast<uint64_t>(id);
  TRY(question.account, in.string("account", 64));
  TRY(question.is_here_free, in.boolean_or("here", false));
  CHECKED(in.done());
  return question;
}

Result<uint64_t> read_id(const Json& message) {
  const auto id = message.is_object() ? message.find("id") : message.end();
  if (!message.is_object() || id == message.end() || !id->is_number_unsigned())
    return fail(Code::invalid, "id: not a number");
  return id->get<uint64_t>();
}

}  // namespace

Result<std::unique_ptr<DaemonDoor>> DaemonDoor::open(Loop& loop, Fd socket, std::set<uid_t> users, Service& service) {
  TRY(AsyncFd watched, watch_listening(loop, std::move(socket)));
  std::unique_ptr<DaemonDoor> door(new DaemonDoor(loop, std::move(watched), std::move(users), service));
  DaemonDoor& daemon_door = *door;
  auto serve = [&daemon_door](Fd client) {
    if (daemon_door.tasks_.live() < kMaxClients) daemon_door.tasks_.spawn(daemon_door.serve(std::move(client)));
  };
  daemon_door.tasks_.spawn(accept_users(loop, daemon_door.socket_, daemon_door.users_, std::move(serve)));
  return door;
}

Task<> DaemonDoor::serve(Fd client) {
  auto socket = AsyncFd::adopt(loop_, std::move(client));
  if (!socket) co_return;
  const auto line = co_await read_first_line(loop_, *socket, kMaxLine, kFirstLineLimit);
  const auto message = line ? parse_json(*line) : Result<Json>(Json());
  if (!message || !message->is_object()) co_return;
  if (message->contains("hello")) {
    co_await serve_control(*std::move(socket));
  } else if (message->contains("open")) {
    auto request = read_open((*message)["open"]);
    if (!request) co_return log_warning(kNotUsed, request.error().what);
    co_await service_.carry(*std::move(socket), std::move(request->node), std::move(request->for_client));
  } else if (message->contains("rules")) {
    co_await service_.give_rules(*std::move(socket));
  } else if (message->contains("look")) {
    auto node = read_query_request((*message)["look"]);
    if (!node) co_return log_warning(kNotUsed, node.error().what);
    co_await service_.carry(*std::move(socket), *std::move(node), std::nullopt);
  } else if (message->contains("push")) {
    auto request = read_push_request((*message)["push"]);
    if (!request) co_return log_warning(kNotUsed, request.error().what);
    co_await service_.carry_push(*std::move(socket), std::move(request->node), std::move(request->push));
  }
}

Task<> DaemonDoor::serve_control(AsyncFd socket) {
  const auto location = controls_.emplace(controls_.end(), loop_, std::move(socket));
  struct Removed {
    DaemonDoor& door;
    std::list<Control>::iterator location;
    ~Removed() {
      door.controls_.erase(location);
      if (door.controls_.empty()) door.service_.set_load(std::nullopt);
    }
  } const removed{*this, location};
  Control& control = *location;
  log_notice("cluster: warderd is connected");
  send(control, {{"lease", service_.lease()}});
  const auto take_line = [&](const LineSplitter::Item& line) {
    const bool is_used = line.kind == LineSplitter::Kind::line && control.asking.live() <= kMaxQuestions;
    auto message = is_used ? parse_json(line.text) : Result<Json>(Json());
    if (message && message->is_object() && message->size() == 1) take(control, *std::move(message));
    return true;
  };
  co_await read_lines(loop_, control.socket, kMaxLine, take_line);
  log_notice("cluster: warderd has gone");
}

void DaemonDoor::take(Control& control, Json message) {
  const std::string kind = message.begin().key();
  Json& content = message.begin().value();
  if (kind == "find") {
    control.asking.spawn(find(control, std::move(content)));
  } else if (kind == "place") {
    answer_placement(control, content);
  } else if (kind == "view") {
    show_nodes(control, content);
  } else if (kind == "list_homes") {
    show_homes(control, content);
  } else if (kind == "forget_homes") {
    control.asking.spawn(forget_homes(control, std::move(content)));
  } else if (kind == "load") {
    take_load(content);
  } else if (NodeOrders::knows(kind)) {
    control.asking.spawn(order(control, kind, std::move(content)));
  }
}

void DaemonDoor::answer_placement(Control& control, const Json& question) {
  const auto request = read_placement(question);
  if (!request) return log_warning(kNotUsed, request.error().what);
  const auto nodes = service_.slots_for(request->account, request->is_here_free);
  Json answer = {{"id", request->id}};
  if (nodes)
    answer["nodes"] = *nodes;
  else
    answer["why"] = nodes.error().what;
  send(control, {{"placed", std::move(answer)}});
}

void DaemonDoor::show_nodes(Control& control, const Json& question) {
  const auto id = read_id(question);
  const auto after = read_after(question);
  if (!id || !after) return log_warning(kNotUsed, id ? after.error().what : id.error().what);
  Json page = service_.nodes_after(*after);
  page["id"] = *id;
  send(control, {{"nodes", std::move(page)}});
}

void DaemonDoor::show_homes(Control& control, const Json& question) {
  const auto id = read_id(question);
  const auto home_question = read_home_question(question);
  if (!id || !home_question) return log_warning(kNotUsed, id ? home_question.error().what : id.error().what);
  Json page = service_.homes_for(*home_question);
  page["id"] = *id;
  send(control, {{"homes", std::move(page)}});
}

void DaemonDoor::take_load(const Json& load) {
  const auto read = read_load(load);
  if (!read) return log_warning(kNotUsed, read.error().what);
  service_.set_load(*read);
}

Task<> DaemonDoor::order(Control& control, std::string kind, Json question) {
  const Json id = question.is_object() ? question.value("id", Json()) : Json();
  if (!id.is_number_unsigned()) co_return log_warning("cluster: an order of warderd without an id is not used");
  auto answer = co_await service_.order(std::move(kind), std::move(question));
  if (answer) {
    (*answer)["id"] = id;
    send(control, {{"answer", *std::move(answer)}});
    co_return;
  }
  const Error& why = answer.error();
  const bool is_denied = why.code == Code::denied || why.code == Code::invalid;
  send(control, {{"failed", {{"id", id}, {"why", why.what}, {"remedy", why.hint}, {"denied", is_denied}}}});
}

Task<> DaemonDoor::forget_homes(Control& control, Json request) {
  const auto id = read_id(request);
  const auto account = read_forgotten_account(request);
  if (!id || !account) co_return log_warning(kNotUsed, id ? account.error().what : id.error().what);
  const auto done = co_await service_.forget_homes(*account);
  if (!done) {
    send(control, {{"failed", {{"id", *id}, {"why", done.error().what}, {"remedy", done.error().hint}}}});
    co_return;
  }
  Json forgotten = write_forgotten(*done);
  forgotten["id"] = *id;
  send(control, {{"forgotten", std::move(forgotten)}});
}

Task<> DaemonDoor::find(Control& control, Json request) {
  const auto question = read_question(request);
  if (!question) co_return log_warning(kNotUsed, question.error().what);
  const auto home = co_await service_.home_of(question->workspace);
  if (home) {
    send(control,
         {{"found", {{"id", question->id}, {"node", home->node}, {"epoch", home->epoch}, {"here", home->is_here}}}});
  } else {
    send(control, {{"failed", {{"id", question->id}, {"why", home.error().what}, {"remedy", home.error().hint}}}});
  }
}

void DaemonDoor::notify(const Json& message) {
  for (Control& control : controls_) send(control, message);
}

// The socket's buffer takes thousands of messages. A warderd that does not read them is stopped: it asks again when it
// connects again.
void DaemonDoor::send(Control& control, const Json& message) {
  const std::string line = dump_json(message) + "\n";
  const ssize_t sent = ::send(control.socket.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent != static_cast<ssize_t>(line.size())) ::shutdown(control.socket.get(), SHUT_RDWR);
}

}  // namespace cluster
