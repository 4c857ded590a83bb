// Join each figure's modules into one text: a module loaded from a Blob address cannot import a relative path.
//
//     node tools/bundle.js FOLDER
//
// writes FOLDER/NAME.js for each figure, a module without imports, so too FOLDER/picture.js, which a figure loads when a
// reader wants a picture of it; and FOLDER/engine.js, statements that make `engine`.
// tools/javascript.py calls it when a source has changed.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
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

/** The licences of the libraries that are in a bundle: they ask to go with every copy. */
function notices({ inputs }) {
  const named = Object.keys(inputs).flatMap((path) => path.match(/node_modules\/((?:@[\w-]+\/)?[\w.-]+)\//)?.[1] ?? []);
  return [...new Set(named)].map((name) => {
    const home = join(ROOT, "node_modules", name);
    const { version } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
    return `/*! ${name} ${version}\n\n${readFileSync(join(home, "LICENSE"), "utf8")}*/\n`;
  });
}

const [folder] = process.argv.slice(2);
const text = await engineText();
const plugins = [engineAsText(text, Object.keys(await import(ENGINE)))];
const figures = readdirSync(FIGURES).filter((file) => file.endsWith(".jsx"));
await Promise.all(
  [...figures, "picture/picture.js"].map(async (file) => {
    const figure = { ...OPTIONS, entryPoints: [join(FIGURES, file)], plugins, metafile: true };
    const { outputFiles, metafile } = await build(figure);
    const name = basename(file).replace(/\.jsx?$/, "");
    writeFileSync(join(folder, `${name}.js`), notices(metafile).join("") + outputFiles[0].text);
  }),
);
writeFileSync(join(folder, "engine.js"), `${text}\nconst engine=startEngine();\n`);
