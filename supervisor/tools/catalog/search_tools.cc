#include <fmt/format.h>
#include <fmt/ranges.h>

#include "catalog/did_you_mean.h"
#include "skills/search.h"
#include "supervisor/base/busy_time.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/tools/catalog/catalog_answers.h"
#include "supervisor/tools/catalog/catalog_tools.h"

namespace tools {
namespace {

constexpr int64_t kMaxToolMatches = 50;
constexpr size_t kMaxQueryBytes = 2000;         // the rest of a longer query is not used
constexpr size_t kMaxArgumentBytes = 16 << 20;  // a longer query is an error
constexpr size_t kMaxTags = 16;
constexpr char kSkills[] = "skills";  // the category of skills

// What an answer shows of a skill.
struct SkillEntry {
  explicit SkillEntry(const skills::Skill& skill)
      : name(skill.name), slug(skill.slug), description(skill.description), language(skill.language) {}
  std::string name, slug, description;
  skills::SkillLanguage language;
};

// The skills that fit a query, the best first, as many as an answer may have.
struct FittingSkills {
  std::vector<SkillEntry> entries;
  size_t total = 0;
  bool has_name = false;       // the query is the name of the only one
  bool is_unfinished = false;  // the time did not suffice: none is listed
};

}  // namespace

struct SearchOrder {
  catalog::Query query;
  Detail detail = Detail::summary;
  std::string detail_level;
  std::string tenant;
  std::shared_ptr<const catalog::Learning> learned;
  std::shared_ptr<const catalog::Thesaurus> thesaurus;
  std::optional<skills::SkillMatch> named;  // the skill whose name is the query
  std::vector<skills::SkillMatch> skills;   // the skills that may fit
};

namespace {

Result<SearchOrder> read_search_order(const Json& arguments) {
  Fields in(arguments, "search_tools");
  SearchOrder order;
  TRY(order.query.text, in.string("query", kMaxArgumentBytes));
  if (order.query.text.size() > kMaxQueryBytes)
    order.query.text.resize(whole_utf8_prefix(std::string_view(order.query.text).substr(0, kMaxQueryBytes)));
  TRY(order.query.category, in.string_or("category", ""));
  TRY(order.query.server, in.string_or("server", ""));
  TRY(order.query.tags, in.strings_or("tags", {}));
  TRY(order.detail_level, in.one_of("detail_level", {"brief", "summary", "full"}, "summary"));
  TRY(int64_t limit, in.integer_or("limit", 1, kMaxToolMatches, 5));
  CHECKED(in.done());
  if (order.query.tags.size() > kMaxTags)
    return fail(Code::invalid, fmt::format("search_tools.tags: more than {} tags", kMaxTags));
  order.query.limit = static_cast<size_t>(limit);
  if (order.detail_level == "brief") order.detail = Detail::brief;
  if (order.detail_level == "full") order.detail = Detail::full;
  return order;
}

bool has_group(const std::vector<catalog::Group>& groups, const std::string& name) {
  for (const auto& group : groups)
    if (group.name == name) return true;
  return false;
}

bool is_ascii(std::string_view text) {
  for (char c : text)
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  return true;
}

// The skills that a search may find.
void set_candidate_skills(SearchOrder& order, const skills::Library& library) {
  const catalog::Query& query = order.query;
  if (!query.server.empty() || !query.tags.empty() || (!query.category.empty() && query.category != kSkills)) return;
  order.named = library.find(query.text);
  if (!order.named) order.skills = library.all();
}

// The skills that fit those words of the query that count in full. Without these words it finds no skill, except the
// empty query in the category "skills".
FittingSkills find_skills(const catalog::Catalog& catalog, const SearchOrder& order, WorkMeter& meter) {
  const catalog::Query& query = order.query;
  if (order.named) return {{SkillEntry(*order.named->skill)}, 1, true};
  if (order.skills.empty()) return {};
  std::string words;
  for (const auto& word : catalog.index().terms(query.text).words)
    if (word.weight == catalog::Index::kFull) words += word.text + ' ';
  if (words.empty() && !(query.category == kSkills && query.text.empty())) return {};
  FittingSkills fitting_skills;
  const auto fitting = skills::fitting(order.skills, words, meter);
  fitting_skills.is_unfinished = !fitting;
  if (!fitting) return fitting_skills;
  fitting_skills.total = fitting->size();
  for (size_t i = 0; i < fitting->size() && i < query.limit; i++)
    fitting_skills.entries.emplace_back(*(*fitting)[i].skill);
  return fitting_skills;
}

// The first entries of an answer are most often the ones that are used: the others are told shortly.
EntryShare share_of(size_t index) { return {index == 0 ? 160u : 80u, index < 2}; }

Json describe_skill(const SkillEntry& skill, Detail detail, size_t index) {
  Json all = {{"name", skill.name}, {"kind", "skill"}};
  if (detail != Detail::brief) {
    all["category"] = kSkills;
    all["description"] =
        detail == Detail::full ? skill.description : shortened(skill.description, share_of(index).description_bytes);
  }
  all["mcp_server"] = nullptr;
  if (detail == Detail::full) {
    all["language"] = skills::language_name(skill.language);
    all["uri"] = skills::uri_of(skill.slug, {});
  }
  if (skill.language == skills::SkillLanguage::python) all["import"] = fmt::format("from skills import {}", skill.name);
  if (skill.language == skills::SkillLanguage::javascript)
    all["import"] = fmt::format("const {0} = require('skills/{0}')", skill.name);
  return all;
}

// The numbers of entries in an answer: tools, then skills, then the tools that cannot be called.
struct Places {
  size_t tools = 0, skills = 0, uncallable = 0;
};

// Skills get two fifths of the places, and those that tools leave free. Tools that cannot be called get places that are
// still free; a tool that the query names has the last place, even if it cannot be called.
Places share_places(size_t limit, const catalog::ToolMatches& tools, size_t skills, bool skill_named) {
  Places positions;
  const size_t remaining = limit - std::min(limit, tools.tools.size() + tools.uncallable.size());
  positions.skills = std::min(skills, std::max({remaining, limit * 2 / 5, size_t{skill_named ? 1u : 0u}}));
  positions.tools = std::min(tools.tools.size(), limit - positions.skills);
  positions.uncallable = std::min(tools.uncallable.size(), limit - positions.tools - positions.skills);
  if (!tools.names_uncallable || positions.uncallable > 0 || limit == 1) return positions;
  (positions.tools > 0 ? positions.tools : positions.skills)--;
  positions.uncallable = 1;
  return positions;
}

void append_hint(std::string& hint, std::string_view more) {
  if (!hint.empty() && !more.empty()) hint += "; ";
  hint += more;
}

// The hint of an answer with no tools, or with weak matches only.
std::string advice(const catalog::Catalog& catalog, const catalog::Query& query, const catalog::ToolMatches& tools) {
  if (tools.total > 0) return tools.match == catalog::Match::weak ? "only weak matches; other words may find more" : "";
  std::string text;
  if (!query.category.empty() && !has_group(catalog.categories(), query.category))
    text = "unknown category; list_tool_categories lists them";
  else if (!query.server.empty() && !has_group(catalog.servers(), query.server))
    text = "unknown server; list_tool_categories lists them";
  else if (tools.elsewhere > 0)
    text = fmt::format("{} fit without category, server and tags", tools.elsewhere);
  else if (!tools.unknown_words.empty())
    text = fmt::format("no tool has: {}", fmt::join(tools.unknown_words, ", "));
  else
    text = "no tool has any of these words";
  if (!is_ascii(query.text)) text += "; definitions are written in English";
  if (!tools.nearest.empty()) text += "; see nearest";
  return text;
}

}  // namespace

mcp::ToolDefinition search_tools_definition() {
  mcp::ToolDefinition tool;
  tool.name = "search_tools";
  tool.description = "Find other servers' tools.";
  tool.input_schema = Json::parse(R"({
    "type": "object",
    "properties": {
      "query": {"type": "string"},
      "category": {"type": "string"},
      "detail_level": {"type": "string", "enum": ["brief", "summary", "full"], "default": "summary"},
      "limit": {"type": "integer", "maximum": 50, "default": 5},
      "server": {"type": "string"},
      "tags": {"type": "array", "items": {"type": "string"}}
    },
    "required": ["query"]
  })");
  tool.unlisted = {"server", "tags"};
  mark_read_only(tool);
  return tool;
}

