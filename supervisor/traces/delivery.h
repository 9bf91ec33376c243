// What a collector's reply says of a batch, as OTLP/HTTP has it (opentelemetry.io/docs/specs/otlp, "OTLP/HTTP
// Response"). Source: a server, which is not trusted: what it counts is no more than what it was sent, how long it
// wants to be waited for is bounded, and none of its words are repeated, as it knows our secret headers.
#pragma once
#include <chrono>
#include <string>

#include "supervisor/http/client.h"

namespace traces {

struct Judgement {
  enum class What { taken, again, refused } what = What::taken;
  size_t rejected = 0;                  // of a batch that was taken
  std::chrono::milliseconds pause{-1};  // what it wants to be waited for before it is asked again; -1: it does not say
  std::string why;                      // empty: all were taken
};
// `spans`: how many it was sent.
Judgement judge(const Result<http::HttpReply>& reply, size_t spans);

// Before the next try, after so many have failed: from one second on, doubled each time up to half a minute, and of
// that anything between a half and all by chance, so that many daemons do not come at once.
std::chrono::milliseconds back_off(unsigned failures);

}  // namespace traces
