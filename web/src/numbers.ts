/**
 * Numbers as they are shown and as they are typed. The page writes a point before decimals in every
 * country, as the questions of the tree do, and groups of digits with narrow spaces.
 */

const SPACE = "\u202f";
const MINUS = "\u2212";

/** A number with so many significant digits. */
export function shown(value: number, digits = 4): string {
  if (Number.isNaN(value)) return "not known";
  if (!Number.isFinite(value)) return value > 0 ? "\u221e" : `${MINUS}\u221e`;
  const size = Math.abs(value);
  let text: string;
  if (size !== 0 && (size >= 1e9 || size < 1e-5)) {
    const [mantissa, exponent] = size.toExponential(digits - 1).split("e");
    const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
    text = `${short}e${exponent.replace("+", "")}`;
  } else {
    const places = size === 0 ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
    text = grouped(Number(size.toPrecision(Math.max(digits, 1))).toFixed(Math.min(places, 12)));
  }
  return value < 0 && /[1-9]/.test(text) ? MINUS + text : text;
}

/** Digits before the point in groups of three, without needless zeros behind it. */
function grouped(text: string): string {
  const [whole, part = ""] = text.split(".");
  const rest = part.replace(/0+$/, "");
  const groups = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, SPACE) : whole;
  return rest ? `${groups}.${rest}` : groups;
}

/** A whole number. */
export function count(value: number): string {
  return grouped(String(Math.round(value)));
}

/** A share in percent: only all is 100 %, and only none is 0 %. */
export function percent(share: number): string {
  if (Number.isNaN(share)) return "not known";
  const value = 100 * share;
  if (value >= 100 || value <= 0) return value > 50 ? "100 %" : "0 %";
  if (value > 99.95) return ">99.9 %";
  if (value < 0.05) return "<0.1 %";
  return `${value.toFixed(1)} %`;
}

/** "1 row", "2 rows". */
export function counted(n: number, what: string, many = `${what}s`): string {
  return `${count(n)} ${n === 1 ? what : many}`;
}

/** What is wrong with a text that should be a number. */
export class NotANumber extends Error {}

/**
 * The number that somebody has typed. A comma before decimals is taken where it can be nothing else;
 * where it may also divide thousands, nobody guesses.
 */
export function typed(given: string): number {
  let text = given.trim().replace(/[\u00a0\u202f\u2009 '\u2019]/g, "").replace(/\u2212/g, "-");
  text = text.replace(/[\u0660-\u0669]/g, (c) => String(c.charCodeAt(0) - 0x660))
    .replace(/[\u06f0-\u06f9]/g, (c) => String(c.charCodeAt(0) - 0x6f0)).replace(/\u066b/g, ".");
  const commas = text.split(",").length - 1;
  if (commas > 0) {
    if (commas > 1 || text.includes(".") || /^[-+]?[1-9]\d{0,2},\d{3}$/.test(text)) {
      throw new NotANumber(`Is the comma in ${given.trim()} one of decimals or of thousands? `
        + "Write a point before decimals, and nothing between thousands.");
    }
    text = text.replace(",", ".");
  }
  if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text)) {
    throw new NotANumber(`${given.trim() || "Nothing"} is not a number.`);
  }
  const value = Number(text);
  if (!Number.isFinite(value)) throw new NotANumber(`${given.trim()} is too large.`);
  return value;
}
