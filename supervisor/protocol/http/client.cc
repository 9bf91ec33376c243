#include "supervisor/protocol/http/client.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>

#include "supervisor/base/ascii.h"
#include "supervisor/base/log.h"
#include "supervisor/base/trimmed.h"
#include "supervisor/protocol/http/exchange.h"

namespace http {
namespace {

using namespace std::chrono_literals;

constexpr size_t kMaxUrl = 8 << 10;
constexpr auto kAddressesKept = 60s;
constexpr size_t kMaxEntries = 256;
constexpr long kIdleConnections = 16;

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_alnum(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

}  // namespace

// Not a general parser of URLs: URLs that it does not understand are refused before libcurl sees them.
Result<UrlParts> parse_url(std::string_view url) {
  auto refuse = [](const char* why) {
    return fail(Code::invalid, fmt::format("the URL {}", why), "http://HOST[:PORT]/PATH or https://HOST[:PORT]/PATH");
  };
  if (url.size() > kMaxUrl) return refuse("is longer than 8 kB");
  if (std::any_of(url.begin(), url.end(), [](unsigned char c) { return c <= ' ' || c >= 0x7f || c == '\\'; }))
    return refuse("holds a character that must be written as %XX");
  UrlParts url_parts;
  if (url.starts_with("https://")) {
    url_parts.secure = true;
  } else if (!url.starts_with("http://")) {
    return refuse("begins neither with http:// nor with https://");
  }
  url.remove_prefix(url_parts.secure ? 8 : 7);
  std::string_view authority = url.substr(0, url.find_first_of("/?#"));
  if (authority.find('@') != authority.npos) return refuse("contains a user; write the password into a header");
  url_parts.port = url_parts.secure ? "443" : "80";
  const size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  if (bracket == authority.npos) return refuse("has no host");
  if (const size_t colon = authority.find(':', bracket); colon != authority.npos) {
    url_parts.port = authority.substr(colon + 1);
    authority = authority.substr(0, colon);
    const bool digits = url_parts.port.find_first_not_of("0123456789") == std::string::npos;
    if (url_parts.port.empty() || url_parts.port.size() > 5 || !digits || std::stoul(url_parts.port) - 1 > 65534)
      return refuse("has no number from 1 to 65535 as its port");
  }
  if (bracket > 0 && authority.size() != bracket + 1) return refuse("has no host");
  url_parts.host = bracket > 0 ? authority.substr(1, bracket - 1) : authority;
  if (url_parts.host.empty()) return refuse("has no host");
  return url_parts;
}

Result<> check_header(std::string_view name, std::string_view value) {
  if (!is_token(name)) return fail(Code::invalid, fmt::format("'{}' is not a header name", printable(name, 64)));
  if (value.find_first_of(std::string_view("\r\n\0", 3)) != value.npos)
    return fail(Code::invalid, fmt::format("the header {} is not one line", name));
  return {};
}

std::string_view ReplyHead::header(std::string_view name) const {
  auto it = std::find_if(headers.begin(), headers.end(), [name](const auto& item) { return item.first == name; });
  return it == headers.end() ? std::string_view() : it->second;
}

std::string_view ReplyHead::media_type() const {
  std::string_view type = header("content-type");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return type;
}

HttpClient::Core::Core(Loop& on, const Curl& library)
    : loop(on), curl(library), multi_(library.multi_init()), timer_(new Timer) {
  timer_->handle.data = timer_.get();
  timer_->core = this;
  uv_timer_init(loop.uv(), &timer_->handle);
  curl.multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &Core::on_socket);
  curl.multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl.multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &Core::on_timer);
  curl.multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  curl.multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kIdleConnections);
}

HttpClient::Core::~Core() {
  curl.multi_cleanup(multi_);  // closes connections, and so still calls on_socket()
}

Result<> HttpClient::Core::add(CURL* easy, Exchange::State* state) {
  curl.easy_setopt(easy, CURLOPT_PRIVATE, state);
  if (curl.multi_add_handle(multi_, easy) != CURLM_OK) return fail(Code::internal, "libcurl accepts no more requests");
  return {};
}

