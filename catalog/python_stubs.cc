#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "catalog/python_names.h"
#include "catalog/stubs.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace catalog {
namespace {

constexpr int kMaxClasses = 40;  // classes of one module; deeper or further objects are dict[str, Any]

// The inside of a """docstring""", indented. The closing quotes stand on a separate line.
std::string docstring(std::string_view text, std::string_view indent) {
  std::string inside;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '\\') {
      inside += "\\\\";
    } else if (text.substr(i, 3) == "\"\"\"") {
      inside += "\\\"\\\"\\\"";
      i += 2;
    } else {
      inside += text[i];
      if (text[i] == '\n') inside += indent;
    }
  }
  if (inside.ends_with('"')) inside += ' ';
  return inside;
}

std::string python_literal(const std::string& json_text) {
  if (json_text == "true") return "True";
  if (json_text == "false") return "False";
  return json_text == "null" ? "None" : json_text;
}

// Annotations of types, and the classes that they need.
class Types {
 public:
  std::string name(const Type& type, const std::string& path) {
    switch (type.kind) {
      case Type::Kind::object:
        return record(type, path);
      case Type::Kind::array:
        return type.parts.empty() ? "list" : "list[" + name(type.parts.front(), path + "Item") + "]";
      case Type::Kind::either: {
        std::string text;
        for (const Type& part : type.parts) text += (text.empty() ? "" : " | ") + name(part, path);
        return text;
      }
      case Type::Kind::choice: {
        std::string text;
        for (const auto& choice : type.choices) {
          if (choice.find_first_of(".eE") != choice.npos && choice.front() != '"' && choice != "true" &&
              choice != "false")
            return "float";  // Literal[] takes no fractions
          text += (text.empty() ? "" : ", ") + python_literal(choice);
        }
        return "Literal[" + text + "]";
      }
      default:
        return type_text(type, Dialect::python, 0);
    }
  }

  std::string classes;  // their text

 private:
  std::string record(const Type& type, const std::string& path) {
    std::vector<std::string> fields;
    bool all_needed = true;
    for (const Property& property : type.properties) {
      UsedNames none;
      if (identifier(property.name, none) != property.name) return "dict[str, Any]";  // not valid as a field name
      all_needed &= property.need == Property::Need::required;
    }
    if (type.properties.empty() || count_ >= kMaxClasses) return "dict[str, Any]";
    count_++;
    const std::string name_of = identifier(path, names_);
    for (const Property& property : type.properties) {
      std::string inner = path + "_" + property.name;
      fields.push_back("    " + property.name + ": " + name(property.type, inner) + "\n");
    }
    classes += fmt::format("class {}(TypedDict{}):\n{}\n\n", name_of, all_needed ? "" : ", total=False",
                           fmt::join(fields, ""));
    return name_of;
  }

  int count_ = 0;
  UsedNames names_;
};

std::string python_function(const StubModule& module, const StubFunction& function, const std::string& name,
                            Types& types) {
  std::string parameters, arguments, about, respelt;
  if (!function.has_input) {
    parameters = "**arguments: Any";
    arguments = "arguments";
  } else {
    const std::vector<std::string> names = python_parameters(function.input.properties);
    size_t number = 0;
    bool keywords = false;
    for (const Property& property : function.input.properties) {
      const std::string& parameter = names[number++];
      if (!parameters.empty()) parameters += ", ";
      if (property.need == Property::Need::optional && !std::exchange(keywords, true)) parameters += "*, ";
      parameters += parameter + ": " + types.name(property.type, name + "_" + parameter);
      if (property.need == Property::Need::optional) parameters += " = ...";
      arguments += (arguments.empty() ? "" : ", ") + string_literal(property.name) + ": " + parameter;
      if (parameter != property.name)
        respelt += (respelt.empty() ? "" : ", ") + string_literal(property.name) + ": " + string_literal(parameter);
      if (property.description.empty() && property.standard.empty()) continue;
      about += fmt::format("\n{}: {}", parameter, plain_text(property.description, 500));
      if (!property.standard.empty()) about += fmt::format(" (default: {})", plain_text(property.standard, 100));
    }
    if (function.input.kind != Type::Kind::object || function.input.open) {
      std::string more = "more";
      while (std::find(names.begin(), names.end(), more) != names.end()) more += '_';
      parameters += (parameters.empty() ? "**" : ", **") + more + ": Any";
      arguments += (arguments.empty() ? "**" : ", **") + more;
    }
    arguments = "{" + arguments + "}";
  }
  if (!respelt.empty()) respelt = "@_spelt({" + respelt + "})\n";
  const std::string result = types.name(function.output, name + "_result");
  std::string text = function.description;
  if (!about.empty()) text += (text.empty() ? "" : "\n") + about;
  if (!function.returns.empty()) text += (text.empty() ? "" : "\n") + ("Returns: " + function.returns);
  if (text.empty()) text = plain_text(module.tool, 200);
  return fmt::format("{}def {}({}) -> {}:\n    \"\"\"{}\n    \"\"\"\n    return _call({}, {}, {})\n", respelt, name,
                     parameters, result, docstring(text, "    "), string_literal(module.server),
                     string_literal(function.name), arguments);
}

}  // namespace

