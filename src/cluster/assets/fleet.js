// The fleet page: requests the JSON, keeps the view in the URL, and handles keys and pointer.
import {BIN_WORDS, FREE, IDLE, LOST, NO_BIN, SILENT, USED, countKinds, decode, facts, gibibytes, groupLine, groupsOf, historyLine, holders, idleRanking, links, merged, sentence, span} from './fleet_model.js';
import {matchAll, namespaceIn, parse, withNamespace} from './fleet_filter.js';
import {FleetMap, swatch} from './fleet_map.js';

const POLL_MS = 5000, POLL_LARGE_MS = 15000, LARGE_GPUS = 10000, OLD_AFTER_S = 60;
const MOST_RANKED = 20, TABLE_ROWS = 100, SMALLEST_PX = 2, LARGEST_PX = 24;
const CARDS_UP_TO = 50, HISTORY_STAYS_MS = 300000, MOST_HISTORIES = 20;
const by = (id) => document.getElementById(id);
const map = new FleetMap(by('map'), by('scroller'), by('spacer'));

let json = null, etag = '', serverOffsetS = 0, fleet = null, groups = [], matches = null, timer = 0;
let lastOk = 0, isPaused = false, page = 0;
let cursor = null;  // {node, gpu} chosen with the arrow keys; null: the GPU in the URL.
let pointer = null;  // The position of the pointer on the map.
// The whole view, as it is in the URL.
let seen = {};

const DEFAULTS = {q: '', group: '', sort: 'idle', cell: '', idle: '0', node: '', gpu: '', view: ''};

function readAddress() {
  const query = new URLSearchParams(location.search);
  seen = {...DEFAULTS};
  for (const key of Object.keys(DEFAULTS)) if (query.has(key)) seen[key] = query.get(key);
  if (!['idle', 'name', 'activity'].includes(seen.sort)) seen.sort = DEFAULTS.sort;
  if (!/^\d{1,7}$/.test(seen.idle)) seen.idle = DEFAULTS.idle;
  if (!/^\d{1,2}$/.test(seen.cell)) seen.cell = '';
}

function writeAddress(how) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(seen)) if (value !== DEFAULTS[key]) query.set(key, value);
  const text = query.toString();
  history[how](null, '', text === '' ? location.pathname : `?${text}`);
}

function set(changes, how = 'replaceState') {
  Object.assign(seen, changes);
  if ('node' in changes) cursor = null;
  writeAddress(how);
  render();
}

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

const now = () => Date.now() / 1000 + serverOffsetS;
const cellPx = () => Math.min(Math.max(Number(seen.cell) || (fleet.nodes.length <= CARDS_UP_TO ? LARGEST_PX : 4), SMALLEST_PX), LARGEST_PX);
const say = (text) => { by('said').textContent = text; };

// -- data

async function poll() {
  clearTimeout(timer);
  if (isPaused || document.hidden) return;
  try {
    // With the epoch of the last answer only states and values are sent, as long as nodes and pods stay.
    const answer = await fetch(`api/v1/fleet${json?.epoch ? `?epoch=${json.epoch}` : ''}`, {cache: 'no-store', headers: etag ? {'If-None-Match': etag} : {}});
    if (answer.status === 200) {
      const next = await answer.json();
      if (next.schema !== 1) throw new Error('this page belongs to another release; reload it');
      [json, etag] = [merged(json, next), answer.headers.get('ETag') ?? ''];
    } else if (answer.status !== 304) {
      throw new Error(`it answers ${answer.status}`);
    }
    const date = Date.parse(answer.headers.get('Date') ?? '');
    if (!Number.isNaN(date)) serverOffsetS = (date - Date.now()) / 1000;
    lastOk = Date.now();
    tell('');
  } catch (error) {
    tell(`The cluster role does not answer${lastOk ? ` since ${new Date(lastOk).toLocaleTimeString('en-GB')}` : ''}: ${error.message}`);
  }
  if (json !== null) refresh();
  timer = setTimeout(poll, json !== null && json.devices.gpu.length > LARGE_GPUS ? POLL_LARGE_MS : POLL_MS);
}

function tell(notice) {
  by('notice').textContent = notice;
  by('notice').hidden = notice === '';
  document.body.classList.toggle('old', notice !== '');
}

