#include "supervisor/protocol/http/resolver.h"

#include <ares.h>
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <map>

#include "supervisor/base/log.h"
#include "supervisor/base/one_shot.h"

namespace http {
namespace {

constexpr size_t kMaxName = 253;
// A question is sent twice, and ends after 2 + 4 s with one name server. So where the server answers about one family
// of addresses only, these addresses are found before the usual limit of a request.
constexpr int kFirstWaitMs = 2000, kTries = 2;

bool is_address(const std::string& text) {
  unsigned char bytes[16];
  return ::inet_pton(AF_INET, text.c_str(), bytes) == 1 || ::inet_pton(AF_INET6, text.c_str(), bytes) == 1;
}

bool is_name(std::string_view host) {
  return !host.empty() && host.size() <= kMaxName && host.front() != '-' &&
         host.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._") == host.npos;
}

// The address as text; empty for one of another family, or with a zone, which means nothing to another program.
std::string address_text(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address->sa_family == AF_INET)
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  if (address->sa_family == AF_INET6 && reinterpret_cast<const sockaddr_in6*>(address)->sin6_scope_id == 0)
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text, sizeof text);
  return text;
}

// NameLookup: one question about one host, in a channel of c-ares of its own: so it has its own sockets and numbers,
// sees a changed resolv.conf, and ends alone. Callbacks of c-ares only record data: the waiting task is resumed in a
// later turn of the loop, because it destroys the channel.
class NameLookup {
 public:
  explicit NameLookup(Loop& loop) : loop_(loop), done_(loop) {}
  ~NameLookup() {
    if (channel_) ::ares_destroy(channel_);  // still calls on_socket() and on_answer()
  }
  NameLookup(const NameLookup&) = delete;

  Result<> ask(const std::string& host, const std::string& servers, SearchDomains search) {
    static const int ready = ::ares_library_init(ARES_LIB_INIT_ALL);
    ares_options options{};
    options.flags = ARES_FLAG_NOALIASES;  // no file that the environment names
    options.timeout = kFirstWaitMs;
    options.tries = kTries;
    options.sock_state_cb = &NameLookup::on_socket;
    options.sock_state_cb_data = this;
    int status = ready;
    if (status == ARES_SUCCESS)
      status = ::ares_init_options(&channel_, &options,
                                   (search == SearchDomains::unused ? ARES_OPT_DOMAINS : 0) | ARES_OPT_FLAGS |
                                       ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB);
    if (status == ARES_SUCCESS && !servers.empty()) status = ::ares_set_servers_ports_csv(channel_, servers.c_str());
    if (status != ARES_SUCCESS)
      return fail(Code::unavailable, fmt::format("look the host '{}' up: {}", host, ::ares_strerror(status)),
                  "check /etc/resolv.conf");
    timer_.reset(new Timer);
    timer_->handle.data = this;
    uv_timer_init(loop_.uv(), &timer_->handle);
    ares_addrinfo_hints hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    ::ares_getaddrinfo(channel_, host.c_str(), nullptr, &hints, &NameLookup::on_answer, this);
    set_timer();
    return {};
  }
  // Waits for the answer, or for end_now().
  OneShot<>& answered() { return done_; }
  void end_now() {
    status_ = ARES_ETIMEOUT;
    answer_.resolve();
  }
  int status() const { return status_; }
  std::vector<std::string> addresses;

 private:
  struct Timer {
    uv_timer_t handle;
  };
  struct TimerClose {
    void operator()(Timer* timer) const {
      uv_close(reinterpret_cast<uv_handle_t*>(&timer->handle),
               [](uv_handle_t* handle) { delete reinterpret_cast<Timer*>(handle); });
    }
  };
  struct Watch {
    uv_poll_t handle;
    NameLookup* lookup;
    ares_socket_t socket;
  };

