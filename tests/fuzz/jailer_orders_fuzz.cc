// What a daemon that was taken over asks of its jailer: orders that are right but for what the input changes in them,
// and descriptors of all kinds. The judge must allow just those that a plain list of what is right allows. Each order
// is its type, a number of changes, and of each change: what, how, and a value of four bytes.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <initializer_list>

#include "jail/jailer/order_check.h"
#include "jail/plan.h"
#include "supervisor/base/project_quota.h"

namespace {

using jail::Order;
using jail::OrderType;
namespace fs = std::filesystem;

constexpr jail::IdRange kIds{1'000'000, 10};
constexpr uint32_t kRunner = 1'000'003;
constexpr size_t kMaxOrders = 64;

void require(bool holds) {
  if (!holds) std::abort();
}

enum Thing : uint32_t {
  plan_of_jail,
  plan_of_zygote,
  plan_of_fork,
  open_plan,
  short_plan,
  packets,
  stream,
  datagrams,
  internet,
  reading,
  writing,
  workspace,
  single,
  parents,
  elsewhere,
  root,
  link_to_workspace,
  file,
  template_of_jails,
  proc,
  event,
  counter,
  jail_init,
  zygote_init,
  stranger,
  ourselves,
  dead,
  things
};

int make_plan(jail::Role role, int seals, size_t size) {
  static jail::Plan plan{};
  plan.role = role;
  const int fd = ::memfd_create("plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  require(::write(fd, &plan, size) == static_cast<ssize_t>(size) && ::fcntl(fd, F_ADD_SEALS, seals) == 0);
  return fd;
}

pid_t make_child() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) ::pause();
  }
  return pid;
}

