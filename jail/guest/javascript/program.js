// Makes the body of an async function from a program as agents write it. The value of its last expression is stored,
// imports become awaited calls, and in a session its variables become global. Lines keep their numbers: added code is
// the prologue, on line 0.
//
// `__warder` in the text: last(value) keeps the value of the last expression; import(specifier, names, line, optional)
// is a promise of a module's exports; load(specifier) is import(); meta is import.meta; constants refuses assignments;
// reads(fn, readers) is fn, the function of a step (step_reads.js).
'use strict';
const {isObject, namesOf, parse, walk} = require('./syntax.js');

// A last line that gives the answer at the program's top level: it has no character that could close a function or a
// text.
const ENDS_IN_ANSWER = /(?:^|\n)(?:return\b|result\s*=(?!=))[^\n}`/]*\s*$/;
const NEEDS_READING = /\b(?:import|export|use strict)\b|\.step\b/;
const FUNCTION = /Function/;
const WITHOUT_VALUE = ['EmptyStatement', 'FunctionDeclaration', 'ClassDeclaration', 'ImportDeclaration'];

class Edits {
  #code;
  #all = [];
  #moved = []; // for each edit, the offset in the edited text and its distance from the original

  constructor(code) {
    this.#code = code;
  }

  replace(start, end, text) {
    this.#all.push({start, end, text});
  }

  insert(at, text) {
    this.replace(at, at, text);
  }

  // Replaces a range by spaces; line ends stay.
  blank(start, end) {
    this.replace(start, end, this.#code.slice(start, end).replace(/[^\r\n]/g, ' '));
  }

  // The code with all edits. Insertions at one place keep their order, and come before a replacement there.
  apply() {
    let text = '', at = 0;
    for (const {start, end, text: inserted} of this.#all.sort(inOrder)) {
      text += this.#code.slice(at, start) + inserted;
      at = end;
      if (inserted.length !== end - start) this.#moved.push({from: text.length, by: text.length - end});
    }
    return text + this.#code.slice(at);
  }

  // The column in the original code of a column in the edited text, from 1.
  columnOf(text, line, column) {
    const at = startOf(text, line) + column - 1;
    const by = this.#moved.findLast(({from}) => from <= at)?.by ?? 0;
    return Math.max(1, at - by - startOf(this.#code, line) + 1);
  }
}

function inOrder(a, b) {
  return a.start - b.start || (a.end > a.start) - (b.end > b.start);
}

// The offset of a line's begin; lines count from 1.
function startOf(text, line) {
  let at = 0;
  for (let i = 1; i < line && at >= 0; i++) at = text.indexOf('\n', at) + 1;
  return at;
}

class Writer {
  prologue = '';
  declared = new Set();  // names that this program adds to the session
  constants = new Set(); // the constants among them
  setsResult = false;   // by an unconditional statement
  #code;
  #tree;
  #optional;
  #edits;
  #functions = '';
  #exported = []; // {name, local}: the exported variables

  constructor(code, tree, optional) {
    this.#code = code;
    this.#tree = tree;
    this.#optional = optional;
    this.#edits = new Edits(code);
  }

  // `constants`: the session's constants from earlier programs; undefined: there is no session.
  write(constants) {
    const {body} = this.#tree;
    const isSession = constants !== undefined;
    const exported = body.map((statement) => this.#withoutExport(statement)).filter((it) => it !== undefined);
    const answering = exported[answeringAt(exported)];
    const mentionsImport = this.#code.includes('import');
    for (const statement of exported) {
      if (statement.isDefault && statement !== answering) this.#enclose(statement);
      this.setsResult ||= assigned(statement).includes('result');
      if (statement.type === 'ImportDeclaration') {
        this.#import(statement, isSession);
        continue;
      }
      if (isSession) this.#keep(statement);
      if (mentionsImport) this.#replaceModuleWords(statement);
    }
    if (this.#code.includes('.step')) this.#addReaders();
    this.#answerAmong(exported);
    this.#answerExports(exported);
    if (isSession) this.#guard(constants); // last, because it may insert where the answer begins
    this.prologue = this.#functions + this.prologue;
    return this.#edits.apply();
  }

  columnOf(text, line, column) {
    return this.#edits.columnOf(text, line, column);
  }

  // Only the exported declaration or value stays: no module imports this program.
  #withoutExport(statement) {
    const {type, start, end, declaration} = statement;
    if (type === 'ExportNamedDeclaration' && declaration) {
      this.#edits.blank(start, declaration.start);
      for (const {id} of declaration.declarations ?? []) for (const name of namesOf(id)) this.#exported.push({name, local: name});
      return declaration;
    }
    if (type === 'ExportDefaultDeclaration') {
      this.#edits.blank(start, declaration.start);
      if (/Declaration$/.test(declaration.type) && declaration.id) return declaration;
      return {type: 'ExpressionStatement', start: declaration.start, end, expression: declaration, isDefault: true};
    }
    if (type === 'ExportNamedDeclaration' || type === 'ExportAllDeclaration') {
      for (const {local, exported} of statement.source ? [] : statement.specifiers ?? [])
        this.#exported.push({name: exported.name ?? exported.value, local: local.name});
      this.#edits.blank(start, end);
      return undefined;
    }
    return statement;
  }

  // At the begin of a statement, a function or an object would be read as a declaration or a block.
  #enclose({start, expression}) {
    this.#edits.insert(start, ';(');
    this.#edits.insert(expression.end, ')');
  }

  #import({start, end, source, specifiers}, isSession) {
    const nameOf = (node) => node.name ?? node.value;
    const line = this.#code.slice(0, start).split('\n').length;
    const wanted = [], targets = [];
    let whole;
    for (const {type, imported, local} of specifiers) {
      if (isSession) this.#declareConstant(local.name);
      if (type === 'ImportNamespaceSpecifier') {
        whole = local.name;
        continue;
      }
      const name = type === 'ImportSpecifier' ? nameOf(imported) : 'default';
      wanted.push({name, isOptional: this.#optional?.has(local.name) ?? false});
      targets.push(`${JSON.stringify(name)}: ${local.name}`);
    }
    const names = wanted.filter(({isOptional}) => !isOptional).map(({name}) => name);
    const isOptional = specifiers.length > 0 && names.length === 0 &&
      (whole === undefined || (this.#optional?.has(whole) ?? false));
    const value = `await __warder.import(${JSON.stringify(source.value)}, ${JSON.stringify(names)}, ${line}` +
      `${isOptional ? ', true' : ''})`;
    if (isSession) {
      if (whole !== undefined) targets.unshift(`...${whole}`);
      if (whole !== undefined && targets.length === 1) this.prologue += `${whole} = ${value};`;
      else if (whole !== undefined) this.prologue += `${whole} = ${value};({${targets.slice(1).join(', ')}} = ${whole});`;
      else this.prologue += targets.length > 0 ? `({${targets.join(', ')}} = ${value});` : `${value};`;
    } else if (whole !== undefined) {
      this.prologue += `const ${whole} = ${value}${targets.length > 0 ? `, {${targets.join(', ')}} = ${whole}` : ''};`;
    } else {
      this.prologue += targets.length > 0 ? `const {${targets.join(', ')}} = ${value};` : `${value};`;
    }
    this.#edits.replace(start, end, `;${this.#code.slice(start, end).replace(/[^\r\n]/g, ' ').slice(1)}`);
  }

  // Replaces import(...) and import.meta, which a script cannot use.
  #replaceModuleWords(statement) {
    walk(statement, (node) => {
      if (node.type === 'ImportExpression') this.#edits.replace(node.start, node.start + 6, '__warder.load');
      if (node.type === 'MetaProperty' && node.meta.name === 'import')
        this.#edits.replace(node.start, node.end, '__warder.meta');
      return true;
    });
  }

  // The functions of a workflow's steps get readers of the variables that they read.
  #addReaders() {
    const {findStepReads} = require('./step_reads.js');
    for (const {start, end, names} of findStepReads(this.#tree)) {
      this.#edits.insert(start, '__warder.reads(');
      this.#edits.insert(end, `, {${names.map((name) => `${name}: () => ${name}`).join(', ')}})`);
    }
  }

  // Makes top-level declarations variables of the session: each declaration becomes an assignment.
  #keep(statement) {
    const {type, start, id} = statement;
    if (type === 'FunctionDeclaration') {
      const inner = `__warder_${id.name}`;
      this.declared.add(id.name);
      this.#edits.replace(id.start, id.end, inner);
      this.#functions += `${id.name} = __warder.named(${inner}, ${JSON.stringify(id.name)});`;
    } else if (type === 'ClassDeclaration') {
      this.declared.add(id.name);
      this.#edits.insert(start, `void (${id.name} = `);
      this.#edits.insert(statement.end, ');');
    } else if (type === 'VariableDeclaration') {
      this.#keepVariables(statement);
    } else {
      walk(statement, (node) => {
        if (FUNCTION.test(node.type) || node.type.startsWith('Class')) return false;
        if (/^For(?:In|Of)?Statement$/.test(node.type)) {
          const head = node.init ?? node.left;
          if (head?.type === 'VariableDeclaration' && head.kind === 'var') this.#keepHead(head);
        } else if (node.type === 'VariableDeclaration' && node.kind === 'var' && !node.isKept) {
          this.#keepVariables(node);
        }
        return true;
      });
    }
  }

  #keepHead(head) {
    head.isKept = true;
    for (const {id} of head.declarations) this.#declare(id);
    this.#edits.blank(head.start, head.start + 3);
  }

  #keepVariables({kind, start, end, declarations}) {
    for (const {id, init} of declarations) {
      if (kind === 'const') for (const name of namesOf(id)) this.#declareConstant(name);
      else this.#declare(id);
      if (init) continue;
      if (kind === 'var') this.#edits.insert(id.end, ` = ${id.name}`); // the variable may already have a value
      else this.#edits.insert(id.end, ' = undefined');
    }
    this.#edits.replace(start, start + kind.length, 'void (');
    // Without a semicolon, a bracket in the next line would continue the statement.
    this.#edits.insert(declarations.at(-1).end, this.#code[end - 1] === ';' ? ')' : ');');
  }

  #declare(pattern) {
    for (const name of namesOf(pattern)) this.declared.add(name);
  }

  #declareConstant(name) {
    this.declared.add(name);
    this.constants.add(name);
  }

  // Redirects assignments to constants to a proxy that throws. `result` of an earlier program is no constant: here it
  // is the answer.
  #guard(earlier) {
    const all = new Set(this.constants);
    for (const name of earlier) if (!this.declared.has(name) && name !== 'result') all.add(name);
    if (all.size === 0) return;
    const {findAssignments} = require('./constants.js');
    findAssignments(this.#tree, all, ({start, end, name}, isShorthand) => {
      this.#edits.replace(start, end, `${isShorthand ? `${name}: ` : ''}__warder.constants.${name}`);
    });
  }

  // The value of the last statement that has a value is the program's. If class declarations follow it, they must run
  // first: then the value is stored until the last statement.
  #answerAmong(statements, isKept = false) {
    const at = answeringAt(statements);
    if (at < 0) return;
    const isLater = statements.slice(at + 1).some(({type}) => type === 'ClassDeclaration');
    this.#answer(statements[at], isKept || isLater);
    if (isLater && !isKept) this.#edits.insert(statements.at(-1).end, ';return __warder.last(__warder.kept)');
  }

  // A program that ends in declarations answers with the variables that it exports, if it exports any.
  #answerExports(statements) {
    const last = statements[answeringAt(statements)];
    if (this.#exported.length === 0 || last !== undefined && last.type !== 'VariableDeclaration') return;
    const members = this.#exported.map(({name, local}) => `${JSON.stringify(name)}: ${local}`);
    this.#edits.insert(this.#tree.body.at(-1).end, `;return __warder.last({${members.join(', ')}})`);
  }

  // Makes a statement give the program's value, if it has a value.
  #answer(statement, isKept) {
    const {type, start, end} = statement;
    if (type === 'ExpressionStatement') {
      const close = this.#code[end - 1] === ';' ? end - 1 : end;
      this.#edits.insert(start, isKept ? '__warder.kept = (' : 'return __warder.last((');
      this.#edits.insert(close, isKept ? ')' : '))');
    } else if (type === 'BlockStatement') {
      this.#answerAmong(statement.body, isKept);
    } else if (type === 'IfStatement') {
      this.#answer(statement.consequent, isKept);
      if (statement.alternate) this.#answer(statement.alternate, isKept);
    } else if (type === 'TryStatement') {
      this.#answer(statement.block, isKept);
      if (statement.handler) this.#answer(statement.handler.body, isKept);
    }
  }
}

