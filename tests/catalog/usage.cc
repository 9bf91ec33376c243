#include "tests/catalog/usage.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>

#include "supervisor/base/json/json_value.h"

namespace usage {
namespace {

// What a definition says of a tool, and what people say: what they want done ({} is to what), and why or how.
struct Job {
  const char *server, *name, *definition;
  std::vector<const char*> wishes, things, details;
};

// Most popular first; the last kUnused are never used.
const Job kJobs[] = {
    {"mail",
     "send_message",
     "Deliver an e-mail to recipients",
     {"drop {} a line", "let {} know", "write to {}", "shoot a note to {}"},
     {"bob", "the landlord", "the customer", "my aunt", "finance", "anna"},
     {"about the rent", "that the order came", "concerning friday", "with the new address"}},
    {"files",
     "read_file",
     "Contents of a text file",
     {"show me {}", "what is in {}", "what does {} say", "have a look at {}"},
     {"the config", "the readme", "the changelog", "the licence", "the shopping list", "the minutes"},
     {"from last week", "of the nginx box", "in the shared drive", "again"}},
    {"web",
     "search_web",
     "Query a search engine for pages",
     {"google {}", "look up {}", "what do people say of {}", "find out about {}"},
     {"electric bikes", "the new tax law", "our competitor", "that error", "heat pumps", "visa rules"},
     {"on the internet", "for my trip", "since january", "and name sources"}},
    {"db",
     "run_query",
     "Execute SQL on a database",
     {"how many {} did we have", "count {}", "top ten {}", "compare {}"},
     {"signups", "customers by revenue", "orders per region", "cancellations", "active users", "returns"},
     {"in march", "since the launch", "by quarter", "against last year"}},
    {"calendar",
     "create_event",
     "Add an appointment to a calendar",
     {"pencil in {}", "block time for {}", "put {} on my agenda", "get everybody together for {}"},
     {"lunch with anna", "focus work", "the dentist", "a retrospective", "the budget round", "a demo"},
     {"on friday", "tomorrow afternoon", "next week", "at nine"}},
    {"issues",
     "create_issue",
     "Open a ticket in a tracker",
     {"report that {}", "log a bug: {}", "somebody must know that {}", "write up how {}"},
     {"the login page crashes", "uploads are slow", "the total is wrong", "the font is blurry", "search hangs"},
     {"on safari", "since the update", "for guests", "every morning"}},
    {"chat",
     "post_to_channel",
     "Say something in a room of the team's messenger",
     {"ping {}", "tell everyone in {}", "give {} a heads up", "announce it to {}"},
     {"engineering", "the support crew", "the founders", "the night shift", "design"},
     {"that lunch is here", "when it is done", "about the outage", "quietly"}},
    {"git",
     "create_branch",
     "Start a line of development from a commit",
     {"let me experiment with {}", "try {} safely", "play with {} without breaking main"},
     {"an idea", "the parser", "dark mode", "the new colours", "caching"},
     {"for a day", "on my own", "before the release"}},
    {"git",
     "revert_commit",
     "Undo the changes of a commit by a new one",
     {"roll back {}", "get rid of {}", "{} broke production, take it out"},
     {"yesterday's deploy", "that merge", "the hotfix", "the bad migration", "lee's patch"},
     {"right now", "before customers notice", "and keep the history"}},
    {"issues",
     "assign_issue",
     "Set who works on a ticket",
     {"hand {} over", "who should own {}", "pass {} on", "give {} to somebody"},
     {"the crash", "the upload bug", "the blurry font", "the wrong total", "that defect"},
     {"to maria", "to lee", "to whoever has time"}},
    {"weather",
     "get_forecast",
     "Temperature and rain for a place and day",
     {"do i need an umbrella {}", "will it be warm {}", "is it going to be sunny {}", "what to wear {}"},
     {"in oslo", "in rome", "at the coast", "in the mountains", "at the festival"},
     {"tomorrow", "this weekend", "on monday"}},
    {"maps",
     "find_route",
     "Directions between two places",
     {"how do i get {}", "fastest way {}", "take me {}", "how long is the drive {}"},
     {"to the airport", "home", "to the stadium", "to grandma", "downtown"},
     {"without tolls", "by bike", "avoiding traffic"}},
    {"db",
     "export_table",
     "Write the rows of a table as CSV",
     {"spreadsheet of {}", "dump {} for excel", "hand over {} as a download"},
     {"the invoices", "the orders", "all members", "the inventory", "the donations"},
     {"for the accountant", "by tonight", "without names"}},
    {"pay",
     "refund_payment",
     "Return money of a charge to the payer",
     {"give {} the money back", "{} was billed twice, make it right", "reimburse {}"},
     {"the buyer", "mrs smith", "the guest", "that subscriber", "the family"},
     {"in full", "for the broken lamp", "minus shipping"}},
    {"pay",
     "create_invoice",
     "Ask a customer for payment",
     {"bill {}", "charge {}", "{} owes us"},
     {"acme", "the client", "the agency", "the tenant", "globex"},
     {"for the consulting hours", "for april", "half in advance"}},
    {"media",
     "transcribe_audio",
     "Speech in a recording as text",
     {"what was said in {}", "type out {}", "who said what in {}", "turn {} into notes"},
     {"the interview", "the voice memo", "the podcast", "the board call", "the lecture"},
     {"word by word", "with timestamps", "in german"}},
    {"media",
     "resize_image",
     "Scale a picture to a width and height",
     {"make {} fit", "thumbnail of {}", "shrink {}", "{} is far too big"},
     {"the logo", "the header photo", "the team portrait", "the screenshot", "the banner"},
     {"for the blog", "for phones", "without cropping"}},
    {"social",
     "publish_post",
     "Put a text on a social network",
     {"tell our followers {}", "tell the world {}", "go public {}", "tweet {}"},
     {"that we are hiring", "about the award", "about version two", "that we moved", "about the sale"},
     {"with an emoji", "at peak time", "in two languages"}},
    {"ops",
     "restart_service",
     "Stop and start a daemon on a host",
     {"kick {}", "bounce {}", "{} hangs, wake it up", "turn {} off and on again"},
     {"the website", "the worker", "box seven", "the mail relay", "the cache"},
     {"gently", "before the shift", "once more"}},
    {"ops",
     "tail_log",
     "Latest lines that a program wrote",
     {"why did {} die", "what is {} complaining about", "see what {} was doing"},
     {"the scheduler", "the importer", "nginx", "the payment worker", "the crawler"},
     {"last night", "around noon", "after the upgrade"}},
    {"calendar",
     "list_events",
     "Appointments between two dates",
     {"am i free {}", "how does {} look", "what is planned {}", "when can we talk {}"},
     {"thursday", "my week", "next tuesday", "the holidays", "mid june"},
     {"for an hour", "in the evening", "roughly"}},
    {"files",
     "move_file",
     "Rename a file or put it into another folder",
     {"tidy up {}", "sort {}", "archive {}", "clean {} out"},
     {"my downloads", "the photos", "old drafts", "the desktop", "the scans"},
     {"by year", "before the audit", "properly"}},
    {"hr",
     "request_leave",
     "Ask for absence from work",
     {"i want {} off", "take {} off", "i will not be in {}"},
     {"two weeks", "christmas", "the afternoon", "a day", "all of august"},
     {"for a wedding", "unpaid", "because i am ill"}},
    {"hr",
     "find_employee",
     "Look up staff by department or skill",
     {"who knows {}", "who can help with {}", "anybody here good at {}"},
     {"portuguese", "kubernetes", "contracts", "first aid", "illustration"},
     {"in the berlin office", "on site", "right now"}},
    {"travel",
     "book_flight",
     "Reserve a seat on a plane",
     {"i have to be in {}", "get me to {} by air", "fly to {}"},
     {"lisbon", "tokyo", "the conference", "chicago", "geneva"},
     {"by wednesday", "with hand luggage", "not too early"}},
    {"travel",
     "book_hotel",
     "Reserve a room for some nights",
     {"i need somewhere to sleep in {}", "a bed in {}", "where can we stay in {}"},
     {"lisbon", "tokyo", "porto", "chicago", "geneva"},
     {"with breakfast", "near the venue", "for two"}},
    {"crm",
     "update_contact",
     "Change what is stored about a person",
     {"{} has a new phone", "{} got married", "correct the name of {}", "{} moved house"},
     {"mr jones", "our lawyer", "the supplier", "the plumber", "mrs garcia"},
     {"last month", "as of today", "so fix it"}},
    {"docs",
     "translate_text",
     "Render a text in another language",
     {"put {} into french", "how do you say {} in japanese", "{} for our spanish readers"},
     {"the welcome letter", "good luck", "the manual", "the terms", "the poem"},
     {"politely", "for natives", "literally"}},
    // Never used.
    {"stock",
     "reorder_goods",
     "Order supplies that run low",
     {"we are out of {}", "get more {}"},
     {"paper", "toner", "coffee", "gloves"},
     {"before monday", "the cheap kind"}},
    {"stock",
     "count_goods",
     "Quantity of an article in a warehouse",
     {"how much {} is left", "do we still have {}"},
     {"toner", "steel", "flour", "bolts"},
     {"in hall two", "today"}},
    {"security",
     "rotate_password",
     "Replace a credential by a fresh one",
     {"i leaked {}", "change {}"},
     {"my login", "the api token", "the wifi code"},
     {"at once", "everywhere"}},
    {"security",
     "scan_ports",
     "Open network services of a machine",
     {"is {} reachable from outside", "what listens on {}"},
     {"the printer", "box nine", "the nas"},
     {"at night", "again"}},
    {"legal",
     "sign_document",
     "Put an electronic signature on a contract",
     {"seal {}", "put my name under {}"},
     {"the lease", "the nda", "the offer"},
     {"today", "as director"}},
    {"legal",
     "compare_versions",
     "Differences between two drafts of a contract",
     {"what did they change in {}", "spot new clauses in {}"},
     {"the lease", "the nda", "the terms"},
     {"since may", "please"}},
    {"lab",
     "book_instrument",
     "Reserve a microscope or centrifuge",
     {"i need {} for my samples", "is {} taken"},
     {"the big scope", "the spinner", "the fridge"},
     {"on friday", "for an hour"}},
    {"lab",
     "log_experiment",
     "Add a protocol of a trial to the notebook",
     {"write down how {} went", "keep a record of {}"},
     {"the titration", "run forty", "the assay"},
     {"today", "with photos"}},
};
constexpr size_t kUnused = 8;
constexpr size_t kUsed = std::size(kJobs) - kUnused;

// Not for the distributions of <random>: those differ between libraries.
class Chance {
 public:
  explicit Chance(uint64_t seed) : random_(seed) {}
  size_t below(size_t end) { return random_() % end; }
  bool one_of(size_t times) { return below(times) == 0; }
  // The first of `count` about twice as often as the second, three times as often as the third.
  size_t popular(size_t count) {
    std::vector<size_t> sums;
    for (size_t i = 0, sum = 0; i < count; i++) sums.push_back(sum += 1000 / (i + 1));
    const size_t at = below(sums.back());
    return static_cast<size_t>(std::upper_bound(sums.begin(), sums.end(), at) - sums.begin());
  }

