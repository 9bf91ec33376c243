#include "supervisor/programs/cli/admin/top/top_draw.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "supervisor/base/json/json.h"
#include "supervisor/base/text_lines.h"
#include "supervisor/programs/cli/admin/story_text.h"
#include "supervisor/programs/cli/admin/text.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

constexpr char kNone[] = "-";
constexpr size_t kMinWidth = 30, kMinHeight = 4;
constexpr size_t kMaxTenants = 5, kMaxServers = 4;
constexpr size_t kLabel = 9;  // columns before a bar

using Style = TopStyle;

std::string percent_text(const std::optional<double>& percent) {
  if (!percent) return kNone;
  char text[32];
  std::snprintf(text, sizeof text, *percent < 9.95 ? "%.1f%%" : "%.0f%%", *percent);
  return text;
}

std::string rate_text(double rate) {
  char text[32];
  std::snprintf(text, sizeof text, rate < 9.95 ? "%.1f" : "%.0f", rate);
  return text;
}

std::string known_usec(const std::optional<uint64_t>& usec) { return usec ? usec_text(*usec) : kNone; }
std::string known_bytes(const std::optional<uint64_t>& bytes) { return bytes ? bytes_text(*bytes) : kNone; }
std::string known_count(const std::optional<uint64_t>& count) { return count ? std::to_string(*count) : kNone; }

// "ada" for a tenant of a user, else the tenant's name.
// ", process 1234"; empty: the client is no process of this machine.
std::string client_process_text(const Json& item) {
  const uint64_t pid = number(item, "PID");
  return pid > 0 && pid < UINT32_MAX ? ", process " + std::to_string(pid) : "";
}
std::string shown_tenant(const std::string& name, const std::string& user) {
  return user.empty() ? name : user + " (" + name + ")";
}

TopLine line(std::string text, Style style = Style::plain) { return {{{harmless(std::move(text)), style}}, style}; }

TopLine head(const TopModel& model) {
  const Json& daemon = model.manager();
  const std::string state = text(daemon, "State");
  TopLine top_line = line("warderd " + text(daemon, "Version") + " ");
  top_line.spans.push_back({harmless(state), state == "serving" ? Style::good : Style::warning});
  const uint64_t ended = number(daemon, "Executions"), ok = number(member(daemon, "Outcomes"), "ok");
  top_line.spans.push_back({harmless("   up " + usec_text(model.up_usec()) + "   " + std::to_string(ended) +
                                     " executions ended, " + std::to_string(ok) + " ok"),
                            Style::plain});
  return top_line;
}

std::vector<TopLine> head_lines(const TopModel& model) {
  const Json &daemon = model.manager(), &answers = member(daemon, "AnswerUSec");
  auto count = [&daemon](const char* key) { return std::to_string(number(daemon, key)); };
  auto quantile = [&answers](const char* key) {
    return number(answers, "of") > 0 ? usec_text(number(answers, key)) : std::string(kNone);
  };
  std::vector<TopLine> lines = {
      head(model),
      line(count("Running") + " running  " + count("Waiting") + " waiting  " + count("Frozen") + " frozen   CPU " +
           percent_text(model.cpu_percent()) + "   memory " + bytes_text(number(daemon, "MemoryBytes"))),
      line("answers p50 " + quantile("p50") + "  p90 " + quantile("p90") + "  p99 " + quantile("p99") +
           " (the newest " + std::to_string(number(answers, "of")) + ")")};
  for (const char* key : {"ReloadProblem", "DiskProblem"})
    if (const std::string problem = text(daemon, key); !problem.empty()) {
      const std::string name = std::string_view(key) == "DiskProblem" ? "disk: " : "last reload: ";
      lines.push_back(line(name + problem, Style::bad));
    }
  return lines;
}

// One bar of the history: the newest moments, as many as fit, with the highest value.
TopLine bar(const std::string& name, const std::vector<std::optional<double>>& values, Style style,
            const TopSize& size) {
  constexpr const char* kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr const char* kLetters[] = {" ", ".", ".", ":", ":", "|", "|", "#", "#"};
  constexpr size_t kTail = 12;  // "  max 12.3"
  const size_t width = size.width > kLabel + kTail ? size.width - kLabel - kTail : 0;
  const size_t first = values.size() > width ? values.size() - width : 0;
  double limit = 0;
  for (size_t i = first; i < values.size(); i++) limit = std::max(limit, values[i].value_or(0));
  std::string drawn;
  for (size_t i = first; i < values.size(); i++) {
    const double share = limit > 0 ? values[i].value_or(0) / limit : 0;
    const auto level = std::min<size_t>(8, static_cast<size_t>(std::ceil(share * 8)));
    drawn += (size.blocks ? kBlocks : kLetters)[level];
  }
  std::string label = name;
  label.resize(kLabel, ' ');
  const std::string tail = values.empty() ? "not known yet" : "  max " + rate_text(limit);
  return {{{label, Style::quiet}, {drawn, style}, {tail, Style::quiet}}};
}