  static void on_answer(void* self, int status, int, ares_addrinfo* match) {
    NameLookup& lookup = *static_cast<NameLookup*>(self);
    for (const ares_addrinfo_node* node = match ? match->nodes : nullptr; node; node = node->ai_next) {
      std::string text = address_text(node->ai_addr);
      auto& all = lookup.addresses;
      if (!text.empty() && all.size() < kMaxAddresses && std::find(all.begin(), all.end(), text) == all.end())
        all.push_back(std::move(text));
    }
    if (match) ::ares_freeaddrinfo(match);
    lookup.status_ = status;
    lookup.answer_.resolve();
  }

  static void on_socket(void* self, ares_socket_t socket, int readable, int writable) {
    NameLookup& lookup = *static_cast<NameLookup*>(self);
    if (readable || writable) {
      lookup.watch(socket, (readable ? UV_READABLE : 0) | (writable ? UV_WRITABLE : 0));
    } else {
      lookup.watches_.erase(socket);  // before c-ares closes the socket
    }
  }

  void watch(ares_socket_t socket, int events) {
    auto& box = watches_[socket];
    if (!box) {
      auto fresh = std::make_unique<Watch>();
      fresh->lookup = this;
      fresh->socket = socket;
      fresh->handle.data = fresh.get();
      if (uv_poll_init(loop_.uv(), &fresh->handle, socket) < 0) {  // the lookup's time limit then ends it
        watches_.erase(socket);
        return;
      }
      box.reset(fresh.release());
    }
    uv_poll_start(&box->handle, events, [](uv_poll_t* handle, int status, int ready) {
      const Watch& watch = *static_cast<Watch*>(handle->data);
      const bool failed = status < 0;  // c-ares reads the socket's error by itself
      watch.lookup->act(failed || (ready & UV_READABLE) ? watch.socket : ARES_SOCKET_BAD,
                        failed || (ready & UV_WRITABLE) ? watch.socket : ARES_SOCKET_BAD);
    });
  }

  void act(ares_socket_t readable, ares_socket_t writable) {
    const NamedWork named_work(LoopWork::other);
    ::ares_process_fd(channel_, readable, writable);
    set_timer();
  }

  // c-ares repeats questions that got no answer.
  void set_timer() {
    timeval remaining{};
    if (!::ares_timeout(channel_, nullptr, &remaining)) {
      uv_timer_stop(&timer_->handle);
      return;
    }
    const auto milliseconds =
        static_cast<uint64_t>(remaining.tv_sec) * 1000 + static_cast<uint64_t>(remaining.tv_usec) / 1000;
    uv_update_time(loop_.uv());
    uv_timer_start(
        &timer_->handle,
        [](uv_timer_t* handle) { static_cast<NameLookup*>(handle->data)->act(ARES_SOCKET_BAD, ARES_SOCKET_BAD); },
        milliseconds + 1, 0);
  }

  Loop& loop_;
  OneShot<> done_;
  const OneShot<>::Resolver answer_ = done_.resolver();
  ares_channel channel_ = nullptr;
  int status_ = ARES_SUCCESS;
  std::unique_ptr<Timer, TimerClose> timer_;
  std::map<ares_socket_t, UvPtr<Watch>> watches_;
};

std::string why_unresolved(int status) {
  if (status == ARES_ETIMEOUT) return "was not resolved in time";
  if (status == ARES_SUCCESS || status == ARES_ENOTFOUND || status == ARES_ENODATA) return "is not known";
  return fmt::format("was not resolved: {}", ::ares_strerror(status));
}

}  // namespace

Task<Result<std::vector<std::string>>> resolve(Loop& loop, std::string host, std::chrono::milliseconds limit,
                                               std::string servers, SearchDomains search) {
  if (is_address(host)) co_return std::vector<std::string>{host};
  if (!is_name(host)) co_return fail(Code::invalid, fmt::format("'{}' is not a host name", printable(host, 80)));
  NameLookup lookup(loop);
  CO_CHECKED(lookup.ask(host, servers, search));
  Deadline deadline(loop, limit, [&lookup] { lookup.end_now(); });
  co_await lookup.answered();
  if (lookup.addresses.empty())
    co_return fail(Code::unavailable, fmt::format("the host '{}' {}", host, why_unresolved(lookup.status())));
  co_return std::move(lookup.addresses);
}

}  // namespace http
