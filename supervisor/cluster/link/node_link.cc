#include "supervisor/cluster/link/node_link.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/log.h"
#include "supervisor/base/random.h"
#include "supervisor/base/unix_socket.h"
#include "supervisor/cluster/link/first_line.h"
#include "supervisor/cluster/link/line_reader.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kTryAgain = 1s;
constexpr auto kAnswerLimit = 2400ms;   // warder-node asks the cluster
constexpr size_t kMaxHomes = 10'000;    // in memory
constexpr size_t kMaxRequested = 1000;  // questions without an answer
constexpr int kMaxRounds = 1000;        // of one removal of homes
constexpr auto kViewRetryDelay = 20ms;
constexpr size_t kMaxViews = 8;  // the same, of those with a page as answer: they must fit into the socket

Error unavailable(std::string why) {
  return {Code::unavailable, 0, std::move(why), "ask the administrator: journalctl --unit=warder-node", {}};
}

std::string shown_text(const Json& object, const char* key, size_t max) {
  return printable(text_member(object, key), max);
}

// Forgets a question when its task ends, also by cancellation.
template <class Map>
struct Forgotten {
  Map& pending;
  uint64_t number;
  Forgotten(Map& all, uint64_t value) : pending(all), number(value) {}
  Forgotten(const Forgotten&) = delete;
  ~Forgotten() { pending.erase(number); }
};

// The one member of an object; nullptr: it is another value.
const Json* only_member(const Json& message, const char* key) {
  if (!message.is_object() || message.size() != 1) return nullptr;
  const auto it = message.find(key);
  return it != message.end() && it->is_object() ? &*it : nullptr;
}

}  // namespace

NodeLink::NodeLink(Loop& loop, std::string socket, std::function<void(LeaseEnd)> ended)
    : loop_(loop), path_(std::move(socket)), ended_(std::move(ended)), boot_(random_hex(8)), tasks_(loop) {
  tasks_.spawn(stay_connected());
}

Task<> NodeLink::stay_connected() {
  bool was_reported = false;
  for (;;) {
    auto created = connect_unix(path_, SOCK_STREAM);
    if (created) {
      if (auto watched = AsyncFd::adopt(loop_, *std::move(created))) {
        socket_ = *std::move(watched);
        was_reported = false;
        log_notice("cluster: connected to warder-node");
        rules_changed_();
        co_await serve(socket_);
        lose();
      }
    } else if (!std::exchange(was_reported, true)) {
      log_warning("cluster: no connection to warder-node: {}; it is tried again each second{}", created.error().what,
                  created.error().err == ENOENT ? "; install the package warder-cluster if it is missing" : "");
    }
    co_await sleep_for(loop_, kTryAgain);
  }
}

Task<> NodeLink::serve(AsyncFd& socket) {
  if (!send({{"hello", {{"boot", boot_}}}})) co_return;
  reported_load_.reset();
  report_load();
  const auto take_line = [this](const LineSplitter::Item& line) {
    const auto message = line.kind == LineSplitter::Kind::line ? parse_json(line.text) : Result<Json>(Json());
    if (message) take(*message);
    return true;
  };
  co_await read_lines(loop_, socket, kMaxLine, take_line);
}

void NodeLink::take(const Json& message) {
  if (const Json* result = only_member(message, "found")) return take_matches(*result);
  if (const Json* lease = only_member(message, "lease")) return take_lease(*lease);
  if (only_member(message, "moved")) {
    moves_++;
    return homes_.clear();
  }
  if (only_member(message, "rules")) return rules_changed_();
  if (const Json* report = only_member(message, "numbers")) return take_numbers(*report);
  for (const char* kind : {"nodes", "homes", "placed", "forgotten"})
    if (const Json* answer = only_member(message, kind)) return take_answer(*answer);
  if (const Json* answer = only_member(message, "answer")) return take_done(*answer);
  if (const Json* failed = only_member(message, "failed")) take_failure(*failed);
}

