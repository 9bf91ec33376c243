// The disk of the state folder as a part of the daemon: whether it takes writes, and its free space.
#include "jail/host.h"
#include "supervisor/daemon_controls.h"
#include "supervisor/given_services.h"
#include "supervisor/operations/bus/offered_members.h"
#include "supervisor/operations/metrics/text.h"
#include "supervisor/parts.h"
#include "supervisor/records/disk/disk_floor.h"
#include "supervisor/records/disk/state_disk.h"
#include "supervisor/records/journal/journal.h"

namespace disk {
namespace {

class DiskPart final : public Part, public FindingSource, public MetricSource, public BusSource {
 public:
  DiskPart(jail::Host& host, const StateFolder& state, WorkerThread& thread, journal::Journal& journal,
           const DaemonControls& controls)
      : folder_(state.path),
        floor_(host.loop, thread, host.disk_users, state.path),
        state_disk_(
            host.loop, thread, state.path, [&journal] { return journal.failing(); },
            [this, &controls] {
              const auto& trouble = state_disk_.trouble();
              controls.show_trouble(trouble ? trouble->what : std::string());
            },
            [this](bool all) { return floor_.end_jails(all ? DiskFloor::Which::all : DiskFloor::Which::writers); }) {}

  static Result<std::unique_ptr<DiskPart>> open(jail::Host& host, StateFolder& state, StateThreads& threads,
                                                journal::Journal& journal, DaemonControls& controls) {
    auto part = std::make_unique<DiskPart>(host, state, *threads.disk, journal, controls);
    StateDisk& disk = part->state_disk_;
    journal.on_full([&disk] { return disk.relieve(); });
    return part;
  }
  std::tuple<StateDisk&> services() { return {state_disk_}; }

  Task<doctor::Findings> examine() override {
    doctor::StateDiskFacts facts;
    facts.folder = folder_;
    facts.reserve_bytes = state_disk_.reserve_bytes();
    facts.reserve_problem = state_disk_.reserve_problem();
    if (const auto& trouble = state_disk_.trouble()) {
      facts.problem = trouble->what;
      facts.remedy = trouble->remedy;
    }
    co_return doctor::Findings{doctor::judge_state_disk(facts)};
  }
  void add_bus_members(bus::OfferedMembers& members) override {
    members.add_property("DiskProblem", [this] {
      const auto& trouble = state_disk_.trouble();
      return trouble ? trouble->what : std::string();
    });
  }
  void write_metrics(metrics::OpenMetricsText& text, Reader) const override {
    text.family("warder_state_disk_failing", "gauge", "", "1 while the state folder's disk takes no writes.");
    text.sample("", {}, state_disk_.trouble() ? 1 : 0);
  }

 private:
  const std::string folder_;
  DiskFloor floor_;
  StateDisk state_disk_;
};

}  // namespace

PartEntry part() { return part_entry_of("disk", DiskPart::open); }

}  // namespace disk
