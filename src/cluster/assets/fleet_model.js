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

// `now` is in seconds since 1970; a GPU counts as idle from `idleFor` seconds on.
export function decode(json, now, idleFor) {
  const columns = json.devices;
  const count = columns.gpu.length;
  const fleet = {
    json, now, count, nodes: [], node: new Uint32Array(count), kind: new Uint8Array(count),
    bin: new Uint8Array(count), widest: 1,
  };
  let next = 0;
  json.nodes.node.forEach((name, index) => {
    const node = {
      index, name: name || json.nodes.address[index], state: json.nodes.state[index],
      reason: json.nodes.reason[index], detail: json.nodes.detail[index],
      readAt: json.nodes.read_at_s[index], ownersKnown: json.nodes.owners_known[index],
      first: next, count: json.nodes.devices[index], idle: 0, activity: 0,
    };
    next += node.count;
    fleet.widest = Math.max(fleet.widest, node.count);
    fleet.nodes.push(node);
    for (let i = node.first; i < next; ++i) {
      fleet.node[i] = index;
      fleet.bin[i] = binOf(columns.activity_percent[i]);
      fleet.kind[i] = kindOf(json, node, i, now, idleFor);
      node.idle += fleet.kind[i] === IDLE ? 1 : 0;
      node.activity += columns.activity_percent[i] ?? 0;
    }
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

// The nodes in the order in which they are drawn.
export function orderOf(fleet, sort) {
  const byName = new Intl.Collator('en', {numeric: true}).compare;
  const order = fleet.nodes.slice();
  order.sort((a, b) => (sort === 'idle' ? b.idle - a.idle : sort === 'activity' ? b.activity - a.activity : 0) ||
    byName(a.name, b.name));
  return order;
}

export function podNames(fleet, i) {
  const {pods, namespaces, devices} = fleet.json;
  return devices.pods[i].map((pod) => `${namespaces[pods[pod][0]]}/${pods[pod][1]}`);
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
    ['Held by', holders(fleet, i)],
    ['State', state],
    ['Activity', columns.activity_percent[i] === null ? 'not known' : `${columns.activity_percent[i]} %`],
    ['Memory', columns.memory_used_mib[i] === null ? 'not known' :
      `${gibibytes(columns.memory_used_mib[i])} of ${columns.memory_total_mib[i] === null ? '?' : gibibytes(columns.memory_total_mib[i])} GiB`],
  ];
  if (columns.idle_since_s[i] !== null) pairs.push(['Idle for', span(fleet.now - columns.idle_since_s[i])]);
  return pairs;
}

export function sentence(fleet, i) {
  const columns = fleet.json.devices;
  const parts = [`${fleet.nodes[fleet.node[i]].name} GPU ${columns.gpu[i]}`, holders(fleet, i)];
  const state = fleet.json.states[columns.state[i]];
  if (state !== 'ok') parts.push(state);
  if (columns.idle_since_s[i] !== null) parts.push(`idle for ${span(fleet.now - columns.idle_since_s[i])}`);
  else if (columns.activity_percent[i] !== null) parts.push(`activity ${columns.activity_percent[i]} percent`);
  return parts.join(', ');
}

export function countKinds(fleet, matches) {
  const counts = new Array(KIND_WORDS.length).fill(0);
  const nodes = new Set();
  for (let i = 0; i < fleet.count; ++i) {
    if (matches[i]) {
      counts[fleet.kind[i]] += 1;
      nodes.add(fleet.node[i]);
    }
  }
  return {counts, nodes: nodes.size};
}

// Pods that hold idle GPUs, by GPU-hours of these idle spells, then by name.
export function idleRanking(fleet, matches) {
  const columns = fleet.json.devices;
  const pods = new Map();
  for (let i = 0; i < fleet.count; ++i) {
    if (fleet.kind[i] !== IDLE || !matches[i]) continue;
    const names = podNames(fleet, i);
    const sharers = names.length + columns.hidden_owners[i];
    for (const name of names) {
      const pod = pods.get(name) ?? {name, gpus: 0, longest: 0, memoryMib: 0, hours: 0, shared: false};
      const seconds = fleet.now - columns.idle_since_s[i];
      pod.gpus += 1;
      pod.longest = Math.max(pod.longest, seconds);
      pod.memoryMib += (columns.memory_used_mib[i] ?? 0) / sharers;
      pod.hours += seconds / 3600 / sharers;
      pod.shared ||= sharers > 1;
      pods.set(name, pod);
    }
  }
  return [...pods.values()].sort((a, b) => b.hours - a.hours || (a.name < b.name ? -1 : 1));
}
