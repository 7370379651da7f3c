// Keeps the node page fresh: polls /api/v1/status, writes the numbers in place, and requests the page
// again when its rows or states change.  What the page says is decided by src/ui/status_page.cc.
import {PLOT_WIDTH, age, changes, complete, detail, energy, idle, memory, percent, plotPath, plotWords, power, self, sentence, shape, span, temperature, usePower, verdict} from './node_words.js';

const SHORTEST_MS = 1000;
const MARGIN_MS = 200;  // From the begin of a reading to its page.
const by = (id) => document.getElementById(id);
let status = null, etag = '', offsetMs = 0, timer = 0, isPaused = false, isBusy = false, lastOk = Date.now();
let kept = new Map(), stepMs = SHORTEST_MS;  // The samples of each GPU, and the time between two.
let wantsHistory = true;  // The samples must come from the server, at first and after a gap.
let drawnShape = null;  // Of the rows that are on the page.
let askedParts = '';

const now = () => Date.now() + offsetMs;

function put(root, key, text) {
  const element = root?.querySelector(`[data-v="${key}"]`);
  if (element && element.textContent !== text) element.textContent = text;
}

function write(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

// -- data

async function ask(path, headers = {}) {
  const answer = await fetch(path, {cache: 'no-store', headers});
  if (answer.status !== 200 && answer.status !== 304) throw new Error(`it answers ${answer.status}`);
  return answer;
}

async function read() {
  const parts = [wantsHistory && 'history=1', by('processes')?.open && 'processes=1'].filter(Boolean).join('&');
  if (parts !== askedParts) etag = '';  // Another document.
  askedParts = parts;
  const answer = await ask(`api/v1/status?${parts}`, etag ? {'If-None-Match': etag} : {});
  const ageMs = Number(answer.headers.get('X-Podgpu-Age-Ms') ?? '0');
  if (answer.status === 200) {
    const read = await answer.json();
    if (read.schema !== 1) throw new Error('this page belongs to another release; reload it');
    await take(complete(read), answer.headers.get('ETag') ?? '');
  }
  if (status.sampled_at_ms) offsetMs = status.sampled_at_ms + ageMs - Date.now();
}

async function take(next, tag) {
  const before = status;
  keepSamples(before, next);
  [status, etag] = [next, tag];
  const wanted = shape(next);
  if (drawnShape !== wanted) await redraw();
  drawnShape = wanted;
  const said = before === null ? [] : changes(before, next);
  if (said.length > 0) by('said').textContent = said.join('. ');
}

function keepSamples(before, next) {
  if (wantsHistory) {
    stepMs = next.history_step_ms || SHORTEST_MS;
    kept = new Map((next.history ?? []).map((one) => [one.gpu, {utilization: [], ...one}]));
    wantsHistory = false;
    return;
  }
  const most = PLOT_WIDTH * 1000 / stepMs;
  const since = (next.sampled_at_ms ?? 0) - (before.sampled_at_ms ?? 0);
  const missed = since > 0 ? Math.max(Math.round(since / stepMs), 1) : 0;
  const isUnknown = next.devices.some((gpu) => !kept.has(gpu.gpu));
  if (since < 0 || missed > most || isUnknown) { wantsHistory = true; return; }
  if (missed < 1) return;
  const ratio = (part, all) => (part == null || !all ? -1 : Math.floor(Math.min(Math.max(part / all, 0), 1) * 100 + 0.5));
  for (const gpu of next.devices) {
    const newest = {
      sm: ratio(gpu.sm_active_ratio, 1), utilization: ratio(gpu.utilization_ratio, 1),
      memory: ratio(gpu.memory_used_bytes, gpu.memory_total_bytes), power: ratio(gpu.power_watts, gpu.power_limit_watts)};
    for (const [key, value] of Object.entries(newest)) {
      const samples = kept.get(gpu.gpu)[key];
      samples.push(...Array(missed - 1).fill(-1), value);
      samples.splice(0, samples.length - most);
    }
  }
}

// Takes the page from the server again; keeps what is open and focused.
async function redraw() {
  const made = new DOMParser().parseFromString(await (await ask('./', {Accept: 'text/html'})).text(), 'text/html');
  const open = new Map([...document.querySelectorAll('details')].map((one) => [one.id, one.open]));
  const focused = document.activeElement;
  const path = focused && by('page').contains(focused) ? [focused.getAttribute('href'), focused.closest('[id]').id, focused.tagName] : null;
  for (const details of made.querySelectorAll('details')) {
    if (open.has(details.id)) details.open = open.get(details.id);
  }
  by('page').replaceWith(document.adoptNode(made.getElementById('page')));
  write(by('counts'), made.getElementById('counts').textContent);
  document.title = made.title;
  if (path !== null) {
    const [href, id, tag] = path;
    [...(by(id)?.querySelectorAll(tag) ?? [])].find((one) => one.getAttribute('href') === href)?.focus();
  }
}

// -- the page

// A row of an owner, a MIG instance or a process.
function drawUse(row, use) {
  if (row === null) return;
  put(row, 'sm', percent(use.sm_ratio));
  put(row, 'memory', memory(use.memory_used_bytes ?? use.memory_bytes, use.memory_total_bytes));
  put(row, 'idle', idle(use.idle_since_ms, false, now()));
  put(row, 'power', usePower(use));
  put(row, 'energy', energy(use));
  const bar = row.querySelector('[data-v="bar"]');
  bar?.parentElement.classList.toggle('unknown', use.sm_ratio == null);
  bar?.setAttribute('width', `${(Math.min(Math.max(use.sm_ratio ?? 0, 0), 1) * bar.dataset.whole).toFixed(1)}%`);
}

function drawGpu(gpu, isUtilization) {
  const row = by(`gpu-${gpu.gpu}`);
  if (row === null) return;
  put(row, 'throttled', gpu.throttle_reasons.join(', '));
  put(row, 'sm', percent(isUtilization ? gpu.utilization_ratio : gpu.sm_active_ratio));
  put(row, 'memory', memory(gpu.memory_used_bytes, gpu.memory_total_bytes));
  put(row, 'power', power(gpu.power_watts, gpu.power_limit_watts));
  put(row, 'temperature', temperature(gpu.temperature_celsius));
  put(row, 'energy', energy(gpu));
  put(row, 'owners', gpu.owners);
  const samples = kept.get(gpu.gpu);
  for (const plot of samples ? row.querySelectorAll('.plot') : []) {
    const words = [...plot.children].map((line) => {
      const values = samples[line.dataset.plot];
      line.setAttribute('d', plotPath(values, stepMs));
      return plotWords(line.dataset.what, values, stepMs);
    });
    plot.setAttribute('aria-label', words.reverse().join('; '));
  }
  const below = by(`below-${gpu.gpu}`);
  below?.querySelectorAll('.shares tbody tr').forEach((line, i) => drawUse(line, gpu.shares[i]));
  below?.querySelectorAll('.instances tbody tr').forEach((line, i) => drawUse(line, gpu.instances[i]));
}

// What changes without a new sample.
function drawTimes() {
  write(by('age'), age(status.sampled_at_ms, now()));
  for (const gpu of status.devices) {
    const row = by(`gpu-${gpu.gpu}`);
    put(row, 'since', gpu.since_ms == null ? '' : span(now() - gpu.since_ms));
    put(row, 'idle', idle(gpu.idle_since_ms, gpu.idle_for_longer, now()));
  }
}

function draw() {
  if (status === null) return;
  const isUtilization = by('gpus')?.hasAttribute('data-utilization') ?? false;
  drawTimes();
  write(by('verdict'), verdict(status));
  write(by('self'), self(status.self));
  for (const gpu of status.devices) drawGpu(gpu, isUtilization);
  for (const one of status.processes ?? []) {
    const row = by(`process-${one.gpu}-${one.pid}`);
    drawUse(row, one);
    put(row, 'age', one.started_ms == null ? '-' : span(now() - one.started_ms));
  }
  document.querySelectorAll('#faults .fault').forEach((line, i) => put(line, 'text', sentence(status.faults[i]?.text ?? '')));
  document.querySelectorAll('#parts tbody tr').forEach((line, i) => write(line.lastElementChild, status.parts[i] ? detail(status, status.parts[i]) : ''));
}

// A veil over the values, from the first request that gets no answer.
function tell(notice) {
  write(by('notice'), notice);
  by('notice').hidden = notice === '';
  document.body.classList.toggle('old', notice !== '');
}

async function poll() {
  clearTimeout(timer);
  if (isPaused || document.hidden || isBusy) return;
  isBusy = true;
  try {
    await read();
    lastOk = Date.now();
    tell('');
    draw();
  } catch (error) {
    tell(`not updated since ${new Date(lastOk).toLocaleTimeString('en-GB')}: ${error.message}`);
    wantsHistory = true;
  }
  isBusy = false;
  timer = setTimeout(poll, untilNext());
}

// The time until a new sample can be there; while it is late, podgpu is asked each second.
function untilNext() {
  const interval = status?.interval_ms ?? 0;
  const due = (status?.sampled_at_ms ?? 0) + interval + MARGIN_MS - now();
  return Math.max(Math.min(due, interval), SHORTEST_MS);
}

by('pause').hidden = false;
by('pause').addEventListener('click', () => {
  isPaused = !isPaused;
  by('pause').setAttribute('aria-pressed', String(isPaused));
  wantsHistory = true;
  poll();
});
document.addEventListener('toggle', (event) => { if (event.target.id === 'processes') poll(); }, true);
document.addEventListener('keydown', (event) => {
  const details = document.activeElement?.closest('details');
  if (event.key !== 'Escape' || !details?.open) return;
  details.open = false;
  details.querySelector('summary').focus();
});
document.addEventListener('visibilitychange', () => { wantsHistory = true; poll(); });
setInterval(() => { if (!document.hidden && status !== null) drawTimes(); }, SHORTEST_MS);
poll();
