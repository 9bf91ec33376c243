#include "jail/jailer/living_jails.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "jail/pidfd.h"

namespace jail {

namespace {
constexpr size_t kChecked = 4;  // per added jail: so at most about a quarter of the table is dead
}  // namespace

// Looks at the next `count` jails of the table and removes the dead among them.
void LivingJails::forget_dead(size_t count) {
  count = std::min(count, jails_.size());
  for (auto jail = jails_.upper_bound(last_checked_); count > 0; count--) {
    if (jail == jails_.end()) jail = jails_.begin();
    last_checked_ = jail->first;
    jail = is_alive(jail->second.pidfd.get()) ? std::next(jail) : jails_.erase(jail);
  }
}

bool LivingJails::has_room() {
  forget_dead(jails_.size() < kMax ? kChecked : kMax);
  return jails_.size() < kMax;
}

LivingJail& LivingJails::add(int pid, Fd pidfd, uint32_t runner_id, Role role) {
  LivingJail& jail = jails_[pid];  // an earlier jail with this number is dead
  jail = LivingJail{pid, std::move(pidfd), runner_id, role};
  return jail;
}

// A living process has had its number since it was created. So a process that had this number after the jail was
// added, and before the jail was seen alive here, is the jail's init.
LivingJail* LivingJails::find(int pid) {
  auto it = jails_.find(pid);
  if (it == jails_.end()) return nullptr;
  if (is_alive(it->second.pidfd.get())) return &it->second;
  jails_.erase(it);
  return nullptr;
}

const LivingJail* LivingJails::find_home(int pid) {
  const LivingJail* jail = find(pid);
  return jail && jail->role == Role::zygote ? jail : nullptr;
}

// The ancestors of a fork: the zygote, for Node also the process that the zygote is a copy of, and the home's init,
// which adopts the children of an ended process. No process in between is the first of a pid namespace: jailed code is
// below the first process of one, and can make no namespace. All numbers that are read must belong together. A process
// that ends passes its children to another process. If the same parent is read before and after, it was alive in
// between. So the numbers are read upwards, then again downwards, and at the end the fork and the home are still alive.
const LivingJail* LivingJails::home_of_fork(int pidfd, int pid) {
  constexpr int kMaxBetween = 2;
  std::array<int, kMaxBetween + 2> line{pid};
  const auto fork = pid > 0 ? read_process(pid) : std::nullopt;
  if (!fork || fork->innermost_pid != 1) return nullptr;
  if (std::any_of(fork->uids.begin(), fork->uids.end(), [this](uint32_t uid) { return uid != init_id_; }))
    return nullptr;
  line[1] = fork->parent;
  size_t top = 1;
  while (find_home(line[top]) == nullptr) {
    const auto between = line[top] > 0 ? read_process(line[top]) : std::nullopt;
    if (!between || between->innermost_pid == 1 || top + 1 == line.size()) return nullptr;
    line[++top] = between->parent;
  }
  for (size_t i = top; i-- > 0;) {
    const auto process = read_process(line[i]);
    if (!process || process->parent != line[i + 1]) return nullptr;
  }
  return is_alive(pidfd) ? find_home(line[top]) : nullptr;
}

}  // namespace jail
