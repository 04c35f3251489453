/** Small charts with two scales. */
import { ticks } from "d3-array";
import { svg } from "./dom";
import { shown } from "./numbers";

export interface Scale {
  low: number;
  high: number;
  label: string;
  written: (value: number) => string;
}

/** Where a value of a scale is in the drawing. */
export type Place = (value: number) => number;

const WIDTH = 320;
const LEFT = 54;
const RIGHT = 16;
const TOP = 10;
const BOTTOM = 42;

/** A scale of shares, with room for points at its ends. */
export function shares(label: string): Scale {
  return { low: -0.06, high: 1.06, label, written: (value) => `${Math.round(100 * value)} %` };
}

/** A scale of numbers. */
export function scale(low: number, high: number, label: string): Scale {
  return { low, high, label, written: (value) => shown(value, 3) };
}

/** A drawing between two scales, with words for who cannot see it. */
export function chart(
  x: Scale, y: Scale, words: string, height: number, draw: (x: Place, y: Place) => SVGElement[],
): SVGSVGElement {
  const bottom = height - BOTTOM;
  const toX = (value: number): number => LEFT + part(value, x) * (WIDTH - LEFT - RIGHT);
  const toY = (value: number): number => bottom - part(value, y) * (bottom - TOP);
  const middle = (TOP + bottom) / 2;
  return svg("svg", {
    class: "chart", viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height, role: "img", "aria-label": words,
  },
  ...marks(x).flatMap((value) => [
    svg("line", { class: "grid", x1: toX(value), x2: toX(value), y1: TOP, y2: bottom }),
    svg("text", { x: toX(value), y: bottom + 15, "text-anchor": "middle" }, x.written(value))]),
  ...marks(y).flatMap((value) => [
    svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: toY(value), y2: toY(value) }),
    svg("text", { x: LEFT - 5, y: toY(value) + 4, "text-anchor": "end" }, y.written(value))]),
  svg("text", {
    class: "title", x: (LEFT + WIDTH - RIGHT) / 2, y: height - 6, "text-anchor": "middle",
  }, x.label),
  svg("text", {
    class: "title", transform: `translate(11 ${middle}) rotate(-90)`, "text-anchor": "middle",
  }, y.label),
  ...draw(toX, toY));
}

/** How far a value is from the low end, 0, to the high end, 1. Halves: the ends may be huge. */
function part(value: number, { low, high }: Scale): number {
  return (value / 2 - low / 2) / (high / 2 - low / 2);
}

function marks({ low, high }: Scale): number[] {
  return ticks(low, high, 4);
}

/** A point whose area tells its rows; it says what it is to a pointer. */
export function point(
  x: number, y: number, share: number, colour: string, words: string,
): SVGCircleElement {
  return svg("circle", {
    class: "point", cx: x, cy: y, r: 3 + 10 * Math.sqrt(share), fill: colour,
  }, svg("title", {}, words));
}
