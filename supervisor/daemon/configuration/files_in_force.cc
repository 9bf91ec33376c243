#include "supervisor/daemon/configuration/files_in_force.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "supervisor/base/log.h"

namespace configuration {
namespace {

constexpr size_t kMaxPathBytesShown = 1024;  // bytes of a path or list of another program

std::string shown_file(const std::string& path) {
  return path.empty() ? "no file" : printable(path, kMaxPathBytesShown);
}
std::string shown_folders(const std::vector<std::string>& folders) {
  return folders.empty() ? "no folder" : printable(fmt::format("{}", fmt::join(folders, ":")), kMaxPathBytesShown);
}

}  // namespace

FilesInForce files_of(const Invocation& invocation, const Options& options) {
  const std::string& named = invocation.flags.config;
  return {named.empty() ? default_file(invocation) : absolute_path(named, invocation), options.state, options.policies};
}

Result<> expect_same_files(const FilesInForce& own, const FilesInForce& daemons) {
  CHECKED(expect_main_file(own.main, daemons.main));
  CHECKED(expect_policy_folders(own.policies, daemons.policies));
  if (own.state == daemons.state) return {};
  return fail(Code::invalid,
              fmt::format("the daemon has the state folder {}, and this command would use {}",
                          shown_file(daemons.state), shown_file(own.state)),
              "name the daemon's folder, with --state or in its configuration");
}

Result<> expect_main_file(const std::string& own, const std::string& daemons) {
  if (own == daemons) return {};
  return fail(Code::invalid,
              fmt::format("the daemon reads the configuration {}, and this command would use {}", shown_file(daemons),
                          shown_file(own)),
              daemons.empty()
                  ? "start the daemon with --config FILE, and give the same flag here"
                  : "give the daemon's file: --config " + shown_file(daemons) + "; or reach another daemon: --bus");
}

Result<> expect_policy_folders(const std::vector<std::string>& own, const std::vector<std::string>& daemons) {
  if (own == daemons) return {};
  return fail(Code::invalid,
              fmt::format("the daemon reads the policies in {}, and this command would use {}", shown_folders(daemons),
                          shown_folders(own)),
              "name the daemon's folders, with --policies or in its configuration");
}

}  // namespace configuration
