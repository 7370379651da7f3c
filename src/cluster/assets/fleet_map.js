// The map of GPUs: one canvas of the size of the visible part, filled through one pixel buffer, so
// 40,000 GPUs cost no more than the pixels.  There is no element per GPU; the GPU under the pointer
// is computed.  Below NAMED_PX nodes are strips side by side; above, each node is a line with its
// name.  Groups of nodes are drawn one below the other, each below a line with its name.
import {FREE, IDLE, LOST, NO_BIN, SILENT, holders, podNames} from './fleet_model.js';

export const NAMED_PX = 12;
const NAME_PX = 230, LINE_GAP_PX = 6, HEAD_PX = 26, MOST_COLUMNS = 16, DIM = 0.2, PAGE_LINES = 10;

// Returns a colour of the style sheet, also a system colour, as the four bytes of a pixel.
class Palette {
  constructor() {
    const probe = document.createElement('canvas');
    probe.width = probe.height = 1;
    this.context = probe.getContext('2d', {willReadFrequently: true});
    this.style = getComputedStyle(document.documentElement);
    this.ground = this.bytes('--ground');
    this.bins = [0, 1, 2, 3, 4, 5, 6].map((bin) => this.bytes(`--bin${bin}`));
    this.bins[NO_BIN] = this.bytes('--unknown');
    [this.border, this.idle, this.lost] = ['--border', '--idle', '--lost'].map((name) => this.bytes(name));
  }
  text(name) { return this.style.getPropertyValue(name).trim(); }
  bytes(name) {
    this.context.fillStyle = this.text(name);
    this.context.fillRect(0, 0, 1, 1);
    return this.context.getImageData(0, 0, 1, 1).data;
  }
  word(bytes, dim) {
    const [r, g, b] = [0, 1, 2].map((i) => Math.round(dim ? this.ground[i] + (bytes[i] - this.ground[i]) * DIM : bytes[i]));
    return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
  }
}

// The pixels of a cell, row by row.
function makeSprite(palette, px, kind, bin, dim) {
  const ground = palette.word(palette.ground, dim), border = palette.word(palette.border, dim);
  const isEmpty = (kind === FREE && (bin === 0 || bin === NO_BIN)) || kind === LOST || kind === SILENT;
  const inside = isEmpty ? ground : palette.word(palette.bins[bin], dim);
  const lost = palette.word(palette.lost, dim), idle = palette.word(palette.idle, dim);
  const stroke = Math.max(1, Math.round(px / 8));
  const bar = Math.max(1, Math.round(px / 5)), left = Math.floor((px - bar) / 2);
  const sprite = new Uint32Array(px * px);
  for (let y = 0; y < px; ++y) {
    for (let x = 0; x < px; ++x) {
      const isEdge = x === 0 || y === 0 || x === px - 1 || y === px - 1;
      let colour = isEdge && (isEmpty || px >= 6) ? border : inside;
      if (kind === LOST && (Math.abs(x - y) < stroke || Math.abs(x + y - px + 1) < stroke)) colour = lost;
      if (kind === SILENT && (x + y) % (3 * stroke) < stroke) colour = border;
      if (kind === IDLE && x >= left && x < left + bar) {
        const share = y / px;
        if (px < 6 || (share >= 0.15 && share < 0.6) || (share >= 0.7 && share < 0.85)) colour = idle;
      }
      sprite[y * px + x] = colour;
    }
  }
  return sprite;
}

export class FleetMap {
  constructor(canvas, scroller, spacer) {
    Object.assign(this, {canvas, scroller, spacer, groups: [], cursor: -1, cell: 4, fleet: null});
    this.context = canvas.getContext('2d', {willReadFrequently: true});
    scroller.addEventListener('scroll', () => this.draw());
    this.restyle();
  }

  restyle() {
    this.palette = new Palette();
    this.sprites = [];
  }

