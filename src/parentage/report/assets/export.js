// Take along: copy texts, save the figure as SVG or PNG. Nothing leaves the browser.

function makeExports(picture) {
  for (const button of all("[data-copy]")) {
    button.addEventListener("click", () => {
      const source = byId(button.dataset.copy), text = source.value ?? source.textContent;
      const done = () => {
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = button.dataset.said; }, 1500);
      };
      button.dataset.said ??= button.textContent;
      const byHand = () => {
        const area = make("textarea", {}, text);
        document.body.append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
        done();
      };
      if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, byHand);
      else byHand();
    });
  }

  // The figure alone, in light colours, with everything it needs.
  function standalone() {
    const { svg, full } = picture.current(), copy = svg.cloneNode(true);
    copy.removeAttribute("class");
    all(".chosen, .near, .self, .seen, .box", copy).forEach((part) => {
      part.classList.remove("chosen", "near", "self", "seen");
      part.removeAttribute("data-moved");
    });
    all(".weak", copy).forEach((part) => part.remove());
    copy.setAttribute("xmlns", SVG);
    copy.setAttribute("viewBox", `${full.x} ${full.y} ${full.w} ${full.h}`);
    copy.setAttribute("width", full.w);
    copy.setAttribute("height", full.h);
    copy.setAttribute("font-family", "system-ui, sans-serif");
    copy.setAttribute("font-size", 13);
    copy.prepend(makeSvg("rect", { x: full.x, y: full.y, width: full.w, height: full.h, fill: "#ffffff" }));
    return { text: new XMLSerializer().serializeToString(copy), full };
  }

  function save(blob, name) {
    const link = make("a", { href: URL.createObjectURL(blob), download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function toPng(then) {
    const { text, full } = standalone(), image = new Image();
    const scale = Math.max(1, Math.min(3, 8000 / Math.max(full.w, full.h)));
    image.onload = () => {
      const canvas = make("canvas", { width: Math.round(full.w * scale), height: Math.round(full.h * scale) });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(then, "image/png");
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  }

  const act = {
    svg: () => save(new Blob([standalone().text], { type: "image/svg+xml" }), "network.svg"),
    png: () => toPng((blob) => save(blob, "network.png")),
  };
  for (const button of all("[data-save]")) button.addEventListener("click", act[button.dataset.save]);
}
