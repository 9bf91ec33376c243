#include "supervisor/cluster/node/home_memory.h"

#include <algorithm>
#include <utility>

#include "supervisor/base/clock.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/cluster/bus/subjects.h"
#include "supervisor/cluster/link/node_messages.h"
#include "supervisor/cluster/trust/private_file.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kStoreAfter = 1s;  // changes that come together are one write
constexpr size_t kMaxMemoryBytes = 64 << 20;

constexpr size_t kMaxName = 140;  // TenantId::text()

Json record_json(const HomeRecord& home) {
  Json record = {{"node", home.node}, {"epoch", home.epoch}};
  if (!home.of.empty()) record["of"] = home.of;
  return record;
}

Result<HomeRecord> read_record_json(const Json& record) {
  Fields in(record, "home");
  HomeRecord home;
  TRY(home.node, in.string("node", kMaxNodeName));
  TRY(const int64_t epoch, in.integer("epoch", 1, int64_t{1} << 53));
  TRY(home.of, in.string_or("of", "", kMaxName));
  CHECKED(in.done());
  if (!is_node_name(home.node)) return fail(Code::invalid, "home.node: not the name of a node");
  home.epoch = static_cast<uint64_t>(epoch);
  return home;
}

Result<HomeMemory::Records> read_records(const std::string& file) {
  HomeMemory::Records records;
  auto text = read_trusted_file(file, kMaxMemoryBytes);
  if (!text && text.error().code == Code::not_found) return records;
  if (!text) return tl::unexpected<Error>(std::move(text).error());
  TRY(const Json document, parse_json(*text));
  if (!document.is_object()) return fail(Code::invalid, file + ": no JSON object");
  for (const auto& [key, record] : document.items()) {
    CHECKED(check_subject(key));
    TRY(records[key], read_record_json(record));
  }
  return records;
}

Result<> write_records(const std::string& file, const HomeMemory::Records& records) {
  std::string text = "{";
  size_t count = 0;
  for (const auto& [key, record] : records) {
    if (count++ == HomeMemory::kMaxRecords) break;
    text += (count > 1 ? "," : "") + dump_json(Json(key)) + ":" + write_home_record(record);
  }
  return write_whole_file(file, text + "}", 0600, Existing::replace);
}

}  // namespace

std::string write_home_record(const HomeRecord& home) { return dump_json(record_json(home)); }

Result<HomeRecord> read_home_record(std::string_view text) {
  TRY(const Json record, parse_json(text));
  return read_record_json(record);
}

Result<std::unique_ptr<HomeMemory>> HomeMemory::open(Loop& loop, const std::string& folder, const Records& records) {
  TRY(auto worker, WorkerThread::start(loop));
  return std::unique_ptr<HomeMemory>(new HomeMemory(loop, folder + "/homes.json", records, std::move(worker)));
}

Task<HomeMemory::Records> HomeMemory::load() {
  const auto records = std::make_shared<Records>();
  WorkerThread::Job job = [records, stored = stored_, file = file_]() -> Result<> {
    TRY(*records, read_records(file));
    *stored = *records;
    return {};
  };
  const auto read = co_await worker_->run(std::move(job));
  if (!read) log_warning("cluster: the homes of before are not known: {}", read.error().what);
  co_return std::move(*records);
}

void HomeMemory::note_change(const std::string& key) {
  changed_.insert(key);
  if (!std::exchange(is_storing_, true)) tasks_.spawn(store());
}

Task<> HomeMemory::store() {
  auto wait = std::chrono::milliseconds(kStoreAfter);
  for (bool is_written = true; !is_written || !changed_.empty();) {
    co_await sleep_for(loop_, wait);
    const auto changes = std::make_shared<Changes>();
    for (const std::string& key : std::exchange(changed_, {})) {
      const auto record = records_.find(key);
      (*changes)[key] = record == records_.end() ? std::nullopt : std::optional(record->second);
    }
    const auto spent = std::make_shared<double>(0);
    WorkerThread::Job job = [file = file_, stored = stored_, changes, spent] {
      const auto started = Monotonic::now();
      for (auto& [key, record] : *changes) {
        stored->erase(key);
        if (record) stored->emplace(key, *std::move(record));
      }
      auto written = write_records(file, *stored);
      *spent = ms_since(started);
      return written;
    };
    const auto stored = co_await worker_->run(std::move(job));
    is_written = stored.has_value();
    wait =
        std::max(std::chrono::milliseconds(kStoreAfter), std::chrono::milliseconds(static_cast<int64_t>(20 * *spent)));
    if (is_written) {
      was_reported_ = false;
    } else if (!std::exchange(was_reported_, true)) {
      log_warning("cluster: the homes are not remembered on the disk: {}", stored.error().what);
    }
  }
  is_storing_ = false;
}

}  // namespace cluster
