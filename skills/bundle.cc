#include "skills/bundle.h"

#include <fmt/format.h>

#include "skills/name.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"

namespace skills {
namespace {

Result<> check_slug(std::string_view slug) {
  if (is_slug(slug)) return {};
  return fail(Code::invalid, fmt::format("'{}' is no name of a skill's folder", valid_utf8(slug)),
              "use lower case letters, digits and single hyphens, as in fleet-report");
}

}  // namespace

Result<std::string> write_bundle(int directory, std::string_view slug) {
  CHECKED(check_slug(slug));
  TRY(const WholeSkill skill, read_whole_skill(directory, slug));
  Json files = Json::object();
  for (const SkillFile& file : skill.skill.files) {
    const std::string& text = skill.contents.at(file.path);
    if (valid_utf8(text) != text)
      return fail(Code::invalid, file.path + " is not UTF-8 text", "leave out files that are not text");
    files[file.path] = text;
  }
  return dump_json({{"files", std::move(files)}});
}

Result<WholeSkill> read_bundle(std::string_view text, std::string_view slug) {
  CHECKED(check_slug(slug));
  TRY(const Json bundle, parse_json(text));
  Fields in(bundle, "");
  const Json* files = in.find("files");
  CHECKED(in.done());
  if (!files || !files->is_object()) return fail(Code::invalid, "files: not an object of texts");
  FileContents contents;
  for (const auto& [path, content] : files->items()) {
    if (!content.is_string()) return fail(Code::invalid, fmt::format("files: {} is no text", valid_utf8(path)));
    contents.emplace(path, content.get_ref<const std::string&>());
  }
  return make_whole_skill(slug, std::move(contents));
}

}  // namespace skills
