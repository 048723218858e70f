// SPDX-License-Identifier: MIT
// The Live page and what a page supplies, in a browser, on a sidecar under load: claims of
// browser.cjs, which brings the browser. The engine is a page served here.
const assert = require('assert');
const fs = require('fs');
const http = require('http');
const net = require('net');
const { spawn } = require('child_process');

const until = async (seconds, question) => {
  for (const end = Date.now() + 1000 * seconds; ;) {
    const answer = await question();
    if (answer || Date.now() > end) return answer;
    await new Promise(done => setTimeout(done, 20));
  }
};
const freePort = () => new Promise(done => {
  const server = net.createServer().listen(0, '127.0.0.1', () => { const { port } = server.address(); server.close(() => done(port)); });
});
const get = address => new Promise((done, fail) => http.get(address, answer => {
  let body = '';
  answer.on('data', part => { body += part; }).on('end', () => done(answer.statusCode === 200 ? body : ''));
}).on('error', () => done('')));

// {name{labels}: value}
async function metrics(address) {
  const page = {};
  for (const line of (await get(address)).split('\n')) {
    const found = line.match(/^([^# ]\S*?(?:\{.*\})?) (\S+)$/);
    if (found) page[found[1]] = Number(found[2]);
  }
  return page;
}

module.exports = async ({ program, folder, logs, claim, open, text, has, drawn, look, said, bases, number }) => {
  const running = [];
  const start = words => {
    const child = spawn(program, words, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });
    running.push(child);
    return child;
  };
  const end = child => new Promise(done => { if (child.exitCode !== null) { done(); return; } child.once('exit', done); child.kill('SIGTERM'); });

  let pressure = 0.5;
  const engine = http.createServer((request, answer) => answer.end(`vllm:kv_cache_usage_perc ${pressure}\nvllm:num_requests_waiting 7\nacme:temperature 30\n`));
  await new Promise(done => engine.listen(0, '127.0.0.1', done));
  const engineUrl = `http://127.0.0.1:${engine.address().port}/metrics`, port = await freePort(), sidecarUrl = `http://127.0.0.1:${port}`;
  fs.writeFileSync(`${folder}/serve.yaml`, `version: 1\nexperiment: live\nlog: none\nscrape: [ { name: e0, url: "${engineUrl}", interval: 1s, timeout: 1s } ]
policy: { use: kv_threshold, params: { threshold: 0.9 } }\nserve: { listen: [ "127.0.0.1:${port}" ] }\n`);
  const serve = async () => { const child = start(['serve', '-c', 'serve.yaml']); assert(await until(200, () => get(sidecarUrl + '/readyz')), 'the sidecar begins'); return child; };
  const follow = async address => {
    const child = start(['dashboard', '--listen', address, '--live', sidecarUrl, '--live', engineUrl, logs]);
    const url = await new Promise(done => child.stdout.once('data', line => done(String(line).trim())));
    return [child, url];
  };
  let sent = 0;
  const agent = new http.Agent({ keepAlive: true });
  const decide = () => new Promise((done, fail) => http.request(`${sidecarUrl}/v1/decide`, { method: 'POST', agent }, answer => answer.resume().on('end', done)).on('error', fail).end(JSON.stringify({ request_id: `r${sent++}` })));

  let sidecar = await serve(), [dashboard, url] = await follow('127.0.0.1:0');
  bases.push(url);
  const tile = async (page, word) => (await page.locator('.tile', { has: page.locator('dt', { hasText: new RegExp(`^${word}$`) }) }).locator('dd > span').innerText()).trim();
  const page = await open(url + '#/live');
  try {
    await claim('under load the live page counts, and at rest its numbers are those of /metrics', async () => {
      for (let i = 0; i < 60; i++) await decide();
      pressure = 0.95;
      await until(60, async () => (await metrics(sidecarUrl + '/metrics'))['admitperf_signal_value{signal="kv_pressure",unit="ratio"}'] === 0.95);
      for (let i = 0; i < 40; i++) await decide();
      await page.waitForFunction(() => /decisions 100 /.test(document.querySelector('main').innerText.replace(/\s+/g, ' ')), null, { timeout: 20000 });
      await page.waitForTimeout(1200);
      const there = await metrics(sidecarUrl + '/metrics'), whole = await text(page);
      const of = (verdict, reason) => there[`admitperf_decisions_total{policy="kv_threshold",role="governing",verdict="${verdict}",reason="${reason}",enforced="true"}`];
      assert.strictEqual(of('admit', '') + of('reject', 'kv_pressure'), 100);
      assert.strictEqual(await tile(page, 'decisions'), '100');
      assert.strictEqual(await tile(page, 'refusals'), String(of('reject', 'kv_pressure')));
      assert.strictEqual(await tile(page, 'faults'), '0');
      has(whole, `kv_threshold governing admit -- yes ${of('admit', '')}`);
      has(whole, `kv_threshold governing reject kv_pressure yes ${of('reject', 'kv_pressure')}`);
      has(whole, 'kv_pressure 0.95 ratio');
      has(whole, 'gpu_util -- -- absent: never_supplied');
      has(whole, 'e0 whole');
      assert(Number(await tile(page, 'decisions/s')) > 0, 'a rate');
      assert.match(await tile(page, 'refused'), /^\d+\.\d%$/);
      await drawn(page);
      await look(page, 'live');
    });
    await claim('what is shown live stays still when asked to, and which signals is in the address', async () => {
      await page.getByRole('button', { name: 'Hold still' }).press('Enter');
      const before = await tile(page, 'decisions');
      await decide();
      await page.waitForTimeout(1500);
      assert.strictEqual(await tile(page, 'decisions'), before);
      await page.getByRole('button', { name: 'Go on' }).press('Enter');
      await page.waitForFunction(() => /decisions 101 /.test(document.querySelector('main').innerText.replace(/\s+/g, ' ')));
      await page.getByRole('checkbox', { name: 'queue_depth' }).uncheck();
      assert.strictEqual(page.url(), url + '#/live?show=kv_pressure');
      const n = await page.locator('canvas').count();
      await page.reload();
      await page.waitForFunction(n => document.querySelectorAll('canvas').length === n, n);
    });
    await claim('when the sidecar is gone its figures are called stale, and no rate is shown', async () => {
      await end(sidecar);
      await page.waitForSelector('.wrong[role=status]');
      const whole = await text(page);
      has(whole, 'connection_refused');
      assert.match(whole, /Stale: as of \d\d:\d\d:\d\d UTC/);
      assert.strictEqual(await tile(page, 'decisions/s'), '--');
      assert.strictEqual(await tile(page, 'refused'), '--');
      assert.strictEqual(await tile(page, 'decisions'), '101');
      has(whole, 'ratio');
      assert.match(whole, /kv_pressure 0\.95 ratio [\d.]+ s stale/);
      await look(page, 'live-stale');
      sidecar = await serve();
      await page.waitForFunction(() => !document.querySelector('.wrong[role=status]') && /decisions 0 /.test(document.querySelector('main').innerText.replace(/\s+/g, ' ')), null, { timeout: 20000 });
    });
    await claim('when the dashboard itself is gone that is said, and it goes on when it is there again', async () => {
      await end(dashboard);
      await page.waitForFunction(() => /The dashboard does not answer/.test(document.querySelector('main').innerText));
      const at = url.replace(/^http:\/\/|\/$/g, '');
      [dashboard] = await follow(at);
      await page.waitForFunction(() => /Following AdmitPerf/.test(document.querySelector('main').innerText), null, { timeout: 20000 });
      // What the browser itself notes of that.
      said.splice(0, said.length, ...said.filter(s => !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/.test(s)));
    });
    await claim('an engine is followed by the signals that its page supplies, with what is left out', async () => {
      await page.getByRole('link', { name: engineUrl }).click();
      await page.waitForFunction(() => /Following an engine/.test(document.querySelector('main').innerText));
      await page.waitForFunction(() => /kv_pressure 0.95 ratio/.test(document.querySelector('main').innerText.replace(/\s+/g, ' ')));
      assert(!await page.locator('.tiles').isVisible());
      await page.goto(url + '#/signals?target=1');
      await page.waitForSelector('#supply table');
      const whole = await text(page), { signals, unused } = JSON.parse(await get(url + 'api/supply?target=1'));
      for (const [name, s] of Object.entries(signals)) has(whole, s.value === null ? `${name} -- ${s.unit} absent: ${s.why}` : `${name} ${number(s.value)} ${s.unit} ${s.source} ${s.series} 0`);
      assert.deepStrictEqual(unused, ['acme:temperature']);
      await look(page, 'signals-engine');
      await page.getByRole('textbox').fill('page.txt');
      await page.keyboard.press('Enter');
      await page.waitForFunction(() => location.hash === '#/signals?page=page.txt' && /page\.txt/.test(document.querySelector('#supply h3').innerText));
      has(await text(page), 'kv_pressure 0.5 ratio vllm:kv_cache_usage_perc 1 1 out_of_range');
    });
    await claim('an empty folder, a log with lines that cannot be read, and one that grows are shown as what they are', async () => {
      const line = id => `{"at":${1790000000 + id},"experiment":"odd","policy":"p","run":"r1","params":{},"request_id":"${id}","verdict":"admit","enforced":true}\n`;
      fs.mkdirSync(`${folder}/odd`);
      const odd = start(['dashboard', '--listen', '127.0.0.1:0', 'odd']);
      const base = await new Promise(done => odd.stdout.once('data', text => done(String(text).trim())));
      bases.push(base);
      await page.goto(base);
      await page.waitForFunction(() => /No logs of decisions here yet/.test(document.querySelector('main').innerText));
      fs.writeFileSync(`${folder}/odd/r1.jsonl`, line(1) + '{"at":1790000002, <img src=x onerror=broken()>\n' + line(3));
      await page.reload();
      await page.getByRole('link', { name: 'r1' }).click();
      await page.waitForSelector('.caveats');
      assert.match(await text(page), /corrupt/);
      assert.strictEqual(await page.locator('.tile', { hasText: 'offered' }).locator('dd a').innerText(), '2');
      fs.appendFileSync(`${folder}/odd/r1.jsonl`, line(4));
      await page.reload();
      await page.waitForFunction(() => /offered 3 /.test(document.querySelector('main').innerText.replace(/\s+/g, ' ')));
      await page.locator('.counts div', { hasText: 'corrupt lines' }).getByRole('link').click();
      await page.waitForSelector('ol.lines');
      has(await text(page), '1 line of it: corrupt. line 2');
      has(await text(page), '<img src=x onerror=broken()>');
    });
  } finally {
    await page.close();
    for (const child of running) await end(child);
    agent.destroy();
    engine.closeAllConnections && engine.closeAllConnections();
    engine.close();
  }
};