std::vector<TopLine> history_lines(const TopModel& model, const TopSize& size) {
  std::vector<std::optional<double>> all, failed, running;
  for (const TopMoment& moment : model.history()) {
    all.push_back(moment.executions_per_second);
    failed.push_back(moment.failed_per_second);
    running.push_back(moment.running ? std::optional(static_cast<double>(*moment.running)) : std::nullopt);
  }
  return {bar("exec/s", all, Style::good, size), bar("not ok/s", failed, Style::bad, size),
          bar("running", running, Style::key, size)};
}

std::vector<TopLine> tenant_lines(const TopModel& model, const TopPage& page, size_t max, size_t width) {
  const std::vector<Column> columns = {{"TENANT", Align::left, Fit::shrinks},
                                       {"POLICY", Align::left, Fit::shrinks},
                                       {"RUN/MAX", Align::right},
                                       {"WAIT", Align::right},
                                       {"ENDED", Align::right},
                                       {"NOT OK", Align::right},
                                       {"CPU", Align::right},
                                       {"MEMORY", Align::right},
                                       {"FILES", Align::right}};
  const auto& tenants = model.tenants();
  std::vector<Line> rows;
  for (const TopTenant& tenant : tenants) {
    if (rows.size() >= max) break;
    rows.push_back({shown_tenant(tenant.name, tenant.user), tenant.policy.empty() ? kNone : tenant.policy,
                    std::to_string(tenant.running) + "/" + known_count(tenant.max_running),
                    std::to_string(tenant.waiting), std::to_string(tenant.executions), std::to_string(tenant.failed),
                    percent_text(tenant.cpu_percent), known_bytes(tenant.memory_bytes),
                    bytes_text(tenant.workspace_bytes)});
  }
  std::vector<TopLine> lines;
  for (auto& text : table(columns, rows, width)) {
    const size_t at = lines.size();
    const bool only = at > 0 && tenants[at - 1].name == page.filter.tenant;
    lines.push_back(line(std::move(text), at == 0 ? Style::heading : only ? Style::key : Style::plain));
  }
  if (tenants.size() > max)
    lines.push_back(line("and " + std::to_string(tenants.size() - max) + " more tenants", Style::quiet));
  return lines;
}

std::vector<TopLine> pool_lines(const TopModel& model) {
  std::string text;
  for (const TopPool& pool : model.pool())
    text += "  " + pool.language + " " + std::to_string(pool.idle) + "/" + std::to_string(pool.wanted) +
            (pool.zygotes > 0 ? " +" + std::to_string(pool.zygotes) + " zygotes" : "") + " " + bytes_text(pool.bytes);
  if (text.empty()) return {};
  TopLine top_line = line("pool     ", Style::quiet);
  top_line.spans.push_back({harmless("idle/wanted" + text), Style::plain});
  top_line.fill = Style::plain;
  return {top_line};
}

std::vector<TopLine> server_lines(const TopModel& model, size_t max, size_t width) {
  const auto& servers = model.servers();
  if (servers.empty()) return {};
  const std::vector<Column> columns = {{"UPSTREAM SERVER", Align::left, Fit::shrinks},
                                       {"PLACE"},
                                       {"STATE"},
                                       {"TOOLS", Align::right},
                                       {"TENANTS", Align::right},
                                       {"PROBLEM", Align::left, Fit::shrinks}};
  std::vector<Line> rows;
  for (const TopServer& server : servers) {
    if (rows.size() >= max) break;
    rows.push_back({server.name, server.location, server.state, std::to_string(server.tools),
                    std::to_string(server.connections), server.problem.empty() ? kNone : server.problem});
  }
  std::vector<TopLine> lines;
  for (auto& text : table(columns, rows, width)) {
    const size_t at = lines.size();
    const bool bad = at > 0 && servers[at - 1].state == "failed";
    lines.push_back(line(std::move(text), at == 0 ? Style::heading : bad ? Style::bad : Style::plain));
  }
  if (servers.size() > max)
    lines.push_back(line("and " + std::to_string(servers.size() - max) + " more servers", Style::quiet));
  return lines;
}

