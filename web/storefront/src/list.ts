import type { Campaign } from "../../sdk/src/index.js";
import type { App } from "./app.js";

/** The list of campaigns. It is loaded once and when the tab comes back; nothing on it changes by itself. */
export function listPage(app: App) {
  const { el, $ } = app;
  let items: Campaign[] | undefined;
  let cursor: string | undefined;
  let failed = false;
  let tries = 0;

  app.repaint = () => {
    document.title = app.t("sales");
    document.body.dataset.state = failed && !items ? "failed" : items ? "list" : "loading";
    $("main").replaceChildren(
      el("h1", {}, app.t("sales")),
      !items ? el("p", { class: "soft" }, app.t(failed ? "busyList" : "loading")) : "",
      items && !items.length ? el("p", {}, app.t("nosales")) : "",
      ...(items ?? []).map(card),
      cursor ? el("button", { class: "link", type: "button", id: "more", click: () => load(cursor) }, app.t("more")) : "",
    );
  };
  const card = (c: Campaign) => el("article", { class: "card" },
    el("h2", {}, el("a", { href: `/c/${encodeURIComponent(c.id)}`, "data-data": true }, c.title)),
    el("p", { class: "soft" }, el("span", { class: `word ${c.state === "live" ? "good" : ""}` },
      app.t(({ scheduled: "soon", live: "live", sold_out: "sold_out", paused: "paused", closed: "closed", ended: "ended" })[c.state])),
    ` · ${app.t(c.state === "scheduled" ? "opens" : "until", { t: app.when(c.state === "scheduled" ? c.starts_at : c.ends_at) })}`),
    el("p", { class: "price", "data-data": true }, app.worth(c)));

  async function load(from?: string) {
    try {
      const page = await app.sluice.campaigns(from);
      items = from ? [...items!, ...page.items] : page.items;
      cursor = page.next_cursor;
      app.shop = page;
      app.nav();
      failed = false;
      tries = 0;
    } catch {
      failed = true;
      setTimeout(load, Math.random() * Math.min(30_000, 1000 * 2 ** tries++));
    }
    app.repaint();
  }
  document.addEventListener("visibilitychange", () => { if (!document.hidden) load(); });
  app.repaint();
  load();
}
