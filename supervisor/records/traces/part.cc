// Spans of executions for a collector, as a part of the daemon. Without the key `traces` no spans are recorded.
#include "supervisor/base/log.h"
#include "supervisor/base/only_loopback.h"
#include "supervisor/daemon/configuration/options.h"
#include "supervisor/operations/metrics/text.h"
#include "supervisor/parts.h"
#include "supervisor/records/traces/exporter.h"

namespace traces {
namespace {

constexpr std::chrono::seconds kLastSpansLimit{1};  // to send the last spans to the collector

class TracesPart final : public Part, public Drainer, public FindingSource, public MetricSource {
 public:
  explicit TracesPart(std::unique_ptr<Exporter> exporter) : exporter_(std::move(exporter)) {}

  static Result<std::unique_ptr<TracesPart>> open(Loop& loop, Options& options) {
    std::unique_ptr<Exporter> exporter;
    if (auto collector = std::exchange(options.traces, std::nullopt)) {
      log_info("traces: spans go to {}", collector->displayed);
      exporter = std::make_unique<Exporter>(loop, *std::move(collector));
    }
    return std::make_unique<TracesPart>(std::move(exporter));
  }
  std::tuple<spans::Queue*> services() { return {exporter_ ? &exporter_->queue() : nullptr}; }

  Task<> finish_calls() override {
    if (exporter_) co_await exporter_->finish(kLastSpansLimit);
  }

  Task<doctor::Findings> examine() override {
    if (!exporter_) co_return doctor::Findings{};
    doctor::Spans seen;
    seen.collector = exporter_->collector().displayed;
    seen.network_needed = exporter_->collector().socket.empty();
    seen.only_loopback = only_loopback();
    seen.exported = exporter_->queue().counts.exported;
    seen.dropped = exporter_->queue().counts.dropped;
    seen.trouble = exporter_->trouble();
    co_return doctor::Findings{doctor::judge_spans(seen)};
  }
  void write_metrics(metrics::OpenMetricsText& text, Reader) const override {
    if (!exporter_) return;
    const spans::Queue& spans = exporter_->queue();
    text.family("warder_spans", "counter", "", "Spans that the collector accepted, and spans that were dropped.");
    text.sample("_total", {{"result", "exported"}}, spans.counts.exported);
    text.sample("_total", {{"result", "dropped"}}, spans.counts.dropped);
    text.family("warder_spans_now", "gauge", "", "Spans that wait to be sent.");
    text.sample("", {}, spans.size());
  }

 private:
  std::unique_ptr<Exporter> exporter_;  // nullptr: no spans are recorded
};

}  // namespace

PartEntry part() { return part_entry_of("traces", TracesPart::open); }

}  // namespace traces
