// Sums by tenant: a bounded number of names, and no sum that ever decreases.
#include "supervisor/operations/metrics/busiest_tenants.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>

#include "jail/execution/execution.h"
#include "jail/execution/outcome.h"
#include "supervisor/operations/metrics/tenant_numbers.h"
#include "supervisor/operations/metrics/text.h"
#include "tests/catch.h"

using executions::ExecutionRecord;
using executions::ExecutionRegistry;
using metrics::BusiestTenants;

namespace {

struct Ending {
  Loop loop;
  ExecutionRegistry registry{loop};
  Monotonic::time_point now = Monotonic::now();
  uint64_t ids = 0;

  void end(const std::string& tenant, jail::Outcome outcome = jail::Outcome::ok) {
    auto record = std::make_shared<ExecutionRecord>();
    record->id = std::to_string(ids++);
    record->tenant = {tenant};
    ExecutionRegistry::Entry entry(registry, record);
    entry.start("shell", {});
    jail::Report report;
    report.outcome = outcome;
    report.usage.cpu_ms = 2;
    journal::Ended ended;
    ended.outcome = jail::outcome_name(outcome);
    entry.end(report, ended);
  }
  void refuse(const std::string& tenant, const std::string& rule) {
    auto record = std::make_shared<ExecutionRecord>();
    record->id = std::to_string(ids++);
    record->tenant = {tenant};
    ExecutionRegistry::Entry entry(registry, record);
    entry.refuse(Error{Code::exhausted, 0, "no", "", rule});
  }
};

uint64_t count_of(const BusiestTenants::Sum& sum) {
  uint64_t all = 0;
  for (const uint64_t end : sum.ends) all += end;
  return all;
}

std::map<std::string, uint64_t> counts_of(const BusiestTenants& tenants) {
  std::map<std::string, uint64_t> all;
  tenants.each_named([&](std::string_view name, const auto& sum) { all[std::string(name)] = count_of(sum); });
  return all;
}

size_t text_size(const std::vector<metrics::TenantNumbers>& tenants) {
  metrics::OpenMetricsText text;
  metrics::write_tenants(text, tenants);
  return std::move(text).end().size();
}

}  // namespace