Result<std::shared_ptr<SearchOrder>> prepare_search(const Json& arguments, const SearchLearner* learner,
                                                    const skills::Library* library) {
  const NamedWork named_work(LoopWork::search);
  TRY(SearchOrder order, read_search_order(arguments));
  if (library) set_candidate_skills(order, *library);
  if (learner) {
    order.tenant = learner->tenant;
    order.learned = learner->learning.of(learner->tenant, learner->scope);
    order.thesaurus = learner->learning.thesaurus();
    learner->learning.searched(learner->tenant, learner->scope, order.query.text);
  }
  return std::make_shared<SearchOrder>(std::move(order));
}

Json search_tools(const catalog::Catalog& catalog, SearchOrder& order, WorkMeter& meter) {
  catalog::Query& query = order.query;
  query.learned = order.learned.get();
  query.asker = order.tenant;
  query.thesaurus = order.thesaurus.get();
  const catalog::ToolMatches found = catalog.search(query);
  FittingSkills fits = find_skills(catalog, order, meter);
  bool is_skill = fits.has_name;  // and no tool that can be called has the name
  if (is_skill) {
    const auto tools = catalog.find(query.text).tools;
    is_skill = tools.empty() || !catalog.tool(tools.front()).callable;
  }
  std::vector<SkillEntry>& fitting = fits.entries;
  const size_t fit = fits.total;
  const Places positions = share_places(query.limit, found, fit, is_skill);
  fitting.erase(fitting.begin() + static_cast<ptrdiff_t>(std::min(positions.skills, fitting.size())), fitting.end());
  const size_t listed = positions.tools + positions.skills + positions.uncallable;
  Json answer = {{"query", query.text},
                 {"category", query.category.empty() ? Json(nullptr) : Json(query.category)},
                 {"detail_level", order.detail_level},
                 {"count", listed},
                 {"total", found.total + fit},
                 {"match", found.match == catalog::Match::strong || is_skill ? "strong" : "weak"},
                 {"tools", Json::array()}};
  Json& list = answer["tools"];
  const auto add_tool = [&](uint32_t tool) {
    list.push_back(describe(catalog, tool, order.detail, share_of(list.size())));
  };
  const auto add_skill = [&](const SkillEntry& entry) {
    list.push_back(describe_skill(entry, order.detail, list.size()));
  };
  if (is_skill) add_skill(fitting.front());
  for (size_t i = 0; i < positions.tools; i++) add_tool(found.tools[i]);
  if (!is_skill)
    for (const SkillEntry& entry : fitting) add_skill(entry);
  for (size_t i = 0; i < positions.uncallable; i++) add_tool(found.uncallable[i]);
  const bool skills_only = found.total == 0 && !fitting.empty();
  std::string hint;
  if (found.guessed)
    hint = fmt::format("no tool has any of these words; {} of all {} are listed", listed - fitting.size(), found.total);
  else if (listed < found.total + fit)
    hint = fmt::format("{} of {}; raise limit, or search with more exact words", listed, found.total + fit);
  else if (catalog.size() > 0 && !skills_only && !is_skill)
    hint = advice(catalog, query, found);
  append_hint(hint, catalog::reason_for_no_tools(catalog));
  if (fits.is_unfinished) append_hint(hint, "skills were not searched, it would have taken too long");
  if (positions.uncallable > 0)
    append_hint(hint, "tools with callable false are known, but no upstream server of this daemon has them");
  if (!hint.empty()) answer["hint"] = std::move(hint);
  if (!found.nearest.empty() && !skills_only) answer["nearest"] = describe_nearest(catalog, found.nearest);
  return answer;
}

}  // namespace tools
