// The inputs of the simulation, each with its source. All else is the product's code or a scenario's own numbers.
#pragma once
#include <cstddef>
#include <cstdint>

namespace simulation {

// Times in microseconds.
// A warm `pass`: p50 1.5 ms, p10 1.4 ms (three daemons on one machine with two processors). So most of the time is the
// same for all: 1.2 ms, and the rest is exponential with a mean of 0.3 ms.
constexpr double kServiceUs = 1'500;
constexpr double kServiceFixedUs = 1'200;
// One way between two nodes over NATS: half of the difference between a remote warm `pass` (2.54 ms p50) and a local
// one (1.63 ms), same run.
constexpr double kHopUs = 450;
// A put into NATS's key-value store with its answer (0.18 to 0.25 ms p50, one server, file storage). The simulated
// leader takes this time for each request, one after the other: more than a real one.
constexpr double kStoreUs = 250;
// An order that was not accepted is given up after this time: it would not be begun any more (envelope, 2 s).
constexpr double kGiveUpUs = 2e6;
// Assumed, not measured: the server's time for one record that it sends again to a reconnected node, and its size.
constexpr double kReplayedRecordUs = 2;
constexpr double kRecordBytes = 300;

constexpr uint32_t kSlots = 16;               // the default of `cluster.slots`
constexpr uint32_t kQueuedPerTenant = 2'000;  // admission.queued_executions of policies/default.json
constexpr double kReportEveryUs = 1e6;
constexpr double kReportsLost = 0.1;
constexpr double kMoveUs = 10'000;  // a home of 2 MB at 200 MB/s

}  // namespace simulation
