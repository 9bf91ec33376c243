// The tools of an upstream server, from its answer to tools/list on: read, compared, stored and read back, described
// for people and code, and called. A tool keeps its definition; stored definitions are the same ones; the observed form
// of results is a schema that these results fit; the arguments of a call are sent as they are, or are refused. With too
// few steps a job gives no answer, never another one.
// Input: three JSON texts, one on each line: the list of tools, the arguments of a call, a list of results.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/reader.h"
#include "supervisor/base/fd.h"
#include "supervisor/protocol/http/client.h"
#include "supervisor/upstream/definitions.h"
#include "tests/fuzz/metered_jobs.h"
#include "tests/temp_directory.h"

namespace {

using fuzz::FewSteps;
using fuzz::require;
using upstream::Definitions;
using upstream::KnownTool;

constexpr size_t kMaxMessage = 2000;
constexpr size_t kMaxCalled = 10;  // tools that are called
constexpr size_t kMaxSmall = 2000;
constexpr int kLists = 8;  // of the observed form, which reads so many items of a list

// A folder of the file system in memory.
struct Folder {
  Folder() {
    ::setenv("TMPDIR", "/dev/shm", 0);
    directory.emplace();
    fd = Fd(::open(directory->path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    require(static_cast<bool>(fd));
  }
  std::optional<TempDirectory> directory;
  Fd fd;
};

upstream::ServerConfig server() {
  upstream::ServerConfig config;
  config.name = "fuzz";
  config.command = {"server"};
  return config;
}

bool same(const Definitions& a, const Definitions& b) { return a.is_same(b, FreshMeter()) == true; }

bool reads_all_items(const Json& value) {
  if (value.is_array() && value.size() > kLists) return false;
  return !value.is_structured() ||
         std::all_of(value.begin(), value.end(), [](auto& item) { return reads_all_items(item); });
}

// What results show of a tool: all of them fit the schema that it gets.
void observe(Definitions& definitions, const Json& results) {
  upstream::Observed alone;
  std::vector<Json> read;
  for (const Json& result : results) {
    const uint32_t before = alone.results;
    alone.see(result);
    if (alone.results > before) read.push_back(result);
    for (const auto& [name, tool] : definitions.tools)
      if (!tool->output_schema()) definitions.observed->see(name, result);
  }
  if (alone.schema.is_null()) return;
  const auto schema = policies::JsonSchema::compile(std::make_shared<const Json>(alone.schema),
                                                    policies::JsonSchema::Unknown::refuse, FreshMeter());
  require(schema.has_value());
  for (const Json& result : read) require(!reads_all_items(result) || (*schema)->check(result, FreshMeter()));
  require(upstream::Observed::from_json(alone.to_json()).to_json() == alone.to_json());
}

void check_stored(const Definitions& definitions) {
  static const Folder kFolder;
  require(upstream::save_definitions(kFolder.fd.get(), server(), definitions).has_value());
  auto stored = upstream::read_stored(kFolder.fd.get(), server());
  require(stored.has_value());
  const auto loaded = upstream::load_definitions(*std::move(stored), FreshMeter());
  require(loaded && same(*loaded, definitions) && same(definitions, *loaded));
  require(loaded->observed->to_json() == definitions.observed->to_json());
  auto other = server();
  other.command = {"another"};
  const auto of_other = upstream::read_stored(kFolder.fd.get(), other);
  require(!of_other && of_other.error().code == Code::not_found);
}

// People and code see the tools of the list, each once, and no others.
void check_described(const Definitions& definitions) {
  const Json described = definitions.described();
  require(described.is_array() && described.size() == definitions.tools.size());
  const auto reading = catalog::read_definitions(Json{{"tools", described}}, {"fuzz", ""});
  require(reading && reading->tools.size() <= described.size());
  std::vector<std::string> names;
  for (const auto& tool : reading->tools) {
    require(definitions.tools.contains(tool.name));
    names.push_back(tool.name);
  }
  std::sort(names.begin(), names.end());
  require(std::adjacent_find(names.begin(), names.end()) == names.end());
  const size_t left_out = reading->problems.size() + reading->more_problems;
  require(reading->tools.size() + left_out >= described.size());
}

void check_call(const Json& definition, const Json& arguments, bool is_small) {
  const auto tool = KnownTool::read(definition);
  require(tool.has_value());
  std::vector<Result<upstream::Transport::Arguments>> early;  // the schema is compiled at the first call with the steps
  for (const uint64_t steps : fuzz::kFewSteps)
    if (is_small) early.push_back((*tool)->write(arguments, FewSteps(steps)));
  const auto sent = (*tool)->write(arguments, FreshMeter());
  if (!sent) require(fuzz::is_good_message(sent.error().what, kMaxMessage));
  if (!sent && fuzz::is_unfinished(sent.error())) return;
  for (const auto& item : early)
    require(item ? sent && *item->text == *sent->text
                 : fuzz::is_unfinished(item.error()) || (!sent && item.error().what == sent.error().what));
  const auto retry = (*tool)->write(fuzz::with_keys_reversed(arguments), FreshMeter());
  require(retry.has_value() == sent.has_value() || fuzz::is_unfinished(retry.error()));
  if (!sent) return;
  require(parse_json(*sent->text) == arguments);
  for (const auto& [name, value] : sent->mirrored) require(http::check_header(name, value).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto list = parse_json(fuzz::take_line(text)), arguments = parse_json(fuzz::take_line(text));
  const auto results = parse_json(fuzz::take_line(text));
  if (!list) return 0;
  const bool is_small = size <= kMaxSmall;
  auto definitions = Definitions::read(*list, FreshMeter());
  if (!definitions) {
    require(fuzz::is_unfinished(definitions.error()));
    return 0;
  }
  require(definitions->tools.size() <= Definitions::kMaxTools);
  for (const auto& [name, tool] : definitions->tools) {
    require(name == tool->name() && !name.empty() && name.size() <= catalog::kMaxNameBytes);
    require(std::find(list->begin(), list->end(), tool->definition()) != list->end());
  }
  const auto reordered = Definitions::read(fuzz::with_keys_reversed(*list), FreshMeter());
  require(reordered && same(*definitions, *reordered));
  for (const uint64_t steps : fuzz::kFewSteps) {
    const auto early = Definitions::read(*list, FewSteps(steps));
    require(early ? same(*early, *definitions) : early.error().code == Code::unavailable);
  }
  if (results && results->is_array()) observe(*definitions, *results);
  check_stored(*definitions);
  check_described(*definitions);
  if (!arguments) return 0;
  size_t called = 0;
  for (const auto& [name, tool] : definitions->tools)
    if (called++ < kMaxCalled) check_call(tool->definition(), *arguments, is_small);
  return 0;
}
