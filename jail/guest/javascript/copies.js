// Prepares a zygote for copies, and renews state in each copy: no random number and no identity of a copy may be the
// same as another copy's. OpenSSL, and so `crypto`, notices the new process id by itself.
'use strict';
const process = require('process');
const v8 = require('v8');
const vm = require('vm');

// After a collection V8 plans another one for idle time: each copy of an older zygote would begin with it.
const ZYGOTES_FLAGS = ['--single-threaded', '--v8-pool-size=1', '--no-memory-reducer'];

// Collects garbage, so that copies need not search the heap for it.
function prepareForCopies() {
  delete process.env.LD_PRELOAD;
  v8.setFlagsFromString('--expose-gc');
  const gc = vm.runInNewContext('gc');
  v8.setFlagsFromString('--no-expose-gc');
  gc();
}

// `random`: 53 new random bits. V8 seeds a context's Math.random() at its first call, from --random-seed or, by
// default, from a generator of the isolate. All copies inherit that generator's state. So this context gets 32 bits by
// the flag, which has an effect only if the zygote has never called Math.random(), and 10 bits by the number of skipped
// values. Contexts that code makes later (node:vm) find the generator advanced by up to 2,048 steps, one for
// each symbol.
function seed(random) {
  const seedBits = random % 2 ** 32 | 0;
  const skipped = Math.floor(random / 2 ** 32) % 2 ** 10;
  const steps = Math.floor(random / 2 ** 42);
  v8.setFlagsFromString(`--random-seed=${seedBits || 1}`);
  for (let i = 0; i <= skipped; i++) Math.random();
  v8.setFlagsFromString('--random-seed=0');
  for (let i = 0; i < steps; i++) Symbol();
}

function renew(random) {
  v8.setFlagsFromString('--memory-reducer');
  seed(random);
  const pid = Object.getOwnPropertyDescriptor(process, 'pid');
  Object.defineProperty(process, 'pid', {...pid, value: Number(require('fs').readlinkSync('/proc/self'))});
  process.execArgv = process.execArgv.filter((flag) => !ZYGOTES_FLAGS.includes(flag));
}

module.exports = {prepareForCopies, renew};
