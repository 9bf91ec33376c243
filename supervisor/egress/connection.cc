#include "supervisor/egress/connection.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "policies/host_name.h"
#include "supervisor/base/json.h"
#include "supervisor/base/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/egress/addresses.h"
#include "supervisor/egress/client_hello.h"
#include "supervisor/egress/dial.h"
#include "supervisor/egress/forwarded_headers.h"
#include "supervisor/egress/secret_filter.h"
#include "supervisor/http/resolver.h"
#include "supervisor/http/send_reply.h"

namespace egress {
namespace {

using namespace std::chrono_literals;
using http::RequestParser;
using policies::EgressTarget;
using policies::Verdict;

constexpr auto kHeadTime = 30s;     // for a client to send a head, also the first message of TLS
constexpr auto kConnectTime = 10s;  // to find a host's address, and again to connect
constexpr size_t kMaxHeadBytes = 16 << 10;
constexpr size_t kMaxBodyBytes = 16 << 20;       // of a plain request; tunnels have no such bound
constexpr uint64_t kMaxBodiesBytes = 256 << 20;  // of all jails
constexpr size_t kMaxReplyBytes = size_t{1} << 40;
constexpr size_t kMaxUnreadBytes = 1 << 20;  // that are read after a refusal, so that the client can read it
constexpr size_t kReadBytes = 16 << 10;
constexpr size_t kShownTargetBytes = 100;  // of a target that is not understood
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
  if (refused.status == 413)
    error.hint = "at most 16 MiB in a request with http://; a tunnel (https://) has no such bound";
  return error;
}

Error error_of_budget(const char* rule) {
  return {Code::exhausted, 0, "the code has moved as many bytes as it may", "use less, or another execution", rule};
}

Error error_of_compression() {
  return {Code::unavailable, 0, "the host answers in a compressed form, in which no secret can be hidden", "", ""};
}

bool starts_with_http(std::string_view target) {
  constexpr std::string_view kScheme = "http://";
  return target.size() > kScheme.size() &&
         std::equal(kScheme.begin(), kScheme.end(), target.begin(), [](char wanted, char c) {
           return wanted == (c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c);
         });
}

}  // namespace

