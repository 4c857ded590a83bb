// Join each figure's modules into one text: a module loaded from a Blob address cannot import a relative path.
//
//     node tools/bundle.js FOLDER
//
// writes FOLDER/core.js, a statement that makes what all figures share, once for all that stand on a page; FOLDER/NAME.js
// for each figure, a module without imports that takes it from there; FOLDER/engine.js, statements that make `engine`,
// once for all on a page that run a model; and FOLDER/picture.js, a whole module, which a figure loads when a reader wants
// a picture of it.
// tools/javascript.py calls it when a source has changed.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { build } from "esbuild";

const ROOT = join(import.meta.dirname, "..");
const FIGURES = join(ROOT, "transformer_edu/book/figures/js");
const ENGINE = join(ROOT, "transformer_edu/book/engine/js/engine.js");
const OPTIONS = {
  bundle: true,
  write: false,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  minifySyntax: true,
  minifyWhitespace: true, // names stay: what goes wrong in a page can be read there
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "warning",
};

/** What the page has of a text that makes `name`, made once, and where it is: two versions may meet. */
function onPage(name, text) {
  const version = createHash("sha256").update(text).digest("hex").slice(0, 12);
  const place = `globalThis.transformerShared["${name} ${version}"]`;
  return { made: `globalThis.transformerShared??={};${place}??=(()=>{${text}return ${name}})();\n`, place };
}

/** The engine, out of a function, `startEngine`, whose text a worker gets: it has what the page has. */
async function engineText() {
  const { outputFiles } = await build({ ...OPTIONS, entryPoints: [ENGINE], format: "iife", globalName: "engine" });
  return onPage("engine", `function startEngine(){${outputFiles[0].text}return engine}const engine=startEngine();`);
}

const resolved = createRequire(import.meta.url).resolve;
const LIBRARY = ["preact", "preact/hooks", "preact/jsx-runtime"].map((name) => resolved(name).replace(/\.js$/, ".mjs"));
const SHARED = [...LIBRARY, ...readdirSync(join(FIGURES, "core")).map((file) => join(FIGURES, "core", file))];

/** What all figures share. */
async function sharedText() {
  const contents = SHARED.map((path, place) => `export * as shared${place} from ${JSON.stringify(path)};`).join("\n");
  const whole = { ...OPTIONS, format: "iife", globalName: "shared", metafile: true };
  const { outputFiles, metafile } = await build({ ...whole, stdin: { contents, resolveDir: FIGURES } });
  const { made, place } = onPage("shared", outputFiles[0].text);
  return { made: notices(metafile).join("") + made, place };
}

/** The names that a module exports. */
async function exportsOf(path) {
  const { metafile } = await build({ ...OPTIONS, entryPoints: [path], metafile: true });
  return Object.values(metafile.outputs)[0].exports;
}

/** A figure takes from the page what others have, too: `texts`, what stands for the module of a path. */
const fromPage = (texts) => ({
  name: "from page",
  setup({ onResolve, onLoad, resolve }) {
    onResolve({ filter: /./ }, async ({ path, pluginData, ...asked }) => {
      if (pluginData === "asked" || asked.kind === "entry-point") return null;
      const found = await resolve(path, { ...asked, pluginData: "asked" });
      return found.path in texts ? { path: found.path, namespace: "page" } : null;
    });
    onLoad({ filter: /./, namespace: "page" }, ({ path }) => ({ contents: texts[path] }));
  },
});

/** The licences of the libraries that are in a bundle: they ask to go with every copy. */
function notices({ inputs }) {
  const own = Object.keys(inputs).filter((path) => !path.startsWith("page:"));
  const named = own.flatMap((path) => path.match(/node_modules\/((?:@[\w-]+\/)?[\w.-]+)\//)?.[1] ?? []);
  return [...new Set(named)].map((name) => {
    const home = join(ROOT, "node_modules", name);
    const { version } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
    return `/*! ${name} ${version}\n\n${readFileSync(join(home, "LICENSE"), "utf8")}*/\n`;
  });
}

const [folder] = process.argv.slice(2);
const [engine, shared] = await Promise.all([engineText(), sharedText()]);
const places = [...SHARED.map((path, i) => [path, `${shared.place}.shared${i}`]), [ENGINE, engine.place]];
const taken = async ([path, place]) => [path, `export const { ${(await exportsOf(path)).join(", ")} } = ${place};`];
const plugins = [fromPage(Object.fromEntries(await Promise.all(places.map(taken))))];
const write = (name, ...texts) => writeFileSync(join(folder, `${name}.js`), texts.join(""));

/** Join a figure, or the module that makes pictures, into one text; its names are its own, whatever stands before it. */
async function joined(file, plugins) {
  const names = { format: "iife", globalName: "made", metafile: true };
  const { outputFiles, metafile } = await build({ ...OPTIONS, ...names, entryPoints: [join(FIGURES, file)], plugins });
  const module = `${outputFiles[0].text}const own=made.default;export{own as default};\n`;
  write(basename(file).replace(/\.jsx?$/, ""), ...notices(metafile), module);
}

const figures = readdirSync(FIGURES).filter((file) => file.endsWith(".jsx"));
await Promise.all(figures.map((file) => joined(file, plugins)));
await joined("picture/picture.js", []);
write("core", shared.made);
write("engine", engine.made, `const engine=${engine.place};\n`);
