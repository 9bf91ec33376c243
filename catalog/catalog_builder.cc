#include <fmt/format.h>

#include <algorithm>

#include "catalog/catalog.h"
#include "catalog/packed.h"
#include "catalog/searched.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_text.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"

namespace catalog {
namespace {

constexpr size_t kMaxTextBytes = 1 << 30;  // bytes of all definitions
constexpr int kMaxDefinitions = 8;         // definitions of one tool

std::array<std::string, kFields> searchable(Tool& tool) {
  std::array<std::string, kFields> fields;
  auto field = [&](Field which) -> std::string& { return fields[static_cast<size_t>(which)]; };
  // If all tool names of a server begin with the server's name, this prefix does not describe a tool.
  std::string_view name = tool.name;
  if (!tool.server.empty() && name.size() > tool.server.size() + 1 && name.starts_with(tool.server) &&
      std::string_view("._/:-").find(name[tool.server.size()]) != std::string_view::npos)
    name.remove_prefix(tool.server.size() + 1);
  field(Field::name) = std::string(name) + " " + tool.searched.title;
  field(Field::provider) = tool.server + " " + (tool.category == tool.server ? "" : tool.category);
  field(Field::description) = tool.description;
  field(Field::parameters) = std::move(tool.searched.parameters);
  field(Field::about) = std::move(tool.searched.about);
  field(Field::uses) = std::move(tool.searched.uses);
  for (const auto& tag : tool.tags) field(Field::uses) += " " + tag;
  return fields;
}

uint32_t id_of(std::map<std::string, uint32_t>& ids, const std::string& name) {
  return ids.try_emplace(name, static_cast<uint32_t>(ids.size())).first->second;
}

// Ids in the order of first use become ids in the order of names.
std::vector<uint32_t> sorted_ids(const std::map<std::string, uint32_t>& ids) {
  std::vector<uint32_t> sorted(ids.size());
  uint32_t next = 0;
  for (const auto& [name, id] : ids) sorted[id] = next++;
  return sorted;
}

}  // namespace

Result<CatalogBuilder> CatalogBuilder::begin(const std::string& folder, unsigned threads) {
  CatalogBuilder builder;
  TRY(builder.listing_, list_folder(folder));
  builder.files_ = std::make_unique<ReadingAhead>(folder, builder.listing_.files, threads);
  for (const auto& unlisted : builder.listing_.unlisted) builder.problem(unlisted, "this folder was left out");
  if (builder.listing_.more)
    builder.problem(".", fmt::format("more than {} files; the others were left out", kMaxFiles));
  return builder;
}

void CatalogBuilder::problem(const std::string& file, std::string message) {
  if (catalog_->problem_count_++ < Catalog::kMaxProblems)
    catalog_->problems_.push_back({printable(file), std::move(message)});
}

void CatalogBuilder::call_only_servers(std::vector<std::string> unlearned) {
  calls_only_servers_ = true;
  std::sort(unlearned.begin(), unlearned.end());
  catalog_->upstream_servers_ += unlearned.size();
  catalog_->unlearned_servers_ = std::move(unlearned);
}

void CatalogBuilder::add(const std::string& origin, Reading reading) {
  catalog_->upstream_servers_++;
  take(origin, std::move(reading), Source::server);
}

void CatalogBuilder::add_described(const std::string& origin, Reading reading) {
  take(origin, std::move(reading), Source::folder);
}

void CatalogBuilder::take(const std::string& origin, Reading reading, Source source) {
  for (auto& message : reading.problems) problem(origin, std::move(message));
  catalog_->problem_count_ += reading.more_problems;
  for (auto& [name, description] : reading.categories)
    if (std::string& text = category_texts_[name]; text.empty()) text = std::move(description);
  for (auto& server : reading.core_servers) {
    auto& all = catalog_->core_servers_;
    if (std::find(all.begin(), all.end(), server) == all.end()) all.push_back(std::move(server));
  }
  for (auto& tool : reading.tools) merge(origin, std::move(tool), reading.form, source);
}

// Merges two definitions of one tool: each member comes from the form that says more, or else from the first file.
void CatalogBuilder::merge(const std::string& origin, Tool tool, Form form, Source source) {
  const auto& unlearned = catalog_->unlearned_servers_;
  const bool callable = !calls_only_servers_ || source == Source::server || tool.kind == ToolKind::skill ||
                        std::binary_search(unlearned.begin(), unlearned.end(), tool.server);
  auto [known, is_new] = indexes_.try_emplace({tool.server, tool.name}, pending_.size());
  if (is_new) {
    if (pending_.size() < kMaxTools) {
      pending_.push_back({std::move(tool), form, 1, callable});
    } else {
      indexes_.erase(known);
      if (pending_.size() == kMaxTools)
        problem(origin, fmt::format("more than {} tools; the others were left out", kMaxTools));
    }
    return;
  }
  Pending& pending = pending_[known->second];
  pending.callable |= callable;
  if (pending.definitions++ >= kMaxDefinitions)
    return problem(origin, fmt::format("tool '{}' is already defined {} times; this definition was left out",
                                       printable(tool.name, 64), kMaxDefinitions));
  if (form == pending.form)
    problem(origin, fmt::format("tool '{}' is already defined; only new parts of this definition are used",
                                printable(tool.name, 64)));
  const bool knows_more = form > pending.form;
  Tool& old = pending.tool;
  // A tools/list has no categories, so an explicit category from another file is better than the default.
  if ((tool.category != tool.server && old.category == old.server) || (knows_more && tool.category != tool.server))
    old.category = tool.category;
  if (old.description.empty() || (knows_more && !tool.description.empty()))
    old.description = std::move(tool.description);
  std::vector<std::string> tags;
  std::set_union(old.tags.begin(), old.tags.end(), tool.tags.begin(), tool.tags.end(), std::back_inserter(tags));
  tags.resize(std::min(tags.size(), kMaxTags));
  old.tags = std::move(tags);
  Json first = parse_own_json(knows_more ? tool.rest : old.rest).value_or(Json::object()),
       second = parse_own_json(knows_more ? old.rest : tool.rest).value_or(Json::object());
  first.insert(second.begin(), second.end());  // does not replace existing members
  if (std::string rest = dump_json(first); rest.size() <= 2 * kMaxDefinitionBytes) {
    old.rest = std::move(rest);
    old.searched = searched_texts(first);
  }
  pending.form = std::max(form, pending.form);
}

void CatalogBuilder::sort_pending() {
  indexes_.clear();
  std::sort(pending_.begin(), pending_.end(), [](const Pending& a, const Pending& b) {
    return std::tie(b.callable, a.tool.name, a.tool.server) < std::tie(a.callable, b.tool.name, b.tool.server);
  });
  size_t bytes = 0;
  for (const auto& [tool, form, definitions, callable] : pending_)
    bytes += tool.name.size() + tool.description.size() + tool.rest.size();
  catalog_->texts_.reserve(std::min(bytes, kMaxTextBytes));
  catalog_->records_.reserve(pending_.size());
  for (const auto& [name, description] : category_texts_) id_of(category_ids_, name);
}

void CatalogBuilder::store(Pending& pending) {
  Tool tool = std::move(pending.tool);
  Catalog& into = *catalog_;
  tool.rest = packed(tool.rest);
  if (into.texts_.size() + tool.name.size() + tool.description.size() + tool.rest.size() > kMaxTextBytes)
    return problem(tool.server, fmt::format("tool '{}' was left out: all definitions together may have {} bytes",
                                            printable(tool.name, 64), kMaxTextBytes));
  Catalog::Record record{};
  record.text = into.texts_.size();
  record.name_bytes = static_cast<uint16_t>(tool.name.size());
  record.description_bytes = static_cast<uint32_t>(tool.description.size());
  record.rest_bytes = static_cast<uint32_t>(tool.rest.size());
  record.server = id_of(server_ids_, tool.server);
  record.category = id_of(category_ids_, tool.category);
  record.kind = tool.kind;
  for (const auto& tag : tool.tags) into.tag_ids_.push_back(id_of(tag_ids_, tag));
  record.tags_end = static_cast<uint32_t>(into.tag_ids_.size());
  into.texts_ += tool.name;
  into.texts_ += tool.description;
  into.texts_ += tool.rest;
  into.records_.push_back(record);
  into.callable_ += pending.callable ? 1 : 0;
  builder_.add(searchable(tool), tool.server.empty() ? kNoGroup : record.server);
}

bool CatalogBuilder::step(std::chrono::microseconds slice) {
  const auto until = Monotonic::now() + slice;
  while (phase_ == Phase::reading) {
    if (next_ == listing_.files.size()) {
      files_ = nullptr;
      sort_pending();
      phase_ = Phase::storing;
      next_ = 0;
    } else {
      auto reading = files_->take(next_);
      const std::string& path = listing_.files[next_++].path;
      if (!reading) problem(path, reading.error().what);
      if (reading) take(path, *std::move(reading), Source::folder);
    }
    if (Monotonic::now() >= until) return false;
  }
  while (phase_ == Phase::storing) {
    if (next_ == pending_.size()) {
      phase_ = Phase::finishing;
      pending_ = {};
    } else {
      store(pending_[next_++]);
    }
    if (Monotonic::now() >= until) return false;
  }
  if (phase_ == Phase::finishing) {
    Catalog& into = *catalog_;
    const auto categories = sorted_ids(category_ids_), servers = sorted_ids(server_ids_);
    for (const auto& [name, id] : category_ids_) into.categories_.push_back({name, category_texts_[name], 0});
    for (const auto& [name, id] : server_ids_) into.servers_.push_back({name, {}, 0});
    into.tag_names_.resize(tag_ids_.size());
    for (const auto& [name, id] : tag_ids_) into.tag_names_[id] = name;
    for (auto& record : into.records_) {
      record.category = categories[record.category];
      record.server = servers[record.server];
      into.categories_[record.category].tools++;
      into.servers_[record.server].tools++;
    }
    for (uint32_t tool = 0; tool < into.size(); tool++) into.add_names(tool);
    std::sort(into.names_.begin(), into.names_.end());
    std::sort(into.segments_.begin(), into.segments_.end());
    into.names_.shrink_to_fit();
    into.segments_.shrink_to_fit();
    into.tag_ids_.shrink_to_fit();
    into.texts_.shrink_to_fit();
    into.index_ = std::move(builder_).finish(into.callable_);
    phase_ = Phase::done;
  }
  return true;
}

std::shared_ptr<const Catalog> CatalogBuilder::take() { return std::move(catalog_); }

Result<std::shared_ptr<const Catalog>> load_catalog(const std::string& folder) {
  TRY(CatalogBuilder builder, CatalogBuilder::begin(folder));
  while (!builder.step(std::chrono::seconds(1))) {
  }
  return builder.take();
}

}  // namespace catalog
