// `warder diff`, `warder commit`, `warder discard` and `warder undo`: what staged executions want to change.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "supervisor/base/text_lines.h"
#include "supervisor/programs/cli/admin/acting.h"
#include "supervisor/programs/cli/admin/bus_client.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/executions.h"
#include "supervisor/programs/cli/admin/short_ids.h"
#include "supervisor/programs/cli/admin/text.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

constexpr size_t kWholeProposalId = 17;  // "p" and 16 hexadecimal digits

struct NamedProposal {
  std::string tenant, id;
  uint64_t commits = 0;  // that can be undone
};

// The proposals of the tenant that --tenant names, or of all tenants that this user sees.
Result<Json> list_proposals(const BusClient& warderd, const ParsedCommand& command) {
  const std::string tenant = command.value("tenant", "");
  const BusClient::Arguments arguments{"s", {tenant}};
  if (!tenant.empty()) return warderd.call(kPath, kManager, "ListProposals", arguments);
  return warderd.read(kPath, kManager, "ListProposals",
                      [&](sd_bus_message* to) { return append_arguments(to, arguments); });
}

Result<NamedProposal> find_proposal(const BusClient& warderd, const ParsedCommand& command, const std::string& typed) {
  TRY(const Json all, list_proposals(warderd, command));
  std::vector<std::string> ids;
  for (const Json& item : all) ids.push_back(text(item, "Id"));
  auto id = match_id(typed, ids, "proposal", "warder diff");
  const std::string tenant = command.value("tenant", "");
  if (!id && id.error().code == Code::not_found) {
    if (!tenant.empty() && typed.size() == kWholeProposalId) return NamedProposal{tenant, typed};
    if (tenant.empty())
      id.error().hint += "; add --tenant NAME for a tenant that no client has used since the daemon started";
  }
  if (!id) return tl::unexpected<Error>(std::move(id).error());
  for (const Json& item : all)
    if (text(item, "Id") == *id) return NamedProposal{text(item, "Tenant"), *id, number(item, "Commits")};
  return fail(Code::not_found, "the proposal is not listed any longer");
}

uint64_t file_count(const Json& proposal) {
  return number(proposal, "Created") + number(proposal, "Modified") + number(proposal, "Deleted");
}

Result<int> print_proposals(const ParsedCommand& command) {
  TRY(const BusClient warderd, BusClient::connect(command.bus));
  TRY(const Json all, list_proposals(warderd, command));
  if (command.json) {
    for (const Json& item : all) print_json(item);
    return 0;
  }
  const std::vector<Column> columns = {{"ID"},
                                       {"TENANT", Align::left, Fit::shrinks},
                                       {"EXECUTION", Align::left, Fit::shrinks},
                                       {"STATE"},
                                       {"AGE", Align::right},
                                       {"FILES", Align::right},
                                       {"BYTES", Align::right}};
  std::vector<std::string> ids;
  for (const Json& item : all) ids.push_back(text(item, "Id"));
  const size_t length = short_length(ids);
  std::vector<Line> lines;
  for (const Json& item : all)
    lines.push_back({text(item, "Id").substr(0, length), text(item, "Tenant"), text(item, "Execution"),
                     text(item, "State"), usec_text(usec_since(number(item, "SettledUSec"))),
                     std::to_string(file_count(item)), bytes_text(number(item, "Bytes"))});
  for (const auto& line : table(columns, lines, terminal_width())) std::printf("%s\n", line.c_str());
  return 0;
}

// The colours of git. Empty: the line has none.
const char* colour_of(std::string_view line) {
  if (line.starts_with("--- ") || line.starts_with("+++ ") || line.starts_with("diff ")) return "\x1b[1m";
  if (line.starts_with("@@")) return "\x1b[36m";
  if (line.starts_with('+')) return "\x1b[32m";
  if (line.starts_with('-')) return "\x1b[31m";
  return line.starts_with('#') ? "\x1b[33m" : "";
}

std::string coloured(const std::string& diff) {
  std::string text;
  for (const std::string& line : lines_in(diff, EmptyLines::included)) {
    const std::string colour = colour_of(line);
    text += colour + line + (colour.empty() ? "" : "\x1b[0m") + "\n";
  }
  return text;
}

// The diff of files that a hostile program wrote: made harmless before the colours are added.
void print_diff(const std::string& diff) {
  const char* plain = std::getenv("NO_COLOR");
  if (::isatty(STDOUT_FILENO) != 1 || (plain != nullptr && *plain != '\0')) return cli::print_text(stdout, diff);
  const std::string text = coloured(cli::for_terminal(diff));
  std::fwrite(text.data(), 1, text.size(), stdout);
}

// What a reader of the diff must know besides it.
void print_notes(const Json& details) {
  std::string notes;
  for (const Json& item : member(details, "ConflictingPaths"))
    notes += "in conflict: " + text(item, "Path") + ": " + text(item, "Why") + "\n";
  for (const Json& item : member(details, "RefusedPaths"))
    notes += "never committed: " + text(item) + " (a FIFO, a socket or a device)\n";
  if (const std::string problem = text(details, "Problem"); !problem.empty())
    notes += "can only be discarded: " + problem + "\n";
  if (const std::string problem = text(details, "UndoProblem"); !problem.empty())
    notes += "a commit cannot be undone: " + problem + "\n";
  cli::print_text(stderr, cli::for_terminal(notes));
}

