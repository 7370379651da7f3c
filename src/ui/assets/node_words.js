// The numbers of /api/v1/status as words, as src/ui/status_words.cc writes them.  This file uses
// neither the document nor the network.

export const PLOT_WIDTH = 300;
const GIB = 2 ** 30;
const absent = (value) => value === null || value === undefined;
const whole = (number) => String(Math.floor(number + 0.5));
const tenths = (number) => (Math.floor(number * 10 + 0.5) / 10).toFixed(1);

export const percent = (ratio) => (absent(ratio) ? '-' : `${whole(ratio * 100)} %`);

export function memory(used, total) {
  if (absent(used)) return '-';
  if (absent(total)) return `${tenths(used / GIB)} GiB`;
  return `${tenths(used / GIB)} of ${total / GIB < 20 ? tenths(total / GIB) : whole(total / GIB)} GiB`;
}

export function power(watts, limit) {
  if (absent(watts)) return '-';
  return absent(limit) ? `${whole(watts)} W` : `${whole(watts)} of ${whole(limit)} W`;
}

const mark = (use) => (use.apportioned ? '~' : '');
export const usePower = (use) => (absent(use.power_watts) ? '-' : mark(use) + power(use.power_watts));

// Of a GPU, an owner or a process.
export function energy(use) {
  if (absent(use.energy_joules)) return '-';
  const wh = use.energy_joules / 3600;
  return mark(use) + (wh >= 1000 ? `${tenths(wh / 1000)} kWh` : `${wh < 100 ? tenths(wh) : whole(wh)} Wh`);
}

export const temperature = (celsius) => (absent(celsius) ? '-' : `${whole(celsius)} \u00b0C`);

export function span(ms) {
  const seconds = Math.floor(Math.max(ms, 0) / 1000), minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60);
  if (minutes < 1) return `${seconds}s`;
  if (hours < 1) return `${minutes}m`;
  if (hours < 24) return `${hours}h${String(minutes % 60).padStart(2, '0')}m`;
  return `${Math.floor(hours / 24)}d${hours % 24}h`;
}

export const idle = (since, isLonger, now) => (absent(since) ? '' : `idle ${isLonger ? '>' : ''}${span(now - since)}`);
export const sentence = (text) => (text === '' ? '' : `${text[0].toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`);

// One cause has one place: where a fault says the same, a part and a missing value refer to it.
const TOLD_ABOVE = 'the fault above says why';
const isFault = (status, text) => status.faults.some((fault) => fault.text.startsWith(text));
export const detail = (status, part) => (isFault(status, `${part.part}: ${part.detail}`) ? TOLD_ABOVE : part.detail);

export function verdict(status) {
  const isTold = status.parts.some((part) => status.verdict.includes(part.detail) && detail(status, part) === TOLD_ABOVE);
  return isTold ? status.verdict.split(':', 1)[0] : status.verdict;
}

export const age = (sampledAt, now) => (absent(sampledAt) ? 'no sample yet' : `sample ${tenths(Math.max(now - sampledAt, 0) / 1000)} s old`);

export function self(cost) {
  const words = [];
  if (!absent(cost.resident_bytes)) words.push(`${tenths(cost.resident_bytes / 2 ** 20)} MiB`);
  if (!absent(cost.cpu_ratio)) words.push(`${(Math.floor(cost.cpu_ratio * 1e4 + 0.5) / 100).toFixed(2)} % of a core`);
  words.push(`${String(cost.series).replace(/\B(?=(\d{3})+$)/g, ',')} series`);
  const ms = absent(cost.slowest_scrape_seconds) ? '' : tenths(cost.slowest_scrape_seconds * 1000);
  if (ms) words.push(`slowest scrape ${ms === '0.0' ? 'under 0.1' : ms} ms`);
  return words.join(', ');
}

// The last five minutes in a box of 300 x 100: one second is one unit wide.
export function plotPath(samples, stepMs) {
  const count = samples.length, width = Math.max(stepMs / 1000, 1);
  const x = (i) => PLOT_WIDTH - Math.floor((count - i) * width * 10 + 0.5) / 10;
  const at = (i) => (i < 0 || i >= count || x(i) < 0 ? -1 : samples[i]);
  let path = '', end = -1;
  for (let i = 0; i < count; ++i) {
    if (at(i) >= 0) end = i + 1;
    if (at(i) < 0 || (at(i) === at(i - 1) && at(i) === at(i + 1))) continue;
    path += `${at(i - 1) < 0 ? 'M' : 'L'}${x(i)} ${100 - at(i)}${at(i - 1) < 0 && at(i + 1) < 0 ? 'h1' : ''}`;
  }
  return end >= 0 && end < count ? `${path}M${x(end)} 0V100` : path;
}

export function plotWords(what, samples, stepMs) {
  const known = samples.filter((value) => value >= 0);
  if (known.length === 0) return `${what}: no samples`;
  const minutes = Math.max(Math.floor(samples.length * stepMs / 60000), 1), last = samples[samples.length - 1];
  return `${what}, ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}: ${Math.min(...known)} to ${Math.max(...known)}, ` +
    (last < 0 ? 'now no sample' : `now ${last} percent`);
}

// An answer with all its lists; the server leaves out empty ones.
export function complete(status) {
  const lists = (one, ...keys) => ({...Object.fromEntries(keys.map((key) => [key, []])), ...one});
  return {...lists(status, 'faults', 'missing'), devices: status.devices.map((gpu) => {
    const whole = lists(gpu, 'holders', 'shares', 'instances', 'throttle_reasons');
    return {...whole, instances: whole.instances.map((one) => lists(one, 'holders'))};
  })};
}

// What decides which rows and which words of state the page has.  Numbers are not in it.
export function shape(status) {
  const names = (holders) => holders.map((one) => [one.namespace, one.pod, one.container]);
  return JSON.stringify([
    status.version, status.ready, status.parts.map((part) => [part.part, part.state]),
    status.faults.map((fault) => [fault.state, fault.gpu, fault.explain, fault.remedy]),
    status.devices.map((gpu) => [gpu.gpu, gpu.uuid, gpu.state, names(gpu.holders), gpu.hidden_holders,
      gpu.shares.map((share) => [absent(share.holder) ? null : names([share.holder]), share.method]),
      gpu.instances.map((one) => [one.gpu_instance_id, one.profile, names(one.holders), one.hidden_holders])]),
    status.missing, (status.processes ?? []).map((one) => `${one.gpu}-${one.pid}`).sort(),
  ]);
}

// The changes of state between two answers, as sentences for a screen reader.
export function changes(before, after) {
  const states = (status) => new Map([
    ...status.parts.map((part) => [part.part, part.state]), ...status.devices.map((gpu) => [`GPU ${gpu.gpu}`, gpu.state])]);
  const old = states(before);
  return [...states(after)].filter(([name, state]) => old.get(name) !== state).map(([name, state]) => `${name} is ${state}`);
}
