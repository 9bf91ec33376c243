// Proxy: http, https and fetch of this process use the proxy of the environment, which leads to the hosts that the
// policy's egress rules name. Node.js does so by itself from 22.21 and 24 on, with NODE_USE_ENV_PROXY; Debian's is older.
'use strict';
const process = require('process');

const ADDRESS = 'http://127.0.0.1:3128'; // jail/jailer/listener.h
const BY_PROXY = 'this jail reaches only the hosts that the egress rules of its policy name, through the proxy in HTTPS_PROXY';
const DISPATCHER = Symbol.for('undici.globalDispatcher.1');
const MOST_REFUSAL = 8192; // bytes of the proxy's answer that an error quotes
const OWN_HOSTS = ['localhost', '127.0.0.1', '::1', '[::1]'];

// The proxy's text of a refusal: JSON with error, rule and remedy.
function refusalOf(status, bytes) {
  const text = bytes.toString('utf8').trim();
  try {
    const told = JSON.parse(text);
    const error = [told.error, told.rule && `rule: ${told.rule}`, told.remedy].filter(Boolean).join('; ');
    return Object.assign(new Error(error), {code: 'ERR_EGRESS_DENIED', status});
  } catch (e) {
    return Object.assign(new Error(`the proxy answers ${status}: ${text}`), {code: 'ERR_EGRESS_DENIED', status});
  }
}

// A tunnel to host:port; done(error, socket).
function openTunnel(net, proxy, host, port, done) {
  const socket = net.connect(Number(proxy.port), proxy.hostname);
  let seen = Buffer.alloc(0), status = 0;
  const fail = (error) => {
    socket.destroy();
    done(error);
  };
  const ended = () => fail(status ? refusalOf(status, seen) : new Error('the proxy closed the connection'));
  socket.once('error', fail);
  socket.once('end', ended);
  socket.once('connect', () => socket.write(`CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`));
  socket.on('data', function read(bytes) {
    seen = Buffer.concat([seen, bytes]).subarray(0, MOST_REFUSAL);
    const end = seen.indexOf('\r\n\r\n');
    if (status || end < 0) return;
    status = Number(seen.toString('latin1', 9, 12));
    seen = seen.subarray(end + 4);
    if (status !== 200) return; // the refusal follows, then the end
    socket.off('data', read);
    socket.off('end', ended);
    socket.off('error', fail);
    done(null, socket);
  });
}

function isOwn(host) {
  return OWN_HOSTS.includes(String(host ?? 'localhost'));
}

function makeAgents(http, https, net, tls, proxy) {
  class Plain extends http.Agent {
    addRequest(request, options, ...rest) {
      const {host = options.hostname, port = 80} = options;
      if (isOwn(host) || options.socketPath) return super.addRequest(request, options, ...rest);
      request.path = `http://${host}:${port}${request.path}`;
      return super.addRequest(request, {...options, host: proxy.hostname, hostname: proxy.hostname, port: proxy.port}, ...rest);
    }
  }
  class Secure extends https.Agent {
    createConnection(options, done) {
      if (isOwn(options.host)) return super.createConnection(options, done);
      openTunnel(net, proxy, options.host, options.port, (error, socket) => {
        if (error) return done(error);
        done(null, tls.connect({...options, socket, servername: options.servername || options.host}));
      });
      return undefined;
    }
  }
  return {plain: new Plain({keepAlive: true}), secure: new Secure({keepAlive: true})};
}

// The class of fetch()'s client is not a module: it is taken from the default client.
function makeDispatcher(net, tls, proxy, before) {
  const connect = (options, done) => {
    if (options.protocol !== 'https:') {
      const socket = net.connect(Number(options.port || 80), options.hostname);
      socket.once('error', done).once('connect', () => done(null, socket.off('error', done)));
      return;
    }
    const port = options.port || 443;
    const secure = (error, socket) => {
      if (error) return done(error);
      const encrypted = tls.connect({socket, host: options.hostname, servername: options.servername || options.hostname, ALPNProtocols: ['http/1.1']});
      encrypted.once('error', done).once('secureConnect', () => done(null, encrypted.off('error', done)));
    };
    if (!isOwn(options.hostname)) return openTunnel(net, proxy, options.hostname, port, secure);
    const socket = net.connect(Number(port), options.hostname);
    socket.once('error', secure).once('connect', () => secure(null, socket.off('error', secure)));
  };
  const agent = new before.constructor({connect});
  const dispatch = agent.dispatch.bind(agent);
  agent.dispatch = (options, handler) => {
    const url = new URL(options.origin);
    if (url.protocol !== 'http:' || isOwn(url.hostname)) return dispatch(options, handler);
    const named = {host: url.host};
    const headers = Array.isArray(options.headers) ? [...options.headers, 'host', url.host] : {...options.headers, ...named};
    return dispatch({...options, origin: proxy.origin, path: `${url.origin}${options.path}`, headers}, handler);
  };
  return agent;
}

function hasProxy(environment) {
  return environment.HTTPS_PROXY === ADDRESS;
}

// `environment`: the variables of this process. Without the proxy in it nothing is changed.
function useProxy(environment) {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (!hasProxy(environment) || major >= 24 || (major === 22 && minor >= 21)) return;
  const [http, https, net, tls] = [require('http'), require('https'), require('net'), require('tls')];
  const proxy = new URL(ADDRESS);
  const agents = makeAgents(http, https, net, tls, proxy);
  http.globalAgent = agents.plain;
  https.globalAgent = agents.secure;
  const fetchDirectly = globalThis.fetch;
  globalThis.fetch = function fetch(...asked) {
    globalThis.fetch = fetchDirectly;
    void globalThis.Response; // loads fetch's own client
    globalThis[DISPATCHER] = makeDispatcher(net, tls, proxy, globalThis[DISPATCHER]);
    return fetchDirectly(...asked);
  };
}

module.exports = {BY_PROXY, hasProxy, useProxy};
