// Docgen: writes manual pages and the completion of bash, as text. Source: Description, Interface. Used by: main.cc.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/programs/docgen/description.h"
#include "supervisor/programs/docgen/interface.h"

namespace docgen {

// The text of a manual page that --help does not have.
struct ManualText {
  int section = 1;
  std::string summary;                                        // after the name: "runs code in single-use jails"
  std::vector<std::pair<std::string, std::string>> sections;  // heading and text; blank lines divide paragraphs
};

// A page in man(7) format.
std::string manual_page(const Description& program, const ManualText& text);
// A page of section 5, in man(7) format; the sections of `text` come before the interfaces.
std::string interface_page(const std::vector<Interface>& interfaces, const ManualText& text);
// A script for the folder of bash-completion.
std::string bash_completion(const Description& program);

// Helpers that make man(7) text.
std::string roff(std::string_view text);
std::string bold(std::string_view text);
std::string italic(std::string_view text);
std::string paragraphs(const std::string& text);

}  // namespace docgen
