#include "supervisor/protocol/http/exchange.h"

#include <fmt/format.h>

#include "supervisor/base/ascii.h"
#include "supervisor/base/log.h"
#include "supervisor/base/only_loopback.h"
#include "supervisor/base/trimmed.h"
#include "supervisor/protocol/http/addresses.h"
#include "supervisor/protocol/http/resolver.h"

namespace http {
namespace {

constexpr size_t kMaxUnread = 256 << 10;
constexpr const char* kNetwork =
    "the daemon has only the network interface lo; give the service a network by `systemctl edit warder.service`, with "
    "PrivateNetwork=no and IPAddressAllow= below [Service]: see units/README.md";

bool needs_resolver(const UrlParts& url_parts) {
  return url_parts.host != "localhost" && url_parts.host.find(':') == url_parts.host.npos;  // libcurl needs no lookup
}

}  // namespace

Exchange::Exchange(std::unique_ptr<State> state) : state_(std::move(state)) {}
Exchange::~Exchange() = default;

Task<Result<ReplyHead>> Exchange::head() {
  while (!state_->has_head && !state_->over) co_await state_->something();
  if (!state_->has_head) co_return tl::unexpected<Error>(*state_->failure);
  co_return std::move(state_->head);
}

Task<Result<std::string>> Exchange::read() {
  while (state_->unread.empty() && !state_->over) co_await state_->something();
  std::string part = std::exchange(state_->unread, {});
  if (part.empty() && state_->failure) co_return tl::unexpected<Error>(*state_->failure);
  state_->go_on();
  co_return part;
}

bool Exchange::may_be_sent() const { return state_->may_be_sent; }

Exchange::State::State(HttpClient::Core& client, ClientRequest request)
    : core_(client), request_(std::move(request)), tasks_(client.loop) {
  tasks_.spawn(begin());
}

Exchange::State::~State() {
  tasks_.cancel_all();
  if (added_) core_.remove(easy_);
  if (easy_) core_.curl.easy_cleanup(easy_);
  core_.curl.slist_free_all(headers_);
  core_.curl.slist_free_all(resolved_);
}

Task<> Exchange::State::begin() {
  auto prepared = co_await prepare();
  if (!prepared) end(std::move(prepared).error());
}

Task<Result<>> Exchange::State::prepare() {
  CO_TRY(const UrlParts url_parts, parse_url(request_.url));
  std::vector<std::string> addresses = request_.addresses;
  if (addresses.empty() && request_.socket.empty() && needs_resolver(url_parts)) {
    if (const auto* existing = core_.known(url_parts.host)) {
      addresses = *existing;
    } else {
      auto match = co_await resolve(core_.loop, url_parts.host, request_.connect);
      if (!match && match.error().code == Code::unavailable && only_loopback()) match.error().hint = kNetwork;
      if (!match) co_return tl::unexpected<Error>(match.error());
      addresses = *std::move(match);
      core_.remember(url_parts.host, addresses);
    }
  }
  if (request_.is_public) CO_CHECKED(check_public(url_parts, addresses));
  CO_CHECKED(set_options(url_parts, addresses));
  added_ = true;
  co_return core_.add(easy_, this);
}

// Without addresses, the host itself is an address, or a name of this machine.
Result<> Exchange::State::check_public(const UrlParts& url_parts, const std::vector<std::string>& addresses) const {
  const std::vector<std::string> all = addresses.empty() ? std::vector{url_parts.host} : addresses;
  for (const std::string& address : all)
    if (kind_of_address(address) != AddressKind::public_unicast || is_own_address(address))
      return fail(Code::denied, fmt::format("{}: {}", url_parts.host, why_refused(address)));
  return {};
}

Result<> Exchange::State::set_options(const UrlParts& url_parts, const std::vector<std::string>& addresses) {
  const Curl& curl = core_.curl;
  easy_ = curl.easy_init();
  if (!easy_) return fail(Code::exhausted, "no memory for a request");
  auto set = [this, &curl](CURLoption option, auto value) { curl.easy_setopt(easy_, option, value); };
  set(CURLOPT_URL, request_.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_PROXY, "");  // ignores the environment's proxy
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PATH_AS_IS, 1L);  // the checked path is sent
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_ERRORBUFFER, reason_);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request_.connect.count()));
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(request_.limit.count()));
  set(CURLOPT_HEADERFUNCTION, &State::on_header);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &State::on_body);
  set(CURLOPT_WRITEDATA, this);
  if (!request_.socket.empty()) set(CURLOPT_UNIX_SOCKET_PATH, request_.socket.c_str());
  if (!request_.authorities.empty()) {
    set(CURLOPT_CAINFO, request_.authorities.c_str());
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
  if (request_.method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
  } else if (!request_.body.empty() || request_.method == "POST") {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    if (request_.only_once) {  // a body that libcurl cannot rewind is never sent again
      set(CURLOPT_READFUNCTION, &State::on_send);
      set(CURLOPT_READDATA, this);
      set(
          CURLOPT_SEEKFUNCTION, +[](void*, curl_off_t, int) { return CURL_SEEKFUNC_FAIL; });
    } else {
      set(CURLOPT_POSTFIELDS, request_.body.c_str());
    }
  }
  const bool is_libcurls_own =
      request_.method == "POST" || request_.method == "HEAD" || (request_.method == "GET" && request_.body.empty());
  if (!is_libcurls_own) set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  if (!addresses.empty()) {
    const std::string entry = fmt::format("{}:{}:{}", url_parts.host, url_parts.port, fmt::join(addresses, ","));
    resolved_ = curl.slist_append(nullptr, entry.c_str());
    set(CURLOPT_RESOLVE, resolved_);
  }
  return add_headers();
}