Result<EgressTarget> read_target(const http::IncomingRequest& request) {
  const std::string_view target = request.target;
  if (request.method == "CONNECT") {
    TRY(const policies::HostPort place, policies::parse_host_port(target, true));
    return EgressTarget{request.method, place.host, place.port, {}};
  }
  if (target.starts_with('/'))
    return fail(Code::invalid, "this is a proxy: a request names the whole address",
                "for example GET http://api.example.com/v1");
  if (!starts_with_http(target))
    return fail(Code::invalid, "the address does not begin with http://", "for https://, open a tunnel with CONNECT");
  std::string_view rest = target.substr(7);
  const size_t end = rest.find_first_of("/?");
  TRY(policies::HostPort place, policies::parse_host_port(rest.substr(0, end), false));
  std::string path = end == rest.npos ? "/" : std::string(rest.substr(end));
  if (path.front() == '?') path.insert(0, "/");
  return EgressTarget{request.method, std::move(place.host), place.port, std::move(path)};
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
      counts_(counts) {}

Task<> EgressConnection::serve() {
  RequestParser parser(kLimits);
  for (bool goes_on = true; goes_on;) goes_on = co_await serve_one(parser);
}

// Reads until the head is whole, or the whole request. A connection that ends, or sends too slowly, is at its end.
Task<EgressConnection::Got> EgressConnection::receive(RequestParser& parser, bool whole) {
  const Deadline limit(loop_, kHeadTime, [fd = client_.get()] { ::shutdown(fd, SHUT_RDWR); });
  std::array<char, kReadBytes> buffer;
  const size_t head_only = whole ? 0 : 1;
  size_t in_this_turn = 0, bytes = 0;
  for (;;) {
    if (in_this_turn > kReceivedInTurn) {
      in_this_turn = 0;
      co_await next_turn(loop_);
    }
    if (bytes > kMaxReceivedBytes) co_return Got::end;  // chunks of single bytes
    while (!unread_.empty()) {
      const size_t taken = parser.feed(unread_);
      unread_.erase(0, taken);
      if (parser.state() == RequestParser::State::refused || parser.state() == RequestParser::State::whole)
        co_return Got::whole;
      if (parser.state() == RequestParser::State::body && head_only) co_return Got::head;
      if (taken == 0) break;
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
Task<bool> EgressConnection::serve_one(RequestParser& parser) {
  const Got first = co_await receive(parser, false);
  if (first == Got::end) co_return false;
  if (++counts_.requests > kMaxRequests) {
    counts_.denied++;
    const Error error = error_of_budget("egress: 20,000 requests of one program");
    co_await refuse(403, error);
    co_return false;
  }
  if (parser.state() == RequestParser::State::refused) {
    counts_.denied++;
    const Error error = error_of(parser.refused());
    co_await report_refusal(parser.request(), error.what);
    co_await refuse(parser.refused().status, error);
    co_return false;
  }
  auto target = read_target(parser.request());
  if (!target) {
    counts_.denied++;
    co_await report_refusal(parser.request(), target.error().what);
    co_await refuse(400, target.error());
    co_return false;
  }
  auto way = co_await judge(*std::move(target));
  if (!way) {
    co_await refuse(status_of(way.error()), way.error());
    co_return false;
  }
  if (way->target.is_tunnel()) {
    const std::string early = std::exchange(unread_, {});
    co_await tunnel(*std::move(way), early);
    co_return false;
  }
  const bool has_body = parser.state() == RequestParser::State::body;
  const size_t announced = parser.request().body_bytes_announced;
  const BodyRoom room(!has_body ? 0 : announced ? announced : kMaxBodyBytes);
  if (!room.fits()) {
    const Error error = error_of_room();
    co_await refuse(503, error);
    co_return false;
  }
  if (has_body) {
    if (parser.request().expects_continue) {
      const bool is_sent = co_await send_down("HTTP/1.1 100 Continue\r\n\r\n");
      if (!is_sent) co_return false;
    }
    const Got rest = co_await receive(parser, true);
    if (rest == Got::end) co_return false;
  }
  if (parser.state() != RequestParser::State::whole) {
    const Error error = error_of(parser.refused());
    co_await refuse(parser.refused().status, error);
    co_return false;
  }
  const bool keeps_alive = parser.request().keeps_alive;
  const bool is_passed = co_await forward(*std::move(way), parser.take());
  co_return is_passed&& keeps_alive;
}

// A request that is not understood: there is no target to decide about.
Task<> EgressConnection::report_refusal(const http::IncomingRequest& request, std::string why) {
  EgressEntry entry;
  entry.method = printable(request.method, kShownTargetBytes);
  entry.host = printable(request.target, kShownTargetBytes);
  entry.verdict = "denied";
  entry.cause = std::move(why);
  co_await host_.report(std::move(entry));
}

EgressEntry EgressConnection::entry_of(const Way& way, std::string verdict) const {
  EgressEntry entry;
  entry.method = way.target.method;
  entry.host = way.target.host;
  entry.path = way.target.path.substr(0, way.target.path.find('?'));  // queries may hold personal data
  entry.port = way.decision.port ? way.decision.port : way.target.port;
  entry.verdict = std::move(verdict);
  if (way.decision.rule) entry.rule = settings_.rules.rule_name(*way.decision.rule);
  entry.cause = way.decision.why;
  return entry;
}

// Decides about a request and reports it. The addresses of its host are looked up only if a rule allows the name.
Task<Result<EgressConnection::Way>> EgressConnection::judge(EgressTarget target) {
  Way way;
  way.target = std::move(target);
  way.decision = settings_.rules.decide(way.target);
  auto admitted = co_await admit(way);
  if (admitted) {
    EgressEntry entry = entry_of(way, "allowed");
    entry.address = way.addresses.front();
    co_await host_.report(std::move(entry));
    co_return way;
  }
  const bool is_denied = admitted.error().code == Code::denied || admitted.error().code == Code::exhausted;
  if (is_denied) counts_.denied++;
  EgressEntry entry = entry_of(way, is_denied ? "denied" : "failed");
  entry.cause = admitted.error().what;
  co_await host_.report(std::move(entry));
  co_return tl::unexpected<Error>(admitted.error());
}

Task<Result<>> EgressConnection::admit(Way& way) {
  const EgressTarget& target = way.target;
  const std::string rule = way.decision.rule ? settings_.rules.rule_name(*way.decision.rule) : "egress";
  const auto denied = [&](std::string why, std::string remedy) {
    return fail(Code::denied,
                fmt::format("{} to {}: {}", target.is_tunnel() ? "a tunnel" : "a request", target.host, why),
                std::move(remedy), rule);
  };
  if (way.decision.verdict == Verdict::deny) co_return denied(way.decision.why, way.decision.remedy);
  if (up_.is_used_up() || down_.is_used_up())
    co_return tl::unexpected<Error>(error_of_budget(up_.is_used_up() ? "egress.bytes_up" : "egress.bytes_down"));
  if (way.decision.verdict == Verdict::ask) {
    EgressEntry entry = entry_of(way, "ask");
    const bool is_allowed = co_await host_.ask(std::move(entry));
    if (!is_allowed) co_return denied("a person refused it, or no person decided in time", "ask an administrator");
  }
  std::string host = target.host;
  auto found =
      co_await http::resolve(loop_, std::move(host), kConnectTime, network_.name_servers, http::SearchDomains::unused);
  if (!found) co_return fail(Code::unavailable, found.error().what, found.error().hint, rule);
  way.addresses = *std::move(found);
  // One refused address refuses the host: its name server must not choose the address.
  for (const std::string& address : way.addresses) {
    AddressKind kind = kind_of_address(address);
    if (kind == AddressKind::public_unicast && is_own_address(address)) kind = AddressKind::private_use;
    const bool is_private_allowed = way.decision.rule && settings_.rules.rules[*way.decision.rule].is_private;
    if (kind == AddressKind::forbidden || (kind == AddressKind::private_use && !is_private_allowed))
      co_return denied(why_refused(address), kind == AddressKind::forbidden
                                                 ? "no rule can allow it"
                                                 : "a rule can allow it with \"private\": true");
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

Task<> EgressConnection::tunnel(Way way, std::string_view early) {
  auto outside = co_await dial(loop_, way.addresses, way.decision.port, kConnectTime);
  if (!outside) {
    co_await refuse(502, outside.error());
    co_return;
  }
  const Deadline limit(loop_, settings_.rules.seconds, [inside = client_.get(), outside = outside->get()] {
    ::shutdown(inside, SHUT_RDWR);
    ::shutdown(outside, SHUT_RDWR);  // a host may ignore the end of the other side
  });
  const bool is_told = co_await send_down("HTTP/1.1 200 Connection established\r\n\r\n");
  if (!is_told) co_return;
  const auto hello = co_await read_hello(way.target.host, early);
  if (!hello) {
    if (hello.error().code == Code::denied) counts_.denied++;
    EgressEntry entry = entry_of(way, "denied");
    entry.cause = hello.error().what;
    if (hello.error().code != Code::unavailable) co_await host_.report(std::move(entry));
    ::shutdown(client_.get(), SHUT_RDWR);
    co_return;
  }
  const bool is_begun = co_await send_all(*outside, *hello);
  if (is_begun) co_await carry(loop_, client_, *outside, up_, down_);
}

Task<bool> EgressConnection::send_down(std::string_view bytes) {
  if (!down_.take(bytes.size())) co_return false;
  co_return co_await send_all(client_, bytes);
}

// The host's answer, passed on without redirects being followed. False: the connection ends.
Task<bool> EgressConnection::forward(Way way, http::IncomingRequest request) {
  // One kept connection, to the host of the last request.
  std::string place = fmt::format("{}:{}", way.target.host, way.decision.port);
  if (!https_ || place != last_place_) {
    https_.reset();
    auto made = http::HttpClient::open(loop_);
    if (!made) {
      co_await refuse(502, made.error());
      co_return false;
    }
    https_ = *std::move(made);
    last_place_ = std::move(place);
  }
  const std::string& secret = settings_.secrets.at(*way.decision.rule);
  std::optional<SecretFilter> filter;
  if (!secret.empty()) filter.emplace(secret);
  http::ClientRequest asked;
  asked.method = request.method;
  asked.url = fmt::format("{}://{}:{}{}", way.decision.is_tls ? "https" : "http", way.target.host, way.decision.port,
                          way.target.path);
  asked.addresses = way.addresses;
  asked.authorities = network_.authorities;
  const std::string secret_header = filter ? settings_.rules.rules[*way.decision.rule].secret->header : std::string();
  asked.headers = forwarded_headers(request.fields, secret_header);
  if (settings_.rules.rules[*way.decision.rule].is_inspected()) drop_overrides(asked.headers);
  if (filter) asked.headers.emplace_back(secret_header, secret);
  asked.body = std::move(request.body);
  asked.connect = kConnectTime;
  asked.limit = settings_.rules.seconds;
  asked.max_body = kMaxReplyBytes;
  asked.only_once = true;
  const auto exchange = https_->start(std::move(asked));
  auto head = co_await exchange->head();
  if (!head) {
    Error error = head.error();
    if (filter) error.what = filter->hide(error.what);
    co_await refuse(502, error);
    co_return false;
  }
  const bool is_encoded = std::any_of(head->headers.begin(), head->headers.end(), [](const auto& one) {
    return one.first == "content-encoding" && one.second != "identity";
  });
  if (filter && is_encoded) {
    const Error error = error_of_compression();
    co_await refuse(502, error);
    co_return false;
  }
  const bool has_body = request.method != "HEAD" && head->status >= 200 && head->status != 204 && head->status != 304;
  const bool is_chunked = has_body && !request.is_http_1_0;
  const bool ends_connection = request.is_http_1_0 || !request.keeps_alive;
  std::string text =
      fmt::format("HTTP/1.1 {} \r\n{}{}{}\r\n", head->status,
                  returned_headers(head->headers, filter ? &*filter : nullptr, has_body),
                  is_chunked ? "Transfer-Encoding: chunked\r\n" : "", ends_connection ? "Connection: close\r\n" : "");
  const bool is_begun = co_await send_down(text);
  if (!is_begun) co_return false;
  if (has_body) {
    const bool is_whole = co_await pass_body(*exchange, filter ? &*filter : nullptr, is_chunked);
    if (!is_whole) co_return false;
  }
  co_return !ends_connection;
}

// Without its end the client sees that the body is not whole.
Task<bool> EgressConnection::pass_body(http::Exchange& exchange, SecretFilter* filter, bool is_chunked) {
  for (bool is_over = false; !is_over;) {
    auto part = co_await exchange.read();
    if (!part) co_return false;
    is_over = part->empty();
    std::string bytes = filter ? (is_over ? filter->finish() : filter->feed(*part)) : *std::move(part);
    if (bytes.empty()) continue;
    if (is_chunked) bytes = fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
    const bool is_sent = co_await send_down(bytes);
    if (!is_sent) co_return false;
  }
  if (!is_chunked) co_return true;
  co_return co_await send_down("0\r\n\r\n");
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
      status, text_of_status(status), text.size(), text);
  const Deadline limit(loop_, kHeadTime, [fd = client_.get()] { ::shutdown(fd, SHUT_RDWR); });
  co_await http::send_reply(client_, reply, kMaxUnreadBytes);
}

}  // namespace egress
