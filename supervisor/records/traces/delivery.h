// Judgement: the meaning of a collector's reply to a batch, as OTLP/HTTP defines it (opentelemetry.io/docs/specs/otlp,
// "OTLP/HTTP Response").
// Source: the collector, which is not trusted. Its count of rejected spans is at most the batch, and its pause is
// bounded. Its text is never repeated, as it knows our secret headers. Used by: exporter.cc.
#pragma once
#include <chrono>
#include <string>

#include "supervisor/protocol/http/client.h"

namespace traces {

struct Judgement {
  enum class Verdict { accepted, again, refused } verdict = Verdict::accepted;
  size_t rejected = 0;                  // rejected spans of a batch that was taken
  std::chrono::milliseconds pause{-1};  // the pause that the reply asks for; -1: no pause is given
  std::string why;                      // empty: all spans were taken
};
// `spans`: number of spans in the batch.
Judgement judge(const Result<http::HttpReply>& reply, size_t spans);

// The pause after `failures` failed tries: one second, doubled each time up to 32 s. A random part, at most half, is
// subtracted, so that many daemons do not retry at the same moment.
std::chrono::milliseconds back_off(unsigned failures);

}  // namespace traces
