// SPDX-License-Identifier: MIT
// A real engine, llama.cpp with continuous batching, behind OpenAI's streaming API and vLLM's
// metric names. Writes its port to descriptor 3 when it is ready (llama.cpp talks on the others),
// and ends when its parent has.
//
//     node engine.cjs NODE_MODULES MODEL SLOTS CONTEXT
//
// POST /v1/chat/completions   messages, max_tokens, temperature, stream
// GET  /metrics /health /v1/models
//
// What a stream holds follows from the request alone at temperature 0: ids are the caller's
// X-Request-Id, `created` is when the engine started. With `stream_times` each event also says in
// `at_ms` when it was written, by the clock that all processes share (CLOCK_MONOTONIC). With
// `tell_outcome` (host:port) it tells the sidecar there how the request went, as an engine's own
// middleware would behind a gateway that does not know TTFT.
'use strict';
const fs = require('fs');
const http = require('http');
const path = require('path');
const { once } = require('events');

const [modules, model, slots, context] = process.argv.slice(2);
const { loadModel } = require(path.resolve(modules, '@fugood/llama.node'));
const started = Math.floor(Date.now() / 1000);
const labels = 'engine="0",model_name="tiny-random"';

// --- what is counted

class Histogram {
  constructor(bounds) {
    this.bounds = bounds;
    this.counts = new Array(bounds.length + 1).fill(0);
    this.sum = 0;
    this.count = 0;
  }
  add(value) {
    const i = this.bounds.findIndex((bound) => value <= bound);
    this.counts[i < 0 ? this.bounds.length : i]++;
    this.sum += value;
    this.count++;
  }
  text(name) {
    let below = 0;
    const lines = [`# TYPE ${name} histogram`];
    this.bounds.forEach((bound, i) => {
      below += this.counts[i];
      lines.push(`${name}_bucket{${labels},le="${bound}"} ${below}`);
    });
    lines.push(`${name}_bucket{${labels},le="+Inf"} ${this.count}`);
    lines.push(`${name}_sum{${labels}} ${this.sum}`, `${name}_count{${labels}} ${this.count}`);
    return lines.join('\n') + '\n';
  }
}

const seconds = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5,
  10, 20, 40, 80];
const counted = {
  ttft: new Histogram(seconds),
  whole: new Histogram(seconds),
  between: new Histogram([0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5]),
  prompt: 0,
  generated: 0,
  succeeded: 0,
};

function page(status) {
  const held = status.requests.filter((r) => r.state !== 'queued')
    .reduce((sum, r) => sum + r.prompt_length + r.tokens_generated, 0);
  const gauge = (name, value) => `# TYPE vllm:${name} gauge\nvllm:${name}{${labels}} ${value}\n`;
  const counter = (name, value) =>
    `# TYPE vllm:${name}_total counter\nvllm:${name}_total{${labels}} ${value}\n`;
  return gauge('num_requests_running', status.active_slots) +
    gauge('num_requests_waiting', status.queued_requests) +
    gauge('kv_cache_usage_perc', Math.min(1, held / context)) +
    counter('prompt_tokens', counted.prompt) +
    counter('generation_tokens', counted.generated) +
    counter('request_success', counted.succeeded) +
    counted.ttft.text('vllm:time_to_first_token_seconds') +
    counted.whole.text('vllm:e2e_request_latency_seconds') +
    counted.between.text('vllm:inter_token_latency_seconds');
}

// --- requests

// An outcome for POST /v1/outcome, by the id that the gateway gave the request.
function tell(to, id, start, ttft, end) {
  const request = http.request(`http://${to}/v1/outcome`, { method: 'POST' });
  request.on('error', () => {}); // nobody there: nobody to tell
  request.end(JSON.stringify({ request_id: id, status: 200, end,
    ...(ttft ? { ttft_ms: ttft - start } : {}), total_ms: performance.now() - start }));
}