void NodeLink::take_failure(const Json& failed) {
  const auto id = failed.find("id");
  if (id == failed.end() || !id->is_number_unsigned()) return;
  const uint64_t number = id->get<uint64_t>();
  const auto code = failed.find("denied");
  const bool is_denied = code != failed.end() && *code == true;
  if (auto ordered = ordered_.extract(number)) {
    Error why = is_denied ? Error{Code::denied, 0, shown_text(failed, "why", 300), {}, {}}
                          : unavailable(shown_text(failed, "why", 300));
    if (auto remedy = shown_text(failed, "remedy", 300); !remedy.empty()) why.hint = std::move(remedy);
    return ordered.mapped().resolve(tl::unexpected<Error>(std::move(why)));
  }
  if (auto question = questions_.extract(number)) {
    Error why = unavailable(shown_text(failed, "why", 300));
    if (auto remedy = shown_text(failed, "remedy", 300); !remedy.empty()) why.hint = std::move(remedy);
    return question.mapped().resolve(tl::unexpected<Error>(std::move(why)));
  }
  if (auto request = pending_.extract(number)) {
    Error why = unavailable("the home of the workspace is not known: " + shown_text(failed, "why", 300));
    if (auto remedy = shown_text(failed, "remedy", 300); !remedy.empty()) why.hint = std::move(remedy);
    request.mapped().answer.resolve(tl::unexpected<Error>(std::move(why)));
  }
}

void NodeLink::take_answer(const Json& content) {
  const auto id = content.find("id");
  if (id == content.end() || !id->is_number_unsigned()) return;
  if (auto question = questions_.extract(id->get<uint64_t>())) question.mapped().resolve(content);
}

void NodeLink::take_numbers(const Json& report) {
  auto numbers = read_numbers(report);
  if (!numbers) return log_warning("cluster: numbers of warder-node are not used: {}", numbers.error().what);
  numbers_ = *std::move(numbers);
  numbers_at_ = Monotonic::now();
}

NodeNumbers NodeLink::numbers() const {
  NodeNumbers now = numbers_;
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(Monotonic::now() - numbers_at_);
  constexpr std::chrono::seconds kUsual{2};  // between two messages
  if (since > kUsual) now.bus_silent += since;
  return now;
}

std::chrono::microseconds NodeLink::fenced_time() const {
  const auto from = std::max(fenced_until_, lease_.starts_until);
  return fenced_ + std::max(boot_time() - from, std::chrono::microseconds(0));
}

void NodeLink::take_done(Json answer) {
  const auto id = answer.find("id");
  if (id == answer.end() || !id->is_number_unsigned()) return;
  if (auto ordered = ordered_.extract(id->get<uint64_t>())) {
    answer.erase("id");
    ordered.mapped().resolve(std::move(answer));
  }
}

void NodeLink::take_matches(const Json& result) {
  const auto id = result.find("id");
  if (id == result.end() || !id->is_number_unsigned()) return;
  auto request = pending_.extract(id->get<uint64_t>());
  if (!request) return;
  auto home = read_home(result);
  if (home && request.mapped().moves == moves_) {
    if (homes_.size() >= kMaxHomes) homes_.clear();
    homes_[request.mapped().id] = *home;
  }
  request.mapped().answer.resolve(std::move(home));
}

void NodeLink::take_lease(const Json& message) {
  auto lease = read_lease(message);
  if (!lease) return log_warning("cluster: warder-node sent no lease: {}", lease.error().what);
  if (!may_start() && boot_time() < lease->starts_until) {
    log_notice("cluster: node {} has a lease and acts as a home", lease->node);
    homes_.clear();  // without a lease, this node may have lost its homes
  }
  if (lease->node == lease_.node) {  // a new start of warder-node has no lease yet: the last one still lasts
    lease->starts_until = std::max(lease->starts_until, lease_.starts_until);
    lease->runs_until = std::max(lease->runs_until, lease_.runs_until);
  }
  fenced_ = fenced_time();
  fenced_until_ = boot_time();
  lease_ = *std::move(lease);
  has_held_ |= may_start();
  if (!has_held_) return;  // no program of a shared workspace has begun
  const auto remaining = [](std::chrono::microseconds end) {
    return std::max(std::chrono::ceil<std::chrono::milliseconds>(end - boot_time()), std::chrono::milliseconds(1));
  };
  starts_until_ = Deadline(loop_, remaining(lease_.starts_until), [this] {
    log_warning("cluster: node {} cannot renew its lease: it starts no program for shared workspaces", lease_.node);
    ended_(LeaseEnd::starts);
  });
  runs_until_ = Deadline(loop_, remaining(lease_.runs_until), [this] {
    log_error("cluster: the lease of node {} is over: executions of shared workspaces are ended", lease_.node);
    ended_(LeaseEnd::runs);
  });
}

