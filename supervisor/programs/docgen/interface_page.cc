// org.warder.Warder1(5): the interfaces of the daemon on D-Bus, as units/dbus/*.xml describe them.
#include "supervisor/base/ascii.h"
#include "supervisor/base/version.h"
#include "supervisor/programs/docgen/docgen.h"

namespace docgen {
namespace {

using Kind = InterfaceMember::Kind;

void append_members(std::string& out, const Interface& interface, Kind kind, const char* heading) {
  std::string members;
  for (const auto& member : interface.members) {
    if (member.kind != kind) continue;
    const std::string space = kind == Kind::property ? " " : "";
    members += ".TP\n" + bold(member.name) + space + italic(member.signature) + "\n" + roff(member.text) + "\n";
  }
  if (!members.empty()) out += std::string(".SS ") + heading + "\n" + members;
}

}  // namespace

std::string interface_page(const std::vector<Interface>& interfaces, const ManualText& text) {
  std::string out = ".\\\" Generated from units/dbus/*.xml; see supervisor/programs/docgen.\n";
  out += std::string(".TH ORG.WARDER.WARDER1 5 \"\" \"Warder ") + kWarderVersion + "\" \"Warder\"\n";
  out += ".SH NAME\norg.warder.Warder1 \\- " + roff(text.summary) + "\n";
  for (const auto& [heading, body] : text.sections) out += ".SH " + upper_case(heading) + "\n" + paragraphs(body);
  for (const auto& interface : interfaces) {
    out += ".SH " + roff(interface.name) + "\n" + roff(interface.text) + "\n";
    append_members(out, interface, Kind::property, "Properties");
    append_members(out, interface, Kind::method, "Methods");
    append_members(out, interface, Kind::signal, "Signals");
  }
  out += ".SH SEE ALSO\n" + roff("warderd(8), warder(1), busctl(1), polkit(8)") + "\n";
  return out;
}

}  // namespace docgen
