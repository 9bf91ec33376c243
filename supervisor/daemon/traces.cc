// The daemon's spans: their export to the collector, if the options name one.
#include "supervisor/daemon/daemon.h"

void Daemon::open_traces() {
  if (!prepared_.options.traces) return;
  log_info("traces: spans go to {}", prepared_.options.traces->shown);
  spans_ = std::make_unique<traces::Exporter>(loop_, *std::exchange(prepared_.options.traces, std::nullopt));
}

doctor::Finding Daemon::judge_traces() const {
  doctor::Spans seen;
  seen.collector = spans_->collector().shown;
  seen.network_needed = spans_->collector().socket.empty();
  seen.only_loopback = http::only_loopback();
  seen.exported = spans_->queue().counts.exported;
  seen.dropped = spans_->queue().counts.dropped;
  seen.trouble = spans_->trouble();
  return doctor::judge_spans(seen);
}
