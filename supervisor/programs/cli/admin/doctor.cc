#include "supervisor/programs/cli/admin/doctor.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "supervisor/base/user_lookup.h"
#include "supervisor/programs/cli/admin/policies/policy_store.h"
#include "supervisor/programs/cli/admin/values.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

using doctor::Finding;
using doctor::Findings;
using doctor::Health;

Json reported(const Finding& finding) {
  Json item = {{"what", finding.what}, {"health", doctor::health_name(finding.health)}, {"found", finding.found}};
  if (!finding.remedy.empty()) item["remedy"] = finding.remedy;
  return item;
}

void print(const Finding& finding) {
  std::string text = fmt::format("{:<5} {:<16} {}\n", doctor::health_name(finding.health), finding.what, finding.found);
  if (!finding.remedy.empty()) text += fmt::format("{:>25} {}\n", "->", finding.remedy);
  cli::print_text(stdout, text);
}

// Makes a user namespace in a child process, because unshare(2) would change this process. Returns 0 or an errno.
int try_user_namespace() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 ? 0 : errno);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return ECHILD;
  return WEXITSTATUS(status);
}

Findings look_at_installation(const ParsedCommand& command) {
  Findings all = doctor::examine_programs();
  const auto user = find_system_user("warder");
  if (user)
    all.push_back(doctor::judge_user(*user ? doctor::User::known : doctor::User::missing, "warder"));
  else
    all.push_back({"user", Health::note, user.error().what, "getent passwd warder"});
  all.push_back(doctor::judge_policies(load_policies(command).map([](const auto& store) { return store.names(); })));
  const auto state = std::filesystem::absolute(command.value("state", "/var/lib/warder"));
  all.push_back(doctor::examine_quotas(state.lexically_normal()));
  return all;
}

}  // namespace

Result<int> run_doctor(const ParsedCommand& command) {
  const char* home = std::getenv("HOME");
  Findings all = doctor::examine_kernel();
  all.push_back(doctor::look_at_delegation());
  all.push_back(doctor::judge_user_namespaces(try_user_namespace()));
  for (Findings part : {look_at_installation(command), look_at_daemon(command), look_at_clients(home ? home : "", ".")})
    std::move(part.begin(), part.end(), std::back_inserter(all));
  const auto count = [&all](Health health) {
    return std::count_if(all.begin(), all.end(), [health](auto& item) { return item.health == health; });
  };
  const auto bad = count(Health::bad);
  if (command.json) {
    Json list = Json::array();
    for (const auto& finding : all) list.push_back(reported(finding));
    print_json({{"good", bad == 0}, {"findings", std::move(list)}});
  } else {
    for (const auto& finding : all) print(finding);
    cli::print_text(stdout,
                    fmt::format("{} good, {} to note, {} bad\n", count(Health::good), count(Health::note), bad));
  }
  return bad > 0 ? 1 : 0;
}
const ProgramOfCommand kRunDoctor{"doctor", run_doctor};

}  // namespace admin
