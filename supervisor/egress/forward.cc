#include "supervisor/egress/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "supervisor/egress/forwarded_headers.h"
#include "supervisor/egress/secret_filter.h"

namespace egress {
namespace {

constexpr size_t kMaxReplyBytes = size_t{1} << 40;

bool is_encoded(const http::ReplyHead& head) {
  return std::any_of(head.headers.begin(), head.headers.end(),
                     [](const auto& item) { return item.first == "content-encoding" && item.second != "identity"; });
}

// How an answer is written for the client.
struct ForwardedForm {
  bool has_body = false, is_chunked = false, ends_connection = false;
};

ForwardedForm form_of(const http::IncomingRequest& request, int status) {
  ForwardedForm form;
  form.has_body = request.method != "HEAD" && status >= 200 && status != 204 && status != 304;
  form.is_chunked = form.has_body && !request.is_http_1_0;
  form.ends_connection = request.is_http_1_0 || !request.keeps_alive;
  return form;
}

std::string head_text(const http::ReplyHead& head, const ForwardedForm& form, const SecretFilter* filter) {
  return fmt::format("HTTP/1.1 {} \r\n{}{}{}\r\n", head.status, returned_headers(head.headers, filter, form.has_body),
                     form.is_chunked ? "Transfer-Encoding: chunked\r\n" : "",
                     form.ends_connection ? "Connection: close\r\n" : "");
}

}  // namespace

RequestForwarder::RequestForwarder(Loop& loop, const EgressNetwork& network, const JailSettings& settings,
                                   AsyncFd& client, ByteBudget& down)
    : loop_(loop), network_(network), settings_(settings), client_(client), down_(down) {}

Result<> RequestForwarder::connect_to(const AdmittedTarget& to) {
  std::string path = fmt::format("{}:{}", to.target.host, to.decision.port);
  if (host_ && path == host_port_) return {};
  host_.reset();
  TRY(host_, http::HttpClient::open(loop_));
  host_port_ = std::move(path);
  return {};
}

// Takes the body of `request`.
http::ClientRequest RequestForwarder::make_request(const AdmittedTarget& to, http::IncomingRequest& request,
                                                   const std::string& secret) const {
  const auto& rule = settings_.rules.rules[*to.decision.rule];
  const std::string secret_header = secret.empty() ? std::string() : rule.secret->header;
  http::ClientRequest client_request;
  client_request.method = request.method;
  client_request.url = fmt::format("{}://{}:{}{}", to.decision.is_tls ? "https" : "http", to.target.host,
                                   to.decision.port, to.target.path);
  client_request.addresses = to.addresses;
  client_request.authorities = network_.authorities;
  client_request.headers = forwarded_headers(request.fields, secret_header);
  if (rule.is_inspected()) drop_overrides(client_request.headers);
  if (!secret.empty()) client_request.headers.emplace_back(secret_header, secret);
  client_request.body = std::move(request.body);
  client_request.connect = kConnectTime;
  client_request.limit = settings_.rules.seconds;
  client_request.max_body = kMaxReplyBytes;
  client_request.only_once = true;
  return client_request;
}

Task<Result<bool>> RequestForwarder::forward(AdmittedTarget to, http::IncomingRequest request) {
  CO_CHECKED(connect_to(to));
  const std::string& secret = settings_.secrets.at(*to.decision.rule);
  std::optional<SecretFilter> with_secret;
  if (!secret.empty()) with_secret.emplace(secret);
  SecretFilter* const filter = with_secret ? &*with_secret : nullptr;
  const auto exchange = host_->start(make_request(to, request, secret));
  auto head = co_await exchange->head();
  if (!head) {
    if (filter) head.error().what = filter->hide(head.error().what);
    co_return tl::unexpected<Error>(std::move(head).error());
  }
  if (filter && is_encoded(*head))
    co_return fail(Code::unavailable, "the host answers in a compressed form, in which no secret can be hidden");
  const ForwardedForm form = form_of(request, head->status);
  const std::string text = head_text(*head, form, filter);
  const bool is_started = co_await send_within(client_, text, down_);
  if (!is_started) co_return false;
  if (form.has_body) {
    const bool is_whole = co_await pass_body(*exchange, filter, form.is_chunked);
    if (!is_whole) co_return false;
  }
  co_return !form.ends_connection;
}

// Without its end the client sees that the body is not whole.
Task<bool> RequestForwarder::pass_body(http::Exchange& exchange, SecretFilter* filter, bool is_chunked) {
  for (bool is_over = false; !is_over;) {
    auto part = co_await exchange.read();
    if (!part) co_return false;
    is_over = part->empty();
    std::string bytes = filter ? (is_over ? filter->finish() : filter->feed(*part)) : *std::move(part);
    if (bytes.empty()) continue;
    if (is_chunked) bytes = fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
    const bool is_sent = co_await send_within(client_, bytes, down_);
    if (!is_sent) co_return false;
  }
  if (!is_chunked) co_return true;
  co_return co_await send_within(client_, "0\r\n\r\n", down_);
}

}  // namespace egress
