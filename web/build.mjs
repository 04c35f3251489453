// Bundles the page's code and style into the two files that the package ships, and writes the
// licences of what is in them. A folder as argument is written to instead, to be compared.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const assets = process.argv[2] ?? join(here, "..", "src", "obliqua", "pages", "assets");
const banner = "/* Made from web/ by make report-assets. Do not edit. Licences: LICENSES.txt. */";

const made = await build({
  entryPoints: [join(here, "src", "main.ts")],
  outfile: join(assets, "report.js"),
  bundle: true,
  minify: true,
  charset: "ascii",
  format: "iife",
  target: "es2022",
  legalComments: "none",
  banner: { js: banner },
  metafile: true,
});
await build({
  entryPoints: [join(here, "src", "style.css")],
  bundle: true,
  outfile: join(assets, "report.css"),
  minify: true,
  charset: "ascii",
  target: "chrome100",
  banner: { css: banner },
});

const packages = new Set();
for (const file of Object.keys(made.metafile.inputs)) {
  const parts = relative(here, join(process.cwd(), file)).split(sep);
  if (parts[0] !== "node_modules") continue;
  packages.add(parts[1].startsWith("@") ? `${parts[1]}/${parts[2]}` : parts[1]);
}
const licences = [...packages].sort().map((name) => {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const text = readFileSync(join(folder, file), "utf8").trim();
  return `${name} ${version} (${license})\n\n${text}\n`;
});
writeFileSync(join(assets, "LICENSES.txt"),
  `report.js holds parts of these packages, besides obliqua's own code.\n\n${licences.join("\n---\n\n")}`);
console.log(`report.js ${readFileSync(join(assets, "report.js")).length} bytes: ${[...packages].sort().join(", ")}`);
