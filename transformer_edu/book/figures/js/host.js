// The published page has no Python kernel. This script stands in for it: it finds every figure, hands its stored state
// to the figure's module, and leaves the still picture where it is when anything goes wrong.
// A classic script, because module files do not load from file://. Module texts come from figure-NAME.js, what all of
// them share from figure-core.js, and what runs a model from figure-engine.js.
(() => {
  const sources = (window.transformerFigures ??= {});
  const models = (window.transformerModels ??= {});
  // files of weights lie beside this script
  const here = /** @type {HTMLScriptElement | null} */ (document.currentScript)?.src;
  const loaded = new Map();
  const DAMAGED = "the file of weights is damaged";

  /** Load a figure's module once. */
  function load(name) {
    if (!loaded.has(name)) {
      if (!(name in sources)) throw new Error(`no module for the figure "${name}" on this page`);
      const module = [sources.core, sources.engine ?? "", sources[name]]; // the first two only make what is not there
      const address = URL.createObjectURL(new Blob(module, { type: "text/javascript" }));
      loaded.set(
        name,
        import(address).then((module) => module.default),
      );
    }
    return loaded.get(name);
  }

  /** The bytes of a file of weights, part after part: from the page itself, or from scripts beside this one. */
  async function weights({ sha256, bytes, parts }, progress) {
    const whole = new Uint8Array(bytes);
    let filled = 0;
    for (let part = 0; part < parts; part += 1) {
      const name = `${sha256.slice(0, 12)}-${part}`;
      if (!(name in models)) await run(new URL(`model-${name}.js`, here || document.baseURI).href);
      if (!(name in models)) throw new Error("its weights could not be loaded");
      const own = await unpacked(models[name]);
      if (filled + own.length > bytes) throw new Error(DAMAGED);
      whole.set(own, filled);
      filled += own.length;
      progress(filled / bytes);
    }
    return whole;
  }

  /** Gzipped bytes, written in base64. */
  async function unpacked(base64) {
    try {
      const packed = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      return new Uint8Array(await new Response(stream).arrayBuffer());
    } catch {
      throw new Error(DAMAGED); // the browser's own words are for programmers
    }
  }

  /** Run a script; whoever waits finds out by what it left whether it could be loaded. @returns {Promise<void>} */
  function run(address) {
    const script = document.createElement("script");
    script.src = address;
    document.head.append(script);
    return new Promise((done) => {
      script.onload = script.onerror = () => {
        script.remove();
        done();
      };
    });
  }

  /** The address of a file beside this script, of the same version of the book. */
  function beside(file) {
    const address = new URL(file, here || document.baseURI);
    address.search = new URL(here || document.baseURI).search;
    return address.href;
  }

  /** The figure that a reader can open in another one's place: its script and styles come only now. */
  async function open(name, state, el) {
    if (!(name in sources)) {
      const styles = document.createElement("link");
      Object.assign(styles, { rel: "stylesheet", href: beside(`figure-${name}.css`) });
      document.head.append(styles);
      await run(beside(`figure-${name}.js`));
    }
    const module = await load(name);
    return module.render({ model: standIn(state), el });
  }

  /** The address of a figure in its present state: `#figure-NAME-1-STATE`, the place among those of its name. */
  function addressOf(figure, state, first) {
    const isOther = ([key, value]) => JSON.stringify(value) !== JSON.stringify(first[key]);
    const changed = Object.fromEntries(Object.entries(state).filter(isOther));
    const bytes = new TextEncoder().encode(JSON.stringify(changed));
    const packed = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
    const safe = packed.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
    return `${location.href.split("#")[0]}#${placeOf(figure)}${safe}`;
  }

  function placeOf(figure) {
    const name = figure.dataset.widget;
    const alike = [...document.querySelectorAll(`[data-widget="${name}"]`)];
    return `figure-${name}-${alike.indexOf(figure) + 1}-`;
  }

  /** What the page's address says of a figure, or null. Whoever wrote it: only what fits the figure's own state. */
  function addressed(figure, state, address) {
    const place = placeOf(figure);
    if (!address.startsWith(`#${place}`)) return null;
    try {
      const packed = address
        .slice(place.length + 1)
        .replaceAll("-", "+")
        .replaceAll("_", "/");
      const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
      const given = Object.entries(JSON.parse(new TextDecoder().decode(bytes)));
      const kind = (value) => (Array.isArray(value) ? "list" : value === null ? "null" : typeof value);
      const alike = (one, other) => one === other || ([one, other].includes("null") && ![one, other].includes("list"));
      const fits = ([key, value]) =>
        Object.hasOwn(state, key) && alike(kind(value), kind(state[key])) && key !== "model_file";
      return Object.fromEntries(given.filter(fits));
    } catch {
      return null;
    }
  }

  /** The module that makes pictures, for who asks for one. */
  async function picture() {
    if (!("picture" in sources)) await run(beside("figure-picture.js"));
    return load("picture");
  }

  /** What a module expects of an anywidget model, with nobody at the other end. */
  function standIn(state, behind = {}) {
    const listeners = new Map();
    const heard = (event) => listeners.get(event) ?? listeners.set(event, new Set()).get(event);
    return {
      get: (key) => state[key],
      set(key, value) {
        if (Object.is(state[key], value)) return;
        state[key] = value;
        for (const listener of [...heard(`change:${key}`), ...heard("change")]) listener();
      },
      on: (event, listener) => void heard(event).add(listener),
      off(event, listener) {
        if (listener) heard(event).delete(listener);
        else heard(event).clear();
      },
      save_changes() {},
      send() {},
      weights,
      ...behind,
    };
  }

  /** For a figure with a door: what is behind it, to be opened in its place. */
  function behindOf(figure) {
    const name = figure.dataset.opens;
    if (!name) return {};
    const state = JSON.parse(figure.querySelector("script[data-behind]").textContent);
    return { behind: { state, open: (el) => open(name, state, el) } };
  }

  async function show(figure, link = location.hash) {
    const el = document.createElement("div");
    el.className = "te-live";
    el.hidden = true;
    figure.append(el);
    try {
      const stored = figure.querySelector('script[type="application/json"]').textContent;
      const state = JSON.parse(stored);
      const module = await load(figure.dataset.widget);
      const first = () => JSON.parse(stored); // read again only by who shares the figure, or follows a link
      const address = () => addressOf(figure, state, first());
      const model = standIn(state, { address, picture, ...behindOf(figure) });
      await module.initialize?.({ model });
      await module.render({ model, el });
      el.hidden = false;
      const follow = async (to) => {
        const changes = addressed(figure, state, to);
        if (!changes || (await goTo(figure, model, { ...first(), ...changes }))) return;
        el.remove();
        await show(figure, "");
      };
      await follow(link);
      window.addEventListener("hashchange", () => el.isConnected && void follow(location.hash));
      figure.querySelectorAll(".te-still").forEach((still) => (still.hidden = true));
      figure.dataset.ready = "true";
    } catch (error) {
      el.remove();
      figure.querySelectorAll("picture > source").forEach((placeholder) => placeholder.remove());
      figure.dataset.ready = "failed";
      console.error(`The figure "${figure.dataset.widget}" could not be shown; its picture stays.`, error);
    }
  }

  /** Bring a figure to the state of which the page's address speaks; whether it can be drawn. */
  async function goTo(figure, model, changes) {
    let refused = null;
    model.refuse = (error) => (refused = error);
    figure.scrollIntoView({ block: "center" });
    figure.querySelector(".te-root").dispatchEvent(new PointerEvent("pointerdown")); // as a reader's touch: a model loads
    Object.entries(changes).forEach(([key, value]) => model.set(key, value));
    await null; // by then it is drawn
    model.refuse = null;
    if (refused) console.info("The figure cannot be shown as the page's address says.", refused);
    return !refused;
  }

  const start = () => document.querySelectorAll("[data-widget]").forEach((figure) => void show(figure));
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