TEST_CASE("each end of an execution is counted once, by its kind", "[metrics][tenants]") {
  Ending ending;
  const BusiestTenants tenants(ending.registry);
  using jail::Outcome;
  for (const Outcome outcome : {Outcome::ok, Outcome::ok, Outcome::error, Outcome::timeout, Outcome::disk})
    ending.end("ada", outcome);
  ending.refuse("ada", "admission.queued_executions");
  ending.refuse("ada", "quota.workspace_bytes");
  ending.refuse("ada", "unavailable");  // the kind of an error, where no rule refused it
  tenants.each_named([](std::string_view name, const BusiestTenants::Sum& sum) {
    CHECK(name == "ada");
    CHECK(sum.ends == std::array<uint64_t, 6>{2, 2, 1, 2, 1, 0});
    CHECK(sum.cpu_us == 10'000);
  });
  CHECK(tenants.known() == 1);
  CHECK(count_of(tenants.peers()) == 0);
}

TEST_CASE("tenants without a name are one sum, and equally busy tenants keep their names", "[metrics][tenants]") {
  Ending ending;
  const BusiestTenants tenants(ending.registry, 2);
  for (int round = 0; round < 20; round++)
    for (const char* tenant : {"a", "b", "c", "d"}) ending.end(tenant);
  CHECK(counts_of(tenants) == std::map<std::string, uint64_t>{{"a", 20}, {"b", 20}});
  CHECK(count_of(tenants.peers()) == 40);
}

TEST_CASE("a clearly busier tenant takes a name, and no sum decreases", "[metrics][tenants]") {
  Ending ending;
  const BusiestTenants tenants(ending.registry, 2);
  for (int i = 0; i < 10; i++) ending.end("busy");
  for (int i = 0; i < 3; i++) ending.end("idle");
  uint64_t rest = 0;
  for (int i = 0; i < 30; i++) {
    ending.end("new");
    CHECK(count_of(tenants.peers()) >= rest);
    rest = count_of(tenants.peers());
  }
  const auto counts = counts_of(tenants);
  CHECK(!counts.contains("idle"));
  CHECK(counts.at("busy") == 10);
  CHECK(counts.at("new") + rest == 30);  // each execution once: some before it had its name
  ending.end("idle");
  CHECK(count_of(tenants.peers()) == rest + 1);
}

TEST_CASE("yesterday's executions count less than today's", "[metrics][tenants]") {
  Ending ending;
  const BusiestTenants tenants(ending.registry, 1, [&] { return ending.now; });
  for (int i = 0; i < 40; i++) ending.end("former");
  for (int i = 0; i < 30; i++) ending.end("present");
  CHECK(tenants.is_named("former"));
  ending.now += std::chrono::hours(24 * 5);
  for (int i = 0; i < 10; i++) ending.end("present");
  CHECK(tenants.is_named("present"));
  ending.now += std::chrono::hours(24 * 365 * 20);  // no number is too large for the sums
  for (int i = 0; i < 100; i++) ending.end("former");
  CHECK(tenants.is_named("former"));
}

TEST_CASE("a tenant that has the name of the sum has no name of its own", "[metrics][tenants]") {
  Ending ending;
  const BusiestTenants tenants(ending.registry);
  ending.end("other");
  CHECK(counts_of(tenants).empty());
  CHECK(count_of(tenants.peers()) == 1);
}

TEST_CASE("a removed tenant leaves neither its name nor its sum", "[metrics][tenants]") {
  Ending ending;
  BusiestTenants tenants(ending.registry, 2);
  for (int i = 0; i < 10; i++) ending.end("stays");
  for (int i = 0; i < 10; i++) ending.end("leaves");
  tenants.forget("leaves");
  tenants.forget("was never there");
  CHECK(counts_of(tenants) == std::map<std::string, uint64_t>{{"stays", 10}});
  CHECK(count_of(tenants.peers()) == 0);
  CHECK(tenants.known() == 1);
  ending.end("leaves");  // another tenant of that name
  CHECK(counts_of(tenants).at("leaves") == 1);
}

// The size of the text and its time for 10, 1,000 and 100,000 tenants: metrics_tests "[.measure]".
TEST_CASE("the text for very many tenants is as long as for a hundred", "[metrics][tenants]") {
  size_t of_hundred = 0;
  for (const int count : {10, 1'000, 20'000}) {
    Ending ending;
    const BusiestTenants tenants(ending.registry);
    for (int i = 0; i < count; i++) ending.end("tenant-" + std::to_string(100'000 + i));
    std::vector<metrics::TenantNumbers> numbers;
    tenants.each_named([&](std::string_view name, const auto& sum) { numbers.push_back({std::string(name), sum}); });
    numbers.push_back({std::string(metrics::kOtherTenants), tenants.peers()});
    CHECK(numbers.size() == static_cast<size_t>(std::min(count, 100)) + 1);
    const size_t size = text_size(numbers);
    if (count == 1'000) of_hundred = size;
    if (count > 1'000) CHECK(size < of_hundred + 200);  // some digits more
  }
}

TEST_CASE("measure: size and time of a scrape", "[.measure]") {
  for (const int count : {10, 1'000, 100'000}) {
    Ending ending;
    const BusiestTenants tenants(ending.registry);
    const auto started = Monotonic::now();
    for (int i = 0; i < count; i++) ending.end("tenant-" + std::to_string(100'000 + i));
    const double event_us = ms_since(started) * 1000 / count;
    size_t size = 0;
    const auto scraped = Monotonic::now();
    constexpr int kTimes = 50;
    for (int i = 0; i < kTimes; i++) {
      std::vector<metrics::TenantNumbers> numbers;
      tenants.each_named([&](std::string_view name, const auto& sum) {
        numbers.push_back({std::string(name), sum, 0, 0, 1, true, 1 << 20, 1 << 30, 10, 10'000});
      });
      numbers.push_back({std::string(metrics::kOtherTenants), tenants.peers()});
      size = text_size(numbers);
    }
    std::cout << count << " tenants: " << size << " bytes, " << ms_since(scraped) / kTimes
              << " ms; an end of an execution " << event_us << " us (with its record)\n";
  }
}
