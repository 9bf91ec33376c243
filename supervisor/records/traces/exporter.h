// Exporter: sends the spans of a queue to a collector, in batches: every second, or as soon as a batch is full. One
// request is under way at a time. A failed batch is tried again with growing pauses, then dropped and counted. The log
// reports this at most once a minute. The collector is not trusted, and no execution waits for it.
// Used by: supervisor/daemon/.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/protocol/http/client.h"
#include "supervisor/records/spans/collector.h"
#include "supervisor/records/spans/queue.h"

namespace traces {

class Exporter {
 public:
  static constexpr size_t kBatch = 512;

  Exporter(Loop& loop, spans::Collector collector);
  Exporter(const Exporter&) = delete;

  spans::Queue& queue() { return queue_; }
  const spans::Queue& queue() const { return queue_; }
  const spans::Collector& collector() const { return collector_; }
  // The reason why the newest request failed; empty: it succeeded, or there was no request.
  const std::string& trouble() const { return trouble_; }

  // Sends the waiting spans now, each batch once. Spans that are not taken within `limit` are lost, and so are later
  // ones.
  Task<> finish(std::chrono::milliseconds limit);

 private:
  void added();
  Task<> run();
  Task<> deliver(std::vector<spans::Span> batch);
  Task<Result<http::HttpReply>> post(http::ClientRequest request);
  http::ClientRequest request_of(const std::vector<spans::Span>& batch) const;
  Task<> pause(std::chrono::milliseconds max);
  void wake();
  void lose(size_t spans);
  void complain();
  void say();

  Loop& loop_;
  const spans::Collector collector_;
  const std::string host_;
  spans::Queue queue_;
  std::unique_ptr<http::HttpClient> client_;  // libcurl is loaded for the first batch
  bool running_ = false, gathering_ = false;
  bool hurries_ = false, over_ = false;
  size_t in_flight_ = 0;           // spans
  OneShot<>::Resolver pausing_;    // ends the pause of run()
  OneShot<>::Resolver finishing_;  // ends the wait of finish()
  std::string trouble_;
  uint64_t reported_ = 0;          // dropped spans that the log has reported
  std::optional<Deadline> quiet_;  // set for a minute after each line in the log
  bool has_more_to_say_ = false;
  Scope tasks_;  // last: cancelled first
};

}  // namespace traces
