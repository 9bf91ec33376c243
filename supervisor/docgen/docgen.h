// Manual pages and the completion of bash, as text.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/docgen/description.h"
#include "supervisor/docgen/interface.h"

namespace docgen {

// What a manual page says that --help does not.
struct ManualText {
  int section = 1;
  std::string summary;                                        // after the name: "runs code in single-use jails"
  std::vector<std::pair<std::string, std::string>> sections;  // heading and text; blank lines divide paragraphs
};

// man(7).
std::string manual_page(const Description& program, const ManualText& text);
// Of section 5; the text's sections stand before the interfaces.
std::string interface_page(const std::vector<Interface>& interfaces, const ManualText& text);
// A script for the folder of bash-completion.
std::string bash_completion(const Description& program);

// Text as man(7) wants it.
std::string roff(std::string_view text);
std::string bold(std::string_view text);
std::string italic(std::string_view text);
std::string upper(std::string text);
std::string paragraphs(const std::string& text);

}  // namespace docgen
