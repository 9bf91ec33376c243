// warder-docgen NAME [FILE...]: prints warder.1, warderd.8, warder-egress.8, warder-node.8, warder.bash,
// org.warder.Warder1.5, which is made of units/dbus/*.xml, or warderd.json.5 or warder-policy.5, which are made of JSON
// schemas. Run by the build; not installed.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string_view>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/cluster/node/node_flags.h"
#include "supervisor/egress/egress_flags.h"
#include "supervisor/flags.h"
#include "supervisor/programs/cli/declaration.h"
#include "supervisor/programs/docgen/docgen.h"
#include "supervisor/programs/docgen/page_texts.h"
#include "supervisor/programs/docgen/schema_page.h"

namespace {

std::string page_of_schema(const std::string& name, const char* file, const docgen::ManualText& text) {
  std::ifstream in(file);
  const auto schema = parse_json(std::string(std::istreambuf_iterator<char>(in), {}));
  if (schema) return docgen::schema_page(name, *schema, text);
  std::fprintf(stderr, "%s: %s\n", file, schema.error().what.c_str());
  return {};
}

std::string page_of_bus(int count, char** files) {
  std::vector<docgen::Interface> interfaces;
  for (int i = 0; i < count; i++) {
    std::ifstream in(files[i]);
    const std::string xml(std::istreambuf_iterator<char>(in), {});
    auto interface = docgen::read_interface(xml);
    if (!interface) {
      std::fprintf(stderr, "%s: %s\n", files[i], interface.error().what.c_str());
      return {};
    }
    interfaces.push_back(*std::move(interface));
  }
  return docgen::interface_page(interfaces, docgen::text_of_bus());
}

docgen::Description describe_warder() {
  CLI::App app(cli::kDescription, "warder");
  cli::Arguments arguments;
  (void)cli::declare(app, arguments);
  return docgen::describe(app);
}

// The command line of a service, as `declare` declares it.
template <typename ServiceFlags>
docgen::Description describe_service(const char* name, const char* description,
                                     void (*declare)(CLI::App&, ServiceFlags&)) {
  CLI::App app(description, name);
  app.set_version_flag("--version", "");
  ServiceFlags flags;
  declare(app, flags);
  return docgen::describe(app);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc >= 2 ? argv[1] : "";
  std::string text;
  if (name == "warder.1") text = docgen::manual_page(describe_warder(), docgen::text_of_warder());
  if (name == "warderd.8")
    text =
        docgen::manual_page(describe_service("warderd", kDaemonDescription, declare_flags), docgen::text_of_warderd());
  if (name == "warder-egress.8")
    text = docgen::manual_page(describe_service("warder-egress", egress::kEgressDescription, egress::declare_flags),
                               docgen::text_of_egress());
  if (name == "warder-node.8")
    text = docgen::manual_page(describe_service("warder-node", cluster::kNodeDescription, cluster::declare_flags),
                               docgen::text_of_node());
  if (name == "warder.bash") text = docgen::bash_completion(describe_warder());
  if (name == "org.warder.Warder1.5" && argc > 2) text = page_of_bus(argc - 2, argv + 2);
  if (name == "warderd.json.5" && argc == 3)
    text = page_of_schema("warderd.json", argv[2], docgen::text_of_configuration());
  if (name == "warder-policy.5" && argc == 3) text = page_of_schema("warder-policy", argv[2], docgen::text_of_policy());
  if (text.empty()) {
    std::fputs(
        "usage: warder-docgen "
        "warder.1|warderd.8|warder-egress.8|warder-node.8|warder.bash|org.warder.Warder1.5|warderd.json.5|warder-"
        "policy.5 "
        "FILE...\n",
        stderr);
    return 2;
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}
