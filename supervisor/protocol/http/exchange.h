// HttpClient::Core: libcurl's state of a client. Exchange::State: libcurl's state of one request.
// Used by: client.cc and exchange.cc only.
#pragma once
#include <map>
#include <optional>

#include "supervisor/base/clock.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/protocol/http/client.h"
#include "supervisor/protocol/http/curl.h"

namespace http {

// libcurl names the sockets and the timer that it waits for, and act() reports their events to it. libcurl's callbacks
// only record data: a callback must not start or end a request, so no other code of the daemon runs inside one.
struct HttpClient::Core {
  Core(Loop& on, const Curl& library);
  ~Core();
  Core(const Core&) = delete;
  Result<> add(CURL* easy, Exchange::State* state);
  void remove(CURL* easy);
  void act(curl_socket_t socket, int events);

  // The addresses of a host from remember(), for one minute; nullptr: not known.
  const std::vector<std::string>* known(const std::string& host);
  void remember(const std::string& host, std::vector<std::string> addresses);

  Loop& loop;
  const Curl& curl;

 private:
  struct SocketWatch {
    uv_poll_t handle;
    Core* core;
    curl_socket_t socket;
  };
  struct Timer {
    uv_timer_t handle;
    Core* core;
  };
  struct KnownHost {
    std::vector<std::string> addresses;
    Monotonic::time_point until;
  };
  static int on_socket(CURL*, curl_socket_t socket, int kind, void* self, void*);
  static int on_timer(CURLM*, long milliseconds, void* self);
  void watch(curl_socket_t socket, int kind);

  CURLM* multi_;
  UvPtr<Timer> timer_;
  std::map<curl_socket_t, UvPtr<SocketWatch>> watches_;
  std::map<std::string, KnownHost> hosts_;
};

struct Exchange::State {
  State(HttpClient::Core& client, ClientRequest request);
  ~State();
  State(const State&) = delete;
  Task<> begin();
  void finished(CURLcode code);
  // Waits for the next notify(); returns in a later turn of the loop. It does not check whether data is there already.
  Task<> something();
  std::optional<Error> failure;
  ReplyHead head;
  std::string unread;
  bool has_head = false, over = false, may_be_sent = false;
  void go_on();  // continues a paused transfer, after `unread` was taken

 private:
  Task<Result<>> prepare();
  Result<> check_public(const UrlParts& url_parts, const std::vector<std::string>& addresses) const;
  Result<> set_options(const UrlParts& url_parts, const std::vector<std::string>& addresses);
  Result<> add_headers();
  static size_t on_header(char* data, size_t, size_t bytes, void* self);
  static size_t on_body(char* data, size_t, size_t bytes, void* self);
  static size_t on_send(char* data, size_t, size_t bytes, void* self);
  void note_header(std::string_view line);
  void end(Error error);
  void notify();

  HttpClient::Core& core_;
  ClientRequest request_;
  CURL* easy_ = nullptr;
  bool added_ = false, paused_ = false;
  curl_slist *headers_ = nullptr, *resolved_ = nullptr;
  char reason_[CURL_ERROR_SIZE] = {};
  size_t head_bytes_ = 0, body_bytes_ = 0, sent_bytes_ = 0;
  bool head_too_large_ = false, body_too_large_ = false;
  OneShot<>::Resolver waiting_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace http