async function bodyOf(request) {
  let body = '';
  request.on('data', (data) => { body += data; });
  await once(request, 'end');
  return JSON.parse(body);
}

function chunk(id, choices, more = {}) {
  const event = { id, object: 'chat.completion.chunk', created: started, model: 'tiny-random',
    choices, ...more };
  return `data: ${JSON.stringify(event)}\n\n`;
}

const delta = (delta, finish = null) => [{ index: 0, delta, finish_reason: finish }];

async function complete(engine, asked, request, response) {
  const id = 'chatcmpl-' + (request.headers['x-request-id'] || 'none');
  const start = performance.now();
  let first = 0;
  let last = 0;
  let text = '';
  let tokens = 0;
  const write = (choices) => response.write(chunk(id, choices,
    asked.stream_times ? { at_ms: Number(process.hrtime.bigint()) / 1e6 } : {}));
  if (asked.stream) { // as vLLM: the head goes out before the first token
    response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
    response.flushHeaders();
  }
  const job = await engine.parallel.completion({
    prompt: asked.messages.map((message) => message.content).join('\n'),
    n_predict: asked.max_tokens || 64,
    ignore_eos: true,
    temperature: asked.temperature ?? 1,
    seed: asked.seed ?? 1,
  }, (_, { token }) => {
    const now = performance.now();
    if (!last) {
      first = now;
      counted.ttft.add((now - start) / 1e3);
      if (asked.stream) write(delta({ role: 'assistant', content: '' }));
    } else {
      counted.between.add((now - last) / 1e3);
    }
    last = now;
    tokens++;
    counted.generated++;
    if (asked.stream) write(delta({ content: token }));
    else text += token;
  });
  let done = false;
  response.on('close', () => {
    if (!done) job.stop();
    if (asked.tell_outcome) {
      tell(asked.tell_outcome, request.headers['x-request-id'], start, first,
        done ? 'done' : 'cancelled');
    }
  });
  const result = await job.promise;
  done = true;
  counted.whole.add((performance.now() - start) / 1e3);
  counted.succeeded++;
  const prompt = result.timings?.prompt_n || 0;
  counted.prompt += prompt;
  if (asked.stream) {
    response.end(chunk(id, delta({}, 'length')) + 'data: [DONE]\n\n');
    return;
  }
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify({ id, object: 'chat.completion', created: started,
    model: 'tiny-random',
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'length' }],
    usage: { prompt_tokens: prompt, completion_tokens: tokens, total_tokens: prompt + tokens } }));
}

async function answer(engine, request, response) {
  if (request.method === 'POST') {
    await complete(engine, await bodyOf(request), request, response);
  } else if (request.url === '/metrics') {
    response.setHeader('Content-Type', 'text/plain; version=0.0.4');
    response.end(page(engine.parallel.getStatus()));
  } else if (request.url === '/v1/models') {
    response.end(JSON.stringify({ object: 'list',
      data: [{ id: 'tiny-random', object: 'model', max_model_len: Number(context) }] }));
  } else if (request.url === '/health') {
    response.end();
  } else {
    response.statusCode = 404;
    response.end();
  }
}

async function main() {
  const parallel = { n_parallel: Number(slots), n_batch: 512 };
  const engine = await loadModel({ model, n_ctx: Number(context), n_threads: 2, kv_unified: true,
    ...parallel });
  await engine.parallel.enable(parallel);
  const server = http.createServer((request, response) => {
    answer(engine, request, response).catch((error) => {
      if (!response.headersSent) response.statusCode = 500;
      response.end(JSON.stringify({ error: { message: String(error) } }));
    });
  });
  server.listen(0, '127.0.0.1', () => {
    fs.writeSync(3, `${server.address().port}\n`);
    fs.closeSync(3);
  });
  const parent = process.ppid;
  setInterval(() => { if (process.ppid !== parent) process.exit(0); }, 200);
}

main();