function refresh() {
  fleet = decode(json, now(), Number(seen.idle));
  arranged = '';
  render();
}

// The order of the nodes depends on the reading, the sort and the label of the groups, not on the filter.
let arranged = '';
function arrange() {
  const by_ = `${seen.sort} ${seen.group}`;
  if (arranged !== by_) groups = groupsOf(fleet, seen.sort, seen.group);
  arranged = by_;
  for (const group of groups) group.line = group.name === '' ? '' : groupLine(fleet, group, matches);
}

// -- the view

function render() {
  if (fleet === null) return;
  const {terms, errors} = parse(seen.q);
  matches = matchAll(fleet, terms);
  arrange();
  renderControls(errors);
  renderCounts();
  map.cursor = indexOf(cursor ?? seen);
  const isTable = seen.view === 'table';
  by('scroller').hidden = by('map-help').hidden = isTable;
  by('table').hidden = !isTable;
  if (isTable) keepFocus(by('table'), renderTable); else map.show(fleet, groups, matches, cellPx());
  renderDetail();
  keepFocus(by('ranking'), renderRanking);
  renderHistories();
  loadHistories();
}

// -- the last 24 hours of the selected GPU and of each group, from Prometheus

const histories = new Map();  // By query.
let isLoading = false;

// Pairs of a title and a query.
function wantedHistories() {
  if (!fleet.json.history) return [];
  const i = seen.node === '' ? -1 : indexOf(seen), {node, gpu} = i < 0 ? {} : nameOf(i);
  const selected = i < 0 ? [] : [[`${node} GPU ${gpu}`, {node, gpu}]];
  const grouped = seen.group === '' ? [] : groups.filter((group) => group.line && !group.isRest).map(({name}) => [name, {group: seen.group, value: name}]);
  return [...selected, ...(grouped.length > 0 ? grouped : [['all GPUs', {}]])].slice(0, MOST_HISTORIES)
    .map(([title, query]) => [title, new URLSearchParams(query).toString()]);
}

// Requests one after the other what is missing or too old.
async function loadHistories() {
  const next = wantedHistories().find(([, query]) => !(histories.get(query)?.until > Date.now()));
  if (next === undefined || isLoading || isPaused || document.hidden) return;
  isLoading = true;
  let history;
  try {
    const answer = await fetch(`api/v1/history?${next[1]}`, {cache: 'no-store'});
    history = answer.ok ? await answer.json() : {absent: `it answers ${answer.status}`};
  } catch (error) {
    history = {absent: error.message};
  }
  isLoading = false;
  if (histories.size >= 10 * MOST_HISTORIES) histories.clear();
  histories.set(next[1], {...history, until: Date.now() + HISTORY_STAYS_MS / (history.absent ? 20 : 1)});
  renderHistories();
  loadHistories();
}

function renderHistories() {
  const wanted = wantedHistories();
  by('histories').hidden = wanted.length === 0;
  by('history').replaceChildren(...wanted.flatMap(([title, query]) => {
    const history = histories.get(query), box = element('dd', '');
    if (history === undefined || history.absent) {
      box.textContent = history?.absent ?? 'requested';
    } else {
      const [line, words] = historyLine(history);
      const plot = by('plot').content.firstElementChild.cloneNode(true);
      plot.setAttribute('aria-label', `${title}: ${words}`);
      plot.firstElementChild.setAttribute('d', line);
      box.append(plot, words);
    }
    return [element('dt', title), box];
  }));
}

// The index of that GPU; the first GPU of the node if it has no such number; -1 without such a
// node.
function indexOf({node: name, gpu}) {
  const node = fleet.nodes.find((one) => one.name === name);
  if (name === '' || node === undefined) return -1;
  for (let i = node.first; i < node.first + node.count; ++i) {
    if (String(fleet.json.devices.gpu[i]) === gpu) return i;
  }
  return node.count > 0 ? node.first : -1;
}

const nameOf = (i) => ({node: fleet.nodes[fleet.node[i]].name, gpu: String(fleet.json.devices.gpu[i])});

