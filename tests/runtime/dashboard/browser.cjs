// SPDX-License-Identifier: MIT
// The pages in a real browser: claims as TAP on stdout.
//
//     node browser.cjs MODULES CHROMIUM PICTURES REPORT.html REPORT.json COMPARE.html COMPARE.json
//         URL EXPERIMENTS.json HOSTILE.html FLAT.html SPIKE.html WATCHED.html ABSENT.html PROGRAM
//
// MODULES holds playwright-core and axe-core. URL is a dashboard over the logs, in the folder logs here, that the
// JSON is of. PICTURES: a folder for what the pages look like, or -. What is live is in live.cjs.
const [modules, chromium, pictures, reportHtml, reportJson, compareHtml, compareJson, url, experimentsJson, hostileHtml, flatHtml, spikeHtml, watchedHtml, absentHtml, program] = process.argv.slice(2);
const fs = require('fs');
const playwright = require(`${modules}/playwright-core`);
const axe = fs.readFileSync(`${modules}/axe-core/axe.min.js`, 'utf8');
const read = name => JSON.parse(fs.readFileSync(name, 'utf8'));
const assert = require('assert');

// As page.c prints them.
const number = v => v === null ? '--' : Math.abs(v) < 1e7 && (Number.isInteger(v) || Math.abs(v) >= 1000) ? v.toFixed(0) : String(Number(v.toPrecision(3)));
const percent = v => (100 * v).toFixed(1) + '%';

let failed = 0;
async function claim(text, check) {
  try {
    await check();
    console.log('ok - ' + text);
  } catch (error) {
    failed++;
    console.log('not ok - ' + text + '\n' + String(error.stack || error).split('\n').slice(0, 12).map(l => '# ' + l).join('\n'));
  }
}

