// Blanking: replaces the types of a TypeScript program by spaces, so that all other text stays in its line and column.
// Source: the syntax tree of the TypeScript library. Used by: typescript.js.
'use strict';

// White space and comments.
const BETWEEN = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;

class Blanking {
  valueNames = new Set(); // identifiers that are used as values
  needsMore = false;      // the program has code with types that works only when translated, such as enums
  #ts;
  #kind;
  #tree;
  #text;
  #edits = [];

  constructor(ts, tree, text) {
    this.#ts = ts;
    this.#kind = ts.SyntaxKind;
    this.#tree = tree;
    this.#text = text;
  }

  // The text with all edits.
  apply() {
    let text = '', at = 0;
    for (const {start, end, first} of this.#edits.sort(inOrder)) {
      if (end <= at && !(start === end && start >= at)) continue;
      const from = Math.max(start, at);
      text += this.#text.slice(at, from) + (first ?? '') + blanks(this.#text.slice(from + (first?.length ?? 0), end));
      at = end;
    }
    return text + this.#text.slice(at);
  }

  // Replaces a range by spaces; `first` takes the place of its first character.
  #blank(start, end, first) {
    if (end > start) this.#edits.push({start, end, first});
  }

  #insert(at, text) {
    this.#edits.push({start: at, end: at, first: text});
  }

  visit = (node) => {
    const kind = this.#kind;
    switch (node.kind) {
      case kind.InterfaceDeclaration:
      case kind.TypeAliasDeclaration:
        return this.#remove(node);
      case kind.EnumDeclaration:
      case kind.ModuleDeclaration:
        return this.#has(node, kind.DeclareKeyword) || isOfTypes(node, kind) ? this.#remove(node) : this.#translate(node);
      case kind.Decorator:
      case kind.ExportAssignment:
        if (node.kind === kind.Decorator || node.isExportEquals) return this.#translate(node);
        break;
      case kind.ImportEqualsDeclaration:
        return node.isTypeOnly ? this.#remove(node) : this.#translate(node);
      case kind.ImportDeclaration:
        return this.#import(node);
      case kind.ExportDeclaration:
        return this.#export(node);
      case kind.VariableStatement:
        if (this.#has(node, kind.DeclareKeyword)) return this.#remove(node);
        break;
      case kind.FunctionDeclaration:
        if (!node.body) return this.#remove(node);
        break;
      case kind.ClassDeclaration:
      case kind.ClassExpression:
        if (this.#has(node, kind.DeclareKeyword)) return this.#remove(node);
        this.#removeModifiers(node, false);
        break;
      case kind.HeritageClause:
        if (node.token === kind.ImplementsKeyword) return this.#blank(node.getStart(this.#tree), node.end);
        break;
      case kind.Parameter:
        return this.#parameter(node);
      case kind.PropertyDeclaration:
      case kind.MethodDeclaration:
      case kind.Constructor:
      case kind.GetAccessor:
      case kind.SetAccessor:
        if (this.#member(node)) return;
        break;
      case kind.IndexSignature:
        return this.#remove(node);
      case kind.VariableDeclaration:
        if (node.exclamationToken) this.#blank(node.name.end, node.exclamationToken.end);
        break;
      case kind.AsExpression:
      case kind.SatisfiesExpression:
        this.visit(node.expression);
        return this.#removeTail(node.expression.end, node.end);
      case kind.NonNullExpression: // a bracket in the next line then continues the expression, as in TypeScript
        this.visit(node.expression);
        return this.#blank(node.expression.end, node.end);
      case kind.TypeAssertionExpression:
        this.#assertion(node);
        return this.visit(node.expression);
      case kind.Identifier:
        this.valueNames.add(node.text);
        return;
      case kind.PropertyAccessExpression:
        return this.visit(node.expression);
      case kind.PropertyAssignment:
        if (node.name.kind === kind.ComputedPropertyName) this.visit(node.name);
        return this.visit(node.initializer);
    }
    this.#removeTypes(node);
    this.#ts.forEachChild(node, this.#visitValue);
  };

  #visitValue = (child) => {
    if (this.#ts.isTypeNode(child) && child.kind !== this.#kind.ExpressionWithTypeArguments) return;
    if (child.kind === this.#kind.TypeParameter || this.#ts.isModifier(child)) return;
    this.visit(child);
  };

  // Marks the program for translation. The nodes below are visited for names only.
  #translate(node) {
    this.needsMore = true;
    this.#ts.forEachChild(node, this.#visitValue);
  }

  #has(node, kind) {
    return node.modifiers?.some((it) => it.kind === kind) ?? false;
  }

  // Removes a statement or a member that is only a type.
  #remove(node) {
    this.#blank(node.getStart(this.#tree), node.end, ';');
  }

  // Removes the text behind an expression. If the next line begins with a bracket, it would continue the expression:
  // then the text becomes a semicolon.
  #removeTail(start, end) {
    const next = this.#behindBlanks(end);
    if (this.#text.slice(end, next).includes('\n') && '([`'.includes(this.#text[next] ?? ' ')) {
      this.#blank(start, end - 1);
      this.#blank(end - 1, end, ';');
    } else {
      this.#blank(start, end);
    }
  }

  // Removes the type of `<T>value`. A bracket takes its place if the value would otherwise begin a block or a
  // declaration, or would continue the line before.
  #assertion(node) {
    const start = node.getStart(this.#tree), value = node.expression.getStart(this.#tree);
    const needsBrackets = /^(?:\{|(?:function|class|async|let)\b)/.test(this.#text.slice(value, value + 10)) ||
      this.#text.slice(start, value).includes('\n');
    this.#blank(start, value, needsBrackets ? '(' : undefined);
    if (needsBrackets) this.#insert(node.end, ')');
  }

  // Removes the node's type parameters, type arguments and annotation.
  #removeTypes(node) {
    for (const list of [node.typeParameters, node.typeArguments]) if (list) this.#removeList(node, list);
    if (!node.type || !this.#ts.isTypeNode(node.type)) return;
    const colon = this.#text.lastIndexOf(':', node.type.pos);
    if (node.kind === this.#kind.ArrowFunction && this.#text.slice(colon, node.type.end).includes('\n')) {
      const close = this.#text.lastIndexOf(')', colon); // `=>` must be in the line of the bracket
      this.#blank(close, node.type.end - 1);
      this.#edits.push({start: node.type.end - 1, end: node.type.end, first: ')'});
    } else {
      this.#blank(colon, node.type.end);
    }
  }

  #removeList(node, list) {
    const end = this.#afterList(list);
    if (node.kind === this.#kind.ArrowFunction && this.#text.slice(list.pos, end).includes('\n'))
      this.#blank(list.pos - 1, this.#behindBlanks(end) + 1, '('); // the parameters must begin in the same line
    else
      this.#blank(list.pos - 1, end);
  }

  // The offset of the first text behind white space and comments at `at`.
  #behindBlanks(at) {
    BETWEEN.lastIndex = at;
    return at + BETWEEN.exec(this.#text)[0].length;
  }

  #afterList(list) {
    return this.#text.indexOf('>', list.end) + 1;
  }

  // Removes modifiers that JavaScript does not have. `isMember`: puts a semicolon, so that the line before does not
  // continue.
  #removeModifiers(node, isMember) {
    const kind = this.#kind;
    const known = [kind.StaticKeyword, kind.AsyncKeyword, kind.ExportKeyword, kind.DefaultKeyword, kind.AccessorKeyword];
    (node.modifiers ?? []).forEach((it, i) => {
      if (known.includes(it.kind) || it.kind === kind.Decorator) return;
      this.#blank(it.getStart(this.#tree), it.end, isMember && i === 0 ? ';' : undefined);
    });
  }

  // True if the whole member was removed.
  #member(node) {
    const kind = this.#kind;
    const isType = this.#has(node, kind.AbstractKeyword) || this.#has(node, kind.DeclareKeyword);
    if (isType || !node.body && node.kind !== kind.PropertyDeclaration) {
      this.#remove(node);
      return true;
    }
    this.#removeModifiers(node, true);
    const mark = node.questionToken ?? node.exclamationToken;
    if (mark) this.#blank(node.name.end, mark.end);
    return false;
  }

  #parameter(node) {
    const kind = this.#kind;
    if (node.modifiers?.length > 0) return this.#translate(node); // it declares a property, or has a decorator
    if (node.name.kind === kind.Identifier && node.name.text === 'this') {
      const comma = /^\s*,/.exec(this.#text.slice(node.end))?.[0].length ?? 0;
      return this.#blank(node.getStart(this.#tree), node.end + comma);
    }
    if (node.questionToken) this.#blank(node.name.end, node.questionToken.end);
    if (node.type) this.#blank(node.questionToken?.end ?? node.name.end, node.type.end);
    this.visit(node.name);
    if (node.initializer) this.visit(node.initializer);
  }

  #import(node) {
    const clause = node.importClause;
    const elements = clause?.namedBindings?.elements ?? [];
    const isOfTypes = elements.length > 0 && !clause.name && elements.every((it) => it.isTypeOnly);
    if (clause?.isTypeOnly || isOfTypes) return this.#remove(node);
    this.#removeSpecifiers(elements);
  }

  #export(node) {
    if (node.isTypeOnly) return this.#remove(node);
    this.#removeSpecifiers(node.exportClause?.elements);
  }

  // Removes `type` names from a list of names, each with its comma.
  #removeSpecifiers(elements) {
    for (const element of elements ?? []) {
      if (!element.isTypeOnly) continue;
      const comma = /^\s*,/.exec(this.#text.slice(element.end))?.[0].length ?? 0;
      this.#blank(element.getStart(this.#tree), element.end + comma);
    }
  }
}

function blanks(text) {
  return text.replace(/[^\r\n]/g, ' ');
}

// At the same place, an insertion comes before a replacement.
function inOrder(a, b) {
  return a.start - b.start || (b.start === b.end) - (a.start === a.end) || b.end - a.end;
}

// True for a namespace that contains only types.
function isOfTypes(node, kind) {
  if (node.kind !== kind.ModuleDeclaration) return false;
  const {body} = node;
  if (body?.kind === kind.ModuleDeclaration) return isOfTypes(body, kind); // a namespace with dots in its name
  return (body?.statements ?? []).every((it) =>
    it.kind === kind.InterfaceDeclaration || it.kind === kind.TypeAliasDeclaration || isOfTypes(it, kind));
}

// {text, valueNames, needsMore}: the program `text`, with the tree `tree`, without types. needsMore: blanking is not
// enough, and the program must be translated.
function blank(ts, tree, text) {
  const blanking = new Blanking(ts, tree, text);
  ts.forEachChild(tree, blanking.visit);
  return {text: blanking.needsMore ? text : blanking.apply(), valueNames: blanking.valueNames, needsMore: blanking.needsMore};
}

module.exports = {blank};
