// The operations page: it shows the events of the server and sends no other requests.

import { Connection } from "./event_connection.js";
import { byId, setAttribute } from "./dom.js";
import { onHeartbeat, onLost, tick } from "./connection_status.js";
import { showFunctions } from "./functions.js";
import { showNodes } from "./nodes.js";
import { showOperations } from "./operations.js";
import { showStock } from "./stock.js";
import { showSummary } from "./summary.js";
import { showUnits } from "./units.js";

const TICK_MILLISECONDS = 1000;

function show(view) {
  showSummary(view);
  showStock(view.stock, view.pools);
  showUnits(view.units);
  showOperations(view.operations);
  showNodes(view.nodes);
  showFunctions(view.functions);
  setAttribute(byId("main"), "aria-busy", "false");
}

const handlers = { view: show, beat: onHeartbeat };
// An absolute URL: a relative one would contain the password of the page's URL, which fetch rejects.
const connection = new Connection(`${location.origin}/ui/events`, {
  event: (type, data) => handlers[type]?.(data),
  lost: onLost,
});

byId("notice-retry").addEventListener("click", () => connection.retryNow());
addEventListener("online", () => connection.retryNow());
// A hidden page has no connection.
document.addEventListener("visibilitychange", () => (document.hidden ? connection.stop() : connection.start()));
setInterval(tick, TICK_MILLISECONDS);
connection.start();
