// What the jailer takes from the daemon at its start. Each wrong start differs in one thing from a right one.
#include "jail/jailer/setup.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <functional>

#include "jail/fd_message.h"
#include "jail/jailer/project_limits.h"
#include "jail/jailer_message.h"
#include "supervisor/base/fd_pair.h"
#include "tests/catch.h"

using namespace jail;

namespace {

struct SentStart {
  JailerStart start{kJailerVersion, 1, 1'000'000, 10, 990, 991, 0, 2, 0};
  std::vector<Fd> fds;
  FolderUse second_use = FolderUse::single;
  const char* second_folder = "/";
};

Fd opened(const char* path) { return Fd(::open(path, O_PATH | O_CLOEXEC)); }

// The result of the jailer's side, for a start that `change` has changed.
Result<JailerSetup> setup_after(const std::function<void(SentStart&)>& change) {
  SentStart sent;
  sent.fds.push_back(opened("/"));
  sent.fds.push_back(opened("/proc/self/exe"));
  change(sent);
  auto pair = make_sockets(SOCK_SEQPACKET, Code::internal);
  REQUIRE(pair);
  std::vector<int> fds;
  for (const Fd& fd : sent.fds) fds.push_back(fd.get());
  REQUIRE(send_message(pair->ours.get(), &sent.start, sizeof sent.start, fds));
  const Fd first = opened("/usr"), second = opened(sent.second_folder);
  const JailerFolder parent{FolderUse::workspace_parent}, single{sent.second_use};
  REQUIRE(send_message(pair->ours.get(), &parent, sizeof parent, {first.get()}));
  REQUIRE(send_message(pair->ours.get(), &single, sizeof single, {second.get()}));
  pair->ours.reset();
  return receive_setup(pair->theirs.get());
}

}  // namespace

TEST_CASE("the jailer takes its setup from the daemon", "[jail]") {
  const auto setup = setup_after([](SentStart&) {});
  REQUIRE(setup);
  CHECK(setup->privileged);
  CHECK(setup->ids.first == 1'000'000);
  CHECK(setup->ids.count == 10);
  CHECK(setup->daemon_uid == 990);
  CHECK(setup->daemon_gid == 991);
  CHECK_FALSE(setup->jails_cgroup);
  CHECK_FALSE(setup->for_journal);
  CHECK(setup->workspace_parents.size() == 1);
  CHECK(setup->single_folders.size() == 1);
  const auto with_cgroup = setup_after([](SentStart& sent) {
    sent.start.has_cgroup = 1;
    sent.fds.push_back(opened("/"));
  });
  REQUIRE(with_cgroup);
  CHECK(with_cgroup->jails_cgroup);
}

TEST_CASE("a wrong setup ends the jailer's start", "[jail]") {
  struct Row {
    std::function<void(SentStart&)> change;
    const char* error;
  };
  const Row rows[] = {
      {[](SentStart& sent) { sent.start.version++; }, "warderd and warder-jailer are of different versions"},
      {[](SentStart& sent) { sent.start.privileged = 2; }, "a flag of the start is neither 0 nor 1"},
      {[](SentStart& sent) { sent.start.has_cgroup = 2; }, "a flag of the start is neither 0 nor 1"},
      {[](SentStart& sent) { sent.start.for_journal = 2; }, "a flag of the start is neither 0 nor 1"},
      {[](SentStart& sent) { sent.start.first_id = 0; }, "the range of the jails' ids"},
      {[](SentStart& sent) { sent.start.id_count = 3; }, "the range of the jails' ids"},
      {[](SentStart& sent) { sent.start.first_id = UINT32_MAX - 9; }, "the range of the jails' ids"},
      {[](SentStart& sent) { sent.start.daemon_uid = 0; }, "the daemon's id is root's"},
      {[](SentStart& sent) { sent.start.folder_count = 4097; }, "more than 4096 folders for workspaces and servers"},
      {[](SentStart& sent) { sent.start.folder_count = 3; }, "the daemon ended before the jailer was started"},
      {[](SentStart& sent) { sent.start.has_cgroup = 1; }, "the number of the start's descriptors"},
      {[](SentStart& sent) { sent.fds.pop_back(); }, "the number of the start's descriptors"},
      {[](SentStart& sent) { sent.fds[0] = opened("/proc/self/exe"); }, "the template is not a directory"},
      {[](SentStart& sent) { sent.second_use = FolderUse{3}; },
       "a folder for workspaces or servers is not a directory of a known use"},
      {[](SentStart& sent) { sent.second_folder = "/proc/self/exe"; },
       "a folder for workspaces or servers is not a directory of a known use"},
  };
  for (const Row& row : rows) {
    const auto setup = setup_after(row.change);
    INFO(row.error);
    REQUIRE_FALSE(setup);
    CHECK(setup.error().what == row.error);
  }
}

TEST_CASE("limits of a project are an error where the file system has none", "[jail]") {
  const Fd shm(::open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!shm) {
    WARN("SKIPPED-NEEDS /dev/shm");
    return;
  }
  CHECK(set_project_limits(shm.get(), kFirstProject, {1024, 10}) != 0);
  CHECK(set_project_limits(shm.get(), 0, {1, 1}) == EINVAL);
}
