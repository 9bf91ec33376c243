// A whole execution but for the end of the process: what every one touches is loaded, compiled and, in a fork, copied
// while nobody waits.
'use strict';
const fs = require('fs');
const Module = require('module');
const {Assembler, Channel} = require('./channel.js');
const {Execution} = require('./execution.js');
const {mute} = require('./streams.js');

// A folder that is behind a link in every root, as the workspace is.
const ORDER = {code: 'console.log("a line");\nreturn [await 1, "text", null]', workspace: '/bin', context_vars: {}};
const EVENTS = ['uncaughtException', 'unhandledRejection', 'beforeExit'];
const REPLACED = [[process, 'exit'], [process, 'reallyExit'], [Module, '_resolveFilename'], [fs, 'readFile'],
  [fs, 'readFileSync'], [fs.promises, 'readFile']];

const ORDERED = Buffer.from(`F${JSON.stringify({type: 'run', ...ORDER})}`);

class Over extends Error {}

// Takes an order, and says what a runner says, where nobody is.
function speak(receiveOrder) {
  const fd = fs.openSync('/dev/null', 'r+');
  const channel = new Channel(fd);
  channel.receiveSync();
  channel.send('{}');
  fs.closeSync(fd);
  return receiveOrder({receiveSync: () => new Assembler().add(ORDERED)});
}

// `receiveOrder(channel)` is how the order is taken. Calls `then()` from the event loop when it is over, and has left nothing behind.
function rehearse(receiveOrder, then) {
  const folder = process.cwd();
  const names = new Set(Object.getOwnPropertyNames(globalThis));
  const listeners = EVENTS.map((event) => process.listeners(event));
  const values = REPLACED.map(([object, name]) => object[name]);
  const channel = {maxMessage: 4096, send() {}, linger() {}};
  mute(true);
  new Execution(speak(receiveOrder), channel, () => { throw new Over(); }).run();
  setImmediate(() => {
    try {
      process.emit('beforeExit', 0);
    } catch (e) {
      if (!(e instanceof Over)) throw e;
    }
    process._exiting = false;
    process.exitCode = undefined;
    EVENTS.forEach((event, i) => {
      for (const added of process.listeners(event))
        if (!listeners[i].includes(added)) process.removeListener(event, added);
    });
    REPLACED.forEach(([object, name], i) => { object[name] = values[i]; });
    for (const name of Object.getOwnPropertyNames(globalThis)) if (!names.has(name)) delete globalThis[name];
    process.chdir(folder);
    mute(false);
    then();
  });
}

module.exports = {rehearse};
