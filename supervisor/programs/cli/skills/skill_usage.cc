// The command `warder skill usage`: which code and which skills are used often, over D-Bus.
#include <algorithm>
#include <cstdio>

#include "supervisor/programs/cli/admin/bus_client.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/text.h"
#include "supervisor/programs/cli/admin/times.h"
#include "supervisor/programs/cli/amounts.h"
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
  for (const Json& program : programs) {
    Line line = {text(program, "Tenant"), text(program, "Hash").substr(0, kHashShown), text(program, "Language"),
                 bytes_text(number(program, "Bytes"))};
    for (std::string& cell : counts_of(program)) line.push_back(std::move(cell));
    line.push_back(member(program, "IsReadable") == true ? "yes" : "no");
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
  for (const Json& skill : skills) {
    Line line = {text(skill, "Tenant"), text(skill, "Skill"), member(skill, "IsShared") == true ? "shipped" : "own"};
    for (std::string& cell : counts_of(skill)) line.push_back(std::move(cell));
    lines.push_back(std::move(line));
  }
  print_lines(with_counts({{"TENANT", Align::left, Fit::shrinks}, {"SKILL"}, {"FROM"}}), lines);
}

}  // namespace

Result<int> show_code_use(const ParsedCommand& command) {
  static const cli::AmountRange kLimit{"lines", 1, 500, "--limit 20"};
  double max = 20;
  if (command.has("limit")) {
    TRY(max, cli::parse_amount(command.value("limit", ""), kLimit));
  }
  TRY(const BusClient warderd, BusClient::connect(command.bus));
  TRY(const Json both,
      warderd.call(kPath, kManager, "ListCodeUse", {"su", {command.value("tenant", ""), static_cast<uint32_t>(max)}}));
  const Json &programs = element(both, 0), &skills = element(both, 1);
  if (command.json) {
    for (const Json& program : programs) print_json({{"program", program}});
    for (const Json& skill : skills) print_json({{"skill", skill}});
    return 0;
  }
  print_programs(programs);
  std::printf("\n");
  print_skills(skills);
  return 0;
}
const ProgramOfCommand kShowCodeUse{"skill usage", show_code_use};

}  // namespace admin
