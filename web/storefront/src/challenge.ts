import type { Challenge } from "../../sdk/src/index.js";
import type { App } from "./app.js";
import { more } from "./texts-challenge.js";

declare const __WORKER__: string;

/**
 * Shows a challenge in the page's own place and gives its solution. Proof of work runs by itself in a worker. The slider
 * can be dragged, clicked and moved by keys; every kind that asks something of a person has a link to proof of work.
 */
export async function solve(app: App, c: Challenge, signal?: AbortSignal): Promise<unknown> {
  app.learn(more);
  const box = app.$("puzzle");
  box.hidden = false;
  const again = box.dataset.kind === c.type;
  let show = () => {};
  const paint = () => show();
  document.addEventListener("lang", paint);
  box.dataset.kind = c.type;
  try {
    if (c.type === "pow") {
      show = () => box.replaceChildren(app.el("p", { role: "status" }, app.t("working")));
      show();
      return await work(c, signal);
    }
    return await new Promise((done, fail) => {
      signal?.addEventListener("abort", () => fail(signal.reason), { once: true });
      const kinds = { slider, image, siteverify } as Record<string, typeof slider>;
      const kind = kinds[c.type];
      if (!kind) return done({ another: "pow" });
      show = () => box.replaceChildren(
        app.el("h2", { id: "puzzle-title" }, app.t("puzzle")),
        again && app.el("p", { class: "bad", role: "alert" }, app.t("wrong")) || "",
        kind(app, c.data, done),
        app.el("p", {}, app.el("button", { class: "link", type: "button", id: "another", click: () => done({ another: "pow" }) },
          app.t("otherWay"))),
      );
      show();
      box.scrollIntoView({ block: "center" }); // clear of the button at the foot
      box.querySelector<HTMLElement>("input")?.focus({ preventScroll: true });
    });
  } finally {
    document.removeEventListener("lang", paint);
    box.hidden = true;
    box.replaceChildren();
    setTimeout(() => { if (box.hidden) delete box.dataset.kind; }, 5000);
  }
}

function work(c: Challenge, signal?: AbortSignal): Promise<unknown> {
  const worker = new Worker(__WORKER__);
  return new Promise((done, fail) => {
    signal?.addEventListener("abort", () => fail(signal.reason), { once: true });
    worker.onmessage = (e: MessageEvent<{ solution?: string; error?: string }>) =>
      e.data.solution ? done(e.data.solution) : fail(new Error(e.data.error));
    worker.onerror = () => fail(new Error("the worker failed"));
    worker.postMessage(c.data);
  }).finally(() => worker.terminate());
}

type Done = (solution: unknown) => void;
type Data = Record<string, unknown>;

function slider(app: App, d: Data, done: Done): HTMLElement {
  const { el } = app;
  const width = Number(d.width), height = Number(d.height), most = width - Number(d.piece_width);
  const track: [number, number, number][] = [];
  const began = performance.now();
  let by: "pointer" | "keys" = "keys", y = 0;
  const piece = el("img", { class: "piece", src: String(d.piece), alt: "" }) as HTMLImageElement;
  const picture = el("img", { src: String(d.image), alt: "", width: String(width), height: String(height) }) as HTMLImageElement;
  const range = el("input", {
    type: "range", min: "0", max: String(most), value: "0", step: "1", id: "slide", "aria-label": app.t("slide"),
    "aria-describedby": "slide-keys",
    pointerdown: () => { by = "pointer"; },
    pointermove: (e) => { y = Math.round((e as PointerEvent).offsetY); if (by === "pointer") note(); },
    input: () => { move(); note(); },
    keydown: (e) => { by = "keys"; if ((e as KeyboardEvent).key === "Enter") send(); },
  }) as HTMLInputElement;
  const note = () => {
    const point: [number, number, number] = [Number(range.value), y, Math.round(performance.now() - began)];
    if (track.length < 300) track.push(point);
    else track[299] = point;
  };
  const move = () => {
    const scale = picture.clientWidth ? picture.clientWidth / width : 1;
    piece.style.width = `${Number(d.piece_width) * scale}px`;
    piece.style.top = `${Number(d.y) * scale}px`;
    piece.style.transform = `translateX(${Number(range.value) * scale}px)`;
  };
  const step = (n: number) => () => {
    by = "keys";
    range.value = String(Number(range.value) + n);
    move();
    note();
  };
  const send = () => {
    note();
    done({ x: Number(range.value), track, by });
  };
  picture.addEventListener("load", move);
  picture.style.maxWidth = "100%";
  picture.style.height = "auto";
  return el("div", {}, el("p", {}, app.t("slide")), el("div", { class: "puzzle" }, picture, piece), range,
    el("p", { class: "soft", id: "slide-keys" }, app.t("slideKeys")),
    el("p", { class: "row" },
      el("button", { class: "go small", type: "button", id: "step-left", click: step(-3) }, app.t("left1")),
      el("button", { class: "go small", type: "button", id: "step-right", click: step(3) }, app.t("right1")),
      el("button", { class: "go small", type: "button", id: "slide-go", click: send }, app.t("confirm"))));
}

function image(app: App, d: Data, done: Done): HTMLElement {
  const { el } = app;
  const text = el("input", { id: "letters", name: "letters", required: true, maxlength: "16", autocomplete: "off", autocapitalize: "off", spellcheck: "false" }) as HTMLInputElement;
  return el("form", { submit: (e) => { e.preventDefault(); done({ text: text.value.trim() }); } },
    el("p", {}, el("img", { src: String(d.image), alt: app.t("imageAlt") })),
    el("label", { for: "letters" }, app.t("image")), text,
    el("p", {}, el("button", { class: "go small", id: "letters-go" }, app.t("confirm"))));
}

// The providers that the server knows, and what their script is called by. The page's policy lets in the one that is set.
const providers: Record<string, [string, string]> = {
  turnstile: ["https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit", "turnstile"],
  hcaptcha: ["https://js.hcaptcha.com/1/api.js?render=explicit", "hcaptcha"],
  recaptcha: ["https://www.google.com/recaptcha/api.js?render=explicit", "grecaptcha"],
};
type Widget = { render(into: HTMLElement, o: { sitekey: string; callback: (token: string) => void }): void; ready?(f: () => void): void };

function siteverify(app: App, d: Data, done: Done): HTMLElement {
  const place = app.el("div", { id: "site" });
  const [src, name] = providers[String(d.provider)] ?? [];
  if (!src || !name) {
    done({ another: "pow" });
    return place;
  }
  const show = () => {
    const w = (window as unknown as Partial<Record<string, Widget>>)[name];
    if (!w?.render) return done({ another: "pow" }); // its script is not what it was
    const go = () => w.render(place, { sitekey: String(d.site_key), callback: (token) => done({ token }) });
    if (w.ready && name === "grecaptcha") w.ready(go);
    else go();
  };
  if (name in window) setTimeout(show);
  else document.head.append(app.el("script", { src, load: show, error: () => done({ another: "pow" }) }));
  return app.el("div", {}, app.el("p", {}, app.t("site")), place);
}
