// Reads byte streams and prints how Node.js splits them: the judge of splitting_test.py. Node's HTTP server is fed with
// a stream in memory, so its parser (llhttp) and its own checks of requests both decide.
// Input and output as of request_splitter.cc; the state is "open" or "refused".
'use strict';
const http = require('http');
const { Duplex } = require('stream');
const readline = require('readline');

function split(bytes) {
  return new Promise(resolve => {
    const requests = [];
    const server = http.createServer({ keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 });
    let refused = false, pending = 0;
    const read = (request, response) => {
      const parts = [];
      pending++;
      request.on('data', part => parts.push(part));
      request.on('error', () => {});
      request.on('end', () => {
        pending--;
        if (request.complete) requests.push([request.method, request.url, Buffer.concat(parts).toString('base64')]);
        response.end();
      });
    };
    server.on('request', read);
    server.on('checkContinue', read);
    server.on('checkExpectation', read);
    server.on('clientError', (error, socket) => { refused = true; });
    const socket = new Duplex({ read() {}, write(chunk, encoding, done) { done(); }, final(done) { done(); } });
    socket.setTimeout = () => socket;
    socket.setNoDelay = socket.setKeepAlive = socket.ref = socket.unref = () => socket;
    socket.on('error', () => {});
    server.emit('connection', socket);
    if (bytes.length > 0) socket.push(bytes);
    // Each request is handed on in a later turn than the one before.
    let turns = 0, seen = -1;
    const wait = () => {
      if (seen !== requests.length) { seen = requests.length; turns = 0; }
      if (++turns < 8) return setImmediate(wait);
      socket.destroy();
      resolve({ requests, state: refused ? 'refused' : 'open' });
    };
    setImmediate(wait);
  });
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    process.stdout.write(JSON.stringify(await split(Buffer.from(line, 'base64'))) + '\n');
  }
})();
