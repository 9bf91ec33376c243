#include "supervisor/programs/cli/admin/top/top_model.h"

#include <algorithm>
#include <limits>
#include <sstream>
#include <utility>

#include "supervisor/base/ascii.h"

namespace admin {
namespace {

// A program that ran this long has used CPU time. If D-Bus says 0, the CPU time is known only after its end.
constexpr uint64_t kMeasuredAfterUsec = 200'000;
constexpr uint64_t kNotMeasured = std::numeric_limits<uint64_t>::max();  // on D-Bus

constexpr std::pair<TopSort, const char*> kSorts[] = {
    {TopSort::age, "age"}, {TopSort::cpu, "cpu"}, {TopSort::memory, "memory"}, {TopSort::wall, "wall"}};

std::optional<uint64_t> unless_zero(uint64_t value) {
  return value > 0 && value != kNotMeasured ? std::optional(value) : std::nullopt;
}

bool fits_words(const TopRow& row, const std::string& words) {
  const std::string all =
      lower_case(row.id + '\n' + row.tenant + '\n' + row.user + '\n' + row.language + '\n' + row.state);
  std::istringstream parts(lower_case(words));
  for (std::string word; parts >> word;)
    if (all.find(word) == all.npos) return false;
  return true;
}

template <class Value>
void sort_by(std::vector<TopRow>& rows, Value value) {
  std::stable_sort(rows.begin(), rows.end(), [&](const TopRow& a, const TopRow& b) { return value(a) > value(b); });
}

bool is_outcome(const std::string& column) { return !column.empty() && is_lower(column[0]); }

// A value of one column; absent: not measured.
std::optional<uint64_t> measured(const Json& columns, const Json& row, const char* name) {
  for (size_t i = 0; columns.is_array() && i < columns.size(); i++) {
    if (text(columns[i]) != name) continue;
    const uint64_t value = number(element(row, i));
    return value == kNotMeasured ? std::nullopt : std::optional(value);
  }
  return std::nullopt;
}

uint64_t failed_in(const Json& columns, const Json& row) {
  uint64_t failed = 0;
  for (size_t i = 0; columns.is_array() && i < columns.size(); i++)
    if (const std::string name = text(columns[i]); is_outcome(name) && name != "ok") failed += number(element(row, i));
  return failed;
}

}  // namespace

std::optional<TopSort> parse_top_sort(const std::string& word) {
  for (const auto& [sort, name] : kSorts)
    if (word == name) return sort;
  return std::nullopt;
}

std::string top_sort_name(TopSort sort) {
  for (const auto& [one, name] : kSorts)
    if (one == sort) return name;
  return {};
}

TopRow TopModel::row_of(const Json& execution, uint64_t now_usec, const std::map<std::string, Sample>& before) {
  TopRow row;
  row.id = text(execution, "Id");
  row.tenant = text(execution, "Tenant");
  row.user = names_.of_tenant(row.tenant);
  row.language = text(execution, "Language");
  row.state = text(execution, "State");
  row.ended = row.state == "ended";
  if (row.ended) row.state = text(execution, "Outcome");
  const uint64_t requested = number(execution, "AskedUSec"), cpu = number(execution, "CPUUSec");
  row.age_usec = now_usec > requested ? now_usec - requested : 0;
  row.wall_usec = number(execution, "WallUSec");
  row.memory_bytes = unless_zero(number(execution, "MemoryBytes"));
  row.tasks = unless_zero(number(execution, "Tasks"));
  const bool measured = cpu > 0 || row.ended || row.wall_usec < kMeasuredAfterUsec;
  if (measured && cpu != kNotMeasured) row.cpu_usec = cpu;
  if (row.ended) return row;
  samples_[row.id] = {cpu, now_usec};
  const auto last = before.find(row.id);
  if (!row.cpu_usec || last == before.end() || now_usec <= last->second.at_usec) return row;
  const uint64_t used = cpu > last->second.cpu_usec ? cpu - last->second.cpu_usec : 0;
  row.cpu_percent = 100.0 * static_cast<double>(used) / static_cast<double>(now_usec - last->second.at_usec);
  return row;
}

TopTenant TopModel::tenant_of(const Json& tenant) {
  TopTenant top_tenant;
  top_tenant.name = text(tenant, "Name");
  top_tenant.user = names_.of_tenant(top_tenant.name);
  top_tenant.policy = text(tenant, "Policy");
  top_tenant.connections = number(tenant, "Connections");
  top_tenant.running = number(tenant, "Running");
  top_tenant.waiting = number(tenant, "Waiting");
  top_tenant.executions = number(tenant, "Executions");
  top_tenant.failed = top_tenant.executions - std::min(top_tenant.executions, number(member(tenant, "Outcomes"), "ok"));
  top_tenant.max_running = unless_zero(number(tenant, "MostRunning"));
  top_tenant.workspace_bytes = number(tenant, "WorkspaceBytes");
  top_tenant.quota_bytes = number(tenant, "QuotaBytes");
  top_tenant.cpu_percent = 0;
  for (const TopRow& row : rows_) {
    if (row.ended || row.tenant != top_tenant.name) continue;
    if (row.memory_bytes) top_tenant.memory_bytes = top_tenant.memory_bytes.value_or(0) + *row.memory_bytes;
    if (row.state != "running") continue;
    if (top_tenant.cpu_percent && row.cpu_percent) *top_tenant.cpu_percent += *row.cpu_percent;
    if (!row.cpu_percent) top_tenant.cpu_percent.reset();
  }
  return top_tenant;
}

void TopModel::take(Json manager, std::vector<Json> executions, std::vector<Json> tenants, uint64_t now_usec) {
  manager_ = std::move(manager);
  executions_ = std::move(executions);
  now_usec_ = now_usec;
  const auto before = std::exchange(samples_, {});
  rows_.clear();
  for (const Json& execution : executions_) rows_.push_back(row_of(execution, now_usec, before));
  tenants_.clear();
  for (const Json& tenant : tenants) tenants_.push_back(tenant_of(tenant));
  std::stable_sort(tenants_.begin(), tenants_.end(), [](const TopTenant& a, const TopTenant& b) {
    return std::pair(a.running + a.waiting, a.connections) > std::pair(b.running + b.waiting, b.connections);
  });
}

void TopModel::take_timeline(const Json& answer) {
  const Json &columns = element(answer, 0), &rows = element(answer, 1);
  history_.clear();
  for (size_t i = 0; rows.is_array() && i < rows.size(); i++) {
    TopMoment moment;
    moment.running = measured(columns, rows[i], "Running");
    if (const auto seconds = measured(columns, rows[i], "Seconds"); seconds && *seconds > 0) {
      const auto failed = static_cast<double>(failed_in(columns, rows[i]));
      const auto ok = static_cast<double>(measured(columns, rows[i], "ok").value_or(0));
      moment.executions_per_second = (ok + failed) / static_cast<double>(*seconds);
      moment.failed_per_second = failed / static_cast<double>(*seconds);
    }
    history_.push_back(moment);
  }
}

void TopModel::take_servers(const Json& answer) {
  servers_.clear();
  if (!answer.is_array()) return;
  for (const Json& item : answer)
    servers_.push_back({text(item, "Name"), text(item, "Place"), text(item, "State"), text(item, "Problem"),
                        member(item, "Tools").size(), number(item, "Connections")});
  std::stable_partition(servers_.begin(), servers_.end(),
                        [](const TopServer& server) { return !server.problem.empty(); });
}

std::vector<TopRow> TopModel::rows(const TopFilter& filter) const {
  std::vector<TopRow> top_rows;
  for (const TopRow& row : rows_) {
    if (row.ended && !filter.with_ended) continue;
    if (!filter.tenant.empty() && row.tenant != filter.tenant) continue;
    if (fits_words(row, filter.words)) top_rows.push_back(row);
  }
  // Executions of unknown CPU time come after those of known CPU time.
  if (filter.sort == TopSort::cpu)
    sort_by(top_rows,
            [](const TopRow& row) { return std::pair(row.cpu_percent.value_or(-1), row.cpu_usec.value_or(0)); });
  if (filter.sort == TopSort::memory) sort_by(top_rows, [](const TopRow& row) { return row.memory_bytes.value_or(0); });
  if (filter.sort == TopSort::wall) sort_by(top_rows, [](const TopRow& row) { return row.wall_usec; });
  if (filter.sort == TopSort::age) sort_by(top_rows, [](const TopRow& row) { return row.age_usec; });
  // Ended executions come last.
  std::stable_partition(top_rows.begin(), top_rows.end(), [](const TopRow& row) { return !row.ended; });
  return top_rows;
}

std::vector<TopPool> TopModel::pool() const {
  std::vector<TopPool> all;
  const Json& languages = member(manager_, "Pool");
  if (!languages.is_object()) return all;
  for (const auto& [language, of] : languages.items())
    all.push_back({language, number(of, "waiting"), number(of, "wanted"), number(of, "zygotes"), number(of, "bytes")});
  return all;
}

std::optional<double> TopModel::cpu_percent() const {
  double sum = 0;
  for (const TopRow& row : rows_) {
    if (row.ended || row.state != "running") continue;
    if (!row.cpu_percent) return std::nullopt;
    sum += *row.cpu_percent;
  }
  return sum;
}

uint64_t TopModel::up_usec() const {
  const uint64_t started = number(manager_, "StartedUSec");
  return now_usec_ > started ? now_usec_ - started : 0;
}

}  // namespace admin
