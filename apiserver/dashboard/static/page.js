// The operations page: what the server tells is shown, and nothing else is asked of anybody.

import { Connection } from "./event_connection.js";
import { byId, mark } from "./dom.js";
import { beat, lost, tick } from "./connection_status.js";
import { showFunctions } from "./functions.js";
import { showNodes } from "./nodes.js";
import { showOperations } from "./operations.js";
import { showStock } from "./stock.js";
import { showSummary } from "./summary.js";
import { showUnits } from "./units.js";

const TICK = 1000;

function show(view) {
  showSummary(view);
  showStock(view.stock, view.pools);
  showUnits(view.units);
  showOperations(view.operations);
  showNodes(view.nodes);
  showFunctions(view.functions);
  mark(byId("main"), "aria-busy", "false");
}

const hear = { view: show, beat };
// A whole address: a relative one takes over the password of the page's own, which fetch refuses.
const connection = new Connection(`${location.origin}/ui/events`, {
  event: (type, data) => hear[type]?.(data),
  lost,
});

byId("notice-retry").addEventListener("click", () => connection.retryNow());
addEventListener("online", () => connection.retryNow());
// A page that nobody sees costs the server nothing.
document.addEventListener("visibilitychange", () => (document.hidden ? connection.stop() : connection.start()));
setInterval(tick, TICK);
connection.start();
