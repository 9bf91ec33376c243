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
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const TopRow& one, const TopRow& other) { return value(one) > value(other); });
}

bool is_outcome(const std::string& column) { return !column.empty() && column[0] >= 'a' && column[0] <= 'z'; }

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
  const uint64_t asked = number(execution, "AskedUSec"), cpu = number(execution, "CPUUSec");
  row.age_usec = now_usec > asked ? now_usec - asked : 0;
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
  TopTenant found;
  found.name = text(tenant, "Name");
  found.user = names_.of_tenant(found.name);
  found.policy = text(tenant, "Policy");
  found.connections = number(tenant, "Connections");
  found.running = number(tenant, "Running");
  found.waiting = number(tenant, "Waiting");
  found.executions = number(tenant, "Executions");
  found.failed = found.executions - std::min(found.executions, number(member(tenant, "Outcomes"), "ok"));
  found.max_running = unless_zero(number(tenant, "MostRunning"));
  found.workspace_bytes = number(tenant, "WorkspaceBytes");
  found.quota_bytes = number(tenant, "QuotaBytes");
  found.cpu_percent = 0;
  for (const TopRow& row : rows_) {
    if (row.ended || row.tenant != found.name) continue;
    if (row.memory_bytes) found.memory_bytes = found.memory_bytes.value_or(0) + *row.memory_bytes;
    if (row.state != "running") continue;
    if (found.cpu_percent && row.cpu_percent) *found.cpu_percent += *row.cpu_percent;
    if (!row.cpu_percent) found.cpu_percent.reset();
  }
  return found;
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
  std::stable_sort(tenants_.begin(), tenants_.end(), [](const TopTenant& one, const TopTenant& other) {
    return std::pair(one.running + one.waiting, one.connections) >
           std::pair(other.running + other.waiting, other.connections);
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
  for (const Json& one : answer)
    servers_.push_back({text(one, "Name"), text(one, "Place"), text(one, "State"), text(one, "Problem"),
                        member(one, "Tools").size(), number(one, "Connections")});
  std::stable_partition(servers_.begin(), servers_.end(), [](const TopServer& one) { return !one.problem.empty(); });
}

std::vector<TopRow> TopModel::rows(const TopFilter& filter) const {
  std::vector<TopRow> shown;
  for (const TopRow& row : rows_) {
    if (row.ended && !filter.with_ended) continue;
    if (!filter.tenant.empty() && row.tenant != filter.tenant) continue;
    if (fits_words(row, filter.words)) shown.push_back(row);
  }
  // Executions of unknown CPU time come after those of known CPU time.
  if (filter.sort == TopSort::cpu)
    sort_by(shown, [](const TopRow& row) { return std::pair(row.cpu_percent.value_or(-1), row.cpu_usec.value_or(0)); });
  if (filter.sort == TopSort::memory) sort_by(shown, [](const TopRow& row) { return row.memory_bytes.value_or(0); });
  if (filter.sort == TopSort::wall) sort_by(shown, [](const TopRow& row) { return row.wall_usec; });
  if (filter.sort == TopSort::age) sort_by(shown, [](const TopRow& row) { return row.age_usec; });
  // Ended executions come last.
  std::stable_partition(shown.begin(), shown.end(), [](const TopRow& row) { return !row.ended; });
  return shown;
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
