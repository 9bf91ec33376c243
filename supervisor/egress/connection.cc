#include "supervisor/egress/connection.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "policies/host_name.h"
#include "supervisor/base/ascii.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/egress/client_hello.h"
#include "supervisor/egress/dial.h"
#include "supervisor/protocol/http/addresses.h"
#include "supervisor/protocol/http/resolver.h"
#include "supervisor/protocol/http/send_reply.h"

namespace egress {
namespace {

using namespace std::chrono_literals;
using http::RequestParser;
using policies::EgressTarget;
using policies::Verdict;

constexpr auto kHeadTime = 30s;  // for a client to send a head, also the first message of TLS
constexpr size_t kMaxHeadBytes = 16 << 10;
constexpr size_t kMaxBodyBytes = 16 << 20;       // of a plain request; tunnels have no bound
constexpr uint64_t kMaxBodiesBytes = 256 << 20;  // of all jails
constexpr size_t kMaxUnreadBytes = 1 << 20;      // that are read after a refusal, so that the client can read it
constexpr size_t kReadBytes = 16 << 10;
constexpr size_t kMaxReasonBytes = 200;    // of a status line
constexpr size_t kShownTargetBytes = 100;  // of an unclear target
constexpr size_t kReceivedInTurn = 1 << 20;
constexpr size_t kMaxReceivedBytes = 3 * kMaxBodyBytes;  // of one request, with the framing of chunks
constexpr uint64_t kMaxRequests = 20'000;                // of one program; further ones are refused

constexpr http::RequestLimits kLimits{kMaxHeadBytes, 100, kMaxBodyBytes, http::RequestLimits::Role::proxy};

const char* text_of_status(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 413:
      return "Content Too Large";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "Bad Gateway";
  }
}

// The cause in the status line: clients print it when a tunnel is refused, and do not show the body.
std::string reason_phrase(int status, const Error& error) {
  std::string text = printable(error.what, kMaxReasonBytes);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.empty() ? text_of_status(status) : fmt::format("{}: {}", text_of_status(status), text);
}

// BodyRoom: bytes for the body of a plain request, of all jails together, from before it is read until it was sent.
class BodyRoom {
 public:
  explicit BodyRoom(uint64_t bytes) : bytes_(used() + bytes <= kMaxBodiesBytes ? bytes : 0), fits_(bytes_ == bytes) {
    used() += bytes_;
  }
  ~BodyRoom() { used() -= bytes_; }
  BodyRoom(const BodyRoom&) = delete;
  BodyRoom& operator=(const BodyRoom&) = delete;
  bool fits() const { return fits_; }

 private:
  static uint64_t& used() {
    static uint64_t bytes = 0;
    return bytes;
  }
  const uint64_t bytes_;
  const bool fits_;
};

Error error_of_room() {
  return {Code::exhausted, 0, "the proxy holds too many bodies of requests now",
          "try again, or use a tunnel (https://)", ""};
}

int status_of(const Error& error) {
  if (error.code == Code::invalid) return 400;
  return error.code == Code::denied || error.code == Code::exhausted ? 403 : 502;
}

Error error_of(const RequestParser::Refused& refused) {
  Error error{Code::invalid, 0, refused.why, "", ""};
  if (refused.status == 413) error.hint = "at most 16 MiB in a request with http://; a tunnel (https://) has no bound";
  return error;
}

Error error_of_budget(const char* rule) {
  return {Code::exhausted, 0, "the code has moved as many bytes as it may", "use less, or another execution", rule};
}

bool starts_with_http(std::string_view target) {
  constexpr std::string_view kScheme = "http://";
  return target.size() > kScheme.size() && is_same_word(target.substr(0, kScheme.size()), kScheme);
}

// nullptr: the proxy may dial the address for that rule. Else: what would allow it. An address of this machine in a
// private network is one of this machine: services may listen there that only a firewall hides from others.
const char* remedy_for_address(const std::string& address, const policies::EgressRule* rule) {
  using Kind = http::AddressKind;
  Kind kind = http::kind_of_address(address);
  if (kind == Kind::forbidden) return "no rule can allow it";
  if (http::is_own_address(address)) kind = Kind::loopback;
  if (kind == Kind::loopback && !(rule && rule->is_loopback)) return "a rule can allow it with \"loopback\": true";
  if (kind == Kind::private_use && !(rule && rule->is_private)) return "a rule can allow it with \"private\": true";
  return nullptr;
}

}  // namespace

