// Exporter: sends a queue's spans to a collector, in batches: every second, or as soon as one is full. One request is
// under way at a time. What cannot be delivered is tried again with growing pauses, then dropped and counted; the log
// says so once a minute at most. The collector is not trusted, and nobody waits for it.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/http/client.h"
#include "supervisor/traces/collector.h"
#include "supervisor/traces/queue.h"

namespace traces {

class Exporter {
 public:
  static constexpr size_t kBatch = 512;

  Exporter(Loop& loop, Collector collector);
  Exporter(const Exporter&) = delete;

  Queue& queue() { return queue_; }
  const Queue& queue() const { return queue_; }
  const Collector& collector() const { return collector_; }
  // Why the newest request was in vain; empty: it was not, or there was none.
  const std::string& trouble() const { return trouble_; }

  // What waits is sent now, each batch once. What is not taken within `limit` is lost, and so is what comes later.
  Task<> finish(std::chrono::milliseconds limit);

 private:
  void added();
  Task<> run();
  Task<> deliver(std::vector<Span> batch);
  Task<Result<http::HttpReply>> post(http::ClientRequest request);
  http::ClientRequest request_of(const std::vector<Span>& batch) const;
  Task<> pause(std::chrono::milliseconds most);
  void wake();
  void lose(size_t spans);
  void complain();
  void say();

  Loop& loop_;
  const Collector collector_;
  const std::string host_;
  Queue queue_;
  std::unique_ptr<http::HttpClient> client_;  // libcurl is loaded for the first batch
  bool running_ = false, gathering_ = false;
  bool hurries_ = false, over_ = false;
  size_t in_flight_ = 0;            // spans
  std::shared_ptr<Event> pausing_;  // while run() does
  std::shared_ptr<Event> emptied_;  // while finish() waits
  std::string trouble_;
  uint64_t told_ = 0;              // of the spans that were dropped
  std::optional<Deadline> quiet_;  // the log has had a line of ours within the last minute
  bool has_more_to_say_ = false;
  Scope tasks_;  // last: cancelled first
};

}  // namespace traces
