// The data of /api/v1/fleet (docs/api.md), as arrays to draw from, and as text.  This file uses
// neither the document nor the network.

export const FREE = 0, USED = 1, IDLE = 2, LOST = 3, SILENT = 4, UNKNOWN = 5;
export const KIND_WORDS = ['free', 'allocated', 'idle', 'lost', 'unresponsive', 'not known'];
export const BIN_WORDS = ['<1', '1+', '20+', '40+', '60+', '80+', '95+'];
export const NO_BIN = 7;
const BIN_STARTS = [1, 20, 40, 60, 80, 95];

export function binOf(percent) {
  return percent === null ? NO_BIN : BIN_STARTS.filter((start) => percent >= start).length;
}

// The entries of a table of names that contain a word: one search through all names at once.
class Names {
  constructor(names) {
    const lower = names.map((name) => name.toLowerCase());
    this.text = lower.join('\n');
    this.starts = new Uint32Array(names.length + 1);
    lower.forEach((name, i) => { this.starts[i + 1] = this.starts[i] + name.length + 1; });
  }
  // A Uint8Array with 1 for each name that contains `word`.
  within(word) {
    const {text, starts} = this, found = new Uint8Array(starts.length - 1);
    for (let at = text.indexOf(word), i = 0; at >= 0 && i < found.length;) {
      while (starts[i + 1] <= at) ++i;
      const isInside = at + word.length < starts[i + 1];
      if (isInside) found[i] = 1;
      at = text.indexOf(word, isInside ? starts[i + 1] : at + 1);
    }
    return found;
  }
}

// Compares names; "node-10" comes after "node-9".
const byName = new Intl.Collator('en', {numeric: true}).compare;

// What follows from the tables of the JSON alone; made once for all readings of an epoch.
const made = new WeakMap();
export function tablesOf(json) {
  const known = made.get(json.devices.pods);
  if (known !== undefined) return known;
  const names = json.nodes.node.map((name, index) => name || json.nodes.address[index]);
  const count = json.devices.gpu.length;
  const tables = {
    names, count, node: new Uint32Array(count), first: new Uint32Array(names.length + 1),
    podStart: new Uint32Array(count + 1), pod: Uint32Array.from(json.devices.pods.flat()),
    podNamespace: Uint32Array.from(json.pods, ([place]) => place), model: Uint32Array.from(json.devices.model),
    hidden: Uint32Array.from(json.devices.hidden_owners),
    nodeNames: new Names(names), podNames: new Names(json.pods.map(([, name]) => name)),
    namespaces: new Names(json.namespaces), models: new Names(json.models),
    groups: (json.groups ?? []).map((group) => new Names(group.names)),
    rank: new Uint32Array(names.length), widest: Math.max(1, ...json.nodes.devices),
  };
  json.nodes.devices.forEach((devices, index) => {
    tables.first[index + 1] = tables.first[index] + devices;
    tables.node.fill(index, tables.first[index], tables.first[index + 1]);
  });
  json.devices.pods.forEach((pods, i) => { tables.podStart[i + 1] = tables.podStart[i] + pods.length; });
  [...names.keys()].sort((a, b) => byName(names[a], names[b])).forEach((index, at) => { tables.rank[index] = at; });
  made.set(json.devices.pods, tables);
  return tables;
}

// The JSON of now: `next` itself, or the last one with the values of the delta `next`.
export function merged(last, next) {
  if (!next.delta) return next;
  if (next.epoch !== last?.epoch) throw new Error('its answer belongs to another one');
  return {...last, ...next, nodes: {...last.nodes, ...next.nodes}, devices: {...last.devices, ...next.devices}};
}

// `now` is in seconds since 1970; a GPU counts as idle from `idleFor` seconds on.
export function decode(json, now, idleFor) {
  const columns = json.devices, tables = tablesOf(json), {count} = tables;
  const fleet = {
    json, tables, now, count, node: tables.node, kind: new Uint8Array(count), bin: new Uint8Array(count),
    widest: tables.widest, terms: new Map(), readAt: null,
  };
  fleet.nodes = tables.names.map((name, index) => {
    const node = {
      index, name, state: json.nodes.state[index],
      reason: json.nodes.reason[index], detail: json.nodes.detail[index],
      readAt: json.nodes.read_at_s[index], ownersKnown: json.nodes.owners_known[index],
      first: tables.first[index], count: json.nodes.devices[index], idle: 0, activity: 0,
    };
    if (node.readAt !== null) fleet.readAt = Math.max(fleet.readAt ?? 0, node.readAt);
    for (let i = node.first; i < node.first + node.count; ++i) {
      fleet.bin[i] = binOf(columns.activity_percent[i]);
      fleet.kind[i] = kindOf(json, node, i, now, idleFor);
      node.idle += fleet.kind[i] === IDLE ? 1 : 0;
      node.activity += columns.activity_percent[i] ?? 0;
    }
    return node;
  });
  return fleet;
}

