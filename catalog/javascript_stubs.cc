#include <fmt/format.h>

#include "catalog/doc_comment.h"
#include "catalog/stubs.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace catalog {
namespace {

std::string javascript_function(const StubModule& module, const StubFunction& function, const std::string& name) {
  const std::string input = function.has_input ? type_text(function.input, Dialect::javascript, 4) : "Object";
  std::string about = function.description.empty() ? plain_text(module.tool, 200) : function.description;
  about += fmt::format("\n@param {{{}}} input", plain_text(input, 4000));
  for (const Property& property : function.input.properties)
    if (!property.description.empty())
      about += fmt::format("\n  {}: {}", plain_text(property.name, 100), plain_text(property.description, 500));
  about += fmt::format("\n@returns {{Promise<{}>}} {}",
                       plain_text(type_text(function.output, Dialect::javascript, 4), 4000), function.returns);
  while (about.ends_with(' ')) about.pop_back();
  return fmt::format("/**\n * {}\n */\nasync function {}(input = {{}}) {{\n  return call({}, {}, input);\n}}\n",
                     doc_comment(about), name, string_literal(module.server), string_literal(function.name));
}

// The tool is the module itself, and an export of its name as well: `const {send} = await
// import('./servers/mail/send.js')`. A function's own `name` cannot be assigned, but defined. Node finds the export in
// this form (cjs-module-lexer).
std::string named_export(const std::string& name) {
  return fmt::format("Object.defineProperty(module.exports, '{0}', {{enumerable: true, value: {0}}});\n", name);
}

}  // namespace

std::string javascript_stub(const StubModule& module) {
  std::string text = "'use strict';\nconst {call} = require('../call.js');\n";
  if (module.functions.size() == 1 && module.functions.front().name == module.tool)
    return text + "\n" + javascript_function(module, module.functions.front(), module.module) +
           fmt::format("\nmodule.exports = {0};\n{1}", module.module, named_export(module.module));
  UsedNames reserved;
  std::vector<std::string> names;
  for (const StubFunction& function : module.functions) {
    names.push_back(identifier(function.name, reserved));
    text += "\n" + javascript_function(module, function, names.back());
  }
  text += "\nmodule.exports = {";
  for (size_t i = 0; i < names.size(); i++) text += (i == 0 ? "" : ", ") + names[i];
  return text + "};\n";
}

// All functions in one file, so that an import loads one file. The exports are names in an object literal: node finds
// them in this form only for `import {x} from` and `import * as x from` (cjs-module-lexer).
std::string javascript_server(std::string_view server, const std::vector<StubModule>& modules) {
  std::string lines = fmt::format("{}: {} tools", plain_text(server, 200), modules.size());
  std::string text, names;
  for (const StubModule& module : modules) {
    lines += "\n" + plain_text(module.signature, 600);
    names += (names.empty() ? "" : ", ") + module.module;
    const bool is_one = module.functions.size() == 1 && module.functions.front().name == module.tool;
    if (is_one)
      text += fmt::format("async function {}(input = {{}}) {{ return call({}, {}, input); }}\n", module.module,
                          string_literal(module.server), string_literal(module.tool));
    else
      text += fmt::format("const {0} = require('./{0}.js');\n", module.module);
  }
  return fmt::format(
      "/**\n * {}\n */\n'use strict';\nconst {{call}} = require('../call.js');\n{}\nmodule.exports = {{{}}};\n",
      doc_comment(lines), text, names);
}

std::string javascript_root() {
  return R"js('use strict';
// Asks the supervisor to call `tool` of `server`. What it may not or cannot do rejects with its reason.
exports.call = (server, tool, input) => globalThis.warder.call_tool(tool, input, server);
)js";
}

}  // namespace catalog