function answeringAt(statements) {
  return statements.findLastIndex(({type}) => !WITHOUT_VALUE.includes(type));
}

// The names that a statement always gives a value.
function assigned({type, expression, declarations}) {
  if (type === 'VariableDeclaration') return declarations.flatMap(({id, init}) => (init ? namesOf(id) : []));
  return expression?.type === 'AssignmentExpression' ? namesOf(expression.left) : [];
}

// The program and its tree. If the last block would be an object as an expression, it becomes an expression.
function parsed(code) {
  const tree = parse(code);
  const at = code.startsWith('{') ? 0 : code.lastIndexOf('\n{') + 1;
  const object = code.slice(at).replace(/;?\s*$/, '');
  const isLast = tree === undefined || tree.body.at(-1)?.type === 'BlockStatement' && tree.body.at(-1).start === at;
  if (isLast && object.startsWith('{') && !/^\{\s*\}$/.test(object) && isObject(object)) {
    const source = `${code.slice(0, at)};(${object})${code.slice(at + object.length)}`;
    const other = parse(source);
    if (other !== undefined) return {source, tree: other};
  }
  return {source: code, tree};
}

// {text, prologue, declared, constants, setsResult, isStrict, isParsed, columnOf}. `constants`: the session's
// constants, if there is a session. `optional`: names that an import need not find, because types are not found. Text
// that is not a program is returned unchanged: Node reports its error.
function makeProgram(code, {constants, optional} = {}) {
  if (constants === undefined && ENDS_IN_ANSWER.test(code) && !NEEDS_READING.test(code)) return asItIs(code);
  const {source, tree} = parsed(code);
  if (tree === undefined) return asItIs(code);
  const writer = new Writer(source, tree, optional);
  const text = writer.write(constants);
  return {text, prologue: writer.prologue, declared: [...writer.declared], constants: writer.constants,
    setsResult: writer.setsResult, isParsed: true,
    isStrict: tree.body.some(({directive}) => directive === 'use strict'),
    columnOf: (line, column) => writer.columnOf(text, line, column)};
}

function asItIs(code) {
  return {text: code, prologue: '', declared: [], constants: new Set(), setsResult: false, isParsed: false,
    isStrict: /^\s*(['"])use strict\1/.test(code)};
}

module.exports = {makeProgram};