Result<> Exchange::State::add_headers() {
  auto append = [this](const std::string& line) {
    if (curl_slist* longer = core_.curl.slist_append(headers_, line.c_str())) headers_ = longer;
  };
  append("Expect:");  // removes libcurl's header: some servers never answer it
  CHECKED(check_header(request_.method, ""));
  for (const auto& [name, value] : request_.headers) {
    CHECKED(check_header(name, value));
    append(value.empty() ? name + ";" : name + ": " + value);  // "name;" is libcurl's form of an empty header
  }
  core_.curl.easy_setopt(easy_, CURLOPT_HTTPHEADER, headers_);
  return {};
}

size_t Exchange::State::on_header(char* data, size_t, size_t bytes, void* self) {
  State& state = *static_cast<State*>(self);
  state.head_bytes_ += bytes;
  if (state.head_bytes_ > state.request_.max_head) {
    state.head_too_large_ = true;
    return 0;
  }
  if (!state.has_head) state.note_header(std::string_view(data, bytes));  // headers after the body are ignored
  return bytes;
}

// Interim replies (1xx) may come before the final reply; their headers are dropped.
void Exchange::State::note_header(std::string_view line) {
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  if (line.starts_with("HTTP/")) {
    head = {};
    return;
  }
  if (line.empty()) {
    long status = 0;
    core_.curl.easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200) return;
    head.status = static_cast<int>(status);
    has_head = true;
    return notify();
  }
  const size_t colon = line.find(':');
  if (colon == line.npos) return;
  std::string name = lower_case(line.substr(0, colon));
  head.headers.emplace_back(std::move(name), trimmed(line.substr(colon + 1)));
}

size_t Exchange::State::on_body(char* data, size_t, size_t bytes, void* self) {
  State& state = *static_cast<State*>(self);
  if (!state.unread.empty() && state.unread.size() + bytes > kMaxUnread) {
    state.paused_ = true;
    return CURL_WRITEFUNC_PAUSE;
  }
  if (bytes > state.request_.max_body - state.body_bytes_) {
    state.body_too_large_ = true;
    return 0;
  }
  state.body_bytes_ += bytes;
  state.unread.append(data, bytes);
  state.notify();
  return bytes;
}

size_t Exchange::State::on_send(char* data, size_t, size_t bytes, void* self) {
  State& state = *static_cast<State*>(self);
  const size_t part = state.request_.body.copy(data, bytes, state.sent_bytes_);
  state.sent_bytes_ += part;
  return part;
}

void Exchange::State::go_on() {
  if (!std::exchange(paused_, false)) return;
  core_.curl.easy_pause(easy_, CURLPAUSE_CONT);
}

void Exchange::State::finished(CURLcode code) {
  long request_bytes = 0;
  core_.curl.easy_getinfo(easy_, CURLINFO_REQUEST_SIZE, &request_bytes);
  may_be_sent = request_bytes > 0;
  if (code == CURLE_OK && has_head) {
    over = true;
    return notify();
  }
  if (head_too_large_)
    return end({Code::exhausted, 0, fmt::format("the reply has more than {} bytes of headers", request_.max_head)});
  if (body_too_large_)
    return end({Code::exhausted, 0, fmt::format("the reply is larger than {} bytes", request_.max_body)});
  const std::string why = printable(reason_[0] != 0 ? reason_ : core_.curl.easy_strerror(code));
  Error error{Code::unavailable, 0, why};
  const bool unreached = code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
                         (code == CURLE_OPERATION_TIMEDOUT && !has_head);
  if (unreached && request_.socket.empty() && only_loopback()) error.hint = kNetwork;
  end(std::move(error));
}

void Exchange::State::end(Error error) {
  failure = std::move(error);
  over = true;
  notify();
}

void Exchange::State::notify() { waiting_.resolve(); }

Task<> Exchange::State::something() {
  OneShot<> changed(core_.loop);
  waiting_ = changed.resolver();
  co_await changed;
}

}  // namespace http
