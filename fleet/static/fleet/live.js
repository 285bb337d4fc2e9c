// Ages that tick, copy buttons, and a word when the connection is lost. Every page works without this file.
"use strict";

(() => {
  const page = document.documentElement;
  page.classList.add("js");
  if (navigator.clipboard) page.classList.add("can-copy");

  // --- ages: as reconcile/words.py writes them, on the server's clock
  const steps = [[120, 1, "s"], [7200, 60, "min"], [172800, 3600, "h"]];
  const inWords = (seconds) => {
    const whole = Math.max(0, Math.round(seconds));
    const step = steps.find(([limit]) => whole < limit);
    return step ? `${Math.floor(whole / step[1])} ${step[2]}` : `${Math.floor(whole / 86400)} days`;
  };
  const clock = () => document.getElementById("clock");
  let offset = 0;
  let read = ""; // a swap of nothing leaves the clock as it was: it must not be set back to that
  const setClock = () => {
    const said = clock()?.dataset.now ?? read;
    if (said !== read) offset = Number(said) - Date.now() / 1000;
    read = said;
  };
  const now = () => Date.now() / 1000 + offset;

  const tick = () => {
    for (const age of document.querySelectorAll("time.age[data-at]")) {
      const at = Number(age.dataset.at);
      age.textContent = at > now() + 1 ? `in ${inWords(at - now())}` : `${inWords(now() - at)} ago`;
    }
    const passedAt = Number(clock()?.dataset.passedAt);
    const late = document.getElementById("late");
    if (late && passedAt) late.hidden = now() - passedAt <= Number(clock().dataset.lateS);
  };
  setClock();
  setInterval(tick, 1000);

  // --- the connection
  let lostAt = null;
  const lost = (what) => {
    const banner = document.getElementById("lost");
    if (!banner) return;
    lostAt ??= now();
    const since = new Date((lostAt - offset) * 1000).toLocaleTimeString();
    banner.textContent = `${what} What you see is from ${since}.`;
    banner.hidden = false;
  };
  const found = () => {
    lostAt = null;
    const banner = document.getElementById("lost");
    if (banner) banner.hidden = true;
  };
  document.addEventListener("htmx:error", () => lost("The connection to llmao is lost; trying again."));
  document.addEventListener("htmx:after:request", (event) => {
    const context = event.detail.ctx;
    const status = context.response.status;
    if (status < 400 || status === 422) return found();
    context.swap = "none"; // an error page has no place inside this one
    lost(status === 403 ? "That was refused: reload the page." : `llmao answered with an error (${status}); trying again.`);
  });
  document.addEventListener("htmx:after:swap", () => { setClock(); tick(); });

  // --- a page nobody looks at asks for nothing
  document.addEventListener("htmx:before:request", (event) => {
    if (document.hidden && event.target.id === "live") event.preventDefault();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) document.getElementById("live")?.dispatchEvent(new Event("look"));
  });

  // --- buttons
  document.addEventListener("click", async (event) => {
    const close = event.target.closest("[data-close]");
    if (close) close.parentElement.remove();
    const copy = event.target.closest("[data-copy]");
    if (!copy) return;
    await navigator.clipboard.writeText(copy.dataset.copy);
    const label = copy.firstChild;
    const before = label.textContent;
    if (before === "Copied") return;
    label.textContent = "Copied";
    setTimeout(() => { label.textContent = before; }, 1500);
  });
})();
