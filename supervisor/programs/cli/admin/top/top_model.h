// TopModel: what `warder top` shows, without a screen: rows of executions, totals of tenants, the pool and the history.
// CPU percentages are differences between two samples. An absent value is not known; it is never 0.
// Source: D-Bus properties, as BusClient reads them. Used by: top_draw.h, top.cc. Pure:
// tests/supervisor/programs/cli/admin/top/top_model_test.cc.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/programs/cli/admin/user_names.h"
#include "supervisor/programs/cli/admin/values.h"

namespace admin {

enum class TopSort { age, cpu, memory, wall };
std::optional<TopSort> parse_top_sort(const std::string& word);
std::string top_sort_name(TopSort sort);

struct TopRow {                                   // an execution
  std::string id, tenant, user, language, state;  // state: its stage, or its outcome after the end
  bool ended = false;
  uint64_t age_usec = 0, wall_usec = 0;
  std::optional<uint64_t> cpu_usec, memory_bytes, tasks;
  std::optional<double> cpu_percent;  // 100: one processor
};

struct TopTenant {
  std::string name, user, policy;
  uint64_t connections = 0, running = 0, waiting = 0, executions = 0, failed = 0;
  std::optional<uint64_t> max_running, memory_bytes;  // memory: of its executions
  std::optional<double> cpu_percent;
  uint64_t workspace_bytes = 0, quota_bytes = 0;
};

struct TopPool {
  std::string language;
  uint64_t idle = 0, wanted = 0, zygotes = 0, bytes = 0;
};

struct TopServer {  // an upstream server; state, location: the words of ListServers
  std::string name, location, state, problem;
  uint64_t tools = 0, connections = 0;
};

struct TopMoment {  // a step of the daemon's timeline
  std::optional<double> executions_per_second, failed_per_second;
  std::optional<uint64_t> running;
};

// Which executions are shown, and in which order.
struct TopFilter {
  std::string words;   // each must be in the id, the tenant, the user, the language or the state
  std::string tenant;  // only this tenant; empty: all
  bool with_ended = false;
  TopSort sort = TopSort::age;
};

class TopModel {
 public:
  // A sample of the Manager's properties, the executions and the tenants, taken at `now_usec` since 1970.
  void take(Json manager, std::vector<Json> executions, std::vector<Json> tenants, uint64_t now_usec);
  // An answer of ReadTimeline.
  void take_timeline(const Json& answer);

  // An answer of ListServers; null: the caller may not see it.
  void take_servers(const Json& answer);

  const Json& manager() const { return manager_; }
  const std::vector<Json>& executions() const { return executions_; }
  std::vector<TopRow> rows(const TopFilter& filter) const;
  const std::vector<TopTenant>& tenants() const { return tenants_; }  // the busiest first
  const std::vector<TopServer>& servers() const { return servers_; }  // those with a problem first
  std::vector<TopPool> pool() const;
  const std::vector<TopMoment>& history() const { return history_; }  // oldest first
  // The processor time of all executions; absent: it is not known of one that runs.
  std::optional<double> cpu_percent() const;
  uint64_t up_usec() const;

 private:
  struct Sample {
    uint64_t cpu_usec = 0, at_usec = 0;
  };
  TopRow row_of(const Json& execution, uint64_t now_usec, const std::map<std::string, Sample>& before);
  TopTenant tenant_of(const Json& tenant);

  Json manager_;
  std::vector<Json> executions_;
  std::vector<TopRow> rows_;
  std::vector<TopTenant> tenants_;
  std::vector<TopServer> servers_;
  std::vector<TopMoment> history_;
  std::map<std::string, Sample> samples_;
  uint64_t now_usec_ = 0;
  UserNames names_;
};

}  // namespace admin
