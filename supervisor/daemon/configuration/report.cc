#include "supervisor/daemon/configuration/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace configuration {

CheckReport report_of(const LoadedConfiguration& loaded) {
  CheckReport report;
  for (const auto& problem : loaded.notes.problems) report.bad += problem + "\n";
  for (const auto& shortfall : loaded.notes.shortfalls)
    report.bad += "a start does without it: " + shortfall.text + "\n";
  for (const auto& warning : loaded.notes.warnings) report.bad += "warning: " + warning + "\n";
  if (!loaded.complete()) return report;
  const auto files = loaded.document.files();
  report.good = fmt::format("good: {}; policies {}; {} upstream servers\n",
                            files.empty() ? "no configuration file" : fmt::format("{}", fmt::join(files, ", ")),
                            fmt::join(loaded.policies->names(), ", "), loaded.options.servers.size());
  return report;
}

Json report_json(const LoadedConfiguration& loaded) {
  Json servers = Json::array();
  for (const auto& server : loaded.options.servers) servers.push_back(server.name);
  return {{"good", loaded.complete()},
          {"problems", loaded.notes.problems},
          {"shortfalls", texts_of(loaded.notes.shortfalls)},
          {"warnings", loaded.notes.warnings},
          {"files", loaded.document.files()},
          {"policies", loaded.policies ? loaded.policies->names() : std::vector<std::string>{}},
          {"servers", std::move(servers)}};
}

}  // namespace configuration
