#include "supervisor/records/workflows/workflow_store.h"

#include "supervisor/base/json/json_value.h"
#include "supervisor/records/journal/workflow_rows.h"
#include "tests/catch.h"
#include "tests/jail/await.h"
#include "tests/temp_directory.h"

using namespace workflows;

namespace {

constexpr WorkflowLimits kLimits{4, 100, 10'000, std::chrono::seconds(60)};

// The workflows of a daemon, in a journal of their own.
struct Kept {
  TempDirectory folder;
  Loop loop;
  std::unique_ptr<journal::Journal> book;
  std::unique_ptr<journal::WorkflowRows> rows;
  std::unique_ptr<WorkflowStore> store;
  int64_t now = 1'000'000;

  Kept() { open(); }
  void open() {
    store.reset();
    rows.reset();
    book.reset();
    auto opened = journal::Journal::open(loop, folder.path(), {});
    REQUIRE(opened);
    book = *std::move(opened);
    rows = std::make_unique<journal::WorkflowRows>(*book);
    store = std::make_unique<WorkflowStore>(
        *rows, [this] { return now; }, [this] { return now; });
  }
  Result<std::unique_ptr<HeldWorkflow>> hold(const std::string& name, const std::string& execution = "e1",
                                             WorkflowLimits limits = kLimits, const std::string& tenant = "acme") {
    return await(loop, store->hold({tenant, name}, execution, limits));
  }
  std::string begun;  // the name of the step that began last
  StepStart begin(HeldWorkflow& workflow, uint32_t position, const std::string& name) {
    begun = name;
    auto start = await(loop, workflow.begin_step(position, name));
    REQUIRE(start);
    return *start;
  }
  Result<> end(HeldWorkflow& workflow, uint32_t position, const std::string& value,
               StepState state = StepState::finished) {
    return await(loop, workflow.end_step({position, begun, state, value, 1}));
  }
  void finish(HeldWorkflow& workflow, uint32_t position, const std::string& name, const std::string& value) {
    REQUIRE(begin(workflow, position, name).what == StepStart::What::run);
    REQUIRE(end(workflow, position, value));
  }
};

StepInputs inputs_of(const Json& inputs, const std::string& digest = "ab12") {
  auto made = StepInputs::of(inputs, digest);
  REQUIRE(made);
  return *made;
}

bool says(const Error& error, std::string_view words) { return error.what.find(words) != std::string::npos; }

}  // namespace

TEST_CASE("A finished step returns its value to the next holder, with the same key while it runs") {
  Kept kept;
  std::string key;
  {
    auto held = kept.hold("w");
    REQUIRE(held);
    CHECK(kept.begin(**held, 0, "a").what == StepStart::What::run);
    key = (*held)->run() + "-0";
    CHECK((*held)->next_call_key() == key + "-1");
    CHECK((*held)->next_call_key() == key + "-2");
    (*held)->retry_step();
    CHECK((*held)->next_call_key() == key + "-1");
  }
  kept.open();  // as after kill -9: the step did not end
  {
    auto held = kept.hold("w", "e2");
    REQUIRE(held);
    const StepStart again = kept.begin(**held, 0, "a");
    CHECK(again.what == StepStart::What::run);
    CHECK((*held)->run() + "-0" == key);
    REQUIRE(kept.end(**held, 0, R"([1,"x"])"));
    CHECK((*held)->next_call_key().empty());
  }
  kept.open();
  auto held = kept.hold("w", "e3");
  REQUIRE(held);
  const StepStart after = kept.begin(**held, 0, "a");
  CHECK(after.what == StepStart::What::finished);
  CHECK(after.value == R"([1,"x"])");
}

TEST_CASE("A failure that is the last record runs again; one that the program went on after is returned") {
  Kept kept;
  {
    auto held = kept.hold("w");
    REQUIRE(held);
    kept.begin(**held, 0, "a");
    REQUIRE(kept.end(**held, 0, "ValueError: no", StepState::failed));
  }
  {
    auto held = kept.hold("w");
    REQUIRE(held);
    CHECK(kept.begin(**held, 0, "a").what == StepStart::What::run);
    REQUIRE(kept.end(**held, 0, "ValueError: again", StepState::failed));
    kept.finish(**held, 1, "b", "2");
  }
  auto held = kept.hold("w");
  REQUIRE(held);
  const StepStart failed = kept.begin(**held, 0, "a");
  CHECK(failed.what == StepStart::What::failed);
  CHECK(failed.value == "ValueError: again");
}

TEST_CASE("Steps come in their order, under their names, one after another") {
  Kept kept;
  auto held = kept.hold("w");
  REQUIRE(held);
  auto early = await(kept.loop, (*held)->begin_step(1, "b"));
  REQUIRE(!early);
  CHECK(early.error().code == Code::invalid);
  kept.begin(**held, 0, "a");
  auto inside = await(kept.loop, (*held)->begin_step(1, "b"));
  REQUIRE(!inside);
  CHECK(says(inside.error(), "step 'a' has not ended"));
  CHECK(!kept.end(**held, 1, "1"));
  REQUIRE(kept.end(**held, 0, "1"));
  CHECK(!kept.end(**held, 0, "1"));
  auto changed = await(kept.loop, (*held)->begin_step(0, "b"));
  REQUIRE(!changed);
  CHECK(says(changed.error(), "is 'b' now, and was 'a' when it was recorded"));
}

TEST_CASE("A new step may end without having begun, and no other step may") {
  Kept kept;
  auto held = kept.hold("w");
  REQUIRE(held);
  auto end = [&](uint32_t position, const std::string& name, StepState state = StepState::finished) {
    return await(kept.loop, (*held)->end_step({position, name, state, "1", 1}));
  };
  REQUIRE(end(0, "a"));
  CHECK(!end(0, "a"));
  CHECK(!end(2, "c"));
  CHECK(!end(1, "line\nend"));
  kept.begin(**held, 1, "b");
  kept.begin(**held, 1, "b");
  CHECK(!end(1, "another"));
  CHECK(!end(2, "c"));
  REQUIRE(end(1, "b", StepState::failed));
  CHECK(!end(1, "b"));  // a recorded one has to begin again
  kept.begin(**held, 1, "b");
  REQUIRE(end(1, "b"));
  CHECK((*held)->recorded_steps() == 2);
}

TEST_CASE("A workflow has one holder, and is removed only without one") {
  Kept kept;
  auto held = kept.hold("w", "e1");
  REQUIRE(held);
  auto other = kept.hold("w", "e2");
  REQUIRE(!other);
  CHECK(other.error().code == Code::unavailable);
  CHECK(says(other.error(), "in use by execution e1"));
  CHECK(kept.hold("w", "e2", kLimits, "acme/two"));
  CHECK(!await(kept.loop, kept.store->remove({"acme", "w"})));
  held->reset();
  CHECK(kept.store->held() == 0);
  CHECK(await(kept.loop, kept.store->remove({"acme", "w"})));
  auto gone = await(kept.loop, kept.store->remove({"acme", "w"}));
  REQUIRE(!gone);
  CHECK(gone.error().code == Code::not_found);
}

TEST_CASE("Steps, bytes and workflows are bounded, and an earlier value makes room for its successor") {
  Kept kept;
  const WorkflowLimits limits{2, 2, 100, std::chrono::seconds(60)};
  auto held = kept.hold("w", "e1", limits);
  REQUIRE(held);
  kept.finish(**held, 0, "a", std::string(60, '1'));
  kept.begin(**held, 1, "b");
  auto over = kept.end(**held, 1, std::string(60, '1'));
  REQUIRE(!over);
  CHECK(over.error().rule == "workflows.bytes");
  CHECK((*held)->tenant_bytes() == 60);
  kept.begin(**held, 1, "b");
  REQUIRE(kept.end(**held, 1, std::string(30, 'x'), StepState::failed));
  kept.begin(**held, 1, "b");
  REQUIRE(kept.end(**held, 1, std::string(40, '1')));
  CHECK((*held)->tenant_bytes() == 100);
  auto third = await(kept.loop, (*held)->begin_step(2, "c"));
  REQUIRE(!third);
  CHECK(third.error().rule == "workflows.steps");
  REQUIRE(kept.hold("w2", "e1", limits));
  auto more = kept.hold("w3", "e1", limits);
  REQUIRE(!more);
  CHECK(more.error().rule == "workflows.max");
  CHECK(kept.store->holder({"acme", "w3"}).empty());
  const auto list = await(kept.loop, kept.rows->list("acme"));
  REQUIRE(list);
  CHECK(list->size() == 2);
  CHECK((*list)[0].workflow.bytes == 100);
}

TEST_CASE("A long value comes in parts") {
  Kept kept;
  auto held = kept.hold("w", "e1", {4, 100, 10 << 20, std::chrono::seconds(60)});
  REQUIRE(held);
  CHECK(!(*held)->add_to_value("1"));
  kept.begin(**held, 0, "a");
  REQUIRE((*held)->add_to_value("[1,"));
  REQUIRE(kept.end(**held, 0, "2]"));
  CHECK(kept.begin(**held, 0, "a").value == "[1,2]");
  kept.begin(**held, 1, "b");
  REQUIRE((*held)->add_to_value(std::string(kMaxValueBytes, '1')));
  CHECK(!(*held)->add_to_value("1"));
  auto over = kept.end(**held, 1, "1");
  REQUIRE(!over);
  CHECK(says(over.error(), "1048577 bytes"));
}

TEST_CASE("A workflow expires after its last use, whatever the clock did, and a tenant's are forgotten with it") {
  Kept kept;
  {
    auto held = kept.hold("w");
    REQUIRE(held);
    kept.finish(**held, 0, "a", "1");
    kept.now -= 500'000;  // the clock is set back
    kept.finish(**held, 1, "b", "2");
  }
  await(kept.loop, kept.store->tidy());
  CHECK(kept.hold("w"));
  kept.now += 61'000;
  auto used = kept.hold("used");
  REQUIRE(used);
  kept.now += 61'000;
  await(kept.loop, kept.store->tidy());
  auto list = await(kept.loop, kept.rows->list("acme"));
  REQUIRE(list);
  REQUIRE(list->size() == 1);
  CHECK((*list)[0].name == "used");
  CHECK(kept.hold("w", "e1", kLimits, "acme/two"));
  CHECK(kept.hold("w", "e1", kLimits, "acme2"));
  kept.store->forget("acme");
  for (const char* tenant : {"acme", "acme/two"}) {
    list = await(kept.loop, kept.rows->list(tenant));
    REQUIRE(list);
    CHECK(list->empty());
  }
  list = await(kept.loop, kept.rows->list("acme2"));
  REQUIRE(list);
  CHECK(list->size() == 1);
  kept.begin(**used, 0, "a");
  auto lost = kept.end(**used, 0, "1");
  REQUIRE(!lost);
  CHECK(lost.error().code == Code::not_found);
}

TEST_CASE("A thousand steps are read ahead in parts") {
  Kept kept;
  const WorkflowLimits limits{4, 10'000, 10 << 20, std::chrono::seconds(60)};
  auto held = kept.hold("w", "e1", limits);
  REQUIRE(held);
  for (uint32_t i = 0; i < 1'000; i++) kept.finish(**held, i, "s", std::to_string(i) + std::string(1000, ' '));
  held->reset();
  held = kept.hold("w", "e2", limits);
  REQUIRE(held);
  for (uint32_t i = 0; i < 1'000; i++) {
    const StepStart start = kept.begin(**held, i, "s");
    REQUIRE(start.what == StepStart::What::finished);
    REQUIRE(std::stoul(start.value) == i);
  }
}

TEST_CASE("A recorded step is refused if its function reads another value now, and not if it reads another name") {
  Kept kept;
  auto held = kept.hold("w");
  REQUIRE(held);
  const Json ada = {{"customer", "'ada'"}, {"rate", "2"}}, cyd = {{"customer", "'cyd'"}, {"rate", "2"}};
  auto begun = await(kept.loop, (*held)->begin_step(0, "mail", inputs_of(ada)));
  REQUIRE(begun);
  CHECK((*held)->next_call_key() == (*held)->run() + "-0-ab12-1");
  kept.begun = "mail";
  REQUIRE(kept.end(**held, 0, "1"));
  held->reset();
  held = kept.hold("w", "e2");
  REQUIRE(held);
  auto other = await(kept.loop, (*held)->begin_step(0, "mail", inputs_of(cyd)));
  REQUIRE_FALSE(other);
  CHECK(says(other.error(), "recorded with customer = 'ada', and its function reads customer = 'cyd' now"));
  auto renamed = await(kept.loop, (*held)->begin_step(0, "mail", inputs_of(Json{{"client", "'cyd'"}, {"rate", "2"}})));
  REQUIRE(renamed);
  CHECK(renamed->what == StepStart::What::finished);
}

TEST_CASE("A failed step that runs again may read other values, and their key is another") {
  Kept kept;
  auto held = kept.hold("w");
  REQUIRE(held);
  REQUIRE(await(kept.loop, (*held)->begin_step(0, "mail", inputs_of(Json{{"c", "1"}}, "aa"))));
  const std::string key = (*held)->next_call_key();
  kept.begun = "mail";
  REQUIRE(kept.end(**held, 0, "it broke", StepState::failed));
  auto again = await(kept.loop, (*held)->begin_step(0, "mail", inputs_of(Json{{"c", "2"}}, "bb")));
  REQUIRE(again);
  CHECK(again->what == StepStart::What::run);
  CHECK((*held)->next_call_key() != key);
}

TEST_CASE("Inputs are an object of at most 64 short texts, with a digest of hexadecimal digits") {
  Json many = Json::object(), large = Json::object();
  for (int i = 0; i < 65; i++) many[std::to_string(i)] = "1";
  for (int i = 0; i < 60; i++) large[std::to_string(i)] = std::string(200, 'x');
  CHECK_FALSE(StepInputs::of(Json::array(), "ab"));
  CHECK_FALSE(StepInputs::of(Json{{"a", 1}}, "ab"));
  CHECK_FALSE(StepInputs::of(Json{{"a", std::string(257, 'x')}}, "ab"));
  CHECK_FALSE(StepInputs::of(many, "ab"));
  CHECK_FALSE(StepInputs::of(large, "ab"));
  CHECK_FALSE(StepInputs::of(Json{{"a", "1"}}, "AB"));
  CHECK_FALSE(StepInputs::of(Json{{"a", "1"}}, ""));
  CHECK(StepInputs::of(Json::object(), "")->key_end().empty());
}

TEST_CASE("The seed of text hashes is the tenant's, and stays when the daemon starts again") {
  Kept kept;
  const uint32_t seed = kept.store->hash_seed("acme");
  CHECK(seed != 0);
  CHECK(seed != kept.store->hash_seed("other"));
  kept.open();
  CHECK(kept.store->hash_seed("acme") == seed);
}