  // `groups`: the nodes in the order in which they are drawn; a group with a line has a head line above
  // it.  `matches` has a 0 for each GPU that is dimmed.
  show(fleet, groups, matches, cell) {
    if (cell !== this.cell) this.sprites = [];
    Object.assign(this, {fleet, groups, matches, cell});
    // By node: its group, and its place there.
    this.group = new Uint32Array(fleet.nodes.length);
    this.place = new Uint32Array(fleet.nodes.length);
    groups.forEach(({nodes}, g) => nodes.forEach(({index}, at) => { [this.group[index], this.place[index]] = [g, at]; }));
    this.layOut();
  }

  layOut() {
    if (this.fleet === null || this.scroller.hidden) return;
    this.scale = window.devicePixelRatio || 1;
    this.px = Math.max(2, Math.round(this.cell * this.scale));
    this.isNamed = this.cell >= NAMED_PX;
    const width = Math.floor(this.scroller.clientWidth * this.scale);
    this.gap = this.isNamed ? Math.max(1, Math.round(this.px / 8)) : 0;
    this.pitch = this.px + this.gap;
    this.columns = Math.min(this.fleet.widest, MOST_COLUMNS);
    const lines = Math.ceil(this.fleet.widest / this.columns);
    this.left = this.isNamed ? Math.round(NAME_PX * this.scale) : 0;
    this.stripWidth = this.columns * this.pitch + 1;
    this.stripHeight = lines * this.pitch + (this.isNamed ? Math.round(LINE_GAP_PX * this.scale) : 1);
    this.across = this.isNamed ? 1 : Math.max(1, Math.floor(width / this.stripWidth));
    this.head = Math.round(HEAD_PX * this.scale);
    let height = 0;
    for (const group of this.groups) {
      group.y = height;  // Of its head line, and of its first line of nodes.
      group.top = height + (group.line ? this.head : 0);
      height = group.top + Math.ceil(group.nodes.length / this.across) * this.stripHeight;
    }
    const seen = Math.min(height, Math.floor(window.innerHeight * 0.75 * this.scale));
    this.canvas.width = Math.max(width, 1);
    this.canvas.height = Math.max(seen, 1);
    this.canvas.style.height = `${this.canvas.height / this.scale}px`;
    this.spacer.style.height = `${Math.max(height - seen, 0) / this.scale}px`;
    this.draw();
  }

  // The corner of a GPU's cell, in pixels of the whole map.
  corner(i) {
    const node = this.fleet.nodes[this.fleet.node[i]];
    const at = this.place[node.index], nth = i - node.first;
    return {
      x: this.left + (at % this.across) * this.stripWidth + (nth % this.columns) * this.pitch,
      y: this.groups[this.group[node.index]].top + Math.floor(at / this.across) * this.stripHeight +
        Math.floor(nth / this.columns) * this.pitch,
    };
  }

  // The GPU at a point of the canvas, in CSS pixels; -1 if there is none.
  at(cssX, cssY) {
    if (this.fleet === null) return -1;
    const x = Math.floor(cssX * this.scale) - this.left, y = Math.floor(cssY * this.scale) + this.top;
    const group = this.groups.findLast(({top}) => top <= y);
    const across = Math.floor(x / this.stripWidth), down = Math.floor((y - group?.top) / this.stripHeight);
    const column = Math.floor((x - across * this.stripWidth) / this.pitch);
    const nth = column + this.columns * Math.floor((y - group?.top - down * this.stripHeight) / this.pitch);
    if (x < 0 || across >= this.across || column >= this.columns) return -1;
    const node = group?.nodes[down * this.across + across];
    return node !== undefined && nth < node.count ? node.first + nth : -1;
  }

  sprite(i) {
    const key = this.fleet.kind[i] << 4 | this.fleet.bin[i] << 1 | (this.matches[i] ? 0 : 1);
    return this.sprites[key] ??= makeSprite(this.palette, this.px, this.fleet.kind[i], this.fleet.bin[i], !this.matches[i]);
  }

