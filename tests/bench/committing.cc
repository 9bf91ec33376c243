// What a staged execution costs after its program: reading the proposal, the diff, the commit and the undo of N changed
// files, beside `cp -a` of these files. The staged files are new on the disk each time, as a program leaves them.
//   commit-bench [--judge FACTOR] [FILES [ROUNDS]]
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>

#include "supervisor/base/path.h"
#include "supervisor/tenants/proposals/proposal_folder.h"
#include "tests/judge.h"
#include "tests/temp_directory.h"

namespace fs = std::filesystem;

namespace {

constexpr char kId[] = "p0000000000000001";

double timed_ms(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void fill(const fs::path& root, unsigned files, char letter) {
  for (unsigned i = 0; i < files; i++) {
    const fs::path folder = root / ("d" + std::to_string(i % 20));
    fs::create_directories(folder);
    std::ofstream(folder / ("f" + std::to_string(i))) << std::string(4000, letter);
  }
}

void copy_all(const fs::path& from, const fs::path& to) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execlp("cp", "cp", "-a", from.c_str(), to.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) < 0 || status != 0) std::exit(1);
}

struct Round {
  double copy, settle, diff, commit, undo;
};

Round measure(unsigned files) {
  TempDirectory temp;
  const fs::path workspace = temp.path() / "workspace", staging = temp.path() / "staging";
  fs::create_directories(staging / kId / "w");
  fill(workspace, files, 'a');
  fill(staging / kId / "u", files, 'b');
  const Fd workspace_fd = open_directory(workspace.string()).value();
  const Fd staging_fd = open_directory(staging.string()).value();
  auto folder = proposals::ProposalFolder::open(staging_fd.get(), workspace_fd.get(), kId).value();
  Round round;
  round.settle = timed_ms([&] { (void)folder.settle({"bench", "python", 0}, {}, 0, 0).value(); });
  round.diff = timed_ms([&] { (void)folder.diff(256 << 10).value(); });
  round.commit = timed_ms([&] {
    if (!folder.commit({}).value().is_committed) std::exit(1);
  });
  round.undo = timed_ms([&] {
    if (!folder.undo().value().is_undone) std::exit(1);
  });
  // Last, as a commit waits for all that is not on the disk yet.
  round.copy = timed_ms([&] { copy_all(staging / kId / "u", temp.path() / "copy"); });
  return round;
}

}  // namespace

int main(int argc, char** argv) {
  Judge judge(argc, argv);
  const unsigned files = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1000;
  const unsigned rounds = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 9;
  if (files == 0 || rounds == 0) return 2;
  std::vector<double> copy, settle, diff, commit, undo, ratio;
  for (unsigned i = 0; i < rounds; i++) {
    const Round round = measure(files);
    copy.push_back(round.copy), settle.push_back(round.settle), diff.push_back(round.diff);
    commit.push_back(round.commit), undo.push_back(round.undo), ratio.push_back(round.commit / round.copy);
  }
  fmt::print("{} changed files, median of {} rounds\n", files, rounds);
  fmt::print("cp -a of them    {:8.1f} ms\n", median(copy));
  fmt::print("read and record  {:8.1f} ms\n", median(settle));
  fmt::print("diff of 256 KiB  {:8.1f} ms\n", median(diff));
  fmt::print("commit           {:8.1f} ms, {:.2f} of cp -a\n", median(commit), median(ratio));
  fmt::print("undo             {:8.1f} ms\n", median(undo));
  judge.at_most("commit as a part of cp -a", median(ratio), 0.5);
  return judge.satisfied() ? 0 : 1;
}