function kindOf(json, node, i, now, idleFor) {
  const columns = json.devices;
  const state = json.states[columns.state[i]];
  if (state === 'lost') return LOST;
  if (state === 'unresponsive') return SILENT;
  const since = columns.idle_since_s[i];
  if (since !== null && now - since >= idleFor) return IDLE;
  if (columns.pods[i].length > 0 || columns.hidden_owners[i] > 0) return USED;
  return node.ownersKnown ? FREE : UNKNOWN;
}

// The groups of nodes by the label `label`, each with its nodes in the order in which they are drawn: by
// name, the nodes without the label last.  One group without a name for an unknown label.
export function groupsOf(fleet, sort, label) {
  const {rank} = fleet.tables, table = (fleet.json.groups ?? []).find((group) => group.label === label);
  const groups = (table?.names ?? []).map((name) => ({name, nodes: []}));
  const rest = {name: table ? `no ${label}` : '', nodes: [], isRest: true};
  const order = fleet.nodes.slice().sort((a, b) =>
    (sort === 'idle' ? b.idle - a.idle : sort === 'activity' ? b.activity - a.activity : 0) || rank[a.index] - rank[b.index]);
  for (const node of order) (groups[table?.node[node.index] ?? -1] ?? rest).nodes.push(node);
  groups.sort((a, b) => byName(a.name, b.name));
  return [...groups, rest].filter((group) => group.nodes.length > 0);
}

// The line above a group: its nodes and GPUs that match.
export function groupLine(fleet, group, matches) {
  const counts = new Array(KIND_WORDS.length).fill(0);
  let nodes = 0, gpus = 0;
  for (const {first, count} of group.nodes) {
    let found = 0;
    for (let i = first; i < first + count; ++i) {
      if (matches[i]) [counts[fleet.kind[i]], found] = [counts[fleet.kind[i]] + 1, found + 1];
    }
    gpus += found;
    nodes += found > 0 ? 1 : 0;
  }
  const percent = (part) => `${Math.round(100 * part / gpus)} %`;
  const shares = gpus === 0 ? '' : `, ${percent(counts[USED] + counts[IDLE])} allocated, ${percent(counts[IDLE])} idle`;
  return `${nodes} ${nodes === 1 ? 'node' : 'nodes'}, ${gpus} ${gpus === 1 ? 'GPU' : 'GPUs'}${shares}`;
}

// The labels of a node that make groups, as pairs of a label and its value.
export function labelsOf(fleet, i) {
  return (fleet.json.groups ?? []).flatMap(({label, names, node}) => {
    const at = node[fleet.node[i]];
    return at === null ? [] : [[label, names[at]]];
  });
}

const podName = ({pods, namespaces}, pod) => `${namespaces[pods[pod][0]]}/${pods[pod][1]}`;

export function podNames(fleet, i) {
  return fleet.json.devices.pods[i].map((pod) => podName(fleet.json, pod));
}

export function holders(fleet, i) {
  const names = podNames(fleet, i);
  const hidden = fleet.json.devices.hidden_owners[i];
  if (hidden > 0) names.push(`${hidden} not shown`);
  if (names.length > 0) return names.join(', ');
  if (fleet.kind[i] === FREE) return 'free';
  return fleet.kind[i] === LOST && fleet.nodes[fleet.node[i]].ownersKnown ? 'none' : 'not known';
}

export function span(seconds) {
  const minutes = Math.floor(Math.max(seconds, 0) / 60);
  const hours = Math.floor(minutes / 60);
  if (minutes < 1) return `${Math.floor(Math.max(seconds, 0))}s`;
  if (hours < 1) return `${minutes}m`;
  if (hours < 24) return `${hours}h${String(minutes % 60).padStart(2, '0')}m`;
  return `${Math.floor(hours / 24)}d${hours % 24}h`;
}

export function gibibytes(mib) {
  return (mib / 1024).toFixed(1);
}