std::string conflict_text(const char* command, const char* act, const std::string& id, const Json& result) {
  std::string message = "warder " + std::string(command) + ": " + id + ": nothing was " + act +
                        ", because other programs have changed these files:\n";
  for (const Json& item : member(result, "ConflictingPaths"))
    message += "    " + text(item, "Path") + ": " + text(item, "Why") + "\n";
  const uint64_t all = number(result, "Conflicts"), listed = member(result, "ConflictingPaths").size();
  if (all > listed) message += "    and " + std::to_string(all - listed) + " more\n";
  return message;
}

// Prints the result of a commit or an undo. Returns the exit status.
int print_result(const ParsedCommand& command, const NamedProposal& which, Json result, const std::string& done,
                 const std::string& conflict) {
  const bool is_done = member(result, "Done") == true;
  if (command.json) {
    result["Id"] = which.id, result["Tenant"] = which.tenant;
    print_json(result);
  } else {
    cli::print_text(is_done ? stdout : stderr, cli::for_terminal(is_done ? done : conflict));
  }
  return is_done ? 0 : 1;
}

int append_commit(sd_bus_message* to, const NamedProposal& which, const std::vector<std::string>& paths) {
  int r = sd_bus_message_append(to, "ss", which.tenant.c_str(), which.id.c_str());
  if (r >= 0) r = sd_bus_message_open_container(to, 'a', "s");
  for (const std::string& path : paths)
    if (r >= 0) r = sd_bus_message_append(to, "s", path.c_str());
  return r < 0 ? r : sd_bus_message_close_container(to);
}

}  // namespace

Result<int> run_diff(const ParsedCommand& command) {
  if (command.words.empty()) return print_proposals(command);
  TRY(const BusClient warderd, BusClient::connect(command.bus));
  TRY(const NamedProposal which, find_proposal(warderd, command, command.words.front()));
  TRY(const Json answer, warderd.call(kPath, kManager, "ReadProposalDiff", {"ss", {which.tenant, which.id}}));
  Json details = element(answer, 0);
  const std::string diff = text(element(answer, 1));
  if (command.json) {
    if (details.is_object()) details["Diff"] = diff;
    print_json(details);
    return 0;
  }
  print_diff(diff);
  print_notes(details);
  return 0;
}
const ProgramOfCommand kRunDiff{"diff", run_diff};

Result<int> run_commit(const ParsedCommand& command) {
  TRY(const BusClient warderd, BusClient::connect(command.bus));
  TRY(const NamedProposal which, find_proposal(warderd, command, command.words.front()));
  const std::vector<std::string> paths(command.words.begin() + 1, command.words.end());
  TRY(const Json result, warderd.call_with(kPath, kManager, "CommitProposal",
                                           [&](sd_bus_message* to) { return append_commit(to, which, paths); }));
  std::string done = which.id + " is committed";
  if (text(result, "State") == "open") done += "; other changes of it are still open";
  if (number(result, "Commits") > 0) done += "; to take it back: warder undo " + which.id;
  if (const std::string problem = text(result, "UndoProblem"); !problem.empty())
    done += "; it cannot be undone: " + problem;
  return print_result(command, which, result, done + "\n",
                      conflict_text("commit", "committed", which.id, result) +
                          "  run the program again, or commit other files of it: warder commit " + which.id +
                          " PATH...; warder diff " + which.id + " shows them\n");
}
const ProgramOfCommand kRunCommit{"commit", run_commit};

Result<int> run_undo(const ParsedCommand& command) {
  TRY(const BusClient warderd, BusClient::connect(command.bus));
  TRY(const NamedProposal which, find_proposal(warderd, command, command.words.front()));
  TRY(const Json result, warderd.call(kPath, kManager, "UndoProposal", {"ss", {which.tenant, which.id}}));
  const bool is_open = text(result, "State") == "open" || text(result, "State") == "committed";
  return print_result(command, which, result,
                      "the last commit of " + which.id + " is undone" +
                          (is_open ? "; the proposal is " + text(result, "State") : "") + "\n",
                      conflict_text("undo", "undone", which.id, result) +
                          "  put these files back as the commit left them, then undo again\n");
}
const ProgramOfCommand kRunUndo{"undo", run_undo};

Result<int> run_discard(const ParsedCommand& command) {
  TRY(const BusClient warderd, BusClient::connect(command.bus));
  return act_on_each(command, command.words, "discard", "done", [&](const std::string& word) -> Result<ActionResult> {
    TRY(const NamedProposal which, find_proposal(warderd, command, word));
    CHECKED(warderd.call(kPath, kManager, "DiscardProposal", {"ss", {which.tenant, which.id}}));
    if (which.commits > 0)
      return ActionResult{
          which.id, "the changes of " + which.id +
                        " that are not committed are discarded; to take its last commit back: warder undo " + which.id};
    return ActionResult{which.id, which.id + " is discarded: its files are deleted, the workspace is as it was"};
  });
}
const ProgramOfCommand kRunDiscard{"discard", run_discard};

}  // namespace admin
