// `warder layer build`, `list`, `verify` and `remove`.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "supervisor/base/json/json_value.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/text.h"
#include "supervisor/programs/cli/admin/values.h"
#include "supervisor/programs/cli/layers/layer_build.h"
#include "supervisor/programs/cli/terminal.h"
#include "supervisor/tenants/layers/layer_lookup.h"
#include "supervisor/tenants/layers/layer_store.h"

namespace admin {
namespace {

using layers::LayerStore;
using layers::NamedLayer;

constexpr size_t kShownHash = 12, kShownOffers = 8;

std::string folder_of(const ParsedCommand& command) { return command.value("state", "/var/lib/warder") + "/layers"; }

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  char text[32];
  ::gmtime_r(&now, &parts);
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

// "numpy, pandas and 12 more".
std::string offers_text(const NamedLayer& layer) {
  std::vector<std::string> names = layer.offers.python;
  names.insert(names.end(), layer.offers.node.begin(), layer.offers.node.end());
  const size_t shown_count = std::min(names.size(), kShownOffers);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<ptrdiff_t>(shown_count), ", "));
  if (names.size() > shown_count) text += fmt::format(" and {} more", names.size() - shown_count);
  return text.empty() ? "-" : text;
}

Json layer_json(const NamedLayer& layer) {
  return {{"name", layer.name},
          {"hash", layer.hash},
          {"built", layer.built},
          {"bytes", layer.bytes},
          {"files", layer.files},
          {"python", layer.python},
          {"sources", layer.sources},
          {"modules", layer.offers.python},
          {"node_modules", layer.offers.node}};
}

std::vector<std::string> split_words(const std::vector<std::string>& values) {
  std::vector<std::string> words;
  for (const std::string& value : values)
    for (size_t at = 0; at <= value.size();) {
      const size_t end = std::min(value.find(',', at), value.size());
      if (end > at) words.push_back(value.substr(at, end - at));
      at = end + 1;
    }
  return words;
}

Result<> gather(const ParsedCommand& command, LayerBuild& build) {
  const auto debs = split_words(command.values("deb"));
  if (debs.empty() && !command.has("wheels") && !command.has("requirements") && !command.has("npm"))
    return fail(Code::invalid, "no packages: give --deb, --wheels, --requirements or --npm",
                "for example: warder layer build data --deb python3-pandas,python3-matplotlib");
  if (command.has("index") && !command.has("requirements"))
    return fail(Code::invalid, "--index: only with --requirements");
  if (command.has("registry") && !command.has("npm")) return fail(Code::invalid, "--registry: only with --npm");
  if (!debs.empty()) CHECKED(build.add_debs(debs));
  if (command.has("wheels")) CHECKED(build.add_wheels(command.value("wheels", "")));
  if (command.has("requirements"))
    CHECKED(build.add_requirements(command.value("requirements", ""), command.value("index", "")));
  for (const auto& file : command.values("npm")) CHECKED(build.add_npm(file, command.value("registry", "")));
  return {};
}

}  // namespace

