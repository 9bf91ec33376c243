// Resumption: the data to continue an event stream that broke off: the id of its last event, the pause that the
// server asks for, and how often to try. The caller sends a GET with that id (`Last-Event-ID`); the request that the
// stream belongs to is never sent again.
// Source: the events of one stream, from an untrusted server: pauses and attempts are bounded here, ids in
// event_stream.h. Used by: http_transport.cc. No errors.
// Facts: MCP 2025-11-25, basic/transports, "Resumability and Redelivery" and SEP-1699; server-sent events, HTML living
// standard, section 9.2. Version 2026-07-28 has no resumption.
#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "supervisor/protocol/http/event_stream.h"

namespace upstream {

class Resumption {
 public:
  static constexpr std::chrono::milliseconds kMinPause{100}, kMaxPause{30'000};
  static constexpr std::chrono::milliseconds kUsualPause{1'000};  // if the server names no pause
  static constexpr unsigned kMaxInVain = 5;                       // attempts in a row without a new event
  static constexpr unsigned kMaxInAll = 1'000;                    // attempts for one stream

  // Takes the id and the pause that the stream has now. To be called after each part of the stream.
  void note(const http::EventStream& events);
  // The value of `Last-Event-ID`; empty: the stream cannot be resumed.
  const std::string& last_id() const { return last_id_; }
  bool is_possible() const { return !last_id_.empty(); }
  // The pause that the server asks for, within the bounds.
  std::chrono::milliseconds pause() const { return pause_; }
  // Counts an attempt and returns the pause before it: the server's, doubled for each attempt in vain before it.
  // nullopt: no more attempts.
  std::optional<std::chrono::milliseconds> next_pause();
  unsigned attempts() const { return in_all_; }

 private:
  std::string last_id_;
  std::chrono::milliseconds pause_ = kUsualPause;
  unsigned in_vain_ = 0, in_all_ = 0;
};

}  // namespace upstream