async function main() {
  const browser = await playwright.chromium.launch({ executablePath: chromium, args: ['--no-sandbox', '--disable-gpu',
    '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'] });
  const said = [], elsewhere = [], bases = [url];
  async function open(address, width = 1440, scheme = 'light') {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: scheme });
    // That reading a canvas is slow is the tests' own doing.
    page.on('console', m => { if ((m.type() === 'error' || m.type() === 'warning') && !/willReadFrequently/.test(m.text())) said.push(`${address}: ${m.text()}`); });
    page.on('pageerror', e => said.push(`${address}: ${e}`));
    page.on('request', r => { if (!bases.some(b => r.url().startsWith(b)) && !/^(file|data|blob):/.test(r.url())) elsewhere.push(r.url()); });
    await page.goto(address);
    await page.waitForSelector('h1');
    return page;
  }
  const text = page => page.locator('main').innerText().then(t => t.replace(/\s+/g, ' '));
  const has = (whole, part) => assert(whole.includes(String(part).replace(/\s+/g, ' ')), `the page lacks: ${part}`);
  // Pixels of the canvas that are not of its background, of how many colours.
  const ink = canvas => canvas.evaluate(c => {
    const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, colours = new Set();
    let n = 0;
    for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200) { n++; colours.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); }
    return [n, colours.size];
  });
  const drawn = async page => {
    await page.waitForSelector('canvas');
    await page.waitForTimeout(150);
    for (const canvas of await page.locator('canvas').all()) {
      const [n, colours] = await ink(canvas);
      assert(n > 400 && colours > 5, `a chart of ${n} pixels in ${colours} colours`);
    }
  };

  const run = read(reportJson), comparison = read(compareJson);
  await claim('the numbers of a report are those of --json', async () => {
    const page = await open(reportHtml), whole = await text(page);
    has(whole, run.finding.replace(/^\w+: /, ''));
    for (const n of [run.offered, run.admitted, run.refused]) has(whole, n);
    has(whole, run.goodput.toFixed(3));
    has(whole, `p50 ${number(run.ttft_ms.p50)} ms, p95 ${number(run.ttft_ms.p95)} ms (${run.ttft_ms.n} requests)`);
    for (const g of run.gates) has(whole, `${number(g.closest)} ${g.distance >= 0 ? '+' : ''}${number(g.distance)} ${g.held} of ${run.decisions}`);
    for (const [name, s] of Object.entries(run.signals)) if (s) has(whole, `${name} ${[s.min, s.p50, s.p95, s.max, s.n].map(number).join(' ')} ${percent(s.absent)}`);
    for (const [reason, n] of Object.entries(run.by_reason)) has(whole, `${reason} ${n} (${percent(n / run.offered)})`);
    for (const item of run.items) { has(whole, item.title); has(whole, item.fact); }
    await page.close();
  });
  await claim('its sections come in the order of the text', async () => {
    const page = await open(reportHtml), heads = await page.locator('h2').allInnerTexts();
    assert.deepStrictEqual(heads, ['Could it have fired', 'Which signals moved', 'What it did', 'What it cost', 'Over time', 'The seven items', 'The instrument']);
    await page.close();
  });
  await claim('its charts are drawn, in both schemes, and on paper', async () => {
    for (const scheme of ['light', 'dark']) {
      const page = await open(reportHtml, 1440, scheme);
      await drawn(page);
      assert(await page.locator('canvas').count() >= 3);
      await page.emulateMedia({ media: 'print' });
      await drawn(page);
      await page.close();
    }
  });
  await claim('the numbers of a comparison are those of --json, and its charts are drawn', async () => {
    const page = await open(compareHtml), whole = await text(page);
    for (const side of [comparison.baseline, ...comparison.candidates])
      for (const r of side.repeats) has(whole, `${r.run} ${r.verdict} ${r.offered} ${percent(r.refused_share)} ${number(r.p50_ttft_ms)} ${number(r.p95_ttft_ms)} ${r.goodput.toFixed(3)}`);
    for (const side of comparison.candidates) {
      for (const ground of side.grounds) { has(whole, ground.title); has(whole, ground.fact); }
      for (const [, sentence] of side.words) if (!sentence.startsWith('NOT A RESULT')) has(whole, sentence);
    }
    await drawn(page);
    const dots = comparison.candidates.reduce((n, c) => n + c.repeats.length, comparison.baseline.repeats.length);
    assert.strictEqual(await page.locator('svg.dots circle').count(), 2 * dots);
    await page.close();
  });
  await claim('what a log says is text, whatever it says', async () => {
    const page = await open(hostileHtml);
    assert.strictEqual(await page.evaluate(() => window.broken), undefined);
    has(await text(page), '</script><script>window.broken=1</script>');
    assert.strictEqual(await page.locator('main img').count(), 0);
    await page.close();
  });
  await claim('of a watch it says at how many samples, and nothing that only requests have', async () => {
    const page = await open(watchedHtml), whole = await text(page);
    has(whole, 'policy kv_threshold (shadow)');
    has(whole, 'What it would have done Would have refused at 2 of 4 samples (50.0%).');
    has(whole, 'kv_pressure 2 (50.0%)');
    for (const word of ['What it cost', 'goodput 0', 'Admitted', 'TTFT of served']) assert(!whole.includes(word), word);
    await page.close();
  });
  await claim('a signal that lines give reasons for is not called never supplied', async () => {
    const page = await open(absentHtml), whole = await text(page);
    has(whole, 'ttft_p95: absent: nothing_observed 3 of 4, first_sample 1.');
    assert(!whole.includes('(throughout: '));
    assert(!/Never supplied:[^.]*ttft_p95/.test(whole));
    await page.close();
  });
  await claim('a term explains itself by pointer and by keyboard, and Escape takes it away', async () => {
    const page = await open(reportHtml, 380);
    const goodput = page.locator('.tile .term', { hasText: 'goodput' });
    await goodput.focus();
    const tip = page.locator('[role=tooltip]');
    has(await tip.innerText(), 'over requests offered');
    const box = await tip.boundingBox();
    assert(box.x >= 0 && box.x + box.width <= 380, 'it is on the screen');
    await page.keyboard.press('Escape');
    assert(!await tip.isVisible());
    await goodput.hover();
    assert(await tip.isVisible());
    await page.close();
  });
  await claim('one reading that jumps is seen among twenty thousand', async () => {
    // Between the threshold, 1, at the top, and what all others read, 0.3: nothing, or a spike.
    const between = async address => {
      const page = await open(address);
      await drawn(page);
      const n = await page.locator('.plots canvas').nth(1).evaluate(c => {
        const from = Math.round(c.height * 0.3), d = c.getContext('2d').getImageData(0, from, c.width, 1).data;
        let n = 0;
        for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 30 && d[i + 2] > d[i] + 40) n++;
        return n;
      });
      await page.close();
      return n;
    };
    assert.strictEqual(await between(flatHtml), 0);
    assert(await between(spikeHtml) >= 2);
  });
  await claim('which signals are shown is in the address, and a table has the figures', async () => {
    const page = await open(url + '#/run?log=demo%2Fkv_threshold%2Fr1.jsonl');
    await page.waitForSelector('.plots canvas');
    const n = await page.locator('.plots canvas').count();
    // Drawn in the frame after.
    const shows = (page, n) => page.waitForFunction(n => document.querySelectorAll('.plots canvas').length === n, n);
    await page.getByRole('checkbox', { name: 'queue_depth' }).uncheck();
    await shows(page, n - 1);
    const again = await open(page.url());
    await shows(again, n - 1);
    await again.locator('#rtime summary').click();
    await again.waitForSelector('#rtime details tbody');
    assert.strictEqual(await again.locator('#rtime details tbody tr').count(), run.over_time.bins.length);
    await again.close();
    await page.close();
  });
  await claim('what is zoomed to is in the address, and a double click shows all again', async () => {
    const page = await open(url + '#/run?log=demo%2Fkv_threshold%2Fr1.jsonl');
    await page.waitForSelector('.plots canvas');
    await page.mouse.move(0, 0);
    const picture = page => page.locator('.plots canvas').first().evaluate(c => c.toDataURL());
    const looks = (page, as, same) => page.waitForFunction(([as, same]) => (document.querySelector('.plots canvas').toDataURL() === as) === same, [as, same]);
    const over = page.locator('.plots .u-over').first();
    await over.scrollIntoViewIfNeeded();
    const all = await picture(page), box = await over.boundingBox(), y = box.y + box.height / 2;
    await page.mouse.move(box.x + box.width / 4, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2, y, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction(() => /&from=[\d.]+&to=[\d.]+$/.test(location.hash));
    await page.mouse.move(0, 0);
    await looks(page, all, false);
    const address = new URLSearchParams(page.url().split('?')[1]), bins = run.over_time.bins, step = run.over_time.bin_s;
    // The x axis is from the middle of the first bin, grouped or not, to that of the last.
    const first = bins[0].at, last = bins[bins.length - 1].at + step;
    for (const [key, share] of [['from', 0.25], ['to', 0.5]])
      assert(Math.abs(address.get(key) - (first + share * (last - first))) < 0.05 * (last - first), `${key} ${address.get(key)} of ${first} to ${last}`);
    const again = await open(page.url());
    await again.waitForSelector('.plots canvas');
    await looks(again, all, false);
    // In the middle of the plot is the middle of what was zoomed to.
    await again.locator('.plots .u-over').first().hover();
    const middle = (Number(address.get('from')) + Number(address.get('to'))) / 2 - first;
    const told = parseFloat(await again.locator('.plots .u-legend .u-value').first().innerText());
    assert(Math.abs(told - middle) < 0.05 * (last - first), `${told} is not about ${middle}`);
    await again.locator('.plots .u-over').first().dblclick();
    await again.waitForFunction(() => !/from=|to=/.test(location.hash));
    await again.mouse.move(0, 0);
    await looks(again, all, true);
    await again.close();
    await page.close();
  });
  await claim('the dashboard lists what `experiments --json` does', async () => {
    const page = await open(url), whole = await text(page);
    for (const one of read(experimentsJson).experiments) {
      if (one.experiment) has(whole, one.experiment);
      for (const policy of one.policies) for (const r of policy.runs) has(whole, `${r.run || r.logs[0]} ${r.verdict} ${r.offered} offered`);
    }
    await page.close();
  });
  await claim('links lead to runs and comparisons, the back button back, and an address is enough', async () => {
    const page = await open(url);
    await page.locator('tr', { hasText: 'kv_threshold' }).getByRole('link', { name: 'r1' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForSelector('.finding');
    has(await text(page), run.finding.replace(/^\w+: /, ''));
    await drawn(page);
    const deep = page.url();
    await page.goBack();
    await page.waitForSelector('.cards');
    await page.getByRole('link', { name: 'Compare with the baseline' }).first().click();
    await page.waitForSelector('#checks');
    await drawn(page);
    await page.close();
    const again = await open(deep);
    await again.waitForSelector('.finding');
    await again.close();
  });
  await claim('the terminology filters, and its state is in the address', async () => {
    const page = await open(url + '#/terms');
    await page.getByRole('searchbox').fill('goodput');
    await page.waitForFunction(() => location.hash === '#/terms?q=goodput');
    const n = await page.locator('dl.terms dt').count();
    assert(n > 0 && n < 10);
    await page.close();
  });
  await claim('what is not there is said, with a way back', async () => {
    const page = await open(url + '#/run?log=..%2Fnowhere.jsonl');
    // The browser itself notes the 404.
    said.splice(0, said.length, ...said.filter(s => !s.includes('status of 404')));
    has(await page.locator('[role=alert]').innerText(), 'no such log below the folder');
    await page.getByRole('link', { name: 'All experiments' }).click();
    await page.waitForSelector('.cards');
    await page.close();
  });
  await claim('a click in a chart shows the lines around that moment, which is in the address', async () => {
    const page = await open(url + '#/run?log=demo%2Fkv_threshold%2Fr1.jsonl');
    await page.waitForSelector('.plots canvas');
    await page.locator('.plots .u-over').first().click(); // in its middle
    await page.waitForSelector('ol.lines .here');
    const at = Number(new URLSearchParams(page.url().split('?')[1]).get('at')), bins = run.over_time.bins;
    const middle = (bins[0].at + bins[bins.length - 1].at) / 2;
    assert(Math.abs(at - middle) < 0.1 * (bins[bins.length - 1].at - bins[0].at), `${at} is not about ${middle}`);
    const log = fs.readFileSync('logs/demo/kv_threshold/r1.jsonl', 'utf8').split('\n');
    const here = Number((await page.locator('ol.lines .here .number').innerText()).replace(/\D/g, ''));
    assert.strictEqual(await page.locator('ol.lines .here pre').innerText(), log[here - 1]);
    const apart = i => Math.abs(JSON.parse(log[i - 1]).at - at);
    assert(apart(here) <= apart(here - 1) && apart(here) <= apart(here + 1));
    const again = await open(page.url());
    await again.waitForSelector('ol.lines .here');
    assert.strictEqual(await again.locator('ol.lines .here pre').innerText(), log[here - 1]);
    await again.close();
    // By the keyboard too.
    await page.getByRole('spinbutton').fill('0');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => /line 1$/.test(document.querySelector('ol.lines .here .number').innerText));
    await page.close();
  });
  await claim('figures lead to the lines behind them, as many as the figure says', async () => {
    const page = await open(url + '#/run?log=demo%2Fkv_threshold%2Fr1.jsonl');
    for (const [word, n] of [['refused', run.refused], ['admitted', run.admitted], ['offered', run.offered]]) {
      await page.locator('.tile', { has: page.locator('dt', { hasText: word }) }).getByRole('link').first().click();
      await page.waitForSelector('ol.lines');
      has(await text(page), `${n} lines of it`);
      if (word === 'refused') {
        await page.getByRole('link', { name: 'The next ones' }).click();
        await page.waitForFunction(() => /&line=/.test(location.hash) && document.querySelector('ol.lines'));
        await page.goBack();
      }
      await page.goBack();
      await page.waitForSelector('.tiles');
    }
    await page.locator('.bars').getByRole('link').first().click();
    await page.waitForSelector('ol.lines');
    has(await text(page), 'reason kv_pressure');
    await page.close();
    const file = await open(reportHtml);
    assert.strictEqual(await file.locator('main a').count(), 0, 'a file has nobody to ask');
    await file.close();
  });
  await claim('a repeat of a comparison leads to its own report', async () => {
    const page = await open(url + '#/compare?experiment=demo');
    await page.locator('#repeats').getByRole('link', { name: /kv_threshold r1$/ }).click();
    await page.waitForSelector('.finding');
    assert.strictEqual(page.url(), url + '#/run?log=demo%2Fkv_threshold%2Fr1.jsonl');
    await page.close();
  });
  // Looks at a page at three widths in both schemes.
  async function look(page, name) {
    await page.evaluate(axe);
    for (const [width, scheme] of [[380, 'dark'], [380, 'light'], [1440, 'light'], [1440, 'dark']]) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme: scheme });
      await page.waitForTimeout(100);
      assert(await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth), `${name} is wider than ${width} px`);
      // Each width and each scheme once: what is told by colour does not depend on the width.
      if (width === 380 && scheme === 'light' || width === 1440 && scheme === 'dark') {
        if (pictures !== '-') await page.screenshot({ path: `${pictures}/${name}-${width}-${scheme}.png`, fullPage: true });
        continue;
      }
      const found = await page.evaluate(() => axe.run());
      const grave = found.violations.filter(v => v.impact === 'serious' || v.impact === 'critical');
      assert(!grave.length, `${name} ${width} ${scheme}: ` + grave.map(v => `${v.id}: ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + (n.any[0] || {}).message).join(' | ')}`).join('; '));
      if (pictures !== '-') await page.screenshot({ path: `${pictures}/${name}-${width}-${scheme}.png`, fullPage: true });
    }
    if (pictures !== '-') {
      await page.setViewportSize({ width: 3840, height: 2160 });
      await page.waitForTimeout(100);
      await page.screenshot({ path: `${pictures}/${name}-3840.png` });
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.emulateMedia({ colorScheme: 'light' });
  }
  const r1 = 'log=demo%2Fkv_threshold%2Fr1.jsonl';
  const views = [['report', reportHtml], ['compare', compareHtml], ['experiments', url], ['signals', url + '#/signals'], ['terms', url + '#/terms'], ['run', `${url}#/run?${r1}&at=1`],
    ['lines', `${url}#/lines?${r1}&line=100`], ['nobody', url + '#/live'], ['supply', url + '#/signals?page=page.txt']];
  await claim('axe finds no serious fault, at 380 and 1440 px, in the dark and in the light; nothing runs out of the page', async () => {
    for (const [name, address] of views) {
      const page = await open(address);
      if (name === 'run') await page.waitForSelector('ol.lines');
      await look(page, name);
      await page.close();
    }
  });
  await require('./live.cjs')({ program, folder: process.cwd(), logs: 'logs', claim, open, text, has, drawn, look, said, bases, number });
  await claim('no page has anything to complain of', async () => assert.deepStrictEqual(said, []));
  await claim('no page asks another host for anything', async () => assert.deepStrictEqual(elsewhere, []));
  await browser.close();
  process.exit(failed ? 1 : 0);
}
main().catch(error => { console.error(error); process.exit(2); });