int pidfd_of(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

// Made once; the folder is left to whoever empties temporary ones.
struct Scene {
  int fd[things];
  pid_t jail = make_child(), zygote = make_child(), other = make_child();
  uint64_t inode = 0, single_inode = 0;

  Scene() {
    std::string name = (fs::temp_directory_path() / "warder-fuzz-XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr);
    const fs::path top = name;
    for (const char* folder : {"tenants/a/workspace", "single", "elsewhere", "template"})
      fs::create_directories(top / folder);
    fs::create_directory_symlink(top / "tenants/a/workspace", top / "tenants/link");
    auto open = [&](const fs::path& path) { return ::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC); };
    constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    fd[plan_of_jail] = make_plan(jail::Role::jail, kSeals, sizeof(jail::Plan));
    fd[plan_of_zygote] = make_plan(jail::Role::zygote, kSeals, sizeof(jail::Plan));
    fd[plan_of_fork] = make_plan(jail::Role::forked, kSeals, sizeof(jail::Plan));
    fd[open_plan] = make_plan(jail::Role::jail, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE, sizeof(jail::Plan));
    fd[short_plan] = make_plan(jail::Role::jail, kSeals, sizeof(jail::Plan) - 1);
    fd[packets] = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    fd[stream] = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    fd[datagrams] = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    fd[internet] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int ends[2];
    require(::pipe2(ends, O_CLOEXEC) == 0);
    fd[reading] = ends[0];
    fd[writing] = ends[1];
    fd[workspace] = open(top / "tenants/a/workspace");
    fd[single] = open(top / "single");
    fd[parents] = open(top / "tenants");
    fd[elsewhere] = open(top / "elsewhere");
    fd[root] = open("/");
    fd[link_to_workspace] = open(top / "tenants/link");
    fd[file] = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    fd[template_of_jails] = open(top / "template");
    fd[proc] = ::open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fd[event] = ::eventfd(0, EFD_CLOEXEC);
    fd[counter] = ::memfd_create("none", MFD_CLOEXEC);
    fd[jail_init] = pidfd_of(jail);
    fd[zygote_init] = pidfd_of(zygote);
    fd[stranger] = pidfd_of(other);
    fd[ourselves] = pidfd_of(::getpid());
    const pid_t short_lived = make_child();
    fd[dead] = pidfd_of(short_lived);
    ::kill(short_lived, SIGKILL);
    ::waitpid(short_lived, nullptr, 0);
    for (const int value : fd) require(value >= 0);
    struct stat info {};
    require(::fstat(fd[workspace], &info) == 0);
    inode = info.st_ino;
    require(::fstat(fd[single], &info) == 0);
    single_inode = info.st_ino;
  }

  Fd copy(uint32_t thing) const { return Fd(::fcntl(fd[thing], F_DUPFD_CLOEXEC, 3)); }

  jail::OrderCheck make_check() const {
    jail::OrderRules rules;
    rules.separated = rules.maps_mounts = true;
    rules.ids = kIds;
    rules.daemon_uid = ::geteuid();
    rules.daemon_gid = ::getegid();
    std::vector<Fd> above, alone;
    above.push_back(copy(parents));
    alone.push_back(copy(single));
    auto folders = jail::AllowedFolders::make(std::move(above), alone, rules.daemon_uid);
    require(folders.has_value());
    jail::OrderCheck check(rules, *std::move(folders));
    check.add_jail(jail, copy(jail_init), kRunner, jail::Role::jail);
    check.add_jail(zygote, copy(zygote_init), kRunner, jail::Role::zygote);
    return check;
  }
};

struct Sent {
  Order order{};
  std::vector<uint32_t> things;
};

Sent right_order(const Scene& scene, uint8_t type) {
  Sent sent;
  Order& order = sent.order;
  order.type = static_cast<OrderType>(type % 8);
  order.init_id = kIds.init();
  order.runner_id = kRunner;
  order.owner_uid = ::geteuid();
  order.owner_gid = ::getegid();
  order.map_ids = 1;
  order.project = kFirstProject + static_cast<uint32_t>(scene.inode);
  switch (order.type) {
    case OrderType::build:
      sent.things = {plan_of_jail, packets, packets, writing, writing};
      break;
    case OrderType::attach:
      sent.things = {jail_init, workspace};
      break;
    case OrderType::end:
    case OrderType::count_files:
      sent.things = {jail_init};
      break;
    case OrderType::lower_priority:
      sent.things = {jail_init, stranger};
      order.nice = 10;
      break;
    default:
      sent.things = {workspace};
  }
  return sent;
}

void change(const Scene& scene, Sent& sent, uint8_t kind, uint8_t how, uint32_t value) {
  Order& order = sent.order;
  uint32_t identity = static_cast<uint32_t>(order.identity), type = static_cast<uint32_t>(order.type);
  uint32_t* words[] = {&identity,        &order.init_id,     &order.runner_id,  &order.wanted,
                       &order.crowded,   &order.owner_uid,   &order.owner_gid,  &order.map_ids,
                       &order.read_only, &order.project,     &order.has_cgroup, &type,
                       &order.nice,      &order.session_nice};
  constexpr size_t kWords = std::size(words);
  if (kind %= kWords + 8; kind < kWords) {
    const uint32_t hows[] = {value,
                             *words[kind] + 1,
                             *words[kind] - 1,
                             kIds.daemon(),
                             kIds.init(),
                             0,
                             1,
                             static_cast<uint32_t>(kFirstProject + scene.single_inode)};
    *words[kind] = hows[how % std::size(hows)];
    order.identity = static_cast<jail::Identity>(identity);
    order.type = static_cast<OrderType>(type);
  } else if (const size_t index = kind - kWords; index < sent.things.size()) {
    sent.things[index] = value % things;
  } else if (index == 6 && !sent.things.empty()) {
    sent.things.pop_back();
  } else {
    sent.things.insert(sent.things.end(), 1 + how % 9, value % things);
  }
}

bool is_one_of(uint32_t thing, std::initializer_list<Thing> list) {
  return std::any_of(list.begin(), list.end(), [thing](Thing item) { return item == thing; });
}

// What may be done, said once more and in another way.
bool is_right(const Scene& scene, const Sent& sent, bool attached) {
  const auto& [order, with] = sent;
  const bool ours = order.owner_uid == ::geteuid() && order.owner_gid == ::getegid();
  if (order.has_cgroup > 1 || order.map_ids > 1 || order.read_only > 1 || order.wanted > 1 || order.crowded > 1)
    return false;
  switch (order.type) {
    case OrderType::build:
      return order.has_cgroup == 0 && order.identity == jail::Identity::separated && order.init_id == 1'000'000 &&
             order.runner_id >= 1'000'001 && order.runner_id <= 1'000'008 && with.size() == 5 &&
             is_one_of(with[0], {plan_of_jail, plan_of_zygote}) && is_one_of(with[1], {packets, stream}) &&
             with[2] == packets && with[3] == writing && with[4] == writing;
    case OrderType::attach:
      return with.size() == 2 && with[0] == jail_init && is_one_of(with[1], {workspace, single}) && ours &&
             order.runner_id == kRunner && order.map_ids == 1 && !attached;
    case OrderType::end:
      return with.size() == 1 && is_one_of(with[0], {jail_init, zygote_init});
    case OrderType::count_files:
      return with.size() == 1 && with[0] == jail_init && attached;
    case OrderType::probe_idmap:
      return with.size() == 1 && is_one_of(with[0], {workspace, single}) && ours && order.map_ids == 1 &&
             order.runner_id >= 1'000'001 && order.runner_id <= 1'000'008;
    case OrderType::limit_project:
      return with.size() == 1 && with[0] == workspace && scene.inode < kFirstProject &&
             order.project == kFirstProject + scene.inode;
    case OrderType::lower_priority:
      return !with.empty() && with.size() <= 65 && is_one_of(with[0], {jail_init, zygote_init}) && order.nice <= 19 &&
             order.session_nice <= 19;
    default:
      return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Scene scene;
  jail::OrderCheck check = scene.make_check();
  bool attached = false;
  const uint8_t* const end = data + size;
  for (size_t orders = 0; orders < kMaxOrders && end - data >= 2; orders++) {
    Sent sent = right_order(scene, data[0]);
    const int changes = data[1] % 4;
    data += 2;
    for (int i = 0; i < changes && end - data >= 6; i++, data += 6) {
      uint32_t value;
      std::memcpy(&value, data + 2, sizeof value);
      change(scene, sent, data[0], data[1], value);
    }
    std::vector<Fd> fds;
    for (const uint32_t thing : sent.things) fds.push_back(scene.copy(thing));
    const jail::OrderVerdict verdict = check.judge(sent.order, fds);
    const bool right = is_right(scene, sent, attached);
    require(static_cast<bool>(verdict) == right);
    if (!right) {
      require(verdict.error == EPERM || verdict.error == EINVAL || verdict.error == ESRCH);
      require(verdict.why != nullptr && *verdict.why != '\0' && verdict.jail == nullptr);
      continue;
    }
    if (sent.order.type == OrderType::attach) attached = verdict.jail->attached;
    if (sent.order.type == OrderType::attach) require(attached && verdict.jail->pid == scene.jail);
    if (sent.order.type == OrderType::build)
      require((verdict.role == jail::Role::zygote) == (sent.things[0] == plan_of_zygote));
  }
  return 0;
}