function renderControls(errors) {
  if (typed === null && by('filter').value !== seen.q) by('filter').value = seen.q;
  by('filter-error').textContent = errors.concat(fleet.json.groups_absent ?? []).join('; ');
  const labels = (fleet.json.groups ?? []).map(({label}) => label);
  const chosen = namespaceIn(seen.q);
  options('namespace', 'all', fleet.json.namespaces.slice().sort(), chosen);
  options('group', 'none', labels, labels.includes(seen.group) ? seen.group : '');
  by('group-label').hidden = labels.length === 0;
  by('idle').value = seen.idle;
  by('sort').value = seen.sort;
  by('cell').textContent = `${cellPx()} px`;
  by('table-view').setAttribute('aria-pressed', String(seen.view === 'table'));
}

// Makes the options of a list, if they have changed.
function options(name, none, values, chosen) {
  const list = by(name), all = chosen === '' || values.includes(chosen) ? values : [...values, chosen];
  const key = all.join('\n');
  if (list.dataset.made !== key) list.replaceChildren(new Option(none, ''), ...all.map((value) => new Option(value)));
  list.dataset.made = key;
  list.value = chosen;
}

function renderCounts() {
  const {counts, nodes} = countKinds(fleet, matches);
  const gpus = counts.reduce((sum, count) => sum + count, 0);
  const all = seen.q === '' ? fleet.nodes.length : nodes;
  const parts = [`${all} ${all === 1 ? 'node' : 'nodes'}, ${gpus} ${gpus === 1 ? 'GPU' : 'GPUs'}: ${counts[USED] + counts[IDLE]} allocated, ${counts[IDLE]} of them idle`, `${counts[FREE]} free`];
  if (counts[LOST] > 0) parts.push(`${counts[LOST]} lost`);
  if (counts[SILENT] > 0) parts.push(`${counts[SILENT]} unresponsive`);
  if (counts[5] > 0) parts.push(`${counts[5]} not known`);
  const text = parts.join(', ');
  if (by('counts').textContent !== text) by('counts').textContent = text;
  const age = fleet.readAt === null ? '' : `read ${span(now() - fleet.readAt)} ago; `;
  by('freshness').textContent = `${age}${fleet.json.verdict}`;
  const duplicates = fleet.nodes.filter((node) => node.reason === 'duplicate');
  by('duplicates').hidden = duplicates.length === 0;
  by('duplicates').textContent = duplicates.length === 0 ? '' :
    `Error: ${duplicates.length} nodes have the name of another node. ${duplicates[0].detail}`;
  const lost = counts[LOST] > 0 ? `${counts[LOST]} lost - ` : '';
  document.title = `${lost}${counts[IDLE]} idle of ${gpus} GPUs - podgpu fleet`;
}

// Shows the GPU under the pointer, else the one at the cursor.
function renderDetail() {
  const under = pointer === null || seen.view === 'table' ? -1 : map.at(pointer.x, pointer.y);
  const i = under < 0 ? map.cursor : under;
  keepFocus(by('detail'), () => by('detail').replaceChildren(...(i < 0 ? [element('dt', 'None selected'), element('dd', 'Point at a GPU, or move to it with the arrow keys.')] :
    [...facts(fleet, i).flatMap(([name, text]) => [element('dt', name), element('dd', text)]), ...linksOf(i)])));
}

function linksOf(i) {
  const found = links(fleet, i);
  if (found.length === 0) return [];
  const box = element('dd', '');
  for (const [title, href] of found) box.append(element('a', title, {href, 'data-key': title}), ' ');
  return [element('dt', 'Open'), box];
}

function renderLegend() {
  const cells = [...BIN_WORDS.map((word, bin) => [USED, bin, `${word} %`]), [USED, NO_BIN, 'not known'], [FREE, NO_BIN, 'free'], [IDLE, 0, 'idle'], [LOST, NO_BIN, 'lost'], [SILENT, NO_BIN, 'unresponsive']];
  by('legend').replaceChildren(...cells.map(([kind, bin, word]) => {
    const item = element('li', word);
    item.prepend(swatch(map.palette, kind, bin));
    return item;
  }));
}

function row(cells, heads = 1) {
  const made = document.createElement('tr');
  cells.forEach((cell, at) => {
    const box = element(at < heads ? 'th' : 'td', '', at < heads ? {scope: 'row'} : {});
    box.append(cell.text ?? cell);
    if (cell.number) box.className = 'number';
    made.append(box);
  });
  return made;
}

