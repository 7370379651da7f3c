// Parses the filter: all words must match, "-" negates, quotes keep blanks.  A bad word is reported
// and ignored.
import {FREE, IDLE, KIND_WORDS, USED} from './fleet_model.js';

const UNITS_S = {s: 1, m: 60, h: 3600, d: 86400};

// {terms: [{key, value, not}], errors: [...]}
export function parse(text) {
  const terms = [], errors = [];
  for (const [word] of text.matchAll(/(?:[^\s"]|"[^"]*"?)+/g)) {
    const not = word.length > 1 && word.startsWith('-');
    const bare = (not ? word.slice(1) : word).replaceAll('"', '');
    const pair = /^(ns|pod|node|model|state):(.*)$/.exec(bare);
    const idle = /^idle>(\d+)([smhd])$/.exec(bare);
    if (idle) {
      terms.push({key: 'idle', value: Number(idle[1]) * UNITS_S[idle[2]], not});
    } else if (pair && pair[2] !== '') {
      terms.push({key: pair[1], value: pair[2].toLowerCase(), not});
    } else if (pair || /^(\w+:|idle[<>=])/.test(bare)) {
      errors.push(`${word} is not understood: ns:, pod:, node:, model:, state: with a name, or idle>30m`);
    } else if (bare !== '') {
      terms.push({key: 'any', value: bare.toLowerCase(), not});
    }
  }
  return {terms, errors};
}

// A Uint8Array with 1 for each GPU that matches all terms.
export function matchAll(fleet, terms) {
  const matches = new Uint8Array(fleet.count).fill(1);
  for (const term of terms) {
    const takes = tests[term.key](fleet, term.value);
    for (let i = 0; i < fleet.count; ++i) {
      if (takes(i) === term.not) matches[i] = 0;
    }
  }
  return matches;
}

// The entries of a table that match a word, computed once per name instead of once per GPU.
const within = (names, value) => names.map((name) => name.toLowerCase().includes(value));

const tests = {
  ns: (fleet, value) => {
    const {pods, namespaces, devices} = fleet.json;
    const taken = pods.map(([place]) => namespaces[place] === value);
    return (i) => devices.pods[i].some((pod) => taken[pod]);
  },
  pod: (fleet, value) => {
    const {pods, devices} = fleet.json;
    const taken = within(pods.map(([, name]) => name), value);
    return (i) => devices.pods[i].some((pod) => taken[pod]);
  },
  node: (fleet, value) => {
    const taken = within(fleet.nodes.map((node) => node.name), value);
    return (i) => taken[fleet.node[i]];
  },
  model: (fleet, value) => {
    const {models, devices} = fleet.json;
    const taken = within(models, value);
    return (i) => taken[devices.model[i]];
  },
  state: (fleet, value) => {
    const {states, devices} = fleet.json;
    return (i) => states[devices.state[i]] === value || KIND_WORDS[fleet.kind[i]] === value ||
      (value === 'allocated' && fleet.kind[i] === IDLE);
  },
  idle: (fleet, value) => {
    const since = fleet.json.devices.idle_since_s;
    return (i) => since[i] !== null && fleet.now - since[i] > value;
  },
  any: (fleet, value) => {
    const {pods, namespaces, models, devices} = fleet.json;
    const ofNamespace = within(namespaces, value), ofModel = within(models, value);
    const ofNode = within(fleet.nodes.map((node) => node.name), value);
    const ofPod = pods.map(([place, name]) => ofNamespace[place] || name.toLowerCase().includes(value));
    const kind = {free: FREE, idle: IDLE, allocated: USED}[value];
    return (i) => fleet.kind[i] === kind || ofNode[fleet.node[i]] || ofModel[devices.model[i]] ||
      devices.pods[i].some((pod) => ofPod[pod]);
  },
};

// The only ns: word of a text, for the list of namespaces; "" if there is none.
export function namespaceIn(text) {
  const found = parse(text).terms.filter((term) => term.key === 'ns' && !term.not);
  return found.length === 1 ? found[0].value : '';
}

// `text` with that namespace instead of any other.
export function withNamespace(text, name) {
  const rest = text.split(/\s+/).filter((word) => word !== '' && !word.startsWith('ns:'));
  return (name === '' ? rest : [`ns:${name}`, ...rest]).join(' ');
}