std::string python_stub(const StubModule& module) {
  Types types;
  UsedNames names;
  std::string functions;
  const bool single = module.functions.size() == 1 && module.functions.front().name == module.tool;
  for (const StubFunction& function : module.functions) {
    const std::string name = single ? module.module : identifier(function.name, names);
    functions += "\n\n" + python_function(module, function, name, types);
  }
  std::string text = "\"\"\"" + docstring(plain_text(module.signature, 1000), "") + "\n\"\"\"\n";
  text +=
      "from __future__ import annotations\n\nfrom typing import Any, Literal, TypedDict\n\nfrom servers import call as "
      "_call\n";
  if (functions.find("@_spelt(") != functions.npos) text += "from servers import spelt as _spelt\n";
  if (!types.classes.empty()) text += "\n\n" + types.classes.substr(0, types.classes.size() - 2);
  return text + functions;
}

std::string python_server(std::string_view server, const std::vector<StubModule>& modules) {
  std::string lines, names;
  for (const StubModule& module : modules) {
    lines += "\n" + plain_text(module.signature, 600);
    names += "    " + string_literal(module.module) + ",\n";
  }
  return fmt::format(
      "\"\"\"{}: {} tools. from servers.SERVER import TOOL\n{}\n\"\"\"\nimport sys\n\nfrom servers import Server\n\n"
      "__all__ = [\n{}]\nsys.modules[__name__].__class__ = Server\n",
      docstring(plain_text(server, 200), ""), modules.size(), docstring(lines, ""), names);
}

std::string python_root() {
  return R"py("""Tools of other servers as functions: from servers.SERVER import TOOL. Generated; cannot be changed.

Also: import servers.SERVER as x; x.TOOL(...). help(TOOL) tells its parameters; their names are those of the signature, a
keyword of Python with _ behind it (from_). The tool's own names work, too: TOOL(**{"user-id": 1}). What is left out
(...) is not sent, so the tool's own default holds.
"""
import sys
import types

def call(server, tool, arguments):
    """Asks the supervisor to call `tool` of `server`; what it may not or cannot do, and what fails there, raises
    warder.CallError.
    """
    import warder

    given = {name: value for name, value in arguments.items() if value is not ...}
    return warder._tool({"server": server, "name": tool, "arguments": given})

def spelt(names):
    """A decorator: a function that also takes its arguments by the tool's own names: tool(**{"user-id": 1}). `names`: the
    parameter's name for each of these.
    """
    import functools

    def wrapped(function):
        @functools.wraps(function)
        def tool(*values, **arguments):
            for name, parameter in names.items():
                if name in arguments:
                    if parameter in arguments:
                        raise TypeError(f"{function.__name__}() got {name!r} and {parameter!r}, which are the same argument")
                    arguments[parameter] = arguments.pop(name)
            return function(*values, **arguments)

        return tool

    return wrapped

class Server(types.ModuleType):
    """A server's package. Its modules are imported one by one, when they are first used, each as the function of its
    name.
    """

    def __getattr__(self, name):
        if name.startswith("__") or name not in self.__dict__.get("__all__", ()):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        __import__(f"{self.__name__}.{name}")
        return self.__dict__[name]

    def __dir__(self):
        return sorted({*self.__dict__, *self.__dict__.get("__all__", ())})

    def __setattr__(self, name, value):
        if isinstance(value, types.ModuleType):
            value = getattr(value, name, value)
        super().__setattr__(name, value)


def __getattr__(name):
    """Servers are imported when they are first used."""
    if not name.startswith("_"):
        try:
            __import__(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
        else:
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def __dir__():
    import os
    servers = [entry for path in __path__ for entry in os.listdir(path) if "." not in entry and entry[:1] != "_"]
    return sorted({*globals(), *servers})
)py";
}

}  // namespace catalog