void HttpClient::Core::remove(CURL* easy) { curl.multi_remove_handle(multi_, easy); }

void HttpClient::Core::act(curl_socket_t socket, int events) {
  const NamedWork named_work(LoopWork::other);
  int running = 0;
  curl.multi_socket_action(multi_, socket, events, &running);
  int remaining = 0;
  while (CURLMsg* message = curl.multi_info_read(multi_, &remaining)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    Exchange::State* state = nullptr;
    curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &state);
    state->finished(code);
  }
}

int HttpClient::Core::on_socket(CURL*, curl_socket_t socket, int kind, void* self, void*) {
  Core& core = *static_cast<Core*>(self);
  if (kind == CURL_POLL_REMOVE) {
    core.watches_.erase(socket);
  } else {
    core.watch(socket, kind);
  }
  return 0;
}

void HttpClient::Core::watch(curl_socket_t socket, int kind) {
  auto& box = watches_[socket];
  if (!box) {
    auto fresh = std::make_unique<SocketWatch>();
    fresh->core = this;
    fresh->socket = socket;
    fresh->handle.data = fresh.get();
    if (uv_poll_init(loop.uv(), &fresh->handle, socket) < 0) {  // the request's time limit then ends it
      watches_.erase(socket);
      return;
    }
    box.reset(fresh.release());
  }
  const int events = ((kind & CURL_POLL_IN) ? UV_READABLE : 0) | ((kind & CURL_POLL_OUT) ? UV_WRITABLE : 0);
  uv_poll_start(&box->handle, events, [](uv_poll_t* handle, int status, int ready) {
    const SocketWatch& watch = *static_cast<SocketWatch*>(handle->data);
    const int seen = ((ready & UV_READABLE) ? CURL_CSELECT_IN : 0) | ((ready & UV_WRITABLE) ? CURL_CSELECT_OUT : 0);
    watch.core->act(watch.socket, status < 0 ? CURL_CSELECT_ERR : seen);
  });
}

int HttpClient::Core::on_timer(CURLM*, long milliseconds, void* self) {
  Timer& timer = *static_cast<Core*>(self)->timer_;
  if (milliseconds < 0) {
    uv_timer_stop(&timer.handle);
    return 0;
  }
  uv_update_time(timer.core->loop.uv());
  uv_timer_start(
      &timer.handle, [](uv_timer_t* handle) { static_cast<Timer*>(handle->data)->core->act(CURL_SOCKET_TIMEOUT, 0); },
      static_cast<uint64_t>(milliseconds), 0);
  return 0;
}

const std::vector<std::string>* HttpClient::Core::known(const std::string& host) {
  auto it = hosts_.find(host);
  return it == hosts_.end() || it->second.until < Monotonic::now() ? nullptr : &it->second.addresses;
}

void HttpClient::Core::remember(const std::string& host, std::vector<std::string> addresses) {
  if (hosts_.size() >= kMaxEntries) hosts_.clear();
  hosts_[host] = KnownHost{std::move(addresses), Monotonic::now() + kAddressesKept};
}

Result<std::unique_ptr<HttpClient>> HttpClient::open(Loop& loop) {
  TRY(const Curl* curl, load_curl());
  return std::unique_ptr<HttpClient>(new HttpClient(std::make_unique<Core>(loop, *curl)));
}

HttpClient::HttpClient(std::unique_ptr<Core> core) : core_(std::move(core)) {}
HttpClient::~HttpClient() = default;

std::unique_ptr<Exchange> HttpClient::start(ClientRequest request) {
  return std::unique_ptr<Exchange>(new Exchange(std::make_unique<Exchange::State>(*core_, std::move(request))));
}

Task<Result<HttpReply>> HttpClient::fetch(ClientRequest request) {
  auto exchange = start(std::move(request));
  HttpReply reply;
  CO_TRY(reply.head, co_await exchange->head());
  for (;;) {
    CO_TRY(const std::string part, co_await exchange->read());
    if (part.empty()) co_return reply;
    reply.body += part;
  }
}

}  // namespace http