// The known facts of a GPU, as pairs of a name and a text.
export function facts(fleet, i) {
  const columns = fleet.json.devices;
  const node = fleet.nodes[fleet.node[i]];
  const state = fleet.json.states[columns.state[i]];
  const pairs = [
    ['Node', node.state === 'ok' ? node.name : `${node.name}, ${node.state}${node.detail ? `: ${node.detail}` : ''}`],
    ['GPU', `${columns.gpu[i]}, ${fleet.json.models[columns.model[i]]}${columns.instances[i] > 0 ? `, ${columns.instances[i]} MIG instances` : ''}`],
    ...labelsOf(fleet, i),
    ['Held by', holders(fleet, i)],
    ['State', state],
    ['Activity', columns.activity_percent[i] === null ? 'not known' : `${columns.activity_percent[i]} %`],
    ['Memory', columns.memory_used_mib[i] === null ? 'not known' :
      `${gibibytes(columns.memory_used_mib[i])} of ${columns.memory_total_mib[i] === null ? '?' : gibibytes(columns.memory_total_mib[i])} GiB`],
  ];
  if (columns.idle_since_s[i] !== null) pairs.push(['Idle for', span(fleet.now - columns.idle_since_s[i])]);
  return pairs;
}

// Where this GPU's node has pages, as pairs of a name and an address; none without --node-url and
// --dashboard-url, or while the node's name is unknown.
export function links(fleet, i) {
  const {nodes, devices, node_url: page, dashboard_url: dashboard} = fleet.json, node = nodes.node[fleet.node[i]];
  const values = {node, gpu: devices?.gpu[i], uuid: devices?.uuid?.[i]};
  return [['Node page', page], ['Dashboard', dashboard]].filter(([, url]) => url && node)
    .map(([title, url]) => [title, url.replace(/\{(node|gpu|uuid)\}/g, (_, key) => encodeURIComponent(values[key] ?? ''))]);
}

export function sentence(fleet, i) {
  const columns = fleet.json.devices;
  const parts = [`${fleet.nodes[fleet.node[i]].name} GPU ${columns.gpu[i]}`, holders(fleet, i)];
  const state = fleet.json.states[columns.state[i]];
  if (state !== 'ok') parts.push(state);
  if (columns.idle_since_s[i] !== null) parts.push(`idle for ${span(fleet.now - columns.idle_since_s[i])}`);
  else if (columns.activity_percent[i] !== null) parts.push(`activity ${columns.activity_percent[i]} percent`);
  return parts.concat(labelsOf(fleet, i).map((pair) => pair.join(' '))).join(', ');
}

export function countKinds(fleet, matches) {
  const counts = new Array(KIND_WORDS.length).fill(0), seen = new Uint8Array(fleet.nodes.length);
  let nodes = 0;
  for (let i = 0; i < fleet.count; ++i) {
    if (matches[i] === 0) continue;
    counts[fleet.kind[i]] += 1;
    nodes += seen[fleet.node[i]] ^ 1;
    seen[fleet.node[i]] = 1;
  }
  return {counts, nodes};
}

// The `most` pods with the most GPU-hours of the present idle spells, then by name, and the number of
// all pods that hold idle GPUs.
export function idleRanking(fleet, matches, most) {
  const columns = fleet.json.devices, {podStart, pod, hidden} = fleet.tables, pods = new Map();
  for (let i = 0; i < fleet.count; ++i) {
    if (fleet.kind[i] !== IDLE || matches[i] === 0) continue;
    const sharers = podStart[i + 1] - podStart[i] + hidden[i], seconds = fleet.now - columns.idle_since_s[i];
    for (let at = podStart[i]; at < podStart[i + 1]; ++at) {
      let entry = pods.get(pod[at]);
      if (entry === undefined) pods.set(pod[at], entry = {pod: pod[at], gpus: 0, longest: 0, memoryMib: 0, hours: 0, shared: false});
      entry.gpus += 1;
      entry.longest = Math.max(entry.longest, seconds);
      entry.memoryMib += (columns.memory_used_mib[i] ?? 0) / sharers;
      entry.hours += seconds / 3600 / sharers;
      entry.shared ||= sharers > 1;
    }
  }
  const name = (entry) => entry.name ??= podName(fleet.json, entry.pod);
  const isBefore = (a, b) => a.hours > b.hours || (a.hours === b.hours && name(a) < name(b));
  const first = [];
  for (const entry of pods.values()) {
    if (first.length === most && !isBefore(entry, first[most - 1])) continue;
    const at = first.findIndex((other) => isBefore(entry, other));
    first.splice(at < 0 ? first.length : at, 0, entry);
    first.length = Math.min(first.length, most);
  }
  first.forEach(name);
  return {first, count: pods.size};
}

// A history as a line, 100 high and one wide for each step, and in words.
export function historyLine({activity_percent: values, step_s}) {
  const known = values.filter((value) => value !== null), last = known.at(-1), steps = values.length - 1 - values.lastIndexOf(last);
  const path = values.map((value, at) => (value === null ? '' : `${(values[at - 1] ?? null) === null ? 'M' : 'L'}${at} ${100 - value}h.5`)).join('');
  return [path, `from ${Math.min(...known)} to ${Math.max(...known)} %, last ${last} %${steps > 0 ? ` ${span(steps * step_s)} ago` : ''}`];
}
