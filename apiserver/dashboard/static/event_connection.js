// A connection that is opened again when it is lost; a silent connection counts as lost.

import { events, RefusedError } from "./event_stream.js";

const SILENCE_MILLISECONDS = 15_000; // the server sends a heartbeat every 5 s
const MAX_PAUSE_MILLISECONDS = 30_000;

/** A reader of the events of `url`; `handlers` has `event(type, data)` and `lost(error)`. */
export class Connection {
  #url;
  #handlers;
  #lastId = "";
  #retry = 2_000;
  #failures = 0;
  #stopController = null;
  #endPause = () => {};

  constructor(url, handlers) {
    this.#url = url;
    this.#handlers = handlers;
  }

  /** Connect, and stay connected until `stop`. */
  async start() {
    if (this.#stopController) return;
    const controller = (this.#stopController = new AbortController());
    while (!controller.signal.aborted) {
      const failure = await this.#connect(controller.signal);
      if (controller.signal.aborted) return;
      const pause = this.#nextPause(failure);
      this.#handlers.lost(failure);
      await this.#sleep(pause);
    }
  }

  /** Close the connection. */
  stop() {
    this.#stopController?.abort();
    this.#stopController = null;
    this.#endPause();
  }

  /** End the pause before the next attempt. */
  retryNow() {
    this.#endPause();
  }

  /** Handle events until the connection ends; return the reason as an Error. */
  async #connect(stopSignal) {
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), SILENCE_MILLISECONDS);
    try {
      const signal = AbortSignal.any([stopSignal, silence.signal]);
      for await (const event of events(this.#url, this.#lastId, signal)) {
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), SILENCE_MILLISECONDS);
        this.#handle(event);
      }
      return new Error("The server closed the connection.");
    } catch (error) {
      if (error instanceof RefusedError) return error;
      return new Error(silence.signal.aborted ? "The server sent nothing for 15 seconds." : "The server cannot be reached.");
    } finally {
      clearTimeout(timer);
    }
  }

  #handle(event) {
    this.#failures = 0;
    if (event.retry) this.#retry = event.retry;
    if (event.id) this.#lastId = event.id;
    if (event.data) this.#handlers.event(event.type, JSON.parse(event.data));
  }

  /** Return a pause with exponential back-off and jitter. */
  #nextPause(failure) {
    if (failure.retryAfter) return failure.retryAfter * 1000;
    const limit = Math.min(this.#retry * 2 ** this.#failures++, MAX_PAUSE_MILLISECONDS);
    return limit * (0.75 + Math.random() / 4);
  }

  #sleep(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
