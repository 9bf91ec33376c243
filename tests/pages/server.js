// A stand-in for a server of npm: the tools named TOOLS; arguments are folders that may be read.
const fs = require("fs"), path = require("path"), tools = TOOLS, allowed = process.argv.slice(2);
const call = {
  echo: (a) => ({text: `Echo: ${a.message}`}),
  list_directory: (a) => ({text: fs.readdirSync(a.path).join("\n")}),
  read_text_file: (a) => {
    if (!allowed.some((folder) => path.resolve(a.path).startsWith(folder + "/")))
      return {text: `Access denied - path outside allowed directories: ${a.path} not in ${allowed}`, isError: true};
    return {text: fs.readFileSync(a.path, "utf8"), structured: {content: fs.readFileSync(a.path, "utf8")}};
  },
};
const answers = {
  initialize: () => ({protocolVersion: "2025-06-18", capabilities: {tools: {}}, serverInfo: {name: "stand-in", version: "1"}}),
  "tools/list": () => ({tools: tools.map((name) => ({name, inputSchema: {type: "object",
    properties: {message: {type: "string"}, path: {type: "string"}}}}))}),
  "tools/call": (p) => {
    const {text, structured, isError} = (call[p.name] || (() => ({text: "done"})))(p.arguments);
    return {content: [{type: "text", text}], ...(structured ? {structuredContent: structured} : {}), isError: !!isError};
  },
  ping: () => ({}),
};
require("readline").createInterface({input: process.stdin}).on("line", (line) => {
  const {id, method, params} = JSON.parse(line);
  if (id === undefined) return;
  const known = answers[method];
  console.log(JSON.stringify({jsonrpc: "2.0", id, ...(known ? {result: known(params)} : {error: {code: -32601, message: "none"}})}));
});