std::vector<std::string> row_texts(const std::vector<TopRow>& rows, size_t width) {
  const std::vector<Column> columns = {{"ID"},
                                       {"TENANT", Align::left, Fit::shrinks},
                                       {"LANGUAGE"},
                                       {"STATE"},
                                       {"AGE", Align::right},
                                       {"WALL", Align::right},
                                       {"CPU", Align::right},
                                       {"CPU%", Align::right},
                                       {"MEMORY", Align::right},
                                       {"TASKS", Align::right}};
  std::vector<Line> lines;
  for (const TopRow& row : rows)
    lines.push_back({row.id, row.user.empty() ? row.tenant : row.user, row.language.empty() ? kNone : row.language,
                     row.state, usec_text(row.age_usec), usec_text(row.wall_usec), known_usec(row.cpu_usec),
                     row.ended ? "" : percent_text(row.cpu_percent), known_bytes(row.memory_bytes),
                     row.ended ? "" : known_count(row.tasks)});
  return table(columns, lines, width);
}

Style style_of(const TopRow& row, const TopPage& page) {
  if (row.id == page.chosen) return Style::chosen;
  if (row.ended) return row.state == "ok" ? Style::quiet : Style::bad;
  return row.state == "frozen" || row.state == "waiting" ? Style::warning : Style::plain;
}

// The list in `height` lines, around the chosen execution.
std::vector<TopLine> row_lines(const TopModel& model, TopPage& page, size_t height, size_t width) {
  const std::vector<TopRow> rows = model.rows(page.filter);
  page.room = height > 1 ? height - 1 : 1;
  const int chosen = position_of(page.chosen, rows);
  const size_t first = chosen >= static_cast<int>(page.room) ? static_cast<size_t>(chosen) - page.room + 1 : 0;
  const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = rows.begin() + static_cast<std::ptrdiff_t>(std::min(rows.size(), first + page.room));
  std::vector<TopLine> lines;
  for (auto& text : row_texts({begin, end}, width)) {
    const size_t at = lines.size();
    lines.push_back(line(std::move(text), at == 0 ? Style::heading : style_of(rows[first + at - 1], page)));
  }
  if (rows.empty()) {
    const bool filtered = !page.filter.words.empty() || !page.filter.tenant.empty();
    lines.push_back(
        line(filtered ? "no execution fits the filter" : "no executions now that you may see", Style::quiet));
  }
  return lines;
}

TopLine keys_line(const std::vector<std::pair<const char*, const char*>>& keys) {
  TopLine line;
  for (const auto& [key, does] : keys) {
    line.spans.push_back({line.spans.empty() ? key : std::string("  ") + key, Style::key});
    line.spans.push_back({std::string(" ") + does, Style::quiet});
  }
  return line;
}

// The last line: a question, the result of an action, or the keys.
TopLine foot(const TopPage& page) {
  if (page.asks == TopPage::Asks::kill)
    return line("end " + page.chosen + " now? y kills it, other keys do not", Style::warning);
  if (page.asks == TopPage::Asks::filter) return line("filter: " + page.filter.words + "_", Style::key);
  if (!page.problem.empty()) return line(page.problem, Style::bad);
  if (!page.reply.empty()) return line(page.reply, Style::warning);
  if (page.shows == TopPage::Shows::help) return keys_line({{"h", "back"}});
  if (page.shows == TopPage::Shows::execution)
    return keys_line({{"Esc", "back"}, {"arrows", "scroll"}, {"k", "kill"}, {"f", "freeze/thaw"}, {"h", "help"}});
  return keys_line({{"q", "quit"},
                    {"Enter", "open"},
                    {"k", "kill"},
                    {"f", "freeze/thaw"},
                    {"t", "tenant"},
                    {"/", "filter"},
                    {"c m w a", "sort"},
                    {"h", "help"}});
}

TopLine order_line(const TopPage& page) {
  std::string text = "sorted by " + top_sort_name(page.filter.sort);
  if (page.filter.with_ended) text += ", with ended";
  if (!page.filter.tenant.empty()) text += ", only tenant " + page.filter.tenant;
  if (!page.filter.words.empty()) text += ", filter: " + page.filter.words;
  return line(std::move(text), Style::quiet);
}

