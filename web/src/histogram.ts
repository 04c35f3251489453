/** The rows of a node along its normal, with the cut. */

import { drag } from "d3-drag";
import { scaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { readTerm } from "./answers";
import { svg } from "./dom";
import { sameNormal, type WorkNode } from "./edits";
import { count, shown } from "./numbers";
import type { State } from "./state";
import type { Histogram, Payload } from "./types";

const N_BINS = 24;

/** A histogram with the place of the cut on its scale. */
export interface Along {
  histogram: Histogram;
  cut: number;
  /** -1 where the question runs against the scale: it asks for "at least". */
  sign: number;
  /** Whether it is of the embedded rows as they are divided now, not of all rows given. */
  live: boolean;
}

/** The scale of a hyperplane, on which rows that go left are to the left. */
export function scaleOf(node: WorkNode): number {
  return Math.abs(node.divisor) || 1;
}

/** The histogram of a node as it is now; null if there is none. */
export function alongOf(state: State, number: number): Along | null {
  const node = state.nodes[number]!;
  if (node.kind === "leaf") return null;
  const was = state.page.trees[state.tree]!.nodes[number]!;
  const [plane] = node.planes;
  const same = plane !== undefined && (!node.edited || sameNormal(was, node.kind, plane));
  if (!node.moved && same && was.histogram) {
    const { histogram } = was;
    const cut = node.children.length > 2 || node.kind === "machine" ? NaN
      : histogram.names || node.kind !== "hyperplane" ? histogram.low + histogram.left * (histogram.high - histogram.low) / histogram.n
      : plane.threshold / scaleOf(node);
    return { histogram, cut, live: false, sign: Math.sign(node.divisor) || 1 };
  }
  return state.rows && node.kind === "hyperplane" && plane ? counted(state, number) : null;
}

/** Count the embedded rows of a node along its normal. */
function counted(state: State, number: number): Along | null {
  const node = state.nodes[number]!;
  const plane = node.planes[0]!;
  const rows = state.rows!;
  const places: [number, number][] = [];
  for (const row of state.passing()[number]!) {
    const z = rows.at(row);
    if (plane.missing !== null && plane.column.some((c) => Number.isNaN(z[c]!))) continue;
    let value = 0;
    plane.coef.forEach((coef, k) => { value += coef * readTerm(plane, k, z); });
    if (Number.isFinite(value)) places.push([row, value / scaleOf(node)]);
  }
  if (!places.length) return null;
  const cut = plane.threshold / scaleOf(node);
  const values = places.map(([, value]) => value);
  let low = Math.min(cut, ...values);
  let high = Math.max(cut, ...values);
  if (!(high > low)) [low, high] = [low - Math.max(1, Math.abs(low)), high + Math.max(1, Math.abs(high))];
  const histogram: Histogram = { low, high, left: 0, n: N_BINS, sums: {}, means: null, names: null };
  const numbers = state.page.task === "regression" && rows.y;
  const totals = new Array<number>(N_BINS).fill(0);
  for (const [row, value] of places) {
    const bin = Math.min(N_BINS - 1, Math.floor((value - low) / (high - low) * N_BINS));
    const group = numbers || !rows.y ? 0 : rows.y[row]!;
    (histogram.sums[group] ??= new Array<number>(N_BINS).fill(0))[bin]! += 1;
    if (numbers) totals[bin]! += rows.y![row * state.page.names.length]!;
  }
  if (numbers) {
    histogram.means = totals.map((total, bin) => {
      const n = histogram.sums[0]![bin]!;
      return n ? total / n : null;
    });
  }
  return { histogram, cut, live: true, sign: Math.sign(node.divisor) || 1 };
}

/** The colour of a number, given its place between the ends of the colours. */
export function rampColour(page: Payload, place: number): string {
  const ramp = scaleLinear<string>().domain([0, 0.5, 1]).range(page.ramp).clamp(true);
  return ramp(place);
}

/** Where a number is between the ends of the colours, 0 and 1. */
export function placeOf(state: State, value: number): number {
  const [low, high] = state.page.ends;
  return high > low ? (value - low) / (high - low) : 0.5;
}

export interface DrawOptions {
  width: number;
  height: number;
  /** Called with the place of the cut while it is dragged, and when it is let go. */
  moved?: (cut: number, done: boolean) => void;
  /** Where the tried row is. */
  row?: number | null;
  axis?: boolean;
}

/** Draw a histogram; with `moved` the cut can be dragged, or moved with the arrow keys. */
export function draw(state: State, along: Along, options: DrawOptions): SVGSVGElement {
  const { histogram, cut } = along;
  const { width, height, axis = false } = options;
  const floor = height - (axis ? 18 : 1);
  const totals = new Array<number>(histogram.n).fill(0);
  for (const row of Object.values(histogram.sums)) row.forEach((n, bin) => { totals[bin]! += n; });
  const ends = [histogram.low, histogram.high, ...(Number.isFinite(cut) ? [cut] : [])];
  const x = scaleLinear().domain([Math.min(...ends), Math.max(...ends)]).range([3, width - 3]);
  const y = scaleLinear().domain([0, Math.max(1, ...totals)]).range([floor, 4]);
  const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`,
    class: "histogram", "aria-hidden": options.moved ? null : "true" });
  const step = (histogram.high - histogram.low) / histogram.n;
  for (let bin = 0; bin < histogram.n; bin++) {
    let below = 0;
    for (const [group, row] of Object.entries(histogram.sums)) {
      const n = row[bin]!;
      if (!n) continue;
      const left = x(histogram.low + bin * step);
      const bar = svg("rect", { x: left, width: Math.max(1, x(histogram.low + (bin + 1) * step) - left - 0.6),
        y: y(below + n), height: Math.max(0.7, y(below) - y(below + n)),
        fill: barColour(state, histogram, Number(group), bin) });
      if (axis) bar.appendChild(svg("title", {}, barTitle(state.page, histogram, group, bin, n)));
      picture.appendChild(bar);
      below += n;
    }
  }
  picture.appendChild(svg("line", { x1: 0, x2: width, y1: floor, y2: floor, class: "floor" }));
  if (axis && !histogram.names) {
    picture.append(
      svg("text", { x: 2, y: height - 4, class: "tick" }, shown(along.sign * x.domain()[0]!, 3)),
      svg("text", { x: width - 2, y: height - 4, class: "tick", "text-anchor": "end" },
        shown(along.sign * x.domain()[1]!, 3)));
  }
  if (typeof options.row === "number" && Number.isFinite(options.row)) {
    const at = Math.max(2, Math.min(width - 2, x(options.row)));
    picture.appendChild(svg("path", { d: `M${at} ${floor}l-5 9h10z`, class: "row-mark" }));
  }
  if (Number.isFinite(cut)) picture.appendChild(cutMark(x(cut), floor));
  if (options.moved) makeMovable(picture, x, along, floor, options.moved);
  return picture;
}

function barColour(state: State, histogram: Histogram, group: number, bin: number): string {
  if (!state.page.labelled) return "var(--muted)";
  const mean = histogram.means?.[bin];
  if (typeof mean === "number") return rampColour(state.page, placeOf(state, mean));
  return state.page.colours[group] ?? "var(--muted)";
}

function barTitle(page: Payload, histogram: Histogram, group: string, bin: number, n: number): string {
  const name = histogram.names ? `${histogram.names[bin]}: ` : "";
  const mean = histogram.means?.[bin];
  if (typeof mean === "number") return `${name}${count(n)} rows, mean ${shown(mean)}`;
  return `${name}${count(n)} rows${page.labelled ? ` of ${page.names[Number(group)]}` : ""}`;
}

function cutMark(at: number, floor: number): SVGGElement {
  return svg("g", { class: "cut", transform: `translate(${at},0)` },
    svg("line", { y1: 0, y2: floor }), svg("path", { d: "M-4 0h8l-4 6z" }));
}

type Scale = ReturnType<typeof scaleLinear<number>>;

function makeMovable(picture: SVGSVGElement, x: Scale, { cut, sign }: Along, floor: number,
  moved: (cut: number, done: boolean) => void): void {
  const mark = picture.querySelector<SVGGElement>(".cut")!;
  const [low, high] = x.domain() as [number, number];
  mark.append(svg("rect", { x: -9, y: 0, width: 18, height: floor, class: "grip" }));
  for (const [name, value] of Object.entries({ tabindex: 0, role: "slider",
    "aria-label": "The cut: drag it, or use the arrow keys", "aria-valuemin": sign > 0 ? low : -high,
    "aria-valuemax": sign > 0 ? high : -low, "aria-valuenow": sign * cut,
    "aria-valuetext": shown(sign * cut, 6) })) {
    mark.setAttribute(name, String(value));
  }
  const held = (at: number): number => Math.min(high, Math.max(low, x.invert(at)));
  let last: number | null = null;
  select<SVGGElement, unknown>(mark).call(drag<SVGGElement, unknown>()
    .container(picture)
    .on("drag", (event: { x: number }) => {
      last = held(event.x);
      mark.setAttribute("transform", `translate(${x(last)},0)`);
      moved(last, false);
    })
    .on("end", () => { if (last !== null) moved(last, true); }));
  mark.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (way === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const by = (high - low) / (event.shiftKey ? 20 : 200);
    moved(Math.min(high, Math.max(low, cut + way * by)), true);
  });
}
