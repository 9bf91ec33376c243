// Parts: the order in which they are opened and destroyed, their services, and their interfaces.
#include "supervisor/parts.h"

#include "tests/catch.h"

namespace {

struct Journal {
  int rows = 0;
};
struct Spans {};
struct Skills {
  Journal* journal;
};

std::vector<std::string> events;  // in the order in which they happened

struct Named : Part {
  explicit Named(std::string own_label) : label(std::move(own_label)) { events.push_back("open " + label); }
  ~Named() override { events.push_back("close " + label); }
  std::string label;
};

struct JournalPart final : Named, PolicyFollower {
  JournalPart() : Named("journal") {}
  static Result<std::unique_ptr<JournalPart>> open() { return std::make_unique<JournalPart>(); }
  std::tuple<Journal&> services() { return {journal}; }
  void adopt_policies() override { events.push_back("policies journal"); }
  Journal journal;
};

struct SkillsPart final : Named, PolicyFollower, TenantDataOwner {
  explicit SkillsPart(Journal& journal, Spans* spans) : Named(spans ? "skills+spans" : "skills"), skills{&journal} {}
  static Result<std::unique_ptr<SkillsPart>> open(Journal& journal, Spans* spans) {
    journal.rows++;
    return std::make_unique<SkillsPart>(journal, spans);
  }
  std::tuple<Skills&> services() { return {skills}; }
  void adopt_policies() override { events.push_back("policies skills"); }
  void forget(const tenants::TenantId& id) override { events.push_back("forget " + id.text()); }
  Skills skills;
};

struct ToolsPart final : Named {
  ToolsPart() : Named("tools") {}
  static Result<std::unique_ptr<ToolsPart>> open(Skills&) { return std::make_unique<ToolsPart>(); }
};

struct SpansPart final : Named {
  explicit SpansPart(bool has_spans) : Named("spans"), offered(has_spans ? &spans : nullptr) {}
  template <bool kHasSpans>
  static Result<std::unique_ptr<SpansPart>> open() {
    return std::make_unique<SpansPart>(kHasSpans);
  }
  std::tuple<Spans*> services() { return {offered}; }
  Spans spans;
  Spans* offered;
};

Result<std::unique_ptr<Part>> fail_to_open(Journal&) { return fail(Code::internal, "the disk is gone", "mount it"); }

}  // namespace

TEST_CASE("a part is opened after the parts whose services it needs, and destroyed before them", "[parts]") {
  events.clear();
  {
    auto parts = Parts::open({part_entry_of("tools", ToolsPart::open), part_entry_of("skills", SkillsPart::open),
                              part_entry_of("journal", JournalPart::open)},
                             {});
    REQUIRE(parts);
    CHECK(events == std::vector<std::string>{"open journal", "open skills", "open tools"});
    CHECK((*parts)->find<Journal>()->rows == 1);
    CHECK((*parts)->find<Skills>()->journal == (*parts)->find<Journal>());
    events.clear();
  }
  CHECK(events == std::vector<std::string>{"close tools", "close skills", "close journal"});
}

TEST_CASE("a need that is a pointer waits for the part that may offer it, and is nullptr without one", "[parts]") {
  const auto journal = part_entry_of("journal", JournalPart::open), skills = part_entry_of("skills", SkillsPart::open);
  SECTION("no part offers it") {
    events.clear();
    CHECK(Parts::open({journal, skills}, {}));
    CHECK(events[1] == "open skills");
  }
  SECTION("a later part offers it") {
    events.clear();
    CHECK(Parts::open({journal, skills, part_entry_of("spans", SpansPart::open<true>)}, {}));
    CHECK(std::vector<std::string>(events.begin() + 1, events.begin() + 3) ==
          std::vector<std::string>{"open spans", "open skills+spans"});
  }
  SECTION("the part that could offer it offers nullptr") {
    events.clear();
    CHECK(Parts::open({journal, skills, part_entry_of("spans", SpansPart::open<false>)}, {}));
    CHECK(events[2] == "open skills");
  }
}

TEST_CASE("services of the daemon itself are there before any part", "[parts]") {
  Journal journal;
  Services services;
  services.add(&journal);
  auto parts = Parts::open({part_entry_of("skills", SkillsPart::open)}, services);
  REQUIRE(parts);
  CHECK(journal.rows == 1);
  CHECK((*parts)->find<Parts>() == parts->get());
}

TEST_CASE("all() returns the parts with an interface, in the order of their opening", "[parts]") {
  auto parts =
      Parts::open({part_entry_of("skills", SkillsPart::open), part_entry_of("journal", JournalPart::open)}, {});
  REQUIRE(parts);
  events.clear();
  for (PolicyFollower* part : (*parts)->all<PolicyFollower>()) part->adopt_policies();
  for (TenantDataOwner* part : (*parts)->all<TenantDataOwner>()) part->forget(tenants::TenantId{"ada"});
  CHECK((*parts)->all<Drainer>().empty());
  CHECK((*parts)->all<Named>().front()->name() == "journal");
  CHECK(events == std::vector<std::string>{"policies journal", "policies skills", "forget ada"});
}

TEST_CASE("parts that cannot be opened are an error that names them", "[parts]") {
  SECTION("a service that no part offers") {
    auto parts = Parts::open({part_entry_of("tools", ToolsPart::open)}, {});
    REQUIRE_FALSE(parts);
    CHECK(parts.error().what.find("tools needs") != std::string::npos);
    CHECK(parts.error().what.find("Skills") != std::string::npos);
  }
  SECTION("a service that two parts offer") {
    auto parts =
        Parts::open({part_entry_of("one", JournalPart::open), part_entry_of("another", JournalPart::open)}, {});
    REQUIRE_FALSE(parts);
    CHECK(parts.error().what.starts_with("part 'another' offers"));
  }
  SECTION("the error of a part is not changed, and the parts before it are destroyed") {
    events.clear();
    auto parts = Parts::open({part_entry_of("journal", JournalPart::open), part_entry_of("bad", fail_to_open)}, {});
    REQUIRE_FALSE(parts);
    CHECK(parts.error().what == "the disk is gone");
    CHECK(events == std::vector<std::string>{"open journal", "close journal"});
  }
}