// Replaces the content of an element and keeps the focus.
function keepFocus(part, make) {
  const focused = part.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  make();
  if (focused !== undefined) [...part.querySelectorAll('[data-key]')].find((one) => one.dataset.key === focused)?.focus();
}

const number = (text) => ({text, number: true});

function button(text, act, attributes = {}) {
  const made = element('button', text, {type: 'button', ...attributes});
  made.addEventListener('click', act);
  return made;
}

function renderRanking() {
  const {first, count} = idleRanking(fleet, matches, MOST_RANKED);
  if (count === 0) {
    by('ranking').replaceChildren(element('p', 'No GPU with an owner is known to be idle.'));
    return;
  }
  const table = document.createElement('table');
  table.append(element('caption', `By GPU-hours, since the cluster role started${count > MOST_RANKED ? `; ${count - MOST_RANKED} more` : ''}`));
  const head = table.createTHead().insertRow();
  for (const [text, kind] of [['Pod'], ['GPUs', 'number'], ['idle for', 'number'], ['memory', 'number'], ['GPU-h', 'number']]) {
    head.append(element('th', text, {scope: 'col', ...(kind ? {class: kind} : {})}));
  }
  const body = table.createTBody();
  for (const pod of first) {
    const [namespace, name] = pod.name.split('/');
    const link = button(pod.name, () => set({q: `ns:${namespace} pod:${name}`}, 'pushState'), {'data-key': pod.name});
    body.append(row([link, number(`${pod.gpus}${pod.shared ? ' shared' : ''}`), number(span(pod.longest)),
      number(`${pod.memoryMib > 0 ? gibibytes(pod.memoryMib) : '-'} GiB`), number(pod.hours.toFixed(1))]));
  }
  by('ranking').replaceChildren(table);
}

// -- the same as a table

const COLUMNS = {
  name: ['Node', (i) => fleet.nodes[fleet.node[i]].name],
  gpu: ['GPU', (i) => number(String(fleet.json.devices.gpu[i]))],
  held: ['Held by', (i) => holders(fleet, i)],
  state: ['State', (i) => fleet.json.states[fleet.json.devices.state[i]]],
  activity: ['Activity', (i) => number(fleet.json.devices.activity_percent[i] === null ? '-' : `${fleet.json.devices.activity_percent[i]} %`)],
  memory: ['Memory', (i) => number(fleet.json.devices.memory_used_mib[i] === null ? '-' : `${gibibytes(fleet.json.devices.memory_used_mib[i])} GiB`)],
  idle: ['Idle for', (i) => number(fleet.json.devices.idle_since_s[i] === null ? '-' : span(fleet.now - fleet.json.devices.idle_since_s[i]))],
};
const SORTABLE = {name: 'ascending', activity: 'descending', idle: 'descending'};

// The GPUs in the order of the table, with the group of each.
function tableOrder() {
  const {activity_percent: activity, idle_since_s: since} = fleet.json.devices;
  return groups.flatMap((group) => {
    const gpus = group.nodes.flatMap((node) => Array.from({length: node.count}, (_, n) => node.first + n)).filter((i) => matches[i]);
    if (seen.sort === 'activity') gpus.sort((a, b) => (activity[b] ?? -1) - (activity[a] ?? -1));
    if (seen.sort === 'idle') gpus.sort((a, b) => (since[a] ?? Infinity) - (since[b] ?? Infinity) || 0);
    return gpus.map((i) => [i, group]);
  });
}

function renderTable() {
  const rows = tableOrder();
  const pages = Math.max(1, Math.ceil(rows.length / TABLE_ROWS));
  page = Math.min(page, pages - 1);
  const table = document.createElement('table');
  table.append(element('caption', `${rows.length} GPUs, page ${page + 1} of ${pages}`));
  const head = table.createTHead().insertRow();
  for (const [key, [title]] of Object.entries(COLUMNS)) {
    const cell = element('th', SORTABLE[key] ? '' : title, {scope: 'col'});
    if (SORTABLE[key]) {
      if (seen.sort === key) cell.setAttribute('aria-sort', SORTABLE[key]);
      cell.append(button(title, () => set({sort: key}), {'data-key': key}));
    }
    head.append(cell);
  }
  let body = table.createTBody(), last = null;
  for (const [i, group] of rows.slice(page * TABLE_ROWS, (page + 1) * TABLE_ROWS)) {
    if (group.line && group !== last) {
      body = table.createTBody();
      body.insertRow().append(element('th', `${group.name}: ${group.line}`, {scope: 'rowgroup', colspan: Object.keys(COLUMNS).length}));
    }
    last = group;
    body.append(row(Object.values(COLUMNS).map(([, of]) => of(i)), 2));
  }
  const turn = (text, by_) => {
    const made = button(text, () => { page += by_; render(); }, {'data-key': text});
    made.disabled = page + by_ < 0 || page + by_ >= pages;
    return made;
  };
  const links = element('div', '', {class: 'pages'});
  links.append(turn('Previous', -1), turn('Next', 1));
  by('table').replaceChildren(table, links);
}