std::vector<TopLine> help_lines() {
  static const char* const kHelp[] = {
      "up, down, page up, page down, home, end   choose an execution, or scroll",
      "Enter    open the chosen execution: its usage, output, files, calls and receipt",
      "k        kill the chosen execution; asks first",
      "f        freeze the chosen execution, or thaw it; needs a cgroup",
      "t        show only the tenant of the chosen execution, or all again",
      "/        filter by words: id, tenant, user, language, state; Esc shows all",
      "e        show executions that ended in the last minute, too",
      "c m w a  sort by CPU, memory, wall time, age",
      "h ?      this page",
      "q        quit",
      "",
      "CPU%     of one processor, since the last refresh",
      "-        not known. Without a cgroup, the CPU time of an execution is known only",
      "         after its end.",
      "exec/s   executions that ended, each second: the last ten minutes, from the left",
      "RUN/MAX  running executions of a tenant, and how many its policy allows",
      "pool     jails that are ready for an execution, and how many the daemon wants",
      "",
      "What you may kill, freeze and read, D-Bus and polkit decide: a tenant its own",
      "executions; root and the daemon's user all. NO_COLOR=1 switches colours off.",
  };
  std::vector<TopLine> lines = {line("warder top: keys", Style::heading)};
  for (const char* text : kHelp) lines.push_back(line(text));
  return lines;
}

void add_output(std::vector<TopLine>& lines, const char* name, const std::string& bytes, bool cut, size_t width) {
  lines.push_back(line(std::string(name) + (bytes.empty() ? ": empty" : ":"), Style::heading));
  const std::string display_text = cli::for_terminal(bytes);
  size_t begin = 0;
  while (begin < display_text.size()) {
    size_t end = std::min(display_text.find('\n', begin), display_text.size());
    const bool full = end - begin <= width;
    if (!full) end = begin + width;
    while (!full && end > begin + 1 && (static_cast<unsigned char>(display_text[end]) & 0xC0) == 0x80) end--;
    std::string text = display_text.substr(begin, end - begin);
    std::replace(text.begin(), text.end(), '\t', ' ');
    lines.push_back({{{std::move(text), Style::plain}}});
    begin = full ? end + 1 : end;
  }
  if (cut) lines.push_back(line("... there is more: warder logs", Style::quiet));
}

// The members of a JSON object as lines "a.b: value".
void add_members(std::vector<TopLine>& lines, const std::string& name, const Json& value, int depth) {
  if (value.is_object() && depth < 8) {
    for (const auto& [key, inner] : value.items())
      add_members(lines, name.empty() ? key : name + "." + key, inner, depth + 1);
    return;
  }
  const std::string text = value.is_string() ? value.get<std::string>() : dump_json(value);
  lines.push_back(line("  " + name + ": " + text));
}

std::vector<TopLine> execution_lines(const TopModel& model, const TopPage& page, const TopExecution& execution,
                                     size_t width) {
  std::vector<TopLine> lines = {line("execution " + page.chosen, Style::heading)};
  if (!execution.problem.empty()) lines.push_back(line(execution.problem, Style::bad));
  const Json& item = execution.properties;
  TopFilter all;
  all.with_ended = true;
  const std::vector<TopRow> rows = model.rows(all);
  if (const int at = position_of(page.chosen, rows); at >= 0) {
    const TopRow& row = rows[static_cast<size_t>(at)];
    lines.push_back(line("state     " + row.state));
    lines.push_back(line("tenant    " + shown_tenant(row.tenant, row.user) + ", policy " + text(item, "Policy")));
    lines.push_back(line("language  " + (row.language.empty() ? kNone : row.language)));
    lines.push_back(line("client    " + client_text(item) + client_process_text(item)));
    lines.push_back(line("usage     wall " + usec_text(row.wall_usec) + ", CPU " + known_usec(row.cpu_usec) +
                         ", memory " + known_bytes(row.memory_bytes) + ", tasks " + known_count(row.tasks)));
  }
  const Json& limits = member(item, "Limits");
  if (number(limits, "MemoryBytes") > 0)
    lines.push_back(line("limits    wall " + usec_text(number(limits, "WallUSec")) + ", memory " +
                         bytes_text(number(limits, "MemoryBytes")) + ", tasks " +
                         std::to_string(number(limits, "Tasks"))));
  if (const std::string message = text(item, "Message"); !message.empty())
    lines.push_back(line("message   " + message));
  if (const Json& waits = member(item, "Approvals"); waits.is_array() && !waits.empty())
    lines.push_back(line("waits for approval of " + dump_json(waits), Style::warning));
  add_output(lines, "stdout", execution.out, execution.out_cut, width);
  if (!execution.err.empty()) add_output(lines, "stderr", execution.err, execution.err_cut, width);
  if (execution.record.is_object()) {
    lines.push_back(line("changed files and calls:", Style::heading));
    for (const std::string& text : lines_in(changes_text(execution.record), EmptyLines::included))
      lines.push_back(line("  " + text));
  }
  const std::string receipt = text(item.is_object() ? item : execution.record, "Receipt");
  if (!receipt.empty()) {
    lines.push_back(line("receipt:", Style::heading));
    if (const auto parsed = parse_json(receipt)) {
      add_members(lines, "", *parsed, 0);
    } else {
      lines.push_back(line("  " + receipt));
    }
  }
  return lines;
}

