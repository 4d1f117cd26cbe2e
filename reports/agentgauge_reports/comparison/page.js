"use strict";
(() => {
  const byId = (id) => document.getElementById(id);

  // -- the table of cases: what is shown of it

  const rows = [...document.querySelectorAll("#cases tr[data-ends]")];
  const choice = byId("shown");
  const sections = [...document.querySelectorAll("#cases details")];
  function filter() {
    const [kind, place] = [choice.value.slice(0, 1), Number(choice.value.slice(1))]; // "d": they disagree, "a": all, "p1": only the second run passed, "w1": only it did not
    for (const row of rows) {
      const passed = [...row.dataset.ends].map((end) => end === "p");
      const others = passed.filter((_, number) => number !== place);
      row.hidden = { a: false, d: new Set(row.dataset.ends).size === 1, p: !(passed[place] && !others.includes(true)), w: !(!passed[place] && !others.includes(false)) }[kind];
    }
    for (const section of sections) section.hidden = !section.querySelector("tr[data-ends]:not([hidden])");
    const count = rows.filter((row) => !row.hidden).length;
    byId("count").textContent = `${count} ${count === 1 ? "case" : "cases"}`;
  }
  if (choice) {
    byId("filter").hidden = false;
    choice.addEventListener("change", filter);
    filter();
  }

  // -- the transcripts of one case side by side

  const both = byId("both");
  const sides = byId("sides");
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-sides]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    byId("both-title").textContent = link.textContent;
    sides.replaceChildren(...[...link.closest("tr").querySelectorAll("td a")].map((side, place) => {
      const frame = document.createElement("iframe");
      frame.title = `Run ${side.closest("td").dataset.run}`;
      frame.src = side.getAttribute("href");
      const part = document.createElement("div");
      const name = document.createElement("a");
      name.href = frame.src;
      name.target = "_blank";
      name.rel = "noopener";
      name.textContent = `${side.closest("td").dataset.run}: ${side.textContent}`;
      part.append(name, frame);
      return part;
    }));
    both.showModal();
  });
  both.addEventListener("close", () => sides.replaceChildren());
  byId("close").addEventListener("click", () => both.close());

  // -- the pictures as files

  const drawn = byId("picture");
  const save = (address, name) => {
    const link = document.createElement("a");
    link.href = address;
    link.download = name;
    link.click();
  };
  if (drawn) {
    const address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawn.textContent)}`;
    byId("svg").addEventListener("click", () => save(address, "choice.svg"));
    byId("png").addEventListener("click", () => {
      const image = new Image();
      image.addEventListener("load", () => {
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
        save(canvas.toDataURL("image/png"), "choice.png");
      });
      image.src = address;
    });
    byId("files").hidden = false;
  }
})();
