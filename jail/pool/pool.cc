#include "jail/pool/pool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>

#include "jail/machine_files.h"
#include "jail/zygote.h"
#include "supervisor/base/log.h"

namespace jail {
namespace {

using namespace std::chrono_literals;

constexpr auto kOldest = 10min;  // older jails are replaced: their interpreter read files of the host that long ago
constexpr auto kTendEvery = 1s;
constexpr auto kQuiet = 2ms;           // after the last event: lets an answer be sent, and the next call arrive, first
constexpr auto kForgetAfter = 10min;   // a shelf without a request for this long is dropped
constexpr auto kJailReadyLimit = 60s;  // whole seconds are needed only under emulation
constexpr auto kForkLimit = 5s;        // usually a millisecond
constexpr auto kRetryAfter = 1s;       // doubled after each failure, up to kMaxRetryDelay
constexpr auto kMaxRetryDelay = 60s;
constexpr unsigned kWaitingWeight = 1, kRunningWeight = 100;  // cpu.weight
constexpr uint32_t kMaxForks = 2000;  // of one zygote, because its forks share address layout and hash seed
constexpr std::chrono::minutes kOldestZygote = 1h;
constexpr uint32_t kForksBeforeSuccessor = kMaxForks * 9 / 10;
constexpr auto kAgeBeforeSuccessor = kOldestZygote * 9 / 10;
static_assert(kAgeBeforeSuccessor > 50min);
constexpr double kOftenPerSecond = 10;    // executions of one kind: a zygote costs about as much as five cold starts
constexpr uint32_t kStartsForZygote = 6;  // then a zygote costs no more than these did, even if no execution follows
constexpr uint32_t kForksForOne = 8;  // forks in place of one interpreter: a fork needs a fifth, and forks serve bursts
constexpr double kStock = 3;          // the pool holds as many jails as requests come in this many times the build time

// Assumed memory in bytes of one waiting jail, fork or zygote, until a cgroup has counted a real one.
struct Usual {
  uint64_t jail, fork, zygote;
};
Usual usual_bytes(Language language) {
  switch (language) {
    case Language::python:
      return {9 << 20, 3 << 19, 8 << 20};
    case Language::javascript:
      return {48 << 20, 3 << 20, 24 << 20};
    case Language::typescript:
      return {96 << 20, 6 << 20, 72 << 20};
    case Language::shell:
      return {2 << 20, 0, 0};
  }
  return {};
}

std::vector<std::string> warm_command(const Spec& spec, const policies::PoolRules& rules) {
  auto command = spec.command.empty() ? command_of(spec.language, spec.limits) : spec.command;
  for (auto& word : warming_of(spec.language)) command.push_back(std::move(word));
  if (spec.language != Language::python || rules.preload.empty()) return command;
  std::string modules;
  for (const auto& name : rules.preload) modules += (modules.empty() ? "" : ",") + name;
  command.push_back(std::move(modules));
  return command;
}

// A package of a layer is a stranger's code, and a zygote is not confined like a runner: so no zygote loads one ahead.
bool may_fork(const Spec& spec, const policies::PoolRules& rules) {
  return rules.zygotes && !spec.hash_seed && Zygote::exists_for(spec.language) &&
         (spec.layers.empty() || rules.preload.empty());
}

// All properties that are fixed when a jail is built. A jail serves only executions with the same key.
std::string key_of(const Host& host, const Spec& spec, const policies::PoolRules& rules) {
  std::string key = fmt::format("{} {} {} {} {} {} {} {}\n", language_name(spec.language),
                                static_cast<const void*>(spec.filter.get()), spec.limits.tmp_bytes,
                                spec.limits.tmp_files, spec.isolation.landlock == policies::Need::required,
                                spec.listens, spec.displayed.memory_bytes, shown_processors(spec.displayed.cpus));
  auto enforcement = host.cgroups ? Enforcement::with_cgroup : Enforcement::alone;
  for (const auto& limit : resource_limits_of(spec.language, spec.limits, enforcement))
    key += fmt::format("{}={}:{} ", limit.resource, limit.soft, limit.hard);
  for (const auto& word : warm_command(spec, rules)) key += "\n" + word;
  for (const auto& [name, value] : spec.environment) key += "\n" + name + "=" + value;
  if (spec.hash_seed) key += fmt::format("\nseed {}", *spec.hash_seed);
  for (const auto& layer : spec.layers) key += "\nlayer " + layer->hash;
  return key;
}

bool is_same_folder(int one, int other) {
  struct stat a {
  }, b{};
  return ::fstat(one, &a) == 0 && ::fstat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// The tenant comes first: its name holds no newline, so no text of a policy can look like a tenant.
std::string shelf_key(const std::string& tenant, WorkspaceAccess access, const std::string& key) {
  return fmt::format("{}\n{}\n{}", tenant, access_name(access), key);
}

}  // namespace

struct Pool::WaitingJail {
  explicit WaitingJail(Loop& loop) : watching(loop) {}
  std::unique_ptr<Jail> jail;
  Scope watching;  // last: cancelled before the jail goes
};

struct Pool::Shelf {
  std::string tenant;        // set for forks
  Fd directory;              // of the workspace; set for forks
  WorkspaceMount workspace;  // set for forks
  Spec spec;
  policies::PoolRules rules;
  std::deque<std::unique_ptr<WaitingJail>> waiting;  // oldest first
  Monotonic::time_point requested_at = Monotonic::now();
  double requests_per_second = 0;  // smoothed
  uint32_t requested = 0;          // requests since the last look
  uint32_t missed_now = 0;         // how many of these found no waiting jail
  uint32_t missed = 0;             // the largest missed_now of a look; decreases by one every ten looks
  uint32_t looks = 0;
  double build_seconds = 0.05;     // smoothed
  uint64_t bytes = 0;              // of one jail
  std::shared_ptr<Zygote> zygote;  // for forks
  uint32_t forked = 0;             // forks that the zygote made
  uint32_t without_zygote = 0;     // executions without a zygote since the last zygote
  Monotonic::time_point retry_at;
  std::chrono::milliseconds retry_after = kRetryAfter;
  std::string trouble;  // why the last try failed; logged once, until the reason changes

