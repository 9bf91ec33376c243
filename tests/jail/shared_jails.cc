#include "tests/jail/shared_jails.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>

#include "jail/usage/process_tree.h"
#include "tests/jail/descriptors.h"

namespace {

size_t processes_with_ids(uint32_t first, uint32_t count) {
  size_t total = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    struct stat info {};
    if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos) continue;
    if (::stat(entry.path().c_str(), &info) == 0 && info.st_uid - first < count) total++;
  }
  return total;
}

size_t lines_of(const char* path) {
  std::ifstream in(path);
  size_t lines = 0;
  for (std::string line; std::getline(in, line);) lines++;
  return lines;
}

}  // namespace

JailFixture& jails() {
  static JailFixture fixture;
  if (fixture.leaks()) {  // jails can be made and do not hold: that is no reason to skip
    std::fprintf(stderr, "%s\n", fixture.problem().c_str());
    std::exit(1);
  }
  if (!fixture.problem().empty()) {
    std::printf("SKIPPED-ALL-NEEDS a machine that can make jails: %s\n", fixture.problem().c_str());
    std::fflush(stdout);
    std::exit(0);
  }
  return fixture;
}

size_t SideBySide::start(jail::Request request) {
  answers_.emplace_back();
  auto execute = [](JailFixture& fixture, jail::Request requested,
                    std::optional<Result<jail::Report>>& answer) -> Task<> {
    auto report = co_await jail::execute(fixture.host(), std::move(requested));
    answer.emplace(std::move(report));
  };
  scope_.spawn(execute(fixture_, std::move(request), answers_.back()));
  return answers_.size() - 1;
}

jail::Report& SideBySide::answer(size_t index) {
  if (!run_until(
          fixture_.loop(), [&] { return answered(index); }, std::chrono::seconds(60)))
    throw std::runtime_error(fmt::format("execution {} did not end", index));
  auto& answer = *answers_[index];
  if (!answer) throw std::runtime_error(answer.error().what);
  return *answer;
}

std::optional<size_t> processes_of_runners(JailFixture& fixture) {
  const auto& host = fixture.host();
  if (host.identity != jail::Identity::separated || !host.map_workspace_ids) return std::nullopt;
  size_t remaining = 0;
  run_until(
      fixture.loop(),
      [&] { return (remaining = processes_with_ids(host.ids.first_runner(), host.ids.runners())) == 0; },
      std::chrono::seconds(5));
  return remaining;
}

namespace {

Census take_census(JailFixture& fixture) {
  Census census;
  census.descriptors = open_descriptors();
  const auto& host = fixture.host();
  census.processes = host.identity == jail::Identity::separated
                         ? processes_with_ids(host.ids.first, host.ids.count)
                         : jail::read_process_tree(::getpid()).tasks - 1;  // the jailer
  census.mounts = lines_of("/proc/self/mountinfo");
  census.tasks = fixture.loop().live_tasks();
  return census;
}

// Threads start with their first job, and have a descriptor each.
void start_threads(JailFixture& fixture) {
  auto read_tree = [](jail::Host& host) -> Task<> { (void)co_await host.trees.read(::getpid()); };
  auto work = [](jail::Host& host, std::string owner) -> Task<> {
    Work::Owner user{std::move(owner)};
    std::function<Result<bool>()> job = [] { return Result<bool>(true); };
    (void)co_await host.work.run(std::move(user), 0, std::move(job));
  };
  fixture.loop().spawn(read_tree(fixture.host()));
  for (const char* owner : {"first", "second"}) fixture.loop().spawn(work(fixture.host(), owner));
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Census& census) {
  return out << census.descriptors << " descriptors, " << census.processes << " processes, " << census.mounts
             << " mounts, " << census.tasks << " tasks";
}

Census census_at_rest(JailFixture& fixture) {
  start_threads(fixture);
  run_until(fixture.loop(), [&] {
    auto census = take_census(fixture);
    return census.tasks == 0 && census.processes == 0;
  });
  return take_census(fixture);
}

Census settle(JailFixture& fixture, const Census& requested) {
  Census census;
  run_until(fixture.loop(), [&] {
    census = take_census(fixture);
    return census == requested;
  });
  return census;
}