// The part of a long text that is scrolled to.
std::vector<TopLine> scrolled_part(std::vector<TopLine> lines, TopPage& page, size_t height) {
  page.room = std::max<size_t>(height, 1);
  page.lines = lines.size();
  page.scrolled = std::min(page.scrolled, lines.size() > page.room ? lines.size() - page.room : 0);
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(page.scrolled));
  if (lines.size() > page.room) lines.resize(page.room);
  return lines;
}

void append(std::vector<TopLine>& lines, std::vector<TopLine> more) {
  for (TopLine& line : more) lines.push_back(std::move(line));
}

// What a terminal of this height has room for, besides ten lines of executions.
std::vector<TopLine> list_lines(const TopModel& model, TopPage& page, const TopSize& size) {
  constexpr size_t kRowsWanted = 6, kHistory = 3;
  std::vector<TopLine> lines = head_lines(model);
  const size_t body = size.height - 1;
  if (lines.size() + 3 > body) lines.resize(body > 3 ? body - 3 : 1);
  auto room = [&](size_t more) { return lines.size() + more + kRowsWanted <= body; };
  if (room(kHistory)) append(lines, history_lines(model, size));
  if (auto pool = pool_lines(model); room(pool.size())) append(lines, std::move(pool));
  const size_t tenants = std::min(kMaxTenants, model.tenants().size());
  if (tenants > 0 && room(tenants + 3)) {
    lines.push_back(line(""));
    append(lines, tenant_lines(model, page, tenants, size.width));
  }
  if (auto servers = server_lines(model, kMaxServers, size.width); !servers.empty() && room(servers.size() + 1)) {
    lines.push_back(line(""));
    append(lines, std::move(servers));
  }
  if (lines.size() + 2 < body) lines.push_back(order_line(page));
  append(lines, row_lines(model, page, body - lines.size(), size.width));
  return lines;
}

}  // namespace

std::string TopLine::text() const {
  std::string all;
  for (const TopSpan& span : spans) all += span.text;
  return all;
}

std::vector<TopLine> draw_top(const TopModel& model, TopPage& page, const TopExecution& execution,
                              const TopSize& size) {
  if (size.width < kMinWidth || size.height < kMinHeight) {
    std::vector<TopLine> lines = {line(std::to_string(number(model.manager(), "Running")) + " running", Style::plain),
                                  line("too small: 30x4", Style::warning)};
    if (lines.size() > size.height) lines.resize(size.height);
    return lines;
  }
  std::vector<TopLine> lines;
  if (page.shows == TopPage::Shows::help) {
    lines = scrolled_part(help_lines(), page, size.height - 1);
  } else if (page.shows == TopPage::Shows::execution) {
    lines = scrolled_part(execution_lines(model, page, execution, size.width), page, size.height - 1);
  } else {
    lines = list_lines(model, page, size);
  }
  lines.resize(size.height - 1);
  lines.push_back(foot(page));
  return lines;
}

std::vector<TopLine> draw_plain_top(const TopModel& model, const TopPage& page, size_t width) {
  std::vector<TopLine> lines = head_lines(model);
  append(lines, history_lines(model, {width, 0, false}));
  append(lines, pool_lines(model));
  append(lines, tenant_lines(model, page, model.tenants().size(), width));
  append(lines, server_lines(model, model.servers().size(), width));
  lines.push_back(order_line(page));
  TopPage all = page;
  append(lines, row_lines(model, all, model.rows(page.filter).size() + 1, width));
  for (TopLine& top_line : lines) {
    std::string text = top_line.text();
    if (text.size() > width) text.resize(width);
    while (!text.empty() && text.back() == ' ') text.pop_back();
    top_line = line(std::move(text));
  }
  return lines;
}

}  // namespace admin
