// StagedScene: a workspace, a staging folder, and programs that see the workspace through a real overlay: mounted in a
// child with a user and a mount namespace of its own, as in a jail. Where such mounts are not possible, tests say so.
// run_killed(): a commit or an undo in a child that dies before one of its steps.
#pragma once
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>

#include "supervisor/base/path.h"
#include "supervisor/tenants/proposals/proposal_folder.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"

inline void put(const std::filesystem::path& file, std::string_view text) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}
inline std::string get(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

enum class WithTimes { no, yes };
// A whole tree as text: names, kinds, modes, contents, links, attributes, and times if asked for.
inline std::string picture(const std::filesystem::path& root, WithTimes times = WithTimes::no) {
  std::map<std::string, std::string> entries;
  std::function<void(const std::string&)> read = [&](const std::string& below) {
    const std::filesystem::path folder = root / below;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name =
          below.empty() ? entry.path().filename().string() : below + "/" + entry.path().filename().string();
      struct stat info;
      if (::lstat(entry.path().c_str(), &info) < 0) continue;
      std::ostringstream display;
      display << std::oct << (S_ISLNK(info.st_mode) ? S_IFLNK : info.st_mode) << std::dec;
      if (S_ISREG(info.st_mode)) display << " " << get(entry.path());
      if (S_ISLNK(info.st_mode)) display << " -> " << std::filesystem::read_symlink(entry.path()).string();
      char marks[1024];
      const ssize_t size = ::llistxattr(entry.path().c_str(), marks, sizeof marks);
      if (size > 0) display << " marks " << std::string(marks, static_cast<size_t>(size));
      if (times == WithTimes::yes) display << " at " << info.st_mtim.tv_sec << "." << info.st_mtim.tv_nsec;
      entries[name] = display.str();
      if (S_ISDIR(info.st_mode)) read(name);
    }
  };
  read("");
  if (times == WithTimes::yes) {
    struct stat info;
    ::stat(root.c_str(), &info);
    entries["."] = std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec);
  }
  std::string text;
  for (const auto& [name, displayed] : entries) text += name + " " + displayed + "\n";
  return text;
}

inline void write_text(const char* path, const std::string& text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || ::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) ::_exit(70);
  ::close(fd);
}

struct StagedScene {
  TempDirectory temp;
  std::filesystem::path workspace = temp.path() / "workspace", staging = temp.path() / "staging";
  std::string merged;  // the picture of the workspace as the last program left it in its view
  Fd workspace_fd, staging_fd;

  StagedScene() {
    std::filesystem::create_directories(workspace);
    std::filesystem::create_directories(staging);
    workspace_fd = open_directory(workspace.string()).value();
    staging_fd = open_directory(staging.string()).value();
  }

  static std::string id(unsigned number = 1) {
    char text[32];
    std::snprintf(text, sizeof text, "p%016x", number);
    return text;
  }
  std::filesystem::path folder(unsigned number = 1) const { return staging / id(number); }
  std::filesystem::path upper(unsigned number = 1) const { return folder(number) / "u"; }

  // Runs `program` in a child, in its view of the workspace. False: this machine mounts no overlay for us.
  bool run(const std::function<void()>& program, unsigned number = 1) {
    for (const char* name : {"u", "w"}) std::filesystem::create_directories(folder(number) / name);
    return run_in(folder(number), program);
  }
  // The same for the folder that a store has made.
  bool run_in(const std::filesystem::path& location, const std::function<void()>& program) {
    const std::filesystem::path view = temp.path() / "view", displayed = temp.path() / "shown";
    std::filesystem::create_directories(view);
    const uid_t uid = ::geteuid();
    const gid_t gid = ::getegid();
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) ::_exit(77);
      if (::access("/proc/self/setgroups", W_OK) == 0) write_text("/proc/self/setgroups", "deny");
      write_text("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1");
      write_text("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1");
      const std::string options =
          "userxattr,volatile,redirect_dir=nofollow,metacopy=off,index=off,lowerdir=" + workspace.string() +
          ",upperdir=" + (location / "u").string() + ",workdir=" + (location / "w").string();
      if (::mount("overlay", view.c_str(), "overlay", MS_NOSUID | MS_NODEV, options.c_str()) < 0) ::_exit(77);
      if (::chdir(view.c_str()) < 0) ::_exit(71);
      program();
      put(displayed, picture("."));
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
      WARN("SKIPPED-NEEDS overlay mounts with userxattr in a user namespace");
      return false;
    }
    REQUIRE(WEXITSTATUS(status) == 0);
    merged = get(displayed);
    return true;
  }

  proposals::ProposalFolder open(unsigned number = 1) {
    return proposals::ProposalFolder::open(staging_fd.get(), workspace_fd.get(), id(number)).value();
  }
  proposals::Proposal settle(unsigned number = 1, tenants::Changes base_changed = {}) {
    proposals::BaseChanges changes{std::move(base_changed), tenants::coarse_now_ns()};
    auto settled = open(number).settle({"e1", "python", 1}, changes, 2, 3);
    INFO((settled ? "" : settled.error().what));
    REQUIRE(settled);
    return *std::move(settled);
  }
  proposals::CommitReport commit(std::vector<std::string> paths = {}, unsigned number = 1) {
    auto report = open(number).commit(paths);
    INFO((report ? "" : report.error().what));
    REQUIRE(report);
    return *std::move(report);
  }
  proposals::UndoReport undo(unsigned number = 1) {
    auto report = open(number).undo();
    INFO((report ? "" : report.error().what));
    REQUIRE(report);
    return *std::move(report);
  }
};

enum class Ended { killed, by_itself };
// Runs `work` in a child that dies before the first step at which `dies` is true.
inline Ended run_killed_when(const std::function<bool()>& dies,
                             const std::function<bool(const proposals::CommitHooks&)>& work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    proposals::CommitHooks hooks;
    hooks.before_step = [&] {
      if (dies()) ::kill(::getpid(), SIGKILL);
    };
    ::_exit(work(hooks) ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) return Ended::killed;
  REQUIRE(WEXITSTATUS(status) == 0);
  return Ended::by_itself;
}
// The same before step `at`.
inline Ended run_killed(unsigned at, const std::function<bool(const proposals::CommitHooks&)>& work) {
  unsigned step = 0;
  return run_killed_when([&] { return ++step == at; }, work);
}

inline std::string paths_of(const proposals::StagedFiles::List& list) {
  std::string text;
  for (const auto& file : list.files) text += (text.empty() ? "" : " ") + file.path;
  return text;
}
inline std::string shown_conflicts(const proposals::PathConflicts& conflicts) {
  std::string text;
  for (const auto& item : conflicts.listed) text += item.path + ": " + item.why + "\n";
  return text;
}