 private:
  std::mt19937_64 random_;
};

enum class Words { of_people, of_definitions, of_either };

std::string wish(const Job& job, Words words, Chance& chance) {
  if (words == Words::of_definitions || (words == Words::of_either && chance.one_of(2))) {
    std::string text = job.definition;
    text[0] = static_cast<char>(text[0] | 0x20);
    return text;
  }
  std::string text = job.wishes[chance.below(job.wishes.size())];
  text.replace(text.find("{}"), 2, job.things[chance.below(job.things.size())]);
  if (chance.one_of(2)) text += std::string(" ") + job.details[chance.below(job.details.size())];
  return text;
}

Task task_of(const std::vector<const Job*>& jobs, Words words, Chance& chance) {
  static constexpr const char* kJoined[] = {" and ", ", then ", " and then ", "; after that "};
  Task task;
  for (const Job* job : jobs) {
    if (!task.query.empty()) task.query += kJoined[chance.below(std::size(kJoined))];
    task.query += wish(*job, words, chance);
    task.tools.insert(job->name);
  }
  return task;
}

// Two or three different tools: any first, then popular ones, as results are mailed and files read for everything.
std::vector<const Job*> several(Chance& chance) {
  std::vector<const Job*> jobs = {&kJobs[chance.below(kUsed)]};
  const size_t count = chance.one_of(3) ? 3 : 2;
  while (jobs.size() < count) {
    const Job* other = &kJobs[chance.popular(kUsed)];
    if (std::find(jobs.begin(), jobs.end(), other) == jobs.end()) jobs.push_back(other);
  }
  return jobs;
}

// Tools that nobody means, with the same words.
Json peers() {
  Json tools = Json::array();
  for (const char* verb : {"archive", "validate", "compare", "lock", "estimate", "rename"})
    for (const char* noun : {"file", "table", "picture", "ticket", "e-mail", "payment", "daemon", "calendar",
                             "contract", "recording", "room", "network", "text", "commit", "database"})
      tools.push_back({{"name", std::string(verb) + "_" + noun},
                       {"description", std::string("To ") + verb + " a " + noun + " for a customer or a team"}});
  return tools;
}

struct Made {
  TempDirectory folder;
  std::shared_ptr<const catalog::Catalog> all;
};

// With what each tool was used for, if anything is known.
void make(Made& created, const std::map<std::string, std::vector<std::string>>& uses) {
  std::map<std::string, Json> servers;
  for (const Job& job : kJobs) {
    Json tool = {{"name", job.name}, {"description", job.definition}};
    if (auto it = uses.find(job.name); it != uses.end()) tool["use_cases"] = it->second;
    servers[job.server].push_back(std::move(tool));
  }
  servers["more"] = peers();
  for (const auto& [server, tools] : servers)
    std::ofstream(created.folder.path() / (server + ".json")) << Json{{"tools", tools}};
  created.all = catalog::load_catalog(created.folder.path().string()).value();
}

const Job& job_of(const std::string& name) {
  return *std::find_if(std::begin(kJobs), std::end(kJobs), [&](const Job& job) { return job.name == name; });
}

}  // namespace

Office::Office() {
  Chance chance(20261122);
  for (const Job& job : kJobs)
    for (int i = 0; i < 12; i++)
      (&job < kJobs + kUsed ? single_ : unused_).push_back(task_of({&job}, Words::of_either, chance));
  for (int i = 0; i < 400; i++) several_.push_back(task_of(several(chance), Words::of_either, chance));
  for (int i = 0; i < 400; i++) plain_.push_back(task_of(several(chance), Words::of_definitions, chance));
}

size_t Office::tools() const { return std::size(kJobs); }

std::vector<Office::Used> Office::work(size_t uses) const {
  Chance chance(7);
  std::set<std::string> request;  // what is measured with
  for (const auto* set : {&single_, &several_, &plain_})
    for (const Task& task : *set) request.insert(task.query);
  std::vector<Used> all;
  for (size_t done = 0; done < uses * kUsed;) {
    const bool value = chance.one_of(2);
    Used used{task_of(value ? std::vector{&kJobs[chance.one_of(2) ? chance.popular(kUsed) : chance.below(kUsed)]}
                            : several(chance),
                      Words::of_people, chance),
              {}};
    for (const auto& tool : used.task.tools) used.chosen.push_back(tool);
    // What was found is mailed, or a file is read: used soon after the search, but not what it was about.
    if (value && chance.one_of(4)) used.chosen.push_back(kJobs[chance.popular(kUsed)].name);
    done += used.chosen.size();
    if (!request.contains(used.task.query)) all.push_back(std::move(used));
  }
  return all;
}

Recall Office::recall(Memory memory, size_t uses) const {
  const std::vector<Used> used = work(memory == Memory::none ? 0 : uses);
  std::map<std::string, std::vector<std::string>> fields;
  if (memory == Memory::naive)
    for (const Used& item : used)
      for (const auto& tool : item.chosen) {
        auto& existing = fields[tool];
        if (std::find(existing.begin(), existing.end(), item.task.query) == existing.end())
          existing.push_back(item.task.query);
      }
  Made created;
  make(created, fields);
  catalog::Learning learning;
  if (memory == Memory::ours)
    for (const Used& item : used)
      for (const auto& tool : item.chosen)
        learning.teach(created.all->index(), item.task.query, {job_of(tool).server, tool});
  auto measure = [&](const std::vector<Task>& set) {
    double sum = 0;
    for (const Task& task : set) {
      catalog::Query query;
      query.text = task.query;
      query.learned = memory == Memory::ours ? &learning : nullptr;
      size_t hit = 0;
      for (uint32_t number : created.all->search(query).tools)
        hit += task.tools.contains(std::string(created.all->tool(number).name)) ? 1 : 0;
      sum += static_cast<double>(hit) / static_cast<double>(task.tools.size());
    }
    return 100 * sum / static_cast<double>(set.size());
  };
  return {measure(single_), measure(several_), measure(plain_), measure(unused_)};
}

}  // namespace usage
