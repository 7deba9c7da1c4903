
/* Each cluster is folded to a line. A link to it, its selection on the map, or a find of the browser opens it. */
(function () {
  const parts = [document, ...[...document.querySelectorAll("template")].map((one) => one.content)]
    .flatMap((root) => [...root.querySelectorAll("article > details")]);
  const toggle = (open) => parts.forEach((part) => { part.open = open; });

  function reveal(id) {
    const part = document.getElementById(id);
    const folded = part && (part.matches("details") ? part : part.querySelector(":scope > details"));
    if (folded) folded.open = true;
    return part;
  }

  /* Behind the cut, if there is one: #cut=7&cluster-3. */
  function follow() {
    const part = reveal(location.hash.slice(1).split("&").pop());
    if (part) part.scrollIntoView();
  }

  toggle(false);
  document.getElementById("open-all").addEventListener("click", () => toggle(true));
  document.getElementById("close-all").addEventListener("click", () => toggle(false));
  document.addEventListener("click", (event) => { // also of a link that the address has already
    const link = event.target.closest('a[href^="#"]');
    if (link) reveal(link.hash.slice(1));
  });
  addEventListener("hashchange", follow);
  follow();
})();