  draw() {
    if (this.fleet === null || this.scroller.hidden) return;
    const {width, height} = this.canvas;
    this.top = Math.round(this.scroller.scrollTop * this.scale);
    const image = this.context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer).fill(this.palette.word(this.palette.ground, false));
    const seen = this.groups.map((group) => this.visible(group, height));
    seen.forEach(([first, last], g) => this.fill(this.groups[g], first, last, pixels));
    this.context.putImageData(image, 0, 0);
    seen.forEach(([first, last], g) => this.writeTexts(this.groups[g], first, last));
    this.drawCursor();
  }

  // The places of the first and after the last of a group's nodes that are visible.
  visible({top, nodes}, height) {
    const line = (y) => Math.max(0, Math.min(nodes.length, y * this.across));
    return [line(Math.floor((this.top - top) / this.stripHeight)), line(Math.ceil((this.top + height - top) / this.stripHeight))];
  }

  fill({top: y0, nodes}, first, last, pixels) {
    const {width, height} = this.canvas;
    for (let at = first; at < last; ++at) {
      const {first: start, count} = nodes[at];
      const left = this.left + (at % this.across) * this.stripWidth;
      const top = y0 + Math.floor(at / this.across) * this.stripHeight - this.top;
      for (let nth = 0, x = left, y = top; nth < count; ++nth, x += this.pitch) {
        if (nth > 0 && nth % this.columns === 0) [x, y] = [left, y + this.pitch];
        this.blit(pixels, this.sprite(start + nth), x, y, width, height);
      }
    }
  }

  blit(pixels, sprite, x, y, width, height) {
    const columns = Math.min(this.px, width - x);
    for (let row = Math.max(0, -y); row < this.px && y + row < height; ++row) {
      const from = row * this.px, to = (y + row) * width + x;
      for (let column = 0; column < columns; ++column) pixels[to + column] = sprite[from + column];
    }
  }

  // The head line of a group, and the names beside its nodes.
  writeTexts(group, first, last) {
    const context = this.context;
    context.font = `${Math.round(13 * this.scale)}px system-ui, sans-serif`;
    context.textBaseline = 'middle';
    const right = this.left + this.stripWidth + 8 * this.scale;
    if (group.line) this.writeHead(group);
    for (let at = first; this.isNamed && at < last; ++at) {
      const node = group.nodes[at];
      const middle = group.top + at * this.stripHeight - this.top + this.px / 2;
      context.fillStyle = this.palette.text('--text');
      this.write(node.state === 'ok' ? node.name : `${node.name} ${node.state}`, 0, middle, this.left - 8 * this.scale);
      context.fillStyle = this.palette.text('--muted');
      this.write(nodeHolders(this.fleet, node), right, middle, this.canvas.width - right);
    }
  }

  writeHead({name, line, y}) {
    const middle = y - this.top + this.head / 2, {context} = this;
    if (middle < -this.head || middle > this.canvas.height + this.head) return;
    context.fillStyle = this.palette.text('--text');
    this.write(name, 0, middle, this.canvas.width);
    const left = context.measureText(name).width + 12 * this.scale;
    context.fillStyle = this.palette.text('--muted');
    this.write(line, left, middle, this.canvas.width - left);
  }

  // Shortens the text so it fits.
  write(text, x, y, room) {
    let shown = text;
    while (shown.length > 1 && this.context.measureText(shown).width > room) {
      shown = `${shown.slice(0, Math.floor(shown.length * 0.9) - 1)}\u2026`;
    }
    if (room > 0) this.context.fillText(shown, x, y);
  }

  drawCursor() {
    if (this.cursor < 0) return;
    const {x, y} = this.corner(this.cursor), line = Math.max(2, Math.round(2 * this.scale));
    this.context.strokeStyle = this.palette.text('--link');
    this.context.lineWidth = line;
    this.context.strokeRect(x - line / 2, y - this.top - line / 2, this.px + line, this.px + line);
  }

  // The GPU that a key moves the cursor to; undefined for a key that does not move it.
  step(key) {
    const nodes = this.groups.flatMap((group) => group.nodes).filter((node) => node.count > 0);
    if (nodes.length === 0) return undefined;
    const i = this.cursor < 0 ? nodes[0].first : this.cursor, node = this.fleet.nodes[this.fleet.node[i]];
    const at = nodes.indexOf(node), nth = i - node.first, last = node.first + node.count - 1;
    const lines = (count) => {
      let there = node;
      for (let n = Math.abs(count); n > 0; --n) there = this.nextLine(there, Math.sign(count)) ?? there;
      return there.first + Math.min(nth, there.count - 1);
    };
    const page = (sign) => (this.groups.length > 1 ? this.nextGroup(node, sign) ?? i : lines(sign * PAGE_LINES));
    const moves = {
      ArrowLeft: () => (nth > 0 ? i - 1 : this.isNamed || at === 0 ? i : nodes[at - 1].first + nodes[at - 1].count - 1),
      ArrowRight: () => (i < last ? i + 1 : this.isNamed || at + 1 === nodes.length ? i : nodes[at + 1].first),
      ArrowUp: () => lines(-1),
      ArrowDown: () => lines(1),
      Home: () => node.first,
      End: () => last,
      PageUp: () => page(-1),
      PageDown: () => page(1),
    };
    if (moves[key] === undefined) return undefined;
    return this.cursor < 0 ? nodes[0].first : moves[key]();
  }

  // The node with GPUs above (-1) or below (1) a node, also in another group; undefined at the edge.
  nextLine(node, sign) {
    let g = this.group[node.index], at = this.place[node.index];
    const column = at % this.across;
    for (;;) {
      const {nodes} = this.groups[g], lastLine = Math.floor((nodes.length - 1) / this.across);
      const line = Math.floor(at / this.across) + sign;
      if (line >= 0 && line <= lastLine) {
        at = Math.min(line * this.across + column, nodes.length - 1);
      } else {
        g += sign;
        if (this.groups[g] === undefined) return undefined;
        const there = this.groups[g].nodes.length - 1;
        at = Math.min(sign > 0 ? column : Math.floor(there / this.across) * this.across + column, there);
      }
      if (this.groups[g].nodes[at].count > 0) return this.groups[g].nodes[at];
    }
  }

  // The first GPU of the previous (-1) or next (1) group that has one.
  nextGroup(node, sign) {
    for (let g = this.group[node.index] + sign; this.groups[g] !== undefined; g += sign) {
      const first = this.groups[g].nodes.find(({count}) => count > 0);
      if (first !== undefined) return first.first;
    }
    return undefined;
  }

  moveTo(i) {
    this.cursor = i;
    if (i >= 0 && this.fleet !== null) {
      const {y} = this.corner(i), room = this.canvas.height;
      if (y < this.top || y + this.px > this.top + room) {
        this.scroller.scrollTop = Math.max(0, y - room / 2) / this.scale;
      }
    }
    this.draw();
  }
}

function nodeHolders(fleet, node) {
  if (node.count === 0) return node.detail;
  const names = new Set();
  for (let i = node.first; i < node.first + node.count; ++i) {
    for (const name of podNames(fleet, i)) names.add(name);
  }
  if (names.size > 0) return [...names].join(', ');
  return node.state === 'ok' || node.state === 'degraded' ? holders(fleet, node.first) : node.detail;
}

// A cell of the legend.
export function swatch(palette, kind, bin) {
  const canvas = document.createElement('canvas');
  const px = Math.round(16 * (window.devicePixelRatio || 1));
  canvas.width = canvas.height = px;
  canvas.style.width = canvas.style.height = '16px';
  const context = canvas.getContext('2d'), image = context.createImageData(px, px);
  new Uint32Array(image.data.buffer).set(makeSprite(palette, px, kind, bin, false));
  context.putImageData(image, 0, 0);
  return canvas;
}
