#include "tests/catalog/crowd.h"

#include <array>
#include <string_view>

namespace crowd {
namespace {

struct Trade {
  const char* name;
  std::array<const char*, 14> things;
};

constexpr Trade kTrades[] = {
    {"warehouse",
     {"pallet", "bin", "shelf", "picking list", "goods receipt", "stock count", "forklift", "supplier",
      "purchase order", "batch", "serial number", "dock", "packing station", "reorder rule"}},
    {"clinic",
     {"patient record", "ward", "prescription", "lab result", "vaccination", "referral", "nurse shift",
      "operating room", "diagnosis", "insurance claim", "allergy", "vital signs", "consent form", "bed"}},
    {"school",
     {"pupil", "timetable", "classroom", "grade book", "homework", "parent letter", "exam", "teacher", "substitute",
      "attendance", "curriculum", "certificate", "scholarship", "library card"}},
    {"bank",
     {"loan", "collateral", "branch office", "safe deposit", "credit rating", "direct debit", "statement", "fraud case",
      "teller", "interest table", "mandate", "dispute", "savings plan", "portfolio"}},
    {"insurance",
     {"policy holder", "premium", "damage report", "claim", "broker", "tariff", "risk profile", "expert", "deductible",
      "coverage", "renewal", "accident", "garage", "payout"}},
    {"hosting",
     {"virtual machine", "snapshot", "firewall rule", "load balancer", "bucket", "volume", "ssh key", "virtual network",
      "price plan", "backup job", "mail domain", "zone record", "image", "region"}},
    {"newsroom",
     {"draft article", "author", "headline", "picture credit", "press release", "topic page", "issue", "editor",
      "source", "correction", "video clip", "podcast episode", "reader letter", "paywall"}},
    {"factory",
     {"machine", "work order", "shift", "quality check", "spare part", "maintenance plan", "tool wear", "assembly line",
      "drawing", "bill of materials", "scrap", "downtime", "operator", "calibration"}},
    {"hotel",
     {"guest", "room type", "rate plan", "housekeeping task", "minibar", "key card", "group block", "conference hall",
      "breakfast list", "night audit", "channel manager", "loyalty card", "deposit", "folio"}},
    {"airport",
     {"gate", "runway slot", "baggage belt", "crew roster", "check-in desk", "lounge", "fuel order",
      "passenger manifest", "de-icing", "security lane", "ground vehicle", "stand", "cargo pallet", "delay code"}},
    {"city",
     {"building permit", "street lamp", "parking zone", "council session", "citizen request", "waste bin", "playground",
      "tree register", "marriage date", "dog licence", "road work", "noise complaint", "voter", "museum"}},
    {"law",
     {"case file", "deadline", "client", "court date", "power of attorney", "time entry", "precedent", "witness",
      "contract clause", "settlement", "opinion", "evidence", "fee note", "conflict check"}},
    {"retail",
     {"till", "receipt", "loyalty programme", "shelf label", "promotion", "gift card", "product variant", "store",
      "cashier", "price list", "return slip", "supplier catalogue", "basket", "stocktaking"}},
    {"farm",
     {"cow", "milking robot", "field", "harvest", "fertiliser plan", "tractor", "feed mix", "barn sensor", "seed order",
      "pesticide", "veterinary visit", "grain silo", "subsidy", "greenhouse"}},
    {"studio",
     {"scene", "take", "actor", "shot list", "costume", "sound track", "colour grade", "render job", "storyboard",
      "licence", "location", "props", "subtitle file", "release form"}},
    {"support",
     {"conversation", "macro", "agent group", "service level", "escalation", "inbox", "knowledge article",
      "feedback form", "customer note", "callback", "chat widget", "tag", "queue", "satisfaction survey"}},
    {"sales",
     {"quote", "territory", "forecast", "commission", "prospect list", "price book", "sales call", "competitor",
      "campaign member", "renewal", "product bundle", "approval", "discount rule", "target"}},
    {"analytics",
     {"dashboard", "data source", "metric", "cohort", "funnel", "segment", "experiment", "event stream",
      "report schedule", "annotation", "alert rule", "goal", "attribution model", "data export"}},
    {"construction",
     {"site", "crane", "subcontractor", "defect", "daily log", "safety briefing", "material delivery", "blueprint",
      "change order", "inspection", "scaffold", "concrete test", "budget line", "milestone"}},
    {"energy",
     {"wind turbine", "substation", "outage", "meter point", "tariff zone", "load curve", "balancing group",
      "charging point", "grid fee", "battery", "maintenance crew", "certificate of origin", "supplier switch",
      "cable"}},
    {"games",
     {"player profile", "leaderboard", "achievement", "guild", "match", "loot table", "season pass", "avatar",
      "server shard", "ban", "quest", "tournament", "virtual currency", "replay"}},
    {"church",
     {"parish", "donation", "baptism", "choir", "hymn", "funeral", "volunteer", "candle", "sermon", "festival",
      "sacristan", "wedding", "collection", "bell"}},
    {"lab",
     {"sample", "freezer", "protocol", "instrument", "reagent", "plate layout", "chromatogram", "animal cage", "assay",
      "spectrum", "notebook entry", "hazard label", "centrifuge", "sequence run"}},
    {"transport",
     {"driver", "trailer", "toll", "route plan", "freight offer", "waybill", "proof of delivery", "depot",
      "customs entry", "fuel card", "tachograph", "pick-up", "temperature log", "ferry"}},
};

constexpr const char* kVerbs[] = {"get",    "list",   "create",   "update", "delete", "search",   "export",
                                  "import", "assign", "approve",  "cancel", "check",  "download", "send",
                                  "count",  "move",   "validate", "print",  "share",  "schedule", "compare",
                                  "merge",  "copy",   "archive",  "watch",  "tag",    "book",     "estimate"};
constexpr const char* kSentences[] = {
    "Returns",  "Lists",  "Creates",   "Updates",  "Deletes", "Finds", "Exports",   "Imports",  "Assigns", "Approves",
    "Cancels",  "Checks", "Downloads", "Sends",    "Counts",  "Moves", "Validates", "Prints",   "Shares",  "Schedules",
    "Compares", "Merges", "Copies",    "Archives", "Watches", "Tags",  "Books",     "Estimates"};
constexpr const char* kQualifiers[] = {"",          "",        "",         "by date", "by id",    "in bulk", "history",
                                       "for user",  "details", "status",   "summary", "template", "v2",      "by name",
                                       "as pdf",    "comment", "settings", "types",   "owner",    "price",   "photo",
                                       "by region", "limits",  "notes",    "contact", "calendar"};
constexpr const char* kTails[] = {"with paging.",
                                  "of the current account.",
                                  "filtered by state and date.",
                                  "and returns its id.",
                                  "as a JSON object.",
                                  "and notifies everybody who follows it.",
                                  "by its unique identifier.",
                                  "in a given period.",
                                  "of an organisation.",
                                  "together with its attachments and comments.",
                                  "in the format that was asked for.",
                                  "for reporting.",
                                  "and everything below it.",
                                  "that the user may see.",
                                  "including its price and currency.",
                                  "with location, address and opening hours.",
                                  "so that others can edit it.",
                                  "and writes an audit entry."};
constexpr const char* kSeconds[] = {"",
                                    "",
                                    "",
                                    " Use this before anything is changed.",
                                    " Results are sorted by date, newest first.",
                                    " Requires a role with write access.",
                                    " The answer has a link to the web page.",
                                    " Times are in UTC, amounts in the currency of the account.",
                                    " At most 100 entries in one call.",
                                    " Images and files are answered as URLs.",
                                    " Supports text search over titles and descriptions.",
                                    " Emails are sent to all participants unless silent is set."};
struct Parameter {
  const char *name, *about;
};
constexpr Parameter kParameters[] = {{"id", "Identifier"},
                                     {"limit", "Maximum number of results"},
                                     {"cursor", "Where the last page ended"},
                                     {"query", "Words to search for"},
                                     {"from_date", "Start of the period"},
                                     {"to_date", "End of the period"},
                                     {"language", "Language of the answer, such as en"},
                                     {"user_id", "The user it belongs to"},
                                     {"format", "json, csv or pdf"},
                                     {"status", "open, closed or all"},
                                     {"name", "Its name"},
                                     {"amount", "In cents"},
                                     {"email", "Address that is told"},
                                     {"city", "Where"},
                                     {"country", "Two letters"},
                                     {"file", "Path or URL of a file"},
                                     {"notify", "Whether people are told"},
                                     {"sort", "Field to sort by"},
                                     {"title", "A short title"},
                                     {"text", "Free text"},
                                     {"timezone", "As in Europe/Vienna"},
                                     {"tags", "Labels"},
                                     {"version", "Which version"},
                                     {"dry_run", "Only say what would be done"}};
constexpr const char* kSyllables[] = {"ba",  "cer", "di", "fo",  "gul", "ka", "len", "mi",
                                      "nor", "pu",  "ra", "sel", "ti",  "vo", "zu",  "xen"};

// SplitMix64: a good hash of a counter.
uint64_t mixed(uint64_t value) {
  value += 0x9E3779B97F4A7C15u;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(mixed(seed)) {}
  uint64_t below(uint64_t count) {
    state_ = mixed(state_);
    return (state_ >> 20) % count;
  }
  template <class All>
  auto pick(const All& all) -> decltype(all[0]) {
    return all[below(std::size(all))];
  }

 private:
  uint64_t state_;
};

std::string underscored(std::string_view text) {
  std::string name(text);
  for (char& c : name)
    if (c == ' ' || c == '-') c = '_';
  return name;
}

std::string company(uint64_t number) {
  std::string name;
  for (uint64_t remaining = mixed(number) % 4096 + 4096 * (number + 1); remaining > 0; remaining /= 16)
    name += kSyllables[remaining % 16];
  return name;
}

}  // namespace

Tool tool(uint32_t number) {
  const uint32_t server = number / kToolsOfServer;
  const Trade& trade = kTrades[mixed(server) % std::size(kTrades)];
  Dice dice(number + 77);
  const size_t verb = dice.below(std::size(kVerbs));
  const std::string thing = dice.pick(trade.things);
  const std::string qualifier = dice.pick(kQualifiers);
  Tool created;
  created.server = company(server) + "_" + trade.name;
  created.name = std::string(kVerbs[verb]) + "_" + underscored(thing) +
                 (qualifier.empty() ? "" : "_" + underscored(qualifier)) + "_" +
                 std::to_string(number % kToolsOfServer);
  created.description = std::string(kSentences[verb]) + " the " + thing + (qualifier.empty() ? "" : " " + qualifier) +
                        " " + dice.pick(kTails) + dice.pick(kSeconds);
  for (uint64_t i = 1 + dice.below(5); i > 0; i--) {
    const Parameter& parameter = dice.pick(kParameters);
    created.parameters.emplace_back(parameter.name, parameter.about);
  }
  return created;
}

Json definition(const Tool& tool) {
  Json properties = Json::object();
  for (const auto& [name, about] : tool.parameters) properties[name] = {{"type", "string"}, {"description", about}};
  return {{"name", tool.name},
          {"description", tool.description},
          {"inputSchema", {{"type", "object"}, {"properties", std::move(properties)}}}};
}

}  // namespace crowd
