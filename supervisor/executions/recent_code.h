// RecentCode: the code of recent executions, and how often each program and each skill was used since the daemon
// started. Held in memory only, so it ends with the daemon. A program is known by the SHA-256 of its text: code that
// runs again is held once.
// Bounds: RecentCodeLimits. When a tenant has too many programs, the oldest that ran once goes first, so that many
// different programs do not push out one that is repeated. Without room for all texts, the longest unused text goes,
// and its counts stay.
// Source: ExecutionRecording, load_skill. Used by: the resource exec:///<id>/code, supervisor/operations/bus (counts,
// no text). No errors.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace executions {

struct RecentCodeLimits {
  size_t text_bytes = 256 << 10;  // of one program; longer code is neither held nor counted
  size_t tenant_bytes = 2 << 20;  // of all texts of a tenant or named workspace
  size_t all_bytes = 64 << 20;    // of all texts
  size_t tenants = 256;           // tenants and named workspaces; the longest unused goes
  size_t programs = 200;          // of a tenant
  size_t executions = 400;        // of a tenant, whose code can be read; the policy may allow fewer
  size_t skills = 200;            // of a tenant
};

// UseCounts: how often a program or a skill was used.
struct UseCounts {
  uint64_t runs = 0;       // executions that began
  uint64_t ended = 0;      // of these, executions that ended with a report of their jail
  uint64_t succeeded = 0;  // of these, executions with the outcome ok
  uint64_t wall_us = 0;    // of all ended ones together
  int64_t last_ms = 0;     // since 1970, when the last one began
  std::string last_execution;
};

struct ProgramUse {
  std::string tenant, hash, language;  // hash: SHA-256, 64 hexadecimal digits
  uint64_t bytes = 0;
  bool is_readable = false;  // the text is held
  UseCounts counts;
};

struct SkillUse {
  std::string tenant, skill;
  bool is_shared = false;
  UseCounts counts;
};

class RecentCode {
 public:
  explicit RecentCode(RecentCodeLimits limits = {}) : limits_(limits) {}
  RecentCode(const RecentCode&) = delete;

  // An execution begins. `tenant`: TenantId::text(). `readable`: the most executions whose code the policy keeps.
  void begin(const std::string& tenant, const std::string& execution, std::string_view language, std::string_view code,
             size_t readable, int64_t now_ms);
  // The execution ended with a report of its jail. No effect if it is not known any more.
  void end(const std::string& tenant, const std::string& execution, bool succeeded, int64_t wall_us);
  // The code of an execution loaded a skill that exists. An execution counts once for each skill.
  void use_skill(const std::string& tenant, const std::string& execution, const std::string& skill, bool is_shared,
                 int64_t now_ms);
  // Drops the code of a tenant or named workspace that was removed.
  void forget(const std::string& tenant);

  struct Code {
    std::string language, hash;
    std::shared_ptr<const std::string> text;  // nullptr: not held any more
  };
  // nullopt: the execution is not known. Another tenant's execution never is.
  std::optional<Code> find(const std::string& tenant, const std::string& execution) const;

  // EarlierCode: the code of an execution that began before another one of its tenant.
  struct EarlierCode {
    std::string execution, language;
    std::shared_ptr<const std::string> text;  // never nullptr
  };
  // The newest first, each text once; together at most `most_bytes`.
  std::vector<EarlierCode> earlier(const std::string& tenant, const std::string& execution, size_t most_bytes) const;

  // Programs that ran at least `least` times, the most often used first, at most `max`; of an account with its named
  // workspaces, or of all (empty).
  std::vector<ProgramUse> programs(std::string_view account, uint64_t least, size_t max) const;
  std::vector<SkillUse> skills(std::string_view account, size_t max) const;

 private:
  struct Program {
    std::string language;
    std::shared_ptr<const std::string> text;
    uint64_t bytes = 0;
    uint64_t used = 0;  // the number of its last use
    UseCounts counts;
  };
  struct Skill {
    bool is_shared = false;
    uint64_t used = 0;
    UseCounts counts;
  };
  struct Execution {
    std::string hash;  // empty: its code was too long
    std::set<std::string> skills;
  };
  struct TenantCode {
    std::map<std::string, Program, std::less<>> programs;  // by hash
    std::map<std::string, Skill, std::less<>> skills;      // by name
    std::map<std::string, Execution, std::less<>> executions;
    std::deque<std::string> order;  // of the executions, oldest first
    size_t bytes = 0;
    uint64_t used = 0;
  };
  TenantCode& tenant_of(const std::string& tenant);
  void drop_text(TenantCode& tenant, Program& program);
  bool drop_longest_unused_text(TenantCode& tenant, std::string_view but);
  void make_room(TenantCode& tenant, std::string_view but);
  void drop_tenant(std::map<std::string, TenantCode, std::less<>>::iterator tenant);
  void drop_longest_unused_tenant(const TenantCode* but);

  const RecentCodeLimits limits_;
  std::map<std::string, TenantCode, std::less<>> tenants_;
  size_t bytes_ = 0;
  uint64_t uses_ = 0;
};

}  // namespace executions