Result<EgressTarget> read_target(const http::IncomingRequest& request) {
  const std::string_view target = request.target;
  if (request.method == "CONNECT") {
    TRY(const policies::HostPort port, policies::parse_host_port(target, true));
    return EgressTarget{request.method, port.host, port.port, {}};
  }
  if (target.starts_with('/'))
    return fail(Code::invalid, "this is a proxy: a request names the whole address",
                "for example GET http://api.example.com/v1");
  if (!starts_with_http(target))
    return fail(Code::invalid, "the address does not begin with http://", "for https://, open a tunnel with CONNECT");
  std::string_view rest = target.substr(7);
  const size_t end = rest.find_first_of("/?");
  TRY(policies::HostPort port, policies::parse_host_port(rest.substr(0, end), false));
  std::string path = end == rest.npos ? "/" : std::string(rest.substr(end));
  if (path.front() == '?') path.insert(0, "/");
  return EgressTarget{request.method, std::move(port.host), port.port, std::move(path)};
}

EgressConnection::EgressConnection(Loop& loop, const EgressNetwork& network, const JailSettings& settings,
                                   JailProxy::Host& host, AsyncFd client, ByteBudget& up, ByteBudget& down,
                                   EgressCounts& counts)
    : loop_(loop),
      network_(network),
      settings_(settings),
      host_(host),
      client_(std::move(client)),
      up_(up),
      down_(down),
      counts_(counts),
      forwarder_(loop, network, settings, client_, down) {}

Task<> EgressConnection::serve() {
  RequestParser parser(kLimits);
  for (bool goes_on = true; goes_on;) goes_on = co_await serve_client(parser);
}

// Reads until the head is whole, or the whole request. A connection that ends, or sends too slowly, is at its end.
Task<EgressConnection::Got> EgressConnection::receive(RequestParser& parser, bool text) {
  const Deadline limit(loop_, kHeadTime, [fd = client_.get()] { ::shutdown(fd, SHUT_RDWR); });
  std::array<char, kReadBytes> buffer;
  const size_t head_only = text ? 0 : 1;
  size_t in_this_turn = 0, bytes = 0;
  for (;;) {
    if (in_this_turn > kReceivedInTurn) {
      in_this_turn = 0;
      co_await next_turn(loop_);
    }
    if (bytes > kMaxReceivedBytes) co_return Got::end;  // chunks of single bytes
    while (!unread_.empty()) {
      const size_t used = parser.feed(unread_);
      unread_.erase(0, used);
      if (parser.state() == RequestParser::State::refused || parser.state() == RequestParser::State::full)
        co_return Got::full;
      if (parser.state() == RequestParser::State::body && head_only) co_return Got::head;
      if (used == 0) break;
    }
    const ssize_t got = ::recv(client_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got > 0) {
      if (!up_.take(static_cast<uint64_t>(got))) {
        const Error error = error_of_budget("egress.bytes_up");
        co_await refuse(403, error);
        co_return Got::end;
      }
      unread_.append(buffer.data(), static_cast<size_t>(got));
      in_this_turn += static_cast<size_t>(got);
      bytes += static_cast<size_t>(got);
    } else if (got < 0 && errno == EAGAIN) {
      co_await client_.readable();
    } else if (got == 0 || errno != EINTR) {
      co_return Got::end;
    }
  }
}

// Serves one request. False: the connection ends.
Task<bool> EgressConnection::serve_client(RequestParser& parser) {
  const Got first = co_await receive(parser, false);
  if (first == Got::end) co_return false;
  auto request = co_await read_request(parser);
  if (!request) {
    co_await refuse(request.error().status, request.error().error);
    co_return false;
  }
  auto admitted = co_await judge(*std::move(request));
  if (!admitted) {
    co_await refuse(status_of(admitted.error()), admitted.error());
    co_return false;
  }
  if (!admitted->target.is_tunnel()) co_return co_await serve_plain(*std::move(admitted), parser);
  const std::string early = std::exchange(unread_, {});
  co_await tunnel(*std::move(admitted), early);
  co_return false;
}

// The target of the request whose head the parser has read. A refusal is counted and reported.
Task<tl::expected<EgressTarget, EgressRefusal>> EgressConnection::read_request(const RequestParser& parser) {
  EgressRefusal refusal{403, error_of_budget("egress: 20,000 requests of one program")};
  if (++counts_.requests > kMaxRequests) {
    counts_.denied++;
    co_return tl::unexpected<EgressRefusal>(std::move(refusal));
  }
  if (parser.state() == RequestParser::State::refused) {
    refusal = {parser.refused().status, error_of(parser.refused())};
  } else {
    auto target = read_target(parser.request());
    if (target) co_return *std::move(target);
    refusal = {400, std::move(target).error()};
  }
  counts_.denied++;
  co_await report_refusal(parser.request(), refusal.error.what);
  co_return tl::unexpected<EgressRefusal>(std::move(refusal));
}

