/**
 * A Predict box lets its reader commit before the answer shows: choose, where the box ends in a list, or else type. The
 * guess stays in the reader's own browser, so that it is still there after a day. The form is in the page already, put
 * there by _ext/folding.py; without scripts it is hidden, and the box is what it is on paper, a question.
 */
(() => {
  /** Storage may be full, forbidden, or missing: then a guess lasts as long as the page. */
  const memory = {
    get(/** @type {string} */ key) {
      try {
        return localStorage.getItem(key) ?? "";
      } catch {
        return "";
      }
    },
    set(/** @type {string} */ key, /** @type {string} */ guess) {
      try {
        if (guess) localStorage.setItem(key, guess);
        else localStorage.removeItem(key);
      } catch {
        // the guess stays on the page
      }
    },
  };

  /**
   * @param {string} tag @param {Record<string, string>} attributes @param {...(Node | string)} children
   * @returns {any}
   */
  function h(tag, attributes, ...children) {
    const node = document.createElement(tag);
    Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
    node.append(...children);
    return node;
  }

  /** The question's own list as radio buttons: `value` of each is its text. */
  function choices(/** @type {Element} */ list, /** @type {string} */ name) {
    const inputs = [...list.children].map((item) => {
      const value = item.textContent.trim();
      const input = h("input", { type: "radio", name, value });
      item.replaceChildren(h("label", {}, input, h("span", {}, ...item.childNodes)));
      return input;
    });
    list.classList.add("te-predict-choices");
    list.setAttribute("role", "radiogroup");
    list.setAttribute("aria-label", "Your guess");
    [...list.children].forEach((item) => item.setAttribute("role", "presentation"));
    return {
      get: () => inputs.find((input) => input.checked)?.value ?? "",
      set: (/** @type {string} */ guess) => inputs.forEach((input) => (input.checked = input.value === guess)),
      watch: (/** @type {() => void} */ action) => list.addEventListener("change", action),
    };
  }

  /** A line to type in. */
  function line(/** @type {Element} */ form, /** @type {string} */ id) {
    const input = form.querySelector("input");
    form.querySelector("label").htmlFor = input.id = id;
    return {
      get: () => input.value.trim(),
      set: (/** @type {string} */ guess) => (input.value = guess),
      watch: (/** @type {() => void} */ action) => input.addEventListener("input", action),
    };
  }

  /** @param {Element} question @param {HTMLDetailsElement} answer @param {number} place of the answer on the page */
  function equip(question, answer, place) {
    const [name, key] = [`te-predict-${place}`, `te-guess:${location.pathname}:${place}`];
    const form = question.querySelector(":scope > form");
    if (!form) return;
    const list = question.querySelector(":scope > ul");
    const guess = list ? choices(list, name) : line(form, name);
    const reminder = h("p", { class: "te-predict-said" });
    answer.querySelector("summary").after(reminder);
    const remind = () => {
      reminder.hidden = !guess.get();
      reminder.textContent = `You said: ${guess.get()}`;
    };
    guess.set(memory.get(key));
    guess.watch(() => {
      memory.set(key, guess.get());
      remind();
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      answer.open = true;
      answer.querySelector("summary").focus();
    });
    remind();
  }

  /** Each covered answer belongs to the last Predict box before it. */
  let question = null;
  let count = 0;
  for (const node of document.querySelectorAll(".bd-article .admonition, details.te-covered")) {
    if (node.matches("details.te-covered")) {
      if (question) equip(question, /** @type {HTMLDetailsElement} */ (node), count);
      count += 1;
      question = null;
    } else if (node.querySelector(":scope > .admonition-title")?.textContent.startsWith("Predict")) question = node;
  }
})();
