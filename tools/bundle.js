// Join each figure's modules into one text: a module loaded from a Blob address cannot import a relative path.
//
//     node tools/bundle.js FOLDER
//
// writes FOLDER/core.js, a statement that makes what all figures share, once for all that stand on a page; FOLDER/NAME.js
// for each figure, a module without imports that takes it from there; FOLDER/picture.js, a whole module, which a figure
// loads when a reader wants a picture of it; and FOLDER/engine.js, statements that make `engine`.
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

/** The engine's modules as the text of one function, `startEngine`, which can be sent to a worker. */
async function engineText() {
  const { outputFiles } = await build({ ...OPTIONS, entryPoints: [ENGINE], format: "iife", globalName: "engine" });
  return `function startEngine(){${outputFiles[0].text}return engine}`;
}

/** A figure takes the engine from that function, so that the worker gets what the page has. */
const engineAsText = (text, names) => ({
  name: "engine as text",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /engine\/js\/engine\.js$/ }, () => ({ path: ENGINE, namespace: "text" }));
    onLoad({ filter: /./, namespace: "text" }, () => ({
      contents: `${text}\nexport const { ${names.join(", ")} } = startEngine();`,
    }));
  },
});

const resolved = createRequire(import.meta.url).resolve;
const LIBRARY = ["preact", "preact/hooks", "preact/jsx-runtime"].map((name) => resolved(name).replace(/\.js$/, ".mjs"));
const SHARED = [...LIBRARY, ...readdirSync(join(FIGURES, "core")).map((file) => join(FIGURES, "core", file))];

/** What all figures share as a statement, and the expression by which a figure has it: two versions may meet. */
async function sharedText() {
  const contents = SHARED.map((path, place) => `export * as shared${place} from ${JSON.stringify(path)};`).join("\n");
  const whole = { ...OPTIONS, format: "iife", globalName: "shared", metafile: true };
  const { outputFiles, metafile } = await build({ ...whole, stdin: { contents, resolveDir: FIGURES } });
  const { text } = outputFiles[0];
  const version = createHash("sha256").update(text).digest("hex").slice(0, 12);
  const place = `globalThis.transformerShared["${version}"]`;
  const made = `globalThis.transformerShared??={};${place}??=(()=>{${text}return shared})();\n`;
  return { text: notices(metafile).join("") + made, place };
}

/** The names that a module exports. */
async function exportsOf(path) {
  const { metafile } = await build({ ...OPTIONS, entryPoints: [path], metafile: true });
  return Object.values(metafile.outputs)[0].exports;
}

/** A figure takes from the page what all share. */
const sharedFrom = (place, names) => ({
  name: "shared",
  setup({ onResolve, onLoad, resolve }) {
    onResolve({ filter: /./ }, async ({ path, pluginData, ...asked }) => {
      if (pluginData === "asked" || asked.kind === "entry-point") return null;
      const found = await resolve(path, { ...asked, pluginData: "asked" });
      return SHARED.includes(found.path) ? { path: found.path, namespace: "shared" } : null;
    });
    onLoad({ filter: /./, namespace: "shared" }, ({ path }) => {
      const index = SHARED.indexOf(path);
      return { contents: `export const { ${names[index].join(", ")} } = ${place}.shared${index};` };
    });
  },
});

/** The licences of the libraries that are in a bundle: they ask to go with every copy. */
function notices({ inputs }) {
  const own = Object.keys(inputs).filter((path) => !path.startsWith("shared:"));
  const named = own.flatMap((path) => path.match(/node_modules\/((?:@[\w-]+\/)?[\w.-]+)\//)?.[1] ?? []);
  return [...new Set(named)].map((name) => {
    const home = join(ROOT, "node_modules", name);
    const { version } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
    return `/*! ${name} ${version}\n\n${readFileSync(join(home, "LICENSE"), "utf8")}*/\n`;
  });
}

const [folder] = process.argv.slice(2);
const text = await engineText();
const withEngine = engineAsText(text, Object.keys(await import(ENGINE)));
const shared = await sharedText();
const withShared = sharedFrom(shared.place, await Promise.all(SHARED.map(exportsOf)));
const write = (name, ...texts) => writeFileSync(join(folder, `${name}.js`), texts.join(""));

/** Join a figure, or the module that makes pictures, into one text; its names are its own, whatever stands before it. */
async function joined(file, plugins) {
  const names = { format: "iife", globalName: "made", metafile: true };
  const { outputFiles, metafile } = await build({ ...OPTIONS, ...names, entryPoints: [join(FIGURES, file)], plugins });
  const module = `${outputFiles[0].text}const own=made.default;export{own as default};\n`;
  write(basename(file).replace(/\.jsx?$/, ""), ...notices(metafile), module);
}

const figures = readdirSync(FIGURES).filter((file) => file.endsWith(".jsx"));
await Promise.all(figures.map((file) => joined(file, [withEngine, withShared])));
await joined("picture/picture.js", [withEngine]);
write("core", shared.text);
write("engine", `${text}\nconst engine=startEngine();\n`);