  bool forks() const { return !tenant.empty(); }
  bool has_zygote() const {
    return zygote && zygote->alive() && forked < kMaxForks && Monotonic::now() - zygote->ready_at() < kOldestZygote;
  }
  uint64_t waiting_bytes() const { return bytes * waiting.size() + (zygote ? usual_bytes(spec.language).zygote : 0); }
  // A zygote near its last fork or its largest age gets a successor before that.
  bool wants_zygote() const {
    return forks() && (!has_zygote() || forked >= kForksBeforeSuccessor ||
                       Monotonic::now() - zygote->ready_at() > kAgeBeforeSuccessor);
  }
  // Without a zygote, executions at this rate, or so many in all, cost more than starting one, even while they keep
  // every processor busy.
  bool needs_zygote() const {
    return wants_zygote() && (requests_per_second + requested >= kOftenPerSecond || without_zygote >= kStartsForZygote);
  }
  void miss() {
    missed_now++;
    missed = std::max(missed, std::min(missed_now, max_idle()));
  }
  uint32_t max_idle() const { return forks() ? rules.max_idle * kForksForOne : rules.max_idle; }
  size_t target() const {
    auto stock = static_cast<uint32_t>(std::ceil(requests_per_second * build_seconds * kStock));
    return std::clamp(std::max(stock, missed), rules.min_idle, max_idle());
  }
  // The share of the wanted jails that exists. 1: the shelf is full.
  double share() const {
    if (wants_zygote()) return 0;
    size_t required = target();
    return waiting.size() >= required ? 1 : static_cast<double>(waiting.size()) / static_cast<double>(required);
  }
};

Pool::Pool(Host& host, Limits limits)
    : host_(host),
      limits_(limits),
      used_(host.loop, [this] { return running_ >= limits_.processors; }),
      tasks_(host.loop) {
  tasks_.spawn(keep_filled());
  tend();
}

Pool::~Pool() {
  tasks_.cancel_all();
  idle_ = nullptr;
}

void Pool::retire(std::unique_ptr<Jail> jail, TeardownQueue::Remainder remaining) {
  used_.end(std::move(jail), remaining);
}

Pool::Shelf& Pool::shelf_of(const std::string& tenant, const Spec& spec, const policies::PoolRules& rules,
                            WorkspaceAccess access) {
  auto [it, inserted] = shelves_.try_emplace(shelf_key(tenant, access, key_of(host_, spec, rules)));
  Shelf& shelf = it->second;
  if (inserted) {
    shelf.tenant = tenant;
    shelf.spec = spec;
    if (tenant.empty()) shelf.spec.command = warm_command(spec, rules);
    shelf.bytes = tenant.empty() ? usual_bytes(spec.language).jail : usual_bytes(spec.language).fork;
  }
  shelf.rules = rules;
  shelf.requested_at = Monotonic::now();
  return shelf;
}

void Pool::expect(const Spec& spec, const policies::PoolRules& rules) {
  if (rules.max_idle == 0 || !check_requirements(host_, spec.isolation) || !check_layers(host_, spec)) return;
  (void)shelf_of({}, spec, rules, WorkspaceAccess::direct);
  wake();
}

std::optional<Pool::PooledJail> Pool::take_waiting(Shelf& shelf) {
  if (shelf.waiting.empty()) return std::nullopt;
  auto waiting = std::move(shelf.waiting.front());
  shelf.waiting.pop_front();
  waiting->watching.cancel_all();
  PooledJail pooled;
  pooled.jail = std::move(waiting->jail);
  if (pooled.jail->cgroup()) (void)pooled.jail->cgroup().set_weight(kRunningWeight);
  pooled.origin.start = shelf.forks() ? Start::fork : Start::exec;
  pooled.origin.waited_ms = ms_since(pooled.jail->ready()->at);
  if (shelf.zygote) pooled.origin.zygote_age_ms = ms_since(shelf.zygote->ready_at());
  return pooled;
}

Task<std::optional<Pool::PooledJail>> Pool::take(std::string tenant, Spec spec, policies::PoolRules rules,
                                                 WorkspaceMount workspace) {
  if (!tenant.empty() && may_fork(spec, rules)) {
    Shelf& forks = shelf_of(tenant, spec, rules, workspace.access);
    forks.requested++;
    if (forks.directory && !is_same_folder(forks.directory.get(), workspace.directory)) {  // removed, and made again
      forks.waiting.clear();
      forks.directory.reset();
    }
    if (!forks.directory) {
      forks.directory = Fd(::fcntl(workspace.directory, F_DUPFD_CLOEXEC, 3));
      forks.workspace = {forks.directory.get(), workspace.access, workspace.staging};
    }
    if (auto waiting = take_waiting(forks)) co_return waiting;
    forks.miss();
    // An exec jail that waits would answer sooner. To replace it costs more processor time than ten forks.
    if (forks.has_zygote()) {
      Origin origin{Start::fork, 0, ms_since(forks.zygote->ready_at())};
      const bool is_crowded = running_ >= limits_.processors;
      auto jail = co_await build(forks, is_crowded ? JailPurpose::execution_in_crowd : JailPurpose::execution);
      if (jail) co_return PooledJail{*std::move(jail), origin};
      log_warning("a fork for {}: {}", tenant, jail.error().what);
      co_return std::nullopt;
    }
    forks.without_zygote++;
  }
  if (rules.max_idle == 0) co_return std::nullopt;
  Shelf& shelf = shelf_of({}, spec, rules, WorkspaceAccess::direct);
  shelf.requested++;
  auto waiting = take_waiting(shelf);
  if (!waiting) {
    shelf.miss();
    waiting = take_of_javascript(tenant, std::move(spec), rules, workspace.access);
  }
  co_return waiting;
}

// For TypeScript. Its own jails wait only after a first request, so this takes a waiting JavaScript jail. Its runner
// runs TypeScript, too, and loads the library when it gets the program.
std::optional<Pool::PooledJail> Pool::take_of_javascript(const std::string& tenant, Spec spec,
                                                         const policies::PoolRules& rules, WorkspaceAccess access) {
  if (spec.language != Language::typescript) return std::nullopt;
  spec.language = Language::javascript;
  const std::string key = key_of(host_, spec, rules);
  const std::string keys[] = {shelf_key({}, WorkspaceAccess::direct, key), shelf_key(tenant, access, key)};
  for (const std::string& name : keys)
    if (auto shelf = shelves_.find(name); shelf != shelves_.end())
      if (auto waiting = take_waiting(shelf->second)) return waiting;
  return std::nullopt;
}

Task<Result<std::unique_ptr<Jail>>> Pool::build(Shelf& shelf, JailPurpose purpose) {
  Spec spec = shelf.spec;
  spec.cpu_weight = purpose == JailPurpose::stock ? kWaitingWeight : kRunningWeight;
  spec.name = fmt::format("w{}", next_name_++);
  if (!shelf.forks()) {
    auto jail = co_await Jail::build(host_, std::move(spec));
    co_return jail;
  }
  shelf.forked++;
  auto zygote = shelf.zygote;
  Deadline limit(host_.loop, kForkLimit, [&zygote] { zygote->home().kill(); });  // else it could stop the pool
  auto jail = co_await Jail::fork(host_, zygote, std::move(spec), purpose);
  co_return jail;
}

void Pool::clear() {
  cleared_++;
  shelves_.clear();
}

void Pool::renew() {
  cleared_++;
  for (auto& [key, shelf] : shelves_) {
    shelf.waiting.clear();
    shelf.zygote = nullptr;  // its jails own it until they end
    shelf.forked = 0;
  }
  wake();
}

std::map<Language, Pool::Stock> Pool::stock() const {
  std::map<Language, Stock> all;
  for (const auto& [key, shelf] : shelves_) {
    Stock& stock = all[shelf.spec.language];
    stock.jails += static_cast<uint32_t>(shelf.waiting.size());
    stock.wanted += static_cast<uint32_t>(shelf.target());
    stock.zygotes += shelf.zygote ? 1 : 0;
    stock.bytes += shelf.waiting_bytes();
    stock.starting += key == building_ ? 1 : 0;
    stock.fewest += shelf.rules.min_idle;
    stock.max += shelf.max_idle();
  }
  return all;
}

std::set<std::string> Pool::troubles() const {
  std::set<std::string> all;
  for (const auto& [key, shelf] : shelves_)
    if (!shelf.trouble.empty()) all.insert(shelf.trouble);
  return all;
}

bool Pool::affordable(const Shelf& shelf) const {
  uint64_t pooled = shelf.wants_zygote() ? usual_bytes(shelf.spec.language).zygote : shelf.bytes;
  for (const auto& [key, other] : shelves_) pooled += other.waiting_bytes();
  return pooled <= limits_.memory_bytes;
}

// The shelf with the smallest share of its wanted jails; nullptr while executions need the processors.
Pool::Shelf* Pool::neediest() {
  Shelf* best = nullptr;
  double least = 1;
  auto now = Monotonic::now();
  for (auto& [key, shelf] : shelves_) {
    double share = shelf.share();
    bool may = running_ == 0 || (running_ < limits_.processors && share < 0.25) || shelf.needs_zygote();
    if (!may || share >= least || now < shelf.retry_at || !affordable(shelf)) continue;
    least = share;
    best = &shelf;
  }
  return best;
}

Task<> Pool::keep_filled() {
  for (;;) {
    if (Shelf* shelf = neediest()) {
      std::string key;
      for (const auto& [name, candidate] : shelves_)
        if (&candidate == shelf) key = name;
      building_ = key;
      if (shelf->wants_zygote()) {
        co_await start_zygote(std::move(key));
      } else {
        co_await add_entry(std::move(key));
      }
      building_.clear();
      continue;
    }
    Event work;
    idle_ = &work;
    co_await work;
    idle_ = nullptr;
    co_await sleep_for(host_.loop, kQuiet);
  }
}

Task<> Pool::start_zygote(std::string key) {
  Spec spec = shelves_.at(key).spec;
  spec.name = fmt::format("z{}", next_name_++);
  const uint64_t cleared = cleared_;
  auto started = co_await Zygote::start(host_, std::move(spec), shelves_.at(key).rules.preload);
  auto it = shelves_.find(key);
  if (it == shelves_.end() || cleared != cleared_) co_return;
  Shelf& shelf = it->second;
  if (!started) {
    back_off(shelf, started.error());
    co_return;
  }
  shelf.retry_after = kRetryAfter;
  shelf.trouble.clear();
  shelf.zygote = *std::move(started);
  shelf.forked = shelf.without_zygote = 0;
}

Task<> Pool::add_entry(std::string key) {
  auto started = Monotonic::now();
  const uint64_t cleared = cleared_;
  auto built = co_await build(shelves_.at(key), JailPurpose::stock);
  Result<> done{};
  if (!built) {
    done = tl::unexpected<Error>(std::move(built).error());
  } else {
    Jail* jail = built->get();
    Deadline limit(host_.loop, kJailReadyLimit, [jail] { jail->kill(); });
    done = co_await jail->wait_until_ready();
    WorkspaceMount workspace;
    if (auto shelf = shelves_.find(key); shelf != shelves_.end()) workspace = shelf->second.workspace;
    if (done && workspace.directory >= 0) done = co_await jail->attach(std::move(workspace));
    jail->watch_lone_process();
    (void)jail->applied();
  }
  auto it = shelves_.find(key);
  if (it == shelves_.end() || cleared != cleared_) co_return;  // the shelf was dropped: this frame destroys the jail
  Shelf& shelf = it->second;
  if (!done) {
    back_off(shelf, done.error());
    co_return;
  }
  shelf.retry_after = kRetryAfter;
  if (!shelf.wants_zygote()) shelf.trouble.clear();
  shelf.build_seconds += 0.3 * (ms_since(started) / 1000 - shelf.build_seconds);
  auto waiting = std::make_unique<WaitingJail>(host_.loop);
  waiting->jail = *std::move(built);
  if (waiting->jail->cgroup()) {
    if (uint64_t bytes = waiting->jail->cgroup().memory_bytes()) shelf.bytes = bytes;
  }
  waiting->watching.spawn(watch(std::move(key), waiting.get()));
  shelf.waiting.push_back(std::move(waiting));
}

// After a failed build the next try comes later, each time twice as late. Executions build their own jails and report
// errors.
void Pool::back_off(Shelf& shelf, const Error& error) {
  shelf.retry_at = Monotonic::now() + shelf.retry_after;
  std::string trouble = fmt::format("{} for {} code: {}", shelf.wants_zygote() ? "a zygote" : "a waiting jail",
                                    language_name(shelf.spec.language), error.what);
  if (shelf.trouble != trouble)
    log_warning("{}; next try in {} s, later tries at longer intervals", trouble, shelf.retry_after.count() / 1000);
  shelf.trouble = std::move(trouble);
  shelf.retry_after = std::min<std::chrono::milliseconds>(shelf.retry_after * 2, kMaxRetryDelay);
}

// A waiting jail sends no reports: any report of init means its end.
Task<> Pool::watch(std::string key, WaitingJail* waiting) {
  (void)co_await waiting->jail->next_report();
  log_warning("a waiting jail ended by itself; the pool builds another");
  tasks_.spawn(discard(std::move(key), waiting));
}

Task<> Pool::discard(std::string key, const WaitingJail* waiting) {
  co_await next_turn(host_.loop);  // by then the watching task has ended
  auto it = shelves_.find(key);
  if (it == shelves_.end()) co_return;
  std::erase_if(it->second.waiting, [&](const auto& item) { return item.get() == waiting; });
  wake();
}

void Pool::tend() {
  auto now = Monotonic::now();
  for (auto it = shelves_.begin(); it != shelves_.end();) {
    Shelf& shelf = it->second;
    shelf.requests_per_second += 0.3 * (shelf.requested - shelf.requests_per_second);
    shelf.requested = shelf.missed_now = 0;
    if (++shelf.looks % 10 == 0 && shelf.missed > 0) shelf.missed--;
    while (!shelf.waiting.empty() && now - shelf.waiting.front()->jail->ready()->at > kOldest)
      shelf.waiting.pop_front();
    while (shelf.waiting.size() > shelf.target()) shelf.waiting.pop_front();
    if (shelf.zygote && !shelf.has_zygote()) shelf.zygote = nullptr;  // its jails own it until they end
    it = now - shelf.requested_at > kForgetAfter ? shelves_.erase(it) : std::next(it);
  }
  wake();
  tending_ = Deadline(host_.loop, kTendEvery, [this] { tend(); });
}

void Pool::wake() {
  if (idle_) std::exchange(idle_, nullptr)->fire();
}

}  // namespace jail
