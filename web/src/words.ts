/** Questions and answers in words, for what was edited: the rest is written by the library. */

import { divisorOf, ranked, type WorkNode } from "./edits";
import { percent, shown } from "./numbers";
import type { Payload, Plane } from "./types";

/** A number in a formula. */
function plain(value: number, digits = 4): string {
  return shown(value, digits).replace(/\u2212/g, "-").replace(/\u202f/g, "");
}

/** The name of a column, marked off where it is no plain word. */
export function written(name: string): string {
  return /^[\p{L}_][\p{L}\p{N}_.\-/%() ]*$/u.test(name) ? name : `\`${name}\``;
}

/** The condition of a branch of a hyperplane. */
export function condition(page: Payload, plane: Plane, branch: number, most = Infinity): string {
  const divisor = divisorOf(plane);
  let sum = "";
  for (const k of ranked(plane).slice(0, most)) {
    const scores = k in plane.tables;
    const coef = scores ? 1 : plane.coef[k]! / divisor;
    const name = written(page.columns[plane.column[k]!]!.name);
    const size = plain(Math.abs(coef));
    const factor = scores ? `score(${name})` : size === "1" ? name : `${size}*${name}`;
    if (sum === "") sum = coef < 0 ? `-${factor}` : factor;
    else sum += coef < 0 ? ` - ${factor}` : ` + ${factor}`;
  }
  if (plane.coef.length > most) sum += ` + (${plane.coef.length - most} more)`;
  const relation = [["<=", ">"], [">=", "<"]][divisor > 0 ? 0 : 1]![branch]!;
  const cut = plain(plane.threshold / divisor + 0, plane.coef.length > 1 ? 4 : 6);
  const aside = plane.missing === ["left", "right"][branch] ? " or missing" : "";
  return `${sum} ${relation} ${cut}${aside}`;
}

/** What levels count in the sum of a question. */
export function scoreNotes(page: Payload, node: WorkNode): string[] {
  const [plane] = node.planes;
  if (node.kind !== "hyperplane" || !plane) return [];
  return Object.entries(plane.tables).map(([k, table]) => {
    const column = page.columns[plane.column[Number(k)]!]!;
    const factor = plane.coef[Number(k)]! / divisorOf(plane);
    const scores = table.map((entry, code) => `${column.levels?.[code] ?? "?"} ${plain(factor * entry)}`);
    return `score(${written(column.name)}): ${scores.join(", ")}`;
  });
}

/** The condition of a branch of a split on the levels of one column. */
function levelCondition(page: Payload, plane: Plane, branch: number): string {
  const column = page.columns[plane.column[0]!]!;
  const table = plane.tables[0] ?? [];
  const names = table.flatMap((to, code) => (to === branch ? [column.levels?.[code] ?? "?"] : []));
  return `${written(column.name)} in {${names.join(", ")}}`;
}

/** The condition of a branch of any node. */
export function branchWords(page: Payload, node: WorkNode, branch: number): string {
  const [plane] = node.planes;
  if (!node.edited || !plane) return node.branches[branch] ?? "";
  return node.kind === "levels" ? levelCondition(page, plane, branch)
    : condition(page, plane, branch);
}

/** What a node asks: what rows that take the first branch say yes to. */
export function question(page: Payload, node: WorkNode): string {
  if (node.kind === "machine") return `Which of ${node.children.length} scores is largest?`;
  if (node.kind === "levels" && node.children.length > 2) {
    return `Which ${written(page.columns[node.planes[0]!.column[0]!]!.name)}?`;
  }
  return branchWords(page, node, 0);
}

/** The same where there is little room. */
export function shortQuestion(page: Payload, node: WorkNode): string {
  const [plane] = node.planes;
  if (node.kind !== "hyperplane" || !plane) return question(page, node);
  return node.edited ? condition(page, plane, 0, plane.coef.length > 3 ? 2 : 3) : node.short;
}

/** What leads to a branch: yes and no, or its condition where there are others. */
export function branchName(page: Payload, node: WorkNode, branch: number): string {
  const two = node.children.length === 2 && node.kind !== "machine";
  return two ? ["yes", "no"][branch]! : branchWords(page, node, branch);
}

/** What a leaf says. */
export function leafWords(page: Payload, node: WorkNode): string {
  if (page.task === "classification" && page.nAnswers === node.says.length
    && !["sum", "log_odds"].includes(page.finish)) {
    return page.names[node.chooses] ?? "?";
  }
  if (!node.edited) return node.answer;
  return node.says.map((value) => plain(value)).join(", ");
}

/** A share or a number as an answer. */
export function answerWords(page: Payload, numbers: number[], chosen: number): string {
  if (page.task === "classification") {
    return `${page.names[chosen] ?? "?"} (${percent(numbers[chosen] ?? NaN)})`;
  }
  return numbers.map((value) => shown(value, 5)).join(", ");
}