// Homes that are here stay known: no other node takes them while this node's lease lasts. Others may have moved.
void NodeLink::lose() {
  socket_.close();
  log_warning("cluster: the connection to warder-node is lost");
  std::erase_if(homes_, [](const auto& item) { return !item.second.is_here; });
  for (auto& [id, requested] : std::exchange(pending_, {}))
    requested.answer.resolve(tl::unexpected<Error>(unavailable("the connection to warder-node is lost")));
  for (auto& [id, answer] : std::exchange(questions_, {}))
    answer.resolve(tl::unexpected<Error>(unavailable("the connection to warder-node is lost")));
  for (auto& [id, ordered] : std::exchange(ordered_, {}))
    ordered.resolve(tl::unexpected<Error>(unavailable("the connection to warder-node is lost")));
}

// The socket's buffer takes thousands of these messages. When it is full, warder-node does not read.
Result<> NodeLink::send(const Json& message) {
  if (!socket_) return tl::unexpected<Error>(unavailable("there is no connection to warder-node"));
  const std::string line = dump_json(message) + "\n";
  const ssize_t sent = ::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent == static_cast<ssize_t>(line.size())) return {};
  ::shutdown(socket_.get(), SHUT_RDWR);  // serve() ends
  return tl::unexpected<Error>(unavailable("warder-node does not read its messages"));
}

Task<Result<Home>> NodeLink::home_of(tenants::TenantId id) {
  if (const auto it = homes_.find(id); it != homes_.end()) co_return it->second;
  if (pending_.size() >= kMaxRequested) co_return tl::unexpected<Error>(unavailable("warder-node does not answer"));
  const uint64_t number = ++last_id_;
  Json find = {{"id", number}, {"account", id.account}, {"workspace", id.workspace}};
  CO_CHECKED(send({{"find", std::move(find)}}));
  OneShot<Result<Home>> answer(loop_, tl::unexpected<Error>(unavailable("warder-node does not answer")));
  pending_.emplace(number, PendingQuestion{std::move(id), moves_, answer.resolver()});
  const Forgotten forgotten{pending_, number};
  const Deadline late(loop_, kAnswerLimit, [this, number] { pending_.erase(number); });
  auto home = co_await answer;
  co_return home;
}

Task<Result<Json>> NodeLink::order(const char* kind, Json question, std::chrono::seconds limit) {
  if (ordered_.size() >= kMaxRequested) co_return tl::unexpected<Error>(unavailable("warder-node does not answer"));
  const uint64_t number = ++last_id_;
  question["id"] = number;
  Json message = Json::object();
  message[kind] = std::move(question);
  CO_CHECKED(send(message));
  OneShot<Result<Json>> answer(loop_, tl::unexpected<Error>(unavailable("warder-node does not answer")));
  ordered_.emplace(number, answer.resolver());
  const Forgotten forgotten{ordered_, number};
  const Deadline late(loop_, limit, [this, number] { ordered_.erase(number); });
  auto answered = co_await answer;
  co_return answered;
}

// Pages must fit into the socket, so few are asked for at once.
Task<Result<Json>> NodeLink::ask_view(const char* question, Json content) {
  const auto until = Monotonic::now() + kAnswerLimit;
  while (views_ >= kMaxViews && Monotonic::now() < until) co_await sleep_for(loop_, kViewRetryDelay);
  if (views_ >= kMaxViews) co_return fail(Code::exhausted, "too many questions about the cluster at once", "ask again");
  struct Counted {
    size_t& count;
    explicit Counted(size_t& views) : count(views) { count++; }
    Counted(const Counted&) = delete;
    ~Counted() { count--; }
  };
  const Counted counted(views_);
  auto reply = co_await ask(question, std::move(content));
  co_return reply;
}

Task<Result<Json>> NodeLink::ask(const char* question, Json content) {
  if (questions_.size() >= kMaxRequested)
    co_return fail(Code::exhausted, "too many questions about the cluster at once", "ask again");
  const uint64_t number = ++last_id_;
  content["id"] = number;
  CO_CHECKED(send({{question, std::move(content)}}));
  OneShot<Result<Json>> answer(loop_, tl::unexpected<Error>(unavailable("warder-node does not answer")));
  questions_.emplace(number, answer.resolver());
  const Forgotten forgotten{questions_, number};
  const Deadline late(loop_, kAnswerLimit, [this, number] { questions_.erase(number); });
  auto reply = co_await answer;
  co_return reply;
}