// -- input

// Everything typed before the next frame is one change.
let typed = null;
by('filter').addEventListener('input', (event) => {
  if (typed === null) requestAnimationFrame(() => { const q = typed; [typed, page] = [null, 0]; set({q}); });
  typed = event.target.value;
});
by('controls').addEventListener('submit', (event) => event.preventDefault());
by('namespace').addEventListener('change', (event) => { page = 0; set({q: withNamespace(seen.q, event.target.value)}); });
by('group').addEventListener('change', (event) => { page = 0; set({group: event.target.value}); });
by('sort').addEventListener('change', (event) => set({sort: event.target.value}));
by('idle').addEventListener('change', (event) => { seen.idle = event.target.value; writeAddress('replaceState'); refresh(); });
by('smaller').addEventListener('click', () => set({cell: String(Math.max(SMALLEST_PX, cellPx() - 2))}));
by('larger').addEventListener('click', () => set({cell: String(Math.min(LARGEST_PX, cellPx() + 2))}));
by('table-view').addEventListener('click', () => set({view: seen.view === 'table' ? '' : 'table'}, 'pushState'));
by('pause').addEventListener('click', () => {
  isPaused = !isPaused;
  by('pause').setAttribute('aria-pressed', String(isPaused));
  poll();
});
by('map').addEventListener('pointermove', (event) => {
  pointer = {x: event.offsetX, y: event.offsetY};
  if (fleet !== null) renderDetail();
});
by('map').addEventListener('pointerleave', () => {
  pointer = null;
  if (fleet !== null) renderDetail();
});
by('map').addEventListener('click', (event) => {
  const i = map.at(event.offsetX, event.offsetY);
  if (i >= 0) set(nameOf(i), 'pushState');
});
by('map').addEventListener('keydown', (event) => {
  if (fleet === null || event.ctrlKey || event.altKey || event.metaKey) return;
  const to = map.step(event.key);
  if (to !== undefined) {
    [cursor, pointer] = [nameOf(to), null];
    map.moveTo(to);
    renderDetail();
    say(sentence(fleet, to));
  } else if (event.key === 'Enter' && map.cursor >= 0) {
    set(nameOf(map.cursor), 'pushState');
    say(`selected ${sentence(fleet, map.cursor)}`);
  } else if (event.key === 'i') {
    (by('ranking').querySelector('button') ?? by('ranking-title')).focus();
  } else if (event.key === 't') {
    set({view: 'table'}, 'pushState');
    by('table').querySelector('button')?.focus();
  } else if (event.key === '/') {
    by('filter').focus();
  } else {
    return;
  }
  event.preventDefault();
});
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || fleet === null) return;
  if (seen.view === 'table') {
    set({view: ''}, 'pushState');
  } else if (document.activeElement === by('map') && (seen.node !== '' || map.cursor >= 0)) {
    set({node: '', gpu: ''}, seen.node === '' ? 'replaceState' : 'pushState');
  }
  by('map').focus();
});
window.addEventListener('popstate', () => { cursor = null; readAddress(); if (json !== null) refresh(); });
document.addEventListener('visibilitychange', poll);
new ResizeObserver(() => requestAnimationFrame(() => map.layOut())).observe(by('scroller'));
for (const query of ['(prefers-color-scheme: dark)', '(forced-colors: active)']) {
  matchMedia(query).addEventListener('change', () => { map.restyle(); map.draw(); renderLegend(); });
}

setInterval(() => { if (fleet !== null && !document.hidden && !isPaused) renderCounts(); }, 1000);
readAddress();
renderLegend();
poll();