// Serves a request that is no tunnel. False: the connection ends.
Task<bool> EgressConnection::serve_plain(AdmittedTarget to, RequestParser& parser) {
  const bool has_body = parser.state() == RequestParser::State::body;
  const size_t announced = parser.request().body_bytes_announced;
  const BodyRoom room(!has_body ? 0 : announced ? announced : kMaxBodyBytes);
  if (!room.fits()) {
    const Error error = error_of_room();
    co_await refuse(503, error);
    co_return false;
  }
  if (has_body) {
    const bool is_received = co_await receive_body(parser);
    if (!is_received) co_return false;
  }
  if (parser.state() != RequestParser::State::full) {
    const Error error = error_of(parser.refused());
    co_await refuse(parser.refused().status, error);
    co_return false;
  }
  const bool keeps_alive = parser.request().keeps_alive;
  const auto is_passed = co_await forwarder_.forward(std::move(to), parser.take());
  if (!is_passed) {
    co_await refuse(502, is_passed.error());
    co_return false;
  }
  const bool goes_on = *is_passed && keeps_alive;
  co_return goes_on;
}

// The rest of a request, up to the end of its body, or to bytes that the parser refuses. False: the connection ends.
Task<bool> EgressConnection::receive_body(RequestParser& parser) {
  if (parser.request().expects_continue) {
    const bool is_sent = co_await send_within(client_, "HTTP/1.1 100 Continue\r\n\r\n", down_);
    if (!is_sent) co_return false;
  }
  const Got rest = co_await receive(parser, true);
  co_return rest != Got::end;
}

// The request is not understood: there is no target to decide about.
Task<> EgressConnection::report_refusal(const http::IncomingRequest& request, std::string why) {
  EgressEntry entry;
  entry.method = printable(request.method, kShownTargetBytes);
  entry.host = printable(request.target, kShownTargetBytes);
  entry.verdict = "denied";
  entry.cause = std::move(why);
  co_await host_.report(std::move(entry));
}

EgressEntry EgressConnection::entry_of(const AdmittedTarget& to, std::string verdict) const {
  EgressEntry entry;
  entry.method = to.target.method;
  entry.host = to.target.host;
  entry.path = to.target.path.substr(0, to.target.path.find('?'));  // queries may hold personal data
  entry.port = to.decision.port ? to.decision.port : to.target.port;
  entry.verdict = std::move(verdict);
  if (to.decision.rule) entry.rule = settings_.rules.rule_name(*to.decision.rule);
  entry.cause = to.decision.why;
  return entry;
}

// Decides about a request and reports it. The addresses of its host are looked up only if a rule allows the name.
Task<Result<AdmittedTarget>> EgressConnection::judge(EgressTarget target) {
  AdmittedTarget to;
  to.target = std::move(target);
  to.decision = settings_.rules.decide(to.target);
  auto admitted = co_await admit(to);
  if (admitted) {
    EgressEntry entry = entry_of(to, "allowed");
    entry.address = to.addresses.front();
    co_await host_.report(std::move(entry));
    co_return to;
  }
  const bool is_denied = admitted.error().code == Code::denied || admitted.error().code == Code::exhausted;
  if (is_denied) counts_.denied++;
  EgressEntry entry = entry_of(to, is_denied ? "denied" : "failed");
  entry.cause = admitted.error().what;
  co_await host_.report(std::move(entry));
  co_return tl::unexpected<Error>(admitted.error());
}

