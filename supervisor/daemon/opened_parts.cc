// OpenedParts: opens the files, threads and folders that cannot be opened on every machine.
#include "supervisor/base/log.h"
#include "supervisor/daemon/audit_anchors.h"
#include "supervisor/daemon/daemon_parts.h"
#include "supervisor/daemon/message_ids.h"

namespace {

// `jump_ms`: 0, the clock is right.
void log_clock(int64_t jump_ms) {
  if (jump_ms == 0)
    return log_fields(LogLevel::notice, kClockNearId, "the clock is right again: old data is removed as usual", {});
  log_fields(LogLevel::warning, kClockFarId,
             clock_jump_text(jump_ms) + ": no data is removed for its age meanwhile; look at timedatectl",
             {{"WARDER_CLOCK_JUMP_SECONDS", std::to_string(jump_ms / 1000)}});
}

// The journal holds the records that earlier daemons acknowledged. The daemon does not serve without a journal.
Result<std::unique_ptr<journal::Journal>> open_journal(Loop& loop, const Options& options) {
  const journal::Settings& settings = options.journal;
  TRY(auto journal, journal::Journal::open(loop, options.state + "/journal", settings));
  if (!journal->set_aside().empty()) log_error("journal: {}", journal->set_aside());
  journal->on_trouble([](const std::string& trouble) {
    log_error("journal: {}; records from now on are lost with the old file: restart the daemon", trouble);
  });
  if (journal->interrupted() > 0)
    log_notice("journal: {} executions were interrupted when the daemon last ended", journal->interrupted());
  log_info("journal: {}", settings.durability == journal::Durability::durable ? "durable" : "buffered");
  log_audit_head(journal->audit_head());
  journal->on_clock(log_clock);
  if (journal->clock_jump_ms() != 0) log_clock(journal->clock_jump_ms());
  return journal;
}

// Without a readable folder of definitions the daemon serves an empty catalog.
Result<std::unique_ptr<discovery::Discovery>> open_catalog(Loop& loop, const Options& options) {
  std::vector<std::string> servers;
  for (const auto& server : options.servers) servers.push_back(server.name);
  auto opened = discovery::Discovery::open(loop, options.catalog, servers);
  if (opened) return opened;
  log_error("serving without tool definitions: {}", opened.error().what);
  return discovery::Discovery::open(loop, "", std::move(servers));
}

}  // namespace

Result<OpenedParts> OpenedParts::open(Loop& loop, Prepared& prepared) {
  TRY(auto indexes, tenants::IndexHost::start(loop));
  TRY(auto registry, tenants::Registry::open(loop, prepared.state.get(), prepared.policies, indexes.get()));
  TRY(auto journal, open_journal(loop, prepared.options));
  TRY(auto vault_disk, WorkerThread::start(loop));
  TRY(auto skill_disk, WorkerThread::start(loop));
  TRY(auto policy_thread, WorkerThread::start(loop));
  TRY(auto discovery, open_catalog(loop, prepared.options));
  TRY(auto stubs, discovery::StubTree::start(loop, std::move(prepared.servers)));
  std::unique_ptr<FdStore> fd_store;
  if (prepared.options.connections == Options::Connections::kept) {
    TRY(fd_store, FdStore::open(loop, prepared.passed.connections));
  }
  return OpenedParts{.indexes = std::move(indexes),
                     .registry = std::move(registry),
                     .journal = std::move(journal),
                     .vault_disk = std::move(vault_disk),
                     .skill_disk = std::move(skill_disk),
                     .policy_thread = std::move(policy_thread),
                     .discovery = std::move(discovery),
                     .stubs = std::move(stubs),
                     .fd_store = std::move(fd_store)};
}
