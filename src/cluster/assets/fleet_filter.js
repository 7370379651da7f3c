// Parses the filter: all words must match, "-" negates, quotes keep blanks.  A bad word is reported
// and ignored.
import {IDLE, KIND_WORDS} from './fleet_model.js';

const UNITS_S = {s: 1, m: 60, h: 3600, d: 86400}, MOST_TERMS = 16;

// {terms: [{key, value, not}], errors: [...]}
export function parse(text) {
  const terms = [], errors = [];
  for (const [word] of text.matchAll(/(?:[^\s"]|"[^"]*"?)+/g)) {
    const not = word.length > 1 && word.startsWith('-');
    const bare = (not ? word.slice(1) : word).replaceAll('"', '');
    const pair = /^(ns|pod|node|model|group|state):(.*)$/.exec(bare);
    const idle = /^idle>(\d+)([smhd])$/.exec(bare);
    if (idle) {
      terms.push({key: 'idle', value: Number(idle[1]) * UNITS_S[idle[2]], not});
    } else if (pair && pair[2] !== '') {
      terms.push({key: pair[1], value: pair[2].toLowerCase(), not});
    } else if (pair || /^(\w+:|idle[<>=])/.test(bare)) {
      errors.push(`${word} is not understood: ns:, pod:, node:, model:, group:, state: with a name, or idle>30m`);
    } else if (bare !== '') {
      terms.push({key: 'any', value: bare.toLowerCase(), not});
    }
  }
  return {terms, errors};
}

// A Uint8Array with 1 for each GPU that matches all terms.
export function matchAll(fleet, terms) {
  const matches = new Uint8Array(fleet.count).fill(1);
  for (const {key, value, not} of terms) {
    const found = matchOne(fleet, key, value), miss = not ? 1 : 0;
    for (let i = 0; i < fleet.count; ++i) matches[i] &= found[i] ^ miss;
  }
  return matches;
}

// The same for one term.  It is kept: while a word is typed the others stay.
function matchOne(fleet, key, value) {
  const name = `${key}:${value}`;
  let found = fleet.terms.get(name);
  if (found === undefined) {
    if (fleet.terms.size >= MOST_TERMS) fleet.terms.clear();
    fleet.terms.set(name, found = new Uint8Array(fleet.count));
    tests[key](fleet, value, found);
  }
  return found;
}

// Each test looks at a table of names once, and at GPUs by numbers only; it puts a 1 for each that matches.
const byNode = ({tables: {first}}, nodes, found) => nodes.forEach((yes, at) => { if (yes) found.fill(1, first[at], first[at + 1]); });
const byModel = ({count, tables: {model}}, models, found) => { for (let i = 0; i < count; ++i) found[i] |= models[model[i]]; };
const byPod = ({count, tables: {podStart, pod}}, pods, found) => {
  for (let i = 0, at = 0; i < count; ++i) for (; at < podStart[i + 1]; ++at) found[i] |= pods[pod[at]];
};

const tests = {
  ns: (fleet, value, found) => {
    const place = fleet.json.namespaces.indexOf(value);
    byPod(fleet, fleet.tables.podNamespace.map((namespace) => (namespace === place ? 1 : 0)), found);
  },
  pod: (fleet, value, found) => byPod(fleet, fleet.tables.podNames.within(value), found),
  node: (fleet, value, found) => byNode(fleet, fleet.tables.nodeNames.within(value), found),
  model: (fleet, value, found) => byModel(fleet, fleet.tables.models.within(value), found),
  group: (fleet, value, found) => fleet.tables.groups.forEach((names, at) => {
    const taken = names.within(value);
    byNode(fleet, fleet.json.groups[at].node.map((place) => (place === null ? 0 : taken[place])), found);
  }),
  state: (fleet, value, found) => {
    const {json, kind, count} = fleet, place = json.states.indexOf(value), state = json.devices.state;
    const kinds = KIND_WORDS.map((word) => word === value);
    if (value === 'allocated') kinds[IDLE] = 1;
    for (let i = 0; i < count; ++i) found[i] |= kinds[kind[i]] | (state[i] === place);
  },
  idle: (fleet, value, found) => {
    const since = fleet.json.devices.idle_since_s, from = fleet.now - value;
    for (let i = 0; i < fleet.count; ++i) if (since[i] !== null && since[i] < from) found[i] = 1;
  },
  any: (fleet, value, found) => {
    const {tables} = fleet, namespaces = tables.namespaces.within(value);
    byPod(fleet, tables.podNames.within(value).map((yes, pod) => yes | namespaces[tables.podNamespace[pod]]), found);
    byModel(fleet, tables.models.within(value), found);
    byNode(fleet, tables.nodeNames.within(value), found);
    if (KIND_WORDS.includes(value)) tests.state(fleet, value, found);
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
