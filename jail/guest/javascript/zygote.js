// Entry of a JavaScript zygote: `node --single-threaded --v8-pool-size=1 ... /warder/javascript/zygote.js`, fork orders
// on descriptor 3. Like runner.js, but this process never runs code of a tenant: it warms up once and is copied for
// each jail.
'use strict';
const process = require('process');
const began = process.hrtime.bigint();
const {live, readyMessage, rehearse, warm} = require('./life.js');
const {prepareForCopies, renew} = require('./copies.js');
const {end, isWanted, serve} = require('../zygote/_warder_fork.node');

const REHEARSALS = 20; // after them V8 has type feedback for the code, and copies need not collect it

function getWarm(rounds) {
  if (rounds === 0) beCopied();
  else rehearse(() => getWarm(rounds - 1));
}

function beCopied() {
  prepareForCopies();
  const random = serve(readyMessage(began));
  // From here on this is a copy in its own jail: in the zygote, serve() does not return.
  live(process.hrtime.bigint(), (then) => {
    renew(random);
    if (isWanted()) then();
    else rehearse(then);
  }, end);
}

warm(() => getWarm(REHEARSALS));
