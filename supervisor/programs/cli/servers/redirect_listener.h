// RedirectListener: a port of 127.0.0.1 that waits for the browser at the end of a login, and shows it a short page.
// Source: any process of this machine may connect; its requests are bounded, and only a request with the state of this
// login is taken. The daemon checks the URL again. Used by: login.cc. Errors: unavailable (the port is in use,
// no browser came in time). Facts: RFC 8252 section 7.3.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace admin {

class RedirectListener {
 public:
  // `port` 0: a free one.
  static Result<RedirectListener> open(uint16_t port);
  // http://127.0.0.1:PORT/callback
  std::string redirect() const;
  // Waits for the redirect with `state` in its query, as it is written in the login's URL. Returns its whole URL.
  Result<std::string> wait(const std::string& state, std::chrono::seconds limit) const;

 private:
  RedirectListener(Fd socket, uint16_t port) : socket_(std::move(socket)), port_(port) {}
  Fd socket_;
  uint16_t port_;
};

// The value of `state` in a URL's query, as it is written there; empty: absent.
std::string state_in(std::string_view url);

}  // namespace admin
