import { readModel } from "./transformer.js";

const BREATH = 20; // milliseconds of work before it listens for another question

/**
 * A model in a thread of its own, so that the page stays quick while it computes.
 *
 * const running = await inWorker(bytes, file.sha256, work);   running.ask(question, tell);   running.end();
 *
 * `work(engine, model, question)` is a generator; what it yields is told as it comes. It is sent to the thread as text,
 * so it may use its arguments and nothing else. A new question ends the work on the one before.
 * @param {Uint8Array} bytes  of the model's file; they move to the thread @param {string} checksum
 * @param {(engine: any, model: any, question: any) => Generator} work
 */
export async function inWorker(bytes, checksum, work) {
  if (!globalThis.Worker) throw new Error("this browser computes nothing beside a page");
  // startEngine is the function around all of these modules
  const text = `"use strict";\n${startEngine}\nconst engine = startEngine();\nengine.serve(engine, ${work});`;
  const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const worker = new Worker(address);
  let [turn, tell] = [0, null];
  const send = (message, handed, listener) => {
    turn += 1;
    tell = listener;
    worker.postMessage({ ...message, turn }, handed);
  };
  worker.onmessage = ({ data }) => data.turn === turn && tell(data);
  worker.onerror = (event) => {
    event.preventDefault();
    tell?.({ trouble: event.message || "it could not be started" });
  };
  const own = bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
  try {
    await new Promise((/** @type {(none?: any) => void} */ resolve, reject) =>
      send({ bytes: own, checksum }, [own.buffer], ({ trouble }) => (trouble ? reject(new Error(trouble)) : resolve())),
    );
  } catch (error) {
    worker.terminate();
    throw error;
  } finally {
    URL.revokeObjectURL(address);
  }
  return {
    /** @param {any} question @param {(news: {found?: any, trouble?: string}) => void} listener */
    ask: (question, listener) => send({ question }, [], listener),
    end: () => worker.terminate(),
  };
}

/** The other end, in the thread: read the model, answer questions. */
export function serve(engine, work) {
  let [model, newest] = [null, 0];
  self.onmessage = async ({ data: { turn, bytes, checksum, question } }) => {
    newest = turn;
    try {
      if (bytes) {
        model = readModel(bytes, checksum);
        self.postMessage({ turn });
        return;
      }
      let begun = performance.now();
      for (const found of work(engine, model, question)) {
        self.postMessage({ turn, found });
        if (performance.now() - begun < BREATH) continue;
        await new Promise((heard) => setTimeout(heard));
        if (turn !== newest) return;
        begun = performance.now();
      }
    } catch (error) {
      self.postMessage({ turn, trouble: error.message });
    }
  };
}
