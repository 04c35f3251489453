/** Elements of the page. Text from data becomes text nodes and nothing else. */

type Attributes = Record<string, string | number | boolean | null | undefined | EventListener>;
type Child = Node | string | number | null | undefined | false;

const SVG = "http://www.w3.org/2000/svg";

function dressed<E extends Element>(made: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  append(made, ...children);
  return made;
}

/** Put children behind those that are there. */
export function append(parent: Node, ...children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** An element of the page; functions among the attributes listen to events. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  return dressed(document.createElement(tag), attributes, children);
}

/** An element of a drawing. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]
): SVGElementTagNameMap[K] {
  return dressed(document.createElementNS(SVG, tag), attributes, children);
}

/** Take out all children, and put others in. */
export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  append(parent, ...children);
}

/** A button that does something. */
export function button(
  words: string, does: () => void, attributes: Attributes = {}
): HTMLButtonElement {
  return el("button", { type: "button", click: () => { does(); }, ...attributes }, words);
}

/** A table with a caption, a row of headings, and rows whose first cell is a heading. */
export function table(
  caption: string, headings: Child[], rows: Child[][], attributes: Attributes = {}
): HTMLTableElement {
  return el("table", attributes,
    el("caption", {}, caption),
    el("thead", {}, el("tr", {}, ...headings.map((text) => el("th", { scope: "col" }, text)))),
    el("tbody", {}, ...rows.map(([first, ...others]) => el("tr", {},
      el("th", { scope: "row" }, first), ...others.map((cell) => el("td", {}, cell))))));
}