Task<Result<std::vector<std::string>>> NodeLink::slots_for(std::string account, bool here_is_free) {
  Json content = {{"account", std::move(account)}, {"here", here_is_free}};
  CO_TRY(const Json reply, co_await ask("place", std::move(content)));
  co_return read_positions(reply);
}

Task<Result<NodePage>> NodeLink::nodes_after(std::string name) {
  Json content = {{"after", std::move(name)}};
  CO_TRY(const Json reply, co_await ask_view("view", std::move(content)));
  co_return read_node_page(reply);
}

Task<Result<HomePage>> NodeLink::homes(HomeQuestion question) {
  CO_TRY(const Json reply, co_await ask_view("list_homes", write_home_question(question)));
  co_return read_home_page(reply);
}

Task<Result<>> NodeLink::forget_homes(std::string account) {
  for (int rounds = 0; rounds < kMaxRounds; rounds++) {
    Json content = {{"account", account}};
    CO_TRY(const Json reply, co_await ask("forget_homes", std::move(content)));
    CO_TRY(const ForgottenHomes forgotten, read_forgotten(reply));
    if (!forgotten.has_more) break;
  }
  homes_.clear();
  co_return Result<>{};
}

Standing NodeLink::standing() const {
  if (!is_connected()) return Standing::no_warder_node;
  return may_start() ? Standing::member : Standing::fenced;
}

void NodeLink::report_load_of(std::function<NodeLoad()> read) {
  read_load_ = std::move(read);
  load_changed();
}

// The connection may exist already.
void NodeLink::on_rules(std::function<void()> changed) {
  rules_changed_ = std::move(changed);
  if (is_connected()) rules_changed_();
}

NodeLoad NodeLink::load() const {
  NodeLoad load = read_load_ ? read_load_() : NodeLoad{};
  load.slots = std::min(load.slots, lease_.slots);
  return load;
}

// Read a little later: what changes now may not have ended yet.
void NodeLink::load_changed() {
  if (!socket_ || !read_load_ || telling_) return;
  constexpr std::chrono::milliseconds kSoon{20};
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(Monotonic::now() - reported_at_);
  telling_.emplace(loop_, std::max(kSoon, kLoadEvery - since), [this] { report_load(); });
}

void NodeLink::report_load() {
  telling_.reset();
  if (!socket_ || !read_load_) return;
  const NodeLoad load = read_load_();
  if (load == reported_load_) return;
  reported_at_ = Monotonic::now();
  if (send({{"load", write_load(load)}})) reported_load_ = load;
}

Task<Result<NodeLink::Opened>> NodeLink::open(std::string node, NodeClient for_client) {
  Json request = {{"open", {{"node", std::move(node)}, {"for", write_node_client(for_client)}}}};
  auto opened = co_await open_with(std::move(request));
  co_return opened;
}

Task<Result<NodeLink::Opened>> NodeLink::open_query(std::string node) {
  Json request = {{"look", {{"node", std::move(node)}}}};
  auto opened = co_await open_with(std::move(request));
  co_return opened;
}

Task<Result<AsyncFd>> NodeLink::open_push(std::string node, Push push) {
  Json request = {{"push", {{"to", std::move(node)}, {"home", write_push(push)}}}};
  CO_TRY(Opened opened, co_await open_with(std::move(request)));
  co_return std::move(opened.socket);
}

Task<Result<NodeLink::Opened>> NodeLink::open_with(Json request) {
  CO_TRY(Fd created, connect_unix(path_, SOCK_STREAM));
  CO_TRY(AsyncFd socket, AsyncFd::adopt(loop_, std::move(created)));
  const std::string line = dump_json(request) + "\n";
  if (::send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT) != static_cast<ssize_t>(line.size()))
    co_return tl::unexpected<Error>(unavailable("warder-node does not read its messages"));
  CO_TRY(const std::string answer, co_await read_first_line(loop_, socket, kMaxLine, kAnswerLimit));
  const auto message = parse_json(answer);
  if (const Json* opened = message ? only_member(*message, "opened") : nullptr) {
    Opened connection{std::move(socket), shown_text(*opened, "boot", 64)};
    co_return connection;
  }
  const Json* refused = message ? only_member(*message, "refused") : nullptr;
  Error why = unavailable(refused ? shown_text(*refused, "why", 300) : "warder-node sent an unknown answer");
  if (refused)
    if (auto remedy = shown_text(*refused, "remedy", 300); !remedy.empty()) why.hint = std::move(remedy);
  co_return tl::unexpected<Error>(std::move(why));
}

}  // namespace cluster
