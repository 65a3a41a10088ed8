// One connection at a time, for ever: lost ones are made again, and silence counts as loss.

import { events, RefusedError } from "./event_stream.js";

const SILENCE = 15_000; // the server gives a sign of life every 5 s
const LONGEST_PAUSE = 30_000;

/** Follows the events of `url`; `on` has `event(type, data)` and `lost(error)`. */
export class Connection {
  #url;
  #on;
  #lastId = "";
  #retry = 2_000;
  #failures = 0;
  #stop = null;
  #wake = () => {};

  constructor(url, on) {
    this.#url = url;
    this.#on = on;
  }

  /** Connect, and stay connected until `stop`. */
  async start() {
    if (this.#stop) return;
    const stop = (this.#stop = new AbortController());
    while (!stop.signal.aborted) {
      const failure = await this.#connect(stop.signal);
      if (stop.signal.aborted) return;
      const pause = this.#pause(failure);
      this.#on.lost(failure);
      await this.#rest(pause);
    }
  }

  /** Hang up; nobody looks. */
  stop() {
    this.#stop?.abort();
    this.#stop = null;
    this.#wake();
  }

  /** Do not wait any longer before the next try. */
  retryNow() {
    this.#wake();
  }

  /** Take in events until the connection ends; why it did. */
  async #connect(stopped) {
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), SILENCE);
    try {
      const signal = AbortSignal.any([stopped, silence.signal]);
      for await (const event of events(this.#url, this.#lastId, signal)) {
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), SILENCE);
        this.#take(event);
      }
      return new Error("The server closed the connection.");
    } catch (error) {
      if (error instanceof RefusedError) return error;
      return new Error(silence.signal.aborted ? "The server sent nothing for 15 seconds." : "The server cannot be reached.");
    } finally {
      clearTimeout(timer);
    }
  }

  #take(event) {
    this.#failures = 0;
    if (event.retry) this.#retry = event.retry;
    if (event.id) this.#lastId = event.id;
    if (event.data) this.#on.event(event.type, JSON.parse(event.data));
  }

  /** Longer after each failure, and not the same for all who were cut off together. */
  #pause(failure) {
    if (failure.retryAfter) return failure.retryAfter * 1000;
    const longest = Math.min(this.#retry * 2 ** this.#failures++, LONGEST_PAUSE);
    return longest * (0.75 + Math.random() / 4);
  }

  #rest(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
