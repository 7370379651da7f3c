// Keeps the node page fresh: polls /api/v1/status, writes the numbers in place, and requests the page
// again when its rows or states change.  What the page says is decided by src/ui/status_page.cc.
import {PLOT_WIDTH, age, changes, complete, idle, memory, percent, plotPath, plotWords, power, self, sentence, shape, span, temperature, useEnergy, usePower} from './node_words.js';

const SHORTEST_MS = 1000;
const by = (id) => document.getElementById(id);
let status = null, etag = '', offsetMs = 0, timer = 0, isPaused = false, isBusy = false, lastOk = Date.now();
let kept = new Map(), stepMs = SHORTEST_MS;  // The samples of each GPU, and the time between two.
let drawnShape = null;  // Of the rows that are on the page.

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
  const behind = status === null || kept.size === 0;
  const answer = await ask(behind ? 'api/v1/status?history=1' : 'api/v1/status', !behind && etag ? {'If-None-Match': etag} : {});
  const ageMs = Number(answer.headers.get('X-Podgpu-Age-Ms') ?? '0');
  if (answer.status === 200) {
    const read = await answer.json();
    if (read.schema !== 1) throw new Error('this page belongs to another release; reload it');
    await take(complete(read), behind ? '' : answer.headers.get('ETag') ?? '');
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
  if (next.history) {
    stepMs = next.history_step_ms || SHORTEST_MS;
    kept = new Map(next.history.map((one) => [one.gpu, {sm: [...one.sm], memory: [...one.memory], power: [...one.power]}]));
    return;
  }
  const since = (next.sampled_at_ms ?? 0) - (before.sampled_at_ms ?? 0);
  const missed = since > 0 ? Math.max(Math.round(since / stepMs), 1) : 0;
  if (since < 0 || missed > PLOT_WIDTH) { kept = new Map(); return; }
  const ratio = (part, all) => (part == null || !all ? -1 : Math.floor(Math.min(Math.max(part / all, 0), 1) * 100 + 0.5));
  for (const gpu of next.devices) {
    const samples = kept.get(gpu.gpu);
    if (samples === undefined) continue;
    const newest = {sm: ratio(gpu.sm_active_ratio ?? gpu.utilization_ratio, 1), memory: ratio(gpu.memory_used_bytes, gpu.memory_total_bytes), power: ratio(gpu.power_watts, gpu.power_limit_watts)};
    for (const [key, value] of Object.entries(newest)) {
      if (missed < 1) continue;
      samples[key].push(...Array(missed - 1).fill(-1), value);
      samples[key].splice(0, samples[key].length - PLOT_WIDTH);
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

// A row below a GPU: an owner or a MIG instance.
function drawUse(row, use) {
  put(row, 'sm', percent(use.sm_ratio));
  put(row, 'memory', memory(use.memory_used_bytes ?? use.memory_bytes, use.memory_total_bytes));
  put(row, 'idle', idle(use.idle_since_ms, false, now()));
  put(row, 'power', usePower(use));
  put(row, 'energy', useEnergy(use));
  const width = `${(Math.min(Math.max(use.sm_ratio ?? 0, 0), 1) * 100).toFixed(1)}%`;
  row.querySelector('[data-v="bar"]')?.setAttribute('width', width);
}

function drawGpu(gpu, isUtilization) {
  const row = by(`gpu-${gpu.gpu}`);
  if (row === null) return;
  put(row, 'since', gpu.since_ms == null ? '' : span(now() - gpu.since_ms));
  put(row, 'throttled', gpu.throttle_reasons.join(', '));
  put(row, 'sm', percent(isUtilization ? gpu.utilization_ratio : gpu.sm_active_ratio));
  put(row, 'memory', memory(gpu.memory_used_bytes, gpu.memory_total_bytes));
  put(row, 'power', power(gpu.power_watts, gpu.power_limit_watts));
  put(row, 'temperature', temperature(gpu.temperature_celsius));
  put(row, 'owners', gpu.owners);
  put(row, 'idle', idle(gpu.idle_since_ms, gpu.idle_for_longer, now()));
  const samples = kept.get(gpu.gpu);
  for (const plot of samples ? row.querySelectorAll('[data-plot]') : []) {
    const values = samples[plot.dataset.plot];
    plot.firstElementChild.setAttribute('d', plotPath(values));
    plot.setAttribute('aria-label', plotWords(plot.dataset.what, values, stepMs));
  }
  const below = by(`below-${gpu.gpu}`);
  below?.querySelectorAll('.shares tbody tr').forEach((line, i) => drawUse(line, gpu.shares[i]));
  below?.querySelectorAll('.instances tbody tr').forEach((line, i) => drawUse(line, gpu.instances[i]));
}

function draw() {
  if (status === null) return;
  const isUtilization = by('gpus')?.hasAttribute('data-utilization') ?? false;
  write(by('age'), age(status.sampled_at_ms, now()));
  write(by('verdict'), status.verdict);
  write(by('self'), self(status.self));
  for (const gpu of status.devices) drawGpu(gpu, isUtilization);
  document.querySelectorAll('#faults .fault').forEach((line, i) => put(line, 'text', sentence(status.faults[i]?.text ?? '')));
  document.querySelectorAll('#parts tbody tr').forEach((line, i) => write(line.lastElementChild, status.parts[i]?.detail ?? ''));
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
    kept = new Map();
  }
  isBusy = false;
  timer = setTimeout(poll, Math.max(status?.interval_ms ?? 0, SHORTEST_MS));
}

by('pause').hidden = false;
by('pause').addEventListener('click', () => {
  isPaused = !isPaused;
  by('pause').setAttribute('aria-pressed', String(isPaused));
  kept = new Map();
  poll();
});
document.addEventListener('keydown', (event) => {
  const details = document.activeElement?.closest('details');
  if (event.key !== 'Escape' || !details?.open) return;
  details.open = false;
  details.querySelector('summary').focus();
});
document.addEventListener('visibilitychange', () => { kept = new Map(); poll(); });
poll();
