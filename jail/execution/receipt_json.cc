#include <fmt/compile.h>
#include <fmt/format.h>

#include "jail/execution/receipt.h"
#include "supervisor/base/json/json.h"

namespace jail {
namespace {

constexpr size_t kUsualBytes = 2048;  // one allocation holds the whole text of most receipts

// Writes members into one text. Executions wait for it, so it makes no JSON values and parses no long formats.
class ReceiptWriter {
 public:
  explicit ReceiptWriter(const Receipt& receipt) : receipt_(receipt), applied_(receipt.applied) {
    text_.reserve(kUsualBytes);
  }

  std::string write() && {
    write_build();
    write_dispatch();
    write_origin();
    text_ += R"(,"path_us":{)";
    bool first = true;
    for (const auto& [part, us] : receipt_.path_us) add_time(first, part, us);
    text_ += "}}";
    return std::move(text_);
  }

 private:
  static std::string_view comma(bool& first) { return std::exchange(first, false) ? "" : ","; }

  // `key`: all text between two values.
  void add(std::string_view key, uint64_t number) {
    text_ += key;
    const fmt::format_int digits(number);
    text_.append(digits.data(), digits.size());
  }
  void add(std::string_view key, std::string_view word) {
    text_ += key;
    text_ += word;
  }
  void add_quoted(std::string_view key, std::string_view text) {
    text_ += key;
    append_json_string(text_, text);
  }
  void add_ms(std::string_view key, double ms) {
    text_ += key;
    fmt::format_to(std::back_inserter(text_), FMT_COMPILE("{:.3f}"), ms);
  }

  void add_time(bool& first, std::string_view name, uint32_t us) {
    add(comma(first), "\"");
    add(name, "\":");
    add("", us);
  }

  void write_build() {
    text_ += R"({"namespaces":[)";
    bool first = true;
    for (int i = 0; i < kNamespaceCount; i++) {
      if (!applied_.own_namespaces[static_cast<size_t>(i)]) continue;
      add(comma(first), R"(")");
      add(namespace_label(i), R"(")");
    }
    if (applied_.identity == Identity::separated) {
      add(R"(],"identity":{"init":)", applied_.init_id);
      add(R"(,"runner":)", applied_.runner_id);
      add(R"(,"daemon":)", applied_.daemon_id);
    } else {
      add(R"(],"identity":{"shared":)", applied_.init_id);
    }
    text_ += R"(},"capabilities":"none","no_new_privileges":true)";
    if (applied_.landlock_abi > 0) {
      add(R"(,"landlock":{"abi":)", static_cast<uint64_t>(applied_.landlock_abi));
      text_ += '}';
    } else {
      text_ += R"(,"landlock":false)";
    }
    add(R"(,"root":")", applied_.root == RootMode::overlay ? "overlay" : "bind");
    text_ += '"';
    if (applied_.proc == ProcView::processes) text_ += R"(,"proc":"processes")";
    write_layers();
    add(R"(,"network":")", receipt_.has_proxy ? "proxy" : "none");
    add_ms(R"(","build_ms":)", applied_.build_ms);
    write_steps();
  }

  void write_layers() {
    if (applied_.layers.empty()) return;
    text_ += R"(,"layers":{)";
    bool first = true;
    for (const auto& [name, hash] : applied_.layers) {  // both of a few characters that need no quoting
      add(comma(first), "\"");
      add(name, "\":\"");
      add(hash, "\"");
    }
    text_ += '}';
  }

  void write_steps() {
    text_ += R"(,"steps_us":{)";
    bool first = true;
    for (int i = 1; i < kSteps; i++) {
      if (const uint32_t us = applied_.steps_us[static_cast<size_t>(i)])
        add_time(first, step_name(static_cast<Step>(i)), us);
    }
    text_ += '}';
  }

  void write_dispatch() {
    add_quoted(R"(,"seccomp":{"profile":)", receipt_.seccomp_profile);
    add(R"(,"instructions":)", receipt_.seccomp_instructions);
    write_cgroup();
    add(R"(,"workspace":{"nosuid":true,"nodev":true,"mapped_ids":)", receipt_.workspace_mapped_ids ? "true" : "false");
    if (!receipt_.workspace_quota.empty()) {
      add(R"(,"quota":")", receipt_.workspace_quota);
      text_ += '"';
    }
    if (receipt_.workspace_access != WorkspaceAccess::direct) {
      add(R"(,"access":")", access_name(receipt_.workspace_access));
      text_ += '"';
    }
    text_ += '}';
    if (receipt_.session_call > 0) {
      add(R"(,"session":{"call":)", receipt_.session_call);
      add(R"(,"between_calls":")", receipt_.cgroup ? R"(frozen"})" : R"(watched"})");
    }
    if (!receipt_.traceparent.empty()) add_quoted(R"(,"traceparent":)", receipt_.traceparent);
    text_ += R"(,"weaker":[)";
    for (bool first = true; const std::string& sentence : applied_.weaker) add_quoted(comma(first), sentence);
    text_ += ']';
  }

  void write_cgroup() {
    const auto& cgroup = receipt_.cgroup;
    if (!cgroup) {
      text_ += R"(},"cgroup":false)";
      return;
    }
    add(R"(},"cgroup":{"memory_max":)", cgroup->memory_max_bytes);
    add(R"(,"swap_max":0,"oom_group":true,"pids_max":)", cgroup->tasks_max);
    text_ += R"(,"cpus":)";
    fmt::format_to(std::back_inserter(text_), FMT_COMPILE("{}"), cgroup->cpus);
    if (cgroup->memory_held_bytes > 0) add(R"(,"memory_held":)", cgroup->memory_held_bytes);
    text_ += '}';
  }

  void write_origin() {
    const Origin& origin = receipt_.origin;
    add(R"(,"start":")", start_name(origin.start));
    text_ += '"';
    if (origin.start != Start::cold) add_ms(R"(,"waited_ms":)", origin.waited_ms);
    if (origin.start == Start::fork) add_ms(R"(,"zygote_age_ms":)", origin.zygote_age_ms);
  }

  const Receipt& receipt_;
  const Applied& applied_;
  std::string text_;
};

}  // namespace

std::string receipt_json(const Receipt& receipt) { return ReceiptWriter(receipt).write(); }

}  // namespace jail