Task<Result<>> EgressConnection::admit(AdmittedTarget& to) {
  const EgressTarget& target = to.target;
  const std::string rule = to.decision.rule ? settings_.rules.rule_name(*to.decision.rule) : "egress";
  const auto denied = [&](std::string why, std::string remedy) {
    return fail(Code::denied,
                fmt::format("{} to {}: {}", target.is_tunnel() ? "a tunnel" : "a request", target.host, why),
                std::move(remedy), rule);
  };
  if (to.decision.verdict == Verdict::deny) co_return denied(to.decision.why, to.decision.remedy);
  if (up_.is_used_up() || down_.is_used_up())
    co_return tl::unexpected<Error>(error_of_budget(up_.is_used_up() ? "egress.bytes_up" : "egress.bytes_down"));
  if (to.decision.verdict == Verdict::ask) {
    EgressEntry entry = entry_of(to, "ask");
    const bool is_allowed = co_await host_.ask(std::move(entry));
    if (!is_allowed) co_return denied("a person refused it, or no person decided in time", "ask an administrator");
  }
  std::string host = target.host;
  auto match =
      co_await http::resolve(loop_, std::move(host), kConnectTime, network_.name_servers, http::SearchDomains::unused);
  if (!match) co_return fail(Code::unavailable, match.error().what, match.error().hint, rule);
  to.addresses = *std::move(match);
  // One refused address refuses the host: its name server must not choose the address.
  for (const std::string& address : to.addresses) {
    const policies::EgressRule* fitting = to.decision.rule ? &settings_.rules.rules[*to.decision.rule] : nullptr;
    if (const char* remedy = remedy_for_address(address, fitting)) co_return denied(http::why_refused(address), remedy);
  }
  co_return Result<>();
}

// The first message of TLS, whole, as the host gets it. Errors: denied: it is for another host, or is not TLS.
Task<Result<std::string>> EgressConnection::read_hello(const std::string& host, std::string_view early) {
  const Deadline limit(loop_, kHeadTime, [fd = client_.get()] { ::shutdown(fd, SHUT_RDWR); });
  using State = ClientHelloReader::State;
  ClientHelloReader reader;
  std::string hello(early);
  State state = reader.feed(early);
  std::array<char, kReadBytes> buffer;
  while (state == State::more) {
    const ssize_t got = ::recv(client_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got > 0) {
      const std::string_view part(buffer.data(), static_cast<size_t>(got));
      if (!up_.take(part.size())) co_return fail(Code::exhausted, "too many bytes sent", "", "egress.bytes_up");
      hello += part;
      state = reader.feed(part);
    } else if (got < 0 && errno == EAGAIN) {
      co_await client_.readable();
    } else if (got == 0 || errno != EINTR) {
      co_return fail(Code::unavailable, "the code closed the tunnel before it sent a message");
    }
  }
  if (state == State::found && reader.name() == host) co_return hello;
  if (state == State::found)
    co_return fail(Code::denied, fmt::format("in the tunnel TLS asks for {}", printable(reader.name(), 80)));
  if (state == State::no_name) co_return fail(Code::denied, "in the tunnel TLS names no server (SNI)");
  if (state == State::not_tls) co_return fail(Code::denied, "the tunnel carries bytes of another protocol than TLS");
  co_return fail(Code::denied, "the first message in the tunnel is not valid TLS");
}

Task<> EgressConnection::tunnel(AdmittedTarget to, std::string_view early) {
  auto outside = co_await dial(loop_, to.addresses, to.decision.port, kConnectTime);
  if (!outside) {
    co_await refuse(502, outside.error());
    co_return;
  }
  const Deadline limit(loop_, settings_.rules.seconds, [inside = client_.get(), outside = outside->get()] {
    ::shutdown(inside, SHUT_RDWR);
    ::shutdown(outside, SHUT_RDWR);  // a host may ignore the end of the other side
  });
  const bool is_reported = co_await send_within(client_, "HTTP/1.1 200 Connection established\r\n\r\n", down_);
  if (!is_reported) co_return;
  const auto hello = co_await read_hello(to.target.host, early);
  if (!hello) {
    if (hello.error().code == Code::denied) counts_.denied++;
    EgressEntry entry = entry_of(to, "denied");
    entry.cause = hello.error().what;
    if (hello.error().code != Code::unavailable) co_await host_.report(std::move(entry));
    ::shutdown(client_.get(), SHUT_RDWR);
    co_return;
  }
  const bool is_started = co_await send_all(*outside, *hello);
  if (is_started) co_await carry(loop_, client_, *outside, up_, down_);
}

Task<> EgressConnection::refuse(int status, const Error& error) {
  Json body{{"error", error.what}};
  if (!error.rule.empty()) body["rule"] = error.rule;
  if (!error.hint.empty()) body["remedy"] = error.hint;
  const std::string text = dump_json(body) + "\n";
  const std::string reply = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nProxy-Status: "
      "warder-egress\r\nConnection: "
      "close\r\n\r\n{}",
      status, reason_phrase(status, error), text.size(), text);
  const Deadline limit(loop_, kHeadTime, [fd = client_.get()] { ::shutdown(fd, SHUT_RDWR); });
  co_await http::send_reply(client_, reply, kMaxUnreadBytes);
}

}  // namespace egress
