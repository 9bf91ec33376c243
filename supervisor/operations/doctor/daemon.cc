// Judges a daemon: an execution that it ran, and the facts that it reports about itself.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "supervisor/base/elapsed_clock.h"
#include "supervisor/operations/doctor/doctor.h"

namespace doctor {

std::string_view health_name(Health health) {
  if (health == Health::good) return "good";
  return health == Health::note ? "note" : "bad";
}

Finding judge_execution(std::string_view outcome, std::string_view error, std::string remedy,
                        const std::vector<std::string>& weaker) {
  const std::string subject = "execution";
  if (outcome != "ok")
    return {subject, Health::bad, fmt::format("{}: {}", outcome, error),
            remedy.empty() ? "journalctl -u warder says more" : std::move(remedy)};
  if (weaker.empty()) return {subject, Health::good, "a program ran in a jail with all protections", {}};
  return {subject, Health::note, fmt::format("a program ran; {}", fmt::join(weaker, "; ")),
          "see the other findings; a policy that requires a missing protection refuses executions"};
}

Finding judge_pool(uint32_t waiting, uint32_t zygotes, const std::set<std::string>& troubles) {
  if (troubles.empty()) return {"pool", Health::good, fmt::format("{} jails wait, {} zygotes", waiting, zygotes), {}};
  return {"pool", Health::note, fmt::format("jails cannot be built in advance: {}", fmt::join(troubles, "; ")),
          "executions start more slowly; the daemon tries again. journalctl -u warder says since when"};
}

Finding judge_spans(const Spans& spans) {
  const std::string subject = "traces";
  const std::string sums = fmt::format("{} spans delivered, {} dropped", spans.exported, spans.dropped);
  if (spans.network_needed && spans.only_loopback && spans.exported == 0)
    return {
        subject, Health::note,
        fmt::format("{} cannot be reached: the daemon has only the network interface lo", spans.collector),
        "systemctl edit warder.service, with PrivateNetwork=no and IPAddressAllow= below [Service]; or use a collector "
        "on a Unix socket: --traces unix:///SOCKET"};
  if (!spans.trouble.empty())
    return {subject, Health::note, fmt::format("{}: {}; {}", spans.collector, spans.trouble, sums),
            "check that the collector accepts OTLP/HTTP with JSON at this address; journalctl -u warder says more"};
  return {subject, Health::good, fmt::format("{}: {}", spans.collector, sums), {}};
}

Finding judge_jail_network(const std::string& seen, const std::string& unseen_why) {
  const std::string subject = "jail network";
  if (!seen.empty()) return {subject, Health::good, "jails have the interface lo and nothing else: " + seen, {}};
  return {subject, Health::note,
          "only a program in a jail looked at its network, not the kernel's lists: " + unseen_why,
          "allow AF_NETLINK in RestrictAddressFamilies= of warder.service; jails cannot use it all the same"};
}

Finding judge_journal(const std::string& trouble, std::string_view durability) {
  if (trouble.empty()) return {"journal", Health::good, fmt::format("{}, its files are in place", durability), {}};
  return {"journal", Health::bad, trouble,
          "find out which program did that; then: systemctl restart warder. Records until the restart are lost with "
          "the file"};
}

Finding judge_clock(int64_t jump_ms) {
  if (jump_ms == 0) return {"clock", Health::good, "the wall clock fits the time that has passed", {}};
  return {
      "clock", Health::bad, clock_jump_text(jump_ms) + "; no data is removed for its age meanwhile",
      "timedatectl shows the clock. If it is wrong: timedatectl set-ntp yes, or set it. If it is right, it is accepted "
      "when it has stayed the same for a day"};
}

Finding judge_state_disk(const StateDiskFacts& facts) {
  const std::string subject = "state disk";
  if (!facts.problem.empty()) return {subject, Health::bad, facts.problem, facts.remedy};
  if (!facts.reserve_problem.empty())
    return {subject, Health::note,
            fmt::format("{} takes writes; it has no reserve for the journal, so a full disk stops all records: {}",
                        facts.folder, facts.reserve_problem),
            "keep the state folder on ext4 or xfs, which can hold allocated space back"};
  if (facts.reserve_bytes == 0) return {subject, Health::good, facts.folder + " takes writes", {}};
  return {subject,
          Health::good,
          fmt::format("{} takes writes; {} KiB are held back for the journal", facts.folder, facts.reserve_bytes >> 10),
          {}};
}

Finding judge_workspaces(const WorkspaceIndexes& seen) {
  const std::string subject = "workspaces";
  if (seen.without > 0)
    return {subject, Health::note,
            fmt::format("{} of {} workspaces in use are walked through for each execution: {}", seen.without,
                        seen.without + seen.followed, seen.without_why),
            "an execution in a large workspace takes longer. Keep the state folder on ext4, XFS or Btrfs; raise "
            "fs.inotify.max_user_instances and max_user_watches by sysctl"};
  if (seen.walks > 0)
    return {subject,
            Health::good,
            fmt::format("{} indexes, {} folders watched; folders were listed again {} times, after many changes at "
                        "once or with too few watches",
                        seen.followed, seen.watches, seen.walks),
            {}};
  return {subject, Health::good, fmt::format("{} indexes, {} folders watched", seen.followed, seen.watches), {}};
}

Finding judge_http(const HttpUse& seen) {
  const std::string subject = "HTTP";
  const std::string use = fmt::format("listens on {}; {} connections, {} sessions, {} requests refused",
                                      fmt::join(seen.addresses, ", "), seen.connections, seen.sessions, seen.refused);
  if (seen.has_jwt && !seen.has_jwt_keys)
    return {subject, Health::note, use + "; the keys of jwt.jwks cannot be read, so no JWT is good",
            "correct the file, then: systemctl reload warder"};
  const uint64_t tokens = seen.tokens_good + seen.tokens_expire_soon;
  if (tokens == 0 && !seen.has_jwt)
    return {subject, Health::note, use + "; no token is good, so every request is refused", "warder token add NAME"};
  if (seen.tokens_expire_soon > 0 || seen.tokens_expired > 0)
    return {subject, Health::note,
            fmt::format("{}; {} tokens expire within a week, {} have expired", use, seen.tokens_expire_soon,
                        seen.tokens_expired),
            "warder token list names them; warder token remove and add replace them"};
  return {subject, Health::good, fmt::format("{}; {} tokens", use, tokens), {}};
}

Finding judge_egress(const EgressReach& seen) {
  const std::string subject = "egress";
  if (!seen.trouble.empty())
    return {subject, Health::note,
            fmt::format("the policies {} allow hosts, but warder-egress was not reached: {}",
                        fmt::join(seen.policies, ", "), seen.trouble),
            seen.remedy};
  return {subject,
          Health::good,
          fmt::format("warder-egress answers; {} requests allowed, {} denied, {} failed", seen.allowed, seen.denied,
                      seen.failed),
          {}};
}

Finding judge_bus(std::string_view version, std::string_view state, const std::string& reload_problem) {
  if (!reload_problem.empty())
    return {"D-Bus", Health::note, "the last reload failed: " + reload_problem,
            "warder config check names file and key; then: systemctl reload warder"};
  if (state == "degraded")
    return {"D-Bus", Health::note, fmt::format("warderd {} is degraded", version),
            "see the other findings, and: systemctl status warder"};
  return {"D-Bus", Health::good, fmt::format("warderd {} is {}", version, state), {}};
}

}  // namespace doctor
