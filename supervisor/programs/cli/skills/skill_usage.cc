// The command `warder skill usage`: which code and which skills are used often, over D-Bus.
#include <algorithm>
#include <cstdio>

#include "supervisor/programs/cli/admin/bus_client.h"
#include "supervisor/programs/cli/admin/text.h"
#include "supervisor/programs/cli/admin/times.h"
#include "supervisor/programs/cli/amounts.h"
#include "supervisor/programs/cli/skills/commands.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

constexpr size_t kHashShown = 12;  // characters

Line counts_of(const Json& use) {
  return {std::to_string(number(use, "Runs")), std::to_string(number(use, "Succeeded")),
          known_usec_text(known_number(use, "MeanWallUSec")),
          local_time(static_cast<int64_t>(number(use, "LastUSec") / 1000)), text(use, "LastExecution")};
}

std::vector<Column> with_counts(std::vector<Column> columns) {
  for (const char* title : {"RUNS", "OK", "MEAN"}) columns.push_back({title, Align::right});
  columns.push_back({"LAST USED"});
  columns.push_back({"LAST EXECUTION"});
  return columns;
}

void print_lines(const std::vector<Column>& columns, const std::vector<Line>& lines) {
  for (const auto& line : table(columns, lines, terminal_width())) std::printf("%s\n", line.c_str());
}

void print_programs(const Json& programs) {
  if (programs.empty()) {
    cli::print_text(stdout, "no program ran more than once\n");
    return;
  }
  std::vector<Line> lines;
  for (const Json& one : programs) {
    Line line = {text(one, "Tenant"), text(one, "Hash").substr(0, kHashShown), text(one, "Language"),
                 bytes_text(number(one, "Bytes"))};
    for (std::string& cell : counts_of(one)) line.push_back(std::move(cell));
    line.push_back(member(one, "IsReadable") == true ? "yes" : "no");
    lines.push_back(std::move(line));
  }
  auto columns =
      with_counts({{"TENANT", Align::left, Fit::shrinks}, {"PROGRAM"}, {"LANGUAGE"}, {"BYTES", Align::right}});
  columns.push_back({"CODE"});
  print_lines(columns, lines);
}

void print_skills(const Json& skills) {
  if (skills.empty()) {
    cli::print_text(stdout, "no program used a skill\n");
    return;
  }
  std::vector<Line> lines;
  for (const Json& one : skills) {
    Line line = {text(one, "Tenant"), text(one, "Skill"), member(one, "IsShared") == true ? "shipped" : "own"};
    for (std::string& cell : counts_of(one)) line.push_back(std::move(cell));
    lines.push_back(std::move(line));
  }
  print_lines(with_counts({{"TENANT", Align::left, Fit::shrinks}, {"SKILL"}, {"FROM"}}), lines);
}

}  // namespace

Result<int> show_code_use(const ParsedCommand& given) {
  static const cli::AmountRange kLimit{"lines", 1, 500, "--limit 20"};
  double most = 20;
  if (given.has("limit")) {
    TRY(most, cli::parse_amount(given.value("limit", ""), kLimit));
  }
  TRY(const BusClient warderd, BusClient::connect(given.bus));
  TRY(const Json both,
      warderd.call(kPath, kManager, "ListCodeUse", {"su", {given.value("tenant", ""), static_cast<uint32_t>(most)}}));
  const Json &programs = element(both, 0), &skills = element(both, 1);
  if (given.json) {
    for (const Json& one : programs) print_json({{"program", one}});
    for (const Json& one : skills) print_json({{"skill", one}});
    return 0;
  }
  print_programs(programs);
  std::printf("\n");
  print_skills(skills);
  return 0;
}

}  // namespace admin
