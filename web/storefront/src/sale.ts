import { type Campaign, type Claim, type Order, type Progress, SluiceError } from "../../sdk/src/index.js";
import type { App, Shop } from "./app.js";

type Sale = Campaign & Shop;

// How early a pass is earned, and how long around the opening the page asks for nothing by itself.
const passEarly = 600_000, quietBefore = 3_000, quietAfter = 8_000;
const spoken = [3600, 600, 300, 60, 30, 10]; // seconds before the opening at which the countdown is told
const resendable = 600_000; // a click this old is asked about, not sent again
const loud = new Set(["confirmed", "coupon", "rejected", "paused", "closed", "blocked", "expired", "paid", "limit"]);
// States in which the button does something.
const acts = new Set(["login", "presolve", "armed", "confirmed", "coupon", "rejected", "limit", "busyStop", "ended",
  "expired", "cancelled", "paid", "failed", "unsure", "pass", "passbad", "refund", "refunded"]);

/** One campaign: what may be done now, and what came of it. One button that always says what it will do. */
export function salePage(app: App, id: string) {
  const { el, $, sluice } = app;
  let c: Sale | undefined;
  let fault = ""; // why there is no campaign
  let phase = ""; // of the buyer's own claim; empty: the campaign says what is shown
  let shownState = "";
  let claim: Claim | undefined, order: Order | undefined;
  let step: (Progress & { at: number }) | undefined;
  let running: AbortController | undefined;
  let retries = 0, clickedAt = 0, passUntil = 0, solving = false, resumed = "";
  let timer = 0, refreshTimer = 0, orderTimer = 0, frame = 0, told = Infinity, least = Infinity, starts = 0;
  let orderPause = 2000, warned = false;

  const mono = () => performance.now();
  const now = () => sluice.now() ?? 0;
  /** Until the opening. What the clock may be off counts as not yet: the button is never early. */
  const until = () => starts + Math.min(150, sluice.precision) - now();
  const noteKey = () => `sluice.claim.${id}`;
  const note = (): { user: string; id: string; t: number } | undefined => {
    try {
      const n = JSON.parse(app.keep("localStorage", noteKey()) ?? "");
      return n.user === app.user() ? n : undefined;
    } catch {
      return undefined;
    }
  };
  const coupon = () => c?.kind === "coupon";

  // --- what is shown

  function view(): string {
    if (!c) return fault || (navigator.onLine ? "loading" : "offline");
    if (solving) return "solving";
    if (phase) return phase;
    if (!navigator.onLine) return "offline";
    const t = sluice.now();
    if (c.state === "ended" || (t && t >= Date.parse(c.ends_at))) return "ended";
    if (c.state === "closed" || c.state === "paused") return c.state;
    if (c.state === "sold_out") return c.may_return > 0 ? "mayreturn" : "soldout";
    if (!app.token) return "login";
    const left = t ? until() : c.state === "live" ? 0 : Infinity;
    if (left > 0) {
      if (c.protection.pass === "always" && left <= passEarly && passUntil <= now()) return "presolve";
      return left <= 60_000 ? "ready" : "scheduled";
    }
    return "armed";
  }

  function values(v: string): Record<string, string | number> {
    const seconds = (ms: number) => Math.max(0, Math.ceil(ms / 1000));
    const wait = step && "wait_ms" in step ? seconds(step.wait_ms - (mono() - step.at)) : 0;
    switch (v) {
      case "failed": return { c: fault || claim?.code || "" };
      case "scheduled": return { t: app.when(c!.starts_at) };
      case "ready": return { v: passUntil ? app.t("verified") : "", n: seconds(starts - now()) };
      case "armed": case "limit": return { l: app.num(c!.per_user_limit) };
      case "slot": return { n: wait };
      case "queued": case "queuedLong": {
        const typical = claim?.typical_ms ? app.t("usually", { n: app.num(seconds(claim.typical_ms)) }) : "";
        return { n: Math.round((mono() - queuedSince) / 1000), u: typical };
      }
      case "confirmed": return {
        p: order ? app.money(order.amount_minor, order.currency) : app.worth(c!),
        d: order ? app.span(Math.max(0, Date.parse(order.expires_at) - now())) : app.span((c!.goods?.unpaid_window_s ?? 0) * 1000),
      };
      case "coupon": return { c: claim?.coupon_code ?? "" };
      case "soldout": {
        const text = (c!.sold_out_at ? app.t("soldAt", { t: app.clock(c!.sold_out_at) }) : "") + (clickedAt ? app.t("youAt", { t: app.clock(clickedAt) }) : "");
        return { s: text.replace(/^[^\p{L}]+(.)/u, (_, first: string) => first.toUpperCase()) }; // one of the two may be missing
      }
      case "mayreturn": return { h: app.num(c!.may_return), r: c!.next_release_at ? app.t("from", { t: app.clock(c!.next_release_at) }) : "" };
      case "busy": case "freq": return { n: wait, k: retries };
      case "busyStop": return { k: retries };
      case "blocked": return { c: claim?.reference ?? "" };
    }
    return {};
  }
  let queuedSince = 0;

  const main = {
    title: el("h1", { "data-data": true }), word: el("p", { class: "soft", id: "window" }),
    price: el("p", { class: "price", "data-data": true }), clock: el("p", { class: "clock", role: "timer", id: "clock" }),
    left: el("p", { class: "soft", id: "left" }), hero: el("div", {}), calendar: el("p", {}),
  };
  const puzzle = el("section", { class: "card", id: "puzzle", hidden: true, "aria-labelledby": "puzzle-title" });
  const help = el("p", { id: "help" }, app.t("loading"));
  const go = el("button", { type: "button", class: "go", id: "go", "aria-describedby": "help", click: () => press() });
  const stop = el("button", { type: "button", class: "link", id: "stop", hidden: true, click: () => running?.abort("stop") });
  $("main").replaceChildren(el("article", { class: "card" }, main.hero, main.title, main.price, main.word, main.clock, main.left,
    main.calendar), puzzle);
  document.querySelector("footer")?.remove();
  $("main").after(el("footer", {}, el("div", {}, help, stop, go)));

  function set(e: HTMLElement, text: string) {
    if (e.textContent !== text) e.textContent = text;
  }

  function paint() {
    const v = view();
    const key = coupon() && (v === "armed" || v === "limit") ? `${v}Coupon` : v;
    const x = values(v);
    if (v === "notfound") set(main.title, app.t(v));
    if (document.body.dataset.state !== v) document.body.dataset.state = v;
    set(go, app.t(key, x, 0));
    set(help, app.t(key, x, 1));
    // Codes and references are data, whatever the language.
    help.toggleAttribute("data-data", v === "failed");
    go.setAttribute("aria-disabled", String(!acts.has(v)));
    stop.hidden = v !== "busy" && v !== "freq";
    set(stop, app.t("stop"));
    if (c) {
      const t = now();
      const left = Math.min(least, Math.max(0, until())); // it never goes up
      if (t) least = left;
      set(main.clock, t && left > 0 ? app.span(left) : "");
      set(main.left, c.state === "live" && left === 0 ? app.t("left", { a: app.num(c.available), t: app.num(c.total) }) : "");
      if (t) speak(left);
    }
    if (v !== shownState) changed(v, shownState, x, key);
    shownState = v;
    schedule();
  }

  /** The countdown is told a few times, never each second. */
  function speak(left: number) {
    if (left <= 0) return;
    const s = Math.ceil(left / 1000);
    const mark = spoken.filter((m) => s <= m).at(-1);
    if (mark !== undefined && mark < told) {
      if (told !== Infinity || s === mark) app.say(app.t("in", { n: app.span(mark * 1000) }));
      told = mark;
    } else if (mark === undefined) {
      told = Math.min(told, 1e9);
    }
  }

  function changed(v: string, was: string, x: Record<string, string | number>, key: string) {
    if (v === "armed" && (was === "mayreturn" || was === "soldout")) app.say(app.t("back"));
    else if (v === "armed" && (was === "ready" || was === "scheduled")) app.say(app.t("open"));
    if (loud.has(v) && was !== "") app.shout(`${app.t(key, x, 0)} ${v === "confirmed" ? "" : app.t(key, x, 1)}`);
    if (v === "login") resumed = "";
  }

  /** Paints again when something that is shown changes: reckoned from the deadline, never by counting. */
  function schedule() {
    clearTimeout(timer);
    cancelAnimationFrame(frame);
    const t = sluice.now();
    const left = c && t ? until() : 0;
    if (left > 0 && left < 1500 && !document.hidden) {
      frame = requestAnimationFrame(paint);
    } else if (left > 0) {
      timer = setTimeout(paint, Math.min(left, left % 1000 + 2));
    } else if (["queued", "queuedLong", "busy", "freq", "slot", "confirmed"].includes(shownState)) {
      timer = setTimeout(paint, 500);
    } else if (c && t && Date.parse(c.ends_at) - t > 0) {
      timer = setTimeout(paint, Math.min(Date.parse(c.ends_at) - t + 5, 60_000));
    }
  }

  function paintAll() {
    if (c) {
      document.title = c.title;
      set(main.title, c.title);
      set(main.price, app.worth(c));
      set(main.word, `${app.t("opens", { t: app.when(c.starts_at) })} · ${app.t("until", { t: app.when(c.ends_at) })}`);
      main.calendar.replaceChildren(...(starts - now() > 60_000 && c.state === "scheduled" ? [el("button", {
        class: "link", type: "button", id: "calendar", click: () => { app.pages().then((p) => p.calendar(c!)); },
      }, app.t("calendar"))] : []));
      if (c.image_url && !main.hero.firstChild) {
        main.hero.append(el("img", { class: "hero", src: c.image_url, alt: "", width: "640", height: "360", fetchpriority: "high" }));
      }
    }
    paint();
  }

  // --- what the campaign is

  async function refresh() {
    clearTimeout(refreshTimer);
    try {
      c = await sluice.campaign(id);
      app.shop = c;
      if (!starts) app.nav();
      const was = starts;
      starts = Date.parse(c.starts_at);
      if (was !== starts) {
        least = Infinity;
        told = Infinity;
      }
      fault = "";
      tries = 0;
    } catch (e) {
      const x = e as SluiceError;
      if (x.status === 404) {
        c = undefined;
        fault = "notfound";
      } else if (!c && ++tries >= 3) {
        fault = "failed";
      }
    }
    paintAll();
    plan();
    if (c && app.token && app.token !== resumed) resume();
  }
  let tries = 0;

  /** When the page asks for the campaign again: by chance within a range, and never around the opening. */
  function plan() {
    clearTimeout(refreshTimer);
    const v = view();
    if (v === "notfound" || v === "ended") return;
    const range = (a: number, b: number) => a + Math.random() * (b - a);
    let wait = range(8_000, 12_000);
    const left = c && now() ? starts - now() : 0;
    if (!c) wait = fault ? range(4_000, 8_000) : range(300, 1_500);
    else if (/^(may|pau|clo)/.test(v)) wait = range(4_000, 6_000);
    else if (v === "soldout") wait = range(25_000, 35_000);
    else if (left > 300_000) wait = range(45_000, 75_000);
    else if (left > 0) wait = range(8_000, 15_000);
    if (left > -quietAfter && wait > left - quietBefore && wait < left + quietAfter) wait = left + range(quietAfter, quietAfter + 4_000);
    refreshTimer = setTimeout(() => (document.hidden ? plan() : refresh()), wait);
  }

  // --- what the buyer does

  function press() {
    const v = view();
    if (!acts.has(v)) return;
    if (v === "login") return app.signIn();
    if (v === "presolve") return void verify();
    if (v === "confirmed") return void pay();
    if (v === "coupon" || (v === "limit" && coupon())) return void (location.href = "/coupons");
    if (v === "limit" || v === "paid" || v === "refund" || v === "refunded") return void (location.href = "/orders");
    if (v === "ended") return void (location.href = "/");
    if (v === "failed" && !c) {
      fault = "";
      paint();
      return void refresh();
    }
    if (v === "armed" || v === "busyStop" || v === "pass" || v === "passbad") return void buy(false);
    if (v === "unsure") return void buy(true);
    phase = ""; // rejected, expired, cancelled, failed: back to the sale
    order = claim = undefined;
    paint();
    refresh();
  }

  async function verify() {
    if (solving) return;
    solving = true;
    paint();
    try {
      const p = await sluice.pass(id, { renew: true });
      passUntil = p.valid_until_ms;
    } catch (e) {
      refusedBy(e);
    }
    solving = false;
    paint();
    go.focus();
  }

  /**
   * The id of a claim: the one that is noted, else a new one. Tabs that are clicked in the same instant agree on one:
   * the first is not held up, the others wait until they see what it noted.
   */
  function agree(): Promise<{ id: string; known: boolean }> {
    const pick = () => {
      const known = note();
      const n = known ?? { user: app.user(), id: app.randomID(), t: Date.now() };
      app.keep("localStorage", noteKey(), JSON.stringify(n));
      return { id: n.id, known: !!known };
    };
    return new Promise((f) => {
      if (note() || !navigator.locks) return f(pick());
      navigator.locks.request(noteKey(), { signal: AbortSignal.timeout?.(500) }, () => {
        f(pick());
        return new Promise((over) => { setTimeout(over, 100); });
      }).catch(() => f(pick())); // locks are forbidden here, or somebody holds one for too long
    });
  }

  /** One click, one request id. It is noted before it is sent, so that a reload and a second tab go on with it. */
  async function buy(resumes: boolean, renewed = false) {
    if (running || !app.token) return;
    const mine = new AbortController();
    running = mine;
    if (!resumes) clickedAt = now();
    retries = 0;
    phase = resumes ? "unknown" : "sending";
    paint();
    let again = false;
    const n = await agree();
    try {
      done(await sluice.claim(id, {
        requestID: n.id, resume: resumes || n.known, campaign: c, signal: mine.signal, onProgress: progress,
      }));
    } catch (e) {
      const x = e as SluiceError;
      if (mine.signal.aborted) phase = "busyStop";
      else if (x.code === "REQUEST_ID_REUSED" && !renewed) again = true;
      else refusedBy(e);
      if (again || (phase !== "busyStop" && phase !== "unsure")) app.keep("localStorage", noteKey(), null);
    }
    running = undefined;
    paint();
    if (again) return buy(false, true);
    plan();
  }

  function refusedBy(e: unknown) {
    const x = e as Partial<SluiceError>;
    phase = x.uncertain ? "unsure" : "failed";
    claim = { code: x.code ?? "ERROR" } as Claim;
    if (x.status === 401) {
      phase = "";
      app.setToken("");
    } else if (x.code === "PASS_REQUIRED") {
      phase = "pass";
    }
  }

  function progress(p: Progress) {
    step = { ...p, at: mono() };
    if (p.step === "sending") phase = "sending";
    else if (p.step === "checking") phase = "unknown";
    else if (p.step === "solving") phase = "pass";
    else if (p.step === "slot") phase = "slot";
    else if (p.step === "retrying") {
      phase = p.claim.code === "TOO_FREQUENT" ? "freq" : "busy";
      retries = p.retry;
    } else if (p.step === "queued") {
      claim = p.claim;
      queuedSince = mono() - p.since_ms;
      phase = p.since_ms > 30_000 ? "queuedLong" : "queued";
    }
    paint();
  }

  /** The outcome. Only a claim that came to be is kept under its id. */
  function done(x: Claim) {
    claim = x;
    phase = "";
    const keeps = x.state === "confirmed" || x.state === "queued" || x.state === "released" && !!resumed;
    if (!keeps) app.keep("localStorage", noteKey(), null);
    if (x.state === "confirmed") {
      phase = coupon() ? "coupon" : "confirmed";
      orderPause = 2000;
      warned = false;
      if (!coupon()) watchOrder();
    } else if (x.state === "rejected") phase = "rejected";
    else if (x.state === "released") {
      phase = x.close_reason ?? "rejected";
      app.keep("localStorage", noteKey(), null);
    } else if (x.code === "SOLD_OUT") {
      c!.state = "sold_out";
      setTimeout(refresh, Math.random() * 2000);
    } else if (x.code === "PAUSED") c!.state = "paused";
    else if (x.code === "ENDED") c!.state = "ended";
    else if (x.code === "CLOSED") c!.state = "closed";
    else if (x.code === "NOT_STARTED") setTimeout(refresh, Math.random() * 2000);
    else {
      phase = ({ LIMIT_REACHED: "limit", BUSY: "busyStop", TOO_FREQUENT: "busyStop", BLOCKED: "blocked",
        NOT_ELIGIBLE: "noteligible", PASS_REQUIRED: "pass", PASS_INVALID: "passbad" } as Record<string, string>)[x.code] ?? "failed";
    }
  }

  /** A claim of before: of this tab, before a reload, or of another one. */
  async function resume() {
    resumed = app.token;
    const n = note();
    if (!n || running || phase) return;
    if (Date.now() - n.t < resendable) return buy(true);
    try {
      const known = await sluice.find(id, n.id);
      if (known?.state === "queued") return buy(true);
      if (known) done(known);
      else app.keep("localStorage", noteKey(), null);
      paint();
    } catch { /* the wallet has it, too */ }
  }

  /** Another tab of the same buyer has clicked: its claim is this tab's. It is asked about, not sent. */
  async function join() {
    const n = note();
    if (!n || running || (phase && phase !== "unsure")) return;
    phase = "sending";
    paint();
    for (let i = 0; i < 20 && !running && note()?.id === n.id; i++) {
      await new Promise((f) => { setTimeout(f, 300 + Math.random() * 300 * (i + 1)); });
      try {
        const known = await sluice.find(id, n.id);
        if (known?.state === "queued") {
          phase = "";
          return void buy(true);
        }
        if (known) done(known);
        if (known) return paint();
      } catch { /* asked again */ }
    }
    if (!running) {
      phase = "";
      paint();
    }
  }

  // --- the order

  async function pay() {
    const orderID = claim?.order_id;
    if (!orderID) return;
    if (!c!.sandbox) {
      const to = c!.pay_url;
      location.href = to ? `${to}${to.includes("?") ? "&" : "?"}order_id=${encodeURIComponent(orderID)}&return=${
        encodeURIComponent(location.origin + location.pathname)}` : "/orders";
      return;
    }
    phase = "paying";
    paint();
    try {
      judge(await sluice.pay(orderID));
    } catch {
      orderPause = 2000;
      await watchOrder(); // the answer may be lost: the order knows
    }
    if (phase === "paying") phase = "confirmed";
    paint();
  }

  function judge(o: Order) {
    order = o;
    const was = phase;
    if (o.refund_due) phase = "refund";
    else if (o.state === "paid") phase = "paid";
    else if (o.state === "refunded" || o.refunded_at) phase = "refunded";
    else if (o.state === "closed") phase = o.close_reason ?? "expired";
    if (phase !== was && o.state === "closed") app.keep("localStorage", noteKey(), null);
    const left = Date.parse(o.expires_at) - now();
    if (o.state === "unpaid" && left < 120_000 && left > 1e5 && !warned) {
      warned = true;
      app.say(app.t("payleft"));
    }
  }

  async function watchOrder() {
    clearTimeout(orderTimer);
    try {
      const { items } = await sluice.orders();
      const o = items.find((x) => x.id === claim?.order_id);
      if (o) judge(o);
      paint();
    } catch { /* asked again */ }
    if (phase === "confirmed" || phase === "paying" || phase === "refund") {
      const left = order ? Date.parse(order.expires_at) - now() : Infinity;
      orderTimer = setTimeout(watchOrder, Math.max(500, Math.min(orderPause, left > 0 ? left + 300 : 2000)));
      orderPause = Math.min(8000, orderPause * 1.5);
    }
  }

  // --- the clock, the tab, the network

  /** A few samples, a moment apart; none around the opening, where everybody is at the door. */
  async function sync(n: number, fresh = false, on = "") {
    for (let i = 0; i < n; i++) {
      if (i > 0) await new Promise((f) => { setTimeout(f, 100 + Math.random() * 300); });
      if (sluice.now() && starts && quiet()) return;
      await sluice.syncTime(1, fresh && i === 0, undefined, i ? "" : on).then(paint, () => {});
    }
  }
  const quiet = () => {
    const left = starts - now();
    return left < quietBefore && left > -quietAfter;
  };
  function wake() {
    if (document.hidden) return;
    paint();
    // The machine may have slept: the old difference is worth nothing. At the very opening nothing is asked for.
    if (!starts || !sluice.now() || !quiet()) {
      sync(3, true);
      refresh();
    } else sluice.syncTime(1, true).then(paint, () => {});
  }
  app.repaint = () => {
    paintAll();
    if (app.token && c && app.token !== resumed) resume();
  };
  document.addEventListener("visibilitychange", wake);
  addEventListener("online", wake);
  addEventListener("offline", paint);
  addEventListener("storage", (e) => {
    if (e.key === noteKey() && e.newValue && app.token) join();
  });
  paint();
  sync(5, false, id);
  // Until the opening, that this page is open: about how many wait is all that is made of it.
  setInterval(() => { if (until() > 0 && !document.hidden) sync(1, false, id); }, 60_000);
  refresh().then(() => {
    // Once more shortly before the opening, each client at a moment of its own.
    const left = starts - now();
    if (sluice.now() && left > 70_000) setTimeout(() => sync(3), left - 10_000 - Math.random() * 50_000);
    if (c && view() === "presolve" && !c.protection.challenge) verify();
  });
}
