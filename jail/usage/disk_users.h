// DiskUsers: the jails with programs that may write to the disk of the workspaces, and the files that each holds. While
// a program runs, the jailer counts its files without a name and the bytes that it has written: first after 100 ms,
// then again and again, for at most a tenth of the time. A program of some milliseconds is never counted.
// Source: Jail::use_disk(). Used by: supervisor/records/disk/disk_floor.h, which ends the largest writer of a full
// disk. Errors: a jail that cannot be counted keeps its last numbers, and the log says so once.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "jail/held_files.h"
#include "jail/jailer_client/jailer_client.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/loop.h"

namespace jail {

struct DiskSize {
  uint64_t bytes = 0, files = 0;
};

// The account of a jail's files. The functions are optional.
struct DiskAccount {
  std::string owner;  // for the log: "execution 5f.. of tenant a"
  // Called with each count, and with zeros when the jail holds no file any more. Empty: only the floor is watched.
  std::function<void(const HeldFiles&)> holds;
  std::function<DiskSize()> named;  // the files with names in the jail's folder now
};

class DiskUsers;

// One jail in the list, from its first program to its end.
class DiskUse {
 public:
  using Pace = std::chrono::milliseconds;
  static constexpr Pace kProgram{100}, kServer{500}, kBetweenPrograms{1000};

  // `pidfd`: of the jail's init, borrowed. The list must outlive the object.
  DiskUse(DiskUsers& users, int pidfd, DiskAccount account);
  ~DiskUse();
  DiskUse(const DiskUse&) = delete;

  // How often the jail is counted from now on. Zero: not at all, for a frozen jail.
  void set_pace(Pace pace);
  // What ends this jail when the disk is nearly full.
  void set_end(std::function<void()> end) { end_ = std::move(end); }
  // The call may destroy this object.
  void end() const;

  const HeldFiles& reserved() const { return held_files_; }
  const std::string& owner() const { return account_.owner; }
  // What the jail has taken of the disk since it is in the list: the files that it holds and the growth of its folder,
  // or the bytes that it has written, whichever is more.
  DiskSize claimed() const;
  int pidfd() const { return pidfd_; }
  uint64_t number() const { return number_; }  // no other jail of this process has it

 private:
  friend class DiskUsers;
  void take(const HeldFiles& files);

  DiskUsers& users_;
  const int pidfd_;
  const uint64_t number_;
  DiskAccount account_;
  DiskSize named_before_;
  HeldFiles held_files_;
  std::function<void()> end_;
  Pace pace_ = kProgram;
  Monotonic::time_point next_;
};

class DiskUsers {
 public:
  // Both must outlive the list.
  DiskUsers(Loop& loop, JailerClient& jailer) : loop_(loop), jailer_(jailer), tasks_(loop) {}

  // Called when a jail enters the empty list.
  void on_first(std::function<void()> call) { first_ = std::move(call); }
  const std::vector<DiskUse*>& uses() const { return uses_; }
  // nullptr: the jail is not in the list any more.
  DiskUse* find(uint64_t number) const;
  // Counts each jail that is not frozen, now. The list may change meanwhile.
  Task<> count_all();

 private:
  friend class DiskUse;
  void add(DiskUse& use);
  void remove(DiskUse& use);
  Task<> watch();
  Task<> count(uint64_t number);

  Loop& loop_;
  JailerClient& jailer_;
  std::function<void()> first_;
  std::vector<DiskUse*> uses_;
  uint64_t last_number_ = 0;
  size_t counting_ = 0;
  bool is_watching_ = false, has_complained_ = false;
  Scope tasks_;  // last: cancelled first
};

}  // namespace jail