Result<int> build_layer(const ParsedCommand& command) {
  if (::geteuid() != 0) return fail(Code::denied, "only root can build layers", "sudo warder layer build ...");
  NamedLayer named_layer;
  named_layer.name = command.words.front();
  if (!layers::is_layer_name(named_layer.name))
    return fail(Code::invalid, fmt::format("'{}' is not the name of a layer", named_layer.name),
                "1 to 64 of a-z, 0-9, '-', '_' and '.', not starting with a dot");
  TRY(LayerBuild build, LayerBuild::begin());
  CHECKED(gather(command, build));
  named_layer.built = utc_now();
  named_layer.python = layers::python_of_usr();
  TRY(const LayerBuild::Unpacked unpacked, build.unpack());
  cli::print_text(stderr, unpacked.notes);
  TRY(named_layer.sources, build.archives());
  TRY(LayerStore store, LayerStore::open_to_change(folder_of(command)));
  const auto former = store.find(named_layer.name);
  TRY(const NamedLayer layer, store.add(std::move(named_layer), unpacked.tree.get()));
  const bool is_same = former && former->hash == layer.hash;
  if (command.json) {
    Json report = layer_json(layer);
    report["changed"] = !is_same;
    print_json(report);
    return 0;
  }
  cli::print_text(stdout, fmt::format("{}: {}{}, {} packages, {} files, {}: {}\n", layer.name,
                                      layer.hash.substr(0, kShownHash), is_same ? " as before" : "",
                                      layer.sources.size(), layer.files, bytes_text(layer.bytes), offers_text(layer)));
  if (!is_same)
    cli::print_text(stderr,
                    fmt::format("policies give it to their jails by \"layers\": [\"{}\"]; a running daemon takes it at "
                                "its next reload: warder reload\n",
                                layer.name));
  return 0;
}
const ProgramOfCommand kBuildLayer{"layer build", build_layer};

Result<int> list_layers(const ParsedCommand& command) {
  std::vector<NamedLayer> all;
  const auto store = LayerStore::open(folder_of(command));
  if (!store && store.error().code != Code::not_found) return tl::unexpected<Error>(store.error());
  if (store) {
    TRY(all, store->list());
  }
  if (command.json) {
    Json report = Json::array();
    for (const auto& layer : all) report.push_back(layer_json(layer));
    print_json(report);
    return 0;
  }
  std::vector<Line> lines;
  for (const auto& layer : all)
    lines.push_back({layer.name, layer.hash.substr(0, kShownHash), bytes_text(layer.bytes),
                     std::to_string(layer.sources.size()), layer.built, offers_text(layer)});
  const std::vector<Column> columns = {{"NAME"},
                                       {"VERSION"},
                                       {"SIZE", Align::right},
                                       {"PACKAGES", Align::right},
                                       {"BUILT"},
                                       {"OFFERS", Align::left, Fit::shrinks}};
  for (const auto& line : table(columns, lines, terminal_width())) cli::print_text(stdout, line + "\n");
  return 0;
}
const ProgramOfCommand kListLayers{"layer list", list_layers};

Result<int> verify_layers(const ParsedCommand& command) {
  TRY(const LayerStore store, LayerStore::open(folder_of(command)));
  std::vector<std::string> names = command.words;
  if (names.empty()) {
    TRY(const auto all, store.list());
    for (const auto& layer : all) names.push_back(layer.name);
  }
  bool is_good = true;
  Json report = Json::array();
  for (const auto& name : names) {
    TRY(const NamedLayer layer, store.find(name));
    const auto checked = store.check(layer.hash, layers::CheckDepth::full);
    is_good = is_good && checked;
    report.push_back({{"name", name}, {"hash", layer.hash}, {"good", checked.has_value()}});
    if (!checked) report.back()["problem"] = checked.error().what;
    if (!command.json)
      cli::print_text(checked ? stdout : stderr,
                      fmt::format("{}: {}\n", name, checked ? "as it was built" : checked.error().what));
  }
  if (command.json) print_json(report);
  return is_good ? 0 : 1;
}
const ProgramOfCommand kVerifyLayers{"layer verify", verify_layers};

Result<int> remove_layers(const ParsedCommand& command) {
  TRY(LayerStore store, LayerStore::open_to_change(folder_of(command)));
  Json report = Json::array();
  for (const auto& name : command.words) {
    auto removed = store.remove(name);
    if (!removed) return tl::unexpected<Error>(std::move(removed).error().within(name));
    report.push_back({{"name", name}, {"removed", true}});
    if (!command.json) cli::print_text(stdout, fmt::format("{}: removed\n", name));
  }
  if (command.json) print_json(report);
  return 0;
}
const ProgramOfCommand kRemoveLayers{"layer remove", remove_layers};

}  // namespace admin
