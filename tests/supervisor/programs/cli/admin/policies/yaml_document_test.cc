#include "supervisor/programs/cli/admin/policies/yaml_document.h"

#include <fstream>

#include "supervisor/base/json/json.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"

using admin::read_yaml;

namespace {

Json value_of(std::string_view text) {
  auto document = read_yaml(text);
  REQUIRE(document);
  return std::move(document->value);
}

std::string mistake_in(std::string_view text) {
  auto document = read_yaml(text);
  REQUIRE(!document);
  return document.error().what;
}

}  // namespace

TEST_CASE("YAML becomes JSON, with the line of each value") {
  auto document =
      read_yaml("# a comment\nname: nightly\nsteps:\n  - name: fetch\n    config: {tool: a__b, n: 3}\n  - name: b\n");
  REQUIRE(document);
  CHECK(dump_json(document->value) ==
        R"({"name":"nightly","steps":[{"name":"fetch","config":{"tool":"a__b","n":3}},{"name":"b"}]})");
  CHECK(document->lines.at("name") == 2);
  CHECK(document->lines.at("steps") == 3);
  CHECK(document->lines.at("steps[0]") == 4);
  CHECK(document->lines.at("steps[0].config.tool") == 5);
  CHECK(document->lines.at("steps[1].name") == 6);
}

TEST_CASE("plain scalars have the types of the core schema, quoted ones are texts") {
  CHECK(dump_json(value_of("[null, ~, true, False, 12, -3, +4, 0x1F, 0o17, 1.5, -.5, 2e3, 1., '12', \"true\"]")) ==
        R"([null,null,true,false,12,-3,4,31,15,1.5,-0.5,2000.0,1.0,"12","true"])");
  // What older versions of YAML take for something else is text.
  CHECK(dump_json(value_of("[yes, no, on, 1:30, 2026-11-27, .inf, 1e999, 99999999999999999999x, +-1, '', a b]")) ==
        R"(["yes","no","on","1:30","2026-11-27",".inf","1e999","99999999999999999999x","+-1","","a b"])");
  CHECK(dump_json(value_of("a: |\n  two\n  lines\nb: >\n  one\n  line\n")) ==
        R"({"a":"two\nlines\n","b":"one line\n"})");
  CHECK(dump_json(value_of(R"({"json": [1, {"is": "YAML", "too": null}]})")) ==
        R"({"json":[1,{"is":"YAML","too":null}]})");
}

TEST_CASE("mistakes are told with their line") {
  CHECK(mistake_in("") == "the document is empty");
  CHECK(mistake_in("a: 1\nb: [1, 2\n").find("line 3: not YAML:") == 0);
  CHECK(mistake_in("a: 1\na: 2\n") == "line 2: the key 'a' is there twice, first in line 1");
  CHECK(mistake_in("a.b: 0\na: {b: 1}\n\na.b: 2\n") == "line 4: the key 'a.b' is there twice, first in line 1");
  CHECK(mistake_in("- x: {y: 1,\n  z: 2,\n  y: 3}\n") == "line 3: the key 'y' is there twice, first in line 1");
  CHECK(mistake_in("a: &x 1\nb: *x\n") == "line 1: an anchor (&name) is not read here");
  CHECK(mistake_in("a: 1\nb: *x\n").find("line 2: ") == 0);
  CHECK(mistake_in("a: !!python/object 1\n") == "line 1: a tag (!name) is not read here");
  CHECK(mistake_in("[1]: 2\n") == "line 1: a key that is no text");
  CHECK(mistake_in("a: 1\n---\nb: 2\n").find("a second document begins") != std::string::npos);
  CHECK(mistake_in("a: \"\xff\"\n").find("line ") == 0);
  CHECK(mistake_in(std::string(40, '[') + std::string(40, ']')).find("nested deeper than 32") != std::string::npos);
  CHECK(mistake_in("[" + std::string(300'000, ',') + "]").find("line 1") == 0);
  std::string many = "[";
  for (int i = 0; i < 100'001; i++) many += "1,";
  CHECK(mistake_in(many + "]").find("more than 100000 values") != std::string::npos);
  CHECK(mistake_in(std::string((1 << 20) + 1, ' ')).find("1048576 are read") != std::string::npos);
}

TEST_CASE("a file of JSON with a key twice is refused with both lines") {
  const TempDirectory folder;
  const std::string file = folder.path() / "nightly.json";
  std::ofstream(file) << "{\"name\": \"nightly\",\n \"steps\": [],\n \"steps\": [{}]}";
  const auto document = admin::read_document_file(file);
  REQUIRE(!document);
  CHECK(document.error().what == file + ": line 3: the key 'steps' is there twice, first in line 2");
}
